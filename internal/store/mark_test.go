package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hazardd/hazardd/internal/store"
)

// A number is never used twice: a store that returns without its last changes continues beyond
// them, and clients that have seen them are told.
func TestAStoreThatComesBackShorterTellsWhoHasSeenMore(t *testing.T) {
	dir := t.TempDir()
	file, mark := filepath.Join(dir, "hazardd.db"), filepath.Join(dir, "hazardd.db.last")
	opened := func() *store.Store {
		t.Helper()
		s, err := store.Open(t.Context(), dir, "")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	closed := func(s *store.Store) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := opened()
	save(t, s, flood("one"))
	closed(s)
	older, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s = opened()
	if s.Lost() != 0 {
		t.Errorf("%d changes of a whole store are lost", s.Lost())
	}
	save(t, s, flood("two"))
	save(t, s, flood("three"))
	epoch := s.Epoch()
	closed(s)
	told, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		name string
		mark func() []byte
		lost int64
	}{
		{"the mark is damaged: it is not believed", func() []byte { m := append([]byte{}, told...); m[len(epoch)+1] ^= 1; return m }, 0},
		{"the mark is cut", func() []byte { return told[:20] }, 0},
		{"the mark is of another store", func() []byte { return append([]byte("urn:uuid:x 9 #0"), told[15:]...) }, 0},
		{"the mark is there", func() []byte { return told }, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := errors.Join(os.WriteFile(file, older, 0o600), os.WriteFile(mark, c.mark(), 0o600)); err != nil {
				t.Fatal(err)
			}
			closed(opened()) // by a command: the server must notice it nevertheless
			s := opened()
			defer closed(s)
			if s.Lost() != c.lost || s.Epoch() != epoch {
				t.Fatalf("%d changes are lost, expected %d; epoch %s", s.Lost(), c.lost, s.Epoch())
			}
			_, err := s.Log.Since(t.Context(), 3, 10)
			forked, ok := errors.AsType[*store.ForkedError](err)
			if ok != (c.lost > 0) || ok && (forked.Last != 1 || forked.Reason != store.Damage) {
				t.Errorf("query for the changes after change 3: %v", err)
			}
			save(t, s, flood("four"))
			if changes := since(t, s, 1); c.lost > 0 && (len(changes) != 1 || changes[0].Number <= 3) {
				t.Errorf("after the loss the changes are %+v, expected one with a number that no client has seen", changes)
			}
		})
	}
	s = opened()
	defer closed(s)
	if s.Lost() != 0 {
		t.Errorf("%d changes are lost again", s.Lost())
	}
}
