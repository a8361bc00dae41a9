package app

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// What is true of sources whose events end by time, not by absence. Each function reads the payloads
// itself. How long an event counts is as docs/sources.md says.

// number is a number of JSON, or text that is one; or nothing.
type number struct {
	v  float64
	ok bool
}

func (n *number) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	n.v, n.ok = v, err == nil
	return nil
}

// ms is a moment in milliseconds since 1970; the zero time for nothing.
func (n number) ms() time.Time {
	if !n.ok {
		return time.Time{}
	}
	return time.UnixMilli(int64(n.v)).UTC()
}

// lasting are events that go on for some time after they were last told of.
type lasting struct {
	facts map[string]fact
	until map[string]time.Time
}

func (l *lasting) set(key string, f fact, until time.Time) {
	f.end = until
	l.facts[key], l.until[key] = f, until
}

// at returns what goes on.
func (l *lasting) at(at time.Time) map[string]fact {
	maps.DeleteFunc(l.facts, func(key string, _ fact) bool { return !l.until[key].After(at) })
	return maps.Clone(l.facts)
}

// lasts is the truth of a source whose events go on for some time after a list told of them. read takes
// over what a list in JSON says.
func lasts[L any](read func(t *testing.T, known *lasting, list L, at time.Time)) truth {
	return told(func(t *testing.T, known *lasting, text string, at time.Time) {
		t.Helper()
		var list L
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatal(err)
		}
		read(t, known, list, at)
	})
}

// told is lasts for payloads that are texts.
func told(read func(t *testing.T, known *lasting, text string, at time.Time)) truth {
	known := &lasting{map[string]fact{}, map[string]time.Time{}}
	return func(t *testing.T, payload []byte, at time.Time) map[string]fact {
		t.Helper()
		if payload != nil {
			read(t, known, string(payload), at)
		}
		return known.at(at)
	}
}

// usgsList is a summary of the USGS. Features are kept as they are.
type usgsList struct {
	Type     string            `json:"type"`
	Metadata map[string]any    `json:"metadata"`
	Features []json.RawMessage `json:"features"`
}

// quakeLists cuts the recorded summaries of a week, of 2014, 2019 and 2022, into summaries of a day, one
// every three hours, as all_day.geojson would have been then; and adds the recorded days.
func quakeLists(t *testing.T) (all []snapshot) {
	t.Helper()
	for _, name := range []string{"all_day-2014.geojson", "all_week-1.geojson", "1.0_week-2019.json", "1.0_day-2019.json", "1.0_week-2022.geojson", "1.0_day-2022.geojson", "2.5_day-20260727.json"} {
		var list usgsList
		payload := recordings.Read(t, filepath.Join("feeds/usgs", name))
		if err := json.Unmarshal(payload, &list); err != nil {
			t.Fatal(err)
		}
		made, ok := list.Metadata["generated"].(float64)
		if !ok {
			t.Fatalf("%s: no generated", name)
		}
		end := time.UnixMilli(int64(made)).UTC()
		if !strings.Contains(name, "week") {
			all = append(all, snapshot{payload, end})
			continue
		}
		times := make([]time.Time, len(list.Features))
		for i, raw := range list.Features {
			var f struct{ Properties struct{ Time number } }
			if err := json.Unmarshal(raw, &f); err != nil {
				t.Fatal(err)
			}
			times[i] = f.Properties.Time.ms()
		}
		for at := end.Add(-6 * day); !at.After(end); at = at.Add(3 * time.Hour) {
			day := usgsList{list.Type, maps.Clone(list.Metadata), []json.RawMessage{}}
			day.Metadata["generated"] = at.UnixMilli()
			for i, raw := range list.Features {
				if !times[i].After(at) && times[i].After(at.AddDate(0, 0, -1)) {
					day.Features = append(day.Features, raw)
				}
			}
			cut, err := json.Marshal(day)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, snapshot{cut, at})
		}
	}
	slices.SortStableFunc(all, func(a, b snapshot) int { return a.at.Compare(b.at) })
	return passing(all, 6*time.Hour, 4*day)
}

