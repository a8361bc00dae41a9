package store_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
)

// fill writes that many pages and more in one transaction, as background work. n makes them differ from
// those before.
func fill(t *testing.T, s *store.Store, pages, n int) {
	t.Helper()
	if err := s.Sources.SaveState(store.Patient(t.Context()), "nws", bytes.Repeat([]byte{byte('a' + n%20)}, pages*8192)); err != nil {
		t.Error(err)
	}
}

// A commit does not move the write-ahead log into the file: on a slow disk that made it wait for three
// syncs, and an editor for four commits. Somebody else does.
func TestACommitDoesNotMoveTheLog(t *testing.T) {
	s, err := store.Open(t.Context(), t.TempDir(), "sqlite:?synchronous=off")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	end := s.KeepLog()
	_, before, err := s.LogFrames(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		fill(t, s, 500, n)
	}
	frames, moved, err := s.LogFrames(t.Context())
	if err != nil || frames < 2000 || moved != before {
		t.Errorf("of %d frames %d were moved, %d before: %v", frames, moved, before, err)
	}
	end()
	for deadline := time.Now().Add(5 * time.Minute); moved < frames && err == nil && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		_, moved, err = s.LogFrames(t.Context())
	}
	if err != nil || moved < frames {
		t.Errorf("of %d frames %d were moved: %v", frames, moved, err)
	}
}

// However steadily background work writes, the log begins anew before it is long, and people can write.
func TestTheLogStaysShort(t *testing.T) {
	test.Seconds(t)
	dir := t.TempDir()
	s, err := store.Open(t.Context(), dir, "sqlite:?synchronous=off")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const total, part = 24_000, 200 // frames
	var left atomic.Int64
	left.Store(total)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for n := left.Add(-part); n >= 0; n = left.Add(-part) {
				fill(t, s, part, int(n/part))
			}
		})
	}
	for left.Load() > 0 {
		if _, err := s.Write(t.Context(), hazard.Instant(1), store.Origin{User: "red"}, func(*store.Tx) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
	info, err := os.Stat(filepath.Join(dir, store.FileName+"-wal"))
	if err != nil || info.Size() > total*2/3*8192 {
		t.Errorf("the log has %d MiB after %d were written: %v", info.Size()>>20, total*8192>>20, err)
	}
}
