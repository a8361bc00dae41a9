package poll

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/lease"
	"github.com/hazardd/hazardd/internal/test"
)

// unwell serves a source that fails until the time returned is set.
func (n *network) unwell(host, payload string) (well func()) {
	n.serve(host, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	return func() { n.text(host, payload) }
}

// Once, after 12 minutes offline, warnings stayed unread for another 14 minutes.
func TestAFeedThatWarnsIsReadAtLeastEveryTwoMinutesWhileItFails(t *testing.T) {
	test.SeldomButRaced(t)
	for name, every := range map[string]time.Duration{"each minute": time.Minute, "every ten minutes": 10 * time.Minute, "each hour": time.Hour} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				src := testSource("a")
				src.Feeds[0].Every, src.Warns = every, true
				well := b.net.unwell("a.example", list("x"))
				stop := b.start(b.poller(src))
				time.Sleep(3 * time.Hour)
				asks := b.net.asks("a.example")
				for i := range asks[1:] {
					if gap := asks[i+1].at.Sub(asks[i].at); gap > 2*time.Minute || gap < time.Minute {
						t.Errorf("gap %d is %s", i+1, gap)
					}
				}
				well()
				time.Sleep(2*time.Minute + spread)
				stop()
				b.wantActive("a", "x")
			})
		})
	}
}

// A feed that warns is polled at every start, but not within seconds of the last poll.
func TestAFeedThatWarnsIsReadAtEveryStart(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		src.Feeds[0].Every, src.Warns = 10*time.Minute, true
		b.net.text("a.example", list("x"))
		for range 5 {
			b.run(b.poller(src), 20*time.Second)
		}
		if n := len(b.net.asks("a.example")); n != 5 {
			t.Errorf("%d polls in five starts", n)
		}
		for range 5 {
			b.run(b.poller(src), time.Second)
		}
		if n := len(b.net.asks("a.example")); n > 7 {
			t.Errorf("%d polls when started five times in five seconds", n-5)
		}
	})
}

// Once, after one failed first poll, a source with four polls a day was not polled again for 6.5
// hours.
func TestAFirstPollThatFailsIsRepeatedSoon(t *testing.T) {
	for name, restart := range map[string]bool{"by the same process": false, "by the next": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				src := testSource("a")
				src.Feeds[0].Every = 6 * time.Hour
				well := b.net.unwell("a.example", list("x"))
				stop := b.start(b.poller(src))
				time.Sleep(15 * time.Second)
				well()
				if restart {
					stop()
					stop = b.start(b.poller(src))
					time.Sleep(time.Minute)
				} else {
					time.Sleep(2 * time.Minute)
				}
				stop()
				b.wantActive("a", "x")
				if n := len(b.net.asks("a.example")); n != 2 {
					t.Errorf("%d polls", n)
				}
			})
		})
	}
}

// Once, `hazardd source poll nws` while offline delayed the next poll by a quarter of an hour.
func TestAPollByHandChangesNoSchedule(t *testing.T) {
	for name, ok := range map[string]bool{"that fails": false, "that succeeds": true} {
		for where, server := range map[string]bool{"beside a server": true, "alone": false} {
			t.Run(name+" "+where, func(t *testing.T) {
				bubble(t, func(t *testing.T, b *bed) {
					src := testSource("a")
					src.Feeds[0].Every = 20 * time.Minute
					b.net.text("a.example", list("x"))
					p, other := b.poller(src), b.pollerOn(b.open(), src)
					p.random = func() float64 { return 0 }
					began := time.Now()
					stop := b.start(p)
					time.Sleep(5 * time.Minute)
					if !server {
						stop()
					}
					if !ok {
						b.net.unwell("a.example", "")
					}
					for range 5 {
						st, err := pollOne(t.Context(), other, "a")
						if (err == nil) != ok || (st.State == OK) != ok || (st.Error == nil) != ok || st.Failures != 0 {
							t.Errorf("%v, %+v", err, st)
						}
						if at := st.NextPoll.Sub(began).Round(2 * time.Second); at != 20*time.Minute {
							t.Errorf("the next poll is after %s", at)
						}
						time.Sleep(time.Minute)
					}
					b.net.text("a.example", list("x", "y"))
					if server {
						time.Sleep(11 * time.Minute)
						stop()
						b.wantActive("a", "x", "y")
					}
				})
			})
		}
	}
}

