package sse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/wire"
)

const base = "https://hazards.example"

var discard = slog.New(slog.DiscardHandler)

// memoryLog is a change log in memory, with the view of it.
type memoryLog struct {
	mu      sync.Mutex
	changes []hazard.Change
	seen    int64 // the latest number
	view    int64 // the view shows the state after this change
	wake    chan struct{}
	reads   int // number of reads of changes
	fail    error
	forks   []store.Fork
}

func newMemoryLog() *memoryLog { return &memoryLog{wake: make(chan struct{})} }

// add appends changes and makes the view show them.
func (l *memoryLog) add(changes ...hazard.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range changes {
		c.Number = l.seen + 1
		l.seen = c.Number
		l.changes = append(l.changes, c)
	}
	close(l.wake)
	l.wake = make(chan struct{})
}

func (l *memoryLog) Last(context.Context) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen, l.fail
}

// skip leaves a gap in the numbers, as a replaced history does.
func (l *memoryLog) skip(n int64) {
	l.forks = append(l.forks, store.Fork{Last: l.seen, Start: l.seen + n})
	l.seen += n
}

func (l *memoryLog) Since(_ context.Context, n int64, limit int) ([]hazard.Change, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	for _, f := range l.forks {
		if n > f.Last && n < f.Start {
			return nil, &store.ForkedError{Fork: f}
		}
	}
	i, _ := slices.BinarySearchFunc(l.changes, n+1, func(c hazard.Change, n int64) int { return int(c.Number - n) })
	return slices.Clone(l.changes[i:min(i+limit, len(l.changes))]), l.fail
}

func (l *memoryLog) Page(ctx context.Context, p store.LogPage) (store.LogPiece, error) {
	changes, err := l.Since(ctx, p.After, p.Limit)
	l.mu.Lock()
	defer l.mu.Unlock()
	piece := store.LogPiece{Changes: changes, Last: l.seen}
	for i := range changes { // each reader gets its own copy, as it does from the store
		if product := changes[i].Product; product != nil {
			changes[i].Product = new(*product)
		}
	}
	if len(changes) > 0 && changes[len(changes)-1].Number < l.changes[len(l.changes)-1].Number {
		piece.Next = changes[len(changes)-1].Number
	}
	return piece, err
}

func (l *memoryLog) Behind(context.Context, int64) error { panic("the log never goes back") }

func (l *memoryLog) HazardsBefore(_ context.Context, ids []int64, n int64) (map[int64]*hazard.Hazard, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	states := map[int64]*hazard.Hazard{}
	for _, c := range l.changes {
		if c.Number < n && c.Hazard != nil && slices.Contains(ids, c.HazardID) {
			states[c.HazardID] = c.Hazard
		}
	}
	return states, nil
}

func (l *memoryLog) ProductsThen(_ context.Context, of []hazard.Change) (map[int64][]*hazard.Product, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[int64][]*hazard.Product{}
	for _, o := range of {
		latest := map[int64]*hazard.Product{}
		for _, c := range l.changes {
			if c.Number <= o.Number && c.HazardID == o.HazardID && c.Product != nil {
				latest[c.Product.ID] = c.Product
			}
		}
		for _, p := range latest {
			if !p.Deleted {
				p := new(*p)
				p.Present = l.present(p.ID)
				all[o.Number] = append(all[o.Number], p)
			}
		}
	}
	return all, nil
}

func (l *memoryLog) JudgeByPresent(_ context.Context, products []*hazard.Product) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range products {
		p.Present = l.present(p.ID)
	}
	return nil
}

// present returns who may read a product after the last change.
func (l *memoryLog) present(id int64) *hazard.Audience {
	for _, c := range slices.Backward(l.changes) {
		if c.Product != nil && c.Product.ID == id {
			return new(c.Product.Audience())
		}
	}
	return nil
}

func (l *memoryLog) Wait(ctx context.Context, n int64) error {
	for {
		l.mu.Lock()
		seen, wake, err := l.seen, l.wake, l.fail
		l.mu.Unlock()
		if seen > n || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
		}
	}
}

