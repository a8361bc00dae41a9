package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// LogPage selects a piece of the change log.
type LogPage struct {
	After  int64           // changes with higher numbers, in commit order
	Limit  int             // maximum number of changes
	Bytes  int64           // approximate total size of states; a single one may be larger
	Hazard int64           // only this hazard and its products; 0 means all
	At     *hazard.Instant // only changes committed by then; nil means all
	// Orgs selects the changes that a member of these organizations may see today, in the form they
	// may see (hazard.Change.SeenBy). Everything selects all changes regardless of rights.
	Orgs       []int64
	Everything bool
}

// LogPiece is a piece of the change log.
type LogPiece struct {
	Changes []hazard.Change
	Next    int64 // number after which the log continues; 0 at the end
	Last    int64 // the latest assigned number; after a fork a change with that number may not exist
	// Damaged are the numbers of changes that cannot be read, in order. They are left out of Changes,
	// unless the changes of one hazard are read: then the first is an error.
	Damaged []int64
}

// Page reads a piece of the change log in one query. It returns a *ForkedError if p.After belongs
// to a replaced history, unless the changes of one hazard are read, and a *PrunedError if the log
// is no longer complete as of p.At. Where a page of an SQLite file is damaged, the changes around it
// are read one by one.
func (s *Log) Page(ctx context.Context, p LogPage) (piece LogPiece, err error) {
	piece, err = s.page(ctx, p)
	if p.Hazard == 0 && errors.Is(err, errPage) {
		piece, err = s.oneByOne(ctx, p)
	}
	if err != nil {
		return LogPiece{}, err
	}
	if p.At != nil {
		if err := keptAt(ctx, s.readQ, *p.At); err != nil {
			return LogPiece{}, err
		}
	}
	if !p.Everything {
		if piece.Changes, err = s.seenBy(ctx, piece.Changes, p.Orgs); err != nil {
			return LogPiece{}, err
		}
	}
	s.reach.noteAnswer()
	if n := len(piece.Changes); n > 0 {
		raise(&s.seen, piece.Changes[n-1].Number)
	}
	return piece, nil
}

// oneByOne does what page does for rows around a damaged page of the SQLite file.
func (s *Log) oneByOne(ctx context.Context, p LogPage) (piece LogPiece, err error) {
	if piece.Last, err = s.readQ.Counter(ctx, "change"); err != nil {
		return piece, storeError(err)
	}
	n := p.After
	for ; n < piece.Last && n < p.After+int64(p.Limit); n++ {
		c, err := s.readChange(ctx, n+1)
		begun := len(piece.Changes)+len(piece.Damaged) > 0
		switch {
		case err == nil && p.At != nil && c.At > *p.At:
			return piece, nil
		case err == nil:
			piece.Changes = append(piece.Changes, c)
		case errors.Is(err, hazard.ErrNotFound) && begun: // a fork begins after n
			piece.Next = n
			return piece, storeError(forked(ctx, s.readQ, p.After))
		case errors.Is(err, hazard.ErrNotFound):
		case s.store.Quarantine.change(n+1, err):
			piece.Damaged = append(piece.Damaged, n+1)
		default:
			return piece, err
		}
	}
	if n < piece.Last {
		piece.Next = n
	}
	return piece, storeError(forked(ctx, s.readQ, p.After))
}

