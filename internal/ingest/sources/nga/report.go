package nga

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// warning is a message.
type warning struct {
	Area      string         `json:"navArea"` // 4, 12, A, P or C
	Year      lenient.Number `json:"msgYear"`
	Number    lenient.Number `json:"msgNumber"`
	Issued    string         `json:"issueDate"` // "150429Z APR 2023"
	Authority string         `json:"authority"`
	Text      string         `json:"text"`       // capitals, in short lines
	Cancelled string         `json:"cancelDate"` // null while it is in force
}

// series are the series of messages by navArea.
var series = map[string]string{"4": "NAVAREA IV", "12": "NAVAREA XII", "A": "HYDROLANT", "P": "HYDROPAC", "C": "HYDROARC"}

// danger is a row of the table of dangers: the first row of which a word is in the text is used.
type danger struct {
	words    *regexp.Regexp
	name     string // "" if it is none
	severity hazard.Severity
	drifts   bool
	basis    string
}

var dangers = []danger{
	{regexp.MustCompile(`WARNINGS? IN FORCE AS OF`), "", 0, false, "the weekly list of all messages"},
	{regexp.MustCompile(`\b(?:DISTRESS|REQUEST(?:ING|S)? ASSISTANCE|MAN OVERBOARD|PERSONS? OVERBOARD|ASSIST IF POSSIBLE)\b`), "", 0, false, "a vessel or persons in distress: a call for help, and no danger to others"},
	{regexp.MustCompile(`\b(?:DRIFTING MINES?|FLOATING MINES?|SEA MINES?|MINE DANGER|MINEFIELDS?|MINES? (?:SIGHTED|REPORTED|LAID))\b`), "Mines", hazard.Warning, false, "contact sinks a ship"},
	{regexp.MustCompile(`\b(?:PIRA(?:CY|TES?|TICAL)|HIJACK(?:ED|ING)?|ATTACKED|ATTACKS?|ARMED ROBBERY|(?:BOARDED|FIRED UPON) BY)\b`), "Attack on ships", hazard.Watch, false, "acts against ships in these waters"},
	{regexp.MustCompile(`\b(?:ORDNANCE|EXPLOSIVES?|TORPEDO(?:ES)?|BOMBS?|DEPTH CHARGE)\b`), "Explosives", hazard.Watch, false, "ammunition at the bottom, or found"},
	{regexp.MustCompile(`\b(?:TSUNAMI|SUBMARINE VOLCAN\w*|VOLCANIC ACTIVITY|ERUPTI(?:ON|NG)|PUMICE)\b`), "Volcano", hazard.Watch, false, "eruptions at sea"},
	{regexp.MustCompile(`\bICEBERGS?\b`), "Icebergs", hazard.Advisory, true, "ice in shipping lanes"},
	{regexp.MustCompile(`\bHAZARDOUS OPERATIONS,? (?:ROCKET|SPACE|MISSILE)|\bROCKET LAUNCH\w*|\bMISSILE (?:FIRING|TEST)\w*|\bSPACE DEBRIS\b`), "Rocket launch", hazard.Advisory, false, "parts fall into the area at the given times"},
	{regexp.MustCompile(`\b(?:GUNNERY|FIRING|BOMBING|MISSILES?|LIVE FIRE)\b`), "Firing exercise", hazard.Advisory, false, "danger area at the given times"},
	{regexp.MustCompile(`\bHAZARDOUS OPERATIONS?\b`), "Hazardous operations", hazard.Advisory, false, "danger area at the given times; mostly firing"},
	{regexp.MustCompile(`\b(?:DERELICT|ADRIFT|PARTIALLY SUBMERGED|CAPSIZED|DRIFTING)\b`), "Derelict or drifting object", hazard.Advisory, true, "may be struck"},
	{regexp.MustCompile(`\bWRECK\b[^.]{0,80}\b(?:LIGHT|BUOY)S?\b|\b(?:LIGHT|BUOY)S?\b[^.]{0,80}\bWRECK\b`), "", 0, false, "a buoy or light of a wreck that is known"},
	{regexp.MustCompile(`\b(?:DANGEROUS WRECK|SUNKEN|SANK|SUNK)\b`), "Dangerous wreck", hazard.Information, false, "new wrecks, not in charts yet"},
}

