package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// waiting is a place whose folder could not be opened: it is missing on a disk that cannot be written,
// or something else has its name. Each use tries again; until then it is ErrUnavailable.
type waiting struct {
	dir  string
	open func() (Place, error)

	mu     sync.Mutex
	opened Place // nil: not yet
}

// orWait opens a place, or returns one that waits for its folder.
func orWait(dir string, open func() (Place, error)) (Place, error) {
	p, err := open()
	if _, folder := errors.AsType[*fs.PathError](err); folder {
		return &waiting{dir: dir, open: open}, nil
	}
	return p, err
}

// Missing returns why the folder of a place cannot be opened, or nil if it can.
func Missing(p Place) error {
	w, ok := p.(*waiting)
	if !ok {
		return nil
	}
	_, err := w.place()
	return err
}

func (w *waiting) place() (Place, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.opened == nil {
		p, err := w.open()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", hazard.ErrUnavailable, err)
		}
		w.opened = p
	}
	return w.opened, nil
}

func (w *waiting) String() string { return "the folder " + w.dir }

func (w *waiting) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.opened == nil {
		return nil
	}
	return w.opened.Close()
}

func (w *waiting) Stage(r io.Reader, limit int64) (*Staged, error) {
	p, err := w.place()
	if err != nil {
		return nil, err
	}
	return p.Stage(r, limit)
}

func (w *waiting) Put(ctx context.Context, f *Staged, n Name) error {
	p, err := w.place()
	if err != nil {
		return err
	}
	return p.Put(ctx, f, n)
}

func (w *waiting) Open(ctx context.Context, n Name) (io.ReadSeekCloser, error) {
	p, err := w.place()
	if err != nil {
		return nil, err
	}
	return p.Open(ctx, n)
}

func (w *waiting) Each(ctx context.Context, f func(Name, time.Time) error) error {
	p, err := w.place()
	if err != nil {
		return err
	}
	return p.Each(ctx, f)
}

func (w *waiting) Remove(ctx context.Context, n Name) error {
	p, err := w.place()
	if err != nil {
		return err
	}
	return p.Remove(ctx, n)
}

func (w *waiting) Owner(ctx context.Context, claim string) (string, error) {
	p, err := w.place()
	if err != nil {
		return "", err
	}
	return p.Owner(ctx, claim)
}

func (w *waiting) Tidy(before time.Time) error {
	p, err := w.place()
	if err != nil {
		return err
	}
	return p.Tidy(before)
}
