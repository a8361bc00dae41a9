package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/store/find"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// searchTime bounds one search; a longer one is too costly.
const searchTime = 10 * time.Second

// Page is a part of the result of a search.
type Page struct {
	// Number is the change that the page is as of.
	Number int64
	// Hazards are as of the requested moment, in the requested order. Totals holds the number of
	// products of each that the caller may see.
	Hazards []*hazard.Hazard
	Totals  []int
	// Restricted means that a counted product is not public.
	Restricted bool
	// Cursor is the start of the next page, or empty on the last one.
	Cursor string
	// After returns the cursor of a page that begins after one of Hazards, for a reader who takes
	// only a part.
	After func(i int) string
}

// Find finds hazards, active or not, as of now or as of q.At. Totals are for a member of orgs.
//
// All pages of one search belong to the moment of the first page: a hazard found then is on exactly
// one page, in its order of then, whatever is written meanwhile. Each hazard is shown as of its own
// page, and left out if it no longer matches. With q.At everything is as of that moment. An invalid
// cursor is a query.Faults.
func (s *Search) Find(ctx context.Context, q query.Query, orgs []int64, now hazard.Instant) (*Page, error) {
	return s.search(ctx, q, orgs, now, nil, 0)
}

// Known holds states of hazards in memory, as a view does. Nobody changes them.
type Known interface {
	Hazard(id int64) (*hazard.Hazard, bool)
}

// FindKnown is Find, and does not read again the states that are known. Those that were replaced since,
// or are not there yet, are read.
func (s *Search) FindKnown(ctx context.Context, q query.Query, orgs []int64, now hazard.Instant, known Known) (*Page, error) {
	return s.search(ctx, q, orgs, now, known, 0)
}

func (s *core) search(ctx context.Context, q query.Query, orgs []int64, now hazard.Instant, known Known, way int) (page *Page, err error) {
	err = s.reading(ctx, func(ctx context.Context, tx *sql.Tx) error {
		r, err := s.newSearch(ctx, tx, q, now)
		if err != nil {
			return err
		}
		r.Way, r.known = way, known
		if page, err = r.page(ctx); err != nil {
			return err
		}
		page.Totals = make([]int, len(page.Hazards))
		products, err := r.products(ctx, page.Hazards)
		if err != nil {
			return err
		}
		for i, h := range page.Hazards {
			for _, p := range products[h.ID] {
				if p.VisibleTo(orgs) {
					page.Totals[i]++
					page.Restricted = page.Restricted || !p.Open()
				}
			}
		}
		return nil
	})
	return page, err
}

// Count counts the results on all pages of a Search that begins now. It also returns the change
// number of the count.
func (s *Search) Count(ctx context.Context, q query.Query, now hazard.Instant) (n, number int64, err error) {
	return s.count(ctx, q, now, 0)
}

func (s *core) count(ctx context.Context, q query.Query, now hazard.Instant, way int) (n, number int64, err error) {
	q.Cursor = ""
	err = s.reading(ctx, func(ctx context.Context, tx *sql.Tx) error {
		r, err := s.newSearch(ctx, tx, q, now)
		if err != nil {
			return err
		}
		r.Way, number = way, r.shown
		apart, err := r.apart(ctx)
		if err != nil {
			return err
		}
		n = int64(len(apart))
		if !q.NeedsShapes() && !r.WhereLater && (q.Text == nil || r.rows.TellsText()) {
			rows, err := r.rows.Count(ctx)
			n += rows
			return err
		}
		r.Limit = 0
		return r.rows.Each(ctx, nil, func(found find.Row) (bool, error) {
			ok, err := r.passes(ctx, found)
			if ok {
				n++
			}
			return true, err
		})
	})
	return n, number, err
}

// reading runs f in one read transaction of limited duration, which sees one state of the store.
func (s *core) reading(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
	if s.reach.isAway() {
		return errAway
	}
	if s.spoiledBy.Load() != nil {
		return errSpoiled
	}
	bounded, cancel := context.WithTimeout(ctx, s.searchTime)
	defer cancel()
	tx, err := s.read.BeginTx(bounded, s.database.snapshot())
	if err == nil {
		err = errors.Join(f(bounded, tx), rollback(tx))
	}
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return query.ErrTooBroad
	}
	if s.database.tree(err) {
		s.spoil(err)
		return errors.Join(errSpoiled, err)
	}
	return storeError(err)
}

