package headline

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Patterns of single sentences.
var (
	beachesOf    = regexp.MustCompile(`The beaches of ([^.]+) counties`)
	onDay        = regexp.MustCompile(` (on|for) ((?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)\b`)
	emergencyFor = regexp.MustCompile(`EMERGENCY FOR ([^\n.]+)`)
	dataUpTo     = regexp.MustCompile(`data up to (\d{4}-\d\d-\d\d \d\d:\d\d) UTC`)
)

// things are what warnings are about, by words in the names of their events, the most special first.
var things = []struct{ key, words string }{
	{"tornado", "tornado"}, {"thunderstorm", "thunderstorm|thunder|gewitter"}, {"flashflood", "flash flood"}, {"coastalflood", "coastal flood|storm surge|lakeshore flood"},
	{"flood", "flood|hydrologic"}, {"hurricane", "hurricane"}, {"typhoon", "typhoon"}, {"tropicalstorm", "tropical storm"}, {"redflag", "red flag|fire weather|fire danger|forest fire|bushfire|extreme fire"},
	{"rip", "rip current"}, {"surf", "surf|beach hazard|coastal event|swell"}, {"avalanche", "avalanche"}, {"blizzard", "blizzard"}, {"winterstorm", "winter storm|winter weather"},
	{"snow", "snow|lake effect"}, {"ice", "ice|freezing rain|freezing drizzle|glaze"}, {"frost", "frost|freeze"}, {"cold", "cold|low-temperature|low temperature|wind chill"},
	{"heat", "heat|high-temperature|high temperature|hot"}, {"gale", "gale"}, {"storm", "storm"}, {"smallcraft", "small craft"}, {"wind", "wind|gust|squall"},
	{"rain", "rain|precipitation"}, {"fog", "fog"}, {"dust", "dust|sand"}, {"smoke", "smoke"}, {"air", "air quality|air stagnation|ozone|haze"}, {"landslide", "landslide|debris flow|mud"},
	{"tsunami", "tsunami"}, {"drought", "drought"}, {"wildfire", "wildfire"},
}

var thingWords = sync.OnceValue(func() (all [][]string) {
	for _, t := range things {
		all = append(all, strings.Split(t.words, "|"))
	}
	return all
})

// thing is the key of what a warning is about; "" if its event's name says nothing known.
func (m *maker) thing() string {
	event := strings.ToLower(m.event)
	for i, words := range thingWords() {
		if hasWord(event, false, words...) {
			return things[i].key
		}
	}
	return map[hazard.Type]string{hazard.Tornado: "tornado", hazard.Flood: "flood", hazard.WinterStorm: "winterstorm", hazard.HighWind: "wind", hazard.Landslide: "landslide",
		hazard.Avalanche: "avalanche", hazard.Tsunami: "tsunami", hazard.Drought: "drought", hazard.Wildfire: "wildfire", hazard.Storm: "storm"}[m.h.Type]
}

// Of texts in small letters.
var (
	colorWord = regexp.MustCompile(`\b(red|orange|yellow|amber)\b[ -](?:\w+[ -]){0,4}?(?:warning|alert)|(?:warning|alert)s?(?: signal)?[ -](?:level )?\b(red|orange|yellow|amber)\b`)
	redSignal = regexp.MustCompile(`(?:issues? an?|to an?) (?:[a-z -]+ )?(red|orange|yellow|blue) (?:[a-z -]+ )?(?:warning|signal)|\[?(?:red|orange|yellow|blue) `)
)

// color is that of an official warning: "red", "orange", "yellow"; "" if it has none.
func (m *maker) color() string {
	if strings.Contains(m.event, "Red Flag") {
		return ""
	}
	if color := colorIn(m.h.Name+". "+m.head(), colorWord, redSignal); color != "" {
		return color
	}
	if t := m.h.OwnText(); t != nil {
		return colorIn(t.Headline+". "+t.Event, colorWord)
	}
	return ""
}

// colorIn is the color that one of the expressions finds in a text.
func colorIn(text string, expressions ...*regexp.Regexp) string {
	if text = small(text); !hasWord(text, true, "red", "orange", "yellow", "amber", "blue") {
		return ""
	}
	for _, p := range expressions {
		for i, s := range p.FindStringSubmatch(text) {
			if i > 0 && s != "" {
				return strings.Replace(s, "amber", "orange", 1)
			}
		}
	}
	return ""
}

