package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"
)

// folder stores contents in a local or shared folder. Names given by users are never paths. The
// folder is opened once, as a root that no path can leave.
type folder struct {
	root *os.Root
	// sound has the contents that were read and verified, with the time and size of their files
	// then.
	sound sync.Map // Name → stamp
}

// stamp shows whether a file may have changed since it was verified.
type stamp struct {
	time time.Time
	size int64
}

func openFolder(dir string) (*folder, error) {
	root, err := openRoot(dir)
	if err != nil {
		return nil, err
	}
	return &folder{root: root}, nil
}

func (f *folder) String() string { return "the folder " + f.root.Name() }

func (f *folder) Close() error { return f.root.Close() }

func (f *folder) Stage(r io.Reader, limit int64) (*Staged, error) {
	return stage(f.root, r, limit, true)
}

func (f *folder) Tidy(before time.Time) error { return tidy(f.root, before) }

func (f *folder) Put(_ context.Context, s *Staged, n Name) error {
	within := path.Dir(n.path())
	if err := f.root.Mkdir(within, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return diskError(err)
	}
	if err := f.root.Rename(s.temp, n.path()); err != nil {
		return diskError(err)
	}
	// The entries in both folders must be on disk too.
	return diskError(errors.Join(syncFolder(f.root, within), syncFolder(f.root, ".")))
}

func (f *folder) Open(_ context.Context, n Name) (io.ReadSeekCloser, error) {
	if !n.ok() {
		return nil, none(n)
	}
	file, err := f.root.Open(n.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, none(n)
	}
	if err != nil {
		return nil, diskError(err)
	}
	if err := f.verify(file, n); err != nil {
		return nil, errors.Join(diskError(err), file.Close())
	}
	return file, nil
}

// verify reads and checks a file that was not verified yet.
func (f *folder) verify(file *os.File, n Name) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	now := stamp{info.ModTime(), info.Size()}
	if before, ok := f.sound.Load(n); ok && before == now {
		return nil // read before, and not written to since
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != n.Digest {
		return damaged(n, f)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	f.sound.Store(n, now)
	return nil
}

func (f *folder) Each(ctx context.Context, found func(Name, time.Time) error) error {
	return fs.WalkDir(f.root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return diskError(err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		n, ok := parsePath(p)
		if !ok || !e.Type().IsRegular() {
			return nil
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return diskError(err)
		}
		return found(n, info.ModTime())
	})
}

func (f *folder) Remove(_ context.Context, n Name) error {
	f.sound.Delete(n)
	return diskError(removeIfThere(f.root, n.path()))
}

// OwnerName is the name of the file that says which store owns the contents.
const OwnerName = "owner"

func (f *folder) Owner(_ context.Context, claim string) (string, error) {
	text, err := f.root.ReadFile(OwnerName)
	if errors.Is(err, fs.ErrNotExist) {
		if err = f.claim(claim); errors.Is(err, fs.ErrExist) { // somebody was first
			err = nil
		}
		if err == nil {
			text, err = f.root.ReadFile(OwnerName)
		}
	}
	return string(text), diskError(err)
}

// claim atomically creates the file with the owner if there is none.
func (f *folder) claim(text string) error {
	s, err := f.Stage(strings.NewReader(text), int64(len(text)))
	if err != nil {
		return err
	}
	err = f.root.Link(s.temp, OwnerName)
	return errors.Join(err, s.Drop(), syncFolder(f.root, "."))
}
