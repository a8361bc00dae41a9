package emsc

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// kind is a row of the table of event types.
type kind struct {
	code  string // second letter of evtype, or the whole evtype if it has two letters
	quake bool
	words string
}

// kinds are the types of the ISF bulletin format: how certain (k known, s suspected; f felt and d
// damaging are older), and what (isc.ac.uk/iscbulletin/search/catalogue/csvoutput; Storchak et al.
// 2012, Nomenclature of Event Types, written with EMSC). Only events with the code of an earthquake
// are earthquakes.
var kinds = []kind{
	{"e", true, "earthquake"},
	{"i", false, "induced event"},
	{"r", false, "rock burst"},
	{"m", false, "mine explosion"},
	{"h", false, "chemical explosion"},
	{"x", false, "experimental explosion"},
	{"n", false, "nuclear explosion"},
	{"ls", false, "landslide"},
}

// kindOf returns the row of an evtype, or nil if the table has none, as for "uk", unknown.
func kindOf(evtype string) *kind {
	evtype = strings.ToLower(strings.TrimSpace(evtype))
	for i := range kinds {
		k := &kinds[i]
		if len(evtype) == 2 && (k.code == evtype || k.code == evtype[1:] && strings.ContainsRune("ksfd", rune(evtype[0]))) {
			return k
		}
	}
	return nil
}

// catalogue is a row of the table of other networks' catalogs: the scheme of references to their
// ids.
type catalogue struct{ name, scheme string }

// catalogues lists the values of source_catalog, the catalog that source_id belongs to. All
// recorded ones are the center's own, "EMSC-RTS"; the others are those whose ids another source
// here uses.
var catalogues = []catalogue{
	{"USGS", "usgs"}, {"NEIC", "usgs"}, {"ANSS", "usgs"}, {"COMCAT", "usgs"},
}

const ownCatalogue = "EMSC-RTS"

// farFrom is the largest distance, in degrees, between the two positions of one record.
const farFrom = 0.1

// report converts a feature. If it cannot, it returns the reason.
func (f *feature) report(now hazard.Instant) (*hazard.Report, string) {
	p := &f.Properties
	key, reason := f.key()
	if reason != "" {
		return nil, reason
	}
	start, note, err := lenient.Time(p.Time, nil)
	if err != nil {
		return nil, "properties/time: " + err.Error()
	}
	var notes []string
	if note != "" {
		notes = append(notes, "properties/time: "+note)
	}
	updated, _, err := lenient.Time(p.LastUpdate, nil)
	switch {
	case err != nil:
		notes = append(notes, "properties/lastupdate: "+err.Error())
		updated = now
	case updated > now.Add(seismic.Skew):
		notes = append(notes, fmt.Sprintf("properties/lastupdate: %v is in the future", updated))
		updated = now
	}
	k := kindOf(p.EvType)
	point, doubt, reason := f.point()
	withdrawn := k != nil && !k.quake
	if reason != "" && !withdrawn {
		return nil, reason
	}
	if k == nil {
		notes = append(notes, fmt.Sprintf("properties/evtype: %s, expected the code of a kind of event such as ke", cmp.Or(lenient.ExcerptText(p.EvType), lenient.Nothing)))
	}
	q := seismic.Quake{Magnitude: p.Mag, Kind: strings.ToLower(p.MagType), Depth: f.depth(), Place: readable(p.Region), At: point}
	l := q.Level()
	r := &hazard.Report{
		Source:      Name,
		Key:         key,
		Version:     int64(updated),
		Name:        q.Name(),
		Description: p.description(&q, key, start),
		Type:        hazard.Earthquake,
		Severity:    l.Severity,
		Category:    hazard.Event,
		Start:       start,
		LifeMS:      l.Life.Milliseconds(),
		Minor:       l.Minor,
		Point:       point,
		Refs:        p.refs(key),
		URL:         portal + key,
		Comment:     Name + ":" + key,
		Creator:     "EMSC",
	}
	source.Note(r, notes...)
	q.Measure(r)
	if withdrawn { // an event that turns out to be a blast is not an earthquake, and is withdrawn
		r.Minor, r.Ended = true, hazard.EndWithdrawn
		return r, ""
	}
	why := q.Doubts("properties/time", start, "properties/lastupdate", updated, now)
	if doubt != "" {
		why = append([]string{doubt}, why...)
	}
	if w := seismic.NotReal(lenient.Clip(p.Region, 4*maxPlace)); w != "" {
		why = append(why, fmt.Sprintf("properties/flynn_region says %s: %s", w, lenient.ExcerptText(p.Region)))
	}
	r.Suspect = strings.Join(why, "; ")
	r.Products = p.products(r)
	return r, ""
}

