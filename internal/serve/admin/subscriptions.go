package admin

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	countries "github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/tell/subscription"
)

// maxSubscription bounds the body of a subscription, in bytes. Areas take most of it.
const maxSubscription = 256 << 10

// subscribed wraps h for callers with a login. A read key grants no subscription, because others
// see the addresses that contain it.
func subscribed(h route.Protected) route.Protected {
	return func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
		if route.Keyed(r) != nil {
			return fmt.Errorf("%w: a read key shows no subscriptions; log in", hazard.ErrForbidden)
		}
		return h(w, r, who)
	}
}

// Channels are the channels that subscribers can choose. They hold no secrets.
type Channels struct {
	Email   bool
	PushKey string            // key for subscriptions to Web Push; empty if it is off
	HTTP    map[string]string // HTTP channels by name, with a description of their addresses
}

// offered is what the form of a subscription offers a caller.
type offered struct {
	Email   bool          `json:"email"`
	WebPush *offeredPush  `json:"webpush,omitzero"`
	Follow  *offeredPush  `json:"follow,omitzero"` // of Web Push that follows one hazard
	HTTP    []offeredHTTP `json:"http"`
	Regions []string      `json:"regions"`
}

type offeredPush struct {
	PublicKey string `json:"public_key"`
}

type offeredHTTP struct {
	Template string `json:"template"`
	About    string `json:"about"`
}

// subscriptionChannels serves what a subscription of the caller can contain. It leaves out email if
// no confirmation could be sent. Caches may keep what the public gets: each reader of the map asks.
func (a *Messages) subscriptionChannels(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := route.NoQuery(r); err != nil {
		return err
	}
	out := offered{HTTP: []offeredHTTP{}, Regions: []string{}}
	if a.Notify.Key != nil {
		out.Email = a.Channels.Email && (a.Notify.Links || who.Role == auth.Admin)
		if a.Channels.PushKey != "" {
			out.Follow = &offeredPush{a.Channels.PushKey}
			if out.Email || who.Role != auth.Public { // the public gets Web Push for its places only where email is offered too
				out.WebPush = out.Follow
			}
		}
		if who.Role != auth.Public && who.Role != auth.Reader {
			for _, name := range slices.Sorted(maps.Keys(a.Channels.HTTP)) {
				out.HTTP = append(out.HTTP, offeredHTTP{name, a.Channels.HTTP[name]})
			}
		}
	}
	for _, c := range countries.Countries() {
		out.Regions = append(out.Regions, c.Code)
	}
	isPublic := who.Role == auth.Public
	if isPublic {
		r = a.Opening(r)
	}
	return route.AnswerJSON(w, r, out, !isPublic)
}

// listSubscriptions lists the caller's subscriptions; for an admin all subscriptions, unless only
// their own are requested.
func (a *Messages) listSubscriptions(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, err := route.Parameters(r, "after", "limit", "mine")
	if err != nil {
		return err
	}
	next := url.Values{}
	switch mine := values.Get("mine"); mine {
	case "", "false":
	case "true":
		own := *who
		own.Role = auth.Reader
		who = &own
		next.Set("mine", mine)
	default:
		return route.BadParameter("mine", "%.20q is neither true nor false", mine)
	}
	limit, err := route.IntParameter(values, "limit", route.DefaultChanges, 1, route.MaxChanges)
	if err != nil {
		return err
	}
	after := values.Get("after")
	if after != "" && uuid.Validate(after) != nil {
		return route.BadParameter("after", "%.100q is not a uuid", after)
	}
	list, err := a.Notify.List(r.Context(), author(a.Router, r, who), strings.ToLower(after), int(limit))
	if err != nil {
		return err
	}
	if int64(len(list)) == limit {
		next.Set("after", list[limit-1].ID)
		next.Set("limit", fmt.Sprint(limit))
		a.LinkNext(w, r, next)
	}
	return route.AnswerJSON(w, r, list, true)
}

// subscriptionNotices lists the sent and waiting notices of a subscription, latest first.
func (a *Messages) subscriptionNotices(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, err := route.Parameters(r, "before", "limit")
	if err != nil {
		return err
	}
	id, err := pathUUID(r, "subscription")
	if err != nil {
		return err
	}
	before, err := route.IntParameter(values, "before", 0, 1, math.MaxInt64)
	if err != nil {
		return err
	}
	limit, err := route.IntParameter(values, "limit", route.DefaultChanges, 1, route.MaxChanges)
	if err != nil {
		return err
	}
	list, err := a.Notify.Deliveries(r.Context(), author(a.Router, r, who), id, before, int(limit))
	if err != nil {
		return err
	}
	if int64(len(list)) == limit {
		next := url.Values{"before": {fmt.Sprint(list[limit-1].ID)}, "limit": {fmt.Sprint(limit)}}
		a.LinkNext(w, r, next)
	}
	return route.AnswerJSON(w, r, list, true)
}

// subscriptionsState serves the state of notifications to an admin.
func (a *Messages) subscriptionsState(r *http.Request, who *auth.Caller) (subscription.State, error) {
	return a.Notify.State(r.Context(), author(a.Router, r, who))
}
