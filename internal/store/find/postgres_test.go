package find

import (
	"database/sql"
	"os"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

func TestMain(m *testing.M) { os.Exit(postgres.Main(m)) }

// PostgreSQL would follow the order through all hazards to fill a page from a small box, and look up all
// that are in a large one.
func TestPostgreSQLFindsASmallBoxByPlaceAndALargeOneAlongTheOrder(t *testing.T) {
	db, err := sql.Open("pgx", postgres.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE searchable (id BIGINT PRIMARY KEY, west DOUBLE PRECISION, south DOUBLE PRECISION, east DOUBLE PRECISION, north DOUBLE PRECISION, bounds BOX, bounds2 BOX);
		INSERT INTO searchable SELECT n, x, y, x, y, box(point(x, y), point(x, y)) FROM generate_series(1, 50000) n, LATERAL (SELECT n % 359 - 180 AS x, n % 171 - 85 AS y) p`); err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for name, tt := range map[string]struct {
		box    geo.Box
		limit  int
		narrow bool
	}{
		"a city":                    {geo.Box{West: 0, South: 0, East: 1, North: 1}, 100, true},
		"across the antimeridian":   {geo.Box{West: 179, South: 0, East: -179, North: 1}, 100, true},
		"the world":                 {geo.Box{West: -180, South: -90, East: 180, North: 90}, 100, false},
		"all that is in the city":   {geo.Box{West: 0, South: 0, East: 1, North: 1}, 50_000, true},
		"all that is in the world":  {geo.Box{West: -180, South: -90, East: 180, North: 90}, 20_000, false},
		"a page of one continent":   {geo.Box{West: -20, South: -40, East: 60, North: 40}, 100, false},
		"a page of many from there": {geo.Box{West: -20, South: -40, East: 60, North: 40}, 10_000, true},
	} {
		f := postgresFinder{&Question{Tx: tx, Filter: &query.Filter{Box: &tt.box}, Limit: tt.limit}}
		place := f.conditions()
		if narrow, err := f.narrow(t.Context(), place); err != nil || narrow != tt.narrow {
			t.Errorf("%s: by place %v, %v; want %v", name, narrow, err, tt.narrow)
		}
	}
}
