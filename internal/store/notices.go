package store

import (
	"context"
	"database/sql"
	"math"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Subscription is a stored subscription.
type Subscription struct {
	ID      string
	Owner   string // username; empty for people without an account
	Since   int64  // only later changes are sent
	Version int64  // increases with each change of any subscription
	Removed bool   // removed; all other fields are empty
	Body    []byte // everything except the addresses
	Sealed  string // the addresses, encrypted
}

// NoticeState is the state of a notice.
type NoticeState string

// The states of a notice.
const (
	NoticePending NoticeState = "pending"
	NoticeSending NoticeState = "sending" // the content is fixed; whether it has arrived is unknown
	NoticeSent    NoticeState = "sent"
	NoticeFailed  NoticeState = "failed"
	NoticeDropped NoticeState = "dropped" // there was nothing left to send
)

// waits reports whether the notice still needs work.
func (s NoticeState) waits() bool { return s == NoticePending || s == NoticeSending }

// Notice is a message about one hazard over one channel of a subscription, and its result.
type Notice struct {
	ID           int64
	Subscription string
	Channel      string
	Lane         string
	HazardID     int64 // 0 without a hazard; DraftsNotice and OutcomesNotice for drafts
	FirstChange  int64
	Change       int64          // the latest included change; once sending has begun, the change in the message
	Since        hazard.Instant // time of the first change
	State        NoticeState
	Created      hazard.Instant
	Attempts     int
	First        hazard.Instant // time of the first attempt; 0 before it
	Next         hazard.Instant // earliest time of the next attempt
	Last         hazard.Instant // time of the last attempt
	Took         int64          // duration of the last attempt in milliseconds
	Kind         string
	Error        string
	Message      string // id of the message
	Said         []byte // content of the message
	Text         string // the message in plain text
}

// The HazardIDs of notices of drafts. Which drafts a message lists is decided when it is sent.
const (
	DraftsNotice   = -1 // drafts wait for a second person
	OutcomesNotice = -2 // drafts of the reader were decided, or lapsed
)

// Told is what a subscriber has been sent about a hazard.
type Told struct {
	Subscription string
	Channel      string
	HazardID     int64
	Change       int64
	First, At    hazard.Instant // times of the first and the last message
	Gone         bool           // the end was sent
	Said         []byte
}

// Mailbox is a channel of a subscription.
type Mailbox struct{ Subscription, Channel string }

// After lists the subscriptions changed after a version, including removed ones, in
// order of their changes.
func (s *Subscriptions) After(ctx context.Context, version int64, limit int) ([]Subscription, error) {
	rows, err := s.readQ.SubscriptionsAfter(ctx, sqlc.SubscriptionsAfterParams{After: version, MaxRows: int32(limit)})
	return decodeSubscriptions(rows), storeError(err)
}

// Of lists at most limit subscriptions of owner, by id, beginning after the id after. With all it lists
// those of all users.
func (s *Subscriptions) Of(ctx context.Context, owner string, all bool, after string, limit int) (list []Subscription, err error) {
	var rows []sqlc.Subscription
	if all {
		rows, err = s.readQ.AllSubscriptions(ctx, sqlc.AllSubscriptionsParams{After: after, MaxRows: int32(limit)})
	} else {
		rows, err = s.readQ.SubscriptionsOf(ctx, sqlc.SubscriptionsOfParams{Owner: owner, After: after, MaxRows: int32(limit)})
	}
	return decodeSubscriptions(rows), storeError(err)
}

// Get returns the subscription with that id, or ErrNotFound.
func (s *Subscriptions) Get(ctx context.Context, id string) (Subscription, error) {
	return subscription(ctx, s.readQ, id)
}

func subscription(ctx context.Context, q *sqlc.Queries, id string) (Subscription, error) {
	row, err := q.Subscription(ctx, id)
	if err != nil {
		return Subscription{}, found(err, "subscription %s", id)
	}
	return decodeSubscription(row), nil
}

// CountOf counts the subscriptions of a user.
func (s *Subscriptions) CountOf(ctx context.Context, owner string) (int64, error) {
	n, err := s.readQ.CountSubscriptionsOf(ctx, owner)
	return n, storeError(err)
}

// Count counts all subscriptions and waiting notices.
func (s *Subscriptions) Count(ctx context.Context) (subscriptions, waiting int64, err error) {
	if subscriptions, err = s.readQ.CountSubscriptions(ctx); err == nil {
		waiting, err = s.readQ.CountWaitingNotices(ctx)
	}
	return subscriptions, waiting, storeError(err)
}

// Any reports whether there is a subscription.
func (s *Subscriptions) Any(ctx context.Context) (bool, error) {
	any, err := s.readQ.AnySubscription(ctx)
	return any, storeError(err)
}

// Version increases with every change of a subscription.
func (s *Subscriptions) Version(ctx context.Context) (int64, error) {
	n, err := s.readQ.Counter(ctx, "subscription")
	return n, storeError(err)
}

// Noticed returns the change up to which notices have been created.
func (s *Notices) Noticed(ctx context.Context) (int64, error) {
	n, err := s.readQ.Counter(ctx, "noticed")
	return n, storeError(err)
}

// changeSubscription runs f in one transaction. f gets the version of the change. An audit row is
// added if there is one.
func (s *core) changeSubscription(ctx context.Context, audit *auth.Audit, f func(ctx context.Context, q *sqlc.Queries, version int64) error) error {
	return s.changeSubscriptions(ctx, 1, audit, f)
}

// changeSubscriptions does the same as changeSubscription for several changes; f gets the last of
// their versions.
func (s *core) changeSubscriptions(ctx context.Context, several int, audit *auth.Audit, f func(ctx context.Context, q *sqlc.Queries, last int64) error) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		version, err := q.Next(ctx, sqlc.NextParams{Name: "subscription", Count: int64(several)})
		if err != nil {
			return err
		}
		if err := f(ctx, q, version); err != nil || audit == nil {
			return err
		}
		return addAudit(ctx, q, audit)
	})
}

