package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/wire"
)

// The times of tokens.
const (
	// maxMargin is how long before its expiry a token is renewed; for a short life, a quarter of
	// it.
	maxMargin = time.Minute
	// settled is the minimum age of a refused token for a new login: a younger token would only be
	// replaced by a similar one. For a short life it is a quarter of it.
	settled = 10 * time.Second
	// rounding is how much earlier than stated a token may expire, because its dates are whole
	// seconds.
	rounding = time.Second
	// again is the delay after a failed renewal while the old token is still valid.
	again = 5 * time.Second
)

// session holds the tokens of a client. The one goroutine that holds turn gets new ones; the others wait for it, or go on with a token
// that still is good.
type session struct {
	client             *Client
	username, password string
	code               func() (string, error)
	turn               chan struct{} // capacity 1

	mu        sync.Mutex // guards the fields below
	access    string
	expires   time.Time // zero if unknown
	renewAt   time.Time // zero means not before a refusal
	settledAt time.Time // a refusal before that is no reason to log in
	refresh   string
	noRefresh bool // the server does not know the path
	failures  int  // logins that failed
	failure   error
	notBefore time.Time // the server wants no login until then
}

// age is the state of a token.
type age int

const (
	gone   age = iota // none, or expired
	ageing            // still valid, but due for renewal
	fresh
)

func (s *session) look() (token string, a age) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch {
	case s.access == "" || !s.expires.IsZero() && !now.Before(s.expires):
		return s.access, gone
	case !s.renewAt.IsZero() && !now.Before(s.renewAt):
		return s.access, ageing
	}
	return s.access, fresh
}

// adopt takes an existing token. It does not compute the expiry, because this machine's clock may
// be wrong; the server will refuse the token instead.
func (s *session) adopt(token string) {
	s.access = token
	if issued, expires, ok := lifeOf(token); ok && expires.After(time.Now()) {
		s.renewAt = expires.Add(-margin(expires.Sub(issued)))
	}
}

func margin(life time.Duration) time.Duration { return min(maxMargin, life/4) }

// token returns a token for a request.
func (s *session) token(ctx context.Context) (string, error) {
	token, a := s.look()
	switch {
	case a == fresh:
		return token, nil
	case a == gone:
		return s.obtain(ctx, token, false)
	case !s.canRenew():
		return token, nil
	}
	select {
	case s.turn <- struct{}{}:
	default:
		return token, nil // somebody is at it
	}
	if token, a := s.look(); a == fresh {
		<-s.turn
		return token, nil
	}
	renewed, err := s.renew(ctx, false)
	if err == nil {
		return renewed, nil
	}
	if ctx.Err() != nil {
		return token, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renewAt = time.Now().Add(again)
	return token, nil
}

func (s *session) canRenew() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.username != "" || s.refresh != ""
}

// refused returns another token after the server has refused one; "" if none is available.
func (s *session) refused(ctx context.Context, token string) (string, error) {
	s.mu.Lock()
	young := s.access == token && time.Now().Before(s.settledAt)
	s.mu.Unlock()
	if young || !s.canRenew() {
		return "", nil
	}
	return s.obtain(ctx, token, true)
}

// obtain is another token than bad. Of several calls that wait for it at the same time one asks the server, and all use the answer.
func (s *session) obtain(ctx context.Context, bad string, login bool) (string, error) {
	s.mu.Lock()
	failures := s.failures
	s.mu.Unlock()
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if token, a := s.look(); a != gone && token != bad {
		<-s.turn
		return token, nil
	}
	s.mu.Lock()
	failed, err := s.failures != failures, s.failure
	s.mu.Unlock()
	if failed {
		<-s.turn
		return "", err
	}
	return s.renew(ctx, login)
}

