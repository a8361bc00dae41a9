package backup_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/backup"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// Recorded data of sources is copied to PostgreSQL and back without the loss of a byte.
func TestRecordingsGoThereAndBack(t *testing.T) {
	test.NoRace(t)
	test.Slow(t)
	from, there, again := kinds["SQLite"](t), kinds["PostgreSQL"](t), kinds["SQLite"](t)
	from.database = "sqlite:?synchronous=off"
	record(t, from.open(t))
	before := from.ask(t, "admin") // a store that was migrated cannot be opened for writing
	if _, err := backup.Migrate(t.Context(), from.open(t), there.into(), true, made, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sums(t, from), sums(t, there)); diff != "" {
		t.Error("tables differ in PostgreSQL:", diff)
	}
	text, _, totals := back(t, there.open(t))
	if _, _, err := backup.Restore(t.Context(), bytes.NewReader(text), again.into(), made, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sums(t, from, replaced...), sums(t, again, replaced...)); diff != "" {
		t.Error("tables differ after the way back:", diff)
	}
	if diff := cmp.Diff(before, again.ask(t, "admin")); diff != "" {
		t.Error("answers differ:", diff)
	}
	for _, table := range totals.Tables {
		switch table.Name {
		case "hazards", "changes", "events", "reports", "geometries", "event_keys", "event_refs", "products", "held":
			if table.Rows < 10 {
				t.Errorf("only %d rows of %s were there to be moved", table.Rows, table.Name)
			}
		}
	}
	t.Logf("%d rows in %d bytes", totals.Rows(), len(text))
}

// record imports a few recordings of each source, in the order of time.
func record(t *testing.T, s *store.Store) {
	t.Helper()
	recordings.Path(t, "feeds")
	table, err := os.ReadFile("../../app/testdata/recordings.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := app.BuiltIn()
	in := known.Intake(s)
	taken := map[string]int{}
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[0] == "#" || fields[1] == "-" || fields[3] == "refused" || taken[fields[1]] > 8 {
			continue
		}
		src, err := known.Find(fields[1])
		if err != nil {
			continue // a source that needs configuration
		}
		at, err := time.Parse(time.RFC3339, fields[2])
		if err != nil {
			continue // a note
		}
		batch, err := src.Parse(recordings.Read(t, "feeds/"+fields[0]), hazard.At(at))
		if err != nil {
			t.Fatalf("%s: %v", fields[0], err)
		}
		if _, err := in.Apply(t.Context(), src.Name, batch, hazard.At(at), fuse.Options{History: true}); err != nil {
			t.Fatalf("%s: %v", fields[0], err)
		}
		taken[fields[1]]++
	}
	// Record ends now, because otherwise the service would record them at each start, at a
	// different time.
	if err := in.PassUntil(t.Context(), hazard.At(time.Now())); err != nil {
		t.Fatal(err)
	}
	if len(taken) < 8 {
		t.Fatalf("recordings of %d sources: %v", len(taken), taken)
	}
}