// Add adds subscriptions to changes from now on, and notices that concern no hazard:
// all of it or nothing. Other writers wait for it.
func (s *Subscriptions) Add(ctx context.Context, list []Subscription, confirm []Notice, audit *auth.Audit) error {
	return s.changeSubscriptions(ctx, len(list), audit, func(ctx context.Context, q *sqlc.Queries, version int64) error {
		last, err := q.Counter(ctx, "change")
		if err != nil {
			return err
		}
		for i, sub := range list {
			err = q.AddSubscription(ctx, sqlc.AddSubscriptionParams{ID: sub.ID, Owner: sub.Owner, SinceN: last, Version: version - int64(len(list)-1-i), Body: string(sub.Body), Sealed: sub.Sealed})
			if err != nil {
				return err
			}
		}
		return addNotices(ctx, q, confirm)
	})
}

// Update lets f change a stored subscription. f also returns notices to add, and
// channels whose waiting notices are dropped, with the reasons.
func (s *Subscriptions) Update(ctx context.Context, id string, audit *auth.Audit, f func(*Subscription) (confirm []Notice, dropped map[string]string, err error)) error {
	return s.changeSubscription(ctx, audit, func(ctx context.Context, q *sqlc.Queries, version int64) error {
		sub, err := subscription(ctx, q, id)
		if err != nil {
			return err
		}
		confirm, dropped, err := f(&sub)
		if err != nil {
			return err
		}
		for channel, why := range dropped {
			if err := q.DropWaiting(ctx, sqlc.DropWaitingParams{Subscription: id, Channel: channel, Error: why}); err != nil {
				return err
			}
		}
		if err := q.SaveSubscription(ctx, sqlc.SaveSubscriptionParams{ID: id, Owner: sub.Owner, Version: version, Body: string(sub.Body), Sealed: sub.Sealed}); err != nil {
			return err
		}
		return addNotices(ctx, q, confirm)
	})
}

// Drop removes a subscription with its addresses, message history and waiting notices,
// or returns ErrNotFound.
func (s *Subscriptions) Drop(ctx context.Context, id string, audit *auth.Audit) error {
	return s.changeSubscription(ctx, audit, func(ctx context.Context, q *sqlc.Queries, version int64) error {
		n, err := q.RemoveSubscription(ctx, sqlc.RemoveSubscriptionParams{ID: id, Version: version})
		if err == nil && n == 0 {
			return hazard.ErrNotFound
		}
		if err == nil {
			err = q.DropNoticesOf(ctx, id)
		}
		if err == nil {
			err = q.DropToldOf(ctx, id)
		}
		return err
	})
}

