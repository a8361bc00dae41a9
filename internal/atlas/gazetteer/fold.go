package gazetteer

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// letters that Unicode does not take apart into a letter and a mark, and how people write them without.
var letters = strings.NewReplacer("ß", "ss", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "æ", "ae", "œ", "oe", "ı", "i", "þ", "th", "ħ", "h", "ŧ", "t", "ə", "e", "ĸ", "k", "ŋ", "n", "ى", "ي", "ة", "ه")

// Fold is a name as names are compared: lower case, without accents and the short vowels of Arabic, all that is no letter, digit or sign of a
// script as one space, none at its ends. Marks that make another letter stay: the vowels of Hindi, the voiced sounds of Japanese. Apostrophes are left out.
func Fold(name string) string {
	var b strings.Builder
	space := false
	for _, r := range norm.NFKD.String(strings.ToLower(name)) {
		switch {
		case r >= 0x300 && r <= 0x36f, r >= 0x64b && r <= 0x65f, r == 0x670, r == 0x640, // accents, Arabic's short vowels and stretching
			r == '\'' || r == '’' || r == '‘' || r == 'ʻ' || r == 'ʼ' || r == '`':
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			if space && b.Len() > 0 {
				b.WriteByte(' ')
			}
			space = false
			b.WriteRune(r)
		default:
			space = true
		}
	}
	return letters.Replace(norm.NFC.String(b.String()))
}
