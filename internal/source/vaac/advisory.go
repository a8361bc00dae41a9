package vaac

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/frame"
	"github.com/hazardd/hazardd/internal/source/seismic"
)

const (
	// life is how long an advisory holds that does not say when the next one is due: they come every six hours (Annex 3).
	life = 12 * time.Hour
	// late is how long after it was due the next one may come (judgement).
	late = 3 * time.Hour
	// mostDays is how many days before or after an advisory the ash of which it tells may be seen or expected.
	mostDays = 3
	// maxText bounds what is read of a payload, in bytes; a text has 2 kB.
	maxText = 1 << 20
)

// begins is what each advisory begins with, and fields are its members, with white space as one blank and in capitals.
var (
	begins = regexp.MustCompile(`\bVA ADVISORY\b`)
	fields = regexp.MustCompile(`\b(STATUS|DTG|VAAC|VOLCANO|PSN|AREA|SUMMIT ELEV|SOURCE ELEV|ADVISORY NR|INFO SOURCE|AVIATION COLOU?R CODE|ERUPTION DETAILS|` +
		`(?:OBS|EST) VA DTG|(?:OBS|EST) VA CLD|FCST VA CLD ?\+ ?\d{1,2} ?HR|RMK|NXT ADVISORY) ?:`)
	// next is the last member of an advisory, and heading what stands before the next one, and may stand after any.
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

// text reads the advisories of a text.
func (p *parser) text(doc string) error {
	cut := len(doc) > maxText
	text := strings.ToUpper(strings.Join(strings.Fields(hazard.Clean(doc[:min(len(doc), maxText)])), " "))
	at := begins.FindAllStringIndex(text, -1)
	if at == nil {
		return source.Errorf("%s, expected a list of files or VA ADVISORY", frame.Excerpt([]byte(doc)))
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
			whole = strings.Trim(rest, " =.") == "" // or more was to come
		}
		p.advisory(fmt.Sprintf("advisories/%d", i), one)
		if !heading.MatchString(rest) {
			p.Batch.Read++
			p.Reject(frame.At(fmt.Sprintf("advisories/%d, after it", i)), []byte(rest), "no beginning: expected VA ADVISORY")
		}
	}
	if cut || !whole {
		return &source.PayloadError{Reason: "the text ends early, before NXT ADVISORY and a time, or NO FURTHER ADVISORIES", Cut: true}
	}
	return nil
}

// advisory reads one.
func (p *parser) advisory(where, text string) {
	p.Batch.Read++
	said := map[string]string{}
	at := fields.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		name := strings.Replace(text[m[2]:m[3]], "COLOR", "COLOUR", 1)
		if _, twice := said[name]; !twice {
			said[name] = strings.TrimSpace(text[m[1]:end])
		}
	}
	r, shapes, reason := p.report(said)
	switch {
	case reason != "":
		p.Reject(frame.At(where), []byte(text), reason)
	case r == nil:
		p.Ignored++
	default:
		p.Reports = append(p.Reports, *r)
		p.Drawings = append(p.Drawings, source.Drawing{Key: r.Key, Part: "ash", Version: r.Version, Shapes: shapes})
	}
}