// Add adds the notices of changes. noticed, if not 0, is the change up to which they are
// complete.
func (s *Notices) Add(ctx context.Context, list []Notice, noticed int64) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		if err := addNotices(ctx, q, list); err != nil || noticed == 0 {
			return err
		}
		return q.RaiseCounter(ctx, sqlc.RaiseCounterParams{Name: "noticed", Value: noticed})
	})
}

func addNotices(ctx context.Context, q *sqlc.Queries, list []Notice) error {
	if len(list) == 0 {
		return nil
	}
	last, err := q.Next(ctx, sqlc.NextParams{Name: "notice", Count: int64(len(list))})
	if err != nil {
		return err
	}
	for i, n := range list {
		err := q.AddNotice(ctx, sqlc.AddNoticeParams{ID: last - int64(len(list)) + int64(i) + 1, Subscription: n.Subscription, Channel: n.Channel, Lane: n.Lane, HazardID: n.HazardID,
			N: n.Change, SinceMs: int64(n.Since), NowMs: int64(n.Created)})
		if err != nil {
			return err
		}
	}
	return nil
}

// LaneState summarizes what waits in a lane.
type LaneState struct {
	Lane     string
	Waiting  int64
	Oldest   hazard.Instant // waiting since
	Attempts int            // largest number of attempts
}

// WaitingByLane summarizes what waits in each lane.
func (s *Notices) WaitingByLane(ctx context.Context) ([]LaneState, error) {
	rows, err := s.readQ.WaitingByLane(ctx)
	list := make([]LaneState, len(rows))
	for i, r := range rows {
		list[i] = LaneState{r.Lane, r.Waiting, hazard.Instant(r.OldestMs), int(r.Attempts)}
	}
	return list, storeError(err)
}

// Outcome summarizes the results of a lane's notices.
type Outcome struct {
	Lane     string
	State    NoticeState
	Notices  int64
	Sum, Max int64 // milliseconds from the change to the last attempt
}

// Outcomes summarizes the results of notices since a moment, by lane and state.
func (s *Notices) Outcomes(ctx context.Context, since hazard.Instant) ([]Outcome, error) {
	rows, err := s.readQ.OutcomesByLane(ctx, int64(since))
	list := make([]Outcome, len(rows))
	for i, r := range rows {
		list[i] = Outcome{r.Lane, NoticeState(r.State), r.Notices, r.SumMs, r.MaxMs}
	}
	return list, storeError(err)
}

// DueMailboxes lists mailboxes of a lane with due notices, longest due first, once for each of at
// most limit notices.
func (s *Notices) DueMailboxes(ctx context.Context, lane string, now hazard.Instant, limit int) ([]Mailbox, error) {
	rows, err := s.readQ.NoticesDue(ctx, sqlc.NoticesDueParams{Lane: lane, NowMs: int64(now), MaxRows: int32(limit)})
	list := make([]Mailbox, len(rows))
	for i, r := range rows {
		list[i] = Mailbox(r)
	}
	return list, storeError(err)
}

// WaitingOfHazard lists the waiting notices about a hazard, with only subscription, channel and
// lane.
func (s *Notices) WaitingOfHazard(ctx context.Context, hazardID int64) ([]Notice, error) {
	rows, err := s.readQ.NoticesOfHazard(ctx, hazardID)
	list := make([]Notice, len(rows))
	for i, r := range rows {
		list[i] = Notice{Subscription: r.Subscription, Channel: r.Channel, Lane: r.Lane, HazardID: hazardID}
	}
	return list, storeError(err)
}

// Next returns when the next notice of a lane becomes due after now, and whether there is
// one.
func (s *Notices) Next(ctx context.Context, lane string, now hazard.Instant) (hazard.Instant, bool, error) {
	next, err := s.readQ.NextNotice(ctx, sqlc.NextNoticeParams{Lane: lane, NowMs: int64(now)})
	if none(err) {
		return 0, false, nil
	}
	return hazard.Instant(next), err == nil, storeError(err)
}

// Lanes lists the lanes with waiting notices.
func (s *Notices) Lanes(ctx context.Context) ([]string, error) {
	lanes, err := s.readQ.NoticeLanes(ctx)
	return lanes, storeError(err)
}

// Waiting lists at most limit waiting notices of a mailbox, in order.
func (s *Notices) Waiting(ctx context.Context, m Mailbox, limit int) ([]Notice, error) {
	rows, err := s.readQ.NoticesWaiting(ctx, sqlc.NoticesWaitingParams{Subscription: m.Subscription, Channel: m.Channel, MaxRows: int32(limit)})
	return decodeNotices(rows), storeError(err)
}

