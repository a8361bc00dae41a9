package headline

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/hazard"
)

// What stands in texts of sources, in English.

func atof(s string) float64 {
	v, _ := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	return v
}

// field returns the value of a line "Name: value" in a text made of such fields.
func field(text, name string) string {
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ';' }) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+": "); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// sentenceWith returns the first sentence of a text that contains a word.
func sentenceWith(text, word string) string {
	for s := range strings.SplitSeq(oneLine(text), ". ") {
		if i := strings.Index(s, word); i >= 0 {
			if _, after, ok := strings.Cut(s, " - ended "); ok {
				s = after
			}
			return strings.TrimRight(strings.TrimSuffix(strings.TrimSpace(s), "###"), " .")
		}
	}
	return ""
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// pattern is an expression that is looked for in a text, most in one in small letters. Most texts lack the words that are in all that it
// matches: to look for these first costs far less than to try the expression at each letter.
type pattern struct {
	*regexp.Regexp
	words []string
}

func reading(expression string, words ...string) pattern {
	return pattern{regexp.MustCompile(expression), words}
}

// may reports whether a text has the words.
func (p pattern) may(text string) bool {
	return !slices.ContainsFunc(p.words, func(word string) bool { return !strings.Contains(text, word) })
}

// find returns the first match and its groups, or nil.
func (p pattern) find(text string) []string {
	if !p.may(text) {
		return nil
	}
	return p.FindStringSubmatch(text)
}

// findAll returns the first n matches.
func (p pattern) findAll(text string, n int) [][]string {
	if !p.may(text) {
		return nil
	}
	return p.FindAllStringSubmatch(text, n)
}

// small writes a text in small letters, as expressions without regard to case read it: the long s is an s.
func small(text string) string { return strings.ReplaceAll(strings.ToLower(text), "ſ", "s") }

// hasWord reports whether a text has one of these as a word, or as the beginning of one. The letters of words are those of ASCII.
func hasWord(text string, whole bool, words ...string) bool {
	for _, word := range words {
		for begin := 0; ; begin++ {
			i := strings.Index(text[begin:], word)
			if i < 0 {
				break
			}
			begin += i
			if end := begin + len(word); (begin == 0 || !wordByte(text[begin-1])) && (!whole || end == len(text) || !wordByte(text[end])) {
				return true
			}
		}
	}
	return false
}

func wordByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_'
}

