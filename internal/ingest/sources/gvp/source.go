package gvp

import (
	"regexp"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name in reports.
const Name = "gvp"

// Source describes the source, which has one feed. It is updated on Thursdays; the short interval
// is for corrections.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "Smithsonian weekly volcanic activity", Parse: Parse,
		Feeds:  []source.Feed{{URL: "https://volcano.si.edu/news/WeeklyVolcanoRSS.xml", Every: 6 * time.Hour, MaxBytes: 8 << 20}},
		Covers: "the weekly volcanic activity report of the Smithsonian Institution and USGS",
		Types:  []hazard.Type{hazard.Volcano}, Languages: []string{"en"},
		Home:    "https://volcano.si.edu/reports_weekly.cfm",
		License: "with attribution, see the terms of the Smithsonian", Attribution: "Smithsonian Institution, Global Volcanism Program",
		Rank: source.Ranks{hazard.Volcano: source.Specialist},
		Coverage: []source.Coverage{{Role: source.RoleWatches, World: true, From: "new activity, or notable changes, within a week",
			Cite: "https://volcano.si.edu/reports_weekly.cfm: criteria and disclaimers; it is not a comprehensive list"}},
		// The number identifies the volcano; each of its eruptions is a separate hazard.
		Schemes: []source.Scheme{{Name: Name, Type: hazard.Volcano, Bare: regexp.MustCompile(`^\d{6}$`)}},
		Lists: source.Lists{Complete: source.No, Identity: "number of the volcano", NoEnd: "eight days from the report",
			Cite: "https://volcano.si.edu/reports_weekly.cfm: not a comprehensive list"},
		Lives: []source.Life{{Of: "a weekly report", For: life}},
	}
}
