package read

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/atlas/gazetteer"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/coverage"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/lang/words"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store/view"
)

// Here is what holds at a place, and who watches it.
type Here struct {
	Place   HerePlace         `json:"place"`
	Hazards []HereHazard      `json:"hazards"` // first what is there, the worst first, then what may be there or is near
	Watched coverage.Word     `json:"watched"`
	Sources []HereSource      `json:"sources"`
	Others  []gazetteer.Place `json:"-"` // other places of the name that was asked for
	// Ambiguous means that none of the places of that name is much larger than the others.
	Ambiguous bool `json:"-"`
}

// HerePlace is the place that was asked for.
type HerePlace struct {
	Name    string  `json:"name"`    // empty for a position
	Region  string  `json:"region"`  // state or province
	Country string  `json:"country"` // in the reader's language
	Lat     float64 `json:"lat"`
	Lon     float64 `json:"lon"`
}

// HereHazard is a hazard at or near a place.
type HereHazard struct {
	Summary
	DistanceKm *float64 `json:"distance_km"` // 0: it is there; null: only the region or country is known
	// Certain is false for a hazard that is only known to be somewhere in a region or country that holds
	// the place.
	Certain     bool   `json:"certain"`
	Instruction string `json:"instruction"` // what to do, in the words of the source or the editor; empty: nobody has said

	Until string `json:"-"`
	What  string `json:"-"`
}

// HereSource is a source that covers a place.
type HereSource struct {
	Name      string `json:"name"`
	Title     string `json:"title"`
	Authority string `json:"authority"`
	State     string `json:"state"`       // as in GET /sources
	Age       *int64 `json:"age_seconds"` // since it was last read; null: never
}

// nearKm is how near a hazard is told at a place outside of it, in kilometers: farther for a cyclone
// and for a strong earthquake.
func nearKm(h *hazard.Hazard) float64 {
	switch h.Type {
	case hazard.Cyclone:
		return 300
	case hazard.Earthquake:
		if m, ok := hazard.Measured(h.Measurements, hazard.Magnitude); ok { // shaking is felt about so far
			return min(max(math.Pow(10, 0.5*m.Value-0.8), 30), 300)
		}
		return 100
	}
	return 50
}

// Wanted is where somebody is, from the parameters lat and lon, or place.
func (a *Hazards) Wanted(values url.Values, language string) (*Here, error) {
	h := &Here{Hazards: []HereHazard{}, Sources: []HereSource{}}
	if !values.Has("place") {
		lat, errLat := route.FloatParameter(values, "lat", math.NaN(), -90, 90)
		lon, errLon := route.FloatParameter(values, "lon", math.NaN(), -180, 180)
		if err := cmp.Or(errLat, errLon); err != nil {
			return nil, err
		}
		if math.IsNaN(lat) || math.IsNaN(lon) {
			return nil, route.BadParameter("place", "is missing; expected a place, or lat and lon in degrees")
		}
		h.Place = HerePlace{Lat: lat, Lon: lon}
		return h, nil
	}
	q := strings.TrimSpace(values.Get("place"))
	switch {
	case !utf8.ValidString(q) || gazetteer.Fold(q) == "":
		return nil, route.BadParameter("place", "%.40q has no letter; expected the name of a place, such as Vienna, Austria", q)
	case utf8.RuneCountInString(q) > maxPlaceQuery:
		return nil, route.BadParameter("place", "has %d characters, at most %d are allowed", utf8.RuneCountInString(q), maxPlaceQuery)
	}
	found, _ := gazetteer.Search(q, language, 0, 30, gazetteer.Town)
	if len(found) == 0 {
		found, _ = gazetteer.Search(q, language, 0, 10, gazetteer.Area, gazetteer.Country)
	}
	if len(found) == 0 {
		return nil, &route.Problem{Status: http.StatusNotFound, Detail: "no place of this name is known; GET /places?q= finds names"}
	}
	best := found[0]
	h.Place = HerePlace{Name: best.Name, Region: best.Region, Country: gazetteer.CountryName(best.Country, language), Lat: best.Lat, Lon: best.Lon}
	for _, p := range found[1:] {
		if gazetteer.Fold(p.Name) == gazetteer.Fold(best.Name) {
			h.Others = append(h.Others, p)
		}
	}
	const much = 5 // times as many people
	h.Ambiguous = len(h.Others) > 0 && h.Others[0].People*much > best.People
	return h, nil
}

