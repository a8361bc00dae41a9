package read

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// geography is a hazard's area in the form of the original server: the maximum alert geography,
// which says who should be alerted.
type geography struct {
	MagID         int64    `json:"magId"`
	UUID          string   `json:"uuid"`
	Title         string   `json:"title"`
	CreateDate    string   `json:"createDate"`
	UpdateDate    string   `json:"updateDate"`
	MagType       string   `json:"magType"`
	Creator       string   `json:"creator"`
	IsActive      bool     `json:"isActive"`
	WKT           geometry `json:"wkt"`
	WKTUnmodified geometry `json:"wktUnmodified"`
	PlaceKind     string   `json:"place_kind"`
	PlaceKnownAs  string   `json:"place_known_as,omitzero"` // if PlaceKind is region or country
	Role          string   `json:"role"`                    // alert, impact, track, or point if only that is known
}

// geometry is one geometry in the two forms of OGC 06-103r4.
type geometry struct {
	Text   string `json:"text"`   // WKT, longitude latitude
	Binary string `json:"binary"` // WKB, base64
}

// feature and collection are GeoJSON (RFC 7946).
type feature struct {
	Type       string         `json:"type"`
	ID         string         `json:"id"`
	Geometry   jsontext.Value `json:"geometry"`
	Properties properties     `json:"properties"`
}

type properties struct {
	Role       string `json:"role"`
	HazardID   int64  `json:"hazard_ID"`
	UUID       string `json:"uuid"`
	Name       string `json:"hazard_Name"`
	TypeID     string `json:"type_ID"`
	SeverityID string `json:"severity_ID"`
	CategoryID string `json:"category_ID"`
	Status     string `json:"status"`
	// See geography.
	PlaceKind    string `json:"place_kind,omitzero"`
	PlaceKnownAs string `json:"place_known_as,omitzero"`
}

// collection holds areas (feature), then shapes (shapeFeature).
type collection struct {
	Type     string `json:"type"`
	Features []any  `json:"features"`
}

// GeoJSON is the media type of RFC 7946.
const GeoJSON = "application/geo+json"

// AlertGeography serves a hazard's area: in the form of the original server, or as GeoJSON.
func (a *Details) AlertGeography(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	values, at, err := a.readAt(r, "f", route.LangParameter)
	if err != nil {
		return err
	}
	wantGeoJSON := strings.Contains(strings.Join(r.Header["Accept"], ","), GeoJSON)
	if values.Has("f") {
		known := []string{"json", "geojson"}
		if !slices.Contains(known, values.Get("f")) {
			return route.BadParameter("f", "%q is not one of %s", values.Get("f"), strings.Join(known, ", "))
		}
		wantGeoJSON = values.Get("f") == "geojson"
	}
	wish, err := a.Wish(r, values)
	if err != nil {
		return err
	}
	h, err := a.hazardNowOrAt(r, at)
	if err != nil {
		return err
	}
	h = route.InLanguage(w, h, wish)
	areas, err := a.Store.Log.Areas(r.Context(), h.Areas)
	if err != nil {
		return err
	}
	if len(areas) == 0 {
		areas = []hazard.Area{{Role: hazard.PointArea, Geometry: geo.Circle(h.Longitude, h.Latitude, 0).GeoJSON()}}
	}
	if wantGeoJSON {
		out := collection{Type: "FeatureCollection", Features: []any{}}
		for i, area := range areas {
			out.Features = append(out.Features, feature{Type: "Feature", ID: h.UUID.String() + "/" + strconv.Itoa(i), Geometry: jsontext.Value(area.Geometry),
				Properties: properties{Role: string(area.Role), HazardID: h.ID, UUID: h.UUID.String(), Name: h.Name, TypeID: string(h.Type),
					SeverityID: h.Severity.String(), CategoryID: string(h.Category), Status: string(h.Status), PlaceKind: string(h.Place()), PlaceKnownAs: h.PlaceKnownAs}})
		}
		shapes, _, err := a.shapesOf(r.Context(), h, refsOf(h), nil)
		if err != nil {
			return err
		}
		for _, f := range shapes.Features {
			out.Features = append(out.Features, f)
		}
		w.Header()["Content-Type"] = []string{GeoJSON}
		return route.AnswerJSON(w, r, out, false)
	}
	out := geography{MagID: h.ID, UUID: h.UUID.String(), Title: h.Name, CreateDate: h.Created.Digits(), UpdateDate: h.Updated.Digits(), MagType: "Calculated",
		Creator: h.Creator, IsActive: h.Status == hazard.Active, Role: string(areas[0].Role), PlaceKind: string(h.Place()), PlaceKnownAs: h.PlaceKnownAs}
	var shapes []geo.Shape
	for _, area := range areas {
		if area.Role != areas[0].Role {
			continue
		}
		s, err := geo.ReadStored(area.Geometry)
		if err != nil {
			return err
		}
		shapes = append(shapes, s)
	}
	whole, err := geo.Union(shapes...)
	if err != nil {
		return err
	}
	out.WKT = geometry{whole.WKT(), base64.StdEncoding.EncodeToString(whole.WKB())}
	out.WKTUnmodified = out.WKT
	return route.AnswerJSON(w, r, out, false)
}
