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
	"github.com/hazardd/hazardd/internal/store/db"
)

// A Target is filled by a transfer. It says in itself that it is not whole, until all is there and was found right.

// filling is who fills a store that is not whole yet. It stands in the store until all is there and was found right.
type filling struct {
	By string `json:"by"` // the command
	Of string `json:"of"` // what it fills it with: another may not go on
	// Rows tells that all rows are there, and were found right; since then the schema is another than theirs.
	Rows bool `json:"rows,omitzero"`
}

// UnfinishedError says that a store is not whole: a command that fills it has begun, and has not ended.
type UnfinishedError struct{ By string }

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("the store is not whole, since hazardd %s did not end: run the same command again, which goes on where it was, or begin anew in another folder or database", e.By)
}

// whole refuses a store that is being filled.
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
		return nil, fmt.Errorf("look whether the store is whole: %w", storeError(err))
	}
	f := &filling{}
	return f, json.Unmarshal([]byte(text), f)
}

// NotEmptyError says that a store holds something, and must not.
type NotEmptyError struct {
	Table string
	Rows  int64
}

func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("the store is not empty: table %s has %d rows; name a folder and a database that hold nothing", e.Table, e.Rows)
}

// Target is a store that is being filled. Until Finish has returned nil nobody can open it as a store. It is not safe for concurrent use.
type Target struct {
	Tables []Table
	// Resumed tells that an earlier run has begun to fill it.
	Resumed bool
	filling filling
	store   *Store
}

// OpenTarget opens an empty store to be filled by a command, or one that the same command has begun to fill with the same. schema is how many
// migrations its tables are to be made by; the store must not have more. The error is a *NotEmptyError where there is a store already.
func OpenTarget(ctx context.Context, dir, name string, schema int, by, of string, more ...Option) (t *Target, err error) {
	s, err := connect(ctx, dir, name)
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
	s.files, err = openFiles(dir, more)
	return t, err
}

// begin makes the store one that is being filled, if it may be.
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
			continue // every store has rows in these
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

// mark writes into the store who fills it.
func (t *Target) mark(ctx context.Context, tx *sql.Tx) error {
	text, err := json.Marshal(t.filling)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES ('unfinished', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, string(text))
	return err
}

// Close closes the store, whole or not.
func (t *Target) Close() error { return t.store.Close() }

// Bounds of what is written at once: so many rows by one statement, and so much by one transaction, which others wait for and a kill takes back.
const (
	maxParameters    = 2000
	statementRows    = 64
	statementBytes   = 1 << 20
	transactionBytes = 4 << 20
)

// Filler takes the rows of one table.
type Filler struct {
	target *Target // nil: all is there
	table  *Table
	there  int64 // rows that an earlier run has written
	given  int64
	sum    hash.Hash // of the rows that were given
	line   []byte
	rows   []any // of one statement, flat
	n      int   // rows in it
	bytes  int   // in it
	tx     *sql.Tx
	inTx   int // bytes
	// Altered counts the rows with a text that the database cannot hold: PostgreSQL has no character 0, and nothing but UTF-8.
	Altered int64
}

// Fill begins to take the rows of a table, from its first row on, whatever an earlier run has written: what is there already is passed over.
// Close it.
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

// fit is the row as a database that only holds text takes it.
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

// insert writes the rows that have gathered.
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

// DifferentError says that a table does not hold what was written into it, or by an earlier run.
type DifferentError struct {
	Table    string
	Rows     int64  // that it should have
	Sum      string // SHA-256 that their lines should have
	Found    int64
	FoundSum string
}

func (e *DifferentError) Error() string {
	return fmt.Sprintf("table %s does not hold what was written into it: %d rows with SHA-256 %s, expected %d with %s; begin anew in another folder or database", e.Table, e.Found, e.FoundSum, e.Rows, e.Sum)
}

// End writes what is left, reads the table back from the database, and compares. The error is a *DifferentError if it is not what was given.
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

// Close ends it, and takes back what was not written whole.
func (f *Filler) Close() error {
	if f.tx == nil {
		return nil
	}
	return rollback(f.tx)
}

