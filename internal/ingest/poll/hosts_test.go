package poll

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/test"
)

// sharing returns n feeds of the catalog, all on one host.
func sharing(n int) (all []Source) {
	for i := range n {
		src := testSource(fmt.Sprintf("f%02d", i))
		src.Shared, src.Warns = true, true
		src.Feeds[0].URL = "https://bucket.example/" + src.Name
		src.Feeds[0].Every = 5 * time.Minute
		all = append(all, src)
	}
	return all
}

// A host with many feeds gets one connection. Each feed is polled at its own offset in the
// interval, also after a restart.
func TestTheFeedsOfAHostAreSpreadAndReadOneByOne(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.net.serve("bucket.example", func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(200 * time.Millisecond)
			_, _ = w.Write([]byte(list("x" + r.URL.Path[1:])))
		})
		all := sharing(40)
		b.run(b.poller(all...), 31*time.Minute)
		stopped := time.Now()
		if most := b.net.most["bucket.example"]; most != 1 {
			t.Errorf("%d requests at a time, want 1", most)
		}
		b.run(b.poller(all...), 10*time.Minute)
		minutes := map[int]int{}
		for _, src := range all {
			asks := b.net.asks("bucket.example/" + src.Name)
			if len(asks) < 8 || len(asks) > 10 {
				t.Errorf("%s: %d polls in 41 minutes", src.Name, len(asks))
			}
			moment := func(i int) time.Duration { return asks[i].at.Sub(asks[1].at) % (5 * time.Minute) }
			for i := 2; i < len(asks); i++ {
				if off := moment(i); off > 10*time.Second && off < 5*time.Minute-10*time.Second {
					t.Errorf("%s: poll %d is %s off its moment", src.Name, i, off)
				}
				cut := !asks[i-1].at.After(stopped) && stopped.Sub(asks[i-1].at) < 10*time.Second // by the stop, maybe
				if gap := asks[i].at.Sub(asks[i-1].at); gap < 4*time.Minute+30*time.Second && !cut {
					t.Errorf("%s: gap of %s", src.Name, gap)
				}
			}
			minutes[int(asks[1].at.Unix()/60%5)]++
		}
		for m := range 5 {
			if minutes[m] == 0 || minutes[m] > 20 {
				t.Errorf("minute %d: %d of 40 feeds", m, minutes[m])
			}
		}
	})
}

// A feed that hangs delays the other feeds of its host once, by less than the patience of the host
// queue, and no other host.
func TestAFeedThatHangsDelaysNoOtherOfItsHost(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.net.serve("bucket.example", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/f00" {
				<-r.Context().Done()
				return
			}
			_, _ = w.Write([]byte(list("x" + r.URL.Path[1:])))
		})
		b.net.text("a.example", list("y"))
		all := append(sharing(20), testSource("a"))
		b.run(b.poller(all...), time.Hour)
		for i, src := range all {
			name := "bucket.example/" + src.Name
			if src.Name == "a" {
				name = "a.example"
			}
			asks := b.net.asks(name)
			for j := 2; i > 0 && j < len(asks); j++ {
				if gap := asks[j].at.Sub(asks[j-1].at); gap > src.Feeds[0].Every*11/10+patience {
					t.Errorf("%s: poll %d after %s", src.Name, j, gap)
				}
			}
			if i > 0 && len(asks) < 11 {
				t.Errorf("%s: %d polls", src.Name, len(asks))
			}
		}
		if s := b.status(all...); s[0].State != Unheard || s[1].State != OK {
			t.Errorf("%s, %s", s[0].State, s[1].State)
		}
	})
}

// A feed of the catalog that has failed for an hour is polled every half hour.
func TestAFeedOfTheCatalogThatKeepsFailingIsAskedRarely(t *testing.T) {
	test.SeldomButRaced(t)
	bubble(t, func(t *testing.T, b *bed) {
		all := sharing(1) // 404
		b.run(b.poller(all...), 6*time.Hour)
		if n := len(b.net.asks("bucket.example")); n > 50 {
			t.Errorf("%d polls in 6 hours", n)
		}
	})
}

