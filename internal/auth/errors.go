package auth

import (
	"errors"
	"fmt"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// The ways to be turned away. The words are for logs; what a stranger is told must not depend on more than the kind.
var (
	// ErrDenied: who asks for tokens has not shown who he is. Nothing tells an unknown user from a wrong password, a
	// disabled user or a spent refresh token.
	ErrDenied = errors.New("authentication failed")
	// ErrInvalidToken: an access token is malformed, expired, revoked, wrongly signed, of the wrong kind, or its user may
	// not come in any more. Errors of that kind say which, without a word of the token.
	ErrInvalidToken = errors.New("invalid token")
	// ErrBusy: too many passwords are being checked. The error is a *BusyError.
	ErrBusy = errors.New("too many logins at once")
)

// LimitedError reports that too many logins failed: for this user from this network or device, or from this network. It is a
// *hazard.LimitError too.
type LimitedError struct{ RetryAfter time.Duration }

func (e *LimitedError) Error() string {
	return fmt.Sprintf("too many failed logins: try again in %v", e.RetryAfter)
}

// Unwrap makes it the limit that docs/limits.md lists.
func (e *LimitedError) Unwrap() error {
	return &hazard.LimitError{Limit: "login-failures", Kind: hazard.LimitShare, RetryAfter: e.RetryAfter,
		Detail: "too many failed logins; wait before the next"}
}

// BusyError says that a password could not be checked now.
type BusyError struct{ RetryAfter time.Duration }

func (e *BusyError) Error() string { return fmt.Sprintf("%v: try again in %v", ErrBusy, e.RetryAfter) }

// Unwrap makes it the limit that docs/limits.md lists.
func (e *BusyError) Unwrap() error {
	return &hazard.LimitError{Limit: "login-queue", Kind: hazard.LimitCapacity, RetryAfter: e.RetryAfter, Detail: "too many logins at once"}
}

// Is makes it an ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// refusal is the reason why a token is not accepted. Reasons are constants, so that none can carry a piece of a token.
type refusal string

func (r refusal) Error() string { return ErrInvalidToken.Error() + ": " + string(r) }

// Is makes it an ErrInvalidToken.
func (r refusal) Is(target error) bool { return target == ErrInvalidToken }
