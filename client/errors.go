package client

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
)

// The kinds of error that callers tell apart with errors.Is.
var (
	// ErrUnauthorized: the credentials or the token are not accepted, or there are none.
	ErrUnauthorized = errors.New("not logged in")
	// ErrForbidden: the user may not do this.
	ErrForbidden = errors.New("not allowed")
	// ErrNotFound: no such thing, or none that the user may know of.
	ErrNotFound = errors.New("not found")
	// ErrStale: the record has changed since its etag was read (IfMatch).
	ErrStale = errors.New("changed since it was read")
	// ErrConflict: what is asked does not fit the present state.
	ErrConflict = errors.New("conflict")
	// ErrDrafted: the server has not done it yet; it waits for a second person. See DraftedError.
	ErrDrafted = errors.New("waits for a second person")
	// ErrInvalid: the server finds fault with what was sent; Problem.Errors names each fault.
	ErrInvalid = errors.New("invalid")
	// ErrTooLarge: the server does not take that much.
	ErrTooLarge = errors.New("too large")
	// ErrReset: the change log cannot be read on from there; read the lists anew, and go on after their Change.
	ErrReset = errors.New("the log was replaced")
	// ErrLimited: too many requests or failed logins; Problem.RetryAfter tells for how long.
	ErrLimited = errors.New("too many requests")
	// ErrUnavailable: the server, or one in front of it, cannot answer now.
	ErrUnavailable = errors.New("not available")
	// ErrNotModified: the answer would be the one that IfNoneMatch names. It is no failure.
	ErrNotModified = errors.New("not modified")
)

// Problem is an error that the server answered (RFC 9457, as far as the server gives it).
type Problem struct {
	Status   int     `json:"status"`
	Type     string  `json:"type"`
	Title    string  `json:"title"`
	Detail   string  `json:"detail"`
	Instance string  `json:"instance"` // names an internal error in the server's log
	Request  string  `json:"request"`  // the id of the request, which the server's log has too; empty from other servers
	Errors   []Fault `json:"errors"`
	// RetryAfter is how long the server wants to be left alone, 0 if it does not say.
	RetryAfter time.Duration `json:"-"`

	badToken bool
}

// Fault is one thing wrong with what was sent.
type Fault struct {
	Pointer   string `json:"pointer"`   // JSON pointer into the body
	Parameter string `json:"parameter"` // of path or query
	Detail    string `json:"detail"`
}

// Error says the status, and what the server says. Where the server has failed it names the request, for the operator to look up.
func (p *Problem) Error() string {
	text := strconv.Itoa(p.Status)
	if p.Title != "" {
		text += " " + p.Title
	}
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	if p.Status >= http.StatusInternalServerError && p.Request != "" {
		text += " (request " + p.Request + ")"
	}
	return text
}

// Is reports whether the problem is of a kind.
func (p *Problem) Is(kind error) bool {
	switch p.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return kind == ErrInvalid
	case http.StatusUnauthorized:
		return kind == ErrUnauthorized
	case http.StatusForbidden:
		if p.badToken {
			return kind == ErrUnauthorized
		}
		return kind == ErrForbidden
	case http.StatusNotFound:
		return kind == ErrNotFound
	case http.StatusGone:
		return kind == ErrNotFound || kind == ErrReset
	case http.StatusConflict:
		return kind == ErrConflict
	case http.StatusPreconditionFailed:
		return kind == ErrStale
	case http.StatusRequestEntityTooLarge:
		return kind == ErrTooLarge
	case http.StatusTooManyRequests:
		return kind == ErrLimited
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return kind == ErrUnavailable
	}
	return false
}

// refusedToken reports whether the token is the reason.
func (p *Problem) refusedToken() bool { return p.Status == http.StatusUnauthorized || p.badToken }

// AnswerError says that an answer is not what such a service gives.
type AnswerError struct {
	Reason string
	// Cut: the answer broke off.
	Cut bool
}

func (e *AnswerError) Error() string { return e.Reason }

// InputError says that a call cannot be made as it is asked for.
type InputError struct{ Reason string }

func (e *InputError) Error() string { return e.Reason }

// Is tells that the error is of the kind ErrInvalid.
func (e *InputError) Is(kind error) bool { return kind == ErrInvalid }

// The bounds of what is kept of an error answer.
const (
	maxProblem = 64 << 10 // bytes read
	maxDetail  = 300      // characters of a plain text
)

// problem reads an error answer. What it says is shown to people: only what is meant for them is taken.
func (c *Client) problem(resp *http.Response) error {
	p := &Problem{}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem)) // what there is of it; the status alone says enough
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	structured := strings.HasSuffix(media, "json") && json.Unmarshal(text, p, lenient) == nil
	switch {
	case structured:
	case media == "text/plain" || media == "":
		*p = Problem{Detail: line(string(text), maxDetail)}
	default:
		*p = Problem{}
	}
	p.Status = resp.StatusCode
	p.Request = line(cmp.Or(resp.Header.Get("Hazardd-Request"), p.Request), maxDetail)
	p.Title = line(p.Title, maxDetail)
	if p.Title == "" {
		p.Title = http.StatusText(p.Status)
	}
	p.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	// The base interface says 403 for a token that is not good (section 5), in plain text and for some paths without a word on the body
	// (section 7); hazardd says 403 also for what the role does not allow, as a problem document.
	p.badToken = p.Status == http.StatusForbidden && media != "application/problem+json" && !strings.Contains(resp.Header.Get("WWW-Authenticate"), "insufficient_scope")
	if to, locErr := resp.Location(); locErr == nil && p.Status >= 300 && p.Status < 400 {
		p.Detail = fmt.Sprintf("the server leads to %s; only reads are followed, and only below %s://%s", (&url.URL{Scheme: to.Scheme, Host: to.Host}).String(), c.base.Scheme, c.base.Host)
	}
	if err != nil && p.Detail == "" {
		p.Detail = "what it says broke off"
	}
	return p
}

// retryAfter reads a number of seconds or a date (RFC 9110 section 10.2.3).
func retryAfter(value string, now time.Time) time.Duration {
	const most = 24 * time.Hour
	if s, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32); err == nil {
		return min(max(0, time.Duration(s)*time.Second), most)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, at.Sub(now)), most)
	}
	return 0
}

// line is text on one line, without what could trouble a terminal or a log, of at most most characters.
func line(text string, most int) string {
	text = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsGraphic(r) && r != unicode.ReplacementChar:
			return r
		}
		return -1
	}, text)), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}
