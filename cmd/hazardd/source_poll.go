package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/store"
)

type sourcePollCmd struct {
	Name string `arg:"" optional:"" help:"Source. Default: all."`
	sourcesFlag
	pollFlags
	evidenceFlags
	Timeout life `default:"5m" placeholder:"TIME" help:"How long to wait for the result."`
}

// Run has the server poll the source.
func (p *sourcePollCmd) Run(ctx context.Context, c *console, g *globals) error {
	cfg := app.Config{Version: about().Version, Logger: c.logger()}
	p.pollFlags.set(&cfg)
	p.evidenceFlags.set(&cfg)
	if err := p.sourcesFlag.set(&cfg); err != nil {
		return err
	}
	var names []string
	if p.Name != "" {
		if _, err := cfg.Known.Find(p.Name); err != nil {
			return err
		}
		names = []string{p.Name}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(p.Timeout),
		fmt.Errorf("not polled within %v: the server is busy", time.Duration(p.Timeout)))
	defer cancel()
	return g.withEvidence(ctx, cfg, func(s *store.Store, keeper *evidence.Keeper) error {
		poller, err := app.NewPoller(s, cfg.Known.Intake(s), keeper, cfg)
		if err != nil {
			return err
		}
		all, err := poller.PollOnce(ctx, names...)
		if err != nil {
			return named(p.Name, err)
		}
		var read []poll.Status
		var errs []error
		for _, a := range all {
			if a.Err != nil {
				errs = append(errs, named(a.Status.Name, a.Err))
			} else {
				read = append(read, a.Status)
			}
		}
		if err := p.print(c, read); err != nil {
			return err
		}
		return errors.Join(errs...)
	})
}

// print shows the results of the polls.
func (p *sourcePollCmd) print(c *console, read []poll.Status) error {
	var result any = read
	if p.Name != "" {
		if len(read) == 0 {
			return nil
		}
		result = read[0]
	}
	return c.print(result, func(w io.Writer) error {
		for _, st := range read {
			if err := printCounts(w, st.Name, st.Last); err != nil {
				return err
			}
		}
		return nil
	})
}

// named adds the source's name to an error.
func named(source string, err error) error {
	if source == "" {
		return err
	}
	return fmt.Errorf("%s: %w", source, err)
}

func printCounts(w io.Writer, name string, n poll.Counts) error {
	_, err := fmt.Fprintf(w, "%s: %d read, %d new, %d updated, %d unchanged, %d ignored, %d held, %d rejected, %d ended\n",
		name, n.Read, n.New, n.Updated, n.Unchanged, n.Ignored, n.Held, n.Rejected, n.Ended)
	return err
}
