package serve_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"html"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/test/server"
)

// shown counts the hazards of a document, and checks that it can be parsed.
func shown(t testing.TB, f format.Format, single bool, doc []byte) int {
	t.Helper()
	switch f {
	case format.GeoJSON:
		var c struct {
			Type     string
			Features []struct{ Type string }
		}
		if err := json.Unmarshal(doc, &c); err != nil {
			t.Fatal(err)
		}
		if single {
			if c.Type != "Feature" {
				t.Errorf("one hazard is a %s", c.Type)
			}
			return 1
		}
		return len(c.Features)
	case format.CSV:
		rows, err := csv.NewReader(bytes.NewReader(doc)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return len(rows) - 1
	case format.JSON, format.NDJSON:
		n := 0
		for dec := json.NewDecoder(bytes.NewReader(doc)); ; n++ {
			var v any
			if err := dec.Decode(&v); errors.Is(err, io.EOF) {
				return n
			} else if err != nil {
				t.Fatal(err)
			}
			if list, ok := v.([]any); ok {
				return len(list)
			}
		}
	}
	element := map[format.Format]string{format.KML: "Placemark", format.Atom: "entry", format.CAP: "entry", format.RSS: "item"}[f]
	if single && f == format.CAP {
		element = "alert"
	}
	n := 0
	for dec := xml.NewDecoder(bytes.NewReader(doc)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return n
		} else if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == element {
			n++
		}
	}
}

func formatNamed(t testing.TB, name string) format.Format {
	t.Helper()
	f, ok := format.Parse(name)
	if !ok {
		t.Fatalf("%s is no format", name)
	}
	return f
}

