package subscription

import (
	"cmp"
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
)

// The limits of subscriptions per user, and of all people without an account.
const (
	maxOfReader = 50
	maxOfEditor = 1000
	// maxUnconfirmed bounds the unconfirmed subscriptions of people without an account.
	maxUnconfirmed = 10_000
	// maxConfirmations is how many confirmations are sent to one inbox in confirmPeriod, however its
	// address is spelled; maxFromNetwork, how many people without an account at one network cause; and
	// maxOfUser, how many a user causes.
	maxConfirmations = 3
	maxFromNetwork   = 20
	maxOfUser        = 200
	confirmPeriod    = 24 * time.Hour
	// strangersShare is the part of all confirmations that people without an account can use, so that
	// users are always left some.
	strangersShare = 0.75
)

// nobodyYet owns unconfirmed subscriptions of people without an account. It is not a valid user
// name.
const nobodyYet = "?"

// ready returns an error if subscriptions are not available.
func (s *Service) ready() error {
	if s.Key == nil {
		return fmt.Errorf("%w: %s", hazard.ErrConflict, s.NoKey)
	}
	return nil
}

// find returns a subscription that the author may see, with its addresses.
func (s *Service) find(ctx context.Context, who tell.Author, id string) (*subscription, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	row, err := s.Store.Subscriptions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if !who.Owns(row.Owner) {
		return nil, hazard.ErrNotFound
	}
	return s.opened(&row)
}

func (s *Service) opened(row *store.Subscription) (*subscription, error) {
	sub, err := read(row)
	if err == nil {
		sub.addresses, err = s.Key.open(row.ID, row.Sealed)
	}
	return sub, err
}

// List lists at most limit subscriptions after an id: the author's own, or all for an admin.
func (s *Service) List(ctx context.Context, who tell.Author, after string, limit int) ([]Subscription, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	rows, err := s.Store.Subscriptions.Of(ctx, who.Name, who.Admin(), after, limit)
	if err != nil {
		return nil, err
	}
	list := []Subscription{}
	for i := range rows {
		sub, err := s.opened(&rows[i])
		if err != nil {
			return nil, err
		}
		waiting, err := s.Store.Notices.WaitingOf(ctx, sub.ID)
		if err != nil {
			return nil, err
		}
		list = append(list, sub.show(sub.Owner == who.Name, waiting))
	}
	return list, nil
}

// Get is one subscription.
func (s *Service) Get(ctx context.Context, who tell.Author, id string) (Subscription, error) {
	sub, err := s.find(ctx, who, id)
	if err != nil {
		return Subscription{}, err
	}
	waiting, err := s.Store.Notices.WaitingOf(ctx, id)
	return sub.show(sub.Owner == who.Name, waiting), err
}

// Create creates a subscription for changes from now on. People without an account must give an
// email address, may add Web Push, and must name a place; or they follow one hazard, over Web Push or
// email.
func (s *Service) Create(ctx context.Context, who tell.Author, body []byte, now hazard.Instant) (Subscription, error) {
	sub, ask, err := s.made(ctx, who, body, now)
	if err != nil {
		return Subscription{}, err
	}
	told, err := s.followed(ctx, who, sub, now)
	if err != nil {
		return Subscription{}, err
	}
	ask = append(ask, told...)
	if err := s.Store.Subscriptions.Add(ctx, []store.Subscription{sub.Subscription}, ask, who.Audit("subscription.create", sub.ID, "", now)); err != nil {
		return Subscription{}, err
	}
	shown := sub.show(who.Caller != nil, int64(len(ask)))
	if who.Caller == nil && sub.followsWithConsent() {
		shown.Token = s.Key.sign(ToUnsubscribe, sub.ID, sub.Channels[0].ID, sub.Channels[0].Stamp, 0)
	}
	return shown, nil
}

