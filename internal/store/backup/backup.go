// Package backup saves a store's rows and product files in one file, restores them, and moves a
// store to another database.
//
// All three use the same transfer. It copies every row as of one moment, table by table in the
// order of the primary keys. It reads from a store (store.Dump) or an archive, and writes to an
// archive or an empty store (store.Target). The written rows are read back and compared by SHA-256;
// until then the new store cannot be opened. Running the same transfer again continues an
// interrupted one.
//
// An archive is a tar file, compressed with zstd, with these entries in this order; docs/operate.md
// describes it for readers without this program:
//
//	manifest.json              what it is: Manifest
//	tables/NAME.NNNNNN.ndjson  the rows of a table, one object per line, in parts of some MiB, numbered from 1
//	files/aa/DIGEST            the content of a product file, by its SHA-256
//	totals.json                what was written: Totals
//	SHA256SUMS                 the SHA-256 of each entry before it, in the format of sha256sum --check
//
// An archive is rejected if any byte was changed or cut off. It contains the signing keys and the
// hashes of passwords.
package backup

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"time"

	"github.com/hazardd/hazardd/internal/store"
)

// format is the version of the archive format.
const format = 1

// The names of entries.
const (
	manifestName = "manifest.json"
	totalsName   = "totals.json"
	sumsName     = "SHA256SUMS"
)

// partBytes is the size at which a part of a table is full. A row is never divided between parts.
// It limits the memory needed.
const partBytes = 4 << 20

// Manifest describes an archive. It is the first entry.
type Manifest struct {
	Format       int           `json:"format"`
	ID           string        `json:"id"` // of this archive
	Program      string        `json:"program"`
	Made         time.Time     `json:"made"`
	Schema       int           `json:"schema"`       // number of migrations of the tables
	Epoch        string        `json:"epoch"`        // epoch of the history
	Installation string        `json:"installation"` // installation that the archive comes from
	Change       int64         `json:"change"`       // number of the latest change
	Tables       []store.Table `json:"tables"`       // in the order of the entries
	// Pruned is set if the archive contains rows pruned from a store instead of a whole store.
	Pruned *Pruned `json:"pruned,omitzero"`
}

// Totals says how much an archive contains.
type Totals struct {
	Tables []TableTotal `json:"tables"`
	Files  int64        `json:"files"`
	Bytes  int64        `json:"bytes"` // total size of the files
	// Missing lists the digests of contents that rows refer to, but that are missing or damaged in
	// the store.
	Missing []string `json:"missing"`
	// Damaged names rows whose checksum was wrong, at most maxDamaged of them. The archive contains
	// them as they were found.
	Damaged []string `json:"damaged,omitzero"`
}

// maxDamaged is the maximum number of damaged rows that are named. hazardd check names all.
const maxDamaged = 100

// intact reports whether a row has not been damaged. It adds the name of a damaged row to Damaged.
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

// TableTotal says how much a table contains.
type TableTotal struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	SHA256 string `json:"sha256"` // of the parts of the table, concatenated
}

// Rows returns the number of rows in all tables.
func (t *Totals) Rows() (n int64) {
	for _, table := range t.Tables {
		n += table.Rows
	}
	return n
}

// Progress is called with the progress of a transfer. what is the current step: "rows", "files",
// "searches" (adds the hazards to the search index) or "finish". done is the completed part of
// total; total is 0 if unknown.
type Progress func(what string, done, total int64)

func (p Progress) report(what string, done, total int64) {
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

// parsePart parses the name of a part. number is 0 if the name is invalid.
func parsePart(name string) (table string, number int) {
	if m := partPattern.FindStringSubmatch(name); m != nil {
		number, _ = strconv.Atoi(m[2]) // m[2] consists of digits
		return m[1], number
	}
	return "", 0
}

// parseFile parses the name of a content. It returns the empty string if the name is invalid.
func parseFile(name string) (digest string) {
	if m := filePattern.FindStringSubmatch(name); m != nil && m[1] == m[2][:2] {
		return m[2]
	}
	return ""
}
