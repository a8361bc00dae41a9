package mirror_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/mirror"
	"github.com/hazardd/hazardd/internal/test/server"
)

// as returns a client of a real server, logged in as user.
func as(t testing.TB, srv *server.Server, user string) *client.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(srv.URL(), client.Options{Username: user, Password: server.Password, HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// replica is a server that mirrors another one.
type replica struct {
	*server.Server
	in     *fuse.Intake
	reader *client.Client
	mirror *mirror.Mirror
}

func newReplica(t testing.TB, of *client.Client) *replica {
	srv := server.Serve(t)
	return &replica{srv, app.BuiltIn().Intake(srv.Store), as(t, srv, "reader"), mirror.New("mirror", schemes, of)}
}

// sync reads the other server once, processes the result, and waits until readers see it.
func (r *replica) sync(t testing.TB) fuse.Result {
	t.Helper()
	batch, err := r.mirror.Read(t.Context(), r.Now())
	if err != nil || !batch.Whole {
		t.Fatalf("whole %t, error %v", batch.Whole, err)
	}
	for _, reject := range batch.Rejects {
		t.Errorf("rejected %s: %s", reject.Record, reject.Reason)
	}
	res := must(r.in.Apply(t.Context(), "mirror", batch, r.Now(), fuse.Options{}))(t)
	r.mirror.Taken()
	for end := time.Now().Add(time.Minute); must(r.reader.Active(t.Context()))(t).Change < res.Last; {
		if time.Now().After(end) {
			t.Fatalf("change %d is not seen", res.Last)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return res
}

// schemes are the schemes of the built-in sources. picture returns the active hazards by UUID as a
// reader sees them, without members that differ between servers.
var schemes = app.BuiltIn().Schemes()

func picture(t testing.TB, c *client.Client) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, h := range must(c.Active(t.Context()))(t).Items {
		titles := map[int64]string{0: "root"}
		var products []string
		list := must(c.Products(t.Context(), client.ID(h.HazardID)))(t).Items
		for _, p := range list {
			titles[p.ProductID] = p.Title
		}
		for _, p := range list {
			data := ""
			if p.ProductType == "TEXT_PRODUCT" || p.ProductType == "URL_PRODUCT" {
				data = *p.Data
			}
			if p.ProductURL != nil {
				data, p.ProductType = *p.ProductURL, "URL_PRODUCT"
			}
			products = append(products, strings.Join([]string{p.UUID, titles[p.ParentID], p.Title, p.ProductType, data, p.TimelineDate}, "|"))
		}
		slices.Sort(products)
		h.HazardID, h.CreateDate, h.LastUpdate, h.UpdateDate, h.UpdateUser, h.OrgID, h.AppID, h.ProductTotal = 0, "", "", "", nil, 0, 0, ""
		if h.AutoExpire == "N" {
			h.EndDate = ""
		}
		all[h.UUID] = []any{h, products}
	}
	return all
}

func newFlood(name string) client.NewHazard {
	return client.NewHazard{HazardName: name, TypeID: "FLOOD", SeverityID: "WARNING", Latitude: 42.36, Longitude: -71.06, Description: "line 1\n\nline 2", CommentText: "key " + name,
		SncURL: "https://example.org/" + strings.ReplaceAll(name, " ", "-"), Start: time.Now().Add(-time.Hour), End: time.Now().Add(24 * time.Hour), AutoExpire: true}
}

func TestOneServerMirrorsAnother(t *testing.T) {
	ctx := t.Context()
	origin := server.Serve(t)
	red := as(t, origin, "red")
	// The mirror's account is a member of the red cross: it gets restricted data, and must not pass
	// it on.
	copied := newReplica(t, as(t, origin, "red-reader"))

	boston := must(red.Editor().CreateHazard(ctx, newFlood("Flood - Boston")))(t)
	lima := newFlood("Flood - Lima")
	lima.CategoryID, lima.SeverityID = "EXERCISE", "ADVISORY"
	limaMade := must(red.Editor().CreateHazard(ctx, lima))(t)
	open := must(red.Editor().CreateProduct(ctx, boston.UUID, client.NewProduct{Title: "Reports", ProductType: "FOLDER_PRODUCT"}))(t)
	note := must(red.Editor().CreateProduct(ctx, boston.UUID, client.NewProduct{Title: "Note", ProductType: "TEXT_PRODUCT", Data: "boil\nwater", ParentID: open.ProductID}))(t)
	must(red.Editor().CreateProduct(ctx, boston.UUID, client.NewProduct{Title: "Page", ProductType: "URL_PRODUCT", Data: "https://example.org/x"}))(t)
	must(red.Editor().CreateFile(ctx, boston.UUID, client.NewProduct{Title: "Map", ParentID: open.ProductID}, "map.pdf", strings.NewReader("%PDF")))(t)
	shut := must(red.Editor().CreateProduct(ctx, boston.UUID, client.NewProduct{Title: "SECRET folder", ProductType: "FOLDER_PRODUCT", SecurityFlag: "R"}))(t)
	must(red.Editor().CreateProduct(ctx, boston.UUID, client.NewProduct{Title: "SECRET plan", ProductType: "TEXT_PRODUCT", Data: "SECRET", ParentID: shut.ProductID}))(t)
	must(red.Editor().CreateFile(ctx, boston.UUID, client.NewProduct{Title: "SECRET file", SecurityFlag: "R"}, "SECRET.txt", strings.NewReader("SECRET")))(t)
	if n := len(must(as(t, origin, "red-reader").Products(ctx, boston.UUID))(t).Items); n != 7 {
		t.Fatalf("the account of the mirror sees %d products, expected all 7", n)
	}

	same := func(step string) {
		t.Helper()
		if diff := cmp.Diff(picture(t, as(t, origin, "reader")), picture(t, copied.reader)); diff != "" {
			t.Fatalf("%s: %s", step, diff)
		}
	}
	if res := copied.sync(t); res.New != 2 {
		t.Fatalf("%+v", res)
	}
	same("after the first read")
	for _, user := range []string{"root", "red", "red-reader"} { // not even to members of an organization with the same number here
		for change, err := range as(t, copied.Server, user).Changes(ctx, 0) {
			if err != nil || strings.Contains(fmt.Sprintf("%+v %+v", change.Product, change.Hazard), "SECRET") {
				t.Errorf("%s: change %+v, error %v", user, change, err)
			}
		}
	}

	if res := copied.sync(t); res.New+res.Updated != 0 {
		t.Errorf("the same again makes changes: %+v", res)
	}
	must(red.Editor().PatchHazard(ctx, boston.UUID, client.Fields{"severity_ID": "WATCH", "hazard_Name": "Flood - Greater Boston"}))(t)
	must(red.Editor().PatchProduct(ctx, note.UUID, client.Fields{"data": "water is safe"}))(t)
	must(red.Editor().CreateHazard(ctx, newFlood("Flood - Quito")))(t)
	copied.sync(t)
	same("after alterations")

	must(red.Editor().PatchProduct(ctx, note.UUID, client.Fields{"title": "Last note"}))(t) // changes nothing in the list
	if err := red.Editor().DeleteProduct(ctx, must(red.Editor().CreateProduct(ctx, limaMade.UUID, client.NewProduct{Title: "x", ProductType: "TEXT_PRODUCT", Data: "x"}))(t).UUID); err != nil {
		t.Fatal(err)
	}
	copied.sync(t)
	same("after an alteration of a product alone")

	// The end of a hazard is reported with its reason, not only by its absence.
	must(red.Editor().PatchHazard(ctx, boston.UUID, client.Fields{"status": "E"}))(t)
	must(red.Editor().Retract(ctx, limaMade.UUID, "it was a mistake"))(t)
	copied.sync(t)
	same("after two ends")
	for _, id := range []string{boston.UUID, limaMade.UUID} {
		if h := must(copied.reader.Hazard(ctx, id))(t).Item; h.Status != "E" {
			t.Errorf("%s has status %s", id, h.Status)
		}
	}
	if len(picture(t, copied.reader)) != 1 {
		t.Error("one hazard should be left")
	}
}

func TestTheMirrorGoesOnWhenItsTokenExpires(t *testing.T) {
	origin := server.Serve(t, func(cfg *app.Config) { cfg.AccessLife = 2 * time.Second })
	must(as(t, origin, "red").Editor().CreateHazard(t.Context(), newFlood("Flood - Boston")))(t)
	m := mirror.New("mirror", schemes, as(t, origin, "reader"))
	for range 5 {
		if batch, err := m.Read(t.Context(), origin.Now()); err != nil || len(batch.Reports) != 1 {
			t.Fatalf("batch %+v, error %v", batch, err)
		}
		m.Taken()
		time.Sleep(700 * time.Millisecond)
	}
}

// scripted is another server whose responses the test sets.
type scripted struct {
	mu       sync.Mutex
	hazards  []map[string]any
	list     string // used in place of hazards
	products map[string]string
	asked    []string
	fail     func(w http.ResponseWriter, r *http.Request) bool // if it returns true, it has written the response
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.URL.Path)
	if s.fail != nil && s.fail(w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	id, isProducts := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/hazards/"), "/products")
	switch {
	case r.URL.Path == "/hazards/active" && s.list != "":
		_, _ = io.WriteString(w, s.list)
	case r.URL.Path == "/hazards/active":
		_, _ = w.Write(payloadOf(s.hazards))
	case isProducts && s.products[id] != "":
		_, _ = io.WriteString(w, s.products[id])
	case isProducts:
		_, _ = io.WriteString(w, "[]")
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (s *scripted) forget() { s.mu.Lock(); s.asked = nil; s.mu.Unlock() }

func (s *scripted) count(part string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, a := range s.asked {
		if strings.Contains(a, part) {
			n++
		}
	}
	return n
}

func payloadOf(hazards []map[string]any) []byte {
	if hazards == nil {
		return []byte("[]")
	}
	return payload(panicking{}, hazards...)
}

// panicking implements testing.TB where there is no test.
type panicking struct{ testing.TB }

func (panicking) Helper()             {}
func (panicking) Fatal(values ...any) { panic(fmt.Sprint(values...)) }

func mirrorOf(t testing.TB, s *scripted) *mirror.Mirror {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	c, err := client.New(srv.URL, client.Options{Token: "good"})
	if err != nil {
		t.Fatal(err)
	}
	return mirror.New("pdc", schemes, c)
}

// row returns a hazard with a number.
func row(n int, alter map[string]any) map[string]any {
	m := members(map[string]any{"hazard_ID": n, "uuid": fmt.Sprintf("f2762e72-5169-487e-a3fa-%012d", n), "product_total": "2"})
	for k, v := range alter {
		m[k] = v
	}
	return m
}

func rows(n int) (all []map[string]any) {
	for i := range n {
		all = append(all, row(i+1, nil))
	}
	return all
}

func TestProductsAreAskedForWhereSomethingHasChanged(t *testing.T) {
	s := &scripted{hazards: []map[string]any{row(1, nil), row(2, nil), row(3, map[string]any{"product_total": "0"})}, products: map[string]string{
		"1": `[{"product_ID":1,"uuid":"12776eb9-2585-4d93-9001-944cc7d9d022","product_Type":"TEXT_PRODUCT","title":"a","data":"x","security_Flag":"A","is_Hidden":"N"}]`,
	}}
	m := mirrorOf(t, s)
	read := func() source.Batch {
		t.Helper()
		s.forget()
		return must(m.Read(t.Context(), now))(t)
	}
	told := func(b source.Batch) string {
		var words []string
		for _, r := range b.Reports {
			word := "nothing said"
			if r.Products != nil {
				word = fmt.Sprint(len(r.Products))
			}
			words = append(words, word)
		}
		return strings.Join(words, ", ")
	}
	if b := read(); told(b) != "1, 0, 0" || b.Reports[0].Source != "pdc" || !b.Whole || b.Read != 3 || s.count("/3/products") != 0 {
		t.Errorf("first: %s, asked %v", told(b), s.asked)
	}
	if b := read(); told(b) != "1, 0, 0" || s.count("/products") != 2 {
		t.Errorf("not taken in: it says %s the next time, asked %v", told(b), s.asked)
	}
	m.Taken()
	s.hazards[1]["last_Update"] = "1738900579999"
	if b := read(); told(b) != "1, 0, 0" || s.asked[1] != "/hazards/2/products" {
		t.Errorf("what has changed is asked for first: asked %v", s.asked)
	}
	m.Taken()
	s.hazards[2]["product_total"] = "1"
	s.fail = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/3/products") {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
		return false
	}
	b := read()
	if told(b) != "1, 0, nothing said" || len(b.Rejects) != 1 || !strings.Contains(b.Rejects[0].Reason, "500") || !strings.Contains(b.Rejects[0].Record, "/products") {
		t.Errorf("a failure: %s, %+v", told(b), b.Rejects)
	}
	m.Taken()
	s.fail = nil
	if b := read(); s.asked[1] != "/hazards/3/products" || told(b) != "1, 0, 0" {
		t.Errorf("it is asked for again: %v", s.asked)
	}
}

func TestRequestsPerReadAreBounded(t *testing.T) {
	s := &scripted{hazards: rows(130)}
	m := mirrorOf(t, s)
	told := map[string]bool{}
	for i, want := range []int{100, 40, 10, 10} { // first all 130, and then ten of the unchanged ones each time
		s.forget()
		b := must(m.Read(t.Context(), now))(t)
		m.Taken()
		if n := s.count("/products"); n != want || len(b.Reports) != 130 {
			t.Errorf("read %d: %d product lists, %d reports", i+1, n, len(b.Reports))
		}
		for _, r := range b.Reports {
			told[r.Key] = told[r.Key] || r.Products != nil
		}
	}
	for key, ok := range told {
		if !ok {
			t.Errorf("%s was never asked for", key)
		}
	}
	again := map[string]int{}
	for range 13 {
		s.forget()
		must(m.Read(t.Context(), now))(t)
		m.Taken()
		for _, path := range s.asked[1:] {
			again[path]++
		}
	}
	if len(again) != 130 {
		t.Errorf("%d hazards of 130 were looked at again in 13 reads", len(again))
	}
}

func TestAServerInTroubleIsLeftAlone(t *testing.T) {
	s := &scripted{hazards: rows(50), fail: func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/products") {
			w.WriteHeader(http.StatusBadGateway)
			return true
		}
		return false
	}}
	b := must(mirrorOf(t, s).Read(t.Context(), now))(t)
	if n := s.count("/products"); n != 3 || len(b.Reports) != 50 || len(b.Rejects) != 3 || !b.Whole {
		t.Errorf("%d product lists, %d reports, %d rejects, whole %t", n, len(b.Reports), len(b.Rejects), b.Whole)
	}
}

func TestProductsThatBreakOffSayNothing(t *testing.T) {
	s := &scripted{hazards: rows(1), products: map[string]string{"1": `[{"product_ID":1,"product_Type":"TEXT_PRODUCT","title":"a","data":"x","security_Flag":"A"},`}}
	b := must(mirrorOf(t, s).Read(t.Context(), now))(t)
	if len(b.Reports) != 1 || b.Reports[0].Products != nil || len(b.Rejects) != 1 {
		t.Errorf("batch %+v: half a tree would delete the other half", b)
	}
}

func TestWhatIsNoLongerListedIsMissing(t *testing.T) {
	s := &scripted{hazards: rows(30)}
	m := mirrorOf(t, s)
	must(m.Read(t.Context(), now))(t)
	m.Taken()
	for i := 30; i > 20; i -= 2 {
		s.hazards = s.hazards[:i-2]
		s.forget()
		b := must(m.Read(t.Context(), now))(t)
		m.Taken()
		if len(b.Reports) != i-2 || !b.Whole {
			t.Errorf("%d reports, whole %t", len(b.Reports), b.Whole)
		}
		if asked := len(s.asked) - 1 - s.count("/products"); i < 27 && asked > 0 {
			t.Errorf("%d hazards asked of a server that cannot tell", asked)
		}
	}
	s.list = "[]"
	if b := must(m.Read(t.Context(), now))(t); len(b.Reports) != 0 || !b.Whole {
		t.Errorf("an empty list: %+v", b)
	}
}

func TestARecordThatCanNoLongerBeReadEndsNothing(t *testing.T) {
	s := &scripted{hazards: rows(4)}
	m := mirrorOf(t, s)
	before := must(m.Read(t.Context(), now))(t)
	m.Taken()
	s.hazards[0]["severity_ID"] = "ZOMBIES"
	s.hazards[1]["uuid"] = "lost"
	s.hazards[2]["category_ID"] = []string{"no", "text"}
	for range 3 {
		b := must(m.Read(t.Context(), now))(t)
		m.Taken()
		keys := map[string]bool{}
		for _, r := range b.Reports {
			keys[r.Key] = true
			if r.Products != nil && r.Key != before.Reports[3].Key {
				t.Errorf("%s says something of products", r.Key)
			}
		}
		if len(keys) != 4 || len(b.Rejects) != 3 || !b.Whole {
			t.Errorf("keys %v, rejects %v", keys, b.Rejects)
		}
	}
}

func TestAListThatFailsIsAnError(t *testing.T) {
	for name, tt := range map[string]struct {
		list    string
		fail    func(http.ResponseWriter, *http.Request) bool
		reports int
		cut     bool
		is      error
	}{
		"it breaks off": {list: strings.TrimSuffix(string(payloadOf(rows(3))), "]") + `,{"hazard_ID":`, reports: 3, cut: true},
		"HTML": {fail: func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>log in")
			return true
		}},
		"an object": {list: `{"hazards":[]}`},
		"refused": {fail: func(w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, "Invalid Token", http.StatusForbidden)
			return true
		}, is: client.ErrUnauthorized},
		"away": {fail: func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}, is: client.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{hazards: rows(3)}
			m := mirrorOf(t, s)
			must(m.Read(t.Context(), now))(t)
			m.Taken()
			s.list, s.fail = tt.list, tt.fail
			s.forget()
			b, err := m.Read(t.Context(), now)
			bad, ok := errors.AsType[*source.PayloadError](err)
			if err == nil || b.Whole || len(b.Reports) != tt.reports || tt.is != nil && !errors.Is(err, tt.is) || tt.is == nil && (!ok || bad.Cut != tt.cut) {
				t.Errorf("batch %+v, error %v", b, err)
			}
			m.Taken()
			if s.count("/products") > 0 {
				t.Error("products were asked for")
			}
			s.list, s.fail = "", nil
			if b := must(m.Read(t.Context(), now))(t); len(b.Reports) != 3 {
				t.Errorf("after it: %+v", b)
			}
		})
	}
}

