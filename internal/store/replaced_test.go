package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

// An earlier state of a database takes its place while it is open. The next writer does not give a
// number again that readers have seen.
func TestAWriterGivesNoNumberAgainThatAReplacedDatabaseLacks(t *testing.T) {
	for name, database := range map[string]func(testing.TB) string{"SQLite": func(testing.TB) string { return "" }, "PostgreSQL": postgres.URL} {
		t.Run(name, func(t *testing.T) {
			s := openAt(t, database(t))
			save(t, s, flood("one"))
			save(t, s, flood("two"))
			for _, text := range []string{`DELETE FROM changes WHERE n > 1`, `DELETE FROM hazards WHERE n > 1`, `UPDATE counters SET value = 1 WHERE name IN ('change', 'searchable', 'hazard')`} {
				if err := s.Exec(t.Context(), text); err != nil {
					t.Fatal(err)
				}
			}
			h := flood("three")
			save(t, s, h)
			if h.Version != 1_000_002 {
				t.Errorf("the next change is number %d", h.Version)
			}
			_, err := s.Log.Since(t.Context(), 2, 10)
			if forked, ok := errors.AsType[*store.ForkedError](err); !ok || forked.Last != 1 {
				t.Errorf("after the change that is void: %v", err)
			}
		})
	}
}

// A dump that is loaded into another database of the same server does not go on with the numbers that
// the first one gives after it.
func TestADumpInAnotherDatabaseIsAnotherHistory(t *testing.T) {
	database := postgres.URL(t)
	s, err := store.Open(t.Context(), t.TempDir(), database)
	if err != nil {
		t.Fatal(err)
	}
	save(t, s, flood("one"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, database string
		next           int64
	}{{"a dump", postgres.Dumped(t, database), 1_000_002}, {"the database itself", database, 2}} {
		s := openAt(t, c.database)
		h := flood("two")
		save(t, s, h)
		if h.Version != c.next {
			t.Errorf("%s goes on with change %d, want %d", c.name, h.Version, c.next)
		}
	}
}

// What is written to a file without a name is lost, so nothing is acknowledged.
func TestAFileThatIsReplacedIsNotWrittenToAnyMore(t *testing.T) {
	if postgres.Postgres() {
		t.Skip("only SQLite's store is a file")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "hazardd.db")
	s := open(t, dir)
	save(t, s, flood("one"))
	write := func() error {
		_, err := s.Write(t.Context(), noon, store.Origin{}, func(tx *store.Tx) error { return tx.SaveHazard(flood("two"), nil) })
		return err
	}
	if err := os.Rename(file, file+".old"); err != nil {
		t.Fatal(err)
	}
	if err := write(); !errors.Is(err, hazard.ErrUnavailable) {
		t.Errorf("without the file: %v", err)
	}
	if err := s.SameFile(); err != nil || s.Unwritable() == nil {
		t.Errorf("without the file: %v, unwritable %v", err, s.Unwritable())
	}
	if err := os.WriteFile(file, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(); !errors.Is(err, store.ErrReplaced) {
		t.Errorf("with another file: %v", err)
	}
	if err := s.SameFile(); !errors.Is(err, store.ErrReplaced) {
		t.Errorf("with another file: %v", err)
	}
	if err := os.Rename(file+".old", file); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.SeekRoom(t.Context()), write(), s.SameFile()); err != nil || s.Unwritable() != nil {
		t.Errorf("with the file again: %v, unwritable %v", err, s.Unwritable())
	}
}
