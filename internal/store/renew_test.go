package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format/publisher"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

// openDamaged returns a store with one flood that was damaged by a statement while it was closed.
func openDamaged(t *testing.T, damage string) *store.Store {
	t.Helper()
	dir := t.TempDir()
	name := postgres.Database(t, dir, "")
	s, err := store.Open(t.Context(), dir, name)
	if err != nil {
		t.Fatal(err)
	}
	save(t, s, flood("before"))
	if err := errors.Join(s.Exec(t.Context(), damage), s.Close()); err != nil {
		t.Fatal(err)
	}
	if s, err = store.Open(t.Context(), dir, name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Rows that others imply are made again when the store is opened: it can be written as before.
func TestRowsThatOthersImplyAreMadeAgain(t *testing.T) {
	for _, damage := range []string{
		`UPDATE counters SET name = 'chbnge' WHERE name = 'change'`,
		`UPDATE counters SET value = 0 WHERE name = 'change'`,
		`UPDATE counters SET value = value + 140737488355328 WHERE name = 'change'`,
		`UPDATE counters SET name = 'hazbrd' WHERE name = 'hazard'`,
		`UPDATE counters SET name = 'audiu' WHERE name = 'audit'`,
		`UPDATE counters SET name = 'autg' WHERE name = 'auth'`,
		`UPDATE counters SET name = 'foune' WHERE name = 'found'`,
		`UPDATE counters SET name = 'noticee' WHERE name = 'noticed'`,
		`UPDATE counters SET value = 99 WHERE name = 'noticed'`,
		`UPDATE meta SET name = 'epoci' WHERE name = 'epoch'`,
		`UPDATE meta SET name = 'installatioo' WHERE name = 'installation'`,
		`UPDATE meta SET value = 'changer' WHERE name = 'bodies'`,
		`UPDATE meta SET name = 'bodier' WHERE name = 'bodies'`,
		`UPDATE meta SET name = 'oldest' WHERE name = 'oldest_schema'`,
		`UPDATE schema_version SET version = version + 64 WHERE version = (SELECT max(version) FROM schema_version)`,
		`UPDATE schema_version SET version = 1 WHERE version = (SELECT max(version) FROM schema_version)`,
	} {
		t.Run(damage, func(t *testing.T) {
			s := openDamaged(t, damage)
			save(t, s, flood("after"))
			changes := since(t, s, 0)
			if len(changes) != 2 || changes[1].Hazard.Name != "after" || changes[1].Number != 2 {
				t.Errorf("%d changes: %+v", len(changes), changes)
			}
			if noticed, err := s.Notices.Noticed(t.Context()); err != nil || noticed > 2 {
				t.Errorf("subscribers were told up to change %d, %v", noticed, err)
			}
		})
	}
}

// Damage in the search tables stops no write, and they are made again.
func TestDamagedSearchTablesStopNoWrite(t *testing.T) {
	if postgres.Postgres() {
		t.Skip("only SQLite has trees and words in tables of their own")
	}
	for _, damage := range []string{
		`UPDATE hazard_writes_node SET nodeno = 257 WHERE nodeno = 1`,
		`UPDATE hazard_boxes_node SET nodeno = 257 WHERE nodeno = 1`,
		`UPDATE hazard_words_config SET k = 'wersion' WHERE k = 'version'`,
		`UPDATE hazard_words_data SET id = id + 1 WHERE id = 10`,
	} {
		t.Run(damage, func(t *testing.T) {
			s := openDamaged(t, damage)
			save(t, s, flood("after"))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for {
				page, err := s.Search.Find(ctx, parseQuery(t, "limit=10"), nil, noon)
				found := s.Quarantine.Found() // what is damaged is forgotten after searches find both again
				if err == nil && len(page.Hazards) == 2 && len(found) == 0 {
					break
				}
				if ctx.Err() != nil {
					t.Fatalf("searches do not find both, or it is still damaged: %v, %v", err, found)
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
}

// A signing key whose name is no text any more is left out, and another one takes its place.
func TestADamagedSigningKeyIsReplaced(t *testing.T) {
	if postgres.Postgres() {
		t.Skip("PostgreSQL stores only UTF-8")
	}
	s := open(t, t.TempDir())
	key := func(id string) auth.Key { return auth.Key{ID: id, Created: noon, NotAfter: noon + 1} }
	if err := s.Accounts.AddKey(t.Context(), key("first"), ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Exec(t.Context(), `UPDATE signing_keys SET id = CAST(x'66e97273' AS TEXT)`); err != nil {
		t.Fatal(err)
	}
	if err := s.Accounts.AddKey(t.Context(), key("second"), ""); err != nil {
		t.Fatal(err)
	}
	d, err := s.Accounts.Load(t.Context())
	if err != nil || len(d.Keys) != 1 || d.Keys[0].ID != "second" {
		t.Errorf("keys %v, %v", d.Keys, err)
	}
}

// A position beyond the end of the log, or a subscription that says it was removed but was not, would
// silence its owner: it is named, and set back so that what follows is told.
func TestPositionsBeyondTheLogAreSetBack(t *testing.T) {
	dir := t.TempDir()
	name := postgres.Database(t, dir, "")
	s, err := store.Open(t.Context(), dir, name)
	if err != nil {
		t.Fatal(err)
	}
	add := func(id string) {
		t.Helper()
		err := errors.Join(
			s.Webhooks.Add(t.Context(), store.Webhook{ID: "webhook " + id, Body: []byte("{}")}, auth.Audit{}),
			s.Subscriptions.Add(t.Context(), []store.Subscription{{ID: "subscription " + id, Body: []byte("{}")}}, nil, nil))
		if err != nil {
			t.Fatal(err)
		}
	}
	save(t, s, flood("one"))
	for _, id := range []string{"sound", "ahead", "below", "delivered", "removed"} {
		add(id)
	}
	publish := func(org int64, name string) {
		t.Helper()
		if err := s.Publishing.Set(t.Context(), &publisher.Profile{Org: org, Name: name}, auth.Audit{}); err != nil {
			t.Fatal(err)
		}
	}
	publish(7, "before")
	publish(7, "after")
	publish(8, "only")
	publish(9, "only")
	save(t, s, flood("two"))
	save(t, s, flood("three"))
	err = errors.Join(s.Notices.Add(t.Context(), nil, 2), s.Webhooks.AddDeliveries(t.Context(), []store.Delivery{{Webhook: "webhook delivered", HazardID: 2, Change: 2}}, nil, noon))
	for _, damage := range []string{
		`UPDATE webhooks SET told_n = told_n + 140737488355328 WHERE id IN ('webhook ahead', 'webhook delivered')`,
		`UPDATE webhooks SET told_n = -5 WHERE id = 'webhook below'`,
		`UPDATE subscriptions SET since_n = 4 WHERE id = 'subscription ahead'`,
		`UPDATE subscriptions SET version = version + 4096 WHERE id = 'subscription delivered'`,
		`UPDATE subscriptions SET version = -5 WHERE id = 'subscription below'`,
		`UPDATE publishing SET after_n = after_n + 4194304 WHERE org_id = 7 AND after_n > 0`,
		`UPDATE publishing SET after_n = 4194304 WHERE org_id = 8`,
		`UPDATE subscriptions SET removed = true WHERE id = 'subscription removed'`,
	} {
		err = errors.Join(err, s.Exec(t.Context(), damage))
	}
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if s, err = store.Open(t.Context(), dir, name); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for id, told := range map[string]int64{"sound": 1, "ahead": 0, "below": 0, "delivered": 2} {
		if w, err := s.Webhooks.Get(t.Context(), "webhook "+id); err != nil || w.Told != told {
			t.Errorf("webhook %s was told up to %d, expected %d; %v", id, w.Told, told, err)
		}
	}
	version, err := s.Subscriptions.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for id, since := range map[string]int64{"sound": 1, "ahead": 2, "below": 1, "delivered": 1, "removed": 1} {
		sub, err := s.Subscriptions.Get(t.Context(), "subscription "+id)
		if err != nil || sub.Since != since || sub.Version < 1 || sub.Version > version {
			t.Errorf("subscription %s is told what follows %d, expected %d; version %d of %d; %v", id, sub.Since, since, sub.Version, version, err)
		}
	}
	settings, err := s.Publishing.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for org, want := range map[int64][]int64{7: {0, 3}, 8: {0}, 9: {0}} {
		var after []int64
		for _, p := range settings[org] {
			after = append(after, p.After)
		}
		if !slices.Equal(after, want) {
			t.Errorf("profiles of organization %d begin after %v, expected %v", org, after, want)
		}
	}
	found := s.Quarantine.Found()
	for _, what := range []string{"told_n of webhook ahead in the table webhooks", "told_n of webhook below in the table webhooks", "told_n of webhook delivered in the table webhooks",
		"since_n of subscription ahead in the table subscriptions", "version of subscription delivered in the table subscriptions",
		"version of subscription below in the table subscriptions", "removed of subscription removed in the table subscriptions",
		"after_n of 7 in the table publishing", "after_n of 8 in the table publishing"} {
		if found[what] == nil {
			t.Errorf("nobody hears of %s", what)
		}
		delete(found, what)
	}
	if len(found) > 0 {
		t.Errorf("and of %v", found)
	}
}
