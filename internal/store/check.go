package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Checked is the result of a check.
type Checked struct {
	Changes    int64 `json:"changes"`
	Unsealed   int64 `json:"unsealed"` // changes by releases without checksums: read, but not verified
	Hazards    int64 `json:"hazards"`
	Products   int64 `json:"products"`
	Geometries int64 `json:"geometries"`
	Files      int64 `json:"files"`
	// Damaged lists the parts that an intact copy can repair (Mend, BringFile), each once.
	Damaged []Part `json:"-"`
}

// Check reads everything in the store as of one moment, and calls fault for each difference from
// what was written. It checks the pages of an SQLite file with checksums, its write-ahead log, the
// structure of the database, each state against its checksum, the tables of present states against
// the log, and areas and product files against their digests. A server may run meanwhile. The error
// says that the check could not be made.
func (s *Store) Check(ctx context.Context, fault func(what string)) (Checked, error) {
	return s.check(ctx, fault, true)
}

// CheckDatabase does the same as Check without the product files.
func (s *Store) CheckDatabase(ctx context.Context, fault func(what string)) (Checked, error) {
	return s.check(ctx, fault, false)
}

func (s *core) check(ctx context.Context, fault func(what string), files bool) (done Checked, err error) {
	err = s.checkPages(ctx, func(page string) { fault(page + " is damaged: it is not as it was written") })
	if err == nil {
		err = s.checkLog(ctx, fault)
	}
	if err != nil {
		return done, fmt.Errorf("check the pages of the database: %w", err)
	}
	tx, err := s.snapshot(ctx)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, rollback(tx)) }()
	c := &checker{ctx: ctx, tx: tx, fault: fault, done: &done, files: map[string]struct{}{}}
	if err := s.database.check(ctx, tx, fault); err != nil {
		return done, fmt.Errorf("check the structure of the database: %w", storeError(err))
	}
	for _, step := range []func() error{c.changes, c.hazards, c.products, c.events, c.reports, c.held, c.geometries, c.shapes} {
		if err := step(); err != nil {
			return done, storeError(err)
		}
	}
	if files {
		err = c.contents(s.store)
	}
	return done, err
}

// damaged records a part that does not match its checksum.
func (c *checker) damaged(kind PartKind, key, what string) {
	if p := (Part{kind, key}); !slices.Contains(c.done.Damaged, p) {
		c.done.Damaged = append(c.done.Damaged, p)
	}
	c.fault(what)
}

type checker struct {
	ctx   context.Context
	tx    *sql.Tx
	fault func(string)
	done  *Checked
	files map[string]struct{} // digests of the product files in the log
}

// rows calls f for each row of a query, after scanning its columns into into.
func (c *checker) rows(query string, f func(), into ...any) error {
	rows, err := c.tx.QueryContext(c.ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		f()
	}
	return rows.Err()
}

// changes reads the log, checks each state against its checksum and its row, and looks for missing
// numbers.
func (c *checker) changes() error {
	var last int64
	jumps := map[int64]int64{} // last number of a history → the number after which the next history begins
	var from, to int64
	err := c.rows(`SELECT fork_n, start_n FROM forks`, func() { jumps[from] = to }, &from, &to)
	if err != nil {
		return err
	}
	follows := func(n int64) bool { // n follows last directly, or across forks
		at, forked := last, true
		for ; forked && at != n; at, forked = jumps[at], jumps[at] != 0 {
		}
		return at == n
	}
	var pruned int64 // rows up to this one may be pruned
	if err := c.tx.QueryRowContext(c.ctx, `SELECT coalesce(max(n), 0) FROM pruned WHERE what = $1`, string(History)).Scan(&pruned); err != nil {
		return err
	}
	var n, hazardID, productID int64
	var body string
	err = c.rows(`SELECT n, hazard_id, product_id, body FROM changes ORDER BY n`, func() {
		c.done.Changes++
		if n > pruned {
			last = max(last, pruned)
		}
		if n > pruned && !follows(n-1) {
			c.fault(fmt.Sprintf("the log goes from change %d to %d: the changes between are missing", last, n))
		}
		last = n
		if !sealed([]byte(body)) {
			c.done.Unsealed++
		}
		var id int64
		var err error
		if productID == 0 {
			var h *hazard.Hazard
			if h, err = decodeHazard(n, body); err == nil {
				id = h.ID
			}
		} else {
			var p *hazard.Product
			if p, err = decodeProduct(n, body); err == nil {
				id = p.ID
				if p.File != nil && p.File.Digest != "" {
					c.files[p.File.Digest] = struct{}{}
				}
			}
		}
		switch {
		case err != nil:
			c.damaged(StatePart, strconv.FormatInt(n, 10), err.Error())
		case productID == 0 && id != hazardID, productID != 0 && id != productID:
			c.fault(fmt.Sprintf("change %d is of hazard %d, product %d, and its state is of %d", n, hazardID, productID, id))
		}
	}, &n, &hazardID, &productID, &body)
	if err != nil {
		return err
	}
	var numbered int64
	if err := c.tx.QueryRowContext(c.ctx, `SELECT value FROM counters WHERE name = 'change'`).Scan(&numbered); err != nil {
		return err
	}
	if last = max(last, pruned); !follows(numbered) {
		c.fault(fmt.Sprintf("the log ends with change %d, and %d were numbered", last, numbered))
	}
	return nil
}