func (l *memoryLog) Number() int64 { return l.view }

func (l *memoryLog) Apply(_ context.Context, changes []hazard.Change, _ hazard.Instant) error {
	l.view = changes[len(changes)-1].Number
	return nil
}

func (l *memoryLog) Renew(_ context.Context, fork *store.ForkedError, _ hazard.Instant) error {
	l.view = fork.Start
	return nil
}

func (l *memoryLog) Current(hazard.Instant) {}

func (l *memoryLog) Expire() hazard.Instant { return hazard.MaxInstant }

func now() hazard.Instant { return hazard.At(time.Now()) }

// hub creates a hub of the log with these memory bounds, whose view is as of change number.
func hub(l *memoryLog, number int64, bounds follow.Bounds) *Hub {
	l.view = number
	return New(follow.New(l, l, now, bounds, discard), l, base, Limits{PerUser: 10, All: 100})
}

// last returns the number up to which a hub sends changes.
func (h *Hub) last() int64 {
	_, _, _, last := h.tail.Kept()
	return last
}

// run creates a hub that follows the log until the test ends.
func run(t testing.TB, l *memoryLog, number int64) *Hub {
	t.Helper()
	h := hub(l, number, follow.Memory)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- h.tail.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return h
}

func flood(id int64, s hazard.Severity) hazard.Change {
	return hazard.Change{Kind: hazard.HazardUpdated, HazardID: id, At: 1, Hazard: &hazard.Hazard{ID: id, UUID: uuid.NewSHA1(uuid.NameSpaceOID, []byte{byte(id)}), Name: "Flood\n\"1\"",
		Type: hazard.Flood, Severity: s, Category: hazard.Event, Status: hazard.Active}}
}

func note(id, hazardID int64, text string, orgs ...int64) hazard.Change {
	return hazard.Change{Kind: hazard.ProductUpdated, HazardID: hazardID, At: 1, Product: &hazard.Product{ID: id, HazardID: hazardID, Title: "Note", Type: hazard.TextProduct, Data: text, OrgIDs: orgs}}
}

// severe is a filter for a minimum severity.
type severe hazard.Severity

func (s severe) Match(_ context.Context, h *hazard.Hazard) (bool, error) { return s.match(h), nil }

func (s severe) match(h *hazard.Hazard) bool { return h.Severity >= hazard.Severity(s) }

// all reads all available events of a cursor.
func all(t interface {
	Context() context.Context
	Fatal(...any)
}, c *Cursor, orgs []int64) (events []string) {
	for {
		texts, wake, err := c.Next(t.Context(), orgs)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			events = append(events, string(text))
		}
		if wake != nil {
			return events
		}
	}
}

// told returns the event that a reader must get for change n of a log when change now is the last,
// or "" if the reader must get none.
func told(t interface{ Fatal(...any) }, l *memoryLog, n, now int64, f *severe, orgs []int64) string {
	var this *hazard.Change
	var before, after *hazard.Hazard
	products, today := map[int64]*hazard.Product{}, map[int64]hazard.Audience{}
	for _, c := range l.changes {
		if c.Product != nil && c.Number <= now {
			today[c.Product.ID] = c.Product.Audience()
		}
	}
	for _, c := range l.changes {
		if c.Number == n {
			this = &c
		}
	}
	for _, c := range l.changes {
		switch {
		case c.HazardID != this.HazardID || c.Number > n:
		case c.Hazard != nil:
			before, after = after, c.Hazard
		case !c.Product.Deleted:
			products[c.Product.ID] = c.Product
		default:
			delete(products, c.Product.ID)
		}
	}
	may := func(a hazard.Audience) bool {
		return len(a.OrgIDs) == 0 || slices.ContainsFunc(a.OrgIDs, func(o int64) bool { return slices.Contains(orgs, o) })
	}
	deleted := false
	if p := this.Product; p != nil {
		if before = after; !may(p.Audience()) || !may(today[p.ID]) {
			return ""
		}
		if deleted = today[p.ID].Deleted && !slices.Contains(orgs, today[p.ID].OrgID); deleted && !p.Deleted {
			return ""
		}
	}
	left := f != nil && !f.match(after)
	if left && (this.Product != nil || before == nil || !f.match(before)) {
		return ""
	}
	total := 0
	for _, p := range products {
		if may(p.Audience()) && may(today[p.ID]) && (!today[p.ID].Deleted || slices.Contains(orgs, today[p.ID].OrgID)) {
			total++
		}
	}
	shown := wire.FromChange(this, total, base)
	if shown.Left = left; deleted {
		shown.Product.Title, shown.Product.Data = "[deleted]", new("")
	}
	data, err := json.Marshal(shown)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", n, this.Kind, data)
}

