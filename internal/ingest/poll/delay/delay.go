// Package delay measures how late reports reach readers: by source, in two stages, on this node
// only.
//
// It keeps a histogram of about 300 bytes for each source and stage. It is safe for concurrent use.
package delay

import (
	"sync"
	"sync/atomic"
	"time"
)

// Stage is a part of the way of a report.
type Stage string

// The stages.
const (
	// Committed: from when the source issued the report until it was committed.
	Committed Stage = "committed"
	// Sent: from when a change was committed until it was written to an event stream, once for each stream.
	Sent Stage = "sent"
)

// Stages are all stages, in the order of the way.
var Stages = []Stage{Committed, Sent}

// Buckets are the upper bounds of the buckets of histograms, in seconds: from what a stream takes to what a feed that is read each
// hour takes.
var Buckets = []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}

// histogram counts delays of one source in one stage.
type histogram struct {
	counts [18]atomic.Uint64 // by bucket; the last is beyond all bounds
	sum    atomic.Int64      // nanoseconds
}

// Delays are the histograms of all sources. The zero value is ready to use.
type Delays struct {
	of sync.Map // key → *Histogram
}

type key struct {
	source string
	stage  Stage
}

// Observe counts a delay of a source. A negative one, of a source whose clock is ahead, counts as none.
func (d *Delays) Observe(source string, stage Stage, delay time.Duration) {
	h, ok := d.of.Load(key{source, stage})
	if !ok {
		h, _ = d.of.LoadOrStore(key{source, stage}, &histogram{})
	}
	h.(*histogram).observe(max(0, delay))
}

func (h *histogram) observe(delay time.Duration) {
	i := 0
	for i < len(Buckets) && delay.Seconds() > Buckets[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(int64(delay))
}

// Summary is what a histogram comes to.
type Summary struct {
	Count uint64 `json:"count"`
	// Median and P99 are in seconds, as exact as the buckets: half of the delays, and 99 of 100, are at most so long.
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
}

// Of summarizes the delays of a source in a stage; nil: there were none.
func (d *Delays) Of(source string, stage Stage) *Summary {
	h, ok := d.of.Load(key{source, stage})
	if !ok {
		return nil
	}
	return h.(*histogram).summary()
}

// All calls yield with each histogram, as Prometheus wants it: the cumulative counts by bound, the count and the sum in seconds.
func (d *Delays) All(yield func(source string, stage Stage, buckets map[float64]uint64, count uint64, sum float64)) {
	d.of.Range(func(k, v any) bool {
		h := v.(*histogram)
		buckets := map[float64]uint64{}
		var count uint64
		for i := range h.counts {
			count += h.counts[i].Load()
			if i < len(Buckets) {
				buckets[Buckets[i]] = count
			}
		}
		yield(k.(key).source, k.(key).stage, buckets, count, time.Duration(h.sum.Load()).Seconds())
		return true
	})
}

func (h *histogram) summary() *Summary {
	var counts [len(h.counts)]uint64
	s := &Summary{}
	for i := range counts {
		counts[i] = h.counts[i].Load()
		s.Count += counts[i]
	}
	s.Median, s.P99 = quantile(counts[:], s.Count, 0.5), quantile(counts[:], s.Count, 0.99)
	return s
}

// quantile is the delay that a part of all do not exceed, as Prometheus has it: evenly spread within a bucket, and of the last one its
// lower bound.
func quantile(counts []uint64, count uint64, part float64) float64 {
	rank, before := part*float64(count), 0.0
	for i, n := range counts {
		if i == len(Buckets) {
			break
		}
		if before+float64(n) >= rank && n > 0 {
			low := 0.0
			if i > 0 {
				low = Buckets[i-1]
			}
			return low + (Buckets[i]-low)*(rank-before)/float64(n)
		}
		before += float64(n)
	}
	return Buckets[len(Buckets)-1]
}
