package fuse_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/nws"
	"github.com/hazardd/hazardd/internal/ingest/sources/usgs"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/datadir"
	"github.com/hazardd/hazardd/internal/test/postgres"
	"github.com/hazardd/hazardd/internal/test/server"
)

// builtIn are the sources; they hold nothing of a store.
var builtIn = app.BuiltIn()

// desk is an empty store and its intake.
type desk struct {
	t      testing.TB
	store  *store.Store
	intake *fuse.Intake
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	s, err := store.Open(t.Context(), datadir.Empty(t), postgres.Database(t, t.TempDir(), "sqlite:?synchronous=off")) // durability does not matter here
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &desk{t, s, builtIn.Intake(s)}
}

// take reads a recording as if it were received at now.
func (d *desk) take(src, name string, now hazard.Instant, opts fuse.Options) fuse.Result {
	d.t.Helper()
	parse := nws.Parse
	if src == usgs.Name {
		parse = usgs.Parse
	}
	batch, err := parse(server.ReadShared(d.t, name), now)
	if err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	res, err := d.intake.Apply(d.t.Context(), src, batch, now, opts)
	if err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	return res
}

// takePieces imports recordings as of now, each divided at random places, with all pieces in random
// order.
func (d *desk) takePieces(seed uint64, src string, names []string, now hazard.Instant) {
	d.t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	parse := nws.Parse
	if src == usgs.Name {
		parse = usgs.Parse
	}
	var pieces [][]hazard.Report
	for _, name := range names {
		batch, err := parse(server.ReadShared(d.t, name), now)
		if err != nil {
			d.t.Fatalf("%s: %v", name, err)
		}
		for rest := batch.Reports; len(rest) > 0; {
			n := 1 + random.IntN(len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
	}
	random.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
	for _, piece := range pieces {
		random.Shuffle(len(piece), func(i, j int) { piece[i], piece[j] = piece[j], piece[i] })
		if _, err := d.intake.Apply(d.t.Context(), src, source.Batch{Reports: piece}, now, fuse.Options{History: true}); err != nil {
			d.t.Fatal(err)
		}
	}
}

// hazards returns every hazard in the log, in its present state.
func (d *desk) hazards() map[string]*hazard.Hazard {
	d.t.Helper()
	all := map[string]*hazard.Hazard{}
	for _, c := range d.changes(0) {
		if c.Hazard != nil {
			all[c.Hazard.UUID.String()] = c.Hazard
		}
	}
	return all
}

func (d *desk) changes(after int64) []hazard.Change {
	d.t.Helper()
	changes, err := d.store.Log.Since(context.Background(), after, 1_000_000)
	if err != nil {
		d.t.Fatal(err)
	}
	return changes
}

func (d *desk) last() int64 {
	n, err := d.store.Log.Last(context.Background())
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

// august lists the recordings of 15 August 2026 in order, with the time of each.
func august(t testing.TB) (names []string, times map[string]hazard.Instant) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(server.Shared(t, "feeds/nws"), "active-2026*.json"))
	if err != nil || len(paths) != 15 {
		t.Fatalf("15 recordings expected, %d found: %v", len(paths), err)
	}
	times = map[string]hazard.Instant{}
	for _, p := range paths {
		name := "feeds/nws/" + filepath.Base(p)
		var doc struct{ T int64 }
		if err := json.Unmarshal(server.ReadShared(t, name), &doc); err != nil {
			t.Fatal(err)
		}
		names, times[name] = append(names, name), hazard.Instant(doc.T)
	}
	return names, times
}

func TestAugustIs205HazardsInAnyOrderAndRepeatedSaysNothingNew(t *testing.T) {
	test.Slow(t)
	names, times := august(t)
	history := fuse.Options{History: true}
	now := times[names[len(names)-1]].Add(time.Hour)

	forward := newDesk(t)
	for _, name := range names {
		res := forward.take("nws", name, times[name], history)
		if res.Rejected != 0 || res.Held != 0 {
			t.Errorf("%s: %d rejected, %d held", name, res.Rejected, res.Held)
		}
	}
	want := forward.hazards()
	if len(want) != 205 {
		t.Fatalf("%d hazards, want 205", len(want))
	}
	storm := want[hazard.EventUUID("nws", "PHFO.TR.W.3001.2026").String()]
	if storm == nil {
		t.Fatal("the tropical storm warning is no hazard")
	}
	if storm.Status != hazard.Active || storm.Severity != hazard.Warning || storm.Type != hazard.Cyclone || len(storm.Areas) != 1 {
		t.Errorf("tropical storm warning: %+v", storm)
	}
	before := forward.last()
	for _, name := range names {
		forward.take("nws", name, now, history)
	}
	// Importing the same again records only what time has changed: ends.
	for _, c := range forward.changes(before) {
		if c.Hazard == nil || c.Hazard.Status != hazard.Expired && len(c.Hazard.Areas) == 0 {
			t.Errorf("change %d (%s) contains nothing new", c.Number, c.Kind)
		}
	}
	before = forward.last()
	for _, name := range slices.Backward(names) {
		forward.take("nws", name, now, history)
	}
	if n := forward.last() - before; n != 0 {
		t.Errorf("importing the same in reverse made %d changes", n)
	}
	final := forward.hazards()

	seed := rand.Uint64()
	for order, take := range map[string]func(*desk){
		"reversed": func(d *desk) {
			for _, name := range slices.Backward(names) {
				d.take("nws", name, now, history)
			}
		},
		fmt.Sprintf("cut and shuffled (seed %d)", seed): func(d *desk) { d.takePieces(seed, "nws", names, now) },
	} {
		d := newDesk(t)
		take(d)
		got := d.hazards()
		if len(got) != len(final) {
			t.Errorf("%s: %d hazards, want %d", order, len(got), len(final))
		}
		for id, h := range final {
			o := got[id]
			if o == nil {
				t.Errorf("%s: hazard %s is missing", order, h.Name)
				continue
			}
			// Only numbers and creation times may depend on the order.
			ignored := cmp.Options{cmpopts.IgnoreFields(hazard.Hazard{}, "ID", "Version", "Created", "Updated", "LastUpdate"), cmpopts.IgnoreFields(hazard.Measurement{}, "Since")} // from our clock
			if diff := cmp.Diff(*h.ExpireAt(now), *o.ExpireAt(now), ignored); diff != "" {
				t.Errorf("%s: %s differs (-forward +this):\n%s", order, h.Comment, diff)
			}
		}
	}
}
