package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/blob"
)

// RewriteHazard calls alter for every state of a hazard in the log, and writes the states for which
// it returns true. It is only for redactions; otherwise the log is append-only. SaveHazard writes
// the present state.
func (t *Tx) RewriteHazard(id int64, alter func(*hazard.Hazard) bool) error {
	return t.rewrite("changes", "n", `hazard_id = $1 AND product_id = 0`, id, func(n int64, body string) (any, bool, error) {
		h, err := decodeHazard(n, body)
		return h, err == nil && alter(h), err
	})
}

// RewriteProduct does the same as RewriteHazard for a product.
func (t *Tx) RewriteProduct(id int64, alter func(*hazard.Product) bool) error {
	return t.rewrite("changes", "n", `product_id = $1 AND product_id > 0`, id, func(n int64, body string) (any, bool, error) {
		p, err := decodeProduct(n, body)
		return p, err == nil && alter(p), err
	})
}

// rewrite does it for the rows of a table that which selects by id. number is the column of the
// numbers that the bodies are sealed with.
func (t *txn) rewrite(table, number, which string, id int64, alter func(n int64, body string) (state any, changed bool, err error)) error {
	type row struct {
		n    int64
		body string
	}
	for after, more := int64(0), true; more; {
		var batch []row
		rows, err := t.tx.QueryContext(t.ctx, `SELECT `+number+`, body FROM `+table+` WHERE `+which+` AND `+number+` > $2 ORDER BY `+number+` LIMIT 100`, id, after)
		if err != nil {
			return err
		}
		for rows.Next() {
			var r row
			if err := rows.Scan(&r.n, &r.body); err != nil {
				return errors.Join(err, rows.Close())
			}
			batch = append(batch, r)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
		for _, r := range batch {
			after = r.n
			state, changed, err := alter(r.n, r.body)
			if err != nil {
				return err
			}
			if !changed {
				continue
			}
			body, err := json.Marshal(state)
			if err != nil {
				return err
			}
			if _, err := t.tx.ExecContext(t.ctx, `UPDATE `+table+` SET body = $1 WHERE `+number+` = $2`, seal(r.n, body), r.n); err != nil {
				return err
			}
		}
		more = len(batch) > 0
	}
	return nil
}

// Rewrite does the same as RewriteHazard for the reports of a hazard, including held ones.
// It returns ErrConflict if one that is still held cannot be read: it may say what is redacted.
func (t *TxReports) Rewrite(hazardID int64, alter func(*hazard.Report) bool) error {
	if err := t.rewriteHeld(hazardID, alter); err != nil {
		return err
	}
	type row struct{ source, event, part, body string }
	var all []row
	rows, err := t.tx.QueryContext(t.ctx, `SELECT r.source, r.event, r.part, r.body FROM reports r
		JOIN event_keys k ON k.source = r.source AND k.key = r.event JOIN events e ON e.source = k.source AND e.event = k.event
		WHERE e.hazard_id = $1 AND r.body <> ''`, hazardID)
	if err != nil {
		return err
	}
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.source, &r.event, &r.part, &r.body); err != nil {
			return errors.Join(err, rows.Close())
		}
		all = append(all, r)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, r := range all {
		report, err := decodeReport(r.source, r.event, r.part, r.body)
		if err != nil {
			return err
		}
		if !alter(&report) {
			continue
		}
		body, err := json.Marshal(&report)
		if err != nil {
			return err
		}
		if _, err := t.tx.ExecContext(t.ctx, `UPDATE reports SET body = $1 WHERE source = $2 AND event = $3 AND part = $4`, string(body), r.source, r.event, r.part); err != nil {
			return err
		}
	}
	return nil
}

// rewriteHeld does it for the held reports of a hazard. They have their sources' original names:
// for an event "332010@2" it also reads those under "332010".
func (t *txn) rewriteHeld(hazardID int64, alter func(*hazard.Report) bool) error {
	const which = `body <> '' AND id IN (SELECT r.id FROM held r JOIN event_keys k ON k.source = r.source
		AND r.event IN (k.key, CASE WHEN rtrim(k.key, '0123456789') LIKE '%@' THEN rtrim(rtrim(k.key, '0123456789'), '@') ELSE k.key END)
		JOIN events e ON e.source = k.source AND e.event = k.event WHERE e.hazard_id = $1)`
	return t.rewrite("held", "id", which, hazardID, func(id int64, body string) (any, bool, error) {
		report, err := heldReport(id, body)
		if err == nil {
			return &report, alter(&report), nil
		}
		row, err := t.q.HeldReport(t.ctx, id)
		if err != nil {
			return nil, false, err
		}
		if row.Decision != "" {
			return nil, false, t.emptyHeld(id)
		}
		return nil, false, fmt.Errorf("%w: nothing is redacted: held report %d (%s:%s) is damaged, and may repeat the text. Have the operator mend it with hazardd check --mend, or dismiss it; then redact again",
			hazard.ErrConflict, id, row.Source, row.Event)
	})
}

// emptyHeld removes the content of a held report that was decided about and cannot be read.
func (t *txn) emptyHeld(id int64) error {
	_, err := t.tx.ExecContext(t.ctx, `UPDATE held SET body = '' WHERE id = $1`, id)
	return err
}

// ReleaseFile releases the content with that digest unless a state in the log refers to it. It
// reads the products of the whole log.
func (t *Tx) ReleaseFile(digest string) error {
	_, err := t.tx.ExecContext(t.ctx, `UPDATE contents SET named = FALSE WHERE digest = $1
		AND NOT EXISTS (SELECT 1 FROM changes WHERE product_id > 0 AND body LIKE $2)`, digest, `%"`+digest+`"%`)
	return err
}

// Purge removes released contents, and the remains of rewritten rows in the database's files, as
// far as possible while others read (docs/operations.md). It may be repeated.
func (s *Files) Purge(ctx context.Context, digests []string) error {
	var errs []error
	for _, digest := range digests { // one that is in use, or cannot be removed, keeps no other
		errs = append(errs, s.purge(ctx, digest))
	}
	return errors.Join(append(errs, storeError(s.database.purge(ctx, s.write)))...)
}

func (s *Files) purge(ctx context.Context, digest string) error {
	row, err := content(ctx, s.readQ, digest)
	if err != nil || row.Named {
		return err
	}
	name := blob.Name{Digest: digest, Life: row.Life}
	if ended, err := s.endContent(ctx, name); err != nil || !ended {
		return err
	}
	return s.files.Remove(ctx, name)
}
