package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Retention. Pruning removes old states from the log, and old rows of the audit trail, once an
// archive holds them.
//
// The prunable states of the log belong to hazards that are over, that have not changed since the
// horizon, and that no person has ever changed: CAP messages, undo and the audit trail need the
// others. The first and last state of each hazard and product stay. So does a hazard's last state
// but one, by which its CAP message is named if the last one is its expiry, and the one before a
// merge, so that the merge can be undone. So answers for moments after the horizon do not change,
// and every number and UUID keeps its meaning. Answers for earlier moments are refused
// (PrunedError).
//
// The horizon is written before the first row is removed, and reads of the past check it after they
// have read. So none of them can miss a removal.

// Prunable is a kind of data that can be pruned.
type Prunable string

// The kinds of data that can be pruned.
const (
	History Prunable = "history"
	Trail   Prunable = "audit"
)

// Table returns the name of the table with the rows.
func (p Prunable) Table() string {
	if p == Trail {
		return "audit"
	}
	return "changes"
}

// Horizon is how far data was pruned.
type Horizon struct {
	Number  int64          // rows up to this one may be missing
	Kept    hazard.Instant // data since this time is complete; hazard.MinInstant if nothing was pruned
	Archive string         // the file with the last removed rows
}

// PrunedError refuses an answer for a moment at which the log is no longer complete.
type PrunedError struct{ Horizon }

func (e *PrunedError) Error() string {
	return fmt.Sprintf("the history is complete from %s on; earlier states were moved to an archive, last to %s: ask the operator for it", e.Kept, e.Archive)
}

// pruningSchema is the first schema whose programs can use a pruned store.
const pruningSchema = 28

// Horizon returns how far data was pruned.
func (s *Pruning) Horizon(ctx context.Context, what Prunable) (Horizon, error) {
	h, err := horizon(ctx, s.readQ, what)
	return h, storeError(err)
}

func horizon(ctx context.Context, q *sqlc.Queries, what Prunable) (Horizon, error) {
	row, err := q.LastPruned(ctx, string(what))
	if none(err) {
		return Horizon{Kept: hazard.MinInstant}, nil
	}
	return Horizon{Number: row.N, Kept: hazard.Instant(row.AtMs), Archive: row.Archive}, err
}

// keptAt returns a *PrunedError if the log may be incomplete at a moment. Call it after reading the
// answer's data, or in the same transaction.
func keptAt(ctx context.Context, q *sqlc.Queries, at hazard.Instant) error {
	h, err := horizon(ctx, q, History)
	if err == nil && at < h.Kept {
		return &PrunedError{h}
	}
	return storeError(err)
}

// Table returns the description of a table.
func (s *Pruning) Table(ctx context.Context, name string) (t Table, err error) {
	err = s.reading(ctx, func(ctx context.Context, tx *sql.Tx) error {
		t, err = tableOf(ctx, tx, s.database, name)
		return err
	})
	return t, err
}

