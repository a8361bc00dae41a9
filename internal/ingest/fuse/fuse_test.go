package fuse_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
)

const noon hazard.Instant = 1_795_262_400_000 // 2026-11-21T12:00:00Z

// quake returns a report of an earthquake of an hour ago.
func quake(key string, version int64, aliases ...string) hazard.Report {
	return hazard.Report{Source: "usgs", Key: key, Aliases: aliases, Version: version, Name: "M 5.1 Earthquake - " + key, Type: hazard.Earthquake,
		Severity: hazard.Advisory, Start: noon.Add(-time.Hour), Point: &hazard.Point{Lon: 10, Lat: -20}, Creator: "USGS"}
}

// apply processes reports received at now, and returns the result.
func (d *desk) apply(src string, now hazard.Instant, opts fuse.Options, reports ...hazard.Report) fuse.Result {
	d.t.Helper()
	res, err := d.intake.Apply(d.t.Context(), src, source.Batch{Reports: reports, Read: len(reports)}, now, opts)
	if err != nil {
		d.t.Fatal(err)
	}
	return res
}

// decide runs a person's decision.
func (d *desk) decide(now hazard.Instant, by store.Origin, f func(*store.Tx) error) {
	d.t.Helper()
	if _, err := d.store.Write(d.t.Context(), now, by, f); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) event(src, key string) *hazard.Hazard {
	d.t.Helper()
	var h *hazard.Hazard
	_, err := d.store.Write(d.t.Context(), noon, store.Origin{}, func(tx *store.Tx) error {
		_, id, err := tx.Events.Key(src, key)
		if err == nil {
			h, err = tx.Hazard(id)
		}
		return err
	})
	if err != nil {
		d.t.Fatalf("event %s:%s: %v", src, key, err)
	}
	return h
}

var live fuse.Options

func TestReportThatSaysNothingNewMakesNoChange(t *testing.T) {
	d := newDesk(t)
	d.apply("usgs", noon, live, quake("us1", 5))
	before := d.last()
	if res := d.apply("usgs", noon+1000, live, quake("us1", 5)); res.Unchanged != 1 || d.last() != before {
		t.Errorf("the same again: %+v, %d changes", res, d.last()-before)
	}
	older := quake("us1", 4)
	older.Severity = hazard.Warning
	if d.apply("usgs", noon+2000, live, older); d.last() != before {
		t.Error("a late older version made a change")
	}
	newer := quake("us1", 6)
	newer.Severity = hazard.Watch
	if res := d.apply("usgs", noon+3000, live, newer); res.Updated != 1 || d.event("usgs", "us1").Severity != hazard.Watch {
		t.Errorf("a newer version: %+v", res)
	}
}

func TestSourceMayLowerItsOwnLevel(t *testing.T) {
	d := newDesk(t)
	first := quake("us1", 5)
	first.Severity = hazard.Warning
	d.apply("usgs", noon, live, first)
	d.apply("usgs", noon+1, live, quake("us1", 6))
	if got := d.event("usgs", "us1").Severity; got != hazard.Advisory {
		t.Errorf("severity %s after a downgrade", got)
	}
}

func TestSlightEventMakesNoHazardAndUpdatesOne(t *testing.T) {
	d := newDesk(t)
	slight := quake("us1", 5)
	slight.Minor = true
	if res := d.apply("usgs", noon, live, slight); res.Ignored != 1 || d.last() != 0 {
		t.Errorf("a slight event: %+v", res)
	}
	d.apply("usgs", noon, live, quake("us1", 6))
	slight.Version, slight.Name = 7, "M 4.4 Earthquake"
	if res := d.apply("usgs", noon, live, slight); res.Updated != 1 || d.event("usgs", "us1").Name != "M 4.4 Earthquake" {
		t.Errorf("it was found slight: %+v", res)
	}
}