// unidForm matches the portal's present ids. Older ones have other forms.
var unidForm = regexp.MustCompile(`^\d{8}_\d{7}$`)

// key returns the unid, which is the same as the id. If one of them is invalid, it returns the
// other.
func (f *feature) key() (key, reason string) {
	unid, id := eventID(f.Properties.UNID), eventID(f.ID)
	switch {
	case unid == "" && id == "":
		return "", fmt.Sprintf("properties/unid: %s, expected an id of at most %d letters and digits", cmp.Or(lenient.ExcerptText(f.Properties.UNID), lenient.Nothing), maxID)
	case unid == "" || unid != id && unidForm.MatchString(id) && !unidForm.MatchString(unid):
		return id, ""
	case id == "" || id == unid || unidForm.MatchString(unid) && !unidForm.MatchString(id):
		return unid, ""
	}
	return "", fmt.Sprintf("properties/unid: %s, expected the id of the record, %s", lenient.ExcerptText(f.Properties.UNID), id)
}

// maxID bounds an id. The recorded ones have 16 characters.
const maxID = 64

// eventID returns s if it has the form of the portal's ids, otherwise "".
func eventID(s string) string {
	if !seismic.IsCode(s, maxID) {
		return ""
	}
	return s
}

// point returns the position of the earthquake. The record contains it twice, which shows a fault
// in one of them. doubt says that the two differ, fault why there is no position at all.
func (f *feature) point() (at *hazard.Point, doubt, fault string) {
	written := seismic.Position(f.Properties.Lon, f.Properties.Lat)
	c := f.Geometry.Coordinates
	if f.Geometry.Type != "Point" || len(c) < 2 || !c[0].Known || !c[1].Known {
		if written != nil {
			return written, "", ""
		}
		return nil, "", fmt.Sprintf("geometry: %s with %d coordinates, expected a Point with longitude and latitude", cmp.Or(lenient.ExcerptText(f.Geometry.Type), lenient.Nothing), len(c))
	}
	drawn := seismic.Position(c[0], c[1])
	switch {
	case drawn == nil && written == nil:
		return nil, "", fmt.Sprintf("geometry/coordinates: %s, %s, expected a longitude and a latitude", c[0].Said(), c[1].Said())
	case drawn == nil:
		return written, "", ""
	case written == nil || near(drawn, written):
		return drawn, "", ""
	case math.Abs(c[0].Value) > 180 && math.Abs(f.Properties.Lon.Value) <= 180: // one of them has an unusual longitude
		return written, "", ""
	case math.Abs(f.Properties.Lon.Value) > 180 && math.Abs(c[0].Value) <= 180:
		return drawn, "", ""
	case near(&hazard.Point{Lon: drawn.Lat, Lat: drawn.Lon}, written): // latitude and longitude of one were swapped
		return written, "", ""
	}
	return drawn, fmt.Sprintf("geometry/coordinates: %s, %s, expected the position of properties/lon and lat, %s, %s",
		c[0].Said(), c[1].Said(), f.Properties.Lon.Said(), f.Properties.Lat.Said()), ""
}

func near(a, b *hazard.Point) bool {
	x := math.Abs(a.Lon - b.Lon)
	return min(x, 360-x) <= farFrom && math.Abs(a.Lat-b.Lat) <= farFrom
}

