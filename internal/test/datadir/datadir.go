// Package datadir gives tests data folders that others have filled: migrations and password hashes
// take most of the time that a server or a store needs to start, so they are done once for a test
// binary and copied.
package datadir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hazardd/hazardd/internal/store"
)

// Files is the content of a data folder, by name.
type Files map[string][]byte

// Make returns what fill puts into a folder. Folders in it are left out.
func Make(fill func(dir string) error) (f Files, err error) {
	dir, err := os.MkdirTemp("", "hazardd-datadir-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := fill(dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	f = Files{}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if f[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Copy writes f to the folder dir.
func (f Files) Copy(t testing.TB, dir string) {
	t.Helper()
	for name, content := range f {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

var empty = sync.OnceValues(func() (Files, error) {
	return Make(func(dir string) error {
		s, err := store.Open(context.Background(), dir, "sqlite:?synchronous=off")
		if err != nil {
			return err
		}
		return s.Close()
	})
})

// Empty returns a folder with an SQLite store in which nothing has happened yet. All of them have
// the same name of the installation.
func Empty(t testing.TB) string {
	t.Helper()
	f, err := empty()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f.Copy(t, dir)
	return dir
}
