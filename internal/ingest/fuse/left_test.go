package fuse_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/hazard"
)

// A name joins events within 90 days of each other. An event of a type without a rule that
// continues long after that leaves, whichever of its reports came first.
func TestANameThatNoLongerMeansTheEventJoinsNothing(t *testing.T) {
	const day = 24 * 60 * minute
	quake := reportOf("gdacs", "q", hazard.Earthquake, hourAgo, 1, 2)
	named := with(reportOf("cap", "e", hazard.Flood, noon, 1, 2), func(r *hazard.Report) { r.Part, r.Refs, r.End = "a", []string{"gdacs:q"}, new(noon+60*day) })
	late := with(named, func(r *hazard.Report) {
		r.Part, r.Refs, r.Start, r.Version = "b", nil, noon+100*day, int64(noon+100*day+2*60*minute) // it states its start
	})
	for _, order := range [][]hazard.Report{{quake, named, late}, {late, quake, named}, {named, late, quake}} {
		d := newDesk(t)
		d.takeEach(noon+101*day, order...)
		if got, want := d.together(), []string{"cap:e", "gdacs:q"}; !slices.Equal(got, want) {
			t.Errorf("%s %s first: got %q, want %q", order[0].Source, order[0].Part, got, want)
		}
	}
}

// Two hazards become one because of a name, and an event that this leaves out makes its own hazard.
// When a person undoes the merge, the event returns to where it was, and its own hazard ends as
// merged. No hazard stays active without an event, because nobody would end it.
func TestAHazardThatAnUndoneMergeEmptiesEnds(t *testing.T) {
	a := reportOf("emsc", "a", hazard.Earthquake, hourAgo+8000, 0.6, 0)
	b := reportOf("gdacs", "b", hazard.Earthquake, hourAgo, 1.8, 0)
	c := reportOf("usgs", "c", hazard.Earthquake, hourAgo-4000, 2.4, 0)
	x := reportOf("emsc", "x", hazard.Earthquake, hourAgo+2000, 2.7, 0)
	d := newDesk(t)
	d.takeEach(noon, a, b, c, with(x, func(r *hazard.Report) { r.Version, r.Point = r.Version-1, &hazard.Point{Lon: 40} }), x)
	if got, want := d.together(), []string{"emsc:a", "emsc:x gdacs:b usgs:c"}; !slices.Equal(got, want) {
		t.Fatalf("before the name: %q, want %q", got, want)
	}
	d.takeEach(noon+minute, with(c, func(r *hazard.Report) { r.Version, r.Refs = r.Version+1, []string{"emsc:a"} }))
	if got, want := d.together(), []string{"emsc:a gdacs:b usgs:c", "emsc:x"}; !slices.Equal(got, want) {
		t.Fatalf("with the name: %q, want %q", got, want)
	}
	alone := d.event("emsc", "x")
	e := edit.New(d.store, d.intake, 1, func(int64) bool { return false })
	who := edit.Author{Caller: auth.Caller{Name: "ada", Role: auth.Editor}}
	product := []byte(`{"title":"of ada","product_Type":"TEXT_PRODUCT","data":"x"}`)
	if _, err := e.CreateProduct(t.Context(), who, edit.Ref{ID: alone.ID}, nil, product, nil, noon+2*minute); err != nil {
		t.Fatal(err)
	}
	var merged *hazard.Hazard
	for _, h := range d.hazards() {
		if h.Reason == hazard.EndMerged {
			merged = h
		}
	}
	if _, err := e.Undo(t.Context(), who, edit.Ref{ID: merged.ID}, nil, fmt.Appendf(nil, `{"change":%d}`, merged.Version), noon+3*minute); err != nil {
		t.Fatal(err)
	}
	if got, want := d.together(), []string{"emsc:a", "emsc:x gdacs:b usgs:c"}; !slices.Equal(got, want) {
		t.Errorf("after the undo: %q, want %q", got, want)
	}
	for _, h := range d.hazards() {
		if h.ID == alone.ID && (h.Reason != hazard.EndMerged || h.Successor != merged.UUID) {
			t.Errorf("the hazard without an event is %s, %q, and names %s; it became part of %s", h.Status, h.Reason, h.Successor, merged.UUID)
		}
	}
	if got := d.titles(merged.ID); !slices.Contains(got, "/of ada") {
		t.Errorf("products of the remaining hazard: %q", got)
	}
}

