// Package browser serves people with a browser: the pages and their sessions, logins, the pages of
// links in messages, the documentation, and the map.
//
// Pages use a cookie, which grants reading pages and nothing else.
package browser

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/atlas/basemap"
	"github.com/hazardd/hazardd/internal/ingest/poll/delay"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/page"
	"github.com/hazardd/hazardd/internal/serve/read"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/tell/subscription"
	"github.com/hazardd/hazardd/web"
)

// Pages serves the pages of hazards and the status page.
type Pages struct {
	*read.Hazards
	Lists    *read.Lists
	Details  *read.Details
	Pictures *read.Pictures
	Streams  *read.Streams
	Delays   *delay.Delays
	css      *encoded.Body // style sheet of the pages
}

// NewPages completes p, of which all exported fields are set.
func NewPages(p *Pages) *Pages {
	_, css := page.Style()
	p.css = encoded.NewBody(css, false)
	return p
}

// Routes adds the pages.
func (a *Pages) Routes() {
	a.Readable("GET /hazards/{hazard}/brief", a.Holds(costOfBrief, a.brief))
	a.paged(hazardPattern, a.Holds(route.CostOfObject, a.hazardPage))
	a.paged("GET /status", a.statusPage)
	a.Handle("GET /here", a.here())
	a.paged("GET /h/{hazard}/brief", a.Holds(costOfBrief, a.brief))
	a.paged("GET /h/{hazard}/map.svg", a.Holds(route.CostOfShapes, a.pageMap))
	a.paged("GET /h/{hazard}/hazard.json", inForm("application/json", a.Lists.Hazard))
	a.paged("GET /h/{hazard}/changes.json", inForm("application/json", a.Streams.HazardChanges))
	a.paged("GET /h/{hazard}/area.geojson", inForm(read.GeoJSON, a.Holds(route.CostOfShapes, a.Details.AlertGeography)))
	a.paged("GET /h/{hazard}/products/{product}/file", a.ofPage(a.Pictures.File))
	a.paged("GET /h/{hazard}/products/{product}/picture", a.ofPage(a.Pictures.Photo))
	a.Open("GET /pages/{style}", a.style)
}

// Login serves logins and sessions of browsers, by password or at an OpenID provider.
type Login struct {
	*Pages
	ProviderTitle string // name of the provider on the login page
	attempts      attempts
}

// NewLogin returns the handlers of logins.
func NewLogin(p *Pages, providerTitle string) *Login { return &Login{p, providerTitle, newAttempts()} }

// Routes adds the logins.
func (a *Login) Routes() {
	a.Private("POST /session", a.openSession)
	a.Open("DELETE /session", a.closeSession)
	a.openPage("GET /login", a.loginPage)
	a.openPage("POST /login", a.login)
	a.openPage("POST /logout", a.logout)
	a.Open("GET /login/methods", a.loginMethods)
	a.openPage("GET /login/provider", a.toProvider)
	a.openPage("GET /login/callback", a.fromProvider)
	a.Open("POST /login/tokens", a.providerTokens)
	a.Open("POST /login/ended", a.providerLogout)
}

// Links serves the pages of links in messages.
type Links struct {
	*Pages
	Notify *subscription.Service
}

// Routes adds the pages of links.
func (a *Links) Routes() {
	a.linked("GET /subscriptions/confirm", a.asks(subscription.ToConfirm, page.ToConfirm))
	a.linked("POST /subscriptions/confirm", a.does(subscription.ToConfirm, page.ToConfirm))
	a.linked("GET /subscriptions/unsubscribe", a.asks(subscription.ToUnsubscribe, page.ToEnd))
	a.linked("POST /subscriptions/unsubscribe", a.does(subscription.ToUnsubscribe, page.ToEnd))
	a.linked("GET /subscriptions/manage", a.manages)
	a.linked("POST /subscriptions/manage", a.does(subscription.ToManage, page.ToEnd))
	a.linked("GET /subscriptions/change", a.manages) // for a reader who changes the language after submitting a form
	a.linked("POST /subscriptions/change", a.changesSubscribed)
}

// Docs serves the documents about the interface.
type Docs struct {
	*Pages
	about description
}

// NewDocs returns the handlers of documents.
func NewDocs(p *Pages) *Docs { return &Docs{p, newDescription(p.BaseURL, p.Cookies.Root)} }

// Routes adds the documents.
func (a *Docs) Routes() {
	a.Open("GET /openapi.json", a.openAPI)
	a.Open("GET /asyncapi.json", a.asyncAPI)
	a.openPage("GET /docs", a.docs)
}

// Map serves the map and the widget.
type Map struct {
	*Pages
	page web.Handler
	// EmbedSites are the origins whose pages may show the widget in a frame, besides our own; *
	// allows all.
	EmbedSites []string
	streets    func() *basemap.Streets // nil while there are none
	at         *url.URL                // of streets elsewhere
	layers     []byte                  // tells the map's document of layers of the operator
	connect    string                  // the origins of these, besides our own, separated by blanks
}

// NewMap returns the handlers of the map; streets gives the operator's basemap on this server, at is the address of one elsewhere. The
// head of the map's document names both, and the operator's layers.
func NewMap(p *Pages, files web.Handler, streets func() *basemap.Streets, at *url.URL, layers []Layer, embedSites []string) *Map {
	m := &Map{Pages: p, page: files, EmbedSites: embedSites, streets: streets, at: at, layers: layersMark(layers)}
	var origins []string
	if at != nil {
		origins = append(origins, at.Scheme+"://"+at.Host)
	}
	for _, l := range layers {
		origins = append(origins, l.origins()...)
	}
	slices.Sort(origins)
	m.connect = strings.Join(slices.Compact(origins), " ")
	return m
}

// operator tells the map's document where streets and layers of the operator are; empty if there are none.
func (a *Map) operator() []byte { return append(streetsMark(a.streets(), a.at), a.layers...) }

// Routes adds the map.
func (a *Map) Routes() {
	a.Open("GET /{$}", a.index)
	a.Open("GET /embed", a.embed)
	a.Open("GET /assets/{file...}", a.mapFile)
	a.Open("GET /favicon.ico", a.mapFile)
}
