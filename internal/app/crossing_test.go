package app

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/poll"
)

// Bonnie crossed Nicaragua in July 2022. The center numbered it AL02, then EP04: it is one storm.
func TestAStormThatCrossesIntoAnotherBasinIsOneHazard(t *testing.T) {
	storm := func(id, issued, longitude string) string {
		return fmt.Sprintf(`{"id":%q,"name":"Bonnie","classification":"TS","intensity":"45","latitudeNumeric":11.2,"longitudeNumeric":%s,"lastUpdate":%q}`, id, longitude, issued)
	}
	atlantic, pacific := storm("al022022", "2022-07-02T03:00:00.000Z", "-83.5"), storm("ep042022", "2022-07-02T15:00:00.000Z", "-86.9")
	// The RSS of a basin.
	calm := `<rss version="2.0"><channel><title>NHC</title><item><title>There are no tropical cyclones at this time.</title></item></channel></rss>`
	for name, lists := range map[string][]string{
		"from one list to the next":      {atlantic, pacific, pacific},
		"in both for a while":            {atlantic, atlantic + "," + pacific, pacific, pacific},
		"in none for a while":            {atlantic, "", "", pacific},
		"the new number before the old":  {pacific, pacific + "," + atlantic, pacific},
		"the list is late with the rest": {atlantic, pacific, atlantic + "," + pacific, pacific, pacific},
	} {
		t.Run(name, func(t *testing.T) {
			s := emptyStore(t)
			known := BuiltIn()
			src, err := known.Find("nhc")
			if err != nil {
				t.Fatal(err)
			}
			replay := poll.NewReplay(s, known.Intake(s), hazard.MinInstant, slog.New(slog.DiscardHandler))
			at := time.Date(2022, 7, 2, 15, 10, 0, 0, time.UTC)
			take := func(list string) {
				t.Helper()
				for i, f := range src.Feeds {
					payload := calm
					if i == 0 {
						payload = `{"activeStorms":[` + list + `]}`
					}
					if _, err := replay.Take(t.Context(), &src, f.URL, []byte(payload), nil, hazard.At(at)); err != nil {
						t.Fatal(err)
					}
				}
				at = at.Add(10 * time.Minute)
			}
			for _, list := range lists {
				take(list)
			}
			check := func(when string, status hazard.Status) {
				t.Helper()
				for _, ref := range []string{"nhc:al022022", "nhc:ep042022"} {
					all, err := s.Hazards.Called(t.Context(), ref)
					if err != nil || len(all) != 1 {
						t.Fatalf("%s: %s is %d hazards, error %v", when, ref, len(all), err)
					}
					h := all[0]
					if h.Status != status || h.Longitude != -86.9 || h.Start.Time().Format(time.RFC3339) != "2022-07-02T03:00:00Z" || !strings.HasSuffix(h.Name, "Bonnie") {
						t.Errorf("%s: %s is %s %q at %v since %v", when, ref, h.Status, h.Name, h.Longitude, h.Start)
					}
				}
			}
			check("in the Pacific", hazard.Active)
			take("")
			take("")
			check("in no list", hazard.Expired)
		})
	}
}
