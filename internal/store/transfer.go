package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Backups, restores and moves to another database are transfers: all rows of a store, by table in
// the order of primary keys, as of one moment. A Dump reads them and a Target writes them. The text
// of a row is the same for all databases, so that checksums can be compared.

// transferred lists the tables in a transfer: those that cannot be derived from anything else.
var transferred = []string{
	"meta", "counters", "forks", "pruned",
	"users", "organizations", "signing_keys", "revocations", "sessions", "read_keys", "attempts", "audit",
	"geometries", "shapes", "hazards", "products", "changes",
	"event_keys", "events", "event_refs", "parted", "merges", "splits", "reports", "held", "source_errors", "source_states", "places", "wakes",
	"webhooks", "deliveries", "subscriptions", "notices", "told", "confirmations", "drafts", "draft_marks",
	"contents", "publishing", "asset_sets", "assets",
}

// notTransferred lists the tables that a transfer leaves out. The tables of searches and the
// position of the file sweep are derived from the log, and the schema comes from the program.
var notTransferred = append([]string{"searchable", "hazard_boxes", "hazard_places", "hazard_writes", "hazard_words", "hazard_values", "contents_named", "schema_version"}, passing...)

// passing lists tables that apply to one server for a short time. A lease belongs to a running
// process, and uploads are counted per day. Evidence (payloads, receipts) may be large, its
// payloads are stored elsewhere, and no hazard depends on it. Pictures can be fetched again.
var passing = []string{"leases", "uploads", "payloads", "receipts", "pictures"}

// withheld selects the rows of a table that a transfer includes; other rows apply to one database
// only.
var withheld = map[string]string{
	"meta":     "name NOT IN ('unfinished', 'moved', 'history', 'table', 'behind', 'importance')",
	"counters": "name NOT IN ('searchable', 'found', 'named')",
	// sets that are being loaded or removed would stay incomplete
	"asset_sets": "state = 'current'",
	"assets":     "set_id IN (SELECT id FROM asset_sets WHERE state = 'current')",
}

// Table is a table of a transfer.
type Table struct {
	Name    string   `json:"name"`
	Columns []Column `json:"columns"`
	// Key lists the columns of the primary key, in order. Rows are sorted by them, texts by their
	// bytes.
	Key []string `json:"key"`
}

// Column is a column of a table. Its type is bigint, text, boolean, bytea or double precision, in
// PostgreSQL's terms.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// AppendRow appends a row as one line of JSON, an object by column. The text is the same for all
// databases. Bytes are base64, and a text that is not UTF-8 becomes {"base64": …}.
func (t *Table) AppendRow(line []byte, row []any) ([]byte, error) {
	for i, c := range t.Columns {
		if i == 0 {
			line = append(line, '{')
		} else {
			line = append(line, ',')
		}
		line = append(strconv.AppendQuote(line, c.Name), ':')
		switch v := row[i].(type) {
		case nil:
			line = append(line, "null"...)
		case bool:
			line = strconv.AppendBool(line, v)
		case int64:
			line = strconv.AppendInt(line, v, 10)
		case float64:
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("table %s, column %s: %v is not a number", t.Name, c.Name, v)
			}
			line = strconv.AppendFloat(line, v+0, 'g', -1, 64) // + 0 because SQLite does not keep the sign of zero
		case string:
			if !utf8.ValidString(v) {
				line = append(base64.StdEncoding.AppendEncode(append(line, `{"base64":"`...), []byte(v)), `"}`...)
				continue
			}
			var err error
			if line, err = jsontext.AppendQuote(line, v); err != nil {
				return nil, err
			}
		case []byte:
			line = append(base64.StdEncoding.AppendEncode(append(line, '"'), v), '"')
		default:
			return nil, fmt.Errorf("table %s, column %s: value of type %T", t.Name, c.Name, v)
		}
	}
	return append(line, "}\n"...), nil
}

// ParseRow parses a line of AppendRow.
func (t *Table) ParseRow(line []byte) ([]any, error) {
	var values map[string]jsontext.Value
	if err := json.Unmarshal(line, &values); err != nil {
		return nil, fmt.Errorf("table %s: %w", t.Name, err)
	}
	if len(values) != len(t.Columns) {
		return nil, fmt.Errorf("table %s: a row of %d columns, expected %d", t.Name, len(values), len(t.Columns))
	}
	row := make([]any, len(t.Columns))
	for i, c := range t.Columns {
		text, ok := values[c.Name]
		if !ok {
			return nil, fmt.Errorf("table %s: a row without the column %s", t.Name, c.Name)
		}
		var err error
		if row[i], err = parseValue(c.Type, text); err != nil {
			return nil, fmt.Errorf("table %s, column %s: %w", t.Name, c.Name, err)
		}
	}
	return row, nil
}

