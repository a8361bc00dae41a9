package poll

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// changingSource is polled every 5 minutes, and every 30 seconds while it changes.
func changingSource(name string) Source {
	src := testSource(name)
	src.Warns = true
	src.Feeds[0].Every, src.Feeds[0].Fastest = 5*time.Minute, 30*time.Second
	return src
}

// gaps returns the times between the requests to a host, from the request before at on.
func (b *bed) gaps(host string, at time.Time) (gaps []time.Duration) {
	asks := b.net.asks(host)
	for i := range asks[1:] {
		if asks[i+1].at.After(at) {
			gaps = append(gaps, asks[i+1].at.Sub(asks[i].at))
		}
	}
	return gaps
}

// wantPace fails unless all gaps are from least on, and at most a tenth longer.
func wantPace(t *testing.T, when string, gaps []time.Duration, least time.Duration) {
	t.Helper()
	if len(gaps) == 0 {
		t.Errorf("%s: no polls", when)
	}
	for _, gap := range gaps {
		if gap < least || gap > least*11/10+time.Second {
			t.Errorf("%s: a gap of %v, want about %v", when, gap, least)
		}
	}
}

// news is a list that differs from the one before it.
func news(n int64) string {
	return list(fmt.Sprintf("x version=%d%s", n, [...]string{"", " severity=WARNING"}[n%2]))
}

// settled runs a poller of src until its first list is old news.
func (b *bed) settled(src Source, events ...string) (stop func()) {
	b.net.text(src.Name+".example", list(events...))
	stop = b.start(b.poller(src))
	time.Sleep(changing + 2*src.Feeds[0].Every)
	return stop
}

func TestAFeedThatChangesIsPolledFaster(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := changingSource("a")
		defer b.settled(src, "x")()
		quiet := time.Now()
		time.Sleep(time.Hour)
		wantPace(t, "quiet", b.gaps("a.example", quiet), 5*time.Minute)
		if f := b.status(src)[0].Feeds[0]; f.Every != 300 || f.Interval != 300 {
			t.Errorf("quiet: interval %d of %d", f.Interval, f.Every)
		}

		b.net.text("a.example", list("x", "y"))
		for len(b.active("a")) < 2 {
			time.Sleep(time.Second)
		}
		news := time.Now()
		time.Sleep(changing - time.Minute)
		wantPace(t, "changing", b.gaps("a.example", news), 30*time.Second)
		if f := b.status(src)[0].Feeds[0]; f.Every != 300 || f.Interval != 30 || f.NextPoll.Sub(*f.LastPoll) > 34*time.Second {
			t.Errorf("changing: %+v", f)
		}

		time.Sleep(7 * time.Minute)
		quiet = time.Now()
		time.Sleep(time.Hour)
		wantPace(t, "quiet again", b.gaps("a.example", quiet), 5*time.Minute)
	})
}

// A process that takes over knows that the feed changes.
func TestAFeedThatChangesIsPolledFasterByTheNextProcess(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := changingSource("a")
		b.settled(src, "x")()
		b.net.text("a.example", list("x", "y"))
		b.run(b.poller(src), time.Minute)
		began := time.Now()
		b.run(b.pollerOn(b.open(), src), 5*time.Minute)
		if gaps := b.gaps("a.example", began.Add(20*time.Second)); len(gaps) < 8 {
			t.Errorf("%d polls in 5 minutes: %v", len(gaps), gaps)
		}
	})
}

// An index that lists new documents changes, even before they can be read. One that lists the same
// documents, which still cannot be read, does not.
func TestAnIndexThatChangesIsPolledFaster(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := changingSource("a")
		defer b.settled(src)()
		asked := time.Now()
		b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/feed" {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			_, _ = io.WriteString(w, "link https://a.example/1\nend\n")
		})
		time.Sleep(10 * time.Minute)
		if gaps := b.gaps("a.example/feed", asked.Add(6*time.Minute)); len(gaps) < 6 {
			t.Errorf("%d polls after a new document: %v", len(gaps), gaps)
		}
		time.Sleep(12 * time.Minute)
		quiet := time.Now()
		time.Sleep(30 * time.Minute)
		wantPace(t, "quiet", b.gaps("a.example/feed", quiet), 5*time.Minute)
	})
}

