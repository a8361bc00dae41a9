package app_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/datadir"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

var update = flag.Bool("update", false, "write what the recordings come to into testdata/recordings.txt")

const tableFile = "testdata/recordings.txt"

// outcome is the result of a recording: the columns of the table.
type outcome struct {
	read, made, updated, unchanged, ignored, held, rejected, links int
	refused                                                        bool // the whole document is not from its source
}

const columns = 8

func (o *outcome) counts() [columns]*int {
	return [columns]*int{&o.read, &o.made, &o.updated, &o.unchanged, &o.ignored, &o.held, &o.rejected, &o.links}
}

func (o outcome) String() string {
	if o.refused {
		return "refused"
	}
	words := make([]string, columns)
	for i, n := range o.counts() {
		words[i] = strconv.Itoa(*n)
	}
	return strings.Join(words, " ")
}

// row is one line of the table: a recording, or several unread ones of one kind (a pattern as in
// path.Match).
type row struct {
	file   string
	source string // "-": not read
	at     hazard.Instant
	want   outcome
	why    string
}

func parseRow(line string) (r row, err error) {
	fields := strings.Fields(line)
	if len(fields) >= 3 && fields[1] == "-" {
		return row{file: fields[0], source: "-", why: strings.Join(fields[2:], " ")}, nil
	}
	if *update && len(fields) == 3 { // a newly added recording
		fields = append(fields, slices.Repeat([]string{"0"}, columns)...)
	}
	if len(fields) < 4 {
		return r, fmt.Errorf("%q: expected a file, a source, a moment and counts; or a file, - and a reason", line)
	}
	at, err := time.Parse("2006-01-02T15:04:05Z", fields[2])
	if err != nil {
		return r, err
	}
	r = row{file: fields[0], source: fields[1], at: hazard.At(at)}
	rest := fields[3:]
	if rest[0] == "refused" {
		r.want.refused = true
		r.why = strings.Join(rest[1:], " ")
		return r, nil
	}
	for i, n := range r.want.counts() {
		if i >= len(rest) {
			return r, fmt.Errorf("%q: expected %d counts", line, columns)
		}
		if *n, err = strconv.Atoi(rest[i]); err != nil {
			return r, err
		}
	}
	r.why = strings.Join(rest[columns:], " ")
	return r, nil
}

func (r *row) String() string {
	var b strings.Builder
	switch {
	case r.source == "-":
		fmt.Fprintf(&b, "%-54s -          %s", r.file, r.why)
	default:
		fmt.Fprintf(&b, "%-54s %-10s %s ", r.file, r.source, r.at.Time().UTC().Format("2006-01-02T15:04:05Z"))
		if r.want.refused {
			fmt.Fprintf(&b, " %-40s", "refused")
		} else {
			for _, n := range r.want.counts() {
				fmt.Fprintf(&b, " %4d", *n)
			}
		}
		fmt.Fprintf(&b, "  %s", r.why)
	}
	return strings.TrimRight(b.String(), " ")
}

// readTable reads the table: its notes and its rows.
func readTable(t *testing.T) (head []string, rows []*row) {
	t.Helper()
	b, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			head = append(head, line)
			continue
		}
		if line == "" {
			continue
		}
		r, err := parseRow(line)
		if err != nil {
			t.Fatalf("%s: %v", tableFile, err)
		}
		rows = append(rows, &r)
	}
	return head, rows
}

