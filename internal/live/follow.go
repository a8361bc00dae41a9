package live

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hazardd/hazardd/internal/clock"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// Log is the part of the store that a view reads, beside the changes that it is given.
type Log interface {
	// Snapshot is everything active as of one change.
	Snapshot(ctx context.Context) (*store.Snapshot, error)
	// ProductsAsOf lists the products that a hazard had as of change n, by number, whoever may see them.
	ProductsAsOf(ctx context.Context, hazardID, n int64) ([]*hazard.Product, error)
}

// Live keeps the present View. It is safe for concurrent use.
type Live struct {
	log    Log
	now    func() hazard.Instant
	logger *slog.Logger

	view    atomic.Pointer[View]
	readAt  atomic.Int64   // when the log was last known to hold nothing newer, Unix milliseconds
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

// View is the view at now: what ends at or before now is not in it, whether or not anybody has recorded its end.
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

// moment is the latest of the moments that callers have named, now among them: who asks late brings
// nothing back. What lies further ahead than the service's clock ever stands still was a wrong
// time, which the clock has given up. l.mu is held.
func (l *Live) moment(now hazard.Instant) hazard.Instant {
	if behind := l.clock.Time().Sub(now.Time()); behind <= 0 || behind > clock.Still {
		l.clock = now
	}
	return l.clock
}

// ReadAt is when the log was last known to hold nothing newer than the view: the view's age is the time since.
func (l *Live) ReadAt() hazard.Instant { return hazard.Instant(l.readAt.Load()) }

// WaitFor returns when the view is as of change n or later, so that a writer sees its own write, or with ctx's error.
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

// Number is the change that the present view is as of.
func (l *Live) Number() int64 { return l.view.Load().number }

// Current notes that the log held nothing newer than the view at a moment.
func (l *Live) Current(at hazard.Instant) { l.readAt.Store(int64(at)) }

// Expire drops what has ended from the view, and returns when the next hazard in it ends.
func (l *Live) Expire() hazard.Instant { return l.View(l.now()).nextEnd }

// Apply brings the view up to date with changes that follow its number without a gap but those of forks, as of a moment.
func (l *Live) Apply(ctx context.Context, changes []hazard.Change, at hazard.Instant) error {
	for {
		back, err := l.returning(ctx, changes)
		if err != nil || l.apply(changes, back, at) {
			return err
		} // what ended meanwhile is back: its products are read
	}
}

// Renew replaces a view that holds changes of a history which is void.
func (l *Live) Renew(ctx context.Context, fork *store.ForkedError, at hazard.Instant) error {
	snap, err := l.log.Snapshot(ctx)
	if err != nil {
		return err
	}
	l.logger.Error("acknowledged changes are lost: the history was replaced by one that has not got them", "reason", fork.Reason,
		"first", fork.Last+1, "last seen here", l.view.Load().number, "goes on after", fork.Start)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.swap(newView(snap.Number, entriesOf(snap), l.moment(at)))
	return nil
}

// returning reads the products of the hazards that changes make active again, as of these changes, by their numbers: the view let go of
// them.
func (l *Live) returning(ctx context.Context, changes []hazard.Change) (map[int64][]*hazard.Product, error) {
	back := map[int64][]*hazard.Product{}
	v := l.view.Load()
	active := map[int64]bool{} // hazards after the changes so far
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

// apply swaps in a view with changes, which follow the present one without a gap; back are the products of hazards that
// become active again. It is false, and nothing is changed, if those of one are not among them.
func (l *Live) apply(changes []hazard.Change, back map[int64][]*hazard.Product, now hazard.Instant) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.moment(now)
	v := l.view.Load()
	entries := maps.Clone(v.byID)
	owner := map[int64]int64{} // the hazard of each product that changes hold
	for i := range changes {
		c := &changes[i]
		if c.Product != nil { // a merge or a split makes it another hazard's
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

// withProduct is products with p in its place by number, or without it when it was deleted.
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
