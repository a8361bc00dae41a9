package source

import (
	"strings"
	"sync"

	"github.com/hazardd/hazardd/internal/atlas/gazetteer"
	"github.com/hazardd/hazardd/internal/atlas/region"
)

// official are names of countries as organizations of the United Nations have them, where they are not
// those of package region.
var official = map[string]string{
	"Bolivia (Plurinational State of)": "BO", "Bosnia and Herzegovina": "BA", "Brunei Darussalam": "BN", "Cabo Verde": "CV", "Congo": "CG", "Republic of the Congo": "CG",
	"Democratic Republic of the Congo": "CD", "Côte d'Ivoire": "CI", "Czechia": "CZ", "Democratic People's Republic of Korea": "KP", "Iran (Islamic Republic of)": "IR",
	"Islamic Republic of Iran": "IR", "Kingdom of Saudi Arabia": "SA", "Lao People's Democratic Republic": "LA", "Micronesia (Federated States of)": "FM", "Myanmar": "MM",
	"Netherlands (Kingdom of the)": "NL", "Republic of Korea": "KR", "Republic of Moldova": "MD", "Russian Federation": "RU", "Syrian Arab Republic": "SY", "Türkiye": "TR",
	"United Kingdom of Great Britain and Northern Ireland": "GB", "United Republic of Tanzania": "TZ", "United States of America": "US", "Venezuela (Bolivarian Republic of)": "VE",
	"Lao PDR": "LA", "Vietnam": "VN", "Turkey": "TR", "Viet Nam": "VN", "Occupied Palestinian territory": "PS", "Timor-Leste": "TL", "Trinidad and Tobago": "TT", "Papua New Guinea": "PG",
}

// countryCodes are the codes of countries by their folded names.
var countryCodes = sync.OnceValue(func() map[string]string {
	codes := map[string]string{}
	for _, c := range region.Countries() {
		name := gazetteer.Fold(c.Name)
		codes[name], codes["republic of "+name], codes["kingdom of "+name] = c.Code, c.Code, c.Code
	}
	for name, code := range official {
		codes[gazetteer.Fold(name)] = code
	}
	return codes
})

// CountryOf returns the ISO 3166-1 alpha-2 code of the country with an English name, or "".
func CountryOf(name string) string {
	name = strings.TrimSpace(name)
	return countryCodes()[gazetteer.Fold(strings.TrimPrefix(strings.TrimPrefix(name, "The "), "the "))]
}
