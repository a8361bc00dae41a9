package client_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/client"
)

func TestReadsWhatOtherServersWrite(t *testing.T) {
	c := ask(t, atRoot{newPlain()})
	l, err := c.Active(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Items) != 2 || len(l.Rejected) != 2 || l.State != (client.State{}) {
		t.Fatalf("%d hazards, %d rejected, state %+v", len(l.Items), len(l.Rejected), l.State)
	}
	first, second := l.Items[0], l.Items[1]
	if first.HazardID != 14011 || first.SncURL != "" || first.UpdateUser != nil || first.StartDate != "1600300075016" || len(first.Roles) != 1 {
		t.Errorf("first: %+v", first)
	}
	if second.HazardID != 14012 || second.CreateDate != "1596301200000" || second.Latitude != -49.5 || second.ProductTotal != "nope" || second.EndDate != "1590590340000" {
		t.Errorf("second: %+v", second)
	}
	for i, want := range []struct {
		index int
		words string
	}{{2, "/hazard_Name"}, {3, "a string, expected an object"}} {
		if got := l.Rejected[i]; got.Index != want.index || !strings.Contains(got.Err.Error(), want.words) || len(got.Raw) == 0 {
			t.Errorf("rejected %d: index %d, %v, %q", i, got.Index, got.Err, got.Raw)
		}
	}
	p, err := c.Products(t.Context(), client.ID(14011))
	if err != nil || len(p.Items) != 1 || p.Items[0].OrgIDs != "" || p.Items[0].Data != nil {
		t.Errorf("products %+v, error %v", p, err)
	}
}

func TestReadList(t *testing.T) {
	type record struct {
		A string `json:"a"`
		N int64  `json:"n"`
	}
	for name, tt := range map[string]struct {
		text     string
		items    []record
		rejected int
		err      string // empty: no error
		cut      bool
	}{
		"empty":                        {`[]`, []record{}, 0, "", false},
		"white space":                  {" [ { } ] \n", []record{{}}, 0, "", false},
		"a number for a string":        {`[{"a":1e3}]`, []record{{A: "1e3"}}, 0, "", false},
		"a string for a number":        {`[{"n":"12"}]`, []record{{N: 12}}, 0, "", false},
		"words for a number":           {`[{"n":"twelve"},{"n":1}]`, []record{{N: 1}}, 1, "", false},
		"names in other case":          {`[{"A":"x"}]`, []record{{}}, 0, "", false},
		"a member twice":               {`[{"a":"x","a":"y"},{"n":1}]`, []record{{N: 1}}, 1, "", false},
		"bytes that are no text":       {"[{\"a\":\"\xff\"}]", []record{{A: "\uFFFD"}}, 0, "", false},
		"a record that is null":        {`[null,{"n":1}]`, []record{{N: 1}}, 1, "", false},
		"null":                         {`null`, []record{}, 0, "the answer is null, expected a JSON array", false},
		"an object":                    {`{"a":1}`, []record{}, 0, "the answer is an object", false},
		"nothing":                      {``, []record{}, 0, "broke off", true},
		"HTML":                         {`<!doctype html><p>login`, []record{}, 0, "not JSON", false},
		"cut between records":          {`[{"n":1},`, []record{{N: 1}}, 0, "broke off", true},
		"cut in a record":              {`[{"n":1},{"n":`, []record{{N: 1}}, 0, "broke off", true},
		"cut before the end":           {`[{"n":1}`, []record{{N: 1}}, 0, "broke off", true},
		"something behind it":          {`[{"n":1}] [`, []record{{N: 1}}, 0, "something follows", false},
		"rubbish behind it":            {`[{"n":1}] x`, []record{{N: 1}}, 0, "not JSON", false},
		"rubbish in the middle":        {`[{"n":1}, x, {"n":2}]`, []record{{N: 1}}, 0, "not JSON", false},
		"nested deeper than JSON goes": {"[" + strings.Repeat("[", 20000), []record{}, 0, "not JSON", false},
	} {
		t.Run(name, func(t *testing.T) {
			items, rejected, err := client.ReadList[record](strings.NewReader(tt.text))
			if diff := cmp.Diff(tt.items, items); diff != "" || len(rejected) != tt.rejected {
				t.Errorf("%d rejected, items %s", len(rejected), diff)
			}
			bad, ok := errors.AsType[*client.AnswerError](err)
			switch {
			case tt.err == "" && err != nil, tt.err != "" && !ok:
				t.Errorf("error %v", err)
			case ok && (!strings.Contains(bad.Reason, tt.err) || bad.Cut != tt.cut):
				t.Errorf("error %q, cut %t", bad.Reason, bad.Cut)
			}
		})
	}
}

