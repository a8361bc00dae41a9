package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Some rows of a store say what its other rows show as well: the counters, and the names in meta. One
// that is damaged would stop every write, or the start. So Open makes them again. It also sets back positions
// that lie beyond the end of the log.

// counted are the counters, each with a query for the least value that the other rows allow. A version
// has none: others compare it with the value that they saw last.
var counted = []struct{ name, least string }{
	{"change", `SELECT max(n) FROM (SELECT max(n) AS n FROM changes UNION ALL SELECT max(start_n) FROM forks UNION ALL SELECT max(n) FROM pruned WHERE what = 'history') AS k`},
	{"hazard", `SELECT max(id) FROM hazards`},
	{"product", `SELECT max(id) FROM products`},
	{"held", `SELECT max(id) FROM held`},
	{"source_error", `SELECT max(id) FROM source_errors`},
	{"organization", `SELECT max(id) FROM organizations`},
	{"audit", `SELECT max(n) FROM (SELECT max(id) AS n FROM audit UNION ALL SELECT max(n) FROM pruned WHERE what = 'audit') AS k`},
	{"delivery", `SELECT max(id) FROM deliveries`},
	{"notice", `SELECT max(id) FROM notices`},
	{"confirmation", `SELECT max(id) FROM confirmations`},
	{"searchable", `SELECT 0`}, // everything is made findable again
	{"found", `SELECT 0`},
	{"named", `SELECT 0`},
	{"subscription", ``},
	{"auth", ``},
	{"webhook", ``},
}

// farAhead is how far a counter is never ahead of the rows: a fork takes a million of numbers.
const farAhead int64 = 1 << 32

// lowestNoticed is the change that anybody was told of last, or else the first one that somebody wants
// to be told of. Nobody is told twice: the ledger says what they know.
const lowestNoticed = `SELECT coalesce((SELECT max(n) FROM (SELECT max(n) AS n FROM notices UNION ALL SELECT max(n) FROM told) AS k
	WHERE n <= (SELECT value FROM counters WHERE name = 'change')), (SELECT min(since_n) FROM subscriptions WHERE NOT removed), (SELECT value FROM counters WHERE name = 'change'))`

// renew makes the rows again that others imply, if they are missing or cannot be right. It only writes
// if there are any.
func (s *core) renew(ctx context.Context) error {
	rows, err := s.readQ.Counters(ctx)
	if err != nil {
		return fmt.Errorf("read the counters: %w", storeError(err))
	}
	have := map[string]int64{}
	for _, c := range rows {
		have[c.Name] = c.Value
	}
	var mends []transaction
	for _, c := range counted {
		var least sql.NullInt64
		value, known := have[c.name]
		if c.least != "" {
			// Where its page is damaged, the counter is all that is known.
			if err := storeError(s.read.QueryRowContext(ctx, c.least).Scan(&least)); err != nil && !(known && errors.Is(err, errPage)) {
				return fmt.Errorf("compare the counter %q: %w", c.name, err)
			}
		} else if !known {
			least.Int64 = time.Now().UnixMilli() // above all that it can have been
		}
		if !known || value < least.Int64 || c.least != "" && value > least.Int64+farAhead {
			mends = append(mends, func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) error {
				_, err := tx.ExecContext(ctx, `INSERT INTO counters (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
					WHERE counters.value < excluded.value OR counters.value > excluded.value + $3`, c.name, least.Int64, farAhead)
				return err
			})
		}
	}
	if noticed, known := have["noticed"]; !known || noticed > have["change"] {
		mends = append(mends, func(ctx context.Context, tx *sql.Tx, _ *sqlc.Queries) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO counters (name, value) VALUES ('noticed', (`+lowestNoticed+`)) ON CONFLICT (name) DO UPDATE SET value = excluded.value
				WHERE counters.value > (SELECT value FROM counters WHERE name = 'change')`)
			return err
		})
	}
	more, err := s.renewMeta(ctx)
	if err != nil {
		return err
	}
	if err := s.mendAll(ctx, append(mends, more...)); err != nil {
		return err
	}
	return s.renewPositions(ctx)
}

// renewMeta does what renew does for the names in meta.
func (s *core) renewMeta(ctx context.Context) (mends []transaction, err error) {
	set := func(name, value string) {
		mends = append(mends, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
			return q.SetMeta(ctx, sqlc.SetMetaParams{Name: name, Value: value})
		})
	}
	for _, name := range []string{"epoch", "installation"} { // readers of another epoch read everything again
		if _, err := s.readQ.Meta(ctx, name); none(err) {
			set(name, "urn:uuid:"+uuid.NewString())
		} else if err != nil {
			return nil, fmt.Errorf("read %q of the store: %w", name, storeError(err))
		}
	}
	if _, err := s.readQ.Meta(ctx, oldest); none(err) {
		set(oldest, strconv.Itoa(Schema())) // which earlier programs may use it is no longer known
	} else if err != nil {
		return nil, fmt.Errorf("read the oldest schema: %w", storeError(err))
	}
	bodies, err := s.readQ.Meta(ctx, "bodies")
	if err != nil && !none(err) {
		return nil, fmt.Errorf("read where states are: %w", storeError(err))
	}
	if bodies != "changes" && bodies != "hazards" {
		var kept bool
		if err := s.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM hazards WHERE body <> '')`).Scan(&kept); err != nil {
			return nil, fmt.Errorf("find where states are: %w", storeError(err))
		}
		set("bodies", map[bool]string{true: "hazards", false: "changes"}[kept])
	}
	return mends, nil
}