// CreateAll creates several subscriptions like Create, all or none, in one transaction. Other
// writers wait for it, so pass some hundred at most.
func (s *Service) CreateAll(ctx context.Context, who tell.Author, bodies [][]byte, now hazard.Instant) error {
	var list []store.Subscription
	var ask []store.Notice
	for i, body := range bodies {
		sub, asked, err := s.made(ctx, who, body, now)
		if err != nil {
			return fmt.Errorf("subscription %d of %d: %w", i+1, len(bodies), err)
		}
		list, ask = append(list, sub.Subscription), append(ask, asked...)
	}
	return s.Store.Subscriptions.Add(ctx, list, ask, who.Audit("subscription.create", "", fmt.Sprintf("%d subscriptions", len(list)), now))
}

// made returns a new subscription that is not stored yet, and the confirmations to send.
func (s *Service) made(ctx context.Context, who tell.Author, body []byte, now hazard.Instant) (sub *subscription, ask []store.Notice, err error) {
	if err := s.ready(); err != nil {
		return nil, nil, err
	}
	r, err := decode(body)
	if err != nil {
		return nil, nil, err
	}
	sub = &subscription{Subscription: store.Subscription{ID: uuid.Must(uuid.NewV7()).String(), Owner: who.User()}, kept: kept{Created: now, Updated: now}}
	fresh, err := s.apply(r, sub)
	if err = s.mayMake(who, r, sub, err); err != nil {
		return nil, nil, err
	}
	limit := int64(maxOfReader)
	switch {
	case who.Caller == nil && sub.followsWithConsent():
		limit, sub.Owner = math.MaxInt64, ""
		if err := s.mayFollow(ctx, who, now); err != nil {
			return nil, nil, err
		}
	case who.Caller == nil:
		limit, sub.Owner = maxUnconfirmed, nobodyYet
	case who.Role == auth.Editor:
		limit = maxOfEditor
	}
	if !who.Admin() && limit < math.MaxInt64 {
		if n, err := s.Store.Subscriptions.CountOf(ctx, sub.Owner); err != nil {
			return nil, nil, err
		} else if n >= limit {
			return nil, nil, fmt.Errorf("%w: %d subscriptions, the most that there may be; remove one", hazard.ErrConflict, n)
		}
	}
	if ask, err = s.settle(ctx, who, sub, fresh, r.Confirmed != nil && *r.Confirmed, now); err != nil {
		return nil, nil, err
	}
	return sub, ask, sub.encode(s.Key)
}

// mayMake adds to a request's faults what is missing, and what the author may not have.
func (s *Service) mayMake(who tell.Author, r *request, sub *subscription, err error) error {
	bad, ok := errors.AsType[*hazard.InvalidError](err)
	if !ok {
		if err != nil {
			return err
		}
		bad = &hazard.InvalidError{}
	}
	if r.Channels == nil && len(sub.Channels) == 0 {
		bad.Add("channels", "is missing: expected at least one, such as {\"kind\": \"email\", \"to\": \"ann@example.org\"}")
	}
	if who.Caller == nil && sub.Where == nil && sub.Hazard == uuid.Nil && !sub.OfDrafts {
		bad.Add("where", "is missing: expected areas, points or regions")
	}
	if who.Caller == nil && !sub.followsWithConsent() && len(sub.Channels) > 0 && !slices.ContainsFunc(sub.Channels, func(c Channel) bool { return c.Kind == channel.Email }) {
		bad.Add("channels", "expected an address of email among them, which confirms the subscription; or log in")
	}
	if r.Code != nil && sub.Version == 0 {
		bad.Add("code", "nothing was sent yet: expected only in a change of a subscription")
	}
	if err := bad.Err(); err != nil {
		return err
	}
	if r.Channels != nil && (who.Caller == nil || who.Role == auth.Reader) && slices.ContainsFunc(sub.Channels, func(c Channel) bool { return c.Kind == channel.HTTP }) {
		return fmt.Errorf("%w: channels of kind http require the role editor", hazard.ErrForbidden)
	}
	if r.OfDrafts != nil && *r.OfDrafts && (who.Caller == nil || who.Role == auth.Reader) {
		return fmt.Errorf("%w: drafts require the role editor", hazard.ErrForbidden)
	}
	if r.Confirmed != nil && *r.Confirmed && !who.Admin() {
		return fmt.Errorf("%w: confirmed requires the role admin", hazard.ErrForbidden)
	}
	return nil
}