// A report that a server relays with the uuid of a merged hazard goes to the hazard it was merged
// into, unless a person has split the two.
func TestASharedUUIDDoesNotOverruleASplit(t *testing.T) {
	relayed := func(key string, version hazard.Instant, minor bool) hazard.Report {
		id := hazard.EventUUID("elsewhere", key)
		return with(reportOf("other", id.String(), hazard.Flood, hourAgo, 1, 2), func(r *hazard.Report) {
			r.UUID, r.Relayed, r.Version, r.Minor = id, true, int64(version), minor
		})
	}
	d := newDesk(t)
	d.apply("other", noon, live, relayed("a", noon, false), relayed("a", noon+1, true))
	d.apply("other", noon, live, relayed("b", noon, false))
	a, b := d.event("other", hazard.EventUUID("elsewhere", "a").String()), d.event("other", hazard.EventUUID("elsewhere", "b").String())
	e := edit.New(d.store, d.intake, 1, func(int64) bool { return false })
	who := edit.Author{Caller: auth.Caller{Name: "ada", Role: auth.Editor}}
	if _, err := e.Merge(t.Context(), who, edit.Ref{ID: a.ID}, nil, fmt.Appendf(nil, `{"into":%q}`, b.UUID), noon+minute); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Split(t.Context(), who, edit.Ref{ID: b.ID}, nil, fmt.Appendf(nil, `{"source":"other","event":%q}`, b.UUID), noon+2*minute); err != nil {
		t.Fatal(err)
	}
	d.apply("other", noon+3*minute, live, relayed("a", noon, false))
	if got := d.together(); slices.ContainsFunc(got, func(events string) bool { return strings.Contains(events, " ") }) {
		t.Errorf("after the split: %q", got)
	}
}

// A part superseded by a slight report stays superseded after a split left its event without a
// hazard, even if the part is reported again.
func TestWhatWasSupersededBeforeASplitDoesNotComeBack(t *testing.T) {
	quake := reportOf("usgs", "q", hazard.Earthquake, hourAgo, 1, 2)
	newest := with(reportOf("cap", "e", hazard.HighWind, noon, 1, 2), func(r *hazard.Report) {
		r.Part, r.Name, r.Places, r.Refs, r.Minor, r.Severity = "newest", "a breeze", []string{"C"}, []string{"usgs:q"}, true, hazard.Information
	})
	older := with(reportOf("cap", "e", hazard.HighWind, hourAgo, 1, 2), func(r *hazard.Report) {
		r.Part, r.Name, r.Places, r.Severity = "older", "a storm", []string{"C"}, hazard.Warning
	})
	d := newDesk(t)
	d.takeEach(noon, quake, newest, older)
	h := d.event("usgs", "q")
	e := edit.New(d.store, d.intake, 1, func(int64) bool { return false })
	who := edit.Author{Caller: auth.Caller{Name: "ada", Role: auth.Editor}}
	if _, err := e.Split(t.Context(), who, edit.Ref{ID: h.ID}, nil, []byte(`{"source":"usgs","event":"q"}`), noon+minute); err != nil {
		t.Fatal(err)
	}
	d.apply("cap", noon+2*minute, live, newest)
	if got, want := d.together(), []string{"usgs:q"}; !slices.Equal(got, want) {
		t.Errorf("with the slight report again: %q, want %q", got, want)
	}
	if res := d.apply("cap", noon+3*minute, live, older); res.Held != 0 {
		t.Errorf("the superseded report counts: %+v", res.Suspects)
	}
	if h := d.event("cap", "e"); h.Name != newest.Name || h.Severity != newest.Severity {
		t.Errorf("the superseded report came back: %s %q", h.Severity, h.Name)
	}
}

