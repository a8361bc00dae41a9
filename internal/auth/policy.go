package auth

import (
	"crypto/rand"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/trustelem/zxcvbn"
)

const (
	// minPassword is the minimum length in characters: NIST SP 800-63B-4, section 3.1.1.2, for a
	// password as the only factor.
	minPassword = 15
	// minSteps is the minimum number of independent choices in a password (steps).
	minSteps = 10
	// minEntropy is in bits, measured by zxcvbn (Wheeler, USENIX Security 2016). zxcvbn knows
	// phrases and names that our own check does not; a thousand addresses could not try so many
	// guesses in years. Our own check knows sequences and repetitions that zxcvbn does not.
	minEntropy = 44
	// maxMeasured is how many characters zxcvbn measures, because its work grows with the square of
	// the length.
	maxMeasured = 64
)

// weakness returns why a password is too weak, as a text that follows the word "password", or "" if
// it is strong enough. The text never repeats the password. Any characters are allowed and none are
// required.
func weakness(p Password, user string) string {
	switch {
	case len(p) > maxPassword:
		return fmt.Sprintf("must have at most %d bytes", maxPassword)
	case !utf8.ValidString(string(p)):
		return "must be UTF-8"
	}
	letters := []rune(strings.ToLower(string(normal(p))))
	switch {
	case len(letters) < minPassword:
		return fmt.Sprintf("must have at least %d characters: take four or five words that have nothing to do with each other", minPassword)
	case frequent(string(letters)):
		return "must not be one that is known from breaches: take four or five words that have nothing to do with each other"
	case steps(letters, ownWords(user)) < minSteps:
		return "must not be made of repetitions, sequences, rows of keys, common words, years or the user's name: " +
			"take four or five words that have nothing to do with each other"
	case math.Log2(zxcvbn.PasswordStrength(string(letters[:min(len(letters), maxMeasured)]), []string{user}).Guesses) < minEntropy:
		return "must not be a phrase, a name or words that go together: take four or five words that have nothing to do with each other"
	}
	return ""
}

// RandomPassword returns a password of 100 random bits that can be read aloud: four groups of five,
// without similar letters and digits.
func RandomPassword() Password {
	const letters = "abcdefghijkmnpqrstuvwxyz23456789" // 32 characters: a byte's low five bits choose one without bias
	var b [20]byte
	rand.Read(b[:])
	var p strings.Builder
	for i, c := range b {
		if i > 0 && i%5 == 0 {
			p.WriteByte('-')
		}
		p.WriteByte(letters[c&31])
	}
	return Password(p.String())
}

// steps returns how many choices a text needs. A repetition, a sequence, a part of a row of keys, a
// common word, a year, and a copy of earlier text are one choice each. Long leaked passwords
// consist mostly of such parts.
func steps(text []rune, words []string) int {
	n := 0
	for i := 0; i < len(text); n++ {
		i += max(1, sequence(text[i:]), row(text[i:]), word(text[i:], words), year(text[i:]), earlier(text, i))
	}
	return n
}

// sequence returns the length of the initial run with a constant step of 0, 1 or -1: aaa, abc, 321.
func sequence(text []rune) int {
	if len(text) < 3 {
		return 0
	}
	step := text[1] - text[0]
	if step < -1 || step > 1 {
		return 0
	}
	n := 2
	for n < len(text) && text[n]-text[n-1] == step {
		n++
	}
	return atLeast(n, 3)
}

// rows are rows of keys on common keyboards, in the orders in which fingers move: along a row, down
// a column, and alternating between two rows.
var rows = bothWays(
	"1234567890-=", "qwertyuiop[]", "asdfghjkl;'", "zxcvbnm,./", "qwertzuiop", "yxcvbnm", "azertyuiop", "qsdfghjklm", "wxcvbn",
	"!@#$%^&*()_+", "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.0p;/", "qazwsxedcrfvtgbyhnujmikolp", "zaq12wsxcde34rfvbgt56yhnmju78ik,lo90p",
	"zaq1xsw2cde3vfr4bgt5nhy6mju7,ki8.lo9/;p0", "1q2w3e4r5t6y7u8i9o0p", "q1w2e3r4t5y6u7i8o9p0", "qawsedrftgyhujikolp", "a1s2d3f4g5h6j7k8l9",
	"147258369", "123654789", "789456123",
)

