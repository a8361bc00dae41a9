package browser

import (
	"errors"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/atlas/gazetteer"
	"github.com/hazardd/hazardd/internal/atlas/town"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/lang/words"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	pages "github.com/hazardd/hazardd/internal/serve/page"
	"github.com/hazardd/hazardd/internal/serve/read"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// here serves what holds at a place: to programs as JSON, to people as a page without scripts.
func (a *Pages) here() http.Handler {
	page := a.pageHandler(a.visited("GET /here", a.Holds(route.CostOfPage, a.herePage)))
	api := a.Guarded(a.Holds(route.CostOfPage, a.HereJSON))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || route.Keyed(r) != nil || wantsJSON(r) {
			api.ServeHTTP(w, r)
			return
		}
		page.ServeHTTP(w, r)
	})
}

// herePage answers as a page. It ignores parameters that portals add to links.
func (a *Pages) herePage(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values := r.URL.Query()
	p := &pages.Here{Frame: a.frame(r), Now: a.Now(), Asked: strings.TrimSpace(values.Get("place"))}
	p.User = who.Name
	if who.Role == auth.Public {
		p.Login = a.Cookies.Root + "/login?next=" + url.QueryEscape("/here")
	}
	if values.Get("place") == "" {
		values.Del("place")
	}
	if values.Has("place") || values.Has("lat") || values.Has("lon") {
		if err := a.fillHere(r, p, values); err != nil {
			return err
		}
	}
	html, err := p.HTML()
	if err != nil {
		return err
	}
	a.SetView(w, a.Live.View(p.Now), p.Now)
	w.Header()["Content-Type"] = route.HTMLType
	return route.Answer(w, r, encoded.NewBody(html, true))
}

func (a *Pages) fillHere(r *http.Request, p *pages.Here, values url.Values) error {
	h, err := a.Wanted(values, p.Language.ID)
	if problem, ok := errors.AsType[*route.Problem](err); ok {
		p.Fault = p.Language.Say("hereNoPlace")
		if problem.Status != http.StatusNotFound {
			p.Fault = p.Language.Say("hereBadPlace")
		}
		return nil
	}
	if err != nil {
		return err
	}
	wish := lang.Accepted(r.Header["Accept-Language"]).Or(a.Languages)
	if asked, err := lang.Parse(values.Get(route.LangParameter)); err == nil {
		wish = asked.Or(wish)
	}
	if err := a.HereOf(r.Context(), h, wish, p.Language, p.Now); err != nil {
		return err
	}
	p.Place, p.Watch, p.Which = placed(h.Place, p.Language), string(h.Watched), h.Ambiguous
	if h.Ambiguous {
		p.Places = append(p.Places, pages.HerePlace{Name: p.Place, Query: positionOf(h.Place.Lat, h.Place.Lon, p.Language.ID)})
	}
	for _, o := range h.Others {
		name := placeName(read.HerePlace{Name: o.Name, Region: o.Region, Country: gazetteer.CountryName(o.Country, p.Language.ID)})
		p.Places = append(p.Places, pages.HerePlace{Name: name, Query: positionOf(o.Lat, o.Lon, p.Language.ID)})
	}
	for _, s := range h.Sources {
		p.Who = append(p.Who, s.Title)
	}
	for _, x := range h.Hazards {
		level, class := p.LevelOf(x.Severity)
		one := pages.HereHazard{Headline: x.Headline, Instruction: x.Instruction, Until: x.Until, Level: level, Class: class, Href: p.Root + "/h/" + x.UUID, Maybe: !x.Certain}
		if x.Certain && *x.DistanceKm == 0 {
			p.Here = append(p.Here, one)
			continue
		}
		if x.DistanceKm != nil {
			one.Away = p.Away(*x.DistanceKm)
		}
		p.Near = append(p.Near, one)
	}
	p.Link = a.BaseURL + "/here?" + string(positionOf(h.Place.Lat, h.Place.Lon, p.Language.ID))
	return nil
}

// insideKm is how far from a town a position may be without its distance being told.
const insideKm = 5

// points are the directions from a town, from north on.
var points = []string{"N", "NE", "E", "SE", "S", "SW", "W", "NW"}

// placed is a place as placeName has it; a position with the nearest town, and how far it is from it.
func placed(p read.HerePlace, l *words.Language) string {
	name := placeName(p)
	near, ok := town.Nearest(p.Lon, p.Lat)
	if p.Name != "" || !ok {
		return name
	}
	at := placeName(read.HerePlace{Name: near.Name, Region: near.State, Country: gazetteer.CountryName(near.Country, l.ID)})
	if near.Km >= insideKm {
		at = l.Say("headline.from."+points[int(math.Round(near.Bearing/45))%len(points)], "km", strconv.Itoa(int(math.Round(near.Km))), "place", at)
	}
	return name + l.Say("headline.bracket", "s", at)
}

// placeName is a place with its state and country, or a position.
func placeName(p read.HerePlace) string {
	if p.Name == "" {
		return strconv.FormatFloat(p.Lat, 'f', 3, 64) + ", " + strconv.FormatFloat(p.Lon, 'f', 3, 64)
	}
	name := p.Name
	for _, more := range []string{p.Region, p.Country} {
		if more != "" && more != name {
			name += ", " + more
		}
	}
	return name
}

func positionOf(lat, lon float64, language string) template.URL {
	return template.URL(url.Values{"lat": {strconv.FormatFloat(lat, 'f', -1, 64)}, "lon": {strconv.FormatFloat(lon, 'f', -1, 64)}, "lang": {language}}.Encode()) // encoded, so the template leaves it as it is
}
