package poll

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Class is the kind of a failure, shown to all readers. All connection failures have the same
// class, because the difference would reveal the operator's internal network.
type Class string

// The classes.
const (
	ClassUnreachable Class = "unreachable"       // no DNS name, no connection, or a forbidden address
	ClassCertificate Class = "certificate"       // TLS failed
	ClassTimeout     Class = "timeout"           // no complete response in time
	ClassTooSlow     Class = "too slow"          // the response came too slowly
	ClassTooLarge    Class = "too large"         // larger than the feed's limit
	ClassIncomplete  Class = "incomplete"        // the response or the document was cut off
	ClassUnreadable  Class = "unreadable"        // not the source's format
	ClassSuspicious  Class = "suspicious"        // readable, but not plausible
	ClassRedirected  Class = "redirected"        // redirected to an address that is not followed
	ClassRefused     Class = "refused"           // 4xx
	ClassNotFound    Class = "not found"         // 404, 410
	ClassBusy        Class = "busy"              // 429
	ClassServer      Class = "server error"      // 5xx
	ClassMissing     Class = "documents missing" // documents in an index have not been readable so far
	ClassElsewhere   Class = "links refused"     // documents in an index are at addresses that are not followed
	ClassStore       Class = "store"             // the store could not be read or written
	ClassInternal    Class = "internal"          // a fault of this program
)

// Failure says why a poll failed.
type Failure struct {
	Class Class
	Text  string // full text, for admins
	// Code is the HTTP status of the response, or 0.
	Code int
	// RetryAfter is the wait that the source requests.
	RetryAfter time.Duration
	payload    string // SHA-256 of the payload at fault, if any
	stack      string // stack of a panic
}

func (f *Failure) Error() string { return string(f.Class) + ": " + f.Text }

func failf(class Class, format string, args ...any) *Failure {
	return &Failure{Class: class, Text: fmt.Sprintf(format, args...)}
}

// errStopped means that the poller stops or has lost its lease. It says nothing about the source.
var errStopped = errors.New("polling stopped")

// The reasons for canceling a request.
var (
	errWhole = fmt.Errorf("no complete answer within %s", wholeTimeout)
	errSlow  = fmt.Errorf("less than %d bytes in %s", slowBytes, slowWindow)
)

// redirectError refuses a redirect.
type redirectError struct{ reason string }

func (e *redirectError) Error() string { return e.reason }

// requestFailure classifies the error of a request. ctx is the request's.
func requestFailure(ctx context.Context, err error) *Failure {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errWhole):
		return failf(ClassTimeout, "%v", cause)
	case errors.Is(cause, errSlow):
		return failf(ClassTooSlow, "%v", cause)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the address, which may contain a key
	}
	if e, ok := errors.AsType[*redirectError](err); ok {
		return failf(ClassRedirected, "%v", e)
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return failf(ClassTimeout, "%v", err)
	}
	if isTLS(err) {
		return failf(ClassCertificate, "%v", err)
	}
	return failf(ClassUnreachable, "%v", err)
}

func isTLS(err error) bool {
	var (
		verification *tls.CertificateVerificationError
		record       tls.RecordHeaderError
		alert        tls.AlertError
		unknown      x509.UnknownAuthorityError
		host         x509.HostnameError
		invalid      x509.CertificateInvalidError
	)
	return errors.As(err, &verification) || errors.As(err, &record) || errors.As(err, &alert) ||
		errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid)
}

// Answered returns the failure for a response with an HTTP status. answer is the response's text,
// retryAfter the requested wait or 0.
func Answered(code int, answer string, retryAfter time.Duration) *Failure {
	f := statusFailure(code, hazard.CleanLine(answer))
	f.RetryAfter = min(max(0, retryAfter), maxRetryAfter)
	return f
}

// statusFailure returns the failure for an HTTP status; answer is the beginning of the response.
func statusFailure(code int, answer string) *Failure {
	f := failf(ClassUnreadable, "the server answered %d %s", code, http.StatusText(code))
	f.Code = code
	if answer != "" {
		f.Text += ": " + answer
	}
	switch {
	case code == http.StatusTooManyRequests:
		f.Class = ClassBusy
	case code == http.StatusNotFound || code == http.StatusGone:
		f.Class = ClassNotFound
	case code >= 500:
		f.Class = ClassServer
	case code >= 400:
		f.Class = ClassRefused
	case code >= 300:
		f.Class = ClassRedirected
	}
	return f
}