// head is the beginning of the description, in one line.
func (m *maker) head() string {
	const length = 700
	line := make([]byte, 0, length+64)
	for word := range strings.FieldsSeq(m.text) {
		if len(line) > 0 {
			line = append(line, ' ')
		}
		if line = append(line, word...); len(line) >= length {
			return string(line[:length])
		}
	}
	return string(line)
}

// official are words of events that English readers get as they are.
var wordWarning = regexp.MustCompile(`(?i)\b(warning|watch|advisory|statement|alert|emergency|message|outlook)\b`)

// whatWarned is the official name of a warning, or what it is about. A watch is what is possible.
func (m *maker) whatWarned() (what, full string) {
	if m.h.Source == "" && m.named == "" {
		return m.event, m.event
	}
	if level, word := m.avalancheDanger(); level != "" {
		what = m.say("avalancheDanger", "n", level, "word", word)
		return what, what
	}
	word, thing, color := m.levelWord(), m.thing(), m.color()
	if m.l.ID != "en" {
		name := m.l.NameOf("type", string(m.h.Type))
		if thing != "" {
			name = m.say("thing." + thing)
		}
		what = m.say("thingWarning."+word, "thing", lower(name, m.l))
		if color != "" && thing != "tornado" {
			what = m.say("colored", "what", what, "color", m.say("color."+color))
		}
		return what, what
	}
	event := m.event
	if t := m.h.Says(); t != nil && len(m.named) == 0 && t.Event != "" {
		event = t.Event
	}
	event = sentenceName(event)
	full = event
	switch {
	case thing == "redflag" && strings.HasPrefix(event, "Red flag"):
		return event + " (fire danger)", event + ": fires would spread fast"
	case word == "watch" && wordWarning.MatchString(event):
		return strings.TrimSpace(strings.TrimSuffix(event, " watch")) + " possible", full
	case strings.HasSuffix(event, "Flash flood emergency"):
		return event, full
	case word == "statement" || thing == "rip":
		if fact := m.bullet("WHAT"); fact != "" {
			return fact, full
		}
	}
	if color != "" && thing != "tornado" {
		if !wordWarning.MatchString(event) && len(m.h.Texts) > 0 {
			event += " warning"
		}
		event = strings.TrimSpace(strings.Replace(strings.ToLower(event), color, "", 1))
		switch event {
		case "low-temperature warning", "low temperature warning":
			event = "cold warning"
		case "high temperature", "high temperature warning":
			event = "high-temperature warning"
		}
		return Capital(color) + " " + event, Capital(color) + " " + event
	}
	if thing == "redflag" && strings.Contains(event, "danger") {
		return event, full
	}
	if thing == "frost" || thing == "thunderstorm" && strings.Contains(event, "Severe") {
		return strings.TrimSuffix(event, " warning"), full
	}
	if m.h.Type == hazard.Tornado && !wordWarning.MatchString(event) {
		return "Tornado warning", "Tornado warning"
	}
	return event, full
}

// sentenceName writes the name of an event as in a sentence: "Tornado warning".
func sentenceName(event string) string {
	parts := strings.Fields(event)
	for i, w := range parts {
		if i > 0 && len(w) > 1 && w != strings.ToUpper(w) {
			parts[i] = strings.ToLower(w)
		}
	}
	return Capital(strings.Join(parts, " "))
}

// bullet returns the first sentence of a bullet of a bulletin: "* WHAT...Dangerous rip currents."
func (m *maker) bullet(name string) string {
	_, rest, ok := strings.Cut(m.text, "* "+name+"...")
	if !ok {
		return ""
	}
	rest, _, _ = strings.Cut(rest, "\n\n")
	rest, _, _ = strings.Cut(rest, "\n*")
	all := Sentences(oneLine(rest))
	if len(all) == 0 {
		return ""
	}
	return strings.TrimRight(all[0], ".")
}

// noPeople are warnings that hold where few of the people of their areas are (rule 14).
var noPeople = []string{"rip", "surf", "coastalflood", "redflag", "air", "gale", "smallcraft", "tsunami", "avalanche", "smoke"}

