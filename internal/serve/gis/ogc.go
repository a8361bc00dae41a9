package gis

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/gis/ogc"
	pages "github.com/hazardd/hazardd/internal/serve/page"
	"github.com/hazardd/hazardd/internal/serve/read"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// ogcForm returns the requested form of a document: ogc.JSON or ogc.HTML. JSON is the default.
func ogcForm(r *http.Request, values url.Values) (string, error) {
	if values.Has("f") {
		if form, ok := ogc.Form(values.Get("f")); ok {
			return form, nil
		}
		return "", route.BadParameter("f", "%.40q is not one of json, html", values.Get("f"))
	}
	accept := strings.Join(r.Header["Accept"], ",")
	if wantsPage(accept) {
		return ogc.HTML, nil
	}
	return ogc.JSON, nil
}

// wantsPage reports whether Accept names HTML before any JSON. Browsers do so; programs ask for
// JSON or for anything.
func wantsPage(accept string) bool {
	html, other := strings.Index(accept, ogc.HTML), strings.Index(accept, "json")
	return html >= 0 && (other < 0 || html < other)
}

// answerOGC serves a document as JSON or as a page.
func (a *OGC) answerOGC(w http.ResponseWriter, r *http.Request, form string, document any, page func() *pages.Document) error {
	if form != ogc.HTML {
		return route.AnswerJSON(w, r, document, false)
	}
	return a.answerPage(w, r, page(), false)
}

// answerPage serves a page; restricted says that it holds data that is not public.
func (a *OGC) answerPage(w http.ResponseWriter, r *http.Request, d *pages.Document, restricted bool) error {
	d.Frame = pages.Frame{Root: a.Cookies.Root}
	html, err := d.HTML()
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Security-Policy", route.PagePolicy)
	h["Content-Type"] = route.HTMLType
	return route.Answer(w, r, encoded.NewBody(html, restricted))
}

// ogcPage returns a page of links.
func ogcPage(title, description string, links []format.Link) *pages.Document {
	d := &pages.Document{Title: title, Description: description}
	for _, l := range links {
		if l.Rel != "self" {
			d.Links = append(d.Links, pages.Cell{Text: l.Title, Href: htmlOf(l)})
		}
	}
	return d
}

// htmlOf returns the address of a link's page for people.
func htmlOf(l format.Link) string {
	if l.Type == ogc.JSON && !strings.Contains(l.Href, "?") {
		return l.Href + "?f=html"
	}
	return l.Href
}

// ogcLanding serves the landing page.
func (a *OGC) ogcLanding(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	form, err := a.ogcDocument(r)
	if err != nil {
		return err
	}
	p := ogc.Landing(a.Base(r), form)
	return a.answerOGC(w, r, form, p, func() *pages.Document { return ogcPage("Hazards for maps", p.Description, p.Links) })
}

// ogcDocument parses the query of a document whose only parameter is f.
func (a *OGC) ogcDocument(r *http.Request) (form string, err error) {
	values, err := route.Parameters(r, "f", route.LangParameter)
	if err != nil {
		return "", err
	}
	return ogcForm(r, values)
}

// ogcConformance serves the conformance declaration.
func (a *OGC) ogcConformance(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	form, err := a.ogcDocument(r)
	if err != nil {
		return err
	}
	c := ogc.Conforms()
	return a.answerOGC(w, r, form, c, func() *pages.Document {
		d := &pages.Document{Title: "Conformance", Description: "The requirements classes that are met."}
		t := pages.Table{Title: "Classes", Head: []string{"URI"}}
		for _, uri := range c.ConformsTo {
			t.Rows = append(t.Rows, []pages.Cell{{Text: uri}})
		}
		d.Tables, d.Links = []pages.Table{t}, []pages.Cell{{Text: "The landing page", Href: a.Base(r) + "/ogc?f=html"}}
		return d
	})
}

// ogcAPI serves the definition of the API.
func (a *OGC) ogcAPI(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	if _, err := route.Parameters(r, "f", route.LangParameter); err != nil {
		return err
	}
	text, err := json.Marshal(ogc.Definition(a.Base(r)), json.Deterministic(true))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", ogc.OpenAPI)
	return route.Answer(w, r, encoded.NewBody(text, false))
}

