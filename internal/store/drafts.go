package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// DraftState is the state of a draft.
type DraftState string

// The stored states of a draft. A waiting draft past its time can no longer be decided.
const (
	DraftWaiting  DraftState = "waiting"
	DraftApproved DraftState = "approved"
	DraftRefused  DraftState = "refused"
)

// Draft is an editor's change that waits, or waited, for a second person.
type Draft struct {
	ID        uuid.UUID
	Deed      string // kind of the change, for package edit
	Subject   string // subject of the change
	Body      []byte // the request
	Touched   string // the states that it changes
	Hazard    uuid.UUID
	OrgID     int64  // the organization that owns the hazard
	Shown     []byte // the resulting hazard, and whom it reaches
	Author    string
	Created   hazard.Instant
	Expires   hazard.Instant // after this time it cannot be decided
	State     DraftState
	DecidedBy string
	Decided   hazard.Instant
	Reason    string
}

// Add adds a draft and an audit row, unless the draft exists already. If limit drafts of the
// author wait, it returns ErrConflict.
func (s *Drafts) Add(ctx context.Context, d *Draft, limit int64, audit *auth.Audit) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		n, err := q.AddDraft(ctx, sqlc.AddDraftParams{ID: d.ID.String(), Deed: d.Deed, Subject: d.Subject, Body: string(d.Body), Touched: d.Touched, Hazard: d.Hazard.String(), OrgID: d.OrgID,
			Shown: string(d.Shown), Author: d.Author, CreatedMs: int64(d.Created), ExpiresMs: int64(d.Expires)})
		if err != nil || n == 0 {
			return err
		}
		waiting, err := q.CountDraftsOf(ctx, sqlc.CountDraftsOfParams{Author: d.Author, NowMs: int64(d.Created)})
		if err != nil {
			return err
		}
		if waiting > limit {
			return fmt.Errorf("%w: %d drafts of %s wait for a second person, the most that may; have some approved or refused", hazard.ErrConflict, limit, d.Author)
		}
		if err := q.ForgetDraftMarks(ctx, d.ID.String()); err != nil { // of one that lapsed
			return err
		}
		return addAudit(ctx, q, audit)
	})
}

// Get returns the draft with that id, or ErrNotFound.
func (s *Drafts) Get(ctx context.Context, id uuid.UUID) (Draft, error) {
	row, err := s.readQ.Draft(ctx, id.String())
	if err != nil {
		return Draft{}, found(err, "draft %s", id)
	}
	return decodeDraft(row)
}

// DraftPlace is a place in the list of drafts, which has the latest first. The zero place is before all.
type DraftPlace struct {
	Created hazard.Instant
	ID      uuid.UUID
}

// List lists the drafts after a place, latest first. If waiting, it lists those that can be decided.
func (s *Drafts) List(ctx context.Context, waiting bool, after DraftPlace, now hazard.Instant, limit int) ([]Draft, error) {
	before := sqlc.DraftsBeforeParams{BeforeMs: int64(after.Created), BeforeID: after.ID.String(), MaxRows: int32(limit)}
	if after == (DraftPlace{}) {
		before.BeforeMs = math.MaxInt64
	}
	if !waiting {
		rows, err := s.readQ.DraftsBefore(ctx, before)
		return decodeDrafts(rows, err)
	}
	rows, err := s.readQ.WaitingDraftsBefore(ctx, sqlc.WaitingDraftsBeforeParams{NowMs: int64(now), BeforeMs: before.BeforeMs, BeforeID: before.BeforeID, MaxRows: before.MaxRows})
	return decodeDrafts(rows, err)
}

// DraftCount is how many drafts of an author wait about hazards of an organization.
type DraftCount struct {
	OrgID  int64
	Author string
	N      int64
	Oldest hazard.Instant // when the oldest was written
}

// CountBy counts the drafts that can be decided, by organization and author.
func (s *Drafts) CountBy(ctx context.Context, now hazard.Instant) ([]DraftCount, error) {
	rows, err := s.readQ.CountWaitingDraftsBy(ctx, int64(now))
	list := make([]DraftCount, len(rows))
	for i, r := range rows {
		list[i] = DraftCount{OrgID: r.OrgID, Author: r.Author, N: r.N, Oldest: hazard.Instant(r.OldestMs)}
	}
	return list, storeError(err)
}

// MarkKind says what happened to a draft besides its decision.
type MarkKind string

