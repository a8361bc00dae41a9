package gpkg

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/go-json-experiment/json"
)

// The tree of bounding boxes is an R*Tree of SQLite (https://www.sqlite.org/rtree.html), whose nodes
// are blobs. All boxes are known when the file is closed, so its nodes are packed then: to insert
// boxes one by one costs as much as the features themselves.
const (
	cellBytes = 8 + 4*4 // a number, and four 32-bit coordinates
	nodeCells = 51      // as many as SQLite puts into a node of a file with pages of 4096 bytes
	nodeBytes = 4 + nodeCells*cellBytes
)

// cell is an entry of a node: a feature of a leaf, else a node.
type cell struct {
	id  int64
	box Box
}

// node is a node of the tree by its number.
type node struct {
	number int64
	cells  []cell
}

// pack returns the levels of the tree of all, the leaves first and the root last. The root has the
// number 1.
func pack(all []cell) (levels [][]node) {
	number := int64(1)
	for {
		var level []node
		for _, cells := range tiles(all) {
			number++
			level = append(level, node{number, cells})
		}
		if len(level) <= 1 {
			return append(levels, []node{{1, all}})
		}
		levels, all = append(levels, level), nil
		for _, n := range level {
			all = append(all, cell{n.number, around(n.cells)})
		}
	}
}

// tiles divides cells into nodes by their centers: first into vertical strips, then each strip from
// south to north (Leutenegger and others, "STR: a simple and efficient algorithm for R-tree packing").
func tiles(all []cell) (nodes [][]cell) {
	strips := math.Sqrt(math.Ceil(float64(len(all)) / nodeCells))
	slices.SortFunc(all, func(a, b cell) int { return cmp.Compare(a.box.West+a.box.East, b.box.West+b.box.East) })
	for strip := range slices.Chunk(all, max(1, int(math.Ceil(strips))*nodeCells)) {
		slices.SortFunc(strip, func(a, b cell) int { return cmp.Compare(a.box.South+a.box.North, b.box.South+b.box.North) })
		nodes = slices.AppendSeq(nodes, slices.Chunk(strip, nodeCells))
	}
	return nodes
}

func around(cells []cell) Box {
	b := cells[0].box
	for _, c := range cells[1:] {
		b = b.with(c.box)
	}
	return b
}

// with returns the box around b and o.
func (b Box) with(o Box) Box {
	return Box{min(b.West, o.West), min(b.South, o.South), max(b.East, o.East), max(b.North, o.North)}
}

// blob returns the node as SQLite stores it. depth is that of the tree in its root, and else 0.
func (n *node) blob(depth int) []byte {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, nodeBytes), uint16(depth))
	b = binary.BigEndian.AppendUint16(b, uint16(len(n.cells)))
	for _, c := range n.cells {
		b = binary.BigEndian.AppendUint64(b, uint64(c.id))
		for _, v := range [...]float32{below(c.box.West), above(c.box.East), below(c.box.South), above(c.box.North)} {
			b = binary.BigEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	return b[:nodeBytes]
}

// below returns the largest 32-bit number that is not above v, and above the smallest that is not
// below: a box in the tree contains the one of the feature.
func below(v float64) float32 {
	f := float32(v)
	if float64(f) > v {
		f = math.Nextafter32(f, float32(math.Inf(-1)))
	}
	return f
}

func above(v float64) float32 { return -below(-v) }

// writeTree writes the nodes of the tree, and in which of them each feature is.
func (w *Writer) writeTree(ctx context.Context, tx *sql.Tx) (err error) {
	levels := pack(w.boxes)
	insert, err := tx.PrepareContext(ctx, "INSERT OR REPLACE INTO "+quoted(w.tree()+"_node")+" VALUES (?, ?)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, insert.Close()) }()
	parent, err := tx.PrepareContext(ctx, "INSERT INTO "+quoted(w.tree()+"_parent")+" VALUES (?, ?)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, parent.Close()) }()
	leaves := make([]int64, w.table.last) // of each feature; 0 if it has no geometry
	for height, level := range levels {
		depth := 0
		if height == len(levels)-1 {
			depth = height
		}
		for _, n := range level {
			if _, err := insert.ExecContext(ctx, n.number, n.blob(depth)); err != nil {
				return err
			}
			for _, c := range n.cells {
				if height == 0 {
					leaves[c.id-1] = n.number
				} else if _, err := parent.ExecContext(ctx, c.id, n.number); err != nil {
					return err
				}
			}
		}
	}
	list, err := json.Marshal(leaves)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO "+quoted(w.tree()+"_rowid")+" SELECT key + 1, value FROM json_each(?) WHERE value > 0", string(list))
	return err
}
