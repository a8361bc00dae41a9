package serve_test

import (
	"encoding/xml"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test/server"
)

type drawnFeature struct {
	Geometry   struct{ Type string }
	Properties struct {
		Role, Band, Unit, From, To, Title, Color, Source, Part, Since, Until string
		Value                                                                float64
		Forecast                                                             bool
	}
}

func drawnIn(t *testing.T, a server.Answer) (all []drawnFeature) {
	t.Helper()
	var list struct{ Features []drawnFeature }
	a.JSON(t, &list)
	return list.Features
}

// Contours, cones and similar shapes are stored beside the base record with role, band and time,
// now and as of each moment (D5).
func TestShapesOfAHazard(t *testing.T) {
	s := start(t)
	now := hazard.At(time.Now())
	contour := func(value float64, geometry string) hazard.Shape {
		return hazard.Shape{Role: hazard.ContourShape, Band: &hazard.Band{Kind: hazard.Intensity, Value: value}, From: now, To: now, Geometry: geometry}
	}
	const line = `{"type":"LineString","coordinates":[[1,2],[3,4]]}`
	draw := func(version int64, shapes ...hazard.Shape) source.Drawing {
		return source.Drawing{Key: "us7000a", Part: "shakemap", Version: version, Shapes: shapes}
	}
	usgs := quake("us7000a", 1)
	s.takeIn("usgs", source.Batch{Reports: []hazard.Report{usgs}, Read: 1, Drawings: []source.Drawing{draw(1, contour(6, line), contour(4.5, line))}})
	path := "/hazards/" + hazard.EventUUID("usgs", "us7000a").String()

	var changes []struct{ Change int64 }
	s.do("reader", http.MethodGet, path+"/changes", nil).JSON(t, &changes)
	if len(changes) != 1 {
		t.Errorf("%d changes, want one that creates the hazard with its shapes", len(changes))
	}
	first := drawnIn(t, s.do("reader", http.MethodGet, path+"/shapes", nil))
	if len(first) != 2 {
		t.Fatalf("shapes %+v, want two contours", first)
	}
	if p := first[0].Properties; p.Role != "contour" || p.Band != "intensity" || p.Value != 6 || p.From != now.String() || p.Source != "usgs" || p.Part != "shakemap" || p.Color != "#ffff00" ||
		p.Title != "Contour, greatest intensity 6" || p.Since != "" || first[0].Geometry.Type != "LineString" {
		t.Errorf("the first contour is %+v", first[0])
	}
	moment := hazard.At(time.Now())
	for hazard.At(time.Now()) <= moment {
		runtime.Gosched()
	}

	// A later document without a report: the event is known.
	s.takeIn("usgs", source.Batch{Drawings: []source.Drawing{draw(2, contour(7, line))}})
	if got := drawnIn(t, s.do("reader", http.MethodGet, path+"/shapes", nil)); len(got) != 1 || got[0].Properties.Value != 7 {
		t.Errorf("shapes %+v, want the contour of the later document", got)
	}
	if got := drawnIn(t, s.do("reader", http.MethodGet, path+"/shapes?at="+moment.String(), nil)); !slices.Equal(got, first) {
		t.Errorf("shapes as of %s %+v, want %+v", moment, got, first)
	}
	over := drawnIn(t, s.do("reader", http.MethodGet, path+"/shapes?earlier=true", nil))
	if len(over) != 3 || over[0].Properties.Until != "" || over[1].Properties.Until == "" || over[1].Properties.Since == "" {
		t.Errorf("shapes over time %+v, want those of both documents, the latest first", over)
	}
	// Repeated or late drawings change nothing, and drawings of unknown events are not stored.
	number := s.do("reader", http.MethodGet, "/hazards/active", nil).Header.Get("Hazardd-Change")
	s.takeIn("usgs", source.Batch{Drawings: []source.Drawing{draw(2, contour(7, line)), draw(1, contour(5, line)), {Key: "us1", Part: "shakemap", Version: 1, Shapes: []hazard.Shape{contour(6, line)}}}})
	if n := s.do("reader", http.MethodGet, "/hazards/active", nil).Header.Get("Hazardd-Change"); n != number {
		t.Errorf("change %s after shapes without news, want %s", n, number)
	}

	geography := drawnIn(t, s.do("reader", http.MethodGet, path+"/alert-geography?f=geojson", nil))
	if last := geography[len(geography)-1].Properties; len(geography) != 2 || geography[0].Properties.Role != "point" || last.Role != "contour" || last.Value != 7 {
		t.Errorf("the geography has %+v, want the point and the contour", geography)
	}
	kml := s.do("reader", http.MethodGet, path+"/shapes?f=kml", nil)
	if kml.Header.Get("Content-Type") != "application/vnd.google-earth.kml+xml" || xml.Unmarshal(kml.Body, new(struct{})) != nil || !strings.Contains(string(kml.Body), "<coordinates>1,2 3,4</coordinates>") {
		t.Errorf("KML: %s", kml.Body)
	}
	if got := drawnIn(t, s.do("reader", http.MethodGet, path+"/shapes?role=cone,track", nil)); len(got) != 0 {
		t.Errorf("of other roles: %+v", got)
	}
	for _, query := range []string{"f=svg", "role=circle", "earlier=perhaps", "x=1"} {
		if got := s.do("reader", http.MethodGet, path+"/shapes?"+query, nil); got.Status != http.StatusBadRequest {
			t.Errorf("%s: %d", query, got.Status)
		}
	}
	if got := s.do("reader", http.MethodGet, "/hazards/999/shapes", nil); got.Status != http.StatusNotFound {
		t.Errorf("an unknown hazard: %d", got.Status)
	}
	// A document without shapes removes them.
	s.takeIn("usgs", source.Batch{Drawings: []source.Drawing{draw(3)}})
	if got := drawnIn(t, s.do("reader", http.MethodGet, path+"/shapes", nil)); len(got) != 0 {
		t.Errorf("shapes %+v, want none", got)
	}
}
