package httpapi

import (
	"net/http"
	"net/url"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

const ticketParameter = "ticket"

// ticket gives a ticket for the event stream that the parameters describe. What is wrong with them is told here: a browser's EventSource tells nobody.
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

// ticketed reports whether a request asks for a stream by a ticket.
func ticketed(r *http.Request) bool {
	return r.Pattern == "GET /events" && r.Method == http.MethodGet && r.Header["Authorization"] == nil && len(r.URL.RawQuery) > len(ticketParameter) && r.URL.Query().Has(ticketParameter)
}

// useTicket takes the ticket of a request out of its address, and puts the parameters there that it was made for: no handler ever sees it. A reader that
// comes again says with after where it goes on.
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
