package query

import (
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// The quick check of a state must never miss a match of MatchText.
func TestMayMatchTextNeverMisses(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`([a-cA-C0-2]{1,4}[ \n\t"\\/<&-]{1,2}){0,6}`), rapid.String(), rapid.SampledFrom([]string{"Łódź flood", "ﬁre", "K\u212Ain", "a\u0301b", "\u0001a", "ẞ"}))
	rapid.Check(t, func(t *rapid.T) {
		h := &hazard.Hazard{Name: text.Draw(t, "name"), Description: text.Draw(t, "description")}
		words := append(textWords(h.Name), textWords(h.Description)...)
		if len(words) == 0 {
			return
		}
		i := rapid.IntRange(0, len(words)-1).Draw(t, "word")
		f := &Filter{Text: []Phrase{{Words: words[i : i+1], Prefix: rapid.Bool().Draw(t, "prefix")}}}
		state, err := json.Marshal(h)
		if err != nil {
			t.Skip("no state: invalid UTF-8")
		}
		if f.MatchText(h) && !f.MayMatchText(string(state)) {
			t.Fatalf("%q is not seen in %s", words[i], state)
		}
	})
	if (&Filter{Text: []Phrase{{Words: []string{"tornado"}}}}).MayMatchText(`{"name":"Flood"}`) {
		t.Error("a plain state without the word may match")
	}
}
