package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Quarantine remembers what readers of many records could not read and left out, so that one bad record
// stops none of its neighbors and is still known. It is safe for concurrent use.
type Quarantine struct {
	*core
	mu    sync.Mutex
	found map[string]damage // by name: "change 17", "geometry 3f9c…"
}

type damage struct {
	err     error
	again   func(context.Context) error // reads the record again
	account bool                        // a row of users; these are read again together
	met     time.Time                   // when a reader last met it
	kept    time.Duration               // how long it counts after that, whatever again returns
}

// Found returns what is damaged, by name, as far as readers have met it.
func (x *Quarantine) Found() map[string]error {
	x.mu.Lock()
	defer x.mu.Unlock()
	found := make(map[string]error, len(x.found))
	for name, d := range x.found {
		found[name] = d.err
	}
	return found
}

// Recheck reads what is damaged again, and forgets what has been mended.
func (x *Quarantine) Recheck(ctx context.Context) {
	x.mu.Lock()
	found := maps.Clone(x.found)
	x.mu.Unlock()
	for name, d := range found {
		if time.Since(d.met) >= d.kept && d.again(ctx) == nil {
			x.mu.Lock()
			delete(x.found, name)
			x.mu.Unlock()
		}
	}
}

// toldAgain is longer than it takes until a change that could not be told is tried again.
const toldAgain = 5 * time.Minute

// Telling reports whether err means that something damaged is in the way of telling about a change,
// and remembers it until toldAgain after it was last met.
func (x *Quarantine) Telling(n int64, err error) bool {
	return x.skipFor(fmt.Sprintf("what change %d needs", n), err, func(context.Context) error { return nil }, toldAgain)
}

// change does the same for a change of the log.
func (x *Quarantine) change(n int64, err error) bool {
	return x.skip(fmt.Sprintf("change %d", n), err, func(ctx context.Context) error {
		_, err := x.store.readChange(ctx, n)
		return err
	})
}

// geometry does the same for a shape.
func (x *Quarantine) geometry(digest string, err error) bool {
	return x.skip("geometry "+digest, err, func(ctx context.Context) error {
		_, err := x.store.shapes.read(ctx, x.readQ, digest)
		return err
	})
}

// accounts replaces what is remembered of the rows of users, and of what they log in with.
func (x *Quarantine) accounts(damaged []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.DeleteFunc(x.found, func(_ string, d damage) bool { return d.account })
	for _, what := range damaged {
		err := &DamagedError{what}
		x.found[what] = damage{err: err, again: func(context.Context) error { return err }, account: true}
	}
}

// Watch remembers what while check gives an error.
func (x *Quarantine) Watch(what string, check func() error) {
	err := check()
	if err == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.found[what] = damage{err: err, again: func(context.Context) error { return check() }}
}

// note remembers damage until forget.
func (x *Quarantine) note(what string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.found[what] = damage{err: err, again: func(context.Context) error { return err }}
}

func (x *Quarantine) forget(what string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.found, what)
}

func (x *Quarantine) skip(name string, err error, again func(context.Context) error) bool {
	return x.skipFor(name, err, again, 0)
}

func (x *Quarantine) skipFor(name string, err error, again func(context.Context) error, kept time.Duration) bool {
	if !Broken(err) && !errors.Is(err, errPage) {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	d, known := x.found[name]
	if !known {
		d = damage{err: err, again: again, kept: kept}
	}
	d.met = time.Now()
	x.found[name] = d
	return true
}

// readChange reads one change.
func (s *core) readChange(ctx context.Context, n int64) (c hazard.Change, err error) {
	row, err := s.readQ.ChangeByNumber(ctx, n)
	if err != nil {
		return c, found(err, "change %d", n)
	}
	return decodeChange(sqlc.ChangesSinceRow(row))
}

// readable decodes rows of the log, and leaves out the damaged ones.
func (s *core) readable(rows []sqlc.ChangesSinceRow) ([]hazard.Change, error) {
	changes := make([]hazard.Change, 0, len(rows))
	for _, r := range rows {
		c, err := decodeChange(r)
		if err != nil && !s.store.Quarantine.change(r.N, err) {
			return nil, err
		}
		if err == nil {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// LastReadable returns the latest state of a hazard that can be read, although a later one is
// damaged, so that it can be ended. The hazard is named by its id, or if that is 0, by its UUID. It
// returns ErrNotFound if there is none.
func (t *Tx) LastReadable(id int64, byUUID uuid.UUID) (*hazard.Hazard, error) {
	rows, err := t.tx.QueryContext(t.ctx, `SELECT c.n, c.body FROM hazards h JOIN changes c ON c.hazard_id = h.id AND c.product_id = 0
		WHERE h.id = $1 OR $1 = 0 AND h.uuid = $2 ORDER BY c.n DESC`, id, byUUID.String())
	if err != nil {
		return nil, storeError(err)
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		var body string
		if err := rows.Scan(&n, &body); err != nil {
			return nil, storeError(err)
		}
		if h, err := decodeHazard(n, body); err == nil {
			return h, nil
		}
	}
	return nil, cmp.Or(storeError(rows.Err()), fmt.Errorf("%w: no state of hazard %d can be read", hazard.ErrNotFound, id))
}
