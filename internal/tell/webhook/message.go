package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/channel"
	hazardmessage "github.com/hazardd/hazardd/internal/tell/message"
	"github.com/hazardd/hazardd/wire"
)

// lateAfter is the age of a change from which on a message is marked as late, so that its receiver
// does not take it for news (reliability-security.md section 0.8).
const lateAfter = time.Minute

// message is the message of one or several deliveries.
type message struct {
	id          string
	contentType string
	header      map[string]string // in addition to the common headers
	body        string
	covers      []store.Delivery // the delivery it was made for, and others that it covers
}

// envelope is the body of the standard format (Standard Webhooks, "Payload structure").
type envelope struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"` // when it happened, RFC 3339
	Data      any    `json:"data"`
}

// message builds the message of a delivery as of now, or returns nil if there is nothing left to
// send. A late message describes the present state and covers all waiting deliveries about the same
// hazard or product, so that no old change looks like news. told is the last change with
// deliveries; newer changes are left out, so that the order is kept.
func (s *Service) message(ctx context.Context, h *hook, d store.Delivery, told int64, now hazard.Instant) (*message, error) {
	_, orgs, ok := s.Standing(h.Owner)
	if !ok {
		return nil, nil
	}
	c, err := s.change(ctx, d.Change)
	if err != nil {
		return nil, err
	}
	shown := wire.Change{Left: d.Left}
	covers := []store.Delivery{d}
	if late := now-c.At > hazard.Instant(lateAfter.Milliseconds()); late {
		if c, err = s.latest(ctx, c); err != nil {
			return nil, err
		}
		if c.Number > told {
			return nil, errBehind
		}
		if covers, err = s.Store.Webhooks.WaitingWith(ctx, d, c.Number); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(covers, func(c store.Delivery) bool { return c.ID == d.ID }) {
			return nil, fmt.Errorf("delivery %d no longer waits", d.ID)
		}
		if shown.Left, err = s.hasLeft(ctx, h, c); err != nil {
			return nil, err
		}
		shown.Late = true
	}
	if c = c.SeenBy(orgs); c == nil {
		return nil, nil
	}
	total := 0
	if c.Hazard != nil {
		if total, err = s.Store.Log.ProductTotalAt(ctx, c.HazardID, c.Number, orgs); err != nil {
			return nil, err
		}
	}
	if shown.Late {
		if c.Kind, err = s.kindNow(ctx, h, c, covers, shown.Left); err != nil || c.Kind == "" {
			return nil, err
		}
		for _, d := range covers {
			shown.Changes = append(shown.Changes, d.Change)
		}
	}
	return s.encode(ctx, h, c, shown, total, covers)
}

// errBehind means that deliveries do not yet exist for all changes that a message would include.
var errBehind = errors.New("the log is ahead of the deliveries")

// change returns the change with that number.
func (s *Service) change(ctx context.Context, n int64) (*hazard.Change, error) {
	changes, err := s.Store.Log.Since(ctx, n-1, 1)
	if err != nil {
		return nil, err
	}
	if len(changes) == 0 || changes[0].Number != n {
		return nil, fmt.Errorf("change %d is not in the log", n)
	}
	return &changes[0], s.Store.Log.JudgeByPresent(ctx, hazard.ProductsOf(changes))
}

// latest returns the change that created the present state of the hazard or product of c.
func (s *Service) latest(ctx context.Context, c *hazard.Change) (*hazard.Change, error) {
	if c.Hazard == nil {
		n, err := s.Store.Hazards.ProductVersion(ctx, c.Product.ID)
		if err != nil {
			return nil, err
		}
		return s.change(ctx, n)
	}
	h, err := s.Store.Hazards.Get(ctx, c.HazardID)
	if err != nil {
		return nil, err
	}
	return s.change(ctx, h.Version)
}

// kindNow returns the kind of a late message that covers several changes. It is empty if the webhook
// does not want that kind: an end, or that an end no longer holds.
func (s *Service) kindNow(ctx context.Context, h *hook, c *hazard.Change, covers []store.Delivery, left bool) (hazard.ChangeKind, error) {
	var covered []hazard.ChangeKind
	for _, d := range covers {
		of, err := s.change(ctx, d.Change)
		if err != nil {
			return "", err
		}
		covered = append(covered, of.Kind)
	}
	kind := lateKind(c, covered, left)
	if len(h.Events) > 0 && !slices.Contains(h.Events, string(kind)) && (ends(kind) || ends(covered[len(covered)-1])) {
		return "", nil
	}
	return kind, nil
}

