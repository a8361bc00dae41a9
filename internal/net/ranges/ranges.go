// Package ranges reads a large file at an address in parts, by range requests (RFC 9110, section 14), as an io.ReaderAt.
package ranges

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// File is a file at an address. One that changes while it is read is an error. It is not safe for concurrent use.
type File struct {
	ctx    context.Context
	client *http.Client
	url    string
	tag    string
	size   int64
	pause  time.Duration // before a second attempt
}

// attempts is how often a part is asked for.
const attempts = 4

// Open asks for the first byte of a file, and so for its size. Its reads end with ctx.
func Open(ctx context.Context, client *http.Client, url string) (*File, error) {
	r := &File{ctx: ctx, client: client, url: url, pause: time.Second}
	return r, r.read(make([]byte, 1), 0)
}

// Section returns all of the file.
func (r *File) Section() *io.SectionReader { return io.NewSectionReader(r, 0, r.size) }

// ReadAt implements io.ReaderAt.
func (r *File) ReadAt(p []byte, off int64) (int, error) {
	if off >= r.size {
		return 0, io.EOF
	}
	short := off+int64(len(p)) > r.size
	if short {
		p = p[:r.size-off]
	}
	if len(p) > 0 {
		if err := r.read(p, off); err != nil {
			return 0, err
		}
	}
	if short {
		return len(p), io.EOF
	}
	return len(p), nil
}

// read fills p, and tries again what may be better the next time.
func (r *File) read(p []byte, off int64) error {
	for attempt := 1; ; attempt++ {
		again, err := r.part(p, off)
		if err == nil || !again || attempt == attempts || r.ctx.Err() != nil {
			return err
		}
		select {
		case <-r.ctx.Done():
			return r.ctx.Err()
		case <-time.After(r.pause << (attempt - 1)):
		}
	}
}

// part fills p by one request; again reports whether a further one may succeed.
func (r *File) part(p []byte, off int64) (again bool, err error) {
	request, err := http.NewRequestWithContext(r.ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return false, err
	}
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+int64(len(p))-1))
	answer, err := r.client.Do(request)
	if err != nil {
		return true, err
	}
	defer answer.Body.Close() // read only
	if answer.StatusCode != http.StatusPartialContent {
		if answer.StatusCode == http.StatusOK {
			return false, fmt.Errorf("%s does not answer range requests, which it is read by; expected 206 Partial Content", r.url)
		}
		return answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests, fmt.Errorf("%s answers %s; expected 206 Partial Content", r.url, answer.Status)
	}
	_, total, _ := strings.Cut(answer.Header.Get("Content-Range"), "/")
	size, err := strconv.ParseInt(total, 10, 64)
	if err != nil {
		return false, fmt.Errorf("%s does not say its size: Content-Range is %q", r.url, answer.Header.Get("Content-Range"))
	}
	tag := answer.Header.Get("ETag")
	if r.size == 0 {
		r.size, r.tag = size, tag
	}
	if size != r.size || tag != r.tag {
		return false, errors.New("the file was replaced while it was read; start again")
	}
	_, err = io.ReadFull(answer.Body, p)
	return true, err
}
