package hans

import (
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

var now = sourcetest.At("2026-07-27T20:00:00Z")

// a returns a record of the list of elevated volcanoes. Of each pair of words, the first is
// replaced by the second.
func a(pairs ...string) string {
	return sourcetest.Changed(`{"obs_fullname":"Alaska Volcano Observatory","obs_abbr":"avo","volcano_name":"Great Sitkin","vnum":"311120",`+
		`"notice_type_cd":"DU","notice_identifier":"DOI-USGS-AVO-2026-07-27T19:33:00+00:00","sent_utc":"2026-07-27 19:44:38",`+
		`"sent_unixtime":1785181478,"color_code":"ORANGE","alert_level":"WATCH",`+
		`"notice_url":"https:\/\/volcanoes.usgs.gov\/hans-public\/notice\/DOI-USGS-AVO-2026-07-27T19:33:00+00:00"}`, pairs...)
}

// capped returns a record of the list of CAP alerts.
func capped(pairs ...string) string {
	return sourcetest.Changed(`{"volcano_name_appended":"Great Sitkin Volcano","latitude":52.0765,"longitude":-176.1109,"vnum":"311120",`+
		`"elevation_meters":1740,"obs_fullname":"Alaska Volcano Observatory","alert_level":"WATCH","color_code":"ORANGE",`+
		`"cap_severity":"Moderate","is_elevated_cap":true,"notice_identifier":"DOI-USGS-AVO-2026-07-27T19:33:00+00:00",`+
		`"sent_date_cap":"2026-07-27T11:44:38-08:00","synopsis":"Slow eruption of lava within the summit crater continues.",`+
		`"noticeTypeCd":"DU","notice_url":"https://volcanoes.usgs.gov/hans-public/notice/DOI-USGS-AVO-2026-07-27T19:33:00+00:00"}`, pairs...)
}

func records(all ...string) []byte { return []byte("[" + strings.Join(all, ",\n") + "]") }

// one reads a record that must make one report.
func one(t testing.TB, record string) hazard.Report {
	t.Helper()
	batch, err := Parse(records(record), now)
	if err != nil || len(batch.Reports) != 1 || len(batch.Rejects) != 0 {
		t.Fatalf("error %v, %d reports, rejects %v", err, len(batch.Reports), batch.Rejects)
	}
	checkBatch(t, &batch)
	return batch.Reports[0]
}

// checkBatch checks conditions that hold for every batch.
func checkBatch(t testing.TB, b *source.Batch) {
	t.Helper()
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
	check(r.Source == Name && r.Type == hazard.Volcano && r.Category == hazard.Event && r.End == nil && r.LifeMS > 0, "source, type, category or life")
	check(r.Severity >= hazard.Information && r.Severity <= hazard.Warning, "severity %v", r.Severity)
	check(numberForm.MatchString(r.Key) && slices.Equal(r.Refs, []string{"gvp:" + r.Key}) && slices.Equal(r.Places, r.Refs), "key, refs %v, places %v", r.Refs, r.Places)
	check(PlaceURL(r.Places[0]) != "", "no address of the place %v", r.Places)
	check((r.Ended == "") == !r.Minor && (r.Ended == "" || r.Ended == hazard.EndAllClear), "ended %q, minor %v", r.Ended, r.Minor)
	check(r.Part != "" && r.Start == hazard.Instant(r.Version), "part %q, start %v", r.Part, r.Start)
	check(r.Name != "" && r.Name == hazard.CleanLine(r.Name) && r.Called != "" && r.Level != "", "name %q, called %q, level %q", r.Name, r.Called, r.Level)
	check(r.Description == hazard.Clean(r.Description), "description %q", r.Description)
	check(r.Comment == "hans:"+r.Key && r.Creator == "USGS", "comment %q", r.Comment)
	check(r.Point == nil || *r.Point != hazard.Point{} && max(r.Point.Lon, -r.Point.Lon) <= 180 && max(r.Point.Lat, -r.Point.Lat) <= 90, "point %v", r.Point)
	for i, p := range r.Products {
		check(p.Title != "" && p.Title == hazard.CleanLine(p.Title) && (i == 0) == (p.Type == hazard.FolderProduct), "product %q, title %q", p.Key, p.Title)
		check(p.Type != hazard.URLProduct || p.Data == lenient.WebAddress(p.Data) && p.Data != "", "product %q: %q", p.Key, p.Data)
		check(p.Type != hazard.TextProduct || p.Data == hazard.Clean(p.Data) && p.Data != "", "product %q: %q", p.Key, p.Data)
	}
}
