package why_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/why"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/blob"
)

const noon hazard.Instant = 1_780_000_000_000

// bed takes in batches, and keeps them as evidence.
type bed struct {
	t        *testing.T
	store    *store.Store
	intake   *fuse.Intake
	keeper   *evidence.Keeper
	payloads map[string]source.Batch
}

func newBed(t *testing.T) *bed {
	dir := t.TempDir()
	s, err := store.Open(t.Context(), dir, "sqlite:?synchronous=off")
	if err != nil {
		t.Fatal(err)
	}
	k, err := evidence.Open(s, filepath.Join(dir, "evidence"), blob.Settings{}, evidence.Limits{Age: 24 * time.Hour}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = k.Close(), s.Close() })
	known := fuse.Known{Schemes: source.Schemes{"a": {Name: "a"}, "b": {Name: "b"}}}
	return &bed{t, s, fuse.New(s, known), k, map[string]source.Batch{}}
}

// source returns a source whose payloads are names of batches.
func (b *bed) source(name string) *poll.Source {
	return &poll.Source{Source: source.Source{Name: name, Slight: "below the threshold", Parse: func(payload []byte, _ hazard.Instant) (source.Batch, error) {
		batch, ok := b.payloads[string(payload)]
		if !ok {
			return batch, source.Errorf("no payload %s", payload)
		}
		return batch, nil
	}}}
}

// comes takes in a payload of a source.
func (b *bed) comes(src, payload string, at hazard.Instant, batch source.Batch) {
	b.t.Helper()
	for i := range batch.Reports {
		r := &batch.Reports[i]
		r.Source, r.Name, r.Type, r.Severity, r.Start = src, "Flood "+r.Key, hazard.Flood, hazard.Watch, noon-60_000
		r.Point = &hazard.Point{Lon: float64(len(r.Key)), Lat: 50}
	}
	b.payloads[payload] = batch
	digest := evidence.Digest([]byte(payload))
	if _, err := b.intake.Apply(b.t.Context(), src, batch, at, fuse.Options{Payload: digest}); err != nil {
		b.t.Fatal(err)
	}
	receipt := store.Receipt{Source: src, Kind: evidence.Feed, Read: at, Taken: at, Kept: at}
	if err := b.keeper.Keep(context.Background(), receipt, []byte(payload)); err != nil {
		b.t.Fatal(err)
	}
}

// A message that a list held beyond its own end was over when no list held it any more; and it is found
// by its identifier alone.
func TestAListedMessageEndsWithItsLists(t *testing.T) {
	b := newBed(t)
	listed := hazard.Report{Key: "office,W-1,2026-05-28", End: new(noon.Add(time.Hour)), Listed: new(noon.Add(5 * time.Hour))}
	b.comes("a", "first", noon, source.Batch{Reports: []hazard.Report{listed}, Read: 1})
	asker := why.Asker{Store: b.store, Evidence: b.keeper, Limits: why.Usual}
	answer, err := asker.Ask(t.Context(), b.source("a"), "w-1", noon.Add(10*time.Hour))
	if err != nil || len(answer.Entries) != 2 || answer.Entries[0].Result != why.Ended || answer.Entries[0].At != noon.Add(5*time.Hour) {
		t.Errorf("%+v, %v, want the message, which ends five hours later", answer, err)
	}
}

