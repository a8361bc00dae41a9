package bmkg

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// tsunamiLife is how long the possibility of a tsunami lasts (our judgment: the last observed waves
// of a tsunami arrive within hours; the list keeps the sentence for days).
const tsunamiLife = 6 * time.Hour

// gempa is an earthquake (data.bmkg.go.id/gempabumi, "Atribut").
type gempa struct {
	DateTime    string         `json:"DateTime"`    // time of origin, RFC 3339
	Coordinates string         `json:"Coordinates"` // latitude,longitude
	Magnitude   lenient.Number `json:"Magnitude"`
	Depth       string         `json:"Kedalaman"` // "10 km"
	Region      string         `json:"Wilayah"`
	Potential   string         `json:"Potensi"`   // whether a tsunami is possible, or whether it was felt; in words
	Felt        string         `json:"Dirasakan"` // "III Cilacap, II-III Padang": intensities (MMI) by place
}

// Parse reads a list, or the latest earthquake, as of now, with or without the object Infogempa
// around it. The error is a *source.PayloadError. If its Cut is true, the records before the error
// are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := lenient.Batch{Batch: source.Batch{Current: true}}
	p := parser{Batch: &b, now: now}
	found, err := p.list(payload)
	if found {
		return b.Done(), err
	}
	doc, err := lenient.Collection{Want: "BMKG", Heads: append([]string{"Infogempa"}, lenient.Complaints...)}.Read(payload, nil)
	inner := doc.Head["Infogempa"]
	if inner == nil && err != nil {
		inner = after(payload, `"Infogempa"`) // cut off, perhaps within the list: the part before is good
	}
	switch {
	case inner != nil:
		found, within := p.list(inner)
		switch {
		case !found && err == nil && within == nil:
			err = source.Errorf("Infogempa/gempa: missing, expected an array or an object")
		case err == nil || len(b.Reports) > 0 && within != nil:
			err = within
		}
	case err == nil:
		err = source.Errorf("Infogempa: missing, expected an object")
		if complaint := doc.Complaint(); complaint != "" {
			err = source.Errorf("an error message instead of earthquakes: %s", complaint)
		}
	}
	return b.Done(), err
}

// list reads the member gempa of an object: several earthquakes, or one. found reports whether the
// member exists.
func (p *parser) list(object []byte) (found bool, err error) {
	doc, err := lenient.Collection{Want: "earthquakes", Lists: []string{"gempa"}, Heads: []string{"gempa"}}.Read(object, p.record)
	switch one := doc.Head["gempa"]; {
	case doc.Listed != "":
		return true, err
	case one == nil:
		return false, err
	case one[0] == '{':
		p.record(func() string { return "gempa" }, one)
		return true, err
	default:
		return true, source.Errorf("gempa: %s, expected an array or an object", lenient.Excerpt(one))
	}
}

// after returns the text after a member's name and its colon, or nil if the member is missing.
func after(payload []byte, name string) []byte {
	doc, err := lenient.JSON(payload)
	if err != nil {
		return nil
	}
	_, rest, ok := strings.Cut(string(doc), name)
	rest, colon := strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), ":")
	if !ok || !colon {
		return nil
	}
	return []byte(rest)
}

type parser struct {
	*lenient.Batch
	now hazard.Instant
}

func (p *parser) record(where func() string, raw []byte) {
	g, notes := lenient.Read[gempa](p.Batch, where, raw)
	if g == nil {
		return
	}
	quake, tsunami, reason := g.reports(p.now)
	if reason != "" {
		p.Reject(where, raw, append(notes, reason)...)
		return
	}
	source.Note(quake, notes...)
	p.Reports = append(p.Reports, *quake)
	if tsunami != nil {
		p.Reports = append(p.Reports, *tsunami)
	}
}

// lead matches the beginning of a region: "the epicenter is at sea, on land".
var lead = regexp.MustCompile(`(?i)^pusat gempa berada di (?:laut|darat)[, ]*`)

