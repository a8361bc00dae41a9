package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// products writes random changes of products: new, restricted, deleted and moved ones.
func products(t *rapid.T, s *store.Store, hazards []*hazard.Hazard, ctx testing.TB) {
	var all []*hazard.Product
	_, err := s.Write(ctx.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
		for range rapid.IntRange(1, 40).Draw(t, "writes") {
			h := rapid.SampledFrom(hazards).Draw(t, "hazard")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				after := *h
				after.LastUpdate++
				if err := tx.SaveHazard(&after, h); err != nil {
					return err
				}
				*h = after
				continue
			case 1:
				all = append(all, &hazard.Product{UUID: uuid.New(), Title: "p", Type: hazard.TextProduct})
			}
			if len(all) == 0 {
				continue
			}
			p := rapid.SampledFrom(all).Draw(t, "product")
			p.HazardID = h.ID
			p.OrgIDs = rapid.SampledFrom([][]int64{nil, {7}, {3, 7}, {17}}).Draw(t, "orgs")
			p.Deleted = p.ID != 0 && rapid.Bool().Draw(t, "deleted")
			if err := tx.SaveProduct(p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// judged returns the changes with the present audience of their products.
func judged(t *rapid.T, s *store.Store, changes []hazard.Change) []hazard.Change {
	if err := s.Log.JudgeByPresent(t.Context(), hazard.ProductsOf(changes)); err != nil {
		t.Fatal(err)
	}
	return changes
}

func TestPagesOfTheLogAreWhatTheLogSays(t *testing.T) {
	s := open(t, t.TempDir())
	rapid.Check(t, func(rt *rapid.T) {
		if err := s.Wipe(t.Context()); err != nil {
			rt.Fatal(err)
		}
		hazards := []*hazard.Hazard{flood("one"), flood("two")}
		for _, h := range hazards {
			save(t, s, h)
		}
		products(rt, s, hazards, t)
		if rapid.Bool().Draw(rt, "written by the release before") {
			if err := s.Exec(t.Context(), `UPDATE changes SET audience = NULL WHERE n % 3 = 0`); err != nil {
				rt.Fatal(err)
			}
		}
		orgs := rapid.SampledFrom([][]int64{nil, {7}, {1}, {3, 17}}).Draw(rt, "reader")
		p := store.LogPage{Limit: rapid.IntRange(1, 50).Draw(rt, "limit"), Bytes: 1 << 20, Orgs: orgs}
		if rapid.Bool().Draw(rt, "one hazard") {
			p.Hazard = hazards[0].ID
		}
		var want []hazard.Change
		for _, c := range judged(rt, s, since(t, s, 0)) {
			if c.SeenBy(orgs) != nil && (p.Hazard == 0 || p.Hazard == c.HazardID) {
				want = append(want, c)
			}
		}
		for next := int64(1); next > 0; p.After = next {
			piece, err := s.Log.Page(t.Context(), p)
			if err != nil {
				rt.Fatal(err)
			}
			var page []hazard.Change
			page, next = piece.Changes, piece.Next
			if all := since(t, s, 0); piece.Last != int64(len(all)) {
				rt.Fatalf("the last change is %d, want %d", piece.Last, len(all))
			}
			if len(page) > p.Limit || len(page) > len(want) {
				rt.Fatalf("%d changes in a page of %d, %d left", len(page), p.Limit, len(want))
			}
			totals, err := s.Log.Totals(t.Context(), page)
			if err != nil {
				rt.Fatal(err)
			}
			for i := range page {
				if page[i].Number != want[i].Number {
					rt.Fatalf("change %d, want %d", page[i].Number, want[i].Number)
				}
				if c := &page[i]; c.Hazard != nil {
					total, err := s.Log.ProductTotalAt(t.Context(), c.HazardID, c.Number, orgs)
					if got := totals.Of(c, orgs); err != nil || got != total {
						rt.Fatalf("change %d: %d products, want %d, %v", c.Number, got, total, err)
					}
				}
			}
			want = want[len(page):]
		}
		if len(want) > 0 {
			rt.Fatalf("%d changes are missing", len(want))
		}
	})
}

func TestStatesBeforeAreTheLastThatTheReaderMightKnowOf(t *testing.T) {
	s := open(t, t.TempDir())
	rapid.Check(t, func(rt *rapid.T) {
		if err := s.Wipe(t.Context()); err != nil {
			rt.Fatal(err)
		}
		hazards := []*hazard.Hazard{flood("one"), flood("two")}
		for _, h := range hazards {
			save(t, s, h)
		}
		products(rt, s, hazards, t)
		orgs := rapid.SampledFrom([][]int64{nil, {7}}).Draw(rt, "reader")
		all := judged(rt, s, since(t, s, 0))
		after := rapid.Int64Range(0, int64(len(all))).Draw(rt, "after")
		piece, err := s.Log.Page(t.Context(), store.LogPage{Hazard: hazards[0].ID, After: after, Limit: 10, Bytes: 1 << 20, Orgs: orgs})
		if err != nil {
			rt.Fatal(err)
		}
		page := piece.Changes
		want := map[int64]int64{}
		for _, c := range all {
			if c.HazardID != hazards[0].ID || c.Product != nil && !c.Product.VisibleTo(orgs) || len(page) == 0 || c.Number >= page[0].Number {
				continue
			}
			if c.Hazard != nil {
				want[0] = c.Number
			}
			for _, in := range page {
				if c.Product != nil && in.Product != nil && in.Product.ID == c.Product.ID {
					want[c.Product.ID] = c.Number
				}
			}
		}
		states, known, err := s.Log.StatesBefore(t.Context(), page, orgs, 1<<20)
		if err != nil || known != len(page) {
			rt.Fatalf("%d of %d, %v", known, len(page), err)
		}
		got := map[int64]int64{}
		for id, c := range states {
			got[id] = c.Number
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("states before %v, want %v", got, want)
		}
	})
}

// R8, L7: the cost of a page does not grow with its size or its number.
func TestPageOfTheLogTakesAsManyQueriesWhateverItsSize(t *testing.T) {
	s := open(t, t.TempDir())
	h := flood("changed often")
	save(t, s, h)
	_, err := s.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
		for i := range 1500 {
			after := *h
			after.LastUpdate++
			if err := tx.SaveHazard(&after, h); err != nil {
				return err
			}
			*h = after
			if i%10 == 0 {
				if err := tx.SaveProduct(&hazard.Product{UUID: uuid.New(), HazardID: h.ID, Title: "p", Type: hazard.TextProduct, OrgIDs: []int64{7}[:i%20/10]}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	n := s.CountReads()
	read := func(p store.LogPage) int64 {
		before := n.Load()
		piece, err := s.Log.Page(t.Context(), p)
		page := piece.Changes
		if err != nil || len(page) != p.Limit {
			t.Fatalf("%d of %d changes, %v", len(page), p.Limit, err)
		}
		if _, err := s.Log.Totals(t.Context(), page); err != nil {
			t.Fatal(err)
		}
		if p.Hazard != 0 {
			if _, _, err := s.Log.StatesBefore(t.Context(), page, p.Orgs, p.Bytes); err != nil {
				t.Fatal(err)
			}
		}
		return n.Load() - before
	}
	for _, id := range []int64{0, h.ID} {
		small := read(store.LogPage{Limit: 10, Bytes: 1 << 30, Hazard: id})
		if large := read(store.LogPage{Limit: 1000, Bytes: 1 << 30, Hazard: id}); large != small || small > 7 {
			t.Errorf("hazard %d: a page of 10 changes takes %d queries, one of 1,000 %d; want as many, at most 7", id, small, large)
		}
		if late := read(store.LogPage{After: 1400, Limit: 10, Bytes: 1 << 30, Hazard: id}); late > small {
			t.Errorf("hazard %d: the first page takes %d queries, one far behind %d", id, small, late)
		}
	}
}

func TestPageOfTheLogIsCutByBytes(t *testing.T) {
	s := open(t, t.TempDir())
	h := flood("with texts")
	save(t, s, h)
	var all []*hazard.Product
	for round := range 2 {
		_, err := s.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
			for i := range 20 {
				if round == 0 {
					all = append(all, &hazard.Product{UUID: uuid.New(), HazardID: h.ID, Title: "p", Type: hazard.TextProduct, Data: strings.Repeat("x", 100_000)})
				}
				if round == 1 {
					all[i].Data = "short"
				}
				if err := tx.SaveProduct(all[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	read := func(after, bytes int64, want int, next int64) []hazard.Change {
		t.Helper()
		piece, err := s.Log.Page(t.Context(), store.LogPage{After: after, Limit: 40, Bytes: bytes})
		if err != nil || len(piece.Changes) != want || piece.Next != next {
			t.Errorf("after %d: %d changes, the next behind %d, %v; want %d and %d", after, len(piece.Changes), piece.Next, err, want, next)
		}
		return piece.Changes
	}
	read(0, 250_000, 4, 4) // the hazard and three texts: the third begins below the limit
	read(3, 1, 1, 4)       // less than a single change
	page := read(21, 250_000, 20, 0)
	states, known, err := s.Log.StatesBefore(t.Context(), page, nil, 250_000)
	if err != nil || known < 1 || known > 3 || len(states) < known {
		t.Errorf("the long texts before: %d of %d changes, %d states, %v", known, len(page), len(states), err)
	}
}