func TestEveryReaderIsToldTheLogAsItMayKnowIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newMemoryLog()
		h := hub(l, 0, follow.Bounds{Changes: rapid.SampledFrom([]int{3, 20, 1000}).Draw(t, "changes in memory"), Bytes: rapid.Int64Range(1<<10, 1<<16).Draw(t, "bytes in memory")})
		hazards := int64(0)
		type reader struct {
			*Cursor
			orgs   []int64
			filter *severe
		}
		var readers []*reader
		draw := func(label string, most int64) int64 { return rapid.Int64Range(1, most).Draw(t, label) }
		severity := func() hazard.Severity {
			return rapid.SampledFrom([]hazard.Severity{hazard.Advisory, hazard.Watch, hazard.Warning}).Draw(t, "severity")
		}
		follow := func() {
			if err := h.tail.CatchUp(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		// read lets a reader read a little, and reports whether there may be more. The reader must
		// get each change as its present rights allow. Present means the last change that the hub
		// knows, or a later one in the log.
		read := func(r *reader) bool {
			from := r.Number()
			texts, wake, err := r.Next(t.Context(), r.orgs)
			if err != nil {
				t.Fatal(err)
			}
			size := 0
			for _, text := range texts {
				size += len(text)
			}
			if len(texts) > 1 && size > maxTexts {
				t.Fatalf("%d bytes at once", size)
			}
			for _, c := range l.changes {
				if c.Number <= from || c.Number > r.Number() {
					continue
				}
				got := ""
				if len(texts) > 0 && bytes.HasPrefix(texts[0], fmt.Appendf(nil, "id: %d\n", c.Number)) {
					got, texts = string(texts[0]), texts[1:]
				}
				want := []string{told(t, l, c.Number, h.last(), r.filter, r.orgs)}
				for _, later := range l.changes {
					if later.Number > h.last() {
						want = append(want, told(t, l, c.Number, later.Number, r.filter, r.orgs))
					}
				}
				if !slices.Contains(want, got) {
					t.Fatalf("change %d, %v, members of %v:\ngot %s\nwant %s", c.Number, r.filter, r.orgs, got, want)
				}
			}
			if len(texts) > 0 {
				t.Fatalf("told beside the log: %s", texts)
			}
			return wake == nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"a hazard begins": func(*rapid.T) {
				hazards++
				c := flood(hazards, severity())
				c.Kind = hazard.HazardCreated
				l.add(c)
			},
			"a hazard changes": func(t *rapid.T) {
				if hazards == 0 {
					t.Skip()
				}
				l.add(flood(draw("hazard", hazards), severity()))
			},
			"a product changes": func(t *rapid.T) {
				if hazards == 0 {
					t.Skip()
				}
				id := draw("hazard", hazards)
				c := note(10*id+draw("product", 3), id, strings.Repeat("x", int(draw("size", 9000))), rapid.SliceOfNDistinct(rapid.Int64Range(1, 3), 0, 2, rapid.ID).Draw(t, "organizations")...)
				c.Product.OrgID = rapid.Int64Range(1, 3).Draw(t, "owner")
				c.Product.Deleted = rapid.IntRange(0, 3).Draw(t, "deleted") == 0
				l.add(c)
			},
			"a history is replaced": func(*rapid.T) { l.skip(1000) },
			"the hub follows":       func(*rapid.T) { follow() },
			"a reader comes": func(t *rapid.T) {
				from := int64(0)
				if len(l.changes) > 0 && rapid.Bool().Draw(t, "resumes") {
					from = rapid.SampledFrom(l.changes).Draw(t, "change").Number
				}
				r := &reader{Cursor: h.Read(from, nil, nil), orgs: rapid.SampledFrom([][]int64{nil, {1}, {2, 3}, {9}}).Draw(t, "organizations")}
				if rapid.Bool().Draw(t, "filtered") {
					r.filter = new(severe(hazard.Watch))
					r.Cursor = h.Read(from, r.filter, nil)
				}
				readers = append(readers, r)
			},
			"a reader reads a little": func(t *rapid.T) {
				if len(readers) == 0 {
					t.Skip()
				}
				read(rapid.SampledFrom(readers).Draw(t, "reader"))
			},
		})
		follow()
		for _, r := range readers {
			for read(r) {
			}
			if r.Number() != h.last() {
				t.Fatalf("the cursor is behind %d, the log ends at %d", r.Number(), h.last())
			}
		}
	})
}

