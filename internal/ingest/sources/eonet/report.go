package eonet

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cyclone"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// row is a row of the mapping table, for one category.
type row struct {
	category string
	typ      hazard.Type // empty if it is not a hazard
	word     string      // the common word for it, put before a title without it
	severity hazard.Severity
	// From the magnitude great (in unit), the event is a WATCH. It is never higher, because EONET
	// contains the strength of events, not their impact on people.
	great float64
	unit  string
	// moves means that the positions are a path, not corrections of one place.
	moves bool
	life  time.Duration // counted from the last position
	basis string
}

const day = 24 * time.Hour

// rows is the mapping table. Categories are as in eonet.gsfc.nasa.gov/api/v3/categories. Levels and
// lives are our judgment: in EONET, only a storm of hurricane force and a fire of 10,000 acres
// surely affect many people.
var rows = []row{
	{category: "drought", typ: hazard.Drought, word: "Drought", severity: hazard.Information, life: 30 * day,
		basis: "renewed by the decade of days in the registers that EONET follows"},
	{category: "dustHaze", typ: hazard.Occurrence, word: "Dust and haze", severity: hazard.Information, life: day,
		basis: "seen by satellite, day by day"},
	{category: "earthquakes", typ: hazard.Earthquake, word: "Earthquake", severity: hazard.Information, life: day,
		basis: "the seismological services say how strong; EONET adds that it was one"},
	{category: "floods", typ: hazard.Flood, word: "Flood", severity: hazard.Information, life: 2 * day,
		basis: "no measure is given"},
	{category: "landslides", typ: hazard.Landslide, word: "Landslide", severity: hazard.Information, life: 36 * time.Hour,
		basis: "no measure is given"},
	{category: "manmade", typ: hazard.ManMade, word: "Man-made event", severity: hazard.Information, life: day,
		basis: "no measure is given"},
	{category: "seaLakeIce",
		basis: "icebergs and sea ice: no danger to people on land; 395 of 471 recorded features"},
	{category: "severeStorms", typ: hazard.Storm, word: "Storm", severity: hazard.Advisory, great: 64, unit: "kts", moves: true, life: day,
		basis: "a cyclone when one of its sources follows cyclones (report.go, isCyclone), then by its wind (package cyclone); 64 kt: hurricane force"},
	{category: "snow", typ: hazard.WinterStorm, word: "Snow", severity: hazard.Information, life: 12 * time.Hour,
		basis: "no measure is given"},
	{category: "tempExtremes", typ: hazard.ExtremeTemperature, word: "Extreme temperature", severity: hazard.Information, life: day,
		basis: "no measure is given"},
	{category: "volcanoes", typ: hazard.Volcano, word: "Volcano", severity: hazard.Advisory, life: 8 * day,
		basis: "follows the weekly report of the Smithsonian Institution: a week and a day"},
	{category: "waterColor",
		basis: "algae and sediment: seen, and no hazard by itself"},
	{category: "wildfires", typ: hazard.Wildfire, word: "Wildfire", severity: hazard.Advisory, great: 10_000, unit: "acres", life: 7 * day,
		basis: "follows incident reports; prescribed fires are none (isPrescribed)"},
}

// other is for a category that is not in the table: if it has a place, it is shown.
var other = row{typ: hazard.Occurrence, word: "Event", severity: hazard.Information, life: day, basis: "judgement: nobody knows what it is"}

// row returns the row of the first category that has one.
func (f *facts) row() *row {
	for _, c := range f.Categories {
		for i := range rows {
			if strings.EqualFold(rows[i].category, strings.TrimSpace(c.ID)) {
				return &rows[i]
			}
		}
	}
	return nil
}

// none reports whether the event is not a hazard by the table.
func (f *facts) none() bool {
	r := f.row()
	return r != nil && (r.typ == "" || r.typ == hazard.Wildfire && isPrescribed(f.Title))
}