// hazards compares the table of present states with the log.
func (c *checker) hazards() error {
	var id, n, severity, start, end, lastUpdate, update int64
	var uuid, status, kind, category, source string
	var autoexpire bool
	var lon, lat float64
	var body sql.NullString
	err := c.rows(`SELECT h.id, h.uuid, h.n, h.status, h.type_id, h.severity, h.category_id, h.autoexpire, h.start_ms, h.end_ms, h.last_update_ms, h.update_ms,
		h.lon, h.lat, h.source, c.body FROM hazards h LEFT JOIN changes c ON c.n = h.n ORDER BY h.id`, func() {
		c.done.Hazards++
		if !body.Valid {
			c.fault(fmt.Sprintf("hazard %d: the log has no change %d that made its state", id, n))
			return
		}
		h, err := decodeHazard(n, body.String)
		if err != nil {
			return // already reported as a fault of the log
		}
		same := h.ID == id && h.UUID.String() == uuid && string(h.Status) == status && string(h.Type) == kind && int64(h.Severity) == severity &&
			string(h.Category) == category && h.AutoExpire == autoexpire && int64(h.Start) == start && int64(h.End) == end &&
			int64(h.LastUpdate) == lastUpdate && int64(h.Updated) == update && h.Longitude == lon && h.Latitude == lat && h.Source == source
		if !same {
			c.fault(fmt.Sprintf("hazard %d: its row differs from change %d, which made its state", id, n))
		}
	}, &id, &uuid, &n, &status, &kind, &severity, &category, &autoexpire, &start, &end, &lastUpdate, &update, &lon, &lat, &source, &body)
	if err != nil {
		return err
	}
	return c.latest("hazard", `SELECT c.hazard_id, max(c.n), coalesce(max(h.n), 0) FROM changes c LEFT JOIN hazards h ON h.id = c.hazard_id
		WHERE c.product_id = 0 GROUP BY c.hazard_id HAVING max(c.n) <> coalesce(max(h.n), 0)`)
}

// latest reports present states that are not the latest ones in the log.
func (c *checker) latest(what, query string) error {
	var id, logged, present int64
	return c.rows(query, func() {
		c.fault(fmt.Sprintf("%s %d: the latest state in the log is of change %d, the present state of %d (0 means none)", what, id, logged, present))
	}, &id, &logged, &present)
}

// products compares the table of present products with the log.
func (c *checker) products() error {
	var id, hazardID, n int64
	var deleted bool
	var body string
	err := c.rows(`SELECT id, hazard_id, n, deleted, body FROM products ORDER BY id`, func() {
		c.done.Products++
		p, err := decodeProduct(n, body)
		if err != nil {
			c.damaged(StatePart, strconv.FormatInt(n, 10), fmt.Sprintf("product %d: %v", id, err))
		} else if p.ID != id || p.HazardID != hazardID || p.Deleted != deleted {
			c.fault(fmt.Sprintf("product %d: its row differs from its state", id))
		}
	}, &id, &hazardID, &n, &deleted, &body)
	if err != nil {
		return err
	}
	return c.latest("product", `SELECT c.product_id, max(c.n), coalesce(max(p.n), 0) FROM changes c LEFT JOIN products p ON p.id = c.product_id
		WHERE c.product_id > 0 GROUP BY c.product_id HAVING max(c.n) <> coalesce(max(p.n), 0)`)
}

