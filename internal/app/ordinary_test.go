package app_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test"
)

// rare are the sources of the hazards that the other sources know only by chance: avalanches,
// ships' warnings, outbreaks, conflicts, known weaknesses of programs, gauges of rivers.
var rare = []string{"avalanchecanada", "avalancheorg", "bbk", "cisa", "eafloods", "eaws", "nga", "reliefweb", "whodon"}

// TestWhatASourceAddsToTheList imports each whole list of a source into a store of its own, and
// prints how many hazards of each level are active then. No reader must drown in the rare sources:
// in the order of importance, nothing of theirs that is only information comes before a warning of
// the National Weather Service.
func TestWhatASourceAddsToTheList(t *testing.T) {
	test.Slow(t)
	lists := map[string][]*row{}
	for _, r := range recordedBetween(t, hazard.MinInstant, hazard.MaxInstant) {
		if slices.Contains(rare, r.source) || r.file == "nws/full-20260715T2000Z.json" {
			lists[r.source] = append(lists[r.source], r)
		}
	}
	levels := []hazard.Severity{hazard.Information, hazard.Advisory, hazard.Watch, hazard.Warning}
	var all []ranked
	from := map[*hazard.Hazard]string{}
	for _, src := range slices.Sorted(maps.Keys(lists)) {
		added := map[hazard.Severity][]int{}
		for _, rec := range lists[src] {
			r := &replay{desk: newDesk(t)}
			r.bare = true
			r.play(rec)
			counts := map[hazard.Severity]int{}
			for _, x := range r.important(map[string]*hazard.Exposure{}) {
				counts[x.h.Severity]++
				from[x.h] = src
				all = append(all, x)
			}
			for _, level := range levels {
				added[level] = append(added[level], counts[level])
			}
		}
		line := fmt.Sprintf("%-16s %3d lists, at most and in the middle:", src, len(lists[src]))
		for _, level := range levels {
			slices.Sort(added[level])
			line += fmt.Sprintf("  %s %d, %d", level, slices.Max(added[level]), added[level][len(added[level])/2])
		}
		t.Log(line)
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(b.why.Score, a.why.Score) }) // by score alone: the lists are of different years
	first := map[string]int{}
	informed := false
	for i, x := range all {
		src := from[x.h]
		if first[src] == 0 {
			first[src] = i + 1
			t.Logf("%4d. %3d %-16s %s: %s", i+1, x.why.Score, src, x.h.Name, x.why.Reason())
		}
		informed = informed || src != "nws" && x.h.Severity == hazard.Information
		if informed && src == "nws" && x.h.Severity == hazard.Warning {
			t.Errorf("%d. %s, a warning, comes after what is only information", i+1, x.h.Name)
		}
	}
}
