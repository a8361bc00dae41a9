package client

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The values of State.CoverageWord and of the members Answer.
const (
	Covered         = "covered" // a polled source is responsible for the place
	CoverageStale   = "stale"   // a source is responsible, but currently not readable
	CoverageUnknown = "unknown" // no polled source is responsible for the place
)

// Coverage says which sources issue warnings for a place, and whether they are polled. Only then
// does an empty answer mean "no hazards".
type Coverage struct {
	Point     [2]float64        `json:"point"` // longitude, latitude
	Time      string            `json:"time"`
	Answer    string            `json:"answer"`
	Countries []CoverageCountry `json:"countries"`
	Types     []CoverageOfType  `json:"types"` // a type that is missing here is unknown
	Sources   []CoveringSource  `json:"sources"`
}

// CoverageCountry is a country that contains a place or is near it.
type CoverageCountry struct {
	Code string  `json:"code"` // ISO 3166-1 alpha-2
	Name string  `json:"name"`
	Km   float64 `json:"km"`   // distance to its nearest land; 0 inside
	Note string  `json:"note"` // a territorial dispute, if any
}

// CoverageOfType is the coverage of a place for one hazard type.
type CoverageOfType struct {
	Type        string   `json:"type_ID"`
	Answer      string   `json:"answer"`
	Sources     []string `json:"sources"`     // names of the sources that cover it
	Responsible bool     `json:"responsible"` // false if they only observe, or if there are none
}

// CoveringSource is a source that covers a place.
type CoveringSource struct {
	Name        string     `json:"name"`
	Title       string     `json:"title"`
	Authority   string     `json:"authority"`
	Responsible bool       `json:"responsible"` // false if it only observes
	Types       []string   `json:"types"`
	TypesStated bool       `json:"types_stated"` // false if its types are unknown
	From        string     `json:"from"`         // the smallest event that it reports, in words
	State       string     `json:"state"`        // see Source
	LastOK      *time.Time `json:"last_ok"`
	Age         *int64     `json:"age"` // seconds since LastOK
	Cite        string     `json:"cite"`
}

// Coverage returns the coverage of a place, for the given hazard types or, without any, for all.
// lon and lat are degrees.
func (c *Client) Coverage(ctx context.Context, lon, lat float64, types []string, opts ...CallOption) (Record[Coverage], error) {
	r := newRequest(http.MethodGet, "/coverage", opts)
	r.set("point", strconv.FormatFloat(lon, 'f', -1, 64)+","+strconv.FormatFloat(lat, 'f', -1, 64))
	if len(types) > 0 {
		r.set("type", strings.Join(types, ","))
	}
	return record[Coverage](ctx, c, r)
}
