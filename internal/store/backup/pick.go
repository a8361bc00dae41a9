package backup

import (
	"context"
	"io"

	"github.com/hazardd/hazardd/internal/store"
)

// Pick reads an archive to its end. It calls row with each row, and file with each product file;
// file need not read all of it. Only when Pick returns is it known whether the archive is
// undamaged: see Verify.
func Pick(ctx context.Context, r io.Reader, row func(*store.Table, []any) error, file func(digest string, r io.Reader) error) error {
	_, _, err := read(ctx, r, &picker{takeRow: row, takeFile: file}, nil)
	return err
}

type picker struct {
	nothing
	takeRow  func(*store.Table, []any) error
	takeFile func(string, io.Reader) error
	open     *store.Table
}

func (p *picker) table(_ context.Context, t *store.Table) error {
	p.open = t
	return nil
}

func (p *picker) row(_ context.Context, row []any) error { return p.takeRow(p.open, row) }

func (p *picker) file(_ context.Context, digest string, _ int64, r io.Reader) error {
	if err := p.takeFile(digest, r); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, r)
	return err
}