func TestAReadEndsWithItsContext(t *testing.T) {
	s := &scripted{hazards: rows(100)}
	ctx, cancel := context.WithCancel(t.Context())
	s.fail = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/3/products") {
			cancel()
		}
		return false
	}
	b, err := mirrorOf(t, s).Read(ctx, now)
	if !errors.Is(err, context.Canceled) || s.count("/products") > 4 || len(b.Reports) != 100 || len(b.Rejects) > 0 {
		t.Errorf("%d product lists, %d reports, rejects %v, error %v", s.count("/products"), len(b.Reports), b.Rejects, err)
	}
}

// conditional is a server that supports ETags and can return a single ended hazard.
type conditional struct {
	list, products client.Record[[]byte]
	single         map[string][]byte
	full           int // number of lists that were sent in full
}

func (c *conditional) Raw(_ context.Context, path []string, opts ...client.CallOption) (client.Record[[]byte], error) {
	list := &c.list
	switch {
	case len(path) == 3:
		list = &c.products
	case path[1] != "active" && c.single[path[1]] == nil:
		return client.Record[[]byte]{}, &client.Problem{Status: 404}
	case path[1] != "active":
		return client.Record[[]byte]{Item: c.single[path[1]]}, nil
	}
	if etag := client.Header(opts...).Get("If-None-Match"); etag != "" && etag == list.ETag {
		return client.Record[[]byte]{}, client.ErrNotModified
	}
	c.full++
	return *list, nil
}

