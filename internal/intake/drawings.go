package intake

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
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/store"
)

// maxDrawn bounds what is remembered of drawings that were kept, in bytes: a source repeats most of them in every poll.
const maxDrawn = 1 << 20

// keyOf names what a drawing says, before it is mended.
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

// keepDrawings mends and keeps what a batch draws of events that are known, or that its reports make known, before any transaction that
// names it. What could not be drawn is told by faults. The result is by the names of events.
func (in *Intake) keepDrawings(ctx context.Context, src string, batch *source.Batch) (all map[string][]hazard.ShapesRef, faults []source.Reject, err error) {
	if len(batch.Drawings) == 0 {
		return nil, nil, nil
	}
	wanted := map[string]bool{}
	starts := map[string]hazard.Instant{} // name of event → when it began
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
	all = map[string][]hazard.ShapesRef{}
	var docs [][]hazard.Shape
	var fresh []freshRef
	for i := range batch.Drawings {
		d := &batch.Drawings[i]
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		began := latest(known, d.Key)
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
		all[d.Key] = append(all[d.Key], ref)
	}
	digests, err := in.store.KeepShapes(ctx, docs)
	if err != nil {
		return nil, nil, err
	}
	for i, f := range fresh {
		in.drawn.Put(f.as, digests[i], len(digests[i])+64)
		all[f.key][f.at].Digest = digests[i]
	}
	return all, faults, nil
}

// dated are shapes of an event, those that hold from its beginning with that moment.
func dated(shapes []hazard.Shape, start hazard.Instant) []hazard.Shape {
	shapes = slices.Clone(shapes)
	for i := range shapes {
		if shapes[i].From == 0 {
			shapes[i].From = start
		}
	}
	return shapes
}

// freshRef is a drawing that was not kept before: as is what it says, and its place that in the list of the event called key.
type freshRef struct {
	as  digest
	key string
	at  int
}

// mend makes the geometries of shapes what is stored, within the bounds of one document, and says what is left out.
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

// mergeShapes adds to what is known what came: of each part the greatest version counts, the later one of two of the same; of more parts than may
// be kept those of the greatest versions, whatever came first. A part that is drawn no longer stays, without a digest, so that an older drawing
// does not bring it back.
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

// shown are the shapes of an event that readers see.
func shown(refs []hazard.ShapesRef) []hazard.ShapesRef {
	return slices.DeleteFunc(slices.Clone(refs), func(ref hazard.ShapesRef) bool { return ref.Digest == "" })
}

// drawLoose takes in what a batch draws of events of which it has no report, or none that could be taken in.
func (in *Intake) drawLoose(ctx context.Context, src string, drawings map[string][]hazard.ShapesRef, clock hazard.Clock, opts Options, res *Result) error {
	for some := range slices.Chunk(slices.Sorted(maps.Keys(drawings)), chunk) {
		broken := map[string]bool{}
		for {
			at := ""
			err := in.write(ctx, src, clock, opts, res, func(w *writer) error {
				w.drawings = drawings
				for _, at = range some {
					if err := w.drawKnown(at, broken[at]); err != nil {
						return err
					}
				}
				return nil
			})
			if err == nil {
				break
			}
			if !store.Broken(err) || broken[at] {
				return err
			}
			broken[at] = true // once more, without what is damaged
		}
	}
	return nil
}

// drawKnown takes in what is drawn of an event that is known. A hazard that is damaged is to be derived again later; of an event that is damaged itself
// nothing is noted.
func (w *writer) drawKnown(key string, damaged bool) error {
	known, err := meant(w.tx.Named, w.src, []string{key})
	if err != nil {
		return err
	}
	name := store.EventName{Source: w.src, Key: latest(known, key).Key}
	e, ok, err := w.tx.FindEvent(name)
	if damaged && store.Broken(err) || err == nil && !ok {
		return nil
	}
	if err != nil {
		return err
	}
	refs := mergeShapes(e.Shapes, w.drawings[key])
	if slices.Equal(refs, e.Shapes) {
		return nil
	}
	if err := w.tx.SaveShapes(name, refs); err != nil {
		return err
	}
	if damaged {
		return w.tx.SetWake(e.HazardID, w.now)
	}
	w.res.Updated++
	return w.renew(e.HazardID)
}
