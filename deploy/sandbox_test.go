package deploy_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"

	"github.com/hazardd/hazardd/internal/edit/drill/scenarios"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

// mailServer starts a mail server that takes every mail, and returns its address.
func mailServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return mailbox{}, nil }))
	server.Domain = "localhost"
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil && !errors.Is(err, smtp.ErrServerClosed) {
			t.Error(err)
		}
	})
	return "smtp://" + l.Addr().String()
}

type mailbox struct{}

func (mailbox) Mail(string, *smtp.MailOptions) error { return nil }
func (mailbox) Rcpt(string, *smtp.RcptOptions) error { return nil }
func (mailbox) Reset()                               {}
func (mailbox) Logout() error                        { return nil }

func (mailbox) Data(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

// heldReport imports a report of nws that is held, and returns its number.
func heldReport(t *testing.T, do func(args ...string) string) string {
	t.Helper()
	_, payload, found := strings.Cut(read(t, "cmd/hazardd/testdata/script/source.txtar"), "-- held.json --\n")
	file := filepath.Join(t.TempDir(), "held.json")
	if err := os.WriteFile(file, []byte(payload), 0o600); err != nil || !found {
		t.Fatal(err)
	}
	do("import", "--source", "nws", file)
	var lists struct{ Held []struct{ ID json.Number } }
	if err := json.Unmarshal([]byte(do("source", "errors", "nws", "--json")), &lists); err != nil || len(lists.Held) == 0 {
		t.Fatal("no report is held: ", err)
	}
	return lists.Held[0].ID.String()
}

// writeScenario writes a drill that is built in, with its files, to my.yaml in a folder.
func writeScenario(t *testing.T, dir string) {
	t.Helper()
	if err := errors.Join(os.CopyFS(dir, scenarios.Files), os.Rename(filepath.Join(dir, "earthquake-tsunami.yaml"), filepath.Join(dir, "my.yaml"))); err != nil {
		t.Fatal(err)
	}
}

// runEndless runs an example that goes on until it is interrupted: it must print two lines.
func runEndless(t *testing.T, name, text string, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	first, second := lines.Scan(), lines.Scan()
	err = cmd.Process.Signal(os.Interrupt)
	for lines.Scan() {
	}
	_ = cmd.Wait() // by the signal
	if !first || !second || err != nil {
		t.Errorf("%s: %v, %v, %v\n%s\nsays:\n%s", name, first, second, err, text, errs.String())
	}
}

// The statements for PostgreSQL's superuser make a role that can make and use the store.
func TestTheStatementsForPostgreSQLRun(t *testing.T) {
	test.Seldom(t)
	address, err := url.Parse(postgres.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	statement := func(text string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), filepath.Join(postgres.Programs(t), "psql"), "--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-d", address.String(), "-c", text).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v %s", text, err, out)
		}
	}
	m := regexp.MustCompile("(?s)```sql\n(.*?)```").FindStringSubmatch(read(t, "docs/install.md"))
	for line := range strings.Lines(m[1]) {
		statement(line)
	}
	defer statement("DROP ROLE hazardd")
	defer statement("DROP DATABASE hazardd WITH (FORCE)")
	own := *address
	own.User, own.Path = url.User("hazardd"), "/hazardd"
	if _, errs, status := hazardd(t, password, nil, "user", "add", "ann", "--role", "admin", "--password-stdin", "--database", own.String()); status != 0 {
		t.Error(errs)
	}
}

// The command of docs/sign-on.md starts a service that leads people to the provider, one of
// zitadel/oidc here.
func TestTheCommandOfSingleSignOnRuns(t *testing.T) {
	test.Seldom(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	issuer := "http://" + l.Addr().String()
	clients := map[string]*storage.Client{}
	handler := exampleop.SetupServer(issuer, storage.NewStorageWithClients(storage.NewUserStore(issuer), clients), slog.New(slog.DiscardHandler), false)
	provider := &httptest.Server{Listener: l, Config: &http.Server{Handler: handler}}
	provider.Start()
	t.Cleanup(provider.Close)
	secret := filepath.Join(t.TempDir(), "oidc-secret")
	if err := os.WriteFile(secret, []byte("a secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(read(t, "docs/sign-on.md"))
	text := strings.NewReplacer("--public-url https://hazards.example.org", "", "https://login.example.org/realms/main", issuer, "/etc/hazardd/secrets/oidc", secret).Replace(m[1])
	out, err := exec.CommandContext(t.Context(), "bash", "-euc", `hazardd() { shift; printf '%s\n' "$@"; }; `+text).Output()
	if err != nil {
		t.Fatal(err)
	}
	n, wait := begin(t, append(strings.Split(strings.TrimSpace(string(out)), "\n"), "--data", t.TempDir())...)
	wait()
	callback := "http://" + n.addr + "/login/callback"
	clients["hazardd"] = storage.WebClient("hazardd", "a secret", callback)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var led []string
	b := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		led = append(led, r.URL.String())
		return nil
	}}
	for path, want := range map[string]string{"/login": "Log in with Example Staff", "/login/provider": "username"} {
		resp, err := b.Get("http://" + n.addr + path)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(page), want) {
			t.Errorf("%s: %d %v %.2000s", path, resp.StatusCode, err, page)
		}
	}
	if all := fmt.Sprint(led); !strings.Contains(all, issuer+"/auth?") || !strings.Contains(all, url.QueryEscape(callback)) {
		t.Errorf("people are led to %s", all)
	}
}
