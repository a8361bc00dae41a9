package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// What is true of sources of which texts or single documents are recorded.

// between adds the moments after each snapshot at which nothing comes, up to the next one.
func between(all []snapshot, every, until time.Duration) (out []snapshot) {
	for i, s := range all {
		for _, more := range passing([]snapshot{s}, every, until) {
			if i+1 == len(all) || more.at.Before(all[i+1].at) {
				out = append(out, more)
			}
		}
	}
	return out
}

// parsed parses a time.
func parsed(t *testing.T, form, text string) time.Time {
	t.Helper()
	at, err := time.Parse(form, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC()
}

// found returns what the groups of a form match in a text.
func found(t *testing.T, form, text string) []string {
	t.Helper()
	m := regexp.MustCompile(form).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in %.200q", form, text)
	}
	return m[1:]
}

// forecastsOfCanada are the lists that Avalanche Canada would have had: the recorded products that were
// issued by then.
func forecastsOfCanada(t *testing.T) (all []snapshot) {
	t.Helper()
	var products []string
	for _, s := range snapshots(t, "feeds/avalanche-canada", "20251001T1840Z product-corner-brook-early-season-20251001.json", "20251206T0010Z product-haines-pass-20251206.json",
		"20251219T0010Z product-sea-to-sky-20251219.json", "20251226T2210Z product-chic-chocs-20251226.json", "20251228T0010Z product-banff-20251228.json") {
		products = append(products, string(s.payload))
		all = append(all, snapshot{[]byte("[" + strings.Join(products, ",") + "]"), s.at})
	}
	return between(all, 3*time.Hour, 2*day)
}

// avalanchesOfCanada reads the list of Avalanche Canada: forecasts with a danger of level 3 or more on a
// day that begins before they expire.
func avalanchesOfCanada() truth {
	type lists []struct {
		Report struct {
			DateIssued, ValidUntil time.Time
			Title                  string
			DangerRatings          []struct {
				Date    struct{ Value time.Time }
				Ratings map[string]struct{ Rating struct{ Value string } }
			}
		}
	}
	scale := []string{"considerable", "high", "extreme"}
	return lasts(func(_ *testing.T, known *lasting, list lists, _ time.Time) {
		for _, p := range list {
			worst := -1
			for _, d := range p.Report.DangerRatings {
				for _, r := range d.Ratings {
					if d.Date.Value.AddDate(0, 0, -1).Before(p.Report.ValidUntil) {
						worst = max(worst, slices.Index(scale, r.Rating.Value))
					}
				}
			}
			if worst >= 0 {
				key := strings.ToLower(slices.Min(strings.Split(p.Report.Title, "-")))
				known.set(key, fact{typ: "AVALANCHE", start: p.Report.DateIssued, level: []string{"ADVISORY", "WATCH", "WARNING"}[worst]}, p.Report.ValidUntil)
			}
		}
	})
}

// warningsOfGermany reads the lists of MoWaS, and its warnings. What is listed is in force, until two
// lists do not name it.
func warningsOfGermany(t *testing.T) truth {
	t.Helper()
	documents, listed := map[string]capMessage{}, map[string]bool{}
	return func(t *testing.T, payload []byte, at time.Time) map[string]fact {
		t.Helper()
		if payload[0] == '[' {
			var list []struct{ ID string }
			if err := json.Unmarshal(payload, &list); err != nil {
				t.Fatal(err)
			}
			clear(listed)
			for _, e := range list {
				listed[e.ID] = true
			}
		} else {
			var m capMessage
			if err := json.Unmarshal(payload, &m); err != nil {
				t.Fatal(err)
			}
			documents[m.Identifier] = m
		}
		force := map[string]fact{}
		for id, m := range documents {
			if listed[id] && m.MsgType != "Cancel" {
				level := map[string]string{"Extreme": "WARNING", "Severe": "WATCH", "Moderate": "ADVISORY", "Minor": "INFORMATION"}[m.Info[0].Severity]
				force[m.name()] = fact{start: parsed(t, time.RFC3339, m.Sent), level: level}
			}
		}
		return force
	}
}

