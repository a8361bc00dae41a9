// Package serve serves the base interface over HTTP, and the extensions to it.
//
// The table in routes lists all of them. A handler parses the request, calls other packages and
// writes the answer. It returns errors to one adapter, which alone turns them into answers, so a
// handler must write nothing while it can still fail. Every protected path answers an invalid token
// with 403 and exactly "Invalid Token", before it looks at anything else. Every JSON answer has a
// strong ETag, and caches must revalidate it before reuse. No answer reveals the existence of
// anything that the caller may not see.
package serve

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/cors"

	"github.com/hazardd/hazardd/internal/atlas/basemap"
	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/auth/oidc"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/geo/lru"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/coverage"
	"github.com/hazardd/hazardd/internal/ingest/enrich/picture"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/poll/delay"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/net/listen"
	"github.com/hazardd/hazardd/internal/net/trace"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/gis/arcgis"
	pages "github.com/hazardd/hazardd/internal/serve/page"
	"github.com/hazardd/hazardd/internal/serve/sse"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/view"
	"github.com/hazardd/hazardd/internal/tell/publish"
	"github.com/hazardd/hazardd/internal/tell/subscription"
	"github.com/hazardd/hazardd/internal/tell/webhook"
	"github.com/hazardd/hazardd/web"
)

// Config holds the parts that the API needs. All fields are required unless they say otherwise.
type Config struct {
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
	// Webhooks stores the webhooks. The API does not deliver to them itself.
	Webhooks *webhook.Service
	// Notify stores the subscriptions. The API sends no messages except tests.
	Notify *subscription.Service
	// Channels are the channels that subscribers can choose; zero means none.
	Channels Channels
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
	// Ready returns why the service is not ready to serve, or nil if it is.
	Ready func() error
	// BaseURL is the service's public address without a trailing slash. No answer repeats the
	// request's Host.
	BaseURL string
	// Languages is the fallback for readers who ask for no language that a text exists in. If
	// empty, they get the authority's own language.
	Languages lang.Wish
	// Requests bounds the requests of users; zero means no bound.
	Requests RequestLimits
	// Public is what readers without an account may do; empty means nothing. PublicLimits bounds
	// it.
	Public       Public
	PublicLimits PublicLimits
	// EmbedSites are the origins whose pages may show the widget in a frame, besides our own; *
	// allows all.
	EmbedSites []string
	// Streets is the operator's basemap, StreetsAt the address of one that browsers read directly.
	// Both are optional.
	Streets   *basemap.Streets
	StreetsAt *url.URL
	// Signer signs the CAP messages of publishing organizations; nil leaves them unsigned.
	Signer publish.Signer
	// SecurityContact is the mailto: or https: address for reports of vulnerabilities. If empty,
	// there is no security.txt.
	SecurityContact string
	// Provider is the OpenID provider for logins, ProviderTitle its name on the login page; nil
	// means none.
	Provider      *oidc.Provider
	ProviderTitle string
	// Version is the version of the program.
	Version string
	// MaxFile bounds an uploaded file, in bytes.
	MaxFile int64
	// AllowedOrigins are the web origins whose pages may read answers (CORS), besides our own.
	AllowedOrigins []string
	// TrustedProxies are the addresses whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// Metrics is the registry behind GET /metrics. New adds the API's own metrics to it.
	Metrics *prometheus.Registry
	// Answers bounds the memory for answers; zero means the default.
	Answers encoded.Limits
	// Pace is the slowest reader that is tolerated; zero means the default.
	Pace   encoded.Pace
	Now    func() time.Time
	Logger *slog.Logger
}

// slowest is the slowest reader that is tolerated; a phone on a bad line is faster. A reader that
// accepts no data is disconnected within 42 s.
var slowest = encoded.Pace{Rate: 8 << 10, Patience: 10 * time.Second}

