package serve_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/test/server"
)

// spoken returns a report in three languages, the first of which is English.
func spoken(key string, version int64) hazard.Report {
	r := quake(key, version)
	r.Name, r.Description = "Earthquake - Montreal", "Ottawa: earthquake\n\nThe ground shakes.\n\nGo outside."
	r.Texts = []hazard.Text{
		{Language: "en-CA", Own: true, Name: r.Name, Lead: "Ottawa: earthquake", Event: "earthquake", Description: "The ground shakes.", Instruction: "Go outside.", Responses: []string{"Evacuate"},
			Sender: "Ottawa", Contact: "call 1", Audience: "everybody", Area: "Montreal", Severity: r.Severity},
		{Language: "fr-CA", Name: "Séisme - Montréal", Lead: "Ottawa: séisme", Event: "séisme", Headline: "Attention", Description: "La terre tremble.", Instruction: "Sortez <vite>.", Responses: []string{"Evacuate"},
			Sender: "Environnement Canada", Contact: "appelez le 2", Web: "https://example.org/fr", Audience: "tout le monde", Area: "Montréal", Severity: r.Severity},
		{Language: "ar", Name: "زلزال", Description: "الأرض تهتز", Instruction: "اخرجوا", Severity: r.Severity},
	}
	return r
}

// A reader who requests a language of the authority gets its text in every answer and format.
// Nobody else's answer changes by a byte, and no record gains or loses a member.
func TestAReaderGetsTheWordsInTheLanguageThatWasWished(t *testing.T) {
	s := start(t)
	s.report(spoken("ca1", 1), quake("us1", 1))
	id := hazard.EventUUID("usgs", "ca1").String()
	for _, path := range []string{"/hazards/" + id, "/hazards/active", "/hazards/active/severity/ADVISORY", "/hazards", "/hazards/active?type=EARTHQUAKE", "/hazards/active?f=geojson", "/hazards/" + id + "?f=geojson",
		"/hazards/active?f=csv", "/hazards/active?f=kml", "/hazards/active?f=atom", "/hazards/active?f=rss", "/hazards?f=ndjson", "/hazards/" + id + "/changes", "/changes", "/ogc/collections/hazards/items", "/ogc/collections/hazards/items/" + id} {
		join := "?"
		if strings.Contains(path, "?") {
			join = "&"
		}
		get := func(path string, header ...string) (body, tag, language string) {
			a := s.do("reader", "GET", path, nil, header...)
			if a.Status != http.StatusOK || !strings.Contains(strings.Join(a.Header["Vary"], ","), "Accept-Language") {
				t.Fatalf("%s: %d %v %.300s", path, a.Status, a.Header["Vary"], a.Body)
			}
			return string(decode(t, a.Header.Get("Content-Encoding"), a.Body)), a.Header.Get("Etag"), a.Header.Get("Content-Language")
		}
		plain, tag, _ := get(path)
		// The service's own headline is in each of its languages; feeds have it as their titles, instead of the name.
		headed := strings.Contains(path, "f=geojson") || strings.Contains(path, "f=csv") || strings.Contains(path, "f=kml")
		feed := strings.Contains(path, "f=atom") || strings.Contains(path, "f=rss")
		name, nom := "Earthquake - Montreal", "Séisme - Montréal"
		if feed {
			name, nom = "Earthquake", "Séisme"
		}
		if !strings.Contains(plain, name) || strings.Contains(plain, "Séisme") {
			t.Errorf("%s as it is: %.500s", path, plain)
		}
		for _, header := range []string{"ja", "en-US,en;q=0.9", "*", "xx, tlh;q=0.3", strings.Repeat("zz,", 300), "en-CA"} {
			if header == "ja" && (headed || feed) {
				continue
			}
			if body, again, _ := get(path, "Accept-Language", header); again != tag && !strings.HasPrefix(path, "/ogc/collections/hazards/items") || len(body) != len(plain) {
				t.Errorf("%s in %.40s differs: %.500s", path, header, body)
			}
		}
		french, other, language := get(path, "Accept-Language", "fr;q=0.9, en;q=0.1")
		if !strings.Contains(french, nom) || strings.Contains(french, "Earthquake - Montreal") || other == tag || !strings.Contains(language, "fr-CA") || !strings.Contains(french, "La terre tremble") {
			t.Errorf("%s in French, Content-Language %q, tags %s %s: %.900s", path, language, tag, other, french)
		}
		if asked, same, _ := get(path+join+"lang=fr", "Accept-Language", "ar"); !strings.Contains(asked, nom) || !strings.Contains(path, "?") && !strings.Contains(path, "/ogc") && same != other {
			t.Errorf("%s&lang=fr: %.500s", path, asked)
		}
		wantProblem(t, s.do("reader", "GET", path+join+"lang=not+a+language", nil), http.StatusBadRequest)
		wantProblem(t, s.do("reader", "GET", path+join+"lang=fr&lang=en", nil), http.StatusBadRequest)
		if strings.HasSuffix(path, "f=geojson") && (!strings.Contains(french, `"instruction":"Sortez`) || !strings.Contains(french, `"contact":"appelez le 2"`) || !strings.Contains(french, `"response_type":"Evacuate"`) ||
			!strings.Contains(french, `"audience":"tout le monde"`) || !strings.Contains(french, `"languages":"en-CA fr-CA ar"`)) {
			t.Errorf("%s: %.1500s", path, french)
		}
		if strings.HasSuffix(path, "atom") && !strings.Contains(french, `xml:lang="fr-CA"`) {
			t.Errorf("%s: %.900s", path, french)
		}
	}
	record := func(lang string) []member {
		return members(t, s.do("reader", "GET", "/hazards/"+id+"?lang="+lang, nil).Body)
	}
	for _, lang := range []string{"fr", "ar"} {
		a, b := record("en"), record(lang)
		for i := range a {
			if len(a) != len(b) || a[i].name != b[i].name {
				t.Fatalf("the record in %s has other members: %v %v", lang, a, b)
			}
		}
	}
	for _, word := range []string{"tremble", "Sortez", "shakes", "الأرض", "outside"} {
		if n := len(items(t, s.do("reader", "GET", "/hazards?q="+word, nil))); n != 1 {
			t.Errorf("a search for %s finds %d", word, n)
		}
	}
}

