// Package serve serves the base interface over HTTP, and the extensions to it: it makes one handler
// of the handlers of all audiences. The packages read, write, admin, gis and browser hold the
// operations, each in the Routes of its types; the package route has what they share.
package serve

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/cors"

	"github.com/hazardd/hazardd/internal/atlas/basemap"
	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/auth/oidc"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/ingest/coverage"
	"github.com/hazardd/hazardd/internal/ingest/enrich/picture"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/poll/delay"
	"github.com/hazardd/hazardd/internal/ingest/why"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/net/trace"
	"github.com/hazardd/hazardd/internal/serve/admin"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/gis"
	"github.com/hazardd/hazardd/internal/serve/page/browser"
	"github.com/hazardd/hazardd/internal/serve/read"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/serve/sse"
	"github.com/hazardd/hazardd/internal/serve/write"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/view"
	"github.com/hazardd/hazardd/internal/tell/publish"
	"github.com/hazardd/hazardd/internal/tell/subscription"
	"github.com/hazardd/hazardd/internal/tell/webhook"
	"github.com/hazardd/hazardd/web"
)

// Settings are the settings of an installation that the API needs.
type Settings struct {
	// Languages is the fallback for readers who ask for no language that a text exists in. If
	// empty, they get the authority's own language.
	Languages lang.Wish
	// MaxFile bounds an uploaded file, in bytes.
	MaxFile int64
	// AllowedOrigins are the web origins whose pages may read answers (CORS), besides our own.
	AllowedOrigins []string
	// TrustedProxies are the addresses whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// Requests bounds the requests of users. A bound that is not positive does not hold.
	Requests route.RequestLimits
	// Public is what readers without an account may do; empty means nothing. PublicLimits bounds
	// it.
	Public       route.Public
	PublicLimits route.PublicLimits
	// EmbedSites are the origins whose pages may show the widget in a frame, besides our own; *
	// allows all.
	EmbedSites []string
	// SecurityContact is the mailto: or https: address for reports of vulnerabilities. If empty,
	// there is no security.txt.
	SecurityContact string
	// ProviderTitle is the name of the OpenID provider on the login page; if empty, the host of its
	// address.
	ProviderTitle string
}

// Feeds are the parts that know of sources, and of what is added to their reports.
type Feeds struct {
	// Sources returns the states of the sources.
	Sources func(ctx context.Context) ([]poll.Status, error)
	// Freshness returns the present values of the header Hazardd-Sources. It is called for each
	// list answer and must not block.
	Freshness func() []string
	// Coverage is what the sources cover. Readings returns how they were polled, at most a second
	// ago; it is called for lists of a place and must not block.
	Coverage *coverage.Map
	Readings func() coverage.Readings
	// Delays measures how late events are sent, and reports how late reports are committed.
	Delays *delay.Delays
	// Counting says that this service counts the people in hazard areas.
	Counting bool
	// Grid returns the population data in use.
	Grid func() (*population.Grid, error)
	// PollNow requests a poll of the named source. It returns hazard.ErrNotFound if there is none.
	PollNow func(ctx context.Context, name string) error
	// Why answers what became of a record of the named source. It returns hazard.ErrNotFound if
	// there is no such source.
	Why func(ctx context.Context, name, ref string) (*why.Answer, error)
}

// Telling are the parts that tell people and programs.
type Telling struct {
	// Webhooks stores the webhooks. The API does not deliver to them itself.
	Webhooks *webhook.Service
	// Notify stores the subscriptions. The API sends no messages except tests.
	Notify *subscription.Service
	// Channels are the channels that subscribers can choose; zero means none.
	Channels admin.Channels
	// Signer signs the CAP messages of publishing organizations; nil leaves them unsigned.
	Signer publish.Signer
}

// Config holds the parts that the handlers need. All fields are required unless they say otherwise.
type Config struct {
	Settings
	Feeds
	Telling
	Store *store.Store
	// Evidence holds the payloads of sources as received; nil means that none are kept.
	Evidence *evidence.Keeper
	// Pictures holds the pictures of sources. The API does not fetch them itself.
	Pictures *picture.Keeper
	Live     *view.Live
	Auth     *auth.Service
	Edit     *edit.Editor
	Intake   *fuse.Intake
	Push     *sse.Hub
	// Ready says whether the service is ready to serve.
	Ready func() admin.Readiness
	// BaseURL is the service's public address without a trailing slash. No answer repeats the
	// request's Host.
	BaseURL string
	// Provider is the OpenID provider for logins; nil means none.
	Provider *oidc.Provider
	// Streets is the operator's basemap, StreetsAt the address of one that browsers read directly.
	// Both are optional.
	Streets   func() *basemap.Streets
	StreetsAt *url.URL
	// Layers are the operator's, of pictures that browsers read directly.
	Layers []browser.Layer
	// Version is the version of the program.
	Version string
	// Metrics is the registry behind GET /metrics. New adds the API's own metrics to it.
	Metrics *prometheus.Registry
	// Answers bounds the memory for answers; zero means the default.
	Answers encoded.Limits
	// Pace is the slowest reader that is tolerated; zero means the default.
	Pace   encoded.Pace
	Now    func() time.Time
	Logger *slog.Logger
}

