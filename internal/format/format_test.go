package format_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/wire"
)

func TestChoose(t *testing.T) {
	for name, tt := range map[string]struct {
		accept, f string
		want      format.Format
		fails     bool
	}{
		"nothing is asked for":                     {"", "", format.JSON, false},
		"anything":                                 {"*/*", "", format.JSON, false},
		"the parameter":                            {"", "kml", format.KML, false},
		"the parameter goes before the field":      {"application/geo+json", "csv", format.CSV, false},
		"an unknown parameter":                     {"", "shp", format.JSON, true},
		"the parameter's case counts":              {"", "CSV", format.JSON, true},
		"a type":                                   {"application/geo+json", "", format.GeoJSON, false},
		"a type in capitals":                       {"Application/Geo+JSON", "", format.GeoJSON, false},
		"a type with a parameter":                  {"text/csv; header=present", "", format.CSV, false},
		"another name of a type":                   {"application/jsonl", "", format.NDJSON, false},
		"the greater weight":                       {"application/json;q=0.5, text/csv;q=0.8", "", format.CSV, false},
		"of the same weight, the first":            {"application/atom+xml, application/json", "", format.Atom, false},
		"a name before a wildcard":                 {"*/*, application/geo+json", "", format.GeoJSON, false},
		"half a wildcard":                          {"text/*", "", format.CSV, false},
		"weight 0 of a name that a wildcard likes": {"application/json;q=0, application/*;q=0.1", "", format.GeoJSON, false},
		"a browser":                                {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "", format.JSON, false},
		"a library that likes JSON":                {"application/json, text/plain, */*", "", format.JSON, false},
		"what is not there":                        {"text/html", "", format.JSON, true},
		"what is not there, beside what is":        {"text/html, application/cap+xml;q=0.1", "", format.CAP, false},
		"everything refused":                       {"*/*;q=0", "", format.JSON, true},
		"no field that can be read":                {"json", "", format.JSON, false},
		"one item that cannot be read":             {"/;;, text/csv;q=2, application/vnd.google-earth.kml+xml", "", format.KML, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := format.Choose(tt.accept, tt.f)
			if got != tt.want || (err != nil) != tt.fails {
				t.Errorf("Choose(%q, %q) = %v, %v, want %v", tt.accept, tt.f, got, err, tt.want)
			}
			if err != nil {
				for _, f := range format.Names() {
					if !strings.Contains(err.Error(), f) {
						t.Errorf("%q does not tell of %s", err, f)
					}
				}
			}
		})
	}
	if _, err := format.Choose("text/html", ""); !errors.As(err, new(*format.NotAcceptableError)) {
		t.Errorf("%v is no NotAcceptableError", err)
	}
	if _, err := format.Choose("", "shp"); !errors.As(err, new(*format.UnknownError)) {
		t.Errorf("%v is no UnknownError", err)
	}
	if n := testing.AllocsPerRun(10, func() { _, _ = format.Choose("application/json", "") }); n != 0 {
		t.Errorf("the usual choice costs %v allocations", n)
	}
}

func TestEveryFormatHasItsNames(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range format.Names() {
		f, ok := format.Parse(name)
		if !ok || f.String() != name || f.MediaType(true) == "" || f.FileName("x") == "x." {
			t.Errorf("%s: %v %v %q %q", name, f, ok, f.MediaType(true), f.FileName("x"))
		}
		if seen[f.MediaType(true)] || seen[f.FileName("x")] {
			t.Errorf("%s shares its media type or extension", name)
		}
		seen[f.MediaType(true)], seen[f.FileName("x")] = true, true
	}
	if format.CAP.MediaType(false) != format.Atom.MediaType(false) {
		t.Error("CAP has lists")
	}
}