func TestCAPHasAllLanguagesWhoeverAsks(t *testing.T) {
	s := start(t)
	s.report(spoken("ca1", 1))
	id := hazard.EventUUID("usgs", "ca1").String()
	var first []byte
	for _, lang := range []string{"en", "fr", "ar", "ja"} {
		a := s.do("reader", "GET", "/hazards/"+id+"?f=cap&lang="+lang, nil)
		body := decode(t, a.Header.Get("Content-Encoding"), a.Body)
		if first == nil {
			first = body
		}
		if !bytes.Equal(first, body) {
			t.Errorf("in %s the message differs under the same identifier: %s", lang, body)
		}
	}
	doc, err := cap.Read(first, "")
	if err != nil || len(doc.Messages) != 1 || len(doc.Messages[0].Information) != 3 {
		t.Fatalf("%v: %s", err, first)
	}
	fr := doc.Messages[0].Information[1]
	if fr.Language != "fr-CA" || fr.Event != "séisme" || fr.Headline != "Attention" || fr.Description != "La terre tremble." || fr.Instruction != "Sortez <vite>." || fmt.Sprint(fr.ResponseType) != "[Evacuate]" ||
		fr.Contact != "appelez le 2" || fr.Web != "https://example.org/fr" || fr.Audience != "tout le monde" || fr.SenderName != "Environnement Canada" || fr.Area[0].Desc != "Montréal" {
		t.Errorf("%+v", fr)
	}
}

// Data for map programs, and the address of a hazard's area, also follow the requested language.
func TestMapProgramsGetTheWordsThatWereWished(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := start(t)
	s.report(spoken("ca1", 1), quake("us1", 1))
	id := hazard.EventUUID("usgs", "ca1").String()
	query := featureServer + "/0/query?outFields=*&where=1%3D1"
	for _, path := range []string{"/hazards/" + id + "/alert-geography", "/hazards/" + id + "/alert-geography?f=geojson", query, query + "&f=geojson", "/hazards?f=gpkg"} {
		join := "?"
		if strings.Contains(path, "?") {
			join = "&"
		}
		for what, a := range map[string]server.Answer{
			"lang":            s.do("reader", "GET", path+join+"lang=fr", nil, "Accept-Language", "ar"),
			"Accept-Language": s.do("reader", "GET", path, nil, "Accept-Language", "fr"),
		} {
			if body := string(decode(t, a.Header.Get("Content-Encoding"), a.Body)); a.Status != http.StatusOK || !strings.Contains(a.Header.Get("Content-Language"), "fr-CA") ||
				!strings.Contains(body, "Séisme - Montréal") || strings.Contains(body, "Earthquake - Montreal") {
				t.Errorf("%s by %s: %d, Content-Language %q: %.300s", path, what, a.Status, a.Header.Get("Content-Language"), body)
			}
		}
		wantProblem(t, s.do("reader", "GET", path+join+"lang=not+a+language", nil), http.StatusBadRequest)
	}
	if got := s.do("reader", "GET", "/hazards/"+id+"?f=cap&lang=fr", nil).Header.Get("Content-Language"); got != "en-CA, fr-CA, ar" {
		t.Errorf("the CAP document gives the language %q", got)
	}
}

