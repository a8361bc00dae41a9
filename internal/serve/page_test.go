package serve_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang/words"
	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
	"github.com/hazardd/hazardd/wire"
)

// formType is the content type of a form.
const formType = "application/x-www-form-urlencoded"

// asker sends requests to the running service, or to the API in this process.
type asker interface {
	do(user, method, path string, body any, header ...string) server.Answer
}

// sessionOf returns the cookie of a new session, as a browser sends it.
func sessionOf(t testing.TB, s asker, user string) string {
	t.Helper()
	return cookieOf(t, s.do(user, "POST", "/session", nil), http.StatusNoContent)
}

// cookieOf returns the cookie that an answer sets.
func cookieOf(t testing.TB, a server.Answer, status int) string {
	t.Helper()
	c := setCookie(t, a)
	if a.Status != status || c.Value == "" || c.MaxAge <= 0 {
		t.Fatalf("%d, cookie %v: %s", a.Status, c, a.Body)
	}
	return c.Name + "=" + c.Value
}

func setCookie(t testing.TB, a server.Answer) *http.Cookie {
	t.Helper()
	var values []string // without that of the device, which is no session
	for _, v := range a.Header["Set-Cookie"] {
		if name, _, _ := strings.Cut(v, "="); !strings.HasSuffix(name, "-device") {
			values = append(values, v)
		}
	}
	if len(values) != 1 {
		t.Fatalf("%d, cookies %q: %.300s", a.Status, values, a.Body)
	}
	c, err := http.ParseSetCookie(values[0])
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// visit requests a page with a session.
func visit(s asker, cookie, path string, header ...string) server.Answer {
	return s.do("", "GET", path, nil, append([]string{"Cookie", cookie, "Accept", "text/html,application/xhtml+xml"}, header...)...)
}

func logIn(s asker, username, password, next string, header ...string) server.Answer {
	form := url.Values{"username": {username}, "password": {password}, "next": {next}}
	return s.do("", "POST", "/login", form.Encode(), append([]string{"Content-Type", formType}, header...)...)
}

// wantHTML checks that an answer meets the requirements of all pages, and returns its text.
func wantHTML(t testing.TB, a server.Answer, status int) string {
	t.Helper()
	if a.Status != status || a.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("got %d %s, want a page with %d: %.500s", a.Status, a.Header.Get("Content-Type"), status, a.Body)
	}
	csp := a.Header.Get("Content-Security-Policy")
	for _, rule := range []string{"default-src 'none'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(csp, rule) {
			t.Errorf("the policy %q is without %q", csp, rule)
		}
	}
	if !strings.Contains(a.Header.Get("Permissions-Policy"), "camera=()") {
		t.Errorf("permissions %q", a.Header.Get("Permissions-Policy"))
	}
	if strings.Contains(csp, "unsafe") || strings.Contains(csp, "script-src") || a.Header.Get("X-Content-Type-Options") != "nosniff" ||
		a.Header.Get("Referrer-Policy") != "same-origin" || !strings.Contains(strings.Join(a.Header["Vary"], ","), "Cookie") {
		t.Errorf("header %v", a.Header)
	}
	return wantDocument(t, a.Body)
}