// peopleThere says how many people live in the area, or "".
func (m *maker) peopleThere(thing string) string {
	h := m.h
	e := h.Exposed()
	if e == nil || e.People == nil || h.Severity < hazard.Watch || h.Type == hazard.Marine || slices.Contains(noPeople, thing) || h.Somewhere() {
		return ""
	}
	if p := e.People; p.People < 100 || p.Low*2 < p.People {
		return ""
	}
	return m.say("liveThere", "n", m.people(e.People.People))
}

// expires matches a bulletin that ends a warning before its time.
var expires = reading(`\bthe ((?:severe thunderstorm|tornado|snow squall) warning) for .{1,300}? will expire\b.{0,400}?\bweakened below\b`, "expire", "weakened")

// warning says an official warning, or another hazard with an area.
func (m *maker) warning() (p parts) {
	expiring := m.inLine(expires)
	if expiring != nil && m.levelWord() == "statement" { // of what the statement is about
		m.event = titled(expiring[1])
	} else {
		expiring = nil
	}
	thing := m.thing()
	what, full := m.whatWarned()
	p.what = what
	p.when, p.until = m.end()
	p.where = m.warned()
	if beaches := m.beaches(); beaches != "" {
		p.where = beaches
	}
	p.shorter = m.nearer()
	facts := m.facts(thing)
	if expiring != nil {
		facts = []string{m.say("weakened")}
	}
	if len(facts) > 0 {
		p.bad = m.say("colon") + strings.Join(facts, m.say("comma"))
		p.howBad = strings.Join(facts, m.say("comma"))
	}
	if strings.Contains(m.small, "heavy snow") && slices.Contains([]string{"snow", "winterstorm", "blizzard"}, thing) {
		p.shorter = append(p.shorter, shorter{bad: m.say("colon") + m.say("heavySnow")})
	}
	if thing == "air" && !m.h.EndGiven && m.l.ID == "en" {
		if day := onDay.FindStringSubmatch(m.text); day != nil {
			p.when, p.placeFirst, p.until = " on "+day[2], true, day[2]
		}
	}
	people := m.peopleThere(thing)
	if m.h.Type == hazard.Tornado || thing == "tornado" {
		m.tornado(&p, facts, people)
	}
	if strings.Contains(strings.ToLower(m.event), "emergency") {
		if strings.Contains(m.small, "life threatening") || strings.Contains(m.small, "life-threatening") {
			p.bad = m.say("colon") + m.say("lifeThreatening")
		}
		p.when, p.placeFirst = m.say("comma")+trimmed(p.when), true
		if at := emergencyFor.FindStringSubmatch(m.text); at != nil {
			p.second = append(p.second, m.say("affects", "place", titled(at[1])))
		}
		people = ""
	}
	crest := m.crest(thing)
	p.second = append(p.second, crest, people)
	if m.h.Somewhere() {
		p.place = trimmed(p.where)
	}
	if p.bad == "" && crest == "" && people == "" && len(m.h.Texts) == 0 && m.h.Source == "" {
		m.editorsOwn(&p)
	}
	m.howMuch(&p, thing, crest)
	if full != what && p.howBad == "" {
		p.howBad = lower(what, m.l)
	}
	return p
}

// avalancheForm matches the level of a danger of avalanches in the name of an event.
var avalancheForm = regexp.MustCompile(`(?i)^avalanche danger ([1-5])(?: (low|moderate|considerable|high|very high|extreme))?\b`)

// avalancheDanger is the level of a danger of avalanches, and its word: that of the source, whose
// fifth is "very high" in Europe and "extreme" in North America.
func (m *maker) avalancheDanger() (level, word string) {
	found := avalancheForm.FindStringSubmatch(m.event)
	if found == nil {
		return "", ""
	}
	words := []string{"low", "moderate", "considerable", "high", "veryhigh"}
	key := cmp.Or(strings.ReplaceAll(strings.ToLower(found[2]), " ", ""), words[int(found[1][0]-'1')])
	return found[1], m.say("avalanche." + key)
}

