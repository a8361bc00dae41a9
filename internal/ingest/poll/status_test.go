package poll

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

func TestStateWords(t *testing.T) {
	now := hazard.At(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	ago := func(d time.Duration) hazard.Instant { return now.Add(-d) }
	for name, tt := range map[string]struct {
		every time.Duration
		feed  feedState
		want  string
	}{
		"never polled":                      {time.Minute, feedState{}, Starting},
		"polled for the first time":         {time.Minute, feedState{Since: ago(time.Minute)}, Starting},
		"never read, and it takes long":     {time.Minute, feedState{Since: ago(6 * time.Minute)}, Stale},
		"never read, and failing":           {time.Minute, feedState{Since: ago(time.Minute), Failures: 1, Error: &lastError{}}, Failing},
		"just read":                         {time.Minute, feedState{LastSuccess: now}, OK},
		"two rhythms and the grace ago":     {time.Minute, feedState{LastSuccess: ago(5 * time.Minute)}, OK},
		"longer ago":                        {time.Minute, feedState{LastSuccess: ago(5*time.Minute + time.Millisecond)}, Stale},
		"a slow feed":                       {6 * time.Hour, feedState{LastSuccess: ago(12 * time.Hour)}, OK},
		"a slow feed, longer ago":           {6 * time.Hour, feedState{LastSuccess: ago(13 * time.Hour)}, Stale},
		"failing, still fresh":              {time.Minute, feedState{LastSuccess: ago(4 * time.Minute), Failures: 3, Error: &lastError{}}, Failing},
		"failing when asked for by hand":    {time.Minute, feedState{LastSuccess: now, Error: &lastError{}}, Failing},
		"failing for long":                  {time.Minute, feedState{LastSuccess: ago(time.Hour), Failures: 6, Error: &lastError{}}, Stale},
		"read in the future: a clock fault": {time.Minute, feedState{LastSuccess: now.Add(time.Hour)}, OK},
	} {
		t.Run(name, func(t *testing.T) {
			if got := feedWord(&tt.feed, tt.feed.LastSuccess, tt.every, now); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// A feed of the catalog that never responded has a different state from one that has stopped
// responding. Any other source is stale in both cases, and no such feed is fresh.
func TestAFeedThatNeverAnsweredIsUnheard(t *testing.T) {
	now := hazard.At(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	for name, tt := range map[string]struct {
		shared bool
		feed   feedState
		want   string
	}{
		"never read":             {true, feedState{Since: now.Add(-time.Hour), LastPoll: now, Failures: 9, Error: &lastError{}}, Unheard},
		"read once":              {true, feedState{Since: now.Add(-time.Hour), LastSuccess: now.Add(-time.Hour), Failures: 9, Error: &lastError{}}, Stale},
		"not tried for long":     {true, feedState{Since: now.Add(-time.Minute), Failures: 1, Error: &lastError{}}, Failing},
		"built in, never read":   {false, feedState{Since: now.Add(-time.Hour), Failures: 9, Error: &lastError{}}, Stale},
		"a catalog's, just read": {true, feedState{Since: now.Add(-time.Hour), LastSuccess: now}, OK},
	} {
		src := testSource("a")
		src.Shared = tt.shared
		st := &state{}
		*st.feed(src.Feeds[0].URL) = tt.feed
		s := status(&src, st, now)
		if s.State != tt.want || s.Feeds[0].State != tt.want {
			t.Errorf("%s: %s, %+v, want %s", name, s.State, s.Feeds, tt.want)
		}
		if r := Readings([]Status{s})["a"]; r.Fresh != (tt.want == OK) || !r.Polled {
			t.Errorf("%s: for coverage %+v", name, r)
		}
	}
	if got := Summary([]Status{{State: OK}, {State: Unheard, Name: "x"}, {State: Stale, Name: "y"}}); got != `ok=1; stale=1; unheard=1; names="y"` {
		t.Error(got)
	}
}

func TestASourceIsAsBadAsItsWorstFeed(t *testing.T) {
	now := hazard.At(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	src := testSource("a")
	src.Feeds = append(src.Feeds, src.Feeds[0])
	src.Feeds[1].URL, src.Feeds[1].Every = "https://a.example/second?key=secret", time.Hour
	st := &state{}
	*st.feed(src.Feeds[0].URL) = feedState{LastPoll: now, LastSuccess: now.Add(-time.Second)}
	*st.feed(src.Feeds[1].URL) = feedState{LastPoll: now, LastSuccess: now.Add(-3 * time.Hour), Failures: 4, Error: &lastError{Class: ClassServer, Text: "500 from 10.0.0.7", At: now}}
	s := status(&src, st, now)
	if s.State != Stale || *s.Lag != 3*3600 || s.Failures != 4 || s.Circuit != "open" || s.Error.Class != ClassServer {
		t.Errorf("status %+v", s)
	}
	if s.Feeds[0].State != OK || s.Feeds[1].State != Stale || s.Feeds[1].URL != "https://a.example/second" {
		t.Errorf("feeds %+v", s.Feeds)
	}
	body, err := json.Marshal(s.Public())
	if err != nil || strings.Contains(string(body), "10.0.0.7") || strings.Contains(string(body), "secret") {
		t.Errorf("readers see %s", body)
	}
	if s.Error.Text == "" || s.Feeds[1].Error.Text == "" {
		t.Error("Public took the text from the original")
	}
	body, err = json.Marshal(s)
	if err != nil || !strings.Contains(string(body), `"last_poll":"2026-01-01T12:00:00Z"`) || !strings.Contains(string(body), `"last_changed":null`) {
		t.Errorf("admins see %s", body)
	}
}

func TestSummary(t *testing.T) {
	for want, states := range map[string][]string{
		`ok=0; stale=0`:                                     nil,
		`ok=2; stale=0; disabled=1`:                         {OK, OK, Disabled},
		`ok=1; stale=1; names="b"`:                          {OK, Stale},
		`ok=1; stale=1; failing=1; starting=1; names="b,c"`: {OK, Stale, Failing, Starting},
	} {
		var all []Status
		for i, s := range states {
			all = append(all, Status{Name: string(rune('a' + i)), State: s})
		}
		if got := Summary(all); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestAStateThatIsDamagedHidesNoOtherAndIsReplaced(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		a, c := testSource("a"), testSource("c")
		b.net.text("a.example", list("x"))
		b.net.text("c.example", list("x"))
		if err := b.store.Sources.SaveState(t.Context(), "a", []byte(`{"feeds":[]`)); err != nil {
			t.Fatal(err)
		}
		if all := b.status(a, c); all[0].State != Failing || all[0].Error.Class != ClassInternal || all[1].State != Starting {
			t.Errorf("states %+v", all)
		}
		b.run(b.poller(a, c), time.Minute)
		if all := b.status(a, c); all[0].State != OK || all[1].State != OK {
			t.Errorf("states %+v", all)
		}
	})
}

func TestSourcesThatCannotBePolledAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Source){
		"no name":           func(s *Source) { s.Name = "" },
		"no parser":         func(s *Source) { s.Parse = nil },
		"no feed":           func(s *Source) { s.Feeds = nil },
		"no address":        func(s *Source) { s.Feeds[0].URL = "a.example/feed" },
		"a file":            func(s *Source) { s.Feeds[0].URL = "file:///etc/passwd" },
		"no rhythm":         func(s *Source) { s.Feeds[0].Every = 0 },
		"no limit":          func(s *Source) { s.Feeds[0].MaxBytes = 0 },
		"the same feed":     func(s *Source) { s.Feeds = append(s.Feeds, s.Feeds[0]) },
		"half of the zones": func(s *Source) { s.PlaceURL = func(string) string { return "" } },
	} {
		src := testSource("a")
		change(&src)
		if _, err := New(Config{Sources: []Source{src}}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := New(Config{Sources: []Source{testSource("a"), testSource("a")}}); err == nil {
		t.Error("the same source twice: accepted")
	}
}