// ogcCollections serves the list of collections.
func (a *OGC) ogcCollections(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	form, err := a.ogcDocument(r)
	if err != nil {
		return err
	}
	p := ogc.Collections(a.Base(r), form)
	return a.answerOGC(w, r, form, p, func() *pages.Document {
		d := ogcPage(p.Title, p.Description, p.Links)
		t := pages.Table{Title: "Collections", Head: []string{"Collection", "What it holds"}}
		for _, c := range p.Collections {
			t.Rows = append(t.Rows, []pages.Cell{{Text: c.Title, Href: a.Base(r) + "/ogc/collections/" + c.ID + "?f=html"}, {Text: c.Description}})
		}
		d.Tables = []pages.Table{t}
		return d
	})
}

// ogcCollection serves the description of a collection.
func (a *OGC) ogcCollection(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	set, err := ogcSet(r)
	if err != nil {
		return err
	}
	form, err := a.ogcDocument(r)
	if err != nil {
		return err
	}
	c := set.Collection(a.Base(r), form)
	return a.answerOGC(w, r, form, c, func() *pages.Document { return ogcPage(c.Title, c.Description, c.Links) })
}

// ogcQueryables serves the properties that filters of a collection can use.
func (a *OGC) ogcQueryables(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	set, err := ogcSet(r)
	if err != nil {
		return err
	}
	form, err := a.ogcDocument(r)
	if err != nil {
		return err
	}
	q := set.QueryableSchema(a.Base(r))
	if form != ogc.HTML {
		text, err := json.Marshal(q, json.Deterministic(true))
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", schemaType(r))
		return route.Answer(w, r, encoded.NewBody(text, false))
	}
	return a.answerOGC(w, r, form, q, func() *pages.Document {
		t := pages.Table{Title: "Properties", Head: []string{"Property", "Type", "What it is", "Values"}}
		for _, f := range set.Queryables() {
			p := q.Properties[f.Name]
			t.Rows = append(t.Rows, []pages.Cell{{Text: f.Name}, {Text: strings.TrimSpace(p.Type + " " + p.Format)}, {Text: p.Title}, {Text: strings.Join(p.Enum, ", ")}})
		}
		return &pages.Document{Title: "What filters can use", Description: "The properties that the parameter filter knows, in CQL2.", Tables: []pages.Table{t},
			Links: []pages.Cell{{Text: q.Title, Href: a.Base(r) + "/ogc/collections/" + set.ID + "?f=html"}}}
	})
}

// schemaType returns the media type of a JSON Schema: JSON for who asks for that alone, as GDAL before
// 3.7 does, which takes nothing else then.
func schemaType(r *http.Request) string {
	accept := strings.Join(r.Header["Accept"], ",")
	if strings.Contains(accept, ogc.JSON) && !strings.Contains(accept, ogc.Schema) {
		return ogc.JSON
	}
	return ogc.Schema
}

// ogcSchema serves the schema of a collection's features.
func (a *OGC) ogcSchema(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	set, err := ogcSet(r)
	if err != nil {
		return err
	}
	form, err := a.ogcDocument(r)
	if err != nil {
		return err
	}
	text, err := set.FeatureSchema(a.Base(r))
	if err != nil {
		return err
	}
	if form != ogc.HTML {
		w.Header().Set("Content-Type", schemaType(r))
		return route.Answer(w, r, encoded.NewBody(text, false))
	}
	return a.answerOGC(w, r, form, nil, func() *pages.Document {
		t := pages.Table{Title: "Properties", Head: []string{"Property", "Type"}}
		if set.Own == nil {
			kinds := map[format.ColumnKind]string{format.TextColumn: "text", format.WholeColumn: "whole number", format.RealColumn: "number", format.MomentColumn: "moment", format.JSONColumn: "JSON"}
			for _, c := range format.Columns() {
				t.Rows = append(t.Rows, []pages.Cell{{Text: c.Name}, {Text: kinds[c.Kind]}})
			}
		} else {
			kinds := map[query.Kind]string{query.TextField: "text", query.NumberField: "number", query.MomentField: "moment"}
			for _, f := range set.Properties() {
				t.Rows = append(t.Rows, []pages.Cell{{Text: f.Name}, {Text: kinds[f.Kind]}})
			}
		}
		return &pages.Document{Title: "What features are", Description: "The properties of each feature.", Tables: []pages.Table{t},
			Links: []pages.Cell{{Text: "The collection", Href: a.Base(r) + "/ogc/collections/" + set.ID + "?f=html"}}}
	})
}