// howMuch adds to how bad it is what the level of an avalanche or of a flood says, the rain that has
// fallen, and the crest. What a level means stands there only if nothing else is known.
func (m *maker) howMuch(p *parts, thing, crest string) {
	if level, word := m.avalancheDanger(); level != "" {
		p.howBad = m.say("avalancheLevel", "n", level, "word", word)
		return
	}
	if m.h.Type != hazard.Flood || thing != "flood" && thing != "flashflood" {
		return
	}
	if p.howBad = m.flooded(cmp.Or(p.howBad, trimmed(p.bad))); p.howBad != "" && crest != "" {
		p.howBad += m.say("semicolon")
	}
	p.howBad += crest
	event := strings.ToLower(m.event)
	switch word := m.levelWord(); {
	case p.howBad != "":
	case strings.HasPrefix(event, "severe flood"):
		p.howBad = m.say("dangerToLife")
	case word == "watch" || strings.HasSuffix(event, "flood alert"):
		p.howBad = m.say("floodPossible")
	case word == "warning":
		p.howBad = m.say("floodExpected")
	}
}

// flooded adds to how bad a flood is the rain that has fallen, or its level in Japan.
func (m *maker) flooded(howBad string) string {
	fact := m.rainFallen()
	if howBad == "" && fact == "" {
		if found := japanLevel.FindStringSubmatch(m.event + "\n" + m.text); found != nil {
			fact = m.say("levelOf", "n", fullWidth.Replace(cmp.Or(found[1], found[2])), "m", "5")
		}
	}
	if howBad != "" && fact != "" {
		howBad += m.say("semicolon")
	}
	return howBad + fact
}

var (
	// japanLevel matches Japan's alert levels of floods: in our names, and in the agency's words.
	japanLevel = regexp.MustCompile(`\(level ([2-5])\)|警戒レベル([2-5２-５])`)
	fullWidth  = strings.NewReplacer("２", "2", "３", "3", "４", "4", "５", "5")
	// fallen matches rain that has fallen, in inches, in a line in small letters.
	fallen = reading(`(?:(\d+(?:\.\d+)?) (?:and|to) )?(\d+(?:\.\d+)?) inch(?:es)? of rain (?:has|have) (?:already )?fallen`, "inch", "fallen")
	// flooding matches the size of a flood in a bulletin of a river.
	flooding = reading(`\b(minor|moderate|major|record) flooding (?:is|was) (?:forecast|expected|occurring)`, "flooding")
)

var (
	// crests matches the highest water that a bulletin of a river expects, in feet of its gauge, and when.
	crests = reading(`\b(?:will|expected to|forecast to|should)\b[^.]{0,120}?\bcrest (?:of|at|near|to) (?:near )?(\d+(?:\.\d+)?) (?:feet|ft)\b,? ?`+
		`(?:by |on |around )?(?:early |late |mid |noon )?(this|today|tonight|tomorrow|(?:sun|mon|tues|wednes|thurs|fri|satur)day)\b(?:, [a-z]+ (\d{1,2})\b)?`, "crest")
	// stage matches the level at which a river begins to flood, read matches the day when its gauge was read.
	stage = reading(`\bflood stage is (\d+(?:\.\d+)?) (?:feet|ft)\b`, "stage")
	read  = reading(`\bat \d{1,2}:?\d\d [ap]m [a-z]{3,4} ((?:sun|mon|tues|wednes|thurs|fri|satur)day)\b`)
)

// crest says when a river is expected to be highest, and how far above its banks; "" if its bulletin
// does not tell both, or the day has passed. Days without a date are those after the gauge was read.
func (m *maker) crest(thing string) string {
	if thing != "flood" || m.h.Source == "" {
		return ""
	}
	high, banks := m.inLine(crests), m.inLine(stage)
	if high == nil || banks == nil {
		return ""
	}
	seen := m.inLine(read)
	if seen == nil {
		return ""
	}
	above := (atof(high[1]) - atof(banks[1])) * 0.3048
	day := m.local(m.h.Updated)
	for range 7 {
		if strings.EqualFold(day.Weekday().String(), seen[1]) {
			break
		}
		day = day.AddDate(0, 0, -1)
	}
	switch when := high[2]; when {
	case "this", "today", "tonight":
	case "tomorrow":
		day = day.AddDate(0, 0, 1)
	default:
		for range 31 {
			day = day.AddDate(0, 0, 1)
			if strings.EqualFold(day.Weekday().String(), when) && (high[3] == "" || high[3] == strconv.Itoa(day.Day())) {
				break
			}
		}
	}
	if above < 0.1 || day.Format(time.DateOnly) < m.local(m.at).Format(time.DateOnly) {
		return ""
	}
	return m.say("crest", "day", m.day(hazard.At(day)), "n", m.number(math.Round(above*10)/10, 1))
}

