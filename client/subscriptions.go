package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Subscription says who is notified about which hazards, and how.
type Subscription struct {
	ID         string             `json:"id"`
	Owner      string             `json:"owner"` // empty for a person without an account
	Name       string             `json:"name"`
	Where      *SubscriptionWhere `json:"where"`  // nil means the whole world
	Hazard     string             `json:"hazard"` // the only hazard that it is about, by its UUID; empty for all
	Types      []string           `json:"types"`  // empty means all
	Categories []string           `json:"categories"`
	Severity   string             `json:"severity_min"`
	Measure    string             `json:"measure"` // see Search.Measures
	People     int64              `json:"people_min"`
	Drills     bool               `json:"drills"`
	Channels   []Channel          `json:"channels"`
	Language   string             `json:"language"`
	Zone       string             `json:"time_zone"`
	Quiet      *Quiet             `json:"quiet"`
	Digest     string             `json:"digest"` // none, daily or weekly
	Status     string             `json:"status"` // active or paused
	Waiting    int64              `json:"waiting"`
	Created    string             `json:"created"` // RFC 3339
	Updated    string             `json:"updated"`
	Token      string             `json:"token"` // ends it; for who follows a hazard without an account
}

// SubscriptionWhere selects places. A hazard matches if it concerns any of them.
type SubscriptionWhere struct {
	Areas   jsontext.Value      `json:"areas,omitzero"` // a GeoJSON geometry
	Points  []SubscriptionPoint `json:"points,omitzero"`
	Regions []string            `json:"regions,omitzero"` // ISO 3166
	Assets  *SubscriptionAssets `json:"assets,omitzero"`
}

// SubscriptionAssets selects the assets of an organization. The owner of the subscription must be a
// member of it.
type SubscriptionAssets struct {
	Organization string  `json:"organization"` // its acronym
	Within       float64 `json:"within_km"`    // maximum distance from a hazard; 0 means inside it
}

// SubscriptionPoint is a place, with the distance up to which hazards matter.
type SubscriptionPoint struct {
	Name   string  `json:"name,omitzero"`
	Lon    float64 `json:"lon"`
	Lat    float64 `json:"lat"`
	Radius float64 `json:"radius_km"`
}

// Quiet is a time of day in which a subscriber is notified only of hazards of severity Except or
// worse. From and To are local times.
type Quiet struct {
	From   string `json:"from"` // 22:00
	To     string `json:"to"`
	Except string `json:"except,omitzero"`
}

// Channel is a way to reach a subscriber.
type Channel struct {
	ID        string `json:"id,omitzero"`
	Kind      string `json:"kind"` // email, webpush or http
	To        string `json:"to"`   // the address; only the owner sees it, others see a hash
	Template  string `json:"template,omitzero"`
	Status    string `json:"status,omitzero"` // unconfirmed, active or suspended
	Reason    string `json:"reason,omitzero"`
	Confirmed string `json:"confirmed,omitzero"`
}

// SubscriptionFields are the settings of a subscription. A nil field stays unchanged; in a new
// subscription it gets its default.
type SubscriptionFields struct {
	Name       *string            `json:"name,omitzero"`
	Where      *SubscriptionWhere `json:"where,omitzero"`
	Hazard     *string            `json:"hazard,omitzero"`
	Types      []string           `json:"types,omitzero"`
	Categories []string           `json:"categories,omitzero"`
	Severity   *string            `json:"severity_min,omitzero"`
	Measure    *string            `json:"measure,omitzero"`
	People     *int64             `json:"people_min,omitzero"`
	Drills     *bool              `json:"drills,omitzero"`
	Channels   []Channel          `json:"channels,omitzero"`
	Language   *string            `json:"language,omitzero"`
	Zone       *string            `json:"time_zone,omitzero"`
	Quiet      *Quiet             `json:"quiet,omitzero"`
	Digest     *string            `json:"digest,omitzero"`
	Status     *string            `json:"status,omitzero"`
	Confirmed  *bool              `json:"confirmed,omitzero"` // by an admin only: use the addresses without confirmation
}

