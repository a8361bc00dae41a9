package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/db"
)

// Snapshot is everything active as of one change number.
type Snapshot struct {
	Number   int64
	Hazards  []*hazard.Hazard
	Products []*hazard.Product // of those hazards, not deleted, by number
}

// Snapshot reads the active hazards, with all their products, in one consistent picture.
func (s *Store) Snapshot(ctx context.Context) (*Snapshot, error) {
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
	if err != nil {
		return nil, storeError(err)
	}
	for _, r := range hazards {
		h, err := decodeHazard(r.N, r.Body)
		if err != nil {
			return nil, err
		}
		snap.Hazards = append(snap.Hazards, h)
	}
	products, err := q.ProductsOfActiveHazards(ctx)
	if err != nil {
		return nil, storeError(err)
	}
	for _, r := range products {
		p, err := decodeProduct(r.N, r.Body)
		if err != nil {
			return nil, err
		}
		snap.Products = append(snap.Products, p)
	}
	return snap, nil
}

// Last is the number of the latest committed change; 0 before the first.
func (s *Store) Last(ctx context.Context) (int64, error) {
	n, err := s.readQ.Counter(ctx, "change")
	if err == nil {
		s.reach.Answered()
	}
	return n, storeError(err)
}

// Since returns committed changes numbered above n, in commit order without holes but those of forks, at most limit. It is a *ForkedError if n is of
// a history that was replaced.
func (s *Store) Since(ctx context.Context, n int64, limit int) ([]hazard.Change, error) {
	rows, err := s.readQ.ChangesSince(ctx, db.ChangesSinceParams{After: n, MaxRows: int32(limit)})
	if err != nil {
		return nil, storeError(err)
	}
	// After the rows: if they are of a history that does not hold n, its fork is there too.
	if err := forked(ctx, s.readQ, n); err != nil {
		return nil, storeError(err)
	}
	changes := make([]hazard.Change, len(rows))
	for i, r := range rows {
		if changes[i], err = decodeChange(r); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// HazardChanges returns the changes of one hazard and its products numbered above n, in commit order, at most limit.
func (s *Store) HazardChanges(ctx context.Context, hazardID, n int64, limit int) ([]hazard.Change, error) {
	rows, err := s.readQ.ChangesOfHazard(ctx, db.ChangesOfHazardParams{HazardID: hazardID, After: n, MaxRows: int32(limit)})
	if err != nil {
		return nil, storeError(err)
	}
	changes := make([]hazard.Change, len(rows))
	for i, r := range rows {
		if changes[i], err = decodeChange(db.ChangesSinceRow(r)); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// Wait returns when a change above n may exist, at once for those of this process and within PollEvery for those of
// others, or with ctx's error when ctx ends.
func (s *Store) Wait(ctx context.Context, n int64) error {
	ticker := time.NewTicker(PollEvery)
	defer ticker.Stop()
	for {
		wake := s.reach.Woken()
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

// Hazard is the present state of the hazard numbered id, or ErrNotFound.
func (s *Store) Hazard(ctx context.Context, id int64) (*hazard.Hazard, error) {
	return hazardByID(ctx, s.readQ, id)
}

// HazardByUUID is the present state of the hazard with that uuid, or ErrNotFound.
func (s *Store) HazardByUUID(ctx context.Context, id uuid.UUID) (*hazard.Hazard, error) {
	return hazardByUUID(ctx, s.readQ, id)
}

// HazardIDs lists the numbers of all hazards, active and expired, in the order of lists (hazard.Compare).
func (s *Store) HazardIDs(ctx context.Context) ([]int64, error) {
	ids, err := s.readQ.HazardIDs(ctx)
	return ids, storeError(err)
}

// Product is the present state of the product numbered id for a member of orgs: ErrNotFound if there is none, if it was
// deleted, or if the caller may not know of it.
func (s *Store) Product(ctx context.Context, id int64, orgs []int64) (*hazard.Product, error) {
	return visible(orgs)(productByID(ctx, s.readQ, id))
}

// ProductByUUID is Product by uuid.
func (s *Store) ProductByUUID(ctx context.Context, id uuid.UUID, orgs []int64) (*hazard.Product, error) {
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

// AllProducts lists the products of a hazard, by number, whoever may see them.
func (s *Store) AllProducts(ctx context.Context, hazardID int64) ([]*hazard.Product, error) {
	return productsOf(ctx, s.readQ, hazardID)
}

// Products lists the products of a hazard that a member of orgs may know of, by number.
func (s *Store) Products(ctx context.Context, hazardID int64, orgs []int64) ([]*hazard.Product, error) {
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

// ProductsAsOf lists the products that a hazard had as of change n, by number, whoever may see them: for push and the live view, which ask
// themselves.
func (s *Store) ProductsAsOf(ctx context.Context, hazardID, n int64) ([]*hazard.Product, error) {
	rows, err := s.readQ.ProductsOfHazardAt(ctx, db.ProductsOfHazardAtParams{HazardID: hazardID, AtN: n})
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

// JudgeByPresent sets Present of products, which are states of the past, so that VisibleTo judges their readers by who may read the
// products today. It takes one query.
func (s *Store) JudgeByPresent(ctx context.Context, products []*hazard.Product) error {
	return storeError(s.judgeByPresent(ctx, s.reads, products))
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (s *Store) judgeByPresent(ctx context.Context, from querier, products []*hazard.Product) error {
	if len(products) == 0 {
		return nil
	}
	ids := make([]int64, len(products))
	for i, p := range products {
		ids[i] = p.ID
	}
	slices.Sort(ids)
	// The body is read only where the log does not say it all: not the owner of a deleted product, and nothing of what the release before wrote.
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
				return err
			}
			a.OrgIDs = p.OrgIDs
		} else if err := cmp.Or(intact(n, []byte(body)), json.Unmarshal([]byte(body), a)); err != nil {
			return fmt.Errorf("stored product of change %d: %w", n, err)
		}
		present[id] = a
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, p := range products {
		if p.Present = present[p.ID]; p.Present == nil {
			return fmt.Errorf("product %d of change %d has no present state", p.ID, p.Version)
		}
	}
	return nil
}

// ProductVersion is the number of the change that made a product's present state, deleted or not, whoever may see it: for push, which asks
// itself.
func (s *Store) ProductVersion(ctx context.Context, id int64) (int64, error) {
	n, err := s.readQ.ProductVersion(ctx, id)
	return n, found(err, "product %d", id)
}

// ProductTotalAt counts the products that a hazard had as of change n and that a member of orgs may read today.
func (s *Store) ProductTotalAt(ctx context.Context, hazardID, n int64, orgs []int64) (int, error) {
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

// HazardAsOf is the state of a hazard as of change n, or ErrNotFound if it was not there yet.
func (s *Store) HazardAsOf(ctx context.Context, hazardID, n int64) (*hazard.Hazard, error) {
	row, err := s.readQ.HazardAt(ctx, db.HazardAtParams{HazardID: hazardID, AtN: n})
	if err != nil {
		return nil, found(err, "hazard %d as of change %d", hazardID, n)
	}
	return decodeHazard(row.N, row.Body)
}

// Areas reads the geometries that refs name.
func (s *Store) Areas(ctx context.Context, refs []hazard.AreaRef) ([]hazard.Area, error) {
	return readAreas(ctx, s.readQ, refs)
}

// Areas is Store.Areas in the transaction: it reads what that has written, too.
func (t *Tx) Areas(refs []hazard.AreaRef) ([]hazard.Area, error) { return readAreas(t.ctx, t.q, refs) }

func readAreas(ctx context.Context, q *db.Queries, refs []hazard.AreaRef) ([]hazard.Area, error) {
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

// NextMoment returns the next moment at which a hazard changes by itself, but for some, and whether there is one:
// an active hazard ends, or one is to be derived again (Tx.SetWake).
func (s *Store) NextMoment(ctx context.Context, but ...int64) (hazard.Instant, bool, error) {
	next, err := s.readQ.NextMoments(ctx, int32(1+len(but)))
	for _, n := range next {
		if !slices.Contains(but, n.ID) {
			return hazard.Instant(n.AtMs), true, nil
		}
	}
	return 0, false, storeError(err)
}

func hazardByID(ctx context.Context, q *db.Queries, id int64) (*hazard.Hazard, error) {
	row, err := q.HazardByID(ctx, id)
	if err != nil {
		return nil, found(err, "hazard %d", id)
	}
	return decodeHazard(row.N, row.Body)
}

func hazardByUUID(ctx context.Context, q *db.Queries, id uuid.UUID) (*hazard.Hazard, error) {
	row, err := q.HazardByUUID(ctx, id.String())
	if err != nil {
		return nil, found(err, "hazard %s", id)
	}
	return decodeHazard(row.N, row.Body)
}

func productByID(ctx context.Context, q *db.Queries, id int64) (*hazard.Product, error) {
	row, err := q.ProductByID(ctx, id)
	if err != nil {
		return nil, found(err, "product %d", id)
	}
	return decodeProduct(row.N, row.Body)
}

func productByUUID(ctx context.Context, q *db.Queries, id uuid.UUID) (*hazard.Product, error) {
	row, err := q.ProductByUUID(ctx, id.String())
	if err != nil {
		return nil, found(err, "product %s", id)
	}
	return decodeProduct(row.N, row.Body)
}

func productsOf(ctx context.Context, q *db.Queries, hazardID int64) ([]*hazard.Product, error) {
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

// found turns a missing row into ErrNotFound.
func found(err error, format string, args ...any) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: %s", hazard.ErrNotFound, fmt.Sprintf(format, args...))
	}
	return storeError(err)
}

func decodeHazard(n int64, body string) (*hazard.Hazard, error) {
	text := []byte(body)
	if err := intact(n, text); err != nil {
		return nil, err
	}
	h := &hazard.Hazard{}
	if err := json.Unmarshal(text, h); err != nil {
		return nil, fmt.Errorf("stored hazard of change %d: %w", n, err)
	}
	h.Version = n
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

func decodeChange(r db.ChangesSinceRow) (c hazard.Change, err error) {
	c = hazard.Change{Number: r.N, At: hazard.Instant(r.AtMs), Kind: hazard.ChangeKind(r.Kind), HazardID: r.HazardID, Actor: r.Actor, Source: r.Source}
	if r.ProductID == 0 {
		c.Hazard, err = decodeHazard(r.N, r.Body)
	} else {
		c.Product, err = decodeProduct(r.N, r.Body)
	}
	return c, err
}

func compareRefs(a, b hazard.AreaRef) int {
	return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Digest, b.Digest))
}
