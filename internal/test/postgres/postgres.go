// Package postgres gives tests a real PostgreSQL (Debian's postgresql-15), with its own server in a
// temporary folder.
//
// A test binary that calls URL must run its tests through Main, which stops what URL started.
// Nothing is synced to disk unless a test requests it, because the servers are thrown away.
package postgres

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/child"
)

// Programs is where the programs of PostgreSQL are: the folder that the variable HAZARDD_POSTGRES names, or Debian's. It skips the test where they are
// not, by name; HAZARDD_POSTGRES makes that a failure.
func Programs(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs PostgreSQL, which short tests do not")
	}
	dir, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	if dir == "" {
		t.Skip("needs " + Needed)
	}
	return dir
}

// Needed says what is missing where Find finds nothing.
const Needed = "PostgreSQL (Debian's package postgresql-15), or HAZARDD_POSTGRES, the folder of its programs"

// Find is Programs for what is no test: empty if there are none.
func Find() (dir string, err error) {
	if dir = os.Getenv("HAZARDD_POSTGRES"); dir == "" {
		found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
		if err != nil || len(found) == 0 {
			return "", err
		}
		dir = filepath.Dir(found[len(found)-1])
	}
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return "", fmt.Errorf("HAZARDD_POSTGRES: %w", err)
	}
	return dir, nil
}

// Server is a running server.
type Server struct {
	Dir  string // its data
	Port int
	bin  string
	cmd  *exec.Cmd
	log  bytes.Buffer
	done chan error
}

