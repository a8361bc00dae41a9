package poll

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/coverage"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// The states of a source, as shown to readers.
const (
	OK       = "ok"       // read within its interval
	Stale    = "stale"    // not read for more than two intervals and a grace period, so its present content is unknown
	Failing  = "failing"  // the last poll failed, but the content before is still fresh; or announced documents are missing
	Starting = "starting" // not read yet
	Unheard  = "unheard"  // a source of the catalog that was never read, for more than two intervals and a grace period; perhaps the feed does not exist
	Disabled = "disabled" // not polled
)

// grace is the delay beyond two intervals after which a source is stale. A few minutes do not
// matter to readers, and a restart takes some of them.
const grace = 3 * time.Minute

// Status is the state of one source, as JSON of GET /sources.
type Status struct {
	Name  string       `json:"name"`
	Title string       `json:"title"`
	State string       `json:"state"`
	Feeds []FeedStatus `json:"feeds"`
	// Pushes are the connections over which the source pushes.
	Pushes []PushStatus `json:"pushes"`
	// These times are those of the feed in the worst state, or of the feed that was read last if
	// all are well. nil means never.
	LastPoll    *time.Time `json:"last_poll"`
	LastSuccess *time.Time `json:"last_success"`
	LastChanged *time.Time `json:"last_changed"` // the last response that differed from the one before
	NextPoll    *time.Time `json:"next_poll"`
	Lag         *int64     `json:"lag"` // seconds since LastSuccess
	Last        Counts     `json:"last"`
	Total       Counts     `json:"total"`
	// Failures counts consecutive failures of scheduled polls. Circuit is "open" while the source
	// is polled less often than normal because of them, otherwise "closed".
	Failures int    `json:"consecutive_failures"`
	Circuit  string `json:"circuit"`
	Pending  int    `json:"pending"` // details, documents and shapes of places still to be fetched
	// Documents counts the documents that the feeds announce, if they are indexes.
	Documents Documents `json:"documents"`
	// Error is the error of the feed in the worst state.
	Error *StatusError `json:"last_error"`
	source.About
}

// FeedStatus is the state of one address of a source.
type FeedStatus struct {
	URL         string     `json:"url"`      // without user, password and query
	Every       int64      `json:"every"`    // the usual interval in seconds
	Interval    int64      `json:"interval"` // the present one: shorter while the feed changes, longer while the source pushes
	State       string     `json:"state"`
	LastPoll    *time.Time `json:"last_poll"`
	LastSuccess *time.Time `json:"last_success"`
	LastChanged *time.Time `json:"last_changed"`
	NextPoll    *time.Time `json:"next_poll"`
	Failures    int        `json:"consecutive_failures"`
	// Error is why the last poll failed, or nil if it succeeded.
	Error *StatusError `json:"last_error"`
}

// PushStatus is the state of a connection over which a source pushes.
type PushStatus struct {
	URL   string `json:"url"`   // without query
	State string `json:"state"` // OK if it is up; Failing if it is down, while the source is polled; Starting if it was not tried yet; Disabled if it is not opened
	// Since is when the connection came up or went down.
	Since *time.Time `json:"since"`
	// LastHeard is the time of the last sign of life: a message, a heartbeat or an answer to a
	// ping. It may be up to 20 s old.
	LastHeard   *time.Time `json:"last_heard"`
	LastMessage *time.Time `json:"last_message"` // without heartbeats
	Messages    int64      `json:"messages"`     // without heartbeats
	// Failures counts consecutive failed tries.
	Failures int          `json:"consecutive_failures"`
	Error    *StatusError `json:"last_error"`
}

// StatusError is why the last poll of a feed failed.
type StatusError struct {
	Class Class     `json:"class"`
	Time  time.Time `json:"time"`
	// Text describes the failure in full. It is only for admins, because it may contain names and
	// addresses of the operator's network. An exception are missing documents of an index, which
	// everybody may see.
	Text string `json:"text,omitempty"`
}

// Public returns the status as readers may see it: errors have a class, but no text.
func (s Status) Public() Status {
	s.Error = s.Error.public()
	s.Feeds = slices.Clone(s.Feeds)
	for i := range s.Feeds {
		s.Feeds[i].Error = s.Feeds[i].Error.public()
	}
	s.Pushes = slices.Clone(s.Pushes)
	for i := range s.Pushes {
		s.Pushes[i].Error = s.Pushes[i].Error.public()
	}
	return s
}