// A hazard ended because its event joined another, and a person merged the rest of it with a third.
// When the event comes back, both are undone. An end that an editor had set does not outlast the
// source's report that it has ended.
func TestAHazardThatWasMergedTwiceGoesOnAsBefore(t *testing.T) {
	short := with(reportOf("gdacs", "q", hazard.Earthquake, hourAgo, 20, 2), func(r *hazard.Report) { r.LifeMS = 60_000 })
	own := reportOf("usgs", "q", hazard.Earthquake, hourAgo, 1, 2)
	d := newDesk(t)
	d.takeEach(noon, short, own, reportOf("cap", "e", hazard.Flood, noon, 1, 2))
	e := edit.New(d.store, d.intake, 1, func(int64) bool { return false })
	who := edit.Author{Caller: auth.Caller{Name: "ada", Role: auth.Editor}}
	h, over := d.event("usgs", "q"), d.event("gdacs", "q")
	if _, err := e.PatchHazard(t.Context(), who, edit.Ref{ID: h.ID}, nil, []byte(`{"end_Date":"`+(noon+60*minute).Digits()+`"}`), noon+minute); err != nil {
		t.Fatal(err)
	}
	d.takeEach(noon+10*minute, with(own, func(r *hazard.Report) {
		r.Version, r.Ended, r.Refs = int64(noon+5*minute), hazard.EndWithdrawn, []string{"gdacs:q"}
	}))
	if got := d.hazards()[h.UUID.String()]; got.Status != hazard.Expired || got.Reason == hazard.EndMerged {
		t.Fatalf("beside an ended hazard it is %s, %q", got.Status, got.Reason)
	}
	into := fmt.Appendf(nil, `{"into":%q}`, d.event("cap", "e").UUID)
	if _, err := e.Merge(t.Context(), who, edit.Ref{ID: h.ID}, nil, into, noon+20*minute); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Split(t.Context(), who, edit.Ref{ID: over.ID}, nil, []byte(`{"source":"usgs","event":"q"}`), noon+30*minute); err != nil {
		t.Fatal(err)
	}
	got := d.event("usgs", "q")
	if got.ID != h.ID || got.Reason != hazard.EndWithdrawn || got.End != noon+5*minute || got.EditedField("end_Date") {
		t.Errorf("hazard %d (want %d) ended %s, %q, edited %q; want %s, withdrawn", got.ID, h.ID, got.End, got.Reason, got.Edited, noon+5*minute)
	}
}

// An undone split brings back an event that was too slight for its own hazard, and the rule of its
// type puts it into the present hazard of another split event. Its products are there too.
func TestAnUndoneSplitBringsProductsToWhereTheEventIs(t *testing.T) {
	first := reportOf("usgs", "a", hazard.Earthquake, hourAgo, 1, 2)
	slight := with(reportOf("emsc", "b", hazard.Earthquake, hourAgo, 1, 2.1), func(r *hazard.Report) {
		r.Minor, r.Products = true, []hazard.ReportProduct{{Key: "r", Title: "of b", Type: hazard.TextProduct, Data: "x"}}
	})
	second := with(reportOf("gdacs", "c", hazard.Earthquake, hourAgo, 1, 2.2), func(r *hazard.Report) { r.Minor = true })
	d := newDesk(t)
	d.takeEach(noon, first, slight, second)
	h := d.event("usgs", "a")
	e := edit.New(d.store, d.intake, 1, func(int64) bool { return false })
	who := edit.Author{Caller: auth.Caller{Name: "ada", Role: auth.Editor}}
	if _, err := e.Retract(t.Context(), who, edit.Ref{ID: h.ID}, nil, []byte(`{"reason":"false"}`), noon+minute); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Split(t.Context(), who, edit.Ref{ID: h.ID}, nil, []byte(`{"source":"usgs","event":"a"}`), noon+2*minute); err != nil {
		t.Fatal(err)
	}
	split := d.event("usgs", "a").Version
	d.takeEach(noon+3*minute, with(second, func(r *hazard.Report) { r.Version, r.Minor = r.Version+1, false }))
	if _, err := e.Undo(t.Context(), who, edit.Ref{ID: h.ID}, nil, fmt.Appendf(nil, `{"change":%d}`, split), noon+4*minute); err != nil {
		t.Fatal(err)
	}
	if is := d.event("emsc", "b"); is.ID == h.ID || !slices.Contains(d.titles(is.ID), "/of b") {
		t.Errorf("hazard %d, other than %d, has products %q", is.ID, h.ID, d.titles(is.ID))
	}
}

