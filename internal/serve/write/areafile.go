package write

import (
	"math"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format/areafile"
	"github.com/hazardd/hazardd/internal/serve/read"
	"github.com/hazardd/hazardd/internal/serve/route"
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
func (a *Handlers) readAreaFile(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := route.Role(who, auth.Editor, auth.Admin); err != nil {
		return err
	}
	if err := route.NoQuery(r); err != nil {
		return err
	}
	sent, over := a.Users.Upload(who)
	if over != nil {
		return over
	}
	defer sent()
	doc, err := route.ReadBody(w, r, areafile.MaxFile)
	if err != nil {
		return err
	}
	return a.Hold(w, r, who, costOfAreaFile, func(w http.ResponseWriter) error {
		f, err := a.Edit.ReadAreas(doc)
		if err != nil {
			return err
		}
		out := readAreas{Type: "FeatureCollection", Format: f.Format, Left: f.Left, Whole: jsontext.Value(f.Whole.GeoJSON())}
		for _, area := range f.Areas {
			out.Features = append(out.Features, readArea{"Feature", jsontext.Value(area.Shape.GeoJSON()), readAreaIs{area.Name, roundedKm2(area.Shape.AreaKm2()), area.Shape.Positions()}})
		}
		w.Header()["Content-Type"] = []string{read.GeoJSON}
		return route.AnswerJSON(w, r, out, true)
	})
}
