package hazard

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The kinds of error that callers tell apart; every other error is our own fault.
var (
	// ErrNotFound: no such thing, or none that the caller may know of.
	ErrNotFound = errors.New("not found")
	// ErrForbidden: the caller is known, and may not do this.
	ErrForbidden = errors.New("not allowed")
	// ErrStale: the thing has changed since the caller read it (If-Match).
	ErrStale = errors.New("changed since it was read")
	// ErrConflict: what is asked does not fit the present state, whatever the caller read.
	ErrConflict = errors.New("conflict")
	// ErrUnavailable: the store cannot be written or read now; trying again later may succeed.
	ErrUnavailable = errors.New("store not available")
	// ErrFull: there is no room to keep what was sent.
	ErrFull = errors.New("no room left")
)

// LimitKind says what a request over a limit should do, and so which status it gets.
type LimitKind uint8

// The kinds of limit.
const (
	// LimitSize: the request is too large or too costly, and always will be (413).
	LimitSize LimitKind = iota + 1
	// LimitShare: the caller uses too much at once or too often; less, or later, is fine (429).
	LimitShare
	// LimitCapacity: the service as a whole has no room now, whoever asks (503).
	LimitCapacity
)

// LimitError reports that a request is over a limit. Every limit has a row in docs/limits.md.
type LimitError struct {
	Limit      string // its name there, and the label of hazardd_limit_refusals_total
	Kind       LimitKind
	RetryAfter time.Duration // 0: repeating the request does not help
	Detail     string        // names the limit, its value, and what to do
}

func (e *LimitError) Error() string { return e.Detail }

// Fault is one thing wrong with an input. Field is a JSON pointer (RFC 6901) into the body.
type Fault struct {
	Field  string
	Detail string // names the value and what was expected
}

// InvalidError tells everything that is wrong with an input at once.
type InvalidError struct{ Faults []Fault }

func (e *InvalidError) Error() string {
	words := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		words[i] = f.Detail
		if f.Field != "" { // else it is of the whole
			words[i] = strings.TrimPrefix(f.Field, "/") + ": " + f.Detail
		}
	}
	return strings.Join(words, "; ")
}

// Add notes a fault of the named top-level member.
func (e *InvalidError) Add(member, format string, args ...any) {
	e.Faults = append(e.Faults, Fault{"/" + member, fmt.Sprintf(format, args...)})
}

// Err is e when it holds a fault, else nil.
func (e *InvalidError) Err() error {
	if len(e.Faults) == 0 {
		return nil
	}
	return e
}
