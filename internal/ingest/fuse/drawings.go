package fuse

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
)

// maxDrawn bounds the cache of stored drawings, in bytes. Sources repeat most drawings in every
// poll.
const maxDrawn = 1 << 20

// keyOf returns a digest of a drawing before it is repaired.
func keyOf(src string, shapes []hazard.Shape) digest {
	h := sha256.New()
	word := func(s string) {
		_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(s))))
		_, _ = h.Write([]byte(s))
	}
	word(src)
	for i := range shapes {
		s := &shapes[i]
		band := ""
		if s.Band != nil {
			band = fmt.Sprint(s.Band.Kind, " ", s.Band.Value)
		}
		word(fmt.Sprint(s.Role, int64(s.From), int64(s.To), s.Forecast))
		word(band)
		word(s.Label)
		word(s.Geometry)
	}
	return digest(h.Sum(nil))
}

// drawings holds the drawings of a batch by name of event. The same event may have several names.
type drawings map[string][]drawing

// drawing is the number of a drawing in its batch, and its stored shapes.
type drawing struct {
	number int
	ref    hazard.ShapesRef
}

// of returns the drawings of one event, in the order of the batch, by its names.
func (d drawings) of(names ...string) []hazard.ShapesRef {
	var all []drawing
	for _, name := range names {
		all = append(all, d[name]...)
	}
	slices.SortStableFunc(all, func(a, b drawing) int { return cmp.Compare(a.number, b.number) })
	refs := make([]hazard.ShapesRef, len(all))
	for i := range all {
		refs[i] = all[i].ref
	}
	return refs
}

// keepDrawings repairs and stores the drawings in a batch, for known events and for those in its
// reports, before the transaction that refers to them. faults describes unusable drawings. The
// result is by name of event.
func (in *Intake) keepDrawings(ctx context.Context, src string, batch *source.Batch) (all drawings, faults []source.Reject, err error) {
	if len(batch.Drawings) == 0 {
		return nil, nil, nil
	}
	wanted := map[string]bool{}
	starts := map[string]hazard.Instant{} // name of event → its start
	for i := range batch.Reports {
		r := &batch.Reports[i]
		for _, name := range r.Names() {
			wanted[name] = wanted[name] || !r.Minor && r.Suspect == ""
			starts[name] = r.Start
		}
	}
	var ask []string
	for i := range batch.Drawings {
		if key := batch.Drawings[i].Key; !wanted[key] {
			ask = append(ask, key)
		}
	}
	known, err := in.meant(ctx, src, ask)
	if err != nil {
		return nil, nil, err
	}
	all = drawings{}
	var docs [][]hazard.Shape
	var fresh []freshRef
	for i := range batch.Drawings {
		d := &batch.Drawings[i]
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		began, err := in.latest(ctx, src, known, d.Key)
		if err != nil {
			return nil, nil, err
		}
		if !wanted[d.Key] && began.Key == "" {
			continue
		}
		if start, ok := starts[d.Key]; ok {
			began.Start = start
		}
		ref := hazard.ShapesRef{Source: src, Part: d.Part, Version: d.Version}
		if len(d.Shapes) > 0 {
			drawn := dated(d.Shapes, began.Start)
			as := keyOf(src, drawn)
			text, ok := in.drawn.Get(as)
			if !ok {
				shapes, wrong := mend(src, drawn)
				for _, w := range wrong {
					faults = append(faults, source.Reject{Record: d.Key + " " + d.Part, Reason: w, Events: []string{d.Key}})
				}
				if len(shapes) == 0 {
					continue
				}
				docs, fresh = append(docs, shapes), append(fresh, freshRef{as, d.Key, len(all[d.Key])})
			}
			ref.Digest = text
		}
		all[d.Key] = append(all[d.Key], drawing{i, ref})
	}
	digests, err := in.store.Hazards.KeepShapes(ctx, docs)
	if err != nil {
		return nil, nil, err
	}
	for i, f := range fresh {
		in.drawn.Put(f.as, digests[i], len(digests[i])+64)
		all[f.key][f.at].ref.Digest = digests[i]
	}
	return all, faults, nil
}

// dated sets the start of shapes that are valid from the beginning of an event.
func dated(shapes []hazard.Shape, start hazard.Instant) []hazard.Shape {
	shapes = slices.Clone(shapes)
	for i := range shapes {
		if shapes[i].From == 0 {
			shapes[i].From = start
		}
	}
	return shapes
}

// freshRef is a drawing that was not stored before: its shapes as, at index at in the list of the
// event key.
type freshRef struct {
	as  digest
	key string
	at  int
}

