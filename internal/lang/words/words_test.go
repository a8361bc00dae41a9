package words

import (
	"testing"

	"golang.org/x/text/language"
)

func TestPluralsAreThoseOfTheLanguage(t *testing.T) {
	by := map[string]*Language{}
	for _, l := range All() {
		by[l.ID] = l
	}
	for _, tt := range []struct {
		id   string
		n    int
		want string
	}{
		{"en", 1, "1 day ago"}, {"en", 2, "2 days ago"}, {"fr", 0, "il y a 0 jour"}, {"fr", 2, "il y a 2 jours"}, {"ja", 3, "3日前"},
		{"ar", 1, "قبل يوم واحد"}, {"ar", 2, "قبل يومين"}, {"ar", 3, "قبل 3 أيام"}, {"ar", 11, "قبل 11 يومًا"}, {"ar", 100, "قبل 100 يوم"},
		{"zh", 1, "1天前"}, {"tr", 5, "5 gün önce"}, {"ru", 1, "1 день назад"}, {"ru", 3, "3 дня назад"}, {"ru", 11, "11 дней назад"}, {"ru", 21, "21 день назад"},
		{"uk", 2, "2 дні тому"}, {"uk", 5, "5 днів тому"}, {"uk", 101, "101 день тому"},
	} {
		if got := by[tt.id].Say("agoDays", "n", tt.n); got != tt.want {
			t.Errorf("%s, %d: %q, want %q", tt.id, tt.n, got, tt.want)
		}
	}
}

func TestBadMessagesAreRefused(t *testing.T) {
	for _, text := range []string{"{", "}", "a {b", "{}", "{n, plural, one {x}}", "{n, plural, other {x}", "{n, plural, other {x", "{n, select, other {x}}", "{n, plural}", "a}b"} {
		if m, err := parse(text); err == nil {
			t.Errorf("%q is read as %v", text, m)
		}
	}
}

func TestTheBestLanguageForAReader(t *testing.T) {
	for wish, want := range map[string]string{"": "en", "nl": "en", "nl,fr;q=0.8": "fr", "de-AT": "de", "it-CH": "it", "pt-BR": "pt", "es-419": "es", "ar-EG": "ar", "id": "id", "sw": "en", "fr-CH": "fr", "zh-Hant-TW": "zh", "zh-CN": "zh", "ru-KZ": "ru", "uk-UA,ru;q=0.8": "uk", "tr-CY": "tr"} {
		tags, _, err := language.ParseAcceptLanguage(wish)
		if err != nil {
			t.Fatal(err)
		}
		if got := Best(tags...).ID; got != want {
			t.Errorf("%q: %s, want %s", wish, got, want)
		}
	}
	if l := Best(); l != English() || l.Say("no such key") != "no such key" || l.NameOf("type", "NEW") != "NEW" || l.NameOf("type", "FLOOD") != "Flood" {
		t.Error("unknown words are not returned unchanged")
	}
}
