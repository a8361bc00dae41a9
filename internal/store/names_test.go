package store_test

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

// A filter on names finds the same by the names in the tables of searches as by the states, and in
// a store of an earlier release, before and after its names were written.
func TestFiltersOnNamesFindTheSameByTables(t *testing.T) {
	dir := t.TempDir()
	database := postgres.Database(t, dir, "sqlite:?synchronous=off")
	open := func() *store.Store {
		s, err := store.Open(t.Context(), dir, database)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	defer func() { s.Close() }()
	names := []string{"Flood", "flood of Łódź", "ŁÓDŹ", "\u212Aelvin", "kelvin", `a\b`, `A\`, "50%", "5_0", "İzmir", "izmir", "a\x00b", "a\uFFFDb", "", "x'y", "日本", "ẞ", "ß"}
	for _, name := range names {
		save(t, s, flood(name))
	}
	part := rapid.SampledFrom([]string{"%", "_", `\%`, `\_`, `\\`, "f", "F", "lood", "ł", "Ó", "k", "K", "\u212A", "a", `\a`, "b", "5", "0", "i", "İ", "''", "日", "ß", "ẞ", "\uFFFD", "z"})
	check := func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(part, 0, 5).Draw(t, "pattern"), "")
		form := rapid.SampledFrom([]string{"hazard_Name LIKE '%s'", "NOT hazard_Name LIKE '%s'", "CASEI(hazard_Name) LIKE CASEI('%s')", "hazard_Name IN ('%s', 'Flood')", "CASEI(hazard_Name) = CASEI('%s')",
			"type_ID = 'FLOOD' AND hazard_Name LIKE '%%%s%%'", "hazard_Name LIKE '%s' OR severity_rank > 3", "NOT (hazard_Name LIKE '%s' AND type_ID = 'FLOOD')", `hazard_Name LIKE '%s\'`}).Draw(t, "form")
		q, faults := query.Parse(url.Values{"filter": {strings.ReplaceAll(strings.Replace(form, "%s", pattern, 1), "%%", "%")}, "limit": {"1000"}})
		if faults != nil {
			t.Skip(faults)
		}
		var want []string
		for _, name := range names {
			if q.Match(flood(name), nil, 1) {
				want = append(want, name)
			}
		}
		for way := range 3 {
			page, err := s.SearchBy(t.Context(), q, nil, hazard.Instant(1), way)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range page.Hazards {
				got = append(got, h.Name)
			}
			if strings.Join(got, "|") != strings.Join(want, "|") {
				t.Fatalf("%s by way %d: %q, want %q", q.Where.Text, way, got, want)
			}
		}
	}
	rapid.Check(t, check)

	named := func() string {
		n, err := s.Ask(t.Context(), `SELECT value FROM counters WHERE name = 'named'`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	was := named()
	for _, text := range []string{`UPDATE searchable SET name = NULL`, `UPDATE counters SET value = 0 WHERE name = 'named'`} {
		if err := s.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, check)
	if err := s.NameAll(t.Context()); err != nil || named() != was {
		t.Fatalf("%v: named is %s, want %s", err, named(), was)
	}
	rapid.Check(t, check)
	save(t, s, flood("Flood"))
	if n := named(); n == was {
		t.Errorf("named is still %s after a write", n)
	}
}
