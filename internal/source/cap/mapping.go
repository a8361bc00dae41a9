package cap

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"hazardd/internal/hazard"
)

// What the citations of the tables stand for.
const (
	sameCodes  = "NWR-SAME event codes (weather.gov/nwr/eventcodes, 47 CFR 11.31)"
	meteoalarm = "MeteoAlarm awareness_type (EUMETNET)"
	recorded   = "event names of the recorded feeds (Canada, Croatia, Bosnia, Germany, Austria, Australia, India, China, Saudi Arabia, USA)"
	profiles   = "event names of WMO Cg-18 and of CAP-CP, CAP-AU and NWS (api.weather.gov/alerts/types)"
	judgement  = "judgement"
)

// kind is what the tables make of the words for an event.
type kind struct {
	typ hazard.Type // empty: no hazard
	// fire is weather that favours fire, without one: a level less.
	fire bool
}

// awareness is MeteoAlarm's awareness_type. There is no 11.
var awareness = map[int]kind{
	1: {typ: hazard.HighWind}, 2: {typ: hazard.WinterStorm}, 3: {typ: hazard.Storm}, 4: {typ: hazard.Occurrence},
	5: {typ: hazard.ExtremeTemperature}, 6: {typ: hazard.ExtremeTemperature}, 7: {typ: hazard.HighSurf},
	8: {typ: hazard.Wildfire, fire: true}, 9: {typ: hazard.Avalanche}, 10: {typ: hazard.Storm}, 12: {typ: hazard.Flood},
	13: {typ: hazard.Flood}, 14: {typ: hazard.Storm}, // 14: Polar-low, Norway
}

// same are the SAME codes of eventCode. Without a type: no hazard.
var same = codes([]codeRow{
	{hazard.Tornado, "TOA TOR", sameCodes},
	{hazard.Storm, "SVA SVR SVS SPS DSW", sameCodes},
	{hazard.HighWind, "HWA HWW EWW", sameCodes},
	{hazard.Flood, "FFA FFW FFS FLA FLW FLS CFA CFW CFS SSA SSW", sameCodes},
	{hazard.Cyclone, "HUA HUW HLS TRA TRW TYA TYW", sameCodes},
	{hazard.Marine, "SMW", sameCodes},
	{hazard.WinterStorm, "BZW WSA WSW SQW", sameCodes},
	{hazard.Tsunami, "TSA TSW", sameCodes},
	{hazard.Volcano, "VOW", sameCodes},
	{hazard.Avalanche, "AVA AVW", sameCodes},
	{hazard.Earthquake, "EQW", sameCodes},
	{hazard.Wildfire, "FRW", sameCodes},
	{hazard.Accident, "HMW NUW RHW", sameCodes},
	{hazard.Incident, "CDW LEW SPW EVI CEM LAE", sameCodes},
	{hazard.Equipment, "TOE", sameCodes},
	{"", "ADR CAE BLU MEP DMO NIC NMN NPT NST RMT RWT", sameCodes + ": tests, administration and searches for persons"},
})

type codeRow struct {
	typ   hazard.Type
	codes string
	basis string
}

func codes(rows []codeRow) map[string]hazard.Type {
	out := map[string]hazard.Type{}
	for _, r := range rows {
		for code := range strings.FieldsSeq(r.codes) {
			out[code] = r.typ
		}
	}
	return out
}

// nameRow is a type and the words for it. Words stand for themselves, in small letters, separated by "|"; "*" at an end
// stands for any letters there, so that German compounds and languages without blanks are found.
type nameRow struct {
	kind
	words string
	basis string
}

