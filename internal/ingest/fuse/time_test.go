package fuse_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
)

const minute hazard.Instant = 60_000

// One alert is Extreme in the west for a few minutes and Minor in the east for hours. When the west
// has expired, the hazard has the data of the east, without a new report (B1).
func TestAPartThatRunsOutLeavesTheHazard(t *testing.T) {
	d := newDesk(t)
	part := func(name, place string, level hazard.Severity, end hazard.Instant) hazard.Report {
		return with(reportOf("cap", "a", hazard.Tornado, noon, 0, 0), func(r *hazard.Report) {
			r.Part, r.Places, r.Name, r.Severity, r.End = name, []string{place}, "Tornado Warning - "+name, level, new(end)
			r.Point = &hazard.Point{Lon: 1, Lat: 1}
		})
	}
	d.apply("cap", noon, fuse.Options{}, part("East", "E", hazard.Information, noon+300*minute), part("West", "W", hazard.Warning, noon+20*minute))
	if h := d.event("cap", "a"); h.Severity != hazard.Warning || h.End != noon+300*minute {
		t.Fatalf("at first %s until %s", h.Severity, h.End)
	}
	at, any, err := d.store.Hazards.NextMoment(t.Context())
	if err != nil || !any || at != noon+20*minute {
		t.Fatalf("the next moment is %s (%v, %v), want the end of the west", at, any, err)
	}
	if err := d.intake.PassUntil(t.Context(), noon+21*minute); err != nil {
		t.Fatal(err)
	}
	h := d.event("cap", "a")
	if h.Severity != hazard.Information || h.Name != "Tornado Warning - East" || h.LastUpdate != noon+20*minute || h.Status != hazard.Active {
		t.Errorf("after the west has run out: %s %q, %s, last update %s", h.Severity, h.Name, h.Status, h.LastUpdate)
	}
	before := d.last()
	if err := d.intake.PassUntil(t.Context(), noon+299*minute); err != nil || d.last() != before {
		t.Errorf("%d changes although nothing changes: %v", d.last()-before, err)
	}
	if err := d.intake.PassUntil(t.Context(), noon+301*minute); err != nil {
		t.Fatal(err)
	}
	if h := d.event("cap", "a"); h.Status != hazard.Expired || h.Severity != hazard.Information || h.LastUpdate != noon+300*minute {
		t.Errorf("at its end: %s, %s, last update %s", h.Status, h.Severity, h.LastUpdate)
	}
	if _, any, err := d.store.Hazards.NextMoment(t.Context()); any || err != nil {
		t.Errorf("a further moment is planned: %v", err)
	}
}

// An authority's expired INFORMATION does not hide a model's active WARNING (B1).
func TestASourceThatRunsOutHidesNoOther(t *testing.T) {
	d := newDesk(t)
	d.apply("usgs", noon, fuse.Options{}, with(quake("us1", 1), func(r *hazard.Report) {
		r.Start, r.Severity, r.End, r.Name = noon, hazard.Information, new(noon+30*minute), "M 6.1 - Somewhere"
	}))
	d.apply("gdacs", noon+minute, fuse.Options{}, with(quake("EQ1", 1), func(r *hazard.Report) {
		r.Source, r.Start, r.Severity, r.End, r.Name, r.Refs = "gdacs", noon, hazard.Warning, new(noon+300*minute), "Earthquake - Somewhere", []string{"usgs:us1"}
	}))
	if h := d.event("usgs", "us1"); h.Severity != hazard.Information {
		t.Fatalf("while the authority's report is active it is %s", h.Severity)
	}
	if err := d.intake.PassUntil(t.Context(), noon+31*minute); err != nil {
		t.Fatal(err)
	}
	h := d.event("usgs", "us1")
	if h.Severity != hazard.Warning || h.Status != hazard.Active {
		t.Errorf("after it has run out: %s, %s", h.Severity, h.Status)
	}
	if h.Name != "M 6.1 - Somewhere" { // the best name is kept after its report has ended (D12)
		t.Errorf("it is called %q", h.Name)
	}
}

// flood returns a report of the event of the tests below, which by default lasts one hour from
// noon.
func flood(version hazard.Instant, f func(*hazard.Report)) hazard.Report {
	return with(reportOf("cap", "a", hazard.Flood, noon, 1, 1), func(r *hazard.Report) {
		r.Version, r.Severity, r.End = int64(version), hazard.Watch, new(noon+60*minute)
		f(r)
	})
}

