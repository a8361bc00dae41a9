package jtwc

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cyclone"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// maxText bounds a text, in bytes. The longest recorded one has 8 kB.
const maxText = 64 << 10

const storm = `((?:SUPER )?TYPHOON|(?:SUB)?TROPICAL (?:STORM|DEPRESSION|CYCLONE)|HURRICANE) (\d{2})([A-Z]) \(([A-Z0-9' -]{1,40})\)`

// Patterns for the texts, in which each run of white space was replaced by one blank (JTWC,
// "Tropical Cyclone Warning", product description).
var (
	header   = regexp.MustCompile(`\b(WT[A-Z]{2}\d{2}|AB[A-Z]{2}\d{2}) PGTW (\d{6})\b`)
	warning  = regexp.MustCompile(`\b` + storm + ` (?:[A-Z]+ )?WARNING NR (\d{3}[A-Z]?)\b`)
	position = regexp.MustCompile(`WARNING POSITION: (\d{6})Z --- (?:NEAR )?(\d{1,2}\.\d)([NS]) (\d{1,3}\.\d)([EW])`)
	wind     = regexp.MustCompile(`MAX SUSTAINED WINDS - (\d{2,3}) KT(?:, GUSTS (\d{2,3}) KT)?`)
	movement = regexp.MustCompile(`MOVEMENT PAST SIX HOURS - (\d{3}) DEGREES AT (\d{2,3}) KTS`)
	ahead    = regexp.MustCompile(`\d{1,3} HRS, VALID AT: (\d{2})(\d{2})(\d{2})Z --- (\d{1,2}\.\d)([NS]) (\d{1,3}\.\d)([EW])`)
	radii    = regexp.MustCompile(`RADIUS OF 0(34|50|64) KT WINDS - (\d{3}) NM NORTHEAST QUADRANT (\d{3}) NM SOUTHEAST QUADRANT (\d{3}) NM SOUTHWEST QUADRANT (\d{3}) NM NORTHWEST QUADRANT`)
	next     = regexp.MustCompile(`\d{1,3} HRS, VALID AT: |REPEAT POSIT|REMARKS`)
	forecast = regexp.MustCompile(`\d{1,3} HRS, VALID AT: \d{6}Z --- (\d{1,2}\.\d)([NS]) (\d{1,3}\.\d)([EW])`)
	pressure = regexp.MustCompile(`MINIMUM (?:CENTRAL|SEA LEVEL) PRESSURE (?:AT \d{6}Z )?IS (?:ESTIMATED TO BE )?(?:NEAR )?(\d{3,4}) MB`)
	// summary matches a storm in the summary of an advisory.
	summary = regexp.MustCompile(`AT (\d{2})([A-Z]{3})(\d{2}) (\d{4})Z, ` + storm + ` WAS LOCATED NEAR (\d{1,2}\.\d)([NS]) (\d{1,3}\.\d)([EW])`)
	summed  = regexp.MustCompile(`MAXIMUM SUSTAINED SURFACE WINDS WERE ESTIMATED AT (\d{2,3}) KNOTS(?: GUSTING TO (\d{2,3}) KNOTS)?`)
	located = regexp.MustCompile(`\bLOCATED NEAR\b`)
	winds   = regexp.MustCompile(`\bSUSTAINED SURFACE WINDS\b`)
	// sections matches the part of an advisory about storms, for each ocean, and the pattern after
	// it matches its numbered entries.
	sections = regexp.MustCompile(`\bA\. TROPICAL CYCLONE SUMMARY:(.*?)(?: B\. |$)`)
	numbered = regexp.MustCompile(`\([0-9]{1,2}\)`)
	quiet    = regexp.MustCompile(`^ *(?:NO OTHER TROPICAL CYCLONES|NONE)\b`)
)

// Parse reads the index, a warning, or an advisory, as of now. It ignores other kinds of texts of
// the center. The error is a *source.PayloadError. If its Cut is true, the records before the error
// are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := parser{now: now}
	doc, err := lenient.JSON(payload) // in UTF-8 without a byte order mark
	if err != nil {
		return p.Done(), err
	}
	switch doc = bytes.TrimSpace(doc); {
	case len(doc) == 0:
		err = source.Errorf("an empty payload, expected RSS or the text of a warning")
	case doc[0] == '<':
		err = p.index(payload)
	default:
		err = p.text(doc)
	}
	return p.Done(), err
}

type parser struct {
	lenient.Batch
	now    hazard.Instant
	unsure bool // an item of the index could not be read
}

