package eafloods

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// flood is an entry of the list.
type flood struct {
	AreaID      string `json:"floodAreaID"` // "122WAC954"
	Description string `json:"description"` // the name of the area: "North Sea Coast at Bridlington"
	Area        struct {
		Notation   string `json:"notation"` // the same as floodAreaID
		County     string `json:"county"`   // one or several, separated by commas
		RiverOrSea string `json:"riverOrSea"`
	} `json:"floodArea"`
	Severity string         `json:"severity"` // the words of the level
	Level    lenient.Number `json:"severityLevel"`
	Message  string         `json:"message"` // missing at level 4
	// Local times without zone: when the warning was issued, and when its level and its message last
	// changed.
	Raised          string `json:"timeRaised"`
	SeverityChanged string `json:"timeSeverityChanged"`
	MessageChanged  string `json:"timeMessageChanged"`
}

// codeForm matches the code of a flood area: the number of a region of the agency, then W (a flood
// alert area) or F (a flood warning area) and the rest, of which the case counts: "064WAF8Bourne".
var codeForm = regexp.MustCompile(`^[0-9]{3}[A-Z][A-Za-z0-9]{2,24}$`)

// code returns the code of the area, or "" if the entry has none.
func (f *flood) code() string {
	for _, code := range []string{f.AreaID, f.Area.Notation} {
		if code = strings.TrimSpace(code); codeForm.MatchString(code) {
			return code
		}
	}
	return ""
}

// Parse reads the list as of now. The error is a *source.PayloadError. If its Cut is true, the
// records before the error are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := lenient.Batch{
		ID:     func(raw []byte) string { return lenient.Word(lenient.Member(raw, "floodAreaID")) },
		Events: lenient.OneEvent(codeForm),
	}
	doc, err := lenient.Collection{Want: "flood warnings", Lists: []string{"items"}, Heads: lenient.Complaints}.Read(payload, func(where func() string, raw []byte) {
		lenient.Record(&b, where, raw, func(f *flood) (*hazard.Report, string) { return f.report(now) })
	})
	if err == nil && doc.Listed == "" {
		err = source.Errorf("no list of floods: %s, expected the member items", lenient.ExcerptText(doc.Complaint()))
	}
	b.Whole = err == nil
	return b.Done(), err
}

// placePrefix begins the code of a place: "EA:122WAC954" is that flood area.
const placePrefix = "EA:"

// PlaceURL returns the address of the shape of a flood area, or "" if the code is none.
func PlaceURL(code string) string {
	area, ok := strings.CutPrefix(code, placePrefix)
	if !ok || !codeForm.MatchString(area) {
		return ""
	}
	return api + "floodAreas/" + area + "/polygon"
}

// ParsePlace parses the shape of a flood area, a FeatureCollection: the place's code, all polygons as
// one geometry, and the name of the area. The area's code is the property that has its form: which
// one it is (FWS_TACODE, fwdCode, notation) differs between the agency's data sets.
func ParsePlace(payload []byte) (code string, geometryGeoJSON []byte, name string, err error) {
	shapes, err := lenient.Shapes(payload, "flood areas", func(p *map[string]jsontext.Value) {
		for _, member := range slices.Sorted(maps.Keys(*p)) {
			word := strings.TrimSpace(lenient.Word((*p)[member]))
			switch {
			case code == "" && codeForm.MatchString(word):
				code = placePrefix + word
			case strings.EqualFold(member, "TA_NAME"), strings.EqualFold(member, "label"):
				name = hazard.CleanLine(word)
			}
		}
	})
	switch {
	case err != nil:
		return "", nil, "", err
	case len(shapes) == 0 || code == "":
		return "", nil, "", source.Errorf("%d shapes of the flood area %s, expected those of one with its code", len(shapes), lenient.ExcerptText(code))
	}
	whole, err := geo.Union(shapes...)
	if err != nil {
		return "", nil, "", source.Errorf("%v", err)
	}
	return code, []byte(whole.GeoJSON()), name, nil
}
