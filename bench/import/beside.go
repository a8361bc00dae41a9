package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hazardd/hazardd/bench/internal/measure"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/store/view"
)

const (
	goalHeld    = 50.0   // ms that another writer waits at most while many warnings are taken in
	goalReaders = 1000.0 // ms from the bytes of the national list to its readers
	many        = 5000   // warnings
	writeEvery  = 5 * time.Millisecond
)

// beside is what one payload costs others.
type beside struct {
	reports, hazards int
	took             float64   // from bytes to the view of readers, in milliseconds
	waited           []float64 // of another writer for each of its transactions, in milliseconds
}

// reportBeside measures how long a payload takes to reach readers, and how long an editor waits
// meanwhile: for the recorded list, and for many times its warnings.
func reportBeside(ctx context.Context, r *measure.Report, rec recording, payload []byte, rounds int) error {
	table := measure.Table{Title: "From bytes to readers, with an editor who writes 200 times a second", Heads: []string{"payload", "reports", "hazards", "ms to readers", "an editor waits, median", "p99", "max"}}
	for _, c := range []struct {
		name string
		n    int
	}{{"the list", 0}, {fmt.Sprintf("%d warnings", many), many}} {
		var took, waited []float64
		var last *beside
		for range rounds {
			b, err := takeBeside(ctx, rec, payload, c.n)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			took, waited, last = append(took, b.took), append(waited, b.waited...), b
		}
		longest := slices.Max(waited)
		table.Add(c.name, last.reports, last.hazards, measure.Median(took), measure.Median(waited), measure.Quantile(waited, 0.99), longest)
		if c.n == 0 {
			r.Goals = append(r.Goals, measure.AtMost("the national list from bytes to readers, ms", measure.Median(took), goalReaders))
		}
		r.Goals = append(r.Goals, measure.AtMost(c.name+": longest wait of another writer, ms", longest, goalHeld))
	}
	r.Tables = append(r.Tables, table)
	return nil
}

// takeBeside takes in a payload, of which each report is repeated under other names until there are n.
func takeBeside(ctx context.Context, rec recording, payload []byte, n int) (b *beside, err error) {
	dir, err := os.MkdirTemp("", "hazardd-bench-import-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	src, err := app.BuiltIn().Find(rec.source)
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, dir, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	in, now, quiet := app.BuiltIn().Intake(s), hazard.At(rec.received), slog.New(slog.DiscardHandler)
	clock := func() hazard.Instant { return now }
	readers, err := view.Open(ctx, s.Log, quiet, clock)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b = &beside{}
	var all errgroup.Group
	all.Go(func() error { return follow.New(s.Log, readers, clock, follow.Memory, quiet).Run(ctx) })
	all.Go(func() error {
		next := time.NewTicker(writeEvery)
		defer next.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-next.C:
			}
			begin := time.Now()
			if _, err := s.Write(context.WithoutCancel(ctx), now, store.Origin{}, func(*store.Tx) error {
				b.waited = append(b.waited, milliseconds(time.Since(begin)))
				return nil
			}); err != nil {
				return err
			}
		}
	})
	begin := time.Now()
	batch, err := src.Parse(payload, now)
	if err != nil {
		return nil, err
	}
	for given, copy := batch.Reports, 1; len(batch.Reports) < n; copy++ {
		for _, r := range given[:min(len(given), n-len(batch.Reports))] {
			batch.Reports = append(batch.Reports, renamed(r, fmt.Sprint("#", copy)))
		}
	}
	res, err := in.Apply(store.Ranked(store.Patient(ctx), store.Warnings), rec.source, batch, now, fuse.Options{})
	if err == nil {
		err = readers.WaitFor(ctx, res.Last)
	}
	b.took = milliseconds(time.Since(begin))
	stop()
	if ended := all.Wait(); !errors.Is(ended, context.Canceled) {
		err = errors.Join(err, ended)
	}
	b.reports, b.hazards = len(batch.Reports), res.New
	return b, err
}

// renamed returns a report of another event, which differs by a suffix of all its names.
func renamed(r hazard.Report, suffix string) hazard.Report {
	add := func(names []string) []string {
		names = slices.Clone(names)
		for i := range names {
			names[i] += suffix
		}
		return names
	}
	r.Key += suffix
	r.Aliases, r.Earlier = add(r.Aliases), add(r.Earlier)
	return r
}