func parseValue(kind string, text jsontext.Value) (any, error) {
	if text.Kind() == 'n' {
		return nil, nil
	}
	switch kind {
	case "bigint":
		return parseAs[int64](text)
	case "boolean":
		return parseAs[bool](text)
	case "double precision":
		return parseAs[float64](text)
	case "bytea":
		return parseAs[[]byte](text)
	case "text":
		if text.Kind() == '{' {
			odd, err := parseAs[struct {
				Base64 []byte `json:"base64"`
			}](text)
			return string(odd.Base64), err
		}
		return parseAs[string](text)
	}
	return nil, fmt.Errorf("columns of type %q are not known", kind)
}

func parseAs[T any](text jsontext.Value) (T, error) {
	var v T
	err := json.Unmarshal(text, &v, json.RejectUnknownMembers(true))
	return v, err
}

// Intact returns a *DamagedError if the content of a row is damaged.
func (t *Table) Intact(row []any) error {
	p, content, ok := t.PartOf(row)
	if !ok {
		return nil
	}
	return p.intact(content)
}

// column returns the value of a column, or nil if there is no such column.
func (t *Table) column(row []any, name string) any {
	if i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name }); i >= 0 {
		return row[i]
	}
	return nil
}

// Content returns the digest of the product file that a row refers to, or "".
func (t *Table) Content(row []any) (string, error) {
	if t.Name != "products" && t.Name != "changes" {
		return "", nil
	}
	var body string
	for i, c := range t.Columns {
		if c.Name == "product_id" && row[i] == int64(0) {
			return "", nil // a change of a hazard
		}
		if c.Name == "body" {
			body, _ = row[i].(string)
		}
	}
	var p struct {
		File struct {
			Digest string `json:"digest"`
		} `json:"file"`
	}
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		return "", fmt.Errorf("table %s: %w", t.Name, err)
	}
	return p.File.Digest, nil
}

// Dump reads everything in a store as of one moment, however long that takes. It is not safe for
// concurrent use.
type Dump struct {
	Schema              int // number of migrations of its tables
	Epoch, Installation string
	Number              int64 // the latest change: the dump holds every change up to it and none after it
	Tables              []Table
	tx                  *sql.Tx
	store               *Store
}

// Dump begins a dump. The caller must call Close.
func (s *Store) Dump(ctx context.Context) (*Dump, error) {
	tx, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	d := &Dump{tx: tx, store: s}
	q := s.readQ.WithTx(tx)
	if d.Number, err = q.Counter(ctx, "change"); err == nil {
		d.Epoch, err = q.Meta(ctx, "epoch")
	}
	if err == nil {
		d.Installation, err = q.Meta(ctx, "installation")
	}
	if err == nil {
		d.Schema, err = schemaOf(ctx, tx)
	}
	if err == nil {
		d.Tables, err = tablesOf(ctx, tx, s.database)
	}
	if err != nil {
		return nil, errors.Join(storeError(err), d.Close())
	}
	return d, nil
}

// snapshot begins a read transaction of one moment and any duration. It reads damaged pages too.
func (s *core) snapshot(ctx context.Context) (*sql.Tx, error) {
	tx, err := s.inspect.BeginTx(ctx, s.database.snapshot())
	if err == nil {
		if err = s.database.patient(ctx, tx); err != nil {
			err = errors.Join(err, rollback(tx))
		}
	}
	return tx, storeError(err)
}

// Damage reads the pages of an SQLite file and calls name for the damaged ones: rows of the dump
// may come from them.
func (d *Dump) Damage(ctx context.Context, name func(what string)) error {
	return d.store.checkPages(ctx, name)
}

// Close ends the reading.
func (d *Dump) Close() error { return rollback(d.tx) }

// Count returns the number of rows of a table.
func (d *Dump) Count(ctx context.Context, t *Table) (int64, error) { return count(ctx, d.tx, t) }

// Rows yields the rows of a table. A value is a bool, an int64, a float64, a string, a []byte, or
// nil.
func (d *Dump) Rows(ctx context.Context, t *Table) iter.Seq2[[]any, error] {
	return rowsOf(ctx, d.tx, t)
}