// lateKind is the kind of a message about the state of c that covers changes of these kinds. It
// follows from the state: an ended hazard has ended, an active one has not, although an end that was
// undone is among the changes. What began meanwhile is new to the receiver.
func lateKind(c *hazard.Change, covered []hazard.ChangeKind, left bool) hazard.ChangeKind {
	began := slices.Contains(covered, hazard.HazardCreated) || slices.Contains(covered, hazard.ProductCreated)
	switch last := covered[len(covered)-1]; {
	case c.Product != nil && c.Product.Deleted:
		return hazard.ProductDeleted
	case c.Product != nil && began:
		return hazard.ProductCreated
	case c.Product != nil:
		return hazard.ProductUpdated
	case c.Hazard.Reason == hazard.EndMerged:
		return hazard.HazardMerged
	case c.Hazard.Status == hazard.Expired:
		return hazard.HazardExpired
	case began && !left:
		return hazard.HazardCreated
	case began || ends(last):
		return hazard.HazardUpdated
	default:
		return last
	}
}

// ends reports whether a change of that kind ends a hazard or product.
func ends(kind hazard.ChangeKind) bool {
	return kind == hazard.HazardExpired || kind == hazard.HazardMerged || kind == hazard.ProductDeleted
}

// hasLeft reports whether the hazard no longer matches the filter.
func (s *Service) hasLeft(ctx context.Context, h *hook, c *hazard.Change) (bool, error) {
	if h.filter == nil || c.Hazard == nil {
		return false, nil
	}
	ok, err := h.filter.Match(ctx, c.Hazard)
	return !ok, err
}

// encode writes a message of a change.
func (s *Service) encode(ctx context.Context, h *hook, c *hazard.Change, shown wire.Change, total int, covers []store.Delivery) (*message, error) {
	// The id is derived from the content: a receiver that drops repeated ids must not drop a
	// message with more content.
	m := &message{id: fmt.Sprintf("msg_%s_%d", h.ID, c.Number), header: map[string]string{}, covers: covers}
	if c.Hazard != nil {
		reader := h.wish.Reader()
		c.Hazard = reader.Of(c.Hazard)
		if used := reader.Used(); len(used) > 0 {
			m.header["Content-Language"] = used[0]
		}
	}
	if h.Format.chat() {
		line, err := s.chatLine(ctx, h, c, shown)
		m.text(h.Format, line)
		return m, err
	}
	late, left, changes := shown.Late, shown.Left, shown.Changes
	shown = wire.FromChange(c, total, s.BaseURL)
	shown.Late, shown.Left, shown.Changes = late, left, changes
	if h.Format != Standard {
		return m, m.cloudEvent(h.Format, shown.CloudEvent(s.BaseURL, s.source(h)))
	}
	return m, m.standard(envelope{shown.Type, shown.Time, &shown})
}

func (m *message) standard(e envelope) error {
	text, err := json.Marshal(&e)
	m.contentType, m.body = "application/json", string(text)
	return err
}

// source returns the address of a webhook, which CloudEvents contain.
func (s *Service) source(h *hook) string { return s.BaseURL + "/webhooks/" + h.ID }

// cloudEvent writes an event in one of the modes of the HTTP protocol binding of CloudEvents 1.0.2, section 3.
func (m *message) cloudEvent(f Format, e wire.CloudEvent) error {
	var whole any = &e
	m.contentType = "application/cloudevents+json; charset=utf-8"
	if f == CloudEventsBinary {
		whole, m.contentType = e.Data, e.DataContentType
		maps.Copy(m.header, e.Header())
	}
	text, err := json.Marshal(whole)
	m.body = string(text)
	return err
}

func (m *message) text(f Format, line string) {
	if f == Text {
		m.contentType, m.body = "text/plain; charset=utf-8", line
		return
	}
	m.contentType, m.body = "application/json", channel.SlackMessage(line)
}

// emoji are colored squares for the severities, as far as they exist (base interface section 1.4).
var emoji = map[hazard.Severity]string{hazard.Warning: "🟥", hazard.Watch: "🟨", hazard.Advisory: "🟩", hazard.Information: "🟦", hazard.Termination: "⬛"}