// Hold finds the hazards at and near the place, and who watches it. Drills are left out.
func (h *Here) fill(ctx context.Context, a *Hazards, v *view.View, wish lang.Wish, language *words.Language, now hazard.Instant) error {
	reader := wish.Reader()
	at := geo.Place(h.Place.Lon, h.Place.Lat)
	ranks := map[int64]float64{}
	for x := range v.Hazards(view.Filter{}, nil) {
		if x.Category == hazard.Exercise {
			continue
		}
		km, certain, ok, err := a.distanceTo(ctx, x, at, h.Place.Lon, h.Place.Lat)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		told := reader.Of(x)
		s, err := a.SummaryOf(ctx, told, language, now)
		if err != nil {
			return err
		}
		said, err := a.Headlines.Of(ctx, told, language, now)
		if err != nil {
			return err
		}
		ranks[x.ID], _ = hazard.Rank(x)
		h.Hazards = append(h.Hazards, HereHazard{Summary: s, DistanceKm: km, Certain: certain, Instruction: said.Instruction, Until: said.Until, What: said.What})
	}
	inside := func(x HereHazard) int {
		if x.Certain && *x.DistanceKm == 0 {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(h.Hazards, func(x, y HereHazard) int {
		return cmp.Or(cmp.Compare(inside(x), inside(y)), cmp.Compare(ranks[y.HazardID], ranks[x.HazardID]))
	})
	states, err := a.Sources(ctx)
	if err != nil && (states == nil || !errors.Is(err, hazard.ErrUnavailable)) {
		return err
	}
	about := a.Coverage.About(a.Coverage.At(h.Place.Lon, h.Place.Lat), poll.Readings(states), now)
	h.Watched = about.Answer
	for _, s := range about.Sources {
		if s.Responsible {
			h.Sources = append(h.Sources, HereSource{Name: s.Name, Title: s.Title, Authority: s.Authority, State: s.State, Age: s.Age})
		}
	}
	return nil
}

// distanceTo returns how far a hazard is from a place in kilometers, 0 inside its area; nil if only
// the region or country around is known. ok is false if it is neither there nor near.
func (a *Hazards) distanceTo(ctx context.Context, h *hazard.Hazard, at geo.Shape, lon, lat float64) (km *float64, certain, ok bool, err error) {
	refs := h.Areas
	if h.Somewhere() {
		refs = h.StandIns
	}
	shapes, err := a.Store.Hazards.Shapes(ctx, refs)
	if err != nil {
		return nil, false, false, err
	}
	if h.Somewhere() {
		holds := slices.ContainsFunc(shapes, func(s geo.Shape) bool { return geo.Intersects(at, s) })
		return nil, false, holds, nil
	}
	if len(shapes) == 0 {
		shapes = []geo.Shape{geo.Place(h.Longitude, h.Latitude)}
	}
	limit := nearKm(h) * 1000
	near := false
	for _, b := range geo.BoundsOf(at).Widened(limit) {
		box := geo.BoundsOf(shapes...)
		near = near || b.South <= box.North && b.North >= box.South && (box.West > box.East || b.West <= box.East && b.East >= box.West)
	}
	if !near {
		return nil, true, false, nil
	}
	meters, far := geo.NewReach(shapes...).Distance(lon, lat, limit)
	if far {
		return nil, true, false, nil
	}
	distance := math.Round(meters/100) / 10
	return &distance, true, true, nil
}

// HereOf returns what holds at a place for a reader.
func (a *Hazards) HereOf(ctx context.Context, h *Here, wish lang.Wish, language *words.Language, now hazard.Instant) error {
	return h.fill(ctx, a, a.Live.View(now), wish, language, now)
}

// HereJSON serves what holds at a place as JSON.
func (a *Hazards) HereJSON(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	values, err := route.Parameters(r, "lat", "lon", "place", route.LangParameter)
	if err != nil {
		return err
	}
	wish, err := a.Wish(r, values)
	if err != nil {
		return err
	}
	language := words.Best(wish.Tags()...)
	h, err := a.Wanted(values, language.ID)
	if err != nil {
		return err
	}
	now := a.Now()
	if err := a.HereOf(r.Context(), h, wish, language, now); err != nil {
		return err
	}
	route.SetLanguages(w, []string{language.ID})
	body, err := route.JSONBody(h, false)
	if err != nil {
		return err
	}
	return a.AnswerList(w, r, a.Live.View(now), body, now)
}