// quakesOfTheUSGS reads summaries of the USGS. An earthquake counts from M 4.5, from intensity IV, or
// with a color of PAGER, for a day; one of level WARNING for three.
func quakesOfTheUSGS() truth {
	type lists struct {
		Features []struct {
			ID         string
			Properties struct {
				Mag, MMI, Time      number
				Alert, Type, Status string
			}
			Geometry struct{ Coordinates []number }
		}
	}
	return lasts(func(t *testing.T, known *lasting, list lists, at time.Time) {
		for _, f := range list.Features {
			p, start, c := f.Properties, f.Properties.Time.ms(), f.Geometry.Coordinates
			if p.Type != "earthquake" {
				continue
			}
			deep := len(c) > 2 && c[2].ok && c[2].v >= 100
			level, life := quakeLevel(p.Mag, p.MMI, deep, p.Alert), day
			if level == "WARNING" {
				life = 3 * day
			}
			if _, was := known.facts[f.ID]; level == "" && was { // an update of one that counted
				level = "INFORMATION"
			}
			if level != "" {
				known.set(f.ID, fact{start: start, level: level, point: [2]float64{c[0].v, c[1].v}}, start.Add(life))
			}
		}
	})
}

// quakeLevel is the level of an earthquake by its magnitude, intensity, depth and color of PAGER; empty
// for one that is too slight.
func quakeLevel(magnitude, intensity number, deep bool, pager string) string {
	m := math.Inf(-1)
	if magnitude.ok {
		m = magnitude.v
	}
	switch {
	case pager == "red":
		return "WARNING"
	case pager == "orange", pager != "" && m >= 7:
		return "WATCH"
	case pager == "yellow", pager == "green" && m >= 6:
		return "ADVISORY"
	case pager == "" && m >= 7 && !deep:
		return "WARNING"
	case pager == "" && m >= 6:
		return "WATCH"
	case pager == "" && m >= 5:
		return "ADVISORY"
	case m >= 4.5, intensity.ok && intensity.v >= 4:
		return "INFORMATION"
	}
	return ""
}

// quakesOfBMKG reads the list of earthquakes of M 5 and more of BMKG. A tsunami is possible for six
// hours, unless it is taken back.
func quakesOfBMKG() truth {
	type lists struct {
		Infogempa struct {
			Gempa []struct{ DateTime, Coordinates, Magnitude, Kedalaman, Potensi string }
		}
	}
	return lasts(func(t *testing.T, known *lasting, list lists, at time.Time) {
		for _, g := range list.Infogempa.Gempa {
			start, err := time.Parse(time.RFC3339, g.DateTime)
			magnitude, errM := strconv.ParseFloat(g.Magnitude, 64)
			lat, lon, _ := strings.Cut(g.Coordinates, ",")
			var point [2]float64
			_, errP := fmt.Sscan(lon+" "+lat, &point[0], &point[1])
			if err != nil || errM != nil || errP != nil {
				t.Fatal(err, errM, errP)
			}
			key := start.UTC().Truncate(20 * time.Second).Format("20060102T150405")
			level, life := quakeLevel(number{magnitude, true}, number{}, false, ""), day
			if level == "WARNING" {
				life = 3 * day
			}
			known.set(key, fact{start: start, level: level, point: point}, start.Add(life))
			switch potential := strings.ToLower(g.Potensi); {
			case strings.HasPrefix(potential, "berpotensi tsunami"):
				known.set("tsunami-"+key, fact{start: start, level: "WARNING", point: point}, start.Add(6*time.Hour))
			case strings.HasPrefix(potential, "tidak berpotensi tsunami"):
				delete(known.facts, "tsunami-"+key)
			}
		}
	})
}

