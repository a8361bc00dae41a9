package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

// flips is the number of bits that are flipped, one at a time, in each of four places: the SQLite
// file, its write-ahead log, backups, and files beside it. Every run of the tests flips few of
// them, and HAZARDD_FLIPS more where it is set:
//
//	HAZARDD_FLIPS=2500 go test -timeout 90m -run FlippedBitI -v ./internal/store ./internal/store/backup ./internal/store/backup/continuous
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

// sample is a folder with a store of some hazards, and the answers that readers get from it.
type sample struct {
	dir   string
	truth *answers
	rows  map[string]string // all rows of each table, including derived ones
}

// answers is what readers get, always the same from an undamaged store.
type answers struct {
	changes []string         // the log, by position
	states  map[int64]string // of hazards, with their products and areas
	active  string
}

// ask reads everything. The error is the first one that a reader gets.
func ask(ctx context.Context, s *store.Store) (*answers, error) {
	text := func(v any) string {
		b, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	a := &answers{states: map[int64]string{}}
	snap, err := s.Log.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	a.active = text(snap)
	changes, err := s.Log.Since(ctx, 0, 1_000_000)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		a.changes = append(a.changes, text(c))
	}
	ids, err := s.Hazards.IDs(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		h, err := s.Hazards.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		areas, err := s.Log.Areas(ctx, h.Areas)
		if err != nil {
			return nil, err
		}
		products, err := s.Hazards.AllProducts(ctx, id)
		if err != nil {
			return nil, err
		}
		a.states[id] = text([]any{h, areas, products})
		for _, p := range products {
			if p.File == nil {
				continue
			}
			f, err := s.Files.Open(ctx, p.File.Digest)
			if err != nil {
				return nil, err
			}
			content, err := io.ReadAll(f)
			if err := errors.Join(err, f.Close()); err != nil {
				return nil, err
			}
			a.states[id] += string(content)
		}
	}
	for _, err := range s.Quarantine.Found() { // a reader is told what is left out
		return nil, err
	}
	return a, nil
}

// differs returns the first wrong answer, if any. Changes may be missing at the end if the store
// reports that it lost them.
func (a *answers) differs(truth *answers, lost int64) string {
	if lost > 0 {
		for i, c := range a.changes {
			if i >= len(truth.changes) || c != truth.changes[i] {
				return "change " + c
			}
		}
		return ""
	}
	switch {
	case a.active != truth.active:
		return "the active hazards"
	case !slices.Equal(a.changes, truth.changes):
		return "the log"
	case !maps.Equal(a.states, truth.states):
		return "a hazard"
	}
	return ""
}

