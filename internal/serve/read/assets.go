package read

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/atlas/asset"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/enrich/exposure"
	"github.com/hazardd/hazardd/internal/lang/words"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	pages "github.com/hazardd/hazardd/internal/serve/page"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store"
)

// The bounds of lists of assets.
const (
	assetsPage    = 1000
	maxAssetsPage = 5000
	assetsShown   = 100 // in an exposure, a page or a brief
	maxAssetsKm   = 300
)

// Only members of an organization can see its assets. No cache stores an answer that contains any.

// assetSet is the set of assets that an organization has loaded.
type assetSet struct {
	Organization string      `json:"organization"`
	Count        int64       `json:"count"`
	Areas        int64       `json:"areas"`
	BBox         *[4]float64 `json:"bbox"`
	Loaded       *string     `json:"loaded"`
	By           *string     `json:"loaded_by"`
}

// AssetSetOf describes a set of assets.
func (a *Assets) AssetSetOf(s *asset.Set) assetSet {
	out := assetSet{Organization: a.Acronym(s.Org), Count: s.Count, Areas: s.Areas}
	if s.Count > 0 {
		loaded := s.Loaded.String()
		out.BBox, out.Loaded, out.By = &[4]float64{s.Box.West, s.Box.South, s.Box.East, s.Box.North}, &loaded, &s.By
	}
	return out
}

// listedAsset is an asset in a list.
type listedAsset struct {
	Organization string   `json:"organization"`
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Kind         string   `json:"kind"`
	Inside       *bool    `json:"inside,omitzero"` // whether it is inside a hazard's area, if the list is for a hazard
	Km           *float64 `json:"distance_km,omitzero"`
	Lon          float64  `json:"lon"`
	Lat          float64  `json:"lat"`
	IsArea       bool     `json:"is_area"`
	shape        geo.Shape
}

func (a *Assets) listed(org int64, as *asset.Asset) listedAsset {
	return listedAsset{Organization: a.Acronym(org), ID: as.ID, Name: as.Name, Kind: as.Kind, Lon: as.Lon, Lat: as.Lat, IsArea: !as.Area.IsZero(), shape: as.Area}
}

// listedAt returns the list entry of an asset near a hazard.
func (a *Assets) listedAt(at *exposure.AssetAt) listedAsset {
	out := a.listed(at.Org, &at.Asset)
	km := float64(at.Metres) / 1000
	out.Inside, out.Km = &at.Inside, &km
	return out
}

type assetFeature struct {
	Type       string         `json:"type"`
	Geometry   jsontext.Value `json:"geometry"`
	Properties listedAsset    `json:"properties"`
}

// assetForm parses the format of a list of assets.
func assetForm(r *http.Request, values url.Values) (string, error) {
	known := []string{"json", "geojson", "csv"}
	if values.Has("f") {
		f := values.Get("f")
		if !slices.Contains(known, f) {
			return "", route.BadParameter("f", "%.60q is not one of %s", f, strings.Join(known, ", "))
		}
		return f, nil
	}
	accept := strings.Join(r.Header["Accept"], ",")
	switch {
	case strings.Contains(accept, GeoJSON):
		return "geojson", nil
	case strings.Contains(accept, "text/csv"):
		return "csv", nil
	}
	return "json", nil
}

// assetList parses the format and the size of a list of assets.
func assetList(r *http.Request, values url.Values) (form string, limit int64, err error) {
	if form, err = assetForm(r, values); err != nil {
		return form, 0, err
	}
	limit, err = route.IntParameter(values, "limit", assetsPage, 1, maxAssetsPage)
	return form, limit, err
}

// answerAssets writes a list of assets in a format; whole is the list as JSON.
func answerAssets(w http.ResponseWriter, r *http.Request, form string, list []listedAsset, more bool, whole any) error {
	switch form {
	case "geojson":
		features := make([]assetFeature, len(list))
		for i, l := range list {
			shape := l.shape
			if shape.IsZero() {
				shape = geo.Place(l.Lon, l.Lat)
			}
			features[i] = assetFeature{"Feature", jsontext.Value(shape.GeoJSON()), l}
		}
		w.Header()["Content-Type"] = []string{GeoJSON}
		return route.AnswerJSON(w, r, struct {
			Type     string         `json:"type"`
			Features []assetFeature `json:"features"`
			More     bool           `json:"more"`
		}{"FeatureCollection", features, more}, true)
	case "csv":
		w.Header()["Content-Type"] = []string{"text/csv; charset=utf-8; header=present"}
		return route.Answer(w, r, encoded.NewBody(assetsCSV(list), true))
	}
	return route.AnswerJSON(w, r, whole, true)
}

