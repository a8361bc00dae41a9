package read

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// The limits of one answer with shapes.
const (
	maxShapeText = 4 << 20 // bytes of geometries
	maxStates    = 2000    // states of a hazard that are searched for what is earlier
)

// shapeProperties are the properties of a shape in GeoJSON.
type shapeProperties struct {
	properties
	Kind     string  `json:"band,omitzero"` // the quantity of the band, as in GET /measurements
	Value    float64 `json:"value,omitzero"`
	Unit     string  `json:"unit,omitzero"`
	Word     string  `json:"word,omitzero"` // name of the value, on a scale of words
	From     string  `json:"from"`
	To       string  `json:"to,omitzero"`
	Forecast bool    `json:"forecast"`
	Title    string  `json:"title"`
	Color    string  `json:"color"`
	Source   string  `json:"source"`
	Part     string  `json:"part"`
	// Since is when the service first had the shape, Until when another replaced it. Only earlier
	// shapes have both.
	Since string `json:"since,omitzero"`
	Until string `json:"until,omitzero"`
}

type shapeFeature struct {
	Type       string          `json:"type"`
	ID         string          `json:"id"`
	Geometry   jsontext.Value  `json:"geometry"`
	Properties shapeProperties `json:"properties"`
}

type shapeCollection struct {
	Type     string         `json:"type"`
	Features []shapeFeature `json:"features"`
	// Left is how many shapes are left out to keep the answer small.
	Left int `json:"left_out,omitzero"`
}

// drawnRef is a document of shapes of a hazard: the present one, or one that was valid from since
// until another replaced it.
type drawnRef struct {
	hazard.ShapesRef
	since, until hazard.Instant
}

// shapes serves the cones, tracks, contours and the like of a hazard.
func (a *Details) shapes(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	values, at, err := a.readAt(r, "f", "role", "earlier")
	if err != nil {
		return err
	}
	form := "geojson"
	if values.Has("f") {
		if form = values.Get("f"); form != "geojson" && form != "kml" {
			return route.BadParameter("f", "%.60q is not one of geojson, kml", form)
		}
	}
	var roles []string
	if values.Has("role") {
		for _, role := range strings.Split(values.Get("role"), ",") {
			if !slices.Contains(hazard.ShapeRoles(), hazard.ShapeRole(role)) {
				return route.BadParameter("role", "%.60q is not one of %q", role, hazard.ShapeRoles())
			}
			roles = append(roles, role)
		}
	}
	earlier, err := earlierParameter(values)
	if err != nil {
		return err
	}
	h, err := a.hazardNowOrAt(r, at)
	if err != nil {
		return err
	}
	refs := refsOf(h)
	if earlier {
		if refs, err = a.shapesOver(r.Context(), h, at); err != nil {
			return err
		}
	}
	out, all, err := a.shapesOf(r.Context(), h, refs, roles)
	if err != nil {
		return err
	}
	if form == "kml" {
		var body bytes.Buffer
		if err := format.ShapesKML(&body, h.Name, all); err != nil {
			return err
		}
		w.Header()["Content-Type"] = []string{"application/vnd.google-earth.kml+xml"}
		return route.Answer(w, r, encoded.NewBody(body.Bytes(), false))
	}
	w.Header()["Content-Type"] = []string{GeoJSON}
	return route.AnswerJSON(w, r, out, false)
}

// earlierParameter reports whether a request asks also for what was replaced.
func earlierParameter(values url.Values) (earlier bool, err error) {
	if values.Has("earlier") {
		if earlier, err = strconv.ParseBool(values.Get("earlier")); err != nil {
			return false, route.BadParameter("earlier", "%.60q is not one of true, false", values.Get("earlier"))
		}
	}
	return earlier, nil
}

func refsOf(h *hazard.Hazard) (refs []drawnRef) {
	for _, ref := range h.Shapes {
		refs = append(refs, drawnRef{ShapesRef: ref})
	}
	return refs
}

// shapesOver returns the present and earlier documents of shapes of a hazard from the log, oldest
// first, as of at (nil means now).
func (a *Hazards) shapesOver(ctx context.Context, h *hazard.Hazard, at *hazard.Instant) (all []drawnRef, err error) {
	seen := map[string]int{} // digest → index in all
	last := map[string]int{} // source and part → index in all of the present document
	err = a.statesOf(ctx, h.ID, at, func(c *hazard.Change) {
		for _, ref := range c.Hazard.Shapes {
			of := ref.Source + " " + ref.Part
			if _, ok := seen[ref.Digest]; ok {
				continue
			}
			if j, ok := last[of]; ok {
				all[j].until = c.At
			}
			seen[ref.Digest], last[of] = len(all), len(all)
			all = append(all, drawnRef{ref, c.At, 0})
		}
	})
	return all, err
}

