package subscription

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/tidwall/rtree"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/store"
)

// index finds the subscriptions that a hazard concerns. What many have in common (criteria, regions,
// areas, channels) is stored once, and compared once with a hazard. It belongs to one goroutine at a
// time.
type index struct {
	slots    []slot
	free     []uint32
	byID     map[uuid.UUID]uint32
	parts    []part
	unused   []uint32                       // of parts
	points   rtree.RTreeGN[float32, uint32] // of parts
	areas    map[string]*area
	tree     rtree.RTreeGN[float32, *area]
	assets   map[*area]struct{}                // the areas that are assets of an organization; they are not in tree
	world    map[uint32]struct{}               // slots without places, for the whole world
	hazards  map[uuid.UUID]map[uint32]struct{} // slots that follow one hazard
	drafts   map[uint32]string                 // slots that are told of drafts, with their owners
	criteria map[string]*criteria
	channels map[string]*channelSet
	seen     []uint32 // for each slot the last search that found it
	search   uint32
}

// slot is a subscription.
type slot struct {
	id       uuid.UUID
	since    int64
	criteria *criteria
	channels *channelSet
	first    uint32    // its first part; 0 for none
	hazard   uuid.UUID // the only one that it is about
}

// part is a place of a subscription.
type part struct {
	slot, next uint32
	lon, lat   int32 // millionths of a degree
	radius     float32
	area       *area // nil for a point
}

// area is an area of subscriptions, or stands for the assets of an organization, which the store has.
type area struct {
	key    string
	shape  geo.Shape
	margin float64 // meters
	slots  []uint32
	assets *Assets // nil for an area
}

// route is an active channel.
type route struct{ id, lane string }

// channelSet is the channels of a subscription.
type channelSet struct {
	key    string
	users  int
	routes []route // none while the subscription is paused
	all    []channelStatus
}

// channelStatus is a kind of channel in a status, as they are counted.
type channelStatus struct{ kind, status string }

// criteria says which hazards are wanted, wherever they are.
type criteria struct {
	key        string
	users      int
	types      []hazard.Type
	categories []hazard.Category
	severity   hazard.Severity
	people     int64
	drills     bool
	measure    *query.Filter
}

func newIndex() *index {
	return &index{slots: make([]slot, 1), parts: make([]part, 1), seen: make([]uint32, 1), byID: map[uuid.UUID]uint32{}, areas: map[string]*area{}, assets: map[*area]struct{}{}, world: map[uint32]struct{}{}, hazards: map[uuid.UUID]map[uint32]struct{}{}, drafts: map[uint32]string{},
		criteria: map[string]*criteria{}, channels: map[string]*channelSet{}}
}

// match reports whether an active hazard is wanted. counting means that people who are not counted
// yet will be.
func (c *criteria) match(h *hazard.Hazard, counting bool) bool {
	if h.Category == hazard.Exercise && !c.drills {
		return false
	}
	if h.Severity < c.severity || len(c.types) > 0 && !slices.Contains(c.types, h.Type) || len(c.categories) > 0 && !slices.Contains(c.categories, h.Category) {
		return false
	}
	if c.people > 0 {
		e := h.Exposed()
		switch {
		case e == nil && counting:
			return false // the count is a change of its own
		case e != nil && e.People != nil && e.People.People < c.people:
			return false
		}
		// Without a count, nobody is left out.
	}
	return c.measure == nil || c.measure.MatchRecord(h, hazard.MinInstant)
}

