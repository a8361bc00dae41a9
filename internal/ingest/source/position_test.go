package source

import (
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
)

// TestAPositionGivesWayOnlyToStrongerEvidence says, of a position, a county and other words, which
// counts.
func TestAPositionGivesWayOnlyToStrongerEvidence(t *testing.T) {
	const riverside, lake, madera = "Riverside County, California", "Lake County, California", "Madera County, California"
	slough := hazard.Point{Lon: -120.383187, Lat: 36.996139} // near Chowchilla, Madera County
	for name, tt := range map[string]struct {
		at            *hazard.Point
		county, words string
		keeps         bool   // the position counts
		note          string // a part of it; empty for none
	}{
		"in the county": {&slough, madera, "", true, ""},
		"just outside the county, as at a border": {&slough, "Merced County, California", "", true, ""},
		"no position":                      {nil, lake, "", false, ""},
		"0, 0":                             {&hazard.Point{}, lake, "", false, "0, 0"},
		"another county, and nothing else": {&slough, riverside, "", false, "is not in Riverside County"},
		"another county, and words that name no town":        {&slough, riverside, "Unknown / TBD", false, "is not in Riverside County"},
		"another county, and a town near the position":       {&slough, riverside, "Road 9, Chowchilla", true, "but near Chowchilla, which is named too"},
		"a town in capitals":                                 {&slough, riverside, "ROAD 9,CHOWCHILLA", true, "near Chowchilla"},
		"another county, and a town in that county":          {&slough, riverside, "Lincoln and Avenue 70, Temecula", false, "is not in Riverside County"},
		"the beginning of another word is not the town":      {&slough, riverside, "Chowchillas Road", false, "is not in Riverside County"},
		"a lost minus, although a town of California":        {&hazard.Point{Lon: 122.7, Lat: 38.9}, lake, "Clearlake", false, "is not in Lake County"},
		"a changed order of numbers":                         {&hazard.Point{Lon: 38.9, Lat: -122.7}, lake, "Clearlake", false, "is not in Lake County"},
		"a county that is not known contradicts nothing":     {&slough, "Nowhere County", "", true, ""},
		"a county that is not known, and no position at all": {nil, "Nowhere County", "Chowchilla", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := hazard.Report{Point: tt.at}
			placed := Place(&r, "US", tt.county, tt.words)
			if want := tt.keeps || !strings.HasPrefix(tt.county, "Nowhere"); placed != want {
				t.Errorf("it has a place: %v, want %v", placed, want)
			}
			if keeps := r.Point != nil; keeps != tt.keeps || keeps && len(r.Places) > 0 {
				t.Errorf("at %v and in %q, want the position: %v", r.Point, r.Places, tt.keeps)
			}
			if notes := strings.Join(r.Notes, " "); (notes == "") != (tt.note == "") || !strings.Contains(notes, tt.note) {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
		})
	}
}

// TestAPositionFarFromItsCountriesIsNotUsed says which positions are believed.
func TestAPositionFarFromItsCountriesIsNotUsed(t *testing.T) {
	for name, tt := range map[string]struct {
		at        hazard.Point
		countries []string
		keeps     bool
	}{
		"in the country":                        {hazard.Point{Lon: -71.5, Lat: -33.1}, []string{"Chile"}, true},
		"in its waters":                         {hazard.Point{Lon: -75, Lat: -33.1}, []string{"Chile"}, true},
		"in one of several":                     {hazard.Point{Lon: 22.2, Lat: 56.9}, []string{"Lithuania", "Latvia"}, true},
		"a lost minus":                          {hazard.Point{Lon: 71.5, Lat: -33.1}, []string{"Chile"}, false},
		"a changed order of numbers":            {hazard.Point{Lon: -33.1, Lat: -71.5}, []string{"Chile"}, false},
		"a country as the United Nations write": {hazard.Point{Lon: 0, Lat: 0}, []string{"Iran (Islamic Republic of)"}, false},
		"a country that is not known":           {hazard.Point{Lon: 0, Lat: 0}, []string{"Near the coast of Chile"}, true},
		"one known and one not":                 {hazard.Point{Lon: 71.5, Lat: -33.1}, []string{"Chile", "the South Atlantic"}, true},
		"no country":                            {hazard.Point{Lon: 71.5, Lat: -33.1}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := hazard.Report{Point: &tt.at}
			InCountries(&r, tt.countries)
			if keeps := r.Point != nil; keeps != tt.keeps || keeps == (len(r.Notes) > 0) || keeps == (len(r.Places) > 0) {
				t.Errorf("at %v, in %q, notes %q; want the position: %v", r.Point, r.Places, r.Notes, tt.keeps)
			}
		})
	}
}
