package gpkg

import (
	"encoding/binary"
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
	row  row
	text []byte // of the last row; used again
}

// child is a page, and the largest row number in it.
type child struct {
	page uint32
	last int64
}

func newTableWriter(out io.Writer, next uint32) *tableWriter {
	return &tableWriter{out: out, next: next, leaf: newPage(leafPage, make([]byte, pageBytes))}
}

// page is a page that is being filled: pointers to cells grow from its head, and cells from its end.
type page struct {
	bytes       []byte
	cells       int
	first, free int // begin of the pointers; end of what is free
}

func newPage(kind byte, bytes []byte) page {
	clear(bytes)
	p := page{bytes: bytes, first: 8, free: pageBytes}
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

// add adds a row with the next number, t.row, and begins the next one. blob is the value of the second
// column, before those of t.row. The first one is the number.
func (t *tableWriter) add(blob []byte) error {
	t.text = t.row.appendTo(t.text[:0], blob)
	t.row.begin()
	local, overflow := len(t.text), 0
	if local > mostLocal {
		if local = leastLocal + (len(t.text)-leastLocal)%overflowBytes; local > mostLocal {
			local = leastLocal
		}
		overflow = 4
	}
	var room [18]byte
	head := appendVarint(appendVarint(room[:0], uint64(len(t.text))), uint64(t.last+1))
	size := len(head) + local + overflow
	cell := t.leaf.cell(size)
	if cell == nil {
		number, err := t.write(t.leaf.end())
		if err != nil {
			return err
		}
		t.done = append(t.done, child{number, t.last})
		t.leaf = newPage(leafPage, t.leaf.bytes)
		cell = t.leaf.cell(size)
	}
	t.last++
	copy(cell[copy(cell, head):], t.text[:local])
	if overflow == 0 {
		return nil
	}
	first, err := t.overflow(t.text[local:])
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
	p := newPage(interiorPage, make([]byte, pageBytes))
	for _, c := range all[:len(all)-1] {
		var room [13]byte
		cell := appendVarint(binary.BigEndian.AppendUint32(room[:0], c.page), uint64(c.last))
		copy(p.cell(len(cell)), cell)
	}
	binary.BigEndian.PutUint32(p.bytes[8:], all[len(all)-1].page)
	return p.end()
}

// row is a row in SQLite's format of records: the kind of each value, then the values.
type row struct {
	values          int
	kinds, contents []byte
}

func (r *row) begin() { *r = row{kinds: r.kinds[:0], contents: r.contents[:0]} }

func (r *row) add(kind int) {
	r.kinds = appendVarint(r.kinds, uint64(kind))
	r.values++
}

func (r *row) null() { r.add(kindNull) }

func (r *row) text(text string) {
	r.add(kindText + 2*len(text))
	r.contents = append(r.contents, text...)
}

func (r *row) integer(n int64) {
	switch {
	case n == int64(int16(n)):
		r.add(kindInteger16)
		r.contents = binary.BigEndian.AppendUint16(r.contents, uint16(n))
	case n == int64(int32(n)):
		r.add(kindInteger32)
		r.contents = binary.BigEndian.AppendUint32(r.contents, uint32(n))
	default:
		r.add(kindInteger64)
		r.contents = binary.BigEndian.AppendUint64(r.contents, uint64(n))
	}
}

func (r *row) real(x float64) {
	r.add(kindReal)
	r.contents = binary.BigEndian.AppendUint64(r.contents, math.Float64bits(x))
}

// appendTo appends the row, with two columns before the others: the row's number, of which nothing is kept
// there, and blob.
func (r *row) appendTo(b, blob []byte) []byte {
	first := kindNull
	if blob != nil {
		first = kindBlob + 2*len(blob)
	}
	var room [10]byte
	head := appendVarint(append(room[:0], kindNull), uint64(first))
	size := len(head) + len(r.kinds) + 1 // with itself
	if size > 127 {
		size++
	}
	b = append(append(appendVarint(b, uint64(size)), head...), r.kinds...)
	return append(append(b, blob...), r.contents...)
}

// The kinds of values.
const (
	kindNull      = 0
	kindInteger16 = 2
	kindInteger32 = 4
	kindInteger64 = 6
	kindReal      = 7
	kindBlob      = 12 // and twice its length
	kindText      = 13 // the same
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
