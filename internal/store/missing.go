package store

import (
	"strings"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// missing is what is known not to be in the store, nor written by the transaction so far. Nobody else
// writes meanwhile.
type missing struct {
	rows  map[missingRow]bool
	uuids map[uuid.UUID]bool // of no hazard
}

// missingRow stands for all rows about an event in a table.
type missingRow struct {
	table string
	event EventName
}

// The tables with rows about events, of which a transaction knows what is missing.
const (
	inEvents  = "events"
	inReports = "reports"
	inRefs    = "event_refs"
	inParted  = "parted"
	inHeld    = "held"
)

var aboutEvents = []string{inEvents, inReports, inRefs, inParted, inHeld}

// Expect says that the transaction is going to ask for events of a source that are probably new. It
// finds out in two queries what is not there, so that their look-ups need none: most of the work with
// a new event was to learn of each table that it has nothing.
func (t *TxEvents) Expect(source string, events []string) error {
	if len(events) < 2 {
		return nil
	}
	rows, ids, byID := map[missingRow]bool{}, map[uuid.UUID]bool{}, make([]string, len(events))
	for i, e := range events {
		for _, table := range aboutEvents {
			rows[missingRow{table, EventName{source, e}}] = true
		}
		id := hazard.EventUUID(source, e)
		ids[id], byID[i] = true, id.String()
	}
	var parts []string
	for _, table := range aboutEvents {
		parts = append(parts, `SELECT '`+table+`', event FROM `+table+` WHERE `+t.store.database.listed("event", 1)+` AND source = $2`)
	}
	err := t.each(func(table, event string) { delete(rows, missingRow{table, EventName{source, event}}) },
		strings.Join(parts, " UNION ALL "), t.store.database.names(events), source)
	if err != nil {
		return err
	}
	err = t.each(func(id, _ string) { delete(ids, uuid.MustParse(id)) }, `SELECT uuid, '' FROM hazards WHERE `+t.store.database.listed("uuid", 1), t.store.database.names(byID))
	if err != nil {
		return err
	}
	t.missing = missing{rows, ids}
	return nil
}

// each calls found with the two texts of each row of a query.
func (t *txn) each(found func(a, b string), query string, args ...any) error {
	rows, err := t.tx.QueryContext(t.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var a, b string
		if err := rows.Scan(&a, &b); err != nil {
			return err
		}
		found(a, b)
	}
	return rows.Err()
}

// lacks reports whether a table surely has nothing about an event.
func (t *txn) lacks(table, source, event string) bool {
	return t.missing.rows[missingRow{table, EventName{source, event}}]
}

// wrote notes that a table may have something about an event now.
func (t *txn) wrote(table, source, event string) {
	delete(t.missing.rows, missingRow{table, EventName{source, event}})
}
