package admin

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// The handlers in this file are for admins. They do the same as the commands hazardd user and
// hazardd org, through the same code in internal/auth, which writes the audit trail.

// madePasswordLife is how long a generated password is valid: long enough to hand it over and to
// choose another.
const madePasswordLife = 24 * time.Hour

// userJSON returns the record of a user, with an empty list instead of null for no organizations.
func userJSON(u auth.User) auth.UserRecord {
	out := u.Record()
	if out.Orgs == nil {
		out.Orgs = []int64{}
	}
	return out
}

// forAdmins wraps a handler for admins without parameters.
func forAdmins(h route.Protected) route.Protected {
	return func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
		if err := route.Role(who, auth.Admin); err != nil {
			return err
		}
		if err := route.NoQuery(r); err != nil {
			return err
		}
		return h(w, r, who)
	}
}

// users lists all users by name.
func (a *Accounts) users(*http.Request, *auth.Caller) ([]auth.UserRecord, error) {
	list := []auth.UserRecord{}
	for _, u := range a.Auth.Accounts().Users() {
		list = append(list, userJSON(u))
	}
	return list, nil
}

// userNamed returns the user in the path, even if disabled.
func (a *Accounts) userNamed(name string) (auth.UserRecord, error) {
	all := a.Auth.Accounts().Users()
	i := slices.IndexFunc(all, func(u auth.User) bool { return u.Name == name })
	if i < 0 {
		return auth.UserRecord{}, fmt.Errorf("%w: user %.60q", hazard.ErrNotFound, name)
	}
	return userJSON(all[i]), nil
}

func (a *Accounts) user(r *http.Request, _ *auth.Caller) (auth.UserRecord, error) {
	return a.userNamed(r.PathValue("user"))
}

// newPassword is a password that an admin sets for a user, chosen or generated.
type newPassword struct {
	Password auth.Password `json:"password"`
	Until    string        `json:"password_ends"`

	ends   hazard.Instant // 0: never
	isMade bool
}

// complete generates a password if none is given, and sets when it expires.
func (p *newPassword) complete(now hazard.Instant) error {
	if p.Password == "" {
		p.Password, p.ends, p.isMade = auth.RandomPassword(), now.Add(madePasswordLife), true
	}
	if p.Until == "" {
		return nil
	}
	at, ok := query.ReadMoment(p.Until)
	if !ok || at <= now {
		bad := &hazard.InvalidError{}
		bad.Add("password_ends", "%.60q is not %s, later than now", p.Until, query.MomentForm)
		return bad
	}
	p.ends = at
	return nil
}

type newUser struct {
	Name        string    `json:"name"`
	Role        auth.Role `json:"role"`
	Orgs        []int64   `json:"orgs"`
	newPassword `json:",inline"`
}

// createUser adds a user, who can log in at once.
func (a *Accounts) createUser(r *http.Request, who *auth.Caller, body newUser) (u auth.UserRecord, address string, err error) {
	now := a.Now()
	if err := body.complete(now); err != nil {
		return u, "", err
	}
	err = a.Auth.Accounts().AddUser(r.Context(), a.Actor(r, who), auth.NewUser{Name: body.Name, Role: body.Role, Orgs: body.Orgs, Password: body.Password, PasswordEnds: body.ends}, now)
	if err != nil {
		return u, "", err
	}
	return a.written(body.Name, body.newPassword)
}

// written returns a user after a write, with the password if it was generated.
func (a *Accounts) written(name string, p newPassword) (u auth.UserRecord, address string, err error) {
	if u, err = a.userNamed(name); p.isMade {
		u.Password = string(p.Password)
	}
	return u, a.BaseURL + "/users/" + name, err
}

// givePassword changes a user's password and ends the user's sessions.
func (a *Accounts) givePassword(r *http.Request, who *auth.Caller, body newPassword) (u auth.UserRecord, address string, err error) {
	name, now := r.PathValue("user"), a.Now()
	if err := body.complete(now); err != nil {
		return u, "", err
	}
	if err := a.Auth.Accounts().SetPassword(r.Context(), a.Actor(r, who), name, body.Password, body.ends, now); err != nil {
		return u, "", err
	}
	return a.written(name, body)
}

