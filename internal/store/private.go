package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/hazardd/hazardd/internal/store/sqlite/pagesum"
)

// The database file holds the keys that sign tokens, and secrets of webhooks: whoever can read it
// can act as any user.

// ExposedError reports that other users of the machine can read the database. Its text has the
// command that fixes it.
type ExposedError struct {
	Path string
	Mode fs.FileMode // permission bits
	Want fs.FileMode
}

func (e *ExposedError) Error() string {
	return fmt.Sprintf("%s has mode %04o, so other users of this machine can read the keys that sign tokens: run chmod %o '%s', "+
		"and then hazardd keys rotate if somebody may have read them", e.Path, e.Mode, e.Want, e.Path)
}

// notOwner holds the permission bits of all users except the owner.
const notOwner fs.FileMode = 0o077

// protect creates the database file with mode 0600; SQLite gives the same mode to the files beside
// it. It returns an *ExposedError if others can read an existing store: its folder, or only the
// file if the user chose its place.
func protect(path string, chosen bool) error {
	if runtime.GOOS == "windows" { // the mode does not show access control lists
		return nil
	}
	folder := filepath.Dir(path)
	closed, mode, err := closedFolder(folder)
	if err != nil {
		return nil // opening the database reports the problem
	}
	if !closed && !chosen {
		return &ExposedError{Path: folder, Mode: mode, Want: 0o700}
	}
	if err := pagesum.Create(path, pageSize); err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	if f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		return f.Close()
	}
	for _, file := range []string{path, path + "-wal", path + "-shm", path + "-journal"} {
		info, err := os.Stat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil // as above
		case info.Mode().Perm()&notOwner == 0:
		case closed:
			_ = os.Chmod(file, 0o600) // nobody else could read it: earlier releases applied the umask
		default:
			return &ExposedError{Path: file, Mode: info.Mode().Perm(), Want: 0o600}
		}
	}
	return nil
}

// closedFolder reports whether only its owner can reach the content of a folder, by its own mode or
// that of a parent folder.
func closedFolder(dir string) (closed bool, mode fs.FileMode, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return false, 0, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return false, 0, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return false, 0, err
	}
	mode = info.Mode().Perm()
	for above := info; above.Mode().Perm()&notOwner != 0; {
		parent := filepath.Dir(dir)
		if parent == dir {
			return false, mode, nil
		}
		dir = parent
		if above, err = os.Stat(dir); err != nil {
			return false, mode, err
		}
	}
	return true, mode, nil
}
