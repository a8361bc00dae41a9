package app_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/internal/test/server"
)

// setClock is this machine's clock, with an offset set by a test.
type setClock struct {
	start time.Time
	off   atomic.Int64
	slept atomic.Int64
}

func (c *setClock) read() clock.Reading {
	now := time.Now()
	return clock.Reading{Wall: now.Add(time.Duration(c.off.Load() + c.slept.Load())), Uptime: now.Sub(c.start),
		Asleep: func() time.Duration { return time.Duration(c.slept.Load()) }}
}

func serveAt(t *testing.T) (*server.Server, *setClock) {
	m := &setClock{start: time.Now()}
	return server.Serve(t, func(c *app.Config) { c.Clock = clock.New(m.read) }), m
}

func flood(t *testing.T, s *server.Server, end time.Time) string {
	t.Helper()
	a := s.Do("red", "POST", "/hazards", fmt.Sprintf(
		`{"hazard_Name":"Flood","type_ID":"FLOOD","severity_ID":"WARNING","latitude":1,"longitude":2,"autoexpire":"Y","end_Date":%q}`, hazard.At(end).Digits()))
	if a.Status != 201 {
		t.Fatalf("a flood that ends at %v: %d %s", end, a.Status, a.Body)
	}
	var made struct {
		UUID string `json:"uuid"`
	}
	a.JSON(t, &made)
	return made.UUID
}

// A clock that was six hours ahead for three seconds ended everything due in that time for good,
// and refused new hazards for an hour. At 24 h ahead it made tokens invalid (R7).
func TestAClockThatJumpsAheadEndsNothing(t *testing.T) {
	for _, jump := range []time.Duration{6 * time.Hour, 24 * time.Hour} {
		t.Run(jump.String(), func(t *testing.T) {
			s, machine := serveAt(t)
			token := []string{"Authorization", "Bearer " + s.Token("reader")}
			first := flood(t, s, time.Now().Add(time.Hour))
			active := func(when string, want ...string) {
				t.Helper()
				a := s.Do("", "GET", "/hazards/active", nil, token...)
				for _, id := range want {
					if a.Status != 200 || !strings.Contains(string(a.Body), id) {
						t.Errorf("%s: %d, %s; want hazard %s in it", when, a.Status, a.Body, id)
					}
				}
			}
			ready := func(when string, want int) {
				t.Helper()
				if a := s.Do("", "GET", "/readyz", nil); a.Status != want {
					t.Errorf("%s: readyz is %d %s, want %d", when, a.Status, a.Body, want)
				}
			}
			active("before", first)
			machine.off.Store(int64(jump))
			ready("ahead", 503)
			active("ahead", first)
			second := flood(t, s, time.Now().Add(time.Hour))
			if a := s.Do("root", "GET", "/metrics", nil); !strings.Contains(string(a.Body), fmt.Sprintf("hazardd_clock_step_seconds %d", int(jump.Seconds()))) {
				t.Error("no metric shows the step")
			}
			machine.off.Store(0)
			ready("corrected", 200)
			third := flood(t, s, time.Now().Add(time.Hour))
			active("corrected", first, second, third)
			if a := s.Do("root", "GET", "/metrics", nil); !strings.Contains(string(a.Body), "hazardd_clock_steps_total 1\n") {
				t.Error("the step does not count")
			}
			if err := app.BuiltIn().Intake(s.Store).Pass(t.Context(), s.Now()); err != nil {
				t.Fatal(err)
			}
			active("after ends were recorded", first, second, third)
		})
	}
}

func TestTimeInSuspendHasPassed(t *testing.T) {
	s, machine := serveAt(t)
	id := flood(t, s, time.Now().Add(time.Hour))
	machine.slept.Store(int64(8 * time.Hour))
	if a := s.Do("", "GET", "/readyz", nil); a.Status != 200 && strings.Contains(string(a.Body), "clock") {
		t.Errorf("after suspend readyz is %d %s", a.Status, a.Body)
	}
	if a := s.Do("reader", "GET", "/hazards/active", nil); a.Status != 200 || strings.Contains(string(a.Body), id) {
		t.Errorf("8 hours asleep, and a hazard of one hour is still active: %d", a.Status)
	}
}
