// Package oidc logs users in with an OpenID provider, and verifies the provider's tokens.
//
// It implements OpenID Connect Core 1.0 (authorization code with PKCE, state and nonce), reads
// access tokens that are JWTs (RFC 9068) and logout tokens (OpenID Connect Back-Channel Logout
// 1.0), and maps groups to roles. Package auth handles accounts and sessions.
//
// A slow, silent or hostile provider can use only limited time (5 s per request), memory (1 MiB per
// document, 64 keys) and requests: at most one request for new keys in 30 s, however many tokens
// have an unknown key. Keys are used for an hour and then read again. While the provider does not
// answer, the last keys stay valid for another day.
//
// All methods are safe for concurrent use. No goroutine outlives a call.
package oidc

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
	"github.com/hazardd/hazardd/internal/geo/lru"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/net/trace"
)

// Config describes the provider, and the rights of its groups.
type Config struct {
	Issuer   string // its address, exactly as in its tokens
	ClientID string
	Secret   auth.Password // the client's secret; empty: a public client, protected by PKCE alone
	Redirect string        // address of this service to which the provider redirects
	// Audiences are the audiences of tokens that the API accepts; by default ClientID.
	Audiences []string
	Groups    Groups
	// GroupsClaim and NameClaim are the claims with the groups and the preferred name; defaults are
	// groups and preferred_username. If no claim has exactly that name, dots lead into objects:
	// realm_access.roles.
	GroupsClaim, NameClaim string
	Scopes                 []string // in addition to openid; default: profile
}

// The limits on the costs of a provider.
const (
	requestTime  = 5 * time.Second
	maxDocument  = 1 << 20 // bytes
	aboutLife    = time.Hour
	aboutRetry   = 10 * time.Second // minimum time between two requests to a provider that did not answer
	maxExchanges = 32               // maximum number of codes exchanged at the same time
	// clockSkew is the maximum difference between the provider's clock and ours.
	clockSkew = 30 * time.Second
	// maxToken is the maximum size of a token in bytes.
	maxToken = 16 << 10
	// seenBytes is the maximum memory for verified tokens, in bytes.
	seenBytes = 4 << 20
	// StateLife is the maximum time for a login at the provider.
	StateLife = 10 * time.Minute
)

// algorithms are the accepted signature algorithms of tokens: no symmetric ones, which could use a
// public key as the secret, and not "none".
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}

// The kinds of failures. The wrapped errors are for the log.
var (
	// ErrUnavailable means that the provider does not answer, or answers incorrectly.
	ErrUnavailable = errors.New("the login provider does not answer")
	// ErrRefused means that the provider's answer does not belong to this login, is forged, was
	// used before, or has expired.
	ErrRefused = errors.New("the answer of the login provider is not accepted")
	// ErrBusy means that too many logins are in progress.
	ErrBusy = errors.New("too many logins at the provider are under way")
)

// Provider is an OpenID provider. Create it with New.
type Provider struct {
	cfg    Config
	client *http.Client
	now    func() hazard.Instant
	seen   *lru.Cache[[sha256.Size]byte, *verified]
	turns  chan struct{} // one per code that is being exchanged

	mu    sync.Mutex // held during discovery
	about *about     // guarded by mu
	tried hazard.Instant
}

// about is the provider's own description.
type about struct {
	oidc  *oidc.Provider
	keys  *keySet
	read  hazard.Instant
	extra struct {
		IssParameter bool `json:"authorization_response_iss_parameter_supported"`
	}
}

// verified is an accepted token of the provider.
type verified struct {
	id      auth.Identity
	expires hazard.Instant
}

