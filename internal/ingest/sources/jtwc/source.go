package jtwc

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name in reports.
const Name = "jtwc"

// site is the address of the products.
const site = "https://www.metoc.navy.mil/jtwc/"

// Source describes the source: the index and the advisories. The index links to the text of each
// warning (every 6 hours, in the Southern Hemisphere every 12). The advisories are issued daily and
// when a storm begins, and replace the index when that fails.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "JTWC tropical cyclones", Parse: Parse, Warns: true,
		Feeds: []source.Feed{
			{URL: site + "rss/jtwc.rss", Every: 10 * time.Minute, MaxBytes: 1 << 20},
			{URL: site + "products/abpwweb.txt", Every: 30 * time.Minute, MaxBytes: 1 << 20},
			{URL: site + "products/abioweb.txt", Every: 30 * time.Minute, MaxBytes: 1 << 20},
		},
		Covers: "tropical cyclones of the western North Pacific, the Indian Ocean and the Southern Hemisphere",
		Types:  []hazard.Type{hazard.Cyclone}, Languages: []string{"en"},
		Home:    site + "jtwc.html",
		License: "public domain", Attribution: "U.S. Joint Typhoon Warning Center",
		Rank: source.Ranks{hazard.Cyclone: source.National},
		Coverage: []source.Coverage{{Role: source.RoleWatches, Areas: []source.Area{
			source.Box("western North Pacific", 100, 0, 180, 60), source.Box("North Indian Ocean", 40, 0, 100, 30),
			source.Box("South Indian and South Pacific Ocean", 20, -50, -120, 0),
		}, Cite: "JTWC, \"Frequently Asked Questions\": warnings for U.S. government agencies from the coast of Africa to the Americas, not for the public of any state"}},
		Lasts: func(string, hazard.Instant, hazard.Instant) bool { return true },
		Lists: source.Lists{Identity: "ATCF number", NoEnd: "a day from the last warning",
			Cite: "the recordings: an ocean has warnings, or the words that there are none; two indexes that lack a storm end it"},
		Lives: []source.Life{{Of: "a warning", For: life}},
	}
}
