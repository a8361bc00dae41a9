package serve

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/store/view"
	"github.com/hazardd/hazardd/wire"
)

// staticBodies returns the reference lists. They are the same for everybody and never change while
// the program runs.
func staticBodies() map[string]*encoded.Body {
	bodies := map[string]*encoded.Body{}
	for name, list := range map[string]any{
		"types": wire.Types(), "severities": wire.Severities(), "categories": wire.Categories(), "productTypes": wire.ProductTypes(),
		"measurements": quantities(),
	} {
		text, err := json.Marshal(list)
		if err != nil {
			panic(err) // constants always encode
		}
		bodies[name] = encoded.NewBody(text, false)
	}
	return bodies
}

// fixed serves one of the reference lists (base interface, section 4, operations 2 to 4).
func (a *API) fixed(name string) protected {
	body := a.static[name]
	return func(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
		if err := noQuery(r); err != nil {
			return err
		}
		return answer(w, r, body)
	}
}

// active serves the active hazards (operation 5).
func (a *API) active(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	return a.activeList(w, r, who, view.Filter{})
}

// activeByCategory serves the active hazards of one category (operation 6).
func (a *API) activeByCategory(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	c := hazard.Category(r.PathValue("category"))
	if _, ok := c.Info(); !ok {
		var known []string
		for _, c := range hazard.Categories() {
			known = append(known, string(c.ID))
		}
		return unknownID("category", string(c), known)
	}
	return a.activeList(w, r, who, view.Filter{Category: c})
}

// activeBySeverity serves the active hazards of one severity (operation 7).
func (a *API) activeBySeverity(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	s, ok := hazard.ParseSeverity(r.PathValue("severity"))
	if !ok {
		var known []string
		for _, s := range hazard.Severities() {
			known = append(known, s.ID)
		}
		return unknownID("severity", r.PathValue("severity"), known)
	}
	return a.activeList(w, r, who, view.Filter{Severity: s})
}

func unknownID(what, id string, known []string) error {
	detail := fmt.Sprintf("%q is not a %s; expected one of %s", id, what, strings.Join(known, ", "))
	return &problem{Status: http.StatusNotFound, Detail: detail, Errors: []fault{{Parameter: what + "-id", Detail: detail}}}
}

func (a *API) activeList(w http.ResponseWriter, r *http.Request, who *auth.Caller, filter view.Filter) error {
	values, err := optionalValues(r)
	if err != nil {
		return err
	}
	now := a.now()
	v := a.Live.View(now)
	for name := range values {
		if name != "f" && name != langParameter {
			return a.searchActive(w, r, who, v, filter, now)
		}
	}
	if len(values["f"]) > 1 {
		return repeated("f", len(values["f"]))
	}
	if values.Get("f") == networkLink {
		return a.answerLink(w, r)
	}
	f, err := formatOf(r, values)
	if err != nil {
		return err
	}
	wish, err := a.wish(r, values)
	if err != nil {
		return err
	}
	sayLanguages(w, a.lists.Languages(v, wish))
	if f != format.JSON {
		return a.activeForm(w, r, who, v, filter, f, wish, now)
	}
	return a.answerShared(w, r, who, v, a.lists.Active(v, filter, who.Orgs, wish), now)
}

// products serves the products of a hazard, active or not (operation 8).
func (a *API) products(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	_, at, err := a.readAt(r)
	if err != nil {
		return err
	}
	if at != nil {
		h, err := a.hazardAt(r, *at)
		if err != nil {
			return err
		}
		return a.holding(w, r, who, costOfPage, func(w http.ResponseWriter) error {
			products, err := a.Store.ProductsAt(r.Context(), h.ID, who.Orgs, *at)
			if err != nil {
				return err
			}
			return a.answerProductsAt(w, r, products, *at)
		})
	}
	now := a.now()
	v := a.Live.View(now)
	h, err := a.findHazard(r, v, now)
	if err != nil {
		return err
	}
	products, active := v.Products(h.ID, who.Orgs)
	if active {
		body, err := a.lists.Products(v, h.ID, who.Orgs, products)
		if err == nil {
			return a.answerList(w, r, v, body, now)
		}
		if !errors.Is(err, encoded.ErrLarge) {
			return err
		}
	}
	return a.holding(w, r, who, costOfPage, func(w http.ResponseWriter) error {
		if active {
			a.tellView(w, v, now)
			return a.streamProducts(w, r, products)
		}
		products, err := a.Store.Products(r.Context(), h.ID, who.Orgs)
		if err != nil {
			return err
		}
		return a.answerProducts(w, r, products)
	})
}

