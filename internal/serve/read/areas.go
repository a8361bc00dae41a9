package read

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store/view"
)

// maxAreaIDs is how many hazards one request for areas may name; a map window holds fewer.
const maxAreaIDs = 500

// areaFeature is the place of a hazard, or one of its areas, as GeoJSON (RFC 7946).
type areaFeature struct {
	Type       string         `json:"type"`
	ID         int64          `json:"id"`
	BBox       [4]float64     `json:"bbox"` // west, south, east, north; west is greater than east across the antimeridian
	Geometry   jsontext.Value `json:"geometry"`
	Properties areaProperties `json:"properties"`
}

type areaProperties struct {
	UpdateDate string `json:"update_Date"`
	Role       string `json:"role,omitzero"`
	// How well the place is known. If it is region or country, the point only stands for PlaceKnownAs:
	// the hazard is somewhere in it, and no window is known to hold it.
	PlaceKind    string `json:"place_kind"`
	PlaceKnownAs string `json:"place_known_as,omitzero"`
	// Possible is the box around where it possibly is.
	Possible *[4]float64 `json:"possible,omitzero"`
}

// activeAreas serves the places of the active hazards: the bounding boxes of all of them, or the
// geometries of those in the parameter ids. A hazard without an area has a box around its point, so
// a hazard without a box is not active. The outline of a region that a hazard is somewhere in is a
// geometry too, with the role outline.
func (a *Lists) activeAreas(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, err := route.Parameters(r, "ids")
	if err != nil {
		return err
	}
	now := a.Now()
	v := a.Live.View(now)
	if values.Has("ids") {
		ids, err := areaIDs(values)
		if err != nil {
			return err
		}
		return a.Hold(w, r, who, route.CostOfPage, func(w http.ResponseWriter) error { return a.areasOf(w, r, v, ids, now) })
	}
	// The places do not depend on the caller.
	body, err := a.lists.Form(v, "boxes", "", view.Filter{}, nil, lang.Wish{}, func(out io.Writer, list iter.Seq2[*hazard.Hazard, int]) error {
		// The first request may be canceled while others still wait for the body.
		return a.writeBoxes(context.WithoutCancel(r.Context()), out, list)
	})
	w.Header()["Content-Type"] = []string{GeoJSON}
	if errors.Is(err, encoded.ErrLarge) {
		return a.Hold(w, r, who, route.CostOfPage, func(w http.ResponseWriter) error {
			a.SetView(w, v, now)
			return a.Streamed(w, r, fmt.Sprintf(`"%d-%d-boxes"`, v.Number(), v.At()), false, func(out io.Writer) error {
				return a.writeBoxes(r.Context(), out, v.Hazards(view.Filter{}, nil))
			})
		})
	}
	if err != nil {
		return err
	}
	return a.answerShared(w, r, who, v, body, now)
}

func areaIDs(values url.Values) ([]int64, error) {
	var ids []int64
	for text := range strings.SplitSeq(values.Get("ids"), ",") {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id <= 0 {
			return nil, route.BadParameter("ids", "%.40q is not a hazard_ID; expected whole numbers from 1, separated by commas", text)
		}
		ids = append(ids, id)
	}
	if len(ids) > maxAreaIDs {
		return nil, route.BadParameter("ids", "names %d hazards, expected at most %d", len(ids), maxAreaIDs)
	}
	return ids, nil
}

// NoFeatures is the beginning of a feature collection.
const NoFeatures = `{"type":"FeatureCollection","features":[`

func (a *Lists) writeBoxes(ctx context.Context, out io.Writer, list iter.Seq2[*hazard.Hazard, int]) error {
	between := NoFeatures
	for h := range list {
		shapes, err := a.Store.Hazards.Shapes(ctx, h.Areas)
		if err != nil {
			return err
		}
		if len(shapes) == 0 {
			shapes = []geo.Shape{geo.Place(h.Longitude, h.Latitude)}
		}
		possible, err := a.Store.Hazards.Shapes(ctx, h.StandIns)
		if err != nil {
			return err
		}
		if err := writeFeature(out, &between, h, "", possible, jsontext.Value("null"), shapes...); err != nil {
			return err
		}
	}
	return endFeatures(out, between)
}

// areasOf serves the areas of active hazards and leaves out the others. Areas that do not fit the
// answer are on the next page.
func (a *Lists) areasOf(w http.ResponseWriter, r *http.Request, v *view.View, ids []int64, now hazard.Instant) error {
	var text strings.Builder
	between := NoFeatures
	for i, id := range ids {
		if text.Len() >= route.PageBytes {
			a.LinkNext(w, r, url.Values{"ids": {strings.Join(digits(ids[i:]), ",")}})
			break
		}
		h, ok := v.Hazard(id)
		if !ok {
			continue
		}
		refs := h.Drawn()
		shapes, err := a.Store.Hazards.Shapes(r.Context(), refs)
		if err != nil {
			return err
		}
		possible, err := a.Store.Hazards.Shapes(r.Context(), h.StandIns)
		if err != nil {
			return err
		}
		if len(h.Areas) == 0 {
			shapes = append(shapes, geo.Place(h.Longitude, h.Latitude))
		}
		for j, s := range shapes {
			role := hazard.PointArea
			if j < len(refs) {
				role = refs[j].Role
			}
			geometry := jsontext.Value(s.GeoJSON())
			if role == hazard.OutlineOfPlace {
				if geometry, err = edges(s); err != nil {
					return err
				}
			}
			if err := writeFeature(&text, &between, h, role, possible, geometry, s); err != nil {
				return err
			}
		}
	}
	if err := endFeatures(&text, between); err != nil {
		return err
	}
	w.Header()["Content-Type"] = []string{GeoJSON}
	return a.AnswerList(w, r, v, encoded.NewBody([]byte(text.String()), false), now)
}

// edges returns the outline of a region as lines, which nobody fills.
func edges(s geo.Shape) (jsontext.Value, error) {
	lines := [][]geo.Position{}
	for _, rings := range s.Polygons() {
		lines = append(lines, rings...)
	}
	return json.Marshal(struct {
		Type  string           `json:"type"`
		Lines [][]geo.Position `json:"coordinates"`
	}{"MultiLineString", lines})
}

func writeFeature(out io.Writer, between *string, h *hazard.Hazard, role hazard.AreaRole, possible []geo.Shape, geometry jsontext.Value, places ...geo.Shape) error {
	if _, err := io.WriteString(out, *between); err != nil {
		return err
	}
	*between = ","
	b := geo.BoundsOf(places...)
	f := areaFeature{Type: "Feature", ID: h.ID, BBox: [4]float64{b.West, b.South, b.East, b.North}, Geometry: geometry,
		Properties: areaProperties{UpdateDate: h.Updated.Digits(), Role: string(role), PlaceKind: string(h.Place()), PlaceKnownAs: h.PlaceKnownAs}}
	if len(possible) > 0 {
		b := geo.BoundsOf(possible...)
		f.Properties.Possible = &[4]float64{b.West, b.South, b.East, b.North}
	}
	return json.MarshalWrite(out, f)
}

func endFeatures(out io.Writer, between string) error {
	end := "]}"
	if between == NoFeatures {
		end = NoFeatures + end
	}
	_, err := io.WriteString(out, end)
	return err
}

func digits(ids []int64) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return texts
}
