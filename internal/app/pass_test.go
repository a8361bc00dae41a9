package app

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/sqlite/pagesum"
)

// A damaged hazard is logged once and does not delay the ends of others. Within a minute after its
// repair, its end is recorded, and the meanwhile received reports of its source are processed. If
// one of these is damaged, that is logged once, too.
func TestADamagedHazardIsLoggedOnceAndTriedAgainEachMinute(t *testing.T) {
	BuiltIn() // outside the bubble, because other tests use its data too
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		st, err := store.Open(t.Context(), dir, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		var log bytes.Buffer
		s := &Service{Store: st, feeding: feeding{intake: BuiltIn().Intake(st)}, cfg: Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Clock: clock.New(nil)}}
		begin := s.Now()
		apply := func(version int64, name string, keys ...string) {
			t.Helper()
			var batch source.Batch
			for i, key := range keys {
				batch.Reports = append(batch.Reports, hazard.Report{Source: "nws", Key: key, Version: version, Name: name, Type: hazard.Flood, Severity: hazard.Advisory,
					Start: begin, End: new(begin.Add(10 * time.Minute)), Point: &hazard.Point{Lon: float64(20 * i), Lat: 45}, Creator: "NWS"})
			}
			if _, err := s.intake.Apply(t.Context(), "nws", batch, hazard.ClockFunc(s.Now), fuse.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		damage := func(statement string) {
			t.Helper()
			d, err := sql.Open("sqlite", "file:"+filepath.Join(dir, store.FileName)+"?vfs="+pagesum.Strict+"&_pragma=busy_timeout(10000)") // the store may be writing
			if err != nil {
				t.Fatal(err)
			}
			_, err = d.ExecContext(t.Context(), statement)
			if err = errors.Join(err, d.Close()); err != nil {
				t.Fatal(err)
			}
		}
		of := func(key string) (h *hazard.Hazard) {
			t.Helper()
			if _, err := st.Write(t.Context(), s.Now(), store.Origin{}, func(tx *store.Tx) error {
				_, id, err := tx.Events.Key("nws", key)
				if err == nil {
					h, err = tx.Hazard(id)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return h
		}
		apply(1, "Flood", "a", "b")
		damage(`UPDATE hazards SET n = n + 1000 WHERE id = (SELECT hazard_id FROM events WHERE event = 'b')`)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := s.pass(ctx); err != nil {
				t.Error(err)
			}
		}()
		apply(2, "Flood, warning", "b")
		apply(3, "Great flood", "a", "b")
		damage(`UPDATE held SET body = '[' || body WHERE version = 2`)
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		if a := of("a"); a.Status != hazard.Expired || a.LastUpdate != begin.Add(10*time.Minute) {
			t.Errorf("its neighbor is %s since %s", a.Status, a.LastUpdate)
		}
		if n := strings.Count(log.String(), "a hazard is damaged"); n != 1 {
			t.Errorf("logged %d times, want once:\n%s", n, log.String())
		}
		damage(`UPDATE hazards SET n = n - 1000 WHERE id = (SELECT hazard_id FROM events WHERE event = 'b')`)
		time.Sleep(mendedEvery + 2*time.Second)
		cancel()
		<-done
		if b := of("b"); b.Status != hazard.Expired || b.Name != "Great flood" {
			t.Errorf("after the repair it is %q, %s", b.Name, b.Status)
		}
		if n, err := st.Reports.CountHeld(t.Context(), "nws"); n != 1 || err != nil {
			t.Errorf("%d reports are held, %v; want the damaged one", n, err)
		}
		if n := strings.Count(log.String(), "a held report is damaged"); n != 1 {
			t.Errorf("that is logged %d times, want once:\n%s", n, log.String())
		}
	})
}
