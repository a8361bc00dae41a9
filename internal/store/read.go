package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Snapshot is everything active as of one change number.
type Snapshot struct {
	Number   int64
	Hazards  []*hazard.Hazard
	Products []*hazard.Product // not deleted, by id
}

// Snapshot reads the active hazards with all their products as of one change. Those that are damaged
// are left out; see Quarantine.
func (s *Log) Snapshot(ctx context.Context) (*Snapshot, error) {
	tx, err := s.read.BeginTx(ctx, s.database.snapshot())
	if err != nil {
		return nil, storeError(err)
	}
	defer func() { _ = rollback(tx) }()
	q := s.readQ.WithTx(tx)
	snap := &Snapshot{}
	if snap.Number, err = q.Counter(ctx, "change"); err != nil {
		return nil, storeError(err)
	}
	hazards, err := q.ActiveHazards(ctx)
	if errors.Is(storeError(err), errPage) {
		return snap, s.snapshotOneByOne(ctx, q, snap)
	}
	if err != nil {
		return nil, storeError(err)
	}
	there := map[int64]bool{}
	for _, r := range hazards {
		h, err := decodeHazard(r.N, r.Body)
		switch {
		case err == nil:
			snap.Hazards, there[h.ID] = append(snap.Hazards, h), true
		case !s.store.Quarantine.change(r.N, err):
			return nil, err
		}
	}
	products, err := q.ProductsOfActiveHazards(ctx)
	if errors.Is(storeError(err), errPage) {
		snap.Hazards = nil
		return snap, s.snapshotOneByOne(ctx, q, snap)
	}
	if err != nil {
		return nil, storeError(err)
	}
	for _, r := range products {
		p, err := decodeProduct(r.N, r.Body)
		switch {
		case err == nil && there[p.HazardID]:
			snap.Products = append(snap.Products, p)
		case err != nil && !s.store.Quarantine.change(r.N, err):
			return nil, err
		}
	}
	return snap, nil
}

// snapshotOneByOne does what Snapshot does around a damaged page of the SQLite file.
func (s *Log) snapshotOneByOne(ctx context.Context, q *sqlc.Queries, snap *Snapshot) error {
	last, err := q.Counter(ctx, "hazard")
	if err != nil {
		return storeError(err)
	}
	skip := func(id int64, err error) bool {
		return s.store.Quarantine.skip(fmt.Sprintf("hazard %d", id), err, func(ctx context.Context) error {
			_, err := hazardByID(ctx, s.readQ, id)
			return err
		})
	}
	for id := int64(1); id <= last; id++ {
		h, err := hazardByID(ctx, q, id)
		switch {
		case errors.Is(err, hazard.ErrNotFound):
		case err != nil && !skip(id, err):
			return err
		case err == nil && h.Status == hazard.Active:
			products, err := productsOf(ctx, q, id)
			if err != nil && !skip(id, err) {
				return err
			}
			snap.Hazards, snap.Products = append(snap.Hazards, h), append(snap.Products, products...)
		}
	}
	slices.SortFunc(snap.Products, func(a, b *hazard.Product) int { return cmp.Compare(a.ID, b.ID) })
	return nil
}

// Last returns the number of the latest committed change, or 0 before the first.
func (s *Log) Last(ctx context.Context) (int64, error) {
	n, err := s.readQ.Counter(ctx, "change")
	if err == nil {
		s.reach.noteAnswer()
	}
	return n, storeError(err)
}

// Since returns at most limit committed changes with numbers above n, in commit order, without gaps
// except at forks and at damaged changes; see Quarantine. It returns a *ForkedError if n belongs to a replaced history.
func (s *Log) Since(ctx context.Context, n int64, limit int) ([]hazard.Change, error) {
	rows, err := s.readQ.ChangesSince(ctx, sqlc.ChangesSinceParams{After: n, MaxRows: int32(limit)})
	if err != nil {
		return nil, storeError(err)
	}
	// Check after reading the rows: if they belong to a history without n, its fork is visible too.
	if err := forked(ctx, s.readQ, n); err != nil {
		return nil, storeError(err)
	}
	return s.readable(rows)
}