// put adds or replaces a subscription.
func (ix *index) put(s *store.Subscription, region func(string) (geo.Shape, float64, bool)) error {
	id, err := uuid.Parse(s.ID)
	if err != nil {
		return err
	}
	ix.drop(id)
	if s.Removed {
		return nil
	}
	sub, err := read(s)
	if err != nil {
		return err
	}
	wanted, err := ix.criteriaOf(&sub.kept)
	if err != nil {
		return err
	}
	set := ix.channelsOf(sub)
	var n uint32
	if last := len(ix.free) - 1; last >= 0 {
		n, ix.free = ix.free[last], ix.free[:last]
	} else {
		n = uint32(len(ix.slots))
		ix.slots, ix.seen = append(ix.slots, slot{}), append(ix.seen, 0)
	}
	ix.slots[n] = slot{id: id, since: s.Since, criteria: wanted, channels: set, hazard: sub.Hazard}
	wanted.users++
	set.users++
	ix.byID[id] = n
	if len(set.routes) == 0 {
		return nil // it is counted, and gets no messages
	}
	if sub.OfDrafts {
		ix.drafts[n] = s.Owner
		return nil
	}
	if sub.Hazard != uuid.Nil {
		if ix.hazards[sub.Hazard] == nil {
			ix.hazards[sub.Hazard] = map[uint32]struct{}{}
		}
		ix.hazards[sub.Hazard][n] = struct{}{}
		return nil
	}
	if sub.Where == nil {
		ix.world[n] = struct{}{}
		return nil
	}
	for _, p := range sub.Where.Points {
		i := ix.part(n, part{lon: int32(math.Round(p.Lon * 1e6)), lat: int32(math.Round(p.Lat * 1e6)), radius: float32(p.Radius * 1000)})
		for _, b := range ix.parts[i].boxes() {
			ix.points.Insert(b.min, b.max, i)
		}
	}
	if a := sub.Where.Assets; a != nil {
		ix.add(n, area{key: fmt.Sprintf("assets %s %v", a.Organization, a.Within), assets: a})
	}
	if len(sub.Where.Areas) > 0 {
		key := string(sub.Where.Areas)
		shape, ok := geo.Shape{}, ix.areas[key] != nil
		if !ok {
			if shape, err = geo.ReadStored(key); err != nil {
				return fmt.Errorf("subscription %s: %w", s.ID, err)
			}
		}
		ix.add(n, area{key: key, shape: shape})
	}
	for _, code := range sub.Where.Regions {
		if ix.areas[code] != nil {
			ix.add(n, area{key: code})
		} else if shape, margin, ok := region(code); ok {
			ix.add(n, area{key: code, shape: shape, margin: margin})
		}
	}
	return nil
}

// statusPaused is the status of an active channel while its subscription is paused.
const statusPaused = "paused"

// channelsOf returns the channels of a subscription.
func (ix *index) channelsOf(sub *subscription) *channelSet {
	p := &channelSet{}
	var key strings.Builder
	for _, c := range sub.Channels {
		status := string(c.Status)
		switch {
		case c.Status != Active:
		case sub.Paused:
			status = statusPaused
		default:
			p.routes = append(p.routes, route{c.ID, c.Lane})
		}
		p.all = append(p.all, channelStatus{c.Kind, status})
		fmt.Fprintln(&key, c.ID, c.Lane, c.Kind, status)
	}
	p.key = key.String()
	if have := ix.channels[p.key]; have != nil {
		return have
	}
	ix.channels[p.key] = p
	return p
}

// tally counts channels.
func (ix *index) tally() map[channelStatus]int {
	n := map[channelStatus]int{}
	for _, p := range ix.channels {
		for _, c := range p.all {
			n[c] += p.users
		}
	}
	return n
}

// with lists the subscriptions that have a channel in a status.
func (ix *index) with(status ChannelStatus) (ids []string) {
	any := false
	for _, p := range ix.channels {
		any = any || p.has(status)
	}
	for i := range ix.slots {
		if p := ix.slots[i].channels; any && p != nil && p.has(status) {
			ids = append(ids, ix.slots[i].id.String())
		}
	}
	return ids
}

func (p *channelSet) has(status ChannelStatus) bool {
	return slices.ContainsFunc(p.all, func(c channelStatus) bool { return c.status == string(status) })
}

