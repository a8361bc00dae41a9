package fuse_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/sqlite/pagesum"
)

// damages are kinds of damage to the hazards of b and c, how to repair each, and what a check of
// the store reports.
var damages = map[string]struct{ event, damage, mend, with string }{
	"its state": {"b", `UPDATE changes SET body = replace(body, 'nws', 'mws') WHERE hazard_id = (SELECT hazard_id FROM events WHERE event = 'b')`,
		`UPDATE changes SET body = replace(body, 'mws', 'nws') WHERE hazard_id = (SELECT hazard_id FROM events WHERE event = 'b')`, "is damaged"},
	"the change of its state": {"b", `UPDATE hazards SET n = n + 1000 WHERE id = (SELECT hazard_id FROM events WHERE event = 'b')`,
		`UPDATE hazards SET n = n - 1000 WHERE id = (SELECT hazard_id FROM events WHERE event = 'b')`, "the log has no change"},
	"what its source said": {"c", `UPDATE reports SET body = '[' || body WHERE event = 'c'`,
		`UPDATE reports SET body = substr(body, 2) WHERE event = 'c'`, "stored report nws:c"},
	"what its source drew": {"c", `UPDATE events SET shapes = '{' WHERE event = 'c'`, `UPDATE events SET shapes = '' WHERE event = 'c'`, "shapes of event nws:c"},
}