// wantDocument checks that a page is well-formed, contains nothing executable, and loads only from
// its own server.
func wantDocument(t testing.TB, page []byte) string {
	t.Helper()
	var open, said []string
	ids, count := map[string]bool{}, map[string]int{}
	void := []string{"meta", "link", "img", "br", "input", "source", "hr"}
	tok := html.NewTokenizer(bytes.NewReader(page))
	for {
		kind := tok.Next()
		if kind == html.ErrorToken {
			if !errors.Is(tok.Err(), io.EOF) {
				t.Fatal(tok.Err())
			}
			break
		}
		token := tok.Token()
		switch kind {
		case html.TextToken:
			said = append(said, strings.Fields(token.Data)...)
		case html.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != token.Data {
				t.Fatalf("</%s> closes %v", token.Data, open)
			}
			open = open[:len(open)-1]
		case html.StartTagToken, html.SelfClosingTagToken:
			count[token.Data]++
			attrs := map[string]string{}
			for _, a := range token.Attr {
				if _, twice := attrs[a.Key]; twice {
					t.Errorf("<%s> has two of %s", token.Data, a.Key)
				}
				attrs[a.Key] = a.Val
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || strings.Contains(a.Val, "ZgotmplZ") {
					t.Errorf("<%s %s=%q>", token.Data, a.Key, a.Val)
				}
				switch a.Key {
				case "src", "srcset", "action", "href":
					own := strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "//") || strings.HasPrefix(a.Val, "#")
					outward := token.Data == "a" && (strings.HasPrefix(a.Val, "https://") || strings.HasPrefix(a.Val, "http://"))
					if !own && !outward {
						t.Errorf("<%s %s=%q>", token.Data, a.Key, a.Val)
					}
				case "id":
					if ids[a.Val] {
						t.Errorf("two elements %q", a.Val)
					}
					ids[a.Val] = true
				}
			}
			if href := attrs["href"]; token.Data == "a" && strings.HasPrefix(href, "http") && !strings.Contains(attrs["rel"], "noopener") {
				t.Errorf("an external link without rel: %v", token)
			}
			if _, ok := attrs["alt"]; token.Data == "img" && !ok {
				t.Errorf("an image without a text: %v", token)
			}
			if token.Data == "html" && !slices.ContainsFunc(words.All(), func(l *words.Language) bool { return l.ID == attrs["lang"] && l.Dir == attrs["dir"] }) {
				t.Errorf("language %q", attrs["lang"])
			}
			switch token.Data {
			case "script", "style", "iframe", "object", "embed", "base", "svg":
				t.Errorf("the page holds %v", token)
			}
			if !slices.Contains(void, token.Data) {
				open = append(open, token.Data)
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("never closed: %v", open)
	}
	for _, once := range []string{"html", "head", "title", "body", "main", "h1"} {
		if count[once] != 1 {
			t.Errorf("%d elements %s", count[once], once)
		}
	}
	if _, err := html.Parse(bytes.NewReader(page)); err != nil {
		t.Error(err)
	}
	return strings.Join(said, " ")
}

func TestTheCookieIsForPagesOfThisServerAlone(t *testing.T) {
	s := start(t)
	_, port, _ := strings.Cut(s.Addr().String(), ":")
	for name, tt := range map[string]struct {
		asker  asker
		cookie string
		secure bool
	}{
		"http":  {s, "hazardd-" + port, false},
		"https": {handle(t), "__Host-hazardd", true},
	} {
		t.Run(name, func(t *testing.T) {
			for way, a := range map[string]server.Answer{"by a token": tt.asker.do("reader", "POST", "/session", nil), "by a password": logIn(tt.asker, "reader", server.Password, "")} {
				c := setCookie(t, a)
				if c.Name != tt.cookie || c.Secure != tt.secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
					t.Errorf("%s: %+v", way, c)
				}
				if c.MaxAge < 12*3600-10 || c.MaxAge > 12*3600 {
					t.Errorf("%s: it lives for %d s", way, c.MaxAge)
				}
				if a.Header.Get("Cache-Control") != "no-store" {
					t.Errorf("%s: Cache-Control %q", way, a.Header.Get("Cache-Control"))
				}
			}
		})
	}
	for name, header := range map[string][]string{
		"no token": nil, "the cookie itself": {"Cookie", sessionOf(t, s, "reader")}, "a page token for an access token": {"Authorization", "Bearer " + after(sessionOf(t, s, "reader"), "=")},
	} {
		if a := s.do("", "POST", "/session", nil, header...); a.Status != 403 || string(a.Body) != "Invalid Token" || a.Header["Set-Cookie"] != nil {
			t.Errorf("a session by %s: %d %s", name, a.Status, a.Body)
		}
	}
}

func after(text, mark string) string { _, rest, _ := strings.Cut(text, mark); return rest }

func TestTheAPITakesNoCookie(t *testing.T) {
	s := start(t)
	h := s.hazard("red")
	cookie := sessionOf(t, s, "root")
	if a := visit(s, cookie, "/h/"+h.UUID); a.Status != 200 {
		t.Fatalf("the cookie is not valid: %d", a.Status)
	}
	id := digits(h.HazardID)
	for _, request := range []string{
		"GET /hazards/types", "GET /hazards/active", "GET /hazards/active/category/EVENT", "GET /hazards/" + id, "GET /hazards/" + id + "/products", "GET /hazards/" + id + "/changes",
		"GET /hazards/" + id + "/reports", "GET /hazards/" + id + "/alert-geography", "GET /changes", "GET /sources", "GET /products/1/file", "POST /hazards", "PATCH /hazards/" + id,
		"POST /hazards/" + id + "/retract", "POST /hazards/" + id + "/products", "DELETE /products/1", "POST /sources/usgs/poll", "POST /session",
	} {
		method, path, _ := strings.Cut(request, " ")
		if a := s.do("", method, path, nil, "Cookie", cookie); a.Status != 403 || string(a.Body) != "Invalid Token" {
			t.Errorf("%s with only the cookie: %d %.100s", request, a.Status, a.Body)
		}
	}
}

