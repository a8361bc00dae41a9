package query

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query/cql"
)

const noon hazard.Instant = 1_795_262_400_000 // 2026-11-21T12:00:00Z

func parseText(t testing.TB, text string) (Query, Faults) {
	t.Helper()
	v, err := url.ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	return Parse(v, "f")
}

func good(t testing.TB, text string) Query {
	t.Helper()
	q, faults := parseText(t, text)
	if faults != nil {
		t.Fatalf("%s: %v", text, faults)
	}
	return q
}

func TestWhatIsWrongIsNamedWithItsValueAndWhatIsAllowed(t *testing.T) {
	for text, want := range map[string]string{
		"type=flood":                         `type: "flood" is not a type; expected one of ACCIDENT, `,
		"type=":                              `type: "" is not a type`,
		"type=FLOOD,,STORM":                  `type: "" is not a type`,
		"type=FLOOD&type=STORM":              `type: is given 2 times, expected once; several values are separated by commas`,
		"severity=SEVERE":                    `severity: "SEVERE" is not a severity; expected one of TERMINATION, INFORMATION, ADVISORY, WATCH, WARNING`,
		"category=event":                     `category: "event" is not a category; expected one of EVENT, EXERCISE, OTHER, RESPONSE`,
		"status=a":                           `status: "a" is not a status; expected one of A (active), E (expired)`,
		"source=U S":                         `source: "U S" is neither the name of a source`,
		"ref=us6000":                         `ref: "us6000" is not SCHEME:ID`,
		"ref=:x":                             `ref: ":x" is not SCHEME:ID`,
		"bbox=1,2,3":                         `bbox: "1,2,3": 3 fields, expected west,south,east,north`,
		"bbox=0,5,1,4":                       `bbox: "0,5,1,4": south 5 is above north 4`,
		"bbox=0,NaN,1,4":                     `bbox: "0,NaN,1,4": south: "NaN" is not a number`,
		"near=1,2":                           `near: is given without radius= in metres`,
		"radius=5":                           `radius: is given without near=lon,lat`,
		"near=1;2&radius=5":                  ``,
		"near=200,2&radius=5":                `near: "200,2" is not lon,lat`,
		"near=1,2,3&radius=5":                `near: "1,2,3" is not lon,lat`,
		"near=1,2&radius=0":                  `radius: "0" is not a number of metres above 0, at most 5000000`,
		"near=1,2&radius=Infinity":           `radius: "Infinity" is not`,
		"near=1,2&radius=1km":                `radius: "1km" is not`,
		"intersects=":                        `intersects: is empty, expected a geometry as WKT`,
		"intersects=CIRCLE(1 2)":             `intersects: "CIRCLE(1 2)": `,
		"intersects=POLYGON((0 0,1 1,0 0))":  `intersects: "POLYGON((0 0,1 1,0 0))": `,
		"datetime=yesterday":                 `datetime: "yesterday" is not a moment (2026-11-02T06:00:00Z), a day (2026-11-02)`,
		"datetime=..":                        `datetime: ".." is not a moment`,
		"datetime=2026-01-02/2026-01-01":     `datetime: "2026-01-02/2026-01-01": it ends before it begins`,
		"datetime=a/b/c":                     `datetime: "a/b/c" is not`,
		"datetime=2026-01-02T00:00:00 02:00": `in a URL a + must be written %2B`,
		"updated_since=2026-01-01":           `updated_since: "2026-01-01" is not a moment as RFC 3339 has it`,
		"at=now":                             `at: "now" is not a moment`,
		"q=":                                 `q: is empty`,
		"q=--":                               `q: "--": not each part is a word`,
		"q=*":                                `q: "*": not each`,
		"q=a*b":                              `q: "a*b": not each`,
		`q="a b`:                             `q: "\"a b": a " is not closed`,
		"q=" + strings.Repeat("x", 201):      `q: 201 characters, at most 200`,
		"q=a b c d e f g h i j k l m":        `q: 13 words and phrases, at most 12`,
		"measure=":                           `measure: "" is not name:low..high`,
		"measure=magnitude:6":                `measure: "magnitude:6" is not name:low..high`,
		"measure=magnitud:6..":               `measure: "magnitud" is not a measurement; expected one of magnitude, depth_km,`,
		"measure=magnitude:six..":            `measure: magnitude: "six" is not a number from -3 to 11`,
		"measure=magnitude:NaN..":            `measure: magnitude: "NaN" is not a number`,
		"measure=magnitude:..1e999":          `measure: magnitude: "1e999" is not a number`,
		"measure=depth_km:70..0":             `measure: depth_km: "70..0" begins with the greater value`,
		"measure=wind_kmh:451..":             `measure: wind_kmh: "451.." lets nothing through: no value can be there, expected a number from 0 to 450 km/h`,
		"measure=pager_level:purple..":       `measure: pager_level: "purple" is not a number from 1 to 4, or one of green, yellow, orange, red`,
		"sort=-magnitud":                     `sort: "-magnitud" is not one of severity, last_Update`,
		"sort=name":                          `sort: "name" is not one of severity, last_Update, -last_Update`,
		"sort=-severity":                     `sort: "-severity" is not one of`,
		"limit=0":                            `limit: "0" is not a whole number from 1 to 1000`,
		"limit=1001":                         `limit: "1001" is not`,
		"limit=ten":                          `limit: "ten" is not`,
		"cursor=":                            `cursor: is empty`,
		"ref=usgs:x&at=2026-01-01T00:00:00Z": `ref: cannot be combined with at`,
		"Type=FLOOD":                         `Type: is not known; these are known here: type, severity,`,
		"page=2":                             `page: is not known`,
	} {
		v := url.Values{}
		for pair := range strings.SplitSeq(text, "&") {
			name, value, _ := strings.Cut(pair, "=")
			v.Add(name, value)
		}
		_, faults := Parse(v, "f")
		if len(faults) != 1 || !strings.Contains(faults.Error(), want) {
			t.Errorf("%s: %q, want one fault with %q", text, faults.Error(), want)
		}
	}
}

