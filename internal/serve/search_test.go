package serve_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
)

// linked returns the path of the next page; empty if there is none.
func linked(t testing.TB, a server.Answer) string {
	t.Helper()
	link := a.Header.Get("Link")
	if link == "" {
		return ""
	}
	m := regexp.MustCompile(`^<https?://[^/]+(/.+)>; rel="next"$`).FindStringSubmatch(link)
	if m == nil {
		t.Fatalf("Link: %s", link)
	}
	return m[1]
}

// names returns the names of a list's hazards.
func names(t testing.TB, a server.Answer) []string {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("%d %.500s", a.Status, a.Body)
	}
	var list []struct {
		Name string `json:"hazard_Name"`
	}
	a.JSON(t, &list)
	all := []string{}
	for _, h := range list {
		all = append(all, h.Name)
	}
	return all
}

// atlas creates hazards in several places: active ones, and one that has ended.
func atlas(t testing.TB) *world {
	w := start(t)
	w.hazard("red", "hazard_Name", "Łódź flood", "severity_ID", "WARNING", "longitude", 19.45, "latitude", 51.77)
	w.hazard("red", "hazard_Name", "Pacific storm", "type_ID", "STORM", "category_ID", "EXERCISE", "description", "Across the date line.",
		"area", map[string]any{"type": "Polygon", "coordinates": [][][]int{{{179, 0}, {-179, 0}, {-179, 2}, {179, 2}, {179, 0}}}})
	w.hazard("fire", "hazard_Name", "Old fire", "type_ID", "WILDFIRE", "longitude", -120, "latitude", 40)
	over := w.hazard("red", "hazard_Name", "Past quake", "type_ID", "EARTHQUAKE", "longitude", 179.5, "latitude", 1)
	if a := w.do("red", "PATCH", "/hazards/"+over.UUID, `{"status":"E"}`); a.Status != http.StatusOK {
		t.Fatal(string(a.Body))
	}
	w.settle(5)
	return w
}

func TestSearchesFindWhatWasAskedFor(t *testing.T) {
	w := atlas(t)
	year := time.Now().UTC().Year()
	for query, want := range map[string][]string{
		"":                              {"Łódź flood", "Past quake", "Old fire", "Pacific storm"},
		"type=STORM,WILDFIRE":           {"Old fire", "Pacific storm"},
		"severity=WARNING":              {"Łódź flood"},
		"category=EXERCISE":             {"Pacific storm"},
		"status=E":                      {"Past quake"},
		"source=editors":                {"Łódź flood", "Past quake", "Old fire", "Pacific storm"},
		"source=usgs":                   {},
		"bbox=170,-10,-170,10":          {"Past quake", "Pacific storm"},
		"bbox=-180,-10,-179,10":         {"Pacific storm"},
		"near=-120.01,40&radius=2000":   {"Old fire"},
		"intersects=POINT(19.45 51.77)": {"Łódź flood"},
		"q=lodz":                        {"Łódź flood"},
		`q="date line"`:                 {"Pacific storm"},
		"q=pa*":                         {"Past quake", "Pacific storm"},
		"sort=hazard_ID&limit=1000":     {"Łódź flood", "Pacific storm", "Old fire", "Past quake"},
		fmt.Sprintf("datetime=%d-01-01/..", year-1):                                  {"Łódź flood", "Past quake", "Old fire", "Pacific storm"},
		fmt.Sprintf("datetime=../%d-01-01", year-1):                                  {},
		fmt.Sprintf("datetime=%d-06-01&status=E", year+2):                            {},
		"updated_since=" + time.Now().Add(time.Hour).UTC().Format(time.RFC3339):      {},
		"updated_since=" + time.Now().Add(-time.Hour).UTC().Format(time.RFC3339Nano): {"Łódź flood", "Past quake", "Old fire", "Pacific storm"},
		"ref=usgs:none": {},
		"f=json":        {"Łódź flood", "Past quake", "Old fire", "Pacific storm"},
	} {
		t.Run(query, func(t *testing.T) {
			v := values(query)
			a := w.do("reader", "GET", "/hazards?"+v.Encode(), nil)
			if diff := cmp.Diff(want, names(t, a)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if a.Header.Get("Hazardd-Change") != "5" || a.Header.Get("Hazardd-Sources") == "" || a.Header.Get("Etag") == "" || a.Header.Get("Link") != "" {
				t.Errorf("header %v", a.Header)
			}
			count := v
			var n struct{ Count int }
			w.do("reader", "GET", "/hazards/count?"+count.Encode(), nil).JSON(t, &n)
			if n.Count != len(want) {
				t.Errorf("counted %d, want %d", n.Count, len(want))
			}
			// The same for active ones, from the view.
			var active []string
			for _, name := range want {
				if name != "Past quake" {
					active = append(active, name)
				}
			}
			a = w.do("reader", "GET", "/hazards/active?"+v.Encode(), nil)
			if got := names(t, a); !slices.Equal(active, got) || a.Header.Get("Hazardd-Sources") == "" {
				t.Errorf("active: %v, want %v", got, active)
			}
			for variant, has := range map[string]string{"category/EXERCISE": "Pacific storm", "severity/WARNING": "Łódź flood"} {
				var want []string
				if slices.Contains(active, has) {
					want = []string{has}
				}
				if got := names(t, w.do("reader", "GET", "/hazards/active/"+variant+"?"+v.Encode(), nil)); !slices.Equal(got, want) {
					t.Errorf("active, %s: %v, want %v", variant, got, want)
				}
			}
		})
	}
}

// values splits a query at its ampersands, whatever else it contains.
func values(query string) url.Values {
	v := url.Values{}
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			v.Add(name, value)
		}
	}
	return v
}

