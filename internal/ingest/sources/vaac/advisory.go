package vaac

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

const (
	// life is how long an advisory is valid if it does not say when the next one is due: they are
	// issued every six hours (Annex 3).
	life = 12 * time.Hour
	// late is how late the next advisory may be (our judgment).
	late = 3 * time.Hour
	// maxDays is how many days before or after an advisory its ash may be observed or expected.
	maxDays = 3
	// maxText bounds the part of a payload that is read, in bytes; a text has 2 kB.
	maxText = 1 << 20
)

// begins matches the beginning of each advisory, and fields its members, in capitals and with white
// space replaced by single blanks.
var (
	begins = regexp.MustCompile(`\bVA ADVISORY\b`)
	fields = regexp.MustCompile(`\b(STATUS|DTG|VAAC|VOLCANO|PSN|AREA|SUMMIT ELEV|SOURCE ELEV|ADVISORY NR|INFO SOURCE|AVIATION COLOU?R CODE|ERUPTION DETAILS|` +
		`(?:OBS|EST) VA DTG|(?:OBS|EST) VA CLD|FCST VA CLD ?\+ ?\d{1,2} ?HR|RMK|NXT ADVISORY) ?:`)
	// next matches the last member of an advisory. heading matches the text that may stand between
	// advisories, or after the last one.
	next    = regexp.MustCompile(`\bNXT ADVISORY ?: ?(?:NO FURTHER ADVISORIES|[A-Z ]{0,40}\d{8}/\d{4}Z)`)
	heading = regexp.MustCompile(`^[ =.]*(?:FV[A-Z]{2}\d{2} [A-Z]{4} \d{6})?[ =.]*$`)

	dateForm   = regexp.MustCompile(`\b(\d{8}/\d{4})Z`)
	dayForm    = regexp.MustCompile(`^(\d{2})/([01]\d|2[0-3])([0-5]\d)Z`)
	volcano    = regexp.MustCompile(`^([A-Z][A-Z0-9'()., /-]{0,60}?) (\d{6})\b`)
	coordinate = regexp.MustCompile(`\b([NS])(\d{2})(\d{2}) ?([EW])(\d{3})(\d{2})\b`)
	layer      = regexp.MustCompile(`\b(?:SFC|FL ?\d{3}) ?/ ?(?:FL ?)?\d{3}\b`)
	number     = regexp.MustCompile(`\d+`)
	colors     = regexp.MustCompile(`^(GREEN|YELLOW|ORANGE|RED)\b`)
)

// text reads the advisories in a text.
func (p *parser) text(doc string) error {
	cut := len(doc) > maxText
	text := strings.ToUpper(strings.Join(strings.Fields(hazard.Clean(doc[:min(len(doc), maxText)])), " "))
	at := begins.FindAllStringIndex(text, -1)
	if at == nil {
		return source.Errorf("%s, expected a list of files or VA ADVISORY", lenient.Excerpt([]byte(doc)))
	}
	whole := false
	for i, a := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		one, rest := text[a[1]:end], ""
		last := next.FindStringIndex(one)
		if whole = last != nil; whole {
			one, rest = one[:last[1]], one[last[1]:]
			whole = strings.Trim(rest, " =.") == "" // otherwise the text was cut off
		}
		p.advisory(fmt.Sprintf("advisories/%d", i), one)
		if !heading.MatchString(rest) {
			p.Batch.Read++
			p.Reject(lenient.At(fmt.Sprintf("advisories/%d, after it", i)), []byte(rest), "no beginning: expected VA ADVISORY")
		}
	}
	if cut || !whole {
		return &source.PayloadError{Reason: "the text ends early, before NXT ADVISORY and a time, or NO FURTHER ADVISORIES", Cut: true}
	}
	return nil
}

// advisory reads one advisory.
func (p *parser) advisory(where, text string) {
	p.Batch.Read++
	values := map[string]string{}
	at := fields.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		name := strings.Replace(text[m[2]:m[3]], "COLOR", "COLOUR", 1)
		if _, twice := values[name]; !twice {
			values[name] = strings.TrimSpace(text[m[1]:end])
		}
	}
	r, shapes, reason := p.report(values)
	switch {
	case reason != "":
		p.Decline(lenient.At(cmp.Or(values["ADVISORY NR"], where)), []byte(text), reason)
	default:
		p.Reports = append(p.Reports, *r)
		p.Drawings = append(p.Drawings, source.Drawing{Key: r.Key, Part: "ash", Version: r.Version, Shapes: shapes})
	}
}