// searching is one search as of one moment.
type searching struct {
	find.Question
	rows  find.Finder
	store *Store
	q     *sqlc.Queries
	query query.Query
	after *query.Key
	// The state of the search: changes up to number, committed up to moment, with hazards as of
	// now.
	number      int64
	moment, now hazard.Instant
	begun       hazard.Instant // time of the first page
	present     hazard.Instant // time of this page
	shown       int64          // the change number of the answer, for the reader
	last        int64          // the last existing change
	known       Known          // may be nil
	// read holds the hazards whose bodies were read.
	read map[int64]*hazard.Hazard
	// looked counts the bodies that were read because the rows did not suffice.
	looked int
}

func (s *core) newSearch(ctx context.Context, tx *sql.Tx, wanted query.Query, now hazard.Instant) (*searching, error) {
	r := &searching{store: s.store, q: s.readQ.WithTx(tx), query: wanted, moment: hazard.MaxInstant, now: now, begun: now, present: now, read: map[int64]*hazard.Hazard{}}
	asked := wanted.Implied()
	r.Question = find.Question{Tx: tx, Filter: &asked, Sort: wanted.Sort, Limit: wanted.Limit, WhereLater: !find.Decides(wanted.Where)}
	r.Undecided = r.undecided
	r.rows = s.database.tables().Finder(&r.Question)
	var err error
	if r.last, err = r.q.Counter(ctx, "change"); err != nil {
		return nil, err
	}
	r.number, r.shown = r.last, r.last
	if wanted.Cursor != "" {
		c, err := wanted.Decode(s.epoch)
		switch {
		case err != nil:
			return nil, err
		case now > c.Now.Add(query.CursorLife):
			return nil, query.ErrOldCursor
		}
		if _, void := errors.AsType[*ForkedError](forked(ctx, r.q, c.Number)); void {
			return nil, query.ErrOldCursor
		}
		r.number, r.now, r.begun, r.after = min(c.Number, r.last), c.Now, c.Now, &c.Key
	}
	if wanted.At != nil {
		r.moment, r.now = *wanted.At, *wanted.At
		if r.shown, err = lastChangeAt(ctx, r.q, r.moment); err == nil {
			err = keptAt(ctx, r.q, r.moment)
		}
		if err != nil {
			return nil, err
		}
	}
	if wanted.Where != nil {
		named, err := r.q.Counter(ctx, "named")
		if err != nil {
			return nil, err
		}
		r.Named = named == r.last
	}
	if err := r.LookUp(ctx); err != nil {
		return nil, err
	}
	if wanted.Ref != "" {
		if r.query.Hazards, err = leadsTo(ctx, r.q, wanted.Ref); err != nil {
			return nil, err
		}
		r.Filter.Hazards = r.query.Hazards
	}
	// Hazards that need a full Match are excluded from the rows; see apart.
	if r.number < r.last {
		r.Where("s.n <= ?", r.number)
	}
	if wanted.At != nil {
		r.Where("s.changed_ms <= ?", int64(r.moment))
	}
	r.NotDue(r.now)
	return r, nil
}

// lastChangeAt returns the number of the last change as of a moment, or 0 before the first.
func lastChangeAt(ctx context.Context, q *sqlc.Queries, at hazard.Instant) (int64, error) {
	n, err := q.LastChangeAt(ctx, int64(at))
	if none(err) {
		return 0, nil
	}
	return n, err
}

