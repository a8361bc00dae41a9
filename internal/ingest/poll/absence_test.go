package poll

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
)

// events are n active events, each of its own hazard.
func events(n int) []store.ActiveEvent {
	all := make([]store.ActiveEvent, n)
	for i := range all {
		all[i] = store.ActiveEvent{Event: fmt.Sprint(i), HazardID: int64(i + 1)}
	}
	return all
}

func TestWhatIsMissedIsOverByTheSourcesContractAndNotInMasses(t *testing.T) {
	type read struct {
		after  time.Duration
		missed int // events 0 to missed-1 are missing from the list
		over   int
	}
	const apart = 30 * time.Second
	for name, tt := range map[string]struct {
		active int
		atOnce bool
		reads  []read
	}{
		"one, by contract":                         {100, true, []read{{0, 1, 1}}},
		"one, without contract, twice":             {100, false, []read{{0, 1, 0}, {time.Minute, 1, 1}}},
		"one, without contract, and back":          {100, false, []read{{0, 1, 0}, {time.Minute, 0, 0}, {time.Minute, 1, 0}, {time.Minute, 1, 1}}},
		"a fifth":                                  {100, true, []read{{0, 20, 20}}},
		"more than a fifth":                        {100, true, []read{{0, 21, 0}, {time.Minute, 21, 21}}},
		"more than a fifth, and back":              {100, true, []read{{0, 90, 0}, {time.Minute, 0, 0}}},
		"more than a fifth, some back":             {100, true, []read{{0, 90, 0}, {time.Minute, 30, 30}}},
		"more than a fifth, then more":             {100, true, []read{{0, 30, 0}, {time.Minute, 60, 30}, {time.Minute, 60, 30}}},
		"a second read at once says nothing new":   {100, true, []read{{0, 50, 0}, {time.Second, 50, 0}, {time.Minute, 50, 50}}},
		"five of few":                              {5, true, []read{{0, 5, 5}}},
		"six of few":                               {6, true, []read{{0, 6, 0}, {time.Minute, 6, 6}}},
		"without contract, masses need two too":    {100, false, []read{{0, 100, 0}, {time.Minute, 100, 100}}},
		"the clock is set back in between":         {100, false, []read{{0, 1, 0}, {-time.Hour, 1, 0}, {time.Minute, 1, 1}}},
		"nothing is active":                        {0, true, []read{{0, 0, 0}}},
		"a slow loss is a sequence of small steps": {100, true, []read{{0, 10, 10}, {time.Minute, 20, 10}, {time.Minute, 30, 10}}},
	} {
		t.Run(name, func(t *testing.T) {
			var a absentees
			now := hazard.At(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
			ended := map[string]bool{}
			for i, r := range tt.reads {
				now = now.Add(r.after)
				var active []store.ActiveEvent
				for _, e := range events(tt.active) {
					if !ended[e.Event] {
						active = append(active, e)
					}
				}
				named := func(e store.ActiveEvent) bool { return int(e.HazardID) > r.missed }
				over, _ := a.judge(active, named, now, apart, map[bool]int{true: 1, false: 2}[tt.atOnce])
				if len(over) != r.over {
					t.Errorf("read %d: %d over, want %d", i+1, len(over), r.over)
				}
				for _, e := range over {
					ended[e.Event] = true
				}
			}
		})
	}
}

func TestAHazardOfSeveralEventsIsOverWithTheLastOfThem(t *testing.T) {
	active := []store.ActiveEvent{{Event: "a", HazardID: 1}, {Event: "b", HazardID: 1}, {Event: "c", HazardID: 2}, {Event: "d", HazardID: 2}}
	var a absentees
	over, _ := a.judge(active, func(e store.ActiveEvent) bool { return e.Event == "b" }, 0, time.Minute, 1)
	if len(over) != 2 || over[0].Event != "c" || over[1].Event != "d" {
		t.Errorf("over: %v, want those of hazard 2", over)
	}
}

// TestAbsenceInAWholeList reads one list a minute.
func TestAbsenceInAWholeList(t *testing.T) {
	twenty := make([]string, 20)
	for i := range twenty {
		twenty[i] = fmt.Sprintf("e%02d", i)
	}
	whole := func(events ...string) string { return list(append([]string{"whole"}, events...)...) }
	for name, tt := range map[string]struct {
		atOnce bool
		lists  []string
		want   []string
		state  string
	}{
		"missing by contract":               {true, []string{whole("a", "b"), whole("a")}, []string{"a"}, OK},
		"missing once":                      {false, []string{whole("a", "b"), whole("a")}, []string{"a", "b"}, OK},
		"missing twice":                     {false, []string{whole("a", "b"), whole("a"), whole("a")}, []string{"a"}, OK},
		"not a whole list":                  {true, []string{whole("a", "b"), list("a"), list("a")}, []string{"a", "b"}, OK},
		"an unreadable record of b":         {true, []string{whole("a", "b", "c"), "whole\nreject b\nevent a\nend\n"}, []string{"a", "b"}, OK},
		"an unreadable record of something": {true, []string{whole("a", "b"), "whole\nevent a\nreject\nend\n"}, []string{"a", "b"}, OK},
		"then a neighbor is missing": {true,
			[]string{whole("a", "b", "c"), "whole\nreject\nevent a\nevent c\nend\n", "whole\nevent a\nreject\nend\n"}, []string{"a", "b"}, OK},
		"then another comes up": {true,
			[]string{whole("a", "b", "c"), "whole\nreject\nevent a\nevent c\nend\n", "whole\nreject\nreject \nend\n"}, []string{"a", "b", "c"}, OK},
		"then it is gone": {true,
			[]string{whole("a", "b", "c"), "whole\nreject\nevent a\nevent c\nend\n", whole("a", "c")}, []string{"a", "c"}, OK},
		"it was there from the beginning":     {true, []string{"whole\nreject\nevent a\nevent b\nend\n", "whole\nreject\nevent a\nend\n"}, []string{"a"}, OK},
		"unreadable, and cut":                 {true, []string{whole("a", "b"), "whole\nreject a\n"}, []string{"a", "b"}, Failing},
		"cut":                                 {true, []string{whole("a", "b"), "whole\nevent a\n", "whole\nevent a\n"}, []string{"a", "b"}, Failing},
		"empty, few active":                   {true, []string{whole("a", "b"), whole()}, nil, OK},
		"empty, many active":                  {true, []string{whole(twenty...), whole(), whole(), whole()}, twenty, Failing},
		"half is missing once":                {true, []string{whole(twenty...), whole(twenty[:10]...)}, twenty, OK},
		"half is missing and comes back":      {true, []string{whole(twenty...), whole(twenty[:10]...), whole(twenty...)}, twenty, OK},
		"half is missing twice":               {true, []string{whole(twenty...), whole(twenty[:10]...), whole(twenty[:10]...)}, twenty[:10], OK},
		"missing, and listed again":           {true, []string{whole("a", "b"), whole("a"), whole("a", "b")}, []string{"a", "b"}, OK},
		"a failure in between does not count": {false, []string{whole("a", "b"), whole("a"), "", whole("a", "b")}, []string{"a", "b"}, OK},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				src := testSource("a")
				if tt.atOnce {
					src.Lists = source.Lists{Complete: source.Yes, Confirm: 1}
				}
				var asked atomic.Int64
				b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
					n := int(asked.Add(1)) - 1
					if n >= len(tt.lists) {
						w.WriteHeader(http.StatusInternalServerError)
						return
					}
					w.Header().Set("ETag", fmt.Sprintf("%q", tt.lists[n]))
					if r.Header.Get("If-None-Match") == fmt.Sprintf("%q", tt.lists[n]) {
						w.WriteHeader(http.StatusNotModified)
					} else {
						_, _ = io.WriteString(w, tt.lists[n])
					}
				})
				stop := b.start(b.poller(src))
				for int(asked.Load()) < len(tt.lists) {
					time.Sleep(time.Second)
				}
				time.Sleep(2 * time.Second)
				stop()
				b.wantActive("a", tt.want...)
				if s := b.status(src)[0]; s.State != tt.state {
					t.Errorf("state %s, %+v", s.State, s.Error)
				}
			})
		})
	}
}

