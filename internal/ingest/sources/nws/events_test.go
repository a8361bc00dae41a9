package nws

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/hazard"
)

var update = flag.Bool("update", false, "write what the event names come to into testdata/events.txt")

const eventsFile = "testdata/events.txt"

// whyIgnored returns the table's reason for ignoring an alert, or "" if the alert is a hazard.
func whyIgnored(event string, codes []string) string {
	for _, r := range table {
		if r.typ != "" {
			continue
		}
		for _, n := range r.names {
			if strings.EqualFold(n.event, event) {
				return r.basis
			}
		}
	}
	for _, c := range codes {
		if _, sig, _ := strings.Cut(c, "."); levels[sig[0]] == hazard.NoSeverity {
			return "the significance " + sig + " is below all levels"
		}
	}
	return ""
}

// TestEveryAlertOfTheNationalFeedsIsOfAFittingTypeOrIgnoredForAReason reads the complete national
// feeds and alerts with every event name. It compares the result for each name with a readable
// table: the type and level, or the reason why the alert is ignored.
func TestEveryAlertOfTheNationalFeedsIsOfAFittingTypeOrIgnoredForAReason(t *testing.T) {
	counts := map[string]int{}
	alerts := 0
	for _, rec := range append(recordings(t, "full-*.json"), recordings(t, "every-event-name.json")...) {
		b := parsed(t, rec.payload, cmp.Or(rec.at, at(t, "2026-08-16T05:20:00Z")))
		if len(b.Rejects) != 0 {
			t.Errorf("%s: rejects %v", rec.name, b.Rejects)
		}
		reports := map[string][]hazard.Report{} // by message
		for _, r := range b.Reports {
			id, _, _ := strings.Cut(r.Part, "#")
			reports[id] = append(reports[id], r)
		}
		var feed struct {
			Features []struct {
				Properties struct {
					ID, Event  string
					Parameters struct{ VTEC []string }
				}
			}
		}
		if err := json.Unmarshal(rec.payload, &feed); err != nil {
			t.Fatal(err)
		}
		made := rec.name == "every-event-name.json" // it uses one id and one VTEC string for several messages
		for _, f := range feed.Features {
			alerts++
			p := f.Properties
			var codes []string
			for _, s := range p.Parameters.VTEC {
				if fields := strings.Split(strings.Trim(s, "/"), "."); len(fields) > 4 && !made {
					codes = append(codes, fields[3]+"."+fields[4])
				}
			}
			slices.Sort(codes)
			codes = slices.Compact(codes)
			event := strings.ToLower(p.Event)
			line := fmt.Sprintf("%-38s %-5s", event, cmp.Or(strings.Join(codes, " "), "-"))
			if made {
				if e := byName[event]; e.typ != "" { // its own test checks the reports against this
					counts[fmt.Sprintf("%s %-18s %s", line, e.typ, e.level)]++
					continue
				}
			}
			of := reports[p.ID]
			if len(of) == 0 || made {
				why := whyIgnored(p.Event, codes)
				if why == "" {
					t.Errorf("%s: %s (%s) is ignored for no reason", rec.name, p.ID, p.Event)
				}
				counts[fmt.Sprintf("%s %-18s %s", line, "no hazard", why)]++
				continue
			}
			for _, r := range of {
				if r.Suspect != "" {
					t.Errorf("%s: %s (%s) is suspect: %s", rec.name, p.ID, p.Event, r.Suspect)
				}
				counts[fmt.Sprintf("%s %-18s %s", line, r.Type, r.Severity)]++
			}
		}
	}
	if alerts != 529+246+396+152 {
		t.Errorf("%d alerts", alerts)
	}
	var lines []string
	for _, line := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%4d %s\n", counts[line], line))
	}
	got := "# What each event name of the recorded national feeds comes to: messages, name, VTEC (- none), type, and level or the reason why\n# no hazard is made of it. Written by the test with -update.\n" + strings.Join(lines, "")
	if *update {
		if err := os.WriteFile(eventsFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(eventsFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the table differs (-as written +as read):\n%s", diff)
	}
}
