package serve_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// said is the answer of GET /hazards/{hazard-id}/headline.
type said struct {
	Headline, What, Where, Until, Instruction, Language string
	HowBad                                              string `json:"how_bad"`
}

func TestAHeadlineSaysWhatAnEditorWrote(t *testing.T) {
	s := start(t)
	h := s.hazard("red", "hazard_Name", "Flood - Elbe at Lauenburg", "type_ID", "FLOOD", "severity_ID", "WARNING", "latitude", 53.373, "longitude", 10.56,
		"description", "Water level 9.40 m, rising 8 cm an hour.", "instruction", "Move cars from the lower town before 16:00.")
	var got said
	a := s.do("reader", http.MethodGet, "/hazards/"+h.UUID+"/headline", nil)
	a.JSON(t, &got)
	if got.Instruction != "Move cars from the lower town before 16:00." || got.Language != "en" || !strings.Contains(got.Headline, "Lauenburg") || a.Header.Get("Content-Language") != "en" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	s.do("red", http.MethodPatch, "/hazards/"+h.UUID, map[string]string{"instruction": "Stay away from the dike."})
	s.do("reader", http.MethodGet, "/hazards/"+h.UUID+"/headline?lang=fr", nil).JSON(t, &got)
	if got.Instruction != "Stay away from the dike." || got.Language != "fr" {
		t.Errorf("after a change: %+v", got)
	}
	// What is written in capitals is set as sentences, the instruction too.
	s.do("red", http.MethodPatch, "/hazards/"+h.UUID, map[string]string{"description": "WATER IS OVER THE QUAY SINCE 0600.\nPEOPLE IN CELLARS ARE IN DANGER.", "instruction": "STAY AWAY FROM THE DIKE AND THE QUAY."})
	s.do("reader", http.MethodGet, "/hazards/"+h.UUID+"/headline", nil).JSON(t, &got)
	if got.Instruction != "Stay away from the dike and the quay." || !strings.Contains(got.Headline, ": water is over the quay since 0600.") {
		t.Errorf("in capitals: %+v", got)
	}
	if a := s.do("reader", http.MethodGet, "/hazards/"+h.UUID+"/changes", nil); !strings.Contains(string(a.Body), `{"field":"instruction","from":"Move cars from the lower town before 16:00.","to":"Stay away from the dike."}`) {
		t.Errorf("history: %s", a.Body)
	}
}