func TestAnyNameOfAnEventLeadsToItsHazard(t *testing.T) {
	d := newDesk(t)
	d.apply("usgs", noon, live, quake("us1", 5, "nc2"))
	res := d.apply("usgs", noon, live, quake("nc2", 6, "at3"))
	if res.New != 0 || res.Updated != 1 || len(d.hazards()) != 1 {
		t.Errorf("under its other name: %+v", res)
	}
	if d.apply("usgs", noon, live, quake("at3", 7)); len(d.hazards()) != 1 {
		t.Error("with a third name it became another hazard")
	}
}

// A payload has a new name first, and only later an old name together with it. It is about the
// known event.
func TestNameLinkedLaterInAPayloadLeadsToTheKnownEvent(t *testing.T) {
	withdrawn := func(aliases ...string) hazard.Report {
		return with(quake("us9", int64(noon), aliases...), func(r *hazard.Report) { r.Ended = hazard.EndWithdrawn })
	}
	d := newDesk(t)
	d.apply("usgs", noon, live, quake("us1", 5, "nc2"))
	d.apply("usgs", noon+1, live, withdrawn(), withdrawn("nc2"))
	for _, key := range []string{"us1", "nc2", "us9"} {
		if h := d.event("usgs", key); h.UUID != hazard.EventUUID("usgs", "us1") || h.Status != hazard.Expired || h.Reason != hazard.EndWithdrawn {
			t.Errorf("%s finds %s, status %s, reason %q; expected the hazard of us1, withdrawn", key, h.UUID, h.Status, h.Reason)
		}
	}
}

func TestTwoHazardsFoundToBeOneEventAreOne(t *testing.T) {
	d := newDesk(t)
	d.apply("usgs", noon, live, quake("us1", 5), quake("nc2", 5))
	d.apply("usgs", noon+1, live, quake("us1", 6, "nc2"))
	kept := d.event("usgs", "nc2")
	if kept.UUID != hazard.EventUUID("usgs", "us1") || kept.Status != hazard.Active {
		t.Errorf("nc2 finds %s %s", kept.Name, kept.Status)
	}
	gone, err := d.store.Hazards.ByUUID(t.Context(), hazard.EventUUID("usgs", "nc2"))
	if err != nil || gone.Status != hazard.Expired || gone.Reason != hazard.EndMerged || gone.Successor != kept.UUID {
		t.Errorf("the other: %+v, %v", gone, err)
	}
	before := d.last()
	if d.apply("usgs", noon+2, live, quake("us1", 6, "nc2")); d.last() != before {
		t.Error("the same report again made a change")
	}
}

func TestSummaryDoesNotTakeAwayWhatTheDetailTold(t *testing.T) {
	d := newDesk(t)
	detail := quake("us1", 5)
	detail.Renewed = new(noon.Add(-time.Minute))
	detail.Products = []hazard.ReportProduct{{Key: "usgs", Title: "USGS", Type: hazard.FolderProduct}, {Key: "pager", Parent: "usgs", Title: "PAGER",
		Type: hazard.URLProduct, Data: "https://example.org/"}}
	d.apply("usgs", noon, live, detail)
	h := d.event("usgs", "us1")
	d.apply("usgs", noon+1, live, quake("us1", 6))
	if got := d.titles(h.ID); !slices.Equal(got, []string{"/USGS", "/USGS/PAGER"}) || d.event("usgs", "us1").End != h.End {
		t.Errorf("products %q, end %s; was %s", got, d.event("usgs", "us1").End, h.End)
	}
	detail.Version, detail.Products = 7, detail.Products[:1]
	d.apply("usgs", noon+2, live, detail)
	if got := d.titles(h.ID); !slices.Equal(got, []string{"/USGS"}) {
		t.Errorf("products %q after the source removed one", got)
	}
}

