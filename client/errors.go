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

// These are the kinds of errors for errors.Is.
var (
	// ErrUnauthorized means that the credentials or the token were refused, or that there are none.
	ErrUnauthorized = errors.New("not logged in")
	// ErrForbidden means that the user lacks the right to do this.
	ErrForbidden = errors.New("not allowed")
	// ErrNotFound means that the record does not exist, or is not visible to the user.
	ErrNotFound = errors.New("not found")
	// ErrStale means that the record has changed since its ETag was read (IfMatch).
	ErrStale = errors.New("changed since it was read")
	// ErrConflict means that the request conflicts with the present state.
	ErrConflict = errors.New("conflict")
	// ErrDrafted means that the request needs the approval of a second person first. See
	// DraftedError.
	ErrDrafted = errors.New("waits for a second person")
	// ErrInvalid means that the input is invalid; Problem.Errors lists each fault.
	ErrInvalid = errors.New("invalid")
	// ErrTooLarge means that the request is larger than the server accepts.
	ErrTooLarge = errors.New("too large")
	// ErrReset means that the change log cannot be resumed from the given number. Read the lists
	// again, and continue after their Change.
	ErrReset = errors.New("the log was replaced")
	// ErrLimited means too many requests or failed logins; Problem.RetryAfter says how long to
	// wait.
	ErrLimited = errors.New("too many requests")
	// ErrUnavailable means that the server, or a proxy in front of it, cannot answer now.
	ErrUnavailable = errors.New("not available")
	// ErrNotModified means that the answer still has the ETag given to IfNoneMatch. It is not a
	// failure.
	ErrNotModified = errors.New("not modified")
)

// Problem is an error answer of the server (RFC 9457, as far as the server provides it).
type Problem struct {
	Status   int     `json:"status"`
	Type     string  `json:"type"`
	Title    string  `json:"title"`
	Detail   string  `json:"detail"`
	Instance string  `json:"instance"` // identifies an internal error in the server's log
	Request  string  `json:"request"`  // request ID, also in the server's log; empty from other servers
	Errors   []Fault `json:"errors"`
	// RetryAfter is how long the server asks to wait, or 0.
	RetryAfter time.Duration `json:"-"`

	badToken, needsCode bool
}

// Fault is one error in the input.
type Fault struct {
	Pointer   string `json:"pointer"`   // JSON pointer into the body
	Parameter string `json:"parameter"` // name of a path or query parameter
	Detail    string `json:"detail"`
}

// Error returns the status and the server's text. If the server failed, it includes the request ID
// for the operator.
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

// Is reports whether kind is the Err variable that fits the problem's status.
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

// refusedToken reports whether the token was refused.
func (p *Problem) refusedToken() bool { return p.Status == http.StatusUnauthorized || p.badToken }

// AnswerError means that an answer is not a valid answer of a hazard data service.
type AnswerError struct {
	Reason string
	// Cut means that the answer was cut off.
	Cut bool
}

func (e *AnswerError) Error() string { return e.Reason }

// InputError means that the arguments of a call are invalid. Nothing was sent.
type InputError struct{ Reason string }

func (e *InputError) Error() string { return e.Reason }

// Is reports whether kind is ErrInvalid.
func (e *InputError) Is(kind error) bool { return kind == ErrInvalid }

// The limits of the stored part of an error answer.
const (
	maxProblem = 64 << 10 // bytes read
	maxDetail  = 300      // characters of a plain text
)

// problem parses an error answer. It only takes the texts that are meant for people, because these
// are shown.
func (c *Client) problem(resp *http.Response) error {
	p := &Problem{}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem)) // a part is enough: the status alone already says a lot
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
	// In the base interface, 403 means an invalid token (section 5), in plain text, and for some
	// paths without a specified body (section 7). hazardd also returns 403 for a missing role, as a
	// problem document.
	p.badToken = p.Status == http.StatusForbidden && media != "application/problem+json" && !strings.Contains(resp.Header.Get("WWW-Authenticate"), "insufficient_scope")
	if to, locErr := resp.Location(); locErr == nil && p.Status >= 300 && p.Status < 400 {
		p.Detail = fmt.Sprintf("the server leads to %s; only reads are followed, and only below %s://%s", (&url.URL{Scheme: to.Scheme, Host: to.Host}).String(), c.base.Scheme, c.base.Host)
	}
	if factors := resp.Header.Get("Hazardd-Second-Factor"); p.Status == http.StatusUnauthorized && factors != "" {
		p.needsCode = strings.Contains(factors, "totp")
		p.Detail = "the account has a second factor, and no code was given; a program uses a token of a service (hazardd token NAME --service)"
	}
	if err != nil && p.Detail == "" {
		p.Detail = "the error text is cut off"
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

// line returns text as one line of at most most characters, safe for terminals and logs.
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