// settle decides which channels with new addresses are used at once, and sends confirmations for
// the others.
func (s *Service) settle(ctx context.Context, who tell.Author, sub *subscription, fresh []string, confirmed bool, now hazard.Instant) (ask []store.Notice, err error) {
	for _, id := range fresh {
		c := sub.channel(id)
		sure := confirmed || !s.ofPerson(c)
		if !sure && who.Caller != nil {
			if sure, err = s.confirmedBefore(ctx, sub.Owner, c.Stamp); err != nil {
				return nil, err
			}
		}
		c.Reason = ""
		if sure {
			c.Status, c.Confirmed = Active, now
			continue
		}
		byCode := c.Kind == channel.HTTP
		if !byCode && !s.Links {
			return nil, fmt.Errorf("%w: this server cannot ask for a confirmation, since it has no public address (setting public-url); an admin may set confirmed", hazard.ErrConflict)
		}
		full, err := s.Store.Notices.MayAsk(ctx, s.askShares(who, c), now.Add(-confirmPeriod), now)
		if err != nil {
			return nil, err
		}
		c.Status = Unconfirmed
		if byCode && full == "" && !c.awaitsCode(now) {
			c.Asked, c.Tries = now, 0
		}
		if full == inboxShare && who.Caller == nil {
			continue // whether others have asked for this address is nothing that a stranger learns
		}
		if full != "" {
			return nil, &hazard.LimitError{Limit: "confirmations", Kind: hazard.LimitShare, RetryAfter: time.Hour,
				Detail: "too many confirmations were asked for in a day: " + full + " (limit confirmations)"}
		}
		ask = append(ask, store.Notice{Subscription: sub.ID, Channel: c.ID, Lane: c.Lane, Since: now, Created: now})
	}
	return ask, nil
}

// inboxShare names the share of confirmations of an inbox.
const inboxShare = "of this address"

// askShares returns the shares of confirmations that one for a channel comes from.
func (s *Service) askShares(who tell.Author, c *Channel) []store.AskShare {
	shares := []store.AskShare{{Name: inboxShare, Key: "inbox " + c.inbox, Limit: maxConfirmations}, {Name: "in all", Key: "all", Limit: int64(s.Confirmations)}}
	if who.Caller != nil {
		return append(shares, store.AskShare{Name: "by this user", Key: "user " + who.User(), Limit: maxOfUser})
	}
	network := s.Key.hash("network", networkOf(who.Addr))
	return append(shares, store.AskShare{Name: "from this network", Key: "network " + network, Limit: maxFromNetwork},
		store.AskShare{Name: "by people without an account", Key: "strangers", Limit: int64(float64(s.Confirmations) * strangersShare)})
}

// networkOf returns the network of an address that one customer usually has: a /24 of IPv4, a /56 of
// IPv6.
func networkOf(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	bits := 56
	if a.Is4() {
		bits = 24
	}
	return netip.PrefixFrom(a, bits).Masked().String() // "invalid Prefix" if the address is not known
}

// confirmedBefore reports whether an owner has confirmed an address.
func (s *Service) confirmedBefore(ctx context.Context, owner, stamp string) (bool, error) {
	rows, err := s.Store.Subscriptions.Of(ctx, owner, false, "", maxOfEditor)
	if err != nil {
		return false, err
	}
	for i := range rows {
		sub, err := read(&rows[i])
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(sub.Channels, func(c Channel) bool { return c.Stamp == stamp && c.Status == Active && c.Confirmed > 0 }) {
			return true, nil
		}
	}
	return false, nil
}

// Patch changes a subscription by a JSON merge patch. Giving the channels again reactivates
// suspended ones.
func (s *Service) Patch(ctx context.Context, who tell.Author, id string, body []byte, now hazard.Instant) (Subscription, error) {
	sub, err := s.find(ctx, who, id)
	if err != nil {
		return Subscription{}, err
	}
	r, err := decode(body)
	if err != nil {
		return Subscription{}, err
	}
	if r.Code != nil {
		if err := s.confirmByCode(ctx, who, id, *r.Code, now); err != nil {
			return Subscription{}, err
		}
		if sub, err = s.find(ctx, who, id); err != nil {
			return Subscription{}, err
		}
	}
	return s.patch(ctx, who, sub, r, now, sub.Owner == who.Name)
}

