package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
// It returns ErrConflict if a held report cannot be read, because that may hold the redacted text.
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
// far as possible while others read (docs/operate.md). It may be repeated.
func (s *Files) Purge(ctx context.Context, digests []string) error {
	var errs []error
	for _, digest := range digests { // one that is in use, or cannot be removed, keeps no other
		errs = append(errs, s.purge(ctx, digest))
	}
	s.moving.Lock() // the log is not emptied while somebody else moves it
	defer s.moving.Unlock()
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

// Origins says where a hazard's texts came from.
type Origins struct {
	Sources  []string // that reported its events
	Names    []string // of its events, at their sources
	Payloads []string // digests of the payloads from which its reports were made
}

// Origins returns where the texts of a hazard came from.
func (t *Tx) Origins(hazardID int64) (o Origins, err error) {
	const events = ` FROM event_keys k JOIN events e ON e.source = k.source AND e.event = k.event`
	list := func(query string) (all []string) {
		if err == nil {
			all, err = t.texts(query+` WHERE e.hazard_id = $1`, hazardID)
		}
		return all
	}
	o.Sources = list(`SELECT DISTINCT e.source FROM events e`)
	o.Names = append(list(`SELECT DISTINCT k.key`+events), list(`SELECT DISTINCT r.ref FROM event_refs r JOIN events e ON e.source = r.source AND e.event = r.event`)...)
	o.Payloads = list(`SELECT DISTINCT r.payload` + events + ` JOIN reports r ON r.source = k.source AND r.event = k.key AND r.payload <> ''`)
	return o, err
}

func (t *txn) texts(query string, args ...any) (all []string, err error) {
	rows, err := t.tx.QueryContext(t.ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// RedactMessages removes the texts of the messages about a hazard that were sent or are being sent,
// also of those about several hazards.
func (t *Tx) RedactMessages(hazardID int64) error {
	_, err := t.tx.ExecContext(t.ctx, `UPDATE notices SET text = $1 WHERE state IN ('sending', 'sent', 'failed') AND (hazard_id = $2
		OR message <> '' AND message IN (SELECT message FROM notices WHERE hazard_id = $2))`, hazard.RedactedText, hazardID)
	return err
}

// RedactDrafts removes the drafts that are about a hazard, would alter it, or hold one of the texts:
// holds reports whether a text does.
func (t *Tx) RedactDrafts(h *hazard.Hazard, holds func(string) bool) error {
	rows, err := t.tx.QueryContext(t.ctx, `SELECT id, touched, body, shown, reason FROM drafts`)
	if err != nil {
		return err
	}
	defer rows.Close()
	var gone []string
	for rows.Next() {
		var id, touched, body, shown, reason string
		if err := rows.Scan(&id, &touched, &body, &shown, &reason); err != nil {
			return err
		}
		if strings.Contains(" "+touched, fmt.Sprintf(" %d:", h.ID)) || slices.ContainsFunc([]string{body, shown, reason}, holds) {
			gone = append(gone, id)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := t.q.ForgetDraftsOf(t.ctx, h.UUID.String()); err != nil {
		return err
	}
	for _, id := range gone {
		if _, err := t.tx.ExecContext(t.ctx, `DELETE FROM drafts WHERE id = $1`, id); err != nil {
			return err
		}
	}
	return nil
}

// RedactErrors removes the records that could not be read, and what was said of them and of held
// reports and payloads, of some sources, where they hold one of the texts.
func (t *Tx) RedactErrors(sources []string, from func(*string) bool) error {
	for _, source := range sources {
		if err := t.redactRecords(source, from); err != nil {
			return err
		}
		for table, column := range map[string]string{"held": "reason", "receipts": "error"} {
			if err := t.redactColumn(table, column, source, from); err != nil {
				return err
			}
		}
	}
	return nil
}

// redactRecords removes unreadable records whole: what they hold has no known form.
func (t *txn) redactRecords(source string, from func(*string) bool) error {
	type record struct {
		id   int64
		name string
	}
	rows, err := t.tx.QueryContext(t.ctx, `SELECT id, record, reason, raw FROM source_errors WHERE source = $1`, source)
	if err != nil {
		return err
	}
	defer rows.Close()
	var gone []record
	for rows.Next() {
		var r record
		var reason string
		var raw []byte
		if err := rows.Scan(&r.id, &r.name, &reason, &raw); err != nil {
			return err
		}
		whole := r.name + "\n" + reason + "\n" + string(raw)
		if from(&whole) {
			gone = append(gone, r)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, r := range gone {
		if from(&r.name) {
			r.name = fmt.Sprintf("%s %d", hazard.RedactedText, r.id)
		}
		if _, err := t.tx.ExecContext(t.ctx, `UPDATE source_errors SET record = $1, reason = $2, raw = $3 WHERE id = $4`,
			r.name, fmt.Sprintf("%s (error %d)", hazard.RedactedText, r.id), []byte{}, r.id); err != nil {
			return err
		}
	}
	return nil
}

func (t *txn) redactColumn(table, column, source string, from func(*string) bool) error {
	rows, err := t.tx.QueryContext(t.ctx, `SELECT id, `+column+` FROM `+table+` WHERE source = $1 AND `+column+` <> ''`, source)
	if err != nil {
		return err
	}
	defer rows.Close()
	altered := map[int64]string{}
	for rows.Next() {
		var id int64
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			return err
		}
		if from(&text) {
			altered[id] = text
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for id, text := range altered {
		if _, err := t.tx.ExecContext(t.ctx, `UPDATE `+table+` SET `+column+` = $1 WHERE id = $2`, text, id); err != nil {
			return err
		}
	}
	return nil
}

// Redact removes texts from the reasons for which events belonged to a hazard, as merges and
// splits of it remember them.
func (t *TxMerges) Redact(hazardID int64, from func(*string) bool) error {
	merges, err := t.texts(`SELECT body FROM merges WHERE from_id = $1 OR into_id = $1`, hazardID)
	if err != nil {
		return err
	}
	for _, body := range merges {
		m, err := decodeMerge(body)
		if err != nil {
			return err
		}
		found := false
		for i := range m.Events {
			found = from(&m.Events[i].Joined) || found
		}
		if !found {
			continue
		}
		if err := t.Drop(m.Change); err != nil {
			return err
		}
		if err := t.Save(m); err != nil {
			return err
		}
	}
	splits, err := t.texts(`SELECT body FROM splits WHERE hazard_id = $1`, hazardID)
	if err != nil {
		return err
	}
	for _, body := range splits {
		s := &Split{}
		if err := json.Unmarshal([]byte(body), s); err != nil {
			return fmt.Errorf("split: %w", err)
		}
		found := from(&s.Joined)
		for i := range s.Events {
			found = from(&s.Events[i].Joined) || found
		}
		if !found {
			continue
		}
		if err := t.DropSplit(s.Change); err != nil {
			return err
		}
		if err := t.SaveSplit(s); err != nil {
			return err
		}
	}
	return nil
}

// redactedAt is the name of the moment of the last redaction, in milliseconds, in the table meta.
const redactedAt = "redacted"

// MarkRedaction records the moment of a redaction: what was copied before holds the text.
func (t *Tx) MarkRedaction() error {
	_, err := t.tx.ExecContext(t.ctx, `INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
		redactedAt, strconv.FormatInt(int64(t.Now()), 10))
	return err
}

// Redacted returns the moment of the last redaction, or 0 if there was none.
func (s *Log) Redacted(ctx context.Context) (hazard.Instant, error) {
	text, err := s.readQ.Meta(ctx, redactedAt)
	if none(err) {
		return 0, nil
	}
	if err != nil {
		return 0, storeError(err)
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	return hazard.Instant(ms), err
}
