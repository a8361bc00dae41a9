package client

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/wire"
)

// Search selects hazards that match all given fields, active or not. The zero Search selects all.
// Identifiers are those of the reference lists. Only hazardd supports searches; for unknown values
// it returns a *Problem that lists each fault.
type Search struct {
	Types, Severities, Categories []string
	Statuses                      []string // A (active), E (expired)
	Sources                       []string // names as Sources lists them, and "editors"
	Ref                           string   // an id that any source gave the event, SCHEME:ID
	BBox                          *BBox
	Near                          *Near
	Intersects                    string // WKT, longitude before latitude
	// Possible adds, for a place, the active hazards that are only known to be somewhere in a region
	// or country there. Without it State.Possible of SearchActive counts them.
	Possible bool
	// From and To bound a period in which the hazard was active at some time. The zero time means
	// no bound.
	From, To     time.Time
	UpdatedSince time.Time
	// Measures are ranges of measurements that all must hold, written name:low..high. Both ends are
	// included, and either may be missing, as in magnitude:6.. for magnitude 6 or more.
	Measures []string
	// Text lists words that must all be in the name or the description, as in harbour, harb* or
	// "old harbour".
	Text string
	// Sort is severity (the order of lists), last_Update, start_Date, end_Date, hazard_ID or the
	// name of a measurement. A leading - reverses the order.
	Sort string
	// At selects the result as of that time; the zero time means now.
	At time.Time
}

// BBox is a box in degrees. If west is greater than east, it crosses the antimeridian.
type BBox struct{ West, South, East, North float64 }

// Near is a circle: its center in degrees, and its radius in meters.
type Near struct{ Lon, Lat, Radius float64 }

func (s *Search) parameters() url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set("type", strings.Join(s.Types, ","))
	set("severity", strings.Join(s.Severities, ","))
	set("category", strings.Join(s.Categories, ","))
	set("status", strings.Join(s.Statuses, ","))
	set("source", strings.Join(s.Sources, ","))
	set("ref", s.Ref)
	if b := s.BBox; b != nil {
		set("bbox", decimals(b.West, b.South, b.East, b.North))
	}
	if n := s.Near; n != nil {
		set("near", decimals(n.Lon, n.Lat))
		set("radius", decimals(n.Radius))
	}
	set("intersects", s.Intersects)
	if s.Possible {
		set("possible", "true")
	}
	if !s.From.IsZero() || !s.To.IsZero() {
		open := func(t time.Time) string {
			if t.IsZero() {
				return ".."
			}
			return moment(t)
		}
		set("datetime", open(s.From)+"/"+open(s.To))
	}
	set("updated_since", moment(s.UpdatedSince))
	set("measure", strings.Join(s.Measures, ","))
	set("q", s.Text)
	set("sort", s.Sort)
	set("at", moment(s.At))
	return v
}

func decimals(numbers ...float64) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.FormatFloat(n, 'f', -1, 64)
	}
	return strings.Join(words, ",")
}

// moment formats t for a parameter; the zero time is empty.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// At makes a read answer as the server would have answered at that time. The zero time has no
// effect.
func At(t time.Time) CallOption {
	return func(r *request) {
		if !t.IsZero() {
			r.set("at", moment(t))
		}
	}
}

// Search yields the hazards that match a search, reading page by page. Each is yielded once, even
// if hazards change meanwhile. It stops at the first error.
func (c *Client) Search(ctx context.Context, s Search) iter.Seq2[wire.Hazard, error] {
	return pages[wire.Hazard](ctx, c, s.parameters(), "cursor", "/hazards")
}

// pages goes through a list page by page. parameter is the parameter in the link to the next page
// that says where it begins.
func pages[T any](ctx context.Context, c *Client, parameters url.Values, parameter, path string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		parameters := maps.Clone(parameters)
		parameters.Set("limit", strconv.Itoa(c.pageSize))
		for {
			r := newRequest(http.MethodGet, path, nil)
			r.query = parameters
			page, next, err := list[T](ctx, c, r)
			if err == nil && len(page.Rejected) > 0 {
				err = fmt.Errorf("%s: %w", r, &AnswerError{Reason: fmt.Sprintf("record %d: %v", page.Rejected[0].Index, page.Rejected[0].Err)})
			}
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			// The link may lead anywhere: only the place in the list is taken from it.
			u, err := url.Parse(next)
			if err != nil || !u.Query().Has(parameter) || u.Query().Get(parameter) == parameters.Get(parameter) {
				yield(none, fmt.Errorf("%s: %w", r, &AnswerError{Reason: fmt.Sprintf("the next page, %.200q, does not lead on", next)}))
				return
			}
			parameters.Set(parameter, u.Query().Get(parameter))
		}
	}
}

// Count returns the number of hazards that match a search.
func (c *Client) Count(ctx context.Context, s Search) (int64, error) {
	r := newRequest(http.MethodGet, "/hazards/count", nil)
	r.query = s.parameters()
	n, err := record[struct {
		Count int64 `json:"count"`
	}](ctx, c, r)
	return n.Item.Count, err
}

// SearchActive lists the active hazards that match a search, in one answer.
func (c *Client) SearchActive(ctx context.Context, s Search, opts ...CallOption) (List[wire.Hazard], error) {
	r := newRequest(http.MethodGet, "/hazards/active", opts)
	for name, values := range s.parameters() {
		r.set(name, values[0])
	}
	l, _, err := list[wire.Hazard](ctx, c, r)
	return l, err
}
