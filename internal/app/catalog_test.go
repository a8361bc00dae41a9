package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// An alert from two feeds of the catalog is one hazard, whichever feed is read first and however
// far the other lags.
func TestAnAlertThroughTwoFeedsIsOneHazard(t *testing.T) {
	const a, b = "ca-msc-xx", "ca-aema-xx"
	for _, chain := range []string{"20260812-chain51", "20260808-chain86", "20260810-chain90"} {
		files, err := filepath.Glob(filepath.Join(recordings.Path(t, "feeds/cap/canada-2026"), chain+"*"))
		if err != nil || len(files) == 0 {
			t.Fatal(chain, err)
		}
		slices.Sort(files)
		read := func(order [][2]string) (made int) { // source, file
			d := newDesk(t)
			at := hazard.At(time.Date(2026, 8, 13, 0, 0, 0, 0, time.UTC))
			for i, step := range order {
				o, _ := d.take(step[0], "cap/canada-2026/"+step[1], at.Add(time.Duration(i)*time.Second))
				made += o.made
			}
			return made
		}
		var alone, together, behind, turned [][2]string
		for i, f := range files {
			name := filepath.Base(f)
			alone = append(alone, [2]string{a, name})
			together = append(together, [2]string{a, name}, [2]string{b, name})
			turned = append(turned, [2]string{b, name}, [2]string{a, name})
			behind = append(behind, [2]string{a, name})
			if i > 0 {
				behind = append(behind, [2]string{b, filepath.Base(files[i-1])})
			}
		}
		behind = append(behind, [2]string{b, filepath.Base(files[len(files)-1])})
		want := read(alone)
		for name, order := range map[string][][2]string{"together": together, "the other first": turned, "one behind": behind, "one after the other": slices.Concat(alone, swap(alone, b))} {
			if got := read(order); got != want {
				t.Errorf("%s, %s: %d hazards, want %d as through one feed", chain, name, got, want)
			}
		}
	}
}

func swap(order [][2]string, name string) (other [][2]string) {
	for _, step := range order {
		other = append(other, [2]string{name, step[1]})
	}
	return other
}

// recordedOf maps recorded alerts to the feed of the catalog with such alerts.
var recordedOf = [][2]string{
	{"cap/canada-2026/*.cap", "ca-msc-xx"}, {"cap/ncm-sa-*.cap", "sa-ncm-en"}, {"cap/edxl-tasmania-*.xml", "au-tas-dpac-en"},
	{"meteoalarm/*.AT.*", "at-zamg-xx"}, {"meteoalarm/*.IL.*", "il-ims-xx"}, {"meteoalarm/*.DWD.*", "de-dwd-de-3"}, {"meteoalarm/api-germany-*", "de-dwd-de-3"},
	{"meteoalarm/dwd-*", "de-dwd-de-3"}, {"cap/dwd-*", "de-dwd-de-3"}, {"meteoalarm/api-croatia-*", "hr-meteo-hr"}, {"meteoalarm/api-bosnia-*", "ba-fhmzbih-bs"},
	{"wmo/cap-china-*", "cn-cma-xx"}, {"wmo/swic-cap-india-*", "in-ndma-xx"},
}

// testdata/catalog.txt says for the catalog feeds with recorded alerts how these are placed: by a
// polygon or circle, by area codes, or not at all. Reports held because of their text are counted
// separately. -update rewrites it.
func TestRecordedAlertsOfTheCatalogArePlaced(t *testing.T) {
	test.NoRace(t)
	test.Slow(t)
	const file = "testdata/catalog.txt"
	type count struct{ alerts, polygon, code, none, doubted int }
	counts := map[string]*count{}
	for _, r := range recordedOf {
		files, err := filepath.Glob(filepath.Join(recordings.Path(t, "feeds"), r[0]))
		if err != nil || len(files) == 0 {
			t.Fatalf("no recording %s: %v", r[0], err)
		}
		src, err := app.BuiltIn().Find(r[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			payload, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			at := hazard.At(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC))
			batch, err := src.Parse(payload, at)
			if err != nil {
				t.Errorf("%s: %v", f, err)
			}
			d := newDesk(t)
			c := counts[r[1]]
			if c == nil {
				c = &count{}
				counts[r[1]] = c
			}
			for i := range batch.Reports {
				one := batch
				one.Reports, one.Rejects, one.Links, one.Read = batch.Reports[i:i+1], nil, nil, 1
				if batch.Reports[i].Ended != "" { // it says where nothing is active any more
					continue
				}
				c.alerts++
				if batch.Reports[i].Suspect != "" {
					c.doubted++
					continue
				}
				if len(batch.Reports[i].Areas) > 0 || batch.Reports[i].Point != nil {
					c.polygon++
					continue
				}
				res, err := d.intake.Apply(t.Context(), r[1], one, at, fuse.Options{History: true})
				if err != nil {
					t.Fatal(err)
				}
				if res.Held > 0 {
					c.none++
				} else {
					c.code++
				}
			}
		}
	}
	var b strings.Builder
	fmt.Fprintln(&b, "# feed: reports of recorded alerts; placed by their own geometry, by codes, not at all; held for their words (TEST), wherever they are")
	for _, f := range app.BuiltIn().Catalog() {
		if c := counts[f.Name]; c != nil {
			fmt.Fprintf(&b, "%s %-16s %4d %4d %4d %4d %4d\n", f.Country, f.Name, c.alerts, c.polygon, c.code, c.none, c.doubted)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != b.String() {
		t.Errorf("the table is now\n%swant\n%s(%v)", b.String(), want, err)
	}
}
