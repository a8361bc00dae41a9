// Package webhook notifies other programs of changes by HTTP requests.
//
// Messages are signed according to the Standard Webhooks specification 1.0, and delivered at least
// once; messages about one hazard arrive in order. Each change creates deliveries. They are stored,
// so they survive a crash, and one process at a time sends them (package tell). Failed deliveries
// are retried for three days. A late delivery says so and describes the present state: nothing that
// has ended is announced as new.
//
// A failing receiver does not delay others. Requests only go to public addresses, unless a setting
// allows more, and only the status of an answer is shown.
package webhook

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format/headline"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/net/outbound"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/tell"
)

// Filter chooses hazards.
type Filter interface {
	// Match reports whether a recorded state of a hazard matches.
	Match(ctx context.Context, h *hazard.Hazard) (bool, error)
}

// Config configures a Service. All fields are required unless they say otherwise.
type Config struct {
	Store *store.Store
	Tail  *follow.Tail
	// Standing returns the present role and organizations of a user; ok is false if the user has no
	// access.
	Standing func(user string) (role auth.Role, orgs []int64, ok bool)
	// ParseFilter parses the parameters of a search; it returns nil if they match everything. The
	// error is a *hazard.InvalidError.
	ParseFilter func(params map[string]string) (Filter, error)
	// Authority returns who reports a hazard, for people; may be nil.
	Authority func(*hazard.Hazard) string
	Targets   outbound.Targets
	// Languages is the fallback after a webhook's own languages; if empty, texts are in the
	// authority's language.
	Languages lang.Wish
	// BaseURL is the service's public address without a slash at its end.
	BaseURL string
	Version string // of this program, for the User-Agent
	Now     func() time.Time
	Logger  *slog.Logger
	// Transport, if not nil, takes the place of the network.
	Transport http.RoundTripper
}

// Service stores webhooks and delivers to them. It is safe for concurrent use.
type Service struct {
	Config
	clients   outbound.Clients
	measures  *measures
	headlines *headline.Maker
}

// New makes a Service. It starts nothing.
func New(c Config) *Service {
	s := &Service{Config: c, clients: c.Targets.Clients(parallel), measures: newMeasures(), headlines: headline.NewMaker(c.Store.Hazards)}
	for _, client := range s.clients {
		if c.Transport != nil {
			client.Transport = c.Transport
		}
	}
	return s
}

// Format is the format of a webhook's messages.
type Format string

// The formats.
const (
	Standard Format = "standard" // JSON: {"type", "timestamp", "data": the change}
	Slack    Format = "slack"    // JSON: {"text"}, as Slack, Mattermost and similar services take it
	Text     Format = "text"     // one line of plain text
	// The change as a CloudEvent 1.0, in the structured and in the binary mode of its protocol binding for HTTP.
	CloudEvents       Format = "cloudevents"
	CloudEventsBinary Format = "cloudevents-binary"
)

var formats = []Format{Standard, Slack, Text, CloudEvents, CloudEventsBinary}

// chat reports whether messages are for people, who get fewer of them.
func (f Format) chat() bool { return f == Slack || f == Text }

// Status says whether a webhook gets deliveries.
type Status string

// The states of a webhook.
const (
	Active   Status = "active"
	Paused   Status = "paused"   // by its owner
	Disabled Status = "disabled" // by the service: Reason says why
)

// Webhook is a webhook as its owner sees it.
type Webhook struct {
	ID     string            `json:"id"`
	Owner  string            `json:"owner"`
	Name   string            `json:"name"`
	URL    string            `json:"url"`
	Format Format            `json:"format"`
	Filter map[string]string `json:"filter"` // parameters of a search
	Events []string          `json:"events"` // kinds of change; empty means all
	// Language is the preferred languages of the authorities' texts, best first; empty means the
	// server's.
	Language string `json:"language"`
	Status   Status `json:"status"`
	Reason   string `json:"reason,omitzero"` // why it is disabled
	// Secret is the signing secret; shown only when it is created.
	Secret  string `json:"secret,omitzero"`
	Created string `json:"created"` // RFC 3339
	Updated string `json:"updated"`
	Pending int64  `json:"pending"` // deliveries that wait
}

