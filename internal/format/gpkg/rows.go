package gpkg

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// The table of features is a B-tree of SQLite (https://www.sqlite.org/fileformat2.html), whose pages are
// written here one after another: statements cost ten times as much, mostly to move each value into SQLite.
const (
	pageBytes     = 4096
	leafPage      = 13
	interiorPage  = 5
	overflowBytes = pageBytes - 4  // of a row in a page of its own; the number of the next such page comes first
	mostLocal     = pageBytes - 35 // of a row in a leaf; of a longer one between leastLocal and this
	leastLocal    = (pageBytes-12)*32/255 - 23
	lockPage      = 1<<30/pageBytes + 1 // SQLite's locks are there: it is never used
)

// tableWriter writes the pages of a table to out.
type tableWriter struct {
	out  io.Writer
	next uint32 // number of the page that is written next
	leaf page
	last int64   // number of the last row
	done []child // the leaves that are written
	row  []byte  // of the last row; used again
}

// child is a page, and the largest row number in it.
type child struct {
	page uint32
	last int64
}

func newTableWriter(out io.Writer, next uint32) *tableWriter {
	return &tableWriter{out: out, next: next, leaf: newPage(leafPage)}
}

// page is a page that is being filled: pointers to cells grow from its head, and cells from its end.
type page struct {
	bytes       []byte
	cells       int
	first, free int // begin of the pointers; end of what is free
}

func newPage(kind byte) page {
	p := page{bytes: make([]byte, pageBytes), first: 8, free: pageBytes}
	if p.bytes[0] = kind; kind == interiorPage {
		p.first = 12 // the child with the largest numbers
	}
	return p
}

// cell returns the bytes of a new cell, nil if the page has too little room.
func (p *page) cell(n int) []byte {
	pointer := p.first + 2*p.cells
	if p.free-n < pointer+2 {
		return nil
	}
	p.free -= n
	p.cells++
	binary.BigEndian.PutUint16(p.bytes[pointer:], uint16(p.free))
	return p.bytes[p.free : p.free+n]
}

func (p *page) end() []byte {
	binary.BigEndian.PutUint16(p.bytes[3:], uint16(p.cells))
	binary.BigEndian.PutUint16(p.bytes[5:], uint16(p.free))
	return p.bytes
}

// write writes a page, and returns its number.
func (t *tableWriter) write(bytes []byte) (number uint32, err error) {
	number = usable(t.next)
	if number != t.next {
		if _, err := t.out.Write(make([]byte, pageBytes)); err != nil {
			return 0, err
		}
	}
	t.next = number + 1
	_, err = t.out.Write(bytes)
	return number, err
}

// usable returns the first number from n on that a page can have.
func usable(n uint32) uint32 {
	if n == lockPage {
		return n + 1
	}
	return n
}

// add adds a row with the next number. blob is the value of the second column; values has those of the
// columns from the third on. The first one is the number.
func (t *tableWriter) add(blob []byte, values []any) (err error) {
	if t.row, err = appendRow(t.row[:0], blob, values); err != nil {
		return err
	}
	local, overflow := len(t.row), 0
	if local > mostLocal {
		if local = leastLocal + (len(t.row)-leastLocal)%overflowBytes; local > mostLocal {
			local = leastLocal
		}
		overflow = 4
	}
	var room [18]byte
	head := appendVarint(appendVarint(room[:0], uint64(len(t.row))), uint64(t.last+1))
	size := len(head) + local + overflow
	cell := t.leaf.cell(size)
	if cell == nil {
		number, err := t.write(t.leaf.end())
		if err != nil {
			return err
		}
		t.done = append(t.done, child{number, t.last})
		t.leaf = newPage(leafPage)
		cell = t.leaf.cell(size)
	}
	t.last++
	copy(cell[copy(cell, head):], t.row[:local])
	if overflow == 0 {
		return nil
	}
	first, err := t.overflow(t.row[local:])
	binary.BigEndian.PutUint32(cell[size-overflow:], first)
	return err
}

// overflow writes the rest of a row, and returns the number of its first page.
func (t *tableWriter) overflow(rest []byte) (first uint32, err error) {
	for len(rest) > 0 {
		var bytes [pageBytes]byte
		n := copy(bytes[4:], rest)
		if rest = rest[n:]; len(rest) > 0 {
			binary.BigEndian.PutUint32(bytes[:], usable(usable(t.next)+1))
		}
		number, err := t.write(bytes[:])
		if err != nil {
			return 0, err
		}
		if first == 0 {
			first = number
		}
	}
	return first, nil
}

// end writes what is left, and returns the page that belongs in the place of the root.
func (t *tableWriter) end() (root []byte, err error) {
	if len(t.done) == 0 {
		return t.leaf.end(), nil
	}
	number, err := t.write(t.leaf.end())
	if err != nil {
		return nil, err
	}
	level := append(t.done, child{number, t.last})
	for len(level) > children {
		var above []child
		for n, i := (len(level)+children-1)/children, 0; i < n; i++ { // of even size: none may have a single child
			part := level[i*len(level)/n : (i+1)*len(level)/n]
			if number, err = t.write(interior(part)); err != nil {
				return nil, err
			}
			above = append(above, child{number, part[len(part)-1].last})
		}
		level = above
	}
	return interior(level), nil
}

// children is how many children a page has at most.
const children = (pageBytes - 12) / (2 + 4 + 9)

// interior returns a page with at most so many children.
func interior(all []child) []byte {
	p := newPage(interiorPage)
	for _, c := range all[:len(all)-1] {
		var room [13]byte
		cell := appendVarint(binary.BigEndian.AppendUint32(room[:0], c.page), uint64(c.last))
		copy(p.cell(len(cell)), cell)
	}
	binary.BigEndian.PutUint32(p.bytes[8:], all[len(all)-1].page)
	return p.end()
}

// appendRow appends a row in SQLite's format of records: the kind of each value, then the values. The first
// column is the row's number, of which nothing is kept there.
func appendRow(b, blob []byte, values []any) ([]byte, error) {
	var room [256]byte
	kinds := append(room[:0], kindNull)
	if blob == nil {
		kinds = append(kinds, kindNull)
	} else {
		kinds = appendVarint(kinds, uint64(kindBlob+2*len(blob)))
	}
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			kinds = append(kinds, kindNull)
		case int64:
			kinds = append(kinds, kindInteger)
		case float64:
			kinds = append(kinds, kindReal)
		case string:
			kinds = appendVarint(kinds, uint64(kindText+2*len(v)))
		default:
			return b, fmt.Errorf("a value of the type %T", v)
		}
	}
	size := len(kinds) + 1 // of the head, with its size
	if size > 127 {
		size++
	}
	b = append(append(appendVarint(b, uint64(size)), kinds...), blob...)
	for _, v := range values {
		switch v := v.(type) {
		case int64:
			b = binary.BigEndian.AppendUint64(b, uint64(v))
		case float64:
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
		case string:
			b = append(b, v...)
		}
	}
	return b, nil
}

// The kinds of values.
const (
	kindNull    = 0
	kindInteger = 6 // of 64 bits
	kindReal    = 7
	kindBlob    = 12 // and twice its length
	kindText    = 13 // the same
)

// appendVarint appends a number as SQLite does: seven bits a byte, the highest first. Numbers over 56 bits
// do not occur.
func appendVarint(b []byte, n uint64) []byte {
	var room [8]byte
	i := len(room) - 1
	room[i] = byte(n & 0x7f)
	for n >>= 7; n > 0; n >>= 7 {
		i--
		room[i] = 0x80 | byte(n&0x7f)
	}
	return append(b, room[i:]...)
}
