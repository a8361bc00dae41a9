package model_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/model"
)

type instant = hazard.Instant

// noon is the start of every history.
var noon = hazard.At(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))

// step is one event of a history.
type step struct {
	At       instant
	Do       string
	Reports  []hazard.Report
	Drawings []model.Drawing
	Source   string
	Key      string
	Who      int  // number of the editor
	N, M     int  // which of the present hazards, and which other hazard or which of its events
	Any      bool // includes products of sources, when a product is moved
	Of2      bool // requires a hazard with at least two events, if there is one; for a withdrawal: the event has expired, as a list shows; for products: includes those of sources
	Fields   map[string]any
}

func (s step) String() string {
	text := fmt.Sprintf("%s %s", s.At.Time().Format("02T15:04:05.000"), s.Do)
	for _, r := range s.Reports {
		text += fmt.Sprintf("\n    %s:%s/%s v%s %q %s %s from %s", r.Source, r.Key, r.Part, stamp(instant(r.Version)), r.Name, r.Type, r.Severity, stamp(r.Start))
		if r.End != nil {
			text += " to " + stamp(*r.End)
		}
		if r.Ended != "" {
			text += " ended " + string(r.Ended)
		}
		if r.Successor != "" {
			text += " by " + r.Successor
		}
		if r.Relayed {
			text += " relayed"
		}
		for _, p := range r.Products {
			text += fmt.Sprintf(" [%s in %q %q]", p.Key, p.Parent, p.Title)
		}
		if r.Point != nil {
			text += fmt.Sprint(" at ", r.Point.Lon)
		}
		text += fmt.Sprint(" ", r.Places, r.Replaces, r.Refs, r.Aliases, r.Earlier)
		for _, a := range r.Areas {
			text += fmt.Sprint(" ", a.Role, " area ", places(a.Geometry))
		}
		if r.Category != "" || r.Called != "" {
			text += fmt.Sprintf(" %s called %q", r.Category, r.Called)
		}
		if r.Open {
			text += " open"
		}
		if r.Renewed != nil {
			text += " renewed " + stamp(*r.Renewed)
		}
		for _, m := range r.Measurements {
			text += fmt.Sprint(" ", m.Name, " ", m.Value, m.Scale)
		}
		for _, t := range r.Texts {
			text += fmt.Sprintf(" %s:%q own %t until %s", t.Language, t.Name, t.Own, stamp(t.Until))
		}
		if r.Minor {
			text += " minor"
		}
		if r.Suspect != "" {
			text += " suspect"
		}
	}
	for _, d := range s.Drawings {
		text += fmt.Sprintf("\n    draws %s/%s v%s %q", d.Key, d.Part, stamp(instant(d.Version)), d.Text)
	}
	if s.Key != "" {
		text += fmt.Sprintf(" %s:%s %t", s.Source, s.Key, s.Of2)
	}
	if s.Fields != nil || s.N != 0 {
		text += fmt.Sprintf(" by %d #%d #%d %v", s.Who, s.N, s.M, s.Fields)
	}
	return text
}

func stamp(i instant) string { return i.Time().Format("02T15:04:05.000") }

// abilities say what a history may contain.
type abilities struct {
	parts, people, late, quakes, names, merges, undo, held, years, products, drills, rules, slight, areas, aliases, splits, relays, next, many, folders, nested, renewed, fires, beside, redacts, verbose, linked, altered, moved, nowhere bool
}

// generator generates histories from a seed.
type generator struct {
	*rand.Rand
	can   abilities
	clock instant
	told  []*story
	began instant // of the present earthquake swarm
}

// story is all that a source will report about one event, in order.
type story struct {
	source, key string
	reports     []hazard.Report
	next        int // index of the first report not sent yet
}