func TestAllFaultsAreNamedAtOnce(t *testing.T) {
	_, faults := parseText(t, "type=x&limit=0&y=1&q=&f=geojson")
	var names []string
	for _, f := range faults {
		names = append(names, f.Parameter)
	}
	if !slices.Equal(names, []string{"limit", "q", "type", "y"}) {
		t.Errorf("faults of %v", names)
	}
}

func TestAFilterHasNoPages(t *testing.T) {
	if f, faults := ParseFilter(url.Values{"type": {"FLOOD"}, "after": {"7"}}, "after"); faults != nil || len(f.Types) != 1 {
		t.Errorf("%+v, %v", f, faults)
	}
	for _, name := range []string{"sort", "limit", "cursor", "at"} {
		if _, faults := ParseFilter(url.Values{name: {"1"}}); len(faults) != 1 || faults[0].Parameter != name {
			t.Errorf("%s: %v", name, faults)
		}
	}
}

func flood() *hazard.Hazard {
	return &hazard.Hazard{ID: 7, Name: "Flood – Łódź, Old Harbour", Description: "Water over the quay.\n地震の被害 is not meant.", Type: hazard.Flood, Severity: hazard.Watch,
		Category: hazard.Event, Status: hazard.Active, AutoExpire: true, Start: noon, End: noon + 3_600_000, LastUpdate: noon + 60_000, Longitude: 19.45, Latitude: 51.77, Source: "nws"}
}

