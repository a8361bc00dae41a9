package headline

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/hazardd/hazardd/internal/atlas/gazetteer"
	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/atlas/town"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// splitName splits a name such as "Tornado Warning - Fremont, IA; Mills, IA" at its first dash, and
// one such as "Flood Warning: Skagit River" at its colon. A
// name without one is the event alone, or, if it ends so, what people call it.
func splitName(name string) (event, place string) {
	for _, mark := range []string{"Exercise: ", "EXERCISE: ", "Drill: "} {
		name = strings.TrimPrefix(name, mark)
	}
	event, place, ok := strings.Cut(name, " - ")
	if before, after, colon := strings.Cut(name, ": "); !ok && colon && wordWarning.MatchString(before) {
		event, place = before, after
	}
	if lands, what, colon := strings.Cut(event, ": "); colon && monthAlone.MatchString(place) { // "DR Congo/Uganda: Ebola Outbreak - May 2026"
		event, place = what, strings.ReplaceAll(lands, "/", "; ")
	}
	return event, saidOnce(strings.ReplaceAll(place, " - ", ", "))
}

// monthAlone matches what some names have in the place of a place.
var monthAlone = regexp.MustCompile(`^(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \d{4}$`)

// ofState matches the end of a place that has the code of its state, which is said by its name.
var ofState = regexp.MustCompile(`, [A-Z]{2}, United States$`)

// saidOnce is a place without what it says twice: "Sawtooth, ID, United States" is in the state that
// is added by its name, "River Amber in Derbyshire, Derbyshire" in one county.
func saidOnce(place string) string {
	place = ofState.ReplaceAllString(place, "")
	before, after, ok := strings.Cut(place, ", ")
	if again, rest, more := strings.Cut(after, ", "); ok && strings.HasSuffix(before, " in "+again) {
		if !more {
			return before
		}
		return before + ", " + rest
	}
	return place
}

// isState tells the countries whose states stand for the country, where English readers know them.
func isState(country string) bool { return country == "US" || country == "AU" }

// stateAt is the name of the state of a town, or "".
func stateOf(t *town.Town) string {
	if d, ok := t.Division(); ok && isState(t.Country) {
		return d.Name
	}
	return ""
}

// state is the state that most of the area, or the point, is in; "" if it is not known.
func (m *maker) stateName() string {
	if len(m.a.Inside) > 0 {
		return stateOf(&m.a.Inside[0])
	}
	if m.a.Country == "US" {
		for _, s := range region.StatesOf("US") {
			if s.Holds(m.h.Longitude, m.h.Latitude) {
				return s.Name
			}
		}
	}
	if m.a.Near != nil {
		return stateOf(&m.a.Near.Town)
	}
	if found := officeState.FindStringSubmatch(m.text); found != nil {
		for _, s := range region.StatesOf("US") {
			if s.Code == "US-"+found[1] {
				return s.Name
			}
		}
	}
	return ""
}

// officeState is the state of the office that wrote a bulletin, in its first line.
var officeState = regexp.MustCompile(`^[^\n]*\) by [^\n]* ([A-Z]{2})\n`)

// within adds to the name of a place the state or country that it is in, if the name does not say it.
func (m *maker) within(place, state, country string) string {
	more := state
	if more == "" && country != "" {
		more = m.countryName(country)
		if t := m.nearTown(); provinces[country] && t != nil && t.Country == country {
			if d, ok := t.Division(); ok && !strings.Contains(place, d.Name) && !strings.Contains(t.Name, d.Name) {
				more = m.say("place", "place", d.Name, "land", more)
			}
		}
	}
	if c, ok := region.CountryByCode(country); ok && m.l.ID != "en" && strings.HasSuffix(place, ", "+c.Name) {
		place = strings.TrimSuffix(place, ", "+c.Name)
	}
	if more == "" || strings.Contains(place, more) {
		return place
	}
	return m.say("place", "place", place, "land", more)
}

// provinces are the large countries of which the province is said too.
var provinces = map[string]bool{"CN": true, "IN": true, "BR": true, "RU": true}