func TestEveryListAndEveryHazardComesInEveryFormat(t *testing.T) {
	p := handle(t)
	var first item
	for i, more := range [][]any{
		{"severity_ID", "WARNING", "area", json.RawMessage(`{"type":"Polygon","coordinates":[[[170,0],[-170,0],[-170,10],[170,10],[170,0]]]}`)},
		{"category_ID", "EXERCISE", "hazard_Name", "=1+1"}, {"severity_ID", "ADVISORY"},
	} {
		a := p.do("editor", "POST", "/hazards", flood(more...))
		if a.Status != http.StatusCreated {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if i == 0 {
			a.JSON(t, &first)
		}
	}
	var over item
	p.do("editor", "POST", "/hazards", flood("hazard_Name", "Over")).JSON(t, &over)
	p.do("editor", "PATCH", "/hazards/"+over.UUID, map[string]string{"status": "E"})
	p.settled(t)
	for path, want := range map[string]int{
		"/hazards/active": 3, "/hazards/active/category/EXERCISE": 1, "/hazards/active/category/RESPONSE": 0, "/hazards/active/severity/WARNING": 1,
		"/hazards/" + first.UUID: 1, "/hazards/" + over.UUID: 1, "/hazards/" + digits(first.HazardID): 1,
	} {
		single := !strings.HasPrefix(path, "/hazards/active")
		for _, name := range format.Names() {
			f := formatNamed(t, name)
			media, _, _ := strings.Cut(f.MediaType(true), ";")
			byName := p.do("reader", "GET", path+"?f="+name, nil)
			byType := p.do("reader", "GET", path, nil, "Accept", media)
			for how, a := range map[string]server.Answer{"by name": byName, "by type": byType} {
				if a.Status != 200 || a.Header.Get("Content-Type") != f.MediaType(single) || a.Header.Get("Etag") == "" || a.Header.Get("Hazardd-Change") == "" ||
					a.Header.Get("Vary") != "Authorization, Accept, Accept-Encoding, Accept-Language" {
					t.Fatalf("%s as %s %s: %d %v %.300s", path, name, how, a.Status, a.Header, a.Body)
				}
				if n := shown(t, f, single, a.Body); n != want {
					t.Errorf("%s as %s %s has %d hazards, want %d: %s", path, name, how, n, want, a.Body)
				}
			}
			if f != format.JSON && !strings.HasPrefix(byName.Header.Get("Content-Disposition"), `inline; filename="hazard`) {
				t.Errorf("%s as %s: %q", path, name, byName.Header.Get("Content-Disposition"))
			}
			again := p.do("reader", "GET", path+"?f="+name, nil, "If-None-Match", byName.Header.Get("Etag"))
			if again.Status != 304 || len(again.Body) > 0 {
				t.Errorf("%s as %s: asked again, %d", path, name, again.Status)
			}
			head := p.do("reader", "HEAD", path+"?f="+name, nil)
			if head.Status != 200 || len(head.Body) > 0 || head.Header.Get("Content-Length") != digits(int64(len(byName.Body))) {
				t.Errorf("%s as %s: HEAD %d, length %s of %d", path, name, head.Status, head.Header.Get("Content-Length"), len(byName.Body))
			}
		}
		plain, named := p.do("reader", "GET", path, nil), p.do("reader", "GET", path+"?f=json", nil, "Accept", "text/html")
		if !bytes.Equal(plain.Body, named.Body) || plain.Header.Get("Content-Disposition") != "" {
			t.Errorf("%s: JSON by name differs from JSON by default", path)
		}
	}
}

// settled waits until readers see all writes.
func (p *inProcess) settled(t testing.TB) {
	t.Helper()
	last, err := p.Store.Log.Last(t.Context())
	if err == nil {
		err = p.Live.WaitFor(t.Context(), last)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAFormatThatThereIsNotIsRefusedWithTheListOfThoseThereAre(t *testing.T) {
	p := handle(t)
	a := p.do("editor", "POST", "/hazards", flood())
	var made item
	a.JSON(t, &made)
	for _, path := range []string{"/hazards/active", "/hazards/active/severity/WATCH", "/hazards/" + made.UUID} {
		for query, status := range map[string]int{"?f=shp": 400, "?f=": 400, "?f=kml&f=csv": 400, "?g=kml": 400} {
			problem := wantProblem(t, p.do("reader", "GET", path+query, nil), status)
			if strings.HasPrefix(query, "?f=s") && !strings.Contains(problem.Detail, "json, geojson, csv, kml, atom, cap, ndjson, rss") {
				t.Errorf("%s: %s", query, problem.Detail)
			}
		}
		problem := wantProblem(t, p.do("reader", "GET", path, nil, "Accept", "text/html, image/png"), 406)
		for _, want := range []string{"text/html", "application/geo+json", "text/csv", "application/cap+xml", "ndjson"} {
			if !strings.Contains(problem.Detail, want) {
				t.Errorf("406 does not tell of %s: %s", want, problem.Detail)
			}
		}
		// Missing access is reported first.
		if a := p.do("", "GET", path+"?f=shp", nil); a.Status != 403 || string(a.Body) != "Invalid Token" {
			t.Errorf("without a token: %d %s", a.Status, a.Body)
		}
	}
}

func TestOtherFormatsCountNoProductThatTheReaderMayNotKnowOf(t *testing.T) {
	w := start(t)
	h := w.hazard("red", "severity_ID", "WARNING")
	w.product("red", h.HazardID, note())
	w.product("red", h.HazardID, note("security_Flag", "R"))
	for _, path := range []string{"/hazards/active?f=", "/hazards/" + digits(h.HazardID) + "?f="} {
		for user, want := range map[string]string{"reader": "1", "fire": "1", "red-reader": "2"} {
			rows, err := csv.NewReader(bytes.NewReader(w.do(user, "GET", path+"csv", nil).Body)).ReadAll()
			if err != nil || len(rows) != 2 {
				t.Fatalf("%v %v", err, rows)
			}
			for i, name := range rows[0] {
				if name == "product_total" && rows[1][i] != want {
					t.Errorf("%s: %s counts %s products, want %s", path, user, rows[1][i], want)
				}
			}
		}
	}
	if a := w.do("red-reader", "GET", "/hazards/active?f=kml", nil); a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("a member's answer may be cached: %s", a.Header.Get("Cache-Control"))
	}
	if a := w.do("reader", "GET", "/hazards/active?f=kml", nil); a.Header.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("what everybody sees: %s", a.Header.Get("Cache-Control"))
	}
}

func TestOtherFormatsAreCompressed(t *testing.T) {
	p := handle(t)
	for range 3 {
		p.do("editor", "POST", "/hazards", flood())
	}
	p.settled(t)
	plain := p.do("reader", "GET", "/hazards/active?f=atom", nil)
	small := p.do("reader", "GET", "/hazards/active?f=atom", nil, "Accept-Encoding", "gzip")
	if small.Header.Get("Content-Encoding") != "gzip" || len(small.Body) >= len(plain.Body) || small.Header.Get("Etag") == plain.Header.Get("Etag") {
		t.Errorf("%v, %d of %d bytes", small.Header, len(small.Body), len(plain.Body))
	}
}

func TestCAPTellsTheWholeChain(t *testing.T) {
	p := handle(t)
	var made item
	p.do("editor", "POST", "/hazards", flood("severity_ID", "WARNING", "autoexpire", "Y")).JSON(t, &made)
	path := "/hazards/" + made.UUID
	read := func() cap.Alert {
		t.Helper()
		p.settled(t)
		doc, err := cap.Read(p.do("reader", "GET", path+"?f=cap", nil).Body, "")
		if err != nil || len(doc.Messages) != 1 {
			t.Fatalf("%v, %d alerts", err, len(doc.Messages))
		}
		return doc.Messages[0].Alert
	}
	triple := func(m cap.Alert) string { return m.Sender + "," + m.Identifier + "," + m.Sent }
	first := read()
	p.do("editor", "POST", path+"/products", note())
	if again := read(); again.Identifier != first.Identifier || again.MsgType != "Alert" || again.Sender != "hazardd@hazardd.example" {
		t.Errorf("after a product: %+v, before %+v", again, first)
	}
	p.do("editor", "PATCH", path, map[string]string{"severity_ID": "ADVISORY"})
	second := read()
	if second.MsgType != "Update" || second.References != triple(first) {
		t.Errorf("after an update: %+v", second)
	}
	p.do("editor", "POST", path+"/retract", map[string]string{"reason": "spring tide"})
	third := read()
	if third.MsgType != "Cancel" || third.References != triple(first)+" "+triple(second) || !strings.Contains(third.Note, "spring tide") {
		t.Errorf("after the retraction: %+v", third)
	}
}

func TestAHazardThatIsOverComesAsItsLastMessage(t *testing.T) {
	p := handle(t)
	var made item
	p.do("editor", "POST", "/hazards", flood("severity_ID", "WARNING", "autoexpire", "Y")).JSON(t, &made)
	p.settled(t)
	before := p.do("reader", "GET", "/hazards/"+made.UUID+"?f=cap", nil)
	p.ahead.Store(int64(49 * time.Hour))
	p.tokens.byUser = map[string]string{}
	after := p.do("reader", "GET", "/hazards/"+made.UUID+"?f=cap", nil)
	if !bytes.Equal(before.Body, after.Body) || after.Status != 200 {
		t.Errorf("%d %s\nbefore its end\n%s", after.Status, after.Body, before.Body)
	}
	if n := shown(t, format.KML, false, p.do("reader", "GET", "/hazards/active?f=kml", nil).Body); n != 0 {
		t.Errorf("%d hazards are shown past their end", n)
	}
}

func TestTheFeedLinksToTheAlerts(t *testing.T) {
	p := handle(t)
	var made item
	p.do("editor", "POST", "/hazards", flood()).JSON(t, &made)
	p.settled(t)
	a := p.do("reader", "GET", "/hazards/active?f=cap", nil)
	links, err := cap.Links(a.Body)
	if err != nil || len(links) != 1 || links[0].URL != "https://hazardd.example/hazards/"+made.UUID+"?f=cap" {
		t.Errorf("%v %v in %s", links, err, a.Body)
	}
	var feed struct {
		Link []struct {
			Rel  string `xml:"rel,attr"`
			Href string `xml:"href,attr"`
		} `xml:"link"`
	}
	if err := xml.Unmarshal(a.Body, &feed); err != nil || feed.Link[0].Rel != "self" || feed.Link[0].Href != "https://hazardd.example/hazards/active?f=atom" {
		t.Errorf("%v %+v", err, feed)
	}
}

// Lists of what is active say when they last changed, and If-Modified-Since alone is never answered
// with 304: a second may have several changes.
func TestListsOfActiveHazardsSayWhenTheyChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // otherwise a second may begin between a change and the list with it
		p := handle(t)
		for range 2 {
			time.Sleep(time.Second)
			p.do("editor", "POST", "/hazards", flood())
			p.settled(t)
			var all []struct{ Time time.Time }
			p.do("reader", "GET", "/changes?after=0", nil).JSON(t, &all)
			changed := all[len(all)-1].Time.UTC().Truncate(time.Second)
			for _, path := range []string{"/hazards/active?f=rss", "/hazards/active?f=atom", "/hazards/active?f=geojson", "/ogc/collections/points/items"} {
				a := p.do("reader", "GET", path, nil, "If-Modified-Since", changed.Format(http.TimeFormat))
				if got, err := http.ParseTime(a.Header.Get("Last-Modified")); a.Status != http.StatusOK || err != nil || !got.Equal(changed) {
					t.Errorf("%s: %d, %v, %v, expected %v", path, a.Status, got, err, changed)
				}
			}
		}
	})
}

