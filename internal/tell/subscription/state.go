package subscription

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell"
)

// State is the state of notifications.
type State struct {
	Subscriptions int64            `json:"subscriptions"`
	Waiting       int64            `json:"waiting"`
	Change        int64            `json:"change"`    // the last change for which notices were created
	Behind        int64            `json:"behind"`    // number of later changes
	Channels      []ChannelState   `json:"channels"`  // each kind
	Lanes         []LaneState      `json:"lanes"`     // waiting messages by server
	Suspended     []SuspendedState `json:"suspended"` // at most maxSuspended
	Working       bool             `json:"working"`   // whether this node notifies subscribers
}

// ChannelState counts the channels of a kind by status, the waiting notices, and the results of the
// last day.
type ChannelState struct {
	Channel     string `json:"channel"`
	Active      int    `json:"active"`
	Paused      int    `json:"paused"`
	Unconfirmed int    `json:"unconfirmed"`
	Suspended   int    `json:"suspended"`
	Waiting     int64  `json:"waiting"`
	Sent        int64  `json:"sent"`
	Failed      int64  `json:"failed"`
	Dropped     int64  `json:"dropped"`
	DelayMean   int64  `json:"delay_mean_ms"` // from the change until the server had the message
	DelayMax    int64  `json:"delay_max_ms"`
}

// LaneState is the notices that wait for one server.
type LaneState struct {
	Lane     string `json:"lane"`
	Channel  string `json:"channel"`
	Waiting  int64  `json:"waiting"`
	Oldest   string `json:"oldest"`
	Attempts int    `json:"attempts"`
}

// SuspendedState is a channel that the service has suspended, and why.
type SuspendedState struct {
	Subscription string `json:"subscription"`
	Owner        string `json:"owner,omitzero"`
	ID           string `json:"id"`
	Channel      string `json:"channel"`
	To           string `json:"to"` // a hash
	Reason       string `json:"reason"`
}

const (
	// maxSuspended is how many suspended channels State lists.
	maxSuspended = 100
	// lately is the period of the results in State.
	lately = 24 * time.Hour
)

// State returns the state of notifications to an admin.
func (s *Service) State(ctx context.Context, who tell.Author) (st State, err error) {
	if !who.Admin() {
		return st, fmt.Errorf("%w: requires the role admin", hazard.ErrForbidden)
	}
	if st.Subscriptions, st.Waiting, err = s.Store.Subscriptions.Count(ctx); err != nil {
		return st, err
	}
	if st.Change, err = s.Store.Notices.Noticed(ctx); err != nil {
		return st, err
	}
	last, err := s.Store.Log.Last(ctx)
	if err != nil {
		return st, err
	}
	st.Behind, st.Working = max(0, last-st.Change), s.leads()
	if st.Suspended, err = s.suspended(ctx); err != nil {
		return st, err
	}
	if st.Lanes, err = s.waiting(ctx); err != nil {
		return st, err
	}
	st.Channels, err = s.byChannel(ctx, st.Lanes)
	return st, err
}

// waiting returns the waiting notices by lane.
func (s *Service) waiting(ctx context.Context) ([]LaneState, error) {
	lanes, err := s.Store.Notices.WaitingByLane(ctx)
	list := []LaneState{}
	for _, l := range lanes {
		list = append(list, LaneState{Lane: l.Lane, Channel: kindOf(l.Lane), Waiting: l.Waiting, Oldest: l.Oldest.String(), Attempts: l.Attempts})
	}
	return list, err
}

// suspended returns the suspended channels, the earliest subscriptions first.
func (s *Service) suspended(ctx context.Context) ([]SuspendedState, error) {
	if err := s.sync(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	ids := s.index.with(Suspended)
	s.mu.Unlock()
	slices.Sort(ids)
	list := []SuspendedState{}
	for _, id := range ids[:min(len(ids), maxSuspended)] {
		row, err := s.Store.Subscriptions.Get(ctx, id)
		if err != nil {
			continue // it was removed meanwhile
		}
		sub, err := read(&row)
		if err != nil {
			return nil, err
		}
		for _, c := range sub.Channels {
			if c.Status == Suspended {
				list = append(list, SuspendedState{Subscription: id, Owner: strings.Trim(sub.Owner, nobodyYet), ID: c.ID, Channel: c.Kind, To: "hidden:" + c.Stamp, Reason: c.Reason})
			}
		}
	}
	return list, nil
}

// byChannel adds up the state of each kind of channel.
func (s *Service) byChannel(ctx context.Context, waiting []LaneState) ([]ChannelState, error) {
	list := make([]ChannelState, len(kinds))
	of := map[string]*ChannelState{}
	for i, kind := range kinds {
		list[i].Channel = kind
		of[kind] = &list[i]
	}
	for _, l := range waiting {
		if c := of[l.Channel]; c != nil {
			c.Waiting += l.Waiting
		}
	}
	for c, n := range *s.tally.Load() { // suspended has read it
		if of := of[c.kind]; of != nil {
			*map[string]*int{string(Active): &of.Active, statusPaused: &of.Paused, string(Unconfirmed): &of.Unconfirmed, string(Suspended): &of.Suspended}[c.status] += n
		}
	}
	outcomes, err := s.Store.Notices.Outcomes(ctx, hazard.At(s.Now().Add(-lately)))
	for _, o := range outcomes {
		c := of[kindOf(o.Lane)]
		switch {
		case c == nil:
		case o.State == store.NoticeFailed:
			c.Failed += o.Notices
		case o.State == store.NoticeDropped:
			c.Dropped += o.Notices
		default:
			c.DelayMean = (c.DelayMean*c.Sent + o.Sum) / (c.Sent + o.Notices)
			c.Sent, c.DelayMax = c.Sent+o.Notices, max(c.DelayMax, o.Max)
		}
	}
	return list, err
}
