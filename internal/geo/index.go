package geo

import "slices"

// box is a rectangle of positions, including its borders.
type box struct{ minX, minY, maxX, maxY int32 }

func (b box) meets(o box) bool {
	return b.minX <= o.maxX && o.minX <= b.maxX && b.minY <= o.maxY && o.minY <= b.maxY
}

// with returns the box around b and o.
func (b box) with(o box) box {
	return box{min(b.minX, o.minX), min(b.minY, o.minY), max(b.maxX, o.maxX), max(b.maxY, o.maxY)}
}

// boxOf returns the box around a list of positions, which must not be empty.
func boxOf(ps []position) box {
	b := box{ps[0].x, ps[0].y, ps[0].x, ps[0].y}
	for _, p := range ps[1:] {
		b = b.with(box{p.x, p.y, p.x, p.y})
	}
	return b
}

// fanOut is the number of boxes in a node of an index.
const fanOut = 8

// index finds boxes that meet a box. It is a packed R-tree, whose leaves follow a Hilbert curve. It
// is not a library, because a search must count the nodes it visits: an attacker can arrange sides
// so that it visits many and finds nothing. It is immutable.
type index struct {
	boxes []box   // the items' boxes, then those of the nodes above, level by level; the root is last
	items []int32 // numbers of the items, in the order of boxes
}

// newIndex makes an index of n boxes.
func newIndex(n int, boxAt func(i int) box) *index {
	if n == 0 {
		return &index{}
	}
	given := make([]box, n)
	for i := range given {
		given[i] = boxAt(i)
	}
	order := make([]uint64, n) // position on the curve, then number
	for i, b := range given {
		x, y := uint32((int64(b.minX)+int64(b.maxX))/2+1<<31), uint32((int64(b.minY)+int64(b.maxY))/2+1<<31)
		order[i] = uint64(hilbert(x>>16, y>>16))<<32 | uint64(i)
	}
	slices.Sort(order)
	ix := &index{make([]box, 0, n+n/(fanOut-1)+fanOut), make([]int32, n)}
	for i, o := range order {
		ix.items[i] = int32(uint32(o))
		ix.boxes = append(ix.boxes, given[ix.items[i]])
	}
	for first, end := 0, n; end-first > 1; {
		for i := first; i < end; i += fanOut {
			b := ix.boxes[i]
			for _, o := range ix.boxes[i+1 : min(i+fanOut, end)] {
				b = b.with(o)
			}
			ix.boxes = append(ix.boxes, b)
		}
		first, end = end, len(ix.boxes)
	}
	return ix
}

// hilbert returns how far along the Hilbert curve of order 16 the position x, y lies.
func hilbert(x, y uint32) uint32 {
	var d uint32
	for s := uint32(1) << 15; s > 0; s >>= 1 {
		rx, ry := min(x&s, 1), min(y&s, 1)
		d = d<<2 | (3 * rx) ^ ry
		if ry == 0 {
			if rx == 1 {
				x, y = ^x, ^y
			}
			x, y = y, x
		}
	}
	return d
}

// search calls f with the number of each item whose box meets b. It stops at the first error of f
// and returns it. It takes a step of w for each node and each item.
func (ix *index) search(w *work, b box, f func(i int) error) error {
	n := len(ix.items)
	if n == 0 {
		return nil
	}
	if n == 1 {
		if !ix.boxes[0].meets(b) {
			return nil
		}
		return f(int(ix.items[0]))
	}
	// starts holds where each level begins, the level of the items first.
	var starts [16]int
	levels := 1
	for size, start := n, 0; size > 1; levels++ {
		start += size
		size = (size + fanOut - 1) / fanOut
		starts[levels] = start
	}
	return ix.visit(w, b, f, &starts, levels-1, 0)
}

// visit searches node i of a level above the items.
func (ix *index) visit(w *work, b box, f func(i int) error, starts *[16]int, level, i int) error {
	if err := w.spend(1); err != nil {
		return err
	}
	first := starts[level-1] + i*fanOut
	for k := first; k < min(first+fanOut, starts[level]); k++ {
		if !ix.boxes[k].meets(b) {
			continue
		}
		var err error
		if level > 1 {
			err = ix.visit(w, b, f, starts, level-1, k-starts[level-1])
		} else if err = w.spend(1); err == nil {
			err = f(int(ix.items[k]))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
