package hazardd

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/modfile"
)

const module = "github.com/hazardd/hazardd"

// A room is a row of the table of rooms in ARCHITECTURE.md, or one of several names in it.
type room struct {
	name  string
	row   int
	tests bool     // it is test code: nothing but tests and other test code imports it
	may   []string // the paths below which it may import, besides its own
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	mayItem  = regexp.MustCompile("^`([^`]+)`( and below)?$")
)

// parseRooms reads the table of rooms out of a document.
func parseRooms(text string) ([]room, []string) {
	var rooms []room
	var cells []string // what each row may import
	_, table, _ := strings.Cut(text, "| room | promise | may import |\n")
	for line := range strings.Lines(table) {
		row := strings.Split(strings.TrimSpace(line), "|")
		if len(row) != 5 {
			break
		}
		for _, m := range codeSpan.FindAllStringSubmatch(row[1], -1) {
			rooms = append(rooms, room{name: m[1], row: len(cells)})
		}
		cells = append(cells, strings.TrimSpace(row[3]))
	}
	var wrong []string
	for i := range rooms {
		r := &rooms[i]
		rest := cells[r.row]
		r.tests = rest == "all"
		if rest == "" || rest == "all" {
			continue
		}
		for item := range strings.SplitSeq(rest, ", ") {
			if item == "all below" {
				r.may = append(r.may, from(rooms, r.row+1)...)
				continue
			}
			m := mayItem.FindStringSubmatch(item)
			if m == nil {
				wrong = append(wrong, r.name+": "+item)
				continue
			}
			at := slices.IndexFunc(rooms, func(o room) bool {
				return m[1] == o.name || "internal/"+m[1] == o.name || strings.HasPrefix("internal/"+m[1], o.name+"/")
			})
			switch {
			case at < 0 || rooms[at].row <= r.row:
				wrong = append(wrong, r.name+": "+m[1]+" is no room below it")
			case m[2] != "":
				r.may = append(r.may, from(rooms, rooms[at].row)...)
			case m[1] == rooms[at].name:
				r.may = append(r.may, m[1])
			default:
				r.may = append(r.may, "internal/"+m[1])
			}
		}
	}
	return rooms, wrong
}

// from returns the names of the rooms from a row on.
func from(rooms []room, row int) []string {
	var names []string
	for _, r := range rooms {
		if r.row >= row {
			names = append(names, r.name)
		}
	}
	return names
}

func within(pkg, dir string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }

// roomOf returns the room of a package, whose path is that in the module.
func roomOf(rooms []room, pkg string) *room {
	for i := range rooms {
		if within(pkg, rooms[i].name) {
			return &rooms[i]
		}
	}
	return nil
}

// forbidden reports whether a package must not import another, and the reason.
func forbidden(rooms []room, pkg, imported string) string {
	a, b := roomOf(rooms, pkg), roomOf(rooms, imported)
	switch {
	case a == nil || b == nil:
		return "" // reported by TestEachPackageIsInARoom
	case a == b || a.tests:
		return ""
	case b.tests:
		return "only tests may import " + b.name
	case !slices.ContainsFunc(a.may, func(dir string) bool { return within(imported, dir) }):
		return a.name + " may not import it"
	}
	return ""
}

func rooms(t *testing.T) []room {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	rooms, wrong := parseRooms(string(text))
	for _, w := range wrong {
		t.Errorf("ARCHITECTURE.md: %s", w)
	}
	if len(rooms) < 10 {
		t.Fatalf("ARCHITECTURE.md: %d rooms found in its table", len(rooms))
	}
	return rooms
}

// A listed is a package of the module, by its path in it.
type listed struct {
	ImportPath, Doc string
	GoFiles         []string
	Imports         []string
}

var list = sync.OnceValues(func() ([]listed, error) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Doc,GoFiles,Imports", "./...").Output()
	if err != nil {
		return nil, err
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if p.ImportPath == module {
			continue
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, module+"/")
		p.Imports = slices.DeleteFunc(p.Imports, func(i string) bool { return !strings.HasPrefix(i, module+"/") })
		for i := range p.Imports {
			p.Imports[i] = strings.TrimPrefix(p.Imports[i], module+"/")
		}
		all = append(all, p)
	}
})

func packages(t *testing.T) []listed {
	t.Helper()
	all, err := list()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRoomsImportOnlyWhatTheirRowSays(t *testing.T) {
	rooms := rooms(t)
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			if why := forbidden(rooms, p.ImportPath, imported); why != "" {
				t.Errorf("%s imports %s: %s", p.ImportPath, imported, why)
			}
		}
	}
}

