package mcp

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Drained returns a transport that, at the end of its input, still waits for the answers to
// requests before it, at most as long as a call may take. So a client that closes its input after
// the last request, as a pipe does, gets the answer.
func Drained(t sdk.Transport) sdk.Transport { return drained{t} }

type drained struct{ sdk.Transport }

func (d drained) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := d.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &drainedConn{Connection: c, idle: make(chan struct{}, 1)}, nil
}

type drainedConn struct {
	sdk.Connection
	mu    sync.Mutex
	asked map[jsonrpc.ID]bool // requests without an answer yet; guarded by mu
	idle  chan struct{}       // capacity 1: an answer was written
}

func (c *drainedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if errors.Is(err, io.EOF) {
		c.wait(ctx)
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.asked == nil {
			c.asked = map[jsonrpc.ID]bool{}
		}
		c.asked[r.ID] = true
	}
	return m, err
}

func (c *drainedConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.asked, r.ID)
		select {
		case c.idle <- struct{}{}:
		default:
		}
	}
	return err
}

// wait returns when every request has its answer.
func (c *drainedConn) wait(ctx context.Context) {
	over := time.NewTimer(callTime)
	defer over.Stop()
	for {
		c.mu.Lock()
		open := len(c.asked)
		c.mu.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-over.C:
			return
		case <-c.idle:
		}
	}
}