// The kinds of marks.
const (
	DraftSeen     MarkKind = "seen"     // somebody who may decide has read it; the first time counts
	DraftReminded MarkKind = "reminded" // its author reminded others of it; the last time counts
	DraftTold     MarkKind = "told"     // those who may decide were told of it; the last time counts
	DraftLapsing  MarkKind = "lapsing"  // people were told that its time is nearly over
	DraftOutcome  MarkKind = "outcome"  // its author was told the result
)

// DraftMark is what happened to a draft.
type DraftMark struct {
	Kind MarkKind
	Who  string
	At   hazard.Instant
}

// Mark records what happened to a draft, once for each person. It reports whether that is new.
func (s *Drafts) Mark(ctx context.Context, id uuid.UUID, m DraftMark) (isNew bool, err error) {
	err = s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		n, err := q.MarkDraft(ctx, sqlc.MarkDraftParams{Draft: id.String(), Kind: string(m.Kind), Who: m.Who, AtMs: int64(m.At)})
		isNew = n > 0
		return err
	})
	return isNew, err
}

// MarkAgain does the same as Mark, again if the last time is not later than notAfter.
func (s *Drafts) MarkAgain(ctx context.Context, id uuid.UUID, m DraftMark, notAfter hazard.Instant) (isNew bool, err error) {
	err = s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		n, err := q.MarkDraftAgain(ctx, sqlc.MarkDraftAgainParams{Draft: id.String(), Kind: string(m.Kind), Who: m.Who, AtMs: int64(m.At), NotAfterMs: int64(notAfter)})
		isNew = n > 0
		return err
	})
	return isNew, err
}

// Marks returns what happened to a draft, in order of time.
func (s *Drafts) Marks(ctx context.Context, id uuid.UUID) ([]DraftMark, error) {
	rows, err := s.readQ.DraftMarks(ctx, id.String())
	list := make([]DraftMark, len(rows))
	for i, r := range rows {
		list[i] = DraftMark{Kind: MarkKind(r.Kind), Who: r.Who, At: hazard.Instant(r.AtMs)}
	}
	return list, storeError(err)
}

// OldestWaiting returns when the oldest draft that can be decided was made; any is false if there is
// none.
func (s *Drafts) OldestWaiting(ctx context.Context, now hazard.Instant) (made hazard.Instant, any bool, err error) {
	var ms sql.NullInt64
	err = s.reads.QueryRowContext(ctx, `SELECT min(created_ms) FROM drafts WHERE state = 'waiting' AND expires_ms > $1`, int64(now)).Scan(&ms)
	return hazard.Instant(ms.Int64), ms.Valid, storeError(err)
}

// CountWaiting counts the drafts that can be decided.
func (s *Drafts) CountWaiting(ctx context.Context, now hazard.Instant) (int64, error) {
	n, err := s.readQ.CountWaitingDrafts(ctx, int64(now))
	return n, storeError(err)
}

// Show replaces what is shown of a draft that waits.
func (s *Drafts) Show(ctx context.Context, id uuid.UUID, shown []byte) error {
	return s.inTx(ctx, func(ctx context.Context, tx *sql.Tx, _ *sqlc.Queries) error {
		_, err := tx.ExecContext(ctx, `UPDATE drafts SET shown = $1 WHERE id = $2 AND state = 'waiting'`, string(shown), id.String())
		return err
	})
}

// MarkedDraft is a draft, and when people were told of it, by its marks; 0: not.
type MarkedDraft struct {
	Draft
	Told, Reminded, Lapsing, Outcome hazard.Instant
}

// ToTell lists the drafts that can be decided with their marks, the oldest first.
func (s *Drafts) ToTell(ctx context.Context, now hazard.Instant) ([]MarkedDraft, error) {
	return s.marked(ctx, `d.state = 'waiting' AND d.expires_ms > $1`, int64(now))
}

// Ended lists the drafts that somebody other than their authors decided about after a time, or that lapsed
// after it, with their marks, the oldest first.
func (s *Drafts) Ended(ctx context.Context, after, now hazard.Instant) ([]MarkedDraft, error) {
	return s.marked(ctx, `d.state <> 'waiting' AND d.decided_by <> d.author AND d.decided_ms > $1 OR d.state = 'waiting' AND d.expires_ms > $1 AND d.expires_ms <= $2`, int64(after), int64(now))
}

