package page

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/atlas/basemap"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/web"
)

const now hazard.Instant = 1795240800000 // 2026-11-21T06:00:00Z

var english Frame

func TestTimesAreToldInTheUnitThatSaysMost(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "just now", 59 * time.Second: "just now", -time.Second: "in less than a minute", time.Minute: "1 minute ago", -90 * time.Second: "in 1 minute",
		119 * time.Minute: "119 minutes ago", 2 * time.Hour: "2 hours ago", -47*time.Hour - 59*time.Minute: "in 47 hours", 48 * time.Hour: "2 days ago",
		-30 * 24 * time.Hour: "in 30 days", 3 * 365 * 24 * time.Hour: "", -3 * 365 * 24 * time.Hour: "",
	} {
		if got := english.relative(now.Add(-d), now); got != want {
			t.Errorf("%v ago: %q, want %q", d, got, want)
		}
	}
	for _, i := range []hazard.Instant{hazard.MinInstant, hazard.MaxInstant} {
		if got := english.relative(i, now); got != "" {
			t.Errorf("%v: %q", i, got)
		}
	}
	want := moment{Machine: "2026-11-21T05:59:58Z", Words: "21 Nov 2026, 05:59:58 UTC", Relative: "just now"}
	if diff := cmp.Diff(want, at(now-2000, now)); diff != "" {
		t.Error(diff)
	}
}

// shown returns the text as the page shows it: paragraphs separated by ¶, line breaks as /, tables
// in |, links in <>.
func shown(text string) string {
	var out []string
	for _, b := range blocks(text) {
		var p strings.Builder
		for _, r := range b.Runs {
			if r.Break {
				p.WriteString("/")
			}
			if r.Href != "" {
				fmt.Fprintf(&p, "<%s>", r.Href)
				continue
			}
			p.WriteString(r.Text)
		}
		if b.Table {
			out = append(out, "|"+p.String()+"|")
			continue
		}
		out = append(out, p.String())
	}
	return strings.Join(out, "¶")
}

