package read

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/lang/words"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store/view"
)

// headline serves what a hazard is, how bad, where and until when, and what to do, in the reader's
// language. With at, it is what was known then, as it was said then.
func (a *Details) headline(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	values, at, err := a.readAt(r, route.LangParameter)
	if err != nil {
		return err
	}
	wish, err := a.Wish(r, values)
	if err != nil {
		return err
	}
	h, err := a.hazardNowOrAt(r, at)
	if err != nil {
		return err
	}
	now := a.Now()
	if at != nil {
		now = *at
	}
	language := words.Best(wish.Tags()...)
	said, err := a.Headlines.Of(r.Context(), wish.Reader().Of(h), language, now)
	if err != nil {
		return err
	}
	route.SetLanguages(w, []string{language.ID})
	if at != nil {
		return a.answerAt(w, r, said, false, *at)
	}
	return route.AnswerJSON(w, r, said, false)
}

// Summary is a hazard in a list for people: no descriptions, times in RFC 3339.
type Summary struct {
	HazardID   int64            `json:"hazard_ID"`
	UUID       string           `json:"uuid"`
	Headline   string           `json:"headline"`
	Name       string           `json:"name"`
	Type       hazard.Type      `json:"type"`
	Severity   string           `json:"severity"`
	Category   hazard.Category  `json:"category"`
	Lat        float64          `json:"lat"`
	Lon        float64          `json:"lon"`
	BBox       [4]float64       `json:"bbox"` // west, south, east, north; west is greater than east across the antimeridian
	PlaceKind  hazard.PlaceKind `json:"place_kind"`
	Starts     string           `json:"starts"`
	Ends       *string          `json:"ends"` // null: nobody has said when it ends
	Updated    string           `json:"updated"`
	Importance *int             `json:"importance"` // null after the end
	People     *int64           `json:"people"`     // null: not known
}

// SummaryOf returns the summary of a hazard. Its box is around its area, or around where it possibly
// is if only a region or country is known.
func (a *Hazards) SummaryOf(ctx context.Context, h *hazard.Hazard, language *words.Language, at hazard.Instant) (Summary, error) {
	said, err := a.Headlines.Of(ctx, h, language, at)
	if err != nil {
		return Summary{}, err
	}
	shapes, err := a.Store.Hazards.Shapes(ctx, h.Viewed())
	if err != nil {
		return Summary{}, err
	}
	if len(shapes) == 0 {
		shapes = []geo.Shape{geo.Place(h.Longitude, h.Latitude)}
	}
	b := geo.BoundsOf(shapes...)
	s := Summary{HazardID: h.ID, UUID: h.UUID.String(), Headline: said.Headline, Name: h.Name, Type: h.Type, Severity: h.Severity.String(), Category: h.Category,
		Lat: h.Latitude, Lon: h.Longitude, BBox: [4]float64{b.West, b.South, b.East, b.North}, PlaceKind: h.Place(),
		Starts: h.Start.String(), Updated: h.Updated.String()}
	if h.EndGiven {
		s.Ends = new(h.End.String())
	}
	if h.Status == hazard.Active {
		s.Importance = new(hazard.ImportanceOf(h).Score)
	}
	if e := h.Exposed(); e != nil && e.People != nil {
		s.People = &e.People.People
	}
	return s, nil
}

// since is the parameter for what has changed in the summary.
const since = "since"

