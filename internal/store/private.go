package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/hazardd/hazardd/internal/store/pagesum"
)

// The database file holds the keys that sign tokens and the secrets of webhooks: a user who can read it can act as any user.

// ExposedError reports that other users of the machine can read the database. Its text names the command that fixes it.
type ExposedError struct {
	Path string
	Mode fs.FileMode // its permission bits
	Want fs.FileMode
}

func (e *ExposedError) Error() string {
	return fmt.Sprintf("%s has mode %04o, so other users of this machine can read the keys that sign tokens: run chmod %o '%s', "+
		"and then hazardd keys rotate if somebody may have read them", e.Path, e.Mode, e.Want, e.Path)
}

// notOwner is the permission bits of everybody but the owner.
const notOwner fs.FileMode = 0o077

// protect creates the database file at path with mode 0600; SQLite gives the files beside it the same mode. An *ExposedError is
// returned when others can read what is there: the folder, or the file alone if the user chose its place.
func protect(path string, chosen bool) error {
	if runtime.GOOS == "windows" { // access lists, which a mode does not show
		return nil
	}
	folder := filepath.Dir(path)
	closed, mode, err := closedFolder(folder)
	if err != nil {
		return nil // opening the database reports what is wrong
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
			_ = os.Chmod(file, 0o600) // nobody could have read it: earlier releases followed the umask
		default:
			return &ExposedError{Path: file, Mode: info.Mode().Perm(), Want: 0o600}
		}
	}
	return nil
}

// closedFolder reports whether only its owner can reach what is in a folder: by its own mode or that of a folder above it.
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
