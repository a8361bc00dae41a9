package serve

import (
	"net/http"
	"net/url"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

const ticketParameter = "ticket"

// ticket returns a ticket for the event stream with the given parameters. It reports invalid
// parameters here, because a browser's EventSource does not show errors.
func (a *API) ticket(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, _, err := a.eventFilter(r)
	if err != nil {
		return err
	}
	if _, err := resumePoint(r, values); err != nil {
		return err
	}
	if _, err := a.wish(r, values); err != nil {
		return err
	}
	t, err := a.Auth.Ticket(who, r.URL.RawQuery, a.now())
	if err != nil {
		return err
	}
	body, err := jsonBody(struct {
		Ticket  string    `json:"ticket"`
		Expires time.Time `json:"expires"`
		URL     string    `json:"url"`
	}{t.Text, t.Expires.Time(), a.BaseURL + "/events?" + ticketParameter + "=" + t.Text}, true)
	if err != nil {
		return err
	}
	return written(w, body, a.BaseURL+"/events", true)
}

// ticketed reports whether the request opens a stream with a ticket.
func ticketed(r *http.Request) bool {
	return r.Pattern == "GET /events" && r.Method == http.MethodGet && r.Header["Authorization"] == nil && len(r.URL.RawQuery) > len(ticketParameter) && r.URL.Query().Has(ticketParameter)
}

// useTicket replaces the ticket in a request's address by the parameters of the ticket, so that no
// handler sees it. A reconnecting reader adds after to resume.
func (a *API) useTicket(r *http.Request, now hazard.Instant) (*auth.Caller, error) {
	given := r.URL.Query()
	text, after := given[ticketParameter], given["after"]
	given.Del(ticketParameter)
	given.Del("after")
	if len(text) != 1 || len(after) > 1 || len(given) > 0 {
		return nil, &problem{Status: http.StatusBadRequest, Detail: "a ticket stands alone, or with after: it holds the other parameters"}
	}
	who, query, err := a.Auth.UseTicket(r.Context(), text[0], now)
	if err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	if after != nil {
		values["after"] = after
	}
	r.URL.RawQuery = values.Encode()
	return who, nil
}
