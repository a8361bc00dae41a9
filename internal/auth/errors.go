package auth

import (
	"errors"
	"fmt"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// The kinds of refusal. The texts are for logs; answers must depend on the kind only.
var (
	// ErrDenied means that the credentials are wrong. It does not distinguish an unknown user from
	// a wrong password, a disabled user or a used refresh token.
	ErrDenied = errors.New("authentication failed")
	// ErrInvalidToken means that an access token is malformed, expired, revoked, wrongly signed or
	// of another kind, or that its user has lost access. Errors of this kind say which, without any
	// part of the token.
	ErrInvalidToken = errors.New("invalid token")
	// ErrBusy means that too many passwords are being checked. The error is a *BusyError.
	ErrBusy = errors.New("too many logins at once")
)

// LimitedError reports too many failed logins: of this user from this network or device, or of this
// network. It is also a *hazard.LimitError.
type LimitedError struct{ RetryAfter time.Duration }

func (e *LimitedError) Error() string {
	return fmt.Sprintf("too many failed logins: try again in %v", e.RetryAfter)
}

// Unwrap returns the limit in docs/interface.md.
func (e *LimitedError) Unwrap() error {
	return &hazard.LimitError{Limit: "login-failures", Kind: hazard.LimitShare, RetryAfter: e.RetryAfter,
		Detail: "too many failed logins; wait before the next"}
}

// BusyError means that a password could not be checked now.
type BusyError struct{ RetryAfter time.Duration }

func (e *BusyError) Error() string { return fmt.Sprintf("%v: try again in %v", ErrBusy, e.RetryAfter) }

// Unwrap returns the limit in docs/interface.md.
func (e *BusyError) Unwrap() error {
	return &hazard.LimitError{Limit: "login-queue", Kind: hazard.LimitCapacity, RetryAfter: e.RetryAfter, Detail: "too many logins at once"}
}

// Is reports whether target is ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// refusal is the reason why a token is refused. Reasons are constants, so that none contains a part
// of a token.
type refusal string

func (r refusal) Error() string { return ErrInvalidToken.Error() + ": " + string(r) }

// Is reports whether target is ErrInvalidToken.
func (r refusal) Is(target error) bool { return target == ErrInvalidToken }