func TestAnEventIsEncodedOncePerAudience(t *testing.T) {
	l := newMemoryLog()
	h := run(t, l, 0)
	l.add(flood(1, hazard.Watch), note(1, 1, "open"), note(2, 1, "closed", 7), flood(1, hazard.Warning))
	if err := wait(t, h, 4); err != nil {
		t.Fatal(err)
	}
	texts := func(orgs []int64) [][]byte {
		events, _, err := h.Read(0, nil, nil).Next(t.Context(), orgs)
		if err != nil {
			t.Fatal(err)
		}
		return events
	}
	strangers, members := texts([]int64{1, 2}), texts([]int64{7})
	if len(strangers) != 3 || len(members) != 4 {
		t.Fatalf("%d and %d events, want 3 and 4", len(strangers), len(members))
	}
	same := func(a, b []byte) bool { return &a[0] == &b[0] }
	for i, again := range texts([]int64{3}) {
		if !same(again, strangers[i]) {
			t.Errorf("event %d is encoded anew for another stranger", i)
		}
	}
	for i, again := range texts([]int64{5, 7}) {
		if !same(again, members[i]) {
			t.Errorf("event %d is encoded anew for another member", i)
		}
	}
	if !same(strangers[0], members[0]) || !same(strangers[1], members[1]) {
		t.Error("what all may know is encoded for each audience")
	}
	if bytes.Equal(strangers[2], members[3]) {
		t.Error("members and strangers are told of the same number of products")
	}
}