// rainFallen says how much rain has fallen, "" if the text does not tell.
func (m *maker) rainFallen() string {
	low, high := -1.0, 0.0
	for _, found := range m.allInLine(fallen) {
		if v := atof(found[2]); v > high {
			low, high = -1, v
			if found[1] != "" {
				low = atof(found[1])
			}
		}
	}
	switch a, b := centimeters(low), centimeters(high); {
	case b < 1:
		return ""
	case a < 1 || a >= b:
		return m.say("rainFallenTo", "n", m.number(b, 0))
	default:
		return m.say("rainFallen", "a", m.number(a, 0), "b", m.number(b, 0))
	}
}

// centimeters converts inches of snow or rain: to 1 cm below 10, to 5 cm above (rule 8).
func centimeters(inches float64) float64 {
	if v := inches * 2.54; v < 10 {
		return math.Round(v)
	}
	return nearest(inches*2.54, 5)
}

// beaches says which beaches a warning in English names, by their counties.
func (m *maker) beaches() string {
	found := beachesOf.FindStringSubmatch(m.text)
	if found == nil || m.l.ID != "en" {
		return ""
	}
	names := strings.Split(strings.ReplaceAll(found[1], ", and ", ", "), ", ")
	list := m.and(names)
	if len(names) > 2 {
		list = names[0] + " to " + names[len(names)-1]
	}
	if s := m.stateName(); s != "" {
		return " on the beaches of " + list + " counties, " + s
	}
	return " on the beaches of " + list + " counties"
}

// tornado says who saw it, where it moves, and what comes with it.
func (m *maker) tornado(p *parts, facts []string, people string) {
	seen, text := "", m.small
	switch {
	case strings.Contains(text, "radar indicated") || strings.Contains(text, "radar-indicated"):
		seen = m.say("radarSaw")
	case strings.Contains(text, "confirmed") || strings.Contains(text, "a tornado was located") || strings.Contains(text, "source...") && strings.Contains(text, "spotters"):
		seen = m.say("confirmed")
	case strings.Contains(text, "possibly producing") || strings.Contains(text, "may be producing") || strings.Contains(text, "capable of producing"):
		seen = m.say("mayProduce")
	}
	p.howBad = cmp.Or(seen, p.howBad)
	if found := toward.find(m.small); found != nil && found[2] != "" {
		p.howBad += m.say("moving2", "dir", m.say("toward."+directions[found[1]]),
			"n", m.number(nearest(kmh(atof(found[2]), found[3]), 5), 0))
	}
	if len(facts) > 0 {
		p.howBad += m.say("semicolon") + strings.Join(facts, m.say("comma"))
	}
	p.bad = ""
	if seen != "" && people != "" {
		p.second = append(p.second, seen+m.say("semicolon")+lower(m.say("aboutPeople", "n", m.people(m.h.Exposed().People.People)), m.l))
	}
	p.second = append(p.second, seen)
}

// editorsOwn says what a warning without a text of a source is about: where it is, by the name that its editor gave it.
func (m *maker) editorsOwn(p *parts) {
	p.bad = m.firstFact()
	if m.named != "" {
		p.placeFirst = true
		p.what = Capital(m.event)
		if m.h.Type == hazard.Tsunami {
			p.what = m.say("tsunami." + m.levelWord())
		}
		p.where = m.say("at", "place", m.named)
		if m.a.Country == "" && m.a.OffCountry != "" {
			p.where += m.say("comma") + trimmed(m.off())
		} else {
			p.where = m.say("at", "place", m.within(m.named, m.stateName(), m.country()))
		}
	}
	if !m.a.Area {
		p.second = []string{m.say("whichAreaUnknown")}
	}
}

// titled writes a name in capitals as a name.
func titled(s string) string {
	words := strings.Fields(strings.ToLower(s))
	for i, w := range words {
		for j, part := range strings.Split(w, "'") {
			if j == 0 {
				words[i] = Capital(part)
			} else if len(part) > 1 {
				words[i] += "'" + Capital(part)
			} else {
				words[i] += "'" + part
			}
		}
	}
	return strings.Join(words, " ")
}

// hotF is the least temperature, in degrees Fahrenheit, that a warning of heat is about.
const hotF = 80

// floodSizes are the sizes of floods of rivers in the United States, in order.
var floodSizes = []string{"minor", "moderate", "major", "record"}

