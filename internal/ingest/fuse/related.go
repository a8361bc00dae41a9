package fuse

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// Relation says what another hazard is to one.
type Relation string

// The relations. A tsunami is a hazard of its own, beside the earthquake that made it. Two warnings
// of a sender may be one if it is unknown how its later messages of a warning are known.
const (
	CausedBy   Relation = "caused by"
	Causes     Relation = "causes"
	MayBeOneAs Relation = "may be one with"
)

// Related is a hazard that has to do with another.
type Related struct {
	Relation Relation
	Hazard   *hazard.Hazard
	Why      string // for people
}

// Related lists the hazards that have to do with one at a moment, by number: the earthquake of a tsunami, the tsunamis of an earthquake, and those of
// which it is unknown whether they are the same (MayBeOne). Its error is hazard.ErrNotFound if there is no hazard with that number.
func (in *Intake) Related(ctx context.Context, id int64, now hazard.Instant) (list []Related, err error) {
	h, err := in.store.Hazards.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	switch h.Type {
	case hazard.Tsunami:
		list, err = in.quakesOf(ctx, h)
	case hazard.Earthquake:
		list, err = in.tsunamisOf(ctx, h)
	}
	if err != nil || !h.ActiveAt(now) {
		return list, err
	}
	events, err := in.store.Reports.Of(ctx, id)
	if err != nil {
		return nil, err
	}
	alike, err := in.MayBeOne(ctx, h, events, now)
	for _, o := range alike {
		list = append(list, Related{MayBeOneAs, o, "the same sender, kind and place; how its sender names later messages is unknown"})
	}
	return list, err
}

// MayBeOne lists the active hazards that may be the same warning as h, of which events are all, by number: of the same sender, type and place, with
// overlapping times. Only senders count of which it is unknown how later messages of a warning are known (Known.Repeats).
func (in *Intake) MayBeOne(ctx context.Context, h *hazard.Hazard, events []store.EventReports, now hazard.Instant) (all []*hazard.Hazard, err error) {
	const window, most = 48 * time.Hour, 50
	for _, e := range events {
		if !in.known.Repeats[e.Event.Source] {
			continue
		}
		near, err := in.store.Reports.EventsStarting(ctx, e.Event.Type, e.Event.Start.Add(-window), e.Event.Start.Add(window))
		if err != nil {
			return nil, err
		}
		asked := 0
		for i := range near {
			o := &near[i]
			if o.HazardID == h.ID || o.Source != e.Event.Source || senderOf(o.Key) != senderOf(e.Event.Key) || !overlap(&e.Event, o, 0) || o.End <= now ||
				slices.ContainsFunc(all, func(x *hazard.Hazard) bool { return x.ID == o.HazardID }) || asked == most {
				continue
			}
			asked++
			other, err := in.store.Hazards.Get(ctx, o.HazardID)
			theirs, errR := in.store.Reports.Of(ctx, o.HazardID)
			if err = errors.Join(err, errR); err != nil {
				return nil, err
			}
			if other.ActiveAt(now) && slices.ContainsFunc(theirs, func(t store.EventReports) bool { return t.Event.Key == o.Key && sharePlace(e.Parts, t.Parts) }) {
				all = append(all, other)
			}
		}
	}
	slices.SortFunc(all, func(a, b *hazard.Hazard) int { return int(a.ID - b.ID) })
	return all, nil
}

// senderOf returns the sender in the key of a CAP alert.
func senderOf(key string) string {
	sender, _, _ := strings.Cut(key, ",")
	return sender
}

// sharePlace reports whether two events have a place in common.
func sharePlace(a, b []hazard.Report) bool {
	return slices.ContainsFunc(a, func(r hazard.Report) bool {
		return slices.ContainsFunc(r.Places, func(place string) bool {
			return slices.ContainsFunc(b, func(o hazard.Report) bool { return slices.Contains(o.Places, place) })
		})
	})
}

