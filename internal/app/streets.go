package app

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/hazardd/hazardd/internal/atlas/basemap"
	"github.com/hazardd/hazardd/internal/serve/page/browser"
)

// openStreets opens the operator's basemap. It does not connect to an address: browsers may reach
// hosts that this machine cannot. With a file that cannot be used the map has no streets, and the
// service says so.
func (s *Service) openStreets(context.Context) error {
	where := s.cfg.Basemap
	if where == "" {
		return nil
	}
	if !strings.Contains(where, "://") {
		s.streets.what, s.streets.lacks = "the basemap", "the map has no streets"
		s.streets.read = func() (*basemap.Streets, error) { return basemap.OpenStreets(where) }
		s.watchFile(&s.streets)
		return nil
	}
	u, err := url.Parse(where)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !browser.IsHost.MatchString(u.Host) || u.User != nil || u.Fragment != "" {
		return fmt.Errorf("%q is neither a file nor the address of a PMTiles archive such as https://tiles.example.org/city.pmtiles, without user and fragment", where)
	}
	if u.Scheme == "http" && strings.HasPrefix(s.cfg.PublicURL, "https://") {
		return fmt.Errorf("%s is plain http, which browsers block on the page at %s; expected https", where, s.cfg.PublicURL)
	}
	s.remote = u
	return nil
}

// checkLayers checks the operator's layers. It does not connect to their addresses either.
func (s *Service) checkLayers(context.Context) error {
	names := map[string]bool{}
	for _, l := range s.cfg.Layers {
		if err := l.Check(s.cfg.PublicURL); err != nil {
			return fmt.Errorf("%s: %w", l.Name, err)
		}
		if names[l.Name] {
			return fmt.Errorf("%s: name: is given twice", l.Name)
		}
		names[l.Name] = true
	}
	return nil
}
