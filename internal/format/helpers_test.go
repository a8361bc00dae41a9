package format_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

const base = "https://alerts.example.org"

// noon is the time of all documents here.
var noon = hazard.At(time.Date(2026, 9, 28, 12, 0, 0, 0, time.UTC))

func options(single bool) format.Options {
	return format.Options{Base: base, Self: base + "/hazards/active?f=atom", Title: "Active hazards", Updated: noon, Single: single}
}

// document writes entries in a format.
func document(t testing.TB, f format.Format, o format.Options, entries ...*format.Entry) []byte {
	t.Helper()
	doc, err := write(f, o, entries...)
	if err != nil {
		t.Fatalf("%v: %v", f, err)
	}
	return doc
}

func write(f format.Format, o format.Options, entries ...*format.Entry) ([]byte, error) {
	var out bytes.Buffer
	w := format.NewWriter(&out, f, o)
	for _, e := range entries {
		if err := w.Write(e); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// flood returns an active hazard, modified by alter.
func flood(id int64, alter ...func(*format.Entry)) *format.Entry {
	e := &format.Entry{Products: 2, Hazard: &hazard.Hazard{
		ID: id, UUID: uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, "flood", id)), Name: "Flood - Old Harbour", Description: "Water over the quay.\nKeep away.",
		Type: hazard.Flood, Severity: hazard.Warning, Category: hazard.Event, Status: hazard.Active, AutoExpire: true, Start: noon.Add(-time.Hour), End: noon.Add(48 * time.Hour),
		Created: noon.Add(-30 * time.Minute), LastUpdate: noon.Add(-10 * time.Minute), Updated: noon.Add(-10 * time.Minute), Creator: "Harbour Master", Longitude: 9.9663,
		Latitude: 53.5457, OrgID: -1, Source: "harbour", URL: "https://harbour.example.org/floods/1?a=b&c=d", Comment: "gauge 7", Version: id * 10,
	}}
	for _, f := range alter {
		f(e)
	}
	return e
}

// area gives a hazard an area from well-known text.
func area(role hazard.AreaRole, wkt string) func(*format.Entry) {
	return func(e *format.Entry) {
		s, err := geo.ParseWKT(wkt)
		if err != nil {
			panic(err)
		}
		e.Areas = append(e.Areas, hazard.Area{Role: role, Geometry: s.GeoJSON()})
	}
}