// confirmByCode activates the channel that the code was sent to. A wrong one counts for each channel
// that waits for a code, also when the rest of the request is refused.
func (s *Service) confirmByCode(ctx context.Context, who tell.Author, id, code string, now hazard.Instant) error {
	found, waits := false, false
	code = strings.Join(strings.Fields(code), "")
	err := s.alter(ctx, id, who.Audit("subscription.confirm", id, "by code", now), nil, func(sub *subscription) {
		for i := range sub.Channels {
			c := &sub.Channels[i]
			if found || !c.awaitsCode(now) {
				continue
			}
			waits = true
			if found = hmac.Equal([]byte(s.Key.code(id, c)), []byte(code)); found {
				c.Status, c.Confirmed, c.Asked, c.Tries = Active, now, 0, 0
			}
		}
		for i := range sub.Channels {
			if c := &sub.Channels[i]; !found && c.awaitsCode(now) {
				c.Tries++
			}
		}
	})
	if err != nil || found {
		return err
	}
	bad := &hazard.InvalidError{}
	if waits {
		bad.Add("code", "not the code that was sent to the address; after %d wrong ones it is void, and giving the channels again sends another", maxTries)
	} else {
		bad.Add("code", "no code waits: it was used, is older than %d hours or was wrong %d times; giving the channels again sends another", int(confirmLife.Hours()), maxTries)
	}
	return bad.Err()
}

// Change holds the changes possible through a message's link; nil leaves a field unchanged.
type Change struct {
	Status   *string // active or paused
	Language *string
	Severity *string // the lowest; empty for all
	Digest   *Digest
	Quiet    *Quiet    // without From and To: no quiet hours
	Radii    []float64 // of each point, in km
}

// Change changes a subscription, with all its channels, for a reader with the link to manage it.
func (s *Service) Change(ctx context.Context, who tell.Author, token string, c Change, now hazard.Instant) error {
	sub, _, err := s.byToken(ctx, ToManage, token, now)
	if err != nil {
		return err
	}
	r := &request{Status: c.Status, Language: c.Language, Severity: c.Severity, Digest: c.Digest}
	if q := c.Quiet; q != nil {
		r.Quiet = &askedQuiet{From: q.From, To: q.To}
		if q.From != "" || q.To != "" {
			r.Quiet.Except = q.Except.String()
		}
	}
	if c.Radii != nil {
		if sub.Where == nil || len(c.Radii) != len(sub.Where.Points) {
			return fmt.Errorf("%w: the subscription was changed meanwhile: it has other points", hazard.ErrConflict)
		}
		where := *sub.Where
		where.Points = slices.Clone(where.Points)
		for i, km := range c.Radii {
			where.Points[i].Radius = km
		}
		r.Where = &where
	}
	who.Caller = &auth.Caller{Role: auth.Reader} // the conditions for people without an account were met when the subscription was created
	_, err = s.patch(ctx, who, sub, r, now, false)
	return err
}

