package httpapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/notify"
	pages "github.com/hazardd/hazardd/internal/page"
	"github.com/hazardd/hazardd/internal/tongue"
	"github.com/hazardd/hazardd/internal/words"
)

// The links of messages hold a token, which alone says who asks: no cookie is looked at, so that a request that another site made has no more rights than one that anybody makes.
// A GET changes nothing: programs that check mail follow links. Logs and metrics have the path without the query, in which the token is.
const (
	tokenParameter    = "token"
	subscriptionsPath = "/subscriptions/"
)

// linked serves a page that a link of a message leads to, within what one address may ask for without an account.
func (a *API) linked(pattern string, h handler) {
	a.openPage(pattern, func(w http.ResponseWriter, r *http.Request) error {
		w.Header()["Referrer-Policy"] = noReferrer
		w.Header()["Cache-Control"] = noStore
		leave, err := a.crowd.enter(r, a.clientAddr(r), a.Now())
		if err != nil {
			return err
		}
		defer leave()
		return h(w, r)
	})
}

// linkToken is the token of the link.
func linkToken(r *http.Request) string {
	if given := r.URL.Query()[tokenParameter]; len(given) == 1 {
		return given[0]
	}
	return ""
}

func (a *API) holder(r *http.Request) notify.Author { return notify.Author{Addr: a.clientAddr(r)} }

// asks serves the question before a deed.
func (a *API) asks(purpose string, deed pages.Deed) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		sub, err := a.Notify.Asked(r.Context(), purpose, linkToken(r), a.now())
		return a.answerSubscribed(w, r, &pages.Subscribed{Path: r.URL.Path, Deed: deed}, sub.Language, err)
	}
}

// does serves the deed: of a form, and of programs that know RFC 8058, which need no page.
func (a *API) does(purpose string, deed pages.Deed) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := readBody(w, r, maxLogin); err != nil { // nothing of it is needed
			return err
		}
		token, now := linkToken(r), a.now()
		sub, err := a.Notify.Asked(r.Context(), purpose, token, now)
		if err == nil || errors.Is(err, hazard.ErrNotFound) { // what has ended may be ended again
			if purpose == notify.ToConfirm {
				err = a.Notify.Confirm(r.Context(), a.holder(r), token, now)
			} else {
				err = a.Notify.Unsubscribe(r.Context(), a.holder(r), purpose, token, now)
			}
		}
		return a.answerSubscribed(w, r, &pages.Subscribed{Path: r.URL.Path, Deed: deed, Done: true}, sub.Language, err)
	}
}

// manages serves the page of a subscription to who has a message of it.
func (a *API) manages(w http.ResponseWriter, r *http.Request) error {
	p := &pages.Subscribed{Path: r.URL.Path, Deed: pages.ToEnd, Now: a.now()}
	sub, told, err := a.Notify.Managed(r.Context(), linkToken(r), p.Now)
	if err == nil {
		p.Subscription = managed(&sub, told)
	}
	return a.answerSubscribed(w, r, p, sub.Language, err)
}

// maxMessages is how many messages a page of a subscription shows.
const maxMessages = 10

// managed is the subscription as its page shows it.
func managed(s *notify.Subscription, told []notify.Delivery) *pages.Subscription {
	out := &pages.Subscription{Name: s.Name, Paused: s.Status == "paused", Severity: s.Severity, People: s.People, Drills: s.Drills, Digest: string(s.Digest), Zone: s.Zone}
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
	}
	for _, d := range told[:min(len(told), maxMessages)] {
		if at, err := time.Parse(time.RFC3339, d.Last); err == nil && d.Text != "" {
			out.Messages = append(out.Messages, pages.Message{At: hazard.At(at), Text: d.Text})
		}
	}
	return out
}

// answerSubscribed answers with the page, in the language that the link asks for, else in the subscriber's. A link that leads nowhere says no more than that.
func (a *API) answerSubscribed(w http.ResponseWriter, r *http.Request, p *pages.Subscribed, language string, err error) error {
	status := http.StatusOK
	if errors.Is(err, hazard.ErrNotFound) {
		status, err = http.StatusNotFound, nil
		p.Gone = true
	}
	if err != nil {
		return err
	}
	p.Frame = a.frame(r)
	if wish, err := tongue.Parse(language); err == nil && language != "" && !r.URL.Query().Has(langParameter) {
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
