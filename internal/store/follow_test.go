package store_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/sqlite/pagesum"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

// During continuous writes the write-ahead log stays short, and no page is missed: the file built
// from the pages is byte for byte the same.
func TestAFollowerMissesNoPageAndKeepsTheLogShort(t *testing.T) {
	test.NoRace(t)
	test.Seldom(t)
	store.LowerLongLog(t, 1<<20)
	dir := filepath.Join(t.TempDir(), "data")
	s, err := store.Open(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.Follow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var whole []byte
	take := func(p store.Pages, pages iter.Seq2[uint32, []byte]) error {
		whole = append(whole, make([]byte, max(0, int(p.Pages)*p.PageSize-len(whole)))...)[:int(p.Pages)*p.PageSize]
		for number, page := range pages {
			if number <= p.Pages {
				copy(whole[int(number-1)*p.PageSize:], page)
			}
		}
		return nil
	}
	if err := f.All(t.Context(), take); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	writers.Go(func() {
		for n := 0; n < 600 && ctx.Err() == nil; n++ {
			if _, err := s.Write(t.Context(), noon, store.Origin{User: "ada"}, func(tx *store.Tx) error {
				return tx.SaveHazard(&hazard.Hazard{UUID: uuid.New(), Name: fmt.Sprint("Flood ", n), Description: strings.Repeat("x", n%5000), Type: hazard.Flood, Severity: hazard.Watch,
					Category: hazard.Event, Status: hazard.Active}, nil)
			}); err != nil {
				t.Error(err)
				return
			}
		}
		end()
	})
	longest := int64(0)
	for done := false; !done; {
		done = ctx.Err() != nil
		if err := f.Next(t.Context(), take); err != nil {
			t.Fatal(err)
		}
		if err := f.Shorten(t.Context()); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(dir, store.FileName+"-wal")); err == nil {
			longest = max(longest, info.Size())
		}
	}
	writers.Wait()
	if err := f.Next(t.Context(), take); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	if !pagesum.Has(whole) || len(whole) != len(file) {
		t.Fatalf("%d bytes, the file has %d", len(whole), len(file))
	}
	const size = 8192
	for number := range len(whole) / size {
		page := whole[number*size:][:size]
		pagesum.Seal(page, uint32(number+1))
		if !bytes.Equal(page, file[number*size:][:size]) {
			t.Errorf("page %d differs", number+1)
		}
	}
	// Each write is about 30 pages. All of them would be 140 MB.
	if longest > 64<<20 {
		t.Errorf("the log had %d bytes", longest)
	}
	t.Logf("the log had at most %d bytes", longest)
}

func TestAStoreOnPostgreSQLIsNotFollowed(t *testing.T) {
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "data"), postgres.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := s.Follow(t.Context()); err == nil || !strings.Contains(err.Error(), "pg_basebackup") {
		t.Errorf("%v", err)
	}
}