func nothing(*hazard.Report) {}

// patch sets fields of the hazard of the event, as an editor.
func (d *desk) patch(now hazard.Instant, body string) error {
	d.t.Helper()
	e := edit.New(d.store, d.intake, 1, func(int64) bool { return false })
	who := edit.Author{Caller: auth.Caller{Name: "ada", Role: auth.Editor}}
	_, err := e.PatchHazard(d.t.Context(), who, edit.Ref{ID: d.event("cap", "a").ID}, nil, []byte(body), now)
	return err
}

func (d *desk) passUntil(now hazard.Instant) {
	d.t.Helper()
	if err := d.intake.PassUntil(d.t.Context(), now); err != nil {
		d.t.Fatal(err)
	}
}

// An expired event has ended, and stays unchanged when its source no longer lists it.
func TestWhatRanOutIsNotWithdrawn(t *testing.T) {
	d := newDesk(t)
	d.apply("cap", noon, live, flood(noon, nothing))
	d.passUntil(noon + 90*minute)
	if _, err := d.intake.Withdraw(t.Context(), "cap", "a", nil, hazard.EndWithdrawn, noon+100*minute); err != nil {
		t.Fatal(err)
	}
	if h := d.event("cap", "a"); h.Reason != hazard.EndExpired || h.End != noon+60*minute || h.Severity != hazard.Watch {
		t.Errorf("%s at %s, %s", h.Reason, h.End, h.Severity)
	}
}

// What lapses, lapses with the messages that others had superseded: a newer report of one of them that
// does not renew the event does not reopen it.
func TestALapseIsOfSupersededMessagesToo(t *testing.T) {
	d := newDesk(t)
	part := func(name string, version hazard.Instant, end *hazard.Instant, places ...string) hazard.Report {
		return flood(version, func(r *hazard.Report) { r.Part, r.Places, r.End = name, places, end })
	}
	d.apply("cap", noon, live, part("new", noon+2*minute, new(noon+60*minute), "A", "B"), part("old", noon+1, new(noon+60*minute), "A"), part("open", noon+2, nil, "B"))
	at := noon + 10*minute
	if _, err := d.intake.Withdraw(t.Context(), "cap", "a", nil, hazard.EndExpired, at); err != nil {
		t.Fatal(err)
	}
	for _, again := range []string{"old", "open"} {
		d.apply("cap", at+minute, live, part(again, at, new(noon+90*minute), "A", "B"))
		if h := d.event("cap", "a"); h.Status != hazard.Expired || h.End != at {
			t.Errorf("%s again: %s, ends at %s, want its end at %s", again, h.Status, h.End, at)
		}
	}
}

// An end announced by a source is recorded with the source's reason when its time comes.
func TestAnEndThatWasAnnouncedKeepsItsReason(t *testing.T) {
	d := newDesk(t)
	d.apply("cap", noon, live, flood(noon, nothing), flood(noon+5*minute, func(r *hazard.Report) { r.Ended = hazard.EndCancelled }))
	if h := d.event("cap", "a"); h.Status != hazard.Active {
		t.Fatalf("%s before its end", h.Status)
	}
	d.passUntil(noon + 10*minute)
	if h := d.event("cap", "a"); h.Reason != hazard.EndCancelled || h.Severity != hazard.Termination || h.End != noon+5*minute {
		t.Errorf("%s at %s, %s", h.Reason, h.End, h.Severity)
	}
}

// Whether a hazard expires depends on its source's present report, even if that says that it has
// ended.
func TestWhatIsOverEndsByItself(t *testing.T) {
	for name, first := range map[string][]hazard.Report{"told before": {flood(noon, func(r *hazard.Report) { r.Open = true })}, "told at once": nil} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.apply("cap", noon, live, first...)
			d.apply("cap", noon+minute, live, flood(noon+minute, func(r *hazard.Report) { r.Ended = hazard.EndAllClear }))
			if h := d.event("cap", "a"); !h.AutoExpire || h.Reason != hazard.EndAllClear {
				t.Errorf("%s, autoexpire %t", h.Reason, h.AutoExpire)
			}
		})
	}
}