// streamProducts serves products that are too large for one body in memory.
func (a *API) streamProducts(w http.ResponseWriter, r *http.Request, products []*hazard.Product) error {
	sum := sha256.New()
	for _, p := range products {
		fmt.Fprintf(sum, "%d.%d ", p.ID, p.Version)
	}
	tag := fmt.Sprintf(`"products-%x"`, sum.Sum(nil)[:15])
	return a.streamed(w, r, tag, slices.ContainsFunc(products, (*hazard.Product).Restricted), func(out io.Writer) error {
		for i, p := range products {
			between := ","
			if i == 0 {
				between = "["
			}
			if _, err := io.WriteString(out, between); err != nil {
				return err
			}
			if err := json.MarshalWrite(out, wire.FromProduct(p, a.BaseURL)); err != nil {
				return err
			}
		}
		_, err := io.WriteString(out, "]")
		return err
	})
}

func (a *API) answerProducts(w http.ResponseWriter, r *http.Request, products []*hazard.Product) error {
	list := make([]wire.Product, len(products))
	for i, p := range products {
		list[i] = wire.FromProduct(p, a.BaseURL)
	}
	return answerJSON(w, r, list, slices.ContainsFunc(products, (*hazard.Product).Restricted))
}

// product serves one product as an array of one (operation 9).
func (a *API) product(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	_, at, err := a.readAt(r)
	if err != nil {
		return err
	}
	if at != nil {
		p, err := a.productAt(r, who, *at)
		if err != nil {
			return err
		}
		return a.answerProductsAt(w, r, []*hazard.Product{p}, *at)
	}
	p, err := a.findProduct(r, who)
	if err != nil {
		return err
	}
	return a.answerProducts(w, r, []*hazard.Product{p})
}

// hazard serves one hazard, active or not.
func (a *API) hazard(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, at, err := a.readAt(r, "f", langParameter)
	if err != nil {
		return err
	}
	f, err := formatOf(r, values)
	if err != nil {
		return err
	}
	wish, err := a.wish(r, values)
	if err != nil {
		return err
	}
	if at != nil {
		return a.answerHazardAt(w, r, who, f, *at, wish)
	}
	now := a.now()
	v := a.Live.View(now)
	h, err := a.findHazard(r, v, now)
	if err != nil {
		return err
	}
	a.tellEnd(w, r, h)
	total, err := a.productTotal(r.Context(), v, h, who)
	if err != nil {
		return err
	}
	h = readIn(w, h, wish)
	if f != format.JSON {
		return a.hazardForm(w, r, f, v, h, total, who, now)
	}
	body, err := a.hazardBody(h, total)
	if err != nil {
		return err
	}
	return a.answerList(w, r, v, body, now)
}

// hazardBody returns one hazard for a caller who may see total of its products.
func (a *API) hazardBody(h *hazard.Hazard, total int) (*encoded.Body, error) {
	text, err := json.Marshal(wire.FromHazard(h, total, a.BaseURL))
	if err != nil {
		return nil, err
	}
	return encoded.NewBody(text, false), nil
}

// productTotal counts the products of a hazard that the caller may see.
func (a *API) productTotal(ctx context.Context, v *view.View, h *hazard.Hazard, who *auth.Caller) (int, error) {
	if _, active := v.Hazard(h.ID); active {
		return v.ProductTotal(h.ID, who.Orgs), nil
	}
	products, err := a.Store.Products(ctx, h.ID, who.Orgs)
	return len(products), err
}