func TestTheSummaryListsTheMostImportantFirst(t *testing.T) {
	s := start(t)
	s.hazard("red", "hazard_Name", "Little", "severity_ID", "INFORMATION")
	s.hazard("red", "hazard_Name", "Great", "severity_ID", "WARNING", "type_ID", "TSUNAMI")
	type summary struct {
		Name, Headline, Severity, Starts string
		Ends                             *string
		BBox                             [4]float64
		Importance                       *int
	}
	names := func(query string) string {
		t.Helper()
		var list []summary
		s.do("reader", http.MethodGet, "/hazards/active/summary"+query, nil).JSON(t, &list)
		var all []string
		for _, h := range list {
			all = append(all, h.Name)
			if h.Headline == "" || h.Importance == nil || h.Ends != nil || !strings.HasSuffix(h.Starts, "Z") {
				t.Errorf("%+v", h)
			}
		}
		return strings.Join(all, " ")
	}
	for query, want := range map[string]string{"": "Great Little", "?lang=fr": "Great Little", "?severity=INFORMATION": "Little", "?sort=hazard_ID": "Little Great", "?limit=1": "Great", "?status=E": ""} {
		if got := names(query); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
	a := s.do("reader", http.MethodGet, "/hazards/active/summary", nil)
	if b := s.do("reader", http.MethodGet, "/hazards/active/summary", nil, "If-None-Match", a.Header.Get("ETag")); a.Header.Get("ETag") == "" || b.Status != http.StatusNotModified {
		t.Errorf("with its tag %s: %d", a.Header.Get("ETag"), b.Status)
	}
	if a := s.do("reader", http.MethodGet, "/hazards/active/summary?f=csv", nil); a.Status != http.StatusBadRequest {
		t.Errorf("as a table: %d", a.Status)
	}
}

func TestWhatHasChangedInTheSummaryMakesTheListAsItIs(t *testing.T) {
	s := start(t)
	const path = "/hazards/active/summary"
	type summary = map[string]any
	number := func(h summary) int64 { return int64(h["hazard_ID"].(float64)) }
	whole := func() (list []summary, tag string) {
		t.Helper()
		a := s.do("reader", http.MethodGet, path, nil)
		a.JSON(t, &list)
		return list, a.Header.Get("ETag")
	}
	// since brings a list up to date, and returns its next tag and how much was told; -1: all of it.
	since := func(list []summary, tag string) ([]summary, string, int) {
		t.Helper()
		a := s.do("reader", http.MethodGet, path+"?since="+url.QueryEscape(tag), nil)
		if a.Status == http.StatusSeeOther {
			if a.Header.Get("Location") != "summary" || len(a.Body) > 0 {
				t.Errorf("to the whole list: %q %s", a.Header.Get("Location"), a.Body)
			}
			list, tag = whole()
			return list, tag, -1
		}
		var d struct {
			Tag     string
			Total   int
			Gone    []int64
			Changed []struct {
				Index  int
				Hazard summary
			}
		}
		a.JSON(t, &d)
		out := slices.Clone(d.Gone)
		for _, c := range d.Changed {
			out = append(out, number(c.Hazard))
		}
		list = slices.DeleteFunc(slices.Clone(list), func(h summary) bool { return slices.Contains(out, number(h)) })
		for _, c := range d.Changed {
			list = slices.Insert(list, c.Index, c.Hazard)
		}
		if len(list) != d.Total {
			t.Errorf("%d hazards, want %d", len(list), d.Total)
		}
		return list, d.Tag, len(d.Gone) + len(d.Changed)
	}
	var all []item
	for n := range 12 {
		all = append(all, s.hazard("red", "hazard_Name", fmt.Sprint("Fire ", n), "severity_ID", []string{"INFORMATION", "WATCH", "WARNING"}[n%3]))
	}
	first, firstTag := whole()
	list, tag := first, firstTag
	for i, step := range []struct {
		told int
		do   func()
	}{
		{0, func() {}},
		{1, func() { s.hazard("red", "hazard_Name", "New", "severity_ID", "WARNING", "type_ID", "TSUNAMI") }},
		{1, func() {
			s.do("red", http.MethodPatch, "/hazards/"+all[0].UUID, map[string]string{"severity_ID": "WARNING"})
		}},
		{1, func() { s.do("red", http.MethodPatch, "/hazards/"+all[1].UUID, map[string]string{"status": "E"}) }},
		{1, func() {
			s.do("red", http.MethodPatch, "/hazards/"+all[2].UUID, map[string]string{"hazard_Name": "Renamed"})
		}},
		{-1, func() {
			for _, h := range all[3:] {
				s.do("red", http.MethodPatch, "/hazards/"+h.UUID, map[string]string{"hazard_Name": h.Name + " again"})
			}
			for n := range 6 {
				s.hazard("red", "hazard_Name", fmt.Sprint("More ", n))
			}
		}},
	} {
		step.do()
		now, _ := whole()
		var told int
		if list, tag, told = since(list, tag); told != step.told || !reflect.DeepEqual(list, now) {
			t.Errorf("step %d: told %d, want %d\n%v\nwant\n%v", i, told, step.told, list, now)
		}
		if i == 4 {
			if old, _, told := since(first, firstTag); told != 4 || !reflect.DeepEqual(old, now) {
				t.Errorf("from the first list on: told %d\n%v\nwant\n%v", told, old, now)
			}
		}
	}
	if _, _, told := since(nil, `"of-another-server-gzip"`); told != -1 {
		t.Errorf("of a list that is not known: %d", told)
	}
	if a := s.do("reader", http.MethodGet, path+"?lang=fr&since=x", nil); a.Header.Get("Location") != "summary?lang=fr" {
		t.Errorf("in French: %d %q", a.Status, a.Header.Get("Location"))
	}
	for _, bad := range []string{"?since=a&since=b", "?since=a&type=FLOOD"} {
		if a := s.do("reader", http.MethodGet, path+bad, nil); a.Status != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, a.Status)
		}
	}
}

