package read

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/atlas/gazetteer"
	"github.com/hazardd/hazardd/internal/atlas/population"
	countries "github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/atlas/town"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format/headline"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/enrich/exposure"
	"github.com/hazardd/hazardd/internal/lang/words"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	pages "github.com/hazardd/hazardd/internal/serve/page"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// exposed is who and what is in a hazard's area. Unknown values are null.
type exposed struct {
	People  *int64          `json:"people"`
	Low     *int64          `json:"low"`
	High    *int64          `json:"high"`
	Text    string          `json:"text"`
	Why     string          `json:"why"` // why the numbers are unknown
	Method  string          `json:"method"`
	Year    *int            `json:"year"`
	Terms   string          `json:"terms"`
	Bands   []exposedBand   `json:"bands"`
	Places  []exposedPlace  `json:"places"`
	Regions []exposedRegion `json:"regions"`
	// RegionsText names some regions, and how many more there are. It is empty if none is known.
	RegionsText string `json:"regions_text"`
	// Arrivals is set for a storm whose source forecasts its winds or its positions, and for a tsunami
	// whose source says when waves reach coasts.
	Arrivals []arrival `json:"arrivals,omitzero"`
	// Shaking is how strongly towns were shaken by an earthquake.
	Shaking []shaken      `json:"shaking,omitzero"`
	Assets  []listedAsset `json:"assets"`
	// AssetsText says how many of the caller's assets are there. It is absent if the caller's
	// organizations have no assets.
	AssetsText string `json:"assets_text,omitzero"`
}

// arrival is a wind that the source's forecast has at a town by a time, a wave at a coast or, with a
// country alone, the center of the storm on land.
type arrival struct {
	By      string          `json:"by"`
	Country string          `json:"country"`
	Town    string          `json:"town,omitzero"`
	Lon     *float64        `json:"lon,omitzero"`
	Lat     *float64        `json:"lat,omitzero"`
	Kind    hazard.Quantity `json:"kind,omitzero"`
	Value   *float64        `json:"value,omitzero"`
	// Coast is the source's words for a place that a wave reaches, with its height if it says one.
	Coast string `json:"coast,omitzero"`
	// Observed means that the wave was measured there, and is not a forecast.
	Observed bool `json:"observed,omitzero"`
}

// shaken is a town that an earthquake has shaken.
type shaken struct {
	Town      string  `json:"town"`
	Country   string  `json:"country"`
	Lon       float64 `json:"lon"`
	Lat       float64 `json:"lat"`
	Intensity float64 `json:"intensity"`
	Text      string  `json:"text"` // the intensity in words
	Estimated bool    `json:"estimated,omitzero"`
}

// maxArrivals is how many towns an exposure names with their winds or their shaking, maxCoasts how
// many places with their waves.
const (
	maxArrivals = 12
	maxCoasts   = 40
)

// tell adds when a storm or a wave reaches which places, and which towns an earthquake shook.
func (a *Details) tell(ctx context.Context, out *exposed, h *hazard.Hazard, language *words.Language) error {
	storm, wave, quake := h.Type == hazard.Cyclone && h.ActiveAt(a.Now()), h.Type == hazard.Tsunami && h.ActiveAt(a.Now()), h.Type == hazard.Earthquake
	if !storm && !wave && !quake {
		return nil
	}
	shapes, err := a.DrawnOn(ctx, h)
	switch {
	case err != nil:
		return err
	case storm:
		out.Arrivals = a.winds(shapes)
	case wave:
		out.Arrivals = waves(shapes)
	default:
		for _, s := range pages.Shaking(h, shapes, maxArrivals) {
			out.Shaking = append(out.Shaking, shaken{s.Town.Name, s.Town.Country, s.Town.Lon, s.Town.Lat, s.Intensity, headline.Shaking(s.Intensity, language), s.Estimated})
		}
	}
	return nil
}

// waves says when waves reach coasts, and what was measured there, in order of time.
func waves(shapes []hazard.Shape) (list []arrival) {
	for i := range shapes {
		if s := &shapes[i]; s.Role == hazard.CoastShape && s.Label != "" && len(list) < maxCoasts {
			list = append(list, arrival{By: s.From.String(), Coast: s.Label, Observed: !s.Forecast})
		}
	}
	slices.SortStableFunc(list, func(x, y arrival) int { return strings.Compare(x.By, y.By) })
	return list
}

// winds says when a storm reaches which towns, by the forecast of its source.
func (a *Details) winds(shapes []hazard.Shape) (list []arrival) {
	for _, p := range pages.Arrivals(shapes, a.Now(), maxArrivals) {
		next := arrival{By: p.By.String(), Country: p.Country}
		if p.Town != nil {
			next.Town, next.Lon, next.Lat, next.Kind, next.Value = p.Town.Name, &p.Town.Lon, &p.Town.Lat, p.Band.Kind, &p.Band.Value
		}
		list = append(list, next)
	}
	return list
}

