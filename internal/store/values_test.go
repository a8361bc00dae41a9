package store_test

import (
	"net/url"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

// Values for searches exist after an upgrade, and after a program with an earlier schema has
// written.
func TestValuesAreThereAfterAnUpgradeAndAfterAnEarlierProgram(t *testing.T) {
	dir := t.TempDir()
	database := postgres.Database(t, dir, "")
	s, err := store.Open(t.Context(), dir, database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	measured := func(name string, all ...hazard.Measurement) *hazard.Hazard {
		h := flood(name)
		h.Description = `says "measurements":[{"name":"magnitude","value":9}] and \u0000`
		h.Measurements = all
		return h
	}
	great := measured("great", hazard.Measurement{Name: hazard.Depth, Value: -1.5}, hazard.Measurement{Name: hazard.Magnitude, Value: 6.5, Scale: "m]w", Source: "usgs"})
	save(t, s, measured("little", hazard.Measurement{Name: hazard.Magnitude, Value: 4}))
	save(t, s, great)
	save(t, s, measured("none"))
	finds := func(when string, want ...string) {
		t.Helper()
		q, faults := query.Parse(url.Values{"measure": {"magnitude:..9.5"}, "sort": {"-magnitude"}})
		if faults != nil {
			t.Fatal(faults)
		}
		page, err := s.Search.Find(t.Context(), q, nil, hazard.Instant(1))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range page.Hazards {
			got = append(got, h.Name)
		}
		if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	again := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			if err := s.Exec(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = store.Open(t.Context(), dir, database); err != nil {
			t.Fatal(err)
		}
	}
	finds("new", "great", "little")
	migration, err := s.Migration("0024_values.sql")
	if err != nil {
		t.Fatal(err)
	}
	again(`DROP TABLE hazard_values`, `DELETE FROM counters WHERE name = 'found'`, migration)
	finds("upgraded", "great", "little")
	// The earlier program has counted its change as one that searches know, but has not changed the
	// values.
	again(`DELETE FROM hazard_values`, `UPDATE counters SET value = 1 WHERE name = 'found'`, `INSERT INTO hazard_values SELECT id, 'magnitude', type_id, 4 FROM hazards WHERE id = 1`)
	finds("made up for", "great", "little")
}
