package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/minio/minio-go/v7"

	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/backup"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/s3"
)

// years is a store of several years in which sources and people have changed hazards.
type years struct {
	s     *store.Store
	now   hazard.Instant
	areas int
}

// write commits f at the current time of y.
func (y *years) write(t testing.TB, origin store.Origin, f func(*store.Tx) error) {
	t.Helper()
	if _, err := y.s.Write(t.Context(), hazard.ClockFunc(func() hazard.Instant { return y.now }), origin, f); err != nil {
		t.Fatal(err)
	}
}

// report saves a state of a hazard, with an area of its own.
func (y *years) report(t testing.TB, h, before *hazard.Hazard, by store.Origin) *hazard.Hazard {
	t.Helper()
	now := *h
	y.areas++
	now.LastUpdate = y.now
	if expiry := before != nil && before.Status == hazard.Active && now.Reason == hazard.EndExpired; !expiry {
		now.Updated = y.now
	}
	y.write(t, by, func(tx *store.Tx) (err error) {
		now.Areas, err = tx.KeepAreas([]hazard.Area{{Role: hazard.AlertArea, Geometry: fmt.Sprintf(`{"type":"Point","coordinates":[%d.5,1]}`, y.areas)}})
		if err != nil {
			return err
		}
		return tx.SaveHazard(&now, before)
	})
	return &now
}

func quake(name string, at hazard.Instant) *hazard.Hazard {
	return &hazard.Hazard{UUID: uuid.New(), Name: name, Type: hazard.Earthquake, Severity: hazard.Advisory, Category: hazard.Event, Status: hazard.Active,
		AutoExpire: true, Start: at, End: at.Add(time.Hour), Created: at, LastUpdate: at, Updated: at, OrgID: -1, Longitude: 1.5, Latitude: -2, Source: "usgs"}
}

// pasts returns the answers of a store about some moments, as text.
func pasts(t testing.TB, s *store.Store, moments []hazard.Instant, now hazard.Instant) (all []string) {
	t.Helper()
	for _, at := range moments {
		page, err := s.Search.Find(t.Context(), query.Query{At: &at, Limit: 1000}, nil, now)
		if err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		for _, h := range page.Hazards {
			fmt.Fprintf(&said, "%d %s %s v%d\n", h.ID, h.Name, h.Status, h.Version)
			one, err := s.Log.HazardAt(t.Context(), h.ID, at)
			if err != nil || one.Version != h.Version {
				t.Fatal(one, err)
			}
			if _, err := s.Log.Areas(t.Context(), h.Areas); err != nil {
				t.Errorf("hazard %d at %s: %v", h.ID, at, err)
			}
		}
		all = append(all, said.String())
	}
	return all
}

func TestWhatIsKeptAnswersAsBefore(t *testing.T) {
	test.Concurrent(t)
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			pick, pruned := rand.New(rand.NewPCG(1, 2)), int64(0)
			for range map[string]int{"SQLite": 5, "PostgreSQL": 1}[name] {
				pruned += keepsItsWord(t, pick, kind(t))
			}
			if pruned == 0 {
				t.Error("nothing was pruned")
			}
		})
	}
}

