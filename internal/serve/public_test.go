package serve_test

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
	"github.com/hazardd/hazardd/web"
)

func open(c *serve.Config) { c.Public = route.PublicMap }

// Once, nothing could be read without an account.
func TestThePublicReadsWhatEverybodyMayKnow(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Public = route.PublicRead })
	h := s.hazard("red")
	s.product("red", h.HazardID, note("title", "for all"))
	s.product("red", h.HazardID, note("title", "secret", "security_Flag", "R"))
	stream := s.subscribe("", "?after=0")
	a := s.do("", "GET", "/hazards/active", nil)
	if a.Status != 200 || !strings.Contains(string(a.Body), `"product_total":"1"`) || !strings.HasPrefix(a.Header.Get("Cache-Control"), "public, ") {
		t.Errorf("%d %s %s", a.Status, a.Header, a.Body)
	}
	if b := stream.next(); b.id != "1" || b.event != "hazard.created" {
		t.Errorf("the stream begins with %v", b)
	}
	if a := s.do("", "GET", "/h/"+h.UUID, nil, "Accept", "text/html"); a.Status != 200 || !strings.Contains(string(a.Body), "Log in") || strings.Contains(string(a.Body), "secret") {
		t.Errorf("the page: %d %s", a.Status, a.Body)
	}
	for name, a := range map[string]server.Answer{
		"a token that is not good":  s.do("", "GET", "/hazards/active", nil, "Authorization", "Bearer no"),
		"an empty Authorization":    s.do("", "GET", "/hazards/active", nil, "Authorization", ""),
		"a write":                   s.do("", "POST", "/hazards", flood()),
		"what editors read":         s.do("", "GET", "/joins", nil),
		"an account":                s.do("", "GET", "/account", nil),
		"a read key that is no key": s.do("", "GET", "/key/none/hazards/active", nil),
	} {
		if a.Status != 403 || string(a.Body) != "Invalid Token" {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if a := s.do("red", "GET", "/hazards/active", nil); a.Header.Get("Cache-Control") != "no-store" || !strings.Contains(string(a.Body), `"product_total":"2"`) {
		t.Errorf("a member reads %s, Cache-Control %s", a.Body, a.Header.Get("Cache-Control"))
	}
	if a := s.do("reader", "GET", "/hazards/active", nil); a.Header.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("a user's answer may be cached: %s", a.Header.Get("Cache-Control"))
	}
	off := handle(t)
	for _, path := range []string{"/hazards/active", "/events", "/hazards/1/map.png"} {
		if a := off.do("", "GET", path, nil); a.Status != 403 || string(a.Body) != "Invalid Token" {
			t.Errorf("off: %s: %d %s", path, a.Status, a.Body)
		}
	}
	if a := off.do("", "GET", "/embed", nil); a.Status != 404 {
		t.Errorf("off: /embed: %d", a.Status)
	}
}

var sharedFor = regexp.MustCompile(`^public, max-age=0, (no-cache|s-maxage=([0-9]+), must-revalidate)$`)

// shared returns how long a shared cache may reuse an answer, in seconds; 0: not at all.
func shared(t *testing.T, a server.Answer) int64 {
	t.Helper()
	m := sharedFor.FindStringSubmatch(a.Header.Get("Cache-Control"))
	if m == nil {
		t.Fatalf("%d %v %.300s", a.Status, a.Header, a.Body)
	}
	n, _ := strconv.ParseInt("0"+m[2], 10, 64)
	return n
}

func TestNoAnswerIsReusedPastAnEndInIt(t *testing.T) {
	p := handle(t, open)
	began := time.Now().Truncate(time.Second).UnixMilli()
	p.clock.Store(began)
	end := began + 9_400
	var h item
	p.do("root", "POST", "/hazards", flood("autoexpire", "Y", "end_Date", digits(end))).JSON(t, &h)
	p.settled(t)
	kept := int64(0)
	paths := []string{"/hazards/active", "/hazards/active?f=geojson", "/hazards", "/hazards/" + h.UUID, "/h/" + h.UUID, "/ogc/collections/active-hazards/items", "/changes?after=0"}
	if web.NewHandler().Built() {
		paths = append(paths, "/?h="+h.UUID)
	}
	for at := began; at <= end+500; at += 100 {
		p.clock.Store(at)
		for _, path := range paths {
			a := p.do("", "GET", path, nil, "Accept", "text/html, application/json")
			s := shared(t, a)
			kept += s
			// nginx counts whole seconds, and serves until the end of the last one.
			if last := at/1000*1000 + (s+1)*1000; s > 0 && at < end && last > end {
				t.Fatalf("%s at %d ms before the end may be served for %d s, by a cache of whole seconds until %d ms after it", path, end-at, s, last-end)
			}
		}
	}
	if kept == 0 {
		t.Error("no answer may ever be reused")
	}
}