// page reads a piece in one query, whoever may see its changes.
func (s *Log) page(ctx context.Context, p LogPage) (piece LogPiece, err error) {
	where, args := []string{"n > $1"}, []any{p.After, p.Limit + 1, p.Bytes}
	if p.Hazard != 0 {
		args = append(args, p.Hazard)
		where = append(where, fmt.Sprintf("hazard_id = $%d", len(args)))
	}
	if p.At != nil {
		args = append(args, int64(*p.At))
		where = append(where, fmt.Sprintf("at_ms <= $%d", len(args)))
	}
	if !p.Everything {
		where = append(where, "(product_id = 0 OR "+mayKnow("", p.Orgs)+")")
	}
	// The sizes are in the row headers, so rows beyond the page are not read. There is always at
	// least one row, with the state of the log. If the limit were a bare parameter, SQLite would
	// plan the statement again at each binding.
	rows, err := s.reads.QueryContext(ctx, `SELECT k.last, k.void, r.n, r.at_ms, r.kind, r.hazard_id, r.product_id, r.actor, r.source, r.body
		FROM (SELECT (SELECT value FROM counters WHERE name = 'change') AS last, (SELECT count(*) FROM forks WHERE fork_n < $1 AND start_n > $1) AS void) k
		LEFT JOIN (SELECT c.n, c.at_ms, c.kind, c.hazard_id, c.product_id, c.actor, c.source, CASE WHEN x.before < $3 THEN c.body ELSE '' END AS body
			FROM (SELECT y.n, sum(y.size) OVER (ORDER BY y.n) - y.size AS before
				FROM (SELECT n, octet_length(body) AS size FROM changes WHERE `+strings.Join(where, " AND ")+` ORDER BY n LIMIT $2 + 0) y) x
			JOIN changes c ON c.n = x.n) r ON true ORDER BY r.n`, args...)
	if err != nil {
		return LogPiece{}, storeError(err)
	}
	defer rows.Close()
	void, last, read := int64(0), p.After, 0
	for rows.Next() {
		var n, at, hazardID, productID sql.NullInt64
		var kind, actor, source, body sql.NullString
		if err := rows.Scan(&piece.Last, &void, &n, &at, &kind, &hazardID, &productID, &actor, &source, &body); err != nil {
			return LogPiece{}, storeError(err)
		}
		if !n.Valid {
			break
		}
		if body.String == "" || read == p.Limit {
			piece.Next = last
			break
		}
		last, read = n.Int64, read+1
		c, err := decodeChange(sqlc.ChangesSinceRow{N: n.Int64, AtMs: at.Int64, Kind: kind.String, HazardID: hazardID.Int64, ProductID: productID.Int64,
			Actor: actor.String, Source: source.String, Body: body.String})
		if err == nil {
			piece.Changes = append(piece.Changes, c)
		} else if p.Hazard == 0 && s.store.Quarantine.change(n.Int64, err) {
			piece.Damaged = append(piece.Damaged, n.Int64)
		} else {
			return LogPiece{}, err
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return LogPiece{}, storeError(err)
	}
	if void > 0 && p.Hazard == 0 {
		if err := forked(ctx, s.readQ, p.After); err != nil {
			return LogPiece{}, storeError(err)
		}
	}
	return piece, nil
}

// Latest returns the number after which the latest changes of a hazard begin, at most limit of them,
// and how many are before. It counts the changes that a member of orgs may see today.
func (s *Log) Latest(ctx context.Context, hazardID int64, limit int, orgs []int64) (after, earlier int64, err error) {
	of := `FROM changes WHERE hazard_id = $1 AND (product_id = 0 OR ` + mayKnow("", orgs) + `)`
	err = s.reads.QueryRowContext(ctx, `WITH l AS (SELECT coalesce((SELECT n `+of+` ORDER BY n DESC LIMIT 1 OFFSET $2), 0) AS after)
		SELECT l.after, (SELECT count(*) `+of+` AND n <= l.after) FROM l`, hazardID, limit).Scan(&after, &earlier)
	return after, earlier, storeError(err)
}

// HazardsBefore returns the latest states of hazards before change n, by id, in one query. Hazards
// that did not exist are missing, and those whose state is damaged.
func (s *Log) HazardsBefore(ctx context.Context, ids []int64, n int64) (map[int64]*hazard.Hazard, error) {
	rows, err := s.reads.QueryContext(ctx, `SELECT h.id, c.n, c.body FROM hazards h JOIN changes c ON c.n =
			(SELECT d.n FROM changes d WHERE d.hazard_id = h.id AND d.product_id = 0 AND d.n < $2 ORDER BY d.n DESC LIMIT 1)
		WHERE `+s.database.listed("h.id", 1), s.database.numbers(ids), n)
	if err != nil {
		return nil, storeError(err)
	}
	defer rows.Close()
	states := make(map[int64]*hazard.Hazard, len(ids))
	for rows.Next() {
		var id, n int64
		var body string
		if err := rows.Scan(&id, &n, &body); err != nil {
			return nil, storeError(err)
		}
		h, err := decodeHazard(n, body)
		switch {
		case err == nil:
			states[id] = h
		case !s.store.Quarantine.change(n, err):
			return nil, err
		}
	}
	return states, storeError(rows.Err())
}

// ProductsThen returns, by change number, the products that the hazard of each change had as of
// that change. It reads only their ids and audiences, in at most three queries. The changes must be
// in order.
func (s *Log) ProductsThen(ctx context.Context, changes []hazard.Change) (map[int64][]*hazard.Product, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	t, err := s.Totals(ctx, changes)
	if err != nil {
		return nil, err
	}
	all := map[int64][]*hazard.Product{}
	for i := range changes {
		if changes[i].Hazard != nil {
			all[changes[i].Number] = t.Products(&changes[i])
		}
	}
	return all, nil
}

// seenBy returns the changes that a member of orgs may see today, in the form they may see.
func (s *core) seenBy(ctx context.Context, changes []hazard.Change, orgs []int64) ([]hazard.Change, error) {
	if err := s.store.Log.JudgeByPresent(ctx, hazard.ProductsOf(changes)); err != nil {
		return nil, err
	}
	seen := changes[:0]
	for i := range changes {
		if c := changes[i].SeenBy(orgs); c != nil {
			seen = append(seen, *c)
		}
	}
	return seen, nil
}

// StatesBefore returns the latest states before a page of one hazard's history, in two queries: the
// hazard's (number 0) and those of each product that the page changes, as far as a member of orgs
// may see them today. bytes bounds their approximate total size. Beyond it, states before later
// changes of the page may be missing.
func (s *Log) StatesBefore(ctx context.Context, page []hazard.Change, orgs []int64, bytes int64) (states map[int64]*hazard.Change, known int, err error) {
	if len(page) == 0 {
		return nil, 0, nil
	}
	first := map[int64]int{} // index in the page of the first change of each
	for i, c := range slices.Backward(page) {
		first[objectOf(&c)] = i
	}
	hazardID, before := page[0].HazardID, page[0].Number
	rows, err := s.reads.QueryContext(ctx, `SELECT c.n, c.at_ms, c.kind, c.hazard_id, c.product_id, c.actor, c.source, CASE WHEN x.before < $5 THEN c.body ELSE '' END
		FROM (SELECT y.n, sum(y.size) OVER (ORDER BY y.later, y.n) - y.size AS before
			FROM (SELECT z.n, octet_length(z.body) AS size, CASE WHEN z.product_id = $4 THEN 0 ELSE 1 END AS later
				FROM changes z WHERE z.n = (SELECT d.n FROM changes d WHERE d.hazard_id = $1 AND d.n < $2 AND d.product_id = 0 ORDER BY d.n DESC LIMIT 1)
				UNION ALL SELECT z.n, octet_length(z.body), CASE WHEN z.product_id = $4 THEN 0 ELSE 1 END
				FROM products p JOIN changes z ON z.n = (SELECT d.n FROM changes d WHERE d.product_id = p.id AND d.product_id > 0 AND d.hazard_id = $1 AND d.n < $2
					AND `+mayKnow("d.", orgs)+` ORDER BY d.n DESC LIMIT 1)
				WHERE `+s.database.listed("p.id", 3)+`) y) x
		JOIN changes c ON c.n = x.n`, hazardID, before, s.database.numbers(slices.Sorted(maps.Keys(first))), objectOf(&page[0]), bytes)
	if err != nil {
		return nil, 0, storeError(err)
	}
	defer rows.Close()
	known = len(page)
	var found []hazard.Change
	for rows.Next() {
		r, err := scanChange(rows)
		if err != nil {
			return nil, 0, storeError(err)
		}
		if r.Body == "" {
			if i, ok := first[r.ProductID]; ok {
				known = min(known, i)
			}
			continue
		}
		c, err := decodeChange(r)
		if err != nil {
			return nil, 0, err
		}
		found = append(found, c)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, 0, storeError(err)
	}
	if err := s.JudgeByPresent(ctx, hazard.ProductsOf(found)); err != nil {
		return nil, 0, err
	}
	states = map[int64]*hazard.Change{}
	for i, c := range found {
		if c.Product == nil || c.Product.VisibleTo(orgs) {
			states[objectOf(&c)] = &found[i]
		}
	}
	return states, known, nil
}

// objectOf returns the id of the changed product, or 0 for a change of the hazard.
func objectOf(c *hazard.Change) int64 {
	if c.Product == nil {
		return 0
	}
	return c.Product.ID
}

func scanChange(rows *sql.Rows) (r sqlc.ChangesSinceRow, err error) {
	return r, rows.Scan(&r.N, &r.AtMs, &r.Kind, &r.HazardID, &r.ProductID, &r.Actor, &r.Source, &r.Body)
}

// deletedMark begins the audience of a deleted product.
const deletedMark = "-"

// longestAudience bounds the size of a list of organizations in an index, in bytes: PostgreSQL
// allows at most 2,700 per index row.
const longestAudience = 2000

// audienceOf returns the value of the audience column of a product.
func audienceOf(p *hazard.Product) sql.NullString {
	var a strings.Builder
	if p.Deleted {
		a.WriteString(deletedMark)
	}
	for i, o := range p.OrgIDs {
		if i == 0 {
			a.WriteByte(',')
		}
		a.WriteString(strconv.FormatInt(o, 10))
		a.WriteByte(',')
	}
	return sql.NullString{String: a.String(), Valid: a.Len() <= longestAudience}
}

// readAudience returns a product with only the data that audienceOf stores.
func readAudience(text string) (*hazard.Product, error) {
	list, deleted := strings.CutPrefix(text, deletedMark)
	p := &hazard.Product{Deleted: deleted}
	for o := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' }) {
		n, err := strconv.ParseInt(o, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("stored audience %q: %w", text, err)
		}
		p.OrgIDs = append(p.OrgIDs, n)
	}
	return p, nil
}