// kept is the stored form of a webhook.
type kept struct {
	Name     string            `json:"name"`
	URL      string            `json:"url"`
	Format   Format            `json:"format"`
	Filter   map[string]string `json:"filter"`
	Events   []string          `json:"events"`
	Language string            `json:"language,omitzero"`
	Status   Status            `json:"status"`
	Reason   string            `json:"reason"`
	Secrets  []secret          `json:"secrets"` // the present one first
	Created  hazard.Instant    `json:"created"`
	Updated  hazard.Instant    `json:"updated"`
}

// secret is a signing secret.
type secret struct {
	Text  string         `json:"text"`
	Until hazard.Instant `json:"until"` // 0 means until it is replaced
}

// LogValue hides the secret.
func (secret) LogValue() slog.Value { return slog.StringValue("redacted") }

// Format hides the secret, whatever the verb.
func (secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, "redacted") }

// hook is a parsed webhook.
type hook struct {
	store.Webhook
	kept
	filter Filter
	wish   lang.Wish
}

func (s *Service) read(w store.Webhook) (*hook, error) {
	h := &hook{Webhook: w}
	if err := json.Unmarshal(w.Body, &h.kept); err != nil {
		return nil, fmt.Errorf("stored webhook %s: %w", w.ID, err)
	}
	var err error
	if len(h.kept.Filter) > 0 {
		h.filter, err = s.ParseFilter(h.kept.Filter)
	}
	if err == nil && h.Language != "" {
		h.wish, err = lang.Parse(h.Language)
	}
	h.wish = h.wish.Or(s.Languages)
	return h, err
}