// A hazard that an editor has ended still follows its sources, and the passing of time.
func TestTimeGoesOnBehindTheEndOfAnEditor(t *testing.T) {
	for name, body := range map[string]string{"ended": `{"status":"E"}`, "ends earlier": `{"end_Date":"` + (noon + 10*minute).Digits() + `"}`} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.apply("cap", noon, live, flood(noon, func(r *hazard.Report) { r.Part, r.Places, r.End = "1", []string{"A"}, new(noon+120*minute) }))
			if err := d.patch(noon+5*minute, body); err != nil {
				t.Fatal(err)
			}
			d.apply("cap", noon+7*minute, live, flood(noon+1, func(r *hazard.Report) { r.Part, r.Places, r.Severity = "2", []string{"B"}, hazard.Warning }))
			d.passUntil(noon + 61*minute)
			if h := d.event("cap", "a"); h.Severity != hazard.Watch || h.Status != hazard.Expired {
				t.Errorf("after the worse part has expired: %s, %s", h.Severity, h.Status)
			}
		})
	}
}

// If a source ends a hazard and warns again, an earlier end_Date does not suppress the warning.
func TestAnEndByWordVoidsAnEditorsEnd(t *testing.T) {
	d := newDesk(t)
	d.apply("cap", noon, live, flood(noon, nothing))
	if err := d.patch(noon+minute, `{"end_Date":"`+(noon+120*minute).Digits()+`"}`); err != nil {
		t.Fatal(err)
	}
	d.apply("cap", noon+5*minute, live, flood(noon+5*minute, func(r *hazard.Report) { r.Ended = hazard.EndCancelled }))
	if h := d.event("cap", "a"); h.Status != hazard.Expired || h.End != noon+5*minute {
		t.Fatalf("once cancelled: %s, ends at %s", h.Status, h.End)
	}
	d.apply("cap", noon+10*minute, live, flood(noon+10*minute, nothing))
	if h := d.event("cap", "a"); h.Status != hazard.Active || h.End != noon+60*minute {
		t.Errorf("warned again: %s, ends at %s", h.Status, h.End)
	}
}

// An editor's fields are combined with the present data of the sources, not with data from their
// last report.
func TestAPatchCountsBesideWhatTheSourcesSay(t *testing.T) {
	d := newDesk(t)
	quake := func(r *hazard.Report) { r.Type = hazard.Earthquake } // its start is corrected
	d.apply("cap", noon, live, flood(noon, quake))
	if err := d.patch(noon+5*minute, `{"status":"E"}`); err != nil {
		t.Fatal(err)
	}
	d.apply("cap", noon+10*minute, live, flood(noon+10*minute, func(r *hazard.Report) { quake(r); r.Start = noon + 8*minute }))
	if h := d.event("cap", "a"); h.Start != noon+5*minute {
		t.Fatalf("it begins at %s, after its end", h.Start)
	}
	if err := d.patch(noon+20*minute, `{"end_Date":"`+(noon+15*minute).Digits()+`"}`); err != nil {
		t.Fatal(err)
	}
	if h := d.event("cap", "a"); h.Start != noon+8*minute {
		t.Errorf("it begins at %s, in its source at %s", h.Start, noon+8*minute)
	}
	if err := d.patch(noon+30*minute, `{"autoexpire":"N"}`); err == nil {
		t.Error("an ended hazard was made to stay open")
	}
}

// The text of an expired part is removed with it, without a new report.
func TestTheProductsOfAPartThatRunsOutGoWithIt(t *testing.T) {
	d := newDesk(t)
	part := func(name, place string, end hazard.Instant) hazard.Report {
		return with(reportOf("cap", "a", hazard.Tornado, noon, 0, 0), func(r *hazard.Report) {
			r.Part, r.Places, r.End = name, []string{place}, new(end)
			r.Products = []hazard.ReportProduct{{Key: "cap", Title: "CAP", Type: hazard.FolderProduct}, {Key: "text", Parent: "cap", Title: name, Type: hazard.TextProduct, Data: name}}
		})
	}
	d.apply("cap", noon, fuse.Options{}, part("East", "E", noon+300*minute), part("West", "W", noon+20*minute))
	id := d.event("cap", "a").ID
	if got, want := d.titles(id), []string{"/CAP", "/CAP/East", "/CAP/West"}; !slices.Equal(got, want) {
		t.Fatalf("at first %q, want %q", got, want)
	}
	if err := d.intake.PassUntil(t.Context(), noon+21*minute); err != nil {
		t.Fatal(err)
	}
	if got, want := d.titles(id), []string{"/CAP", "/CAP/East"}; !slices.Equal(got, want) {
		t.Errorf("after the west has expired %q, want %q", got, want)
	}
	before := d.last()
	d.apply("cap", noon+22*minute, fuse.Options{}, part("East", "E", noon+300*minute), part("West", "W", noon+20*minute))
	if err := d.intake.PassUntil(t.Context(), noon+23*minute); err != nil || d.last() != before {
		t.Errorf("the same again made %d changes, %v", d.last()-before, err)
	}
}