// mayKnow returns an SQL condition for the products that a member of orgs may be allowed to see.
// The caller must still check each row with VisibleTo.
func mayKnow(table string, orgs []int64) string {
	column := table + "audience"
	condition := "(" + column + " IS NULL OR " + column + " IN ('', '" + deletedMark + "')"
	for _, o := range orgs {
		condition += fmt.Sprintf(" OR %s LIKE '%%,%d,%%'", column, o)
	}
	return condition + ")"
}

// Totals holds the products of hazards as of each change of a page: only ids and audiences.
type Totals struct {
	moves    []move
	products map[int64]map[int64]*hazard.Product // by hazard, after the moves so far
	owner    map[int64]int64
}

// move is the hazard and the audience of a product after a change.
type move struct {
	n, product, hazard int64
	state              *hazard.Product // its audience
}

// Totals reads the products of the hazards in a page of changes, in at most three queries.
func (s *Log) Totals(ctx context.Context, changes []hazard.Change) (*Totals, error) {
	t := &Totals{products: map[int64]map[int64]*hazard.Product{}, owner: map[int64]int64{}}
	hazards := map[int64]bool{}
	for _, c := range changes {
		if c.Hazard != nil {
			hazards[c.HazardID] = true
		}
	}
	if len(hazards) == 0 {
		return t, nil
	}
	// For each product that ever belonged to the hazards: its last state before the page, and its
	// states in the page.
	query := `WITH p AS (SELECT DISTINCT product_id FROM changes WHERE product_id > 0 AND ` + s.database.listed("hazard_id", 1) + ` AND n <= $3), moves AS (
		SELECT c.n, c.product_id, c.hazard_id, c.audience FROM p JOIN changes c ON c.product_id = p.product_id AND c.product_id > 0
			AND c.n = (SELECT max(e.n) FROM changes e WHERE e.product_id = p.product_id AND e.product_id > 0 AND e.n < $2)
		UNION ALL SELECT c.n, c.product_id, c.hazard_id, c.audience FROM p JOIN changes c ON c.product_id = p.product_id AND c.product_id > 0
			AND c.n >= $2 AND c.n <= $3)
		`
	args := []any{s.database.numbers(slices.Sorted(maps.Keys(hazards))), changes[0].Number, changes[len(changes)-1].Number}
	unknown, err := s.moves(ctx, t, query+`SELECT n, product_id, hazard_id, audience FROM moves ORDER BY n`, args)
	if err == nil && unknown {
		t.moves = nil
		_, err = s.moves(ctx, t, query+`SELECT m.n, m.product_id, m.hazard_id, coalesce(m.audience, c.body) FROM moves m JOIN changes c ON c.n = m.n ORDER BY m.n`, args)
	}
	if err != nil {
		return nil, storeError(err)
	}
	states := make([]*hazard.Product, len(t.moves))
	for i, m := range t.moves {
		states[i] = m.state
	}
	return t, s.JudgeByPresent(ctx, states)
}

