package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/find"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// The search tables hold nothing that the log does not hold. So damage in them stops no write: writes
// leave them out from then on, searches are refused, and remake makes them again.

// searchTables names them among what is damaged.
const searchTables = "the search tables"

// errSpoiled refuses a search while the search tables are made again.
var errSpoiled = fmt.Errorf("%w: the search tables are damaged, and are being made again", hazard.ErrUnavailable)

// searchTableNames are those of SQLite; hazard_places is in stores of earlier schemas only.
var searchTableNames = []string{"searchable", "hazard_values", "hazard_boxes", "hazard_places", "hazard_writes", "hazard_words"}

// placeError is an error of reading a place, which is not in the search tables.
type placeError struct{ error }

func (e placeError) Unwrap() error { return e.error }

// findable runs f, which writes to the search tables, unless they are damaged.
func (t *txn) findable(f func(*find.Writing) error) error {
	if t.store.spoiledBy.Load() != nil {
		return nil
	}
	err := f(t.found)
	if place, ok := errors.AsType[placeError](err); ok {
		return place.error
	}
	if err == nil || !t.store.database.spoils(err) {
		return err
	}
	t.store.spoil(err)
	if errors.Is(storeError(err), errPage) { // this has ended the transaction
		return err
	}
	_, err = t.tx.ExecContext(t.ctx, `UPDATE counters SET value = 0 WHERE name = 'found'`) // also for who opens the store next
	return err
}

// spoil notes that the search tables are damaged.
func (s *core) spoil(err error) {
	if !s.spoiledBy.CompareAndSwap(nil, &err) {
		return
	}
	s.store.Quarantine.note(searchTables, fmt.Errorf("%s are damaged, and made again: %w", searchTables, err))
	select {
	case s.spoils <- struct{}{}:
	default:
	}
}

// remakeEvery is how long after one remake another may begin.
const remakeEvery = time.Minute

// keepSearchable makes the search tables again whenever they are damaged, until ctx ends. First it
// writes the names that they lack.
func (s *core) keepSearchable(ctx context.Context) {
	for s.nameAll(ctx) != nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(remakeEvery):
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.spoils:
		}
		for failed := true; failed; {
			failed = s.remake(ctx) != nil
			select {
			case <-ctx.Done():
				return
			case <-time.After(remakeEvery):
			}
		}
	}
}

// remake empties the search tables and fills them from the log.
func (s *core) remake(ctx context.Context) error {
	err := s.inTx(Patient(ctx), func(ctx context.Context, tx *sql.Tx, _ *sqlc.Queries) error {
		for _, name := range searchTableNames {
			if err := emptied(ctx, tx, name); err != nil {
				return fmt.Errorf("empty %s: %w", name, err)
			}
		}
		_, err := tx.ExecContext(ctx, `UPDATE counters SET value = 0 WHERE name = 'found'`)
		return err
	})
	if err != nil {
		return err
	}
	s.spoiledBy.Store(nil)
	if err := cmp.Or(s.catchUp(Patient(ctx)), s.nameAll(ctx)); err != nil {
		return err
	}
	if s.spoiledBy.Load() == nil {
		s.store.Quarantine.forget(searchTables)
	}
	return nil
}

// emptied drops a search table of SQLite and makes it again as it was declared.
func emptied(ctx context.Context, tx *sql.Tx, name string) error {
	rows, err := tx.QueryContext(ctx, `SELECT sql FROM sqlite_schema WHERE tbl_name = $1 AND sql IS NOT NULL ORDER BY type = 'table' DESC`, name)
	if err != nil {
		return err
	}
	defer rows.Close()
	var made []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		made = append(made, text)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(made) == 0 {
		return err
	}
	statements := []string{}
	switch { // SQLite reads this before it drops a virtual table
	case strings.Contains(made[0], " USING rtree"):
		statements = append(statements, `INSERT OR REPLACE INTO `+name+`_node (nodeno, data) VALUES (1, zeroblob(1024))`)
	case strings.Contains(made[0], " USING fts5"):
		statements = append(statements, `INSERT OR REPLACE INTO `+name+`_config (k, v) VALUES ('version', 4)`)
	}
	statements = append(statements, `DROP TABLE `+name)
	for _, text := range append(statements, made...) {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}