func TestTextIsShownAsItWasMeant(t *testing.T) {
	long := strings.Repeat("wide ", 12) + "line"
	for name, tt := range map[string]struct{ in, want string }{
		"nothing":                               {"", ""},
		"blanks":                                {" \n\t\n ", ""},
		"paragraphs":                            {"one\n\n \ntwo\n", "one¶two"},
		"lines that end early are kept":         {"WHAT...wind\nWHERE...hills", "WHAT...wind/WHERE...hills"},
		"lines that the width broke are joined": {long + "\n" + long + "\nend", long + " " + long + " end"},
		"items of lists begin a line":           {long + "\n* one\n- two\n• three\n1. four", long + "/* one/- two/• three/1. four"},
		"columns stay":                          {"A     B     C\nlong  1.5   2.5", "|A     B     C\nlong  1.5   2.5|"},
		"an address":                            {"see https://example.org/a?b=c&d#e now", "see <https://example.org/a?b=c&d#e> now"},
		"the stop is no part of it":             {"see https://example.org/a. And (https://example.org/b), too", "see <https://example.org/a>. And (<https://example.org/b>), too"},
		"brackets within are":                   {"https://example.org/a_(b)", "<https://example.org/a_(b)>"},
		"two":                                   {"https://a.example https://b.example", "<https://a.example> <https://b.example>"},
		"plain http is no link":                 {"http://example.org", "http://example.org"},
		"script is no link":                     {"javascript:alert(1) data:text/html,x vbscript:x", "javascript:alert(1) data:text/html,x vbscript:x"},
		"a name in front of the host is none":   {"https://bank.example@evil.example/", "https://bank.example@evil.example/"},
		"no host, no link":                      {"https:///a https://", "https:///a https://"},
		"quotes end it":                         {`https://example.org/"onclick="x`, `<https://example.org/>"onclick="x`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := shown(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "a\n\nb", "https://example.org/).,", "https://a@b", "* https://x\xff", "a   b   c\n1   2   3", "\thttps://[::1]:8\t\t"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var all strings.Builder
		for _, b := range blocks(text) {
			for _, r := range b.Runs {
				if r.Href != "" && !strings.HasPrefix(r.Href, "https://") {
					t.Errorf("a link to %q", r.Href)
				}
				all.WriteString(r.Text)
			}
		}
		// No word is missing.
		if got, want := strings.Join(strings.Fields(all.String()), ""), strings.Join(strings.Fields(text), ""); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestValuesInWords(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{dms(35.5, -139.51), "35° 30′ 00″ N, 139° 30′ 36″ W"}, {dms(-0.00001, 0), "0° 00′ 00″ S, 0° 00′ 00″ E"}, {dms(-89.99999, 180), "90° 00′ 00″ S, 180° 00′ 00″ E"},
		{number(-17, 5), "-17"}, {number(1.234567, 5), "1.23457"}, {number(-0.000001, 5), "0"}, {number(100, 0), "100"},
		{english.squareKilometres(0.0012), "1,200 m²"}, {english.squareKilometres(4.256), "4.26 km²"}, {english.squareKilometres(1234567), "1,234,567 km²"},
		{english.bytes(999), "999 bytes"}, {english.bytes(1500), "2 kB"}, {english.bytes(32 << 20), "33.6 MB"},
		{typeName(hazard.PoliticalConflict), "Political Conflict"}, {typeName(hazard.Cyclone), "Tropical Cyclone"}, {cut("äöü", 2), "ä…"}, {cut("äöü", 3), "äöü"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// Found by looking at pages of readers in the United States.
func TestMeasurementsAreInTheUnitsOfTheReader(t *testing.T) {
	reader := &Here{Frame: Frame{Miles: true}}
	metric := &Here{}
	measured := func(f *Here, name hazard.Quantity, value float64) string {
		return f.measure(&hazard.Measurement{Name: name, Value: value})
	}
	for _, tt := range []struct{ got, want string }{
		{measured(reader, hazard.Wind, 222), "138 mph"}, {measured(metric, hazard.Wind, 222.2), "222 km/h"},
		{measured(reader, hazard.Depth, 10), "6.21 mi"}, {measured(reader, hazard.BurntArea, 5500), "13,591 acres"},
		{measured(reader, hazard.Pressure, 940), "940 hPa"}, {reader.squareKilometres(100), "38.6 mi²"},
		{reader.Away(16), "9.9 mi away"}, {reader.Away(16.05), "10 mi away"}, {metric.Away(16), "16 km away"}, {metric.Away(9.96), "10 km away"},
		{reader.townAway(46.2, 135), "29 mi SE"}, {metric.townAway(46.2, 135), "46 km SE"}, {metric.townAway(1234.5, 0), "1,235 km N"}, {metric.townAway(0.04, 0), "0 km N"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// pageOf returns the page of an active flood, as modified by alter.
func pageOf(t *testing.T, alter func(*Hazard)) string {
	t.Helper()
	c := &Hazard{Now: now, Symbol: func(*hazard.Hazard) string { return "/symbol.svg" }, Hazard: &hazard.Hazard{ID: 7, UUID: uuid.MustParse("0190a0b0-7d5b-7a53-8d5e-0f7c3a1b2c4d"),
		Name: "Flood", Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Event, Status: hazard.Active, AutoExpire: true, Start: now.Add(-time.Hour), End: now.Add(time.Hour)}}
	alter(c)
	html, err := c.HTML()
	if err != nil {
		t.Fatal(err)
	}
	return string(html)
}

func TestWhatReadersMustNotOverlookIsSaid(t *testing.T) {
	ended := func(why hazard.EndReason) func(*Hazard) {
		return func(c *Hazard) { c.Hazard.Status, c.Hazard.Reason = hazard.Expired, why }
	}
	for name, tt := range map[string]struct {
		alter     func(*Hazard)
		want, not []string
	}{
		"unending": {func(c *Hazard) {}, []string{"Ends: no end given"}, []string{"Ends <time", "in 60 minutes"}},
		"ongoing":  {func(c *Hazard) { c.Hazard.EndGiven = true }, []string{"<title>Flood – hazardd", "Active", "Ends <time", "in 60 minutes"}, []string{"has ended", "EXERCISE", `class="notice`}},
		"a drill":  {func(c *Hazard) { c.Hazard.Category = hazard.Exercise }, []string{"<title>EXERCISE: Flood", "This is a drill", "EXERCISE:</span>"}, []string{"has ended"}},
		"expected": {func(c *Hazard) { c.Hazard.AutoExpire = false }, []string{"Expected to end"}, []string{"has ended"}},
		"overdue":  {func(c *Hazard) { c.Hazard.AutoExpire, c.Hazard.End = false, now-1 }, []string{"Was expected to end", "Active"}, []string{"has ended"}},
		"past its end though the log does not say so": {func(c *Hazard) { c.Hazard.End = now }, []string{"has ended"}, []string{"Active</span>"}},
		"cancelled":                   {ended(hazard.EndCancelled), []string{"<title>Ended: Flood", "This hazard has ended", "has cancelled it"}, []string{"Active</span>"}},
		"retracted":                   {func(c *Hazard) { ended(hazard.EndRetracted)(c); c.Hazard.Note = "It was the tide." }, []string{"false report", "It was the tide."}, nil},
		"a reason of a later version": {ended("abducted"), []string{"It is over."}, nil},
		"merged": {func(c *Hazard) {
			ended(hazard.EndMerged)(c)
			c.Hazard.Successor = uuid.MustParse("0190a0b0-7d5b-7a53-8d5e-000000000000")
			c.Successor = &hazard.Hazard{UUID: c.Hazard.Successor, Name: "Great flood", Type: hazard.Flood, Severity: hazard.Warning, Category: hazard.Event, Status: hazard.Active}
		}, []string{`<a href="/h/0190a0b0-7d5b-7a53-8d5e-000000000000" dir="auto">Great flood</a>`, "one and the same"}, []string{"which has ended, too"}},
		"perhaps the same as another": {func(c *Hazard) {
			c.Alike = []*hazard.Hazard{{UUID: uuid.MustParse("0190a0b0-7d5b-7a53-8d5e-000000000000"), Name: "Flood again", Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Event, Status: hazard.Active}}
		}, []string{`May be the same warning: <a href="/h/0190a0b0-7d5b-7a53-8d5e-000000000000" dir="auto">Flood again</a>`}, []string{"has ended"}},
		"superseded by what is not known here": {func(c *Hazard) {
			ended(hazard.EndSuperseded)(c)
			c.Hazard.Successor = uuid.MustParse("0190a0b0-7d5b-7a53-8d5e-000000000000")
		}, []string{`href="/h/0190a0b0-7d5b-7a53-8d5e-000000000000"`}, nil},
		"of a stale source": {func(c *Hazard) {
			c.Hazard.Source, c.Sources = "usgs", []Source{{Name: "usgs", Title: "USGS earthquakes", State: "stale", Read: now.Add(-3 * time.Hour)}}
		}, []string{"may be out of date", "3 hours ago"}, nil},
		"of a source that reads well": {func(c *Hazard) {
			c.Hazard.Source, c.Sources = "usgs", []Source{{Name: "usgs", Title: "USGS earthquakes", State: "ok", Read: now}}
		}, []string{"USGS earthquakes", "last read"}, []string{"out of date"}},
		"ended, of a stale source": {func(c *Hazard) {
			ended(hazard.EndExpired)(c)
			c.Hazard.Source, c.Sources = "usgs", []Source{{Name: "usgs", Title: "USGS earthquakes", State: "stale", Read: now}}
		}, []string{"has ended"}, []string{"may be out of date"}},
		"of a source that is no more": {func(c *Hazard) { c.Hazard.Source = "oldfeed" }, []string{"oldfeed", "taken from files"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			html := pageOf(t, tt.alter)
			for _, want := range tt.want {
				if !strings.Contains(html, want) {
					t.Errorf("without %q: %s", want, html)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(html, not) {
					t.Errorf("with %q: %s", not, html)
				}
			}
		})
	}
}

// Once, the page of a warning had the text of the NWS twice, and showed identifiers as comments.
func TestWordsOfPeopleStandOnce(t *testing.T) {
	for comment, want := range map[string]string{"nws:KSEW.FF.W.0001.2026": "", "urn:oid:2.49.0.1.840.0.1f": "", "Ask for Ada.": "Ask for Ada.", "https://example.org/1": "https://example.org/1", "JTWC": "JTWC"} {
		if got := forPeople(comment); got != want {
			t.Errorf("%q: %q, want %q", comment, got, want)
		}
	}
	description := "Flash Flood Warning until 6 PM.\n\nWater covers the road\nat Marsh Creek.\n\nTurn around."
	for text, want := range map[string]bool{"FLASH FLOOD WARNING UNTIL 6 PM\n\nWATER COVERS THE\nROAD AT MARSH CREEK.": true, "Water covers the road at Marsh Creek.\n\nAt 3 PM a gauge read 4 m.": false} {
		c := Hazard{Hazard: &hazard.Hazard{Description: description}, Products: []*hazard.Product{{ID: 1, Type: hazard.TextProduct, Data: text}}}
		if list, _ := c.products(); list[0].Again != want {
			t.Errorf("%q: again %v, want %v", text, list[0].Again, want)
		}
	}
}

func TestTheTreeOfProducts(t *testing.T) {
	add := func(id, parent int64, title string, kind hazard.ProductType, hidden bool) *hazard.Product {
		return &hazard.Product{ID: id, ParentID: parent, Title: title, Type: kind, Hidden: hidden, Data: "data of " + title}
	}
	c := &Hazard{Now: now, Hazard: &hazard.Hazard{}, Products: []*hazard.Product{
		add(1, 0, "maps", hazard.FolderProduct, false), add(2, 1, "text", hazard.TextProduct, false), add(3, 9, "of a folder that is not to be known", hazard.TextProduct, false),
		add(4, 0, "hidden", hazard.FolderProduct, true), add(5, 4, "in hidden", hazard.TextProduct, false), add(6, 1, "deeper", hazard.FolderProduct, false), add(7, 6, "leaf", hazard.URLProduct, false),
	}}
	roots, count := c.products()
	var lines []string
	var walk func(list []*product, depth int)
	walk = func(list []*product, depth int) {
		for _, p := range list {
			lines = append(lines, strings.Repeat(" ", depth)+p.Title)
			walk(p.Children, depth+1)
		}
	}
	walk(roots, 0)
	want := []string{"maps", " text", " deeper", "  leaf", "of a folder that is not to be known"}
	if diff := cmp.Diff(want, lines); diff != "" || count != len(want) {
		t.Errorf("%d products:\n%s", count, diff)
	}
}

func TestHistoryIsToldInWords(t *testing.T) {
	c := &Hazard{Now: now, Orgs: map[int64]string{3: "RC"}, Sources: []Source{{Name: "usgs", Title: "USGS earthquakes"}}}
	h := &hazard.Hazard{Reason: hazard.EndRetracted, Note: "the tide"}
	for name, tt := range map[string]struct {
		in   Change
		want change
	}{
		"fields": {Change{&hazard.Change{Number: 4, At: now, Kind: hazard.HazardUpdated, Actor: "red", Hazard: h}, []Field{{"severity_ID", "WATCH", "WARNING"}, {"last_Update", "1", "2"},
			{"end_Date", "1795240800000", "1795244400000"}, {"description", "", strings.Repeat("x", 100)}, {"area", nil, []any{map[string]any{"digest": "ab"}}}, {"latitude", 1.5, -2.0},
			{"org_ID", -1.0, 3.0}, {"status", "A", "E"}, {"autoexpire", "Y", "N"}, {"type_ID", "FLOOD", "NEW"}, {"category_ID", "EVENT", "RESPONSE"}, {"comment_Text", nil, true}}},
			change{Number: 4, At: at(now, now), What: "Updated", Who: "by red", Fields: []field{{Name: "Severity", From: "Watch", To: "Warning"},
				{Name: "End", From: "21 Nov 2026, 06:00 UTC", To: "21 Nov 2026, 07:00 UTC"}, {"Description", "nothing", strings.Repeat("x", 100), true}, {Name: "Area", To: "redrawn"},
				{Name: "Latitude", From: "1.5", To: "-2"}, {Name: "Organization", From: "none", To: "RC"}, {Name: "Status", From: "active", To: "ended"}, {Name: "Ends by itself", From: "yes", To: "no"},
				{Name: "Type", From: "Flood", To: "NEW"}, {Name: "Category", From: "Event", To: "Response"}, {Name: "Comment", From: "nothing", To: "true"}}}},
		"an end":           {Change{Change: &hazard.Change{Kind: hazard.HazardExpired, At: now, Hazard: h}}, change{At: at(now, now), What: "Ended: retracted", Who: "by the service itself", Note: "the tide"}},
		"a source's":       {Change{Change: &hazard.Change{Kind: hazard.HazardCreated, At: now, Source: "usgs", Hazard: h}}, change{At: at(now, now), What: "Reported", Who: "from USGS earthquakes"}},
		"a product's":      {Change{Change: &hazard.Change{Kind: hazard.ProductDeleted, At: now, Actor: "red", Product: &hazard.Product{Title: "Map"}}}, change{At: at(now, now), What: "Product removed: Map", Who: "by red"}},
		"unknown source's": {Change{Change: &hazard.Change{Kind: hazard.HazardMerged, At: now, Source: "x", Hazard: h}}, change{At: at(now, now), What: "Merged with another hazard", Who: "from x"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, c.change(&tt.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// elements calls each for all elements of a map, which must be a well-formed document.
func elements(t testing.TB, svg []byte, each func(xml.StartElement)) {
	t.Helper()
	for dec := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v: %.2000s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok {
			each(e)
		}
	}
}

// wantXML checks that a map contains only drawing elements.
func wantXML(t *testing.T, svg []byte) {
	t.Helper()
	elements(t, svg, func(e xml.StartElement) {
		switch e.Name.Local {
		case "svg", "g", "path", "rect", "circle", "text", "title", "ellipse", "line", "polygon", "polyline":
		default:
			t.Errorf("element %s", e.Name.Local)
		}
		for _, a := range e.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" || a.Name.Local == "style" || strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				t.Errorf("<%s %s=%q>", e.Name.Local, a.Name.Local, a.Value)
			}
		}
	})
}

func TestMapsAreDrawnWhateverThePlace(t *testing.T) {
	world := `{"type":"Polygon","coordinates":[[[-180,-90],[180,-90],[180,90],[-180,90],[-180,-90]]]}`
	for name, m := range map[string]struct {
		lon, lat float64
		areas    []string
	}{
		"a point":     {10, 53, nil},
		"a pole":      {0, 90, nil},
		"south pole":  {0, -90, nil},
		"the line":    {180, 0, nil},
		"the world":   {0, 0, []string{world}},
		"a dot":       {10, 53, []string{`{"type":"Point","coordinates":[10,53]}`}},
		"dots":        {10, 53, []string{`{"type":"MultiPoint","coordinates":[[10,53],[11,54]]}`}},
		"lines":       {10, 53, []string{`{"type":"LineString","coordinates":[[10,53],[11,54]]}`, `{"type":"MultiLineString","coordinates":[[[10,53],[11,54]]]}`}},
		"a mixture":   {10, 53, []string{`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]},{"type":"LineString","coordinates":[[10,53],[11,54]]}]}`}},
		"nonsense":    {10, 53, []string{`{"type":"Polygon","coordinates":"x"}`, `x`, `{"type":"Polygon","coordinates":[]}`, `{"type":"Polygon","coordinates":[[]]}`, `{"type":"Curve"}`}},
		"far apart":   {179, -17, []string{`{"type":"MultiPolygon","coordinates":[[[[-180,-15],[-177,-18],[-180,-20],[-180,-15]]]]}`}},
		"by the pole": {20, 79, []string{`{"type":"Polygon","coordinates":[[[10,75],[30,75],[30,85],[10,75]]]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, role := range []hazard.AreaRole{hazard.AlertArea, hazard.ImpactArea, hazard.TrackArea} {
				for _, dark := range []bool{false, true} {
					h := &hazard.Hazard{Name: `<script>&"`, Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Exercise, Longitude: m.lon, Latitude: m.lat}
					doc := Map{Hazard: h, Dark: dark}
					for _, a := range m.areas {
						doc.Areas = append(doc.Areas, hazard.Area{Role: role, Geometry: a})
					}
					svg := doc.SVG()
					wantXML(t, svg)
					if !strings.Contains(string(svg), "EXERCISE") || !strings.Contains(string(svg), "#ffff00") {
						t.Error("the word EXERCISE or the color of a watch is missing")
					}
				}
			}
		})
	}
}

// Once, the page of a flood in Seattle showed only blue and a graticule.
func TestMapsShowLandRiversAndTowns(t *testing.T) {
	archive := web.NewHandler().Basemap()
	if archive == nil {
		t.Skip("the map is not built: run make web")
	}
	ground, err := basemap.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		lon, lat float64
		area     string
		want     []string // towns
		rivers   bool
	}{
		"a city":           {10, 53.55, `{"type":"Polygon","coordinates":[[[9.7,53.4],[10.3,53.4],[10.3,53.7],[9.7,53.7],[9.7,53.4]]]}`, []string{"Hamburg"}, false},
		"a country":        {10, 51, `{"type":"Polygon","coordinates":[[[6,47.5],[15,47.5],[15,55],[6,55],[6,47.5]]]}`, []string{"Amsterdam", "Berlin"}, true},
		"across the line":  {179.9, -17.5, `{"type":"MultiPolygon","coordinates":[[[[177,-19],[180,-19],[180,-16],[177,-16],[177,-19]]],[[[-180,-19],[-178,-19],[-178,-16],[-180,-16],[-180,-19]]]]}`, []string{"Suva"}, false},
		"only a position":  {-122.33, 47.6, "", []string{"Portland", "Seattle"}, true},
		"the whole planet": {0, 0, `{"type":"Polygon","coordinates":[[[-180,-85],[180,-85],[180,85],[-180,85],[-180,-85]]]}`, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := Map{Hazard: &hazard.Hazard{Name: "Flood", Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Event, Longitude: tt.lon, Latitude: tt.lat}, Ground: ground}
			if tt.area != "" {
				m.Areas = []hazard.Area{{Role: hazard.AlertArea, Geometry: tt.area}}
			}
			svg := m.SVG()
			wantXML(t, svg)
			text := string(svg)
			if !strings.Contains(text, `fill="`+lightMap.land+`" fill-rule`) {
				t.Error("no land")
			}
			if tt.rivers && !strings.Contains(text, `stroke="`+lightMap.river+`"`) {
				t.Error("no river")
			}
			for _, town := range tt.want {
				if !strings.Contains(text, ">"+town+"</text>") {
					t.Errorf("no %s", town)
				}
			}
			if len(svg) > 300_000 {
				t.Errorf("%d bytes", len(svg))
			}
		})
	}
}

func TestWhatCrossesTheAntimeridianIsDrawnInOnePlace(t *testing.T) {
	h := &hazard.Hazard{Type: hazard.Cyclone, Severity: hazard.Warning, Longitude: 179.5, Latitude: -17}
	s := readShape([]byte(`{"type":"MultiPolygon","coordinates":[[[[177,-16],[180,-15],[180,-20],[177,-16]]],[[[-180,-15],[-177,-18],[-180,-20],[-180,-15]]]]}`))
	s.turn(h.Longitude)
	d := &drawing{lon: h.Longitude}
	d.look([]shape{s}, h, margins[0])
	if width := mapWidth / d.scale; width > 20 {
		t.Errorf("the map is %v degrees wide", width)
	}
	if edge := d.way(s.polygons[0][0], false); strings.Count(edge, "M") != 2 {
		t.Errorf("the cut is drawn as an edge: %s", edge)
	}
	s.each(func(lon, lat float64) {
		if x, y := d.xy(lon, lat); x < 0 || x > mapWidth || y < 0 || y > mapHeight {
			t.Errorf("%v %v is drawn outside, at %v %v", lon, lat, x, y)
		}
	})
}

func FuzzMap(f *testing.F) {
	for _, seed := range []string{`{"type":"Point","coordinates":[1,2]}`, `{"type":"Polygon","coordinates":[[[1e308,-1e308],[1,2],[3]]]}`, `{"type":"GeometryCollection","geometries":[{"type":"MultiPolygon","coordinates":[[[[0,91]]]]}]}`} {
		f.Add(seed, 10.0, 20.0)
	}
	f.Add("", 180.0, -90.0)
	f.Fuzz(func(t *testing.T, geometry string, lon, lat float64) {
		if !(lon >= -180 && lon <= 180 && lat >= -90 && lat <= 90) {
			return
		}
		m := Map{Hazard: &hazard.Hazard{Name: geometry, Type: hazard.Flood, Longitude: lon, Latitude: lat}, Areas: []hazard.Area{{Role: hazard.AlertArea, Geometry: geometry}}}
		wantXML(t, m.SVG())
	})
}
