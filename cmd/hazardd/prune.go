package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/backup"
	"github.com/hazardd/hazardd/internal/store/blob"
)

// retentionFlags say how long history and the audit trail are kept, and where backup and archives
// go.
type retentionFlags struct {
	KeepHistory keepTime `default:"0" placeholder:"TIME" help:"How long to keep old states of ended hazards, at least 31d; older ones move to --archive. 0 means forever. The first and the last state always stay."`
	KeepAudit   keepTime `default:"${keep_audit}" placeholder:"TIME" help:"How long to keep the audit trail, at least 31d; older rows move to --archive."`
	AuditTo     string   `placeholder:"FILE|URL" help:"Where to send the audit trail on, as JSON: a file, - for standard output, or syslog (RFC 5424) at udp://HOST:PORT, tcp://HOST:PORT or tls://HOST:PORT."`
	BackupTo    string   `placeholder:"DIR|URL" help:"Folder on another disk, or bucket in the form of --files, for a continuous backup. A committed change is there a second later. SQLite only."`
	BackupKeep  life     `default:"${backup_keep}" placeholder:"TIME" help:"How far back --backup-to can restore any moment, such as 72h or 14d."`
	Archive     string   `placeholder:"DIR|URL" help:"Folder, or bucket as --files names one, for the archives of what is pruned. Each is read back before anything is removed; without one no history is."`
}

func (f *retentionFlags) set(cfg *app.Config, g *globals) (err error) {
	cfg.Retention = app.Retention{History: time.Duration(f.KeepHistory), Audit: time.Duration(f.KeepAudit)}
	if cfg.Retention.Archive, err = g.archive(f.Archive); err != nil {
		return err
	}
	cfg.Backup.Keep = time.Duration(f.BackupKeep)
	if cfg.Backup.Dir, cfg.Backup.Bucket, err = g.placeOf(f.BackupTo); err != nil {
		return err
	}
	cfg.AuditTo = app.AuditTo(f.AuditTo)
	return errors.Join(cfg.Retention.Check(), cfg.AuditTo.Check())
}

// archive returns where archives go.
func (g *globals) archive(where string) (k backup.Keep, err error) {
	if k.Dir, k.Bucket, err = g.placeOf(where); k.Bucket.URL != "" {
		k.Dir = filepath.Join(g.Data, "archiving")
	}
	return k, err
}

// placeOf parses a folder or the URL of a bucket.
func (g *globals) placeOf(where string) (dir string, bucket blob.Settings, err error) {
	if !strings.Contains(where, "://") {
		return where, bucket, nil
	}
	at := *g
	at.Files = where
	bucket, err = at.files()
	return "", bucket, err
}

type pruneCmd struct {
	OlderThan life     `required:"" placeholder:"TIME" help:"Remove old states of ended hazards that are older than this, such as 730d; at least 31d."`
	Archive   string   `required:"" placeholder:"DIR|URL" help:"Folder, or bucket as --files names one, for the archives of what is pruned. Each is read back before anything is removed; without one no history is."`
	Of        []string `default:"history,audit" enum:"history,audit" placeholder:"LIST" help:"What to prune: history, audit, or both."`
	DryRun    bool     `help:"Do not remove anything; show how much it would be."`
}

// Run moves old rows to archives. A server may be running.
func (p *pruneCmd) Run(ctx context.Context, c *console, g *globals) error {
	keep, err := g.archive(p.Archive)
	if err != nil {
		return err
	}
	return g.withOldStore(ctx, func(s *store.Store) error {
		ctx := store.Patient(ctx)
		before := c.now().Add(-time.Duration(p.OlderThan))
		results := pruneResult{}
		for _, of := range p.Of {
			bar := newBar(c, false)
			var done *backup.Pruning
			var err error
			if p.DryRun {
				done, err = backup.Prunable(ctx, s, store.Prunable(of), before)
			} else {
				done, err = backup.Prune(ctx, s, keep, store.Prunable(of), before, about().Version, c.now(), bar.tell)
			}
			bar.end()
			if err != nil {
				return err
			}
			results = append(results, *done)
		}
		return c.print(results, func(w io.Writer) error { return results.write(w, p.DryRun) })
	})
}

// pruneResult is the result of pruning.
type pruneResult []backup.Pruning

func (r pruneResult) write(w io.Writer, dry bool) error {
	for _, p := range r {
		text := fmt.Sprintf("%s before %s: ", p.What, p.Before.Format(time.RFC3339))
		switch {
		case p.Rows == 0:
			text += "nothing to prune"
		case dry:
			text += fmt.Sprintf("%d rows would be moved to an archive", p.Rows)
		default:
			text += fmt.Sprintf("%d rows moved to %s (%s)", p.Rows, strings.Join(p.Archives, ", "), size(p.Bytes))
			if p.Geometries+p.Files > 0 {
				text += fmt.Sprintf("; %d areas and %d product files are no longer needed", p.Geometries, p.Files)
			}
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	return nil
}
