package auth_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/trustelem/zxcvbn"
	"github.com/trustelem/zxcvbn/frequency"

	"github.com/hazardd/hazardd/internal/auth"
)

// Our matchers find at least what those of the library find. They find more repetitions, and count
// them in letters, not bytes: at most one bit is between the two.
func TestGuessesAreThoseOfTheLibrary(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var lists [][]string
	for _, name := range []string{"passwords", "english_wikipedia", "surnames", "us_tv_and_film", "female_names"} {
		lists = append(lists, frequency.FrequencyLists[name])
	}
	word := func() string {
		list := lists[rnd.IntN(len(lists))]
		return list[rnd.IntN(len(list))]
	}
	part := []func() string{
		word, word, word,
		func() string {
			return strings.NewReplacer("a", "4", "e", "3", "i", "1", "o", "0", "s", "$").Replace(word())
		},
		func() string { w := word(); return w + w },
		func() string {
			w := []byte(word())
			for i := range len(w) / 2 {
				w[i], w[len(w)-1-i] = w[len(w)-1-i], w[i]
			}
			return string(w)
		},
		func() string { return []string{"1984", "2011", "24121991", "3/7/2004", "91-12-24"}[rnd.IntN(5)] },
		func() string { return []string{"qwer", "zxcvb", "97531", "acegi", "dcba", "4567"}[rnd.IntN(6)] },
		func() string { return string("ü ßk7#-"[rnd.IntN(8):]) },
		func() string { return "ann" },
	}
	const passwords = 40
	equal := 0
	for range passwords {
		var p string
		for range 1 + rnd.IntN(5) {
			p += part[rnd.IntN(len(part))]()
		}
		p = strings.ToLower(strings.ToValidUTF8(p, "x"))
		ours, theirs := math.Log2(auth.Guesses(p, "ann")), math.Log2(zxcvbn.PasswordStrength(p, []string{"ann"}).Guesses)
		if ours > theirs+1.1 {
			t.Errorf("%q: %.1f bits, %.1f by the library", p, ours, theirs)
		}
		if math.Abs(ours-theirs) < 0.01 {
			equal++
		}
	}
	if equal < passwords*7/10 {
		t.Errorf("%d of %d passwords have the same strength by the library", equal, passwords)
	}
}

func BenchmarkGuesses(b *testing.B) {
	for b.Loop() {
		auth.Guesses("another-quiet-canoe-nine", "ann")
	}
}
