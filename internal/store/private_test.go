package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// openFolder returns a folder with that mode that every user of the machine can reach, unlike
// t.TempDir.
func openFolder(t *testing.T, mode fs.FileMode) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes")
	}
	top, err := os.MkdirTemp("", "hazardd-private")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	for dir := filepath.Dir(top); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o077 == 0 {
			t.Skipf("%s denies others access to the folder for temporary files", dir)
		}
	}
	dir := filepath.Join(top, "data")
	for _, d := range []string{top, dir} {
		if err := errors.Join(os.MkdirAll(d, 0o700), os.Chmod(d, mode)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestADataFolderThatOthersCanReadIsRefused(t *testing.T) {
	for _, mode := range []fs.FileMode{0o755, 0o750, 0o701, 0o710} {
		t.Run(mode.String(), func(t *testing.T) {
			dir := openFolder(t, mode)
			s, err := store.Open(t.Context(), dir, "")
			if err == nil {
				t.Fatal("opened", errors.Join(s.Close()))
			}
			exposed, ok := errors.AsType[*store.ExposedError](err)
			if !ok || exposed.Path != dir || !strings.Contains(err.Error(), "chmod 700 '"+dir+"'") {
				t.Fatalf("error %v", err)
			}
			if _, err := os.Stat(filepath.Join(dir, "hazardd.db")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a database was made: %v", err)
			}
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if s, err = store.Open(t.Context(), dir, ""); err != nil {
				t.Fatalf("after the command that the error names: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// wantPrivate fails for each file in dir that others may read.
func wantPrivate(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files++
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil || files < 3 { // the database, its log and its index
		t.Errorf("%d files, %v", files, err)
	}
}

func TestNoFileOfTheStoreCanBeReadByOthers(t *testing.T) {
	write := func(t *testing.T, dir, name string) *store.Store {
		t.Helper()
		s, err := store.Open(t.Context(), dir, name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		if err := s.Accounts.AddKey(t.Context(), auth.Key{ID: fmt.Sprint(len(dir)), NotAfter: hazard.Instant(1 << 50)}, ""); err != nil {
			t.Fatal(err)
		}
		return s
	}
	t.Run("in a folder that was there", func(t *testing.T) {
		dir := t.TempDir() // 0755 inside a folder that only its owner can enter
		write(t, dir, "")
		wantPrivate(t, dir)
	})
	t.Run("of an earlier release", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "hazardd.db"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		write(t, dir, "")
		wantPrivate(t, dir)
	})
	t.Run("at a place that the user chose", func(t *testing.T) {
		dir := openFolder(t, 0o755)
		file := filepath.Join(dir, "other.db")
		s := write(t, t.TempDir(), "sqlite:"+file)
		wantPrivate(t, dir)
		if err := errors.Join(s.Close(), os.Chmod(file, 0o640)); err != nil {
			t.Fatal(err)
		}
		_, err := store.Open(t.Context(), t.TempDir(), "sqlite:"+file)
		if _, ok := errors.AsType[*store.ExposedError](err); !ok || !strings.Contains(err.Error(), "chmod 600 '"+file+"'") {
			t.Errorf("a file of mode 0640: %v", err)
		}
	})
}
