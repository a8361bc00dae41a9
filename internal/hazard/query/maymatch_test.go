package query

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/geo/crs"
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

// The quick check of a state must never miss a hazard of which a filter holds.
func TestMayMatchNeverMisses(t *testing.T) {
	in, _ := crs.Referred(crs.CRS84)
	text := rapid.OneOf(rapid.StringMatching(`[a-cA-C "\\\n{}:,]{0,8}`), rapid.String(), rapid.SampledFrom([]string{`{"id":1,"name":"a`, `","name":"b`, "Łódź", "ẞ", "\u2028"}))
	rapid.Check(t, func(t *rapid.T) {
		h := &hazard.Hazard{ID: rapid.Int64().Draw(t, "id"), Name: text.Draw(t, "name"), Description: text.Draw(t, "description"), Type: hazard.Flood,
			Measurements: []hazard.Measurement{{Name: "name", Value: 1}}}
		state, err := json.Marshal(h)
		if err != nil {
			t.Skip("no state: invalid UTF-8")
		}
		name := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`, "'", "''").Replace(h.Name)
		if len(name) > 60 {
			t.Skip("too long for a pattern")
		}
		for _, filter := range []string{"hazard_Name LIKE '%%%s%%'", "CASEI(hazard_Name) LIKE CASEI('%s%%')", "NOT hazard_Name LIKE '%s'", "hazard_Name = '%s'", "hazard_Name >= '%s'",
			"type_ID = 'FIRE' OR hazard_Name LIKE '%s'", "type_ID = 'FLOOD' AND NOT (hazard_Name LIKE 'b%s' AND type_ID = 'FIRE')"} {
			w, err := parseWhere(CQL2Text, fmt.Sprintf(filter, name), in, Fields())
			if err != nil {
				continue // some letters a filter does not take
			}
			if w.match(h, nil) && !w.MayMatch(string(state)) {
				t.Fatalf("%s is missed in %s", w.Text, state)
			}
		}
	})
	w, err := parseWhere(CQL2Text, "hazard_Name LIKE '%x%'", in, Fields())
	if err != nil {
		t.Fatal(err)
	}
	state, err := json.Marshal(&hazard.Hazard{ID: 1, UUID: uuid.New(), Name: "Flood", Description: "x"})
	if err != nil || w.MayMatch(string(state)) {
		t.Errorf("%v: a plain state without the letter may match: %s", err, state)
	}
}
