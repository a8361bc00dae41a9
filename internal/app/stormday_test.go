package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/sources/nws"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/tell"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
	"github.com/hazardd/hazardd/internal/tell/subscription"
	"github.com/hazardd/hazardd/internal/test"
)

// people are the subscribers on the day of the storm, with their areas and the other members of
// their subscriptions.
var people = []struct{ name, members string }{
	{"Indianapolis, 50 km", `"where":{"points":[{"lon":-86.16,"lat":39.77,"radius_km":50}]}`},
	{"Terre Haute, 50 km", `"where":{"points":[{"lon":-87.41,"lat":39.47,"radius_km":50}]}`},
	{"Cincinnati, 80 km", `"where":{"points":[{"lon":-84.51,"lat":39.1,"radius_km":80}]}`},
	{"Denver, 80 km", `"where":{"points":[{"lon":-104.99,"lat":39.74,"radius_km":80}]}`},
	{"Honolulu, 100 km", `"where":{"points":[{"lon":-157.86,"lat":21.31,"radius_km":100}]}`},
	{"Indiana", `"where":{"regions":["US-IN"]}`},
	{"Illinois, a box", `"where":{"areas":{"type":"Polygon","coordinates":[[[-91,37],[-87.5,37],[-87.5,42.5],[-91,42.5],[-91,37]]]}}`},
	{"Hawaii, warnings", `"where":{"regions":["US-HI"]},"severity_min":"WARNING"`},
	{"United States", `"where":{"regions":["US"]}`},
	{"the world", `"name":"all"`},
	{"the world, a digest", `"digest":"daily"`},
	{"London, 100 km", `"where":{"points":[{"lon":-0.13,"lat":51.5,"radius_km":100}]}`},
}

// post keeps the messages of each address.
type post struct {
	mu  sync.Mutex
	got map[string][]delivered
}

type delivered struct {
	at time.Time
	n  message.Notice
}

func (p *post) Send(_ context.Context, to channel.Address, n message.Notice) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got[to.To] = append(p.got[to.To], delivered{time.Now(), n})
	return nil
}

func (*post) Check(channel.Address) error { return nil }

// unseen is a view that is not used.
type unseen struct{}

func (unseen) Number() int64                                                   { return 0 }
func (unseen) Apply(context.Context, []hazard.Change, hazard.Instant) error    { return nil }
func (unseen) Renew(context.Context, *store.ForkedError, hazard.Instant) error { return nil }
func (unseen) Current(hazard.Instant)                                          {}
func (unseen) Expire() hazard.Instant                                          { return hazard.MaxInstant }

// TestRecordedStormDayIsToldOnceToEach replays the alerts of the National Weather Service of 15 and
// 16 August 2026, with a tropical storm at Hawaii and floods in Indiana, for people in several
// places. It checks the promises: one first message for each hazard and person, the end for exactly
// those who got the first message, and a summary instead of a flood of messages. With -v it prints
// the number of messages for each person and hazard.
func TestRecordedStormDayIsToldOnceToEach(t *testing.T) {
	test.NoRace(t)
	test.Slow(t)
	list := recordedBetween(t, moment(t, "2026-08-15T12:00:00Z"), moment(t, "2026-08-16T06:00:00Z"))
	list = slices.DeleteFunc(list, func(r *row) bool { return r.source != nws.Name || !strings.HasPrefix(r.file, "nws/active-2026") })
	if len(list) != 15 {
		t.Fatalf("%d recordings, want 15", len(list))
	}
	ours() // outside the bubble, because other tests use it too
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(list[0].at.Time().Add(-time.Hour)))
		stormDay(t, list)
	})
}

