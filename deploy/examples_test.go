package deploy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

// example is a piece of code in a document.
type example struct {
	file, language, text string
}

var (
	fence    = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")
	indented = regexp.MustCompile(`(?m)^(?: {4}| {6})((?:curl|hazardd|ogrinfo|ogr2ogr|tar) (?:[^\n]*\\\n)*[^\n]*)$`)
)

// examples returns the examples of a document in order: fences of known languages, and commands
// that stand alone.
func examples(t *testing.T, file string) (list []example) {
	t.Helper()
	text := read(t, file)
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		list = append(list, example{file, m[1], m[2]})
	}
	for _, m := range indented.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		list = append(list, example{file, "sh", m[1]})
	}
	return list
}

// elsewhere names the test that runs examples: of a document and a language, or one that begins so.
var elsewhere = map[string]string{
	"docs/start.md sh": "TestTheTourWorks", "docs/start.md python": "TestTheFirstLines", "docs/cluster.md sql": "TestTheStatementsOfTheRunbookRun", "docs/install.md sql": "TestTheStatementsForPostgreSQLRun",
	"docs/integrate.md html": "TestThePagesOfTheRecipes", "docs/interface.md js": "TestThePagesOfTheRecipes",
	"docs/sign-on.md sh": "TestTheCommandOfSingleSignOnRuns", "docs/install.md sh tar": "TestTheFilesOfARelease",
}

// runElsewhere reports whether another test runs an example.
func runElsewhere(e *example) bool {
	for begin := range elsewhere {
		if strings.HasPrefix(e.file+" "+e.language+" "+e.text, begin) {
			return true
		}
	}
	return false
}

// All examples of the documentation run, one after another, against one server: commands with their
// input, and Python. Data is only parsed.
func TestTheExamplesOfTheDocumentationRun(t *testing.T) {
	test.Seldom(t)
	var s *sandbox
	ran, parsed, others := 0, 0, 0
	for _, file := range documents(t) {
		dir := t.TempDir()
		for i, e := range examples(t, file) {
			name := fmt.Sprintf("%s, example %d (%s)", file, i+1, e.language)
			switch {
			case runElsewhere(&e):
				others++
			case e.language == "json":
				parsed++
				if !json.Valid([]byte(e.text)) {
					t.Errorf("%s is no JSON:\n%s", name, e.text)
				}
			case e.language == "yaml":
				parsed++
				if err := yaml.Unmarshal([]byte(e.text), new(any)); err != nil {
					t.Errorf("%s: %v:\n%s", name, err, e.text)
				}
			case e.language == "go":
				parsed++
				if _, err := format.Source([]byte(e.text)); err == nil {
					break
				}
				if _, err := format.Source([]byte("package p\n\nvar list = []any{\n" + e.text + "}\n")); err != nil { // lines of a list
					t.Errorf("%s: %v:\n%s", name, err, e.text)
				}
			case e.language == "mermaid": // a picture
			case e.language == "sh" || e.language == "python":
				if s == nil {
					s = newSandbox(t)
				}
				ran++
				s.run(t, name, dir, &e)
			default:
				t.Errorf("%s: no test runs it", name)
			}
		}
	}
	t.Logf("%d examples ran, %d run in other tests, %d are data", ran, others, parsed)
	if ran < 50 || parsed < 15 || others < 8 {
		t.Errorf("%d examples ran, %d were parsed, %d run in other tests", ran, parsed, others)
	}
}

