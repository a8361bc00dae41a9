package region

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/lru"
)

//go:generate node gen/codes.mjs
//go:generate node gen/japan.mjs

// A Scheme is a vocabulary of codes.
type Scheme string

// The schemes whose areas are built in, and those whose codes mean an area of them.
const (
	UGC        Scheme = "UGC"                // counties and zones of the US National Weather Service: AKC013, AKZ185
	SAME       Scheme = "SAME"               // the same counties, states and marine areas, six digits: 002013
	EMMA       Scheme = "EMMA_ID"            // the regions of MeteoAlarm: AT001
	WarnCellID Scheme = "WARNCELLID"         // coasts and lakes of Deutscher Wetterdienst
	Taiwan     Scheme = "Taiwan_Geocode_112" // counties of Taiwan
	CPEAS      Scheme = "CPEAS"              // China, from provinces to counties: 370614000000
	JMA        Scheme = "JMA_AREA"           // Japan: regions (130010) and municipalities (1310100) of its weather warnings, coasts (201) of its tsunami warnings
	NUTS2      Scheme = "NUTS2"              // the European Union's regions
	NUTS3      Scheme = "NUTS3"
	FIPS       Scheme = "FIPS" // as MeteoAlarm uses it: EI01
)

// Schemes whose areas are not known here, but the countries that their codes begin with.
const (
	iso   Scheme = "ISO 3166" // both a country and a part of one
	nuts1 Scheme = "NUTS1"
)

// schemes are the schemes by their names in messages, in lower case.
var schemes = map[string]Scheme{
	"ugc": UGC, "same": SAME, "fips6": SAME, "emma_id": EMMA, "warncellid": WarnCellID, "taiwan_geocode_112": Taiwan,
	"cpeas": CPEAS, "cpeas geographic code": CPEAS, "nuts1": nuts1, "nuts2": NUTS2, "nuts3": NUTS3, "fips": FIPS,
	"jma_area": JMA, "iso3166-1": iso, "iso 3166-1": iso, "iso-3166-1-alpha-2": iso, "iso3166-2": iso, "iso 3166-2": iso,
}

// countryOf are the countries of schemes that only one has, also of some whose areas are not known here.
var countryOf = map[string]string{
	"warncellid": "DE", "taiwan_geocode_112": "TW", "cpeas": "CN", "cpeas geographic code": "CN", "jma_area": "JP",
	"clc": "CA", "lgd district code": "IN", "amoc-areacode": "AU",
}

//go:embed codes/UGC.bin.br
var packedUGC []byte

//go:embed codes/SAME.bin.br
var packedSAME []byte

//go:embed codes/EMMA_ID.bin.br
var packedEMMA []byte

//go:embed codes/WARNCELLID.bin.br
var packedWarnCellID []byte

//go:embed codes/Taiwan_Geocode_112.bin.br
var packedTaiwan []byte

//go:embed codes/CPEAS.bin.br
var packedCPEAS []byte

//go:embed codes/JMA_AREA.bin.br
var packedJMA []byte

//go:embed codes/aliases.tsv.br
var packedAliases []byte

// atlases are the areas by scheme, each unpacked when it is first asked for.
var atlases = map[Scheme]func() *atlas{
	UGC: unpacked(UGC, packedUGC), SAME: unpacked(SAME, packedSAME), EMMA: unpacked(EMMA, packedEMMA),
	WarnCellID: unpacked(WarnCellID, packedWarnCellID), Taiwan: unpacked(Taiwan, packedTaiwan), CPEAS: unpacked(CPEAS, packedCPEAS),
	JMA: unpacked(JMA, packedJMA),
}

// unpacked panics if the program was built with a file that the generator did not make.
func unpacked(s Scheme, packed []byte) func() *atlas {
	return sync.OnceValue(func() *atlas {
		a, err := readAtlas(packed)
		if err != nil {
			panic(fmt.Sprintf("codes/%s.bin.br: %v", s, err))
		}
		return a
	})
}

// Code is a code of a scheme.
type Code struct {
	Scheme Scheme
	Code   string
}

