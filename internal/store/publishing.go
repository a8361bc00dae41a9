package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format/publisher"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Settings returns the present and earlier publishing profiles of organizations. It leaves out the
// organizations of which one cannot be read: by another one, their messages would have other names.
func (s *Publishing) Settings(ctx context.Context) (publisher.Settings, error) {
	rows, err := s.readQ.Publishing(ctx)
	if err != nil {
		return nil, storeError(err)
	}
	all, damaged := publisher.Settings{}, []int64{}
	for _, r := range rows {
		p := &publisher.Profile{}
		if err := json.Unmarshal([]byte(r.Body), p); err != nil || p.Org != r.OrgID {
			what := fmt.Sprintf("the publishing profile of organization %d after change %d", r.OrgID, r.AfterN)
			s.store.Quarantine.note(what, &DamagedError{what})
			damaged = append(damaged, r.OrgID)
			continue
		}
		all[r.OrgID] = append(all[r.OrgID], publisher.Setting{After: r.AfterN, Profile: p})
	}
	for _, org := range damaged {
		delete(all, org)
	}
	return all, nil
}

// Set makes p the profile for its organization's future changes; a first profile also
// applies to earlier changes. What was published under an earlier profile stays as it is.
func (s *Publishing) Set(ctx context.Context, p *publisher.Profile, a auth.Audit) error {
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		earlier, err := q.CountPublishing(ctx, p.Org)
		if err != nil {
			return err
		}
		after := int64(0)
		if earlier > 0 { // the counter's row stays locked, so no change comes in between
			if after, err = q.Next(ctx, sqlc.NextParams{Name: "change", Count: 0}); err != nil {
				return err
			}
		}
		if err := q.SetPublishing(ctx, sqlc.SetPublishingParams{OrgID: p.Org, AfterN: after, Body: string(body)}); err != nil {
			return err
		}
		return addAudit(ctx, q, &a)
	})
}

// signedName is the name of the row of meta that says that messages were signed.
const signedName = "cap_signed"

// Signed reports whether messages were signed: then their readers expect signatures.
func (s *Publishing) Signed(ctx context.Context) (bool, error) {
	_, err := s.readQ.Meta(ctx, signedName)
	if none(err) {
		return false, nil
	}
	return err == nil, storeError(err)
}

// NoteSigned records that messages are signed.
func (s *Publishing) NoteSigned(ctx context.Context) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		return q.SetMeta(ctx, sqlc.SetMetaParams{Name: signedName, Value: "true"})
	})
}

// Unsign records that messages are no longer signed, on purpose.
func (s *Publishing) Unsign(ctx context.Context, a auth.Audit) error {
	return s.inTx(ctx, func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM meta WHERE name = $1`, signedName); err != nil {
			return err
		}
		return addAudit(ctx, q, &a)
	})
}

const (
	// widest is how many changes Log.OwnChanges examines one by one; for more it goes by the hazards
	// that people made.
	widest = 20_000
	// ownAtOnce is how many changes Log.OwnChanges reads at once.
	ownAtOnce = 500
)

// OwnChanges calls f with the changes of hazards that people made, and of their products, from
// after to upTo, in commit order.
func (s *Log) OwnChanges(ctx context.Context, after, upTo int64, f func(*hazard.Change) error) error {
	const made = `m.product_id = 0 AND m.kind = 'hazard.created' AND m.actor <> ''`
	query := `SELECT c.n FROM changes m JOIN changes c ON c.hazard_id = m.hazard_id WHERE ` + made + ` AND c.n > $1 AND c.n <= $2`
	if upTo-after <= widest {
		query = `SELECT c.n FROM changes c WHERE c.n > $1 AND c.n <= $2 AND EXISTS (SELECT 1 FROM changes m WHERE m.hazard_id = c.hazard_id AND ` + made + `)`
	}
	numbers, err := s.numbers(ctx, query, after, upTo)
	if err != nil {
		return storeError(err)
	}
	slices.Sort(numbers)
	for piece := range slices.Chunk(slices.Compact(numbers), ownAtOnce) {
		changes, err := s.changesOf(ctx, piece)
		if err != nil {
			return err
		}
		for i := range changes {
			if err := f(&changes[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// numbers returns the numbers from a query.
func (s *core) numbers(ctx context.Context, query string, args ...any) ([]int64, error) {
	rows, err := s.reads.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []int64
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, rows.Err()
}

// changesOf reads the changes with these numbers, in order, without damaged ones.
func (s *core) changesOf(ctx context.Context, numbers []int64) ([]hazard.Change, error) {
	rows, err := s.reads.QueryContext(ctx, `SELECT c.n, c.at_ms, c.kind, c.hazard_id, c.product_id, c.actor, c.source, c.body FROM changes c
		WHERE `+s.database.listed("c.n", 1)+` ORDER BY c.n`, s.database.numbers(numbers))
	if err != nil {
		return nil, storeError(err)
	}
	defer rows.Close()
	var changes []hazard.Change
	for rows.Next() {
		r, err := scanChange(rows)
		if err != nil {
			return nil, storeError(err)
		}
		c, err := decodeChange(r)
		if err == nil {
			changes = append(changes, c)
		} else if !s.store.Quarantine.change(r.N, err) {
			return nil, err
		}
	}
	return changes, storeError(rows.Err())
}

// ProductVersions returns at most limit states of a product after change n that a member of orgs
// may see today, oldest first, without their texts. next is the number to continue after, or 0 at
// the end.
func (s *Log) ProductVersions(ctx context.Context, id, n int64, orgs []int64, limit int) (states []*hazard.Product, next int64, err error) {
	rows, err := s.reads.QueryContext(ctx, `SELECT n, body FROM changes WHERE product_id = $1 AND product_id > 0 AND n > $2 AND `+mayKnow("", orgs)+` ORDER BY n LIMIT $3 + 0`, id, n, limit)
	if err != nil {
		return nil, 0, storeError(err)
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		var body string
		if err := rows.Scan(&n, &body); err != nil {
			return nil, 0, storeError(err)
		}
		p, err := decodeProduct(n, body)
		if err != nil {
			return nil, 0, err
		}
		p.Data = ""
		states = append(states, p)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, 0, storeError(err)
	}
	if len(states) == limit {
		next = states[limit-1].Version
	}
	if err := s.JudgeByPresent(ctx, states); err != nil {
		return nil, 0, err
	}
	return slices.DeleteFunc(states, func(p *hazard.Product) bool { return !p.VisibleTo(orgs) }), next, nil
}

// Forks counts how often the history was replaced. If the count has changed, earlier reads may be
// void.
func (s *Log) Forks(ctx context.Context) (n int64, err error) {
	err = s.reads.QueryRowContext(ctx, `SELECT count(*) FROM forks`).Scan(&n)
	return n, storeError(err)
}