// sandbox is a server with the users and hazards that the documents assume.
type sandbox struct {
	url, data, token, key, password string
	away                            string   // where the continuous backup is
	drafts                          []string // drafts that wait for a second person
	backup                          string
	feed                            string // a recorded payload of the source nws; empty: there is none on this machine
	held                            string // the number of a report of nws that is held
	mail                            string // the address of a mail server
}

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	for _, name := range []string{"bash", "curl", "jq", "zstd", "tar", "ogr2ogr", "gdal_create", "python3"} {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s is not installed: .ci/run installs it", name)
			}
			t.Skipf("%s is not installed", name)
		}
	}
	s := &sandbox{data: filepath.Join(t.TempDir(), "data"), away: filepath.Join(t.TempDir(), "away"), password: "umbrella trombone quartz lagoon"}
	do := func(args ...string) string {
		t.Helper()
		out, errs, status := hazardd(t, s.password, []string{"HAZARDD_DATA=" + s.data}, args...)
		if status != 0 {
			t.Fatalf("hazardd %v: %s", args, errs)
		}
		return out
	}
	if shared := os.Getenv("HAZARDD_SHARED"); shared != "" {
		s.feed = filepath.Join(shared, "feeds/nws/active-20260815T1207Z.json")
		do("import", "--source", "nws", "--as-of", "2026-08-15T12:07:36Z", s.feed) // this leaves evidence
	}
	s.mail = mailServer(t)
	s.held = heldReport(t, do)
	do("org", "add", "RC", "--name", "Red Cross")
	do("org", "add", "RED", "--name", "Red Crescent")
	do("user", "add", "root", "--role", "admin", "--org", "2", "--password-stdin")
	for _, name := range []string{"ann", "bob"} {
		do("user", "add", name, "--role", "editor", "--org", "1", "--password-stdin")
	}
	n, wait := begin(t, "--data", s.data, "--public", "read", "--approve-warnings", "--backup-to", s.away, "--smtp", s.mail, "--smtp-from", "hazards@example.org")
	wait()
	s.url = "http://" + n.addr
	s.token = s.accessToken(t, "root")
	bob := s.accessToken(t, "bob")
	for i := range 4 {
		severity, want := "WATCH", http.StatusCreated
		if i > 1 {
			severity, want = "WARNING", http.StatusAccepted
		}
		body := fmt.Sprintf(`{"hazard_Name":"Flood %d","type_ID":"FLOOD","severity_ID":%q,"latitude":53.5,"longitude":%d,
			"area":{"type":"Polygon","coordinates":[[[9,53],[11,53],[11,54],[9,54],[9,53]]]}}`, i, severity, 10+i)
		if status, location, _ := s.post(t, bob, "/hazards", body); status != want {
			t.Fatalf("a hazard of the level %s: %d", severity, status)
		} else if i > 1 {
			s.drafts = append(s.drafts, location[strings.LastIndex(location, "/")+1:])
		}
	}
	_, _, answer := s.post(t, bob, "/keys", `{"title":"examples"}`)
	var key struct{ Key string }
	if err := json.Unmarshal(answer, &key); err != nil || key.Key == "" {
		t.Fatalf("%v %s", err, answer)
	}
	s.key = key.Key
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if whole, err := filepath.Glob(filepath.Join(s.away, "*", "0000000000")); err != nil || time.Now().After(end) {
			t.Fatal("there is no continuous backup", err)
		} else if len(whole) > 0 {
			break
		}
	}
	s.backup = filepath.Join(t.TempDir(), "monday.backup")
	do("backup", s.backup)
	return s
}

func (s *sandbox) accessToken(t *testing.T, user string) string {
	t.Helper()
	_, _, body := s.post(t, "", "/authorize", fmt.Sprintf(`{"username":%q,"password":%q}`, user, s.password))
	var tokens struct {
		AccessToken string `json:"accessToken"`
	}
	if err := json.Unmarshal(body, &tokens); err != nil || tokens.AccessToken == "" {
		t.Fatalf("%v %s", err, body)
	}
	return tokens.AccessToken
}

func (s *sandbox) post(t *testing.T, token, path, body string) (status int, location string, answer []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Location"), answer
}

// asUser matches a command that logs in to a server as a user, and asks for the password.
var asUser = regexp.MustCompile(`\bhazardd ((?:draft|subscription|notify|exercise) .*?) --user (\w+)`)

