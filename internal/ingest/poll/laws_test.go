package poll

import (
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
)

var (
	listHistories = flag.Int("list-histories", 0, "how many random histories of lists are tried; 0: 100,000 if all tests run, otherwise a few")
	listSeed      = flag.Uint64("list-seed", 1, "the seed of the first of them")
)

// TestActiveIsWhatTheListsHold tries random histories of a source with two lists: messages that come,
// are replaced, leave, come back, and outlast their ends; lists that are cut; silence; a clock that is
// ahead for a moment. It restates no rule: what a complete list holds is active, what no list holds any
// more is not, and nothing else ends but by its end.
func TestActiveIsWhatTheListsHold(t *testing.T) {
	for _, seed := range []uint64{1004713} { // those that found faults
		t.Run(fmt.Sprint(seed), func(t *testing.T) { tryLists(t, seed) })
	}
	n := *listHistories
	if n == 0 {
		if n = 20; test.All() && !testing.Short() {
			n = 100_000
		}
	}
	for seed := *listSeed; seed < *listSeed+uint64(n); seed++ {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { tryLists(t, seed) }) {
			return
		}
	}
	t.Logf("%d histories from seed %d", n, *listSeed)
}

func tryLists(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	b := newBed(t)
	defer b.store.Close()
	confirm := 1 + rnd.IntN(2)
	src := listSource(source.Lists{InForce: source.Yes, Complete: source.Yes, Confirm: confirm}, "a", "b")
	parse := src.Parse
	src.Parse = func(payload []byte, now hazard.Instant) (source.Batch, error) {
		text, cut := strings.CutSuffix(string(payload), " cut")
		batch, err := parse([]byte(text), now)
		batch.Whole = !cut
		return batch, err
	}
	r := NewReplay(b.store, fuse.New(b.store, fuse.Known{}), hazard.MinInstant, slog.New(slog.DiscardHandler))
	held := map[string][]string{"a": nil, "b": nil} // what each feed would list
	lacked := map[string]int{}                      // event → complete lists of its feed in a row that lacked it
	last := map[string]bool{}                       // events that some complete list has held
	version, now := 0, noon
	var told []string
	for range 6 + rnd.IntN(20) {
		now = now.Add(time.Duration(10+rnd.IntN(30)) * time.Minute)
		feed := []string{"a", "b"}[rnd.IntN(2)]
		switch event := feed + fmt.Sprint(rnd.IntN(2)); rnd.IntN(4) {
		case 0: // a new message, of one of two places
			version++
			held[feed] = append(held[feed], fmt.Sprintf("%s/%d@%s", event, version, []string{"x", "y", "x,y"}[rnd.IntN(3)]))
		case 1: // one leaves
			if len(held[feed]) > 0 {
				i := rnd.IntN(len(held[feed]))
				held[feed] = slices.Delete(slices.Clone(held[feed]), i, i+1)
			}
		case 2: // a newer one takes the place of all
			version++
			held[feed] = append(slices.DeleteFunc(slices.Clone(held[feed]), func(m string) bool { return strings.HasPrefix(m, event) }), fmt.Sprintf("%s/%d@x", event, version))
		}
		list, whole := strings.Join(held[feed], " "), rnd.IntN(5) > 0
		if !whole {
			list += " cut"
		}
		told = append(told, fmt.Sprintf("%s %s: %s", now.Time().Format("15:04"), feed, list))
		for _, known := range r.sources { // each list is read once
			for _, f := range known.feeds {
				f.again = hazard.MaxInstant
			}
		}
		if rnd.IntN(12) == 0 { // the clock is ahead for a moment, as when a server starts: what it ends goes on once it is listed again
			if err := r.Until(t.Context(), now.Add(time.Duration(1+rnd.IntN(48))*time.Hour)); err != nil {
				t.Fatal(err)
			}
			told, last = append(told, "the clock was ahead"), map[string]bool{}
		}
		if _, err := r.Take(t.Context(), &src, "https://test.example/"+feed, []byte(list), nil, now); err != nil {
			t.Fatal(err)
		}
		is, err := b.store.Reports.ActiveEvents(t.Context(), "test")
		if err != nil {
			t.Fatal(err)
		}
		active := map[string]bool{}
		for _, e := range is {
			active[e.Event] = true
		}
		for _, event := range []string{feed + "0", feed + "1"} {
			listed := slices.ContainsFunc(held[feed], func(m string) bool { return strings.HasPrefix(m, event) })
			switch {
			case !whole:
				// A cut list may hold a message that is past its end and was never held.
				if listed {
					lacked[event] = 0
				}
				continue
			case listed:
				lacked[event], last[event] = 0, true
			case otherKnown(told, feed): // otherwise this list decides nothing
				lacked[event]++
			}
			if listed && !active[event] {
				t.Fatalf("%s is listed and not active:\n%s", event, strings.Join(told, "\n"))
			}
			if !listed && active[event] && lacked[event] > confirm && otherKnown(told, feed) {
				t.Fatalf("%s has left the list and is active:\n%s", event, strings.Join(told, "\n"))
			}
			if !listed && !active[event] && last[event] && lacked[event] < confirm && now < noon.Add(3*time.Hour) {
				t.Fatalf("%s was lacked %d times and is not active:\n%s", event, lacked[event], strings.Join(told, "\n"))
			}
		}
	}
}

// otherKnown reports whether the last list of the other feed was complete.
func otherKnown(told []string, feed string) bool {
	for _, line := range slices.Backward(told) {
		if strings.Contains(line, ":") && !strings.Contains(line, " "+feed+":") {
			return !strings.HasSuffix(line, " cut")
		}
	}
	return false
}