func TestPagesTakeTheCookieAndNothingElse(t *testing.T) {
	s := start(t)
	h := s.hazard("red")
	session := sessionOf(t, s, "reader")
	name, token, _ := strings.Cut(session, "=")
	access := s.tokens.of("reader")
	for _, path := range []string{"/h/" + h.UUID, "/h/" + digits(h.HazardID), "/h/" + h.UUID + "/map.svg?theme=dark", "/h/" + h.UUID + "/hazard.json", "/h/" + h.UUID + "/changes.json", "/h/" + h.UUID + "/area.geojson",
		"/h/" + h.UUID + "/products/1/file", "/h/0190a0b0-7d5b-7a53-8d5e-0f7c3a1b2c4d", "/h/nonsense"} {
		for how, header := range map[string][]string{
			"nothing": nil, "an access token": {"Authorization", "Bearer " + access}, "an access token as cookie": {"Cookie", name + "=" + access}, "a page token as access token": {"Authorization", "Bearer " + token},
			"two cookies": {"Cookie", session + "; " + session}, "another cookie": {"Cookie", "session=" + token}, "a part of the token": {"Cookie", session[:len(session)-1]}, "an empty cookie": {"Cookie", name + "="},
		} {
			a := s.do("", "GET", path, nil, header...)
			if want := "/login?next=" + url.QueryEscape(path); a.Status != http.StatusSeeOther || a.Header.Get("Location") != want || len(a.Body) > 0 {
				t.Errorf("%s with %s: %d, Location %q, want %q", path, how, a.Status, a.Header.Get("Location"), want)
			}
		}
	}
}

func TestASessionEnds(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, s *inProcess, cookie string, pair wire.TokenPair){
		"by DELETE /session": func(t *testing.T, s *inProcess, cookie string, _ wire.TokenPair) {
			a := s.do("", "DELETE", "/session", nil, "Cookie", cookie, "Sec-Fetch-Site", "same-origin")
			if c := setCookie(t, a); a.Status != 204 || c.MaxAge >= 0 || c.Value != "" || !c.HttpOnly || c.Path != "/" {
				t.Errorf("%d %v", a.Status, c)
			}
		},
		"by POST /logout": func(t *testing.T, s *inProcess, cookie string, _ wire.TokenPair) {
			a := s.do("", "POST", "/logout", nil, "Cookie", cookie, "Origin", "https://hazardd.example")
			if c := setCookie(t, a); a.Status != 303 || a.Header.Get("Location") != "/login" || c.MaxAge >= 0 || c.Value != "" {
				t.Errorf("%d %v", a.Status, c)
			}
		},
		"with its login": func(t *testing.T, s *inProcess, _ string, pair wire.TokenPair) {
			if a := s.do("", "POST", "/authorize/revoke", map[string]string{"refreshToken": pair.RefreshToken}); a.Status != 204 {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		},
		"when its user is disabled": func(t *testing.T, s *inProcess, _ string, _ wire.TokenPair) {
			if err := s.Auth.Accounts().Disable(t.Context(), actor, "reader", now()); err != nil {
				t.Error(err)
			}
		},
		"after twelve hours": func(_ *testing.T, s *inProcess, _ string, _ wire.TokenPair) { s.ahead.Store(int64(12 * time.Hour)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := handle(t)
			s.fill(1)
			var pair wire.TokenPair
			s.do("", "POST", "/authorize", credentials("reader", server.Password)).JSON(t, &pair)
			cookie := cookieOf(t, s.do("", "POST", "/session", nil, "Authorization", "Bearer "+pair.AccessToken), http.StatusNoContent)
			if a := visit(s, cookie, "/h/1"); a.Status != 200 {
				t.Fatalf("before: %d %s", a.Status, a.Body)
			}
			end(t, s, cookie, pair)
			if a := visit(s, cookie, "/h/1"); a.Status != http.StatusSeeOther {
				t.Errorf("after: %d", a.Status)
			}
			if a := s.do("", "DELETE", "/session", nil, "Cookie", cookie); a.Status != 204 { // repeating it does no harm
				t.Errorf("once more: %d %s", a.Status, a.Body)
			}
		})
	}
}

