package view

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/internal/store"
)

// Log is the part of the store that a view reads besides the given changes.
type Log interface {
	// Snapshot returns all active hazards as of one change.
	Snapshot(ctx context.Context) (*store.Snapshot, error)
	// ProductsAsOf lists all products that a hazard had as of change n, by id, regardless of their
	// audience.
	ProductsAsOf(ctx context.Context, hazardID, n int64) ([]*hazard.Product, error)
}

// Live holds the present View. It is safe for concurrent use.
type Live struct {
	log    Log
	now    func() hazard.Instant
	logger *slog.Logger

	view    atomic.Pointer[View]
	readAt  atomic.Int64   // when the view was last known to be up to date, in Unix milliseconds
	mu      sync.Mutex     // guards swapping, clock and swapped
	clock   hazard.Instant // see moment
	swapped chan struct{}  // closed and replaced at each swap
}

// Open reads the present state. now is the service's clock.
func Open(ctx context.Context, log Log, logger *slog.Logger, now func() hazard.Instant) (*Live, error) {
	at := now()
	snap, err := log.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	l := &Live{log: log, now: now, logger: logger, clock: at, swapped: make(chan struct{})}
	l.view.Store(newView(snap.Number, entriesOf(snap), at))
	l.readAt.Store(int64(at))
	return l, nil
}

func entriesOf(snap *store.Snapshot) map[int64]*entry {
	entries := make(map[int64]*entry, len(snap.Hazards))
	for _, h := range snap.Hazards {
		entries[h.ID] = &entry{hazard: h}
	}
	for _, p := range snap.Products {
		entries[p.HazardID].products = append(entries[p.HazardID].products, p)
	}
	return entries
}

// View returns the view at now. It never contains hazards whose end is at or before now, even if
// the end is not recorded yet.
func (l *Live) View(now hazard.Instant) *View {
	if v := l.view.Load(); now < v.nextEnd {
		return v
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.moment(now)
	if v := l.view.Load(); at >= v.nextEnd {
		l.swap(newView(v.number, v.byID, at))
	}
	return l.view.Load()
}

// moment returns the latest moment that any caller has passed, including now: an earlier now never
// brings ended hazards back. A moment too far in the future came from a wrong clock that was
// corrected since, and is ignored. The caller holds l.mu.
func (l *Live) moment(now hazard.Instant) hazard.Instant {
	if behind := l.clock.Time().Sub(now.Time()); behind <= 0 || behind > clock.Still {
		l.clock = now
	}
	return l.clock
}

// ReadAt returns when the view was last known to be up to date. The time since then is the view's
// age.
func (l *Live) ReadAt() hazard.Instant { return hazard.Instant(l.readAt.Load()) }

// WaitFor waits until the view includes change n, so that writers see their own writes, or returns
// ctx's error.
func (l *Live) WaitFor(ctx context.Context, n int64) error {
	for {
		l.mu.Lock()
		swapped := l.swapped
		l.mu.Unlock()
		if l.view.Load().number >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-swapped:
		}
	}
}

// Number returns the number of the view's last change.
func (l *Live) Number() int64 { return l.view.Load().number }

// Current records that the view was up to date at a moment.
func (l *Live) Current(at hazard.Instant) { l.readAt.Store(int64(at)) }

// Expire removes ended hazards from the view, and returns when the next hazard in it ends.
func (l *Live) Expire() hazard.Instant { return l.View(l.now()).nextEnd }

// Apply adds changes to the view, as of a moment. They must follow its number without a gap, except
// at forks.
func (l *Live) Apply(ctx context.Context, changes []hazard.Change, at hazard.Instant) error {
	for {
		back, err := l.returning(ctx, changes)
		if err != nil || l.apply(changes, back, at) {
			return err
		} // a hazard is active again: read its products
	}
}

// Renew rebuilds a view that contains changes of a void history.
func (l *Live) Renew(ctx context.Context, fork *store.ForkedError, at hazard.Instant) error {
	snap, err := l.log.Snapshot(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	seen := l.Number()
	l.swap(newView(snap.Number, entriesOf(snap), l.moment(at)))
	l.mu.Unlock()
	l.logger.Error("acknowledged changes are lost: the history was replaced by one without them", "reason", fork.Reason,
		"first", fork.Last+1, "last seen here", seen, "goes on after", fork.Start)
	return nil
}

// returning reads the products of hazards that become active again, by hazard id, because the view
// no longer has them.
func (l *Live) returning(ctx context.Context, changes []hazard.Change) (map[int64][]*hazard.Product, error) {
	back := map[int64][]*hazard.Product{}
	v := l.view.Load()
	active := map[int64]bool{} // active hazards after the changes so far
	for _, c := range changes {
		if c.Hazard == nil {
			continue
		}
		was, known := active[c.HazardID]
		if !known {
			_, was = v.byID[c.HazardID]
		}
		active[c.HazardID] = c.Hazard.Status == hazard.Active
		if was || !active[c.HazardID] || c.Kind == hazard.HazardCreated {
			continue
		}
		products, err := l.log.ProductsAsOf(ctx, c.HazardID, c.Number)
		if err != nil {
			return nil, err
		}
		back[c.Number] = products
	}
	return back, nil
}

// apply replaces the view by one with changes, which follow the present one without a gap. back
// holds the products of hazards that become active again. If it lacks those of one, apply returns
// false and changes nothing.
func (l *Live) apply(changes []hazard.Change, back map[int64][]*hazard.Product, now hazard.Instant) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.moment(now)
	v := l.view.Load()
	entries := maps.Clone(v.byID)
	owner := map[int64]int64{} // hazard of each changed product
	for i := range changes {
		c := &changes[i]
		if c.Product != nil { // a merge or a split moves a product to another hazard
			from, ok := owner[c.Product.ID]
			if before := v.product[c.Product.ID]; !ok && before != nil {
				from = before.HazardID
			}
			if e := entries[from]; e != nil && from != c.HazardID {
				gone := *c.Product
				gone.Deleted = true
				entries[from] = &entry{hazard: e.hazard, products: withProduct(e.products, &gone)}
			}
			owner[c.Product.ID] = c.HazardID
		}
		old := entries[c.HazardID]
		switch {
		case c.Hazard != nil && c.Hazard.Status != hazard.Active:
			delete(entries, c.HazardID)
		case c.Hazard != nil && old != nil:
			entries[c.HazardID] = &entry{hazard: c.Hazard, products: old.products}
		case c.Hazard != nil:
			products, ok := back[c.Number]
			if !ok && c.Kind != hazard.HazardCreated {
				return false
			}
			for _, p := range products {
				owner[p.ID] = c.HazardID
			}
			entries[c.HazardID] = &entry{hazard: c.Hazard, products: products}
		case old != nil:
			entries[c.HazardID] = &entry{hazard: old.hazard, products: withProduct(old.products, c.Product)}
		}
	}
	l.swap(newView(changes[len(changes)-1].Number, entries, at))
	return true
}

func (l *Live) swap(v *View) {
	l.view.Store(v)
	close(l.swapped)
	l.swapped = make(chan struct{})
}

// withProduct returns products with p inserted or replaced in order of ids, or removed if p is
// deleted.
func withProduct(products []*hazard.Product, p *hazard.Product) []*hazard.Product {
	i, found := slices.BinarySearchFunc(products, p.ID, func(q *hazard.Product, id int64) int { return int(q.ID - id) })
	products = slices.Clone(products)
	switch {
	case p.Deleted && found:
		return slices.Delete(products, i, i+1)
	case p.Deleted:
		return products
	case found:
		products[i] = p
		return products
	}
	return slices.Insert(products, i, p)
}
