// Package wis2 announces published CAP messages on WIS2, WMO's information system.
//
// A notification is a WIS2 Notification Message 1.0 (WNM), published to a topic of the operator's
// broker over MQTT 5. Each message is announced at least once: its delivery is stored and repeated
// until the broker acknowledges it. Repetitions have the same id, by which readers recognize them.
// Notifications about one hazard are in order. Messages whose hazard has ended by then, and
// messages older than tell.MaxAge, are not announced.
package wis2

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hazardd/hazardd/internal/format/publisher"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/net/outbound"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/store/lease"
	"github.com/hazardd/hazardd/internal/tell"
	"github.com/hazardd/hazardd/internal/tell/publish"
)

// Name is the name of the lease. The deliveries in the store have it in place of a webhook.
const Name = "wis2"

// Broker accepts notifications.
type Broker interface {
	// Publish returns nil when the broker has acknowledged the payload.
	Publish(ctx context.Context, topic string, payload []byte) error
}

// Config configures a Service. All fields are required.
type Config struct {
	Store    *store.Store
	Tail     tell.Log
	Messages *publish.Publisher
	// Number returns the number of the last change that readers of lists see.
	Number  func() int64
	Broker  Broker
	Topic   string // checked by CheckTopic
	Dataset string // metadata_id: the identifier of the dataset's record in the catalogue
	BaseURL string // the service's public address, without a slash at its end
	Now     func() time.Time
	Logger  *slog.Logger
}

// Service announces messages.
type Service struct {
	Config
	over *prometheus.CounterVec
}

// New makes a Service. It starts nothing.
func New(c Config) *Service {
	s := &Service{Config: c, over: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hazardd_wis2_notifications_total",
		Help: "Finished notifications of CAP messages on WIS2: delivered, failed (after all attempts), dropped (the message no longer holds)."}, []string{"state"})}
	for _, state := range []store.DeliveryState{store.Delivered, store.Failed, store.Dropped} {
		s.over.WithLabelValues(string(state))
	}
	return s
}

// Metrics returns the metrics of this process's notifications.
func (s *Service) Metrics() []prometheus.Collector { return []prometheus.Collector{s.over} }

// parallel is how many notifications are sent at once, about different hazards.
const parallel = 4

// backoff tries again every five minutes for three days. Most messages end earlier.
var backoff = tell.Backoff{First: 5 * time.Second, Max: time.Minute,
	Delays: append([]time.Duration{5 * time.Second, time.Minute}, slices.Repeat([]time.Duration{5 * time.Minute}, int(tell.MaxAge/(5*time.Minute)))...)}

// Run announces messages until ctx ends, while no other process does. It returns when every goroutine
// that it started has ended; its error is always nil.
func (s *Service) Run(ctx context.Context) error {
	r := tell.Runner{Name: Name, Store: s.Store.Leases, Log: s.Tail, Now: s.Now, Logger: s.Logger,
		LostLease: "lost the lease to announce CAP messages on WIS2", NotRunning: "CAP messages are not announced on WIS2", Failed: "cannot queue CAP messages for WIS2",
		Any:  func(context.Context) (bool, error) { return true, nil },
		Open: func(ctx context.Context, l *lease.Lease) tell.Queue { return s.queue(ctx, l) }}
	return r.Run(ctx)
}

// queue turns published messages into deliveries.
type queue struct {
	*Service
	lease  tell.Lease
	at     int64          // the last change whose messages have deliveries; -1: not known
	key    string         // of the last view of messages
	queued map[int64]bool // the messages of the last days that have a delivery, by change; nil: not read
	lane   *tell.Lane
}

func (s *Service) queue(ctx context.Context, l tell.Lease) *queue {
	q := &queue{Service: s, lease: l, at: -1}
	q.lane = tell.StartLane(ctx, &sender{Service: s, lease: l}, parallel, &backoff, s.Now)
	return q
}

// Close stops the sender.
func (q *queue) Close() { q.lane.Stop() }

// Reset makes Add look at all messages again.
func (q *queue) Reset() { q.at, q.key, q.queued = -1, "", nil }

// Purge removes the results of deliveries from before a moment.
func (q *queue) Purge(ctx context.Context, before hazard.Instant) error {
	return q.Store.Webhooks.PurgeDeliveries(ctx, before)
}

// Refresh returns the change from which to go on.
func (q *queue) Refresh(context.Context) (from int64, any bool, err error) {
	if q.at < 0 {
		q.at = q.Number()
	}
	return q.at, true, nil
}

// Add adds deliveries for the messages that have none. A change of an organization's profile
// publishes messages too, so it looks at all messages that are young enough.
func (q *queue) Add(ctx context.Context, _ []*follow.Entry, upTo int64) error {
	view, err := q.Messages.At(ctx, upTo)
	if err != nil {
		return err
	}
	now := hazard.At(q.Now())
	oldest := now.Add(-tell.MaxAge)
	if view.Key != q.key {
		if err := q.readQueued(ctx, oldest); err != nil {
			return err
		}
		var list []store.Delivery
		for _, m := range view.Messages {
			if m.Sent >= oldest && !q.queued[m.Number] && q.announced(m.Status) {
				list = append(list, store.Delivery{Webhook: Name, HazardID: m.Hazard, Change: m.Number})
			}
		}
		if !q.lease.Valid() {
			return tell.ErrNoLease
		}
		if len(list) > 0 {
			if err := q.Store.Webhooks.AddDeliveries(ctx, list, nil, now); err != nil {
				return err
			}
		}
		for _, d := range list {
			q.queued[d.Change] = true
		}
		q.key = view.Key
		q.lane.Wake()
	}
	q.at = upTo
	return nil
}

