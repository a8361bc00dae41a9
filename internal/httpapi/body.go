package httpapi

import (
	"io"
	"math"
	"net/http"
	"time"

	"github.com/hazardd/hazardd/internal/listen"
)

// How fast a request's body must come: bodyWindow bytes in each bodyTime, 2 kB/s. A file of 32 MiB
// may take hours over a bad line, but a sender who stops is gone after bodyTime.
const (
	bodyTime   = 10 * time.Second
	bodyWindow = 20 << 10 // bytes
)

// arrivingBody is a request's body that must keep arriving.
type arrivingBody struct {
	io.ReadCloser
	control *http.ResponseController
	conn    *listen.Conn // nil if the server cannot lose answers by closing it: HTTP/2, and tests
	left    int64        // bytes of the present window
	began   bool
}

// arriving returns the request with a body that must keep arriving, if it has one. The request
// itself stays as it is: the server looks at its own body when it answers.
func arriving(w http.ResponseWriter, r *http.Request) *http.Request {
	if r.Body == nil || r.Body == http.NoBody {
		return r
	}
	b := &arrivingBody{ReadCloser: r.Body, control: http.NewResponseController(w), left: bodyWindow}
	if r.ProtoMajor == 1 {
		b.conn = listen.Of(r.Context())
	}
	b.unread(true)
	b.deadline(time.Now().Add(bodyTime)) // for the server, too, which reads on when nobody else does
	out := new(http.Request)
	*out = *r
	out.Body = b
	return out
}

// flat gives the whole body one window, whatever its size.
func (b *arrivingBody) flat() { b.left = math.MaxInt64 }

func (b *arrivingBody) Read(p []byte) (int, error) {
	if !b.began { // what was checked before may have taken a while
		b.began = true
		b.deadline(time.Now().Add(bodyTime))
	}
	n, err := b.ReadCloser.Read(p)
	switch b.left -= int64(n); {
	case err == io.EOF:
		b.unread(false)
		b.deadline(time.Time{}) // the answer may take longer
	case err == nil && b.left <= 0:
		b.left = bodyWindow
		b.deadline(time.Now().Add(bodyTime))
	case tooSlow(err):
		b.unread(false) // nothing more is worth waiting for
	}
	return n, err
}

func (b *arrivingBody) unread(is bool) {
	if b.conn != nil {
		b.conn.Unread(is)
	}
}

func (b *arrivingBody) deadline(t time.Time) { _ = b.control.SetReadDeadline(t) } // a writer of a test has none