// fit replaces values of the document by those of the sandbox.
func (s *sandbox) fit(dir string, e *example) string {
	text := strings.NewReplacer(
		"/key/hzk_…", "/key/"+s.key, "/key/hzk_KEY", "/key/"+s.key, "https://hazards.example.org", s.url, "http://127.0.0.1:8080", s.url,
		"/backup/", dir+"/", "$(date +%F)", "2026-11-21", "/var/lib/hazardd-new", dir+"/new", "--data /var/lib/hazardd-new", "--data "+dir+"/new", "--data /var/lib/hazardd", "--data "+map[bool]string{true: dir + "/new", false: s.data}[e.file == "docs/operate.md"],
		"/mnt/other-disk/hazardd", s.away, "--at 2026-11-21T12:00:00Z", "--at $(date -u +%FT%TZ)", "/srv/archive", dir+"/archive", "hazardd-history-20261121T030000Z-1f0c9a2e.tar.zst", s.backup, "monday.backup", s.backup, "--hazard 4711", "--hazard 1", "redact hazard 4711", "redact hazard 2", "curl ", "curl --fail-with-body -sS ",
		`username="admin", password="…"`, `username="root", password="`+s.password+`"`, "release nws 7", "release nws "+s.held,
		"sudo ", "", "chgrp hazardd", `chgrp "$(id -gn)"`, "/etc/hazardd/tls", dir+"/tls", "hazardd exercise earthquake-tsunami --user", "exec hazardd exercise earthquake-tsunami --speed 60 --user", "hazardd exercise my.yaml", "exec hazardd exercise my.yaml",
		"--revoke ID", `--revoke "$(hazardd token --list --json | jq -r '[.[] | select(.user == "service:river-gauge")][0].id')"`,
	).Replace(e.text)
	if asUser.MatchString(text) {
		text = asUser.ReplaceAllString(strings.SplitN(text, " #", 2)[0], "hazardd $1 --server "+s.url+" --user $2 --password-stdin <<<\"$$PASSWORD\"")
		if _, after, ok := strings.Cut(text, `<<<"$PASSWORD"`); ok && after != "" { // flags after the user
			text = strings.Replace(text, ` <<<"$PASSWORD"`+after, after+` <<<"$PASSWORD"`, 1)
		}
	}
	if strings.Contains(text, "5a0c1f4e-3f0a-5d44-9d0b-7f7a9e2c4b11") {
		text = strings.ReplaceAll(text, "5a0c1f4e-3f0a-5d44-9d0b-7f7a9e2c4b11", s.drafts[0])
		s.drafts = s.drafts[1:]
	}
	return text
}

// run runs an example. Files that it leaves in the folder are there for the next example of the
// same document.
func (s *sandbox) run(t *testing.T, name, dir string, e *example) {
	t.Helper()
	text := s.fit(dir, e)
	if strings.Contains(text, "postgres://") {
		text = strings.ReplaceAll(text, "postgres://hazardd@db1,db2/hazardd", "'"+postgres.URL(t)+"'")
	}
	if strings.Contains(text, "clinics.csv") {
		if err := os.WriteFile(filepath.Join(dir, "clinics.csv"), []byte("id,name,kind,lon,lat\nA1,Clinic north,hospital,36.82,-1.29\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(text, "ghs-pop-2020.tif") { // about the people around Hamburg
		if out, err := exec.CommandContext(t.Context(), "gdal_create", "-q", "-ot", "Float32", "-outsize", "100", "100", "-burn", "250", "-a_srs", "EPSG:4326", "-a_ullr", "9.5", "54", "10.5", "53", filepath.Join(dir, "ghs-pop-2020.tif")).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if strings.Contains(text, "active.json") || strings.Contains(text, "day.txt") || strings.HasPrefix(text, "hazardd replay") {
		if s.feed == "" {
			t.Logf("%s: there are no recordings on this machine", name)
			return
		}
		feed, err := os.ReadFile(s.feed)
		if err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string][]byte{"active.json": feed, "day.txt": []byte("2026-08-15T12:07:36Z nws active.json\n")} {
			if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if strings.Contains(text, "my.yaml") {
		writeScenario(t, dir)
	}
	if strings.Contains(text, dir+"/tls/key.pem") {
		if err := errors.Join(os.Mkdir(filepath.Join(dir, "tls"), 0o700), os.WriteFile(filepath.Join(dir, "tls", "key.pem"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	interpreter, args := "bash", []string{"-euo", "pipefail", "-c", text}
	if e.language == "python" {
		interpreter, args = "python3", []string{"-u", "-B", "-c", text}
	}
	cmd := exec.CommandContext(ctx, interpreter, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "HAZARDD_DATA="+s.data, "TOKEN="+s.token, "PASSWORD="+s.password,
		"HAZARDD_SMTP="+s.mail, "HAZARDD_SMTP_FROM=hazards@example.org")
	if strings.Contains(text, "exec hazardd exercise") {
		runEndless(t, name, text, cmd)
		return
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if strings.HasPrefix(text, "hazardd replay") && strings.Contains(out.String(), "came out differently") {
		return // imported hazards ended when the server started, and not at their own time
	}
	if err != nil {
		t.Errorf("%s: %v\n%s\nsays:\n%.2000s", name, err, text, out.String())
	}
}
