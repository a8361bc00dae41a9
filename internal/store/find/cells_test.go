package find

import (
	"database/sql"
	"os"
	"slices"
	"testing"

	_ "modernc.org/sqlite"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard/query"
)

// celled opens a database with a table of hazards that was there before cells.
func celled(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE searchable (id INTEGER PRIMARY KEY, active INTEGER, type_id TEXT, severity INTEGER, last_update_ms INTEGER, west REAL, south REAL, east REAL, north REAL, name TEXT,
		n INTEGER DEFAULT 1, start_ms INTEGER DEFAULT 0, end_ms INTEGER DEFAULT 0, areas INTEGER DEFAULT 0); CREATE INDEX searchable_by_type ON searchable (type_id)`); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"0038_cells", "0039_order_by_place"} {
		upgrade, err := os.ReadFile("../migrations/sqlite/" + name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(string(upgrade)); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// drawBox draws a box with sides where cells, the poles and the antimeridian are, and a little beside.
func drawBox(t *rapid.T) geo.Box {
	side := func(from, to float64, name string) float64 {
		at := rapid.OneOf(rapid.SampledFrom([]float64{-180, -179.99, -90, -87, -3, 0, 0.01, 1, 2.999999, 3, 12, 60.004, 87, 90, 179.995, 180}), rapid.Float64Range(from, to)).Draw(t, name)
		return min(max(at, from), to)
	}
	b := geo.Box{West: side(-180, 180, "west"), South: side(-90, 90, "south")}
	wide, high := rapid.SampledFrom([]float64{0, 1e-7, 0.5, 1, 1.000001, 3, 11.9, 12, 50, 359}).Draw(t, "width"), rapid.SampledFrom([]float64{0, 1e-7, 0.5, 1, 3.1, 12, 12.5, 170}).Draw(t, "height")
	if b.East, b.North = b.West+wide, min(90, b.South+high); b.East > 180 {
		b.East -= 360
	}
	return b
}

// The cells of a box hold every hazard whose box meets it, once; and so does the condition for an index in another
// order.
func TestCellsFindWhatMayMeetABox(t *testing.T) {
	db := celled(t)
	rapid.Check(t, func(t *rapid.T) {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		for id := range rapid.IntRange(1, 12).Draw(t, "hazards") {
			b := drawBox(t)
			if rapid.IntRange(0, 9).Draw(t, "somewhere") == 0 {
				b = nowhere
			}
			if _, err := tx.Exec(`INSERT INTO searchable (id, active, type_id, severity, last_update_ms, west, south, east, north) VALUES ($1, $2, $3, 3, $1, $4, $5, $6, $7)`, id+1, id%3 == 0, []string{"FLOOD", "STORM"}[id%2], b.West, b.South, b.East, b.North); err != nil {
				t.Fatal(err)
			}
		}
		wanted := drawBox(t)
		f := sqliteFinder{&Question{Tx: tx, Filter: &query.Filter{Box: &wanted, Possible: rapid.Bool().Draw(t, "possible")}, Limit: 10}}
		meets := f.meets(wanted)
		want, err := f.numbers(t.Context(), "SELECT id FROM searchable s WHERE "+meets.text+" ORDER BY id", meets.args...)
		if err != nil {
			t.Fatal(err)
		}
		way, _ := f.cells()
		got, err := f.numbers(t.Context(), way.some.text, way.some.args...)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		if once := slices.Compact(slices.Clone(got)); len(once) != len(got) {
			t.Fatalf("%v: %v are found, some twice", wanted, got)
		}
		for _, id := range want {
			if _, found := slices.BinarySearch(got, id); !found {
				t.Fatalf("%v: %v are found, want %v", wanted, got, want)
			}
		}
		in := inside(cellsOf(wanted, f.Filter.Possible))
		if along, err := f.numbers(t.Context(), "SELECT id FROM searchable s WHERE "+in.text+" ORDER BY id", in.args...); err != nil || !slices.Equal(along, got) {
			t.Fatalf("%v: along the order %v are inside, %v; in cells %v", wanted, along, err, got)
		}
	})
}

// A small box has few cells, and in a large one the order is the shorter way.
func TestCellsAreFewAndOrderIsChosenForMany(t *testing.T) {
	db := celled(t)
	if _, err := db.Exec(`WITH RECURSIVE i (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 20000)
		INSERT INTO searchable (id, active, type_id, severity, last_update_ms, west, south, east, north) SELECT n, 0, 'FLOOD', 3, n, n % 359 - 180, n % 171 - 90, n % 359 - 180, n % 171 - 90 FROM i`); err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for name, tt := range map[string]struct {
		box   geo.Box
		most  int
		dense bool
	}{
		"a city":    {geo.Box{West: 0, South: 0, East: 1, North: 1}, 20, false},
		"the world": {geo.Box{West: -180, South: -90, East: 180, North: 90}, 20_000, true},
	} {
		f := sqliteFinder{&Question{Tx: tx, Filter: &query.Filter{Box: &tt.box}, Limit: 100}}
		way, _ := f.cells()
		ids, err := f.numbers(t.Context(), way.some.text, way.some.args...)
		if err != nil || len(ids) > tt.most {
			t.Errorf("%s: %d hazards in cells, %v; want %d at most", name, len(ids), err, tt.most)
		}
		if dense, err := f.dense(t.Context(), 20_000); err != nil || dense != tt.dense {
			t.Errorf("%s: the order is the shorter way: %v, %v", name, dense, err)
		}
	}
}

// However hazards lie and whichever way is chosen, pages of them are in the standard order: along all types
// until enough are found, along them until they are too many and then in cells, and in cells one severity
// after the other.
func TestPagesAreInOrderByEachWayToAPlace(t *testing.T) {
	db := celled(t)
	if _, err := db.Exec(`WITH RECURSIVE i (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 30000)
		INSERT INTO searchable (id, active, type_id, severity, last_update_ms, west, south, east, north)
		SELECT n, n % 97 = 0, iif(n % 3, 'FLOOD', 'STORM'), iif(n % 10, 5, n % 4), n * 7 % 1000, w, s, w, s
		FROM (SELECT n, iif(n % 10, -100 - n % 50 - n % 7 * 0.1, n % 90 + n % 11 * 0.1) AS w, n % 40 AS s FROM i)`); err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for name, tt := range map[string]struct {
		box           geo.Box
		graded, dense bool
	}{
		"where most are":                        {geo.Box{West: -170, South: -60, East: -20, North: 60}, false, true},
		"where those behind all others are":     {geo.Box{West: 0, South: -60, East: 170, North: 60}, false, true},
		"a country":                             {geo.Box{West: -140, South: 0, East: -120, North: 20}, true, false},
		"a country of which nothing is warning": {geo.Box{West: 0, South: 0, East: 30, North: 30}, true, false},
	} {
		ask := func() sqliteFinder {
			return sqliteFinder{&Question{Tx: tx, Filter: &query.Filter{Box: &tt.box}, Limit: 100}}
		}
		f := ask()
		meets := f.meets(tt.box)
		want, err := f.numbers(t.Context(), "SELECT id FROM searchable s WHERE "+meets.text+" ORDER BY "+f.order(), meets.args...)
		if err != nil {
			t.Fatal(err)
		}
		if way, err := f.choose(t.Context()); err != nil || (way == nil) != tt.dense || (way != nil && way.graded.text != "") != tt.graded {
			t.Errorf("%s: the way is %+v, %v", name, way, err)
		}
		var after *query.Key
		for at := 0; at < len(want); at += 450 {
			f, n := ask(), 0
			err := f.Each(t.Context(), after, func(r Row) (bool, error) {
				if at+n == len(want) || r.ID != want[at+n] {
					t.Fatalf("%s: %d is number %d of %d", name, r.ID, at+n, len(want))
				}
				after, n = &r.Key, n+1
				return n < 450, nil
			})
			if err != nil || n < min(450, len(want)-at) {
				t.Fatalf("%s: %d found after %d, %v", name, n, at, err)
			}
		}
	}
}
