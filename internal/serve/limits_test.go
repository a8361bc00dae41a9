package serve_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/test/server"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	// maxFile is the maximum size of a file in these tests, in bytes.
	maxFile = 64 * kib
)

func smallFiles(c *app.Config) { c.MaxFile = maxFile }

func TestBodiesThatAreTooLarge(t *testing.T) {
	s := start(t, smallFiles)
	h := s.hazard("red")
	p := s.product("red", h.HazardID, note())
	blanks := func(n int) string { return strings.Repeat(" ", n) }
	for name, tt := range map[string]struct {
		request string
		limit   int // bytes
	}{
		"a login":       {"POST /authorize", 64 * kib},
		"a refresh":     {"POST /authorize/refresh", 64 * kib},
		"a revocation":  {"POST /authorize/revoke", 64 * kib},
		"a hazard":      {"POST /hazards", 4 * mib},
		"a patch":       {"PATCH /hazards/" + h.UUID, 4 * mib},
		"a retraction":  {"POST /hazards/" + h.UUID + "/retract", 4 * mib},
		"a product":     {"POST /hazards/" + h.UUID + "/products", 4 * mib},
		"its patch":     {"PATCH /products/" + p.UUID, 4 * mib},
		"a held report": {"POST /sources/usgs/held/1", 64 * kib},
	} {
		t.Run(name, func(t *testing.T) {
			method, path, _ := strings.Cut(tt.request, " ")
			if a := s.do("red", method, path, blanks(tt.limit)); a.Status == 413 {
				t.Errorf("of %d bytes: %d %s", tt.limit, a.Status, a.Body)
			}
			wantProblem(t, s.do("red", method, path, blanks(tt.limit+1)), 413)
			// Without a Content-Length the limit is noticed while reading.
			wantProblem(t, s.do("red", method, path, io.MultiReader(strings.NewReader(blanks(tt.limit+1)))), 413)
			// With one it is reported before anything is read, and without 100 Continue.
			head := fmt.Sprintf("%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", tt.request, s.tokens.of("red"), tt.limit+1)
			if got := string(s.send([]byte(head))); !strings.HasPrefix(got, "HTTP/1.1 413 ") {
				t.Errorf("the head alone is answered with %.100q", got)
			}
		})
	}
	t.Run("a file", func(t *testing.T) {
		for _, n := range []int{0, 1, maxFile - 1, maxFile} {
			a := s.upload("red", h.HazardID, file(), "a.bin", make([]byte, n))
			if a.Status != 201 {
				t.Errorf("of %d bytes: %d %s", n, a.Status, a.Body)
			}
		}
		for _, n := range []int{maxFile + 1, maxFile + 4*mib - 10*kib} {
			if got := wantProblem(t, s.upload("red", h.HazardID, file(), "a.bin", make([]byte, n)), 413).faults(); !slices.Equal(got, []string{"/file"}) {
				t.Errorf("of %d bytes: faults %v", n, got)
			}
		}
		body, contentType := form(t, file(), "a.bin", make([]byte, maxFile+4*mib))
		path := "/hazards/" + h.UUID + "/products"
		wantProblem(t, s.do("red", "POST", path, body, "Content-Type", contentType), 413)
		wantProblem(t, s.do("red", "POST", path, io.MultiReader(bytes.NewReader(body)), "Content-Type", contentType), 413)
		head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\nContent-Type: %s\r\nExpect: 100-continue\r\n\r\n", path, s.tokens.of("red"), len(body), contentType)
		if got := string(s.send([]byte(head))); !strings.HasPrefix(got, "HTTP/1.1 413 ") {
			t.Errorf("the head alone is answered with %.100q", got)
		}
	})
	t.Run("a file is not asked for that may not be sent", func(t *testing.T) {
		for user, want := range map[string]string{"": "403", "reader": "403", "red": "404"} {
			path := "/hazards/" + h.UUID
			if user == "red" {
				path = "/hazards/999999"
			}
			token := "none"
			if user != "" {
				token = s.tokens.of(user)
			}
			head := fmt.Sprintf("POST %s/products HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\nContent-Type: multipart/form-data; boundary=b\r\nExpect: 100-continue\r\n\r\n", path, token)
			if got := string(s.send([]byte(head))); !strings.HasPrefix(got, "HTTP/1.1 "+want) {
				t.Errorf("%s: %.100q, want %s", user, got, want)
			}
		}
	})
	t.Run("a file that may be sent is asked for", func(t *testing.T) {
		head := fmt.Sprintf("POST /hazards/%s/products HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\nContent-Type: multipart/form-data; boundary=b\r\nExpect: 100-continue\r\n\r\n", h.UUID, s.tokens.of("red"))
		if got := string(s.send([]byte(head))); got != "HTTP/1.1 100 Continue\r\n\r\n" {
			t.Errorf("%q", got)
		}
	})
}