// SubscriptionsState is the state of the delivery of notifications.
type SubscriptionsState struct {
	Subscriptions int64              `json:"subscriptions"`
	Waiting       int64              `json:"waiting"`
	Change        int64              `json:"change"` // last change that was turned into notifications
	Behind        int64              `json:"behind"` // number of changes after it
	Channels      []ChannelState     `json:"channels"`
	Lanes         []LaneState        `json:"lanes"`
	Suspended     []SuspendedChannel `json:"suspended"`
	Working       bool               `json:"working"` // whether the node that answered delivers notifications
}

// ChannelState is the state of a kind of channel. Sent, Failed, Dropped and the delays are those of
// the last 24 hours.
type ChannelState struct {
	Channel     string `json:"channel"`
	Active      int64  `json:"active"`
	Paused      int64  `json:"paused"`
	Unconfirmed int64  `json:"unconfirmed"`
	Suspended   int64  `json:"suspended"`
	Waiting     int64  `json:"waiting"`
	Sent        int64  `json:"sent"`
	Failed      int64  `json:"failed"`
	Dropped     int64  `json:"dropped"`
	DelayMean   int64  `json:"delay_mean_ms"`
	DelayMax    int64  `json:"delay_max_ms"`
}

// LaneState says what waits to be sent to one server.
type LaneState struct {
	Lane     string `json:"lane"`
	Channel  string `json:"channel"`
	Waiting  int64  `json:"waiting"`
	Oldest   string `json:"oldest"`
	Attempts int64  `json:"attempts"`
}

// SuspendedChannel is a channel to which the server no longer sends, with the reason.
type SuspendedChannel struct {
	Subscription string `json:"subscription"`
	Owner        string `json:"owner,omitzero"`
	ID           string `json:"id"`
	Channel      string `json:"channel"`
	To           string `json:"to"`
	Reason       string `json:"reason"`
}

// Subscriptions yields the user's subscriptions; for an admin, all. It stops at the first error.
func (c *Client) Subscriptions(ctx context.Context) iter.Seq2[Subscription, error] {
	return func(yield func(Subscription, error) bool) {
		for after := ""; ; {
			r := newRequest(http.MethodGet, "subscriptions", nil)
			r.query = url.Values{"limit": {strconv.Itoa(c.pageSize)}}
			if after != "" {
				r.query.Set("after", after)
			}
			page, next, err := list[Subscription](ctx, c, r)
			if err == nil && len(page.Rejected) > 0 {
				err = fmt.Errorf("%s: %w", r, &AnswerError{Reason: fmt.Sprintf("record %d: %v", page.Rejected[0].Index, page.Rejected[0].Err)})
			}
			if err != nil {
				yield(Subscription{}, err)
				return
			}
			for _, s := range page.Items {
				if s.ID <= after {
					yield(Subscription{}, fmt.Errorf("%s: %w", r, &AnswerError{Reason: fmt.Sprintf("subscription %s after %s: expected them in order", s.ID, after)}))
					return
				}
				if after = s.ID; !yield(s, nil) {
					return
				}
			}
			if next == "" || len(page.Items) == 0 {
				return
			}
		}
	}
}

// CreateSubscription creates a subscription. fields.Channels is required.
func (c *Client) CreateSubscription(ctx context.Context, fields SubscriptionFields) (Subscription, error) {
	return call[Subscription](ctx, c, http.MethodPost, &fields, "subscriptions")
}

// DeleteSubscription deletes a subscription, with its addresses and the record of its messages.
func (c *Client) DeleteSubscription(ctx context.Context, id string) error {
	return c.remove(ctx, "subscriptions", id)
}

// SubscriptionsState returns the state of the delivery of notifications (role admin).
func (c *Client) SubscriptionsState(ctx context.Context) (SubscriptionsState, error) {
	return call[SubscriptionsState](ctx, c, http.MethodGet, nil, "subscriptions", "status")
}
