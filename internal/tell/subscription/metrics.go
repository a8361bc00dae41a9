package subscription

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hazardd/hazardd/internal/tell/channel"
)

// measures holds a process's counters of sent messages.
type measures struct {
	sent    *prometheus.CounterVec
	queued  *prometheus.CounterVec
	delay   *prometheus.HistogramVec
	matched prometheus.Histogram
}

// The results of an attempt.
const (
	resultSent    = "sent"
	resultFailed  = "failed"  // will be retried
	resultGivenUp = "givenup" // will not be retried
)

var kinds = []string{channel.Email, channel.WebPush, channel.HTTP}

func newMeasures() *measures {
	m := &measures{
		queued: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hazardd_notices_queued_total", Help: "Notices that this node has queued for subscribers, by channel."}, []string{"channel"}),
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hazardd_notices_attempts_total",
			Help: "Attempts of this node to send a message to a subscriber: sent, failed (to be tried again), or givenup."}, []string{"channel", "result"}),
		delay: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "hazardd_notice_delay_seconds", Help: "From the commit of a change until a subscriber's server had the message.",
			Buckets: []float64{0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 300, 3600, 86400}}, []string{"channel"}),
		matched: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hazardd_notice_match_seconds", Help: "How long it took to find the subscriptions that a change concerns.",
			Buckets: []float64{0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 5}}),
	}
	for _, kind := range kinds {
		m.queued.WithLabelValues(kind)
		m.delay.WithLabelValues(kind)
		for _, result := range []string{resultSent, resultFailed, resultGivenUp} {
			m.sent.WithLabelValues(kind, result)
		}
	}
	return m
}

// Metrics returns the metrics of this process.
func (s *Service) Metrics() []prometheus.Collector {
	return []prometheus.Collector{s.measures.queued, s.measures.sent, s.measures.delay, s.measures.matched}
}

// Count reports the present numbers: subscriptions, waiting notices by kind of channel and, on the
// node that notifies subscribers, channels by kind and status.
func (s *Service) Count(ctx context.Context, subscriptions func(n float64), waiting func(n float64, channel string), channels func(n float64, channel, status string)) error {
	n, _, err := s.Store.Subscriptions.Count(ctx)
	if err != nil {
		return err
	}
	subscriptions(float64(n))
	lanes, err := s.Store.Notices.WaitingByLane(ctx)
	if err != nil {
		return err
	}
	wait := map[string]int64{}
	for _, l := range lanes {
		wait[kindOf(l.Lane)] += l.Waiting
	}
	tally := s.tally.Load()
	for _, kind := range kinds {
		waiting(float64(wait[kind]), kind)
		if tally == nil || !s.leads() {
			continue
		}
		for _, status := range []string{string(Active), statusPaused, string(Unconfirmed), string(Suspended)} {
			channels(float64((*tally)[channelStatus{kind, status}]), kind, status)
		}
	}
	return nil
}