// API answers requests. Make it with New.
type API struct {
	Config
	lists       *encoded.Lists
	forms       *format.Cache
	layers      *lru.Cache[string, *encoded.Body]    // layers of coverage
	regions     *lru.Cache[string, *coverage.Region] // regions recently used in lists
	drawn       *lru.Cache[string, []drawing]        // shapes of active hazards, by digest
	budget      *encoded.Budget
	readers     encoded.Readers
	static      map[string]*encoded.Body
	symbols     *symbols
	page        web.Handler
	ground      *basemap.Archive               // nil if the binary is built without the map
	pictures    *lru.Cache[any, *encoded.Body] // by pictureKey and windowKey
	pencil      chan struct{}                  // holds one token, for the request that draws a picture
	streets     []byte                         // tells the map's document where the streets are; nil means no streets
	thumbnails  *lru.Cache[string, []byte]     // thumbnails of picture products, by digest
	css         *encoded.Body                  // style sheet of the pages
	visits      visits
	about       description
	measure     *measures
	quotas      *quotas
	authorities authorities
	attempts    attempts
	towns       *lru.Cache[string, *around] // by the area of a hazard
	crowd       *crowd
	wakes       wakes
	refused     refusals
	scraped     http.Handler // handler of the metrics
	mux         *http.ServeMux
	// probe has the routes without the catch-all; it tells which methods a path has.
	probe    *http.ServeMux
	patterns []string // patterns of the routes
}

// handler answers a request, or returns an error and has then written nothing.
type handler func(w http.ResponseWriter, r *http.Request) error

// protected is a handler that needs a caller.
type protected func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error