// ogcSet returns the collection in the path.
func ogcSet(r *http.Request) (*ogc.Set, error) {
	id := r.PathValue("collection")
	set := ogc.SetNamed(id)
	if set == nil {
		var names []string
		for _, s := range ogc.Sets() {
			names = append(names, s.ID)
		}
		return nil, &route.Problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("there is no collection %.60q; expected one of %s", id, strings.Join(names, ", "))}
	}
	return set, nil
}

// ogcItems serves a page of features.
func (a *OGC) ogcItems(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	set, err := ogcSet(r)
	if err != nil {
		return err
	}
	values, err := route.QueryValues(r)
	if err != nil {
		return err
	}
	form, err := ogcForm(r, values)
	if err != nil {
		return err
	}
	q, err := a.ogcQuery(r, set, values)
	if err != nil {
		return err
	}
	wants, err := readWanted(set, values)
	if err != nil {
		return err
	}
	if set.Own != nil {
		return a.HoldInTurns(w, r, who, route.CostOfShapes, func(w http.ResponseWriter, r *http.Request) error {
			return a.makeParts(w, r, who, set, values, form, &q, wants)
		})
	}
	wish, err := a.Wish(r, values)
	if err != nil {
		return err
	}
	said := fmt.Sprintf("%s %s %s", values.Encode(), form, wish)
	return a.AnswerOnce(w, r, who, &q, route.CostOfPage, said, func(w http.ResponseWriter, r *http.Request) error {
		return a.makeItems(w, r, who, set.ID, values, form, q, wish, wants)
	})
}

// makeItems builds a page of features.
func (a *OGC) makeItems(w http.ResponseWriter, r *http.Request, who *auth.Caller, id string, values url.Values, form string, q query.Query, wish lang.Wish, wants wanted) (err error) {
	now := a.Now()
	f := &read.Found{}
	if id != ogc.ActiveHazards || read.Narrow(&q.Statuses, hazard.Active) {
		if f, err = a.SearchStore(r.Context(), q, who, now); err != nil {
			return err
		}
		if err := a.CountFound(r.Context(), &q, f); err != nil {
			return err
		}
	}
	f.Reader = wish.Reader()
	links := func() []format.Link { return ogc.PageLinks(a.Base(r), id, values, f.Cursor) }
	if form == ogc.HTML {
		a.SetFreshness(r.Context(), w, f.Number, f.At != nil)
		return a.answerOGC(w, r, form, nil, func() *pages.Document { return a.ogcTable(id, f, links(), now) })
	}
	var body bytes.Buffer
	page := func() format.Page { return format.Page{Matched: f.Matched, Time: now, Links: links()} }
	if err := a.Encode(r.Context(), &body, a.Store.Log, format.GeoJSON, format.Options{Base: a.Base(r), Page: page}, f.Page(&body)); err != nil {
		return err
	}
	a.SetFreshness(r.Context(), w, f.Number, f.At != nil)
	if !wish.None() {
		route.SetLanguages(w, f.Reader.Used())
	}
	sayLinks(w, links())
	return wants.answer(w, r, body.Bytes(), f.Restricted)
}

// sayLinks sets the Link header (RFC 8288).
func sayLinks(w http.ResponseWriter, links []format.Link) {
	var header []string
	for _, l := range links {
		header = append(header, fmt.Sprintf(`<%s>; rel=%q; type=%q`, l.Href, l.Rel, l.Type))
	}
	w.Header()["Link"] = header
}

