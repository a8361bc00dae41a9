package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/find"
	"github.com/hazardd/hazardd/internal/store/sqlc"
	"github.com/hazardd/hazardd/internal/store/sqlite/pagesum"
	"github.com/hazardd/hazardd/internal/store/sqlite/wal"
)

// Everything specific to SQLite is in this file.

// openSQLite opens the file at path, or the one in the URL name: one writing and several reading
// connections, one that also reads damaged pages, and one that reads every page from the disk. A write
// transaction takes the write lock at its start (immediate), so that it never fails halfway because
// another process has written. It waits for other writers up to writeTimeout.
//
// A file that cannot be written is opened for reading; s.disk then says why, and turns to writing when
// that works.
func (s *core) openSQLite(ctx context.Context, path, name string, pages int, apart bool) error {
	synchronous, chosen := "full", false
	if name != "" {
		chosenFile, query, _ := strings.Cut(strings.TrimPrefix(name, "sqlite:"), "?")
		values, err := url.ParseQuery(query)
		if err != nil {
			return fmt.Errorf("database: parameters of %q: %w", name, err)
		}
		if chosenFile != "" {
			path, chosen = chosenFile, true
		}
		if v := values.Get("synchronous"); v != "" {
			synchronous = v
		}
		if !slices.Contains([]string{"full", "normal", "off"}, synchronous) {
			return fmt.Errorf("database: synchronous=%q is not one of full, normal, off", synchronous)
		}
	}
	if err := protect(path, chosen); err != nil {
		return err
	}
	if err := errors.Join(pagesum.Register(), pagesum.Create(path, pageSize)); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	s.file, s.disk = path, &disk{path: path, synchronous: synchronous, apart: apart}
	// Undo data of a statement is small and stays in memory, because a container image may lack a
	// folder for temporary files. The writer caches 21 MB of pages, because a large import touches
	// the pages of all indexes repeatedly. The driver's allocator takes 12 kB for a page of 8 kB
	// with its header, so these are 32 MB of memory, and a reader's 8 MB are 12: 128 MB of all on two
	// processors. With fewer pages each has its share.
	share := func(kb int) string {
		if pages > 0 {
			kb = min(kb, max(minPages, kb*(pages>>10)/(32_000+12_000*maxReaders())))
		}
		return fmt.Sprintf("cache_size(-%d)", kb)
	}
	s.write = s.disk.open(access{vfs: pagesum.Strict, pragmas: []string{"temp_store(2)", share(21_000)}, writes: true})
	s.write.SetMaxOpenConns(1)
	// Each reader caches 8 MB of pages, because a search visits the same tree nodes twice, to count
	// and to read.
	s.read = s.disk.open(access{vfs: pagesum.Strict, pragmas: []string{"query_only(1)", share(8_000)}})
	s.inspect = s.disk.open(access{vfs: pagesum.Lenient, pragmas: []string{"query_only(1)", share(8_000)}})
	s.fresh = s.disk.open(access{vfs: pagesum.Strict, pragmas: []string{"query_only(1)", "cache_size(-100)"}})
	s.fresh.SetMaxIdleConns(0)
	s.mover = s.disk.open(access{vfs: pagesum.Strict, pragmas: []string{"query_only(1)", "cache_size(-100)"}})
	s.mover.SetMaxOpenConns(1)
	s.inspect.SetMaxIdleConns(0) // rarely used, and must read what is on the disk
	s.read.SetMaxOpenConns(maxReaders())
	s.read.SetMaxIdleConns(maxReaders())
	s.probes = s.read
	// The file must exist in WAL mode before a read-only connection opens it.
	err := s.disk.tryWriting(ctx, s.write)
	if unwritable(err) {
		s.disk.refuse(err)
		if err = s.read.PingContext(ctx); err != nil {
			err = errors.Join(s.disk.why(), err)
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("open %s: %w", path, storeError(err)), s.mover.Close(), s.write.Close(), s.read.Close(), s.inspect.Close(), s.fresh.Close())
	}
	s.disk.opened, err = os.Stat(path)
	return err
}

// sortOnDisk makes the writer keep what it sorts, and what would undo a statement, in files beside the
// database until inMemory is called: a migration that builds an index of a million hazards again needs 300 MB
// for these. The files have no names, so that none is left. If the folder takes none it is memory.
func (s *core) sortOnDisk(ctx context.Context) (inMemory func()) {
	set := func(dir string, kind int) error {
		_, err := s.write.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf(`PRAGMA temp_store_directory = '%s'; PRAGMA temp_store = %d`, strings.ReplaceAll(dir, "'", "''"), kind))
		return err
	}
	if s.file == "" || set(filepath.Dir(s.file), 1) != nil {
		return func() {}
	}
	return func() { _ = set("", 2) }
}

