package hazard

import (
	"fmt"
	"time"
)

// Type is the kind of a hazard: a type_id of the base interface (section 2.3). Identifiers are case-sensitive.
type Type string

// The configured types.
const (
	Accident           Type = "ACCIDENT"
	ActiveShooter      Type = "ACTIVESHOOTER"
	Avalanche          Type = "AVALANCHE"
	Biomedical         Type = "BIOMEDICAL"
	CivilUnrest        Type = "CIVILUNREST"
	Combat             Type = "COMBAT"
	Conflict           Type = "CONFLICT"
	Cyber              Type = "CYBER"
	Drought            Type = "DROUGHT"
	Earthquake         Type = "EARTHQUAKE"
	Equipment          Type = "EQUIPMENT"
	ExtremeTemperature Type = "EXTREMETEMPERATURE"
	Flood              Type = "FLOOD"
	HighSurf           Type = "HIGHSURF"
	HighWind           Type = "HIGHWIND"
	Incident           Type = "INCIDENT"
	Landslide          Type = "LANDSLIDE"
	ManMade            Type = "MANMADE"
	Marine             Type = "MARINE"
	Occurrence         Type = "OCCURRENCE"
	PoliticalConflict  Type = "POLITICALCONFLICT"
	Storm              Type = "STORM"
	Terrorism          Type = "TERRORISM"
	Tornado            Type = "TORNADO"
	Cyclone            Type = "CYCLONE"
	Tsunami            Type = "TSUNAMI"
	Unit               Type = "UNIT"
	Volcano            Type = "VOLCANO"
	Weapons            Type = "WEAPONS"
	Wildfire           Type = "WILDFIRE"
	WinterStorm        Type = "WINTERSTORM"
)

// TypeInfo is a row of the base interface's table of types, plus the default life of such a hazard.
type TypeInfo struct {
	ID   Type
	Name string // for POLITICALCONFLICT the base interface has a file name here
	Icon string // file name below /icons/hazard/large/
	// Life is how long a hazard lasts if no end is given.
	Life time.Duration
}

const day = 24 * time.Hour

// types is in the order of the base interface, section 2.3. Lives come from the rules of sources,
// otherwise from judgment (reasons in docs/sources.md).
var types = []TypeInfo{
	{Accident, "Accident", "accident.png", day},
	{ActiveShooter, "Active Shooter", "active_shooter.png", day},
	{Avalanche, "Avalanche", "avalanche.png", day},
	{Biomedical, "Biomedical", "bio_medical.png", day},
	{CivilUnrest, "Civil Unrest", "civil_unrest.png", day},
	{Combat, "Combat", "combat.png", day},
	{Conflict, "Conflict", "conflict.png", day},
	{Cyber, "Cyber", "cyber.png", day},
	{Drought, "Drought", "drought.png", 30 * day},
	{Earthquake, "Earthquake", "earthquake.png", day},
	{Equipment, "Equipment", "equipment.png", day},
	{ExtremeTemperature, "Extreme Temperature", "extreme_temperature.png", day},
	{Flood, "Flood", "flood.png", 48 * time.Hour},
	{HighSurf, "High Surf", "high_surf.png", 12 * time.Hour},
	{HighWind, "High Wind", "high_wind.png", 12 * time.Hour},
	{Incident, "Incident", "incident.png", day},
	{Landslide, "Landslide", "landslide.png", 36 * time.Hour},
	{ManMade, "Man-Made", "man_made.png", day},
	{Marine, "Marine", "marine.png", 12 * time.Hour},
	{Occurrence, "Occurrence", "occurrence.png", day},
	{PoliticalConflict, "political_conflict.png", "political_conflict.png", day},
	{Storm, "Storm", "storm.png", 12 * time.Hour},
	{Terrorism, "Terrorism", "terrorism.png", day},
	{Tornado, "Tornado", "tornado.png", time.Hour},
	{Cyclone, "Tropical Cyclone", "cyclone.png", day},
	{Tsunami, "Tsunami", "tsunami.png", day},
	{Unit, "Unit", "unit.png", day},
	{Volcano, "Volcanic Eruption", "volcano.png", 5 * day},
	{Weapons, "Weapons", "weapons.png", day},
	{Wildfire, "Wildfire", "wildfire.png", 7 * day},
	{WinterStorm, "Winter Storm", "winter_storm.png", 12 * time.Hour},
}