func TestWhatIsMissingOnlyInOneOfTwoFeedsIsNotOver(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		src.Lists = source.Lists{Complete: source.Yes, Confirm: 1}
		src.Feeds = append(src.Feeds, src.Feeds[0])
		src.Feeds[1].URL = "https://a.example/other"
		serve := func(first string, broken bool) {
			b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/feed":
					_, _ = io.WriteString(w, first)
				case broken:
					w.WriteHeader(http.StatusInternalServerError)
				default:
					_, _ = io.WriteString(w, list("whole", "z"))
				}
			})
		}
		serve(list("whole", "x", "y"), false)
		stop := b.start(b.poller(src))
		time.Sleep(3 * time.Minute)
		b.wantActive("a", "x", "y", "z")
		serve(list("whole", "x", "y"), true)
		time.Sleep(3 * time.Minute)
		serve(list("whole", "x"), true)
		time.Sleep(2 * time.Minute)
		stop()
		b.wantActive("a", "x", "z")
	})
}

func TestWhatAnEditorDecidedIsNotAskedAgainAndAgain(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		src.Lists = source.Lists{Complete: source.Yes, Confirm: 1}
		b.net.text("a.example", list("whole", "x", "y"))
		p := b.poller(src)
		refusing := &refusingIntake{Intake: p.intake}
		p.intake = refusing
		stop := b.start(p)
		time.Sleep(2 * time.Minute)
		b.net.text("a.example", list("whole", "y"))
		time.Sleep(30 * time.Minute)
		stop()
		if refusing.withdrawn != 1 {
			t.Errorf("asked to end it %d times, want 1", refusing.withdrawn)
		}
	})
}