// facts are the numbers of a warning that its readers need, the most important first (rules 7 and 8).
func (m *maker) facts(thing string) (facts []string) {
	add := func(key string, v float64) { facts = append(facts, m.fact(key, v)) }
	text := m.small
	addGust := func() (ok bool) {
		gust, ok := m.gust()
		if ok && gust > 0 {
			add("gustsTo", nearest(gust, 5))
		}
		return ok
	}
	switch thing {
	case "thunderstorm", "tornado":
		addGust()
		if v, ok := m.measured(hazard.Hail); ok && v > 0 {
			add("hail", math.Round(v))
		}
	case "snow", "winterstorm", "blizzard":
		facts = append(facts, m.snow()...)
		if len(facts) == 0 && strings.Contains(text, "heavy snow") {
			facts = append(facts, m.say("heavySnow"))
		}
		if thing == "blizzard" {
			addGust()
		}
	case "wind", "gale", "storm", "smallcraft", "dust", "hurricane", "typhoon", "tropicalstorm":
		if thing == "hurricane" || thing == "typhoon" || thing == "tropicalstorm" {
			break // the text may be of one part only
		}
		if !addGust() {
			if v := m.marineWind(); v > 0 {
				add("windTo", nearest(v, 5))
			}
		}
	case "redflag":
		addGust()
		if v := firstOf(text, humidity); len(facts) == 0 && len(v) > 0 {
			add("humidity", v[0])
		}
	case "heat":
		facts = m.heat()
	case "cold", "frost", "ice":
		facts = m.cold(thing)
	case "flood":
		size := -1
		for _, found := range m.allInLine(flooding) {
			size = max(size, slices.Index(floodSizes, found[1]))
		}
		if size >= 0 {
			facts = append(facts, m.say("flooding."+floodSizes[size]))
		}
	case "coastalflood":
		if v, _, ok := upper(text, inundated); ok {
			facts = append(facts, m.say("waterDepth", "n", m.number(math.Round(v*0.3048*10)/10, 1)))
		}
	case "rain":
		if v, _, ok := upper(text, rainMm); ok && v >= 10 {
			add("rainMm", v)
		}
	case "surf":
		if v, _, ok := upper(text, surfFt); ok {
			add("surf", math.Round(v*0.3048))
		}
	case "smoke", "fog":
		facts = m.visibility()
	case "air":
		for _, what := range []string{"ozone", "smoke", "dust"} {
			if strings.Contains(text, what) {
				facts = append(facts, m.say("air."+what))
				break
			}
		}
	}
	return facts
}

// fact says one whole number.
func (m *maker) fact(key string, v float64) string { return m.say(key, "n", m.number(v, 0)) }

// heat says how hot it feels or gets.
func (m *maker) heat() (facts []string) {
	text := m.small
	if v, _, ok := upper(text, heatIndex); ok {
		facts = append(facts, m.fact("feelsLike", math.Round(celsius(v))))
	} else if v := firstOf(text, overTemp); len(v) > 0 {
		facts = append(facts, m.fact("overC", v[0]))
		if l := firstOf(text, locally); len(l) > 0 && l[0] > v[0] {
			facts = append(facts, m.fact("locallyOver", l[0]))
		}
	} else if v, _, ok := upper(text, maxTemp); ok {
		facts = append(facts, m.fact("upTo", v))
	} else if v, _, ok := upper(text, highsF); ok && v >= hotF {
		facts = append(facts, m.fact("upTo", math.Round(celsius(v))))
	}
	return facts
}

// cold says how cold it gets or feels.
func (m *maker) cold(thing string) (facts []string) {
	text := m.small
	if v := firstOf(text, minTemp); len(v) > 1 && thing == "frost" {
		lo, hi := slices.Min(v), slices.Max(v)
		facts = append(facts, m.say("rangeC", "a", m.number(hi, 0), "b", m.number(lo, 0)))
	} else if len(v) > 0 {
		facts = append(facts, m.fact("downTo", slices.Min(v)))
	} else if found := chill.find(text); found != nil {
		f := atof(cmp.Or(found[2], found[1]))
		if found[3] != "" {
			f = -f
		}
		facts = append(facts, m.fact("chill", math.Round(celsius(f))))
	} else if v := firstOf(text, coldF); len(v) > 0 {
		facts = append(facts, m.fact("downTo", math.Round(celsius(slices.Min(v)))))
	}
	return facts
}