func (s *Service) patch(ctx context.Context, who tell.Author, had *subscription, r *request, now hazard.Instant, addresses bool) (shown Subscription, err error) {
	// settle has its own transactions, so it comes first. It uses the subscription as it was read; the
	// update is refused if that has changed meanwhile.
	sub := had
	before := slices.Clone(sub.Channels)
	fresh, err := s.apply(r, sub)
	if err = s.mayMake(who, r, sub, err); err != nil {
		return shown, err
	}
	if r.Confirmed != nil && *r.Confirmed {
		for _, c := range sub.Channels {
			if c.Status != Active && !slices.Contains(fresh, c.ID) {
				fresh = append(fresh, c.ID)
			}
		}
	}
	ask, err := s.settle(ctx, who, sub, fresh, r.Confirmed != nil && *r.Confirmed, now)
	if err != nil {
		return shown, err
	}
	gone := map[string]string{}
	for _, c := range before {
		if sub.channel(c.ID) == nil {
			gone[c.ID] = "the channel was removed"
		}
	}
	again, err := s.askAgain(ctx, sub, now)
	if err != nil {
		return shown, err
	}
	ask = append(ask, again...)
	sub.Updated = now
	if err := sub.encode(s.Key); err != nil {
		return shown, err
	}
	version := had.Version
	err = s.Store.Subscriptions.Update(ctx, sub.ID, who.Audit("subscription.patch", sub.ID, "", now), func(row *store.Subscription) ([]store.Notice, map[string]string, error) {
		if row.Version != version {
			return nil, nil, fmt.Errorf("%w: the subscription was changed meanwhile", hazard.ErrConflict)
		}
		row.Body, row.Sealed = sub.Body, sub.Sealed
		return ask, gone, nil
	})
	if err != nil {
		return shown, err
	}
	waiting, err := s.Store.Notices.WaitingOf(ctx, sub.ID)
	return sub.show(addresses, waiting), err
}

// askAgain returns a notice for each hazard that the channels of a changed subscription were told of,
// and whose end they were not: it may have changed or ended while the subscription was paused, or the
// channel suspended. Where the last message still holds, nothing is sent.
func (s *Service) askAgain(ctx context.Context, sub *subscription, now hazard.Instant) (list []store.Notice, err error) {
	if sub.Paused {
		return nil, nil
	}
	told, err := s.Store.Notices.ToldLast(ctx, sub.ID)
	if err != nil {
		return nil, err
	}
	for _, t := range told {
		c := sub.channel(t.Channel)
		if c == nil || c.Status != Active {
			continue
		}
		n := store.Notice{Subscription: sub.ID, Channel: c.ID, Lane: c.Lane, HazardID: t.HazardID, Change: t.Change, Since: now, Created: now}
		list = append(list, n)
		h, err := s.Store.Hazards.Get(ctx, t.HazardID)
		if err == nil {
			h, err = s.wholeOf(ctx, h)
		}
		if err != nil && !store.Broken(err) {
			return nil, err
		}
		if err == nil && h.ID != t.HazardID {
			n.HazardID = h.ID
			list = append(list, n)
		}
	}
	return list, nil
}

// Delete removes a subscription with its addresses and message history.
func (s *Service) Delete(ctx context.Context, who tell.Author, id string, now hazard.Instant) error {
	if _, err := s.find(ctx, who, id); err != nil {
		return err
	}
	return s.Store.Subscriptions.Drop(ctx, id, who.Audit("subscription.delete", id, "", now))
}

// byToken returns the subscription and the channel of a link.
func (s *Service) byToken(ctx context.Context, purpose, token string, now hazard.Instant) (*subscription, *Channel, error) {
	if err := s.ready(); err != nil {
		return nil, nil, err
	}
	id, way, stamp, err := s.Key.verify(purpose, token, now)
	if err != nil {
		return nil, nil, err
	}
	row, err := s.Store.Subscriptions.Get(ctx, id)
	if errors.Is(err, hazard.ErrNotFound) {
		return nil, nil, errToken
	}
	if err != nil {
		return nil, nil, err
	}
	sub, err := s.opened(&row)
	if err != nil {
		return nil, nil, err
	}
	c := sub.channel(way)
	if c == nil || c.Stamp != stamp {
		return nil, nil, errToken
	}
	return sub, c, nil
}

// Asked returns the subscription of a link to confirm or unsubscribe, without addresses. It changes
// nothing. language is the subscriber's.
func (s *Service) Asked(ctx context.Context, purpose, token string, now hazard.Instant) (shown Subscription, err error) {
	sub, _, err := s.byToken(ctx, purpose, token, now)
	if err != nil {
		return shown, err
	}
	return sub.show(false, 0), nil
}