// NoticeUpdate changes a notice, unless it was changed since it was read.
type NoticeUpdate struct{ Before, After Notice }

// NoticesDone holds the results of messages.
type NoticesDone struct {
	Updates []NoticeUpdate
	Told    []Told
	// Postponed holds the mailboxes to which nothing is sent before a moment.
	Postponed map[Mailbox]hazard.Instant
}

// Save writes decisions about notices, or the results of messages. It skips a notice that
// was changed since it was read; with exact it then writes nothing and returns ErrStale.
func (s *Notices) Save(ctx context.Context, done NoticesDone, exact bool) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		for _, u := range done.Updates {
			altered, err := saveNotice(ctx, q, u)
			if err != nil {
				return err
			}
			if !altered && exact {
				return hazard.ErrStale
			}
		}
		for _, t := range done.Told {
			if err := saveTold(ctx, q, t); err != nil {
				return err
			}
		}
		for m, at := range done.Postponed {
			if err := q.PostponeNotices(ctx, sqlc.PostponeNoticesParams{Subscription: m.Subscription, Channel: m.Channel, NextMs: int64(at)}); err != nil {
				return err
			}
		}
		return nil
	})
}

func saveTold(ctx context.Context, q *sqlc.Queries, t Told) error {
	return q.SaveKnown(ctx, sqlc.SaveKnownParams{Subscription: t.Subscription, Channel: t.Channel, HazardID: t.HazardID, N: t.Change, AtMs: int64(t.At), Gone: t.Gone, Said: string(t.Said)})
}

func saveNotice(ctx context.Context, q *sqlc.Queries, u NoticeUpdate) (altered bool, err error) {
	b, a := &u.Before, u.After
	if b.State == NoticeSending && a.State == NoticePending {
		_, err := q.PendingNotice(ctx, sqlc.PendingNoticeParams{Subscription: b.Subscription, Channel: b.Channel, HazardID: b.HazardID})
		if err == nil {
			a.State, a.Error = NoticeDropped, "what waits behind it tells the same"
		} else if !none(err) {
			return false, err
		}
	}
	n, err := q.ClaimNotice(ctx, sqlc.ClaimNoticeParams{ID: a.ID, State: string(a.State), Waits: a.State.waits(), N: a.Change, NextMs: int64(a.Next), Attempts: int64(a.Attempts),
		FirstMs: int64(a.First), LastMs: int64(a.Last), TookMs: a.Took, Kind: a.Kind, Error: a.Error, Message: a.Message, Said: string(a.Said), Text: a.Text,
		StateBefore: string(b.State), NBefore: b.Change})
	return n == 1, err
}

// Before lists at most limit notices of a subscription with numbers below before (0 means
// all), latest first.
func (s *Notices) Before(ctx context.Context, subscription string, before int64, limit int) ([]Notice, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	rows, err := s.readQ.NoticesBefore(ctx, sqlc.NoticesBeforeParams{Subscription: subscription, Before: before, MaxRows: int32(limit)})
	return decodeNotices(rows), storeError(err)
}

// WaitingOf counts the waiting notices of a subscription.
func (s *Notices) WaitingOf(ctx context.Context, subscription string) (int64, error) {
	n, err := s.readQ.CountWaitingNoticesOf(ctx, subscription)
	return n, storeError(err)
}

// SentSince reports whether anything was delivered to a mailbox since a moment.
func (s *Notices) SentSince(ctx context.Context, m Mailbox, since hazard.Instant) (bool, error) {
	n, err := s.readQ.SentSince(ctx, sqlc.SentSinceParams{Subscription: m.Subscription, Channel: m.Channel, SinceMs: int64(since)})
	return n > 0, storeError(err)
}

// Told returns what a mailbox was sent about a hazard, and whether there was anything.
func (s *Notices) Told(ctx context.Context, m Mailbox, hazardID int64) (Told, bool, error) {
	row, err := s.readQ.Told(ctx, sqlc.ToldParams{Subscription: m.Subscription, Channel: m.Channel, HazardID: hazardID})
	if none(err) {
		return Told{}, false, nil
	}
	return decodeTold(row), err == nil, storeError(err)
}

// ToldOf lists who was sent something about a hazard.
func (s *Notices) ToldOf(ctx context.Context, hazardID int64) ([]Told, error) {
	rows, err := s.readQ.ToldOf(ctx, hazardID)
	list := make([]Told, len(rows))
	for i, r := range rows {
		list[i] = decodeTold(r)
	}
	return list, storeError(err)
}

