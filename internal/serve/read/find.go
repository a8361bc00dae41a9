package read

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store/view"
	"github.com/hazardd/hazardd/wire"
)

// HazardBody returns one hazard for a caller who may see total of its products.
func (a *Hazards) HazardBody(h *hazard.Hazard, total int) (*encoded.Body, error) {
	text, err := json.Marshal(wire.FromHazard(h, total, a.BaseURL))
	if err != nil {
		return nil, err
	}
	return encoded.NewBody(text, false), nil
}

// ProductsOf returns the products of a hazard that the caller may see, as the caller may see them.
func (a *Hazards) ProductsOf(ctx context.Context, id int64, who *auth.Caller) ([]*hazard.Product, error) {
	products, err := a.Store.Hazards.Products(ctx, id, who.Orgs)
	return hazard.NamedProducts(products, route.NamesFor(ctx)), err
}

// ProductTotal counts the products of a hazard that the caller may see.
func (a *Hazards) ProductTotal(ctx context.Context, v *view.View, h *hazard.Hazard, who *auth.Caller) (int, error) {
	if _, active := v.Hazard(h.ID); active {
		return v.ProductTotal(h.ID, who.Orgs), nil
	}
	products, err := a.Store.Hazards.Products(ctx, h.ID, who.Orgs)
	return len(products), err
}

// FindHazard returns the hazard in the path, as of now: from the view, or from the store if it has
// ended.
func (a *Hazards) FindHazard(r *http.Request, v *view.View, now hazard.Instant) (*hazard.Hazard, error) {
	ref, err := route.PathRef(r, "hazard")
	if err != nil {
		return nil, err
	}
	names := route.NamesFor(r.Context())
	v = v.Named(names)
	var h *hazard.Hazard
	if ref.ID != 0 {
		if h, ok := v.Hazard(ref.ID); ok {
			return h, nil
		}
		h, err = a.Store.Hazards.Get(r.Context(), ref.ID)
	} else {
		if h, ok := v.HazardByUUID(ref.UUID); ok {
			return h, nil
		}
		h, err = a.Store.Hazards.ByUUID(r.Context(), ref.UUID)
	}
	if err != nil {
		return nil, err
	}
	return h.Named(names).ExpireAt(now), nil
}

// FindProduct returns the product in the path, if the caller may see it.
func (a *Hazards) FindProduct(r *http.Request, who *auth.Caller) (*hazard.Product, error) {
	ref, err := route.PathRef(r, "product")
	if err != nil {
		return nil, err
	}
	p, ok := a.View(r.Context(), a.Now()).Product(ref.ID, who.Orgs)
	switch {
	case ref.ID == 0:
		p, err = a.Store.Hazards.ProductByUUID(r.Context(), ref.UUID, who.Orgs)
	case !ok:
		p, err = a.Store.Hazards.Product(r.Context(), ref.ID, who.Orgs)
	}
	return p.Named(route.NamesFor(r.Context())), err
}

// IsPast refuses a moment in the future. For a moment that has only just passed, it waits for the
// changes of that moment.
func (a *Hazards) IsPast(ctx context.Context, at *hazard.Instant) error {
	if at == nil {
		return nil
	}
	now := a.Now()
	if *at > now {
		return route.BadParameter("at", "%s is in the future; server time is %s", *at, now)
	}
	return a.Store.Until(ctx, *at, now)
}

