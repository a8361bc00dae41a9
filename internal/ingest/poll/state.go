package poll

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// state is the stored state of a source, between polls and processes. Instants are Unix
// milliseconds; 0 means never.
type state struct {
	Disabled bool `json:"disabled,omitzero"`
	// Served is the id of the last completed request (Poll).
	Served string `json:"served,omitzero"`
	// Unfinished means that a payload is being processed, or that new places have not been applied
	// yet. A process that finds it set has taken over from one that died, and reads everything
	// again.
	Unfinished bool `json:"unfinished,omitzero"`
	// Forks is how often the store had lost changes (store.Fork) when this process began: what was
	// read in lost ones is read again.
	Forks int64                 `json:"forks,omitzero"`
	Feeds map[string]*feedState `json:"feeds"` // by address
	// Pushes are the connections over which the source pushes, by address.
	Pushes map[string]*pushState `json:"pushes,omitzero"`
	Last   Counts                `json:"last"`
	Total  Counts                `json:"total"`
	// Jobs are the addresses to read, next one first.
	Jobs []job `json:"jobs,omitzero"`
	// BadPlaces are places that could not be fetched, with the time of the next try.
	BadPlaces map[string]hazard.Instant `json:"bad_places,omitzero"`
	// Places is how many shapes of places are still to be fetched.
	Places int `json:"places,omitzero"`
}

// feedState is the stored state of one feed.
type feedState struct {
	ETag         string         `json:"etag,omitzero"`
	LastModified string         `json:"last_modified,omitzero"`
	Digest       string         `json:"digest,omitzero"` // SHA-256 of the last payload, to detect changes
	Since        hazard.Instant `json:"since"`           // it has been polled since then
	LastPoll     hazard.Instant `json:"last_poll"`
	LastSuccess  hazard.Instant `json:"last_success"`
	LastChanged  hazard.Instant `json:"last_changed"`
	LastFull     hazard.Instant `json:"last_full"` // last success other than "not modified"
	NextPoll     hazard.Instant `json:"next_poll"`
	NotBefore    hazard.Instant `json:"not_before,omitzero"` // the source's Retry-After
	LastNews     hazard.Instant `json:"last_news,omitzero"`  // the last poll that brought something new
	Fresh        int64          `json:"fresh,omitzero"`      // seconds for which the last response may be cached
	// Slowed is when the source last refused requests, or asked for fewer.
	Slowed hazard.Instant `json:"slowed,omitzero"`
	// Links are the index entries whose documents were read, with the time until which they need
	// not be read again.
	Links map[string]hazard.Instant `json:"links,omitzero"`
	// Refused counts the documents of the index at addresses that are not followed, on these hosts.
	// Left counts those that were not queued because there are too many.
	Refused  int        `json:"refused,omitzero"`
	Hosts    []string   `json:"hosts,omitzero"`
	Left     int        `json:"left,omitzero"`
	Failures int        `json:"failures,omitzero"` // consecutive ones of scheduled polls
	Error    *lastError `json:"error,omitzero"`    // error of the last poll
}

type lastError struct {
	Class Class          `json:"class"`
	Text  string         `json:"text"`
	At    hazard.Instant `json:"at"`
}

// job is an address that is still to be read for a source.
type job struct {
	URL string `json:"url"`
	// Also lists other addresses of the same document, separated by blanks. After each failure, the
	// next one is tried.
	Also string `json:"also,omitzero"`
	// Link, if not empty, is the entry of the index Feed for this document. Dated means that the
	// entry says when the document changed.
	Link  string `json:"link,omitzero"`
	Feed  string `json:"feed,omitzero"`
	Dated bool   `json:"dated,omitzero"`
	// Had means that the document was read before. Since is when the index announced it. Expires is
	// when its content expires according to the index, or 0 if the index does not say. Unlisted is
	// the time since which the index no longer lists it.
	Had      bool           `json:"had,omitzero"`
	Since    hazard.Instant `json:"since,omitzero"`
	Expires  hazard.Instant `json:"expires,omitzero"`
	Unlisted hazard.Instant `json:"unlisted,omitzero"`
	// Event, if not empty, is an event that a feed no longer contains. The event is over if there
	// is nothing at the address.
	Event string `json:"event,omitzero"`
	// Tries counts failures, and Class is the class of the last one. Next is the earliest time of
	// the next try.
	Tries int            `json:"tries,omitzero"`
	Class Class          `json:"class,omitzero"`
	Next  hazard.Instant `json:"next,omitzero"`
}

// elsewhere returns the job with the next of its addresses.
func (j job) elsewhere() job {
	if j.Also != "" {
		next, rest, _ := strings.Cut(j.Also, " ")
		j.URL, j.Also = next, strings.TrimSpace(rest+" "+j.URL)
	}
	return j
}

