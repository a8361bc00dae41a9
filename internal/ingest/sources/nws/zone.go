package nws

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// A place code is
//
//   - a UGC: "INC005" for a county, "HIZ043" for a public or marine forecast zone;
//   - "fire/CAZ071" for a fire weather zone: these have the same codes as forecast zones, but other
//     shapes;
//   - "SAME:018005" if a message contains only the SAME codes of counties.
const (
	firePrefix = "fire/"
	samePrefix = "SAME:"
)

var ugcForm = regexp.MustCompile(`^[A-Z]{2}[CZ][0-9]{3}$`)

// ZoneURL returns the address of the shape of a place, or "" if the service has none.
func ZoneURL(place string) string {
	ugc, fire := strings.CutPrefix(place, firePrefix)
	switch {
	case !ugcForm.MatchString(ugc) || fire && ugc[2] == 'C':
		return ""
	case fire:
		return api + "zones/fire/" + ugc
	case ugc[2] == 'C':
		return api + "zones/county/" + ugc
	}
	return api + "zones/forecast/" + ugc
}

// parseZone parses the response of ZoneURL: the place code, the shape as a GeoJSON geometry without
// white space, and the zone's name.
func parseZone(payload []byte) (place string, geometryGeoJSON []byte, name string, err error) {
	fail := func(err error) (string, []byte, string, error) { return "", nil, "", err }
	doc, err := lenient.Collection{Want: "a zone"}.Read(payload, nil)
	if err != nil {
		return fail(err)
	}
	var zone struct {
		Type       string         `json:"type"`
		Title      string         `json:"title"`
		Detail     string         `json:"detail"`
		Geometry   jsontext.Value `json:"geometry"`
		Properties struct {
			ID   string `json:"id"`
			Type string `json:"type"` // county; public, land, forecast, coastal, offshore, marine; fire
			Name string `json:"name"`
		} `json:"properties"`
	}
	if _, err := lenient.Decode(doc.Object, &zone); err != nil {
		return fail(source.Errorf("%s", lenient.Fault(err, doc.Object)))
	}
	if zone.Type != "Feature" {
		return fail(notThis(zone.Type, zone.Title, zone.Detail, `"Feature"`))
	}
	place = zone.Properties.ID
	if zone.Properties.Type == "fire" {
		place = firePrefix + place
	}
	if ZoneURL(place) == "" {
		return fail(source.Errorf("properties/id: %.40q of type %.40q, expected a code such as HIZ043", zone.Properties.ID, zone.Properties.Type))
	}
	if kind := lenient.Word(lenient.Member(zone.Geometry, "type")); !slices.Contains([]string{"Polygon", "MultiPolygon", "GeometryCollection"}, kind) {
		return fail(source.Errorf("geometry of %s: %s, expected Polygon, MultiPolygon or GeometryCollection", place,
			cmp.Or(lenient.Excerpt(zone.Geometry), lenient.Nothing)))
	}
	return place, compact(zone.Geometry), hazard.CleanLine(zone.Properties.Name), nil
}

// places returns the codes of the places of a message, sorted and without duplicates. fire says
// which of the two shapes of a zone is meant if there is only its code.
//
// An invalid code is kept unchanged, so that readers see that there is another place, although its
// shape is unknown.
func places(al *alert, fire bool) []string {
	var out []string
	for _, address := range al.AffectedZones {
		parent, code := "", address
		if i := strings.LastIndexByte(address, '/'); i >= 0 {
			parent, code = address[:i], address[i+1:]
		}
		out = append(out, placeCode(code, strings.HasSuffix(parent, "/fire")))
	}
	if len(out) == 0 {
		for _, code := range al.Geocode.UGC {
			out = append(out, placeCode(code, fire && len(code) > 2 && code[2] == 'Z'))
		}
	}
	if len(out) == 0 {
		for _, code := range sames(al) {
			out = append(out, samePrefix+code)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// maxPlace bounds a place code, in bytes.
const maxPlace = 40

func placeCode(code string, fire bool) string {
	code = lenient.Cut(hazard.CleanLine(code), maxPlace)
	if code != "" && fire {
		return firePrefix + code
	}
	return code
}

// sames returns the SAME codes of the counties and marine areas that contain the places.
func sames(al *alert) []string {
	var out []string
	for _, code := range al.Geocode.SAME {
		if len(code) == 6 && strings.Trim(code, "0123456789") == "" {
			out = append(out, code)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
