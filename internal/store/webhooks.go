package store

import (
	"context"
	"database/sql"
	"math"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Webhook is a stored webhook.
type Webhook struct {
	ID    string
	Owner string // username
	Told  int64  // deliveries exist for every matching change up to this number
	Body  []byte // everything else
}

// DeliveryState is the state of a delivery.
type DeliveryState string

// The states of a delivery.
const (
	Pending   DeliveryState = "pending"
	Delivered DeliveryState = "delivered"
	Failed    DeliveryState = "failed"  // given up
	Dropped   DeliveryState = "dropped" // there was nothing left to send
)

// Delivery is a message about one change to a webhook, and its result.
type Delivery struct {
	ID        int64
	Webhook   string
	HazardID  int64
	ProductID int64 // 0 for the hazard itself
	Change    int64
	Left      bool // with this change the hazard no longer matches the filter
	State     DeliveryState
	Created   hazard.Instant
	Attempts  int
	First     hazard.Instant // time of the first attempt; 0 before it
	Next      hazard.Instant // earliest time of the next attempt
	Last      hazard.Instant // time of the last attempt
	Took      int64          // duration of the last attempt in milliseconds
	Status    int            // HTTP status of the last response; 0 if none
	Error     string         // kind of the last error
	Message   string         // id of the last message
}

// List lists all webhooks, by id.
func (s *Webhooks) List(ctx context.Context) ([]Webhook, error) {
	rows, err := s.readQ.Webhooks(ctx)
	list := make([]Webhook, len(rows))
	for i, r := range rows {
		list[i] = Webhook{r.ID, r.Owner, r.ToldN, []byte(r.Body)}
	}
	return list, storeError(err)
}

// Get returns the webhook with that id, or ErrNotFound.
func (s *Webhooks) Get(ctx context.Context, id string) (Webhook, error) {
	return webhook(ctx, s.readQ, id)
}

func webhook(ctx context.Context, q *sqlc.Queries, id string) (Webhook, error) {
	r, err := q.Webhook(ctx, id)
	if err != nil {
		return Webhook{}, found(err, "webhook %s", id)
	}
	return Webhook{r.ID, r.Owner, r.ToldN, []byte(r.Body)}, nil
}

// Version increases with every change of a webhook and every requested redelivery.
func (s *Webhooks) Version(ctx context.Context) (int64, error) {
	n, err := s.readQ.Counter(ctx, "webhook")
	return n, storeError(err)
}

// changeWebhook runs f in one transaction, increments the version, and adds the audit row.
func (s *core) changeWebhook(ctx context.Context, audit *auth.Audit, f func(context.Context, *sqlc.Queries) error) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		if _, err := q.Next(ctx, sqlc.NextParams{Name: "webhook", Count: 1}); err != nil {
			return err
		}
		if err := f(ctx, q); err != nil {
			return err
		}
		return addAudit(ctx, q, audit)
	})
}

// Add adds a webhook for changes from now on.
func (s *Webhooks) Add(ctx context.Context, w Webhook, audit auth.Audit) error {
	return s.changeWebhook(ctx, &audit, func(ctx context.Context, q *sqlc.Queries) error {
		last, err := q.Counter(ctx, "change")
		if err != nil {
			return err
		}
		return q.AddWebhook(ctx, sqlc.AddWebhookParams{ID: w.ID, Owner: w.Owner, ToldN: last, Body: string(w.Body)})
	})
}

// Update lets f change a stored webhook. retry restarts all waiting deliveries at now.
func (s *Webhooks) Update(ctx context.Context, id string, now hazard.Instant, audit auth.Audit, f func(Webhook) (body []byte, retry bool, err error)) error {
	return s.changeWebhook(ctx, &audit, func(ctx context.Context, q *sqlc.Queries) error {
		w, err := webhook(ctx, q, id)
		if err != nil {
			return err
		}
		body, retry, err := f(w)
		if err != nil {
			return err
		}
		if retry {
			if err := q.RetryDeliveries(ctx, sqlc.RetryDeliveriesParams{Webhook: id, NowMs: int64(now)}); err != nil {
				return err
			}
		}
		return q.SaveWebhook(ctx, sqlc.SaveWebhookParams{ID: id, Body: string(body)})
	})
}

// Drop removes a webhook and its deliveries, or returns ErrNotFound.
func (s *Webhooks) Drop(ctx context.Context, id string, audit auth.Audit) error {
	return s.changeWebhook(ctx, &audit, func(ctx context.Context, q *sqlc.Queries) error {
		n, err := q.DropWebhook(ctx, id)
		if err == nil && n == 0 {
			return hazard.ErrNotFound
		}
		if err != nil {
			return err
		}
		return q.DropDeliveriesOf(ctx, id)
	})
}

// AddDeliveries adds the deliveries of changes, and records for each webhook up to which change
// they are complete.
func (s *Webhooks) AddDeliveries(ctx context.Context, list []Delivery, upTo map[string]int64, now hazard.Instant) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		for _, d := range list {
			if _, err := addDelivery(ctx, q, d, now); err != nil {
				return err
			}
		}
		for id, n := range upTo {
			if err := q.SaveTold(ctx, sqlc.SaveToldParams{ID: id, ToldN: n}); err != nil {
				return err
			}
		}
		return nil
	})
}