// Of texts in small letters.
var (
	mphGust   = reading(`gusts?(?: of)?(?: up)?(?: to)?(?: around| near| as high as)? (\d+)(?: to (\d+))? ?(mph|kt|knots|km/h)`)
	windGusts = reading(`(\d+) (mph) wind gusts`, "mph wind gusts")
	kmhGust   = reading(`(?:gust speed|gusts?|windb[oö]en|böen)[^.\d]{0,40}(\d+)(?: ?(?:-|–|to|and) ?(\d+))? ?km/h`, "km/h")
	ktWind    = reading(`winds? (?:increasing to |to )?(\d+)(?: to (\d+))? (?:kt|knots)(?: increasing to (\d+) (?:kt|knots))?`)
	snowIn    = reading(`accumulations? (?:of |between |up to |around )?(\d+)(?: (?:to|and) (\d+))? inch`)
	snowCm    = reading(`(\d+)(?: ?(?:-|–|to) ?(\d+))? ?cm (?:of )?(?:fresh |new )?snow|snow[^.]{0,40}?(\d+)(?: ?(?:-|–|to) ?(\d+))? ?cm`, "snow", "cm")
	heatIndex = reading(`heat index (?:values|readings)?[^.\d]{0,30}(\d+)(?: to (\d+))?`)
	chill     = reading(`wind chills?[^.\d]{0,40}(\d+)(?: to (\d+))?( below)?`)
	minTemp   = reading(`min(?:imum)?\.? temp(?:erature)?s?:?[^.\d-]{0,20}(-?\d+)(?: ?(?:-|–|to|bis) ?(-?\d+))? ?°? ?c`)
	maxTemp   = reading(`max(?:imum)?\.? temp(?:erature)?s?:?[^.\d-]{0,20}(-?\d+)(?: ?(?:–|to|bis|-) ?(-?\d+))? ?°? ?c`)
	overTemp  = reading(`(?:exceed(?:ed|s|ing)?|above|over|reach(?:ed|ing)?)[^.\d]{0,20}(\d+) ?(?:°c|℃|degrees)`)
	highsF    = reading(`(?:highs?|temperatures?)(?: of| from| up to| ranging| between| near| around| in the| to| expected)* (\d{2,3})(?: (?:to|and) (\d{2,3}))?(?: degrees|°f|\.| expected|,| are| in | at | for )`)
	locally   = reading(`locally (?:exceeding|above|over|reaching) ?(\d+) ?(?:°c|℃|degrees)`)
	coldF     = reading(`temperatures? (?:as low as|in the|down to|of) (-?\d+)(?: to (-?\d+))?`)
	rainMm    = reading(`(\d+)(?: ?(?:-|–|to|and) ?(\d+))? ?(?:mm|l/m²|l/m2)`)
	inundated = reading(`(?:up to )?(?:an? )?(\d+(?:\.\d+)?)(?: to (\d+(?:\.\d+)?))? (?:ft|feet|foot) of inundation`, "of inundation")
	humidity  = reading(`humidity\.*(?: values)?(?: as low as| down to| near| of| around)?[^.\d]{0,30}(\d+)(?: to \d+)? ?(?:percent|%)`)
	surfFt    = reading(`(?:breaking waves|surf|waves)[^.\d]{0,30}(\d+)(?: to (\d+))? (?:ft|feet)`)
	visNM     = reading(`visibility[^.\d]{0,30}(\d+(?:/\d+)?)(?: to (\d+))? ?(nm|nautical miles?|sm|mile|km|m)\b`)
	toward    = reading(`moving (northeast|northwest|north|southeast|southwest|south|east|west)(?: \(\d+°\))?(?: at (\d+) ?(mph|kt|km/h))?`)
	alertOf   = reading(`alert level (?:remained|remains|was raised|was lowered|was|is|stayed)?(?: at| to)? ?(\d)[^.]{0,60}?scale of (\d) ?(?:-|–|to) ?(\d)`)
	fuelMag   = reading(`magnitude (?:of )?(\d(?:\.\d+)?)`)
)

var (
	gdacsRisk = regexp.MustCompile(`People: (\d[\d.]*) ?(thousand|million)? \(in MMI`)
	lifeWind  = regexp.MustCompile(`\(maximum wind speed of (\d+) ?km/h\)`)
	ashLevel  = reading(`FL(\d{3})`)
	ashDrift  = regexp.MustCompile(`MOV ([NESW]{1,3}) (\d+)(?:-(\d+))? ?KT`)
	between   = regexp.MustCompile(`(?i)coastal areas between and including ([^(\n]+?)(?: \([^)]*\))? to ([^(\n]+?)(?: \(|\.|\n|$)`)
	quakeAt   = regexp.MustCompile(`(\d+) (?:miles|km)(?:/\d+ ?Km)? ([NESW]{1,3}) of ([^.;\n]+?)(?:, preliminary|\.|;|\n|$)`)
)

// directions are the letters for the words of toward.
var directions = map[string]string{"north": "N", "northeast": "NE", "east": "E", "southeast": "SE", "south": "S", "southwest": "SW", "west": "W", "northwest": "NW"}

