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
	"syscall"
	"time"

	"github.com/google/uuid"

	"hazardd/internal/hazard"
)

// fileStore keeps the contents of product files in a folder, by the SHA-256 of what they hold. A name that a user gave is
// never a path. The folder is opened once as a root that nothing in it can lead out of.
type fileStore struct{ root *os.Root }

func openFiles(dir string) (*fileStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of product files: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("folder of product files: %w", err)
	}
	f := &fileStore{root}
	return f, f.sweep(time.Now())
}

func (f *fileStore) Close() error { return f.root.Close() }

// SaveFile keeps the content that r gives, at most limit bytes of it, and returns its digest and size. When it returns, the
// content is durable under its digest, so that a row may name it. More than limit is a *hazard.InvalidError; a full disk
// ErrFull. What a failure leaves behind is swept at the next start.
func (s *Store) SaveFile(_ context.Context, r io.Reader, limit int64) (digest string, size int64, err error) {
	root := s.files.root
	temp := "incoming-" + uuid.NewString()
	out, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", 0, fileError(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeIfThere(root, temp))
		}
	}()
	sum := sha256.New()
	size, err = io.Copy(io.MultiWriter(out, sum), io.LimitReader(r, limit+1))
	if err == nil && size > limit {
		bad := &hazard.InvalidError{}
		bad.Add("file", "is larger than %d bytes, the most that is taken", limit)
		err = bad
	}
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return "", 0, fileError(err)
	}
	digest = hex.EncodeToString(sum.Sum(nil))
	folder := digest[:2]
	if err = root.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", 0, fileError(err)
	}
	if err = root.Rename(temp, path.Join(folder, digest)); err != nil {
		return "", 0, fileError(err)
	}
	// The entries in both folders must be on disk too, before a row names the file.
	if err = errors.Join(syncFolder(root, folder), syncFolder(root, ".")); err != nil {
		return "", 0, fileError(err)
	}
	return digest, size, nil
}

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
