package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"hazardd/internal/poll"
	"hazardd/internal/service"
	"hazardd/internal/store"
)

type sourcePollCmd struct {
	Name string `arg:"" help:"Source."`
	sourcesFlag
	pollFlags
	Timeout life `default:"5m" placeholder:"TIME" help:"How long to wait for it."`
}

// Run has the source read.
func (p *sourcePollCmd) Run(ctx context.Context, c *console, g *globals) error {
	cfg := service.Config{Version: about().Version, Logger: c.logger()}
	p.pollFlags.set(&cfg)
	if err := p.sourcesFlag.set(&cfg); err != nil {
		return err
	}
	if _, err := cfg.Known.Find(p.Name); err != nil {
		return err
	}
	// A server that polls others, but not this one, would never come to it.
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(p.Timeout),
		fmt.Errorf("not read within %v: the server that polls has much to do, or is told by --sources not to poll it", time.Duration(p.Timeout)))
	defer cancel()
	return g.withOldStore(ctx, func(s *store.Store) error {
		poller, err := service.NewPoller(s, cfg.Known.Intake(s), cfg)
		if err != nil {
			return err
		}
		st, err := poller.PollOnce(ctx, p.Name)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		return c.print(st, func(w io.Writer) error { return printCounts(w, p.Name, st.Last) })
	})
}

func printCounts(w io.Writer, name string, n poll.Counts) error {
	_, err := fmt.Fprintf(w, "%s: %d read, %d new, %d updated, %d unchanged, %d ignored, %d held, %d rejected, %d ended\n",
		name, n.Read, n.New, n.Updated, n.Unchanged, n.Ignored, n.Held, n.Rejected, n.Ended)
	return err
}
