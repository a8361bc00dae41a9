package read

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/atlas/gazetteer"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/lang/words"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// The limits of a search for places.
const (
	maxPlaceQuery = 100 // characters: the longest name has 80
	maxPlaces     = 50
	fewPlaces     = 10
)

// foundPlace is a place as answers have it.
type foundPlace struct {
	Kind        gazetteer.Kind `json:"kind"`
	Name        string         `json:"name"`
	Code        *string        `json:"code"`
	Country     string         `json:"country"`
	CountryName string         `json:"country_name"`
	Region      string         `json:"region"`
	People      *int           `json:"people"`
	Lon         float64        `json:"lon"`
	Lat         float64        `json:"lat"`
	Box         [4]float64     `json:"bbox"`
}

func toFound(p gazetteer.Place, lang string) foundPlace {
	f := foundPlace{Kind: p.Kind, Name: p.Name, Country: p.Country, CountryName: gazetteer.CountryName(p.Country, lang), Region: p.Region, Lon: p.Lon, Lat: p.Lat,
		Box: [4]float64{p.Box.West, p.Box.South, p.Box.East, p.Box.North}}
	if p.Code != "" {
		f.Code = &p.Code
	}
	if p.Kind == gazetteer.Town {
		f.People = &p.People
	}
	return f
}

// places serves the places that match a name.
func (a *Lists) places(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	values, err := route.Parameters(r, "q", "kind", "limit", "cursor", route.LangParameter)
	if err != nil {
		return err
	}
	wish, err := a.Wish(r, values)
	if err != nil {
		return err
	}
	q := strings.TrimSpace(values.Get("q"))
	switch {
	case !utf8.ValidString(q):
		return route.BadParameter("q", "is not UTF-8")
	case utf8.RuneCountInString(q) > maxPlaceQuery:
		return route.BadParameter("q", "has %d characters, at most %d are allowed", utf8.RuneCountInString(q), maxPlaceQuery)
	case strings.ContainsFunc(q, unicode.IsControl):
		return route.BadParameter("q", "has a control character; expected a name")
	case gazetteer.Fold(q) == "":
		return route.BadParameter("q", "%q has no letter; expected the name of a place or its beginning, such as Vienna", q)
	}
	var kinds []gazetteer.Kind
	if values.Has("kind") {
		for name := range strings.SplitSeq(values.Get("kind"), ",") {
			kind := gazetteer.Kind(name)
			if !slices.Contains(gazetteer.Kinds(), kind) {
				return route.BadParameter("kind", "%.40q is not a kind; expected one of country, town, area", name)
			}
			kinds = append(kinds, kind)
		}
		slices.Sort(kinds)
		kinds = slices.Compact(kinds)
	}
	limit, err := route.IntParameter(values, "limit", fewPlaces, 1, maxPlaces)
	if err != nil {
		return err
	}
	from, err := route.IntParameter(values, "cursor", 0, 0, 1_000_000)
	if err != nil {
		return err
	}
	lang := words.Best(wish.Tags()...).ID
	found, total := gazetteer.Search(q, lang, int(from), int(limit), kinds...)
	answer := struct {
		Places []foundPlace `json:"places"`
		Total  int          `json:"total"`
		Next   *string      `json:"next"`
	}{Places: []foundPlace{}, Total: total}
	for _, p := range found {
		answer.Places = append(answer.Places, toFound(p, lang))
	}
	if next := int(from) + len(found); len(found) > 0 && next < total {
		cursor := strconv.Itoa(next)
		answer.Next = &cursor
	}
	route.SetLanguages(w, []string{lang})
	return route.AnswerJSON(w, r, answer, false)
}

// place serves a country or an area with its outline.
func (a *Lists) place(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	values, err := route.Parameters(r, route.LangParameter)
	if err != nil {
		return err
	}
	wish, err := a.Wish(r, values)
	if err != nil {
		return err
	}
	lang := words.Best(wish.Tags()...).ID
	p, ok := gazetteer.Find(r.PathValue("place"), lang)
	if !ok {
		return &route.Problem{Status: http.StatusNotFound, Detail: "no such place; GET /places?q= lists countries and areas with their codes"}
	}
	found := toFound(p, lang)
	w.Header()["Content-Type"] = []string{GeoJSON}
	route.SetLanguages(w, []string{lang})
	return route.AnswerJSON(w, r, struct {
		Type       string         `json:"type"`
		ID         string         `json:"id"`
		Box        [4]float64     `json:"bbox"`
		Geometry   jsontext.Value `json:"geometry"`
		Properties foundPlace     `json:"properties"`
	}{"Feature", p.Code, found.Box, jsontext.Value(p.Shape().GeoJSON()), found}, false)
}