// New creates the API.
func New(c Config) http.Handler {
	_, css := pages.Style()
	a := &API{Config: c, mux: http.NewServeMux(), probe: http.NewServeMux(), lists: encoded.NewLists(c.BaseURL), forms: format.NewCache(maxForms),
		layers: lru.New[string, *encoded.Body](maxLayers), regions: lru.New[string, *coverage.Region](maxRegions), drawn: lru.New[string, []drawing](maxDrawings), budget: encoded.NewBudget(cmp.Or(c.Answers, encoded.DefaultLimits)), static: staticBodies(), symbols: newSymbols(), page: web.NewHandler(),
		css: encoded.NewBody(css, false), visits: newVisits(c.BaseURL), measure: newMeasures(c.Metrics, cmp.Or(c.Pace, slowest)), scraped: scraped(&c)}
	if archive := a.page.Basemap(); archive != nil {
		var err error
		if a.ground, err = basemap.Open(archive); err != nil {
			panic(err) // embedded in the program
		}
	}
	a.pictures, a.pencil = lru.New[any, *encoded.Body](maxPictures), make(chan struct{}, 1)
	a.thumbnails = lru.New[string, []byte](maxThumbnails)
	a.authorities = authorities{publish.New(c.Store, c.Signer), lru.New[string, *encoded.Body](maxIndexes)}
	a.attempts = newAttempts()
	a.streets = a.streetsMark()
	a.towns = lru.New[string, *around](townBytes)
	a.quotas, a.crowd = newQuotas(c.Requests), newCrowd(c.PublicLimits)
	a.about = newDescription(c.BaseURL, a.visits.root)
	a.routes()
	a.mux.Handle("/", a.measure.measure("", a.open(a.unknown)))
	var h http.Handler = a.mux
	if len(c.AllowedOrigins) > 0 {
		h = cors.New(cors.Options{
			AllowedOrigins: c.AllowedOrigins,
			AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
			AllowedHeaders: []string{"Authorization", "Content-Type", "If-Match", "If-None-Match", "Last-Event-ID", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", trace.Header},
			ExposedHeaders: []string{"ETag", "Link", "Location", "Retry-After", "Hazardd-Change", "Hazardd-Sources", "Hazardd-Coverage", "Hazardd-View-Age", "Hazardd-End", "Hazardd-Kept-From", requestHeader, "Content-Language", "Mcp-Protocol-Version"},
			MaxAge:         600, // seconds
		}).Handler(h)
	}
	return identified(h)
}

// routes registers all routes. A GET pattern also answers HEAD.
func (a *API) routes() {
	// The base interface, section 4.
	a.public("POST /authorize", a.authorize)
	a.readable("GET /hazards/types", a.fixed("types"))
	a.readable("GET /hazards/severities", a.fixed("severities"))
	a.readable("GET /hazards/categories", a.fixed("categories"))
	a.readable("GET /hazards/active", a.active)
	a.readable("GET /hazards/active/areas", a.activeAreas)
	a.readable("GET /hazards/active/map.svg", a.activePicture)
	a.readable("GET /hazards/active/order", a.activeOrder)
	a.readable("GET /hazards/active/category/{category}", a.activeByCategory)
	a.readable("GET /hazards/active/severity/{severity}", a.activeBySeverity)
	a.readable("GET /hazards/{hazard}/products", a.products)
	a.readable("GET /products/{product}", a.holds(costOfObject, a.product))

	// Extensions.
	a.public("POST /authorize/refresh", a.refresh)
	a.public("POST /authorize/revoke", a.revoke)
	a.public("GET /.well-known/jwks.json", a.jwks)
	a.readable("GET /products/types", a.fixed("productTypes"))
	a.readable("GET /products/{product}/file", a.file)
	a.readable("GET /products/{product}/picture", a.photo)
	a.readable("GET /products/{product}/versions", a.versions)
	a.readable("GET /hazards/{hazard}", a.hazard)
	a.readable("GET /hazards/{hazard}/changes", a.hazardChanges)
	a.readable("GET /hazards/{hazard}/map.png", a.mapPicture)
	a.readable("GET /hazards/{hazard}/pictures", a.holds(costOfObject, a.photos))
	a.readable("GET /hazards/{hazard}/brief", a.holds(costOfBrief, a.brief))
	a.readable("GET /hazards/{hazard}/alert-geography", a.holds(costOfShapes, a.alertGeography))
	a.readable("GET /measurements", a.fixed("measurements"))
	a.readable("GET /hazards/{hazard}/measurements", a.holds(costOfObject, a.measurements))
	a.readable("GET /hazards/{hazard}/shapes", a.holds(costOfShapes, a.shapes))
	a.readable("GET /hazards/{hazard}/exposure", a.holds(costOfObject, a.exposure))
	a.readable("GET /hazards/{hazard}/importance", a.holds(costOfObject, a.importance))
	a.readable("GET /hazards/{hazard}/reports", a.holds(costOfObject, a.reports))
	a.readable("GET /hazards/{hazard}/texts", a.texts)
	a.readable("GET /hazards/{hazard}/related", a.holds(costOfObject, a.related))
	a.readable("GET /hazards", a.search)
	a.readable("GET /hazards/count", a.count)
	a.readable("GET /changes", a.changes)
	a.readable("GET /events", a.events)
	a.private("POST /events/tickets", a.ticket)

	a.writes("POST /hazards", a.createHazard)
	a.writes("PATCH /hazards/{hazard}", a.patchHazard)
	a.writes("POST /hazards/{hazard}/retract", a.retract)
	a.writes("POST /hazards/{hazard}/redact", a.redactHazard)
	a.writes("POST /hazards/{hazard}/merge", a.merge)
	a.writes("POST /hazards/{hazard}/split", a.split)
	a.writes("POST /hazards/{hazard}/confirm", a.confirm)
	a.private("GET /joins", a.joins)
	a.writes("POST /joins/{join}", a.judge)
	a.writes("POST /hazards/{hazard}/undo", a.undo)
	a.private("GET /drafts", a.drafts)
	a.private("GET /drafts/{draft}", a.draft)
	a.private("POST /drafts/{draft}/approve", a.approveDraft)
	a.private("POST /drafts/{draft}/refuse", a.refuseDraft)
	a.writes("POST /hazards/{hazard}/products", a.createProduct)
	a.writes("PATCH /products/{product}", a.patchProduct)
	a.writes("PUT /products/{product}/file", a.replaceFile)
	a.writes("DELETE /products/{product}", a.deleteProduct)
	a.writes("POST /products/{product}/redact", a.redactProduct)

	a.readable("GET /cap/feed.atom", a.capIndex(publish.Atom, "application/atom+xml"))
	a.readable("GET /cap/feed.rss", a.capIndex(publish.RSS, "application/rss+xml"))
	a.readable("GET /cap/{message}", a.capMessage)
	a.private("GET /users", forAdmins(a.users))
	a.private("POST /users", forAdmins(a.createUser))
	a.private("GET /users/{user}", forAdmins(a.user))
	a.private("PATCH /users/{user}", forAdmins(a.patchUser))
	a.private("DELETE /users/{user}", forAdmins(a.removeUser))
	a.private("POST /users/{user}/password", forAdmins(a.givePassword))
	a.private("GET /organizations", forAdmins(a.organizations))
	a.private("POST /organizations", forAdmins(a.createOrganization))
	a.private("GET /organizations/{org}", forAdmins(a.organization))
	a.private("GET /organizations/{org}/publishing", a.publishing)
	a.private("PUT /organizations/{org}/publishing", a.setPublishing)
	a.members("GET /organizations/{org}/assets", a.holds(costOfPage, a.assets))
	a.members("PUT /organizations/{org}/assets", a.loadAssets)
	a.members("DELETE /organizations/{org}/assets", a.removeAssets)
	a.members("GET /hazards/{hazard}/assets", a.holds(costOfPage, a.hazardAssets))

	a.private("GET /webhooks", a.listWebhooks)
	a.private("POST /webhooks", a.createWebhook)
	a.private("GET /webhooks/{webhook}", a.getWebhook)
	a.private("PATCH /webhooks/{webhook}", a.patchWebhook)
	a.private("DELETE /webhooks/{webhook}", a.deleteWebhook)
	a.private("POST /webhooks/{webhook}/test", a.testWebhook)
	a.private("POST /webhooks/{webhook}/rotate", a.rotateWebhook)
	a.private("GET /webhooks/{webhook}/deliveries", a.deliveries)
	a.private("POST /webhooks/{webhook}/deliveries/{delivery}/redeliver", a.redeliver)

	a.private("GET /subscriptions", subscribed(a.listSubscriptions))
	a.route("POST /subscriptions", a.anybody(a.createSubscription))
	a.route("GET /subscriptions/channels", a.anybody(subscribed(a.subscriptionChannels)))
	a.private("GET /subscriptions/status", subscribed(a.subscriptionsState))
	a.private("GET /subscriptions/{subscription}", subscribed(a.getSubscription))
	a.private("PATCH /subscriptions/{subscription}", a.patchSubscription)
	a.private("DELETE /subscriptions/{subscription}", a.deleteSubscription)
	a.private("POST /subscriptions/{subscription}/test", a.testSubscription)
	a.private("GET /subscriptions/{subscription}/notices", subscribed(a.subscriptionNotices))

	// Links in messages.
	a.linked("GET /subscriptions/confirm", a.asks(subscription.ToConfirm, pages.ToConfirm))
	a.linked("POST /subscriptions/confirm", a.does(subscription.ToConfirm, pages.ToConfirm))
	a.linked("GET /subscriptions/unsubscribe", a.asks(subscription.ToUnsubscribe, pages.ToEnd))
	a.linked("POST /subscriptions/unsubscribe", a.does(subscription.ToUnsubscribe, pages.ToEnd))
	a.linked("GET /subscriptions/manage", a.manages)
	a.linked("POST /subscriptions/manage", a.does(subscription.ToManage, pages.ToEnd))
	a.linked("GET /subscriptions/change", a.manages) // for a reader who changes the language after submitting a form
	a.linked("POST /subscriptions/change", a.changesSubscribed)

	a.private("GET /payloads/{payload}", a.payload)
	a.readable("GET /sources", a.sources)
	a.readable("GET /coverage", a.coverage)
	a.readable("GET /places", a.places)
	a.readable("GET /places/{place}", a.holds(costOfObject, a.place))
	a.private("POST /areas/read", a.readAreaFile)
	a.private("POST /sources/{source}/poll", a.pollSource)
	a.private("GET /sources/{source}/errors", a.sourceErrors)
	a.private("POST /sources/{source}/held/{held}", a.decideHeld)

	// Pages, which use a cookie.
	a.private("POST /session", a.openSession)
	a.public("DELETE /session", a.closeSession)
	a.openPage("GET /login", a.loginPage)
	a.openPage("POST /login", a.login)
	a.openPage("POST /logout", a.logout)
	a.public("GET /login/methods", a.loginMethods)
	a.openPage("GET /login/provider", a.toProvider)
	a.openPage("GET /login/callback", a.fromProvider)
	a.public("POST /login/tokens", a.providerTokens)
	a.public("POST /login/ended", a.providerLogout)
	a.paged(hazardPattern, a.holds(costOfObject, a.hazardPage))
	a.paged("GET /status", a.statusPage)
	a.paged("GET /h/{hazard}/brief", a.holds(costOfBrief, a.brief))
	a.paged("GET /h/{hazard}/map.svg", a.holds(costOfShapes, a.pageMap))
	a.paged("GET /h/{hazard}/hazard.json", inForm("application/json", a.hazard))
	a.paged("GET /h/{hazard}/changes.json", inForm("application/json", a.hazardChanges))
	a.paged("GET /h/{hazard}/area.geojson", inForm(geoJSON, a.holds(costOfShapes, a.alertGeography)))
	a.paged("GET /h/{hazard}/products/{product}/file", a.ofPage(a.file))
	a.paged("GET /h/{hazard}/products/{product}/picture", a.ofPage(a.photo))
	a.public("GET /pages/{style}", a.style)
	// OGC API – Features.
	a.readable("GET /ogc", a.ogcLanding)
	a.readable("GET /ogc/{$}", a.ogcLanding)
	a.readable("GET /ogc/conformance", a.ogcConformance)
	a.readable("GET /ogc/api", a.ogcAPI)
	a.readable("GET /ogc/collections", a.ogcCollections)
	a.readable("GET /ogc/collections/{collection}", a.ogcCollection)
	a.readable("GET /ogc/collections/{collection}/queryables", a.ogcQueryables)
	a.readable("GET /ogc/collections/{collection}/schema", a.ogcSchema)
	a.readable("GET /ogc/collections/{collection}/items", a.ogcItems)
	a.readable("GET /ogc/collections/{collection}/items/{hazard}", a.holds(costOfShapes, a.ogcItem))

	// ArcGIS.
	a.readable("GET /arcgis/rest/info", a.arcgisDocument(arcgis.Info))
	a.readable("GET /arcgis/rest/services", a.arcgisDocument(arcgis.Catalog))
	a.readable("GET /arcgis/rest/services/hazards/FeatureServer", a.arcgisDocument(a.arcgisService))
	a.readable("GET /arcgis/rest/services/hazards/FeatureServer/layers", a.arcgisDocument(a.arcgisLayers))
	a.readable("GET /arcgis/rest/services/hazards/FeatureServer/{layer}", a.arcgisLayer)
	a.readable("GET "+arcgisQueryPath, a.arcgisQuery)
	a.readable(arcgisQueryByPost, a.arcgisQuery)

	a.private("GET /account", a.account)
	a.private("POST /account/password", a.changePassword)
	a.private("GET /account/sessions", a.sessions)
	a.private("DELETE /account/sessions/{session}", a.endUserSession)
	a.private("GET /audit", a.audit)

	a.private("POST /keys", a.createKey)
	a.private("GET /keys", a.keys)
	a.private("DELETE /keys/{key}", a.revokeKey)
	a.public("GET /key/{key}/{path...}", a.withKey)
	a.public("POST /key/{key}/mcp", a.withKey)
	a.public("POST /key/{key}"+arcgisQueryPath, a.withKey)
	a.readable("POST /mcp", a.mcp) // needs a token: the public can only read, and this is a POST

	a.public("GET /icons/hazard/large/{icon}", a.icon)
	a.public("GET /symbols/{type}/{category}/{file}", a.symbol)
	a.public("GET /openapi.json", a.openAPI)
	a.public("GET /asyncapi.json", a.asyncAPI)
	a.openPage("GET /docs", a.docs)
	a.public("GET /healthz", a.healthz)
	a.public("GET /readyz", a.readyz)
	a.public("GET /metrics", a.metrics)
	a.public("GET /{$}", a.index)
	a.public("GET /embed", a.embed)
	a.public("GET /assets/{file...}", a.mapFile)
	a.public("GET /basemap/{basemap}/{z}/{x}/{tile}", a.streetTile)
	a.public("GET /favicon.ico", a.mapFile)
	a.public("GET /robots.txt", a.robots)
	a.public("GET /.well-known/security.txt", a.securityText)
}

func (a *API) public(pattern string, h handler) { a.route(pattern, a.open(h)) }

func (a *API) private(pattern string, h protected) { a.route(pattern, a.guarded(h, forPeople)) }

// readable registers what the public may read if the server is public (Config.Public). Otherwise it
// needs a token.
func (a *API) readable(pattern string, h protected) { a.route(pattern, a.guarded(h, reading)) }

// writes registers an operation of editors. If it needs a second person, the answer says so.
func (a *API) writes(pattern string, h protected) {
	a.route(pattern, a.guarded(func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
		return a.orDrafted(w, h(w, r, who))
	}, writing))
}