// marked lists drafts without their requests.
func (s *Drafts) marked(ctx context.Context, where string, args ...any) (list []MarkedDraft, err error) {
	rows, err := s.reads.QueryContext(ctx, `SELECT d.id, d.org_id, d.author, d.shown, d.created_ms, d.expires_ms, d.state, d.decided_by, d.reason,
	coalesce(max(CASE WHEN m.kind = 'told' THEN m.at_ms END), 0), coalesce(max(CASE WHEN m.kind = 'reminded' THEN m.at_ms END), 0),
	coalesce(max(CASE WHEN m.kind = 'lapsing' THEN m.at_ms END), 0), coalesce(max(CASE WHEN m.kind = 'outcome' THEN m.at_ms END), 0)
FROM drafts d LEFT JOIN draft_marks m ON m.draft = d.id WHERE `+where+` GROUP BY d.id ORDER BY d.created_ms, d.id`, args...)
	if err != nil {
		return nil, storeError(err)
	}
	defer rows.Close()
	for rows.Next() {
		var d MarkedDraft
		var id, shown string
		if err := rows.Scan(&id, &d.OrgID, &d.Author, &shown, &d.Created, &d.Expires, &d.State, &d.DecidedBy, &d.Reason, &d.Told, &d.Reminded, &d.Lapsing, &d.Outcome); err != nil {
			return nil, storeError(err)
		}
		if d.ID, err = uuid.Parse(id); err != nil {
			return nil, fmt.Errorf("stored draft %s: %w", id, err)
		}
		d.Shown = []byte(shown)
		list = append(list, d)
	}
	return list, storeError(rows.Err())
}

// Tell records what people are told of a draft now, with the notices of it.
func (s *Notices) Tell(ctx context.Context, draft uuid.UUID, kinds []MarkKind, list []Notice, now hazard.Instant) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		for _, kind := range kinds {
			if _, err := q.MarkDraftAgain(ctx, sqlc.MarkDraftAgainParams{Draft: draft.String(), Kind: string(kind), AtMs: int64(now), NotAfterMs: int64(now)}); err != nil {
				return err
			}
		}
		return addNotices(ctx, q, list)
	})
}

// Refuse refuses a draft, or returns ErrConflict if it can no longer be decided.
func (s *Drafts) Refuse(ctx context.Context, id uuid.UUID, by, reason string, now hazard.Instant, audit *auth.Audit) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		if err := decideDraft(ctx, q, id, DraftRefused, by, reason, now); err != nil {
			return err
		}
		return addAudit(ctx, q, audit)
	})
}

// Purge removes the drafts created before a moment.
func (s *Drafts) Purge(ctx context.Context, before hazard.Instant) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		if err := q.PurgeDrafts(ctx, int64(before)); err != nil {
			return err
		}
		return q.PurgeDraftMarks(ctx)
	})
}

// ApproveDraft marks a draft as approved in this transaction, or returns ErrConflict if it can no
// longer be decided.
func (t *Tx) ApproveDraft(d *Draft) error {
	now := t.Now()
	if err := decideDraft(t.ctx, t.q, d.ID, DraftApproved, t.origin.User, "", now); err != nil {
		return err
	}
	return t.addAudit(sqlc.AddAuditParams{AtMs: int64(now), Actor: t.origin.User, Addr: t.origin.Addr, Action: "draft.approve",
		Subject: "draft " + d.ID.String(), Detail: "of " + d.Author})
}

func decideDraft(ctx context.Context, q *sqlc.Queries, id uuid.UUID, state DraftState, by, reason string, now hazard.Instant) error {
	n, err := q.DecideDraft(ctx, sqlc.DecideDraftParams{ID: id.String(), State: string(state), DecidedBy: by, DecidedMs: int64(now), Reason: reason})
	if err == nil && n == 0 {
		return fmt.Errorf("%w: draft %s was decided before, or its time is over", hazard.ErrConflict, id)
	}
	return err
}

func decodeDrafts(rows []sqlc.Draft, err error) ([]Draft, error) {
	if err != nil {
		return nil, storeError(err)
	}
	list := make([]Draft, len(rows))
	for i, row := range rows {
		if list[i], err = decodeDraft(row); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func decodeDraft(r sqlc.Draft) (d Draft, err error) {
	d = Draft{Deed: r.Deed, Subject: r.Subject, Body: []byte(r.Body), Touched: r.Touched, OrgID: r.OrgID, Shown: []byte(r.Shown), Author: r.Author, Created: hazard.Instant(r.CreatedMs),
		Expires: hazard.Instant(r.ExpiresMs), State: DraftState(r.State), DecidedBy: r.DecidedBy, Decided: hazard.Instant(r.DecidedMs), Reason: r.Reason}
	if d.ID, err = uuid.Parse(r.ID); err == nil {
		d.Hazard, err = uuid.Parse(r.Hazard)
	}
	if err != nil {
		return d, fmt.Errorf("stored draft %s: %w", r.ID, err)
	}
	return d, nil
}
