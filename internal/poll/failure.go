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

// Class is the kind of a failure, as every reader may know it. What cannot be connected to has one class, whatever the reason:
// the difference would tell what there is inside the operator's network.
type Class string

// The classes.
const (
	ClassUnreachable Class = "unreachable"       // no name, no connection, or an address that must not be reached
	ClassCertificate Class = "certificate"       // TLS failed
	ClassTimeout     Class = "timeout"           // no answer, or not the whole of it, in time
	ClassTooSlow     Class = "too slow"          // the answer dripped
	ClassTooLarge    Class = "too large"         // more bytes than the feed may have
	ClassIncomplete  Class = "incomplete"        // the answer or the document ended early
	ClassUnreadable  Class = "unreadable"        // not what the source publishes
	ClassSuspicious  Class = "suspicious"        // readable, and not to be believed
	ClassRedirected  Class = "redirected"        // to where the poller does not go
	ClassRefused     Class = "refused"           // 4xx
	ClassNotFound    Class = "not found"         // 404, 410
	ClassBusy        Class = "busy"              // 429
	ClassServer      Class = "server error"      // 5xx
	ClassMissing     Class = "documents missing" // an index names documents that could not be read so far
	ClassElsewhere   Class = "links refused"     // an index names documents at addresses that are not followed
	ClassStore       Class = "store"             // our own store could not be read or written
	ClassInternal    Class = "internal"          // a fault of our own program
)

// Failure is why a poll failed.
type Failure struct {
	Class Class
	Text  string // in full, for admins
	// Code is the HTTP status of the answer, 0 without one.
	Code int
	// RetryAfter is how long the source asks to be left alone.
	RetryAfter time.Duration
	payload    string // SHA-256 of the payload at fault, if it was one
	stack      string // of a panic
}

func (f *Failure) Error() string { return string(f.Class) + ": " + f.Text }

func failf(class Class, format string, args ...any) *Failure {
	return &Failure{Class: class, Text: fmt.Sprintf(format, args...)}
}

// errStopped: the poller is being stopped, or has lost its lease. Nothing is known of the source.
var errStopped = errors.New("polling stopped")

// Causes with which a request is given up.
var (
	errWhole = fmt.Errorf("no complete answer within %s", wholeTimeout)
	errSlow  = fmt.Errorf("less than %d bytes in %s", slowBytes, slowWindow)
)

// redirectError refuses a redirect.
type redirectError struct{ reason string }

func (e *redirectError) Error() string { return e.reason }

// requestFailure gives the failure of a request its class. ctx is the request's.
func requestFailure(ctx context.Context, err error) *Failure {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errWhole):
		return failf(ClassTimeout, "%v", cause)
	case errors.Is(cause, errSlow):
		return failf(ClassTooSlow, "%v", cause)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the address, which may hold a key
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

// Answered is the failure of a source that answered with an HTTP status, said and asked to be left alone for a while (0: it did not say).
func Answered(code int, said string, retryAfter time.Duration) *Failure {
	f := statusFailure(code, hazard.CleanLine(said))
	f.RetryAfter = min(max(0, retryAfter), maxRetryAfter)
	return f
}

// statusFailure is the failure that an HTTP status tells of; said is the beginning of the answer.
func statusFailure(code int, said string) *Failure {
	f := failf(ClassUnreadable, "the server answered %d %s", code, http.StatusText(code))
	f.Code = code
	if said != "" {
		f.Text += ": " + said
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
