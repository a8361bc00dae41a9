package pagesum

import (
	"encoding/binary"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hazardd/hazardd/internal/store/sqlite/wal"
)

// intactFrame reports whether what was read of a write-ahead log is as it was written. It looks at pages alone: SQLite reads other parts only where it compares checksums itself.
func (s *state) intactFrame(tls *libc.TLS, file uintptr, b []byte, offset int64) bool {
	frame := offset - wal.FrameHeader
	if len(b) < 512 || frame < wal.Header || s.stale != 0 && offset >= s.stale || (frame-wal.Header)%int64(wal.FrameHeader+len(b)) != 0 {
		return true
	}
	// The checksum of a frame goes on from that of the frame before, or of the log's header: the last eight bytes before this one, or before its predecessor's page.
	from := frame - 8
	if frame > wal.Header {
		from -= int64(len(b))
	}
	size := len(b) + 8 + wal.FrameHeader
	memory := tls.Alloc(size) // SQLite cannot write to memory that Go may move
	defer tls.Free(size)
	raw := func(n, offset int64) []byte {
		if function[access](at[sqlite3.Tsqlite3_io_methods](s.methods).FxRead)(tls, file, memory, int32(n), offset) != sqlite3.SQLITE_OK {
			return nil
		}
		return unsafe.Slice(at[byte](memory), n)
	}
	if s.header == ([wal.Header]byte{}) { // read once: the size of its pages, and the order in which bytes are summed, are those of each later log too
		header := raw(wal.Header, 0)
		if header == nil {
			return false
		}
		if wal.PageSize(header) != len(b) {
			return true // SQLite reads a frame with its header where it writes its checksum anew
		}
		s.header = [wal.Header]byte(header)
	}
	if wal.PageSize(s.header[:]) != len(b) {
		return true
	}
	beside := raw(frame+wal.FrameHeader-from, from)
	return beside != nil && wal.Fits(s.header[:], beside[:8], beside[len(beside)-wal.FrameHeader:], b)
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