// again gives a story the name of another, but different parts.
func (st *story) again(o *story) {
	for i := range st.reports {
		r := &st.reports[i]
		if !st.quake() {
			r.Part = st.key + r.Part
			r.Replaces = slices.Clone(r.Replaces)
			for j := range r.Replaces {
				r.Replaces[j] = st.key + r.Replaces[j]
			}
		}
		r.Source, r.Key = o.source, o.key
	}
	st.source, st.key = o.source, o.key
}

func (st *story) quake() bool { return st.reports[0].Type == hazard.Earthquake }

func history(seed uint64, steps int, can abilities) []step {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), can: can, clock: noon}
	var list []step
	for range steps {
		g.clock += instant(g.pause().Milliseconds())
		list = append(list, g.step())
	}
	return list
}

func (g *generator) one(in int) bool { return g.IntN(in) == 0 }

func (g *generator) pause() time.Duration {
	if g.can.years && g.one(15) {
		return time.Duration(g.IntN(120)) * 24 * time.Hour
	}
	switch g.IntN(10) {
	case 0:
		return 0
	case 1:
		return time.Duration(g.IntN(3)) * 24 * time.Hour
	case 2, 3, 4:
		return time.Duration(g.IntN(90)) * time.Second
	}
	return time.Duration(g.IntN(120)) * time.Minute
}

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

func (g *generator) step() step {
	s := step{At: g.clock, N: g.IntN(12), M: g.IntN(12)}
	most := 22
	if g.can.undo {
		most += 3
	}
	if g.can.held {
		most += 2
	}
	if g.can.products {
		s.Who, s.Of2, s.Any = g.IntN(3), g.can.altered, g.can.moved
		if g.can.nested && g.one(5) {
			s.Do, s.Fields = pick(g, "nest", "nest", "nest", "remove"), map[string]any{"title": g.name()}
			return s
		}
		if g.can.folders && g.one(2) {
			s.Do, s.Fields = pick(g, "add", "add", "add", "put", "put", "put", "remove"), map[string]any{"title": g.name(), "folder": g.one(2), "inside": !g.one(4), "restricted": g.one(4)}
			return s
		}
		if g.one(4) {
			s.Do, s.Fields = pick(g, "add", "add", "retitle", "remove"), map[string]any{"title": g.name(), "folder": g.one(3), "inside": g.one(2), "restricted": g.one(3)}
			return s
		}
	}
	if g.can.redacts && g.one(8) {
		s.Do, s.Fields = "redact", map[string]any{"fields": g.some("comment_Text", "description", "hazard_Name", "note", "snc_url")}
		return s
	}
	if g.can.splits && g.one(6) {
		s.Do, s.Of2 = pick(g, "split", "split", "unsplit", "unsplit", "merge", "undo"), true
		return s
	}
	n := g.IntN(most)
	switch {
	case n < 10 || len(g.told) == 0 || !g.can.people && n > 11:
		s.Do, s.N, s.M = "report", 0, 0
		s.Reports = g.payload()
		if (g.can.beside || g.can.verbose) && g.one(2) {
			s.Drawings = g.drawings(s.Reports)
		}
	case n == 10:
		st := pick(g, g.told...)
		s.Do, s.Source, s.Key, s.N = "withdraw", st.source, st.key, 0
		s.Of2 = g.can.renewed && g.one(2)
	case n == 11:
		s.Do, s.N, s.M = "pass", 0, 0
	case n == 12:
		s.Do, s.Fields = "create", map[string]any{"hazard_Name": g.name(), "type_ID": g.kind(), "severity_ID": g.level(),
			"latitude": 10.0, "longitude": float64(g.IntN(20)), "autoexpire": g.one(2)}
		if g.one(2) {
			s.Fields["end_Date"] = g.moment()
		}
		if g.can.drills && g.one(2) {
			s.Fields["category_ID"] = hazard.Exercise
		}
	case n == 13:
		s.Do = "end"
	case n == 14:
		s.Do = "retract"
	case n == 15 && g.can.merges:
		s.Do = "merge"
	case n == 16 && g.can.merges:
		s.Do = "split"
	case n >= 25:
		s.Do = pick(g, "release", "release", "dismiss")
	case n >= 22:
		s.Do = "undo"
	default:
		s.Do, s.Fields = "patch", g.fields()
	}
	return s
}