// minPages is the least cache of a connection, in kB.
const minPages = 500

// maxReaders is how many reading connections there are at most; idle ones stay open.
func maxReaders() int { return 4 * runtime.GOMAXPROCS(0) }

// pageSize is the page size of a new file, in bytes; see openSQLite.
const pageSize = 8192

// pageSums is the first schema whose programs maintain page checksums; earlier programs must not
// write to a file that has them.
const pageSums = 23

// guard keeps programs that do not know page checksums from writing to a file that has them.
func (s *core) guard(ctx context.Context) error {
	if s.file == "" {
		return nil
	}
	sums, err := pagesum.Sums(ctx, s.read)
	if err != nil || !sums {
		return err
	}
	known, err := s.readQ.Meta(ctx, oldest)
	if n, _ := strconv.Atoi(known); err != nil || n >= pageSums {
		return storeError(err)
	}
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		return q.SetMeta(ctx, sqlc.SetMetaParams{Name: oldest, Value: strconv.Itoa(pageSums)})
	})
}

// checkPages reports the damaged pages of a file.
func (s *core) checkPages(ctx context.Context, fault func(what string)) error {
	if s.file == "" {
		return nil
	}
	return storeError(pagesum.Scan(ctx, s.fresh, func(page int64) { fault(fmt.Sprintf("page %d of %s", page, filepath.Base(s.file))) }))
}

// checkLog calls fault if the write-ahead log is not readable to its end: after a crash, SQLite
// uses it only up to the first damage.
func (s *core) checkLog(ctx context.Context, fault func(what string)) (err error) {
	if s.file == "" {
		return nil
	}
	log, err := os.Open(s.file + "-wal") // SQLite holds no lock on this file, so closing it releases none.
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	var read, frames int64
	for range 3 { // it may be restarted, and become shorter, while it is read
		var busy, moved int64
		if err := s.fresh.QueryRowContext(ctx, `PRAGMA wal_checkpoint(NOOP)`).Scan(&busy, &frames, &moved); err != nil {
			return storeError(err)
		}
		c, err := wal.Since(log, wal.Position{})
		if err != nil {
			return err
		}
		if read = c.To.Frames(); read >= frames {
			return nil
		}
	}
	fault(fmt.Sprintf("the write-ahead log of %s is damaged after frame %d of %d: a crash would lose later commits", filepath.Base(s.file), read, frames))
	return nil
}

// sqlite implements database for SQLite.
type sqlite struct{}

func (sqlite) name() string { return "sqlite" }

// migration turns a numeric primary key into the rowid, which needs no separate index. Older stores
// have an index and work the same.
func (sqlite) migration(text string) string {
	return strings.ReplaceAll(text, " BIGINT PRIMARY KEY", " INTEGER PRIMARY KEY")
}

// alone does nothing: a write transaction takes the file's lock at its start.
func (sqlite) alone(context.Context, *sql.Tx) error { return nil }

// awaited knows nothing of other processes, which poll the file's lock.
func (sqlite) awaited(context.Context, *sql.Tx) (bool, error) { return false, nil }

// quiet acquires and releases the file's lock.
func (sqlite) quiet(ctx context.Context, s *Store) error {
	return s.inTurn(ctx, nil, func(context.Context, *sql.Tx, *sqlc.Queries) error { return nil })
}

func (sqlite) wait(ctx context.Context, s *Store, timeout time.Duration) error {
	if s.busy == timeout {
		return nil
	}
	if _, err := s.write.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout(%d)", timeout.Milliseconds())); err != nil {
		return err
	}
	s.busy = timeout
	return nil
}

func (sqlite) remote() bool { return false }

func (sqlite) late() bool { return false }

func (sqlite) flush(context.Context, *sql.DB) error { return nil }

func (sqlite) lease(ctx context.Context, _ sqlc.DBTX, q *sqlc.Queries, all []*wanted) error {
	for _, w := range all {
		n, err := q.TakeLease(ctx, sqlc.TakeLeaseParams{Name: w.name, Holder: w.holder, UntilMs: int64(w.until), NowMs: int64(w.now), BelievedMs: int64(w.now + 2*(w.until-w.now))})
		if err != nil {
			return err
		}
		w.taken = n == 1
	}
	return nil
}

func (sqlite) refuseWrites(ctx context.Context, tx *sql.Tx, tables []string) error {
	for _, table := range tables {
		for _, act := range []string{"INSERT", "UPDATE", "DELETE"} {
			if _, err := tx.ExecContext(ctx, `CREATE TRIGGER IF NOT EXISTS moved_`+table+`_`+strings.ToLower(act)+` BEFORE `+act+` ON `+table+
				` BEGIN SELECT RAISE(ABORT, 'the store was moved to another database'); END`); err != nil {
				return err
			}
		}
	}
	return nil
}

