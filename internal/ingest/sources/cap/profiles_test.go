package cap

import (
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// CAP 1.0 writes the name of a value before it, in the same text.
func TestCAP10(t *testing.T) {
	r := one(t, with(t, "urn:oasis:names:tc:emergency:cap:1.2", "http://www.incident.com/cap/1.0", "<event>Flood Warning", "<event>Qwertz", "<certainty>Observed", "<certainty>Very Likely",
		"<onset>", "<eventCode>SAME=TOR</eventCode><onset>", "<geocode><valueName>EMMA_ID</valueName><value>XX001</value></geocode>", "<geocode>FIPS6=006109</geocode>"))
	if r.Type != hazard.Tornado || r.Severity != hazard.Warning || !slices.Equal(r.Places, []string{"SAME:006109"}) {
		t.Errorf("%s %s of %v", r.Severity, r.Type, r.Places)
	}
}

// A green level is not a hazard, whatever it is called, and a second language is not a second
// hazard.
func TestAEMET(t *testing.T) {
	spanish := `<info><language>es-ES</language><category>Met</category><event>Aviso de temperaturas máximas de nivel amarillo</event><urgency>Future</urgency>
<severity>Moderate</severity><certainty>Likely</certainty><eventCode><valueName>AEMET-Meteoalarm fenomeno</valueName><value>AT;Temperaturas máximas</value></eventCode>
<onset>2026-11-21T13:00:00+01:00</onset><expires>2026-11-21T20:59:59+01:00</expires><senderName>AEMET. Agencia Estatal de Meteorología</senderName>
<headline>Aviso de temperaturas máximas de nivel amarillo. Campiña sevillana</headline>
<parameter><valueName>AEMET-Meteoalarm nivel</valueName><value>amarillo</value></parameter>
<area><areaDesc>Campiña sevillana</areaDesc><polygon>37,-6 37,-5 38,-5 37,-6</polygon><geocode><valueName>AEMET-Meteoalarm zona</valueName><value>614103</value></geocode></area></info>`
	english := strings.NewReplacer("es-ES", "en-GB", "Aviso de temperaturas máximas de nivel amarillo", "Moderate high-temperature warning", "AT;Temperaturas máximas", "AT;High temperatures").Replace(spanish)
	head := good[:strings.Index(good, "<info>")]
	r := one(t, head+spanish+english+"</alert>")
	if r.Type != hazard.ExtremeTemperature || r.Severity != hazard.Advisory || r.Suspect != "" || r.Name != "Moderate high-temperature warning - Campiña sevillana" {
		t.Errorf("%s %s %q, suspect %q", r.Severity, r.Type, r.Name, r.Suspect)
	}
	for _, green := range []string{
		strings.NewReplacer("nivel amarillo", "nivel verde", "Moderate", "Minor", "<value>amarillo", "<value>verde").Replace(spanish),
		strings.NewReplacer("nivel amarillo", "nivel verde", "Moderate", "Minor", "AEMET-Meteoalarm nivel", "x").Replace(spanish),
	} {
		if r := one(t, head+green+"</alert>"); r.Ended != hazard.EndAllClear || !r.Minor {
			t.Errorf("green: %s, ended %q, minor %v", r.Severity, r.Ended, r.Minor)
		}
	}
}

// DWD outlines parts of an area without a warning, and sends a message once in each language.
func TestDWD(t *testing.T) {
	const area = "<polygon>38,-120 38,-119 39,-119 38,-120</polygon>"
	r := one(t, with(t, area, "<polygon>50,6 50,10 54,10 54,6 50,6</polygon><polygon>40,6 40,7 41,7 41,6 40,6</polygon>",
		"<geocode><valueName>EMMA_ID", "<geocode><valueName>EXCLUDE_POLYGON</valueName><value>51,7 51,9 53,9 53,7 51,7</value></geocode><geocode><valueName>EMMA_ID"))
	if len(r.Areas) != 2 || !slices.Equal(r.Places, []string{"EMMA_ID:XX001"}) {
		t.Fatalf("areas %v, places %v", r.Areas, r.Places)
	}
	s, err := geo.ParseLoose([]byte(r.Areas[0].Geometry))
	if err != nil {
		t.Fatal(err)
	}
	lon, lat := s.Point()
	if geo.Intersects(s, geo.Place(8, 52)) || !geo.Intersects(s, geo.Place(6.5, 52)) || !geo.Intersects(s, geo.Place(lon, lat)) {
		t.Errorf("the hole is not cut out: %s", r.Areas[0].Geometry)
	}
	b := parsed(t, feed, with(t, "<geocode><valueName>EMMA_ID", "<geocode><valueName>EXCLUDE_POLYGON</valueName><value>1,1 1,2 2,2 1,1</value></geocode><geocode><valueName>EMMA_ID"), at(t, noon))
	if len(b.Reports) != 1 || b.Reports[0].Suspect != "" || !strings.Contains(strings.Join(b.Reports[0].Notes, " "), "EXCLUDE_POLYGON: in none") {
		t.Errorf("a hole elsewhere: %+v", b)
	}

	const id = "2.49.0.0.276.0.DWD.PVW.1776668100000.cdf81e0a-b6f1-45c3-808e-9d729efb2aa0"
	var e events
	for _, language := range []string{".DEU", ".ENG", ".MUL"} {
		e.add(one(t, with(t, "<identifier>A-1", "<identifier>"+id+language)))
	}
	if active := e.active(at(t, noon)); len(active) != 1 {
		t.Errorf("%v, want one hazard", active)
	}
}

// GDACS names the areas of its CAP messages "Polygon".
func TestAnAreaThatIsCalledPolygonHasNoName(t *testing.T) {
	r := one(t, with(t, "<areaDesc>Test County", "<areaDesc>Polygon", "<area>", "<parameter><valueName>country</valueName><value>Japan</value></parameter><area>"))
	if r.Name != "Flood Warning - Japan" {
		t.Errorf("%q", r.Name)
	}
}
