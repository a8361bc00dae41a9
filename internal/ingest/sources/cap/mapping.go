package cap

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/hazardd/hazardd/internal/hazard"
)

// kind is the result of the tables for an event.
type kind struct {
	typ hazard.Type // empty means no hazard
	// fire means weather that favors fire, without a fire yet: the level is one lower.
	fire bool
}

// anything are words that say nothing about the event, so that the headline is used. MoWaS uses
// them for every event.
var anything = map[string]bool{"gefahreninformation": true, "gefahrenmitteilung": true, "gefahrenwarnung": true, "warnung": true, "warning": true, "alert": true}

// allClear are words of events that say that a danger is over, or that there is no danger. They
// come from profiles, and from centers that send an Update instead of a Cancel.
var allClear = sync.OnceValue(func() []pattern {
	all, _ := compile([]nameRow{{words: []wordRow{
		{"all clear*|cancellation*|cancelled|canceled|termination|no warning*|no alert*|no advisory|no advisories|*entwarnung*|warnung aufgehoben|aufhebung*|fin d alerte*|levée de*|cancelación*|cancelamento*|cessato allarme*|revoca|*解除*|*取消*|*해제*", profiles + "; tsunami.gov; BBK; " + eastAsia},
	}}})
	return all
})

// Over reports whether the words, times or certainty of an info block mean that the event is over.
// Past alone does not mean that: GDACS uses it for every earthquake.
func (in *Info) Over(update bool) bool {
	text := " " + normal(in.Event) + " "
	return slices.ContainsFunc(allClear(), func(p pattern) bool { return strings.Contains(text, p.text) }) ||
		update && is(in.Urgency, "Past") && is(in.Certainty, "Unlikely")
}

// civil are the levels of names whose CAP severity always is Unknown (weather-gov/api issue 118, NWS Instruction 10-518).
var civil = map[string]hazard.Severity{
	"avalanche warning": hazard.Warning, "avalanche watch": hazard.Watch, "avalanche advisory": hazard.Advisory,
	"earthquake warning": hazard.Warning, "volcano warning": hazard.Warning, "fire warning": hazard.Warning,
	"hazardous materials warning": hazard.Warning, "nuclear power plant warning": hazard.Warning, "radiological hazard warning": hazard.Warning,
	"civil danger warning": hazard.Warning, "law enforcement warning": hazard.Warning, "shelter in place warning": hazard.Warning,
	"evacuation immediate": hazard.Warning, "civil emergency message": hazard.Watch, "local area emergency": hazard.Watch,
	"911 telephone outage": hazard.Advisory, "air quality alert": hazard.Advisory, "air stagnation advisory": hazard.Advisory,
}

// colours are levels given as a color: MeteoAlarm's awareness_level, Canada's Colour. Green and
// white mean that there is no danger.
var colours = map[string]hazard.Severity{
	"red": hazard.Warning, "orange": hazard.Watch, "yellow": hazard.Advisory, "green": hazard.NoSeverity, "white": hazard.NoSeverity,
	"rojo": hazard.Warning, "naranja": hazard.Watch, "amarillo": hazard.Advisory, "verde": hazard.NoSeverity, // AEMET
}

// greenForm matches events that state themselves that there is nothing to warn about.
var greenForm = regexp.MustCompile(`(?i)\b(nivel|nivell|cod|aviso) verde?\b|\bgreen (warning|level|alert)\b|\b(warning|level|alert)( level)?: green\b`)

// awarenessLevels are the numbers of MeteoAlarm's awareness_level.
var awarenessLevels = map[int]string{0: "white", 1: "green", 2: "yellow", 3: "orange", 4: "red"}

// australian are the levels of the Australian Warning System (CAP-AU AlertLevel, South Australia's
// WarningLevel).
var australian = []struct {
	words string
	level hazard.Severity
}{
	{"emergency warning", hazard.Warning}, {"watch and act", hazard.Watch}, {"advice", hazard.Advisory},
	{"not applicable", hazard.Information}, {"not yet known", hazard.Information},
}

// severities are CAP's words for the severity, with the level of each alone (MoWaS). Urgency and
// certainty raise the level of some Severe ones.
var severities = map[string]hazard.Severity{
	"extreme": hazard.Warning, "severe": hazard.Watch, "moderate": hazard.Advisory, "minor": hazard.Information, "unknown": hazard.Information,
}

// SeverityOf returns the level for a CAP severity alone: INFORMATION for Unknown and for invalid
// values.
func SeverityOf(word string) hazard.Severity {
	return max(severities[strings.ToLower(strings.TrimSpace(word))], hazard.Information)
}

// level is the severity of an info block.
type level struct {
	severity hazard.Severity // NoSeverity means that there is no danger
	word     string          // the source's own word for the level
}