// assetsCSV writes one row per asset. The file can be loaded again.
func assetsCSV(list []listedAsset) []byte {
	var out strings.Builder
	near := len(list) > 0 && list[0].Inside != nil
	out.WriteString("organization,id,name,kind,lon,lat,wkt")
	if near {
		out.WriteString(",inside,distance_km")
	}
	out.WriteString("\r\n")
	text := func(s string) string { return `"` + strings.ReplaceAll(format.Guarded(s), `"`, `""`) + `"` }
	for _, l := range list {
		wkt := ""
		if l.IsArea {
			wkt = `"` + l.shape.WKT() + `"`
		}
		fmt.Fprintf(&out, "%s,%s,%s,%s,%s,%s,%s", text(l.Organization), text(l.ID), text(l.Name), text(l.Kind), decimal(l.Lon), decimal(l.Lat), wkt)
		if near {
			fmt.Fprintf(&out, ",%t,%s", *l.Inside, decimal(*l.Km))
		}
		out.WriteString("\r\n")
	}
	return []byte(out.String())
}

// MemberOrg returns the organization in the path if the caller is a member. To others it seems to
// have no assets.
func (a *Assets) MemberOrg(r *http.Request, who *auth.Caller) (auth.Org, error) {
	org, err := a.Org(r.PathValue("org"))
	if err == nil && !slices.Contains(who.Orgs, org.ID) {
		err = fmt.Errorf("%w: assets of %s", hazard.ErrNotFound, org.Acronym)
	}
	return org, err
}

// assets lists the assets of an organization.
func (a *Assets) assets(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, err := route.Parameters(r, "bbox", "limit", "after", "f")
	if err != nil {
		return err
	}
	org, err := a.MemberOrg(r, who)
	if err != nil {
		return err
	}
	form, limit, err := assetList(r, values)
	if err != nil {
		return err
	}
	var boxes []geo.Box
	if values.Has("bbox") {
		var b geo.Box
		if b.West, b.South, b.East, b.North, err = geo.ParseBBox(values.Get("bbox")); err != nil {
			return route.BadParameter("bbox", "%v", err)
		}
		boxes = b.Widened(0)
	}
	var list []listedAsset
	set, more, last := asset.Set{Org: org.ID}, false, int64(0)
	err = a.Store.Assets.Read(r.Context(), func(id int64) bool { return id == org.ID }, func(all *store.AssetReader) error {
		if len(all.Sets) == 0 {
			return nil
		}
		set = all.Sets[0]
		after, err := afterAsset(values, set.ID)
		if err != nil {
			return err
		}
		var found []*asset.Asset
		if boxes == nil {
			err = all.After(r.Context(), &set, after, func(as *asset.Asset) bool {
				found = append(found, as)
				return len(found) <= int(limit)
			})
		} else {
			err = all.In(r.Context(), &set, boxes, func(as *asset.Asset) {
				if as.N > after {
					found = append(found, as)
				}
				if len(found) > 2*maxAssetsPage {
					found = firstAssets(found, int(limit)+1)
				}
			})
			found = firstAssets(found, int(limit)+1)
		}
		if more = len(found) > int(limit); more {
			found = found[:limit]
		}
		for _, as := range found {
			list, last = append(list, a.listed(org.ID, as)), as.N
		}
		return err
	})
	if err != nil {
		return err
	}
	if more {
		next := r.URL.Query()
		next.Set("after", fmt.Sprintf("%d.%d", set.ID, last))
		a.LinkNext(w, r, next)
	}
	return answerAssets(w, r, form, list, more, struct {
		assetSet `json:",inline"`
		Assets   []listedAsset `json:"assets"`
		More     bool          `json:"more"`
	}{a.AssetSetOf(&set), list, more})
}

// firstAssets returns the first n of a list.
func firstAssets(list []*asset.Asset, n int) []*asset.Asset {
	slices.SortFunc(list, func(a, b *asset.Asset) int { return int(a.N - b.N) })
	return list[:min(n, len(list))]
}

// afterAsset parses the asset after which a page begins.
func afterAsset(values url.Values, set int64) (int64, error) {
	if !values.Has("after") {
		return 0, nil
	}
	id, n, _ := strings.Cut(values.Get("after"), ".")
	after, err := strconv.ParseInt(n, 10, 64)
	if err != nil || after < 0 {
		return 0, route.BadParameter("after", "%.60q is not a cursor from a Link header", values.Get("after"))
	}
	if id != strconv.FormatInt(set, 10) {
		return 0, route.BadParameter("after", "the assets were replaced meanwhile; begin with the first page")
	}
	return after, nil
}

// reachedAssets lists the caller's assets that a hazard reaches.
type reachedAssets struct {
	HasArea  bool          `json:"has_area"` // whether the hazard has an area; if not, distances are from its point
	Km       float64       `json:"within_km"`
	Inside   *int64        `json:"inside"` // null if unknown: nothing is loaded, or the hazard has no area
	Near     *int64        `json:"near"`
	Text     string        `json:"text"`
	Sets     []assetSet    `json:"organizations"`
	Assets   []listedAsset `json:"assets"`
	More     bool          `json:"more"`
	NextPage string        `json:"-"`
	Said     pages.Assets  `json:"-"`
}

