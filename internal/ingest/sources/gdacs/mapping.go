package gdacs

import (
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/sources/cyclone"
)

// kind is a row of the table of event types.
type kind struct {
	code  string
	typ   hazard.Type
	label string // type in the names of events
	life  time.Duration
	renew renewal
	// footprint means that the polygons show the affected area. For volcanoes, and for earthquakes
	// except the shaking, they are circles of a fixed size.
	footprint bool
	basis     string
}

// renewal is the time from which the life of an event is counted.
type renewal int

const (
	once       renewal = iota // its beginning; never renewed
	byData                    // its last data (todate)
	byRevision                // its last revision (datemodified), unless that is long after the last data
)

const day = 24 * time.Hour

// kinds is the table of event types. An event without a row is of an unknown type. The codes are as
// in gdacs.org/Knowledge.
var kinds = []kind{
	{code: "EQ", typ: hazard.Earthquake, label: "Earthquake", life: day, renew: once,
		basis: "judgement: 24 h, as for USGS; a new solution renews nothing; see redQuakeLife and Lasts"},
	{code: "TC", typ: hazard.Cyclone, label: "Tropical Cyclone", life: day, renew: byData, footprint: true,
		basis: "24 h after the last advisory, which todate is; TC1001253 was revised 11 weeks after its end"},
	{code: "FL", typ: hazard.Flood, label: "Flood", life: 96 * time.Hour, renew: byData, footprint: true,
		basis: "GDACS itself calls floods current for 4 d; FL1102983 was revised two months after its end"},
	{code: "VO", typ: hazard.Volcano, label: "Volcanic Eruption", life: 5 * day, renew: byRevision,
		basis: "driven by ash advisories: 5 d after the last, as PDC has it"},
	{code: "DR", typ: hazard.Drought, label: "Drought", life: 30 * day, renew: byRevision, footprint: true,
		basis: "judgement: 30 d; revised daily while it lasts, and 41 of 42 recorded ones are never current"},
	{code: "WF", typ: hazard.Wildfire, label: "Wildfire", life: 27 * time.Hour, renew: byRevision, footprint: true,
		basis: "driven by satellites: 27 h after the last, as PDC has it; todate is a whole day, revised the next"},
	{code: "TS", typ: hazard.Tsunami, label: "Tsunami", life: day, renew: byData,
		basis: "judgement: 24 h, as for a bulletin of tsunami.gov"},
}

func kindOf(code string) *kind {
	for i := range kinds {
		if kinds[i].code == code {
			return &kinds[i]
		}
	}
	return nil
}

const (
	// redQuakeLife is our judgment: search and rescue is urgent for three days.
	redQuakeLife = 72 * time.Hour
	// longestListed is how long after an earthquake GDACS's list of current events is believed. It
	// really lists earthquakes for four days (api-search-EQ-202607.json); for longer, the list is
	// probably not updated.
	longestListed = 10 * day
	// listStep is the step in ms by which being listed renews an earthquake, so that its end moves
	// four times a day.
	listStep = hazard.Instant(6 * time.Hour / time.Millisecond)
	// lateRevision is how long after its last data a revision still renews an event. Later
	// revisions are only corrections. Recorded wildfires and droughts are revised within two days.
	lateRevision = 7 * day
	// minQuake is the lowest magnitude of a green earthquake that is a hazard. From this
	// magnitude, USGS lists earthquakes worldwide.
	minQuake = 4.5
)

// levels is the table of alert levels (gdacs.org/Knowledge: international help is likely needed at
// Red, may be needed at Orange, and is not needed at Green). The level of the episode is the
// present one; the level of the event was its highest.
var levels = []struct {
	word     string
	severity hazard.Severity
}{
	{"Red", hazard.Warning},
	{"Orange", hazard.Watch},
	{"Green", hazard.Information},
}

// storms is the table of the words for a storm's present wind (recordings: "Tropical Storm (maximum
// wind speed of 269 km/h)"; the number may be the maximum of its whole life). A color rates the
// impact on people, a word the strength of the storm; the higher level counts (D29). For other
// words, such as those for a remnant low or a storm inland, only the color counts.
var storms = []struct {
	words    string
	severity hazard.Severity
}{
	{"Hurricane/Typhoon", cyclone.Level(64)},
	{"Tropical Storm", cyclone.Level(cyclone.StormForce)},
	{"Tropical Depression", cyclone.Level(0)},
}

// stormLevel returns the level of a cyclone from the words for its wind, or NoSeverity if there are
// none.
func stormLevel(words string) hazard.Severity {
	for _, s := range storms {
		if strings.HasPrefix(strings.TrimSpace(words), s.words) {
			return s.severity
		}
	}
	return hazard.NoSeverity
}

// levelOf reads a level in upper or lower case; empty if it is invalid.
func levelOf(word string) (string, hazard.Severity) {
	for _, l := range levels {
		if strings.EqualFold(strings.TrimSpace(word), l.word) {
			return l.word, l.severity
		}
	}
	return "", hazard.NoSeverity
}

// areaRow is a row of the table of polygon classes.
type areaRow struct {
	class string // first letters of the class
	kinds string // event types with this class
	role  hazard.AreaRole
	basis string
}

// areaRows is the table of polygon classes; the first row that fits is used. A class without a row
// is not an affected area: Poly_Circle (100 km around an earthquake, 30 km around a volcano),
// Poly_Global (the wider surroundings of a flood), Point_* (positions as tiny circles).
var areaRows = []areaRow{
	{"Poly_Affected", "FL", hazard.ImpactArea, "the flooded area"},
	{"Poly_area", "DR WF FL", hazard.ImpactArea, "where it is dry, or burnt"},
	{"Poly_Green", "TC", hazard.AlertArea, "wind of 60 km/h and more: no alert level"},
	{"Poly_Orange", "TC", hazard.ImpactArea, "wind of 90 km/h and more: no alert level"},
	{"Poly_Red", "TC", hazard.ImpactArea, "wind of 120 km/h and more: no alert level"},
	{"Poly_Cones", "TC", hazard.TrackArea, "where the centre may go"},
	{"Line_Line_", "TC", hazard.TrackArea, "where it went and is expected to go; number and label are in no order"},
}

// shaking is the class of the areas with one intensity (Modified Mercalli) of an earthquake,
// followed by the number. From VI there is damage. From IV many people feel it, which is our
// threshold for an alert area. Lower intensities are ignored.
const (
	shaking     = "Poly_SMPInt_"
	minFelt     = 4
	minDamaging = 6
)
