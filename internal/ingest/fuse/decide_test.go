package fuse

import (
	"slices"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// The times of these tests.
var (
	now   = hazard.At(time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC))
	begin = now.Add(-time.Hour)
)

// flood returns a report of one part of a flood, in force for a day from its start. Its version counts from there.
func flood(part string, version int64, change ...func(*hazard.Report)) hazard.Report {
	r := hazard.Report{Source: "x", Key: "e1", Part: part, Version: int64(begin) + version, Name: "Flood", Type: hazard.Flood,
		Severity: hazard.Watch, Start: begin, LifeMS: (24 * time.Hour).Milliseconds()}
	for _, f := range change {
		f(&r)
	}
	return r
}

func ended(reason hazard.EndReason) func(*hazard.Report) {
	return func(r *hazard.Report) { r.Ended, r.EndedAt = reason, &now }
}

func began(ago time.Duration) func(*hazard.Report) {
	return func(r *hazard.Report) { r.Start = now.Add(-ago) }
}

func slightly(r *hazard.Report) { r.Minor = true }

func stripped(r *hazard.Report) { r.Name = "" }

func alias(refs ...string) func(*hazard.Report) { return func(r *hazard.Report) { r.Refs = refs } }

func drawn(version int64, digest string) hazard.ShapesRef {
	return hazard.ShapesRef{Source: "x", Part: "track", Version: version, Digest: digest}
}

func TestDecide(t *testing.T) {
	parts := func(all ...hazard.Report) []hazard.Report { return all }
	for name, tt := range map[string]struct {
		in      event
		opts    Options
		outcome outcome
		slight  bool
		saves   []int64 // versions of the parts that are stored
		added   []string
		refs    []string
	}{
		"a first report makes a hazard": {
			in: event{reports: parts(flood("a", 1))}, outcome: counted, saves: []int64{1}, added: []string{"a"}},
		"a slight first report belongs to a hazard, but makes none": {
			in: event{reports: parts(flood("a", 1, slightly))}, outcome: counted, slight: true, saves: []int64{1}, added: []string{"a"}},
		"one of several reports that is not slight is enough": {
			in:      event{reports: parts(flood("a", 1), flood("a", 2, slightly))},
			outcome: counted, saves: []int64{1, 2}, added: []string{"a"}},
		"suspect reports alone wait": {
			in: event{reports: parts(flood("a", 1)), held: []bool{true}}, outcome: held},
		"a suspect report beside others changes nothing": {
			in:      event{inHazard: true, parts: parts(flood("a", 1)), reports: parts(flood("a", 2)), held: []bool{true}},
			outcome: unchanged},
		"the same report again is no news": {
			in: event{inHazard: true, parts: parts(flood("a", 1)), reports: parts(flood("a", 1))}, outcome: unchanged},
		"an older report is no news": {
			in: event{inHazard: true, parts: parts(flood("a", 2)), reports: parts(flood("a", 1))}, outcome: unchanged},
		"the same report counts again once places are known": {
			in:   event{inHazard: true, parts: parts(flood("a", 1)), reports: parts(flood("a", 1))},
			opts: Options{Again: true}, outcome: counted},
		"the same report counts again under a new name": {
			in: event{inHazard: true, renamed: true, parts: parts(flood("a", 1)), reports: parts(flood("a", 1))}, outcome: counted},
		"a later report replaces its part": {
			in:      event{inHazard: true, parts: parts(flood("a", 1)), reports: parts(flood("a", 2))},
			outcome: counted, saves: []int64{2}},
		"a new part is added": {
			in:      event{inHazard: true, parts: parts(flood("a", 1)), reports: parts(flood("b", 1))},
			outcome: counted, saves: []int64{1}, added: []string{"b"}},
		"a stripped part stays superseded": {
			in:      event{inHazard: true, parts: parts(flood("a", 2, stripped)), reports: parts(flood("a", 1))},
			outcome: unchanged},
		"a report that was superseded before still adds names": {
			in: event{inHazard: true, parts: parts(flood("a", 2, stripped)), refs: []string{"y:1"},
				reports: parts(flood("a", 1, alias("y:1", "y:2")))},
			outcome: counted, refs: []string{"y:2"}},
		"a new drawing is news": {
			in: event{inHazard: true, parts: parts(flood("a", 1)), reports: parts(flood("a", 1)),
				shapes: []hazard.ShapesRef{drawn(1, "x")}, drawings: []hazard.ShapesRef{drawn(2, "y")}},
			outcome: counted},
		"an older drawing is none": {
			in: event{inHazard: true, parts: parts(flood("a", 1)), reports: parts(flood("a", 1)),
				shapes: []hazard.ShapesRef{drawn(2, "y")}, drawings: []hazard.ShapesRef{drawn(1, "x")}},
			outcome: unchanged},
		"an unknown event that was withdrawn is no hazard": {
			in:      event{reports: parts(flood("a", 1, ended(hazard.EndWithdrawn)))},
			outcome: ignored, saves: []int64{1}, added: []string{"a"}},
		"a known event that is withdrawn ends": {
			in:      event{inHazard: true, parts: parts(flood("a", 1)), reports: parts(flood("a", 2, ended(hazard.EndWithdrawn)))},
			outcome: counted, saves: []int64{2}},
		"an event that ended lately makes a hazard": {
			in: event{reports: parts(flood("a", 1, began(3*24*time.Hour)))}, outcome: counted, saves: []int64{1}, added: []string{"a"}},
		"an event that ended long ago makes none": {
			in: event{reports: parts(flood("a", 1, began(9*24*time.Hour)))}, outcome: ignored, saves: []int64{1}, added: []string{"a"}},
		"but an import of history makes it": {
			in:   event{reports: parts(flood("a", 1, began(9*24*time.Hour)))},
			opts: Options{History: true}, outcome: counted, saves: []int64{1}, added: []string{"a"}},
		"a correction of an old hazard counts": {
			in: event{inHazard: true, parts: parts(flood("a", 1, began(9*24*time.Hour))),
				reports: parts(flood("a", 2, began(9*24*time.Hour)))},
			outcome: counted, saves: []int64{2}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.in.key, tt.in.active = "e1", tt.in.inHazard
			if tt.in.held == nil {
				tt.in.held = make([]bool, len(tt.in.reports))
			}
			d := decide(&tt.in, now, tt.opts)
			var saves []int64
			for _, s := range d.saves {
				saves = append(saves, s.part.Version-int64(begin))
			}
			if d.outcome != tt.outcome || d.slight != tt.slight {
				t.Errorf("outcome %v, slight %v, want %v, %v", d.outcome, d.slight, tt.outcome, tt.slight)
			}
			if !slices.Equal(saves, tt.saves) || !slices.Equal(d.added, tt.added) || !slices.Equal(d.refs, tt.refs) {
				t.Errorf("stores versions %v, adds parts %v and names %v, want %v, %v, %v", saves, d.added, d.refs, tt.saves, tt.added, tt.refs)
			}
		})
	}
}

