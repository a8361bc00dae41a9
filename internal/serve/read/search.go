package read

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store/view"
	"github.com/hazardd/hazardd/wire"
)

// costOfSearch returns the memory that a page of hazards may take while it is built.
func costOfSearch(q *query.Query, f format.Format) int64 {
	if f != format.JSON || q.Limit == 0 {
		return route.CostOfPage
	}
	return min(route.CostOfPage, int64(q.Limit)*route.CostOfRecord)
}

// holdForm holds a page of hazards. One whose form costs much is made once for all who ask for it.
func (a *Lists) holdForm(w http.ResponseWriter, r *http.Request, who *auth.Caller, q *query.Query, f format.Format, answer func(http.ResponseWriter, *http.Request) error) error {
	if f != format.JSON {
		return a.answerSaid(w, r, who, q, costOfSearch(q, f), answer)
	}
	a.SetPlace(r.Context(), w, q)
	return a.Hold(w, r, who, costOfSearch(q, f), func(w http.ResponseWriter) error { return answer(w, r) })
}

// answerSaid is AnswerOnce for what depends on the format and the languages too.
func (a *Lists) answerSaid(w http.ResponseWriter, r *http.Request, who *auth.Caller, q *query.Query, cost int64, answer func(http.ResponseWriter, *http.Request) error) error {
	values := r.URL.Query()
	wish, err := a.Wish(r, values)
	if err != nil {
		return err
	}
	return a.AnswerOnce(w, r, who, q, cost, fmt.Sprintf("%s %s %s", values.Encode(), r.Header["Accept"], wish), answer)
}

// Found is the result of a search: hazards as of the requested moment, with the number of products
// that the caller may see.
type Found struct {
	Hazards    []*hazard.Hazard
	totals     []int
	Restricted bool // a counted product is not public
	Number     int64
	Cursor     string // start of the next page; empty on the last one
	Matched    int64  // hazards on all pages; -1 if not counted
	// after returns the cursor of a page that begins after hazard i; nil if the search has no
	// pages.
	after   func(i int) string
	At      *hazard.Instant // the earlier moment of the search; the present freshness of sources does not apply to it
	updated hazard.Instant  // time of the last change in the result
	Reader  *lang.Reader    // the languages of the texts
}

// search serves the matching hazards, active or not.
func (a *Lists) search(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	q, f, err := a.searchQuery(r)
	if err != nil {
		return err
	}
	if form, ok := format.ParsePackage(r.URL.Query().Get("f")); ok {
		return a.answerSaid(w, r, who, &q, route.CostOfPage, func(w http.ResponseWriter, r *http.Request) error { return a.answerPackage(w, r, who, q, form) })
	}
	if q.Limit == 0 {
		q.Limit = query.DefaultLimit
	}
	return a.holdForm(w, r, who, &q, f, func(w http.ResponseWriter, r *http.Request) error {
		found, err := a.SearchStore(r.Context(), q, who, a.Now())
		if err != nil {
			return err
		}
		return a.answerFound(w, r, f, &q, found)
	})
}

// count serves the number of hazards on all pages of a search.
func (a *Lists) count(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	q, f, err := a.searchQuery(r)
	if err != nil {
		return err
	}
	if f != format.JSON {
		return route.BadParameter("f", "a count is available as json only")
	}
	if q.Cursor != "" {
		return route.BadParameter("cursor", "is not allowed here: the count covers all pages")
	}
	q.Names = route.NamesFor(r.Context())
	n, number, err := a.Store.Search.Count(r.Context(), q, a.Now())
	if err != nil {
		return err
	}
	body, err := route.JSONBody(struct {
		Count int64 `json:"count"`
	}{n}, false)
	if err != nil {
		return err
	}
	a.SetFreshness(r.Context(), w, number, q.At != nil)
	a.SetPlace(r.Context(), w, &q)
	return route.Answer(w, r, body)
}

