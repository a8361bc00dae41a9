package admin

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/webhook"
)

func (a *Messages) listWebhooks(r *http.Request, who *auth.Caller) ([]webhook.Webhook, error) {
	return a.Webhooks.List(r.Context(), author(a.Router, r, who))
}

// rotateWebhook gives a webhook a second secret beside the present one.
func (a *Messages) rotateWebhook(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	id, err := pathUUID(r, "webhook")
	if err != nil {
		return err
	}
	h, err := a.Webhooks.Rotate(r.Context(), author(a.Router, r, who), id, a.Now())
	if err != nil {
		return err
	}
	return route.WrittenJSON(w, h, a.BaseURL+"/webhooks/"+id, false)
}

// deliveries lists the finished and waiting deliveries of a webhook, latest first.
func (a *Messages) deliveries(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	id, err := pathUUID(r, "webhook")
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
	list, err := a.Webhooks.Deliveries(r.Context(), author(a.Router, r, who), id, before, state, int(limit))
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
	id, err := pathUUID(r, "webhook")
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(r.PathValue("delivery"), 10, 64)
	if err != nil || n < 1 {
		return route.BadParameter("delivery-id", "%.60q is not a number (1, 2, 3 …)", r.PathValue("delivery"))
	}
	d, err := a.Webhooks.Redeliver(r.Context(), author(a.Router, r, who), id, n, a.Now())
	if err != nil {
		return err
	}
	text, err := route.JSONBody(d, true)
	if err != nil {
		return err
	}
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = route.JSONType, route.NoStore
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(text.Bytes(encoded.Identity)) // fails only if the client has gone
	return nil
}
