package nhc

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/frame"
)

// maxBytes bounds a payload. A storm has 4 kB in the list; an RSS with all texts of five storms has 200 kB.
const maxBytes = 8 << 20

const site = "https://www.nhc.noaa.gov/"

// storm is a storm of CurrentStorms.json (nhc.noaa.gov/productexamples, "Tropical Cyclone Data in JSON"). Numbers come as strings and as
// numbers. Members that are not named here, or in the table of links, are not read.
type storm struct {
	// ID is the ATCF identity, "al062026": basin al, ep or cp, number within the year, year. It stays when the storm is named, or
	// goes to another basin.
	ID string `json:"id"`
	// BinNumber is a slot for its products ("AT1"), used again for another storm when this one is over.
	BinNumber string `json:"binNumber"`
	// Name is the storm's name, or its number in words before it has one ("Two", "Two-C").
	Name string `json:"name"`
	// Classification is TD, TS, HU, STD, STS, PTC (post-tropical, or remnants), PC (potential), TY.
	Classification string       `json:"classification"`
	Intensity      frame.Number `json:"intensity"` // the highest wind over one minute, kt
	Pressure       frame.Number `json:"pressure"`  // hPa
	// Latitude and Longitude are "30.3N" and "172.0W"; the others the same with a sign.
	Latitude         string       `json:"latitude"`
	Longitude        string       `json:"longitude"`
	LatitudeNumeric  frame.Number `json:"latitudeNumeric"`
	LongitudeNumeric frame.Number `json:"longitudeNumeric"`
	MovementDir      frame.Number `json:"movementDir"` // degrees, where it goes; null when it does not move
	// LastUpdate is the nominal hour of the last advisory, some minutes ahead of when it was made.
	LastUpdate string `json:"lastUpdate"`
}

// document is a product of a storm in the list: what it is of, when, and where. Each carries its own advisory number, for they
// may lag behind each other.
type document struct {
	// AdvNum is the number of the advisory, as text: intermediate ones have a letter ("14A").
	AdvNum     string `json:"advNum"`
	Issuance   string `json:"issuance"` // nominal hour
	FileUpdate string `json:"fileUpdateTime"`
	URL        string `json:"url"`
	KMZ        string `json:"kmzFile"`
	Zip        string `json:"zipFile"`
}

// link is a row of the table of links: a product of the list that people may want, and which of its addresses.
type link struct {
	member, key, title string
	address            func(*document) string
}

func page(d *document) string  { return d.URL }
func kmz(d *document) string   { return d.KMZ }
func shape(d *document) string { return d.Zip }

// links are in the order of importance to a responder.
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

// maxRejects bounds the rejects of one payload that are kept one by one.
const maxRejects = 200

// Parse reads a list of storms, an RSS (or a single item of one), the text of a forecast/advisory, or a GeoJSON layer, told apart by
// how they begin and by their members. What the table others names is read and ignored, for the reason that it gives. Storms of a list are read one after the
// other: one that is no JSON, or not of the expected types, makes a Reject, and its neighbours stay.
//
// The error, if any, is a *source.PayloadError. What could be read before it is in the Batch nevertheless.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := parser{now: now}
	err := p.document(bytes.TrimPrefix(payload, []byte("\ufeff")))
	if p.unkept > 0 {
		p.batch.Rejects = append(p.batch.Rejects, source.Reject{
			Record: "storms",
			Reason: fmt.Sprintf("%d further records could not be read", p.unkept),
		})
	}
	p.batch.Whole = p.whole && err == nil
	return p.batch, err
}

type parser struct {
	now    hazard.Instant
	batch  source.Batch
	unkept int  // rejects beyond maxRejects
	whole  bool // a list that was read to its end
}

// document tells what kind of document it is.
func (p *parser) document(doc []byte) error {
	c := frame.Cursor{Doc: doc}
	switch c.Next() {
	case '{':
		return p.json(doc)
	case frame.End:
		return source.Errorf("an empty payload, expected a list of storms")
	case '<':
		return p.xml(doc)
	}
	return p.text(doc)
}