// Counts counts the reports that were read, by result.
type Counts struct {
	Read      int64 `json:"read"`
	New       int64 `json:"new"`
	Updated   int64 `json:"updated"`
	Unchanged int64 `json:"unchanged"`
	Ignored   int64 `json:"ignored"`
	Held      int64 `json:"held"`
	Rejected  int64 `json:"rejected"`
	// Ended counts the hazards that ended because the source deleted them or no longer lists them.
	Ended int64 `json:"ended"`
}

func (c *Counts) add(r *fuse.Result) {
	c.Read += int64(r.Read)
	c.New += int64(r.New)
	c.Updated += int64(r.Updated)
	c.Unchanged += int64(r.Unchanged)
	c.Ignored += int64(r.Ignored)
	c.Held += int64(r.Held)
	c.Rejected += int64(r.Rejected)
}

// Limits of a source's stored state. They keep it at about 100 kB, whatever the source does.
const (
	maxJobs      = 1000
	maxBadPlaces = 2000
	maxLinks     = 5000 // largest number of links of one index
	maxText      = 500  // bytes of an error's text
)

func decodeState(body []byte) (*state, error) {
	st := &state{Feeds: map[string]*feedState{}}
	if len(body) == 0 {
		return st, nil
	}
	if err := json.Unmarshal(body, st); err != nil {
		return nil, fmt.Errorf("stored state: %w", err)
	}
	return st, nil
}

// encode encodes the state. It replaces invalid UTF-8, so that the state can be saved whatever a
// server sends.
func (st *state) encode() ([]byte, error) {
	return json.Marshal(st, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

// feed returns the state of the feed with that address, and creates it if necessary.
func (st *state) feed(address string) *feedState {
	if st.Feeds == nil {
		st.Feeds = map[string]*feedState{}
	}
	f := st.Feeds[address]
	if f == nil {
		f = &feedState{}
		st.Feeds[address] = f
	}
	return f
}

// enqueue puts jobs before the waiting ones, newest first. A job that was already waiting keeps its
// count of failures, but if another version is announced, it is tried at once. Only the first
// maxJobs jobs are kept; dropped is the number of the others.
func (st *state) enqueue(jobs []job) (dropped int) {
	type key struct{ url, event string }
	before := map[key]*job{}
	for i := range st.Jobs {
		before[key{st.Jobs[i].URL, st.Jobs[i].Event}] = &st.Jobs[i]
	}
	known := map[key]bool{}
	var all []job
	for _, j := range slices.Concat(jobs, st.Jobs) {
		k := key{j.URL, j.Event}
		if known[k] {
			continue
		}
		known[k] = true
		if old := before[k]; old != nil {
			j.Tries, j.Class = old.Tries, old.Class
			if j.Link == old.Link {
				j.Next = old.Next
			}
			if old.Since != 0 {
				j.Since = old.Since
			}
		}
		all = append(all, j)
	}
	dropped = max(0, len(all)-maxJobs)
	st.Jobs = all[:len(all)-dropped]
	return dropped
}

// interval returns the time from a poll of the feed at now to the next, as far as the feed itself
// decides: the shortest one that the source allows while the feed changes, otherwise Every.
func (f *feedState) interval(of *source.Feed, now hazard.Instant) time.Duration {
	within := func(at hazard.Instant, d time.Duration) bool { return at != 0 && at <= now && now < at.Add(d) }
	if of.Fastest == 0 || !within(f.LastNews, changing) || within(f.Slowed, chastened) {
		return of.Every
	}
	return min(of.Every, max(of.Fastest, time.Duration(f.Fresh)*time.Second))
}

// interval returns the time from a poll of a feed at now to the next. It is the longer one if a
// connection has been up for a whole interval, so that a poll has fetched everything from before.
func (s *Source) interval(f *source.Feed, st *state, now hazard.Instant) time.Duration {
	if slices.ContainsFunc(s.Pushes, func(p source.Push) bool {
		k := st.Pushes[p.URL]
		return k != nil && k.Up && now >= k.Since.Add(f.Every)
	}) {
		return max(f.Every, s.Eased)
	}
	k := st.Feeds[f.URL]
	if k == nil {
		return f.Every
	}
	return k.interval(f, now)
}

// forget has everything read again, whatever was read before.
func (st *state) forget() {
	st.Unfinished = true
	for _, f := range st.Feeds {
		f.ETag, f.LastModified, f.Links = "", "", nil
	}
}

// waitsFor reports whether a document of the index at that address is waiting.
func (st *state) waitsFor(index string) bool {
	return slices.ContainsFunc(st.Jobs, func(j job) bool { return j.Link != "" && j.Feed == index })
}
