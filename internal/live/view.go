// Package live holds the active hazards in memory, as readers see them.
//
// A View is immutable: a reader that has one keeps a consistent picture as of one change number, however long it takes.
// Live swaps in a new View for the changes that it is given, in their order, and at each moment a hazard ends. A View that
// Live.View gives never holds a hazard past its end, nor tells of a product that its audience may not know of. It knows no encodings,
// neither HTTP nor SQL: package reply makes bodies of a view.
package live

import (
	"encoding/binary"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// View is everything active as of one change, at one moment.
type View struct {
	number  int64
	at      hazard.Instant // when it was made
	digits  []string
	list    []*entry // in the order of lists
	byID    map[int64]*entry
	byUUID  map[uuid.UUID]*entry
	product map[int64]*hazard.Product
	// restricted are the organizations that some product here is restricted to, sorted: other memberships make no difference.
	restricted []int64
	nextEnd    hazard.Instant // when the first of them ends by itself
}

// entry is one active hazard with its products. It is shared by all views in which neither changed.
type entry struct {
	hazard   *hazard.Hazard
	products []*hazard.Product // by number
}

// Number is the change as of which the view is true.
func (v *View) Number() int64 { return v.number }

// At is when the view was made: after the change that it ends with, or the latest end that it leaves out.
func (v *View) At() hazard.Instant { return v.at }

// NextEnd is when the first of the hazards in it ends by itself; hazard.MaxInstant: none does.
func (v *View) NextEnd() hazard.Instant { return v.nextEnd }

// Digits is Number in digits, as a header's list of values.
func (v *View) Digits() []string { return v.digits }

// Len is the number of active hazards.
func (v *View) Len() int { return len(v.list) }

// Severities counts the active hazards by severity.
func (v *View) Severities() map[hazard.Severity]int {
	count := map[hazard.Severity]int{}
	for _, e := range v.list {
		count[e.hazard.Severity]++
	}
	return count
}

// Hazard finds an active hazard by number.
func (v *View) Hazard(id int64) (*hazard.Hazard, bool) {
	e, ok := v.byID[id]
	if !ok {
		return nil, false
	}
	return e.hazard, true
}

// HazardByUUID finds an active hazard by uuid.
func (v *View) HazardByUUID(id uuid.UUID) (*hazard.Hazard, bool) {
	e, ok := v.byUUID[id]
	if !ok {
		return nil, false
	}
	return e.hazard, true
}

// ProductTotal counts the products of an active hazard that a member of orgs may know of.
func (v *View) ProductTotal(id int64, orgs []int64) int {
	if e, ok := v.byID[id]; ok {
		return e.count(orgs)
	}
	return 0
}

// Product finds a product of an active hazard by number, if a member of orgs may know of it.
func (v *View) Product(id int64, orgs []int64) (*hazard.Product, bool) {
	p, ok := v.product[id]
	if !ok || !p.VisibleTo(orgs) {
		return nil, false
	}
	return p, true
}

// Filter narrows a list of active hazards; zero values narrow nothing.
type Filter struct {
	Category hazard.Category
	Severity hazard.Severity
}

func (f Filter) passes(h *hazard.Hazard) bool {
	return (f.Category == "" || h.Category == f.Category) && (f.Severity == 0 || h.Severity == f.Severity)
}

// Audience is what a member of orgs may know of in this view, as a value that compares: two sets of organizations with the same
// Audience are shown the same. Empty: only what is unrestricted.
type Audience string

// Audience keeps of orgs what makes a difference in this view. Its width is fixed for each, so that no two sets make the same.
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

// Hazards are the active hazards that f lets through, in the order of lists, each with the number of its products that a member of
// orgs may know of.
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

// Products lists the products of an active hazard that a member of orgs may know of, by number, and whether the hazard is active.
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

// newView makes a view of entries, leaving out what has ended at now.
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