// isPrescribed reports whether a fire was set on purpose by land managers: "Prescribed Fire D2 Dye
// RX, Coconino, Arizona". RX marks such fires in the register, but a title that begins with
// Wildfire has precedence.
func isPrescribed(title string) bool {
	title = strings.ToLower(lenient.Clip(title, maxTitle))
	words := strings.FieldsFunc(title, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.Contains(words, "prescribed") || slices.Contains(words, "rx") && !strings.HasPrefix(title, "wildfire")
}

// isCyclone reports whether one of the event's sources tracks tropical cyclones: JTWC and NHC, or
// GDACS with a TC.
func isCyclone(f *facts, refs []string) bool {
	for _, s := range f.Sources {
		if id := strings.ToUpper(strings.TrimSpace(s.ID)); id == "JTWC" || id == "NOAA_NHC" {
			return true
		}
	}
	return slices.ContainsFunc(refs, func(r string) bool { return strings.HasPrefix(r, "atcf:") || strings.HasPrefix(r, "gdacs:TC") })
}

// position is the position of an event at one time.
type position struct {
	at    hazard.Instant
	point *hazard.Point // nil for an area
	area  string        // in GeoJSON
	mag   Magnitude
}

// add reads a position; where is the prefix of its members' names in notes. Faults become notes.
func (g *gathered) add(where, kind string, coordinates jsontext.Value, date string, mag Magnitude) {
	bad := func(member, found, expected string) {
		g.note(where + member + ": " + cmp.Or(found, lenient.Nothing) + ", expected " + expected)
	}
	p := position{mag: Magnitude{mag.Value, lenient.Clip(hazard.CleanLine(lenient.Clip(mag.Unit, maxTitle)), 20)}}
	if kind == "Polygon" || kind == "MultiPolygon" {
		shape, err := geo.ParseLoose(slices.Concat([]byte(`{"type":"`+kind+`","coordinates":`), orNull(coordinates), []byte("}")))
		if err != nil {
			bad("coordinates", lenient.ExcerptText(err.Error()), "a "+kind)
			return
		}
		p.area = shape.GeoJSON()
	} else {
		if kind != "Point" {
			bad("type", lenient.ExcerptText(kind), "Point or Polygon")
		}
		var lonLat []lenient.Number
		if err := json.Unmarshal(orNull(coordinates), &lonLat, lenient.Options); err != nil || len(lonLat) < 2 {
			bad("coordinates", lenient.Excerpt(coordinates), "longitude and latitude")
			return
		}
		if p.point = onEarth(lonLat[0], lonLat[1]); p.point == nil {
			bad("coordinates", lenient.Excerpt(coordinates), "a longitude from -180 to 180 and a latitude from -90 to 90")
			return
		}
	}
	var ok bool
	if p.at, ok = parseTime(date); !ok {
		bad("date", lenient.ExcerptText(date), "a time of ISO 8601")
		g.undated = append(g.undated, p)
		return
	}
	g.positions = append(g.positions, p)
}

// onEarth returns the point of a longitude and a latitude, or nil if they are invalid. Longitudes
// may continue beyond the antimeridian. If latitude and longitude are obviously swapped, it
// corrects them.
func onEarth(lon, lat lenient.Number) *hazard.Point {
	if !lon.Known || !lat.Known {
		return nil
	}
	x, y := lon.Value, lat.Value
	if math.Abs(y) > 90 && math.Abs(x) <= 90 {
		x, y = y, x
	}
	x = geo.Wrap(x)
	if math.Abs(y) > 90 || math.Abs(x) > 180 {
		return nil
	}
	return &hazard.Point{Lon: x, Lat: y}
}

// sorted returns the positions in order of time, without duplicates. Duplicates occur if an event
// has both lines and points.
func (g *gathered) sorted() []position {
	slices.SortFunc(g.positions, func(a, b position) int {
		return cmp.Or(cmp.Compare(a.at, b.at), comparePoints(a.point, b.point), cmp.Compare(a.area, b.area),
			-cmp.Compare(a.mag.Value.Value, b.mag.Value.Value), cmp.Compare(a.mag.Unit, b.mag.Unit))
	})
	return slices.CompactFunc(g.positions, func(a, b position) bool {
		return a.at == b.at && a.area == b.area && comparePoints(a.point, b.point) == 0
	})
}

func comparePoints(a, b *hazard.Point) int {
	if a == nil || b == nil {
		return cmp.Compare(btoi(a != nil), btoi(b != nil))
	}
	return cmp.Or(cmp.Compare(a.Lon, b.Lon), cmp.Compare(a.Lat, b.Lat))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// skew is how far in the future a date may be: most are only days, and a day begins earlier in
// other time zones.
const skew = day

// earliest is a time before all events in EONET. An older date has a wrong year.
var earliest = hazard.At(time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC))

// report returns the report of an event, or nil if it is not a hazard. reason says why an event is
// rejected.
func (g *gathered) report(now hazard.Instant) (r *hazard.Report, reason string) {
	if g.none() {
		if g.row().typ == "" {
			return nil, source.Ignoring + "a category that is not a hazard"
		}
		return nil, source.Ignoring + "a prescribed fire, lit on purpose"
	}
	row := g.row()
	if row == nil {
		var ids []string
		for _, c := range g.Categories {
			ids = append(ids, c.ID)
		}
		g.note("categories: " + cmp.Or(lenient.ExcerptText(strings.Join(ids, ", ")), lenient.Nothing) + ", expected a category of EONET version 3")
		row = &other
	}
	if len(g.positions) == 0 { // use the undated ones as of now
		for _, p := range g.undated {
			p.at = now
			g.positions = append(g.positions, p)
		}
	}
	positions := g.sorted()
	if len(positions) == 0 {
		return nil, "geometry: no position that can be read, expected one at least"
	}
	first, last := positions[0], positions[len(positions)-1]
	mag := latestMagnitude(positions, row.unit)
	refs := refs(g.ID, g.Sources)
	typ, severity := g.level(row, mag, refs)
	name, called, level := g.names(row)
	r = &hazard.Report{
		Source:   Name,
		Key:      g.ID,
		Version:  int64(last.at),
		Name:     name,
		Type:     typ,
		Severity: severity,
		Category: hazard.Event,
		Start:    first.at,
		LifeMS:   row.life.Milliseconds(),
		Point:    last.point,
		Areas:    areas(positions, row.moves),
		Refs:     refs,
		Called:   called,
		Level:    level,
		URL:      api + "/" + g.ID,
		Comment:  Name + ":" + g.ID,
		Creator:  "NASA EONET",
	}
	if last.at > first.at {
		r.Renewed = &last.at
	}
	if m, ok := measures[strings.ToLower(mag.Unit)]; ok {
		source.Measure(r, m.quantity, mag.Value.Value*m.factor, mag.Value.Known && (m.only == "" || m.only == typ))
	}
	if at := strings.LastIndexAny(g.Title, ",-"); at >= 0 && typ != hazard.Cyclone { // "Etna Volcano, Italy", "W of Chico, California - United States"
		source.InCountries(r, []string{g.Title[at+1:]})
	}
	r.Suspect = strings.Join(append(g.close(r, last.at, now), g.doubts(r, first, last, now)...), "; ")
	r.Description = g.description(positions, mag)
	r.Products = g.products(r)
	return r, ""
}

// measures are the units of EONET's magnitudes, in lower case, and what they measure.
var measures = map[string]struct {
	quantity hazard.Quantity
	factor   float64
	only     hazard.Type // empty for any
}{
	"kts":     {quantity: hazard.Wind, factor: source.KmhPerKnot},
	"acres":   {quantity: hazard.BurntArea, factor: source.HaPerAcre, only: hazard.Wildfire},
	"hectare": {quantity: hazard.BurntArea, factor: 1, only: hazard.Wildfire},
}

// level returns the type and the level of an event, by its row of the mapping table and its
// magnitude.
func (g *gathered) level(row *row, mag Magnitude, refs []string) (hazard.Type, hazard.Severity) {
	typ := row.typ
	if typ == hazard.Storm && isCyclone(&g.facts, refs) {
		typ = hazard.Cyclone
	}
	switch {
	case typ == hazard.Cyclone && mag.Value.Known:
		return typ, cyclone.Level(mag.Value.Value)
	case row.great > 0 && mag.Value.Known && mag.Value.Value >= row.great:
		return typ, hazard.Watch
	}
	return typ, row.severity
}

// close ends a report if EONET has closed the event. It returns what is doubtful about that.
func (g *gathered) close(r *hazard.Report, last, now hazard.Instant) (doubts []string) {
	if g.Closed == "" {
		return nil
	}
	closed, ok := parseTime(g.Closed)
	if !ok {
		g.note("closed: " + lenient.ExcerptText(g.Closed) + ", expected a time of ISO 8601, or null")
		return nil
	}
	if closed > now.Add(skew) {
		doubts = append(doubts, fmt.Sprintf("closed: %v is in the future", closed))
	}
	// The event ended at its last position at the latest. A closed event also contains more than
	// the open one with the same position, so its version is higher.
	r.Ended, r.Version = hazard.EndAllClear, int64(max(closed, last))+1
	return doubts
}

// doubts returns why a readable report must be held until somebody has checked it.
func (g *gathered) doubts(r *hazard.Report, first, last position, now hazard.Instant) (why []string) {
	if last.at > now.Add(skew) {
		why = append(why, fmt.Sprintf("geometry: the date %v is in the future", last.at))
	}
	if first.at < earliest {
		why = append(why, fmt.Sprintf("geometry: the date %v is before all that EONET holds", first.at))
	}
	if r.Point != nil && *r.Point == (hazard.Point{}) {
		why = append(why, "no place: geometry/coordinates are 0, 0")
	}
	if w := seismic.NotReal(lenient.Clip(g.Title, maxTitle)); w != "" {
		why = append(why, fmt.Sprintf("title says %s: %s", w, lenient.ExcerptText(g.Title)))
	}
	return why
}

// latestMagnitude returns the last known magnitude, preferably in unit.
func latestMagnitude(positions []position, unit string) (m Magnitude) {
	for _, p := range positions {
		if p.mag.Value.Known && (unit == "" || strings.EqualFold(p.mag.Unit, unit)) {
			m = p.mag
		}
	}
	return m
}

// maxTrack bounds the positions of a drawn track; later positions have precedence. The longest
// recorded storm has 22, the longest storm ever about 150.
const maxTrack = 2000

// areas returns the last area, and the track if the event moves.
func areas(positions []position, moves bool) []hazard.Area {
	var all []hazard.Area
	for _, p := range slices.Backward(positions) {
		if p.area != "" {
			all = append(all, hazard.Area{Role: hazard.ImpactArea, Geometry: p.area})
			break
		}
	}
	if !moves {
		return all
	}
	var b strings.Builder
	b.WriteString(`{"type":"LineString","coordinates":[`)
	n := 0
	var before hazard.Point
	for _, p := range positions[max(0, len(positions)-maxTrack):] {
		if p.point == nil || n > 0 && *p.point == before {
			continue
		}
		if n > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "[%v,%v]", p.point.Lon, p.point.Lat)
		before = *p.point
		n++
	}
	b.WriteString("]}")
	if n < 2 {
		return all
	}
	line, err := geo.ParseLoose([]byte(b.String())) // splits it at the antimeridian
	if err != nil {
		return all
	}
	return append(all, hazard.Area{Role: hazard.TrackArea, Geometry: line.GeoJSON()})
}