func (e *StatusError) public() *StatusError {
	if e == nil || e.Class == ClassMissing || e.Class == ClassElsewhere {
		return e
	}
	return &StatusError{Class: e.Class, Time: e.Time}
}

// States decodes stored states. It decodes a state again only if it has changed. It is safe for
// concurrent use.
type States struct {
	mu   sync.Mutex
	last map[string]decoded
}

type decoded struct {
	body []byte
	st   *state // must not be modified
	err  error
}

func (s *States) decode(name string, body []byte) (*state, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.last[name]
	if !ok || !bytes.Equal(d.body, body) {
		st, err := decodeState(body)
		d = decoded{body, st, err}
		if s.last == nil {
			s.last = map[string]decoded{}
		}
		s.last[name] = d
	}
	return d.st, d.err
}

// Statuses returns the states of sources as of now, in the given order. kept holds the stored state
// of each (store.Sources.States), which another process may have written. A source that was not read
// for a while becomes stale by itself.
func (s *States) Statuses(kept map[string][]byte, now hazard.Instant, sources []Source) []Status {
	all := make([]Status, len(sources))
	for i := range sources {
		st, err := s.decode(sources[i].Name, kept[sources[i].Name])
		if err != nil { // one bad state must not hide the others
			st = &state{}
			for _, f := range sources[i].Feeds {
				*st.feed(f.URL) = feedState{Failures: 1, Error: &lastError{Class: ClassInternal, Text: err.Error(), At: now}}
			}
		}
		all[i] = status(&sources[i], st, now)
	}
	return all
}

func status(src *Source, st *state, now hazard.Instant) Status {
	s := Status{About: src.About(), Name: src.Name, Title: src.Title, State: OK, Last: st.Last, Total: st.Total, Circuit: "closed", Pending: len(st.Jobs) + st.Places, Documents: st.documents(now)}
	var shown *feedState
	var worst int
	for _, f := range src.Feeds {
		fs := st.Feeds[f.URL]
		if fs == nil {
			fs = &feedState{}
		}
		word, fault := feedWord(fs, max(fs.LastSuccess, src.heard(st, fs, now)), f.Every, now), fs.Error
		if lack := src.lacks(f, fs, st.Jobs, now); fault == nil && lack != nil {
			fault = lack
			if word == OK {
				word = Failing
			}
		}
		if word == Stale && src.Shared && fs.LastSuccess == 0 {
			word = Unheard
		}
		s.Feeds = append(s.Feeds, FeedStatus{URL: src.shown(f.URL), Every: int64(f.Every / time.Second), Interval: int64(src.interval(&f, st, now) / time.Second), State: word, LastPoll: moment(fs.LastPoll),
			LastSuccess: moment(fs.LastSuccess), LastChanged: moment(fs.LastChanged), NextPoll: moment(fs.NextPoll), Failures: fs.Failures, Error: fault.status()})
		if shown == nil || rank[word] > worst || rank[word] == worst && fs.LastSuccess > shown.LastSuccess {
			shown, worst, s.State, s.Error = fs, rank[word], word, fault.status()
		}
		if fs.Failures > 1 || fs.NotBefore > now {
			s.Circuit = "open"
		}
		s.Failures = max(s.Failures, fs.Failures)
	}
	if shown != nil {
		s.LastPoll, s.LastSuccess, s.LastChanged, s.NextPoll = moment(shown.LastPoll), moment(shown.LastSuccess), moment(shown.LastChanged), moment(shown.NextPoll)
		if shown.LastSuccess != 0 {
			s.Lag = new(max(0, int64(now-shown.LastSuccess)/1000))
		}
	}
	s.Pushes = []PushStatus{}
	s.pushed(src, st, now)
	// Another process may poll a source that is disabled in this one.
	if st.Disabled || src.Disabled && s.LastPoll == nil {
		s.State, s.NextPoll = Disabled, nil
		for i := range s.Feeds {
			s.Feeds[i].State, s.Feeds[i].NextPoll = Disabled, nil
		}
		for i := range s.Pushes {
			s.Pushes[i].State = Disabled
		}
	}
	return s
}

