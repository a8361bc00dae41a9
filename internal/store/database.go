package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/find"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// database holds the differences between the supported databases.
type database interface {
	// name returns the folder of migrations for this database only.
	name() string
	// migration adapts the text of a common migration to this database.
	migration(text string) string
	// alone makes a transaction the only write transaction in progress, until it ends.
	alone(ctx context.Context, tx *sql.Tx) error
	// awaited reports whether another process waits until the transaction in progress ends.
	awaited(ctx context.Context, tx *sql.Tx) (bool, error)
	// quiet waits until the write transaction in progress has ended, without being a writer itself.
	quiet(ctx context.Context, s *Store) error
	// wait sets how long the next transaction of s may wait for writers of other processes. Only
	// the writer of this process calls it.
	wait(ctx context.Context, s *Store, timeout time.Duration) error
	// remote reports whether the database is a server. Such a database may be unreachable, and a
	// single statement can run beside a writer.
	remote() bool
	// late reports whether a statement of a write transaction may return before the database has run
	// it, so that its error comes with a later one.
	late() bool
	// lease takes or renews leases, each if it is free, over, or its holder's own; or if it ends so late that
	// a wrong clock must have made it. One that cannot be taken is not written.
	lease(ctx context.Context, d sqlc.DBTX, q *sqlc.Queries, all []*wanted) error
	// flush syncs what all transactions have written to the log, committed or not. It may do nothing.
	flush(ctx context.Context, d *sql.DB) error
	// refuseWrites makes the database refuse every write to the tables, by any program, once the
	// transaction is committed.
	refuseWrites(ctx context.Context, tx *sql.Tx, tables []string) error
	// settled reports whether the server is still on the timeline the store was opened on, as far
	// as known.
	settled() bool
	// history returns the timeline of the server, which changes after a failover. It returns the
	// zero value for databases without failover.
	history(ctx context.Context, tx *sql.Tx) (timeline, error)
	// settle records that history is the store's present timeline.
	settle(history timeline)
	// notify notifies other processes of new changes, once tx is committed.
	notify(ctx context.Context, tx *sql.Tx) error
	// listen calls wake for each notification by another process, until ctx ends.
	listen(ctx context.Context, wake func())
	// snapshot returns the options of a read transaction that sees one state of the store.
	snapshot() *sql.TxOptions
	// patient allows a transaction to be idle without a limit.
	patient(ctx context.Context, tx *sql.Tx) error
	// columns returns a query for the columns of table $1: their names, types and positions in the
	// primary key, from 1, or 0.
	columns() string
	// sizes returns a query for the bytes of each table with its indexes. The row named free is
	// unused space.
	sizes() string
	// onlyText reports whether texts can hold only UTF-8 without the character 0.
	onlyText() bool
	// now returns the present moment by the clock that all processes share. at is the moment by
	// this process's clock.
	now(ctx context.Context, q sqlc.DBTX, at hazard.Instant) (hazard.Instant, error)
	// listed returns the SQL condition that column is in the list of the numbered parameter. names
	// and numbers convert lists to that parameter.
	listed(column string, parameter int) string
	// list returns the list of listed as a table n with the column value.
	list(parameter int) string
	names(list []string) any
	numbers(list []int64) any
	// purge removes remains of rewritten rows from the files of the database, as far as possible.
	purge(ctx context.Context, d *sql.DB) error
	// check calls fault for errors in the structure of the database, as far as the database can
	// find them.
	check(ctx context.Context, tx *sql.Tx, fault func(what string)) error
	// spoils reports whether an error of a statement that writes to the search tables means that they
	// are damaged. tree reports the same of any statement.
	spoils(err error) bool
	tree(err error) bool
	// tables returns the tables for searches.
	tables() find.Tables
}

// storeError maps errors of the database to kinds of error.
func storeError(err error) error {
	if err == nil || errors.Is(err, hazard.ErrUnavailable) || errors.Is(err, hazard.ErrFull) {
		return err
	}
	for _, kind := range []func(error) error{sqliteKind, postgresKind} {
		if kind := kind(err); kind != nil {
			return fmt.Errorf("%w: %w", kind, err)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", hazard.ErrUnavailable, err)
	}
	return err
}
