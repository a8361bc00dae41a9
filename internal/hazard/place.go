package hazard

import (
	"slices"
	"strings"
)

// PlaceKind says how well the place of a hazard is known.
type PlaceKind string

// The kinds of places.
const (
	PlaceExact   PlaceKind = "exact"   // a shape of a source or of an editor
	PlaceCode    PlaceKind = "code"    // the shapes behind codes of places
	PlaceRegion  PlaceKind = "region"  // no area: only a named region or province is known
	PlaceCountry PlaceKind = "country" // no area: only the country is known, or the countries
	PlacePoint   PlaceKind = "point"   // only a point is known
)

// PlaceVersion must change whenever the place of any state may be derived differently. Stores then have
// the active hazards derived again.
const PlaceVersion = "1"

// PlaceKinds lists all kinds, the best known first.
func PlaceKinds() []PlaceKind {
	return []PlaceKind{PlaceExact, PlaceCode, PlacePoint, PlaceRegion, PlaceCountry}
}

// The roles of a stand-in (Hazard.StandIns). No area of a hazard has them.
const (
	OutlineOfPlace AreaRole = "outline" // the outline of the region or country, as it can be drawn
	ExtentOfPlace  AreaRole = "extent"  // a box around a region without a known outline
)

// Place returns how well the place of the hazard is known. Without Placed it follows from the areas.
func (h *Hazard) Place() PlaceKind {
	if h.Placed != "" {
		return h.Placed
	}
	if slices.ContainsFunc(h.Areas, func(a AreaRef) bool { return a.Role != PointArea }) {
		return PlaceExact
	}
	return PlacePoint
}

// Somewhere reports whether the hazard is somewhere in a region or country, and nobody knows where.
// It has no area then. Its point stands for the region or country: nothing is known to happen there.
// So it is at no place for certain, and possibly anywhere in its stand-ins.
func (h *Hazard) Somewhere() bool { return h.Placed == PlaceRegion || h.Placed == PlaceCountry }

// Drawn returns the geometries that a map draws of the hazard: its areas, or the outline of the region
// that it is somewhere in, which is a line and never filled. The outline of a country is not drawn: it
// says too little.
func (h *Hazard) Drawn() []AreaRef {
	if h.Placed != PlaceRegion {
		return h.Areas
	}
	var outlines []AreaRef
	for _, a := range h.StandIns {
		if a.Role == OutlineOfPlace {
			outlines = append(outlines, a)
		}
	}
	return outlines
}

// Viewed returns the geometries that a picture of the hazard frames: those of Drawn, and the stand-ins
// that are not drawn, with the role ExtentOfPlace. So no picture zooms in on a point that only stands
// for a region or country.
func (h *Hazard) Viewed() []AreaRef {
	if !h.Somewhere() {
		return h.Areas
	}
	var all []AreaRef
	for _, a := range h.StandIns {
		if h.Placed != PlaceRegion {
			a.Role = ExtentOfPlace
		}
		all = append(all, a)
	}
	return all
}

// Displace removes what is known of the place besides the point, before a better place is set.
func (h *Hazard) Displace() { h.Placed, h.PlaceKnownAs, h.StandIns = "", "", nil }

// standInNote begins the note by which programs before Placed marked that the area of a hazard is
// the outline of its country. The names of the countries follow it, up to a colon.
const standInNote = NoteBegins + "the area is all of "

// Upgrade changes a state that a program before Placed has stored: the outline of a country, which
// it has as its area, becomes a stand-in.
func (h *Hazard) Upgrade() {
	if h.Placed != "" || len(h.Areas) == 0 || h.EditedField("area") {
		return
	}
	_, note, found := strings.Cut(h.Description, standInNote)
	if !found {
		return
	}
	names, _, found := strings.Cut(note, ": no shape is known of ")
	if !found {
		return
	}
	h.Placed = PlaceCountry
	var known []string
	for name := range strings.SplitSeq(names, " and ") {
		name, _, _ = strings.Cut(name, " (")
		known = append(known, name)
	}
	h.PlaceKnownAs = strings.Join(known, ", ")
	for _, a := range h.Areas {
		h.StandIns = append(h.StandIns, AreaRef{Role: OutlineOfPlace, Digest: a.Digest})
	}
	h.Areas = nil
}

// PlacedAnew reports whether h differs from the state before it in nothing but how well its place is
// known.
func (h *Hazard) PlacedAnew(before *Hazard) bool {
	as := *before
	as.Placed, as.PlaceKnownAs, as.StandIns = h.Placed, h.PlaceKnownAs, h.StandIns
	return h.Equal(&as)
}

// equalPlace reports whether the places of two hazards are known alike.
func equalPlace(a, b *Hazard) bool {
	return a.Place() == b.Place() && a.PlaceKnownAs == b.PlaceKnownAs && slices.Equal(a.StandIns, b.StandIns)
}
