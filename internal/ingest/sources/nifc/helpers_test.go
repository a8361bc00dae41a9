package nifc

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

var now = sourcetest.At("2026-05-13T06:00:00Z")

const (
	guid       = "BA2C4EC7-36BF-4B79-B6D1-8706200326BF"
	other      = "0F1950DD-2D23-4FA2-BCB1-0633990A5ECE"
	discovered = "1776540600000" // 18 April 2026 19:30
	modified   = "1778627495000" // 12 May 2026 23:11:35
	drawn      = "1778627041000" // 12 May 2026 23:04:01
)

// a returns a location. Of each pair of words, the first is replaced by the second.
func a(pairs ...string) string {
	return sourcetest.Changed(`{"type":"Feature","id":1,"geometry":{"type":"Point","coordinates":[-82.65,30.78]},"properties":{"OBJECTID":1,`+
		`"IrwinID":"{`+guid+`}","UniqueFireIdentifier":"2026-GAGAS-320025","IncidentTypeCategory":"WF","IncidentTypeKind":"FI",`+
		`"IncidentName":"Pineland Road","IncidentShortDescription":"13 Miles NW from Fargo, GA","IncidentSize":32575,"PercentContained":90,`+
		`"FireDiscoveryDateTime":`+discovered+`,"ModifiedOnDateTime_dt":`+modified+`,"FireOutDateTime":null,"ControlDateTime":null,`+
		`"ContainmentDateTime":null,"POOState":"US-GA","POOCounty":"Clinch","FireCause":"Human","FireBehaviorGeneral":"Active",`+
		`"FireBehaviorGeneral1":"Creeping","TotalIncidentPersonnel":1234,"IncidentComplexityLevel":"Type 2 Incident","CpxName":null}}`, pairs...)
}

// edged returns a perimeter of the same fire.
func edged(pairs ...string) string {
	return sourcetest.Changed(`{"type":"Feature","id":7,"geometry":{"type":"Polygon","coordinates":[[[-82.7, 30.7],[-82.6,30.7],[-82.6,30.8],[-82.7,30.7]]]},`+
		`"properties":{"poly_IncidentName":"Pineland Rd","poly_FeatureCategory":"Wildfire Daily Fire Perimeter","poly_MapMethod":"Mixed Methods",`+
		`"poly_GISAcres":32575.1,"poly_DateCurrent":`+drawn+`,"poly_PolygonDateTime":1776900998000,"poly_IRWINID":"{`+guid+`}",`+
		`"attr_IrwinID":"{`+guid+`}","attr_UniqueFireIdentifier":"2026-GAGAS-320025","attr_IncidentTypeCategory":"WF","attr_IncidentTypeKind":"FI",`+
		`"attr_IncidentName":"Pineland Road","attr_IncidentShortDescription":"13 Miles NW from Fargo, GA","attr_IncidentSize":32575,"attr_PercentContained":90,`+
		`"attr_FireDiscoveryDateTime":`+discovered+`,"attr_ModifiedOnDateTime_dt":`+modified+`,"attr_FireOutDateTime":null,`+
		`"attr_InitialLatitude":30.78,"attr_InitialLongitude":-82.65,"attr_POOState":"US-GA","attr_POOCounty":"Clinch","attr_FireCause":"Human",`+
		`"attr_FireBehaviorGeneral":"Active","attr_FireBehaviorGeneral1":"Creeping","attr_TotalIncidentPersonnel":1234,`+
		`"attr_IncidentComplexityLevel":"Type 2 Incident"}}`, pairs...)
}

func collection(features ...string) []byte {
	return []byte(`{"type":"FeatureCollection","features":[` + strings.Join(features, ",\n") + `]}`)
}

// one reads a feature that must make one report.
func one(t testing.TB, feature string) hazard.Report {
	t.Helper()
	batch, err := Parse(collection(feature), now)
	if err != nil || len(batch.Reports) != 1 || len(batch.Rejects) != 0 {
		t.Fatalf("error %v, %d reports, rejects %v", err, len(batch.Reports), batch.Rejects)
	}
	checkBatch(t, &batch)
	return batch.Reports[0]
}

// checkBatch checks conditions that hold for every batch.
func checkBatch(t testing.TB, b *source.Batch) {
	t.Helper()
	if b.Whole && b.Read == 0 {
		t.Error("whole without records")
	}
	for i := range b.Reports {
		checkReport(t, &b.Reports[i])
	}
	sourcetest.Rejects(t, b)
}

func checkReport(t testing.TB, r *hazard.Report) {
	t.Helper()
	check := func(ok bool, format string, args ...any) {
		t.Helper()
		if !ok {
			t.Errorf(r.Key+": "+format, args...)
		}
	}
	check(r.Source == Name && r.Type == hazard.Wildfire && r.Category == hazard.Event && r.End == nil && r.LifeMS == 7*24*3600*1000, "source, type, category or life")
	check(r.Severity == hazard.Information || r.Severity == hazard.Watch, "severity %v", r.Severity)
	check(irwinForm.MatchString(r.Key) || uniqueForm.MatchString(r.Key), "key %q", r.Key)
	check(len(r.Refs) > 0 && !slices.ContainsFunc(r.Refs, func(ref string) bool {
		return !strings.HasPrefix(ref, "irwin:") && !strings.HasPrefix(ref, "nifc:")
	}), "refs %v", r.Refs)
	check((r.Ended == "") == !r.Minor && (r.Ended == "") == (len(r.Places) == 1) && (r.Ended == "" || r.Ended == hazard.EndAllClear),
		"ended %q, minor %v, places %v", r.Ended, r.Minor, r.Places)
	check(r.Part == "" && r.Areas == nil || r.Part == perimeterPlace, "part %q, %d areas", r.Part, len(r.Areas))
	check(r.Renewed != nil && int64(*r.Renewed) <= r.Version, "renewed %v, version %d", r.Renewed, r.Version)
	check(strings.HasPrefix(r.Name, "Wildfire - ") && r.Name == hazard.CleanLine(r.Name) && r.Called == hazard.CleanLine(r.Called), "name %q, called %q", r.Name, r.Called)
	check(r.Description != "" && r.Description == hazard.Clean(r.Description), "description %q", r.Description)
	check(r.Comment == "nifc:"+r.Key && r.Creator == "NIFC", "comment %q", r.Comment)
	check(r.Point == nil || *r.Point != hazard.Point{} && max(r.Point.Lon, -r.Point.Lon) <= 180 && max(r.Point.Lat, -r.Point.Lat) <= 90, "point %v", r.Point)
	check(r.Point != nil || len(r.Areas) > 0 || r.Suspect != "" || r.Ended != "" || len(r.Within) > 0, "no place, and not held")
	for _, area := range r.Areas {
		check(area.Role == hazard.ImpactArea && jsontext.Value(area.Geometry).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)), "area %.80q", area)
	}
	for i, p := range r.Products {
		check(p.Title != "" && p.Title == hazard.CleanLine(p.Title) && (i == 0) == (p.Type == hazard.FolderProduct), "product %q, title %q", p.Key, p.Title)
		check(p.Type != hazard.URLProduct || strings.HasPrefix(p.Data, "https://irwin.doi.gov/"), "product %q: %q", p.Key, p.Data)
		check(p.Type != hazard.TextProduct || p.Data == hazard.Clean(p.Data) && p.Data != "", "product %q: %q", p.Key, p.Data)
	}
}
