package app_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/coverage"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// testdata/coverage.txt says for places around the world what is covered if all sources that are
// polled by default are up to date, according to their descriptions. -update rewrites it: read
// every changed line.
func TestCoverageAroundTheWorld(t *testing.T) {
	const file = "testdata/coverage.txt"
	known := app.BuiltIn()
	m, err := known.Coverage()
	if err != nil {
		t.Fatal(err)
	}
	names, err := known.Choose("all")
	if err != nil {
		t.Fatal(err)
	}
	read := coverage.Readings{}
	for _, name := range names {
		fresh := coverage.Reading{State: "ok", Polled: true, Fresh: true}
		read[name] = coverage.Source{Reading: fresh, Feeds: []coverage.Reading{fresh, fresh, fresh, fresh}}
	}
	text, err := os.ReadFile("testdata/places.txt")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	count := map[coverage.Word]int{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			fmt.Fprintf(&b, "%s", line)
			continue
		}
		point, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		lon, lat, err := coverage.ParsePoint(point)
		if err != nil {
			t.Fatal(err)
		}
		p := m.At(lon, lat)
		j := m.Judge(p, read)
		count[j.Word]++
		var countries, official, covered []string
		for _, c := range p.Countries {
			countries = append(countries, c.Code)
		}
		for _, v := range j.Sources {
			if v.Role == source.RoleResponsible && v.Polled && !slices.Contains(official, v.Name) {
				official = append(official, v.Name)
			}
		}
		for _, w := range j.Types {
			if w.Word == coverage.Covered && w.Type != hazard.Earthquake { // earthquakes are monitored everywhere
				covered = append(covered, strings.ToLower(string(w.Type)))
			}
		}
		fmt.Fprintf(&b, "%-38s %-5s %-7s %s | %s\n", name, strings.Join(countries, ","), j.Word, strings.Join(covered, " "), strings.Join(official, " "))
	}
	fmt.Fprintf(&b, "# covered %d, unknown %d\n", count[coverage.Covered], count[coverage.Unknown])
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	was, is := strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")
	for i := range max(len(was), len(is)) {
		if i >= len(was) || i >= len(is) || was[i] != is[i] {
			t.Fatalf("%s:%d differs: run the test with -update, and read the changed lines\nis  %s", file, i+1, append(is, make([]string, len(was))...)[i])
		}
	}
}