// New returns a Provider. It sends no requests yet.
func New(cfg Config, now func() hazard.Instant) (*Provider, error) {
	u, err := url.Parse(cfg.Issuer)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the issuer is not the address of an OpenID provider, such as https://login.example.org/realms/main")
	}
	if u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname())) {
		return nil, fmt.Errorf("the issuer %s must begin with https://; http is allowed only for this machine", cfg.Issuer)
	}
	if cfg.ClientID == "" {
		return nil, errors.New("the id of the client at the OpenID provider is missing")
	}
	if len(cfg.Groups) == 0 {
		return nil, errors.New("no group of the OpenID provider has a role here, so nobody could log in: set the groups, such as duty=editor")
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
			// Do not follow redirects, because answers are trusted by the address that they come
			// from.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Close closes idle connections.
func (p *Provider) Close() {
	if p != nil {
		p.client.CloseIdleConnections()
	}
}

// bounded limits the size of answers, and names the provider's request in errors.
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

// discover reads the provider's description once an hour. The last one stays valid while the
// provider does not answer.
func (p *Provider) discover(ctx context.Context) (*about, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.about != nil && (now < p.about.read.Add(aboutLife) || now < p.tried.Add(aboutRetry)) {
		return p.about, nil
	}
	if p.tried != 0 && now >= p.tried && now < p.tried.Add(aboutRetry) {
		return nil, fmt.Errorf("%w: the last attempt was a moment ago", ErrUnavailable)
	}
	p.tried = now
	// Do not use the caller's context: others wait for this request, and the caller may give up.
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
	provider, err := oidc.NewProvider(p.context(ctx), p.cfg.Issuer) // rejects another issuer
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

// Issuer returns the provider's address, as in its tokens.
func (p *Provider) Issuer() string { return p.cfg.Issuer }

func (p *Provider) verifier(keys oidc.KeySet) *oidc.IDTokenVerifier {
	return oidc.NewVerifier(p.cfg.Issuer, keys, &oidc.Config{SupportedSigningAlgs: algorithms, SkipClientIDCheck: true,
		Now: func() time.Time { return p.now().Time().Add(-clockSkew) }}) // only exp is compared with this time; nbf has its own tolerance
}

func (p *Provider) oauth(a *about) *oauth2.Config {
	return &oauth2.Config{ClientID: p.cfg.ClientID, ClientSecret: string(p.cfg.Secret), Endpoint: a.oidc.Endpoint(), RedirectURL: p.cfg.Redirect,
		Scopes: append([]string{oidc.ScopeOpenID}, p.cfg.Scopes...)}
}

// Secret is stored in a browser while its user logs in at the provider. State, nonce and the PKCE
// verifier are derived from it.
type Secret string

// ID identifies the login, so that its use can be recorded.
func (s Secret) ID() uuid.UUID {
	sum := sha256.Sum256([]byte("id\x00" + s))
	id := uuid.UUID(sum[:16])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // version 8: custom
	return id
}

// begun returns when the login began. State, nonce and verifier depend on it.
func (s Secret) begun() (hazard.Instant, bool) {
	_, text, _ := strings.Cut(string(s), ".")
	second, err := strconv.ParseInt(text, 36, 40)
	return hazard.Instant(second * 1000), err == nil
}

func (s Secret) derive(what string) string {
	sum := sha256.Sum256([]byte(what + "\x00" + string(s)))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Begin returns the provider's address to which to redirect a browser, and the secret to store in
// the browser. The error may be ErrUnavailable.
func (p *Provider) Begin(ctx context.Context) (address string, secret Secret, err error) {
	a, err := p.discover(ctx)
	if err != nil {
		return "", "", err
	}
	// 256 random bits, and the start of the login in seconds.
	secret = Secret(oauth2.GenerateVerifier() + "." + strconv.FormatInt(int64(p.now())/1000, 36))
	return p.oauth(a).AuthCodeURL(secret.derive("state"), oidc.Nonce(secret.derive("nonce")), oauth2.S256ChallengeOption(secret.derive("verifier"))), secret, nil
}

// Finish takes the parameters of the provider's redirect, and the secret from the browser. The
// caller ensures that a secret is used once. The error may be ErrRefused, ErrUnavailable or
// ErrBusy.
func (p *Provider) Finish(ctx context.Context, answer url.Values, secret Secret) (auth.Identity, error) {
	for _, name := range []string{"state", "code", "error", "iss"} {
		if len(answer[name]) > 1 || len(answer.Get(name)) > 4096 {
			return auth.Identity{}, fmt.Errorf("%w: the parameter %s comes twice or is too long", ErrRefused, name)
		}
	}
	if secret == "" || subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(secret.derive("state"))) != 1 {
		return auth.Identity{}, fmt.Errorf("%w: it belongs to another login, or to none", ErrRefused)
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
	// RFC 9207: the answer of another provider must not be accepted as this provider's.
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
			return auth.Identity{}, fmt.Errorf("%w: the provider refused the code: %.100q", ErrRefused, refused.ErrorCode)
		}
		return auth.Identity{}, fmt.Errorf("%w: exchange of a code: %w", ErrUnavailable, err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	t, claims, err := p.verify(ctx, a, raw, []string{p.cfg.ClientID}, forLogin)
	if err != nil {
		return auth.Identity{}, err
	}
	if subtle.ConstantTimeCompare([]byte(t.Nonce), []byte(secret.derive("nonce"))) != 1 {
		return auth.Identity{}, fmt.Errorf("%w: the nonce belongs to another login", ErrRefused)
	}
	// OpenID Connect Core 1.0, section 3.1.3.7: if there are several audiences, azp must name the
	// client.
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
	id.Unstated = false // a login without groups means a user in no groups
	id.Issued = p.now() // the token was made for this login, so it is the latest data from the provider
	return id, nil
}

// askMore requests claims about the person from the provider, and adds those that the token lacks.
func (p *Provider) askMore(ctx context.Context, a *about, tokens *oauth2.Token, subject string, claims map[string]any) error {
	info, err := a.oidc.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return fmt.Errorf("%w: claims of a user: %w", ErrUnavailable, err)
	}
	if info.Subject != subject {
		return fmt.Errorf("%w: the claims belong to another user", ErrRefused)
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

// Bearer verifies an access token of the provider. It returns the token's user and its expiry. The
// error may be ErrRefused or ErrUnavailable.
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
	if !p.claimsToBe(token) { // before any request to the provider
		return auth.Identity{}, 0, fmt.Errorf("%w: another issuer", ErrRefused)
	}
	a, err := p.discover(ctx)
	if err != nil {
		return auth.Identity{}, 0, err
	}
	t, claims, err := p.verify(p.context(ctx), a, token, p.cfg.Audiences, forAPI)
	if err != nil {
		return auth.Identity{}, 0, err
	}
	if _, logout := claims["events"]; logout {
		return auth.Identity{}, 0, fmt.Errorf("%w: a notice is not a token", ErrRefused)
	}
	if !isAccess(tokenType(token), claims) {
		return auth.Identity{}, 0, fmt.Errorf("%w: an ID token is not an access token", ErrRefused)
	}
	id, stated := p.identity(t, claims)
	id.Unstated = !stated
	v := &verified{id, hazard.At(t.Expiry)}
	p.seen.Put(sum, v, len(token)) // the stored value is at most this large
	return v.id, v.expires, nil
}

// claimsToBe reports whether a token claims to be from this provider.
func (p *Provider) claimsToBe(token string) bool {
	_, rest, _ := strings.Cut(token, ".")
	body, _, _ := strings.Cut(rest, ".")
	text, err := base64.RawURLEncoding.DecodeString(body)
	var said struct {
		Issuer string `json:"iss"`
	}
	return err == nil && json.Unmarshal(text, &said) == nil && said.Issuer == p.cfg.Issuer
}

// purpose is what a token is for, as the types of its header that may have it. Many providers still
// give every token the type JWT, or none.
type purpose []string

var (
	forLogin  = purpose{"", "jwt"}                                         // ID tokens (OpenID Connect Core 1.0)
	forAPI    = purpose{"at+jwt", "application/at+jwt", "", "jwt"}         // access tokens (RFC 9068, section 2.1)
	forNotice = purpose{"logout+jwt", "application/logout+jwt", "", "jwt"} // logout tokens (Back-Channel Logout 1.0, section 2.4)
)

// isAccess reports whether a token of a type is an access token by its claims. One whose type does
// not say so must have a claim of access tokens (RFC 9068, section 2.2: client_id, scope; Keycloak:
// typ Bearer; Entra ID: scp, appid), and none of ID tokens.
func isAccess(typ string, claims map[string]any) bool {
	has := func(name string) bool { _, ok := claims[name]; return ok }
	if slices.ContainsFunc([]string{"nonce", "at_hash", "c_hash"}, has) {
		return false
	}
	if typ == "at+jwt" || typ == "application/at+jwt" {
		return true
	}
	if said, ok := claims["typ"].(string); ok {
		return said == "Bearer"
	}
	return slices.ContainsFunc([]string{"client_id", "scope", "scp", "appid"}, has)
}

// verify checks a token of the provider for a purpose: type, signature, algorithm, issuer, audience
// and times.
func (p *Provider) verify(ctx context.Context, a *about, raw string, audiences []string, use purpose) (*oidc.IDToken, map[string]any, error) {
	if raw == "" || len(raw) > maxToken {
		return nil, nil, fmt.Errorf("%w: a token is missing or has more than %d bytes", ErrRefused, maxToken)
	}
	if typ := tokenType(raw); !slices.Contains(use, typ) {
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
		return nil, nil, fmt.Errorf("%w: its time of issue is in the future, or missing", ErrRefused)
	}
	claims := map[string]any{}
	if err := t.Claims(&claims); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return t, claims, nil
}

// noted keeps the error of the keys, because the library passes it on as text only.
type noted struct {
	*keySet
	err error
}

func (n *noted) VerifySignature(ctx context.Context, token string) (payload []byte, err error) {
	payload, n.err = n.keySet.VerifySignature(ctx, token)
	return payload, n.err
}

// tokenType returns the typ of a token's header, in lower case. It returns "?" if the header cannot
// be read.
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

// identity returns the identity that verified claims describe, and whether they contain groups.
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

// find returns the claim with that name. If there is none, the name's dots lead into objects.
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

// texts returns the texts of a claim that is one text or a list of them.
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
	ID               uuid.UUID      // identifies the notice, so that it can be recorded
	Until            hazard.Instant // when the notice expires
}

// logoutEvent is the event of a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.4).
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// logoutLife is the maximum age of a notice.
const logoutLife = 10 * time.Minute

// Notice verifies a logout token. The error may be ErrRefused or ErrUnavailable.
func (p *Provider) Notice(ctx context.Context, raw string) (Logout, error) {
	if len(raw) > maxToken || !p.claimsToBe(raw) {
		return Logout{}, fmt.Errorf("%w: not a notice of this provider", ErrRefused)
	}
	a, err := p.discover(ctx)
	if err != nil {
		return Logout{}, err
	}
	t, claims, err := p.verify(p.context(ctx), a, raw, []string{p.cfg.ClientID}, forNotice)
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
		return Logout{}, fmt.Errorf("%w: not a logout notice, or too old", ErrRefused)
	}
	return Logout{Subject: t.Subject, Session: session, Issued: issued, ID: Secret("logout\x00" + p.cfg.Issuer + "\x00" + jti).ID(),
		Until: issued.Add(logoutLife + clockSkew)}, nil
}
