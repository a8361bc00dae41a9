package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Key returns the event that a source has under key: its first key and its hazard. It returns
// ErrNotFound if the source has not reported it.
func (t *TxEvents) Key(source, key string) (event string, hazardID int64, err error) {
	row, err := t.q.EventKey(t.ctx, sqlc.EventKeyParams{Source: source, Key: key})
	if err != nil {
		return "", 0, found(err, "event %s:%s", source, key)
	}
	return row.Event, row.HazardID, nil
}

// AddKey adds a key of a source's event. A key of another event that has a
// hazard stays that event's.
func (t *TxEvents) AddKey(source, key, event string) error {
	return t.q.AddEventKey(t.ctx, sqlc.AddEventKeyParams{Source: source, Key: key, Event: event})
}

// Named is the event with a given name at its source, with its hazard and its duration.
type Named struct {
	Key        string
	HazardID   int64
	Start, End hazard.Instant
}

// Named returns the events that a source has reported under names, by name.
func (t *TxEvents) Named(source string, names []string) (map[string]Named, error) {
	return named(t.ctx, t.tx, t.store, source, names)
}

// Named returns the events that a source has reported under names, by name.
func (s *Reports) Named(ctx context.Context, source string, names []string) (map[string]Named, error) {
	found, err := named(ctx, s.reads, s.store, source, names)
	return found, storeError(err)
}

func named(ctx context.Context, d sqlc.DBTX, s *Store, source string, names []string) (map[string]Named, error) {
	found := map[string]Named{}
	if len(names) == 0 {
		return found, nil
	}
	rows, err := d.QueryContext(ctx, `SELECT k.key, e.event, e.hazard_id, e.start_ms, e.end_ms FROM event_keys k
		JOIN events e ON e.source = k.source AND e.event = k.event WHERE `+s.database.listed("k.key", 1)+` AND k.source = $2`, s.database.names(names), source)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var e Named
		if err := rows.Scan(&name, &e.Key, &e.HazardID, &e.Start, &e.End); err != nil {
			return nil, err
		}
		found[name] = e
	}
	return found, rows.Err()
}

// Used returns which of the names of events of a source are used, by the source itself, also with the
// suffix, or by others. Events need not have them any more.
func (s *Reports) Used(ctx context.Context, source string, names []string, suffix string) (map[string]bool, error) {
	used := map[string]bool{}
	if len(names) == 0 {
		return used, nil
	}
	rows, err := s.reads.QueryContext(ctx, `SELECT n.value FROM `+s.database.list(1)+` WHERE EXISTS (SELECT 1 FROM event_keys k WHERE k.source = $2 AND k.key IN (n.value, n.value || $3))
		OR EXISTS (SELECT 1 FROM event_refs r WHERE r.ref = $2 || ':' || n.value)`, s.database.names(names), source, suffix)
	if err != nil {
		return nil, storeError(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, storeError(err)
		}
		used[name] = true
	}
	return used, storeError(rows.Err())
}

// Newest returns the greatest version of what a source has reported of an event, or 0 if there is
// nothing.
func (t *TxEvents) Newest(source, event string) (int64, error) {
	return newest(t.ctx, t.tx, source, event)
}

// Newest returns the greatest version of what a source has reported of an event, or 0 if there is
// nothing.
func (s *Reports) Newest(ctx context.Context, source, event string) (int64, error) {
	version, err := newest(ctx, s.reads, source, event)
	return version, storeError(err)
}

