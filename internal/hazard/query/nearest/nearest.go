// Package nearest finds the word that was probably meant by one that is not known.
package nearest

import (
	"slices"
	"strings"
)

// most is how many letters may differ: with more it is another word.
const most = 2

// least is how many letters a beginning must have to stand for a word.
const least = 3

// Nearest returns the word that was probably meant: one that begins so, else the closest one; empty if
// there is none. Case, "-" and "_" do not matter.
func Nearest(word string, words []string) string {
	given := bare(word)
	for _, w := range slices.Sorted(slices.Values(words)) {
		if len(given) >= least && strings.HasPrefix(bare(w), given) {
			return w
		}
	}
	best, _ := Closest(word, words)
	return best
}

// Closest returns the word with the fewest letters put in, left out or replaced, and how many those
// are; empty if all are other words.
func Closest(word string, words []string) (best string, apart int) {
	apart = most + 1
	for _, w := range slices.Sorted(slices.Values(words)) {
		if d := distance(bare(word), bare(w)); d < apart {
			best, apart = w, d
		}
	}
	return best, apart
}

func bare(s string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s))
}

// distance is how many letters must be put in, left out or replaced to make b of a (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
