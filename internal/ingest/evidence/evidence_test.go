package evidence_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/test/postgres"
	"github.com/hazardd/hazardd/internal/test/s3"
)

// bed is a store with evidence, and a way to count its contents.
type bed struct {
	*evidence.Keeper
	store *store.Store
	count func() int
	dir   string
}

func open(t *testing.T, set blob.Settings, limits evidence.Limits) *bed {
	t.Helper()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), dir, postgres.Database(t, dir, "sqlite:?synchronous=off"))
	if err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(dir, "evidence")
	k, err := evidence.Open(s, place, set, limits, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(k.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	return &bed{k, s, func() int {
		n := 0
		p, err := blob.Open(place, set.Below("evidence"))
		if err == nil {
			err = errors.Join(p.Each(t.Context(), func(blob.Name, time.Time) error { n++; return nil }), p.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		return n
	}, place}
}

const start hazard.Instant = 1_780_000_000_000

func (b *bed) keep(t *testing.T, source, payload string, at hazard.Instant) string {
	t.Helper()
	if err := b.Keep(t.Context(), store.Receipt{Source: source, Kind: evidence.Feed, Read: at, Taken: at, Kept: at}, []byte(payload)); err != nil {
		t.Fatal(err)
	}
	return evidence.Digest([]byte(payload))
}

func TestAPayloadIsKeptOnceAndForItsTime(t *testing.T) {
	for name, set := range map[string]func(*testing.T) blob.Settings{
		"folder": func(*testing.T) blob.Settings { return blob.Settings{} },
		"bucket": func(t *testing.T) blob.Settings { return s3.New(t).Settings() },
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, set(t), evidence.Limits{Age: time.Hour, Bytes: 1 << 20})
			text := strings.Repeat("a list of hazards ", 10_000)
			digest := b.keep(t, "usgs", text, start)
			b.keep(t, "usgs", "old", start)
			b.keep(t, "gdacs", text, start.Add(50*time.Minute))
			use, err := b.store.Evidence.Usage(t.Context())
			if err != nil || use.Payloads != 2 || b.count() != 2 || use.Bytes < int64(len(text)) || use.Kept > use.Bytes/50 || use.Oldest != start {
				t.Errorf("usage %+v of %d contents, %v", use, b.count(), err)
			}
			if got, err := b.Read(t.Context(), digest); err != nil || !bytes.Equal(got, []byte(text)) {
				t.Errorf("read %d bytes, %v", len(got), err)
			}
			if head, err := b.Beginning(t.Context(), digest, 6); err != nil || string(head) != "a list" {
				t.Errorf("begins %q, %v", head, err)
			}
			if n, err := b.Sweep(t.Context(), start.Add(61*time.Minute)); err != nil || n != 1 || b.count() != 1 {
				t.Errorf("%d removed, %d stay, %v", n, b.count(), err)
			}
			list, err := b.store.Evidence.Receipts(t.Context(), 0, 10)
			if err != nil || len(list) != 1 || list[0].Source != "gdacs" || list[0].ID != 3 {
				t.Errorf("receipts %+v, %v", list, err)
			}
			if _, err := b.Read(t.Context(), evidence.Digest([]byte("old"))); !errors.Is(err, hazard.ErrNotFound) {
				t.Errorf("the old one: %v", err)
			}
			b.keep(t, "usgs", "old", start.Add(62*time.Minute)) // under another name
			if got, err := b.Read(t.Context(), evidence.Digest([]byte("old"))); err != nil || string(got) != "old" {
				t.Errorf("come again: %q, %v", got, err)
			}
		})
	}
}

func TestOfTooMuchEvidenceTheOldestGoes(t *testing.T) {
	b := open(t, blob.Settings{}, evidence.Limits{Age: 24 * time.Hour, Bytes: 1500})
	var last string
	for i := range 300 {
		last = b.keep(t, "usgs", fmt.Sprint("payload ", i), start.Add(time.Duration(i)*time.Second))
	}
	if _, err := b.Sweep(t.Context(), start.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	use, err := b.store.Evidence.Usage(t.Context())
	if err != nil || use.Kept > 1500 || use.Kept < 1000 || int64(b.count()) != use.Payloads {
		t.Errorf("usage %+v, %v", use, err)
	}
	list, err := b.store.Evidence.Receipts(t.Context(), 0, 1000)
	if err != nil || int64(len(list)) != use.Payloads || list[len(list)-1].Payload != last || list[0].Kept != use.Oldest {
		t.Errorf("%d receipts for %d payloads, %v", len(list), use.Payloads, err)
	}
}

func TestEvidenceThatIsOffIsRemoved(t *testing.T) {
	b := open(t, blob.Settings{}, evidence.Limits{Age: time.Hour})
	b.keep(t, "usgs", "one", start)
	off, err := evidence.Open(b.store, b.dir, blob.Settings{}, evidence.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer off.Close()
	if err := off.Keep(t.Context(), store.Receipt{Source: "usgs", Kind: evidence.Feed, Kept: start}, []byte("two")); err != nil || b.count() != 1 {
		t.Errorf("kept %d contents, %v", b.count(), err)
	}
	if n, err := off.Sweep(t.Context(), start.Add(time.Second)); err != nil || n != 1 || b.count() != 0 {
		t.Errorf("%d removed, %d stay, %v", n, b.count(), err)
	}
	var none *evidence.Keeper
	none.Note(t.Context(), store.Receipt{}, nil)
	if _, _, err := none.Open(t.Context(), "x"); !errors.Is(err, hazard.ErrNotFound) {
		t.Errorf("without a keeper: %v", err)
	}
}

// A process may die between storing a content and naming it, and a removal may fail.
func TestContentsThatNoRowNamesAreTidied(t *testing.T) {
	b := open(t, blob.Settings{}, evidence.Limits{Age: time.Hour})
	digest := b.keep(t, "usgs", "one", start)
	stray := filepath.Join(b.dir, "ab", "ab"+strings.Repeat("0", 62)+".7")
	old := time.Now().Add(-2 * time.Hour)
	if err := errors.Join(os.MkdirAll(filepath.Dir(stray), 0o700), os.WriteFile(stray, nil, 0o600), os.Chtimes(stray, old, old)); err != nil {
		t.Fatal(err)
	}
	err := fs.WalkDir(os.DirFS(b.dir), ".", func(p string, e fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(filepath.Join(b.dir, p), old, old))
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := b.Tidy(t.Context(), hazard.At(time.Now())); err != nil || n != 1 {
		t.Errorf("%d removed, %v", n, err)
	}
	if _, err := b.Read(t.Context(), digest); err != nil {
		t.Error(err)
	}
}