// makeSample makes a store. inLog leaves the last writes in the write-ahead log, as a kill does.
// moved moves the beginning of the log into the file too.
func makeSample(t *testing.T, inLog, moved bool) *sample {
	t.Helper()
	dir := t.TempDir()
	made, err := store.Open(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	write := func(rounds int) {
		t.Helper()
		for i := range rounds {
			h := flood(fmt.Sprintf("hazard %d: %s", i, strings.Repeat("the river rises. ", i%7)))
			h.End = noon + 1_000_000_000_000
			_, err := made.Write(t.Context(), noon+hazard.Instant(i), store.Origin{User: "ada", Addr: "192.0.2.1"}, func(tx *store.Tx) (err error) {
				ring := fmt.Sprintf(`{"type":"Polygon","coordinates":[[[%d,0],[%d.5,0],[%d,1.%s1],[%d,0]]]}`, i, i, i, strings.Repeat("0", i%50), i)
				if h.Areas, err = tx.KeepAreas([]hazard.Area{{Role: hazard.AlertArea, Geometry: ring}}); err != nil {
					return err
				}
				return tx.SaveHazard(h, nil)
			})
			if err != nil {
				t.Fatal(err)
			}
			later := *h
			later.Severity = hazard.Warning
			_, err = made.Write(t.Context(), noon+hazard.Instant(i), store.Origin{Source: "nws"}, func(tx *store.Tx) error {
				p := &hazard.Product{UUID: uuid.New(), HazardID: h.ID, Title: "map", Type: hazard.URLProduct, Data: "https://example.org/"}
				return errors.Join(tx.SaveHazard(&later, h), tx.SaveProduct(p))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	write(20)
	for i := range 4 {
		keepFile(t, made, strings.Repeat(fmt.Sprintf("content %d ", i), 80))
		keepBeside(t, made, dir, i)
	}
	if inLog {
		if err := made.Close(); err != nil { // this moves the log into the file
			t.Fatal(err)
		}
		if made, err = store.Open(t.Context(), dir, ""); err != nil {
			t.Fatal(err)
		}
		write(8)
		// Some of the log is already in the file. A reader prevents the log from starting over.
		reader, err := made.Follow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		for _, read := range []func(context.Context, store.Take) error{reader.All, reader.Next} {
			if err := read(t.Context(), func(store.Pages, iter.Seq2[uint32, []byte]) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		write(1)
		if moved {
			if err := made.Exec(t.Context(), `PRAGMA wal_checkpoint(PASSIVE)`); err != nil {
				t.Fatal(err)
			}
		}
		write(6)
	}
	x := &sample{dir: t.TempDir(), rows: map[string]string{}}
	if x.truth, err = ask(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	if inLog {
		copyFolder(t, dir, x.dir) // while it is open: a kill
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	if !inLog {
		copyFolder(t, dir, x.dir)
	}
	if x.rows, err = allRows(t.Context(), filepath.Join(dir, "hazardd.db")); err != nil {
		t.Fatal(err)
	}
	return x
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || strings.HasSuffix(rel, "-shm") {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// allRows returns the rows of every table of a file, as text.
func allRows(ctx context.Context, file string) (_ map[string]string, err error) {
	d, err := sql.Open("sqlite", "file:"+file+"?mode=ro")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	read := func(query string, each func(row []any)) error {
		rows, err := d.QueryContext(ctx, query)
		if err != nil {
			return err
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		for rows.Next() {
			row, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range row {
				into[i] = &row[i]
			}
			if err := rows.Scan(into...); err != nil {
				return err
			}
			each(row)
		}
		return rows.Err()
	}
	tables := map[string]string{}
	if err := read(`SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'`, func(row []any) {
		tables[fmt.Sprint(row[0])] = fmt.Sprint(row[1])
	}); err != nil {
		return nil, err
	}
	all := map[string]string{}
	for name, made := range tables {
		var b strings.Builder
		if err := read(`SELECT * FROM "`+name+`"`, func(row []any) { fmt.Fprintf(&b, "%q\n", row) }); err != nil {
			return nil, err
		}
		all[name] = made + b.String()
	}
	return all, nil
}

// outcome is the effect of a flipped bit.
type outcome string

const (
	refused  outcome = "refused: the store, and so check, does not open"
	found    outcome = "found by check alone"
	both     outcome = "refused by a reader, and found by check"
	nothing  outcome = "harmless: every row of every table reads as before"
	unfound  outcome = "NOT FOUND, and a row that no reader is shown differs"
	served   outcome = "SERVED"
	tailLost outcome = "found by check: the changes from there on are lost, and void"
)

// after opens a folder with damage, reads from it, and checks it.
func (x *sample) after(t *testing.T, dir string) (outcome, string) {
	t.Helper()
	s, err := store.Open(t.Context(), dir, "")
	if err != nil {
		return refused, err.Error()
	}
	defer s.Close()
	got, failed := ask(t.Context(), s)
	if failed == nil {
		if wrong := got.differs(x.truth, s.Lost()); wrong != "" {
			return served, wrong
		}
	}
	faults, failedBeside := openBeside(t.Context(), s, dir)
	if failed == nil {
		failed = failedBeside
	}
	if _, err := s.Check(t.Context(), func(what string) { faults = append(faults, what) }); err != nil {
		faults = append(faults, err.Error())
	}
	switch {
	case failed != nil && len(faults) > 0:
		return both, faults[0]
	case failed != nil:
		return served, "refused by a reader, and not found: " + failed.Error()
	case len(faults) > 0:
		return found, faults[0]
	case s.Lost() > 0:
		return tailLost, ""
	}
	if err := s.Close(); err != nil {
		return refused, err.Error()
	}
	rows, err := allRows(t.Context(), filepath.Join(dir, "hazardd.db"))
	if err != nil {
		return unfound, err.Error()
	}
	for name, want := range x.rows {
		if rows[name] != want && name != "schema_version" {
			return unfound, name
		}
	}
	return nothing, ""
}

// turn flips random bits of one file of a sample, one at a time, and counts the outcomes.
func (x *sample) turn(t *testing.T, times int, random *rand.Rand, choose func(dir string) string) map[outcome]int {
	t.Helper()
	counts, tables := map[outcome]int{}, map[string]int{}
	dir := t.TempDir()
	for range times {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		copyFolder(t, x.dir, dir)
		path := choose(dir)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bit := random.IntN(8 * len(text))
		text[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		what, where := x.after(t, dir)
		counts[what]++
		switch what {
		case served:
			t.Errorf("bit %d of %s: %s", bit, filepath.Base(path), where)
		case unfound:
			tables[where]++
		}
	}
	x.tell(t, times, counts, tables)
	return counts
}

// whileOpen flips a random bit of the write-ahead log that a server uses, and lets another process
// read and check the store.
func (x *sample) whileOpen(t *testing.T, random *rand.Rand) outcome {
	t.Helper()
	dir := t.TempDir()
	copyFolder(t, x.dir, dir)
	server, err := store.Open(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	wal, err := os.OpenFile(filepath.Join(dir, "hazardd.db-wal"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := wal.Stat()
	if err != nil {
		t.Fatal(err)
	}
	bit := random.Int64N(8 * info.Size())
	if random.IntN(2) > 0 { // later frames replace the pages of most frames, so choose half of the bits from frames that are read
		text, err := os.ReadFile(wal.Name())
		if err != nil {
			t.Fatal(err)
		}
		size := int(binary.BigEndian.Uint32(text[8:]))
		last := map[uint32]int{}
		for at := 32; at+24+size <= len(text); at += 24 + size {
			last[binary.BigEndian.Uint32(text[at:])] = at
		}
		all := slices.Sorted(maps.Values(last))
		bit = int64(8*all[random.IntN(len(all))]) + random.Int64N(8*int64(24+size))
	}
	var b [1]byte
	_, err = wal.ReadAt(b[:], bit/8)
	b[0] ^= 1 << (bit % 8)
	if err == nil {
		_, err = wal.WriteAt(b[:], bit/8)
	}
	if err := errors.Join(err, wal.Close()); err != nil {
		t.Fatal(err)
	}
	what, where := x.after(t, dir)
	if what == served {
		t.Errorf("bit %d of the write-ahead log in use: %s", bit, where)
	}
	_ = server.Close() // it may fail to move the log to the file
	return what
}

func (x *sample) tell(t *testing.T, times int, counts map[outcome]int, tables map[string]int) {
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%6d of %d: %s", counts[what], times, what)
	}
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		t.Logf("        not found: %d in %s", tables[table], table)
	}
}

// Data with a flipped bit is never served: a reader gets what was written, or an error, and a check
// names the damage.
func TestFlippedBitIsNeverServed(t *testing.T) {
	test.SeldomButRaced(t)
	if postgres.Database(t, t.TempDir(), "") != "" {
		t.Skip("PostgreSQL has checksums of pages of its own")
	}
	random := rand.New(rand.NewPCG(7, 17))
	t.Run("database", func(t *testing.T) {
		x := makeSample(t, false, false)
		counts := x.turn(t, flips(t, 25), random, func(dir string) string { return filepath.Join(dir, "hazardd.db") })
		if counts[unfound] > 0 {
			t.Errorf("%d turned bits of rows were not found", counts[unfound])
		}
	})
	t.Run("write-ahead log", func(t *testing.T) {
		counts := makeSample(t, true, true).turn(t, flips(t, 20)/2, random, func(dir string) string { return filepath.Join(dir, "hazardd.db-wal") })
		if wrong := counts[unfound] + counts[nothing]; wrong > 0 {
			t.Errorf("%d turned bits were not found", wrong)
		}
	})
	t.Run("write-ahead log of a running server", func(t *testing.T) {
		times := flips(t, 20) / 2
		x := makeSample(t, true, true)
		counts := map[outcome]int{}
		for range times {
			counts[x.whileOpen(t, random)]++
		}
		x.tell(t, times, counts, nil)
		if wrong := counts[unfound] + counts[nothing]; wrong > 0 { // the whole log is in use
			t.Errorf("%d turned bits were not found", wrong)
		}
	})
	t.Run("files", func(t *testing.T) {
		x := makeSample(t, false, false)
		times := flips(t, 12)
		counts := x.turn(t, times, random, func(dir string) string {
			all := x.stored(t, dir)
			if len(all) != 12 {
				t.Fatalf("%q", all)
			}
			return all[random.IntN(len(all))]
		})
		if counts[both] != times {
			t.Errorf("of %d damaged files %d were refused and found", times, counts[both])
		}
	})
}

// places are the folders of files that a store refers to, in addition to product files.
var places = map[string]store.KeptKind{"evidence": store.KeptPayloads, "pictures": store.KeptPictures}

// stored returns all files that the store in dir refers to.
func (x *sample) stored(t *testing.T, dir string) (all []string) {
	t.Helper()
	for _, folder := range []string{"files", "evidence", "pictures"} {
		err := filepath.WalkDir(filepath.Join(dir, folder), func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && e.Name() != blob.OwnerName {
				all = append(all, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// keepBeside stores a payload of a source and a picture.
func keepBeside(t *testing.T, s *store.Store, dir string, i int) {
	t.Helper()
	for folder, kind := range places {
		place, err := blob.Open(filepath.Join(dir, folder), blob.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Repeat(fmt.Sprint(kind, i, " "), 60)
		f, err := place.Stage(strings.NewReader(text), 10_000)
		if err != nil {
			t.Fatal(err)
		}
		if err := place.Put(t.Context(), f, blob.Name{Digest: f.Digest}); err != nil {
			t.Fatal(err)
		}
		if kind == store.KeptPayloads {
			err = s.Evidence.AddReceipt(t.Context(), &store.Receipt{Source: "nws", Kind: "feed", Payload: f.Digest, Kept: noon}, &store.Payload{SHA256: f.Digest, File: f.Digest, Kept: f.Size})
		} else {
			err = s.Pictures.Save(t.Context(), &store.Picture{ProductID: int64(i + 1), Digest: f.Digest, Bytes: f.Size})
		}
		if err := errors.Join(err, f.Drop(), place.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// openBeside opens what keepBeside has stored, as readers do. The error is the first one that a
// reader gets.
func openBeside(ctx context.Context, s *store.Store, dir string) (faults []string, failed error) {
	for folder, kind := range places {
		_, err := s.CheckKept(ctx, kind, func() (blob.Place, error) { return blob.Open(filepath.Join(dir, folder), blob.Settings{}) }, func(what string) {
			faults = append(faults, what)
			failed = errors.New(what) // the error of opening is the same for a reader
		})
		if err != nil {
			faults, failed = append(faults, err.Error()), err
		}
	}
	return faults, failed
}

// A store whose write-ahead log lost its end uses no number twice. A client that resumes gets
// everything after the last change it has seen, or is told to read everything again.
func TestCutWriteAheadLogMissesNoChange(t *testing.T) {
	if postgres.Database(t, t.TempDir(), "") != "" {
		t.Skip("PostgreSQL recovers its own log")
	}
	x := makeSample(t, true, false) // data that is already in the file was on disk in the log before
	random := rand.New(rand.NewPCG(3, 5))
	times := min(flips(t, 10), 200)
	var resumed, reset, lost int
	dir := t.TempDir()
	for range times {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		copyFolder(t, x.dir, dir)
		wal := filepath.Join(dir, "hazardd.db-wal")
		text, err := os.ReadFile(wal)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(wal, bytes.Clone(text[:random.IntN(len(text))]), 0o600); err != nil {
			t.Fatal(err)
		}
		func() {
			s, err := store.Open(t.Context(), dir, "")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if s.Lost() > 0 {
				lost++
			}
			save(t, s, flood("after the loss"))
			all, err := s.Log.Since(t.Context(), 0, 1_000_000)
			if err != nil {
				t.Fatal(err)
			}
			for seen := range int64(len(x.truth.changes) + 1) { // each client has seen the changes up to this one
				after, err := s.Log.Since(t.Context(), seen, 1_000_000)
				if _, void := errors.AsType[*store.ForkedError](err); void {
					reset++
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				resumed++
				if got := int(seen) + len(after); got != len(all) {
					t.Errorf("a client that has seen %d changes, and gets %d more, misses some of %d", seen, len(after), len(all))
				}
				for i := range min(int(seen), len(all)-1) { // the changes that it has seen are still there
					if b, err := json.Marshal(all[i], json.Deterministic(true)); err != nil || string(b) != x.truth.changes[i] {
						t.Errorf("a client resumes after %d, but change %d has changed", seen, all[i].Number)
					}
				}
			}
		}()
	}
	t.Logf("%d cuts, %d with lost changes; clients: %d resumed, %d had to read everything again", times, lost, resumed, reset)
	if lost == 0 || resumed == 0 || reset == 0 {
		t.Error("nothing was lost, or no client resumed, or no client had to read again")
	}
}