func TestEachResultIsExplained(t *testing.T) {
	b := newBed(t)
	reports := func(all ...hazard.Report) source.Batch { return source.Batch{Reports: all, Read: len(all)} }
	b.comes("b", "other", noon, reports(hazard.Report{Key: "xx", Refs: []string{"a:joined"}}))
	first := reports(hazard.Report{Key: "shown"}, hazard.Report{Key: "joined"}, hazard.Report{Key: "slight", Minor: true}, hazard.Report{Key: "old", End: new(noon.Add(-9 * 24 * time.Hour))},
		hazard.Report{Key: "held", Suspect: "the text says TEST"}, hazard.Report{Key: "replaced", Part: "one", Places: []string{"p"}}, hazard.Report{Key: "over"})
	first.Ignore("festival", "a public event, no hazard")
	first.Rejects = []source.Reject{{Record: "broken", Reason: "time: missing"}}
	b.comes("a", "first", noon, first)
	b.comes("a", "first", noon+1000, first)
	b.comes("a", "second", noon+2000, reports(hazard.Report{Key: "shown"}, hazard.Report{Key: "replaced", Part: "two", Version: 1, Replaces: []string{"one"}, Places: []string{"p"}},
		hazard.Report{Key: "over", Version: int64(noon + 2000), Ended: hazard.EndCancelled}))
	asker := why.Asker{Store: b.store, Evidence: b.keeper, Limits: why.Usual}
	for _, tt := range []struct {
		ref    string
		result why.Result
		rule   string
		hazard bool
	}{
		{"shown", why.Shown, "", true},
		{"a:shown", why.Unchanged, "it says the same as before", true},
		{"joined", why.Joined, "", true},
		{"slight", why.Ignored, "too slight for a hazard of its own: it only changes a hazard that is shown, and none of that name was: below the threshold", false},
		{"old", why.Ignored, "more than 7 days before it came", false},
		{"festival", why.Ignored, "a public event, no hazard", false},
		{"held", why.Held, "the text says TEST", false},
		{"replaced", why.Replaced, `the places of the message "one"`, true},
		{"over", why.Ended, "its source canceled it", true},
		{"broken", why.Rejected, "time: missing", false},
	} {
		answer, err := asker.Ask(t.Context(), b.source("a"), tt.ref, noon+5000)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Since != noon || answer.Payloads != 2 || answer.Stopped != "" {
			t.Errorf("%s: since %v, %d payloads, stopped %q", tt.ref, answer.Since, answer.Payloads, answer.Stopped)
		}
		i := slices.IndexFunc(answer.Entries, func(e why.Entry) bool { return e.Result == tt.result && strings.Contains(e.Rule, tt.rule) })
		if i < 0 {
			t.Errorf("%s: %+v, want %s %q", tt.ref, answer.Entries, tt.result, tt.rule)
			continue
		}
		if e := answer.Entries[i]; (e.Hazard != "") != tt.hazard || e.Time == "" || e.Payload == "" && e.Result != why.Ended {
			t.Errorf("%s: %+v, want a hazard: %v, a time and a payload", tt.ref, e, tt.hazard)
		}
	}
	if answer, err := asker.Ask(t.Context(), b.source("a"), "nosuch", noon+5000); err != nil || len(answer.Entries) != 0 {
		t.Errorf("nosuch: %+v, %v", answer, err)
	}
	asker.Limits.Bytes = -1
	if answer, err := asker.Ask(t.Context(), b.source("a"), "shown", noon+5000); err != nil || answer.Stopped == "" {
		t.Errorf("without a byte: %+v, %v", answer, err)
	}
}

func TestEveryRecordOfTheRecordingsHasAnAnswer(t *testing.T) {
	shared := os.Getenv("HAZARDD_SHARED")
	if shared == "" {
		t.Skip("needs the recordings (HAZARDD_SHARED)")
	}
	known := app.BuiltIn()
	now := hazard.At(time.Date(2026, 9, 22, 0, 0, 0, 0, time.UTC))
	for _, name := range known.Names() {
		src, err := known.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(shared, "feeds", name, "*"))
		below, _ := filepath.Glob(filepath.Join(shared, "feeds", name, "*", "*"))
		files = append(files, below...)
		answers, read := 0, 0
		for _, file := range files {
			payload, err := os.ReadFile(file)
			if err != nil || len(payload) > 4<<20 {
				continue
			}
			batch, err := poll.Parse(&src, payload, now)
			if err != nil {
				continue
			}
			records, _ := why.Records(&src, payload, now)
			for _, r := range records {
				if !slices.Contains(why.Results, r.Result) || r.Rule == "" && r.Result != why.Shown || r.Record == "" {
					t.Errorf("%s: %+v, want a name, a result and its rule", file, r)
				}
			}
			answers, read = answers+len(records), read+batch.Read
			if len(records)+max(0, batch.Further-1) < batch.Read && len(batch.Drawings) == 0 {
				t.Errorf("%s: %d answers for %d records", file, len(records), batch.Read)
			}
		}
		if len(files) > 0 {
			t.Logf("%s: %d records, %d answers", name, read, answers)
		}
	}
}
