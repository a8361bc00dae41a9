// Package read serves what everybody may read: the active hazards, search, one hazard and all about
// it, history, pictures, event streams, formats, places and symbols.
//
// Hazards finds hazards and products for the handlers of all audiences. The other types are the
// handlers of this package; each adds its operations in Routes.
package read

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hazardd/hazardd/internal/atlas/basemap"
	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/format/headline"
	"github.com/hazardd/hazardd/internal/geo/lru"
	"github.com/hazardd/hazardd/internal/ingest/coverage"
	"github.com/hazardd/hazardd/internal/ingest/enrich/picture"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/poll/delay"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/serve/sse"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/publish"
)

// Hazards finds hazards and products, now or as of an earlier moment, and sets the headers that say
// how fresh an answer is.
type Hazards struct {
	*route.Router
	Store *store.Store
	// Sources returns the states of the sources.
	Sources func(ctx context.Context) ([]poll.Status, error)
	// Freshness returns the present values of the header Hazardd-Sources. It must not block.
	Freshness func() []string
	// Coverage is what the sources cover. Readings returns how they were polled; it must not block.
	Coverage *coverage.Map
	Readings func() coverage.Readings

	// Headlines says hazards in a sentence. NewHazards sets it.
	Headlines *headline.Maker

	forms   *format.Cache
	regions *lru.Cache[string, *coverage.Region] // regions recently used in lists
	readers encoded.Readers
}

// NewHazards completes h, of which all exported fields are set.
func NewHazards(h *Hazards) *Hazards {
	h.Headlines = headline.NewMaker(h.Store.Hazards)
	h.readers.Most = h.Answers.Reading
	h.forms, h.regions = format.NewCache(maxForms), lru.New[string, *coverage.Region](maxRegions)
	h.forms.Headline = h.Headlines.Of
	return h
}

// Lists serves the lists of hazards, active or found, and the reference lists.
type Lists struct {
	*Hazards
	lists  *encoded.Lists
	static map[string]*encoded.Body
	layers *lru.Cache[string, *encoded.Body] // layers of coverage
}

// NewLists returns the handlers of lists.
func NewLists(h *Hazards) *Lists {
	return &Lists{h, encoded.NewLists(h.BaseURL, h.Answers.Shared), staticBodies(), lru.New[string, *encoded.Body](maxLayers)}
}

// Routes adds the lists.
func (a *Lists) Routes() {
	// The base interface, section 4.
	a.Readable("GET /hazards/types", a.fixed("types"))
	a.Readable("GET /hazards/severities", a.fixed("severities"))
	a.Readable("GET /hazards/categories", a.fixed("categories"))
	a.Readable("GET /hazards/active", a.active)
	a.Readable("GET /hazards/active/category/{category}", a.activeByCategory)
	a.Readable("GET /hazards/active/severity/{severity}", a.activeBySeverity)
	a.Readable("GET /hazards/{hazard}/products", a.products)
	a.Readable("GET /products/{product}", a.Holds(route.CostOfObject, a.product))
	// Extensions.
	a.Readable("GET /products/types", a.fixed("productTypes"))
	a.Readable("GET /measurements", a.fixed("measurements"))
	a.Readable("GET /hazards/active/areas", a.activeAreas)
	a.Readable("GET /hazards/active/order", a.activeOrder)
	a.Readable("GET /hazards/active/summary", a.summary)
	a.Readable("GET /hazards/{hazard}", a.Hazard)
	a.Readable("GET /hazards", a.search)
	a.Readable("GET /hazards/count", a.count)
	a.Readable("GET /coverage", a.coverage)
	a.Readable("GET /places", a.places)
	a.Readable("GET /places/{place}", a.Holds(route.CostOfObject, a.place))
}

// Assets finds the assets of organizations.
type Assets struct{ *Hazards }

// Details serves what is known of one hazard.
type Details struct {
	*Assets
	Intake   *fuse.Intake
	Counting bool                             // whether this service counts the people in hazard areas
	Grid     func() (*population.Grid, error) // the population data in use
	towns    *lru.Cache[string, *Around]      // by the area of a hazard
}

// NewDetails completes d, of which all exported fields are set.
func NewDetails(d *Details) *Details {
	d.towns = lru.New[string, *Around](townBytes)
	return d
}