// firesOfTheNIFC reads the lists of incidents and of perimeters. A fire counts for a week after its last
// change, unless it is out, controlled or contained. What was discovered more than a year before its last
// change is held for an editor.
func firesOfTheNIFC() truth {
	type lists struct {
		Features []struct {
			Properties map[string]json.RawMessage
			Geometry   *place
		}
	}
	return lasts(func(t *testing.T, known *lasting, list lists, at time.Time) {
		for _, f := range list.Features {
			text := func(name string) (s string) {
				_ = json.Unmarshal(cmpRaw(f.Properties["attr_"+name], f.Properties[name]), &s)
				return s
			}
			moment := func(names ...string) (first time.Time) {
				for _, name := range names {
					var n number
					if err := json.Unmarshal(cmpRaw(f.Properties["attr_"+name], f.Properties[name]), &n); err == nil && n.ok && first.IsZero() {
						first = n.ms()
					}
				}
				return first
			}
			var contained, size number
			_ = json.Unmarshal(cmpRaw(f.Properties["attr_PercentContained"], f.Properties["PercentContained"]), &contained)
			_ = json.Unmarshal(cmpRaw(f.Properties["attr_IncidentSize"], f.Properties["IncidentSize"]), &size)
			key := strings.ToUpper(strings.Trim(text("IrwinID"), "{}"))
			start, changed := moment("FireDiscoveryDateTime"), moment("ModifiedOnDateTime_dt", "ICS209ReportDateTime", "CreatedOnDateTime_dt", "FireDiscoveryDateTime")
			over := !moment("FireOutDateTime", "ControlDateTime", "ContainmentDateTime").IsZero() || contained.v >= 100
			if kind := text("IncidentTypeCategory"); kind == "RX" || over || start.IsZero() || start.Before(changed.AddDate(-1, 0, 0)) {
				delete(known.facts, key)
				continue
			}
			fire := known.facts[key]
			fire.start = start
			if f.Geometry != nil && f.Geometry.area.IsZero() {
				fire.point = f.Geometry.point
			} else if f.Geometry != nil {
				var lon, lat number
				_ = json.Unmarshal(cmpRaw(f.Properties["attr_InitialLongitude"], f.Properties["InitialLongitude"]), &lon)
				_ = json.Unmarshal(cmpRaw(f.Properties["attr_InitialLatitude"], f.Properties["InitialLatitude"]), &lat)
				fire.area, fire.point = f.Geometry.area, [2]float64{lon.v, lat.v}
			}
			known.set(key, believed(fire), changed.Add(7*day))
		}
	})
}

// cmpRaw returns the first JSON value that is present.
func cmpRaw(values ...json.RawMessage) json.RawMessage {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return json.RawMessage("null")
}

// disasterLists are the recorded lists of GDACS, in the order of their times.
func disasterLists(t *testing.T) (all []snapshot) {
	t.Helper()
	all = snapshots(t, "feeds/gdacs", "20210420T1200Z gdacs-20210420.geojson", "20260526T0209Z gdacs-20260526T0209Z.geojson",
		"20260530T0203Z gdacs-20260530T0203Z.geojson", "20260530T1858Z gdacs-20260530T1858Z.geojson")
	for i, kind := range []string{"DR", "EQ", "FL", "TC", "VO", "WF"} {
		all = append(all, snapshots(t, "feeds/gdacs", fmt.Sprintf("20260728T04%dZ api-search-%s-202607.json", 20+i, kind))...)
	}
	all = append(all, passing(all[len(all)-1:], 6*time.Hour, 10*day)[1:]...)
	all = append(all, snapshots(t, "feeds/gdacs", "20260819T0100Z api-tc-list-20260819.json", "20260928T1200Z events-20260928.geojson")...)
	return passing(all, 6*time.Hour, 10*day)
}

// disasterLives is how long an event of GDACS counts, by its type: from its beginning, or from its last
// data.
var disasterLives = map[string]time.Duration{"EQ": day, "TC": day, "FL": 4 * day, "VO": 5 * day, "DR": 30 * day, "WF": 27 * time.Hour, "TS": day}