// maxTitle bounds a title, in bytes. The longest recorded one has 76.
const maxTitle = 300

// maxWords bounds a description, in bytes.
const maxWords = 4000

// storms matches the words before a storm's name. Longer words come before those that they contain.
var storms = regexp.MustCompile(`(?i)^((?:severe |intense |very intense |super |sub|post-|extra|potential )?(?:tropical )?(?:super )?(?:typhoon|hurricane|cyclone|cyclonic storm|storm|depression))\s+(.+)$`)

var (
	fireOf    = regexp.MustCompile(`(?i)^(.*\S)\s+(?:wild)?fires?$`)
	fireIn    = regexp.MustCompile(`(?i)\(([^()]*\S)\s+fire\)`)
	wildfires = regexp.MustCompile(`(?i)^wildfires?(?:\s+(-|in\b|near\b)?\s*(.*))?$`)
	volcanoOf = regexp.MustCompile(`(?i)^(.*\S)\s+volcano(?:,\s*(.*))?$`)
)

// names returns the name of the event, its proper name if it has one, and the word for its level.
func (g *gathered) names(row *row) (name, called, level string) {
	title := lenient.Clip(strings.Trim(hazard.CleanLine(lenient.Clip(g.Title, maxTitle)), " ,;-"), maxTitle)
	switch {
	case title == "":
		return row.word, "", ""
	case row.typ == hazard.Storm:
		if m := storms.FindStringSubmatch(title); m != nil {
			level = m[1]
			if !strings.ContainsAny(m[2], "0123456789") { // a number in place of a name: "Tropical Cyclone 01S"
				called = m[2]
			}
		}
		return title, called, level
	case row.typ == hazard.Volcano:
		if m := volcanoOf.FindStringSubmatch(title); m != nil {
			return "Volcano - " + strings.TrimSuffix(m[1]+", "+m[2], ", "), m[1], ""
		}
		return "Volcano - " + title, "", ""
	case row.typ == hazard.Wildfire:
		name, called = fireNames(title)
		return name, called, ""
	case strings.HasPrefix(strings.ToLower(title), strings.ToLower(row.word)):
		return title, "", ""
	}
	return row.word + " - " + title, "", ""
}