// wait waits until the hub has change n in memory.
func wait(t testing.TB, h *Hub, n int64) error {
	t.Helper()
	for c := h.Read(0, nil, nil); ; {
		_, wake, err := c.Next(t.Context(), nil)
		if err != nil || c.Number() >= n {
			return err
		}
		if wake != nil {
			select {
			case <-wake:
			case <-t.Context().Done():
				return t.Context().Err()
			}
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Run("in the number of changes", func(t *testing.T) {
		l := newMemoryLog()
		h := run(t, l, 0)
		most := follow.Memory.Changes
		for range 2*most + 10 {
			l.add(flood(1, hazard.Watch))
		}
		if err := wait(t, h, int64(2*most+10)); err != nil {
			t.Fatal(err)
		}
		if changes, _, from, last := h.tail.Kept(); changes > most || from != last-int64(changes) {
			t.Errorf("%d changes in memory, from %d to %d", changes, from, last)
		}
	})
	t.Run("in bytes, those of encoded events too", func(t *testing.T) {
		l := newMemoryLog()
		h := run(t, l, 0)
		large := strings.Repeat("x", int(follow.Memory.Bytes/10))
		for i := range int64(9) {
			l.add(note(i+1, 1, large))
		}
		if err := wait(t, h, 9); err != nil {
			t.Fatal(err)
		}
		if changes, bytes, _, _ := h.tail.Kept(); changes > 5 || changes == 0 || bytes > follow.Memory.Bytes {
			t.Errorf("%d changes of %d bytes in memory", changes, bytes)
		}
	})
}

// A failover must not lose a change that anybody has seen, and may continue after a change that
// nobody has seen yet. The hub reads both at once.
func TestNobodyIsToldOfAForkThatLostNothing(t *testing.T) {
	l := newMemoryLog()
	h := hub(l, 0, follow.Memory)
	c := h.Read(0, nil, nil)
	l.add(flood(1, hazard.Watch), flood(2, hazard.Watch))
	l.skip(1000)
	l.add(flood(3, hazard.Watch))
	var told []byte
	for range 10 {
		if err := h.tail.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		events, _, err := c.Next(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, bytes.Join(events, nil)...)
	}
	if n := bytes.Count(told, []byte("id: ")); n != 3 || bytes.Contains(told, []byte("event: reset")) || c.Number() != 1003 {
		t.Errorf("told up to %d, want the 3 changes up to 1003:\n%s", c.Number(), told)
	}
}

func TestAfterAStartMemoryHoldsTheLatestChanges(t *testing.T) {
	l, last := newMemoryLog(), int64(3*follow.Memory.Changes)
	for range last {
		l.add(flood(1, hazard.Watch))
	}
	h := run(t, l, last)
	if err := wait(t, h, last); err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	before := l.reads
	l.mu.Unlock()
	for range 100 {
		if got := len(all(t, h.Read(last-50, nil, nil), nil)); got != 50 {
			t.Fatalf("%d events, want 50", got)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reads > before+1 { // one read is the hub's own while it waits
		t.Errorf("the log was read %d times by readers who resume after a restart", l.reads-before)
	}
}

func TestWhereTheLogCanBeResumed(t *testing.T) {
	const day = 24 * time.Hour
	l := newMemoryLog()
	for i := range hazard.Instant(3) {
		c := flood(1, hazard.Watch)
		c.At = hazard.Instant(0).Add(time.Duration(i) * day)
		l.add(c)
	}
	l.skip(1_000_000)
	l.add(flood(1, hazard.Warning))
	l.changes[3].At = hazard.Instant(0).Add(3 * day)
	h := hub(l, l.seen, follow.Memory)
	for name, tt := range map[string]struct {
		n    int64
		now  time.Duration
		keep time.Duration
		want Lost
	}{
		"from the beginning":                         {0, 3 * day, Kept, ""},
		"from the beginning, when that is too old":   {0, Kept + time.Millisecond, Kept, TooOld},
		"from the beginning, however old":            {0, 1000 * day, 0, ""},
		"after a change, the next just young enough": {1, Kept + day, Kept, ""},
		"after a change, the next too old":           {1, Kept + day + time.Millisecond, Kept, TooOld},
		"after the last before a new history":        {3, 4 * day, Kept, ""},
		"after one that was replaced":                {4, 4 * day, Kept, Unknown},
		"where the new history begins":               {1_000_003, 4 * day, Kept, ""},
		"where it began too long ago":                {1_000_003, 1000 * day, Kept, TooOld},
		"just before the new history begins":         {1_000_002, 4 * day, Kept, Unknown},
		"after the last":                             {1_000_004, 4 * day, Kept, ""},
		"after the last, long ago":                   {1_000_004, 1000 * day, Kept, ""},
		"after one of the future":                    {1_000_005, 4 * day, Kept, Unknown},
		"after the greatest number":                  {1<<63 - 1, 4 * day, Kept, Unknown},
		"after less than nothing":                    {-1, 4 * day, Kept, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := h.Resumable(t.Context(), tt.n, tt.keep, hazard.Instant(0).Add(tt.now)); got != tt.want || err != nil {
				t.Errorf("after %d at %v: %q, %v; want %q", tt.n, tt.now, got, err, tt.want)
			}
		})
	}
}

func TestTheHubGoesOnWhenTheStoreIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemoryLog()
		l.fail = errors.New("away")
		h := run(t, l, 0)
		l.add(flood(1, hazard.Watch))
		time.Sleep(time.Minute)
		synctest.Wait()
		events, wake, err := h.Read(0, nil, nil).Next(t.Context(), nil)
		if len(events) > 0 || wake == nil || err != nil {
			t.Errorf("while the store is away: %q, %v", events, err)
		}
		l.mu.Lock()
		l.fail = nil
		l.mu.Unlock()
		<-wake
		if events := all(t, h.Read(0, nil, nil), nil); len(events) != 1 {
			t.Errorf("after that: %q", events)
		}
	})
}

