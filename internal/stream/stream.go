// Package stream keeps a connection open over which a source pushes messages: a WebSocket, a TCP connection that carries XML
// documents, or a subscription at a broker of MQTT.
//
// It knows no source and no message. A connection holds at most one message in memory, of at most the bytes that its
// description allows, besides buffers of a constant size: while a message is being taken in nothing more is read, so that a
// sender that floods is slowed down by its own connection. One that says nothing for too long, drips, or sends a message
// that does not end is given up. Opening again is the caller's.
package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/hazardd/hazardd/internal/source"
)

// Limits of every connection.
const (
	// openTimeout is how long it may take until messages can come.
	openTimeout = 30 * time.Second
	// bufferBytes is how much is read at a time.
	bufferBytes = 32 << 10
)

// Causes for which a connection is given up, beside those of the network.
var (
	ErrSilent   = errors.New("nothing came for too long")
	ErrTooLarge = errors.New("a message is larger than it may be")
)

// Dialer opens connections. It is safe for concurrent use.
type Dialer struct {
	// Web opens WebSockets. It must not speak HTTP/2, which has another way to open them.
	Web *http.Client
	// Net opens all others. Where it may lead is its affair.
	Net func(ctx context.Context, network, address string) (net.Conn, error)
	// Agent is what the program calls itself.
	Agent string
}

// Handler takes what a connection says. Its functions are called one at a time.
type Handler struct {
	// Up is called when messages can come.
	Up func()
	// Alive is called when the connection shows that it lives without a message.
	Alive func()
	// Receive takes a message, which it may keep. An error ends the connection.
	Receive func(ctx context.Context, message []byte) error
}

// Listen opens the connection that p describes and reads it until ctx ends, it breaks, or the handler fails. It returns why, never
// nil, when all that it started has ended.
func (d *Dialer) Listen(ctx context.Context, p *source.Push, h Handler) error {
	u, err := p.Address()
	if err != nil {
		return err
	}
	switch u.Scheme {
	case "wss", "ws":
		return d.listenWeb(ctx, p, h)
	case "mqtts", "mqtt":
		return d.listenBroker(ctx, p, u, h)
	}
	return d.listenDocuments(ctx, p, u.Host, h)
}

// open opens a connection other than a WebSocket. It is closed when ctx ends.
func (d *Dialer) open(ctx context.Context, address string, secure bool) (conn net.Conn, closed func(), err error) {
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	raw, err := d.Net(opening, "tcp", address)
	if err != nil {
		return nil, nil, err
	}
	conn = raw
	if secure {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, nil, errors.Join(err, raw.Close())
		}
		t := tls.Client(raw, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12})
		if err := t.HandshakeContext(opening); err != nil {
			return nil, nil, errors.Join(err, raw.Close())
		}
		conn = t
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	return conn, func() { stop(); _ = raw.Close() }, nil
}

// withPort is the host and port of an address.
func withPort(host, port, scheme string) string {
	if port == "" {
		port = strconv.Itoa(source.PushKinds[scheme])
	}
	return net.JoinHostPort(host, port)
}

// silent gives an error its cause where that is the deadline of a read.
func silent(err error, after time.Duration) error {
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return fmt.Errorf("%w: %s", ErrSilent, after)
	}
	return err
}
