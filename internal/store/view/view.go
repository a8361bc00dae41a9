// Package view holds the active hazards in memory, as readers see them.
//
// A View is immutable, so a reader keeps a consistent snapshot of one change number however long it
// takes. Live replaces the View for each given change, in order, and whenever a hazard ends. The
// result of Live.View never contains a hazard past its end, and reveals no product outside its
// audience. The package knows no encodings, neither HTTP nor SQL: package encoded encodes views.
package view

import (
	"encoding/binary"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// View is everything active as of one change and one moment.
type View struct {
	number  int64
	at      hazard.Instant // when it was built
	digits  []string
	list    []*entry // in list order
	byID    map[int64]*entry
	byUUID  map[uuid.UUID]*entry
	product map[int64]*hazard.Product
	// restricted lists the organizations that products here are restricted to, sorted. Other
	// memberships make no difference.
	restricted []int64
	nextEnd    hazard.Instant // when the first hazard ends by itself

	base   *View  // the view with login names; nil if this is it
	names  uint64 // of hazard.Names; 0 if this is the view with login names
	naming sync.Mutex
	named  namedView // the latest result of Named; guarded by naming
}

// entry is one active hazard with its products. Views share an entry while neither changes.
type entry struct {
	hazard   *hazard.Hazard
	products []*hazard.Product // by number
	named    atomic.Pointer[namedEntry]
}

// Number returns the number of the view's last change.
func (v *View) Number() int64 { return v.number }

// At returns when the view was built: after its last change, or at the latest end that it leaves
// out.
func (v *View) At() hazard.Instant { return v.at }

// NextEnd returns when the first of its hazards ends by itself, or hazard.MaxInstant if none does.
func (v *View) NextEnd() hazard.Instant { return v.nextEnd }

// Digits returns Number in digits, as the values of a header.
func (v *View) Digits() []string { return v.digits }

// Len returns the number of active hazards.
func (v *View) Len() int { return len(v.list) }

// Severities counts the active hazards by severity.
func (v *View) Severities() map[hazard.Severity]int {
	count := map[hazard.Severity]int{}
	for _, e := range v.list {
		count[e.hazard.Severity]++
	}
	return count
}

// Hazard returns an active hazard by id.
func (v *View) Hazard(id int64) (*hazard.Hazard, bool) {
	e, ok := v.byID[id]
	if !ok {
		return nil, false
	}
	return e.hazard, true
}

// HazardByUUID returns an active hazard by UUID.
func (v *View) HazardByUUID(id uuid.UUID) (*hazard.Hazard, bool) {
	e, ok := v.byUUID[id]
	if !ok {
		return nil, false
	}
	return e.hazard, true
}

// ProductTotal counts the products of an active hazard that a member of orgs may see.
func (v *View) ProductTotal(id int64, orgs []int64) int {
	if e, ok := v.byID[id]; ok {
		return e.count(orgs)
	}
	return 0
}

// Product returns a product of an active hazard by id, if a member of orgs may see it.
func (v *View) Product(id int64, orgs []int64) (*hazard.Product, bool) {
	p, ok := v.product[id]
	if !ok || !p.VisibleTo(orgs) {
		return nil, false
	}
	return p, true
}

// Filter narrows a list of active hazards; zero values match everything.
type Filter struct {
	Category hazard.Category
	Severity hazard.Severity
}

func (f Filter) passes(h *hazard.Hazard) bool {
	return (f.Category == "" || h.Category == f.Category) && (f.Severity == 0 || h.Severity == f.Severity)
}

// Audience is what a member of orgs may see in this view, as a comparable value: two sets of
// organizations with the same Audience see the same. Empty means unrestricted data only.
type Audience string

// Audience returns the members of orgs that matter in this view. Each takes a fixed width, so that
// different sets give different values.
func (v *View) Audience(orgs []int64) Audience {
	if len(v.restricted) == 0 || len(orgs) == 0 {
		return ""
	}
	var b []byte
	for _, o := range v.restricted {
		if slices.Contains(orgs, o) {
			b = binary.BigEndian.AppendUint64(b, uint64(o))
		}
	}
	return Audience(b)
}

// Hazards yields the matching active hazards in list order, each with the number of products that a
// member of orgs may see.
func (v *View) Hazards(f Filter, orgs []int64) iter.Seq2[*hazard.Hazard, int] {
	return func(yield func(*hazard.Hazard, int) bool) {
		for _, e := range v.list {
			if f.passes(e.hazard) && !yield(e.hazard, e.count(orgs)) {
				return
			}
		}
	}
}

func (e *entry) count(orgs []int64) int {
	n := 0
	for _, p := range e.products {
		if p.VisibleTo(orgs) {
			n++
		}
	}
	return n
}

// Products lists the products of an active hazard that a member of orgs may see, by id, and whether
// the hazard is active.
func (v *View) Products(id int64, orgs []int64) ([]*hazard.Product, bool) {
	e, ok := v.byID[id]
	if !ok {
		return nil, false
	}
	list := make([]*hazard.Product, 0, len(e.products))
	for _, p := range e.products {
		if p.VisibleTo(orgs) {
			list = append(list, p)
		}
	}
	return list, true
}

// newView builds a view of entries without the hazards that have ended at now.
func newView(number int64, entries map[int64]*entry, now hazard.Instant) *View {
	v := &View{number: number, at: now, digits: []string{strconv.FormatInt(number, 10)}, byID: make(map[int64]*entry, len(entries)), byUUID: make(map[uuid.UUID]*entry, len(entries)),
		list: make([]*entry, 0, len(entries)), product: map[int64]*hazard.Product{}, nextEnd: hazard.MaxInstant}
	orgs := map[int64]bool{}
	for id, e := range entries {
		if !e.hazard.ActiveAt(now) {
			continue
		}
		v.list = append(v.list, e)
		v.byID[id], v.byUUID[e.hazard.UUID] = e, e
		if e.hazard.AutoExpire {
			v.nextEnd = min(v.nextEnd, e.hazard.End)
		}
		for _, p := range e.products {
			v.product[p.ID] = p
			for _, o := range p.OrgIDs {
				orgs[o] = true
			}
		}
	}
	slices.SortFunc(v.list, func(a, b *entry) int { return hazard.Compare(a.hazard, b.hazard) })
	v.restricted = slices.Sorted(maps.Keys(orgs))
	return v
}
