package region

import "testing"

func TestStatesOfPlaces(t *testing.T) {
	all := StatesOf("US")
	if len(all) != 51 || all[0].Code != "US-AK" || all[0].Name != "Alaska" {
		t.Fatalf("%d states, the first is %+v", len(all), all[0])
	}
	for _, tt := range []struct {
		lon, lat float64
		want     string
	}{
		{-86.16, 39.77, "Indiana"}, {-157.86, 21.31, "Hawaii"}, {-73.98, 40.75, "New York"}, {-74.05, 40.72, "New Jersey"}, {-77.04, 38.9, "District of Columbia"}, {-149.9, 61.2, "Alaska"},
		{-66.1, 18.4, ""}, {-79.4, 43.65, ""}, {13.4, 52.5, ""}, // Puerto Rico, Toronto, Berlin
	} {
		got := ""
		for _, s := range all {
			if s.Holds(tt.lon, tt.lat) {
				got += s.Name
			}
		}
		if got != tt.want {
			t.Errorf("%v, %v: %q, want %q", tt.lon, tt.lat, got, tt.want)
		}
	}
	if n := len(StatesOf("DE")); n != 0 {
		t.Errorf("%d states of Germany", n)
	}
}
