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
	"github.com/hazardd/hazardd/internal/search"
	"github.com/hazardd/hazardd/internal/store/db"
	"github.com/hazardd/hazardd/internal/store/find"
	"github.com/hazardd/hazardd/internal/store/reach"
)

// searchTime bounds one search: what takes longer asks for too much at once.
const searchTime = 10 * time.Second

// Page is a part of what a search found.
type Page struct {
	// Number is the change as of which the page is true.
	Number int64
	// Hazards as they read at the moment that was asked about, in the order that was asked for, and of each the number of products that
	// the caller may know of.
	Hazards []*hazard.Hazard
	Totals  []int
	// Restricted: a product was counted that not everybody may know of.
	Restricted bool
	// Cursor is where the next page begins; empty if this is the last.
	Cursor string
	// After is the cursor of a page that begins behind one of Hazards, for a reader who takes no more of them.
	After func(i int) string
}

// Search finds hazards, active or not, as they are at now, or as they were at q.At. Totals are those of a member of orgs.
//
// All pages of one search belong to the moment of the first: whoever was found then is on exactly one page, at the place that he had then,
// whatever is written and ends meanwhile. Each reads as it is when its page is asked for, and is left out of it when it is no longer
// what was searched for. With q.At all is as of that moment alone. A cursor that cannot be used is a search.Faults.
func (s *Store) Search(ctx context.Context, q search.Query, orgs []int64, now hazard.Instant) (*Page, error) {
	return s.search(ctx, q, orgs, now, 0)
}

