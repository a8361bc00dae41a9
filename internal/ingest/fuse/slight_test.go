package fuse_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// A slight report is read to its end only if it may concern an event.
func TestASlightReportIsReadInFullOnlyIfItConcernsAnEvent(t *testing.T) {
	d := newDesk(t)
	quake := func(src, key string, start hazard.Instant) hazard.Report {
		return reportOf(src, key, hazard.Earthquake, start, 10, 20)
	}
	var asked []string
	slight := func(key string, start hazard.Instant, aliases ...string) hazard.Report {
		full := with(quake("usgs", key, start), func(r *hazard.Report) {
			r.Minor, r.Aliases, r.Name, r.Version = true, aliases, "slight "+key, r.Version+1
		})
		part := hazard.Report{Source: full.Source, Key: key, Aliases: aliases, Version: full.Version, Type: full.Type, Severity: full.Severity, Start: start, LifeMS: full.LifeMS, Minor: true}
		part.Full = func() hazard.Report { asked = append(asked, key); return full }
		return part
	}
	at := func(minutes int) hazard.Instant { return hourAgo.Add(time.Duration(minutes) * time.Minute) }
	d.apply("usgs", noon, live, quake("usgs", "known", at(0)), with(quake("usgs", "first", at(5)), func(r *hazard.Report) { r.Aliases = []string{"second"} }))
	d.apply("emsc", noon, live, quake("emsc", "beside", at(10)), with(quake("emsc", "names", at(15)), func(r *hazard.Report) { r.Refs = []string{"usgs:named"} }))
	res := d.apply("usgs", noon, live, slight("unknown", at(20)), slight("before", at(25)), with(quake("usgs", "strong", at(25)), func(r *hazard.Report) { r.Aliases = []string{"before"} }),
		slight("known", at(0)), slight("other", at(5), "second"), slight("near", at(10)), slight("named", at(15)), slight("after", at(25), "strong"), slight("alone", at(30), "nobody"))
	if got := strings.Join(asked, " "); got != "known other near named after" {
		t.Errorf("read in full: %q", got)
	}
	if res.Ignored != 3 || res.New != 1 || res.Updated != 4 {
		t.Errorf("%d ignored, %d new, %d updated", res.Ignored, res.New, res.Updated)
	}
	if h := d.event("usgs", "known"); h.Name != "slight known" {
		t.Errorf("the known one is %q", h.Name)
	}
}