func TestAnUnchangedListSaysTheSameAgain(t *testing.T) {
	items := rows(2)
	answer := func(etag string, text []byte) client.Record[[]byte] {
		return client.Record[[]byte]{State: client.State{ETag: etag}, Item: text}
	}
	c := &conditional{list: answer(`"1"`, payloadOf(items)), products: answer(`"p"`, []byte("[]"))}
	m := mirror.New("mirror", schemes, c)
	for i := range 3 {
		b := must(m.Read(t.Context(), now))(t)
		m.Taken()
		if len(b.Reports) != 2 || !b.Whole || (b.Reports[0].Products != nil) != (i == 0) {
			t.Errorf("read %d: %+v", i, b)
		}
	}
	if c.full != 3 { // the list once, and the products of two hazards once
		t.Errorf("%d lists in full, expected 3", c.full)
	}

	// One hazard has expired. The number of the other one now belongs to another hazard, which says
	// nothing about it.
	one := func(n int, alter map[string]any) []byte {
		text, err := json.Marshal(row(n, alter))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	c.single = map[string][]byte{
		"1": one(1, map[string]any{"status": "E", "end_Date": "1738900590000", "last_Update": "1738900590000"}),
		"2": one(2, map[string]any{"status": "E", "uuid": uuid.NewString()}),
	}
	c.list = answer(`"2"`, []byte("[]"))
	b := must(m.Read(t.Context(), now))(t)
	if len(b.Reports) != 1 || b.Reports[0].Key != items[0]["uuid"] || b.Reports[0].Ended != hazard.EndExpired || !b.Whole {
		t.Errorf("batch %+v", b)
	}
	if again := must(m.Read(t.Context(), now))(t); len(again.Reports) != 1 {
		t.Errorf("not taken in, it is not said again: %+v", again)
	}
	m.Taken()
	if again := must(m.Read(t.Context(), now))(t); len(again.Reports) != 0 {
		t.Errorf("taken in, it is said again: %+v", again)
	}
}
