package poll

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// The limits of one request. Sources answer within seconds.
const (
	connectTimeout = 10 * time.Second
	tlsTimeout     = 10 * time.Second
	headerTimeout  = 30 * time.Second
	wholeTimeout   = 120 * time.Second
	// A server that sends fewer than slowBytes in slowWindow (1 kB/s) is too slow.
	slowWindow = 30 * time.Second
	slowBytes  = 30_000
	// maxHeaderBytes bounds the headers; those of sources have about 1 kB.
	maxHeaderBytes = 64 << 10
	maxRedirects   = 3
	// maxRetryAfter is the longest honored Retry-After: a longer one may be a mistake, and alerts
	// would be missed.
	maxRetryAfter = time.Hour
	// maxValidator bounds a stored ETag or Last-Modified. Usual ones have about 40 bytes.
	maxValidator = 512
	// saidBytes is how much of an error response is read, to show it to an admin.
	saidBytes = 512
)

// client sends requests to sources.
type client struct {
	http  *http.Client
	agent string
	hosts *hosts
}

func newClient(cfg *Config) (*client, error) {
	transport := cfg.Transport
	if transport == nil {
		own, err := NewTransport(cfg)
		if err != nil {
			return nil, err
		}
		transport = own
	}
	return &client{http: &http.Client{Transport: transport, CheckRedirect: checkRedirect}, agent: cfg.UserAgent(), hosts: newHosts()}, nil
}

// UserAgent identifies this program and its operator to the sources.
func (c *Config) UserAgent() string {
	agent := "hazardd/" + cmp.Or(c.Version, "dev")
	if c.Contact != "" {
		agent += " (+" + hazard.CleanLine(c.Contact) + ")"
	}
	return agent
}

// NewTransport returns a separate transport for sources. It ignores proxy settings in the
// environment, connects only to public addresses unless cfg allows others, and does not decompress.
func NewTransport(cfg *Config) (*http.Transport, error) {
	dialer := &net.Dialer{Timeout: connectTimeout}
	t := &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    tlsTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxIdleConnsPerHost:    1,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true, // readBody decompresses, within limits
		ForceAttemptHTTP2:      true,
	}
	switch {
	case cfg.ProxyURL != "":
		// The proxy connects to the sources, so it enforces their addresses; it usually has a
		// private address itself.
		u, err := parseURL(cfg.ProxyURL)
		if err != nil {
			return nil, fmt.Errorf("proxy: %w", err)
		}
		t.Proxy = http.ProxyURL(u)
	case !cfg.AllowPrivate:
		dialer.Control = guard
	}
	return t, nil
}

// checkRedirect follows a few redirects on the same host, never from https to http.
func checkRedirect(req *http.Request, via []*http.Request) error {
	from := via[len(via)-1].URL
	switch to := req.URL; {
	case len(via) > maxRedirects:
		return &redirectError{fmt.Sprintf("more than %d redirects", maxRedirects)}
	case from.Scheme == "https" && to.Scheme != "https":
		return &redirectError{"from https to " + strconv.Quote(to.Scheme)}
	case !sameHost(from, to):
		return &redirectError{"to another host, " + strconv.Quote(to.Host)}
	}
	return nil
}

// sameHost reports whether two addresses have the same host and port; https may replace http.
func sameHost(from, to *url.URL) bool {
	return strings.EqualFold(from.Hostname(), to.Hostname()) && (from.Port() == to.Port() || from.Port() == "" && to.Port() == "443")
}

// question is one GET request.
type question struct {
	url                string
	etag, lastModified string
	maxBytes           int64
	in                 lane
	// feed says that a Retry-After for this request pauses all feeds of the host. Other requests
	// must not pause feeds; they wait on their own.
	feed  bool
	warns bool // of a source that warns: a long Retry-After is tried once before its end
}

// answer is a response, or the part of it that arrived.
type answer struct {
	notModified        bool
	payload            []byte
	cut                *Failure // the connection broke; payload is the part before
	etag, lastModified string
	fresh              time.Duration // how long it may be cached
}