// What a response says of its own age counts, but never makes a feed slower than usual.
func TestAFeedIsNotPolledBeforeItsResponseIsStale(t *testing.T) {
	for name, tt := range map[string]struct {
		headers map[string]string
		want    time.Duration
	}{
		"max-age":                     {map[string]string{"Cache-Control": "public, max-age=120, s-maxage=1"}, 2 * time.Minute},
		"max-age, of which some past": {map[string]string{"Cache-Control": "max-age=120", "Age": "60"}, time.Minute},
		"Expires":                     {map[string]string{"Date": "Sat, 01 Jan 2000 00:00:00 GMT", "Expires": "Sat, 01 Jan 2000 00:01:30 GMT"}, 90 * time.Second},
		"max-age before Expires":      {map[string]string{"Cache-Control": "max-age=60", "Date": "Sat, 01 Jan 2000 00:00:00 GMT", "Expires": "Sat, 01 Jan 2000 00:04:00 GMT"}, time.Minute},
		"less than the source allows": {map[string]string{"Cache-Control": "max-age=1"}, 30 * time.Second},
		"no-cache":                    {map[string]string{"Cache-Control": "no-cache, max-age=120"}, 30 * time.Second},
		"in the past":                 {map[string]string{"Expires": "0"}, 30 * time.Second},
		"nonsense":                    {map[string]string{"Cache-Control": "max-age=soon"}, 30 * time.Second},
		"a day":                       {map[string]string{"Cache-Control": "max-age=86400"}, 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				n := int64(0)
				b.net.serve("a.example", func(w http.ResponseWriter, _ *http.Request) {
					for k, v := range tt.headers {
						w.Header().Set(k, v)
					}
					n++
					_, _ = io.WriteString(w, news(n)) // changes all the time
				})
				b.run(b.poller(changingSource("a")), 16*time.Minute)
				wantPace(t, name, b.gaps("a.example", time.Time{}), tt.want)
			})
		})
	}
}

// A source that asks for fewer requests gets them for a day.
func TestAFeedThatWasRefusedIsNotPolledFaster(t *testing.T) {
	for _, code := range []int{http.StatusTooManyRequests, http.StatusForbidden, http.StatusServiceUnavailable} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				var n atomic.Int64
				b.net.serve("a.example", func(w http.ResponseWriter, _ *http.Request) {
					if n.Add(1) == 3 {
						if code == http.StatusServiceUnavailable {
							w.Header().Set("Retry-After", "60")
						}
						w.WriteHeader(code)
						return
					}
					_, _ = io.WriteString(w, news(n.Load()))
				})
				began := time.Now()
				defer b.start(b.poller(changingSource("a")))()
				time.Sleep(time.Hour)
				wantPace(t, "after a refusal", b.gaps("a.example", began.Add(10*time.Minute)), 5*time.Minute)
				src := changingSource("a")
				st, err := b.poller(src).load(t.Context(), "a")
				if err != nil {
					t.Fatal(err)
				}
				k := st.Feeds[src.Feeds[0].URL]
				for after, want := range map[time.Duration]time.Duration{23 * time.Hour: 5 * time.Minute, 24 * time.Hour: 30 * time.Second} {
					k.LastNews = k.Slowed.Add(after)
					if got := src.interval(&src.Feeds[0], st, k.LastNews); got != want {
						t.Errorf("%v after the refusal: %v, want %v", after, got, want)
					}
				}
			})
		})
	}
}

