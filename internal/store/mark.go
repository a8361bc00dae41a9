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
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/db"
)

// mark is a file beside an SQLite file that says which change was acknowledged last. SQLite takes its write-ahead log up to the first
// damage and is silent about the rest, and a file may be replaced by an older one: either way the store would give numbers a second time,
// to readers who have seen them mean something else. The mark is not synced, for it need not be: one that is behind finds less, and is
// never wrong.
type mark struct {
	file *os.File
}

// markSuffix is what the name of a mark has behind that of its SQLite file.
const markSuffix = ".last"

// markSize is that of the text of a mark, in bytes: an epoch, a number, a checksum.
const markSize = 96

func openMark(database string) (*mark, error) {
	f, err := os.OpenFile(database+markSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the mark of the last change: %w", err)
	}
	return &mark{f}, nil
}

// read is the change that was marked last, and of which epoch; zero if there is none that can be believed.
func (m *mark) read() (epoch string, change int64) {
	text := make([]byte, markSize)
	if n, err := m.file.ReadAt(text, 0); err != nil && !errors.Is(err, io.EOF) || n < markSize {
		return "", 0
	}
	said, sum, _ := strings.Cut(strings.TrimRight(string(text), " \n"), " #")
	if sum != checksum(said) {
		return "", 0
	}
	if _, err := fmt.Sscan(said, &epoch, &change); err != nil {
		return "", 0
	}
	return epoch, change
}

// set marks a change. A mark that cannot be written stays behind, and the change is safe all the same.
func (m *mark) set(epoch string, change int64) {
	said := fmt.Sprint(epoch, " ", change)
	_, _ = m.file.WriteAt(fmt.Appendf(nil, "%-*s\n", markSize-1, said+" #"+checksum(said)), 0)
}

// close closes the file; closing it again does nothing, as with a database.
func (m *mark) close() error {
	if err := m.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

func checksum(s string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(s))) }

// compareMark notes that changes were lost, if the store ends before the one that its mark names: numbers jump, and readers who have
// seen what is lost are told.
func (s *Store) compareMark(ctx context.Context) error {
	if s.mark == nil {
		return nil
	}
	epoch, told := s.mark.read()
	if epoch != s.epoch { // of another store that was here
		return nil
	}
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return storeError(err)
	}
	f, err := forkBefore(ctx, tx, s.writeQ.WithTx(tx), told)
	if err == nil && f.Start > 0 {
		err = tx.Commit()
	} else {
		err = errors.Join(err, rollback(tx))
	}
	if err != nil {
		return fmt.Errorf("compare the log with the change that was acknowledged last: %w", storeError(err))
	}
	// A mark of what is lost stays until another change is acknowledged: so a server hears of it too, when a command opened the store before.
	err = forked(ctx, s.writeQ, told)
	if loss, ok := errors.AsType[*ForkedError](err); ok {
		s.lost = told - loss.Last
		return nil
	}
	return err
}

// forkBefore forks a log that ends before a change that was told.
func forkBefore(ctx context.Context, tx *sql.Tx, q *db.Queries, told int64) (Fork, error) {
	var last int64
	if err := tx.QueryRowContext(ctx, `SELECT value FROM counters WHERE name = 'change'`).Scan(&last); err != nil || last >= told {
		return Fork{}, err
	}
	return fork(ctx, q, hazard.At(time.Now()), Damage)
}

// Lost is how many changes that had been acknowledged were not in the store when it was opened, now or by another since the last change was
// acknowledged. Their numbers are void.
func (s *Store) Lost() int64 { return s.lost }
