package continuous_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/backup"
	"github.com/hazardd/hazardd/internal/store/backup/continuous"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/s3"
)

func TestMain(m *testing.M) { os.Exit(s3.Main(m.Run)) }

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func open(t testing.TB, dir string) *store.Store {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	s, err := store.Open(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func shelf(t testing.TB, dir string, s blob.Settings) blob.Shelf {
	t.Helper()
	p, err := blob.OpenShelf(dir, dir+".spool", s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// writer writes hazards, and products with files.
type writer struct {
	t     *testing.T
	store *store.Store
	r     *rand.Rand
	n     int
}

func (w *writer) write() {
	w.t.Helper()
	var content *store.StagedFile
	if w.n%5 == 0 {
		var err error
		if content, err = w.store.Files.Stage(w.t.Context(), strings.NewReader(fmt.Sprint("content ", w.n)), 100); err != nil {
			w.t.Fatal(err)
		}
		defer func() {
			if err := content.Drop(); err != nil {
				w.t.Error(err)
			}
		}()
		if err := content.Put(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
	_, err := w.store.Write(w.t.Context(), hazard.At(noon), store.Origin{User: "ada"}, func(tx *store.Tx) error {
		for range 1 + w.r.IntN(5) {
			h := &hazard.Hazard{UUID: uuid.New(), Name: fmt.Sprint("Flood ", w.n), Description: fmt.Sprintf("%x", make([]byte, w.r.IntN(9000))), Type: hazard.Flood,
				Severity: hazard.Watch, Category: hazard.Event, Status: hazard.Active, Longitude: w.r.Float64(), Latitude: w.r.Float64()}
			if err := tx.SaveHazard(h, nil); err != nil {
				return err
			}
			if content == nil {
				continue
			}
			p := &hazard.Product{UUID: uuid.New(), HazardID: h.ID, Title: "A file", Type: hazard.FileProduct, File: &hazard.File{Digest: content.Digest, Size: content.Size, Name: "a.txt"}}
			if err := errors.Join(content.Keep(tx), tx.SaveProduct(p)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.n++
}

// running is a backup that is being written, as by a server.
type running struct {
	*continuous.Backup
	t    *testing.T
	end  context.CancelFunc
	done chan error
}

func run(t *testing.T, s *store.Store, to blob.Shelf, now func() time.Time) *running {
	ctx, end := context.WithCancel(t.Context())
	r := &running{Backup: continuous.New(continuous.Config{Store: s, Shelf: to, Keep: time.Hour, Program: "test", Now: now, Logger: slog.New(slog.DiscardHandler)}), t: t, end: end, done: make(chan error, 1)}
	go func() { r.done <- r.Run(ctx) }()
	return r
}

// stop stops the backup as a server does at shutdown.
func (r *running) stop() {
	r.t.Helper()
	r.end()
	if err := <-r.done; err != nil {
		r.t.Fatal(err)
	}
}

// current waits until everything committed before is in the backup.
func (r *running) current() {
	r.t.Helper()
	asked := r.Now()
	for r.Sure().Before(asked) {
		select {
		case err := <-r.done:
			r.t.Fatal("it has ended: ", err)
		case <-time.After(time.Millisecond):
		}
	}
}

// sums returns the contents of a store's tables, except for what differs between a history and the
// one it replaces.
func sums(t *testing.T, s *store.Store) map[string]string {
	t.Helper()
	_, totals, err := backup.Write(t.Context(), s, io.Discard, "test", noon, nil)
	if err != nil || len(totals.Missing)+len(totals.Damaged) > 0 {
		t.Fatal(err, totals)
	}
	all := map[string]string{"files": fmt.Sprint(totals.Files)}
	for _, table := range totals.Tables {
		if !slices.Contains([]string{"meta", "counters", "forks"}, table.Name) {
			all[table.Name] = fmt.Sprintf("%d %s", table.Rows, table.SHA256)
		}
	}
	return all
}

func restore(t *testing.T, from blob.Shelf, at time.Time) (*continuous.Found, *store.Store) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "restored")
	found, err := continuous.Restore(t.Context(), from, at, dir, blob.Settings{}, noon, func(string, int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if _, err := s.Check(t.Context(), func(what string) { t.Error(what) }); err != nil {
		t.Error(err)
	}
	return found, s
}

// Everything written while a backup runs is in it when the server has ended, whatever happens to
// the database meanwhile, in a folder and in a bucket.
func TestARestoreBringsBackWhatWasWritten(t *testing.T) {
	test.NoRace(t)
	for kind, settings := range map[string]func(*testing.T) blob.Settings{
		"folder": func(*testing.T) blob.Settings { return blob.Settings{} }, "bucket": func(t *testing.T) blob.Settings { return s3.New(t).Settings() },
	} {
		t.Run(kind, func(t *testing.T) {
			s := open(t, filepath.Join(t.TempDir(), "data"))
			w := &writer{t: t, store: s, r: rand.New(rand.NewPCG(1, 2))}
			for range 30 {
				w.write()
			}
			to := shelf(t, filepath.Join(t.TempDir(), "backup"), settings(t))
			for range 3 { // each start of a server begins a generation
				b := run(t, s, to, time.Now)
				for range 60 {
					w.write()
					if w.r.IntN(10) == 0 {
						b.current()
					}
				}
				b.stop()
			}
			found, restored := restore(t, to, time.Time{})
			if found.Broken != nil || len(found.Missing) > 0 || found.Files != 42 || found.Segments < 3 {
				t.Errorf("%+v", found)
			}
			if diff := cmp.Diff(sums(t, s), sums(t, restored)); diff != "" {
				t.Error("tables differ:", diff)
			}
			last, err := s.Log.Last(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n, err := restored.Log.Last(t.Context()); err != nil || n != last+1_000_000 || restored.Epoch() == s.Epoch() || found.Change != last {
				t.Errorf("change %d of %d, epoch %s: %v", n, last, restored.Epoch(), err)
			}
		})
	}
}

// Whenever the disk is lost, everything that the backup reported as safe is there: each change up
// to one, and nothing else.
func TestALostDiskCostsWhatTheAgeSays(t *testing.T) {
	test.NoRace(t)
	s := open(t, filepath.Join(t.TempDir(), "data"))
	w := &writer{t: t, store: s, r: rand.New(rand.NewPCG(3, 4))}
	place := filepath.Join(t.TempDir(), "backup")
	b := run(t, s, shelf(t, place, blob.Settings{}), time.Now)
	defer b.stop()
	b.current()
	committed := map[int64]time.Time{} // when each was acknowledged
	for range 8 {
		for range 1 + w.r.IntN(20) {
			w.write()
			n, err := s.Log.Last(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			committed[n] = time.Now()
		}
		sure := b.Sure()
		lost := filepath.Join(t.TempDir(), "lost")
		if err := os.CopyFS(lost, os.DirFS(place)); err != nil && !errors.Is(err, os.ErrNotExist) { // files being written are renamed meanwhile
			t.Fatal(err)
		}
		found, restored := restore(t, shelf(t, lost, blob.Settings{}), time.Time{})
		if found.Broken != nil || len(found.Missing) > 0 {
			t.Errorf("%+v", found)
		}
		last, err := restored.Log.Last(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for n, at := range committed {
			if at.Before(sure) && n > last-1_000_000 {
				t.Errorf("change %d of %v is lost; %d is there, and the backup reported %v as safe", n, at, last-1_000_000, sure)
			}
		}
	}
}

// unsteady is a shelf that repeatedly accepts nothing for a while.
type unsteady struct {
	blob.Shelf
	puts atomic.Int64
}

func (u *unsteady) PutAs(ctx context.Context, s *blob.Staged, name string) error {
	if n := u.puts.Add(1); n%4 > 1 {
		return fmt.Errorf("%w: the network is down (%d)", hazard.ErrUnavailable, n)
	}
	return u.Shelf.PutAs(ctx, s, name)
}

func TestAPlaceThatIsAwayIsWaitedFor(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "data"))
	w := &writer{t: t, store: s, r: rand.New(rand.NewPCG(5, 6))}
	to := shelf(t, filepath.Join(t.TempDir(), "backup"), blob.Settings{})
	b := run(t, s, &unsteady{Shelf: to}, time.Now)
	for range 10 {
		for range 10 {
			w.write()
		}
		b.current()
	}
	b.stop()
	if b.Failures() == 0 {
		t.Error("no failure was counted")
	}
	found, restored := restore(t, to, time.Time{})
	if diff := cmp.Diff(sums(t, s), sums(t, restored)); diff != "" || found.Broken != nil {
		t.Error(found, diff)
	}
}

// clock is a clock that tests can move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Millisecond) // time passes, as on any clock
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Any moment can be restored for as long as backups are kept; older ones are removed.
func TestARestoreIsOfAnyMoment(t *testing.T) {
	test.NoRace(t)
	s := open(t, filepath.Join(t.TempDir(), "data"))
	w := &writer{t: t, store: s, r: rand.New(rand.NewPCG(7, 8))}
	place := filepath.Join(t.TempDir(), "backup")
	to := shelf(t, place, blob.Settings{})
	c := &clock{now: noon}
	b := run(t, s, to, c.Now)
	type moment struct {
		at     time.Time
		change int64
	}
	var moments []moment
	for range 60 { // five minutes each
		w.write()
		b.current()
		n, err := s.Log.Last(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		moments = append(moments, moment{c.Now(), n})
		c.move(5 * time.Minute)
	}
	for _, i := range []int{0, 7, 30, 59} {
		found, restored := restore(t, to, moments[i].at)
		if n, err := restored.Log.Last(t.Context()); err != nil || n != moments[i].change+1_000_000 || found.Broken != nil {
			t.Errorf("%v: change %d, want %d; %v %+v", moments[i].at, n, moments[i].change, err, found)
		}
	}
	if _, err := continuous.Verify(t.Context(), to, noon.Add(-time.Hour), func(string, int64, int64) {}); !errors.Is(err, continuous.ErrNone) {
		t.Errorf("before it began: %v", err)
	}
	for range 3 { // a day has passed each time
		c.move(25 * time.Hour)
		w.write()
		b.current()
	}
	// The generation of these moments goes some time after the next ones are there.
	for gone := false; !gone || len(generations(t, place)) > 2; {
		_, err := continuous.Verify(t.Context(), to, moments[59].at, func(string, int64, int64) {})
		gone = errors.Is(err, continuous.ErrNone)
		select {
		case err := <-b.done:
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	b.stop()
	if _, err := continuous.Verify(t.Context(), to, moments[59].at, func(string, int64, int64) {}); !errors.Is(err, continuous.ErrNone) {
		t.Errorf("a moment older than the retention: %v", err)
	}
	if _, restored := restore(t, to, time.Time{}); !cmp.Equal(sums(t, s), sums(t, restored)) {
		t.Error("the last generation restores a different store")
	}
}

// A change committed just before the backup reads the log belongs after that moment: a restore of
// the moment does not contain it.
func TestARestoreHoldsNothingOfLater(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "data"))
	w := &writer{t: t, store: s, r: rand.New(rand.NewPCG(11, 12))}
	to := shelf(t, filepath.Join(t.TempDir(), "backup"), blob.Settings{})
	c := &clock{now: noon}
	var late atomic.Bool
	looked := make(chan time.Time, 1)
	b := run(t, s, to, func() time.Time {
		now := c.Now()
		if late.CompareAndSwap(true, false) {
			w.write()
			c.move(time.Minute)
			looked <- now
		}
		return now
	})
	w.write()
	b.current()
	n, err := s.Log.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	late.Store(true)
	at := <-looked
	b.current()
	b.stop()
	for _, tt := range []struct {
		at   time.Time
		more bool
	}{{at, false}, {at.Add(time.Hour), true}} {
		_, restored := restore(t, to, tt.at)
		if last, err := restored.Log.Last(t.Context()); err != nil || last > n+1_000_000 != tt.more {
			t.Errorf("as of %v: change %d, where %d was the last before; %v", tt.at, last-1_000_000, n, err)
		}
	}
}

func generations(t *testing.T, place string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(place, "2*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Damage is reported, and everything before it is restored.
func TestADamagedSegmentIsTold(t *testing.T) {
	test.NoRace(t)
	s := open(t, filepath.Join(t.TempDir(), "data"))
	w := &writer{t: t, store: s, r: rand.New(rand.NewPCG(9, 10))}
	place := filepath.Join(t.TempDir(), "backup")
	to := shelf(t, place, blob.Settings{})
	b := run(t, s, to, time.Now)
	var changes []int64
	for range 12 {
		w.write()
		b.current()
		n, err := s.Log.Last(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		changes = append(changes, n)
	}
	b.stop()
	whole, err := continuous.Verify(t.Context(), to, time.Time{}, func(string, int64, int64) {})
	if err != nil || whole.Segments < 12 {
		t.Fatal(whole, err)
	}
	segment := filepath.Join(place, whole.Generation, fmt.Sprintf("%010d", whole.Segments-4))
	text, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(filepath.Join(place, whole.Generation, fmt.Sprintf("%010d", whole.Segments-2)))
	if err != nil {
		t.Fatal(err)
	}
	for what, damage := range map[string]func() error{
		"a turned bit": func() error {
			turned := bytes.Clone(text)
			turned[w.r.IntN(len(turned))] ^= 1 << w.r.IntN(8)
			return os.WriteFile(segment, turned, 0o600)
		},
		"cut":     func() error { return os.WriteFile(segment, text[:w.r.IntN(len(text))], 0o600) },
		"gone":    func() error { return os.Remove(segment) },
		"another": func() error { return os.WriteFile(segment, other, 0o600) },
	} {
		for range 8 {
			if err := os.WriteFile(segment, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			found, err := continuous.Verify(t.Context(), to, time.Time{}, func(string, int64, int64) {})
			// A bit that says nothing, in the frame of the compressed text, is seen in the segment after it.
			good := found.Segments == whole.Segments-4 || what == "a turned bit" && found.Segments == whole.Segments-3
			if err != nil || found.Broken == nil || !good || found.Unused == 0 {
				t.Fatalf("%s: %+v, %v", what, found, err)
			}
		}
		found, restored := restore(t, to, time.Time{})
		n, err := restored.Log.Last(t.Context())
		if err != nil || !slices.Contains(changes, n-1_000_000) || found.Change != n-1_000_000 {
			t.Errorf("%s: change %d, %+v, %v", what, n, found, err)
		}
	}
}

// Each moment of the last days can be restored, so Verify also reads the generations before the
// newest.
func TestADamagedEarlierGenerationIsTold(t *testing.T) {
	test.NoRace(t)
	s := open(t, filepath.Join(t.TempDir(), "data"))
	w := &writer{t: t, store: s, r: rand.New(rand.NewPCG(11, 12))}
	place := filepath.Join(t.TempDir(), "backup")
	to := shelf(t, place, blob.Settings{})
	verified := func() *continuous.Found {
		t.Helper()
		found, err := continuous.Verify(t.Context(), to, time.Time{}, func(string, int64, int64) {})
		if err != nil || found.Broken != nil {
			t.Fatal(found, err)
		}
		return found
	}
	var generations []string
	for range 3 { // each start begins a generation
		b := run(t, s, to, time.Now)
		for range 3 {
			w.write()
			b.current()
		}
		b.stop()
		whole := verified()
		if len(whole.Earlier) > 0 {
			t.Fatal(whole.Earlier)
		}
		generations = append(generations, whole.Generation)
	}
	for number, want := range map[int]string{0: "no moment of generation " + generations[0] + " can be restored", 2: "generation " + generations[0] + " can only be restored up to "} {
		segment := filepath.Join(place, generations[0], fmt.Sprintf("%010d", number))
		text, err := os.ReadFile(segment)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(segment, text[:len(text)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		if found := verified(); len(found.Earlier) != 1 || !strings.HasPrefix(found.Earlier[0].Error(), want) {
			t.Errorf("with segment %d cut: %v, expected %q", number, found.Earlier, want)
		}
		if err := os.WriteFile(segment, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Whichever bit of a continuous backup is flipped, Verify finds it, or the restore is the same.
// HAZARDD_FLIPS flips more bits.
func TestFlippedBitInAContinuousBackupIsFound(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "data"))
	times := 25
	if more := os.Getenv("HAZARDD_FLIPS"); more != "" { // the other half are in files of hazardd backup
		n, err := strconv.Atoi(more)
		if err != nil {
			t.Fatal(err)
		}
		times = n / 2
	}
	w := &writer{t: t, store: s, r: rand.New(rand.NewPCG(13, 14))}
	place := filepath.Join(t.TempDir(), "backup")
	to := shelf(t, place, blob.Settings{})
	b := run(t, s, to, time.Now)
	for range 20 {
		w.write()
		b.current()
	}
	b.stop()
	truth := sums(t, s)
	type part struct {
		path string
		size int64
	}
	var parts, contents []part
	err := filepath.WalkDir(place, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		parts = append(parts, part{path, info.Size()})
		if strings.HasPrefix(path, filepath.Join(place, "files")) {
			contents = append(contents, parts[len(parts)-1])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	found, same := 0, map[string]int{}
	for i := range times {
		of := parts
		if i%4 == 0 { // there are few product files compared with pages
			of = contents
		}
		var all int64
		for _, p := range of {
			all += p.size
		}
		at := w.r.Int64N(all)
		for at >= of[0].size {
			at -= of[0].size
			of = of[1:]
		}
		p := of[0]
		was, err := os.ReadFile(p.path)
		if err != nil {
			t.Fatal(err)
		}
		bad := bytes.Clone(was)
		bad[at] ^= 1 << w.r.IntN(8)
		if err := os.WriteFile(p.path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if what, err := continuous.Verify(t.Context(), to, time.Time{}, func(string, int64, int64) {}); err != nil || what.Broken != nil || len(what.Missing) > 0 {
			found++
		} else if _, restored := restore(t, to, time.Time{}); cmp.Equal(truth, sums(t, restored)) {
			same[filepath.Base(p.path)]++
		} else {
			t.Errorf("byte %d of %s: the damage is not found, and the restore differs", at, p.path)
		}
		if err := os.WriteFile(p.path, was, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d flipped bits: %d found, with the others the restore is the same: %v", times, found, same)
}

func TestARestoreOverwritesNothing(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "data"))
	to := shelf(t, filepath.Join(t.TempDir(), "backup"), blob.Settings{})
	tell := func(string, int64, int64) {}
	if _, err := continuous.Restore(t.Context(), to, time.Time{}, filepath.Join(t.TempDir(), "none"), blob.Settings{}, noon, tell); !errors.Is(err, continuous.ErrNone) {
		t.Errorf("of an empty place: %v", err)
	}
	b := run(t, s, to, time.Now)
	b.current()
	b.stop()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := continuous.Restore(t.Context(), to, time.Time{}, dir, blob.Settings{}, noon, tell); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("into a folder that is not empty: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, store.FileName)); !errors.Is(err, os.ErrNotExist) {
		t.Error("something was written")
	}
}