func TestEachPackageIsInARoom(t *testing.T) {
	rooms := rooms(t)
	for _, p := range packages(t) {
		if roomOf(rooms, p.ImportPath) == nil {
			t.Errorf("%s is in no room of ARCHITECTURE.md", p.ImportPath)
		}
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
	for _, r := range rooms {
		if info, err := os.Stat(r.name); err != nil || !info.IsDir() {
			t.Errorf("ARCHITECTURE.md: the room %s does not exist", r.name)
		}
	}
	folders, err := os.ReadDir("internal")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if !slices.ContainsFunc(rooms, func(r room) bool { return r.name == "internal/"+f.Name() }) {
			t.Errorf("internal/%s is no room of ARCHITECTURE.md", f.Name())
		}
	}
}

// With -v it prints which rooms import which, and by how many imports of packages.
func TestArrowsBetweenRooms(t *testing.T) {
	rooms := rooms(t)
	arrows, total := map[string]map[string]int{}, 0
	for _, p := range packages(t) {
		a := roomOf(rooms, p.ImportPath)
		if a == nil || a.tests {
			continue
		}
		for _, imported := range p.Imports {
			b := roomOf(rooms, imported)
			if b == nil || a == b {
				continue
			}
			if arrows[a.name] == nil {
				arrows[a.name] = map[string]int{}
			}
			if arrows[a.name][b.name] == 0 {
				total++
			}
			arrows[a.name][b.name]++
		}
	}
	for _, a := range rooms {
		for _, b := range rooms {
			if n := arrows[a.name][b.name]; n > 0 {
				t.Logf("%s → %s (%d)", a.name, b.name, n)
			}
		}
	}
	t.Logf("%d arrows between rooms, tests aside", total)
}

// The rules themselves, on a small house.
func TestRulesOfRooms(t *testing.T) {
	rooms, wrong := parseRooms("| room | promise | may import |\n|---|---|---|\n" +
		"| `cmd/x` | | all below |\n" +
		"| `internal/tell` | | `ingest/fuse`, `store` and below |\n" +
		"| `internal/ingest` | | `store` |\n" +
		"| `internal/store` | | `hazard` |\n" +
		"| `internal/hazard`, `internal/geo` | | |\n" +
		"| `internal/test` | | all |\n")
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	for _, tt := range []struct {
		pkg, imported string
		forbidden     bool
	}{
		{"cmd/x", "internal/tell", false},
		{"cmd/x", "internal/geo", false},
		{"internal/tell", "internal/ingest/fuse", false},
		{"internal/tell", "internal/ingest/fuse/part", false},
		{"internal/tell", "internal/ingest/fused", true},
		{"internal/tell", "internal/ingest", true},
		{"internal/tell", "internal/geo", false},
		{"internal/ingest", "internal/store/find", false},
		{"internal/ingest", "internal/hazard", true},
		{"internal/store", "internal/tell", true},
		{"internal/store/find", "internal/store", false},
		{"internal/hazard", "internal/geo", true},
		{"internal/store", "internal/test/server", true},
		{"cmd/x", "internal/test/server", true},
		{"internal/test/server", "cmd/x", false},
	} {
		if why := forbidden(rooms, tt.pkg, tt.imported); (why != "") != tt.forbidden {
			t.Errorf("forbidden(%s → %s) = %q, want %t", tt.pkg, tt.imported, why, tt.forbidden)
		}
	}
	for _, cell := range []string{"`store` and above", "everything", "`shop`", "`app`"} {
		table := "| room | promise | may import |\n| `internal/app` | | " + cell + " |\n| `internal/store` | | |\n"
		if rooms, wrong := parseRooms(table); len(wrong) != 1 || len(rooms) != 2 {
			t.Errorf("%s: %v, %v", cell, rooms, wrong)
		}
	}
}

// Every direct requirement, of the program or of its tests, says what it is for.
func TestEachModuleSaysWhatItIsFor(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	direct := 0
	for _, r := range mod.Require {
		if r.Indirect {
			continue
		}
		direct++
		if c := r.Syntax.Comments; len(c.Before) == 0 && len(c.Suffix) == 0 {
			t.Errorf("go.mod does not say what %s is for", r.Mod.Path)
		}
	}
	if direct < 10 {
		t.Errorf("go.mod: %d direct requirements found", direct)
	}
}

// Paths in the documents exist, so that a moved file is not sought where it was.
func TestPathsInTheDocumentsExist(t *testing.T) {
	var documents []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, files...)
	}
	span := regexp.MustCompile("`(?:\\./)?((?:internal|cmd|client|clients|wire|web|deploy|bench|docs)/[\\w./*-]*\\w)`")
	found := 0
	for _, file := range documents {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range span.FindAllStringSubmatch(string(text), -1) {
			found++
			if matches, err := filepath.Glob(filepath.FromSlash(path.Clean(m[1]))); err != nil || len(matches) == 0 {
				t.Errorf("%s: %s does not exist", file, m[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("%d paths found in %d documents", found, len(documents))
	}
	decisions, err := fs.Glob(os.DirFS("docs/decisions"), "*.md")
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile("docs/decisions/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range decisions {
		if name != "README.md" && !bytes.Contains(index, []byte("("+name+")")) {
			t.Errorf("docs/decisions/README.md does not list %s", name)
		}
	}
}
