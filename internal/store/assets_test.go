package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hazardd/hazardd/internal/atlas/asset"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

func loadAssets(t testing.TB, s *store.Store, org int64, list []asset.Asset) (asset.Set, error) {
	t.Helper()
	return s.Assets.Load(t.Context(), org, noon, func(each func(*asset.Asset) error) error {
		for i := range list {
			list[i].N = int64(i + 1)
			if err := each(&list[i]); err != nil {
				return err
			}
		}
		return nil
	}, &auth.Audit{At: noon, Actor: "ada", Action: auth.ActionAssets, OK: true})
}

// namesOf lists the assets of an organization by name: all, or those in boxes.
func namesOf(t testing.TB, s *store.Store, org int64, boxes ...geo.Box) (names []string) {
	t.Helper()
	err := s.Assets.Read(t.Context(), func(o int64) bool { return o == org }, func(all *store.AssetReader) error {
		for i := range all.Sets {
			var err error
			if boxes == nil {
				err = all.After(t.Context(), &all.Sets[i], 0, func(a *asset.Asset) bool { names = append(names, a.Name); return true })
			} else {
				err = all.In(t.Context(), &all.Sets[i], boxes, func(a *asset.Asset) { names = append(names, a.Name) })
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func shape(t testing.TB, wkt string) geo.Shape {
	t.Helper()
	s, err := geo.ParseWKT(wkt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A load replaces only the assets of its organization, completely or not at all. It leaves no rows
// of replaced assets.
func TestLoadAssets(t *testing.T) {
	s := open(t, t.TempDir())
	first := make([]asset.Asset, 1234)
	for i := range first {
		first[i] = asset.Asset{ID: fmt.Sprint(i), Name: fmt.Sprint("first ", i), Kind: "school", Lon: float64(i) / 100, Lat: 1}
	}
	set, err := loadAssets(t, s, 1, first)
	if err != nil || set.Count != 1234 || set.By != "ada" || set.Loaded != noon || set.Box != (geo.Box{West: 0, South: 1, East: 12.33, North: 1}) {
		t.Fatalf("%+v %v", set, err)
	}
	if _, err := loadAssets(t, s, 2, []asset.Asset{{Name: "theirs", Lon: 5, Lat: 1}}); err != nil {
		t.Fatal(err)
	}
	fault := errors.New("line 700")
	_, err = s.Assets.Load(t.Context(), 1, noon, func(each func(*asset.Asset) error) error {
		for i := range 699 {
			if err := each(&asset.Asset{N: int64(i + 1), Name: "bad", Lon: 1, Lat: 1}); err != nil {
				return err
			}
		}
		return fault
	}, &auth.Audit{At: noon, Actor: "ada", OK: true})
	if err != fault {
		t.Fatal(err)
	}
	if names := namesOf(t, s, 1); len(names) != 1234 || names[0] != "first 0" || names[1233] != "first 1233" {
		t.Errorf("%d assets after a load that failed", len(names))
	}
	if _, err := loadAssets(t, s, 1, []asset.Asset{{Name: "camp", Lon: 0.5, Lat: 0.5, Area: shape(t, "POLYGON((0 0,3 0,3 3,0 3,0 0))")}}); err != nil {
		t.Fatal(err)
	}
	if names := namesOf(t, s, 1); !slices.Equal(names, []string{"camp"}) {
		t.Errorf("%q after another load", names)
	}
	if names := namesOf(t, s, 2); !slices.Equal(names, []string{"theirs"}) {
		t.Errorf("%q of another organization", names)
	}
	if n := s.CountRows(t, "assets"); n != 2 {
		t.Errorf("%d rows are left", n)
	}
	if err := s.Assets.Remove(t.Context(), 1, &auth.Audit{At: noon, Actor: "ada", OK: true}); err != nil {
		t.Fatal(err)
	}
	if err := s.Assets.Remove(t.Context(), 1, nil); !errors.Is(err, hazard.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	if sets, err := s.Assets.Sets(t.Context()); err != nil || len(sets) != 1 || sets[0].Org != 2 || s.CountRows(t, "assets") != 1 || s.CountRows(t, "asset_sets") != 1 {
		t.Errorf("%+v %v", sets, err)
	}
}

// Of two concurrent loads the one that began later counts, and the other gets an error.
func TestTwoLoadsOfAssets(t *testing.T) {
	s := open(t, t.TempDir())
	_, err := s.Assets.Load(t.Context(), 1, noon, func(each func(*asset.Asset) error) error {
		if err := each(&asset.Asset{N: 1, Name: "early", Lon: 1, Lat: 1}); err != nil {
			return err
		}
		_, err := loadAssets(t, s, 1, []asset.Asset{{Name: "late", Lon: 1, Lat: 1}})
		return err
	}, &auth.Audit{At: noon, Actor: "ada", OK: true})
	if !errors.Is(err, hazard.ErrConflict) {
		t.Errorf("%v", err)
	}
	if names := namesOf(t, s, 1); !slices.Equal(names, []string{"late"}) || s.CountRows(t, "assets") != 1 || s.CountRows(t, "asset_sets") != 1 {
		t.Errorf("%q, %d rows", names, s.CountRows(t, "assets"))
	}
}

// Assets in a box are found wherever it is: across cell borders, at the poles and across the
// antimeridian. Each area is found once.
func TestAssetsInABox(t *testing.T) {
	s := open(t, t.TempDir())
	r := rand.New(rand.NewPCG(1, 2))
	var list []asset.Asset
	for i := range 3000 {
		a := asset.Asset{Name: fmt.Sprint(i), Lon: float64(r.IntN(721)-360) / 2, Lat: float64(r.IntN(361)-180) / 2}
		if i%3 == 0 { // between the borders of cells too
			a.Lon, a.Lat = r.Float64()*360-180, r.Float64()*180-90
		}
		if i%10 == 0 {
			a.Area = geo.Circle(a.Lon, max(-80, min(a.Lat, 80)), 1000*float64(1+r.IntN(300)))
		}
		list = append(list, a)
	}
	if _, err := loadAssets(t, s, 1, list); err != nil {
		t.Fatal(err)
	}
	for range 60 {
		b := geo.Box{West: r.Float64()*360 - 180, South: r.Float64()*180 - 90}
		b.East, b.North = geo.Wrap(b.West+r.Float64()*[]float64{1, 30, 359}[r.IntN(3)]), min(90, b.South+r.Float64()*[]float64{1, 50}[r.IntN(2)])
		var want []string
		parts := b.Widened(0)
		for i := range list {
			if slices.ContainsFunc(parts, func(p geo.Box) bool { return p.Overlaps(list[i].Bounds()) }) {
				want = append(want, list[i].Name)
			}
		}
		got := namesOf(t, s, 1, parts...)
		for _, name := range want {
			if !slices.Contains(got, name) {
				t.Errorf("%v: %s is missing", b, name)
			}
		}
		slices.Sort(got)
		if len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("%v: an asset twice", b)
		}
	}
}

// BenchmarkAssets loads the maximum number of assets of an organization, and reads the 10,000 of
// them in a box.
func BenchmarkAssets(b *testing.B) {
	s := open(b, b.TempDir())
	list := make([]asset.Asset, asset.MaxAssets)
	for i := range list { // 500 by 400, over 20 by 16 degrees
		list[i] = asset.Asset{ID: fmt.Sprint(i), Name: fmt.Sprint("School ", i), Kind: "school", Lon: 10 + float64(i%500)/25 + 0.01, Lat: 40 + float64(i/500)/25 + 0.01}
	}
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			if set, err := loadAssets(b, s, 1, list); err != nil || set.Count != asset.MaxAssets {
				b.Fatal(set, err)
			}
		}
	})
	b.Run("read 10,000", func(b *testing.B) {
		for b.Loop() {
			if n := len(namesOf(b, s, 1, geo.Box{West: 15, South: 45, East: 19, North: 49})); n != 10_000 {
				b.Fatal(n)
			}
		}
	})
}