func TestDetailIsAskedForWhenSomethingChanged(t *testing.T) {
	d := newDesk(t)
	r := quake("us1", 5)
	r.Detail = "https://example.org/us1"
	if res := d.apply("usgs", noon, live, r); !slices.Equal(res.Details, []string{r.Detail}) {
		t.Errorf("details %q", res.Details)
	}
	if res := d.apply("usgs", noon, live, r); len(res.Details) != 0 {
		t.Errorf("details %q though nothing changed", res.Details)
	}
}

func TestWhatWasOverLongAgoIsHistoryOnly(t *testing.T) {
	old := quake("us1", 5)
	old.Start = noon.Add(-30 * 24 * time.Hour)
	d := newDesk(t)
	if res := d.apply("usgs", noon, live, old); res.Ignored != 1 || d.last() != 0 {
		t.Errorf("from a live feed: %+v", res)
	}
	if res := d.apply("usgs", noon, fuse.Options{History: true}, old); res.New != 1 || d.event("usgs", "us1").Status != hazard.Expired {
		t.Errorf("from a file: %+v", res)
	}
}

func TestWithdrawnEventComesBackWhenItIsListedAgain(t *testing.T) {
	d := newDesk(t)
	d.apply("usgs", noon, live, quake("us1", 5))
	for range 2 {
		if _, err := d.intake.Withdraw(t.Context(), "usgs", "us1", nil, hazard.EndWithdrawn, noon+1000); err != nil {
			t.Fatal(err)
		}
	}
	if h := d.event("usgs", "us1"); h.Status != hazard.Expired || h.Reason != hazard.EndWithdrawn || h.Severity != hazard.Termination || h.End != noon+1000 {
		t.Errorf("withdrawn: %+v", h)
	}
	if n := d.last(); n != 2 {
		t.Errorf("%d changes, want 2: withdrawn twice is withdrawn once", n)
	}
	d.apply("usgs", noon+2000, live, quake("us1", 5))
	if h := d.event("usgs", "us1"); h.Status != hazard.Active || h.Severity != hazard.Advisory || h.Reason != "" {
		t.Errorf("listed again: %+v", h)
	}
}

func TestSuspectReportIsHeldUntilAnEditorDecides(t *testing.T) {
	d := newDesk(t)
	suspect := quake("us1", 5)
	suspect.Suspect = "the words say TEST"
	res := d.apply("usgs", noon, live, suspect, quake("us2", 5))
	if res.Held != 1 || res.New != 1 || len(res.Suspects) != 1 {
		t.Errorf("held: %+v; its neighbor must not be held", res)
	}
	if res := d.apply("usgs", noon, live, suspect); res.Held != 1 || len(res.Suspects) != 0 {
		t.Errorf("held again: %+v", res)
	}
	held, err := d.store.Reports.Held(t.Context(), "usgs", 10)
	if err != nil || len(held) != 1 {
		t.Fatalf("held %v, %v", held, err)
	}
	d.decide(noon+5, store.Origin{User: "ada"}, func(tx *store.Tx) error {
		held, err := tx.Reports.Decide(held[0].ID, store.Released)
		if err == nil {
			_, err = d.intake.Take(t.Context(), tx, held.Report)
		}
		return err
	})
	if h := d.event("usgs", "us1"); h.Status != hazard.Active {
		t.Errorf("released: %+v", h)
	}
	before := d.last()
	if res := d.apply("usgs", noon+6, live, suspect); res.Held != 0 || d.last() != before {
		t.Errorf("the same report again, after its release: %+v", res)
	}
	other := quake("us3", 5)
	other.Suspect = "years ahead"
	d.apply("usgs", noon, live, other)
	held, _ = d.store.Reports.Held(t.Context(), "usgs", 10)
	d.decide(noon+5, store.Origin{User: "ada"}, func(tx *store.Tx) error {
		_, err := tx.Reports.Decide(held[0].ID, store.Dismissed)
		return err
	})
	if res := d.apply("usgs", noon+7, live, other); res.Held != 0 || res.Ignored != 1 {
		t.Errorf("the same report again, after its dismissal: %+v", res)
	}
}

