package cap

import (
	"regexp"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
)

// The sources that the citations of the code lists name.
const (
	sameCodes  = "NWR-SAME event codes (weather.gov/nwr/eventcodes, 47 CFR 11.31)"
	eventTerms = "OASIS Event Terms List 1.0, committee note 02 (docs.oasis-open.org/emergency/etl), the codes of OET 1.2"
	capCP      = "CAP-CP event references 1.0 (Canadian Profile of the Common Alerting Protocol)"
	dwdCodes   = "DWD, CAP profile 2.1, event codes II (dwd.de/DE/leistungen/opendata/help/warnungen)"
	taiwan     = "CAP-TWP event list 1.0 (NCDR, alerts.ncdr.nat.gov.tw)"
	meteoalarm = "MeteoAlarm awareness_type (EUMETNET)"
)

// codeList is one authority's codes for events.
type codeList struct {
	// is reports whether an eventCode belongs to the list: by its name, in lowercase, or by its
	// value.
	is func(name, value string) bool
	// kinds maps each code to a kind; a kind without a type means no hazard.
	kinds map[string]kind
	// general are codes that are less specific than any word for the event, so words have
	// precedence.
	general map[string]kind
}

// codeRow is a type and its codes, separated by blanks.
type codeRow struct {
	kind
	codes string
}

func codes(rows ...codeRow) map[string]kind {
	out := map[string]kind{}
	for _, r := range rows {
		for code := range strings.FieldsSeq(r.codes) {
			out[code] = r.kind
		}
	}
	return out
}

var termForm = regexp.MustCompile(`^OET-[0-9]{3}$`)