// deskIn returns a desk whose store is in a folder.
func deskIn(t *testing.T) (d *desk, dir string) {
	t.Helper()
	dir = t.TempDir()
	s, err := store.Open(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &desk{t, s, builtIn.Intake(s)}, dir
}

// A payload that names a damaged hazard does not affect other hazards. Its data for the damaged one
// is held, and processed after the repair.
func TestAPayloadThatNamesADamagedHazardCostsOthersNothing(t *testing.T) {
	keys := []string{"a", "b", "c", "d"}
	for name, c := range damages {
		t.Run(name, func(t *testing.T) {
			d, dir := deskIn(t)
			state := func(version int, keys ...string) (all []hazard.Report) {
				for i, key := range keys {
					all = append(all, with(reportOf("nws", key, hazard.Flood, noon, float64(20*i), 45), func(r *hazard.Report) {
						r.Version, r.Name = int64(version), fmt.Sprint("Flood ", version)
					}))
				}
				return all
			}
			d.apply("nws", noon, live, state(1, keys...)...)
			run(t, dir, c.damage)
			res := d.apply("nws", noon+minute, live, state(2, append(keys, "e")...)...)
			if res.Updated != 3 || res.New != 1 || res.Held != 1 || len(res.Suspects) != 1 || !res.Events[c.event] {
				t.Errorf("with %s damaged: %+v", c.event, res)
			}
			for _, key := range keys {
				if key != c.event && d.event("nws", key).Name != "Flood 2" {
					t.Errorf("%s is called %q", key, d.event("nws", key).Name)
				}
			}
			if again := d.apply("nws", noon+2*minute, live, state(2, append(keys, "e")...)...); again.Unchanged != 4 || again.Held != 1 || len(again.Suspects) > 0 {
				t.Errorf("the same again: %+v", again)
			}
			held, err := d.store.Reports.Held(t.Context(), "nws", 10)
			if err != nil || len(held) != 1 || held[0].Report.Key != c.event || !strings.HasPrefix(held[0].Reason, store.Damaged) {
				t.Errorf("held are %+v, %v", held, err)
			}
			d.apply("nws", noon+3*minute, live, with(state(3, c.event)[0], func(r *hazard.Report) { r.Severity = hazard.Warning }))
			if err := d.intake.Pass(t.Context(), noon+4*minute); err != nil {
				t.Errorf("a pass while it is damaged: %v", err)
			}
			if n, err := d.store.Reports.CountHeld(t.Context(), "nws"); n != 2 || err != nil {
				t.Errorf("%d are held, %v", n, err)
			}
			run(t, dir, c.mend)
			if err := d.intake.Pass(t.Context(), noon+5*minute); err != nil {
				t.Error(err)
			}
			if h := d.event("nws", c.event); h.Name != "Flood 3" || h.Severity != hazard.Warning || h.LastUpdate != noon+5*minute {
				t.Errorf("after the repair it is %s, %s, since %s", h.Name, h.Severity, h.LastUpdate)
			}
			if n, err := d.store.Reports.CountHeld(t.Context(), "nws"); n != 0 || err != nil {
				t.Errorf("after the repair %d are held, %v", n, err)
			}
		})
	}
}

// An unreadable held report is named, and stays. Other reports of its source, and of its event, are
// listed and processed without it.
func TestAHeldReportThatCannotBeReadCostsOthersNothing(t *testing.T) {
	d, dir := deskIn(t)
	b := func(version int64) hazard.Report {
		return with(reportOf("nws", "b", hazard.Flood, noon, 20, 45), func(r *hazard.Report) { r.Version, r.Name = version, fmt.Sprint("Flood ", version) })
	}
	d.apply("nws", noon, live, b(1))
	c := damages["its state"]
	run(t, dir, c.damage)
	for version := range int64(3) {
		d.apply("nws", noon+minute, live, b(2+version))
	}
	run(t, dir, `UPDATE held SET body = '[' || body WHERE version = 3`)
	run(t, dir, c.mend)
	held, err := d.store.Reports.Held(t.Context(), "nws", 10)
	if err != nil || len(held) != 3 {
		t.Fatalf("%d are held, %v; want three", len(held), err)
	}
	unread := held[1]
	for _, h := range held {
		if h.Report.Source != "nws" || h.Report.Key != "b" || (h.Unread != nil) != (h == unread) {
			t.Errorf("held is %+v", h)
		}
	}
	if err := unread.Unread; err == nil || !strings.Contains(err.Error(), fmt.Sprint("held report ", unread.ID, " is damaged")) {
		t.Errorf("the middle one: %v", err)
	}
	if err := d.intake.Pass(t.Context(), noon+2*minute); err != nil {
		t.Error(err)
	}
	if h := d.event("nws", "b"); h.Name != "Flood 4" {
		t.Errorf("it is %s", h.Name)
	}
	if n, err := d.store.Reports.CountHeld(t.Context(), "nws"); n != 1 || err != nil {
		t.Errorf("%d are held, %v; want the unreadable one", n, err)
	}
	if unreadable := d.intake.Unreadable(); len(unreadable) != 1 || unreadable[unread.ID] == nil {
		t.Errorf("unreadable are %v", unreadable)
	}
	var faults []string
	if _, err := d.store.Check(t.Context(), func(what string) { faults = append(faults, what) }); err != nil || len(faults) != 1 ||
		!strings.Contains(faults[0], fmt.Sprintf("held report %d (nws:b)", unread.ID)) {
		t.Errorf("a check finds %q, %v", faults, err)
	}
	run(t, dir, `UPDATE held SET body = substr(body, 2)`)
	if err := d.intake.Pass(t.Context(), noon+3*minute); err != nil || len(d.intake.Unreadable()) > 0 {
		t.Errorf("after the repair %v are unreadable, %v", d.intake.Unreadable(), err)
	}
	if n, err := d.store.Reports.CountHeld(t.Context(), "nws"); n != 0 || err != nil {
		t.Errorf("after the repair %d are held, %v", n, err)
	}
}

// Drawings of a damaged hazard do not affect those of others, and are there after the repair.
func TestADrawingOfADamagedHazardIsKept(t *testing.T) {
	c := damages["its state"]
	for name, withReport := range map[string]bool{"alone": false, "beside a report": true} {
		t.Run(name, func(t *testing.T) {
			d, dir := deskIn(t)
			b, a := reportOf("nws", "b", hazard.Cyclone, noon, 20, 25), reportOf("nws", "a", hazard.Cyclone, noon, 40, 25)
			d.apply("nws", noon, live, a, b)
			run(t, dir, c.damage)
			var reports []hazard.Report
			if withReport {
				reports = append(reports, with(b, func(r *hazard.Report) { r.Version++ }))
			}
			d.draw("nws", noon+minute, append(cone("b", 1, "wide"), cone("a", 1, "narrow")...), reports...)
			if got := d.labels("nws", "a"); !slices.Equal(got, []string{"narrow"}) {
				t.Errorf("its neighbor has %q", got)
			}
			run(t, dir, c.mend)
			if err := d.intake.Pass(t.Context(), noon+2*minute); err != nil {
				t.Fatal(err)
			}
			if got := d.labels("nws", "b"); !slices.Equal(got, []string{"wide"}) {
				t.Errorf("after the repair it has %q", got)
			}
		})
	}
}

// A hazard with damaged rows does not affect others: their ends are recorded, and its own after the
// repair.
func TestADamagedHazardDoesNotKeepOthersFromTheirEnds(t *testing.T) {
	const ends = noon + 60*minute
	for name, c := range damages {
		t.Run(name, func(t *testing.T) {
			d, dir := deskIn(t)
			for i, key := range []string{"a", "b", "c", "d"} {
				r := with(reportOf("nws", key, hazard.Flood, noon, float64(20*i), 45), func(r *hazard.Report) { r.End = new(ends) })
				if key == "c" { // a part of it expires, so it is derived again
					r.Part, r.Places = "1", []string{"x"}
					d.apply("nws", noon, live, with(r, func(r *hazard.Report) { r.Part, r.Places, r.End = "2", []string{"y"}, new(ends+60*minute) }))
				}
				d.apply("nws", noon, live, r)
			}
			run(t, dir, c.damage)
			if err := d.intake.PassUntil(t.Context(), ends+minute); err != nil {
				t.Fatal(err)
			}
			damaged := d.intake.Damaged()
			if len(damaged) != 1 {
				t.Errorf("damaged are %v, want one", damaged)
			}
			for _, key := range []string{"a", "d"} {
				if h := d.event("nws", key); h.Status != hazard.Expired || h.LastUpdate != ends {
					t.Errorf("%s is %s since %s", key, h.Status, h.LastUpdate)
				}
			}
			if at, any, err := d.intake.NextMoment(t.Context()); err != nil || any && at <= ends+minute {
				t.Errorf("at %s something is still to be done: %v", at, err)
			}
			var faults []string
			if _, err := d.store.Check(t.Context(), func(what string) { faults = append(faults, what) }); err != nil || !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, c.with) }) {
				t.Errorf("a check finds %q, %v; want %q among it", faults, err, c.with)
			}
			run(t, dir, c.mend)
			if err := d.intake.Pass(t.Context(), ends+2*minute); err != nil || len(d.intake.Damaged()) > 0 {
				t.Errorf("after the repair %v are damaged, %v", d.intake.Damaged(), err)
			}
			if b := d.event("nws", "b"); b.Status != hazard.Expired {
				t.Errorf("after the repair it is %s", b.Status)
			}
		})
	}
}

// run runs a statement on the database of a folder, and updates the checksums of pages.
func run(t *testing.T, dir, statement string) {
	t.Helper()
	if err := pagesum.Register(); err != nil {
		t.Fatal(err)
	}
	d, err := sql.Open("sqlite", "file:"+filepath.Join(dir, store.FileName)+"?vfs="+pagesum.Strict+"&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.ExecContext(t.Context(), statement)
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
}
