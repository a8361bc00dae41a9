package route

import (
	"io"
	"math"
	"net/http"
	"time"

	"github.com/hazardd/hazardd/internal/net/listen"
)

// The slowest rate at which a request's body may arrive: bodyWindow bytes per bodyTime, 2 kB/s. A
// file of 32 MiB may take hours over a bad line, but a sender that stops is disconnected after
// bodyTime.
const (
	bodyTime   = 10 * time.Second
	bodyWindow = 20 << 10 // bytes
)

// arrivingBody is a request's body with a minimum rate.
type arrivingBody struct {
	io.ReadCloser
	control *http.ResponseController
	conn    *listen.Conn // nil where closing it would lose answers: HTTP/2, and tests
	left    int64        // remaining bytes of the current window
	began   bool
}

// arriving returns the request with a body that must keep the minimum rate, if it has one. It
// copies the request, because the server inspects its own body when it answers.
func arriving(w http.ResponseWriter, r *http.Request) *http.Request {
	if r.Body == nil || r.Body == http.NoBody {
		return r
	}
	b := &arrivingBody{ReadCloser: r.Body, control: http.NewResponseController(w), left: bodyWindow}
	if r.ProtoMajor == 1 {
		b.conn = listen.Of(r.Context())
	}
	b.unread(true)
	b.deadline(time.Now().Add(bodyTime)) // also for the server, which drains the rest of the body
	out := new(http.Request)
	*out = *r
	out.Body = b
	return out
}

// flat gives the whole body a single window, whatever its size.
func (b *arrivingBody) flat() { b.left = math.MaxInt64 }

func (b *arrivingBody) Read(p []byte) (int, error) {
	if !b.began { // the checks before the first read may have taken a while
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
		b.unread(false) // the rest of the body is not worth waiting for
	}
	return n, err
}

func (b *arrivingBody) unread(is bool) {
	if b.conn != nil {
		b.conn.Unread(is)
	}
}

func (b *arrivingBody) deadline(t time.Time) { _ = b.control.SetReadDeadline(t) } // writers in tests have no deadline