// codeLists are the lists in order of precedence: the international one first, then national ones.
var codeLists = []codeList{
	{ // eventTerms
		is: func(_, value string) bool { return termForm.MatchString(value) },
		kinds: codes(
			codeRow{kind{typ: hazard.Tsunami}, "OET-203"},
			codeRow{kind{typ: hazard.Volcano}, "OET-017 OET-153 OET-208 OET-209 OET-210 OET-211"},
			codeRow{kind{typ: hazard.Earthquake}, "OET-068"},
			codeRow{kind{typ: hazard.Tornado}, "OET-195 OET-196 OET-215"},
			codeRow{kind{typ: hazard.Marine}, "OET-090 OET-096 OET-100 OET-108 OET-110 OET-124 OET-125 OET-160"},
			codeRow{kind{typ: hazard.Cyclone}, "OET-051 OET-106 OET-201 OET-202 OET-204"},
			codeRow{kind{typ: hazard.Avalanche}, "OET-018"},
			codeRow{kind{typ: hazard.Landslide}, "OET-056 OET-119 OET-133"},
			codeRow{kind{typ: hazard.Wildfire}, "OET-033 OET-086 OET-094 OET-217"},
			codeRow{kind{typ: hazard.Flood}, "OET-042 OET-052 OET-067 OET-079 OET-081 OET-103 OET-121 OET-140 OET-189"},
			codeRow{kind{typ: hazard.WinterStorm}, "OET-023 OET-026 OET-080 OET-088 OET-089 OET-107 OET-109 OET-116 OET-181 OET-182 OET-183 OET-222 OET-223"},
			codeRow{kind{typ: hazard.ExtremeTemperature}, "OET-016 OET-043 OET-044 OET-087 OET-091 OET-098 OET-220"},
			codeRow{kind{typ: hazard.Occurrence}, "OET-004 OET-006 OET-027 OET-058 OET-059 OET-075 OET-082 OET-105 OET-123 OET-127 OET-161 OET-171 OET-184 OET-185 OET-205"},
			codeRow{kind{typ: hazard.HighSurf}, "OET-021 OET-101 OET-102 OET-164 OET-168 OET-179 OET-191"},
			codeRow{kind{typ: hazard.Storm}, "OET-025 OET-066 OET-095 OET-122 OET-132 OET-159 OET-170 OET-186 OET-187 OET-194"},
			codeRow{kind{typ: hazard.HighWind}, "OET-117 OET-218 OET-219 OET-221"},
			codeRow{kind{typ: hazard.Drought}, "OET-063"},
			codeRow{kind{typ: hazard.Accident}, "OET-007 OET-008 OET-030 OET-031 OET-036 OET-037 OET-112 OET-113 OET-136 OET-137 OET-138 OET-142 OET-154 OET-156 OET-157 OET-167 OET-197 OET-198"},
			codeRow{kind{typ: hazard.Biomedical}, "OET-013 OET-014 OET-015 OET-022 OET-024 OET-046 OET-061 OET-062 OET-064 OET-065 OET-097 OET-143 OET-150"},
			codeRow{kind{typ: hazard.Equipment}, "OET-034 OET-035 OET-041 OET-045 OET-060 OET-069 OET-074 OET-092 OET-099 OET-114 OET-115 OET-118 OET-126 OET-131 OET-134 OET-145 OET-146 OET-151 OET-155 OET-172 OET-178 OET-188 OET-192 OET-206 OET-212 OET-214"},
			codeRow{kind{typ: hazard.Incident}, "OET-003 OET-009 OET-010 OET-011 OET-012 OET-019 OET-020 OET-028 OET-029 OET-032 OET-039 OET-047 OET-048 OET-049 OET-053 OET-054 OET-055 OET-057 OET-070 OET-071 OET-072 OET-073 OET-076 OET-077 OET-078 OET-083 OET-084 OET-085 OET-104 OET-111 OET-120 OET-144 OET-148 OET-149 OET-152 OET-158 OET-162 OET-163 OET-165 OET-166 OET-173 OET-174 OET-175 OET-180 OET-190 OET-199 OET-200 OET-207 OET-213"},
			codeRow{kind{typ: hazard.ActiveShooter}, "OET-001"},
			codeRow{kind{typ: hazard.CivilUnrest}, "OET-040"},
			codeRow{kind{typ: hazard.Cyber}, "OET-050"},
			codeRow{kind{typ: hazard.Combat}, "OET-129"},
			codeRow{kind{typ: hazard.Terrorism}, "OET-193"},
			codeRow{kind{}, "OET-002 OET-005 OET-038 OET-130 OET-135 OET-139 OET-141 OET-147 OET-176"}, // administration, tests, searches for persons
		),
		general: codes(
			codeRow{kind{typ: hazard.Storm}, "OET-128 OET-216"}, // a meteorological event in general, and weather
			codeRow{kind{typ: hazard.Occurrence}, "OET-000 OET-093"},
			codeRow{kind{typ: hazard.Incident}, "OET-169 OET-177"},
		),
	},
	{ // capCP: its codes are cut to 12 letters, and one is misspelled
		is: func(name, _ string) bool { return strings.Contains(name, "cap-cp:event") },
		kinds: codes(
			codeRow{kind{typ: hazard.Tsunami}, "tsunami"},
			codeRow{kind{typ: hazard.Volcano}, "volcano volcanicAsh ashfall lahar lavaFlow pyroclasFlow pyroclaSurge"},
			codeRow{kind{typ: hazard.Earthquake}, "earthquake"},
			codeRow{kind{typ: hazard.Tornado}, "tornado waterspout"},
			codeRow{kind{typ: hazard.Marine}, "freezngSpray galeWind hurricFrcWnd iceberg icePressure lowWater marine marineSecure nautical rpdCloseLead spclIce spclMarine stormFrcWnd stormFrcWind strongWind"},
			codeRow{kind{typ: hazard.Cyclone}, "hurricane tropStorm typhoon"},
			codeRow{kind{typ: hazard.Avalanche}, "avalanche"},
			codeRow{kind{typ: hazard.Landslide}, "landslide"},
			codeRow{kind{typ: hazard.Wildfire}, "forestFire wildFire"},
			codeRow{kind{typ: hazard.Flood}, "flood flashFlood overflood highWater stormSurge damOverflow damBreach"},
			codeRow{kind{typ: hazard.WinterStorm}, "blizzard blowingSnow flashFreeze freezeDrzl freezeRain ice snowfall snowSquall winterStorm"},
			codeRow{kind{typ: hazard.ExtremeTemperature}, "arcticOut cold coldWave frost heat heatHumidity heatWave temperature windchill"},
			codeRow{kind{typ: hazard.Occurrence}, "airQuality fog magnetStorm meteor smog"},
			codeRow{kind{typ: hazard.Storm}, "dustStorm rainfall squall storm thunderstorm"},
			codeRow{kind{typ: hazard.HighWind}, "wind"},
			codeRow{kind{typ: hazard.Accident}, "aircraftCras chemical explosive hazmat industryFire nuclear radiological"},
			codeRow{kind{typ: hazard.Biomedical}, "animalDiseas animalFeed animalHealth biological bloodSupply drugSafety drugSupply health infectious plant plantInfect publicHealth"},
			codeRow{kind{typ: hazard.Equipment}, "911 911Service cable diesel electric gasoline heatingOil internet naturalGas satellite sewer stormDrain telephone utility"},
			codeRow{kind{typ: hazard.Terrorism}, "terrorism"},
			codeRow{kind{}, "amber missingPer missingVPer testMessage"},
		),
		general: codes(
			codeRow{kind{typ: hazard.Storm}, "weather"},
			codeRow{kind{typ: hazard.Incident}, "civil civilEmerg civilEvent crime dangerPerson emergFacil emergSupport facility fire fallObject geophyiscal homeCrime industCrime product publicServic railway rescue road schoolBus schoolClose schoolLock traffic transit urbanFire vehicleCrime volunteer waste water other"},
		),
	},
	{ // sameCodes
		is: func(name, _ string) bool { return name == "same" },
		kinds: codes(
			codeRow{kind{typ: hazard.Tornado}, "TOA TOR"},
			codeRow{kind{typ: hazard.Storm}, "SVA SVR DSW"},
			codeRow{kind{typ: hazard.HighWind}, "HWA HWW EWW"},
			codeRow{kind{typ: hazard.Flood}, "FFA FFW FFS FLA FLW FLS CFA CFW CFS SSA SSW DBA DBW"},
			codeRow{kind{typ: hazard.Cyclone}, "HUA HUW HLS TRA TRW TYA TYW"},
			codeRow{kind{typ: hazard.Marine}, "SMW IBW"},
			codeRow{kind{typ: hazard.WinterStorm}, "BZW WSA WSW SQW FSW"},
			codeRow{kind{typ: hazard.ExtremeTemperature}, "FZW"},
			codeRow{kind{typ: hazard.Tsunami}, "TSA TSW"},
			codeRow{kind{typ: hazard.Volcano}, "VOW"},
			codeRow{kind{typ: hazard.Avalanche}, "AVA AVW"},
			codeRow{kind{typ: hazard.Landslide}, "LSW"},
			codeRow{kind{typ: hazard.Earthquake}, "EQW"},
			codeRow{kind{typ: hazard.Wildfire}, "FRW WFA WFW"},
			codeRow{kind{typ: hazard.Accident}, "HMW NUW RHW CHW IFW"},
			codeRow{kind{typ: hazard.Biomedical}, "BHW DEW"},
			codeRow{kind{typ: hazard.Equipment}, "TOE POS"},
			codeRow{kind{typ: hazard.Incident}, "LEW SPW EVI EVA BWW CWW FCW"},
			codeRow{kind{}, "ADR CAE BLU MEP DMO NIC NMN NPT NST RMT RWT"}, // tests, administration and searches for persons
		),
		general: codes(
			codeRow{kind{typ: hazard.Storm}, "SPS SVS"},
			codeRow{kind{typ: hazard.Incident}, "CDW CEM LAE"},
		),
	},
	{ // dwdCodes
		is: func(name, _ string) bool { return name == "ii" },
		kinds: codes(
			codeRow{kind{typ: hazard.HighWind}, "11 12 13 14 15 16 51 52 53 54 55 56 57 58"},
			codeRow{kind{typ: hazard.ExtremeTemperature}, "22 81 82 247 248"},
			codeRow{kind{typ: hazard.WinterStorm}, "24 70 71 72 73 74 75 76 77 78 84 85 86 87"},
			codeRow{kind{typ: hazard.Storm}, "31 33 34 36 38 40 41 42 44 45 46 48 49 61 62 63 64 65 66 90 91 92 93 95 96"},
			codeRow{kind{typ: hazard.Occurrence}, "59 79 246"}, // fog, galloping power lines, ultraviolet radiation
			codeRow{kind{typ: hazard.Flood}, "88 89"},          // thaw: the warning is about its water
			codeRow{kind{}, "98 99"}, // tests
		),
	},
	{ // taiwan: its other codes are the English words
		is: func(name, _ string) bool { return strings.Contains(name, "cap-twp:event") },
		kinds: codes(
			codeRow{kind{typ: hazard.Flood}, "ReservoirDis"},
			codeRow{kind{typ: hazard.Cyclone}, "typhoon"},
			codeRow{kind{typ: hazard.ExtremeTemperature}, "heat"},
		),
	},
}