// keepsItsWord makes a random history, prunes it, and compares the answers of the store with those
// before.
func keepsItsWord(t *testing.T, pick *rand.Rand, p place) int64 {
	within := func(least, most int) int { return least + pick.IntN(most-least+1) }
	const day = 24 * time.Hour
	end := hazard.At(made)
	y := &years{s: p.open(t), now: end.Add(-1000 * day)}
	var all []*hazard.Hazard
	usgs, red := store.Origin{Source: "usgs"}, store.Origin{User: "red", Addr: "192.0.2.1"}
	var moments []hazard.Instant
	for i := range 60 {
		y.now = min(end.Add(-time.Hour), y.now.Add(time.Duration(within(1, 30*24))*time.Hour))
		moments = append(moments, y.now)
		which := within(0, len(all)*5/4+1)
		if which >= len(all) {
			all = append(all, y.report(t, quake(fmt.Sprint("quake ", i), y.now), nil, usgs))
			continue
		}
		before, by := all[which], usgs
		h := *before
		switch what := within(0, 9); {
		case before.Status == hazard.Expired && what < 7:
			h.Comment = fmt.Sprint("late word ", i)
		case what < 6:
			h.Name, h.End = fmt.Sprint("quake ", i), y.now.Add(time.Hour)
		case what < 9:
			h.Status, h.End, h.Reason = hazard.Expired, y.now, hazard.EndExpired
		default:
			h.Comment, by = fmt.Sprint("seen by red ", i), red
		}
		all[which] = y.report(t, &h, before, by)
	}
	before := made.Add(-time.Duration(within(31, 600)) * day)
	horizon := hazard.At(before)
	kept := slices.DeleteFunc(slices.Clone(moments), func(at hazard.Instant) bool { return at < horizon })
	kept = append(kept, horizon)
	said := pasts(t, y.s, kept, end)
	total, err := y.s.Log.Since(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	dry, err := backup.Prunable(t.Context(), y.s, store.History, before)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), uuid.NewString())
	done, err := backup.Prune(t.Context(), y.s, backup.Keep{Dir: dir}, store.History, before, "v1", made, nil)
	if err != nil {
		t.Fatal(err)
	}
	if done.Rows != dry.Rows {
		t.Errorf("%d rows were pruned, the dry run counted %d", done.Rows, dry.Rows)
	}
	if diff := cmp.Diff(said, pasts(t, y.s, kept, end)); diff != "" {
		t.Errorf("answers about kept moments (-before +after):\n%s", diff)
	}
	var faults []string
	checked, err := y.s.Check(t.Context(), func(what string) { faults = append(faults, what) })
	if err != nil || len(faults) > 0 {
		t.Errorf("a check after it: %v %v", faults, err)
	}
	left, err := y.s.Log.Since(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	// The CAP message of a hazard's present state keeps its name.
	for _, h := range all {
		of := func(c hazard.Change) bool { return c.HazardID != h.ID }
		was, is := format.Versions(slices.DeleteFunc(slices.Clone(total), of)), format.Versions(slices.DeleteFunc(slices.Clone(left), of))
		if was[len(was)-1] != is[len(is)-1] {
			t.Errorf("the CAP message of hazard %d was %+v, now it is %+v", h.ID, was[len(was)-1], is[len(is)-1])
		}
	}
	there, areas := map[int64]bool{}, map[string]bool{}
	for _, c := range left {
		there[c.Number] = true
		for _, ref := range c.Hazard.Areas {
			areas[ref.Digest] = true
		}
	}
	if checked.Geometries != int64(len(areas)) || checked.Geometries+done.Geometries != int64(y.areas) || done.Rows > 0 && done.Geometries == 0 {
		t.Errorf("%d areas are stored, the remaining states refer to %d; of %d written areas %d were removed", checked.Geometries, len(areas), y.areas, done.Geometries)
	}
	for _, c := range total {
		switch h := all[slices.IndexFunc(all, func(h *hazard.Hazard) bool { return h.ID == c.HazardID })]; {
		case there[c.Number]:
		case h.Status == hazard.Active, c.At >= horizon, c.Actor != "", c.Kind == hazard.HazardCreated, c.Number == h.Version:
			t.Errorf("change %d (%s by %q at %s) of hazard %d (%s) was pruned", c.Number, c.Kind, c.Actor, c.At, h.ID, h.Status)
		}
	}
	if len(total)-len(left) != int(done.Rows) {
		t.Errorf("%d changes were removed, %d were counted", len(total)-len(left), done.Rows)
	}
	if done.Rows == 0 {
		return 0
	}
	// Moments before the horizon are refused, and the archive has every row.
	early := horizon - 1
	for what, err := range map[string]error{
		"search":   second(y.s.Search.Find(t.Context(), query.Query{At: &early, Limit: 1}, nil, end)),
		"hazard":   second(y.s.Log.HazardAt(t.Context(), 1, early)),
		"products": second(y.s.Log.ProductsAt(t.Context(), 1, nil, early)),
		"change":   second(y.s.Log.ChangeAt(t.Context(), early)),
		"page":     second(y.s.Log.Page(t.Context(), store.LogPage{Limit: 1, Bytes: 1, Hazard: 1, At: &early})),
	} {
		if err == nil || !strings.Contains(err.Error(), filepath.Base(done.Archives[0])) {
			t.Errorf("%s before the horizon: %v", what, err)
		}
	}
	text, err := os.ReadFile(done.Archives[0])
	if err != nil {
		t.Fatal(err)
	}
	m, totals, err := backup.Verify(t.Context(), bytes.NewReader(text), nil)
	if err != nil || totals.Tables[0].Rows != done.Rows || m.Pruned == nil || totals.Tables[1].Rows < done.Geometries {
		t.Errorf("the archive: %+v %+v %v", m, totals, err)
	}
	if _, _, err := backup.Restore(t.Context(), bytes.NewReader(text), kinds["SQLite"](t).into(), made, nil); err == nil || !strings.Contains(err.Error(), "restore a backup") {
		t.Errorf("an archive of pruned rows as a backup: %v", err)
	}
	return done.Rows
}

func second[T any](_ T, err error) error { return err }

