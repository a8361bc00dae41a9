package gazetteer

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/lang/words"
)

func TestFold(t *testing.T) {
	for name, want := range map[string]string{"São  Paulo": "sao paulo", "ŁÓDŹ": "lodz", "Straße": "strasse", "Xi’an": "xian", "L'Aquila": "laquila", "Baden-Baden": "baden baden", "  ": "", "ألمانيا": "المانيا",
		"भारत": "भारत", "ガーナ": "ガーナ", "ｶﾞｰﾅ": "ガーナ", "Ḩalab": "halab", "🌊": "", "\x00\xff": "", "İzmir": "izmir"} {
		if got := Fold(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func FuzzFold(f *testing.F) {
	for _, s := range []string{"São Paulo", "ألمانيا", "\xff\xfe", "a\u0300\u0301", "🏳️‍🌈", "\u202eabc"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		folded := Fold(s)
		if again := Fold(folded); again != folded {
			t.Errorf("%q: %q, and again %q", s, folded, again)
		}
		if !utf8.ValidString(folded) || strings.TrimSpace(folded) != folded || strings.Contains(folded, "  ") {
			t.Errorf("%q: %q", s, folded)
		}
	})
}

func TestSearch(t *testing.T) {
	for _, tt := range []struct {
		query, lang string
		kinds       []Kind
		want        string // the first result, as name|kind|country|region
	}{
		{"vienna", "en", nil, "Vienna|town|AT|Vienna"},
		{"vienna, us", "en", []Kind{Town}, "Vienna|town|US|Virginia"},
		{"Cairo, Egypt", "en", nil, "Cairo|town|EG|Cairo"},
		{"القاهرة", "ar", nil, ""}, // towns have only one name
		{"مصر", "ar", nil, "مصر|country|EG|"},
		{"Frankrijk", "en", nil, ""}, // Dutch is not a supported language
		{"alemania", "en", nil, "Germany|country|DE|"},
		{"alemania", "es", nil, "Alemania|country|DE|"},
		{"ドイツ", "ja", nil, "ドイツ|country|DE|"},
		{"जर्मनी", "hi", nil, "जर्मनी|country|DE|"},
		{"jerman", "id", nil, "Jerman|country|DE|"},
		{"sao paulo", "en", nil, "São Paulo|town|BR|São Paulo"},
		{"SÃO PAU", "en", nil, "São Paulo|town|BR|São Paulo"},
		{"harris, texas", "en", []Kind{Area}, "Harris|area|US|Texas"},
		{"california", "en", []Kind{Area}, "California|area|US|"},
		{"niederosterreich", "en", nil, "Niederösterreich|area|AT|"},
		{"georgia", "en", nil, "Georgia|country|GE|"},
		{"Georgia", "en", []Kind{Area}, "Georgia|area|US|"},
		{"angeles", "en", []Kind{Town}, "Angeles City|town|PH|Central Luzon"},
		{"临渭", "en", nil, "临渭区|area|CN|渭南市"},
		{"中华人民共和国", "en", []Kind{Area}, ""}, // China is not a province
		{"", "en", nil, ""}, {"🌊", "en", nil, ""}, {",", "en", nil, ""}, {"zzzzzz", "en", nil, ""},
	} {
		found, total := Search(tt.query, tt.lang, 0, 5, tt.kinds...)
		got := ""
		if len(found) > 0 {
			p := found[0]
			got = p.Name + "|" + string(p.Kind) + "|" + p.Country + "|" + p.Region
		}
		if got != tt.want || (total == 0) != (tt.want == "") {
			t.Errorf("%q in %s: %q of %d, want %q", tt.query, tt.lang, got, total, tt.want)
		}
	}
}

// For any search, the pages contain each place once, are limited, and give the total number.
func TestPagesOfASearch(t *testing.T) {
	queries := rapid.OneOf(rapid.SampledFrom([]string{"s", "san", "new", "st", "la", "benton", "मा", "区", "ال"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		query, limit := queries.Draw(t, "query"), rapid.IntRange(1, 50).Draw(t, "limit")
		first, total := Search(query, "en", 0, limit)
		second, again := Search(query, "en", limit, limit)
		if len(first) != min(limit, total) || len(second) != max(0, min(limit, total-limit)) || again != total {
			t.Fatalf("%d, %d, %d of %d", limit, len(first), len(second), total)
		}
		seen := map[string]bool{}
		for _, p := range append(first, second...) {
			id := fmt.Sprint(p.Kind, p.Name, p.Code, p.Lon, p.Lat)
			if seen[id] || p.Name == "" || !(p.Lon >= -180 && p.Lon <= 180 && p.Lat >= -90 && p.Lat <= 90 && p.Box.South <= p.Lat && p.Lat <= p.Box.North) {
				t.Errorf("%s, seen %v", id, seen[id])
			}
			seen[id] = true
		}
		if beyond, _ := Search(query, "en", total, limit); len(beyond) != 0 {
			t.Errorf("%d beyond the end", len(beyond))
		}
	})
}

// Countries have names in the reader's language, regions keep theirs.
func TestAPlaceIsKnownInTheReadersLanguage(t *testing.T) {
	for _, tt := range []struct{ places, lang, want string }{
		{"India", "de", "Indien"},
		{"India", "zh", "印度"},
		{"Germany, Poland", "ru", "Германия, Польша"},
		{"Germany", "uk", "Німеччина"},
		{"Germany", "tr", "Almanya"},
		{"Bihar, India", "fr", "Bihar, Inde"},
		{"Germany, Poland", "es", "Alemania, Polonia"},
		{"Bering Sea", "it", "Bering Sea"},
		{"India", "en", "India"},
		{"India", "xx", "India"},
		{"", "ja", ""},
	} {
		if got := KnownAs(tt.places, tt.lang); got != tt.want {
			t.Errorf("%q in %s: %q, want %q", tt.places, tt.lang, got, tt.want)
		}
	}
}

func TestEveryLanguageNamesCountries(t *testing.T) {
	for _, l := range words.All() {
		if dictionaries[l.ID] == nil {
			t.Errorf("%s names no countries", l.ID)
		}
		if name := CountryName("DE", l.ID); name == "Germany" && l.ID != "en" {
			t.Errorf("%s: %s", l.ID, name)
		}
	}
	if CountryName("", "en") != "" || CountryName("QQ", "fr") != "" {
		t.Error("an invalid country has a name")
	}
}

func TestEveryAreaIsFoundByItsCode(t *testing.T) {
	for i, e := range all().entries {
		if e.Code == "" || i%37 > 0 && e.Kind == Area {
			continue
		}
		p, ok := Find(e.Code, "en")
		if !ok || p.Code != e.Code || p.Shape().AreaKm2() == 0 || p.Box.South >= p.Box.North {
			t.Errorf("%s %s: %v %+v", e.Code, e.Name, ok, p)
		}
	}
	if _, ok := Find("UGC:XXC999", "en"); ok {
		t.Error("an invalid code is found")
	}
}

func BenchmarkSearch(b *testing.B) {
	Search("a", "en", 0, 10)
	for b.Loop() {
		all().order("s", "", nil)
	}
}