// A person moves a text into a folder that a source created later, and the source no longer
// provides that folder: it stays, with the text in it.
func TestAFolderStaysForAnOlderProductThatWasPutIntoIt(t *testing.T) {
	d := newDesk(t)
	report := func(version hazard.Instant, products ...hazard.ReportProduct) hazard.Report {
		return with(reportOf("cap", "a", hazard.Tornado, noon, 0, 0), func(r *hazard.Report) { r.Version, r.Products = int64(version), products })
	}
	d.apply("cap", noon, live, report(noon, hazard.ReportProduct{Key: "text", Title: "text", Type: hazard.TextProduct, Data: "x"}))
	id := d.event("cap", "a").ID
	mine := &hazard.Product{UUID: uuid.New(), HazardID: id, Title: "mine", Type: hazard.TextProduct, Data: "y", OrgID: -1}
	d.decide(noon+1, store.Origin{User: "ada"}, func(tx *store.Tx) error { return tx.SaveProduct(mine) })
	d.apply("cap", noon+2, live, report(noon+2, hazard.ReportProduct{Key: "cap", Title: "CAP", Type: hazard.FolderProduct}))
	d.decide(noon+3, store.Origin{User: "ada"}, func(tx *store.Tx) error {
		all, err := tx.Products(id)
		for _, p := range all {
			if p.Title == "CAP" {
				mine.ParentID = p.ID
			}
		}
		return errors.Join(err, tx.SaveProduct(mine))
	})
	d.apply("cap", noon+4, live, report(noon+4, hazard.ReportProduct{Key: "text", Title: "text", Type: hazard.TextProduct, Data: "x"}))
	all, err := d.store.Hazards.Products(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(p *hazard.Product) bool { return p.ID == mine.ParentID }) {
		t.Errorf("after the source no longer provides the folder, the text is in folder %d, which is not among the products: %q", mine.ParentID, d.titles(id))
	}
}

// A person restricts a folder of a source, and the source then adds a text to it. Everybody may
// read the text, so it is not in the folder.
func TestWhatASourceGivesIntoARestrictedFolderIsWhereAllSeeIt(t *testing.T) {
	d := newDesk(t)
	folder := hazard.ReportProduct{Key: "cap", Title: "CAP", Type: hazard.FolderProduct}
	report := func(version hazard.Instant, products ...hazard.ReportProduct) hazard.Report {
		return with(reportOf("cap", "a", hazard.Tornado, noon, 0, 0), func(r *hazard.Report) { r.Version, r.Products = int64(version), products })
	}
	d.apply("cap", noon, live, report(noon, folder))
	id := d.event("cap", "a").ID
	who := edit.Author{Caller: auth.Caller{Name: "ann", Role: auth.Editor, Orgs: []int64{1}}}
	editor := edit.New(d.store, d.intake, 1, func(int64) bool { return true })
	all, err := d.store.Hazards.Products(t.Context(), id, nil)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if _, err := editor.PatchProduct(t.Context(), who, edit.Ref{UUID: all[0].UUID}, nil, []byte(`{"security_Flag":"R","org_IDs":"1"}`), noon+1); err != nil {
		t.Fatal(err)
	}
	d.apply("cap", noon+2, live, report(noon+2, folder, hazard.ReportProduct{Key: "text", Parent: "cap", Title: "text", Type: hazard.TextProduct, Data: "x"}))
	if all, err = d.store.Hazards.Products(t.Context(), id, nil); err != nil || len(all) != 1 || all[0].Title != "text" || all[0].ParentID != 0 {
		t.Errorf("everybody reads %+v, %v; expected the text at the root", all, err)
	}
	before := d.last()
	if d.apply("cap", noon+3, live, report(noon+3, folder, hazard.ReportProduct{Key: "text", Parent: "cap", Title: "text", Type: hazard.TextProduct, Data: "x"})); d.last() != before {
		t.Error("the same again made a change")
	}
}

