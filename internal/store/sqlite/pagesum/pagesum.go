// Package pagesum adds a checksum to each page of an SQLite file, and refuses pages that do not
// match theirs. SQLite itself has no checksums, so it would return a flipped bit on the disk as
// data.
//
// The package is SQLite's own file access (its VFS, sqlite.org/vfs.html) with two functions
// replaced, as in the extension cksumvfs (sqlite.org/cksumvfs.html), which is written in C and not
// part of our driver.
//
// Only files made by Create have checksums, in 8 reserved bytes at the end of each page; other
// files are read and written unchanged. SQLite itself sees zeros in these bytes. So pages that
// another program moves from the write-ahead log to the file have no checksum and are accepted,
// since the log has its own. A page changed by another program counts as damaged.
//
// SQLite checks the write-ahead log only after a crash. This package checks each page that is read
// from it (wal.go), so a damaged page is neither returned nor moved to the file.
package pagesum

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"unsafe"

	"modernc.org/libc"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hazardd/hazardd/internal/store/sqlite/wal"
)

// The names of the ways to open a file, for the parameter vfs of a connection. Strict refuses a damaged page (SQLITE_IOERR_DATA). Lenient
// gives it as it is, for who looks at what is left and compares it with checksums of its own.
const (
	Strict  = "hazardd"
	Lenient = "hazardd-lenient"
)

// reserved is how many bytes of a page hold its checksum: four that say so, and CRC-32C of the number of the page and of what is before.
const reserved = 8

var mark = [4]byte{'h', 'z', 'd', '1'}

// headerSize is that of the header of a database file (sqlite.org/fileformat.html#the_database_header).
const headerSize = 100

var magic = []byte("SQLite format 3\x00")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(page []byte, number uint32) uint32 {
	var n [4]byte
	binary.BigEndian.PutUint32(n[:], number)
	return crc32.Update(crc32.Update(0, castagnoli, n[:]), castagnoli, page[:len(page)-reserved])
}

// Seal writes the checksum of a page at its end, as a file keeps it. SQLite has zeros there.
func Seal(page []byte, number uint32) {
	end := page[len(page)-reserved:]
	copy(end, mark[:])
	binary.BigEndian.PutUint32(end[4:], sum(page, number))
}

// intact reports whether a page is as it was written. One whose checksum is zeros was written by another program, or never.
func intact(page []byte, number uint32) bool {
	end := page[len(page)-reserved:]
	if [reserved]byte(end) == ([reserved]byte{}) {
		return true
	}
	return [4]byte(end) == mark && binary.BigEndian.Uint32(end[4:]) == sum(page, number)
}

// layout is the size of the pages of a file, and whether they have checksums, from its first bytes.
func layout(header []byte) (size int, sums, ok bool) {
	if len(header) < headerSize || !bytes.Equal(header[:len(magic)], magic) {
		return 0, false, false
	}
	if size = int(binary.BigEndian.Uint16(header[16:])); size == 1 {
		size = 1 << 16
	}
	return size, header[20] == reserved, true
}

// Has reports whether the pages of a database have checksums, by the first one.
func Has(first []byte) bool {
	_, sums, _ := layout(first)
	return sums
}

// Create makes an empty database file of mode 0600 whose pages have checksums, unless there is a file. On a file system without links
// there is none afterwards, and SQLite makes one without checksums.
func Create(path string, pageSize int) (err error) {
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return nil // who opens it says what is wrong
	}
	page := make([]byte, pageSize)
	copy(page, magic)
	binary.BigEndian.PutUint16(page[16:], uint16(pageSize)) // 65536 would be 1: see layout
	page[18], page[19], page[20] = 1, 1, reserved
	page[21], page[22], page[23] = 64, 32, 32
	binary.BigEndian.PutUint32(page[24:], 1)                                   // change counter
	binary.BigEndian.PutUint32(page[28:], 1)                                   // pages
	binary.BigEndian.PutUint32(page[56:], 1)                                   // UTF-8
	binary.BigEndian.PutUint32(page[92:], 1)                                   // the counter for which the number of pages is valid
	page[headerSize] = 13                                                      // an empty leaf of the table of tables
	binary.BigEndian.PutUint16(page[headerSize+5:], uint16(pageSize-reserved)) // where its cells begin
	Seal(page, 1)

	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*") // of mode 0600
	if err != nil {
		return nil // as above
	}
	_, err = f.Write(page)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		// Whole or not at all, and never over what another process has begun.
		_ = os.Link(f.Name(), path)
	}
	return errors.Join(err, os.Remove(f.Name()))
}