// A wake-up changes a hazard like an end does, but is only in the store.
func TestNoAnswerIsReusedPastAMomentAtWhichAHazardIsDerivedAgain(t *testing.T) {
	p := handle(t, open)
	began := time.Now().Truncate(time.Second).UnixMilli()
	p.clock.Store(began)
	var h item
	p.do("root", "POST", "/hazards", flood()).JSON(t, &h)
	_, err := p.Store.Write(t.Context(), hazard.Instant(began), store.Origin{}, func(tx *store.Tx) error {
		return tx.SetWake(h.HazardID, hazard.Instant(began+20_000))
	})
	if err != nil {
		t.Fatal(err)
	}
	p.settled(t)
	for at, want := range map[int64]int64{0: 5, 12_900: 5, 14_000: 4, 17_000: 1, 18_100: 0, 19_900: 0} {
		p.clock.Store(began + at)
		if got := shared(t, p.do("", "GET", "/hazards/active", nil)); got != want {
			t.Errorf("%d ms before the end: %d s, want %d", 20_000-at, got, want)
		}
	}
}

// L 5: a crawl of everything that the public may read, with restricted products of several
// organizations, of active and ended hazards.
func TestNoByteOfAnythingRestrictedIsPublic(t *testing.T) {
	test.NoRace(t)
	s := start(t, func(c *app.Config) { c.Public, c.PublicLimits = route.PublicMap, route.PublicLimits{Rate: -1} })
	const canary = "canary4711"
	type object struct{ hazard, product string }
	var objects []object
	for _, user := range []string{"red", "fire"} {
		for _, over := range []bool{false, true} {
			h := s.hazard(user, "hazard_Name", "Flood of "+user)
			folder := s.product(user, h.HazardID, folder("title", canary, "security_Flag", "R"))
			secret := s.product(user, h.HazardID, note("title", canary, "data", canary, "comment_Text", canary, "parent_ID", folder.ProductID, "security_Flag", "R"))
			var upload item
			s.upload(user, h.HazardID, file("title", canary, "security_Flag", "R"), canary+".txt", []byte(canary)).JSON(t, &upload)
			gone := s.product(user, h.HazardID, note("title", canary, "security_Flag", "R"))
			s.do(user, "DELETE", "/products/"+gone.UUID, nil)
			was := s.product(user, h.HazardID, note("title", canary)) // public before it was restricted
			s.do(user, "PATCH", "/products/"+was.UUID, `{"security_Flag":"R"}`)
			open := s.product(user, h.HazardID, note("title", "for all"))
			for _, p := range []item{folder, secret, upload, gone, was, open} {
				objects = append(objects, object{h.UUID, p.UUID}, object{digits(h.HazardID), digits(p.ProductID)})
			}
			if over {
				s.do(user, "PATCH", "/hazards/"+h.UUID, `{"status":"E"}`)
			}
		}
	}
	var last struct{ Change int64 }
	s.do("", "GET", "/readyz", nil).JSON(t, &last)
	contract, err := server.Contract()
	if err != nil {
		t.Fatal(err)
	}
	seen, bytesRead, good := map[string]bool{}, 0, 0
	moment := time.Now().Add(-time.Millisecond).UTC().Format(time.RFC3339Nano)
	for _, op := range contract.Operations() {
		method, pattern, _ := strings.Cut(op, " ")
		if method != "GET" || pattern == "/events" || strings.HasPrefix(pattern, "/key/") {
			continue
		}
		for i, o := range objects {
			if i > 0 && !strings.Contains(pattern, "{hazard-id}") && !strings.Contains(pattern, "{product-id}") {
				break
			}
			path := strings.NewReplacer("{hazard-id}", o.hazard, "{product-id}", o.product, "{category-id}", "EVENT", "{severity-id}", "WATCH", "{collection-id}", "hazards", "{source-id}", "usgs",
				"{key-id}", uuid.NewString(), "{webhook-id}", uuid.NewString(), "{payload-id}", strings.Repeat("0", 64), "{held-id}", "1", "{delivery-id}", "1").Replace(pattern)
			for _, query := range []string{"", "?at=" + moment, "?f=geojson", "?f=cap", "?f=csv", "?f=atom", "?f=rss", "?f=kml", "?after=0", "?after=0&wait=1ms", "?q=" + canary, "?h=" + o.hazard, "?size=240"} {
				if seen[path+query] {
					continue
				}
				seen[path+query] = true
				resp, err := s.client.Do(newRequest(t, s.tokens, "", "GET", s.URL()+path+query, nil, "Accept", "text/html, application/json;q=0.9, */*;q=0.1"))
				if err != nil {
					t.Fatal(err)
				}
				var body bytes.Buffer
				if _, err := body.ReadFrom(resp.Body); err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				bytesRead += body.Len()
				if resp.StatusCode == http.StatusOK {
					good++
				}
				if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500 {
					t.Fatalf("GET %s%s: %d %s", path, query, resp.StatusCode, body.String())
				}
				text := body.String() + fmt.Sprint(resp.Header)
				if strings.Contains(strings.ReplaceAll(text, "q="+canary, ""), canary) { // an answer may repeat the query
					t.Errorf("GET %s%s: %d %s", path, query, resp.StatusCode, text)
				}
			}
		}
	}
	if t.Logf("%d answers, %d of them 200, %d bytes", len(seen), good, bytesRead); good < 500 {
		t.Error("too few answers were read")
	}
	stream := s.subscribe("", "?after=0")
	for {
		b := stream.next()
		if strings.Contains(b.data, canary) {
			t.Errorf("the stream tells %v", b)
		}
		if n, _ := strconv.ParseInt(b.id, 10, 64); n >= last.Change {
			break
		}
	}
}