// How soon a feed is stale depends on its usual interval alone.
func TestAFeedIsStaleNoSoonerBecauseItWasPolledFaster(t *testing.T) {
	for _, change := range []bool{false, true} {
		t.Run(fmt.Sprint(change), func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				src := changingSource("a")
				defer b.settled(src, "x")()
				watch := func(d time.Duration) {
					t.Helper()
					for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(30 * time.Second) {
						if s := b.status(src)[0]; s.State != OK {
							t.Fatalf("%s while it is read", s.State)
						}
					}
				}
				if change {
					b.net.text("a.example", list("x", "y"))
				}
				for change && len(b.active("a")) < 2 {
					time.Sleep(time.Second)
				}
				watch(2 * time.Minute) // then it goes silent, in one case while it is polled fast
				if !change {
					watch(time.Hour)
				}
				b.net.serve("a.example", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
				for b.status(src)[0].State != Stale {
					time.Sleep(time.Second)
				}
				if lag, want := time.Since(*b.status(src)[0].LastSuccess), 10*time.Minute+grace; lag < want || lag > want+2*time.Second {
					t.Errorf("stale %v after it was last read, want %v", lag, want)
				}
			})
		})
	}
}

// Two lists end an event only if they are as far apart as usual: a list may be cut for a minute.
func TestAnEventEndsNoSoonerBecauseItsFeedIsPolledFaster(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := changingSource("a")
		defer b.settled(src, "whole", "x", "y")()
		b.net.text("a.example", list("whole", "x", "y", "z"))
		for len(b.active("a")) < 3 {
			time.Sleep(time.Second)
		}
		b.net.text("a.example", list("whole", "x", "z")) // the next list comes in 30 seconds
		lacks := time.Now().Add(30 * time.Second)
		for len(b.active("a")) == 3 {
			time.Sleep(time.Second)
		}
		if took := time.Since(lacks); took < 270*time.Second || took > 6*time.Minute {
			t.Errorf("ended %v after the first list without it, want about 5 minutes", took)
		}
	})
}

// A feed of the catalog goes back to its own moment, without a long gap.
func TestAFeedOfTheCatalogReturnsToItsMoment(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := changingSource("a")
		src.Shared = true
		defer b.settled(src, "x")()
		phase := func() time.Duration {
			asks := b.net.asks("a.example")
			return time.Duration(asks[len(asks)-1].at.UnixMilli()%(300_000)) * time.Millisecond
		}
		time.Sleep(10 * time.Minute)
		before := phase()
		b.net.text("a.example", list("x", "y"))
		began := time.Now()
		time.Sleep(7 * time.Minute)
		b.net.text("a.example", list("x", "y", "z")) // so that it stops to change in the middle of its interval
		time.Sleep(3 * time.Minute)
		if n := len(b.gaps("a.example", began)); n < 10 {
			t.Errorf("%d polls in 10 minutes", n)
		}
		time.Sleep(30 * time.Minute)
		for _, gap := range b.gaps("a.example", began) {
			if gap > 5*time.Minute+31*time.Second {
				t.Errorf("a gap of %v", gap)
			}
		}
		if after := phase(); (after - before).Abs() > time.Second {
			t.Errorf("at %v of its interval, before at %v", after, before)
		}
	})
}

// While a connection pushes, a feed that changes is not polled faster: what is new is pushed.
func TestAFeedWhoseSourcePushesIsNotPolledFaster(t *testing.T) {
	src := changingSource("a")
	src.Pushes, src.Eased = []source.Push{{URL: "tcp://a.example:1"}}, 15*time.Minute
	now := hazard.At(time.Unix(1e9, 0))
	st := &state{Feeds: map[string]*feedState{src.Feeds[0].URL: {LastNews: now}}, Pushes: map[string]*pushState{"tcp://a.example:1": {Up: true, Since: now.Add(-time.Hour)}}}
	if got := src.interval(&src.Feeds[0], st, now); got != 15*time.Minute {
		t.Errorf("connected: %v", got)
	}
	st.Pushes["tcp://a.example:1"].Up = false
	if got := src.interval(&src.Feeds[0], st, now); got != 30*time.Second {
		t.Errorf("not connected: %v", got)
	}
}
