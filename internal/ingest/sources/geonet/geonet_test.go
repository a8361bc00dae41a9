package geonet

import (
	"fmt"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

var laws = sourcetest.Source{
	Parse: Parse, File: "geonet/quake-mmi4.json", At: "2019-07-23T13:00:00Z", List: "features",
	Needed: []string{"geometry/coordinates", "properties/publicID", "properties/time"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, laws, `{"type":"FeatureCollection","features":[null,{},7,"`)
}

func TestLevelOfAnEarthquake(t *testing.T) {
	now := hazard.At(time.Date(2019, 7, 23, 13, 0, 0, 0, time.UTC))
	for name, tt := range map[string]struct {
		properties string
		level      hazard.Severity
		minor      bool
		ended      hazard.EndReason
		called     string
	}{
		"great and shallow":  {`"magnitude":7.8,"depth":15,"mmi":9,"locality":"15 km north-east of Culverden"`, hazard.Warning, false, "", "M 7.8 Earthquake - 15 km north-east of Culverden, New Zealand"},
		"great and deep":     {`"magnitude":7.1,"depth":200,"mmi":4,"locality":"Tokomaru Bay"`, hazard.Watch, false, "", "M 7.1 Earthquake - Tokomaru Bay, New Zealand"},
		"felt":               {`"magnitude":3.9,"depth":5,"mmi":5,"locality":"Within 5 km of Christchurch"`, hazard.Information, false, "", "M 3.9 Earthquake - Within 5 km of Christchurch, New Zealand"},
		"slight":             {`"magnitude":3.9,"depth":5,"mmi":3,"locality":"Taupo"`, hazard.Information, true, "", "M 3.9 Earthquake - Taupo, New Zealand"},
		"deleted":            {`"magnitude":5.02,"depth":0,"mmi":6,"locality":"Tokomaru Bay","quality":"deleted"`, hazard.Advisory, true, hazard.EndWithdrawn, "M 5.0 Earthquake - Tokomaru Bay, New Zealand"},
		"without a locality": {`"magnitude":5,"depth":9,"mmi":6`, hazard.Advisory, false, "", "M 5.0 Earthquake - 38.08 S, 178.26 E"},
	} {
		t.Run(name, func(t *testing.T) {
			payload := fmt.Sprintf(`{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point","coordinates":[178.26,-38.08]},
				"properties":{"publicID":"2019p550078","time":"2019-07-23T12:41:45.724Z",%s}}]}`, tt.properties)
			b, err := Parse([]byte(payload), now)
			if err != nil || len(b.Reports) != 1 {
				t.Fatalf("%+v, %v", b, err)
			}
			if r := b.Reports[0]; r.Severity != tt.level || r.Minor != tt.minor || r.Ended != tt.ended || r.Name != tt.called {
				t.Errorf("%s, minor %t, ended %q, %q", r.Severity, r.Minor, r.Ended, r.Name)
			}
		})
	}
}