// disastersOfGDACS reads lists of events of GDACS.
func disastersOfGDACS() truth {
	type lists struct {
		Features []struct {
			Properties struct {
				EventType, FromDate, ToDate, DateModified, IsCurrent, AlertLevel, EpisodeAlertLevel, Class string
				AlertLevelEpisode                                                                          string // in gdacs.geojson, as is Severity
				EventID, Severity                                                                          number
				SeverityData                                                                               struct {
					Severity     number
					SeverityText string
				}
			}
			Geometry place
		}
	}
	return lasts(func(t *testing.T, known *lasting, list lists, at time.Time) {
		for _, f := range list.Features {
			p := f.Properties
			if !p.EventID.ok || p.Class != "" && p.Class != "Point_Centroid" {
				continue
			}
			from, to := disasterTime(t, p.FromDate), disasterTime(t, p.ToDate)
			changed := to
			if p.DateModified != "" {
				changed = disasterTime(t, p.DateModified)
			}
			level := map[string]string{"green": "INFORMATION", "orange": "WATCH", "red": "WARNING"}[strings.ToLower(cmp.Or(p.EpisodeAlertLevel, p.AlertLevelEpisode, p.AlertLevel))]
			until := to.Add(disasterLives[p.EventType])
			switch p.EventType {
			case "EQ":
				if level == "INFORMATION" && max(p.SeverityData.Severity.v, p.Severity.v) < 4.5 {
					continue
				}
				if until = from.Add(day); level == "WARNING" {
					until = from.Add(3 * day)
				}
				if p.IsCurrent == "true" && level != "INFORMATION" { // it lasts as long as it is listed so, ten days at most
					listed := at.Truncate(6 * time.Hour)
					if last := from.Add(10 * day); listed.After(last) {
						listed = last
					}
					if listed = listed.Add(until.Sub(from)); listed.After(until) {
						until = listed
					}
				}
			case "VO", "DR", "WF":
				if !changed.After(to.Add(7 * day)) {
					until = changed.Add(disasterLives[p.EventType])
					if to.After(changed) {
						until = to.Add(disasterLives[p.EventType])
					}
				}
			case "TC":
				level = stormLevelOf(level, p.SeverityData.SeverityText)
			}
			known.set(fmt.Sprintf("%s%.0f", p.EventType, p.EventID.v), fact{start: from, level: level, point: f.Geometry.point}, until)
		}
	})
}

// stormLevelOf is the higher of the level by the color and that by the words for the wind.
func stormLevelOf(level, words string) string {
	ranks := []string{"INFORMATION", "ADVISORY", "WATCH", "WARNING"}
	wind := ""
	switch {
	case strings.HasPrefix(words, "Hurricane/Typhoon"):
		wind = "WARNING"
	case strings.HasPrefix(words, "Tropical Storm"):
		wind = "WATCH"
	case strings.HasPrefix(words, "Tropical Depression"):
		wind = "ADVISORY"
	}
	return ranks[max(slices.Index(ranks, level), slices.Index(ranks, wind))]
}

// disasterTime reads a time of GDACS, which is in UTC.
func disasterTime(t *testing.T, text string) time.Time {
	t.Helper()
	for _, form := range []string{"2006-01-02T15:04:05", "02 Jan 2006 15:04:05", "02/Jan/2006 15:04:05"} {
		if at, err := time.Parse(form, text); err == nil {
			return at
		}
	}
	t.Fatalf("time %q", text)
	return time.Time{}
}

// capMessage is what counts of a CAP message, in XML or as MeteoAlarm writes it in JSON.
type capMessage struct {
	Identifier string    `xml:"identifier" json:"identifier"`
	Sender     string    `xml:"sender" json:"sender"`
	Sent       string    `xml:"sent" json:"sent"`
	Status     string    `xml:"status" json:"status"`
	MsgType    string    `xml:"msgType" json:"msgType"`
	References string    `xml:"references" json:"references"`
	Info       []capInfo `xml:"info" json:"info"`
}

type capInfo struct {
	Event     string         `xml:"event" json:"event"`
	Onset     string         `xml:"onset" json:"onset"`
	Effective string         `xml:"effective" json:"effective"`
	Expires   string         `xml:"expires" json:"expires"`
	Severity  string         `xml:"severity" json:"severity"`
	Urgency   string         `xml:"urgency" json:"urgency"`
	Certainty string         `xml:"certainty" json:"certainty"`
	Response  string         `xml:"responseType" json:"-"`
	Responses []string       `xml:"-" json:"responseType"`
	Parameter []capParameter `xml:"parameter" json:"parameter"`
	Area      []struct {
		Name     string         `xml:"areaDesc" json:"areaDesc"`
		Polygons []string       `xml:"polygon" json:"-"` // latitude,longitude …
		Circles  []string       `xml:"circle" json:"-"`  // latitude,longitude radius in km
		Codes    []capParameter `xml:"-" json:"geocode"` // of MeteoAlarm
	} `xml:"area" json:"area"`
}