// alert returns a message with zones only.
func alert(key string, version int64, places, within []string) hazard.Report {
	return hazard.Report{Source: "nws", Key: key, Part: fmt.Sprint(key, version), Version: version, Name: "Flood Warning", Type: hazard.Flood, Severity: hazard.Warning,
		Start: noon, End: new(noon.Add(time.Hour)), Places: places, Within: within, Creator: "NWS"}
}

func TestAlertIsPlacedByItsZonesElseByTheirCountiesElseByItsCountryElseHeld(t *testing.T) {
	d := newDesk(t)
	// Not even the country is known.
	somewhere := with(alert("AREA", int64(noon), []string{"area:The Lowlands"}, nil), func(r *hazard.Report) { r.Source = "cap" })
	if res := d.apply("cap", noon, live, somewhere); res.Held != 1 || res.New != 0 {
		t.Errorf("with no place: %+v", res)
	}
	held, err := d.store.Reports.Held(t.Context(), "cap", 10)
	if err != nil || len(held) != 1 || held[0].Reason != "no place: no shape is known of [area:The Lowlands]" {
		t.Fatalf("held %+v, %v", held, err)
	}
	somewhere.Country = "LS"
	if res := d.apply("cap", noon+1, live, somewhere); res.New != 1 {
		t.Errorf("once its country is known: %+v", res)
	}
	lesotho := d.event("cap", "AREA")
	if len(lesotho.Areas) != 0 || len(lesotho.StandIns) != 1 || lesotho.Place() != hazard.PlaceCountry || lesotho.PlaceKnownAs != "Lesotho" ||
		lesotho.Latitude > -29 || lesotho.Latitude < -30.5 || !strings.Contains(lesotho.Description, "Note: the place is only known as Lesotho: no shape is known of [area:The Lowlands]") {
		t.Errorf("at %v %v, %q", lesotho.Longitude, lesotho.Latitude, lesotho.Description)
	}

	// An unknown zone, in no county.
	sea := alert("SEA", int64(noon), []string{"GMZ999"}, []string{"077999"})
	if res := d.apply("nws", noon, live, sea); res.New != 1 {
		t.Errorf("with a zone that is not known: %+v", res)
	}
	if h := d.event("nws", "SEA"); h.Place() != hazard.PlaceRegion || len(h.Areas) != 0 || h.Latitude < 18 || h.Latitude > 31 ||
		!strings.Contains(h.Description, "Note: the place is only known as the Gulf of Mexico off the United States: no shape is known of [GMZ999]") {
		t.Errorf("the sea is used without a note: %v at %v %v, %q", h.Place(), h.Longitude, h.Latitude, h.Description)
	}
	square := `{"type":"Polygon","coordinates":[[[-82,24],[-81,24],[-81,25],[-82,25],[-82,24]]]}`
	if err := d.store.Sources.SavePlace(t.Context(), "nws", "GMZ999", "Straits", square, noon); err != nil {
		t.Fatal(err)
	}
	if res := d.apply("nws", noon+1, fuse.Options{Again: true}, sea); res.Updated != 1 {
		t.Errorf("once its zone is known: %+v", res)
	}
	if h := d.event("nws", "SEA"); h.Longitude != -81.5 || h.Latitude < 24.4 || h.Latitude > 24.6 || len(h.Areas) != 1 || h.Place() != hazard.PlaceCode || len(h.StandIns) != 0 || strings.Contains(h.Description, "Note:") {
		t.Errorf("placed at %v %v, %q", h.Longitude, h.Latitude, h.Description)
	}
	if n, err := d.store.Reports.CountHeld(t.Context(), "nws"); n != 0 || err != nil {
		t.Errorf("%d still held, %v", n, err)
	}

	// An unknown forecast zone in a known county: Shelby County, Indiana.
	land := alert("LAND", int64(noon), []string{"INZ997"}, []string{"018145"})
	d.apply("nws", noon, live, land)
	county := d.event("nws", "LAND")
	if county.Latitude < 39.3 || county.Latitude > 39.7 || county.Longitude < -86 || county.Longitude > -85.6 {
		t.Errorf("placed at %v %v, want Shelby County", county.Longitude, county.Latitude)
	}
	if !strings.Contains(county.Description, "Note: the area is that of wider places: no shape is known of all of [INZ997]") {
		t.Errorf("the county is used without a note: %q", county.Description)
	}
	if err := d.store.Sources.SavePlace(t.Context(), "nws", "INZ997", "Shelby", square, noon); err != nil {
		t.Fatal(err)
	}
	if res := d.apply("nws", noon+1, fuse.Options{Again: true}, land); res.Updated != 1 || slices.Equal(d.event("nws", "LAND").Areas, county.Areas) {
		t.Errorf("once its zone is known: %+v", res)
	}
	if land := d.event("nws", "LAND"); strings.Contains(land.Description, "Note:") {
		t.Errorf("once its zone is known: %q", land.Description)
	}
}

