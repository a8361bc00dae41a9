package postgres

import (
	"database/sql"
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/hazardd/hazardd/internal/test"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func TestEachTestHasADatabaseOfItsOwn(t *testing.T) {
	for range 2 {
		d, err := sql.Open("pgx", URL(t))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}()
		if _, err := d.ExecContext(t.Context(), `CREATE TABLE mine (n BIGINT)`); err != nil {
			t.Error(err)
		}
	}
}

// A commit that reached a synchronous standby survives when the primary dies and the standby is
// promoted. The old primary follows as a new copy.
func TestAStandbyTakesOver(t *testing.T) {
	test.SeldomButRaced(t)
	bin := Programs(t)
	dir, err := TempDir()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}()
	if err := Init(bin, dir+"/a", "fsync=off", "shared_buffers=16MB"); err != nil {
		t.Fatal(err)
	}
	a, err := Start(bin, dir+"/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Stop(syscall.SIGQUIT) }()
	b, err := a.Standby(dir+"/b", "b", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Stop(syscall.SIGQUIT) }()
	if err := errors.Join(a.Synchronous("b"), a.Streaming(t.Context(), "b", true), a.Exec("CREATE TABLE kept (n BIGINT)")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Exec("INSERT INTO kept VALUES (7)"), a.Kill(), b.Promote(t.Context())); err != nil {
		t.Fatal(err)
	}
	c, err := b.Standby(dir+"/c", "c", 0, a.Port)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Stop(syscall.SIGQUIT) }()
	if err := b.Streaming(t.Context(), "c", false); err != nil {
		t.Error(err)
	}
	for _, s := range []*Server{b, c} {
		if err := s.until(t.Context(), "SELECT EXISTS (SELECT FROM kept WHERE n = 7)"); err != nil {
			t.Error(err)
		}
	}
}