// Concurrent readers get the same answers, and concurrent writers wait for no more than a few rows.
func TestPruningLeavesTheWriterAndTheActiveAlone(t *testing.T) {
	y := &years{s: kinds["SQLite"](t).open(t), now: hazard.At(made).Add(-400 * 24 * time.Hour)}
	usgs := store.Origin{Source: "usgs"}
	for i := range 20 {
		h := y.report(t, quake(fmt.Sprint("quake ", i), y.now), nil, usgs)
		for range 10 {
			y.now = y.now.Add(time.Minute)
			h = y.report(t, h, h, usgs)
		}
		if i%4 > 0 {
			over := *h
			over.Status, over.End, over.Reason = hazard.Expired, y.now, hazard.EndExpired
			y.report(t, &over, h, usgs)
		}
	}
	active, err := y.s.Log.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Nothing is removed if the archive cannot be written.
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := made.Add(-backup.Shortest)
	if _, err := backup.Prune(t.Context(), y.s, backup.Keep{Dir: file}, store.History, before, "v1", made, nil); err == nil {
		t.Error("an archive in a file that is no folder")
	}
	if _, err := backup.Prune(t.Context(), y.s, backup.Keep{Dir: t.TempDir()}, store.History, made, "v1", made, nil); err == nil {
		t.Error("rows of today were pruned")
	}
	if h, err := y.s.Pruning.Horizon(t.Context(), store.History); err != nil || h.Number != 0 {
		t.Fatal(h, err)
	}
	// It is stopped after some rows, and continues.
	ctx, stop := context.WithCancel(t.Context())
	if _, err := backup.Prune(ctx, y.s, backup.Keep{Dir: t.TempDir()}, store.History, before, "v1", made, func(what string, done, _ int64) {
		if what == "prune" && done == 70 {
			stop()
		}
	}); err == nil {
		t.Error("it was not stopped")
	}
	done, err := backup.Prune(t.Context(), y.s, backup.Keep{Dir: t.TempDir()}, store.History, before, "v1", made, nil)
	if err != nil {
		t.Fatal(err)
	}
	// 15 hazards have ended, each with 12 states: the first and the last two stay.
	if left, err := y.s.Log.Since(t.Context(), 0, 1000); err != nil || len(left) != 15*3+5*11 {
		t.Errorf("%d changes are left, %v, %v", len(left), done, err)
	}
	again, err := y.s.Log.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(len(active.Hazards), len(again.Hazards)); diff != "" || len(again.Hazards) != 5 {
		t.Error(diff)
	}
	if done, err = backup.Prune(t.Context(), y.s, backup.Keep{Dir: t.TempDir()}, store.History, before, "v1", made, nil); err != nil || done.Rows != 0 || len(done.Archives) != 0 {
		t.Errorf("once more: %+v %v", done, err)
	}
}

// With a bucket too, an archive is written and read back completely before any row is removed. If
// that fails, no row is removed and no archive is left there.
func TestAnArchiveInABucketComesFirst(t *testing.T) {
	b := s3.New(t)
	y := &years{s: kinds["SQLite"](t).open(t), now: hazard.At(made).Add(-400 * 24 * time.Hour)}
	usgs := store.Origin{Source: "usgs"}
	h := y.report(t, quake("quake", y.now), nil, usgs)
	for range 5 {
		y.now = y.now.Add(time.Minute)
		h = y.report(t, h, h, usgs)
	}
	over := *h
	over.Status, over.End, over.Reason = hazard.Expired, y.now, hazard.EndExpired
	y.report(t, &over, h, usgs)
	before := made.Add(-backup.Shortest)
	prune := func(at blob.Settings) (*backup.Pruning, error) {
		return backup.Prune(t.Context(), y.s, backup.Keep{Dir: t.TempDir(), Bucket: at}, store.History, before, "v1", made, nil)
	}
	objects := func() (all []string) {
		t.Helper()
		for o := range b.Client.ListObjectsIter(t.Context(), b.Name, minio.ListObjectsOptions{Recursive: true}) {
			if o.Err != nil {
				t.Fatal(o.Err)
			}
			all = append(all, o.Key)
		}
		return all
	}
	const blind = `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["s3:PutObject", "s3:DeleteObject"], "Resource": "arn:aws:s3:::%[1]s/*"}]}`
	for name, at := range map[string]blob.Settings{
		"a key that may not read": b.Limited(t, fmt.Sprintf(blind, b.Name)),
		"no such bucket":          {URL: strings.Replace(b.Settings().URL, b.Name, b.Name+"-x", 1), AccessKey: b.Settings().AccessKey, SecretKey: b.Settings().SecretKey},
	} {
		if done, err := prune(at); err == nil || !strings.Contains(err.Error(), "archive the rows to prune") {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
		left, err := y.s.Log.Since(t.Context(), 0, 100)
		horizon, failed := y.s.Pruning.Horizon(t.Context(), store.History)
		if err != nil || failed != nil || len(left) != 7 || horizon.Number != 0 || len(objects()) != 0 {
			t.Errorf("%s: %d changes are left, the horizon is %v, the bucket holds %v; %v %v", name, len(left), horizon, objects(), err, failed)
		}
	}
	done, err := prune(b.Settings())
	// Of seven changes the creation, the expiry and the state before it stay.
	if err != nil || done.Rows != 4 || len(done.Archives) != 1 || !strings.HasPrefix(done.Archives[0], "s3://") {
		t.Fatalf("%+v, %v", done, err)
	}
	all := objects()
	if len(all) != 1 || !strings.HasSuffix(done.Archives[0], strings.TrimPrefix(all[0], s3.Prefix)) {
		t.Fatalf("the bucket contains %v, %v was written", all, done.Archives)
	}
	o, err := b.Client.GetObject(t.Context(), b.Name, all[0], minio.GetObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, totals, err := backup.Verify(t.Context(), o, nil)
	if err := errors.Join(err, o.Close()); err != nil || m.Pruned == nil || totals.Tables[0].Rows != 4 {
		t.Errorf("the archive: %+v %+v %v", m, totals, err)
	}
}
