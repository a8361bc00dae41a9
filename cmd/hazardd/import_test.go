package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

func TestAPayloadIsBoundedAfterDecompression(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(bytes.Repeat([]byte("0"), 100_000)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		content string
		limit   int64
		size    int // 0: refused
	}{
		"as large as allowed":       {strings.Repeat("0", 1000), 1000, 1000},
		"one byte too many":         {strings.Repeat("0", 1001), 1000, 0},
		"gzip":                      {zipped.String(), 100_000, 100_000},
		"gzip of one byte too many": {zipped.String(), 99_999, 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "payload")
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			in, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			for _, from := range []string{path, "-"} {
				payload, err := readPayload(&console{in: in}, from, tt.limit)
				if refused := err != nil && strings.Contains(err.Error(), "is larger than"); refused != (tt.size == 0) || len(payload) != tt.size {
					t.Errorf("%s: %d bytes, error %v; want %d bytes", from, len(payload), err, tt.size)
				}
			}
		})
	}
	path := filepath.Join(t.TempDir(), "cut.gz")
	if err := os.WriteFile(path, zipped.Bytes()[:zipped.Len()-20], 0o600); err != nil {
		t.Fatal(err)
	}
	if payload, err := readPayload(&console{}, path, maxPayload); len(payload) == 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("truncated gzip: %d bytes, error %v; want the readable part, and io.ErrUnexpectedEOF", len(payload), err)
	}
}

func TestAParserThatPanicsEndsItsFileOnly(t *testing.T) {
	p := payload{file: filepath.Join(t.TempDir(), "x"), source: poll.Source{Source: source.Source{Name: "x", Parse: func([]byte, hazard.Instant) (source.Batch, error) { panic("no such element") }}}}
	if err := os.WriteFile(p.file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := p.take(&console{}, func(p *payload, content []byte, cut *poll.Failure) (fuse.Result, error) {
		return poll.Import(t.Context(), nil, &p.source, content, cut, 0, hazard.Instant(0), fuse.Options{})
	})
	if err != nil || !strings.Contains(f.Error, "the parser of x failed") || !strings.Contains(f.Error, "no such element") {
		t.Errorf("%+v, error %v", f, err)
	}
}

func TestManyRejectsAreNotAllNamed(t *testing.T) {
	var out, errs bytes.Buffer
	f := &imported{File: "many.json", Counts: poll.Counts{Read: 25, Rejected: 25}}
	for range 25 {
		f.Rejects = append(f.Rejects, reject{"record", "no\x1b[2J reason"})
	}
	err := (&importCmd{Source: "usgs"}).report(&console{out: &out, err: &errs}, []*imported{f})
	if n := strings.Count(errs.String(), "many.json: record: no[2J reason\n"); n != maxNamed || !strings.Contains(errs.String(), "many.json: and 5 more\n") {
		t.Errorf("%d named:\n%s", n, &errs)
	}
	if err == nil || err.Error() != "25 records were rejected" {
		t.Errorf("error %v", err)
	}
}