// howFar is the distance from a hazard within which assets are listed, in kilometers.
type howFar struct{ ofArea, ofPoint float64 }

var (
	insideAlone = howFar{0, exposure.NearKm} // for a hazard without an area: nothing can be inside
	AndBeside   = howFar{exposure.BesideKm, exposure.NearKm}
)

// hazardAssets lists the caller's assets inside a hazard, or near it.
func (a *Assets) hazardAssets(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, at, err := a.readAt(r, "within_km", "organization", "limit", "after", "f", route.LangParameter)
	if err != nil {
		return err
	}
	wish, err := a.Wish(r, values)
	if err != nil {
		return err
	}
	form, limit, err := assetList(r, values)
	if err != nil {
		return err
	}
	far := insideAlone
	if values.Has("within_km") {
		km, err := strconv.ParseFloat(values.Get("within_km"), 64)
		if err != nil || !(km >= 0 && km <= maxAssetsKm) {
			return route.BadParameter("within_km", "%.60q is not a number of kilometers from 0 to %d", values.Get("within_km"), maxAssetsKm)
		}
		far = howFar{km, km}
	}
	orgs := who.Orgs
	if values.Has("organization") {
		org, err := a.Org(values.Get("organization"))
		if err != nil || !slices.Contains(who.Orgs, org.ID) {
			return route.BadParameter("organization", "%.60q is none that you are a member of", values.Get("organization"))
		}
		orgs = []int64{org.ID}
	}
	h, err := a.hazardNowOrAt(r, at)
	if err != nil {
		return err
	}
	out, err := a.AssetsOf(r.Context(), h, orgs, far, values.Get("after"), int(limit), words.Best(wish.Tags()...))
	if err != nil {
		return err
	}
	if out.More {
		next := r.URL.Query()
		next.Set("after", out.NextPage)
		a.LinkNext(w, r, next)
	}
	return answerAssets(w, r, form, out.Assets, out.More, out)
}

// AssetsOf finds the organizations' assets near a hazard, and formats their number in a language.
func (a *Assets) AssetsOf(ctx context.Context, h *hazard.Hazard, orgs []int64, far howFar, after string, limit int, language *words.Language) (*reachedAssets, error) {
	where, err := exposure.WhereIs(ctx, a.Store, h)
	if err != nil {
		return nil, err
	}
	km := far.ofArea
	if !where.HasArea {
		km = far.ofPoint
	}
	wanted := exposure.Wanted{Org: func(id int64) bool { return slices.Contains(orgs, id) }, Km: km, Limit: limit}
	key := fmt.Sprintf("%x", sha256.Sum256([]byte(h.ExposureKey())))[:12]
	if after != "" {
		var p exposure.Place
		var of string
		if n, err := fmt.Sscanf(after, "%12s.%d.%d.%d", &of, &p.Metres, &p.Set, &p.N); err != nil || n != 4 {
			return nil, route.BadParameter("after", "%.60q is not a cursor from a Link header", after)
		}
		if of != key {
			return nil, route.BadParameter("after", "the area of the hazard is another now; begin with the first page")
		}
		wanted.After = &p
	}
	reached, err := where.Assets(ctx, a.Store, wanted)
	if err != nil {
		return nil, err
	}
	if p := wanted.After; p != nil && !slices.ContainsFunc(reached.Sets, func(s asset.Set) bool { return s.ID == p.Set }) {
		return nil, route.BadParameter("after", "the assets were replaced meanwhile; begin with the first page")
	}
	out := &reachedAssets{HasArea: where.HasArea, Km: km, Sets: []assetSet{}, Assets: []listedAsset{}, More: reached.More}
	said := &out.Said
	*said = pages.Assets{HasArea: where.HasArea, Km: km, Inside: reached.Inside, Near: reached.Near}
	for i := range reached.Sets {
		out.Sets = append(out.Sets, a.AssetSetOf(&reached.Sets[i]))
		said.Total += reached.Sets[i].Count
	}
	for i := range reached.List {
		l := a.listedAt(&reached.List[i])
		out.Assets = append(out.Assets, l)
		said.List = append(said.List, pages.Asset{Name: l.Name, Kind: l.Kind, Org: l.Organization, Inside: *l.Inside, Km: *l.Km})
	}
	out.Text = said.Words(language)
	if said.Total > 0 && where.HasArea {
		out.Inside = &reached.Inside
	}
	if said.Total > 0 && km > 0 {
		out.Near = &reached.Near
	}
	if out.More {
		p := reached.List[len(reached.List)-1].Place()
		out.NextPage = fmt.Sprintf("%s.%d.%d.%d", key, p.Metres, p.Set, p.N)
	}
	return out, nil
}
