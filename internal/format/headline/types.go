package headline

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang/words"
)

// Patterns of single sentences.
var (
	waveHeight   = reading(`waves? of (\d+(?:\.\d+)?) ?m(?:eters?)?\b(?: expected)?(?: at (\d\d:\d\d))?`)
	ashAt        = regexp.MustCompile(`at (\d{4}-\d\d-\d\d \d\d:\d\d) UTC`)
	eruptions    = regexp.MustCompile(`(?:During|during) (\d+)-(\d+ \w+) there were (\d+) \w+ eruptions`)
	fireAt       = regexp.MustCompile(`There is a (?:\w+ )?fire at ([^.,]+)\.`)
	runsFast     = regexp.MustCompile(`(?i)extreme fire behavior|rapid (?:rate of )?(?:spread|growth)|quadrupl|doubl(?:ed|ing) in size`)
	spreads      = regexp.MustCompile(`is spreading (north|south|east|west)ward\.? ?(\w+ municipalities have been placed on alert)?`)
	incidentData = regexp.MustCompile(`incident data of (\d+ \w{3} \d{4} \d\d:\d\d) UTC`)
)

// parts says the hazard by its type.
func (m *maker) parts() (p parts) {
	event := strings.ToLower(m.event)
	official := strings.Contains(event, "warning") || strings.Contains(event, "watch") || strings.Contains(event, "advisory") || strings.Contains(event, "statement") || strings.Contains(event, "alert") || strings.Contains(event, "emergency")
	switch t := m.h.Type; {
	case t == hazard.Earthquake:
		return m.earthquake()
	case m.h.Source == "" && m.named == "" && t != hazard.Tsunami: // an editor's name says what it is
		return m.warning()
	case t == hazard.Tsunami:
		return m.tsunami()
	case t == hazard.Cyclone && !official && m.h.Category != hazard.Exercise:
		return m.cyclone()
	case t == hazard.Volcano:
		return m.volcano()
	case t == hazard.Wildfire && !official && !strings.Contains(event, "weather"):
		return m.wildfire()
	case t == hazard.Drought && !official:
		return m.drought()
	case t == hazard.Flood && !official && len(m.h.Texts) == 0:
		return m.flood()
	}
	return m.warning()
}

// shaking is the word for an intensity, half rounded up (rule 3).
func (m *maker) shaking() (word string, level int) {
	v, ok := m.measured(hazard.Intensity)
	if !ok {
		v, ok = m.measured(hazard.FeltIntensity)
	}
	if level = int(math.Floor(v + 0.5)); !ok || level < 2 {
		return "", 0
	}
	return Shaking(v, m.l), level
}

// Shaking is the word for an intensity, half rounded up: "strong shaking".
func Shaking(intensity float64, l *words.Language) string {
	return l.Say("headline.shaking." + digit(min(max(int(math.Floor(intensity+0.5)), 3), 10)))
}

func digit(n int) string {
	return map[int]string{3: "3", 4: "4", 5: "5", 6: "6", 7: "7", 8: "8", 9: "9", 10: "10"}[n]
}

var givenQuake = regexp.MustCompile(`^\d{4} (.+) Earthquake$`)

// deepKm is the depth from which it is said.
const deepKm = 100

// aside, ridge and ocean match the regions that sources name of earthquakes far from land (rule 9).
var (
	aside = regexp.MustCompile(`^(?i:(?:north|south)?(?:east|west)?) of \D+$`)
	ridge = regexp.MustCompile(`^\D+ (?:Ridge|Rise)$`)
	ocean = regexp.MustCompile(`^\D+ (?:Ocean|Sea)$`)
)

// quakeRegion is the region that a source names, as it stands before a position; "" if it is none
// that can be.
func quakeRegion(named string) string {
	switch {
	case aside.MatchString(named):
		return " " + strings.ToLower(named[:1]) + named[1:] + ","
	case ridge.MatchString(named):
		return " on the " + named + ","
	case ocean.MatchString(named):
		return " in the " + named + ","
	}
	return ""
}