// json reads the outermost object: a list of storms, or GeoJSON.
func (p *parser) json(doc []byte) error {
	c := frame.Cursor{Doc: doc}
	c.Next()
	head := map[string][]byte{}
	listed := false
	var layer layer
	err := c.Members(func(name string) error {
		switch name {
		case "activeStorms", "type", "features", "name", "error", "message", "status", "detail":
		default:
			_, err := c.Value()
			return err
		}
		if _, twice := head[name]; twice {
			return source.Errorf("%s: the member is there twice", name)
		}
		head[name] = nil
		switch {
		case name == "activeStorms" && c.Next() == '[':
			listed = true
			return c.Elements(func(i int, raw []byte) { p.storm(raw, name+"/"+strconv.Itoa(i)) })
		case name == "features" && c.Next() == '[':
			return c.Elements(func(i int, raw []byte) { layer.read(p, raw, name+"/"+strconv.Itoa(i)) })
		}
		raw, err := c.Value()
		head[name] = raw
		return err
	})
	_, features := head["features"]
	kind := frame.Word(head["type"])
	switch {
	case err != nil:
		return err // of a forecast that was cut off nothing is made: its track would be too short
	case features && kind == "FeatureCollection" && layer.foreign > 0 && layer.foreign == p.batch.Read:
		n := layer.foreign
		p.batch, p.unkept = source.Batch{}, 0
		return source.Errorf("properties: none of a layer of the centre in all of %d features, expected stormnum, advisnum, basin, radii, tcww or idp_source", n)
	case features && kind == "FeatureCollection":
		layer.finish(p, frame.Word(head["name"]))
	case listed:
	case head["activeStorms"] != nil:
		return source.Errorf("activeStorms: %s, expected an array", frame.Excerpt(head["activeStorms"]))
	default:
		p.batch = source.Batch{}
		var said []string
		for _, name := range []string{"status", "error", "message", "detail"} {
			if raw, ok := head[name]; ok {
				said = append(said, frame.Excerpt(raw))
			}
		}
		if len(said) > 0 {
			return source.Errorf("an error message instead of storms: %s", strings.Join(said, ", "))
		}
		return source.Errorf("activeStorms: missing, expected an array")
	}
	if c.Next() != frame.End {
		return source.Errorf("%s after the end of the document, at byte %d", frame.Excerpt(doc[c.At:]), c.At)
	}
	p.whole = listed
	return nil
}

// storm reads a storm of the list.
func (p *parser) storm(raw []byte, where string) {
	p.batch.Read++
	var s storm
	if err := frame.UnmarshalObject(raw, &s); err != nil {
		if p.full() {
			p.unkept++
			return
		}
		p.reject(cmp.Or(atcfID(frame.Word(frame.Member(raw, "id"))), where), frame.Fault(err, raw), raw)
		return
	}
	f, reason := s.fix()
	if reason == "" {
		f.documents = map[string]document{}
		for _, l := range links {
			var d document
			if err := jsonObject(frame.Member(raw, l.member), &d); err != nil {
				p.reject(f.id, l.member+"/"+frame.Fault(err, raw), raw)
				continue
			}
			f.documents[l.member] = d
		}
		reason = p.add(f, formList)
	}
	if reason != "" {
		p.reject(cmp.Or(atcfID(s.ID), where), reason, raw)
	}
}

// jsonObject reads an object, or null.
func jsonObject(raw jsontext.Value, to any) error {
	if raw == nil || raw.Kind() == 'n' {
		return nil
	}
	return frame.UnmarshalObject(raw, to)
}

// fix is what the list says of a storm.
func (s *storm) fix() (f fix, reason string) {
	f = fix{id: atcfID(s.ID), name: s.Name, class: classOfCode(s.Classification), wind: s.Intensity, pressure: s.Pressure}
	if f.id == "" {
		return f, "id: " + cmp.Or(frame.ExcerptText(s.ID), frame.Nothing) + ", expected an ATCF identity such as al062026"
	}
	var ok bool
	if f.issued, ok = parseTime(s.LastUpdate); !ok {
		return f, "lastUpdate: " + cmp.Or(frame.ExcerptText(s.LastUpdate), frame.Nothing) + ", expected a time of ISO 8601"
	}
	if f.class == nil {
		f.doubts = append(f.doubts, "classification: "+cmp.Or(frame.ExcerptText(s.Classification), frame.Nothing)+", expected TD, TS, HU, STD, STS, PTC, PC or TY")
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
			s.LongitudeNumeric.Said(), s.LatitudeNumeric.Said(), frame.ExcerptText(s.Longitude), frame.ExcerptText(s.Latitude)))
	}
	f.point = signed
	if d := s.MovementDir; d.Known && d.Value >= 0 && d.Value <= 360 {
		f.movement = compass(d.Value) // the unit of movementSpeed is not said
	}
	return f, ""
}

// full tells whether no more rejects are kept.
func (p *parser) full() bool { return len(p.batch.Rejects) >= maxRejects }

// reject notes a record that could not be read, or is not to be believed.
func (p *parser) reject(record, reason string, raw []byte) {
	if p.full() {
		p.unkept++
		return
	}
	reject := source.Reject{Record: record, Reason: reason, Raw: source.Keep(raw)}
	if id := atcfID(record); id != "" {
		reject.Events = []string{strings.ToLower(id)}
	}
	p.batch.Rejects = append(p.batch.Rejects, reject)
}
