package main

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hazardd/hazardd/internal/store/sqlite/pagesum"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
	"github.com/hazardd/hazardd/internal/test/signature"
)

// The scripts in testdata run the program as users do. They can also use these commands:
//
//	fetch [-token FILE] [-until STATUS] [METHOD] URL   makes a request, and prints the status and the body
//	login URL NAME FILE                                logs in with the password in FILE, and prints the access token
//	json PATH                                          reads lines of JSON only, and prints the value at PATH
//	newschema FILE [usable]                            turns a database into one of a later release; usable for this one
//	ready FILE                                         waits until the server that prints to FILE, which is its own, is ready; $URL is its address
//	signal NAME                                        sends TERM or INT to the programs in the background
//	postgres VARIABLE                                  creates an empty PostgreSQL database; the variable is its URL, $PROGRAMS the folder of pg_dump
//	signer                                             makes a key and a certificate for CAP messages, the files $CAPKEY and $CAPCERTIFICATE
//	leased FILE                                        waits until a server has a lease in a database
//	mailserver FOLDER                                  starts a mail server that saves mails in the folder; $SMTP is its address
//	damage FILE                                        flips a bit in the middle of a file
//	tamper FILE STATEMENT                              runs a statement on an SQLite database without the program
func TestMain(m *testing.M) {
	testscript.Main(withPostgres{m}, map[string]func(){
		"hazardd":   main,
		"fetch":     helper(fetchMain),
		"login":     helper(loginMain),
		"json":      helper(jsonMain),
		"newschema": helper(newSchemaMain),
		"damage":    helper(damageMain),
		"leased":    helper(leasedMain),
		"tamper":    helper(tamperMain),
	})
}

// withPostgres runs tests that may need PostgreSQL.
type withPostgres struct{ m *testing.M }

func (w withPostgres) Run() int { return postgres.Main(w.m) }

func TestScripts(t *testing.T) {
	test.NoRace(t)
	if testing.Short() {
		t.Skip("runs the program, which short tests do not")
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HAZARDD_SHARED", os.Getenv("HAZARDD_SHARED"))
			e.Setenv("TZ", "UTC")
			e.Setenv("GOGC", "400")                 // otherwise a third of each start is the collector, which finds nothing
			e.Setenv("HAZARDD_EXPOSURE", "false")   // otherwise hazards change again when their people are counted
			e.Setenv("GORACE", "atexit_sleep_ms=0") // otherwise each program would end a second late
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "all" {
				return test.All(), nil
			}
			if name == "ci" {
				return test.CI(), nil
			}
			if name == "recordings" {
				return os.Getenv("HAZARDD_SHARED") != "", nil
			}
			if name == "postgres" {
				found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
				return len(found) > 0 || os.Getenv("HAZARDD_POSTGRES") != "", err
			}
			return false, fmt.Errorf("unknown condition %s", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"ready": ready, "signal": sendSignal, "mailserver": mailServer,
			"postgres": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Setenv(args[0], postgres.URL(t))
				ts.Setenv("PROGRAMS", postgres.Programs(t))
			},
			"signer": func(ts *testscript.TestScript, _ bool, _ []string) {
				secret, err := rsa.GenerateKey(rand.Reader, 2048)
				ts.Check(err)
				key, certificate, _ := signature.KeyPair(t, secret, secret)
				ts.Setenv("CAPKEY", key)
				ts.Setenv("CAPCERTIFICATE", certificate)
			}},
	})
}

// patience is how long a script waits for something that should happen at once, because test
// machines are slow.
const patience = 2 * time.Minute

func ready(ts *testscript.TestScript, _ bool, args []string) {
	used := ts.MkAbs(args[0]) + ".used"
	if _, err := os.Stat(used); err == nil {
		ts.Fatalf("%s is of an earlier server: each prints to a file of its own", args[0])
	}
	line := regexp.MustCompile(`(?m)^(?:hazardd ready at |\{"ready":")(http://[^"\s]+)"?\}?$`)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			ts.Fatalf("%v", err)
		}
		if m := line.FindSubmatch(text); m != nil {
			ts.Setenv("URL", string(m[1]))
			ts.Check(os.WriteFile(used, nil, 0o600))
			return
		}
	}
	ts.Fatalf("the server does not say that it is ready")
}

