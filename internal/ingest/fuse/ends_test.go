package fuse_test

import (
	"slices"
	"strings"
	"testing"
)

// An all-clear that refers only to itself ends earlier warnings of its sender with the same event
// and area, and with an identifier that differs in its counter. It ends nothing else (D23).
func TestAnAllClearThatRefersToItselfEndsItsSeries(t *testing.T) {
	warning := capAlert("SMG-1", "Alert", "", "Severe", west)
	self := "<references>weather@example.org,SMG-3,2026-11-21T11:00:03+00:00</references>"
	allClear := strings.Replace(capAlert("SMG-3", "Update", self, "Minor", west), "<urgency>Immediate", "<responseType>AllClear</responseType><urgency>Past", 1)
	for name, tt := range map[string]struct {
		last string
		want []string
	}{
		"the same series":   {allClear, nil},
		"as a Cancel":       {strings.Replace(allClear, ">Update<", ">Cancel<", 1), nil},
		"another event":     {strings.Replace(allClear, "Flood Warning", "Wind Warning", 1), []string{"WARNING"}},
		"another area":      {strings.Replace(allClear, "A District", "B District", 1), []string{"WARNING"}},
		"another polygon":   {strings.Replace(allClear, west, east, 1), []string{"WARNING"}},
		"another sender":    {strings.ReplaceAll(allClear, "weather@", "other@"), []string{"WARNING"}},
		"another series":    {strings.ReplaceAll(allClear, "SMG-3", "SMH-3"), []string{"WARNING"}},
		"a second warning":  {capAlert("SMG-2", "Alert", "", "Minor", west), []string{"INFORMATION", "WARNING"}},
		"the counter wraps": {strings.ReplaceAll(allClear, "SMG-3", "SMG-0"), []string{"WARNING"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.takeCAP(warning, tt.last)
			if got := d.levels(); !slices.Equal(got, tt.want) {
				t.Errorf("active %v, want %v", got, tt.want)
			}
		})
	}
}

// A Cancel without a time in its reference ends the alert with that identifier, if the identifier
// is unique (D23, FMI).
func TestACancelNamesAUniqueIdentifierWithoutTime(t *testing.T) {
	const id = "2.49.0.1.246.0.0.2026.11.21.1"
	for _, references := range []string{"weather@example.org," + id, id, "weather@example.org," + id + ","} {
		d := newDesk(t)
		cancel := capAlert("2.49.0.1.246.0.0.2026.11.21.2", "Cancel", "<references>"+references+"</references>", "Severe", west)
		d.takeCAP(capAlert(id, "Alert", "", "Severe", west), cancel)
		if got := d.levels(); len(got) != 0 {
			t.Errorf("%s: active %v", references, got)
		}
	}
}

// An Update ends its event if it says so in another way than CAP's (D18, the tsunami centers'
// "Cancellation").
func TestAnUpdateEndsItsEventInOtherWords(t *testing.T) {
	refs := "<references>weather@example.org,A-1,2026-11-21T11:00:01+00:00</references>"
	update := capAlert("A-2", "Update", refs, "Minor", west)
	for name, last := range map[string]string{
		"its event says so":  strings.Replace(update, "Flood Warning", "Flood Cancellation", 1),
		"past and unlikely":  strings.NewReplacer("Immediate", "Past", "Observed", "Unlikely").Replace(update),
		"refers to nothing":  strings.NewReplacer("Flood Warning", "Flood Cancellation", refs, "").Replace(update),
		"in another letters": strings.Replace(update, "Flood Warning", "洪水警報解除", 1),
	} {
		d := newDesk(t)
		d.takeCAP(capAlert("A-1", "Alert", "", "Severe", west), last)
		want := []string(nil)
		if name == "refers to nothing" { // it ends nothing, and makes no hazard
			want = []string{"WARNING"}
		}
		if got := d.levels(); !slices.Equal(got, want) {
			t.Errorf("%s: active %v, want %v", name, got, want)
		}
	}
}