// ogcTable returns a page of features as a table for people.
func (a *OGC) ogcTable(id string, f *read.Found, links []format.Link, now hazard.Instant) *pages.Document {
	d := ogcPage("Hazards", fmt.Sprintf("%d of %d, as of %s.", len(f.Hazards), f.Matched, now), links)
	if id == ogc.ActiveHazards {
		d.Title = "Active hazards"
	}
	t := pages.Table{Title: "Hazards", Head: []string{"Name", "Severity", "Type", "Category", "Status", "Began", "Ends"}}
	for _, h := range f.Hazards {
		h = f.Reader.Of(h)
		t.Rows = append(t.Rows, []pages.Cell{{Text: h.Name, Href: a.BaseURL + "/h/" + h.UUID.String()}, {Text: h.Severity.String()}, {Text: string(h.Type)}, {Text: string(h.Category)},
			{Text: string(h.Status)}, {Text: h.Start.String()}, {Text: h.End.String()}})
	}
	d.Tables = []pages.Table{t}
	return d
}

// ogcQuery converts the parameters of items, those of part 1, section 7.15, and our own, to
// parameters of a search.
func (a *OGC) ogcQuery(r *http.Request, set *ogc.Set, values url.Values) (query.Query, error) {
	ours := url.Values{}
	var equals []*query.Where
	known := []string{"bbox", "datetime", "limit", "cursor", "filter", "filter-lang", "filter-crs"}
	other := append(wantedParameters, "bbox-crs", "f", route.LangParameter) // which others read
	if set.Own == nil {
		other = append(other, "sortby")
	}
	if set.OfHazards {
		known = append(known, "q", "possible")
	}
	parameters, fields := set.Parameters(), set.Queryables()
	for name, list := range values {
		switch to, isFilter := parameters[name]; {
		case slices.Contains(other, name):
		case isFilter:
			ours[to] = list
		case slices.Contains(known, name):
			ours[name] = list
		default:
			f := query.FieldNamed(name, fields)
			if f == nil || f.Name != name || f.Kind == query.PlaceField {
				for property := range parameters {
					known = append(known, property)
				}
				known = append(known, other...)
				slices.Sort(known)
				return query.Query{}, route.BadParameter(name, "is neither a parameter nor a property in queryables; these are known here: %s", strings.Join(known, ", "))
			}
			if len(list) > 1 {
				return query.Query{}, route.Repeated(name, len(list))
			}
			w, ok := query.WhereEquals(f, list[0])
			if !ok {
				return query.Query{}, route.BadParameter(name, "%.60q is not a valid value", list[0])
			}
			equals = append(equals, w)
		}
	}
	if limit := ours.Get("limit"); limit != "" {
		// A limit above the maximum means the maximum and is not an error (requirement
		// /req/core/fc-limit-response-1, permission C of section 7.15.2).
		if n, err := strconv.ParseUint(limit, 10, 64); err == nil && n > query.MaxLimit || errors.Is(err, strconv.ErrRange) {
			ours.Set("limit", strconv.Itoa(query.MaxLimit))
		}
	}
	if err := flatten(ours); err != nil {
		return query.Query{}, err
	}
	box, area, err := readBox(values, ours)
	if err != nil {
		return query.Query{}, err
	}
	if err := readSort(values, ours); err != nil {
		return query.Query{}, err
	}
	q, faults := query.ParseOn(fields, ours)
	if faults != nil {
		for i := range faults {
			for property, name := range parameters {
				if faults[i].Parameter == name {
					faults[i].Parameter = property
				}
			}
		}
		return q, faults
	}
	if box != nil || area != nil {
		q.Box, q.Area = box, area
	}
	slices.SortFunc(equals, func(a, b *query.Where) int { return strings.Compare(a.Text, b.Text) }) // cursors contain the text, so its order must be fixed
	for _, w := range equals {
		q.Where = q.Where.And(w)
	}
	if q.Limit == 0 {
		q.Limit = query.DefaultLimit
	}
	return q, a.KnowSources(r.Context(), q.Sources)
}