// Clear empties a table, to be filled from its beginning.
func (t *Target) Clear(ctx context.Context, table *Table) error {
	_, err := t.store.write.ExecContext(ctx, `DELETE FROM `+table.Name+table.where())
	return storeError(err)
}

// read runs f in one reading transaction.
func (t *Target) read(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := t.store.snapshot(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(tx), rollback(tx))
}

// Update makes the tables those of this release, once all have been filled, and what is in them found by searches. Contents can be put from then on.
func (t *Target) Update(ctx context.Context) error {
	err := t.store.migrate(ctx, Schema(), func(tx *sql.Tx) error {
		if err := t.store.asNew(ctx, tx); err != nil {
			return err
		}
		now, err := tablesOf(ctx, tx, t.store.database)
		if err != nil || slices.EqualFunc(now, t.Tables, func(a, b Table) bool { return a.Name == b.Name && sameTable(&a, &b) }) {
			return err
		}
		t.filling.Rows = true // whoever goes on can no longer compare them
		return t.mark(ctx, tx)
	})
	if err != nil {
		return err
	}
	return t.store.prepare(ctx)
}

// Put puts a content of size bytes in its place, where it was not there yet. Its digest must be the one given.
func (t *Target) Put(ctx context.Context, digest string, size int64, r io.Reader) (err error) {
	f, err := t.store.StageFile(ctx, r, size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Drop()) }()
	if f.Digest != digest {
		return fmt.Errorf("product file %s has the SHA-256 %s: it was changed where it comes from", digest, f.Digest)
	}
	return f.Put(ctx)
}

// Finish makes a store of what has been written and updated. With anew the history is another from the latest change on, as of now: what was
// committed elsewhere after that is none of it.
func (t *Target) Finish(ctx context.Context, anew bool, now hazard.Instant) error {
	return t.store.inTx(ctx, func(ctx context.Context, tx *sql.Tx, q *db.Queries) error {
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

// Freeze keeps everybody from writing until the store thaws or has moved, so that what is read meanwhile stays what the store holds. It
// refuses a store that a server runs on, as far as a lease tells of it: the server's clients would be told that it cannot be written to.
func (s *Store) Freeze(ctx context.Context) (*Frozen, error) {
	tx, err := s.patientTx(ctx)
	if err != nil {
		return nil, err
	}
	// One that was killed leaves its lease for some seconds.
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

// MovedError says that a store has moved to another database, which holds what came after.
type MovedError struct{ To string }

func (e *MovedError) Error() string {
	return fmt.Sprintf("the store has moved to %s, and takes no writes any more: start the servers there", e.To)
}

// Thaw lets others write again.
func (f *Frozen) Thaw() error { return rollback(f.tx) }

// Move ends the frozen time and says in the store that it has moved to another database, named for people. From then on the database itself
// refuses to write what people and sources say: a server that still runs on it, of whatever release, acknowledges nothing that the other
// store does not have. An error says that others may have written meanwhile, or may write.
func (f *Frozen) Move(ctx context.Context, to string) error {
	_, err := f.tx.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES ('moved', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, to)
	if err == nil {
		err = f.store.database.refuseWrites(ctx, f.tx, saidTables)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the store could be written to meanwhile: %w", storeError(err)), rollback(f.tx))
	}
	return storeError(f.tx.Commit())
}

// saidTables hold what people and sources say. What a process notes for itself (leases, states of sources) is not among them.
var saidTables = []string{"users", "organizations", "signing_keys", "revocations", "sessions", "read_keys", "hazards", "products", "changes", "events", "merges", "webhooks", "subscriptions"}

// MovedTo names the database that the store has moved to (Frozen.Move); empty if it has not.
func (s *Store) MovedTo(ctx context.Context) (to string, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = 'moved'`).Scan(&to)
	if none(err) {
		err = nil
	}
	return to, storeError(err)
}

// patientTx begins a write transaction, alone, that may take its time.
func (s *Store) patientTx(ctx context.Context) (*sql.Tx, error) {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return nil, storeError(err)
	}
	if err := errors.Join(s.database.patient(ctx, tx), s.database.alone(ctx, tx)); err != nil {
		return nil, errors.Join(storeError(err), rollback(tx))
	}
	return tx, nil
}