// fireNames parses the titles of fires: "Wildfires - Place (Name Fire), Country", "Wildfire Name,
// County, State", "Name Wildfire, County, State", "Name Fire".
func fireNames(title string) (name, called string) {
	where := title
	m := wildfires.FindStringSubmatch(title)
	switch {
	case m != nil && m[2] == "":
		return "Wildfire", ""
	case m != nil && m[1] != "":
		where = m[2]
		if in := fireIn.FindStringSubmatch(where); in != nil {
			called = in[1]
		}
	case m != nil:
		where = m[2]
		called, _, _ = strings.Cut(where, ",")
	default:
		head, rest, _ := strings.Cut(title, ",")
		if of := fireOf.FindStringSubmatch(strings.TrimSpace(head)); of != nil {
			called = of[1]
			if strings.HasSuffix(strings.ToLower(head), "wildfire") {
				where = strings.TrimSuffix(called+", "+strings.TrimSpace(rest), ", ")
			}
		}
	}
	return "Wildfire - " + where, strings.TrimSpace(called)
}

// description describes what is known, one line for each fact.
func (g *gathered) description(positions []position, mag Magnitude) string {
	var b strings.Builder
	if text := plainText(g.Description); text != "" {
		b.WriteString(text + "\n")
	}
	last := positions[len(positions)-1]
	if last.point != nil {
		fmt.Fprintf(&b, "Last position: %s, %s", degrees(last.point.Lat, "N", "S"), degrees(last.point.Lon, "E", "W"))
	} else {
		b.WriteString("Last area")
	}
	fmt.Fprintf(&b, " at %s UTC", last.at.Time().Format("2006-01-02 15:04"))
	if len(positions) > 1 {
		fmt.Fprintf(&b, ", of %d since %s", len(positions), positions[0].at.Time().Format("2006-01-02"))
	}
	b.WriteString(".\n")
	if mag.Value.Known {
		fmt.Fprintf(&b, "%s: %s", measured(mag.Unit), strconv.FormatFloat(mag.Value.Value, 'f', -1, 64))
		if mag.Unit != "" {
			b.WriteString(" " + mag.Unit)
		}
		b.WriteString(".\n")
	}
	if closed, ok := parseTime(g.Closed); ok {
		fmt.Fprintf(&b, "EONET closed it as of %s.\n", closed.Time().Format("2006-01-02"))
	}
	b.WriteString("Gathered by NASA EONET")
	if names := g.sourceNames(); len(names) > 0 {
		b.WriteString(" from " + strings.Join(names, ", "))
	}
	b.WriteString(".")
	return b.String()
}

