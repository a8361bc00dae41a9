package nws

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// august reads fifteen snapshots of one day in August in order, like a poller: it returns the
// latest report of each part, by key.
func august(t testing.TB) (parts map[string]map[string]hazard.Report, last hazard.Instant, messages int) {
	t.Helper()
	parts = map[string]map[string]hazard.Report{}
	ids := map[string]bool{}
	snapshots := recordings(t, "active-2026*.json")
	if len(snapshots) != 15 {
		t.Fatalf("%d snapshots, want 15", len(snapshots))
	}
	for _, rec := range snapshots {
		b := parsed(t, rec.payload, rec.at)
		if len(b.Rejects) != 0 || b.Whole {
			t.Errorf("%s: rejects %v, whole %v", rec.name, b.Rejects, b.Whole)
		}
		for _, r := range b.Reports {
			if r.Suspect != "" {
				t.Errorf("%s: %s is suspect: %s", rec.name, r.Part, r.Suspect)
			}
			ids[r.Part] = true
			if parts[r.Key] == nil {
				parts[r.Key] = map[string]hazard.Report{}
			}
			parts[r.Key][r.Part] = r
		}
		last = rec.at
	}
	return parts, last, len(ids)
}

func TestAugustIs528MessagesOf205Events(t *testing.T) {
	parts, _, messages := august(t)
	if messages != 528 || len(parts) != 205 {
		t.Errorf("%d messages of %d events, want 528 of 205", messages, len(parts))
	}
	if got := len(parts["PHFO.TR.W.3001.2026"]); got != 140 {
		t.Errorf("the tropical storm warning has %d messages, want 140", got)
	}
}

func TestNationalFeeds(t *testing.T) {
	for _, tt := range []struct {
		file                                string
		read, reports, ignored, vtec, chain int
		whole                               bool
	}{
		{"full-20251215T2155Z.json", 529, 527, 2, 387, 6, true},
		{"full-20260514T1635Z.json", 246, 245, 1, 163, 20, true},
		{"full-20260715T2000Z.json", 393, 392, 1, 189, 87, true},
		{"iowa-20240521T1934Z.json", 48, 48, 0, 42, 0, false},
	} {
		t.Run(tt.file, func(t *testing.T) {
			rec := recordings(t, tt.file)[0]
			b := parsed(t, rec.payload, rec.at)
			vtecEvents, chains := map[string]bool{}, map[string]bool{}
			for _, r := range b.Reports {
				if r.Suspect != "" {
					t.Errorf("%s is suspect: %s", r.Part, r.Suspect)
				}
				if len(r.Aliases) > 0 {
					chains[r.Key] = true
				} else {
					vtecEvents[r.Key] = true
				}
				if r.Ended == "" && r.OverAt() <= rec.at && b.Whole {
					t.Errorf("%s is listed, and over since %v", r.Name, r.OverAt())
				}
			}
			if len(b.Rejects) != 0 || b.Whole != tt.whole {
				t.Errorf("rejects %v, whole %v", b.Rejects, b.Whole)
			}
			got := []int{b.Read, len(b.Reports), b.Ignored, len(vtecEvents), len(chains)}
			if want := []int{tt.read, tt.reports, tt.ignored, tt.vtec, tt.chain}; !slices.Equal(got, want) {
				t.Errorf("read, reports, ignored, VTEC events, chains: %v, want %v", got, want)
			}
		})
	}
}

// national returns the parts of a recorded list, by key.
func national(t testing.TB, file string) (map[string][]hazard.Report, hazard.Instant) {
	rec := recordings(t, file)[0]
	parts := map[string][]hazard.Report{}
	for _, r := range parsed(t, rec.payload, rec.at).Reports {
		parts[r.Key] = append(parts[r.Key], r)
	}
	return parts, rec.at
}

func TestSegmentsOfOneEventEndEachInItsWay(t *testing.T) {
	parts, now := national(t, "full-20251215T2155Z.json")
	ktae := parts["KTAE.FZ.A.0004.2025"]
	got := map[hazard.EndReason]int{}
	for _, r := range ktae {
		got[r.Ended] += len(r.Places)
	}
	if want := map[hazard.EndReason]int{hazard.EndSuperseded: 26, hazard.EndCancelled: 10}; !cmp.Equal(got, want) {
		t.Errorf("zones by end: %v, want %v", got, want)
	}
	state := hazard.Derive(ktae, now)
	if state.Ended != hazard.EndSuperseded || len(state.Places) != 36 {
		t.Errorf("ended %q in %d places, want superseded, which counts before cancelled, in all 36", state.Ended, len(state.Places))
	}
}

func TestOneWatchOfTwoOfficesIsOneEvent(t *testing.T) {
	parts, now := national(t, "iowa-20240521T1934Z.json")
	watch := parts["SPC.TO.A.0277.2024"]
	offices := map[string]bool{}
	for _, r := range watch {
		offices[r.Creator] = true
	}
	if !offices["NWS Des Moines IA"] || !offices["NWS Quad Cities IA IL"] {
		t.Errorf("offices %v, want both", offices)
	}
	state := hazard.Derive(watch, now)
	if state.Ended != "" || state.Head.Type != hazard.Tornado || state.Head.Severity != hazard.Watch {
		t.Errorf("%s %v, ended %q, want a tornado watch in force", state.Head.Type, state.Head.Severity, state.Ended)
	}
}

