package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// A Target is filled by a transfer. Until everything is there and verified, the store itself
// records that it is incomplete.

// filling describes the command that fills an incomplete store. It is removed when everything is
// there and verified.
type filling struct {
	By string `json:"by"` // name of the command
	Of string `json:"of"` // what it copies; only the same copy can be resumed
	// Rows means that all rows are there and verified. The schema has been upgraded since, so rows
	// can no longer be compared.
	Rows bool `json:"rows,omitzero"`
}

// UnfinishedError says that a store is incomplete: a command has begun to fill it and has not
// finished.
type UnfinishedError struct{ By string }

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("the store is incomplete because hazardd %s did not finish: run the same command again to continue, or start in another folder or database", e.By)
}

// whole returns an error for a store that is being filled.
func whole(ctx context.Context, tx *sql.Tx) error {
	now, err := fillingOf(ctx, tx)
	if err == nil && now != nil {
		err = &UnfinishedError{now.By}
	}
	return err
}

func fillingOf(ctx context.Context, tx *sql.Tx) (*filling, error) {
	var text string
	if err := tx.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = 'unfinished'`).Scan(&text); none(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("check whether the store is complete: %w", storeError(err))
	}
	f := &filling{}
	return f, json.Unmarshal([]byte(text), f)
}

// NotEmptyError says that a store is not empty, but must be.
type NotEmptyError struct {
	Table string
	Rows  int64
}

func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("the store is not empty: table %s has %d rows; name a folder and a database that hold nothing", e.Table, e.Rows)
}

// Target is a store that is being filled. Until Finish has returned nil, it cannot be opened as a
// store. It is not safe for concurrent use.
type Target struct {
	Tables []Table
	// Resumed means that an earlier run has begun to fill it.
	Resumed bool
	filling filling
	store   *Store
}

// OpenTarget opens an empty store for a command to fill, or one that the same command has begun to
// fill with the same copy. schema is how many migrations create its tables; the store must not have
// more. The error is a *NotEmptyError if a complete store is there.
func OpenTarget(ctx context.Context, dir, name string, schema int, by, of string, more ...Option) (t *Target, err error) {
	s, err := connect(ctx, dir, name, options{}, false)
	if err != nil {
		return nil, err
	}
	t = &Target{store: s, filling: filling{By: by, Of: of}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
			t = nil
		}
	}()
	if err := s.migrate(ctx, schema, func(tx *sql.Tx) error { return t.begin(ctx, tx, schema) }); err != nil {
		return t, err
	}
	s.files, err = openFiles(dir, optionsOf(more).files)
	return t, err
}

// begin marks the store as being filled, if that is allowed.
func (t *Target) begin(ctx context.Context, tx *sql.Tx, schema int) error {
	have, err := schemaOf(ctx, tx)
	if err != nil {
		return err
	}
	if t.Tables, err = tablesOf(ctx, tx, t.store.database); err != nil {
		return err
	}
	before, err := fillingOf(ctx, tx)
	switch {
	case err != nil:
		return err
	case before != nil && before.By == t.filling.By && before.Of == t.filling.Of && (before.Rows || have == schema):
		t.Resumed, t.filling = true, *before
		return nil
	case before != nil && before.By == t.filling.By:
		return fmt.Errorf("the store is not empty: another %s into it has begun, from something else; end that one, or name a folder and a database that hold nothing", before.By)
	case before != nil:
		return &UnfinishedError{before.By}
	}
	for _, table := range t.Tables {
		if table.Name == "meta" || table.Name == "counters" {
			continue // every store has rows in these tables
		}
		if n, err := count(ctx, tx, &table); err != nil {
			return err
		} else if n > 0 {
			return &NotEmptyError{table.Name, n}
		}
	}
	if have != schema {
		return fmt.Errorf("the store was made by another release (schema %d, needed is %d): name a folder and a database that do not exist yet", have, schema)
	}
	for _, q := range []string{`DELETE FROM meta`, `DELETE FROM counters WHERE ` + withheld["counters"]} {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return t.mark(ctx, tx)
}

// mark records in the store which command fills it.
func (t *Target) mark(ctx context.Context, tx *sql.Tx) error {
	text, err := json.Marshal(t.filling)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES ('unfinished', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, string(text))
	return err
}

// Close closes the store, complete or not.
func (t *Target) Close() error { return t.store.Close() }

// How much is written at once: rows per statement, and bytes per transaction. Others wait for a
// transaction, and a kill undoes it.
const (
	maxParameters    = 2000
	statementRows    = 64
	statementBytes   = 1 << 20
	transactionBytes = 4 << 20
)

// Filler fills one table.
type Filler struct {
	target *Target // nil if the table is complete
	table  *Table
	there  int64 // rows written by an earlier run
	given  int64
	sum    hash.Hash // of the rows passed to Put
	line   []byte
	rows   []any // arguments of one statement
	n      int   // rows in it
	bytes  int   // in it
	tx     *sql.Tx
	inTx   int // bytes
	// Altered counts the rows with a text that the database cannot hold: PostgreSQL's texts are
	// UTF-8 without the character 0.
	Altered int64
}

// Fill begins to fill a table, from its first row on. Rows from an earlier run are skipped. The
// caller must call Close.
func (t *Target) Fill(ctx context.Context, table *Table) (*Filler, error) {
	if t.filling.Rows {
		return &Filler{table: table, sum: sha256.New()}, nil
	}
	i := slices.IndexFunc(t.Tables, func(own Table) bool { return own.Name == table.Name })
	if i < 0 || !sameTable(&t.Tables[i], table) {
		return nil, fmt.Errorf("table %s is not one of this release: its columns are %s", table.Name, table.names())
	}
	f := &Filler{target: t, table: &t.Tables[i], sum: sha256.New()}
	return f, t.read(ctx, func(tx *sql.Tx) (err error) {
		f.there, err = count(ctx, tx, f.table)
		return err
	})
}

// Put takes the next row.
func (f *Filler) Put(ctx context.Context, row []any) (err error) {
	if f.target != nil && f.target.store.database.onlyText() {
		row = f.fit(row)
	}
	if f.line, err = f.table.AppendRow(f.line[:0], row); err != nil {
		return err
	}
	f.sum.Write(f.line)
	if f.given++; f.given <= f.there || f.target == nil {
		return nil
	}
	f.rows = append(f.rows, row...)
	f.n++
	f.bytes += len(f.line)
	if f.n >= min(statementRows, max(maxParameters/len(row), 1)) || f.bytes >= statementBytes {
		return f.insert(ctx)
	}
	return nil
}

// fit returns the row with texts that the database can hold.
func (f *Filler) fit(row []any) []any {
	altered := false
	for i, v := range row {
		text, ok := v.(string)
		if !ok || utf8.ValidString(text) && !strings.Contains(text, "\x00") {
			continue
		}
		row[i] = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
		altered = true
	}
	if altered {
		f.Altered++
	}
	return row
}

// insert writes the collected rows.
func (f *Filler) insert(ctx context.Context) (err error) {
	if f.n == 0 {
		return nil
	}
	if f.tx == nil {
		if f.tx, err = f.target.store.patientTx(ctx); err != nil {
			return err
		}
	}
	if _, err := f.tx.ExecContext(ctx, f.table.insertion(f.n), f.rows...); err != nil {
		return fmt.Errorf("write table %s: %w", f.table.Name, storeError(err))
	}
	f.inTx += f.bytes
	f.rows, f.n, f.bytes = f.rows[:0], 0, 0
	if f.inTx >= transactionBytes {
		return f.commit()
	}
	return nil
}

func (t *Table) insertion(rows int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "INSERT INTO %s (%s) VALUES ", t.Name, t.names())
	for i := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		for j := range t.Columns {
			b.WriteByte("(,"[min(j, 1)])
			fmt.Fprintf(&b, "$%d", i*len(t.Columns)+j+1)
		}
		b.WriteByte(')')
	}
	return b.String()
}

func (f *Filler) commit() error {
	if f.tx == nil {
		return nil
	}
	err := f.tx.Commit()
	if err != nil {
		err = errors.Join(fmt.Errorf("write table %s: %w", f.table.Name, storeError(err)), rollback(f.tx))
	}
	f.tx, f.inTx = nil, 0
	return err
}

// DifferentError says that a table does not hold what was written to it, now or by an earlier run.
type DifferentError struct {
	Table    string
	Rows     int64  // number of rows it should have
	Sum      string // SHA-256 that its lines should have
	Found    int64
	FoundSum string
}

func (e *DifferentError) Error() string {
	return fmt.Sprintf("table %s differs from what was written: %d rows with SHA-256 %s, expected %d with %s; start again in another folder or database", e.Table, e.Found, e.FoundSum, e.Rows, e.Sum)
}

// End writes the remaining rows, reads the table back and compares it. The error is a
// *DifferentError if it differs.
func (f *Filler) End(ctx context.Context) (rows int64, sum string, err error) {
	if err := errors.Join(f.insert(ctx), f.commit()); err != nil {
		return 0, "", err
	}
	sum = hex.EncodeToString(f.sum.Sum(nil))
	if f.target == nil {
		return f.given, sum, nil
	}
	var found int64
	var foundSum string
	err = f.target.read(ctx, func(tx *sql.Tx) (err error) {
		found, foundSum, err = f.table.digest(rowsOf(ctx, tx, f.table))
		return err
	})
	if err == nil && (found != f.given || foundSum != sum) {
		err = &DifferentError{f.table.Name, f.given, sum, found, foundSum}
	}
	return f.given, sum, err
}

// Close ends the transfer of the table and undoes incomplete writes.
func (f *Filler) Close() error {
	if f.tx == nil {
		return nil
	}
	return rollback(f.tx)
}

// Clear empties a table, to fill it from the start.
func (t *Target) Clear(ctx context.Context, table *Table) error {
	_, err := t.store.write.ExecContext(ctx, `DELETE FROM `+table.Name+table.where())
	return storeError(err)
}

// read runs f in one read transaction.
func (t *Target) read(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := t.store.snapshot(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(tx), rollback(tx))
}

// Update upgrades the tables to this release's schema once all are filled, and indexes their
// content for searches. After that, contents can be stored.
func (t *Target) Update(ctx context.Context) error {
	err := t.store.migrate(ctx, Schema(), func(tx *sql.Tx) error {
		if err := t.store.asNew(ctx, tx); err != nil {
			return err
		}
		now, err := tablesOf(ctx, tx, t.store.database)
		if err != nil || slices.EqualFunc(now, t.Tables, func(a, b Table) bool { return a.Name == b.Name && sameTable(&a, &b) }) {
			return err
		}
		t.filling.Rows = true // the rows can no longer be compared
		return t.mark(ctx, tx)
	})
	if err != nil {
		return err
	}
	return t.store.prepare(ctx)
}

// Put stores a content of size bytes unless it is there. It must have the given digest.
func (t *Target) Put(ctx context.Context, digest string, size int64, r io.Reader) (err error) {
	f, err := t.store.Files.Stage(ctx, r, size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Drop()) }()
	if f.Digest != digest {
		return fmt.Errorf("product file %s has the SHA-256 %s: it was changed where it comes from", digest, f.Digest)
	}
	return f.Put(ctx)
}

// Finish makes the copy a usable store. With anew its history differs from the original's after the
// latest change, as of now: later changes of the original are not part of it.
func (t *Target) Finish(ctx context.Context, anew bool, now hazard.Instant) error {
	return t.store.inTx(ctx, func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) error {
		if anew {
			if _, err := fork(ctx, q, now, Restored); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM meta WHERE name = 'unfinished'`)
		return err
	})
}

