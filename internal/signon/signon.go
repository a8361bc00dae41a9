// Package signon logs people in at an OpenID provider, and verifies the provider's tokens.
//
// It speaks OpenID Connect Core 1.0 (authorization code with PKCE, state and nonce), reads access tokens that are JWTs (RFC 9068) and
// logout tokens (OpenID Connect Back-Channel Logout 1.0), and maps groups to roles. Who a person is here, and what sessions are, is
// package auth's to say.
//
// A provider that is slow, silent or hostile costs a bounded time (5 s a request), a bounded memory (1 MiB a document, 64 keys) and a
// bounded number of requests: at most one look for new keys in 30 s, however many tokens name a key that is not known. Keys are used for
// an hour and then read again; while the provider does not answer, those that were read last count for another day.
//
// All methods are safe for concurrent use. No goroutine outlives a call.
package signon

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"golang.org/x/oauth2"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lru"
	"github.com/hazardd/hazardd/internal/trace"
)

// Config says which provider, and who may do what.
type Config struct {
	Issuer   string // its address, exactly as its tokens name it
	ClientID string
	Secret   auth.Password // of the client; empty: a public client, which PKCE alone protects
	Redirect string        // the address of this service that the provider leads back to
	// Audiences are those of tokens that the API accepts; none: ClientID.
	Audiences []string
	Groups    Groups
	// GroupsClaim and NameClaim are the claims that hold the groups and the wish for a name; default groups and preferred_username.
	// A name with dots leads into objects where no claim has that very name: realm_access.roles.
	GroupsClaim, NameClaim string
	Scopes                 []string // beside openid; none: profile
}

// The bounds of what a provider may cost.
const (
	requestTime  = 5 * time.Second
	maxDocument  = 1 << 20 // bytes
	aboutLife    = time.Hour
	aboutRetry   = 10 * time.Second // between two looks for a provider that did not answer
	maxExchanges = 32               // codes that are being exchanged at the same time
	// clockSkew is how far the provider's clock may be off ours.
	clockSkew = 30 * time.Second
	// maxToken bounds a token, in bytes.
	maxToken = 16 << 10
	// seenBytes is what verified tokens may take in memory.
	seenBytes = 4 << 20
	// StateLife is how long a person may take to log in at the provider.
	StateLife = 10 * time.Minute
)

// algorithms are those that tokens may be signed with: none that a public key could verify as a secret, and not "none".
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}

// The ways to fail. What they wrap is for the log.
var (
	// ErrUnavailable: the provider does not answer, or not as a provider does.
	ErrUnavailable = errors.New("the login provider does not answer")
	// ErrRefused: the provider's answer does not belong to this login, is forged, was used before, or is over.
	ErrRefused = errors.New("the answer of the login provider is not accepted")
	// ErrBusy: too many logins are under way.
	ErrBusy = errors.New("too many logins at the provider are under way")
)

// Provider is an OpenID provider. Make it with New.
type Provider struct {
	cfg    Config
	client *http.Client
	now    func() hazard.Instant
	seen   *lru.Cache[[sha256.Size]byte, *verified]
	turns  chan struct{} // one for each code that is being exchanged

	mu    sync.Mutex // held while the provider is looked for
	about *about     // guarded by mu
	tried hazard.Instant
}

// about is what a provider says of itself.
type about struct {
	oidc  *oidc.Provider
	keys  *keySet
	read  hazard.Instant
	extra struct {
		IssParameter bool `json:"authorization_response_iss_parameter_supported"`
	}
}

// verified is a token of the provider that was accepted.
type verified struct {
	id      auth.Identity
	expires hazard.Instant
}

