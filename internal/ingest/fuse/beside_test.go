package fuse_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// perimeter returns the area of a fire: a square of 0.02 degrees with that south-western corner.
func perimeter(lon, lat float64) []hazard.Area {
	return []hazard.Area{{Role: hazard.ImpactArea, Geometry: fmt.Sprintf(`{"type":"Polygon","coordinates":[[[%[1]v,%[2]v],[%[3]v,%[2]v],[%[3]v,%[4]v],[%[1]v,%[4]v],[%[1]v,%[2]v]]]}`,
		lon, lat, lon+0.02, lat+0.02)}}
}

// A fire with only a perimeter is compared by its middle, in either order.
func TestAFireWithoutAPointJoinsInAnyOrder(t *testing.T) {
	drawn := with(reportOf("nifc", "a", hazard.Wildfire, hourAgo, 0, 0), func(r *hazard.Report) { r.Point, r.Areas = nil, perimeter(20, 10) })
	seen := reportOf("eonet", "b", hazard.Wildfire, hourAgo, 20.012, 10.01)
	for _, order := range [][]hazard.Report{{drawn, seen}, {seen, drawn}} {
		d := newDesk(t)
		d.takeEach(noon, order...)
		if got, want := d.together(), []string{"eonet:b nifc:a"}; !slices.Equal(got, want) {
			t.Errorf("%s first: got %q, want %q", order[0].Source, got, want)
		}
	}
}

// The point of a fire that is far from its perimeter is ignored, and does not join it with another
// fire there.
func TestAPointFarOffItsPerimeterJoinsNothing(t *testing.T) {
	astray := with(reportOf("nifc", "a", hazard.Wildfire, hourAgo, -30, 5), func(r *hazard.Report) { r.Areas = perimeter(20, 10) })
	there := reportOf("eonet", "b", hazard.Wildfire, hourAgo, -30, 5.001)
	near := reportOf("gdacs", "c", hazard.Wildfire, hourAgo, 20.01, 10.012)
	for _, order := range [][]hazard.Report{{astray, there, near}, {near, there, astray}, {there, astray, near}} {
		d := newDesk(t)
		d.takeEach(noon, order...)
		if got, want := d.together(), []string{"eonet:b", "gdacs:c nifc:a"}; !slices.Equal(got, want) {
			t.Errorf("%s first: got %q, want %q", order[0].Source, got, want)
		}
	}
}

// A list no longer has an event, and an older document from when it had the event arrives late: the
// event stays ended.
func TestALateReportRenewsNothing(t *testing.T) {
	d := newDesk(t)
	report := func(version hazard.Instant) hazard.Report {
		return with(reportOf("usgs", "a", hazard.Earthquake, hourAgo, 1, 2), func(r *hazard.Report) {
			r.Version, r.Renewed = int64(version), new(version)
		})
	}
	d.takeEach(noon, report(noon-20*minute))
	if _, err := d.intake.Withdraw(t.Context(), "usgs", "a", nil, hazard.EndExpired, noon); err != nil {
		t.Fatal(err)
	}
	d.takeEach(noon+minute, report(noon-30*minute))
	if h := d.event("usgs", "a"); h.Status != hazard.Expired {
		t.Errorf("after a late report it is %s until %s", h.Status, h.End)
	}
	d.takeEach(noon+2*minute, report(noon-20*minute)) // the list contains it again
	if h := d.event("usgs", "a"); h.Status != hazard.Active {
		t.Errorf("after the list names it again it is %s", h.Status)
	}
}

// draw processes drawings of a source, with its reports.
func (d *desk) draw(src string, now hazard.Instant, drawings []source.Drawing, reports ...hazard.Report) {
	d.t.Helper()
	if _, err := d.intake.Apply(d.t.Context(), src, source.Batch{Reports: reports, Read: len(reports), Drawings: drawings}, now, fuse.Options{History: true}); err != nil {
		d.t.Fatal(err)
	}
}

func cone(key string, version int64, labels ...string) []source.Drawing {
	var shapes []hazard.Shape
	for _, label := range labels {
		shapes = append(shapes, hazard.Shape{Role: hazard.ConeShape, From: noon, Label: label, Geometry: `{"type":"Point","coordinates":[1,2]}`})
	}
	return []source.Drawing{{Key: key, Part: "cone", Version: version, Shapes: shapes}}
}

// labels returns the labels of the shapes drawn for an event's hazard.
func (d *desk) labels(src, key string) (list []string) {
	d.t.Helper()
	for _, ref := range d.event(src, key).Shapes {
		shapes, err := d.store.Hazards.ShapesOf(d.t.Context(), ref)
		if err != nil {
			d.t.Fatal(err)
		}
		for _, s := range shapes {
			list = append(list, s.Label)
		}
	}
	return list
}

