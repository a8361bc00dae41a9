// Package sample makes typical hazards of a busy day, for the programs below bench.
package sample

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// Fill writes n active hazards into the store, in the proportions of a busy day: many advisories,
// few warnings. Each has a name and a text as long as those of weather services, so that its JSON
// is about 1.2 kB. The same n makes the same hazards, apart from their times.
func Fill(ctx context.Context, s *store.Store, n int, now hazard.Instant) error {
	const batch = 1000
	r := rand.New(rand.NewPCG(uint64(n), 1))
	for done := 0; done < n; {
		_, err := s.Write(ctx, now, store.Origin{User: "bench"}, func(tx *store.Tx) error {
			for range min(batch, n-done) {
				if err := tx.SaveHazard(Hazard(r, done, now), nil); err != nil {
					return err
				}
				done++
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

var kinds = []struct {
	kind     hazard.Type
	name     string
	severity hazard.Severity
	weight   int
}{
	{hazard.Flood, "Flood Advisory", hazard.Advisory, 30},
	{hazard.WinterStorm, "Winter Weather Advisory", hazard.Advisory, 20},
	{hazard.HighWind, "Wind Advisory", hazard.Advisory, 15},
	{hazard.Earthquake, "M 4.8 earthquake", hazard.Information, 15},
	{hazard.Wildfire, "Red Flag Warning", hazard.Watch, 8},
	{hazard.Storm, "Severe Thunderstorm Watch", hazard.Watch, 7},
	{hazard.Flood, "Flash Flood Warning", hazard.Warning, 4},
	{hazard.Tornado, "Tornado Warning", hazard.Warning, 1},
}

// Hazard returns the i-th of the hazards that r makes.
func Hazard(r *rand.Rand, i int, now hazard.Instant) *hazard.Hazard {
	pick := r.IntN(100)
	k := kinds[0]
	for _, k = range kinds {
		if pick -= k.weight; pick < 0 {
			break
		}
	}
	var id uuid.UUID
	for j := range id {
		id[j] = byte(r.Uint32())
	}
	start := now.Add(-time.Duration(r.IntN(72*3600)) * time.Second)
	return &hazard.Hazard{
		Measurements: measured(k.kind, i), UUID: id, Name: fmt.Sprintf("%s for %s", k.name, places[r.IntN(len(places))]), Description: text(r, 480), Type: k.kind, Severity: k.severity,
		Category: hazard.Event, Status: hazard.Active, AutoExpire: i%2 == 0, Start: start, End: now.Add(24*time.Hour + time.Duration(r.IntN(72*3600))*time.Second),
		Created: start, LastUpdate: start, Updated: start, Creator: "w-nws.webmaster@noaa.gov", Source: "nws", OrgID: -1,
		Longitude: float64(r.IntN(360_000_000))/1e6 - 180, Latitude: float64(r.IntN(170_000_000))/1e6 - 85,
		URL: fmt.Sprintf("https://api.weather.gov/alerts/urn:oid:2.49.0.1.840.0.%x.001.1", id[:]),
	}
}

// measured returns the measurements of the i-th hazard: certainty and urgency for all, as from the
// NWS, and a size if the type has one.
func measured(kind hazard.Type, i int) []hazard.Measurement {
	part := float64(i%997) / 997
	all := []hazard.Measurement{{Name: hazard.Certainty, Value: float64(1 + i%4)}, {Name: hazard.Urgency, Value: float64(1 + i%3)}}
	switch kind {
	case hazard.Earthquake:
		all = []hazard.Measurement{{Name: hazard.Depth, Value: float64(i % 601)}, {Name: hazard.Magnitude, Value: 2.5 + math.Round(part*part*60)/10, Scale: "mww"}}
	case hazard.Wildfire:
		all = append([]hazard.Measurement{{Name: hazard.BurntArea, Value: math.Round(part * part * 100_000)}}, all...)
	case hazard.HighWind, hazard.Storm, hazard.Tornado:
		all = append(all, hazard.Measurement{Name: hazard.Wind, Value: math.Round(part * 250)})
	}
	for j := range all {
		all[j].Source = "nws"
	}
	return all
}

// text returns words up to a length, in lines like those of alerts.
func text(r *rand.Rand, length int) string {
	var b strings.Builder
	column := 0
	for b.Len() < length {
		w := words[r.IntN(len(words))]
		if r.IntN(12) == 0 {
			w = fmt.Sprint(r.IntN(2400))
		}
		if column += len(w) + 1; column > 65 {
			b.WriteByte('\n')
			column = 0
		} else if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	return b.String()
}

var places = []string{
	"Northern Erie; Genesee; Wyoming Counties", "Coastal Waters from Cape Fear to Little River Inlet", "142 km S of Sand Point, Alaska",
	"Los Angeles County Mountains", "Western Beaverhead County", "Lower Rio Grande Valley", "Upper Kobuk Valleys", "the island of Hawaii, windward side",
	"Southern Sangre de Cristo Mountains above 8500 feet", "Central Platte River basin", "Hampton Roads and the Eastern Shore", "Kermadec Islands region",
}

var words = strings.Fields(`the of and to in at from until is are be will with for on areas by this may or a through AM PM EST Wednesday Thursday
	evening morning afternoon tonight tomorrow expected possible likely occurring continue continues issued remains effect snow rain wind winds
	gusts heavy moderate flooding flash river creek streams roads low-lying water stage feet inches mph visibility conditions hazardous travel
	difficult impossible slow down use caution drive drown turn around move higher ground trees power lines outages damage hail tornado radar
	indicated emergency management reported law enforcement rainfall amounts additional between local rates per hour impacts hazard source
	locations include near northern southern eastern western county mountains valley coastal beaches surf rip currents fire weather humidity
	dry fuels burning not recommended temperatures wind chill frostbite exposed skin minutes instructions precautionary preparedness actions
	monitor later forecasts alert warnings elevation magnitude depth kilometres shaking felt aftershocks`)
