package client

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/wire"
)

// Report is the current report of one source about a hazard.
type Report struct {
	Source      string     `json:"source"`
	SourceState string     `json:"source_state"` // as in Source.State; only a source that is read still stands by its report
	LastSuccess *time.Time `json:"last_success"` // when the source was last read; nil if never
	Event       string     `json:"event"`        // the source's own key of the event
	Joined      string     `json:"joined"`       // why the event is part of the hazard; empty if it created the hazard
	Version     string     `json:"version"`      // version of the latest message, milliseconds since 1970
	Name        string     `json:"name"`
	Description string     `json:"description"`
	TypeID      string     `json:"type_ID"`
	SeverityID  string     `json:"severity_ID"`
	Level       string     `json:"level"` // the source's own word for the severity
	StartDate   string     `json:"start_Date"`
	EndDate     string     `json:"end_Date"`
	Ended       string     `json:"ended"` // why, if the source ended it
	Point       *struct {  // WGS84 degrees; nil if the source gives none
		Lon float64 `json:"lon"`
		Lat float64 `json:"lat"`
	} `json:"point"`
	Refs     []string  `json:"refs"` // ids that others gave the event
	URL      string    `json:"url"`
	Notes    []string  `json:"notes"`    // which parts are estimated or were unreadable
	Payloads []Payload `json:"payloads"` // the stored payloads that it was read from, latest first
}

// Payload is a payload of a source, as received.
type Payload struct {
	SHA256   string `json:"sha256"`
	Received string `json:"received"` // RFC 3339
	Source   string `json:"source"`
	URL      string `json:"url"`  // address that it was read from; empty for a file
	Href     string `json:"href"` // address at the server
}

// Reports lists what each source reports about a hazard.
func (c *Client) Reports(ctx context.Context, hazard string, opts ...CallOption) (List[Report], error) {
	return listAt[Report](ctx, c, opts, "hazards", hazard, "reports")
}

// PayloadFile opens a payload by its SHA-256 (role editor). Its content is from outside, and
// unchecked.
func (c *Client) PayloadFile(ctx context.Context, sha256 string, opts ...CallOption) (*File, error) {
	return c.download(ctx, opts, "payloads", sha256)
}

// Join is an event that a rule joined to an active hazard. No shared id and no person says that
// they are the same.
type Join struct {
	ID         string    `json:"id"`
	HazardID   int64     `json:"hazard_ID"`
	UUID       string    `json:"uuid"` // UUID of the hazard
	HazardName string    `json:"hazard_Name"`
	TypeID     string    `json:"type_ID"`
	Event      EventName `json:"event"` // the joined event
	With       EventName `json:"with"`  // the event of another source that it fits best
	// Score says how well the two match: 1 means the same place and time, 0 the rule's limit or
	// more.
	Score      float64  `json:"score"`
	Kilometers *float64 `json:"kilometers"` // distance between the two; nil if one has no place
	Seconds    float64  `json:"seconds"`    // time between their starts
	Reason     string   `json:"reason"`     // why the rule joined them, in words
	Confirmed  bool     `json:"confirmed"`  // a person has confirmed that the two are the same
	Href       string   `json:"href"`       // address of the sources' reports
}

// EventName identifies an event of a source; Event is the source's own key.
type EventName struct {
	Source string `json:"source"`
	Event  string `json:"event"`
}

// JoinFilter selects joins. The zero JoinFilter selects those that nobody has confirmed.
type JoinFilter struct {
	Types     []string
	MaxScore  *float64 // only joins of this score or less; nil means no limit
	Confirmed bool     // confirmed joins instead of the others
	Limit     int      // 0 means the server's default
}

// Joins lists the joins made by rules, most doubtful first. matched is the number of
// all joins that the filter selects, even if not all are listed.
func (e Editor) Joins(ctx context.Context, f JoinFilter, opts ...CallOption) (joins []Join, matched int, err error) {
	r := newRequest(http.MethodGet, "/joins", opts)
	if len(f.Types) > 0 {
		r.set("type", strings.Join(f.Types, ","))
	}
	if f.MaxScore != nil {
		r.set("max_score", decimals(*f.MaxScore))
	}
	if f.Confirmed {
		r.set("state", "confirmed")
	}
	if f.Limit > 0 {
		r.set("limit", strconv.Itoa(f.Limit))
	}
	answer, err := record[struct {
		Matched int    `json:"matched"`
		Joins   []Join `json:"joins"`
	}](ctx, e.Client, r)
	return answer.Item.Joins, answer.Item.Matched, err
}

// JudgeJoin decides whether the events of a join are the same. No rule changes that
// later. It returns the hazard of the joined event.
func (e Editor) JudgeJoin(ctx context.Context, id string, same bool, opts ...CallOption) (wire.Hazard, error) {
	verdict := "different"
	if same {
		verdict = "same"
	}
	return write[wire.Hazard](ctx, e.Client, http.MethodPost, Fields{"verdict": verdict}, opts, "joins", id)
}

// Confirm says that an event of a source is the same as the others of a hazard. They
// stay together until somebody splits them.
func (e Editor) Confirm(ctx context.Context, hazard string, event EventName, opts ...CallOption) (wire.Hazard, error) {
	return write[wire.Hazard](ctx, e.Client, http.MethodPost, event, opts, "hazards", hazard, "confirm")
}

// Split makes an event of a source a separate hazard, and returns it.
func (e Editor) Split(ctx context.Context, hazard string, event EventName, opts ...CallOption) (wire.Hazard, error) {
	return write[wire.Hazard](ctx, e.Client, http.MethodPost, event, opts, "hazards", hazard, "split")
}
