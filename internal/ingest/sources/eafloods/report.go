package eafloods

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// levels is the table of levels, by severityLevel (API reference, "Flood warnings"; gov.uk, "Flood
// alerts and warnings: what they are and what to do").
var levels = []struct {
	level    float64
	words    string
	severity hazard.Severity
	basis    string
}{
	{1, "Severe flood warning", hazard.Warning, "danger to life: severe flooding"},
	{2, "Flood warning", hazard.Watch, "flooding is expected: act now. Of the three levels the middle one"},
	{3, "Flood alert", hazard.Advisory, "flooding is possible: be prepared"},
	{4, "Warning no longer in force", hazard.NoSeverity, "over"},
}

// london is the zone of the times.
var london = func() *time.Location {
	zone, err := time.LoadLocation("Europe/London")
	if err != nil {
		panic(err) // package town brings the zones along
	}
	return zone
}()

// report converts an entry. It returns a reason if the entry is rejected.
func (f *flood) report(now hazard.Instant) (*hazard.Report, string) {
	key := f.code()
	if key == "" {
		return nil, fmt.Sprintf("floodAreaID: %q, expected the code of a flood area such as 122WAC954", lenient.ExcerptText(f.AreaID))
	}
	var notes []string
	severity, words := hazard.NoSeverity, hazard.CleanLine(f.Severity)
	known := false
	for _, l := range levels {
		if f.Level.Known && f.Level.Value == l.level || !f.Level.Known && strings.EqualFold(words, l.words) {
			known, severity, words = true, l.severity, l.words
		}
	}
	if !known {
		notes = append(notes, fmt.Sprintf("severityLevel: %s, expected 1 to 4", f.Level.Said()))
		severity, words = hazard.Advisory, "Flood warning of unknown level"
	}
	var start, changed hazard.Instant
	for _, t := range []struct{ member, text string }{{"timeSeverityChanged", f.SeverityChanged}, {"timeRaised", f.Raised}, {"timeMessageChanged", f.MessageChanged}} {
		at, _, err := lenient.Time(t.text, london)
		switch {
		case err != nil:
			notes = append(notes, t.member+": "+err.Error())
			continue
		case start == 0 || at < start:
			start = at
		}
		changed = max(changed, at)
	}
	if changed == 0 {
		start, changed = now, now
	}
	area := cmp.Or(lenient.Clip(hazard.CleanLine(f.Description), 200), "flood area "+key)
	county := lenient.Clip(hazard.CleanLine(f.Area.County), 100)
	r := &hazard.Report{
		Source: Name, Key: key, Version: int64(changed), Name: words + " - " + lenient.Joined(", ", area, county, "England"), Description: f.describe(),
		Type: hazard.Flood, Severity: severity, Category: hazard.Event, Start: start, Open: true, Places: []string{placePrefix + key}, Country: "GB",
		Called: area, Level: words, Refs: []string{Name + ":" + key}, URL: "https://check-for-flooding.service.gov.uk/target-area/" + key, Comment: Name + ":" + key,
		Creator: "Environment Agency",
	}
	switch {
	case severity == hazard.NoSeverity:
		r.Severity, r.Ended = hazard.Information, hazard.EndAllClear
	case changed > now.Add(24*time.Hour):
		r.Suspect = fmt.Sprintf("timeMessageChanged: %v is in the future", changed)
	case seismic.NotReal(area+" "+f.Message) != "":
		r.Suspect = "the text says " + seismic.NotReal(area+" "+f.Message)
	}
	source.Note(r, notes...)
	return r, ""
}

// describe returns the message, and which water it is about.
func (f *flood) describe() string {
	water := hazard.CleanLine(f.Area.RiverOrSea)
	if water != "" {
		water = "River or sea: " + water + "."
	}
	return hazard.Clean(lenient.Joined("\n\n", lenient.Clip(f.Message, 20_000), water))
}
