package serve_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// capAlert holds the parts of a message that tests read.
type capAlert struct {
	Identifier string    `xml:"identifier"`
	Sender     string    `xml:"sender"`
	Sent       string    `xml:"sent"`
	Status     string    `xml:"status"`
	MsgType    string    `xml:"msgType"`
	Code       string    `xml:"code"`
	Note       string    `xml:"note"`
	References string    `xml:"references"`
	Info       []capInfo `xml:"info"`
	Signature  *struct{} `xml:"http://www.w3.org/2000/09/xmldsig# Signature"`
}

type capInfo struct {
	Language    string     `xml:"language"`
	Event       string     `xml:"event"`
	Response    []string   `xml:"responseType"`
	Urgency     string     `xml:"urgency"`
	Severity    string     `xml:"severity"`
	Certainty   string     `xml:"certainty"`
	EventCode   []capValue `xml:"eventCode"`
	Effective   string     `xml:"effective"`
	Onset       string     `xml:"onset"`
	Expires     string     `xml:"expires"`
	SenderName  string     `xml:"senderName"`
	Headline    string     `xml:"headline"`
	Description string     `xml:"description"`
	Instruction string     `xml:"instruction"`
	Web         string     `xml:"web"`
	Contact     string     `xml:"contact"`
	Resource    []struct {
		Desc   string `xml:"resourceDesc"`
		Type   string `xml:"mimeType"`
		Size   int64  `xml:"size"`
		URI    string `xml:"uri"`
		Digest string `xml:"digest"`
	} `xml:"resource"`
	Area []struct {
		Desc    string     `xml:"areaDesc"`
		Polygon []string   `xml:"polygon"`
		Circle  []string   `xml:"circle"`
		Geocode []capValue `xml:"geocode"`
	} `xml:"area"`
}

type capValue struct {
	Name  string `xml:"valueName"`
	Value string `xml:"value"`
}

type capFeed struct {
	ID      string `xml:"id"`
	Updated string `xml:"updated"`
	Links   []struct {
		Rel  string `xml:"rel,attr"`
		Href string `xml:"href,attr"`
	} `xml:"link"`
	Entries []struct {
		ID      string `xml:"id"`
		Title   string `xml:"title"`
		Updated string `xml:"updated"`
		Expires string `xml:"urn:oasis:names:tc:emergency:cap:1.2 expires"`
	} `xml:"entry"`
}

func (f *capFeed) link(rel string) string {
	for _, l := range f.Links {
		if l.Rel == rel {
			return l.Href
		}
	}
	return ""
}

// below returns the path of an address of the service.
func (w *world) below(address string) string {
	w.t.Helper()
	path, ok := strings.CutPrefix(address, w.URL())
	if !ok {
		w.t.Fatalf("the address %q is not below %s", address, w.URL())
	}
	return path
}

func (w *world) feed(user, path string) (f capFeed) {
	w.t.Helper()
	a := w.do(user, "GET", path, nil)
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/atom+xml" {
		w.t.Fatalf("GET %s: %d %s %.300s", path, a.Status, a.Header.Get("Content-Type"), a.Body)
	}
	if len(a.Body) > 900_000 {
		w.t.Errorf("GET %s: %d bytes", path, len(a.Body))
	}
	if err := xml.Unmarshal(a.Body, &f); err != nil {
		w.t.Fatalf("GET %s: %v", path, err)
	}
	return f
}

// message reads the message at an address, and checks that its identifier matches the address.
func (w *world) message(user, address string) (m capAlert, text []byte) {
	w.t.Helper()
	a := w.do(user, "GET", w.below(address), nil)
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/cap+xml" {
		w.t.Fatalf("GET %s: %d %s %.300s", address, a.Status, a.Header.Get("Content-Type"), a.Body)
	}
	if err := xml.Unmarshal(a.Body, &m); err != nil {
		w.t.Fatalf("GET %s: %v", address, err)
	}
	if !strings.HasSuffix(address, "/cap/"+m.Identifier+".xml") {
		w.t.Errorf("at %s is the message %s", address, m.Identifier)
	}
	return m, a.Body
}

// publish sets the profile of an organization.
func (w *world) publish(org string, profile map[string]any) {
	w.t.Helper()
	if a := w.do("root", "PUT", "/organizations/"+org+"/publishing", profile); a.Status != http.StatusOK {
		w.t.Fatalf("PUT publishing of %s: %d %s", org, a.Status, a.Body)
	}
}

