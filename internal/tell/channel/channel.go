// Package channel sends notices: by email, Web Push, and to HTTP services by templates.
//
// A Sender makes one attempt and keeps nothing: whoever calls it retries. It is safe for concurrent use, ends when its context ends, and
// limits what it reads and how long it waits. A repeated attempt at one Notice sends the same message under the same name, so that a receiver that
// acknowledged without our hearing it can tell it from another. Errors never hold an address, a key, or anything that a receiver said: they name the channel and a
// short hash (Address.Hash).
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

// Address is where messages go. It is a secret of its owner: format it only by Hash.
type Address struct {
	Kind string // Email, WebPush or HTTP
	// To is, of email, the address (RFC 5321, without a name); of Web Push, the browser's PushSubscription as JSON (PushSubscription.toJSON); of HTTP,
	// what the template takes: an address, or the identifier of a chat, a room or a telephone.
	To       string
	Template string // of HTTP: the name of one of the operator's channels
}

// Hash names the address in logs and errors without giving it away to whoever does not know it. It is not a secret: addresses can be guessed.
func (a Address) Hash() string {
	sum := sha256.Sum256([]byte("hazardd address\x00" + a.Kind + "\x00" + a.Template + "\x00" + a.To))
	return hex.EncodeToString(sum[:4])
}

// String is the kind and the hash: an address that gets into a log by mistake says nothing.
func (a Address) String() string { return a.Kind + " " + a.Hash() }

// GoString is String.
func (a Address) GoString() string { return a.String() }

// Sender sends notices over the channels that it knows.
type Sender interface {
	// Send makes one attempt. nil: the receiver has acknowledged the message. An error that is Gone: the address is dead, never try it again.
	// RetryAfter of an error: the receiver wants to be left alone for so long. Any other error: try again later.
	Send(ctx context.Context, to Address, n message.Notice) error
	// Check reports what is wrong with an address that somebody gives, before anything is sent to it; nil if nothing is. The error does not hold it.
	Check(to Address) error
}

// Gone is the error of an address that takes no messages any more, and never will.
//
//lint:ignore ST1012 it reads as a kind of outcome: errors.Is(err, channel.Gone)
var Gone = errors.New("the address takes no messages any more")

// Refused is the error of a message that this receiver will never take, while the address is alive: trying again is of no use.
//
//lint:ignore ST1012 it reads as a kind of outcome: errors.Is(err, channel.Refused)
var Refused = errors.New("the receiver refuses this message")

// Uncertain is the error of a message that may have arrived: the connection was lost after it was sent. It is sent again as it is, under its ID.
//
//lint:ignore ST1012 it reads as a kind of outcome: errors.Is(err, channel.Uncertain)
var Uncertain = errors.New("it is not known whether the message arrived")

// ErrDisabled is the error of a channel that the operator has not enabled.
var ErrDisabled = errors.New("this channel is not enabled")

// Busy is the error of a message that was not tried: the operator's limits have no room for it before Wait is over. All: nor for any other.
type Busy struct {
	Wait time.Duration
	All  bool
}

// Error says what is wrong, without the address.
func (Busy) Error() string { return "more messages than the operator allows in a minute" }

type retryAfter time.Duration

func (r retryAfter) Error() string { return fmt.Sprintf("retry after %v", time.Duration(r)) }

// RetryAfter is the error of a receiver that wants to be left alone for d.
func RetryAfter(d time.Duration) error { return retryAfter(d) }

// Wait is how long the receiver of an error wants to be left alone; 0: it did not say.
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

// Check asks the channel of the address's kind.
func (c Channels) Check(to Address) error {
	s, ok := c[to.Kind]
	if !ok {
		return ErrDisabled
	}
	return s.Check(to)
}
