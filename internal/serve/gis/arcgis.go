package gis

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/gis/arcgis"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// arcgisDocument serves a document that does not depend on the request.
func (a *ArcGIS) arcgisDocument(document func() any) route.Protected {
	return func(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
		if err := arcgisForm(w, r); err != nil {
			return err
		}
		return route.AnswerJSON(w, r, document(), false)
	}
}

// arcgisForm refuses formats other than JSON. It ignores other parameters, which only affect the
// presentation.
func arcgisForm(w http.ResponseWriter, r *http.Request) error {
	values, err := arcgisValues(w, r)
	if err != nil {
		return err
	}
	if f := strings.ToLower(values.Get("f")); f != "" && f != "json" && f != "pjson" {
		return route.BadParameter("f", "%.40q is not one of json, pjson", f)
	}
	return nil
}

// arcgisCopyright returns the attribution of the data.
func (a *ArcGIS) arcgisCopyright() string { return "hazardd, " + a.BaseURL + "/docs" }

func (a *ArcGIS) arcgisService() any { return arcgis.Service(a.arcgisCopyright()) }

func (a *ArcGIS) arcgisLayers() any {
	all := struct {
		Layers []any      `json:"layers"`
		Tables []struct{} `json:"tables"`
	}{Tables: []struct{}{}}
	for _, l := range arcgis.Layers() {
		all.Layers = append(all.Layers, l.Describe(a.arcgisCopyright()))
	}
	return all
}

// arcgisLayerOf returns the layer in the path.
func arcgisLayerOf(r *http.Request) (*arcgis.Layer, error) {
	layers := arcgis.Layers()
	n, err := strconv.Atoi(r.PathValue("layer"))
	if err != nil || n < 0 || n >= len(layers) {
		return nil, &route.Problem{Status: http.StatusNotFound, Detail: "there is no such layer; GET " + route.ArcGISPath + "services/hazards/FeatureServer lists them"}
	}
	return &layers[n], nil
}

func (a *ArcGIS) arcgisLayer(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	l, err := arcgisLayerOf(r)
	if err != nil {
		return err
	}
	if err := arcgisForm(w, r); err != nil {
		return err
	}
	return route.AnswerJSON(w, r, l.Describe(a.arcgisCopyright()), false)
}

// maxArcgisForm bounds the form of a query by POST, in bytes: 5,000 object ids, or a polygon of 20,000 positions.
const maxArcgisForm = 1 << 20

// arcgisValues returns the parameters of a query, from the address and from the form of a POST.
func arcgisValues(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	values, err := route.QueryValues(r)
	if err != nil || r.Method != http.MethodPost {
		return values, err
	}
	body, err := route.ReadBody(w, r, maxArcgisForm)
	if err != nil || len(body) == 0 {
		return values, err
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, &route.Problem{Status: http.StatusUnsupportedMediaType, Detail: fmt.Sprintf("Content-Type: %.60q, expected application/x-www-form-urlencoded", r.Header.Get("Content-Type"))}
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, &route.Problem{Status: http.StatusBadRequest, Detail: "the form cannot be read: a % without two hexadecimal digits, or a semicolon"}
	}
	for name, given := range form {
		values[name] = append(values[name], given...)
	}
	return values, nil
}

// arcgisFeature serves one feature of a layer, by its object id.
func (a *ArcGIS) arcgisFeature(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	l, err := arcgisLayerOf(r)
	if err != nil {
		return err
	}
	if err := arcgisForm(w, r); err != nil {
		return err
	}
	id := r.PathValue("object")
	q, faults := l.Parse(url.Values{"objectIds": {id}, "outFields": {"*"}}, a.Now().Time())
	if faults != nil {
		return &route.Problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("%.40q is not the number of a hazard", id)}
	}
	return a.Hold(w, r, who, route.CostOfObject, func(w http.ResponseWriter) error {
		var page bytes.Buffer
		restricted, number, err := a.arcgisFeatures(r.Context(), &page, l, q, who, (&lang.Wish{}).Reader())
		if err != nil {
			return err
		}
		var found struct {
			Features []jsontext.Value `json:"features"`
		}
		if err := json.Unmarshal(page.Bytes(), &found); err != nil {
			return err
		}
		if len(found.Features) == 0 {
			return &route.Problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("hazard %s is not in this layer", id)}
		}
		a.SetFreshness(r.Context(), w, number, false)
		return route.AnswerJSON(w, r, map[string]any{"feature": found.Features[0]}, restricted)
	})
}

