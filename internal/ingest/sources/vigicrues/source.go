package vigicrues

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name in reports.
const Name = "vigicrues"

// Source describes the source. Bulletins are issued at 10:00 and 16:00, and more often in floods.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "Vigicrues flood vigilance", Parse: Parse, Warns: true,
		Feeds:  []source.Feed{{URL: "https://www.vigicrues.gouv.fr/services/1/InfoVigiCru.geojson", Every: 15 * time.Minute, MaxBytes: 32 << 20}},
		Covers: "floods of the 340 river stretches of France that the state watches: yellow, orange and red vigilance",
		Types:  []hazard.Type{hazard.Flood}, Countries: []string{"FR"}, Languages: []string{"fr"},
		Home:    "https://www.vigicrues.gouv.fr/services/v1.1",
		License: "etalab-2.0", Attribution: "Vigicrues, SCHAPI and the flood forecasting services of France",
		Rank: source.Ranks{hazard.Flood: source.Responsible},
		// Only the watched rivers are covered, of which no outline is built in: others flood without a word from here.
		Coverage: []source.Coverage{{Role: source.RoleUnknown, Cite: "Code de l'environnement, article L564-1: the state watches the rivers of the forecasting services, not all"}},
		Lists: source.Lists{InForce: source.Yes, Complete: source.Yes, Identity: "code of the stretch", NoEnd: "until the stretch is green, or leaves the list",
			Cite: "exchange scenario vic 1.1 of Sandre: a bulletin states each stretch; the recordings of 24 January 2021"},
		PlaceCodes: "ISO3166-1", // a stretch without a line is somewhere in France
	}
}