// searchActive serves the matching active hazards. The first page of now comes from the view;
// earlier moments and further pages come from the store. Like the list without parameters, and
// unlike other searches, it returns everything at once unless a limit is given.
func (a *Lists) searchActive(w http.ResponseWriter, r *http.Request, who *auth.Caller, v *view.View, filter view.Filter, now hazard.Instant) error {
	link := r.URL.Query().Get("f") == networkLink
	q, form, err := a.searchQuery(r)
	if err != nil {
		return err
	}
	if link {
		return a.answerLink(w, r)
	}
	if !Narrow(&q.Statuses, hazard.Active) || filter.Category != "" && !Narrow(&q.Categories, filter.Category) || filter.Severity != 0 && !Narrow(&q.Severities, filter.Severity) {
		a.SetCoverage(w, &q)
		return a.answerFound(w, r, form, &q, &Found{Number: v.Number(), At: q.At, updated: v.At()}) // the path and the parameters contradict each other
	}
	if q.At == nil && q.Cursor == "" {
		a.setViewAge(w, now)
	}
	return a.holdForm(w, r, who, &q, form, func(w http.ResponseWriter, r *http.Request) error {
		f, err := a.foundActive(r.Context(), q, who, v, now)
		if err != nil {
			return err
		}
		return a.answerFound(w, r, form, &q, f)
	})
}

// Narrow reduces a list of wanted values to the value in the path. It reports whether the list
// allows that value.
func Narrow[T comparable](wanted *[]T, only T) bool {
	if len(*wanted) > 0 && !slices.Contains(*wanted, only) {
		return false
	}
	*wanted = []T{only}
	return true
}