type exposedBand struct {
	Kind   string   `json:"kind"`
	Value  *float64 `json:"value"`
	People *int64   `json:"people"`
	Low    *int64   `json:"low"`
	High   *int64   `json:"high"`
}

type exposedPlace struct {
	Name       string  `json:"name"`
	Country    string  `json:"country"`
	Population int64   `json:"population"`
	Inside     bool    `json:"inside"`
	Km         float64 `json:"distance_km"`
	Direction  string  `json:"direction"`
	Lon        float64 `json:"lon"`
	Lat        float64 `json:"lat"`
}

type exposedRegion struct {
	Code string `json:"code"`
	Name string `json:"name"`
	By   string `json:"by"` // byArea or byTowns
}

// How a region was found.
const (
	byArea  = "area"
	byTowns = "towns"
)

func estimate(e *hazard.Estimate) (people, low, high *int64) {
	if e == nil {
		return nil, nil, nil
	}
	return &e.People, &e.Low, &e.High
}

func exposedOf(e *hazard.Exposure, at *Around, why string, grids ...func() (*population.Grid, error)) exposed {
	out := exposed{Text: "not known", Why: why, Bands: []exposedBand{}, Places: []exposedPlace{}, Regions: []exposedRegion{}, Assets: []listedAsset{}}
	if e == nil {
		return out
	}
	out.People, out.Low, out.High = estimate(e.People)
	out.Text, out.Why, out.Method = e.People.Words(), e.Why, e.Method
	if e.Year != 0 {
		out.Year = &e.Year
	}
	for _, of := range grids {
		if grid, err := of(); err == nil && grid.Name == e.Method && grid.Year == e.Year {
			out.Terms = grid.Terms
		}
	}
	for _, b := range e.Bands {
		band := exposedBand{Kind: b.Kind}
		if b.Value != 0 {
			band.Value = &b.Value
		}
		band.People, band.Low, band.High = estimate(b.People)
		out.Bands = append(out.Bands, band)
	}
	for _, p := range at.Towns {
		out.Places = append(out.Places, exposedPlace{p.Name, p.Country, p.People, p.Inside, p.Km, town.Direction(p.Bearing), p.Lon, p.Lat})
	}
	for _, code := range at.Lands.Countries {
		c, _ := countries.CountryByCode(code)
		out.Regions = append(out.Regions, exposedRegion{code, c.Name, byArea})
	}
	for _, r := range at.Lands.Divisions {
		how := byArea
		if r.ByTowns {
			how = byTowns
		}
		out.Regions = append(out.Regions, exposedRegion{r.Code, r.Name, how})
	}
	return out
}

// countSeconds is the usual time of a count, and so the Retry-After.
const countSeconds = "1"

// exposure serves who lives in a hazard's area: the latest count, or the one as of a moment. It
// does not count itself.
func (a *Details) exposure(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, at, err := a.readAt(r, "f", route.LangParameter)
	if err != nil {
		return err
	}
	wish, err := a.Wish(r, values)
	if err != nil {
		return err
	}
	form := "json"
	if accept := strings.Join(r.Header["Accept"], ","); strings.Contains(accept, GeoJSON) {
		form = "geojson"
	} else if strings.Contains(accept, "text/csv") {
		form = "csv"
	}
	if values.Has("f") {
		known := []string{"json", "geojson", "csv"}
		if form = values.Get("f"); !slices.Contains(known, form) {
			return route.BadParameter("f", "%q is not one of %s", form, strings.Join(known, ", "))
		}
	}
	h, err := a.hazardNowOrAt(r, at)
	if err != nil {
		return err
	}
	why := ""
	e := h.Exposed()
	if e != h.Exposure && !a.Counting { // the first thing to say of a server that counts nobody
		e = nil
	}
	switch {
	case e != nil:
	case at != nil:
		why = pages.NotThen
	case !h.ActiveAt(a.Now()):
		why = pages.EndedBefore
	case !a.Counting:
		why = pages.CountsNobody
	default:
		out := exposedOf(nil, nil, "people are being counted")
		if _, err := a.addAssets(r.Context(), &out, h, who, words.Best(wish.Tags()...)); err != nil {
			return err
		}
		return notYet(w, out)
	}
	towns, err := a.Around(r.Context(), h)
	if err != nil {
		return err
	}
	out := exposedOf(e, towns, why, population.Builtin, a.Grid)
	language := words.Best(wish.Tags()...)
	out.Why = pages.Uncounted(out.Why, language)
	lands := LandsIn(towns.Lands, language)
	out.RegionsText = lands.Words(language)
	if at == nil {
		if err := a.tell(r.Context(), &out, h, language); err != nil {
			return err
		}
	}
	switch form {
	case "geojson":
		w.Header()["Content-Type"] = []string{GeoJSON}
		return route.AnswerJSON(w, r, out.collection(), false)
	case "csv":
		text, err := out.csv()
		if err != nil {
			return err
		}
		w.Header()["Content-Type"] = []string{"text/csv; charset=utf-8; header=present"}
		return route.Answer(w, r, encoded.NewBody(text, false))
	}
	theirs, err := a.addAssets(r.Context(), &out, h, who, language)
	if err != nil {
		return err
	}
	return route.AnswerJSON(w, r, out, theirs)
}

