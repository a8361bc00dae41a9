// Package blob keeps the contents of product files, by the SHA-256 of what they hold: in a folder, or in a bucket of any service that
// speaks S3.
//
// A content is there whole or not at all, and what was put is durable when Put returns. What comes back is what was put: damage is told, not
// served. The package knows nothing of products: which contents are still wanted, the store decides. All is safe for concurrent
// use, by several processes too.
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

// Place is where contents are. Its errors are hazard.ErrNotFound, ErrFull and ErrUnavailable (trying again later may succeed), or of no kind.
type Place interface {
	// Stage receives the content that r gives, at most limit bytes of it; more is a *hazard.InvalidError. It is on this machine then, and nobody sees it.
	Stage(r io.Reader, limit int64) (*Staged, error)
	// Put keeps a staged content under a name. When it returns nil the content is durable; putting the same again changes nothing.
	Put(ctx context.Context, f *Staged, n Name) error
	// Open opens a content for reading and seeking, as long as ctx lives; ErrNotFound if there is none of that name.
	Open(ctx context.Context, n Name) (io.ReadSeekCloser, error)
	// Each calls f with the name of every content and when it was put, in no order, until f returns an error.
	Each(ctx context.Context, f func(Name, time.Time) error) error
	// Remove removes a content; it is no error if there is none.
	Remove(ctx context.Context, n Name) error
	// Owner tells whose contents these are: claim, if it is the first to ask.
	Owner(ctx context.Context, claim string) (string, error)
	// Tidy removes what uploads to this machine left behind that were interrupted, and had begun before a moment.
	Tidy(before time.Time) error
	// String names the place for people.
	String() string
	Close() error
}

// Claim makes the store of an epoch the owner of a place, if it has none yet. ErrConflict if another store owns it, which may name contents that this one does not. what says in the
// error what the contents are.
func Claim(ctx context.Context, p Place, what, epoch string) error {
	owner, err := p.Owner(ctx, epoch)
	if err == nil && owner != epoch {
		err = fmt.Errorf("%w: the %s in %v are those of another store (%s, this is %s), which may name what this one does not: "+
			"give each store a place of its own, or remove the file or object %q there if this store has taken the other's place", hazard.ErrConflict, what, p, owner, epoch, OwnerName)
	}
	return err
}

// Settings say where contents are.
type Settings struct {
	// URL is s3://BUCKET/PREFIX?endpoint=…&region=…&path_style=…; empty: the folder.
	URL string
	// AccessKey and SecretKey open the bucket. Without them they are looked for as Amazon's programs do: AWS_ACCESS_KEY_ID and its kin, the role of the
	// pod, the container or the machine.
	AccessKey, SecretKey string
}

// String is the URL: the rest is for nobody to see.
func (s Settings) String() string { return s.URL }

// GoString is String.
func (s Settings) GoString() string { return s.URL }

// Open opens the place that settings say. dir is a folder of this machine, which is made if need be: the contents are in it, or
// what is on its way to the bucket. The bucket itself is not asked yet: it may be away.
func Open(dir string, s Settings) (Place, error) {
	if s.URL == "" {
		return openFolder(dir)
	}
	return openBucket(dir, s)
}

// Name names a content in a place.
type Name struct {
	Digest string // SHA-256, hexadecimal
	// Life counts how often contents of the digest were removed before. What is put after a removal has a name that was never used, so that a removal
	// that comes late cannot hit it: one whose answer was lost, or of a process that was stopped meanwhile.
	Life int64
}

// ok tells whether a content may have that name.
func (n Name) ok() bool {
	return len(n.Digest) == 2*sha256.Size && strings.Trim(n.Digest, "0123456789abcdef") == "" && n.Life >= 0
}

// path is the name with slashes, below the place: ab/abcd…, and ab/abcd….1 for the next life.
func (n Name) path() string {
	p := path.Join(n.Digest[:2], n.Digest)
	if n.Life > 0 {
		p += "." + strconv.FormatInt(n.Life, 10)
	}
	return p
}

// parsePath is the name that a path says; ok is false if it is none of ours.
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

// Staged is a content that was received whole, and that nothing can name yet.
type Staged struct {
	Digest string // SHA-256, hexadecimal
	Size   int64  // bytes
	root   *os.Root
	temp   string
}

// incoming begins the names of files that are being received.
const incoming = "incoming-"

// stage receives a content in a folder; with sync it is on disk then.
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

// steadyBytes are written to a file before it is synced.
const steadyBytes = 4 << 20

// Steady writes to a file and syncs it as it goes. The caller syncs the rest. One sync of a large file at its end would keep the syncs of all
// other files of its disk waiting, and so the writers of the store.
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

// Drop forgets what was staged. What was put stays.
func (f *Staged) Drop() error { return removeIfThere(f.root, f.temp) }

// tidy removes what interrupted uploads left behind in a folder. Another process may be uploading: only what is older than that can take is removed.
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

// none is the error that there is no such content.
func none(n Name) error { return fmt.Errorf("%w: content %q", hazard.ErrNotFound, n.Digest) }

// damaged is the error that a content is not what was put.
func damaged(n Name, where fmt.Stringer) error {
	return fmt.Errorf("content %s is damaged in %v: restore it from a backup", n.Digest, where)
}

func openRoot(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
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

// diskError gives failures of the file system their kinds.
func diskError(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w", hazard.ErrFull, err)
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.EIO):
		return fmt.Errorf("%w: %w", hazard.ErrUnavailable, err)
	}
	return err
}

// Below is the same place, but a folder of that name in the bucket. Settings for a folder of this machine stay as they are: Open is
// told which.
func (s Settings) Below(name string) Settings {
	if s.URL == "" {
		return s
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return s // Open says what is wrong with it
	}
	u.Path, u.RawPath = path.Join("/", u.Path, name), ""
	s.URL = u.String()
	return s
}