// arcgisQuery serves the result of a layer's query.
func (a *ArcGIS) arcgisQuery(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	l, err := arcgisLayerOf(r)
	if err != nil {
		return err
	}
	values, err := arcgisValues(w, r)
	if err != nil {
		return err
	}
	posted := r.Method == http.MethodPost
	if posted {
		r.Header.Del("If-None-Match") // a 304 is for GET and HEAD only (RFC 9110, section 13.1.2)
	}
	q, faults := l.Parse(values, a.Now().Time())
	if faults != nil {
		return faults
	}
	wish, err := a.Wish(r, values)
	if err != nil {
		return err
	}
	said := fmt.Sprintf("%s %s", values.Encode(), wish)
	return a.AnswerOnce(w, r, who, &q.Query, route.CostOfPage, said, func(w http.ResponseWriter, r *http.Request) error {
		var body bytes.Buffer
		reader := wish.Reader()
		restricted, number, err := a.arcgisAnswer(r.Context(), &body, l, q, who, reader)
		if err != nil {
			return err
		}
		route.SetLanguages(w, reader.Used())
		a.SetFreshness(r.Context(), w, number, false)
		text := body.Bytes()
		if strings.EqualFold(values.Get("f"), "pjson") {
			value := jsontext.Value(text)
			if err := value.Indent(); err != nil {
				return err
			}
			text = value
		}
		w.Header().Set("Content-Type", "application/json")
		if q.PBF {
			w.Header().Set("Content-Type", arcgis.PBFType)
		} else if q.GeoJSON && q.Answer != arcgis.Count && q.Answer != arcgis.IDs {
			w.Header().Set("Content-Type", "application/geo+json")
		}
		return route.Answer(w, r, encoded.NewBody(text, restricted || posted)) // caches do not store answers to POST
	})
}

// arcgisAnswer writes the features that match q.
func (a *ArcGIS) arcgisAnswer(ctx context.Context, out *bytes.Buffer, l *arcgis.Layer, q *arcgis.Query, who *auth.Caller, reader *lang.Reader) (restricted bool, number int64, err error) {
	switch {
	case q.Gathers() && q.Answer != arcgis.Rows:
		return a.arcgisGathered(ctx, out, l, q, who, reader)
	case q.Answer == arcgis.Count:
		q.Names = route.NamesFor(ctx)
		n, number, err := a.Store.Search.Count(ctx, q.Query, a.Now())
		arcgis.WriteCount(out, q, n)
		return false, number, err
	case q.Answer == arcgis.Features:
		return a.arcgisFeatures(ctx, out, l, q, who, reader)
	}
	if _, _, err := a.CountWithin(ctx, q.Query, "where"); err != nil {
		return false, 0, err
	}
	if q.Answer == arcgis.IDs {
		var ids []int64
		restricted, number, err = a.Each(ctx, q.Query, who, func(h *hazard.Hazard, _ int) (bool, error) {
			ids = append(ids, h.ID)
			return true, nil
		})
		arcgis.WriteIDs(out, q, ids)
		return restricted, number, err
	}
	tally := arcgis.NewTally(q)
	if restricted, number, err = a.Each(ctx, q.Query, who, func(h *hazard.Hazard, _ int) (bool, error) { return true, tally.Add(h) }); err != nil {
		return restricted, number, err
	}
	return restricted, number, arcgis.WriteRows(out, q, tally)
}

