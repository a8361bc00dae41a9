package main

import (
	"context"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/store"
)

type redactCmd struct {
	Hazard  redactHazardCmd  `cmd:"" help:"Remove texts of a hazard for good."`
	Product redactProductCmd `cmd:"" help:"Remove texts or the file of a product for good."`
	Places  redactPlacesCmd  `cmd:"" help:"List every place that can hold a hazard's text, how a redaction cleans it, and what it cannot reach."`
}

// redactFlags are the flags of both redactions.
type redactFlags struct {
	Ref    string   `arg:"" help:"Its number or UUID."`
	Fields []string `required:"" placeholder:"FIELD,…" help:"Fields to remove, such as description or hazard_Name; of a product, such as data, title or file."`
	Reason string   `required:"" placeholder:"TEXT" help:"Why, for the history. Do not repeat what you remove."`
	knownFlags
}

type redactHazardCmd struct{ redactFlags }

// Run redacts a hazard.
func (r *redactHazardCmd) Run(ctx context.Context, c *console, g *globals) error {
	return r.with(ctx, c, g, func(e *edit.Editor, ref edit.Ref, body []byte) (last int64, err error) {
		done, err := e.RedactHazard(ctx, operator, ref, nil, body, c.instant())
		return done.Last, err
	})
}

type redactProductCmd struct{ redactFlags }

// Run redacts a product.
func (r *redactProductCmd) Run(ctx context.Context, c *console, g *globals) error {
	return r.with(ctx, c, g, func(e *edit.Editor, ref edit.Ref, body []byte) (last int64, err error) {
		done, err := e.RedactProduct(ctx, operator, ref, nil, body, c.instant())
		return done.Last, err
	})
}

// operator is who runs commands on a store, with all rights.
var operator = edit.Author{Caller: auth.Caller{Role: auth.Admin}}

// redaction is the result of a redaction: the change, or 0 if there was nothing to remove, and what the
// redaction could not reach.
type redaction struct {
	Change      int64    `json:"change"`
	Unreachable []string `json:"unreachable"`
}

// with opens the store, lets do redact, and says what is left to do.
func (r *redactFlags) with(ctx context.Context, c *console, g *globals, do func(*edit.Editor, edit.Ref, []byte) (int64, error)) error {
	ref, ok := edit.ParseRef(r.Ref)
	if !ok {
		return fmt.Errorf("%.60q is neither a number nor a UUID", r.Ref)
	}
	body, err := json.Marshal(map[string]any{"fields": r.Fields, "reason": r.Reason})
	if err != nil {
		return err
	}
	known, err := r.known()
	if err != nil {
		return err
	}
	return g.withEvidence(ctx, app.Config{}, func(s *store.Store, keeper *evidence.Keeper) (err error) {
		e := edit.New(s, known.Intake(s), 0, func(int64) bool { return false })
		e.Evidence = keeper
		result := redaction{Unreachable: s.Unreachable()}
		if result.Change, err = do(e, ref, body); err != nil {
			return err
		}
		return c.print(result, func(out io.Writer) error {
			if result.Change == 0 {
				_, err := fmt.Fprintln(out, "nothing to remove: these fields are empty in every state")
				return err
			}
			if _, err := fmt.Fprintf(out, "removed with change %d, from every place that hazardd redact places lists\n", result.Change); err != nil {
				return err
			}
			return writeUnreachable(out, result.Unreachable)
		})
	})
}

func writeUnreachable(out io.Writer, list []string) error {
	_, err := fmt.Fprintln(out, "not reached:")
	for _, what := range list {
		if err == nil {
			_, err = fmt.Fprintln(out, "- "+what)
		}
	}
	return err
}

type redactPlacesCmd struct{}

// inventory is every place, and what a redaction cannot reach.
type inventory struct {
	Places      []place  `json:"places"`
	Unreachable []string `json:"unreachable"`
}

// place is a place that can hold text. Cleaned is empty if it holds no text of hazards.
type place struct {
	Place   string `json:"place"`
	Cleaned string `json:"cleaned"`
	Holds   string `json:"holds"`
}

// Run lists the places.
func (*redactPlacesCmd) Run(ctx context.Context, c *console, g *globals) error {
	return g.withOldStore(ctx, func(s *store.Store) error {
		all, err := s.Inventory(ctx)
		if err != nil {
			return err
		}
		list := inventory{Unreachable: s.Unreachable()}
		for _, h := range all {
			list.Places = append(list.Places, place{h.Place, h.Text, h.Other})
		}
		return c.print(list, func(out io.Writer) error {
			t := newTable("PLACE", "A REDACTION", "OTHERWISE IT HOLDS")
			for _, p := range list.Places {
				t.add(p.Place, p.Cleaned, p.Holds)
			}
			if err := t.write(out, c.colour); err != nil {
				return err
			}
			return writeUnreachable(out, list.Unreachable)
		})
	})
}