// Sums reports whether the pages of a file have checksums, by its first page as SQLite gives it. The file itself is not opened: closing it
// would drop the locks that SQLite has on it in this process (sqlite.org/howtocorrupt.html, section 2.2).
func Sums(ctx context.Context, d *sql.DB) (bool, error) {
	var page []byte
	if err := d.QueryRowContext(ctx, `SELECT data FROM sqlite_dbpage WHERE pgno = 1`).Scan(&page); err != nil {
		return false, err
	}
	return Has(page), nil
}

// Scan reads the pages of a file, those that hold nothing too, over connections that are Strict and have read nothing yet, and calls fault
// with the number of each that is damaged, from 1. Others may use the file meanwhile: of a page that is in the write-ahead log that copy
// is read. A file without checksums has no faults.
func Scan(ctx context.Context, d *sql.DB, fault func(page int64)) error {
	c, err := d.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	var pages int64
	if err := c.QueryRowContext(ctx, `PRAGMA page_count`).Scan(&pages); err != nil {
		return err
	}
	for number := int64(1); number <= pages; number++ {
		var size sql.NullInt64
		err := c.QueryRowContext(ctx, `SELECT length(data) FROM sqlite_dbpage WHERE pgno = $1`, number).Scan(&size)
		if failure, ok := errors.AsType[*driver.Error](err); ok && failure.Code() == sqlite3.SQLITE_IOERR_DATA {
			fault(number)
		} else if err != nil && !errors.Is(err, sql.ErrNoRows) { // the file was made shorter
			return fmt.Errorf("page %d: %w", number, err)
		}
	}
	return nil
}

// Register makes Strict and Lenient known to SQLite. It may be called again.
var Register = sync.OnceValue(func() error {
	tls := libc.NewTLS()
	defer tls.Close()
	original = sqlite3.Xsqlite3_vfs_find(tls, 0)
	if original == 0 {
		return errors.New("SQLite has no file access")
	}
	from := at[sqlite3.Tsqlite3_vfs](original)
	stateAt = uintptr(from.FszOsFile+7) &^ 7
	for name, open := range map[string]func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32{Strict: openStrict, Lenient: openLenient} {
		text, err := libc.CString(name)
		if err != nil {
			return err
		}
		vfs := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(*from)))
		if vfs == 0 {
			return errors.New("out of memory")
		}
		v := at[sqlite3.Tsqlite3_vfs](vfs)
		*v = *from
		v.FpNext, v.FzName, v.FszOsFile = 0, text, int32(stateAt+unsafe.Sizeof(state{}))
		v.FxOpen = pointer(open)
		if rc := sqlite3.Xsqlite3_vfs_register(tls, vfs, 0); rc != sqlite3.SQLITE_OK {
			return fmt.Errorf("register %s with SQLite: %d", name, rc)
		}
	}
	return nil
})

var (
	original uintptr  // SQLite's own VFS
	stateAt  uintptr  // where in the memory of a file its state is
	tables   sync.Map // the table of functions of a file of the original → ours
)

// state is what is known of an open file.
type state struct {
	methods uintptr // the original's table of functions
	size    int32   // of its pages, in bytes; 0: they have no checksums
	lenient int32
	log     int32 // not 0: it is a write-ahead log
	// Of a log that this connection writes to: where the frame is of which the header was written last, and from where on frames of the open
	// transaction do not fit their checksums until it is committed, because a page among them was written again; 0: none.
	frame, stale int64
	header       [wal.Header]byte // of a log of which a page was read; zero: none was yet
}

// at is what is at an address of SQLite's memory, which Go does not move.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// pointer is the address by which SQLite's code calls a function, and function the reverse: both are those of modernc.org/libc, where the
// function is a variable in memory.
func pointer[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

func function[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&address)) }

func openStrict(tls *libc.TLS, _, name, file uintptr, flags int32, out uintptr) int32 {
	return open(tls, name, file, flags, out, 0)
}