// New makes a Provider. It sends nothing yet.
func New(cfg Config, now func() hazard.Instant) (*Provider, error) {
	u, err := url.Parse(cfg.Issuer)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the issuer is not the address of an OpenID provider, such as https://login.example.org/realms/main")
	}
	if u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname())) {
		return nil, fmt.Errorf("the issuer %s must begin with https://; http is for this machine alone", cfg.Issuer)
	}
	if cfg.ClientID == "" {
		return nil, errors.New("the id of the client at the OpenID provider is missing")
	}
	if len(cfg.Groups) == 0 {
		return nil, errors.New("no group of the OpenID provider has a role here, so that nobody could log in: set the groups, such as duty=editor")
	}
	if len(cfg.Audiences) == 0 {
		cfg.Audiences = []string{cfg.ClientID}
	}
	if cfg.GroupsClaim == "" {
		cfg.GroupsClaim = "groups"
	}
	if cfg.NameClaim == "" {
		cfg.NameClaim = "preferred_username"
	}
	if len(cfg.Scopes) == 0 {
		cfg.Scopes = []string{"profile"}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = 64 << 10
	transport.MaxConnsPerHost = maxExchanges
	return &Provider{cfg: cfg, now: now, seen: lru.New[[sha256.Size]byte, *verified](seenBytes), turns: make(chan struct{}, maxExchanges),
		client: &http.Client{Transport: bounded{transport}, Timeout: requestTime,
			// What a provider says is believed because of where it was asked.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Close closes connections that are idle.
func (p *Provider) Close() {
	if p != nil {
		p.client.CloseIdleConnections()
	}
}

// bounded cuts answers off, and says which request the provider is asked for.
type bounded struct{ *http.Transport }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header = trace.Pass(r.Context(), r.Header)
	resp, err := b.Transport.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxDocument), resp.Body}
	}
	return resp, err
}

func (p *Provider) context(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.client)
}

