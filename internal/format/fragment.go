package format

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/maphash"
	"strconv"
	"sync/atomic"

	"github.com/hazardd/hazardd/internal/format/headline"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/lru"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang/words"
)

// fragment is the encoded part of a document for one hazard, without separators.
type fragment struct {
	text []byte
	// box is around the geometry, if it is placed.
	box    geo.Box
	placed bool
	// record is instead of all that for the formats that are written from it, with the headline that was
	// asked for last.
	record *record
	said   *atomic.Pointer[said]
}

// said is a headline in a language on a day.
type said struct {
	language string
	day      int64
	headline headline.Headline
}

// Cache stores fragments, or the record from which several formats are written, so that unchanged
// hazards are not read and encoded again. Lists of active hazards,
// pages of searches, earlier moments and OGC items share it. It is safe for concurrent use.
type Cache struct {
	// Headline sets Entry.Said, if the format has headlines; nil leaves it out.
	Headline func(ctx context.Context, h *hazard.Hazard, l *words.Language, at hazard.Instant) (headline.Headline, error)

	kept *lru.Cache[fragmentKey, fragment]
	seed maphash.Seed
}

// NewCache makes a Cache of at most maxSize bytes.
func NewCache(maxSize int) *Cache {
	return &Cache{kept: lru.New[fragmentKey, fragment](maxSize), seed: maphash.MakeSeed()}
}

// fragmentKey is all that a fragment depends on. The change that made a state names it, but the state ends by itself
// (hazard.Hazard.ExpireAt) and words can be redacted, so these are in the hash as well.
type fragmentKey struct {
	id, version int64
	rest        uint64 // hash
}

// records is the format of records, which no document has.
const records = formats

// fromRecords reports whether a hazard is written from its record. That costs less than to keep what is
// written.
func (f Format) fromRecords() bool { return f == GeoJSON || f == CSV || f == KML || f == records }

func (c *Cache) key(w *Writer, h *hazard.Hazard, products int) fragmentKey {
	var room [2048]byte // of most hazards: one hash of all costs less than a hash of each
	all := room[:0]
	add := func(text string) { all = append(binary.AppendUvarint(all, uint64(len(text))), text...) }
	for _, text := range [...]string{h.Name, h.Description, h.UpdateUser, h.Creator, h.URL, h.Comment, h.Instruction, h.Source, h.Note, string(h.UUID[:]), string(h.Successor[:])} {
		add(text)
	}
	found := -1
	for i := range h.Texts {
		t := &h.Texts[i]
		if h.Says() == t {
			found = i
		}
		for _, text := range [...]string{t.Language, t.Name, t.Event, t.Headline, t.Description, t.Instruction, t.Sender, t.Contact, t.Web, t.Audience, t.Area} {
			add(text)
		}
	}
	add(strconv.Itoa(found))
	for _, a := range h.Areas {
		add(string(a.Role))
		add(a.Digest)
	}
	language := "" // of the headline, which tells days as well
	if w.language != nil {
		language = w.language.ID
	}
	for _, text := range [...]string{string(h.Place()), h.PlaceKnownAs, w.base, string(h.Status), string(h.Reason), language} {
		add(text)
	}
	for _, n := range [...]int64{int64(w.format), int64(products), int64(h.LastUpdate), dayOf(w.at)} {
		all = binary.AppendVarint(all, n)
	}
	return fragmentKey{h.ID, h.Version, maphash.Bytes(c.seed, all)}
}

// dayOf numbers days since 1970.
func dayOf(at hazard.Instant) int64 { return int64(at) / (24 * 60 * 60 * 1000) }

// perFragment is the approximate memory of a fragment besides its text, in bytes.
const perFragment = 400

// perSaid is the same for a headline, whose text the maker of headlines keeps, too.
const perSaid = 250

// Write adds a hazard to a document, as Read and Writer.Write do, using the cache.
func (c *Cache) Write(ctx context.Context, w *Writer, s Store, h *hazard.Hazard, products int) error {
	if w.single { // a single document's frame is part of its fragment
		e, err := Read(ctx, s, w.format, h, products)
		if err != nil {
			return err
		}
		return w.Write(e)
	}
	if w.format.fromRecords() {
		e, err := c.recorded(ctx, w, s, h, products)
		if err != nil {
			return err
		}
		return w.Write(e)
	}
	fr, err := c.fragment(ctx, w, s, h, products)
	if err != nil {
		return err
	}
	return w.add(h, fr)
}

// Row returns the row of a hazard, using the cache. base is the service's public address, without a slash at its end.
func (c *Cache) Row(ctx context.Context, s Store, h *hazard.Hazard, products int, base string) (*Row, error) {
	e, err := c.recorded(ctx, &Writer{format: records, base: base}, s, h, products)
	if err != nil {
		return nil, err
	}
	return e.row(base), nil
}

// recorded returns the entry of a hazard with its record.
func (c *Cache) recorded(ctx context.Context, w *Writer, s Store, h *hazard.Hazard, products int) (*Entry, error) {
	k := c.key(&Writer{format: records, base: w.base}, h, products)
	e := &Entry{Hazard: h, Products: products}
	fr, ok := c.kept.Get(k)
	if !ok {
		read, err := Read(ctx, s, w.format, h, products)
		if err != nil {
			return nil, err
		}
		e = read
		fr = fragment{record: newRecord(e, w.base), said: &atomic.Pointer[said]{}}
		c.kept.Put(k, fr, fr.record.size()+perFragment+perSaid)
	}
	e.kept = fr.record
	reader := readerOf(h, w.language, w.at)
	if before := fr.said.Load(); before != nil && before.language == reader.Language.ID && before.day == dayOf(reader.At) {
		e.Said = &before.headline
		return e, nil
	}
	err := c.say(ctx, w, e)
	if err == nil && e.Said != nil {
		fr.said.Store(&said{reader.Language.ID, dayOf(reader.At), *e.Said})
	}
	return e, err
}

// say sets the headline of an entry.
func (c *Cache) say(ctx context.Context, w *Writer, e *Entry) error {
	if c.Headline == nil {
		return nil
	}
	reader := readerOf(e.Hazard, w.language, w.at)
	said, err := c.Headline(ctx, e.Hazard, reader.Language, reader.At)
	e.Said = &said
	return err
}

func (c *Cache) fragment(ctx context.Context, w *Writer, s Store, h *hazard.Hazard, products int) (fr fragment, err error) {
	k := c.key(w, h, products)
	if fr, ok := c.kept.Get(k); ok {
		return fr, nil
	}
	e, err := Read(ctx, s, w.format, h, products)
	if err != nil {
		return fr, err
	}
	if w.format != CAP && w.format != JSON && w.format != NDJSON {
		if err := c.say(ctx, w, e); err != nil {
			return fr, err
		}
	}
	if fr, err = w.fragment(e); err == nil {
		fr.text = bytes.Clone(fr.text) // without the room that its making took
		c.kept.Put(k, fr, len(fr.text)+perFragment)
	}
	return fr, err
}