// flatten makes a box with heights, which hazards do not have, one without.
func flatten(ours url.Values) error {
	text := ours.Get("bbox")
	corners := strings.Split(text, ",")
	if len(corners) != 6 {
		return nil
	}
	for _, height := range []string{corners[2], corners[5]} {
		if n, err := strconv.ParseFloat(strings.TrimSpace(height), 64); err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
			return route.BadParameter("bbox", "%.60q is not six numbers", text)
		}
	}
	ours.Set("bbox", strings.Join([]string{corners[0], corners[1], corners[3], corners[4]}, ","))
	return nil
}

// ogcItem serves one feature.
func (a *OGC) ogcItem(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	set, err := ogcSet(r)
	if err != nil {
		return err
	}
	values, err := route.Parameters(r, append(wantedParameters, "f", route.LangParameter)...)
	if err != nil {
		return err
	}
	form, err := ogcForm(r, values)
	if err != nil {
		return err
	}
	wants, err := readWanted(set, values)
	if err != nil {
		return err
	}
	if set.Own != nil {
		return a.ogcPart(w, r, who, set, form, wants)
	}
	now := a.Now()
	v := a.Live.View(now)
	h, err := a.FindHazard(r, v, now)
	if p, ok := errors.AsType[*route.Problem](err); ok && p.Status == http.StatusBadRequest {
		return &route.Problem{Status: http.StatusNotFound, Detail: p.Detail} // there is no feature with such an id (section 7.17)
	}
	if err != nil {
		return err
	}
	if set.ID == ogc.ActiveHazards && !h.ActiveAt(now) {
		return &route.Problem{Status: http.StatusNotFound, Detail: "the hazard is not active; it is in the collection " + ogc.Hazards}
	}
	if form == ogc.HTML {
		http.Redirect(w, r, a.BaseURL+"/h/"+h.UUID.String(), http.StatusSeeOther)
		return nil
	}
	products, err := a.ProductTotal(r.Context(), v, h, who)
	if err != nil {
		return err
	}
	wish, err := a.Wish(r, r.URL.Query())
	if err != nil {
		return err
	}
	h = route.InLanguage(w, h, wish)
	var body bytes.Buffer
	o := format.Options{Base: a.Base(r), Single: true, Links: ogc.ItemLinks(a.Base(r), set.ID, h.UUID.String())}
	err = a.Encode(r.Context(), &body, a.Store.Log, format.GeoJSON, o, func(yield func(*hazard.Hazard, int) bool) { yield(h, products) })
	if err != nil {
		return err
	}
	return wants.answer(w, r, body.Bytes(), false)
}

// readBox takes the box of a search in another reference system than CRS84 out of its parameters.
func readBox(values, ours url.Values) (*geo.Box, *query.Area, error) {
	if len(values["bbox-crs"]) > 1 {
		return nil, nil, route.Repeated("bbox-crs", len(values["bbox-crs"]))
	}
	system, err := referred(values, "bbox-crs")
	if err != nil || system.IsCRS84() || len(values["bbox"]) != 1 {
		return nil, nil, err
	}
	var corners [4]float64
	list := strings.Split(ours.Get("bbox"), ",")
	for i, text := range list {
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || len(list) != len(corners) {
			return nil, nil, route.BadParameter("bbox", "%.80q is not four or six numbers, separated by commas", values.Get("bbox"))
		}
		corners[i] = n
	}
	box, area, err := query.NewBox(corners, system)
	if err != nil {
		return nil, nil, route.BadParameter("bbox", "%.80q: expected %v", values.Get("bbox"), err)
	}
	ours.Del("bbox")
	return box, area, nil
}

// readSort reads sortby: a property, with - before it for the greatest first.
func readSort(values, ours url.Values) error {
	if !values.Has("sortby") {
		return nil
	}
	if len(values["sortby"]) > 1 {
		return route.Repeated("sortby", len(values["sortby"]))
	}
	text := values.Get("sortby")
	by, known := ogc.SortOf(text)
	if !known {
		return route.BadParameter("sortby", "%.60q is not one of %s, or measurements.magnitude and the like; only one is possible", text, strings.Join(ogc.Sorts(), ", "))
	}
	ours.Set("sort", by)
	return nil
}
