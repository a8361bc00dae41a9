// Package secret reads secret keys from files, and creates such files. It refuses a file that other
// users of the machine can read, except on Windows, where the file mode does not show this.
package secret

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// What no file of a key may have: permission bits of others than its owner, or than its owner and a group that may read it. A service whose user
// is there only while it runs gets a key by its group.
const (
	NotOwner        fs.FileMode = 0o077
	NotOwnerOrGroup fs.FileMode = 0o027
)

// seedBytes is the length of a seed.
const seedBytes = 32

// Private refuses a file that has bits of forbidden. could is what other users could do with the key, for the error: "read the addresses".
func Private(path string, forbidden fs.FileMode, could string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&forbidden != 0 && runtime.GOOS != "windows" {
		return fmt.Errorf("%s has mode %04o, so other users can %s: run chmod 600 '%s'", path, mode, could, path)
	}
	return nil
}

// Seed reads 32 random bytes, in base64 in the file, from which keys are derived. Where there is no file and make is set, it makes one, of mode 0600; of
// two processes that start at once, both read the one that was first. could is as for Private.
func Seed(path string, make bool, could string) ([]byte, error) {
	err := Private(path, NotOwner, could)
	if errors.Is(err, fs.ErrNotExist) && make {
		if err := makeSeed(path); err != nil {
			return nil, err
		}
		return Seed(path, false, could)
	}
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(seed) != seedBytes {
		return nil, fmt.Errorf("%s does not hold %d bytes in base64; openssl rand -base64 %d makes such a key", path, seedBytes, seedBytes)
	}
	return seed, nil
}

// makeSeed writes a new seed so that either all of it is there or nothing: a process that is killed leaves no half of one.
func makeSeed(path string) error {
	var seed [seedBytes]byte
	rand.Read(seed[:])
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(seed[:]) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if runtime.GOOS == "windows" { // which cannot sync a folder
		return nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
