package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/net/trace"
	"github.com/hazardd/hazardd/internal/store/find"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Origin says who makes a change, for the log: a user from an address, a source, or the service
// itself (both empty).
type Origin struct {
	User   string
	Addr   string
	Client string // the User-Agent, for the audit trail
	Source string
	// Admin and Orgs are the rights of the user (hazard.Actor).
	Admin bool
	Orgs  []int64
}

func (o Origin) actor() hazard.Actor {
	return hazard.Actor{User: o.User, Admin: o.Admin, Orgs: o.Orgs, Source: o.Source}
}

// Tx is an open write transaction. Reads see its own writes. It is not safe for concurrent use, and
// is valid only within the function passed to Write.
type Tx struct {
	*txn
	Events  TxEvents
	Reports TxReports
	Merges  TxMerges
}

// txn is what the parts of a transaction share.
type txn struct {
	self     *Tx
	ctx      context.Context
	tx       *sql.Tx
	q        *sqlc.Queries
	clock    hazard.Clock
	at       hazard.Instant // time of the changes
	now      hazard.Instant // time for decisions; see Now
	timed    error          // error of reading the two
	origin   Origin
	store    *Store
	found    *find.Writing
	before   int64 // the last change before this transaction, once it has made one
	last     int64
	counters *sql.Rows        // the pending answer with the counters
	given    map[string]int64 // last number taken from each counter; nil until the counters are read
	saved    []Saved
	undoes   int64 // the change that the transaction undoes; 0 means none
	rank     Rank
	began    time.Time
	asked    time.Time       // when Yield last asked the database
	taken    map[string]bool // counters from which this transaction has taken a number
	missing  missing
}

func newTx(t *txn) *Tx {
	t.self = &Tx{t, TxEvents{t}, TxReports{t}, TxMerges{t}}
	return t.self
}

// maxAhead is how far the last change may be ahead of the clock and still be used as the time for
// decisions. Clocks of nodes differ by less.
const maxAhead = time.Minute

// Now returns the time of the transaction's changes. It is the latest of three: the clock's time
// once the write lock was acquired, the time of the last change, and the moment after the last one
// that was passed to Until. So times never decrease along the log.
//
// If the last change is more than maxAhead ahead of the clock, then either the clock was wrong at
// that change, or it is set to an earlier time on purpose. New changes then get the time of the
// last change, but Now returns the clock's time: a hazard must not end because a clock was wrong
// once.
func (t *Tx) Now() hazard.Instant {
	if err := t.readCounters(); err != nil {
		t.timed = errors.Join(t.timed, err) // Write returns it
		return t.clock.Now()
	}
	return t.now
}

// Origin returns who makes the transaction's changes.
func (t *Tx) Origin() Origin { return t.origin }

