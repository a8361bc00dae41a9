package headline

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/lru"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang/words"
)

// Shapes reads the geometries of areas.
type Shapes interface {
	Shapes(ctx context.Context, refs []hazard.AreaRef) ([]geo.Shape, error)
}

// Maker makes headlines and keeps them: a hazard that did not change is not said anew. It is safe for
// concurrent use.
type Maker struct {
	shapes Shapes
	around *lru.Cache[string, *Around]
	made   *lru.Cache[madeKey, Headline]
	seed   maphash.Seed
}

// The sizes of the caches in bytes: the headlines of 5,000 hazards in three languages.
const (
	aroundBytes = 4 << 20
	perAround   = 500
	madeBytes   = 16 << 20
	perMade     = 300
)

// NewMaker returns a Maker that reads areas from shapes.
func NewMaker(shapes Shapes) *Maker {
	return &Maker{shapes, lru.New[string, *Around](aroundBytes), lru.New[madeKey, Headline](madeBytes), maphash.MakeSeed()}
}

// madeKey is all that a headline depends on.
type madeKey struct {
	id, version int64
	status      hazard.Status
	language    string
	day         int64
	words       uint64 // hash of what may change without a new version: texts, by a redaction or a choice of language
}

const dayMS = 24 * 60 * 60 * 1000

// Of returns the headline of a hazard for a reader at a moment.
func (m *Maker) Of(ctx context.Context, h *hazard.Hazard, l *words.Language, at hazard.Instant) (Headline, error) {
	k := madeKey{h.ID, h.Version, h.Status, l.ID, int64(at) / dayMS, m.hash(h)}
	if made, ok := m.made.Get(k); ok {
		return made, nil
	}
	around, err := m.Around(ctx, h)
	if err != nil {
		return Headline{}, err
	}
	made := Make(h, around, Reader{l, at})
	m.made.Put(k, made, perMade+2*len(made.Headline)+len(made.What)+len(made.HowBad)+len(made.Where)+len(made.Until)+len(made.Instruction))
	return made, nil
}

// Around returns what lies where a hazard is.
func (m *Maker) Around(ctx context.Context, h *hazard.Hazard) (*Around, error) {
	key := fmt.Sprint(h.ExposureKey(), h.Place(), h.Longitude, h.Latitude) // the first rounds the place
	if known, ok := m.around.Get(key); ok {
		return known, nil
	}
	shapes, err := m.shapes.Shapes(ctx, h.Areas)
	if err != nil {
		return nil, err
	}
	var shown []geo.Shape
	for i, s := range shapes {
		if i < len(h.Areas) && h.Areas[i].Role == h.ShownRole() {
			shown = append(shown, s)
		}
	}
	found := AroundOf(h, shown...)
	m.around.Put(key, found, perAround)
	return found, nil
}

func (m *Maker) hash(h *hazard.Hazard) uint64 {
	var hash maphash.Hash
	hash.SetSeed(m.seed)
	add := func(texts ...string) {
		for _, text := range texts {
			var length [8]byte
			binary.LittleEndian.PutUint64(length[:], uint64(len(text)))
			hash.Write(length[:])
			hash.WriteString(text)
		}
	}
	add(h.Name, h.Description, h.Note, h.Instruction, string(h.Reason))
	if t := h.Says(); t != nil {
		add(t.Language, t.Headline, t.Description, t.Instruction, t.Area)
	}
	return hash.Sum64()
}
