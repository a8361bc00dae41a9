package deploy_test

import (
	"database/sql"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/nginx"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

// A wrong statement in the runbook would be found only in an emergency.
func TestTheStatementsOfTheRunbookRun(t *testing.T) {
	test.Seldom(t)
	url := postgres.URL(t)
	if _, errs, status := hazardd(t, password, nil, "user", "add", "writer", "--role", "admin", "--password-stdin", "--database", url); status != 0 {
		t.Fatal(errs) // it creates the schema
	}
	d, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	text := read(t, "docs/cluster.md")
	statements := []string{}
	for _, m := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(text, -1) {
		statements = append(statements, m[1])
	}
	if len(statements) != 3 {
		t.Fatalf("%d statements, want 3", len(statements))
	}
	for _, m := range regexp.MustCompile("`(SELECT [^`]*)`").FindAllStringSubmatch(text, -1) {
		if !strings.Contains(m[1], "PID") && !strings.Contains(m[1], "pg_promote") { // statements that only read
			statements = append(statements, m[1])
		}
	}
	for _, s := range statements {
		rows, err := d.QueryContext(t.Context(), s)
		if err != nil {
			t.Errorf("%s\n%v", s, err)
			continue
		}
		for rows.Next() {
		}
		if err := rows.Err(); err != nil {
			t.Errorf("%s\n%v", s, err)
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#:\s]*)(#[^)\s]*)?\)`)

func TestLinksOfTheDocumentationLeadSomewhere(t *testing.T) {
	for _, file := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, file), -1) {
			target := file
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(file), m[1])
			}
			if _, err := os.Stat(filepath.Join(nginx.Root(t), target)); err != nil {
				t.Errorf("%s leads to %s: %v", file, m[0], err)
				continue
			}
			if m[2] != "" && !headings(read(t, target))[m[2][1:]] {
				t.Errorf("%s links to %s, which is not a heading", file, m[0])
			}
		}
	}
}

// testsThere are the names of all tests.
func testsThere(t *testing.T) map[string]bool {
	t.Helper()
	there := map[string]bool{}
	root := os.DirFS(nginx.Root(t))
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w+)\(`)
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git"):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go") && filepath.Base(filepath.Dir(path)) != "sourcetest":
			return nil
		}
		text, err := fs.ReadFile(root, path)
		for _, m := range function.FindAllSubmatch(text, -1) {
			there[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return there
}

// A promise whose test was renamed or removed is no longer checked.
func TestTheDocumentationNamesTestsThatThereAre(t *testing.T) {
	there := testsThere(t)
	named := 0
	for _, file := range documents(t) {
		for _, m := range regexp.MustCompile("`((?:Test|Fuzz|Benchmark|Example)[A-Z]\\w*)`").FindAllStringSubmatch(read(t, file), -1) {
			named++
			if !there[m[1]] {
				t.Errorf("%s names %s, which is not a test", file, m[1])
			}
		}
	}
	if named == 0 {
		t.Error("no names of tests were found")
	}
}

// The table of programs names the versions that the tests install: Debian's, whose packages .ci/needs
// names, or pinned in these files.
func TestTheProgramsAreThoseThatTheTestsInstall(t *testing.T) {
	var pinned strings.Builder
	for _, file := range []string{"go.mod", "web/package.json", "clients/others/package.json", "clients/others/arcgis/package.json", "clients/others/duckdb/package.json", "clients/others/inspector/package.json", "clients/others/nodered/package.json", ".ci/description/package.json", ".ci/description/go.mod", ".ci/generated/go.mod"} {
		pinned.WriteString(read(t, file))
	}
	needs := read(t, ".ci/needs")
	debian := regexp.MustCompile(`^([^(]+) \(Debian 12: ([^)]+)\)$`)
	_, table, _ := strings.Cut(read(t, "docs/decisions/programs.md"), "| program | version | what it asks | what comes | test |\n|---|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	there, rows, packages := testsThere(t), strings.Split(table, "\n"), 0
	for _, line := range rows {
		row := regexp.MustCompile("^\\| ([^|]+) \\| ([^|]+) \\| [^|]+ \\| [^|]+ \\| ((?:`[^`]+`(?:, )?)+) \\|$").FindStringSubmatch(line)
		if row == nil {
			t.Errorf("no row of five cells, the last of tests: %s", line)
			continue
		}
		for name := range strings.SplitSeq(row[3], ", ") {
			name = strings.Trim(name, "`")
			if _, err := os.Stat(filepath.Join(nginx.Root(t), name)); !there[name] && (err != nil || !strings.HasPrefix(name, ".ci/")) {
				t.Errorf("%s: there is no test %s", row[1], name)
			}
		}
		m := debian.FindStringSubmatch(row[2])
		if m == nil && !regexp.MustCompile(`["v]`+regexp.QuoteMeta(row[2])+`\b`).MatchString(pinned.String()) {
			t.Errorf("%s %s is pinned nowhere", row[1], row[2])
		}
		if m == nil {
			continue
		}
		versions, names := strings.Split(m[1], ", "), strings.Fields(m[2])
		for i, name := range names {
			packages++
			if !regexp.MustCompile(`(?m)^[^#\n]*[ ("]` + regexp.QuoteMeta(name) + `[ )":]`).MatchString(needs) {
				t.Errorf("%s: .ci/needs does not install %s", row[1], name)
			}
			// Where it is installed, it is the version in the table. Debian updates Chromium to what is new.
			if here, err := exec.CommandContext(t.Context(), "dpkg-query", "--show", "--showformat", "${Version}", name).Output(); err == nil && i < len(versions) && name != "chromium" && !strings.Contains(string(here), versions[i]) {
				t.Errorf("%s is %s in the table, and %s here", name, versions[i], here)
			}
		}
	}
	if len(rows) < 30 || packages < 10 {
		t.Errorf("%d programs, %d packages of Debian", len(rows), packages)
	}
}

