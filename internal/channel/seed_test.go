package channel

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestTheSeedOfWebPushIsMadeOnceAndKeptSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), SeedFile)
	if _, err := ReadSeed(path, false); err == nil {
		t.Error("a file that is not there is read")
	}
	first, err := ReadSeed(path, true)
	if err != nil || len(first) != 32 {
		t.Fatalf("%d bytes, %v", len(first), err)
	}
	if again, err := ReadSeed(path, true); err != nil || !bytes.Equal(first, again) {
		t.Errorf("another seed, %v", err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSeed(path, true); err == nil {
		t.Error("a file that others may read is taken")
	}
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil || os.Chmod(path, 0o600) != nil {
		t.Fatal(err)
	}
	if _, err := ReadSeed(path, true); err == nil {
		t.Error("a short seed is taken")
	}
}
