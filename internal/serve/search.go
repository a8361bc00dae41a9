package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/store/view"
	"github.com/hazardd/hazardd/wire"
)

// found is the result of a search: hazards as of the requested moment, with the number of products
// that the caller may see.
type found struct {
	hazards    []*hazard.Hazard
	totals     []int
	restricted bool // a counted product is not public
	number     int64
	cursor     string // start of the next page; empty on the last one
	matched    int64  // hazards on all pages; -1 if not counted
	// after returns the cursor of a page that begins after hazard i; nil if the search has no
	// pages.
	after   func(i int) string
	at      *hazard.Instant // the earlier moment of the search; the present freshness of sources does not apply to it
	updated hazard.Instant  // time of the last change in the result
	reader  *lang.Reader    // the languages of the texts
}

// search serves the matching hazards, active or not.
func (a *API) search(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	q, f, err := a.searchQuery(r)
	if err != nil {
		return err
	}
	if form, ok := format.ParsePackage(r.URL.Query().Get("f")); ok {
		return a.holding(w, r, who, costOfPage, func(w http.ResponseWriter) error { return a.answerPackage(w, r, who, q, form) })
	}
	if q.Limit == 0 {
		q.Limit = query.DefaultLimit
	}
	return a.holding(w, r, who, costOfSearch(&q, f), func(w http.ResponseWriter) error {
		found, err := a.searchStore(r.Context(), q, who, a.now())
		if err != nil {
			return err
		}
		a.tellCoverage(w, &q)
		return a.answerFound(w, r, f, &q, found)
	})
}

// count serves the number of hazards on all pages of a search.
func (a *API) count(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	q, f, err := a.searchQuery(r)
	if err != nil {
		return err
	}
	if f != format.JSON {
		return badParameter("f", "a count is available as json only")
	}
	if q.Cursor != "" {
		return badParameter("cursor", "is not allowed here: the count covers all pages")
	}
	n, number, err := a.Store.Count(r.Context(), q, a.now())
	if err != nil {
		return err
	}
	body, err := jsonBody(struct {
		Count int64 `json:"count"`
	}{n}, false)
	if err != nil {
		return err
	}
	a.tellFreshness(r.Context(), w, number, q.At != nil)
	a.tellCoverage(w, &q)
	return answer(w, r, body)
}

// searchActive serves the matching active hazards. The first page of now comes from the view;
// earlier moments and further pages come from the store. Like the list without parameters, and
// unlike other searches, it returns everything at once unless a limit is given.
func (a *API) searchActive(w http.ResponseWriter, r *http.Request, who *auth.Caller, v *view.View, filter view.Filter, now hazard.Instant) error {
	link := r.URL.Query().Get("f") == networkLink
	q, form, err := a.searchQuery(r)
	if err != nil {
		return err
	}
	if link {
		return a.answerLink(w, r)
	}
	if !narrow(&q.Statuses, hazard.Active) || filter.Category != "" && !narrow(&q.Categories, filter.Category) || filter.Severity != 0 && !narrow(&q.Severities, filter.Severity) {
		a.tellCoverage(w, &q)
		return a.answerFound(w, r, form, &q, &found{number: v.Number(), at: q.At, updated: v.At()}) // the path and the parameters contradict each other
	}
	return a.holding(w, r, who, costOfSearch(&q, form), func(w http.ResponseWriter) error {
		var f *found
		if q.At != nil || q.Cursor != "" {
			f, err = a.searchStore(r.Context(), q, who, now)
		} else {
			a.tellViewAge(w, now)
			f, err = a.searchView(r.Context(), q, who, v, now)
		}
		if err != nil {
			return err
		}
		a.tellCoverage(w, &q)
		return a.answerFound(w, r, form, &q, f)
	})
}

// narrow reduces a list of wanted values to the value in the path. It reports whether the list
// allows that value.
func narrow[T comparable](wanted *[]T, only T) bool {
	if len(*wanted) > 0 && !slices.Contains(*wanted, only) {
		return false
	}
	*wanted = []T{only}
	return true
}

// searchQuery parses the parameters of a search and the format.
func (a *API) searchQuery(r *http.Request) (query.Query, format.Format, error) {
	values, err := queryValues(r)
	if err != nil {
		return query.Query{}, format.JSON, err
	}
	q, faults := query.Parse(values, "f", langParameter)
	if n := len(values["f"]); n > 1 {
		return q, format.JSON, repeated("f", n)
	}
	if faults != nil {
		return q, format.JSON, faults
	}
	if err := errors.Join(a.isPast(r.Context(), q.At), a.knowSources(r.Context(), q.Sources)); err != nil {
		return q, format.JSON, err
	}
	if values.Get("f") == networkLink {
		return q, format.KML, nil
	}
	if _, ok := format.ParsePackage(values.Get("f")); ok && r.URL.Path == "/hazards" {
		return q, format.GeoJSON, nil
	}
	f, err := formatOf(r, values)
	return q, f, err
}

