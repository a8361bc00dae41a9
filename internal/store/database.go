package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/db"
	"github.com/hazardd/hazardd/internal/store/find"
)

// database is what differs between the databases that a store may be in.
type database interface {
	// name is the folder of migrations that are this database's alone.
	name() string
	// migration is the text of a migration for all databases as this one reads it.
	migration(text string) string
	// alone makes a transaction the only one of its kind that is under way, until it ends.
	alone(ctx context.Context, tx *sql.Tx) error
	// quiet waits until a writer that has begun has ended. It is no writer itself.
	quiet(ctx context.Context, s *Store) error
	// wait lets the next transaction of s wait that long for those of other processes. The writer of this process calls it.
	wait(ctx context.Context, s *Store, most time.Duration) error
	// remote tells whether the database is a server: it may be away, and lets a statement run beside a writer.
	remote() bool
	// refuseWrites makes the database refuse every write to the tables, from the end of the transaction on, by whatever program.
	refuseWrites(ctx context.Context, tx *sql.Tx, tables []string) error
	// settled tells whether the history that this server tells is the one that the store was opened on, as far as is known.
	settled() bool
	// history names the history that this server tells: a server that took over from another has another name; the zero one where that cannot be.
	history(ctx context.Context, tx *sql.Tx) (timeline, error)
	// settle notes that history is the one that the store is on now.
	settle(history timeline)
	// told tells the other processes that the log is longer, once tx is committed.
	told(ctx context.Context, tx *sql.Tx) error
	// listen calls wake whenever another process has told, until ctx ends.
	listen(ctx context.Context, wake func())
	// snapshot are the options of a reading transaction that sees one state of the store.
	snapshot() *sql.TxOptions
	// patient lets a transaction stand still for as long as it likes.
	patient(ctx context.Context, tx *sql.Tx) error
	// columns is a query for the columns of the table that $1 names: their names, types and places in the primary key, from 1, or 0.
	columns() string
	// sizes is a query for how many bytes each table takes with its indexes; under the name free, those that wait for new rows.
	sizes() string
	// onlyText tells that a text can hold neither the character 0 nor anything but UTF-8.
	onlyText() bool
	// now is the moment by the clock that all processes on the store go by, which is at by this one's.
	now(ctx context.Context, q db.DBTX, at hazard.Instant) (hazard.Instant, error)
	// listed is the condition that column is one of those that the numbered parameter holds, and names and numbers are what goes over for it.
	listed(column string, parameter int) string
	names(list []string) any
	numbers(list []int64) any
	// purge removes what the files of the database still hold of rows that were rewritten, as far as it can.
	purge(ctx context.Context, d *sql.DB) error
	// check calls fault for what is wrong with the structure of the database, as far as the database can tell.
	check(ctx context.Context, tx *sql.Tx, fault func(what string)) error
	// tables are those that hazards are found by.
	tables() find.Tables
}

// storeError gives the store's failures their kinds.
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
