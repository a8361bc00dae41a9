package cap

import (
	"fmt"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
)

// The values that another hazardd writes besides CAP's elements are used if they do not contradict
// them.
func TestWhatAnotherHazarddSaysBesideCAP(t *testing.T) {
	for name, tt := range map[string]struct {
		typ, severity, category, word string
		wantType                      hazard.Type
		want                          hazard.Severity
		wantCategory                  hazard.Category
	}{
		"all of it":                         {"VOLCANO", "WATCH", "RESPONSE", "Severe", hazard.Volcano, hazard.Watch, hazard.Response},
		"a level that CAP's word denies":    {"VOLCANO", "WARNING", "OTHER", "Minor", hazard.Volcano, hazard.Information, hazard.Other},
		"a type that there is not":          {"VULCAN", "ADVISORY", "RESPONSE", "Moderate", hazard.Flood, hazard.Advisory, hazard.Event},
		"a category that makes an exercise": {"VOLCANO", "ADVISORY", "EXERCISE", "Moderate", hazard.Volcano, hazard.Advisory, hazard.Event},
	} {
		t.Run(name, func(t *testing.T) {
			doc := fmt.Sprintf(`<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>a.1</identifier><sender>hazardd@example.org</sender><sent>2026-09-28T12:00:00-00:00</sent>
<status>Actual</status><msgType>Alert</msgType><scope>Public</scope><info><category>Met</category><event>Flood</event><urgency>Immediate</urgency><severity>%s</severity>
<certainty>Observed</certainty><eventCode><valueName>hazardd:type</valueName><value>%s</value></eventCode><expires>2026-09-29T12:00:00-00:00</expires><headline>The name</headline>
<parameter><valueName>hazardd:severity</valueName><value>%s</value></parameter><parameter><valueName>hazardd:category</valueName><value>%s</value></parameter>
<parameter><valueName>hazardd:position</valueName><value>10.5,20.5</value></parameter><parameter><valueName>hazardd:area</valueName><value>impact</value></parameter>
<area><areaDesc>Somewhere</areaDesc><polygon>10,20 11,20 11,21 10,21 10,20</polygon></area></info></alert>`, tt.word, tt.typ, tt.severity, tt.category)
			batch, err := Parse(Config{Name: "other"}, []byte(doc), hazard.Instant(1790596800000))
			if err != nil || len(batch.Reports) != 1 {
				t.Fatalf("%v %+v", err, batch)
			}
			r := batch.Reports[0]
			if r.Type != tt.wantType || r.Severity != tt.want || r.Category != tt.wantCategory {
				t.Errorf("%s %s %s, want %s %s %s", r.Type, r.Severity, r.Category, tt.wantType, tt.want, tt.wantCategory)
			}
			known := tt.wantType == hazard.Volcano
			if (r.Name == "The name") != known || (r.Areas[0].Role == hazard.ImpactArea) != known || (r.Point != nil && *r.Point == hazard.Point{Lon: 20.5, Lat: 10.5}) != known {
				t.Errorf("name %q, area %s, point %v", r.Name, r.Areas[0].Role, r.Point)
			}
		})
	}
}
