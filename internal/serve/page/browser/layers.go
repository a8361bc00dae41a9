package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Layer is a layer of pictures that the operator adds to the map: a satellite's, radar, wind, streets. Browsers read it directly.
type Layer struct {
	Name  string // in the browser's memory, and in its errors
	Title string // for readers; empty: the name
	// URL is the address of tiles with {z}, {x} and {y}, of a PMTiles archive (.pmtiles), or of a document in TileJSON.
	// It is absolute, or a path of this server's host.
	URL         string
	Attribution string // plain text
	// Hosts are those that the URL's document leads to, besides its own.
	Hosts   []string
	MinZoom int
	MaxZoom int // 0: as the document says, or 22
	Size    int // edge of a tile, CSS pixels; 0: 256
	Opacity float64
	Refresh time.Duration // of what changes, such as radar; 0: never
}

var (
	layerName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)
	// IsHost matches the hosts that a Content Security Policy can name (level 3, section 2.3.1): names
	// and IPv4 addresses, with or without a port.
	IsHost = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]+)?$`)
)

// leastRefresh is the shortest interval at which browsers read a layer again.
const leastRefresh = 30 * time.Second

// Check reports what is wrong with a layer on a page at the address base.
func (l *Layer) Check(base string) error {
	u, err := url.Parse(l.URL)
	switch {
	case !layerName.MatchString(l.Name):
		return fmt.Errorf("name: %q; expected up to 32 of a-z, 0-9 and -", l.Name)
	case err != nil || u.User != nil || u.Fragment != "" || strings.Contains(l.URL, "{s}"):
		return fmt.Errorf("url: %q; expected an address such as https://tiles.example.org/radar/{z}/{x}/{y}.png, without user, fragment and {s}", l.URL)
	case u.Scheme == "" && u.Host == "" && strings.HasPrefix(l.URL, "/"):
	case u.Scheme != "https" && u.Scheme != "http" || !IsHost.MatchString(u.Host):
		return fmt.Errorf("url: %q; expected https://HOST/…, or a path of this host", l.URL)
	case u.Scheme == "http" && strings.HasPrefix(base, "https://"):
		return fmt.Errorf("url: %s is plain http, which browsers block on the page at %s; expected https", l.URL, base)
	}
	switch {
	case l.Attribution == "":
		return errors.New("attribution: missing; expected whose work it is, as its license demands")
	case l.MinZoom < 0 || l.MaxZoom < 0 || l.MaxZoom > 24 || l.MaxZoom > 0 && l.MinZoom > l.MaxZoom:
		return fmt.Errorf("min-zoom, max-zoom: %d, %d; expected 0 to 24, the first not above the last", l.MinZoom, l.MaxZoom)
	case l.Size != 0 && l.Size != 256 && l.Size != 512:
		return fmt.Errorf("size: %d; expected 256 or 512", l.Size)
	case !(l.Opacity > 0 && l.Opacity <= 1):
		return fmt.Errorf("opacity: %v; expected more than 0, and at most 1", l.Opacity)
	case l.Refresh != 0 && l.Refresh < leastRefresh:
		return fmt.Errorf("refresh: %v; expected at least %v", l.Refresh, leastRefresh)
	}
	for _, host := range l.Hosts {
		if !IsHost.MatchString(host) {
			return fmt.Errorf("hosts: %q; expected names such as a.tiles.example.org", host)
		}
	}
	return nil
}

// origins returns where browsers read the layer from, besides this server.
func (l *Layer) origins() (list []string) {
	if u, err := url.Parse(l.URL); err == nil && u.Host != "" {
		list = append(list, u.Scheme+"://"+u.Host)
	}
	for _, host := range l.Hosts {
		list = append(list, "https://"+host)
	}
	return list
}

// layersMark tells the map of the operator's layers (web/src/layers.ts).
func layersMark(layers []Layer) []byte {
	if len(layers) == 0 {
		return nil
	}
	type said struct {
		Name        string  `json:"name"`
		Title       string  `json:"title"`
		URL         string  `json:"url"`
		Attribution string  `json:"attribution"`
		MinZoom     int     `json:"minzoom,omitzero"`
		MaxZoom     int     `json:"maxzoom,omitzero"`
		Size        int     `json:"size,omitzero"`
		Opacity     float64 `json:"opacity"`
		Refresh     float64 `json:"refresh,omitzero"` // seconds
	}
	var all []said
	for _, l := range layers {
		s := said{l.Name, l.Title, l.URL, l.Attribution, l.MinZoom, l.MaxZoom, l.Size, l.Opacity, l.Refresh.Seconds()}
		if s.Title == "" {
			s.Title = l.Name
		}
		all = append(all, s)
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // texts and numbers always encode
	}
	return []byte(`<meta name="hazardd-layers" content="` + html.EscapeString(string(text)) + `">`)
}
