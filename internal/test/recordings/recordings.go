// Package recordings finds the recorded payloads and test vectors, which are not part of this
// repository.
package recordings

import (
	"os"
	"path/filepath"
	"testing"
)

// Path is the path of a file of the recordings and vectors that the variable HAZARDD_SHARED leads to. Without the variable the test is
// skipped by name; with it a missing file is a failure.
func Path(t testing.TB, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("reads recordings, which short tests do not")
	}
	dir := os.Getenv("HAZARDD_SHARED")
	if dir == "" {
		t.Skip("recordings and vectors: HAZARDD_SHARED is not set")
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("recording: %v", err)
	}
	return path
}

// Read reads a file that Path finds.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