// bulletinsOfEurope reads the bulletins of avalanche warning services: those with a danger of level 3 or
// more, by service, until they expire or the service's next document.
func bulletinsOfEurope() truth {
	type lists struct {
		Bulletins []struct {
			ValidTime       struct{ StartTime, EndTime time.Time }
			PublicationTime *time.Time
			DangerRatings   []struct{ MainValue string }
			Regions         []struct{ RegionID string }
		}
	}
	scale := []string{"considerable", "high", "very_high"}
	first := map[string]time.Time{}
	return lasts(func(t *testing.T, known *lasting, list lists, _ time.Time) {
		clear(known.facts)
		for _, b := range list.Bulletins {
			worst, services := -1, map[string][]string{}
			for _, r := range b.DangerRatings {
				worst = max(worst, slices.Index(scale, r.MainValue))
			}
			for _, r := range b.Regions {
				service := r.RegionID[:2]
				if service != "CH" {
					service = found(t, `^(AT-\d\d|IT-32-[A-Z]+)-`, r.RegionID)[0]
				}
				services[service] = append(services[service], r.RegionID)
			}
			for _, ids := range services {
				if worst < 0 {
					continue
				}
				key := slices.Min(ids)
				// Within 90 days a name is the same event, unless a bulletin says that it began long before its issue.
				if p := b.PublicationTime; b.ValidTime.StartTime.After(known.until[key].Add(90*day)) || p != nil && p.After(b.ValidTime.StartTime.Add(time.Hour)) {
					first[key] = b.ValidTime.StartTime
				}
				f := fact{typ: "AVALANCHE", start: first[key], level: []string{"ADVISORY", "WATCH", "WARNING"}[worst]}
				var shapes []geo.Shape
				for _, id := range ids {
					if shape, ok := (region.Finder{}).Shape(t.Context(), "EAWS:"+id); ok {
						shapes = append(shapes, shape)
					}
				}
				if len(shapes) == len(ids) {
					area, err := geo.Union(shapes...)
					if err != nil {
						t.Fatal(err)
					}
					f.area = area
				}
				known.set(key, f, b.ValidTime.EndTime)
			}
		}
	})
}

// eventsOfEONET reads lists of EONET, with an event or a position a record. An event counts for some time
// after its last position. Ice and prescribed fires are none.
func eventsOfEONET() truth {
	type event struct {
		ID, Title  string
		Categories []struct{ ID string }
		Sources    []struct{ ID, URL string }
	}
	type position struct {
		Date           time.Time
		MagnitudeValue number
		MagnitudeUnit  string
		Coordinates    json.RawMessage
	}
	type lists struct {
		Events []struct {
			event
			Geometry []position
		}
		Features []struct {
			Properties struct {
				event
				position
			}
			Geometry struct{ Coordinates json.RawMessage }
		}
	}
	lives := map[string]time.Duration{"severeStorms": day, "volcanoes": 8 * day, "wildfires": 7 * day}
	return lasts(func(t *testing.T, known *lasting, list lists, _ time.Time) {
		events, tracks := map[string]event{}, map[string][]position{}
		for _, e := range list.Events {
			events[e.ID], tracks[e.ID] = e.event, e.Geometry
		}
		for _, f := range list.Features {
			p := f.Properties
			p.position.Coordinates = f.Geometry.Coordinates
			events[p.ID], tracks[p.ID] = p.event, append(tracks[p.ID], p.position)
		}
		for id, e := range events {
			kind, track := e.Categories[0].ID, tracks[id]
			if kind == "seaLakeIce" || strings.Contains(e.Title, "Prescribed Fire") {
				continue
			}
			slices.SortStableFunc(track, func(a, b position) int { return a.Date.Compare(b.Date) })
			last := track[len(track)-1]
			storm := slices.ContainsFunc(e.Sources, func(s struct{ ID, URL string }) bool { return s.ID == "JTWC" || s.ID == "NOAA_NHC" })
			f := fact{start: track[0].Date, level: "ADVISORY"}
			switch strength := last.MagnitudeValue.v; {
			case kind == "severeStorms" && storm && strength >= 64:
				f.level = "WARNING"
			case kind == "severeStorms" && (storm && strength >= 34 || strength >= 64), kind == "wildfires" && strength >= 10_000:
				f.level = "WATCH"
			}
			_ = json.Unmarshal(last.Coordinates, &f.point) // but a polygon
			life, ok := lives[kind]
			if !ok {
				t.Fatalf("%s: %s", id, kind)
			}
			if until := last.Date.Add(life); !known.until[id].After(until) { // a list may be older than the one before
				known.set(id, f, until)
			}
		}
	})
}