// isPast refuses a moment in the future. For a moment that has only just passed, it waits for the
// changes of that moment.
func (a *API) isPast(ctx context.Context, at *hazard.Instant) error {
	if at == nil {
		return nil
	}
	now := a.now()
	if *at > now {
		return badParameter("at", "%s is in the future; server time is %s", *at, now)
	}
	return a.Store.Until(ctx, *at, now)
}

// knowSources refuses names of sources that are neither configured nor have ever reported anything.
// Otherwise a typo would look like "no hazards".
func (a *API) knowSources(ctx context.Context, names []string) error {
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
		if reported, err := a.Store.Reported(ctx, name); err != nil {
			return err
		} else if !reported {
			return badParameter("source", "%q is not a source; expected one of %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

func (a *API) searchStore(ctx context.Context, q query.Query, who *auth.Caller, now hazard.Instant) (*found, error) {
	p, err := a.Store.Search(ctx, q, who.Orgs, now)
	if err != nil {
		return nil, err
	}
	matched := int64(-1)
	if q.Cursor == "" && p.Cursor == "" {
		matched = int64(len(p.Hazards))
	}
	return &found{matched: matched, hazards: p.Hazards, totals: p.Totals, restricted: p.Restricted, number: p.Number, cursor: p.Cursor, after: pagesOf(&q, p.After), at: q.At, updated: updatedAt(a.Live.View(now), q.At)}, nil
}

// searchView finds active hazards in the view, with the same result as a search in the store. It
// works while the store is unreachable, unless it needs the store for a ref or for areas that are
// not in memory yet.
func (a *API) searchView(ctx context.Context, q query.Query, who *auth.Caller, v *view.View, now hazard.Instant) (*found, error) {
	if err := a.Store.Resolve(ctx, &q.Filter); err != nil {
		return nil, err
	}
	type one struct {
		h     *hazard.Hazard
		total int
		key   query.Key
	}
	var list []one
	for h, total := range v.Hazards(view.Filter{}, who.Orgs) {
		ok := q.MatchRecord(h, now)
		if ok && q.NeedsShapes() {
			shapes, err := a.Store.Shapes(ctx, h.Areas)
			if err != nil {
				return nil, err
			}
			ok = q.MatchAt(h, query.Footprint(h, shapes), now)
		}
		if ok {
			list = append(list, one{h, total, q.Sort.Key(h)})
		}
	}
	slices.SortFunc(list, func(x, y one) int { return q.Sort.Compare(x.key, y.key) })
	f := &found{number: v.Number(), matched: int64(len(list)), restricted: v.Audience(who.Orgs) != "", updated: v.At()}
	after := func(i int) string {
		return q.Encode(query.Cursor{Number: v.Number(), Now: now, Key: list[i].key}, a.Store.Epoch())
	}
	f.after = pagesOf(&q, after)
	if q.Limit > 0 && len(list) > q.Limit {
		list = list[:q.Limit]
		f.cursor = after(q.Limit - 1)
	}
	for _, l := range list {
		f.hazards, f.totals = append(f.hazards, l.h), append(f.totals, l.total)
	}
	return f, nil
}

// pagesOf returns after if the search has pages.
func pagesOf(q *query.Query, after func(i int) string) func(i int) string {
	if q.Limit == 0 {
		return nil
	}
	return after
}

// page yields hazards until the written output reaches the size of a page; the rest goes to the
// next page.
func (f *found) page(written interface{ Len() int }) iter.Seq2[*hazard.Hazard, int] {
	return f.reader.All(func(yield func(*hazard.Hazard, int) bool) {
		for i, h := range f.hazards {
			if i > 0 && f.after != nil && written.Len() >= pageBytes {
				f.hazards, f.cursor = f.hazards[:i], f.after(i-1)
				return
			}
			if !yield(h, f.totals[i]) {
				return
			}
		}
	})
}

// updatedAt returns when the result last changed, at the latest the requested moment.
func updatedAt(v *view.View, at *hazard.Instant) hazard.Instant {
	if at != nil {
		return *at
	}
	return v.At()
}

// answerFound writes the result of a search, with a link to the next page.
func (a *API) answerFound(w http.ResponseWriter, r *http.Request, f format.Format, q *query.Query, found *found) error {
	wish, err := a.wish(r, r.URL.Query())
	if err != nil {
		return err
	}
	found.reader = wish.Reader()
	body, err := a.foundBody(w, r, f, q, found)
	if err != nil {
		return err
	}
	if !wish.None() {
		sayLanguages(w, found.reader.Used())
	}
	a.tellFreshness(r.Context(), w, found.number, found.at != nil)
	if found.cursor != "" {
		next := r.URL.Query()
		next.Set("cursor", found.cursor)
		a.linkNext(w, r, next)
	}
	return answer(w, r, body)
}

// countFound counts the hazards on all pages of a search, unless that is known.
func (a *API) countFound(ctx context.Context, q *query.Query, found *found) (err error) {
	if found.matched >= 0 {
		return nil
	}
	all := *q
	all.Cursor = ""
	found.matched, _, err = a.Store.Count(ctx, all, a.now())
	return err
}

func (a *API) foundBody(w http.ResponseWriter, r *http.Request, f format.Format, q *query.Query, found *found) (*encoded.Body, error) {
	var text bytes.Buffer
	if f == format.JSON {
		text.WriteByte('[')
		for h, products := range found.page(&text) {
			if text.Len() > 1 {
				text.WriteByte(',')
			}
			if err := json.MarshalWrite(&text, wire.FromHazard(h, products, a.BaseURL)); err != nil {
				return nil, err
			}
		}
		text.WriteByte(']')
		return encoded.NewBody(text.Bytes(), found.restricted), nil
	}
	if f == format.CAP { // CAP has no lists: a feed links to the alerts
		f = format.Atom
	}
	o := a.documentOf(r, f)
	o.Title, o.Updated = "Hazards", found.updated
	if f == format.GeoJSON || f == format.KML { // these formats contain the number
		if err := a.countFound(r.Context(), q, found); err != nil {
			return nil, err
		}
	}
	o.Page = func() format.Page {
		p := format.Page{Matched: found.matched, Links: []format.Link{{Href: o.Self, Rel: "self", Type: f.MediaType(false)}}}
		if found.cursor != "" {
			next := r.URL.Query()
			next.Set("f", f.String())
			next.Set("cursor", found.cursor)
			p.Links = append(p.Links, format.Link{Href: a.pageAddress(r, next), Rel: "next", Type: f.MediaType(false)})
		}
		return p
	}
	if err := a.encode(r.Context(), &text, a.storeAt(found.at), f, o, found.page(&text)); err != nil {
		return nil, err
	}
	sendAs(w, f, false, "hazards")
	return encoded.NewBody(text.Bytes(), found.restricted), nil
}

// storeAt returns the store as formats read it, now or as of an earlier moment.
func (a *API) storeAt(at *hazard.Instant) format.Store {
	if at == nil {
		return a.Store
	}
	return storeAt{a.Store, *at}
}

// linkNext sets the link to the next page (RFC 8288).
func (a *API) linkNext(w http.ResponseWriter, r *http.Request, parameters url.Values) {
	w.Header().Set("Link", fmt.Sprintf(`<%s>; rel="next"`, a.pageAddress(r, parameters)))
}

// pageAddress returns the address of the same path with other parameters.
func (a *API) pageAddress(r *http.Request, parameters url.Values) string {
	return a.base(r) + r.URL.EscapedPath() + "?" + parameters.Encode()
}

// tellFreshness sets the change number of an answer from the store and, for an answer of now, the
// freshness of the sources. It waits until the lists include that change, which takes milliseconds,
// so that no answer is ahead of the lists.
func (a *API) tellFreshness(ctx context.Context, w http.ResponseWriter, number int64, earlier bool) {
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
func (a *API) readAt(r *http.Request, known ...string) (values url.Values, at *hazard.Instant, err error) {
	if r.URL.RawQuery == "" {
		return nil, nil, nil
	}
	if values, err = onlyParameters(r, append(known, "at")...); err != nil || !values.Has("at") {
		return values, nil, err
	}
	moment, ok := query.ReadMoment(values.Get("at"))
	if !ok {
		return nil, nil, badParameter("at", "%.60q is not %s", values.Get("at"), query.MomentForm)
	}
	return values, &moment, a.isPast(r.Context(), &moment)
}

// answerAt writes a JSON answer as of an earlier moment.
func (a *API) answerAt(w http.ResponseWriter, r *http.Request, value any, restricted bool, at hazard.Instant) error {
	number, err := a.Store.ChangeAt(r.Context(), at)
	if err != nil {
		return err
	}
	a.tellFreshness(r.Context(), w, number, true)
	return answerJSON(w, r, value, restricted)
}

// hazardAt returns the hazard in the path, as readers saw it at a moment.
func (a *API) hazardAt(r *http.Request, at hazard.Instant) (*hazard.Hazard, error) {
	ref, err := pathRef(r, "hazard")
	if err != nil {
		return nil, err
	}
	if ref.ID != 0 {
		return a.Store.HazardAt(r.Context(), ref.ID, at)
	}
	return a.Store.HazardByUUIDAt(r.Context(), ref.UUID, at)
}

// productAt returns the product in the path as of a moment, if the caller may see it as of then.
func (a *API) productAt(r *http.Request, who *auth.Caller, at hazard.Instant) (*hazard.Product, error) {
	ref, err := pathRef(r, "product")
	if err != nil {
		return nil, err
	}
	if ref.ID != 0 {
		return a.Store.ProductAt(r.Context(), ref.ID, who.Orgs, at)
	}
	return a.Store.ProductByUUIDAt(r.Context(), ref.UUID, who.Orgs, at)
}

// hazardNowOrAt returns the hazard in the path, as of an earlier moment, or as of now if at is nil.
func (a *API) hazardNowOrAt(r *http.Request, at *hazard.Instant) (*hazard.Hazard, error) {
	if at != nil {
		return a.hazardAt(r, *at)
	}
	now := a.now()
	return a.findHazard(r, a.Live.View(now), now)
}

// answerHazardAt serves one hazard as of an earlier moment.
func (a *API) answerHazardAt(w http.ResponseWriter, r *http.Request, who *auth.Caller, f format.Format, at hazard.Instant, wish lang.Wish) error {
	return a.holding(w, r, who, costOfPage, func(w http.ResponseWriter) error { return a.makeHazardAt(w, r, who, f, at, wish) })
}

func (a *API) makeHazardAt(w http.ResponseWriter, r *http.Request, who *auth.Caller, f format.Format, at hazard.Instant, wish lang.Wish) error {
	h, err := a.hazardAt(r, at)
	if err != nil {
		return err
	}
	products, err := a.Store.ProductsAt(r.Context(), h.ID, who.Orgs, at)
	if err != nil {
		return err
	}
	a.tellEnd(w, r, h)
	h = readIn(w, h, wish)
	if f == format.JSON {
		return a.answerAt(w, r, wire.FromHazard(h, len(products), a.BaseURL), false, at)
	}
	body, err := a.hazardDocument(w, r, a.storeAt(&at), f, h, len(products))
	if err != nil {
		return err
	}
	number, err := a.Store.ChangeAt(r.Context(), at)
	if err != nil {
		return err
	}
	a.tellFreshness(r.Context(), w, number, true)
	return answer(w, r, body)
}

// answerProductsAt serves products as of an earlier moment.
func (a *API) answerProductsAt(w http.ResponseWriter, r *http.Request, products []*hazard.Product, at hazard.Instant) error {
	list := make([]wire.Product, len(products))
	for i, p := range products {
		list[i] = wire.FromProduct(p, a.BaseURL)
	}
	return a.answerAt(w, r, list, slices.ContainsFunc(products, func(p *hazard.Product) bool { return !p.Open() }), at)
}

// tellEnd sets headers that say why a hazard ended and which hazard replaced it (RFC 5829).
func (a *API) tellEnd(w http.ResponseWriter, r *http.Request, h *hazard.Hazard) {
	if h.Reason == "" {
		return
	}
	w.Header().Set("Hazardd-End", string(h.Reason))
	if h.Successor != uuid.Nil {
		w.Header().Set("Link", fmt.Sprintf(`<%s/hazards/%s>; rel="successor-version"`, a.base(r), h.Successor))
	}
}

// searchProblem returns the problem for an invalid search, or nil for other errors.
func searchProblem(err error) *problem {
	if faults, ok := errors.AsType[query.Faults](err); ok {
		p := &problem{Status: http.StatusBadRequest, Detail: faults.Error()}
		for _, f := range faults {
			p.Errors = append(p.Errors, fault{Parameter: f.Parameter, Detail: f.Detail})
			if f.TooCostly {
				p.Status, p.limit = http.StatusRequestEntityTooLarge, "geometry"
			}
		}
		return p
	}
	if errors.Is(err, query.ErrTooBroad) {
		return &problem{Status: http.StatusBadRequest, Detail: err.Error()}
	}
	return nil
}
