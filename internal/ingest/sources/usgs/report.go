package usgs

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// maxBytes bounds a payload. A week of all magnitudes has 1.5 MB, and the largest response of the
// FDSN query (20,000 events) about 15 MB.
const maxBytes = 32 << 20

// level is a row of the mapping table: conditions for an earthquake, and its level if they hold.
type level struct {
	pager string // color of PAGER; "-" before its first assessment
	seismic.Level
}

const (
	usualLife = seismic.UsualLife
	greatLife = seismic.GreatLife
)

// levels is the mapping table; the first row that fits is used. The magnitude decides until the
// first assessment of PAGER (20 to 30 minutes after the origin). Then PAGER can raise or lower the
// level, but great earthquakes have a minimum level.
var levels = append([]level{
	{"red", seismic.Level{Severity: hazard.Warning, Life: greatLife,
		Basis: "PAGER scale: 1,000 deaths or $1 B and more, international response"}},
	{"orange", seismic.Level{Severity: hazard.Watch, Life: usualLife,
		Basis: "PAGER scale: 100 deaths or $100 M and more, national response"}},
	{"yellow", seismic.Level{Mag: 7.0, Severity: hazard.Watch, Life: usualLife,
		Basis: "floor, judgement: 3 of 3 recorded events of M 7 and more are green"}},
	{"green", seismic.Level{Mag: 7.0, Severity: hazard.Watch, Life: usualLife, Basis: "floor, as above"}},
	{"yellow", seismic.Level{Severity: hazard.Advisory, Life: usualLife,
		Basis: "PAGER scale: 1 death or $1 M and more, local or regional response"}},
	{"green", seismic.Level{Mag: 6.0, Severity: hazard.Advisory, Life: usualLife,
		Basis: "floor, judgement: 10 of 11 recorded events of M 6.0 to 6.9 are green"}},
}, unassessed()...)

// unassessed returns the rows for an earthquake without an assessment of PAGER. The rows of level
// INFORMATION also apply with a color, because they only decide whether it is a hazard.
func unassessed() (rows []level) {
	for _, l := range seismic.Levels {
		row := level{"-", l}
		if l.Severity == hazard.Information {
			row.pager = ""
		}
		rows = append(rows, row)
	}
	return rows
}

// pagerWords are the colors of PAGER with their meaning (earthquake.usgs.gov/data/pager).
var pagerWords = map[string]string{
	"green":  "no deaths and losses below 1 million US dollars are most likely",
	"yellow": "some deaths or losses of more than 1 million US dollars are likely; the response is usually local or regional",
	"orange": "100 deaths or more, or losses of more than 100 million US dollars are likely; the response is usually national",
	"red":    "1,000 deaths or more, or losses of more than 1 billion US dollars are likely; the response is usually international",
}

// quake is an earthquake for the mapping: its properties, some of them converted.
type quake struct {
	seismic.Quake
	*properties
	pager string // color of PAGER; empty if there is none or an unknown one ("pending")
}

func quakeOf(f *feature) *quake {
	p := &f.Properties
	q := &quake{properties: p, Quake: seismic.Quake{
		Magnitude: p.Mag, Kind: p.MagType, MMI: p.MMI,
		Place: lenient.Clip(strings.Trim(hazard.CleanLine(lenient.Clip(p.Place, 4*maxPlace)), " ,;-"), maxPlace),
	}}
	c := append(f.Geometry.Coordinates, lenient.Number{}, lenient.Number{}, lenient.Number{})
	q.At, q.Depth = seismic.Position(c[0], c[1]), c[2]
	if colour := strings.ToLower(strings.TrimSpace(q.Alert)); pagerWords[colour] != "" {
		q.pager = colour
	}
	return q
}

// firstUpdate is a time before the first feed: 2000-01-01.
const firstUpdate hazard.Instant = 946684800000

// maxPlace bounds the text for a place, in bytes. The longest recorded one has under 60.
const maxPlace = 200