// awareness is MeteoAlarm's awareness_type (meteoalarm). There is no 11.
var awareness = map[int]kind{
	1: {typ: hazard.HighWind}, 2: {typ: hazard.WinterStorm}, 3: {typ: hazard.Storm}, 4: {typ: hazard.Occurrence},
	5: {typ: hazard.ExtremeTemperature}, 6: {typ: hazard.ExtremeTemperature}, 7: {typ: hazard.HighSurf},
	8: {typ: hazard.Wildfire, fire: true}, 9: {typ: hazard.Avalanche}, 10: {typ: hazard.Storm}, 12: {typ: hazard.Flood},
	13: {typ: hazard.Flood}, 14: {typ: hazard.Storm}, // 14: Polar-low, Norway
}

// categories are the types for CAP's categories, used if nothing else shows the type of the event
// (CAP 1.2, section 3.2.2). They are no more specific than the sender was. The first match counts.
var categories = []struct {
	category string
	typ      hazard.Type
}{
	{"Met", hazard.Storm}, {"Fire", hazard.Wildfire}, {"CBRNE", hazard.Accident}, {"Health", hazard.Biomedical}, {"Infra", hazard.Equipment},
	{"Transport", hazard.Incident}, {"Security", hazard.Incident}, {"Safety", hazard.Incident}, {"Rescue", hazard.Incident},
	{"Geo", hazard.Occurrence}, // earthquakes, landslides and volcanoes
	{"Env", hazard.Occurrence},
}

// coded returns the kind of an event by its codes. With general, it uses the less specific codes.
func coded(infos []*Info, general bool) (kind, bool) {
	for _, list := range codeLists {
		kinds := list.kinds
		if general {
			kinds = list.general
		}
		for _, in := range infos {
			for _, c := range in.EventCode {
				name, value := strings.ToLower(strings.TrimSpace(c.Name)), strings.TrimSpace(c.Value)
				if k, ok := kinds[value]; ok && list.is(name, value) {
					return k, true
				}
			}
		}
	}
	return kind{}, false
}