func TestAListThatBreaksOffIsAnErrorWithWhatWasBefore(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"the length was announced": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.Header().Set("ETag", `"whole"`)
			_, _ = io.WriteString(w, `[{"hazard_ID":1},{"hazard_ID":2},{"haz`)
		},
		"in chunks": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `[{"hazard_ID":1},{"hazard_ID":2},`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
		"compressed": func(w http.ResponseWriter, _ *http.Request) {
			var buf bytes.Buffer
			z := gzip.NewWriter(&buf)
			_, _ = io.WriteString(z, `[{"hazard_ID":1},{"hazard_ID":2},{"hazard_Name":"`+strings.Repeat("x", 100)+`"}]`)
			_ = z.Close()
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(buf.Bytes()[:buf.Len()-12])
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := listen(t, handler)
			l, err := c.Active(t.Context())
			if bad, ok := errors.AsType[*client.AnswerError](err); !ok || !bad.Cut || l.ETag != "" {
				t.Errorf("error %v, etag %q", err, l.ETag)
			}
			if name != "compressed" && len(l.Items) != 2 {
				t.Errorf("%d hazards", len(l.Items))
			}
		})
	}
}

func TestAnswersThatAreNotOfSuchAService(t *testing.T) {
	for name, tt := range map[string]struct {
		status      int
		media, body string
		kind        error  // nil: an *AnswerError
		words       string // part of the error's text
	}{
		"a login page":              {200, "text/html; charset=utf-8", "<html>log in", nil, "text/html"},
		"an object for a list":      {200, "application/json", `{"message":"ok"}`, nil, "an object, expected a JSON array"},
		"nothing":                   {200, "application/json", ``, nil, "broke off"},
		"a page of a proxy":         {502, "text/html", "<h1>secret host names</h1>", client.ErrUnavailable, "502 Bad Gateway"},
		"plain words":               {503, "text/plain", "down for\x1b[2J maintenance\n", client.ErrUnavailable, "503 Service Unavailable: down for[2J maintenance"},
		"a problem":                 {404, "application/problem+json", `{"title":"Not Found","detail":"no such hazard","status":200}`, client.ErrNotFound, "404 Not Found: no such hazard"},
		"a problem that is no JSON": {409, "application/problem+json", `{"title":`, client.ErrConflict, "409 Conflict"},
		"stale":                     {412, "", "", client.ErrStale, "412"},
		"gone":                      {410, "", "", client.ErrNotFound, "410"},
		"no content":                {204, "", "", nil, "broke off"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tt.media != "" {
					w.Header().Set("Content-Type", tt.media)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}))
			_, err := c.Active(t.Context())
			_, other := errors.AsType[*client.AnswerError](err)
			if err == nil || tt.kind != nil && !errors.Is(err, tt.kind) || tt.kind == nil && !other {
				t.Fatalf("error %#v", err)
			}
			if !strings.Contains(err.Error(), tt.words) || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "GET /hazards/active") {
				t.Errorf("error %q", err)
			}
		})
	}
}

