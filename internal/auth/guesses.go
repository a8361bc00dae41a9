package auth

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/trustelem/zxcvbn/frequency"
	"github.com/trustelem/zxcvbn/match"
	"github.com/trustelem/zxcvbn/scoring"
)

// ranks returns how often each word of zxcvbn's lists is used, in passwords, English, and as a name: 1
// is the most frequent. The tables are made for the first password that is measured, because most starts of
// the program measure none.
var ranks = sync.OnceValue(func() map[string]float64 {
	all := make(map[string]float64, 100_000)
	for _, list := range frequency.FrequencyLists {
		for i, w := range list {
			w = strings.ToLower(w)
			if rank, ok := all[w]; !ok || float64(i+1) < rank {
				all[w] = float64(i + 1)
			}
		}
	}
	return all
})

// maxWord is the longest word, in characters, that is looked up.
const maxWord = 40

var date = regexp.MustCompile(`\d\d?[-./ ]\d\d?[-./ ](19|20)\d\d|(19|20)\d\d[-./ ]\d\d?[-./ ]\d\d?`)

// guesses returns how many passwords are tried before this one, which is in lower case, by zxcvbn's search for the
// sequence of parts that is guessed first. Its words are also found backwards and with similar characters;
// sequences, rows of keys, years and repetitions are those of steps. A date costs a day of two centuries.
func guesses(text []rune, own []string) float64 {
	plain := string(text)
	for n := 1; n <= len(text)/2; n++ {
		if times := len(text) / n; strings.Repeat(string(text[:n]), times) == plain {
			return float64(times) * guesses(text[:n], own)
		}
	}
	at := make([]int, 0, len(text)+1) // where each character begins
	for i := range plain {
		at = append(at, i)
	}
	at = append(at, len(plain))
	var parts []*match.Match
	add := func(i, n int, guesses float64) {
		parts = append(parts, &match.Match{Pattern: "part", I: at[i], J: at[i+n] - 1, Token: plain[at[i]:at[i+n]], Guesses: max(guesses, scoring.MinSubmatchGuessesMultiChar)})
	}
	first, last := similar(text, 0), similar(text, -1)
	for i := range text {
		for n := 2; n <= min(len(text)-i, maxWord); n++ {
			if g := rankOf(text[i:i+n], own); g > 0 {
				add(i, n, g)
			}
			for _, s := range [][]rune{first, last} {
				if g := rankOf(s[i:i+n], own); g > 0 {
					add(i, n, 2*g)
				}
			}
		}
		if n := max(sequence(text[i:]), row(text[i:]), year(text[i:])); n > 0 {
			add(i, n, float64(100*n))
		}
		if n := earlier(text, i); n > 0 {
			add(i, n, float64(i*n))
		}
	}
	for _, d := range date.FindAllStringIndex(plain, -1) {
		parts = append(parts, &match.Match{Pattern: "part", I: d[0], J: d[1] - 1, Token: plain[d[0]:d[1]], Guesses: 73_000})
	}
	return scoring.MostGuessableMatchSequence(plain, parts, false).Guesses
}

// rankOf returns the rank of a word or, doubled, that of the word backwards; 0: there is none.
func rankOf(word []rune, own []string) float64 {
	w := string(word)
	if slices.Contains(own, w) {
		return 1
	}
	if rank := ranks()[w]; rank > 0 {
		return rank
	}
	back := slices.Clone(word)
	slices.Reverse(back)
	return 2 * ranks()[string(back)]
}

// similar replaces digits and signs by the letters that they look like, the first or the last one.
func similar(text []rune, which int) []rune {
	out := slices.Clone(text)
	for i, r := range text {
		if s := looksLike[r]; which == 0 && s != "" {
			out[i] = rune(s[0])
		} else if s != "" {
			out[i] = rune(s[len(s)-1])
		}
	}
	return out
}