func (m *maker) earthquake() (p parts) {
	p.what = m.say("quake")
	if v, ok := m.measured(hazard.Magnitude); ok && v > 1 {
		p.what = m.say("quakeOf", "m", m.number(v, 1))
	}
	if v, ok := m.measured(hazard.Depth); ok && v >= deepKm {
		p.what = m.say("deep", "what", p.what, "km", m.number(nearest(v, 10), 0))
	}
	p.placeFirst, p.where = true, m.point()
	if m.a.Near == nil && m.a.Country == "" && m.a.OffCountry == "" && m.l.ID == "en" && !m.h.Somewhere() {
		p.where = quakeRegion(m.named) + p.where
	}
	m.utc = m.a.Near == nil && m.a.Country == "" && (m.a.OffCountry == "" || m.a.OffKm >= shoreKm) // at sea without a town (rule 12)
	if given := givenQuake.FindStringSubmatch(m.named); given != nil && m.l.ID == "en" {
		words := strings.Fields(given[1])
		for i, w := range words[:1] {
			if slices.Contains([]string{"Southern", "Northern", "Eastern", "Western", "Central"}, w) {
				words[i] = strings.ToLower(w)
			}
		}
		name := strings.Join(words, " ")
		near := trimmed(p.where)
		p.where = m.say("in", "place", name)
		if strings.HasSuffix(name, "Plateau") || strings.HasSuffix(name, "Peninsula") || strings.HasSuffix(name, "Islands") {
			p.where = " on the " + name
		}
		if m.a.Country != "" {
			p.where += ", " + m.countryName(m.a.Country)
		}
		p.place = trimmed(p.where) + ", " + near
	}
	if m.days(m.h.Start) > 4.5 {
		p.when = m.say("on", "t", m.day(m.h.Start))
	} else {
		p.when = m.say("moment", "t", m.clock(m.h.Start))
	}
	word, level := m.shaking()
	if word != "" {
		p.bad = m.say("colon") + word
	}
	source := m.sourceName(m.h.Source)
	pager, _ := hazard.Measured(m.h.Measurements, hazard.PagerLevel)
	loss := ""
	if pager.Value >= 2 {
		loss = m.say("pager." + pager.Word())
		p.second = append(p.second, m.say("estimate", "s", loss, "source", m.sourceName(pager.Source)), loss)
	}
	if n := gdacsRisk.FindStringSubmatch(m.text); n != nil {
		v := atof(n[1]) * map[string]float64{"": 1, "thousand": 1e3, "million": 1e6}[n[2]]
		if v > 0 {
			p.second = append(p.second, m.say("inShaking", "n", m.people(int64(v))))
		}
	}
	if strings.Contains(m.text, "Berpotensi TSUNAMI") {
		p.second = append(p.second, m.say("tsunamiPossible", "source", source))
	}
	if level > 0 {
		p.howBad = m.say("intensity", "s", word, "n", level)
		p.second = append(p.second, m.say("damageUnknown"))
		if loss != "" {
			p.howBad += m.say("semicolon") + loss
		} else {
			p.howBad += m.say("semicolon") + lower(m.say("damageUnknown"), m.l)
		}
		return p
	}
	p.second = append(p.second, m.say("shakingUnknown"))
	p.howBad = trimmed(lower(p.second[0], m.l))
	return p
}

// coast is the coast that a tsunami message warns.
func (m *maker) coast() string {
	if found := between.FindStringSubmatch(m.text); found != nil {
		from, to := borders.Replace(strings.TrimSpace(found[1])), borders.Replace(strings.TrimSpace(found[2]))
		land := ""
		if place, after, ok := strings.Cut(from, ", "); ok && strings.HasSuffix(to, ", "+after) {
			from, to, land = place, strings.TrimSuffix(to, ", "+after), after
		}
		if land != "" {
			return m.say("coastFrom", "land", land, "from", from, "to", to)
		}
		return m.say("coastOf", "place", m.say("fromToPlaces", "from", from, "to", to))
	}
	return ""
}