func TestLoggingInByTheForm(t *testing.T) {
	s := handle(t)
	s.fill(1)
	t.Run("the form leads on", func(t *testing.T) {
		form := s.do("", "GET", "/login?next=%2Fh%2F1", nil)
		wantHTML(t, form, 200)
		if !bytes.Contains(form.Body, []byte(`name="next" value="/h/1"`)) || form.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s", form.Body)
		}
		a := logIn(s, "reader", server.Password, "/h/1")
		if a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/h/1" {
			t.Fatalf("%d %v", a.Status, a.Header)
		}
		cookie := cookieOf(t, a, http.StatusSeeOther)
		if words := wantHTML(t, visit(s, cookie, "/h/1"), 200); !strings.Contains(words, "Logged in as reader") {
			t.Errorf("%s", words)
		}
		if a := visit(s, cookie, "/login?next=/h/1"); a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/h/1" {
			t.Errorf("a logged-in user has to log in again: %d %v", a.Status, a.Header)
		}
	})
	t.Run("unknown users and wrong passwords are answered alike", func(t *testing.T) {
		var first []byte
		for _, user := range []string{"reader", "nobody"} {
			a := logIn(s, user, "a wrong one"+`"><script>`, "/h/1")
			wantHTML(t, a, http.StatusUnauthorized)
			body := bytes.ReplaceAll(a.Body, []byte(user), nil)
			if first == nil {
				first = body
			}
			if !bytes.Equal(body, first) || a.Header["Set-Cookie"] != nil || bytes.Contains(body, []byte("a wrong one")) || a.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: %s %v", user, a.Body, a.Header)
			}
		}
	})
	t.Run("what is no form", func(t *testing.T) {
		for body, status := range map[string]int{"": 400, "username=a": 400, "username=a&username=b&password=c": 400, "username=%zz&password=secret-word": 400, `{"username":"a"}`: 400,
			"username=a&password=" + strings.Repeat("x", 64<<10): 413} {
			a := s.do("", "POST", "/login", body, "Content-Type", formType)
			if wantHTML(t, a, status); a.Header["Set-Cookie"] != nil || bytes.Contains(a.Body, []byte("secret-word")) {
				t.Errorf("%.50s: %v", body, a.Header)
			}
		}
	})
	t.Run("too many attempts wait", func(t *testing.T) {
		s.clock.Store(time.Now().UnixMilli()) // a second must not pass by itself
		for i := 0; ; i++ {
			a := logIn(s, "editor", "wrong", "/h/1")
			if a.Status == http.StatusTooManyRequests {
				if words := wantHTML(t, a, 429); !strings.Contains(words, "Try again in") || a.Header.Get("Retry-After") == "" {
					t.Errorf("%s %v", words, a.Header)
				}
				break
			}
			if wantHTML(t, a, 401); i > 10 {
				t.Fatal("no limit")
			}
		}
		// It shares the count with POST /authorize.
		if a := s.do("", "POST", "/authorize", credentials("editor", server.Password)); a.Status != http.StatusTooManyRequests {
			t.Errorf("POST /authorize: %d", a.Status)
		}
	})
}

func TestNoOtherSiteLogsAnybodyInOrOut(t *testing.T) {
	s := handle(t)
	cookie := sessionOf(t, s, "reader")
	s.fill(1)
	for name, tt := range map[string]struct {
		header  []string
		allowed bool
	}{
		"a browser, from its own page":           {[]string{"Sec-Fetch-Site", "same-origin", "Origin", "https://hazardd.example"}, true},
		"typed in":                               {[]string{"Sec-Fetch-Site", "none"}, true},
		"an old browser, from its own page":      {[]string{"Origin", "https://hazardd.example"}, true},
		"no browser":                             {nil, true},
		"another site":                           {[]string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, false},
		"another host of the domain":             {[]string{"Sec-Fetch-Site", "same-site", "Origin", "https://evil.hazardd.example"}, false},
		"an old browser, from another site":      {[]string{"Origin", "https://evil.example"}, false},
		"an old browser, from nowhere":           {[]string{"Origin", "null"}, false},
		"an old browser, from a host that looks": {[]string{"Origin", "https://hazardd.example.evil.example"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := logIn(s, "reader", server.Password, "/", tt.header...)
			if in := a.Header["Set-Cookie"] != nil; in != tt.allowed || a.Status != map[bool]int{true: 303, false: 403}[tt.allowed] {
				t.Errorf("login: %d %v", a.Status, a.Header)
			}
			for _, request := range []string{"POST /logout", "DELETE /session"} {
				method, path, _ := strings.Cut(request, " ")
				mine := sessionOf(t, s, "reader")
				a := s.do("", method, path, nil, append([]string{"Cookie", mine}, tt.header...)...)
				if out := a.Header["Set-Cookie"] != nil; out != tt.allowed || (visit(s, mine, "/h/1").Status == 200) == tt.allowed {
					t.Errorf("%s: %d %v", request, a.Status, a.Header)
				}
			}
			if a := visit(s, cookie, "/h/1", tt.header...); a.Status != 200 { // a link from elsewhere works
				t.Errorf("a page: %d", a.Status)
			}
		})
	}
}

func TestALoginLeadsNowhereElse(t *testing.T) {
	s := handle(t)
	if a := logIn(s, "reader", server.Password, "//evil.example"); a.Status != 303 || a.Header.Get("Location") != "/" {
		t.Errorf("%d %v", a.Status, a.Header)
	}
}

