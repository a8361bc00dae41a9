package geo

import (
	"math"
	"strconv"
)

// AppendDegrees appends the shortest decimal text of a number of degrees. It is ten times as fast
// for numbers of at most six decimals, which all positions have.
func AppendDegrees(b []byte, degrees float64) []byte {
	if n := math.Round(degrees * micro); math.Abs(n) <= 2*fullTurn && n/micro == degrees && (n != 0 || !math.Signbit(degrees)) {
		return appendMicro(b, int32(n))
	}
	return strconv.AppendFloat(b, degrees, 'f', -1, 64)
}

// appendMicro appends v, in millionths of a degree, as degrees.
func appendMicro(b []byte, v int32) []byte {
	u := uint32(v)
	if v < 0 {
		b = append(b, '-')
		u = -u
	}
	whole, rest := u/micro, u%micro
	b = strconv.AppendUint(b, uint64(whole), 10)
	if rest == 0 {
		return b
	}
	var digits [7]byte
	digits[0] = '.'
	for i := 6; i > 0; i-- {
		digits[i] = '0' + byte(rest%10)
		rest /= 10
	}
	end := len(digits)
	for digits[end-1] == '0' {
		end--
	}
	return append(b, digits[:end]...)
}

// appendWKT appends p as the library writes it.
func (p part) appendWKT(b []byte) []byte {
	kind, one := "POINT", len(p.points) == 1
	switch {
	case len(p.polygons) > 0:
		kind, one = "POLYGON", len(p.polygons) == 1
	case len(p.lines) > 0:
		kind, one = "LINESTRING", len(p.lines) == 1
	}
	if !one {
		b = append(b, "MULTI"...)
	}
	b = append(b, kind...)
	place := func(b []byte, p position) []byte {
		b = appendMicro(b, p.x)
		b = append(b, ' ')
		return appendMicro(b, p.y)
	}
	line := func(b []byte, l []position) []byte { return bracketed(b, l, place) }
	switch {
	case len(p.polygons) > 0:
		polygon := func(b []byte, p polygon) []byte {
			return bracketed(b, p, func(b []byte, r ring) []byte { return line(b, closed(r)) })
		}
		if one {
			return polygon(b, p.polygons[0])
		}
		return bracketed(b, p.polygons, polygon)
	case len(p.lines) > 0:
		if one {
			return line(b, p.lines[0])
		}
		return bracketed(b, p.lines, line)
	case one:
		return line(b, p.points)
	}
	return bracketed(b, p.points, func(b []byte, p position) []byte { return append(place(append(b, '('), p), ')') })
}

func bracketed[T any](b []byte, list []T, one func([]byte, T) []byte) []byte {
	b = append(b, '(')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, v)
	}
	return append(b, ')')
}