func TestHeadersThatAreTooLarge(t *testing.T) {
	s := start(t)
	for n, want := range map[int]string{1 * kib: "200", 15 * kib: "200", 24 * kib: "431", 100 * kib: "431"} {
		head := fmt.Sprintf("GET /hazards/types HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %s\r\nX: %s\r\n\r\n", s.tokens.of("reader"), strings.Repeat("a", n))
		if got := string(s.send([]byte(head))); !strings.HasPrefix(got, "HTTP/1.1 "+want+" ") {
			t.Errorf("a head of %d bytes: %.60q, want %s", n, got, want)
		}
	}
}

func TestTokenIsGivenOnceAndInItsHeader(t *testing.T) {
	s := start(t)
	token := s.tokens.of("reader")
	for name, tt := range map[string]struct{ line, header, want string }{
		"once":                        {"/hazards/types", "Authorization: Bearer " + token + "\r\n", "200"},
		"twice":                       {"/hazards/types", strings.Repeat("Authorization: Bearer "+token+"\r\n", 2), "403"},
		"once, and a bad one first":   {"/hazards/types", "Authorization: Bearer a.b.c\r\nAuthorization: Bearer " + token + "\r\n", "403"},
		"once, and a bad one after":   {"/hazards/types", "Authorization: Bearer " + token + "\r\nAuthorization: Basic eDp5\r\n", "403"},
		"two in one line":             {"/hazards/types", "Authorization: Bearer " + token + ", Bearer " + token + "\r\n", "403"},
		"in the query":                {"/hazards/types?access_token=" + token, "", "403"},
		"in the query under its name": {"/hazards/types?Authorization=Bearer%20" + token, "", "403"},
		"in a cookie":                 {"/hazards/types", "Cookie: access_token=" + token + "\r\n", "403"},
	} {
		t.Run(name, func(t *testing.T) {
			got := string(s.send([]byte("GET " + tt.line + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + tt.header + "\r\n")))
			if !strings.HasPrefix(got, "HTTP/1.1 "+tt.want+" ") || tt.want == "403" && !strings.HasSuffix(got, "\r\n\r\nInvalid Token") {
				t.Errorf("%.500q, want %s", got, tt.want)
			}
		})
	}
}

// broken is a body that fails after some bytes.
type broken struct {
	r   io.Reader
	err error
}

func (b *broken) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if errors.Is(err, io.EOF) {
		err = b.err
	}
	return n, err
}