// leadsTo returns the hazards with the identifier ref, sorted; a merged one is replaced by its
// successor.
func leadsTo(ctx context.Context, q *sqlc.Queries, ref string) ([]int64, error) {
	events, err := called(ctx, q, ref)
	if err != nil {
		return nil, err
	}
	ids := []int64{}
	for _, e := range events {
		h, err := hazardByID(ctx, q, e.HazardID)
		for hops := 0; err == nil && h.Reason == hazard.EndMerged && h.Successor != uuid.Nil && hops < maxHops; hops++ {
			h, err = hazardByUUID(ctx, q, h.Successor)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, h.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// maxHops bounds the chain of successors of a merged hazard.
const maxHops = 100

// page collects the hazards of one page.
// maxPage bounds the texts of a page, in bytes: with the last of its hazards it may be more.
const maxPage = 4 << 20

func (r *searching) page(ctx context.Context) (*Page, error) {
	apart, err := r.apart(ctx)
	if err != nil {
		return nil, err
	}
	type place struct {
		key query.Key
		h   *hazard.Hazard // nil if its present state is that of the row
		n   int64          // the change that made the row's state
	}
	var found []place
	full := func() bool { return r.query.Limit > 0 && len(found) > r.query.Limit }
	takeUntil := func(key *query.Key) { // takes the hazards of apart that come before key
		for len(apart) > 0 && !full() && (key == nil || r.Sort.Compare(r.Sort.Key(apart[0]), *key) < 0) {
			found, apart = append(found, place{key: r.Sort.Key(apart[0]), h: apart[0]}), apart[1:]
		}
	}
	err = r.rows.Each(ctx, r.after, func(next find.Row) (bool, error) {
		if ok, err := r.passes(ctx, next); err != nil || !ok {
			return err == nil, err
		}
		takeUntil(&next.Key)
		if !full() {
			found = append(found, place{key: next.Key, n: next.N})
		}
		return !full(), nil
	})
	if err != nil {
		return nil, err
	}
	takeUntil(nil)
	behind := func(k query.Key) string {
		return r.query.Encode(query.Cursor{Number: r.number, Now: r.begun, Key: k}, r.store.epoch)
	}
	var keys []query.Key
	page := &Page{Number: r.shown, After: func(i int) string { return behind(keys[i]) }}
	if full() {
		found = found[:r.query.Limit]
		page.Cursor = behind(found[len(found)-1].key)
	}
	again := r.after != nil && r.query.At == nil // those of apart are shown as of this page
	r.Coming = nil
	for _, p := range found {
		if (p.h == nil || again) && r.knows(p.key.ID, p.n) == nil {
			r.Coming = append(r.Coming, p.key.ID)
		}
	}
	size := 0
	for i, p := range found {
		h, err := p.h, error(nil)
		if h == nil || again {
			h, err = r.body(ctx, p.key.ID, p.n)
		}
		if err != nil {
			return nil, err
		}
		if r.query.At != nil {
			h = h.ExpireAt(r.now)
		} else if h = h.ExpireAt(r.present); r.after != nil {
			if ok, err := r.matches(ctx, h, r.present); err != nil {
				return nil, err
			} else if !ok {
				continue
			}
		}
		page.Hazards, keys = append(page.Hazards, h), append(keys, p.key)
		if size += len(h.Name) + len(h.Description) + len(h.Comment) + hazard.SizeOfTexts(h.Texts); size >= maxPage && r.query.Limit > 0 && i+1 < len(found) {
			page.Cursor = behind(p.key)
			break
		}
	}
	return page, nil
}

// apart returns the matching hazards whose rows do not show their state: those that have changed
// since, and those past an unrecorded end. It reads them from the log and calls Match. The order is
// the search's, from r.after on.
func (r *searching) apart(ctx context.Context) ([]*hazard.Hazard, error) {
	changed := map[int64]bool{}
	note := func(ids []int64, err error) error {
		for _, id := range ids {
			changed[id] = true
		}
		return err
	}
	if r.number < r.last {
		if err := note(r.q.ChangedHazards(ctx, sqlc.ChangedHazardsParams{After: r.number, UpTo: r.last})); err != nil {
			return nil, err
		}
	}
	if r.query.At != nil {
		if err := note(r.rows.WrittenAround(ctx, r.moment)); err != nil {
			return nil, err
		}
	}
	due, err := r.q.DueHazards(ctx, sqlc.DueHazardsParams{NowMs: int64(r.now), MaxRows: math.MaxInt32})
	if err != nil {
		return nil, err
	}
	for _, d := range due {
		changed[d.ID] = true
	}
	var all []*hazard.Hazard
	for id := range changed {
		if r.query.ByNumber() && !slices.Contains(r.query.Hazards, id) {
			continue
		}
		h, err := hazardAsOf(ctx, r.q, id, r.number, r.moment)
		if errors.Is(err, hazard.ErrNotFound) {
			continue // it is newer than the search
		}
		if err != nil {
			return nil, err
		}
		h = h.ExpireAt(r.now)
		if r.after != nil && r.Sort.Compare(r.Sort.Key(h), *r.after) <= 0 {
			continue
		}
		if ok, err := r.matches(ctx, h, r.now); err != nil {
			return nil, err
		} else if ok {
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b *hazard.Hazard) int { return r.Sort.Compare(r.Sort.Key(a), r.Sort.Key(b)) })
	return all, nil
}

// hazardAsOf returns the state of a hazard as of a change and a moment, or ErrNotFound.
func hazardAsOf(ctx context.Context, q *sqlc.Queries, id, n int64, at hazard.Instant) (*hazard.Hazard, error) {
	row, err := q.HazardAsOf(ctx, sqlc.HazardAsOfParams{HazardID: id, AtN: n, AtMs: int64(at)})
	if err != nil {
		return nil, found(err, "hazard %d at %s", id, at)
	}
	return decodeHazard(row.N, row.Body)
}

// matches calls Match, and reads the geometries only if needed.
func (r *searching) matches(ctx context.Context, h *hazard.Hazard, now hazard.Instant) (bool, error) {
	f := &r.query.Filter
	h = h.Named(r.query.Names)
	if !f.MatchRecord(h, now) || !f.NeedsShapes() {
		return f.MatchRecord(h, now), nil
	}
	shapes, err := r.store.shapesOf(ctx, r.q, f.Refs(h))
	return err == nil && f.MatchAt(h, f.Places(h, shapes), now), err
}

// passes reports whether a row's hazard matches the parts of the filter that the row cannot decide:
// place and text. It reads the geometry only if the box does not decide.
func (r *searching) passes(ctx context.Context, found find.Row) (bool, error) {
	f := &r.query.Filter
	match, sure := f.MayMatchPlace(found.Box)
	if r.WhereLater {
		if sure && !match {
			return false, nil
		}
		return r.holds(ctx, found)
	}
	if r.TextLater && f.Text != nil && (match || !sure) {
		if ok, err := r.containsWords(ctx, found); err != nil || !ok {
			return false, err
		}
	}
	if sure {
		return match, nil
	}
	if !found.Areas {
		return f.MatchPlace([]geo.Shape{geo.Place(found.Box.West, found.Box.South)}), nil
	}
	h, err := r.body(ctx, found.ID, found.N)
	if err != nil {
		return false, err
	}
	shapes, err := r.store.shapesOf(ctx, r.q, f.Refs(h))
	return err == nil && f.MatchPlace(f.Places(h, shapes)), err
}

// undecided reports whether passes reads the body of a row.
func (r *searching) undecided(found find.Row) bool {
	match, sure := r.query.MayMatchPlace(found.Box)
	if sure && !match || r.knows(found.ID, found.N) != nil {
		return false
	}
	return !sure && found.Areas || r.WhereLater || r.TextLater && r.query.Text != nil
}

// holds reports whether a row's hazard matches the filter's Where, if the row alone cannot decide.
func (r *searching) holds(ctx context.Context, found find.Row) (bool, error) {
	if r.looked++; r.looked > maxLooked {
		return false, query.ErrTooBroad
	}
	if found.Body != "" && !r.query.Where.MayMatch(found.Body) {
		return false, nil
	}
	h, err := r.knows(found.ID, found.N), error(nil)
	if h == nil && found.Body != "" {
		h, err = decodeHazard(found.N, found.Body)
	} else if h == nil {
		h, err = r.body(ctx, found.ID, found.N)
	}
	if err != nil {
		return false, err
	}
	return r.matches(ctx, h, r.now)
}

// maxLooked bounds how many bodies one search reads.
const maxLooked = 200_000

// containsWords reports whether a row's hazard contains the words of the search.
func (r *searching) containsWords(ctx context.Context, found find.Row) (bool, error) {
	if r.WithBodies && !r.query.MayMatchText(found.Body) {
		return false, nil
	}
	h, err := r.body(ctx, found.ID, found.N)
	return err == nil && r.query.MatchText(h), err
}

// knows returns the state of a hazard that change n made, if it is known; else nil. Without a number it
// is nil.
func (r *searching) knows(id, n int64) *hazard.Hazard {
	if r.known != nil && n != 0 {
		if h, ok := r.known.Hazard(id); ok && h.Version == n {
			return h
		}
	}
	return nil
}

// body returns the present state of a hazard. n is the change that made it; 0 if unknown.
func (r *searching) body(ctx context.Context, id, n int64) (*hazard.Hazard, error) {
	if h := r.knows(id, n); h != nil {
		return h, nil
	}
	if h, ok := r.read[id]; ok {
		return h, nil
	}
	ids := []int64{id}
	if i := slices.Index(r.Coming, id); i >= 0 {
		ids = r.Coming[i:min(i+bodiesAtOnce, len(r.Coming))]
		r.Coming = r.Coming[i+len(ids):]
	}
	if len(r.read) > query.MaxLimit { // a count may read any number
		clear(r.read)
	}
	rows, err := r.Tx.QueryContext(ctx, "SELECT c.n, c.body FROM searchable s JOIN changes c ON c.n = s.n WHERE "+r.store.database.listed("s.id", 1), r.store.database.numbers(ids))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		var body sql.RawBytes // no copy for each
		if err := rows.Scan(&n, &body); err != nil {
			return nil, err
		}
		h, err := decodeState(n, body)
		if err != nil {
			return nil, err
		}
		r.read[h.ID] = h
	}
	if h, ok := r.read[id]; ok || rows.Err() != nil {
		return h, rows.Err()
	}
	return nil, fmt.Errorf("%w: hazard %d", hazard.ErrNotFound, id)
}

// bodiesAtOnce is how many bodies one query reads.
const bodiesAtOnce = 100

// products lists the products of hazards as of the search's moment, by hazard: only ids and
// audiences.
func (r *searching) products(ctx context.Context, hazards []*hazard.Hazard) (map[int64][]*hazard.Product, error) {
	ids := make([]int64, len(hazards))
	for i, h := range hazards {
		ids[i] = h.ID
	}
	query, args := `SELECT p.hazard_id, p.id, p.n, coalesce(c.audience, p.body) FROM products p JOIN changes c ON c.product_id = p.id AND c.n = p.n AND c.product_id > 0
		WHERE NOT p.deleted AND `+r.store.database.listed("p.hazard_id", 1), []any{r.store.database.numbers(ids)}
	if at := r.query.At; at != nil {
		query, args = "SELECT c.hazard_id, c.product_id, c.n, coalesce(c.audience, c.body) FROM changes c WHERE "+r.store.database.listed("c.hazard_id", 1)+` AND c.product_id > 0 AND c.at_ms <= $2
			AND c.n = (SELECT max(d.n) FROM changes d WHERE d.product_id = c.product_id AND d.product_id > 0 AND d.at_ms <= $2)`, append(args, int64(*at))
	}
	rows, err := r.Tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[int64][]*hazard.Product{}
	for rows.Next() {
		var id, product, n int64
		var audience string
		if err := rows.Scan(&id, &product, &n, &audience); err != nil {
			return nil, err
		}
		p, err := knownOf(n, audience)
		if err != nil {
			return nil, err
		}
		if p.ID = product; !p.Deleted {
			all[id] = append(all[id], p)
		}
	}
	if err := rows.Err(); err != nil || r.query.At == nil {
		return all, err
	}
	return all, r.store.judgeByPresent(ctx, r.Tx, slices.Concat(slices.Collect(maps.Values(all))...))
}

func productsAsOf(ctx context.Context, q *sqlc.Queries, hazardID int64, at hazard.Instant) ([]*hazard.Product, error) {
	rows, err := q.ProductsOfHazardAsOf(ctx, sqlc.ProductsOfHazardAsOfParams{HazardID: hazardID, AtMs: int64(at)})
	if err != nil {
		return nil, storeError(err)
	}
	products := []*hazard.Product{}
	for _, row := range rows {
		p, err := decodeProduct(row.N, row.Body)
		if err != nil {
			return nil, err
		}
		if !p.Deleted {
			products = append(products, p)
		}
	}
	return products, nil
}

// HazardAt returns the state of a hazard as readers saw it at a moment, including its end. It
// returns ErrNotFound if it did not exist yet.
func (s *Log) HazardAt(ctx context.Context, id int64, at hazard.Instant) (*hazard.Hazard, error) {
	h, err := hazardAsOf(ctx, s.readQ, id, int64(1)<<62, at)
	if err := cmp.Or(keptAt(ctx, s.readQ, at), err); err != nil {
		return nil, err
	}
	return h.ExpireAt(at), nil
}

// HazardByUUIDAt does the same as HazardAt by UUID.
func (s *Log) HazardByUUIDAt(ctx context.Context, id uuid.UUID, at hazard.Instant) (*hazard.Hazard, error) {
	number, err := s.readQ.HazardNumber(ctx, id.String())
	if err != nil {
		return nil, found(err, "hazard %s", id)
	}
	return s.HazardAt(ctx, number, at)
}

// ProductsAt lists the products that a hazard had at a moment and that a member of orgs may see
// today, by id.
func (s *Log) ProductsAt(ctx context.Context, hazardID int64, orgs []int64, at hazard.Instant) ([]*hazard.Product, error) {
	all, err := productsAsOf(ctx, s.readQ, hazardID, at)
	if err == nil {
		err = cmp.Or(keptAt(ctx, s.readQ, at), s.JudgeByPresent(ctx, all))
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(p *hazard.Product) bool { return !p.VisibleTo(orgs) }), nil
}

// ProductAt returns the state of a product at a moment, for a member of orgs. It returns
// ErrNotFound if it did not exist, or if they may not see it today.
func (s *Log) ProductAt(ctx context.Context, id int64, orgs []int64, at hazard.Instant) (*hazard.Product, error) {
	row, err := s.readQ.ProductAsOf(ctx, sqlc.ProductAsOfParams{ProductID: id, AtMs: int64(at)})
	if err := cmp.Or(keptAt(ctx, s.readQ, at), found(err, "product %d at %s", id, at)); err != nil {
		return nil, err
	}
	p, err := decodeProduct(row.N, row.Body)
	if err == nil {
		err = s.JudgeByPresent(ctx, []*hazard.Product{p})
	}
	return visible(orgs)(p, err)
}

// ProductByUUIDAt does the same as ProductAt by UUID.
func (s *Log) ProductByUUIDAt(ctx context.Context, id uuid.UUID, orgs []int64, at hazard.Instant) (*hazard.Product, error) {
	number, err := s.readQ.ProductNumber(ctx, id.String())
	if err != nil {
		return nil, found(err, "product %s", id)
	}
	return s.ProductAt(ctx, number, orgs, at)
}

// ChangeAt returns the number of the last change as of a moment, or 0 before the first.
func (s *Log) ChangeAt(ctx context.Context, at hazard.Instant) (int64, error) {
	n, err := lastChangeAt(ctx, s.readQ, at)
	if err == nil {
		err = keptAt(ctx, s.readQ, at)
	}
	return n, storeError(err)
}

// LastMoment returns the time of the last change, or hazard.MinInstant if there is none.
func (s *Log) LastMoment(ctx context.Context) (hazard.Instant, error) {
	at, err := s.readQ.LastMoment(ctx)
	if none(err) {
		return hazard.MinInstant, nil
	}
	return hazard.Instant(at), storeError(err)
}

// SinceAt does the same as Since, without changes after a moment.
func (s *Log) SinceAt(ctx context.Context, n int64, limit int, at hazard.Instant) ([]hazard.Change, error) {
	rows, err := s.readQ.ChangesSinceAt(ctx, sqlc.ChangesSinceAtParams{After: n, AtMs: int64(at), MaxRows: int32(limit)})
	if err == nil {
		err = keptAt(ctx, s.readQ, at)
	}
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

// HazardChangesAt does the same as HazardChanges, without changes after a moment.
func (s *Log) HazardChangesAt(ctx context.Context, hazardID, n int64, limit int, at hazard.Instant) ([]hazard.Change, error) {
	rows, err := s.readQ.ChangesOfHazardAt(ctx, sqlc.ChangesOfHazardAtParams{HazardID: hazardID, After: n, AtMs: int64(at), MaxRows: int32(limit)})
	if err == nil {
		err = keptAt(ctx, s.readQ, at)
	}
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

// Reported reports whether a source has ever reported anything.
func (s *Sources) Reported(ctx context.Context, source string) (bool, error) {
	any, err := s.readQ.SourceReported(ctx, source)
	if err != nil {
		return false, fmt.Errorf("source %s: %w", source, storeError(err))
	}
	return any, nil
}

// Resolve fills in the hazards with the filter's ref, if it has one; a merged one is replaced by
// its successor. Search does it itself; call it before Match.
func (s *Search) Resolve(ctx context.Context, f *query.Filter) (err error) {
	if f.Ref != "" {
		f.Hazards, err = leadsTo(ctx, s.readQ, f.Ref)
	}
	return storeError(err)
}
