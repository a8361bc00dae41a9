package read

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/serve/mcp"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// mcp serves one message of the Model Context Protocol (streamable HTTP, without sessions). Its
// tools send requests of this API with the caller's own credentials; see mcpAsk.
func (a *Assistant) mcp(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	if err := a.knownOrigin(r); err != nil {
		return err
	}
	body, err := route.ReadBody(w, r, mcp.MaxMessage)
	if err != nil {
		return err
	}
	if text := bytes.TrimLeft(body, " \t\r\n"); len(text) > 0 && text[0] == '[' {
		return &route.Problem{Status: http.StatusBadRequest, Detail: "expected one message; batches are no longer part of the protocol"}
	}
	server := mcp.NewServer(a.mcpAsk(r), a.Version)
	serve := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true, Logger: a.Logger,
		DisableLocalhostProtection: true, // it mistakes a proxy on this machine for an attack; knownOrigin checks instead
	})
	one := r.WithContext(r.Context())
	one.Body, one.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	one.Header = r.Header.Clone()
	one.Header.Set("Accept", "application/json, text/event-stream") // the SDK requires both, and always answers with the first
	out := &recorded{header: http.Header{}}
	serve.ServeHTTP(out, one)
	if out.status >= http.StatusBadRequest && !strings.HasPrefix(out.header.Get("Content-Type"), "application/json") {
		return &route.Problem{Status: out.status, Detail: strings.TrimSpace(out.body.String())}
	}
	h := w.Header()
	for _, name := range []string{"Content-Type", "Mcp-Protocol-Version"} {
		if v := out.header[name]; v != nil {
			h[name] = v
		}
	}
	h["Cache-Control"] = route.NoStore
	if out.status != 0 {
		w.WriteHeader(out.status)
	}
	_, _ = w.Write(out.body.Bytes()) // fails only if the client has gone
	return nil
}

// knownOrigin refuses requests from web pages of other sites that are not allowed. It also refuses
// a page whose host name was pointed at this machine (DNS rebinding), which a browser takes for the
// same site.
func (a *Assistant) knownOrigin(r *http.Request) error {
	origins := r.Header["Origin"]
	if len(origins) == 0 { // not a browser
		return nil
	}
	own, err := url.Parse(a.BaseURL)
	if err == nil && len(origins) == 1 {
		if strings.EqualFold(origins[0], own.Scheme+"://"+own.Host) {
			return nil
		}
		for _, allowed := range a.AllowedOrigins {
			if allowed == "*" || strings.EqualFold(origins[0], allowed) {
				return nil
			}
		}
	}
	return &route.Problem{Status: http.StatusForbidden, Detail: "this page's origin may not use this path; the operator allows it with --allowed-origins"}
}

// mcpAsk returns the function that sends the tools' requests to the routes of this API, as the
// sender of r. The tools can read only what r could read.
func (a *Assistant) mcpAsk(r *http.Request) mcp.Ask {
	return func(ctx context.Context, path string, query url.Values) (*mcp.Answer, error) {
		// r's context holds its connection and its read key.
		ctx, cancel := context.WithCancel(bothContexts{Context: ctx, values: r.Context()})
		defer cancel()
		address := &url.URL{Path: path, RawQuery: query.Encode()}
		ask := (&http.Request{Method: http.MethodGet, URL: address, RequestURI: address.RequestURI(), Host: r.Host, RemoteAddr: r.RemoteAddr, TLS: r.TLS,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody, Header: http.Header{"Accept": {"application/json"}}}).WithContext(ctx)
		for _, name := range []string{"Authorization", "Accept-Language", "X-Forwarded-For", "User-Agent"} {
			if v := r.Header[name]; v != nil {
				ask.Header[name] = v
			}
		}
		out := &recorded{header: http.Header{}, most: mostAsked}
		a.ServeHTTP(out, ask)
		switch {
		case out.cut:
			return nil, errors.New("the answer is too large for a tool; narrow the search, or read it over HTTP")
		case out.status >= http.StatusMultipleChoices:
			return nil, askError(out)
		}
		return &mcp.Answer{Status: out.status, Header: out.header, Body: out.body.Bytes()}, nil
	}
}

// mostAsked bounds the answer that a tool reads before it shortens it, in bytes: one page.
const mostAsked = 2 * route.PageBytes

// askError converts the refusal of a request to an error.
func askError(out *recorded) error {
	var p struct {
		Title  string `json:"title"`
		Detail string `json:"detail"`
	}
	if json.Unmarshal(out.body.Bytes(), &p) != nil {
		p.Title = strings.TrimSpace(out.body.String())
	}
	text := fmt.Sprintf("%d %s", out.status, p.Title)
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	if again := out.header.Get("Retry-After"); again != "" {
		text += " (ask again in " + again + " s)"
	}
	return errors.New(text)
}

// bothContexts is canceled with one context and has the values of another.
type bothContexts struct {
	context.Context
	values context.Context
}

func (b bothContexts) Value(key any) any { return b.values.Value(key) }

// recorded records an answer, up to most bytes of it; 0 means all.
type recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
	most   int
	cut    bool
}

func (r *recorded) Header() http.Header { return r.header }

func (r *recorded) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *recorded) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	if r.most > 0 && r.body.Len()+len(b) > r.most {
		r.cut = true
		return 0, errors.New("the answer is too large")
	}
	return r.body.Write(b)
}