var (
	issueForm  = regexp.MustCompile(`^(\d{2})(\d{2})(\d{2})Z? ([A-Z]{3})[A-Z]* (\d{2}|\d{4})$`)
	cancelThis = regexp.MustCompile(`CANCEL THIS M(?:SG|ESSAGE) (\d{6}Z? [A-Z]{3}[A-Z]* (?:\d{4}|\d{2}))`)
	cancels    = regexp.MustCompile(`CANCEL\s+(NAVAREA\s+IV|NAVAREA\s+XII|HYDROLANT|HYDROPAC|HYDROARC)\s+(\d{1,4})/(\d{2,4})\b`)
	digits     = regexp.MustCompile(`\d`)
)

// maxText bounds a text, in bytes. The longest recorded one has 4,500.
const maxText = 20_000

// drift is how long the position of something that drifts means anything. It is our judgment: at a
// knot it has drifted 700 nautical miles by then.
const drift = 30 * 24 * time.Hour

// Parse reads the list as of now. The error is a *source.PayloadError. If its Cut is true, the
// records before the error are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := lenient.Batch{ID: func(raw []byte) string {
		w := warning{Area: lenient.Scalar(lenient.Member(raw, "navArea"))}
		number, _ := strconv.ParseFloat(lenient.Scalar(lenient.Member(raw, "msgNumber")), 64)
		year, _ := strconv.ParseFloat(lenient.Scalar(lenient.Member(raw, "msgYear")), 64)
		w.Number, w.Year = lenient.Number{Value: number, Known: number > 0}, lenient.Number{Value: year, Known: year > 0}
		return w.key()
	}}
	doc, err := lenient.Collection{Want: "broadcast warnings", Lists: []string{"broadcast-warn"}, Heads: lenient.Complaints}.Read(payload, func(where func() string, raw []byte) {
		w, notes := lenient.Read[warning](&b, where, raw)
		if w == nil {
			return
		}
		r, reason := w.report(now)
		if reason != "" {
			b.Decline(where, raw, reason, notes...)
		} else {
			source.Note(r, notes...)
			b.Reports = append(b.Reports, *r)
		}
	})
	if err == nil && doc.Listed == "" {
		err = source.Errorf("no warnings: %s, expected the member broadcast-warn", cmp.Or(lenient.ExcerptText(doc.Complaint()), lenient.Nothing))
	}
	b.Whole = err == nil && b.Batch.Read > 0
	uncancelled(&b.Batch, payload)
	return b.Done(), err
}

// uncancelled removes the reports of messages that another message of the list cancels. The agency's
// list names them no longer by the next time.
func uncancelled(b *source.Batch, payload []byte) {
	gone := map[string]bool{}
	for _, m := range cancels.FindAllStringSubmatch(strings.ReplaceAll(string(payload), `\n`, " "), -1) {
		year := m[3]
		if len(year) == 2 {
			year = "20" + year
		}
		for area, name := range series {
			if name == strings.Join(strings.Fields(m[1]), " ") {
				gone[area+"-"+strings.TrimLeft(m[2], "0")+"-"+year] = true
			}
		}
	}
	b.Reports = slices.DeleteFunc(b.Reports, func(r hazard.Report) bool {
		if gone[r.Key] {
			b.Ignore(r.Key, "another message of the list cancels it")
		}
		return gone[r.Key]
	})
}

// key returns the name of the message, "4-366-2023", or "".
func (w *warning) key() string {
	area := strings.ToUpper(strings.TrimSpace(w.Area))
	n, y := w.Number.Value, w.Year.Value
	if series[area] == "" || !w.Number.Known || !w.Year.Known || n < 1 || n > 1e5 || y < 1990 || y > 2200 || n != float64(int(n)) || y != float64(int(y)) {
		return ""
	}
	return fmt.Sprintf("%s-%.0f-%.0f", area, n, y)
}

