package client

import (
	"context"
	"net/http"
	"time"
)

// Source is the state and the description of a source of hazardd.
type Source struct {
	Name        string     `json:"name"`
	Title       string     `json:"title"`
	State       string     `json:"state"` // ok, stale, failing, starting, unheard, disabled
	Feeds       []Feed     `json:"feeds"`
	Pushes      []Push     `json:"pushes"` // connections over which the source pushes
	LastPoll    *time.Time `json:"last_poll"`
	LastSuccess *time.Time `json:"last_success"`
	LastChanged *time.Time `json:"last_changed"`
	NextPoll    *time.Time `json:"next_poll"`
	Lag         *int64     `json:"lag"`   // seconds since LastSuccess
	Last        Counts     `json:"last"`  // counts of the last poll
	Total       Counts     `json:"total"` // counts of all polls
	Failures    int        `json:"consecutive_failures"`
	Circuit     string     `json:"circuit"`
	Pending     int        `json:"pending"`
	// Error says why the last poll failed. Only admins get its text.
	Error *SourceError `json:"last_error"`
	Held  []HeldReport `json:"held"`

	Warns       bool     `json:"warns"`     // whether it warns of present or coming danger
	Covers      string   `json:"covers"`    // the area that it covers, in words
	Types       []string `json:"types"`     // empty means any
	Countries   []string `json:"countries"` // ISO 3166-1 alpha-2; empty means the world
	Languages   []string `json:"languages"` // RFC 5646; empty means any
	Home        string   `json:"home"`      // web page about the feed
	OID         string   `json:"oid"`       // the authority in WMO's register; empty if unknown
	License     string   `json:"license"`
	Attribution string   `json:"attribution"`
	Absence     string   `json:"absence"` // what it means when a list lacks an active event
	// Rank is the source's authority by hazard type. The type "" stands for all types that are not
	// in it.
	Rank map[string]string `json:"rank"`
	// Coverage lists the areas that the source covers.
	Coverage []SourceCoverage `json:"coverage"`
	// Delays says how late its reports were on the node that answered, by stage: committed and
	// sent. It is nil if there were no reports.
	Delays map[string]*Delay `json:"delays"`
}

// Delay is how late reports were, in seconds.
type Delay struct {
	Count  uint64  `json:"count"`
	Median float64 `json:"median"`
	P99    float64 `json:"p99"` // the 99th percentile
}

// SourceCoverage says what a source covers: where it is silent there, it knows of no event. The
// area is World, Countries and Areas together.
type SourceCoverage struct {
	Role        string       `json:"role"`         // responsible, watches or unknown
	Types       []string     `json:"types"`        // types that it would report there
	TypesStated bool         `json:"types_stated"` // false if its types are unknown
	World       bool         `json:"world"`
	Countries   []string     `json:"countries"` // ISO 3166-1 alpha-2
	SeaKm       float64      `json:"sea_km"`    // km off the coasts of Countries that are included
	Within      []SourceArea `json:"within"`    // if not empty, only the parts of Countries inside these
	Areas       []SourceArea `json:"areas"`
	From        string       `json:"from"` // the smallest event that it reports, in words
	Cite        string       `json:"cite"`
}

// SourceArea is a named part of the world. BBox is west, south, east, north.
type SourceArea struct {
	Name string     `json:"name"`
	BBox [4]float64 `json:"bbox"`
}

// Feed is the state of one address of a source.
type Feed struct {
	URL         string       `json:"url"`
	Every       int64        `json:"every"`    // usual interval in seconds
	Interval    int64        `json:"interval"` // present interval in seconds
	State       string       `json:"state"`
	LastPoll    *time.Time   `json:"last_poll"`
	LastSuccess *time.Time   `json:"last_success"`
	LastChanged *time.Time   `json:"last_changed"`
	NextPoll    *time.Time   `json:"next_poll"`
	Failures    int          `json:"consecutive_failures"`
	Error       *SourceError `json:"last_error"`
}

// Push is the state of a connection over which a source pushes.
type Push struct {
	URL         string       `json:"url"`
	State       string       `json:"state"` // ok, failing, starting, disabled
	Since       *time.Time   `json:"since"` // when it went up or down
	LastHeard   *time.Time   `json:"last_heard"`
	LastMessage *time.Time   `json:"last_message"` // last message that was not a heartbeat
	Messages    int64        `json:"messages"`
	Failures    int          `json:"consecutive_failures"`
	Error       *SourceError `json:"last_error"`
}

// Counts says what happened to the records of a source.
type Counts struct {
	Read      int64 `json:"read"`
	New       int64 `json:"new"`
	Updated   int64 `json:"updated"`
	Unchanged int64 `json:"unchanged"`
	Ignored   int64 `json:"ignored"`
	Held      int64 `json:"held"`
	Rejected  int64 `json:"rejected"`
	Ended     int64 `json:"ended"`
}

// SourceError says why a poll failed.
type SourceError struct {
	Class string    `json:"class"`
	Time  time.Time `json:"time"`
	Text  string    `json:"text"`
}

// HeldReport is a report that waits for an editor's decision.
type HeldReport struct {
	ID       int64  `json:"id"`
	Event    string `json:"event"`
	Name     string `json:"name"`
	Reason   string `json:"reason"`
	Received string `json:"received"`
}

// Sources lists the sources of hazardd.
func (c *Client) Sources(ctx context.Context, opts ...CallOption) (List[Source], error) {
	return listAt[Source](ctx, c, opts, "sources")
}

// PollSource starts a poll of a source (role admin). It does not wait for the result.
func (a Admin) PollSource(ctx context.Context, name string) error {
	p, err := pathOf("sources", name, "poll")
	if err != nil {
		return err
	}
	return a.c.plain(ctx, newRequest(http.MethodPost, p, nil))
}
