package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// mark is a file beside an SQLite file with the number of the last acknowledged change. It detects
// lost changes: SQLite silently drops a write-ahead log from the first damage on, and the database
// file may be replaced by an older one. Without it, numbers would be assigned again that readers
// have already seen with another meaning. The mark is not synced, because an outdated mark is never
// wrong; it only detects fewer losses.
//
// It only helps: a mark that cannot be read or written detects no losses, and stops nothing.
type mark struct {
	path string
	mu   sync.Mutex
	file *os.File // nil: not opened yet
}

// markSuffix is appended to the name of the SQLite file.
const markSuffix = ".last"

// markSize is the size of a mark in bytes: an epoch, a number and a checksum.
const markSize = 96

// open opens the file, if it is not open.
func (m *mark) open() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file != nil {
		return nil
	}
	f, err := os.OpenFile(m.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	m.file = f
	return nil
}

// read returns the marked change and its epoch, or zero values if there is no valid mark.
func (m *mark) read() (epoch string, change int64) {
	if m.open() != nil {
		return "", 0
	}
	text := make([]byte, markSize)
	if n, err := m.file.ReadAt(text, 0); err != nil && !errors.Is(err, io.EOF) || n < markSize {
		return "", 0
	}
	content, sum, _ := strings.Cut(strings.TrimRight(string(text), " \n"), " #")
	if sum != checksum(content) {
		return "", 0
	}
	if _, err := fmt.Sscan(content, &epoch, &change); err != nil {
		return "", 0
	}
	return epoch, change
}

// set marks the last change that is known. If the write fails, the mark is outdated, but the change is safe.
func (m *mark) set(epoch string, known *atomic.Int64) {
	if m.open() != nil {
		return
	}
	m.mu.Lock() // so that it never goes back
	defer m.mu.Unlock()
	content := fmt.Sprint(epoch, " ", known.Load())
	_, _ = m.file.WriteAt(fmt.Appendf(nil, "%-*s\n", markSize-1, content+" #"+checksum(content)), 0)
}

// close closes the file. Like a database, it may be closed twice.
func (m *mark) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		return nil
	}
	if err := m.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

func checksum(s string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(s))) }

// compareMark records a loss of changes if the store ends before the change in its mark: numbers
// jump, and readers of lost changes learn of it.
func (s *core) compareMark(ctx context.Context) error {
	if s.mark == nil {
		return nil
	}
	epoch, marked := s.mark.read()
	if epoch != s.epoch { // the mark of an earlier store in the same place
		return nil
	}
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return storeError(err)
	}
	f, err := forkBefore(ctx, tx, s.writeQ.WithTx(tx), marked)
	if err == nil && f.Start > 0 {
		err = tx.Commit()
	} else {
		err = errors.Join(err, rollback(tx))
	}
	if err != nil {
		return fmt.Errorf("compare the log with the change that was acknowledged last: %w", storeError(err))
	}
	// A mark of what is lost stays until another change is acknowledged: so a server hears of it too, when a command opened the store before.
	err = forked(ctx, s.writeQ, marked)
	if loss, ok := errors.AsType[*ForkedError](err); ok {
		s.lost = marked - loss.Last
		return nil
	}
	return err
}

// forkBefore forks a log that ends before an acknowledged change.
func forkBefore(ctx context.Context, tx *sql.Tx, q *sqlc.Queries, marked int64) (Fork, error) {
	var last int64
	if err := tx.QueryRowContext(ctx, `SELECT value FROM counters WHERE name = 'change'`).Scan(&last); err != nil || last >= marked {
		return Fork{}, err
	}
	// While a dump is still loaded, the table has no key yet: this fails, and is tried again.
	if err := q.SetMeta(ctx, sqlc.SetMetaParams{Name: "behind", Value: fmt.Sprint(marked)}); err != nil {
		return Fork{}, err
	}
	return fork(ctx, q, hazard.At(time.Now()), Damage)
}

// MarkError returns why the mark of the last change cannot be written: changes that the disk loses
// would not be noticed. It returns nil if it can, or if there is none.
func (s *Store) MarkError() error {
	if s.mark == nil {
		return nil
	}
	return s.mark.open()
}

// Lost returns how many acknowledged changes were missing when the store was opened, by this process
// or by another one since the last acknowledged change. Their numbers are void.
func (s *Store) Lost() int64 { return s.lost }