// A page has the text, the instruction and the contact in the visitor's language, marked as such,
// with links to the others.
func TestAPageSpeaksTheVisitorsLanguage(t *testing.T) {
	s := start(t)
	s.report(spoken("ca1", 1))
	id := hazard.EventUUID("usgs", "ca1").String()
	session := sessionOf(t, s, "reader")
	for path, want := range map[string][]string{
		"/h/" + id:              {`lang="en-CA" dir="ltr"`, "Go outside.", "call 1", "?lang=fr-CA"},
		"/h/" + id + "?lang=fr": {`lang="fr-CA" dir="ltr"`, "Séisme", "Sortez &lt;vite&gt;.", "appelez le 2", "tout le monde", "?lang=en-CA"},
		"/h/" + id + "?lang=ar": {`lang="ar" dir="rtl"`, "زلزال", "اخرجوا"},
		"/h/" + id + "?lang=%":  {"Earthquake - Montreal"},
	} {
		a := visit(s, session, path)
		text := string(decode(t, a.Header.Get("Content-Encoding"), a.Body))
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: no %s in %s", path, w, text[:min(len(text), 4000)])
			}
		}
		if n := strings.Count(text, "Go outside."); strings.HasSuffix(path, id) && n > 2 { // and in what each source reports
			t.Errorf("%s has the instruction %d times", path, n)
		}
	}
}

// The entity tag of a text is a condition for a write, whatever its language.
func TestAWriteTakesTheTagOfAnyLanguage(t *testing.T) {
	s := start(t)
	s.report(spoken("ca1", 1))
	path := "/hazards/" + hazard.EventUUID("usgs", "ca1").String()
	for i, lang := range []string{"fr", "en", "ar"} {
		tag := s.do("red", "GET", path, nil, "Accept-Language", lang).Header.Get("Etag")
		a := s.do("red", "PATCH", path, fmt.Sprintf(`{"comment_Text":"%d"}`, i), "If-Match", tag, "Accept-Language", lang)
		if a.Status != http.StatusOK || a.Header.Get("Etag") != s.do("red", "GET", path, nil, "Accept-Language", lang).Header.Get("Etag") {
			t.Errorf("%s: %d %s", lang, a.Status, a.Body)
		}
		if b := s.do("red", "PATCH", path, `{"comment_Text":"again"}`, "If-Match", tag, "Accept-Language", lang); b.Status != http.StatusPreconditionFailed {
			t.Errorf("%s: the tag of an earlier state is still valid: %d", lang, b.Status)
		}
	}
	s.do("red", "PATCH", path, `{"hazard_Name":"The big one"}`)
	var h item
	s.do("reader", "GET", path, nil, "Accept-Language", "fr").JSON(t, &h)
	if h.Name != "The big one" {
		t.Errorf("an editor's name is %q in French", h.Name)
	}
}

func TestAStreamSpeaksTheReadersLanguage(t *testing.T) {
	s := start(t)
	french, plain := s.subscribe("reader", "?lang=fr"), s.subscribe("reader", "")
	s.report(spoken("ca1", 1))
	if got := french.next().data; !strings.Contains(got, "Séisme - Montréal") {
		t.Error(got)
	}
	if got := plain.next().data; !strings.Contains(got, "Earthquake - Montreal") {
		t.Error(got)
	}
}

// Without a requested language the server's own languages count.
func TestTheServersLanguagesStandBehindTheReaders(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Languages, _ = lang.Parse("ar,fr") })
	s.report(spoken("ca1", 1))
	for header, want := range map[string]string{"": "زلزال", "ja": "زلزال", "en": "Earthquake - Montreal", "fr": "Séisme - Montréal"} {
		var list []item
		a := s.do("reader", "GET", "/hazards/active", nil, "Accept-Language", header)
		if a.JSON(t, &list); len(list) != 1 || list[0].Name != want {
			t.Errorf("%q: %s", header, a.Body)
		}
	}
}

// An assistant gets the authority's text in the language that it requests.
func TestAnAssistantReadsInTheLanguageThatItWishes(t *testing.T) {
	s := start(t)
	s.report(spoken("ca1", 1))
	session, err := s.assistant("/mcp", s.Token("reader"), "")
	if err != nil {
		t.Fatal(err)
	}
	id := hazard.EventUUID("usgs", "ca1").String()
	for tool, arguments := range map[string]map[string]any{"search": {}, "get": {"hazard": id}} {
		arguments["lang"] = "ja,fr"
		if out, err := call(t, session, tool, arguments); err != nil || !strings.Contains(string(out.Data), "Séisme - Montréal") {
			t.Errorf("%s: %v %.300s", tool, err, out.Data)
		}
		arguments["lang"] = "not a language"
		if _, err := call(t, session, tool, arguments); err == nil || !strings.Contains(err.Error(), "is not a language") {
			t.Errorf("%s: %v", tool, err)
		}
	}
}
