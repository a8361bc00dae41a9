package read

import (
	"net/http"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// ticket returns a ticket for the event stream with the given parameters. It reports invalid
// parameters here, because a browser's EventSource does not show errors.
func (a *Streams) ticket(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, _, err := a.eventFilter(r)
	if err != nil {
		return err
	}
	if _, err := resumePoint(r, values); err != nil {
		return err
	}
	if _, err := a.Wish(r, values); err != nil {
		return err
	}
	t, err := a.Auth.Ticket(who, r.URL.RawQuery, a.Now())
	if err != nil {
		return err
	}
	body, err := route.JSONBody(struct {
		Ticket  string    `json:"ticket"`
		Expires time.Time `json:"expires"`
		URL     string    `json:"url"`
	}{t.Text, t.Expires.Time(), a.BaseURL + "/events?" + route.TicketParameter + "=" + t.Text}, true)
	if err != nil {
		return err
	}
	return route.Written(w, body, a.BaseURL+"/events", true)
}
