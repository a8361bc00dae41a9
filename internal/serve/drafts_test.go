package serve_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/tell/message"
	"github.com/hazardd/hazardd/internal/test/server"
)

// drafted is what a request that waits answers.
type drafted struct {
	ID, State, Author, Deed string
	Created                 string
	Hazard                  string `json:"hazard_uuid"`
	Severity                string `json:"severity_ID"`
	DecidedBy               string `json:"decided_by"`
	Reason                  string
	Reach                   struct {
		People      *int64
		CircleKm    float64 `json:"circle_km"`
		Subscribers int
	}
}

// twoEditors is a server where a second person approves, with two editors of one organization, and one who is told.
func twoEditors(t *testing.T, f func(*app.Config)) (*world, postbox) {
	t.Helper()
	box := make(postbox, 20)
	s := start(t, func(c *app.Config) {
		c.Sender = box
		f(c)
	})
	u := auth.NewUser{Name: "second", Role: auth.Editor, Password: server.Password, Orgs: []int64{s.RedCross}}
	if err := s.Auth.Accounts().AddUser(t.Context(), actor, u, s.Now()); err != nil {
		t.Fatal(err)
	}
	if a := s.do("reader", "POST", "/subscriptions", `{"drills":true,"where":{"points":[{"lon":20,"lat":10,"radius_km":50}]},"channels":[{"kind":"webpush","to":"{}"}]}`); a.Status != 201 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	return s, box
}

const drowning = `{"hazard_Name":"Flood","type_ID":"FLOOD","severity_ID":%q,"category_ID":%q,"latitude":10,"longitude":20,"area":{"type":"Polygon","coordinates":[[[19.9,9.9],[20.1,9.9],[20.1,10.1],[19.9,10.1],[19.9,9.9]]]}}`

