package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Webhook sends an HTTP request to a URL for each change that matches its filter.
type Webhook struct {
	ID     string            `json:"id"`
	Owner  string            `json:"owner"`
	Name   string            `json:"name"`
	URL    string            `json:"url"`
	Format string            `json:"format"` // standard, slack, text, cloudevents or cloudevents-binary
	Filter map[string]string `json:"filter"` // parameters of a search
	Events []string          `json:"events"` // types of changes; empty means all
	// Language lists the preferred languages of the authorities' texts, best first. Empty means the
	// server's default.
	Language string `json:"language"`
	Status   string `json:"status"` // active, paused or disabled
	Reason   string `json:"reason"` // why it is disabled
	// Secret signs the messages. It is only in the answers that create or rotate it.
	Secret  string `json:"secret"`
	Created string `json:"created"` // RFC 3339
	Updated string `json:"updated"`
	Pending int64  `json:"pending"` // deliveries that wait
}

// WebhookFields are the settings of a webhook. A nil field stays unchanged; in a new webhook it
// gets its default.
type WebhookFields struct {
	URL    *string           `json:"url,omitzero"`
	Name   *string           `json:"name,omitzero"`
	Format *string           `json:"format,omitzero"`
	Filter map[string]string `json:"filter,omitzero"`
	Events []string          `json:"events,omitzero"`
	// Language is a list of language tags, as in fr-CA,fr.
	Language *string `json:"language,omitzero"`
	Status   *string `json:"status,omitzero"` // active or paused
	Secret   *string `json:"secret,omitzero"`
}

// Delivery is the delivery of one change to a webhook.
type Delivery struct {
	ID        int64  `json:"id"`
	Change    int64  `json:"change"`
	HazardID  int64  `json:"hazard_ID"`
	ProductID int64  `json:"product_ID"`
	State     string `json:"state"` // pending, delivered, failed or dropped
	Created   string `json:"created"`
	Attempts  int64  `json:"attempts"`
	Next      string `json:"next"`    // time of the next attempt, if it waits
	Last      string `json:"last"`    // time of the last attempt
	Took      int64  `json:"took_ms"` // duration of the last attempt, in milliseconds
	Status    int64  `json:"status"`  // HTTP status of the last answer
	Error     string `json:"error"`   // class of the last error
	Message   string `json:"message_id"`
}

// WebhookTest is the result of a test message.
type WebhookTest struct {
	Delivered bool   `json:"delivered"`
	Status    int64  `json:"status"`
	Error     string `json:"error"`
	Took      int64  `json:"took_ms"`
	Message   string `json:"message_id"`
}

// List lists the user's webhooks; for an admin, all.
func (w Webhooks) List(ctx context.Context) (List[Webhook], error) {
	return listAt[Webhook](ctx, w.c, nil, "webhooks")
}

// Get returns one webhook.
func (w Webhooks) Get(ctx context.Context, id string) (Webhook, error) {
	return webhookCall[Webhook](ctx, w.c, http.MethodGet, nil, "webhooks", id)
}

// Create creates a webhook. fields.URL is required. Its Secret is only in this answer.
func (w Webhooks) Create(ctx context.Context, fields WebhookFields) (Webhook, error) {
	return webhookCall[Webhook](ctx, w.c, http.MethodPost, &fields, "webhooks")
}

// Patch changes a webhook.
func (w Webhooks) Patch(ctx context.Context, id string, fields WebhookFields) (Webhook, error) {
	return webhookCall[Webhook](ctx, w.c, http.MethodPatch, &fields, "webhooks", id)
}

// Rotate gives a webhook a new secret, which is only in this answer. For a day, messages are
// signed with the old one too.
func (w Webhooks) Rotate(ctx context.Context, id string) (Webhook, error) {
	return webhookCall[Webhook](ctx, w.c, http.MethodPost, nil, "webhooks", id, "rotate")
}

// Test sends a test message now.
func (w Webhooks) Test(ctx context.Context, id string) (WebhookTest, error) {
	return webhookCall[WebhookTest](ctx, w.c, http.MethodPost, nil, "webhooks", id, "test")
}