func (h *hook) show(pending int64) Webhook {
	k := &h.kept
	return Webhook{ID: h.ID, Owner: h.Owner, Name: k.Name, URL: k.URL, Format: k.Format, Filter: orEmpty(k.Filter), Events: append([]string{}, k.Events...), Language: k.Language,
		Status: k.Status, Reason: k.Reason, Created: k.Created.String(), Updated: k.Updated.String(), Pending: pending}
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// The limits per user.
const (
	maxWebhooks = 50
	// rotation is how long the previous secret still signs.
	rotation = 24 * time.Hour
)

// mayHave reports whether users with a role may have webhooks.
func mayHave(r auth.Role) bool { return r == auth.Editor || r == auth.Admin }

// mayUse returns an error if the author may not have webhooks.
func mayUse(who tell.Author) error {
	if !mayHave(who.Role) {
		return fmt.Errorf("%w: webhooks take the role editor; %s has the role %s", hazard.ErrForbidden, who.Name, who.Role)
	}
	return nil
}

// find returns a webhook that the author may see.
func (s *Service) find(ctx context.Context, who tell.Author, id string) (*hook, error) {
	if err := mayUse(who); err != nil {
		return nil, err
	}
	w, err := s.Store.Webhooks.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if !who.Owns(w.Owner) {
		return nil, hazard.ErrNotFound
	}
	return s.read(w)
}

// List lists the webhooks that the author may see: the author's own, or all for an admin.
func (s *Service) List(ctx context.Context, who tell.Author) ([]Webhook, error) {
	if err := mayUse(who); err != nil {
		return nil, err
	}
	all, err := s.Store.Webhooks.List(ctx)
	if err != nil {
		return nil, err
	}
	list := []Webhook{}
	for _, w := range all {
		if !who.Owns(w.Owner) {
			continue
		}
		h, err := s.read(w)
		if err != nil {
			return nil, err
		}
		pending, err := s.Store.Webhooks.Pending(ctx, w.ID)
		if err != nil {
			return nil, err
		}
		list = append(list, h.show(pending))
	}
	return list, nil
}

// Get is one webhook.
func (s *Service) Get(ctx context.Context, who tell.Author, id string) (Webhook, error) {
	h, err := s.find(ctx, who, id)
	if err != nil {
		return Webhook{}, err
	}
	pending, err := s.Store.Webhooks.Pending(ctx, id)
	return h.show(pending), err
}

// request is the body of a creation or a change. Missing members are nil.
type request struct {
	URL      *string            `json:"url"`
	Name     *string            `json:"name"`
	Format   *Format            `json:"format"`
	Filter   *map[string]string `json:"filter"`
	Events   *[]string          `json:"events"`
	Language *string            `json:"language"`
	Status   *Status            `json:"status"`
	Secret   *string            `json:"secret"`
}

// members are the members of a request, as errors name them.
const members = "of the members url, name, format, filter, events, language, status and secret"

// kinds are the kinds of change that webhooks can get.
var kinds = []hazard.ChangeKind{hazard.HazardCreated, hazard.HazardUpdated, hazard.HazardExpired, hazard.HazardMerged, hazard.HazardSplit,
	hazard.ProductCreated, hazard.ProductUpdated, hazard.ProductDeleted}

// apply applies the request to k, and reports all faults at once.
func (s *Service) apply(r *request, k *kept, now hazard.Instant) error {
	bad := &hazard.InvalidError{}
	if tell.Set(&k.URL, r.URL) {
		if err := s.Targets.Check(k.URL); err != nil {
			bad.Add("url", "%v", err)
		}
	}
	if tell.Set(&k.Name, r.Name) {
		tell.CheckName(bad, "name", k.Name)
	}
	if tell.Set(&k.Format, r.Format) && !slices.Contains(formats, k.Format) {
		bad.Add("format", "%.60q is not one of %v", k.Format, formats)
	}
	if tell.Set(&k.Filter, r.Filter) && len(k.Filter) > 0 {
		_, err := s.ParseFilter(k.Filter)
		if faults, ok := errors.AsType[*hazard.InvalidError](err); ok {
			for _, f := range faults.Faults {
				bad.Faults = append(bad.Faults, hazard.Fault{Field: "/filter" + f.Field, Detail: f.Detail})
			}
		} else if err != nil {
			return err
		}
	}
	if r.Events != nil {
		k.Events = slices.Compact(slices.Sorted(slices.Values(*r.Events)))
		for _, e := range k.Events {
			if !slices.Contains(kinds, hazard.ChangeKind(e)) {
				bad.Add("events", "%.60q is not one of %v", e, kinds)
			}
		}
	}
	if tell.Set(&k.Language, r.Language) && k.Language != "" {
		if _, err := lang.Parse(k.Language); err != nil {
			bad.Add("language", "%v", err)
		}
	}
	if tell.Set(&k.Status, r.Status) {
		if k.Reason = ""; k.Status != Active && k.Status != Paused {
			bad.Add("status", "%.60q is neither active nor paused", k.Status)
		}
	}
	if r.Secret != nil {
		if err := checkSecret(*r.Secret); err != nil {
			bad.Add("secret", "%v", err)
		}
		k.Secrets = rotate(k.Secrets, *r.Secret, now)
	}
	return bad.Err()
}

// secretPrefix is what secrets begin with (Standard Webhooks, "Signature scheme").
const secretPrefix = "whsec_"

func newSecret() string {
	var b [32]byte
	rand.Read(b[:])
	return secretPrefix + base64.StdEncoding.EncodeToString(b[:])
}

// checkSecret returns what is wrong with a secret: the specification requires 24 to 64 bytes.
func checkSecret(text string) error {
	rest, ok := strings.CutPrefix(text, secretPrefix)
	key, err := base64.StdEncoding.Strict().DecodeString(rest)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return fmt.Errorf("expected %q and the base64 of 24 to 64 random bytes", secretPrefix)
	}
	return nil
}

// rotate puts a new secret before the present one, which still signs for a while; those before it do no longer.
func rotate(have []secret, text string, now hazard.Instant) []secret {
	list := []secret{{Text: text}}
	if len(have) > 0 && have[0].Text != text {
		list = append(list, secret{have[0].Text, now.Add(rotation)})
	}
	return list
}

