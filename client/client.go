package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// These are the defaults of Options.
const (
	// DefaultTimeout is far longer than any normal answer takes, but short enough for a waiting
	// user.
	DefaultTimeout = time.Minute
	// DefaultMaxBody is the size of about 100,000 hazards, in bytes.
	DefaultMaxBody = 256 << 20
	// DefaultUserAgent is the User-Agent of the client.
	DefaultUserAgent = "hazardd-client"
)

// Options configure a Client. Give it a username and password, or a token.
type Options struct {
	// Username and Password are used to log in when a token is needed.
	Username, Password string
	// Code returns a code of the account's second factor; it is called when the server asks for one.
	// nil means that such a login fails.
	Code func() (string, error)
	// Token is an existing access token, used until the server refuses it. RefreshToken, with or
	// without Token, is used to get new ones.
	Token, RefreshToken string
	// HTTPClient sends the requests; nil means a new one. Its CheckRedirect is ignored.
	HTTPClient *http.Client
	// UserAgent identifies the program; empty means DefaultUserAgent.
	UserAgent string
	// Timeout limits a request and its answer; for files, the time without progress. 0 means
	// DefaultTimeout.
	Timeout time.Duration
	// Patience is how long a read may wait in total while the server limits requests
	// (Problem.RetryAfter). 0 means that it does not wait.
	Patience time.Duration
	// MaxBody limits an answer after decompression, in bytes, except for files. 0 means
	// DefaultMaxBody.
	MaxBody int64
}

const redacted = "redacted"

// Format writes the options without their secrets, for every verb.
func (o Options) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "{Username:%q UserAgent:%q Timeout:%s MaxBody:%d, secrets %s}", o.Username, o.UserAgent, o.Timeout, o.MaxBody, redacted)
}

// LogValue returns the options without their secrets.
func (o Options) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(o)) }

// MarshalJSON returns a placeholder, because options hold secrets.
func (o Options) MarshalJSON() ([]byte, error) { return strconv.AppendQuote(nil, redacted), nil }

// Client talks to one server. Create it with New.
type Client struct {
	base    *url.URL // without a slash at its end
	http    *http.Client
	agent   string
	timeout time.Duration
	// waits is how long a read waits in total when the server limits requests.
	waits   time.Duration
	maxBody int64
	// pageSize is how many changes are requested at once.
	pageSize int
	session  session
}

// New returns a client of the server at baseURL, an absolute http or https URL. It sends no
// request.
func New(baseURL string, o Options) (*Client, error) {
	base, err := url.Parse(baseURL)
	switch {
	case err != nil:
		return nil, errors.New("base URL: cannot be read") // the error of url.Parse contains the URL, which may hold a password
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return nil, fmt.Errorf("base URL: scheme %q, host %q; expected an absolute address beginning with http:// or https://", base.Scheme, base.Host)
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("base URL: holds a user, a query or a fragment; expected scheme, host and path")
	case o.Timeout < 0 || o.MaxBody < 0 || o.Patience < 0:
		return nil, fmt.Errorf("timeout %s, body limit %d, patience %s: expected none below zero", o.Timeout, o.MaxBody, o.Patience)
	case (o.Username == "") != (o.Password == ""):
		return nil, errors.New("username and password go together")
	}
	base.Path = strings.TrimRight(base.Path, "/")
	base.RawPath = strings.TrimRight(base.RawPath, "/")
	c := &Client{base: base, agent: o.UserAgent, timeout: o.Timeout, waits: o.Patience, maxBody: o.MaxBody, pageSize: defaultPage}
	if c.agent == "" {
		c.agent = DefaultUserAgent
	}
	if c.timeout == 0 {
		c.timeout = DefaultTimeout
	}
	if c.maxBody == 0 {
		c.maxBody = DefaultMaxBody
	}
	c.http = &http.Client{}
	if o.HTTPClient != nil {
		*c.http = *o.HTTPClient
	}
	c.http.CheckRedirect = c.redirect
	c.session = session{client: c, username: o.Username, password: o.Password, code: o.Code, refresh: o.RefreshToken, turn: make(chan struct{}, 1)}
	c.session.adopt(o.Token)
	return c, nil
}

