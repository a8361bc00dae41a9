package service

import (
	"sync/atomic"
	"time"

	"hazardd/internal/hazard"
)

// clock tells the time, and never an earlier one than before: when the machine's clock is set back, nothing that is over comes
// back and no good token becomes one of the future. It stands still until the machine's clock has caught up.
type clock struct {
	latest atomic.Int64 // Unix nanoseconds
}

func (c *clock) now() time.Time {
	for {
		now, latest := time.Now().UnixNano(), c.latest.Load()
		if now <= latest {
			return time.Unix(0, latest)
		}
		if c.latest.CompareAndSwap(latest, now) {
			return time.Unix(0, now)
		}
	}
}

func (c *clock) instant() hazard.Instant { return hazard.At(c.now()) }

// jumped is by how much the machine's clock was set between two readings of it, which both hold a monotonic reading too.
func jumped(before, now time.Time) time.Duration {
	return now.Round(0).Sub(before.Round(0)) - now.Sub(before)
}

// jump is by how much the clock must be set to be worth a line in the log: less is what keeps machines in step.
const jump = time.Second