// Types lists the configured types in the order of the base interface. The caller must not change the slice.
func Types() []TypeInfo { return types }

// Info returns the type's row, and whether the type is configured.
func (t Type) Info() (TypeInfo, bool) {
	return first(types, func(info *TypeInfo) bool { return info.ID == t })
}

// first returns the first element that satisfies is, and whether there is one.
func first[T any](list []T, is func(*T) bool) (found T, ok bool) {
	for i := range list {
		if is(&list[i]) {
			return list[i], true
		}
	}
	return found, false
}

// Severity says how dangerous a hazard is. Severities can be compared: a greater one is more severe
// (base interface, section 1.4). The zero Severity means none, below all others.
type Severity int8

// The severities from least to most severe.
const (
	NoSeverity Severity = iota
	Termination
	Information
	Advisory
	Watch
	Warning
)

// SeverityInfo is a row of the base interface's table of severities (section 2.4).
type SeverityInfo struct {
	Severity Severity
	ID       string
	Name     string
	Icon     string
	Colour   [3]uint8 // red, green, blue; the same in every system of the service
}

var severities = []SeverityInfo{
	{Termination, "TERMINATION", "Termination", "termination.png", [3]uint8{102, 102, 102}},
	{Information, "INFORMATION", "Information", "information.png", [3]uint8{49, 153, 240}},
	{Advisory, "ADVISORY", "Advisory", "advisory.png", [3]uint8{0, 255, 0}},
	{Watch, "WATCH", "Watch", "watch.png", [3]uint8{255, 255, 0}},
	{Warning, "WARNING", "Warning", "warning.png", [3]uint8{255, 0, 0}},
}

// Severities lists the severities in the order of the base interface. The caller must not change the slice.
func Severities() []SeverityInfo { return severities }

// ParseSeverity returns the severity of a severity_id, and whether there is one.
func ParseSeverity(id string) (Severity, bool) {
	info, ok := first(severities, func(s *SeverityInfo) bool { return s.ID == id })
	return info.Severity, ok
}

// String returns the severity_id.
func (s Severity) String() string {
	if s < Termination || s > Warning {
		return fmt.Sprintf("Severity(%d)", int(s))
	}
	return severities[s-Termination].ID
}

// MarshalText writes the severity_id.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses a severity_id.
func (s *Severity) UnmarshalText(b []byte) error {
	v, ok := ParseSeverity(string(b))
	if !ok {
		return fmt.Errorf("severity_ID: %q is not a severity", b)
	}
	*s = v
	return nil
}

// Category says whether a hazard is an ongoing event, a response, an exercise and so on: a
// category_id of the base interface (section 2.5).
type Category string

// The categories.
const (
	Event    Category = "EVENT"
	Exercise Category = "EXERCISE"
	Other    Category = "OTHER"
	Response Category = "RESPONSE"
)

// CategoryInfo is a row of the base interface's table of categories.
type CategoryInfo struct {
	ID    Category
	Name  string
	Shape string // the geometry around the type's icon
}

var categories = []CategoryInfo{
	{Event, "Event", "Circle"},
	{Exercise, "Exercise", "Triangle"},
	{Other, "Other", "Hexagon"},
	{Response, "Response", "Star"},
}

// Categories lists the categories in the order of the base interface. The caller must not change the slice.
func Categories() []CategoryInfo { return categories }

// Info returns the category's row, and whether the category exists.
func (c Category) Info() (CategoryInfo, bool) {
	return first(categories, func(info *CategoryInfo) bool { return info.ID == c })
}
