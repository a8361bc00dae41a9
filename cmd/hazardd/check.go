package main

import (
	"context"
	"fmt"
	"io"

	"github.com/hazardd/hazardd/internal/store"
)

type checkCmd struct{}

// checkResult is what a check has found.
type checkResult struct {
	store.Checked
	Faults []string `json:"faults"`
}

// Run reads a whole store, while a server may be running, and lists what is not as it was written.
func (*checkCmd) Run(ctx context.Context, c *console, g *globals) error {
	return g.withOldStore(ctx, func(s *store.Store) (err error) {
		r := checkResult{Faults: []string{}}
		if n := s.Lost(); n > 0 {
			r.Faults = append(r.Faults, fmt.Sprintf("the last %d changes that were acknowledged are gone; their numbers are void", n))
		}
		if r.Checked, err = s.Check(ctx, func(what string) { r.Faults = append(r.Faults, what) }); err != nil {
			return err
		}
		if err := c.print(r, r.write); err != nil {
			return err
		}
		if len(r.Faults) > 0 {
			return fmt.Errorf("%d faults in %s: docs/runbook.md says what to do (\"The store is damaged\")", len(r.Faults), g.place())
		}
		return nil
	})
}

func (r *checkResult) write(w io.Writer) error {
	for _, fault := range r.Faults {
		if _, err := fmt.Fprintln(w, fault); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(w, "read %d changes, %d hazards, %d products, %d areas and %d product files\n", r.Changes, r.Hazards, r.Products, r.Geometries, r.Files); err != nil {
		return err
	}
	if r.Unsealed == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "%d changes were written by earlier releases, which kept no checksums: they can be read, and no more is known of them\n", r.Unsealed)
	return err
}