// mendAll writes in one transaction, before the store is ready for others.
func (s *core) mendAll(ctx context.Context, mends []transaction) error {
	if len(mends) == 0 {
		return nil
	}
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return storeError(err)
	}
	err = s.database.alone(ctx, tx)
	for _, mend := range mends {
		if err == nil {
			err = mend(ctx, tx, s.writeQ.WithTx(tx))
		}
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("make damaged rows again: %w", storeError(err)), rollback(tx))
	}
	return nil
}

// positions are up to where somebody has read or been told. One beyond the end would keep back what
// follows without a word, and so would a row that says it was removed but has its text. safe tells
// again rather than never: a webhook without deliveries is told of the last three days.
//
// A publishing profile that would begin beyond the end applies from now on; the only one of an organization
// applies to all changes, as a first one does. Where another one begins there already, it stays named.
var positions = []struct{ table, id, column, impossible, safe string }{
	{"webhooks", "id", "told_n", outside("told_n", "change"), `coalesce((SELECT max(d.n) FROM deliveries d WHERE d.webhook = webhooks.id AND d.n <= ` + valueOf("change") + `),
		(SELECT max(c.n) FROM changes c WHERE c.at_ms < (SELECT at_ms FROM changes ORDER BY n DESC LIMIT 1) - 259200000), 0)`},
	{"subscriptions", "id", "since_n", outside("since_n", "change"), valueOf("noticed")},
	{"subscriptions", "id", "version", outside("version", "subscription"), valueOf("subscription")},
	{"subscriptions", "id", "removed", `removed AND body <> ''`, `false`},
	{"publishing", "org_id", "after_n", outside("after_n", "change"), `CASE
		WHEN NOT EXISTS (SELECT 1 FROM publishing p WHERE p.org_id = publishing.org_id AND p.after_n <> publishing.after_n) THEN 0
		WHEN EXISTS (SELECT 1 FROM publishing p WHERE p.org_id = publishing.org_id AND p.after_n <> publishing.after_n AND (p.after_n < 0 OR p.after_n >= ` + valueOf("change") + `)) THEN after_n
		ELSE ` + valueOf("change") + ` END`},
}

func valueOf(counter string) string {
	return `(SELECT value FROM counters WHERE name = '` + counter + `')`
}

func outside(column, counter string) string {
	return `(` + column + ` < 0 OR ` + column + ` > ` + valueOf(counter) + `)`
}

// renewPositions sets positions that cannot be right to safe ones, and notes whose they were. It only
// writes if there are any.
func (s *core) renewPositions(ctx context.Context) error {
	for _, p := range positions {
		found, err := s.idsWhere(ctx, p.table, p.id, p.impossible)
		if errors.Is(err, errPage) {
			continue
		}
		if err != nil {
			return fmt.Errorf("compare %s of %s: %w", p.column, p.table, err)
		}
		for _, id := range found {
			what := fmt.Sprintf("%s of %s in the table %s", p.column, id, p.table)
			s.store.Quarantine.note(what, fmt.Errorf("%w. It was set back, so some changes may be sent again", &DamagedError{what}))
		}
		if len(found) == 0 {
			continue
		}
		err = s.mendAll(ctx, []transaction{func(ctx context.Context, tx *sql.Tx, _ *sqlc.Queries) error {
			_, err := tx.ExecContext(ctx, `UPDATE `+p.table+` SET `+p.column+` = `+p.safe+` WHERE `+p.impossible)
			return err
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// idsWhere returns a column of the rows of a table that fulfill a condition.
func (s *core) idsWhere(ctx context.Context, table, id, condition string) (ids []string, err error) {
	rows, err := s.read.QueryContext(ctx, `SELECT CAST(`+id+` AS TEXT) FROM `+table+` WHERE `+condition)
	if err != nil {
		return nil, storeError(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, storeError(err)
		}
		ids = append(ids, strings.ToValidUTF8(id, "�"))
	}
	return ids, storeError(rows.Err())
}