// summary serves the active hazards in short, the most important first.
func (a *Lists) summary(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, err := route.OptionalValues(r)
	if err != nil {
		return err
	}
	now := a.Now()
	v := a.Live.View(now)
	for name := range values {
		if name != route.LangParameter && name != since {
			return a.summaryOfSearch(w, r, who, v, now)
		}
	}
	if n := len(values[since]); n > 1 {
		return route.Repeated(since, n)
	}
	wish, err := a.Wish(r, values)
	if err != nil {
		return err
	}
	language := words.Best(wish.Tags()...)
	// A summary does not depend on the caller.
	body, err := a.lists.Entries(v, "summary "+language.ID, saidFor(language, now), view.Filter{}, nil, wish, values.Get(since), func(add func(int64, []byte) error, list iter.Seq2[*hazard.Hazard, int]) error {
		// The first request may be canceled while others still wait for the body.
		return a.eachSummary(context.WithoutCancel(r.Context()), ranked(list), language, now, add)
	})
	if errors.Is(err, encoded.ErrLarge) {
		return &route.Problem{Status: http.StatusServiceUnavailable, Detail: "there are too many hazards for one list: ask for a part of them, by a filter or limit"}
	}
	if err != nil {
		return err
	}
	if body == nil { // the whole list, which a browser keeps at its own address
		values.Del(since)
		whole := "summary"
		if len(values) > 0 {
			whole += "?" + values.Encode()
		}
		w.Header().Set("Location", whole)
		w.Header()["Cache-Control"] = route.NoStore
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	route.SetLanguages(w, []string{language.ID})
	return a.answerShared(w, r, who, v, body, now)
}

// summaryOfSearch serves the summaries of the active hazards that match a search.
func (a *Lists) summaryOfSearch(w http.ResponseWriter, r *http.Request, who *auth.Caller, v *view.View, now hazard.Instant) error {
	q, form, err := a.searchQuery(r, since)
	if err != nil {
		return err
	}
	if r.URL.Query().Has(since) {
		return route.BadParameter(since, "is for the whole list: it goes with %s alone", route.LangParameter)
	}
	if form != format.JSON || r.URL.Query().Has("f") {
		return route.BadParameter("f", "a summary is available as json only")
	}
	if !r.URL.Query().Has("sort") {
		q.Sort = byImportance
	}
	wish, err := a.Wish(r, r.URL.Query())
	if err != nil {
		return err
	}
	language := words.Best(wish.Tags()...)
	return a.Hold(w, r, who, costOfSearch(&q, form), func(w http.ResponseWriter) error {
		found := &Found{Number: v.Number(), At: q.At}
		if Narrow(&q.Statuses, hazard.Active) {
			if found, err = a.foundActive(r.Context(), q, who, v, now); err != nil {
				return err
			}
		}
		moment := now
		if q.At != nil {
			moment = *q.At
		}
		reader := wish.Reader()
		for i, h := range found.Hazards {
			found.Hazards[i] = reader.Of(h)
		}
		out := []byte{'['}
		err := a.eachSummary(r.Context(), found.Hazards, language, moment, func(_ int64, summary []byte) error {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, summary...)
			return nil
		})
		if err != nil {
			return err
		}
		a.SetPlace(r.Context(), w, &q)
		route.SetLanguages(w, []string{language.ID})
		a.SetFreshness(r.Context(), w, found.Number, found.At != nil)
		if found.Cursor != "" {
			next := r.URL.Query()
			next.Set("cursor", found.Cursor)
			a.LinkNext(w, r, next)
		}
		return route.Answer(w, r, encoded.NewBody(append(out, ']'), false))
	})
}

// eachSummary adds the summary of each hazard.
func (a *Lists) eachSummary(ctx context.Context, list []*hazard.Hazard, language *words.Language, at hazard.Instant, add func(id int64, summary []byte) error) error {
	for _, h := range list {
		s, err := a.SummaryOf(ctx, h, language, at)
		if err != nil {
			return err
		}
		text, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if err := add(h.ID, text); err != nil {
			return err
		}
	}
	return nil
}

// ranked returns hazards in the order of importance.
func ranked(list iter.Seq2[*hazard.Hazard, int]) []*hazard.Hazard {
	byID := map[int64]*hazard.Hazard{}
	var keys []query.Key
	for h := range list {
		k := byImportance.Key(h)
		keys, byID[k.ID] = append(keys, k), h
	}
	slices.SortFunc(keys, byImportance.Compare)
	all := make([]*hazard.Hazard, len(keys))
	for i, k := range keys {
		all[i] = byID[k.ID]
	}
	return all
}

// foundActive finds active hazards: now in the view, at an earlier moment or on a further page in the
// store.
func (a *Lists) foundActive(ctx context.Context, q query.Query, who *auth.Caller, v *view.View, now hazard.Instant) (*Found, error) {
	if q.At != nil || q.Cursor != "" {
		return a.SearchStore(ctx, q, who, now)
	}
	return a.searchView(ctx, q, who, v, now)
}