// Frozen is a store that nobody can write to.
type Frozen struct {
	tx    *sql.Tx
	store *Store
}

// Freeze blocks all writes until the store thaws or has moved, so that it does not change while it
// is read. It refuses a store on which a server is running, according to its leases, because that
// server's clients could not write.
func (s *Store) Freeze(ctx context.Context) (*Frozen, error) {
	tx, err := s.patientTx(ctx)
	if err != nil {
		return nil, err
	}
	// A killed server's lease remains for some seconds.
	var holder string
	now, err := s.database.now(ctx, tx, hazard.At(time.Now()))
	if err != nil {
		return nil, errors.Join(storeError(err), rollback(tx))
	}
	err = tx.QueryRowContext(ctx, `SELECT holder FROM leases WHERE until_ms > $1 ORDER BY name LIMIT 1`, int64(now)).Scan(&holder)
	if err == nil {
		err = fmt.Errorf("a server runs on the store, as %s: stop it and try again; if it was killed, wait 10 seconds", holder)
	} else if none(err) {
		err = nil
	}
	if err != nil {
		return nil, errors.Join(storeError(err), rollback(tx))
	}
	return &Frozen{tx, s}, nil
}

// MovedError says that a store has moved to another database, which has the newer data.
type MovedError struct{ To string }

