package fuse_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/store"
)

// capAlert returns a message for a district, with the given level, polygon and identifier.
func capAlert(id, kind, references, severity, polygon string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><alert xmlns="urn:oasis:names:tc:emergency:cap:1.2">
<identifier>` + id + `</identifier><sender>weather@example.org</sender><sent>2026-11-21T11:00:0` + id[len(id)-1:] + `+00:00</sent>
<status>Actual</status><msgType>` + kind + `</msgType><scope>Public</scope>` + references + `
<info><language>en</language><category>Met</category><event>Flood Warning</event><urgency>Immediate</urgency><severity>` + severity + `</severity>
<certainty>Observed</certainty><onset>2026-11-21T11:30:00+00:00</onset><expires>2026-11-21T23:30:00+00:00</expires><headline>Flood</headline>
<area><areaDesc>A District</areaDesc><polygon>` + polygon + `</polygon></area></info></alert>`
}

const west, east = "38,-120 38,-119 39,-119 38,-120", "38,-110 38,-109 39,-109 38,-110"

func (d *desk) takeCAP(messages ...string) {
	d.t.Helper()
	d.takeCAPAt(noon, messages...)
}

// takeCAPAt processes messages received at a moment.
func (d *desk) takeCAPAt(at hazard.Instant, messages ...string) {
	d.t.Helper()
	for _, m := range messages {
		batch, err := cap.Parse(cap.Config{Name: "cap"}, []byte(m), at)
		if err != nil || len(batch.Rejects) > 0 {
			d.t.Fatal(err, batch.Rejects)
		}
		if _, err := d.intake.Apply(d.t.Context(), "cap", batch, at, fuse.Options{}); err != nil {
			d.t.Fatal(err)
		}
	}
}

// levels returns the levels of the active hazards, sorted.
func (d *desk) levels() (out []string) {
	d.t.Helper()
	snap, err := d.store.Log.Snapshot(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	for _, h := range snap.Hazards {
		out = append(out, h.Severity.String())
	}
	slices.Sort(out)
	return out
}

// An Extreme alert and a Minor one with the same text are two hazards, and a Cancel of the Minor
// one leaves the Extreme one active (D31).
func TestAlertsInTheSameWordsAreTwoAndACancelEndsItsOwn(t *testing.T) {
	extreme, minor := capAlert("A-1", "Alert", "", "Extreme", west), capAlert("B-2", "Alert", "", "Minor", east)
	cancel := capAlert("C-3", "Cancel", "<references>weather@example.org,B-2,2026-11-21T11:00:02+00:00</references>", "Minor", east)
	for name, order := range map[string][]string{
		"as sent":           {extreme, minor, cancel},
		"the slight first":  {minor, extreme, cancel},
		"cancelled at once": {minor, cancel, extreme},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.takeCAP(order...)
			if got := d.levels(); !slices.Equal(got, []string{"WARNING"}) {
				t.Errorf("active %v, want the Extreme one", got)
			}
		})
	}
}

// A Cancel ends only what it references, not other alerts with similar text (D31).
func TestACancelEndsWhatItReferencesAlone(t *testing.T) {
	a, b := capAlert("A-1", "Alert", "", "Extreme", west), capAlert("B-2", "Alert", "", "Extreme", east)
	update := capAlert("U-4", "Update", referring("weather@example.org", "A-1"), "Severe", west)
	cancel := func(references string) string { return capAlert("C-5", "Cancel", references, "Extreme", west) }
	for name, tt := range map[string]struct {
		messages []string
		active   int
	}{
		"what nobody knows":              {[]string{a, b, cancel(referring("weather@example.org", "X-1"))}, 2},
		"what another sent":              {[]string{a, b, cancel(referring("other@example.org", "A-1"))}, 2},
		"one":                            {[]string{a, b, cancel(referring("weather@example.org", "A-1"))}, 1},
		"one and what nobody knows":      {[]string{a, b, cancel(referring("weather@example.org", "A-1", "X-2"))}, 1},
		"both, before they came":         {[]string{cancel(referring("weather@example.org", "A-1", "B-2")), a, b}, 0},
		"both, in between":               {[]string{a, cancel(referring("weather@example.org", "A-1", "B-2")), b}, 0},
		"what it became":                 {[]string{a, update, b, cancel(referring("weather@example.org", "U-4"))}, 1},
		"what it became, before it came": {[]string{cancel(referring("weather@example.org", "U-4")), b, update, a}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.takeCAP(tt.messages...)
			if got := d.levels(); len(got) != tt.active {
				t.Errorf("active %v, want %d", got, tt.active)
			}
		})
	}
}

// referring returns the references of a message to earlier ones of capAlert.
func referring(sender string, ids ...string) string {
	text := "<references>"
	for _, id := range ids {
		text += " " + sender + "," + id + ",2026-11-21T11:00:0" + id[len(id)-1:] + "+00:00"
	}
	return text + "</references>"
}

// Identifiers of alerts may be reused, like the numbers of a year. Next year's alert is another
// one, even if its first message here is an update (D32).
func TestAnIdentifierThatComesRoundIsANewAlert(t *testing.T) {
	year := func(message string) string { return strings.ReplaceAll(message, "2026-11-21T", "2027-11-21T") }
	first := capAlert("A-1", "Alert", "", "Severe", west)
	for name, next := range map[string]string{
		"alert":  year(capAlert("A-1", "Alert", "", "Severe", east)),
		"update": year(capAlert("A-2", "Update", referring("weather@example.org", "A-1"), "Severe", east)),
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.takeCAP(first)
			d.takeCAPAt(noon+365*24*60*minute, next)
			var starts, places []string
			for _, h := range d.hazards() {
				starts, places = append(starts, h.Start.String()), append(places, fmt.Sprint(h.Longitude))
			}
			slices.Sort(starts)
			slices.Sort(places)
			if len(slices.Compact(starts)) != 2 || len(slices.Compact(places)) != 2 {
				t.Errorf("hazards from %v at %v, want two", starts, places)
			}
		})
	}
}

// A sender that issues an alert again and cancels the first issue has not cancelled the alert.
func TestACancelOfOneIssueLeavesTheOther(t *testing.T) {
	first, again := capAlert("A-1", "Alert", "", "Extreme", west), capAlert("B-2", "Alert", "", "Extreme", west)
	cancel := func(id, of string) string {
		return capAlert(id, "Cancel", "<references>weather@example.org,"+of+",2026-11-21T11:00:0"+of[len(of)-1:]+"+00:00</references>", "Extreme", west)
	}
	d := newDesk(t)
	d.takeCAP(first, again)
	if got := d.levels(); len(got) != 1 {
		t.Fatalf("issued twice it is %v", got)
	}
	products := func() int {
		n := 0
		snap, err := d.store.Log.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range snap.Products {
			if p.Type == hazard.TextProduct {
				n++
			}
		}
		return n
	}
	// Each issue keeps its own text, whichever counts next (B10).
	before := d.last()
	d.takeCAP(first, again, first)
	if got := products(); got != 2 || d.last() != before {
		t.Errorf("%d texts of two issues, %d changes when they come again", got, d.last()-before)
	}
	d.takeCAP(cancel("C-3", "A-1"))
	if got := d.levels(); !slices.Equal(got, []string{"WARNING"}) {
		t.Errorf("after a cancel of the first issue: %v", got)
	}
	d.takeCAP(cancel("C-4", "B-2"))
	if got := d.levels(); len(got) != 0 {
		t.Errorf("after a cancel of both: %v", got)
	}
}

// Two events of one source in one hazard keep their own products at every update. A split moves the
// products of its event, whatever else is in their folder (B10).
func TestProductsBelongToTheEventThatGaveThem(t *testing.T) {
	d := newDesk(t)
	report := func(key string, version int64) hazard.Report {
		return with(reportOf("gdacs", key, hazard.Flood, noon, 1, 1), func(r *hazard.Report) {
			r.Version, r.Refs = version, []string{"glide:FL-2026-000001"}
			r.Products = []hazard.ReportProduct{{Key: "gdacs", Title: "folder of " + key, Type: hazard.FolderProduct, Time: noon},
				{Key: "text", Parent: "gdacs", Title: "text of " + key, Type: hazard.TextProduct, Data: "x", Time: noon}}
		})
	}
	d.apply("gdacs", noon, fuse.Options{}, report("FL1", 1))
	d.apply("gdacs", noon, fuse.Options{}, report("FL2", 1))
	h := d.event("gdacs", "FL1")
	if other := d.event("gdacs", "FL2"); other.ID != h.ID {
		t.Fatal("two events of one GLIDE are two hazards")
	}
	all := []string{"/folder of FL1", "/folder of FL1/text of FL1", "/folder of FL2", "/folder of FL2/text of FL2"}
	for version := range int64(3) {
		d.apply("gdacs", noon, fuse.Options{}, report("FL1", version+2), report("FL2", version+2))
		if got := d.titles(h.ID); !slices.Equal(got, all) {
			t.Fatalf("after update %d: %q", version, got)
		}
	}
	// An editor's text is in the folder of the event that leaves.
	var folder int64
	products, err := d.store.Hazards.Products(t.Context(), h.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range products {
		if p.Title == "folder of FL2" {
			folder = p.ID
		}
	}
	_, err = d.store.Write(t.Context(), noon, store.Origin{User: "ada"}, func(tx *store.Tx) error {
		return tx.SaveProduct(&hazard.Product{UUID: uuid.New(), HazardID: h.ID, ParentID: folder, Title: "mine", Type: hazard.TextProduct, Data: "y", OrgID: -1})
	})
	if err != nil {
		t.Fatal(err)
	}
	var parted int64
	if _, err := d.store.Write(t.Context(), noon, store.Origin{User: "ada", Admin: true}, func(tx *store.Tx) (err error) {
		parted, err = d.intake.Part(t.Context(), tx, h.ID, "gdacs", "FL2")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got, rest := d.titles(parted), d.titles(h.ID); !slices.Equal(got, all[2:]) || !slices.Equal(rest, []string{all[0], all[1], "/mine"}) {
		t.Errorf("after the split %q, and left are %q", got, rest)
	}
}