// some returns one or more items of a list, in its order.
func (g *generator) some(list ...string) []string {
	sure := pick(g, list...)
	return slices.DeleteFunc(list, func(s string) bool { return s != sure && !g.one(4) })
}

func (g *generator) fields() map[string]any {
	all := map[string]any{"hazard_Name": g.name(), "description": g.name(), "type_ID": g.kind(), "severity_ID": g.level(),
		"category_ID": pick(g, hazard.Event, hazard.Response, hazard.Other), "autoexpire": g.one(2), "start_Date": g.moment(), "end_Date": g.moment(),
		"latitude": float64(g.IntN(80)), "comment_Text": g.name()}
	names := []string{"hazard_Name", "description", "type_ID", "severity_ID", "category_ID", "autoexpire", "start_Date", "end_Date", "latitude", "comment_Text", "end_Date", "end_Date"}
	if g.can.areas {
		all["area"], names = model.Area(nil), append(names, "area", "area")
		if i := g.IntN(12); i < 6 {
			all["area"] = model.Area{fmt.Sprint(hazard.AlertArea, " ", i)}
		}
	}
	fields := map[string]any{}
	for range 1 + g.IntN(2) {
		name := pick(g, names...)
		fields[name] = all[name]
	}
	return fields
}

func (g *generator) name() string      { return pick(g, "Alpha", "Bravo", "Charlie", "Delta") }
func (g *generator) kind() hazard.Type { return pick(g, hazard.Flood, hazard.Tornado, hazard.HighWind) }
func (g *generator) level() hazard.Severity {
	return pick(g, hazard.Information, hazard.Advisory, hazard.Watch, hazard.Warning)
}

// moment returns a time near now, on a whole minute, so that several coincide.
func (g *generator) moment() instant {
	minute := instant(time.Minute.Milliseconds())
	return (g.clock/minute + instant(g.IntN(600)) - 240) * minute
}

// payload returns what a source sends at once: new and old reports, in any order.
func (g *generator) payload() []hazard.Report {
	if len(g.told) == 0 || g.one(4) && len(g.told) < 12 {
		st := g.story()
		if o := pick(g, append(g.told, st)...); g.can.years && g.one(2) && o.quake() == st.quake() { // names are reused
			st.again(o)
		}
		drill, nowhere := g.can.drills && g.one(3), g.can.nowhere && g.one(3)
		for i := range st.reports {
			if g.can.products && g.one(2) {
				st.reports[i].Products = g.products()
			}
			if g.can.drills && g.one(4) {
				st.reports[i].Category = pick(g, hazard.Response, hazard.Event, hazard.Exercise)
			} else if g.can.drills && drill {
				st.reports[i].Category = hazard.Exercise
			}
			if g.can.slight {
				st.reports[i].Minor = g.one(2)
			}
			if g.can.areas && !st.quake() {
				r := &st.reports[i]
				for range g.IntN(3) {
					r.Areas = append(r.Areas, hazard.Area{Role: pick(g, hazard.AlertArea, hazard.AlertArea, hazard.ImpactArea), Geometry: strip(g.IntN(6), 1+g.IntN(3))})
				}
				if len(r.Areas) > 0 && g.one(2) {
					r.Point = nil
				}
			}
			if g.can.renewed {
				g.renew(st, i)
			}
			if g.can.beside {
				g.beside(&st.reports[i])
			}
			if g.can.fires && st.reports[i].Point != nil && g.one(2) { // near the southern side of the areas
				st.reports[i].Point = &hazard.Point{Lon: float64(g.IntN(4)), Lat: 10 - float64(g.IntN(5))*0.02}
			}
			if g.can.nowhere && (nowhere || g.one(4)) {
				st.reports[i].Point, st.reports[i].Areas = nil, nil
			}
			if g.can.verbose {
				g.verbose(&st.reports[i])
			}
			if r := &st.reports[i]; g.can.redacts {
				r.Description, r.Comment, r.URL = pick(g, "", "in Alpha", "Bravo, Charlie"), pick(g, "", g.name()), pick(g, "", "https://example.org/Alpha", "https://example.org/b")
			}
			if g.can.held && g.one(6) {
				st.reports[i].Suspect = "it looks wrong"
			}
		}
		g.told = append(g.told, st)
	}
	source := pick(g, g.told...).source
	var reports []hazard.Report
	most := 3
	if g.can.many {
		most = 12
	}
	for range 1 + g.IntN(most) {
		st := pick(g, g.told...)
		if st.source != source {
			continue
		}
		i := st.next
		if i >= len(st.reports) || g.can.late && g.one(4) {
			i = g.IntN(len(st.reports)) // repeated, or out of order
		}
		st.next = max(st.next, i+1)
		reports = append(reports, st.reports[i])
	}
	if len(reports) == 0 {
		return g.payload()
	}
	if g.can.aliases && !g.can.linked {
		reports = reports[:1]
	}
	for i := range reports {
		if !g.can.aliases {
			break
		}
		if o := pick(g, g.told...); o.source == source && o.key != reports[i].Key && g.one(3) {
			if g.one(2) {
				reports[i].Aliases = []string{o.key}
			} else {
				reports[i].Earlier = []string{o.key}
			}
		}
	}
	return reports
}