// volcanoesOfTheWorld reads the weekly report of the Smithsonian Institution. A report counts for eight
// days.
func volcanoesOfTheWorld() truth {
	return told(func(t *testing.T, known *lasting, text string, _ time.Time) {
		for item := range strings.SplitSeq(text, "<item>") {
			if !strings.Contains(item, "#vn_") {
				continue
			}
			point := strings.Fields(found(t, `<georss:point>(.*)</georss:point>`, item)[0])
			lat, errLat := strconv.ParseFloat(point[0], 64)
			lon, errLon := strconv.ParseFloat(point[1], 64)
			if errLat != nil || errLon != nil {
				t.Fatal(errLat, errLon)
			}
			week := found(t, `Report for (\d+ \w+)-\d+ \w+ (\d+)`, item)
			known.set(found(t, `#vn_(\d+)`, item)[0], fact{start: parsed(t, "2 January 2006", week[0]+" "+week[1]), level: "INFORMATION", point: [2]float64{lon, lat}},
				parsed(t, time.RFC1123Z, found(t, `<pubDate>(.*)</pubDate>`, item)[0]).Add(8*day))
		}
	})
}

// riversOfJapan reads flood forecasts, which count for two days.
func riversOfJapan() truth {
	return told(func(t *testing.T, known *lasting, text string, _ time.Time) {
		river := found(t, `<EventID>(\d+)</EventID>`, text)[0]
		code := found(t, `(?s)<Headline>.*?<Kind>.*?<Code>(\d)\d</Code>`, text)[0]
		start := parsed(t, time.RFC3339, found(t, `<ReportDateTime>(.*)</ReportDateTime>`, text)[0])
		f := fact{typ: "FLOOD", start: start, level: map[string]string{"2": "ADVISORY", "3": "WARNING", "4": "WARNING", "5": "WARNING"}[code]}
		known.set("river-"+river, f, start.Add(2*day))
	})
}

// warningsOfTheJTWC are the recorded texts, read when they came.
func warningsOfTheJTWC(t *testing.T) (all []snapshot) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(recordings.Path(t, "feeds/jtwc/pdc-raw"), "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		ms, err := strconv.ParseInt(strings.Split(filepath.Base(file), ".")[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, snapshot{recordings.Read(t, "feeds/jtwc/pdc-raw/"+filepath.Base(file)), time.UnixMilli(ms).UTC()})
	}
	all = append(all, snapshots(t, "feeds/jtwc", "20260809T0310Z jtwc-abpw.txt", "20260809T0311Z jtwc-abio-busy.txt")...)
	slices.SortStableFunc(all, func(a, b snapshot) int { return a.at.Compare(b.at) })
	return between(all, 6*time.Hour, 2*day)
}

