package bbk

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
)

// Name is the source's name in reports.
const Name = "bbk"

// api is the address that the app uses.
const api = "https://warnung.bund.de/api31/"

// publishers are the publishers whose lists are read, as written in addresses.
var publishers = []string{"mowas", "katwarn", "biwapp", "police", "lhp", "dwd"}

// lists says what the list of MoWaS means. Its warnings have no end of their own, so they stay active
// for a day while the server is silent. That a warning is over when the list drops it is in lasts: it
// is known of MoWaS alone.
var lists = source.Lists{
	InForce: source.Yes, Silence: 24 * time.Hour,
	Identity: "references", NoEnd: "it lasts until the list drops it (MoWaS); 24 h from its issue (others)",
	Cite: "MoWaS, of which absent is over, too: github.com/jdemaeyer/brightsky issue 198 and seevee/cap_alerts; the recordings hold no end but in a Cancel. Of the other publishers' lists nothing is known",
}

// Source describes the source. The app polls the lists every five minutes; the servers allow every
// minute.
func Source() source.Source {
	var feeds []source.Feed
	for _, p := range publishers {
		// Only the list of MoWaS is known to hold what is in force.
		feeds = append(feeds, source.Feed{URL: api + p + "/mapData.json", Every: 2 * time.Minute, Fastest: time.Minute, MaxBytes: 8 << 20, Messages: p != "mowas"})
	}
	return source.Source{
		Name: Name, Title: "BBK warnings (NINA)", Parse: Parse, Feeds: feeds, Warns: true,
		Covers:    "warnings of Germany: MoWaS, KATWARN, BIWAPP, police, weather (DWD) and floods (LHP)",
		Countries: []string{"DE"}, Languages: []string{"de", "en"},
		Home:    "https://warnung.bund.de/",
		License: "not for commercial use, see the terms of the BBK", Attribution: "Bundesamt für Bevölkerungsschutz und Katastrophenhilfe (BBK), and the publisher that each warning names",
		Rank: source.Ranks{"": source.National, hazard.Cyclone: source.Relay}, // only a relay for cyclones: there are none in Germany
		Coverage: []source.Coverage{{Role: source.RoleResponsible, Countries: []string{"DE"},
			Cite: "Zivilschutz- und Katastrophenhilfegesetz (ZSKG), section 6: the federation and the states warn the population by MoWaS"}},
		Lists:    lists,
		Lasts:    lasts,
		Lives:    cap.Lives,
		PlaceURL: PlaceURL, ParsePlace: ParsePlace, PlaceCodes: "BBK",
		Places: func(kept source.Kept) source.Places { return kept },
	}
}