func TestWhatAnEditorSetIsNotOverwritten(t *testing.T) {
	d := newDesk(t)
	d.apply("usgs", noon, live, quake("us1", 5))
	h := d.event("usgs", "us1")
	editor := edit.New(d.store, d.intake, 1, func(int64) bool { return false })
	who := edit.Author{Caller: auth.Caller{Name: "ada", Role: auth.Editor}}
	if _, err := editor.PatchHazard(t.Context(), who, edit.Ref{ID: h.ID}, nil, []byte(`{"severity_ID":"WARNING","latitude":-21}`), noon+1); err != nil {
		t.Fatal(err)
	}
	newer := quake("us1", 6)
	newer.Name, newer.Point = "M 5.2 Earthquake", &hazard.Point{Lon: 11, Lat: -22}
	d.apply("usgs", noon+2, live, newer)
	if h := d.event("usgs", "us1"); h.Severity != hazard.Warning || h.Latitude != -21 || h.Name != "M 5.2 Earthquake" {
		t.Errorf("after the source spoke again: %+v", h)
	}
	if _, err := editor.Retract(t.Context(), who, edit.Ref{ID: h.ID}, nil, []byte(`{"reason":"It was a blast."}`), noon+3); err != nil {
		t.Fatal(err)
	}
	newer.Version = 7
	d.apply("usgs", noon+4, live, newer)
	if h := d.event("usgs", "us1"); h.Status != hazard.Expired || h.Severity != hazard.Termination || h.Reason != hazard.EndRetracted || h.Note != "It was a blast." {
		t.Errorf("the source brought back a retracted hazard: %+v", h)
	}
}

func TestRejectedRecordsAreKeptAndTheirNeighboursTaken(t *testing.T) {
	d := newDesk(t)
	batch := source.Batch{Read: 2, Reports: []hazard.Report{quake("us1", 5)}, Rejects: []source.Reject{{Record: "us2", Reason: "mag: x", Raw: []byte("{}")}}}
	res, err := d.intake.Apply(t.Context(), "usgs", batch, noon, live)
	if err != nil || res.New != 1 || res.Rejected != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	errs, err := d.store.Sources.Errors(t.Context(), "usgs", 10)
	if err != nil || len(errs) != 1 || errs[0].Record != "us2" || string(errs[0].Raw) != "{}" {
		t.Errorf("kept %+v, %v", errs, err)
	}
}