func TestTheNewestDrawingCountsWhateverCameLast(t *testing.T) {
	d := newDesk(t)
	storm := reportOf("nhc", "a", hazard.Cyclone, hourAgo, 1, 2)
	for i, step := range []struct {
		drawn []source.Drawing
		want  []string
	}{
		{cone("a", 1, "first"), []string{"first"}},
		{cone("a", 3, "first"), []string{"first"}}, // the same again confirms that it is still valid
		{cone("a", 2, "late"), []string{"first"}},
		{cone("a", 5), nil},
		{cone("a", 4, "late"), nil},
		{cone("a", 6, "new"), []string{"new"}},
	} {
		d.draw("nhc", noon+hazard.Instant(i)*minute, step.drawn, storm)
		if got := d.labels("nhc", "a"); !slices.Equal(got, step.want) {
			t.Errorf("drawing %d: got %q, want %q", i+1, got, step.want)
		}
	}
}

// An event that leaves a hazard takes its source's drawings with it, also into a hazard that it
// then makes.
func TestShapesLeaveWithTheirEvent(t *testing.T) {
	d := newDesk(t)
	d.takeEach(noon, reportOf("usgs", "a", hazard.Earthquake, hourAgo, 1, 2))
	d.draw("emsc", noon, cone("b", 1, "of b"), reportOf("emsc", "b", hazard.Earthquake, hourAgo, 1, 2.1))
	if got := d.labels("usgs", "a"); !slices.Equal(got, []string{"of b"}) {
		t.Fatalf("together it has %q", got)
	}
	d.takeEach(noon+minute, with(reportOf("emsc", "b", hazard.Earthquake, hourAgo, 40, 2), func(r *hazard.Report) { r.Version++ }))
	if got := d.labels("usgs", "a"); got != nil {
		t.Errorf("the hazard that it left has %q", got)
	}
	d.draw("emsc", noon+2*minute, nil, with(reportOf("emsc", "b", hazard.Earthquake, hourAgo, 40, 2), func(r *hazard.Report) { r.Version, r.Name = r.Version+2, "renamed" }))
	if got := d.labels("emsc", "b"); !slices.Equal(got, []string{"of b"}) {
		t.Errorf("the event has %q", got)
	}
}

// A drawing alone does not compare events again: what its event was when it was last reported decides
// which hazard it belongs to, even if one of its messages has run out since.
func TestADrawingMovesNoEvent(t *testing.T) {
	d := newDesk(t)
	const hours, days = 60 * minute, 24 * 60 * minute
	eruption := with(reportOf("gvp", "b", hazard.Volcano, noon, 1, 2), func(r *hazard.Report) { r.Part, r.End = "weekly", new(noon+10*days) })
	storm := with(reportOf("gvp", "b", hazard.Tornado, noon+hours, 1, 2), func(r *hazard.Report) {
		r.Part, r.Places, r.End = "other", []string{"X"}, new(noon+2*hours)
	})
	d.takeEach(noon, reportOf("gdacs", "a", hazard.Volcano, noon, 1, 2))
	d.takeEach(noon, eruption)
	d.takeEach(noon+hours, storm)
	want := []string{"gdacs:a", "gvp:b"}
	if got := d.together(); !slices.Equal(got, want) {
		t.Fatalf("as a storm it is in %q, want %q", got, want)
	}
	d.passUntil(noon + days)
	d.draw("gvp", noon+days, cone("b", 1, "drawn"), eruption)
	if got := d.together(); !slices.Equal(got, want) {
		t.Errorf("a drawing moved it: %q, want %q", got, want)
	}
	if got := d.labels("gvp", "b"); !slices.Equal(got, []string{"drawn"}) {
		t.Errorf("it has %q", got)
	}
	d.takeEach(noon+days, with(eruption, func(r *hazard.Report) { r.Version, r.Name = r.Version+1, "Eruption" }))
	if got := d.together(); !slices.Equal(got, []string{"gdacs:a gvp:b"}) {
		t.Errorf("a report compares it again: %q", got)
	}
}

