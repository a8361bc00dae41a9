package nhc

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
)

// attributes are the attributes of a feature in a layer, in lowercase
// (mapservices.weather.noaa.gov/tropical, NHC_tropical_weather); the shapefiles (nhc.noaa.gov/gis)
// have the same in capitals. Layers may be hours older than the list: each contains its own
// advisory.
type attributes struct {
	StormName string         `json:"stormname"` // "Hurricane Lala" for points, "Lala" for lines
	StormType string         `json:"stormtype"` // a code of the table of classes
	Develops  string         `json:"tcdvlp"`    // the class in words, for points
	Basin     string         `json:"basin"`
	StormNum  lenient.Number `json:"stormnum"`
	AdvDate   string         `json:"advdate"` // "500 PM HST Fri Aug 21 2026": the local time of the advisory
	AdvisNum  string         `json:"advisnum"`
	Tau       lenient.Number `json:"tau"` // hours from the advisory to the forecast position
	MaxWind   lenient.Number `json:"maxwind"`
	Gust      lenient.Number `json:"gust"`
	MSLP      lenient.Number `json:"mslp"`  // in hPa; 9999 means unknown
	Radii     lenient.Number `json:"radii"` // in kt, only in layers of winds
	Watch     string         `json:"tcww"`  // kind of watch or warning, only in layers of coasts
	// Source is the name of the file, "cp012026-036A_5day_pts": identity, advisory and kind of
	// layer.
	Source string `json:"idp_source"`
}

// layer holds the forecasts in a GeoJSON document.
type layer struct {
	features []spot
	foreign  int // number of features without any attribute of the center's layers
	drawn    drawn
	// later are functions that draw the features without reports, once the name of the document is
	// known. They return a reason if the feature is unreadable.
	later []func(name string) string
}

// spot is a feature with its attributes.
type spot struct {
	attributes
	kind  string // type of the geometry
	track []hazard.Point
	raw   []byte
	where string
}

// read reads a feature.
func (l *layer) read(p *parser, raw []byte, where string) {
	p.Batch.Read++
	var f struct {
		Geometry struct {
			Type        string         `json:"type"`
			Coordinates jsontext.Value `json:"coordinates"`
		} `json:"geometry"`
		Properties jsontext.Value `json:"properties"`
	}
	s := spot{raw: raw, where: where}
	err := lenient.UnmarshalObject(raw, &f)
	if err == nil {
		err = json.Unmarshal(orEmpty(f.Properties), &s.attributes, lenient.Options, json.MatchCaseInsensitiveNames(true))
	}
	if err != nil {
		p.Reject(lenient.At(where), raw, lenient.Fault(err, raw))
		return
	}
	s.kind = f.Geometry.Type
	if s.foreign() {
		l.foreign++
		p.Reject(lenient.At(where), raw, "properties: none of a layer of the centre, expected stormnum, advisnum, basin, radii, tcww or idp_source")
		return
	}
	switch row := s.ignored(); {
	case row != "":
		p.ignore(where, row)
		l.later = append(l.later, func(name string) string {
			return l.drawn.add(row, f.Properties, f.Geometry.Type, f.Geometry.Coordinates, name)
		})
		return
	case s.kind == "Point":
		s.track = points(slices.Concat([]byte("["), f.Geometry.Coordinates, []byte("]")))
	default:
		s.track = points(f.Geometry.Coordinates)
	}
	if len(s.track) == 0 {
		p.Reject(lenient.At(where), raw, "geometry/coordinates: "+cmp.Or(lenient.Excerpt(f.Geometry.Coordinates), lenient.Nothing)+", expected positions")
		return
	}
	l.features = append(l.features, s)
}

func orEmpty(raw jsontext.Value) jsontext.Value {
	if raw.Kind() != '{' {
		return jsontext.Value("{}")
	}
	return raw
}

// points parses positions; it returns nil if one of them is invalid.
func points(raw []byte) (all []hazard.Point) {
	var pairs [][]lenient.Number
	if json.Unmarshal(raw, &pairs, lenient.Options) != nil || len(pairs) > maxTrack {
		return nil
	}
	for _, pair := range pairs {
		if len(pair) < 2 {
			return nil
		}
		at := onEarth(pair[0], pair[1])
		if at == nil {
			return nil
		}
		// Rounding removes floating-point noise: the layers have tenths of a degree.
		all = append(all, hazard.Point{Lon: math.Round(at.Lon*1e6) / 1e6, Lat: math.Round(at.Lat*1e6) / 1e6})
	}
	return all
}

// foreign reports whether a feature has no attribute of the center's layers. Then it comes from
// another source, and must not be ignored like a known layer.
func (s *spot) foreign() bool {
	return s.StormName == "" && s.Basin == "" && s.AdvDate == "" && s.AdvisNum == "" && s.Watch == "" && s.Source == "" && !s.StormNum.Known && !s.Radii.Known
}

// ignored returns the row of the table others for a feature without a report. It is empty for a
// position or a line of a forecast. The kind of layer is at the end of its file name, or follows
// from the feature's attributes.
func (s *spot) ignored() string {
	file := strings.ToLower(s.Source)
	switch {
	case strings.Contains(file, "gtwo"):
		return "outlook"
	case s.Radii.Known:
		return "wind"
	case s.Watch != "":
		return "watch-warning"
	case strings.Contains(file, "_pgn"), s.kind == "Polygon", s.kind == "MultiPolygon":
		return "cone"
	case s.AdvDate == "" && s.AdvisNum == "":
		return "past" // positions and segments of the best track have no advisory
	}
	return ""
}

