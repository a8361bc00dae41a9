package model_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// warning is one warning of a sender, from its announcement to its end.
type warning struct {
	name      string
	announced instant
	end       instant // by its last message
	cancelled instant // 0: it is not
}

// said is a message, and when it came.
type said struct {
	at     instant
	report hazard.Report
	told   int // the warning that it is about
}

// tellWarnings makes warnings of a sender that uses few names again and again, years apart. Some begin
// later than announced, some by a wrong clock earlier; updates come under another name that names the
// first one; a cancellation may say any start, or none, and come before the start.
func tellWarnings(r *rand.Rand) (all []warning, messages []said) {
	between := func(from, to time.Duration) instant {
		return instant(from.Milliseconds() + r.Int64N((to - from).Milliseconds()))
	}
	for k := range 3 {
		at := noon + between(0, 5*day)
		for n := range 1 + r.IntN(3) {
			w := warning{name: fmt.Sprintf("Flood %d of K%d", n+1, k), announced: at}
			key, start := fmt.Sprint("K", k), at+between(-6*time.Hour, 12*time.Hour)
			end := max(start, at) + between(time.Hour, 2*day)
			tell := func(at instant, version int, change func(*hazard.Report)) {
				m := hazard.Report{Source: "cap", Key: key, Part: fmt.Sprint(w.name, " v", version), Version: int64(at), Name: w.name, Type: hazard.Flood, Severity: hazard.Watch,
					Start: start, End: new(end), Point: &hazard.Point{Lon: float64(10 * k), Lat: 50}}
				change(&m)
				messages = append(messages, said{at, m, len(all)})
			}
			tell(at, 0, func(*hazard.Report) {})
			last, other := at, ""
			for v := range r.IntN(3) {
				last += between(time.Minute, max(time.Hour, time.Duration(end-last)*time.Millisecond/3))
				end = max(end, last) + between(0, 6*time.Hour)
				tell(last, v+1, func(m *hazard.Report) {
					if m.Replaces = []string{fmt.Sprint(w.name, " v", v)}; r.IntN(4) == 0 { // a new name, and the one before
						other = fmt.Sprint(w.name, " again")
						m.Key, m.Aliases = other, []string{key}
					}
				})
			}
			if w.end = end; r.IntN(2) == 0 {
				w.cancelled = last + between(time.Second, max(time.Minute, time.Duration(end-last)*time.Millisecond))
				if r.IntN(2) == 0 && w.cancelled > last+1 { // soon, often before the start
					w.cancelled = last + between(time.Second, time.Hour)
				}
				tell(w.cancelled, 9, func(m *hazard.Report) {
					m.Ended, m.End, m.Start = hazard.EndCancelled, nil, []instant{start, w.cancelled, 0}[r.IntN(3)]
					if other != "" && r.IntN(2) == 0 {
						m.Key = other
					}
				})
			}
			all = append(all, w)
			at = max(end, w.cancelled) + between(95*day, 300*day)
		}
	}
	slices.SortStableFunc(messages, func(a, b said) int { return int(a.at - b.at) })
	return all, messages
}

const (
	day = 24 * time.Hour
	// week is the longest time between messages of one payload: what is over for longer makes no hazard.
	week = 7 * day
)

// What a sender cancels is over, whatever start it says, and what it does not cancel is active to its
// end; however its messages are cut into payloads, and in whatever order a payload lists them.
func TestACancelEndsWhatItAnnouncedInAnyCut(t *testing.T) {
	from := template(t)
	for seed := *first; seed < *first+count(1); seed++ {
		r := rand.New(rand.NewPCG(seed, 5))
		all, messages := tellWarnings(r)
		dir := anew(t, from)
		sv := newService(t, dir, fast)
		var told strings.Builder
		for len(messages) > 0 {
			n := 1 + r.IntN(min(4, len(messages)))
			for messages[n-1].at > messages[0].at.Add(week) {
				n--
			}
			payload := slices.Clone(messages[:n])
			messages = messages[n:]
			now := payload[n-1].at
			r.Shuffle(n, func(i, j int) { payload[i], payload[j] = payload[j], payload[i] })
			var reports []hazard.Report
			for _, m := range payload {
				reports = append(reports, m.report)
			}
			fmt.Fprintln(&told, step{At: now, Do: "report", Reports: reports})
			if err := sv.intake.PassUntil(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			if _, err := sv.intake.Apply(t.Context(), "cap", source.Batch{Read: n, Reports: reports}, now, fuse.Options{}); err != nil {
				t.Fatal(err)
			}
			sv.now = now
			snap, err := sv.store.Log.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			active := map[string]int{}
			for _, h := range snap.Hazards {
				if h.ActiveAt(now) {
					active[h.Name]++
				}
			}
			for i, w := range all {
				over := w.cancelled != 0 && w.cancelled <= now
				said := w.announced <= now && !slices.ContainsFunc(messages, func(m said) bool { return m.told == i })
				switch n := active[w.name]; {
				case over && n > 0:
					t.Fatalf("seed %d: %s is canceled and active:\n%s", seed, w.name, &told)
				case said && !over && w.end > now && n != 1, n > 1:
					t.Fatalf("seed %d: %s is in force, and %d hazards of it are active:\n%s", seed, w.name, n, &told)
				}
			}
		}
		sv.close()
		if err := os.RemoveAll(dir); err != nil { // a long run has many
			t.Fatal(err)
		}
	}
}