func bothWays(lines ...string) [][]rune {
	var all [][]rune
	for _, l := range lines {
		there := []rune(l)
		back := make([]rune, len(there))
		for i, r := range there {
			back[len(back)-1-i] = r
		}
		all = append(all, there, back)
	}
	return all
}

// row returns the length of the longest initial part of a row of keys.
func row(text []rune) int {
	best := 0
	for _, line := range rows {
		for i := range line {
			n := 0
			for n < len(text) && i+n < len(line) && text[n] == line[i+n] {
				n++
			}
			best = max(best, n)
		}
	}
	return atLeast(best, 4)
}

// word returns the length of the longest common word at the start, even with similar-looking
// characters.
func word(text []rune, own []string) int {
	best := 0
	for _, list := range [...][]string{common, own} {
		for _, w := range list {
			if n := utf8.RuneCountInString(w); n > best && n <= len(text) && alike(text, w) {
				best = n
			}
		}
	}
	return best
}

func alike(text []rune, word string) bool {
	i := 0
	for _, r := range word {
		if c := text[i]; c != r && !strings.ContainsRune(looksLike[c], r) {
			return false
		}
		i++
	}
	return true
}

var looksLike = map[rune]string{
	'0': "o", '1': "il", '2': "z", '3': "e", '4': "a", '5': "s", '6': "g", '7': "t", '8': "b", '9': "g",
	'@': "a", '$': "s", '!': "il", '+': "t", '|': "il", '€': "e",
}

// year returns 4 if the text starts with a year that people often use in passwords.
func year(text []rune) int {
	if len(text) < 4 || text[2] < '0' || text[2] > '9' || text[3] < '0' || text[3] > '9' {
		return 0
	}
	if c := string(text[:2]); c == "19" || c == "20" {
		return 4
	}
	return 0
}

// earlier returns the length of the longest part from i on that also begins before i: in ababab,
// the part from the third letter repeats the start.
func earlier(text []rune, i int) int {
	best := 0
	for j := range i {
		n := 0
		for i+n < len(text) && text[j+n] == text[i+n] {
			n++
		}
		best = max(best, n)
	}
	return atLeast(best, 3)
}

func atLeast(n, least int) int {
	if n < least {
		return 0
	}
	return n
}

// ownWords returns the words in the user's name.
func ownWords(user string) []string {
	words := []string{strings.ToLower(user)}
	words = append(words, strings.FieldsFunc(words[0], func(r rune) bool { return strings.ContainsRune("._@-", r) })...)
	n := 0
	for _, w := range words {
		if utf8.RuneCountInString(w) >= 3 {
			words[n] = w
			n++
		}
	}
	return words[:n]
}

// common are the words of long weak passwords: usual ones, and those of this service.
var common = strings.Fields(`
	password passwort passwd passphrase passw0rd pass word contrasena motdepasse secret secure security private access login logon
	signin letmein welcome welkom changeme change default temp temporary test testing tester guest user username account root admin
	administrator adminadmin sysadmin manager master boss owner system server service client public internal database backup
	example sample demo trustno1 iloveyou loveyou ilove love lover forever family friend friends mother father brother sister baby
	angel princess prince queen king kingdom sunshine sunflower flower butterfly rainbow summer winter spring autumn january
	february march april june july august september october november december monday tuesday wednesday thursday friday saturday
	sunday football baseball basketball soccer hockey tennis golf liverpool chelsea arsenal barcelona america england germany
	france canada australia london paris newyork texas california computer internet google facebook microsoft apple windows
	android samsung iphone linux ubuntu oracle cisco monkey dragon tiger lion eagle wolf bear puppy kitty doggy horse chicken
	superman batman spiderman starwars pokemon pikachu naruto matrix ninja pirate wizard magic shadow phoenix killer hunter
	ranger soldier freedom liberty blessed jesus christ jesuschrist heaven church faith hello goodbye please thankyou whatever
	nothing something everything money dollar million diamond silver golden purple orange yellow green black white mustang
	ferrari porsche corvette harley mercedes michael jennifer jessica michelle ashley daniel thomas robert william charlie
	george andrew joshua matthew anthony nicole amanda qwerty azerty qwertz asdf zxcv number numbers letters alphabet this that
	thisis mynameis myname name mine your yours the and for you correcthorsebatterystaple correct battery staple
	hazardd hazard hazards disaster emergency responder response rescue alert alerts warning watch advisory earthquake tsunami
	volcano eruption cyclone hurricane typhoon tornado storm flood wildfire fire landslide avalanche drought incident event
	reader editor organization organisation responders token product products map maps data
`)