// chatLine describes a hazard's change for people, in the webhook's language, as other messages do
// (package message): the level's color, the headline, what to do, the link.
func (s *Service) chatLine(ctx context.Context, h *hook, c *hazard.Change, shown wire.Change) (string, error) {
	around, err := s.headlines.Around(ctx, c.Hazard)
	if err != nil {
		return "", err
	}
	item := hazardmessage.Item{Hazard: *c.Hazard, Around: around, Anywhere: true, Link: s.BaseURL + "/h/" + c.Hazard.UUID.String()}
	if s.Authority != nil {
		item.Authority = s.Authority(c.Hazard)
	}
	n := hazardmessage.Notice{Kind: hazardmessage.Changed, At: c.At.Time(), Items: []hazardmessage.Item{item}}
	switch {
	case c.Hazard.Status == hazard.Expired:
		n.Kind = hazardmessage.KindOfEnd(c.Hazard)
	case shown.Left:
		n.Items[0].Changed = []hazardmessage.Change{{Field: "area", To: "left"}}
	case c.Kind == hazard.HazardCreated:
		n.Kind = hazardmessage.First
	}
	if shown.Late {
		n.Late = lateAfter
	}
	for _, tag := range h.wish.Tags() {
		n.Language = append(n.Language, tag.String())
	}
	return emoji[c.Hazard.Severity] + " " + n.Line(chatLength), nil
}

// chatLength is the maximum length of a line for a chat, in characters.
const chatLength = 600

// worthTelling reports whether a change matters to people with these languages: not a change of
// products, nor one of what they would not see.
func worthTelling(before, after *hazard.Hazard, wish lang.Wish) bool {
	if before == nil || before.Status != after.Status || before.Reason != after.Reason {
		return true
	}
	reader := wish.Reader()
	return essence(reader.Of(before)) != essence(reader.Of(after))
}

// essence is what people are told of: the level, whether it is a drill, the name, and the place to a
// hundredth of a degree.
func essence(h *hazard.Hazard) string {
	return fmt.Sprintf("%v %v %s %.2f %.2f %s", h.Severity, h.Category == hazard.Exercise, hazard.CleanLine(h.Name), h.Latitude, h.Longitude, h.PlaceKnownAs)
}

// testMessage says that it is a test.
func (s *Service) testMessage(h *hook, now hazard.Instant) (*message, error) {
	m := &message{id: "msg_test_" + uuid.NewString(), header: map[string]string{}}
	if h.Format.chat() {
		m.text(h.Format, "⬜ TEST of a webhook of "+s.BaseURL+": nothing has happened")
		return m, nil
	}
	about := map[string]string{"webhook": h.ID, "message": "a test: nothing has happened"}
	if h.Format != Standard {
		e := wire.NewCloudEvent(s.source(h), m.id, "test", about)
		e.Time = now.String()
		return m, m.cloudEvent(h.Format, e)
	}
	return m, m.standard(envelope{"test", now.String(), about})
}

// header returns the headers of a message: its id, the time of this attempt, and the signatures
// with all valid secrets (Standard Webhooks, "Webhook headers").
func (s *Service) header(h *hook, m *message, now hazard.Instant) (http.Header, error) {
	at := now.Time()
	var signatures []string
	for _, k := range h.Secrets {
		if k.Until != 0 && k.Until <= now {
			continue
		}
		signer, err := standardwebhooks.NewWebhook(k.Text)
		if err != nil {
			return nil, errors.New("a stored secret cannot be read") // never its text
		}
		signature, err := signer.Sign(m.id, at, []byte(m.body))
		if err != nil {
			return nil, err
		}
		signatures = append(signatures, signature)
	}
	header := http.Header{"Content-Type": {m.contentType}, "User-Agent": {"hazardd/" + cmp.Or(s.Version, "dev")}}
	for name, value := range m.header {
		header.Set(name, value)
	}
	// In lower case, as the specification writes them; HTTP does not mind.
	header.Set(standardwebhooks.HeaderWebhookID, m.id)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return header, nil
}

// wants reports whether a webhook gets a change, and whether the hazard stops matching the filter
// with it. states returns the hazard before and after the change; it is only called if needed.
func (s *Service) wants(ctx context.Context, h *hook, c *hazard.Change, orgs []int64, states func(context.Context) (before, after *hazard.Hazard, err error)) (ok, left bool, err error) {
	if c.SeenBy(orgs) == nil || len(h.Events) > 0 && !slices.Contains(h.Events, string(c.Kind)) {
		return false, false, nil
	}
	chat := h.Format.chat()
	if chat && c.Product != nil {
		return false, false, nil
	}
	if h.filter == nil && !chat {
		return true, false, nil
	}
	before, after, err := states(ctx)
	if err != nil {
		return false, false, err
	}
	if h.filter != nil {
		match, err := h.filter.Match(ctx, after)
		if err != nil {
			return false, false, err
		}
		if !match {
			if c.Product != nil || before == nil {
				return false, false, nil
			}
			left, err = h.filter.Match(ctx, before)
			return left, left, err
		}
	}
	return !chat || worthTelling(before, after, h.wish), false, nil
}
