// Package blob stores the contents of product files by their SHA-256, in a folder or in an
// S3-compatible bucket.
//
// A content is stored completely or not at all, and is durable when Put returns. Reading verifies
// it: damage is an error, and damaged bytes are never returned. The package knows nothing of
// products; the store decides which contents are still needed. It is safe for concurrent use, by
// several processes too.
package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Place stores contents. Its errors are hazard.ErrNotFound, ErrFull and ErrUnavailable (a later try
// may succeed), or unclassified.
type Place interface {
	// Stage reads a content of at most limit bytes to this machine, where nothing refers to it yet.
	// A larger one is a *hazard.InvalidError.
	Stage(r io.Reader, limit int64) (*Staged, error)
	// Put stores a staged content under a name. When it returns nil, the content is durable.
	// Storing it again changes nothing.
	Put(ctx context.Context, f *Staged, n Name) error
	// Open opens a content, which is readable until ctx ends. It returns ErrNotFound if there is
	// none of that name.
	Open(ctx context.Context, n Name) (io.ReadSeekCloser, error)
	// Each calls f with the name and the time of storage of every content, in no particular order,
	// until f returns an error.
	Each(ctx context.Context, f func(Name, time.Time) error) error
	// Remove removes a content. A missing one is not an error.
	Remove(ctx context.Context, n Name) error
	// Owner returns the owner of the contents. The first caller becomes the owner, by its claim.
	Owner(ctx context.Context, claim string) (string, error)
	// Tidy removes the remains of interrupted uploads to this machine that began before a time.
	Tidy(before time.Time) error
	// String returns the name of the place for people.
	String() string
	Close() error
}

// Claim makes the store with this epoch the owner of a place that has none. It returns ErrConflict
// if another store owns the place, since that store may refer to contents that this one does not.
// what names the contents in errors.
func Claim(ctx context.Context, p Place, what, epoch string) error {
	owner, err := p.Owner(ctx, epoch)
	if err == nil && owner != epoch {
		err = fmt.Errorf("%w: the %s in %v are those of another store (%s, this is %s), which may need what this one does not: "+
			"give each store a place of its own, or remove the file or object %q there if this store has taken the other's place", hazard.ErrConflict, what, p, owner, epoch, OwnerName)
	}
	return err
}

// Settings say where contents are stored.
type Settings struct {
	// URL is s3://BUCKET/PREFIX?endpoint=…&region=…&path_style=…; empty means the folder.
	URL string
	// AccessKey and SecretKey are the credentials of the bucket. If they are empty, they are found
	// as by Amazon's programs: in AWS_ACCESS_KEY_ID and related variables, or by the role of the
	// pod, container or machine.
	AccessKey, SecretKey string
}

// String returns the URL only, without the secrets.
func (s Settings) String() string { return s.URL }

// GoString returns the URL only, without the secrets.
func (s Settings) GoString() string { return s.URL }

// Open opens the place that s describes. dir is a folder of this machine, created if needed, for
// the contents or for uploads to the bucket. Open does not contact the bucket, which may be
// unreachable. A folder that cannot be opened is waited for; see Missing.
func Open(dir string, s Settings) (Place, error) {
	return orWait(dir, func() (Place, error) {
		if s.URL == "" {
			return openFolder(dir)
		}
		return openBucket(dir, s)
	})
}

// Name identifies a content in a place.
type Name struct {
	Digest string // SHA-256, hexadecimal
	// Life is the number of times that contents with this digest were removed before. A content
	// that is stored after a removal has a new name, so a late removal cannot hit it: one whose
	// answer was lost, or one by a process that was suspended.
	Life int64
}

// ok reports whether n is a valid name.
func (n Name) ok() bool {
	return len(n.Digest) == 2*sha256.Size && strings.Trim(n.Digest, "0123456789abcdef") == "" && n.Life >= 0
}

// path returns the path of n below the place: ab/abcd…, and ab/abcd….1 for the next life.
func (n Name) path() string {
	p := path.Join(n.Digest[:2], n.Digest)
	if n.Life > 0 {
		p += "." + strconv.FormatInt(n.Life, 10)
	}
	return p
}

// parsePath returns the name for a path. ok is false if no name has that path.
func parsePath(p string) (n Name, ok bool) {
	digest, life, more := strings.Cut(path.Base(p), ".")
	n.Digest = digest
	if more {
		var err error
		if n.Life, err = strconv.ParseInt(life, 10, 64); err != nil {
			return n, false
		}
	}
	return n, n.ok() && n.path() == p
}

// Staged is a content that was received completely, but is not stored yet.
type Staged struct {
	Digest string // SHA-256, hexadecimal
	Size   int64  // bytes
	root   *os.Root
	temp   string
}

// incoming is the prefix of files that are being received.
const incoming = "incoming-"

// stage receives a content in a folder. If sync is true, it is on disk when stage returns.
func stage(root *os.Root, r io.Reader, limit int64, sync bool) (*Staged, error) {
	f := &Staged{root: root, temp: incoming + uuid.NewString()}
	out, err := root.OpenFile(f.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, diskError(err)
	}
	sum, to := sha256.New(), io.Writer(out)
	if sync {
		to = Steady(out)
	}
	f.Size, err = io.Copy(io.MultiWriter(to, sum), io.LimitReader(r, limit+1))
	if err == nil && f.Size > limit {
		bad := &hazard.InvalidError{}
		bad.Add("file", "is larger than the limit of %d bytes", limit)
		err = bad
	}
	if err == nil && sync {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return nil, errors.Join(diskError(err), f.Drop())
	}
	f.Digest = hex.EncodeToString(sum.Sum(nil))
	return f, nil
}

// steadyBytes is the number of bytes written to a file before it is synced.
const steadyBytes = 4 << 20

// Steady returns a writer to a file that syncs it as it goes. The caller syncs the rest. One sync
// of a large file at its end would delay the syncs of all other files on the disk, and with them
// the writers of the store.
func Steady(f *os.File) io.Writer { return &steady{file: f} }

type steady struct {
	file    *os.File
	written int // since the last sync
}

func (s *steady) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	if s.written += n; err == nil && s.written >= steadyBytes {
		s.written = 0
		err = s.file.Sync()
	}
	return n, err
}

