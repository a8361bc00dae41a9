package tsunami

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// maxRows bounds the rows that are read of a table. The longest recorded one has 87.
const maxRows = hazard.MaxShapes

// bulletinForm is the title of a bulletin: "TSUNAMI MESSAGE NUMBER 3", "Tsunami Information Statement Number 1".
var bulletinForm = regexp.MustCompile(`(?im)^[ \t]*(?:[a-z]+ ){0,3}tsunami [a-z ]*number +[0-9]{1,4}[ \t\r]*$`)

// isBulletin reports whether a payload is the text of a bulletin: neither XML nor JSON, with such a title near its beginning.
func isBulletin(payload []byte) bool {
	head := payload[:min(len(payload), 4<<10)]
	return bulletinForm.Match(head) && !strings.HasPrefix(strings.TrimSpace(string(head)), "<") && !strings.HasPrefix(strings.TrimSpace(string(head)), "{")
}

// center is the one whose bulletins are read: only its tables have positions.
const center = "PHEB"

// bulletinOf returns the address of a bulletin of the center, whose path is
// "/events/PHEB/2026/07/28/26209004/1/WEPA40/WEPA40.txt". Messages also name it at hosts that are no
// longer there.
func bulletinOf(address string) (bulletin string, ok bool) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || path.Clean(u.Path) != u.Path || !strings.HasPrefix(u.Path, "/events/"+center+"/") || !strings.HasSuffix(u.Path, ".txt") {
		return "", false
	}
	return (&url.URL{Scheme: "https", Host: "www.tsunami.gov", Path: u.Path}).String(), true
}

// inIndex is a bulletin in an index.
var inIndex = regexp.MustCompile(`<link [^<>]*href="([^"<>]{1,500}\.txt)"`)

// bulletins returns the bulletins that an index names. What a bulletin draws of an unknown event is
// not kept, so the message has its address too (Report.Detail), should it come later.
func bulletins(index []byte, documents []source.Link) (list []source.Link) {
	if len(documents) != 1 { // the index of a center has one entry
		return nil
	}
	for _, m := range inIndex.FindAllSubmatch(index, maxParts) {
		if address, ok := bulletinOf(string(m[1])); ok {
			list = append(list, source.Link{URL: address, ID: documents[0].ID, Updated: documents[0].Updated})
		}
	}
	return list
}

// tables is what is read of a bulletin.
type tables struct {
	issued hazard.Instant
	quake  quake
	// heights holds the forecast heights by the name of a coast, as in the text: "PAPUA NEW GUINEA"
	// → "1 to 3 m".
	heights map[string]string
	lenient.Batch
}