func (in *Intake) quakesOf(ctx context.Context, tsunami *hazard.Hazard) ([]Related, error) {
	events, err := in.store.Reports.Of(ctx, tsunami.ID)
	if err != nil {
		return nil, err
	}
	why := map[int64]string{}
	for _, e := range events {
		for _, p := range e.Parts {
			for _, ref := range p.Refs {
				scheme, name, _ := strings.Cut(ref, ":")
				of := in.known.Schemes[scheme].CausedBy
				if of == "" {
					continue
				}
				if err := in.quakeNamed(ctx, of, name, why); err != nil {
					return nil, err
				}
			}
		}
	}
	return in.relatedAs(ctx, CausedBy, why)
}

// quakeNamed notes the hazard of the earthquake that a message of a tsunami names, by an id of the scheme of or as
// "TIME@latitude,longitude", and why it is that one.
func (in *Intake) quakeNamed(ctx context.Context, of, name string, why map[int64]string) error {
	origin, found := readOrigin(name)
	if !found {
		named, err := in.store.Hazards.Called(ctx, of+":"+name)
		for _, h := range named {
			why[h.ID] = "named " + name
		}
		return err
	}
	rule := rules[hazard.Earthquake]
	near, err := in.store.Reports.EventsStarting(ctx, hazard.Earthquake, origin.Start.Add(-rule.window), origin.Start.Add(rule.window))
	if err != nil {
		return err
	}
	best, closest := -1, 1.0
	for i := range near {
		if far := rule.far(origin, &near[i]); far <= closest {
			best, closest = i, far
		}
	}
	if best < 0 {
		return nil
	}
	if e := &near[best]; why[e.HazardID] == "" {
		why[e.HazardID] = fmt.Sprintf("an origin that is named %.1f s and %.0f km from it", seconds(origin, e), kilometres(origin, e))
	}
	return nil
}

// readOrigin reads "2022-06-04T23:59:13Z@51.885,-131.076", latitude first.
func readOrigin(name string) (*store.Event, bool) {
	at, place, ok := strings.Cut(name, "@")
	lat, lon, ok2 := strings.Cut(place, ",")
	if !ok || !ok2 {
		return nil, false
	}
	t, err1 := time.Parse(time.RFC3339, at)
	y, err2 := strconv.ParseFloat(lat, 64)
	x, err3 := strconv.ParseFloat(lon, 64)
	if err1 != nil || err2 != nil || err3 != nil || !(math.Abs(y) <= 90 && math.Abs(x) <= 180) {
		return nil, false
	}
	return &store.Event{Type: hazard.Earthquake, Start: hazard.At(t), Point: &hazard.Point{Lon: x, Lat: y}}, true
}

// How long before and after an earthquake messages about its tsunami may begin: the first comes within minutes, and a clock may be wrong.
const (
	tsunamiBefore = time.Hour
	tsunamiAfter  = 72 * time.Hour
)

func (in *Intake) tsunamisOf(ctx context.Context, quake *hazard.Hazard) ([]Related, error) {
	events, err := in.store.Reports.EventsStarting(ctx, hazard.Tsunami, quake.Start.Add(-tsunamiBefore), quake.Start.Add(tsunamiAfter))
	if err != nil {
		return nil, err
	}
	why := map[int64]string{}
	for _, e := range events {
		if _, done := why[e.HazardID]; done {
			continue
		}
		quakes, err := in.quakesOf(ctx, &hazard.Hazard{ID: e.HazardID})
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(quakes, func(q Related) bool { return q.Hazard.ID == quake.ID }); i >= 0 {
			why[e.HazardID] = quakes[i].Why
		}
	}
	return in.relatedAs(ctx, Causes, why)
}

func (in *Intake) relatedAs(ctx context.Context, relation Relation, why map[int64]string) ([]Related, error) {
	var list []Related
	for id, reason := range why {
		h, err := in.store.Hazards.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		list = append(list, Related{relation, h, reason})
	}
	slices.SortFunc(list, func(a, b Related) int { return int(a.Hazard.ID - b.Hazard.ID) })
	return list, nil
}