func TestFormsThatAreNotWhatTheyShouldBe(t *testing.T) {
	var logged syncBuffer
	p := handle(t, func(c *serve.Config) { c.MaxFile, c.Logger = maxFile, slog.New(slog.NewTextHandler(&logged, nil)) })
	var h item
	p.do("editor", "POST", "/hazards", flood()).JSON(t, &h)
	path := "/hazards/" + h.UUID + "/products"
	count := func() int { return len(items(t, p.do("reader", "GET", path, nil))) }
	product := part{`form-data; name="product"`, []byte(`{"title":"File","product_Type":"FILE_PRODUCT"}`)}
	content := part{`form-data; name="file"; filename="a.txt"`, []byte("content of the file")}
	send := func(body any, contentType string) server.Answer {
		return p.do("editor", "POST", path, body, "Content-Type", contentType)
	}

	whole, contentType := rawForm(t, product, content)
	t.Run("cut at any byte", func(t *testing.T) {
		before := count()
		for n := range len(whole) - 2 { // the line end after the last boundary may be missing
			if a := send(whole[:n], contentType); a.Status != 400 {
				t.Errorf("after %d of %d bytes (%q): %d %s", n, len(whole), whole[max(0, n-20):n], a.Status, a.Body)
			}
		}
		for n := range len(whole) {
			for _, err := range []error{io.ErrUnexpectedEOF, errors.New("connection reset"), &net.OpError{Op: "read", Err: errors.New("i/o timeout")}} {
				if a := send(&broken{bytes.NewReader(whole[:n]), err}, contentType); a.Status != 400 {
					t.Errorf("%v after %d of %d bytes: %d %s", err, n, len(whole), a.Status, a.Body)
				}
			}
		}
		if after := count(); after != before {
			t.Errorf("it created %d products", after-before)
		}
	})
	t.Run("whole, in either order", func(t *testing.T) {
		for _, parts := range [][]part{{product, content}, {content, product}} {
			body, contentType := rawForm(t, parts...)
			if a := send(body, contentType); a.Status != 201 {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
	})
	named := func(name string) part {
		return part{`form-data; name="` + name + `"`, []byte("x")}
	}
	for name, tt := range map[string]struct {
		parts  []part
		status int
		faults []string
	}{
		"no part":                   {nil, 400, []string{"/file", "/product"}},
		"no product":                {[]part{content}, 400, []string{"/product"}},
		"no file":                   {[]part{product}, 400, []string{"/file"}},
		"two products":              {[]part{product, product, content}, 400, []string{"/product"}},
		"two files":                 {[]part{product, content, content}, 400, []string{"/file"}},
		"two files and more":        {[]part{product, content, content, named("x")}, 400, []string{"/file", "/x"}},
		"a part without a name":     {[]part{product, content, {`form-data`, []byte("x")}}, 400, []string{"/"}},
		"a part with a name of any": {[]part{product, content, named("a/b~c")}, 400, []string{"/a~1b~0c"}},
		"a part with no text":       {[]part{product, content, named("\xff\xfe")}, 400, []string{"/\uFFFD\uFFFD"}},
		"a product of no JSON":      {[]part{named("product"), content}, 400, []string{""}},
		"a product of nothing":      {[]part{{`form-data; name="product"`, nil}, content}, 400, []string{""}},
		"a product of faults":       {[]part{{`form-data; name="product"`, []byte(`{"product_Type":"FILE_PRODUCT","x":1}`)}, content}, 400, []string{"/title", "/x"}},
		"a product that is a text":  {[]part{{`form-data; name="product"`, []byte(`{"title":"t","product_Type":"TEXT_PRODUCT","data":"d"}`)}, content}, 400, []string{"/product_Type"}},
		"a product of 4 MiB and 1":  {[]part{{`form-data; name="product"`, make([]byte, 4*mib+1)}, content}, 413, nil},
		"a file that is too large":  {[]part{product, {`form-data; name="file"; filename="a"`, make([]byte, maxFile+1)}}, 413, []string{"/file"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := count()
			body, contentType := rawForm(t, tt.parts...)
			if diff := cmp.Diff(tt.faults, wantProblem(t, send(body, contentType), tt.status).faults()); diff != "" {
				t.Error(diff)
			}
			if after := count(); after != before {
				t.Errorf("it created %d products", after-before)
			}
		})
	}
	t.Run("of very many parts", func(t *testing.T) {
		parts := slices.Repeat([]part{named("x")}, 20_000)
		body, contentType := rawForm(t, parts...)
		a := send(body, contentType)
		if wantProblem(t, a, 400); len(a.Body) > 100*kib {
			t.Errorf("%d bytes are answered with %d", len(body), len(a.Body))
		}
	})
	for _, kind := range []string{"multipart/form-data", "multipart/mixed; boundary=b", "multipart/form-data; boundary=", "multipart/", "multipart/form-data; boundary=" + strings.Repeat("b", 1000)} {
		t.Run("of the type "+kind, func(t *testing.T) {
			wantProblem(t, send(whole, kind), 400)
		})
	}
	if log := logged.String(); strings.Contains(log, "level=ERROR") || strings.Contains(log, "level=WARN") {
		t.Errorf("client errors are logged for the operator: %.1000s", log)
	}
}

func TestWhereARequestComesFrom(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("192.0.2.7/32")}
	for name, tt := range map[string]struct {
		peer      string
		forwarded []string // lines of X-Forwarded-For
		want      string
	}{
		"from the peer":                                  {"203.0.113.5:1234", nil, "203.0.113.5"},
		"from the peer, whatever it says":                {"203.0.113.5:1234", []string{"198.51.100.1"}, "203.0.113.5"},
		"from the peer, though it says it were a proxy":  {"203.0.113.5:1234", []string{"10.0.0.1"}, "203.0.113.5"},
		"through a proxy":                                {"10.0.0.1:80", []string{"198.51.100.1"}, "198.51.100.1"},
		"through a proxy that says nothing":              {"10.0.0.1:80", nil, "10.0.0.1"},
		"through two proxies":                            {"10.0.0.1:80", []string{"198.51.100.1, 10.0.0.2"}, "198.51.100.1"},
		"through two proxies, in two lines":              {"10.0.0.1:80", []string{"198.51.100.1", "10.0.0.2"}, "198.51.100.1"},
		"through a proxy, from one who forged the first": {"10.0.0.1:80", []string{"1.2.3.4, 198.51.100.1"}, "198.51.100.1"},
		"through a proxy, from one who forged a proxy":   {"10.0.0.1:80", []string{"10.9.9.9, 198.51.100.1"}, "198.51.100.1"},
		"through a proxy, from one who forged a line":    {"10.0.0.1:80", []string{"1.2.3.4", "198.51.100.1"}, "198.51.100.1"},
		"from within, through proxies alone":             {"10.0.0.1:80", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		"through a proxy that says nonsense":             {"10.0.0.1:80", []string{"unknown"}, "10.0.0.1"},
		"through a proxy, with nonsense before":          {"10.0.0.1:80", []string{"unknown, 198.51.100.1"}, "198.51.100.1"},
		"through a proxy that says an empty one":         {"10.0.0.1:80", []string{"198.51.100.1, "}, "10.0.0.1"},
		"through a proxy of IPv6":                        {"[2001:db8::1]:80", []string{"2001:db9::5"}, "2001:db9::5"},
		"from an IPv4 address in the form of IPv6":       {"[::ffff:203.0.113.5]:1234", []string{"198.51.100.1"}, "203.0.113.5"},
		"through a proxy in the form of IPv6":            {"[::ffff:10.0.0.1]:80", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		"through one address that is trusted":            {"192.0.2.7:80", []string{"198.51.100.1"}, "198.51.100.1"},
		"from its neighbour":                             {"192.0.2.8:80", []string{"198.51.100.1"}, "192.0.2.8"},
		"from nowhere":                                   {"@", []string{"198.51.100.1"}, "invalid IP"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &http.Request{RemoteAddr: tt.peer, Header: http.Header{"X-Forwarded-For": tt.forwarded}}
			if got := clientAddr(trusted, r).String(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if got := clientAddr(nil, r).String(); !strings.Contains(tt.peer, got) && !strings.Contains(tt.peer, "ffff") && got != "invalid IP" {
				t.Errorf("without a trusted proxy: %s", got)
			}
		})
	}
}

func TestGuessersAreSlowedByTheirAddressAndNotByWhatTheySayItIs(t *testing.T) {
	for name, tt := range map[string]struct {
		proxies []netip.Prefix
		slowed  bool
	}{
		"from many forged addresses":          {nil, true},
		"from many addresses through a proxy": {[]netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := handle(t, func(c *serve.Config) { c.TrustedProxies = tt.proxies })
			p.clock.Store(time.Now().UnixMilli()) // a wait of a second must not pass by itself
			var last server.Answer
			for i := range 8 {
				last = p.do("", "POST", "/authorize", credentials("reader", "wrong"), "X-Forwarded-For", fmt.Sprintf("198.51.100.%d", i))
			}
			if !tt.slowed {
				if last.Status != 401 {
					t.Errorf("the last: %d %s", last.Status, last.Body)
				}
				return
			}
			wantProblem(t, last, 429)
			if after := last.Header.Get("Retry-After"); after == "" || strings.Trim(after, "0123456789") != "" || after == "0" {
				t.Errorf("Retry-After: %q", after)
			}
			if a := p.do("", "POST", "/authorize", credentials("root", server.Password)); a.Status != 200 {
				t.Errorf("another user from that address: %d %s", a.Status, a.Body)
			}
		})
	}
}

func TestPasswordsAndTokensAreInNoAnswerAndNoLog(t *testing.T) {
	const secret = "canary purple anvil 93"
	var logged syncBuffer
	p := handle(t, func(c *serve.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	var seen strings.Builder
	for _, body := range []string{
		credentials("reader", secret), credentials(secret, secret), `{"username":"reader","password":"` + secret, `{"username":["` + secret + `"],"password":{"x":"` + secret + `"}}`,
		`{"password":"` + secret + `","password":"` + secret + `"}`, `"` + secret + `"`, `{"refreshToken":"` + secret + `"}`, `{"refreshToken":1,"x":"` + secret + `"}`,
	} {
		for _, path := range []string{"/authorize", "/authorize/refresh", "/authorize/revoke"} {
			a := p.do("", "POST", path, body)
			fmt.Fprintln(&seen, a.Header, string(a.Body))
		}
	}
	for _, user := range []string{"reader", "editor"} {
		for _, request := range []string{"GET /hazards/active", "POST /hazards", "GET /none", "GET /sources/none/errors", "PATCH /hazards/1", "GET /hazards/types?x=1"} {
			method, path, _ := strings.Cut(request, " ")
			a := p.do(user, method, path, nil)
			fmt.Fprintln(&seen, a.Header, string(a.Body))
		}
		if strings.Contains(seen.String()+logged.String(), p.tokens.of(user)) {
			t.Errorf("the token of %s is logged", user)
		}
	}
	if strings.Contains(seen.String()+logged.String(), "canary") {
		t.Errorf("the canary sings: %s %s", seen.String(), logged.String())
	}
}

// clientAddr returns the client's address of a request if those proxies are trusted.
func clientAddr(trusted []netip.Prefix, r *http.Request) netip.Addr {
	return (&route.Router{Config: route.Config{TrustedProxies: trusted}}).ClientAddr(r)
}