// members registers an operation on the data of an organization, for its members and for services
// that write for it.
func (a *API) members(pattern string, h protected) { a.route(pattern, a.guarded(h, writing)) }

// use classifies an operation for service tokens, which may not use the operations meant for
// people.
type use int

const (
	forPeople use = iota
	reading
	writing
)

// inScope refuses a service token whose scope lacks the operation. The answer is the same as for an
// invalid token, as the base interface demands.
func inScope(who *auth.Caller, u use) error {
	_, writes := who.Scope.Org()
	if who.Scope == "" || u == reading && (writes || who.Scope == auth.ScopeRead) || u == writing && writes {
		return nil
	}
	return auth.ErrInvalidToken
}

func (a *API) route(pattern string, h http.Handler) {
	a.mux.Handle(pattern, a.measure.measure(pattern, h))
	a.probe.Handle(pattern, http.NotFoundHandler())
	a.patterns = append(a.patterns, pattern)
}

// open wraps a handler that needs no token.
func (a *API) open(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer a.recover(w, r)
		secure(w.Header())
		if err := h(w, r); err != nil {
			a.fail(w, r, err)
		}
	})
}

// guarded wraps a handler that needs a valid access token. A readable one needs none if the server
// is public.
func (a *API) guarded(h protected, u use) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer a.recover(w, r)
		secure(w.Header())
		if u == reading {
			if who := a.publicCaller(r, a.now()); who != nil {
				if err := a.servePublic(w, r, who, h); err != nil {
					a.fail(w, r, err)
				}
				return
			}
		}
		who, err := a.caller(r, a.now())
		if err != nil {
			a.answerRefused(w, r, err)
			return
		}
		known(r)
		share, err := a.quotas.enter(r, who, a.Now())
		if err != nil {
			a.fail(w, r, err)
			return
		}
		defer share.leave()
		if err = inScope(who, u); err == nil {
			err = h(w, r, who)
		}
		if err != nil {
			a.fail(w, r, err)
			if errors.Is(err, hazard.ErrForbidden) {
				a.Auth.Refused(r.Context(), a.actor(r, who), r.Pattern, r.URL.Path, err.Error(), a.now())
			}
		}
	})
}