func plainProfile(more ...any) map[string]any {
	return with(map[string]any{"sender": "alerts@red.example.org", "contact": "+254 20 1"}, more...)
}

// xmllint returns the path of that program. If it is not installed, the test is skipped.
func xmllint(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("xmllint is missing (libxml2-utils): ", err)
	}
	return path
}

// schemaOfCAP validates messages with the schema of OASIS.
func schemaOfCAP(t testing.TB, messages [][]byte) {
	t.Helper()
	schema := recordings.Path(t, "feeds/cap/cap12.xsd")
	dir := t.TempDir()
	args := []string{"--noout", "--schema", schema}
	for i, m := range messages {
		name := filepath.Join(dir, fmt.Sprintf("%d.xml", i))
		if err := os.WriteFile(name, m, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	if out, err := exec.CommandContext(t.Context(), xmllint(t), args...).CombinedOutput(); err != nil {
		t.Errorf("xmllint: %v\n%.3000s", err, out)
	}
}

var openTo = func(c *app.Config) { c.Public = route.PublicRead }

func TestEachStateOfAnOwnHazardIsAMessageOfItsOwn(t *testing.T) {
	s := start(t, openTo)
	org := digits(s.RedCross)
	s.publish(org, plainProfile("languages", []string{"en", "ar"}, "oid", "2.49.0.0.404.0",
		"instructions", []any{map[string]any{"language": "en", "text": "Listen to the radio.", "response_type": []string{"Monitor"}}}))
	end := hazard.At(time.Now().Add(3 * time.Hour)).Digits()
	square := map[string]any{"type": "Polygon", "coordinates": [][][2]float64{{{20, 10}, {20, 11}, {21, 11}, {21, 10}, {20, 10}}}} // clockwise
	h := s.hazard("red", "hazard_Name", "River Tana", "description", "Rising.", "severity_ID", "WARNING", "autoexpire", "Y", "end_Date", end, "area", square,
		"texts", []any{map[string]any{"language": "en", "headline": "Flood warning for the Tana"},
			map[string]any{"language": "ar", "name": "نهر تانا", "description": "المياه ترتفع", "instruction": "انتقل إلى مكان مرتفع", "response_type": []string{"Evacuate", "Avoid"}, "area": "تانا"}})
	path := "/hazards/" + h.UUID
	alter := func(method, path string, body any) {
		t.Helper()
		if a := s.do("red", method, path, body); a.Status != http.StatusOK && a.Status != http.StatusCreated {
			t.Fatalf("%s %s: %d %s", method, path, a.Status, a.Body)
		}
	}
	alter("PATCH", path, `{"comment_Text":"nothing that a message says"}`)
	alter("PATCH", path, `{"description":"Still rising."}`)
	s.upload("red", h.HazardID, file("title", "Map"), "map.png", []byte("a map"))
	s.upload("red", h.HazardID, file("title", "Secret", "security_Flag", "R"), "secret.png", []byte("a secret"))
	s.product("red", h.HazardID, note())
	alter("POST", path+"/retract", `{"reason":"a gauge was broken"}`)

	f := s.feed("", "/cap/feed.atom")
	if len(f.Entries) != 4 {
		t.Fatalf("%d entries, want the alert, two updates and the cancellation: %+v", len(f.Entries), f)
	}
	slices.Reverse(f.Entries)
	var all []capAlert
	var texts [][]byte
	for _, e := range f.Entries {
		m, text := s.message("", e.ID)
		all, texts = append(all, m), append(texts, text)
	}
	schemaOfCAP(t, texts)
	for i, kind := range []string{"Alert", "Update", "Update", "Cancel"} {
		m := all[i]
		if m.MsgType != kind || m.Status != "Actual" || m.Sender != "alerts@red.example.org" || !strings.HasPrefix(m.Identifier, "urn:oid:2.49.0.0.404.0.") {
			t.Errorf("message %d is %+v", i, m)
		}
		var want []string
		for _, e := range all[:i] {
			want = append(want, e.Sender+","+e.Identifier+","+e.Sent)
		}
		if m.References != strings.Join(want, " ") {
			t.Errorf("message %d references %q, want %q", i, m.References, want)
		}
		if len(m.Info) != 2 || m.Info[0].Language != "en" || m.Info[1].Language != "ar" {
			t.Fatalf("message %d has the blocks %+v", i, m.Info)
		}
		ring := m.Info[0].Area[0].Polygon
		if len(ring) != 1 || !strings.HasPrefix(ring[0], "10,20 10,21 11,21 11,20 10,20") {
			t.Errorf("the outline is %q: expected counterclockwise and closed", ring)
		}
	}
	en, ar := all[1].Info[0], all[1].Info[1]
	if en.Headline != "Flood warning for the Tana" || en.Description != "Still rising." || en.Instruction != "Listen to the radio." || !slices.Equal(en.Response, []string{"Monitor"}) || en.Contact != "+254 20 1" ||
		en.Event != "Flood" || en.Severity != "Extreme" || en.Onset == "" || en.Expires == "" {
		t.Errorf("the block in English is %+v", en)
	}
	// Its author wrote none, so it is the service's.
	if !strings.HasPrefix(ar.Headline, "نهر تانا") || ar.Instruction != "انتقل إلى مكان مرتفع" || !slices.Equal(ar.Response, []string{"Evacuate", "Avoid"}) || ar.Event != "فيضان" || ar.Area[0].Desc != "تانا" {
		t.Errorf("the block in Arabic is %+v", ar)
	}
	if all[0].Info[0].Description != "Rising." || len(all[1].Info[0].Resource) != 0 {
		t.Errorf("an earlier message contains later data: %+v", all[0])
	}
	// One public file, whose digest equals that of sha1sum.
	if r := all[2].Info[0].Resource; len(r) != 1 || r[0].Desc != "Map" || r[0].Size != 5 || r[0].Type != "image/png" || r[0].Digest != "8d6402420e8b300cefa52041e31c87cf6eea9d3b" {
		t.Errorf("the files are %+v", r)
	} else if a := s.do("", "GET", s.below(r[0].URI), nil); a.Status != http.StatusOK || string(a.Body) != "a map" {
		t.Errorf("the file at %s: %d %.100s", r[0].URI, a.Status, a.Body)
	}
	if !strings.Contains(all[3].Note, "a gauge was broken") || all[3].Info[0].Instruction != "" || all[3].Info[0].Urgency != "Past" {
		t.Errorf("the cancellation is %+v", all[3])
	}
	if again, text := s.message("", f.Entries[0].ID); again.Identifier != all[0].Identifier || !bytes.Equal(text, texts[0]) {
		t.Error("the first message has changed")
	}
}

// What is only a point is a circle of the radius that its organization publishes with, also in the
// hazard's own document.
func TestACircleHasTheRadiusOfTheProfile(t *testing.T) {
	s := start(t, openTo)
	h := s.hazard("red")
	circle := func() string {
		t.Helper()
		var m capAlert
		if err := xml.Unmarshal(s.do("reader", "GET", "/hazards/"+h.UUID+"?f=cap", nil).Body, &m); err != nil || len(m.Info) != 1 || len(m.Info[0].Area) != 1 {
			t.Fatalf("%v %+v", err, m)
		}
		return strings.Join(m.Info[0].Area[0].Circle, ";")
	}
	if got := circle(); got != "10,20 10" {
		t.Errorf("without a profile %s", got)
	}
	s.publish(digits(s.RedCross), plainProfile("radius_km", 2.5))
	if got := circle(); got != "10,20 2.5" {
		t.Errorf("with a profile %s", got)
	}
}

func TestAFeedSaysWhenItsLastMessageWasSent(t *testing.T) {
	s := start(t, openTo)
	s.publish(digits(s.RedCross), plainProfile())
	changed := func(path string) string { return s.do("", "GET", path, nil).Header.Get("Last-Modified") }
	if got := changed("/cap/feed.atom"); got != "" {
		t.Errorf("an empty feed changed at %s", got)
	}
	s.hazard("red")
	entry := s.feed("", "/cap/feed.atom").Entries[0]
	m, _ := s.message("", entry.ID)
	sent, err := time.Parse(time.RFC3339, m.Sent)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/cap/feed.atom", "/cap/feed.rss", "/cap/feed.atom?org=RC"} {
		got, err := http.ParseTime(changed(path))
		if err != nil || !got.Equal(sent.UTC().Truncate(time.Second)) {
			t.Errorf("%s: %v, %v, expected %v", path, got, err, sent)
		}
	}
}

func TestMessagesStayAsTheyWereUnderTheirProfile(t *testing.T) {
	s := start(t, openTo)
	org := digits(s.RedCross)
	h := s.hazard("red") // before any organization publishes
	if f := s.feed("", "/cap/feed.atom"); len(f.Entries) != 0 {
		t.Fatalf("no organization publishes, but there is %+v", f.Entries)
	}
	s.publish(org, plainProfile())
	first := s.feed("", "/cap/feed.atom").Entries
	if len(first) != 1 {
		t.Fatalf("%+v", first)
	}
	_, before := s.message("", first[0].ID)
	s.publish(org, plainProfile("sender", "new@red.example.org", "oid", "1.2.3", "radius_km", 25))
	s.do("red", "PATCH", "/hazards/"+h.UUID, `{"severity_ID":"ADVISORY"}`)
	two := s.feed("", "/cap/feed.atom").Entries
	if len(two) != 2 || two[1].ID != first[0].ID {
		t.Fatalf("%+v", two)
	}
	if _, now := s.message("", first[0].ID); !bytes.Equal(now, before) {
		t.Error("a message changed with the profile")
	}
	m, _ := s.message("", two[0].ID)
	if m.Sender != "new@red.example.org" || !strings.HasPrefix(m.References, "alerts@red.example.org,"+h.UUID) || m.Info[0].Area[0].Circle[0] != "10,20 25" {
		t.Errorf("%+v", m)
	}
	s.publish(org, plainProfile("paused", true))
	s.do("red", "PATCH", "/hazards/"+h.UUID, `{"severity_ID":"WARNING"}`)
	if paused := s.feed("", "/cap/feed.atom").Entries; len(paused) != 2 {
		t.Errorf("while it is paused there are %d messages", len(paused))
	}
	// Another organization, a drill, a source, and a hazard without an organization.
	s.publish(digits(s.FireBrigade), plainProfile("sender", "fire@example.org", "test", true))
	s.hazard("fire", "category_ID", "EXERCISE")
	s.hazard("fire")
	s.hazard("red", "org_ID", -1)
	s.report(quake("q1", 1))
	byFire := s.feed("", "/cap/feed.atom?org="+digits(s.FireBrigade)).Entries
	if len(byFire) != 2 || len(s.feed("", "/cap/feed.atom").Entries) != 4 {
		t.Fatalf("%+v", byFire)
	}
	for i, want := range []string{"Test", "Exercise"} {
		if m, _ := s.message("", byFire[i].ID); m.Status != want || m.Sender != "fire@example.org" {
			t.Errorf("%d is %+v", i, m)
		}
	}
}

func TestARedactionRewritesMessages(t *testing.T) {
	s := start(t, openTo)
	s.publish(digits(s.RedCross), plainProfile())
	h := s.hazard("red", "description", "Mrs Otieno of Garissa called")
	s.do("red", "PATCH", "/hazards/"+h.UUID, `{"description":"Mr Otieno of Garissa called"}`)
	before := s.feed("", "/cap/feed.atom").Entries
	s.message("", before[0].ID)
	if a := s.do("root", "POST", "/hazards/"+h.UUID+"/redact", `{"fields":["description"],"reason":"names"}`); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	after := s.feed("", "/cap/feed.atom").Entries
	if len(before) != 2 || len(after) != 3 || after[1].ID != before[0].ID || after[2].ID != before[1].ID {
		t.Fatalf("before %+v\nafter %+v", before, after)
	}
	for _, e := range after {
		if _, text := s.message("", e.ID); strings.Contains(string(text), "Otieno") {
			t.Errorf("%s still says %s", e.ID, text)
		}
	}
}

func TestEveryLanguageIsToldToDoTheSame(t *testing.T) {
	s := start(t, openTo)
	s.publish(digits(s.RedCross), plainProfile("languages", []string{"en", "ar"}))
	s.hazard("red", "texts", []any{map[string]any{"language": "en", "instruction": "Leave.", "response_type": []string{"Evacuate"}}, map[string]any{"language": "ar", "name": "فيضان", "instruction": "غادر"}})
	m, _ := s.message("", s.feed("", "/cap/feed.atom").Entries[0].ID)
	for _, in := range m.Info {
		if !slices.Equal(in.Response, []string{"Evacuate"}) {
			t.Errorf("in %s the instruction is %v", in.Language, in.Response)
		}
	}
}

func TestWhoMayReadMessages(t *testing.T) {
	s := start(t)
	s.publish(digits(s.RedCross), plainProfile())
	s.hazard("red")
	if a := s.do("", "GET", "/cap/feed.atom", nil); a.Status != http.StatusForbidden {
		t.Errorf("without an account: %d", a.Status)
	}
	f := s.feed("reader", "/cap/feed.atom")
	s.message("reader", f.Entries[0].ID)
	// Links for a read key contain the key.
	var key struct{ Key string }
	s.do("red", "POST", "/keys", `{"title":"hub"}`).JSON(t, &key)
	behind := s.feed("", "/key/"+key.Key+"/cap/feed.atom")
	if !strings.Contains(behind.Entries[0].ID, "/key/"+key.Key+"/cap/") || !strings.Contains(behind.link("self"), key.Key) {
		t.Errorf("behind a key: %+v", behind)
	}
	s.message("", behind.Entries[0].ID)
	for path, want := range map[string]int{"/cap/none.xml": 404, "/cap/feed": 404, "/cap/" + strings.Repeat("9", 200) + ".9.xml": 404, "/cap/x.7.xml": 404, "/cap/feed.atom?archive=0": 404,
		"/cap/feed.atom?org=none": 400, "/cap/feed.atom?archive=-1": 400, "/organizations/none/publishing": 404} {
		if a := s.do("reader", "GET", path, nil); a.Status != want {
			t.Errorf("GET %s: %d, want %d", path, a.Status, want)
		}
	}
	a := s.do("reader", "GET", "/cap/feed.rss", nil)
	if again := s.do("reader", "GET", "/cap/feed.rss", nil, "If-None-Match", a.Header.Get("ETag")); again.Status != http.StatusNotModified {
		t.Errorf("the same feed again: %d", again.Status)
	}
	for body, field := range map[string]string{
		`{"sender":"a b"}`: "sender", `{"sender":"a@b","profile":"none"}`: "profile", `{"sender":"a@b","languages":["xxxxxxxxxxxx"]}`: "languages", `{"sender":"a@b","oid":"1.x"}`: "oid",
		`{"sender":"a@b","profile":"google"}`: "instructions", `{"sender":"a@b","profile":"ipaws"}`: "area_codes", `{"sender":"a@b","web":"ftp://x"}`: "web", `{"sender":"a@b","nonsense":1}`: "nonsense",
		`{"sender":"a@b","profile":"cap-cp"}`: "event_codes", `{"sender":"a@b","profile":"cap-au"}`: "event_codes", `{"sender":"a@b","radius_km":-1}`: "radius_km",
	} {
		if a := s.do("root", "PUT", "/organizations/"+digits(s.RedCross)+"/publishing", body); a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), field) {
			t.Errorf("PUT %s: %d %s", body, a.Status, a.Body)
		}
	}
	var p struct {
		Sender string `json:"sender"`
	}
	if s.do("reader", "GET", "/organizations/"+digits(s.RedCross)+"/publishing", nil).JSON(t, &p); p.Sender != "alerts@red.example.org" {
		t.Errorf("%+v", p)
	}
	if a := s.do("red", "PUT", "/organizations/"+digits(s.RedCross)+"/publishing", plainProfile()); a.Status != http.StatusForbidden {
		t.Errorf("an editor set the profile: %d", a.Status)
	}
}