// story generates the reports of a new event.
func (g *generator) story() *story {
	if g.can.rules && g.one(2) {
		return g.lasting()
	}
	if g.can.quakes && g.one(2) {
		return g.quake()
	}
	if g.can.relays && g.one(2) {
		return g.relayed()
	}
	st := &story{source: pick(g, "nws", "cap"), key: fmt.Sprint("e", len(g.told))}
	version, kind := int64(g.clock), g.kind()
	places := []string{"A", "B", "C"}
	for range 1 + g.IntN(6) {
		version += int64(g.IntN(90)) * 60_000
		r := hazard.Report{Source: st.source, Key: st.key, Version: version, Name: g.name(), Type: kind, Severity: g.level(),
			Start: instant(version).Add(time.Duration(g.IntN(60)-30) * time.Minute), Point: &hazard.Point{Lon: float64(g.IntN(5)), Lat: 5}}
		if g.one(2) {
			r.End = new(instant(version).Add(time.Duration(g.IntN(300)-20) * time.Minute))
		}
		switch g.IntN(8) {
		case 0:
			r.Ended = pick(g, hazard.EndCancelled, hazard.EndAllClear, hazard.EndExpired)
		case 1:
			r.Open = true
		case 2, 3:
			if g.can.next { // one that may be reported later, never, or is this event itself
				r.Ended, r.Successor = hazard.EndSuperseded, fmt.Sprint("e", g.IntN(12))
			}
		}
		if g.can.parts {
			r.Part = fmt.Sprint("p", len(st.reports))
			if g.can.aliases { // events share no parts
				r.Part = st.key + r.Part
			}
			if g.one(3) && len(st.reports) > 0 { // a new version of a part has the same places
				last := st.reports[len(st.reports)-1]
				r.Part, r.Places, r.Replaces = last.Part, last.Places, last.Replaces
				st.reports = append(st.reports, r)
				version++
				continue
			}
			if !g.one(4) {
				r.Places = places[:1+g.IntN(3)]
				if g.one(2) {
					r.Places = places[g.IntN(3):]
				}
			}
			if g.one(5) && len(st.reports) > 0 {
				r.Replaces = []string{pick(g, st.reports...).Part}
			}
		}
		r.Refs = g.refs()
		st.reports = append(st.reports, r)
		version++
	}
	return st
}