// names finds the type by the words for the event; the first row that fits counts, so the narrower words come first.
var names = []nameRow{
	{kind{}, "child abduction*|amber alert*|blue alert*|silver alert*|missing person*|endangered person*", recorded + ": a search for persons is no hazard"},
	{kind{}, "required weekly test*|required monthly test*|administrative message*|network message*|practice demo*|national periodic test*", sameCodes},
	{kind{typ: hazard.Tsunami}, "tsunami*|maremoto*|*海啸*", profiles},
	{kind{typ: hazard.Volcano}, "volcan*|ash fall*|ashfall*|vulkan*|*火山*", profiles},
	{kind{typ: hazard.Earthquake}, "earthquake*|seism*|séism*|sismo*|*erdbeben*|terremoto*|tremblement de terre*|potres*|*地震*", profiles},
	{kind{typ: hazard.Tornado}, "tornad*|funnel cloud*|waterspout*|*windhose*|*wasserhose*|*龙卷*", recorded},
	{kind{typ: hazard.Marine}, "small craft*|marine*|freezing spray*|hazardous seas*|low water*|gale warning*|gale watch*|hurricane force wind*", profiles},
	{kind{typ: hazard.Storm}, "extra tropical*|extratropical*", profiles},
	{kind{typ: hazard.Cyclone}, "tropical storm*|tropical cyclone*|tropical depression*|hurricane*|typhoon*|cyclon*|ciclón*|ciclone*|huracán*|*台风*", profiles},
	{kind{typ: hazard.Avalanche}, "avalanch*|*lawine*|valang*|lavin*|*雪崩*", profiles},
	{kind{typ: hazard.Landslide}, "landslide*|land slide*|mudslide*|mudflow*|debris flow*|rockfall*|*erdrutsch*|*hangrutsch*|deslizamiento*|deslave*|glissement de terrain*|klizišt*|*滑坡*|*泥石流*|*地质灾害*", profiles},
	{kind{hazard.Wildfire, true}, "fire weather*|red flag*|extreme fire danger*|fire danger*|forest fire danger*|total fire ban*|*waldbrandgefahr*|*森林火险*", "judgement: weather that favours fire, and no fire yet, is one level less"},
	{kind{typ: hazard.Wildfire}, "wildfire*|wild fire*|bushfire*|bush fire*|forest fire*|grass fire*|grassfire*|vegetation fire*|scrub fire*|fire warning|*waldbrand*|*flächenbrand*|incendio forestal*|incêndio florestal*|feu de forêt*|feux de forêt*", recorded},
	{kind{typ: hazard.Flood}, "flood*|flash flood*|coastal flood*|storm surge*|high water*|inundaci*|inundaç*|inondation*|crue|crues|*hochwasser*|*überflut*|*überschwemm*|*sturmflut*|alluvion*|poplav*|dam break*|dam failure*|rain flood*|*洪水*|*山洪*|*内涝*", profiles},
	{kind{typ: hazard.WinterStorm}, "blizzard*|snow*|winter storm*|winter weather*|ice|ice storm*|icing*|icy*|lake effect snow*|freezing rain*|freezing drizzle*|flash freeze*|sleet*|black ice*|*schnee*|*glätte*|*glatteis*|neige*|verglas*|nieve*|nevada*|neve|snijeg*|sneg*|poledic*|*暴雪*|*道路结冰*", recorded},
	{kind{typ: hazard.ExtremeTemperature}, "heat*|extreme heat*|excessive heat*|cold|cold wave*|cold weather*|extreme cold*|arctic outflow*|wind chill*|high temperature*|low temperature*|extreme temperature*|frost*|freeze*|hard freeze*|*hitze*|*frost*|*kälte*|canicule*|grand froid*|calor*|ola de calor*|onda de calor*|onda de frio*|frío*|niska temperatura*|visoka temperatura*|*高温*|*低温*|*寒潮*|*霜冻*", recorded},
	{kind{typ: hazard.Occurrence}, "fog|dense fog*|freezing fog*|fog advisory*|smoke*|dense smoke*|haze*|smog*|air quality*|air stagnation*|air pollution*|low visibility*|ozone*|uv|uv radiation*|*nebel*|*rauch*|*ozon*|brouillard*|niebla*|magla*|*大雾*|*霾*", profiles},
	{kind{typ: hazard.HighSurf}, "surf|high surf*|rip current*|beach hazard*|coastal event*|coastalevent*|high wave*|waves|wave*|swell*|rough sea*|rissaga*|oleaje*|costero*|fenómenos costeros*|vagues*|*海浪*", meteoalarm + "; " + profiles},
	{kind{typ: hazard.Storm}, "thunder*|lightning*|severe thunderstorm*|severe weather*|dust storm*|duststorm*|sandstorm*|sand storm*|dust*|sand|hail*|squall*|polar low*|rain*|heavy rain*|torrential rain*|downpour*|monsoon*|*gewitter*|*hagel*|*regen*|*unwetter*|orage*|pluie*|grêle*|tormenta*|lluvia*|granizo*|chuva*|pioggia*|temporale*|kiša*|kišu*|kiše*|grmljavin*|oluj*|onweer*|neerslag*|*暴雨*|*雷*|*冰雹*|*大雨*|*强对流*|*沙尘*", recorded},
	{kind{typ: hazard.HighWind}, "wind*|high wind*|gale*|gust*|near gale*|storm force wind*|*böen*|*sturm*|*orkan*|*starkwind*|viento*|vent|vento*|vents*|vjetar*|vjetr*|vetar*|*大风*|*阵风*", recorded},
	{kind{typ: hazard.Storm}, "storm*|tempête*|temporal*|tempestad*", judgement},
	{kind{typ: hazard.Drought}, "drought*|dry spell*|*dürre*|sequía*|seca|sécheresse*|*干旱*", profiles},
	{kind{typ: hazard.Accident}, "nuclear*|radiolog*|hazardous material*|chemical*|explosion*|gas leak*|toxic*|oil spill*|industrial accident*|industrial fire*|*gefahrstoff*|*gasaustritt*|*chemieunfall*", profiles},
	{kind{typ: hazard.Biomedical}, "epidemic*|pandemic*|disease*|*tierseuche*|*seuche*", judgement},
	{kind{typ: hazard.Equipment}, "power outage*|power failure*|blackout*|telephone outage*|911 telephone outage*|*stromausfall*|*stromabschaltung*|*notrufausfall*|*ausfall notruf*", "recorded MoWaS warning BBK-EVC-063; 911 Telephone Outage of NWS"},
	{kind{typ: hazard.Incident}, "evacuation*|evacuate*|shelter in place*|civil danger*|civil emergency*|law enforcement warning*|local area emergency*|fire|structure fire*|building fire*|drinking water*|boil water*|*großbrand*|*evakuierung*|*kampfmittel*|*bombenfund*|*trinkwasser*", profiles + "; INCIDENT says no more than the source does"},
	{kind{typ: hazard.Terrorism}, "terror*", judgement},
	{kind{typ: hazard.ActiveShooter}, "active shooter*|*amoklage*", judgement},
	{kind{typ: hazard.CivilUnrest}, "civil unrest*|riot*", judgement},
	{kind{typ: hazard.Cyber}, "cyber*", judgement},
}