type capParameter struct {
	Name  string `xml:"valueName" json:"valueName"`
	Value string `xml:"value" json:"value"`
}

// parameter returns the first parameter whose name ends in a word.
func (i *capInfo) parameter(word string) string {
	for _, p := range i.Parameter {
		if strings.HasSuffix(p.Name, word) {
			return p.Value
		}
	}
	return ""
}

// over reports whether a block says that it is over, or is no warning.
func (i *capInfo) over() bool {
	status, level := i.parameter("Alert_Location_Status"), i.parameter("awareness_level")
	return status != "" && status != "active" || i.Response == "AllClear" || slices.Contains(i.Responses, "AllClear") ||
		strings.HasPrefix(level, "1") || strings.HasPrefix(level, "0")
}

// level is that of a color, or else by the severity, with the urgency and the certainty.
func (i *capInfo) level() string {
	_, color, _ := strings.Cut(i.parameter("awareness_level"), "; ")
	color, _, _ = strings.Cut(color, ";")
	if level := map[string]string{"yellow": "ADVISORY", "orange": "WATCH", "red": "WARNING"}[cmp.Or(color, i.parameter(":Colour"))]; level != "" {
		return level
	}
	soon, sure := i.Urgency == "Immediate" || i.Urgency == "Expected", i.Certainty == "Observed" || i.Certainty == "Likely"
	switch {
	case i.Severity == "Extreme", i.Severity == "Severe" && soon && sure:
		return "WARNING"
	case i.Severity == "Severe":
		return "WATCH"
	case i.Severity == "Moderate":
		return "ADVISORY"
	}
	return "INFORMATION"
}

// shapes returns the polygons and circles of a block, and the built-in shapes of MeteoAlarm's codes; known
// is false if one of its areas has none.
func (i *capInfo) shapes(t *testing.T) (all []geo.Shape, known bool) {
	t.Helper()
	for _, a := range i.Area {
		placed := len(a.Polygons)+len(a.Circles) > 0
		for _, c := range a.Codes {
			if shape, ok := (region.Finder{}).Shape(t.Context(), "EMMA_ID:"+c.Value); ok && c.Name == "EMMA_ID" {
				all, placed = append(all, shape), true
			}
		}
		if !placed {
			return nil, false
		}
		for _, c := range a.Circles {
			var lat, lon, km float64
			if _, err := fmt.Sscan(strings.Replace(c, ",", " ", 1), &lat, &lon, &km); err != nil {
				t.Fatal(err)
			}
			all = append(all, geo.Circle(lon, lat, km*1000))
		}
		for _, p := range a.Polygons {
			var ring []string
			for point := range strings.FieldsSeq(p) {
				lat, lon, _ := strings.Cut(point, ",")
				ring = append(ring, "["+lon+","+lat+"]")
			}
			shape, err := geo.ParseLoose([]byte(`{"type":"Polygon","coordinates":[[` + strings.Join(ring, ",") + `]]}`))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, shape)
		}
	}
	return all, true
}

// name is that of a message in a truth.
func (m *capMessage) name() string { return "cap:" + strings.ToLower(m.Sender) + "," + m.Identifier }

