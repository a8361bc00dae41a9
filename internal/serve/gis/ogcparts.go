package gis

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/serve/gis/ogc"
	pages "github.com/hazardd/hazardd/internal/serve/page"
	"github.com/hazardd/hazardd/internal/serve/read"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store/view"
	"github.com/hazardd/hazardd/wire"
)

// maxDrawings bounds the cache of shapes of active hazards, in bytes. With it a page only reads new
// documents from the store.
const maxDrawings = 32 << 20

// drawing is a shape with its geometry prepared for queries.
type drawing struct {
	hazard.Shape
	place geo.Shape
}

// drawings reads the shapes of a document.
func (a *OGC) drawings(ctx context.Context, ref hazard.ShapesRef) ([]drawing, error) {
	if list, ok := a.drawn.Get(ref.Digest); ok {
		return list, nil
	}
	shapes, err := a.Store.Hazards.ShapesOf(ctx, ref)
	if err != nil {
		return nil, err
	}
	list, size := make([]drawing, len(shapes)), 0
	for i, s := range shapes {
		place, err := geo.ReadStored(s.Geometry)
		if err != nil {
			return nil, fmt.Errorf("shapes %s: %w", ref.Digest, err)
		}
		list[i] = drawing{s, place}
		size += 3*len(s.Geometry) + 256 // a position takes 20 bytes of text and up to 40 more in memory
	}
	a.drawn.Put(ref.Digest, list, size)
	return list, nil
}

// part is a feature that is not a hazard.
type part struct {
	hazard   *hazard.Hazard // the hazard it belongs to; nil if none
	id       string
	own      query.Own
	place    geo.Shape
	geometry string // GeoJSON
	// standIns are where a part without a place of its own possibly is, if its hazard is only known to be
	// somewhere in a region or country (hazard.Somewhere). The part has no place then: nil otherwise.
	standIns []geo.Shape
	from, to hazard.Instant // its time; to is 0 while it is current
}

// after reports whether p comes after the given position. The order is by hazard id, then by id of
// the part.
func (p *part) after(hazardID int64, id string) bool {
	return cmp.Or(cmp.Compare(p.number(), hazardID), strings.Compare(p.id, id)) > 0
}

// places returns where a filter finds the part.
func (p *part) places(f *query.Filter) []geo.Shape {
	switch {
	case p.standIns == nil:
		return []geo.Shape{p.place}
	case f.Possible:
		return p.standIns
	}
	return nil
}

func (p *part) number() int64 {
	if p.hazard == nil {
		return 0
	}
	return p.hazard.ID
}