// refusingIntake never ends a hazard, as if an editor had set the status of all of them.
type refusingIntake struct {
	Intake
	withdrawn int
}

func (r *refusingIntake) Withdraw(context.Context, string, string, []string, hazard.EndReason, hazard.Clock) (int64, error) {
	r.withdrawn++
	return 0, nil
}

// A damaged hazard does not keep other hazards from ending. It is logged once, and it ends once it
// is repaired.
func TestADamagedHazardIsEndedOnceItIsMended(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		src.Lists = source.Lists{Complete: source.Yes, Confirm: 1}
		serve := func(lists string) {
			b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
				tag := fmt.Sprintf("%q", fmt.Sprint(len(lists)))
				w.Header().Set("ETag", tag)
				if r.Header.Get("If-None-Match") == tag {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				_, _ = io.WriteString(w, lists)
			})
		}
		serve(list("whole", "x", "y", "z"))
		p := b.poller(src)
		broken := &brokenIntake{Intake: p.intake, event: "x"}
		p.intake = broken
		stop := b.start(p)
		time.Sleep(2 * time.Minute)
		serve(list("whole", "z"))
		time.Sleep(10 * time.Minute)
		b.wantActive("a", "x", "z")
		if n := strings.Count(b.log.String(), "a hazard is damaged"); n != 1 {
			t.Errorf("logged %d times, want once", n)
		}
		broken.mended.Store(true)
		time.Sleep(3 * time.Minute)
		stop()
		b.wantActive("a", "z")
	})
}

