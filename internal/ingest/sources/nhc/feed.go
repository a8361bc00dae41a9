package nhc

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/geo/shapefile"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// maxBytes bounds a payload. A storm has 4 kB in the list; an RSS with all texts of five storms has 200 kB.
const maxBytes = 8 << 20

const site = "https://www.nhc.noaa.gov/"

// storm is a storm in CurrentStorms.json (nhc.noaa.gov/productexamples, "Tropical Cyclone Data in
// JSON"). Numbers may be strings. Members without a field here, or a row in the table of links, are
// not read.
type storm struct {
	// ID is the ATCF identity, "al062026": basin al, ep or cp, number within the year, year. It
	// stays the same when the storm gets a name, or moves to another basin.
	ID string `json:"id"`
	// BinNumber is a slot for its products ("AT1"), which is reused for another storm later.
	BinNumber string `json:"binNumber"`
	// Name is the storm's name, or its number in words until it has one ("Two", "Two-C").
	Name string `json:"name"`
	// Classification is TD, TS, HU, STD, STS, PTC (post-tropical, or remnants), PC (potential), TY.
	Classification string         `json:"classification"`
	Intensity      lenient.Number `json:"intensity"` // the highest wind over one minute, in kt
	Pressure       lenient.Number `json:"pressure"`  // hPa
	// Latitude and Longitude are "30.3N" and "172.0W"; the other two are the same as signed
	// numbers.
	Latitude         string         `json:"latitude"`
	Longitude        string         `json:"longitude"`
	LatitudeNumeric  lenient.Number `json:"latitudeNumeric"`
	LongitudeNumeric lenient.Number `json:"longitudeNumeric"`
	MovementDir      lenient.Number `json:"movementDir"` // direction of its movement in degrees; null if it does not move
	// LastUpdate is the nominal hour of the last advisory, some minutes after it was made.
	LastUpdate string `json:"lastUpdate"`
}

// document is a product of a storm in the list. Each has its own advisory number, because some may
// be older than others.
type document struct {
	// AdvNum is the number of the advisory as text: intermediate ones have a letter ("14A").
	AdvNum     string `json:"advNum"`
	Issuance   string `json:"issuance"` // nominal hour
	FileUpdate string `json:"fileUpdateTime"`
	URL        string `json:"url"`
	KMZ        string `json:"kmzFile"`
	Zip        string `json:"zipFile"`
}

// link is a row of the table of links: a product of the list for people, and which of its addresses
// to use.
type link struct {
	member, key, title string
	address            func(*document) string
}

func page(d *document) string  { return d.URL }
func kmz(d *document) string   { return d.KMZ }
func shape(d *document) string { return d.Zip }

// links are in order of importance for responders.
var links = []link{
	{"publicAdvisory", "public-advisory", "Public advisory", page},
	{"forecastDiscussion", "forecast-discussion", "Forecast discussion", page},
	{"forecastGraphics", "graphics", "Graphics", page},
	{"forecastAdvisory", "forecast-advisory", "Forecast/advisory", page},
	{"windSpeedProbabilities", "wind-probabilities", "Wind speed probabilities", page},
	{"windWatchesWarnings", "watches-warnings", "Wind watches and warnings (KMZ)", kmz},
	{"stormSurgeWatchWarningGIS", "surge-watches-warnings", "Storm surge watches and warnings (KMZ)", kmz},
	{"trackCone", "cone", "Forecast cone (KMZ)", kmz},
	{"forecastTrack", "track", "Forecast track (KMZ)", kmz},
	{"forecastTrack", "track-shape", "Forecast track, cone, watches and warnings (shapefile)", shape},
	{"initialWindExtent", "wind-extent", "Wind extent (KMZ)", kmz},
	{"bestTrackGIS", "best-track", "Track so far (KMZ)", kmz},
}

// Parse reads a list of storms, an RSS (or a single item of one), the text of a forecast/advisory,
// a GeoJSON layer, or an archive of layers as shapefiles. It recognizes them by their beginning and
// their members. Documents and features in the table others are ignored, for the reason in the
// table.
//
// The error, if any, is a *source.PayloadError. The Batch still contains the part before the error.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := parser{now: now, Batch: lenient.Batch{
		ID: func(raw []byte) string { return atcfID(lenient.Word(lenient.Member(raw, "id"))) },
		Events: func(record string, _ []byte) []string {
			if id := atcfID(record); id != "" {
				return []string{strings.ToLower(id)}
			}
			return nil
		},
	}}
	err := p.document(payload)
	p.Whole = p.whole && err == nil
	return p.Done(), err
}

type parser struct {
	lenient.Batch
	now   hazard.Instant
	whole bool // this is a list that was read to its end
}

// document reads a document according to its kind.
func (p *parser) document(payload []byte) error {
	if shapefile.IsArchive(payload) {
		return p.archive(payload)
	}
	doc, err := lenient.JSON(payload)
	if err != nil {
		return err
	}
	c := lenient.Cursor{Doc: doc}
	switch c.Next() {
	case '{':
		return p.json(doc)
	case lenient.End:
		return source.Errorf("an empty payload, expected a list of storms")
	case '<':
		return p.xml(doc)
	}
	return p.text(doc)
}

var list = lenient.Collection{Want: "storms", Lists: []string{"activeStorms", "features"}, Heads: append([]string{"type", "name"}, lenient.Complaints...)}

