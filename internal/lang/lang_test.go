package lang

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
)

// said returns a hazard with texts in languages. The first is the hazard's own, unless it is a
// dash.
func said(languages ...string) *hazard.Hazard {
	h := &hazard.Hazard{Name: "as stored", Description: "stored"}
	for i, l := range languages {
		if l == "-" {
			continue
		}
		h.Texts = append(h.Texts, hazard.Text{Language: l, Own: i == 0, Name: "name " + l, Description: "text " + l})
	}
	return h
}

// What a reader is shown, by lang or Accept-Language. An empty name means the stored text.
func TestTheLanguageThatMeetsTheWish(t *testing.T) {
	for _, tt := range []struct {
		header, lang string
		languages    []string
		want         string
	}{
		{"fr-CA,fr;q=0.9,en;q=0.8", "", []string{"en-CA", "fr-CA"}, "fr-CA"},
		{"fr", "", []string{"en-CA", "fr-CA"}, "fr-CA"},
		{"fr-CH", "", []string{"de", "fr", "it"}, "fr"},
		{"en-US,en;q=0.5", "", []string{"en-CA", "fr-CA"}, ""},
		{"en;q=0.1, fr;q=0.9", "", []string{"en-CA", "fr-CA"}, "fr-CA"},
		{"fr;q=0, en", "", []string{"en-CA", "fr-CA"}, ""},
		{"*", "", []string{"en-CA", "fr-CA"}, ""},
		{"ja", "", []string{"en-CA", "fr-CA"}, ""},
		{"ja, fr;q=0.1", "", []string{"en-CA", "fr-CA"}, "fr-CA"},
		{"not a language at all, fr", "", []string{"en-CA", "fr-CA"}, "fr-CA"},
		{"de", "", []string{"-", "de"}, "de"},
		{"de", "", []string{"en", "und"}, ""},
		{"", "fr", []string{"en-CA", "fr-CA"}, "fr-CA"},
		{"", "xx-never", []string{"en-CA", "fr-CA"}, ""},
		{"", "ja,fr", []string{"en-CA", "fr-CA"}, "fr-CA"},
		{"zh-TW", "", []string{"en", "zh-HK", "zh-CN"}, "zh-HK"},
		{"zh-Hans", "", []string{"en", "zh-HK", "zh-CN"}, "zh-CN"},
		{"nb", "", []string{"en", "no"}, "no"},
		{"pt-BR", "", []string{"en", "pt-PT"}, "pt-PT"},
		{"", "sw,fr", []string{"en", "fr-CA"}, "fr-CA"},
		{"be;q=0.9, pl;q=0.8", "", []string{"en", "ru", "pl"}, "pl"},
		{"be", "", []string{"en", "ru", "pl"}, "ru"},
		{"gsw-CH", "", []string{"en", "de"}, "de"},
		{"zh-TW,en", "", []string{"-", "zh-CN", "en"}, "en"},
	} {
		w, err := Parse(tt.lang)
		if tt.lang == "" {
			w, err = Accepted([]string{tt.header}), nil
		}
		if err != nil {
			t.Errorf("lang=%s: %v", tt.lang, err)
		}
		h := said(tt.languages...)
		got := w.Reader().Of(h)
		if want := "name " + tt.want; tt.want == "" && (got.Name != h.Name || got.Description != h.Description) || tt.want != "" && (got.Name != want || !strings.Contains(got.Description, "text "+tt.want)) {
			t.Errorf("%q %q of %q: %q %q, want %q", tt.header, tt.lang, tt.languages, got.Name, got.Description, tt.want)
		}
		if got.Stored().Name != h.Name || got.Stored().Description != h.Description {
			t.Errorf("the stored text has become %q", got.Stored().Name)
		}
	}
}

func TestTheFirstLanguageSaysTheUnits(t *testing.T) {
	for header, miles := range map[string]bool{"": false, "en": false, "en-US,en;q=0.9": true, "en;q=0.5, es-US": true, "de-DE, en-US;q=0.8": false, "en-GB": false, "en-LR": true, "zh-Hant-US": true} {
		if got := Accepted([]string{header}).Miles(); got != miles {
			t.Errorf("%q: got %v, want %v", header, got, miles)
		}
	}
}

func TestWhatIsNoListOfLanguagesIsRefused(t *testing.T) {
	for _, list := range []string{"", ",", "fr,", "*", "english language", "f", "fr;q=1", "fr--CA", strings.Repeat("fr,", 300) + "fr", strings.Repeat("fr,", 16) + "fr", "\x00"} {
		if w, err := Parse(list); err == nil {
			t.Errorf("%.40q is taken for %v", list, w)
		}
	}
	// Invalid or huge headers do not fail.
	for _, field := range []string{strings.Repeat("a-", 100_000), strings.Repeat("fr;q=0.5,", 10_000), ";;;,,,=", "fr;q=NaN", "\x00"} {
		if w := Accepted([]string{field}); len(w.tags) > maxTags {
			t.Errorf("%.40q wishes %d languages", field, len(w.tags))
		}
	}
}

// A cache has only entries for existing languages: however many languages readers request, there
// are few keys.
func TestWishesThatComeToTheSameHaveOneKey(t *testing.T) {
	hazards := []*hazard.Hazard{said("en-CA", "fr-CA"), said("de", "en", "fr"), said("en"), said(), said("-", "es")}
	sets := SetsOf(func(yield func(*hazard.Hazard, int) bool) {
		for _, h := range hazards {
			if !yield(h, 0) {
				return
			}
		}
	})
	keys := map[string][]string{}
	for _, a := range []string{"en", "fr", "de", "es", "ja", "ar", "en-US", "fr-CH", "xx", "tlh"} {
		for _, b := range []string{"en", "fr", "de", "es", "ja", "tlh", "pt"} {
			w, err := Parse(a + "," + b)
			if err != nil {
				t.Fatal(err)
			}
			var read []string
			r := w.Reader()
			for _, h := range hazards {
				read = append(read, r.Of(h).Name)
			}
			key := sets.Key(w)
			if before, ok := keys[key]; ok && fmt.Sprint(before) != fmt.Sprint(read) {
				t.Errorf("%s,%s has the key %q of a different text: %q and %q", a, b, key, read, before)
			}
			keys[key] = read
			stored := true
			for i, h := range hazards {
				stored = stored && read[i] == h.Name
			}
			if stored != (key == "") {
				t.Errorf("%s,%s has the key %q and reads %q", a, b, key, read)
			}
		}
	}
	if len(keys) > 16 {
		t.Errorf("%d keys: %q", len(keys), keys)
	}
}

// Text written by an editor stays in every language.
func TestAnEditorsWordsStay(t *testing.T) {
	h := said("en", "fr")
	h.Name = "of an editor"
	h.MarkEdited("hazard_Name")
	w, _ := Parse("fr")
	if got := w.Reader().Of(h); got.Name != "of an editor" || !strings.Contains(got.Description, "text fr") {
		t.Errorf("%q %q", got.Name, got.Description)
	}
}
