package store_test

import (
	"testing"

	"github.com/hazardd/hazardd/internal/auth"
)

// TestALongTrailIsPurgedWhole purges a trail that needs three steps of 500 rows.
func TestALongTrailIsPurgedWhole(t *testing.T) {
	s := open(t, t.TempDir())
	err := s.Exec(t.Context(), `INSERT INTO audit (id, at_ms, actor, addr, action, subject, detail, ok)
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1203) SELECT i, i, '', '', 'login', '', '', true FROM n`)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Accounts.Purge(t.Context(), auth.Purge{AuditBefore: 1202}); err != nil {
		t.Fatal(err)
	}
	rows, err := s.Accounts.Trail(t.Context(), auth.TrailFilter{Limit: 10})
	if err != nil || len(rows) != 2 || rows[0].ID != 1203 || rows[1].ID != 1202 {
		t.Errorf("left are %+v, %v", rows, err)
	}
}
