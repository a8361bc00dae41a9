package serve_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/server"
)

// A restricted product becomes public only if the request contains the flag.
func TestClearingOrganizationsPublishesNothing(t *testing.T) {
	s := start(t)
	h := s.hazard("red")
	for name, tt := range map[string]struct {
		patch  string
		status int
		flag   string
	}{
		"null":                         {`{"org_IDs":null}`, 400, "R"},
		"empty":                        {`{"org_IDs":""}`, 400, "R"},
		"null beside others":           {`{"org_IDs":null,"title":"New"}`, 400, "R"},
		"the flag alone":               {`{"security_Flag":"A"}`, 200, "A"},
		"null, and the flag":           {`{"org_IDs":null,"security_Flag":"A"}`, 200, "A"},
		"null, and restricted":         {`{"org_IDs":null,"security_Flag":"R"}`, 200, "R"},
		"the flag, and organizations":  {fmt.Sprintf(`{"org_IDs":"%d","security_Flag":"A"}`, s.RedCross), 400, "R"},
		"the organization that it has": {fmt.Sprintf(`{"org_IDs":"%d"}`, s.RedCross), 200, "R"},
	} {
		t.Run(name, func(t *testing.T) {
			p := s.product("red", h.HazardID, note("security_Flag", "R"))
			path := "/products/" + digits(p.ProductID)
			if a := s.do("red", "PATCH", path, tt.patch); a.Status != tt.status {
				t.Errorf("%d %s, want %d", a.Status, a.Body, tt.status)
			}
			if after, _ := s.get("red", path); after.SecurityFlag != tt.flag {
				t.Errorf("security_Flag %q, want %q", after.SecurityFlag, tt.flag)
			}
			want := 404
			if tt.flag == "A" {
				want = 200
			}
			if a := s.do("fire", "GET", path, nil); a.Status != want {
				t.Errorf("a member of another organization reads it: %d, want %d", a.Status, want)
			}
		})
	}
}