// known marks the connection: a request on it has proved its sender's identity.
func known(r *http.Request) {
	if c := listen.Of(r.Context()); c != nil {
		c.Known()
	}
}

// bearer returns the token of the request, or "" if it has none or more than one. The scheme's name
// is case-insensitive (RFC 9110 section 11.1). A token in the query does not count (RFC 9700
// section 4.3.2).
func bearer(h http.Header) string {
	values := h["Authorization"]
	if len(values) != 1 {
		return ""
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimLeft(token, " ")
}

var (
	nosniff    = []string{"nosniff"}
	noReferrer = []string{"no-referrer"}
)

func secure(h http.Header) {
	h["X-Content-Type-Options"] = nosniff
	h["Referrer-Policy"] = noReferrer
}

func (a *API) now() hazard.Instant { return hazard.At(a.Now()) }

func (a *API) clock() hazard.Clock { return hazard.ClockFunc(a.now) }

// recover answers a request whose handler panicked. The process can continue, because handlers
// change data only in transactions.
func (a *API) recover(w http.ResponseWriter, r *http.Request) {
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler {
			panic(p)
		}
		a.measure.panics.Inc()
		a.fail(w, r, &panicError{p})
	}
}

// unknown answers requests for an unknown path, or a method that the path does not have.
func (a *API) unknown(w http.ResponseWriter, r *http.Request) error {
	var allow []string
	for _, m := range []string{"GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"} {
		try := &http.Request{Method: m, URL: r.URL, Host: r.Host}
		if _, pattern := a.probe.Handler(try); pattern != "" {
			allow = append(allow, m)
		}
	}
	if len(allow) == 0 {
		return &problem{Status: http.StatusNotFound, Detail: "no such path"}
	}
	if slices.Contains(allow, r.Method) { // the look-up above cleaned the path, the router did not
		return &problem{Status: http.StatusNotFound, Detail: "no such path"}
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	return &problem{Status: http.StatusMethodNotAllowed, Detail: "this path has " + strings.Join(allow, ", ")}
}

// The largest bodies that are accepted, in bytes.
const (
	maxLogin = 64 << 10 // decisions, "bad body on /authorize"
	maxWrite = 4 << 20  // a product's text, or an area of a state's coast
)

// readBody reads a request's body of at most limit bytes. If Content-Length exceeds the limit, it
// fails without reading.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if b, ok := r.Body.(*arrivingBody); ok && limit <= maxLogin {
		b.flat()
	}
	body, err := io.ReadAll(http.MaxBytesReader(own(w), r.Body, limit))
	if err != nil {
		return nil, bodyError(err, limit)
	}
	return body, nil
}
