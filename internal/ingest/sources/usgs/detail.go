package usgs

import "net/url"

// detailURL returns the address of the detail of the event with that id. There is nothing at the
// address once USGS has deleted the event.
func detailURL(id string) string {
	return "https://earthquake.usgs.gov/earthquakes/feed/v1.0/detail/" + url.PathEscape(id) + ".geojson"
}