// anything are words that tell nothing of an event: the headline does. MoWaS calls every event so.
var anything = map[string]bool{"gefahreninformation": true, "gefahrenmitteilung": true, "gefahrenwarnung": true, "warnung": true, "warning": true, "alert": true}

// civil are the levels of names whose CAP severity always is Unknown (weather-gov/api issue 118, NWS Instruction 10-518).
var civil = map[string]hazard.Severity{
	"avalanche warning": hazard.Warning, "avalanche watch": hazard.Watch, "avalanche advisory": hazard.Advisory,
	"earthquake warning": hazard.Warning, "volcano warning": hazard.Warning, "fire warning": hazard.Warning,
	"hazardous materials warning": hazard.Warning, "nuclear power plant warning": hazard.Warning, "radiological hazard warning": hazard.Warning,
	"civil danger warning": hazard.Warning, "law enforcement warning": hazard.Warning, "shelter in place warning": hazard.Warning,
	"evacuation immediate": hazard.Warning, "civil emergency message": hazard.Watch, "local area emergency": hazard.Watch,
	"911 telephone outage": hazard.Advisory, "air quality alert": hazard.Advisory, "air stagnation advisory": hazard.Advisory,
}

// colours are levels that are said as a colour: MeteoAlarm's awareness_level, Canada's Colour. Green and white say that there
// is nothing to warn of.
var colours = map[string]hazard.Severity{
	"red": hazard.Warning, "orange": hazard.Watch, "yellow": hazard.Advisory, "green": hazard.NoSeverity, "white": hazard.NoSeverity,
}