// Drop removes what was staged. A stored content stays.
func (f *Staged) Drop() error { return removeIfThere(f.root, f.temp) }

// tidy removes the remains of interrupted uploads from a folder. Another process may be uploading,
// so only files older than any upload are removed.
func tidy(root *os.Root, before time.Time) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return diskError(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), incoming) {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			if err := removeIfThere(root, e.Name()); err != nil {
				return diskError(err)
			}
		}
	}
	return nil
}

// none returns the error for a content that does not exist.
func none(n Name) error { return fmt.Errorf("%w: content %q", hazard.ErrNotFound, n.Digest) }

// damaged returns the error for a content that is not what was stored.
func damaged(n Name, where fmt.Stringer) error {
	return fmt.Errorf("content %s is damaged in %v: restore it from a backup", n.Digest, where)
}

func openRoot(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			failed.Path = dir // and not the first of its parents that is missing
		}
		return nil, fmt.Errorf("folder of product files: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("folder of product files: %w", err)
	}
	return root, nil
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

// diskError classifies errors of the file system.
func diskError(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w", hazard.ErrFull, err)
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.EIO):
		return fmt.Errorf("%w: %w", hazard.ErrUnavailable, err)
	}
	return err
}

// Below returns the settings for a subfolder of the bucket. For a folder of this machine it returns
// s unchanged: the caller gives Open another dir.
func (s Settings) Below(name string) Settings {
	if s.URL == "" {
		return s
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return s // Open reports what is wrong with it
	}
	u.Path, u.RawPath = path.Join("/", u.Path, name), ""
	s.URL = u.String()
	return s
}
