package serve_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	zitadel "github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/auth/oidc"
	"github.com/hazardd/hazardd/internal/test/server"
	"github.com/hazardd/hazardd/wire"
)

const (
	clientID     = "hazardd"
	clientSecret = "not a secret at all"
)

// provider is a real OpenID provider in this process, with its users.
type provider struct {
	*storage.Storage
	t      *testing.T
	server *httptest.Server
	down   atomic.Bool
	keys   atomic.Int64 // requests for its keys

	mu     sync.Mutex
	groups map[string][]string // by the user's id; guarded by mu
	names  map[string]string
}

// These methods implement the user store of the provider.
func (p *provider) ExampleClientID() string { return "example" }

func (p *provider) GetUserByID(id string) *storage.User {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.groups[id]; !ok {
		return nil
	}
	return &storage.User{ID: id, Username: p.names[id], Password: "pw", FirstName: id, LastName: "L"}
}

func (p *provider) GetUserByUsername(name string) *storage.User { return p.GetUserByID(name) }

func (p *provider) groupsOf(id string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.groups[id]
}

func (p *provider) set(id, name string, groups ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.groups[id], p.names[id] = groups, name
}

// SetUserinfoFromRequest adds the groups to ID tokens of clients that request this.
func (p *provider) SetUserinfoFromRequest(ctx context.Context, info *zitadel.UserInfo, r op.IDTokenRequest, scopes []string) error {
	return p.Storage.SetUserinfoFromRequest(ctx, info, r, scopes)
}

// SetUserinfoFromToken adds the groups to the user information of the provider.
func (p *provider) SetUserinfoFromToken(ctx context.Context, info *zitadel.UserInfo, tokenID, subject, origin string) error {
	info.AppendClaims("groups", p.groupsOf(subject))
	return p.Storage.SetUserinfoFromToken(ctx, info, tokenID, subject, origin)
}

// withProvider returns a service whose users may log in at a real provider.
func withProvider(t *testing.T, alter ...func(*app.Config)) (*world, *provider) {
	t.Helper()
	p := &provider{t: t, groups: map[string][]string{}, names: map[string]string{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	issuer := "http://" + listener.Addr().String()
	clients := map[string]*storage.Client{}
	p.Storage = storage.NewStorageWithClients(p, clients)
	// The provider replaces the process's logger. Log only errors, because a line for each request
	// would hide failures.
	router := exampleop.SetupServer(issuer, p, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})), false)
	p.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.down.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		if r.URL.Path == "/keys" {
			p.keys.Add(1)
		}
		router.ServeHTTP(w, r)
	})}}
	p.server.Start()
	t.Cleanup(p.server.Close)
	s := start(t, append([]func(*app.Config){func(c *app.Config) {
		c.Provider = &oidc.Config{Issuer: issuer, ClientID: clientID, Secret: clientSecret, Groups: oidc.Groups{
			{Name: "duty", Role: auth.Editor, Orgs: []string{"RC"}}, {Name: "chiefs", Role: auth.Admin}, {Name: "all", Role: auth.Reader, Orgs: []string{"FB", "none"}}}}
	}}, alter...)...)
	clients[clientID] = storage.WebClient(clientID, clientSecret, s.URL()+"/login/callback")
	return s, p
}

// browser returns a client that keeps cookies and follows no redirects.
func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// visit sends a request of the browser, and checks answers of this server against the API
// description.
func (w *world) visit(b *http.Client, method, address string, form url.Values, header ...string) server.Answer {
	w.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, address, body)
	if err != nil {
		w.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := b.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	a := server.Answer{Status: resp.StatusCode, Header: resp.Header, Body: text}
	if strings.HasPrefix(address, w.URL()) {
		server.Check(w.t, req, a)
	}
	return a
}