// samples returns hazards with every kind of geometry, severity, category and end, and with
// difficult texts.
func samples() []*format.Entry {
	list := []*format.Entry{
		flood(1),
		flood(2, area(hazard.AlertArea, "POLYGON((170 -20,-170 -20,-170 -10,170 -10,170 -20))"), func(e *format.Entry) {
			e.Hazard.Name, e.Hazard.Type, e.Hazard.Longitude, e.Hazard.Latitude = "Storm across the antimeridian", hazard.Storm, 180, -15
		}),
		flood(3, area(hazard.AlertArea, "POLYGON((0 40,10 40,10 50,0 50,0 40),(2 42,2 48,8 48,8 42,2 42))"), func(e *format.Entry) {
			e.Hazard.Name, e.Hazard.Type, e.Hazard.Severity = "Ring of fire", hazard.Wildfire, hazard.Watch
		}),
		flood(4, area(hazard.ImpactArea, "MULTIPOLYGON(((-60 -10,-50 -10,-50 0,-60 0,-60 -10)),((-40 -10,-35 -10,-35 -5,-40 -5,-40 -10)))"),
			area(hazard.TrackArea, "LINESTRING(-60 -10,-40 -5)"), func(e *format.Entry) {
				e.Hazard.Name, e.Hazard.Type, e.Hazard.Severity, e.Hazard.Category = "Quake", hazard.Earthquake, hazard.Advisory, hazard.Response
				e.Hazard.Measurements = []hazard.Measurement{{Name: hazard.Depth, Value: 12.5, Source: "usgs"}, {Name: hazard.Magnitude, Value: 6.1, Scale: "mww", Source: "usgs"}}
			}),
		flood(5, area(hazard.TrackArea, "LINESTRING(150 10,160 15,170 20)"), func(e *format.Entry) {
			e.Hazard.Name, e.Hazard.Type, e.Hazard.Severity = "Cyclone Ána – \"the second\" & <others>; Überflutung 台风", hazard.Cyclone, hazard.Information
		}),
		flood(6, func(e *format.Entry) {
			e.Hazard.Name, e.Hazard.Description = `=HYPERLINK("http://evil.example","x")`, "]]><script>alert('1')</script>\r\n\"quoted\", and; more\ufffe\ttab"
			e.Hazard.Comment, e.Hazard.Creator, e.Hazard.Note = "-12.5", "@SUM(1+1)", "+cmd|' /C calc'!A0"
			e.Hazard.URL, e.Hazard.AutoExpire, e.Hazard.Category = "", false, hazard.Exercise
		}),
		flood(7, func(e *format.Entry) {
			e.Hazard.Name, e.Hazard.Start, e.Hazard.Severity = "Flood that is to come", noon.Add(5*time.Hour), hazard.Watch
			e.Hazard.Category = hazard.Other
		}),
		flood(8, func(e *format.Entry) {
			h := e.Hazard
			h.Name, h.Status, h.Severity, h.Reason, h.End = "Flood that was called off", hazard.Expired, hazard.Termination, hazard.EndAllClear, noon.Add(-20*time.Minute)
			e.Versions = []format.Version{{Number: 60, Sent: noon.Add(-30 * time.Minute)}, {Number: 70, Sent: noon.Add(-25 * time.Minute)}, {Number: 80, Sent: h.Updated}}
		}),
		flood(9, func(e *format.Entry) {
			h := e.Hazard
			h.Name, h.Status, h.Severity, h.Reason, h.Successor = "Flood that was another", hazard.Expired, hazard.Termination, hazard.EndMerged, uuid.NewSHA1(uuid.NameSpaceURL, []byte("other"))
			h.Note, h.End = "the same as the other", noon.Add(-10*time.Minute)
			e.Versions = []format.Version{{Number: 85, Sent: noon.Add(-30 * time.Minute)}, {Number: 90, Sent: h.Updated}}
		}),
		flood(10, func(e *format.Entry) {
			h := e.Hazard
			h.Name, h.Status, h.Reason, h.End, h.LastUpdate = "Flood whose end was reached", hazard.Expired, hazard.EndExpired, noon.Add(-time.Minute), noon.Add(-time.Minute)
			e.Versions = []format.Version{{Number: 95, Sent: noon.Add(-30 * time.Minute)}, {Number: 97, Sent: h.Updated}}
		}),
		flood(11, area(hazard.AlertArea, "GEOMETRYCOLLECTION(POLYGON((20 20,21 20,21 21,20 21,20 20)),LINESTRING(22 22,23 23),POINT(24 24))")),
		flood(12, area(hazard.AlertArea, "POLYGON((-180 60,180 60,180 90,-180 90,-180 60))"), func(e *format.Entry) { e.Hazard.Name = "Cold over the pole" }),
	}
	slices.SortFunc(list, func(a, b *format.Entry) int { return hazard.Compare(a.Hazard, b.Hazard) })
	return list
}

// recorded holds the hazards of the sources' recordings, imported in order.
type recorded struct {
	present  []*format.Entry // the present state of every hazard
	versions []*format.Entry // every version of each hazard, oldest first
}

var corpus = sync.OnceValues(importRecordings)

