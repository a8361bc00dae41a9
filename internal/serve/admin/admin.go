// Package admin serves what people manage: accounts, organizations, keys, sources, assets, webhooks
// and subscriptions, and what operators and their programs look at.
package admin

import (
	"context"
	"net/http"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/poll/delay"
	"github.com/hazardd/hazardd/internal/ingest/why"
	"github.com/hazardd/hazardd/internal/serve/read"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/tell"
	"github.com/hazardd/hazardd/internal/tell/subscription"
	"github.com/hazardd/hazardd/internal/tell/webhook"
)

// Accounts serves logins, accounts, users, organizations, keys and the audit trail.
type Accounts struct{ *read.Hazards }

// Routes adds the accounts.
func (a *Accounts) Routes() {
	a.Open("POST /authorize", a.authorize) // the base interface, section 5
	a.Open("POST /authorize/refresh", a.refresh)
	a.Open("POST /authorize/revoke", a.revoke)
	a.Open("GET /.well-known/jwks.json", a.jwks)
	a.Private("GET /account", ownAccount(route.JSON(a.account)))
	a.Private("PATCH /account", ownAccount(route.Changed(a.patchAccount)))
	a.Private("POST /account/password", ownAccount(a.changePassword))
	a.Open("POST /login/passkey/options", a.passkeyOptions)
	a.Open("POST /login/passkey", a.passkeyLogin)
	a.Private("GET /factors", forAdmins(route.JSON(a.requiredFactors)))
	a.Private("PUT /factors", forAdmins(route.Changed(a.requireFactors)))
	a.Private("GET /account/factors", ownAccount(route.JSON(a.factors)))
	a.Private("PATCH /account/factors/{passkey}", ownAccount(route.Changed(a.renamePasskey)))
	a.Private("POST /account/factors", ownAccount(route.Changed(a.setFactor)))
	a.Private("GET /account/sessions", ownAccount(route.JSON(a.sessions)))
	a.Private("DELETE /account/sessions/{session}", ownAccount(route.Done(a.endUserSession)))
	a.Private("GET /users", forAdmins(route.JSON(a.users)))
	a.Private("POST /users", forAdmins(route.Created(a.createUser)))
	a.Private("GET /users/{user}", forAdmins(route.JSON(a.user)))
	a.Private("PATCH /users/{user}", forAdmins(route.Changed(a.patchUser)))
	a.Private("DELETE /users/{user}", forAdmins(route.Done(a.removeUser)))
	a.Private("POST /users/{user}/password", forAdmins(route.Changed(a.givePassword)))
	a.Private("GET /organizations", forAdmins(route.JSON(a.organizations)))
	a.Private("POST /organizations", forAdmins(route.Created(a.createOrganization)))
	a.Private("GET /organizations/{org}", forAdmins(route.JSON(a.organization)))
	a.Private("GET /organizations/{org}/publishing", route.JSON(a.publishing))
	a.Private("PUT /organizations/{org}/publishing", forAdmins(a.setPublishing))
	a.Private("POST /keys", forEditors(a.createKey))
	a.Private("GET /keys", forEditors(route.JSON(a.keys)))
	a.Private("DELETE /keys/{key}", forEditors(route.Done(a.revokeKey)))
	a.Private("GET /audit", route.For(a.audit, auth.Admin))
}

// forEditors lets editors and admins through.
func forEditors(h route.Protected) route.Protected { return route.For(h, auth.Editor, auth.Admin) }

// Assets changes the assets of organizations.
type Assets struct{ *read.Assets }

// Routes adds the changes.
func (a *Assets) Routes() {
	a.Members("PUT /organizations/{org}/assets", a.loadAssets)
	a.Members("DELETE /organizations/{org}/assets", a.removeAssets)
}