// findHazard returns the hazard in the path, as of now: from the view, or from the store if it has
// ended.
func (a *API) findHazard(r *http.Request, v *view.View, now hazard.Instant) (*hazard.Hazard, error) {
	ref, err := pathRef(r, "hazard")
	if err != nil {
		return nil, err
	}
	var h *hazard.Hazard
	if ref.ID != 0 {
		if h, ok := v.Hazard(ref.ID); ok {
			return h, nil
		}
		h, err = a.Store.Hazard(r.Context(), ref.ID)
	} else {
		if h, ok := v.HazardByUUID(ref.UUID); ok {
			return h, nil
		}
		h, err = a.Store.HazardByUUID(r.Context(), ref.UUID)
	}
	if err != nil {
		return nil, err
	}
	return h.ExpireAt(now), nil
}

// findProduct returns the product in the path, if the caller may see it.
func (a *API) findProduct(r *http.Request, who *auth.Caller) (*hazard.Product, error) {
	ref, err := pathRef(r, "product")
	if err != nil {
		return nil, err
	}
	if ref.ID == 0 {
		return a.Store.ProductByUUID(r.Context(), ref.UUID, who.Orgs)
	}
	if p, ok := a.Live.View(a.now()).Product(ref.ID, who.Orgs); ok {
		return p, nil
	}
	return a.Store.Product(r.Context(), ref.ID, who.Orgs)
}

// pathRef parses an id or a UUID in the path.
func pathRef(r *http.Request, name string) (edit.Ref, error) {
	text := r.PathValue(name)
	if id, err := strconv.ParseInt(text, 10, 64); err == nil && id > 0 && strconv.FormatInt(id, 10) == text {
		return edit.Ref{ID: id}, nil
	}
	if id, err := uuid.Parse(text); err == nil && len(text) == 36 {
		return edit.Ref{UUID: id}, nil
	}
	return edit.Ref{}, badParameter(name+"-id", "%q is neither a number (1, 2, 3 …) nor a uuid", text)
}

// noQuery refuses all parameters. If an unknown filter were ignored, the client would mistake all
// data for the filtered part.
func noQuery(r *http.Request) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	_, err := onlyParameters(r)
	return err
}

// queryValues parses the query.
func queryValues(r *http.Request) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, &problem{Status: http.StatusBadRequest, Detail: "the query cannot be read: a % without two hexadecimal digits, or a semicolon"}
	}
	return values, nil
}

// optionalValues is queryValues without the cost if there is no query.
func optionalValues(r *http.Request) (url.Values, error) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	return queryValues(r)
}

func repeated(name string, times int) error {
	return badParameter(name, "is given %d times, expected once", times)
}

// onlyParameters parses the query. Only the known parameters are allowed, each once.
func onlyParameters(r *http.Request, known ...string) (url.Values, error) {
	values, err := queryValues(r)
	if err != nil {
		return nil, err
	}
	allowed := "no parameter is known here"
	if len(known) > 0 {
		allowed = "these are known here: " + strings.Join(known, ", ")
	}
	for name, given := range values {
		if !slices.Contains(known, name) {
			return nil, badParameter(name, "is not known; %s", allowed)
		}
		if len(given) > 1 {
			return nil, repeated(name, len(given))
		}
	}
	return values, nil
}

// intParameter parses an integer parameter.
func intParameter(values url.Values, name string, missing, low, high int64) (int64, error) {
	if !values.Has(name) {
		return missing, nil
	}
	n, err := strconv.ParseInt(values.Get(name), 10, 64)
	if err != nil || n < low || n > high {
		return 0, badParameter(name, "%q is not a whole number from %d to %d", values.Get(name), low, high)
	}
	return n, nil
}

// floatParameter parses a number parameter.
func floatParameter(values url.Values, name string, missing, low, high float64) (float64, error) {
	if !values.Has(name) {
		return missing, nil
	}
	n, err := strconv.ParseFloat(values.Get(name), 64)
	if err != nil || !(n >= low && n <= high) { // also refuses NaN
		return 0, badParameter(name, "%.60q is not a number from %v to %v", values.Get(name), low, high)
	}
	return n, nil
}