// An event without an end that its source no longer lists has ended. An event that begins under its
// key years later is another, and no rule joins the old one with events of that time.
func TestAWithdrawnEventIsOverForWhatComesLater(t *testing.T) {
	const year = 365 * 24 * 60 * minute
	volcano := func(src string, start hazard.Instant) hazard.Report {
		return with(reportOf(src, "332010", hazard.Volcano, start, -155, 19), func(r *hazard.Report) {
			r.Open, r.Refs = true, []string{"gvp:332010"}
		})
	}
	d := newDesk(t)
	d.apply("hans", noon, live, volcano("hans", noon))
	first := d.event("hans", "332010")
	if _, err := d.intake.Withdraw(t.Context(), "hans", "332010", nil, hazard.EndAllClear, noon+60*minute); err != nil {
		t.Fatal(err)
	}
	d.apply("gvp", noon+2*year, live, volcano("gvp", noon+2*year))
	d.apply("hans", noon+2*year, live, volcano("hans", noon+2*year))
	if h, err := d.store.Hazards.Get(t.Context(), first.ID); err != nil || h.Status != hazard.Expired || h.End != noon+60*minute {
		t.Errorf("the first is %+v, %v", h, err)
	}
	if got, want := d.together(), []string{"gvp:332010 hans:332010@2", "hans:332010"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An event that could make a hazard before it was found slight is a hazard, in one payload as in
// two.
func TestAnEventThatIsFoundSlightInOnePayload(t *testing.T) {
	slight := with(quake("us1", 2), func(r *hazard.Report) { r.Minor, r.Name = true, "M 4.4 Earthquake" })
	for name, payloads := range map[string][][]hazard.Report{
		"two payloads": {{quake("us1", 1)}, {slight}},
		"one payload":  {{quake("us1", 1), slight}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			for _, p := range payloads {
				d.apply("usgs", noon, live, p...)
			}
			if n := len(d.hazards()); n != 1 || d.event("usgs", "us1").Name != "M 4.4 Earthquake" {
				t.Errorf("%d hazards", n)
			}
		})
	}
}

// A report or a person's change may come between a part's end and the time it is recorded: the data
// of the part is removed nevertheless (B1).
func TestWhatComesBeforeTheClockHidesNoEnd(t *testing.T) {
	part := func(name string, end hazard.Instant) hazard.Report {
		return with(reportOf("cap", "a", hazard.Flood, noon, 1, 1), func(r *hazard.Report) {
			r.Part, r.Places, r.End, r.Refs = name, []string{name}, new(end), []string{"glide:FL-2026-000001-XXX"}
			r.Products = []hazard.ReportProduct{{Key: "text", Title: name, Type: hazard.TextProduct, Data: name}}
		})
	}
	other := func(version int64) hazard.Report {
		return with(reportOf("gdacs", "g", hazard.Flood, noon, 1, 1), func(r *hazard.Report) {
			r.Version, r.Refs, r.Description, r.End = version, []string{"glide:FL-2026-000001-XXX"}, fmt.Sprint(version), new(noon+600*minute)
		})
	}
	for name, happens := range map[string]func(*desk){
		"nothing":                    func(*desk) {},
		"a report of another source": func(d *desk) { d.apply("gdacs", noon+20*minute+1, live, other(2)) },
		"another event in its place": func(d *desk) {
			d.apply("gdacs", noon+20*minute+1, live, with(other(1), func(r *hazard.Report) { r.Key = "h" }))
		},
		"a person's word":      func(d *desk) { d.mustPatch(noon+20*minute+1, `{"comment_Text":"seen"}`) },
		"a person who ends it": func(d *desk) { d.mustPatch(noon+20*minute+1, `{"status":"E"}`) },
		"a source that names it anew": func(d *desk) {
			d.apply("cap", noon+20*minute+1, live, with(part("East", noon+300*minute), func(r *hazard.Report) { r.Version++ }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.apply("cap", noon, live, part("East", noon+300*minute), part("West", noon+20*minute))
			d.apply("gdacs", noon, live, other(1))
			happens(d)
			d.passUntil(noon + 21*minute)
			if got, want := d.titles(d.event("cap", "a").ID), []string{"/East"}; !slices.Equal(got, want) {
				t.Errorf("a minute after the west has expired %q, want %q", got, want)
			}
		})
	}
}

func (d *desk) mustPatch(now hazard.Instant, body string) {
	d.t.Helper()
	if err := d.patch(now, body); err != nil {
		d.t.Fatal(err)
	}
}

// Many hazards end at one moment, as at midnight. They are recorded a hundred at a time, so that
// other writers come in between, and all as of that moment.
func TestManyEndsOfOneMomentAreRecordedInPieces(t *testing.T) {
	test.NoRace(t)
	d := newDesk(t)
	var reports []hazard.Report
	for i := range 250 {
		reports = append(reports, with(reportOf("cap", fmt.Sprint(i), hazard.Flood, noon, 1, 1), func(r *hazard.Report) { r.End = new(noon + 60*minute) }))
	}
	d.apply("cap", noon, live, reports...)
	transactions := 0
	if err := d.intake.Pass(t.Context(), hazard.ClockFunc(func() hazard.Instant { transactions++; return noon + 60*minute })); err != nil {
		t.Fatal(err)
	}
	over := 0
	for _, h := range d.hazards() {
		if h.Status == hazard.Expired && h.LastUpdate == noon+60*minute {
			over++
		}
	}
	if over != 250 || transactions < 3 {
		t.Errorf("%d of 250 have ended, in %d transactions", over, transactions)
	}
}

// A change that a law refuses is among the source's errors. The hazard is derived again when its
// sources' data changes, even after its end.
func TestWhatALawRefusesIsAskedAgain(t *testing.T) {
	d := newDesk(t)
	d.apply("cap", noon, live, flood(noon, nothing))
	id := d.event("cap", "a").ID
	said := hazard.Derive([]hazard.Report{flood(noon, nothing)}, noon)
	said.Ended, said.EndedAt, said.Next = hazard.EndMerged, noon, noon+90*minute // merged into nothing
	d.decide(noon, store.Origin{}, func(tx *store.Tx) error { return fuse.Settle(t.Context(), d.intake, tx, id, said) })
	if errs, err := d.store.Sources.Errors(t.Context(), "cap", 10); err != nil || len(errs) != 1 || d.event("cap", "a").Status != hazard.Active {
		t.Fatalf("errors %v, %v; the hazard is %s", errs, err, d.event("cap", "a").Status)
	}
	d.passUntil(noon + 70*minute)
	if at, any, err := d.store.Hazards.NextMoment(t.Context()); err != nil || at != noon+90*minute {
		t.Errorf("the next moment is %s (%t, %v)", at, any, err)
	}
	d.passUntil(noon + 90*minute)
	if at, any, err := d.store.Hazards.NextMoment(t.Context()); err != nil || any {
		t.Errorf("and then %s, %v", at, err)
	}
}

// A clock that was ahead has ended a hazard. With the clock right again, its source still says so:
// it is not past its end (T17).
func TestWhatAWrongClockHasEndedGoesOn(t *testing.T) {
	const day = 24 * 60 * minute
	d := newDesk(t)
	warning := with(reportOf("cap", "a", hazard.Flood, noon, 10, 50), func(r *hazard.Report) { r.Version, r.End = int64(noon), new(noon+2*day) })
	d.apply("cap", noon, live, warning)
	if err := d.intake.Pass(t.Context(), noon+10*day); err != nil {
		t.Fatal(err)
	}
	if h := d.event("cap", "a"); h.Status == hazard.Active {
		t.Fatal("the clock is ahead, and it is active")
	}
	d.apply("cap", noon+60*minute, live, warning)
	if h := d.event("cap", "a"); h.Status != hazard.Active || h.End != noon+2*day {
		t.Errorf("with the clock right again, it is %s to %s", h.Status, h.End)
	}
	d.apply("cap", noon+3*day, live, warning)
	if h := d.event("cap", "a"); h.Status == hazard.Active && h.End > noon+3*day {
		t.Errorf("past its end, it is %s to %s", h.Status, h.End)
	}
}
