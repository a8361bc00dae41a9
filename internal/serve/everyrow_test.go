package serve_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/sqlite/pagesum"
	"github.com/hazardd/hazardd/internal/tell/message"
	"github.com/hazardd/hazardd/internal/tell/subscription"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
	"github.com/hazardd/hazardd/internal/test/server"
)

// heard is what a webhook's receiver and subscribers got, as text.
type heard struct {
	mu   sync.Mutex
	text strings.Builder
}

func (h *heard) add(s string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.WriteString(s + "\n")
}

func (h *heard) has(s string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Contains(h.text.String(), s)
}

// oneRow is a row of a table: the condition that finds it.
type oneRow struct{ table, where string }

// flipped is a store whose rows are turned: a data folder, and the address of its database if that is not SQLite.
type flipped struct{ dir, database string }

// use makes a service that is started use the store.
func (f flipped) use(c *app.Config) {
	if c.DataDir = f.dir; f.database != "" {
		c.Database, c.AddressKey = f.database, filepath.Join(f.dir, subscription.KeyFile)
	}
}

// copied is a copy of the store.
func (f flipped) copied(t *testing.T) flipped {
	t.Helper()
	to := flipped{dir: filepath.Join(t.TempDir(), "data")}
	if err := os.CopyFS(to.dir, os.DirFS(f.dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(to.dir, subscription.KeyFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if f.database != "" {
		to.database = postgres.Copy(t, f.database)
	}
	return to
}

// beside opens the database beside the service.
func (f flipped) beside(t *testing.T) *sql.DB {
	t.Helper()
	driver, name := "sqlite", "file:"+filepath.Join(f.dir, store.FileName)+"?vfs="+pagesum.Strict+"&_pragma=busy_timeout(10000)"
	if f.database != "" {
		driver, name = "pgx", f.database
	}
	d, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// tables are the names of all tables.
func (f flipped) tables(t *testing.T, d *sql.DB) []string {
	if f.database != "" {
		return texts(t, d, `SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename`)
	}
	return texts(t, d, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name`)
}

// columns are those of a table, or of its primary key.
func (f flipped) columns(t *testing.T, d *sql.DB, table string, ofKey bool) []string {
	switch {
	case f.database == "" && ofKey:
		return texts(t, d, `SELECT name FROM pragma_table_info(`+quoted(table)+`) WHERE pk > 0 ORDER BY pk`)
	case f.database == "":
		return texts(t, d, `SELECT name FROM pragma_table_info(`+quoted(table)+`)`)
	case ofKey:
		return texts(t, d, `SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) WHERE i.indisprimary AND i.indrelid = `+quoted(table)+`::regclass ORDER BY a.attnum`)
	}
	return texts(t, d, `SELECT attname FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attrelid = `+quoted(table)+`::regclass ORDER BY attnum`)
}

// Whatever row of whatever table has one wrong bit, after a restart nothing but what that row holds is harmed: of two
// editors, two webhooks, two subscribers and two publishers at least one goes on, and at most one hazard is not what
// it was. HAZARDD_TESTS=all turns a bit in every row, ci in one of each table; else in one of every third table.
// HAZARDD_SEED chooses others.
func TestOneWrongBitInARowHarmsNoOther(t *testing.T) {
	test.Seconds(t)
	seed := uint64(1)
	if text := os.Getenv("HAZARDD_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	var told, called heard
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		called.add(r.URL.Path + " " + string(text))
	}))
	defer receiver.Close()
	box := make(postbox, 1000)
	go func() {
		for n := range box {
			told.add(notedAs(n))
		}
	}()
	defer close(box)
	alter := func(c *app.Config) {
		openTo(c)
		c.Sender, c.ApproveWarnings = box, true
		c.WebhookAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
	data := flipped{dir: filepath.Join(t.TempDir(), "data")}
	if postgres.Postgres() {
		data.database = postgres.URL(t)
	}
	if err := os.Mkdir(data.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := subscription.ReadKey(filepath.Join(data.dir, subscription.KeyFile), true); err != nil {
		t.Fatal(err)
	}
	var before map[string]string
	t.Run("sample", func(t *testing.T) {
		before = sampleOfEachKind(t, receiver.URL, alter, data.use)
	})
	data.fillTheRest(t)
	rows := data.rows(t)
	if !test.All() {
		rows = oneOfEach(rows, seed)
	}
	var harmed, impossible atomic.Int64
	t.Run("flips", func(t *testing.T) {
		for i, row := range rows {
			t.Run(row.table+" "+row.where, func(t *testing.T) {
				t.Parallel()
				defer func() {
					if t.Failed() {
						harmed.Add(1)
					}
				}()
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				own := data.copied(t)
				turned := own.turn(t, row, r)
				if turned == "" {
					impossible.Add(1)
					t.Skip("no bit can be turned")
				}
				var log syncBuffer
				s := server.ServeEmpty(t, own.dir, alter, own.use, func(c *app.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
				w := &world{Server: s, t: t, tokens: &tokens{issue: s.Token, byUser: map[string]string{}}, client: &http.Client{Transport: &http.Transport{}}}
				t.Cleanup(w.client.CloseIdleConnections)
				if others := w.harmed(before, &told, &called); len(others) > 0 {
					t.Errorf("%s: harmed: %s\n%.2000s", turned, strings.Join(others, "; "), log.String())
				}
			})
		}
	})
	flips := int64(len(rows)) - impossible.Load() // the others' types or constraints refuse it
	t.Logf("rows: %d, flips: %d, others harmed: %d", len(rows), flips, harmed.Load())
}

// notedAs is a notice as one line of text.
func notedAs(n message.Notice) string { return fmt.Sprintf("%+v", n) }

// sampleOfEachKind makes a store with at least one row of each kind, and returns the active list by UUID.
func sampleOfEachKind(t *testing.T, receiver string, alter ...func(*app.Config)) map[string]string {
	s := start(t, alter...)
	for _, org := range []int64{s.RedCross, s.FireBrigade} {
		s.publish(digits(org), plainProfile("sender", "alerts@"+digits(org)+".example.org"))
	}
	for _, user := range []string{"red", "fire"} {
		var h hook
		s.do(user, "POST", "/webhooks", fmt.Sprintf(`{"url":%q}`, receiver+"/"+user)).JSON(t, &h)
		if a := s.do(user, "POST", "/subscriptions", `{"name":"`+user+`","where":{"points":[{"lon":20,"lat":10,"radius_km":50}]},"channels":[{"kind":"webpush","to":"{}"}]}`); a.Status != http.StatusCreated {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		first := s.hazard(user, "area", map[string]any{"type": "Polygon", "coordinates": [][][2]float64{{{20, 10}, {21, 10}, {21, 11}, {20, 10}}}})
		s.product(user, first.HazardID, note())
		if a := s.upload(user, first.HazardID, file(), "a.txt", []byte("content of "+user)); a.Status != http.StatusCreated {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		s.do(user, "PATCH", "/hazards/"+first.UUID, `{"description":"second"}`)
		second, gone := s.hazard(user), s.hazard(user)
		for _, a := range []server.Answer{
			s.do(user, "POST", "/hazards/"+gone.UUID+"/merge", map[string]string{"into": second.UUID}),
			s.do(user, "POST", "/hazards/"+s.hazard(user).UUID+"/retract", `{"reason":"test"}`),
			s.do(user, "POST", "/hazards", flood("severity_ID", "WARNING")), // waits for a second person
		} {
			if a.Status/100 != 2 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
	}
	s.report(quake("one", 1), quake("two", 1), quake("three", 1))
	again := quake("one", 2)
	again.Name = "Earthquake one, again"
	s.report(again)
	held := quake("held", 1)
	held.Suspect = "the words say TEST"
	if res, err := s.intake().Apply(t.Context(), held.Source, source.Batch{Reports: []hazard.Report{held}, Read: 1}, now(), fuse.Options{}); err != nil || res.Held != 1 {
		t.Fatalf("%+v %v", res, err)
	}
	if a := s.do("red", "PUT", "/organizations/"+digits(s.RedCross)+"/assets", "name,lat,lon\nclinic,10,20\n", "Content-Type", "text/csv"); a.Status/100 != 2 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := s.do("root", "POST", "/keys", `{"title":"dashboard"}`); a.Status/100 != 2 {
		t.Fatalf("keys: %d %s", a.Status, a.Body)
	}
	s.settle(1)
	eventually(s.t, "the notices of what was made are recorded", func() bool {
		last, err := s.Store.Log.Last(s.t.Context())
		noticed, err2 := s.Store.Notices.Noticed(s.t.Context())
		return errors.Join(err, err2) == nil && noticed >= last
	})
	return listed(t, s.do("root", "GET", "/hazards/active", nil))
}

// address is that of the service, whose port is another after a restart.
var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// listed are the records of a list by UUID.
func listed(t testing.TB, a server.Answer) map[string]string {
	t.Helper()
	var list []map[string]any
	if a.JSON(t, &list); a.Status != http.StatusOK {
		t.Fatalf("the list: %d %s", a.Status, a.Body)
	}
	byUUID := map[string]string{}
	for _, h := range list {
		delete(h, "creator") // a person's name for some, an organization's for others
		delete(h, "update_User")
		byUUID[fmt.Sprint(h["uuid"])] = address.ReplaceAllString(fmt.Sprint(h), "")
	}
	return byUUID
}

// harmed names what is worse than what one row may do.
func (w *world) harmed(before map[string]string, told, called *heard) (others []string) {
	not := func(format string, args ...any) { others = append(others, fmt.Sprintf(format, args...)) }
	var user string
	for _, u := range []string{"root", "red", "fire"} {
		if _, err := w.Auth.Issue(w.t.Context(), auth.Actor{}, u, w.Now()); err == nil {
			user = u
			break
		}
	}
	now := listed(w.t, w.do(user, "GET", "/hazards/active", nil))
	var changed []string
	for id, was := range before {
		if now[id] != was {
			changed = append(changed, id)
		}
	}
	if len(changed) > 1 {
		w.t.Logf("was %s\n is %s", before[changed[0]], now[changed[0]])
		not("%d of %d hazards are not what they were", len(changed), len(before))
	}
	stream := w.subscribe(user, "?after=0")
	var made []string
	for _, u := range []string{"red", "fire"} {
		if _, err := w.Auth.Issue(w.t.Context(), auth.Actor{}, u, w.Now()); err != nil {
			continue
		}
		a := w.do(u, "POST", "/hazards", flood("hazard_Name", "After the restart"))
		if a.Status != http.StatusCreated {
			not("%s cannot write: %d %.200s", u, a.Status, a.Body)
			continue
		}
		var h item
		a.JSON(w.t, &h)
		made = append(made, h.UUID)
	}
	if len(made) == 0 {
		not("nobody can write")
		return others
	}
	deadline := time.Now().Add(30 * time.Second)
	until := func(what string, holds func() bool) {
		for !holds() {
			if time.Now().After(deadline) {
				not("%s", what)
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	anyOf := func(holds func(string) bool) func() bool {
		return func() bool { return slices.ContainsFunc(made, holds) }
	}
	until("the new hazards are not listed", func() bool {
		list := listed(w.t, w.do(user, "GET", "/hazards/active", nil))
		return !slices.ContainsFunc(made, func(id string) bool { return list[id] == "" })
	})
	until("they are not streamed", anyOf(func(id string) bool {
		for {
			select {
			case b, ok := <-stream.blocks:
				if !ok || strings.Contains(b.data, id) {
					return ok
				}
			default:
				return false
			}
		}
	}))
	until("no webhook gets them", anyOf(called.has))
	until("no subscriber is told", anyOf(told.has))
	until("they are not published", func() bool {
		feed := string(w.do("", "GET", "/cap/feed.atom", nil).Body)
		return strings.Contains(feed, "After the restart")
	})
	refused := 0
	left := slices.Sorted(maps.Keys(before))
	for _, id := range left {
		if user == "root" && !slices.Contains(changed, id) && w.do("root", "POST", "/hazards/"+id+"/retract", `{"reason":"false"}`).Status != http.StatusOK {
			refused++
		}
	}
	if refused > 1 {
		not("%d of %d hazards cannot be retracted", refused, len(left))
	}
	return others
}

// rows are all rows of the store, at most 40 of a table.
func (f flipped) rows(t *testing.T) (rows []oneRow) {
	t.Helper()
	d := f.beside(t)
	defer d.Close()
	var empty []string
	for _, table := range f.tables(t, d) {
		keys, quote := f.columns(t, d, table, true), `quote("%s")`
		if f.database != "" {
			quote = `quote_literal("%s")`
		}
		if len(keys) == 0 && f.database != "" {
			keys = []string{"ctid"}
		} else if len(keys) == 0 {
			keys = []string{"rowid"}
		}
		var say []string
		for _, k := range keys {
			say = append(say, `'"`+k+`" = ' || `+fmt.Sprintf(quote, k))
		}
		found := texts(t, d, `SELECT `+strings.Join(say, ` || ' AND ' || `)+` FROM "`+table+`" LIMIT 40`)
		if len(found) == 0 {
			empty = append(empty, table)
		}
		for _, where := range found {
			rows = append(rows, oneRow{table, where})
		}
	}
	t.Logf("%d rows; tables without one: %v", len(rows), empty)
	return rows
}

// fillTheRest adds a row to the tables to which the sample leads to none, as servers write them.
func (f flipped) fillTheRest(t *testing.T) {
	t.Helper()
	d := f.beside(t)
	defer d.Close()
	const digest, id = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "01a21bd2-3a65-7305-9c39-6b165a992929"
	for _, statement := range []string{
		`INSERT INTO attempts VALUES ('user red', 1, 1, 1)`,
		`INSERT INTO confirmations VALUES (1, '` + digest + `', 1)`,
		`INSERT INTO contents VALUES ('` + digest + `', 1, false)`,
		`INSERT INTO draft_marks SELECT id, 'seen', 'root', 1 FROM drafts LIMIT 1`,
		`INSERT INTO event_refs SELECT 'GLIDE EQ-1', source, event FROM events LIMIT 1`,
		`INSERT INTO leases VALUES ('poll', 'node of before', 1)`,
		`INSERT INTO parted SELECT source, event, source, 'another', false FROM events LIMIT 1`,
		`INSERT INTO payloads VALUES ('` + digest + `', '` + digest + `', 1, 1, 1, 1)`,
		`INSERT INTO receipts VALUES (1, 'test', 'feed', '', 'https://example.org', '', '` + digest + `', 1, 1, 1, false, '', '')`,
		`INSERT INTO pictures SELECT id, n, '', 'https://example.org/a.png', '', 0, 0, '', 0, 1, 'not found', 9999999999999 FROM products LIMIT 1`,
		`INSERT INTO places VALUES ('test', 'A1', 'Somewhere', '{"type":"Point","coordinates":[0,0]}', 1)`,
		`INSERT INTO revocations VALUES ('` + id + `', 9999999999999)`,
		`INSERT INTO shapes VALUES ('` + digest + `', x'01')`,
		`INSERT INTO source_errors VALUES (1, 'test', 'record', 'reason', 1, 1, 1, x'01', '')`,
		`INSERT INTO splits SELECT n, id, '{}' FROM hazards LIMIT 1`,
		`INSERT INTO wakes SELECT id, 9999999999999 FROM hazards LIMIT 1`,
		`INSERT INTO pruned VALUES ('audit', 0, 0, 0, 0, 'before.ndjson')`,
	} {
		if f.database != "" {
			statement = strings.ReplaceAll(statement, `x'01'`, `'\x01'`)
		}
		if _, err := d.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// oneOfEach chooses a row of each table, or of every third.
func oneOfEach(rows []oneRow, seed uint64) (some []oneRow) {
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	seen := map[string]bool{}
	for _, row := range rows {
		if !seen[row.table] {
			if test.OneIn(3, len(seen)) {
				some = append(some, row)
			}
			seen[row.table] = true
		}
	}
	return some
}

// turn turns one bit of one value of a row, and says which; empty: the types and constraints of the row allow none.
func (f flipped) turn(t *testing.T, row oneRow, r *rand.Rand) string {
	t.Helper()
	d := f.beside(t)
	defer d.Close()
	columns := f.columns(t, d, row.table, false)
	for range 50 {
		column := columns[r.IntN(len(columns))]
		var value any
		if err := d.QueryRowContext(t.Context(), `SELECT "`+column+`" FROM "`+row.table+`" WHERE `+row.where).Scan(&value); err != nil {
			t.Fatal(err)
		}
		var bit int
		var turned any
		switch v := value.(type) {
		case bool:
			turned = !v
		case int64:
			bit = r.IntN(48)
			turned = v ^ 1<<bit
		case string:
			if v == "" {
				continue
			}
			b := []byte(v)
			if bit = r.IntN(len(b) * 8); r.IntN(4) == 0 {
				bit |= 7 // the text is no longer UTF-8
			}
			b[bit/8] ^= 1 << (bit % 8)
			turned = string(b)
		case float64:
			bit = r.IntN(64)
			turned = math.Float64frombits(math.Float64bits(v) ^ 1<<bit)
		case []byte:
			if len(v) == 0 {
				continue
			}
			bit = r.IntN(len(v) * 8)
			v = slices.Clone(v)
			v[bit/8] ^= 1 << (bit % 8)
			turned = v
		default:
			continue
		}
		if _, err := d.ExecContext(t.Context(), `UPDATE "`+row.table+`" SET "`+column+`" = $1 WHERE `+row.where, turned); err == nil {
			return fmt.Sprintf("bit %d of %s.%s = %.60v", bit, row.table, column, value)
		}
	}
	return ""
}

func quoted(name string) string { return "'" + strings.ReplaceAll(name, "'", "''") + "'" }

// texts are the first column of an answer.
func texts(t *testing.T, d *sql.DB, query string) (list []string) {
	t.Helper()
	rows, err := d.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	return list
}