// stormsOfTheJTWC reads warnings and advisories of the Joint Typhoon Warning Center. A storm counts for a
// day after the last one.
func stormsOfTheJTWC() truth {
	const where = `(\d+\.\d)([NS])\s+(\d+\.\d)([EW])`
	warning := regexp.MustCompile(`(?s)(\d\d)([A-Z]) \([A-Z-]+\) WARNING NR.*?(\d\d)(\d\d)(\d\d)Z --- NEAR ` + where + `.*?WINDS - (\d+) KT`)
	summary := regexp.MustCompile(`(?s)AT (\d\d)(?:\w{3})\d\d (\d\d)(\d\d)Z,[A-Z\s]+(\d\d)([A-Z])\s+\([A-Z-]+\)\s+WAS\s+LOCATED\s+NEAR\s+` + where + `.*?ESTIMATED\s+AT\s+(\d+)\s+KNOTS`)
	return told(func(t *testing.T, known *lasting, text string, at time.Time) {
		add := func(number, letter, d, h, m string, place []string, wind string) {
			start := parsed(t, "2006-01-02 1504", at.Format("2006-01-")+d+" "+h+m)
			lat, errLat := strconv.ParseFloat(place[0], 64)
			lon, errLon := strconv.ParseFloat(place[2], 64)
			kt, errKt := strconv.Atoi(wind)
			if errLat != nil || errLon != nil || errKt != nil {
				t.Fatal(errLat, errLon, errKt)
			}
			if place[1] == "S" {
				lat = -lat
			}
			if place[3] == "W" {
				lon = -lon
			}
			level := "ADVISORY"
			if kt >= 64 {
				level = "WARNING"
			} else if kt >= 34 {
				level = "WATCH"
			}
			year, basin := start.Year(), map[string]string{"W": "wp", "A": "io", "B": "io", "S": "sh", "P": "sh"}[letter]
			if basin == "sh" && start.Month() >= time.July {
				year++
			}
			known.set(fmt.Sprintf("%s%s%d", basin, number, year), fact{start: start, level: level, point: [2]float64{lon, lat}}, start.Add(day))
		}
		if m := warning.FindStringSubmatch(text); m != nil {
			add(m[1], m[2], m[3], m[4], m[5], m[6:10], m[10])
		}
		for _, m := range summary.FindAllStringSubmatch(text, -1) {
			add(m[4], m[5], m[1], m[2], m[3], m[6:10], m[10])
		}
	})
}

// messagesOfTheNGA are the recorded list of 2023, and those of HYDROARC on ten days of 2026, in the form
// of the list.
func messagesOfTheNGA(t *testing.T) []snapshot {
	t.Helper()
	all := snapshots(t, "feeds/nga-msi", "20230417T1400Z broadcast-warn-202304.json")
	var days []struct {
		Recorded time.Time
		Messages []struct {
			Sent string `json:"raw_dtg"`
			Body string
		}
	}
	if err := json.Unmarshal(recordings.Read(t, "feeds/nga-msi/derived-hydroarc-202608.json"), &days); err != nil {
		t.Fatal(err)
	}
	for _, d := range days {
		list, seen := []map[string]any{}, map[string]bool{}
		for _, m := range d.Messages {
			id := found(t, `HYDROARC (\d+)/(\d\d)`, m.Body)
			if seen[id[0]] {
				continue
			}
			seen[id[0]] = true
			_, text, _ := strings.Cut(m.Body, "\n")
			list = append(list, map[string]any{"navArea": "C", "msgNumber": id[0], "msgYear": "20" + id[1], "issueDate": m.Sent[:len(m.Sent)-2] + "20" + id[1], "text": text, "status": "A"})
		}
		payload, err := json.Marshal(map[string]any{"broadcast-warn": list})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, snapshot{payload, d.Recorded.UTC()})
	}
	return all
}