func TestTextsOfAnOwnHazard(t *testing.T) {
	s := start(t)
	h := s.hazard("red", "texts", []any{map[string]any{"language": "en", "instruction": "Go up."}, map[string]any{"language": "fr", "name": "Crue", "description": "L'eau monte."}})
	path := "/hazards/" + h.UUID
	var list []struct {
		Language, Name, Instruction string
		Own                         bool
	}
	s.do("reader", "GET", path+"/texts", nil).JSON(t, &list)
	if len(list) != 2 || !list[0].Own || list[0].Instruction != "Go up." || list[1].Name != "Crue" {
		t.Errorf("%+v", list)
	}
	var french item
	s.do("reader", "GET", path+"?lang=fr", nil).JSON(t, &french)
	if french.Name != "Crue" {
		t.Errorf("in French it is %q", french.Name)
	}
	back := s.do("reader", "GET", path+"/texts", nil).Body
	if a := s.do("red", "PATCH", path, `{"texts":`+string(back)+`}`); a.Status != http.StatusOK {
		t.Errorf("sent back unchanged: %d %s", a.Status, a.Body)
	}
	for texts, fault := range map[string]string{`[{"language":"en"},{"language":"EN","name":"x"}]`: "twice", `[{"language":"en"},{"language":"fr"}]`: "name", `[{"language":"!"}]`: "language",
		`[{"language":"en","response_type":["Run"]}]`: "response_type", `[{"language":"en","web":"javascript:x"}]`: "web", `[{"language":"en","more":1}]`: "more", `5`: "list",
		`[{"language":"en","own":true},{"language":"fr","own":true}]`: "own"} {
		if a := s.do("red", "PATCH", path, `{"texts":`+texts+`}`); a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), fault) {
			t.Errorf("%s: %d %s", texts, a.Status, a.Body)
		}
	}
	s.report(quake("q1", 1))
	var found []item
	s.do("red", "GET", "/hazards?type=EARTHQUAKE", nil).JSON(t, &found)
	if a := s.do("red", "PATCH", "/hazards/"+found[0].UUID, `{"texts":[{"language":"en"}]}`); a.Status != http.StatusBadRequest {
		t.Errorf("the texts of a source were written: %d", a.Status)
	}
}