// report converts a message. It returns a reason if it is no danger, or rejected.
func (w *warning) report(now hazard.Instant) (*hazard.Report, string) {
	key := w.key()
	if key == "" {
		return nil, fmt.Sprintf("navArea, msgNumber, msgYear: %q, %s, %s, expected 4, 12, A, P or C, a number and a year", lenient.ExcerptText(w.Area), w.Number.Said(), w.Year.Said())
	}
	full := hazard.Clean(lenient.Clip(w.Text, maxText))
	text := oneLine(full)
	if text == "" {
		return nil, "text: missing, expected the message"
	}
	i := slices.IndexFunc(dangers, func(d danger) bool { return d.words.MatchString(text) })
	if i < 0 {
		return nil, source.Ignoring + "a message that names no danger of the table: lights, surveys, cables and the like"
	}
	kind := &dangers[i]
	if kind.name == "" {
		return nil, source.Ignoring + kind.basis
	}
	var notes []string
	issued, ok := dateTime(w.Issued)
	if !ok {
		notes = append(notes, fmt.Sprintf("issueDate: %q, expected a time such as 150429Z APR 2023", lenient.ExcerptText(w.Issued)))
		issued = now
	}
	if kind.drifts && issued.Add(drift) < now {
		return nil, source.Ignoring + "what drifts was reported more than 30 days ago: nobody knows where it is"
	}
	area, _, _ := strings.Cut(key, "-")
	short := fmt.Sprintf("%s %.0f/%02.0f", series[area], w.Number.Value, float64(int(w.Year.Value)%100))
	r := &hazard.Report{
		Source: Name, Key: key, Version: int64(issued), Name: kind.name + " - " + cmp.Or(sea(full), series[area]), Description: full + "\n" + short + ".",
		Type: hazard.Marine, Severity: kind.severity, Category: hazard.Event, Start: issued, Renewed: &issued, LifeMS: life.Milliseconds(),
		Level: kind.name, Refs: []string{Name + ":" + key}, URL: "https://msi.nga.mil/NavWarnings", Comment: short, Creator: "NGA",
	}
	if m := cancelThis.FindStringSubmatch(text); m != nil {
		if at, ok := dateTime(m[1]); ok {
			r.End = &at
		} else {
			notes = append(notes, fmt.Sprintf("text: CANCEL THIS MSG %q, expected a time", lenient.ExcerptText(m[1])))
		}
	}
	switch first, areas := places(text); {
	case len(areas) > 0:
		shape, err := geo.Union(areas...)
		if err != nil {
			notes = append(notes, "text: "+err.Error())
			r.Point = &hazard.Point{Lon: first[0], Lat: first[1]}
			break
		}
		r.Areas = []hazard.Area{{Role: hazard.AlertArea, Geometry: shape.GeoJSON()}}
		if len(positionForm.FindAllString(text, 2)) == 1 { // the middle of a circle
			r.Point = &hazard.Point{Lon: first[0], Lat: first[1]}
		}
	case first != nil:
		r.Point = &hazard.Point{Lon: first[0], Lat: first[1]}
	}
	switch {
	case strings.TrimSpace(w.Cancelled) != "":
		r.Ended = hazard.EndCancelled
	case issued > now.Add(24*time.Hour):
		r.Suspect = fmt.Sprintf("issueDate: %v is in the future", issued)
	case strings.Contains(text, "EXERCISE EXERCISE EXERCISE"):
		r.Suspect = "the text says that it is an exercise"
	}
	source.Note(r, notes...)
	return r, ""
}

// dateTime reads a time such as "150429Z APR 2023", of which the year may have two digits.
func dateTime(s string) (hazard.Instant, bool) {
	m := issueForm.FindStringSubmatch(oneLine(s))
	if m == nil {
		return 0, false
	}
	year := m[5]
	if len(year) == 2 {
		year = "20" + year
	}
	t, err := time.Parse("2 Jan 2006 1504", fmt.Sprintf("%s %s %s %s%s", m[1], m[4][:1]+strings.ToLower(m[4][1:]), year, m[2], m[3]))
	return hazard.At(t), err == nil
}

// sea returns the waters and the country that the first lines name: "Bay of Biscay, France".
func sea(text string) string {
	var names []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, ok := strings.CutSuffix(line, ".")
		if !ok || digits.MatchString(line) || len(name) > 40 || len(names) == 4 {
			break
		}
		name = lenient.Readable(name)
		for _, small := range []string{" Of ", " And ", " The "} {
			name = strings.ReplaceAll(name, small, strings.ToLower(small))
		}
		names = append(names, name)
	}
	return lenient.Clip(strings.Join(names, ", "), 150)
}
