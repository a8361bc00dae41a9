package usgs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// productRow is a row of the table of products. It says how the preferred product of a kind is
// shown.
type productRow struct {
	kind  string
	title string
	// page is the product's page below the event page. If empty, the product is a text, its inline
	// content.
	page    string
	comment func(*product) string
	renews  bool // a new version renews the life of the event
	files   []fileRow
}

// fileRow is a file of a product to link to.
type fileRow struct{ path, key, title string }

// productRows is in order of importance for responders. The kinds are as in
// earthquake.usgs.gov/data/comcat. Kinds that are not here (origin, phase-data, geoserve …) are for
// seismologists and machines, and are linked on the event page. A new version of PAGER or ShakeMap
// renews the event; a new origin, or another felt report, does not.
var productRows = []productRow{
	{kind: "losspager", title: "PAGER", page: "pager", renews: true,
		comment: func(p *product) string { return labelled("Alert level: ", p.text("alertlevel")) },
		files:   []fileRow{{"onepager.pdf", "onepager.pdf", "PAGER summary (PDF)"}, {"exposure.png", "exposure.png", "PAGER: people by intensity"}}},
	{kind: "shakemap", title: "ShakeMap", page: "shakemap/intensity", renews: true,
		comment: func(p *product) string { return labelled("Maximum intensity: ", p.decimal("maxmmi")) },
		files:   []fileRow{{"download/intensity.jpg", "intensity.jpg", "ShakeMap intensity map"}}},
	{kind: "dyfi", title: "Did You Feel It?", page: "dyfi/intensity",
		comment: func(p *product) string { return labelled("Maximum reported intensity: ", p.decimal("maxmmi")) }},
	{kind: "ground-failure", title: "Ground failure", page: "ground-failure/summary",
		comment: func(p *product) string {
			landslide, liquefaction := p.text("landslide-alert"), p.text("liquefaction-alert")
			if landslide == "" || liquefaction == "" {
				return labelled("Landslides: ", landslide) + labelled("Liquefaction: ", liquefaction)
			}
			return "Landslides: " + landslide + ", liquefaction: " + liquefaction
		}},
	{kind: "moment-tensor", title: "Moment tensor", page: "moment-tensor",
		comment: func(p *product) string {
			return labelled("", strings.TrimSpace(p.text("derived-magnitude-type")+" "+p.decimal("derived-magnitude")))
		}},
	{kind: "finite-fault", title: "Finite fault", page: "finite-fault"},
	{kind: "general-text", title: "Summary"},
	{kind: "impact-text", title: "Impact"},
}

func labelled(label, value string) string {
	if value == "" {
		return ""
	}
	return label + value
}

// hasDetail reports whether an event with these kinds of products (",dyfi,origin,") has something
// that only the detail contains.
func hasDetail(types string) bool {
	for kind := range strings.SplitSeq(types, ",") {
		if slices.ContainsFunc(productRows, func(r productRow) bool { return r.page != "" && r.kind == strings.TrimSpace(kind) }) {
			return true
		}
	}
	return false
}

// products holds the products in a detail.
type products struct {
	preferred map[string]*product // by kind, without deleted ones
	deleted   bool                // there are products, but all of them are deleted
	renewed   *hazard.Instant
	now       hazard.Instant
}