func (ix *index) criteriaOf(k *kept) (*criteria, error) {
	text, err := json.Marshal([]any{k.Types, k.Categories, k.Severity, k.People, k.Drills, k.Measure})
	if err != nil {
		return nil, err
	}
	if c := ix.criteria[string(text)]; c != nil {
		return c, nil
	}
	c, fault := newCriteria(k)
	if fault != "" {
		return nil, fmt.Errorf("measure: %s", fault)
	}
	c.key = string(text)
	ix.criteria[c.key] = c
	return c, nil
}

// newCriteria returns the criteria of a subscription, or what is wrong with its measure.
func newCriteria(k *kept) (c *criteria, fault string) {
	c = &criteria{types: k.Types, categories: k.Categories, severity: k.Severity, people: k.People, drills: k.Drills}
	c.measure, fault = measured(k.Measure)
	return c, fault
}

// part adds a part to a slot.
func (ix *index) part(n uint32, p part) uint32 {
	var i uint32
	if last := len(ix.unused) - 1; last >= 0 {
		i, ix.unused = ix.unused[last], ix.unused[:last]
	} else {
		i = uint32(len(ix.parts))
		ix.parts = append(ix.parts, part{})
	}
	p.slot, p.next = n, ix.slots[n].first
	ix.parts[i], ix.slots[n].first = p, i
	return i
}

// add adds an area to a slot: the existing one with its key, if there is one.
func (ix *index) add(n uint32, wanted area) {
	a := ix.areas[wanted.key]
	if a == nil {
		a = &wanted
		ix.areas[a.key] = a
		if a.assets != nil {
			ix.assets[a] = struct{}{}
		} else {
			for _, b := range boxesOf(geo.BoundsOf(a.shape.BothSides()), a.margin) {
				ix.tree.Insert(b.min, b.max, a)
			}
		}
	}
	a.slots = append(a.slots, n)
	ix.part(n, part{area: a})
}

// within returns the distance from a hazard at which the assets of organizations matter, by acronym,
// in km.
func (ix *index) within() map[string]float64 {
	furthest := map[string]float64{}
	for a := range ix.assets {
		furthest[a.assets.Organization] = max(furthest[a.assets.Organization], a.assets.Within)
	}
	return furthest
}

// drop removes a subscription, if it exists.
func (ix *index) drop(id uuid.UUID) {
	n, ok := ix.byID[id]
	if !ok {
		return
	}
	for i := ix.slots[n].first; i != 0; {
		p := &ix.parts[i]
		if a := p.area; a != nil {
			if at := slices.Index(a.slots, n); at >= 0 {
				a.slots[at] = a.slots[len(a.slots)-1]
				a.slots = a.slots[:len(a.slots)-1]
			}
			if len(a.slots) == 0 {
				if a.assets != nil {
					delete(ix.assets, a)
				} else {
					for _, b := range boxesOf(geo.BoundsOf(a.shape.BothSides()), a.margin) {
						ix.tree.Delete(b.min, b.max, a)
					}
				}
				delete(ix.areas, a.key)
			}
		} else {
			for _, b := range p.boxes() {
				ix.points.Delete(b.min, b.max, i)
			}
		}
		next := p.next
		*p = part{}
		ix.unused = append(ix.unused, i)
		i = next
	}
	wanted := ix.slots[n].criteria
	if wanted.users--; wanted.users == 0 {
		delete(ix.criteria, wanted.key)
	}
	set := ix.slots[n].channels
	if set.users--; set.users == 0 {
		delete(ix.channels, set.key)
	}
	delete(ix.world, n)
	delete(ix.drafts, n)
	if followed := ix.slots[n].hazard; followed != uuid.Nil {
		if delete(ix.hazards[followed], n); len(ix.hazards[followed]) == 0 {
			delete(ix.hazards, followed)
		}
	}
	delete(ix.byID, id)
	ix.slots[n] = slot{}
	ix.free = append(ix.free, n)
}