// events reads the stored events of hazards.
func (c *checker) events() error {
	var source, event, shapes string
	var hazardID, found int64
	return c.rows(`SELECT e.source, e.event, e.hazard_id, e.shapes, coalesce(h.id, 0) FROM events e LEFT JOIN hazards h ON h.id = e.hazard_id ORDER BY e.source, e.event`, func() {
		if found == 0 {
			c.fault(fmt.Sprintf("event %s:%s is part of hazard %d, which is not there", source, event, hazardID))
		}
		if _, err := decodeEvents([]sqlc.Event{{Source: source, Event: event, Shapes: shapes}}, nil); err != nil {
			c.fault(fmt.Sprintf("hazard %d: %v", hazardID, err))
		}
	}, &source, &event, &hazardID, &shapes, &found)
}

// reports reads the sources' latest reports.
func (c *checker) reports() error {
	var source, event, part, body string
	return c.rows(`SELECT source, event, part, body FROM reports WHERE body <> '' ORDER BY source, event, part`, func() {
		if _, err := decodeReport(source, event, part, body); err != nil {
			c.fault(err.Error())
		}
	}, &source, &event, &part, &body)
}

// held reads the reports that are held.
func (c *checker) held() error {
	var id int64
	var source, event, body string
	return c.rows(`SELECT id, source, event, body FROM held WHERE body <> '' ORDER BY id`, func() {
		if _, err := heldReport(id, body); err != nil {
			c.damaged(HeldPart, strconv.FormatInt(id, 10), fmt.Sprintf("held report %d (%s:%s) is damaged: it is not as it was written", id, source, event))
		}
	}, &id, &source, &event, &body)
}

func (c *checker) geometries() error {
	var digest, text string
	return c.rows(`SELECT digest, geojson FROM geometries ORDER BY digest`, func() {
		c.done.Geometries++
		if err := intactGeometry(digest, text); err != nil {
			c.damaged(GeometryPart, digest, err.Error())
		}
	}, &digest, &text)
}

func (c *checker) shapes() error {
	var digest string
	var body []byte
	return c.rows(`SELECT digest, body FROM shapes ORDER BY digest`, func() {
		if _, err := openShapes(digest, body); err != nil {
			c.damaged(ShapesPart, digest, err.Error())
		}
	}, &digest, &body)
}

// contents opens the product files that the log refers to: the first time a file is opened, it is
// compared with its digest.
func (c *checker) contents(s *Store) error {
	for _, digest := range slices.Sorted(maps.Keys(c.files)) {
		c.done.Files++
		f, err := s.Files.Open(c.ctx, digest)
		if err == nil {
			err = f.Close()
		}
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		if err != nil {
			c.damaged(FilePart, digest, fmt.Sprintf("product file %s: %v", digest, err))
		}
	}
	return nil
}

// KeptKind is a kind of files that are stored separately from the product files.
type KeptKind string

// The kinds of separately stored files.
const (
	KeptPayloads KeptKind = "payload of a source"
	KeptPictures KeptKind = "picture"
)

// CheckKept opens the files of a kind that the store refers to, and calls fault for each that
// differs from what was stored: the first time a file is opened, it is compared with its digest.
// open opens their storage; it is only called if there are any.
func (s *Store) CheckKept(ctx context.Context, kind KeptKind, open func() (blob.Place, error), fault func(what string)) (n int64, err error) {
	query := `SELECT file, life FROM payloads ORDER BY file, life`
	if kind == KeptPictures {
		query = `SELECT digest, life FROM pictures WHERE digest <> '' ORDER BY digest, life`
	}
	names, err := s.kept(ctx, query)
	if err != nil || len(names) == 0 {
		return 0, err
	}
	place, err := open()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	bad := map[blob.Name]error{}
	for _, name := range names {
		f, err := place.Open(ctx, name)
		if err == nil {
			err = f.Close()
		}
		if ctx.Err() != nil {
			return n, context.Cause(ctx)
		}
		if n++; err != nil {
			bad[name] = err
		}
	}
	if len(bad) == 0 {
		return n, nil
	}
	if names, err = s.kept(ctx, query); err != nil { // some may have been removed meanwhile
		return n, err
	}
	for _, name := range names {
		if err := bad[name]; err != nil {
			fault(fmt.Sprintf("%s %s: %v", kind, name.Digest, err))
		}
	}
	return n, nil
}

func (s *core) kept(ctx context.Context, query string) (names []blob.Name, err error) {
	rows, err := s.reads.QueryContext(ctx, query)
	if err != nil {
		return nil, storeError(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name blob.Name
		if err := rows.Scan(&name.Digest, &name.Life); err != nil {
			return nil, storeError(err)
		}
		names = append(names, name)
	}
	return names, storeError(rows.Err())
}