// upper returns the greatest of the numbers that a pattern finds in a text (rule 7).
func upper(text string, patterns ...pattern) (v float64, unit string, ok bool) {
	for _, p := range patterns {
		for _, found := range p.findAll(text, 8) {
			for _, s := range found[1:] {
				if n, err := strconv.ParseFloat(s, 64); err == nil && (!ok || n > v) {
					v, ok = n, true
				}
			}
			if last := found[len(found)-1]; last != "" && strings.Trim(last, "0123456789.-") != "" {
				unit = last
			}
		}
	}
	return v, unit, ok
}

// first returns the numbers of the first match.
func firstOf(text string, p pattern) []float64 {
	found := p.find(text)
	var all []float64
	for i, s := range found {
		if n, err := strconv.ParseFloat(s, 64); i > 0 && err == nil {
			all = append(all, n)
		}
	}
	return all
}

func celsius(f float64) float64 { return (f - 32) / 1.8 }

// kmh converts a speed.
func kmh(v float64, unit string) float64 {
	switch unit {
	case "mph":
		return v * 1.609344
	case "kt", "knots":
		return v * 1.852
	}
	return v
}

// measured returns the value of a quantity.
func (m *maker) measured(q hazard.Quantity) (float64, bool) {
	v, ok := hazard.Measured(m.h.Measurements, q)
	return v.Value, ok
}

// instructionLength is the greatest length of a shortened instruction, in characters.
const instructionLength = 140

// Sentences of instructions that say nothing of what to do (rule 18) have links, thanks, what a warning means, what the
// weather does. Of sentences in small letters.
var (
	leftOutWords  = []string{"http:", "https:", "www.", "thank", "please report", "report observed", "report severe", "report your", "most flood deaths", "for more information", "@", "please advise"}
	leftOutForms  = []pattern{reading(`monitor .*radio`), reading(`this is an? [a-z ,-]*life.threatening situation(?: (?:for|in|along|around|near)\b[^,;:]*)?[.!]`), reading(`\ban? [a-z -]+ (?:warning|watch|advisory)[a-z ]* means`, " means"), reading(`\ban? [a-z -]+ (?:warning|watch|advisory)[a-z ]* is issued`, " is issued")}
	leftOutBegins = regexp.MustCompile(`^(?:(?:heavy|locally|lake effect|high|strong|gusty|these|the|dangerous|large|damaging|even) )*(?:rain(?:fall)?|snow|surf|winds?|waves|hydration|\d+ inches of [a-z -]*water)(?: this strong)? (?:will|can|could|may|is|are)\b` +
		`|^(?:actions to protect|a combination of|operating a|these conditions|sustained wind|severe debris|in hilly terrain there|flooding is|rip currents are|any fires|there (?:is|are) a|the next statement|this (?:warning|will|does))\b`)
	telephone  = regexp.MustCompile(`\d{3}[- ]\d{3}[- ]\d{4}`)
	turnAround = regexp.MustCompile(`turn around,? don'?t drown`)
	readySet   = regexp.MustCompile(`ready,? set,? go`)
)

// leftOut reports whether a sentence says nothing of what to do.
func leftOut(sentence string) bool {
	s := small(sentence)
	return slices.ContainsFunc(leftOutWords, func(word string) bool { return strings.Contains(s, word) }) || leftOutBegins.MatchString(s) ||
		strings.ContainsAny(s, "0123456789") && telephone.MatchString(s) || slices.ContainsFunc(leftOutForms, func(p pattern) bool { return p.may(s) && p.MatchString(s) })
}

// rhyme marks sentences that count only where nothing else says what to do.
func rhyme(sentence string) bool {
	s := small(sentence)
	return turnAround.MatchString(s) || readySet.MatchString(s)
}