// report returns the report of an advisory, and the shapes of its ash. If it cannot, it returns the
// reason. It returns nil without a reason for a test.
func (p *parser) report(fields map[string]string) (r *hazard.Report, shapes []hazard.Shape, reason string) {
	issued, ok := date(fields["DTG"])
	if !ok {
		return nil, nil, fmt.Sprintf("DTG: %q, expected a time such as 20180223/0214Z", lenient.ExcerptText(fields["DTG"]))
	}
	v := volcano.FindStringSubmatch(fields["VOLCANO"])
	if v == nil {
		return nil, nil, fmt.Sprintf("VOLCANO: %q, expected a name and a number of six digits", lenient.ExcerptText(fields["VOLCANO"]))
	}
	category := hazard.Event
	switch status := fields["STATUS"]; {
	case strings.HasPrefix(status, "TEST"):
		return nil, nil, source.Ignoring + "a test (STATUS)"
	case strings.HasPrefix(status, "EXER"):
		category = hazard.Exercise
	}
	called := title(v[1])
	country := title(fields["AREA"])
	r = &hazard.Report{
		Source: Name, Key: v[2], Part: weekOf(issued), Version: int64(issued), Type: hazard.Volcano, Severity: hazard.Information, Category: category, Start: issued,
		Renewed: &issued, LifeMS: life.Milliseconds(), Name: "Volcanic Ash - " + lenient.Joined(", ", called, country), Called: called,
		Refs: []string{"gvp:" + v[2]}, URL: "https://volcano.si.edu/volcano.cfm?vn=" + v[2],
		Comment: Name + ":" + lenient.Joined(" ", title(fields["VAAC"]), fields["ADVISORY NR"]), Creator: lenient.Joined(" ", "VAAC", title(fields["VAAC"])),
		Description: description(fields, issued),
	}
	if c := coordinate.FindStringSubmatch(fields["PSN"]); c != nil {
		lon, lat := position(c)
		r.Point = seismic.Position(lenient.Number{Value: lon, Known: true}, lenient.Number{Value: lat, Known: true})
	}
	if r.Point == nil && fields["PSN"] != "" {
		source.Note(r, fmt.Sprintf("PSN: %q, expected a position such as N1428 W09052", lenient.ExcerptText(fields["PSN"])))
	}
	if c := colors.FindString(fields["AVIATION COLOUR CODE"]); c != "" {
		source.Rate(r, hazard.AviationColor, strings.ToLower(c))
	}
	switch after := fields["NXT ADVISORY"]; {
	case strings.HasPrefix(after, "NO FURTHER ADVISORIES"):
		r.End = &issued
	default:
		if due, ok := date(after); ok && due > issued && due < issued.Add(48*time.Hour) {
			r.End = new(due.Add(late))
		}
	}
	if issued > p.now.Add(seismic.Skew) {
		r.Suspect = fmt.Sprintf("DTG: %v is in the future", issued)
	}
	for _, observed := range []string{"OBS", "EST"} {
		from := issued
		if at, ok := day(fields[observed+" VA DTG"], issued); ok {
			from = at
		}
		shapes = append(shapes, clouds(r, fields[observed+" VA CLD"], from, false)...)
	}
	for _, name := range sortedForecasts(fields) {
		if at, ok := day(fields[name], issued); ok {
			shapes = append(shapes, clouds(r, fields[name], at, true)...)
		}
	}
	return r, shapes, ""
}

// weekOf returns the week of an advisory. Advisories of a week are one part, so that an eruption
// that lasts for years has few parts, and begins with the first week.
func weekOf(issued hazard.Instant) string {
	year, week := issued.Time().ISOWeek()
	return fmt.Sprintf("%d-W%02d", year, week)
}

// sortedForecasts returns the names of the fields with forecasts of the ash, earliest hour first.
func sortedForecasts(fields map[string]string) (names []string) {
	for name := range fields {
		if strings.HasPrefix(name, "FCST") {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		x, _ := strconv.Atoi(number.FindString(a))
		y, _ := strconv.Atoi(number.FindString(b))
		return x - y
	})
	return names
}