// aliases are codes that mean the area of another: sorted by the first.
var aliases = sync.OnceValue(func() [][2]Code {
	text, err := io.ReadAll(brotli.NewReader(bytes.NewReader(packedAliases)))
	if err != nil {
		panic(fmt.Sprintf("codes/aliases.tsv.br: %v", err))
	}
	all := [][2]Code{}
	for row := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(row), "\t")
		if len(f) != 4 {
			panic(fmt.Sprintf("codes/aliases.tsv.br: %q has not four columns", row))
		}
		all = append(all, [2]Code{{Scheme(f[0]), f[1]}, {Scheme(f[2]), f[3]}})
	}
	slices.SortFunc(all, func(a, b [2]Code) int { return compareCodes(a[0], b[0]) })
	return all
})

func compareCodes(a, b Code) int {
	return cmp.Or(cmp.Compare(a.Scheme, b.Scheme), cmp.Compare(a.Code, b.Code))
}

// ParseCode reads a code as reports name places: SCHEME:CODE, the scheme in any case of letters and with any namespace before its last
// colon; and without a scheme a UGC, or the six digits of SAME. A scheme that is not one of this package stays, in lower case.
func ParseCode(text string) Code {
	name, code := split(text)
	if name != "" {
		code = strings.ToUpper(code)
		if s, ok := schemes[name]; ok {
			return Code{s, code}
		}
		return Code{Scheme(name), code}
	}
	switch {
	case len(code) != 6:
	case digits(code):
		return Code{SAME, code}
	case (code[2] == 'C' || code[2] == 'Z') && strings.Trim(code[:2], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && (digits(code[3:]) || code[3:] == "ALL"):
		return Code{UGC, code}
	}
	return Code{"", code}
}

// split is the name of a scheme in lower case and the code after it.
func split(text string) (name, code string) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return "", strings.TrimSpace(text)
	}
	name, code = text[:i], strings.TrimSpace(text[i+1:])
	return strings.ToLower(strings.TrimSpace(name[strings.LastIndexByte(name, ':')+1:])), code
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// maxShapes bounds the shapes that are remembered, in bytes: a list names the same zones in every poll.
const maxShapes = 16 << 20

var shapes = lru.New[Code, geo.Shape](maxShapes)

// Known reports whether the area of a code is built in.
func Known(c Code) bool {
	_, n := lookUp(c)
	return len(n) > 0
}

// Area returns the area of a code, and whether it is known.
func Area(c Code) (geo.Shape, bool) {
	if s, ok := shapes.Get(c); ok {
		return s, true
	}
	a, n := lookUp(c)
	if len(n) == 0 {
		return geo.Shape{}, false
	}
	s, err := a.shape(n...)
	if err != nil || len(s.Polygons()) == 0 {
		return geo.Shape{}, false
	}
	shapes.Put(c, s, s.Size())
	return s, true
}

// lookUp returns the areas that a code means, and the atlas that they are of.
func lookUp(c Code) (*atlas, []area) {
	switch {
	case len(c.Code) != 6:
	case c.Scheme == UGC && (c.Code[3:] == "000" || c.Code[3:] == "ALL"):
		state, ok := stateCodes[c.Code[:2]] // all of a state
		if !ok {
			return nil, nil
		}
		return direct(Code{SAME, "0" + state + "000"})
	case c.Scheme == UGC && c.Code[2] == 'C':
		if a, n := direct(c); len(n) > 0 {
			return a, n
		}
		return lookUp(Code{SAME, "0" + stateCodes[c.Code[:2]] + c.Code[3:]})
	case c.Scheme == SAME:
		if a, n := direct(c); len(n) > 0 {
			return a, n
		}
		// The first digit names a part of the county: the whole of it stands for a part whose outline nobody has.
		county := c.Code[1:]
		var at *atlas
		var all []area
		for now := range strings.FieldsSeq(cmp.Or(formerCounties[county], county)) {
			a, n := direct(Code{SAME, "0" + now})
			if a != nil {
				at, all = a, append(all, n...)
			}
		}
		return at, all
	}
	return direct(c)
}