// measured returns the quantity that EONET measures in unit.
func measured(unit string) string {
	switch strings.ToLower(unit) {
	case "kts":
		return "Wind"
	case "acres", "hectare", "nm^2":
		return "Size"
	}
	return "Magnitude"
}

func degrees(d float64, positive, negative string) string {
	side := positive
	if d < 0 {
		side = negative
	}
	return strconv.FormatFloat(math.Round(math.Abs(d)*100)/100, 'f', -1, 64) + " " + side
}

// sourceTitles are the common names of EONET's sources (eonet.gsfc.nasa.gov/api/v3/sources). Other
// sources keep their id.
var sourceTitles = map[string]string{
	"AVO": "Alaska Volcano Observatory", "BCWILDFIRE": "British Columbia Wildfire Service", "CALFIRE": "CAL FIRE",
	"CEMS": "Copernicus Emergency Management Service", "EO": "NASA Earth Observatory", "GLIDE": "GLIDE",
	"IDC": "International Charter Space and Major Disasters", "IRWIN": "IRWIN wildfire incidents", "JTWC": "Joint Typhoon Warning Center",
	"MBFIRE": "Manitoba Wildfire Program", "NASA_DISP": "NASA Disasters Program", "NOAA_NHC": "National Hurricane Center",
	"PDC": "Pacific Disaster Center", "SIVolcano": "Smithsonian Global Volcanism Program", "USGS_EHP": "USGS Earthquake Hazards Program",
}

