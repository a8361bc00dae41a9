package app_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// TestRecordedAlertsArePlacedWithoutNetwork counts, by kind of recording, how the areas of alerts
// are known from data in the program alone: drawn, by a code, by the country, or not at all. An
// alert with a code of UGC, SAME, EMMA_ID or WARNCELLID must have an area. go test -v prints the
// table.
func TestRecordedAlertsArePlacedWithoutNetwork(t *testing.T) {
	test.NoRace(t)
	test.Slow(t)
	recordedFiles(t)
	_, rows := readTable(t)
	type count struct{ tried, drawn, coded, country, none int }
	counts := map[string]*count{}
	var folders []string
	for _, r := range rows {
		folder, _, _ := strings.Cut(r.file, "/")
		if !slices.Contains([]string{"nws", "cap", "meteoalarm", "wmo", "tsunami", "bbk"}, folder) || r.source == "-" || r.want.refused || strings.ContainsAny(r.file, "*?[") {
			continue
		}
		batch := r.batch(t, r.at)
		var home []string
		if src, err := app.BuiltIn().Find(r.source); err == nil {
			home = src.Countries
		}
		c := counts[folder]
		if c == nil {
			c = &count{}
			counts[folder], folders = c, append(folders, folder)
		}
		for _, report := range batch.Reports {
			if report.Ended != "" || len(report.Areas) == 0 && len(report.Places) == 0 {
				continue
			}
			c.tried++
			known, scheme := false, false
			for _, code := range slices.Concat(report.Places, report.Within) {
				p := region.ParseCode(strings.TrimPrefix(code, "fire/"))
				known = known || region.Known(p)
				scheme = scheme || slices.Contains([]region.Scheme{region.UGC, region.SAME, region.EMMA, region.WarnCellID}, p.Scheme)
			}
			_, countries := region.OutlineOf(report.Places, report.Country, home)
			switch {
			case len(report.Areas) > 0:
				c.drawn++
			case known:
				c.coded++
			case countries != nil:
				c.country++
			default:
				c.none++
				if scheme {
					t.Errorf("%s: %s has no area: %q", r.file, report.Key, report.Places)
				}
			}
		}
	}
	slices.Sort(folders)
	var table strings.Builder
	fmt.Fprintf(&table, "%-12s %7s %8s %8s %11s %11s\n", "recordings", "tried", "drawn", "by code", "by country", "not at all")
	for _, f := range folders {
		c := counts[f]
		fmt.Fprintf(&table, "%-12s %7d %8d %8d %11d %11d\n", f, c.tried, c.drawn, c.coded, c.country, c.none)
	}
	t.Logf("\n%s", table.String())
	if c := cmp.Or(counts["nws"], &count{}); c.coded < 1000 || c.none > 0 {
		t.Errorf("nws: %+v", *c)
	}
}

// A national list showed only 83 of its 393 alerts when zones could not be fetched.
func TestANationalListIsPlacedWithoutNetwork(t *testing.T) {
	recordedFiles(t)
	d := newDesk(t)
	parse, err := parserOf("nws")
	if err != nil {
		t.Fatal(err)
	}
	const file = "nws/full-20260715T2000Z.json"
	_, rows := readTable(t)
	at := rows[slices.IndexFunc(rows, func(r *row) bool { return r.file == file })].at
	batch, err := parse(recordings.Read(t, "feeds/"+file), at)
	if err != nil {
		t.Fatal(err)
	}
	res, err := d.intake.Apply(t.Context(), "nws", batch, at, fuse.Options{History: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range res.Suspects {
		if strings.HasPrefix(s.Reason, store.NoPlace) {
			t.Errorf("%s: %s", s.Record, s.Reason)
		}
	}
	t.Logf("%d alerts, %d hazards, %d held", res.Read, res.New, res.Held)
	if res.New < 200 {
		t.Errorf("%d hazards of %d alerts", res.New, res.Read)
	}
}

// TestRecordedPositionsAreWhereTheirSourcesSay counts, by source, the recorded positions that are not
// used, because they contradict the place that the source names. go test -v prints the table.
func TestRecordedPositionsAreWhereTheirSourcesSay(t *testing.T) {
	test.NoRace(t)
	recordedFiles(t)
	_, rows := readTable(t)
	reports, refused, known := map[string]int{}, map[string]map[string]bool{}, map[string]int{"nifc": 0, "nswrfs": 0, "calfire": 0, "gdacs": 0, "copernicus": 0, "eonet": 0}
	for _, r := range rows {
		if _, ok := known[r.source]; !ok || r.want.refused || strings.ContainsAny(r.file, "*?[") {
			continue
		}
		batch := r.batch(t, r.at)
		for _, report := range batch.Reports {
			reports[r.source]++
			for _, note := range report.Notes {
				if strings.Contains(note, "is not used") {
					if refused[r.source] == nil {
						refused[r.source] = map[string]bool{}
					}
					refused[r.source][report.Key+": "+note] = true
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		t.Logf("%-12s %6d reports, %3d positions not used", name, reports[name], len(refused[name]))
		for _, which := range slices.Sorted(maps.Keys(refused[name])) {
			t.Log(which)
		}
		if reports[name] == 0 || len(refused[name]) != known[name] {
			t.Errorf("%s: %d reports, %d positions are not used, want %d", name, reports[name], len(refused[name]), known[name])
		}
	}
}