// borders writes ends of coasts as in a sentence: the bulletins have "The Cal./Mexico Border".
var borders = strings.NewReplacer("The ", "the ", "Cal./", "California/", " Border", " border")

// quakeOf returns the magnitude and the place of the earthquake in a tsunami message.
func (m *maker) quakeOf() (magnitude, place string) {
	v, ok := m.measured(hazard.Magnitude)
	if !ok {
		if all := firstOf(m.small, fuelMag); len(all) > 0 {
			v = all[0]
		}
	}
	if v > 1 {
		magnitude = m.number(v, 1)
	}
	if found := quakeAt.FindStringSubmatch(m.named + "\n" + m.text); found != nil {
		km := atof(found[1])
		if !strings.Contains(found[0], " km ") {
			km *= 1.609344
		}
		place = " " + m.from(distance(km), compass[found[2]], found[3])
	}
	return magnitude, place
}

func (m *maker) tsunami() (p parts) {
	event, text := strings.ToLower(m.h.Name), m.small
	magnitude, epicenter := m.quakeOf()
	p.when, p.until = m.end()
	p.placeFirst = true
	switch {
	case (strings.Contains(event, "information") || m.h.Severity <= hazard.Information) && (strings.Contains(text, "not expected") || strings.Contains(text, "no tsunami")):
		p.when = ""
		p.what, p.howBad, p.until = m.say("tsunamiNone"), trimmed(m.say("tsunamiNone")), m.say("noEnd")
		if magnitude != "" {
			p.what = m.say("tsunamiNoneAfter", "m", magnitude, "day", m.say("onDay", "day", m.weekday(m.local(m.h.Start))))
		}
		p.where = cmp.Or(epicenter, m.point())
		if strings.Contains(text, "final") {
			p.until = m.say("finalMessage")
		}
		return p
	case strings.Contains(event, "possible"):
		p.what = m.say("tsunamiMaybe")
		if magnitude != "" {
			p.what = m.say("tsunamiMaybeAfter", "m", magnitude)
		}
		p.where = m.farPoint()
		if m.a.Near != nil {
			p.where = m.say("near", "place", m.townName(&m.a.Near.Town))
		}
		p.when, p.placeFirst = "", true
		p.second = []string{m.say("coastsUnknown")}
		p.howBad = lower(m.say("wavesUnknown"), m.l)
		return p
	}
	p.what = m.say("tsunami." + m.levelWord())
	switch coast := m.coast(); {
	case coast != "":
		p.where = m.say("forCoast", "coast", coast)
	case m.named != "" && !quakeAt.MatchString(m.named):
		p.where = m.say("for", "place", m.within(lowerCoast(m.named, m.l.ID), m.stateName(), m.country()))
	case m.a.Area:
		p.where = m.warned()
	default:
		p.where = m.say("near", "place", trimmed(m.point()))
		p.second = append(p.second, m.say("coastsUnknown"))
	}
	if found := waveHeight.find(m.small); found != nil {
		p.bad = m.say("colon") + m.say("wave", "m", strings.Replace(found[1], ".", m.say("decimal"), 1))
		if found[2] != "" {
			p.bad = m.say("colon") + m.say("waveAt", "m", strings.Replace(found[1], ".", m.say("decimal"), 1), "time", found[2])
		}
		return p
	}
	if strings.Contains(text, "coastal flooding") {
		p.second = append(p.second, m.say("coastalFlooding"))
		p.howBad = lower(m.say("coastalFlooding"), m.l) + m.say("semicolon") + lower(m.say("wavesUnknown"), m.l)
		return p
	}
	p.second = append(p.second, m.say("wavesUnknown"))
	p.howBad = lower(m.say("wavesUnknown"), m.l)
	return p
}

func lowerCoast(place, language string) string {
	if rest, ok := strings.CutPrefix(place, "Coast "); ok && language == "en" {
		return "the coast " + rest
	}
	return place
}

