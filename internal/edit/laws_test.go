package edit_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
)

// Users of two organizations and of none, and an admin, write at random, and sources report. An
// active real hazard leaves the active list only because of a user who may write it, its own
// source, or its end. If it was merged, the other hazard is active and real.
func TestNoWarningDisappearsByOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	rapid.Check(t, func(rt *rapid.T) {
		e, s := newEditor(t)
		g := &game{t: rt, ctx: t, editor: e, store: s, intake: fuse.New(s, fuse.Known{}), now: now}
		rt.Repeat(map[string]func(*rapid.T){
			"create": g.create, "patch": g.patch, "end": g.end, "retract": g.retract, "merge": g.merge, "split": g.split, "undo": g.undo,
			"product": g.product, "report": g.report, "": func(*rapid.T) {},
		})
	})
}

// game is a store with many writers.
type game struct {
	t       *rapid.T
	ctx     testing.TB
	editor  *edit.Editor
	store   *store.Store
	intake  *fuse.Intake
	now     hazard.Instant
	changes []int64
}

var players = []edit.Author{editor, other, admin, reader,
	{Caller: auth.Caller{Name: "free", Role: auth.Editor}}}

func (g *game) who() edit.Author { return rapid.SampledFrom(players).Draw(g.t, "who") }

func (g *game) all() (all []*hazard.Hazard) {
	ids, err := g.store.Hazards.IDs(g.ctx.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	for _, id := range ids {
		h, err := g.store.Hazards.Get(g.ctx.Context(), id)
		if err != nil {
			g.t.Fatal(err)
		}
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b *hazard.Hazard) int { return int(a.ID - b.ID) })
	return all
}

func (g *game) any() (*hazard.Hazard, edit.Ref) {
	all := g.all()
	if len(all) == 0 {
		g.t.Skip("no hazard")
	}
	h := rapid.SampledFrom(all).Draw(g.t, "hazard")
	return h, edit.Ref{ID: h.ID}
}

// turn lets somebody write, and then checks the hazards that were active.
func (g *game) turn(who *edit.Author, src string, write func(now hazard.Instant) error) {
	g.now = g.now.Add(time.Minute)
	before := g.all()
	err := write(g.now)
	if _, invalid := errors.AsType[*hazard.InvalidError](err); err != nil && !invalid && !errors.Is(err, hazard.ErrForbidden) && !errors.Is(err, hazard.ErrConflict) && !errors.Is(err, hazard.ErrNotFound) {
		g.t.Fatal(err)
	}
	byUUID := map[uuid.UUID]*hazard.Hazard{}
	after := g.all()
	for _, h := range after {
		byUUID[h.UUID] = h
	}
	for _, b := range before {
		h := byUUID[b.UUID]
		if h.Drill() != b.Drill() {
			g.t.Fatalf("hazard %d was %s and is %s", b.ID, b.Reality(), h.Reality())
		}
		if err != nil && h.Version != b.Version {
			g.t.Fatalf("a write that was refused (%v) changed hazard %d", err, b.ID)
		}
		if b.Drill() || !b.ActiveAt(g.now) || h.ActiveAt(g.now) {
			continue
		}
		owner := who != nil && (who.Role == auth.Admin || who.Role == auth.Editor && (b.OrgID == hazard.NoOrg || slices.Contains(who.Orgs, b.OrgID)))
		if !owner && !(src != "" && b.Source != "" && b.OrgID == hazard.NoOrg) {
			g.t.Fatalf("hazard %d of organization %d and source %q left the active list by %+v and source %q: %s", b.ID, b.OrgID, b.Source, who, src, h.Reason)
		}
		if h.Reason != hazard.EndMerged {
			continue
		}
		if next := byUUID[h.Successor]; next == nil || !next.ActiveAt(g.now) || next.Drill() {
			g.t.Fatalf("hazard %d became part of %+v, which is no active real hazard", b.ID, next)
		}
	}
}

func (g *game) create(*rapid.T) {
	who := g.who()
	category := rapid.SampledFrom([]string{"EVENT", "EXERCISE"}).Draw(g.t, "category")
	g.turn(&who, "", func(now hazard.Instant) error {
		_, err := g.editor.CreateHazard(g.ctx.Context(), who, nil, fmt.Appendf(nil, `{"hazard_Name":"H","type_ID":"FLOOD","severity_ID":"WARNING","latitude":1,"longitude":2,"category_ID":%q}`, category), now)
		return err
	})
}

