package poll

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// talk is a source with its own Read function.
type talk struct {
	says   atomic.Pointer[string] // its payload, in the format of the tests' feed
	failed atomic.Pointer[error]
	taken  atomic.Int64
	read   atomic.Int64
}

func (s *talk) source() Source {
	src := testSource("a")
	src.Lists = source.Lists{Complete: source.Yes, Confirm: 1}
	src.Read = func(_ context.Context, now hazard.Instant) (source.Batch, error) {
		s.read.Add(1)
		if err := s.failed.Load(); err != nil {
			return source.Batch{}, *err
		}
		return src.Parse([]byte(*s.says.Load()), now)
	}
	src.Taken = func() { s.taken.Add(1) }
	return src
}

func TestASourceThatIsAskedInItsOwnWay(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		s := &talk{}
		s.says.Store(new("whole\nevent x\nevent y\nend\n"))
		src := s.source()
		stop := b.start(b.poller(src))
		defer stop()
		time.Sleep(10 * time.Second)
		b.wantActive("a", "x", "y")
		if len(b.net.asks("/")) != 0 || s.taken.Load() != 1 {
			t.Errorf("%d requests to the feed's address, taken %d times", len(b.net.asks("/")), s.taken.Load())
		}

		s.says.Store(new("whole\nevent x\nend\n"))
		time.Sleep(time.Minute + 10*time.Second)
		b.wantActive("a", "x")

		// A payload that is cut off is processed, but ends nothing. A failure gets a class, and the
		// next poll waits as long as the failure requests.
		s.says.Store(new("whole\nevent z\n"))
		time.Sleep(time.Minute + 10*time.Second)
		b.wantActive("a", "x", "z")
		if st := b.status(src)[0]; st.Error == nil || st.Error.Class != ClassIncomplete {
			t.Errorf("status %+v", st.Error)
		}
		for class, err := range map[Class]error{
			ClassRefused:     Answered(401, "Invalid credentials", 0),
			ClassBusy:        Answered(429, "", 20*time.Minute),
			ClassUnreachable: errors.New("connection refused"),
			ClassUnreadable:  source.Errorf("no list"),
		} {
			s.failed.Store(&err)
			before, taken := s.read.Load(), s.taken.Load()
			time.Sleep(40 * time.Minute)
			if st := b.status(src)[0]; st.Error == nil || st.Error.Class != class || s.taken.Load() != taken || s.read.Load() == before {
				t.Errorf("%v: status %+v, taken %d times more", err, st.Error, s.taken.Load()-taken)
			}
		}
	})
}

func TestReadAndTakenGoTogether(t *testing.T) {
	for name, alter := range map[string]func(*Source){
		"Read alone":  func(s *Source) { s.Taken = nil },
		"Taken alone": func(s *Source) { s.Read = nil },
		"two feeds": func(s *Source) {
			s.Feeds = append(s.Feeds, source.Feed{URL: "https://a.example/2", Every: time.Minute, MaxBytes: 1})
		},
	} {
		src := (&talk{}).source()
		alter(&src)
		if err := src.check(); err == nil {
			t.Errorf("%s is let through", name)
		}
	}
}