func TestTheCrowdIsLimitedAndCostsUsersNothing(t *testing.T) {
	p := handle(t, open, func(c *serve.Config) {
		c.PublicLimits = route.PublicLimits{Rate: 2, Requests: 16, Streams: 16}
		c.Requests = route.RequestLimits{UserRate: 1000}
	})
	p.clock.Store(time.Now().UnixMilli())
	from := func(addr string) server.Answer {
		req := newRequest(t, p.tokens, "", "GET", "http://hazardd.example/hazards/types", nil)
		req.RemoteAddr = addr
		return p.answer(req)
	}
	for i := range 20 {
		if a := from(fmt.Sprintf("[2001:db8::%d]:1", i+1)); a.Status != 200 { // one /64
			t.Fatalf("request %d: %d %s", i, a.Status, a.Body)
		}
	}
	wantLimit(t, from("[2001:db8::ffff]:1"), 429, "public-rate")
	if a := from("[2001:db8:0:1::1]:1"); a.Status != 200 {
		t.Errorf("another network: %d %s", a.Status, a.Body)
	}
	n := 0
	for ; n < 100; n++ {
		if a := from(fmt.Sprintf("192.0.2.%d:1", n)); a.Status != 200 {
			wantLimit(t, a, 503, "public-rate-all")
			break
		}
	}
	if n != 2*40-21 {
		t.Errorf("%d addresses were served, want %d", n, 2*40-21)
	}
	if a := p.do("reader", "GET", "/hazards/active", nil); a.Status != 200 {
		t.Errorf("a user: %d %s", a.Status, a.Body)
	}
}

func TestStreamsOfThePublicAreLimited(t *testing.T) {
	s := start(t, func(c *app.Config) {
		c.Public, c.PublicLimits, c.AllStreams = route.PublicRead, route.PublicLimits{Streams: 16}, 3
	})
	s.hazard("red")
	first, second := s.subscribe("", ""), s.subscribe("", "")
	a := s.do("", "GET", "/events", nil)
	wantLimit(t, a, 429, "public-streams")
	wantLimit(t, s.do("", "GET", "/changes?after=1&wait=1s", nil), 429, "public-streams")
	s.subscribe("red", "")
	_ = first.resp.Body.Close()
	_ = second.resp.Body.Close()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // the server notices the end a moment later
		if a := s.do("", "GET", "/changes?after=0&wait=1s", nil); a.Status == 200 {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the places are not free again: %d %s", a.Status, a.Body)
		}
	}
}