// ToldLast lists the hazards of which a subscription was told, by channel, but for those that are over and
// whose end it was sent. Of parts of others, it lists all.
func (s *Notices) ToldLast(ctx context.Context, subscription string) (list []Told, err error) {
	rows, err := s.reads.QueryContext(ctx, `SELECT channel, hazard_id, n FROM told WHERE subscription = $1
		AND (NOT gone OR EXISTS (SELECT 1 FROM hazards h WHERE h.id = told.hazard_id AND h.status = 'A') OR hazard_id IN (SELECT from_id FROM merges))
		ORDER BY channel, hazard_id`, subscription)
	if err != nil {
		return nil, storeError(err)
	}
	defer rows.Close()
	for rows.Next() {
		t := Told{Subscription: subscription}
		if err := rows.Scan(&t.Channel, &t.HazardID, &t.Change); err != nil {
			return nil, storeError(err)
		}
		list = append(list, t)
	}
	return list, storeError(rows.Err())
}

// AskShare is a share of the confirmations that may be sent, with a name for people.
type AskShare struct {
	Name, Key string
	Limit     int64
}

// MayAsk returns "" if a confirmation may be sent, and records that it is. Otherwise it returns the
// name of a share that has been used up since a moment.
func (s *Notices) MayAsk(ctx context.Context, shares []AskShare, since, now hazard.Instant) (full string, err error) {
	err = s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		full = ""
		for _, share := range shares {
			n, err := q.CountConfirmations(ctx, sqlc.CountConfirmationsParams{Address: share.Key, SinceMs: int64(since)})
			if err != nil {
				return err
			}
			if n >= share.Limit {
				full = share.Name
				return nil
			}
		}
		for _, share := range shares {
			id, err := q.Next(ctx, sqlc.NextParams{Name: "confirmation", Count: 1})
			if err == nil {
				err = q.AddConfirmation(ctx, sqlc.AddConfirmationParams{ID: id, Address: share.Key, AtMs: int64(now)})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return full, err
}

// keptVersions is for how many changes of subscriptions the rows of removed ones are kept. Nodes
// that are farther behind read everything again.
const keptVersions = 10_000

// Purge removes finished notices older than before.
func (s *Notices) Purge(ctx context.Context, before hazard.Instant) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		version, err := q.Counter(ctx, "subscription")
		if err == nil {
			err = q.PurgeSubscriptions(ctx, version-keptVersions)
		}
		if err == nil {
			err = q.PurgeNotices(ctx, int64(before))
		}
		if err == nil {
			err = q.PurgeTold(ctx, int64(before))
		}
		if err == nil {
			err = q.PurgeConfirmations(ctx, int64(before))
		}
		return err
	})
}

func decodeSubscriptions(rows []sqlc.Subscription) []Subscription {
	list := make([]Subscription, len(rows))
	for i, r := range rows {
		list[i] = decodeSubscription(r)
	}
	return list
}

func decodeSubscription(r sqlc.Subscription) Subscription {
	return Subscription{ID: r.ID, Owner: r.Owner, Since: r.SinceN, Version: r.Version, Removed: r.Removed, Body: []byte(r.Body), Sealed: r.Sealed}
}

func decodeNotices(rows []sqlc.Notice) []Notice {
	list := make([]Notice, len(rows))
	for i, r := range rows {
		list[i] = Notice{ID: r.ID, Subscription: r.Subscription, Channel: r.Channel, Lane: r.Lane, HazardID: r.HazardID, FirstChange: r.FirstN, Change: r.N, Since: hazard.Instant(r.SinceMs),
			State: NoticeState(r.State), Created: hazard.Instant(r.CreatedMs), Attempts: int(r.Attempts), First: hazard.Instant(r.FirstMs), Next: hazard.Instant(r.NextMs),
			Last: hazard.Instant(r.LastMs), Took: r.TookMs, Kind: r.Kind, Error: r.Error, Message: r.Message, Said: []byte(r.Said), Text: r.Text}
	}
	return list
}

func decodeTold(r sqlc.Told) Told {
	return Told{Subscription: r.Subscription, Channel: r.Channel, HazardID: r.HazardID, Change: r.N, First: hazard.Instant(r.FirstMs), At: hazard.Instant(r.AtMs), Gone: r.Gone, Said: []byte(r.Said)}
}