// nearTown is the largest town inside, or the town near the point.
func (m *maker) nearTown() *town.Town {
	if len(m.a.Inside) > 0 {
		return &m.a.Inside[0]
	}
	if m.a.Near != nil {
		return &m.a.Near.Town
	}
	return nil
}

func (m *maker) countryName(code string) string {
	return strings.TrimPrefix(m.land(code), "the ")
}

// knownAs names the region or countries that the hazard is somewhere in.
func (m *maker) knownAs() string { return gazetteer.KnownAs(m.h.PlaceKnownAs, m.l.ID) }

// townName is a town with its state or country.
func (m *maker) townName(t *town.Town) string { return m.within(t.Name, stateOf(t), t.Country) }

// country is that of the area or the point: "" at sea.
func (m *maker) country() string {
	if len(m.a.Inside) > 0 {
		return m.a.Inside[0].Country
	}
	if m.a.Country == "" && m.a.OffKm < shoreKm {
		return m.a.OffCountry
	}
	return m.a.Country
}

// shoreKm is how far off a country a place still is told by it alone.
const shoreKm = 30

var (
	andMore  = regexp.MustCompile(`,? and (\d+) more(, .*)?$`)
	usCounty = regexp.MustCompile(`^(.+), ([A-Z]{2})$`)
	sourceKm = regexp.MustCompile(`(\d+(?:\.\d+)?) ?(km|miles?) ([NESW]{1,3}) of (.+)$`)
)

// counties returns the counties in a place of the form "Fremont, IA; Mills, IA", and their state.
func counties(place string) (names []string, state string) {
	for part := range strings.SplitSeq(andMore.ReplaceAllString(place, "$2"), "; ") {
		m := usCounty.FindStringSubmatch(part)
		if m == nil {
			return nil, ""
		}
		for _, s := range region.StatesOf("US") {
			if s.Code == "US-"+m[2] {
				if state != "" && state != s.Name {
					return nil, ""
				}
				state = s.Name
			}
		}
		names = append(names, m[1])
	}
	if state == "" {
		return nil, ""
	}
	return names, state
}

// marine is the name of a zone at sea between two distances from its coast.
var marine = regexp.MustCompile(`^(.+?) (?:from|out) (\d+) to (\d+) NM$`)

// fewCounties and fewAreas are how many are named (rule 10).
const (
	fewCounties = 4
	fewAreas    = 2
)