func TestThePageOfAHazard(t *testing.T) {
	s := start(t)
	r := quake("us1", now().Time().UnixMilli())
	r.Products = []hazard.ReportProduct{{Key: "a", Title: "Shaking", Type: hazard.URLProduct, Data: "https://example.org/shake"}}
	r.Areas = []hazard.Area{{Role: hazard.ImpactArea, Geometry: `{"type":"Polygon","coordinates":[[[9,19],[11,19],[11,21],[9,21],[9,19]]]}`}}
	s.report(r)
	id := hazard.EventUUID("usgs", "us1").String()
	var h item
	s.do("reader", "GET", "/hazards/"+id, nil).JSON(t, &h)
	photo := pngOf(t, 9, 9)
	s.upload("red", h.HazardID, file("title", "Quay"), "quay.jpg", photo)
	s.do("red", "PATCH", "/hazards/"+id, `{"severity_ID":"WARNING"}`)
	cookie := sessionOf(t, s, "reader")
	path := "/h/" + id

	words := wantHTML(t, visit(s, cookie, path), 200)
	for _, want := range []string{"Earthquake us1", "Severity: Warning", "Type: Earthquake", "Category: Event", "Status: Active", "as the source says", "20° 00′ 00″ N, 10° 00′ 00″ E",
		"Impact area , 46,", "Products 2", "Shaking", "Quay", fmt.Sprintf("quay.jpg (JPG, %d bytes)", len(photo)), "What each source says 1", "Severity: Advisory → Warning", "by red", "from USGS earthquakes", "is not polled by this server"} {
		if !strings.Contains(words, want) {
			t.Errorf("without %q: %s", want, words)
		}
	}
	t.Run("is shown whatever a mail program adds to the link", func(t *testing.T) {
		wantHTML(t, visit(s, cookie, path+"?utm_source=mail&x=%zz"), 200)
	})
	t.Run("is the same by its number", func(t *testing.T) {
		if other := wantHTML(t, visit(s, cookie, "/h/"+digits(h.HazardID)), 200); !strings.Contains(other, "Earthquake us1") {
			t.Error(other)
		}
	})
	t.Run("what it links to is there", func(t *testing.T) {
		page := visit(s, cookie, path)
		n := 0
		for _, link := range addresses(t, page.Body) {
			link, _, _ = strings.Cut(link, "#")
			if !strings.HasPrefix(link, "/") || link == "/" || link == "/logout" {
				continue
			}
			n++
			if a := visit(s, cookie, link); a.Status != 200 {
				t.Errorf("%s: %d %s", link, a.Status, a.Body)
			}
		}
		if n < 8 {
			t.Errorf("%d links", n)
		}
		for below, kind := range map[string]string{"/map.svg": "image/svg+xml", "/hazard.json": "application/json", "/changes.json": "application/json", "/area.geojson": "application/geo+json"} {
			if a := visit(s, cookie, path+below); a.Status != 200 || a.Header.Get("Content-Type") != kind {
				t.Errorf("%s: %d %v", below, a.Status, a.Header)
			}
		}
	})
	t.Run("its file is a download", func(t *testing.T) {
		var list []item
		s.do("reader", "GET", "/hazards/"+id+"/products", nil).JSON(t, &list)
		file := digits(list[1].ProductID) + "/file"
		a := visit(s, cookie, path+"/products/"+file)
		if a.Status != 200 || !bytes.Equal(a.Body, photo) || !strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment") || a.Header.Get("Cache-Control") != "private, no-store" ||
			!strings.Contains(a.Header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
		}
		if part := visit(s, cookie, path+"/products/"+file, "Range", "bytes=2-6"); part.Status != 206 || !bytes.Equal(part.Body, photo[2:7]) {
			t.Errorf("a part of it: %d %s", part.Status, part.Body)
		}
		other := s.hazard("red")
		wantHTML(t, visit(s, cookie, "/h/"+other.UUID+"/products/"+file), 404)
	})
	t.Run("may be revalidated and not reused", func(t *testing.T) {
		for {
			a := visit(s, cookie, path)
			tag := a.Header.Get("Etag")
			if a.Header.Get("Cache-Control") != "private, no-cache" || tag == "" {
				t.Fatalf("%v", a.Header)
			}
			again := visit(s, cookie, path, "If-None-Match", tag)
			if again.Status == http.StatusNotModified && len(again.Body) == 0 {
				break
			}
			// The page shows the second in which it was made.
			if again.Header.Get("Etag") == tag || bytes.Equal(again.Body, a.Body) {
				t.Fatalf("%d %v", again.Status, again.Header)
			}
		}
		if a := s.do("", "HEAD", path, nil, "Cookie", cookie); a.Status != 200 || len(a.Body) > 0 || a.Header.Get("Content-Length") == "" {
			t.Errorf("HEAD: %d %v", a.Status, a.Header)
		}
		a := visit(s, cookie, path, "Accept-Encoding", "br")
		if a.Header.Get("Content-Encoding") != "br" || !bytes.Contains(decode(t, "br", a.Body), []byte("Earthquake us1")) {
			t.Errorf("%v", a.Header)
		}
	})
	t.Run("programs are led to the data", func(t *testing.T) {
		for _, header := range [][]string{{"Accept", "application/json"}, {"Accept", "application/geo+json", "Cookie", cookie}} {
			if a := s.do("", "GET", path, nil, header...); a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/hazards/"+id {
				t.Errorf("%v: %d %v", header, a.Status, a.Header)
			}
		}
		if a := s.do("", "GET", path+"/hazard.json", nil, "Accept", "application/json"); a.Status != 403 || string(a.Body) != "Invalid Token" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		wantProblem(t, s.do("", "GET", "/h/999/hazard.json", nil, "Accept", "application/json", "Cookie", cookie), 404)
	})
	t.Run("the style sheet is kept for ever", func(t *testing.T) {
		var sheet string
		for _, link := range addresses(t, visit(s, cookie, path).Body) {
			if strings.HasSuffix(link, ".css") {
				sheet = link
			}
		}
		a := s.do("", "GET", sheet, nil, "Accept-Encoding", "gzip")
		if a.Status != 200 || a.Header.Get("Content-Type") != "text/css; charset=utf-8" || !strings.Contains(a.Header.Get("Cache-Control"), "immutable") || !bytes.Contains(decode(t, a.Header.Get("Content-Encoding"), a.Body), []byte("@media print")) {
			t.Errorf("%s: %d %v", sheet, a.Status, a.Header)
		}
		wantProblem(t, s.do("", "GET", "/pages/other.css", nil), 404)
	})
}

