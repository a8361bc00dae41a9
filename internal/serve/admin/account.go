package admin

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/net/trace"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store"
)

// ownAccount refuses a read key: it grants public data only, not the data of its user.
func ownAccount(h route.Protected) route.Protected {
	return func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
		if who.ByReadKey() {
			return fmt.Errorf("%w: a read key does not reach the account of its user", hazard.ErrForbidden)
		}
		return h(w, r, who)
	}
}

type accountOrg struct {
	ID      int64  `json:"id"`
	Acronym string `json:"acronym"`
	Name    string `json:"name"`
}

type account struct {
	Name            string       `json:"name"`
	DisplayName     string       `json:"display_name"` // empty: readers without an account see the organization's name
	Role            auth.Role    `json:"role"`
	Orgs            []accountOrg `json:"orgs"`
	Created         *time.Time   `json:"created"`
	PasswordChanged *time.Time   `json:"password_changed"`
	PasswordEnds    *time.Time   `json:"password_ends"`
	SecondFactor    bool         `json:"second_factor"`                 // the password alone does not log in
	NeedsFactor     bool         `json:"second_factor_needed,omitzero"` // nothing else works before there is one
	Session         string       `json:"session"`
}

// account serves the caller's own account.
func (a *Accounts) account(_ *http.Request, who *auth.Caller) (account, error) {
	u, err := a.Auth.Accounts().User(who.Name)
	if err != nil {
		return account{}, err
	}
	own := account{u.Name, u.DisplayName, u.Role, []accountOrg{}, auth.Moment(u.Created), auth.Moment(u.PasswordChanged), auth.Moment(u.PasswordEnds), u.HasFactor(), who.NeedsFactor, who.Session().String()}
	for _, o := range a.Auth.Accounts().Orgs() {
		for _, id := range u.Orgs {
			if o.ID == id {
				own.Orgs = append(own.Orgs, accountOrg(o))
			}
		}
	}
	return own, nil
}

type accountChange struct {
	DisplayName *string `json:"display_name"`
}

// patchAccount sets the name under which readers without an account see the caller.
func (a *Accounts) patchAccount(r *http.Request, who *auth.Caller, body accountChange) (own account, address string, err error) {
	if body.DisplayName != nil {
		if err := a.Auth.Accounts().SetDisplayName(r.Context(), a.Actor(r, who), who.Name, *body.DisplayName, a.Now()); err != nil {
			return account{}, "", err
		}
	}
	own, err = a.account(r, who)
	return own, a.BaseURL + "/account", err
}

// changePassword changes the caller's password. It revokes all tokens and returns a new pair.
func (a *Accounts) changePassword(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	fields, err := route.StringFieldsOr(w, r, []string{"otp"}, "old", "new")
	if err != nil {
		return err
	}
	from := a.Origin(r)
	from.Code = fields[2]
	pair, err := a.Auth.Accounts().ChangePassword(r.Context(), who.Name, auth.Password(fields[0]), auth.Password(fields[1]), from, a.Now())
	if err != nil {
		return err
	}
	a.Cookies.SetDevice(w, pair.Device)
	return route.AnswerPair(w, r, pair)
}

type accountSession struct {
	ID      string     `json:"id"`
	Created *time.Time `json:"created"`
	Used    *time.Time `json:"last_used"`
	Expires *time.Time `json:"expires"`
	Address string     `json:"address"`
	Client  string     `json:"client"`
	Current bool       `json:"current"`
}

// sessions lists the caller's active logins.
func (a *Accounts) sessions(r *http.Request, who *auth.Caller) ([]accountSession, error) {
	logins, err := a.Auth.Accounts().Sessions(r.Context(), who.Name, a.Now())
	if err != nil {
		return nil, err
	}
	list := []accountSession{}
	for _, l := range logins {
		s := accountSession{ID: l.ID.String(), Created: auth.Moment(l.Created), Used: auth.Moment(l.Used), Expires: auth.Moment(l.Expires), Client: l.Client, Current: l.ID == who.Session()}
		if l.Addr.IsValid() {
			s.Address = l.Addr.String()
		}
		list = append(list, s)
	}
	return list, nil
}

// endUserSession ends a login of the caller.
func (a *Accounts) endUserSession(r *http.Request, who *auth.Caller) error {
	id, err := uuid.Parse(r.PathValue("session"))
	if err != nil {
		return route.BadParameter("session-id", "%.60q is not the id of a session, as GET /account/sessions lists it", r.PathValue("session"))
	}
	return a.Auth.Accounts().EndSession(r.Context(), a.Actor(r, who), id, a.Now())
}

// The number of rows on a page of the audit trail.
const (
	auditRows    = 100
	maxAuditRows = 1000
)

// audit serves the audit trail to admins, newest row first.
func (a *Accounts) audit(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	values, err := route.Parameters(r, "user", "action", "request", "since", "until", "limit", "next")
	if err != nil {
		return err
	}
	f := auth.TrailFilter{User: values.Get("user"), Action: values.Get("action"), Request: values.Get("request")}
	if values.Has("request") && !trace.IsID(f.Request) {
		return route.BadParameter("request", "%.60q is neither %s", f.Request, trace.IDForm)
	}
	for name, into := range map[string]*hazard.Instant{"since": &f.Since, "until": &f.Until} {
		if !values.Has(name) {
			continue
		}
		at, ok := query.ReadMoment(values.Get(name))
		if !ok {
			return route.BadParameter(name, "%.60q is not %s", values.Get(name), query.MomentForm)
		}
		*into = at
	}
	limit, err := route.IntParameter(values, "limit", auditRows, 1, maxAuditRows)
	if err != nil {
		return err
	}
	if f.Before, err = route.IntParameter(values, "next", 0, 1, 1<<53); err != nil {
		return err
	}
	f.Limit = int(limit) + 1 // one more, to know whether another page follows
	rows, err := a.Auth.Accounts().Trail(r.Context(), f)
	if err != nil {
		return err
	}
	if len(rows) > int(limit) {
		rows = rows[:limit]
		next := r.URL.Query()
		next.Set("next", strconv.FormatInt(rows[limit-1].ID, 10))
		a.LinkNext(w, r, next)
	}
	list := []auth.AuditRecord{}
	for _, x := range rows {
		list = append(list, x.Record())
	}
	if err := a.SetKept(r.Context(), w, store.Trail, f.Since); err != nil {
		return err
	}
	return route.AnswerJSON(w, r, list, true)
}