// depth returns the depth in km below sea level.
func (f *feature) depth() lenient.Number {
	if f.Properties.Depth.Known {
		return f.Properties.Depth
	}
	if c := f.Geometry.Coordinates; len(c) > 2 && c[2].Known {
		return lenient.Number{Value: -c[2].Value, Known: true}
	}
	return lenient.Number{}
}

// refs returns the names of the event: the center's own, and that of another network whose solution
// was adopted.
func (p *properties) refs(key string) []string {
	all := []string{Name + ":" + key}
	for _, c := range catalogues {
		id := strings.ToLower(eventID(p.SourceID))
		// A number without letters is not an id of such a network: their ids begin with letters.
		if strings.EqualFold(strings.TrimSpace(p.SourceCatalog), c.name) && strings.IndexFunc(id, unicode.IsLetter) == 0 {
			all = append(all, c.scheme+":"+id)
		}
	}
	return all
}

// maxPlace bounds the text for a place, in bytes. The longest recorded one has 33.
const maxPlace = 200

// small are the words in names of regions that are written in lowercase.
var small = []string{"of", "the", "and", "off", "near", "in", "to", "coast", "region", "border", "reg", "offshore"}

// readable converts a region's name in capitals to normal case: "Near the coast of Western Turkey".
func readable(region string) string {
	region = lenient.Clip(strings.Trim(hazard.CleanLine(lenient.Clip(region, 4*maxPlace)), " ,;-"), maxPlace)
	if region != strings.ToUpper(region) {
		return region
	}
	var b strings.Builder
	b.Grow(len(region))
	for i, w := range strings.FieldsFunc(region, func(r rune) bool { return r == ' ' }) {
		w = strings.ToLower(w)
		if i > 0 {
			b.WriteByte(' ')
		}
		if i > 0 && slices.Contains(small, strings.Trim(w, ",.")) {
			b.WriteString(w)
			continue
		}
		begins := true
		for j, r := range w {
			// O'Higgins, Sak'art'velo, U.S., Turkey-Iran: after an apostrophe, a capital follows
			// only if one letter precedes it.
			if begins {
				r = unicode.ToTitle(r)
			}
			begins = r == '-' || r == '.' || r == '(' || r == '/' || r == '\'' && j == 1
			b.WriteRune(r)
		}
	}
	return b.String()
}

// description describes what is known, one line for each fact.
func (p *properties) description(q *seismic.Quake, key string, start hazard.Instant) string {
	var b strings.Builder
	q.Describe(&b, start)
	if k := kindOf(p.EvType); k != nil && strings.HasPrefix(strings.ToLower(strings.TrimSpace(p.EvType)), "s") {
		b.WriteString("Suspected, not confirmed, to be an earthquake.\n")
	}
	b.WriteString("Reported by EMSC")
	if auth := lenient.Clip(hazard.CleanLine(p.Auth), maxID); auth != "" && auth != "EMSC" {
		b.WriteString(" with the solution of " + auth)
	}
	b.WriteString(" as " + key + ".")
	return b.String()
}

// portal and page are the addresses of the two pages of an event, before its unid and its number.
const (
	portal = "https://www.seismicportal.eu/eventdetails.html?unid="
	page   = "https://www.emsc-csem.org/Earthquake_information/earthquake.php?id="
)

// products returns the pages of an event, in the folder of the source.
func (p *properties) products(r *hazard.Report) []hazard.ReportProduct {
	tree := []hazard.ReportProduct{
		{Key: Name, Title: "EMSC", Type: hazard.FolderProduct, Time: r.Start},
		{Key: "event", Parent: Name, Title: "Event page", Type: hazard.URLProduct, Data: r.URL, Time: r.Start},
	}
	if id := p.SourceID; p.SourceCatalog == ownCatalogue && isNumber(id) {
		tree = append(tree, hazard.ReportProduct{Key: "information", Parent: Name, Title: "Earthquake information and felt reports",
			Type: hazard.URLProduct, Data: page + id, Time: r.Start})
	}
	return tree
}

func isNumber(s string) bool {
	return s != "" && len(s) <= 12 && strings.Trim(s, "0123456789") == ""
}
