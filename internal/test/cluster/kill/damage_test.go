//go:build unix

package kill

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/test"
)

// flip flips one bit of a file.
func flip(t testing.TB, path string, bit int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], bit/8); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1 << (bit % 8)
	if _, err := f.WriteAt(b[:], bit/8); err != nil {
		t.Fatal(err)
	}
}

// end stops the server with a normal shutdown.
func (s *server) end() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	<-s.gone
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("the server ended with %v\n%s", err, s.logs)
	}
}

// keptFiles returns the product files in a data folder.
func keptFiles(t testing.TB, data string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(data, "files"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && e.Name() != blob.OwnerName {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestDamagedFileIsAnErrorAndNoAnswer(t *testing.T) {
	test.Slow(t)
	data := t.TempDir()
	start(t, data, "").kill()
	token := writer(t, data)
	s := start(t, data, "")
	c := newClient(s.url, token)
	l := newLedger()
	hazard, product := uuid.NewString(), uuid.NewString()
	if err := l.create(t.Context(), c, hazard); err != nil {
		t.Fatal(err)
	}
	if err := l.upload(t.Context(), c, hazard, product, rand.New(rand.NewPCG(1, 1))); err != nil {
		t.Fatal(err)
	}
	kept := keptFiles(t, data)
	if len(kept) != 1 {
		t.Fatalf("the data folder contains %q, want one file", kept)
	}
	good, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(){
		"one bit turned": func() { flip(t, kept[0], int64(len(good))*4) },
		"cut short": func() {
			if err := os.Truncate(kept[0], int64(len(good))-1); err != nil {
				t.Fatal(err)
			}
		},
		"empty": func() {
			if err := os.Truncate(kept[0], 0); err != nil {
				t.Fatal(err)
			}
		},
		"gone": func() {
			if err := os.Remove(kept[0]); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			damage()
			status, answer, header, err := c.do(t.Context(), http.MethodGet, "/products/"+product+"/file", "", nil)
			if err != nil {
				t.Fatal(err)
			}
			if status < 400 || header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("status %d, %s: %.60q; want an error as problem+json", status, header.Get("Content-Type"), answer)
			}
			if bytes.Contains(answer, good[:16]) {
				t.Error("the answer holds bytes of the damaged file")
			}
			if err := os.WriteFile(kept[0], good, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, what := range l.check(t, c, true) {
				t.Errorf("after the file was restored: %s", what)
			}
		})
	}
}

// picture is everything that readers see: every answer by its path.
type picture map[string]string

// look reads everything. failed is the first answer that reports an error; the picture then ends
// before it. An answer that something does not exist is not an error, because a reader believes it.
func look(t testing.TB, c *client, ids []string) (p picture, failed string) {
	t.Helper()
	paths := []string{"/hazards/active", "/changes?limit=1000"}
	for _, id := range ids {
		paths = append(paths, "/hazards/"+id, "/hazards/"+id+"/products", "/hazards/"+id+"/alert-geography", "/hazards/"+id+"/changes")
	}
	p = picture{}
	for _, path := range paths {
		status, answer, _, err := c.do(t.Context(), http.MethodGet, path, "", nil)
		if err != nil {
			return p, fmt.Sprintf("%s: %v", path, err)
		}
		if status != http.StatusOK && status != http.StatusNotFound {
			return p, fmt.Sprintf("%s: %d", path, status)
		}
		p[path] = strings.ReplaceAll(string(answer), c.url, "") // the port differs each time
	}
	return p, ""
}

// difference says how an answer differs from the one before.
type difference int

const (
	none difference = iota
	incomplete
	invented
)

// total matches the number of a hazard's products.
var total = regexp.MustCompile(`"product_total":"\d+"`)

// compare reports how the picture differs from an earlier one: whether something is missing, or
// something is there that nobody wrote.
func (p picture) compare(was picture) (worst difference, where string) {
	for path, answer := range p {
		d := none
		if answer != was[path] {
			d = invented
			var list, before []json.RawMessage
			if json.Unmarshal([]byte(was[path]), &before) != nil { // one hazard
				if !strings.Contains(answer, `"hazard_ID"`) {
					d = incomplete
				}
			} else if json.Unmarshal([]byte(answer), &list) != nil || len(list) < len(before) {
				d = incomplete
			}
			if total.ReplaceAllString(answer, "") == total.ReplaceAllString(was[path], "") {
				d = incomplete
			}
		}
		if d > worst {
			worst, where = d, path
		}
	}
	return worst, where
}

// tryStart starts the server on a store that may be damaged. refused is its output if it does not
// start.
func tryStart(t testing.TB, data string) (s *server, refused string) {
	t.Helper()
	s, out := launch(t, data, "")
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			s.kill()
			return nil, strings.TrimSpace(s.logs.String())
		}
		if url, ok := strings.CutPrefix(line, "hazardd ready at "); ok {
			s.url = strings.TrimSpace(url)
			close(s.gone) // nothing more is read
			return s, ""
		}
	}
}

// written is a data folder with some writes, and the picture that readers then see.
type written struct {
	data, token string
	ids         []string // of hazards
	want        picture
}

