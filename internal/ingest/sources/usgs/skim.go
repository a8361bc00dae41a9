package usgs

import (
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// slight reports whether a feature of a summary is surely an earthquake too slight for a hazard, and
// fills in the part of its report that hazard.Report.Full describes. Nine of ten earthquakes of a day
// are so slight, and known to nobody. A feature that is unusual in any way is left to report: so what
// is accepted here makes a report that is neither rejected nor suspect.
func slight(raw []byte, r *hazard.Report, now hazard.Instant) bool {
	f, ok := skimmed(raw)
	if !ok {
		return false
	}
	q := &quake{properties: &f.Properties, Quake: seismic.Quake{Magnitude: f.Properties.Mag, MMI: f.Properties.MMI}}
	if c := f.Geometry.Coordinates; len(c) > 1 {
		q.At = seismic.Position(c[0], c[1])
	}
	key := eventID(f.ID)
	start, ok := instant(q.Time)
	updated, wrong := q.updated(now)
	if !ok || wrong != nil || key == "" || q.At == nil || *q.At == (hazard.Point{}) || q.Alert != "" || q.Type != "earthquake" || strings.EqualFold(q.Status, "deleted") {
		return false
	}
	l := q.level()
	if !l.Minor || q.suspect(start, updated, now) != "" {
		return false
	}
	r.Source, r.Key, r.Aliases, r.Version, r.Type, r.Severity, r.Category = Name, key, aliases(q.IDs, key), int64(updated), hazard.Earthquake, l.Severity, hazard.Event
	r.Start, r.LifeMS, r.Minor = start, l.Life.Milliseconds(), true
	return true
}

// skimmed reads the members of a feature that slight needs, and checks the others. ok is false if it is
// not plain, or has a value of an unexpected kind.
func skimmed(raw []byte) (f feature, ok bool) {
	s := lenient.PlainOf(raw)
	p := &f.Properties
	text := func(to *string) bool { return readText(&s, to) }
	number := func(to *lenient.Number) bool {
		v, ok := s.Scalar()
		return ok && readNumber(v, to)
	}
	ok = s.Object(func(name []byte) bool {
		switch string(name) {
		case "id":
			return text(&f.ID)
		case "properties":
			return s.Object(func(name []byte) bool {
				switch string(name) {
				case "mag":
					return number(&p.Mag)
				case "mmi":
					return number(&p.MMI)
				case "time":
					return number(&p.Time)
				case "updated":
					return number(&p.Updated)
				case "place":
					return text(&p.Place)
				case "title":
					return text(&p.Title)
				case "alert":
					return text(&p.Alert)
				case "status":
					return text(&p.Status)
				case "ids":
					return text(&p.IDs)
				case "type":
					return text(&p.Type)
				case "felt", "cdi", "tsunami":
					return number(nil)
				case "magType", "url", "detail", "types":
					return text(nil)
				}
				_, ok := s.Scalar()
				return ok
			})
		case "geometry":
			return s.Object(func(name []byte) bool {
				switch string(name) {
				case "type":
					return text(nil)
				case "coordinates":
					return s.Array(func(v []byte) bool {
						var n lenient.Number
						ok := readNumber(v, &n)
						f.Geometry.Coordinates = append(f.Geometry.Coordinates, n)
						return ok
					})
				}
				_, ok := s.Scalar()
				return ok
			})
		}
		_, ok := s.Scalar()
		return ok
	})
	return f, ok && s.End()
}

// readText reads a string or null. With to nil, it only checks that it is one.
func readText(s *lenient.Plain, to *string) bool {
	v, ok := s.Scalar()
	switch {
	case !ok || v[0] != '"':
		return ok && v[0] == 'n'
	case to != nil:
		*to = strings.TrimSpace(string(v[1 : len(v)-1]))
	}
	return true
}

// readNumber reads the word v as a number or null. With to nil, it only checks that it is one.
func readNumber(v []byte, to *lenient.Number) (ok bool) {
	switch {
	case v[0] == '-' || '0' <= v[0] && v[0] <= '9':
		if to == nil {
			return true
		}
		n, err := strconv.ParseFloat(string(v), 64)
		*to = lenient.Number{Value: n, Known: true}
		return err == nil
	}
	return v[0] == 'n'
}