// dangersToShips reads a list of the NGA: what is listed, names a danger and is not cancelled. Positions
// of what drifts count for 30 days.
func dangersToShips(t *testing.T, payload []byte, at time.Time) map[string]fact {
	t.Helper()
	var list struct {
		Messages []struct {
			NavArea, IssueDate, Text string
			MsgNumber, MsgYear       number
		} `json:"broadcast-warn"`
	}
	if err := json.Unmarshal(payload, &list); err != nil {
		t.Fatal(err)
	}
	series := map[string]string{"4": "NAVAREA IV", "12": "NAVAREA XII", "A": "HYDROLANT", "P": "HYDROPAC", "C": "HYDROARC"}
	text, cancelled := map[string]string{}, map[string]bool{}
	for _, m := range list.Messages {
		plain := strings.Join(strings.Fields(m.Text), " ")
		text[fmt.Sprintf("%s-%.0f-%.0f", m.NavArea, m.MsgNumber.v, m.MsgYear.v)] = plain
		for area, name := range series {
			for _, c := range regexp.MustCompile("CANCEL "+name+` (\d+)/(?:20)?(\d\d)`).FindAllStringSubmatch(plain, -1) {
				cancelled[area+"-"+c[1]+"-20"+c[2]] = true
			}
		}
	}
	all := map[string]fact{}
	for _, m := range list.Messages {
		key := fmt.Sprintf("%s-%.0f-%.0f", m.NavArea, m.MsgNumber.v, m.MsgYear.v)
		level, drifts := dangerAtSea(text[key])
		issued := parsed(t, "021504Z Jan 2006", m.IssueDate)
		f := fact{typ: "MARINE", start: issued, level: level, point: onlyPosition(t, text[key])}
		if c := regexp.MustCompile(`CANCEL THIS MSG (\d{6}Z [A-Z]{3}) (?:20)?(\d\d)`).FindStringSubmatch(text[key]); c != nil {
			f.end = parsed(t, "021504Z Jan 06", c[1]+" "+c[2])
		}
		if level != "" && !cancelled[key] && (!drifts || issued.Add(30*day).After(at)) && (f.end.IsZero() || f.end.After(at)) {
			all[key] = f
		}
	}
	return all
}

// onlyPosition returns the position of a text with one, or 0, 0.
func onlyPosition(t *testing.T, text string) (point [2]float64) {
	t.Helper()
	all := regexp.MustCompile(`(\d+)-(\d+\.\d+)([NS]) (\d+)-(\d+\.\d+)([EW])`).FindAllStringSubmatch(text, -1)
	if len(all) != 1 || strings.Count(text, "-") != 2 {
		return point
	}
	for i, at := range []int{4, 1} {
		var degrees, minutes float64
		if _, err := fmt.Sscan(all[0][at]+" "+all[0][at+1], &degrees, &minutes); err != nil {
			t.Fatal(err)
		}
		point[i] = degrees + minutes/60
		if strings.Contains("WS", all[0][at+2]) {
			point[i] = -point[i]
		}
	}
	return point
}

// dangerAtSea returns the level of a message by the words in it, and whether it drifts.
func dangerAtSea(text string) (level string, drifts bool) {
	has := func(words string) bool { return regexp.MustCompile(`\b(` + words + `)\b`).MatchString(text) }
	switch {
	case strings.Contains(text, "IN FORCE AS OF"), has("DISTRESS|REQUESTING ASSISTANCE|REQUESTS ASSISTANCE|OVERBOARD|ASSIST IF POSSIBLE"):
		return "", false
	case has("(DRIFTING|FLOATING|SEA) MINES?|MINE DANGER|MINEFIELDS?|MINES? (SIGHTED|REPORTED|LAID)"):
		return "WARNING", false
	case has("PIRA[A-Z]+|HIJACK[A-Z]*|ATTACK(S|ED)?|ARMED ROBBERY|BOARDED BY|FIRED UPON BY|ORDNANCE|EXPLOSIVES?|TORPEDO(ES)?|BOMBS?|DEPTH CHARGE|VOLCANIC ACTIVITY|SUBMARINE VOLCAN[A-Z]*|ERUPTION|ERUPTING|PUMICE|TSUNAMI"):
		return "WATCH", false
	case has("ICEBERGS?"):
		return "ADVISORY", true
	case has("HAZARDOUS OPERATIONS?|ROCKET LAUNCH[A-Z]*|SPACE DEBRIS|GUNNERY|FIRING|BOMBING|MISSILES?"):
		return "ADVISORY", false
	case has("DERELICT|ADRIFT|PARTIALLY SUBMERGED|CAPSIZED|DRIFTING"):
		return "ADVISORY", true
	case has("DANGEROUS WRECK|SUNKEN|SANK|SUNK") && !has("(LIGHT|BUOY)S?"):
		return "INFORMATION", false
	}
	return "", false
}