// HazardChanges returns at most limit changes of one hazard and its products with numbers above n,
// in commit order.
func (s *Log) HazardChanges(ctx context.Context, hazardID, n int64, limit int) ([]hazard.Change, error) {
	rows, err := s.readQ.ChangesOfHazard(ctx, sqlc.ChangesOfHazardParams{HazardID: hazardID, After: n, MaxRows: int32(limit)})
	if err != nil {
		return nil, storeError(err)
	}
	changes := make([]hazard.Change, len(rows))
	for i, r := range rows {
		if changes[i], err = decodeChange(sqlc.ChangesSinceRow(r)); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// Wait returns when a change above n may exist, at once for changes of this process and within
// pollEvery for others, or with ctx's error.
func (s *Log) Wait(ctx context.Context, n int64) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		wake := s.reach.woken()
		last, err := s.look(ctx)
		if err == nil && !s.database.settled() {
			err = s.settle(ctx)
		}
		if err != nil || last > n {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
			return nil
		case <-ticker.C:
		}
	}
}

// Get returns the present state of a hazard, or ErrNotFound.
func (s *Hazards) Get(ctx context.Context, id int64) (*hazard.Hazard, error) {
	return hazardByID(ctx, s.readQ, id)
}

// ByUUID returns the present state of the hazard with that UUID, or ErrNotFound.
func (s *Hazards) ByUUID(ctx context.Context, id uuid.UUID) (*hazard.Hazard, error) {
	return hazardByUUID(ctx, s.readQ, id)
}

// IDs returns the ids of all hazards, active and expired, in list order (hazard.Compare).
func (s *Hazards) IDs(ctx context.Context) ([]int64, error) {
	ids, err := s.readQ.HazardIDs(ctx)
	return ids, storeError(err)
}

// Product returns the present state of a product for a member of orgs. It returns ErrNotFound if
// there is none, if it was deleted, or if the caller may not see it.
func (s *Hazards) Product(ctx context.Context, id int64, orgs []int64) (*hazard.Product, error) {
	return visible(orgs)(productByID(ctx, s.readQ, id))
}

// ProductByUUID does the same as Product by UUID.
func (s *Hazards) ProductByUUID(ctx context.Context, id uuid.UUID, orgs []int64) (*hazard.Product, error) {
	return visible(orgs)(productByUUID(ctx, s.readQ, id))
}

func visible(orgs []int64) func(*hazard.Product, error) (*hazard.Product, error) {
	return func(p *hazard.Product, err error) (*hazard.Product, error) {
		if err == nil && (p.Deleted || !p.VisibleTo(orgs)) {
			return nil, hazard.ErrNotFound
		}
		return p, err
	}
}

// AllProducts lists all products of a hazard by id, regardless of their audience.
func (s *Hazards) AllProducts(ctx context.Context, hazardID int64) ([]*hazard.Product, error) {
	return productsOf(ctx, s.readQ, hazardID)
}

// Products lists the products of a hazard that a member of orgs may see, by id.
func (s *Hazards) Products(ctx context.Context, hazardID int64, orgs []int64) ([]*hazard.Product, error) {
	all, err := s.AllProducts(ctx, hazardID)
	if err != nil {
		return nil, err
	}
	products := all[:0]
	for _, p := range all {
		if p.VisibleTo(orgs) {
			products = append(products, p)
		}
	}
	return products, nil
}

// ProductsAsOf lists all products that a hazard had as of change n, by id. Its callers, push and
// the live view, check the audience themselves.
func (s *Log) ProductsAsOf(ctx context.Context, hazardID, n int64) ([]*hazard.Product, error) {
	rows, err := s.readQ.ProductsOfHazardAt(ctx, sqlc.ProductsOfHazardAtParams{HazardID: hazardID, AtN: n})
	if err != nil {
		return nil, storeError(err)
	}
	var products []*hazard.Product
	for _, r := range rows {
		p, err := decodeProduct(r.N, r.Body)
		if err != nil {
			return nil, err
		}
		if !p.Deleted {
			products = append(products, p)
		}
	}
	slices.SortFunc(products, func(a, b *hazard.Product) int { return cmp.Compare(a.ID, b.ID) })
	return products, nil
}