// levelWord is the word of an official message: warning, watch, advisory; by its name, or by the
// level.
func (m *maker) levelWord() string {
	event := strings.ToLower(m.event)
	for _, w := range []string{"warning", "watch", "advisory", "statement", "alert"} {
		if strings.Contains(event, w) {
			return w
		}
	}
	switch m.h.Severity {
	case hazard.Warning:
		return "warning"
	case hazard.Watch:
		return "watch"
	case hazard.Advisory:
		return "advisory"
	}
	return "statement"
}

// category is the category of a wind in km/h on the Saffir-Simpson scale, 0 below it.
func category(v float64) int {
	kt, n := math.Round(v/1.852), 0
	for i, from := range []float64{64, 83, 96, 113, 137} {
		if kt >= from {
			n = i + 1
		}
	}
	return n
}

func (m *maker) cyclone() (p parts) {
	m.utc = true
	name, _, _ := strings.Cut(m.h.Name, " - ") // some sources add countries
	p.placeFirst, p.what = true, strings.TrimPrefix(name, "Tropical ")
	if strings.HasPrefix(name, "Tropical Storm") || strings.HasPrefix(name, "Tropical Depression") {
		p.what = name
	}
	for _, class := range []string{"Super Typhoon", "Hurricane", "Typhoon", "Tropical Storm", "Tropical Depression", "Cyclone"} {
		if name, ok := strings.CutPrefix(p.what, class+" "); ok {
			p.what = m.say("class."+strings.ReplaceAll(class, " ", ""), "name", name)
			break
		}
	}
	p.until = m.say("noEnd")
	wind, known := m.measured(hazard.Wind)
	strength := ""
	if known && strings.Contains(m.text, "by the National Hurricane Center") && category(wind) > 0 {
		strength = m.say("category", "n", category(wind))
	}
	for begin, key := range map[string]string{"Hurricane/Typhoon": "strengthHurricane", "Tropical storm": "strengthStorm", "Tropical Storm": "strengthStorm", "Tropical depression": "strengthDepression"} {
		if strings.HasPrefix(m.text, begin) {
			strength = m.say(key)
		}
	}
	p.what += strength
	winds := ""
	if known {
		winds = m.say("winds", "n", m.number(nearest(wind, 5), 0))
		p.howBad = trimmed(winds)
		if gust, ok := m.measured(hazard.Gust); ok {
			p.howBad += m.say("comma") + m.say("gusts", "n", m.number(nearest(gust, 5), 0))
		}
	}
	noLand := m.a.Country == "" && m.a.OffCountry == ""
	switch a := m.a; {
	case noLand:
		basin, _, _ := strings.Cut(field(strings.ReplaceAll(m.text, ". ", "\n"), "Basin"), ".")
		p.where = m.say("seaAt", "place", m.position())
		if basin != "" && m.l.ID == "en" {
			p.where = ", in the " + basin + " at " + m.position()
		}
	case a.Near != nil:
		p.where = m.say("comma") + m.from(distance(max(a.Near.Km, 1)), a.Near.Bearing, m.townName(&a.Near.Town))
	case a.Country != "":
		p.where = m.say("in", "place", m.land(a.Country))
	default:
		p.where = m.say("comma") + trimmed(m.off())
	}
	p.where = winds + p.where
	p.place = trimmed(strings.TrimPrefix(p.where, winds)) + m.say("bracket", "s", m.clock(m.h.LastUpdate))
	if found := toward.find(m.small); found != nil {
		dir := m.say("toward." + directions[found[1]])
		p.bad = m.say("moving", "dir", dir)
		if found[2] != "" {
			p.bad = m.say("movingAt", "dir", dir, "n", m.number(math.Round(kmh(atof(found[2]), found[3])), 0))
		}
	} else if noLand {
		p.when = m.say("on", "t", m.clock(m.h.LastUpdate))
		if found := ashAt.FindStringSubmatch(m.text); found != nil {
			if at, ok := parseUTC(found[1]); ok {
				p.when = m.say("on", "t", m.clock(at))
				p.place = trimmed(strings.TrimPrefix(p.where, winds)) + m.say("bracket", "s", m.clock(at))
			}
		}
	}
	switch most := lifeWind.FindStringSubmatch(m.text); {
	case most != nil && !known:
		p.second = []string{m.say("lifeWind", "n", m.number(atof(most[1]), 0))}
		p.howBad = lower(p.second[0], m.l)
	case !known:
		p.second = []string{m.say("windUnknown")}
		p.howBad = lower(p.second[0], m.l)
	case noLand:
		p.second = []string{m.say("noLand", "km", m.number(offKm, 0))}
	// Where the source forecasts winds, the exposure has their times at towns.
	case !slices.ContainsFunc(m.h.Shapes, func(s hazard.ShapesRef) bool { return s.Part == "wind ahead" }):
		p.second = []string{m.say("arrivalUnknown")}
	}
	return p
}

