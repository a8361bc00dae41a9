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

// NotOwnerOrGroup are the permission bits that a key file must not have: those of users outside a
// group that may read it. A service whose user exists only while it runs, and a pod of Kubernetes, get
// a key through their group.
const NotOwnerOrGroup fs.FileMode = 0o027

// seedBytes is the length of a seed.
const seedBytes = 32

// Private refuses a file with any bit of forbidden. could says, for the error, what other users
// could do with the key: "read the addresses".
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

// Seed reads 32 random bytes, in base64 in the file, from which keys are derived. If there is no
// file and make is true, it creates one with mode 0600. If two processes start at once, both use
// the first file. could is as for Private.
func Seed(path string, make bool, could string) ([]byte, error) {
	err := Private(path, NotOwnerOrGroup, could)
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

// makeSeed writes a new seed atomically, so a process that is killed leaves no partial file.
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
