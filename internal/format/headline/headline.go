// Package headline says in one or two sentences what a hazard is, how bad, where, until when, and
// what to do, in each language that the service has words in.
//
// It says what the hazard's state and its place tell, and nothing else: what is not known is left
// out, or said to be unknown where it decides. Its output depends on its arguments alone. Most of
// what sources say in numbers stands only in their texts, so it reads these (text.go); a text in an
// unknown form gives no number.
package headline

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang/words"
)

// Headline is a hazard in words. The parts are phrases without a full stop; Headline and Instruction
// are sentences.
type Headline struct {
	Headline    string `json:"headline"`
	What        string `json:"what"`
	HowBad      string `json:"how_bad"`
	Where       string `json:"where"`
	Until       string `json:"until"`       // empty for a moment, such as an earthquake
	Instruction string `json:"instruction"` // empty if no source or editor gives one
	Language    string `json:"language"`    // BCP 47
	// First and Second are the sentences of Headline without the words of rule 15 ("EXERCISE: ",
	// "Ended: "), for texts that say these in their own way. First begins as after a colon.
	First, Second string `json:"-"`
}

// Reader is who reads a headline, and when.
type Reader struct {
	Language *words.Language
	// At is the moment of reading: what lies some days away has a date.
	At hazard.Instant
}

// The lengths of a headline in characters: its first sentence, and all of it.
const (
	maxFirst   = 110
	maxForeign = 150 // of the first sentence in other languages, whose words are longer
	maxAll     = 190
)

// parts are the phrases of a headline, in the reader's language. Those of the first sentence begin
// with what joins them to the phrase before: " until Tuesday 15:00", ": gusts to 95 km/h".
type parts struct {
	what, where, when, bad string
	// placeFirst means that the place stands before the time.
	placeFirst bool
	// shorter are what the place or the numbers may be replaced by, one after the other, if the first
	// sentence is too long.
	shorter []shorter
	// second are what the second sentence may say, the most important first.
	second []string
	// howBad and place are the whole phrases of Headline; empty means those of the first sentence.
	howBad, place string
	until         string
}

// shorter is a shorter place, or shorter numbers.
type shorter struct{ where, bad string }

// maker makes one headline.
type maker struct {
	h    *hazard.Hazard
	a    *Around
	l    *words.Language
	at   hazard.Instant
	zone *time.Location
	utc  bool   // times are in UTC and say so
	text string // the description
	// small is the description in small letters.
	small string
	// event and place are the two parts of a name such as "Flood - Bologna, Italy".
	event, named string
}

// say returns words with their arguments. In text from right to left, names in Latin letters are
// isolated, so that they do not turn its order around (Unicode UAX 9, FSI and PDI).
func (m *maker) say(key string, arguments ...any) string {
	if m.l.Dir == "rtl" {
		for i := 1; i < len(arguments); i += 2 {
			if s, ok := arguments[i].(string); ok && latin.MatchString(s) {
				arguments[i] = "\u2068" + s + "\u2069"
			}
		}
	}
	return m.l.Say("headline."+key, arguments...)
}

var (
	latin       = regexp.MustCompile(`^[A-Za-zÀ-ɏ][^\x{2068}]*$`)
	preposition = regexp.MustCompile(`^(?:for|in|around|near|at|on) `)
)