func (e *MovedError) Error() string {
	return fmt.Sprintf("the store has moved to %s, and takes no writes any more: start the servers there", e.To)
}

// Thaw allows writes again.
func (f *Frozen) Thaw() error { return rollback(f.tx) }

// Move ends the freeze and records in the store that it has moved to another database, named for
// people. From then on the database itself refuses writes of data from people and sources. So a
// server of any release that still runs on it acknowledges nothing that the new store lacks. After
// an error, others may have written or may write.
func (f *Frozen) Move(ctx context.Context, to string) error {
	_, err := f.tx.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES ('moved', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, to)
	if err == nil {
		err = f.store.database.refuseWrites(ctx, f.tx, contentTables)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot close the store to writes: %w", storeError(err)), rollback(f.tx))
	}
	return storeError(f.tx.Commit())
}

// contentTables hold the data from people and sources, without a process's own records (leases, states
// of sources).
var contentTables = []string{"users", "organizations", "signing_keys", "revocations", "sessions", "read_keys", "hazards", "products", "changes", "events", "merges", "webhooks", "subscriptions"}

// MovedTo returns the database that the store has moved to (Frozen.Move), or "".
func (s *Store) MovedTo(ctx context.Context) (to string, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = 'moved'`).Scan(&to)
	if none(err) {
		err = nil
	}
	return to, storeError(err)
}

// patientTx begins a write transaction, alone, without a limit on its duration.
func (s *core) patientTx(ctx context.Context) (*sql.Tx, error) {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return nil, storeError(err)
	}
	if err := errors.Join(s.database.patient(ctx, tx), s.database.alone(ctx, tx)); err != nil {
		return nil, errors.Join(storeError(err), rollback(tx))
	}
	return tx, nil
}
