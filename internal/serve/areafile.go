package serve

import (
	"math"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format/areafile"
)

// costOfAreaFile is what reading a file with areas holds: what is unpacked of it, and what is made of that.
const costOfAreaFile = 24 << 20

// readAreas is the areas of a file, as a collection of GeoJSON.
type readAreas struct {
	Type     string         `json:"type"`
	Features []readArea     `json:"features"`
	Format   string         `json:"format"`
	Left     int            `json:"left_out"`
	Whole    jsontext.Value `json:"whole"`
}

type readArea struct {
	Type       string         `json:"type"`
	Geometry   jsontext.Value `json:"geometry"`
	Properties readAreaIs     `json:"properties"`
}

type readAreaIs struct {
	Name      string  `json:"name"`
	Km2       float64 `json:"area_km2"`
	Positions int     `json:"positions"`
}

// roundedKm2 is an area to 0.1 km², as distances are to 0.1 km; a small one has three significant digits.
func roundedKm2(km2 float64) float64 {
	if km2 >= 10 {
		return math.Round(km2*10) / 10
	}
	three, err := strconv.ParseFloat(strconv.FormatFloat(km2, 'e', 2, 64), 64)
	if err != nil { // cannot be: it was written as a number
		return km2
	}
	return three
}

// readAreaFile serves the areas of a file that is sent. It keeps nothing.
func (a *API) readAreaFile(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := role(who, auth.Editor, auth.Admin); err != nil {
		return err
	}
	if err := noQuery(r); err != nil {
		return err
	}
	sent, over := a.quotas.upload(who)
	if over != nil {
		return over
	}
	defer sent()
	doc, err := readBody(w, r, areafile.MaxFile)
	if err != nil {
		return err
	}
	return a.holding(w, r, who, costOfAreaFile, func(w http.ResponseWriter) error {
		f, err := a.Edit.ReadAreas(doc)
		if err != nil {
			return err
		}
		out := readAreas{Type: "FeatureCollection", Format: f.Format, Left: f.Left, Whole: jsontext.Value(f.Whole.GeoJSON())}
		for _, area := range f.Areas {
			out.Features = append(out.Features, readArea{"Feature", jsontext.Value(area.Shape.GeoJSON()), readAreaIs{area.Name, roundedKm2(area.Shape.AreaKm2()), area.Shape.Positions()}})
		}
		w.Header()["Content-Type"] = []string{geoJSON}
		return answerJSON(w, r, out, true)
	})
}
