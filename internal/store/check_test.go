package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// Data that differs from what was written is found, named, and not served.
func TestWhatIsDamagedIsNamedAndNotServed(t *testing.T) {
	s := open(t, t.TempDir())
	faults := func() (found []string) {
		t.Helper()
		if _, err := s.Check(t.Context(), func(what string) { found = append(found, what) }); err != nil {
			t.Fatal(err)
		}
		return found
	}
	h := flood("one")
	_, err := s.Write(t.Context(), noon, store.Origin{}, func(tx *store.Tx) (err error) {
		if h.Areas, err = tx.KeepAreas([]hazard.Area{{Role: hazard.AlertArea, Geometry: `{"type":"Point","coordinates":[1.5,-2]}`}}); err != nil {
			return err
		}
		return tx.SaveHazard(h, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	save(t, s, flood("two"))
	if _, err := s.Fork(t.Context(), noon, store.Failover); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fork(t.Context(), noon, store.Failover); err != nil {
		t.Fatal(err)
	}
	save(t, s, flood("three"))
	if found := faults(); len(found) != 0 {
		t.Fatalf("a whole store has the faults %q", found)
	}
	for _, c := range []struct{ name, damage, mend, told string }{
		{"a letter of a state", `UPDATE changes SET body = replace(body, '"one"', '"ine"') WHERE n = 1`,
			`UPDATE changes SET body = replace(body, '"ine"', '"one"') WHERE n = 1`, "change 1 is damaged"},
		{"an area", `UPDATE geometries SET geojson = replace(geojson, '1.5', '1.4')`, `UPDATE geometries SET geojson = replace(geojson, '1.4', '1.5')`, "geometry "},
		{"the status in the row", `UPDATE hazards SET status = 'E' WHERE n = 1`, `UPDATE hazards SET status = 'A' WHERE n = 1`, "hazard 1: its row differs from change 1"},
		{"which change made the state", `UPDATE hazards SET n = 2 WHERE id = 1`, `UPDATE hazards SET n = 1 WHERE id = 1`, "hazard 1: the latest state in the log is of change 1, the present state of 2"},
		{"whose change it is", `UPDATE changes SET hazard_id = 7 WHERE n = 2`, `UPDATE changes SET hazard_id = 2 WHERE n = 2`, "change 2 is of hazard 7, product 0, and its state is of 2"},
		{"a number", `UPDATE changes SET n = 5 WHERE n = 2`, `UPDATE changes SET n = 2 WHERE n = 5`, "the log goes from change 1 to 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := s.Exec(t.Context(), c.damage); err != nil {
				t.Fatal(err)
			}
			if found := faults(); !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, c.told) }) {
				t.Errorf("the faults are %q, expected %q among them", found, c.told)
			}
			if strings.HasPrefix(c.name, "a letter") {
				if _, err := s.Hazards.Get(t.Context(), h.ID); !isDamaged(err) {
					t.Errorf("the hazard is read with %v", err)
				}
				changes, err := s.Log.Since(t.Context(), 0, 10)
				if err != nil || changes[0].Number != 2 || !isDamaged(s.Quarantine.Found()["change 1"]) {
					t.Errorf("the log is read with %v, %v", changes, err)
				}
			}
			if c.name == "an area" {
				if _, err := s.Log.Areas(t.Context(), h.Areas); !isDamaged(err) {
					t.Errorf("the area is read with %v", err)
				}
			}
			if err := s.Exec(t.Context(), c.mend); err != nil {
				t.Fatal(err)
			}
			if found := faults(); len(found) != 0 {
				t.Errorf("after the repair the store has the faults %q", found)
			}
		})
	}
}

func isDamaged(err error) bool {
	_, ok := errors.AsType[*store.DamagedError](err)
	return ok
}

// Until the sweep has recorded it, only the log refers to a file, so a check reads the log from its
// beginning.
func TestACheckReadsProductFiles(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	save(t, s, flood("one"))
	keepFile(t, s, "the text of a file")
	if done, err := s.Check(t.Context(), func(what string) { t.Errorf("a whole store has the fault %q", what) }); err != nil || done.Files != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	digest := sha("the text of a file")
	if err := os.WriteFile(filepath.Join(dir, "files", digest[:2], digest), []byte("the text of a life"), 0o600); err != nil {
		t.Fatal(err)
	}
	var found []string
	if _, err := s.Check(t.Context(), func(what string) { found = append(found, what) }); err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || !strings.Contains(found[0], "product file "+digest) {
		t.Errorf("the faults are %q", found)
	}
}