// Confirm activates an address after its owner has confirmed it.
func (s *Service) Confirm(ctx context.Context, who tell.Author, token string, now hazard.Instant) error {
	sub, c, err := s.byToken(ctx, ToConfirm, token, now)
	if err != nil || c.Status == Active {
		return err
	}
	return s.alter(ctx, sub.ID, who.Audit("subscription.confirm", sub.ID, "", now), nil, func(sub *subscription) {
		if c := sub.channel(c.ID); c != nil && c.Status == Unconfirmed {
			c.Status, c.Confirmed = Active, now
		}
		if sub.Owner == nobodyYet {
			sub.Owner = ""
		}
	})
}

// Unsubscribe ends the channel of a link. With the last channel the subscription is removed.
func (s *Service) Unsubscribe(ctx context.Context, who tell.Author, purpose, token string, now hazard.Instant) error {
	if purpose != ToManage {
		purpose = ToUnsubscribe
	}
	sub, c, err := s.byToken(ctx, purpose, token, now)
	if errors.Is(err, errToken) {
		if _, _, _, bad := s.Key.verify(purpose, token, now); bad == nil {
			return nil // it is over already
		}
	}
	if err != nil {
		return err
	}
	audit := who.Audit("subscription.unsubscribe", sub.ID, "channel "+c.ID, now)
	if len(sub.Channels) == 1 {
		return s.Store.Subscriptions.Drop(ctx, sub.ID, audit)
	}
	return s.alter(ctx, sub.ID, audit, map[string]string{c.ID: "the subscriber has ended it"}, func(sub *subscription) {
		delete(sub.addresses, c.ID)
		sub.Channels = slices.DeleteFunc(sub.Channels, func(o Channel) bool { return o.ID == c.ID })
	})
}

// Managed returns the subscription of a link to manage it, and the latest messages over the link's
// channel, latest first. The other channels are left out, and the address too unless it is of email:
// the readers of a chat must not learn where else the owner gets messages.
func (s *Service) Managed(ctx context.Context, token string, now hazard.Instant) (Subscription, []Delivery, error) {
	sub, c, err := s.byToken(ctx, ToManage, token, now)
	if err != nil {
		return Subscription{}, nil, err
	}
	shown := sub.show(false, 0)
	shown.Owner = ""
	shown.Channels = slices.DeleteFunc(shown.Channels, func(o ShownChannel) bool { return o.ID != c.ID })
	if c.Kind == channel.Email {
		shown.Channels[0].To = sub.addresses[c.ID]
	}
	list, err := s.deliveries(ctx, sub.ID, 0, managedNotices)
	return shown, slices.DeleteFunc(list, func(d Delivery) bool { return d.Channel != c.ID || d.State != store.NoticeSent }), err
}

// managedNotices is how many of the latest notices of a subscription Managed examines.
const managedNotices = 50

// alter changes a subscription as it is, in one transaction.
func (s *Service) alter(ctx context.Context, id string, audit *auth.Audit, dropped map[string]string, f func(*subscription)) error {
	return s.Store.Subscriptions.Update(ctx, id, audit, func(row *store.Subscription) ([]store.Notice, map[string]string, error) {
		sub, err := s.opened(row)
		if err != nil {
			return nil, nil, err
		}
		f(sub)
		err = sub.encode(s.Key)
		*row = sub.Subscription
		return nil, dropped, err
	})
}

// suspend records that a channel no longer works, and why.
func (s *Service) suspend(ctx context.Context, box store.Mailbox, why string, now hazard.Instant) error {
	audit := &auth.Audit{At: now, Action: "subscription.suspend", Subject: box.Subscription, Detail: "channel " + box.Channel + ": " + why, OK: true}
	err := s.alter(ctx, box.Subscription, audit, map[string]string{box.Channel: why}, func(sub *subscription) {
		if c := sub.channel(box.Channel); c != nil && c.Status == Active {
			c.Status, c.Reason = Suspended, why
		}
	})
	if errors.Is(err, hazard.ErrNotFound) {
		return nil
	}
	return err
}