func TestAnAnswerLargerThanTheLimitIsNotRead(t *testing.T) {
	var sent atomic.Int64
	c, _ := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var out io.Writer = w
		if r.URL.Path == "/hazards/types" { // a compression bomb: it expands to a thousand times its size
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			out = z
		}
		_, _ = io.WriteString(out, "[")
		record := `{"hazard_Name":"` + strings.Repeat("x", 1000) + `"},`
		for range 1000 {
			n, err := io.WriteString(out, record)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	}), func(o *client.Options) { o.MaxBody = 100_000 })
	l, err := c.Active(t.Context())
	if bad, ok := errors.AsType[*client.AnswerError](err); !ok || bad.Cut || !strings.Contains(bad.Reason, "100000 bytes") || len(l.Items) > 100 {
		t.Errorf("error %v, %d hazards", err, len(l.Items))
	}
	if _, err := c.Types(t.Context()); err == nil || !strings.Contains(err.Error(), "100000 bytes") {
		t.Errorf("error %v", err)
	}
	exact, _ := listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `[{}]`) }), func(o *client.Options) { o.MaxBody = 4 })
	if _, err := exact.Active(t.Context()); err != nil {
		t.Errorf("an answer that just fits: %v", err)
	}
}

func TestASlowServerIsGivenUp(t *testing.T) {
	drip := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `[`)
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, ` `)
			w.(http.Flusher).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	}
	for name, handler := range map[string]http.HandlerFunc{
		"a byte at a time": drip,
		"nothing at all":   func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"only in its header": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, handler, func(o *client.Options) { o.Timeout = 200 * time.Millisecond }, func(t *testing.T, c *client.Client) {
				began := time.Now()
				_, err := c.Active(t.Context())
				if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "gave up after 200ms") || took != 200*time.Millisecond {
					t.Errorf("after %s: %v", took, err)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(50*time.Millisecond, func() { cancel(errors.New("the operator stopped it")) })
				if _, err := c.Active(ctx); err == nil || !strings.Contains(err.Error(), "the operator stopped it") {
					t.Errorf("cancelled: %v", err)
				}
			})
		})
	}
}

func TestAFileMayTakeAnyTimeAsLongAsItMoves(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, `{"product_ID":1}`)
			return
		}
		for i := range 10 {
			_, _ = io.WriteString(w, "0123456789")
			w.(http.Flusher).Flush()
			time.Sleep(50 * time.Millisecond)
			if i == 8 && r.URL.Path == "/products/2/file" {
				<-r.Context().Done()
			}
		}
	}
	bubble(t, http.HandlerFunc(handler), func(o *client.Options) { o.Timeout = 300 * time.Millisecond; o.MaxBody = 20 }, func(t *testing.T, c *client.Client) {
		f, err := c.DownloadFile(t.Context(), "1")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Body.Close()
		if text, err := io.ReadAll(f.Body); err != nil || len(text) != 100 {
			t.Errorf("%d bytes, error %v", len(text), err)
		}
		f, err = c.DownloadFile(t.Context(), "2")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Body.Close()
		if text, err := io.ReadAll(f.Body); !errors.Is(err, context.DeadlineExceeded) || len(text) != 90 {
			t.Errorf("a stalled download: %d bytes, error %v", len(text), err)
		}
		if _, err := c.Editor().CreateFile(t.Context(), "1", client.NewProduct{Title: "slow"}, "slow.bin", &slowly{n: 10, every: 50 * time.Millisecond}); err != nil {
			t.Errorf("a slow upload: %v", err)
		}
		if _, err := c.Editor().CreateFile(t.Context(), "1", client.NewProduct{Title: "stuck"}, "stuck.bin", &slowly{n: 2, every: time.Second}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a stalled upload: %v", err)
		}
	})
}

// slowly returns n bytes, one at a time.
type slowly struct {
	n     int
	every time.Duration
}

func (s *slowly) Read(p []byte) (int, error) {
	if s.n == 0 {
		return 0, io.EOF
	}
	time.Sleep(s.every)
	s.n--
	p[0] = 'x'
	return 1, nil
}

