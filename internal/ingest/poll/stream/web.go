package stream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/hazardd/hazardd/internal/ingest/source"
)

// pingsInSilence is how many pings are sent in the time of silence after which a connection counts
// as broken.
const pingsInSilence = 4

// listenWeb reads the messages of a WebSocket.
func (d *Dialer) listenWeb(ctx context.Context, p *source.Push, h Handler) error {
	opening, opened := context.WithTimeout(ctx, openTimeout)
	defer opened()
	conn, answer, err := websocket.Dial(opening, p.URL, &websocket.DialOptions{HTTPClient: d.Web, HTTPHeader: http.Header{"User-Agent": {d.Agent}}})
	if err != nil {
		if answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
			return fmt.Errorf("the server answered %d, expected a WebSocket", answer.StatusCode)
		}
		return err
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(p.MaxBytes)
	h.Up()

	// The library processes the answers to pings while we read, so another goroutine sends the
	// pings. This goroutine reports the results, because only one goroutine may call the handler.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pongs := make(chan struct{}, 1)
	messages := make(chan []byte)
	failed := make(chan error, 1)
	done := make(chan struct{}, 2)
	go func() {
		defer func() { done <- struct{}{} }()
		ping(ctx, conn, p.Silence, pongs, cancel)
	}()
	go func() {
		defer func() { done <- struct{}{} }()
		failed <- readWeb(ctx, conn, messages)
	}()
	defer func() { cancel(nil); _ = conn.CloseNow(); <-done; <-done }()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-failed:
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			if errors.Is(err, websocket.ErrMessageTooBig) {
				return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, p.MaxBytes)
			}
			return err
		case <-pongs:
			h.Alive()
		case m := <-messages:
			if err := h.Receive(ctx, m); err != nil {
				return err
			}
		}
	}
}

// readWeb passes messages on until the connection breaks.
func readWeb(ctx context.Context, conn *websocket.Conn, messages chan<- []byte) error {
	for {
		_, m, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		select {
		case messages <- m:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ping sends pings to the peer, and cancels the connection if it does not answer.
func ping(ctx context.Context, conn *websocket.Conn, silence time.Duration, pongs chan<- struct{}, give context.CancelCauseFunc) {
	tick := time.NewTicker(silence / pingsInSilence)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		answered, cancel := context.WithTimeout(ctx, silence)
		err := conn.Ping(answered)
		cancel()
		if err != nil {
			give(fmt.Errorf("%w: no answer to a ping in %s", ErrSilent, silence))
			return
		}
		select {
		case pongs <- struct{}{}:
		default:
		}
	}
}
