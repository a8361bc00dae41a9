package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Shelf stores contents under names chosen by their writer: letters, digits, '-', '_' and '.', in
// parts separated by slashes. A name is written once, and completely. Errors are those of a Place.
type Shelf interface {
	Stage(r io.Reader, limit int64) (*Staged, error)
	// PutAs stores a staged content under a name. When it returns nil, the content is durable.
	PutAs(ctx context.Context, s *Staged, name string) error
	// OpenAs opens the content of that name, which is readable until ctx ends. It returns
	// ErrNotFound if there is none. It does not verify the content.
	OpenAs(ctx context.Context, name string) (io.ReadCloser, error)
	// Names calls f with every name that begins with prefix and its time of storage, in no
	// particular order, until f returns an error.
	Names(ctx context.Context, prefix string, f func(name string, put time.Time) error) error
	// RemoveAs removes a content. A missing one is not an error.
	RemoveAs(ctx context.Context, name string) error
	Tidy(before time.Time) error
	String() string
	Close() error
}

// OpenShelf opens the shelf that s describes: the bucket, or otherwise the folder dir. Contents are
// staged in the local folder spool, so a dir on an unresponsive remote disk blocks only its
// writers. Folders are created if needed.
func OpenShelf(dir, spool string, s Settings) (Shelf, error) {
	if s.URL != "" {
		return openBucket(spool, s)
	}
	f, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	root, err := openRoot(spool)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &shelf{f, root}, nil
}

// shelf is a folder whose contents are staged in another one.
type shelf struct {
	*folder
	spool *os.Root
}

func (f *shelf) Stage(r io.Reader, limit int64) (*Staged, error) {
	return stage(f.spool, r, limit, false)
}

// Tidy cleans up both folders.
func (f *shelf) Tidy(before time.Time) error {
	return errors.Join(tidy(f.spool, before), f.folder.Tidy(before))
}

func (f *shelf) Close() error { return errors.Join(f.spool.Close(), f.folder.Close()) }

// InBucket reports whether contents are in a bucket.
func InBucket(p Place) bool {
	_, ok := p.(*bucket)
	return ok
}

var shelved = regexp.MustCompile(`^[\w-][\w.-]*(/[\w-][\w.-]*)*$`)

func checkName(name string) error {
	if !shelved.MatchString(name) {
		return fmt.Errorf("%q is not the name of a file in a backup", name)
	}
	return nil
}

func (f *shelf) PutAs(_ context.Context, s *Staged, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	within := path.Dir(name)
	if err := f.root.MkdirAll(within, 0o700); err != nil {
		return diskError(err)
	}
	in, err := s.root.Open(s.temp)
	if err != nil {
		return diskError(err)
	}
	copied, err := stage(f.root, in, math.MaxInt64-1, true)
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	if copied.Digest != s.Digest {
		return errors.Join(fmt.Errorf("%s was changed while it waited in %s", name, s.root.Name()), copied.Drop())
	}
	if err := f.root.Rename(copied.temp, name); err != nil {
		return errors.Join(diskError(err), copied.Drop())
	}
	for dir := within; ; dir = path.Dir(dir) {
		if err := syncFolder(f.root, dir); err != nil || dir == "." {
			return diskError(err)
		}
	}
}

func (f *shelf) OpenAs(_ context.Context, name string) (io.ReadCloser, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	file, err := f.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s in %v", hazard.ErrNotFound, name, f)
	}
	if err != nil {
		return nil, diskError(err)
	}
	return file, nil
}

func (f *shelf) Names(ctx context.Context, prefix string, found func(string, time.Time) error) error {
	err := fs.WalkDir(f.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return diskError(err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.IsDir() && name != "." && !strings.HasPrefix(name+"/", prefix) && !strings.HasPrefix(prefix, name+"/") {
			return fs.SkipDir
		}
		if !e.Type().IsRegular() || !strings.HasPrefix(name, prefix) || strings.HasPrefix(name, incoming) {
			return nil
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return diskError(err)
		}
		return found(name, info.ModTime())
	})
	return err
}

// RemoveAs also removes folders that become empty.
func (f *shelf) RemoveAs(_ context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := removeIfThere(f.root, name); err != nil {
		return diskError(err)
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if f.root.Remove(dir) != nil {
			break // it holds more
		}
	}
	return nil
}

func (b *bucket) PutAs(ctx context.Context, s *Staged, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if s.Size > maxObject {
		bad := &hazard.InvalidError{}
		bad.Add("file", "is larger than %d bytes, the most that a bucket takes", int64(maxObject))
		return bad
	}
	file, err := s.root.Open(s.temp)
	if err != nil {
		return diskError(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	return b.put(ctx, b.prefix+name, file, s.Size, s.Digest, minio.PutObjectOptions{})
}

func (b *bucket) OpenAs(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	watched, timer, stop := b.watch(ctx)
	body, _, _, err := b.client.GetObject(watched, b.name, b.prefix+name, minio.GetObjectOptions{})
	if err != nil {
		stop()
		return nil, b.fail(ctx, err)
	}
	return &stream{ReadCloser: body, bucket: b, ctx: ctx, timer: timer, stop: stop}, nil
}

// stream is an object that is read once, from its beginning.
type stream struct {
	io.ReadCloser
	bucket *bucket
	ctx    context.Context
	timer  *time.Timer
	stop   func()
}

func (s *stream) Read(p []byte) (int, error) {
	s.timer.Reset(s.bucket.stall)
	defer s.timer.Stop()
	n, err := s.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.bucket.fail(s.ctx, err)
	}
	return n, err
}

func (s *stream) Close() error {
	s.stop()
	_ = s.ReadCloser.Close() // nothing more is wanted of it
	return nil
}

func (b *bucket) Names(ctx context.Context, prefix string, found func(string, time.Time) error) error {
	watched, timer, stop := b.watch(ctx)
	defer stop()
	for info := range b.client.ListObjectsIter(watched, b.name, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}) {
		timer.Stop() // what is done with it takes its time
		if info.Err != nil {
			return b.fail(ctx, info.Err)
		}
		if err := found(strings.TrimPrefix(info.Key, b.prefix), info.LastModified); err != nil {
			return err
		}
		timer.Reset(b.stall)
	}
	return ctx.Err()
}

func (b *bucket) RemoveAs(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	requestCtx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	if err := b.fail(ctx, b.client.RemoveObject(requestCtx, b.name, b.prefix+name, minio.RemoveObjectOptions{})); !errors.Is(err, hazard.ErrNotFound) {
		return err
	}
	return nil
}
