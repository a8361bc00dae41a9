// Package channel sends notices: by email, Web Push, and to HTTP services by templates.
//
// A Sender makes one attempt and stores nothing; its caller retries. It is safe for concurrent use,
// ends when its context ends, and limits what it reads and how long it waits. A repeated attempt at one
// Notice sends the same message under the same name, so that a receiver can recognize it. Errors never
// contain an address, a key, or words of a receiver: they name the channel and a short hash
// (Address.Hash).
package channel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/hazardd/hazardd/internal/tell/message"
)

// The kinds of addresses.
const (
	Email   = "email"
	WebPush = "webpush"
	HTTP    = "http"
)

// Address is the address of a receiver. It is a secret of its owner: format it only by Hash.
type Address struct {
	Kind string // Email, WebPush or HTTP
	// To is, for email, the address (RFC 5321, without a name); for Web Push, the browser's
	// PushSubscription as JSON (PushSubscription.toJSON); for HTTP, what the template expects: an address,
	// or the identifier of a chat, a room or a telephone.
	To       string
	Template string // for HTTP, the name of one of the operator's channels
}

// hash returns a name of the address for logs and errors. It does not reveal the address, but a guess
// can be compared with it.
func (a Address) hash() string {
	sum := sha256.Sum256([]byte("hazardd address\x00" + a.Kind + "\x00" + a.Template + "\x00" + a.To))
	return hex.EncodeToString(sum[:4])
}

// String returns the kind and the hash, so that an address in a log reveals nothing.
func (a Address) String() string { return a.Kind + " " + a.hash() }

// GoString returns the same as String.
func (a Address) GoString() string { return a.String() }

// Sender sends notices over the channels that it knows.
type Sender interface {
	// Send makes one attempt. It returns nil if the receiver has acknowledged the message. After Gone the
	// address must not be tried again; after RetryAfter, only when the time has passed; after any other
	// error, later.
	Send(ctx context.Context, to Address, n message.Notice) error
	// Check returns what is wrong with an address, before anything is sent to it. The error does not
	// contain the address.
	Check(to Address) error
}

// Gone is the error of an address that will never accept messages again.
//
//lint:ignore ST1012 it reads as a kind of outcome: errors.Is(err, channel.Gone)
var Gone = errors.New("the address takes no messages any more")

// Refused is the error of a message that this receiver will never accept, although the address works.
//
//lint:ignore ST1012 it reads as a kind of outcome: errors.Is(err, channel.Refused)
var Refused = errors.New("the receiver refuses this message")

// Uncertain is the error of a message that may have arrived, because the connection was lost after it
// was sent. It is sent again unchanged, under its ID.
//
//lint:ignore ST1012 it reads as a kind of outcome: errors.Is(err, channel.Uncertain)
var Uncertain = errors.New("it is not known whether the message arrived")

// ErrDisabled is the error of a channel that the operator has not enabled.
var ErrDisabled = errors.New("this channel is not enabled")

// Busy is the error of a message that was not tried, because the operator's limits have no room for it
// before Wait has passed. All means that there is no room for any other message either.
type Busy struct {
	Wait time.Duration
	All  bool
}

// Error returns what is wrong, without the address.
func (Busy) Error() string { return "more messages than the operator allows in a minute" }

type retryAfter time.Duration

func (r retryAfter) Error() string { return fmt.Sprintf("retry after %v", time.Duration(r)) }

// RetryAfter returns the error of a receiver that accepts nothing for d.
func RetryAfter(d time.Duration) error { return retryAfter(d) }

// Wait returns the duration of a RetryAfter error, else 0.
func Wait(err error) time.Duration {
	if r, ok := errors.AsType[retryAfter](err); ok {
		return time.Duration(r)
	}
	return 0
}

// Channels is a Sender of several channels, by kind.
type Channels map[string]Sender

// Send sends by the channel of the address's kind.
func (c Channels) Send(ctx context.Context, to Address, n message.Notice) error {
	s, ok := c[to.Kind]
	if !ok {
		return fmt.Errorf("%v: %w", to, ErrDisabled)
	}
	return s.Send(ctx, to, n)
}

// Check checks by the channel of the address's kind.
func (c Channels) Check(to Address) error {
	s, ok := c[to.Kind]
	if !ok {
		return ErrDisabled
	}
	return s.Check(to)
}
