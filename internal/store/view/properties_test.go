package view

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/datadir"
	"github.com/hazardd/hazardd/wire"
)

// orgs are numbers whose bytes and digits are easily confused.
var orgs = []int64{1, 2, 12, 256, 1 << 32, 1<<32 + 1}

// audiences are the organizations of readers of the view: none, one, several, and one that
// restricts nothing.
var audiences = [][]int64{nil, {}, {1}, {2}, {12}, {1, 2}, {2, 12}, {256}, {1, 256}, {1 << 32}, {1<<32 + 1}, {1, 1 << 32}, {99}, {1, 99}, {1, 2, 12, 256, 1 << 32, 1<<32 + 1}}

var filters = []Filter{{}, {Category: hazard.Event}, {Category: hazard.Response}, {Severity: hazard.Warning}, {Severity: hazard.Watch}, {Category: hazard.Event, Severity: hazard.Warning}}

// scene is a changing store, a view that follows it, and the clock of both.
type scene struct {
	store    *store.Store
	live     *Live
	now      hazard.Instant
	hazards  []int64
	products []int64
}

// openStore opens a store for many runs. It need not survive a power cut.
func openStore(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), datadir.Empty(t), "sqlite:?synchronous=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *scene) write(t *rapid.T, f func(tx *store.Tx) error) {
	if _, err := s.store.Write(t.Context(), s.now, store.Origin{Admin: true}, f); err != nil {
		t.Fatal(err)
	}
}

func (s *scene) create(t *rapid.T) {
	h := &hazard.Hazard{UUID: uuid.New(), Name: "Flood", Type: hazard.Flood, Status: hazard.Active, OrgID: -1, Created: s.now}
	s.draw(t, h)
	s.write(t, func(tx *store.Tx) error { return tx.SaveHazard(h, nil) })
	s.hazards = append(s.hazards, h.ID)
}

// draw changes the fields of a hazard that change in its life.
func (s *scene) draw(t *rapid.T, h *hazard.Hazard) {
	h.Severity = rapid.SampledFrom([]hazard.Severity{hazard.Watch, hazard.Warning}).Draw(t, "severity")
	if category := rapid.SampledFrom([]hazard.Category{hazard.Event, hazard.Response}).Draw(t, "category"); h.Category != hazard.Response {
		h.Category = category
	}
	h.AutoExpire = rapid.Bool().Draw(t, "autoexpire")
	h.Start, h.LastUpdate, h.Updated = s.now, s.now, s.now
	h.End = s.now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "end")) * time.Second)
}

// alter rewrites a hazard in any state: an update, an end, or a new start.
func (s *scene) alter(t *rapid.T, status hazard.Status) {
	if len(s.hazards) == 0 {
		t.Skip("no hazard")
	}
	id := rapid.SampledFrom(s.hazards).Draw(t, "hazard")
	s.write(t, func(tx *store.Tx) error {
		before, err := tx.Hazard(id)
		if err != nil {
			return err
		}
		h := new(*before)
		s.draw(t, h)
		h.Status = status
		return tx.SaveHazard(h, before)
	})
}

