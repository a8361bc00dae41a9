package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/backup/continuous"
	"github.com/hazardd/hazardd/internal/store/blob"
)

// isContinuous reports whether name is a continuous backup: a folder or a bucket.
func isContinuous(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir() || strings.Contains(name, "://")
}

// shelf opens the storage of a continuous backup for reading.
func (g *globals) shelf(where string) (blob.Shelf, func() error, error) {
	dir, bucket, err := g.placeOf(where)
	if err != nil {
		return nil, nil, err
	}
	spool, err := os.MkdirTemp("", "hazardd-restore-") // required, but nothing is written there
	if err != nil {
		return nil, nil, err
	}
	shelf, err := blob.OpenShelf(dir, spool, bucket)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(spool))
	}
	return shelf, func() error { return errors.Join(shelf.Close(), os.RemoveAll(spool)) }, nil
}

// continuousResult describes a continuous backup, or what was restored from it.
func continuousResult(place string, f *continuous.Found, begin time.Time) *backupResult {
	return &backupResult{File: place, ID: f.Generation, Made: f.Made, Epoch: f.Epoch, Change: f.Change, Files: f.Files, Missing: f.Missing, Seconds: time.Since(begin).Seconds()}
}

// broken returns the error for a continuous backup that is usable only in part.
func broken(f *continuous.Found) error {
	if f.Broken == nil {
		return nil
	}
	if f.Unused == 0 {
		return fmt.Errorf("a later part of the backup cannot be used: %w", f.Broken)
	}
	return fmt.Errorf("the backup is usable only up to %s; %d later segments are not: %w", f.Made.Format(time.RFC3339), f.Unused, f.Broken)
}

// verifyContinuous reads a whole continuous backup and checks it.
func verifyContinuous(ctx context.Context, c *console, g *globals, where string) (err error) {
	begin := time.Now()
	shelf, end, err := g.shelf(where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	bar := newBar(c, false)
	found, err := continuous.Verify(ctx, shelf, time.Time{}, bar.tell)
	bar.end()
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	r := continuousResult(where, found, begin)
	r.sentence = fmt.Sprintf("%s is undamaged up to %s: change %d at least, in %d segments of generation %s", where, found.Made.Format(time.RFC3339), found.Change, found.Segments, found.Generation)
	if err := c.print(r, r.write); err != nil {
		return err
	}
	for _, k := range app.Keys { // its rows are pages here
		c.keepApart(k)
	}
	err = errors.Join(broken(found), errors.Join(found.Earlier...))
	if n := len(found.Missing); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d product files in the backup are damaged, the first is %s: delete them from the backup; the next generation, within a day, copies them again", n, found.Missing[0]))
	}
	return err
}

// isContinuous restores a store from a continuous backup.
func (r *restoreCmd) continuous(ctx context.Context, c *console, g *globals) (err error) {
	begin := time.Now()
	if g.Database != "" {
		return errors.New("a continuous backup is restored to SQLite in a data folder: give --data without --database; hazardd migrate can then move it to PostgreSQL")
	}
	settings, err := g.files()
	if err != nil {
		return err
	}
	shelf, end, err := g.shelf(r.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	dir, err := filepath.Abs(g.Data)
	if err != nil {
		return err
	}
	bar := newBar(c, false)
	found, err := continuous.Restore(ctx, shelf, r.At, dir, settings, c.now(), bar.tell)
	bar.end()
	if err != nil {
		return fmt.Errorf("%s: %w", r.File, err)
	}
	out := continuousResult(r.File, found, begin)
	out.Epoch = ""
	out.sentence = fmt.Sprintf("restored change %d as of %s, and %d product files, into %s: start the server with hazardd serve%s", found.Change, found.Made.Format(time.RFC3339), found.Files,
		g.place(), g.flags())
	if err := c.print(out, out.write); err != nil {
		return err
	}
	c.note("The history goes on under new numbers. What was committed after that moment is not there: streams, pages and webhooks that know it are told.")
	bring := g.withStore(ctx, func(s *store.Store) error { return c.bring(ctx, s, g.Data, g.Database) })
	return errors.Join(bring, broken(found), missing(found.Missing, nil))
}
