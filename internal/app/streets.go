package app

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/hazardd/hazardd/internal/atlas/basemap"
)

// isHost matches the hosts that a Content Security Policy can name (level 3, section 2.3.1): names
// and IPv4 addresses, with or without a port.
var isHost = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]+)?$`)

// openStreets opens the operator's basemap. It does not connect to an address: browsers may reach
// hosts that this machine cannot.
func (s *Service) openStreets(context.Context) (err error) {
	where := s.cfg.Basemap
	if where == "" {
		return nil
	}
	if !strings.Contains(where, "://") {
		s.streets, err = basemap.OpenStreets(where)
		return err
	}
	u, err := url.Parse(where)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !isHost.MatchString(u.Host) || u.User != nil || u.Fragment != "" {
		return fmt.Errorf("%q is neither a file nor the address of a PMTiles archive such as https://tiles.example.org/city.pmtiles, without user and fragment", where)
	}
	if u.Scheme == "http" && strings.HasPrefix(s.cfg.PublicURL, "https://") {
		return fmt.Errorf("%s is plain http, which browsers block on the page at %s; expected https", where, s.cfg.PublicURL)
	}
	s.remote = u
	return nil
}