// addAssets adds the assets of the caller's organizations. It reports whether they have any: the
// answer is then specific to the caller.
func (a *Details) addAssets(ctx context.Context, out *exposed, h *hazard.Hazard, who *auth.Caller, language *words.Language) (bool, error) {
	if len(who.Orgs) == 0 {
		return false, nil
	}
	reached, err := a.AssetsOf(ctx, h, who.Orgs, AndBeside, "", assetsShown, language)
	if err != nil || len(reached.Sets) == 0 {
		return false, err
	}
	out.Assets, out.AssetsText = reached.Assets, reached.Text
	return true, nil
}

// townBytes bounds the cache of towns and regions; perTown and perRegion are the approximate sizes
// of one.
const (
	townBytes = 4 << 20
	perTown   = 120
	perRegion = 40
)

// Around holds the towns and regions in a hazard's area.
type Around struct {
	Towns []population.Place
	Lands pages.Lands
}

// Around lists the towns and regions in a hazard's area, once its people have been counted; for a
// hazard with only a point, at once. The result is cached, because finding them costs as much as a
// count.
func (a *Details) Around(ctx context.Context, h *hazard.Hazard) (*Around, error) {
	counted := h.Exposed() != nil
	if h.Somewhere() || !counted && !pages.Pointed(h) {
		return &Around{}, nil
	}
	key := fmt.Sprint(h.ExposureKey(), h.Longitude, h.Latitude, counted)
	if known, ok := a.towns.Get(key); ok {
		return known, nil
	}
	areas, err := exposure.AreasOf(ctx, a.Store, h)
	if err != nil {
		return nil, err
	}
	towns, regions, err := population.Towns(areas, h.Longitude, h.Latitude)
	if err != nil {
		return nil, fmt.Errorf("towns of hazard %d: %w", h.ID, err)
	}
	found := &Around{towns, pages.LandsOf(h, regions)}
	a.towns.Put(key, found, len(key)+perTown*len(towns)+perRegion*len(regions))
	return found, nil
}

// LandsIn returns the lands with names in the language. English names are those of the regions.
func LandsIn(lands pages.Lands, language *words.Language) pages.Lands {
	if language != nil && language != words.English() {
		lands.Name = func(code string) string { return gazetteer.CountryName(code, language.ID) }
	}
	return lands
}

// notYet answers that the count is in progress.
func notYet(w http.ResponseWriter, out exposed) error {
	text, err := route.JSONBody(out, false)
	if err != nil {
		return err
	}
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = route.JSONType, route.NoStore
	h.Set("Retry-After", countSeconds)
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(text.Bytes(encoded.Identity)) // fails only if the client has gone
	return nil
}

// townFeature is a town as GeoJSON.
type townFeature struct {
	Type       string       `json:"type"`
	Geometry   townPoint    `json:"geometry"`
	Properties exposedPlace `json:"properties"`
}

type townPoint struct {
	Type        string     `json:"type"`
	Coordinates [2]float64 `json:"coordinates"`
}

type townCollection struct {
	Type     string        `json:"type"`
	Features []townFeature `json:"features"`
}

func (e *exposed) collection() townCollection {
	all := townCollection{"FeatureCollection", []townFeature{}}
	for _, p := range e.Places {
		all.Features = append(all.Features, townFeature{"Feature", townPoint{"Point", [2]float64{p.Lon, p.Lat}}, p})
	}
	return all
}

// csv writes one row per town. The names come from GeoNames; a test ensures that none begins like a
// spreadsheet formula.
func (e *exposed) csv() ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	rows := [][]string{{"name", "country", "population", "inside", "distance_km", "direction", "lon", "lat"}}
	for _, p := range e.Places {
		rows = append(rows, []string{p.Name, p.Country, strconv.FormatInt(p.Population, 10), strconv.FormatBool(p.Inside), decimal(p.Km), p.Direction, decimal(p.Lon), decimal(p.Lat)})
	}
	err := w.WriteAll(rows)
	return out.Bytes(), err
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