// messagesOfThePAAQ are the recorded messages of the center at Palmer, each read when it was sent.
func messagesOfThePAAQ(t *testing.T) (all []snapshot) {
	t.Helper()
	var list struct{ Alerts map[string]json.RawMessage }
	if err := json.Unmarshal(recordings.Read(t, "feeds/tsunami/derived-ntwc-cap-2022.json"), &list); err != nil {
		t.Fatal(err)
	}
	for id, raw := range list.Alerts {
		var m struct{ Sent time.Time }
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, snapshot{fmt.Appendf(nil, `{"alerts":{%q:%s}}`, id, raw), m.Sent.UTC()})
	}
	slices.SortFunc(all, func(a, b snapshot) int { return a.at.Compare(b.at) })
	return between(all, 3*time.Hour, 30*time.Hour)
}

// tsunamisByPAAQ reads messages, of which each repeats all that is in force: for a day, or six hours if
// there is no threat. "Until cancelled" is what they say: expires is when the next message is due.
func tsunamisByPAAQ() truth {
	type lists struct {
		Alerts map[string]struct {
			Incidents string
			Sent      time.Time
			Info      []struct {
				Event      string
				Parameters []struct {
					Name  string `json:"valueName"`
					Value any    `json:"value"`
				} `json:"parameter_list"`
			} `json:"info_list"`
		}
	}
	ranks := []string{"INFORMATION", "ADVISORY", "WATCH", "WARNING"}
	return lasts(func(t *testing.T, known *lasting, list lists, _ time.Time) {
		for _, m := range list.Alerts {
			f, until, rank := fact{}, m.Sent, -1
			for _, i := range m.Info {
				for _, p := range i.Parameters {
					switch p.Name {
					case "EventOriginTime":
						f.start = parsed(t, time.RFC3339, fmt.Sprint(p.Value))
					case "EventLatLon":
						if _, err := fmt.Sscanf(fmt.Sprint(p.Value), "%g,%g", &f.point[1], &f.point[0]); err != nil {
							t.Fatal(err)
						}
					}
				}
				if i.Event == "Tsunami Cancellation" {
					continue
				}
				r := slices.Index(ranks, strings.ToUpper(strings.TrimPrefix(i.Event, "Tsunami ")))
				rank, until = max(rank, r), m.Sent.Add(day)
				if rank == 0 {
					until = m.Sent.Add(6 * time.Hour)
				}
			}
			delete(known.facts, m.Incidents)
			if rank >= 0 {
				f.level = ranks[rank]
				known.set(m.Incidents, f, until)
			}
		}
	})
}

// ashOfVolcanoes reads advisories of volcanic ash, which count until three hours after the next one is due.
func ashOfVolcanoes() truth {
	return told(func(t *testing.T, known *lasting, text string, _ time.Time) {
		var lat, latMinutes, lon, lonMinutes float64
		if _, err := fmt.Sscanf(found(t, `PSN: (N\d+ W\d+)`, text)[0], "N%2f%2f W%3f%2f", &lat, &latMinutes, &lon, &lonMinutes); err != nil {
			t.Fatal(err)
		}
		known.set(found(t, `VOLCANO: [A-Z]+ (\d+)`, text)[0],
			fact{start: parsed(t, "20060102/1504Z", found(t, `DTG: (\d\S+)`, text)[0]), level: "INFORMATION", point: [2]float64{-lon - lonMinutes/60, lat + latMinutes/60}},
			parsed(t, "20060102/1504Z", found(t, `NXT ADVISORY: WILL BE ISSUED BY (\d\S+)`, text)[0]).Add(3*time.Hour))
	})
}