// A person moved an earthquake into an editor's hazard, with another source's event. The
// earthquake's source finds that it is another known event: then that event is in the editor's
// hazard, and the other source's event stays there.
func TestAnEventThatTurnsOutToBeAnotherIsWhereAPersonPutIt(t *testing.T) {
	a, b := reportOf("emsc", "a", hazard.Earthquake, hourAgo, 1, 2), reportOf("gdacs", "b", hazard.Earthquake, hourAgo, 1, 2.1)
	other := reportOf("emsc", "z", hazard.Earthquake, noon-10*minute, 40, 2)
	d := newDesk(t)
	d.takeEach(noon, a, b)
	e := edit.New(d.store, d.intake, 1, func(int64) bool { return false })
	who := edit.Author{Caller: auth.Caller{Name: "ada", Role: auth.Editor}}
	mine, err := e.CreateHazard(t.Context(), who, nil, []byte(`{"hazard_Name":"mine","type_ID":"EARTHQUAKE","severity_ID":"WARNING","latitude":2,"longitude":1,"autoexpire":"N"}`), noon)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Merge(t.Context(), who, edit.Ref{ID: d.event("emsc", "a").ID}, nil, fmt.Appendf(nil, `{"into":%q}`, mine.State.UUID), noon+minute); err != nil {
		t.Fatal(err)
	}
	d.takeEach(noon+2*minute, other, with(other, func(r *hazard.Report) { r.Aliases = []string{"a"} }))
	for _, r := range []hazard.Report{other, with(b, func(r *hazard.Report) { r.Version, r.Start = r.Version+1, r.Start+1000 })} {
		d.takeEach(noon+3*minute, r)
		if got, want := d.together(), []string{"emsc:z gdacs:b"}; !slices.Equal(got, want) || d.event("gdacs", "b").UUID != mine.State.UUID {
			t.Errorf("after %s:%s: %q, want %q in the editor's hazard", r.Source, r.Key, got, want)
		}
	}
}

// The last report of an event may have come with a name of another event of its source. Both still
// count.
func TestTwoEventsWhoseReportsHaveOneNameBothCount(t *testing.T) {
	first := reportOf("nws", "a", hazard.Flood, hourAgo, 1, 2)
	followed := with(first, func(r *hazard.Report) {
		r.Key, r.Earlier, r.Version = "z", []string{"a"}, r.Version+1
		r.Texts = []hazard.Text{{Language: "es", Name: "Inundación"}}
	})
	own := with(first, func(r *hazard.Report) {
		r.Key, r.Refs, r.Version = "z", []string{"nws:a"}, r.Version+2
		r.Texts = []hazard.Text{{Language: "en", Name: "Flood", Own: true}}
	})
	d := newDesk(t)
	d.takeEach(noon, first, followed, own)
	if got, want := d.together(), []string{"nws:a nws:z"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	h := d.event("nws", "a")
	if got, want := h.Languages(), []string{"en", "es"}; !slices.Equal(got, want) {
		t.Errorf("texts in %q, want %q", got, want)
	}
}

// A person puts a product of one event into the folder of another. It stays there when both events
// move to an older hazard together, whichever of them moves first.
func TestAProductStaysInAFolderThatMovesAlong(t *testing.T) {
	for _, keys := range [][2]string{{"a", "b"}, {"b", "a"}} {
		d := newDesk(t)
		folder := with(reportOf("nws", keys[0], hazard.Flood, hourAgo, 1, 2), func(r *hazard.Report) {
			r.Products = []hazard.ReportProduct{{Key: "f", Title: "folder", Type: hazard.FolderProduct}}
		})
		given := with(reportOf("nws", keys[1], hazard.Flood, hourAgo, 1, 2), func(r *hazard.Report) {
			r.Refs, r.Products = []string{"nws:" + keys[0]}, []hazard.ReportProduct{{Key: "t", Title: "text", Type: hazard.TextProduct, Data: "x"}}
		})
		d.takeEach(noon, reportOf("cap", "older", hazard.Flood, hourAgo, 1, 2), folder, given)
		e := edit.New(d.store, d.intake, 1, func(int64) bool { return false })
		who := edit.Author{Caller: auth.Caller{Name: "ada", Role: auth.Editor}}
		products, err := d.store.Hazards.AllProducts(t.Context(), d.event("nws", keys[0]).ID)
		if err != nil || len(products) != 2 {
			t.Fatalf("%d products, error %v", len(products), err)
		}
		slices.SortFunc(products, func(p, q *hazard.Product) int { return strings.Compare(p.Title, q.Title) })
		if _, err := e.PatchProduct(t.Context(), who, edit.Ref{UUID: products[1].UUID}, nil, fmt.Appendf(nil, `{"parent_ID":%d}`, products[0].ID), noon+minute); err != nil {
			t.Fatal(err)
		}
		d.takeEach(noon+2*minute, with(folder, func(r *hazard.Report) { r.Version, r.Refs = r.Version+1, []string{"cap:older"} }))
		if got, want := d.titles(d.event("cap", "older").ID), []string{"/folder", "/folder/text"}; !slices.Equal(got, want) {
			t.Errorf("%s gave the folder: %q, want %q", keys[0], got, want)
		}
	}
}
