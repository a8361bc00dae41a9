package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Repairs copy damaged parts from an intact copy and never guess. Geometries, shapes and product
// files are identified by their SHA-256. A state or held report is accepted only if its checksum
// equals the one in the damaged one, or if nothing but the checksum differs. So a backup from before
// a redaction does not restore redacted texts.

// PartKind is the kind of a part of a store.
type PartKind string

// The kinds of parts, with the meaning of their keys.
const (
	StatePart    PartKind = "change"       // number of the change
	HeldPart     PartKind = "held report"  // its number
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
	i := slices.IndexFunc(places, func(at place) bool { return at.table == t.Name })
	if i < 0 {
		return p, nil, false
	}
	key := t.column(row, places[i].key)
	switch c := t.column(row, places[i].column).(type) {
	case string:
		content = []byte(c)
	case []byte:
		content = c
	}
	return Part{places[i].kind, fmt.Sprint(key)}, content, key != nil && content != nil
}

// place is a column that holds parts of a kind.
type place struct {
	kind               PartKind
	table, key, column string
}

// places are all columns that hold parts.
var places = []place{
	{StatePart, "changes", "n", "body"},
	{StatePart, "products", "n", "body"},
	{HeldPart, "held", "id", "body"},
	{GeometryPart, "geometries", "digest", "geojson"},
	{ShapesPart, "shapes", "digest", "body"},
}

// sealed reports whether parts of the kind have a number and end with a checksum. All others have a digest.
func (k PartKind) sealed() bool { return k == StatePart || k == HeldPart }

// keyed returns the key of a part as its table has it.
func (p Part) keyed() (any, error) {
	if !p.Kind.sealed() {
		return p.Key, nil
	}
	return strconv.ParseInt(p.Key, 10, 64)
}

// fits returns an error unless content is an intact copy of the part.
func (p Part) fits(content []byte) error {
	if p.Kind.sealed() && !sealed(content) {
		return &DamagedError{p.String()}
	}
	return p.intact(content)
}

// intact does the same as fits, but accepts a part without a checksum.
func (p Part) intact(content []byte) error {
	switch p.Kind {
	case StatePart, HeldPart:
		n, err := strconv.ParseInt(p.Key, 10, 64)
		if err == nil && !sealFits(n, content) {
			err = &DamagedError{p.String()}
		}
		return err
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
	if !p.Kind.sealed() {
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

func (s *core) copies(ctx context.Context, p Part, f func(place, []byte)) error {
	key, err := p.keyed()
	if err != nil {
		return err
	}
	for _, at := range places {
		if at.kind != p.Kind {
			continue
		}
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
	err = s.inTx(ctx, func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) error {
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
	f, err := s.Files.Stage(ctx, r, maxFile)
	if err != nil {
		return false, err
	}
	if ok = f.Digest == digest; ok && write {
		err = f.Put(ctx)
	}
	return ok && err == nil, errors.Join(err, f.Drop())
}

// maxFile bounds a restored file, in bytes.
const maxFile = 1 << 40