// readProducts reads the products of an event. It rejects each unreadable product by itself.
func readProducts(b *lenient.Batch, key string, raw jsontext.Value, now hazard.Instant) products {
	all := products{preferred: map[string]*product{}, now: now}
	reject := func(raw []byte, reason string) { b.Reject(func() string { return key }, raw, reason) }
	switch raw.Kind() {
	case '{':
	case 0, 'n', '[': // PHP writes an empty object as an empty array
		return all
	default:
		reject(raw, fmt.Sprintf("properties/products: %s, expected an object", lenient.Excerpt(raw)))
		return all
	}
	kept := 0
	c := lenient.Cursor{Doc: raw} // valid JSON, because the whole document was decoded
	_ = c.Members(func(kind string) error {
		if c.Next() != '[' {
			raw, err := c.Value()
			reject(raw, fmt.Sprintf("properties/products/%s: %s, expected an array", lenient.ExcerptText(kind), lenient.Excerpt(raw)))
			return err
		}
		return c.Elements(func(i int, raw []byte) {
			var one product
			if err := lenient.UnmarshalObject(raw, &one); err != nil {
				reject(raw, fmt.Sprintf("properties/products/%s/%d: %s", lenient.ExcerptText(kind), i, lenient.Fault(err, raw)))
				return
			}
			if one.deleted() {
				all.deleted = true
				return
			}
			kept++
			if all.preferred[kind] == nil {
				all.preferred[kind] = &one
			}
		})
	})
	all.deleted = all.deleted && kept == 0
	for _, row := range productRows {
		if one := all.preferred[row.kind]; row.renews && one != nil {
			if at, ok := all.at(one); ok && (all.renewed == nil || at > *all.renewed) {
				all.renewed = new(at)
			}
		}
	}
	return all
}

// at returns when the product was made, and whether that time is plausible.
func (all *products) at(one *product) (hazard.Instant, bool) {
	at, ok := instant(one.UpdateTime)
	return at, ok && at <= all.now.Add(seismic.Skew)
}

// folder is the key of the folder with all products of the source.
const folder = Name

// tree returns the product tree of the event.
func (all *products) tree(r *hazard.Report) []hazard.ReportProduct {
	tree := []hazard.ReportProduct{{Key: folder, Title: "USGS", Type: hazard.FolderProduct, Time: r.Start}}
	add := func(p hazard.ReportProduct) {
		p.Parent = folder
		tree = append(tree, p)
	}
	if r.URL != "" {
		add(hazard.ReportProduct{Key: "event", Title: "Event page", Type: hazard.URLProduct, Data: r.URL, Time: r.Start})
	}
	for _, row := range productRows {
		one := all.preferred[row.kind]
		if one == nil {
			continue
		}
		at, ok := all.at(one)
		if !ok {
			at = r.Start
		}
		if row.page == "" {
			if text := plainText(one.content("").Bytes); text != "" {
				add(hazard.ReportProduct{Key: row.kind, Title: row.title, Type: hazard.TextProduct, Data: text, Time: at})
			}
			continue
		}
		link := hazard.ReportProduct{Key: row.kind, Title: row.title, Type: hazard.URLProduct, Data: eventPage(r.Key) + "/" + row.page, Time: at}
		if row.comment != nil {
			link.Comment = row.comment(one)
		}
		add(link)
		for _, file := range row.files {
			if u := address(one.content(file.path).URL); u != nil && u.Scheme == "https" {
				add(hazard.ReportProduct{Key: row.kind + "/" + file.key, Title: file.title, Type: hazard.URLProduct, Data: u.String(), Time: at})
			}
		}
	}
	return tree
}

// eventPage returns the address of the event's page; those of its products are below it.
func eventPage(key string) string { return "https://earthquake.usgs.gov/earthquakes/eventpage/" + key }

// text returns a property of the product as written, or "".
func (p *product) text(name string) string {
	text := lenient.Clip(hazard.CleanLine(lenient.Word(lenient.Member(p.Properties, name))), lenient.MaxExcerpt)
	if strings.EqualFold(text, "nan") || strings.EqualFold(text, "null") {
		return ""
	}
	return text
}

// decimal returns a property of the product as a number with one decimal, or "" if it is not a
// number.
func (p *product) decimal(name string) string {
	var n lenient.Number
	if raw := lenient.Member(p.Properties, name); raw == nil || json.Unmarshal(raw, &n) != nil || !n.Known {
		return ""
	}
	return seismic.Decimal(n.Value)
}

// content returns the product's content at path.
func (p *product) content(path string) (found content) {
	if raw := lenient.Member(p.Contents, path); raw != nil {
		if json.Unmarshal(raw, &found, lenient.Options) != nil {
			return content{}
		}
	}
	return found
}