func TestTwoPeoplePublishAWarning(t *testing.T) {
	t.Parallel() // it waits more than it works
	s, box := twoEditors(t, func(c *app.Config) { c.ApproveWarnings = true })
	for _, category := range []string{"EVENT", "EXERCISE"} { // drills take the same way
		a := s.do("red", "POST", "/hazards", fmt.Sprintf(drowning, "WARNING", category))
		var d drafted
		a.JSON(t, &d)
		if a.Status != 202 || d.State != "waiting" || d.Author != "red" || d.Reach.Subscribers != 1 || d.Reach.People == nil || a.Header.Get("Location") != s.URL()+"/drafts/"+d.ID {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		path := "/drafts/" + d.ID
		if a := s.do("red", "GET", "/hazards/"+d.Hazard, nil); a.Status != 404 {
			t.Fatalf("a draft is public: %d %s", a.Status, a.Body)
		}
		for user, status := range map[string]int{"red": 403, "reader": 403, "fire": 404} {
			if a := s.do(user, "POST", path+"/approve", nil); a.Status != status {
				t.Errorf("%s: %d %s", user, a.Status, a.Body)
			}
		}
		if a := s.do("second", "GET", path, nil); a.Status != 200 || !strings.Contains(string(a.Body), `"request":{`) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		a = s.do("second", "POST", path+"/approve", nil)
		if a.Status != 201 || !strings.Contains(string(a.Body), d.Hazard) {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if n := <-box; n.Kind != message.First || n.Items[0].Hazard.UUID.String() != d.Hazard {
			t.Errorf("%+v", n)
		}
		if a := s.do("second", "POST", path+"/approve", nil); a.Status != 409 {
			t.Errorf("twice: %d %s", a.Status, a.Body)
		}
		if a := s.do("second", "POST", path+"/refuse", `{"reason":"too late"}`); a.Status != 409 {
			t.Errorf("refused after that: %d %s", a.Status, a.Body)
		}
		// Both names stand in the history.
		if a := s.do("red", "GET", "/hazards/"+d.Hazard+"/changes", nil); !strings.Contains(string(a.Body), `"user":"second"`) || !strings.Contains(string(a.Body), `"red"`) {
			t.Errorf("%s", a.Body)
		}
		// It is taken back in one step, by one person.
		if a := s.do("red", "POST", "/hazards/"+d.Hazard+"/retract", `{"reason":"a false alarm"}`); a.Status != 200 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if n := <-box; n.Kind != message.Correction {
			t.Errorf("%+v", n)
		}
	}
	audit := string(s.do("root", "GET", "/audit", nil).Body)
	for _, deed := range []string{"draft.create", "draft.approve"} {
		if !strings.Contains(audit, deed) {
			t.Errorf("%s is not in the audit trail: %s", deed, audit)
		}
	}
}

func TestWhatIsWorseWaitsForASecondPerson(t *testing.T) {
	s, _ := twoEditors(t, func(c *app.Config) { c.ApproveWarnings = true; c.NoExposure = true })
	h := s.hazard("red", "severity_ID", "WATCH")
	path := fmt.Sprintf("/hazards/%d", h.HazardID)
	raise := func() (d drafted) {
		t.Helper()
		a := s.do("red", "PATCH", path, `{"severity_ID":"WARNING"}`)
		if a.JSON(t, &d); a.Status != 202 || d.Severity != "WARNING" {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		return d
	}
	d := raise()
	if again := raise(); again.ID != d.ID {
		t.Error("the same request makes a second draft")
	}
	// What changes meanwhile makes the draft void: it was decided of another state.
	if a := s.do("red", "PATCH", path, `{"comment_Text":"the river rises"}`); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := s.do("second", "POST", "/drafts/"+d.ID+"/approve", nil); a.Status != 412 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := s.do("second", "POST", "/drafts/"+d.ID+"/refuse", `{"reason":"the hazard has changed"}`); a.Status != 200 || !strings.Contains(string(a.Body), `"decided_by":"second"`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	d = raise()
	a := s.do("second", "POST", "/drafts/"+d.ID+"/approve", nil)
	if a.Status != 200 || !strings.Contains(string(a.Body), `"WARNING"`) {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	// What does not make it worse, and its end, need nobody.
	for _, body := range []string{`{"comment_Text":"seen from the bridge"}`, `{"pinned":"Y"}`, `{"severity_ID":"WATCH"}`, `{"description":"of a WATCH"}`, `{"status":"E"}`} {
		if a := s.do("red", "PATCH", path, body); a.Status != 200 {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
		}
	}
	var list []drafted
	if a := s.do("second", "GET", "/drafts?state=all", nil); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	} else if a.JSON(t, &list); len(list) != 2 || list[1].Reason != "the hazard has changed" {
		t.Errorf("%s", a.Body)
	}
	if a := s.do("fire", "GET", "/drafts", nil); a.Status != 200 || string(a.Body) != "[]\n" && string(a.Body) != "[]" {
		t.Errorf("another organization sees %d %s", a.Status, a.Body)
	}
	for path, status := range map[string]int{"/drafts?state=x": 400, "/drafts?limit=0": 400, "/drafts/x": 400, "/drafts/" + uuid.NewString(): 404} {
		if a := s.do("second", "GET", path, nil); a.Status != status {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
}

func TestWhatReachesManyWaitsForASecondPerson(t *testing.T) {
	s, _ := twoEditors(t, func(c *app.Config) { c.ApprovePeople = 1_000_000 })
	if a := s.do("red", "POST", "/hazards", fmt.Sprintf(drowning, "WARNING", "EVENT")); a.Status != 201 {
		t.Errorf("it reaches few: %d %s", a.Status, a.Body)
	}
	cairo := strings.NewReplacer("19.9", "30.9", "20.1", "31.5", "9.9", "29.8", "10.1", "30.3", `"latitude":10`, `"latitude":30`, `"longitude":20`, `"longitude":31.2`).Replace(fmt.Sprintf(drowning, "ADVISORY", "EVENT"))
	a := s.do("red", "POST", "/hazards", cairo)
	var d drafted
	if a.JSON(t, &d); a.Status != 202 || d.Reach.People == nil || *d.Reach.People < 1_000_000 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	// Who has drafted it may no longer write: nobody publishes it in that name.
	if err := s.Auth.Accounts().Disable(t.Context(), actor, "red", s.Now()); err != nil {
		t.Fatal(err)
	}
	if a := s.do("second", "POST", "/drafts/"+d.ID+"/approve", nil); a.Status != 409 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// A point counts as the circle that is published for it, and a line too. Many small areas, which are
// published as one box, count as that box.
func TestAPointReachesWhatIsPublishedForIt(t *testing.T) {
	s, _ := twoEditors(t, func(c *app.Config) { c.ApprovePeople = 1_000_000 })
	cairo := []any{"latitude", 30.05, "longitude", 31.25}
	waits := func(circle float64, more ...any) {
		t.Helper()
		a := s.do("red", "POST", "/hazards", flood(append(cairo, more...)...))
		var d drafted
		if a.JSON(t, &d); a.Status != 202 || d.Reach.People == nil || *d.Reach.People < 1_000_000 || d.Reach.CircleKm != circle {
			t.Errorf("%.80v: %d %.300s", more, a.Status, a.Body)
		}
	}
	waits(50)
	waits(50, "area", map[string]any{"type": "LineString", "coordinates": [][]float64{{31.2, 30}, {31.3, 30.1}}})
	if a := s.do("red", "POST", "/hazards", flood()); a.Status != 201 {
		t.Errorf("few live there: %d %s", a.Status, a.Body)
	}
	s.publish(fmt.Sprint(s.RedCross), map[string]any{"sender": "red@example.org", "name": "Red Cross", "languages": []string{"en"}, "radius_km": 20})
	waits(20)
	var bits [][][][]float64
	for i := range 600 {
		x, y := 25+float64(i%20)*0.7, 23+float64(i/20)*0.6
		bits = append(bits, [][][]float64{{{x, y}, {x + 0.001, y}, {x, y + 0.001}, {x, y}}})
	}
	waits(0, "area", map[string]any{"type": "MultiPolygon", "coordinates": bits})
}

// Drafts of others hide none of those that somebody may decide about, and pages skip none.
func TestDraftsAreListedByWhoMayDecide(t *testing.T) {
	s, _ := twoEditors(t, func(c *app.Config) { c.ApproveWarnings = true })
	mine, oldest := map[string]bool{}, ""
	post := func(user, name string) (d drafted) {
		t.Helper()
		a := s.do(user, "POST", "/hazards", flood("severity_ID", "WARNING", "hazard_Name", name))
		if a.JSON(t, &d); a.Status != 202 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		return d
	}
	for i := range 3 {
		d := post("red", fmt.Sprintf("Flood %d", i))
		mine[d.ID] = true
		oldest = cmp.Or(oldest, d.Created)
	}
	for i := range 100 {
		post("fire", fmt.Sprintf("Fire %d", i))
	}
	last := post("red", "Flood 3")
	mine[last.ID] = true
	next, pages, got := s.URL()+"/drafts?limit=2", 0, []drafted{}
	for ; next != ""; pages++ {
		var list []drafted
		a := s.do("second", "GET", strings.TrimPrefix(next, s.URL()), nil)
		if a.JSON(t, &list); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		got = append(got, list...)
		next, _, _ = strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"), ">")
	}
	if rule := s.do("second", "GET", "/drafts", nil).Header.Get("Hazardd-Approval"); rule != "warnings" {
		t.Errorf("the rule is %q", rule)
	}
	if len(got) != 4 || pages != 2 || got[0].ID != last.ID {
		t.Errorf("%d pages, %+v", pages, got)
	}
	for _, d := range got {
		if !mine[d.ID] {
			t.Errorf("%+v is another's", d)
		}
	}
	_, token, err := s.Auth.CreateServiceToken(t.Context(), actor, "wall", "", auth.ScopeDrafts, s.Now())
	if err != nil {
		t.Fatal(err)
	}
	s.tokens.byUser["wall"] = string(token)
	for user, want := range map[string]string{"second": `{"to_decide":4,"mine":0,"oldest":"` + oldest + `"}`, "red": `{"to_decide":0,"mine":4}`, "fire": `{"to_decide":0,"mine":100}`,
		"root": `{"to_decide":104,"mine":0,"oldest":"` + oldest + `"}`, "wall": `{"to_decide":104,"mine":0,"oldest":"` + oldest + `"}`} {
		if a := s.do(user, "GET", "/drafts/count", nil); a.Status != 200 || strings.TrimSpace(string(a.Body)) != want {
			t.Errorf("%s: %d %s, want %s", user, a.Status, a.Body, want)
		}
	}
	if a := s.do("reader", "GET", "/drafts/count", nil); a.Status != 403 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := s.do("second", "GET", "/drafts?next=x", nil); a.Status != 400 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// The author of a draft knows who may decide, who has seen it, and reminds them.
// Approvers are told beyond the map, over a channel of their own.
func TestApproversAreToldOfADraft(t *testing.T) {
	t.Parallel() // it waits more than it works
	s, box := twoEditors(t, func(c *app.Config) { c.ApproveWarnings = true })
	if a := s.do("second", "POST", "/subscriptions", `{"drafts":true,"channels":[{"kind":"webpush","to":"{\"a\":1}"}]}`); a.Status != 201 || !strings.Contains(string(a.Body), `"drafts":true`) {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := s.do("reader", "POST", "/subscriptions", `{"drafts":true,"channels":[{"kind":"webpush","to":"{}"}]}`); a.Status != 403 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := s.do("red", "POST", "/hazards", fmt.Sprintf(drowning, "WARNING", "EVENT")); a.Status != 202 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if n := <-box; n.Kind != message.Drafts || len(n.Drafts) != 1 || n.Drafts[0].Author != "red" || n.Drafts[0].People == nil {
		t.Errorf("%+v", n)
	}
}

func TestAnAuthorKnowsWhatBecomesOfADraft(t *testing.T) {
	s, _ := twoEditors(t, func(c *app.Config) { c.ApproveWarnings = true })
	h := s.hazard("red", "severity_ID", "WATCH", "description", "Stay away from the river.")
	a := s.do("red", "PATCH", fmt.Sprintf("/hazards/%d", h.HazardID), `{"severity_ID":"WARNING","texts":[{"language":"es","name":"Inundación","instruction":"Suba."}]}`)
	var d drafted
	if a.JSON(t, &d); a.Status != 202 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	path := "/drafts/" + d.ID
	s.do("root", "GET", "/drafts", nil) // to have it in a list is not to read it
	a = s.do("red", "GET", path, nil)
	if text := string(a.Body); strings.Contains(text, `"seen"`) || !strings.Contains(text, `"root","second"]`) || strings.Contains(text, `"red","root"`) {
		t.Errorf("%s", text)
	}
	a = s.do("second", "GET", path, nil)
	for _, want := range []string{`"Inundación"`, `"Suba."`, `"said":{"hazard_Name":"Flood"`, `"Stay away from the river."`, `"published":{"type":"Polygon"`, `"seen":[{"user":"second"`} {
		if a.Status != 200 || !strings.Contains(string(a.Body), want) {
			t.Errorf("%s is not in %d %s", want, a.Status, a.Body)
		}
	}
	if a := s.do("red", "GET", path, nil); !strings.Contains(string(a.Body), `"seen":[{"user":"second"`) {
		t.Errorf("%s", a.Body)
	}
	if a := s.do("second", "POST", path+"/remind", nil); a.Status != 403 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := s.do("red", "POST", path+"/remind", nil); a.Status != 200 || !strings.Contains(string(a.Body), `"reminded"`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := s.do("red", "POST", path+"/remind", nil); a.Status != 409 {
		t.Errorf("again at once: %d %s", a.Status, a.Body)
	}
	if a := s.do("red", "POST", path+"/refuse", `{"reason":"withdrawn"}`); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// One editor alone publishes nothing that has to wait, whatever the request is called.
func TestNoWayAroundTheSecondPerson(t *testing.T) {
	s, box := twoEditors(t, func(c *app.Config) { c.ApproveWarnings = true; c.NoExposure = true })
	waits := func(user, method, path string, body any, deed string) (d drafted) {
		t.Helper()
		a := s.do(user, method, path, body)
		if a.JSON(t, &d); a.Status != 202 || d.Deed != deed {
			t.Fatalf("%s %s %v: %d %s", method, path, body, a.Status, a.Body)
		}
		return d
	}
	approved := func(d drafted, status int) item {
		t.Helper()
		a := s.do("second", "POST", "/drafts/"+d.ID+"/approve", nil)
		if a.Status != status {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		var h item
		a.JSON(t, &h)
		return h
	}
	square := func(from, to float64) map[string]any {
		return map[string]any{"type": "Polygon", "coordinates": [][][]float64{{{from, from}, {to, from}, {to, to}, {from, to}, {from, from}}}}
	}
	warning := func(more ...any) map[string]any {
		return flood(append([]any{"severity_ID", "WARNING", "area", square(1, 2)}, more...)...)
	}
	// In two small steps: the first does not wait, the second does.
	h := s.hazard("red", "severity_ID", "WATCH", "area", square(1, 2))
	path := "/hazards/" + h.UUID
	approved(waits("red", "PATCH", path, `{"severity_ID":"WARNING"}`, "alter"), 200)
	// What an approved WARNING says, where, and for how long.
	for _, body := range []any{map[string]any{"area": square(0, 50)}, `{"description":"Leave now."}`, `{"hazard_Name":"Attack"}`, `{"snc_url":"https://example.org/x"}`, `{"latitude":9}`,
		map[string]any{"end_Date": hazard.At(time.Now().Add(300 * time.Hour)).Digits()}, `{"category_ID":"RESPONSE"}`} {
		waits("red", "PATCH", path, body, "alter")
	}
	// With a milder level in the same request, it is none that waits.
	if a := s.do("red", "PATCH", path, `{"severity_ID":"ADVISORY","description":"It falls."}`); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	small := approved(waits("red", "POST", "/hazards", warning(), "create"), 201)
	// By a merge, with which a WARNING gets what another source says.
	mild, bad := quake("mild", 1), quake("bad", 1)
	mild.Source, mild.Refs, bad.Severity = "emsc", nil, hazard.Warning
	mild.Point, mild.Start = &hazard.Point{Lon: 100, Lat: 0}, mild.Start.Add(-time.Hour)
	mild.Areas = []hazard.Area{{Role: hazard.AlertArea, Geometry: `{"type":"Polygon","coordinates":[[[90,0],[100,0],[100,10],[90,0]]]}`}}
	s.report(bad)
	s.report(mild)
	from, into := "/hazards/"+hazard.EventUUID("emsc", "mild").String(), hazard.EventUUID("usgs", "bad").String()
	d := waits("red", "POST", from+"/merge", map[string]any{"into": into}, "merge")
	if got, _ := s.get("red", from); got.Status != "A" {
		t.Error("a merge that waits has ended its hazard")
	}
	if merged := approved(d, 200); merged.UUID != into {
		t.Errorf("%+v", merged)
	}
	// A product tells nobody: it does not wait.
	s.product("red", small.HazardID, map[string]any{"title": "t", "product_Type": "TEXT_PRODUCT", "data": "d"})
	// By retracting, which never waits, and taking that back.
	if a := s.do("red", "POST", "/hazards/"+small.UUID+"/retract", `{"reason":"false"}`); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	undo := map[string]any{"change": s.lastOf("/hazards/"+small.UUID, "hazard.expired")}
	approved(waits("red", "POST", "/hazards/"+small.UUID+"/undo", undo, "undo"), 200)
	if got, _ := s.get("red", "/hazards/"+small.UUID); got.Status != "A" || got.SeverityID != "WARNING" {
		t.Errorf("%+v", got)
	}
	// Of what sources say, by releasing a held report, and by a split.
	said := quake("held", 1)
	said.Severity = hazard.Warning
	said.Suspect = "the words say TEST"
	res, err := s.intake().Apply(t.Context(), "usgs", source.Batch{Reports: []hazard.Report{said}, Read: 1}, hazard.At(time.Now()), fuse.Options{})
	if err != nil || res.Held != 1 {
		t.Fatal(res, err)
	}
	d = waits("red", "POST", "/sources/usgs/held/1", `{"decision":"released"}`, "release")
	approved(d, 201)
	if got := approvedTwice(s, d); got != 409 {
		t.Errorf("twice: %d", got)
	}
	one, two := quake("a", 1), quake("b", 1)
	one.Severity, two.Severity, two.Source, two.Refs = hazard.Warning, hazard.Warning, "emsc", []string{"usgs:a"}
	one.Refs = []string{"usgs:a"}
	one.Point, two.Point = &hazard.Point{Lon: -100, Lat: 0}, &hazard.Point{Lon: -100, Lat: 0}
	s.report(one)
	s.report(two)
	event := map[string]any{"source": "emsc", "event": "b"}
	approved(waits("red", "POST", "/hazards/"+hazard.EventUUID("usgs", "a").String()+"/split", event, "split"), 201)
	// By judging that what rules have joined is two.
	first, other := quake("c", 1), quake("d", 1)
	first.Severity, other.Severity, other.Source, first.Refs, other.Refs = hazard.Warning, hazard.Warning, "emsc", nil, nil
	first.Point, other.Point = &hazard.Point{Lon: -150, Lat: 0}, &hazard.Point{Lon: -149.7, Lat: 0}
	s.report(first)
	s.report(other)
	var doubtful struct {
		Joins []struct{ ID, State string } `json:"joins"`
	}
	s.do("red", "GET", "/joins?state=doubtful", nil).JSON(t, &doubtful)
	if len(doubtful.Joins) != 1 {
		t.Fatalf("%+v", doubtful)
	}
	d = waits("red", "POST", "/joins/"+doubtful.Joins[0].ID, `{"verdict":"different"}`, "split")
	if got := approved(d, 201); got.UUID != doubtful.Joins[0].ID {
		t.Errorf("%+v", got)
	}
	// By another login of the same user, by an admin, by a service, and by any of them for another.
	d = waits("red", "POST", "/hazards", warning(), "create")
	if got := s.do("red", "POST", "/drafts/"+d.ID+"/approve", nil); got.Status != 403 {
		t.Errorf("another login: %d %s", got.Status, got.Body)
	}
	d = waits("root", "POST", "/hazards", warning(), "create")
	if got := s.do("root", "POST", "/drafts/"+d.ID+"/approve", nil); got.Status != 403 {
		t.Errorf("an admin: %d %s", got.Status, got.Body)
	}
	_, text, err := s.Auth.CreateServiceToken(t.Context(), actor, "bot", "", auth.Scope(fmt.Sprintf("%s%d", auth.ScopeWrite, s.RedCross)), s.Now())
	if err != nil {
		t.Fatal(err)
	}
	service := []string{"Authorization", "Bearer " + string(text)}
	a := s.do("", "POST", "/hazards", warning(), service...)
	if a.JSON(t, &d); a.Status != 202 {
		t.Fatalf("a service: %d %s", a.Status, a.Body)
	}
	if got := s.do("", "POST", "/drafts/"+d.ID+"/approve", nil, service...); got.Status != 403 {
		t.Errorf("a service: %d %s", got.Status, got.Body)
	}
	if h := approved(d, 201); h.UUID != d.Hazard {
		t.Errorf("%+v", h)
	}
	// A repeated request finds what was approved.
	chosen := warning("uuid", uuid.NewString())
	d = waits("red", "POST", "/hazards", chosen, "create")
	approved(d, 201)
	if a := s.do("red", "POST", "/hazards", chosen); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	// CAP messages, lists and the log hold nothing of a draft; nor do messages.
	d = waits("red", "POST", "/hazards", warning("hazard_Name", "Unseen"), "create")
	for _, path := range []string{"/hazards", "/hazards/active", "/changes?since=0", "/cap/feed.atom"} {
		if a := s.do("reader", "GET", path, nil); strings.Contains(string(a.Body), "Unseen") || strings.Contains(string(a.Body), d.Hazard) {
			t.Errorf("%s shows a draft", path)
		}
	}
	if len(box) > 0 {
		t.Errorf("a message went out: %+v", <-box)
	}
	// A redaction reaches drafts.
	d = waits("red", "PATCH", "/hazards/"+small.UUID, `{"hazard_Name":"A private name"}`, "alter")
	if a := s.do("root", "POST", "/hazards/"+small.UUID+"/redact", `{"fields":["hazard_Name"],"reason":"privacy"}`); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := s.do("second", "GET", "/drafts/"+d.ID, nil); a.Status != 404 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func approvedTwice(s *world, d drafted) int {
	return s.do("second", "POST", "/drafts/"+d.ID+"/approve", nil).Status
}
