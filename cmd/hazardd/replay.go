package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/schollz/progressbar/v3"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/replay"
	"github.com/hazardd/hazardd/internal/service"
	"github.com/hazardd/hazardd/internal/store"
)

type replayCmd struct {
	Hazard string    `placeholder:"ID" help:"Hazard whose decisions are made again: its number or uuid; if not given, all."`
	From   time.Time `placeholder:"TIME" help:"Make decisions again from that time (RFC 3339) on; if not given, from the beginning of the evidence."`
	To     time.Time `placeholder:"TIME" help:"Make decisions again up to that time; if not given, the last change or evidence."`
	Source string    `placeholder:"NAME" help:"Compare only hazards that this source reports."`
	knownFlags
}

// Validate refuses a span that is none.
func (r *replayCmd) Validate() error {
	if !r.To.IsZero() && r.To.Before(r.From) {
		return fmt.Errorf("--to: %s is before --from, %s", r.To.Format(time.RFC3339), r.From.Format(time.RFC3339))
	}
	return r.knownFlags.Validate()
}

// Run makes past decisions again, in a store of its own, and prints how they come out. It is an error if any comes out otherwise.
func (r *replayCmd) Run(ctx context.Context, c *console, g *globals) error {
	known, err := r.known()
	if err != nil {
		return err
	}
	if r.Source != "" {
		if _, err := known.Find(r.Source); err != nil {
			return err
		}
	}
	span := replay.Span{From: hazard.MinInstant, To: hazard.MaxInstant, Source: r.Source}
	if !r.From.IsZero() {
		span.From = hazard.At(r.From)
	}
	if !r.To.IsZero() {
		span.To = hazard.At(r.To)
	}
	return g.withOldStore(ctx, func(s *store.Store) (err error) {
		if r.Hazard != "" {
			if span.Hazard, err = hazardNamed(ctx, s, r.Hazard); err != nil {
				return err
			}
		}
		keeper, err := g.evidence(s, service.Config{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, keeper.Close()) }()
		res, err := replay.Run(ctx, s, keeper, known, span, replayProgress(c))
		if err != nil {
			return err
		}
		if err := c.print(res, func(w io.Writer) error { return writeReplay(w, c, res) }); err != nil {
			return err
		}
		if res.Differ > 0 {
			return fmt.Errorf("%d of %d hazards and products came out differently", res.Differ, res.Differ+res.Same)
		}
		return nil
	})
}

// hazardNamed finds a hazard by its number or uuid.
func hazardNamed(ctx context.Context, s *store.Store, name string) (uuid.UUID, error) {
	if id, err := uuid.Parse(name); err == nil {
		h, err := s.HazardByUUID(ctx, id)
		if err != nil {
			return uuid.Nil, fmt.Errorf("--hazard: %w", err)
		}
		return h.UUID, nil
	}
	number, err := strconv.ParseInt(name, 10, 64)
	if err != nil || number < 1 {
		return uuid.Nil, fmt.Errorf("--hazard: %q is neither the number nor the uuid of a hazard", name)
	}
	h, err := s.Hazard(ctx, number)
	if err != nil {
		return uuid.Nil, fmt.Errorf("--hazard: %w", err)
	}
	return h.UUID, nil
}

// replayProgress shows how far a replay is, to whoever is looking.
func replayProgress(c *console) func(done, all int64) {
	if c.json || !c.errTerminal {
		return nil
	}
	var bar *progressbar.ProgressBar
	return func(done, all int64) {
		if bar == nil {
			bar = progressbar.NewOptions64(all, progressbar.OptionSetWriter(c.err), progressbar.OptionClearOnFinish())
		}
		_ = bar.Set64(done) // a bar that cannot be drawn is no reason to stop
	}
}

func writeReplay(w io.Writer, c *console, res *replay.Result) error {
	if len(res.Differences) > 0 {
		t := newTable("AT", "CHANGE", "HAZARD", "NAME", "DIFFERENCE")
		for _, d := range res.Differences {
			t.add(d.At.UTC().Format(time.RFC3339), strconv.FormatInt(d.Change, 10), d.Hazard.String(), cut(d.Name, 40), oneLine(d.What))
		}
		if err := t.write(w, c.colour); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d receipts from %s done again; from %s to %s, %d changes compared: %d hazards and products the same, %d different; not compared: %d that people have decided about, %d older than the evidence\n",
		res.Receipts, res.Begins.UTC().Format(time.RFC3339), res.From.UTC().Format(time.RFC3339), res.To.UTC().Format(time.RFC3339), res.Changes, res.Same, res.Differ, res.ByPeople, res.Older)
	if err == nil && res.Lost > 0 {
		_, err = fmt.Fprintf(w, "%d payloads are lost: their removal was under way\n", res.Lost)
	}
	return err
}
