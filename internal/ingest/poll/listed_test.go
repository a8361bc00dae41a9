package poll

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

var noon = hazard.At(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))

// listSource is a source with one list, or several, in which each word is a message:
// EVENT/PART@PLACES. Its version is the number in PART, and it ends at 15:00. "made:" before a number
// of minutes since noon is when the list was made; EVENT! is an entry of an index.
func listSource(lists source.Lists, feeds ...string) Source {
	src := testSource("test")
	src.Lists, src.Feeds = lists, nil
	for _, f := range feeds {
		src.Feeds = append(src.Feeds, source.Feed{URL: "https://test.example/" + f, Every: 10 * time.Minute})
	}
	src.Parse = func(payload []byte, now hazard.Instant) (source.Batch, error) {
		b := source.Batch{Whole: true}
		for _, word := range strings.Fields(string(payload)) {
			var minutes int
			if n, _ := fmt.Sscanf(word, "made:%d", &minutes); n == 1 {
				b.Made = new(noon.Add(time.Duration(minutes) * time.Minute))
				continue
			}
			b.Read++
			if name, ok := strings.CutSuffix(word, "!"); ok {
				b.Listed = append(b.Listed, name)
				continue
			}
			word, places, _ := strings.Cut(word, "@")
			event, part, _ := strings.Cut(word, "/")
			r := hazard.Report{Source: "test", Key: event, Part: part, Name: event, Type: hazard.Flood, Severity: hazard.Watch, Start: noon, End: new(noon.Add(3 * time.Hour)), Point: &hazard.Point{}}
			_, _ = fmt.Sscan(part, &r.Version)
			if places != "" {
				r.Places = strings.Split(places, ",")
			}
			b.Reports = append(b.Reports, r)
		}
		return b, nil
	}
	return src
}

