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

// Subscription is who is told what of which hazards.
type Subscription struct {
	ID         string             `json:"id"`
	Owner      string             `json:"owner"` // empty: somebody without an account
	Name       string             `json:"name"`
	Where      *SubscriptionWhere `json:"where"` // nil: the whole world
	Types      []string           `json:"types"` // empty: all
	Categories []string           `json:"categories"`
	Severity   string             `json:"severity_min"`
	Measure    string             `json:"measure"` // as the parameter of a search
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
}

// SubscriptionWhere says which places concern a subscriber: any of them.
type SubscriptionWhere struct {
	Areas   jsontext.Value      `json:"areas,omitzero"` // a GeoJSON geometry
	Points  []SubscriptionPoint `json:"points,omitzero"`
	Regions []string            `json:"regions,omitzero"` // ISO 3166
	Assets  *SubscriptionAssets `json:"assets,omitzero"`
}

// SubscriptionAssets are the assets of an organization that the owner of the subscription is a member of.
type SubscriptionAssets struct {
	Organization string  `json:"organization"` // its acronym
	Within       float64 `json:"within_km"`    // how far from a hazard they may be; 0: inside
}

// SubscriptionPoint is a place, and how far around it hazards matter.
type SubscriptionPoint struct {
	Name   string  `json:"name,omitzero"`
	Lon    float64 `json:"lon"`
	Lat    float64 `json:"lat"`
	Radius float64 `json:"radius_km"`
}

// Quiet is when a subscriber wants to be told only of what is of the severity Except or worse, by the local time of day.
type Quiet struct {
	From   string `json:"from"` // 22:00
	To     string `json:"to"`
	Except string `json:"except,omitzero"`
}

// Channel is a way to a subscriber.
type Channel struct {
	ID        string `json:"id,omitzero"`
	Kind      string `json:"kind"` // email, webpush or http
	To        string `json:"to"`   // to others than the owner a hash
	Template  string `json:"template,omitzero"`
	Status    string `json:"status,omitzero"` // unconfirmed, active or suspended
	Reason    string `json:"reason,omitzero"`
	Confirmed string `json:"confirmed,omitzero"`
}

// SubscriptionFields are what can be said of a subscription. What is nil is left as it is, or as it is by default.
type SubscriptionFields struct {
	Name       *string            `json:"name,omitzero"`
	Where      *SubscriptionWhere `json:"where,omitzero"`
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
	Confirmed  *bool              `json:"confirmed,omitzero"` // by an admin: the addresses are used without being asked
}

// SubscriptionsState is how telling people goes.
type SubscriptionsState struct {
	Subscriptions int64              `json:"subscriptions"`
	Waiting       int64              `json:"waiting"`
	Change        int64              `json:"change"` // the last change that has become notices
	Behind        int64              `json:"behind"` // changes that have not
	Channels      []ChannelState     `json:"channels"`
	Lanes         []LaneState        `json:"lanes"`
	Suspended     []SuspendedChannel `json:"suspended"`
	Working       bool               `json:"working"` // the node that answered is the one that tells
}

// ChannelState is how telling people over a kind of channel goes. What came of messages is of the last 24 hours.
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

// LaneState is what waits to go to one server.
type LaneState struct {
	Lane     string `json:"lane"`
	Channel  string `json:"channel"`
	Waiting  int64  `json:"waiting"`
	Oldest   string `json:"oldest"`
	Attempts int64  `json:"attempts"`
}

// SuspendedChannel is a channel that the server has given up, and why.
type SuspendedChannel struct {
	Subscription string `json:"subscription"`
	Owner        string `json:"owner,omitzero"`
	ID           string `json:"id"`
	Channel      string `json:"channel"`
	To           string `json:"to"`
	Reason       string `json:"reason"`
}

// Subscriptions goes through the user's subscriptions; an admin's all. It stops at the first error.
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

// CreateSubscription makes a subscription; fields.Channels must be given.
func (c *Client) CreateSubscription(ctx context.Context, fields SubscriptionFields) (Subscription, error) {
	return call[Subscription](ctx, c, http.MethodPost, &fields, "subscriptions")
}

// DeleteSubscription removes a subscription, with its addresses and all that it was told.
func (c *Client) DeleteSubscription(ctx context.Context, id string) error {
	return c.remove(ctx, "subscriptions", id)
}

// SubscriptionsState tells an admin how telling people goes.
func (c *Client) SubscriptionsState(ctx context.Context) (SubscriptionsState, error) {
	return call[SubscriptionsState](ctx, c, http.MethodGet, nil, "subscriptions", "status")
}
