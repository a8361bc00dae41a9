package view

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
)

const base = "https://hazardd.example"

var discard = slog.New(slog.DiscardHandler)

// memoryLog is a log that a test writes to, and whose store it can make unavailable.
type memoryLog struct {
	mu       sync.Mutex
	changes  []hazard.Change
	hazards  map[int64]*hazard.Hazard
	products map[int64]*hazard.Product
	failing  error
	waits    int // calls of Wait
	asked    int // calls of ProductsAsOf
	wake     chan struct{}
}

func newMemoryLog() *memoryLog {
	return &memoryLog{hazards: map[int64]*hazard.Hazard{}, products: map[int64]*hazard.Product{}, wake: make(chan struct{})}
}

// write appends a change of h, or of p when h is nil, and returns its number.
func (m *memoryLog) write(h *hazard.Hazard, p *hazard.Product) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := hazard.Change{Number: int64(len(m.changes) + 1)}
	if h != nil {
		h = new(*h)
		h.Version, c.Kind, c.HazardID, c.Hazard = c.Number, hazard.HazardUpdated, h.ID, h
		if m.hazards[h.ID] == nil {
			c.Kind = hazard.HazardCreated
		}
		m.hazards[h.ID] = h
	} else {
		p = new(*p)
		p.Version, c.Kind, c.HazardID, c.Product = c.Number, hazard.ProductUpdated, p.HazardID, p
		m.products[p.ID] = p
	}
	m.changes = append(m.changes, c)
	close(m.wake)
	m.wake = make(chan struct{})
	return c.Number
}

// fail makes every call return err; nil ends this.
func (m *memoryLog) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failing = err
}

func (m *memoryLog) Snapshot(context.Context) (*store.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	snap := &store.Snapshot{Number: int64(len(m.changes))}
	for _, h := range m.hazards {
		if h.Status == hazard.Active {
			snap.Hazards = append(snap.Hazards, h)
			snap.Products = append(snap.Products, m.of(h.ID)...)
		}
	}
	return snap, m.failing
}

func (m *memoryLog) of(hazardID int64) (list []*hazard.Product) {
	for _, p := range m.products {
		if p.HazardID == hazardID && !p.Deleted {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *hazard.Product) int { return int(a.ID - b.ID) })
	return list
}

func (m *memoryLog) Page(_ context.Context, p store.LogPage) (store.LogPiece, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failing != nil {
		return store.LogPiece{}, m.failing
	}
	piece := store.LogPiece{Last: int64(len(m.changes)), Changes: slices.Clone(m.changes[p.After:min(int(p.After)+p.Limit, len(m.changes))])}
	if n := p.After + int64(len(piece.Changes)); n < piece.Last {
		piece.Next = n
	}
	return piece, nil
}

// after returns the changes above n, at most limit.
func (m *memoryLog) after(n int64, limit int) []hazard.Change {
	return slices.Clone(m.changes[n:min(int(n)+limit, len(m.changes))])
}

func (m *memoryLog) Behind(context.Context, int64) error { panic("the log never goes back") }

func (m *memoryLog) HazardsBefore(context.Context, []int64, int64) (map[int64]*hazard.Hazard, error) {
	panic("the view asks for no states")
}

func (m *memoryLog) ProductsThen(context.Context, []hazard.Change) (map[int64][]*hazard.Product, error) {
	panic("the view asks for no products of then")
}

func (m *memoryLog) JudgeByPresent(context.Context, []*hazard.Product) error {
	panic("the view reads nothing of the past")
}

func (m *memoryLog) ProductsAsOf(_ context.Context, hazardID, n int64) ([]*hazard.Product, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	latest := map[int64]*hazard.Product{}
	for _, c := range m.changes[:n] {
		if c.Product != nil {
			latest[c.Product.ID] = c.Product
		}
	}
	var list []*hazard.Product
	for _, p := range latest {
		if p.HazardID == hazardID && !p.Deleted {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *hazard.Product) int { return int(a.ID - b.ID) })
	return list, m.failing
}

// tooManyWaits is more calls of Wait than any test here needs, so that a follower in an endless
// loop is detected.
const tooManyWaits = 10_000

func (m *memoryLog) Wait(ctx context.Context, n int64) error {
	for {
		m.mu.Lock()
		wake, last, err := m.wake, int64(len(m.changes)), m.failing
		m.waits++
		spinning := m.waits > tooManyWaits
		m.mu.Unlock()
		if spinning {
			panic("the log is asked without a pause")
		}
		if err != nil || last > n {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
		}
	}
}

// flood returns an active hazard that ends by itself.
func flood(id int64, end hazard.Instant) *hazard.Hazard {
	return &hazard.Hazard{ID: id, UUID: uuid.NewSHA1(uuid.NameSpaceOID, []byte{byte(id >> 8), byte(id)}), Name: "Flood", Type: hazard.Flood, Severity: hazard.Warning,
		Category: hazard.Event, Status: hazard.Active, AutoExpire: true, End: end, OrgID: -1}
}

// note returns a text product that only members of orgs may see; everybody, if there are none.
func note(id, hazardID int64, orgs ...int64) *hazard.Product {
	return &hazard.Product{ID: id, UUID: uuid.NewSHA1(uuid.NameSpaceURL, []byte{byte(id >> 8), byte(id)}), HazardID: hazardID, Title: "Note", Type: hazard.TextProduct,
		Data: "text", OrgIDs: orgs, OrgID: -1}
}

func textLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// catchUp brings the view up to date, as a running tail does.
func catchUp(t interface {
	Context() context.Context
	Fatal(...any)
}, log follow.Log, l *Live) {
	if err := follow.New(log, l, l.now, follow.Bounds{}, discard).CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, log Log, now func() hazard.Instant) *Live {
	t.Helper()
	l, err := Open(t.Context(), log, discard, now)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