// Write runs f in one transaction and commits what it saved. It reads the time of the changes from
// clock once it has the write lock; see Tx.Now. When it returns nil, the changes are durable and
// numbered, and followers of the log are woken; last is the number of the last one, or 0 if f
// changed nothing. When it returns an error, nothing was changed, unless the error is the store's
// own (ErrUnavailable): then all of the changes may be there or none, and repeating them with the
// same UUIDs is safe. Writes of sources share commits, and their f may run twice.
func (s *Store) Write(ctx context.Context, clock hazard.Clock, origin Origin, f func(*Tx) error) (last int64, err error) {
	if origin.Source != "" && rankOf(ctx) == Bookkeeping {
		ctx = Ranked(ctx, Feeds)
	}
	inTx := s.inTx
	if origin.Source != "" && rankOf(ctx) != People {
		inTx = s.inGroupTx
	}
	err = inTx(ctx, func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) error {
		if !s.database.remote() { // the driver would start a goroutine for each statement, to interrupt it; tx ends between two of them
			ctx = context.WithoutCancel(ctx)
		}
		t := newTx(&txn{tx: tx, ctx: ctx, q: q, clock: clock, origin: origin, store: s, taken: map[string]bool{}, began: time.Now(), rank: rankOf(ctx)})
		t.found = find.Begin(ctx, tx, s.ix, t.bounds)
		if s.database.remote() { // the answer arrives together with that to f's first query
			if err := t.loadCounters(); err != nil {
				return err
			}
			defer t.counters.Close()
		}
		err := f(t)
		if err == nil {
			err = t.timed
		}
		if err != nil {
			return err
		}
		if err := t.writeCounters(); err != nil {
			return err
		}
		if last = t.last; last > 0 {
			return s.database.notify(ctx, tx)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if last > 0 {
		raise(&s.seen, last)
		if s.mark != nil {
			s.mark.set(s.epoch, &s.seen)
		}
		s.reach.wakeAll()
	}
	return last, nil
}

// fairTime is how long a transaction with more to do goes on although another writer waits: shorter
// ones would cost much more than they do. People are few, and wait only for shortTime.
const (
	fairTime  = 25 * time.Millisecond
	shortTime = 5 * time.Millisecond
)

// Yield reports whether the transaction should commit what it has done, and leave the rest to another
// one: it has run for fairTime, and a writer of a higher rank waits in this process, or any in another
// one on PostgreSQL; or it has run for shortTime, and a person waits in this process. It does not know
// of other programs that wait for an SQLite file.
func (t *Tx) Yield() (bool, error) {
	ran := time.Since(t.began)
	if ran >= shortTime && t.store.turns.waits(min(t.rank, People+1)) {
		return true, nil
	}
	if ran < fairTime {
		return false, nil
	}
	if t.store.turns.waits(t.rank) {
		return true, nil
	}
	if time.Since(t.asked) < fairTime {
		return false, nil
	}
	waits, err := t.store.database.awaited(t.ctx, t.tx)
	t.asked = time.Now()
	return waits, err
}

// number takes the next number of a counter. A writer is alone until its transaction ends, so it
// reads all counters once, counts in memory, and writes them back once.
func (t *txn) number(counter string) (int64, error) {
	if err := t.readCounters(); err != nil {
		return 0, err
	}
	if _, ok := t.given[counter]; !ok {
		return 0, fmt.Errorf("the store has no counter %q", counter)
	}
	t.given[counter]++
	t.taken[counter] = true
	return t.given[counter], nil
}

// loadCounters sends the query for the counters and the time of the last change.
func (t *txn) loadCounters() (err error) {
	t.counters, err = t.tx.QueryContext(t.ctx, `SELECT name, value FROM counters
		UNION ALL SELECT $1, at_ms FROM (SELECT at_ms FROM changes ORDER BY n DESC LIMIT 1) AS latest`, lastMoment)
	return err
}

// lastMoment is the name of the row with the time of the last change.
const lastMoment = "at"

// readCounters reads the answer once, and then the clock: with the answer, the writer has the lock.
func (t *txn) readCounters() error {
	if t.given != nil {
		return nil
	}
	if t.counters == nil {
		if err := t.loadCounters(); err != nil {
			return err
		}
	}
	defer t.counters.Close()
	given := map[string]int64{lastMoment: int64(hazard.MinInstant)}
	for t.counters.Next() {
		var name string
		var value int64
		if err := t.counters.Scan(&name, &value); err != nil {
			return err
		}
		given[name] = value
	}
	if err := t.counters.Err(); err != nil {
		return err
	}
	clock, last := t.clock.Now(), max(hazard.Instant(given[lastMoment]), hazard.Instant(t.store.over.Load()))
	delete(given, lastMoment)
	t.at = max(clock, last)
	if t.now = t.at; clock.Add(maxAhead) < t.at {
		t.now = clock
	}
	t.given, t.before = given, given["change"]
	if seen := t.store.seen.Load(); t.before < seen {
		// Its numbers would be given again, to other changes.
		t.given, t.counters = nil, nil
		if _, err := forkBefore(t.ctx, t.tx, t.q, seen); err != nil {
			return err
		}
		return t.readCounters()
	}
	return nil
}

// writeCounters writes the counters back, and records that the searches' tables are up to date.
func (t *txn) writeCounters() error {
	for counter := range t.taken {
		if err := t.q.SetCounter(t.ctx, sqlc.SetCounterParams{Name: counter, Value: t.given[counter]}); err != nil {
			return err
		}
	}
	if t.last > 0 && t.store.spoiledBy.Load() == nil {
		if err := t.q.Searchable(t.ctx, sqlc.SearchableParams{Last: t.last, Before: t.before}); err != nil {
			return err
		}
	}
	return t.findable((*find.Writing).End)
}

// Hazard returns the present state of a hazard, or ErrNotFound.
func (t *Tx) Hazard(id int64) (*hazard.Hazard, error) { return hazardByID(t.ctx, t.q, id) }

// HazardByUUID returns the present state of the hazard with that UUID, or ErrNotFound.
func (t *Tx) HazardByUUID(id uuid.UUID) (*hazard.Hazard, error) {
	if t.missing.uuids[id] {
		return nil, found(sql.ErrNoRows, "hazard %s", id)
	}
	return hazardByUUID(t.ctx, t.q, id)
}

// Product returns the present state of a product, deleted or not, or ErrNotFound.
func (t *Tx) Product(id int64) (*hazard.Product, error) { return productByID(t.ctx, t.q, id) }

// ProductByUUID returns the present state of the product with that UUID, deleted or not, or
// ErrNotFound.
func (t *Tx) ProductByUUID(id uuid.UUID) (*hazard.Product, error) {
	return productByUUID(t.ctx, t.q, id)
}

// Products lists all products of a hazard that are not deleted, by id, regardless of their
// audience.
func (t *Tx) Products(hazardID int64) ([]*hazard.Product, error) {
	return productsOf(t.ctx, t.q, hazardID)
}

// ProductsEver does the same as Products, including deleted products.
func (t *Tx) ProductsEver(hazardID int64) ([]*hazard.Product, error) {
	rows, err := t.tx.QueryContext(t.ctx, `SELECT n, body FROM products WHERE hazard_id = $1 ORDER BY id`, hazardID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []*hazard.Product
	for rows.Next() {
		var n int64
		var body string
		if err := rows.Scan(&n, &body); err != nil {
			return nil, err
		}
		p, err := decodeProduct(n, body)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, rows.Err()
}

// CountProducts counts the products of a hazard that a member of orgs may see. It reads no texts.
func (t *Tx) CountProducts(hazardID int64, orgs []int64) (n int, err error) {
	rows, err := t.tx.QueryContext(t.ctx, `SELECT p.n, coalesce(c.audience, p.body) FROM products p JOIN changes c ON c.n = p.n
		WHERE p.hazard_id = $1 AND NOT p.deleted`, hazardID)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var version int64
		var text string
		if err := rows.Scan(&version, &text); err != nil {
			return 0, err
		}
		p, err := knownOf(version, text)
		if err != nil {
			return 0, err
		}
		if p.VisibleTo(orgs) {
			n++
		}
	}
	return n, rows.Err()
}

// HazardMade returns the change that created a hazard.
func (t *Tx) HazardMade(id int64) (hazard.Change, error) {
	row, err := t.q.FirstOfHazard(t.ctx, id)
	if err != nil {
		return hazard.Change{}, found(err, "the change that made hazard %d", id)
	}
	return decodeChange(sqlc.ChangesSinceRow(row))
}

// ProductMade returns the change that created a product.
func (t *Tx) ProductMade(id int64) (hazard.Change, error) {
	row, err := t.q.FirstOfProduct(t.ctx, id)
	if err != nil {
		return hazard.Change{}, found(err, "the change that made product %d", id)
	}
	return decodeChange(sqlc.ChangesSinceRow(row))
}

// Due lists at most limit active hazards whose own end is at or before the transaction's time,
// longest due first, without those in but. An unreadable one is a *HazardError.
func (t *Tx) Due(limit int, except ...int64) (due []*hazard.Hazard, err error) {
	rows, err := t.q.DueHazards(t.ctx, sqlc.DueHazardsParams{NowMs: int64(t.Now()), MaxRows: int32(limit + len(except))})
	for _, r := range rows {
		if slices.Contains(except, r.ID) || len(due) == limit {
			continue
		}
		h, err := decodeHazard(r.N, r.Body)
		if err != nil {
			return nil, &HazardError{r.ID, err}
		}
		due = append(due, h)
	}
	return due, err
}

// Wakes lists at most limit hazards that are due for a new derivation, longest due first, without
// those in but.
func (t *Tx) Wakes(limit int, except ...int64) ([]int64, error) {
	ids, err := t.q.DueWakes(t.ctx, sqlc.DueWakesParams{NowMs: int64(t.Now()), MaxRows: int32(limit + len(except))})
	ids = slices.DeleteFunc(ids, func(id int64) bool { return slices.Contains(except, id) })
	return ids[:min(len(ids), limit)], err
}

// SetWake sets when a hazard must be derived again even without a new report; hazard.MaxInstant
// means never. An earlier time that has already come stays until Woken, because its work is still
// pending.
func (t *Tx) SetWake(hazardID int64, at hazard.Instant) error {
	if at == hazard.MaxInstant {
		return t.q.DropWake(t.ctx, sqlc.DropWakeParams{HazardID: hazardID, NowMs: int64(t.Now())})
	}
	return t.q.SetWake(t.ctx, sqlc.SetWakeParams{HazardID: hazardID, AtMs: int64(at), NowMs: int64(t.Now())})
}

// Woken records that a hazard is being derived again now.
func (t *Tx) Woken(hazardID int64) error { return t.q.Woken(t.ctx, hazardID) }

// SaveHazard writes the state h of a hazard and its change. A hazard without ID is new and gets
// one. before is the replaced state, nil for a new hazard. h.Version becomes the change's number.
func (t *Tx) SaveHazard(h, before *hazard.Hazard) error { return t.SaveHazardAs("", h, before) }

// SaveHazardAs does the same as SaveHazard for a kind of change that the states do not imply:
// hazard.merged or hazard.split. Every state of a hazard is written here. If hazard.Lawful forbids
// it, the error is a *hazard.LawError, and nothing is written.
func (t *Tx) SaveHazardAs(as hazard.ChangeKind, h, before *hazard.Hazard) error {
	if err := t.lawful(h, before); err != nil {
		return err
	}
	kind := hazard.HazardUpdated
	switch {
	case before == nil:
		kind = hazard.HazardCreated
		id, err := t.number("hazard")
		if err != nil {
			return err
		}
		h.ID = id
		delete(t.missing.uuids, h.UUID)
	case before.Status == hazard.Active && h.Status == hazard.Expired:
		kind = hazard.HazardExpired
	}
	if as != "" {
		kind = as
	}
	h.Undoes = t.undoes
	body, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("hazard %s: %w", h.UUID, err)
	}
	if err := t.log(kind, h.ID, nil, body, &h.Version); err != nil {
		return err
	}
	kept := "" // old stores also have the state here
	if !t.store.bodiesInLog {
		kept = seal(h.Version, body)
	}
	err = t.q.SaveHazard(t.ctx, sqlc.SaveHazardParams{
		ID: h.ID, Uuid: h.UUID.String(), N: h.Version, Status: string(h.Status), TypeID: string(h.Type),
		Severity: int64(h.Severity), CategoryID: string(h.Category), Autoexpire: h.AutoExpire, StartMs: int64(h.Start), EndMs: int64(h.End),
		LastUpdateMs: int64(h.LastUpdate), UpdateMs: int64(h.Updated), Lon: h.Longitude, Lat: h.Latitude, Source: h.Source, Body: kept,
	})
	if err != nil {
		return err
	}
	t.saved = append(t.saved, Saved{before, h})
	return t.findable(func(w *find.Writing) error { return w.Save(h, before, t.at) })
}

// Saved is a state of a hazard that a transaction has saved, and the state before the transaction;
// nil for a new hazard.
type Saved struct{ Before, After *hazard.Hazard }

// Saved lists each hazard that the transaction has saved once.
func (t *Tx) Saved() (list []Saved) {
	at := map[int64]int{}
	for _, s := range t.saved {
		if i, ok := at[s.After.ID]; ok {
			list[i].After = s.After
			continue
		}
		at[s.After.ID] = len(list)
		list = append(list, s)
	}
	return list
}

func (t *txn) lawful(h, before *hazard.Hazard) (err error) {
	var successor *hazard.Hazard
	if h.Successor != uuid.Nil && (before == nil || before.Successor != h.Successor || before.Reason != h.Reason) {
		if successor, err = t.self.HazardByUUID(h.Successor); err != nil && !errors.Is(err, hazard.ErrNotFound) {
			return err
		}
	}
	return hazard.Lawful(before, h, successor, t.origin.actor(), t.self.Now())
}

// SaveProduct writes the state p of a product and its change. A product without ID is new and gets
// one; a deleted one stays in the history. p.Version becomes the change's number.
func (t *Tx) SaveProduct(p *hazard.Product) error {
	kind := hazard.ProductUpdated
	switch {
	case p.ID == 0:
		kind = hazard.ProductCreated
		id, err := t.number("product")
		if err != nil {
			return err
		}
		p.ID = id
	case p.Deleted:
		kind = hazard.ProductDeleted
	}
	body, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("product %s: %w", p.UUID, err)
	}
	if err := t.log(kind, p.HazardID, p, body, &p.Version); err != nil {
		return err
	}
	return t.q.SaveProduct(t.ctx, sqlc.SaveProductParams{ID: p.ID, Uuid: p.UUID.String(), HazardID: p.HazardID, N: p.Version, Deleted: p.Deleted, Body: seal(p.Version, body)})
}

// log writes the row of a change of a hazard or of its product p, and returns its number.
func (t *txn) log(kind hazard.ChangeKind, hazardID int64, p *hazard.Product, body []byte, number *int64) error {
	n, err := t.number("change")
	if err != nil {
		return err
	}
	*number, t.last = n, n
	row := sqlc.AddChangeParams{N: n, AtMs: int64(t.at), Kind: string(kind), HazardID: hazardID,
		Actor: t.origin.User, Addr: t.origin.Addr, Source: t.origin.Source, Body: seal(n, body)}
	if p != nil {
		row.ProductID, row.Audience = p.ID, audienceOf(p)
	}
	if err := t.q.AddChange(t.ctx, row); err != nil {
		return err
	}
	return t.audit(&row)
}

// audit adds the row of a user's change to the audit trail.
func (t *txn) audit(row *sqlc.AddChangeParams) error {
	if row.Actor == "" {
		return nil
	}
	subject := fmt.Sprintf("hazard %d", row.HazardID)
	if row.ProductID != 0 {
		subject = fmt.Sprintf("product %d", row.ProductID)
	}
	return t.addAudit(sqlc.AddAuditParams{AtMs: row.AtMs, Actor: row.Actor, Addr: row.Addr, Action: row.Kind, Subject: subject, Detail: fmt.Sprintf("change %d", row.N)})
}

// addAudit adds a row for a permitted action, with the transaction's number, program and request.
func (t *txn) addAudit(row sqlc.AddAuditParams) (err error) {
	if row.ID, err = t.number("audit"); err != nil {
		return err
	}
	row.Client, row.Ok, row.Request = t.origin.Client, true, trace.ID(t.ctx)
	return t.q.AddAudit(t.ctx, row)
}

// KeepAreas stores the geometries of areas and returns references to them, sorted and each once. shapes,
// if given, are those of the areas: the transaction need not read them back.
func (t *Tx) KeepAreas(areas []hazard.Area, shapes ...geo.Shape) ([]hazard.AreaRef, error) {
	var refs []hazard.AreaRef
	for i, a := range areas {
		sum := sha256.Sum256([]byte(a.Geometry))
		ref := hazard.AreaRef{Role: a.Role, Digest: hex.EncodeToString(sum[:])}
		if shapes != nil && !shapes[i].Coarse() { // the text does not tell that one is coarse
			t.store.shapes.Put(ref.Digest, shapes[i], shapes[i].Size())
		}
		if err := t.q.AddGeometry(t.ctx, sqlc.AddGeometryParams{Digest: ref.Digest, Geojson: a.Geometry}); err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, compareRefs)
	return slices.Compact(refs), nil
}

// none reports whether err says that no row was found.
func none(err error) bool { return errors.Is(err, sql.ErrNoRows) }
