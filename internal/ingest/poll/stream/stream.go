// Package stream keeps a connection open over which a source pushes messages: a WebSocket, a TCP
// connection that carries XML documents, or a subscription at an MQTT broker.
//
// It knows no particular source and no message format. A connection holds at most one message in
// memory, within the size limit of its source.Push, and buffers of constant size. It reads nothing
// while a message is processed, so that a fast sender is slowed down by its own connection. It
// closes a connection that is silent for too long, sends only single bytes, or sends a message
// without an end. The caller reopens it.
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

	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Limits of every connection.
const (
	// openTimeout bounds the time until messages can arrive.
	openTimeout = 30 * time.Second
	// bufferBytes is the size of one read.
	bufferBytes = 32 << 10
)

// The reasons for closing a connection, besides network errors.
var (
	ErrSilent   = errors.New("no data for too long")
	ErrTooLarge = errors.New("message too large")
)

// Dialer opens connections. It is safe for concurrent use.
type Dialer struct {
	// Web opens WebSockets. It must not use HTTP/2, which opens WebSockets in a different way.
	Web *http.Client
	// Net opens all other connections. It also decides which addresses are allowed.
	Net func(ctx context.Context, network, address string) (net.Conn, error)
	// Agent is the User-Agent.
	Agent string
}

// Handler processes the messages of a connection. Its functions are called one at a time.
type Handler struct {
	// Up is called when the connection is ready for messages.
	Up func()
	// Alive is called on a sign of life other than a message.
	Alive func()
	// Receive processes a message, and may keep its memory. An error ends the connection.
	Receive func(ctx context.Context, message []byte) error
}

// Listen opens the connection that p describes, and reads it until ctx ends, the connection breaks,
// or the handler fails. It returns the reason, which is never nil, after everything that it started
// has ended.
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

// withPort returns the host and port of an address, with the default port of the scheme if it has
// none.
func withPort(host, port, scheme string) string {
	if port == "" {
		port = strconv.Itoa(source.PushKinds[scheme])
	}
	return net.JoinHostPort(host, port)
}

// silent replaces the timeout error of a read by the reason for it.
func silent(err error, after time.Duration) error {
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return fmt.Errorf("%w: %s", ErrSilent, after)
	}
	return err
}
