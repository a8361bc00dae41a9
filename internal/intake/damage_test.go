package intake_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/service"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/pagesum"
)

// A hazard whose rows are damaged costs its neighbors nothing: their ends are recorded, and its own once it is mended.
func TestADamagedHazardDoesNotKeepOthersFromTheirEnds(t *testing.T) {
	const ends = noon + 60*minute
	for name, c := range map[string]struct{ damage, mend, told string }{
		"its state": {`UPDATE changes SET body = replace(body, 'nws', 'mws') WHERE hazard_id = (SELECT hazard_id FROM events WHERE event = 'b')`,
			`UPDATE changes SET body = replace(body, 'mws', 'nws') WHERE hazard_id = (SELECT hazard_id FROM events WHERE event = 'b')`, "is damaged"},
		"the change of its state": {`UPDATE hazards SET n = n + 1000 WHERE id = (SELECT hazard_id FROM events WHERE event = 'b')`,
			`UPDATE hazards SET n = n - 1000 WHERE id = (SELECT hazard_id FROM events WHERE event = 'b')`, "the log has no change"},
		"what its source said": {`UPDATE reports SET body = '[' || body WHERE event = 'c'`, `UPDATE reports SET body = substr(body, 2) WHERE event = 'c'`, "stored report nws:c"},
		"what its source drew": {`UPDATE events SET shapes = '{' WHERE event = 'c'`, `UPDATE events SET shapes = '' WHERE event = 'c'`, "shapes of event nws:c"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := store.Open(t.Context(), dir, "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			d := &desk{t, s, service.BuiltIn().Intake(s)}
			for i, key := range []string{"a", "b", "c", "d"} {
				r := with(said("nws", key, hazard.Flood, noon, float64(20*i), 45), func(r *hazard.Report) { r.End = new(ends) })
				if key == "c" { // a part of it runs out: it is derived again
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
			if _, err := s.Check(t.Context(), func(what string) { faults = append(faults, what) }); err != nil || !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, c.told) }) {
				t.Errorf("a check finds %q, %v; want %q among it", faults, err, c.told)
			}
			run(t, dir, c.mend)
			if err := d.intake.Pass(t.Context(), ends+2*minute); err != nil || len(d.intake.Damaged()) > 0 {
				t.Errorf("once mended, %v are damaged, %v", d.intake.Damaged(), err)
			}
			if b := d.event("nws", "b"); b.Status != hazard.Expired {
				t.Errorf("once mended, it is %s", b.Status)
			}
		})
	}
}

// run runs a statement on the database of a folder, with checksums of pages that fit afterwards.
func run(t *testing.T, dir, statement string) {
	t.Helper()
	if err := pagesum.Register(); err != nil {
		t.Fatal(err)
	}
	d, err := sql.Open("sqlite", "file:"+filepath.Join(dir, store.FileName)+"?vfs="+pagesum.Strict)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.ExecContext(t.Context(), statement)
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
}