func TestALinkHasAPreview(t *testing.T) {
	p := handle(t, open)
	var h item
	p.do("root", "POST", "/hazards", flood("hazard_Name", `Flood "<b>" - Quay`, "description", "Water over the quay.", "severity_ID", "WARNING")).JSON(t, &h)
	p.settled(t)
	for _, path := range []string{"/h/" + h.UUID, "/?h=" + h.UUID} {
		a := p.do("", "GET", path, nil, "Accept", "text/html")
		if strings.Contains(string(a.Body), "The map is not in this binary") {
			t.Log("the map is not built: run make web")
			continue
		}
		for _, want := range []string{`property="og:title" content="Warning: Flood &#34;&lt;b&gt;&#34; - Quay"`, "Water over the quay.", `property="og:image" content="https://hazardd.example/hazards/` + h.UUID + "/map.png?size=1200",
			`name="twitter:card" content="summary_large_image"`} {
			if !strings.Contains(string(a.Body), want) {
				t.Errorf("%s: no %s in %.3000s", path, want, a.Body)
			}
		}
	}
	a := p.do("", "GET", "/hazards/"+h.UUID+"/map.png?size=300&v=1", nil)
	if a.Status != 200 || a.Header.Get("Content-Type") != "image/png" || !bytes.HasPrefix(a.Body, []byte("\x89PNG")) {
		t.Fatalf("the picture: %d %s", a.Status, a.Header)
	}
	if again := p.do("", "GET", "/hazards/"+h.UUID+"/map.png?size=300&v=1", nil, "If-None-Match", a.Header.Get("ETag")); again.Status != 304 {
		t.Errorf("the same picture again: %d", again.Status)
	}
	for query, want := range map[string]int{"?size=10": 400, "?size=100000": 400, "?sise=300": 400} {
		if a := p.do("", "GET", "/hazards/"+h.UUID+"/map.png"+query, nil); a.Status != want {
			t.Errorf("%s: %d", query, a.Status)
		}
	}
	p.do("root", "PATCH", "/hazards/"+h.UUID, `{"status":"E"}`)
	p.settled(t)
	if b := p.do("", "GET", "/hazards/"+h.UUID+"/map.png?size=300", nil); bytes.Equal(a.Body, b.Body) {
		t.Error("the picture does not say that the hazard has ended")
	}
	if a := p.do("", "GET", "/h/"+h.UUID, nil, "Accept", "text/html"); !strings.Contains(string(a.Body), `content="Ended: Flood`) {
		t.Errorf("the preview does not say that the hazard has ended: %.2000s", a.Body)
	}
	if a := handle(t).do("", "GET", "/?h="+h.UUID, nil, "Accept", "text/html"); strings.Contains(string(a.Body), "og:title") {
		t.Error("a server that is not public shows its hazards")
	}
}

func TestAWindowOfTheMapIsAPicture(t *testing.T) {
	p := handle(t, open)
	if a := p.do("", "GET", "/hazards/active/map.svg", nil); a.Status != 200 || bytes.Contains(a.Body, []byte(`"middle"`)) || !bytes.Contains(a.Body, []byte(`"towns"`)) {
		t.Errorf("without a hazard, the picture has a position: %d %.500s", a.Status, a.Body)
	}
	var h item
	p.do("root", "POST", "/hazards", flood("severity_ID", "WARNING", "longitude", 10, "latitude", 53.5)).JSON(t, &h)
	p.settled(t)
	const at = "/hazards/active/map.svg?longitude=10&latitude=53.5&zoom=6"
	a := p.do("", "GET", at, nil)
	if a.Status != 200 || a.Header.Get("Content-Type") != "image/svg+xml" || a.Header.Get("Content-Security-Policy") != "sandbox; default-src 'none'" || a.Header.Get("Hazardd-Change") != "1" || shared(t, a) == 0 || bytes.Count(a.Body, []byte("<use ")) != 1 {
		t.Fatalf("%d %s %.500s", a.Status, a.Header, a.Body)
	}
	if a := p.do("", "GET", "/hazards/active/map.svg", nil); a.Status != 200 || !bytes.Contains(a.Body, []byte(`"middle":[10,53.5,4]`)) {
		t.Errorf("the window without parameters: %d %.500s", a.Status, a.Body)
	}
	if again := p.do("", "GET", at, nil, "If-None-Match", a.Header.Get("ETag")); again.Status != 304 {
		t.Errorf("the same picture again: %d", again.Status)
	}
	if a := p.do("", "GET", at+"&severity=WATCH,ADVISORY", nil); a.Status != 200 || bytes.Contains(a.Body, []byte("<use ")) {
		t.Errorf("of other levels: %d %.500s", a.Status, a.Body)
	}
	for _, query := range []string{"zoom=2", "zoom=11", "zoom=x", "zoom=NaN", "latitude=86", "longitude=181", "width=10", "height=5000", "theme=pink", "severity=BAD", "nonsense=1", "zoom=4&zoom=5"} {
		if a := p.do("", "GET", "/hazards/active/map.svg?"+query, nil); a.Status != 400 {
			t.Errorf("%s: %d", query, a.Status)
		}
	}
	p.do("root", "PATCH", "/hazards/"+h.UUID, `{"status":"E"}`)
	p.settled(t)
	if a := p.do("", "GET", at, nil); a.Status != 200 || bytes.Contains(a.Body, []byte("<use ")) {
		t.Errorf("an ended hazard is drawn: %d %.500s", a.Status, a.Body)
	}
	if a := handle(t).do("", "GET", at, nil); a.Status != 403 {
		t.Errorf("of a server that is not public: %d", a.Status)
	}
}