// Delivery is a notice as the subscription's owner sees it.
type Delivery struct {
	ID       int64             `json:"id"`
	Channel  string            `json:"channel"`
	Kind     string            `json:"kind,omitzero"` // of the message
	HazardID int64             `json:"hazard_ID,omitzero"`
	Change   int64             `json:"change,omitzero"`
	State    store.NoticeState `json:"state"`
	Since    string            `json:"since"` // time of the change
	Created  string            `json:"created"`
	Attempts int               `json:"attempts"`
	Next     string            `json:"next,omitzero"`
	Last     string            `json:"last,omitzero"`
	Took     int64             `json:"took_ms,omitzero"`
	Error    string            `json:"error,omitzero"`
	Message  string            `json:"message_id,omitzero"`
	Text     string            `json:"text,omitzero"` // as it was sent
}

// Deliveries lists at most limit notices of a subscription with numbers below before (0 means all),
// latest first.
func (s *Service) Deliveries(ctx context.Context, who tell.Author, id string, before int64, limit int) ([]Delivery, error) {
	if _, err := s.find(ctx, who, id); err != nil {
		return nil, err
	}
	return s.deliveries(ctx, id, before, limit)
}

func (s *Service) deliveries(ctx context.Context, id string, before int64, limit int) ([]Delivery, error) {
	rows, err := s.Store.Notices.Before(ctx, id, before, limit)
	list := []Delivery{}
	for _, n := range rows {
		d := Delivery{ID: n.ID, Channel: n.Channel, Kind: n.Kind, HazardID: max(0, n.HazardID), Change: n.Change, State: n.State, Since: n.Since.String(), Created: n.Created.String(), Attempts: n.Attempts,
			Took: n.Took, Error: n.Error, Message: n.Message, Text: n.Text}
		if n.State == store.NoticePending || n.State == store.NoticeSending {
			d.Next = n.Next.String()
		}
		if n.Last > 0 {
			d.Last = n.Last.String()
		}
		list = append(list, d)
	}
	return list, err
}

// Test sends one test message over each active channel.
func (s *Service) Test(ctx context.Context, who tell.Author, id string, now hazard.Instant) ([]tell.Tested, error) {
	sub, err := s.find(ctx, who, id)
	if err != nil {
		return nil, err
	}
	list := []tell.Tested{}
	for _, c := range sub.Channels {
		if c.Status != Active {
			list = append(list, tell.Tested{Channel: c.ID, Error: "the channel is " + string(c.Status)})
			continue
		}
		n := s.compose(sub, &c, []delivery{{at: now.Time(), row: store.Notice{Since: now}, last: lastMessage{Kind: message.Test}}}, 0, message.Test, uuid.NewString(), now)
		t, err := Try(ctx, s.Sender, channel.Address{Kind: c.Kind, To: sub.addresses[c.ID], Template: c.Template}, n)
		if err != nil {
			return nil, err
		}
		t.Channel = c.ID
		list = append(list, t)
	}
	return list, nil
}

// Try sends a message once and returns the result. The error is ctx's.
func Try(ctx context.Context, sender channel.Sender, to channel.Address, n message.Notice) (tell.Tested, error) {
	began := time.Now()
	within, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	err := sender.Send(within, to, n)
	if ctx.Err() != nil {
		return tell.Tested{}, ctx.Err()
	}
	t := tell.Tested{Channel: cmp.Or(to.Template, to.Kind), Delivered: err == nil, Took: time.Since(began).Milliseconds(), Message: n.ID}
	if err != nil {
		t.Error = err.Error()
	}
	return t, nil
}

// forget removes subscriptions of people without an account that were not confirmed in time.
func (s *Service) forget(ctx context.Context, now hazard.Instant) error {
	rows, err := s.Store.Subscriptions.Of(ctx, nobodyYet, false, "", maxUnconfirmed)
	if err != nil {
		return err
	}
	for i := range rows {
		var k struct {
			Created hazard.Instant `json:"created"`
		}
		if err := json.Unmarshal(rows[i].Body, &k); err != nil || k.Created.Add(confirmLife) > now {
			continue
		}
		if err := s.Store.Subscriptions.Drop(ctx, rows[i].ID, nil); err != nil && !errors.Is(err, hazard.ErrNotFound) {
			return err
		}
	}
	return nil
}