// visibility says how far one sees.
func (m *maker) visibility() (facts []string) {
	if found := visNM.find(m.small); found != nil && !strings.Contains(found[1], "/") {
		v := atof(cmp.Or(found[2], found[1]))
		switch unit := found[3]; {
		case unit == "m":
			facts = append(facts, m.fact("visibilityM", v))
		case unit == "km":
			facts = append(facts, m.fact("visibility", v))
		case strings.HasPrefix(unit, "n"):
			facts = append(facts, m.fact("visibility", math.Round(v*1.852)))
		default:
			facts = append(facts, m.fact("visibility", math.Round(v*1.609)))
		}
	}
	return facts
}

// gust is the speed of gusts in km/h, measured or else read from the text.
func (m *maker) gust() (float64, bool) {
	if v, ok := m.measured(hazard.Gust); ok {
		return v, true
	}
	if v, unit, ok := upper(m.small, mphGust, windGusts); ok {
		return kmh(v, cmp.Or(unit, "mph")), true
	}
	v, _, ok := upper(m.small, kmhGust)
	return v, ok
}

// partsOfNow are the names of the first parts of a marine forecast: of the day on which it was issued.
var partsOfNow = []string{"TODAY", "TONIGHT", "REST OF TODAY", "REST OF TONIGHT", "THIS AFTERNOON", "THIS EVENING", "OVERNIGHT"}

// marineWind is the greatest wind of the parts of a marine forecast that the warning is about: those
// of the day on which it begins, and of the present if it has begun; of a text without parts, of all.
func (m *maker) marineWind() float64 {
	best := 0.0
	day := strings.ToUpper(m.local(m.h.Start).Format("Mon"))
	begun := m.h.Start <= m.h.LastUpdate
	for part := range strings.SplitSeq(m.text, "\n.") {
		for _, p := range strings.Split(part, " .") {
			name, _, ok := strings.Cut(p, "...")
			if name = strings.TrimPrefix(name, "."); !ok || name != day && !(begun && slices.Contains(partsOfNow, name)) {
				continue
			}
			if v, _, ok := upper(small(p), ktWind); ok {
				best = max(best, kmh(v, "kt"))
			}
		}
	}
	if best == 0 && !strings.Contains(m.text, "\n.") {
		if v, _, ok := upper(m.small, ktWind); ok {
			best = kmh(v, "kt")
		}
	}
	return best
}

// snow is the greatest depth of snow that is expected, in centimeters.
func (m *maker) snow() []string {
	var low, high float64
	for _, found := range snowIn.findAll(m.small, 4) {
		if top := atof(cmp.Or(found[2], found[1])); top > high {
			low, high = atof(found[1]), top
		}
	}
	if high > 0 {
		if low == high {
			return []string{m.say("snowTo", "n", m.number(centimeters(high), 0))}
		}
		return []string{m.say("snowRange", "a", m.number(centimeters(low), 0), "b", m.number(centimeters(high), 0))}
	}
	if v, _, ok := upper(m.small, snowCm); ok && v > 0 {
		if v >= 10 {
			v = nearest(v, 5)
		}
		return []string{m.say("snowTo", "n", m.number(v, 0))}
	}
	return nil
}

// dataDay is the day of the last data of a source that names it.
func (m *maker) dataDay() string {
	if found := dataUpTo.FindStringSubmatch(m.text); found != nil {
		if at, ok := parseUTC(found[1]); ok {
			return m.day(at)
		}
	}
	return m.day(m.h.LastUpdate)
}

func parseUTC(s string) (hazard.Instant, bool) {
	t, err := time.Parse("2006-01-02 15:04", s)
	return hazard.At(t), err == nil
}

func parseDay(s string) (hazard.Instant, bool) {
	t, err := time.Parse("2 Jan 2006 15:04", s)
	return hazard.At(t), err == nil
}

// countryNames are the English names of countries in lower case.
var countryNames = sync.OnceValue(func() (names []string) {
	for _, c := range region.Countries() {
		names = append(names, strings.ToLower(c.Name))
	}
	return append(names, "turkey", "czech republic", "russian federation", "congo")
})

// isStateName reports whether a name is that of a state of the United States.
func isStateName(name string) bool {
	return slices.ContainsFunc(region.StatesOf("US"), func(s *region.State) bool { return s.Name == name })
}