// New returns the handler of all requests.
func New(c Config) http.Handler {
	var h http.Handler = newRouter(c)
	if len(c.AllowedOrigins) > 0 {
		h = cors.New(cors.Options{
			AllowedOrigins: c.AllowedOrigins,
			AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
			AllowedHeaders: []string{"Authorization", "Content-Type", "If-Match", "If-None-Match", "Last-Event-ID", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", trace.Header},
			ExposedHeaders: []string{"ETag", "Link", "Location", "Retry-After", "Hazardd-Change", "Hazardd-Sources", "Hazardd-Coverage", "Hazardd-Possible", "Hazardd-View-Age", "Hazardd-End", "Hazardd-Kept-From", "Hazardd-Evidence-From", route.RequestHeader, "Content-Language", "Content-Crs", "Mcp-Protocol-Version"},
			MaxAge:         600, // seconds
		}).Handler(h)
	}
	return route.Identified(h)
}

// newRouter returns the router with the routes of all audiences.
func newRouter(c Config) *route.Router {
	files := web.NewHandler()
	var ground *basemap.Archive
	if archive := files.Basemap(); archive != nil {
		var err error
		if ground, err = basemap.Open(archive); err != nil {
			panic(err) // embedded in the program
		}
	}
	router := route.New(route.Config{Auth: c.Auth, Provider: c.Provider, Live: c.Live, NextMoment: c.Intake.NextMoment, BaseURL: c.BaseURL, Languages: c.Languages,
		Public: c.Public, PublicLimits: c.PublicLimits, Requests: c.Requests, Answers: c.Answers, Pace: c.Pace, TrustedProxies: c.TrustedProxies,
		Metrics: c.Metrics, Time: c.Now, Logger: c.Logger})
	hazards := read.NewHazards(&read.Hazards{Router: router, Store: c.Store, Sources: c.Sources, Freshness: c.Freshness, Coverage: c.Coverage, Readings: c.Readings})
	assets := &read.Assets{Hazards: hazards}
	lists := read.NewLists(hazards)
	details := read.NewDetails(&read.Details{Assets: assets, Intake: c.Intake, Counting: c.Counting, Grid: c.Grid})
	pictures := read.NewPictures(hazards, c.Pictures, ground)
	streams := read.NewStreams(hazards, c.Push, c.Delays, c.Metrics)
	pages := browser.NewPages(&browser.Pages{Hazards: hazards, Lists: lists, Details: details, Pictures: pictures, Streams: streams, Delays: c.Delays})
	for _, handlers := range []interface{ Routes() }{
		lists, details, pictures, streams,
		read.NewAuthorities(hazards, c.Signer),
		&read.Assistant{Router: router, AllowedOrigins: c.AllowedOrigins, Version: c.Version},
		read.NewSymbols(router),
		&write.Handlers{Hazards: hazards, Edit: c.Edit, Intake: c.Intake, MaxFile: c.MaxFile},
		&admin.Accounts{Hazards: hazards},
		&admin.Assets{Assets: assets},
		&admin.Sources{Hazards: hazards, Evidence: c.Evidence, Delays: c.Delays, PollNow: c.PollNow, Why: c.Why},
		&admin.Messages{Router: router, Webhooks: c.Webhooks, Notify: c.Notify, Channels: c.Channels},
		admin.NewOperations(router, c.Ready, c.SecurityContact),
		gis.NewOGC(hazards),
		&gis.ArcGIS{Hazards: hazards},
		gis.NewVectorTiles(hazards),
		&gis.Tiles{Router: router, Streets: c.Streets},
		pages,
		browser.NewLogin(pages, c.ProviderTitle),
		&browser.Links{Pages: pages, Notify: c.Notify},
		browser.NewDocs(pages),
		browser.NewMap(pages, files, c.Streets, c.StreetsAt, c.Layers, c.EmbedSites),
	} {
		handlers.Routes()
	}
	return router
}
