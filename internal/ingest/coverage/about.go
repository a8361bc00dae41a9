package coverage

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// About is the coverage of a place, as JSON of GET /coverage.
type About struct {
	Point     [2]float64     `json:"point"` // longitude, latitude
	Time      string         `json:"time"`  // as of when
	Answer    Word           `json:"answer"`
	Countries []AboutCountry `json:"countries"`
	Types     []AboutType    `json:"types"`
	Sources   []AboutSource  `json:"sources"`
}

// AboutCountry is a country that contains a place, or is near.
type AboutCountry struct {
	Code string  `json:"code"` // ISO 3166-1 alpha-2
	Name string  `json:"name"`
	Km   float64 `json:"km"`   // to its nearest land; 0 inside
	Note string  `json:"note"` // what is disputed; may be empty
}

// AboutType is the word for a type.
type AboutType struct {
	Type    hazard.Type `json:"type_ID"`
	Answer  Word        `json:"answer"`
	Sources []string    `json:"sources"` // by which the answer is, fresh ones first
	// Responsible reports whether those are responsible; false: they watch, or there are none.
	Responsible bool `json:"responsible"`
}

// AboutSource is a source that covers a place.
type AboutSource struct {
	Name        string        `json:"name"`
	Title       string        `json:"title"`
	Authority   string        `json:"authority"`
	Responsible bool          `json:"responsible"` // false: it watches
	Types       []hazard.Type `json:"types"`
	TypesStated bool          `json:"types_stated"` // false: it is not known for which types
	From        string        `json:"from"`         // the least event that it reports, for people; may be empty
	State       string        `json:"state"`        // as in GET /sources
	LastOK      *time.Time    `json:"last_ok"`
	Age         *int64        `json:"age"` // seconds since LastOK
	Cite        string        `json:"cite"`
}

// About returns the result of Judge as JSON, as of now.
func (m *Map) About(p *Place, read Readings, now hazard.Instant, types ...hazard.Type) About {
	j := m.Judge(p, read, types...)
	a := About{Point: [2]float64{p.Lon, p.Lat}, Time: now.String(), Answer: j.Word, Countries: []AboutCountry{}, Types: []AboutType{}, Sources: []AboutSource{}}
	for _, c := range p.Countries {
		a.Countries = append(a.Countries, AboutCountry{c.Code, c.Name, math.Round(c.Metres/100) / 10, c.Note})
	}
	for _, t := range j.Types {
		a.Types = append(a.Types, AboutType{t.Type, t.Word, append([]string{}, t.Sources...), t.Role == source.RoleResponsible})
	}
	for _, v := range j.Sources {
		s := AboutSource{Name: v.Name, Title: v.Title, Authority: v.Authority, Responsible: v.Role == source.RoleResponsible, Types: append([]hazard.Type{}, v.Types...),
			TypesStated: v.Types != nil, From: v.From, State: v.State, LastOK: v.LastSuccess, Cite: v.Cite}
		if age, ever := v.age(now); ever {
			s.Age = new(int64(age / time.Second))
		}
		a.Sources = append(a.Sources, s)
	}
	return a
}

// ParsePoint reads a position: longitude and latitude in degrees, separated by a comma.
func ParsePoint(text string) (lon, lat float64, err error) {
	lonText, latText, ok := strings.Cut(text, ",")
	lon, lonErr := strconv.ParseFloat(strings.TrimSpace(lonText), 64)
	lat, latErr := strconv.ParseFloat(strings.TrimSpace(latText), 64)
	if !ok || lonErr != nil || latErr != nil || !(math.Abs(lon) <= 180) || !(math.Abs(lat) <= 90) {
		return 0, 0, fmt.Errorf("%.60q is not lon,lat: longitude from -180 to 180 and latitude from -90 to 90, in degrees, separated by a comma", text)
	}
	return lon + 0, lat + 0, nil // no negative zero
}