func (s *Store) search(ctx context.Context, q search.Query, orgs []int64, now hazard.Instant, way int) (page *Page, err error) {
	err = s.reading(ctx, func(ctx context.Context, tx *sql.Tx) error {
		r, err := s.newSearch(ctx, tx, q, now)
		if err != nil {
			return err
		}
		r.Way = way
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

// Count counts what Search finds on all pages of a search that begins now, and tells as of which change.
func (s *Store) Count(ctx context.Context, q search.Query, now hazard.Instant) (n, number int64, err error) {
	return s.count(ctx, q, now, 0)
}

func (s *Store) count(ctx context.Context, q search.Query, now hazard.Instant, way int) (n, number int64, err error) {
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

// reading runs f in one reading transaction of bounded time, which sees one state of the store.
func (s *Store) reading(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
	if s.reach.Away() {
		return reach.ErrAway
	}
	bounded, cancel := context.WithTimeout(ctx, s.searchTime)
	defer cancel()
	tx, err := s.read.BeginTx(bounded, s.database.snapshot())
	if err == nil {
		err = errors.Join(f(bounded, tx), rollback(tx))
	}
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return search.ErrTooBroad
	}
	return storeError(err)
}

// searching is one search as of one moment.
type searching struct {
	find.Question
	rows  find.Finder
	store *Store
	q     *db.Queries
	query search.Query
	after *search.Key
	// The state that is asked about: what changes up to number, written up to moment, made of hazards, as it reads at now.
	number      int64
	moment, now hazard.Instant
	begun       hazard.Instant // when the first page was asked for
	present     hazard.Instant // when this one is
	shown       int64          // the change as of which the answer is true, for the reader
	last        int64          // the last change that there is
	// read are the hazards of rows whose body was looked into.
	read map[int64]*hazard.Hazard
	// looked is how many states were looked into for what rows do not tell.
	looked int
}

func (s *Store) newSearch(ctx context.Context, tx *sql.Tx, query search.Query, now hazard.Instant) (*searching, error) {
	r := &searching{store: s, q: s.readQ.WithTx(tx), query: query, moment: hazard.MaxInstant, now: now, begun: now, present: now, read: map[int64]*hazard.Hazard{}}
	asked := query.Implied()
	r.Question = find.Question{Tx: tx, Filter: &asked, Sort: query.Sort, Limit: query.Limit, WhereLater: !find.Tells(query.Where)}
	r.rows = s.database.tables().Finder(&r.Question)
	var err error
	if r.last, err = r.q.Counter(ctx, "change"); err != nil {
		return nil, err
	}
	r.number, r.shown = r.last, r.last
	if query.Cursor != "" {
		c, err := query.Decode(s.epoch)
		switch {
		case err != nil:
			return nil, err
		case now > c.Now.Add(search.CursorLife):
			return nil, search.ErrOldCursor
		}
		if _, void := errors.AsType[*ForkedError](forked(ctx, r.q, c.Number)); void {
			return nil, search.ErrOldCursor
		}
		r.number, r.now, r.begun, r.after = min(c.Number, r.last), c.Now, c.Now, &c.Key
	}
	if query.At != nil {
		r.moment, r.now = *query.At, *query.At
		if r.shown, err = lastChangeAt(ctx, r.q, r.moment); err == nil {
			err = keptAt(ctx, r.q, r.moment)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := r.LookUp(ctx); err != nil {
		return nil, err
	}
	if query.Ref != "" {
		if r.query.Hazards, err = leadsTo(ctx, r.q, query.Ref); err != nil {
			return nil, err
		}
		r.Filter.Hazards = r.query.Hazards
	}
	// What Match is asked about in full is left out of the rows, see apart.
	if r.number < r.last {
		r.Where("s.n <= ?", r.number)
	}
	if query.At != nil {
		r.Where("s.changed_ms <= ?", int64(r.moment))
	}
	r.NotDue(r.now)
	return r, nil
}

// lastChangeAt is the number of the last change as of a moment; 0 before the first.
func lastChangeAt(ctx context.Context, q *db.Queries, at hazard.Instant) (int64, error) {
	n, err := q.LastChangeAt(ctx, int64(at))
	if none(err) {
		return 0, nil
	}
	return n, err
}

// leadsTo lists the hazards that are known by ref, sorted: in place of a merged one its successor.
func leadsTo(ctx context.Context, q *db.Queries, ref string) ([]int64, error) {
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

// maxHops bounds how often a hazard's successor was merged in its turn.
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
		key search.Key
		h   *hazard.Hazard // nil: its present state is that of the row
	}
	var found []place
	full := func() bool { return r.query.Limit > 0 && len(found) > r.query.Limit }
	takeUntil := func(key *search.Key) { // those apart that come before key
		for len(apart) > 0 && !full() && (key == nil || r.Sort.Compare(r.Sort.Key(apart[0]), *key) < 0) {
			found, apart = append(found, place{r.Sort.Key(apart[0]), apart[0]}), apart[1:]
		}
	}
	err = r.rows.Each(ctx, r.after, func(next find.Row) (bool, error) {
		if ok, err := r.passes(ctx, next); err != nil || !ok {
			return err == nil, err
		}
		takeUntil(&next.Key)
		if !full() {
			found = append(found, place{key: next.Key})
		}
		return !full(), nil
	})
	if err != nil {
		return nil, err
	}
	takeUntil(nil)
	behind := func(k search.Key) string {
		return r.query.Encode(search.Cursor{Number: r.number, Now: r.begun, Key: k}, r.store.epoch)
	}
	var keys []search.Key
	page := &Page{Number: r.shown, After: func(i int) string { return behind(keys[i]) }}
	if full() {
		found = found[:r.query.Limit]
		page.Cursor = behind(found[len(found)-1].key)
	}
	r.Coming = nil
	for _, p := range found {
		if p.h == nil || r.after != nil && r.query.At == nil {
			r.Coming = append(r.Coming, p.key.ID)
		}
	}
	size := 0
	for i, p := range found {
		h, err := p.h, error(nil)
		if h == nil || r.after != nil && r.query.At == nil {
			h, err = r.body(ctx, p.key.ID)
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

// apart lists the hazards that the filter lets through and whose rows do not tell their state: those that have changed since, or that are past their end
// though nobody has recorded it. They are those that the log, and Match, are asked about. They come in order, from r.after on.
func (r *searching) apart(ctx context.Context) ([]*hazard.Hazard, error) {
	changed := map[int64]bool{}
	note := func(ids []int64, err error) error {
		for _, id := range ids {
			changed[id] = true
		}
		return err
	}
	if r.number < r.last {
		if err := note(r.q.ChangedHazards(ctx, db.ChangedHazardsParams{After: r.number, UpTo: r.last})); err != nil {
			return nil, err
		}
	}
	if r.query.At != nil {
		if err := note(r.rows.WrittenAround(ctx, r.moment)); err != nil {
			return nil, err
		}
	}
	due, err := r.q.DueHazards(ctx, db.DueHazardsParams{NowMs: int64(r.now), MaxRows: math.MaxInt32})
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
			continue // it is younger
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

// hazardAsOf is the state of a hazard as of one change and one moment, or ErrNotFound.
func hazardAsOf(ctx context.Context, q *db.Queries, id, n int64, at hazard.Instant) (*hazard.Hazard, error) {
	row, err := q.HazardAsOf(ctx, db.HazardAsOfParams{HazardID: id, AtN: n, AtMs: int64(at)})
	if err != nil {
		return nil, found(err, "hazard %d at %s", id, at)
	}
	return decodeHazard(row.N, row.Body)
}

// matches asks Match, with the geometries only if they matter.
func (r *searching) matches(ctx context.Context, h *hazard.Hazard, now hazard.Instant) (bool, error) {
	f := &r.query.Filter
	if !f.MatchRecord(h, now) || !f.NeedsShapes() {
		return f.MatchRecord(h, now), nil
	}
	shapes, err := r.store.shapes.of(ctx, r.q, h.Areas)
	return err == nil && f.MatchAt(h, search.Footprint(h, shapes), now), err
}

// passes reports whether a row's hazard matches the parts of the filter that the row cannot answer: place and text. Its geometry is read only if its box does not decide.
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
		if ok, err := r.says(ctx, found); err != nil || !ok {
			return false, err
		}
	}
	if sure {
		return match, nil
	}
	if !found.Areas {
		return f.MatchPlace([]geo.Shape{geo.Place(found.Box.West, found.Box.South)}), nil
	}
	h, err := r.body(ctx, found.ID)
	if err != nil {
		return false, err
	}
	shapes, err := r.store.shapes.of(ctx, r.q, h.Areas)
	return err == nil && f.MatchPlace(search.Footprint(h, shapes)), err
}

// holds reports whether the filter lets through a row's hazard, of which the row does not tell all that its Where asks about.
func (r *searching) holds(ctx context.Context, found find.Row) (bool, error) {
	if r.looked++; r.looked > maxLooked {
		return false, search.ErrTooBroad
	}
	var h *hazard.Hazard
	var err error
	if found.Body != "" {
		h, err = decodeHazard(found.N, found.Body)
	} else {
		h, err = r.body(ctx, found.ID)
	}
	if err != nil {
		return false, err
	}
	return r.matches(ctx, h, r.now)
}

// maxLooked bounds how many states one search looks into for what its rows do not tell.
const maxLooked = 200_000

// says reports whether a row's hazard says what is asked for.
func (r *searching) says(ctx context.Context, found find.Row) (bool, error) {
	if r.WithBodies && !r.query.MayMatchText(found.Body) {
		return false, nil
	}
	h, err := r.body(ctx, found.ID)
	return err == nil && r.query.MatchText(h), err
}

// body is the present state of a hazard.
func (r *searching) body(ctx context.Context, id int64) (*hazard.Hazard, error) {
	if h, ok := r.read[id]; ok {
		return h, nil
	}
	ids := []int64{id}
	if i := slices.Index(r.Coming, id); i >= 0 {
		ids = r.Coming[i:min(i+bodiesAtOnce, len(r.Coming))]
		r.Coming = r.Coming[i+len(ids):]
	}
	if len(r.read) > search.MaxLimit { // a count looks into any number
		clear(r.read)
	}
	rows, err := r.Tx.QueryContext(ctx, "SELECT c.n, c.body FROM searchable s JOIN changes c ON c.n = s.n WHERE "+r.store.database.listed("s.id", 1), r.store.database.numbers(ids))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		var body string
		if err := rows.Scan(&n, &body); err != nil {
			return nil, err
		}
		h, err := decodeHazard(n, body)
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

// bodiesAtOnce is how many bodies are read by one question to the database.
const bodiesAtOnce = 100

// products lists the products that hazards have, or had at the moment that is asked about, by hazard: their numbers and audiences alone.
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

func productsAsOf(ctx context.Context, q *db.Queries, hazardID int64, at hazard.Instant) ([]*hazard.Product, error) {
	rows, err := q.ProductsOfHazardAsOf(ctx, db.ProductsOfHazardAsOfParams{HazardID: hazardID, AtMs: int64(at)})
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

// HazardAt is the state of the hazard numbered id as readers saw it at a moment, its end included; ErrNotFound if it was not there yet.
func (s *Store) HazardAt(ctx context.Context, id int64, at hazard.Instant) (*hazard.Hazard, error) {
	h, err := hazardAsOf(ctx, s.readQ, id, int64(1)<<62, at)
	if err := cmp.Or(keptAt(ctx, s.readQ, at), err); err != nil {
		return nil, err
	}
	return h.ExpireAt(at), nil
}

// HazardByUUIDAt is HazardAt by uuid.
func (s *Store) HazardByUUIDAt(ctx context.Context, id uuid.UUID, at hazard.Instant) (*hazard.Hazard, error) {
	number, err := s.readQ.HazardNumber(ctx, id.String())
	if err != nil {
		return nil, found(err, "hazard %s", id)
	}
	return s.HazardAt(ctx, number, at)
}

// ProductsAt lists the products that a hazard had at a moment and that a member of orgs may read today, by number.
func (s *Store) ProductsAt(ctx context.Context, hazardID int64, orgs []int64, at hazard.Instant) ([]*hazard.Product, error) {
	all, err := productsAsOf(ctx, s.readQ, hazardID, at)
	if err == nil {
		err = cmp.Or(keptAt(ctx, s.readQ, at), s.JudgeByPresent(ctx, all))
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(p *hazard.Product) bool { return !p.VisibleTo(orgs) }), nil
}

// ProductAt is the state that the product numbered id had at a moment, for a member of orgs: ErrNotFound if there was none, or
// none that they may read today.
func (s *Store) ProductAt(ctx context.Context, id int64, orgs []int64, at hazard.Instant) (*hazard.Product, error) {
	row, err := s.readQ.ProductAsOf(ctx, db.ProductAsOfParams{ProductID: id, AtMs: int64(at)})
	if err := cmp.Or(keptAt(ctx, s.readQ, at), found(err, "product %d at %s", id, at)); err != nil {
		return nil, err
	}
	p, err := decodeProduct(row.N, row.Body)
	if err == nil {
		err = s.JudgeByPresent(ctx, []*hazard.Product{p})
	}
	return visible(orgs)(p, err)
}

// ProductByUUIDAt is ProductAt by uuid.
func (s *Store) ProductByUUIDAt(ctx context.Context, id uuid.UUID, orgs []int64, at hazard.Instant) (*hazard.Product, error) {
	number, err := s.readQ.ProductNumber(ctx, id.String())
	if err != nil {
		return nil, found(err, "product %s", id)
	}
	return s.ProductAt(ctx, number, orgs, at)
}

// ChangeAt is the number of the last change as of a moment; 0 before the first.
func (s *Store) ChangeAt(ctx context.Context, at hazard.Instant) (int64, error) {
	n, err := lastChangeAt(ctx, s.readQ, at)
	if err == nil {
		err = keptAt(ctx, s.readQ, at)
	}
	return n, storeError(err)
}

// LastMoment is the moment of the last change; hazard.MinInstant if there is none.
func (s *Store) LastMoment(ctx context.Context) (hazard.Instant, error) {
	at, err := s.readQ.LastMoment(ctx)
	if none(err) {
		return hazard.MinInstant, nil
	}
	return hazard.Instant(at), storeError(err)
}

// SinceAt is Since without the changes that were made after a moment.
func (s *Store) SinceAt(ctx context.Context, n int64, limit int, at hazard.Instant) ([]hazard.Change, error) {
	rows, err := s.readQ.ChangesSinceAt(ctx, db.ChangesSinceAtParams{After: n, AtMs: int64(at), MaxRows: int32(limit)})
	if err == nil {
		err = keptAt(ctx, s.readQ, at)
	}
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

// HazardChangesAt is HazardChanges without the changes that were made after a moment.
func (s *Store) HazardChangesAt(ctx context.Context, hazardID, n int64, limit int, at hazard.Instant) ([]hazard.Change, error) {
	rows, err := s.readQ.ChangesOfHazardAt(ctx, db.ChangesOfHazardAtParams{HazardID: hazardID, After: n, AtMs: int64(at), MaxRows: int32(limit)})
	if err == nil {
		err = keptAt(ctx, s.readQ, at)
	}
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

// Reported tells whether a source has ever reported anything.
func (s *Store) Reported(ctx context.Context, source string) (bool, error) {
	any, err := s.readQ.SourceReported(ctx, source)
	if err != nil {
		return false, fmt.Errorf("source %s: %w", source, storeError(err))
	}
	return any, nil
}

// Resolve fills the hazards that the filter's ref leads to, if it has one: in place of a merged one its successor. Search does it by
// itself; who asks Match does it first.
func (s *Store) Resolve(ctx context.Context, f *search.Filter) (err error) {
	if f.Ref != "" {
		f.Hazards, err = leadsTo(ctx, s.readQ, f.Ref)
	}
	return storeError(err)
}
