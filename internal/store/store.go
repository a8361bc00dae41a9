// Package store keeps hazards, products, the change log, what sources said, and users, in one SQLite file.
//
// Write is the only way to change a hazard or a product. It runs one transaction that writes the new states and one numbered
// row per change in the log. When it returns nil the changes are on disk: they survive SIGKILL and power loss
// (write-ahead log, synchronous FULL). Numbers follow commit order, begin at 1 and have no holes.
//
// Several processes of one machine may use the same file: writers wait for each other, readers for nobody. Wait returns for
// changes of other processes too, within PollEvery. A Store is safe for concurrent use. It knows neither HTTP nor rules.
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"hazardd/internal/store/db"
)

//go:embed migrations/*.sql
var migrations embed.FS

// PollEvery is how often the log is looked at for changes of other processes, which cannot wake us.
const PollEvery = 250 * time.Millisecond

// writeTimeout bounds one write transaction, waiting for other writers included: longer than any import's transaction.
const writeTimeout = 60 * time.Second

// Store is an open store.
type Store struct {
	write, read   *sql.DB // one writing connection, many reading ones
	writeQ, readQ *db.Queries
	files         *fileStore
	ix            *indexer
	shapes        *shapeCache
	searchTime    time.Duration // see the constant
	epoch         string
	installation  string

	mu   sync.Mutex
	wake chan struct{} // closed and replaced after each commit of this process
}

// Open opens the store in folder dir, which it makes if need be, and brings its schema up to date. name is the database:
// empty for the SQLite file in dir, or a URL "sqlite:PATH?synchronous=full|normal|off" (less than full is for tests that
// must see a loss: an acknowledged change may then be lost with the power).
func Open(ctx context.Context, dir, name string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	write, read, err := openSQLite(ctx, filepath.Join(dir, "hazardd.db"), name)
	if err != nil {
		return nil, err
	}
	s := &Store{write: write, read: read, shapes: newShapeCache(), searchTime: searchTime, wake: make(chan struct{})}
	if err := s.prepare(ctx, dir); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) prepare(ctx context.Context, dir string) (err error) {
	if err := migrate(ctx, s.write); err != nil {
		return err
	}
	if s.files, err = openFiles(filepath.Join(dir, "files")); err != nil {
		return err
	}
	if s.writeQ, err = db.Prepare(ctx, s.write); err != nil {
		return fmt.Errorf("prepare statements: %w", err)
	}
	if s.readQ, err = db.Prepare(ctx, s.read); err != nil {
		return fmt.Errorf("prepare statements: %w", err)
	}
	if s.epoch, err = s.readQ.Meta(ctx, "epoch"); err != nil {
		return fmt.Errorf("read the store's epoch: %w", err)
	}
	if s.installation, err = s.readQ.Meta(ctx, "installation"); err != nil {
		return fmt.Errorf("read the installation's name: %w", err)
	}
	if s.ix, err = prepareIndexer(ctx, s.write); err != nil {
		return err
	}
	return s.catchUp(ctx)
}

// Close closes the store. What was written is safe before it.
func (s *Store) Close() error {
	var errs []error
	for _, q := range []*db.Queries{s.writeQ, s.readQ} {
		if q != nil {
			errs = append(errs, q.Close())
		}
	}
	if s.ix != nil {
		errs = append(errs, s.ix.Close())
	}
	errs = append(errs, s.read.Close(), s.write.Close())
	if s.files != nil {
		errs = append(errs, s.files.Close())
	}
	return errors.Join(errs...)
}

// Epoch names this history. A store that was restored or replaced has another, so that a change number of one history is
// never taken for one of the other.
func (s *Store) Epoch() string { return s.epoch }

// Installation names this installation, whatever its address: all nodes on the store are one, and a restored store still is it.
func (s *Store) Installation() string { return s.installation }

// inTx runs f in one write transaction and commits it. The transaction goes on when ctx is cancelled: a client that hangs
// up must not decide whether a commit that is under way counts. f gets the context to use.
func (s *Store) inTx(ctx context.Context, f func(context.Context, *sql.Tx, *db.Queries) error) error {
	if err := ctx.Err(); err != nil {
		return err // nobody waits for it any more, and nothing has begun
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return storeError(err)
	}
	if err := f(ctx, tx, s.writeQ.WithTx(tx)); err != nil {
		return errors.Join(storeError(err), rollback(tx))
	}
	if err := tx.Commit(); err != nil {
		return errors.Join(storeError(err), rollback(tx))
	}
	return nil
}

func rollback(tx *sql.Tx) error {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}

// migrate brings the schema up to date: each file of migrations once, in the order of its number, under the write lock.
// It refuses a store of a later version, which this program would not understand.
func migrate(ctx context.Context, d *sql.DB) error {
	entries, err := migrations.ReadDir("migrations")
	if err != nil {
		return err
	}
	tx, err := d.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("open the store: %w", storeError(err))
	}
	defer func() { _ = rollback(tx) }()
	if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)`); err != nil {
		return fmt.Errorf("open the store: %w", storeError(err))
	}
	var have int
	if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM schema_version`).Scan(&have); err != nil {
		return fmt.Errorf("read the schema's version: %w", storeError(err))
	}
	if have > len(entries) {
		return fmt.Errorf("the store has schema %d, this program knows %d: use the program that wrote it, or a later one", have, len(entries))
	}
	for i, e := range entries[have:] {
		text, err := migrations.ReadFile("migrations/" + e.Name())
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(text)+sqliteMigrations[e.Name()]); err != nil {
			return fmt.Errorf("migration %s: %w", e.Name(), storeError(err))
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO schema_version (version) VALUES ($1)`, have+i+1); err != nil {
			return fmt.Errorf("migration %s: %w", e.Name(), storeError(err))
		}
	}
	if have == 0 {
		for _, name := range []string{"epoch", "installation"} {
			if _, err := tx.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES ($1, $2)`, name, "urn:uuid:"+uuid.NewString()); err != nil {
				return fmt.Errorf("name the store: %w", storeError(err))
			}
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("migrate the store: %w", storeError(err))
	}
	return nil
}