// Routes adds the details.
func (a *Details) Routes() {
	a.Readable("GET /products/{product}/versions", a.versions)
	a.Readable("GET /hazards/{hazard}/alert-geography", a.Holds(route.CostOfShapes, a.AlertGeography))
	a.Readable("GET /hazards/{hazard}/measurements", a.Holds(route.CostOfObject, a.measurements))
	a.Readable("GET /hazards/{hazard}/shapes", a.Holds(route.CostOfShapes, a.shapes))
	a.Readable("GET /hazards/{hazard}/exposure", a.Holds(route.CostOfObject, a.exposure))
	a.Readable("GET /hazards/{hazard}/headline", a.Holds(route.CostOfObject, a.headline))
	a.Readable("GET /hazards/{hazard}/importance", a.Holds(route.CostOfObject, a.importance))
	a.Readable("GET /hazards/{hazard}/reports", a.Holds(route.CostOfObject, a.reports))
	a.Readable("GET /hazards/{hazard}/texts", a.texts)
	a.Readable("GET /hazards/{hazard}/related", a.Holds(route.CostOfObject, a.related))
	a.Members("GET /organizations/{org}/assets", a.Holds(route.CostOfPage, a.assets))
	a.Members("GET /hazards/{hazard}/assets", a.Holds(route.CostOfPage, a.hazardAssets))
}

// Pictures serves the files and pictures of hazards, and draws maps.
type Pictures struct {
	*Hazards
	Keeper     *picture.Keeper                // pictures of sources
	Ground     *basemap.Archive               // nil if the binary is built without the map
	drawn      *lru.Cache[any, *encoded.Body] // by pictureKey and windowKey
	pencil     chan struct{}                  // holds one token, for the request that draws a picture
	thumbnails *lru.Cache[string, []byte]     // thumbnails of picture products, by digest
}

// NewPictures returns the handlers of pictures.
func NewPictures(h *Hazards, k *picture.Keeper, ground *basemap.Archive) *Pictures {
	return &Pictures{h, k, ground, lru.New[any, *encoded.Body](maxPictures), make(chan struct{}, 1), lru.New[string, []byte](maxThumbnails)}
}

// Routes adds the pictures.
func (a *Pictures) Routes() {
	a.Readable("GET /hazards/active/map.svg", a.activePicture)
	a.Readable("GET /products/{product}/file", a.File)
	a.Readable("GET /products/{product}/picture", a.Photo)
	a.Readable("GET /hazards/{hazard}/map.png", a.mapPicture)
	a.Readable("GET /hazards/{hazard}/pictures", a.Holds(route.CostOfObject, a.photos))
}

// Streams serves the log of changes, as event streams and in pages.
type Streams struct {
	*Hazards
	Push    *sse.Hub
	Delays  *delay.Delays // measures how late events are sent
	metrics *streamMetrics
}

// NewStreams returns the handlers of changes. It adds their metrics to the registry.
func NewStreams(h *Hazards, hub *sse.Hub, delays *delay.Delays, registry *prometheus.Registry) *Streams {
	return &Streams{h, hub, delays, newStreamMetrics(registry)}
}

// Routes adds the log of changes.
func (a *Streams) Routes() {
	a.Readable("GET /hazards/{hazard}/changes", a.HazardChanges)
	a.Readable("GET /changes", a.changes)
	a.Readable("GET /events", a.events)
	a.Private("POST /events/tickets", a.ticket)
}

// Authorities serves the messages of organizations that publish their hazards.
type Authorities struct {
	*Hazards
	messages *publish.Publisher
	indexes  *lru.Cache[string, *encoded.Body]
}

// NewAuthorities returns the handlers of messages; a nil signer leaves them unsigned.
func NewAuthorities(h *Hazards, signer publish.Signer) *Authorities {
	return &Authorities{h, publish.New(h.Store, signer), lru.New[string, *encoded.Body](maxIndexes)}
}

// Routes adds the messages.
func (a *Authorities) Routes() {
	a.Readable("GET /cap/feed.atom", a.capIndex(publish.Atom, "application/atom+xml"))
	a.Readable("GET /cap/feed.rss", a.capIndex(publish.RSS, "application/rss+xml"))
	a.Readable("GET /cap/{message}", a.capMessage)
}

// Assistant serves the Model Context Protocol.
type Assistant struct {
	*route.Router
	AllowedOrigins []string // web origins whose pages may use it, besides our own
	Version        string   // version of the program
}

// Routes adds the protocol's path.
func (a *Assistant) Routes() {
	a.Readable("POST /mcp", a.mcp) // needs a token: the public can only read, and this is a POST
	a.Open("POST /key/{key}/mcp", a.WithKey)
}

// Symbols serves the symbols and icons of hazards.
type Symbols struct {
	*route.Router
	symbols *drawnSymbols
}

// NewSymbols returns the handlers of symbols.
func NewSymbols(r *route.Router) *Symbols { return &Symbols{r, newDrawnSymbols()} }

// Routes adds the symbols.
func (a *Symbols) Routes() {
	a.Open("GET /icons/hazard/large/{icon}", a.icon)
	a.Open("GET /symbols/{type}/{category}/{file}", a.symbol)
}
