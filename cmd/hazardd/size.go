package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"

	"github.com/hazardd/hazardd/internal/store"
)

type sizeCmd struct{}

// sizeResult is the size of a store by part.
type sizeResult struct {
	Tables   []store.Size `json:"tables"`
	Files    store.Size   `json:"files"`    // product files in the data folder
	Evidence store.Size   `json:"evidence"` // payloads of sources
	Pictures store.Size   `json:"pictures"` // pictures that sources link to
	Total    int64        `json:"total"`    // bytes
}

// Run shows the size of each part of a store. A server may be running.
func (*sizeCmd) Run(ctx context.Context, c *console, g *globals) error {
	return g.withOldStore(ctx, func(s *store.Store) (err error) {
		var r sizeResult
		if r.Tables, err = s.Sizes(ctx); err != nil {
			return err
		}
		if r.Files, err = folderSize(filepath.Join(g.Data, "files")); err != nil {
			return err
		}
		r.Files.Name = "product files"
		use, err := s.Evidence.Usage(ctx)
		if err != nil {
			return err
		}
		r.Evidence = store.Size{Name: "evidence", Rows: use.Payloads, Bytes: use.Kept}
		r.Pictures.Name = "pictures"
		if r.Pictures.Rows, r.Pictures.Bytes, err = s.Pictures.Usage(ctx); err != nil {
			return err
		}
		r.Total = r.Files.Bytes + r.Evidence.Bytes + r.Pictures.Bytes
		for _, t := range r.Tables {
			r.Total += t.Bytes
		}
		return c.print(r, func(w io.Writer) error { return r.write(w, c.outTerminal) })
	})
}

func folderSize(dir string) (s store.Size, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return nil
		}
		var info fs.FileInfo
		if err == nil {
			info, err = d.Info()
		}
		if errors.Is(err, fs.ErrNotExist) { // not there yet, or removed meanwhile
			return nil
		}
		if err == nil {
			s.Rows++
			s.Bytes += info.Size()
		}
		return err
	})
	return s, err
}

func (r *sizeResult) write(w io.Writer, colour bool) error {
	others := store.Size{Name: "other tables"} // tables below one percent each
	all := store.Size{Name: "all", Bytes: r.Total}
	t := newTable("What", "Rows", "Bytes")
	add := func(s store.Size) { t.add(s.Name, strconv.FormatInt(s.Rows, 10), strconv.FormatInt(s.Bytes, 10)) }
	for _, s := range r.Tables {
		all.Rows += s.Rows
		if s.Bytes < r.Total/100 {
			others.Rows, others.Bytes = others.Rows+s.Rows, others.Bytes+s.Bytes
			continue
		}
		add(s)
	}
	for _, s := range []store.Size{others, r.Files, r.Evidence, r.Pictures, all} {
		add(s)
	}
	return t.write(w, colour)
}
