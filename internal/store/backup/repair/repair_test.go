package repair_test

import (
	"bytes"
	"context"
	"database/sql"
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
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/backup"
	"github.com/hazardd/hazardd/internal/store/backup/continuous"
	"github.com/hazardd/hazardd/internal/store/backup/repair"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/store/sqlite/pagesum"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

var by = auth.Audit{At: hazard.At(noon), Actor: "ada", Action: auth.ActionMend, Detail: "from a backup", OK: true}

// flips returns how many bits to flip in each kind of file: few in every run of the tests,
// HAZARDD_FLIPS of them where it is set.
func flips(t *testing.T, few int) int {
	t.Helper()
	if text := os.Getenv("HAZARDD_FLIPS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if testing.Short() {
		t.Skip("takes seconds")
	}
	return few
}

func open(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closed(t *testing.T, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// sample is a store that no program has open, with both kinds of backups.
type sample struct {
	dir        string
	archive    repair.Backup
	continuous repair.Backup
}

func makeSample(t *testing.T) *sample {
	t.Helper()
	x := &sample{dir: filepath.Join(t.TempDir(), "data")}
	s := open(t, x.dir)
	away := t.TempDir()
	shelf, err := blob.OpenShelf(filepath.Join(away, "backup"), filepath.Join(away, "spool"), blob.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, shelf) })
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	b := continuous.New(continuous.Config{Store: s, Shelf: shelf, Keep: time.Hour, Program: "test", Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	go func() { ended <- b.Run(ctx) }()
	for i := range 40 {
		write(t, s, i)
	}
	var copied bytes.Buffer
	if _, _, err := backup.Write(t.Context(), s, &copied, "test", noon, nil); err != nil {
		t.Fatal(err)
	}
	end()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	x.continuous = repair.Backup{Shelf: shelf}
	x.archive = repair.Backup{Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(copied.Bytes())), nil }}
	return x
}

// write writes a hazard with an area, a product with a file, and a held report of the hazard.
func write(t *testing.T, s *store.Store, i int) {
	t.Helper()
	file, err := s.Files.Stage(t.Context(), strings.NewReader(strings.Repeat(fmt.Sprint("content ", i%4), 90)), 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := file.Drop(); err != nil {
			t.Error(err)
		}
	}()
	if err := file.Put(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := &hazard.Hazard{UUID: uuid.New(), Name: fmt.Sprint("Flood ", i), Description: strings.Repeat("the river rises. ", i%9*40), Type: hazard.Flood,
		Severity: hazard.Watch, Category: hazard.Event, Status: hazard.Active}
	p := &hazard.Product{UUID: uuid.New(), Title: "A file", Type: hazard.FileProduct, File: &hazard.File{Digest: file.Digest, Size: file.Size, Name: "a.txt"}}
	_, err = s.Write(t.Context(), hazard.At(noon), store.Origin{User: "ada"}, func(tx *store.Tx) (err error) {
		ring := fmt.Sprintf(`{"type":"Polygon","coordinates":[[[%d,0],[%d.5,0],[%d,1],[%d,0]]]}`, i, i, i, i)
		if h.Areas, err = tx.KeepAreas([]hazard.Area{{Role: hazard.AlertArea, Geometry: ring}}); err != nil {
			return err
		}
		if err := tx.SaveHazard(h, nil); err != nil {
			return err
		}
		p.HazardID = h.ID
		r := hazard.Report{Source: "nws", Key: fmt.Sprint("e", i), Version: 1, Name: fmt.Sprint("Flood ", i, " of a TEST"), Type: h.Type, Severity: h.Severity}
		_, _, err = tx.Reports.Hold(&r, "the words say TEST")
		return errors.Join(err, file.Keep(tx), tx.SaveProduct(p), tx.Events.AddKey(r.Source, r.Key, r.Key),
			tx.Events.Save(&store.Event{Source: r.Source, Key: r.Key, HazardID: h.ID, Type: h.Type}))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// mended repairs a store, and returns what was repaired and the remaining faults.
func mended(t *testing.T, dir string, from repair.Backup) (all, faults []string) {
	t.Helper()
	pages, err := repair.Pages(t.Context(), filepath.Join(dir, store.FileName), from, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range pages {
		all = append(all, fmt.Sprint("page ", n))
	}
	s, err := store.Open(t.Context(), dir, "")
	if err != nil {
		return all, []string{err.Error()}
	}
	defer closed(t, s)
	check := func() (done store.Checked) {
		faults = nil
		if done, err = s.Check(t.Context(), func(what string) { faults = append(faults, what) }); err != nil {
			faults = append(faults, err.Error())
		}
		return done
	}
	done := check()
	parts, err := repair.Parts(t.Context(), s, done.Damaged, from, true, by)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		all = append(all, p.String())
	}
	check()
	return all, faults
}

// turn flips a random bit of a file, and returns the file's content before.
func turn(t *testing.T, path string, random *rand.Rand) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	was := bytes.Clone(text)
	bit := random.IntN(8 * len(text))
	text[bit/8] ^= 1 << (bit % 8)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return was
}

func contents(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "files"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && e.Name() != blob.OwnerName {
			all = append(all, path)
		}
		return err
	})
	if err != nil || len(all) != 4 {
		t.Fatal(all, err)
	}
	return all
}

// Whichever bit is flipped in the SQLite file, a continuous backup repairs it, byte for byte.
func TestPagesAreMendedFromAContinuousBackup(t *testing.T) {
	times := flips(t, 40)
	x := makeSample(t)
	file := filepath.Join(x.dir, store.FileName)
	random := rand.New(rand.NewPCG(4, 2))
	good := 0
	for range times {
		was := turn(t, file, random)
		pages, err := repair.Pages(t.Context(), file, x.continuous, true)
		if err != nil {
			t.Fatal(err)
		}
		now, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(pages) == 1 && bytes.Equal(was, now) {
			good++
			continue
		}
		t.Errorf("pages %v were repaired, but the file differs from the original", pages)
		if err := os.WriteFile(file, was, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d flipped bits of the SQLite file were repaired", good, times)
	if all, faults := mended(t, x.dir, x.continuous); len(all)+len(faults) > 0 {
		t.Errorf("of an undamaged store %q was repaired, and %q is left", all, faults)
	}
}

// Many flipped bits are repaired too, as long as the page's checksum remains. A dry run changes
// nothing, and a page of another store's backup is not used.
func TestAPageIsMendedByWhatItWasAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	x, other := makeSample(t), makeSample(t)
	file := filepath.Join(x.dir, store.FileName)
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const size = 8192
	theirs, err := os.ReadFile(filepath.Join(other.dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	var differ []int // pages that differ in the other store; those of the schema are the same
	for n := 2; n*size <= min(len(was), len(theirs)); n++ {
		if !bytes.Equal(was[(n-1)*size:n*size], theirs[(n-1)*size:n*size]) {
			differ = append(differ, n)
		}
	}
	if len(differ) < 3 {
		t.Fatalf("pages %v differ", differ)
	}
	half, sum, whole := differ[0], differ[1], differ[2]
	damaged := bytes.Clone(was)
	copy(damaged, "SQLite is no more")
	copy(damaged[(half-1)*size+100:], bytes.Repeat([]byte{0xff}, 2000))
	copy(damaged[sum*size-8:], "checksum")
	copy(damaged[whole*size-300:], bytes.Repeat([]byte{0xff}, 300)) // its end, including its checksum
	own := []uint32{1, uint32(half), uint32(sum)}
	slices.Sort(own)
	for _, c := range []struct {
		name  string
		from  repair.Backup
		write bool
		pages []uint32
	}{
		{"another store's backup", other.continuous, true, []uint32{1}}, // its first page is the same
		{"an archive", x.archive, true, nil},
		{"a dry run", x.continuous, false, own},
		{"its own backup", x.continuous, true, own},
	} {
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		pages, err := repair.Pages(t.Context(), file, c.from, c.write)
		if c.name == "another store's backup" && len(pages) == 0 {
			c.pages = nil // its first page differs
		}
		if err != nil || !slices.Equal(pages, c.pages) {
			t.Errorf("%s: pages %v were repaired (%v), expected %v", c.name, pages, err, c.pages)
		}
		now, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		expected := bytes.Clone(damaged)
		for _, n := range pages {
			if c.write {
				copy(expected[int(n-1)*size:int(n)*size], was[int(n-1)*size:])
			}
		}
		if !bytes.Equal(now, expected) {
			t.Errorf("%s: apart from the remaining damage, the file differs from the original", c.name)
		}
	}
	if _, faults := mended(t, x.dir, x.continuous); len(faults) == 0 {
		t.Errorf("page %d cannot be repaired, but no fault is reported", whole)
	}
}

// Whichever bit is flipped in a product file, both kinds of backups repair it. They also restore a
// missing file.
func TestProductFilesAreMended(t *testing.T) {
	times := flips(t, 6)
	x := makeSample(t)
	random := rand.New(rand.NewPCG(8, 9))
	good := 0
	for i := range times {
		from := []repair.Backup{x.archive, x.continuous}[i%2]
		all := contents(t, x.dir)
		file := all[random.IntN(len(all))]
		was := turn(t, file, random)
		if i == 0 {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		done, faults := mended(t, x.dir, from)
		now, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Equal(done, []string{"product file " + filepath.Base(file)}) && len(faults) == 0 && bytes.Equal(was, now) {
			good++
		} else {
			t.Errorf("mended: %q, left: %q", done, faults)
		}
	}
	t.Logf("%d of %d flipped bits of product files were repaired", good, times)
	s := open(t, x.dir)
	defer closed(t, s)
	trail, err := s.Accounts.Trail(t.Context(), auth.TrailFilter{Limit: 10_000})
	trail = slices.DeleteFunc(trail, func(a auth.Audit) bool {
		return a.Action != auth.ActionMend || !strings.HasPrefix(a.Subject, "product file ")
	})
	if err != nil || len(trail) != times {
		t.Errorf("the audit trail has %d rows of %d mendings: %v", len(trail), times, err)
	}
}

// exec runs a statement on a database, and updates the checksums of pages.
func exec(t *testing.T, dir, statement string, args ...any) {
	t.Helper()
	if err := pagesum.Register(); err != nil {
		t.Fatal(err)
	}
	d, err := sql.Open("sqlite", "file:"+filepath.Join(dir, store.FileName)+"?vfs="+pagesum.Strict+"&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, d)
	if _, err := d.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// A row with a wrong checksum in a page with a correct one is repaired from an archive, or from the
// other copy in the store itself.
func TestStatesAndGeometriesAreMended(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	x := makeSample(t)
	for _, c := range []struct {
		name, damage string
		from         repair.Backup
		mended       []string
	}{
		{"a state of a hazard", `UPDATE changes SET body = replace(body, 'Flood 3"', 'Blood 3"') WHERE product_id = 0`, x.archive, []string{"change 7"}},
		{"its checksum", `UPDATE changes SET body = substr(body, 1, length(body) - 8) || 'abcdef"}' WHERE n = 5`, x.archive, []string{"change 5"}},
		{"a product, in one of its two places", `UPDATE products SET body = replace(body, 'A file', 'B file') WHERE n = 2`, x.continuous, []string{"change 2"}},
		{"a product, in both", `UPDATE products SET body = replace(body, 'A file', 'B file') WHERE n = 4; UPDATE changes SET body = replace(body, 'A file', 'C file') WHERE n = 4`, x.archive, []string{"change 4"}},
		{"a held report", `UPDATE held SET body = replace(body, 'Flood 3 of', 'Blood 3 of')`, x.archive, []string{"held report 4"}},
		{"a held report that cannot be read", `UPDATE held SET body = '[' || body WHERE id = 2`, x.archive, []string{"held report 2"}},
		{"an area", `UPDATE geometries SET geojson = replace(geojson, '[5.5,', '[5.7,')`, x.archive, []string{"geometry"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			exec(t, x.dir, c.damage)
			all, faults := mended(t, x.dir, c.from)
			for i, what := range all {
				if strings.HasPrefix(what, "geometry ") {
					all[i] = "geometry" // it has a long digest
				}
			}
			if !slices.Equal(all, c.mended) || len(faults) > 0 {
				t.Errorf("mended: %q, expected %q; left: %q", all, c.mended, faults)
			}
		})
	}
}

// A backup from before a redaction does not bring back redacted text.
func TestWhatWasRedactedStaysRedacted(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	x := makeSample(t)
	s := open(t, x.dir)
	_, err := s.Write(t.Context(), hazard.At(noon), store.Origin{User: "ada"}, func(tx *store.Tx) error {
		hazards := tx.RewriteHazard(1, func(h *hazard.Hazard) bool {
			h.Name = "(redacted)"
			return true
		})
		return errors.Join(hazards, tx.Reports.Rewrite(1, func(r *hazard.Report) bool {
			r.Name = "(redacted)"
			return true
		}))
	})
	if err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	exec(t, x.dir, `UPDATE changes SET body = replace(body, '(redacted)', '(retracted)') WHERE n = 1; UPDATE held SET body = replace(body, '(redacted)', '(retracted)')`)
	all, faults := mended(t, x.dir, x.archive)
	for _, left := range []string{"change 1 is damaged", "held report 1 (nws:e0) is damaged"} {
		if len(all) > 0 || !slices.ContainsFunc(faults, func(f string) bool { return strings.HasPrefix(f, left) }) {
			t.Errorf("mended: %q, left: %q", all, faults)
		}
	}
}