func TestTheNetworkLinkLeadsToItsList(t *testing.T) {
	p := handle(t)
	a := p.do("reader", "GET", "/hazards/active/severity/WARNING?bbox=1,2,3,4&f=networklink", nil)
	if a.Status != 200 || a.Header.Get("Content-Type") != "application/vnd.google-earth.kml+xml" ||
		!strings.Contains(string(a.Body), "<href>https://hazardd.example/hazards/active/severity/WARNING?bbox=1%2C2%2C3%2C4&amp;f=kml</href>") {
		t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
	}
	// A reader with a key in the address gets links to the list with it. Other documents, which
	// readers share, never contain it.
	var key struct{ Key, Prefix string }
	p.do("editor", "POST", "/keys", map[string]string{"title": "globe"}).JSON(t, &key)
	path := strings.TrimPrefix(key.Prefix, "https://hazardd.example")
	a = p.do("", "GET", path+"/hazards/active?f=networklink", nil)
	if a.Status != 200 || !strings.Contains(string(a.Body), "<href>"+key.Prefix+"/hazards/active?bbox=") || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("with a key: %d %v %s", a.Status, a.Header, a.Body)
	}
	for _, name := range format.Names() {
		if a := p.do("", "GET", path+"/hazards/active?f="+name, nil); a.Status != 200 || strings.Contains(string(a.Body), key.Key) {
			t.Errorf("%s with a key: %d %s", name, a.Status, a.Body)
		}
	}
}