// settled: a file tells one history. One that was restored is another file.
func (sqlite) tables() find.Tables { return find.SQLite{} }

func (sqlite) settled() bool { return true }

func (sqlite) history(context.Context, *sql.Tx) (timeline, error) { return timeline{}, nil }

func (sqlite) settle(timeline) {}

// notify does nothing: other processes poll the file; see pollEvery.
func (sqlite) notify(context.Context, *sql.Tx) error { return nil }

func (sqlite) listen(context.Context, func()) {}

func (sqlite) snapshot() *sql.TxOptions { return &sql.TxOptions{ReadOnly: true} }

func (sqlite) patient(context.Context, *sql.Tx) error { return nil }

func (sqlite) columns() string {
	return `SELECT name, iif(lower(type) = 'integer', 'bigint', lower(type)), pk FROM pragma_table_info($1) ORDER BY cid`
}

func (sqlite) sizes() string {
	return `SELECT coalesce(m.tbl_name, s.name), sum(s.pgsize) FROM dbstat s LEFT JOIN sqlite_schema m ON m.name = s.name WHERE s.aggregate = 1 GROUP BY 1
		UNION ALL SELECT 'free', f.freelist_count * p.page_size FROM pragma_freelist_count f, pragma_page_size p`
}

func (sqlite) onlyText() bool { return false }

// purge merges search index pages with deleted words away, and empties the write-ahead log, which
// holds earlier pages. A reader of an older page keeps the rest of the log until the next
// checkpoint.
func (sqlite) purge(ctx context.Context, d *sql.DB) error {
	for _, statement := range []string{`INSERT INTO hazard_words (hazard_words) VALUES ('optimize')`, `PRAGMA wal_checkpoint(TRUNCATE)`} {
		if _, err := d.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// now returns at: all processes are on one machine.
func (sqlite) now(_ context.Context, _ sqlc.DBTX, at hazard.Instant) (hazard.Instant, error) {
	return at, nil
}

// listed passes the names as one JSON array: a list of parameters would need a new statement for
// each length.
func (sqlite) listed(column string, parameter int) string {
	return fmt.Sprintf("%s IN (SELECT value FROM json_each($%d))", column, parameter)
}

func (sqlite) list(parameter int) string { return fmt.Sprintf("json_each($%d) n", parameter) }

func (sqlite) names(list []string) any { return jsonArray(list) }

func (sqlite) numbers(list []int64) any { return jsonArray(list) }

func jsonArray[T string | int64](list []T) string {
	text, err := json.Marshal(list, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err) // texts and numbers always encode
	}
	return string(text)
}

// errPage means that pagesum has refused a page.
var errPage = fmt.Errorf("%w: a page of the file does not fit its checksum (hazardd check says which)", hazard.ErrUnavailable)

// spoils takes every error for damage that is not one of the disk, of a lock or of the caller: the
// statements are always the same.
func (sqlite) spoils(err error) bool {
	failure, ok := errors.AsType[*driver.Error](err)
	if !ok || failure.Code() == sqlite3.SQLITE_CONSTRAINT_TRIGGER {
		return false
	}
	switch failure.Code() & 0xff {
	case sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH:
		return true
	}
	return failure.Code() == sqlite3.SQLITE_IOERR_DATA
}

// tree: only virtual tables, which are search tables, give this code.
func (sqlite) tree(err error) bool {
	failure, ok := errors.AsType[*driver.Error](err)
	return ok && failure.Code() == sqlite3.SQLITE_CORRUPT_VTAB
}

func sqliteKind(err error) error {
	failure, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return nil
	}
	if failure.Code() == sqlite3.SQLITE_CONSTRAINT_TRIGGER {
		return hazard.ErrUnavailable // only a moved store has triggers
	}
	if failure.Code() == sqlite3.SQLITE_IOERR_DATA {
		return errPage
	}
	switch failure.Code() & 0xff { // the primary result code
	case sqlite3.SQLITE_FULL:
		return hazard.ErrFull
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CORRUPT,
		sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_NOMEM:
		return hazard.ErrUnavailable
	}
	return nil
}

// check compares indexes and search tables with their origins
// (sqlite.org/pragma.html#pragma_integrity_check).
func (sqlite) check(ctx context.Context, tx *sql.Tx, fault func(what string)) error {
	rows, err := tx.QueryContext(ctx, `PRAGMA integrity_check`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var result string
		if err := rows.Scan(&result); err != nil {
			return err
		}
		if result != "ok" {
			fault("SQLite: " + result)
		}
	}
	return rows.Err()
}
