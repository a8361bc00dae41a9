package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// watch gives a request up at its time limit; a stream, when nothing has moved for that long.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
	stream bool
}

// watched is the context of a request that w watches.
func watched(ctx context.Context, limit time.Duration, stream bool) (context.Context, *watch) {
	w := &watch{limit: limit, stream: stream}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(limit, func() {
		w.cancel(fmt.Errorf("gave up after %s: %w", limit, context.DeadlineExceeded))
	})
	return w.ctx, w
}

// moved notes that something was sent or received.
func (w *watch) moved() {
	if w.stream && w.ctx.Err() == nil {
		w.timer.Reset(w.limit)
	}
}

// explain is err, or why the request was given up.
func (w *watch) explain(err error) error {
	if cause := context.Cause(w.ctx); cause != nil && !errors.Is(err, io.EOF) {
		return cause
	}
	return err
}

func (w *watch) end() {
	w.timer.Stop()
	w.cancel(context.Canceled)
}

// upload is the body of a request.
type upload struct {
	watch *watch

	mu      sync.Mutex // held while content is read
	content io.Reader
	closed  bool
}

// Read reads the content until Close.
func (u *upload) Read(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := u.content.Read(p)
	u.watch.moved()
	return n, err
}

// Close returns when nobody reads the content any more.
func (u *upload) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	return nil
}

// download is the body of an answer, bounded in size and time.
type download struct {
	body        io.ReadCloser
	watch       *watch
	left, limit int64 // bytes; left < 0 from the start: not bounded
}

func (d *download) Read(p []byte) (int, error) {
	if d.limit >= 0 && int64(len(p)) > d.left+1 {
		p = p[:d.left+1] // one more than may come tells an answer that is too large from one that just fits
	}
	n, err := d.body.Read(p)
	d.watch.moved()
	if d.limit >= 0 {
		if d.left -= int64(n); d.left < 0 {
			return 0, &AnswerError{Reason: fmt.Sprintf("the answer is larger than %d bytes, the most that is read", d.limit)}
		}
	}
	if err != nil {
		err = d.watch.explain(err)
	}
	return n, err
}

// Close ends the request.
func (d *download) Close() error {
	err := d.body.Close()
	d.watch.end()
	return err
}