func openLenient(tls *libc.TLS, _, name, file uintptr, flags int32, out uintptr) int32 {
	return open(tls, name, file, flags, out, 1)
}

func open(tls *libc.TLS, name, file uintptr, flags int32, out uintptr, lenient int32) int32 {
	rc := function[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](at[sqlite3.Tsqlite3_vfs](original).FxOpen)(tls, original, name, file, flags, out)
	methods := at[sqlite3.Tsqlite3_file](file).FpMethods
	if rc != sqlite3.SQLITE_OK || methods == 0 || flags&(sqlite3.SQLITE_OPEN_MAIN_DB|sqlite3.SQLITE_OPEN_WAL) == 0 {
		return rc
	}
	*at[state](file + stateAt) = state{methods: methods, lenient: lenient, log: flags & sqlite3.SQLITE_OPEN_WAL}
	ours, ok := tables.Load(methods)
	if !ok {
		table := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_io_methods{})))
		if table == 0 {
			function[func(*libc.TLS, uintptr) int32](at[sqlite3.Tsqlite3_io_methods](methods).FxClose)(tls, file)
			at[sqlite3.Tsqlite3_file](file).FpMethods = 0
			return sqlite3.SQLITE_NOMEM
		}
		m := at[sqlite3.Tsqlite3_io_methods](table)
		*m = *at[sqlite3.Tsqlite3_io_methods](methods)
		m.FxRead, m.FxWrite = pointer(read), pointer(write)
		m.FiVersion = min(m.FiVersion, 2) // no pages that are read from mapped memory
		ours, _ = tables.LoadOrStore(methods, table)
	}
	at[sqlite3.Tsqlite3_file](file).FpMethods = ours.(uintptr)
	return rc
}

// access is the form of xRead and xWrite.
type access = func(tls *libc.TLS, file, buffer uintptr, amount int32, offset sqlite3.Tsqlite3_int64) int32

var (
	read  access = readPage
	write access = writePage
)

func readPage(tls *libc.TLS, file, buffer uintptr, amount int32, offset sqlite3.Tsqlite3_int64) int32 {
	s := at[state](file + stateAt)
	rc := function[access](at[sqlite3.Tsqlite3_io_methods](s.methods).FxRead)(tls, file, buffer, amount, offset)
	if rc != sqlite3.SQLITE_OK {
		return rc
	}
	b := unsafe.Slice(at[byte](buffer), amount)
	if s.log != 0 {
		if s.lenient == 0 && !s.intactFrame(tls, file, b, offset) {
			return sqlite3.SQLITE_IOERR_DATA
		}
		return rc
	}
	s.note(b, offset)
	if number, ok := s.page(amount, offset); ok {
		if !intact(b, number) && s.lenient == 0 {
			return sqlite3.SQLITE_IOERR_DATA
		}
		clear(b[len(b)-reserved:])
	}
	return rc
}

func writePage(tls *libc.TLS, file, buffer uintptr, amount int32, offset sqlite3.Tsqlite3_int64) int32 {
	s := at[state](file + stateAt)
	write := function[access](at[sqlite3.Tsqlite3_io_methods](s.methods).FxWrite)
	b := unsafe.Slice(at[byte](buffer), amount)
	if s.log != 0 {
		s.noteFrame(b, offset)
		return write(tls, file, buffer, amount, offset)
	}
	s.note(b, offset)
	number, ok := s.page(amount, offset)
	if !ok {
		return write(tls, file, buffer, amount, offset)
	}
	Seal(b, number)
	rc := write(tls, file, buffer, amount, offset)
	clear(b[len(b)-reserved:])
	return rc
}

// note learns the layout of a file when its header passes.
func (s *state) note(b []byte, offset sqlite3.Tsqlite3_int64) {
	if offset != 0 {
		return
	}
	if size, sums, ok := layout(b); ok {
		s.size = 0
		if sums && size >= 512 {
			s.size = int32(size)
		}
	}
}

// page is the number of the page that is read or written; not ok: it is no page, or has no checksum.
func (s *state) page(amount int32, offset sqlite3.Tsqlite3_int64) (number uint32, ok bool) {
	if s.size == 0 || amount != s.size || offset%int64(amount) != 0 {
		return 0, false
	}
	return uint32(offset/int64(amount)) + 1, true
}
