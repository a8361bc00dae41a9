package backup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/sources/usgs"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/backup"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
	"github.com/hazardd/hazardd/internal/test/s3"
	"github.com/hazardd/hazardd/internal/test/server"
)

var made = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// place is the location of a store.
type place struct{ dir, database string }

func (p place) into() backup.Into { return backup.Into{Dir: p.dir, Database: p.database} }

func (p place) open(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), p.dir, p.database)
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

// serve runs a service on the store until the test ends.
func (p place) serve(t testing.TB) *server.Server {
	t.Helper()
	return server.ServeEmpty(t, p.dir, p.config)
}

func (p place) config(c *app.Config) {
	c.DataDir, c.Database = p.dir, p.database
	c.WebhookAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} // fill's receiver
}

// filled fills a store there, and returns the place when no server uses it any more.
func (p place) filled(t *testing.T) place {
	t.Helper()
	if testing.Short() {
		t.Skip("runs a server")
	}
	if !t.Run("fill", func(t *testing.T) { fill(t, server.Serve(t, p.config)) }) {
		t.FailNow()
	}
	return p
}

// back writes a backup into memory.
func back(t testing.TB, s *store.Store) ([]byte, *backup.Manifest, *backup.Totals) {
	t.Helper()
	var out bytes.Buffer
	m, totals, err := backup.Write(t.Context(), s, &out, "v1.0.0", made, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), m, totals
}