// knownOf returns a product with only its audience, from the column of that name, or from the body
// if that is NULL.
func knownOf(version int64, text string) (*hazard.Product, error) {
	if !strings.HasPrefix(text, "{") {
		return readAudience(text)
	}
	p, err := decodeProduct(version, text)
	if err != nil {
		return nil, err
	}
	return &hazard.Product{OrgIDs: p.OrgIDs, Deleted: p.Deleted}, nil
}

// moves runs a query of Totals. unknown reports whether some audiences are only in the bodies.
func (s *core) moves(ctx context.Context, t *Totals, query string, args []any) (unknown bool, err error) {
	rows, err := s.reads.QueryContext(ctx, query, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for rows.Next() {
		var m move
		var audience sql.NullString
		if err := rows.Scan(&m.n, &m.product, &m.hazard, &audience); err != nil {
			return false, err
		}
		unknown = unknown || !audience.Valid
		if m.state, err = knownOf(m.n, audience.String); err != nil {
			return false, err
		}
		m.state.ID, m.state.HazardID = m.product, m.hazard
		t.moves = append(t.moves, m)
	}
	return unknown, rows.Err()
}

// Products returns the products that the hazard of c had as of c, in any order, with only ids,
// hazards and audiences. Call it for the changes of the page in order, and only for changes of
// hazards. The result must not be modified.
func (t *Totals) Products(c *hazard.Change) []*hazard.Product {
	for len(t.moves) > 0 && t.moves[0].n <= c.Number {
		m := t.moves[0]
		t.moves = t.moves[1:]
		delete(t.products[t.owner[m.product]], m.product)
		if m.state.Deleted {
			continue
		}
		t.owner[m.product] = m.hazard
		if t.products[m.hazard] == nil {
			t.products[m.hazard] = map[int64]*hazard.Product{}
		}
		t.products[m.hazard][m.product] = m.state
	}
	return slices.Collect(maps.Values(t.products[c.HazardID]))
}

// Of counts the products that the hazard of c had as of c and that a member of orgs may see today.
// Call it in the same order as Products.
func (t *Totals) Of(c *hazard.Change, orgs []int64) int {
	total := 0
	for _, p := range t.Products(c) {
		if p.VisibleTo(orgs) {
			total++
		}
	}
	return total
}