// The order of two reports of a part does not matter, whether they come in one payload or in two.
func TestDecideDependsOnVersionsNotOnArrival(t *testing.T) {
	first, second := flood("a", 1, alias("y:1")), flood("a", 2, func(r *hazard.Report) { r.Severity = hazard.Warning })
	want := decide(&event{reports: []hazard.Report{first, second}, held: make([]bool, 2)}, now, Options{})
	for name, e := range map[string]event{
		"the other order":           {reports: []hazard.Report{second, first}, held: make([]bool, 2)},
		"in two payloads":           {parts: []hazard.Report{first}, reports: []hazard.Report{second}, held: make([]bool, 1)},
		"in two, the other order":   {parts: []hazard.Report{second}, reports: []hazard.Report{first}, held: make([]bool, 1)},
		"the first of them repeats": {parts: want.parts, reports: []hazard.Report{first}, held: make([]bool, 1)},
	} {
		if got := decide(&e, now, Options{}); len(got.parts) != 1 || !sameReport(&got.parts[0], &want.parts[0]) {
			t.Errorf("%s: %+v, want %+v", name, got.parts, want.parts)
		}
	}
}

func TestDecideLeavesItsArgumentsAlone(t *testing.T) {
	e := event{parts: []hazard.Report{flood("a", 1)}, reports: []hazard.Report{flood("a", 2), flood("b", 1)}, held: make([]bool, 2)}
	decide(&e, now, Options{})
	if len(e.parts) != 1 || !sameReport(&e.parts[0], new(flood("a", 1))) {
		t.Errorf("the stored parts became %+v", e.parts)
	}
}
