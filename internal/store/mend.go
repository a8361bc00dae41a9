package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/db"
)

// Mending puts back what is damaged from a copy elsewhere, and never guesses: a geometry, shapes and a product file are named by the SHA-256
// of what they hold, and a state is taken for what it was before if its checksum is the one that the damaged state still has, or if
// nothing but the checksum differs. So a backup of before a redaction does not bring back what was redacted.

// PartKind is what a part of a store is.
type PartKind string

// The kinds of parts, and what their keys are.
const (
	StatePart    PartKind = "change"       // the number of the change that made the state
	GeometryPart PartKind = "geometry"     // the digest
	ShapesPart   PartKind = "shapes"       // the digest
	FilePart     PartKind = "product file" // the digest
)

// Part is a part of a store that can be mended by itself.
type Part struct {
	Kind PartKind
	Key  string
}

func (p Part) String() string { return string(p.Kind) + " " + p.Key }

// PartOf is the part that a row of a transfer is a copy of; ok is false if it is of none.
func (t *Table) PartOf(row []any) (p Part, content []byte, ok bool) {
	switch t.Name {
	case "changes", "products":
		n, known := t.column(row, "n").(int64)
		body, text := t.column(row, "body").(string)
		return Part{StatePart, strconv.FormatInt(n, 10)}, []byte(body), known && text
	case "geometries":
		digest, known := t.column(row, "digest").(string)
		text, full := t.column(row, "geojson").(string)
		return Part{GeometryPart, digest}, []byte(text), known && full
	case "shapes":
		digest, known := t.column(row, "digest").(string)
		body, full := t.column(row, "body").([]byte)
		return Part{ShapesPart, digest}, body, known && full
	}
	return p, nil, false
}

// place is a column that holds a part.
type place struct{ table, key, column string }

func (k PartKind) places() []place {
	switch k {
	case StatePart:
		return []place{{"changes", "n", "body"}, {"products", "n", "body"}}
	case GeometryPart:
		return []place{{"geometries", "digest", "geojson"}}
	case ShapesPart:
		return []place{{"shapes", "digest", "body"}}
	}
	return nil
}

// keyed is the key of a part as its tables have it.
func (p Part) keyed() (any, error) {
	if p.Kind != StatePart {
		return p.Key, nil
	}
	return strconv.ParseInt(p.Key, 10, 64)
}

// fits is an error unless a content is whole and that of the part.
func (p Part) fits(content []byte) error {
	switch p.Kind {
	case StatePart:
		n, err := strconv.ParseInt(p.Key, 10, 64)
		if err != nil {
			return err
		}
		if !sealed(content) {
			return &DamagedError{p.String()}
		}
		return intact(n, content)
	case GeometryPart:
		return intactGeometry(p.Key, string(content))
	case ShapesPart:
		_, err := openShapes(p.Key, content)
		return err
	}
	return fmt.Errorf("%s is no row", p)
}

// was reports whether damaged content was once another that fits.
func (p Part) was(damaged, other []byte) bool {
	if p.Kind != StatePart {
		return true // its name says so
	}
	if len(damaged) < sealSize || len(other) < sealSize {
		return false
	}
	a, b := len(damaged)-sealSize, len(other)-sealSize
	return bytes.Equal(damaged[a:], other[b:]) || bytes.Equal(damaged[:a], other[:b])
}

// Copies reads what the store itself holds of a part, damaged or not.
func (s *Store) Copies(ctx context.Context, p Part) (all [][]byte, err error) {
	err = s.copies(ctx, p, func(_ place, content []byte) { all = append(all, content) })
	return all, err
}

func (s *Store) copies(ctx context.Context, p Part, f func(place, []byte)) error {
	key, err := p.keyed()
	if err != nil {
		return err
	}
	for _, at := range p.Kind.places() {
		var content []byte
		err := s.inspect.QueryRowContext(ctx, `SELECT `+at.column+` FROM `+at.table+` WHERE `+at.key+` = $1`, key).Scan(&content)
		if err == nil {
			f(at, content)
		} else if !none(err) {
			return storeError(err)
		}
	}
	return nil
}

// Mend puts content in place of what is damaged of a part, if it is what was there before, and reports whether it did; without write it
// only reports whether it would. A server may run meanwhile. audit says who mends.
func (s *Store) Mend(ctx context.Context, p Part, content []byte, write bool, audit auth.Audit) (mended bool, err error) {
	if p.fits(content) != nil {
		return false, nil
	}
	key, err := p.keyed()
	if err != nil {
		return false, err
	}
	type wrong struct {
		place
		content []byte
	}
	var all []wrong
	if err := s.copies(ctx, p, func(at place, found []byte) {
		if p.fits(found) != nil && p.was(found, content) {
			all = append(all, wrong{at, found})
		}
	}); err != nil || len(all) == 0 || !write {
		return len(all) > 0, err
	}
	value := func(b []byte) any {
		if p.Kind == ShapesPart {
			return b
		}
		return string(b)
	}
	err = s.inTx(ctx, func(ctx context.Context, tx *sql.Tx, q *db.Queries) error {
		for _, at := range all {
			result, err := tx.ExecContext(ctx, `UPDATE `+at.table+` SET `+at.column+` = $1 WHERE `+at.key+` = $2 AND `+at.column+` = $3`, value(content), key, value(at.content))
			if err != nil {
				return err
			}
			if n, err := result.RowsAffected(); err != nil || n != 1 {
				return errors.Join(err, fmt.Errorf("%w: %s was written to meanwhile", hazard.ErrConflict, p))
			}
		}
		return addAudit(ctx, q, &audit)
	})
	return err == nil, err
}

// BringFile brings back the content of a product file that the store has lost or damaged, if r gives what its digest says, and reports whether
// it did; without write it only reports whether it would.
func (s *Store) BringFile(ctx context.Context, digest string, r io.Reader, write bool) (ok bool, err error) {
	f, err := s.StageFile(ctx, r, mostFile)
	if err != nil {
		return false, err
	}
	if ok = f.Digest == digest; ok && write {
		err = f.Put(ctx)
	}
	return ok && err == nil, errors.Join(err, f.Drop())
}

// mostFile bounds a content that comes back, in bytes.
const mostFile = 1 << 40