func newest(ctx context.Context, d sqlc.DBTX, source, event string) (version int64, err error) {
	err = d.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM reports WHERE source = $1 AND event = $2`, source, event).Scan(&version)
	return version, err
}

// Event is one event of one source: its hazard, and what is compared with events of other sources.
type Event struct {
	Source, Key string // Key is its first key
	HazardID    int64
	Type        hazard.Type
	Start, End  hazard.Instant
	Point       *hazard.Point
	Called      string
	Joined      string // why it is part of that hazard; empty if it created it
	// Shapes are the source's shapes, one per part. TxEvents.Save does not change them; see TxEvents.SaveShapes.
	Shapes []hazard.ShapesRef
}

// Save stores an event.
func (t *TxEvents) Save(e *Event) error {
	p := sqlc.SaveEventParams{Source: e.Source, Event: e.Key, HazardID: e.HazardID, TypeID: string(e.Type), StartMs: int64(e.Start), EndMs: int64(e.End),
		Called: e.Called, Joined: e.Joined, Placed: e.Point != nil}
	if e.Point != nil {
		p.Lon, p.Lat = e.Point.Lon, e.Point.Lat
	}
	t.wrote(inEvents, e.Source, e.Key)
	return t.q.SaveEvent(t.ctx, p)
}

// SaveShapes stores references to an event's shapes. Hazards.KeepShapes must have stored the shapes
// themselves before.
func (t *TxEvents) SaveShapes(name EventName, refs []hazard.ShapesRef) error {
	text, err := json.Marshal(refs)
	if err != nil {
		return err
	}
	if len(refs) == 0 {
		text = nil
	}
	return t.q.SetShapes(t.ctx, sqlc.SetShapesParams{Source: name.Source, Event: name.Key, Shapes: string(text)})
}

// Find reads an event, and reports whether it exists.
func (t *TxEvents) Find(name EventName) (Event, bool, error) {
	if t.lacks(inEvents, name.Source, name.Key) {
		return Event{}, false, nil
	}
	row, err := t.q.EventOf(t.ctx, sqlc.EventOfParams{Source: name.Source, Event: name.Key})
	if none(err) {
		return Event{}, false, nil
	}
	list, err := decodeEvents([]sqlc.Event{row}, err)
	if err != nil {
		return Event{}, false, err
	}
	return list[0], true, nil
}

// Rename makes event to replace event from, with all its keys.
func (t *TxEvents) Rename(source, from, to string) error {
	if err := t.q.RenameEvent(t.ctx, sqlc.RenameEventParams{Source: source, FromEvent: from, ToEvent: to}); err != nil {
		return err
	}
	return t.Drop(source, from)
}

// Drop forgets an event that has no hazard. Its reports stay.
func (t *TxEvents) Drop(source, event string) error {
	return t.q.DropEvent(t.ctx, sqlc.DropEventParams{Source: source, Event: event})
}

// Of lists the events of a hazard.
func (t *TxEvents) Of(hazardID int64) ([]Event, error) {
	rows, err := t.q.EventsOfHazard(t.ctx, hazardID)
	return decodeEvents(rows, err)
}

// Starting lists the events of a type that began within a period, including its limits.
func (t *TxEvents) Starting(typ hazard.Type, from, to hazard.Instant) ([]Event, error) {
	return eventsStarting(t.ctx, t.q, typ, from, to)
}

// EventsStarting does the same as TxEvents.Starting.
func (s *Reports) EventsStarting(ctx context.Context, typ hazard.Type, from, to hazard.Instant) ([]Event, error) {
	events, err := eventsStarting(ctx, s.readQ, typ, from, to)
	return events, storeError(err)
}

func eventsStarting(ctx context.Context, q *sqlc.Queries, typ hazard.Type, from, to hazard.Instant) ([]Event, error) {
	rows, err := q.EventsStarting(ctx, sqlc.EventsStartingParams{TypeID: string(typ), FromMs: int64(from), ToMs: int64(to)})
	return decodeEvents(rows, err)
}

// Near lists the events of a type that began within a period, including its limits, in a
// small box, by start, without those of one source.
func (t *TxEvents) Near(typ hazard.Type, from, to hazard.Instant, within geo.Box, without string) ([]Event, error) {
	parts := []geo.Box{within}
	if within.West > within.East { // it crosses the antimeridian
		parts = []geo.Box{{West: within.West, South: within.South, East: 180, North: within.North},
			{West: -180, South: within.South, East: within.East, North: within.North}}
	}
	var all []sqlc.Event
	// Rows are selected four at a time, so that it does not matter how the database rounds.
	for row := math.Floor(within.South * 10); row <= math.Ceil(within.North*10); row += 4 {
		for _, b := range parts {
			rows, err := t.q.EventsNear(t.ctx, sqlc.EventsNearParams{TypeID: string(typ), FromMs: int64(from), ToMs: int64(to),
				Row1: row, Row2: row + 1, Row3: row + 2, Row4: row + 3, South: b.South, North: b.North, West: b.West, East: b.East, Without: without})
			if err != nil {
				return nil, err
			}
			all = append(all, rows...)
		}
	}
	slices.SortFunc(all, func(a, b sqlc.Event) int {
		return cmp.Or(cmp.Compare(a.StartMs, b.StartMs), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Event, b.Event))
	})
	return decodeEvents(all, nil)
}

func decodeEvents(rows []sqlc.Event, err error) ([]Event, error) {
	if err != nil {
		return nil, err
	}
	events := make([]Event, len(rows))
	for i, r := range rows {
		events[i] = Event{Source: r.Source, Key: r.Event, HazardID: r.HazardID, Type: hazard.Type(r.TypeID), Start: hazard.Instant(r.StartMs),
			End: hazard.Instant(r.EndMs), Called: r.Called, Joined: r.Joined}
		if r.Shapes != "" {
			if err := json.Unmarshal([]byte(r.Shapes), &events[i].Shapes); err != nil {
				return nil, fmt.Errorf("shapes of event %s:%s: %w", r.Source, r.Event, err)
			}
		}
		if r.Placed {
			events[i].Point = &hazard.Point{Lon: r.Lon, Lat: r.Lat}
		}
	}
	return events, nil
}

// AddRef adds another source's name of an event, as SCHEME:ID.
func (t *TxEvents) AddRef(ref, source, event string) error {
	t.wrote(inRefs, source, event)
	return t.q.AddRef(t.ctx, sqlc.AddRefParams{Ref: ref, Source: source, Event: event})
}

// Refs lists other sources' names of an event, as SCHEME:ID.
func (t *TxEvents) Refs(name EventName) ([]string, error) {
	if t.lacks(inRefs, name.Source, name.Key) {
		return nil, nil
	}
	return t.q.RefsOfEvent(t.ctx, sqlc.RefsOfEventParams{Source: name.Source, Event: name.Key})
}

// Names lists the names under which other sources may know an event, as SCHEME:ID: its Refs, and
// those of its keys that another source has used for an event.
func (t *TxEvents) Names(name EventName) ([]string, error) {
	return t.q.NamesOfEvent(t.ctx, sqlc.NamesOfEventParams{Source: name.Source, Event: name.Key})
}

// RefsOfHazard lists other sources' names of each event of a hazard, as SCHEME:ID.
func (t *TxEvents) RefsOfHazard(id int64) (map[EventName][]string, error) {
	rows, err := t.q.RefsOfHazard(t.ctx, id)
	refs := map[EventName][]string{}
	for _, r := range rows {
		name := EventName{r.Source, r.Event}
		refs[name] = append(refs[name], r.Ref)
	}
	return refs, err
}

// Called lists the events with the name ref, SCHEME:ID, given by any source or by the source of the
// scheme itself.
func (t *TxEvents) Called(ref string) ([]Event, error) { return called(t.ctx, t.q, ref) }

func called(ctx context.Context, q *sqlc.Queries, ref string) ([]Event, error) {
	scheme, id, _ := strings.Cut(ref, ":")
	return decodeEvents(q.EventsCalled(ctx, sqlc.EventsCalledParams{Ref: ref, Scheme: scheme, ID: id}))
}

// Replaced lists the events that an event has replaced, according to their sources.
func (t *TxEvents) Replaced(by EventName) ([]Event, error) {
	return decodeEvents(t.q.EventsReplaced(t.ctx, sqlc.EventsReplacedParams{Source: by.Source, Event: by.Key}))
}

// KnownRefs reports which of refs a source has given to an event.
func (t *TxEvents) KnownRefs(refs []string) (map[string]bool, error) {
	found := map[string]bool{}
	if len(refs) == 0 {
		return found, nil
	}
	rows, err := t.tx.QueryContext(t.ctx, `SELECT DISTINCT ref FROM event_refs WHERE `+t.store.database.listed("ref", 1), t.store.database.names(refs))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var ref string
		if err := rows.Scan(&ref); err != nil {
			return nil, err
		}
		found[ref] = true
	}
	return found, rows.Err()
}

// EventName identifies an event of a source.
type EventName struct{ Source, Key string }

// Name is the event's name.
func (e *Event) Name() EventName { return EventName{e.Source, e.Key} }

// Verdict is a person's decision about two events.
type Verdict string

// The verdicts.
const (
	Apart Verdict = "apart" // different events, whatever their names or a rule say
	One   Verdict = "one"   // the same event
)

// SaveVerdict stores a decision about two events and replaces an earlier one; "" removes it.
func (t *TxEvents) SaveVerdict(a, b EventName, v Verdict) error {
	for _, p := range [][2]EventName{{a, b}, {b, a}} {
		t.wrote(inParted, p[0].Source, p[0].Key)
		if v == "" {
			if err := t.q.DropVerdict(t.ctx, sqlc.DropVerdictParams{Source: p[0].Source, Event: p[0].Key, OtherSource: p[1].Source, OtherEvent: p[1].Key}); err != nil {
				return err
			}
			continue
		}
		if err := t.q.SaveVerdict(t.ctx, sqlc.SaveVerdictParams{Source: p[0].Source, Event: p[0].Key, OtherSource: p[1].Source, OtherEvent: p[1].Key, One: v == One}); err != nil {
			return err
		}
	}
	return nil
}

// Verdicts are decisions about pairs of events. The zero value is empty.
type Verdicts map[EventName]map[EventName]Verdict

// Verdicts lists the decisions about an event and others.
func (t *TxEvents) Verdicts(a EventName) (Verdicts, error) {
	if t.lacks(inParted, a.Source, a.Key) {
		return Verdicts{}, nil
	}
	return decodeVerdicts(t.q.VerdictsOfEvent(t.ctx, sqlc.VerdictsOfEventParams{Source: a.Source, Event: a.Key}))
}

// VerdictsOfHazard lists the decisions about the events of a hazard and others.
func (t *TxEvents) VerdictsOfHazard(id int64) (Verdicts, error) {
	return decodeVerdicts(t.q.VerdictsOfHazard(t.ctx, id))
}

func decodeVerdicts(rows []sqlc.Parted, err error) (Verdicts, error) {
	all := Verdicts{}
	for _, r := range rows {
		a := EventName{r.Source, r.Event}
		if all[a] == nil {
			all[a] = map[EventName]Verdict{}
		}
		v := Apart
		if r.One {
			v = One
		}
		all[a][EventName{r.OtherSource, r.OtherEvent}] = v
	}
	return all, err
}

// Of reads the latest report of each part of an event. A stripped part only has its Part,
// Version, Start and Places, its end, and Begun and Renewed if they were known.
func (t *TxReports) Of(source, event string) ([]hazard.Report, error) {
	if t.lacks(inReports, source, event) {
		return nil, nil
	}
	reports, _, err := readReports(t.ctx, t.q, source, event)
	return reports, err
}

// Said is the origin of a report: its payload, and when it was processed.
type Said struct {
	Payload  string // SHA-256; empty if unknown
	Received hazard.Instant
}

func readReports(ctx context.Context, q *sqlc.Queries, source, event string) ([]hazard.Report, []Said, error) {
	rows, err := q.ReportsOfEvent(ctx, sqlc.ReportsOfEventParams{Source: source, Event: event})
	if err != nil {
		return nil, nil, err
	}
	reports, receipts := make([]hazard.Report, len(rows)), make([]Said, len(rows))
	for i, r := range rows {
		receipts[i] = Said{Payload: r.Payload, Received: hazard.Instant(r.ReceivedMs)}
		if r.Body != "" {
			if reports[i], err = decodeReport(source, event, r.Part, r.Body); err != nil {
				return nil, nil, err
			}
		}
		if had := &reports[i]; had.Name == "" {
			reports[i] = hazard.Report{Source: source, Key: event, Part: r.Part, Version: r.Version, Start: hazard.Instant(r.StartMs), Places: strings.Fields(r.Places),
				Begun: had.Begun, Open: had.Open, End: had.End, Ended: had.Ended, EndedAt: had.EndedAt, Renewed: had.Renewed, Kept: had.Kept}
		}
	}
	return reports, receipts, nil
}

func decodeReport(source, event, part, body string) (r hazard.Report, err error) {
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		return r, fmt.Errorf("stored report %s:%s %s: %w", source, event, part, err)
	}
	return r, nil
}

// Save stores r as the latest report of its part of an event. payload is the SHA-256 of its
// payload; if empty, the earlier one stays.
func (t *TxReports) Save(event string, r *hazard.Report, payload string) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("report %s:%s: %w", r.Source, r.Key, err)
	}
	t.wrote(inReports, r.Source, event)
	return t.q.SaveReport(t.ctx, sqlc.SaveReportParams{Source: r.Source, Event: event, Part: r.Part, Version: r.Version, ReceivedMs: int64(t.self.Now()),
		StartMs: int64(r.Start), Places: strings.Join(r.Places, " "), Body: string(body), Payload: payload})
}

// Strip removes the content of a superseded part, except which places it covered, when it said that
// it began, when it ends, and until when a list named it: a later report of the part that does not
// tell keeps that.
func (t *TxReports) Strip(event string, r *hazard.Report) error {
	left := struct {
		Begun   []hazard.Began   `json:"begun,omitempty"`
		Open    bool             `json:"open,omitzero"`
		End     *hazard.Instant  `json:"end,omitzero"`
		Ended   hazard.EndReason `json:"ended,omitzero"`
		EndedAt *hazard.Instant  `json:"ended_at,omitzero"`
		Renewed *hazard.Instant  `json:"renewed,omitzero"`
		Kept    hazard.Kept      `json:"kept,omitzero"`
	}{Begun: r.Begun, Ended: r.Ended, EndedAt: r.EndedAt, Renewed: r.Renewed, Kept: hazard.Kept{Renewed: r.Kept.Renewed}}
	switch {
	case r.Ended != "":
	case r.Open:
		left.Open = true
	default:
		left.End = new(r.OverAt())
	}
	body, err := json.Marshal(&left)
	if err != nil {
		return fmt.Errorf("report %s:%s: %w", r.Source, r.Key, err)
	}
	return t.q.StripReport(t.ctx, sqlc.StripReportParams{Source: r.Source, Event: event, Part: r.Part, Body: string(body)})
}

// Forget removes a report of which no hazard is made.
func (t *TxReports) Forget(source, event, part string) error {
	return t.q.ForgetReport(t.ctx, sqlc.ForgetReportParams{Source: source, Event: event, Part: part})
}

// Held is a report that is hidden until an editor decides about it.
type Held struct {
	ID       int64
	Reason   string
	Received hazard.Instant
	Report   hazard.Report
	Decision string // empty while undecided, then Released or Dismissed
	// Unread is the error of a damaged row, or nil. Of a damaged report only source, key, part and
	// version are known.
	Unread error
}

// The decisions about a held report.
const (
	Released  = "released"
	Dismissed = "dismissed"
)

// Hold keeps a suspect report, and reports whether it is new. decision is what was decided about the very same report before.
func (t *TxReports) Hold(r *hazard.Report, reason string) (isNew bool, decision string, err error) {
	decision, err = t.q.HeldDecision(t.ctx, sqlc.HeldDecisionParams{Source: r.Source, Event: r.Key, Part: r.Part, Version: r.Version})
	if err == nil || !none(err) {
		return false, decision, err
	}
	id, err := t.number("held")
	if err != nil {
		return false, "", err
	}
	body, err := json.Marshal(r)
	if err != nil {
		return false, "", fmt.Errorf("report %s:%s: %w", r.Source, r.Key, err)
	}
	t.wrote(inHeld, r.Source, r.Key)
	_, err = t.q.Hold(t.ctx, sqlc.HoldParams{ID: id, Source: r.Source, Event: r.Key, Part: r.Part, Version: r.Version, ReceivedMs: int64(t.self.Now()), Reason: reason, Body: seal(id, body)})
	return true, "", err
}

// Prefixes of the reasons for holding that can disappear without an editor.
const (
	NoPlace = "no place" // the place of the report is unknown
	Damaged = "damaged"  // the data that the report concerns is damaged
)

// Placed releases what was held of a part for want of a place.
func (t *TxReports) Placed(source, event, part string) error {
	if t.lacks(inHeld, source, event) {
		return nil
	}
	_, err := t.q.ReleaseHeld(t.ctx, sqlc.ReleaseHeldParams{NowMs: int64(t.self.Now()), Source: source, Event: event, Part: part})
	return err
}

// TakeUp takes a report from those that are held. It is hazard.ErrNotFound if it is no longer there, or was decided about, and a *DamagedError if it cannot be read.
func (t *TxReports) TakeUp(id int64) (*Held, error) {
	row, err := t.q.HeldReport(t.ctx, id)
	if err != nil {
		return nil, found(err, "held report %d", id)
	}
	if n, err := t.q.DropHeld(t.ctx, id); err != nil || n == 0 {
		return nil, cmp.Or(err, hazard.ErrNotFound)
	}
	h := decodeHeld(row)
	return h, h.Unread
}

// Decide records an editor's decision about a held report and returns it. ErrNotFound if there is none of that number,
// ErrConflict if it was decided before. If the report cannot be read, its content is removed.
func (t *TxReports) Decide(id int64, decision string) (*Held, error) {
	row, err := t.q.HeldReport(t.ctx, id)
	if err != nil {
		return nil, found(err, "held report %d", id)
	}
	n, err := t.q.DecideHeld(t.ctx, sqlc.DecideHeldParams{ID: id, Decision: decision, DecidedBy: t.origin.User, DecidedMs: int64(t.self.Now())})
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("%w: held report %d was %s before", hazard.ErrConflict, id, row.Decision)
	}
	h := decodeHeld(row)
	if h.Unread != nil {
		err = t.emptyHeld(id)
	}
	return h, err
}

func decodeHeld(row sqlc.HeldReportRow) *Held {
	h := &Held{ID: row.ID, Reason: row.Reason, Received: hazard.Instant(row.ReceivedMs), Decision: row.Decision}
	if h.Report, h.Unread = heldReport(row.ID, row.Body); h.Unread != nil {
		h.Report = hazard.Report{Source: row.Source, Key: row.Event, Part: row.Part, Version: row.Version}
	}
	return h
}

// heldReport decodes the body of a held report. It returns a *DamagedError if the body is damaged.
func heldReport(id int64, body string) (r hazard.Report, err error) {
	if !sealFits(id, []byte(body)) || json.Unmarshal([]byte(body), &r) != nil {
		return r, &DamagedError{fmt.Sprint(HeldPart, " ", id)}
	}
	return r, nil
}

// EventReports is an event with the latest report of each of its parts.
type EventReports struct {
	Event
	Parts []hazard.Report
	// Said holds the origin of each part.
	Said []Said
}

// EventsJoinedByRule lists at most limit events that a rule has joined to active hazards, by hazard.
func (s *Reports) EventsJoinedByRule(ctx context.Context, limit int32) ([]Event, error) {
	rows, err := s.readQ.EventsJoinedByRule(ctx, limit)
	return decodeEvents(rows, storeError(err))
}

// EventsOf lists the events of a hazard, and the decisions about them.
func (s *Reports) EventsOf(ctx context.Context, hazardID int64) ([]Event, Verdicts, error) {
	events, errE := decodeEvents(s.readQ.EventsOfHazard(ctx, hazardID))
	found, errV := decodeVerdicts(s.readQ.VerdictsOfHazard(ctx, hazardID))
	return events, found, storeError(errors.Join(errE, errV))
}

// Of reads what each source reports about a hazard.
func (s *Reports) Of(ctx context.Context, hazardID int64) ([]EventReports, error) {
	events, err := decodeEvents(s.readQ.EventsOfHazard(ctx, hazardID))
	if err != nil {
		return nil, storeError(err)
	}
	var all []EventReports
	for _, e := range events {
		parts, receipts, err := readReports(ctx, s.readQ, e.Source, e.Key)
		if err != nil {
			return nil, storeError(err)
		}
		if len(parts) > 0 {
			all = append(all, EventReports{e, parts, receipts})
		}
	}
	return all, nil
}

// Called lists the hazards with the identifier ref, SCHEME:ID, by id.
func (s *Hazards) Called(ctx context.Context, ref string) ([]*hazard.Hazard, error) {
	events, err := called(ctx, s.readQ, ref)
	if err != nil {
		return nil, storeError(err)
	}
	var list []*hazard.Hazard
	for _, e := range events {
		if len(list) > 0 && list[len(list)-1].ID == e.HazardID {
			continue
		}
		h, err := s.Get(ctx, e.HazardID)
		if err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	return list, nil
}

// Held lists the held reports of a source that wait for a decision, newest first. Those that cannot be read are among them.
func (s *Reports) Held(ctx context.Context, source string, limit int) ([]*Held, error) {
	rows, err := s.readQ.OpenHeld(ctx, sqlc.OpenHeldParams{Source: source, Limit: int32(limit)})
	if err != nil {
		return nil, storeError(err)
	}
	held := make([]*Held, len(rows))
	for i, r := range rows {
		held[i] = decodeHeld(sqlc.HeldReportRow(r))
	}
	return held, nil
}

// Why says why a report is held, and first that it cannot be read, if so.
func (h *Held) Why() string {
	if h.Unread != nil {
		return fmt.Sprintf("%v. It was held for this: %s", h.Unread, h.Reason)
	}
	return h.Reason
}

// KeptBack lists the reports of all sources that are held because something is damaged, the oldest first. Of each report it has the source and the
// key alone: see TxReports.TakeUp.
func (s *Reports) KeptBack(ctx context.Context) ([]Held, error) {
	rows, err := s.readQ.KeptBack(ctx)
	held := make([]Held, len(rows))
	for i, r := range rows {
		held[i] = Held{ID: r.ID, Report: hazard.Report{Source: r.Source, Key: r.Event}}
	}
	return held, storeError(err)
}

// CountHeld counts the held reports of a source that wait for a decision.
func (s *Reports) CountHeld(ctx context.Context, source string) (int64, error) {
	n, err := s.readQ.CountHeld(ctx, source)
	return n, storeError(err)
}

// SourceError is a rejected record or payload, and how often it occurred.
type SourceError struct {
	ID          int64
	Record      string // the record's name; empty for a whole payload
	Reason      string
	First, Last hazard.Instant
	Times       int64
	Raw         []byte // the record as received, truncated; empty for a whole payload
	// Payload is the SHA-256 of the payload: the rejected one, or the one that held the record;
	// empty if there was none.
	Payload string
}

// keptErrors is how many errors are stored per source: enough to see a pattern, not enough to fill
// a disk.
const keptErrors = 200

// AddErrors stores the newest errors of a source, each kind once.
func (t *TxReports) AddErrors(source string, errs []SourceError) error {
	for _, e := range errs[:min(len(errs), keptErrors)] {
		id, err := t.number("source_error")
		if err != nil {
			return err
		}
		err = t.q.AddSourceError(t.ctx, sqlc.AddSourceErrorParams{ID: id, Source: source, Record: e.Record, Reason: e.Reason, AtMs: int64(t.self.Now()), Raw: append([]byte{}, e.Raw...),
			Payload: e.Payload})
		if err != nil {
			return err
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return t.q.TrimSourceErrors(t.ctx, sqlc.TrimSourceErrorsParams{Source: source, Keep: keptErrors})
}

// Errors lists the stored errors of a source, newest first.
func (s *Sources) Errors(ctx context.Context, source string, limit int) ([]SourceError, error) {
	rows, err := s.readQ.SourceErrors(ctx, sqlc.SourceErrorsParams{Source: source, Limit: int32(limit)})
	if err != nil {
		return nil, storeError(err)
	}
	errs := make([]SourceError, len(rows))
	for i, r := range rows {
		errs[i] = SourceError{ID: r.ID, Record: r.Record, Reason: r.Reason, First: hazard.Instant(r.FirstMs), Last: hazard.Instant(r.LastMs), Times: r.Times, Raw: r.Raw, Payload: r.Payload}
	}
	return errs, nil
}

// ActiveEvent is an event of a source with an active hazard.
type ActiveEvent struct {
	Event    string
	HazardID int64
	Start    hazard.Instant
}

// ActiveEvents lists the events of a source with active hazards.
func (s *Reports) ActiveEvents(ctx context.Context, source string) ([]ActiveEvent, error) {
	rows, err := s.readQ.ActiveEvents(ctx, source)
	if err != nil {
		return nil, storeError(err)
	}
	events := make([]ActiveEvent, len(rows))
	for i, r := range rows {
		events[i] = ActiveEvent{Event: r.Event, HazardID: r.ID, Start: hazard.Instant(r.StartMs)}
	}
	return events, nil
}

// ActivePart is a message of an event of a source with an active hazard.
type ActivePart struct {
	Event, Part string
	Version     int64
}

// ActiveParts lists the messages of the events of a source with active hazards.
func (s *Reports) ActiveParts(ctx context.Context, source string) ([]ActivePart, error) {
	rows, err := s.readQ.ActiveParts(ctx, source)
	if err != nil {
		return nil, storeError(err)
	}
	parts := make([]ActivePart, len(rows))
	for i, r := range rows {
		parts[i] = ActivePart(r)
	}
	return parts, nil
}

// Parts reads the latest report of each part of an event.
func (s *Reports) Parts(ctx context.Context, source, event string) ([]hazard.Report, error) {
	parts, _, err := readReports(ctx, s.readQ, source, event)
	return parts, storeError(err)
}

// States reads the states of all sources by name, as SaveState wrote them.
func (s *Sources) States(ctx context.Context) (map[string][]byte, error) {
	rows, err := s.readQ.SourceStates(ctx)
	if err != nil {
		return nil, storeError(err)
	}
	states := make(map[string][]byte, len(rows))
	for _, r := range rows {
		states[r.Name] = []byte(r.Body)
	}
	return states, nil
}

// Requests reads the states under names with the suffix end, by name.
func (s *Sources) Requests(ctx context.Context, end string) (map[string][]byte, error) {
	rows, err := s.readQ.SourceStatesEnding(ctx, end)
	if err != nil {
		return nil, storeError(err)
	}
	kept := map[string][]byte{}
	for _, r := range rows {
		kept[r.Name] = []byte(r.Body)
	}
	return kept, nil
}

// State reads the state of one source, or nil if there is none.
func (s *Sources) State(ctx context.Context, name string) ([]byte, error) {
	body, err := s.readQ.SourceState(ctx, name)
	if none(err) {
		return nil, nil
	}
	return []byte(body), storeError(err)
}

// SaveState stores the state of a source.
func (s *Sources) SaveState(ctx context.Context, name string, body []byte) error {
	return s.inSmallTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		return q.SaveSourceState(ctx, sqlc.SaveSourceStateParams{Name: name, Body: string(body)})
	})
}

// Place reads the stored shape of a place, the text of a GeoJSON geometry. It returns ErrNotFound
// if it was never fetched.
func (s *Sources) Place(ctx context.Context, source, code string) (string, error) {
	text, err := s.readQ.Place(ctx, sqlc.PlaceParams{Source: source, Code: code})
	if err != nil {
		return "", found(err, "place %s", code)
	}
	return text, nil
}

// SavePlace stores the shape of a place, fetched at now.
func (s *Sources) SavePlace(ctx context.Context, source, code, name, geometry string, now hazard.Instant) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		return q.SavePlace(ctx, sqlc.SavePlaceParams{Source: source, Code: code, Name: name, Geojson: geometry, FetchedMs: int64(now)})
	})
}
