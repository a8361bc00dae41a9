package serve

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/gis/arcgis"
	"github.com/hazardd/hazardd/internal/store"
)

// arcgisPath is where ArcGIS looks for services.
const arcgisPath = "/arcgis/rest/"

// arcgisError is the error format of ArcGIS, which stands beside the members of a problem.
type arcgisError struct {
	Code    int      `json:"code"`
	Message string   `json:"message"`
	Details []string `json:"details"`
}

// arcgisDocument serves a document that does not depend on the request.
func (a *API) arcgisDocument(document func() any) protected {
	return func(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
		if err := arcgisForm(r); err != nil {
			return err
		}
		return answerJSON(w, r, document(), false)
	}
}

// arcgisForm refuses formats other than JSON. It ignores other parameters, which only affect the
// presentation.
func arcgisForm(r *http.Request) error {
	values, err := queryValues(r)
	if err != nil {
		return err
	}
	if f := strings.ToLower(values.Get("f")); f != "" && f != "json" && f != "pjson" {
		return badParameter("f", "%.40q is not one of json, pjson", f)
	}
	return nil
}

// arcgisCopyright returns the attribution of the data.
func (a *API) arcgisCopyright() string { return "hazardd, " + a.BaseURL + "/docs" }

func (a *API) arcgisService() any { return arcgis.Service(a.arcgisCopyright()) }

func (a *API) arcgisLayers() any {
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
		return nil, &problem{Status: http.StatusNotFound, Detail: "there is no such layer; GET " + arcgisPath + "services/hazards/FeatureServer lists them"}
	}
	return &layers[n], nil
}

func (a *API) arcgisLayer(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	l, err := arcgisLayerOf(r)
	if err != nil {
		return err
	}
	if err := arcgisForm(r); err != nil {
		return err
	}
	return answerJSON(w, r, l.Describe(a.arcgisCopyright()), false)
}

// The paths of a layer's query: by GET, by POST if it is too long for an address, and with a read
// key.
const (
	arcgisQueryPath   = arcgisPath + "services/hazards/FeatureServer/{layer}/query"
	arcgisQueryByPost = "POST " + arcgisQueryPath
)

// maxArcgisForm bounds the form of a query by POST, in bytes: 5,000 object ids, or a polygon of 20,000 positions.
const maxArcgisForm = 1 << 20

// arcgisValues returns the parameters of a query, from the address and from the form of a POST.
func arcgisValues(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	values, err := queryValues(r)
	if err != nil || r.Method != http.MethodPost {
		return values, err
	}
	body, err := readBody(w, r, maxArcgisForm)
	if err != nil || len(body) == 0 {
		return values, err
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, &problem{Status: http.StatusUnsupportedMediaType, Detail: fmt.Sprintf("Content-Type: %.60q, expected application/x-www-form-urlencoded", r.Header.Get("Content-Type"))}
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, &problem{Status: http.StatusBadRequest, Detail: "the form cannot be read: a % without two hexadecimal digits, or a semicolon"}
	}
	for name, given := range form {
		values[name] = append(values[name], given...)
	}
	return values, nil
}

// arcgisQuery serves the result of a layer's query.
func (a *API) arcgisQuery(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
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
	q, faults := l.Parse(values)
	if faults != nil {
		return faults
	}
	wish, err := a.wish(r, values)
	if err != nil {
		return err
	}
	return a.holding(w, r, who, costOfPage, func(w http.ResponseWriter) error {
		var body bytes.Buffer
		reader := wish.Reader()
		restricted, number, err := a.arcgisAnswer(r.Context(), &body, l, q, who, reader)
		if err != nil {
			return err
		}
		sayLanguages(w, reader.Used())
		a.tellCoverage(w, &q.Query)
		a.tellFreshness(r.Context(), w, number, false)
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
		return answer(w, r, encoded.NewBody(text, restricted || posted)) // caches do not store answers to POST
	})
}

// arcgisAnswer writes the features that match q.
func (a *API) arcgisAnswer(ctx context.Context, out *bytes.Buffer, l *arcgis.Layer, q *arcgis.Query, who *auth.Caller, reader *lang.Reader) (restricted bool, number int64, err error) {
	if q.Answer == arcgis.Count {
		n, number, err := a.Store.Count(ctx, q.Query, a.now())
		arcgis.WriteCount(out, q, n)
		return false, number, err
	}
	if q.Answer == arcgis.Features {
		return a.arcgisFeatures(ctx, out, l, q, who, reader)
	}
	if _, _, err := a.countWithin(ctx, q.Query, "where"); err != nil {
		return false, 0, err
	}
	if q.Answer == arcgis.IDs {
		var ids []int64
		restricted, number, err = a.eachFound(ctx, q.Query, who, func(h *hazard.Hazard, _ int) (bool, error) {
			ids = append(ids, h.ID)
			return true, nil
		})
		arcgis.WriteIDs(out, q, ids)
		return restricted, number, err
	}
	tally := arcgis.NewTally(q)
	if restricted, number, err = a.eachFound(ctx, q.Query, who, func(h *hazard.Hazard, _ int) (bool, error) { return true, tally.Add(h) }); err != nil {
		return restricted, number, err
	}
	return restricted, number, arcgis.WriteRows(out, q, tally)
}

func (a *API) arcgisFeatures(ctx context.Context, out *bytes.Buffer, l *arcgis.Layer, q *arcgis.Query, who *auth.Caller, reader *lang.Reader) (restricted bool, number int64, err error) {
	write, err := arcgis.NewWriter(out, l, q, a.BaseURL)
	if err != nil {
		return false, 0, err
	}
	skip, more := q.Offset, false
	restricted, number, err = a.eachFound(ctx, q.Query, who, func(h *hazard.Hazard, products int) (bool, error) {
		if skip > 0 {
			skip--
			return true, nil
		}
		if more = write.Len() == q.Most || out.Len() >= pageBytes; more {
			return false, nil
		}
		e, err := format.Read(ctx, a.Store, format.GeoJSON, reader.Of(h), products)
		if err != nil {
			return false, err
		}
		return true, write.Add(e)
	})
	write.End(more)
	return restricted, number, err
}

// countWithin counts the matches of a search. It refuses more than fit one file or one answer
// without pages. parameter is the name of the parameter that can narrow the search.
func (a *API) countWithin(ctx context.Context, q query.Query, parameter string) (n, number int64, err error) {
	if n, number, err = a.Store.Count(ctx, q, a.now()); err == nil && n > maxPackage {
		err = badParameter(parameter, "%d hazards match; the limit of one answer is %d: narrow the search by a place, a time or a condition", n, maxPackage)
	}
	return n, number, err
}

// eachFound passes all matches of a search to each, as of one moment, until each returns false.
// restricted reports that some of the data is not public.
func (a *API) eachFound(ctx context.Context, q query.Query, who *auth.Caller, each func(h *hazard.Hazard, products int) (more bool, err error)) (restricted bool, number int64, err error) {
	q.Limit = query.MaxLimit
	for now := a.now(); ; {
		var page *store.Page
		if page, err = a.Store.Search(ctx, q, who.Orgs, now); err != nil {
			return restricted, number, err
		}
		restricted, number = restricted || page.Restricted, page.Number
		for i, h := range page.Hazards {
			if more, err := each(h, page.Totals[i]); err != nil || !more {
				return restricted, number, err
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return restricted, number, nil
		}
	}
}