func TestTheNumberOfStreamsIsBounded(t *testing.T) {
	h := New(nil, nil, base, Limits{PerUser: 2, All: 3})
	ended := 0
	var open []*Stream
	join := func(user string) (*Stream, error) {
		s, err := h.Join(user, time.Now(), func() { ended++ })
		if err == nil {
			open = append(open, s)
		}
		return s, err
	}
	first, err := join("ann")
	_, err2 := join("ann")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	wantTooMany := func(user string, own bool) {
		t.Helper()
		_, err := join(user)
		if many, ok := errors.AsType[*TooManyError](err); !ok || many.Own != own {
			t.Errorf("%s: %v", user, err)
		}
	}
	wantTooMany("ann", true)
	if _, err := join("bob"); err != nil {
		t.Fatal(err)
	}
	wantTooMany("cem", false)
	first.Leave()
	open = open[1:]
	if _, err := join("cem"); err != nil || h.Streams() != 3 {
		t.Errorf("after one has left: %v, %d streams", err, h.Streams())
	}
	h.End()
	h.End()
	for _, s := range open {
		if !isEnded(s) {
			t.Error("the end is not told")
		}
	}
	if ended != 3 {
		t.Errorf("%d streams were ended, want 3", ended)
	}
	for _, s := range open {
		go s.Leave()
	}
	h.Wait()
	if n := h.Streams(); n != 0 {
		t.Errorf("%d streams when all have left", n)
	}
}

func isEnded(s *Stream) bool {
	select {
	case <-s.Ended():
		return true
	default:
		return false
	}
}

