package browser

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/lang/words"
	pages "github.com/hazardd/hazardd/internal/serve/page"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/tell"
	"github.com/hazardd/hazardd/internal/tell/subscription"
)

// Links in messages hold a token, which alone identifies the reader. Cookies are ignored, so a
// request that another site triggers has no additional rights. A GET changes nothing, because
// programs that check mail follow links. Logs and metrics contain the path without the query, which
// holds the token.
const (
	tokenParameter    = "token"
	subscriptionsPath = "/subscriptions/"
)

// linked serves the page of a link in a message, within the limits of an address without an
// account.
func (a *Links) linked(pattern string, h route.Handler) {
	a.openPage(pattern, func(w http.ResponseWriter, r *http.Request) error {
		w.Header()["Referrer-Policy"] = route.NoReferrer
		w.Header()["Cache-Control"] = route.NoStore
		leave, err := a.Visitors.Enter(r, a.ClientAddr(r), a.Time())
		if err != nil {
			return err
		}
		defer leave()
		return h(w, r)
	})
}

// linkToken returns the token of the link.
func linkToken(r *http.Request) string {
	if given := r.URL.Query()[tokenParameter]; len(given) == 1 {
		return given[0]
	}
	return ""
}

func (a *Links) holder(r *http.Request) tell.Author {
	return tell.Author{Addr: a.ClientAddr(r)}
}

// asks serves the page that asks for confirmation.
func (a *Links) asks(purpose string, deed pages.Deed) route.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		sub, err := a.Notify.Asked(r.Context(), purpose, linkToken(r), a.Now())
		return a.answerSubscribed(w, r, &pages.Subscribed{Path: r.URL.Path, Deed: deed}, sub.Language, err)
	}
}

// does carries out the action of a link. It is sent by the form, or by programs that follow RFC
// 8058 and need no page.
func (a *Links) does(purpose string, deed pages.Deed) route.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := route.ReadBody(w, r, route.MaxLogin); err != nil { // the content does not matter
			return err
		}
		token, now := linkToken(r), a.Now()
		sub, err := a.Notify.Asked(r.Context(), purpose, token, now)
		if err == nil || errors.Is(err, hazard.ErrNotFound) { // ending something that has ended is not an error
			if purpose == subscription.ToConfirm {
				err = a.Notify.Confirm(r.Context(), a.holder(r), token, now)
			} else {
				err = a.Notify.Unsubscribe(r.Context(), a.holder(r), purpose, token, now)
			}
		}
		return a.answerSubscribed(w, r, &pages.Subscribed{Path: r.URL.Path, Deed: deed, Done: true}, sub.Language, err)
	}
}

// The paths of a subscription's page, and of its forms.
const (
	managePath = subscriptionsPath + "manage"
	changePath = subscriptionsPath + "change"
)

// manages serves the page of a subscription to a reader with a link from its messages.
func (a *Links) manages(w http.ResponseWriter, r *http.Request) error {
	return a.answerManaged(w, r, &pages.Subscribed{})
}

// changesSubscribed handles the forms of that page.
func (a *Links) changesSubscribed(w http.ResponseWriter, r *http.Request) error {
	body, err := route.ReadBody(w, r, route.MaxLogin)
	if err != nil {
		return err
	}
	p := &pages.Subscribed{Saved: true}
	change, err := changeOf(string(body))
	if err == nil {
		err = a.Notify.Change(r.Context(), a.holder(r), linkToken(r), change, a.Now())
	}
	if bad, ok := errors.AsType[*hazard.InvalidError](err); ok {
		p.Saved, p.Wrong, err = false, bad.Error(), nil
	}
	if err != nil && !errors.Is(err, hazard.ErrNotFound) { // the page reports it
		return err
	}
	return a.answerManaged(w, r, p)
}