func (p *parser) text(doc []byte) error {
	whole := lenient.At("text")
	text := strings.ToUpper(strings.Join(strings.Fields(hazard.Clean(string(doc[:min(len(doc), maxText)]))), " "))
	if n := strings.Index(text, "<HTML"); n >= 0 { // it may have replaced a part with a cyclone
		p.Batch.Read++
		p.Reject(lenient.At("text"), doc, "a page of HTML in the text: "+lenient.ExcerptText(text[n:]))
	}
	head := header.FindStringSubmatchIndex(text)
	if head == nil {
		return source.Errorf("%s, expected RSS or a message of the Joint Typhoon Warning Center (PGTW)", lenient.Excerpt(doc))
	}
	var cut error
	if !ended(text) {
		cut = &source.PayloadError{Reason: "the text ends early, before the // at the end of its remarks", Cut: true}
	}
	kind, issued := text[head[2]:head[3]], text[head[4]:head[5]]
	text = text[head[1]:]
	switch {
	case strings.HasPrefix(kind, "AB"):
		p.advisory(text, doc)
	case warning.MatchString(text):
		p.Batch.Read++
		f, reason := p.warning(text, issued)
		if rule, ignored := strings.CutPrefix(reason, source.Ignoring); ignored {
			p.Ignore(f.number+f.letter, rule)
			return cut
		}
		if reason == "" {
			if cut != nil {
				f.track, f.fixes = nil, nil // they would be incomplete
			}
			reason = p.add(f)
		}
		if reason != "" {
			p.Reject(whole, doc, reason)
		}
	default: // a formation alert, its cancellation, or a prognostic reasoning
		p.Batch.Read++
		p.Ignore("text", "a formation alert, its cancellation, or a prognostic reasoning: no warning of a cyclone")
	}
	return cut
}

// ended reports whether the text of a message is complete: it must have "//" after the remarks, as
// after each line before them.
func ended(text string) bool {
	return strings.Contains(text, "RMKS/") && strings.HasSuffix(strings.TrimSpace(strings.TrimSuffix(text, "NNNN")), "//")
}

// otherCenter is the rule for storms of the National Hurricane Center.
const otherCenter = "a storm of the National Hurricane Center or the Central Pacific Hurricane Center, which have more data about it (source nhc)"

// warning reads a warning. If it cannot, or if the storm belongs to another center, it returns the
// reason.
func (p *parser) warning(text, issued string) (f *fix, reason string) {
	at := warning.FindStringSubmatchIndex(text)
	warned := warning.FindStringSubmatch(text)
	text = text[at[1]:]
	f = &fix{class: warned[1], number: warned[2], letter: warned[3], name: warned[4], warning: warned[5], form: "warning"}
	m := position.FindStringSubmatch(text)
	if m == nil {
		return f, "no WARNING POSITION with a time, a latitude and a longitude"
	}
	f.point = seismic.Position(degrees(m[4], m[5], "W"), degrees(m[2], m[3], "S"))
	if !f.ours() {
		return f, source.Ignoring + otherCenter
	}
	var ok bool
	if f.at, ok = latest(m[1], p.now); !ok {
		return f, "WARNING POSITION: " + m[1] + "Z, expected a day and an hour"
	}
	f.issued = f.at
	if t, ok := latest(issued, p.now); ok && t >= f.at {
		f.issued = t
	} else {
		f.notes = append(f.notes, "the time of issue: "+issued+", expected a day and an hour after the position's")
	}
	if m := wind.FindStringSubmatch(text); m != nil {
		f.wind, f.gusts = integer(m[1]), integer(m[2])
	}
	if m := movement.FindStringSubmatch(text); m != nil {
		f.movement = m[1] + "° at " + strings.TrimLeft(m[2], "0") + " kt"
	}
	if m := pressure.FindStringSubmatch(text); m != nil {
		f.pressure = integer(m[1])
	}
	f.draw(text)
	f.last = strings.Contains(text, "THE FINAL WARNING ON THIS SYSTEM")
	f.track = append(f.track, f.point)
	for _, m := range forecast.FindAllStringSubmatch(text, 40) {
		f.track = append(f.track, seismic.Position(degrees(m[3], m[4], "W"), degrees(m[1], m[2], "S")))
	}
	return f, ""
}

// draw reads the positions of a warning with their times and winds.
func (f *fix) draw(text string) {
	block := func(from int) string {
		rest := text[from:]
		if at := next.FindStringIndex(rest); at != nil {
			rest = rest[:at[0]]
		}
		return rest
	}
	add := func(at hazard.Instant, point *hazard.Point, rest string, forecast bool) {
		if point == nil {
			return
		}
		one := cyclone.Fix{At: at, Point: *point, Forecast: forecast}
		if m := wind.FindStringSubmatch(rest); m != nil {
			one.Wind = integer(m[1]).Value
		}
		for _, m := range radii.FindAllStringSubmatch(rest, 3) {
			r := cyclone.Radii{Wind: integer(m[1]).Value}
			for i := range r.Quadrants {
				r.Quadrants[i] = integer(m[2+i]).Value
			}
			one.Radii = append(one.Radii, r)
		}
		f.fixes = append(f.fixes, one)
	}
	add(f.at, f.point, block(position.FindStringIndex(text)[1]), false)
	for _, m := range ahead.FindAllStringSubmatchIndex(text, 40) {
		part := func(i int) string { return text[m[2*i]:m[2*i+1]] }
		if at, ok := lenient.Near(part(1), part(2), part(3), f.at); ok {
			add(at, seismic.Position(degrees(part(6), part(7), "W"), degrees(part(4), part(5), "S")), block(m[1]), true)
		}
	}
}

