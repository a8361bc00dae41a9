package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"hazardd/internal/hazard"
)

// fileStore keeps the contents of product files in a folder, by the SHA-256 of what they hold. A name that a user gave is
// never a path. The folder is opened once as a root that nothing in it can lead out of.
type fileStore struct {
	root *os.Root
	// sound are the contents that were read and found to be what was stored, with the file's time and size then.
	sound sync.Map // digest → stamp
}

// stamp tells whether a file may have changed since it was read.
type stamp struct {
	time time.Time
	size int64
}

func openFiles(dir string) (*fileStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of product files: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("folder of product files: %w", err)
	}
	f := &fileStore{root: root}
	return f, f.sweep(time.Now())
}

func (f *fileStore) Close() error { return f.root.Close() }

// StagedFile is a content that was received whole and is on disk, but has no name yet under which a row could name it.
type StagedFile struct {
	Digest string // SHA-256, hexadecimal
	Size   int64  // bytes
	root   *os.Root
	temp   string
}

// StageFile receives the content that r gives, at most limit bytes of it. More is a *hazard.InvalidError; a full disk ErrFull. Keep or Drop
// it; what neither was done to is swept at a later start.
func (s *Store) StageFile(_ context.Context, r io.Reader, limit int64) (*StagedFile, error) {
	f := &StagedFile{root: s.files.root, temp: "incoming-" + uuid.NewString()}
	out, err := f.root.OpenFile(f.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fileError(err)
	}
	sum := sha256.New()
	f.Size, err = io.Copy(io.MultiWriter(out, sum), io.LimitReader(r, limit+1))
	if err == nil && f.Size > limit {
		bad := &hazard.InvalidError{}
		bad.Add("file", "is larger than %d bytes, the most that is taken", limit)
		err = bad
	}
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return nil, errors.Join(fileError(err), f.Drop())
	}
	f.Digest = hex.EncodeToString(sum.Sum(nil))
	return f, nil
}

// Keep gives the content its name. When it returns, the content is durable under its digest, so that a row may name it.
func (f *StagedFile) Keep() error {
	folder := f.Digest[:2]
	if err := f.root.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fileError(err)
	}
	if err := f.root.Rename(f.temp, path.Join(folder, f.Digest)); err != nil {
		return fileError(err)
	}
	// The entries in both folders must be on disk too, before a row names the file.
	return fileError(errors.Join(syncFolder(f.root, folder), syncFolder(f.root, ".")))
}

// Drop forgets a content that was not kept; one that was stays.
func (f *StagedFile) Drop() error { return removeIfThere(f.root, f.temp) }

// OpenFile opens the content with that digest, for reading and seeking. ErrNotFound if there is none. A content that is no
// longer what was stored is an error: damage is told, not served.
func (s *Store) OpenFile(_ context.Context, digest string) (io.ReadSeekCloser, error) {
	if len(digest) != 2*sha256.Size {
		return nil, fmt.Errorf("%w: content %q", hazard.ErrNotFound, digest)
	}
	f, err := s.files.root.Open(path.Join(digest[:2], digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: content %s", hazard.ErrNotFound, digest)
	}
	if err != nil {
		return nil, fileError(err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fileError(err), f.Close())
	}
	now := stamp{info.ModTime(), info.Size()}
	if before, ok := s.files.sound.Load(digest); ok && before == now {
		return f, nil // read before, and not written to since
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != digest {
		err = fmt.Errorf("content %s is damaged on disk: restore it from a backup", digest)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fileError(err), f.Close())
	}
	s.files.sound.Store(digest, now)
	return f, nil
}

func syncFolder(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func removeIfThere(root *os.Root, name string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// fileError gives failures of the file system their kinds.
func fileError(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w", hazard.ErrFull, err)
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.EIO):
		return fmt.Errorf("%w: %w", hazard.ErrUnavailable, err)
	}
	return err
}

// sweep removes what interrupted uploads left behind. Another process may be uploading: only what is older than that can take.
func (f *fileStore) sweep(now time.Time) error {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "incoming-") {
			continue
		}
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > uploadTime {
			if err := removeIfThere(f.root, e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// uploadTime is longer than any upload lasts: the server's read time-out is far below.
const uploadTime = time.Hour