// away logs the user in at the provider, and returns the address to which the provider redirects
// the browser.
func (w *world) away(b *http.Client, p *provider, user, next string) string {
	w.t.Helper()
	a := w.visit(b, "GET", w.URL()+"/login/provider?next="+url.QueryEscape(next), nil)
	if a.Status != http.StatusSeeOther || !strings.HasPrefix(a.Header.Get("Location"), p.server.URL) {
		w.t.Fatalf("to the provider: %d %v %s", a.Status, a.Header, a.Body)
	}
	at := a.Header.Get("Location")
	for range 8 {
		if strings.HasPrefix(at, w.URL()) {
			return at
		}
		u, err := url.Parse(at)
		if err != nil {
			w.t.Fatal(err)
		}
		if u.Host == "" {
			at = p.server.URL + at
		}
		a := w.visit(b, "GET", at, nil)
		if strings.HasPrefix(u.Path, "/login/username") {
			a = w.visit(b, "POST", p.server.URL+"/login/username", url.Values{"username": {user}, "password": {"pw"}, "id": {u.Query().Get("authRequestID")}})
		}
		if at = a.Header.Get("Location"); at == "" {
			w.t.Fatalf("the provider does not redirect: %d %s", a.Status, a.Body)
		}
	}
	w.t.Fatalf("the provider does not redirect back: %s", at)
	return ""
}

// logInAt logs in the user with that id at the provider, and returns the tokens that the browser
// fetches.
func (w *world) logInAt(b *http.Client, p *provider, user string) wire.TokenPair {
	w.t.Helper()
	a := w.visit(b, "GET", w.away(b, p, user, "/"), nil)
	if a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/" {
		w.t.Fatalf("back from the provider: %d %v %s", a.Status, a.Header, a.Body)
	}
	return w.fetch(b)
}

func (w *world) fetch(b *http.Client) (pair wire.TokenPair) {
	w.t.Helper()
	a := w.visit(b, "POST", w.URL()+"/login/tokens", nil, "Sec-Fetch-Site", "same-origin")
	if a.Status != http.StatusOK {
		w.t.Fatalf("tokens: %d %s", a.Status, a.Body)
	}
	a.JSON(w.t, &pair)
	return pair
}

type who struct {
	Name, Role string
	Orgs       []struct{ Acronym string }
}

func (w *world) whoIs(token string) (status int, got who) {
	w.t.Helper()
	a := w.do("", "GET", "/account", nil, bearing(token)...)
	if a.Status == http.StatusOK {
		a.JSON(w.t, &got)
	}
	return a.Status, got
}

