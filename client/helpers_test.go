package client_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/client"
)

const password = "violet kayak thermos orbit"

// plain is a server with only the base interface: no refresh, no ETag, only its nine operations. It
// answers in memory, so that tests run in a synctest bubble.
type plain struct {
	mu      sync.Mutex
	logins  int
	asked   []string // requests, in order
	valid   map[string]bool
	expires time.Duration                                       // lifetime of a token; 0: tokens are opaque
	answer  map[string]func(http.ResponseWriter, *http.Request) // by "METHOD path", instead of the default
	anyhow  bool                                                // every token is accepted
}

func newPlain() *plain {
	return &plain{valid: map[string]bool{}, expires: 15 * time.Minute, answer: map[string]func(http.ResponseWriter, *http.Request){}}
}

// jwt returns a token with its expiry; its signature is not verified.
func jwt(n int, issued, expires time.Time) string {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	return part(`{"alg":"HS256","typ":"JWT"}`) + "." + part(fmt.Sprintf(`{"sub":"ann","jti":"%d","iat":%d,"exp":%d}`, n, issued.Unix(), expires.Unix())) + ".c2lnbmF0dXJl"
}

func (p *plain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.Method + " " + r.URL.Path
	p.mu.Lock()
	p.asked = append(p.asked, name)
	special := p.answer[name]
	p.mu.Unlock()
	if special != nil {
		special(w, r)
		return
	}
	if name == "POST /authorize" {
		p.authorize(w, r)
		return
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	p.mu.Lock()
	good := p.valid[token] || p.anyhow
	p.mu.Unlock()
	if !good {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "Invalid Token")
		return
	}
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	switch r.URL.Path {
	case "/hazards/active":
		_, _ = io.WriteString(w, activeList)
	case "/hazards/types":
		_, _ = io.WriteString(w, `[{"type_id":"FLOOD","type_name":"Flood","type_icon":"flood.png"}]`)
	case "/hazards/14011/products":
		_, _ = io.WriteString(w, productList)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (p *plain) authorize(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if string(body) != `{"username":"ann","password":"`+password+`"}` {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "Authentication failed.")
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logins++
	token := fmt.Sprintf("opaque-%d", p.logins)
	if p.expires > 0 {
		token = jwt(p.logins, time.Now(), time.Now().Add(p.expires))
		time.AfterFunc(p.expires, func() { p.forget(token) })
	}
	p.valid[token] = true
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"accessToken":%q,"refreshToken":"opaque refresh token"}`, token)
}

func (p *plain) forget(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.valid, token)
}

func (p *plain) forgetAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.valid)
}

// count returns how often a request was made.
func (p *plain) count(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, a := range p.asked {
		if a == name {
			n++
		}
	}
	return n
}

// RoundTrip answers in memory.
func (p *plain) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	rec := httptest.NewRecorder()
	p.ServeHTTP(rec, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	resp := rec.Result()
	resp.Request = r
	return resp, nil
}

// ask returns a client of an in-memory server.
func ask(t testing.TB, server http.RoundTripper, alter ...func(*client.Options)) *client.Client {
	t.Helper()
	o := client.Options{Username: "ann", Password: password, HTTPClient: &http.Client{Transport: server}}
	for _, f := range alter {
		f(&o)
	}
	c, err := client.New("https://plain.example/api", o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// atRoot removes the base path.
type atRoot struct{ server *plain }

func (a atRoot) RoundTrip(r *http.Request) (*http.Response, error) {
	path, ok := strings.CutPrefix(r.URL.Path, "/api")
	if !ok || r.URL.Host != "plain.example" {
		return nil, fmt.Errorf("%s is not below the base URL", r.URL)
	}
	r = r.Clone(r.Context())
	r.URL.Path, r.URL.RawPath = path, ""
	return a.server.RoundTrip(r)
}

// listen serves a handler on a local port, and returns a client of it.
func listen(t testing.TB, h http.Handler, alter ...func(*client.Options)) (*client.Client, *httptest.Server) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	o := client.Options{Token: "good"}
	for _, f := range alter {
		f(&o)
	}
	c, err := client.New(srv.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return c, srv
}

// pipes is a listener in memory, for servers in a synctest bubble.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// bubble calls f in a synctest bubble with a client of a server for h: there a limit of 200 ms is none of the machine's.
func bubble(t *testing.T, h http.Handler, alter func(*client.Options), f func(*testing.T, *client.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		listener, srv := make(pipes), &http.Server{Handler: h}
		go func() { _ = srv.Serve(listener) }() // ends with Shutdown
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			listener <- theirs
			return ours, nil
		}}
		o := client.Options{Token: "good", HTTPClient: &http.Client{Transport: transport}}
		alter(&o)
		c, err := client.New("http://hazards.example", o)
		if err != nil {
			t.Fatal(err)
		}
		f(t, c)
		transport.CloseIdleConnections()
		if err := srv.Shutdown(t.Context()); err != nil { // when the handlers have ended
			t.Error(err)
		}
	})
}

// activeList is a list in the form of other servers: null in place of a string, numbers in place of
// strings, strings in place of numbers, unknown members, start after end, an invalid count.
const activeList = `[
 {"app_ID":0,"app_IDs":"","autoexpire":"Y","category_ID":"EVENT","charter_Uri":"","comment_Text":"FLOOD-1","create_Date":"1600300075252",
  "creator":"DisasterAWARE (Automated)","end_Date":"1600397275016","glide_Uri":"","hazard_ID":14011,"hazard_Name":"Flood - NW of Saurimo",
  "last_Update":"1600332984019","latitude":-9.309797356,"longitude":19.583007079,"master_Incident_ID":"","message_ID":"","org_ID":-1,
  "severity_ID":"INFORMATION","snc_url":null,"start_Date":"1600300075016","status":"A","type_ID":"FLOOD","update_Date":"1600332969049",
  "update_User":null,"product_total":"1","uuid":"f01fa876-6955-43bf-895c-37dfca330803","in_Dashboard":"0","areabrief_url":null,
  "description":"line 1\n \nline 2","roles":[{"unknown":"shape"}],"new_Member":{"of":"a later version"}},
 {"hazard_ID":"14012","hazard_Name":"Storm","create_Date":1596301200000,"end_Date":1590590340000,"start_Date":1590590340001,"latitude":"-49.5",
  "longitude":163.8,"product_total":"nope","uuid":"0c653cb4-4a9e-4506-b2c8-a1e14e4dc049","type_ID":"SEVEREWEATHER"},
 {"hazard_ID":14013,"hazard_Name":["no","name"]},
 "no record"
]`

const productList = `[
 {"product_ID":1,"uuid":"12776eb9-2585-4d93-9001-944cc7d9d022","hazard_ID":14011,"parent_ID":0,"title":"Situational Awareness (SA)",
  "product_Type":"FOLDER_PRODUCT","data":null,"filename":null,"suffix":"folder","product_url":null,"security_Flag":"A","org_IDs":null,"is_Hidden":"N"}]`
