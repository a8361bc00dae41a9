package hazard

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of editors' texts, in characters: more than readers can use, but harmless for the
// service.
const (
	MaxName        = 500 // of a hazard's name, and of a product's title
	MaxDescription = 100_000
	MaxComment     = 10_000
	MaxLink        = 2_000
	MaxData        = 1_000_000 // of a text product
)

// CleanLine makes text safe for one line: it applies Clean, and replaces each run of white space by
// one blank.
func CleanLine(s string) string {
	if plain(s) && !strings.ContainsAny(s, "\n\t") && !strings.Contains(s, "  ") { // as most text is
		return strings.Trim(s, " ")
	}
	return strings.Join(strings.Fields(Clean(s)), " ")
}

// Clean removes what can deceive a reader or break a terminal, a log or a file name. It removes
// control characters except line feed and tab, byte order marks, bidirectional overrides and other
// format characters (Unicode Cc and Cf, except the two joiners, which scripts need), and invalid
// UTF-8. CR LF becomes LF, and white space at both ends is trimmed.
func Clean(s string) string {
	if plain(s) {
		return strings.TrimSpace(s)
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == zeroWidthJoiner || r == zeroWidthNonJoiner:
			return r
		case r == '\r' || r == '\u2028' || r == '\u2029' || r == '\u0085':
			return '\n'
		case r == utf8.RuneError, unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

// plain reports whether s is only ASCII that Clean keeps, as most text is.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
)
