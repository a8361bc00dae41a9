package query

import (
	"slices"
	"strings"
)

const (
	maxEdits   = 2 // letters that may differ; a word that differs more is another one
	minLetters = 3 // letters of a beginning that stands for a word
)

// NearestWord returns the word that was probably meant: one that begins with word, or else the
// closest one, or "" if there is none. Case, "-" and "_" do not matter.
func NearestWord(word string, words []string) string {
	beginning := bareWord(word)
	for _, w := range slices.Sorted(slices.Values(words)) {
		if len(beginning) >= minLetters && strings.HasPrefix(bareWord(w), beginning) {
			return w
		}
	}
	best, _ := ClosestWord(word, words)
	return best
}

// ClosestWord returns the word with the fewest inserted, deleted or replaced letters, and their number,
// or "" if each word differs too much.
func ClosestWord(word string, words []string) (best string, edits int) {
	edits = maxEdits + 1
	for _, w := range slices.Sorted(slices.Values(words)) {
		if d := editDistance(bareWord(word), bareWord(w)); d < edits {
			best, edits = w, d
		}
	}
	return best, edits
}

func bareWord(s string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s))
}

// editDistance returns how many letters must be inserted, deleted or replaced to turn a into b
// (Levenshtein).
func editDistance(a, b string) int {
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