// notSelf refuses changes that would lock the caller out. Another admin, or the command line on the
// server, can make them.
func notSelf(who *auth.Caller, name, what string) error {
	if name != who.Name {
		return nil
	}
	return fmt.Errorf("%w: you cannot %s yourself; another admin can, or hazardd user on the server", hazard.ErrConflict, what)
}

type userChange struct {
	Role     *auth.Role `json:"role"`
	Orgs     *[]int64   `json:"orgs"`
	Disabled *bool      `json:"disabled"`
	// DisplayName is the name that readers without an account see.
	DisplayName *string `json:"display_name"`
}

// patchUser changes a user's role, organizations, display name and whether the user is disabled. Each is written
// separately; repeating the request after a failure is safe.
func (a *Accounts) patchUser(r *http.Request, who *auth.Caller, body userChange) (u auth.UserRecord, address string, err error) {
	name, by, now := r.PathValue("user"), a.Actor(r, who), a.Now()
	before, err := a.userNamed(name)
	if err != nil {
		return u, "", err
	}
	if body.Role != nil && *body.Role != auth.Admin {
		if err := notSelf(who, name, "take the role admin from"); err != nil {
			return u, "", err
		}
	}
	if body.Disabled != nil && *body.Disabled {
		if err := notSelf(who, name, "disable"); err != nil {
			return u, "", err
		}
	}
	if body.Role != nil && !body.Role.Known() { // check before writing anything
		bad := &hazard.InvalidError{}
		bad.Add("role", "%q is not one of reader, editor, admin", *body.Role)
		return u, "", bad
	}
	if body.DisplayName != nil {
		if err := a.Auth.Accounts().SetDisplayName(r.Context(), by, name, *body.DisplayName, now); err != nil {
			return u, "", err
		}
	}
	if body.Orgs != nil {
		if err := a.Auth.Accounts().SetOrgs(r.Context(), by, name, *body.Orgs, now); err != nil {
			return u, "", err
		}
	}
	if body.Role != nil {
		if err := a.Auth.Accounts().SetRole(r.Context(), by, name, *body.Role, now); err != nil {
			return u, "", err
		}
	}
	if body.Disabled != nil && *body.Disabled != before.Disabled {
		change := a.Auth.Accounts().Enable
		if *body.Disabled {
			change = a.Auth.Accounts().Disable
		}
		if err := change(r.Context(), by, name, now); err != nil {
			return u, "", err
		}
	}
	return a.written(name, newPassword{})
}

// removeUser removes a user permanently.
func (a *Accounts) removeUser(r *http.Request, who *auth.Caller) error {
	name := r.PathValue("user")
	if err := notSelf(who, name, "remove"); err != nil {
		return err
	}
	return a.Auth.Accounts().RemoveUser(r.Context(), a.Actor(r, who), name, a.Now())
}

// organizations lists all organizations by id.
func (a *Accounts) organizations(*http.Request, *auth.Caller) ([]accountOrg, error) {
	list := []accountOrg{}
	for _, o := range a.Auth.Accounts().Orgs() {
		list = append(list, accountOrg(o))
	}
	return list, nil
}

func (a *Accounts) organization(r *http.Request, _ *auth.Caller) (accountOrg, error) {
	o, err := a.Org(r.PathValue("org"))
	return accountOrg(o), err
}

type newOrg struct {
	Acronym string `json:"acronym"`
	Name    string `json:"name"`
}

// createOrganization adds an organization. Organizations are never renamed or removed, because
// their hazards refer to them.
func (a *Accounts) createOrganization(r *http.Request, who *auth.Caller, body newOrg) (made accountOrg, address string, err error) {
	o, err := a.Auth.Accounts().AddOrg(r.Context(), a.Actor(r, who), body.Acronym, body.Name, a.Now())
	return accountOrg(o), fmt.Sprintf("%s/organizations/%d", a.BaseURL, o.ID), err
}