// readBulletin reads the tables of a bulletin of PHEB: when the first wave is expected at which
// place, and what gauges at coasts have measured (User's Guide for the Pacific Tsunami Warning
// Center Enhanced Products, IOC Technical Series 105, section 4). The event is known by the origin
// of its earthquake, since the text does not have its code. All else is in the CAP document.
func readBulletin(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := tables{heights: map[string]string{}}
	text := strings.ReplaceAll(strings.ReplaceAll(string(payload), "\r\n", "\n"), "\t", "        ")
	b.Batch.Read = 1
	if testForm.MatchString(text) {
		b.Ignore("bulletin", "a test of the communication, not a bulletin")
		return b.Done(), nil
	}
	lines := strings.Split(text, "\n")
	parts := sections(lines)
	expected, measured := parts["ESTIMATED TIMES OF ARRIVAL"], parts["TSUNAMI OBSERVATIONS"]
	if expected == nil && measured == nil { // most of them: no wave is expected anywhere
		b.Ignore("bulletin", "the bulletin has no table of arrivals or of measured waves; all else is in its CAP message")
		return b.Done(), nil
	}
	issued, ok := issuedAt(lines)
	if !ok {
		return b.Done(), &source.PayloadError{Reason: "the bulletin has no line with its time of issue, expected one such as 2044 UTC THU APR 28 2016"}
	}
	if b.issued = issued; issued > now.Add(clockSkew) {
		return b.Done(), &source.PayloadError{Reason: fmt.Sprintf("the bulletin was issued at %v, which is in the future", issued)}
	}
	b.readQuake(parts)
	b.readHeights(parts["TSUNAMI THREAT FORECAST"])
	arrivals := b.table(expected, b.arrival)
	gauges := b.table(measured, b.gauge)
	names := b.quake.windows()
	switch {
	case len(arrivals)+len(gauges) == 0:
		b.Ignore("bulletin", "the tables of the bulletin have no place with an arrival or a measured wave")
	case names == nil:
		b.Reject(lenient.At("bulletin"), []byte(text), "PRELIMINARY EARTHQUAKE PARAMETERS: no ORIGIN TIME or no COORDINATES, so it is unknown which event the tables are about")
	}
	for _, name := range names { // the event has one of these names at least
		for _, d := range []source.Drawing{{Part: "arrivals", Shapes: arrivals}, {Part: "gauges", Shapes: gauges}} {
			if d.Key, d.Version = name, int64(issued); len(d.Shapes) > 0 {
				b.Drawings = append(b.Drawings, d)
			}
		}
	}
	return b.Done(), nil
}

// testForm is the headline of a test or an exercise: "...TEST PTWC MONTHLY COMMUNICATION TEST...",
// "...THIS TEST MESSAGE IS ONLY FOR AN EXERCISE...".
var testForm = regexp.MustCompile(`(?im)^\.\.\. ?.*\b(test|exercise)\b`)

// underline is the line below the heading of a section.
var underline = regexp.MustCompile(`^-{5,} *$`)

// sections returns the lines of a bulletin by the heading above them. Lines outside a section are
// left out, so that no other text is taken for a row of a table.
func sections(lines []string) map[string][]string {
	all := map[string][]string{}
	heading := ""
	for i, line := range lines {
		switch {
		case i+1 < len(lines) && underline.MatchString(lines[i+1]) && strings.TrimSpace(line) != "":
			heading, _, _ = strings.Cut(strings.ToUpper(hazard.CleanLine(line)), " - ") // "… - UPDATED", "… - FROM JMA"
			all[heading] = nil
		case strings.HasPrefix(line, "$$"):
			heading = ""
		case heading != "" && !underline.MatchString(line):
			all[heading] = append(all[heading], line)
		}
	}
	return all
}

// issuedAt returns the time of issue, which stands below the name of the center: "2044 UTC THU APR 28 2016".
func issuedAt(lines []string) (hazard.Instant, bool) {
	for _, line := range lines[:min(len(lines), 40)] {
		if t, err := time.Parse("1504 UTC Mon Jan 2 2006", hazard.CleanLine(line)); err == nil {
			return hazard.At(t), true
		}
	}
	return 0, false
}

var (
	originForm   = regexp.MustCompile(`\* +ORIGIN TIME +([0-9]{4} UTC [A-Z]{3} +[0-9]{1,2} [0-9]{4})`)
	positionForm = regexp.MustCompile(`\* +COORDINATES +([0-9]{1,2}\.[0-9]+) (NORTH|SOUTH) +([0-9]{1,3}\.[0-9]+) (EAST|WEST)`)
)

// readQuake reads origin time, to the minute, and place of the earthquake.
func (b *tables) readQuake(parts map[string][]string) {
	text := strings.ToUpper(strings.Join(parts["PRELIMINARY EARTHQUAKE PARAMETERS"], "\n"))
	if m := originForm.FindStringSubmatch(text); m != nil {
		if t, err := time.Parse("1504 UTC Jan 2 2006", hazard.CleanLine(m[1])); err == nil {
			if at := hazard.At(t); at <= b.issued.Add(clockSkew) && at > b.issued.Add(-oldOrigin) {
				b.quake.origin = &at
			}
		}
	}
	if m := positionForm.FindStringSubmatch(text); m != nil {
		if p, ok := position(m[1], m[2], m[3], m[4]); ok {
			b.quake.place = &p
		}
	}
}