func (m *maker) volcano() (p parts) {
	p.placeFirst = true
	name, land, _ := strings.Cut(m.named, ", ")
	name = cmp.Or(name, m.h.Name)
	country := land
	if names := m.countries([]string{land}); land != "" {
		country = names[0]
	}
	where := name
	if country != "" {
		where = m.say("place", "place", name, "land", country)
	}
	p.place = where
	comma := ""
	if country != "" {
		comma = m.say("comma") + country
	}
	if m.a.Near != nil {
		p.place += m.say("comma") + m.from(distance(m.a.Near.Km), m.a.Near.Bearing, m.a.Near.Name)
	}
	p.until = m.say("noEnd")
	text := m.small
	switch alert, ok := hazard.Measured(m.h.Measurements, hazard.VolcanoAlert); {
	case strings.Contains(strings.ToLower(m.event), "ash"):
		m.utc = true
		p.what = m.say("ashFrom", "place", where)
		if level, _, ok := upper(m.text, ashLevel); ok {
			p.bad = m.say("ashUpTo", "m", m.number(nearest(level*30.48, 100), 0))
		}
		if found := ashDrift.FindStringSubmatch(m.text); found != nil {
			dir := m.say("toward." + points[eight(compass[found[1]])])
			slow, fast := math.Round(kmh(atof(found[2]), "kt")), math.Round(kmh(atof(cmp.Or(found[3], found[2])), "kt"))
			if slow == fast {
				p.bad += m.say("drifting", "dir", dir, "n", m.number(fast, 0))
			} else {
				p.bad += m.say("driftingTo", "dir", dir, "from", m.number(slow, 0), "n", m.number(fast, 0))
			}
		}
		p.second = []string{m.say("aircraft")}
	case ok:
		p.what = m.say("volcano", "place", name) + comma
		p.bad = m.say("colon") + m.say("alertLevel", "word", m.say("alert."+alert.Word()), "rank", m.say("rank."+digit4(int(alert.Value))))
		p.second, p.until = []string{m.say("alertMeans." + alert.Word())}, m.say("untilLevel")
		p.howBad = m.say("rank."+digit4(int(alert.Value))) + m.say("semicolon") + lower(m.say("alertMeans."+alert.Word()), m.l)
	default:
		p.what = m.say("volcano", "place", name) + comma
		details := ""
		if found := eruptions.FindStringSubmatch(m.text); found != nil && m.l.ID == "en" {
			details = found[3] + " eruptions reported " + found[1] + "–" + found[2]
		}
		if found := alertOf.find(m.small); found != nil {
			level := m.say("levelOf", "n", found[1], "m", found[3])
			if details != "" {
				details += m.say("comma")
			}
			details += level
		}
		switch {
		case strings.Contains(text, "erupti"):
			p.what = m.say("erupting", "place", m.say("volcano", "place", name)+comma, "comma", m.afterPlace(comma))
		case strings.Contains(text, "unrest"):
			p.what = m.say("unrest", "place", m.say("volcano", "place", name)+comma)
		}
		if details != "" {
			p.bad = m.say("colon") + details
		} else {
			p.second = []string{m.say("sizeUnknown")}
		}
	}
	return p
}

// afterPlace is the comma after a country in the middle of a sentence.
func (m *maker) afterPlace(comma string) string {
	if comma == "" {
		return ""
	}
	return strings.TrimRight(m.say("comma"), " ")
}

func digit4(n int) string { return []string{"0", "1", "2", "3", "4"}[min(max(n, 0), 4)] }

