package store_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

// stage is a store with randomly changing hazards, and the results that follow from the rules
// alone.
type stage struct {
	*store.Store
	now    hazard.Instant
	ids    []int64
	goods  []int64
	shapes map[string]geo.Shape // by digest
}

// openStage opens a store for many successive stages. It need not survive a power cut.
func openStage(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), t.TempDir(), postgres.Database(t, t.TempDir(), "sqlite:?synchronous=off"))
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

func newStage(t *rapid.T, s *store.Store) *stage {
	if err := s.Wipe(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &stage{Store: s, now: noon, shapes: map[string]geo.Shape{}}
}

// areas are positions of hazards: in several places, on both sides of the antimeridian, along a
// line, around a hole.
var areas = []string{
	"POLYGON((0 0,2 0,2 2,0 2,0 0))", "POLYGON((1 1,5 1,5 5,1 5,1 1),(2 2,2 4,4 4,4 2,2 2))", "POLYGON((178 -2,-179 -2,-179 3,178 3,178 -2))",
	"LINESTRING(-3 -3,9 9)", "POINT(-180 0)", "POLYGON((170 -5,180 -5,180 5,170 5,170 -5))", "POLYGON((-170 -5,-170 5,-180 0,-170 -5))", "MULTIPOINT(3 3,179 1)", "POLYGON((2.9 2.9,3.1 2.9,3.1 3.1,2.9 3.1,2.9 2.9))", "LINESTRING(-60 1,60 2)", "POLYGON((-10 60,10 60,10 70,-10 60))",
}

var boxes = []string{"0,0,1,1", "2,2,3,3", "177,-5,-178,5", "-180,-90,180,90", "-179.5,0,179.5,1", "3,3,3,3", "-180,-1,-180,1", "170,-5,180,5", "-180,-1,-170,1", "100,10,120,20", "-9,65,9,70"}

var words = []string{"Łódź", "flood", "Old-Harbour", "M 4.8 earthquake", "地震の被害", "Überflutung", "harbour master", "ФЛУД", "a·b c"}

var terms = []string{"lodz", "flood", "harb*", `"old harbour"`, "4.8", "震の", "uber*", "фл*", "nothing", "b*", `"harbour master"`}

// measurements are measurements of hazards: several values of one quantity, equal ones, none.
var measurements = [][]hazard.Measurement{nil, nil, {{Name: hazard.Magnitude, Value: 6, Scale: "mww", Source: "usgs"}}, {{Name: hazard.Depth, Value: 10}, {Name: hazard.Magnitude, Value: 6}},
	{{Name: hazard.Depth, Value: -1.5}, {Name: hazard.Magnitude, Value: 4.5}, {Name: hazard.PagerLevel, Value: 3}}, {{Name: hazard.PagerLevel, Value: 1}}}

func (s *stage) write(t *rapid.T, f func(tx *store.Tx) error) {
	at := s.now
	if rapid.IntRange(0, 9).Draw(t, "as of the past") == 0 {
		at -= hazard.Instant(rapid.IntRange(0, 4000).Draw(t, "by"))
	}
	if _, err := s.Write(t.Context(), at, store.Origin{Admin: true}, f); err != nil {
		t.Fatal(err)
	}
}

// draw sets random values for the changeable fields of a hazard.
func (s *stage) draw(t *rapid.T, tx *store.Tx, h *hazard.Hazard) error {
	h.Type = rapid.SampledFrom([]hazard.Type{hazard.Flood, hazard.Storm, hazard.Earthquake}).Draw(t, "type")
	h.Severity = rapid.SampledFrom([]hazard.Severity{hazard.Termination, hazard.Watch, hazard.Warning}).Draw(t, "severity")
	if category := rapid.SampledFrom([]hazard.Category{hazard.Event, hazard.Response}).Draw(t, "category"); h.Category != hazard.Response {
		h.Category = category
	}
	h.Source = rapid.SampledFrom([]string{"", "usgs", "nws"}).Draw(t, "source")
	h.Sources = rapid.SampledFrom([][]string{nil, nil, {"emsc", "usgs"}, {"usgs"}}).Draw(t, "sources")
	h.Name = rapid.SampledFrom(words).Draw(t, "name")
	h.Description = strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 2).Draw(t, "description"), "\n")
	h.Measurements = rapid.SampledFrom(measurements).Draw(t, "measurements")
	h.AutoExpire = rapid.Bool().Draw(t, "autoexpire")
	h.Start = s.now - hazard.Instant(rapid.IntRange(-1000, 4000).Draw(t, "age"))
	h.End = max(h.Start, s.now+hazard.Instant(rapid.IntRange(-2000, 4000).Draw(t, "end")))
	h.LastUpdate, h.Updated = s.now, s.now
	h.Longitude = rapid.SampledFrom([]float64{0, 1, 1.00000049, 3, 180, -180, -179.5, 110}).Draw(t, "longitude")
	h.Latitude = rapid.SampledFrom([]float64{0, 1, 3, 15, 66}).Draw(t, "latitude")
	h.Areas = nil
	var kept []hazard.Area
	for _, text := range rapid.SliceOfNDistinct(rapid.SampledFrom(areas), 0, 2, rapid.ID).Draw(t, "areas") {
		shape, err := geo.ParseWKT(text)
		if err != nil {
			return err
		}
		kept = append(kept, hazard.Area{Role: hazard.AlertArea, Geometry: shape.GeoJSON()})
	}
	var err error
	h.Areas, err = tx.KeepAreas(kept)
	for _, ref := range h.Areas {
		for _, a := range kept {
			if digest(a.Geometry) == ref.Digest {
				s.shapes[ref.Digest], err = geo.ParseLoose([]byte(a.Geometry))
			}
		}
	}
	return err
}