// someWrites makes a data folder. If killed is set, the server is killed at the end, so that its
// changes are still in the write-ahead log.
func someWrites(t testing.TB, killed bool) *written {
	t.Helper()
	w := &written{data: t.TempDir()}
	start(t, w.data, "").end()
	w.token = writer(t, w.data)
	s := start(t, w.data, "")
	c := newClient(s.url, w.token)
	l := newLedger()
	for range 25 {
		id := uuid.NewString()
		w.ids = append(w.ids, id)
		if err := errors.Join(l.create(t.Context(), c, id), l.rename(t.Context(), c, id), l.text(t.Context(), c, id, uuid.NewString())); err != nil {
			t.Fatal(err)
		}
	}
	var failed string
	if w.want, failed = look(t, c, w.ids); failed != "" {
		t.Fatal(failed)
	}
	if killed {
		s.kill()
	} else {
		s.end()
	}
	return w
}

// outcomes counts the effects of damage.
type outcomes struct{ refused, reported, harmless, told, incomplete, invented int }

func (o outcomes) String() string {
	return fmt.Sprintf("%d starts refused, %d errors, %d without effect, %d answered with something missing and said so, %d did not say so, %d answered with what nobody wrote",
		o.refused, o.reported, o.harmless, o.told, o.incomplete, o.invented)
}

// saysDamaged reports whether the server says that it leaves out what is damaged.
func saysDamaged(t testing.TB, c *client) bool {
	t.Helper()
	_, answer, _, err := c.do(t.Context(), http.MethodGet, "/readyz", "", nil)
	var said struct{ Damaged int }
	if err == nil {
		err = json.Unmarshal(answer, &said)
	}
	if err != nil {
		t.Fatal(err)
	}
	return said.Damaged > 0
}

// damage flips one bit of a file in a copy of the data folder, a different one in each round, and
// checks what readers see then. different is called for an answer that differs.
func (w *written) damage(t *testing.T, file string, n int, different func(c *client, path string)) (o outcomes) {
	t.Helper()
	info, err := os.Stat(filepath.Join(w.data, file))
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 3))
	t.Logf("seed %d", seed)
	for range n {
		bit := rnd.Int64N(info.Size() * 8)
		copied := filepath.Join(t.TempDir(), "data")
		err := os.CopyFS(copied, os.DirFS(w.data))
		if err == nil {
			err = os.Chmod(filepath.Join(copied, "addresses.key"), 0o600) // a copy is readable by others, and the server refuses such a key
		}
		if err != nil {
			t.Fatal(err)
		}
		flip(t, filepath.Join(copied, file), bit)
		s, why := tryStart(t, copied)
		if s == nil {
			o.refused++
			if why == "" {
				t.Errorf("bit %d: the start is refused without an error message", bit)
			}
			continue
		}
		c := newClient(s.url, w.token)
		got, failed := look(t, c, w.ids)
		switch worst, where := got.compare(w.want); {
		case worst == invented:
			o.invented++
			different(c, where)
		case worst == incomplete && saysDamaged(t, c):
			o.told++
			different(c, where)
		case worst == incomplete:
			o.incomplete++
			different(c, where)
		case failed != "":
			o.reported++
		default:
			o.harmless++
		}
		c.http.CloseIdleConnections()
		s.kill()
	}
	return o
}

// SQLite finds damage to the structure of its pages (cell_size_check), and checksums find damage to
// states and areas: what is damaged is left out, and the server says so. Columns that say which state is present remain: hazardd check compares them,
// and about one bit in some hundred can hit them.
func TestFlippedBitInTheDatabaseIsFound(t *testing.T) {
	test.Slow(t)
	w := someWrites(t, false)
	n := rounds(t, "HAZARDD_FLIPS", 50)
	o := w.damage(t, "hazardd.db", n, func(_ *client, path string) { t.Logf("other than it was: %s", path) })
	t.Logf("%d bits: %v", n, o)
	if wrong := o.incomplete + o.invented; 20*wrong > n {
		t.Errorf("%d of %d bits led to a wrong answer", wrong, n)
	}
}

// After a crash the last changes are only in the write-ahead log. SQLite reads it up to the first
// damage: later changes are lost, earlier ones are correct and complete.
func TestFlippedBitInTheWriteAheadLogLeavesTheChangesBeforeIt(t *testing.T) {
	test.Slow(t)
	w := someWrites(t, true)
	var whole []json.RawMessage
	if err := json.Unmarshal([]byte(w.want["/changes?limit=1000"]), &whole); err != nil {
		t.Fatal(err)
	}
	n := rounds(t, "HAZARDD_FLIPS", 20)
	o := w.damage(t, "hazardd.db-wal", n, func(c *client, _ string) {
		status, answer, _, err := c.do(t.Context(), http.MethodGet, "/changes?limit=1000", "", nil)
		if err != nil || status != http.StatusOK {
			t.Fatalf("%d %v", status, err)
		}
		var rest []json.RawMessage
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(answer), c.url, "")), &rest); err != nil {
			t.Fatal(err)
		}
		for i := range rest {
			if i >= len(whole) || !bytes.Equal(rest[i], whole[i]) {
				t.Fatalf("change %d is %s, was %s", i+1, rest[i], whole[i])
			}
		}
		// Readers who have seen lost changes are told, and so is the operator.
		want := http.StatusOK
		if len(rest) < len(whole) {
			want = http.StatusGone
		}
		if status, answer, _, err := c.do(t.Context(), http.MethodGet, fmt.Sprintf("/changes?after=%d", len(whole)), "", nil); err != nil || status != want {
			t.Errorf("%d of %d changes are there, and a client that has seen all gets %d %s (%v), expected %d", len(rest), len(whole), status, answer, err, want)
		}
		checkLog(t, c)
	})
	if o.refused == n {
		t.Error("no server starts")
	}
	t.Logf("%d bits: %d starts refused, %d errors, %d without effect, %d with an earlier state", n, o.refused, o.reported, o.harmless, o.told+o.incomplete+o.invented)
}