// discover reads what the provider says of itself, once an hour. What was read last stays good while it does not answer.
func (p *Provider) discover(ctx context.Context) (*about, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.about != nil && (now < p.about.read.Add(aboutLife) || now < p.tried.Add(aboutRetry)) {
		return p.about, nil
	}
	if p.tried != 0 && now >= p.tried && now < p.tried.Add(aboutRetry) {
		return nil, fmt.Errorf("%w: it did not a moment ago", ErrUnavailable)
	}
	p.tried = now
	// Others wait for this: whoever began it may give up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTime)
	defer cancel()
	found, err := p.look(ctx, now)
	if err != nil {
		if p.about != nil {
			return p.about, nil
		}
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	p.about = found
	return found, nil
}

func (p *Provider) look(ctx context.Context, now hazard.Instant) (*about, error) {
	provider, err := oidc.NewProvider(p.context(ctx), p.cfg.Issuer) // refuses another issuer
	if err != nil {
		return nil, err
	}
	a := &about{oidc: provider, read: now}
	var said struct {
		Keys string `json:"jwks_uri"`
	}
	if err := errors.Join(provider.Claims(&said), provider.Claims(&a.extra)); err != nil {
		return nil, err
	}
	endpoint := provider.Endpoint()
	for _, address := range []string{said.Keys, endpoint.AuthURL, endpoint.TokenURL} {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "https" && !strings.HasPrefix(p.cfg.Issuer, "http://") {
			return nil, fmt.Errorf("an endpoint is not an https address: %.200q", address)
		}
	}
	if old := p.about; old != nil && old.keys.url == said.Keys {
		a.keys = old.keys
	} else {
		a.keys = &keySet{url: said.Keys, client: p.client, now: p.now}
	}
	return a, nil
}

// Issuer returns the provider's address, as its tokens name it.
func (p *Provider) Issuer() string { return p.cfg.Issuer }

func (p *Provider) verifier(keys oidc.KeySet) *oidc.IDTokenVerifier {
	return oidc.NewVerifier(p.cfg.Issuer, keys, &oidc.Config{SupportedSigningAlgs: algorithms, SkipClientIDCheck: true,
		Now: func() time.Time { return p.now().Time().Add(-clockSkew) }}) // exp alone is held against it; nbf has a leeway of its own
}

func (p *Provider) oauth(a *about) *oauth2.Config {
	return &oauth2.Config{ClientID: p.cfg.ClientID, ClientSecret: string(p.cfg.Secret), Endpoint: a.oidc.Endpoint(), RedirectURL: p.cfg.Redirect,
		Scopes: append([]string{oidc.ScopeOpenID}, p.cfg.Scopes...)}
}

// Secret is what a browser keeps while its user logs in at the provider: state, nonce and the verifier of PKCE follow from it.
type Secret string

// ID names the login, so that it can be noted that it was used.
func (s Secret) ID() uuid.UUID {
	sum := sha256.Sum256([]byte("id\x00" + s))
	id := uuid.UUID(sum[:16])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // version 8: of our own making
	return id
}

// begun returns when the login began; state, nonce and verifier depend on it.
func (s Secret) begun() (hazard.Instant, bool) {
	_, text, _ := strings.Cut(string(s), ".")
	second, err := strconv.ParseInt(text, 36, 40)
	return hazard.Instant(second * 1000), err == nil
}

func (s Secret) derive(what string) string {
	sum := sha256.Sum256([]byte(what + "\x00" + string(s)))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Begin returns the address at the provider that a browser is led to, and what the browser keeps meanwhile. ErrUnavailable.
func (p *Provider) Begin(ctx context.Context) (address string, secret Secret, err error) {
	a, err := p.discover(ctx)
	if err != nil {
		return "", "", err
	}
	// 256 random bits, and when the login began, in seconds.
	secret = Secret(oauth2.GenerateVerifier() + "." + strconv.FormatInt(int64(p.now())/1000, 36))
	return p.oauth(a).AuthCodeURL(secret.derive("state"), oidc.Nonce(secret.derive("nonce")), oauth2.S256ChallengeOption(secret.derive("verifier"))), secret, nil
}

// Finish takes the parameters with which the provider has led a browser back, and the secret that the browser has kept. The caller
// sees to it that a secret is used once. ErrRefused, ErrUnavailable, ErrBusy.
func (p *Provider) Finish(ctx context.Context, answer url.Values, secret Secret) (auth.Identity, error) {
	for _, name := range []string{"state", "code", "error", "iss"} {
		if len(answer[name]) > 1 || len(answer.Get(name)) > 4096 {
			return auth.Identity{}, fmt.Errorf("%w: the parameter %s comes twice or is too long", ErrRefused, name)
		}
	}
	if secret == "" || subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(secret.derive("state"))) != 1 {
		return auth.Identity{}, fmt.Errorf("%w: it is of another login, or of none", ErrRefused)
	}
	if begun, ok := secret.begun(); !ok || begun > p.now().Add(clockSkew) || begun.Add(StateLife) < p.now() {
		return auth.Identity{}, fmt.Errorf("%w: it took too long", ErrRefused)
	}
	if answer.Has("error") {
		return auth.Identity{}, fmt.Errorf("%w: the provider says %.100q", ErrRefused, answer.Get("error"))
	}
	a, err := p.discover(ctx)
	if err != nil {
		return auth.Identity{}, err
	}
	// RFC 9207: the answer of another provider must not be taken for one of this.
	if iss := answer.Get("iss"); iss != "" && iss != p.cfg.Issuer || iss == "" && a.extra.IssParameter {
		return auth.Identity{}, fmt.Errorf("%w: it belongs to another provider", ErrRefused)
	}
	if answer.Get("code") == "" {
		return auth.Identity{}, fmt.Errorf("%w: it has no code", ErrRefused)
	}
	select {
	case p.turns <- struct{}{}:
		defer func() { <-p.turns }()
	default:
		return auth.Identity{}, ErrBusy
	}
	ctx, cancel := context.WithTimeout(p.context(ctx), 2*requestTime)
	defer cancel()
	tokens, err := p.oauth(a).Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(secret.derive("verifier")))
	if err != nil {
		if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response.StatusCode < http.StatusInternalServerError {
			return auth.Identity{}, fmt.Errorf("%w: the code is not: %.100q", ErrRefused, refused.ErrorCode)
		}
		return auth.Identity{}, fmt.Errorf("%w: exchange of a code: %w", ErrUnavailable, err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	t, claims, err := p.verify(ctx, a, raw, []string{p.cfg.ClientID})
	if err != nil {
		return auth.Identity{}, err
	}
	if subtle.ConstantTimeCompare([]byte(t.Nonce), []byte(secret.derive("nonce"))) != 1 {
		return auth.Identity{}, fmt.Errorf("%w: the nonce is another login's", ErrRefused)
	}
	// OpenID Connect Core 1.0, section 3.1.3.7: for several audiences azp must name the client.
	if azp, ok := claims["azp"].(string); ok && azp != p.cfg.ClientID || !ok && len(t.Audience) > 1 {
		return auth.Identity{}, fmt.Errorf("%w: the token was issued to another client", ErrRefused)
	}
	if t.AccessTokenHash != "" {
		if err := t.VerifyAccessToken(tokens.AccessToken); err != nil {
			return auth.Identity{}, fmt.Errorf("%w: %w", ErrRefused, err)
		}
	}
	if _, stated := find(claims, p.cfg.GroupsClaim); !stated && a.oidc.UserInfoEndpoint() != "" {
		if err := p.askMore(ctx, a, tokens, t.Subject, claims); err != nil {
			return auth.Identity{}, err
		}
	}
	id, _ := p.identity(t, claims)
	id.Unstated = false // a login without groups is one of somebody in none
	id.Issued = p.now() // it was made for this login: nothing that the provider said before is newer
	return id, nil
}

// askMore adds what the provider says of the person apart from the token, where the token leaves it out.
func (p *Provider) askMore(ctx context.Context, a *about, tokens *oauth2.Token, subject string, claims map[string]any) error {
	info, err := a.oidc.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return fmt.Errorf("%w: claims of a user: %w", ErrUnavailable, err)
	}
	if info.Subject != subject {
		return fmt.Errorf("%w: the claims are of another user", ErrRefused)
	}
	more := map[string]any{}
	if err := info.Claims(&more); err != nil {
		return fmt.Errorf("%w: claims of a user: %w", ErrRefused, err)
	}
	for name, value := range more {
		if _, ok := claims[name]; !ok {
			claims[name] = value
		}
	}
	return nil
}

// Bearer reads an access token of the provider's: whom it speaks for, and until when. ErrRefused, ErrUnavailable.
func (p *Provider) Bearer(ctx context.Context, token string) (auth.Identity, hazard.Instant, error) {
	if len(token) > maxToken || strings.Count(token, ".") != 2 {
		return auth.Identity{}, 0, fmt.Errorf("%w: it is not a JWT, or longer than %d bytes", ErrRefused, maxToken)
	}
	now := p.now()
	sum := sha256.Sum256([]byte(token))
	if v, ok := p.seen.Get(sum); ok {
		if now >= v.expires {
			return auth.Identity{}, 0, fmt.Errorf("%w: expired", ErrRefused)
		}
		return v.id, v.expires, nil
	}
	if !p.claimsToBe(token) { // before anything is asked of the provider
		return auth.Identity{}, 0, fmt.Errorf("%w: another issuer", ErrRefused)
	}
	a, err := p.discover(ctx)
	if err != nil {
		return auth.Identity{}, 0, err
	}
	t, claims, err := p.verify(p.context(ctx), a, token, p.cfg.Audiences)
	if err != nil {
		return auth.Identity{}, 0, err
	}
	if _, logout := claims["events"]; logout {
		return auth.Identity{}, 0, fmt.Errorf("%w: a notice is not a token", ErrRefused)
	}
	if nonce, _ := claims["nonce"].(string); nonce != "" {
		return auth.Identity{}, 0, fmt.Errorf("%w: an ID token is not an access token", ErrRefused)
	}
	id, stated := p.identity(t, claims)
	id.Unstated = !stated
	v := &verified{id, hazard.At(t.Expiry)}
	p.seen.Put(sum, v, len(token)) // at least as much as is kept of it
	return v.id, v.expires, nil
}

// claimsToBe reports whether a token says that it is of this provider.
func (p *Provider) claimsToBe(token string) bool {
	_, rest, _ := strings.Cut(token, ".")
	body, _, _ := strings.Cut(rest, ".")
	text, err := base64.RawURLEncoding.DecodeString(body)
	var said struct {
		Issuer string `json:"iss"`
	}
	return err == nil && json.Unmarshal(text, &said) == nil && said.Issuer == p.cfg.Issuer
}

// verify reads a token of the provider's: signature, algorithm, issuer, audience and times.
func (p *Provider) verify(ctx context.Context, a *about, raw string, audiences []string) (*oidc.IDToken, map[string]any, error) {
	if raw == "" || len(raw) > maxToken {
		return nil, nil, fmt.Errorf("%w: a token is missing or has more than %d bytes", ErrRefused, maxToken)
	}
	if typ := tokenType(raw); !slices.Contains([]string{"", "jwt", "at+jwt", "application/at+jwt", "logout+jwt"}, typ) {
		return nil, nil, fmt.Errorf("%w: a token of the type %.40q", ErrRefused, typ)
	}
	keys := &noted{keySet: a.keys}
	t, err := p.verifier(keys).Verify(ctx, raw)
	if err != nil {
		if errors.Is(keys.err, ErrUnavailable) || errors.Is(keys.err, ErrBusy) {
			return nil, nil, keys.err
		}
		return nil, nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	now := p.now().Time()
	switch {
	case !slices.ContainsFunc(t.Audience, func(aud string) bool { return slices.Contains(audiences, aud) }):
		return nil, nil, fmt.Errorf("%w: another audience", ErrRefused)
	case t.IssuedAt.Unix() <= 0 || t.IssuedAt.After(now.Add(clockSkew)):
		return nil, nil, fmt.Errorf("%w: it was issued in the future, or at no time", ErrRefused)
	}
	claims := map[string]any{}
	if err := t.Claims(&claims); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return t, claims, nil
}

// noted keeps the error of the keys, which the library hands on as text.
type noted struct {
	*keySet
	err error
}

func (n *noted) VerifySignature(ctx context.Context, token string) (payload []byte, err error) {
	payload, n.err = n.keySet.VerifySignature(ctx, token)
	return payload, n.err
}

// tokenType returns the typ of a token's header, in lower case; of one that cannot be read "?".
func tokenType(raw string) string {
	head, _, _ := strings.Cut(raw, ".")
	text, err := base64.RawURLEncoding.DecodeString(head)
	var h struct {
		Typ string `json:"typ"`
	}
	if err != nil || json.Unmarshal(text, &h) != nil {
		return "?"
	}
	return strings.ToLower(h.Typ)
}

// identity is whom verified claims describe, and whether they say anything of groups.
func (p *Provider) identity(t *oidc.IDToken, claims map[string]any) (auth.Identity, bool) {
	id := auth.Identity{Issuer: p.cfg.Issuer, Subject: t.Subject, Issued: hazard.At(t.IssuedAt)}
	id.Session, _ = claims["sid"].(string)
	if name, ok := find(claims, p.cfg.NameClaim); ok {
		id.Name, _ = name.(string)
	}
	value, stated := find(claims, p.cfg.GroupsClaim)
	id.Role, id.Orgs = p.cfg.Groups.rights(texts(value))
	return id, stated
}

// find returns the claim of that name, or, where its dots lead into objects, what is there.
func find(claims map[string]any, name string) (any, bool) {
	if value, ok := claims[name]; ok {
		return value, true
	}
	first, rest, more := strings.Cut(name, ".")
	if !more {
		return nil, false
	}
	inner, ok := claims[first].(map[string]any)
	if !ok {
		return nil, false
	}
	return find(inner, rest)
}

// texts returns the texts of a claim that is one or a list of them.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var list []string
		for _, one := range v {
			if text, ok := one.(string); ok {
				list = append(list, text)
			}
		}
		return list
	}
	return nil
}

