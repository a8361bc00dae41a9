package store_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// mounted mounts a file system of little room for a test, or skips the test where that is not allowed.
func mounted(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("needs the right to mount: %s", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return dir
}

func remount(t *testing.T, dir, mode string) {
	t.Helper()
	if out, err := exec.Command("mount", "-o", "remount,"+mode, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// filled fills the rest of a disk, and returns what makes room again.
func filled(t *testing.T, dir string) (room func()) {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
	}
}

// A store whose disk cannot be written is opened and read, says why it is not written, and is written
// again by itself.
func TestAStoreOnADiskThatCannotBeWrittenIsRead(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, dir string) (mend func())
		words string // in the reason
		open  bool   // another process has the store open
	}{
		{"read-only", func(t *testing.T, dir string) func() {
			remount(t, dir, "ro")
			return func() { remount(t, dir, "rw") }
		}, "read-only file system", false},
		{"read-only, with a log that another process has left", func(t *testing.T, dir string) func() {
			remount(t, dir, "ro")
			return func() { remount(t, dir, "rw") }
		}, "read-only file system", true},
		{"full", filled, "no space left on device", false},
		{"no file can stand beside it", func(t *testing.T, dir string) func() {
			beside := filepath.Join(dir, store.FileName+"-wal")
			if err := os.Mkdir(beside, 0o700); err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := os.Remove(beside); err != nil {
					t.Error(err)
				}
			}
		}, "hazardd.db-wal is not a file", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := mounted(t)
			s, err := store.Open(t.Context(), dir, "")
			if err != nil {
				t.Fatal(err)
			}
			save(t, s, flood("before"))
			if c.open {
				left := copied(t, dir)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				left()
			} else if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			mend := c.spoil(t, dir)
			s, err = store.Open(t.Context(), dir, "")
			if err != nil {
				mend()
				t.Fatal(err)
			}
			defer s.Close()
			why := s.Unwritable()
			if why == nil || !strings.Contains(why.Error(), c.words) || !strings.Contains(why.Error(), store.FileName) {
				t.Errorf("it says %v, expected %q and the file's name", why, c.words)
			}
			if changes := since(t, s, 0); len(changes) != 1 {
				t.Errorf("changes that are read: %d, expected 1", len(changes))
			}
			write := func() error {
				_, err := s.Write(t.Context(), hazard.Instant(1), store.Origin{Admin: true}, func(tx *store.Tx) error { return tx.SaveHazard(flood("after"), nil) })
				return err
			}
			if err := write(); !errors.Is(err, hazard.ErrUnavailable) {
				t.Errorf("a write: %v, expected that the store is not available", err)
			}
			if err := s.SeekRoom(t.Context()); err == nil || s.Unwritable() == nil {
				t.Errorf("it counts as writable: %v", err)
			}
			mend()
			if err := s.SeekRoom(t.Context()); err != nil || s.Unwritable() != nil {
				t.Fatalf("mended: %v, %v", err, s.Unwritable())
			}
			if err := write(); err != nil {
				t.Error(err)
			}
			if changes := since(t, s, 0); len(changes) != 2 {
				t.Errorf("changes afterwards: %d, expected 2", len(changes))
			}
		})
	}
}

// copied keeps the files of an open store, as a kill leaves them, and returns what puts them back.
func copied(t *testing.T, dir string) (back func()) {
	t.Helper()
	kept := map[string][]byte{}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		name := filepath.Join(dir, store.FileName+suffix)
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		kept[name] = content
	}
	return func() {
		for name, content := range kept {
			if err := os.WriteFile(name, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A file that only helps stops nothing: without its mark a store is written, and says what is missing.
func TestAStoreWithoutItsMarkIsWritten(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, store.FileName+".last"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	save(t, s, flood("one"))
	if err := s.MarkError(); err == nil || !strings.Contains(err.Error(), ".last") {
		t.Errorf("it says %v", err)
	}
}

// Without a store there is nothing to read, and an older store must be upgraded first: the error says
// why neither works.
func TestAReadOnlyDiskWithoutAStore(t *testing.T) {
	dir := mounted(t)
	remount(t, dir, "ro")
	_, err := store.Open(t.Context(), dir, "")
	if err == nil || !strings.Contains(fmt.Sprint(err), "read-only file system") {
		t.Errorf("it says %v", err)
	}
}
