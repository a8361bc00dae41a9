package usgs

import "net/url"

// DetailURL is the address of the detail of an event that USGS knows under id. There is nothing there once USGS has deleted the event.
func DetailURL(id string) string {
	return "https://earthquake.usgs.gov/earthquakes/feed/v1.0/detail/" + url.PathEscape(id) + ".geojson"
}
