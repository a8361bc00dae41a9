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

// Repairs copy damaged parts from an intact copy and never guess. Geometries, shapes and product
// files are identified by their SHA-256. A state is accepted only if its checksum equals the one in
// the damaged state, or if nothing but the checksum differs. So a backup from before a redaction
// does not restore redacted texts.

// PartKind is the kind of a part of a store.
type PartKind string

// The kinds of parts, with the meaning of their keys.
const (
	StatePart    PartKind = "change"       // number of the change
	GeometryPart PartKind = "geometry"     // the digest
	ShapesPart   PartKind = "shapes"       // the digest
	FilePart     PartKind = "product file" // the digest
)

// Part is a part of a store that can be repaired on its own.
type Part struct {
	Kind PartKind
	Key  string
}

func (p Part) String() string { return string(p.Kind) + " " + p.Key }

// PartOf returns the part in a row of a transfer; ok is false if the row holds none.
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

// place is a column that holds parts.
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

// keyed returns the key of a part as its table has it.
func (p Part) keyed() (any, error) {
	if p.Kind != StatePart {
		return p.Key, nil
	}
	return strconv.ParseInt(p.Key, 10, 64)
}

// fits returns an error unless content is an intact copy of the part.
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
	return fmt.Errorf("%s is not a row", p)
}

// was reports whether the damaged content was originally other, which fits.
func (p Part) was(damaged, other []byte) bool {
	if p.Kind != StatePart {
		return true // the digest proves it
	}
	if len(damaged) < sealSize || len(other) < sealSize {
		return false
	}
	a, b := len(damaged)-sealSize, len(other)-sealSize
	return bytes.Equal(damaged[a:], other[b:]) || bytes.Equal(damaged[:a], other[:b])
}

// Copies reads the store's own copies of a part, damaged or not.
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

// Mend replaces damaged copies of a part by content, if that is the original content, and reports
// whether it did. Without write it only reports whether it would. A server may run meanwhile. audit
// says who repairs.
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

// BringFile restores a lost or damaged product file from r, if r has the right digest, and reports
// whether it did. Without write it only reports whether it would.
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

// mostFile bounds a restored file, in bytes.
const mostFile = 1 << 40
