package serve_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
)

// A report leads to the payload that it was read from: to editors, and never as a page.
func TestAReportLeadsToItsPayload(t *testing.T) {
	s := start(t)
	now := hazard.At(time.Now())
	hostile := []byte("<?xml version=\"1.0\"?><html xmlns=\"http://www.w3.org/1999/xhtml\"><script>alert(1)</script></html>")
	digest := evidence.Digest(hostile)
	batch := source.Batch{Reports: []hazard.Report{quake("us7000a", 1)}, Read: 1}
	res, err := s.intake().Apply(t.Context(), "usgs", batch, now, fuse.Options{Payload: digest})
	if err != nil {
		t.Fatal(err)
	}
	s.settle(res.Last)
	type report struct {
		Payloads []struct{ SHA256, Received, Source, URL, Href string }
	}
	read := func() report {
		t.Helper()
		var list []report
		s.do("reader", http.MethodGet, "/hazards/"+hazard.EventUUID("usgs", "us7000a").String()+"/reports", nil).JSON(t, &list)
		if len(list) != 1 {
			t.Fatalf("%d reports", len(list))
		}
		return list[0]
	}
	if r := read(); r.Payloads != nil {
		t.Errorf("a payload that is not kept is named: %+v", r.Payloads)
	}
	wantProblem(t, s.do("red", http.MethodGet, "/payloads/"+digest, nil), http.StatusNotFound)
	kept := store.Receipt{Source: "usgs", Kind: evidence.Feed, Address: "https://usgs.example/feed", Read: now, Taken: now, Kept: now}
	if err := s.Evidence.Keep(t.Context(), kept, hostile); err != nil {
		t.Fatal(err)
	}
	r := read()
	if len(r.Payloads) != 1 || r.Payloads[0].SHA256 != digest || r.Payloads[0].URL != kept.Address || r.Payloads[0].Received != now.String() {
		t.Fatalf("payloads %+v", r.Payloads)
	}
	path := strings.TrimPrefix(r.Payloads[0].Href, s.URL())
	wantProblem(t, s.do("reader", http.MethodGet, path, nil), http.StatusForbidden)
	a := s.do("red", http.MethodGet, path, nil)
	if string(a.Body) != string(hostile) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	for name, want := range map[string]string{"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "sandbox; default-src 'none'", "Cache-Control": "private, no-store"} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := a.Header.Get("Content-Disposition"); !strings.HasPrefix(got, "attachment; ") || !strings.Contains(got, ".xml.txt") {
		t.Errorf("Content-Disposition: %q", got)
	}
	if a := s.do("red", http.MethodHead, path, nil); a.Status != http.StatusOK || len(a.Body) != 0 {
		t.Errorf("HEAD: %d, %d bytes", a.Status, len(a.Body))
	}
}

// Editors learn why a record of a source is shown or not, from the payloads that are kept.
func TestWhyARecordIsShown(t *testing.T) {
	s := start(t)
	now := hazard.At(time.Now())
	feed := fmt.Appendf(nil, `{"type":"FeatureCollection","metadata":{"title":"all day"},"features":[{"type":"Feature","id":"us7000a","geometry":{"type":"Point","coordinates":[36.8,-1.3,10]},
		"properties":{"mag":2.1,"place":"5 km S of Nairobi, Kenya","time":%d,"updated":%d,"type":"earthquake","status":"reviewed","ids":",us7000a,","net":"us","code":"7000a"}}]}`, now-60_000, now)
	kept := store.Receipt{Source: "usgs", Kind: evidence.Feed, Address: "https://usgs.example/feed", Read: now, Taken: now, Kept: now}
	if err := s.Evidence.Keep(t.Context(), kept, feed); err != nil {
		t.Fatal(err)
	}
	var all []struct{ Time, Result, Rule, Hazard, Payload string }
	s.do("red", http.MethodGet, "/sources/usgs/why?ref=us7000a", nil).JSON(t, &all)
	if len(all) != 1 || all[0].Result != "ignored" || !strings.Contains(all[0].Rule, "magnitude") || all[0].Hazard != "" || all[0].Payload != evidence.Digest(feed) {
		t.Errorf("%+v", all)
	}
	s.do("red", http.MethodGet, "/sources/usgs/why?ref=unheard", nil).JSON(t, &all)
	if len(all) != 0 {
		t.Errorf("of a name that nobody has: %+v", all)
	}
	wantProblem(t, s.do("red", http.MethodGet, "/sources/usgs/why", nil), http.StatusBadRequest)
}