// direct looks a code up, and what it is an alias of.
func direct(c Code) (*atlas, []area) {
	if load := atlases[c.Scheme]; load != nil {
		a := load()
		if n := a.find(c.Code); len(n) > 0 {
			return a, n
		}
	}
	list := aliases()
	i, ok := slices.BinarySearchFunc(list, c, func(a [2]Code, c Code) int { return compareCodes(a[0], c) })
	if !ok {
		return nil, nil
	}
	to := list[i][1]
	load := atlases[to.Scheme]
	if load == nil {
		return nil, nil
	}
	a := load()
	return a, a.find(to.Code)
}

// countryOfCode returns the country that a code as reports name places lies in, as its alpha-2 code; empty if the code does not say.
func countryOfCode(text string) string {
	name, code := split(text)
	if name == "" {
		switch ParseCode(text).Scheme {
		case UGC:
			return territory(code[:2])
		case SAME:
			return territory(stateOf(code[1:3]))
		}
		return ""
	}
	switch schemes[name] {
	case UGC:
		return territory(code[:min(2, len(code))])
	case SAME:
		if len(code) == 6 {
			return territory(stateOf(code[1:3]))
		}
	case EMMA, nuts1, NUTS2, NUTS3, iso:
		letters := strings.ToUpper(code[:min(2, len(code))])
		if schemes[name] != iso {
			// The European Union has codes of its own for two, MeteoAlarm an old one for a third.
			letters = cmp.Or(map[string]string{"UK": "GB", "EL": "GR", "EI": "IE"}[letters], letters)
		}
		if c, ok := CountryByCode(letters); ok {
			return c.Code
		}
		return ""
	}
	return countryOf[name]
}

// territory returns the country of the first letters of a UGC: a state or territory of the United States, of which some have a code of
// ISO 3166-1, a sea off them, or British Columbia, which tsunami messages name so.
func territory(letters string) string {
	switch {
	case letters == "AS" || letters == "GU" || letters == "MP" || letters == "PR" || letters == "VI":
		return letters
	case letters == "BC":
		return "CA"
	case stateCodes[letters] != "" || seas[letters] != "":
		return "US"
	}
	return ""
}

func stateOf(number string) string {
	for letters, n := range stateCodes {
		if n == number {
			return letters
		}
	}
	return ""
}

// stateCodes are the FIPS codes of states and territories of the United States by their postal letters.
var stateCodes = map[string]string{
	"AL": "01", "AK": "02", "AZ": "04", "AR": "05", "CA": "06", "CO": "08", "CT": "09", "DE": "10", "DC": "11", "FL": "12",
	"GA": "13", "HI": "15", "ID": "16", "IL": "17", "IN": "18", "IA": "19", "KS": "20", "KY": "21", "LA": "22", "ME": "23",
	"MD": "24", "MA": "25", "MI": "26", "MN": "27", "MS": "28", "MO": "29", "MT": "30", "NE": "31", "NV": "32", "NH": "33",
	"NJ": "34", "NM": "35", "NY": "36", "NC": "37", "ND": "38", "OH": "39", "OK": "40", "OR": "41", "PA": "42", "RI": "44",
	"SC": "45", "SD": "46", "TN": "47", "TX": "48", "UT": "49", "VT": "50", "VA": "51", "WA": "53", "WV": "54", "WI": "55",
	"WY": "56", "AS": "60", "GU": "66", "MP": "69", "PR": "72", "VI": "78",
}

// formerCounties are codes that counties had before, and those of the counties that have their land now, by the list of "Substantial Changes to Counties and County Equivalent Entities" of
// the U.S. Census Bureau.
var formerCounties = map[string]string{
	"02261": "02063 02066", // Valdez-Cordova, Chugach and Copper River since 2019
	"02270": "02158",       // Wade Hampton, Kusilvak since 2015
	"12025": "12086",       // Dade, Miami-Dade since 1997
	"46113": "46102",       // Shannon, Oglala Lakota since 2015
	"51515": "51019",       // the city of Bedford, in Bedford since 2013
	"51560": "51005",       // the city of Clifton Forge, in Alleghany since 2001
	"51780": "51083",       // the city of South Boston, in Halifax since 1995
}
