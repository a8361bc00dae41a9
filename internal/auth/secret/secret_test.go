package secret

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestASeedIsMadeOnceAndKeptSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "some.key")
	if _, err := Seed(path, false, "x"); err == nil {
		t.Error("a file that does not exist is read")
	}
	var seeds [4][]byte
	var all sync.WaitGroup
	for i := range seeds {
		all.Go(func() { seeds[i], _ = Seed(path, true, "x") })
	}
	all.Wait()
	for _, seed := range seeds {
		if len(seed) != 32 || !bytes.Equal(seed, seeds[0]) {
			t.Errorf("of four concurrent starts one has %x, another %x", seeds[0], seed)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".key-*")); err != nil || len(left) > 0 {
		t.Errorf("what is left: %q, %v", left, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for content, want := range map[string]string{"short": "does not hold 32 bytes", "c2hvcnQ=": "does not hold 32 bytes", "": "does not hold 32 bytes"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Seed(path, true, "x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func TestAFileThatOthersMayReadIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "some.key")
	if _, err := Seed(path, true, "x"); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o440: true, 0o640: true, 0o660: false, 0o604: false, 0o644: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := Seed(path, true, "read our letters")
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "so other users can read our letters: run chmod 600") {
			t.Errorf("%04o: %v", mode, err)
		}
	}
}