// recordedHazards imports the recordings once. Without recordings the test is skipped.
func recordedHazards(t testing.TB) recorded {
	t.Helper()
	recordings.Path(t, "feeds")
	r, err := corpus()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func importRecordings() (r recorded, err error) {
	dir, err := os.MkdirTemp("", "format")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	s, err := openStore(dir)
	if err != nil {
		return r, err
	}
	defer s.Close()
	in := app.BuiltIn().Intake(s)
	feeds := filepath.Join(os.Getenv("HAZARDD_SHARED"), "feeds")
	take := func(source string, parse func([]byte, hazard.Instant) (batch, error), now func([]byte) hazard.Instant, patterns ...string) error {
		for _, p := range patterns {
			files, err := filepath.Glob(filepath.Join(feeds, p))
			if err != nil || len(files) == 0 {
				return fmt.Errorf("%s: no such recording (%v)", p, err)
			}
			for _, name := range files {
				payload, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				at := now(payload)
				b, err := parse(payload, at)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				if _, err := in.Apply(ctx, source, b, at, fuse.Options{History: true}); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
		return nil
	}
	// The weather service's lists are imported at the time of their recording, so that their
	// hazards have histories.
	ofList := func(payload []byte) hazard.Instant {
		var doc struct{ T int64 }
		if json.Unmarshal(payload, &doc) != nil || doc.T == 0 {
			return noon
		}
		return hazard.Instant(doc.T)
	}
	ofAlert := func(payload []byte) hazard.Instant {
		if doc, err := cap.Read(payload, "windows-1252"); err == nil && len(doc.Messages) > 0 {
			if at, err := cap.ParseTime(doc.Messages[0].Sent); err == nil {
				return at.Add(time.Minute)
			}
		}
		return noon
	}
	atNoon := func([]byte) hazard.Instant { return noon }
	for _, c := range []struct {
		source   string
		now      func([]byte) hazard.Instant
		patterns []string
	}{
		{"nws", ofList, []string{"nws/active-20260815T*.json", "nws/active-20260816T*.json"}},
		{"usgs", atNoon, []string{"usgs/2.5_day-20260727.json", "usgs/detail-20260727.json"}},
		{"gdacs", atNoon, []string{"gdacs/events-20260928.geojson", "gdacs/gdacs-20260530T*.geojson", "gdacs/api-search-*-202607.json"}},
		{"nhc", atNoon, []string{"nhc/CurrentStorms-20260822.json", "nhc/CurrentStorms-20260927.json"}},
		{"eonet", atNoon, []string{"eonet/events-2025.geojson"}},
		{"hans", atNoon, []string{"hans/getElevatedVolcanoes-20260727.json"}},
		{"gvp", atNoon, []string{"gvp/WeeklyVolcanoRSS-20260917-excerpt.xml"}},
		{"nifc", atNoon, []string{"nifc/perimeters-20260727.geojson"}},
		{"copernicus", atNoon, []string{"copernicus-ems/activations-202609-excerpt.json"}},
		{"tsunami", atNoon, []string{"tsunami/PAAQ-CAP-20220605.xml"}},
	} {
		src, err := app.BuiltIn().Find(c.source)
		if err != nil {
			return r, err
		}
		if err := take(c.source, src.Parse, c.now, c.patterns...); err != nil {
			return r, err
		}
	}
	canada := cap.Config{Name: "canada", Charset: "windows-1252"}
	err = take("canada", func(b []byte, now hazard.Instant) (batch, error) { return cap.Parse(canada, b, now) }, ofAlert, "cap/canada-2026/*.cap")
	if err != nil {
		return r, err
	}
	return read(s)
}

// read reads every hazard of a store, with every version.
func read(s *store.Store) (r recorded, err error) {
	byHazard := map[int64][]hazard.Change{}
	for after := int64(0); ; {
		changes, err := s.Log.Since(ctx, after, 1000)
		if err != nil {
			return r, err
		}
		if len(changes) == 0 {
			break
		}
		for _, c := range changes {
			after = c.Number
			if c.Hazard != nil {
				byHazard[c.HazardID] = append(byHazard[c.HazardID], c)
			}
		}
	}
	for _, changes := range byHazard {
		for i := range changes {
			h := changes[i].Hazard
			areas, err := s.Log.Areas(ctx, h.Areas)
			if err != nil {
				return r, err
			}
			e := &format.Entry{Hazard: h, Areas: areas, Versions: format.Versions(changes[:i+1])}
			r.versions = append(r.versions, e)
			if i == len(changes)-1 {
				now := *e
				now.Hazard = h.ExpireAt(noon)
				r.present = append(r.present, &now)
			}
		}
	}
	slices.SortFunc(r.versions, func(a, b *format.Entry) int { return int(a.Hazard.Version - b.Hazard.Version) })
	slices.SortFunc(r.present, func(a, b *format.Entry) int { return hazard.Compare(a.Hazard, b.Hazard) })
	return r, nil
}

// program runs a program of the system. If it is not installed, the test is skipped, but in CI it
// fails.
func program(t testing.TB, name string, args ...string) []byte {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not installed: .ci/run installs it", name)
		}
		t.Skipf("%s is not installed", name)
	}
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%.4000s", name, strings.Join(args, " "), err, problems.String())
	}
	if problems.Len() > 0 && name != "xmllint" { // xmllint reports for each file that it is valid
		t.Errorf("%s %s says:\n%.4000s", name, strings.Join(args, " "), problems.String())
	}
	return out.Bytes()
}

// wellFormed parses an XML document to its end.
func wellFormed(t interface{ Fatalf(string, ...any) }, doc []byte) {
	for dec := xml.NewDecoder(bytes.NewReader(doc)); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in %.3000s", err, doc)
		}
	}
}

// table reads CSV strictly.
func table(t interface{ Fatalf(string, ...any) }, doc []byte) (rows []map[string]string) {
	all, err := csv.NewReader(bytes.NewReader(doc)).ReadAll()
	if err != nil || len(all) == 0 {
		t.Fatalf("%v in %.3000s", err, doc)
	}
	for _, cells := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = cells[i]
		}
		rows = append(rows, row)
	}
	return rows
}
