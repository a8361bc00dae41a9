package hazard

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The kinds of error that callers distinguish. Every other error is a fault of the service.
var (
	// ErrNotFound means that the thing does not exist, or that the caller may not see it.
	ErrNotFound = errors.New("not found")
	// ErrForbidden means that the caller is known but lacks the right.
	ErrForbidden = errors.New("not allowed")
	// ErrStale means that the thing has changed since the caller read it (If-Match).
	ErrStale = errors.New("changed since it was read")
	// ErrConflict means that the request does not fit the present state, whatever state the caller
	// read.
	ErrConflict = errors.New("conflict")
	// ErrUnavailable means that the store cannot be read or written now; a later retry may succeed.
	ErrUnavailable = errors.New("store not available")
	// ErrFull means that there is no disk space for the request's data.
	ErrFull = errors.New("no room left")
)

// LimitKind says what to do after exceeding a limit, and so determines the status.
type LimitKind uint8

// The kinds of limit.
const (
	// LimitSize means that the request is too large or too costly; a retry cannot succeed (413).
	LimitSize LimitKind = iota + 1
	// LimitShare means that the caller sends too much at once or too often; a smaller or later
	// request succeeds (429).
	LimitShare
	// LimitCapacity means that the whole service is at its capacity, for all callers (503).
	LimitCapacity
)

// LimitError reports that a request exceeds a limit. Every limit has a row in docs/interface.md.
type LimitError struct {
	Limit      string // name of the limit in docs/interface.md, and label of hazardd_limit_refusals_total
	Kind       LimitKind
	RetryAfter time.Duration // 0 if a retry does not help
	Detail     string        // names the limit, its value, and what to do
}

func (e *LimitError) Error() string { return e.Detail }

// Fault is one error in an input. Field is a JSON pointer (RFC 6901) into the body.
type Fault struct {
	Field  string
	Detail string // names the value and what was expected
}

// InvalidError lists all errors in an input.
type InvalidError struct{ Faults []Fault }

func (e *InvalidError) Error() string {
	words := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		words[i] = f.Detail
		if f.Field != "" { // without a field the fault concerns the whole input
			words[i] = strings.TrimPrefix(f.Field, "/") + ": " + f.Detail
		}
	}
	return strings.Join(words, "; ")
}

// Add adds a fault of the named top-level member.
func (e *InvalidError) Add(member, format string, args ...any) {
	e.Faults = append(e.Faults, Fault{"/" + member, fmt.Sprintf(format, args...)})
}

// Err returns e if it has a fault, otherwise nil.
func (e *InvalidError) Err() error {
	if len(e.Faults) == 0 {
		return nil
	}
	return e
}