// Editor is a Client that also writes hazards and products, and decides about drafts and joins: what
// a user with the role editor may do. Two methods need the role admin, and say so.
type Editor struct{ *Client }

// Admin manages accounts and organizations, reads the audit trail, and polls sources: what a user
// with the role admin may do.
type Admin struct{ c *Client }

// Webhooks manages webhooks: the user's own, or all of them for an admin.
type Webhooks struct{ c *Client }

// Editor returns the methods for editors.
func (c *Client) Editor() Editor { return Editor{c} }

// Admin returns the methods for admins.
func (c *Client) Admin() Admin { return Admin{c} }

// Webhooks returns the methods for webhooks.
func (c *Client) Webhooks() Webhooks { return Webhooks{c} }

// String returns the server's address.
func (c *Client) String() string { return c.base.String() }

// Format writes the server's address, for every verb, because a Client holds secrets.
func (c *Client) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.String()) }

// LogValue returns the server's address.
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON encodes the server's address.
func (c *Client) MarshalJSON() ([]byte, error) { return strconv.AppendQuote(nil, c.String()), nil }

// ID formats a numeric id for calls, as in client.ID(h.HazardID).
func ID(number int64) string { return strconv.FormatInt(number, 10) }

// Digits formats a time as in the base interface: milliseconds since 1970, as a string of digits.
func Digits(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// Time parses a time of the base interface: milliseconds since 1970, as a string of digits.
func Time(digits string) (time.Time, error) {
	ms, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a string of digits, milliseconds since 1970", digits)
	}
	return time.UnixMilli(ms).UTC(), nil
}

// maxRedirects bounds the redirects of a read; a server that cleans up paths needs one.
const maxRedirects = 5

// redirect follows a read to another path of the same server, and nothing else, because the token
// would be sent along.
func (c *Client) redirect(next *http.Request, via []*http.Request) error {
	method := via[0].Method
	if method != http.MethodGet && method != http.MethodHead || len(via) > maxRedirects || next.URL.Scheme != c.base.Scheme || next.URL.Host != c.base.Host {
		return http.ErrUseLastResponse // the redirect itself becomes the answer, with an error status
	}
	return nil
}

// CallOption changes one call.
type CallOption func(*request)

// Header returns the header fields that options add to a request. It helps to write fake clients
// for tests.
func Header(opts ...CallOption) http.Header { return newRequest(http.MethodGet, "", opts).header }

// IfNoneMatch makes a read return ErrNotModified if its answer still has the ETag of an earlier
// State. An empty etag has no effect.
func IfNoneMatch(etag string) CallOption {
	return func(r *request) {
		if etag != "" {
			r.header.Set("If-None-Match", etag)
		}
	}
}

// IfMatch makes a write return ErrStale if the record no longer has the ETag of an earlier State.
// An empty etag has no effect.
func IfMatch(etag string) CallOption {
	return func(r *request) {
		if etag != "" {
			r.header.Set("If-Match", etag)
		}
	}
}

// request is one request to the server.
type request struct {
	method string
	path   string // escaped, below the base URL
	query  url.Values
	header http.Header
	body   func() (content io.Reader, size int64, err error) // nil without a body; each call starts it from the beginning; size is -1 if unknown
	// stream says that the body or the answer is a file, without a timeout while there is progress.
	// unbounded removes the limit of the answer's size.
	stream, unbounded bool
	// patience, if not 0, takes the place of the client's time limit.
	patience time.Duration
	// open: no token is sent.
	open bool
}

func (r *request) String() string { return r.method + " " + r.path }

func newRequest(method, path string, opts []CallOption) *request {
	r := &request{method: method, path: path, header: http.Header{}}
	for _, o := range opts {
		o(r)
	}
	return r
}