// Init makes the data of a server in dir, which must not exist, with more lines of configuration. Its only user is postgres, who is trusted on the
// loopback network.
func Init(bin, dir string, settings ...string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := own(dir); err != nil {
		return err
	}
	if out, err := command(bin, "initdb", "-D", dir, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync").CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return configure(dir, settings...)
}

// configure adds lines to a server's configuration.
func configure(dir string, settings ...string) error {
	f, err := os.OpenFile(filepath.Join(dir, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	for _, line := range settings {
		if _, err := fmt.Fprintln(f, line); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

// Start starts a server on a free port, or on port, and waits until it answers.
func Start(bin, dir string, port int) (*Server, error) {
	release := func() error { return nil }
	if port == 0 {
		addr, held, err := test.Reserve()
		if err != nil {
			return nil, err
		}
		port, release = int(addr.Port()), held
	}
	s := &Server{Dir: dir, Port: port, bin: bin, done: make(chan error, 1)}
	s.cmd = command(bin, "postgres", "-D", dir, "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	child.EndWithParent(s.cmd, syscall.SIGQUIT)
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, release())
	}
	go func() { s.done <- errors.Join(s.cmd.Wait(), release()) }()
	if err := s.ready(); err != nil {
		return nil, errors.Join(err, s.Stop(syscall.SIGQUIT))
	}
	return s, nil
}

func (s *Server) ready() error {
	d, err := sql.Open("pgx", s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		err := d.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case ended := <-s.done:
			s.done <- ended
			return fmt.Errorf("PostgreSQL has ended (%w):\n%s", ended, s.log.String())
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL does not answer: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// URL is the address of a database of the server.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", s.Port, database)
}

// Stop ends the server by a signal, and waits for it: by SIGINT it ends in order, by SIGQUIT at once,
// and by SIGKILL as by a power cut, except that the kernel still writes what it holds.
func (s *Server) Stop(signal syscall.Signal) error {
	select {
	case ended := <-s.done:
		s.done <- ended
		return nil
	default:
	}
	if err := s.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	ended := <-s.done
	s.done <- ended
	return nil
}

// command is a command of PostgreSQL, which refuses to be run by root: it is run by the user postgres then, or nobody.
func command(bin, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(bin, name), args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	cmd.Dir = "/"
	if uid, gid, ok := other(); ok {
		child.RunAs(cmd, uid, gid)
	}
	return cmd
}

// other is the user that servers are run by, if it is not this one.
func other() (uid, gid uint32, ok bool) {
	if os.Getuid() != 0 {
		return 0, 0, false
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
			gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
			if err1 == nil && err2 == nil {
				return uint32(uid), uint32(gid), true
			}
		}
	}
	return 0, 0, false
}

// own gives a folder to that user.
func own(dir string) error {
	if uid, gid, ok := other(); ok {
		return os.Chown(dir, int(uid), int(gid))
	}
	return nil
}

// TempDir makes a folder that servers may be in, which others may pass.
func TempDir() (string, error) {
	dir, err := os.MkdirTemp("", "hazardd-postgres-")
	if err != nil {
		return "", err
	}
	return dir, errors.Join(os.Chmod(dir, 0o755), own(dir))
}

// common is the server of this test binary.
var common struct {
	sync.Once
	dir    string
	server *Server
	err    error
}

// URL is the address of a fresh database, on a server that all tests of the binary share. The database goes when the test ends, so that hundreds of
// tests take the disk space of a few.
func URL(t testing.TB) string {
	t.Helper()
	bin := Programs(t)
	common.Do(func() {
		if common.dir, common.err = TempDir(); common.err != nil {
			return
		}
		data := filepath.Join(common.dir, "data")
		// Nothing here outlives the tests.
		if common.err = Init(bin, data, "fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=500", "shared_buffers=64MB",
			"min_wal_size=32MB", "max_wal_size=64MB"); common.err == nil {
			common.server, common.err = Start(bin, data, 0)
		}
	})
	if common.err != nil {
		t.Fatal(common.err)
	}
	return create(t, "template0")
}

// Copy is the address of a fresh copy of a database of URL, to which nobody may be connected. It goes when the test ends.
func Copy(t testing.TB, url string) string {
	t.Helper()
	_, rest, _ := strings.Cut(url, "/t_")
	name, _, _ := strings.Cut(rest, "?")
	return create(t, "t_"+name)
}

// Dumped is the address of a fresh database with a dump of another one in it. It goes when the test ends.
func Dumped(t testing.TB, url string) string {
	t.Helper()
	bin, file, fresh := Programs(t), filepath.Join(t.TempDir(), "dump"), URL(t)
	for _, c := range []*exec.Cmd{exec.Command(filepath.Join(bin, "pg_dump"), "-Fc", "-f", file, url), exec.Command(filepath.Join(bin, "pg_restore"), "-d", fresh, file)} {
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", c.Args, err, out)
		}
	}
	return fresh
}

func create(t testing.TB, template string) string {
	t.Helper()
	name := "t_" + uuid.NewString()[:8]
	if err := common.server.Exec("CREATE DATABASE " + name + " TEMPLATE " + template); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after that of the store, which closes its connections
		if err := common.server.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return common.server.URL(name)
}

// Main runs the tests of a binary, and stops the server that they started: os.Exit(postgres.Main(m)).
func Main(m *testing.M) int {
	code := m.Run()
	if common.server != nil {
		if err := common.server.Stop(syscall.SIGQUIT); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	if common.dir != "" {
		if err := os.RemoveAll(common.dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	return code
}

// byFolder are the databases of the folders that Database was asked for.
var byFolder sync.Map

// Database is the setting of a store in the folder dir: embedded, or, where the variable HAZARDD_TEST_DATABASE is postgres, a database that belongs to
// the folder. So the same tests run on both.
func Database(t testing.TB, dir, embedded string) string {
	t.Helper()
	switch name := os.Getenv("HAZARDD_TEST_DATABASE"); name {
	case "", "sqlite":
		return embedded
	case "postgres":
		if url, ok := byFolder.Load(dir); ok {
			return url.(string)
		}
		url := URL(t)
		byFolder.Store(dir, url)
		t.Cleanup(func() { byFolder.Delete(dir) })
		return url
	default:
		t.Fatalf("HAZARDD_TEST_DATABASE is %q, want sqlite or postgres", name)
		return ""
	}
}

// Postgres reports whether Database gives PostgreSQL.
func Postgres() bool { return os.Getenv("HAZARDD_TEST_DATABASE") == "postgres" }