// fireName returns the proper name of a fire and the places after it in its name.
func fireName(named string) (name string, places []string) {
	parts := strings.Split(named, ", ")
	return strings.TrimSuffix(parts[0], " Fire"), parts[1:]
}

var inCounty = regexp.MustCompile(`in ([A-Z][\w .'’-]+ (?:County|Parish|Borough)), `)

func (m *maker) wildfire() (p parts) {
	p.placeFirst, p.until = true, m.say("noEnd")
	p.what, p.where = m.whichFire()
	size, sized := m.measured(hazard.BurntArea)
	sized = sized && size > 0
	if sized {
		p.bad = m.say("colon") + m.fireSize(size)
	}
	contained, held := m.measured(hazard.Containment)
	p.howBad = trimmed(p.bad)
	if held {
		p.bad += m.say("comma") + m.say("contained", "n", m.number(contained, 0))
		p.howBad = trimmed(p.bad)
		if runsFast.MatchString(m.text) {
			p.bad += m.say("comma") + m.say("growing")
		}
	}
	if key := fireStates[strings.TrimSuffix(strings.ToLower(field(m.text, "Status")), ".")]; key != "" && sized {
		p.bad += m.say("comma") + m.say(key)
		held = true
	}
	m.fireKnown(&p, sized, held)
	m.fireSaid(&p, sized)
	if m.h.Category == hazard.Response && m.h.Status == hazard.Expired {
		p.bad, p.second, p.until = m.say("colon")+m.responseEnded(), []string{m.say("whetherOver")}, m.say("notKnown")
	}
	if !held && sized {
		p.howBad += m.say("semicolon") + lower(m.say("containmentUnknown"), m.l)
	}
	if p.howBad == "" && len(p.second) > 0 {
		p.howBad = lower(p.second[0], m.l)
	}
	return p
}

// fireStates are the words for the states of Australian fires.
var fireStates = map[string]string{"being controlled": "beingControlled", "under control": "underControl", "out of control": "outOfControl"}

// whichFire says what burns, by its name where it has one, and where.
func (m *maker) whichFire() (what, where string) {
	kind := "wildfire"
	if strings.Contains(m.text, "Type: Bush Fire") || strings.HasPrefix(m.event, "Bushfire") {
		kind = "bushfire"
	}
	what = m.say(kind)
	name, places := fireName(m.named)
	switch {
	case gdacsSize.MatchString(m.named), strings.Contains(m.named, "° "), sourceKm.MatchString(m.named):
		where = m.point()
	case m.h.Category == hazard.Response || m.h.Source == "" || len(m.h.Texts) > 0:
		where = m.say("in", "place", m.within(m.named, m.stateName(), m.country()))
		if at := fireAt.FindStringSubmatch(m.text); at != nil {
			where = m.say("at", "place", m.within(at[1], m.stateName(), m.country()))
		}
		if m.named == "" {
			where = m.point()
		}
	case len(places) == 0 || m.isCountry(places[len(places)-1]) && (len(places) == 1 || strings.Contains(m.named, " and ")):
		where = m.say("near", "place", m.spelled(m.named))
		if m.named == "" {
			where = m.point()
		}
	default:
		what = m.say(kind+"Named", "name", name)
		where = m.fireWhere(places)
	}
	return what, where
}

// fireSize says how large it is, in hectares.
func (m *maker) fireSize(size float64) string {
	switch {
	case strings.HasPrefix(m.text, "Burnt area:"): // seen by a satellite
		return m.say("burnt", "n", m.short(size), "t", trimmed(m.dataDay()))
	case m.short(size) == m.number(1, 0):
		return m.say("hectare")
	}
	return m.say("hectares", "n", m.short(size))
}