func TestTokenAndPasswordGoNowhereElse(t *testing.T) {
	var stolen atomic.Int64
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "" || len(body) > 0 {
			stolen.Add(1)
		}
		_, _ = io.WriteString(w, `[]`)
	}))
	defer thief.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(thief.URL, "http://"))
	for name, to := range map[string]string{
		"another host": "http://localhost:" + port + "/hazards/active", "another port": thief.URL + "/hazards/active", "a name and password": "http://ann:secret@" + strings.TrimPrefix(thief.URL, "http://"),
		"another scheme": "https://127.0.0.1/hazards/active",
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			t.Run(fmt.Sprintf("%s, %d", name, status), func(t *testing.T) {
				redirect := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, status) }
				c, _ := listen(t, http.HandlerFunc(redirect))
				_, err := c.Active(t.Context())
				if p, ok := errors.AsType[*client.Problem](err); !ok || p.Status != status || !strings.Contains(err.Error(), "the server leads to") || strings.Contains(err.Error(), "secret") {
					t.Errorf("read: %v", err)
				}
				if _, err := c.Editor().CreateHazard(t.Context(), client.NewHazard{}); err == nil {
					t.Error("a write was redirected")
				}
				login, _ := listen(t, http.HandlerFunc(redirect), func(o *client.Options) { *o = client.Options{Username: "ann", Password: password} })
				if _, err := login.Active(t.Context()); err == nil || strings.Contains(err.Error(), password) {
					t.Errorf("login: %v", err)
				}
			})
		}
	}
	if n := stolen.Load(); n > 0 {
		t.Errorf("%d requests with a secret went to another server", n)
	}
}

func TestAReadIsLedToAnotherPathOfTheSameServer(t *testing.T) {
	var srv *httptest.Server
	c, srv := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet && r.URL.Path == "/hazards/active":
			http.Redirect(w, r, srv.URL+"/v1/hazards/active", http.StatusMovedPermanently)
		case r.URL.Path == "/v1/hazards/active" && r.Header.Get("Authorization") == "Bearer good":
			_, _ = io.WriteString(w, `[{"hazard_ID":1}]`)
		case r.URL.Path == "/hazards/types":
			http.Redirect(w, r, "/hazards/types", http.StatusFound)
		default:
			http.Redirect(w, r, srv.URL+"/v1"+r.URL.Path, http.StatusTemporaryRedirect)
		}
	}))
	if l, err := c.Active(t.Context()); err != nil || len(l.Items) != 1 {
		t.Errorf("%v, error %v", l, err)
	}
	if _, err := c.Types(t.Context()); err == nil {
		t.Error("a circle has an end")
	}
	if err := c.Editor().DeleteProduct(t.Context(), "1"); err == nil {
		t.Error("a write was led on: it may be made twice")
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	const token = "eyJ.s3cr3t.token"
	o := client.Options{Username: "ann", Password: password, Token: token, RefreshToken: "s3cr3t refresh"}
	c, err := client.New("https://hazards.example/api/", o)
	if err != nil {
		t.Fatal(err)
	}
	held := struct{ C *client.Client }{c}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "client", c, "options", o)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "client", c, "options", o)
	text, _ := json.Marshal([]any{c, o, held})
	all := fmt.Sprintf("%v %+v %#v %s %q %v %+v %#v %v %+v", c, c, c, c, c, o, o, o, held, []client.Options{o}) + log.String() + string(text)
	for _, secret := range []string{password, "s3cr3t"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q is in %s", secret, all)
		}
	}
	if c.String() != "https://hazards.example/api" {
		t.Errorf("String %q", c)
	}
}

func TestErrorsHoldNoSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newPlain()
		var errs []error
		note := func(err error) {
			if err == nil {
				t.Error("no error")
			}
			errs = append(errs, err)
		}
		broken := ask(t, roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("dial: no route to host") }))
		_, err := broken.Active(t.Context())
		note(err)
		_, err = ask(t, atRoot{server}, func(o *client.Options) { o.Password = password + "x" }).Active(t.Context())
		note(err)
		c := ask(t, atRoot{server})
		server.answer["GET /hazards/active"] = func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "Invalid Token", http.StatusForbidden)
		}
		_, err = c.Active(t.Context())
		note(err)
		_, err = client.New("https://ann:"+password+"@host.example", client.Options{})
		note(err)
		_, err = client.New("https://host.example:port/"+password, client.Options{})
		note(err)
		for _, err := range errs {
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, "violet") || strings.Contains(text, "eyJ") {
				t.Error(text)
			}
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestNewRefusesWhatCannotBeAsked(t *testing.T) {
	for name, tt := range map[string]struct {
		url string
		o   client.Options
	}{
		"nothing": {"", client.Options{}}, "no scheme": {"hazards.example", client.Options{}}, "another scheme": {"ftp://hazards.example", client.Options{}},
		"no host": {"https://", client.Options{}}, "a query": {"https://a.example/?key=1", client.Options{}}, "a fragment": {"https://a.example/#x", client.Options{}},
		"a user": {"https://ann@a.example", client.Options{}}, "a name alone": {"https://a.example", client.Options{Username: "ann"}},
		"a password alone": {"https://a.example", client.Options{Password: "x"}}, "time before zero": {"https://a.example", client.Options{Timeout: -1}},
		"size before zero": {"https://a.example", client.Options{MaxBody: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := client.New(tt.url, tt.o); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestAnIdentifierIsOnePartOfThePath(t *testing.T) {
	var asked []string
	c, _ := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.EscapedPath())
		w.WriteHeader(http.StatusNotFound)
	}))
	for _, id := range []string{"", ".", ".."} {
		if _, err := c.Products(t.Context(), id); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%q: error %v", id, err)
		}
		if err := c.Editor().DeleteProduct(t.Context(), id); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%q: error %v", id, err)
		}
	}
	for _, id := range []string{"a/b", "../types", "a?b=c", "a#b", "a%2Fb", "ä b"} {
		if _, err := c.Hazard(t.Context(), id); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%q: error %v", id, err)
		}
	}
	want := []string{"GET /hazards/a%2Fb", "GET /hazards/..%2Ftypes", "GET /hazards/a%3Fb=c", "GET /hazards/a%23b", "GET /hazards/a%252Fb", "GET /hazards/%C3%A4%20b"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

func TestChangesPageByPage(t *testing.T) {
	type page struct{ body, link string }
	for name, tt := range map[string]struct {
		pages []page
		want  []int64
		err   string
	}{
		"nothing":   {[]page{{`[]`, ""}}, nil, ""},
		"one page":  {[]page{{`[{"change":3},{"change":7}]`, `</changes?after=0>; rel="prev"`}}, []int64{3, 7}, ""},
		"two pages": {[]page{{`[{"change":3}]`, `<https://other.name:99/changes?after=3&limit=1>; rel="next"`}, {`[{"change":4}]`, ""}}, []int64{3, 4}, ""},
		"several links in one field": {[]page{{`[{"change":3}]`, `<https://a.example/?x=<y>; rel=prev, </changes?after=5>; title="a"; rel=next`}, {`[{"change":6}]`, ""}},
			[]int64{3, 6}, ""},
		"a page of what the caller may not see": {[]page{{`[]`, `</changes?after=900>; rel="next"`}, {`[{"change":901}]`, ""}}, []int64{901}, ""},
		"a circle":                              {[]page{{`[{"change":3}]`, `</changes?after=0>; rel="next"`}}, []int64{3}, "does not lead on"},
		"it stands still":                       {[]page{{`[]`, `</changes?after=0>; rel="next"`}}, nil, "does not lead on"},
		"no number":                             {[]page{{`[{"change":3}]`, `</changes?cursor=x>; rel="next"`}}, []int64{3}, "does not lead on"},
		"out of order":                          {[]page{{`[{"change":3},{"change":2}]`, ""}}, []int64{3}, "expected them in order"},
		"one that cannot be read":               {[]page{{`[{"change":3},{"change":"x"},{"change":5}]`, ""}}, nil, "record 1"},
		"a page that breaks off":                {[]page{{`[{"change":3}]`, `</changes?after=3>; rel="next"`}, {`[{"change":4},`, ""}}, []int64{3}, "broke off"},
		"an error on the second page":           {[]page{{`[{"change":3}]`, `</changes?after=3>; rel="next"`}, {``, "404"}}, []int64{3}, "404"},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			c, _ := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				p := tt.pages[n]
				n++
				if p.link == "404" {
					w.WriteHeader(404)
					return
				}
				if p.link != "" {
					w.Header().Set("Link", p.link)
				}
				_, _ = io.WriteString(w, p.body)
			}))
			var got []int64
			var err error
			for change, e := range c.Changes(t.Context(), 0) {
				if err = e; err != nil {
					break
				}
				got = append(got, change.Number)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, expected %q", err, tt.err)
			}
		})
	}
}