// warnings reads lists of CAP messages, or one message, and returns those in force. A word says what the
// sender does otherwise than others: in "later of the same", of two messages about one kind, area and
// window the later one counts; in "no end", expires is only when the list was made, and a day.
func warnings(practice string) truth {
	all := map[string]capMessage{}
	return func(t *testing.T, payload []byte, at time.Time) map[string]fact {
		t.Helper()
		for _, m := range capMessages(t, payload) {
			all[m.name()] = m
		}
		replaced, same := map[string]bool{}, map[string]capMessage{}
		for _, m := range all {
			for ref := range strings.FieldsSeq(m.References) {
				if parts := strings.Split(ref, ","); len(parts) > 1 {
					replaced["cap:"+strings.ToLower(parts[0])+","+parts[1]] = true
				}
			}
			if len(m.Info) > 0 && practice == "later of the same" {
				i := m.Info[0]
				window := fmt.Sprint(m.Sender, i.parameter("awareness_type"), i.Area, i.Onset, i.Expires)
				if other, ok := same[window]; ok && other.Sent > m.Sent {
					replaced[m.name()] = true
				} else if same[window] = m; ok {
					replaced[other.name()] = true
				}
			}
		}
		force := map[string]fact{}
		for name, m := range all {
			if replaced[name] || m.Status != "Actual" || m.MsgType == "Cancel" {
				continue
			}
			if f, ok := m.fact(t, at); ok {
				if practice == "no end" {
					f.end = time.Time{}
				}
				force[name] = f
			}
		}
		return force
	}
}

// fact is what a message says by what is in force of it, and whether anything is.
func (m *capMessage) fact(t *testing.T, at time.Time) (f fact, inForce bool) {
	t.Helper()
	ranks := []string{"INFORMATION", "ADVISORY", "WATCH", "WARNING"}
	rank, placed := -1, true
	var shapes []geo.Shape
	for _, i := range m.Info {
		until, err := time.Parse(time.RFC3339, i.Expires)
		start, errS := time.Parse(time.RFC3339, cmp.Or(i.Onset, i.Effective, m.Sent))
		if err != nil || errS != nil {
			t.Fatal(err, errS)
		}
		if i.over() || !until.After(at) {
			continue
		}
		if m.References == "" && (f.start.IsZero() || start.Before(f.start)) {
			f.start = start
		}
		if until.After(f.end) {
			f.end = until
		}
		rank = max(rank, slices.Index(ranks, i.level()))
		more, known := i.shapes(t)
		shapes, placed, inForce = append(shapes, more...), placed && known, true
	}
	if !inForce {
		return f, false
	}
	f.level = ranks[rank]
	if placed {
		union, err := geo.Union(shapes...)
		if err != nil {
			t.Fatal(err)
		}
		f.area = union
	}
	return f, true
}

// capMessages reads the messages of a payload.
func capMessages(t *testing.T, payload []byte) (all []capMessage) {
	t.Helper()
	if payload == nil {
		return nil
	}
	if payload[0] == '{' {
		var list struct{ Warnings []struct{ Alert capMessage } }
		if err := json.Unmarshal(payload, &list); err != nil {
			t.Fatal(err)
		}
		for _, w := range list.Warnings {
			all = append(all, w.Alert)
		}
		return all
	}
	if !utf8.Valid(payload) { // Canada's say UTF-8, and some are Windows-1252
		runes := make([]rune, len(payload))
		for i, b := range payload {
			runes[i] = rune(b)
		}
		payload = []byte(string(runes))
	}
	for d := xml.NewDecoder(bytes.NewReader(payload)); ; {
		token, err := d.Token()
		if err != nil {
			return all
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "alert" {
			var m capMessage
			if err := d.DecodeElement(&m, &start); err != nil {
				t.Fatal(err)
			}
			all = append(all, m)
		}
	}
}

// messagesOf returns the CAP messages of a folder, each read when it was sent, and the moments until all
// are over.
func messagesOf(t *testing.T, folder, pattern string) (all []snapshot) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(recordings.Path(t, folder), pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, error %v", folder, len(files), err)
	}
	for _, file := range files {
		payload := recordings.Read(t, filepath.Join(folder, filepath.Base(file)))
		for _, m := range capMessages(t, payload) {
			at, err := time.Parse(time.RFC3339, m.Sent)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, snapshot{payload, at.UTC()})
		}
	}
	slices.SortStableFunc(all, func(a, b snapshot) int { return a.at.Compare(b.at) })
	for i := range all[:len(all)-1] { // half an hour after each, if nothing comes before
		if next := all[i].at.Add(30 * time.Minute); next.Before(all[i+1].at) {
			all = append(all, snapshot{at: next})
		}
	}
	slices.SortStableFunc(all, func(a, b snapshot) int { return a.at.Compare(b.at) })
	return passing(all, 30*time.Minute, 6*time.Hour)
}