// A hazard that ends while a request to extend it is waiting is not extended.
func TestAHazardThatEndedMeanwhileIsNotExtended(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := start(t)
	const life = 5 * time.Second
	end := hazard.At(time.Now().Add(life))
	h := s.hazard("red", "end_Date", digits(int64(end)), "autoexpire", "Y")
	locked, release := make(chan bool), make(chan bool)
	var wait sync.WaitGroup
	wait.Go(func() { // another, slow writer
		_, err := s.Store.Write(context.WithoutCancel(t.Context()), s.Now(), store.Origin{}, func(*store.Tx) error {
			close(locked)
			<-release
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-locked
	timer := time.AfterFunc(time.Until(end.Time())+100*time.Millisecond, func() { close(release) })
	defer timer.Stop()
	later := digits(int64(end.Add(time.Hour)))
	a := s.do("red", "PATCH", "/hazards/"+h.UUID, `{"end_Date":"`+later+`"}`)
	wait.Wait()
	after, _ := s.get("red", "/hazards/"+h.UUID)
	if a.Status != 409 || after.Status != "E" || after.EndDate != digits(int64(end)) {
		t.Errorf("%d %s; then status %s, end_Date %s (was %d)", a.Status, a.Body, after.Status, after.EndDate, end)
	}
}

// If a source's later start comes after an editor's end, the hazard stays writable.
func TestAnEditorsEndBeforeASourcesStartStopsNoEditor(t *testing.T) {
	s := start(t)
	r := quake("late", 1)
	s.report(r)
	h := items(t, s.do("red", "GET", "/hazards/active", nil))[0]
	end := hazard.At(time.Now()).Add(10 * time.Minute)
	if a := s.do("red", "PATCH", "/hazards/"+h.UUID, `{"end_Date":"`+digits(int64(end))+`"}`); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	r.Version, r.Start = 2, end.Add(3*time.Minute)
	s.report(r)
	if a := s.do("red", "PATCH", "/hazards/"+h.UUID, `{"comment_Text":"still written"}`); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	after, _ := s.get("red", "/hazards/"+h.UUID)
	if after.EndDate != digits(int64(end)) || after.EndDate < after.StartDate {
		t.Errorf("start_Date %s, end_Date %s, the editor's is %d", after.StartDate, after.EndDate, end)
	}
}

// Fields that an editor sends back unchanged can still be changed and ended by the
// source.
func TestSendingBackWhatIsThereIsNoEdit(t *testing.T) {
	s := start(t)
	r := quake("same", 1)
	s.report(r)
	h := items(t, s.do("red", "GET", "/hazards/active", nil))[0]
	path := "/hazards/" + h.UUID
	var record map[string]jsontext.Value
	s.do("red", "GET", path, nil).JSON(t, &record)
	body := map[string]jsontext.Value{}
	for _, name := range []string{"hazard_Name", "description", "type_ID", "severity_ID", "category_ID", "status", "autoexpire", "start_Date", "end_Date", "latitude", "longitude", "snc_url", "comment_Text"} {
		if body[name] = record[name]; record[name] == nil {
			t.Fatalf("no %s in %v", name, record)
		}
	}
	before := len(changesOf(s, path))
	if a := s.do("red", "PATCH", path, body); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := s.do("red", "PATCH", path, `{"status":"A"}`); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if n := len(changesOf(s, path)); n != before {
		t.Errorf("sending back unchanged fields made %d changes", n-before)
	}
	r.Version, r.Name, r.Severity = 2, "Renamed", hazard.Watch
	s.report(r)
	if after, _ := s.get("red", path); after.Name != "Renamed" || after.SeverityID != "WATCH" {
		t.Errorf("the source cannot change it any more: %+v", after)
	}
	// Only the fields that differ belong to the editor.
	if a := s.do("red", "PATCH", path, `{"hazard_Name":"Ours","severity_ID":"WATCH","area":null}`); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	r.Version, r.Name, r.Severity = 3, "Renamed again", hazard.Warning
	s.report(r)
	if after, _ := s.get("red", path); after.Name != "Ours" || after.SeverityID != "WARNING" {
		t.Errorf("name %q, level %s: want the editor's name and the source's level", after.Name, after.SeverityID)
	}
	over := r.Start.Add(30 * time.Minute)
	r.Version, r.Ended, r.EndedAt = 4, hazard.EndCancelled, &over
	s.report(r)
	if after, _ := s.get("red", path); after.Status != "E" {
		t.Errorf("the source's cancellation was ignored: %+v", after)
	}
}

type change struct {
	Change int64
	Type   string
}

func changesOf(s *world, path string) (list []change) {
	s.do("root", "GET", path+"/changes", nil).JSON(s.t, &list)
	return list
}

// A change in /changes or in a search is in the lists, and no header is below the
// numbers in the same answer.
func TestChangesAreNeverAheadOfTheLists(t *testing.T) {
	s := start(t)
	reports := []hazard.Report{}
	for i := range 400 { // the view takes time to build
		r := quake(fmt.Sprint(i), 1)
		r.Point = &hazard.Point{Lon: float64(i%36)*10 - 180, Lat: float64(i/36)*10 - 60}
		reports = append(reports, r)
	}
	for part := range slices.Chunk(reports, 100) {
		s.report(part...)
	}
	h := s.hazard("red")
	number := func(a string) int64 { n, _ := strconv.ParseInt(a, 10, 64); return n }
	done := make(chan bool)
	var wait sync.WaitGroup
	wait.Go(func() {
		defer close(done)
		for i := range 60 {
			if a := s.do("red", "PATCH", "/hazards/"+h.UUID, fmt.Sprintf(`{"comment_Text":"%d"}`, i)); a.Status != 200 {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
	})
	defer wait.Wait()
	after := number(s.do("reader", "GET", "/hazards/active", nil).Header.Get("Hazardd-Change"))
	for more, search := true, false; more; search = !search {
		select {
		case <-done:
			more = false
		default:
		}
		told := int64(0)
		if search {
			told = number(s.do("reader", "GET", "/hazards?type=FLOOD", nil).Header.Get("Hazardd-Change"))
		} else {
			a := s.do("reader", "GET", "/changes?after="+digits(after), nil)
			var list []change
			if a.JSON(t, &list); len(list) > 0 {
				after = list[len(list)-1].Change
			}
			told = after
			if header := number(a.Header.Get("Hazardd-Change")); header < after {
				t.Fatalf("the header Hazardd-Change is %d, but the answer has change %d", header, after)
			}
		}
		if lists := number(s.do("reader", "GET", "/hazards/active", nil).Header.Get("Hazardd-Change")); lists < told {
			t.Fatalf("change %d was delivered, the lists are at %d", told, lists)
		}
	}
}

// A repeated creation by the same author returns the same hazard, even if the author
// has joined an organization since.
func TestARepeatedCreationIsTheSameAfterItsAuthorJoined(t *testing.T) {
	s := start(t)
	if err := s.Auth.Accounts().AddUser(t.Context(), actor, auth.NewUser{Name: "loner", Role: auth.Editor, Password: server.Password}, s.Now()); err != nil {
		t.Fatal(err)
	}
	below := "/hazards/" + s.hazard("loner").UUID + "/products"
	bodies := map[string]map[string]any{"/hazards": flood("uuid", uuid.NewString()), below: note("uuid", uuid.NewString())}
	for path, body := range bodies {
		if a := s.do("loner", "POST", path, body); a.Status != 201 {
			t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	if err := s.Auth.Accounts().SetOrgs(t.Context(), actor, "loner", []int64{s.RedCross}, s.Now()); err != nil {
		t.Fatal(err)
	}
	pair, err := s.Auth.Issue(t.Context(), actor, "loner", s.Now().Add(2*time.Second)) // older ones are invalid
	if err != nil {
		t.Fatal(err)
	}
	s.tokens.byUser["loner"] = pair.Access
	for path, body := range bodies {
		if a := s.do("loner", "POST", path, body); a.Status != 200 {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
}

// Events may begin at any time; only a time in seconds counts as a mistake.
func TestDatesBefore1973(t *testing.T) {
	s := start(t)
	for when, want := range map[string]int{"1970-05-31T20:23:00Z": 201, "1972-12-23T06:29:00Z": 201, "1970-01-04T17:00:00Z": 201, "1960-05-22T19:11:00Z": 201} {
		at, err := time.Parse(time.RFC3339, when)
		if err != nil {
			t.Fatal(err)
		}
		start, end := digits(at.UnixMilli()), digits(at.Add(time.Hour).UnixMilli())
		if a := s.do("red", "POST", "/hazards", flood("start_Date", start, "end_Date", end, "autoexpire", "N")); a.Status != want {
			t.Errorf("%s: %d %s", when, a.Status, a.Body)
		}
	}
	for _, ahead := range []time.Duration{-365 * 24 * time.Hour, 0, 24 * time.Hour} {
		seconds := digits(time.Now().Add(ahead).Unix())
		p := wantProblem(t, s.do("red", "POST", "/hazards", flood("start_Date", seconds)), 400)
		if !strings.Contains(p.Detail+p.Errors[0].Detail, "milliseconds") {
			t.Errorf("%s: %+v", seconds, p)
		}
	}
}

// A box that ends at the antimeridian contains places on it, whichever longitude they
// have.
func TestABoxHoldsTheAntimeridianItEndsAt(t *testing.T) {
	s := start(t)
	for _, lon := range []float64{-180, 180} {
		s.hazard("red", "hazard_Name", fmt.Sprint(lon), "longitude", lon)
		s.hazard("red", "hazard_Name", fmt.Sprint("over ", lon), "longitude", lon, "end_Date", digits(time.Now().Add(-time.Hour).UnixMilli()), "start_Date", digits(time.Now().Add(-2*time.Hour).UnixMilli()), "autoexpire", "N")
	}
	for _, where := range []string{"bbox=170,5,180,15", "bbox=-180,5,-170,15", "bbox=180,5,180,15", "bbox=-180,5,-180,15", "bbox=170,5,-170,15", "bbox=-180,-90,180,90",
		"intersects=POLYGON((170%205,180%205,180%2015,170%2015,170%205))", "intersects=POLYGON((-170%205,-170%2015,-180%2015,-180%205,-170%205))", "intersects=POINT(180%2010)"} {
		for _, path := range []string{"/hazards?", "/hazards/active?"} {
			if list := items(t, s.do("reader", "GET", path+where, nil)); len(list) != 4 {
				t.Errorf("%s%s finds %d of 4", path, where, len(list))
			}
		}
		var n struct{ Count int }
		if s.do("reader", "GET", "/hazards/count?"+where, nil).JSON(t, &n); n.Count != 4 {
			t.Errorf("%s counts %d of 4", where, n.Count)
		}
	}
}

// Source= finds every hazard that contains an event of the source.
func TestASourceFindsWhatItReportedToo(t *testing.T) {
	s := start(t)
	r := quake("one", 1)
	s.report(r)
	other := r
	other.Source, other.Key, other.Refs = "gdacs", "1", []string{"usgs:one"}
	s.report(other)
	ours := s.hazard("red")
	lone := quake("two", 1)
	lone.Source, lone.Point = "emsc", &hazard.Point{Lon: -60, Lat: -20}
	s.report(lone)
	all := items(t, s.do("reader", "GET", "/hazards/active", nil))
	if len(all) != 3 {
		t.Fatalf("%d hazards, want 3: %+v", len(all), all)
	}
	finds := func(source string) (n [3]int) {
		n[0] = len(items(t, s.do("reader", "GET", "/hazards?source="+source, nil)))
		n[1] = len(items(t, s.do("reader", "GET", "/hazards/active?source="+source, nil)))
		var count struct{ Count int }
		s.do("reader", "GET", "/hazards/count?source="+source, nil).JSON(t, &count)
		n[2] = count.Count
		return n
	}
	for source, want := range map[string]int{"usgs": 1, "gdacs": 1, "emsc": 1, "editors": 1, "gdacs,usgs": 1, "usgs,emsc": 2, "editors,gdacs,emsc": 3} {
		if got := finds(source); got != [3]int{want, want, want} {
			t.Errorf("source=%s: store, view and count find %v, want %d", source, got, want)
		}
	}
	// A person merges a source's hazard into an editor's, and undoes the merge.
	var quaking item
	for _, h := range all {
		if strings.HasPrefix(h.Name, "Earthquake two") {
			quaking = h
		}
	}
	path := "/hazards/" + quaking.UUID
	if a := s.do("root", "POST", path+"/merge", map[string]any{"into": ours.UUID}); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if list := items(t, s.do("reader", "GET", "/hazards/active?source=emsc", nil)); len(list) != 1 || list[0].UUID != ours.UUID {
		t.Errorf("source=emsc finds %+v", list)
	}
	if list := items(t, s.do("reader", "GET", "/hazards/active?source=editors", nil)); len(list) != 1 {
		t.Errorf("source=editors finds %+v", list)
	}
	list := changesOf(s, path)
	merged := list[slices.IndexFunc(list, func(c change) bool { return c.Type == "hazard.merged" })].Change
	if a := s.do("root", "POST", path+"/undo", map[string]any{"change": merged}); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if list := items(t, s.do("reader", "GET", "/hazards/active?source=emsc", nil)); len(list) != 1 || list[0].UUID != quaking.UUID {
		t.Errorf("after the undo source=emsc finds %+v", list)
	}
}
