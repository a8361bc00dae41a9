// Package archive keeps a store's rows and product files in one file, brings them back, and moves a store to another database.
//
// All three are one transfer: every row of one moment, table by table in the order of the primary keys, read from a store (store.Dump)
// or from an archive, written to an archive or into an empty store (store.Target). The rows that were written are read back and compared by
// SHA-256, and until that is done nobody can open the store. What was interrupted goes on where it was when the same is begun again.
//
// An archive is a tar file, compressed with zstd, with these entries in this order; docs/backup.md describes it for those who have nothing else left:
//
//	manifest.json              what it is: Manifest
//	tables/NAME.NNNNNN.ndjson  the rows of a table, one object a line, in parts of some MiB that are numbered from 1
//	files/aa/DIGEST            the content of a product file, by its SHA-256
//	totals.json                what was written: Totals
//	SHA256SUMS                 the SHA-256 of each entry before it, as sha256sum --check reads it
//
// Whoever changes a byte of it, or cuts it, makes it one that is refused. It holds the signing keys and the hashes of passwords.
package archive

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"time"

	"github.com/hazardd/hazardd/internal/store"
)

// format is the version of the form of an archive.
const format = 1

// The names of entries.
const (
	manifestName = "manifest.json"
	totalsName   = "totals.json"
	sumsName     = "SHA256SUMS"
)

// partBytes is when a part of a table is full: a row of any length is in one part. It bounds the memory that is needed.
const partBytes = 4 << 20

// Manifest says what an archive is. It is its first entry.
type Manifest struct {
	Format       int           `json:"format"`
	ID           string        `json:"id"` // of this archive
	Program      string        `json:"program"`
	Made         time.Time     `json:"made"`
	Schema       int           `json:"schema"`       // how many migrations have made the tables
	Epoch        string        `json:"epoch"`        // of the history
	Installation string        `json:"installation"` // that it is of
	Change       int64         `json:"change"`       // number of the latest change
	Tables       []store.Table `json:"tables"`       // in the order of the entries
	// Pruned says that the archive holds what was pruned of a store, and not a store.
	Pruned *Pruned `json:"pruned,omitzero"`
}

// Totals says how much an archive holds.
type Totals struct {
	Tables []TableTotal `json:"tables"`
	Files  int64        `json:"files"`
	Bytes  int64        `json:"bytes"` // of the files
	// Missing are the digests of contents that the rows name and that the store did not have whole.
	Missing []string `json:"missing"`
	// Damaged names what was no longer as it was written, the first maxDamaged of it. It is in the archive as it was found.
	Damaged []string `json:"damaged,omitzero"`
}

// maxDamaged bounds how many damaged rows are named: hazardd check names them all.
const maxDamaged = 100

// intact reports whether a row is as it was written, and names it if not.
func (t *Totals) intact(table *store.Table, row []any) bool {
	damaged, ok := errors.AsType[*store.DamagedError](table.Intact(row))
	if ok {
		t.damage(damaged.What)
	}
	return !ok
}

func (t *Totals) damage(what string) {
	if len(t.Damaged) < maxDamaged {
		t.Damaged = append(t.Damaged, what)
	}
}

// TableTotal is how much a table holds.
type TableTotal struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	SHA256 string `json:"sha256"` // of the parts of the table, one after the other
}

// Rows returns how many rows all tables have together.
func (t *Totals) Rows() (n int64) {
	for _, table := range t.Tables {
		n += table.Rows
	}
	return n
}

// Progress is told how far a transfer is: what is being done ("rows", "files", "searches", which makes the hazards found by them, and "finish"), how many of them are
// done, and of how many, 0 if that is not known.
type Progress func(what string, done, total int64)

func (p Progress) tell(what string, done, total int64) {
	if p != nil {
		p(what, done, total)
	}
}

func partName(table string, part int) string {
	return fmt.Sprintf("tables/%s.%06d.ndjson", table, part)
}

func fileName(digest string) string { return path.Join("files", digest[:2], digest) }

var (
	partPattern = regexp.MustCompile(`^tables/([a-z_]+)\.(\d{6,})\.ndjson$`)
	filePattern = regexp.MustCompile(`^files/([0-9a-f]{2})/([0-9a-f]{64})$`)
)

// parsePart reads the name of a part; number is 0 if it is none.
func parsePart(name string) (table string, number int) {
	if m := partPattern.FindStringSubmatch(name); m != nil {
		number, _ = strconv.Atoi(m[2]) // digits
		return m[1], number
	}
	return "", 0
}

// parseFile reads the name of a content; empty if it is none.
func parseFile(name string) (digest string) {
	if m := filePattern.FindStringSubmatch(name); m != nil && m[1] == m[2][:2] {
		return m[2]
	}
	return ""
}
