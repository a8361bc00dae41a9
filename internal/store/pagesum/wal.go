package pagesum

import (
	"encoding/binary"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hazardd/hazardd/internal/store/wal"
)

// intactFrame reports whether what was read of a write-ahead log is as it was written. It looks at pages alone: SQLite reads other parts only where it compares checksums itself.
func (s *state) intactFrame(tls *libc.TLS, file uintptr, b []byte, offset int64) bool {
	frame := offset - wal.FrameHeader
	if len(b) < 512 || frame < wal.Header || s.stale != 0 && offset >= s.stale || (frame-wal.Header)%int64(wal.FrameHeader+len(b)) != 0 {
		return true
	}
	// The checksum of a frame goes on from that of the frame before, or of the log's header: the last eight bytes before this one, or before its predecessor's page.
	const most = 3 * wal.Header
	memory := tls.Alloc(most) // SQLite cannot write to memory that Go may move
	defer tls.Free(most)
	clear(unsafe.Slice(at[byte](memory), most))
	raw := func(n, part int, offset int64) []byte {
		to := memory + uintptr(part*wal.Header)
		if function[access](at[sqlite3.Tsqlite3_io_methods](s.methods).FxRead)(tls, file, to, int32(n), offset) != sqlite3.SQLITE_OK {
			return nil
		}
		return unsafe.Slice(at[byte](to), n)
	}
	header := raw(wal.Header, 0, 0)
	if header != nil && wal.PageSize(header) != len(b) {
		return true // SQLite reads a frame with its header where it writes its checksum anew
	}
	own, before := raw(wal.FrameHeader, 1, frame), raw(8, 2, wal.Header-8)
	if frame > wal.Header {
		before = raw(8, 2, frame-int64(len(b))-8)
	}
	return header != nil && own != nil && before != nil && wal.Fits(header, before, own, b)
}

// noteFrame follows what the connection writes to a log. A transaction that does not fit into its memory writes pages before its end, and some of them again, in their place:
// their checksums, and those of the frames behind, are written at its end (walRewriteChecksums in wal.c), with the one frame that says how many pages the database has.
func (s *state) noteFrame(b []byte, offset int64) {
	switch {
	case offset < wal.Header:
		s.frame, s.stale = 0, 0 // the log begins anew
	case len(b) == wal.FrameHeader:
		if s.frame = offset; offset+wal.FrameHeader <= s.stale || binary.BigEndian.Uint32(b[4:]) != 0 {
			s.stale = 0
		}
	case len(b) >= 512 && s.frame != offset-wal.FrameHeader && (s.stale == 0 || offset < s.stale):
		s.stale = offset
	}
}
