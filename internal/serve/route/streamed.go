package route

import (
	"bufio"
	"io"
	"net/http"

	"github.com/hazardd/hazardd/internal/serve/encoded"
)

// Streamed writes an answer that is too large for memory. It has no length and no compression; its
// ETag is the given tag. An error before the first byte is returned. After that the connection is
// cut, so that no client mistakes a part for the whole. In HeldOnce, the error is encoded.ErrLarge.
func (a *Router) Streamed(w http.ResponseWriter, r *http.Request, tag string, restricted bool, write func(io.Writer) error) error {
	if _, ok := w.(*keeper); ok {
		return encoded.ErrLarge
	}
	h := w.Header()
	head := map[string][]string{"Etag": {tag}, "Cache-Control": CacheControl(r, restricted)}
	if _, ok := h["Content-Type"]; !ok {
		head["Content-Type"] = JSONType
	}
	for name, value := range head {
		h[name] = value
	}
	h["Vary"] = append(h["Vary"], varies...)
	if encoded.Matches(r.Header["If-None-Match"], tag) {
		delete(h, "Content-Type")
		unchanged(w)
		return nil
	}
	if r.Method == http.MethodHead {
		return nil
	}
	counted := &counting{Writer: w}
	out := bufio.NewWriterSize(counted, streamBuffer)
	err := write(out)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		return nil
	}
	if counted.n == 0 && counted.err == nil {
		for name := range head {
			delete(h, name)
		}
		return err
	}
	if counted.err == nil { // otherwise the client has gone
		a.Logger.ErrorContext(r.Context(), "cannot complete an answer after its start", "path", r.URL.Path, "error", err)
	}
	panic(http.ErrAbortHandler)
}

// streamBuffer is the buffer of a streamed answer, in bytes.
const streamBuffer = 64 << 10

// counting counts the written bytes, and keeps the first error.
type counting struct {
	io.Writer
	n   int
	err error
}

func (c *counting) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.n, c.err = c.n+n, err
	return n, err
}