// rect is a box on a map that ends at the antimeridian, longitude first, in degrees.
type rect struct{ min, max [2]float32 }

// boxes returns rects that contain the circle around a point.
func (p *part) boxes() []rect {
	return boxesOf(geo.Around(float64(p.lon)/1e6, float64(p.lat)/1e6, float64(p.radius)), 0)
}

// boxesOf returns the rects of a box with a margin in meters, rounded outwards.
func boxesOf(b geo.Box, margin float64) []rect {
	const rounding = 5e-5 // degrees, more than a float32 loses
	if margin > 0 {
		pad := margin / 111_000
		wide := pad / max(0.01, math.Cos(max(math.Abs(b.South), math.Abs(b.North))*math.Pi/180))
		b.South, b.North = max(-90, b.South-pad), min(90, b.North+pad)
		if width := b.East - b.West; (width >= 0 && width+2*wide >= 360) || (width < 0 && width+360+2*wide >= 360) {
			b.West, b.East = -180, 180
		} else {
			b.West, b.East = geo.Wrap(b.West-wide), geo.Wrap(b.East+wide)
		}
	}
	one := func(w, s, e, n float64) rect {
		return rect{[2]float32{float32(w - rounding), float32(s - rounding)}, [2]float32{float32(e + rounding), float32(n + rounding)}}
	}
	if b.West > b.East {
		return []rect{one(b.West, b.South, 180, b.North), one(-180, b.South, b.East, b.North)}
	}
	return []rect{one(b.West, b.South, b.East, b.North)}
}

// near calls f once for each subscription that follows the hazard with that id, or has a place that a
// hazard at the shapes reaches, whatever its criteria. assets are the nearest ones by organization.
func (ix *index) near(id uuid.UUID, shapes []geo.Shape, assets map[string]nearAsset, f func(*slot)) {
	if ix.search++; ix.search == 0 { // it overflowed
		clear(ix.seen)
		ix.search = 1
	}
	found := func(n uint32) {
		if ix.seen[n] != ix.search {
			ix.seen[n] = ix.search
			f(&ix.slots[n])
		}
	}
	for n := range ix.world {
		found(n)
	}
	for n := range ix.hazards[id] {
		found(n)
	}
	for a := range ix.assets {
		if at, ok := assets[a.assets.Organization]; ok && at.metres <= a.assets.Within*1000 {
			for _, n := range a.slots {
				found(n)
			}
		}
	}
	if len(shapes) == 0 { // nobody knows where it is
		return
	}
	both := make([]geo.Shape, len(shapes))
	for i, s := range shapes {
		both[i] = s.BothSides()
	}
	reach := geo.NewReach(shapes...)
	asked := map[*area]bool{}
	for _, b := range boxesOf(geo.BoundsOf(both...), 0) {
		ix.tree.Search(b.min, b.max, func(_, _ [2]float32, a *area) bool {
			if !asked[a] {
				asked[a] = true
				if a.meets(both) {
					for _, n := range a.slots {
						found(n)
					}
				}
			}
			return true
		})
		ix.points.Search(b.min, b.max, func(_, _ [2]float32, i uint32) bool {
			p := &ix.parts[i]
			if ix.seen[p.slot] == ix.search {
				return true
			}
			if _, far := reach.Distance(float64(p.lon)/1e6, float64(p.lat)/1e6, float64(p.radius)); !far {
				found(p.slot)
			}
			return true
		})
	}
}

// meets reports whether one of the shapes is in the area; for a point, whether it is within the
// margin.
func (a *area) meets(shapes []geo.Shape) bool {
	for _, s := range shapes {
		if geo.Intersects(a.shape, s) {
			return true
		}
		if a.margin > 0 && s.IsPoint() {
			lon, lat := s.Point()
			if _, far := geo.NewReach(a.shape).Distance(lon, lat, a.margin); !far {
				return true
			}
		}
	}
	return false
}