// A message of a damaged hazard ends once the hazard is repaired, although its list does not change.
func TestAMessageOfADamagedHazardIsEndedOnceItIsMended(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := listSource(source.Lists{InForce: source.Yes, Complete: source.Yes, Confirm: 1}, "a")
		src.Feeds[0].Every, src.Feeds[0].MaxBytes = time.Minute, 1<<20
		parse := src.Parse
		src.Parse = func(payload []byte, now hazard.Instant) (source.Batch, error) {
			batch, err := parse(payload, now)
			for i := range batch.Reports { // as of now, since the clock of a bubble starts in the year 2000
				batch.Reports[i].Start, batch.Reports[i].End = now, new(now.Add(3*time.Hour))
			}
			return batch, err
		}
		serve := func(words string) {
			b.net.serve("test.example", func(w http.ResponseWriter, r *http.Request) {
				tag := fmt.Sprintf("%q", words)
				w.Header().Set("ETag", tag)
				if r.Header.Get("If-None-Match") == tag {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				_, _ = io.WriteString(w, words)
			})
		}
		serve("e/1@x e/2@y")
		p := b.poller(src)
		broken := &brokenIntake{Intake: p.intake, event: "e"}
		p.intake = broken
		stop := b.start(p)
		time.Sleep(2 * time.Minute)
		serve("e/2@y")
		time.Sleep(4 * time.Minute)
		broken.mended.Store(true)
		time.Sleep(3 * time.Minute)
		stop()
		parts, err := b.store.Reports.Parts(t.Context(), "test", "e")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range parts {
			if r.Part == "1" && r.Ended == "" {
				t.Error("the message that left the list is in force")
			}
		}
	})
}

// brokenIntake cannot end an event until it is repaired.
type brokenIntake struct {
	Intake
	event  string
	mended atomic.Bool
}

func (i *brokenIntake) Withdraw(ctx context.Context, src, event string, parts []string, reason hazard.EndReason, clock hazard.Clock) (int64, error) {
	if event == i.event && !i.mended.Load() {
		return 0, &store.HazardError{ID: 1, Err: &store.DamagedError{What: "change 1"}}
	}
	return i.Intake.Withdraw(ctx, src, event, parts, reason, clock)
}

// A list may contain any name of an active event. If a name has been used for several events, it
// means the latest one.
func TestAListNamesWhatGoesOnByAnyName(t *testing.T) {
	const day = 24 * time.Hour
	noon := hazard.At(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	src := testSource("test")
	src.Lists = source.Lists{}
	src.Lasts = func(string, hazard.Instant, hazard.Instant) bool { return true }
	src.Feeds[0].Every = time.Hour
	// A payload consists of names. name:DAY also reports an event of ten days from that day.
	src.Parse = func(payload []byte, _ hazard.Instant) (source.Batch, error) {
		b := source.Batch{Lasting: []string{}}
		for _, name := range strings.Fields(string(payload)) {
			name, after, reported := strings.Cut(name, ":")
			b.Lasting = append(b.Lasting, name)
			if reported {
				n, err := strconv.Atoi(after)
				if err != nil {
					return b, err
				}
				r := report([]string{"event", name}, noon.Add(time.Duration(n)*day))
				r.Source, r.Aliases, r.End = "test", []string{name + "-too"}, new(r.Start.Add(10*day))
				b.Reports = append(b.Reports, r)
			}
		}
		return b, nil
	}
	b := newBed(t)
	r := NewReplay(b.store, fuse.New(b.store, fuse.Known{}), hazard.MinInstant, slog.New(slog.DiscardHandler))
	for _, step := range []struct {
		after      time.Duration
		list, want string
	}{
		{0, "a:0 b:0", "a b"},
		{time.Hour, "a-too b", "a b"},
		{2 * time.Hour, "a-too b", "a b"},
		{3 * time.Hour, "b-too", "a b"},
		{4 * time.Hour, "b-too", "b"},
		{200 * day, "b:200", "b@2"},
		{200*day + time.Hour, "b", "b@2"},
		{200*day + 2*time.Hour, "b", "b@2"},
		{200*day + 3*time.Hour, "b@3", "b@2"},
		{200*day + 4*time.Hour, "b@3", ""},
	} {
		if _, err := r.Take(t.Context(), &src, "", []byte(step.list), nil, noon.Add(step.after)); err != nil {
			t.Fatal(err)
		}
		active, err := b.store.Reports.ActiveEvents(t.Context(), "test")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range active {
			names = append(names, e.Event)
		}
		if got := strings.Join(names, " "); got != step.want {
			t.Fatalf("after %s and a list of %q: %q go on, want %q", step.after, step.list, got, step.want)
		}
	}
}
