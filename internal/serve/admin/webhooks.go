package admin

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell"
	"github.com/hazardd/hazardd/internal/tell/webhook"
)

func (a *Messages) hookAuthor(r *http.Request, who *auth.Caller) tell.Author {
	return tell.Author{Caller: who, Addr: a.ClientAddr(r)}
}

// webhookID returns the webhook in the path.
func webhookID(r *http.Request) (string, error) {
	text := r.PathValue("webhook")
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return "", route.BadParameter("webhook-id", "%.100q is not a uuid", text)
	}
	return id.String(), nil
}

func (a *Messages) listWebhooks(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := route.NoQuery(r); err != nil {
		return err
	}
	list, err := a.Webhooks.List(r.Context(), a.hookAuthor(r, who))
	if err != nil {
		return err
	}
	return route.AnswerJSON(w, r, list, true)
}

func (a *Messages) createWebhook(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	body, err := route.ReadBody(w, r, route.MaxLogin)
	if err != nil {
		return err
	}
	made, err := a.Webhooks.Create(r.Context(), a.hookAuthor(r, who), body, a.Now())
	if err != nil {
		return err
	}
	return route.WrittenJSON(w, made, fmt.Sprintf("%s/webhooks/%s", a.BaseURL, made.ID), true)
}

func (a *Messages) getWebhook(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := route.NoQuery(r); err != nil {
		return err
	}
	id, err := webhookID(r)
	if err != nil {
		return err
	}
	h, err := a.Webhooks.Get(r.Context(), a.hookAuthor(r, who), id)
	if err != nil {
		return err
	}
	return route.AnswerJSON(w, r, h, true)
}

func (a *Messages) patchWebhook(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	id, err := webhookID(r)
	if err != nil {
		return err
	}
	body, err := route.ReadBody(w, r, route.MaxLogin)
	if err != nil {
		return err
	}
	h, err := a.Webhooks.Patch(r.Context(), a.hookAuthor(r, who), id, body, a.Now())
	if err != nil {
		return err
	}
	return a.webhookWritten(w, h)
}

// webhookWritten answers a write of a webhook.
func (a *Messages) webhookWritten(w http.ResponseWriter, h webhook.Webhook) error {
	return route.WrittenJSON(w, h, a.BaseURL+"/webhooks/"+h.ID, false)
}

func (a *Messages) deleteWebhook(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	id, err := webhookID(r)
	if err != nil {
		return err
	}
	if err := a.Webhooks.Delete(r.Context(), a.hookAuthor(r, who), id, a.Now()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// rotateWebhook gives a webhook a second secret beside the present one.
func (a *Messages) rotateWebhook(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	id, err := webhookID(r)
	if err != nil {
		return err
	}
	h, err := a.Webhooks.Rotate(r.Context(), a.hookAuthor(r, who), id, a.Now())
	if err != nil {
		return err
	}
	return a.webhookWritten(w, h)
}

// testWebhook sends a test message and returns the result.
func (a *Messages) testWebhook(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	id, err := webhookID(r)
	if err != nil {
		return err
	}
	if err := a.Users.Test(who, a.Time()); err != nil {
		return err
	}
	tested, err := a.Webhooks.Test(r.Context(), a.hookAuthor(r, who), id, a.Now())
	if err != nil {
		return err
	}
	return route.WrittenJSON(w, tested, a.BaseURL+"/webhooks/"+id, false)
}

// deliveries lists the finished and waiting deliveries of a webhook, latest first.
func (a *Messages) deliveries(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	id, err := webhookID(r)
	if err != nil {
		return err
	}
	values, err := route.Parameters(r, "before", "state", "limit")
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
	state := store.DeliveryState(values.Get("state"))
	switch state {
	case store.Pending, store.Delivered, store.Failed, store.Dropped:
	default:
		if values.Has("state") {
			return route.BadParameter("state", "%.60q is not one of pending, delivered, failed, dropped", string(state))
		}
	}
	list, err := a.Webhooks.Deliveries(r.Context(), a.hookAuthor(r, who), id, before, state, int(limit))
	if err != nil {
		return err
	}
	if int64(len(list)) == limit {
		next := url.Values{"before": {fmt.Sprint(list[limit-1].ID)}, "limit": {fmt.Sprint(limit)}}
		if state != "" {
			next.Set("state", string(state))
		}
		a.LinkNext(w, r, next)
	}
	return route.AnswerJSON(w, r, list, true)
}

// redeliver repeats a delivery.
func (a *Messages) redeliver(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	id, err := webhookID(r)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(r.PathValue("delivery"), 10, 64)
	if err != nil || n < 1 {
		return route.BadParameter("delivery-id", "%.60q is not a number (1, 2, 3 …)", r.PathValue("delivery"))
	}
	d, err := a.Webhooks.Redeliver(r.Context(), a.hookAuthor(r, who), id, n, a.Now())
	if err != nil {
		return err
	}
	text, err := route.JsonBody(d, true)
	if err != nil {
		return err
	}
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = route.JsonType, route.NoStore
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(text.Bytes(encoded.Identity)) // fails only if the client has gone
	return nil
}