// Redeliver repeats a delivery.
func (w Webhooks) Redeliver(ctx context.Context, id string, delivery int64) (Delivery, error) {
	return webhookCall[Delivery](ctx, w.c, http.MethodPost, nil, "webhooks", id, "deliveries", ID(delivery), "redeliver")
}

// Delete deletes a webhook.
func (w Webhooks) Delete(ctx context.Context, id string) error {
	return w.c.remove(ctx, "webhooks", id)
}

// remove makes a request of DELETE.
func (c *Client) remove(ctx context.Context, path ...string) error {
	p, err := pathOf(path...)
	if err != nil {
		return err
	}
	resp, err := c.do(ctx, newRequest(http.MethodDelete, p, nil))
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// Deliveries yields the deliveries of a webhook, latest first. An empty state selects all. It stops
// at the first error.
func (w Webhooks) Deliveries(ctx context.Context, id, state string) iter.Seq2[Delivery, error] {
	return func(yield func(Delivery, error) bool) {
		p, err := pathOf("webhooks", id, "deliveries")
		if err != nil {
			yield(Delivery{}, err)
			return
		}
		for before := int64(0); ; {
			r := newRequest(http.MethodGet, p, nil)
			r.query = url.Values{"limit": {strconv.Itoa(w.c.pageSize)}}
			if state != "" {
				r.query.Set("state", state)
			}
			if before > 0 {
				r.query.Set("before", strconv.FormatInt(before, 10))
			}
			page, next, err := list[Delivery](ctx, w.c, r)
			if err == nil && len(page.Rejected) > 0 {
				err = fmt.Errorf("%s: %w", r, &AnswerError{Reason: fmt.Sprintf("record %d: %v", page.Rejected[0].Index, page.Rejected[0].Err)})
			}
			if err != nil {
				yield(Delivery{}, err)
				return
			}
			for _, d := range page.Items {
				if before > 0 && d.ID >= before {
					yield(Delivery{}, fmt.Errorf("%s: %w", r, &AnswerError{Reason: fmt.Sprintf("delivery %d after delivery %d: expected the latest first", d.ID, before)}))
					return
				}
				if before = d.ID; !yield(d, nil) {
					return
				}
			}
			if next == "" || len(page.Items) == 0 {
				return
			}
		}
	}
}

func webhookCall[T any](ctx context.Context, c *Client, method string, fields *WebhookFields, path ...string) (T, error) {
	if fields == nil {
		return call[T](ctx, c, method, nil, path...)
	}
	return call[T](ctx, c, method, fields, path...)
}

// call makes a request with the fields as its JSON body, if there are any, whose answer is one object.
func call[T any](ctx context.Context, c *Client, method string, fields any, path ...string) (T, error) {
	var none T
	p, err := pathOf(path...)
	if err != nil {
		return none, err
	}
	r := newRequest(method, p, nil)
	if fields != nil {
		text, err := json.Marshal(fields)
		if err != nil {
			return none, &InputError{"the fields are not valid text"}
		}
		r.body = content(text)
		r.header.Set("Content-Type", "application/json")
	}
	one, err := record[T](ctx, c, r)
	return one.Item, err
}

// ErrSignature means that a webhook message has no valid signature, or is too old.
var ErrSignature = errors.New("the message is not signed with the webhook's secret, or not of now")

// VerifyWebhook checks that a webhook message was signed with the secret, at most five minutes ago
// (Standard Webhooks, "Verifying signatures"). body and header are those of the request as
// received. A message may arrive twice: drop those whose header webhook-id is known.
func VerifyWebhook(secret string, header http.Header, body []byte) error {
	w, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return &InputError{"the secret is not in the server's format"}
	}
	if err := w.Verify(body, header); err != nil {
		return fmt.Errorf("%w: %w", ErrSignature, err)
	}
	return nil
}

// WebhookMessage is the body of a message in the standard format.
type WebhookMessage struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"` // time of the change, RFC 3339
	Data      Change `json:"data"`
}

// ReadWebhook verifies a message and decodes it.
func ReadWebhook(secret string, header http.Header, body []byte) (WebhookMessage, error) {
	if err := VerifyWebhook(secret, header, body); err != nil {
		return WebhookMessage{}, err
	}
	m, err := readObject[WebhookMessage](body)
	if err != nil {
		return m, &AnswerError{Reason: err.Error()}
	}
	return m, nil
}