// Logout is a provider's notice that logins have ended.
type Logout struct {
	Subject, Session string // one of them may be empty
	Issued           hazard.Instant
	ID               uuid.UUID      // names the notice, so that it can be noted that it came
	Until            hazard.Instant // it is refused from then on
}

// logoutEvent is what a logout token says (OpenID Connect Back-Channel Logout 1.0, section 2.4).
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// logoutLife is how old a notice may be.
const logoutLife = 10 * time.Minute

// Notice reads a logout token. ErrRefused, ErrUnavailable.
func (p *Provider) Notice(ctx context.Context, raw string) (Logout, error) {
	if len(raw) > maxToken || !p.claimsToBe(raw) {
		return Logout{}, fmt.Errorf("%w: no notice of this provider", ErrRefused)
	}
	a, err := p.discover(ctx)
	if err != nil {
		return Logout{}, err
	}
	t, claims, err := p.verify(p.context(ctx), a, raw, []string{p.cfg.ClientID})
	if err != nil {
		return Logout{}, err
	}
	events, _ := claims["events"].(map[string]any)
	_, isLogout := events[logoutEvent].(map[string]any)
	_, nonce := claims["nonce"]
	jti, _ := claims["jti"].(string)
	session, _ := claims["sid"].(string)
	issued := hazard.At(t.IssuedAt)
	if !isLogout || nonce || jti == "" || t.Subject == "" && session == "" || issued.Add(logoutLife) < p.now() {
		return Logout{}, fmt.Errorf("%w: no notice of a logout, or one that is too old", ErrRefused)
	}
	return Logout{Subject: t.Subject, Session: session, Issued: issued, ID: Secret("logout\x00" + p.cfg.Issuer + "\x00" + jti).ID(),
		Until: issued.Add(logoutLife + clockSkew)}, nil
}
