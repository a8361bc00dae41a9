// Package wal reads the write-ahead log of an SQLite file, and returns the pages committed since it
// was last read (sqlite.org/fileformat2.html, section 4). It takes no lock: the caller keeps a read
// transaction open, so that nothing unread is overwritten.
package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// The sizes of the headers of a log and of a frame, in bytes (sections 4.1 and 4.2).
const (
	Header      = 32
	FrameHeader = 24
)

// The numbers that a log begins with: its last bit says in which order bytes are summed.
const (
	magic  = 0x377f0682
	format = 3007000
)

// Position is how far a log was read: behind a commit. The zero Position is before the first frame of whatever log there is.
type Position struct {
	salt  [8]byte // of the log: another begins with another
	frame int64   // frames before it
	sum   [2]uint32
}

// Frames is how many frames of the log were read, each of a page.
func (p Position) Frames() int64 { return p.frame }

// Changes are the pages that were committed behind a position.
type Changes struct {
	PageSize int
	// Pages is how many pages the database has after them.
	Pages uint32
	// To is where the next ones begin.
	To Position
	// at is where in the log the content of a page is; the last one where it has several.
	at map[uint32]int64
}

// Len is how many pages have changed; 0: nothing was committed.
func (c *Changes) Len() int { return len(c.at) }

// Numbers are the numbers of the pages that have changed, from 1, in their order.
func (c *Changes) Numbers() []uint32 { return slices.Sorted(maps.Keys(c.at)) }

// Read reads a page that has changed into b, which is PageSize long.
func (c *Changes) Read(log io.ReaderAt, number uint32, b []byte) error {
	if n, err := log.ReadAt(b, c.at[number]); n < len(b) {
		return fmt.Errorf("page %d of the write-ahead log: %w", number, err)
	}
	return nil
}

// Since returns what was committed after a position. If the log has begun anew, that is all that it holds: earlier
// commits are in the database file, because the caller allowed the new beginning only after it had read them. Frames
// of an uncommitted transaction are left for the next call, and so is a log that is just being begun.
func Since(log io.ReaderAt, p Position) (*Changes, error) {
	c := &Changes{To: p, at: map[uint32]int64{}}
	var header [Header]byte
	if n, err := log.ReadAt(header[:], 0); n < Header {
		if errors.Is(err, io.EOF) {
			return c, nil // empty
		}
		return nil, err
	}
	order := orderOf(header[:])
	s := sum([2]uint32{}, order, header[:24])
	if word(header[:], 0)&^1 != magic || word(header[:], 1) != format || s != [2]uint32{word(header[:], 6), word(header[:], 7)} {
		return c, nil // it is being written
	}
	c.PageSize = PageSize(header[:])
	if c.PageSize < 512 || c.PageSize > 1<<16 || c.PageSize&(c.PageSize-1) != 0 {
		return nil, fmt.Errorf("the write-ahead log has pages of %d bytes", c.PageSize)
	}
	if salt := [8]byte(header[16:24]); p.salt != salt {
		p = Position{salt: salt, sum: s}
	}
	open := map[uint32]int64{} // of the transaction that is being read
	frame := make([]byte, FrameHeader+c.PageSize)
	for i := p.frame; ; i++ {
		at := Header + i*int64(len(frame))
		if n, err := log.ReadAt(frame, at); n < len(frame) {
			if errors.Is(err, io.EOF) {
				return c, nil
			}
			return nil, err
		}
		p.sum = sum(sum(p.sum, order, frame[:8]), order, frame[FrameHeader:])
		if [8]byte(frame[8:16]) != p.salt || p.sum != [2]uint32{word(frame, 4), word(frame, 5)} {
			return c, nil // what an earlier log left there, or is being written
		}
		open[word(frame, 0)] = at + FrameHeader
		if pages := word(frame, 1); pages > 0 {
			maps.Copy(c.at, open)
			clear(open)
			c.Pages, c.To = pages, Position{salt: p.salt, frame: i + 1, sum: p.sum}
		}
	}
}

// word is the i-th number of b.
func word(b []byte, i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }

// orderOf is the order in which the bytes of a log are summed, by its header.
func orderOf(header []byte) binary.ByteOrder {
	if word(header, 0)&1 == 1 {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// PageSize is the size of the pages of a log in bytes, by its header.
func PageSize(header []byte) int { return int(word(header, 2)) }

// Fits reports whether a frame, by its header and page, has the checksum that goes on from before, the one that stands in front of it.
func Fits(header, before, frame, page []byte) bool {
	order := orderOf(header)
	s := sum(sum([2]uint32{word(before, 0), word(before, 1)}, order, frame[:8]), order, page)
	return s == [2]uint32{word(frame, 4), word(frame, 5)}
}

// sum goes on with a checksum over b, whose length is a multiple of eight (section 4.4).
func sum(s [2]uint32, order binary.ByteOrder, b []byte) [2]uint32 {
	for ; len(b) >= 8; b = b[8:] {
		s[0] += order.Uint32(b) + s[1]
		s[1] += order.Uint32(b[4:]) + s[0]
	}
	return s
}
