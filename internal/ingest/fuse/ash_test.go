package fuse_test

import (
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/server"
)

func ofVAAC(issued, next string) given {
	return given{"vaac", "FVXX20 KNES 170600\nVA ADVISORY\nDTG: " + issued + "\nVAAC: WASHINGTON\nVOLCANO: KILAUEA 332010\nPSN: N1925 W15517\nAREA: HAWAII\nADVISORY NR: 2026/1\n" +
		"OBS VA DTG: " + issued[6:8] + "/" + issued[9:13] + "Z\nOBS VA CLD: SFC/FL150 N1930 W15520 - N1930 W15510 - N1920 W15510 - N1930 W15520 MOV W 10KT\nNXT ADVISORY: " + next + "\n"}
}

// Ash above a volcano joins the hazard of other sources for it, in any order. The last advisory
// does not end their reports.
func TestAshIsOfTheVolcanoThatOthersTellOf(t *testing.T) {
	now := hazard.At(time.Date(2026, 9, 18, 0, 0, 0, 0, time.UTC))
	weekly := given{"gvp", string(server.ReadShared(t, "feeds/gvp/WeeklyVolcanoRSS-20260917-excerpt.xml"))}
	ash, last := ofVAAC("20260917/2300Z", "WILL BE ISSUED BY 20260918/0500Z"), ofVAAC("20260917/2345Z", "NO FURTHER ADVISORIES")
	for _, order := range [][]given{{weekly, ash, last}, {ash, weekly, last}, {last, ash, weekly}} {
		d := newDesk(t)
		d.takeGiven(now, order...)
		const want = "gvp:332010 vaac:332010"
		if got := d.withEvent("vaac:332010"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if h := d.event("vaac", "332010"); h.Status != hazard.Active || h.Severity != hazard.Information || h.Name == "Volcanic Ash - Kilauea, Hawaii" {
			t.Errorf("%s, %s, %s", h.Status, h.Severity, h.Name)
		}
	}
	d := newDesk(t) // no other source reports it
	d.takeGiven(now, ash)
	if h := d.event("vaac", "332010"); h.Status != hazard.Active || h.End.String() != "2026-09-18T08:00:00.000Z" {
		t.Errorf("%s until %s", h.Status, h.End)
	}
	d.takeGiven(now, last)
	if h := d.event("vaac", "332010"); h.Status == hazard.Active || h.Longitude == 0 {
		t.Errorf("after the last advisory: %s at %v", h.Status, h.Longitude)
	}
}