// Make says a hazard as it is at the reader's moment (hazard.ExpireAt).
func Make(h *hazard.Hazard, around *Around, r Reader) Headline {
	bounded := *h
	bounded.Name, bounded.Note, bounded.Description = hazard.CleanLine(beginning(h.Name)), beginning(h.Note), hazard.Clean(beginning(h.Description))
	h = &bounded
	m := &maker{h: h, a: around, l: r.Language, at: r.At, zone: around.zone(), text: h.Description, small: small(h.Description)}
	m.event, m.named = splitName(h.Name)
	p := m.parts()
	out := Headline{What: strings.TrimRight(m.capital(p.what), ",،、， "), HowBad: cmp.Or(p.howBad, trimmed(p.bad)), Where: cmp.Or(p.place, trimmed(p.where)), Until: p.until, Instruction: Shortened(Sentenced(beginning(InstructionOf(h)))), Language: m.l.ID}
	out.HowBad, out.Where = cmp.Or(out.HowBad, m.say("notKnown")), cmp.Or(out.Where, m.say("notKnown"))
	if m.l.ID == "en" {
		out.Where = preposition.ReplaceAllString(out.Where, "")
	}
	if h.Somewhere() {
		out.Where += m.say("bracket", "s", m.say("standIn", "place", m.knownAs()))
	}
	switch before := m.state(); {
	case h.Reason == hazard.EndRetracted:
		out.First, out.Second = m.withdrawn(&p)
		out.Headline = m.joined(m.say("withdrawn", "s", out.First), out.Second)
		out.What, out.HowBad, out.Until = m.say("withdrawn", "s", p.what), m.say("noDanger"), m.say("withdrawnAt", "t", m.clock(h.End))
	case before != "":
		p.when, p.second, p.bad = "", []string{m.endedHow()}, ""
		out.First, out.Second = m.sentences(&p)
		out.Headline, out.What, out.Until = m.joined(m.say(before, "s", m.lowered(out.First)), out.Second), m.say(before, "s", m.lowered(p.what)), m.say("endedAt", "t", m.clock(h.End))
		out.Headline = m.capital(out.Headline)
	default:
		out.First, out.Second = m.sentences(&p)
		out.Headline = m.joined(out.First, out.Second)
	}
	out.First = m.lowered(out.First)
	if h.Category == hazard.Exercise {
		for _, s := range []*string{&out.Headline, &out.What, &out.HowBad, &out.Instruction} {
			if *s != "" {
				*s = m.say("exercise", "s", lower(*s, m.l))
			}
		}
		if InstructionOf(h) != "" {
			out.Instruction = m.say("exercise", "s", Shortened(beginning(InstructionOf(h))))
		}
	}
	return out
}

// maxRead is how many bytes of a text are read: what a headline needs stands at its beginning.
const maxRead = 20_000

func beginning(text string) string {
	if len(text) > maxRead {
		return strings.ToValidUTF8(text[:maxRead], "")
	}
	return text
}

// state is the first word for what is over: "ended", or "" for what is not, or is past by nature.
func (m *maker) state() string {
	h := m.h
	urgency, _ := hazard.Measured(h.Measurements, hazard.Urgency)
	switch {
	case h.Type == hazard.Earthquake, h.Category == hazard.Response && h.Reason != hazard.EndRetracted:
		return ""
	case h.Status == hazard.Expired:
		return "ended"
	case urgency.Word() == "past" && strings.Contains(m.small, "ended"):
		return "ended"
	}
	return ""
}

// endedHow says who says that it is over, or that nobody does.
func (m *maker) endedHow() string {
	switch h := m.h; {
	case h.Status == hazard.Active:
		if s := sentenceWith(Sentenced(m.text), "no longer"); s != "" && m.l.ID == "en" {
			return s
		}
		return m.say("allClear")
	case h.Category == hazard.Response:
		return m.say("whetherOver")
	case h.Reason == hazard.EndExpired && !h.EndGiven && h.Updated > h.End: // what was read last had ended before
		return m.say("whetherOver")
	case h.Reason == hazard.EndExpired && !h.EndGiven:
		return m.say("silence", "t", m.day(h.Updated))
	case h.Reason == hazard.EndAllClear:
		return m.say("allClear")
	}
	return ""
}

// withdrawn says a hazard that was false, and why it was withdrawn: nothing of its danger.
func (m *maker) withdrawn(p *parts) (first, second string) {
	what := strings.TrimSuffix(m.event, " warning")
	if incident.MatchString(m.named) {
		what = m.named
	} else if m.named != "" {
		what += m.say("comma") + m.named
	}
	p.what = lower(what, m.l)
	first = stop(lower(m.within(what, m.stateName(), m.country()), m.l))
	if note := hazard.CleanLine(m.h.Note); note != "" {
		second = stop(note)
	}
	return first, second
}

// incident are words of names that say by themselves what happened: "Dam break at Vajont".
var incident = regexp.MustCompile(`(?i)\b(?:break|leak|spill|collapse|explosion|outage|fire)\b`)

// joined joins the sentences of a headline.
func (m *maker) joined(first, second string) string {
	if second == "" {
		return first
	}
	between := m.say("between")
	if between == "" && strings.HasSuffix(first, ".") {
		between = " "
	}
	return first + between + second
}