// recordEnds does what the service does at the ends of hazards.
func (s *scene) recordEnds(t *rapid.T) {
	s.write(t, func(tx *store.Tx) error {
		due, err := tx.Due(100)
		if err != nil {
			return err
		}
		for _, h := range due {
			if err := tx.SaveHazard(h.ExpireAt(s.now), h); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *scene) addProduct(t *rapid.T) {
	if len(s.hazards) == 0 {
		t.Skip("no hazard")
	}
	p := note(0, rapid.SampledFrom(s.hazards).Draw(t, "hazard"), drawOrgs(t)...)
	p.UUID = uuid.New()
	s.write(t, func(tx *store.Tx) error { return tx.SaveProduct(p) })
	s.products = append(s.products, p.ID)
}

func drawOrgs(t *rapid.T) []int64 {
	return slices.Sorted(slices.Values(rapid.SliceOfNDistinct(rapid.SampledFrom(orgs), 0, 3, rapid.ID).Draw(t, "organizations")))
}

// alterProduct restricts, opens, renames, moves, deletes or restores a product.
func (s *scene) alterProduct(t *rapid.T) {
	if len(s.products) == 0 {
		t.Skip("no product")
	}
	id := rapid.SampledFrom(s.products).Draw(t, "product")
	s.write(t, func(tx *store.Tx) error {
		before, err := tx.Product(id)
		if err != nil {
			return err
		}
		p := new(*before)
		p.HazardID = rapid.SampledFrom(s.hazards).Draw(t, "its hazard")
		p.OrgIDs, p.Title, p.Deleted = drawOrgs(t), fmt.Sprintf("Note of %d", s.now), rapid.IntRange(0, 3).Draw(t, "deleted") == 0
		return tx.SaveProduct(p)
	})
}

// check compares the view that followed with a new one, and both with the store by the rules alone.
func (s *scene) check(t *rapid.T) {
	catchUp(t, s.store.Log, s.live)
	anew, err := Open(t.Context(), s.store.Log, discard, func() hazard.Instant { return s.now })
	if err != nil {
		t.Fatal(err)
	}
	got, fresh := s.live.View(s.now), anew.View(s.now)
	if got.number != fresh.number || got.nextEnd != fresh.nextEnd || got.Len() != fresh.Len() || got.Digits()[0] != fresh.Digits()[0] {
		t.Fatalf("change %d, next end %d, %d hazards; read again: change %d, next end %d, %d hazards", got.number, got.nextEnd, got.Len(), fresh.number, fresh.nextEnd, fresh.Len())
	}
	snap, err := s.store.Log.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	order := rapid.Permutation(audiences).Draw(t, "order of readers")
	for _, members := range order {
		for _, f := range filters {
			want, restricted := listed(snap, s.now, f, members)
			for name, v := range map[string]*View{"the view": got, "the view read anew": fresh} {
				if got := activeText(v, f, members); got != want {
					t.Fatalf("%s, %+v for members of %v:\n%s", name, f, members, cmp.Diff(want, got))
				}
				if restricted && v.Audience(members) == "" {
					t.Fatalf("%s, %+v for members of %v counts restricted products and may be cached for others", name, f, members)
				}
			}
		}
		for _, id := range s.hazards {
			s.checkHazard(t, snap, got, id, members)
		}
		for _, id := range s.products {
			p, ok := got.Product(id, members)
			q, freshOK := fresh.Product(id, members)
			if ok != freshOK {
				t.Fatalf("product %d for members of %v is found: %v, read again %v", id, members, ok, freshOK)
			}
			if ok && (!p.VisibleTo(members) || !p.Equal(q) || p.Version != q.Version) {
				t.Fatalf("product %d for members of %v: %+v, read again %+v", id, members, p, q)
			}
		}
	}
}

func (s *scene) checkHazard(t *rapid.T, snap *store.Snapshot, v *View, id int64, members []int64) {
	list, active := []*hazard.Product{}, false
	for _, h := range snap.Hazards {
		active = active || h.ID == id && h.ActiveAt(s.now)
	}
	for _, p := range snap.Products {
		if p.HazardID == id && p.VisibleTo(members) {
			list = append(list, p)
		}
	}
	got, ok := v.Products(id, members)
	if ok != active {
		t.Fatalf("hazard %d is active: %v, its products are listed: %v", id, active, ok)
	}
	if !ok {
		if n := v.ProductTotal(id, members); n != 0 {
			t.Fatalf("hazard %d has ended and has %d products in the view", id, n)
		}
		return
	}
	if !slices.EqualFunc(got, list, (*hazard.Product).Equal) || v.ProductTotal(id, members) != len(list) {
		t.Fatalf("products of %d for members of %v (%d of them):\n%s", id, members, v.ProductTotal(id, members), cmp.Diff(text(t, list), text(t, got)))
	}
}

// listed returns the list of active hazards by the rules alone, and whether it counts a restricted
// product.
func listed(snap *store.Snapshot, now hazard.Instant, f Filter, members []int64) (list string, restricted bool) {
	hazards := slices.SortedFunc(slices.Values(snap.Hazards), hazard.Compare)
	out := []wire.Hazard{}
	for _, h := range hazards {
		if !h.ActiveAt(now) || f.Category != "" && h.Category != f.Category || f.Severity != 0 && h.Severity != f.Severity {
			continue
		}
		total := 0
		for _, p := range snap.Products {
			if p.HazardID == h.ID && p.VisibleTo(members) {
				total, restricted = total+1, restricted || p.Restricted()
			}
		}
		out = append(out, wire.FromHazard(h, total, base))
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return string(b), restricted
}

// activeText returns the content of a view, in the form of listed.
func activeText(v *View, f Filter, members []int64) string {
	out := []wire.Hazard{}
	for h, products := range v.Hazards(f, members) {
		out = append(out, wire.FromHazard(h, products, base))
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func text(t *rapid.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFollowingComesToTheSameAsReadingAnew(t *testing.T) {
	kept := openStore(t)
	clock := hazard.At(time.Now()).Add(time.Hour) // ahead of catchUp's clock, so that the scene's own clock decides
	rapid.Check(t, func(t *rapid.T) {
		live, err := Open(t.Context(), kept.Log, discard, func() hazard.Instant { return clock })
		if err != nil {
			t.Fatal(err)
		}
		s := &scene{store: kept, live: live, now: clock}
		defer func() { // the next scene starts with an empty store
			clock = s.now
			s.write(t, func(tx *store.Tx) error {
				for _, id := range s.hazards {
					before, err := tx.Hazard(id)
					if err != nil {
						return err
					}
					over := new(*before)
					over.Status = hazard.Expired
					if err := tx.SaveHazard(over, before); err != nil {
						return err
					}
				}
				return nil
			})
		}()
		t.Repeat(map[string]func(*rapid.T){
			"a hazard begins":                   s.create,
			"a hazard changes or begins anew":   func(t *rapid.T) { s.alter(t, hazard.Active) },
			"a hazard ends":                     func(t *rapid.T) { s.alter(t, hazard.Expired) },
			"a product is added":                s.addProduct,
			"a product changes":                 s.alterProduct,
			"time passes":                       func(t *rapid.T) { s.now += hazard.Instant(rapid.IntRange(1, 3000).Draw(t, "milliseconds")) },
			"somebody reads":                    func(*rapid.T) { s.live.View(s.now) },
			"the ends that have come are noted": s.recordEnds,
			"the view follows":                  s.check,
		})
		s.check(t)
	})
}
