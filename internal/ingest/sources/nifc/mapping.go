package nifc

import "github.com/hazardd/hazardd/internal/hazard"

// category is a row of the table of incident types, for one value of IncidentTypeCategory.
type category struct {
	word    string
	ignored string // why it is not a hazard; empty if it is one
	basis   string
}

// data is the document that defines the values.
const data = "NWCG data standards, Wildland Fire Incident Type Category (nwcg.gov/data-standards)"

// categories is the table of incident types. An incident of another type is held.
var categories = []category{
	{"WF", "", data + ": wildfire"},
	{"RX", "a prescribed fire, lit on purpose", data + ": prescribed fire"},
	{complexes, "a complex: its fires are listed one by one", data + ": incident complex"},
}

// complexes is the category of incidents that are the sum of others.
const complexes = "CX"

// repeated is the reason for ignoring a further record of the same incident.
const repeated = "another record of the same incident in the same list"

// size is a row of the table of sizes.
type size struct {
	acres    float64 // the lowest size
	severity hazard.Severity
	basis    string
}

// sizes is the mapping table; the first row that fits is used. NIFC publishes no levels, so none of
// its fires is a WARNING; evacuations are ordered by the sheriff, not by NIFC.
var sizes = []size{
	{10_000, hazard.Watch, "judgement: as for NASA EONET, fires of 10,000 acres and more"},
	{0, hazard.Information, "judgement: an incident that agencies manage"},
}

func severity(acres float64) hazard.Severity {
	for _, s := range sizes {
		if acres >= s.acres {
			return s.severity
		}
	}
	return hazard.Information
}

// declared are the members that mean that a fire is over, the last state first (the rules of the
// current services, data-nifc.opendata.arcgis.com: "has not been declared contained, controlled,
// nor out").
var declared = []struct{ member, word string }{
	{"FireOutDateTime", "out"}, {"ControlDateTime", "controlled"}, {"ContainmentDateTime", "contained"},
}

// states are the names of POOState (ISO 3166-2).
var states = map[string]string{
	"US-AL": "Alabama", "US-AK": "Alaska", "US-AZ": "Arizona", "US-AR": "Arkansas", "US-CA": "California", "US-CO": "Colorado",
	"US-CT": "Connecticut", "US-DE": "Delaware", "US-DC": "District of Columbia", "US-FL": "Florida", "US-GA": "Georgia",
	"US-HI": "Hawaii", "US-ID": "Idaho", "US-IL": "Illinois", "US-IN": "Indiana", "US-IA": "Iowa", "US-KS": "Kansas",
	"US-KY": "Kentucky", "US-LA": "Louisiana", "US-ME": "Maine", "US-MD": "Maryland", "US-MA": "Massachusetts",
	"US-MI": "Michigan", "US-MN": "Minnesota", "US-MS": "Mississippi", "US-MO": "Missouri", "US-MT": "Montana",
	"US-NE": "Nebraska", "US-NV": "Nevada", "US-NH": "New Hampshire", "US-NJ": "New Jersey", "US-NM": "New Mexico",
	"US-NY": "New York", "US-NC": "North Carolina", "US-ND": "North Dakota", "US-OH": "Ohio", "US-OK": "Oklahoma",
	"US-OR": "Oregon", "US-PA": "Pennsylvania", "US-RI": "Rhode Island", "US-SC": "South Carolina", "US-SD": "South Dakota",
	"US-TN": "Tennessee", "US-TX": "Texas", "US-UT": "Utah", "US-VT": "Vermont", "US-VA": "Virginia", "US-WA": "Washington",
	"US-WV": "West Virginia", "US-WI": "Wisconsin", "US-WY": "Wyoming", "US-PR": "Puerto Rico", "US-GU": "Guam",
	"US-AS": "American Samoa", "US-VI": "US Virgin Islands", "US-MP": "Northern Mariana Islands",
}
