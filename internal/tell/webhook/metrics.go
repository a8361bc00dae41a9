package webhook

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hazardd/hazardd/internal/store"
)

// measures holds a process's counters of deliveries.
type measures struct {
	over     *prometheus.CounterVec
	attempts *prometheus.CounterVec
	seconds  prometheus.Histogram
}

// The results of an attempt.
const (
	accepted = "ok"
	refused  = "failed"
)

func newMeasures() *measures {
	m := &measures{
		over: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hazardd_webhook_deliveries_total",
			Help: "Finished deliveries of this node: delivered, failed (after all attempts), dropped (nothing left to send)."}, []string{"state"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hazardd_webhook_attempts_total",
			Help: "Messages that this node has sent to webhooks: ok, or failed, to be sent again."}, []string{"result"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hazardd_webhook_attempt_seconds", Help: "How long receivers took to answer, or to fail.",
			Buckets: []float64{0.01, 0.05, 0.25, 1, 5, 20}}),
	}
	for _, state := range []store.DeliveryState{store.Delivered, store.Failed, store.Dropped} {
		m.over.WithLabelValues(string(state))
	}
	for _, result := range []string{accepted, refused} {
		m.attempts.WithLabelValues(result)
	}
	return m
}

func (m *measures) attempt(failed bool, took time.Duration) {
	result := accepted
	if failed {
		result = refused
	}
	m.attempts.WithLabelValues(result).Inc()
	m.seconds.Observe(took.Seconds())
}

// done counts the finished deliveries in list.
func (m *measures) done(list []store.Delivery) {
	for _, d := range list {
		if d.State != store.Pending {
			m.over.WithLabelValues(string(d.State)).Inc()
		}
	}
}

// Metrics returns the metrics of this process's deliveries.
func (s *Service) Metrics() []prometheus.Collector {
	return []prometheus.Collector{s.measures.over, s.measures.attempts, s.measures.seconds}
}

// Count counts the webhooks of all owners by their status, and the deliveries that wait.
func (s *Service) Count(ctx context.Context) (byStatus map[Status]int, pending int64, err error) {
	all, err := s.Store.Webhooks.List(ctx)
	if err != nil {
		return nil, 0, err
	}
	byStatus = map[Status]int{Active: 0, Paused: 0, Disabled: 0}
	for _, w := range all {
		var k struct {
			Status Status `json:"status"`
		}
		if err := json.Unmarshal(w.Body, &k); err != nil {
			return nil, 0, err
		}
		byStatus[k.Status]++
	}
	pending, err = s.Store.Webhooks.AllPending(ctx)
	return byStatus, pending, err
}