// by lets somebody change a hazard with a request body.
func (g *game) by(f func(who edit.Author, id edit.Ref, h *hazard.Hazard, now hazard.Instant) (int64, error)) {
	who := g.who()
	h, id := g.any()
	g.turn(&who, "", func(now hazard.Instant) error {
		last, err := f(who, id, h, now)
		if last > 0 {
			g.changes = append(g.changes, last)
		}
		return err
	})
}

func (g *game) patch(*rapid.T) {
	body := rapid.SampledFrom([]string{`{"hazard_Name":"N"}`, `{"category_ID":"RESPONSE"}`, `{"category_ID":"EXERCISE"}`, `{"category_ID":"EVENT"}`, `{"status":"A"}`, `{"autoexpire":"Y"}`}).Draw(g.t, "body")
	g.by(func(who edit.Author, id edit.Ref, _ *hazard.Hazard, now hazard.Instant) (int64, error) {
		done, err := g.editor.PatchHazard(g.ctx.Context(), who, id, nil, []byte(body), now)
		return done.Last, err
	})
}

func (g *game) end(*rapid.T) {
	g.by(func(who edit.Author, id edit.Ref, _ *hazard.Hazard, now hazard.Instant) (int64, error) {
		done, err := g.editor.PatchHazard(g.ctx.Context(), who, id, nil, []byte(`{"status":"E"}`), now)
		return done.Last, err
	})
}

func (g *game) retract(*rapid.T) {
	g.by(func(who edit.Author, id edit.Ref, _ *hazard.Hazard, now hazard.Instant) (int64, error) {
		done, err := g.editor.Retract(g.ctx.Context(), who, id, nil, []byte(`{"reason":"r"}`), now)
		return done.Last, err
	})
}

func (g *game) merge(*rapid.T) {
	into, _ := g.any()
	g.by(func(who edit.Author, id edit.Ref, _ *hazard.Hazard, now hazard.Instant) (int64, error) {
		done, err := g.editor.Merge(g.ctx.Context(), who, id, nil, fmt.Appendf(nil, `{"into":%d}`, into.ID), now)
		return done.Last, err
	})
}

func (g *game) split(*rapid.T) {
	src, n := g.event()
	g.by(func(who edit.Author, id edit.Ref, _ *hazard.Hazard, now hazard.Instant) (int64, error) {
		done, err := g.editor.Split(g.ctx.Context(), who, id, nil, fmt.Appendf(nil, `{"source":%q,"event":"e%d"}`, src, n), now)
		return done.Last, err
	})
}

func (g *game) undo(*rapid.T) {
	if len(g.changes) == 0 {
		g.t.Skip("nothing to undo")
	}
	change := rapid.SampledFrom(g.changes).Draw(g.t, "change")
	g.by(func(who edit.Author, id edit.Ref, _ *hazard.Hazard, now hazard.Instant) (int64, error) {
		done, err := g.editor.Undo(g.ctx.Context(), who, id, nil, fmt.Appendf(nil, `{"change":%d}`, change), now)
		return done.Last, err
	})
}

func (g *game) product(*rapid.T) {
	g.by(func(who edit.Author, id edit.Ref, _ *hazard.Hazard, now hazard.Instant) (int64, error) {
		_, err := g.editor.CreateProduct(g.ctx.Context(), who, id, nil, []byte(`{"title":"T","product_Type":"TEXT_PRODUCT","data":"d"}`), nil, now)
		return 0, err
	})
}

func (g *game) event() (src string, n int) {
	return rapid.SampledFrom([]string{"usgs", "emsc"}).Draw(g.t, "source"), rapid.IntRange(0, 2).Draw(g.t, "event")
}

// report lets a source report an event. Another source may report it too, near enough to be the
// same.
func (g *game) report(*rapid.T) {
	src, n := g.event()
	category := rapid.SampledFrom([]hazard.Category{hazard.Event, hazard.Event, hazard.Exercise}).Draw(g.t, "category")
	refs := rapid.SliceOfN(rapid.SampledFrom([]string{"x:1", "x:2"}), 0, 2).Draw(g.t, "refs")
	g.turn(nil, src, func(at hazard.Instant) error {
		r := hazard.Report{Source: src, Key: fmt.Sprintf("e%d", n), Version: int64(at), Type: hazard.Earthquake, Severity: hazard.Warning, Name: "Quake", Category: category,
			Start: now.Add(time.Duration(n) * 5 * time.Second), Point: &hazard.Point{Lon: float64(n) / 10, Lat: 1}, Refs: refs}
		if rapid.Bool().Draw(g.t, "over") {
			r.Ended, r.EndedAt = hazard.EndCancelled, &at
		}
		_, err := g.intake.Apply(g.ctx.Context(), src, source.Batch{Reports: []hazard.Report{r}, Read: 1}, at, fuse.Options{})
		return err
	})
}