// JudgeByPresent sets Present of products in past states, so that VisibleTo applies today's
// audience. It takes one query. Nobody sees a product whose present state cannot be read.
func (s *Log) JudgeByPresent(ctx context.Context, products []*hazard.Product) error {
	return storeError(s.judgeByPresent(ctx, s.reads, products))
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (s *core) judgeByPresent(ctx context.Context, from querier, products []*hazard.Product) error {
	if len(products) == 0 {
		return nil
	}
	ids := make([]int64, len(products))
	for i, p := range products {
		ids[i] = p.ID
	}
	slices.Sort(ids)
	// The body is only read if the log lacks something: the owner of a deleted product, and
	// everything written by the release before.
	rows, err := from.QueryContext(ctx, `SELECT p.id, p.n, CASE WHEN p.deleted THEN NULL ELSE c.audience END, CASE WHEN p.deleted OR c.audience IS NULL THEN p.body ELSE '' END
		FROM products p LEFT JOIN changes c ON c.n = p.n WHERE `+s.database.listed("p.id", 1), s.database.numbers(slices.Compact(ids)))
	if err != nil {
		return err
	}
	defer rows.Close()
	present := map[int64]*hazard.Audience{}
	for rows.Next() {
		var id, n int64
		var audience sql.NullString
		var body string
		if err := rows.Scan(&id, &n, &audience, &body); err != nil {
			return err
		}
		a := &hazard.Audience{}
		if audience.Valid {
			p, err := readAudience(audience.String)
			if err != nil {
				continue
			}
			a.OrgIDs = p.OrgIDs
		} else if err := cmp.Or(intact(n, []byte(body)), json.Unmarshal([]byte(body), a)); err != nil {
			continue
		}
		present[id] = a
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, p := range products {
		if p.Present = present[p.ID]; p.Present == nil {
			err := &DamagedError{fmt.Sprintf("the present state of product %d", p.ID)}
			s.store.Quarantine.skip(err.What, err, func(ctx context.Context) error {
				_, err := productByID(ctx, s.readQ, p.ID)
				return err
			})
			p.Present = hazard.Nobody()
		}
	}
	return nil
}

// ProductVersion returns the number of the change that made a product's present state, deleted or
// not. Its caller, push, checks the audience itself.
func (s *Hazards) ProductVersion(ctx context.Context, id int64) (int64, error) {
	n, err := s.readQ.ProductVersion(ctx, id)
	return n, found(err, "product %d", id)
}

// ProductTotalAt counts the products that a hazard had as of change n and that a member of orgs may
// see today.
func (s *Log) ProductTotalAt(ctx context.Context, hazardID, n int64, orgs []int64) (int, error) {
	products, err := s.ProductsAsOf(ctx, hazardID, n)
	if err == nil {
		err = s.JudgeByPresent(ctx, products)
	}
	if err != nil {
		return 0, err
	}
	total := 0
	for _, p := range products {
		if p.VisibleTo(orgs) {
			total++
		}
	}
	return total, nil
}

// HazardAsOf returns the state of a hazard as of change n, or ErrNotFound if it did not exist yet.
func (s *Log) HazardAsOf(ctx context.Context, hazardID, n int64) (*hazard.Hazard, error) {
	row, err := s.readQ.HazardAt(ctx, sqlc.HazardAtParams{HazardID: hazardID, AtN: n})
	if err != nil {
		return nil, found(err, "hazard %d as of change %d", hazardID, n)
	}
	return decodeHazard(row.N, row.Body)
}

// Areas reads the geometries of refs.
func (s *Log) Areas(ctx context.Context, refs []hazard.AreaRef) ([]hazard.Area, error) {
	return readAreas(ctx, s.readQ, refs)
}

// Areas does the same as Log.Areas within the transaction, so it also sees the transaction's own
// writes.
func (t *Tx) Areas(refs []hazard.AreaRef) ([]hazard.Area, error) { return readAreas(t.ctx, t.q, refs) }

func readAreas(ctx context.Context, q *sqlc.Queries, refs []hazard.AreaRef) ([]hazard.Area, error) {
	areas := make([]hazard.Area, len(refs))
	for i, ref := range refs {
		text, err := q.Geometry(ctx, ref.Digest)
		if err != nil {
			return nil, fmt.Errorf("geometry %s: %w", ref.Digest, storeError(err))
		}
		if err := intactGeometry(ref.Digest, text); err != nil {
			return nil, err
		}
		areas[i] = hazard.Area{Role: ref.Role, Geometry: text}
	}
	return areas, nil
}

// NextMoment returns the next moment at which a hazard changes by itself, and whether there is one:
// an active hazard ends, or is due for a new derivation (Tx.SetWake). It ignores the hazards in
// but.
func (s *Hazards) NextMoment(ctx context.Context, except ...int64) (hazard.Instant, bool, error) {
	next, err := s.readQ.NextMoments(ctx, int32(1+len(except)))
	for _, n := range next {
		if !slices.Contains(except, n.ID) {
			return hazard.Instant(n.AtMs), true, nil
		}
	}
	return 0, false, storeError(err)
}

func hazardByID(ctx context.Context, q *sqlc.Queries, id int64) (*hazard.Hazard, error) {
	row, err := q.HazardByID(ctx, id)
	if err != nil {
		return nil, found(err, "hazard %d", id)
	}
	return decodeHazard(row.N, row.Body)
}

func hazardByUUID(ctx context.Context, q *sqlc.Queries, id uuid.UUID) (*hazard.Hazard, error) {
	row, err := q.HazardByUUID(ctx, id.String())
	if err != nil {
		return nil, found(err, "hazard %s", id)
	}
	return decodeHazard(row.N, row.Body)
}

func productByID(ctx context.Context, q *sqlc.Queries, id int64) (*hazard.Product, error) {
	row, err := q.ProductByID(ctx, id)
	if err != nil {
		return nil, found(err, "product %d", id)
	}
	return decodeProduct(row.N, row.Body)
}

func productByUUID(ctx context.Context, q *sqlc.Queries, id uuid.UUID) (*hazard.Product, error) {
	row, err := q.ProductByUUID(ctx, id.String())
	if err != nil {
		return nil, found(err, "product %s", id)
	}
	return decodeProduct(row.N, row.Body)
}

func productsOf(ctx context.Context, q *sqlc.Queries, hazardID int64) ([]*hazard.Product, error) {
	rows, err := q.ProductsOfHazard(ctx, hazardID)
	if err != nil {
		return nil, storeError(err)
	}
	products := make([]*hazard.Product, len(rows))
	for i, r := range rows {
		if products[i], err = decodeProduct(r.N, r.Body); err != nil {
			return nil, err
		}
	}
	return products, nil
}

// found maps a missing row to ErrNotFound.
func found(err error, format string, args ...any) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: %s", hazard.ErrNotFound, fmt.Sprintf(format, args...))
	}
	return storeError(err)
}

