package route

import (
	"net/http"
	"net/url"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

// TicketParameter is the parameter of GET /events that takes the place of a token.
const TicketParameter = "ticket"

// ticketed reports whether the request opens a stream with a ticket.
func ticketed(r *http.Request) bool {
	return r.Pattern == "GET /events" && r.Method == http.MethodGet && r.Header["Authorization"] == nil && len(r.URL.RawQuery) > len(TicketParameter) && r.URL.Query().Has(TicketParameter)
}

// useTicket replaces the ticket in a request's address by the parameters of the ticket, so that no
// handler sees it. A reconnecting reader adds after to resume.
func (a *Router) useTicket(r *http.Request, now hazard.Instant) (*auth.Caller, error) {
	given := r.URL.Query()
	text, after := given[TicketParameter], given["after"]
	given.Del(TicketParameter)
	given.Del("after")
	if len(text) != 1 || len(after) > 1 || len(given) > 0 {
		return nil, &Problem{Status: http.StatusBadRequest, Detail: "a ticket stands alone, or with after: it holds the other parameters"}
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