// announced reports whether messages of a status are announced. Tests and exercises stay off the
// topics of real data; a centre of WMO's test domain announces everything.
func (s *Service) announced(status publisher.Status) bool {
	return status == publisher.Actual || strings.HasPrefix(s.Topic, origin+"test-")
}

// pageOfDeliveries is how many deliveries are read at once.
const pageOfDeliveries = 500

// readQueued reads which messages since oldest have deliveries.
func (q *queue) readQueued(ctx context.Context, oldest hazard.Instant) error {
	if q.queued != nil {
		return nil
	}
	queued := map[int64]bool{}
	for before := int64(0); ; {
		page, err := q.Store.Webhooks.Deliveries(ctx, Name, before, "", pageOfDeliveries)
		if err != nil {
			return err
		}
		for _, d := range page {
			queued[d.Change] = true
			before = d.ID
		}
		if len(page) < pageOfDeliveries || page[len(page)-1].Created < oldest { // a delivery is made after its message
			q.queued = queued
			return nil
		}
	}
}

// sender sends the notifications.
type sender struct {
	*Service
	lease tell.Lease
}

// job is a delivery and the result of an attempt.
type job struct {
	store.Delivery
	refused error // the broker did not accept it
	err     error // our own error: nothing was sent, or the result was not stored
}

// Key returns the hazard: its messages are announced one after the other.
func (j *job) Key() int64 { return j.HazardID }

// Prepare returns deliveries that are due.
func (s *sender) Prepare(ctx context.Context, _ *tell.Health, free int, busy map[int64]bool) (jobs []*job, again time.Time) {
	due, again, err := tell.Due(ctx, s.Store.Webhooks, Name, s.Now(), free, busy)
	if err != nil && ctx.Err() == nil {
		s.Logger.Warn("the notifications for WIS2 cannot be read", "error", err)
	}
	for _, d := range due {
		jobs = append(jobs, &job{Delivery: d})
	}
	return jobs, again
}

// Send makes one attempt and stores the result.
func (s *sender) Send(ctx context.Context, j *job) { j.err = s.attempt(ctx, j) }

func (s *sender) attempt(ctx context.Context, j *job) error {
	began := s.Now()
	payload, err := s.notification(ctx, j.Change, began)
	if err == nil && payload == nil {
		j.State, j.Last = store.Dropped, hazard.At(began)
		return s.save(ctx, j.Delivery)
	}
	if !s.lease.Valid() {
		return tell.ErrNoLease
	}
	if err == nil {
		attempt, cancel := context.WithTimeout(ctx, outbound.AttemptTimeout)
		err = s.Broker.Publish(attempt, s.Topic, payload)
		cancel()
		j.refused = err
	}
	if ctx.Err() != nil { // it may have arrived; it is sent again
		return ctx.Err()
	}
	now := hazard.At(s.Now())
	j.Attempts, j.Last, j.Took = j.Attempts+1, now, s.Now().Sub(began).Milliseconds()
	if j.First == 0 {
		j.First = hazard.At(began)
	}
	wait, more := backoff.Retry(j.Attempts, 0)
	switch {
	case err == nil:
		j.State, j.Error = store.Delivered, ""
	case more:
		j.Next, j.Error = now.Add(wait), outbound.FaultOf(err)
	default:
		j.State, j.Error = store.Failed, outbound.FaultOf(err)
		s.Logger.Error("a CAP message could not be announced on WIS2", "change", j.Change, "attempts", j.Attempts, "error", err)
	}
	if j.refused == nil && err != nil { // the message itself cannot be read
		return errors.Join(err, s.save(ctx, j.Delivery))
	}
	return s.save(ctx, j.Delivery)
}

func (s *sender) save(ctx context.Context, d store.Delivery) error {
	if !s.lease.Valid() {
		return tell.ErrNoLease
	}
	if err := s.Store.Webhooks.SaveDeliveries(context.WithoutCancel(ctx), []store.Delivery{d}); err != nil {
		return err
	}
	if d.State != store.Pending {
		s.over.WithLabelValues(string(d.State)).Inc()
	}
	return nil
}

// Finish updates the broker's state after attempts.
func (s *sender) Finish(ctx context.Context, h *tell.Health, jobs []*job) {
	for _, j := range jobs {
		switch {
		case j.err != nil:
			if ctx.Err() == nil {
				s.Logger.Warn("a CAP message cannot be announced on WIS2; trying again", "change", j.Change, "error", j.err)
			}
			h.Pause(s.Now().Add(tell.LookEvery))
		case j.refused != nil:
			if !h.Failing() {
				s.Logger.Warn("the WIS2 broker does not accept notifications; trying again", "error", j.refused)
			}
			h.Fail(s.Now())
		case j.State == store.Delivered:
			if h.Failing() {
				s.Logger.Info("the WIS2 broker accepts notifications again")
			}
			h.Succeeded()
		}
	}
}

// Release has nothing to do: the deliveries still wait in the store.
func (s *sender) Release(context.Context, []*job) {}