// awarenessLevels are the numbers of MeteoAlarm's awareness_level.
var awarenessLevels = map[int]string{0: "white", 1: "green", 2: "yellow", 3: "orange", 4: "red"}

// australian are the levels of the Australian Warning System (CAP-AU AlertLevel, South Australia's WarningLevel).
var australian = []struct {
	words string
	level hazard.Severity
}{
	{"emergency warning", hazard.Warning}, {"watch and act", hazard.Watch}, {"advice", hazard.Advisory},
	{"not applicable", hazard.Information}, {"not yet known", hazard.Information},
}

// severities are the words of CAP, and what they are by themselves (MoWaS). Urgency and certainty make some Severe ones greater.
var severities = map[string]hazard.Severity{
	"extreme": hazard.Warning, "severe": hazard.Watch, "moderate": hazard.Advisory, "minor": hazard.Information, "unknown": hazard.Information,
}

// level is what an info block says how bad it is.
type level struct {
	severity hazard.Severity // NoSeverity: it says that there is nothing
	word     string          // the source's own
}

// levelOf finds the level by the most particular of what an info block says.
func levelOf(m *Alert, in *Info, k kind) level {
	l := plainLevel(m, in, k)
	if k.fire && l.severity > hazard.Advisory {
		l.severity--
	}
	return l
}

func plainLevel(m *Alert, in *Info, k kind) level {
	if s, ok := in.ownSeverity(); ok {
		return level{s, s.String()}
	}
	if v := in.Param("awareness_level"); v != "" {
		parts := strings.Split(strings.ToLower(v), ";")
		n, err := strconv.Atoi(strings.TrimSpace(parts[0]))
		colour := awarenessLevels[n]
		if err != nil || colour == "" {
			colour = strings.TrimSpace(parts[min(1, len(parts)-1)])
		}
		if s, ok := colours[colour]; ok {
			return level{s, colour}
		}
	}
	if v := strings.ToLower(in.parameterEnding(":Colour")); v != "" {
		if s, ok := colours[v]; ok && s != hazard.NoSeverity {
			return level{s, v}
		}
	}
	if v := first(in.Param("AlertLevel"), in.Param("WarningLevel")); v != "" {
		for _, a := range australian {
			if strings.Contains(strings.ToLower(v), a.words) {
				return level{a.level, v}
			}
		}
	}
	word := strings.ToLower(strings.TrimSpace(in.Severity))
	s, own := severities[word], hazard.CleanLine(in.Severity)
	switch {
	case s == hazard.NoSeverity: // a Cancel may leave it out
		s = hazard.Information
	case word == "unknown":
		if s, ok := civil[normal(in.Event)]; ok {
			return level{s, hazard.CleanLine(in.Event)}
		}
		if m, depth, ok := in.quake(); ok && k.typ == hazard.Earthquake {
			return level{quakeLevel(m, depth), own}
		}
	case strings.HasPrefix(m.Identifier, "mow."):
	case word == "severe" && (is(in.Urgency, "Immediate", "Expected") && is(in.Certainty, "Observed", "Likely", "Very Likely")):
		s = hazard.Warning
	}
	return level{s, own}
}

// quakeLevel is the level of an earthquake by magnitude alone, as for USGS before PAGER.
func quakeLevel(m, depth float64) hazard.Severity {
	switch {
	case m >= 7 && depth < 100:
		return hazard.Warning
	case m >= 6:
		return hazard.Watch
	case m >= 5:
		return hazard.Advisory
	}
	return hazard.Information
}

// leastQuake is the magnitude below which an earthquake is no hazard.
const leastQuake = 4.5

// quake is the magnitude and depth of an earthquake, where parameters tell.
func (in *Info) quake() (magnitude, depth float64, ok bool) {
	magnitude, ok = leading(first(in.Param("Magnitude"), in.Param("EventPreliminaryMagnitude")))
	depth, _ = leading(first(in.Param("Depth"), in.Param("EventDepth")))
	return magnitude, depth, ok
}

