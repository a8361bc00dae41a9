package follow_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/store/view"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/datadir"
)

var discard = slog.New(slog.DiscardHandler)

func now() hazard.Instant { return hazard.At(time.Now()) }

// open creates a store, and a tail of it whose memory has these bounds.
func open(t *testing.T, bounds follow.Bounds) (*store.Store, *view.Live, *follow.Tail) {
	t.Helper()
	s, err := store.Open(t.Context(), datadir.Empty(t), "sqlite:?synchronous=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	l, err := view.Open(t.Context(), s.Log, discard, now)
	if err != nil {
		t.Fatal(err)
	}
	return s, l, follow.New(s.Log, l, now, bounds, discard)
}

// change writes a hazard n times, the first time with a product.
func change(t *testing.T, s *store.Store, n int) {
	t.Helper()
	h := &hazard.Hazard{UUID: uuid.New(), Name: "Flood", Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Event, Status: hazard.Active, OrgID: -1}
	_, err := s.Write(t.Context(), now(), store.Origin{}, func(tx *store.Tx) error {
		if err := tx.SaveHazard(h, nil); err != nil {
			return err
		}
		for i := range n {
			after := *h
			after.Description = fmt.Sprint(i)
			if err := tx.SaveHazard(&after, h); err != nil {
				return err
			}
			*h = after
		}
		return tx.SaveProduct(&hazard.Product{UUID: uuid.New(), HazardID: h.ID, Title: "note", Type: hazard.TextProduct, OrgIDs: []int64{7}})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// followLog reads all changes after n, and returns what a follower learns from each.
func followLog(t *testing.T, f *follow.Tail, n int64) (told []string) {
	t.Helper()
	for {
		entries, upTo, wake, err := f.After(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			before, after, err := e.States(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			products, err := e.Products(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			line := fmt.Sprintf("%d %s %q %d", e.Number, e.Kind, after.Description, len(products))
			if before != nil {
				line += fmt.Sprintf(" after %q", before.Description)
			}
			told = append(told, line)
		}
		if n = upTo; wake != nil {
			return told
		}
	}
}

func TestTheSameIsToldFromMemoryAndFromTheLog(t *testing.T) {
	s, l, near := open(t, follow.Memory)
	far := follow.New(s.Log, l, now, follow.Bounds{Changes: 2, Bytes: 1 << 20}, discard)
	change(t, s, 50)
	change(t, s, 3)
	for _, f := range []*follow.Tail{near, far} {
		if err := f.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	a, b := followLog(t, near, 0), followLog(t, far, 0)
	if len(a) != 57 || fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("from memory:\n%q\nfrom the log:\n%q", a, b)
	}
	for i, want := range map[int]string{0: `1 hazard.created "" 0`, 50: `51 hazard.updated "49" 0 after "48"`, 51: `52 product.created "49" 0 after "49"`} {
		if a[i] != want {
			t.Errorf("told %s, want %s", a[i], want)
		}
	}
}

func TestNobodyIsToldOfAChangeThatTheListsDoNotShow(t *testing.T) {
	s, l, f := open(t, follow.Memory)
	change(t, s, 10)
	entries, _, wake, err := f.After(t.Context(), 0)
	if err != nil || len(entries) > 0 || wake == nil {
		t.Errorf("%d changes were delivered before the view has them, %v", len(entries), err)
	}
	if err := f.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-wake
	if entries, upTo, _, err := f.After(t.Context(), 0); err != nil || len(entries) != 12 || upTo > l.Number() {
		t.Errorf("%d changes up to %d, the view is as of %d, %v", len(entries), upTo, l.Number(), err)
	}
}

func TestTextsThatAreMadeOfAChangeAreCountedAndDroppedWithIt(t *testing.T) {
	s, _, f := open(t, follow.Bounds{Changes: 100, Bytes: 1 << 20})
	change(t, s, 4)
	if err := f.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, _, _, err := f.After(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for audience := range 3 {
		for range 2 {
			if _, err := entries[5].Text(audience, func() ([]byte, error) { made++; return make([]byte, 300<<10), nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	if kept, bytes, _, _ := f.Kept(); made != 3 || kept != 6 || bytes < 900<<10 || bytes > 1<<20 {
		t.Errorf("%d texts made, %d changes of %d bytes in memory", made, kept, bytes)
	}
	if _, err := entries[5].Text("one more", func() ([]byte, error) { return make([]byte, 300<<10), nil }); err != nil {
		t.Fatal(err)
	}
	if kept, bytes, from, _ := f.Kept(); kept != 0 || bytes != 0 || from != 6 {
		t.Errorf("%d changes of %d bytes behind %d in memory, which holds less than the last takes", kept, bytes, from)
	}
}

// A stream counts the products of a hazard at each of its changes. The memory for this is also
// limited (B11).
func TestWhatIsKnownOfManyProductsIsBounded(t *testing.T) {
	test.Concurrent(t)
	const products, changes, bound = 2000, 60, 4 << 20
	s, _, f := open(t, follow.Bounds{Changes: 1000, Bytes: bound})
	change(t, s, 0)
	snap, err := s.Log.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := snap.Hazards[0]
	if _, err := s.Write(t.Context(), now(), store.Origin{}, func(tx *store.Tx) error {
		for i := range products {
			if err := tx.SaveProduct(&hazard.Product{UUID: uuid.New(), HazardID: h.ID, Title: fmt.Sprint(i), Type: hazard.TextProduct, OrgID: -1}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := f.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := inUse()
	for i := range changes {
		after := *h
		after.Description = fmt.Sprint(i)
		n, err := s.Write(t.Context(), now(), store.Origin{}, func(tx *store.Tx) error { return tx.SaveHazard(&after, h) })
		if err != nil {
			t.Fatal(err)
		}
		if h = &after; f.CatchUp(t.Context()) != nil {
			t.Fatal("the log cannot be read")
		}
		followLog(t, f, n-1)
	}
	grown := inUse() - before
	kept, bytes, _, _ := f.Kept()
	t.Logf("%d changes in memory, of %d bytes; %d more bytes are in use", kept, bytes, grown)
	if grown > 2*bound || kept == 0 {
		t.Errorf("%d more bytes are in use, the bound is %d; %d changes in memory", grown, bound, kept)
	}
	runtime.KeepAlive(f)
}

// inUse returns how many bytes of the heap are in use.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestAReaderThatFailsHoldsUpNobody(t *testing.T) {
	s, l, f := open(t, follow.Bounds{Changes: 1, Bytes: 1 << 20})
	change(t, s, 20)
	if err := f.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, _, err := f.After(gone, 0); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	change(t, s, 20)
	if err := f.CatchUp(t.Context()); err != nil || l.Number() != 44 {
		t.Errorf("the view is as of %d, %v", l.Number(), err)
	}
	if told := followLog(t, f, 0); len(told) != 44 {
		t.Errorf("another reader gets %d changes", len(told))
	}
}
