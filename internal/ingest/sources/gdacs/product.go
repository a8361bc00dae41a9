package gdacs

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
)

// link is an image, page or document that GDACS links to.
type link struct{ id, title, address string }

// linkRows is the table of displayed links: the images of the API and the resources of RSS, which
// have the same names. The most important for responders come first. Not in the table are icons,
// folders, templates ("{eventid}"), and data for machines.
var linkRows = []struct{ id, title string }{
	{"neic_report", "USGS earthquake report"},
	{"weekly_report", "Smithsonian report"},
	{"noaa_nesdis_event", "Tropical cyclone rainfall (NOAA/NESDIS)"},
	{"overviewmap", "Overview map"},
	{"overviewmap_cached", "Overview map"},
	{"overview_map_cached", "Overview map"},
	{"overviewmap_zoom", "Overview map, zoomed"},
	{"populationmap", "Population map"},
	{"populationmap_cached", "Population map"},
	{"neic", "ShakeMap intensity (USGS)"},
	{"neic_pager", "PAGER, estimated deaths (USGS)"},
	{"shakemap_populationmap_overview_static_v01", "ShakeMap and population, overview"},
	{"shakemap_populationmap_static_v01", "ShakeMap and population"},
	{"floodmap_cached", "Flood map"},
	{"rainmap", "Rain map"},
	{"rainmap_cached", "Rain map"},
	{"rainaccumulationmap", "Accumulated rain"},
	{"storm_surge_maxheight_end_ECMWF", "Storm surge, maximum height (ECMWF)"},
	{"storm_surge_maxheight_end_HWRF", "Storm surge, maximum height (HWRF)"},
	{"storm_surge_maxheight_end_GFS", "Storm surge, maximum height (GFS)"},
	{"storm_surge_maxheight", "Storm surge, maximum height"},
	{"storm_surge_animation_ECMWF", "Storm surge, animation (ECMWF)"},
	{"storm_surge_animation_HWRF", "Storm surge, animation (HWRF)"},
	{"storm_surge_animation_GFS", "Storm surge, animation (GFS)"},
	{"storm_surge_animation", "Storm surge, animation"},
	{"thumbnailmap", "Map"},
	{"thumbnailmap_cached", "Map"},
}

// documentID is the prefix of the ids of documents; their names follow.
const documentID = "document/"

// maxDocuments bounds the links to documents. The largest recorded number is four.
const maxDocuments = 50

// products returns the product tree, or nil if the document contains no links. Then it says nothing
// about products.
func (e *event) products(r *hazard.Report, at hazard.Instant) []hazard.ReportProduct {
	if len(e.links) == 0 && e.notes == "" && e.form != detailForm {
		return nil
	}
	tree := []hazard.ReportProduct{{Key: Name, Title: "GDACS", Type: hazard.FolderProduct, Time: at}}
	seen := map[string]bool{}
	add := func(key, title, address string) {
		if address == "" || seen[address] {
			return
		}
		seen[address] = true
		tree = append(tree, hazard.ReportProduct{Key: key, Parent: Name, Title: title, Type: hazard.URLProduct, Data: address, Time: at})
	}
	add("event", "Event page", r.URL)
	if e.notes != "" {
		tree = append(tree, hazard.ReportProduct{
			Key: "impact", Parent: Name, Title: "Reported impact", Type: hazard.TextProduct, Data: e.notes, Time: at,
		})
	}
	for _, row := range linkRows {
		for _, l := range e.links {
			if l.id == row.id {
				add(row.id, row.title, address(l.address))
			}
		}
	}
	documents := slices.Clone(e.links)
	slices.SortFunc(documents, func(a, b link) int { return strings.Compare(a.id, b.id) })
	n := 0
	for _, l := range documents {
		if strings.HasPrefix(l.id, documentID) && n < maxDocuments {
			add(l.id, l.title, address(l.address))
			n++
		}
	}
	return tree
}

// address returns s if it is a usable http or https address, otherwise "". It rejects blanks,
// control characters and non-ASCII letters, braces of a template that was not filled in, and hosts
// without a dot (such as GDACS's internal GDACS_ARCGIS).
func address(s string) string {
	web := lenient.WebAddress(s)
	if u, err := url.Parse(web); err != nil || !strings.Contains(u.Hostname(), ".") || strings.ContainsAny(s, "{}") {
		return ""
	}
	return web
}
