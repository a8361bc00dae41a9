package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
)

type sourceErrorsCmd struct {
	Name string `arg:"" help:"Source."`
	knownFlags
}

// maxListed is how many errors and held reports are listed, newest first.
const maxListed = 1000

// Run shows the errors and the held reports.
func (e *sourceErrorsCmd) Run(ctx context.Context, c *console, g *globals) error {
	if _, err := e.find(e.Name); err != nil {
		return err
	}
	return g.withEvidence(ctx, app.Config{}, func(s *store.Store, keeper *evidence.Keeper) error {
		kept, err := s.Sources.Errors(ctx, e.Name, maxListed)
		if err != nil {
			return err
		}
		held, err := s.Reports.Held(ctx, e.Name, maxListed)
		if err != nil {
			return err
		}
		result := sourceTroubles{Errors: []sourceErrorJSON{}, Held: []heldJSON{}}
		for _, k := range kept {
			if k.Record == "" && len(k.Raw) == 0 {
				if k.Raw, err = keeper.Beginning(ctx, k.Payload, source.MaxKept); err != nil {
					return err
				}
			}
			result.Errors = append(result.Errors, sourceErrorJSON{k.Record, k.Reason, k.First.Time(), k.Last.Time(), k.Times, strings.ToValidUTF8(string(k.Raw), "\uFFFD"), k.Payload})
		}
		for _, h := range held {
			result.Held = append(result.Held, heldJSON{h.ID, h.Received.Time(), h.Report.Key, h.Report.Name, h.Why()})
		}
		return c.print(result, func(w io.Writer) error { return result.write(w, c) })
	})
}

// sourceTroubles lists what an editor should look at.
type sourceTroubles struct {
	Errors []sourceErrorJSON `json:"errors"`
	Held   []heldJSON        `json:"held"`
}

type sourceErrorJSON struct {
	Record string    `json:"record"` // empty means the whole payload
	Reason string    `json:"reason"`
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
	Times  int64     `json:"times"`
	Raw    string    `json:"raw"` // empty for a payload that is no longer kept
	// Payload is the SHA-256 of the payload: the rejected one, or the one that held the record.
	Payload string `json:"payload,omitzero"`
}

type heldJSON struct {
	ID       int64     `json:"id"`
	Received time.Time `json:"received"`
	Event    string    `json:"event"`
	Name     string    `json:"name"`
	Reason   string    `json:"reason"`
}

func (s *sourceTroubles) write(w io.Writer, c *console) error {
	const names = 50 // length of a name or a record, in characters
	unused := newTable("LAST", "TIMES", "RECORD", "REASON")
	for _, e := range s.Errors {
		unused.add(ago(e.Last, c.now()), strconv.FormatInt(e.Times, 10), cut(e.Record, names), oneLine(e.Reason))
	}
	held := newTable("ID", "RECEIVED", "EVENT", "NAME", "REASON")
	for _, h := range s.Held {
		held.add(strconv.FormatInt(h.ID, 10), ago(h.Received, c.now()), cut(h.Event, names), cut(h.Name, names), oneLine(h.Reason))
	}
	for _, part := range []struct {
		title string
		t     *table
	}{{"not used", unused}, {"held until released or dismissed", held}} {
		if len(part.t.rows) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s:\n", part.title); err != nil {
			return err
		}
		if err := part.t.write(w, c.colour); err != nil {
			return err
		}
	}
	return nil
}

type sourceReleaseCmd struct {
	Name string `arg:"" help:"Source."`
	ID   int64  `arg:"" name:"id" help:"Number of the held report, from hazardd source errors."`
	knownFlags
}

// Run applies the report.
func (r *sourceReleaseCmd) Run(ctx context.Context, c *console, g *globals) error {
	known, err := r.find(r.Name)
	if err != nil {
		return err
	}
	return g.withHeld(ctx, r.Name, r.ID, func(s *store.Store) error {
		res, err := decide(ctx, s, known.Intake(s), r.Name, r.ID, store.Released, c.instant())
		if err != nil {
			return err
		}
		n := counts(&res)
		return c.print(n, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "released: %d new, %d updated, %d unchanged, %d held\n", n.New, n.Updated, n.Unchanged, n.Held)
			return err
		})
	})
}

type sourceDismissCmd struct {
	Name string `arg:"" help:"Source."`
	ID   int64  `arg:"" name:"id" help:"Number of the held report, from hazardd source errors."`
	knownFlags
}

// Run records that the report is wrong.
func (d *sourceDismissCmd) Run(ctx context.Context, c *console, g *globals) error {
	known, err := d.find(d.Name)
	if err != nil {
		return err
	}
	return g.withHeld(ctx, d.Name, d.ID, func(s *store.Store) error {
		if _, err := decide(ctx, s, known.Intake(s), d.Name, d.ID, store.Dismissed, c.instant()); err != nil {
			return err
		}
		result := struct {
			Dismissed int64 `json:"dismissed"`
		}{d.ID}
		return c.print(result, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, "dismissed")
			return err
		})
	})
}

// decide decides about a held report in the operator's name, with all rights.
func decide(ctx context.Context, s *store.Store, in *fuse.Intake, source string, id int64, decision string, now hazard.Instant) (fuse.Result, error) {
	e := edit.New(s, in, 0, func(int64) bool { return false })
	return e.Decide(ctx, operator, source, id, nil, fmt.Appendf(nil, `{"decision":%q}`, decision), now)
}

// withHeld opens the store if the source has an undecided report with that id. Checking the source
// keeps a mixed-up id from deciding about another source's report.
func (g *globals) withHeld(ctx context.Context, name string, id int64, use func(*store.Store) error) error {
	return g.withOldStore(ctx, func(s *store.Store) error {
		n, err := s.Reports.CountHeld(ctx, name)
		if err != nil {
			return err
		}
		held, err := s.Reports.Held(ctx, name, int(n))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(held, func(h *store.Held) bool { return h.ID == id }) {
			return fmt.Errorf("%w: %s has no report %d that waits for a decision; hazardd source errors %s lists them", hazard.ErrNotFound, name, id, name)
		}
		return use(s)
	})
}