// pushed adds the states of the connections. A source is failing if documents that a connection
// announced are missing. A connection that is down does not make it failing, because polling
// continues at its interval.
func (s *Status) pushed(src *Source, st *state, now hazard.Instant) {
	for i := range src.Pushes {
		p := &src.Pushes[i]
		k := st.Pushes[p.URL]
		if k == nil {
			k = &pushState{}
		}
		word, why := Failing, k.Error
		switch {
		case k.well(p, now):
			word = OK
		case k.Since == 0 && len(st.Pushes) == 0 && s.LastPoll != nil:
			word = Disabled // the source is polled, but no connection was tried
		case k.Since == 0:
			word = Starting
		case why == nil: // the process that had it open is silent
			why = &lastError{Class: ClassTimeout, Text: "not heard of", At: k.Heard}
		}
		s.Pushes = append(s.Pushes, PushStatus{URL: src.shownPush(p), State: word, Since: moment(k.Since), LastHeard: moment(k.Heard), LastMessage: moment(k.LastMessage),
			Messages: k.Messages, Failures: k.Failures, Error: why.status()})
	}
	if f := st.Feeds[pushFeed]; f != nil && s.State == OK {
		if fault := src.lacks(source.Feed{URL: pushFeed}, f, st.Jobs, now); fault != nil {
			s.State, s.Error = Failing, fault.status()
		}
	}
}

// heard returns the time up to which the pushed messages complete the content of a feed, or 0 if
// they do not. The feed must have been polled successfully since the connection was opened, so that
// the poll has found everything from before.
func (s *Source) heard(st *state, f *feedState, now hazard.Instant) (at hazard.Instant) {
	for i := range s.Pushes {
		p := &s.Pushes[i]
		if k := st.Pushes[p.URL]; k != nil && f.Error == nil && f.LastSuccess != 0 && k.Since <= f.LastSuccess && k.well(p, now) {
			at = max(at, k.Heard)
		}
	}
	return at
}

// failure returns the error of the first feed that has one, or nil.
func (s *Status) failure() error {
	for _, f := range s.Feeds {
		if f.Error != nil {
			return &Failure{Class: f.Error.Class, Text: f.Error.Text}
		}
	}
	return nil
}

func (e *lastError) status() *StatusError {
	if e == nil {
		return nil
	}
	return &StatusError{Class: e.Class, Time: e.At.Time(), Text: e.Text}
}

// rank orders the states from best to worst.
var rank = map[string]int{OK: 0, Starting: 1, Failing: 2, Unheard: 3, Stale: 4}

// feedWord returns the state of a feed. heard is the last time at which its whole content was
// known, usually the last successful poll.
func feedWord(fs *feedState, heard hazard.Instant, every time.Duration, now hazard.Instant) string {
	since := cmp.Or(heard, fs.Since)
	switch {
	case since != 0 && now > since.Add(2*every+grace):
		return Stale
	case fs.Error != nil:
		return Failing
	case fs.LastSuccess == 0:
		return Starting
	}
	return OK
}

func moment(i hazard.Instant) *time.Time {
	if i == 0 {
		return nil
	}
	return new(i.Time())
}

// Readings returns how the sources are read, for package coverage. A source that has failed
// recently is fresh until it is stale, because its earlier reports are still valid.
func Readings(all []Status) coverage.Readings {
	of := func(state string, success *time.Time) coverage.Reading {
		return coverage.Reading{State: state, Polled: state != Disabled, Fresh: success != nil && (state == OK || state == Failing), LastSuccess: success}
	}
	r := coverage.Readings{}
	for _, s := range all {
		one := coverage.Source{Reading: of(s.State, s.LastSuccess)}
		for _, f := range s.Feeds {
			one.Feeds = append(one.Feeds, of(f.State, f.LastSuccess))
		}
		r[s.Name] = one
	}
	return r
}

// maxNamed is the largest number of sources that Summary names. If there are more, it only counts
// them, so that the header stays short.
const maxNamed = 10

// Summary returns the value of the header Hazardd-Sources: the number of sources in each state, and
// the names of stale and failing ones if they are few. Sources of the catalog that never responded
// are counted separately, so that the count of stale sources only contains those that have stopped
// responding.
func Summary(all []Status) string {
	count := map[string]int{}
	var names []string
	for _, s := range all {
		count[s.State]++
		if s.State == Stale || s.State == Failing {
			names = append(names, s.Name)
		}
	}
	text := fmt.Sprintf("ok=%d; stale=%d", count[OK], count[Stale])
	for _, word := range []string{Failing, Starting, Unheard, Disabled} {
		if count[word] > 0 {
			text += fmt.Sprintf("; %s=%d", word, count[word])
		}
	}
	if len(names) > 0 && len(names) <= maxNamed {
		text += fmt.Sprintf("; names=%q", strings.Join(names, ","))
	}
	return text
}