// The whole world is read by region: together they have all hazards of the list.
func TestGlobesReadByRegion(t *testing.T) {
	s := scenery(t)
	body := string(s.do("reader", "GET", "/hazards/active?f=networklink", nil).Body)
	links := regexp.MustCompile(`<href>([^<]+)</href>`).FindAllStringSubmatch(body, -1)
	placemark := regexp.MustCompile(`<Placemark id="[^"]+"`)
	all := map[string]bool{}
	for _, l := range links {
		region := s.do("reader", "GET", strings.TrimPrefix(html.UnescapeString(l[1]), s.URL()), nil)
		if region.Status != 200 {
			t.Fatalf("%s: %d %s", l[1], region.Status, region.Body)
		}
		for _, id := range placemark.FindAllString(string(region.Body), -1) {
			all[id] = true
		}
	}
	whole := placemark.FindAllString(string(s.do("reader", "GET", "/hazards/active?f=kml", nil).Body), -1)
	if len(links) != 32 || len(whole) != 4 || len(all) != len(whole) {
		t.Errorf("%d regions with %d hazards of %d", len(links), len(all), len(whole))
	}
}

func TestAFormatThatCannotBeReadFromTheStoreLeavesNoTraceInTheAnswer(t *testing.T) {
	p := handle(t)
	p.do("editor", "POST", "/hazards", flood("area", json.RawMessage(`{"type":"Point","coordinates":[1,2]}`)))
	p.settled(t)
	p.tokens.of("reader")
	if err := p.Store.Close(); err != nil {
		t.Fatal(err)
	}
	a := p.do("reader", "GET", "/hazards/active?f=kml", nil)
	if a.Status != 500 || a.Header.Get("Content-Disposition") != "" || a.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
	}
	if a := p.do("reader", "GET", "/hazards/active", nil); a.Status != 200 {
		t.Errorf("JSON needs no store, but: %d", a.Status)
	}
}

func TestAHazardFoundBySomebodysIDComesInEveryFormat(t *testing.T) {
	w := start(t)
	w.report(quake("us7000test", 1))
	for _, name := range format.Names() {
		f := formatNamed(t, name)
		a := w.do("reader", "GET", "/hazards?ref=usgs:us7000test&f="+name, nil)
		if a.Status != 200 || a.Header.Get("Content-Type") != f.MediaType(false) || a.Header.Get("Hazardd-Change") == "" {
			t.Fatalf("%s: %d %v %s", name, a.Status, a.Header, a.Body)
		}
		if n := shown(t, f, false, a.Body); n != 1 {
			t.Errorf("%s: %d hazards: %s", name, n, a.Body)
		}
	}
	if a := w.do("reader", "GET", "/hazards?ref=usgs:nosuch", nil); string(a.Body) != "[]" {
		t.Errorf("an empty result is %s", a.Body)
	}
	var feed struct {
		ID string `xml:"id"`
	}
	if err := xml.Unmarshal(w.do("reader", "GET", "/hazards?ref=usgs:us7000test", nil, "Accept", "application/atom+xml").Body, &feed); err != nil ||
		feed.ID != w.URL()+"/hazards?f=atom&ref=usgs%3Aus7000test" {
		t.Errorf("%v %q", err, feed.ID)
	}
}