// levelOf returns the level from the most specific data of an info block.
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
	if s, ok := colours[strings.ToLower(in.Param("AEMET-Meteoalarm nivel"))]; ok {
		return level{s, in.Param("AEMET-Meteoalarm nivel")}
	}
	if greenForm.MatchString(in.Event) && !is(in.Severity, "Severe", "Extreme") { // if the two contradict each other, it is shown
		return level{hazard.NoSeverity, hazard.CleanLine(in.Event)}
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
		if k.typ == hazard.Cyclone {
			return level{cycloneLevel(in.Event + " " + in.Headline), own}
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

// cyclones are the words for a cyclone's class, used if it has no severity (Mexico). The levels
// follow the wind, as for NHC: a hurricane has 64 kt, a tropical storm 34.
var cyclones = []struct {
	words string
	level hazard.Severity
}{
	{"huracán|hurricane|typhoon|furacão|ouragan|tayfun|тайфун", hazard.Warning},
	{"tropical storm|tormenta tropical|tempestade tropical|tempête tropicale|cyclon|ciclón|ciclone", hazard.Watch},
	{"tropical depression|depresión tropical|depressão tropical|dépression tropicale", hazard.Advisory},
}

func cycloneLevel(words string) hazard.Severity {
	words = normal(words)
	for _, c := range cyclones {
		for word := range strings.SplitSeq(c.words, "|") {
			if strings.Contains(words, word) {
				return c.level
			}
		}
	}
	return hazard.Information
}

// quakeLevel returns the level of an earthquake by magnitude only, as for USGS before PAGER.
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

// minQuake is the lowest magnitude of an earthquake that is a hazard.
const minQuake = 4.5

// quake returns the magnitude and depth of an earthquake from the parameters.
func (in *Info) quake() (magnitude, depth float64, ok bool) {
	magnitude, ok = leading(first(in.Param("Magnitude"), in.Param("EventPreliminaryMagnitude")))
	depth, _ = leading(first(in.Param("Depth"), in.Param("EventDepth")))
	return magnitude, depth, ok
}

// leading returns the number at the beginning of s.
func leading(s string) (float64, bool) {
	word, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	f, err := number(word)
	return f, err == nil
}

// is reports whether word is one of the words, ignoring case.
func is(word string, any ...string) bool {
	return slices.ContainsFunc(any, func(w string) bool { return strings.EqualFold(w, strings.TrimSpace(word)) })
}

// classify returns the type of infos, the same block in several languages. Codes have precedence,
// then words for the event, then less specific codes. If guess is not empty, all of these failed,
// and guess says from what the type was derived.
func classify(infos []*Info) (k kind, guess string) {
	for _, in := range infos {
		if typ, ok := in.ownType(); ok {
			return kind{typ: typ}, ""
		}
	}
	for _, in := range infos {
		if n, ok := leadingInt(in.Param("awareness_type")); ok {
			if k, ok := awareness[n]; ok {
				if n == 7 && strings.Contains(normal(in.Headline+" "+in.Event+" "+in.Description), "storm surge") {
					k.typ = hazard.Flood
				}
				return k, ""
			}
		}
	}
	if k, ok := coded(infos, false); ok {
		return k, ""
	}
	for _, in := range infos {
		if k, ok := named(in.Event); ok {
			return k, ""
		}
	}
	for _, in := range infos {
		for _, c := range in.EventCode {
			if k, ok := named(spaced(c.Value)); ok && len(c.Value) < 60 && !strings.EqualFold(c.Name, "LICENSE") {
				return k, ""
			}
		}
	}
	for _, in := range infos {
		if anything[normal(in.Event)] {
			if k, ok := named(in.Headline); ok {
				return k, ""
			}
		}
	}
	if k, ok := coded(infos, true); ok {
		return k, ""
	}
	return guessed(infos)
}

// guessed returns the type of an event without known codes or words: from the words of the
// headline, or else from the CAP category, or else OCCURRENCE. It never returns "no hazard",
// because a headline may mention something that is absent.
func guessed(infos []*Info) (k kind, guess string) {
	event := fmt.Sprintf("the event %.60q is in no list of ours, and its type is a guess", hazard.CleanLine(infos[0].Event))
	for _, in := range infos {
		if k, ok := named(in.Headline); ok && k.typ != "" {
			return k, event + " from the headline"
		}
	}
	for _, c := range categories {
		for _, in := range infos {
			if slices.ContainsFunc(in.Category, func(w string) bool { return is(w, c.category) }) {
				return kind{typ: c.typ}, event + " from the CAP category " + c.category
			}
		}
	}
	return kind{typ: hazard.Occurrence}, event
}

// levelWords are words in events' names that describe the level, not the event.
var levelWords = map[string]bool{
	"green": true, "yellow": true, "orange": true, "red": true, "žuto": true, "narančasto": true, "crveno": true, "zeleno": true,
	"gelb": true, "rot": true, "grün": true, "jaune": true, "rouge": true, "vert": true, "amarillo": true, "naranja": true, "rojo": true, "verde": true,
}

// spaced separates the words of a code such as grassFire.
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

// Param returns the first value of a parameter, ignoring case.
func (in *Info) Param(name string) string {
	return find(in.Parameter, func(n string) bool { return strings.EqualFold(n, name) })
}

// parameterEnding returns the first value of a parameter with that suffix: CAP-CP puts the version
// of its layer in front.
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