// renew gets new tokens. The caller holds turn, and renew releases it. A refresh token can be used
// only once. So the request continues after its caller is canceled, within the client's timeout,
// and the next call gets the new tokens.
func (s *session) renew(ctx context.Context, login bool) (string, error) {
	type answer struct {
		token string
		err   error
	}
	renewed := make(chan answer, 1)
	go func() {
		defer func() { <-s.turn }()
		token, err := s.renewNow(context.WithoutCancel(ctx), login)
		renewed <- answer{token, err}
	}()
	select {
	case a := <-renewed:
		return a.token, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// renewNow gets new tokens: by the refresh token, else by a login. With login it logs in first if it can, since the tokens are not trusted.
func (s *session) renewNow(ctx context.Context, login bool) (string, error) {
	s.mu.Lock()
	wait, failure := time.Until(s.notBefore), s.failure
	s.mu.Unlock()
	if wait > 0 && failure != nil {
		return "", failure
	}
	token, err := s.ask(ctx, login)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.failure = nil
		return token, nil
	}
	s.failures++
	s.failure = err
	if p, ok := errors.AsType[*Problem](err); ok && p.RetryAfter > 0 {
		s.notBefore = time.Now().Add(p.RetryAfter)
	}
	return "", err
}

// ask asks the server for new tokens.
func (s *session) ask(ctx context.Context, again bool) (string, error) {
	s.mu.Lock()
	refresh, known := s.refresh, !s.noRefresh
	s.mu.Unlock()
	if refresh != "" && known && !(again && s.username != "") {
		token, err := s.byRefresh(ctx, refresh)
		if err == nil || s.username == "" {
			return token, err
		}
		if p, ok := errors.AsType[*Problem](err); !ok || p.Status >= http.StatusInternalServerError || p.Status == http.StatusTooManyRequests {
			return "", err // it is not the token's fault, and a login would fare no better
		}
	}
	if s.username == "" {
		return "", fmt.Errorf("%w: there is neither a token nor a name and password", ErrUnauthorized)
	}
	login := struct {
		wire.Credential
		Code string `json:"otp,omitempty"`
	}{Credential: wire.Credential{Username: s.username, Password: s.password}}
	token, err := s.post(ctx, "/authorize", login)
	if p, ok := errors.AsType[*Problem](err); !ok || !p.needsCode || s.code == nil {
		return token, err
	}
	if login.Code, err = s.code(); err != nil {
		return "", err
	}
	token, err = s.post(ctx, "/authorize", login)
	if p, ok := errors.AsType[*Problem](err); ok && p.needsCode {
		refused := *p
		refused.Detail = "the code of the second factor is wrong, or was used before: wait for the next one"
		err = fmt.Errorf("POST /authorize: %w", &refused)
	}
	return token, err
}

// byRefresh uses the refresh token. If the answer is lost, it retries: the server returns the same
// pair for some seconds.
func (s *session) byRefresh(ctx context.Context, refresh string) (string, error) {
	body := struct {
		RefreshToken string `json:"refreshToken"`
	}{refresh}
	token, err := s.post(ctx, "/authorize/refresh", body)
	problem, answered := errors.AsType[*Problem](err)
	if err != nil && !answered {
		token, err = s.post(ctx, "/authorize/refresh", body)
		problem, _ = errors.AsType[*Problem](err)
	}
	if problem == nil {
		return token, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch problem.Status {
	case http.StatusUnauthorized:
		s.refresh = ""
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		s.noRefresh = true // the base interface has no such path
	}
	return token, err
}

// post requests a pair of tokens, and stores it.
func (s *session) post(ctx context.Context, path string, body any) (string, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return "", &InputError{"name, password or token is not valid text"}
	}
	r := newRequest(http.MethodPost, path, nil)
	r.open, r.body = true, content(text)
	r.header.Set("Content-Type", "application/json")
	began := time.Now()
	resp, err := s.client.do(ctx, r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var pair wire.TokenPair
	if err := decodeOne(resp, &pair); err != nil {
		return "", fmt.Errorf("%s: %w", r, err)
	}
	if !sendable(pair.AccessToken) {
		return "", fmt.Errorf("%s: %w", r, &AnswerError{Reason: "accessToken is missing or not a token"})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.access, s.expires, s.renewAt, s.settledAt = pair.AccessToken, time.Time{}, time.Time{}, began.Add(settled)
	if pair.RefreshToken != "" {
		s.refresh = pair.RefreshToken
	}
	// Count the life from now, so that a difference of the clocks does not matter.
	if issued, expires, ok := lifeOf(pair.AccessToken); ok {
		life := expires.Sub(issued)
		s.expires = began.Add(life - min(rounding, life/4))
		s.renewAt = s.expires.Add(-margin(life))
		s.settledAt = began.Add(min(settled, life/4))
	}
	return s.access, nil
}

// sendable reports whether a token can be put into a header.
func sendable(token string) bool {
	return token != "" && strings.IndexFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// lifeOf returns the validity of a JSON Web Token (RFC 7519 section 4.1) without verifying it,
// which the server does. A token without a time of issue counts from now.
func lifeOf(token string) (issued, expires time.Time, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return
	}
	var claims struct {
		Iat *float64 `json:"iat"`
		Exp *float64 `json:"exp"`
	}
	const last = 253402300799 // the year 9999
	if json.Unmarshal(text, &claims, lenient) != nil || claims.Exp == nil || !(*claims.Exp > 0 && *claims.Exp <= last) {
		return
	}
	issued, expires = time.Now(), time.Unix(int64(*claims.Exp), 0)
	if claims.Iat != nil && *claims.Iat > 0 && *claims.Iat <= last {
		issued = time.Unix(int64(*claims.Iat), 0)
	}
	return issued, expires, expires.After(issued)
}

// Logout revokes the refresh token and all tokens of the same login, and forgets them. On servers
// without that operation it only forgets them. The next call that needs a token logs in.
func (c *Client) Logout(ctx context.Context) error {
	s := &c.session
	s.mu.Lock()
	refresh, known := s.refresh, !s.noRefresh
	s.access, s.refresh, s.expires, s.renewAt = "", "", time.Time{}, time.Time{}
	s.mu.Unlock()
	if refresh == "" || !known {
		return nil
	}
	text, err := json.Marshal(map[string]string{"refreshToken": refresh})
	if err != nil {
		return &InputError{"the refresh token is not valid text"}
	}
	r := newRequest(http.MethodPost, "/authorize/revoke", nil)
	r.open, r.body = true, content(text)
	r.header.Set("Content-Type", "application/json")
	resp, err := c.do(ctx, r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// content returns a body from memory.
func content(text []byte) func() (io.Reader, int64, error) {
	return func() (io.Reader, int64, error) { return bytes.NewReader(text), int64(len(text)), nil }
}
