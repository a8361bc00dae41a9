package live

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hazardd/internal/clock"
	"hazardd/internal/hazard"
	"hazardd/internal/store"
)

// Log is the part of the store that a view follows.
type Log interface {
	// Snapshot is everything active as of one change.
	Snapshot(ctx context.Context) (*store.Snapshot, error)
	// Since returns committed changes numbered above n, in commit order, at most limit. There are no gaps between them but those of forks. It is
	// a *store.ForkedError if n is of a history that was replaced.
	Since(ctx context.Context, n int64, limit int) ([]hazard.Change, error)
	// Wait returns when a change above n may exist, or when ctx ends.
	Wait(ctx context.Context, n int64) error
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

// Follow keeps the view up to date until ctx ends. While the store cannot be read it goes on with what it has, and expiry
// with it, and tries again each second.
func (l *Live) Follow(ctx context.Context) error {
	away := false // it is told once, and when it is over
	for ctx.Err() == nil {
		err := l.catchUp(ctx)
		if err == nil && away {
			away = false
			l.logger.Warn("the change log can be read again")
		}
		if err == nil {
			err = l.waitForChange(ctx)
		}
		if err != nil && ctx.Err() == nil {
			if !away {
				away = true
				l.logger.Warn("the change log cannot be read; readers keep the last view, without what ends", "error", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
		l.View(l.now())
	}
	return nil
}

// waitForChange waits for a change, or the next end, or a second, whichever comes first.
func (l *Live) waitForChange(ctx context.Context) error {
	v := l.view.Load()
	// A second at most, so that the view's age stays honest, and a millisecond more, the unit of ends. Not the other way round:
	// where nothing ends, the time until then is the longest that there is.
	until := min(v.nextEnd.Time().Sub(l.now().Time()), time.Second) + time.Millisecond
	waiting, cancel := context.WithTimeout(ctx, max(until, 0))
	defer cancel()
	if err := l.log.Wait(waiting, v.number); err != nil && waiting.Err() == nil {
		return err
	}
	return nil
}

// maxChanges bounds what is read of the log at once.
const maxChanges = 1000

// catchUp applies all changes that the log holds beyond the view.
func (l *Live) catchUp(ctx context.Context) error {
	for {
		asked := l.now()
		changes, err := l.log.Since(ctx, l.view.Load().number, maxChanges)
		if fork, ok := errors.AsType[*store.ForkedError](err); ok {
			if err := l.readAnew(ctx, fork, asked); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if len(changes) > 0 {
			back, err := l.returning(ctx, changes)
			if err != nil {
				return err
			}
			if !l.apply(changes, back, asked) {
				continue // what ended meanwhile is back: its products are read
			}
		}
		if len(changes) < maxChanges {
			l.readAt.Store(int64(asked))
			return nil
		}
	}
}

// readAnew replaces a view that holds changes of a history which is void.
func (l *Live) readAnew(ctx context.Context, fork *store.ForkedError, now hazard.Instant) error {
	snap, err := l.log.Snapshot(ctx)
	if err != nil {
		return err
	}
	l.logger.Error("acknowledged changes are lost: the history was replaced by one that has not got them", "reason", fork.Reason,
		"first", fork.Last+1, "last seen here", l.view.Load().number, "goes on after", fork.Start)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.swap(newView(snap.Number, entriesOf(snap), l.moment(now)))
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