func TestWrongParametersOfSearchesAreNamed(t *testing.T) {
	w := start(t)
	h := w.hazard("red")
	p := w.product("red", h.HazardID, note())
	future := url.QueryEscape(time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	lists := []string{"/hazards", "/hazards/count", "/hazards/active", "/hazards/active/category/EVENT", "/hazards/active/severity/WATCH"}
	moments := []string{"/hazards/" + h.UUID, "/hazards/" + h.UUID + "/products", "/hazards/" + h.UUID + "/changes", "/hazards/" + h.UUID + "/alert-geography", "/changes", "/products/" + p.UUID}
	for query, tt := range map[string]struct {
		paths  []string
		faults []string
		detail string
	}{
		"type=flood":                        {lists, []string{"type"}, `"flood" is not a type; expected one of ACCIDENT,`},
		"type=FLOOD&type=STORM":             {lists, []string{"type"}, "is given 2 times, expected once"},
		"severity=RED":                      {lists, []string{"severity"}, "WARNING"},
		"category=X":                        {lists, []string{"category"}, "EXERCISE"},
		"status=active":                     {lists, []string{"status"}, "A (active), E (expired)"},
		"source=ugss":                       {lists, []string{"source"}, `"ugss" is not a source; expected one of editors`},
		"ref=us6000":                        {lists, []string{"ref"}, "SCHEME:ID"},
		"bbox=1,2,3":                        {lists, []string{"bbox"}, "west,south,east,north"},
		"near=1,2":                          {lists, []string{"near"}, "radius"},
		"radius=1":                          {lists, []string{"radius"}, "near"},
		"intersects=POLYGON((0%200,1%201))": {lists, []string{"intersects"}, "positions"},
		"datetime=2026":                     {lists, []string{"datetime"}, "2026-11-02T06:00:00Z"},
		"updated_since=2026-01-01T00:00:00+02:00": {lists, []string{"updated_since"}, "%2B"},
		"q=%2D":                              {lists, []string{"q"}, "letters and digits"},
		"sort=-magnitud":                     {lists, []string{"sort"}, "-last_Update"},
		"limit=5000":                         {lists, []string{"limit"}, "from 1 to 1000"},
		"limit=0&type=x&colour=red":          {lists, []string{"colour", "limit", "type"}, "is not known; these are known here: type,"},
		"cursor=abc":                         {[]string{"/hazards", "/hazards/active"}, []string{"cursor"}, "is not one of this search"},
		"cursor=abc&limit=1":                 {[]string{"/hazards/count"}, []string{"cursor"}, "the count covers all pages"},
		"ref=usgs:x&at=2026-01-01T00:00:00Z": {lists, []string{"ref"}, "at"},
		"at=" + future:                       {slices.Concat(lists, moments), []string{"at"}, "is in the future"},
		"at=yesterday":                       {slices.Concat(lists, moments), []string{"at"}, "RFC 3339"},
		"when=2026-01-01T00:00:00Z":          {moments, []string{"when"}, "is not known; these are known here:"},
		"at=2026-01-01T00:00:00Z&at=2026-01-02T00:00:00Z": {slices.Concat(lists, moments), []string{"at"}, "2 times"},
	} {
		for _, path := range tt.paths {
			t.Run(path+"?"+query, func(t *testing.T) {
				got := wantProblem(t, w.do("reader", "GET", path+"?"+query, nil), http.StatusBadRequest)
				if !slices.Equal(got.faults(), tt.faults) || !strings.Contains(got.Detail, tt.detail) {
					t.Errorf("faults of %v: %s; want %v and %q", got.faults(), got.Detail, tt.faults, tt.detail)
				}
			})
		}
	}
	for _, path := range slices.Concat(lists, moments) {
		wantProblem(t, w.do("reader", "GET", path+"?at=%zz", nil), http.StatusBadRequest)
		if a := w.do("", "GET", path+"?type=x", nil); a.Status != http.StatusForbidden || string(a.Body) != "Invalid Token" {
			t.Errorf("%s without a token: %d %s", path, a.Status, a.Body)
		}
	}
	wantProblem(t, w.do("reader", "GET", "/hazards/"+h.UUID+"/reports?at=2026-01-01T00:00:00Z", nil), http.StatusBadRequest)
}

func TestPagesFollowTheirLink(t *testing.T) {
	w := start(t)
	for i := range 7 {
		w.hazard("red", "hazard_Name", strconv.Itoa(i), "severity_ID", []string{"WATCH", "WARNING"}[i%2])
	}
	w.settle(7)
	for _, path := range []string{"/hazards?sort=hazard_ID&type=FLOOD", "/hazards/active?sort=hazard_ID&datetime=..%2F..", "/hazards/active/severity/WATCH?sort=hazard_ID"} {
		whole := names(t, w.do("reader", "GET", path, nil))
		if len(whole) < 4 {
			t.Fatalf("%s: %v", path, whole)
		}
		var paged []string
		next := path + "&limit=2"
		for next != "" {
			a := w.do("reader", "GET", next, nil)
			page := names(t, a)
			if next = linked(t, a); next != "" && len(page) != 2 {
				t.Fatalf("%s: a page of %v", path, page)
			}
			paged = append(paged, page...)
		}
		if !slices.Equal(whole, paged) {
			t.Errorf("%s: %v on pages, %v in one answer", path, paged, whole)
		}
	}
	// A hazard that ends disappears from later pages, and this skips no other hazard.
	a := w.do("reader", "GET", "/hazards/active?sort=hazard_ID&limit=3", nil)
	if first := names(t, a); !slices.Equal(first, []string{"0", "1", "2"}) {
		t.Fatal(first)
	}
	if a := w.do("red", "PATCH", "/hazards/5", `{"status":"E"}`); a.Status != http.StatusOK {
		t.Fatal(string(a.Body))
	}
	w.hazard("red", "hazard_Name", "new")
	a = w.do("reader", "GET", linked(t, a), nil)
	if second := names(t, a); !slices.Equal(second, []string{"3", "5"}) {
		t.Errorf("the second page: %v", second)
	}
	if third := names(t, w.do("reader", "GET", linked(t, a), nil)); !slices.Equal(third, []string{"6"}) {
		t.Errorf("the third page: %v", third)
	}
	wantProblem(t, w.do("reader", "GET", strings.Replace(linked(t, a), "sort=hazard_ID", "sort=-hazard_ID", 1), nil), http.StatusBadRequest)
}

func TestTheListWithoutParametersIsTheOneWithEmptyOnes(t *testing.T) {
	w := atlas(t)
	for _, path := range []string{"/hazards/active", "/hazards/active/category/EVENT", "/hazards/active/severity/WATCH"} {
		plain, asked := w.do("reader", "GET", path, nil), w.do("reader", "GET", path+"?f=json", nil)
		if !bytes.Equal(plain.Body, asked.Body) || plain.Header.Get("Etag") != asked.Header.Get("Etag") {
			t.Errorf("%s:\n%s\n%s", path, plain.Body, asked.Body)
		}
	}
}

func TestWhyAHazardEndedStandsBesideIt(t *testing.T) {
	w := start(t)
	one, two := w.hazard("red"), w.hazard("red")
	if a := w.do("root", "POST", "/hazards/"+one.UUID+"/merge", `{"into":"`+two.UUID+`"}`); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	a := w.do("reader", "GET", "/hazards/"+one.UUID, nil)
	if got, want := a.Header.Get("Link"), "<"+w.URL()+"/hazards/"+two.UUID+`>; rel="successor-version"`; a.Header.Get("Hazardd-End") != "merged" || got != want {
		t.Errorf("ended %q, %s; want %s", a.Header.Get("Hazardd-End"), got, want)
	}
	if a := w.do("reader", "GET", "/hazards/"+two.UUID, nil); a.Header.Get("Hazardd-End") != "" || a.Header.Get("Link") != "" {
		t.Errorf("an active hazard: %v", a.Header)
	}
}

// moment is what readers saw at a moment: answers by user and path.
type moment struct {
	at    hazard.Instant
	reads map[string]server.Answer
}

func TestReadsOfTwoHundredMomentsAreWhatReadersSawThen(t *testing.T) {
	test.Concurrent(t)
	test.NoRace(t)
	moments := test.Rounds(200, 30)
	changes := 10 * moments
	p := handle(t)
	r := rand.New(rand.NewPCG(2026, 1121))
	p.clock.Store(int64(now().Add(time.Hour))) // ahead of the clock that the view itself uses
	var hazards, products []int64
	org := int64(1)
	write := func() {
		last, err := p.Store.Write(t.Context(), hazard.At(p.time()), store.Origin{User: "root"}, func(tx *store.Tx) error {
			switch n := r.IntN(20); {
			case n < 4 || len(hazards) == 0:
				h := randomHazard(r, hazard.At(p.time()))
				if r.IntN(3) == 0 {
					refs, err := tx.KeepAreas([]hazard.Area{{Role: hazard.AlertArea, Geometry: geo.Circle(h.Longitude, h.Latitude, 200_000).GeoJSON()}})
					if err != nil {
						return err
					}
					h.Areas = refs
				}
				err := tx.SaveHazard(h, nil)
				hazards = append(hazards, h.ID)
				return err
			case n < 13:
				before, err := tx.Hazard(hazards[r.IntN(len(hazards))])
				if err != nil {
					return err
				}
				h := randomHazard(r, hazard.At(p.time()))
				h.ID, h.UUID, h.Created, h.Areas = before.ID, before.UUID, before.Created, before.Areas
				h.Category, h.Source = before.Category, before.Source
				if r.IntN(3) == 0 {
					h.Status, h.Reason, h.End = hazard.Expired, hazard.EndAllClear, max(h.Start, hazard.At(p.time()))
				}
				return tx.SaveHazard(h, before)
			case n < 16 || len(products) == 0:
				o := &hazard.Product{UUID: uuid.New(), HazardID: hazards[r.IntN(len(hazards))], Title: "Note", Type: hazard.TextProduct, Data: strconv.Itoa(n)}
				if r.IntN(2) == 0 {
					o.OrgIDs = []int64{org}
				}
				err := tx.SaveProduct(o)
				products = append(products, o.ID)
				return err
			default:
				o, err := tx.Product(products[r.IntN(len(products))])
				if err != nil {
					return err
				}
				// Its audience stays, because restricted or deleted products are also hidden in the
				// past (withdrawn_test.go).
				o.Title = fmt.Sprint("Note ", r.IntN(100))
				o.HazardID = hazards[r.IntN(len(hazards))]
				return tx.SaveProduct(o)
			}
		})
		if err == nil {
			err = p.Live.WaitFor(t.Context(), last)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	recordEnds := func() {
		last, err := p.Store.Write(t.Context(), hazard.At(p.time()), store.Origin{Admin: true}, func(tx *store.Tx) error {
			due, err := tx.Due(100)
			for _, h := range due {
				if err := tx.SaveHazard(h.ExpireAt(hazard.At(p.time())), h); err != nil {
					return err
				}
			}
			return err
		})
		if err == nil {
			err = p.Live.WaitFor(t.Context(), last)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// These header fields depend on the moment.
	fields := []string{"Hazardd-Change", "Hazardd-End", "Content-Type", "Etag"}
	var seen []moment
	for i := range changes {
		write()
		if i%3 == 0 {
			recordEnds()
		}
		if i%(changes/moments) == 0 {
			m := moment{hazard.At(p.time()), map[string]server.Answer{}}
			paths := []string{"/hazards/active", "/hazards/active/severity/WARNING", "/hazards/active/category/RESPONSE", "/hazards/active?bbox=-60,-40,60,40&type=FLOOD,STORM", "/hazards?q=flood&limit=20", "/hazards?sort=-start_Date&status=E&limit=7",
				"/hazards/count?severity=WARNING", "/hazards/count?intersects=" + url.QueryEscape("POLYGON((-100 -50,100 -50,0 60,-100 -50))"), "/changes?after=" + strconv.Itoa(r.IntN(i+1)) + "&limit=5"}
			h, o := strconv.FormatInt(hazards[r.IntN(len(hazards))], 10), "1"
			if len(products) > 0 {
				o = strconv.FormatInt(products[r.IntN(len(products))], 10)
			}
			paths = append(paths, "/hazards/"+h, "/hazards/"+h+"/products", "/hazards/"+h+"/alert-geography", "/hazards/"+h+"/changes", "/products/"+o)
			r.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
			for _, path := range paths[:5] {
				user := []string{"reader", "editor"}[r.IntN(2)]
				m.reads[user+" "+path] = p.do(user, "GET", path, nil)
			}
			seen = append(seen, m)
		}
		// Two changes in one moment count as one, so advance the clock after each reading.
		p.clock.Add(int64(1 + r.IntN(3000)))
	}
	p.clock.Add(int64(24 * time.Hour / time.Millisecond))
	recordEnds()
	clear(p.tokens.byUser) // they have expired too
	compared := 0
	for _, m := range seen {
		for read, then := range m.reads {
			user, path, _ := strings.Cut(read, " ")
			join := "?"
			if strings.Contains(path, "?") {
				join = "&"
			}
			now := p.do(user, "GET", path+join+"at="+url.QueryEscape(m.at.String()), nil)
			if now.Status != then.Status || now.Status == http.StatusOK && !bytes.Equal(now.Body, then.Body) {
				t.Fatalf("%s at %s: %d, then it was %d (-then +now):\n%s", read, m.at, now.Status, then.Status, cmp.Diff(string(then.Body), string(now.Body)))
			}
			if then.Status != http.StatusOK {
				continue
			}
			compared++
			for _, f := range fields {
				if then.Header.Get(f) != "" && now.Header.Get(f) != then.Header.Get(f) {
					t.Errorf("%s at %s: %s %q, then it was %q", read, m.at, f, now.Header.Get(f), then.Header.Get(f))
				}
			}
			if now.Header.Get("Hazardd-Sources") != "" {
				t.Errorf("%s at %s contains the present state of the sources", read, m.at)
			}
		}
	}
	t.Logf("%d answers compared", compared)
	if compared < 4*moments {
		t.Errorf("%d answers compared", compared)
	}
}

func randomHazard(r *rand.Rand, now hazard.Instant) *hazard.Hazard {
	return &hazard.Hazard{UUID: uuid.New(), Name: []string{"Flood", "A storm"}[r.IntN(2)], Type: []hazard.Type{hazard.Flood, hazard.Storm, hazard.Tornado}[r.IntN(3)],
		Severity: hazard.Severity(1 + r.IntN(5)), Category: []hazard.Category{hazard.Event, hazard.Response}[r.IntN(2)], Status: hazard.Active, AutoExpire: r.IntN(3) > 0,
		Start: now - hazard.Instant(r.IntN(3_600_000)), End: now + hazard.Instant(r.IntN(600_000)), Created: now, LastUpdate: now, Updated: now, OrgID: -1,
		Longitude: float64(r.IntN(360)) - 180, Latitude: float64(r.IntN(170)) - 85}
}

func TestSearchesComeInEveryFormat(t *testing.T) {
	w := atlas(t)
	for _, name := range format.Names() {
		f, err := format.Choose("", name)
		if err != nil {
			t.Fatal(err)
		}
		for query, want := range map[string]int{"/hazards?status=E": 1, "/hazards?limit=3": 3, "/hazards/active?bbox=-180,-10,-179,10": 1, "/hazards/active?category=RESPONSE": 0, "/hazards/active/category/EVENT?status=E": 0,
			"/hazards/active?at=" + url.QueryEscape(time.Now().UTC().Format(time.RFC3339Nano)): 3} {
			a := w.do("reader", "GET", query+"&f="+name, nil)
			if a.Status != http.StatusOK || a.Header.Get("Hazardd-Change") != "5" {
				t.Fatalf("%s as %s: %d %v %.300s", query, name, a.Status, a.Header, a.Body)
			}
			shownAs := f
			if f == format.CAP {
				shownAs = format.Atom
			}
			if got := shown(t, shownAs, false, a.Body); got != want {
				t.Errorf("%s as %s shows %d hazards, want %d", query, name, got, want)
			}
			if linked := a.Header.Get("Link") != ""; linked != strings.Contains(query, "limit") {
				t.Errorf("%s as %s: Link %q", query, name, a.Header.Get("Link"))
			}
		}
	}
	wantProblem(t, w.do("reader", "GET", "/hazards/count?f=csv", nil), http.StatusBadRequest)
	wantProblem(t, w.do("reader", "GET", "/hazards?f=shp", nil), http.StatusBadRequest)
	wantProblem(t, w.do("reader", "GET", "/hazards/active?type=FLOOD&f=csv&f=kml", nil), http.StatusBadRequest)
	if a := w.do("reader", "GET", "/hazards/active?type=FLOOD&f=networklink", nil); a.Status != http.StatusOK || !bytes.Contains(a.Body, []byte("type=FLOOD")) {
		t.Errorf("the network link of a search: %d %s", a.Status, a.Body)
	}
	wantProblem(t, w.do("reader", "GET", "/hazards/active?type=x&f=networklink", nil), http.StatusBadRequest)
}

// The history in a document of a past moment ends at that moment.
func TestAnAlertOfThenKnowsNothingOfWhatFollowed(t *testing.T) {
	w := start(t)
	h := w.hazard("red")
	path := "/hazards/" + h.UUID + "?f=cap"
	w.settle(1)
	then := w.do("reader", "GET", path, nil)
	at := time.Now()
	for time.Now().UnixMilli() == at.UnixMilli() {
	}
	if a := w.do("red", "PATCH", "/hazards/"+h.UUID, `{"severity_ID":"WARNING"}`); a.Status != http.StatusOK {
		t.Fatal(string(a.Body))
	}
	w.settle(2)
	now := w.do("reader", "GET", path, nil)
	again := w.do("reader", "GET", path+"&at="+url.QueryEscape(at.UTC().Format(time.RFC3339Nano)), nil)
	if then.Status != http.StatusOK || bytes.Equal(now.Body, then.Body) {
		t.Fatalf("%d %s", then.Status, now.Body)
	}
	if diff := cmp.Diff(string(then.Body), string(again.Body)); diff != "" || again.Header.Get("Hazardd-Change") != "1" {
		t.Errorf("change %s (-then +again):\n%s", again.Header.Get("Hazardd-Change"), diff)
	}
}
