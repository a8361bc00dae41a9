package find

import (
	"database/sql"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/hazardd/hazardd/internal/hazard"
)

// The trees keep numbers of 32 bits, and round them outwards: a severity that they tell wrongly would put hazards into the wrong order.
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
			if _, err := db.Exec(`INSERT INTO boxes VALUES ($1, $2, $2)`, len(keys), kindOf(info.ID, s)); err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key{info.ID, s})
		}
	}
	for i, k := range keys {
		var kind, kindToo float64
		if err := db.QueryRow(`SELECT kind, kind_too FROM boxes WHERE id = $1`, i).Scan(&kind, &kindToo); err != nil {
			t.Fatal(err)
		}
		if severityOf(kind) != k.s || severityOf(kindToo) != k.s {
			t.Errorf("%s of severity %d: the tree tells %d and %d", k.t, k.s, severityOf(kind), severityOf(kindToo))
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
