package delay

import (
	"math"
	"testing"
	"time"
)

func TestDelaysAreSummarized(t *testing.T) {
	var d Delays
	if d.Of("a", Committed) != nil {
		t.Error("a summary of nothing")
	}
	for range 98 {
		d.Observe("a", Committed, 700*time.Millisecond)
	}
	d.Observe("a", Committed, -time.Hour)
	d.Observe("a", Committed, 24*time.Hour)
	s := d.Of("a", Committed)
	if s.Count != 100 || s.Median < 0.5 || s.Median > 1 || s.P99 > 1 {
		t.Errorf("%+v", s)
	}
	d.Observe("a", Committed, 24*time.Hour)
	if s := d.Of("a", Committed); s.P99 != 3600 {
		t.Errorf("%+v, want only values beyond the last bound", s)
	}
	if d.Of("a", Sent) != nil || d.Of("b", Committed) != nil {
		t.Error("stages or sources are mixed up")
	}
	d.All(func(source string, stage Stage, buckets map[float64]uint64, count uint64, sum float64) {
		if source != "a" || stage != Committed || count != 101 || buckets[0.01] != 1 || buckets[0.5] != 1 || buckets[1] != 99 || buckets[3600] != 99 || math.Abs(sum-(98*0.7+2*86400)) > 1e-6 {
			t.Errorf("%s %s %v %d %v", source, stage, buckets, count, sum)
		}
	})
}