// However reports are divided into batches and ordered, the hazards are the same in the end.
func TestOrderAndBatchesOfReportsDoNotMatter(t *testing.T) {
	test.Seconds(t)
	test.Checks(t, 30)
	kinds := []hazard.EndReason{"", "", "", hazard.EndCancelled, hazard.EndSuperseded}
	rapid.Check(t, func(rt *rapid.T) {
		reports := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) hazard.Report {
			r := alert(rapid.SampledFrom([]string{"A", "B"}).Draw(t, "key"), int64(noon)+rapid.Int64Range(0, 9).Draw(t, "version"),
				rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"INC005", "INC065", "INC139"}), 1, 3, rapid.ID).Draw(t, "places"), nil)
			r.Ended = rapid.SampledFrom(kinds).Draw(t, "ended")
			r.Severity = rapid.SampledFrom([]hazard.Severity{hazard.Advisory, hazard.Warning}).Draw(t, "severity")
			return r
		}), 1, 8, func(r hazard.Report) string { return r.Part }).Draw(rt, "reports")
		run := func(order []hazard.Report, sizes []int) map[string]hazard.Hazard {
			d := newDesk(t)
			for i := 0; len(order) > 0; i++ {
				n := min(sizes[i%len(sizes)], len(order))
				d.apply("nws", noon+100, fuse.Options{History: true}, order[:n]...)
				order = order[n:]
			}
			all := map[string]hazard.Hazard{}
			for id, h := range d.hazards() {
				h.ID, h.Version = 0, 0 // they depend on the order
				all[id] = *h
			}
			return all
		}
		want := run(reports, []int{len(reports)})
		got := run(rapid.Permutation(reports).Draw(rt, "order"), rapid.SliceOfN(rapid.IntRange(1, 4), 1, 4).Draw(rt, "sizes"))
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			rt.Errorf("got\n%+v\nwant\n%+v", got, want)
		}
	})
}

// Guessed or unreadable data is in the notes of the report, and does not hide the hazard.
func TestNotesOfAReportStandInTheDescription(t *testing.T) {
	d := newDesk(t)
	r := quake("us1", 5)
	r.Description, r.Notes = "Strong shaking.", []string{"the depth could not be read"}
	d.apply("usgs", noon, live, r)
	if h := d.event("usgs", "us1"); h.Status != hazard.Active || h.Description != "Strong shaking.\n\nNote: the depth could not be read" {
		t.Errorf("%s, %q", h.Status, h.Description)
	}
}

// Once, "Fries, Washington" was shown in the Atlantic, 7,337 km from its own perimeter.
func TestTheFiresPointIsHeldAgainstItsPerimeter(t *testing.T) {
	fire := func(lon, lat float64) hazard.Report {
		return hazard.Report{Source: "nifc", Key: "f", Version: 1, Name: "Wildfire - Fries, Washington", Type: hazard.Wildfire, Severity: hazard.Information, Start: noon, Creator: "NIFC",
			End: new(noon.Add(time.Hour)), Point: &hazard.Point{Lon: lon, Lat: lat},
			Areas: []hazard.Area{{Role: hazard.ImpactArea, Geometry: `{"type":"Polygon","coordinates":[[[-120,48],[-119.9,48],[-119.9,48.1],[-120,48.1],[-120,48]]]}`}}}
	}
	for name, tt := range map[string]struct {
		lon, lat float64
		held     bool
	}{"in the Atlantic": {-20, 48, false}, "beside it": {-120.05, 48.05, true}, "in it": {-119.95, 48.02, true}, "10 km off": {-120.15, 48.05, false}} {
		d := newDesk(t)
		d.apply("nifc", noon, live, fire(tt.lon, tt.lat))
		h := d.event("nifc", "f")
		if own := h.Longitude == tt.lon && h.Latitude == tt.lat; own != tt.held || strings.Contains(h.Description, "off the perimeter") == tt.held {
			t.Errorf("%s: at %v %v, %q", name, h.Latitude, h.Longitude, h.Description)
		}
		if h.Longitude < -121 || h.Longitude > -119 {
			t.Errorf("%s: at %v", name, h.Longitude)
		}
	}
}
