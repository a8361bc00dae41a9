package find

import (
	"database/sql"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/hazardd/hazardd/internal/hazard"
)

// The trees store 32-bit numbers, rounded outwards. A severity that a tree gave wrongly would put
// hazards into the wrong order.
func TestTreesTellTheTypeAndTheSeverity(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE VIRTUAL TABLE boxes USING rtree(id, kind, kind_too)`); err != nil {
		t.Fatal(err)
	}
	type key struct {
		t hazard.Type
		s hazard.Severity
	}
	var keys []key
	for _, info := range hazard.Types() {
		for s := hazard.NoSeverity; s <= hazard.Warning; s++ {
			if _, err := db.Exec(`INSERT INTO boxes VALUES ($1, $2, $3)`, len(keys), kindOf(info.ID, s), kindOf(info.ID, s)+kindWidth); err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key{info.ID, s})
		}
	}
	for i, k := range keys {
		var kind float64
		if err := db.QueryRow(`SELECT kind FROM boxes WHERE id = $1`, i).Scan(&kind); err != nil {
			t.Fatal(err)
		}
		if severityOf(kind) != k.s {
			t.Errorf("%s of severity %d: the tree has %d", k.t, k.s, severityOf(kind))
		}
	}
	for _, info := range hazard.Types() {
		var n int
		if err := db.QueryRow(`SELECT count(*) FROM boxes WHERE kind <= $1 AND kind_too >= $2`, kindOf(info.ID, hazard.Warning), kindOf(info.ID, 0)).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if want := int(hazard.Warning) + 1; n != want {
			t.Errorf("%s: %d rows between the numbers of its severities, want %d", info.ID, n, want)
		}
	}
}

// Boxes without an extent along their kind have no volume, and SQLite groups them whatever their
// places: a search in a store of a million read ten times as many nodes.
func TestTreesPutTogetherWhatIsNear(t *testing.T) {
	visited := func(width float64) (met int) {
		db, err := sql.Open("sqlite", ":memory:")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		if _, err := db.Exec(`CREATE VIRTUAL TABLE boxes USING rtree(id, west, east, south, north, since, until, kind, kind_too, updated, updated_too)`); err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 1))
		kind := kindOf(hazard.Flood, hazard.Watch)
		for i := range 4000 {
			west, south, since := r.Float64()*360-180, r.Float64()*180-90, 4000+float64(i)/20
			if _, err := db.Exec(`INSERT INTO boxes VALUES ($1, $2, $2, $3, $3, $4, $4 + 1, $5, $5 + $6, $4, $4)`, i, west, south, since, kind, width); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := db.Query(`SELECT data FROM boxes_node`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var node []byte
			if err := rows.Scan(&node); err != nil {
				t.Fatal(err)
			}
			// sqlite.org/src/file/ext/rtree/rtree.c: the depth of the tree in the root, the number
			// of cells, and for each cell its number and its coordinates.
			const cell = 8 + 10*4
			coordinate := func(i, j int) float32 {
				return math.Float32frombits(binary.BigEndian.Uint32(node[4+i*cell+8+4*j:]))
			}
			west, east, south, north := float32(180), float32(-180), float32(90), float32(-90)
			for i := range int(binary.BigEndian.Uint16(node[2:])) {
				west, east = min(west, coordinate(i, 0)), max(east, coordinate(i, 1))
				south, north = min(south, coordinate(i, 2)), max(north, coordinate(i, 3))
			}
			if west <= 20 && east >= 0 && south <= 20 && north >= 0 {
				met++
			}
		}
		if rows.Err() != nil {
			t.Fatal(rows.Err())
		}
		return met
	}
	if with, without := visited(kindWidth), visited(0); with*2 > without {
		t.Errorf("a box meets %d nodes of a tree, %d of one whose boxes have no width; want less than half", with, without)
	} else {
		t.Logf("a box meets %d nodes of a tree, %d of one whose boxes have no width", with, without)
	}
}