func (q *quake) level() *level {
	for i := range levels {
		l := &levels[i]
		if (l.pager == "" || l.pager == cmp.Or(q.pager, "-")) && l.Fits(&q.Quake) {
			return l
		}
	}
	panic("the last level has no condition")
}

// renewable is how long after an earthquake its products can renew it. Later versions, some of them
// years later, are only corrections.
const renewable = 30 * 24 * time.Hour

// report converts a feature. If it cannot, it returns the reason. Unreadable products become
// rejects of b.
func report(b *lenient.Batch, f *feature, isDetail bool, now hazard.Instant) (*hazard.Report, string) {
	q := quakeOf(f)
	deleted := strings.EqualFold(strings.TrimSpace(q.Status), "deleted")
	kind := strings.TrimSpace(q.Type)
	var notes []string
	if kind == "" && !deleted {
		notes = append(notes, "properties/type: "+lenient.Nothing+", taken as an earthquake")
	}
	// An event that turns out to be a blast is not an earthquake, so it counts as deleted.
	other := kind != "" && !strings.EqualFold(kind, "earthquake")
	deleted = deleted || other
	key := eventID(f.ID)
	if key == "" {
		return nil, fmt.Sprintf("id: %s, expected an id of at most %d letters and digits", cmp.Or(lenient.ExcerptText(f.ID), lenient.Nothing), maxID)
	}
	updated, wrong := q.updated(now)
	notes = append(notes, wrong...)
	var all products
	if isDetail {
		all = readProducts(b, key, q.Products, now)
		deleted = deleted || all.deleted
	}
	start, ok := instant(q.Time)
	switch {
	case deleted: // it may no longer have a time or a place
		if !ok {
			start = updated
		}
	case !ok:
		return nil, "properties/time: " + q.Time.Said() + ", expected milliseconds since 1970"
	case q.At == nil:
		c := append(f.Geometry.Coordinates, lenient.Number{}, lenient.Number{})
		return nil, fmt.Sprintf("geometry/coordinates: %s, %s, expected a longitude from -180 to 180 and a latitude from -90 to 90", c[0].Said(), c[1].Said())
	}
	l := q.level()
	others := aliases(q.IDs, key)
	r := &hazard.Report{
		Source:      Name,
		Key:         key,
		Aliases:     others,
		Version:     int64(updated),
		Name:        q.Name(),
		Description: q.description(start, append([]string{key}, others...)),
		Type:        hazard.Earthquake,
		Severity:    l.Severity,
		Category:    hazard.Event,
		Start:       start,
		LifeMS:      l.Life.Milliseconds(),
		Minor:       l.Minor || other,
		Point:       q.At,
		URL:         webAddress(q.URL),
		Comment:     Name + ":" + key,
		Creator:     "USGS",
		Suspect:     q.suspect(start, updated, now),
	}
	source.Note(r, notes...)
	q.Measure(r)
	source.Measure(r, hazard.FeltIntensity, q.CDI.Value, q.CDI.Known)
	source.Rate(r, hazard.PagerLevel, q.pager)
	switch {
	case deleted:
		r.Ended = hazard.EndWithdrawn
	case isDetail:
		r.Products = all.tree(r)
		if shaken := all.preferred["shakemap"]; shaken != nil {
			if l, ok := shaken.contours(&all); ok {
				b.Links = append(b.Links, l)
			}
		}
		if all.renewed != nil && *all.renewed < start.Add(renewable) {
			r.Renewed = all.renewed
		}
	case !l.Minor && hasDetail(q.Types):
		r.Detail = detailAddress(q.Detail)
	}
	return r, ""
}

// updated returns the time of the last update, or else now, with a note.
func (q *quake) updated(now hazard.Instant) (at hazard.Instant, notes []string) {
	at, ok := instant(q.Updated)
	if !ok || at < firstUpdate {
		return now, []string{"properties/updated: " + q.Updated.Said() + ", expected milliseconds since 1970"}
	}
	if at > now.Add(seismic.Skew) {
		return now, []string{fmt.Sprintf("properties/updated: %v is in the future", at)}
	}
	return at, nil
}