// maxClouds bounds the clouds in one field.
const maxClouds = 20

// clouds returns the polygons of a field. Each follows the layer of the atmosphere that it belongs
// to.
func clouds(r *hazard.Report, text string, at hazard.Instant, forecast bool) (shapes []hazard.Shape) {
	layers := layer.FindAllStringIndex(text, maxClouds)
	for i, l := range layers {
		end := len(text)
		if i+1 < len(layers) {
			end = layers[i+1][0]
		}
		ring := ringOf(coordinate.FindAllStringSubmatch(text[l[1]:end], 100))
		if ring == "" {
			continue
		}
		s, err := geo.ParseLoose([]byte(`{"type":"Polygon","coordinates":[[` + ring + `]]}`))
		if err != nil || s.IsZero() {
			source.Note(r, fmt.Sprintf("the ash in %s: not a polygon", text[l[0]:l[1]]))
			continue
		}
		shapes = append(shapes, hazard.Shape{Role: hazard.AshShape, From: at, To: at, Forecast: forecast, Label: "Ash " + text[l[0]:l[1]], Geometry: s.GeoJSON()})
	}
	return shapes
}

// ringOf returns a closed ring of positions in JSON, or "" if there are fewer than three.
// Longitudes continue across the antimeridian.
func ringOf(points [][]string) string {
	var ring []string
	first, before := 0.0, 0.0
	for i, c := range points {
		lon, lat := position(c)
		if math.Abs(lon) > 180 || math.Abs(lat) > 90 {
			return ""
		}
		if i == 0 {
			first = lon
		} else {
			for lon-before > 180 {
				lon -= 360
			}
			for before-lon > 180 {
				lon += 360
			}
		}
		before = lon
		if text := fmt.Sprintf("[%.4f,%.4f]", lon, lat); len(ring) == 0 || ring[len(ring)-1] != text {
			ring = append(ring, text)
		}
	}
	if len(ring) > 1 && ring[len(ring)-1] != ring[0] {
		ring = append(ring, ring[0])
	}
	if len(ring) < 4 || math.Abs(before-first) > 180 {
		return ""
	}
	return strings.Join(ring, ",")
}

// position returns a position in degrees. It is given in degrees and minutes: "N1428 W09052".
func position(c []string) (lon, lat float64) {
	value := func(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v }
	lat, lon = value(c[2])+value(c[3])/60, value(c[5])+value(c[6])/60
	if c[1] == "S" {
		lat = -lat
	}
	if c[4] == "W" {
		lon = -lon
	}
	return lon, lat
}

// date returns the first time in a text such as "20180223/0214Z".
func date(text string) (hazard.Instant, bool) {
	m := dateForm.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	t, err := time.Parse("20060102/1504", m[1])
	return hazard.At(t), err == nil
}

// day parses the time at the beginning of a text, such as "22/0815Z". It returns the nearest such
// time to near, at most maxDays away.
func day(text string, near hazard.Instant) (at hazard.Instant, ok bool) {
	m := dayForm.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	const days = 24 * time.Hour
	at, ok = lenient.Near(m[1], m[2], m[3], near)
	return at, ok && at.Time().Truncate(days).Sub(near.Time().Truncate(days)).Abs() <= maxDays*days
}

// title converts a name in capitals to normal case.
func title(name string) string { return lenient.Clip(lenient.Readable(name), 80) }

// description describes the advisory in words.
func description(fields map[string]string, issued hazard.Instant) string {
	var b strings.Builder
	for _, f := range []struct{ field, what string }{
		{"ERUPTION DETAILS", "Eruption"}, {"OBS VA CLD", "Ash observed"}, {"EST VA CLD", "Ash estimated"}, {"AVIATION COLOUR CODE", "Aviation color code"},
		{"SUMMIT ELEV", "Summit"}, {"INFO SOURCE", "Sources"}, {"RMK", "Remarks"}, {"NXT ADVISORY", "Next advisory"},
	} {
		if text := fields[f.field]; text != "" {
			b.WriteString(f.what + ": " + text + "\n")
		}
	}
	fmt.Fprintf(&b, "An advisory for aviation; it says nothing of the danger on the ground. Issued %s UTC.", issued.Time().Format("2006-01-02 15:04"))
	return hazard.Clean(b.String())
}
