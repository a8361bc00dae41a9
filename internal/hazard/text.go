package hazard

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The longest texts that editors write, in characters: far above what a reader can use, far below what hurts.
const (
	MaxName        = 500 // of a hazard, and of a product's title
	MaxDescription = 100_000
	MaxComment     = 10_000
	MaxLink        = 2_000
	MaxData        = 1_000_000 // of a text product
)

// CleanLine makes text fit to show on one line: Clean, with every run of white space as one blank, trimmed.
func CleanLine(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// Clean removes what can deceive a reader or break a terminal, a log or a file name: control characters but line feed and
// tab, byte order marks, bidirectional overrides and other format characters (Unicode Cc and Cf; the two joiners, which
// scripts need, stay), and bytes that are not UTF-8. CR LF becomes LF. Blank space at the ends goes.
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

// plain tells whether all of s is ASCII that stays, as most of what comes is.
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
