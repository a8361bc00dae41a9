package nws

import (
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
)

// row is one of our types, with the service's names and codes for it.
type row struct {
	typ   hazard.Type // empty if it is not a hazard
	names []name
	codes string // VTEC phenomena
	basis string // the source of this mapping, or "judgement" if there is none
}

// name is an event name of the service, with the letter of its level (see levels). The level is
// used if there is no VTEC string.
type name struct {
	event string
	level byte
}

// levels are the levels of VTEC's significances. Outlooks (O), forecasts (F) and synopses (N) are
// too low to be hazards.
var levels = map[byte]hazard.Severity{'W': hazard.Warning, 'A': hazard.Watch, 'Y': hazard.Advisory, 'S': hazard.Information}

// The sources that the citations of the table name.
const (
	vtecCodes = "NWS Instruction 10-1703, appendix A (VTEC)"
	apiTypes  = "api.weather.gov/alerts/types"
	formerly  = "api.weather.gov/alerts/types before 2026"
	nonWX     = "NWS Instruction 10-518 (non-weather emergency messages); CAP severity is Unknown, so the name decides"
)

// table contains every event name of /alerts/types, former names, and every VTEC phenomenon.
var table = []row{
	{hazard.Tornado, []name{{"Tornado Warning", 'W'}, {"Tornado Watch", 'A'}}, "TO", vtecCodes},
	{hazard.Storm, []name{
		{"Severe Thunderstorm Warning", 'W'}, {"Severe Thunderstorm Watch", 'A'}, {"Severe Weather Statement", 'S'},
		{"Dust Storm Warning", 'W'}, {"Blowing Dust Warning", 'W'}, {"Blowing Dust Advisory", 'Y'}, {"Dust Advisory", 'Y'},
	}, "SV DS DU", vtecCodes},
	{hazard.Storm, []name{{"Special Weather Statement", 'S'}}, "", "judgement: most tell of storms below warning strength"},
	{hazard.HighWind, []name{
		{"Extreme Wind Warning", 'W'}, {"High Wind Warning", 'W'}, {"High Wind Watch", 'A'}, {"Wind Advisory", 'Y'},
		{"Lake Wind Advisory", 'Y'}, {"Brisk Wind Advisory", 'Y'},
	}, "EW HW WI LW BW", vtecCodes},
	{hazard.Flood, []name{
		{"Flash Flood Warning", 'W'}, {"Flash Flood Watch", 'A'}, {"Flash Flood Statement", 'S'},
		{"Flood Warning", 'W'}, {"Flood Watch", 'A'}, {"Flood Advisory", 'Y'}, {"Flood Statement", 'S'},
		{"Coastal Flood Warning", 'W'}, {"Coastal Flood Watch", 'A'}, {"Coastal Flood Advisory", 'Y'}, {"Coastal Flood Statement", 'S'},
		{"Lakeshore Flood Warning", 'W'}, {"Lakeshore Flood Watch", 'A'}, {"Lakeshore Flood Advisory", 'Y'}, {"Lakeshore Flood Statement", 'S'},
	}, "FF FA FL CF LS", vtecCodes},
	{hazard.Flood, []name{{"Storm Surge Warning", 'W'}, {"Storm Surge Watch", 'A'}}, "SS", vtecCodes + "; inundation, not the cyclone itself"},
	{hazard.Flood, []name{
		{"Arroyo and Small Stream Flood Advisory", 'Y'}, {"Small Stream Flood Advisory", 'Y'},
		{"Urban and Small Stream Flood Advisory", 'Y'}, {"Hydrologic Advisory", 'Y'},
	}, "HY", formerly + "; of HY only the outlook, significance O, is no hazard"},
	{hazard.Cyclone, []name{
		{"Hurricane Warning", 'W'}, {"Hurricane Watch", 'A'}, {"Typhoon Warning", 'W'}, {"Typhoon Watch", 'A'},
		{"Tropical Storm Warning", 'W'}, {"Tropical Storm Watch", 'A'}, {"Tropical Cyclone Local Statement", 'S'},
	}, "HU TY TR", vtecCodes},
	{hazard.Cyclone, nil, "HI TI", vtecCodes + "; Inland Hurricane and Inland Tropical Storm"},
	{hazard.Cyclone, []name{
		{"Hurricane Local Statement", 'S'}, {"Typhoon Local Statement", 'S'}, {"Tropical Storm Local Statement", 'S'},
		{"Tropical Depression Local Statement", 'S'},
	}, "", formerly},
	{hazard.HighSurf, []name{
		{"High Surf Warning", 'W'}, {"High Surf Advisory", 'Y'}, {"Rip Current Statement", 'S'}, {"Beach Hazards Statement", 'S'},
	}, "SU RP BH", vtecCodes},
	{hazard.Marine, []name{
		{"Special Marine Warning", 'W'}, {"Marine Weather Statement", 'S'}, {"Gale Warning", 'W'}, {"Gale Watch", 'A'},
		{"Storm Warning", 'W'}, {"Storm Watch", 'A'}, {"Hurricane Force Wind Warning", 'W'}, {"Hurricane Force Wind Watch", 'A'},
		{"Hazardous Seas Warning", 'W'}, {"Hazardous Seas Watch", 'A'}, {"Small Craft Advisory", 'Y'},
		{"Heavy Freezing Spray Warning", 'W'}, {"Heavy Freezing Spray Watch", 'A'}, {"Freezing Spray Advisory", 'Y'},
		{"Low Water Advisory", 'Y'},
	}, "MA GL SR HF SE SC SI SW RB UP ZY LO", vtecCodes},
	{hazard.Marine, nil, atSea, vtecCodes + "; fog, smoke and ash at sea, under the names that they have ashore"},
	{hazard.WinterStorm, []name{
		{"Blizzard Warning", 'W'}, {"Winter Storm Warning", 'W'}, {"Winter Storm Watch", 'A'}, {"Winter Weather Advisory", 'Y'},
		{"Ice Storm Warning", 'W'}, {"Lake Effect Snow Warning", 'W'}, {"Snow Squall Warning", 'W'},
	}, "BZ WS WW IS LE LB ZR SN HS BS SB IP SQ", vtecCodes + "; SQ is snow squall, not a thunderstorm"},
	{hazard.WinterStorm, []name{{"Blizzard Watch", 'A'}, {"Lake Effect Snow Watch", 'A'}}, "", formerly},
	{hazard.ExtremeTemperature, []name{
		{"Extreme Heat Warning", 'W'}, {"Extreme Heat Watch", 'A'}, {"Heat Advisory", 'Y'}, {"Extreme Cold Warning", 'W'},
		{"Extreme Cold Watch", 'A'}, {"Cold Weather Advisory", 'Y'}, {"Freeze Warning", 'W'}, {"Freeze Watch", 'A'}, {"Frost Advisory", 'Y'},
	}, "XH EH HT EC CW WC FZ FR HZ", vtecCodes + "; WC is wind chill: temperature, not wind"},
	{hazard.ExtremeTemperature, []name{
		{"Excessive Heat Warning", 'W'}, {"Excessive Heat Watch", 'A'}, {"Hard Freeze Warning", 'W'}, {"Hard Freeze Watch", 'A'},
		{"Wind Chill Warning", 'W'}, {"Wind Chill Watch", 'A'}, {"Wind Chill Advisory", 'Y'},
	}, "", formerly},
	{hazard.Wildfire, []name{{"Fire Warning", 'W'}}, "", nonWX},
	{hazard.Wildfire, []name{{"Red Flag Warning", 'A'}, {"Extreme Fire Danger", 'A'}, {"Fire Weather Watch", 'Y'}}, fireWeather,
		"judgement: weather that favours fire, and no fire yet, is one level less"},
	{hazard.Tsunami, []name{{"Tsunami Warning", 'W'}, {"Tsunami Watch", 'A'}, {"Tsunami Advisory", 'Y'}}, "TS", vtecCodes},
	{hazard.Volcano, []name{{"Volcano Warning", 'W'}, {"Ashfall Warning", 'W'}, {"Ashfall Advisory", 'Y'}}, "VO AF", vtecCodes},
	{hazard.Avalanche, []name{{"Avalanche Warning", 'W'}, {"Avalanche Watch", 'A'}, {"Avalanche Advisory", 'Y'}}, "AV", nonWX},
	{hazard.Earthquake, []name{{"Earthquake Warning", 'W'}}, "", nonWX},
	{hazard.Landslide, nil, "DF", vtecCodes + "; debris flow"},
	{hazard.Accident, []name{
		{"Hazardous Materials Warning", 'W'}, {"Nuclear Power Plant Warning", 'W'}, {"Radiological Hazard Warning", 'W'},
	}, "", nonWX},
	{hazard.Incident, []name{
		{"Civil Danger Warning", 'W'}, {"Law Enforcement Warning", 'W'}, {"Shelter In Place Warning", 'W'},
		{"Evacuation Immediate", 'W'}, {"Civil Emergency Message", 'A'}, {"Local Area Emergency", 'A'},
	}, "", nonWX + "; CIVILUNREST would say more than the source does"},
	{hazard.Equipment, []name{{"911 Telephone Outage", 'Y'}}, "", nonWX},
	{hazard.Occurrence, []name{
		{"Air Quality Alert", 'Y'}, {"Air Stagnation Advisory", 'Y'}, {"Dense Fog Advisory", 'Y'}, {"Dense Smoke Advisory", 'Y'},
		{"Freezing Fog Advisory", 'Y'},
	}, "AS AQ FG SM ZF", vtecCodes + "; SM is dense smoke, no wildfire"},
	{"", []name{{event: "Test"}, {event: "Administrative Message"}}, "", apiTypes + "; says nothing of the world"},
	{"", []name{{event: "Child Abduction Emergency"}, {event: "Blue Alert"}}, "", nonWX + "; a search for persons is no hazard"},
	{"", []name{{event: "Hydrologic Outlook"}, {event: "Hazardous Weather Outlook"}, {event: "Short Term Forecast"}}, "",
		apiTypes + "; an outlook is no alert"},
}