// warned says where a warning holds, as a phrase that begins with its preposition (rule 10).
func (m *maker) warned() string {
	towns := make([]string, len(m.a.Inside))
	for i, t := range m.a.Inside {
		towns[i] = t.Name
	}
	if n := len(towns); n == 2 && m.a.Inside[1].People*5 < m.a.Inside[0].People {
		towns = towns[:1]
	}
	slicesOf := strings.Split(andMore.ReplaceAllString(m.named, "$2"), "; ")
	unnamed := m.unnamed()
	more := unnamed > 0
	names, state := counties(m.named)
	if m.thing() == "coastalflood" {
		if i := slices.IndexFunc(slicesOf, func(zone string) bool { return shore.MatchString(zone) }); i >= 0 {
			return m.say("for", "place", m.within(strings.TrimSuffix(slicesOf[i], " Shoreline"), m.stateName(), m.country()))
		}
	}
	switch {
	case m.h.Somewhere() && len(m.districts()) > 1:
		return m.say("withOthers", "place", m.districtNamed(), "n", len(m.districts())-1, "land", m.knownAs())
	case m.h.Somewhere() && slices.ContainsFunc(slicesOf, func(name string) bool { return m.isLand(name, len(slicesOf)) }): // the record knows one at most
		return m.say("in", "place", m.and(slicesOf))
	case m.h.Somewhere():
		if len(slicesOf) > 1 {
			return m.someOf(slicesOf)
		}
		if m.named != "" {
			return m.say("for", "place", m.within(m.named, m.knownAs(), ""))
		}
		return m.say("for", "place", m.knownAs())
	case len(names) > 0 && len(names) <= fewCounties && !more:
		place := m.say("county", "names", names[0])
		if len(names) > 1 {
			place = m.say("counties", "names", m.and(names))
		}
		if strings.HasSuffix(names[0], "County") || strings.HasSuffix(names[0], "Parish") || strings.HasSuffix(names[0], "Borough") {
			place = m.and(names)
		}
		place = m.within(place, state, "")
		if len(towns) > 0 && !strings.Contains(place, towns[0]) {
			return m.say("forWith", "place", place, "town", towns[0])
		}
		return m.say("for", "place", place)
	case marine.MatchString(m.named):
		zone := marine.FindStringSubmatch(m.named)
		return m.say("offshore", "place", m.within(m.article(strings.TrimSuffix(zone[1], " Waters")), m.stateName(), ""), "from", zone[2], "to", zone[3])
	case m.h.Type == hazard.Cyclone && len(towns) > 0:
		return m.say("around", "place", m.within(m.and(towns), m.stateName(), m.country()))
	case len(towns) > 0 && (strings.Contains(m.named, "…") || m.a.Parts > 2*len(slicesOf)): // the name is that of some of its areas
		return m.say("around", "place", m.within(m.and(towns), m.stateName(), m.country()))
	case len(slicesOf) == 1 && m.a.Country == "US" && theCounty.find(m.small) != nil && !strings.Contains(m.named, "County"):
		return m.say("for", "place", m.within(m.say("county", "names", m.named), m.stateName(), m.country()))
	case m.named != "" && len(slicesOf) <= fewAreas && !more && !strings.Contains(m.named, "Including"):
		place := m.within(m.article(m.and(slicesOf)), m.stateName(), m.country())
		return m.say("for", "place", place)
	case len(towns) > 0:
		place := m.within(m.and(towns), m.stateName(), m.country())
		return m.say("around", "place", place)
	case len(slicesOf) > fewAreas:
		if land := m.within("", m.stateName(), m.country()); land != "" {
			return m.say("areas", "n", len(slicesOf)+unnamed, "land", trimmed(land))
		}
		return m.say("for", "place", slicesOf[0])
	case m.named != "":
		return m.say("for", "place", m.within(slicesOf[0], m.stateName(), m.country()))
	}
	return m.point()
}

// unnamed is how many areas the name counts and does not name.
func (m *maker) unnamed() int {
	if found := andMore.FindStringSubmatch(m.named); found != nil {
		return int(atof(found[1]))
	}
	return 0
}

// someOf says areas of unknown shape: up to four by name, else how many, and the land that the last
// of them is followed by.
func (m *maker) someOf(areas []string) string {
	last, land, _ := strings.Cut(areas[len(areas)-1], ", ")
	areas = append(slices.Clone(areas[:len(areas)-1]), last)
	n := len(areas) + m.unnamed()
	if n == len(areas) && n <= fewCounties {
		return m.say("for", "place", m.within(m.and(areas), cmp.Or(land, m.knownAs()), ""))
	}
	return m.say("areas", "n", n, "land", cmp.Or(land, m.knownAs()))
}

var (
	// shore matches names of zones on a coast.
	shore = regexp.MustCompile(`(?i)shore|coast|beach`)
	// theCounty matches bulletins about a zone that is a county.
	theCounty = reading(`\b(?:portions?|parts?|rest|half) of the county\b`, "of the county")
	// overDistricts matches the list of districts of a nowcast: "over Karur, Namakkal, Salem in next 3 hours".
	overDistricts = regexp.MustCompile(`\bover ((?:\p{Lu}[\p{L} ]+, )+\p{Lu}[\p{L} ]+?) in (?:the )?next\b`)
)

// districts are those that the text lists.
func (m *maker) districts() []string {
	found := overDistricts.FindStringSubmatch(oneLine(m.text))
	if found == nil {
		return nil
	}
	return strings.Split(found[1], ", ")
}

// districtNamed is the one of the districts that the name of the hazard begins with, or the first.
func (m *maker) districtNamed() string {
	all := m.districts()
	if i := slices.IndexFunc(all, func(d string) bool { return strings.HasPrefix(m.named, d) }); i >= 0 {
		return all[i]
	}
	return all[0]
}

// article puts the article of English before the name of a landscape.
func (m *maker) article(name string) string {
	if m.l.ID == "en" && landscape.MatchString(name) && !strings.HasPrefix(name, "the ") {
		return "the " + name
	}
	return name
}

