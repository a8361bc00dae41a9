package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
)

// readyCmd is for health checks that can run a program but send no HTTP request, as in a container
// that holds only hazardd.
type readyCmd struct {
	Server publicURL `default:"http://127.0.0.1:8080" placeholder:"URL" help:"Server to check."`
}

// readyTime bounds the request: a slower server counts as not ready.
const readyTime = 3 * time.Second

// readiness is the answer of GET /readyz, of this version or a later one with more members.
type readiness struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitzero"`
	Change int64  `json:"change"`
	AgeMS  int64  `json:"view_age_ms"`
}

// Run sends the request, and fails unless the server is ready.
func (r *readyCmd) Run(ctx context.Context, c *console) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	address := string(r.Server) + "/readyz"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		// Not wrapped: explain would advise about --listen.
		return fmt.Errorf("%v: check that a server is running at %s, or name another with --server", err, r.Server)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	var state readiness
	if err := json.Unmarshal(text, &state); err != nil || state.Status == "" {
		return fmt.Errorf("%s answers %s, but is not hazardd", address, resp.Status)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", state.Status, state.Reason)
	}
	return c.print(state, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: change %d, %d ms old\n", state.Status, state.Change, state.AgeMS)
		return err
	})
}