// fireKnown says the level that is warned at, and what is not known of the fire.
func (m *maker) fireKnown(p *parts, sized, held bool) {
	switch level := strings.TrimRight(field(m.text, "Alert level"), "."); {
	case level == "Advice":
		p.second = append(p.second, m.say("lowestLevel"))
	case level == "Watch and Act" || level == "Emergency Warning":
		p.second = append(p.second, m.say("levelIs", "level", level))
	}
	switch {
	case !sized && !held && p.second == nil:
		if m.h.Category == hazard.Response {
			p.second = []string{m.say("fireSizeUnknown")}
		} else {
			p.second = []string{m.say("sizeUnknown")}
		}
		p.when = m.say("since", "t", m.day(m.h.Start))
	case !held:
		p.second = append(p.second, m.say("containmentUnknown"))
	}
}

// fireSaid says what a report says in words: that the threat is reduced, where the fire spreads, of when its size is.
func (m *maker) fireSaid(p *parts, sized bool) {
	if lower := m.small; strings.Contains(lower, "threat is reduced") || strings.Contains(lower, "no immediate threat") {
		var facts []string
		if strings.Contains(lower, "threat is reduced") {
			facts = append(facts, m.say("threatReduced"))
		}
		if strings.Contains(lower, "no immediate threat") {
			facts = append(facts, m.say("noThreat"))
		}
		p.when, p.second, p.bad = "", nil, m.say("colon")+strings.Join(facts, m.say("comma"))
		if strings.Contains(lower, "bushfire advice") {
			p.bad += m.say("bracket", "s", m.say("levelAdvice"))
		}
		p.howBad = trimmed(p.bad)
	}
	if spread := spreads.FindStringSubmatch(m.text); spread != nil && m.l.ID == "en" {
		p.when, p.bad = "", ", spreading "+spread[1]
		if spread[2] != "" {
			n, _, _ := strings.Cut(spread[2], " ")
			p.bad += "; " + strings.ToLower(n) + " municipalities on alert"
		}
		p.howBad = trimmed(p.bad)
	}
	if found := incidentData.FindStringSubmatch(m.text); found != nil && sized {
		if at, ok := parseDay(found[1]); ok {
			p.bad += m.say("on", "t", m.clock(at))
		}
	}
}

var gdacsSize = regexp.MustCompile(`\(\d+ ha\)`)

func (m *maker) isCountry(name string) bool {
	return slices.Contains(countryNames(), strings.ToLower(name))
}

// placedBy is a place that a source tells by another: "in Manton", "southeast of Gazelle".
var placedBy = regexp.MustCompile(`^(?i:(in|at)\s|(near|outside(?: of)?|(?:just )?(?:north|south|east|west)(?:east|west)? of)\s)?(?i:the )?(?i:(?:community|city|town|area) of )?(\pL.*)$`)

// fireWhere is the county or city of a fire with a name of its own.
func (m *maker) fireWhere(places []string) string {
	state := places[len(places)-1]
	areas := places[:len(places)-1]
	if county := inCounty.FindStringSubmatch(m.text); county != nil && len(areas) == 0 {
		areas = []string{county[1]}
	}
	if len(areas) > 1 {
		areas = []string{m.say("counties", "names", m.and(areas))}
	}
	city := ""
	if location := strings.TrimRight(field(m.text, "Location"), "."); strings.Contains(location, ", ") {
		city = location[strings.LastIndex(location, ", ")+2:]
		if strings.ContainsAny(city, "0123456789") || strings.HasSuffix(city, "County") || strings.Contains(strings.Join(areas, " "), city) {
			city = ""
		}
	}
	key := "in"
	if at := placedBy.FindStringSubmatch(city); at != nil {
		city = at[3]
		if at[2] != "" {
			key = "near"
		}
	}
	if city != "" && len(areas) == 1 {
		areas = []string{city, areas[0]}
	}
	if !isStateName(state) && len(areas) > 0 {
		state = m.countries([]string{state})[0]
	}
	if len(areas) == 1 && field(m.text, "Council area") != "" {
		return m.say("comma") + strings.Join(append(areas, state), ", ")
	}
	if len(areas) == 0 {
		return m.say(key, "place", state)
	}
	return m.say(key, "place", m.say("place", "place", strings.Join(areas, ", "), "land", state))
}