// fill writes rows into every table that a service fills by itself: hazards with areas, products
// with files, reports, users, keys, webhooks, and texts with difficult characters.
func fill(t testing.TB, s *server.Server) {
	t.Helper()
	ctx := t.Context()
	post := func(user, path string, body any, header ...string) map[string]any {
		t.Helper()
		a := s.Do(user, "POST", path, body, header...)
		if a.Status != http.StatusCreated {
			t.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
		}
		var v map[string]any
		a.JSON(t, &v)
		return v
	}
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	post("red", "/webhooks", map[string]any{"url": receiver.URL, "filter": map[string]string{"type": "FLOOD"}})
	for i := range 30 {
		h := post("red", "/hazards", map[string]any{
			"hazard_Name": fmt.Sprintf("Flood %d at the “Côte d'Ivoire” \\ \"quoted\" 🌊", i), "description": strings.Repeat("Water\tof two\nlines ", i), "type_ID": "FLOOD",
			"severity_ID": "WATCH", "latitude": 5.5 + float64(i)/7, "longitude": -4.25 - float64(i)/3, "uuid": uuid.NewSHA1(uuid.Nil, fmt.Append(nil, i)).String(),
			"end_Date": fmt.Sprint(time.Now().Add(time.Hour * 1000).UnixMilli()),
			"area":     json.RawMessage(fmt.Sprintf(`{"type":"Polygon","coordinates":[[[-5,5],[-4,5],[-4,%d],[-5,6],[-5,5]]]}`, 6+i)),
		})
		path := fmt.Sprintf("/hazards/%v", h["hazard_ID"])
		if i%3 == 0 {
			post("red", path+"/products", map[string]any{"title": "Note " + strings.Repeat("x", i), "product_Type": "TEXT_PRODUCT", "data": strings.Repeat("text ", 1000*i+1)})
		}
		if i%4 == 0 {
			if a := s.Do("red", "PATCH", path, map[string]any{"status": "E"}, "Content-Type", "application/merge-patch+json"); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
		if i%5 == 0 {
			body, kind := form(t, map[string]any{"title": fmt.Sprintf("File %d", i), "product_Type": "FILE_PRODUCT"}, fmt.Appendf(nil, "content %d\x00\xff", i%10))
			post("red", path+"/products", body, "Content-Type", kind)
		}
	}
	batch, err := usgs.Parse([]byte(quakes), hazard.At(made))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.BuiltIn().Intake(s.Store).Apply(ctx, "usgs", batch, hazard.At(made), fuse.Options{History: true}); err != nil {
		t.Fatal(err)
	}
	s.Do("", "POST", "/authorize", map[string]string{"username": "nobody\x00", "password": "wrong"})
}

const quakes = `{"type":"FeatureCollection","metadata":{"generated":1700000000000,"url":"https://example.org/quakes","title":"Two quakes","status":200,"api":"1.10.3","count":2},"features":[
{"type":"Feature","id":"zz0001","properties":{"mag":5.9,"magType":"mww","place":"near the Old Harbour","time":1699900000000,"updated":1699900001000,"ids":",zz0001,","net":"zz","code":"0001","sources":",zz,","types":",origin,","status":"reviewed","tsunami":0,"type":"earthquake","title":"M 5.9"},"geometry":{"type":"Point","coordinates":[-82.6217,5.6346,10]}},
{"type":"Feature","id":"zz0002","properties":{"mag":5.9,"magType":"mww","place":"=far away","time":1699900001000,"updated":1699900002000,"ids":",zz0002,","net":"zz","code":"0002","sources":",zz,","types":",origin,","status":"reviewed","tsunami":0,"type":"earthquake","title":"M 5.9"},"geometry":{"type":"Point","coordinates":[93.5388,10.5285,10]}}]}`

// form returns the body of a file product, and its content type.
func form(t testing.TB, product map[string]any, content []byte) ([]byte, string) {
	t.Helper()
	var out bytes.Buffer
	m := multipart.NewWriter(&out)
	text, err := json.Marshal(product)
	if err != nil {
		t.Fatal(err)
	}
	for name, part := range map[string][]byte{`name="product"`: text, `name="file"; filename="a b.bin"`: content} {
		w, err := m.CreatePart(textproto.MIMEHeader{"Content-Disposition": {"form-data; " + name}})
		if err == nil {
			_, err = w.Write(part)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), m.FormDataContentType()
}

// kinds are the kinds of databases: each returns the place of a new store.
var kinds = map[string]func(testing.TB) place{
	"SQLite":     func(t testing.TB) place { return place{filepath.Join(t.TempDir(), "data"), ""} },
	"PostgreSQL": func(t testing.TB) place { return place{filepath.Join(t.TempDir(), "data"), postgres.URL(t)} },
}

func TestMain(m *testing.M) {
	if os.Getenv(victim) != "" {
		os.Exit(dying())
	}
	os.Exit(s3.Main(func() int { return postgres.Main(m) }))
}

// filledArchive returns a backup of a filled store, made once.
func filledArchive(t *testing.T) []byte {
	t.Helper()
	if testing.Short() {
		t.Skip("runs a server")
	}
	common.Do(func() { common.text, _, _ = back(t, kinds["SQLite"](t).filled(t).open(t)) })
	if common.text == nil {
		t.Fatal("an earlier test could not make it")
	}
	return common.text
}

var common struct {
	sync.Once
	text []byte
}

// source is a filled store that no server uses.
type source struct {
	place
	text     []byte // its backup
	manifest *backup.Manifest
	totals   *backup.Totals
	answers  map[string]string
}

func newSource(t *testing.T, kind string) *source {
	t.Helper()
	s := &source{place: kinds[kind](t).filled(t)}
	s.answers = s.place.ask(t, "red")
	t.Run("back up", func(t *testing.T) { s.text, s.manifest, s.totals = back(t, s.open(t)) })
	if s.text == nil {
		t.FailNow()
	}
	return s
}

// TestTransfers moves a store between all kinds of databases, in all possible ways.
func TestTransfers(t *testing.T) {
	test.NoRace(t)
	test.Slow(t)
	ways := []struct {
		name string
		f    func(t *testing.T, from *source, to place)
	}{
		{"a restore brings back everything", restoreBringsBackEverything},
		{"a migration keeps the history", migrationKeepsTheHistory},
		{"streams after a restore", streamsAfterARestore},
		{"streams after a migration", streamsAfterAMigration},
		{"nobody opens what a damaged archive leaves", nobodyOpensWhatADamagedArchiveLeaves},
		{"a migration goes on though the source has changed", migrationGoesOnThoughTheSourceHasChanged},
	}
	for _, from := range slices.Sorted(maps.Keys(kinds)) {
		t.Run("from "+from, func(t *testing.T) {
			source := newSource(t, from)
			for _, to := range slices.Sorted(maps.Keys(kinds)) {
				for _, w := range ways {
					t.Run(w.name+", to "+to, func(t *testing.T) {
						if strings.Contains(w.name, "migration") { // a migration leaves a store that accepts no writes
							w.f(t, newSource(t, from), kinds[to](t))
							return
						}
						w.f(t, source, kinds[to](t))
					})
				}
			}
		})
	}
}

// waiting matches the number of waiting deliveries of a webhook. It grows while a server has
// changes still to deliver.
var waiting = regexp.MustCompile(`,"pending":"[0-9]+"`)

// ask sends many different requests to a service on the store, as a user, and returns the answers
// without the service's address.
func (p place) ask(t *testing.T, user string) map[string]string {
	t.Helper()
	all := map[string]string{}
	t.Run("ask", func(t *testing.T) {
		s := p.serve(t)
		changes, err := s.Store.Log.Since(t.Context(), 0, 1_000_000)
		if err != nil || len(changes) == 0 {
			t.Fatal(len(changes), err)
		}
		at := changes[len(changes)/2].At.String()
		paths := []string{"/hazards/active", "/hazards?limit=1000", "/hazards/count", "/hazards?q=flood*&limit=1000", "/hazards?type=EARTHQUAKE", "/hazards?bbox=-6,4,-3,9",
			"/hazards?near=-4.5,5.5&radius=100000", "/hazards?sort=-last_Update&limit=500", "/hazards?at=" + at, "/changes?after=0&limit=1000", "/webhooks", "/hazards/active?f=geojson"}
		for _, c := range changes[max(0, len(changes)-300):] {
			paths = append(paths, fmt.Sprintf("/hazards/%d", c.HazardID), fmt.Sprintf("/hazards/%d/changes", c.HazardID), fmt.Sprintf("/hazards/%d?at=%s", c.HazardID, at),
				fmt.Sprintf("/hazards/%d/reports", c.HazardID), fmt.Sprintf("/hazards/%d/alert-geography", c.HazardID))
			if c.Product != nil && !c.Product.Deleted {
				paths = append(paths, fmt.Sprintf("/products/%d", c.Product.ID))
				if c.Product.File != nil {
					paths = append(paths, fmt.Sprintf("/products/%d/file", c.Product.ID))
				}
			}
		}
		for _, path := range paths {
			if _, done := all[path]; done {
				continue
			}
			a := s.Do(user, "GET", path, nil)
			body := waiting.ReplaceAll(bytes.ReplaceAll(a.Body, []byte(s.URL()), []byte("URL")), nil)
			all[path] = fmt.Sprintf("%d %s", a.Status, bytes.ReplaceAll(body, []byte(a.Header.Get("Hazardd-Request")), []byte("ID")))
			if a.Status >= 400 && !strings.Contains(path, "at=") { // it may not have existed at that time
				t.Errorf("%s: %.300s", path, all[path])
			}
		}
	})
	return all
}

// sums returns the SHA-256 of the rows of each table, except for the named ones, and the id of the
// history.
func sums(t testing.TB, p place, but ...string) map[string]string {
	t.Helper()
	_, m, totals := back(t, p.open(t))
	all := map[string]string{"epoch and installation": m.Epoch + " " + m.Installation}
	if slices.Contains(but, "meta") {
		clear(all)
	}
	for _, table := range totals.Tables {
		if table.Name != "meta" && !slices.Contains(but, table.Name) { // meta also says what only SQLite needs of programs
			all[table.Name] = fmt.Sprintf("%d %s", table.Rows, table.SHA256)
		}
	}
	return all
}

// replaced are the tables that differ between a history and the one that it replaces.
var replaced = []string{"meta", "counters", "forks"}

// A restore brings back everything: each row and each file, and so each answer.
func restoreBringsBackEverything(t *testing.T, from *source, to place) {
	if from.totals.Files != 2 || len(from.totals.Missing) > 0 { // of six products
		t.Errorf("%d files, missing %q; want each of the two contents once", from.totals.Files, from.totals.Missing)
	}
	if _, found, err := backup.Verify(t.Context(), bytes.NewReader(from.text), nil); err != nil || !cmp.Equal(found, from.totals, cmpopts.EquateEmpty()) {
		t.Errorf("verify: %v %s", err, cmp.Diff(from.totals, found))
	}
	if _, result, err := backup.Restore(t.Context(), bytes.NewReader(from.text), to.into(), made, nil); err != nil || result.Resumed {
		t.Fatal(result, err)
	}
	if diff := cmp.Diff(sums(t, from.place, replaced...), sums(t, to, replaced...)); diff != "" {
		t.Error("tables differ:", diff)
	}
	s := to.open(t)
	last, err := s.Log.Last(t.Context())
	if err != nil || last != from.manifest.Change+1_000_000 || s.Epoch() == from.manifest.Epoch || s.Installation() != from.manifest.Installation {
		t.Errorf("restored from %+v: change %d, epoch %s of %s, %v", from.manifest, last, s.Epoch(), s.Installation(), err)
	}
	if diff := cmp.Diff(from.answers, to.ask(t, "red")); diff != "" {
		t.Error("answers differ:", diff)
	}
}

// A migration copies everything, and the history is the same.
func migrationKeepsTheHistory(t *testing.T, from *source, to place) {
	result, err := backup.Migrate(t.Context(), from.open(t), to.into(), true, made, nil)
	if err != nil || result.Files != 2 {
		t.Fatalf("%+v, %v", result, err)
	}
	if diff := cmp.Diff(sums(t, from.place), sums(t, to)); diff != "" {
		t.Error("tables differ:", diff)
	}
	if diff := cmp.Diff(from.answers, to.ask(t, "red")); diff != "" {
		t.Error("answers differ:", diff)
	}
}

// An interrupted migration continues, even if the source has changed in between. The result is as
// if it had begun then.
func migrationGoesOnThoughTheSourceHasChanged(t *testing.T, from *source, to place) {
	s := from.open(t)
	ctx, stop := context.WithCancel(t.Context())
	if _, err := backup.Migrate(ctx, s, to.into(), true, made, func(what string, done, total int64) {
		if done > total*2/3 {
			stop()
		}
	}); err == nil {
		t.Fatal("it was not interrupted")
	}
	unopened(t, to, "migrate")
	if _, err := s.Accounts.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{1, 2, 3} { // some exist already, and one is new
		h, err := s.Hazards.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		next := *h
		next.Description += " …"
		if _, err := s.Write(t.Context(), hazard.At(made), store.Origin{User: "ada", Admin: true}, func(tx *store.Tx) error { return tx.SaveHazard(&next, h) }); err != nil {
			t.Fatal(err)
		}
	}
	if result, err := backup.Migrate(t.Context(), s, to.into(), true, made, nil); err != nil || !result.Resumed {
		t.Fatalf("%+v, %v", result, err)
	}
	if diff := cmp.Diff(sums(t, from.place), sums(t, to)); diff != "" {
		t.Error("tables differ:", diff)
	}
}

// An archive can be read with standard tools: tar and sha256sum. (zstd may be missing, so the
// library decompresses here.)
func TestOtherProgramsReadAnArchive(t *testing.T) {
	test.SeldomButRaced(t)
	text := filledArchive(t)
	m, totals, err := backup.Verify(t.Context(), bytes.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := unzip(text)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, command := range []*exec.Cmd{exec.CommandContext(t.Context(), "tar", "-xf", "-"), exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")} {
		command.Dir, command.Stdin = dir, bytes.NewReader(plain)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v %s", command, err, out)
		}
	}
	rows := func(table string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, "tables", table+".000001.ndjson"))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	bodies := map[int64]string{} // of the log, by number
	for line := range bytes.Lines(rows("changes")) {
		var row struct {
			N    int64
			Body string
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		bodies[row.N] = row.Body
	}
	names := 0
	for line := range bytes.Lines(rows("hazards")) {
		var row struct{ N int64 }
		var h struct{ Name string }
		if err := errors.Join(json.Unmarshal(line, &row), json.Unmarshal([]byte(bodies[row.N]), &h)); err != nil {
			t.Fatal(err)
		}
		if h.Name != "" {
			names++
		}
	}
	i := slices.IndexFunc(totals.Tables, func(t backup.TableTotal) bool { return t.Name == "hazards" })
	if int64(names) != totals.Tables[i].Rows || names == 0 {
		t.Errorf("%d names of %d hazards of change %d", names, totals.Tables[i].Rows, m.Change)
	}
}