func TestAllSourcesArePolledByHand(t *testing.T) {
	for name, server := range map[string]bool{"beside a server": true, "alone": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				good, bad, off := testSource("good"), testSource("bad"), testSource("off")
				b.net.text("good.example", list("x"))
				b.net.text("off.example", list("z"))
				b.net.unwell("bad.example", "")
				serverOff := off
				serverOff.Disabled = true
				if server {
					defer b.start(b.poller(good, bad, serverOff))()
					time.Sleep(time.Minute)
				}
				all, err := b.pollerOn(b.open(), good, bad, off).PollOnce(t.Context())
				if err != nil || len(all) != 3 {
					t.Fatalf("%+v, %v", all, err)
				}
				if all[0].Err != nil || all[0].Status.Name != "good" || all[0].Status.Last.Read != 1 {
					t.Errorf("good: %+v", all[0])
				}
				if f, ok := errors.AsType[*Failure](all[1].Err); !ok || f.Class != ClassServer || all[1].Status.Name != "bad" {
					t.Errorf("bad: %+v", all[1])
				}
				if errors.Is(all[2].Err, hazard.ErrConflict) != server { // the server has disabled this source
					t.Errorf("off: %+v", all[2])
				}
			})
		})
	}
}

// Once, after a start without sources, their state was "failing", with a next poll that never
// happened.
func TestASourceThatNobodyPollsIsDisabled(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		bad, good := testSource("bad"), testSource("good")
		b.net.unwell("bad.example", "")
		b.net.text("good.example", list("x"))
		b.run(b.poller(bad, good), 10*time.Minute)
		off := []Source{bad, good}
		off[0].Disabled, off[1].Disabled = true, true
		b.run(b.poller(off...), 5*time.Second)
		for _, s := range b.status(off...) {
			if s.State != Disabled || s.NextPoll != nil || s.Feeds[0].State != Disabled || s.Feeds[0].NextPoll != nil {
				t.Errorf("status %+v", s)
			}
		}
		if text := Summary(b.status(off...)); text != "ok=0; stale=0; disabled=2" {
			t.Errorf("summary %s", text)
		}
		// A poll by hand does not schedule further polls.
		if _, err := pollOne(t.Context(), b.poller(good), "good"); err != nil {
			t.Error(err)
		}
		if s := b.status(good)[0]; s.State != Disabled {
			t.Errorf("after a poll by hand: %+v", s)
		}
		// A process that polls nothing does not change the state of a source that another one
		// polls.
		stop := b.start(b.poller(bad, good))
		time.Sleep(lease.Try)
		if s := b.status(bad)[0]; s.State == Disabled {
			t.Errorf("at once after a start: %+v", s)
		}
		b.run(b.pollerOn(b.open(), off...), time.Minute)
		if text := Summary(b.status(off...)); text != `ok=1; stale=0; failing=1; names="bad"` && text != `ok=1; stale=1; names="bad"` {
			t.Errorf("summary %s", text)
		}
		stop()
	})
}

// Once, an ETag with non-ASCII bytes prevented the state of its source from ever being saved.
func TestWhateverAServerSendsTheStateIsSaved(t *testing.T) {
	for name, header := range map[string]http.Header{
		"an ETag in Latin-1":      {"Etag": {"\"r\xe9vision\""}},
		"an ETag in UTF-8":        {"Etag": {"\"révision\""}},
		"a date that is none":     {"Last-Modified": {"\xff\xfe"}},
		"a weak ETag is as usual": {"Etag": {`W/"1"`}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				src := testSource("a")
				b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
					for k, v := range header {
						w.Header()[k] = v
					}
					if v := r.Header.Get("If-None-Match"); v != "" && v != header.Get("Etag") {
						t.Errorf("asked with %q", v)
					}
					_, _ = io.WriteString(w, list("x", "y detail=https://a.example/\xe9"))
				})
				b.run(b.poller(src), 90*time.Second)
				if s := b.status(src)[0]; s.State != OK || s.LastPoll == nil {
					t.Errorf("status %+v", s)
				}
				if n := b.log.count("cannot keep the state"); n != 0 {
					t.Errorf("log:\n%s", b.log)
				}
			})
		})
	}
	st := &state{Feeds: map[string]*feedState{"a": {Error: &lastError{Text: "said \xff"}}}}
	if _, err := st.encode(); err != nil {
		t.Error(err)
	}
}
