package poll

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
)

// TestWhateverHappensNothingIsLost plays two sources with random faults, and two processes that
// start and stop. At every moment it checks that no source is polled more often than its interval
// allows, or than once a minute while it fails, or twice at once. After some time without faults,
// everything must be known. A failing seed can be repeated by the name of its subtest.
func TestWhateverHappensNothingIsLost(t *testing.T) {
	test.Concurrent(t)
	seeds := uint64(test.Rounds(2, 1))
	if text := os.Getenv("HAZARDD_SEEDS"); text != "" { // set for a long run
		seeds, _ = strconv.ParseUint(text, 10, 64)
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, b *bed) {
				simulate(t, b, rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2)))
			})
		})
	}
}

func simulate(t *testing.T, b *bed, random, faulty *rand.Rand) {
	one, two := testSource("one"), testSource("two")
	two.Lists = source.Lists{Complete: source.Yes, Confirm: 1}
	two.Feeds[0].Every = 2 * time.Minute
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(faults)), func(n string) bool { return strings.Contains(n, "redirect") })
	said := map[string][]string{}
	healthy := false
	for _, host := range []string{"one", "two"} {
		b.net.serve(host+".example", func(w http.ResponseWriter, r *http.Request) {
			if key, ok := strings.CutPrefix(r.URL.Path, "/detail/"); ok {
				_, _ = io.WriteString(w, "event "+key+" version=2\nend\n")
				return
			}
			if key, ok := strings.CutPrefix(r.URL.Path, "/doc/"); ok {
				b.net.mu.Lock()
				fault := faults[names[faulty.IntN(len(names))]].serve
				fails := !healthy && faulty.IntN(2) == 0
				b.net.mu.Unlock()
				if fails {
					fault(w, r)
					return
				}
				_, _ = io.WriteString(w, "event doc-"+key+"\nend\n")
				return
			}
			b.net.mu.Lock()
			if len(said[host]) < 60 {
				e := fmt.Sprintf("%s-%d", host, len(said[host]))
				said[host] = append(said[host], fmt.Sprintf("%s detail=https://%s.example/detail/%s", e, host, e))
			}
			events := slices.Clone(said[host])
			fault := ""
			if !healthy && faulty.IntN(3) == 0 {
				fault = names[faulty.IntN(len(names))]
			}
			b.net.mu.Unlock()
			switch {
			case fault != "":
				faults[fault].serve(w, r)
			case host == "two":
				_, _ = io.WriteString(w, list(append([]string{"whole", "x", "y", "z"}, events...)...))
			default:
				for i := range events { // also an index, whose documents fail more often than not
					_, _ = fmt.Fprintf(w, "link /doc/%d 1\n", i)
				}
				_, _ = io.WriteString(w, list(events...))
			}
		})
	}
	stops := make([]func(), 2)
	var stopped []time.Time // when a process stopped
	for range 20 {
		i := random.IntN(2)
		if stops[i] != nil {
			stops[i]()
			stops[i] = nil
			stopped = append(stopped, time.Now())
		} else {
			stops[i] = b.start(b.poller(one, two))
		}
		time.Sleep(time.Duration(random.Int64N(int64(10 * time.Minute))))
	}
	b.net.mu.Lock()
	healthy = true
	b.net.mu.Unlock()
	for i := range stops {
		if stops[i] == nil {
			stops[i] = b.start(b.poller(one, two))
		}
	}
	time.Sleep(maxBackoff + 10*time.Minute)
	for _, stop := range stops {
		stop()
	}
	for _, src := range []Source{one, two} {
		if most := b.net.most[src.Name+".example"]; most > 1 {
			t.Errorf("%s was asked %d times at once", src.Name, most)
		}
		asks := b.net.asks(src.Name + ".example/feed")
		for i := range asks[1:] {
			from, to := asks[i].at, asks[i+1].at
			brokenOff := slices.ContainsFunc(stopped, func(at time.Time) bool { return !at.Before(from) && at.Before(to) })
			repeated := to.Equal(from) // the HTTP client repeats a request after a kept connection broke
			if to.Sub(from) < min(src.Feeds[0].Every, firstRetry) && !brokenOff && !repeated {
				t.Errorf("%s was asked after %s", src.Name, to.Sub(from))
			}
		}
		active := b.active(src.Name)
		for _, e := range said[src.Name] {
			if key, _, _ := strings.Cut(e, " "); !active[key] {
				t.Errorf("%s: %s was lost", src.Name, key)
			}
		}
		if src.Name == one.Name {
			for i := range said[src.Name] {
				if !active[fmt.Sprint("doc-", i)] {
					t.Errorf("%s: document %d was lost", src.Name, i)
				}
			}
		}
		read := map[string]bool{}
		for _, a := range b.net.asks(src.Name + ".example/detail/") {
			read[a.url] = true
		}
		for _, e := range said[src.Name] {
			if key, _, _ := strings.Cut(e, " "); !read[src.Name+".example/detail/"+key] {
				t.Errorf("%s: the fuller report of %s was not read", src.Name, key)
			}
		}
	}
	if states := Summary(b.status(one, two)); states != "ok=2; stale=0" {
		t.Errorf("states %s", states)
	}
}