// Once, /robots.txt and /.well-known/security.txt returned 404.
func TestCrawlersAndFindersOfFaultsAreToldWhereToGo(t *testing.T) {
	off, on := handle(t), handle(t, open, func(c *serve.Config) { c.SecurityContact = "mailto:security@example.org" })
	if a := off.do("", "GET", "/robots.txt", nil); a.Status != 200 || !strings.HasSuffix(string(a.Body), "\nDisallow: /\n") || strings.Contains(string(a.Body), "Allow: /h") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := on.do("", "GET", "/robots.txt", nil); a.Status != 200 || !strings.Contains(string(a.Body), "Allow: /h/") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := off.do("", "GET", "/.well-known/security.txt", nil); a.Status != 404 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	a := on.do("", "GET", "/.well-known/security.txt", nil)
	_, expires, _ := strings.Cut(string(a.Body), "Expires: ")
	expires, _, _ = strings.Cut(expires, "\n")
	if at, err := time.Parse(time.RFC3339, expires); a.Status != 200 || !strings.HasPrefix(string(a.Body), "Contact: mailto:security@example.org\n") || err != nil || time.Until(at) < 30*24*time.Hour {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestOnlyChosenSitesFrameTheWidget(t *testing.T) {
	frames := regexp.MustCompile(`frame-ancestors ([^;]*)`)
	for want, sites := range map[string][]string{
		"'self'":                      nil,
		"'self' https://town.example": {"https://town.example"},
		"*":                           {"https://town.example", "*"},
	} {
		p := handle(t, open, func(c *serve.Config) { c.EmbedSites = sites })
		a := p.do("", "GET", "/embed?bbox=1,2,3,4&lang=en", nil)
		if strings.Contains(string(a.Body), "The map is not in this binary") {
			t.Skip("the map is not built: run make web")
		}
		if m := frames.FindStringSubmatch(a.Header.Get("Content-Security-Policy")); a.Status != 200 || m == nil || m[1] != want {
			t.Errorf("%v: %d, %s", sites, a.Status, a.Header.Get("Content-Security-Policy"))
		}
		if a := p.do("", "GET", "/", nil, "Accept", "text/html"); !strings.Contains(a.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") || !strings.Contains(string(a.Body), "hazardd-open") {
			t.Errorf("the map: %s %s", a.Header.Get("Content-Security-Policy"), a.Body)
		}
	}
}

// A wall display reads with a key, which outlives its browser: the address is all that it needs.
func TestAKeyOpensTheMapAndTheWidget(t *testing.T) {
	p := handle(t)
	_, key, err := p.Auth.CreateReadKey(t.Context(), auth.Actor{}, "editor", "wall", hazard.At(p.time()))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/embed?kiosk=1"} {
		a := p.do("", "GET", "/key/"+string(key)+path, nil, "Accept", "text/html")
		if strings.Contains(string(a.Body), "The map is not in this binary") {
			t.Skip("the map is not built: run make web")
		}
		if a.Status != http.StatusOK || !strings.Contains(string(a.Body), "hazardd-open") || a.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s: %d %s %s", path, a.Status, a.Header, a.Body)
		}
		if a := p.do("", "GET", "/key/none"+path, nil, "Accept", "text/html"); a.Status != http.StatusForbidden {
			t.Errorf("%s without the key: %d", path, a.Status)
		}
	}
}