func count(ctx context.Context, tx *sql.Tx, t *Table) (n int64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT count(*) FROM `+t.Name+t.where()).Scan(&n)
	return n, storeError(err)
}

func (t *Table) where() string {
	if left := withheld[t.Name]; left != "" {
		return " WHERE " + left
	}
	return ""
}

func (t *Table) names() string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

// rowsOf reads a table. Its names come from our own migrations.
func rowsOf(ctx context.Context, tx *sql.Tx, t *Table) iter.Seq2[[]any, error] {
	return rowsWhere(ctx, tx, t, t.where())
}

// rowsWhere reads the rows of a table that match a condition.
func rowsWhere(ctx context.Context, tx *sql.Tx, t *Table, where string, args ...any) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		rows, err := tx.QueryContext(ctx, `SELECT `+t.names()+` FROM `+t.Name+where+` ORDER BY `+strings.Join(t.Key, ", "), args...)
		if err != nil {
			yield(nil, fmt.Errorf("read table %s: %w", t.Name, storeError(err)))
			return
		}
		defer rows.Close()
		for rows.Next() {
			row := make([]any, len(t.Columns))
			into := make([]any, len(row))
			for i := range row {
				into[i] = &row[i]
			}
			err := rows.Scan(into...)
			for i, c := range t.Columns {
				if err == nil {
					row[i], err = typed(c.Type, row[i])
				}
			}
			if err != nil {
				yield(nil, fmt.Errorf("read table %s: %w", t.Name, storeError(err)))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, fmt.Errorf("read table %s: %w", t.Name, storeError(err)))
		}
	}
}

// typed converts a value to the type of its column: SQLite stores values as given.
func typed(kind string, v any) (any, error) {
	switch got := v.(type) {
	case nil:
		return nil, nil
	case bool:
		if kind == "boolean" {
			return got, nil
		}
	case int64:
		switch kind {
		case "bigint":
			return got, nil
		case "boolean":
			return got != 0, nil
		case "double precision":
			return float64(got), nil
		}
	case float64:
		if kind == "double precision" {
			return got, nil
		}
	case string:
		switch kind {
		case "text":
			return got, nil
		case "bytea":
			return []byte(got), nil
		}
	case []byte:
		switch kind {
		case "bytea":
			return got, nil
		case "text":
			return string(got), nil
		}
	}
	return nil, fmt.Errorf("%T in a column of type %q", v, kind)
}

// tablesOf returns the tables of a transfer that exist in a database.
func tablesOf(ctx context.Context, tx *sql.Tx, d database) ([]Table, error) {
	var tables []Table
	for _, name := range transferred {
		t, err := tableOf(ctx, tx, d, name)
		if err != nil {
			return nil, fmt.Errorf("columns of table %s: %w", name, storeError(err))
		}
		if len(t.Columns) > 0 { // otherwise it belongs to a later schema
			tables = append(tables, t)
		}
	}
	return tables, nil
}

func tableOf(ctx context.Context, tx *sql.Tx, d database, name string) (Table, error) {
	t := Table{Name: name}
	rows, err := tx.QueryContext(ctx, d.columns(), name)
	if err != nil {
		return t, err
	}
	defer rows.Close()
	key := map[int]string{}
	for rows.Next() {
		var c Column
		var place int
		if err := rows.Scan(&c.Name, &c.Type, &place); err != nil {
			return t, err
		}
		t.Columns = append(t.Columns, c)
		if place > 0 {
			key[place] = c.Name
		}
	}
	for i := range len(key) {
		t.Key = append(t.Key, key[i+1])
	}
	return t, rows.Err()
}

func schemaOf(ctx context.Context, tx *sql.Tx) (version int, err error) {
	err = tx.QueryRowContext(ctx, `SELECT count(*) FROM schema_version`).Scan(&version)
	return version, err
}

// sameTable reports whether rows of one table fit the other.
func sameTable(a, b *Table) bool {
	return slices.Equal(a.Columns, b.Columns) && slices.Equal(a.Key, b.Key)
}

// digest returns the number of rows and the SHA-256 of their lines.
func (t *Table) digest(rows iter.Seq2[[]any, error]) (n int64, sum string, err error) {
	h := sha256.New()
	var line []byte
	for row, err := range rows {
		if err == nil {
			line, err = t.AppendRow(line[:0], row)
		}
		if err != nil {
			return n, "", err
		}
		h.Write(line)
		n++
	}
	return n, hex.EncodeToString(h.Sum(nil)), nil
}
