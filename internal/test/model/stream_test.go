package model_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/serve/sse"
	"github.com/hazardd/hazardd/internal/test/model"
	"github.com/hazardd/hazardd/wire"
)

// filtered is a reader of the event stream with a filter, and the names of the hazards that it has
// received and that have not left the filter since.
type filtered struct {
	what   string
	wants  func(*model.State) bool
	cursor *sse.Cursor
	told   map[uuid.UUID]string
}

// filteredReaders returns readers with filters by level, type, status and place.
func (sv *service) filteredReaders() (list []*filtered) {
	hub := sse.New(sv.tail, sv.store.Log, "http://localhost", sse.Limits{PerUser: 1, All: 1})
	reader := func(what string, f query.Filter, wants func(*model.State) bool) {
		list = append(list, &filtered{what, wants, hub.Read(0, sv.store.Search.Select(f), nil), map[uuid.UUID]string{}})
	}
	reader("active warnings", query.Filter{Severities: []hazard.Severity{hazard.Warning}, Statuses: []hazard.Status{hazard.Active}},
		func(s *model.State) bool { return s.Severity == hazard.Warning && s.Status == hazard.Active })
	reader("floods and earthquakes", query.Filter{Types: []hazard.Type{hazard.Earthquake, hazard.Flood}},
		func(s *model.State) bool { return s.Type == hazard.Earthquake || s.Type == hazard.Flood })
	reader("what meets places 2 and 3", query.Filter{Box: &geo.Box{West: 2.1, East: 3.9, South: -80, North: 80}}, func(s *model.State) bool {
		if len(s.Area) == 0 {
			return s.Longitude >= 2.1 && s.Longitude <= 3.9 && s.Latitude <= 80 && s.Latitude >= -80
		}
		return slices.ContainsFunc(s.Area, func(place string) bool { return strings.ContainsAny(place, "23") })
	})
	return list
}

// compareFiltered compares what readers with filters received with the model.
func (sv *service) compareFiltered(w *model.World) error {
	for _, f := range sv.filtered {
		for {
			events, wake, err := f.cursor.Next(context.Background(), nil)
			if err != nil {
				return err
			}
			for _, text := range events {
				_, data, _ := bytes.Cut(text, []byte("\ndata: "))
				var c wire.Change
				if err := json.Unmarshal(bytes.TrimSpace(data), &c); err != nil {
					return fmt.Errorf("%q: %w", text, err)
				}
				switch {
				case c.Hazard == nil:
				case c.Left:
					delete(f.told, uuid.MustParse(c.Hazard.UUID))
				default:
					f.told[uuid.MustParse(c.Hazard.UUID)] = c.Hazard.HazardName
				}
			}
			if wake != nil {
				break
			}
		}
		want := map[uuid.UUID]string{}
		for _, h := range w.Hazards {
			if s := h.Now(); f.wants(s) {
				want[h.UUID] = s.Name
			}
		}
		if !maps.Equal(f.told, want) {
			return fmt.Errorf("the stream of %s sent %v, the model has %v", f.what, f.told, want)
		}
	}
	return nil
}

// comparePastProducts compares the products of a past moment with the model.
func (sv *service) comparePastProducts(w *model.World, at instant) error {
	for i, orgs := range readers {
		var all []*hazard.Product
		for _, id := range slices.Sorted(maps.Keys(sv.uuids)) {
			products, err := sv.store.Log.ProductsAt(context.Background(), id, orgs, at)
			if err != nil {
				return err
			}
			all = append(all, products...)
		}
		folders := map[int64]uuid.UUID{}
		for _, p := range all {
			folders[p.ID] = p.UUID
		}
		var list []string
		for _, p := range all {
			list = append(list, fmt.Sprintf("%s %q of %s in %s", p.UUID, p.Title, sv.uuids[p.HazardID], folders[p.ParentID]))
		}
		var want []string
		for _, p := range w.Kept(sv.past[at], readers[i]) {
			want = append(want, fmt.Sprint(p.UUID, " ", p))
		}
		slices.Sort(list)
		if slices.Sort(want); !slices.Equal(list, want) {
			return fmt.Errorf("at %s, queried later, members of %v see products %q, the model has %q", stamp(at), orgs, list, want)
		}
	}
	return nil
}