// statesOf calls f with the changes of a hazard's states, oldest first, as of at (nil means now): at
// most maxStates of them.
func (a *Hazards) statesOf(ctx context.Context, id int64, at *hazard.Instant, f func(*hazard.Change)) error {
	var n int64
	for looked := 0; looked < maxStates; {
		changes, err := a.Store.Log.HazardChanges(ctx, id, n, 100)
		if err != nil {
			return err
		}
		for i := range changes {
			c := &changes[i]
			n, looked = c.Number, looked+1
			if at != nil && c.At > *at {
				return nil
			}
			if c.Hazard != nil {
				f(c)
			}
		}
		if len(changes) < 100 {
			return nil
		}
	}
	return nil
}

// DrawnOn returns the shapes on the map of a hazard: the present ones, and for a fire also the
// earlier perimeters, which show its growth.
func (a *Hazards) DrawnOn(ctx context.Context, h *hazard.Hazard) ([]hazard.Shape, error) {
	refs := refsOf(h)
	if h.Type == hazard.Wildfire && len(refs) > 0 {
		var err error
		if refs, err = a.shapesOver(ctx, h, nil); err != nil {
			return nil, err
		}
	}
	_, all, err := a.shapesOf(ctx, h, refs, nil)
	return all, err
}

// shapesOf reads shapes with those roles (nil means all) and returns them as features. It leaves
// out and counts what would make the answer too large.
func (a *Hazards) shapesOf(ctx context.Context, h *hazard.Hazard, refs []drawnRef, roles []string) (out shapeCollection, all []hazard.Shape, err error) {
	out = shapeCollection{Type: "FeatureCollection", Features: []shapeFeature{}}
	size := 0
	seen := map[string]bool{}
	for _, ref := range slices.Backward(refs) { // present shapes before past ones
		list, err := a.Store.Hazards.ShapesOf(ctx, ref.ShapesRef)
		if err != nil {
			return out, nil, err
		}
		for i := range list {
			s := &list[i]
			if roles != nil && !slices.Contains(roles, string(s.Role)) {
				continue
			}
			key := string(s.Role) + s.From.String() + s.To.String() + s.Title() + s.Geometry
			if s.Forecast { // two advisories may expect a storm in one place
				key += ref.Digest
			}
			if seen[key] { // each advisory repeats the track so far
				continue
			}
			seen[key] = true
			if size += len(s.Geometry); size > maxShapeText {
				out.Left++
				continue
			}
			all = append(all, *s)
			p := shapeProperties{properties: properties{Role: string(s.Role), HazardID: h.ID, UUID: h.UUID.String(), Name: h.Name, TypeID: string(h.Type), SeverityID: h.Severity.String(),
				CategoryID: string(h.Category), Status: string(h.Status)}, From: s.From.String(), Forecast: s.Forecast, Title: s.Title(), Color: s.Color(), Source: s.Source, Part: ref.Part}
			if s.To != 0 {
				p.To = s.To.String()
			}
			if s.Band != nil {
				p.Kind, p.Value, p.Unit = string(s.Band.Kind), s.Band.Value, s.Band.Unit()
				m := hazard.Measurement{Name: s.Band.Kind, Value: s.Band.Value}
				p.Word = m.Word()
			}
			if ref.since != 0 {
				p.Since = ref.since.String()
			}
			if ref.until != 0 {
				p.Until = ref.until.String()
			}
			out.Features = append(out.Features, shapeFeature{Type: "Feature", ID: h.UUID.String() + "/" + ref.Part + "/" + ref.Digest[:12] + "/" + strconv.Itoa(i), Geometry: jsontext.Value(s.Geometry), Properties: p})
		}
	}
	order := hazard.ShapeRoles()
	slices.SortStableFunc(out.Features, func(x, y shapeFeature) int {
		return slices.Index(order, hazard.ShapeRole(x.Properties.Role)) - slices.Index(order, hazard.ShapeRole(y.Properties.Role))
	})
	slices.SortStableFunc(all, func(x, y hazard.Shape) int { return slices.Index(order, x.Role) - slices.Index(order, y.Role) })
	return out, all, nil
}