// addresses returns the values of href, src and srcset in a page.
func addresses(t testing.TB, page []byte) (list []string) {
	t.Helper()
	tok := html.NewTokenizer(bytes.NewReader(page))
	for tok.Next() != html.ErrorToken {
		for _, a := range tok.Token().Attr {
			if a.Key == "href" || a.Key == "src" || a.Key == "srcset" {
				list = append(list, a.Val)
			}
		}
	}
	return list
}

func TestPagesOfWhatIsNotThere(t *testing.T) {
	s := start(t)
	h := s.hazard("red")
	cookie := sessionOf(t, s, "reader")
	for path, want := range map[string]struct {
		status int
		words  string
	}{
		"/h/0190a0b0-7d5b-7a53-8d5e-0f7c3a1b2c4d": {404, "No such hazard"},
		"/h/999":                                  {404, "Nothing is ever erased here"},
		"/h/nonsense":                             {400, "No such hazard"},
		"/h/999/map.svg":                          {404, "No such hazard"},
		"/h/" + h.UUID + "/hazard.json?x=1":       {400, "Bad Request"},
		"/h/" + h.UUID + "/map.svg?theme=pink":    {400, "neither light nor dark"},
		"/h/" + h.UUID + "/products/999/file":     {404, "Not Found"},
		"/h/" + h.UUID + "/products/<b>/file":     {400, "Bad Request"},
		"/h/" + h.UUID + "/changes.json?limit=no": {400, "not a whole number"},
	} {
		a := visit(s, cookie, path)
		if words := wantHTML(t, a, want.status); !strings.Contains(words, want.words) || a.Header.Get("Cache-Control") != "no-store" || !strings.Contains(words, "Logged in as reader") {
			t.Errorf("%s: %s %v", path, words, a.Header)
		}
	}
	if a := s.do("", "POST", "/h/"+h.UUID, nil, "Cookie", cookie); a.Status != 405 || a.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d %v", a.Status, a.Header)
	}
}

func TestNothingThatIsWrittenIntoAPageRuns(t *testing.T) {
	s := start(t)
	evil := []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</title><script>alert(1)</script>`, `javascript:alert(1)`, `{{.H}}`, `<!--`, `]]></svg><script>`,
		`https://example.org/"><script>alert(1)</script>`, `https://example.org/'onclick='x`, "\u202egnp.exe", `&lt;script&gt;`, `data:text/html,<script>alert(1)</script>`}
	cookie := sessionOf(t, s, "red")
	for i, text := range evil {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := quake("us"+digits(int64(i)), 1)
			r.Name, r.Description, r.Comment, r.Creator, r.URL, r.Level, r.Key = "x"+text, text+"\n\n"+text, text, text, text, text, "k"+digits(int64(i))+text
			r.Products = []hazard.ReportProduct{{Key: "1", Title: text, Type: hazard.URLProduct, Data: text, Comment: text}, {Key: "2", Title: text, Type: hazard.TextProduct, Data: text}, {Key: "3", Title: text, Type: hazard.FolderProduct}}
			s.report(r)
			path := "/h/" + hazard.EventUUID(r.Source, r.Key).String()
			var h item
			s.do("red", "GET", "/hazards"+path[2:], nil).JSON(t, &h)
			if a := s.do("red", "PATCH", "/hazards"+path[2:], map[string]any{"hazard_Name": "y" + text, "comment_Text": text + text, "description": "z" + text}); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			if a := s.upload("red", h.HazardID, file("title", text), "evil.html", []byte(text)); a.Status != 201 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			if a := s.do("red", "POST", "/hazards"+path[2:]+"/retract", map[string]any{"reason": text}); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			a := visit(s, cookie, path)
			words := wantHTML(t, a, 200)
			if shown := strings.Join(strings.Fields(hazard.CleanLine("y"+text)), " "); !strings.Contains(words, shown) {
				t.Errorf("without %q", shown)
			}
			for _, link := range addresses(t, a.Body) {
				if !strings.HasPrefix(link, "/") && !strings.HasPrefix(link, "#") && !strings.HasPrefix(link, "https://example.org/") {
					t.Errorf("a link to %q", link)
				}
			}
			m := visit(s, cookie, path+"/map.svg")
			if m.Status != 200 || bytes.Contains(m.Body, []byte("<script")) || bytes.Contains(m.Body, []byte("onerror=alert(1)>")) {
				t.Errorf("%d %s", m.Status, m.Body)
			}
		})
	}
	for _, next := range evil {
		wantHTML(t, s.do("", "GET", "/login?next="+url.QueryEscape(next), nil), 200)
		wantHTML(t, logIn(s, next, next, next), 401)
		wantHTML(t, visit(s, cookie, "/h/"+url.PathEscape(next)), 400)
	}
}