// documents returns the texts that people read, by their paths in the repository.
func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(nginx.Root(t), "docs", "*.md"))
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	all := []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"}
	for _, file := range files {
		all = append(all, "docs/"+filepath.Base(file))
	}
	decisions, err := filepath.Glob(filepath.Join(nginx.Root(t), "docs", "decisions", "*.md"))
	if err != nil || len(decisions) < 10 {
		t.Fatal(decisions, err)
	}
	for _, file := range decisions {
		all = append(all, "docs/decisions/"+filepath.Base(file))
	}
	return all
}

// headings returns the anchors of a document, as GitHub makes them.
func headings(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		anchor := strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")
		all[regexp.MustCompile(`[^\p{L}\p{N}_-]`).ReplaceAllString(anchor, "")] = true
	}
	return all
}

// The names of commands and their flags exist in the program.
func TestTheDocumentationNamesCommandsAndFlagsThatThereAre(t *testing.T) {
	helps := map[string]string{}
	help := func(words ...string) (string, bool) {
		command := strings.Join(words, " ")
		if _, asked := helps[command]; !asked {
			flag := "--help"
			if command == "serve" {
				flag = "--help-all"
			}
			out, errs, status := hazardd(t, "", nil, append(words, flag)...)
			if status != 0 {
				out, errs = "", ""
			}
			helps[command] = out + errs
		}
		return helps[command], helps[command] != ""
	}
	code := regexp.MustCompile("(?ms)```[^\n]*\n.*?```|`[^`\n]+`|^ {4}[^\n]+$")
	called := regexp.MustCompile(`(?m)(?:^\s*|[\x60/;|(] ?|sudo |-u hazardd )hazardd ((?:[a-z]+ ?)+)([^\x60\n|]*)`)
	flag := regexp.MustCompile(`(?:^|[\s\[])(--[a-z-]+)`)
	commands, flags := 0, 0
	for _, file := range documents(t) {
		text := strings.Join(code.FindAllString(read(t, file), -1), "\n")
		for _, m := range called.FindAllStringSubmatch(strings.ReplaceAll(text, "\\\n", " "), -1) {
			words := strings.Fields(m[1])
			text, ok := help(words[:min(2, len(words))]...)
			if !ok {
				text, ok = help(words[0])
			}
			if !ok {
				t.Errorf("%s: the command hazardd %s does not exist", file, m[1])
				continue
			}
			commands++
			for _, f := range flag.FindAllStringSubmatch(m[2], -1) {
				flags++
				if name := strings.TrimPrefix(f[1][2:], "no-"); !strings.Contains(text, f[1]) && !strings.Contains(text, "--[no-]"+name) {
					t.Errorf("%s: hazardd %s does not accept %s", file, m[1], f[1])
				}
			}
		}
	}
	if commands < 100 || flags < 50 {
		t.Errorf("%d commands with %d flags were found", commands, flags)
	}
}

// The settings for a pooler are those that hazardd sends, and the connections in the documentation
// are those that it opens.
func TestTheDatabaseBearsWhatTheDocumentationSays(t *testing.T) {
	test.Seldom(t)
	url := postgres.URL(t)
	store := []string{"--database", url, "--data", filepath.Join(t.TempDir(), "data")}
	n, wait := begin(t, store...)
	wait()
	d, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, errs, status := hazardd(t, password, nil, append([]string{"user", "add", "reader", "--role", "reader", "--password-stdin"}, store...)...); status != 0 {
		t.Fatal(errs)
	}
	token, errs, status := hazardd(t, "", nil, append([]string{"token", "reader"}, store...)...)
	if status != 0 {
		t.Fatal(errs)
	}
	bearer := "Bearer " + strings.TrimSpace(token)
	await(t, "the user is known", func() bool {
		resp, _ := get(t, http.DefaultClient, "http://"+n.addr+"/hazards/types", "Authorization", bearer)
		return resp.StatusCode == http.StatusOK
	})
	// Searches query the database: so many at once that the maximum number of connections is open.
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 10 {
				resp, _, err := ask(t.Context(), http.DefaultClient, http.MethodGet, "http://"+n.addr+"/hazards?q=flood", "", "Authorization", bearer)
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("a search: %v, %v", resp, err)
				}
			}
		})
	}
	all.Wait()
	var open int
	if err := d.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'hazardd'`).Scan(&open); err != nil {
		t.Fatal(err)
	}
	if most := 4 + 4*runtime.GOMAXPROCS(0); open > most || open < 4 {
		t.Errorf("a node has %d connections, docs/cluster.md states at most %d", open, most)
	}
	// PostgreSQL does not show the settings of other sessions, so read them from the source.
	source := read(t, "internal/store/postgres.go")
	_, list, _ := strings.Cut(source, "for setting, value := range map[string]string{")
	list, _, ok := strings.Cut(list, "\n\t} {")
	if !ok {
		t.Fatal("internal/store/postgres.go sends no settings, as far as this test can see")
	}
	text := strings.Join(strings.Fields(read(t, "docs/cluster.md")), " ")
	for _, m := range regexp.MustCompile(`(?m)^\t+"(\w+)":`).FindAllStringSubmatch(list, -1) {
		if m[1] != "application_name" && !regexp.MustCompile(`names them: [^.]*\b`+m[1]+`\b`).MatchString(text) {
			t.Errorf("docs/cluster.md does not tell poolers of %s", m[1])
		}
	}
}