// recordedFiles lists all recordings, by their paths in the recordings' folder.
func recordedFiles(t *testing.T) []string {
	t.Helper()
	root := recordings.Path(t, "feeds")
	var files []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if rel = filepath.ToSlash(rel); strings.Contains(rel, "/") { // next to the folders are pages about them
			files = append(files, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// ours returns the built-in sources, made once because the table has a thousand rows.
var ours = sync.OnceValue(app.BuiltIn)

type parser func(payload []byte, now hazard.Instant) (source.Batch, error)

// parserOf returns the parser of a source as in the program. For CAP and other servers, which need
// configuration, it uses minimal settings.
func parserOf(name string) (parser, error) {
	if strings.HasPrefix(name, "cap-") {
		cfg := cap.Config{Name: name, URL: "https://cap.example.org/"}
		return func(payload []byte, now hazard.Instant) (source.Batch, error) { return cap.Parse(cfg, payload, now) }, nil
	}
	src, err := ours().Find(name)
	return src.Parse, err
}

// desk is an empty store and its intake.
type desk struct {
	t      testing.TB
	store  *store.Store
	intake *fuse.Intake
	placed map[string]bool
	bare   bool // places that would need a request to a source stay unknown
}

// batch reads the recording as its source does, as of at.
func (r *row) batch(t testing.TB, at hazard.Instant) source.Batch {
	t.Helper()
	parse, err := parserOf(r.source)
	if err != nil {
		t.Fatal(err)
	}
	batch, err := parse(recordings.Read(t, "feeds/"+r.file), at)
	if err != nil {
		t.Fatalf("%s: %v", r.file, err)
	}
	return batch
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	s, err := store.Open(t.Context(), datadir.Empty(t), "sqlite:?synchronous=off") // durability does not matter here
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &desk{t: t, store: s, intake: ours().Intake(s), placed: map[string]bool{}}
}

// take reads a recording as the command import does, as of the moment at.
func (d *desk) take(src, file string, at hazard.Instant) (o outcome, res fuse.Result) {
	d.t.Helper()
	parse, err := parserOf(src)
	if err != nil {
		d.t.Fatal(err)
	}
	batch, err := parse(recordings.Read(d.t, "feeds/"+file), at)
	if err != nil {
		return outcome{refused: true}, fuse.Result{Rejects: []source.Reject{{Reason: err.Error()}}}
	}
	if described, err := ours().Find(src); err == nil {
		for i := range batch.Reports {
			checkDescription(d.t, &described.Source, &batch.Reports[i])
		}
	}
	d.places(src, &batch, at)
	res, err = d.intake.Apply(d.t.Context(), src, batch, at, fuse.Options{History: true})
	if err != nil {
		d.t.Fatalf("%s: %v", file, err)
	}
	return outcome{read: res.Read, made: res.New, updated: res.Updated, unchanged: res.Unchanged, ignored: res.Ignored, held: res.Held,
		rejected: res.Rejected, links: len(batch.Links)}, res
}

// places defines the places in the batch that the poller would request from the source: a
// one-degree square each.
func (d *desk) places(src string, batch *source.Batch, at hazard.Instant) {
	d.t.Helper()
	s, err := ours().Find(src)
	if err != nil || s.PlaceURL == nil || d.bare {
		return
	}
	for i := range batch.Reports {
		for _, code := range batch.Reports[i].Places {
			if s.PlaceURL(code) == "" || d.placed[code] {
				continue
			}
			d.placed[code] = true
			const square = `{"type":"Polygon","coordinates":[[[-101,40],[-100,40],[-100,41],[-101,41],[-101,40]]]}`
			if err := d.store.Sources.SavePlace(d.t.Context(), src, code, code, square, at); err != nil {
				d.t.Fatal(err)
			}
		}
	}
}

// TestEveryRecordingIsReadAsTheTableSays imports each recording into an empty store, as of the time
// when it was recorded.
func TestEveryRecordingIsReadAsTheTableSays(t *testing.T) {
	test.NoRace(t)
	files := recordedFiles(t)
	head, rows := readTable(t)
	byFile := map[string]*row{}
	var patterns []*row
	for _, r := range rows {
		if byFile[r.file] != nil {
			t.Errorf("%s has two rows", r.file)
		}
		byFile[r.file] = r
		if strings.ContainsAny(r.file, "*?[") {
			patterns = append(patterns, r)
		}
	}
	used := map[*row]bool{}
	sources := map[string]bool{} // whose recordings were read; one of each is enough unless all tests run
	for _, file := range files {
		r := byFile[file]
		for _, p := range patterns {
			if ok, err := path.Match(p.file, file); err != nil {
				t.Fatal(err)
			} else if ok && r == nil {
				r = p
			}
		}
		if r == nil {
			t.Errorf("%s has no row in %s", file, tableFile)
			continue
		}
		used[r] = true
		if r.source == "-" {
			if test.All() {
				notRead(t, file)
			}
			continue
		}
		if sources[r.source] && !test.All() && !*update {
			continue
		}
		sources[r.source] = true
		t.Run(file, func(t *testing.T) {
			d := newDesk(t)
			got, res := d.take(r.source, file, r.at)
			if *update {
				r.want = got
			} else if got != r.want {
				t.Errorf("the result is %s, want %s", got, r.want)
				for _, x := range append(res.Rejects, res.Suspects...) {
					t.Logf("%s: %s", x.Record, x.Reason)
				}
			}
			if r.why == "" && (got.refused || got.ignored+got.held+got.rejected > 0) {
				t.Errorf("a report that is not imported has no reason in the table")
			}
			if again, _ := d.take(r.source, file, r.at); again.made+again.updated != 0 {
				t.Errorf("the same again: %s", again)
			}
		})
	}
	for _, r := range rows {
		if !used[r] {
			t.Errorf("no recording has the row of %s", r.file)
		}
	}
	if *update {
		slices.SortFunc(rows, func(a, b *row) int { return cmp.Compare(a.file, b.file) })
		var b bytes.Buffer
		for _, line := range head {
			fmt.Fprintln(&b, line)
		}
		for _, r := range rows {
			fmt.Fprintln(&b, r)
		}
		if err := os.WriteFile(tableFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// notRead checks that a document that belongs to no source in the table makes no hazard, whichever
// source's parser reads it.
func notRead(t *testing.T, file string) {
	t.Helper()
	payload := recordings.Read(t, "feeds/"+file)
	for _, name := range append(ours().Own(), "mirror", "cap") {
		parse, err := parserOf(name)
		if err != nil {
			t.Fatal(err)
		}
		if batch, err := parse(payload, hazard.At(time.Date(2026, 9, 29, 0, 0, 0, 0, time.UTC))); err == nil && len(batch.Reports) > 0 {
			t.Errorf("%s is called not read, and %s makes %d reports of it", file, name, len(batch.Reports))
		}
	}
}