func (s *stage) create(t *rapid.T) {
	h := &hazard.Hazard{UUID: uuid.New(), Status: hazard.Active, OrgID: -1, Created: s.now}
	s.write(t, func(tx *store.Tx) error { return errors.Join(s.draw(t, tx, h), tx.SaveHazard(h, nil)) })
	s.ids = append(s.ids, h.ID)
}

// alter changes a hazard completely or partly, ends it, or starts it again.
func (s *stage) alter(t *rapid.T) {
	if len(s.ids) == 0 {
		return
	}
	id := rapid.SampledFrom(s.ids).Draw(t, "hazard")
	s.write(t, func(tx *store.Tx) error {
		before, err := tx.Hazard(id)
		if err != nil {
			return err
		}
		h := *before
		switch rapid.IntRange(0, 3).Draw(t, "how") {
		case 0:
			err = s.draw(t, tx, &h)
		case 1:
			h.LastUpdate, h.Updated = s.now, s.now
		case 2:
			h.Status, h.Reason, h.End, h.LastUpdate = hazard.Expired, hazard.EndAllClear, max(h.Start, s.now), s.now
		case 3:
			h.Status, h.Reason = hazard.Active, ""
		}
		return errors.Join(err, tx.SaveHazard(&h, before))
	})
}

func (s *stage) recordEnds(t *rapid.T) {
	if _, err := s.Write(t.Context(), s.now, store.Origin{Admin: true}, func(tx *store.Tx) error {
		due, err := tx.Due(100)
		for _, h := range due {
			err = errors.Join(err, tx.SaveHazard(h.ExpireAt(s.now), h))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// product creates, restricts, opens, moves, or deletes a product.
func (s *stage) product(t *rapid.T) {
	if len(s.ids) == 0 {
		return
	}
	s.write(t, func(tx *store.Tx) error {
		p := &hazard.Product{UUID: uuid.New(), Title: "Note", Type: hazard.TextProduct, Data: "x", OrgID: rapid.SampledFrom([]int64{-1, 7, 8}).Draw(t, "owner")}
		if len(s.goods) > 0 && rapid.Bool().Draw(t, "an old one") {
			before, err := tx.Product(rapid.SampledFrom(s.goods).Draw(t, "product"))
			if err != nil {
				return err
			}
			p = before
			p.Deleted = rapid.IntRange(0, 3).Draw(t, "deleted") == 0
		}
		p.HazardID = rapid.SampledFrom(s.ids).Draw(t, "its hazard")
		p.OrgIDs = rapid.SampledFrom([][]int64{nil, nil, {7}, {7, 8}}).Draw(t, "organizations")
		if err := tx.SaveProduct(p); err != nil {
			return err
		}
		if !slices.Contains(s.goods, p.ID) {
			s.goods = append(s.goods, p.ID)
		}
		for _, orgs := range [][]int64{nil, {7}, {8, 9}} { // counted without their texts
			all, errAll := tx.Products(p.HazardID)
			n, err := tx.CountProducts(p.HazardID, orgs)
			if want := len(slices.DeleteFunc(all, func(q *hazard.Product) bool { return !q.VisibleTo(orgs) })); n != want {
				t.Fatalf("%d products counted for %v, want %d", n, orgs, want)
			}
			if err := errors.Join(errAll, err); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *stage) pass(t *rapid.T) {
	s.now += hazard.Instant(rapid.IntRange(1, 1500).Draw(t, "milliseconds"))
}

// happen makes several random changes.
func (s *stage) happen(t *rapid.T, times int) {
	for range rapid.IntRange(0, times).Draw(t, "times") {
		rapid.SampledFrom([]func(*rapid.T){s.create, s.create, s.alter, s.alter, s.alter, s.recordEnds, s.product, s.pass}).Draw(t, "what")(t)
	}
}

// drawWhere generates a CQL2 filter, with conditions that columns can answer and others.
func drawWhere(t *rapid.T, depth int) string {
	at := func() string {
		return "TIMESTAMP('" + (noon + hazard.Instant(rapid.IntRange(-5000, 10000).Draw(t, "moment"))).String() + "')"
	}
	by := func() string { return rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">="}).Draw(t, "by") }
	not := func(s string) string { return rapid.SampledFrom([]string{"", s}).Draw(t, "not") }
	switch rapid.IntRange(0, 15).Draw(t, "condition") {
	case 0, 1, 2:
		if depth > 0 {
			return not("NOT ") + "(" + drawWhere(t, depth-1) + rapid.SampledFrom([]string{" AND ", " OR "}).Draw(t, "and") + drawWhere(t, depth-1) + ")"
		}
		return "TRUE"
	case 3:
		return "type_ID " + not("NOT ") + "IN ('FLOOD', 'STORM', 'none')"
	case 4:
		return "severity_ID " + rapid.SampledFrom([]string{"= 'WATCH'", "<> 'WARNING'", "> 'T'", "IN ('no', 'WARNING')"}).Draw(t, "severity")
	case 5:
		return "severity_rank " + by() + " " + rapid.SampledFrom([]string{"3", "2.5", "-1e300", "5", "1e300"}).Draw(t, "rank")
	case 6:
		return rapid.SampledFrom([]string{"start_time", "end_time", "last_update_time", "create_time", "update_time"}).Draw(t, "field") + " " + by() + " " + at()
	case 7:
		return rapid.SampledFrom([]string{"start_time", "end_time"}).Draw(t, "field") + " " + by() + rapid.SampledFrom([]string{" last_update_time", " end_time", " update_time"}).Draw(t, "other")
	case 8:
		return not("NOT ") + "T_INTERSECTS(INTERVAL(start_time, end_time), INTERVAL('..', " + at() + "))"
	case 9:
		return "hazard_Name " + not("NOT ") + "LIKE '" + rapid.SampledFrom([]string{"%flo%", "flood", "%_d", "Old%", "%"}).Draw(t, "pattern") + "'"
	case 10:
		return "CASEI(description) = CASEI('FLOOD')"
	case 11:
		return not("NOT ") + "S_INTERSECTS(geometry, BBOX(" + rapid.SampledFrom(boxes).Draw(t, "box") + "))"
	case 12:
		return not("NOT ") + "S_INTERSECTS(geometry, " + rapid.SampledFrom(areas).Draw(t, "area") + ")"
	case 13:
		return not("NOT ") + "(people > 3)" + not(" AND people IS NULL") + " OR measurements." + rapid.SampledFrom([]string{"magnitude", "depth_km"}).Draw(t, "quantity") +
			rapid.SampledFrom([]string{" IS NULL", " IS NOT NULL", " >= 5", " <> 6", " BETWEEN 4.5 AND 6"}).Draw(t, "measured")
	case 14:
		return "status = '" + rapid.SampledFrom([]string{"A", "E", "X"}).Draw(t, "status") + "' AND autoexpire <> 'Y'"
	}
	return "source " + not("NOT ") + "IN ('usgs', '') AND hazard_ID " + by() + " 2 OR longitude BETWEEN 0 AND 3.5"
}

func drawQuery(t *rapid.T) query.Query {
	v := url.Values{}
	maybe := func(name string, from ...string) {
		if rapid.IntRange(0, 4).Draw(t, "whether "+name) == 0 {
			v.Set(name, rapid.SampledFrom(from).Draw(t, name))
		}
	}
	maybe("type", "FLOOD", "STORM,EARTHQUAKE", "TSUNAMI")
	maybe("severity", "WATCH", "WARNING,TERMINATION")
	maybe("category", "RESPONSE", "EVENT,RESPONSE")
	maybe("status", "A", "E", "A,E")
	maybe("source", "usgs", "editors", "nws,editors", "emsc", "gvp")
	maybe("bbox", boxes...)
	maybe("intersects", areas...)
	if maybe("near", "0,0", "180,1", "3,3", "0,90"); v.Has("near") {
		v.Set("radius", rapid.SampledFrom([]string{"1", "120000", "3000000"}).Draw(t, "radius"))
	}
	span := func(name string) string {
		return (noon + hazard.Instant(rapid.IntRange(-5000, 10000).Draw(t, name))).String()
	}
	switch rapid.IntRange(0, 9).Draw(t, "life") {
	case 0:
		v.Set("datetime", span("from")+"/..")
	case 1:
		v.Set("datetime", "../"+span("to"))
	case 2:
		v.Set("datetime", span("moment"))
	}
	maybe("updated_since", span("since"))
	maybe("q", terms...)
	if rapid.IntRange(0, 2).Draw(t, "whether filter") == 0 {
		v.Set("filter", drawWhere(t, 3))
	}
	maybe("measure", "magnitude:5..", "magnitude:..", "magnitude:4.5..6,depth_km:..10", "pager_level:orange..", "depth_km:-2..-1", "wind_kmh:100..")
	v.Set("sort", rapid.SampledFrom([]string{"importance", "importance", "magnitude", "-magnitude", "depth_km", "-pager_level", "severity", "last_Update", "-last_Update", "start_Date", "-start_Date", "end_Date", "-end_Date", "hazard_ID", "-hazard_ID"}).Draw(t, "sort"))
	q, faults := query.Parse(v)
	if faults != nil {
		t.Fatal(faults)
	}
	return q
}

// seen is a found hazard: its state and its products.
type seen struct {
	ID, Version, Products int64
	Status                hazard.Status
	LastUpdate            hazard.Instant
}

// told returns the hazards of a page.
func told(p *store.Page) []seen {
	list := []seen{}
	for i, h := range p.Hazards {
		list = append(list, seen{h.ID, h.Version, int64(p.Totals[i]), h.Status, h.LastUpdate})
	}
	return list
}

// rules returns the result of a search from the log and Match alone: the states of all hazards
// after the changes by a moment.
func (s *stage) rules(t *rapid.T, q query.Query, orgs []int64) []seen {
	at, now := hazard.MaxInstant, s.now
	if q.At != nil {
		at, now = *q.At, *q.At
	}
	changes, err := s.Log.Since(t.Context(), 0, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	hazards, products, present := map[int64]*hazard.Hazard{}, map[int64]*hazard.Product{}, map[int64]hazard.Audience{}
	for _, c := range changes {
		if c.Product != nil {
			present[c.Product.ID] = c.Product.Audience()
		}
		switch {
		case c.At > at:
		case c.Product != nil:
			products[c.Product.ID] = c.Product
		default:
			hazards[c.HazardID] = c.Hazard
		}
	}
	var found []*hazard.Hazard
	for _, h := range hazards {
		var shapes []geo.Shape
		for _, ref := range h.Areas {
			shapes = append(shapes, s.shapes[ref.Digest])
		}
		if h = h.ExpireAt(now); q.Match(h, shapes, now) {
			found = append(found, h)
		}
	}
	slices.SortFunc(found, func(a, b *hazard.Hazard) int { return q.Sort.Compare(q.Sort.Key(a), q.Sort.Key(b)) })
	list := []seen{}
	for _, h := range found {
		n := int64(0)
		for _, p := range products {
			if p.HazardID == h.ID && !p.Deleted && mayRead(p, present[p.ID], orgs) {
				n++
			}
		}
		list = append(list, seen{h.ID, h.Version, n, h.Status, h.LastUpdate})
	}
	return list
}

func (s *stage) page(t *rapid.T, q query.Query, orgs []int64, way int) *store.Page {
	p, err := s.SearchBy(t.Context(), q, orgs, s.now, way)
	if err != nil {
		t.Fatalf("%v by way %d: %v", q.Values(), way, err)
	}
	return p
}

// all reads all pages of a search.
func (s *stage) all(t *rapid.T, q query.Query, orgs []int64, way int) []seen {
	list := []seen{}
	for {
		p := s.page(t, q, orgs, way)
		list = append(list, told(p)...)
		if p.Cursor == "" {
			return list
		}
		if len(p.Hazards) != q.Limit {
			t.Fatalf("%d hazards in a page of %d, and more to come", len(p.Hazards), q.Limit)
		}
		q.Cursor = p.Cursor
	}
}

func TestSearchFindsWhatMatchLetsThroughByEveryWay(t *testing.T) {
	kept := openStage(t)
	rapid.Check(t, func(t *rapid.T) {
		s := newStage(t, kept)
		s.happen(t, 40)
		for range 4 {
			q, orgs := drawQuery(t), rapid.SampledFrom([][]int64{nil, {7}, {8, 9}}).Draw(t, "member of")
			if rapid.IntRange(0, 2).Draw(t, "whether at") == 0 {
				q.At = new(s.now - hazard.Instant(rapid.IntRange(0, 8000).Draw(t, "at")))
			}
			want := s.rules(t, q, orgs)
			for _, way := range []int{0, 1, rapid.IntRange(2, store.Ways-1).Draw(t, "way")} {
				if diff := cmp.Diff(want, told(s.page(t, q, orgs, way))); diff != "" {
					t.Fatalf("%v by way %d (-want +got):\n%s", q.Values(), way, diff)
				}
				if n, _, err := s.CountBy(t.Context(), q, s.now, way); err != nil || n != int64(len(want)) {
					t.Fatalf("%v by way %d: count %d, %v; want %d", q.Values(), way, n, err, len(want))
				}
			}
			q.Limit = rapid.IntRange(1, 5).Draw(t, "limit")
			if diff := cmp.Diff(want, s.all(t, q, orgs, rapid.IntRange(0, store.Ways-1).Draw(t, "way"))); diff != "" {
				t.Fatalf("%v in pages of %d (-want +got):\n%s", q.Values(), q.Limit, diff)
			}
		}
	})
}

func TestPagesSkipAndRepeatNothingWhileHazardsAreWrittenAndEnd(t *testing.T) {
	kept := openStage(t)
	rapid.Check(t, func(t *rapid.T) {
		s := newStage(t, kept)
		s.happen(t, 40)
		q := drawQuery(t)
		q.Limit = rapid.IntRange(1, 4).Draw(t, "limit")
		whole := q
		whole.Limit = 0
		first := s.rules(t, whole, nil)
		place, staying := map[int64]int{}, map[int64]bool{} // those that match at each page
		for i, h := range first {
			place[h.ID], staying[h.ID] = i, true
		}
		last := -1
		got := map[int64]bool{}
		for pages := 0; ; pages++ {
			matching := map[int64]seen{}
			for _, h := range s.rules(t, whole, nil) {
				matching[h.ID] = h
			}
			for id := range staying {
				if _, ok := matching[id]; !ok {
					delete(staying, id)
				}
			}
			p := s.page(t, q, nil, rapid.IntRange(0, store.Ways-1).Draw(t, "way"))
			for _, h := range told(p) {
				i, ok := place[h.ID]
				if !ok || i <= last {
					t.Fatalf("hazard %d on page %d: at place %d of the first moment (%v), after place %d", h.ID, pages, i, ok, last)
				}
				if h != matching[h.ID] {
					t.Fatalf("hazard %d on page %d reads %+v, it is %+v", h.ID, pages, h, matching[h.ID])
				}
				last, got[h.ID] = i, true
			}
			if p.Cursor == "" {
				break
			}
			q.Cursor = p.Cursor
			s.happen(t, 6)
		}
		for id := range staying {
			if !got[id] {
				t.Fatalf("hazard %d was on no page", id)
			}
		}
	})
}

// mayRead implements the rule of who may read a past state: both its own audience and the present
// one must allow it.
func mayRead(p *hazard.Product, present hazard.Audience, orgs []int64) bool {
	for _, a := range []hazard.Audience{p.Audience(), present} {
		if len(a.OrgIDs) > 0 && !slices.ContainsFunc(a.OrgIDs, func(o int64) bool { return slices.Contains(orgs, o) }) {
			return false
		}
	}
	return !present.Deleted || slices.Contains(orgs, present.OrgID)
}

func TestReadsOfAnEarlierMomentAreThoseOfThen(t *testing.T) {
	kept := openStage(t)
	rapid.Check(t, func(t *rapid.T) {
		s := newStage(t, kept)
		s.happen(t, 60)
		changes, err := s.Log.Since(t.Context(), 0, 1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		at := s.now - hazard.Instant(rapid.IntRange(0, 8000).Draw(t, "at"))
		orgs := rapid.SampledFrom([][]int64{nil, {7}}).Draw(t, "member of")
		hazards, products := map[int64]*hazard.Hazard{}, map[int64]*hazard.Product{}
		present := map[int64]hazard.Audience{}
		var then []int64
		for _, c := range changes {
			if c.Product != nil {
				present[c.Product.ID] = c.Product.Audience()
			}
			if c.At > at {
				continue
			}
			then = append(then, c.Number)
			if c.Product != nil {
				products[c.Product.ID] = c.Product
			} else {
				hazards[c.HazardID] = c.Hazard
			}
		}
		for _, id := range s.ids {
			h, err := s.Log.HazardAt(t.Context(), id, at)
			want, there := hazards[id]
			if there != (err == nil) || there && !cmp.Equal(*want.ExpireAt(at), *h) || !there && !errors.Is(err, hazard.ErrNotFound) {
				t.Fatalf("hazard %d at %s: %+v, %v; want %+v", id, at, h, err, want)
			}
			list, err := s.Log.ProductsAt(t.Context(), id, orgs, at)
			if err != nil {
				t.Fatal(err)
			}
			var got, wanted []int64
			for _, p := range list {
				got = append(got, p.Version)
			}
			for _, pid := range s.goods {
				if p := products[pid]; p != nil && p.HazardID == id && !p.Deleted && mayRead(p, present[p.ID], orgs) {
					wanted = append(wanted, p.Version)
				}
			}
			slices.Sort(got)
			slices.Sort(wanted)
			if !slices.Equal(got, wanted) {
				t.Fatalf("products of %d at %s: changes %v, want %v", id, at, got, wanted)
			}
		}
		for _, id := range s.goods {
			p, err := s.Log.ProductAt(t.Context(), id, orgs, at)
			want := products[id]
			if there := want != nil && !want.Deleted && mayRead(want, present[id], orgs); there != (err == nil) || there && p.Version != want.Version {
				t.Fatalf("product %d at %s: %+v, %v; want %+v", id, at, p, err, want)
			}
		}
		list, err := s.Log.SinceAt(t.Context(), 0, 1_000_000, at)
		var got []int64
		for _, c := range list {
			got = append(got, c.Number)
		}
		if err != nil || !slices.Equal(got, then) {
			t.Fatalf("changes by %s: %v, %v; want %v", at, got, err, then)
		}
	})
}

func parseQuery(t testing.TB, text string) query.Query {
	t.Helper()
	v, err := url.ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	q, faults := query.Parse(v)
	if faults != nil {
		t.Fatal(faults)
	}
	return q
}

func TestCursorIsOfOneSearchOneHistoryAndOneHour(t *testing.T) {
	s, other := open(t, t.TempDir()), open(t, t.TempDir())
	for i := range 5 {
		save(t, s, flood(fmt.Sprint(i)))
		save(t, other, flood(fmt.Sprint(i)))
	}
	q := parseQuery(t, "type=FLOOD,STORM&limit=2")
	p, err := s.Search.Find(t.Context(), q, nil, noon)
	if err != nil || p.Cursor == "" {
		t.Fatalf("%+v, %v", p, err)
	}
	for name, tt := range map[string]struct {
		store *store.Store
		query string
		at    time.Duration
		ok    bool
	}{
		"the same":                            {s, "type=FLOOD,STORM&limit=2", 0, true},
		"in other words, with another limit":  {s, "limit=3&type=STORM,FLOOD", time.Hour, true},
		"another search":                      {s, "type=FLOOD&limit=2", 0, false},
		"another order":                       {s, "type=FLOOD,STORM&limit=2&sort=hazard_ID", 0, false},
		"another history":                     {other, "type=FLOOD,STORM&limit=2", 0, false},
		"an hour and a millisecond later":     {s, "type=FLOOD,STORM&limit=2", time.Hour + time.Millisecond, false},
		"the present search at a past moment": {s, "type=FLOOD,STORM&limit=2&at=2026-01-01T00:00:00Z", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			q := parseQuery(t, tt.query)
			q.Cursor = p.Cursor
			_, err := tt.store.Search.Find(t.Context(), q, nil, noon.Add(tt.at))
			if _, fault := errors.AsType[query.Faults](err); fault == tt.ok || (err == nil) != tt.ok {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestPagesOfThePastGoOnForAnHour(t *testing.T) {
	s := open(t, t.TempDir())
	for i := range 5 {
		save(t, s, flood(fmt.Sprint(i)))
	}
	q := parseQuery(t, "limit=2&sort=hazard_ID&at="+url.QueryEscape(noon.String()))
	var ids []int64
	for page := range 3 {
		p, err := s.Search.Find(t.Context(), q, nil, noon.Add(24*time.Hour+time.Duration(page)*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range p.Hazards {
			ids = append(ids, h.ID)
		}
		q.Cursor = p.Cursor
	}
	if !slices.Equal(ids, []int64{1, 2, 3, 4, 5}) || q.Cursor != "" {
		t.Errorf("hazards %v, cursor %q", ids, q.Cursor)
	}
}

// A program with the previous schema writes neither the tables for searches nor their progress.
func TestWhatAnOlderProgramWroteIsFoundAfterTheNextStart(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(t.Context(), dir, postgres.Database(t, dir, ""))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		save(t, s, flood(fmt.Sprint("flood ", i)))
	}
	if err := errors.Join(s.Forget(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir)
	for text, want := range map[string]int{"": 3, "q=flood": 3, "q=2": 1, "bbox=1,-3,2,0": 3, "bbox=10,10,20,20": 0, "status=A": 3} {
		p, err := again.Search.Find(t.Context(), parseQuery(t, text), nil, noon)
		if err != nil || len(p.Hazards) != want {
			t.Errorf("%q: %+v, %v; want %d hazards", text, p, err, want)
		}
	}
}

func TestRefLeadsAMergedHazardToItsSuccessor(t *testing.T) {
	s := open(t, t.TempDir())
	first, second, third := flood("first"), flood("second"), flood("third")
	for _, h := range []*hazard.Hazard{first, second, third} {
		save(t, s, h)
	}
	if _, err := s.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
		errs := []error{
			tx.Events.Save(&store.Event{Source: "usgs", Key: "us1", HazardID: first.ID}), tx.Events.AddKey("usgs", "us1", "us1"), tx.Events.AddRef("glide:EQ-1", "usgs", "us1"),
		}
		for _, h := range []*hazard.Hazard{first, second} {
			before := *h
			h.Status, h.Reason, h.Successor = hazard.Expired, hazard.EndMerged, second.UUID
			if h == second {
				h.Successor = third.UUID
			}
			errs = append(errs, tx.SaveHazardAs(hazard.HazardMerged, h, &before))
		}
		return errors.Join(errs...)
	}); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string][]int64{"usgs:us1": {third.ID}, "glide:EQ-1": {third.ID}, "glide:EQ-2": nil, "nws:us1": nil} {
		q := parseQuery(t, "ref="+ref)
		p, err := s.Search.Find(t.Context(), q, nil, noon)
		var ids []int64
		for _, h := range p.Hazards {
			ids = append(ids, h.ID)
		}
		if err != nil || !slices.Equal(ids, want) {
			t.Errorf("%s leads to %v, %v; want %v", ref, ids, err, want)
		}
		if err := s.Search.Resolve(t.Context(), &q.Filter); err != nil || !slices.Equal(q.Hazards, want) {
			t.Errorf("%s resolves to %v, %v; want %v", ref, q.Hazards, err, want)
		}
	}
}

func TestSearchThatTakesTooLongIsRefused(t *testing.T) {
	s := open(t, t.TempDir())
	save(t, s, flood("one"))
	s.SearchTime(time.Nanosecond)
	if _, err := s.Search.Find(t.Context(), parseQuery(t, "q=one"), nil, noon); !errors.Is(err, query.ErrTooBroad) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Search.Find(ctx, parseQuery(t, "q=one"), nil, noon); !errors.Is(err, context.Canceled) {
		t.Errorf("a search of a reader who has disconnected: %v", err)
	}
}

// Two processes write the same hazards: one's cache must not hide the other's writes.
func TestAnotherProcessFindsWhatWasWritten(t *testing.T) {
	dir := t.TempDir()
	one, two := open(t, dir), open(t, dir)
	h := flood("one")
	save(t, one, h)
	moved := *h
	moved.Longitude, moved.Name = 50, "two"
	if _, err := two.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error { return tx.SaveHazard(&moved, h) }); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*store.Store{one, two} {
		for text, want := range map[string]int{"bbox=49,-3,51,0": 1, "bbox=0,-3,2,0": 0, "q=two": 1, "q=one": 0} {
			if n, _, err := s.Search.Count(t.Context(), parseQuery(t, text), noon); err != nil || n != int64(want) {
				t.Errorf("%s: %d, %v; want %d", text, n, err, want)
			}
		}
	}
}

func TestWordsOfAnyScriptAreFoundBySQLAsByMatch(t *testing.T) {
	texts := rapid.OneOf(rapid.String(), rapid.StringN(0, 20, -1), rapid.SampledFrom([]string{"İstanbul ŁÓDŹ ﬁre", "地震のM7被害", "हिन्दी में", "ไฟป่า", "Ꮠꮠ ẞ ŉ ǰ", "a\u200db c\u00add", "1½ ²x", "𝔉𝔩𝔬𝔬𝔡 ｆｕｌｌ", "AND OR NOT NEAR \"x\" *"}))
	kept := openStage(t)
	rapid.Check(t, func(t *rapid.T) {
		s := newStage(t, kept)
		var all []*hazard.Hazard
		if _, err := s.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
			for range rapid.IntRange(1, 8).Draw(t, "hazards") {
				h := flood(hazard.Clean(texts.Draw(t, "name")))
				h.Description = hazard.Clean(texts.Draw(t, "description"))
				if err := tx.SaveHazard(h, nil); err != nil {
					return err
				}
				all = append(all, h)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			from := []rune(rapid.SampledFrom(all).Draw(t, "of").Name)
			i := rapid.IntRange(0, len(from)).Draw(t, "begin")
			part := string(from[i:rapid.IntRange(i, len(from)).Draw(t, "end")])
			if rapid.Bool().Draw(t, "quoted") {
				part = `"` + part + `"`
			}
			if rapid.Bool().Draw(t, "beginning") {
				part += "*"
			}
			q, faults := query.Parse(url.Values{"q": {part}})
			if faults != nil {
				continue
			}
			want := s.rules(t, q, nil)
			for way := range 3 {
				if diff := cmp.Diff(want, told(s.page(t, q, nil, way))); diff != "" {
					t.Fatalf("%q (%v) by way %d (-want +got):\n%s", part, q.Text, way, diff)
				}
			}
		}
	})
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