// maxID bounds an id. The longest recorded one has 20 characters.
const maxID = 64

// eventID returns a network's id of an event in lower case, or "" if s is invalid.
func eventID(s string) string {
	if !seismic.IsCode(s, maxID) {
		return ""
	}
	return strings.ToLower(s)
}

// maxAliases bounds the ids of one event. The largest recorded number is six.
const maxAliases = 64

// aliases returns the ids of all networks except key.
func aliases(ids, key string) []string {
	var all []string
	for id := range strings.SplitSeq(ids, ",") {
		if id = eventID(id); id != "" && id != key && !slices.Contains(all, id) && len(all) < maxAliases {
			all = append(all, id)
		}
	}
	return all
}

// suspect returns why a readable report must be held until somebody has checked it, or "".
func (q *quake) suspect(start, updated, now hazard.Instant) string {
	why := q.Doubts("properties/time", start, "properties/updated", updated, now)
	text, where := lenient.Clip(q.Title, 4*maxPlace), lenient.Clip(q.properties.Place, 4*maxPlace)
	if !strings.Contains(text, where) {
		text += " / " + where
	}
	if w := seismic.NotReal(text); w != "" {
		why = append(why, fmt.Sprintf("the text says %s: %s", w, lenient.ExcerptText(text)))
	}
	return strings.Join(why, "; ")
}

// description describes what is known, one line for each fact.
func (q *quake) description(start hazard.Instant, ids []string) string {
	var b strings.Builder
	b.Grow(256)
	say := func(words ...string) {
		for _, w := range words {
			b.WriteString(w)
		}
	}
	q.Describe(&b, start)
	switch status := strings.ToLower(strings.TrimSpace(q.Status)); status {
	case "":
	case "automatic":
		say("Status: automatic, not yet reviewed by a seismologist.\n")
	case "reviewed":
		say("Status: reviewed by a seismologist.\n")
	default:
		say("Status: ", lenient.Clip(hazard.CleanLine(status), maxID), ".\n")
	}
	if q.pager != "" {
		say("PAGER alert level: ", q.pager, " (", pagerWords[q.pager], ").\n")
	}
	if q.properties.MMI.Known {
		say("Estimated shaking: intensity up to ", seismic.Decimal(q.properties.MMI.Value), " (MMI).\n")
	}
	if q.Felt.Known && q.Felt.Value >= 1 {
		say("Felt reports: ", strconv.FormatFloat(q.Felt.Value, 'f', 0, 64))
		if q.CDI.Known {
			say(", intensity up to ", seismic.Decimal(q.CDI.Value))
		}
		say(".\n")
	}
	if q.Tsunami.Known && q.Tsunami.Value >= 1 {
		say("Tsunami: USGS refers to tsunami.gov, which alone says whether there is a threat.\n")
	}
	say("Ids of the networks: ")
	for i, id := range ids {
		if i > 0 {
			say(", ")
		}
		say(id)
	}
	say(".")
	return b.String()
}

// maxAddress bounds a web address, in bytes, as browsers do.
const maxAddress = 2000

// base is used to resolve addresses without a host.
var base = url.URL{Scheme: "https", Host: "earthquake.usgs.gov", Path: "/"}

// address parses an http or https address; it returns nil if s is invalid. It rejects blanks,
// control characters, and non-ASCII letters, which can make an address look like a different one.
func address(s string) *url.URL {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxAddress || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil
	}
	u, err := url.Parse(s)
	if err == nil && !u.IsAbs() {
		u, err = base.Parse(s)
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Opaque != "" {
		return nil
	}
	return u
}

// webAddress returns s as an absolute http or https address, or "" if it is not one.
func webAddress(s string) string {
	if u := address(s); u != nil {
		return u.String()
	}
	return ""
}

// detailAddress returns s if details may be fetched from it, otherwise "". Other addresses in a
// feed are never fetched.
func detailAddress(s string) string {
	u := address(s)
	if u == nil || u.Scheme != "https" || !strings.EqualFold(u.Host, base.Host) {
		return ""
	}
	return u.String()
}