// finish makes the reports of the forecasts in the layer, one for each storm and advisory. name is
// the name of the document.
func (l *layer) finish(p *parser, name string) {
	for _, draw := range l.later {
		if reason := draw(name); reason != "" {
			p.Reject(lenient.At("shape"), nil, reason)
		}
	}
	l.drawn.finish(p)
	type forecast struct {
		id    string
		spots []spot
	}
	var all []*forecast
	byName := map[string]*forecast{}
	for _, s := range l.features {
		f, reason := s.fix(name)
		if reason != "" {
			p.Reject(lenient.At(s.where), s.raw, reason)
			continue
		}
		key := fmt.Sprint(f.id, f.issued, advisoryNumber(f.advisory), s.kind == "Point")
		if byName[key] == nil {
			byName[key] = &forecast{id: f.id}
			all = append(all, byName[key])
		}
		byName[key].spots = append(byName[key].spots, s)
	}
	for _, f := range all {
		p.Further += len(f.spots) - 1
		from := formLine
		if f.spots[0].kind == "Point" {
			from = formPoints
		}
		slices.SortFunc(f.spots, func(a, b spot) int {
			return cmp.Or(cmp.Compare(a.Tau.Value, b.Tau.Value), bytes.Compare(a.raw, b.raw))
		})
		if from == formLine {
			f.spots = f.spots[:1] // one line is the whole track
		}
		// The attributes of the first position are those of the storm.
		now, _ := f.spots[0].fix(name)
		for _, s := range f.spots {
			now.track = append(now.track, s.track...)
		}
		reason := ""
		if tau := f.spots[0].Tau; from == formPoints && tau.Value != 0 {
			reason = "tau: " + tau.Said() + " at the earliest, expected the position at the time of the advisory, 0"
		} else {
			reason = p.add(now, from)
		}
		if reason != "" {
			p.Reject(lenient.At(f.id), f.spots[0].raw, reason)
		}
	}
}

var (
	anyATCF = regexp.MustCompile(`(?i)(?:^|[^a-z])((?:al|ep|cp)\d{2}20\d{2})(?:\D|$)`)
	local   = regexp.MustCompile(`^(\d{1,2})(\d{2}) (AM|PM) ([A-Z]{2,4}) [A-Za-z]{3} ([A-Za-z]{3}) (\d{1,2}) (\d{4})$`)
)

// zones are the time zones in the center's products, in hours east of UTC.
var zones = map[string]int{"UTC": 0, "GMT": 0, "CVT": -1, "ADT": -3, "AST": -4, "EDT": -4, "EST": -5, "CDT": -5, "CST": -6, "MDT": -6,
	"MST": -7, "PDT": -7, "PST": -8, "HST": -10, "SST": -11}

// localTime parses "500 PM HST Fri Aug 21 2026".
func localTime(s string) (hazard.Instant, bool) {
	m := local.FindStringSubmatch(strings.Join(strings.Fields(lenient.Clip(s, 100)), " "))
	if m == nil {
		return 0, false
	}
	zone, ok := zones[m[4]]
	t, err := time.Parse("3:04 PM Jan 2 2006", m[1]+":"+m[2]+" "+m[3]+" "+m[5]+" "+m[6]+" "+m[7])
	if !ok || err != nil {
		return 0, false
	}
	return hazard.At(t.Add(-time.Duration(zone) * time.Hour)), true
}

// fix returns the state of a storm in a feature.
func (s *spot) fix(name string) (f fix, reason string) {
	f = fix{advisory: s.AdvisNum, wind: s.MaxWind, gusts: s.Gust, pressure: s.MSLP, point: &s.track[0]}
	var ok bool
	if f.issued, ok = localTime(s.AdvDate); !ok {
		return f, "advdate: " + cmp.Or(lenient.ExcerptText(s.AdvDate), lenient.Nothing) + ", expected a time such as 500 PM HST Fri Aug 21 2026"
	}
	for _, text := range []string{s.Source, name} {
		if m := anyATCF.FindStringSubmatch(text); m != nil && f.id == "" {
			f.id = atcfID(m[1])
		}
	}
	if n := s.StormNum; f.id == "" && n.Known && n.Value >= 1 && n.Value <= 99 {
		f.id = atcfID(strings.TrimSpace(s.Basin) + pad(int(n.Value)) + strconv.Itoa(f.issued.Time().Year()))
	}
	if f.id == "" {
		return f, "idp_source: " + cmp.Or(lenient.ExcerptText(s.Source), lenient.Nothing) + ", expected an ATCF identity in it, or basin and stormnum"
	}
	words, rest := classOfWords(s.StormName)
	if f.class, f.name = words, rest; words == nil {
		f.class = classOfCode(s.StormType)
	}
	if f.class == nil {
		f.notes = append(f.notes, "stormtype: "+cmp.Or(lenient.ExcerptText(s.StormType), lenient.Nothing)+", expected a class such as TS")
	}
	return f, ""
}

func pad(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}