// report makes a report of an advisory, and the shapes of its ash. It says why, if it cannot; nil without a reason is a test.
func (p *parser) report(said map[string]string) (r *hazard.Report, shapes []hazard.Shape, reason string) {
	issued, ok := date(said["DTG"])
	if !ok {
		return nil, nil, fmt.Sprintf("DTG: %q, expected a time such as 20180223/0214Z", frame.ExcerptText(said["DTG"]))
	}
	v := volcano.FindStringSubmatch(said["VOLCANO"])
	if v == nil {
		return nil, nil, fmt.Sprintf("VOLCANO: %q, expected a name and a number of six digits", frame.ExcerptText(said["VOLCANO"]))
	}
	category := hazard.Event
	switch status := said["STATUS"]; {
	case strings.HasPrefix(status, "TEST"):
		return nil, nil, ""
	case strings.HasPrefix(status, "EXER"):
		category = hazard.Exercise
	}
	called := title(v[1])
	country := title(said["AREA"])
	r = &hazard.Report{
		Source: Name, Key: v[2], Part: weekOf(issued), Version: int64(issued), Type: hazard.Volcano, Severity: hazard.Information, Category: category, Start: issued,
		Renewed: &issued, LifeMS: life.Milliseconds(), Name: "Volcanic Ash - " + frame.Joined(", ", called, country), Called: called,
		Refs: []string{"gvp:" + v[2]}, URL: "https://volcano.si.edu/volcano.cfm?vn=" + v[2],
		Comment: Name + ":" + frame.Joined(" ", title(said["VAAC"]), said["ADVISORY NR"]), Creator: frame.Joined(" ", "VAAC", title(said["VAAC"])),
		Description: description(said, issued),
	}
	if c := coordinate.FindStringSubmatch(said["PSN"]); c != nil {
		lon, lat := position(c)
		r.Point = seismic.Position(frame.Number{Value: lon, Known: true}, frame.Number{Value: lat, Known: true})
	}
	if r.Point == nil && said["PSN"] != "" {
		source.Note(r, fmt.Sprintf("PSN: %q, expected a position such as N1428 W09052", frame.ExcerptText(said["PSN"])))
	}
	if c := colors.FindString(said["AVIATION COLOUR CODE"]); c != "" {
		source.Rate(r, hazard.AviationColor, strings.ToLower(c))
	}
	switch after := said["NXT ADVISORY"]; {
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
		if at, ok := day(said[observed+" VA DTG"], issued); ok {
			from = at
		}
		shapes = append(shapes, clouds(r, said[observed+" VA CLD"], from, false)...)
	}
	for _, name := range sortedForecasts(said) {
		if at, ok := day(said[name], issued); ok {
			shapes = append(shapes, clouds(r, said[name], at, true)...)
		}
	}
	return r, shapes, ""
}

// weekOf names the week of an advisory. Those of a week are one part, so that what goes on for years has few, and began when its first week did.
func weekOf(issued hazard.Instant) string {
	year, week := issued.Time().ISOWeek()
	return fmt.Sprintf("%d-W%02d", year, week)
}

// sortedForecasts are the names of the fields that tell where the ash will be, the first hour first.
func sortedForecasts(said map[string]string) (names []string) {
	for name := range said {
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

// maxClouds bounds the clouds of one field.
const maxClouds = 20

// clouds are the polygons of a field, each after the layer of the air that it is in.
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

// ringOf is a closed ring of positions in JSON, which runs on over the antimeridian; empty if there are not three.
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

// position is a position in degrees: "N1428 W09052" is in degrees and minutes.
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

// date reads the first "20180223/0214Z" of a text.
func date(text string) (hazard.Instant, bool) {
	m := dateForm.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	t, err := time.Parse("20060102/1504", m[1])
	return hazard.At(t), err == nil
}

// day reads the "22/0815Z" that a text begins with, as the such time that is nearest to another, at most mostDays apart.
func day(text string, near hazard.Instant) (at hazard.Instant, ok bool) {
	m := dayForm.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	const days = 24 * time.Hour
	at, ok = frame.Near(m[1], m[2], m[3], near)
	return at, ok && at.Time().Truncate(days).Sub(near.Time().Truncate(days)).Abs() <= mostDays*days
}

// title is a name in capitals as names are written.
func title(name string) string { return frame.Clip(frame.Readable(name), 80) }

// description is what the advisory says in words.
func description(said map[string]string, issued hazard.Instant) string {
	var b strings.Builder
	for _, f := range []struct{ field, what string }{
		{"ERUPTION DETAILS", "Eruption"}, {"OBS VA CLD", "Ash observed"}, {"EST VA CLD", "Ash estimated"}, {"AVIATION COLOUR CODE", "Aviation color code"},
		{"SUMMIT ELEV", "Summit"}, {"INFO SOURCE", "Sources"}, {"RMK", "Remarks"}, {"NXT ADVISORY", "Next advisory"},
	} {
		if text := said[f.field]; text != "" {
			b.WriteString(f.what + ": " + text + "\n")
		}
	}
	fmt.Fprintf(&b, "An advisory for aviation; it says nothing of the danger on the ground. Issued %s UTC.", issued.Time().Format("2006-01-02 15:04"))
	return hazard.Clean(b.String())
}