// issue makes a token, signed with the provider's key or another.
func (p *provider) issue(key any, alg jose.SignatureAlgorithm, kid, typ string, claims map[string]any) string {
	p.t.Helper()
	opts := (&jose.SignerOptions{}).WithType(jose.ContentType(typ)).WithHeader("kid", kid)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, opts)
	if err != nil {
		p.t.Fatal(err)
	}
	text, err := json.Marshal(claims)
	if err != nil {
		p.t.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := signed.CompactSerialize()
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

func (p *provider) claims(subject string, more ...any) map[string]any {
	now := time.Now().Unix()
	return with(map[string]any{"iss": p.server.URL, "sub": subject, "aud": clientID, "iat": now, "exp": now + 300, "jti": rand.Text()}, more...)
}

// token returns an access token of the provider.
func (p *provider) token(subject string, more ...any) string {
	key, err := p.SigningKey(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return p.issue(key.Key(), jose.RS256, key.ID(), "at+jwt", p.claims(subject, more...))
}

// notice sends the service a notice that logins have ended.
func (w *world) notice(p *provider, more ...any) server.Answer {
	w.t.Helper()
	key, err := p.SigningKey(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	claims := p.claims("", append([]any{"events", map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}}, more...)...)
	return w.visit(w.client, "POST", w.URL()+"/login/ended", url.Values{"logout_token": {p.issue(key.Key(), jose.RS256, key.ID(), "logout+jwt", claims)}})
}

// Once, there was no single sign-on.
func TestUsersLogInAtAProvider(t *testing.T) {
	s, p := withProvider(t)
	p.set("u1", "ann", "duty", "all", "others")
	var methods struct {
		Provider struct{ Title, URL string }
	}
	a := s.do("", "GET", "/login/methods", nil)
	if a.JSON(t, &methods); methods.Provider.Title != "127.0.0.1" || methods.Provider.URL != s.URL()+"/login/provider" {
		t.Fatalf("%+v", methods)
	}
	if a := s.do("", "GET", "/login", nil); !strings.Contains(string(a.Body), "/login/provider?next=") {
		t.Error("the form does not offer the provider")
	}
	b := browser(t)
	pair := s.logInAt(b, p, "u1")
	status, got := s.whoIs(pair.AccessToken)
	if status != 200 || got.Name != "ann" || got.Role != "editor" || len(got.Orgs) != 2 {
		t.Fatalf("%d %+v", status, got)
	}
	if a := s.visit(b, "GET", s.URL()+"/h/1", nil); a.Status != http.StatusNotFound { // 303 would redirect to the form
		t.Errorf("pages: %d", a.Status)
	}
	if a := s.visit(b, "POST", s.URL()+"/login/tokens", nil, "Sec-Fetch-Site", "same-origin"); a.Status != http.StatusUnauthorized {
		t.Errorf("tokens a second time: %d", a.Status)
	}
	var sessions []listedSession
	s.do("", "GET", "/account/sessions", nil, bearing(pair.AccessToken)...).JSON(t, &sessions)
	if len(sessions) != 1 || !sessions[0].Current {
		t.Errorf("sessions: %+v", sessions)
	}
	if a := s.do("root", "GET", "/audit?user=ann", nil); !strings.Contains(string(a.Body), `"user added"`) || !strings.Contains(string(a.Body), `"login"`) || !strings.Contains(string(a.Body), p.server.URL) {
		t.Errorf("audit: %s", a.Body)
	}
	// The lifetime of the login is that of the provider's login, however often it is renewed.
	a = s.do("", "POST", "/authorize/refresh", map[string]string{"refreshToken": pair.RefreshToken})
	if a.JSON(t, &pair); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	var c struct {
		IAT int64 `json:"iat"`
		Exp int64 `json:"exp"`
	}
	body, err := base64.RawURLEncoding.DecodeString(strings.Split(pair.RefreshToken, ".")[1])
	if err != nil || json.Unmarshal(body, &c) != nil {
		t.Fatal(err)
	}
	if life := time.Duration(c.Exp-c.IAT) * time.Second; life > 12*time.Hour || life < 11*time.Hour {
		t.Errorf("the login lives for %v", life)
	}

	// Another group: the next login has its rights, and so has the open session.
	p.set("u1", "renamed", "chiefs")
	again := s.logInAt(browser(t), p, "u1")
	for _, token := range []string{pair.AccessToken, again.AccessToken} {
		if status, got := s.whoIs(token); status != 200 || got.Name != "ann" || got.Role != "admin" || len(got.Orgs) != 0 {
			t.Errorf("after a change of group: %d %+v", status, got)
		}
	}
	// No group: nobody can log in, and open sessions end.
	p.set("u1", "ann")
	b = browser(t)
	if a := s.visit(b, "GET", s.away(b, p, "u1", "/"), nil); a.Status != http.StatusForbidden || a.Header["Set-Cookie"] != nil {
		t.Errorf("without a group: %d", a.Status)
	}
	if status, _ := s.whoIs(again.AccessToken); status != http.StatusForbidden {
		t.Errorf("a token of a user without a group: %d", status)
	}
	p.set("u1", "ann", "all")
	if _, got := s.whoIs(s.logInAt(browser(t), p, "u1").AccessToken); got.Role != "reader" {
		t.Errorf("a group again: %+v", got)
	}
	// A user disabled here stays disabled, whatever the provider says.
	if err := s.Auth.Accounts().Disable(t.Context(), actor, "ann", s.Now()); err != nil {
		t.Fatal(err)
	}
	b = browser(t)
	if a := s.visit(b, "GET", s.away(b, p, "u1", "/"), nil); a.Status != http.StatusForbidden {
		t.Errorf("disabled here: %d", a.Status)
	}
	if err := s.Auth.Accounts().RemoveUser(t.Context(), actor, "ann", s.Now()); err != nil {
		t.Fatal(err)
	}
	b = browser(t)
	if a := s.visit(b, "GET", s.away(b, p, "u1", "/"), nil); a.Status != http.StatusForbidden {
		t.Errorf("removed here: %d", a.Status)
	}
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestAProvidersClaimNeverLeadsToAnotherAccount(t *testing.T) {
	s, p := withProvider(t)
	p.set("x", "root", "duty")
	p.set("y", "ROOT", "all")
	p.set("z", "", "all")
	names := map[string]string{}
	for _, subject := range []string{"x", "y", "z"} {
		_, got := s.whoIs(s.logInAt(browser(t), p, subject).AccessToken)
		names[subject] = got.Name
	}
	if !strings.HasPrefix(names["x"], "root-") || !strings.HasPrefix(names["y"], "root-") || names["x"] == names["y"] || names["z"] != "user" {
		t.Errorf("%v", names)
	}
	if role, _, _ := s.Auth.Standing("root"); role != auth.Admin {
		t.Errorf("the local account has the role %q", role)
	}
	if err := s.Auth.Accounts().SetPassword(t.Context(), actor, names["x"], server.Password, 0, s.Now()); err == nil {
		t.Error("a user of the provider has got a password here")
	}
	if a := s.do("", "POST", "/authorize", credentials(names["x"], server.Password)); a.Status != http.StatusUnauthorized {
		t.Errorf("a local login of a user of the provider: %d", a.Status)
	}
}

func TestAProviderEndsLogins(t *testing.T) {
	s, p := withProvider(t)
	p.set("u1", "ann", "duty")
	p.set("u2", "bob", "duty")
	ann, other, bob := browser(t), s.logInAt(browser(t), p, "u1"), s.logInAt(browser(t), p, "u2")
	pair := s.logInAt(ann, p, "u1")
	bearer := p.token("u1", "groups", []string{"duty"})
	if status, _ := s.whoIs(bearer); status != 200 {
		t.Fatalf("a token of the provider: %d", status)
	}
	for name, more := range map[string][]any{
		"no event": {"sub", "u1", "events", nil}, "a nonce": {"sub", "u1", "nonce", "n"}, "no jti": {"sub", "u1", "jti", nil}, "nobody": {"sub", nil}, "another audience": {"sub", "u1", "aud", "another"},
		"old": {"sub", "u1", "iat", time.Now().Unix() - 3600}, "another issuer": {"sub", "u1", "iss", "http://127.0.0.1:1"},
	} {
		if a := s.notice(p, more...); a.Status != http.StatusBadRequest {
			t.Errorf("a notice with %s: %d", name, a.Status)
		}
	}
	if a := s.visit(s.client, "POST", s.URL()+"/login/ended", url.Values{"logout_token": {bearer}}); a.Status != http.StatusBadRequest {
		t.Errorf("an access token as a notice: %d", a.Status)
	}
	if status, _ := s.whoIs(pair.AccessToken); status != 200 {
		t.Fatalf("forged notices have ended a login: %d", status)
	}
	if a := s.notice(p, "sub", "nobody"); a.Status != 200 {
		t.Errorf("an unknown subject: %d", a.Status)
	}
	if a := s.notice(p, "sub", "u1"); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	for name, token := range map[string]string{"one login": pair.AccessToken, "another": other.AccessToken, "the provider's own": bearer} {
		if status, _ := s.whoIs(token); status != http.StatusForbidden {
			t.Errorf("%s: %d", name, status)
		}
	}
	if a := s.do("", "POST", "/authorize/refresh", map[string]string{"refreshToken": pair.RefreshToken}); a.Status != http.StatusUnauthorized {
		t.Errorf("a renewal: %d", a.Status)
	}
	if a := s.visit(ann, "GET", s.URL()+"/h/1", nil); a.Status != http.StatusSeeOther {
		t.Errorf("pages: %d", a.Status)
	}
	if status, _ := s.whoIs(bob.AccessToken); status != 200 {
		t.Errorf("another user: %d", status)
	}
	if status, _ := s.whoIs(s.logInAt(ann, p, "u1").AccessToken); status != 200 {
		t.Errorf("a login after the notice: %d", status)
	}
}

func TestTheAPITakesTheProvidersTokens(t *testing.T) {
	s, p := withProvider(t)
	p.set("u1", "ann", "duty")
	key, err := p.SigningKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	status, got := s.whoIs(p.token("robot", "groups", "chiefs", "preferred_username", "robot", "aud", []string{"x", clientID}))
	if status != 200 || got.Name != "robot" || got.Role != "admin" {
		t.Fatalf("%d %+v", status, got)
	}
	// Providers without the type of RFC 9068 say by a claim that it is an access token.
	if status, _ := s.whoIs(p.issue(key.Key(), jose.RS256, key.ID(), "JWT", p.claims("robot", "groups", "chiefs", "scope", "openid"))); status != 200 {
		t.Errorf("an access token of the type JWT: %d", status)
	}
	// An older token does not restore rights that a newer one has removed.
	if status, got = s.whoIs(p.token("robot", "groups", []string{"all"}, "iat", now+5)); got.Role != "reader" {
		t.Errorf("%d %+v", status, got)
	}
	if status, got = s.whoIs(p.token("robot", "groups", "chiefs")); got.Role != "reader" {
		t.Errorf("an older token: %d %+v", status, got)
	}
	if status, got = s.whoIs(p.token("robot")); got.Role != "reader" {
		t.Errorf("a token without groups: %d %+v", status, got)
	}
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"at+jwt"}`))
	good := p.token("robot", "groups", "chiefs")
	parts := strings.Split(good, ".")
	for name, token := range map[string]string{
		"expired":            p.token("robot", "exp", now-60),
		"not yet":            p.token("robot", "iat", now+3600),
		"nbf":                p.token("robot", "nbf", now+3600),
		"another audience":   p.token("robot", "aud", "another"),
		"no audience":        p.token("robot", "aud", nil),
		"another issuer":     p.token("robot", "iss", "https://login.example.org"),
		"a part of the name": p.token("robot", "iss", p.server.URL+"/"),
		"no subject":         p.token(""),
		"a long subject":     p.token(strings.Repeat("s", 300), "groups", "all"),
		"no group":           p.token("stranger", "groups", []string{"others"}),
		"no word of groups":  p.token("stranger"),
		"for a login":        p.token("robot", "nonce", "n"),
		"a notice":           p.token("robot", "events", map[string]any{"x": 1}),
		"alg none":           none + "." + parts[1] + ".",
		"alg none, signed":   none + "." + parts[1] + "." + parts[2],
		"no signature":       parts[0] + "." + parts[1] + ".",
		"other claims":       parts[0] + "." + strings.Split(p.token("u1"), ".")[1] + "." + parts[2],
		"another key":        p.issue(foreign, jose.RS256, key.ID(), "at+jwt", p.claims("robot")),
		"another kid":        p.issue(foreign, jose.RS256, "kid", "at+jwt", p.claims("robot")),
		"the key as secret":  p.issue([]byte(strings.Repeat("k", 64)), jose.HS256, key.ID(), "at+jwt", p.claims("robot")),
		"another type":       p.issue(key.Key(), jose.RS256, key.ID(), "dpop+jwt", p.claims("robot")),
		"a logout token":     p.issue(key.Key(), jose.RS256, key.ID(), "logout+jwt", p.claims("robot")),
		"an ID token":        p.issue(key.Key(), jose.RS256, key.ID(), "JWT", p.claims("robot", "groups", "chiefs")),
		"a typed ID token":   p.issue(key.Key(), jose.RS256, key.ID(), "JWT", p.claims("robot", "typ", "ID", "scope", "openid")),
		"with its hash":      p.token("robot", "at_hash", "x"),
		"huge":               p.token("robot", "x", strings.Repeat("x", 13_000)),
		"no token":           "a.b.c",
	} {
		if status, _ := s.whoIs(token); status != http.StatusForbidden && (name != "huge" || status != http.StatusRequestHeaderFieldsTooLarge) {
			t.Errorf("%s: %d", name, status)
		}
	}
	// A flood of unknown keys causes no requests to the provider.
	before := p.keys.Load()
	for i := range 50 {
		if status, _ := s.whoIs(p.issue(foreign, jose.RS256, fmt.Sprint("kid", i), "at+jwt", p.claims("robot"))); status != http.StatusForbidden {
			t.Fatalf("%d", status)
		}
	}
	if n := p.keys.Load() - before; n > 1 {
		t.Errorf("%d requests for keys", n)
	}
	if a := s.do("", "POST", "/session", nil, bearing(good)...); a.Status != http.StatusForbidden {
		t.Errorf("a session by a token of the provider: %d", a.Status)
	}
	if a := s.do("", "POST", "/authorize/refresh", map[string]string{"refreshToken": good}); a.Status != http.StatusUnauthorized {
		t.Errorf("a refresh token of the provider: %d", a.Status)
	}
	// A user whose token was accepted before keeps access while the provider is unreachable, and so
	// do local accounts.
	p.down.Store(true)
	if status, _ := s.whoIs(good); status != 200 {
		t.Errorf("while the provider is unreachable: %d", status)
	}
	if status, _ := s.whoIs(p.token("robot")); status != 200 {
		t.Errorf("a new token while the provider is unreachable: %d", status)
	}
	if a := s.do("", "POST", "/authorize", credentials("reader", server.Password)); a.Status != 200 {
		t.Errorf("a local login while the provider is unreachable: %d", a.Status)
	}
}

func TestWithoutTheProviderLoginsSaySo(t *testing.T) {
	s, p := withProvider(t)
	p.set("u1", "ann", "duty")
	p.down.Store(true)
	b := browser(t)
	a := s.visit(b, "GET", s.URL()+"/login/provider", nil)
	if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || !strings.Contains(string(a.Body), "local account") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := s.do("", "GET", "/account", nil, bearing(p.token("u1"))...); a.Status != http.StatusServiceUnavailable {
		t.Errorf("a token that cannot be verified: %d", a.Status)
	}
	if a := s.do("", "GET", "/account", nil, bearing("nonsense")...); a.Status != http.StatusForbidden || string(a.Body) != "Invalid Token" {
		t.Errorf("nonsense: %d %s", a.Status, a.Body)
	}
	none := start(t)
	for _, path := range []string{"GET /login/provider", "GET /login/callback?code=c&state=s", "POST /login/tokens", "POST /login/ended"} {
		method, path, _ := strings.Cut(path, " ")
		if a := none.do("", method, path, nil); a.Status != http.StatusNotFound {
			t.Errorf("%s without a provider: %d", path, a.Status)
		}
	}
	if a := none.do("", "GET", "/login/methods", nil); string(a.Body) != `{"password":true,"passkeys":false,"provider":null}` {
		t.Errorf("%s", a.Body)
	}
}

func TestAnAnswerOfTheProviderBelongsToOneBrowserOnce(t *testing.T) {
	s, p := withProvider(t)
	p.set("u1", "ann", "duty")
	b := browser(t)
	back := s.away(b, p, "u1", "/h/1?x=1")
	home := mustURL(t, s.URL())
	kept := slices.Clone(b.Jar.Cookies(home))
	refused := func(name string, b *http.Client, address string) {
		t.Helper()
		a := s.visit(b, "GET", address, nil)
		if a.Status != http.StatusBadRequest || a.Header.Get("Location") != "" || a.Header["Set-Cookie"] != nil {
			t.Errorf("%s: %d %v", name, a.Status, a.Header)
		}
	}
	withCookies := func() *http.Client {
		c := browser(t)
		c.Jar.SetCookies(home, kept)
		return c
	}
	with := func(more ...string) string {
		u := mustURL(t, back)
		q := u.Query()
		for i := 0; i < len(more); i += 2 {
			if q.Set(more[i], more[i+1]); more[i+1] == "" {
				q.Del(more[i])
			}
		}
		u.RawQuery = q.Encode()
		return u.String()
	}
	refused("another browser", browser(t), back)
	refused("another state", withCookies(), with("state", "x"))
	refused("no state", withCookies(), with("state", ""))
	refused("another provider", withCookies(), with("iss", "https://login.example.org"))
	refused("no code", withCookies(), with("code", ""))
	refused("an error", withCookies(), with("error", "access_denied"))
	refused("two codes", withCookies(), back+"&code=x")
	refused("two states", withCookies(), back+"&state=x")
	refused("a parameter that is none", withCookies(), back+"&x=%zz")
	if a := s.visit(b, "GET", back, nil); a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/h/1?x=1" {
		t.Fatalf("%d %v %s", a.Status, a.Header, a.Body)
	}
	refused("a second time", withCookies(), back)
	// A code of another user in this browser's login: PKCE and nonce belong to another login.
	victim := browser(t)
	mine, theirs := mustURL(t, s.away(victim, p, "u1", "/")), mustURL(t, s.away(browser(t), p, "u1", "/"))
	q := mine.Query()
	q.Set("code", theirs.Query().Get("code"))
	mine.RawQuery = q.Encode()
	refused("a code of another login", victim, mine.String())
	for _, next := range []string{"https://evil.example", "//evil.example", `/\evil.example`, "/login", "javascript:alert(1)"} {
		b := browser(t)
		if a := s.visit(b, "GET", s.away(b, p, "u1", next), nil); a.Header.Get("Location") != "/" {
			t.Errorf("next %q redirects to %q", next, a.Header.Get("Location"))
		}
	}
	for name, header := range map[string][]string{"another site": {"Sec-Fetch-Site", "cross-site"}, "another origin": {"Origin", "https://evil.example"}} {
		b := browser(t)
		s.visit(b, "GET", s.away(b, p, "u1", "/"), nil)
		if a := s.visit(b, "POST", s.URL()+"/login/tokens", nil, header...); a.Status != http.StatusForbidden {
			t.Errorf("tokens for %s: %d", name, a.Status)
		}
	}
}

func TestCookiesOfAProviderLogin(t *testing.T) {
	s, p := withProvider(t)
	p.set("u1", "ann", "duty")
	b := browser(t)
	_, port, _ := strings.Cut(s.Addr().String(), ":")
	a := s.visit(b, "GET", s.URL()+"/login/provider", nil)
	back := s.visit(b, "GET", s.away(b, p, "u1", "/"), nil)
	found := map[string]*http.Cookie{}
	for _, h := range []http.Header{a.Header, back.Header} {
		for _, c := range (&http.Response{Header: h}).Cookies() {
			if c.MaxAge >= 0 {
				found[strings.TrimPrefix(c.Name, "hazardd-"+port)] = c
			}
		}
	}
	for name, want := range map[string]struct {
		site http.SameSite
		most int
	}{"-login": {http.SameSiteLaxMode, 600}, "-handover": {http.SameSiteStrictMode, 60}, "": {http.SameSiteLaxMode, 12 * 3600}} {
		if c := found[name]; c == nil || !c.HttpOnly || c.SameSite != want.site || c.MaxAge > want.most || c.Path != "/" || c.Domain != "" {
			t.Errorf("%q: %+v", name, c)
		}
	}
	if handover := found["-handover"]; handover != nil {
		if status, _ := s.whoIs(handover.Value); status != http.StatusForbidden {
			t.Errorf("the handover as a token: %d", status)
		}
	}
}

func TestRequestsAboutProviderLoginsAreLimited(t *testing.T) {
	s, _ := withProvider(t, stopped)
	limited := 0
	for range 80 {
		if a := s.visit(s.client, "POST", s.URL()+"/login/ended", url.Values{"logout_token": {"x.y.z"}}); a.Status == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited != 20 {
		t.Errorf("%d of 80 requests were refused, want 20", limited)
	}
}