// Shortened returns an instruction in at most two sentences and 140 characters, by leaving out. One
// sentence too long for that stays whole.
func Shortened(instruction string) string {
	text := oneLine(Unwrapped(instruction))
	if utf8.RuneCountInString(text) <= instructionLength && !leftOut(text) && !rhyme(text) {
		return stop(text)
	}
	sentences := slices.DeleteFunc(Sentences(text), leftOut)
	if others := slices.DeleteFunc(slices.Clone(sentences), rhyme); len(others) > 0 {
		sentences = others
	}
	var kept []string
	for _, s := range sentences {
		if len(kept) == 2 || len(kept) > 0 && utf8.RuneCountInString(strings.Join(kept, " ")+" "+s) > instructionLength {
			break
		}
		kept = append(kept, s)
	}
	return stop(strings.Join(kept, " "))
}

// Sentences splits a text at the ends of its sentences.
func Sentences(text string) (all []string) {
	begin := 0
	for i, r := range text {
		next := i + utf8.RuneLen(r)
		end := strings.ContainsRune("。！？", r) || strings.ContainsRune(".!?।", r) && (next == len(text) || text[next] == ' ' || r == '.' && glued(text, i))
		if end {
			if s := strings.TrimSpace(text[begin:next]); s != "" {
				all = append(all, s)
			}
			begin = next
		}
	}
	if s := strings.TrimSpace(text[begin:]); s != "" {
		all = append(all, s)
	}
	return all
}

// glued reports whether the full stop at i ends a sentence though the next follows without a blank,
// as where a source lost the ends of lines: "areas.If".
func glued(text string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, n := utf8.DecodeRuneInString(text[i+1:])
	then, _ := utf8.DecodeRuneInString(text[i+1+n:])
	return unicode.IsLower(before) && unicode.IsUpper(after) && unicode.IsLower(then)
}

// Unwrapped sets a bulletin as text: lines that were broken by length are joined, blank lines and
// bullets stay, and words all in capitals become sentences. Other texts stay as they are.
func Unwrapped(text string) string {
	var out []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		lines := strings.Split(paragraph, "\n")
		joined := lines[:0:0]
		for _, line := range lines {
			line = strings.TrimSpace(line)
			n := len(joined)
			if n > 0 && line != "" && len(joined[n-1]) >= hardBreak && !strings.HasPrefix(line, "*") && !strings.HasPrefix(line, ".") && !strings.HasPrefix(line, "-") {
				joined[n-1] += " " + line
				continue
			}
			joined = append(joined, line)
		}
		out = append(out, sentenceCase(strings.Join(joined, "\n")))
	}
	return strings.Join(out, "\n\n")
}

// Sentenced writes each paragraph that is all in capitals as sentences. Other paragraphs, and lines,
// stay as they are.
func Sentenced(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = sentenceCase(p)
	}
	return strings.Join(paragraphs, "\n\n")
}

// hardBreak is the length from which a line was broken for its length: bulletins have 69 columns.
const hardBreak = 45

// sentenceCase writes a text that is all in capitals in lower case, but for the first letters of its
// sentences.
func sentenceCase(text string) string {
	letters, capitals := 0, 0
	for _, r := range text {
		if r >= 'a' && r <= 'z' {
			letters++
		} else if r >= 'A' && r <= 'Z' {
			letters, capitals = letters+1, capitals+1
		}
	}
	if letters < 20 || capitals < letters*9/10 {
		return text
	}
	var b strings.Builder
	begin := true
	for _, r := range strings.ToLower(text) {
		if begin && r >= 'a' && r <= 'z' {
			r, begin = r-'a'+'A', false
		} else if strings.ContainsRune(".!?\n*", r) {
			begin = true
		} else if r != ' ' {
			begin = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// inLine is the first match of a pattern of single words in the description, whose lines are joined, in small letters.
func (m *maker) inLine(p pattern) []string {
	if !p.may(m.small) {
		return nil
	}
	return p.FindStringSubmatch(oneLine(m.small))
}

// allInLine is inLine for the first four matches.
func (m *maker) allInLine(p pattern) [][]string {
	if !p.may(m.small) {
		return nil
	}
	return p.FindAllStringSubmatch(oneLine(m.small), 4)
}