// Sources serves the states of the sources, and what they sent.
type Sources struct {
	*read.Hazards
	Evidence *evidence.Keeper // payloads as received; nil means that none are kept
	Delays   *delay.Delays    // how late reports are committed
	// PollNow requests a poll of the named source. It returns hazard.ErrNotFound if there is none.
	PollNow func(ctx context.Context, name string) error
	// Why answers what became of a record of the named source.
	Why func(ctx context.Context, name, ref string) (*why.Answer, error)
}

// Routes adds the sources.
func (a *Sources) Routes() {
	a.Readable("GET /sources", a.sources)
	a.Private("POST /sources/{source}/poll", route.For(a.pollSource, auth.Admin))
	a.Private("GET /sources/{source}/errors", forEditors(route.JSON(a.sourceErrors)))
	a.Private("GET /sources/{source}/why", forEditors(a.explain))
	a.Private("GET /payloads/{payload}", forEditors(a.payload))
}

// Messages serves webhooks and subscriptions.
type Messages struct {
	*route.Router
	Webhooks *webhook.Service
	Notify   *subscription.Service
	Channels Channels
}

// Routes adds the webhooks and subscriptions.
func (a *Messages) Routes() {
	hooks := resource[webhook.Webhook, tell.Tested]{a.Router, "webhook", route.MaxLogin, func(h webhook.Webhook) string { return h.ID }, a.Webhooks}
	a.Private("GET /webhooks", route.JSON(a.listWebhooks))
	a.Private("POST /webhooks", hooks.create)
	a.Private("GET /webhooks/{webhook}", route.JSON(hooks.get))
	a.Private("PATCH /webhooks/{webhook}", hooks.patch)
	a.Private("DELETE /webhooks/{webhook}", route.Done(hooks.remove))
	a.Private("POST /webhooks/{webhook}/test", hooks.test)
	a.Private("POST /webhooks/{webhook}/rotate", a.rotateWebhook)
	a.Private("GET /webhooks/{webhook}/deliveries", a.deliveries)
	a.Private("POST /webhooks/{webhook}/deliveries/{delivery}/redeliver", a.redeliver)
	subs := resource[subscription.Subscription, []tell.Tested]{a.Router, "subscription", maxSubscription, func(s subscription.Subscription) string { return s.ID }, a.Notify}
	a.Private("GET /subscriptions", subscribed(a.listSubscriptions))
	a.Anybody("POST /subscriptions", subs.create)
	a.Anybody("GET /subscriptions/channels", subscribed(a.subscriptionChannels))
	a.Private("GET /subscriptions/status", subscribed(route.JSON(a.subscriptionsState)))
	a.Private("GET /subscriptions/{subscription}", subscribed(route.JSON(subs.get)))
	a.Private("PATCH /subscriptions/{subscription}", subs.patch)
	a.Private("DELETE /subscriptions/{subscription}", route.Done(subs.remove))
	a.Private("POST /subscriptions/{subscription}/test", subs.test)
	a.Private("GET /subscriptions/{subscription}/notices", subscribed(a.subscriptionNotices))
}

// Operations serves health, metrics, robots.txt and security.txt.
type Operations struct {
	*route.Router
	// Ready says whether the service is ready to serve.
	Ready func() Readiness
	// SecurityContact is the mailto: or https: address for reports of vulnerabilities. If empty,
	// there is no security.txt.
	SecurityContact string
	scraped         http.Handler // handler of the metrics
}

// NewOperations returns the handlers of operators.
func NewOperations(r *route.Router, ready func() Readiness, contact string) *Operations {
	return &Operations{r, ready, contact, scraped(r.Metrics, r.Logger)}
}

// Routes adds the paths of operators.
func (a *Operations) Routes() {
	a.Open("GET /healthz", a.healthz)
	a.Open("GET /readyz", a.readyz)
	a.Open("GET /metrics", a.metrics)
	a.Open("GET /robots.txt", a.robots)
	a.Open("GET /.well-known/security.txt", a.securityText)
}