func TestAFileIsSentAnewWhenTheTokenIsRefused(t *testing.T) {
	const content = "0123456789"
	for name, tt := range map[string]struct {
		file  io.Reader
		reads bool // the server reads the body before it refuses the token
		fails bool
	}{
		"a file that can be read anew":           {strings.NewReader(content), true, false},
		"a stream of which nothing was read yet": {io.MultiReader(strings.NewReader(content)), false, false},
		"a stream that is gone":                  {io.MultiReader(strings.NewReader(content)), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := newPlain()
			var got string
			server.answer["POST /hazards/1/products"] = func(w http.ResponseWriter, r *http.Request) {
				if server.logins < 2 {
					if tt.reads {
						_, _ = io.Copy(io.Discard, r.Body)
					}
					http.Error(w, "Invalid Token", http.StatusForbidden)
					return
				}
				file, header, err := r.FormFile("file")
				if err != nil {
					t.Error(err)
					return
				}
				text, _ := io.ReadAll(file)
				got = header.Filename + " " + string(text) + " " + r.FormValue("product")
				_, _ = io.WriteString(w, `{"product_ID":5,"title":"Map"}`)
			}
			c, _ := listen(t, server, func(o *client.Options) { o.Username, o.Password = "ann", password })
			server.logins = 1 // the token comes from this login
			p, err := c.Editor().CreateFile(t.Context(), "1", client.NewProduct{Title: "Map"}, `map "1".txt`, tt.file)
			if tt.fails {
				if err == nil || !strings.Contains(err.Error(), "cannot be read again") {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil || p.ProductID != 5 {
				t.Fatalf("product %+v, error %v", p, err)
			}
			if want := `map "1".txt ` + content + ` {"title":"Map","product_Type":"FILE_PRODUCT"}`; got != want {
				t.Errorf("sent %s, expected %s", got, want)
			}
		})
	}
}

func TestAServerDoesNotChooseWhereAFileIsPut(t *testing.T) {
	for header, want := range map[string]string{
		`attachment; filename="map.pdf"`: "map.pdf", `attachment; filename="../../etc/passwd"`: "passwd", `attachment; filename="C:\\temp\\a.txt"`: "a.txt",
		`attachment; filename*=UTF-8''%E5%9C%B0%E5%9B%B3.png`: "地図.png", `attachment; filename=".."`: "", `attachment`: "", ``: "",
		`attachment; filename*=UTF-8''a%0Ab%E2%80%AEc`: "a bc",
	} {
		c, _ := listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header()["Content-Disposition"] = []string{header} }))
		f, err := c.DownloadFile(t.Context(), "1")
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Body.Close()
		if f.Name != want {
			t.Errorf("%q: name %q, expected %q", header, f.Name, want)
		}
	}
}