func TestADocumentOfOneHazardTakesOne(t *testing.T) {
	for _, name := range format.Names() {
		f, _ := format.Parse(name)
		if _, err := write(f, options(true)); err == nil {
			t.Errorf("%s: a document of one hazard without any", name)
		}
		if _, err := write(f, options(true), flood(1), flood(2)); err == nil {
			t.Errorf("%s: a document of one hazard with two", name)
		}
		if doc, err := write(f, options(false)); err != nil || f != format.NDJSON && len(doc) == 0 {
			t.Errorf("%s: an empty list is %q, %v", name, doc, err)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestAnErrorOfTheOutputIsTold(t *testing.T) {
	for _, name := range format.Names() {
		f, _ := format.Parse(name)
		w := format.NewWriter(full{}, f, options(false))
		for i := range 2000 {
			_ = w.Write(flood(int64(i)))
		}
		if err := w.Close(); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A Writer keeps only the end of a buffer, so a document may have any length.
func TestALongDocumentIsPassedOnAsItGrows(t *testing.T) {
	for _, name := range format.Names() {
		f, _ := format.Parse(name)
		var out bytes.Buffer
		w := format.NewWriter(&out, f, options(false))
		for i := range 1000 {
			if err := w.Write(flood(int64(i))); err != nil {
				t.Fatal(err)
			}
		}
		before := out.Len()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if kept := out.Len() - before; out.Len() < 500<<10 || kept > 64<<10 {
			t.Errorf("%s: of %d bytes %d came only at the end", name, out.Len(), kept)
		}
	}
}

func TestCSVIsNoFormula(t *testing.T) {
	for in, want := range map[string]string{
		"=1+1": "'=1+1", "+1+1": "'+1+1", "-1+1": "'-1+1", "@A1": "'@A1", "\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1", "\uff1d1": "'\uff1d1", "  =1": "'  =1",
		"-": "'-", "-.5": "'-.5", "-1.": "'-1.", "+49 40 1": "'+49 40 1", "--1": "'--1",
		"-12.5": "-12.5", "-7": "-7", "a=b": "a=b", "": "", "12": "12", "'=1": "'=1",
	} {
		rows := table(t, document(t, format.CSV, options(false), flood(1, func(e *format.Entry) { e.Hazard.Comment = in })))
		// encoding/csv reads CR LF as LF, and a lone CR as it is.
		if got := rows[0]["comment_Text"]; got != want {
			t.Errorf("%q is written as %q, want %q", in, got, want)
		}
	}
}

func TestCSVEndsItsLinesWithCRLF(t *testing.T) {
	doc := string(document(t, format.CSV, options(false), samples()...))
	quoted := false
	for i, c := range doc {
		if c == '"' {
			quoted = !quoted
		}
		if c == '\n' && !quoted && doc[i-1] != '\r' {
			t.Fatalf("a line ends with LF only: %q", doc[max(0, i-40):i+1])
		}
	}
	if !strings.HasSuffix(doc, "\r\n") || !strings.HasPrefix(doc, "hazard_ID,uuid,") {
		t.Errorf("%.40q … %q", doc, doc[len(doc)-10:])
	}
}

func TestFieldsDifferInMoreThanCase(t *testing.T) {
	seen := map[string]bool{}
	for name := range table(t, document(t, format.CSV, options(false), flood(1)))[0] {
		if seen[strings.ToLower(name)] {
			t.Errorf("%s is there twice, for a database that does not tell cases apart", name)
		}
		seen[strings.ToLower(name)] = true
	}
}

func TestBoxes(t *testing.T) {
	for name, tt := range map[string]struct {
		wkt        []string
		one, whole string // of the first entry, and of all
	}{
		"beside each other":               {[]string{"POLYGON((0 0,1 0,1 1,0 0))", "POLYGON((5 5,6 5,6 6,5 5))"}, "[0,0,1,1]", "[0,0,6,6]"},
		"across the antimeridian":         {[]string{"POLYGON((170 0,-170 0,-170 10,170 10,170 0))"}, "[170,0,-170,10]", "[170,0,-170,10]"},
		"on both sides of it":             {[]string{"POLYGON((170 0,175 0,175 5,170 0))", "POLYGON((-175 0,-170 0,-170 5,-175 0))"}, "[170,0,175,5]", "[170,0,-170,5]"},
		"far apart, the short way round":  {[]string{"POLYGON((-120 0,-119 0,-119 1,-120 0))", "POLYGON((140 0,141 0,141 1,140 0))"}, "[-120,0,-119,1]", "[140,0,-119,1]"},
		"up to the antimeridian":          {[]string{"POLYGON((178 0,180 0,180 1,178 0))"}, "[178,0,180,1]", "[178,0,180,1]"},
		"from the antimeridian eastwards": {[]string{"POLYGON((-180 0,-178 0,-178 1,-180 0))"}, "[-180,0,-178,1]", "[-180,0,-178,1]"},
		"all round the world":             {[]string{"POLYGON((-180 60,180 60,180 90,-180 90,-180 60))", "POLYGON((0 0,1 0,1 1,0 0))"}, "[-180,60,180,90]", "[-180,0,180,90]"},
	} {
		t.Run(name, func(t *testing.T) {
			var entries []*format.Entry
			for i, wkt := range tt.wkt {
				entries = append(entries, flood(int64(i), area(hazard.AlertArea, wkt)))
			}
			var doc struct {
				BBox     json.RawMessage
				Features []struct{ BBox json.RawMessage }
			}
			if err := json.Unmarshal(document(t, format.GeoJSON, options(false), entries...), &doc); err != nil {
				t.Fatal(err)
			}
			if string(doc.BBox) != tt.whole || string(doc.Features[0].BBox) != tt.one {
				t.Errorf("bbox %s and %s, want %s and %s", doc.BBox, doc.Features[0].BBox, tt.whole, tt.one)
			}
		})
	}
}

func TestTheAreaThatIsShownIsTheOneToAlert(t *testing.T) {
	alert, impact, track := area(hazard.AlertArea, "POLYGON((0 0,1 0,1 1,0 0))"), area(hazard.ImpactArea, "POLYGON((2 2,3 2,3 3,2 2))"), area(hazard.TrackArea, "LINESTRING(4 4,5 5)")
	for _, tt := range []struct {
		role  string
		entry *format.Entry
		wkt   string
	}{
		{"alert", flood(1, track, impact, alert), "POLYGON((0 0,1 0,1 1,0 0))"},
		{"impact", flood(1, track, impact), "POLYGON((2 2,3 2,3 3,2 2))"},
		{"track", flood(1, track), "LINESTRING(4 4,5 5)"},
		{"point", flood(1), "POINT(9.9663 53.5457)"},
		{"alert", flood(1, alert, area(hazard.AlertArea, "POLYGON((1 0,2 0,2 1,1 1,1 0))"), impact), "POLYGON((0 0,2 0,2 1,1 1,0 0))"},
		{"point", flood(1, func(e *format.Entry) { e.Areas = []hazard.Area{{Role: hazard.AlertArea, Geometry: "broken"}} }), "POINT(9.9663 53.5457)"},
	} {
		row := table(t, document(t, format.CSV, options(false), tt.entry))[0]
		got, err := geo.ParseWKT(row["WKT"])
		if want, _ := geo.ParseWKT(tt.wkt); err != nil || row["area_role"] != tt.role || math.Abs(got.AreaKm2()-want.AreaKm2()) > 1e-6 {
			t.Errorf("%s %s, want %s %s", row["area_role"], row["WKT"], tt.role, tt.wkt)
		}
	}
}

func TestKMLHasAFolderForEachSeverity(t *testing.T) {
	doc := string(document(t, format.KML, options(false), samples()...))
	at := -1
	for _, name := range []string{"Warning", "Watch", "Advisory", "Information", "Termination"} {
		if n := strings.Count(doc, "<Folder><name>"+name+"</name>"); n != 1 {
			t.Errorf("%d folders %s", n, name)
		}
		i := strings.Index(doc, "<Folder><name>"+name)
		if i < at {
			t.Errorf("the folder %s is not in the order of severity", name)
		}
		at = i
	}
	for _, want := range []string{
		`<color>ff0000ff</color>`, `<color>4df09931</color>`, // red, and the blue of INFORMATION, as alpha, blue, green, red
		base + `/symbols/FLOOD/EXERCISE/WARNING.png`, `<innerBoundaryIs>`, `<begin>2026-09-28T11:00:00Z</begin>`,
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(doc, "<styleUrl>") {
		t.Error("a placemark has two styles: OpenLayers takes one of them")
	}
	if strings.Contains(doc, "<script>") || strings.Contains(doc, "CDATA") {
		t.Error("a text is markup")
	}
	// A hazard that does not expire has no end.
	only := string(document(t, format.KML, options(true), flood(1, func(e *format.Entry) { e.Hazard.AutoExpire = false })))
	if strings.Contains(only, "<end>") || strings.Contains(only, "<Folder>") {
		t.Errorf("%s", only)
	}
}

func TestNetworkLink(t *testing.T) {
	doc := format.NetworkLink("Active & <more>", base+"/hazards/active?f=kml&key=a%26b", 90*time.Second)
	var link struct {
		Name string `xml:"NetworkLink>name"`
		Href string `xml:"NetworkLink>Link>href"`
		Mode string `xml:"NetworkLink>Link>refreshMode"`
		Secs int    `xml:"NetworkLink>Link>refreshInterval"`
	}
	if err := xml.Unmarshal(doc, &link); err != nil {
		t.Fatal(err)
	}
	if link.Name != "Active & <more>" || link.Href != base+"/hazards/active?f=kml&key=a%26b" || link.Mode != "onInterval" || link.Secs != 90 {
		t.Errorf("%+v of %s", link, doc)
	}
}

// genEntry generates a hazard with any texts and any geometry that can be stored.
func genEntry() *rapid.Generator[*format.Entry] {
	return rapid.Custom(func(t *rapid.T) *format.Entry {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[=+\-@]?[a-z<>&"';, \n\r\t\]]{0,20}`))
		instant := rapid.Int64Range(int64(noon)-1e11, int64(noon)+1e10)
		e := flood(rapid.Int64Range(1, 1e9).Draw(t, "id"), func(e *format.Entry) {
			h := e.Hazard
			h.UUID = uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, rapid.Uint64().Draw(t, "uuid")))
			h.Name, h.Description, h.Comment, h.Creator, h.URL = text.Draw(t, "name"), text.Draw(t, "description"), text.Draw(t, "comment"), text.Draw(t, "creator"), text.Draw(t, "url")
			h.Type, h.Category = rapid.SampledFrom(hazard.Types()).Draw(t, "type").ID, rapid.SampledFrom(hazard.Categories()).Draw(t, "category").ID
			h.Severity = rapid.SampledFrom(hazard.Severities()).Draw(t, "severity").Severity
			h.Start, h.AutoExpire = hazard.Instant(instant.Draw(t, "start")), rapid.Bool().Draw(t, "autoexpire")
			h.End = h.Start.Add(time.Duration(rapid.Int64Range(0, 1e6).Draw(t, "life")) * time.Second)
			h.Updated = hazard.Instant(instant.Draw(t, "updated"))
			h.LastUpdate = h.Updated
			h.Longitude, h.Latitude = degrees(t, "lon", 180), degrees(t, "lat", 90)
			if rapid.Bool().Draw(t, "link") {
				h.URL = "https://example.org/" + h.URL
			}
		})
		for range rapid.IntRange(0, 3).Draw(t, "areas") {
			role := rapid.SampledFrom([]hazard.AreaRole{hazard.AlertArea, hazard.ImpactArea, hazard.TrackArea}).Draw(t, "role")
			lon, lat := degrees(t, "lon", 180), degrees(t, "lat", 89)
			s := geo.Circle(lon, lat, rapid.Float64Range(100, 3e6).Draw(t, "radius"))
			if rapid.Bool().Draw(t, "line") {
				s = shape(t, fmt.Sprintf(`{"type":"LineString","coordinates":[[%v,%v],[%v,%v],[%v,%v]]}`, lon, lat, degrees(t, "lon", 180), degrees(t, "lat", 90), degrees(t, "lon", 180), degrees(t, "lat", 90)))
			}
			e.Areas = append(e.Areas, hazard.Area{Role: role, Geometry: s.GeoJSON()})
		}
		return e
	})
}

func degrees(t *rapid.T, name string, most float64) float64 {
	return math.Round(rapid.Float64Range(-most, most).Draw(t, name)*1e6)/1e6 + 0
}

func TestWhateverAHazardSaysEveryFormatHoldsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOfN(genEntry(), 0, 4).Draw(t, "entries")
		docs := map[format.Format][]byte{}
		for _, name := range format.Names() {
			f, _ := format.Parse(name)
			doc, err := write(f, options(false), entries...)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			docs[f] = doc
		}
		var list []wire.Hazard
		if err := json.Unmarshal(docs[format.JSON], &list); err != nil || len(list) != len(entries) {
			t.Fatalf("%v in %s", err, docs[format.JSON])
		}
		lines := 0
		for s := bufio.NewScanner(bytes.NewReader(docs[format.NDJSON])); s.Scan(); lines++ {
			var h wire.Hazard
			if err := json.Unmarshal(s.Bytes(), &h); err != nil || lines >= len(list) || cmp.Diff(h, list[lines]) != "" {
				t.Fatalf("line %d is %v %q", lines, err, s.Text())
			}
		}
		rows := table(t, docs[format.CSV])
		var c struct{ Features []feature }
		if err := json.Unmarshal(docs[format.GeoJSON], &c); err != nil {
			t.Fatalf("%v in %s", err, docs[format.GeoJSON])
		}
		if lines != len(entries) || len(rows) != len(entries) || len(c.Features) != len(entries) {
			t.Fatalf("%d entries: %d lines, %d rows, %d features", len(entries), lines, len(rows), len(c.Features))
		}
		for i, e := range entries {
			checkFeature(t, e, &list[i], &c.Features[i])
			if got := rows[i]["uuid"]; got != e.Hazard.UUID.String() {
				t.Fatalf("row %d is %q", i, rows[i])
			}
			for name, v := range rows[i] {
				if v != "" && strings.ContainsAny(v[:1], "=@+\t\r\n") {
					t.Fatalf("%s is a formula: %q", name, v)
				}
			}
		}
		for _, f := range []format.Format{format.KML, format.Atom, format.CAP, format.RSS} {
			wellFormed(t, docs[f])
		}
		for f, doc := range docs {
			if bytes.ContainsAny(doc, "\x00\x01\x1b") {
				t.Fatalf("%v holds control characters: %q", f, doc)
			}
		}
		for _, e := range entries {
			doc, err := write(format.CAP, options(true), e)
			if err != nil {
				t.Fatalf("%v", err)
			}
			wellFormed(t, doc)
			checkWeb(t, doc)
		}
	})
}

// checkFeature checks a feature against RFC 7946 and against the record.
func checkFeature(t *rapid.T, e *format.Entry, record *wire.Hazard, f *feature) {
	if f.ID != e.Hazard.UUID.String() {
		t.Fatalf("id %v", f.ID)
	}
	if f.Properties["hazard_Name"] != record.HazardName || f.Properties["description"] != record.Description || f.Properties["start_Date"] != record.StartDate ||
		f.Properties["longitude"] != e.Hazard.Longitude {
		t.Fatalf("%v of %+v", f.Properties, record)
	}
	if at, err := time.Parse(time.RFC3339, f.Properties["end_time"].(string)); err != nil || hazard.At(at) != e.Hazard.End {
		t.Fatalf("end_time %v of %v: %v", f.Properties["end_time"], e.Hazard.End, err)
	}
	got := shape(t, string(f.Geometry))
	if got.GeoJSON() != string(f.Geometry) {
		t.Fatalf("the geometry is not in its canonical form: %s", f.Geometry)
	}
	for _, rings := range got.Polygons() {
		for i, ring := range rings {
			turn := 0.0
			for j, p := range ring[1:] {
				turn += ring[j][0]*p[1] - p[0]*ring[j][1]
				if math.Abs(p[0]) > 180 || math.Abs(p[1]) > 90 {
					t.Fatalf("%v is no place", p)
				}
			}
			if (turn > 0) != (i == 0) {
				t.Fatalf("a ring of %s runs the wrong way", f.Geometry)
			}
		}
	}
}

// checkWeb checks that every URI parser accepts the address in a CAP document.
func checkWeb(t *rapid.T, doc []byte) {
	var m struct {
		Web string `xml:"info>web"`
	}
	if err := xml.Unmarshal(doc, &m); err != nil {
		t.Fatalf("%v", err)
	}
	u, err := url.Parse(m.Web)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(m.Web, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/?#@!$&'()*+,;=-._~%") != "" {
		t.Fatalf("web is %q: %v", m.Web, err)
	}
}

func TestWhateverAHazardSaysOurReaderOfCAPReadsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := genEntry().Draw(t, "entry")
		h := e.Hazard
		h.Name = hazard.CleanLine(h.Name)
		if h.Name == "" || h.Longitude == 0 && h.Latitude == 0 || h.Start > h.Updated.Add(300*24*time.Hour) {
			t.Skip("no name, no place, or too far ahead to be believed")
		}
		checkReadBack(t, e)
	})
}