func decodeHazard(n int64, body string) (*hazard.Hazard, error) { return decodeState(n, []byte(body)) }

// decodeState is decodeHazard of a text that it does not keep.
func decodeState(n int64, text []byte) (*hazard.Hazard, error) {
	if err := intact(n, text); err != nil {
		return nil, err
	}
	h := &hazard.Hazard{}
	if err := json.Unmarshal(text, h); err != nil {
		return nil, fmt.Errorf("stored hazard of change %d: %w", n, err)
	}
	h.Version = n
	h.Upgrade()
	return h, nil
}

func decodeProduct(n int64, body string) (*hazard.Product, error) {
	text := []byte(body)
	if err := intact(n, text); err != nil {
		return nil, err
	}
	p := &hazard.Product{}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("stored product of change %d: %w", n, err)
	}
	p.Version = n
	return p, nil
}

func decodeChange(r sqlc.ChangesSinceRow) (c hazard.Change, err error) {
	c = hazard.Change{Number: r.N, At: hazard.Instant(r.AtMs), Kind: hazard.ChangeKind(r.Kind), HazardID: r.HazardID, Actor: r.Actor, Source: r.Source}
	if r.ProductID == 0 {
		c.Hazard, err = decodeHazard(r.N, r.Body)
	} else {
		c.Product, err = decodeProduct(r.N, r.Body)
	}
	if err == nil && !coherent(&c, r.ProductID) {
		err = &DamagedError{fmt.Sprint("change ", r.N)}
	}
	return c, err
}

// coherent reports whether the columns of a change fit its state: its checksum covers the state alone.
func coherent(c *hazard.Change, productID int64) bool {
	if !utf8.ValidString(c.Actor) || !utf8.ValidString(c.Source) {
		return false
	}
	if p := c.Product; p != nil {
		return p.ID == productID && p.HazardID == c.HazardID && c.Kind.OfProduct()
	}
	return c.Hazard.ID == c.HazardID && c.Kind.OfHazard()
}

func compareRefs(a, b hazard.AreaRef) int {
	return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Digest, b.Digest))
}