// advisory reads the summaries of storms in an advisory: "(1) AT 09AUG26 0000Z, TYPHOON 12W
// (DOLPHIN) WAS LOCATED NEAR …". Each summary is a record: an unreadable one does not affect the
// others.
func (p *parser) advisory(text string, doc []byte) {
	all := sections.FindAllStringSubmatch(text, maxStorms)
	if len(all) == 0 {
		p.Batch.Read++
		p.Reject(lenient.At("summary"), doc, "the advisory has no TROPICAL CYCLONE SUMMARY")
	}
	for _, section := range all {
		begin := numbered.FindAllStringIndex(section[1], maxStorms)
		before := section[1]
		if len(begin) > 0 {
			before = section[1][:begin[0][0]]
		}
		if before = strings.Trim(before, " .:"); before != "" && before != "NONE" {
			p.Batch.Read++
			p.Reject(lenient.At("summary"), doc, lenient.ExcerptText(before)+": expected NONE, or storms with a number such as (1) before each")
		}
		for i, at := range begin {
			until := len(section[1])
			if i+1 < len(begin) {
				until = begin[i+1][0]
			}
			p.summary(section[1][at[1]:until], "summary/"+strconv.Itoa(i), doc)
		}
	}
	if p.Batch.Read == 0 {
		p.Batch.Read = 1
		p.Ignore("text", "the advisory names no storm")
	}
}

// summary reads the summary of a storm.
func (p *parser) summary(text, where string, doc []byte) {
	if quiet.MatchString(text) {
		return
	}
	p.Batch.Read++
	m := summary.FindStringSubmatch(text)
	if m == nil {
		p.Reject(lenient.At(where), doc, lenient.ExcerptText(text)+": expected AT 09AUG26 0000Z, TYPHOON 12W (NAME) WAS LOCATED NEAR 27.8N 123.2E")
		return
	}
	if len(located.FindAllString(text, 2)) > 1 || len(winds.FindAllString(text, 2)) > 1 { // the beginning of the next summary is damaged
		p.Batch.Read++
		p.Reject(lenient.At(where), doc, lenient.ExcerptText(text)+": expected one storm after each number")
	}
	f := &fix{class: m[5], number: m[6], letter: m[7], name: m[8], form: "advisory",
		point: seismic.Position(degrees(m[11], m[12], "W"), degrees(m[9], m[10], "S"))}
	if !f.ours() {
		p.Ignore(f.number+f.letter, otherCenter)
		return
	}
	t, err := time.Parse("02Jan061504", m[1]+m[2][:1]+strings.ToLower(m[2][1:])+m[3]+m[4])
	if err != nil {
		p.Reject(lenient.At(m[6]+m[7]), doc, lenient.ExcerptText(m[0])+": expected a time such as 09AUG26 0000Z")
		return
	}
	f.at, f.issued = hazard.At(t), hazard.At(t)
	if w := summed.FindStringSubmatch(text); w != nil {
		f.wind, f.gusts = integer(w[1]), integer(w[2])
	}
	if reason := p.add(f); reason != "" {
		p.Reject(lenient.At(m[6]+m[7]), doc, reason)
	}
}

// latest returns the latest time with that day and hour ("271500") that is at most skew after now;
// ok is false if there is none.
func latest(ddhhmm string, now hazard.Instant) (at hazard.Instant, ok bool) {
	t, err := time.Parse("021504", ddhhmm)
	if err != nil {
		return 0, false
	}
	month := time.Date(now.Time().Year(), now.Time().Month(), 1, 0, 0, 0, 0, time.UTC)
	for back := -1; back < 3; back++ {
		m := month.AddDate(0, -back, 0)
		found := time.Date(m.Year(), m.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
		if found.Month() == m.Month() && hazard.At(found) <= now.Add(skew) {
			return hazard.At(found), true
		}
	}
	return 0, false
}

// skew is how far in the future the time of a text may be: texts contain the nominal hour, and
// clocks differ.
const skew = 3 * time.Hour

func degrees(number, side, negative string) lenient.Number {
	v, err := strconv.ParseFloat(number, 64)
	if side == negative {
		v = -v
	}
	return lenient.Number{Value: v, Known: err == nil}
}

func integer(s string) lenient.Number {
	v, err := strconv.Atoi(s)
	return lenient.Number{Value: float64(v), Known: err == nil}
}
