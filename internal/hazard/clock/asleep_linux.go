package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// asleep is for how long this machine has been suspended since it started: CLOCK_BOOTTIME goes on
// in suspend, CLOCK_MONOTONIC does not (clock_gettime(2)).
func asleep() time.Duration {
	var boot, awake unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &awake) != nil {
		return 0
	}
	return time.Duration(boot.Nano() - awake.Nano())
}