// position reads degrees with the first letters of their directions.
func position(lat, ns, lon, ew string) (p hazard.Point, ok bool) {
	y, errY := strconv.ParseFloat(lat, 64)
	x, errX := strconv.ParseFloat(lon, 64)
	if ns[0] == 'S' {
		y = -y
	}
	if ew[0] == 'W' {
		x = -x
	}
	return hazard.Point{Lon: x, Lat: y}, errY == nil && errX == nil && y >= -90 && y <= 90 && x >= -180 && x <= 180
}

var heightForm = regexp.MustCompile(`(?s)^ *TSUNAMI WAVES REACHING (MORE THAN )?([0-9.]+)(?: TO ([0-9.]+))? METERS ABOVE.*?COASTS OF\s(.*)$`)

// readHeights reads how high the waves may be at which coasts, as one item of the list says after
// another: "TSUNAMI WAVES REACHING 1 TO 3 METERS ABOVE THE TIDE LEVEL ARE POSSIBLE ALONG SOME
// COASTS OF CHILE... AND PERU." The item of the highest waves comes first.
func (b *tables) readHeights(lines []string) {
	for item := range strings.SplitSeq(strings.Join(lines, "\n"), "* ") {
		m := heightForm.FindStringSubmatch(strings.ToUpper(item))
		if m == nil {
			continue
		}
		height := m[2] + " m"
		switch {
		case m[3] != "":
			height = m[2] + " to " + m[3] + " m"
		case m[1] != "":
			height = "more than " + height
		}
		for coast := range strings.SplitSeq(hazard.CleanLine(m[4]), "...") {
			coast = strings.TrimPrefix(strings.Trim(coast, " ."), "AND ")
			if _, known := b.heights[coast]; !known {
				b.heights[coast] = height
			}
		}
	}
}

// rowForm is the part of a row that all tables have: a position, and what is before and after it.
var rowForm = regexp.MustCompile(`^ +([^ *].*?) +([0-9]{1,2}\.[0-9])([NS]) +([0-9]{1,3}\.[0-9])([EW]) +(\S.*?) *$`)

// tableForm is the line below the head of a table.
var tableForm = regexp.MustCompile(`^ +-{20,} *$`)

// table makes a shape of each row of a section.
func (b *tables) table(lines []string, read func(row *row) error) (shapes []hazard.Shape) {
	region := -1     // the column where the name of the region begins
	inTable := false // below its head, up to a blank line
	for _, line := range lines {
		if tableForm.MatchString(line) || strings.TrimSpace(line) == "" {
			inTable = tableForm.MatchString(line)
			continue
		}
		if i := strings.Index(line, " REGION "); i >= 0 && strings.Contains(line, "LOCATION") {
			region = i + 1
		}
		m := rowForm.FindStringSubmatchIndex(line)
		if m == nil && inTable {
			b.Reject(lenient.At("row"), []byte(line), "expected a place, its position such as 15.1S 167.3E, and what is told of it")
		}
		if m == nil {
			continue
		}
		group := func(i int) string { return line[m[2*i]:m[2*i+1]] }
		r := row{place: group(1), rest: group(6)}
		if column := region - m[2]; region >= 0 && column > 0 && column < len(r.place) && r.place[column-1] == ' ' {
			r.place, r.region = r.place[:column], hazard.CleanLine(r.place[column:])
		}
		r.place = hazard.CleanLine(r.place)
		at, ok := position(group(2), group(3), group(4), group(5))
		err := error(nil)
		if !ok {
			err = errors.New("position: out of range")
		} else if err = read(&r); err == nil && r.skip {
			continue
		}
		if err != nil {
			b.Reject(lenient.At(r.place), []byte(line), err.Error())
			continue
		}
		if len(shapes) == maxRows {
			b.Reject(lenient.At(r.place), []byte(line), fmt.Sprintf("more than %d rows in a table", maxRows))
			break
		}
		r.shape.Role, r.shape.Geometry = hazard.CoastShape, fmt.Sprintf(`{"type":"Point","coordinates":[%g,%g]}`, at.Lon, at.Lat)
		shapes = append(shapes, r.shape)
	}
	slices.SortStableFunc(shapes, func(a, b hazard.Shape) int { return cmp.Compare(a.From, b.From) })
	return shapes
}

