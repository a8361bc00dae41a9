package cyclone_test

import (
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/sources/cyclone"
)

func TestNumbers(t *testing.T) {
	for words, want := range map[string]int{"ONE": 1, "Fifteen": 15, "TWENTYEIGHT": 28, "Twenty-One": 21, "THIRTY": 30, "LALA": 0, "TWENTYTEN": 0, "": 0} {
		if got := cyclone.Number(words); got != want {
			t.Errorf("%s: %d, want %d", words, got, want)
		}
	}
}

func TestIdentities(t *testing.T) {
	at := func(month time.Month) hazard.Instant {
		return hazard.At(time.Date(2026, month, 1, 0, 0, 0, 0, time.UTC))
	}
	for _, tt := range []struct {
		number   int
		letter   string
		lon, lat float64
		month    time.Month
		want     string
	}{
		{15, "", 138, 12, time.August, "WP152026"},
		{1, "", 83.7, 18.1, time.September, "IO012026"},
		{28, "", 163.8, -23.6, time.March, "SH282026"},
		{6, "", -147, -18.7, time.December, "SH062027"},
		{4, "", -60, 20, time.August, "AL042026"},
		{1, "C", -170, 20, time.August, "CP012026"},
		{2, "E", -110, 20, time.August, "EP022026"},
		{2, "", -120, 20, time.August, ""},
		{90, "", 138, 12, time.August, ""},
		{25, "W", 138, 12, time.August, "WP252026"},
		{25, "W", 138, 12, time.January, "WP252025"},
		{1, "W", 138, 12, time.January, "WP012026"},
		{3, "B", 76.6, 7.8, time.November, "IO032026"},
		{2, "A", 60, 15, time.June, "IO022026"},
		{9, "P", 164.7, -25.5, time.February, "SH092026"},
		{4, "S", 68.4, -27.5, time.December, "SH042027"},
		{25, "S", 68.4, -27.5, time.July, "SH252026"},
		{91, "W", 138, 12, time.August, ""},
		{3, "X", 138, 12, time.August, ""},
	} {
		if got := cyclone.Identity(tt.number, tt.letter, hazard.Point{Lon: tt.lon, Lat: tt.lat}, at(tt.month)); got != tt.want {
			t.Errorf("%d%s at %v, %v: %q, want %q", tt.number, tt.letter, tt.lon, tt.lat, got, tt.want)
		}
	}
}