// sentences returns the first sentence and the best second one that fits.
func (m *maker) sentences(p *parts) (first, second string) {
	first = m.first(p)
	for _, s := range p.second {
		if s == "" {
			continue
		}
		if s = stop(m.capital(s)); utf8.RuneCountInString(m.joined(first, s)) <= maxAll {
			return first, s
		}
	}
	return first, ""
}

// commas joins what ends with a comma to what begins with one.
var commas = strings.NewReplacer(" ,", ",", ",,", ",")

// first is the first sentence. A long one loses what follows the first detail.
func (m *maker) first(p *parts) string {
	key := "sentence"
	if p.placeFirst {
		key = "sentencePlace"
	}
	what, where, when := p.what, p.where, p.when
	if p.placeFirst && strings.HasPrefix(where, m.say("comma")) { // an apposition, also where the place stands before what it is
		what, where = "", what+where
	}
	if rest, ok := strings.CutPrefix(when, " "); ok && p.placeFirst && strings.Contains(where, ", ") && !strings.Contains(where, " and ") && !strings.Contains(where, "°") && !strings.Contains(m.say("comma"), "、") {
		when = m.say("comma") + rest
	}
	make := func(bad string) string {
		s := m.say(key, "what", what, "when", when, "where", where, "bad", bad)
		return m.capital(commas.Replace(strings.Join(strings.Fields(s), " ")))
	}
	limit := maxFirst
	if m.l.ID != "en" {
		limit = maxForeign
	}
	s := make(p.bad)
	for _, short := range p.shorter {
		if utf8.RuneCountInString(s) > limit {
			where, p.bad = cmp.Or(short.where, where), cmp.Or(short.bad, p.bad)
			s = make(p.bad)
		}
	}
	for bad := p.bad; utf8.RuneCountInString(s) > limit && bad != ""; s = make(bad) {
		bad = bad[:max(strings.LastIndex(bad, m.say("comma")), 0)]
	}
	return s
}

// InstructionOf returns what to do, in the words of the editor or of the source: of the text that the
// hazard is presented in, if it has one.
func InstructionOf(h *hazard.Hazard) string {
	if t := h.Says(); t != nil && h.Instruction == "" {
		return hazard.Clean(t.Instruction)
	}
	return h.Instruction
}

// zone is the time zone of the place; UTC if it is not known.
func (a *Around) zone() *time.Location {
	if a == nil || a.Zone == nil {
		return time.UTC
	}
	return a.Zone
}

// stop ends a sentence.
func stop(s string) string {
	last, _ := utf8.DecodeLastRuneInString(s)
	if s == "" || strings.ContainsRune(".?!。।", last) {
		return s
	}
	if unicode.Is(unicode.Han, last) || unicode.Is(unicode.Hiragana, last) || unicode.Is(unicode.Katakana, last) || strings.ContainsRune("）”」", last) {
		return s + "。"
	}
	if unicode.Is(unicode.Devanagari, last) {
		return s + "।"
	}
	return s + "."
}

// Capital begins with a capital letter.
func Capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 || r == utf8.RuneError {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

// capital begins with a capital letter of the language: in Turkish, that of i has a dot.
func (m *maker) capital(s string) string {
	if rest, ok := strings.CutPrefix(s, "i"); ok && m.l.ID == "tr" {
		return "İ" + rest
	}
	return Capital(s)
}

// lower begins in lower case within a sentence, but for names of two capitals, for languages without
// cases, and in German, whose nouns have capitals.
func lower(s string, l *words.Language) string {
	r, n := utf8.DecodeRuneInString(s)
	next, _ := utf8.DecodeRuneInString(s[n:])
	first, _, _ := strings.Cut(s, " ")
	if n == 0 || l.ID == "de" || unicode.IsUpper(next) || slices.Contains(properFirst, first) {
		return s
	}
	return string(unicode.ToLower(r)) + s[n:]
}

// lowered is lower, but for what begins with the hazard's own name.
func (m *maker) lowered(s string) string {
	if first, _, _ := strings.Cut(s, " "); first != "" && slices.Contains(strings.FieldsFunc(m.named, func(r rune) bool { return r == ' ' || r == ',' }), first) {
		return s
	}
	return lower(s, m.l)
}

// properFirst are first words of headlines that are names of kinds of storms before a name.
var properFirst = []string{"Hurricane", "Typhoon"}

// trimmed is a phrase without what joined it to the one before.
func trimmed(s string) string { return strings.TrimLeft(s, " ,:、：，；،।") }
