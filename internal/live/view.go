// Package live holds the active hazards in memory, as readers see them.
//
// A View is immutable: a reader that has one keeps a consistent picture as of one change number, however long it takes.
// Follow swaps in a new View after each committed change, in change order, and at each moment a hazard ends. A View that
// Live.View gives never holds a hazard past its end, nor tells of a product that its audience may not know of. Answers are encoded
// once per change and audience, whoever asks first, and compressed once per coding. It knows neither HTTP nor SQL.
package live

import (
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"hazardd/internal/hazard"
	"hazardd/wire"
)

// View is everything active as of one change, at one moment.
type View struct {
	number  int64
	at      hazard.Instant // when it was made
	digits  []string
	base    string
	list    []*entry // in the order of lists
	byID    map[int64]*entry
	byUUID  map[uuid.UUID]*entry
	product map[int64]*hazard.Product
	// restricted are the organizations that some product here is restricted to, sorted: other memberships make no difference.
	restricted []int64
	nextEnd    hazard.Instant // when the first of them ends by itself
	lists      sync.Map       // listKey → *lazyBody, formKey → *formBody
}

// entry is one active hazard with its products. It is shared by all views in which neither changed.
type entry struct {
	hazard   *hazard.Hazard
	products []*hazard.Product // by number
	lists    sync.Map          // audience → *lazyBody, of its products
	once     sync.Once
	text     []byte // its JSON for those who may know of all that is unrestricted and nothing more
	open     int    // how many products that are
}

type lazyBody struct {
	once sync.Once
	body *Body
}

// Number is the change as of which the view is true.
func (v *View) Number() int64 { return v.number }

// At is when the view was made: after the change that it ends with, or the latest end that it leaves out.
func (v *View) At() hazard.Instant { return v.at }

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

// audience is a set of organizations as a value that compares. Fixed width, so that no two sets make the same.
type audience string

// audienceOf keeps of orgs what makes a difference in this view.
func (v *View) audienceOf(orgs []int64) audience {
	if len(v.restricted) == 0 || len(orgs) == 0 {
		return ""
	}
	var b []byte
	for _, o := range v.restricted {
		if slices.Contains(orgs, o) {
			b = binary.BigEndian.AppendUint64(b, uint64(o))
		}
	}
	return audience(b)
}

type listKey struct {
	filter   Filter
	audience audience
}

// Active is the JSON array of the active hazards that f lets through, as a member of orgs sees them, in the order of lists.
func (v *View) Active(f Filter, orgs []int64) *Body {
	key := listKey{f, v.audienceOf(orgs)}
	got, ok := v.lists.Load(key)
	if !ok {
		got, _ = v.lists.LoadOrStore(key, &lazyBody{})
	}
	lazy := got.(*lazyBody)
	lazy.once.Do(func() { lazy.body = v.encodeActive(f, orgs, key.audience != "") })
	return lazy.body
}

func (v *View) encodeActive(f Filter, orgs []int64, member bool) *Body {
	size := 2
	var texts [][]byte
	for _, e := range v.list {
		if !f.passes(e.hazard) {
			continue
		}
		text := e.json(v.base, orgs, member)
		texts = append(texts, text)
		size += len(text) + 1
	}
	out := append(make([]byte, 0, size), '[')
	for i, text := range texts {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, text...)
	}
	return NewBody(append(out, ']'), member)
}

// json is the hazard's JSON object for a member of orgs.
func (e *entry) json(base string, orgs []int64, member bool) []byte {
	e.once.Do(func() {
		e.open = e.count(nil)
		e.text = hazardJSON(e.hazard, e.open, base)
	})
	if member {
		if n := e.count(orgs); n != e.open {
			return hazardJSON(e.hazard, n, base)
		}
	}
	return e.text
}

func hazardJSON(h *hazard.Hazard, products int, base string) []byte {
	text, err := json.Marshal(wire.FromHazard(h, products, base))
	if err != nil {
		panic(err) // strings are valid UTF-8 and numbers finite since they were stored
	}
	return text
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

// Products is the JSON array of the products of an active hazard that a member of orgs may know of, and whether the hazard is
// active.
func (v *View) Products(id int64, orgs []int64) (*Body, bool) {
	e, ok := v.byID[id]
	if !ok {
		return nil, false
	}
	key := v.audienceOf(orgs)
	got, ok := e.lists.Load(key)
	if !ok {
		got, _ = e.lists.LoadOrStore(key, &lazyBody{})
	}
	lazy := got.(*lazyBody)
	lazy.once.Do(func() {
		list := []wire.Product{}
		restricted := false
		for _, p := range e.products {
			if p.VisibleTo(orgs) {
				list = append(list, wire.FromProduct(p, v.base))
				restricted = restricted || p.Restricted()
			}
		}
		text, err := json.Marshal(list)
		if err != nil {
			panic(err) // as above
		}
		lazy.body = NewBody(text, restricted)
	})
	return lazy.body, true
}

// newView makes a view of entries, leaving out what has ended at now.
func newView(number int64, base string, entries map[int64]*entry, now hazard.Instant) *View {
	v := &View{number: number, at: now, digits: []string{strconv.FormatInt(number, 10)}, base: base, byID: make(map[int64]*entry, len(entries)), byUUID: make(map[uuid.UUID]*entry, len(entries)),
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