// Create creates a webhook from a body {"url", "name", "format", "filter", "events", "language",
// "status", "secret"}; only url is required. It gets changes from now on. Only the answer contains
// the secret.
func (s *Service) Create(ctx context.Context, who tell.Author, body []byte, now hazard.Instant) (Webhook, error) {
	if err := mayUse(who); err != nil {
		return Webhook{}, err
	}
	r, err := tell.Decode[request](body, members)
	if err != nil {
		return Webhook{}, err
	}
	if r.Secret == nil {
		r.Secret = new(newSecret())
	}
	h := &hook{kept: kept{Format: Standard, Status: Active, Created: now, Updated: now}}
	err = s.apply(r, &h.kept, now)
	if r.URL == nil {
		bad, ok := errors.AsType[*hazard.InvalidError](err)
		if !ok {
			bad = &hazard.InvalidError{}
		}
		bad.Add("url", "is missing")
		err = bad
	}
	if err != nil {
		return Webhook{}, err
	}
	all, err := s.Store.Webhooks.List(ctx)
	if err != nil {
		return Webhook{}, err
	}
	all = slices.DeleteFunc(all, func(w store.Webhook) bool { return w.Owner != who.Name })
	if own := len(all); own >= maxWebhooks {
		return Webhook{}, fmt.Errorf("%w: %s has %d webhooks, the most that a user may have; delete one", hazard.ErrConflict, who.Name, own)
	}
	h.Webhook = store.Webhook{ID: uuid.Must(uuid.NewV7()).String(), Owner: who.Name}
	if h.Body, err = json.Marshal(&h.kept); err != nil {
		return Webhook{}, err
	}
	if err := s.Store.Webhooks.Add(ctx, h.Webhook, *who.Audit("webhook.create", h.ID, h.URL, now)); err != nil {
		return Webhook{}, err
	}
	shown := h.show(0)
	shown.Secret = h.Secrets[0].Text
	return shown, nil
}

// Patch changes a webhook by a JSON merge patch. Status "active" reactivates a paused or disabled
// one: it then gets the changes of the last three days that it missed, in their present state.
func (s *Service) Patch(ctx context.Context, who tell.Author, id string, body []byte, now hazard.Instant) (Webhook, error) {
	if err := mayUse(who); err != nil {
		return Webhook{}, err
	}
	r, err := tell.Decode[request](body, members)
	if err != nil {
		return Webhook{}, err
	}
	given := ""
	if r.Secret != nil {
		given = *r.Secret
	}
	return s.alter(ctx, who, id, "webhook.patch", now, func(k *kept) error { return s.apply(r, k, now) }, given)
}

// Rotate gives a webhook a new secret, which only the answer contains. The previous one also signs
// messages for a day.
func (s *Service) Rotate(ctx context.Context, who tell.Author, id string, now hazard.Instant) (Webhook, error) {
	text := newSecret()
	return s.alter(ctx, who, id, "webhook.rotate", now, func(k *kept) error {
		k.Secrets = rotate(k.Secrets, text, now)
		return nil
	}, text)
}

// alter changes a webhook of the author, and shows it with the secret that was given.
func (s *Service) alter(ctx context.Context, who tell.Author, id, action string, now hazard.Instant, f func(*kept) error, secret string) (shown Webhook, err error) {
	if _, err := s.find(ctx, who, id); err != nil {
		return Webhook{}, err
	}
	err = s.update(ctx, id, *who.Audit(action, id, "", now), func(h *hook) error {
		if err := f(&h.kept); err != nil {
			return err
		}
		h.Updated = now
		shown = h.show(0)
		return nil
	})
	if err != nil {
		return Webhook{}, err
	}
	shown.Secret = secret
	shown.Pending, err = s.Store.Webhooks.Pending(ctx, id)
	return shown, err
}

// update changes a stored webhook. If it becomes active, its deliveries are retried at once.
func (s *Service) update(ctx context.Context, id string, audit auth.Audit, f func(*hook) error) error {
	return s.Store.Webhooks.Update(ctx, id, audit.At, audit, func(w store.Webhook) ([]byte, bool, error) {
		h, err := s.read(w)
		if err != nil {
			return nil, false, err
		}
		before := h.Status
		if err := f(h); err != nil {
			return nil, false, err
		}
		body, err := json.Marshal(&h.kept)
		return body, before != Active && h.Status == Active, err
	})
}

// Delete removes a webhook and its deliveries.
func (s *Service) Delete(ctx context.Context, who tell.Author, id string, now hazard.Instant) error {
	h, err := s.find(ctx, who, id)
	if err != nil {
		return err
	}
	return s.Store.Webhooks.Drop(ctx, id, *who.Audit("webhook.delete", id, h.URL, now))
}