// title returns the common name of the source.
func (r *reference) title() string {
	id := lenient.Clip(hazard.CleanLine(lenient.Clip(r.ID, maxTitle)), 60)
	return cmp.Or(sourceTitles[id], id, "Source")
}

// sourceNames returns the titles of the sources, each once.
func (g *gathered) sourceNames() []string {
	var names []string
	for i := range g.Sources {
		if name := g.Sources[i].title(); !slices.Contains(names, name) && len(names) < maxRefs {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// products returns the pages of the event and of its sources, in EONET's folder.
func (g *gathered) products(r *hazard.Report) []hazard.ReportProduct {
	tree := []hazard.ReportProduct{
		{Key: Name, Title: "NASA EONET", Type: hazard.FolderProduct, Time: r.Start},
		{Key: "event", Parent: Name, Title: "Event record (JSON)", Type: hazard.URLProduct, Data: r.URL, Time: r.Start},
	}
	var pages []hazard.ReportProduct
	for i := range g.Sources {
		u := address(g.Sources[i].URL)
		if u == nil || len(pages) >= maxRefs {
			continue
		}
		sum := fnv.New64a()
		sum.Write([]byte(u.String()))
		key := fmt.Sprintf("source/%016x", sum.Sum64()) // different addresses are different pages
		if slices.ContainsFunc(pages, func(p hazard.ReportProduct) bool { return p.Key == key }) {
			continue
		}
		pages = append(pages, hazard.ReportProduct{Key: key, Parent: Name, Title: g.Sources[i].title(), Type: hazard.URLProduct, Data: u.String(), Time: r.Start})
	}
	slices.SortFunc(pages, func(a, b hazard.ReportProduct) int {
		return cmp.Or(cmp.Compare(a.Title, b.Title), cmp.Compare(a.Data, b.Data))
	})
	return append(tree, pages...)
}

// eventID returns s if it is an id of EONET, otherwise "".
func eventID(s string) string {
	s = strings.TrimSpace(s)
	if !likeID.MatchString(s) {
		return ""
	}
	return strings.ToUpper(s)
}

var likeID = regexp.MustCompile(`(?i)^EONET_\d{1,12}$`)

// parseTime parses an ISO 8601 time. Without a zone it is in UTC; a date means its first moment.
func parseTime(s string) (hazard.Instant, bool) {
	if _, err := time.Parse(time.DateOnly, strings.TrimSpace(s)); err == nil {
		s = strings.TrimSpace(s) + "T00:00:00Z"
	}
	at, _, err := lenient.Time(s, nil)
	return at, err == nil
}

// orNull returns raw, or null if it is empty.
func orNull(raw jsontext.Value) jsontext.Value {
	if len(raw) == 0 {
		return jsontext.Value("null")
	}
	return raw
}
