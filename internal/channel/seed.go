package channel

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// SeedFile is the name of the file of PushConfig.Seed in the data folder.
const SeedFile = "webpush.key"

// ReadSeed reads the seed of Web Push from a file: 32 random bytes in base64. Where there is none and make is set, it makes one, of mode 0600; of two
// processes that start at once, both read the one that was first. A file that others may read is refused.
func ReadSeed(path string, make bool) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && make {
		if err := makeSeed(path); err != nil {
			return nil, fmt.Errorf("key of Web Push: %w", err)
		}
		return ReadSeed(path, false)
	}
	if err != nil {
		return nil, fmt.Errorf("key of Web Push: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("key of Web Push: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s has mode %04o, so other users can send messages in our name: run chmod 600 '%s'", path, info.Mode().Perm(), path)
	}
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(seed) != 32 {
		return nil, fmt.Errorf("%s does not hold 32 bytes in base64; openssl rand -base64 32 makes such a key", path)
	}
	return seed, nil
}

func makeSeed(path string) error {
	var seed [32]byte
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
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) { // all of it is there, or nothing
		return err
	}
	return nil
}
