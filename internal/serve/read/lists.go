package read

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
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
func (a *Lists) fixed(name string) route.Protected {
	body := a.static[name]
	return func(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
		if err := route.NoQuery(r); err != nil {
			return err
		}
		return route.Answer(w, r, body)
	}
}

// active serves the active hazards (operation 5).
func (a *Lists) active(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	return a.activeList(w, r, who, view.Filter{})
}

// activeByCategory serves the active hazards of one category (operation 6).
func (a *Lists) activeByCategory(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	c := hazard.Category(r.PathValue("category"))
	if _, ok := c.Info(); !ok {
		var known []string
		for _, c := range hazard.Categories() {
			known = append(known, string(c.ID))
		}
		return route.UnknownID("category", string(c), known)
	}
	return a.activeList(w, r, who, view.Filter{Category: c})
}

// activeBySeverity serves the active hazards of one severity (operation 7).
func (a *Lists) activeBySeverity(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	s, ok := hazard.ParseSeverity(r.PathValue("severity"))
	if !ok {
		var known []string
		for _, s := range hazard.Severities() {
			known = append(known, s.ID)
		}
		return route.UnknownID("severity", r.PathValue("severity"), known)
	}
	return a.activeList(w, r, who, view.Filter{Severity: s})
}

func (a *Lists) activeList(w http.ResponseWriter, r *http.Request, who *auth.Caller, filter view.Filter) error {
	values, err := route.OptionalValues(r)
	if err != nil {
		return err
	}
	now := a.Now()
	v := a.View(r.Context(), now)
	for name := range values {
		if name != "f" && name != route.LangParameter {
			return a.searchActive(w, r, who, v, filter, now)
		}
	}
	if len(values["f"]) > 1 {
		return route.Repeated("f", len(values["f"]))
	}
	if values.Get("f") == networkLink {
		return a.answerLink(w, r)
	}
	f, err := formatOf(r, values)
	if err != nil {
		return err
	}
	wish, err := a.Wish(r, values)
	if err != nil {
		return err
	}
	route.SetLanguages(w, a.lists.Languages(v, wish))
	if f != format.JSON {
		return a.activeForm(w, r, who, v, filter, f, wish, now)
	}
	return a.answerShared(w, r, who, v, a.lists.Active(v, filter, who.Orgs, wish), now)
}

// products serves the products of a hazard, active or not (operation 8).
func (a *Lists) products(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	_, at, err := a.readAt(r)
	if err != nil {
		return err
	}
	if at != nil {
		h, err := a.hazardAt(r, *at)
		if err != nil {
			return err
		}
		return a.Hold(w, r, who, route.CostOfPage, func(w http.ResponseWriter) error {
			products, err := a.Store.Log.ProductsAt(r.Context(), h.ID, who.Orgs, *at)
			if err != nil {
				return err
			}
			return a.answerProductsAt(w, r, hazard.NamedProducts(products, route.NamesFor(r.Context())), *at)
		})
	}
	now := a.Now()
	v := a.View(r.Context(), now)
	h, err := a.FindHazard(r, v, now)
	if err != nil {
		return err
	}
	products, active := v.Products(h.ID, who.Orgs)
	if active {
		body, err := a.lists.Products(v, h.ID, who.Orgs, products)
		if err == nil {
			return a.AnswerList(w, r, v, body, now)
		}
		if !errors.Is(err, encoded.ErrLarge) {
			return err
		}
	}
	return a.Hold(w, r, who, route.CostOfPage, func(w http.ResponseWriter) error {
		if active {
			a.SetView(w, v, now)
			return a.streamProducts(w, r, products)
		}
		products, err := a.ProductsOf(r.Context(), h.ID, who)
		if err != nil {
			return err
		}
		return a.answerProducts(w, r, products)
	})
}

// streamProducts serves products that are too large for one body in memory.
func (a *Lists) streamProducts(w http.ResponseWriter, r *http.Request, products []*hazard.Product) error {
	sum := sha256.New()
	for _, p := range products {
		fmt.Fprintf(sum, "%d.%d ", p.ID, p.Version)
	}
	tag := fmt.Sprintf(`"products-%x"`, sum.Sum(nil)[:15])
	return a.Streamed(w, r, tag, slices.ContainsFunc(products, (*hazard.Product).Restricted), func(out io.Writer) error {
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

func (a *Lists) answerProducts(w http.ResponseWriter, r *http.Request, products []*hazard.Product) error {
	list := make([]wire.Product, len(products))
	for i, p := range products {
		list[i] = wire.FromProduct(p, a.BaseURL)
	}
	return route.AnswerJSON(w, r, list, slices.ContainsFunc(products, (*hazard.Product).Restricted))
}

// product serves one product as an array of one (operation 9).
func (a *Lists) product(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
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
	p, err := a.FindProduct(r, who)
	if err != nil {
		return err
	}
	return a.answerProducts(w, r, []*hazard.Product{p})
}

// Hazard serves one hazard, active or not.
func (a *Lists) Hazard(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, at, err := a.readAt(r, "f", route.LangParameter)
	if err != nil {
		return err
	}
	f, err := formatOf(r, values)
	if err != nil {
		return err
	}
	wish, err := a.Wish(r, values)
	if err != nil {
		return err
	}
	if at != nil {
		return a.answerHazardAt(w, r, who, f, *at, wish)
	}
	now := a.Now()
	v := a.Live.View(now)
	h, err := a.FindHazard(r, v, now)
	if err != nil {
		return err
	}
	a.tellEnd(w, r, h)
	total, err := a.ProductTotal(r.Context(), v, h, who)
	if err != nil {
		return err
	}
	h = route.InLanguage(w, h, wish)
	if f != format.JSON {
		return a.hazardForm(w, r, f, v, h, total, who, now)
	}
	body, err := a.HazardBody(h, total)
	if err != nil {
		return err
	}
	return a.AnswerList(w, r, v, body, now)
}
