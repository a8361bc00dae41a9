package serve_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/test"
)

// Slow readers of one address, without an account, never keep other strangers or users from any kind
// of page.
func TestSlowReadersOfOneAddressLeaveRoomForOthers(t *testing.T) {
	test.Seldom(t)
	test.NoRace(t)
	limits := encoded.Limits{All: 96 << 20, User: 24 << 20, Wait: 20 * time.Millisecond, Shared: 48 << 20, Reading: 64 << 20}
	p := handle(t, open, func(c *serve.Config) { c.Answers, c.PublicLimits.Requests = limits, 256 })
	p.put(60, 90_000, 12)
	from := func(user, address, path string) *http.Request {
		req := newRequest(t, p.tokens, user, "GET", "http://hazardd.example"+path, nil)
		req.RemoteAddr = address
		return req
	}
	paths := []string{
		"/hazards/active", "/hazards/active?f=geojson", "/hazards/active?f=kml", "/hazards/active/summary", "/hazards?limit=1000", "/hazards?limit=1000&f=csv", "/hazards?f=gpkg", "/hazards?f=parquet",
		"/hazards/1", "/hazards/1/products", "/hazards/1/changes?limit=1000", "/changes?limit=1000", "/hazards/1/map.png", "/ogc/collections/hazards/items?limit=1000", "/ogc/collections/active-hazards/items",
		"/arcgis/rest/services/hazards/FeatureServer/0/query?where=1%3D1&outFields=*&f=json", "/cap/feed.atom", "/h/1", "/tiles/0/0/0.mvt",
	}
	for i, path := range paths {
		if !test.OneIn(4, i) {
			continue
		}
		t.Run(path, func(t *testing.T) {
			const slow = 12
			begun, read := make(chan struct{}, slow), make(chan struct{})
			var all sync.WaitGroup
			for range slow {
				all.Go(func() {
					p.ServeHTTP(&unread{sink: sink{header: http.Header{}}, begun: begun, read: read}, from("", "198.51.100.1:1234", path))
				})
			}
			for range slow { // each is being written, or refused
				<-begun
			}
			for user, address := range map[string]string{"": "203.0.113.7:1234", "reader": "198.51.100.1:1234"} {
				w := &sink{header: http.Header{}}
				if p.ServeHTTP(w, from(user, address, path)); w.status >= 400 {
					t.Errorf("as %q from %s: %d", user, address, w.status)
				}
			}
			close(read)
			all.Wait()
		})
	}
}
