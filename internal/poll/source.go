package poll

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"hazardd/internal/hazard"
	"hazardd/internal/intake"
	"hazardd/internal/source"
	"hazardd/internal/store"
)

// Intake is where what was read goes.
type Intake interface {
	// Apply takes in a batch. Taking in the same batch again changes nothing.
	Apply(ctx context.Context, src string, batch source.Batch, clock hazard.Clock, opts intake.Options) (intake.Result, error)
	// Withdraw ends the hazard of an event; last is 0 if it was over, or an editor has decided about it.
	Withdraw(ctx context.Context, src, event string, reason hazard.EndReason, clock hazard.Clock) (last int64, err error)
}

// Source is one polled source. Its functions are called by one goroutine at a time.
type Source struct {
	Name  string // as in reports: "usgs"
	Title string // for people
	Feeds []source.Feed
	Parse func(payload []byte, now hazard.Instant) (source.Batch, error)
	// Read, if not nil, asks the source in place of a GET of its one feed, whose address is only shown: a source that is no document but has to
	// be logged in to, and asked in steps. Its error should be a *Failure. Taken is called when what it read last was taken in.
	Read  func(ctx context.Context, now hazard.Instant) (source.Batch, error)
	Taken func()

	// Disabled sources are listed, and not polled.
	Disabled bool
	// Private: the addresses hold a key. Only their hosts are shown and logged.
	Private bool
	// Hosts are further hosts from which fuller reports and places may be fetched, beside those of the feeds: what a payload
	// says must not lead the poller anywhere else.
	Hosts []string

	// EndsAtOnce: by the source's contract what is missing in a whole list (source.Batch.Whole) is over. Without it two
	// consecutive lists must miss it. With several feeds it must be missing in all of them.
	EndsAtOnce bool
	// Lasts, if not nil, reports whether an active event goes on only as long as a list names it (source.Batch.Lasting): two
	// consecutive lists that do not name it end it.
	Lasts func(e store.ActiveEvent, now hazard.Instant) bool
	// Missing, if not nil, is asked about each active event that a feed, read completely, did not name. It returns the address
	// that tells what became of the event, or "" if its absence says nothing (it grew older than the feed's window). The event
	// is over if there is nothing at that address (404, 409, 410), or if the report found there says so.
	Missing func(feed string, e store.ActiveEvent, now hazard.Instant) string

	// PlaceURL is the address of the shape of a place that a report without geometry names, "" if there is none or none is needed,
	// and ParsePlace reads what is there. Both nil: the source names no places.
	PlaceURL   func(code string) string
	ParsePlace func(payload []byte) (code string, geometry []byte, name string, err error)
}

// check tells what makes s impossible to poll.
func (s *Source) check() error {
	if s.Name == "" || s.Parse == nil || len(s.Feeds) == 0 {
		return fmt.Errorf("source %q: needs a name, a parser and a feed", s.Name)
	}
	if (s.Read == nil) != (s.Taken == nil) || s.Read != nil && len(s.Feeds) > 1 {
		return fmt.Errorf("source %s: Read and Taken go together, and with one feed", s.Name)
	}
	if (s.PlaceURL == nil) != (s.ParsePlace == nil) {
		return fmt.Errorf("source %s: PlaceURL and ParsePlace go together", s.Name)
	}
	for i, f := range s.Feeds {
		if _, err := parseURL(f.URL); err != nil {
			return fmt.Errorf("source %s: address of feed %d: %w", s.Name, i+1, err)
		}
		if f.Every <= 0 || f.MaxBytes <= 0 {
			return fmt.Errorf("source %s: feed %d: rhythm %s and limit %d must be positive", s.Name, i+1, f.Every, f.MaxBytes)
		}
		if slices.ContainsFunc(s.Feeds[:i], func(g source.Feed) bool { return g.URL == f.URL }) {
			return fmt.Errorf("source %s: feed %d is there twice", s.Name, i+1)
		}
	}
	return nil
}

// parseURL reads an absolute http or https address. Its errors do not repeat the address, which may hold a key.
func parseURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		if bad, ok := errors.AsType[*url.Error](err); ok {
			err = bad.Err
		}
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("expected an absolute address beginning with http:// or https://")
	}
	return u, nil
}

// follows tells whether the source may be followed to an address that one of its payloads gave: one of its own hosts,
// and never from https to http.
func (s *Source) follows(address string) bool {
	u, err := parseURL(address)
	if err != nil || u.User != nil {
		return false
	}
	for _, f := range s.Feeds {
		own, err := parseURL(f.URL)
		if err != nil || own.Scheme == "https" && u.Scheme != "https" {
			continue
		}
		if u.Host == own.Host || slices.Contains(s.Hosts, u.Host) {
			return true
		}
	}
	return false
}

// shown is an address as it may be shown: without user, password and query, which may hold a key.
func (s *Source) shown(address string) string {
	u, err := parseURL(address)
	if err != nil {
		return "(no address)"
	}
	u = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if s.Private {
		u.Path = "/"
	}
	return u.String()
}