var landscape = regexp.MustCompile(`(?i) (?:region|delta|islands|mountains|valleys|plains|foothills|panhandle)$`)

// nearer are shorter ways to say where a warning holds: its largest towns, then the largest.
func (m *maker) nearer() (all []shorter) {
	if m.h.Somewhere() || len(m.a.Inside) == 0 {
		return nil
	}
	if n := len(m.a.Inside); n > 1 {
		all = append(all, shorter{where: m.say("around", "place", m.within(m.and([]string{m.a.Inside[0].Name, m.a.Inside[1].Name}), m.stateName(), m.country()))})
	}
	return append(all, shorter{where: m.say("around", "place", m.within(m.a.Inside[0].Name, m.stateName(), m.country()))})
}

// point says where a point is, by the town near it, by a country, or by its position (rule 9).
func (m *maker) point() string {
	switch a := m.a; {
	case m.h.Somewhere():
		return m.say("in", "place", m.knownAs())
	case a.Near != nil && a.Near.Km < 1:
		return m.say("in", "place", m.townName(&a.Near.Town))
	case a.Near != nil:
		return " " + m.from(distance(a.Near.Km), a.Near.Bearing, m.townName(&a.Near.Town))
	}
	return m.farPoint()
}

// farPoint says where a point is that no town is near.
func (m *maker) farPoint() string {
	a := m.a
	if s := sourceKm.FindStringSubmatch(m.named); s != nil {
		km := atof(s[1])
		if s[2] != "km" {
			km *= 1.609344
		}
		name, _, _ := strings.Cut(s[4], ", ")
		bearing, ok := compass[s[3]]
		if ok && km <= 200 {
			if a.Country != "" {
				return m.say("inFrom", "land", m.countryName(a.Country), "from", m.from(distance(km), bearing, name))
			}
			return " " + m.from(distance(km), bearing, s[4])
		}
	}
	switch {
	case a.Country != "":
		return m.say("in", "place", m.land(a.Country))
	case a.OffCountry != "":
		return m.off()
	}
	return m.say("at", "place", m.position())
}

// off says how far off a country a point is: "110 km off the United States".
func (m *maker) off() string {
	return m.say("off", "km", m.number(distance(max(m.a.OffKm, 1)), 0), "land", m.land(m.a.OffCountry))
}

// position is a position to a tenth of a degree: "30.3° N, 172.0° W".
func (m *maker) position() string {
	lat, lon := m.h.Latitude, m.h.Longitude
	ns, ew := "N", "E"
	if lat < 0 {
		ns = "S"
	}
	if lon < 0 {
		ew = "W"
	}
	return m.say("position."+ns, "n", m.number(max(lat, -lat), 1)) + m.say("comma") + m.say("position."+ew, "n", m.number(max(lon, -lon), 1))
}

// spelled writes the names of towns within 100 km as the gazetteer has them: with their accents.
func (m *maker) spelled(names string) string {
	for t := range town.Between(m.h.Latitude-nearKm/kmPerDegree, m.h.Latitude+nearKm/kmPerDegree) {
		folded := foldLatin(t.Name)
		if folded != t.Name && strings.Contains(names, folded) && geo.Distance(m.h.Longitude, m.h.Latitude, t.Lon, t.Lat) < nearKm*1000 {
			names = strings.ReplaceAll(names, folded, t.Name)
		}
	}
	return names
}

// foldLatin removes the accents of Latin letters.
func foldLatin(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(s))
}

// countries are countries in a list by their English names, as GDACS writes them, in the reader's
// language.
func (m *maker) countries(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = name
		if code := countryCode(name); code != "" && m.l.ID != "en" {
			out[i] = m.countryName(code)
		}
	}
	return out
}

// countryCode is the ISO 3166-1 code of a country by its English name; empty if there is none.
func countryCode(name string) string {
	for _, c := range region.Countries() {
		if strings.EqualFold(c.Name, name) {
			return c.Code
		}
	}
	return ""
}

// isLand reports whether a name, of so many, is that of a country. Alone it may be of a state of another
// one, such as Georgia.
func (m *maker) isLand(name string, of int) bool {
	code := countryCode(name)
	return code != "" && (of > 1 || code == m.a.Country)
}
