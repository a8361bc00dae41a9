// Package hazardd is empty. Its tests check the code against ARCHITECTURE.md.
package hazardd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/hazardd/hazardd"

// floors reads the table of packages in ARCHITECTURE.md: package → floor. Packages without a floor
// are for tests and measurements.
func floors(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`([^`]+)`")
	all := map[string]int{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		floor, err := strconv.Atoi(strings.TrimSpace(cells[1]))
		if err != nil && strings.TrimSpace(cells[1]) != "–" {
			continue
		}
		if err != nil {
			floor = -1
		}
		for _, m := range name.FindAllStringSubmatch(cells[2], -1) {
			all[m[1]] = floor
		}
	}
	if len(all) < 10 {
		t.Fatalf("ARCHITECTURE.md: %d packages found in its table", len(all))
	}
	return all
}

// floorOf returns the floor of a package: from its own row, or from the row of "…/…" above it.
func floorOf(floors map[string]int, pkg string) (int, bool) {
	for path := strings.TrimPrefix(pkg, module+"/"); path != "."; {
		if f, ok := floors[path]; ok {
			return f, true
		}
		i := strings.LastIndexByte(path, '/')
		if i < 0 {
			return 0, false
		}
		path = path[:i]
		if f, ok := floors[path+"/…"]; ok {
			return f, true
		}
	}
	return 0, false
}

func TestImportsOnlyGoDownAFloor(t *testing.T) {
	floors := floors(t)
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if pkg.ImportPath == module {
			continue
		}
		from, ok := floorOf(floors, pkg.ImportPath)
		if !ok {
			t.Errorf("%s has no row in ARCHITECTURE.md", pkg.ImportPath)
			continue
		}
		for _, imported := range pkg.Imports {
			// The parts of a package (generated code, a built-in table) are on its floor.
			if !strings.HasPrefix(imported, module+"/") || strings.HasPrefix(imported, pkg.ImportPath+"/") || from < 0 {
				continue
			}
			if to, ok := floorOf(floors, imported); ok && (to >= from || to < 0) && !kin(pkg.ImportPath, imported) {
				t.Errorf("%s (floor %d) imports %s (floor %d)", pkg.ImportPath, from, imported, to)
			}
		}
	}
}

// kin reports whether one package is a part of the other, such as internal/test/authtest of
// internal/auth, or both are parts of a third, such as internal/store/sqlite/wal and
// internal/store/sqlite/pagesum.
func kin(pkg, imported string) bool {
	parent := imported[:strings.LastIndexByte(imported, '/')]
	return strings.HasPrefix(pkg, imported+"/") || parent != module && parent != module+"/internal" && strings.HasPrefix(pkg, parent+"/")
}

// Every direct dependency, for the program or for tests, has a line with its reason, and no other
// module has one.
func TestEveryModuleIsExplained(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "## Modules, and why each")
	if !ok {
		t.Fatal("ARCHITECTURE.md has no table of modules")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	var explained []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) == 4 && strings.Contains(cells[1], "/") {
			for name := range strings.SplitSeq(cells[1], ",") {
				explained = append(explained, strings.TrimSpace(name))
			}
		}
	}
	mod, err := os.Open("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	defer mod.Close()
	var required []string
	for lines := bufio.NewScanner(mod); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 2 && strings.HasPrefix(fields[1], "v") {
			required = append(required, fields[0])
		}
	}
	slices.Sort(explained)
	slices.Sort(required)
	for _, m := range required {
		if !slices.Contains(explained, m) {
			t.Errorf("go.mod requires %s, ARCHITECTURE.md does not say why", m)
		}
	}
	for _, m := range explained {
		if !slices.Contains(required, m) {
			t.Errorf("ARCHITECTURE.md explains %s, go.mod does not require it", m)
		}
	}
}