func TestMatch(t *testing.T) {
	area, err := geo.ParseWKT("POLYGON((19 51,20 51,20 52,19 52,19 51))")
	if err != nil {
		t.Fatal(err)
	}
	across, err := geo.ParseWKT("POLYGON((179 0,-179 0,-179 1,179 1,179 0))")
	if err != nil {
		t.Fatal(err)
	}
	measured := func(h *hazard.Hazard) {
		h.Measurements = []hazard.Measurement{{Name: hazard.Depth, Value: 10}, {Name: hazard.Magnitude, Value: 6}, {Name: hazard.PagerLevel, Value: 3}}
	}
	endless := func(h *hazard.Hazard) { h.AutoExpire = false }
	for name, tt := range map[string]struct {
		query  string
		alter  func(*hazard.Hazard)
		shapes []geo.Shape
		after  hazard.Instant // since noon
		want   bool
	}{
		"nothing asked":                                 {"", nil, nil, 0, true},
		"one of several types":                          {"type=STORM,FLOOD", nil, nil, 0, true},
		"another type":                                  {"type=STORM", nil, nil, 0, false},
		"one condition of two fails":                    {"type=FLOOD&severity=WARNING", nil, nil, 0, false},
		"active until its end":                          {"status=A", nil, nil, 3_599_999, true},
		"expired at its end, though nobody recorded it": {"status=E", nil, nil, 3_600_000, true},
		"its last update is then its end":               {"updated_since=2026-11-21T13:00:00Z", nil, nil, 3_600_000, true},
		"not yet updated since":                         {"updated_since=2026-11-21T12:01:00.001Z", nil, nil, 0, false},
		"measured on the bound":                         {"measure=magnitude:6..", measured, nil, 0, true},
		"measured within both ranges":                   {"measure=magnitude:5.5..6,depth_km:..70", measured, nil, 0, true},
		"one of two ranges":                             {"measure=magnitude:5.5..6,depth_km:..9", measured, nil, 0, false},
		"measured above the range":                      {"measure=magnitude:..5.9", measured, nil, 0, false},
		"a word of a scale":                             {"measure=pager_level:orange..", measured, nil, 0, true},
		"a milder word":                                 {"measure=pager_level:..yellow", measured, nil, 0, false},
		"has the value":                                 {"measure=magnitude:..", measured, nil, 0, true},
		"without the value":                             {"measure=wind_kmh:..", measured, nil, 0, false},
		"updated at that very moment":                   {"updated_since=2026-11-21T12:01:00Z", nil, nil, 0, true},
		"its source":                                    {"source=usgs,nws", nil, nil, 0, true},
		"another source of it":                          {"source=gdacs", func(h *hazard.Hazard) { h.Sources = []string{"gdacs", "usgs"} }, nil, 0, true},
		"a source of an editor's":                       {"source=gdacs", func(h *hazard.Hazard) { h.Source, h.Sources = "", []string{"gdacs"} }, nil, 0, true},
		"editors' own":                                  {"source=editors", func(h *hazard.Hazard) { h.Source = "" }, nil, 0, true},
		"a source's is not editors'":                    {"source=editors", nil, nil, 0, false},
		"life that begins as the time ends":             {"datetime=../2026-11-21T12:00:00Z", nil, nil, 0, true},
		"life that ends as the time begins":             {"datetime=2026-11-21T13:00:00Z/..", nil, nil, 0, true},
		"life that was over before":                     {"datetime=2026-11-21T13:00:00.001Z/", nil, nil, 0, false},
		"life that ends only when somebody says so":     {"datetime=2030-01-01T00:00:00Z", endless, nil, 0, true},
		"a day":                     {"datetime=2026-11-21", nil, nil, 0, true},
		"the day after":             {"datetime=2026-11-22", nil, nil, 0, false},
		"any time":                  {"datetime=../..", nil, nil, 0, true},
		"its point without an area": {"bbox=19,51,20,52", nil, nil, 0, true},
		"its point on the border":   {"bbox=19.45,51.77,20,52", nil, nil, 0, true},
		"its point does not count beside an area":          {"bbox=19.4,51.7,19.5,51.8", nil, []geo.Shape{across}, 0, false},
		"one of its areas":                                 {"bbox=19.4,51.7,19.5,51.8", nil, []geo.Shape{across, area}, 0, true},
		"a box across the antimeridian":                    {"bbox=170,-10,-170,10", nil, []geo.Shape{across}, 0, true},
		"a box on its other side":                          {"bbox=-179.5,-10,-170,10", nil, []geo.Shape{across}, 0, true},
		"a point within a radius":                          {"near=19.45,51.76&radius=1112", nil, nil, 0, true},
		"a point a little further":                         {"near=19.45,51.76&radius=1111", nil, nil, 0, false},
		"an area whose border is near":                     {"near=20.01,51.5&radius=700", nil, []geo.Shape{area}, 0, true},
		"near, across the antimeridian":                    {"near=-178.5,0.5&radius=60000", nil, []geo.Shape{across}, 0, true},
		"a polygon that touches":                           {"intersects=POLYGON((20 50,21 50,21 53,20 50))", nil, []geo.Shape{area}, 0, false},
		"a line through it":                                {"intersects=LINESTRING(18 51.5,21 51.5)", nil, []geo.Shape{area}, 0, true},
		"a word without its accents":                       {"q=lodz", nil, nil, 0, true},
		"a word in capitals":                               {"q=HARBOUR", nil, nil, 0, true},
		"a beginning":                                      {"q=harb*", nil, nil, 0, true},
		"a beginning without the star":                     {"q=harb", nil, nil, 0, false},
		"words from both texts, in any order":              {"q=quay flood", nil, nil, 0, true},
		"a phrase":                                         {`q="old harbour"`, nil, nil, 0, true},
		"a phrase the wrong way round":                     {`q="harbour old"`, nil, nil, 0, false},
		"a phrase is in one text":                          {`q="harbour water"`, nil, nil, 0, false},
		"a part of a sentence without blanks":              {"q=震の", nil, nil, 0, true},
		"letters of it the wrong way round":                {"q=の震", nil, nil, 0, false},
		"a ref that leads elsewhere, or was not looked up": {"ref=usgs:x", nil, nil, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			q, h := good(t, strings.ReplaceAll(tt.query, " ", "+")), flood()
			if tt.alter != nil {
				tt.alter(h)
			}
			if got := q.Match(h, tt.shapes, noon+tt.after); got != tt.want {
				t.Errorf("match %v, want %v", got, tt.want)
			}
		})
	}
	q := good(t, "ref=usgs:x")
	if q.Hazards = []int64{3, 7, 9}; !q.Match(flood(), nil, noon) {
		t.Error("a hazard that the ref leads to is not found")
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "",
		"Łódź – Straße, İstanbul; ﬁre":         "lodz strasse istanbul fire",
		"M 4.8 earthquake (10km)":              "m 4 8 earthquake 10km",
		"naïve CAFÉ café":                      "naive cafe cafe",
		"地震のM7被害":                              "地 震 の m7 被 害",
		"ไฟป่า":                                "ไ ฟ ป า",
		"Ælfrøy ½ Ω":                           "aelfroy 1 2 ω",
		"a\u200db zero\u00adwidth":             "ab zerowidth",
		"\x00\xff bad":                         "bad",
		"हिन्दी":                               "हिनदी",
		strings.Repeat("é", 100) + " nextword": strings.Repeat("e", maxWord) + " nextword",
	} {
		if diff := cmp.Diff(want, strings.Join(textWords(text), " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestEveryOrderIsTotalAndListsComeInTheirs(t *testing.T) {
	a, b := flood(), flood()
	b.ID, b.Severity, b.LastUpdate, b.Start, b.End = 8, hazard.Warning, noon, noon+1, noon-1
	for text, first := range map[string]int64{"severity": 8, "last_Update": 8, "-last_Update": 7, "start_Date": 7, "-start_Date": 8, "end_Date": 8, "-end_Date": 7, "hazard_ID": 7, "-hazard_ID": 8} {
		s := good(t, "sort="+text).Sort
		got := int64(7)
		if s.Compare(s.Key(b), s.Key(a)) < 0 {
			got = 8
		}
		if got != first || s.String() != text || s.Compare(s.Key(a), s.Key(b)) != -s.Compare(s.Key(b), s.Key(a)) || s.Compare(s.Key(a), s.Key(a)) != 0 {
			t.Errorf("%s (%s): %d comes first, want %d", text, s, got, first)
		}
	}
	if (Sort{}).Compare(Sort{}.Key(a), Sort{}.Key(b)) != hazard.Compare(a, b) {
		t.Error("without sort the order is not that of lists")
	}
}

func TestCursorThatWasAlteredIsRefused(t *testing.T) {
	q := good(t, "type=FLOOD&limit=3")
	c := Cursor{Number: 1 << 40, Now: noon, Key: Key{Severity: hazard.Watch, Moment: -5, ID: 7}}
	q.Cursor = q.Encode(c, "history")
	if got, err := q.Decode("history"); err != nil || got != c {
		t.Fatalf("%+v, %v", got, err)
	}
	whole := q.Cursor
	for i := range whole {
		for _, with := range []string{"", "A", "-", "~"} {
			if q.Cursor = whole[:i] + with + whole[i+1:]; q.Cursor == whole {
				continue
			}
			if got, err := q.Decode("history"); err == nil {
				t.Fatalf("%q reads as %+v", q.Cursor, got)
			}
		}
	}
}

func TestOrderByAMeasurementHasTheOthersLast(t *testing.T) {
	little, much, none := flood(), flood(), flood()
	much.ID, none.ID = 8, 1
	little.Measurements = []hazard.Measurement{{Name: hazard.Magnitude, Value: 4.5}}
	much.Measurements = []hazard.Measurement{{Name: hazard.Magnitude, Value: 6}}
	for text, want := range map[string][]int64{"magnitude": {7, 8, 1}, "-magnitude": {8, 7, 1}, "depth_km": {1, 7, 8}, "-depth_km": {8, 7, 1}} {
		q := good(t, "sort="+text)
		list := []*hazard.Hazard{none, much, little}
		slices.SortFunc(list, func(a, b *hazard.Hazard) int { return q.Sort.Compare(q.Sort.Key(a), q.Sort.Key(b)) })
		var got []int64
		for _, h := range list {
			got = append(got, h.ID)
			key := q.Sort.Key(h)
			q.Cursor = q.Encode(Cursor{Number: 7, Now: noon, Key: key}, "history")
			if c, err := q.Decode("history"); err != nil || c.Key != key {
				t.Errorf("%s: a cursor behind %+v reads %+v, %v", text, key, c.Key, err)
			}
			q.Cursor = ""
		}
		if !slices.Equal(got, want) || q.Sort.String() != text {
			t.Errorf("sort=%s (%s): %v, want %v", text, q.Sort, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "type=FLOOD,STORM&severity=WARNING", "bbox=170,-10,-170,10&near=1,2&radius=3&intersects=POINT(1 2)", "datetime=../2026-01-01T00:00:00%2B02:00", "datetime=2026-01-01",
		"q=%22old+harbour%22*+flo*+地震", "sort=-end_Date&limit=1000&at=2026-01-01T00:00:00.5Z", "source=usgs,editors&ref=glide:EQ-1&status=A", "updated_since=0001-01-01T00:00:00Z", "q=a\"b\"c", "near=-0,0&radius=1e-3", "measure=magnitude:-0..1e3,depth_km:..70,pager_level:orange..", "sort=-depth_km",
		"cursor=AAAAAAAAAAAAAAAAAAA", "x=1&x=2&f=csv"} {
		f.Add(seed)
	}
	h := flood()
	f.Fuzz(func(t *testing.T, text string) {
		v, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		q, faults := Parse(v, "f")
		if faults != nil {
			for _, fault := range faults {
				if !v.Has(fault.Parameter) || fault.Detail == "" {
					t.Fatalf("%q: fault %+v of a parameter that was not given", text, fault)
				}
			}
			return
		}
		// A parsed query is written so that it parses to the same query again.
		again, faults := Parse(q.Values(), "f")
		if quoted := len([]rune(q.Values().Get("q"))); faults != nil && quoted <= maxText {
			t.Fatalf("%q is written as %v, which has faults: %v", text, q.Values(), faults)
		} else if faults == nil {
			if diff := cmp.Diff(q.Values(), again.Values()); diff != "" {
				t.Fatalf("%q: %s", text, diff)
			}
			if q.Match(h, nil, noon) != again.Match(h, nil, noon) {
				t.Fatalf("%q matches differently when it is written as %v", text, q.Values())
			}
		}
		if match, sure := q.MayMatchPlace(geo.BoundsOf(Footprint(h, nil)...)); sure && match != q.MatchPlace(Footprint(h, nil)) {
			t.Fatalf("%q: its box is sure to match: %v", text, match)
		}
		if _, err := q.Decode("history"); err == nil {
			t.Fatalf("%q: an invalid cursor is accepted", text)
		}
	})
}

// It takes too long to determine whether two lines meet whose teeth lie between each other, so both
// conditions find the hazard.
func TestWhatTakesTooLongToTellIsFound(t *testing.T) {
	// comb returns a line of slanting teeth between two heights, in degrees. The positions of a
	// tooth go as far east as north.
	comb := func(from, to, aside float64) string {
		var b strings.Builder
		for i := range 6000 {
			x := float64(i)*0.00002 + aside
			fmt.Fprintf(&b, ",%.6f %.6f,%.6f %.6f,%.6f %.6f", x+from, from, x+to, to, x+from+0.000004, from)
		}
		return "LINESTRING(" + b.String()[1:] + ")"
	}
	shape, err := geo.ParseWKT(comb(0, 0.06, 0))
	if err != nil {
		t.Fatal(err)
	}
	h := &hazard.Hazard{Status: hazard.Active}
	meets := cql.Meets{Of: cql.Operand{Kind: cql.Property, Text: Geometry}, Geometry: cql.Geometry{WKT: comb(0.07, 0.001, 0.00001)}}
	for _, e := range []cql.Expr{meets, cql.Not{Of: meets}} {
		w, err := NewWhere(e, Fields())
		if err != nil {
			t.Fatal(err)
		}
		if !w.match(h, []geo.Shape{shape}) {
			t.Errorf("%T finds too little", e)
		}
	}
	near := cql.Not{Of: cql.Meets{Of: meets.Of, Geometry: cql.Geometry{WKT: "POINT(0 0)"}}}
	if w, err := NewWhere(near, Fields()); err != nil || w.match(h, []geo.Shape{shape}) {
		t.Errorf("shapes that meet are found by the opposite condition: %v", err)
	}
}

// What a filter requires of the place is decided by a hazard's bounds where they suffice, so that searches
// do not read its state.
func TestBoundsDecideThePlacesOfAWhere(t *testing.T) {
	in, beside, across := geo.Box{West: 1, South: 1, East: 2, North: 2}, geo.Box{West: 20, South: 1, East: 21, North: 2}, geo.Box{West: 9, South: 1, East: 11, North: 2}
	none := geo.Box{South: 100, North: 100}
	const box, shape = "S_INTERSECTS(geometry, BBOX(0,0,10,10))", "S_INTERSECTS(geometry, POLYGON((0 0,10 0,10 10,0 10,0 0)))"
	for _, tt := range []struct {
		filter      string
		bounds      geo.Box
		match, sure bool
	}{
		{box, in, true, true}, {box, beside, false, true}, {box, across, true, false}, {box, none, false, true},
		{shape, in, true, false}, {shape, beside, false, true},
		{"NOT " + box, beside, true, true}, {"NOT " + box, in, true, false}, {"NOT " + box, none, true, false},
		{"severity_rank >= 2 AND (" + box + " AND NOT " + shape + ")", in, true, false},
		{"severity_rank >= 2 AND (NOT " + shape + " AND S_INTERSECTS(geometry, BBOX(19,0,30,10)))", beside, true, true},
	} {
		q, faults := Parse(url.Values{"filter": {tt.filter}})
		if faults != nil {
			t.Fatal(faults)
		}
		if match, sure := q.MayMatchPlace(tt.bounds); sure != tt.sure || match != tt.match {
			t.Errorf("%s of %v: %v, sure %v; want %v, %v", tt.filter, tt.bounds, match, sure, tt.match, tt.sure)
		}
	}
}

// A search near a place reads the shapes of those hazards alone whose bounds leave it open whether they are near.
func TestBoundsDecideWhatIsNear(t *testing.T) {
	decided := 0
	rapid.Check(t, func(t *rapid.T) {
		lon, lat := rapid.Float64Range(-180, 180).Draw(t, "lon"), rapid.Float64Range(-90, 90).Draw(t, "lat")
		n := newNear(lon, lat, rapid.Float64Range(1, 1_500_000).Draw(t, "radius"))
		far := 2.5 * n.radius / 111_000
		middle := [2]float64{geo.Wrap(lon + rapid.Float64Range(-far, far).Draw(t, "east")*3), min(max(lat+rapid.Float64Range(-far, far).Draw(t, "north"), -89), 89)}
		var s geo.Shape
		if size := rapid.Float64Range(0, n.radius).Draw(t, "size"); rapid.Bool().Draw(t, "a circle") {
			s = geo.Circle(middle[0], middle[1], size)
		} else {
			half := size / 111_000
			s = geo.Box{West: max(middle[0]-half, -180), South: max(middle[1]-half, -90), East: min(middle[0]+half, 180), North: min(middle[1]+half, 90)}.Shape()
		}
		match, sure := n.decide(geo.BoundsOf(s))
		if sure {
			decided++
			if match != n.meets(s) {
				t.Fatalf("its bounds %+v say %v", geo.BoundsOf(s), match)
			}
		}
	})
	if decided < 20 {
		t.Errorf("only %d were decided", decided)
	}
}
