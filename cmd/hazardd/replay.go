package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/schollz/progressbar/v3"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/replay"
	"github.com/hazardd/hazardd/internal/store"
)

type replayCmd struct {
	Hazard string    `placeholder:"ID" help:"Hazard to repeat decisions for: its id or UUID. Default: all."`
	From   time.Time `placeholder:"TIME" help:"Start time (RFC 3339). Default: the beginning of the evidence."`
	To     time.Time `placeholder:"TIME" help:"End time. Default: the last change or evidence."`
	Source string    `placeholder:"NAME" help:"Compare only hazards of this source."`
	knownFlags
}

// Validate rejects a span that ends before it begins.
func (r *replayCmd) Validate() error {
	if !r.To.IsZero() && r.To.Before(r.From) {
		return fmt.Errorf("--to: %s is before --from, %s", r.To.Format(time.RFC3339), r.From.Format(time.RFC3339))
	}
	return r.knownFlags.Validate()
}

// Run repeats past decisions in a temporary store and prints the differences. It returns an error
// if any result differs.
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
	return g.withEvidence(ctx, app.Config{}, func(s *store.Store, keeper *evidence.Keeper) error {
		if r.Hazard != "" {
			if span.Hazard, err = hazardNamed(ctx, s, r.Hazard); err != nil {
				return err
			}
		}
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

// hazardNamed returns the UUID of the hazard with that id or UUID.
func hazardNamed(ctx context.Context, s *store.Store, name string) (uuid.UUID, error) {
	if id, err := uuid.Parse(name); err == nil {
		h, err := s.Hazards.ByUUID(ctx, id)
		if err != nil {
			return uuid.Nil, fmt.Errorf("--hazard: %w", err)
		}
		return h.UUID, nil
	}
	number, err := strconv.ParseInt(name, 10, 64)
	if err != nil || number < 1 {
		return uuid.Nil, fmt.Errorf("--hazard: %q is neither the number nor the uuid of a hazard", name)
	}
	h, err := s.Hazards.Get(ctx, number)
	if err != nil {
		return uuid.Nil, fmt.Errorf("--hazard: %w", err)
	}
	return h.UUID, nil
}

// replayProgress shows the progress of a replay on a terminal.
func replayProgress(c *console) func(done, all int64) {
	if c.json || !c.errTerminal {
		return nil
	}
	var bar *progressbar.ProgressBar
	return func(done, all int64) {
		if bar == nil {
			bar = progressbar.NewOptions64(all, progressbar.OptionSetWriter(c.err), progressbar.OptionClearOnFinish())
		}
		_ = bar.Set64(done) // ignore errors: a missing bar must not stop the replay
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
	_, err := fmt.Fprintf(w, "repeated %d receipts from %s; between %s and %s compared %d changes: %d hazards and products the same, %d different; not compared: %d that people have decided about, %d older than the evidence\n",
		res.Receipts, res.Begins.UTC().Format(time.RFC3339), res.From.UTC().Format(time.RFC3339), res.To.UTC().Format(time.RFC3339), res.Changes, res.Same, res.Differ, res.ByPeople, res.Older)
	if err == nil && res.Lost > 0 {
		_, err = fmt.Fprintf(w, "%d payloads are missing because they were just being removed\n", res.Lost)
	}
	return err
}