// row is a row of a table: what is before and after its position, and what is made of it.
type row struct {
	place, region, rest string
	shape               hazard.Shape
	skip                bool // not at a coast
}

// arrival reads when the first wave is expected at a place: "1951 04/28", in UTC.
func (b *tables) arrival(r *row) error {
	t, err := time.Parse("1504 01/02", r.rest)
	if err != nil {
		return fmt.Errorf("ETA: %q, expected time and date in UTC, such as 1951 04/28", lenient.ExcerptText(r.rest))
	}
	at, ok := lenient.Near(r.rest[8:], r.rest[:2], r.rest[2:4], b.issued) // the row has no year
	if !ok || at.Time().Month() != t.Month() || max(at, b.issued)-min(at, b.issued) > hazard.Instant(oldOrigin.Milliseconds()) {
		return fmt.Errorf("ETA: %q, expected a time near that of the message, %v", r.rest, b.issued)
	}
	r.shape.From, r.shape.To, r.shape.Forecast = at, at, true
	r.shape.Label = lenient.Joined(", ", place(r.place), place(r.region), b.heights[strings.ToUpper(r.region)])
	return nil
}

// gaugeForm is a measurement: "0218   0.14M/ 0.5FT  70", when in UTC, the height above the tide, and the period in minutes.
var gaugeForm = regexp.MustCompile(`^([0-9]{4})Z? +([0-9]{1,2}\.[0-9]{0,2}) ?M ?/`)

// gauge reads what a gauge has measured. The buoys of the deep ocean (DART) are left out: the few
// centimeters there become a wave of many meters at a coast.
func (b *tables) gauge(r *row) error {
	if strings.HasPrefix(r.place, "DART") {
		r.skip = true
		return nil
	}
	m := gaugeForm.FindStringSubmatch(r.rest)
	if m == nil {
		return fmt.Errorf("measurement: %q, expected the time in UTC and the height, such as 0218 0.14M/ 0.5FT 70", lenient.ExcerptText(r.rest))
	}
	clock, err := time.Parse("1504", m[1])
	if err != nil {
		return fmt.Errorf("time of measure: %q, expected hours and minutes in UTC", m[1])
	}
	issued := b.issued.Time()
	at := time.Date(issued.Year(), issued.Month(), issued.Day(), clock.Hour(), clock.Minute(), 0, 0, time.UTC)
	if at.After(issued) { // the table has no dates: the last such time before the message
		at = at.AddDate(0, 0, -1)
	}
	height, err := strconv.ParseFloat(m[2], 64)
	if err != nil || height > 60 {
		return fmt.Errorf("height: %q m, expected at most 60", m[2]) // the highest known wave of an earthquake at a coast had 40
	}
	r.shape.From, r.shape.To = hazard.At(at), hazard.At(at)
	r.shape.Label = fmt.Sprintf("%s, measured %g m", withCountry(r.place), height)
	return nil
}

// withCountry writes the name of a gauge: "LA LIBERTAD EC" → "La Libertad EC".
func withCountry(name string) string {
	if i := strings.LastIndexByte(name, ' '); i > 0 && len(name)-i-1 == 2 {
		return place(name[:i]) + name[i:]
	}
	return place(name)
}
