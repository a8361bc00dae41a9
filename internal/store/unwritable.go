package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	sqlitedriver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
	"github.com/hazardd/hazardd/internal/store/sqlite/pagesum"
	"github.com/hazardd/hazardd/internal/store/sqlite/prepared"
)

// A disk that is full or read-only stops writes, and nothing else: the store is opened for reading,
// and turns to writing as soon as that works (SeekRoom).

// UnwritableError says that the SQLite file cannot be written, and why. It is an ErrUnavailable.
type UnwritableError struct {
	Path  string // of the file
	Cause error
}

func (e *UnwritableError) Error() string {
	return fmt.Sprintf("%s cannot be written: %v", e.Path, e.Cause)
}

// Detail is the text for clients: without folders, and with what to do.
func (e *UnwritableError) Detail() string {
	cause := strings.ReplaceAll(e.Cause.Error(), filepath.Dir(e.Path)+string(filepath.Separator), "")
	return fmt.Sprintf("%s cannot be written: %s. Reads work, and writes will again as soon as the operator has made its disk writable, "+
		"without a restart; repeating a request with the same uuid is safe", filepath.Base(e.Path), cause)
}

// Unwrap returns the kind and the cause.
func (e *UnwritableError) Unwrap() []error { return []error{hazard.ErrUnavailable, e.Cause} }

// unwritable reports whether err means that a file cannot be written, although it may be read.
func unwritable(err error) bool {
	if _, ok := errors.AsType[*UnwritableError](err); ok || errors.Is(err, hazard.ErrFull) {
		return true
	}
	failure, ok := errors.AsType[*sqlitedriver.Error](err)
	if !ok || failure.Code() == sqlite3.SQLITE_IOERR_DATA {
		return false
	}
	switch failure.Code() & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR:
		return true
	}
	return false
}

// noteWrite remembers that a write has failed for want of a disk that can be written.
func (s *core) noteWrite(err error) {
	if unwritable(err) {
		s.failed.Store(&err)
	}
}

// Unwritable returns why writes fail, if one has failed for want of room or of a disk that can be
// written, and SeekRoom has not succeeded since; otherwise nil.
func (s *Store) Unwritable() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Full reports whether that is for want of room.
func (s *Store) Full() bool { return errors.Is(s.Unwritable(), hazard.ErrFull) }

// NoteLittleRoom makes the store prove that there is room, before it says that it can be written: a
// full disk is otherwise noticed only at the first write.
func (s *Store) NoteLittleRoom() {
	full := fmt.Errorf("%w on the disk of the store", hazard.ErrFull)
	s.failed.CompareAndSwap(nil, &full)
}

// RoomSize is how many bytes must fit into a full store before it counts as having space again:
// small changes may still fit into a database's free pages although the disk is full.
const RoomSize = 256 << 10

// SeekRoom tests whether the store can be written, by writing RoomSize bytes and removing them. If it
// was opened for reading only, it is opened for writing.
func (s *Store) SeekRoom(ctx context.Context) error {
	if err := s.disk.recover(ctx, s.read); err != nil {
		s.noteWrite(err)
		return err
	}
	if !s.prepared.Load() {
		err := s.migrate(ctx, Schema(), func(tx *sql.Tx) error { return whole(ctx, tx) })
		if err == nil {
			err = s.renew(ctx)
		}
		if err == nil {
			err = s.prepareWrites(ctx)
		}
		if err != nil {
			s.noteWrite(err)
			return err
		}
	}
	for _, value := range []string{strings.Repeat("room ", RoomSize/5), ""} {
		err := s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
			return q.SetMeta(ctx, sqlc.SetMetaParams{Name: "room", Value: value})
		})
		if err != nil {
			return err
		}
	}
	s.failed.Store(nil)
	return nil
}

// fits checks a store that can only be read: whether this program can use it as it is.
func (s *core) fits(ctx context.Context) error {
	tx, err := s.read.BeginTx(ctx, s.database.snapshot())
	if err != nil {
		return fmt.Errorf("open the store: %w", storeError(err))
	}
	defer func() { _ = rollback(tx) }()
	var have, newest int
	if err := tx.QueryRowContext(ctx, `SELECT count(*), coalesce(max(version), 0) FROM schema_version`).Scan(&have, &newest); err != nil {
		return fmt.Errorf("there is no store in %s yet, and none can be made: %w", s.file, s.disk.why())
	}
	switch known := Schema(); {
	case have < known:
		return fmt.Errorf("the store has schema %d, and must be upgraded to %d: %w", have, known, s.disk.why())
	case have > known:
		if err := checkReadable(ctx, tx, newest, known); err != nil {
			return err
		}
	}
	return whole(ctx, tx)
}

// disk is how the connections to an SQLite file are opened. A nil disk is one that can be written.
type disk struct {
	path        string
	synchronous string
	apart       bool                            // a connection of its own moves the log
	refused     atomic.Pointer[UnwritableError] // why it is only read; nil: it is written
	// still means that the file has no write-ahead log and is read as one that nobody writes
	// (sqlite.org/uri.html#uriimmutable): without a log that exists, SQLite cannot read a file in
	// WAL mode on a read-only disk.
	still      atomic.Bool
	generation atomic.Int64
	opened     os.FileInfo // the file as it was opened
}

// ErrReplaced means that another file has taken the place of the SQLite file while it was open.
var ErrReplaced = errors.New("another file has taken its place while the server ran, and what is served is of the earlier one. Start the server again")

var errGone = errors.New("the file was removed or renamed while the server ran. Put it back, or put a restored one in its place")