// bulletinOfVigicrues is the recorded national bulletin in the form of the list that is polled, of which
// there is no recording: without the lines of the rivers. A second one has only green stretches.
func bulletinOfVigicrues(t *testing.T) []snapshot {
	t.Helper()
	type entity struct {
		Code  string `json:"vic:CdEntVigiCru"`
		Type  string `json:"vic:TypEntVigiCru"`
		Level string `json:"-"`
	}
	levels := map[string]string{}
	var walk func(raw json.RawMessage)
	walk = func(raw json.RawMessage) {
		var i struct {
			Level  string            `json:"vic:NivInfoVigiCru"`
			Entity entity            `json:"vic:porteSurLEntite"`
			Below  []json.RawMessage `json:"vic:estLaSyntheseDe"`
		}
		if err := json.Unmarshal(raw, &i); err != nil {
			t.Fatal(err)
		}
		if i.Entity.Type == "8" {
			levels[i.Entity.Code] = i.Level
		}
		for _, b := range i.Below {
			walk(b)
		}
	}
	var doc struct {
		Info json.RawMessage `json:"vic:InfoVigiCru"`
	}
	if err := json.Unmarshal(recordings.Read(t, "feeds/vigicrues/info-national-detail-20210124.json"), &doc); err != nil {
		t.Fatal(err)
	}
	walk(doc.Info)
	list := func(level func(string) string) []byte {
		features := []any{}
		for _, code := range slices.Sorted(maps.Keys(levels)) {
			features = append(features, map[string]any{"type": "Feature", "geometry": nil, "properties": map[string]string{"CdEntCru": code, "LbEntCru": code, "NivInfViCr": level(code)}})
		}
		payload, err := json.Marshal(map[string]any{"type": "FeatureCollection", "features": features})
		if err != nil {
			t.Fatal(err)
		}
		return payload
	}
	at := time.Date(2021, 1, 24, 16, 0, 0, 0, time.UTC)
	as, green := list(func(code string) string { return levels[code] }), list(func(string) string { return "1" })
	return []snapshot{{as, at}, {as, at.Add(18 * time.Hour)}, {green, at.Add(day)}, {green, at.Add(25 * time.Hour)}}
}

// floodsOfFrance reads the list of stretches of rivers: those that are not green.
func floodsOfFrance(t *testing.T, payload []byte, _ time.Time) map[string]fact {
	t.Helper()
	var list struct {
		Features []struct {
			Properties struct{ CdEntCru, NivInfViCr string }
		}
	}
	if err := json.Unmarshal(payload, &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]fact{}
	for _, f := range list.Features {
		if level := map[string]string{"2": "ADVISORY", "3": "WATCH", "4": "WARNING"}[f.Properties.NivInfViCr]; level != "" {
			all[f.Properties.CdEntCru] = fact{typ: "FLOOD", level: level}
		}
	}
	return all
}