// mend repairs the geometries of shapes for the store, within the limits of one document, and
// describes what it leaves out.
func mend(src string, shapes []hazard.Shape) (mended []hazard.Shape, wrong []string) {
	positions, bytes := 0, 0
	for i := range shapes {
		s := shapes[i]
		if err := s.Check(); err != nil {
			wrong = append(wrong, err.Error())
			continue
		}
		g, err := geo.ParseLoose([]byte(s.Geometry))
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("geometry of a %s: %v", s.Role, err))
			continue
		}
		s.Source, s.Geometry = src, g.GeoJSON()
		s.Label = hazard.CleanLine(s.Label)
		positions, bytes = positions+g.Positions(), bytes+len(s.Geometry)+len(s.Label)+400
		if len(mended) == hazard.MaxShapes || positions > hazard.MaxShapePositions || bytes > hazard.MaxShapeBytes {
			wrong = append(wrong, fmt.Sprintf("%d of %d shapes are left out: at most %d with %d positions and %d bytes are kept of one document",
				len(shapes)-i, len(shapes), hazard.MaxShapes, hazard.MaxShapePositions, hazard.MaxShapeBytes))
			break
		}
		mended = append(mended, s)
	}
	return mended, wrong[:min(len(wrong), 10)]
}

// mergeShapes adds new references to the known ones. For each part the greatest version counts, and
// the later of equal versions. If there are too many parts, those with the greatest versions stay.
// A removed part stays without a digest, so that an older drawing does not restore it.
func mergeShapes(have, came []hazard.ShapesRef) []hazard.ShapesRef {
	all := slices.Clone(have)
	for _, ref := range came {
		i := slices.IndexFunc(all, func(o hazard.ShapesRef) bool { return o.Source == ref.Source && o.Part == ref.Part })
		switch {
		case i < 0:
			all = append(all, ref)
		case ref.Version >= all[i].Version:
			all[i] = ref
		}
	}
	slices.SortFunc(all, func(a, b hazard.ShapesRef) int {
		return cmp.Or(cmp.Compare(b.Version, a.Version), cmp.Compare(a.Part, b.Part))
	})
	all = all[:min(len(all), hazard.MaxShapeParts)]
	slices.SortFunc(all, func(a, b hazard.ShapesRef) int { return cmp.Compare(a.Part, b.Part) })
	return all
}

// shown returns the shapes of an event that readers see.
func shown(refs []hazard.ShapesRef) []hazard.ShapesRef {
	return slices.DeleteFunc(slices.Clone(refs), func(ref hazard.ShapesRef) bool { return ref.Digest == "" })
}

// drawLoose processes the drawings of events without a usable report in the batch.
func (in *Intake) drawLoose(ctx context.Context, src string, loose drawings, clock hazard.Clock, opts Options, res *Result) error {
	for some := range slices.Chunk(slices.Sorted(maps.Keys(loose)), chunk) {
		broken := map[string]bool{}
		for len(some) > 0 {
			at, done := "", 0
			err := in.write(ctx, src, clock, opts, res, func(w *writer) error {
				w.drawings = loose
				for done, at = range some {
					if err := w.drawKnown(at, broken[at]); err != nil {
						return err
					}
					if yield, err := w.tx.Yield(); yield || err != nil {
						return err
					}
				}
				return nil
			})
			if err == nil {
				some = some[done+1:]
				continue
			}
			if !store.Broken(err) || broken[at] {
				return err
			}
			broken[at] = true // repeat without the damaged one
		}
	}
	return nil
}

// drawKnown processes the drawings of a known event. With damaged, the hazard is marked for a later
// derivation; nothing is recorded for an event that is damaged itself.
func (w *writer) drawKnown(key string, damaged bool) error {
	known, err := meant(w.tx.Events.Named, w.src, []string{key})
	if err != nil {
		return err
	}
	last, err := latest(w.tx.Events.Newest, w.src, known, key)
	if err != nil {
		return err
	}
	name := store.EventName{Source: w.src, Key: last.Key}
	e, ok, err := w.tx.Events.Find(name)
	if damaged && store.Broken(err) || err == nil && !ok {
		return nil
	}
	if err != nil {
		return err
	}
	refs := mergeShapes(e.Shapes, w.drawings.of(key))
	if slices.Equal(refs, e.Shapes) {
		return nil
	}
	if err := w.tx.Events.SaveShapes(name, refs); err != nil {
		return err
	}
	if damaged {
		return w.tx.SetWake(e.HazardID, w.now)
	}
	w.res.Updated++
	return w.renew(e.HazardID)
}