// What was published and no longer holds is taken back, in its own status, whatever was paused or
// tried as a test in between.
func TestWhatWasPublishedIsTakenBack(t *testing.T) {
	s := start(t, openTo)
	org := digits(s.RedCross)
	feed := func() (lines []string) {
		for _, e := range s.feed("", "/cap/feed.atom").Entries {
			m, _ := s.message("", e.ID)
			lines = append(lines, fmt.Sprintf("%s %s %d", m.MsgType, m.Status, len(strings.Fields(m.References))))
		}
		slices.Reverse(lines)
		return lines
	}
	expect := func(when string, want ...string) {
		t.Helper()
		if got := feed(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	end := func(uuid string) {
		t.Helper()
		if a := s.do("red", "PATCH", "/hazards/"+uuid, `{"status":"E"}`); a.Status != http.StatusOK {
			t.Fatalf("end: %d %s", a.Status, a.Body)
		}
	}
	s.publish(org, plainProfile("paused", true))
	h := s.hazard("red")
	expect("while it is paused")
	s.publish(org, plainProfile())
	for _, level := range []string{"ADVISORY", "INFORMATION"} {
		s.do("red", "PATCH", "/hazards/"+h.UUID, `{"severity_ID":"`+level+`"}`)
	}
	s.publish(org, plainProfile("test", true))
	end(h.UUID)
	first := []string{"Alert Actual 0", "Update Actual 1", "Cancel Actual 2"}
	expect("made while paused, ended during a test", first...)

	s.publish(org, plainProfile())
	other := s.hazard("red")
	s.publish(org, plainProfile("paused", true))
	end(other.UUID)
	expect("ended while paused", append(first, "Alert Actual 0")...)
	s.publish(org, plainProfile())
	after := append(first, "Alert Actual 0", "Cancel Actual 1")
	expect("after the pause", after...)

	undone := s.hazard("red")
	s.publish(org, plainProfile("paused", true))
	end(undone.UUID)
	over, err := s.Store.Hazards.ByUUID(t.Context(), uuid.MustParse(undone.UUID))
	if err != nil {
		t.Fatal(err)
	}
	if a := s.do("red", "POST", "/hazards/"+undone.UUID+"/undo", map[string]any{"change": over.Version}); a.Status != http.StatusOK {
		t.Fatalf("undo: %d %s", a.Status, a.Body)
	}
	s.publish(org, plainProfile())
	after = append(after, "Alert Actual 0")
	if got := feed(); len(got) < len(after) || !slices.Equal(got[:len(after)], after) || slices.ContainsFunc(got[len(after):], func(l string) bool { return !strings.HasPrefix(l, "Update Actual") }) {
		t.Errorf("ended and undone while paused: %q, want %q and at most updates", got, after)
	}
	end(undone.UUID)
	if got := feed(); !strings.HasPrefix(got[len(got)-1], "Cancel Actual ") {
		t.Errorf("ended after an undo while paused: %q, want a Cancel at last", got)
	}
}