func TestEndedEventsEndForTheRightReason(t *testing.T) {
	august, last, _ := august(t)
	for key, want := range map[string]hazard.EndReason{
		"KCYS.SV.W.0244.2026": hazard.EndExpired, "KJKL.TO.W.0025.2026": hazard.EndExpired,
		"KPUB.FF.W.0056.2026": hazard.EndExpired, "KPSR.FF.W.0044.2026": hazard.EndExpired, "KEPZ.FF.W.0098.2026": hazard.EndExpired,
	} {
		state := hazard.Derive(slices.Collect(maps.Values(august[key])), last)
		if state.Ended != want || state.EndedAt > last {
			t.Errorf("%s ended for %q at %v, want %q", key, state.Ended, state.EndedAt, want)
		}
	}
	for file, ends := range map[string]map[string]hazard.EndReason{
		"full-20251215T2155Z.json": {"PHFO.SU.W.0010.2025": hazard.EndCancelled, "KLOT.SC.Y.0113.2025": ""}, // said to expire, minutes before it expires
		"full-20260514T1635Z.json": {"KAMA.FW.A.0021.2026": hazard.EndSuperseded},
		"full-20260715T2000Z.json": {"KFGF.HT.Y.0004.2026": "", "KMPX.XH.W.0002.2026": ""},
	} {
		parts, now := national(t, file)
		for key, want := range ends {
			if got := hazard.Derive(parts[key], now).Ended; got != want {
				t.Errorf("%s: %s ended for %q, want %q", file, key, got, want)
			}
		}
	}
}

// The state of an event does not depend on the order of its messages.
func TestEventsAreTheSameInAnyOrder(t *testing.T) {
	august, last, _ := august(t)
	all := map[string][]hazard.Report{}
	for key, parts := range august {
		all[key] = slices.SortedFunc(maps.Values(parts), func(a, b hazard.Report) int { return strings.Compare(a.Part, b.Part) })
	}
	inOrder := func(t interface{ Fatal(...any) }, key string, parts []hazard.Report, now hazard.Instant, want hazard.EventState) {
		if diff := cmp.Diff(want, hazard.Derive(parts, now)); diff != "" {
			t.Fatal(key, diff)
		}
	}
	for key, parts := range all {
		want := hazard.Derive(parts, last)
		backward := slices.Clone(parts)
		slices.Reverse(backward)
		inOrder(t, key, backward, last, want)
	}
	keys := slices.Sorted(maps.Keys(all))
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.OneOf(rapid.Just("PHFO.TR.W.3001.2026"), rapid.SampledFrom(keys)).Draw(t, "key")
		now := last.Add(-rapid.SampledFrom([]time.Duration{0, 4 * time.Hour, 12 * time.Hour}).Draw(t, "before"))
		inOrder(t, key, rapid.Permutation(all[key]).Draw(t, "parts"), now, hazard.Derive(all[key], now))
	})
}

// The reports do not depend on the order of the list either.
func TestReportsAreTheSameInAnyOrder(t *testing.T) {
	rec := recordings(t, "iowa-20240521T1934Z.json")[0]
	var doc struct {
		Type, Title string
		Features    []json.RawMessage
	}
	if err := json.Unmarshal(rec.payload, &doc); err != nil {
		t.Fatal(err)
	}
	doc.Features = append(doc.Features, doc.Features[:3]...) // copies, which the service sometimes sends
	byPart := func(b source.Batch) source.Batch {
		slices.SortFunc(b.Reports, func(a, b hazard.Report) int { return strings.Compare(a.Part, b.Part) })
		return b
	}
	want := byPart(parsed(t, rec.payload, rec.at))
	rapid.Check(t, func(rt *rapid.T) {
		shuffled := rapid.Permutation(doc.Features).Draw(rt, "features")
		got := byPart(parsed(t, text(object{"type": doc.Type, "title": doc.Title, "features": shuffled}), rec.at))
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// The zones of the tropical storm warning are those that the last list holds. The test finds them
// without the code under test.
func TestTropicalStormWarningCoversItsZonesInForce(t *testing.T) {
	parts, last, _ := august(t)
	state := hazard.Derive(slices.Collect(maps.Values(parts["PHFO.TR.W.3001.2026"])), last)

	type alert struct {
		Parameters struct{ VTEC []string }
		Geocode    struct{ UGC []string }
	}
	var want []string // the zones of what the last list holds: a message replaces those that it refers to
	all := recordings(t, "active-2026*.json")
	var feed struct{ Features []struct{ Properties alert } }
	if err := json.Unmarshal(all[len(all)-1].payload, &feed); err != nil {
		t.Fatal(err)
	}
	for _, f := range feed.Features {
		p := f.Properties
		if len(p.Parameters.VTEC) == 0 || !strings.Contains(p.Parameters.VTEC[0], ".PHFO.TR.W.3001.") {
			continue
		}
		if action := p.Parameters.VTEC[0][3:6]; action != "CAN" && action != "UPG" && action != "EXP" {
			want = append(want, p.Geocode.UGC...)
		}
	}
	slices.Sort(want)
	var got []string
	for _, r := range parts["PHFO.TR.W.3001.2026"] {
		if state.Owned[r.Part] && r.Ended == "" && r.OverAt() > last {
			got = append(got, r.Places...)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(slices.Compact(want), slices.Compact(got)); diff != "" || len(want) == 0 {
		t.Errorf("zones in force: %s", diff)
	}
	if state.Ended != "" || len(state.Head.Areas) == 0 {
		t.Errorf("ended %q with %d areas, want it in force", state.Ended, len(state.Head.Areas))
	}
}

func BenchmarkParse(b *testing.B) {
	rec := recordings(b, "full-20251215T2155Z.json")[0]
	b.SetBytes(int64(len(rec.payload)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(rec.payload, rec.at); err != nil {
			b.Fatal(err)
		}
	}
}