func TestNothingOfARestrictedProductReachesThePagesOfOthers(t *testing.T) {
	test.NoRace(t)
	s := newSecrets(t)
	id, number := s.hazard.UUID, digits(s.hazard.HazardID)
	paths := []string{"/h/999999"}
	for _, ref := range []string{id, number} {
		for _, below := range []string{"", "/map.svg", "/map.svg?theme=dark", "/hazard.json", "/changes.json", "/changes.json?after=3&limit=2", "/area.geojson"} {
			paths = append(paths, "/h/"+ref+below)
		}
		for _, p := range s.products {
			paths = append(paths, "/h/"+ref+"/products/"+p.UUID+"/file", "/h/"+ref+"/products/"+digits(p.ProductID)+"/file")
		}
	}
	t.Run("the canary sings to its own", func(t *testing.T) {
		cookie := sessionOf(t, s, "fire")
		for _, path := range []string{"/h/" + id, "/h/" + number, "/h/" + id + "/changes.json"} {
			a := visit(s, cookie, path)
			if !bytes.Contains(a.Body, []byte(canary)) || a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %v %s", path, a.Header, a.Body)
			}
		}
		if words := wantHTML(t, visit(s, cookie, "/h/"+id), 200); !strings.Contains(words, "Restricted to FB") || !strings.Contains(words, "Products 7") {
			t.Error(words)
		}
		a := visit(s, cookie, "/h/"+id+"/products/"+digits(s.products[3].ProductID)+"/file")
		if a.Status != 200 || !bytes.Contains(a.Body, []byte(canary)) {
			t.Errorf("the file: %d %s", a.Status, a.Body)
		}
	})
	for _, user := range []string{"", "reader", "red-reader", "red", "root"} {
		t.Run("as "+user, func(t *testing.T) {
			cookie := "none=x"
			if user != "" {
				cookie = sessionOf(t, s, user)
			}
			tag := visit(s, sessionOf(t, s, "fire"), "/h/"+id).Header.Get("Etag")
			for _, path := range paths {
				for _, header := range [][]string{nil, {"Accept-Encoding", "br"}, {"Range", "bytes=0-3"}, {"If-None-Match", tag}, {"Accept", "application/json"}} {
					a := visit(s, cookie, path, header...)
					s.wantSilent(t, user, "GET "+path, a)
					if user == "" && a.Status == 200 || a.Status == http.StatusNotModified {
						t.Errorf("%s: %d", path, a.Status)
					}
				}
				if p := strings.LastIndex(path, "/products/"); user != "" && p >= 0 {
					if a := visit(s, cookie, path); a.Status != 404 {
						t.Errorf("%s: %d", path, a.Status)
					}
				}
			}
			if user != "" {
				if words := wantHTML(t, visit(s, cookie, "/h/"+id), 200); !strings.Contains(words, "Products 2") || strings.Contains(words, "Restricted to") {
					t.Error(words)
				}
			}
		})
	}
	t.Run("a membership counts at once, in an old session too", func(t *testing.T) {
		cookie := sessionOf(t, s, "reader")
		for _, orgs := range [][]int64{{s.FireBrigade}, nil} {
			if err := s.Auth.Accounts().SetOrgs(t.Context(), actor, "reader", orgs, now()); err != nil {
				t.Fatal(err)
			}
			if sings := bytes.Contains(visit(s, cookie, "/h/"+id).Body, []byte(canary)); sings != (orgs != nil) {
				t.Errorf("member of %v: it sings: %v", orgs, sings)
			}
		}
	})
}

