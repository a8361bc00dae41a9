package clock

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// machineClock is a machine's set of clocks, set by a test.
type machineClock struct {
	uptime, wall, asleep time.Duration // wall counts from noon, asleep from 0
}

func (m *machineClock) read() Reading {
	return Reading{Wall: noon.Add(m.wall), Uptime: m.uptime, Asleep: func() time.Duration { return m.asleep }}
}

// pass lets time pass while the machine is awake.
func (m *machineClock) pass(d time.Duration) { m.uptime += d; m.wall += d }

// step is a change of a machine's clocks, and the resulting service time, counted from noon.
type step struct {
	pass, set, suspend time.Duration
	confirm            string // "right", "wrong" or nothing
	want               time.Duration
	held               bool
}

func TestServiceTimeFollowsAWallClockThatTheMonotonicClockAgreesWith(t *testing.T) {
	const h, m, s = time.Hour, time.Minute, time.Second
	for name, steps := range map[string][]step{
		"a clock that is right": {{pass: h, want: h}, {pass: 24 * h, want: 25 * h}},
		"6 h ahead for 3 s (R7)": {{pass: m, want: m}, {set: 6 * h, want: m, held: true}, {pass: 3 * s, want: m + 3*s, held: true},
			{set: -6 * h, want: m + 3*s}, {pass: m, want: 2*m + 3*s}},
		"ahead and corrected to a second off": {{set: 6 * h, want: 0, held: true}, {pass: s, set: -6*h + s, want: 2 * s}},
		"ahead, and stable there":             {{set: 6 * h, want: 0, held: true}, {pass: m - s, want: m - s, held: true}, {pass: s, want: 6*h + m}},
		"ahead, and ahead again: another step": {{set: h, want: 0, held: true}, {pass: m - s, set: h, want: m - s, held: true},
			{pass: m - s, want: 2*m - 2*s, held: true}, {pass: s, want: 2*h + 2*m - s}},
		"ahead, and the database agrees":           {{set: h, want: 0, held: true}, {pass: s, confirm: "right", want: h + s}},
		"ahead, against the database, for an hour": {{set: h, want: 0, held: true}, {pass: m - s, confirm: "wrong", want: m - s, held: true}, {pass: m - s, confirm: "wrong", want: 2*m - 2*s, held: true}},
		"right, and the database says so":          {{pass: s, confirm: "right", want: s}, {pass: s, confirm: "wrong", want: 2 * s}},
		"back for 3 s":                             {{pass: m, want: m}, {set: -6 * h, want: m, held: true}, {pass: 3 * s, want: m + 3*s, held: true}, {set: 6 * h, want: m + 3*s}},
		"back, and stable there: it was wrong":     {{pass: m, want: m}, {set: -6 * h, want: m, held: true}, {pass: m, want: 2*m - 6*h}},
		"back by a little: time stands still":      {{set: -s, want: 0}, {pass: s / 2, want: 0}, {pass: s, want: s / 2}},
		"back by 30 s, and stable there":           {{set: -30 * s, want: 0, held: true}, {pass: m - s, want: m - s, held: true}, {pass: s, want: m - s}, {pass: 28 * s, want: m - s}, {pass: 2 * s, want: m}},
		"a suspended machine":                      {{pass: m, want: m}, {suspend: 8 * h, want: 8*h + m}, {pass: m, want: 8*h + 2*m}},
		"suspended, and the clock set 6 h ahead":   {{suspend: 8 * h, set: 6 * h, want: 8 * h, held: true}, {pass: 3 * s, set: -6 * h, want: 8*h + 3*s}},
		"set ahead, suspended, and then corrected": {{set: 6 * h, want: 0, held: true}, {suspend: h, want: h, held: true}, {set: -6 * h, want: h}},
		"slewed": {{pass: h, set: 900 * time.Millisecond, want: h + 900*time.Millisecond}, {pass: h, set: 900 * time.Millisecond, want: 2*h + 1800*time.Millisecond}},
		"a paused virtual machine, then set right":    {{set: h, want: 0, held: true}, {pass: m, want: h + m}},
		"held time is given up as soon as it is over": {{set: 24 * h, want: 0, held: true}, {pass: 10 * s, set: -24 * h, want: 10 * s}, {pass: 1, want: 10*s + 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var at machineClock
			c := New(at.read)
			for i, st := range steps {
				at.pass(st.pass)
				at.wall += st.set + st.suspend
				at.asleep += st.suspend
				if st.confirm != "" {
					c.Confirm(st.confirm == "right")
				}
				if got := c.Now().Sub(noon); got != st.want {
					t.Errorf("step %d: service time is %v after noon, want %v", i, got, st.want)
				}
				if by, _ := c.Step(); (by != 0) != st.held {
					t.Errorf("step %d: the wall clock is %v ahead of service time; want held %v", i, by, st.held)
				}
			}
		})
	}
}

func TestEachStepCountsOnce(t *testing.T) {
	var at machineClock
	c := New(at.read)
	for range 3 {
		at.wall += time.Hour
		c.Now()
		at.pass(time.Second)
		c.Now()
		at.wall -= time.Hour
		c.Now()
	}
	if _, steps := c.Step(); steps != 3 {
		t.Errorf("3 steps counted as %d", steps)
	}
}

// Any changes of the wall clock within less than Settle do not affect service time.
func TestNoShortStepMovesServiceTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var at machineClock
		c := New(at.read)
		var wrong time.Duration
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			by := time.Duration(rapid.Int64Range(-int64(48*time.Hour), int64(48*time.Hour)).Draw(t, "by"))
			at.wall += by - wrong
			wrong = by
			at.pass(time.Duration(rapid.Int64Range(0, int64(Settle/25)).Draw(t, "pass")))
			now := c.Now().Sub(noon)
			if off := now - at.uptime; off.Abs() > 20*tolerance {
				t.Fatalf("service time is %v off after a step of %v", off, by)
			}
		}
	})
}

func TestTheMachinesOwnClockIsNotHeld(t *testing.T) {
	c := New(nil)
	before := time.Now().Round(0)
	if by, steps := c.Step(); by != 0 || steps != 0 {
		t.Errorf("held by %v after %d steps", by, steps)
	}
	if now := c.Now(); now.Sub(before).Abs() > time.Minute {
		t.Errorf("it is %v, the clock says %v", before, now)
	}
}