// get sends one request. The error is a *Failure, or errStopped when ctx ends.
func (c *client) get(ctx context.Context, q question) (*answer, error) {
	parent := ctx
	leave, err := c.hosts.enter(ctx, q.url, q.in)
	if err != nil {
		return nil, errStopped
	}
	defer leave()
	if rest := c.hosts.rest(q.url); rest > 0 {
		f := failf(ClassBusy, "not asked: the host wants fewer requests, and is left alone")
		f.RetryAfter = rest
		return nil, f
	}
	ctx, stop := context.WithTimeoutCause(ctx, wholeTimeout, errWhole)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, q.url, nil)
	if err != nil {
		return nil, failf(ClassUnreachable, "not an address")
	}
	req.Header.Set("User-Agent", c.agent)
	req.Header.Set("Accept-Encoding", "gzip")
	if q.etag != "" {
		req.Header.Set("If-None-Match", q.etag)
	}
	if q.lastModified != "" {
		req.Header.Set("If-Modified-Since", q.lastModified)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if parent.Err() != nil {
			return nil, errStopped
		}
		return nil, requestFailure(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body := &wire{r: resp.Body}
	defer body.watch(cancel)()
	a := &answer{etag: validator(resp.Header, "ETag"), lastModified: validator(resp.Header, "Last-Modified"), fresh: fresh(resp.Header, time.Now())}
	switch {
	case resp.StatusCode == http.StatusNotModified && (q.etag != "" || q.lastModified != ""):
		a.notModified = true
		c.hosts.succeeded(q.url)
		return a, nil
	case resp.StatusCode != http.StatusOK:
		f := statusFailure(resp.StatusCode, errorText(body))
		pauses, key := f.Class == ClassBusy && q.feed, q.url
		if pauses {
			key = nameOf(q.url)
		}
		f.RetryAfter = c.hosts.wait(key, retryAfter(resp.Header, time.Now()), q.warns)
		if pauses {
			c.hosts.pause(q.url, cmp.Or(f.RetryAfter, firstRetry))
		}
		return nil, f
	case resp.ContentLength > q.maxBytes:
		return nil, failf(ClassTooLarge, "%d bytes, at most %d are expected", resp.ContentLength, q.maxBytes)
	}
	payload, err := readBody(body, resp.Header.Values("Content-Encoding"), q.maxBytes)
	switch {
	case err == nil:
		a.payload = payload
		c.hosts.succeeded(q.url)
		return a, nil
	case parent.Err() != nil:
		return nil, errStopped
	case body.err == nil: // the content is at fault, not the connection
		return nil, err
	}
	f := failf(ClassIncomplete, "the answer was cut after %d bytes: %v", body.n.Load(), body.err)
	if context.Cause(ctx) != nil {
		f = requestFailure(ctx, body.err)
	}
	a.payload, a.cut = payload, f
	return a, nil
}

// validator returns a header value that can be sent back. It must be short and printable ASCII,
// because the stored state holds nothing else unchanged (RFC 9110 section 8.8.3 allows more).
// Otherwise the next poll reads in full.
func validator(h http.Header, name string) string {
	v := h.Get(name)
	if len(v) > maxValidator || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return v
}

// errorText returns the beginning of an error response on one line, or "" if it is not plain text.
func errorText(body io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(body, saidBytes)) // a partial read is good enough
	line := hazard.CleanLine(string(bytes.ToValidUTF8(text, nil)))
	if strings.HasPrefix(line, "<") || strings.ContainsRune(line, 0) {
		return ""
	}
	return line
}

// retryAfter returns the requested wait: seconds, or a date relative to the server's own clock.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(v, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(0, at.Sub(now)), maxRetryAfter)
}

// fresh returns how long a response may be cached (RFC 9111 section 4.2): until then, another request
// would bring the same. It is 0 if the response does not say.
func fresh(h http.Header, now time.Time) time.Duration {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	life := time.Duration(0)
	if at, err := http.ParseTime(h.Get("Expires")); err == nil {
		life = at.Sub(now)
	}
	for part := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(part)), "=")
		switch name {
		case "no-cache", "no-store":
			return 0
		case "max-age":
			life = seconds(strings.Trim(value, `"`))
		}
	}
	return max(0, life-seconds(h.Get("Age")))
}

// seconds reads a number of seconds from a header; 0 if it is none.
func seconds(v string) time.Duration {
	n, err := strconv.ParseUint(strings.TrimSpace(v), 10, 31)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}

// wire reads the bytes of a response from the connection.
type wire struct {
	r   io.Reader
	n   atomic.Int64
	err error // why the connection ended early, or nil
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.n.Add(int64(n))
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// watch cancels a request whose response is too slow, until stop is called.
func (w *wire) watch(cancel context.CancelCauseFunc) (stop func()) {
	ended := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(slowWindow)
		defer tick.Stop()
		for before := int64(0); ; {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			now := w.n.Load()
			if now-before < slowBytes {
				cancel(errSlow)
				return
			}
			before = now
		}
	}()
	return func() { close(ended); <-done }
}
