package store

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Ways is the number of ways that can be forced on a search: the store's own choice, along the
// order, and more than any filter has.
const Ways = 13

// PostgresKind maps an error of PostgreSQL.
var PostgresKind = postgresKind

// SearchBy is Search in a given way.
func (s *Store) SearchBy(ctx context.Context, q query.Query, orgs []int64, now hazard.Instant, way int) (*Page, error) {
	return s.search(ctx, q, orgs, now, nil, way)
}

// CountBy is Count in a given way.
func (s *Store) CountBy(ctx context.Context, q query.Query, now hazard.Instant, way int) (int64, int64, error) {
	return s.count(ctx, q, now, way)
}

// Migrate runs f in the transaction of an upgrade, which is done already, and then tells how the writer
// keeps what it sorts.
func (s *Store) Migrate(ctx context.Context, f func(*sql.Tx) error) (kind int, err error) {
	if err := s.migrate(ctx, Schema(), f); err != nil {
		return 0, err
	}
	return kind, s.write.QueryRowContext(ctx, `PRAGMA temp_store`).Scan(&kind)
}

// SearchTime limits the time of one search from now on.
func (s *Store) SearchTime(d time.Duration) { s.searchTime = d }

// Wipe resets an open store, because opening another takes longer than most tests.
func (s *Store) Wipe(ctx context.Context) error {
	for _, text := range []string{`DELETE FROM hazards`, `DELETE FROM products`, `DELETE FROM changes`, `DELETE FROM geometries`, `DELETE FROM audit`, `UPDATE counters SET value = 0`} {
		if err := s.Exec(ctx, text); err != nil {
			return err
		}
	}
	s.seen.Store(0)
	s.over.Store(int64(hazard.MinInstant))
	s.until.Store(int64(hazard.MinInstant))
	return s.Forget(ctx)
}

// Forget removes the tables that searches use, as if an older program without them had written the
// hazards.
func (s *Store) Forget(ctx context.Context) error {
	texts := []string{`DELETE FROM searchable`, `DELETE FROM hazard_values`, `UPDATE counters SET value = 0 WHERE name IN ('searchable', 'found', 'named')`}
	if _, ok := s.database.(sqlite); ok {
		texts = append(texts, `DELETE FROM hazard_boxes`, `DELETE FROM hazard_writes`, `INSERT INTO hazard_words (hazard_words) VALUES ('delete-all')`)
	} else {
		texts = append(texts, `DELETE FROM hazard_words`)
	}
	for _, text := range texts {
		if err := s.Exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// Migration returns the text of a migration.
func (s *Store) Migration(name string) (string, error) { return s.migration(name) }

// Exec runs a statement on the database directly, which no other function does.
func (s *Store) Exec(ctx context.Context, text string) error {
	_, err := s.write.ExecContext(ctx, text)
	return err
}

// Ask queries the database directly for one text.
func (s *Store) Ask(ctx context.Context, query string) (text string, err error) {
	return text, s.read.QueryRowContext(ctx, query).Scan(&text)
}

// NamingSteps names the contents that the log refers to, as a sweep does, and returns the number of
// transactions.
func NamingSteps(ctx context.Context, s *Store) (int64, error) { return s.Files.nameInSteps(ctx) }

// HoldRemovals makes the removals of contents fail from now on. late performs them after all, and
// returns their number.
func HoldRemovals(s *Store) (late func(context.Context) (int, error)) {
	h := &holding{Place: s.files}
	s.files = h
	return func(ctx context.Context) (int, error) {
		for _, n := range h.held {
			if err := h.Place.Remove(ctx, n); err != nil {
				return 0, err
			}
		}
		return len(h.held), nil
	}
}

type holding struct {
	blob.Place
	held []blob.Name
}

func (h *holding) Remove(_ context.Context, n blob.Name) error {
	h.held = append(h.held, n)
	return fmt.Errorf("%w: the answer was lost", hazard.ErrUnavailable)
}

// LeaveUploads makes sweeps ignore uploads in progress, however old they seem.
func LeaveUploads(s *Store) { s.files = untidy{s.files} }

type untidy struct{ blob.Place }

func (untidy) Tidy(time.Time) error { return nil }

// LoseDatabase marks the database as unreachable since the last query.
func (s *Store) LoseDatabase() { s.reach.setAway(true) }

// The lists of tables for a transfer.
var Transferred, NotTransferred = transferred, notTransferred

// CountReads counts the reading statements from now on.
func (s *Store) CountReads() *atomic.Int64 {
	c := &counting{DBTX: s.reads}
	s.reads, s.readQ = c, sqlc.New(c)
	return &c.n
}

type counting struct {
	sqlc.DBTX
	n atomic.Int64
}

func (c *counting) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	c.n.Add(1)
	return c.DBTX.QueryContext(ctx, query, args...)
}

func (c *counting) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	c.n.Add(1)
	return c.DBTX.QueryRowContext(ctx, query, args...)
}

// BodySize returns the size of a hazard's state in the place where the previous release reads it.
func (s *Store) BodySize(ctx context.Context, id int64) (n int, err error) {
	return n, s.read.QueryRowContext(ctx, `SELECT length(body) FROM hazards WHERE id = $1`, id).Scan(&n)
}

// CountRows counts the rows of a table.
func (s *Store) CountRows(t interface{ Fatal(...any) }, table string) (n int) {
	if err := s.read.QueryRow(`SELECT count(*) FROM ` + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// LowerLongLog lowers, for a test, the length in bytes from which a write-ahead log is shortened.
func LowerLongLog(t interface{ Cleanup(func()) }, to int) {
	before := longLog
	longLog = to
	t.Cleanup(func() { longLog = before })
}

// ListedColumns are the columns of the inventory, as TABLE.COLUMN.
func ListedColumns() (names []string) {
	for table, columns := range textColumns {
		for column := range columns {
			names = append(names, table+"."+column)
		}
	}
	return names
}

// KeepLog keeps the write-ahead log from being moved by its goroutine, until the test ends it.
func (s *Store) KeepLog() (end func()) {
	s.moving.Lock()
	return s.moving.Unlock
}

// LogFrames returns how many frames the write-ahead log has, and how many of them are in the file.
func (s *Store) LogFrames(ctx context.Context) (frames, moved int, err error) {
	var busy int
	err = s.fresh.QueryRowContext(ctx, `PRAGMA wal_checkpoint(NOOP)`).Scan(&busy, &frames, &moved)
	return frames, moved, err
}

// Hold lets only people write, until it ends.
func (s *Store) Hold(held bool) { s.turns.hold(held) }

// Slow lets the store count its disk as slow, until it commits.
func (s *Store) Slow() { s.slow.Store(true) }

// In returns the transaction of the database.
func (t *Tx) In() *sql.Tx { return t.tx }

// NameAll writes the names that the tables of searches lack.
func (s *Store) NameAll(ctx context.Context) error { return s.nameAll(ctx) }
