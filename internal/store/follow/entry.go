package follow

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Entry is a change with the surrounding state of the log. That state is read on first use, for all
// changes that were read together.
type Entry struct {
	hazard.Change
	tail   *Tail
	states *states
	counts *counts
	size   int64 // approximate bytes in memory; guarded by tail.mu, as is kept
	kept   bool

	products atomic.Pointer[[]*hazard.Product] // products of the hazard as of this change; nil means not read yet

	texts atomic.Pointer[map[any][]byte] // results of Text by key; a map is never modified
	turn  turn                           // held while a text is made
}

// turn makes one of many callers do work that all of them want. The others wait and continue
// together when it is done; behind a mutex, a thousand streams would continue one after the other.
// Its zero value is free.
type turn struct {
	mu   sync.Mutex
	busy chan struct{} // nil while free; closed when it is released
}

// take reports whether the caller has the turn, and must release it. If it returns false, another
// caller had the turn and has released it.
func (t *turn) take() bool {
	t.mu.Lock()
	busy := t.busy
	if busy == nil {
		t.busy = make(chan struct{})
	}
	t.mu.Unlock()
	if busy != nil {
		<-busy
	}
	return busy == nil
}

func (t *turn) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.busy)
	t.busy = nil
}

// states holds the hazards of consecutive changes.
type states struct {
	mu      sync.Mutex // guards the fields below
	changes []hazard.Change
	known   map[int64][2]*hazard.Hazard // before and after each change, by number; nil means not read yet
}

// counts reads the products of some entries.
type counts struct {
	turn    turn
	entries []*Entry
}

// entries wraps consecutive changes.
func (t *Tail) entries(changes []hazard.Change) []*Entry {
	s, c := &states{changes: changes}, &counts{entries: make([]*Entry, len(changes))}
	for i := range changes {
		c.entries[i] = &Entry{Change: changes[i], tail: t, states: s, counts: c, size: sizeOf(&changes[i])}
	}
	return slices.Clone(c.entries)
}

// sizeOf returns the approximate size of a change in memory.
func sizeOf(c *hazard.Change) int64 {
	size := int64(2 << 10)
	if c.Hazard != nil {
		size += sizeOfHazard(c.Hazard)
	}
	if p := c.Product; p != nil {
		size += int64(len(p.Title)+len(p.Data)+len(p.Comment)+len(p.Geometry)+8*len(p.OrgIDs)) + sizeOfRedactions(p.Redacted)
	}
	return size
}

func sizeOfHazard(h *hazard.Hazard) int64 {
	return int64(1<<10+len(h.Name)+len(h.Description)+len(h.Comment)+len(h.Note)+len(h.URL)+hazard.SizeOfTexts(h.Texts)+
		sizeOfRef*(len(h.Areas)+len(h.Shapes)+len(h.Measurements))) + sizeOfRedactions(h.Redacted)
}

func sizeOfRedactions(marks []hazard.Redaction) (size int64) {
	for _, m := range marks {
		size += int64(sizeOfRef + len(m.Reason))
	}
	return size
}

// Approximate sizes of small values, in bytes.
const (
	sizeOfRef     = 160 // a reference to an area or a shape with its digest, or a measurement
	sizeOfProduct = 400 // a product without its texts, and its place in a list
)

// concerns reports whether the entry depends on the audience of the product id, and was built for
// another audience than today's.
func (e *Entry) concerns(id int64, today hazard.Audience) bool {
	if e.Product != nil {
		return e.Product.ID == id && !e.Product.Today().Equal(today)
	}
	counted := e.products.Load()
	return counted == nil || slices.ContainsFunc(*counted, func(p *hazard.Product) bool { return p.ID == id && !p.Today().Equal(today) })
}

// anew returns the entry without its cached results, with today's audience for the product id.
func (e *Entry) anew(id int64, today hazard.Audience, with *counts) *Entry {
	fresh := &Entry{Change: e.Change, tail: e.tail, states: e.states, counts: with, size: sizeOf(&e.Change)}
	if e.Product != nil && e.Product.ID == id {
		p := *e.Product
		p.Present = &today
		fresh.Product = &p
	}
	with.entries = append(with.entries, fresh)
	return fresh
}

// States returns the hazard before and after the change. For a change of a product both are the
// same. before is nil for a new hazard, and for one that begins with a split.
func (e *Entry) States(ctx context.Context) (before, after *hazard.Hazard, err error) {
	s := e.states
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		asked := map[int64]bool{}
		for _, c := range s.changes {
			if c.Kind != hazard.HazardCreated {
				asked[c.HazardID] = true
			}
		}
		now := map[int64]*hazard.Hazard{}
		if len(asked) > 0 {
			if now, err = e.tail.log.HazardsBefore(ctx, slices.Sorted(maps.Keys(asked)), s.changes[0].Number); err != nil {
				return nil, nil, err
			}
		}
		size := int64(0)
		for _, h := range now {
			size += sizeOfHazard(h)
		}
		s.known = make(map[int64][2]*hazard.Hazard, len(s.changes))
		for _, c := range s.changes {
			before := now[c.HazardID]
			if c.Hazard != nil {
				now[c.HazardID] = c.Hazard
			}
			s.known[c.Number] = [2]*hazard.Hazard{before, now[c.HazardID]}
		}
		s.changes = nil
		e.tail.grew(e, size)
	}
	known := s.known[e.Number]
	return known[0], known[1], nil
}

// Products returns the products that the hazard had as of the change: only their ids and audiences.
func (e *Entry) Products(ctx context.Context) ([]*hazard.Product, error) {
	for {
		if known := e.products.Load(); known != nil {
			return *known, nil
		}
		if e.counts.turn.take() {
			break
		}
	}
	defer e.counts.turn.give()
	if known := e.products.Load(); known != nil { // read by another caller meanwhile
		return *known, nil
	}
	var changes []hazard.Change
	for _, o := range e.counts.entries {
		if o.Hazard != nil && o.Kind != hazard.HazardCreated {
			changes = append(changes, o.Change)
		}
	}
	all, err := e.tail.log.ProductsThen(ctx, changes)
	if err != nil {
		return nil, err
	}
	for _, o := range e.counts.entries {
		products := all[o.Number]
		o.products.Store(&products)
		e.tail.grew(o, int64(sizeOfProduct*len(products))) // products that were read together may be shared
	}
	return *e.products.Load(), nil
}

// Text returns the result of make for the change and a comparable key. It is made once while the
// change is in memory, and counts toward the memory's bound. The result must not be modified.
func (e *Entry) Text(key any, make func() ([]byte, error)) ([]byte, error) {
	for {
		if t, ok := e.text(key); ok {
			return t, nil
		}
		if e.turn.take() {
			break
		}
	}
	defer e.turn.give()
	if t, ok := e.text(key); ok { // made by another caller meanwhile
		return t, nil
	}
	t, err := make()
	if err != nil {
		return nil, err
	}
	texts := map[any][]byte{}
	if before := e.texts.Load(); before != nil {
		texts = maps.Clone(*before)
	}
	texts[key] = t
	e.texts.Store(&texts)
	e.tail.grew(e, int64(cap(t)))
	return t, nil
}

// text returns the cached text for a key, if there is one.
func (e *Entry) text(key any) ([]byte, bool) {
	texts := e.texts.Load()
	if texts == nil {
		return nil, false
	}
	t, ok := (*texts)[key]
	return t, ok
}