const (
	// atSea are the phenomena whose events have the same names on land, where they have another
	// type.
	atSea = "MF MS MH"
	// fireWeather gets a level one lower than its significance.
	fireWeather = "FW"
)

// entry is the table's type and level for a name.
type entry struct {
	typ   hazard.Type
	level hazard.Severity
}

var byName, byCode = index(table)

func index(table []row) (names map[string]entry, codes map[string]hazard.Type) {
	names, codes = map[string]entry{}, map[string]hazard.Type{}
	for _, r := range table {
		for _, n := range r.names {
			names[strings.ToLower(n.event)] = entry{r.typ, levels[n.level]}
		}
		for code := range strings.FieldsSeq(r.codes) {
			codes[code] = r.typ
		}
	}
	return names, codes
}

// kind is the result of the table for a message.
type kind struct {
	typ   hazard.Type // empty if it is not a hazard
	level hazard.Severity
	// unknown means that neither name nor phenomenon is in the table.
	unknown bool
	// foreign means that the VTEC string belongs to another kind of event, and so does not identify
	// this event.
	foreign bool
}

// classify returns the type and level of an event name, possibly with a VTEC string.
//
// The string has precedence: the phenomenon determines the type and the significance the level, so
// that a "Statement" that continues a warning stays WARNING. If the types of phenomenon and name
// differ, one of them is wrong. Then the name determines type and level, because people have read
// the name. There are two exceptions, in which the string has precedence: a statement may follow
// any event, and phenomena at sea have the same names as those on land.
func classify(event string, v *vtec) kind {
	event = strings.ToLower(strings.TrimSpace(event))
	named, isNamed := byName[event]
	if isNamed && named.typ == "" {
		return kind{}
	}
	if v == nil {
		if !isNamed {
			return kind{typ: hazard.Occurrence, level: lastWord(event), unknown: true}
		}
		return kind{typ: named.typ, level: named.level}
	}
	level := v.level()
	if level == hazard.NoSeverity {
		return kind{}
	}
	coded, isCoded := byCode[v.phenomenon]
	switch {
	case !isCoded && !isNamed:
		return kind{typ: hazard.Occurrence, level: level, unknown: true}
	case !isCoded:
		return kind{typ: named.typ, level: level}
	case !isNamed, coded == named.typ, strings.HasSuffix(event, "statement"), strings.Contains(atSea, v.phenomenon):
		return kind{typ: coded, level: level}
	}
	return kind{typ: named.typ, level: named.level, foreign: true}
}

// level returns the level of the significance, or NoSeverity if it is not a hazard.
func (v vtec) level() hazard.Severity {
	level := levels[v.significance]
	if v.phenomenon == fireWeather && level > hazard.Advisory {
		level--
	}
	return level
}

// lastWord returns the level from the last word of an unknown event name, or INFORMATION.
func lastWord(event string) hazard.Severity {
	words := strings.Fields(event)
	if len(words) == 0 {
		return hazard.Information
	}
	switch words[len(words)-1] {
	case "warning":
		return hazard.Warning
	case "watch":
		return hazard.Watch
	case "advisory", "alert":
		return hazard.Advisory
	}
	return hazard.Information
}