// leading reads the number that s begins with.
func leading(s string) (float64, bool) {
	word, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	f, err := number(word)
	return f, err == nil
}

// is tells whether word is one of the words, whatever its letters' case.
func is(word string, any ...string) bool {
	return slices.ContainsFunc(any, func(w string) bool { return strings.EqualFold(w, strings.TrimSpace(word)) })
}

// classify finds the type of what infos, one thing in several languages, speak of. Known is false when no row fits.
func classify(infos []*Info) (k kind, known bool) {
	for _, in := range infos {
		if typ, ok := in.ownType(); ok {
			return kind{typ: typ}, true
		}
	}
	for _, in := range infos {
		if n, ok := leadingInt(in.Param("awareness_type")); ok {
			if k, ok := awareness[n]; ok {
				if n == 7 && strings.Contains(normal(in.Headline+" "+in.Event+" "+in.Description), "storm surge") {
					k.typ = hazard.Flood
				}
				return k, true
			}
		}
	}
	for _, in := range infos {
		for _, c := range in.EventCode {
			if typ, ok := same[strings.TrimSpace(c.Value)]; ok && strings.TrimSpace(c.Name) == "SAME" {
				return kind{typ: typ, fire: false}, true
			}
		}
	}
	for _, in := range infos {
		if k, ok := named(in.Event); ok {
			return k, true
		}
	}
	for _, in := range infos {
		for _, c := range in.EventCode {
			if k, ok := named(spaced(c.Value)); ok && len(c.Value) < 60 && !strings.EqualFold(c.Name, "LICENSE") {
				return k, true
			}
		}
	}
	for _, in := range infos {
		if anything[normal(in.Event)] {
			if k, ok := named(in.Headline); ok {
				return k, true
			}
		}
	}
	return kind{}, false
}

// named finds the row of words that an event's name fits.
func named(event string) (kind, bool) {
	text := " " + normal(event) + " "
	if text == "  " {
		return kind{}, false
	}
	for _, r := range names {
		for pattern := range strings.SplitSeq(r.words, "|") {
			if !strings.HasPrefix(pattern, "*") {
				pattern = " " + pattern
			}
			if !strings.HasSuffix(pattern, "*") {
				pattern += " "
			}
			if strings.Contains(text, strings.Trim(pattern, "*")) {
				return r.kind, true
			}
		}
	}
	return kind{}, false
}

// levelWords are words of levels in events' names, which are no part of what happens.
var levelWords = map[string]bool{
	"green": true, "yellow": true, "orange": true, "red": true, "žuto": true, "narančasto": true, "crveno": true, "zeleno": true,
	"gelb": true, "rot": true, "grün": true, "jaune": true, "rouge": true, "vert": true, "amarillo": true, "naranja": true, "rojo": true, "verde": true,
}

// normal is text in small letters, its words separated by single blanks.
func normal(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }), " ")
}

// spaced parts the words of a code such as grassFire.
func spaced(code string) string {
	var b strings.Builder
	for i, r := range code {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func leadingInt(s string) (int, bool) {
	word, _, _ := strings.Cut(s, ";")
	n, err := strconv.Atoi(strings.TrimSpace(word))
	return n, err == nil
}

// Param is the first value under a name, whatever the letters' case.
func (in *Info) Param(name string) string {
	return find(in.Parameter, func(n string) bool { return strings.EqualFold(n, name) })
}

// parameterEnding is the first value under a name that ends so: CAP-CP puts the version of its layer before it.
func (in *Info) parameterEnding(suffix string) string {
	return find(in.Parameter, func(n string) bool { return strings.HasSuffix(n, suffix) })
}

func find(values []Value, fits func(string) bool) string {
	for _, v := range values {
		if fits(strings.TrimSpace(v.Name)) && strings.TrimSpace(v.Value) != "" {
			return strings.TrimSpace(v.Value)
		}
	}
	return ""
}
