package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/backup/repair"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/store/sqlite/pagesum"
)

type checkCmd struct {
	Mend   bool   `help:"Repair damage from the backup in --from. Stop the server first if pages are damaged."`
	From   string `placeholder:"FILE|DIR|URL" help:"Backup to repair from: a file of hazardd backup, or the folder or bucket of a continuous backup."`
	DryRun bool   `help:"Do not write; show what --mend would repair."`
}

// checkResult is the result of a check.
type checkResult struct {
	store.Checked
	Payloads int64    `json:"payloads"` // payloads of sources, kept as evidence
	Pictures int64    `json:"pictures"` // pictures that sources link to
	Faults   []string `json:"faults"`
	Mended   []string `json:"mended,omitzero"` // what was repaired, or would be
	DryRun   bool     `json:"dry_run,omitzero"`
}

// Run reads a whole store and lists what differs from what was written. A server may be running.
// With Mend it first repairs what a backup holds.
func (k *checkCmd) Run(ctx context.Context, c *console, g *globals) error {
	if !k.Mend {
		if k.From != "" || k.DryRun {
			return errors.New("--from and --dry-run need --mend")
		}
		return g.withOldStore(ctx, func(s *store.Store) error {
			r := &checkResult{}
			if err := r.read(ctx, s, g); err != nil {
				return err
			}
			keys := c.bring
			if g.Database != "" { // which files its servers are given is not known here
				keys = func(ctx context.Context, s *store.Store, _, _ string) error { return c.keep(ctx, s, "") }
			}
			return errors.Join(keys(ctx, s, g.Data, g.Database), r.end(c, g, nil))
		})
	}
	if k.From == "" {
		return errors.New("--mend needs a backup: name a file of hazardd backup, or the folder or bucket of a continuous backup, with --from")
	}
	return k.mend(ctx, c, g)
}

// read checks the store and replaces r by the result.
func (r *checkResult) read(ctx context.Context, s *store.Store, g *globals) (err error) {
	r.Faults = []string{}
	if n := s.Lost(); n > 0 {
		r.Faults = append(r.Faults, fmt.Sprintf("the last %d acknowledged changes are lost; their numbers are void", n))
	}
	fault := func(what string) { r.Faults = append(r.Faults, what) }
	if r.Checked, err = s.Check(ctx, fault); err != nil {
		return err
	}
	for _, kept := range []struct {
		folder string
		kind   store.KeptKind
		n      *int64
	}{{"evidence", store.KeptPayloads, &r.Payloads}, {"pictures", store.KeptPictures, &r.Pictures}} {
		*kept.n, err = s.CheckKept(ctx, kept.kind, func() (blob.Place, error) {
			set, err := g.files()
			if err != nil {
				return nil, err
			}
			return blob.Open(filepath.Join(g.Data, kept.folder), set.Below(kept.folder))
		}, fault)
		if err != nil {
			return err
		}
	}
	return nil
}

// end prints r. It returns an error if there are faults, or pages that could not be checked.
func (r *checkResult) end(c *console, g *globals, failed error) error {
	if err := c.print(r, r.write); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	if len(r.Faults) > 0 {
		return fmt.Errorf("%d faults in %s: docs/cluster.md says what to do (\"The store is damaged\")", len(r.Faults), g.place())
	}
	return nil
}

// mend checks a store and repairs what is damaged. It repairs pages of the SQLite file first, so
// that the store can be opened.
func (k *checkCmd) mend(ctx context.Context, c *console, g *globals) (err error) {
	from := repair.Backup{Open: func() (io.ReadCloser, error) { return openArchive(c, k.From) }}
	if k.From == "-" {
		return errors.New("a backup to mend from is read twice: name a file, not standard input")
	}
	if isContinuous(k.From) {
		shelf, end, err := g.shelf(k.From)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end()) }()
		from.Shelf = shelf
	}
	r := &checkResult{DryRun: k.DryRun}
	var pages []uint32
	var failed error
	if file := g.sqliteFile(); file != "" {
		if pages, failed = repair.Pages(ctx, file, from, !k.DryRun); errors.Is(failed, fs.ErrNotExist) {
			failed = nil // withOldStore reports the same error
		} else if failed != nil {
			failed = fmt.Errorf("mend the pages of %s: %w", file, failed)
		}
		if errors.Is(failed, pagesum.ErrInUse) {
			failed = fmt.Errorf("%w: stop the server, and run this again", failed)
		}
		for _, page := range pages {
			r.Mended = append(r.Mended, fmt.Sprintf("page %d of %s", page, filepath.Base(file)))
		}
	}
	told := false
	err = g.withOldStore(ctx, func(s *store.Store) error {
		by := consoleActor()
		audit := auth.Audit{At: c.instant(), Actor: by.Name, Client: by.Client, Action: auth.ActionMend, Detail: "from " + k.From, OK: true}
		if !k.DryRun {
			for _, page := range r.Mended {
				audit.Subject = page
				if err := s.Accounts.AddAudit(ctx, audit); err != nil {
					return err
				}
			}
		}
		if err := r.read(ctx, s, g); err != nil {
			return err
		}
		parts, err := repair.Parts(ctx, s, r.Damaged, from, !k.DryRun, audit)
		for _, p := range parts {
			r.Mended = append(r.Mended, p.String())
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("mend from %s: %w", k.From, err))
		}
		if len(parts) > 0 && !k.DryRun {
			if err := r.read(ctx, s, g); err != nil {
				return err
			}
		}
		if errors.Is(failed, pagesum.ErrInUse) && len(r.Faults) == 0 {
			failed = nil // no page needs to be repaired
		}
		told = true
		return r.end(c, g, failed)
	})
	if told {
		return err
	}
	if len(r.Mended) > 0 { // the store still cannot be read, so report the repairs here
		c.note("%s", strings.TrimSuffix(r.mendings(), "\n"))
	}
	return errors.Join(err, failed)
}

// sqliteFile returns the path of the database file, or "" for PostgreSQL.
func (g *globals) sqliteFile() string {
	rest, named := strings.CutPrefix(g.Database, "sqlite:")
	if g.Database != "" && !named {
		return ""
	}
	file, _, _ := strings.Cut(rest, "?")
	return cmp.Or(file, filepath.Join(g.Data, store.FileName))
}

// mendings lists the repairs, one per line.
func (r *checkResult) mendings() string {
	word := "mended "
	if r.DryRun {
		word = "would mend "
	}
	var b strings.Builder
	for _, what := range r.Mended {
		b.WriteString(word + what + "\n")
	}
	return b.String()
}

func (r *checkResult) write(w io.Writer) error {
	if _, err := io.WriteString(w, r.mendings()); err != nil {
		return err
	}
	for _, fault := range r.Faults {
		if _, err := fmt.Fprintln(w, fault); err != nil {
			return err
		}
	}
	verdict := "no faults"
	if len(r.Faults) > 0 {
		verdict = fmt.Sprintf("%d faults", len(r.Faults))
	}
	if _, err := fmt.Fprintf(w, "read %d changes, %d hazards, %d products, %d areas, %d product files, %d payloads of sources and %d pictures: %s\n", r.Changes, r.Hazards, r.Products,
		r.Geometries, r.Files, r.Payloads, r.Pictures, verdict); err != nil {
		return err
	}
	if r.Unsealed == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "%d changes were written by earlier releases without checksums: they are readable, but cannot be verified\n", r.Unsealed)
	return err
}