// changeOf parses the fields of a form. Missing fields stay unchanged.
func changeOf(body string) (c subscription.Change, err error) {
	form, err := url.ParseQuery(body)
	bad := &hazard.InvalidError{}
	if err != nil {
		bad.Faults = []hazard.Fault{{Detail: "the body is not a form (application/x-www-form-urlencoded)"}}
		return c, bad
	}
	for name, values := range form {
		if name == "radius_km" {
			for _, text := range values {
				km, err := strconv.ParseFloat(text, 64)
				if err != nil {
					bad.Add(name, "%.20q is not a number of km", text)
				}
				c.Radii = append(c.Radii, km)
			}
			continue
		}
		if len(values) != 1 {
			bad.Add(name, "is given %d times, expected once", len(values))
			continue
		}
		value := values[0]
		switch name {
		case "status":
			c.Status = &value
		case "language":
			c.Language = &value
		case "severity_min":
			c.Severity = &value
		case "digest":
			c.Digest = new(subscription.Digest(value))
		case "quiet_from", "quiet_to", "quiet_except":
			c.Quiet = &subscription.Quiet{From: form.Get("quiet_from"), To: form.Get("quiet_to"), Except: hazard.Warning}
			if level := form.Get("quiet_except"); level != "" {
				var ok bool
				if c.Quiet.Except, ok = hazard.ParseSeverity(level); !ok {
					bad.Add("quiet_except", "%.60q is not a severity", level)
				}
			}
		default:
			bad.Add(name, "is no field of this form: expected status, language, severity_min, digest, quiet_from, quiet_to, quiet_except or radius_km")
		}
	}
	return c, bad.Err()
}

// answerManaged answers with the page of a subscription.
func (a *Links) answerManaged(w http.ResponseWriter, r *http.Request, p *pages.Subscribed) error {
	p.Path, p.Change, p.Deed, p.Now = managePath, changePath, pages.ToEnd, a.Now()
	sub, told, err := a.Notify.Managed(r.Context(), linkToken(r), p.Now)
	if err == nil {
		p.Subscription = managed(&sub, told)
	}
	return a.answerSubscribed(w, r, p, sub.Language, err)
}

// maxMessages is how many messages a page of a subscription shows.
const maxMessages = 10

// managed converts a subscription for its page.
func managed(s *subscription.Subscription, told []subscription.Delivery) *pages.Subscription {
	out := &pages.Subscription{Name: s.Name, Paused: s.Status == "paused", Severity: s.Severity, People: s.People, Drills: s.Drills, Digest: string(s.Digest), Zone: s.Zone,
		Language: s.Language}
	for _, c := range s.Channels {
		out.Status = string(c.Status)
		if c.Kind == "email" {
			out.Address = c.To
		}
	}
	for _, t := range s.Types {
		out.Types = append(out.Types, string(t))
	}
	for _, c := range s.Categories {
		out.Category = append(out.Category, string(c))
	}
	if q := s.Quiet; q != nil {
		out.From, out.To, out.Except = q.From, q.To, q.Except.String()
	}
	if where := s.Where; where != nil {
		for _, p := range where.Points {
			out.Places = append(out.Places, pages.Place{Name: p.Name, Lat: p.Lat, Lon: p.Lon, Radius: p.Radius})
		}
		for _, code := range where.Regions {
			out.Places = append(out.Places, pages.Place{Name: code})
		}
		out.Area = len(where.Areas) > 0
		if a := where.Assets; a != nil {
			out.Assets, out.Within = a.Organization, a.Within
		}
	}
	for _, d := range told[:min(len(told), maxMessages)] {
		if at, err := time.Parse(time.RFC3339, d.Last); err == nil && d.Text != "" {
			out.Messages = append(out.Messages, pages.Message{At: hazard.At(at), Text: d.Text})
		}
	}
	return out
}

// answerSubscribed answers with a page in the language of the link, otherwise in the subscriber's.
// A page for an invalid link says nothing more than that.
func (a *Links) answerSubscribed(w http.ResponseWriter, r *http.Request, p *pages.Subscribed, language string, err error) error {
	status := http.StatusOK
	if p.Wrong != "" {
		status = http.StatusBadRequest
	}
	if errors.Is(err, hazard.ErrNotFound) {
		status, err = http.StatusNotFound, nil
		p.Gone = true
	}
	if err != nil {
		return err
	}
	p.Frame = a.frame(r)
	if wish, err := lang.Parse(language); err == nil && language != "" && !r.URL.Query().Has(route.LangParameter) {
		p.Language = words.Best(wish.Tags()...)
	}
	if p.Subscription != nil && p.Zone == nil {
		if zone, err := time.LoadLocation(p.Subscription.Zone); err == nil {
			p.Zone = zone
		}
	}
	html, err := p.HTML()
	if err != nil {
		return err
	}
	writeHTML(w, status, html)
	return nil
}