// HorizonAt returns the horizon for pruning up to a moment; for History, the last change before it.
// Number is 0 if there is nothing before it.
func (s *Pruning) HorizonAt(ctx context.Context, what Prunable, before hazard.Instant) (Horizon, error) {
	h := Horizon{Kept: before}
	if what == Trail {
		err := s.reads.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM audit WHERE at_ms < $1`, int64(before)).Scan(&h.Number)
		return h, storeError(err)
	}
	n, err := s.readQ.LastChangeBefore(ctx, int64(before))
	if none(err) {
		return h, nil
	}
	h.Number = n
	return h, storeError(err)
}

// How many hazards, and rows, are read at once.
const (
	hazardsAtOnce = 200
	rowsAtOnce    = 500
)

// Superseded yields the numbers of prunable rows up to a horizon, in batches; for History hazard by
// hazard.
func (s *Pruning) Superseded(ctx context.Context, what Prunable, h Horizon) iter.Seq2[[]int64, error] {
	if what == Trail {
		return s.oldTrail(ctx, h)
	}
	return func(yield func([]int64, error) bool) {
		for after := int64(0); ; {
			ids, err := s.readQ.EndedHazards(ctx, sqlc.EndedHazardsParams{After: after, UpTo: h.Number, MaxRows: hazardsAtOnce})
			if err != nil {
				yield(nil, storeError(err))
				return
			}
			if len(ids) == 0 {
				return
			}
			after = ids[len(ids)-1]
			numbers, err := s.supersededOf(ctx, ids, h.Number)
			if err != nil || len(numbers) > 0 {
				if !yield(numbers, err) || err != nil {
					return
				}
			}
		}
	}
}

func (s *core) oldTrail(ctx context.Context, h Horizon) iter.Seq2[[]int64, error] {
	return func(yield func([]int64, error) bool) {
		for after := int64(0); ; {
			ids, err := s.numbers(ctx, `SELECT id FROM audit WHERE id > $1 AND id <= $2 AND at_ms < $3 ORDER BY id LIMIT $4 + 0`, after, h.Number, int64(h.Kept), rowsAtOnce)
			if err != nil {
				yield(nil, storeError(err))
				return
			}
			if len(ids) == 0 || !yield(ids, nil) {
				return
			}
			after = ids[len(ids)-1]
		}
	}
}

// logRow holds what decides whether a row of the log is prunable.
type logRow struct {
	n, product int64
	actor      string
}

// supersededOf returns the prunable rows of hazards.
func (s *core) supersededOf(ctx context.Context, ids []int64, upTo int64) (numbers []int64, err error) {
	merged := map[int64][]int64{} // by hazard, the changes in which it was merged into another
	err = s.eachOf(ctx, `SELECT from_id, n, 0, '' FROM merges WHERE `+s.database.listed("from_id", 1)+` ORDER BY from_id, n`, ids, func(id int64, r logRow) {
		merged[id] = append(merged[id], r.n)
	})
	if err != nil {
		return nil, err
	}
	var rows []logRow
	var of int64
	take := func() {
		numbers = append(numbers, superseded(rows, merged[of], upTo)...)
		rows = rows[:0]
	}
	err = s.eachOf(ctx, `SELECT hazard_id, n, product_id, actor FROM changes WHERE `+s.database.listed("hazard_id", 1)+` ORDER BY hazard_id, n`, ids, func(id int64, r logRow) {
		if id != of {
			take()
			of = id
		}
		rows = append(rows, r)
	})
	take()
	return numbers, err
}

func (s *core) eachOf(ctx context.Context, query string, ids []int64, f func(int64, logRow)) error {
	rows, err := s.reads.QueryContext(ctx, query, s.database.numbers(ids))
	if err != nil {
		return storeError(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var r logRow
		if err := rows.Scan(&id, &r.n, &r.product, &r.actor); err != nil {
			return storeError(err)
		}
		f(id, r)
	}
	return storeError(rows.Err())
}

// superseded returns which of all rows of a hazard, in order, are prunable: none if a person has
// changed it, or if it has changes after upTo.
func superseded(rows []logRow, merges []int64, upTo int64) (numbers []int64) {
	last := map[int64]int64{} // by product; 0 means the hazard
	stays := map[int64]bool{}
	var before int64 // the state before the hazard's last one
	for _, r := range rows {
		if r.actor != "" || r.n > upTo {
			return nil
		}
		if _, known := last[r.product]; !known {
			stays[r.n] = true // keep the first
		}
		if r.product == 0 {
			before = last[0]
		}
		last[r.product] = r.n
	}
	stays[before] = true // an expiry is no CAP message; the one before it is
	for _, n := range last {
		stays[n] = true
	}
	for _, merge := range merges {
		var before int64
		for _, r := range rows {
			if r.product == 0 && r.n < merge {
				before = r.n
			}
		}
		stays[before] = true
	}
	for _, r := range rows {
		if !stays[r.n] {
			numbers = append(numbers, r.n)
		}
	}
	return numbers
}

// RowsOf reads the rows of a table by a list of keys: numbers or names.
func (s *Pruning) RowsOf(ctx context.Context, t *Table, keys any) iter.Seq2[[]any, error] {
	var list any
	switch keys := keys.(type) {
	case []int64:
		list = s.database.numbers(keys)
	case []string:
		list = s.database.names(keys)
	}
	return func(yield func([]any, error) bool) {
		tx, err := s.inspect.BeginTx(ctx, s.database.snapshot())
		if err != nil {
			yield(nil, storeError(err))
			return
		}
		defer func() { _ = rollback(tx) }()
		rowsWhere(ctx, tx, t, " WHERE "+s.database.listed(t.Key[0], 1), list)(yield)
	}
}

// Note records a horizon before anything is removed. From then on, answers for earlier
// moments are refused.
func (s *Pruning) Note(ctx context.Context, what Prunable, h Horizon, rows int64, now hazard.Instant) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		have, err := q.Meta(ctx, oldest)
		if err != nil {
			return err
		}
		if n, err := strconv.Atoi(have); err != nil || n < pruningSchema {
			if err := q.SetMeta(ctx, sqlc.SetMetaParams{Name: oldest, Value: strconv.Itoa(pruningSchema)}); err != nil {
				return err
			}
		}
		return q.AddPruned(ctx, sqlc.AddPrunedParams{What: string(what), N: h.Number, AtMs: int64(h.Kept), DoneMs: int64(now), Removed: rows, Archive: h.Archive})
	})
}

// Pruner removes rows in small steps, so that nobody waits long. It is not safe for concurrent use.
type Pruner struct {
	// Removed counts the rows, Geometries and Files what became unreferenced.
	Removed, Geometries, Files int64

	store             *Store
	what              Prunable
	horizon           Horizon
	rows              []int64
	geometries, files digests
}

// digests are SHA-256 sums.
type digests map[[sha256.Size]byte]struct{}

func (d digests) add(digest string) {
	if sum, err := hex.DecodeString(digest); err == nil && len(sum) == sha256.Size {
		d[[sha256.Size]byte(sum)] = struct{}{}
	}
}

func (d digests) remove(digest string) {
	if sum, err := hex.DecodeString(digest); err == nil && len(sum) == sha256.Size {
		delete(d, [sha256.Size]byte(sum))
	}
}

// take removes and returns at most n of them.
func (d digests) take(n int) (list []string) {
	for sum := range d {
		if len(list) == n {
			break
		}
		list = append(list, hex.EncodeToString(sum[:]))
		delete(d, sum)
	}
	return list
}

// What one transaction removes: pieces, until pruneTime is over. Other writers wait for it. The
// time of a piece depends on the disk and the sizes of texts and areas.
const (
	rowsOfPiece  = 16
	areasOfPiece = 2
	maxRows      = 500 // collected at most
	pruneTime    = 10 * time.Millisecond
)

// Start starts removing rows up to a horizon that was recorded by Note.
func (s *Pruning) Start(what Prunable, h Horizon) *Pruner {
	return &Pruner{store: s.store, what: what, horizon: h, geometries: digests{}, files: digests{}}
}

// Remove removes an archived row in the form of t, now or when End is called.
func (p *Pruner) Remove(ctx context.Context, t *Table, row []any) error {
	n, ok := t.column(row, t.Key[0]).(int64)
	if !ok {
		return fmt.Errorf("table %s: a row without a number", t.Name)
	}
	if p.what == History {
		geometries, file, err := t.Named(row)
		if err != nil {
			return err
		}
		for _, digest := range geometries {
			p.geometries.add(digest)
		}
		p.files.add(file)
	}
	if p.rows = append(p.rows, n); len(p.rows) < maxRows {
		return nil
	}
	return p.flush(ctx)
}

// Named returns what a row of the log refers to: geometries, or the content of a product file.
func (t *Table) Named(row []any) (geometries []string, file string, err error) {
	body, _ := t.column(row, "body").(string)
	if id, _ := t.column(row, "product_id").(int64); id != 0 {
		file, err = t.Content(row)
		return nil, file, err
	}
	var state struct {
		Areas    []hazard.AreaRef `json:"areas"`
		StandIns []hazard.AreaRef `json:"stand_ins"`
	}
	if err := json.Unmarshal([]byte(body), &state); err != nil {
		return nil, "", fmt.Errorf("table %s: %w", t.Name, err)
	}
	for _, ref := range slices.Concat(state.Areas, state.StandIns) {
		geometries = append(geometries, ref.Digest)
	}
	return geometries, "", nil
}

func (p *Pruner) flush(ctx context.Context) error {
	query := `DELETE FROM audit WHERE ` + p.store.database.listed("id", 1) + ` AND id <= $2`
	if p.what == History { // checked again now, because a hazard may have been reopened
		query = `DELETE FROM changes WHERE ` + p.store.database.listed("n", 1) + ` AND n <= $2
			AND NOT EXISTS (SELECT 1 FROM hazards h WHERE h.id = changes.hazard_id AND (h.status = 'A' OR h.n > $2 OR h.n = changes.n))
			AND NOT EXISTS (SELECT 1 FROM products p WHERE p.id = changes.product_id AND p.n = changes.n)`
	}
	for len(p.rows) > 0 {
		err := p.step(ctx, func(ctx context.Context, tx *sql.Tx, _ *sqlc.Queries, more func() bool) error {
			for len(p.rows) > 0 && more() {
				piece := p.rows[:min(rowsOfPiece, len(p.rows))]
				if err := p.remove(ctx, tx, &p.Removed, query, p.store.database.numbers(piece), p.horizon.Number); err != nil {
					return err
				}
				p.rows = p.rows[len(piece):]
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// remove runs a statement and adds the number of removed rows to count.
func (p *Pruner) remove(ctx context.Context, tx *sql.Tx, count *int64, query string, args ...any) error {
	result, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	*count += n
	return err
}

// step runs one transaction, then lets others write for as long as it took. more reports whether
// the transaction has time for another piece; there is always time for one.
func (p *Pruner) step(ctx context.Context, f func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries, more func() bool) error) error {
	var began time.Time
	err := p.store.inTx(ctx, func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) error {
		began = time.Now()
		pieces := 0
		return f(ctx, tx, q, func() bool {
			pieces++
			return pieces == 1 || time.Since(began) < pruneTime
		})
	})
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(min(time.Since(began), time.Second)):
		return nil
	}
}

// End removes the remaining rows and then the unreferenced geometries. The next sweep removes
// unreferenced contents of product files.
func (p *Pruner) End(ctx context.Context) error {
	if err := p.flush(ctx); err != nil {
		return err
	}
	read, err := p.caughtUp(ctx)
	for err == nil && len(p.geometries)+len(p.files) > 0 {
		err = p.step(ctx, func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries, more func() bool) error {
			last, err := q.Counter(ctx, "change")
			if err == nil {
				err = p.sparing(ctx, q, read, last)
			}
			read = last
			for err == nil && len(p.geometries) > 0 && more() {
				err = p.remove(ctx, tx, &p.Geometries, `DELETE FROM geometries WHERE `+p.store.database.listed("digest", 1), p.store.database.names(p.geometries.take(areasOfPiece)))
			}
			for err == nil && len(p.files) > 0 && more() {
				err = p.remove(ctx, tx, &p.Files, `UPDATE contents SET named = FALSE WHERE named AND `+p.store.database.listed("digest", 1), p.store.database.names(p.files.take(rowsOfPiece)))
			}
			return err
		})
	}
	return err
}

// caughtUp removes from the candidates the digests that states in the log refer to, and returns the
// last change it has read. Others write meanwhile, so it continues until few changes are left for
// the removing transactions.
func (p *Pruner) caughtUp(ctx context.Context) (read int64, err error) {
	for {
		last, err := p.store.Log.Last(ctx)
		if err == nil {
			err = p.sparing(ctx, p.store.readQ, read, last)
		}
		if err != nil || last-read <= rowsAtOnce {
			return last, err
		}
		read = last
	}
}

// sparing reads the changes after one number up to another, and removes the digests that they refer
// to from the candidates.
func (p *Pruner) sparing(ctx context.Context, q *sqlc.Queries, after, upTo int64) error {
	for len(p.geometries)+len(p.files) > 0 {
		rows, err := q.BodiesBetween(ctx, sqlc.BodiesBetweenParams{After: after, UpTo: upTo, MaxRows: rowsAtOnce})
		if err != nil || len(rows) == 0 {
			return storeError(err)
		}
		for _, row := range rows {
			after = row.N
			for _, part := range strings.Split(row.Body, `"digest":"`)[1:] {
				if len(part) > 2*sha256.Size {
					p.geometries.remove(part[:2*sha256.Size])
					p.files.remove(part[:2*sha256.Size])
				}
			}
		}
	}
	return nil
}