// The header stays short with many sources.
func TestTheSummaryOfManySourcesIsShort(t *testing.T) {
	var all []Status
	for range 90 {
		all = append(all, Status{Name: "a", State: Stale})
	}
	if s := Summary(all); s != "ok=0; stale=90" {
		t.Errorf("%q", s)
	}
}

// A host that answers 429 counts the requests of all its feeds together. All of them pause for the
// requested time, or for a minute; other hosts are not paused.
func TestABusyHostIsLeftAloneByAllItsFeeds(t *testing.T) {
	for after, pause := range map[string]time.Duration{"240": 4 * time.Minute, "": time.Minute} {
		t.Run("Retry-After "+after, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				busy := true
				b.net.serve("bucket.example", func(w http.ResponseWriter, r *http.Request) {
					if busy {
						w.Header().Set("Retry-After", after)
						w.WriteHeader(http.StatusTooManyRequests)
						busy = false
						return
					}
					_, _ = w.Write([]byte(list("x" + r.URL.Path[1:])))
				})
				b.net.text("other.example", list("y"))
				all := append(sharing(20), testSource("other"))
				stop := b.start(b.poller(all...))
				defer stop()
				time.Sleep(pause - 10*time.Second)
				if n := len(b.net.asks("bucket.example")); n != 1 {
					t.Errorf("%d requests while the host wants none", n-1)
				}
				if n := len(b.net.asks("other.example")); n == 0 {
					t.Error("another host is not asked")
				}
				if s := b.status(all...)[3]; s.State == OK || s.Error == nil || s.Error.Class != ClassBusy {
					t.Errorf("a feed that was not asked: %+v", s)
				}
				time.Sleep(7 * time.Minute)
				for _, s := range b.status(all...) {
					if s.State != OK {
						t.Errorf("%s is %s afterwards: %+v", s.Name, s.State, s.Error)
					}
				}
			})
		})
	}
}

// One answer that wants to be left alone for a week, as of a misled proxy, does not hide the warnings of
// a feed or of its whole host for an hour: it is asked again after minutes, once, and then as it wants,
// an hour at most. Sources that do not warn wait.
func TestAWarningIsNotHiddenByALongRetryAfter(t *testing.T) {
	for name, c := range map[string]struct {
		code   int
		shared bool
		warns  bool
		first  time.Duration // the gap before the second request
	}{
		"429 of a feed":               {http.StatusTooManyRequests, false, true, againAfter},
		"503 of a feed":               {http.StatusServiceUnavailable, false, true, againAfter},
		"429 of a host of many feeds": {http.StatusTooManyRequests, true, true, againAfter},
		"429 of a feed of no warning": {http.StatusTooManyRequests, false, false, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				b.net.serve("bucket.example", func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Retry-After", "604800")
					w.WriteHeader(c.code)
				})
				all := sharing(1)
				if c.shared {
					all = sharing(20)
				}
				for i := range all {
					all[i].Shared, all[i].Warns = c.shared, c.warns
				}
				b.run(b.poller(all...), 3*time.Hour)
				asks := b.net.asks("bucket.example")
				if len(asks) < 2 || len(asks) > 5 {
					t.Fatalf("%d requests in 3 hours", len(asks))
				}
				near := func(got, want time.Duration) bool { return got > want-time.Second && got < want*3/2+time.Minute }
				if gap := asks[1].at.Sub(asks[0].at); !near(gap, c.first) {
					t.Errorf("asked again after %s, expected %s", gap, c.first)
				}
				for i := 2; i < len(asks); i++ {
					if gap := asks[i].at.Sub(asks[i-1].at); !near(gap, maxRetryAfter) {
						t.Errorf("request %d comes after %s, expected %s", i+1, gap, maxRetryAfter)
					}
				}
			})
		})
	}
}
