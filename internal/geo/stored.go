package geo

import "strings"

// ReadStored reads text that Shape.GeoJSON wrote into the same Shape, in one pass. It does not
// validate the geometry again, because it was valid when it was written. It reads any other text as
// ParseLoose does.
func ReadStored(text string) (Shape, error) {
	p := storedParser{rest: text}
	if s, ok := p.shape(); ok && p.rest == "" && !s.IsZero() {
		return s, nil
	}
	return ParseLoose([]byte(text))
}

// storedParser reads the text of Shape.GeoJSON. Its methods report whether the text continues as
// they expect.
type storedParser struct {
	rest string
	pool []position // memory of the positions, in large blocks
}

func (p *storedParser) take(word string) (ok bool) {
	p.rest, ok = strings.CutPrefix(p.rest, word)
	return ok
}

func (p *storedParser) shape() (Shape, bool) {
	var s Shape
	if !p.take(`{"type":"GeometryCollection","geometries":[`) {
		return s, p.geometry(&s)
	}
	for areas := 0; ; {
		before := len(s.polygons)
		if !p.geometry(&s) {
			return s, false
		}
		if len(s.polygons) > before {
			areas++
			s.apart = areas > 1
		}
		if p.take(`]}`) {
			return s, true
		}
		if !p.take(`,`) {
			return s, false
		}
	}
}

func (p *storedParser) geometry(s *Shape) bool {
	if !p.take(`{"type":"`) {
		return false
	}
	kind, rest, ok := strings.Cut(p.rest, `","coordinates":`)
	if !ok {
		return false
	}
	p.rest = rest
	switch kind {
	case "Polygon":
		ok = p.polygon(s)
	case "MultiPolygon":
		ok = p.list(func() bool { return p.polygon(s) })
	case "LineString":
		ok = p.line(s)
	case "MultiLineString":
		ok = p.list(func() bool { return p.line(s) })
	case "Point":
		ok = p.point(s)
	case "MultiPoint":
		ok = p.list(func() bool { return p.point(s) })
	default:
		return false
	}
	return ok && p.take(`}`)
}

// list reads an array of at least one item; one reads each item.
func (p *storedParser) list(one func() bool) bool {
	if !p.take(`[`) {
		return false
	}
	for {
		if !one() {
			return false
		}
		if p.take(`]`) {
			return true
		}
		if !p.take(`,`) {
			return false
		}
	}
}

func (p *storedParser) polygon(s *Shape) bool {
	var pg polygon
	ok := p.list(func() bool {
		ps, ok := p.positions()
		if !ok || len(ps) < 4 || ps[0] != ps[len(ps)-1] {
			return false
		}
		pg = append(pg, ps[:len(ps)-1])
		return true
	})
	s.polygons = append(s.polygons, pg)
	return ok
}

func (p *storedParser) line(s *Shape) bool {
	ps, ok := p.positions()
	s.lines = append(s.lines, ps)
	return ok && len(ps) > 1
}

func (p *storedParser) point(s *Shape) bool {
	q, ok := p.position()
	s.points = append(s.points, q)
	return ok
}

func (p *storedParser) positions() ([]position, bool) {
	start := len(p.pool)
	ok := p.list(func() bool {
		q, ok := p.position()
		if len(p.pool) == cap(p.pool) { // earlier positions stay where they are
			begun := p.pool[start:]
			const shortest = 8 // the fewest bytes of a position in the text, including its comma
			p.pool = append(make([]position, 0, len(begun)+min(len(p.rest)/shortest, 4096)+4), begun...)
			start = 0
		}
		p.pool = append(p.pool, q)
		return ok
	})
	return p.pool[start:len(p.pool):len(p.pool)], ok
}

func (p *storedParser) position() (position, bool) {
	if !p.take(`[`) {
		return position{}, false
	}
	x, ok := p.micro(halfTurn)
	if !ok || !p.take(`,`) {
		return position{}, false
	}
	y, ok := p.micro(quarterTurn)
	return position{x, y}, ok && p.take(`]`)
}

// micro reads a decimal number of degrees with at most six decimals, as millionths.
func (p *storedParser) micro(limit int32) (int32, bool) {
	s := p.rest
	i, negative := 0, false
	if i < len(s) && s[i] == '-' {
		negative = true
		i++
	}
	start := i
	var v int32
	for ; i < len(s) && '0' <= s[i] && s[i] <= '9'; i++ {
		if v = v*10 + int32(s[i]-'0'); v > 180 {
			return 0, false
		}
	}
	if i == start {
		return 0, false
	}
	decimals := 0
	if i+1 < len(s) && s[i] == '.' {
		for i++; i < len(s) && '0' <= s[i] && s[i] <= '9' && decimals < 6; i++ {
			v = v*10 + int32(s[i]-'0')
			decimals++
		}
	}
	for ; decimals < 6; decimals++ {
		v *= 10
	}
	p.rest = s[i:]
	if negative {
		v = -v
	}
	return v, -limit <= v && v <= limit
}
