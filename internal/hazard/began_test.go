package hazard_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// TestTheFirstStartStays gives the reports of one event in order, and when it began after all of them.
func TestTheFirstStartStays(t *testing.T) {
	at := func(minutes int) hazard.Instant { return noon.Add(time.Duration(minutes) * time.Minute) }
	type said struct {
		issued, start int // minutes since noon
		ended         hazard.EndReason
	}
	for name, tt := range map[string]struct {
		kind hazard.Type
		said []said
		want int
	}{
		"each report begins when it is issued":               {hazard.Wildfire, []said{{0, 0, ""}, {30, 30, ""}, {600, 600, ""}}, 0},
		"the start of a later one is rounded":                {hazard.HighWind, []said{{0, 120, ""}, {187, 180, ""}}, 120},
		"a warning that is put off":                          {hazard.HighWind, []said{{0, 120, ""}, {60, 240, ""}}, 240},
		"and on":                                             {hazard.HighWind, []said{{0, 120, ""}, {60, 240, ""}, {245, 245, ""}}, 240},
		"a warning that comes early":                         {hazard.HighWind, []said{{0, 120, ""}, {60, 90, ""}}, 90},
		"in force before its start":                          {hazard.HighWind, []said{{0, 120, ""}, {60, 60, ""}}, 60},
		"cancelled before its start":                         {hazard.HighWind, []said{{0, 120, ""}, {60, 0, hazard.EndCancelled}}, 120},
		"cancelled, of which nothing else is known":          {hazard.HighWind, []said{{60, 60, hazard.EndCancelled}}, 60},
		"the source states an earlier start":                 {hazard.Wildfire, []said{{0, 0, ""}, {120, -600, ""}}, -600},
		"the source corrects the start that it stated":       {hazard.Wildfire, []said{{0, -600, ""}, {120, -300, ""}}, -300},
		"what is issued after a stated start begins nothing": {hazard.Wildfire, []said{{0, -600, ""}, {120, 120, ""}}, -600},
		"the origin of an earthquake is corrected":           {hazard.Earthquake, []said{{5, 0, ""}, {10, 1, ""}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var part, other hazard.Report
			for i, s := range tt.said {
				r := hazard.Report{Source: "x", Key: "k", Name: "x", Type: tt.kind, Version: int64(at(s.issued)), Start: at(s.start), Ended: s.ended}
				if part, other = r, part; i > 0 {
					part.RememberStart(&r, &other)
				}
			}
			if got := hazard.Derive([]hazard.Report{part}, at(10_000)).Head.Start; got != at(tt.want) {
				t.Errorf("it began at %s, want %s", got, at(tt.want))
			}
		})
	}
}

// The start depends neither on the order in which the reports of a part come, nor on what of them is kept.
func TestTheStartIsTheSameInEveryOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minute := hazard.Instant(time.Minute.Milliseconds())
		kinds := rapid.SampledFrom([][]hazard.Type{{hazard.Flood}, {hazard.Earthquake}, {hazard.Flood, hazard.Earthquake}}).Draw(t, "types")
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) hazard.Report {
			version := rapid.IntRange(0, 12).Draw(t, "version")
			start := version + rapid.SampledFrom([]int{-8, -3, -1, 0, 0, 1, 2, 4, 8}).Draw(t, "start")
			r := hazard.Report{Source: "x", Key: "k", Name: "x", Type: rapid.SampledFrom(kinds).Draw(t, "type"), Version: int64(noon + 20*minute*hazard.Instant(version)), Start: noon + 20*minute*hazard.Instant(start)}
			if rapid.IntRange(0, 5).Draw(t, "ended") == 0 {
				r.Ended = hazard.EndCancelled
			}
			return r
		}), 1, 9).Draw(t, "reports")
		// Each report is a part of its own: nothing is left out.
		whole := make([]hazard.Report, len(all))
		for i, r := range all {
			whole[i] = r
			whole[i].Part = string(rune('a' + i))
		}
		want := hazard.Derive(whole, noon).Head.Start
		part := all[0]
		order := rapid.Permutation(all).Draw(t, "order")
		for i, r := range order {
			if i == 0 {
				part = r
				continue
			}
			n := r
			if r.Version < part.Version {
				n = part
			}
			n.RememberStart(&r, &part)
			part = n
		}
		if got := hazard.Derive([]hazard.Report{part}, noon).Head.Start; got != want && !allEnded(all) {
			t.Fatalf("%s, of all %s; kept %v", got, want, part.Begun)
		}
	})
}

func allEnded(all []hazard.Report) bool {
	for _, r := range all {
		if r.Ended == "" {
			return false
		}
	}
	return true
}
