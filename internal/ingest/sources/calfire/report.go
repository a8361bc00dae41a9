package calfire

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// life is how long an incident lasts without an update (our judgment: all recorded active ones were
// updated within a week).
const life = 14 * 24 * time.Hour

// large is the size from which a fire is a WATCH, in acres (our judgment: as for the fires of the
// interagency center and of satellites). The department has no levels, and evacuations are ordered
// by the sheriffs.
const large = 10_000

// others are the types of incidents that are not wildfires (recorded, and the filter of the
// department's page).
var others = []string{"Hazmat", "Flood", "Earthquake", "Structure Fire", "Vehicle Fire", "Prescribed Fire", "Law Enforcement", "Medical", "Rescue", "Other"}

// report converts an incident. It returns nil if the incident is not a wildfire, or not public, and
// a reason if it is rejected.
func (i *incident) report(now hazard.Instant) (*hazard.Report, string) {
	key := id(i.UniqueID)
	if key == "" {
		return nil, fmt.Sprintf("UniqueId: %q, expected one such as 2347b6fb-8468-46bb-9917-d5cea3f1efdd", lenient.ExcerptText(i.UniqueID))
	}
	if public, known := truth(i.Public); known && !public {
		return nil, source.Ignoring + "the department does not make the incident public (Public is false)"
	} else if !known && given(i.Public) {
		return nil, "Public: " + lenient.Excerpt(i.Public) + ", expected true or false"
	}
	kind := hazard.CleanLine(i.Type)
	if slices.ContainsFunc(others, func(o string) bool { return strings.EqualFold(o, kind) }) {
		return nil, source.Ignoring + "the incident is not a wildfire (Type)"
	}
	point := seismic.Position(i.Longitude, i.Latitude)
	var notes []string
	updated, fault := instant("Updated", i.Updated)
	if fault != "" {
		notes = append(notes, fault)
		updated = now
	}
	start, fault := instant("Started", i.Started)
	if fault != "" {
		notes = append(notes, fault)
		start = updated
	}
	called := strings.Trim(lenient.Clip(hazard.CleanLine(i.Name), 200), " ,;-")
	county := hazard.CleanLine(cmp.Or(i.County, strings.Join(i.Counties, ", ")))
	r := &hazard.Report{
		Source: Name, Key: key, Version: int64(updated), Type: hazard.Wildfire, Severity: hazard.Information, Category: hazard.Event, Start: start,
		Renewed: &updated, LifeMS: life.Milliseconds(), Point: point, Called: called, Refs: []string{Name + ":" + key}, URL: page(cmp.Or(i.URL, i.Page)),
		Name:    "Wildfire - " + strings.Join(slices.DeleteFunc([]string{called, counties(county), "California"}, func(s string) bool { return s == "" }), ", "),
		Comment: Name + ":" + key, Creator: "CAL FIRE",
	}
	if !source.Place(r, "US", namedCounties(county), i.Location) {
		return nil, fmt.Sprintf("Longitude, Latitude, County: %s, %s, %q, expected a position, or a county of California", i.Longitude.Said(), i.Latitude.Said(), lenient.ExcerptText(county))
	}
	if i.Acres.Known && i.Acres.Value >= large {
		r.Severity = hazard.Watch
	}
	source.Measure(r, hazard.BurntArea, i.Acres.Value*source.HaPerAcre, i.Acres.Known)
	source.Measure(r, hazard.Containment, i.Contained.Value, i.Contained.Known)
	active, known := truth(i.IsActive)
	if !known {
		active, known = truth(i.Active)
	}
	final, isFinal := truth(i.Final)
	switch {
	case known && !active, !known && isFinal && final:
		r.Ended, r.Minor = hazard.EndAllClear, true // Minor: it only ends a fire that is already known
	case !known: // active until a report says that it is over
		notes = append(notes, "IsActive: "+cmp.Or(lenient.Excerpt(i.IsActive), lenient.Nothing)+", expected true or false")
	}
	r.Description = i.describe(county, r.Ended != "")
	if w := seismic.NotReal(called); w != "" {
		r.Suspect = "Name says " + w + ": " + lenient.ExcerptText(called)
	} else if updated > now.Add(24*time.Hour) || start > now.Add(24*time.Hour) {
		r.Suspect = fmt.Sprintf("Started, Updated: %v, %v: in the future", start, updated)
	}
	source.Note(r, notes...)
	return r, ""
}

// given reports whether a member is present and not null.
func given(raw []byte) bool { return len(raw) > 0 && raw[0] != 'n' }

// truth parses a boolean, also as text; known is false if the member is neither true nor false.
func truth(raw []byte) (yes, known bool) {
	v, err := strconv.ParseBool(strings.ToLower(strings.Trim(string(raw), `" `)))
	return v, err == nil && len(raw) > 1 // a single 1 or 0 is a number
}

// instant parses a time; a date means its first moment.
func instant(member, text string) (at hazard.Instant, fault string) {
	text = strings.TrimSpace(text)
	if len(text) == len("2024-06-15") {
		text += "T00:00Z"
	}
	at, _, err := lenient.Time(text, nil)
	if err != nil {
		return 0, member + ": " + err.Error()
	}
	return at, ""
}

// counties returns the text for a list of counties: "Butte County", "Butte, Tehama".
func counties(list string) string {
	if list == "" || strings.ContainsAny(list, ",/&") || strings.Contains(strings.ToLower(list), "county") {
		return list
	}
	return list + " County"
}

// namedCounties is a list of counties as the gazetteer reads it: "Butte County, Tehama County, California".
func namedCounties(list string) string {
	var names []string
	for name := range strings.FieldsFuncSeq(list, func(r rune) bool { return strings.ContainsRune(",/&;", r) }) {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !strings.HasSuffix(strings.ToLower(name), " county") {
			name += " County"
		}
		names = append(names, name)
	}
	if names == nil {
		return ""
	}
	return strings.Join(names, ", ") + ", California"
}

// page returns the address of an incident's page, or that of the list of all if the address is not
// the department's.
func page(address string) string {
	address = strings.TrimSpace(address)
	if strings.HasPrefix(address, "/incidents/") {
		address = site + address
	}
	if !strings.HasPrefix(address, site+"/") || hazard.CleanLine(address) != address || len(address) > 500 {
		return site + "/incidents"
	}
	return address
}

var tag = regexp.MustCompile(`<[^<>]*>`)

func (i *incident) describe(county string, over bool) string {
	var lines []string
	say := func(what, text string) {
		if text = hazard.CleanLine(lenient.Clip(text, 2000)); text != "" {
			lines = append(lines, what+": "+text+".")
		}
	}
	number := func(n lenient.Number, unit string) string {
		if !n.Known || n.Value < 0 {
			return ""
		}
		return strconv.FormatFloat(math.Round(n.Value*10)/10, 'f', -1, 64) + unit
	}
	say("Size", number(i.Acres, " acres"))
	say("Contained", number(i.Contained, " %"))
	say("Location", i.Location)
	say("County", county)
	say("Responsible", i.AdminUnit)
	say("Conditions", tag.ReplaceAllString(lenient.Clip(i.Condition, 8<<10), " "))
	if over {
		lines = append(lines, "No longer active.")
	}
	return hazard.Clean(strings.Join(lines, "\n"))
}
