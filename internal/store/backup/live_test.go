package backup_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/backup"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
)

// A backup made during writes is of one moment: it has all changes up to one, and nothing of later
// ones.
func TestABackupWhileOthersWriteIsOfOneMoment(t *testing.T) {
	test.Concurrent(t)
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) { backUpBesideWriters(t, kind) })
	}
}

func backUpBesideWriters(t *testing.T, kind func(testing.TB) place) {
	s := kind(t).open(t)
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	defer writers.Wait()
	defer stop()
	wrote := make(chan struct{}, 4)
	for w := range 4 {
		writers.Go(func() {
			h := &hazard.Hazard{UUID: uuid.New(), Name: fmt.Sprint("of ", w), Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Event, Status: hazard.Active, Longitude: 1, Latitude: 2}
			var before *hazard.Hazard
			for i := 0; ctx.Err() == nil; i++ {
				next := *h
				next.Description = strings.Repeat("later ", i%50)
				next.LastUpdate = hazard.At(made) + hazard.Instant(i)
				if before == nil {
					next.ID = 0
				}
				_, err := s.Write(ctx, hazard.At(made), store.Origin{User: "ada", Admin: true}, func(tx *store.Tx) error { return tx.SaveHazard(&next, before) })
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
				h, before = &next, &next
				select {
				case wrote <- struct{}{}:
				default:
				}
			}
		})
	}
	var last int64
	for range test.Rounds(3, 1) {
		<-wrote
		text, m, _ := back(t, s)
		if m.Change <= last {
			t.Errorf("a backup as of change %d after one as of %d", m.Change, last)
		}
		last = m.Change
		to := kind(t)
		if _, _, err := backup.Restore(t.Context(), bytes.NewReader(text), to.into(), made, nil); err != nil {
			t.Fatal(err)
		}
		restored := to.open(t)
		changes, err := restored.Log.Since(t.Context(), 0, 1_000_000)
		if err != nil || int64(len(changes)) != m.Change {
			t.Fatalf("%d changes in a backup of change %d, %v", len(changes), m.Change, err)
		}
		states := map[int64]int64{}
		for i, c := range changes {
			if c.Number != int64(i)+1 {
				t.Fatalf("change %d is at place %d", c.Number, i+1)
			}
			states[c.HazardID] = c.Number
		}
		for id, n := range states {
			if h, err := restored.Hazards.Get(t.Context(), id); err != nil || h.Version != n {
				t.Errorf("hazard %d is as of change %d, its last one is %d, %v", id, h.Version, n, err)
			}
		}
	}
}

// After a restore, clients that know only changes in the backup continue. Clients that know later
// ones are told that these no longer count.
func streamsAfterARestore(t *testing.T, from *source, to place) {
	m := from.manifest
	if _, _, err := backup.Restore(t.Context(), bytes.NewReader(from.text), to.into(), made, nil); err != nil {
		t.Fatal(err)
	}
	t.Run("restored", func(t *testing.T) {
		s := to.serve(t)
		for _, after := range []int64{m.Change + 1, m.Change + 2} { // committed and acknowledged, but not in the backup
			id, event := first(t, s, after, func() {})
			if event != "reset" || id != m.Change+1_000_000 {
				t.Errorf("after %d: event %q, id %d", after, event, id)
			}
		}
		if id, event := first(t, s, m.Change-1, func() {}); id != m.Change || event == "reset" {
			t.Errorf("after %d: event %q, id %d", m.Change-1, event, id)
		}
		// Clients that have read the whole backup get the new changes next.
		if id, event := first(t, s, m.Change, func() { report(t, s) }); id != m.Change+1_000_001 || event != "hazard.created" {
			t.Errorf("after %d: event %q, id %d", m.Change, event, id)
		}
	})
}

// A migration resets no client.
func streamsAfterAMigration(t *testing.T, from *source, to place) {
	m := from.manifest
	if _, err := backup.Migrate(t.Context(), from.open(t), to.into(), true, made, nil); err != nil {
		t.Fatal(err)
	}
	t.Run("moved", func(t *testing.T) {
		s := to.serve(t)
		if id, event := first(t, s, m.Change-1, func() {}); id != m.Change || event == "reset" {
			t.Errorf("after %d: event %q, id %d", m.Change-1, event, id)
		}
		if id, event := first(t, s, m.Change, func() { report(t, s) }); id != m.Change+1 || event != "hazard.created" {
			t.Errorf("after %d: event %q, id %d", m.Change, event, id)
		}
	})
}