// TestWhatAListHoldsIsInForce replays lists, and says of each event, in the end, whether it is active
// and which messages count.
func TestWhatAListHoldsIsInForce(t *testing.T) {
	inForce := source.Lists{InForce: source.Yes, Complete: source.Yes}
	const minute, hour = time.Minute, time.Hour
	type step struct {
		after time.Duration // since noon
		feed  string
		list  string
	}
	for name, tt := range map[string]struct {
		lists source.Lists
		steps []step
		at    time.Duration
		want  string // active events and their messages; messages of events that are over in brackets
	}{
		"its end has come, and it is listed":              {inForce, []step{{0, "a", "e/1"}, {3*hour + minute, "a", "e/1"}}, 3*hour + 2*minute, "e/1"},
		"its end has come, and it is listed, by an index": {inForce, []step{{0, "a", "e/1"}, {3*hour + minute, "a", "e!"}}, 5*hour - minute, "e/1"},
		"nobody says that listed is in force":             {source.Lists{}, []step{{0, "a", "e/1"}, {3*hour + minute, "a", "e/1"}}, 3*hour + 2*minute, ""},
		"it leaves the list after its end": {inForce, []step{{0, "a", "e/1"}, {3*hour + minute, "a", "e/1"}, {4 * hour, "a", ""}, {4*hour + 20*minute, "a", ""}},
			4*hour + 30*minute, ""},
		"it leaves the list before its end":         {inForce, []step{{0, "a", "e/1"}, {hour, "a", ""}, {hour + 20*minute, "a", ""}}, 2 * hour, ""},
		"it leaves the list once":                   {inForce, []step{{0, "a", "e/1"}, {hour, "a", ""}, {hour + 20*minute, "a", "e/1"}}, 2 * hour, "e/1"},
		"it comes back":                             {inForce, []step{{0, "a", "e/1"}, {hour, "a", ""}, {hour + 20*minute, "a", ""}, {2 * hour, "a", "e/1"}}, 2 * hour, "e/1"},
		"it comes back in an index":                 {inForce, []step{{0, "a", "e/1 f/1"}, {hour, "a", "f/1"}, {hour + 20*minute, "a", "f/1"}, {2 * hour, "a", "f/1 e!"}}, 2 * hour, "e/1 f/1"},
		"of two messages, the newer leaves":         {inForce, []step{{0, "a", "e/1@x e/2@x,y"}, {hour, "a", "e/1@x"}, {hour + 20*minute, "a", "e/1@x"}}, 2 * hour, "e/1"},
		"of two messages, the newer leaves at last": {inForce, []step{{0, "a", "e/1@x e/2@x,y"}, {hour, "a", "e/1@x"}, {hour + 20*minute, "a", "e/1@x"}, {3*hour + minute, "a", "e/1@x"}}, 4 * hour, "e/1"},
		"of two messages, the older leaves":         {inForce, []step{{0, "a", "e/1@x e/2@y"}, {hour, "a", "e/2@y"}, {hour + 20*minute, "a", "e/2@y"}}, 2 * hour, "e/2"},
		"one message leaves, and comes back": {inForce, []step{{0, "a", "e/1@x e/2@y"}, {hour, "a", "e/2@y"}, {hour + 20*minute, "a", "e/2@y"}, {2 * hour, "a", "e/1@x e/2@y"}},
			2 * hour, "e/1 e/2"},
		"the list is silent":                     {inForce, []step{{0, "a", "e/1"}}, 5*hour - minute, "e/1"},
		"the list is silent for long":            {inForce, []step{{0, "a", "e/1"}}, 50 * hour, ""},
		"the list stands still":                  {inForce, []step{{0, "a", "made:0 e/1"}, {3 * hour, "a", "made:0 e/1"}, {6 * hour, "a", "made:0 e/1"}}, 6 * hour, ""},
		"a list that stands still drops nothing": {inForce, []step{{0, "a", "made:0 e/1"}, {2*hour + minute, "a", "made:0"}, {2*hour + 30*minute, "a", "made:0"}}, 2*hour + 40*minute, "e/1"},
		"it lacks in one list, and another never had it": {inForce, []step{{0, "a", "e/1"}, {minute, "b", "f/1"}, {hour, "a", ""}, {hour + 8*minute, "b", "f/1"}, {hour + 40*minute, "b", "f/1"}},
			hour + 40*minute, "e/1 f/1"},
		"it lacks in two lists, and another never had it": {inForce, []step{{0, "a", "e/1"}, {minute, "b", "f/1"}, {hour, "a", ""}, {hour + 8*minute, "b", "f/1"}, {hour + 10*minute, "a", ""}},
			hour + 40*minute, "f/1"},
		"listed, but nobody says that absent is over": {source.Lists{InForce: source.Yes}, []step{{0, "a", "e/1"}, {3*hour + minute, "a", "e/1"}, {3*hour + 20*minute, "a", ""}, {3*hour + 40*minute, "a", ""}},
			3*hour + 50*minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			src := listSource(tt.lists, "a", "b")
			if !strings.Contains(fmt.Sprint(tt.steps), " b ") {
				src.Feeds = src.Feeds[:1]
			}
			r := NewReplay(b.store, fuse.New(b.store, fuse.Known{}), hazard.MinInstant, slog.New(slog.DiscardHandler))
			for _, s := range tt.steps {
				// A recording holds each answer; what is not recorded was not read.
				for _, known := range r.sources {
					for _, f := range known.feeds {
						f.again = hazard.MaxInstant
					}
				}
				if _, err := r.Take(t.Context(), &src, "https://test.example/"+s.feed, []byte(s.list), nil, noon.Add(s.after)); err != nil {
					t.Fatal(err)
				}
			}
			for _, known := range r.sources {
				for _, f := range known.feeds {
					f.again = hazard.MaxInstant
				}
			}
			now := noon.Add(tt.at)
			if err := r.Until(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			active, err := b.store.Reports.ActiveEvents(t.Context(), "test")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range active {
				parts, err := b.store.Reports.Parts(t.Context(), "test", e.Event)
				if err != nil {
					t.Fatal(err)
				}
				state := hazard.Derive(parts, now)
				for _, p := range parts {
					if state.Owned[p.Part] && p.OverAt() > now {
						got = append(got, e.Event+"/"+p.Part)
					}
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("in force: %s, want %s", got, tt.want)
			}
		})
	}
}

// A list that goes on holding what is past its end makes no change, and seldom a write.
func TestAListThatHoldsMakesNoChange(t *testing.T) {
	b := newBed(t)
	src := listSource(source.Lists{InForce: source.Yes, Complete: source.Yes}, "a")
	r := NewReplay(b.store, fuse.New(b.store, fuse.Known{}), hazard.MinInstant, slog.New(slog.DiscardHandler))
	for n := range 144 { // a day
		if _, err := r.Take(t.Context(), &src, "", []byte("e/1"), nil, noon.Add(time.Duration(n)*10*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	changes, err := b.store.Log.Since(t.Context(), 0, 1000)
	if err != nil || len(changes) != 1 {
		t.Errorf("%d changes, want the first alone; error %v", len(changes), err)
	}
}