// set sets a parameter of the query.
func (r *request) set(name, value string) {
	if r.query == nil {
		r.query = url.Values{}
	}
	r.query.Set(name, value)
}

// pathOf joins the parts of a path below the base URL. It refuses empty parts and "..", which would
// change the path.
func pathOf(parts ...string) (string, error) {
	var path strings.Builder
	for _, p := range parts {
		if p == "" || p == "." || p == ".." {
			return "", &InputError{fmt.Sprintf("%q names nothing; expected a uuid, a number or an identifier", p)}
		}
		path.WriteByte('/')
		path.WriteString(url.PathEscape(p))
	}
	return path.String(), nil
}

// do sends a request and returns a successful answer. The caller must close the body, which
// enforces the limits of size and time.
func (c *Client) do(ctx context.Context, r *request) (*http.Response, error) {
	until := time.Now().Add(c.waits)
	for {
		resp, err := c.try(ctx, r)
		if err == nil {
			return resp, nil
		}
		p, ok := errors.AsType[*Problem](err)
		if !ok || r.method != http.MethodGet || p.RetryAfter == 0 || !p.Is(ErrLimited) && !p.Is(ErrUnavailable) || time.Now().Add(p.RetryAfter).After(until) {
			return nil, fmt.Errorf("%s: %w", r, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", r, context.Cause(ctx))
		case <-time.After(p.RetryAfter):
		}
	}
}

// try is do with a second try when the token is refused and another can be had.
func (c *Client) try(ctx context.Context, r *request) (*http.Response, error) {
	if r.open {
		return c.send(ctx, r, "")
	}
	token, err := c.session.token(ctx)
	if err != nil {
		return nil, err
	}
	resp, err := c.send(ctx, r, token)
	problem, ok := errors.AsType[*Problem](err)
	if !ok || !problem.refusedToken() {
		return resp, err
	}
	token, renewErr := c.session.refused(ctx, token)
	if renewErr != nil {
		return nil, renewErr
	}
	if token == "" {
		return nil, err
	}
	return c.send(ctx, r, token)
}

// send makes a request with a token.
func (c *Client) send(ctx context.Context, r *request, token string) (_ *http.Response, err error) {
	ctx, w := watched(ctx, cmp.Or(r.patience, c.timeout), r.stream)
	defer func() {
		if err != nil {
			w.end()
		}
	}()
	address := *c.base
	address.RawPath = c.base.EscapedPath() + r.path
	if address.Path, err = url.PathUnescape(address.RawPath); err != nil {
		return nil, &InputError{fmt.Sprintf("path %q cannot be read", r.path)}
	}
	address.RawQuery = r.query.Encode()
	req, err := http.NewRequestWithContext(ctx, r.method, address.String(), nil)
	if err != nil {
		return nil, &InputError{fmt.Sprintf("method %q or path %q cannot be used", r.method, r.path)}
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", c.agent)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if r.body != nil {
		content, size, err := r.body()
		if err != nil {
			return nil, err
		}
		body := &upload{content: content, watch: w}
		defer func() {
			if err != nil {
				_ = body.Close() // a later call may reuse the content, so nobody may still be reading it
			}
		}()
		req.Body, req.ContentLength = body, size
		if size == 0 {
			req.Body = http.NoBody
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if at, ok := errors.AsType[*url.Error](err); ok {
			err = at.Err // our caller says which request it was
		}
		return nil, w.explain(err)
	}
	limit := c.maxBody
	if r.unbounded && resp.StatusCode < http.StatusMultipleChoices {
		limit = -1
	}
	resp.Body = &download{body: resp.Body, watch: w, left: limit, limit: limit}
	if resp.StatusCode == http.StatusAccepted && r.method != http.MethodGet && strings.Contains(resp.Header.Get("Location"), "/drafts/") {
		return nil, drafted(resp)
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified {
		return nil, ErrNotModified
	}
	return nil, c.problem(resp)
}