func (m *maker) flood() (p parts) {
	p.placeFirst = true
	place := m.named
	switch {
	case sourceKm.MatchString(m.named) && m.a.Near != nil:
		place = ""
		p.where = m.say("inFrom", "land", m.countryName(cmp.Or(m.a.Country, m.a.Near.Country)), "from", m.from(distance(m.a.Near.Km), m.a.Near.Bearing, m.a.Near.Name))
	case place == "":
		p.where = m.point()
	case m.h.Source == "" && !strings.Contains(place, " at "):
		p.where = m.say("for", "place", m.within(place, m.stateName(), m.country()))
	case m.h.Source == "": // a river at a town
		p.where = m.say("onThe", "place", m.within(place, m.stateName(), m.country()))
	default:
		names := strings.Split(place, ", ")
		lands, last := m.countries(names), len(names)-1
		place = strings.Join(lands, m.say("comma"))
		if last > 0 && !m.isCountry(names[0]) && m.isCountry(names[last]) {
			place = m.say("place", "place", strings.Join(lands[:last], m.say("comma")), "land", lands[last])
		}
		p.where = m.say("in", "place", place)
	}
	if m.h.Source == "" {
		p.what = m.say("thingWarning."+m.levelWord(), "thing", lower(m.say("thing.flood"), m.l))
		p.when, p.until = m.end()
		if p.bad = m.firstFact(); p.bad != "" {
			return p
		}
		if m.howMuch(&p, "flood", ""); p.howBad == "" { // else the level says it
			p.second = []string{m.say("howBadUnknown")}
		}
		return p
	}
	p.what, p.until, p.howBad = m.say("thing.flood"), m.say("noEnd"), m.say("notKnown")
	p.when = m.say("since", "t", m.day(m.h.Start))
	if m.h.Category == hazard.Response && m.h.Status == hazard.Expired {
		p.second, p.until = []string{m.say("whetherOver")}, m.say("notKnown")
		p.bad = m.say("colon") + m.responseEnded()
		return p
	}
	if said := m.flooded(""); said != "" {
		p.bad, p.howBad = m.say("colon")+said, said
		return p
	}
	p.second = []string{m.say("howBadUnknown")}
	return p
}

// responseEnded says who ended its response, and when.
func (m *maker) responseEnded() string {
	return m.say("responseEnded", "source", Capital(m.sourceName(m.h.Source)), "t", trimmed(m.say("on", "t", m.dated(m.h.End))))
}

// firstFact is the first sentence of an editor's description, shortened, as what follows a colon.
func (m *maker) firstFact() string {
	all := Sentences(oneLine(Sentenced(m.text)))
	if len(all) == 0 {
		return ""
	}
	s := strings.TrimRight(all[0], ".!。।")
	if strings.HasPrefix(s, "Water level ") {
		s = strings.TrimPrefix(s, "Water ")
	}
	return m.say("colon") + lower(s, m.l)
}

var droughtKm = regexp.MustCompile(`(?i)(minor|medium|severe|major) impact for agricultural drought in (\d+) ?km2`)

func (m *maker) drought() (p parts) {
	p.placeFirst, p.what, p.until = true, m.say("drought"), m.say("noEnd")
	names := m.countries(strings.Split(m.named, ", "))
	switch {
	case m.named == "":
		p.where = m.point()
	case len(names) <= 3:
		p.where = m.say("in", "place", m.and(names))
		if m.l.ID == "en" && strings.HasPrefix(names[0], "Republic") {
			p.where = " in the " + m.and(names)
		}
	default:
		p.where = m.say("inCountries", "n", len(names))
	}
	p.when = m.say("since", "t", m.day(m.h.Start))
	if km, ok := m.measured(hazard.DroughtArea); ok && km > 0 {
		p.bad = m.say("colon") + m.say("affected", "n", m.short(km))
		if found := droughtKm.FindStringSubmatch(m.text); found != nil {
			p.bad += m.say("comma") + m.say("impact."+strings.ToLower(found[1]))
		}
		return p
	}
	p.second = []string{m.say("areaUnknown")}
	p.howBad = lower(p.second[0], m.l)
	return p
}