// disable records that a webhook was disabled, and why.
func (s *Service) disable(ctx context.Context, id, reason string, now hazard.Instant) error {
	reason = strings.ToValidUTF8(reason, "\uFFFD") // it may name what is damaged; JSON refuses it otherwise, and no webhook would get anything
	s.Logger.Warn("a webhook is disabled", "webhook", id, "reason", reason)
	audit := auth.Audit{At: now, Action: "webhook.disable", Subject: id, Detail: reason, OK: true}
	return s.update(ctx, id, audit, func(h *hook) error {
		if h.Status == Active {
			h.Status, h.Reason, h.Updated = Disabled, reason, now
		}
		return nil
	})
}

// Delivery is a delivery as the webhook's owner sees it.
type Delivery struct {
	ID        int64               `json:"id"`
	Change    int64               `json:"change"`
	HazardID  int64               `json:"hazard_ID"`
	ProductID int64               `json:"product_ID,omitzero"`
	State     store.DeliveryState `json:"state"`
	Created   string              `json:"created"`
	Attempts  int                 `json:"attempts"`
	Next      string              `json:"next,omitzero"`    // when it is tried, if it waits
	Last      string              `json:"last,omitzero"`    // when it was tried last
	Took      int64               `json:"took_ms,omitzero"` // milliseconds of the last attempt
	Status    int                 `json:"status,omitzero"`  // HTTP status of the last answer
	Error     string              `json:"error,omitzero"`   // class of what went wrong last
	Message   string              `json:"message_id,omitzero"`
}

func showDelivery(d store.Delivery) Delivery {
	shown := Delivery{ID: d.ID, Change: d.Change, HazardID: d.HazardID, ProductID: d.ProductID, State: d.State, Created: d.Created.String(), Attempts: d.Attempts, Took: d.Took,
		Status: d.Status, Error: d.Error, Message: d.Message}
	if d.State == store.Pending {
		shown.Next = d.Next.String()
	}
	if d.Last > 0 {
		shown.Last = d.Last.String()
	}
	return shown
}

// Deliveries lists at most limit deliveries of a webhook with numbers below before (0 means all)
// and in a state (empty means any), latest first.
func (s *Service) Deliveries(ctx context.Context, who tell.Author, id string, before int64, state store.DeliveryState, limit int) ([]Delivery, error) {
	if _, err := s.find(ctx, who, id); err != nil {
		return nil, err
	}
	rows, err := s.Store.Webhooks.Deliveries(ctx, id, before, state, limit)
	list := []Delivery{}
	for _, d := range rows {
		list = append(list, showDelivery(d))
	}
	return list, err
}

// Redeliver has a delivery made once more.
func (s *Service) Redeliver(ctx context.Context, who tell.Author, id string, delivery int64, now hazard.Instant) (Delivery, error) {
	h, err := s.find(ctx, who, id)
	if err != nil {
		return Delivery{}, err
	}
	if h.Status != Active {
		return Delivery{}, fmt.Errorf("%w: the webhook is %s; make it active first", hazard.ErrConflict, h.Status)
	}
	d, err := s.Store.Webhooks.Redeliver(ctx, id, delivery, now, *who.Audit("webhook.redeliver", id, fmt.Sprint(delivery), now))
	return showDelivery(d), err
}

// Test sends one test message, whatever the webhook's status.
func (s *Service) Test(ctx context.Context, who tell.Author, id string, now hazard.Instant) (tell.Tested, error) {
	h, err := s.find(ctx, who, id)
	if err != nil {
		return tell.Tested{}, err
	}
	m, err := s.testMessage(h, now)
	if err != nil {
		return tell.Tested{}, err
	}
	header, err := s.header(h, m, now)
	if err != nil {
		return tell.Tested{}, err
	}
	out := s.post(ctx, h.URL, header, m.body)
	if ctx.Err() != nil {
		return tell.Tested{}, ctx.Err()
	}
	return tell.Tested{Delivered: out.fault == "", Status: out.status, Error: out.fault, Took: out.took.Milliseconds(), Message: m.id}, nil
}