// A user whose 32 streams are dead can open another.
func TestANewStreamReplacesADeadOneOfItsUser(t *testing.T) {
	const most = 32
	h, now := New(nil, nil, base, Limits{PerUser: most, All: 100}), time.Unix(1_000_000_000, 0)
	var ends []string
	join := func(user, name string) (*Stream, error) {
		return h.Join(user, now, func() { ends = append(ends, name) })
	}
	open := func(user, name string) *Stream {
		t.Helper()
		s, err := join(user, name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return s
	}
	refused := func(why string) {
		t.Helper()
		_, err := join("ann", why)
		if many, ok := errors.AsType[*TooManyError](err); !ok || !many.Own || len(ends) > 0 {
			t.Fatalf("%s: %v; ended: %q, want a refusal", why, err, ends)
		}
	}
	bob := open("bob", "bob's, dead for longest")
	bob.Wrote(now)
	now = now.Add(time.Second)
	var streams []*Stream
	want := make([]string, most) // the order in which the streams are replaced; the first is number 7
	for i := range most {
		name, later := fmt.Sprint("ann's ", i), (i+most-7)%most
		s := open("ann", name)
		s.Wrote(now)
		s.Wrote(now.Add(time.Duration(later) * time.Millisecond))
		streams, want[later] = append(streams, s), name
	}
	oldest := streams[7]
	now = now.Add(2 * Heartbeat)
	refused("two heartbeats after the last write")
	now = now.Add(time.Nanosecond)
	s := open("ann", "new")
	if !slices.Equal(ends, want[:1]) || !isEnded(oldest) || s.Replaced != 2*Heartbeat+1 {
		t.Errorf("ended: %q after %v, want the stream that was written to longest ago", ends, s.Replaced)
	}
	if n := h.Streams(); n != most+2 {
		t.Errorf("%d streams, want bob's, ann's %d and the replaced one until it has left", n, most)
	}
	ends = nil
	s.Wrote(now)
	refused("the others are not dead yet")
	oldest.Leave()
	refused("the replaced stream left, which was counted no more")
	now = now.Add(time.Second)
	for range most - 1 {
		open("ann", "new").Wrote(now)
	}
	if !slices.Equal(ends, want[1:]) || isEnded(s) || isEnded(bob) {
		t.Errorf("ended: %q, want %q", ends, want[1:])
	}
	ends = nil
	refused("none is dead")
	h.End()
	if len(ends) != 1+most { // the replaced streams do not end a second time
		t.Errorf("%d streams were ended with the service, want %d", len(ends), 1+most)
	}
}

func TestLiveStreamsAreNotReplaced(t *testing.T) {
	h, now := New(nil, nil, base, Limits{PerUser: 2, All: 3}), time.Unix(1_000_000_000, 0)
	join := func(user string) (*Stream, error) { return h.Join(user, now, func() {}) }
	live, err := join("ann")
	_, err2 := join("ann") // this stream waits for its response: nothing is written to it
	other, err3 := join("bob")
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	other.Wrote(now)
	for range 100 {
		live.Wrote(now)
		now = now.Add(2 * Heartbeat)
		if s, err := join("ann"); err == nil {
			t.Fatalf("replaced a stream %v after its last write", s.Replaced)
		}
	}
	now = now.Add(1)
	_, err = join("ann") // it would replace a stream, but the server has no room for both until the old one has left
	if many, ok := errors.AsType[*TooManyError](err); !ok || many.Own || isEnded(live) {
		t.Errorf("a server that is full: %v", err)
	}
}

// A failover that loses nothing also leaves a gap in the numbers. A node that had not read the last
// change before the gap sends that change, and then the changes after the gap. No reader has the
// number of a change that never existed.
func TestAHubThatIsBehindAForkTellsWhatCameBeforeIt(t *testing.T) {
	l := newMemoryLog()
	l.add(flood(1, hazard.Watch))
	h := hub(l, 1, follow.Memory)
	c := h.Read(1, nil, nil)
	l.add(flood(1, hazard.Watch)) // the hub has not read this change before the gap
	l.skip(1_000_000)
	l.add(flood(1, hazard.Watch), flood(1, hazard.Warning))
	var told []int64
	for range 10 {
		if err := h.tail.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		for {
			events, wake, err := c.Next(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if n := c.Number(); n > 2 && n < 1_000_002 {
				t.Errorf("the reader is at %d, between the histories", n)
			}
			for _, e := range events {
				var n int64
				if _, err := fmt.Sscanf(string(e), "id: %d", &n); err != nil {
					t.Fatal(err)
				}
				told = append(told, n)
			}
			if wake != nil {
				break
			}
		}
	}
	if want := []int64{2, 1_000_003, 1_000_004}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

func TestARedactionLeavesNothingOfBeforeInMemory(t *testing.T) {
	l := newMemoryLog()
	h := hub(l, 0, follow.Memory)
	follow := func() {
		if err := h.tail.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l.add(flood(1, hazard.Watch), note(1, 1, "secret"))
	follow()
	redacted := note(1, 1, hazard.RedactedText)
	redacted.Product.Redacted = []hazard.Redaction{{Fields: []string{"data"}, User: "root", At: redacted.At, Reason: "private"}}
	l.changes[1].Product = redacted.Product // the log is rewritten
	l.add(redacted)
	follow()
	_, _, from, _ := h.tail.Kept()
	if got := strings.Join(all(t, h.Read(0, nil, nil), nil), ""); strings.Contains(got, "secret") || !strings.Contains(got, "private") || from != 2 {
		t.Errorf("behind %d: %s", from, got)
	}
}
