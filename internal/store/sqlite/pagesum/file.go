package pagesum

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrInUse is the error of a file that a process has open with SQLite.
var ErrInUse = errors.New("another program has the database open")

// SQLite locks these bytes of a file, which hold nothing (sqlite.org/fileformat.html#the_lock_byte_page): who has all of them is alone.
const (
	lockFrom = 1 << 30
	lockSize = 512
)

// File is a database file that nobody has open with SQLite, whose pages are read and written below it.
type File struct {
	f    *os.File
	size int // of a page, in bytes; 0: they have no checksums
}

// OpenFile opens a database file, ErrInUse if a process has it open. This process must not: its locks would be lost
// (sqlite.org/howtocorrupt.html, section 2.2).
func OpenFile(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	x := &File{f: f}
	// The header may be what is damaged: the size of a page is the one at which one of the first two fits its checksum.
	for size := 512; size <= 1<<16 && x.size == 0; size *= 2 {
		for number := uint32(1); number <= 2; number++ {
			page, err := readAt(f, size, number)
			if err != nil {
				return nil, errors.Join(err, f.Close())
			}
			if page != nil && [4]byte(page[size-reserved:]) == mark && intact(page, number) {
				x.size = size
			}
		}
	}
	return x, nil
}

// readAt reads a page; nil if the file ends before its end.
func readAt(f io.ReaderAt, size int, number uint32) ([]byte, error) {
	page := make([]byte, size)
	if _, err := f.ReadAt(page, int64(number-1)*int64(size)); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("page %d: %w", number, err)
	}
	return page, nil
}

// Damaged returns the pages that do not fit their checksums, as they are, by their numbers. A file without checksums has none.
func (x *File) Damaged(ctx context.Context) (map[uint32][]byte, error) {
	found := map[uint32][]byte{}
	for number := uint32(1); x.size > 0; number++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		page, err := readAt(x.f, x.size, number)
		if err != nil {
			return nil, err
		}
		if page == nil {
			break
		}
		if !intact(page, number) {
			found[number] = page
		}
	}
	return found, nil
}

// Was reports whether a damaged page was once another one, as SQLite gives that: if the other's checksum is the one that the damaged page
// still has, or if nothing but the checksum differs.
func Was(damaged, other []byte, number uint32) bool {
	if len(damaged) != len(other) {
		return false
	}
	page := bytes.Clone(other)
	Seal(page, number)
	at := len(page) - reserved
	return bytes.Equal(page[at:], damaged[at:]) || bytes.Equal(page[:at], damaged[:at])
}

// Put writes a page, as SQLite gives it, with its checksum, and returns when it is on disk.
func (x *File) Put(number uint32, page []byte) error {
	if len(page) != x.size {
		return fmt.Errorf("page %d has %d bytes; pages of this file have %d", number, len(page), x.size)
	}
	page = bytes.Clone(page)
	Seal(page, number)
	if _, err := x.f.WriteAt(page, int64(number-1)*int64(x.size)); err != nil {
		return err
	}
	return x.f.Sync()
}

// Close lets others open the file.
func (x *File) Close() error { return x.f.Close() }