func TestPagesUnderAPathOfTheirOwn(t *testing.T) {
	p := handle(t, func(c *serve.Config) { c.BaseURL = "https://example.org/hazards-of-ours" })
	p.fill(1)
	if a := p.do("", "GET", "/h/1", nil); a.Header.Get("Location") != "/hazards-of-ours/login?next=%2Fh%2F1" {
		t.Errorf("%v", a.Header)
	}
	a := logIn(p, "reader", server.Password, "/h/1")
	if a.Header.Get("Location") != "/hazards-of-ours/h/1" {
		t.Errorf("%v", a.Header)
	}
	page := visit(p, cookieOf(t, a, 303), "/h/1")
	wantHTML(t, page, 200)
	for _, link := range addresses(t, page.Body) {
		if !strings.HasPrefix(link, "/hazards-of-ours/") && !strings.HasPrefix(link, "#") {
			t.Errorf("%q", link)
		}
	}
}

func TestAPageTokenIsOfItsUser(t *testing.T) {
	s := handle(t)
	token := after(sessionOf(t, s, "editor"), "=")
	c, err := s.Auth.VerifyPage(token, now())
	if err != nil || c.Name != "editor" || c.Role != auth.Editor {
		t.Errorf("%+v %v", c, err)
	}
}

// A page reads the latest 200 changes that its visitor may see, whatever came before them.
func TestThePageHoldsTheLatestOfALongHistory(t *testing.T) {
	s := start(t)
	h := s.hazard("red", "comment_Text", "first")
	secret := s.product("red", h.HazardID, note("security_Flag", "R"))
	for i := range 210 {
		if i%10 == 0 { // hidden from strangers
			s.do("red", "PATCH", "/products/"+secret.UUID, fmt.Sprintf(`{"comment_Text":"c%d"}`, i))
		}
		if a := s.do("red", "PATCH", "/hazards/"+h.UUID, fmt.Sprintf(`{"comment_Text":"number %d."}`, i)); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	for user, earlier := range map[string]int{"reader": 211 - 200, "red": 211 + 1 + 21 - 200} {
		text := string(visit(s, sessionOf(t, s, user), "/h/"+h.UUID).Body)
		if want := fmt.Sprintf("%d more before these", earlier); !strings.Contains(text, want) {
			t.Errorf("the page of %s does not say %q", user, want)
		}
		oldest := fmt.Sprintf("number %d.", earlier-2) // the value before the oldest change on the page
		if user == "reader" && (!strings.Contains(text, oldest) || strings.Contains(text, fmt.Sprintf("number %d.", earlier-3))) {
			t.Errorf("the page of %s does not begin with the value that replaced %q", user, oldest)
		}
		if n := strings.Count(text, "Product changed"); user == "reader" && n != 0 || user == "red" && n == 0 {
			t.Errorf("the page of %s contains %d changes of the product", user, n)
		}
	}
}

// A page opened from a mail or chat has no time zone. It shows the hazard's own zone beside UTC,
// and offers others.
func TestThePageOfAHazardHasItsOwnTime(t *testing.T) {
	s := start(t)
	h := s.hazard("red", "latitude", 35.68, "longitude", 139.69, "start_Date", "1768478400000") // 2026-01-15 12:00 UTC
	for query, want := range map[string]struct{ time, not, here string }{
		"":                  {"15 Jan 2026, 21:00 JST", "CET", `<b><bdi>Asia/Tokyo</bdi> (where the hazard is)</b>`},
		"?tz=Europe/Berlin": {"15 Jan 2026, 13:00 CET", "JST", `<b><bdi>Europe/Berlin</bdi></b>`},
		"?tz=UTC":           {"15 Jan 2026, 12:00 UTC", "JST", `<b><bdi>UTC</bdi></b>`},
		"?tz=Mars/Phobos":   {"15 Jan 2026, 21:00 JST", "CET", `<b><bdi>Asia/Tokyo</bdi> (where the hazard is)</b>`},
	} {
		html := string(s.do("", http.MethodGet, "/h/"+h.UUID+query, nil, "Cookie", sessionOf(t, s, "reader")).Body)
		if !strings.Contains(html, want.time) || strings.Contains(html, want.not) || !strings.Contains(html, want.here) || !strings.Contains(html, "2026-01-15T12:00:00Z") {
			t.Errorf("%s: no %q, or %q: %s", query, want.time, want.not, html)
		}
	}
	html := string(s.do("", http.MethodGet, "/h/"+h.UUID+"?lang=ja", nil, "Cookie", sessionOf(t, s, "reader")).Body)
	if !strings.Contains(html, `?lang=ja&amp;tz=UTC"`) {
		t.Errorf("no other zone to choose: %s", html)
	}
}