func sendSignal(ts *testscript.TestScript, _ bool, args []string) {
	sig := map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT}[args[0]]
	for _, cmd := range ts.BackgroundCmds() {
		ts.Check(cmd.Process.Signal(sig))
	}
}

// helper returns a command that runs f.
func helper(f func(args []string) error) func() {
	return func() {
		if err := f(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func fetchMain(args []string) error {
	flags := flag.NewFlagSet("fetch", flag.ExitOnError)
	tokenFile := flags.String("token", "", "")
	until := flags.Int("until", 0, "")
	_ = flags.Parse(args)
	method, address := http.MethodGet, flags.Arg(flags.NArg()-1)
	if flags.NArg() == 2 {
		method = flags.Arg(0)
	}
	token := ""
	if *tokenFile != "" {
		text, err := os.ReadFile(*tokenFile)
		if err != nil {
			return err
		}
		token = strings.TrimSpace(string(text))
	}
	// A running server notices writes of a command within a second, but the machine may be busy.
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		req, err := http.NewRequest(method, address, nil)
		if err != nil {
			return err
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return err
		}
		if *until == 0 || resp.StatusCode == *until && strings.TrimSpace(string(body)) != "[]" { // lists lag behind the log
			_, err := fmt.Printf("%d\n%s\n", resp.StatusCode, body)
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("still %d, not %d: %s", resp.StatusCode, *until, body)
		}
	}
}

func loginMain(args []string) error {
	password, err := os.ReadFile(args[2])
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"username": args[1], "password": strings.TrimSpace(string(password))})
	if err != nil {
		return err
	}
	resp, err := http.Post(args[0]+"/authorize", "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var pair struct {
		AccessToken string `json:"accessToken"`
	}
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d %s", resp.StatusCode, answer)
	}
	if err == nil {
		err = json.Unmarshal(answer, &pair)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Println(pair.AccessToken)
	return err
}

func jsonMain(args []string) error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		for _, name := range strings.Split(args[0], ".") {
			switch node := v.(type) {
			case map[string]any:
				v = node[name]
			case []any:
				var i int
				if _, err := fmt.Sscan(name, &i); err != nil || i >= len(node) {
					return fmt.Errorf("no element %s of %d", name, len(node))
				}
				v = node[i]
			}
		}
		if v == nil {
			continue
		}
		if _, err := fmt.Println(v); err != nil {
			return err
		}
	}
	return nil
}

func damageMain(args []string) error {
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	text[len(text)/2] ^= 1
	return os.WriteFile(args[0], text, 0o600)
}

func tamperMain(args []string) error {
	db, err := sql.Open("sqlite", args[0])
	if err != nil {
		return err
	}
	_, err = db.Exec(args[1])
	return errors.Join(err, db.Close())
}

func leasedMain(args []string) error {
	db, err := sql.Open("sqlite", args[0])
	if err != nil {
		return err
	}
	defer db.Close()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var n int
		if err := db.QueryRow(`SELECT count(*) FROM leases`).Scan(&n); err != nil || n > 0 {
			return err
		}
	}
	return errors.New("no server takes a lease")
}

func newSchemaMain(args []string) error {
	if err := pagesum.Register(); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+args[0]+"?vfs="+pagesum.Strict) // as the store does
	if err != nil {
		return err
	}
	_, err = db.Exec(`INSERT INTO schema_version (version) VALUES (9999)`)
	if err == nil && len(args) == 1 {
		_, err = db.Exec(`UPDATE meta SET value = '9999' WHERE name = 'oldest_schema'`)
	}
	return errors.Join(err, db.Close())
}