// newsOfTheWHO are the lists that the WHO would have had: the recorded reports that were published by
// then, and the weeks after the last.
func newsOfTheWHO(t *testing.T) (all []snapshot) {
	t.Helper()
	var list struct {
		Value []json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(recordings.Read(t, "feeds/who-don/emergencies-api-20241018.json"), &list); err != nil {
		t.Fatal(err)
	}
	for i := len(list.Value) - 1; i >= 0; i-- { // the newest is the first
		var n struct{ PublicationDateAndTime time.Time }
		errN := json.Unmarshal(list.Value[i], &n)
		payload, err := json.Marshal(map[string]any{"value": list.Value[i:]})
		if err != nil || errN != nil {
			t.Fatal(err, errN)
		}
		all = append(all, snapshot{payload, n.PublicationDateAndTime.Add(time.Hour).UTC()})
	}
	return between(all, day, 50*day)
}

// outbreaks reads the Disease Outbreak News of WHO. An outbreak counts for six weeks after the last report
// of it. Reports about a region, or about no country, have no place.
func outbreaks() truth {
	type lists struct {
		Value []struct {
			Title                  string
			PublicationDateAndTime time.Time
			EmergencyEvent         struct {
				EventID                 string
				EmergencyEventStartDate time.Time
			}
		}
	}
	return lasts(func(t *testing.T, known *lasting, list lists, _ time.Time) {
		t.Helper()
		for _, n := range list.Value {
			key, until := strings.TrimSpace(n.EmergencyEvent.EventID), n.PublicationDateAndTime.Add(42*day)
			if strings.Contains(n.Title, "Region") || strings.Contains(n.Title, "Global") || !strings.ContainsAny(n.Title, "–-") || known.until[key].After(until) {
				continue
			}
			start := n.EmergencyEvent.EmergencyEventStartDate
			if !start.Before(n.PublicationDateAndTime) {
				start = n.PublicationDateAndTime
			}
			country := strings.TrimSpace(found(t, `.*[–-](.*)`, n.Title)[0])
			if name, ok := shortNames[country]; ok {
				country = name
			}
			known.set(key, fact{typ: "BIOMEDICAL", start: start, level: "ADVISORY", place: country}, until)
		}
	})
}

// shortNames are the countries that WHO and ReliefWeb call otherwise than the map does.
var shortNames = map[string]string{
	"Kingdom of Saudi Arabia": "Saudi Arabia", "The Republic of Rwanda": "Rwanda", "Viet Nam": "Vietnam", "Iran (Islamic Republic of)": "Iran",
}

// disastersOfReliefWeb reads the RSS of ReliefWeb. A sudden disaster counts for two weeks after its day,
// an epidemic for 60 days. Earthquakes are left to others.
func disastersOfReliefWeb() truth {
	types := map[string]string{"FL": "FLOOD", "EP": "BIOMEDICAL", "ST": "STORM"}
	return told(func(t *testing.T, known *lasting, text string, _ time.Time) {
		t.Helper()
		for item := range strings.SplitSeq(text, "<item>") {
			if !strings.Contains(item, "Glide: ") {
				continue
			}
			glide := found(t, `Glide: ([A-Z]{2}-\d{4}-\d{6}-[A-Z]{3})`, item)[0]
			kind, life := types[glide[:2]], 14*day
			if kind == "" {
				continue
			}
			if kind == "BIOMEDICAL" {
				life = 60 * day
			}
			start := parsed(t, time.RFC1123Z, found(t, `<pubDate>(.*)</pubDate>`, item)[0])
			country := found(t, `<title>([^:<]*):`, item)[0]
			if strings.Contains(country, "/") { // several: that of the number
				country = ""
			}
			known.set(glide, fact{typ: kind, level: "INFORMATION", start: start, place: country}, start.Add(life))
		}
	})
}

// catalogsOfCISA are the recorded states of the catalog.
func catalogsOfCISA(t *testing.T) (all []snapshot) {
	t.Helper()
	for _, on := range []string{"20260725", "20260728", "20260730", "20260804", "20260805", "20260806", "20260807", "20260808"} {
		all = append(all, snapshots(t, "feeds/cisa-kev", on+"T1200Z known_exploited_vulnerabilities-"+on+"-excerpt.json")...)
	}
	return all
}

// vulnerabilities reads the catalog of CISA. A vulnerability counts for two weeks after the day on which
// it was added, and is in the United States.
func vulnerabilities() truth {
	type lists struct {
		Vulnerabilities []struct{ CVEID, DateAdded string }
	}
	return lasts(func(t *testing.T, known *lasting, list lists, _ time.Time) {
		t.Helper()
		for _, v := range list.Vulnerabilities {
			start := parsed(t, time.DateOnly, v.DateAdded)
			known.set(v.CVEID, fact{typ: "CYBER", level: "INFORMATION", start: start, place: "United States"}, start.Add(14*day))
		}
	})
}
