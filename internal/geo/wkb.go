package geo

import (
	"encoding/binary"
	"math"
)

// The types of well-known binary (OGC 06-103r4, section 8.2.8). That of several of them is three more.
const (
	wkbPoint uint32 = iota + 1
	wkbLine
	wkbPolygon
	wkbSeveral    = 3
	wkbCollection = 7
)

// appendWKB appends p as the library writes it, which makes a value of its own of each part first.
func (p part) appendWKB(b []byte) []byte {
	kind, n := wkbPoint, len(p.points)
	switch {
	case len(p.polygons) > 0:
		kind, n = wkbPolygon, len(p.polygons)
	case len(p.lines) > 0:
		kind, n = wkbLine, len(p.lines)
	}
	if n > 1 {
		b = appendWKBHead(b, kind+wkbSeveral, n)
	}
	for _, rings := range p.polygons {
		b = appendWKBHead(b, wkbPolygon, len(rings))
		for _, r := range rings {
			b = binary.LittleEndian.AppendUint32(b, uint32(len(r)+1)) // the first position stands at the end once more
			b = appendWKBPositions(appendWKBPositions(b, r), r[:1])
		}
	}
	for _, l := range p.lines {
		b = appendWKBPositions(appendWKBHead(b, wkbLine, len(l)), l)
	}
	for i := range p.points {
		b = append(b, 1)
		b = binary.LittleEndian.AppendUint32(b, wkbPoint)
		b = appendWKBPositions(b, p.points[i:i+1])
	}
	return b
}

// appendWKBHead appends the byte order, the type and a count.
func appendWKBHead(b []byte, kind uint32, n int) []byte {
	b = binary.LittleEndian.AppendUint32(append(b, 1), kind)
	return binary.LittleEndian.AppendUint32(b, uint32(n))
}

func appendWKBPositions(b []byte, ps []position) []byte {
	for _, p := range ps {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(degrees(p.x)))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(degrees(p.y)))
	}
	return b
}