// json reads a list of storms, or GeoJSON.
func (p *parser) json(payload []byte) error {
	var layer layer
	doc, err := list.Read(payload, func(where func() string, raw []byte) {
		if strings.HasPrefix(where(), "features/") {
			layer.read(p, raw, where())
		} else {
			p.storm(where, raw)
		}
	})
	isLayer := doc.Listed == "features" && doc.Word("type") == "FeatureCollection"
	switch {
	case err != nil:
		return err // a forecast that was cut off is ignored, because its track would be too short
	case isLayer && layer.foreign > 0 && layer.foreign == p.Batch.Read:
		n := layer.foreign
		p.Clear()
		return source.Errorf("properties: none of a layer of the centre in all of %d features, expected stormnum, advisnum, basin, radii, tcww or idp_source", n)
	case isLayer:
		layer.finish(p, doc.Word("name"))
		return nil
	case doc.Listed == "activeStorms":
		p.whole = true
		return nil
	case doc.Head["activeStorms"] != nil:
		return source.Errorf("activeStorms: %s, expected an array", lenient.Excerpt(doc.Head["activeStorms"]))
	}
	p.Clear()
	if complaint := doc.Complaint(); complaint != "" {
		return source.Errorf("an error message instead of storms: %s", complaint)
	}
	return source.Errorf("activeStorms: missing, expected an array")
}

// storm reads a storm in the list.
func (p *parser) storm(where func() string, raw []byte) {
	s, notes := lenient.Read[storm](&p.Batch, where, raw)
	if s == nil {
		return
	}
	f, reason := s.fix(p.now)
	if reason == "" {
		f.documents = map[string]document{}
		for _, l := range links {
			var d document
			if raw := jsontext.Value(lenient.Member(raw, l.member)); raw != nil && raw.Kind() != 'n' {
				faults, err := lenient.Decode(raw, &d)
				if err != nil {
					faults = append(faults, lenient.Fault(err, raw))
				}
				for _, fault := range faults {
					notes = append(notes, l.member+"/"+fault)
				}
			}
			f.documents[l.member] = d
		}
		f.notes = append(notes, f.notes...)
		if reason = p.add(f, formList); reason == "" {
			p.cone(f.documents["trackCone"])
		}
	}
	if reason != "" {
		p.Reject(where, raw, append(notes, reason)...)
	}
}

// cone adds a link to the archive with the cone's shapefile. The cone is not available elsewhere,
// except in the map service.
func (p *parser) cone(d document) {
	u := lenient.WebAddress(d.Zip)
	if u == "" {
		return
	}
	l := source.Link{URL: u}
	if at, ok := parseTime(cmp.Or(d.FileUpdate, d.Issuance)); ok {
		l.Updated = &at
	}
	p.Links = append(p.Links, l)
}

// archive reads the shapefiles in an archive. Each is a layer.
func (p *parser) archive(payload []byte) error {
	layers, err := shapefile.Read(payload)
	if err != nil {
		return source.Errorf("an archive of shapefiles: %v", err)
	}
	foreign := 0
	for i := range layers {
		var l layer
		for n, feature := range layers[i].Features {
			l.read(p, feature, fmt.Sprintf("%s/%d", layers[i].Name, n))
		}
		foreign += l.foreign
		l.finish(p, layers[i].Name)
	}
	if foreign > 0 && foreign == p.Batch.Read {
		p.Clear()
		return source.Errorf("none of a layer of the center in all of %d features of an archive of shapefiles", foreign)
	}
	return nil
}

// fix returns the state of a storm in the list.
func (s *storm) fix(now hazard.Instant) (f fix, reason string) {
	f = fix{id: atcfID(s.ID), name: s.Name, class: classOfCode(s.Classification), wind: s.Intensity, pressure: s.Pressure}
	if f.id == "" {
		return f, "id: " + cmp.Or(lenient.ExcerptText(s.ID), lenient.Nothing) + ", expected an ATCF identity such as al062026"
	}
	var ok bool
	if f.issued, ok = parseTime(s.LastUpdate); !ok {
		f.notes = append(f.notes, "lastUpdate: "+cmp.Or(lenient.ExcerptText(s.LastUpdate), lenient.Nothing)+", expected a time of ISO 8601")
		f.issued = now
	}
	if f.class == nil {
		f.notes = append(f.notes, "classification: "+cmp.Or(lenient.ExcerptText(s.Classification), lenient.Nothing)+", expected TD, TS, HU, STD, STS, PTC, PC or TY")
	}
	signed := onEarth(s.LongitudeNumeric, s.LatitudeNumeric)
	written := onEarth(lettered(s.Longitude, "EW"), lettered(s.Latitude, "NS"))
	switch {
	case signed == nil && written == nil:
		return f, fmt.Sprintf("longitudeNumeric, latitudeNumeric: %s, %s, expected a position", s.LongitudeNumeric.Said(), s.LatitudeNumeric.Said())
	case signed == nil:
		signed = written
	case written != nil && !near(signed, written):
		f.doubts = append(f.doubts, fmt.Sprintf("longitudeNumeric, latitudeNumeric: %s, %s, expected the position of longitude and latitude, %s, %s",
			s.LongitudeNumeric.Said(), s.LatitudeNumeric.Said(), lenient.ExcerptText(s.Longitude), lenient.ExcerptText(s.Latitude)))
	}
	f.point = signed
	if d := s.MovementDir; d.Known && d.Value >= 0 && d.Value <= 360 {
		f.movement = compass(d.Value) // the unit of movementSpeed is not documented
	}
	return f, ""
}