// reports converts a record to an earthquake, and to a tsunami if one is possible, or to its end if
// none is. If it cannot, it returns the reason.
func (g *gempa) reports(now hazard.Instant) (quake, tsunami *hazard.Report, reason string) {
	start, note, err := lenient.Time(g.DateTime, nil)
	if err != nil {
		return nil, nil, "DateTime: " + err.Error()
	}
	lat, lon, _ := strings.Cut(g.Coordinates, ",")
	q := seismic.Quake{Magnitude: g.Magnitude, Depth: number(strings.TrimSuffix(strings.ToLower(strings.TrimSpace(g.Depth)), "km")),
		MMI: strongest(g.Felt), Place: lead.ReplaceAllString(hazard.CleanLine(g.Region), ""), At: seismic.Position(number(lon), number(lat))}
	if q.At == nil {
		return nil, nil, fmt.Sprintf("Coordinates: %q, expected a latitude and a longitude", lenient.ExcerptText(g.Coordinates))
	}
	if !g.Magnitude.Known && !q.MMI.Known {
		return nil, nil, "Magnitude: " + lenient.Nothing + ", and Dirasakan too: expected one of them"
	}
	part := "strong"
	if strings.TrimSpace(g.Felt) != "" {
		part = "felt"
	}
	key, near := seismic.Named(start)
	l := q.Level()
	quake = &hazard.Report{
		Source: Name, Key: key, Aliases: near, Part: part, Version: int64(now), Type: hazard.Earthquake, Severity: l.Severity, Start: start,
		LifeMS: l.Life.Milliseconds(), Name: q.Name(), Description: g.description(&q, start), Minor: l.Minor, Point: q.At,
		Refs: []string{Name + ":" + key}, URL: "https://www.bmkg.go.id/gempabumi", Comment: Name + ":" + key, Creator: "BMKG",
		Suspect: strings.Join(q.Doubts("DateTime", start, "", start, now), "; "),
	}
	q.Measure(quake)
	if note != "" {
		source.Note(quake, "DateTime: "+note)
	}
	may, none := mayCome(g.Potential)
	if !may && (!none || now > start.Add(tsunamiLife)) {
		return quake, nil, ""
	}
	wave := *quake
	wave.Key, wave.Type, wave.Severity, wave.Minor = "tsunami-"+key, hazard.Tsunami, hazard.Warning, false
	wave.Aliases = []string{"tsunami-" + near[0]}
	wave.LifeMS, wave.Name = tsunamiLife.Milliseconds(), "Tsunami possible - "+q.Name()
	wave.Refs, wave.Comment, wave.Level = []string{Name + ":" + wave.Key, fmt.Sprintf("quake:%s@%.3f,%.3f", start.Time().Format("2006-01-02T15:04:05Z"), q.At.Lat, q.At.Lon)},
		Name+":"+wave.Key, hazard.CleanLine(g.Potential)
	if none { // it ends what was said before, and is no hazard of its own
		wave.Ended, wave.Minor, wave.Refs, wave.Suspect = hazard.EndCancelled, true, nil, ""
	}
	return quake, &wave, ""
}

// mayCome reports whether the text says that a tsunami is possible, "Berpotensi tsunami", or that
// none is, "Tidak berpotensi tsunami". A text may say neither.
func mayCome(potential string) (may, not bool) {
	words := strings.ToLower(hazard.CleanLine(potential))
	if !strings.Contains(words, "tsunami") || !strings.Contains(words, "potensi") {
		return false, false
	}
	not = slices.ContainsFunc([]string{"tidak", "tdk", "belum"}, func(no string) bool { return strings.Contains(words, no) })
	return !not, not
}

func number(s string) lenient.Number {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return lenient.Number{Value: v, Known: err == nil && v > -1e6 && v < 1e6}
}

var romans = strings.Fields("I II III IV V VI VII VIII IX X XI XII")

// strongest returns the highest intensity in the text, such as 3 in "II-III Padang, II Kendari".
func strongest(felt string) (mmi lenient.Number) {
	for word := range strings.FieldsFuncSeq(felt[:min(len(felt), 4<<10)], func(r rune) bool { return strings.ContainsRune(" ,-–;/", r) }) {
		if i := slices.Index(romans, word) + 1; i > 0 && float64(i) > mmi.Value {
			mmi = lenient.Number{Value: float64(i), Known: true}
		}
	}
	return mmi
}

// description describes the strength and depth of the earthquake, and adds the agency's own words.
func (g *gempa) description(q *seismic.Quake, start hazard.Instant) string {
	var b strings.Builder
	q.Describe(&b, start)
	for _, complaint := range []struct{ what, text string }{{"Felt (MMI)", g.Felt}, {"BMKG", g.Potential}} {
		if text := hazard.CleanLine(lenient.Clip(complaint.text, 2000)); text != "" {
			b.WriteString(complaint.what + ": " + text + ".\n")
		}
	}
	return hazard.Clean(b.String())
}
