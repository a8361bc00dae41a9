package encoded

import (
	"io"
	"math"
	"net/http"
	"runtime"
	"time"
)

// Pace says how slow a reader may be. What a slow reader holds is not available to others.
type Pace struct {
	// Rate is the minimum average speed of a reader, in bytes per second.
	Rate int64
	// Patience is the additional time that a reader gets.
	Patience time.Duration
}

// An answer is written in chunks. After each, other answers have their turn, so that a large one delays a small one by no more than a
// chunk, and large ones come to an end together. A reader that took a chunk at once gets large ones. A reader that keeps us waiting gets
// small ones, since what it took of a chunk shows only when it took all.
//
// To a proxy on the same machine a packet carries up to 65,483 bytes. A chunk of 256 KiB is four of those and a fifth with the rest,
// which costs as much as a full one: 15 % of the processor time of a large answer. 255 KiB are four, a large chunk is 16.
const (
	chunk      = 255 << 10 // bytes
	largeChunk = 16 * 65_483
	smallChunk = 32 << 10
	atOnce     = 5 * time.Millisecond
	waited     = 100 * time.Millisecond
)

// Paced writes one answer in chunks, and gives up on a reader that is too slow. It is for one
// goroutine.
type Paced struct {
	pace     Pace
	out      http.ResponseWriter
	deadline interface{ SetWriteDeadline(time.Time) error } // nil if out has none

	sent  int64
	spent time.Duration // total time of the writes
	took  time.Duration // duration of the last write
	began time.Time     // start of the current write
	until time.Time     // deadline of the current write
	late  bool
}

// Begin starts an answer on out.
func (p *Paced) Begin(out http.ResponseWriter, pace Pace) {
	*p = Paced{pace: pace, out: out}
	p.deadline, _ = out.(interface{ SetWriteDeadline(time.Time) error })
}

// Late reports whether the answer was aborted because its reader was too slow.
func (p *Paced) Late() bool { return p.late }

// before starts a write of at most all bytes, and returns how many to write.
func (p *Paced) before(all int64) int64 {
	n := int64(chunk)
	switch {
	case p.took > waited:
		n = smallChunk
	case p.sent > 0 && p.took < atOnce:
		n = largeChunk
	}
	n = min(n, all)
	p.began = time.Now()
	if p.deadline != nil {
		behind := max(p.spent-p.pace.time(p.sent), 0) // being ahead does not count
		// A reader that took a chunk at once is not given longer for a large one: it is to take something
		// every 42 s, like all.
		p.until = p.began.Add(p.pace.Patience + p.pace.time(min(n, chunk)) - behind)
		_ = p.deadline.SetWriteDeadline(p.until) // the write tells
	}
	return n
}

// time returns how long n bytes may take.
func (p Pace) time(n int64) time.Duration {
	return time.Duration(float64(n) / float64(p.Rate) * float64(time.Second))
}

// after ends a write of n bytes.
func (p *Paced) after(n int64, err error) {
	now := time.Now()
	p.sent += n
	p.took = now.Sub(p.began)
	p.spent += p.took
	p.late = p.late || err != nil && p.deadline != nil && !now.Before(p.until)
}

// Write writes b, or as much of it as the reader takes in time.
func (p *Paced) Write(b []byte) (written int, err error) {
	for {
		part := int(p.before(int64(len(b) - written)))
		n, err := p.out.Write(b[written : written+part])
		p.after(int64(n), err)
		written += n
		if err != nil || written == len(b) {
			return written, err
		}
		runtime.Gosched()
	}
}

// ReadFrom writes what r reads. The system sends files directly.
func (p *Paced) ReadFrom(r io.Reader) (written int64, err error) {
	whole, ok := r.(*io.LimitedReader) // the system's way is found below one of these, not below two
	if !ok {
		whole = &io.LimitedReader{R: r, N: math.MaxInt64}
	}
	for whole.N > 0 {
		want := p.before(whole.N)
		n, err := io.Copy(p.out, &io.LimitedReader{R: whole.R, N: want})
		p.after(n, err)
		written += n
		whole.N -= n
		if err != nil || n < want {
			return written, err
		}
		runtime.Gosched()
	}
	return written, nil
}
