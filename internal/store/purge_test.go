package store_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
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

// What somebody was told of a hazard is kept as long as that matters: until its end was told or is long
// past, and of a part of another one as long as of that.
func TestWhatWasToldIsKeptAsLongAsItMatters(t *testing.T) {
	s := open(t, t.TempDir())
	whole, middle, part, over, active := flood("whole"), flood("middle"), flood("part"), flood("over"), flood("active")
	all := []*hazard.Hazard{whole, middle, part, over, active}
	for _, h := range all {
		h.AutoExpire = false
		save(t, s, h)
	}
	end := func(h *hazard.Hazard, into *hazard.Hazard, reason hazard.EndReason, at hazard.Instant) {
		t.Helper()
		_, err := s.Write(t.Context(), at, store.Origin{Admin: true}, func(tx *store.Tx) error {
			before := *h
			h.Status, h.Reason, h.End, h.Updated = hazard.Expired, reason, at, at
			if into == nil {
				return tx.SaveHazard(h, &before)
			}
			h.Successor = into.UUID
			return errors.Join(tx.SaveHazard(h, &before), tx.Merges.Save(&store.Merge{Change: h.Version, From: h.ID, Into: into.ID}))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	end(part, middle, hazard.EndMerged, noon+1)
	end(middle, whole, hazard.EndMerged, noon+2)
	end(over, nil, hazard.EndAllClear, noon+3)
	box := store.Mailbox{Subscription: "s", Channel: "c"}
	var told []store.Told
	for _, h := range all {
		told = append(told, store.Told{Subscription: box.Subscription, Channel: box.Channel, HazardID: h.ID, Change: h.Version, At: noon, Said: []byte("{}")})
	}
	told[2].Gone = true // as part of the whole, which was opened again
	if err := s.Notices.Save(t.Context(), store.NoticesDone{Told: told}, true); err != nil {
		t.Fatal(err)
	}
	kept := func(before hazard.Instant, want ...*hazard.Hazard) {
		t.Helper()
		if err := s.Notices.Purge(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range all {
			if _, ok, err := s.Notices.Told(t.Context(), box, h.ID); err != nil {
				t.Fatal(err)
			} else if ok {
				got = append(got, h.Name)
			}
		}
		var names []string
		for _, h := range want {
			names = append(names, h.Name)
		}
		if !slices.Equal(got, names) {
			t.Errorf("before %d: %q are kept, want %q", before, got, names)
		}
	}
	if list, err := s.Notices.ToldLast(t.Context(), box.Subscription); err != nil || len(list) != len(all) {
		t.Errorf("to be asked again: %+v, %v", list, err)
	}
	kept(noon, all...)
	kept(noon+100, whole, middle, part, active)
	end(whole, nil, hazard.EndAllClear, noon+200)
	kept(noon+150, whole, middle, part, active)
	kept(noon+300, active)
}
