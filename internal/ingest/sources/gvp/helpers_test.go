package gvp

import (
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

var now = sourcetest.At("2026-09-17T12:00:00Z")

// an returns an item. Of each pair of words, the first is replaced by the second.
func an(pairs ...string) string {
	const usual = `<item>
<title>Krakatau (Indonesia) - Report for 10 September-16 September 2026 - New Eruptive Activity</title>
<description>
&lt;p&gt;An ash plume rose.&lt;/p&gt;
&lt;p&gt;Source: PVMBG&lt;/p&gt;
</description>
<link>https://volcano.si.edu/reports_weekly.cfm</link>
<guid isPermaLink="true">https://volcano.si.edu/reports_weekly.cfm#vn_262000</guid>
<pubDate>Thu, 17 Sep 2026 01:20:04 -0400</pubDate>
<georss:point>-6.1009 105.4233</georss:point>
</item>`
	return sourcetest.Changed(usual, pairs...)
}

func feed(items ...string) []byte {
	return []byte(`<?xml version="1.0" encoding="ISO-8859-1"?>
<rss version="2.0" xmlns:georss="http://www.georss.org/georss" xmlns:atom="https://www.w3.org/2005/Atom">
<channel><title>Smithsonian / USGS Weekly Volcanic Activity Report</title>
<atom:link href="https://volcano.si.edu/news/WeeklyVolcanoRSS.xml" rel="self" type="application/rss+xml" />
` + strings.Join(items, "\n") + `</channel></rss>`)
}

// one reads an item that must make one report.
func one(t testing.TB, item string) hazard.Report {
	t.Helper()
	batch, err := Parse(feed(item), now)
	if err != nil || len(batch.Reports) != 1 || len(batch.Rejects) != 0 {
		t.Fatalf("error %v, %d reports, rejects %v", err, len(batch.Reports), batch.Rejects)
	}
	checkBatch(t, &batch)
	return batch.Reports[0]
}

// checkBatch checks conditions that hold for every batch.
func checkBatch(t testing.TB, b *source.Batch) {
	t.Helper()
	if b.Whole {
		t.Error("whole: the feed is no list of all that erupts")
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
	check(r.Source == Name && r.Type == hazard.Volcano && r.Severity == hazard.Information && r.Category == hazard.Event,
		"source, type, severity or category: %s %s %v %s", r.Source, r.Type, r.Severity, r.Category)
	check(len(r.Key) == 6 && slices.Equal(r.Refs, []string{"gvp:" + r.Key}) && slices.Equal(r.Places, r.Refs), "key, refs %v, places %v", r.Refs, r.Places)
	check(r.End == nil && r.Ended == "" && !r.Minor && r.LifeMS == 8*24*3600*1000 && r.Renewed != nil, "end, life")
	check(r.Start <= hazard.Instant(r.Version) || r.Suspect != "", "start %v after version", r.Start)
	check(r.Name != "" && r.Name == hazard.CleanLine(r.Name) && r.Called != "" && r.Level != "", "name %q, called %q, level %q", r.Name, r.Called, r.Level)
	check(r.Description == hazard.Clean(r.Description) && !strings.Contains(r.Description, "\r"), "description %q", r.Description)
	check(r.Comment == "gvp:"+r.Key && r.Creator != "", "comment %q", r.Comment)
	check(r.URL == "" || r.URL == lenient.WebAddress(r.URL), "url %q", r.URL)
	check(r.Point != nil || r.Suspect != "", "no point, and not held")
	check(r.Point == nil || *r.Point != hazard.Point{} && max(r.Point.Lon, -r.Point.Lon) <= 180 && max(r.Point.Lat, -r.Point.Lat) <= 90, "point %v", r.Point)
	keys := map[string]bool{}
	for i, p := range r.Products {
		check(!keys[p.Key] && p.Title != "" && p.Title == hazard.CleanLine(p.Title), "product %q, title %q", p.Key, p.Title)
		keys[p.Key] = true
		switch p.Type {
		case hazard.FolderProduct:
			check(i == 0 && p.Key == Name && p.Parent == "", "folder %q", p.Key)
		case hazard.URLProduct:
			check(p.Parent == Name && p.Data != "" && p.Data == lenient.WebAddress(p.Data), "product %q: %q", p.Key, p.Data)
		case hazard.TextProduct:
			check(p.Parent == Name && p.Data != "" && p.Data == hazard.Clean(p.Data), "product %q: %q", p.Key, p.Data)
		default:
			check(false, "product %q of type %s", p.Key, p.Type)
		}
	}
}