func addDelivery(ctx context.Context, q *sqlc.Queries, d Delivery, now hazard.Instant) (int64, error) {
	id, err := q.Next(ctx, sqlc.NextParams{Name: "delivery", Count: 1})
	if err != nil {
		return 0, err
	}
	return id, q.AddDelivery(ctx, sqlc.AddDeliveryParams{ID: id, Webhook: d.Webhook, HazardID: d.HazardID, ProductID: d.ProductID, N: d.Change, Gone: d.Left, NowMs: int64(now)})
}

// Redeliver adds a copy of a finished delivery, or returns ErrNotFound.
func (s *Webhooks) Redeliver(ctx context.Context, webhook string, id int64, now hazard.Instant, audit auth.Audit) (d Delivery, err error) {
	err = s.changeWebhook(ctx, &audit, func(ctx context.Context, q *sqlc.Queries) error {
		row, err := q.Delivery(ctx, sqlc.DeliveryParams{Webhook: webhook, ID: id})
		if err != nil {
			return found(err, "delivery %d", id)
		}
		if id, err = addDelivery(ctx, q, decodeDelivery(row), now); err != nil {
			return err
		}
		row, err = q.Delivery(ctx, sqlc.DeliveryParams{Webhook: webhook, ID: id})
		d = decodeDelivery(row)
		return err
	})
	return d, err
}

// DueDeliveries lists at most limit due deliveries of a webhook. For each hazard it lists only the
// first waiting one, so that deliveries keep their order.
func (s *Webhooks) DueDeliveries(ctx context.Context, webhook string, now hazard.Instant, limit int) ([]Delivery, error) {
	rows, err := s.readQ.DueDeliveries(ctx, sqlc.DueDeliveriesParams{Webhook: webhook, NowMs: int64(now), MaxRows: int32(limit)})
	return decodeDeliveries(rows), storeError(err)
}

// NextDelivery returns when the next delivery of a webhook becomes due after now, and whether there
// is one.
func (s *Webhooks) NextDelivery(ctx context.Context, webhook string, now hazard.Instant) (hazard.Instant, bool, error) {
	next, err := s.readQ.NextDelivery(ctx, sqlc.NextDeliveryParams{Webhook: webhook, NowMs: int64(now)})
	if none(err) {
		return 0, false, nil
	}
	return hazard.Instant(next), err == nil, storeError(err)
}

// WaitingWith lists the waiting deliveries about the same hazard or product as d, from d on, for
// changes up to upTo.
func (s *Webhooks) WaitingWith(ctx context.Context, d Delivery, upTo int64) ([]Delivery, error) {
	rows, err := s.readQ.WaitingTogether(ctx, sqlc.WaitingTogetherParams{Webhook: d.Webhook, HazardID: d.HazardID, ProductID: d.ProductID, ID: d.ID, UpTo: upTo})
	return decodeDeliveries(rows), storeError(err)
}

// SaveDeliveries stores the results of deliveries.
func (s *Webhooks) SaveDeliveries(ctx context.Context, list []Delivery) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		for _, d := range list {
			err := q.SaveDelivery(ctx, sqlc.SaveDeliveryParams{ID: d.ID, State: string(d.State), Attempts: int64(d.Attempts), FirstMs: int64(d.First), NextMs: int64(d.Next),
				LastMs: int64(d.Last), TookMs: d.Took, Status: int64(d.Status), Error: d.Error, Message: d.Message})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Deliveries lists at most limit deliveries of a webhook, latest first, with numbers below before
// (0 means all) and in a state (empty means any).
func (s *Webhooks) Deliveries(ctx context.Context, webhook string, before int64, state DeliveryState, limit int) ([]Delivery, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	rows, err := s.readQ.DeliveriesBefore(ctx, sqlc.DeliveriesBeforeParams{Webhook: webhook, Before: before, State: string(state), MaxRows: int32(limit)})
	return decodeDeliveries(rows), storeError(err)
}

// Pending counts the waiting deliveries of a webhook.
func (s *Webhooks) Pending(ctx context.Context, webhook string) (int64, error) {
	n, err := s.readQ.CountPending(ctx, webhook)
	return n, storeError(err)
}

// AllPending counts the waiting deliveries of all webhooks.
func (s *Webhooks) AllPending(ctx context.Context) (int64, error) {
	n, err := s.readQ.CountAllPending(ctx)
	return n, storeError(err)
}

// DeliveredSince reports whether anything was delivered to a webhook since a moment.
func (s *Webhooks) DeliveredSince(ctx context.Context, webhook string, since hazard.Instant) (bool, error) {
	n, err := s.readQ.DeliveredSince(ctx, sqlc.DeliveredSinceParams{Webhook: webhook, SinceMs: int64(since)})
	return n > 0, storeError(err)
}

// PurgeDeliveries removes finished deliveries older than before.
func (s *Webhooks) PurgeDeliveries(ctx context.Context, before hazard.Instant) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		return q.PurgeDeliveries(ctx, int64(before))
	})
}

func decodeDeliveries(rows []sqlc.Delivery) []Delivery {
	list := make([]Delivery, len(rows))
	for i, r := range rows {
		list[i] = decodeDelivery(r)
	}
	return list
}

func decodeDelivery(r sqlc.Delivery) Delivery {
	return Delivery{ID: r.ID, Webhook: r.Webhook, HazardID: r.HazardID, ProductID: r.ProductID, Change: r.N, Left: r.Gone, State: DeliveryState(r.State),
		Created: hazard.Instant(r.CreatedMs), Attempts: int(r.Attempts), First: hazard.Instant(r.FirstMs), Next: hazard.Instant(r.NextMs), Last: hazard.Instant(r.LastMs),
		Took: r.TookMs, Status: int(r.Status), Error: r.Error, Message: r.Message}
}
