package nifc

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWords bounds a text of the incident data, in bytes. The longest recorded one has under 100.
const maxWords = 500

// called returns the fire's proper name in readable case: "Junes Fire" is Junes, "PINE MOUNTAIN"
// Pine Mountain.
func called(name string) string {
	for _, suffix := range []string{" wildfire", " wildland fire", " fire"} {
		if n := len(name) - len(suffix); n > 0 && strings.EqualFold(name[n:], suffix) {
			name = strings.TrimSpace(name[:n])
			break
		}
	}
	if strings.IndexFunc(name, unicode.IsLower) >= 0 {
		return name
	}
	words := strings.Fields(name)
	for i, w := range words {
		words[i] = readable(w, i == 0)
	}
	return strings.Join(words, " ")
}

// small are short words that get normal case in a name in capitals. All other words of two letters
// are abbreviations (SR, NE).
var small = map[string]string{
	"OF": "of", "THE": "the", "AND": "and", "AT": "at", "IN": "in", "ON": "on", "TO": "to", "BY": "by", "LA": "La", "EL": "El",
	"LE": "Le", "DE": "de", "ST": "St", "MT": "Mt", "FT": "Ft", "MC": "Mc",
}

// readable converts a word in capitals to lowercase, with a capital at each beginning of a part
// ("CANAL-LAFAYETTE", "(OLD").
func readable(word string, first bool) string {
	if s, ok := small[word]; ok {
		if first {
			return strings.ToUpper(s[:1]) + s[1:]
		}
		return s
	}
	if strings.ContainsAny(word, "0123456789") || utf8.RuneCountInString(strings.Trim(word, ".,-()&/")) <= 2 {
		return word
	}
	var b strings.Builder
	begins := true
	for i, r := range word {
		if begins {
			b.WriteRune(r)
		} else {
			b.WriteRune(unicode.ToLower(r))
		}
		begins = !unicode.IsLetter(r) && (r != '\'' || i == 1) // O'Brien, Devil's
	}
	return b.String()
}

// doubtful are words in a name that mark a fire as not real.
var doubtful = []string{"TEST", "EXERCISE", "DRILL", "TRAINING", "FALSE ALARM"}

// notReal returns the word in a name that marks a fire as not real, or "" if there is none.
func notReal(name string) string {
	words := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	text := " " + strings.Join(words, " ") + " "
	for _, sign := range doubtful {
		if strings.Contains(text, " "+sign+" ") {
			return sign
		}
	}
	return ""
}

// acres formats a size: "32,575 acres (132 km²)", with one decimal if it is small.
func acres(v float64) string {
	const km2 = 0.0040468564224 // square kilometers per acre
	return grouped(v) + " acres (" + grouped(v*km2) + " km²)"
}

// grouped formats a number with commas, and with as many decimals as are useful.
func grouped(v float64) string {
	decimals := 0
	switch {
	case v < 1:
		decimals = 2
	case v < 100:
		decimals = 1
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	whole, rest, _ := strings.Cut(s, ".")
	if rest = strings.TrimRight(rest, "0"); rest != "" {
		rest = "." + rest
	}
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return whole + rest
}

// percent formats a percentage without unnecessary decimals.
func percent(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) + " %" }