func TestHereSaysWhatHoldsAndWhoWatches(t *testing.T) {
	s := start(t)
	square := map[string]any{"type": "Polygon", "coordinates": [][][2]float64{{{10.5, 53.36}, {10.62, 53.36}, {10.62, 53.39}, {10.5, 53.39}, {10.5, 53.36}}}}
	s.hazard("red", "hazard_Name", "Flood - Elbe at Lauenburg", "type_ID", "FLOOD", "severity_ID", "WARNING", "latitude", 53.373, "longitude", 10.56, "area", square, "instruction", "Leave the lower town.")
	s.hazard("red", "hazard_Name", "Fire", "type_ID", "WILDFIRE", "severity_ID", "WATCH", "latitude", 53.5, "longitude", 10.56)
	s.hazard("red", "hazard_Name", "Far", "type_ID", "WILDFIRE", "severity_ID", "WARNING", "latitude", 10.0, "longitude", 10.0)
	s.hazard("red", "hazard_Name", "Drill", "category_ID", "EXERCISE", "type_ID", "FLOOD", "severity_ID", "WARNING", "latitude", 53.373, "longitude", 10.56, "area", square)
	var got struct {
		Place struct {
			Name, Region, Country string
			Lat, Lon              float64
		}
		Hazards []struct {
			Name        string
			Certain     bool
			Distance    *float64 `json:"distance_km"`
			Instruction string
		}
		Watched string
		Sources []any
	}
	a := s.do("reader", http.MethodGet, "/here?place=Lauenburg", nil)
	a.JSON(t, &got)
	if got.Place.Name != "Lauenburg" || got.Place.Country != "Germany" || len(got.Hazards) != 2 || got.Hazards[0].Name != "Flood - Elbe at Lauenburg" || got.Hazards[0].Instruction != "Leave the lower town." || got.Hazards[1].Instruction != "" || *got.Hazards[0].Distance != 0 || !got.Hazards[0].Certain ||
		got.Hazards[1].Name != "Fire" || *got.Hazards[1].Distance < 5 || got.Watched == "" || got.Sources == nil {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := s.do("reader", http.MethodGet, "/here?lat=53.373&lon=10.56", nil); a.Status != http.StatusOK || !strings.Contains(string(a.Body), "Lauenburg") {
		t.Errorf("by position: %d %s", a.Status, a.Body)
	}
	for _, bad := range []string{"", "?place=", "?lat=1", "?lat=91&lon=0", "?place=%20"} {
		if a := s.do("reader", http.MethodGet, "/here"+bad, nil); a.Status != http.StatusBadRequest {
			t.Errorf("%q: %d", bad, a.Status)
		}
	}
	if a := s.do("reader", http.MethodGet, "/here?place=Xyzzyqwv", nil); a.Status != http.StatusNotFound {
		t.Errorf("a place that nobody knows: %d", a.Status)
	}
}

// A position says the nearest town: that it is in, or how far it is from it.
func TestAPositionIsToldByItsTown(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *app.Config) { c.Public = route.PublicMap })
	for path, want := range map[string]string{
		"/here?lat=29.795&lon=-98.732&lang=en": "29.795, -98.732 (Boerne, Texas, United States)",
		"/here?lat=29.93&lon=-98.732&lang=en":  " km north of Boerne, Texas, United States)",
		"/here?lat=29.93&lon=-98.732&lang=de":  " km nördlich von Boerne, Texas, Vereinigte Staaten)",
		"/here?lat=-48.9&lon=-123.4&lang=en":   "in -48.900, -123.400</h1>", // far from any town
	} {
		if a := s.do("", http.MethodGet, path, nil, "Accept", "text/html"); !strings.Contains(string(a.Body), want) {
			_, title, _ := strings.Cut(string(a.Body), "<h1")
			t.Errorf("%s: %.200s, want %q", path, title, want)
		}
	}
}

// A link of a page leads where it says: with the parameters that it has, not with one that is made of them all.
func TestTheLinksOfPagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *app.Config) { c.Public = route.PublicMap })
	h := s.hazard("red", "hazard_Name", "Flood - Elbe at Lauenburg", "type_ID", "FLOOD", "latitude", 53.373, "longitude", 10.56)
	href := regexp.MustCompile(`(?:href|src)="([^"#]+)`)
	asked := map[string]bool{}
	for _, path := range []string{"/here", "/here?place=Springfield", "/here?lat=53.373&lon=10.56", "/h/" + h.UUID, "/h/" + h.UUID + "/brief", "/status"} {
		a := s.do("", http.MethodGet, path, nil, "Accept", "text/html")
		if a.Status != http.StatusOK {
			t.Errorf("%s: %d", path, a.Status)
		}
		all := href.FindAllSubmatch(a.Body, -1)
		if len(all) < 5 {
			t.Errorf("%s has %d links", path, len(all))
		}
		base, _ := url.Parse(path)
		for _, found := range all {
			to, err := base.Parse(html.UnescapeString(string(found[1])))
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if asked[to.RequestURI()] || to.Scheme != "" || to.Path == "/" {
				continue
			}
			asked[to.RequestURI()] = true
			got := s.do("", http.MethodGet, to.RequestURI(), nil, "Accept", "text/html, */*")
			if got.Status >= 400 && !strings.HasPrefix(to.Path, "/assets/") {
				t.Errorf("%s leads to %s: %d", path, to, got.Status)
			}
			for name := range to.Query() {
				if strings.ContainsAny(name, "=&") {
					t.Errorf("%s leads to %s, whose parameter is named %q", path, to, name)
				}
			}
			if strings.Contains(path, "lat=") && to.Path == "/here" && to.Query().Get("lat") != "53.373" {
				t.Errorf("%s forgets the place: %s", path, to)
			}
		}
	}
}