// relayed generates reports that a server passes on about a hazard of another server: one of ours,
// reported before or not yet, or an otherwise unknown one.
func (g *generator) relayed() *story {
	id := hazard.EventUUID(pick(g, "nws", "cap"), fmt.Sprint("e", g.IntN(12)))
	if g.one(6) {
		id = hazard.EventUUID("elsewhere", fmt.Sprint(g.IntN(3)))
	}
	st := &story{source: pick(g, "mirrored", "other"), key: id.String()}
	version, kind := int64(g.clock), g.kind()
	for range 1 + g.IntN(4) {
		version += int64(g.IntN(90)) * 60_000
		r := hazard.Report{Source: st.source, Key: st.key, UUID: id, Relayed: true, Version: version, Name: g.name(), Type: kind, Severity: g.level(),
			Start: instant(version).Add(time.Duration(g.IntN(60)-30) * time.Minute), Point: &hazard.Point{Lon: float64(g.IntN(5)), Lat: 6}, Refs: g.refs()}
		if g.one(2) {
			r.End = new(instant(version).Add(time.Duration(g.IntN(300)-20) * time.Minute))
		}
		switch g.IntN(6) {
		case 0:
			r.Ended = pick(g, hazard.EndWithdrawn, hazard.EndExpired)
		case 1, 2:
			r.Open = true
		}
		st.reports = append(st.reports, r)
		version++
	}
	return st
}

// refs returns names that a report gives its event: names of other events.
func (g *generator) refs() []string {
	if !g.can.names || !g.one(6) || len(g.told) == 0 {
		return nil
	}
	other := pick(g, g.told...)
	return []string{pick(g, other.source+":"+other.key, "glide:1")}
}

// products returns the products of a report: some in a folder with a text, and a text at the root.
func (g *generator) products() []hazard.ReportProduct {
	var list []hazard.ReportProduct
	if g.one(2) {
		list = append(list, hazard.ReportProduct{Key: "f", Title: g.name(), Type: hazard.FolderProduct},
			hazard.ReportProduct{Key: "c", Parent: "f", Title: g.name(), Type: hazard.TextProduct, Data: "c"})
	}
	return append(list, hazard.ReportProduct{Key: "r", Title: g.name(), Type: hazard.TextProduct, Data: "r"})
}

// renew adds to reports of a story until when the list renews the event, and how long the event
// lasts after that.
func (g *generator) renew(st *story, i int) {
	r := &st.reports[i]
	r.Ended = pick(g, r.Ended, "")
	if g.one(3) {
		return
	}
	r.LifeMS = int64(1+g.IntN(300)) * 60_000
	if g.one(2) {
		r.End = nil
	}
	if g.one(2) {
		r.Renewed = new(r.Start.Add(time.Duration(g.IntN(300)) * time.Minute))
	}
}

// beside adds to a report what a hazard shows in addition to its base record.
func (g *generator) beside(r *hazard.Report) {
	for _, q := range []hazard.Quantity{hazard.Depth, hazard.Magnitude, hazard.Wind} {
		if g.one(2) {
			m := hazard.Measurement{Name: q, Value: float64(g.IntN(3))}
			if q == hazard.Magnitude {
				m.Scale = pick(g, "", "mb", "mw")
			}
			r.Measurements = append(r.Measurements, m)
		}
	}
	for i, language := range []string{"en", "fr", "de"} {
		if g.one(2) {
			t := hazard.Text{Language: language, Name: g.name(), Description: pick(g, "", "here", "there"), Own: i == 0}
			if g.one(3) {
				t.Until = r.Start.Add(time.Duration(g.IntN(180)) * time.Minute)
			}
			r.Texts = append(r.Texts, t)
		}
	}
}

