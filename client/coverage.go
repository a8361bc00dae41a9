package client

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The words of coverage.
const (
	Covered         = "covered" // the authority responsible for the place is polled
	CoverageStale   = "stale"   // and is not read at present
	CoverageUnknown = "unknown" // no polled source is responsible for the place
)

// Coverage says who issues warnings for a place and whether these sources are polled, and so
// whether an empty answer means "no hazards".
type Coverage struct {
	Point     [2]float64        `json:"point"` // longitude, latitude
	Time      string            `json:"time"`
	Answer    string            `json:"answer"`
	Countries []CoverageCountry `json:"countries"`
	Types     []CoverageOfType  `json:"types"` // types that are not there are unknown
	Sources   []CoveringSource  `json:"sources"`
}

// CoverageCountry is a country that contains a place or is near it.
type CoverageCountry struct {
	Code string  `json:"code"` // ISO 3166-1 alpha-2
	Name string  `json:"name"`
	Km   float64 `json:"km"`   // distance to its nearest land; 0 inside
	Note string  `json:"note"` // territorial dispute, if any
}

// CoverageOfType is the coverage for one type.
type CoverageOfType struct {
	Type        string   `json:"type_ID"`
	Answer      string   `json:"answer"`
	Sources     []string `json:"sources"`     // the names of those by which it is
	Responsible bool     `json:"responsible"` // whether they are; false: they watch, or there are none
}

// CoveringSource is a source that covers a place.
type CoveringSource struct {
	Name        string     `json:"name"`
	Title       string     `json:"title"`
	Authority   string     `json:"authority"`
	Responsible bool       `json:"responsible"` // false if it only observes
	Types       []string   `json:"types"`
	TypesStated bool       `json:"types_stated"` // false if its types are unknown
	From        string     `json:"from"`         // the least event that it reports, in words
	State       string     `json:"state"`        // as in Source
	LastOK      *time.Time `json:"last_ok"`
	Age         *int64     `json:"age"` // seconds since LastOK
	Cite        string     `json:"cite"`
}

// Coverage returns the coverage of a place, in degrees, for all types or for some.
func (c *Client) Coverage(ctx context.Context, lon, lat float64, types []string, opts ...CallOption) (Record[Coverage], error) {
	r := newRequest(http.MethodGet, "/coverage", opts)
	r.set("point", strconv.FormatFloat(lon, 'f', -1, 64)+","+strconv.FormatFloat(lat, 'f', -1, 64))
	if len(types) > 0 {
		r.set("type", strings.Join(types, ","))
	}
	return record[Coverage](ctx, c, r)
}