// KnowSources refuses names of sources that are neither configured nor have ever reported anything.
// Otherwise a typo would look like "no hazards".
func (a *Hazards) KnowSources(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	states, err := a.Sources(ctx)
	if err != nil {
		return err
	}
	known := []string{query.Editors}
	for _, s := range states {
		known = append(known, s.Name)
	}
	for _, name := range names {
		if slices.Contains(known, name) {
			continue
		}
		if reported, err := a.Store.Sources.Reported(ctx, name); err != nil {
			return err
		} else if !reported {
			return route.BadParameter("source", "%q is not a source; expected one of %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// SearchStore finds hazards in the store.
func (a *Hazards) SearchStore(ctx context.Context, q query.Query, who *auth.Caller, now hazard.Instant) (*Found, error) {
	names := route.NamesFor(ctx)
	q.Names = names
	p, err := a.Store.Search.FindKnown(ctx, q, who.Orgs, now, a.Live.View(now))
	if err != nil {
		return nil, err
	}
	for i, h := range p.Hazards {
		p.Hazards[i] = h.Named(names)
	}
	matched := int64(-1)
	if q.Cursor == "" && p.Cursor == "" {
		matched = int64(len(p.Hazards))
	}
	return &Found{Matched: matched, Hazards: p.Hazards, totals: p.Totals, Restricted: p.Restricted, Number: p.Number, Cursor: p.Cursor, after: pagesOf(&q, p.After), At: q.At, updated: updatedAt(a.Live.View(now), q.At)}, nil
}

// CountFound counts the hazards on all pages of a search, unless that is known.
func (a *Hazards) CountFound(ctx context.Context, q *query.Query, found *Found) (err error) {
	if found.Matched >= 0 {
		return nil
	}
	all := *q
	all.Cursor, all.Names = "", route.NamesFor(ctx)
	found.Matched, _, err = a.Store.Search.Count(ctx, all, a.Now())
	return err
}

// storeAt returns the store as formats read it, now or as of an earlier moment.
func (a *Hazards) storeAt(at *hazard.Instant) format.Store {
	if at == nil {
		return a.Store.Log
	}
	return storeAt{a.Store.Log, *at}
}

// SetFreshness sets the change number of an answer from the store and, for an answer of now, the
// freshness of the sources. It waits until the lists include that change, which takes milliseconds,
// so that no answer is ahead of the lists.
func (a *Hazards) SetFreshness(ctx context.Context, w http.ResponseWriter, number int64, earlier bool) {
	if a.Live.Number() < number {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_ = a.Live.WaitFor(ctx, number) // the answer is correct in any case
	}
	h := w.Header()
	h["Hazardd-Change"] = []string{strconv.FormatInt(number, 10)}
	if !earlier {
		h["Hazardd-Sources"] = a.Freshness()
	}
}

// readAt parses the query of a read that accepts an earlier moment; at is nil without one.
func (a *Hazards) readAt(r *http.Request, known ...string) (values url.Values, at *hazard.Instant, err error) {
	if r.URL.RawQuery == "" {
		return nil, nil, nil
	}
	if values, err = route.Parameters(r, append(known, "at")...); err != nil || !values.Has("at") {
		return values, nil, err
	}
	moment, ok := query.ReadMoment(values.Get("at"))
	if !ok {
		return nil, nil, route.BadParameter("at", "%.60q is not %s", values.Get("at"), query.MomentForm)
	}
	return values, &moment, a.IsPast(r.Context(), &moment)
}

// answerAt writes a JSON answer as of an earlier moment.
func (a *Hazards) answerAt(w http.ResponseWriter, r *http.Request, value any, restricted bool, at hazard.Instant) error {
	number, err := a.Store.Log.ChangeAt(r.Context(), at)
	if err != nil {
		return err
	}
	a.SetFreshness(r.Context(), w, number, true)
	return route.AnswerJSON(w, r, value, restricted)
}

// hazardAt returns the hazard in the path, as readers saw it at a moment.
func (a *Hazards) hazardAt(r *http.Request, at hazard.Instant) (*hazard.Hazard, error) {
	ref, err := route.PathRef(r, "hazard")
	if err != nil {
		return nil, err
	}
	var h *hazard.Hazard
	if ref.ID != 0 {
		h, err = a.Store.Log.HazardAt(r.Context(), ref.ID, at)
	} else {
		h, err = a.Store.Log.HazardByUUIDAt(r.Context(), ref.UUID, at)
	}
	return h.Named(route.NamesFor(r.Context())), err
}

// productAt returns the product in the path as of a moment, if the caller may see it as of then.
func (a *Hazards) productAt(r *http.Request, who *auth.Caller, at hazard.Instant) (*hazard.Product, error) {
	ref, err := route.PathRef(r, "product")
	if err != nil {
		return nil, err
	}
	var p *hazard.Product
	if ref.ID != 0 {
		p, err = a.Store.Log.ProductAt(r.Context(), ref.ID, who.Orgs, at)
	} else {
		p, err = a.Store.Log.ProductByUUIDAt(r.Context(), ref.UUID, who.Orgs, at)
	}
	return p.Named(route.NamesFor(r.Context())), err
}

// hazardNowOrAt returns the hazard in the path, as of an earlier moment, or as of now if at is nil.
func (a *Hazards) hazardNowOrAt(r *http.Request, at *hazard.Instant) (*hazard.Hazard, error) {
	if at != nil {
		return a.hazardAt(r, *at)
	}
	now := a.Now()
	return a.FindHazard(r, a.Live.View(now), now)
}

// KnownSource returns a 404 unless the source in the path exists.
func (a *Hazards) KnownSource(r *http.Request) (string, error) {
	name := r.PathValue("source")
	states, err := a.Sources(r.Context())
	if err != nil {
		return "", err
	}
	var names []string
	for _, s := range states {
		if s.Name == name {
			return name, nil
		}
		names = append(names, s.Name)
	}
	return "", route.UnknownID("source", name, names)
}