// arcgisGathered answers a query for which all matches must be looked at first.
func (a *ArcGIS) arcgisGathered(ctx context.Context, out *bytes.Buffer, l *arcgis.Layer, q *arcgis.Query, who *auth.Caller, reader *lang.Reader) (restricted bool, number int64, err error) {
	if _, _, err := a.CountWithin(ctx, q.Query, "where"); err != nil {
		return false, 0, err
	}
	found := arcgis.NewGathered(q)
	restricted, number, err = a.Each(ctx, q.Query, who, func(h *hazard.Hazard, _ int) (bool, error) {
		var shape geo.Shape
		if q.NeedsShapes() {
			e, err := format.Read(ctx, a.Store.Log, format.GeoJSON, h, 0)
			if err != nil {
				return false, err
			}
			shape = l.Shape(h, e.Shape())
		}
		return true, found.Add(h, shape)
	})
	if err != nil {
		return restricted, number, err
	}
	ids := found.IDs()
	switch q.Answer {
	case arcgis.Extent:
		return restricted, number, arcgis.WriteExtent(out, q, found)
	case arcgis.Count:
		arcgis.WriteCount(out, q, int64(len(ids)))
		return restricted, number, nil
	case arcgis.IDs:
		arcgis.WriteIDs(out, q, ids)
		return restricted, number, nil
	}
	ids = ids[min(q.Offset, len(ids)):]
	more := len(ids) > q.Most
	ids = ids[:min(q.Most, len(ids))]
	type entry struct {
		h        *hazard.Hazard
		products int
	}
	read := map[int64]entry{}
	page := query.Query{Filter: query.Filter{Hazards: slices.Sorted(slices.Values(ids))}, Sort: query.Sort{By: query.ByNumber}}
	if _, _, err := a.Each(ctx, page, who, func(h *hazard.Hazard, products int) (bool, error) {
		read[h.ID] = entry{h, products}
		return true, nil
	}); err != nil {
		return restricted, number, err
	}
	write, err := arcgis.NewWriter(out, l, q)
	if err != nil {
		return false, 0, err
	}
	for _, id := range ids {
		one, ok := read[id]
		if !ok { // damaged since
			continue
		}
		if err := a.arcgisAdd(ctx, out, write, one.h, one.products, reader); err != nil {
			return restricted, number, err
		}
	}
	write.End(more)
	return restricted, number, nil
}

// maxArcgisPage bounds an answer, in bytes. A page of real hazards is a tenth of it.
const maxArcgisPage = 64 << 20

// arcgisAdd writes one feature. A page that grows too large is refused: if it ended early, programs of
// ArcGIS would take it for the last one.
func (a *ArcGIS) arcgisAdd(ctx context.Context, out *bytes.Buffer, write *arcgis.Writer, h *hazard.Hazard, products int, reader *lang.Reader) error {
	if out.Len() > maxArcgisPage {
		return route.BadParameter("resultRecordCount", "%d features are more than %d MiB; ask for fewer, or with quantizationParameters", write.Len(), maxArcgisPage>>20)
	}
	row, err := a.Row(ctx, a.Store.Log, reader.Of(h), products)
	if err != nil {
		return err
	}
	return write.Add(row)
}

func (a *ArcGIS) arcgisFeatures(ctx context.Context, out *bytes.Buffer, l *arcgis.Layer, q *arcgis.Query, who *auth.Caller, reader *lang.Reader) (restricted bool, number int64, err error) {
	write, err := arcgis.NewWriter(out, l, q)
	if err != nil {
		return false, 0, err
	}
	skip, more := q.Offset, false
	restricted, number, err = a.Each(ctx, q.Query, who, func(h *hazard.Hazard, products int) (bool, error) {
		if skip > 0 {
			skip--
			return true, nil
		}
		if more = write.Len() == q.Most; more {
			return false, nil
		}
		return true, a.arcgisAdd(ctx, out, write, h, products, reader)
	})
	write.End(more)
	return restricted, number, err
}