func stormDay(t *testing.T, list []*row) {
	r := &replay{desk: newDesk(t)}
	key, err := subscription.NewKey(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	clock := hazard.ClockFunc(func() hazard.Instant { return hazard.At(time.Now()) })
	box := &post{got: map[string][]delivered{}}
	teller := subscription.New(subscription.Config{Store: r.store, Tail: follow.New(r.store.Log, unseen{}, clock.Now, follow.Memory, quiet), Key: key, Sender: box, Now: time.Now, Logger: quiet, Counting: func() bool { return false },
		Standing: func(string) (auth.Role, []int64, bool) { return auth.Admin, nil, true },
		Region: func(code string) (geo.Shape, float64, bool) {
			if shape := region.Outline(code); len(code) == 2 && !shape.IsZero() {
				return shape, 0, true
			}
			shape, ok := region.Area(region.ParseCode("UGC:" + strings.TrimPrefix(code, "US-") + "C000"))
			return shape, 0, ok
		}})
	root := tell.Author{Caller: &auth.Caller{Name: "root", Role: auth.Admin}}
	address := func(i int) string { return fmt.Sprintf("https://people.example/%d", i) }
	ids := make([]string, len(people)) // ids of the subscriptions
	for i, p := range people {
		s, err := teller.Create(t.Context(), root, fmt.Appendf(nil, `{%s,"channels":[{"kind":"http","to":%q}]}`, p.members, address(i)), clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = s.ID
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- teller.Tail.Run(ctx) }()
	go func() { ended <- teller.Run(ctx) }()
	// Hazards end at their times, as in the service.
	pass := func(until time.Time) {
		for time.Now().Before(until) {
			time.Sleep(min(time.Minute, time.Until(until)))
			r.until(clock.Now())
		}
		synctest.Wait()
	}
	for _, rec := range list {
		pass(rec.at.Time())
		r.play(rec)
	}
	pass(list[len(list)-1].at.Time().Add(4 * time.Hour)) // include the digest of the second day
	synctest.Wait()
	cancel()
	if err := errors.Join(<-ended, <-ended); err != nil {
		t.Fatal(err)
	}

	histogram := map[int]int{} // number of messages about a hazard → number of hazards of persons
	t.Logf("%-20s %8s %8s %9s %7s  %s", "person", "messages", "hazards", "summaries", "most", "of them in one minute, at most")
	for i, p := range people {
		messages := box.got[address(i)]
		told := checkTold(t, r.store, p.name, ids[i])
		most := 0
		for _, n := range told {
			histogram[n]++
			most = max(most, n)
		}
		minute, single := busiest(messages, func(message.Kind) bool { return true }), busiest(messages, func(k message.Kind) bool { return k == message.First || k == message.Changed || k == message.Ended })
		if single > subscription.DefaultStorm {
			t.Errorf("%s: %d messages in one minute that are no summary, want at most %d", p.name, single, subscription.DefaultStorm)
		}
		summaries := 0
		for _, m := range messages {
			if m.n.Kind == message.Summary {
				summaries++
			}
		}
		t.Logf("%-20s %8d %8d %9d %7d  %d", p.name, len(messages), len(told), summaries, most, minute)
		if far := strings.HasPrefix(p.name, "London"); far != (len(messages) == 0) {
			t.Errorf("%s: %d messages", p.name, len(messages))
		}
		if p.name != "the world" {
			continue
		}
		// With the first recording, all its hazards are new at once.
		count, hazards, crowds := 0, 0, 0
		for _, m := range messages {
			if m.at.Sub(list[0].at.Time()) > 2*time.Minute {
				break
			}
			count, hazards = count+1, hazards+len(m.n.Items)+m.n.More
			if m.n.Kind == message.Summary {
				crowds++
			}
		}
		if crowds == 0 || hazards < 50 || count > 2*subscription.DefaultStorm {
			t.Errorf("%s: the first two minutes have %d messages, %d of them summaries, of %d hazards; want at most %d messages of at least 50", p.name, count, crowds, hazards, 2*subscription.DefaultStorm)
		}
	}
	total := 0
	for _, n := range histogram {
		total += n
	}
	t.Logf("messages that tell of one hazard, for each person and hazard (%d):", total)
	for _, n := range slices.Sorted(maps.Keys(histogram)) {
		t.Logf("%3d  %5d  %s", n, histogram[n], strings.Repeat("#", (histogram[n]*60+total-1)/total))
	}
}

// busiest returns the maximum number of messages of some kinds in one minute.
func busiest(list []delivered, is func(message.Kind) bool) (most int) {
	var recent []time.Time
	for _, m := range list {
		if !is(m.n.Kind) {
			continue
		}
		recent = slices.DeleteFunc(append(recent, m.at), func(at time.Time) bool { return m.at.Sub(at) >= time.Minute })
		most = max(most, len(recent))
	}
	return most
}

// checkTold checks the promises for the messages of a subscription, and returns the number of
// messages about each hazard.
func checkTold(t *testing.T, s *store.Store, person, id string) (told map[int64]int) {
	t.Helper()
	kinds, waits := map[int64][]message.Kind{}, map[int64]bool{} // by hazard, in order
	for before := int64(0); ; {
		page, err := s.Notices.Before(t.Context(), id, before, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range page {
			before = n.ID
			if n.State == store.NoticePending || n.State == store.NoticeSending {
				waits[n.HazardID] = true
			}
			if n.State != store.NoticeSent {
				continue
			}
			var said struct {
				Kind message.Kind `json:"kind"`
			}
			if err := json.Unmarshal(n.Said, &said); err != nil {
				t.Fatal(err)
			}
			kinds[n.HazardID] = append([]message.Kind{said.Kind}, kinds[n.HazardID]...)
		}
		if len(page) < 1000 {
			break
		}
	}
	if digest := strings.Contains(person, "digest"); len(waits) > 0 && !digest { // changes after a digest wait for the next
		t.Errorf("%s: messages about %d hazards are still waiting", person, len(waits))
	}
	told = map[int64]int{}
	for hazardID, list := range kinds {
		told[hazardID] = len(list)
		h, err := s.Hazards.Get(t.Context(), hazardID)
		if err != nil {
			t.Fatal(err)
		}
		over := func(k message.Kind) bool {
			return k == message.Ended || k == message.Withdrawn || k == message.Correction
		}
		switch last := list[len(list)-1]; {
		case list[0] != message.First || slices.Contains(list[1:], message.First):
			t.Errorf("%s: hazard %d, %s: messages %q, want one first message, at the beginning", person, hazardID, h.Name, list)
		case waits[hazardID], h.Reason == hazard.EndMerged: // its end is not sent yet, or it goes on in another hazard
		case over(last) != (h.Status == hazard.Expired):
			t.Errorf("%s: hazard %d, %s, has status %s: messages %q", person, hazardID, h.Name, h.Status, list)
		}
	}
	return told
}