// moved returns an error if the file has no longer its name: what is written to it would be lost.
func (d *disk) moved() error {
	if d == nil || d.opened == nil {
		return nil
	}
	switch now, err := os.Stat(d.path); {
	case errors.Is(err, os.ErrNotExist):
		return &UnwritableError{d.path, errGone}
	case err == nil && !os.SameFile(now, d.opened):
		return &UnwritableError{d.path, ErrReplaced}
	}
	return nil
}

// SameFile returns an error that is ErrReplaced if another file has taken the place of the SQLite file.
// If there is none, the store cannot be written.
func (s *Store) SameFile() error {
	err := s.disk.moved()
	s.noteWrite(err)
	if errors.Is(err, ErrReplaced) {
		return err
	}
	return nil
}

// access is what a connection is for.
type access struct {
	vfs     string
	pragmas []string
	writes  bool
}

func (d *disk) open(a access) *sql.DB {
	return sql.OpenDB(prepared.Connector{Connector: &connector{d, a}, Generation: &d.generation})
}

// connector opens connections as the disk allows at present.
type connector struct {
	disk *disk
	access
}

// Connect is that of driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := c.disk.refused.Load(); err != nil && c.writes {
		return nil, err
	}
	made, err := sqlitedriver.NewConnector(c.disk.dsn(c.access))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", c.disk.path, err)
	}
	return made.Connect(ctx)
}

// Driver is that of driver.Connector.
func (c *connector) Driver() driver.Driver { return &sqlitedriver.Driver{} }

// dsn returns the name of a connection with its settings.
func (d *disk) dsn(a access) string {
	pragmas := []string{fmt.Sprintf("busy_timeout(%d)", writeTimeout.Milliseconds())} // first, because the others may have to wait
	more := url.Values{"vfs": {a.vfs}}
	switch {
	case d.refused.Load() == nil:
		pragmas = append(pragmas,
			// Only for a new file, and before its mode is set: the driver runs these in byte order. The
			// default page of 4 KiB holds three rows of the log and leaves a sixth of its space empty.
			fmt.Sprintf(`"main".page_size(%d)`, pageSize),
			"journal_mode(WAL)",
			"synchronous("+d.synchronous+")",
			"secure_delete(1)") // overwrite deleted data with zeros: a redacted text must not remain in free space
		if a.writes {
			more.Set("_txlock", "immediate")
			if d.apart { // a commit does it only if nobody else has
				pragmas = append(pragmas, fmt.Sprintf("wal_autocheckpoint(%d)", 4*boundOfLog))
			}
		}
	case d.still.Load():
		more.Set("mode", "ro")
		more.Set("immutable", "1")
	default:
		more.Set("mode", "ro")
		more.Set("readonly_shm", "1")
	}
	more["_pragma"] = append(append(pragmas,
		"foreign_keys(1)",
		"cell_size_check(1)"), // report pages with a damaged structure; this does not detect a flipped bit inside a text
		a.pragmas...)
	return (&url.URL{Scheme: "file", OmitHost: true, Path: d.path, RawQuery: more.Encode()}).String()
}

// tryWriting begins a write and takes it back. To take the write lock is not enough: on a file that
// cannot be written, that is silently a read.
func (d *disk) tryWriting(ctx context.Context, write *sql.DB) error {
	tx, err := write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `PRAGMA user_version = 0`)
	return errors.Join(err, rollback(tx))
}

// refuse makes new connections read only, because of err.
func (d *disk) refuse(err error) {
	d.still.Store(!d.logged())
	d.refused.Store(&UnwritableError{d.path, reason(d.path, err)})
	d.generation.Add(1)
}

// logged reports whether the file has a write-ahead log that holds anything.
func (d *disk) logged() bool {
	info, err := os.Stat(d.path + "-wal")
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// why returns why the file is only read, or nil.
func (d *disk) why() error {
	if d == nil {
		return nil
	}
	if err := d.refused.Load(); err != nil {
		return err
	}
	return nil
}

// recover opens the file for writing, if it was opened for reading only and can be written now. A
// process has one way to use the index of a write-ahead log: what read holds of it is closed before.
func (d *disk) recover(ctx context.Context, read *sql.DB) error {
	if d.why() == nil {
		return nil
	}
	read.SetMaxIdleConns(0)
	defer read.SetMaxIdleConns(maxReaders())
	writing := &disk{path: d.path, synchronous: d.synchronous}
	write := writing.open(access{vfs: pagesum.Strict, writes: true})
	err := errors.Join(writing.tryWriting(ctx, write), write.Close())
	if err == nil {
		d.refused.Store(nil)
		d.still.Store(false)
		d.generation.Add(1)
		return nil
	}
	if d.still.Load() && d.logged() {
		d.refuse(err) // another process writes after all
	}
	return &UnwritableError{d.path, reason(d.path, err)}
}

// reason says in the words of the operating system why a file cannot be written, if that can be
// found out: SQLite only says "unable to open database file".
func reason(path string, err error) error {
	probe, failed := os.CreateTemp(filepath.Dir(path), ".hazardd-*")
	if failed != nil {
		return plain(failed)
	}
	_, failed = probe.Write(make([]byte, probeSize))
	if failed = errors.Join(failed, probe.Close(), os.Remove(probe.Name())); failed != nil {
		return plain(failed)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if info, missing := os.Lstat(path + suffix); missing == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file", path+suffix)
		}
	}
	return err
}

// probeSize is the size in bytes of the least file that SQLite needs beside a database.
const probeSize = 32 << 10

// plain returns the error of a probe without the name of its file.
func plain(err error) error {
	if failure, ok := errors.AsType[*os.PathError](err); ok {
		err = failure.Err
	}
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w: %w", hazard.ErrFull, err)
	}
	return err
}