// A reused number means the new event, so a drawing under it belongs to that event.
func TestADrawingIsOfTheLatestEventOfItsName(t *testing.T) {
	d := newDesk(t)
	const years = 2 * 365 * 24 * 60 * minute
	d.takeEach(noon-years, reportOf("gvp", "332010", hazard.Volcano, noon-years, 1, 2))
	d.draw("gvp", noon, cone("332010", 1, "with it"), reportOf("gvp", "332010", hazard.Volcano, hourAgo, 1, 2))
	d.draw("gvp", noon, []source.Drawing{{Key: "332010", Part: "ash", Version: 1, Shapes: cone("", 0, "alone")[0].Shapes}})
	if got := d.labels("gvp", "332010@2"); !slices.Equal(got, []string{"alone", "with it"}) {
		t.Errorf("the eruption of today has %q", got)
	}
	if got := d.labels("gvp", "332010"); got != nil {
		t.Errorf("the one of two years ago has %q", got)
	}
}

// A split leaves an event too slight for its own hazard. After the split is undone, the event's
// drawings are there again.
func TestAnUndoneSplitHasItsShapesAgain(t *testing.T) {
	d := newDesk(t)
	e := edit.New(d.store, d.intake, 1, func(int64) bool { return false })
	who := edit.Author{Caller: auth.Caller{Name: "ada", Role: auth.Editor}}
	a, b := reportOf("usgs", "a", hazard.Earthquake, hourAgo, 1, 2), reportOf("emsc", "b", hazard.Earthquake, hourAgo, 1, 2.1)
	b.Minor = true
	d.takeEach(noon, a, b)
	d.draw("emsc", noon+minute, cone("b", 1, "of b"))
	h := d.event("usgs", "a")
	if _, err := e.Split(t.Context(), who, edit.Ref{ID: h.ID}, nil, []byte(`{"source":"usgs","event":"a"}`), noon+2*minute); err != nil {
		t.Fatal(err)
	}
	if got := d.labels("usgs", "a"); got != nil {
		t.Fatalf("after the split it has %q", got)
	}
	split := d.event("usgs", "a").Version
	if _, err := e.Undo(t.Context(), who, edit.Ref{ID: h.ID}, nil, fmt.Appendf(nil, `{"change":%d}`, split), noon+3*minute); err != nil {
		t.Fatal(err)
	}
	if got := d.labels("usgs", "a"); !slices.Equal(got, []string{"of b"}) {
		t.Errorf("after the split is undone it has %q, events %q", got, d.together())
	}
}

// A text that ends before its alert is dropped then. A text that lasts to the end stays, as part of
// the last state.
func TestTextsOfAnAlertThatIsOverStay(t *testing.T) {
	d := newDesk(t)
	d.apply("cap", noon, live, with(reportOf("cap", "a", hazard.Flood, noon, 1, 1), func(r *hazard.Report) {
		r.End = new(noon + 60*minute)
		r.Texts = []hazard.Text{{Language: "en", Own: true, Name: "Flood", Until: noon + 60*minute}, {Language: "fr", Name: "Crue", Until: noon + 20*minute}}
	}))
	for _, at := range []hazard.Instant{noon + 30*minute, noon + 120*minute} {
		d.passUntil(at)
		if h := d.event("cap", "a"); len(h.Texts) != 1 || h.Texts[0].Language != "en" {
			t.Errorf("at %s its texts are %v", at, h.Texts)
		}
	}
	if err := d.patch(noon+130*minute, `{"comment_Text":"looked at"}`); err != nil {
		t.Fatal(err)
	}
	if h := d.event("cap", "a"); len(h.Texts) != 1 {
		t.Errorf("after an edit of the ended hazard its texts are %v", h.Texts)
	}
}

// A source draws more parts of an event than are kept. The newest count, in whatever order and
// payloads they come, even with parts that are no longer drawn.
func TestOfManyDrawnPartsTheNewestCount(t *testing.T) {
	var all []source.Drawing
	for i := range 2 * hazard.MaxShapeParts {
		d := cone("a", int64(i/2), fmt.Sprint("part ", i))[0]
		if d.Part = fmt.Sprintf("p%02d", i); i%5 == 4 {
			d.Shapes = nil // no longer drawn
		}
		all = append(all, d)
	}
	var want []string
	for i := hazard.MaxShapeParts; i < len(all); i++ {
		if all[i].Shapes != nil {
			want = append(want, fmt.Sprint("part ", i))
		}
	}
	random := rand.New(rand.NewPCG(1, 1))
	for order := range 20 {
		d := newDesk(t)
		d.draw("nhc", noon, nil, reportOf("nhc", "a", hazard.Cyclone, noon, 1, 1))
		for rest := slices.Clone(all); len(rest) > 0; {
			n := 1 + random.IntN(len(rest))
			d.draw("nhc", noon, rest[:n])
			rest = rest[n:]
		}
		if got := d.labels("nhc", "a"); !slices.Equal(got, want) {
			t.Errorf("order %d: drawn are %q, want %q", order, got, want)
		}
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
}
