package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
)

// readyCmd is for what can run a program but ask nothing over HTTP, such as the health check of a container that holds nothing but this one.
type readyCmd struct {
	Server publicURL `default:"http://127.0.0.1:8080" placeholder:"URL" help:"Server to ask."`
}

// readyTime bounds the question: a server that takes longer cannot be of use to anybody.
const readyTime = 3 * time.Second

// readiness is what GET /readyz says. It is of this program's own version, or of a later one that says more.
type readiness struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitzero"`
	Change int64  `json:"change"`
	AgeMS  int64  `json:"view_age_ms"`
}

// Run asks, and fails unless the server is ready.
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
		// Not wrapped: it is not about an address of ours.
		return fmt.Errorf("%v: see that a server runs at %s, or name another with --server", err, r.Server)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	var state readiness
	if err := json.Unmarshal(text, &state); err != nil || state.Status == "" {
		return fmt.Errorf("%s answers %s, and not as hazardd does", address, resp.Status)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", state.Status, state.Reason)
	}
	return c.print(state, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: change %d, %d ms old\n", state.Status, state.Change, state.AgeMS)
		return err
	})
}
