package gpkg

import (
	"database/sql"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// SQLite finds the tree whole, and by it the features that a look at each box finds; and it stays whole
// when a program edits it.
func TestTheTreeOfBoxesIsOneOfSQLite(t *testing.T) {
	for _, features := range []int{0, 1, 3, 51, 60, 300, 52 * 51, 3100} {
		r := rand.New(rand.NewPCG(uint64(features), 1))
		boxes := map[int64]Box{}
		file := filepath.Join(t.TempDir(), "tree.gpkg")
		w, err := Create(t.Context(), file, Layer{Name: "places", Changed: time.Unix(0, 0)})
		if err != nil {
			t.Fatal(err)
		}
		for i := range features {
			west, south := 360*r.Float64()-180, 180*r.Float64()-90
			box := Box{west, south, min(180, west+r.Float64()), min(90, south+0.01)}
			wkb := []byte{1}
			if i%7 == 3 {
				wkb = nil
			} else {
				boxes[int64(i+1)] = box
			}
			if err := AddRow(w, wkb, box); err != nil {
				t.Fatal(err)
			}
		}
		db := closed(t, w, file)
		check := func(when string) {
			t.Helper()
			var said string
			if err := db.QueryRowContext(t.Context(), `SELECT rtreecheck('rtree_places_geom')`).Scan(&said); err != nil || said != "ok" {
				t.Fatalf("%d features %s: %s, %v", features, when, said, err)
			}
			if err := db.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&said); err != nil || said != "ok" {
				t.Fatalf("%d features %s: %s, %v", features, when, said, err)
			}
		}
		check("as it was written")
		for range 5 {
			west, south := 360*r.Float64()-180, 180*r.Float64()-90
			east, north := west+90*r.Float64(), south+20
			var want []int64
			for id, b := range boxes { // within the precision of the tree
				if b.East >= west && b.West <= east && b.North >= south && b.South <= north {
					want = append(want, id)
				}
			}
			slices.Sort(want)
			got := ids(t, db, `SELECT id FROM rtree_places_geom WHERE maxx >= ? AND minx <= ? AND maxy >= ? AND miny <= ?`, float64(below(west)), float64(above(east)), float64(below(south)), float64(above(north)))
			for _, id := range want {
				if !slices.Contains(got, id) {
					t.Fatalf("feature %d is not found in %v", id, []float64{west, south, east, north})
				}
			}
			if len(got) > len(want)+2 {
				t.Fatalf("%d features are found, %d are there", len(got), len(want))
			}
		}
		if _, err := db.ExecContext(t.Context(), `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
			INSERT INTO rtree_places_geom SELECT 10000 + i, i / 2, i / 2 + 1, i / 4, i / 4 + 1 FROM n; DELETE FROM rtree_places_geom WHERE id % 3 = 0`); err != nil {
			t.Fatal(err)
		}
		check("after it was edited")
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func ids(t *testing.T, db *sql.DB, query string, args ...any) (all []int64) {
	rows, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		all = append(all, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}
