package usgs

import (
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// Name is the source's name.
const Name = "usgs"

// Source describes the source. New earthquakes are polled each minute, as often as USGS updates
// them. The week's significant ones are polled too, for PAGER colors and shake maps that arrive
// later.
func Source() source.Source {
	const summary = "https://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/"
	return source.Source{
		Name: Name, Title: "USGS earthquakes", Parse: skim,
		Feeds: []source.Feed{
			{URL: summary + "all_day.geojson", Every: time.Minute, MaxBytes: maxBytes},
			{URL: summary + "4.5_week.geojson", Every: 15 * time.Minute, MaxBytes: maxBytes},
		},
		Covers: "earthquakes: the last day, and M 4.5 and above of the week; details with products when they have more",
		Types:  []hazard.Type{hazard.Earthquake}, Languages: []string{"en"},
		Home:    "https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php",
		License: "public domain", Attribution: "U.S. Geological Survey",
		Slight: seismic.Slight,
		Rank:   source.Ranks{hazard.Earthquake: source.Responsible},
		Coverage: []source.Coverage{
			{Role: source.RoleResponsible, Countries: []string{"US", "PR", "VI", "GU", "AS", "MP"}, From: "what the regional networks locate",
				Cite: "Stafford Act, 42 U.S.C. 5132, delegated to USGS; the Advanced National Seismic System"},
			{Role: source.RoleWatches, World: true, From: "M 4.5",
				Cite: "USGS FAQ: the National Earthquake Information Center locates M 4.5 and above worldwide"},
		},
		Missing: missing,
		Lists: source.Lists{InForce: source.No, Complete: source.No, Identity: "any id that a network gave it", NoEnd: seismic.NoEnd,
			Cite: "https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php: lists of the past hour, day and week; a deleted event says so itself"},
		Lives: seismic.Lives,
	}
}

// missing returns the address of the detail of an earthquake that a summary does not contain.
// Absence only means something in the summary of all earthquakes of a day, and only for earthquakes
// from within that day: older ones leave the summary because of their age.
func missing(feed, event string, start, now hazard.Instant) string {
	const margin = time.Hour // the day's limit moves while USGS makes the feed
	if !strings.Contains(feed, "/all_day") || start < now.Add(margin-24*time.Hour) || start > now.Add(-10*time.Minute) {
		return ""
	}
	return detailURL(event)
}