// verbose adds to a report more or longer texts than a hazard can have.
func (g *generator) verbose(r *hazard.Report) {
	for i := range g.IntN(20) {
		t := hazard.Text{Language: pick(g, "en", "EN", "fr", "de", fmt.Sprint("x-", g.IntN(30))), Name: g.name(), Description: fmt.Sprint("text ", g.IntN(9)), Own: i == 0}
		if g.one(4) {
			t.Description = strings.Repeat("long ", pick(g, 1000, 9000, 26000, 27000))
		}
		if g.one(4) {
			t.Until = r.Start.Add(time.Duration(g.IntN(180)) * time.Minute)
		}
		r.Texts = append(r.Texts, t)
	}
}

// drawings returns what a source draws for events in its reports, or for another event.
func (g *generator) drawings(reports []hazard.Report) (list []model.Drawing) {
	most := 2
	if g.can.verbose {
		most = 8
	}
	for range 1 + g.IntN(most) {
		d := model.Drawing{Key: pick(g, reports...).Key, Part: pick(g, "cone", "wind"), Version: int64(g.IntN(6)), Text: g.name()}
		if o := pick(g, g.told...); g.one(3) && o.source == reports[0].Source {
			d.Key = o.key
		}
		if g.can.verbose {
			d.Part = fmt.Sprint("s", g.IntN(12))
		}
		if g.one(5) {
			d.Text = ""
		}
		list = append(list, d)
	}
	return list
}

// lasting generates reports of a cyclone, a volcano or a wildfire, near others of its kind.
func (g *generator) lasting() *story {
	kind := pick(g, hazard.Cyclone, hazard.Volcano, hazard.Wildfire)
	st := &story{source: pick(g, map[hazard.Type][]string{hazard.Cyclone: {"nhc", "gdacs", "eonet"}, hazard.Volcano: {"gvp", "hans", "gdacs"},
		hazard.Wildfire: {"nifc", "eonet", "gdacs"}}[kind]...), key: fmt.Sprint("l", len(g.told))}
	called := pick(g, "Ana", "ANA", "Bo Ridge", "bo creek fire", "Fire Complex", "")
	lon, start := float64(g.IntN(6))*0.02, g.clock.Add(-time.Duration(g.IntN(80)*24)*time.Hour)
	for i := range 1 + g.IntN(4) {
		r := hazard.Report{Source: st.source, Key: st.key, Version: int64(g.clock) + int64(i)*3_600_000, Name: strings.TrimSpace(pick(g, "Tropical Cyclone ", "Typhoon ", "Super Typhoon ", "Lake ") + called),
			Type: kind, Severity: g.level(), Start: start, Point: &hazard.Point{Lon: lon, Lat: float64(g.IntN(2)) * 0.01}, Called: called, Refs: g.refs()}
		if g.one(2) {
			r.End = new(g.clock.Add(time.Duration(g.IntN(20)*24-100) * time.Hour))
		}
		if g.one(8) {
			r.Ended = pick(g, hazard.EndWithdrawn, hazard.EndExpired, hazard.EndAllClear)
		}
		st.reports = append(st.reports, r)
	}
	return st
}

// quake generates reports of an earthquake, near others in time and place. Its origin is revised.
func (g *generator) quake() *story {
	st := &story{source: pick(g, "usgs", "emsc", "gdacs"), key: fmt.Sprint("q", len(g.told))}
	if g.began == 0 || g.one(4) {
		g.began = g.clock - 600_000
	}
	for i := range 1 + g.IntN(4) {
		r := hazard.Report{Source: st.source, Key: st.key, Version: int64(g.clock) + int64(i)*60_000, Name: g.name(), Type: hazard.Earthquake, Severity: g.level(),
			Start: g.began + instant(g.IntN(12))*2000, Point: &hazard.Point{Lon: float64(g.IntN(10)) * 0.3}, Refs: g.refs()}
		if i > 0 && g.one(2) { // a revision of other data than its place
			last := st.reports[i-1]
			r.Start, r.Point = last.Start, last.Point
		}
		if g.one(12) {
			r.Ended = hazard.EndWithdrawn
		}
		st.reports = append(st.reports, r)
	}
	return st
}
