package serve_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/sqlite/pagesum"
	"github.com/hazardd/hazardd/internal/test/server"
)

// writeCase is an editor's write, with its result or the members at fault.
type writeCase struct {
	as     string // empty: red
	body   any    // map: modified as by with; string: sent unchanged
	want   map[string]any
	faults []string
}

// checkWrite checks the answer to a write.
func checkWrite(t *testing.T, a server.Answer, c writeCase, status int) {
	t.Helper()
	if c.faults != nil {
		p := wantProblem(t, a, 400)
		if diff := cmp.Diff(c.faults, p.faults()); diff != "" {
			t.Errorf("named faults (-want +got):\n%s%s", diff, a.Body)
		}
		return
	}
	if a.Status != status {
		t.Fatalf("%d %.500s, want %d", a.Status, a.Body, status)
	}
	got := map[string]any{}
	a.JSON(t, &got)
	for name, want := range c.want {
		if f, ok := want.(int); ok {
			want = float64(f)
		}
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEditorMakesAHazard(t *testing.T) {
	s := start(t)
	soon := hazard.At(time.Now()).Add(time.Hour)
	long := strings.Repeat("ä", 500)
	triangle := map[string]any{"type": "Polygon", "coordinates": [][][]int{{{0, 0}, {1, 0}, {1, 1}, {0, 0}}}}
	for name, c := range map[string]writeCase{
		"of what is required alone": {body: flood(), want: map[string]any{"hazard_Name": "Flood", "description": "", "type_ID": "FLOOD", "severity_ID": "WATCH", "category_ID": "EVENT", "status": "A",
			"autoexpire": "N", "latitude": 10, "longitude": 20, "product_total": "0", "org_ID": int(s.RedCross), "app_ID": 1, "creator": "red", "update_User": "red", "comment_Text": ""}},
		"with every member": {body: flood("description", "a\r\nb", "category_ID", "EXERCISE", "start_Date", "1594771200000", "end_Date", soon.Digits(), "autoexpire", "Y", "area", triangle,
			"org_ID", -1, "snc_url", "https://example.org/ä", "comment_Text", "c", "uuid", "0190A0B0-0000-7000-8000-00000000000A"), want: map[string]any{"description": "a\nb", "category_ID": "EXERCISE",
			"start_Date": "1594771200000", "end_Date": soon.Digits(), "autoexpire": "Y", "org_ID": -1, "snc_url": "https://example.org/ä", "comment_Text": "c", "uuid": "0190a0b0-0000-7000-8000-00000000000a"}},
		"that began before 1970":                      {body: flood("start_Date", "-1"), want: map[string]any{"start_Date": "-1", "end_Date": "172799999"}},
		"that begins and ends in one moment":          {body: flood("start_Date", "1594771200000", "end_Date", "1594771200000"), want: map[string]any{"end_Date": "1594771200000"}},
		"with the longest name":                       {body: flood("hazard_Name", long), want: map[string]any{"hazard_Name": long}},
		"with a name of several lines":                {body: flood("hazard_Name", " a\u202e\n\tb\u0000 "), want: map[string]any{"hazard_Name": "a b"}},
		"with null where there is a default":          {body: flood("description", jsonNull, "comment_Text", jsonNull, "snc_url", jsonNull, "area", jsonNull), want: map[string]any{"description": ""}},
		"at the pole on the other side":               {body: flood("latitude", -90, "longitude", 180), want: map[string]any{"latitude": -90, "longitude": 180}},
		"of the greatest severity":                    {body: flood("severity_ID", "WARNING"), want: map[string]any{"severity_ID": "WARNING"}},
		"as admin, who has no organization":           {as: "root", body: flood(), want: map[string]any{"org_ID": -1}},
		"as admin, for an organization":               {as: "root", body: flood("org_ID", s.FireBrigade), want: map[string]any{"org_ID": int(s.FireBrigade)}},
		"but not as admin for none that exists":       {as: "root", body: flood("org_ID", 999), faults: []string{"/org_ID"}},
		"but not for another organization":            {body: flood("org_ID", s.FireBrigade), faults: []string{"/org_ID"}},
		"but not of nothing":                          {body: `{}`, faults: []string{"/hazard_Name", "/latitude", "/longitude", "/severity_ID", "/type_ID"}},
		"but not of null":                             {body: `null`, faults: []string{""}},
		"but not of an array":                         {body: `[{}]`, faults: []string{""}},
		"but not with text after it":                  {body: `{} {}`, faults: []string{""}},
		"but not with a doubled member":               {body: `{"hazard_Name":"a","hazard_Name":"b"}`, faults: []string{""}},
		"but not with a member doubled by an escape":  {body: `{"hazard_Name":"a","hazard_N\u0061me":"b"}`, faults: []string{""}},
		"but not with members that are the service's": {body: flood("hazard_ID", 1, "status", "E", "creator", "me", "last_Update", "1", "product_total", "7"), faults: []string{"/creator", "/hazard_ID", "/last_Update", "/product_total", "/status"}},
		"but not with members in another case":        {body: flood("hazard_name", "x", "Latitude", 1), faults: []string{"/Latitude", "/hazard_name"}},
		"but not with members that nobody knows":      {body: flood("a/b~c", 1, "", 2, "ä", 3), faults: []string{"/", "/a~1b~0c", "/ä"}},
		"but not with a fault in every member": {body: map[string]any{"hazard_Name": 1, "description": 1, "type_ID": "flood", "severity_ID": "NONE", "category_ID": "X", "autoexpire": true, "start_Date": int64(1594771200000),
			"end_Date": "2026-11-21T00:00:00Z", "latitude": "10", "longitude": 181, "area": map[string]any{"type": "Feature"}, "org_ID": "1", "snc_url": "javascript:alert(1)", "comment_Text": []int{}, "uuid": "x"},
			faults: []string{"/area", "/autoexpire", "/category_ID", "/comment_Text", "/description", "/end_Date", "/hazard_Name", "/latitude", "/longitude", "/org_ID", "/severity_ID", "/snc_url", "/start_Date", "/type_ID", "/uuid"}},
		"but not with an end before its beginning":            {body: flood("start_Date", soon.Digits(), "end_Date", "1594771200000"), faults: []string{"/end_Date"}},
		"but not with an end before, and another fault":       {body: flood("start_Date", soon.Digits(), "end_Date", "1594771200000", "x", 1, "type_ID", nil), faults: []string{"/end_Date", "/type_ID", "/x"}},
		"but not over at once":                                {body: flood("start_Date", "1594771200000", "end_Date", "1594771200001", "autoexpire", "Y"), faults: []string{"/end_Date"}},
		"but not with a start that cannot be read and an end": {body: flood("start_Date", "x", "end_Date", "-1"), faults: []string{"/start_Date"}},
		"but not with an empty name":                          {body: flood("hazard_Name", " \u200b\n"), faults: []string{"/hazard_Name"}},
		"but not with too long a name":                        {body: flood("hazard_Name", long+"a"), faults: []string{"/hazard_Name"}},
		"but not with too long a description":                 {body: flood("description", strings.Repeat("a", 100_001)), faults: []string{"/description"}},
		"but not with too long a comment":                     {body: flood("comment_Text", strings.Repeat("a", 10_001)), faults: []string{"/comment_Text"}},
		"but not with seconds for milliseconds":               {body: flood("start_Date", "1594771200"), faults: []string{"/start_Date"}},
		"but not in the far future":                           {body: flood("end_Date", "4102444800000000"), faults: []string{"/end_Date"}},
		"but not with a page that holds a password":           {body: flood("snc_url", "https://user:pw@example.org/"), faults: []string{"/snc_url"}},
		"but not with a page of this service's own":           {body: flood("snc_url", "/h/1"), faults: []string{"/snc_url"}},
		"but not with the uuid of nothing":                    {body: flood("uuid", uuid.Nil.String()), faults: []string{"/uuid"}},
		"but not with a uuid in braces":                       {body: flood("uuid", "{0190a0b0-0000-7000-8000-00000000000a}"), faults: []string{"/uuid"}},
		"but not with a latitude of null":                     {body: flood("latitude", jsonNull), faults: []string{"/latitude"}},
		"but not at infinity":                                 {body: `{"hazard_Name":"a","type_ID":"FLOOD","severity_ID":"WATCH","latitude":1e400,"longitude":-1e400}`, faults: []string{"/latitude", "/longitude"}},
		"but not as nobody's number":                          {body: `{"hazard_Name":"a","type_ID":"FLOOD","severity_ID":"WATCH","latitude":1,"longitude":1,"org_ID":1.5}`, faults: []string{"/org_ID"}},
	} {
		t.Run(name, func(t *testing.T) {
			as := c.as
			if as == "" {
				as = "red"
			}
			a := s.do(as, "POST", "/hazards", c.body)
			checkWrite(t, a, c, http.StatusCreated)
			if c.faults != nil {
				return
			}
			var made item
			a.JSON(t, &made)
			if want := fmt.Sprintf("%s/hazards/%d", s.URL(), made.HazardID); a.Header.Get("Location") != want || a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("Location %s, Cache-Control %s; want %s", a.Header.Get("Location"), a.Header.Get("Cache-Control"), want)
			}
			for _, ref := range []string{digits(made.HazardID), made.UUID, strings.ToUpper(made.UUID)} {
				if got := s.do("reader", "GET", "/hazards/"+ref, nil); string(got.Body) != string(a.Body) { // a user sees their own write at once
					t.Errorf("GET /hazards/%s: %d %s, want the result of the write", ref, got.Status, got.Body)
				}
			}
		})
	}
	t.Run("and many unknown members are not told one by one", func(t *testing.T) {
		var body strings.Builder
		body.WriteString(`{"x":0`)
		for i := range 100_000 {
			fmt.Fprintf(&body, `,"x%d":0`, i)
		}
		a := s.do("red", "POST", "/hazards", body.String()+"}")
		if wantProblem(t, a, 400); len(a.Body) > 200_000 {
			t.Errorf("a body of %d bytes is answered with %d", body.Len(), len(a.Body))
		}
	})
}

// jsonNull is a null in a body, because with removes nil values.
var jsonNull = (*int)(nil)

func TestLivesOfHazards(t *testing.T) {
	s := start(t)
	for _, ty := range hazard.Types() {
		made := s.hazard("red", "type_ID", ty.ID, "start_Date", "1594771200000")
		if want := hazard.Instant(1594771200000).Add(ty.Life).Digits(); made.EndDate != want {
			t.Errorf("a hazard of type %s without an end ends at %s, want %s", ty.ID, made.EndDate, want)
		}
	}
}

func TestEditorAltersAHazard(t *testing.T) {
	s := start(t)
	soon := hazard.At(time.Now()).Add(time.Hour)
	for name, c := range map[string]struct {
		first []any // members of the hazard
		writeCase
	}{
		"name and text":                 {nil, writeCase{body: `{"hazard_Name":"New","description":"d","comment_Text":"c"}`, want: map[string]any{"hazard_Name": "New", "description": "d", "comment_Text": "c", "severity_ID": "WATCH"}}},
		"type, severity and place":      {nil, writeCase{body: `{"type_ID":"STORM","severity_ID":"WARNING","latitude":-1.5,"longitude":0}`, want: map[string]any{"type_ID": "STORM", "severity_ID": "WARNING", "latitude": -1.5, "longitude": 0}}},
		"its times":                     {nil, writeCase{body: `{"start_Date":"1594771200000","end_Date":"` + soon.Digits() + `","autoexpire":"Y"}`, want: map[string]any{"start_Date": "1594771200000", "end_Date": soon.Digits(), "autoexpire": "Y"}}},
		"its page, away":                {[]any{"snc_url", "https://example.org"}, writeCase{body: `{"snc_url":null,"description":null}`, want: map[string]any{"description": ""}}},
		"its area, away":                {[]any{"area", map[string]any{"type": "Point", "coordinates": []int{1, 2}}}, writeCase{body: `{"area":null}`}},
		"nothing":                       {nil, writeCase{body: `{}`, want: map[string]any{"update_User": "red"}}},
		"nothing new":                   {nil, writeCase{body: `{"hazard_Name":"Flood"}`}},
		"an event to a response":        {nil, writeCase{body: `{"category_ID":"RESPONSE"}`, want: map[string]any{"category_ID": "RESPONSE"}}},
		"no event to an exercise":       {nil, writeCase{body: `{"category_ID":"EXERCISE"}`, faults: []string{"/category_ID"}}},
		"no response to an event":       {[]any{"category_ID", "RESPONSE"}, writeCase{body: `{"category_ID":"EVENT"}`, faults: []string{"/category_ID"}}},
		"no exercise to a response":     {[]any{"category_ID", "EXERCISE"}, writeCase{body: `{"category_ID":"RESPONSE"}`, faults: []string{"/category_ID"}}},
		"an exercise to what it is":     {[]any{"category_ID", "EXERCISE"}, writeCase{body: `{"category_ID":"EXERCISE"}`}},
		"its end":                       {nil, writeCase{body: `{"status":"E"}`, want: map[string]any{"status": "E", "severity_ID": "WATCH"}}},
		"its end before its beginning":  {[]any{"start_Date", soon.Digits()}, writeCase{body: `{"status":"E"}`, want: map[string]any{"status": "E", "end_Date": soon.Digits()}}},
		"what is the service's own":     {nil, writeCase{body: `{"hazard_ID":1,"uuid":"0190a0b0-0000-7000-8000-00000000000b","org_ID":-1,"creator":"x","create_Date":"1","roles":[]}`, faults: []string{"/create_Date", "/creator", "/hazard_ID", "/org_ID", "/roles", "/uuid"}}},
		"to no status":                  {nil, writeCase{body: `{"status":"X"}`, faults: []string{"/status"}}},
		"to a status of null":           {nil, writeCase{body: `{"status":null}`, faults: []string{"/status"}}},
		"to an empty name":              {nil, writeCase{body: `{"hazard_Name":null}`, faults: []string{"/hazard_Name"}}},
		"to an end before the start":    {nil, writeCase{body: `{"end_Date":"1594771200000"}`, faults: []string{"/end_Date"}}},
		"several faults at once":        {nil, writeCase{body: `{"x":1,"latitude":91,"end_Date":"1594771200000","category_ID":"OTHER"}`, faults: []string{"/category_ID", "/end_Date", "/latitude", "/x"}}},
		"to what is over already":       {nil, writeCase{body: `{"start_Date":"1594771200000","end_Date":"1594771200001","autoexpire":"Y"}`, want: map[string]any{"status": "E", "end_Date": "1594771200001"}}},
		"by something that is no patch": {nil, writeCase{body: `[]`, faults: []string{""}}},
	} {
		t.Run(name, func(t *testing.T) {
			made := s.hazard("red", c.first...)
			path := "/hazards/" + made.UUID
			a := s.do("red", "PATCH", path, c.body)
			checkWrite(t, a, c.writeCase, http.StatusOK)
			if got := s.do("red", "GET", path, nil); c.faults == nil && string(got.Body) != string(a.Body) {
				t.Errorf("the write returned %s, a read returns %s", a.Body, got.Body)
			}
			active := slices.ContainsFunc(items(t, s.do("red", "GET", "/hazards/active", nil)), func(it item) bool { return it.HazardID == made.HazardID })
			if over := c.want["status"] == "E"; active == over {
				t.Errorf("it is listed as active: %v; it has ended: %v", active, over)
			}
		})
	}
	t.Run("but what is over does not begin again", func(t *testing.T) {
		made := s.hazard("red")
		path := "/hazards/" + digits(made.HazardID)
		s.do("red", "PATCH", path, `{"status":"E"}`)
		if p := wantProblem(t, s.do("red", "PATCH", path, `{"status":"A"}`), 400); !slices.Equal(p.faults(), []string{"/status"}) {
			t.Errorf("faults %v", p.faults())
		}
		if a := s.do("red", "PATCH", path, `{"status":"E","description":"added later"}`); a.Status != 200 {
			t.Errorf("its text cannot be changed: %d %s", a.Status, a.Body)
		}
	})
	t.Run("but none that there is not", func(t *testing.T) {
		for path, status := range map[string]int{"/hazards/999999": 404, "/hazards/" + uuid.NewString(): 404, "/hazards/x": 400} {
			wantProblem(t, s.do("red", "PATCH", path, `{}`), status)
			wantProblem(t, s.do("red", "POST", path+"/retract", `{"reason":"r"}`), status)
			wantProblem(t, s.do("red", "POST", path+"/products", note()), status)
		}
	})
	t.Run("and a patch that changes nothing makes no change", func(t *testing.T) {
		made := s.hazard("red")
		before := s.do("reader", "GET", "/hazards/"+made.UUID+"/changes", nil)
		if a := s.do("red", "PATCH", "/hazards/"+made.UUID, `{"hazard_Name":"Flood","severity_ID":"WATCH","latitude":10.0}`); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if after := s.do("reader", "GET", "/hazards/"+made.UUID+"/changes", nil); string(after.Body) != string(before.Body) {
			t.Errorf("the history grew: %s", after.Body)
		}
	})
}

func TestEditorRetractsAFalseHazard(t *testing.T) {
	s := start(t)
	for name, c := range map[string]writeCase{
		"with a reason":              {body: `{"reason":"a drill\r\nby mistake"}`, want: map[string]any{"status": "E", "severity_ID": "TERMINATION"}},
		"but not without":            {body: `{}`, faults: []string{"/reason"}},
		"but not with an empty one":  {body: `{"reason":" "}`, faults: []string{"/reason"}},
		"but not with more than one": {body: `{"reason":"x","status":"E"}`, faults: []string{"/status"}},
		"but not with a number":      {body: `{"reason":1}`, faults: []string{"/reason"}},
	} {
		t.Run(name, func(t *testing.T) {
			made := s.hazard("red")
			a := s.do("red", "POST", "/hazards/"+made.UUID+"/retract", c.body)
			checkWrite(t, a, c, http.StatusOK)
			if c.faults != nil {
				return
			}
			var changes []struct {
				Type, Reason, Note string
				Retracted          bool
			}
			s.do("reader", "GET", "/hazards/"+made.UUID+"/changes", nil).JSON(t, &changes)
			if last := changes[len(changes)-1]; len(changes) != 2 || last.Type != "hazard.expired" || last.Reason != "retracted" || !last.Retracted || last.Note != "a drill\nby mistake" {
				t.Errorf("%+v", changes)
			}
			if again := s.do("red", "POST", "/hazards/"+made.UUID+"/retract", `{"reason":"again"}`); again.Status != 200 || string(again.Body) != string(a.Body) {
				t.Errorf("again: %d %s", again.Status, again.Body)
			}
		})
	}
}

func TestWriterSaysWhichStateHeHasRead(t *testing.T) {
	s := start(t)
	made := s.hazard("red", "description", strings.Repeat("long ", 1000))
	root := s.product("red", made.HazardID, note("data", strings.Repeat("long ", 1000)))
	for kind, path := range map[string]string{"hazard": "/hazards/" + made.UUID, "product": "/products/" + digits(root.ProductID)} {
		for name, tt := range map[string]struct {
			match  func(tag string) string
			status int
		}{
			"the present one":                    {func(tag string) string { return tag }, 200},
			"the present one among others":       {func(tag string) string { return `"a", ` + tag + `,"b"` }, 200},
			"any":                                {func(string) string { return "*" }, 200},
			"another":                            {func(string) string { return `"another"` }, 412},
			"the present one, weakly":            {func(tag string) string { return "W/" + tag }, 412},
			"the present one without quotes":     {func(tag string) string { return strings.Trim(tag, `"`) }, 412},
			"nothing":                            {func(string) string { return "" }, 412},
			"the tag of what is no state at all": {func(string) string { return `"` + strings.Repeat("a", 1000) + `"` }, 412},
		} {
			t.Run(kind+": "+name, func(t *testing.T) {
				for _, coding := range []string{"identity", "gzip", "br", "zstd"} {
					tag := s.do("red", "GET", path, nil, "Accept-Encoding", coding).Header.Get("Etag")
					if a := s.do("red", "PATCH", path, map[string]any{"comment_Text": fmt.Sprint(name, coding)}, "If-Match", tt.match(tag)); a.Status != tt.status {
						t.Errorf("%s: %d %.300s, want %d", coding, a.Status, a.Body, tt.status)
					}
				}
			})
		}
		t.Run(kind+": one that is past", func(t *testing.T) {
			tag := s.do("red", "GET", path, nil).Header.Get("Etag")
			if a := s.do("red", "PATCH", path, `{"comment_Text":"first"}`, "If-Match", tag); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			p := wantProblem(t, s.do("red", "PATCH", path, `{"comment_Text":"second"}`, "If-Match", tag), 412)
			if !strings.Contains(p.Detail, "change") {
				t.Errorf("detail: %s", p.Detail)
			}
			if kind == "hazard" {
				wantProblem(t, s.do("red", "POST", path+"/retract", `{"reason":"r"}`, "If-Match", tag), 412)
			} else {
				wantProblem(t, s.do("red", "DELETE", path, nil, "If-Match", tag), 412)
			}
		})
	}
	t.Run("of fifty writers who have read the same state one wins", func(t *testing.T) {
		path := "/hazards/" + made.UUID
		tag := s.do("red", "GET", path, nil).Header.Get("Etag")
		var won atomic.Int64
		var writers sync.WaitGroup
		for i := range 50 {
			writers.Go(func() {
				switch a := s.do("red", "PATCH", path, map[string]any{"comment_Text": strconv.Itoa(i)}, "If-Match", tag); a.Status {
				case 200:
					won.Add(1)
				case 412:
				default:
					t.Errorf("%d %s", a.Status, a.Body)
				}
			})
		}
		writers.Wait()
		if won.Load() != 1 {
			t.Errorf("%d of 50 writers won", won.Load())
		}
	})
}

func TestSameWriteTwiceMakesOneThing(t *testing.T) {
	s := start(t)
	below := s.hazard("red", "org_ID", -1)
	const id = "0190a0b0-0000-7000-8000-0000000000"
	for kind, k := range map[string]struct {
		path string
		body func(more ...any) map[string]any
	}{"hazard": {"/hazards", flood}, "product": {"/hazards/" + digits(below.HazardID) + "/products", note}} {
		var n int
		for name, tt := range map[string]struct {
			first, second []any
			as            string
			between       string // a patch in between
			status        int
		}{
			"the same body":                             {nil, nil, "red", "", 200},
			"the same body after an alteration":         {nil, nil, "red", `{"comment_Text":"c"}`, 200},
			"the same values, said in other words":      {[]any{"comment_Text", "a"}, []any{"comment_Text", " a\u200b"}, "red", "", 200},
			"another comment":                           {[]any{"comment_Text", "a"}, []any{"comment_Text", "b"}, "red", "", 409},
			"a member less":                             {[]any{"comment_Text", "a"}, nil, "red", "", 409},
			"a member more":                             {nil, []any{"comment_Text", "a"}, "red", "", 409},
			"the body of after an alteration":           {nil, []any{"comment_Text", "c"}, "red", `{"comment_Text":"c"}`, 409},
			"another user of another organization":      {nil, nil, "fire", "", 409},
			"an admin":                                  {nil, nil, "root", "", 409},
			"an invalid body with the uuid of this one": {nil, []any{"comment_Text", 1}, "red", "", 400},
		} {
			n++
			own := id + fmt.Sprintf("%02x", n)
			if kind == "product" {
				own = id + fmt.Sprintf("f%x", n)
			}
			t.Run(kind+": "+name, func(t *testing.T) {
				first := s.do("red", "POST", k.path, k.body(append(tt.first, "uuid", own)...))
				if first.Status != 201 {
					t.Fatalf("first: %d %s", first.Status, first.Body)
				}
				state := first.Body
				if tt.between != "" {
					a := s.do("red", "PATCH", strings.Replace(first.Header.Get("Location"), s.URL(), "", 1), tt.between)
					state = a.Body
				}
				second := s.do(tt.as, "POST", k.path, k.body(append(tt.second, "uuid", own)...))
				if second.Status != tt.status {
					t.Fatalf("second: %d %s, want %d", second.Status, second.Body, tt.status)
				}
				if tt.status == 200 && (string(second.Body) != string(state) || second.Header.Get("Location") != first.Header.Get("Location")) {
					t.Errorf("second: %s at %s, want %s", second.Body, second.Header.Get("Location"), state)
				}
			})
		}
	}
	t.Run("a hazard that has ended meanwhile", func(t *testing.T) {
		p := handle(t)
		body := flood("uuid", id+"e0", "end_Date", hazard.At(time.Now()).Add(time.Minute).Digits(), "autoexpire", "Y")
		first := p.do("editor", "POST", "/hazards", body)
		p.ahead.Store(int64(2 * time.Minute))
		if a := p.do("editor", "POST", "/hazards", maps.Clone(body)); first.Status != 201 || a.Status != 200 {
			t.Errorf("first %d, second %d %s", first.Status, a.Status, a.Body)
		}
	})
	t.Run("a file", func(t *testing.T) {
		body := file("uuid", id+"e1")
		for _, tt := range []struct {
			name    string
			content string
			status  int
		}{{"a.txt", "one", 201}, {"a.txt", "one", 200}, {"a.txt", "two", 409}, {"b.txt", "one", 409}} {
			if a := s.upload("red", below.HazardID, body, tt.name, []byte(tt.content)); a.Status != tt.status {
				t.Errorf("%s %s: %d %s, want %d", tt.name, tt.content, a.Status, a.Body, tt.status)
			}
		}
	})
	t.Run("a product below another hazard", func(t *testing.T) {
		other := s.hazard("red")
		body := note("uuid", id+"e2")
		s.product("red", below.HazardID, maps.Clone(body))
		wantProblem(t, s.do("red", "POST", "/hazards/"+digits(other.HazardID)+"/products", body), 409)
	})
	t.Run("a product that was deleted", func(t *testing.T) {
		body := note("uuid", id+"e3")
		made := s.product("red", below.HazardID, maps.Clone(body))
		s.do("red", "DELETE", "/products/"+digits(made.ProductID), nil)
		wantProblem(t, s.do("red", "POST", "/hazards/"+digits(below.HazardID)+"/products", body), 409)
	})
	t.Run("twenty at the same time", func(t *testing.T) {
		var made atomic.Int64
		var writers sync.WaitGroup
		for range 20 {
			writers.Go(func() {
				if a := s.do("red", "POST", "/hazards", flood("uuid", id+"e4")); a.Status == 201 {
					made.Add(1)
				} else if a.Status != 200 {
					t.Errorf("%d %s", a.Status, a.Body)
				}
			})
		}
		writers.Wait()
		if made.Load() != 1 {
			t.Errorf("%d hazards were created", made.Load())
		}
	})
}

func TestEditorMakesAProduct(t *testing.T) {
	s := start(t)
	flood, other := s.hazard("red", "org_ID", -1), s.hazard("red") // every editor may write the first
	root := s.product("red", flood.HazardID, folder())
	elsewhere := s.product("red", other.HazardID, folder())
	text := s.product("red", flood.HazardID, note())
	closed := s.product("red", flood.HazardID, folder("security_Flag", "R"))
	hidden := s.product("fire", flood.HazardID, folder("security_Flag", "R"))
	rc, fb := digits(s.RedCross), digits(s.FireBrigade)
	for name, c := range map[string]writeCase{
		"text": {body: note(), want: map[string]any{"title": "Note", "product_Type": "TEXT_PRODUCT", "data": "text", "parent_ID": 0, "filename": nil, "suffix": "", "product_url": nil, "comment_Text": "", "is_Hidden": "N",
			"security_Flag": "A", "org_ID": int(s.RedCross), "org_IDs": "", "user_ID": "red", "update_User": "red", "geo_Locations": "", "hazard_ID": int(flood.HazardID), "app_IDs": "1"}},
		"text with every member": {body: note("uuid", "0190a0b0-0000-7000-8000-0000000000aa", "data", "a\r\nb", "parent_ID", root.ProductID, "comment_Text", "c", "is_Hidden", "Y", "security_Flag", "R", "org_IDs", rc+", "+fb+","+rc,
			"org_ID", -1, "timeline_Date", "1594771200000", "geo_Locations", "point(1  2)"), want: map[string]any{"uuid": "0190a0b0-0000-7000-8000-0000000000aa", "data": "a\nb", "parent_ID": int(root.ProductID),
			"comment_Text": "c", "is_Hidden": "Y", "security_Flag": "R", "org_IDs": digits(min(s.RedCross, s.FireBrigade)) + "," + digits(max(s.RedCross, s.FireBrigade)), "org_ID": -1, "timeline_Date": "1594771200000", "geo_Locations": "POINT(1 2)"}},
		"folder":                                   {body: folder(), want: map[string]any{"suffix": "folder", "data": nil}},
		"folder with empty data":                   {body: folder("data", ""), want: map[string]any{"data": nil}},
		"hyperlink":                                {body: note("product_Type", "URL_PRODUCT", "data", "https://example.org/a?b=c"), want: map[string]any{"data": "https://example.org/a?b=c"}},
		"restricted by the flag to its own":        {body: note("security_Flag", "R"), want: map[string]any{"org_IDs": rc, "security_Flag": "R"}},
		"restricted by organizations alone":        {body: note("org_IDs", rc), want: map[string]any{"org_IDs": rc, "security_Flag": "R"}},
		"restricted like the folder that it is in": {body: note("parent_ID", closed.ProductID), want: map[string]any{"org_IDs": rc, "security_Flag": "R"}},
		"open by an empty list":                    {body: note("org_IDs", ""), want: map[string]any{"security_Flag": "A"}},
		"for no organization":                      {body: note("org_ID", -1), want: map[string]any{"org_ID": -1}},

		"nothing":                                   {body: `{}`, faults: []string{"/product_Type", "/title"}},
		"text without a text":                       {body: note("data", nil), faults: []string{"/data"}},
		"text without a text, and more faults":      {body: note("data", nil, "title", nil, "x", 1, "parent_ID", 999), faults: []string{"/data", "/parent_ID", "/title", "/x"}},
		"hyperlink without one":                     {body: note("product_Type", "URL_PRODUCT", "data", nil), faults: []string{"/data"}},
		"hyperlink to a script":                     {body: note("product_Type", "URL_PRODUCT", "data", "javascript:alert(1)"), faults: []string{"/data"}},
		"hyperlink to a path":                       {body: note("product_Type", "URL_PRODUCT", "data", "/x"), faults: []string{"/data"}},
		"folder with data":                          {body: folder("data", "x"), faults: []string{"/data"}},
		"file without a file":                       {body: file(), faults: []string{"/file"}},
		"no type":                                   {body: note("product_Type", "TEXT"), faults: []string{"/product_Type"}},
		"every member at fault":                     {body: map[string]any{"title": "", "product_Type": 1, "data": 1, "parent_ID": "x", "comment_Text": 1, "is_Hidden": 0, "security_Flag": "X", "org_IDs": "999", "org_ID": s.FireBrigade, "timeline_Date": 0, "geo_Locations": "POINT(1)", "uuid": 1}, faults: []string{"/comment_Text", "/data", "/geo_Locations", "/is_Hidden", "/org_ID", "/org_IDs", "/parent_ID", "/product_Type", "/security_Flag", "/timeline_Date", "/title", "/uuid"}},
		"members of the service's own":              {body: note("product_ID", 1, "hazard_ID", 2, "user_ID", "x", "update_User", "x", "filename", "x", "product_url", "x", "suffix", "x", "create_Date", "1"), faults: []string{"/create_Date", "/filename", "/hazard_ID", "/product_ID", "/product_url", "/suffix", "/update_User", "/user_ID"}},
		"in a folder of another hazard":             {body: note("parent_ID", elsewhere.ProductID), faults: []string{"/parent_ID"}},
		"in a folder that is none":                  {body: note("parent_ID", text.ProductID), faults: []string{"/parent_ID"}},
		"in no folder":                              {body: note("parent_ID", -1), faults: []string{"/parent_ID"}},
		"in a folder that he may not know of":       {body: note("parent_ID", hidden.ProductID), faults: []string{"/parent_ID"}},
		"open in a restricted folder":               {body: note("parent_ID", closed.ProductID, "security_Flag", "A"), faults: []string{"/org_IDs"}},
		"for more than its folder is for":           {body: note("parent_ID", closed.ProductID, "org_IDs", rc+","+fb), faults: []string{"/org_IDs"}},
		"open, but for an organization":             {body: note("security_Flag", "A", "org_IDs", rc), faults: []string{"/security_Flag"}},
		"for others alone":                          {body: note("org_IDs", fb), faults: []string{"/org_IDs"}},
		"restricted by who has no organization":     {as: "root", body: note("security_Flag", "R"), faults: []string{"/org_IDs"}},
		"restricted by admin to others":             {as: "root", body: note("org_IDs", rc), faults: []string{"/org_IDs"}},
		"by admin for an organization of no such":   {as: "root", body: note("org_ID", 999), faults: []string{"/org_ID"}},
		"for organizations that are no numbers":     {body: note("org_IDs", rc+",x"), faults: []string{"/org_IDs"}},
		"for organizations as numbers":              {body: note("org_IDs", s.RedCross), faults: []string{"/org_IDs"}},
		"with too long a title":                     {body: note("title", strings.Repeat("a", 501)), faults: []string{"/title"}},
		"with a text of more than a million":        {body: note("data", strings.Repeat("a", 1_000_001)), faults: []string{"/data"}},
		"at a place that is none":                   {body: note("geo_Locations", "POINT(200 10)"), faults: []string{"/geo_Locations"}},
		"at a time of seconds instead of thousands": {body: note("timeline_Date", "1594771200"), faults: []string{"/timeline_Date"}},
	} {
		t.Run(name, func(t *testing.T) {
			as := c.as
			if as == "" {
				as = "red"
			}
			a := s.do(as, "POST", "/hazards/"+flood.UUID+"/products", c.body)
			checkWrite(t, a, c, http.StatusCreated)
			if c.faults != nil {
				return
			}
			var made item
			a.JSON(t, &made)
			if want := fmt.Sprintf("%s/products/%d", s.URL(), made.ProductID); a.Header.Get("Location") != want {
				t.Errorf("Location %s, want %s", a.Header.Get("Location"), want)
			}
			for _, ref := range []string{digits(made.ProductID), made.UUID} {
				if got := s.do("red", "GET", "/products/"+ref, nil); string(got.Body) != "["+string(a.Body)+"]" {
					t.Errorf("GET /products/%s: %d %s, want the result of the write", ref, got.Status, got.Body)
				}
			}
		})
	}
	t.Run("a file that is called something else", func(t *testing.T) {
		if p := wantProblem(t, s.upload("red", flood.HazardID, note(), "a.txt", []byte("x")), 400); !slices.Equal(p.faults(), []string{"/product_Type"}) {
			t.Errorf("faults %v", p.faults())
		}
		if p := wantProblem(t, s.upload("red", flood.HazardID, file("data", "x", "y", 1), "a.txt", []byte("x")), 400); !slices.Equal(p.faults(), []string{"/data", "/y"}) {
			t.Errorf("faults %v", p.faults())
		}
	})
}

func TestEditorAltersAndDeletesProducts(t *testing.T) {
	s := start(t)
	flood := s.hazard("red")
	rc := digits(s.RedCross)
	// The tree is top/middle/leaf, with a restricted folder beside it.
	top := s.product("red", flood.HazardID, folder())
	middle := s.product("red", flood.HazardID, folder("parent_ID", top.ProductID))
	leaf := s.product("red", flood.HazardID, note("parent_ID", middle.ProductID))
	closed := s.product("red", flood.HazardID, folder("security_Flag", "R"))
	link := s.product("red", flood.HazardID, note("product_Type", "URL_PRODUCT", "data", "https://example.org"))
	for _, step := range []struct {
		name    string
		product item
		writeCase
	}{
		{"a title, a comment and a text", leaf, writeCase{body: `{"title":"New","comment_Text":"c","data":"d","is_Hidden":"Y"}`, want: map[string]any{"title": "New", "comment_Text": "c", "data": "d", "is_Hidden": "Y", "update_User": "red"}}},
		{"nothing", leaf, writeCase{body: `{}`, want: map[string]any{"title": "New"}}},
		{"a text away", leaf, writeCase{body: `{"data":null}`, faults: []string{"/data"}}},
		{"its type", leaf, writeCase{body: `{"product_Type":"URL_PRODUCT","org_ID":1,"uuid":"0190a0b0-0000-7000-8000-0000000000aa","hazard_ID":1}`, faults: []string{"/hazard_ID", "/org_ID", "/product_Type", "/uuid"}}},
		{"a hyperlink to a script", link, writeCase{body: `{"data":"javascript:alert(1)"}`, faults: []string{"/data"}}},
		{"the title of a hyperlink", link, writeCase{body: `{"title":"Link"}`, want: map[string]any{"data": "https://example.org", "title": "Link"}}},
		{"a place, and away again", leaf, writeCase{body: `{"geo_Locations":"POINT(3 4)"}`, want: map[string]any{"geo_Locations": "POINT(3 4)"}}},
		{"a place away", leaf, writeCase{body: `{"geo_Locations":null}`, want: map[string]any{"geo_Locations": ""}}},
		{"a folder into itself", top, writeCase{body: map[string]any{"parent_ID": top.ProductID}, faults: []string{"/parent_ID"}}},
		{"a folder into what is in it", top, writeCase{body: map[string]any{"parent_ID": middle.ProductID}, faults: []string{"/parent_ID"}}},
		{"a product into a product", leaf, writeCase{body: map[string]any{"parent_ID": link.ProductID}, faults: []string{"/parent_ID"}}},
		{"a product to the root", leaf, writeCase{body: `{"parent_ID":0}`, want: map[string]any{"parent_ID": 0}}},
		{"a product back", leaf, writeCase{body: map[string]any{"parent_ID": middle.ProductID}, want: map[string]any{"parent_ID": int(middle.ProductID)}}},
		{"an open product into a restricted folder", leaf, writeCase{body: map[string]any{"parent_ID": closed.ProductID}, faults: []string{"/org_IDs"}}},
		{"a product into a restricted folder, restricted", leaf, writeCase{body: map[string]any{"parent_ID": closed.ProductID, "security_Flag": "R"}, want: map[string]any{"org_IDs": rc, "security_Flag": "R"}}},
		{"a product in a restricted folder, opened", leaf, writeCase{body: `{"security_Flag":"A"}`, faults: []string{"/org_IDs"}}},
		{"a product in a restricted folder, opened by null", leaf, writeCase{body: `{"org_IDs":null}`, faults: []string{"/org_IDs"}}},
		{"a product out of a restricted folder stays restricted", leaf, writeCase{body: map[string]any{"parent_ID": middle.ProductID}, want: map[string]any{"security_Flag": "R", "org_IDs": rc}}},
		{"a product, opened", leaf, writeCase{body: `{"security_Flag":"A"}`, want: map[string]any{"security_Flag": "A", "org_IDs": ""}}},
		{"a folder restricted with an open product in it", middle, writeCase{body: `{"security_Flag":"R"}`, faults: []string{"/org_IDs"}}},
		{"a folder restricted with an open folder in it", top, writeCase{body: `{"security_Flag":"R"}`, faults: []string{"/org_IDs"}}},
		{"a product restricted", leaf, writeCase{body: `{"security_Flag":"R"}`, want: map[string]any{"org_IDs": rc}}},
		{"a folder restricted with a restricted product in it", middle, writeCase{body: `{"security_Flag":"R"}`, want: map[string]any{"org_IDs": rc}}},
		{"several faults at once", leaf, writeCase{body: map[string]any{"parent_ID": link.ProductID, "x": 1, "title": "", "security_Flag": "A", "org_IDs": rc}, faults: []string{"/parent_ID", "/security_Flag", "/title", "/x"}}},
	} {
		t.Run(step.name, func(t *testing.T) {
			path := "/products/" + digits(step.product.ProductID)
			a := s.do("red", "PATCH", path, step.body)
			checkWrite(t, a, step.writeCase, http.StatusOK)
			if got := s.do("red", "GET", path, nil); step.faults == nil && string(got.Body) != "["+string(a.Body)+"]" {
				t.Errorf("the write returned %s, a read returns %s", a.Body, got.Body)
			}
		})
	}
	t.Run("a folder goes only when it is empty", func(t *testing.T) {
		for _, step := range []struct {
			id     int64
			status int
		}{{top.ProductID, 409}, {middle.ProductID, 409}, {leaf.ProductID, 204}, {leaf.ProductID, 404}, {top.ProductID, 409}, {middle.ProductID, 204}, {top.ProductID, 204}, {999, 404}} {
			a := s.do("red", "DELETE", "/products/"+digits(step.id), nil)
			if a.Status != step.status || step.status == 204 && len(a.Body) > 0 {
				t.Errorf("DELETE %d: %d %s, want %d", step.id, a.Status, a.Body, step.status)
			}
			if step.status == 204 {
				for _, path := range []string{"/products/" + digits(step.id), "/products/" + digits(step.id) + "/file"} {
					wantProblem(t, s.do("red", "GET", path, nil), 404)
				}
				wantProblem(t, s.do("red", "PATCH", "/products/"+digits(step.id), `{}`), 404)
				if p := wantProblem(t, s.do("red", "POST", "/hazards/"+flood.UUID+"/products", note("parent_ID", step.id)), 400); !slices.Equal(p.faults(), []string{"/parent_ID"}) {
					t.Errorf("a deleted folder accepts products: %v", p.faults())
				}
			}
		}
		var changes []struct{ Type string }
		s.do("red", "GET", "/hazards/"+flood.UUID+"/changes", nil).JSON(t, &changes)
		if n := len(slices.DeleteFunc(changes, func(c struct{ Type string }) bool { return c.Type != "product.deleted" })); n != 3 {
			t.Errorf("the history contains %d deleted products, want 3", n)
		}
	})
}

func TestWhatAnEditorSetStaysWhenTheSourceReportsAgain(t *testing.T) {
	s := start(t)
	sameFields := func(t *testing.T, a, b server.Answer, names ...string) {
		t.Helper()
		x, y := map[string]any{}, map[string]any{}
		a.JSON(t, &x)
		b.JSON(t, &y)
		for _, n := range names {
			if diff := cmp.Diff(x[n], y[n]); diff != "" {
				t.Errorf("%s (-editor +after the report):\n%s", n, diff)
			}
		}
	}
	again := func(r hazard.Report) hazard.Report {
		end := r.Start.Add(100 * time.Hour)
		r.Version++
		r.Name, r.Description, r.Severity, r.Comment, r.URL, r.End = "As reported again", "again", hazard.Watch, "again", "https://example.org/again", &end
		r.Point = &hazard.Point{Lon: 30, Lat: 40}
		return r
	}
	for name, tt := range map[string]struct {
		patch   string
		stays   []string
		follows map[string]any
	}{
		"a name":          {`{"hazard_Name":"Set"}`, []string{"hazard_Name"}, map[string]any{"description": "again", "severity_ID": "WATCH", "latitude": 40.0}},
		"what it was":     {`{"severity_ID":"ADVISORY"}`, nil, map[string]any{"hazard_Name": "As reported again", "severity_ID": "WATCH"}},
		"a position":      {`{"latitude":1}`, []string{"latitude", "longitude"}, map[string]any{"hazard_Name": "As reported again"}},
		"a category":      {`{"category_ID":"RESPONSE"}`, []string{"category_ID"}, map[string]any{"hazard_Name": "As reported again"}},
		"texts":           {`{"description":"Set","comment_Text":"Set","snc_url":"https://example.org/set"}`, []string{"description", "comment_Text", "snc_url"}, map[string]any{"severity_ID": "WATCH"}},
		"an end to come":  {`{"end_Date":"` + hazard.At(time.Now()).Add(time.Hour).Digits() + `"}`, []string{"end_Date"}, map[string]any{"severity_ID": "WATCH"}},
		"that it is over": {`{"status":"E"}`, []string{"status", "end_Date"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := quake("edited "+name, 1)
			s.report(r)
			path := "/hazards/" + hazard.EventUUID(r.Source, r.Key).String()
			edited := s.do("red", "PATCH", path, tt.patch)
			if edited.Status != 200 {
				t.Fatalf("%d %s", edited.Status, edited.Body)
			}
			s.report(again(r))
			after := s.do("reader", "GET", path, nil)
			sameFields(t, edited, after, tt.stays...)
			got := map[string]any{}
			after.JSON(t, &got)
			for field, want := range tt.follows {
				if got[field] != want {
					t.Errorf("%s is %v after the report, want %v", field, got[field], want)
				}
			}
		})
	}
	t.Run("that it was false", func(t *testing.T) {
		r := quake("retracted", 1)
		s.report(r)
		path := "/hazards/" + hazard.EventUUID(r.Source, r.Key).String()
		edited := s.do("red", "POST", path+"/retract", `{"reason":"false"}`)
		s.report(again(r))
		sameFields(t, edited, s.do("reader", "GET", path, nil), "status", "severity_ID", "end_Date")
	})
	t.Run("a product, and that one is gone", func(t *testing.T) {
		r := quake("products", 1)
		r.Products = []hazard.ReportProduct{{Key: "a", Title: "A", Type: hazard.TextProduct, Data: "a", Time: r.Start}, {Key: "b", Title: "B", Type: hazard.TextProduct, Data: "b", Time: r.Start}}
		s.report(r)
		path := "/hazards/" + hazard.EventUUID(r.Source, r.Key).String() + "/products"
		list := items(t, s.do("red", "GET", path, nil))
		edited := s.do("red", "PATCH", "/products/"+digits(list[0].ProductID), `{"title":"Set"}`)
		if a := s.do("red", "DELETE", "/products/"+digits(list[1].ProductID), nil); edited.Status != 200 || a.Status != 204 {
			t.Fatalf("%d, %d", edited.Status, a.Status)
		}
		r = again(r)
		r.Products = slices.Clone(r.Products)
		r.Products[0].Title, r.Products[1].Title = "A again", "B again"
		s.report(r)
		if after := items(t, s.do("red", "GET", path, nil)); len(after) != 1 || after[0].Title != "Set" {
			t.Errorf("%+v", after)
		}
	})
}

// A hazard whose stored state is damaged can still be ended and retracted.
func TestWhatIsDamagedCanBeEnded(t *testing.T) {
	data := t.TempDir()
	s := start(t, func(c *app.Config) { c.DataDir = data })
	for name, end := range map[string]func(uuid string) server.Answer{
		"ended": func(uuid string) server.Answer { return s.do("red", "PATCH", "/hazards/"+uuid, `{"status":"E"}`) },
		"retracted": func(uuid string) server.Answer {
			return s.do("red", "POST", "/hazards/"+uuid+"/retract", `{"reason":"false"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			other, h := s.hazard("red"), s.hazard("red")
			s.do("red", "PATCH", "/hazards/"+h.UUID, `{"description":"second"}`)
			d, err := sql.Open("sqlite", "file:"+filepath.Join(data, store.FileName)+"?vfs="+pagesum.Strict+"&_pragma=busy_timeout(10000)")
			if err != nil {
				t.Fatal(err)
			}
			_, err = d.ExecContext(t.Context(), `UPDATE changes SET body = replace(body, '"second"', '"turned"')`)
			if err := errors.Join(err, d.Close()); err != nil {
				t.Fatal(err)
			}
			if a := s.do("red", "PATCH", "/hazards/"+h.UUID, `{"description":"third"}`); a.Status != http.StatusInternalServerError {
				t.Fatalf("another change: %d %s", a.Status, a.Body)
			}
			if a := end(h.UUID); a.Status != http.StatusOK {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			if a := s.do("red", "GET", "/hazards/active", nil); bytes.Contains(a.Body, []byte(h.UUID)) || !bytes.Contains(a.Body, []byte(other.UUID)) {
				t.Errorf("%s", a.Body)
			}
		})
	}
}

// Damaged population data stops no editor: how many people it reaches is not known, so a second
// person decides.
func TestAnEditorWritesBesideDamagedPopulationData(t *testing.T) {
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, population.FileName), []byte("no grid"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, func(c *app.Config) { c.DataDir, c.ApprovePeople = data, 1000 })
	h := `{"hazard_Name":"Flood","type_ID":"FLOOD","severity_ID":"WATCH","latitude":-1.3,"longitude":36.8,"area":{"type":"Polygon","coordinates":[[[36.7,-1.4],[36.9,-1.4],[36.9,-1.2],[36.7,-1.2],[36.7,-1.4]]]}}`
	if a := s.do("red", "POST", "/hazards", h); a.Status != http.StatusAccepted {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