// A server without sources and webhooks holds no lease, so a migration cannot know that it is
// running. No write that it acknowledges may be missing in the new store, so after the migration it
// must acknowledge none.
func TestAForgottenServerAcknowledgesNothingAfterAMigration(t *testing.T) {
	test.SeldomButRaced(t)
	for name, kind := range kinds {
		t.Run("on "+name, func(t *testing.T) {
			old, to := kind(t), kind(t)
			s := server.Serve(t, old.config)
			first := s.Do("red", "POST", "/hazards", flood("before"))
			if first.Status != http.StatusCreated {
				t.Fatalf("%d %s", first.Status, first.Body)
			}
			from := old.open(t)
			_, err := backup.Migrate(t.Context(), from, to.into(), true, made, nil)
			for began := time.Now(); err != nil && strings.Contains(err.Error(), "a server runs on the store") && time.Since(began) < time.Minute; {
				time.Sleep(100 * time.Millisecond) // it sweeps product files at startup
				_, err = backup.Migrate(t.Context(), from, to.into(), true, made, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			if a := s.Do("red", "POST", "/hazards", flood("after")); a.Status != http.StatusServiceUnavailable {
				t.Errorf("a write after the migration: %d %s", a.Status, a.Body)
			}
			if a := s.Do("red", "PATCH", "/hazards/1", map[string]any{"severity_ID": "WARNING"}); a.Status != http.StatusServiceUnavailable {
				t.Errorf("a change after the migration: %d %s", a.Status, a.Body)
			}
			if a := s.Do("reader", "GET", "/hazards/active", nil); a.Status != http.StatusOK {
				t.Errorf("a read after the migration: %d %s", a.Status, a.Body)
			}
			// A load balancer sends it no more requests. The server checks this every second.
			ready := s.Do("", "GET", "/readyz", nil)
			for began := time.Now(); ready.Status == http.StatusOK && time.Since(began) < time.Minute; ready = s.Do("", "GET", "/readyz", nil) {
				time.Sleep(50 * time.Millisecond)
			}
			if ready.Status != http.StatusServiceUnavailable || !strings.Contains(string(ready.Body), "moved") {
				t.Errorf("readyz after the migration: %d %s", ready.Status, ready.Body)
			}
			// A new server on the old store acknowledges nothing either, and a second migration,
			// which would fork the history, is refused.
			cfg := app.Config{Logger: slog.New(slog.DiscardHandler), Settings: app.Settings{Listen: "127.0.0.1:0"}}
			old.config(&cfg)
			other, err := app.Open(t.Context(), cfg)
			if _, moved := errors.AsType[*store.MovedError](err); !moved {
				t.Errorf("a server on the old store: %v, %v", other, err)
			}
			third := kind(t)
			if _, err := backup.Migrate(t.Context(), from, third.into(), true, made, nil); err == nil {
				t.Error("the store moved to two places")
			}
			a := to.serve(t).Do("red", "PATCH", "/hazards/1", map[string]any{"severity_ID": "WARNING"})
			if a.Status != http.StatusOK {
				t.Errorf("a change of the moved store: %d %s", a.Status, a.Body)
			}
		})
	}
}

func flood(name string) map[string]any {
	return map[string]any{"hazard_Name": name, "type_ID": "FLOOD", "severity_ID": "WATCH", "latitude": 53.5, "longitude": 9.9}
}

func report(t testing.TB, s *server.Server) {
	t.Helper()
	a := s.Do("red", "POST", "/hazards", map[string]any{"hazard_Name": "Later", "type_ID": "FLOOD", "severity_ID": "WATCH", "latitude": 1, "longitude": 2})
	if a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
}

// first returns the first event of a stream that resumes after a number. meanwhile is called while
// the stream is open.
func first(t testing.TB, s *server.Server, after int64, meanwhile func()) (id int64, event string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL()+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token("red"))
	req.Header.Set("Last-Event-ID", fmt.Sprint(after))
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	defer resp.Body.Close()
	meanwhile()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			if _, err := fmt.Sscan(text, &id); err != nil {
				t.Fatal(err)
			}
		}
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			event = name
		}
		if lines.Text() == "" && event != "" {
			return id, event
		}
	}
	t.Fatal("the stream has ended")
	return 0, ""
}
