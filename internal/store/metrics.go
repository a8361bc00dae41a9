package store

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/hazardd/hazardd/internal/hazard"
)

// measures holds a process's counters of its writes.
type measures struct {
	seconds prometheus.Histogram
	refused *prometheus.CounterVec
}

func newMeasures() *measures {
	m := &measures{
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hazardd_store_write_seconds", Buckets: []float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10},
			Help: "How long write transactions that were committed took, with the wait for other writers, of all nodes."}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hazardd_store_writes_refused_total",
			Help: "Refused write transactions: unavailable (unreachable, locked, broken), busy (too many waiting), full (no disk space)."}, []string{"reason"}),
	}
	for _, reason := range []string{unavailable, busy, full} {
		m.refused.WithLabelValues(reason)
	}
	return m
}

// The reasons for refused writes.
const (
	unavailable = "unavailable"
	busy        = "busy"
	full        = "full"
)

// wrote counts a write transaction. One that its caller canceled counts neither as committed nor as
// refused.
func (m *measures) wrote(err error, took time.Duration) {
	switch {
	case err == nil:
		m.seconds.Observe(took.Seconds())
	case errors.Is(err, hazard.ErrFull):
		m.refused.WithLabelValues(full).Inc()
	case errors.Is(err, errBusy):
		m.refused.WithLabelValues(busy).Inc()
	case errors.Is(err, hazard.ErrUnavailable):
		m.refused.WithLabelValues(unavailable).Inc()
	}
}

// Metrics returns metrics of this process that need no query.
func (s *Store) Metrics() []prometheus.Collector {
	list := []prometheus.Collector{s.measures.seconds, s.measures.refused, collectors.NewDBStatsCollector(s.write, "write"), collectors.NewDBStatsCollector(s.read, "read"),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "hazardd_store_away", Help: "1 while the database does not answer this node, otherwise 0. Always 0 for a file."}, func() float64 {
			if s.Away() {
				return 1
			}
			return 0
		})}
	list = append(list, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "hazardd_store_full",
		Help: "1 while writes fail because the disk is full, else 0."}, func() float64 {
		if s.Full() {
			return 1
		}
		return 0
	}))
	if s.probes != s.read {
		list = append(list, collectors.NewDBStatsCollector(s.probes, "ask"))
	}
	return list
}