// searchQuery parses the parameters of a search and the format.
func (a *Lists) searchQuery(r *http.Request, also ...string) (query.Query, format.Format, error) {
	values, err := route.QueryValues(r)
	if err != nil {
		return query.Query{}, format.JSON, err
	}
	q, faults := query.Parse(values, append(also, "f", route.LangParameter)...)
	if n := len(values["f"]); n > 1 {
		return q, format.JSON, route.Repeated("f", n)
	}
	if faults != nil {
		return q, format.JSON, faults
	}
	if err := errors.Join(a.IsPast(r.Context(), q.At), a.KnowSources(r.Context(), q.Sources)); err != nil {
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

// pagesOf returns after if the search has pages.
func pagesOf(q *query.Query, after func(i int) string) func(i int) string {
	if q.Limit == 0 {
		return nil
	}
	return after
}

// Page yields hazards until the written output reaches the size of a page; the rest goes to the
// next page.
func (f *Found) Page(written interface{ Len() int }) iter.Seq2[*hazard.Hazard, int] {
	return f.Reader.All(func(yield func(*hazard.Hazard, int) bool) {
		for i, h := range f.Hazards {
			if i > 0 && f.after != nil && written.Len() >= route.PageBytes {
				f.Hazards, f.Cursor = f.Hazards[:i], f.after(i-1)
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
func (a *Lists) answerFound(w http.ResponseWriter, r *http.Request, f format.Format, q *query.Query, found *Found) error {
	wish, err := a.Wish(r, r.URL.Query())
	if err != nil {
		return err
	}
	found.Reader = wish.Reader()
	body, err := a.foundBody(w, r, f, q, found)
	if err != nil {
		return err
	}
	if !wish.None() {
		route.SetLanguages(w, found.Reader.Used())
	}
	a.SetFreshness(r.Context(), w, found.Number, found.At != nil)
	if found.Cursor != "" {
		next := r.URL.Query()
		next.Set("cursor", found.Cursor)
		a.LinkNext(w, r, next)
	}
	return route.Answer(w, r, body)
}

// usualHazard is more than most hazards have of JSON, in bytes, with the quarter that the encoder keeps free.
const usualHazard = 2000

func (a *Lists) foundBody(w http.ResponseWriter, r *http.Request, f format.Format, q *query.Query, found *Found) (*encoded.Body, error) {
	var text bytes.Buffer
	if f == format.JSON {
		text.Grow(min(len(found.Hazards)*usualHazard, route.PageBytes)) // to grow as it comes costs more than twice the memory
		text.WriteByte('[')
		for h, products := range found.Page(&text) {
			if text.Len() > 1 {
				text.WriteByte(',')
			}
			if err := json.MarshalWrite(&text, wire.FromHazard(h, products, a.BaseURL)); err != nil {
				return nil, err
			}
		}
		text.WriteByte(']')
		return encoded.NewBody(text.Bytes(), found.Restricted), nil
	}
	if f == format.CAP { // CAP has no lists: a feed links to the alerts
		f = format.Atom
	}
	o := a.documentOf(r, f)
	o.Title, o.Updated = "Hazards", found.updated
	if f == format.GeoJSON || f == format.KML { // these formats contain the number
		if err := a.CountFound(r.Context(), q, found); err != nil {
			return nil, err
		}
	}
	o.Page = func() format.Page {
		p := format.Page{Matched: found.Matched, Links: []format.Link{{Href: o.Self, Rel: "self", Type: f.MediaType(false)}}}
		if found.Cursor != "" {
			next := r.URL.Query()
			next.Set("f", f.String())
			next.Set("cursor", found.Cursor)
			p.Links = append(p.Links, format.Link{Href: a.PageAddress(r, next), Rel: "next", Type: f.MediaType(false)})
		}
		return p
	}
	if err := a.Encode(r.Context(), &text, a.storeAt(found.At), f, o, found.Page(&text)); err != nil {
		return nil, err
	}
	sendAs(w, f, false, "hazards")
	return encoded.NewBody(text.Bytes(), found.Restricted), nil
}

// answerHazardAt serves one hazard as of an earlier moment.
func (a *Lists) answerHazardAt(w http.ResponseWriter, r *http.Request, who *auth.Caller, f format.Format, at hazard.Instant, wish lang.Wish) error {
	return a.Hold(w, r, who, route.CostOfPage, func(w http.ResponseWriter) error { return a.makeHazardAt(w, r, who, f, at, wish) })
}

func (a *Lists) makeHazardAt(w http.ResponseWriter, r *http.Request, who *auth.Caller, f format.Format, at hazard.Instant, wish lang.Wish) error {
	h, err := a.hazardAt(r, at)
	if err != nil {
		return err
	}
	products, err := a.Store.Log.ProductsAt(r.Context(), h.ID, who.Orgs, at)
	if err != nil {
		return err
	}
	a.tellEnd(w, r, h)
	h = route.InLanguage(w, h, wish)
	if f == format.JSON {
		return a.answerAt(w, r, wire.FromHazard(h, len(products), a.BaseURL), false, at)
	}
	body, err := a.hazardDocument(w, r, a.storeAt(&at), f, h, len(products))
	if err != nil {
		return err
	}
	number, err := a.Store.Log.ChangeAt(r.Context(), at)
	if err != nil {
		return err
	}
	a.SetFreshness(r.Context(), w, number, true)
	return route.Answer(w, r, body)
}

// answerProductsAt serves products as of an earlier moment.
func (a *Lists) answerProductsAt(w http.ResponseWriter, r *http.Request, products []*hazard.Product, at hazard.Instant) error {
	list := make([]wire.Product, len(products))
	for i, p := range products {
		list[i] = wire.FromProduct(p, a.BaseURL)
	}
	return a.answerAt(w, r, list, slices.ContainsFunc(products, func(p *hazard.Product) bool { return !p.Open() }), at)
}

// tellEnd sets headers that say why a hazard ended and which hazard replaced it (RFC 5829).
func (a *Lists) tellEnd(w http.ResponseWriter, r *http.Request, h *hazard.Hazard) {
	if h.Reason == "" {
		return
	}
	w.Header().Set("Hazardd-End", string(h.Reason))
	if h.Successor != uuid.Nil {
		w.Header().Set("Link", fmt.Sprintf(`<%s/hazards/%s>; rel="successor-version"`, a.Base(r), h.Successor))
	}
}