// eachPart passes the parts that match f to the callback, in order. It does not read parts that f
// excludes from the start.
func (a *OGC) eachPart(ctx context.Context, set *ogc.Set, f *query.Filter, v *view.View, who *auth.Caller, base string, now hazard.Instant, each func(*part) error) error {
	give := func(list []part) error {
		slices.SortFunc(list, func(x, y part) int { return strings.Compare(x.id, y.id) })
		list = slices.CompactFunc(list, func(x, y part) bool { return x.id == y.id }) // the same area twice
		for i := range list {
			p := &list[i]
			p.own["id"] = p.id
			if f.Life != nil && (p.from > f.Life.To || p.to != 0 && p.to < f.Life.From) || !f.MatchPlace(p.places(f)) || f.Where != nil && !f.Where.MatchPart(p.hazard, p.own, p.places(f)) {
				continue
			}
			if err := each(p); err != nil {
				return err
			}
		}
		return nil
	}
	if !set.OfHazards {
		return give(a.coverageParts(now))
	}
	records := f.Implied()
	records.Where, records.Life = nil, nil
	var hazards []*hazard.Hazard
	for h := range v.Hazards(view.Filter{}, who.Orgs) {
		if records.MatchRecord(h, now) {
			hazards = append(hazards, h)
		}
	}
	slices.SortFunc(hazards, func(x, y *hazard.Hazard) int { return cmp.Compare(x.ID, y.ID) })
	for _, h := range hazards {
		list, err := a.partsOf(ctx, set, v, h, who, base)
		if err == nil {
			err = give(list)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// partsOf returns the parts of an active hazard that belong to a collection.
func (a *OGC) partsOf(ctx context.Context, set *ogc.Set, v *view.View, h *hazard.Hazard, who *auth.Caller, base string) (list []part, err error) {
	life := hazard.Instant(0)
	if h.AutoExpire {
		life = h.End
	}
	if h.Somewhere() {
		shapes, err := a.Store.Hazards.Shapes(ctx, h.StandIns)
		if err != nil {
			return nil, err
		}
		standIns := append([]geo.Shape{}, shapes...)
		defer func() {
			for i := range list {
				if set.ID == ogc.Points || set.ID == ogc.Products && list[i].own["placed_by"] == "hazard" {
					list[i].standIns = standIns
				}
			}
		}()
	}
	switch set.ID {
	case ogc.Points:
		place := geo.Place(h.Longitude, h.Latitude)
		list = []part{{hazard: h, id: h.UUID.String(), own: query.Own{"title": h.Name}, place: place, geometry: place.GeoJSON(), from: h.Start, to: life}}
	case ogc.Areas:
		for _, ref := range h.Areas {
			shapes, err := a.Store.Hazards.Shapes(ctx, []hazard.AreaRef{ref})
			if err != nil {
				return nil, err
			}
			if len(shapes) == 0 { // damaged
				continue
			}
			s := shapes[0]
			list = append(list, part{hazard: h, id: h.UUID.String() + "." + string(ref.Role) + "." + ref.Digest[:12], own: query.Own{"role": string(ref.Role)}, place: s, geometry: s.GeoJSON(),
				from: h.Start, to: life})
		}
	case ogc.Products:
		products, _ := v.Products(h.ID, who.Orgs)
		for _, p := range products {
			list = append(list, productPart(h, p, base, life))
		}
	default:
		for _, ref := range h.Shapes {
			shapes, err := a.drawings(ctx, ref)
			if err != nil {
				return nil, err
			}
			for i := range shapes {
				s := &shapes[i]
				if slices.Contains(ogc.OnTracks(), s.Role) != (set.ID == ogc.Tracks) {
					continue
				}
				own := query.Own{"role": string(s.Role), "title": s.Title(), "from_time": s.From, "forecast": yesNo(s.Forecast), "color": s.Color(), "source": s.Source}
				if s.To != 0 {
					own["to_time"] = s.To
				}
				if s.Band != nil {
					own["band"], own["value"] = string(s.Band.Kind), s.Band.Value
					if unit := s.Band.Unit(); unit != "" {
						own["unit"] = unit
					}
				}
				list = append(list, part{hazard: h, id: fmt.Sprintf("%s.%s.%s.%03d", h.UUID, ref.Part, ref.Digest[:12], i), own: own, place: s.place, geometry: s.Geometry, from: s.From, to: s.To})
			}
		}
	}
	return list, nil
}

// productPart returns a product of h as a feature, at its place if it has one.
func productPart(h *hazard.Hazard, p *hazard.Product, base string, until hazard.Instant) part {
	f := wire.FromProduct(p, base)
	own := query.Own{"product_ID": float64(p.ID), "parent_ID": float64(p.ParentID), "title": p.Title, "product_Type": f.ProductType, "comment_Text": f.CommentText, "is_Hidden": f.IsHidden,
		"security_Flag": f.SecurityFlag, "org_ID": float64(p.OrgID), "create_time": p.Created, "update_time": p.Updated, "source": p.Source, "placed_by": "product"}
	for name, value := range map[string]*string{"data": f.Data, "filename": f.Filename, "product_url": f.ProductURL} {
		if value != nil {
			own[name] = *value
		}
	}
	place, err := geo.ParseWKT(p.Geometry)
	if p.Geometry == "" || err != nil || place.IsZero() {
		place, own["placed_by"] = geo.Place(h.Longitude, h.Latitude), "hazard"
	}
	return part{hazard: h, id: p.UUID.String(), own: own, place: place, geometry: place.GeoJSON(), from: h.Start, to: until}
}

func yesNo(yes bool) string {
	if yes {
		return "Y"
	}
	return "N"
}

// coverageParts returns the coverage of each country as features, as of now.
func (a *OGC) coverageParts(now hazard.Instant) (list []part) {
	for f := range a.Coverage.Features(a.Readings()) {
		words := map[string][]string{}
		for t, word := range f.Properties.Types {
			words[string(word)] = append(words[string(word)], string(t))
		}
		own := query.Own{"kind": f.Properties.Kind, "code": f.Properties.Code, "name": f.Properties.Name, "state": string(f.Properties.State),
			"sources": strings.Join(f.Properties.Sources, " "), "responsible": strings.Join(f.Properties.Responsible, " ")}
		for _, word := range []string{"covered", "stale"} {
			slices.Sort(words[word])
			own[word] = strings.Join(words[word], " ")
		}
		list = append(list, part{id: f.ID, own: own, place: f.Shape, geometry: f.Geometry, from: now, to: now})
	}
	return list
}

// partFeature is a part as GeoJSON.
type partFeature struct {
	Type       string         `json:"type"`
	ID         string         `json:"id"`
	Links      []format.Link  `json:"links,omitzero"`
	Geometry   jsontext.Value `json:"geometry"`
	Properties jsontext.Value `json:"properties"`
}

// said returns the hazard of a part in the reader's language; nil if there is none.
func (p *part) said(set *ogc.Set, reader *lang.Reader) *hazard.Hazard {
	if p.hazard == nil {
		return nil
	}
	h := reader.Of(p.hazard)
	if set.ID == ogc.Points {
		p.own["title"] = h.Name
	}
	return h
}

// write writes a part in the reader's language.
func (p *part) write(out *bytes.Buffer, set *ogc.Set, reader *lang.Reader, links []format.Link) error {
	h := p.said(set, reader)
	properties := jsontext.Value("{")
	for i, f := range set.Properties() {
		if i > 0 {
			properties = append(properties, ',')
		}
		value, err := json.Marshal(p.own.Value(&f, h))
		if err != nil {
			return err
		}
		properties = append(append(properties, `"`+f.Name+`":`...), value...)
	}
	return json.MarshalWrite(out, partFeature{"Feature", p.id, links, jsontext.Value(p.geometry), append(properties, '}')})
}

// partCursor parses where the previous page ended: the id of a hazard and the id of a part.
func partCursor(text string) (hazardID int64, id string, err error) {
	if text == "" {
		return -1, "", nil
	}
	number, id, ok := strings.Cut(text, " ")
	if hazardID, err = strconv.ParseInt(number, 10, 64); err != nil || !ok || hazardID < 0 {
		return 0, "", route.BadParameter("cursor", "%.60q is not a cursor from a link to the next page", text)
	}
	return hazardID, id, nil
}

// makeParts builds a page of features that are not hazards, as of now.
func (a *OGC) makeParts(w http.ResponseWriter, r *http.Request, who *auth.Caller, set *ogc.Set, values url.Values, form string, q *query.Query, wants wanted) error {
	wish, err := a.Wish(r, values)
	if err != nil {
		return err
	}
	hazardID, id, err := partCursor(q.Cursor)
	if err != nil {
		return err
	}
	now, reader, base := a.Now(), wish.Reader(), a.Base(r)
	v := a.View(r.Context(), now)
	var body bytes.Buffer
	table := pages.Table{Title: set.Title}
	for _, f := range set.Properties() {
		table.Head = append(table.Head, f.Name)
	}
	body.WriteString(read.NoFeatures)
	matched, returned, rows, cursor, last := 0, 0, 0, "", "" // rows is the size of the table's rows
	err = a.eachPart(r.Context(), set, &q.Filter, v, who, base, now, func(p *part) error {
		matched++
		if cursor != "" || !p.after(hazardID, id) {
			return nil
		}
		if returned == q.Limit || body.Len()+rows >= route.PageBytes {
			cursor = last
			return nil
		}
		returned, last = returned+1, strconv.FormatInt(p.number(), 10)+" "+p.id
		if form == ogc.HTML {
			row := p.row(set, reader)
			for _, cell := range row {
				rows += len(cell.Text)
			}
			row[0].Href = base + "/ogc/collections/" + set.ID + "/items/" + url.PathEscape(p.id) + "?f=html"
			table.Rows = append(table.Rows, row)
			return nil
		}
		if returned > 1 {
			body.WriteByte(',')
		}
		return p.write(&body, set, reader, nil)
	})
	if err != nil {
		return err
	}
	if set.OfHazards {
		a.SetPlace(r.Context(), w, q)
	}
	a.SetView(w, v, now)
	w.Header().Set("Last-Modified", v.At().Time().Format(http.TimeFormat))
	links := ogc.PageLinks(base, set.ID, values, cursor)
	restricted := set.ID == ogc.Products && v.Audience(who.Orgs) != ""
	if form == ogc.HTML {
		d := ogcPage(set.Title, fmt.Sprintf("%d of %d, as of %s.", returned, matched, now), links)
		d.Tables = []pages.Table{table}
		return a.answerPage(w, r, d, restricted)
	}
	tail, err := json.Marshal(links)
	if err != nil {
		return err
	}
	fmt.Fprintf(&body, `],"numberMatched":%d,"numberReturned":%d,"timeStamp":"%s","links":%s}`, matched, returned, now, tail)
	route.SetLanguages(w, reader.Used())
	sayLinks(w, links)
	return wants.answer(w, r, body.Bytes(), restricted)
}

// row returns a part as a row of a table.
func (p *part) row(set *ogc.Set, reader *lang.Reader) (row []pages.Cell) {
	h := p.said(set, reader)
	for _, f := range set.Properties() {
		text := ""
		if v := p.own.Value(&f, h); v != nil {
			text = fmt.Sprint(v)
		}
		row = append(row, pages.Cell{Text: text})
	}
	return row
}

// ogcPart serves one feature that is not a hazard.
func (a *OGC) ogcPart(w http.ResponseWriter, r *http.Request, who *auth.Caller, set *ogc.Set, form string, wants wanted) error {
	wish, err := a.Wish(r, r.URL.Query())
	if err != nil {
		return err
	}
	now, reader, base := a.Now(), wish.Reader(), a.Base(r)
	v, id := a.View(r.Context(), now), r.PathValue("hazard")
	only, _ := query.WhereEquals(&set.Own[0], id) // any text is a valid id
	var found *part
	f := query.Filter{Where: only}
	if set.OfHazards && set.ID != ogc.Products { // their ids begin with the hazard's
		f.Hazards = []int64{}
		if of, err := uuid.Parse(id[:min(len(id), 36)]); err == nil {
			if h, ok := v.HazardByUUID(of); ok {
				f.Hazards = []int64{h.ID}
			}
		}
	}
	if err := a.eachPart(r.Context(), set, &f, v, who, base, now, func(p *part) error { found = p; return nil }); err != nil {
		return err
	}
	if found == nil {
		return &route.Problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("the collection %s has no feature %.80q; only hazards that are active now have features", set.ID, id)}
	}
	links, restricted := ogc.ItemLinks(base, set.ID, id), found.own["security_Flag"] == "R"
	if form == ogc.HTML {
		d := ogcPage(set.Title, "One feature, as of "+now.String()+".", links)
		t := pages.Table{Title: "Properties", Head: []string{"Property", "Value"}}
		for i, cell := range found.row(set, reader) {
			t.Rows = append(t.Rows, []pages.Cell{{Text: set.Properties()[i].Name}, cell})
		}
		d.Tables = []pages.Table{t}
		if found.hazard != nil {
			d.Links = append(d.Links, pages.Cell{Text: "The page of the hazard", Href: a.BaseURL + "/h/" + found.hazard.UUID.String()})
		}
		return a.answerPage(w, r, d, restricted)
	}
	var body bytes.Buffer
	if err := found.write(&body, set, reader, links); err != nil {
		return err
	}
	route.SetLanguages(w, reader.Used())
	return wants.answer(w, r, body.Bytes(), restricted)
}
