package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/search"
)

// The handlers of this file are for admins. They do what the commands hazardd user and hazardd org do, by the same code of internal/auth, which
// writes the audit trail.

// madePasswordLife is how long a password that was made here is accepted: long enough to hand it over, and to choose another one.
const madePasswordLife = 24 * time.Hour

// userJSON is a user whose list of organizations is a list, be it empty.
func userJSON(u auth.User) auth.UserRecord {
	out := u.Record()
	if out.Orgs == nil {
		out.Orgs = []int64{}
	}
	return out
}

// forAdmins is a handler that only admins may ask, without parameters.
func forAdmins(h protected) protected {
	return func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
		if err := role(who, auth.Admin); err != nil {
			return err
		}
		if err := noQuery(r); err != nil {
			return err
		}
		return h(w, r, who)
	}
}

// users lists all users by name.
func (a *API) users(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	list := []auth.UserRecord{}
	for _, u := range a.Auth.Users() {
		list = append(list, userJSON(u))
	}
	return answerJSON(w, r, list, true)
}

// userNamed is the user that the path names, disabled or not.
func (a *API) userNamed(name string) (auth.UserRecord, error) {
	all := a.Auth.Users()
	i := slices.IndexFunc(all, func(u auth.User) bool { return u.Name == name })
	if i < 0 {
		return auth.UserRecord{}, fmt.Errorf("%w: user %.60q", hazard.ErrNotFound, name)
	}
	return userJSON(all[i]), nil
}

func (a *API) user(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	u, err := a.userNamed(r.PathValue("user"))
	if err != nil {
		return err
	}
	return answerJSON(w, r, u, true)
}

// expected are the JSON values that members of bodies may have, by what they are read into.
var expected = map[reflect.Kind]string{reflect.String: "a string", reflect.Bool: "true or false", reflect.Slice: "an array of integers", reflect.Int64: "an integer"}

// object reads a body that is one JSON object with no members but those of into. Nothing of the body is repeated: it may hold a password.
func object(w http.ResponseWriter, r *http.Request, into any) error {
	body, err := readBody(w, r, maxLogin)
	if err != nil {
		return err
	}
	err = json.Unmarshal(body, into, json.RejectUnknownMembers(true))
	if bad, ok := errors.AsType[*json.SemanticError](err); ok && bad.JSONPointer != "" {
		detail := "is not known here"
		if !errors.Is(err, json.ErrUnknownName) {
			detail = "is not " + expected[bad.GoType.Kind()]
		}
		name := string(bad.JSONPointer)
		return &problem{Status: http.StatusBadRequest, Detail: name[1:] + ": " + detail, Errors: []fault{{Pointer: name, Detail: detail}}}
	}
	if err != nil {
		return &problem{Status: http.StatusBadRequest, Detail: "the body is not one JSON object with unique names"}
	}
	return nil
}

// newPassword is a password that an admin gives to a user: one of the admin's choice, or one that is made here.
type newPassword struct {
	Password auth.Password `json:"password"`
	Until    string        `json:"password_ends"`

	ends   hazard.Instant // 0: never
	isMade bool
}

// complete makes a password if there is none, and reads until when it is accepted.
func (p *newPassword) complete(now hazard.Instant) error {
	if p.Password == "" {
		p.Password, p.ends, p.isMade = auth.RandomPassword(), now.Add(madePasswordLife), true
	}
	if p.Until == "" {
		return nil
	}
	at, ok := search.ReadMoment(p.Until)
	if !ok || at <= now {
		bad := &hazard.InvalidError{}
		bad.Add("password_ends", "%.60q is not %s, later than now", p.Until, search.MomentForm)
		return bad
	}
	p.ends = at
	return nil
}

// createUser adds a user, who can log in at once.
func (a *API) createUser(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	var body struct {
		Name        string    `json:"name"`
		Role        auth.Role `json:"role"`
		Orgs        []int64   `json:"orgs"`
		newPassword `json:",inline"`
	}
	if err := object(w, r, &body); err != nil {
		return err
	}
	now := a.now()
	if err := body.complete(now); err != nil {
		return err
	}
	err := a.Auth.AddUser(r.Context(), a.actor(r, who), auth.NewUser{Name: body.Name, Role: body.Role, Orgs: body.Orgs, Password: body.Password, PasswordEnds: body.ends}, now)
	if err != nil {
		return err
	}
	return a.answerUser(w, body.Name, body.newPassword, true)
}

// answerUser answers a write of a user, with the password if it was made here.
func (a *API) answerUser(w http.ResponseWriter, name string, p newPassword, isNew bool) error {
	u, err := a.userNamed(name)
	if err != nil {
		return err
	}
	if p.isMade {
		u.Password = string(p.Password)
	}
	return writtenJSON(w, u, a.BaseURL+"/users/"+name, isNew)
}

// givePassword gives a user another password, and ends the user's sessions.
func (a *API) givePassword(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	var body newPassword
	if err := object(w, r, &body); err != nil {
		return err
	}
	name, now := r.PathValue("user"), a.now()
	if err := body.complete(now); err != nil {
		return err
	}
	if err := a.Auth.SetPassword(r.Context(), a.actor(r, who), name, body.Password, body.ends, now); err != nil {
		return err
	}
	return a.answerUser(w, name, body, false)
}

// notSelf refuses what would lock the caller out: another admin does that, or the command on the machine.
func notSelf(who *auth.Caller, name, what string) error {
	if name != who.Name {
		return nil
	}
	return fmt.Errorf("%w: you cannot %s yourself; another admin can, or hazardd user on the server", hazard.ErrConflict, what)
}

// patchUser changes role, organizations and whether a user may log in. Each is written by itself; repeating the request after a failure is safe.
func (a *API) patchUser(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	var body struct {
		Role     *auth.Role `json:"role"`
		Orgs     *[]int64   `json:"orgs"`
		Disabled *bool      `json:"disabled"`
	}
	if err := object(w, r, &body); err != nil {
		return err
	}
	name, by, now := r.PathValue("user"), a.actor(r, who), a.now()
	before, err := a.userNamed(name)
	if err != nil {
		return err
	}
	if body.Role != nil && *body.Role != auth.Admin {
		if err := notSelf(who, name, "take the role admin from"); err != nil {
			return err
		}
	}
	if body.Disabled != nil && *body.Disabled {
		if err := notSelf(who, name, "disable"); err != nil {
			return err
		}
	}
	if body.Role != nil && !body.Role.Known() { // before anything is written
		bad := &hazard.InvalidError{}
		bad.Add("role", "%q is not one of reader, editor, admin", *body.Role)
		return bad
	}
	if body.Orgs != nil {
		if err := a.Auth.SetOrgs(r.Context(), by, name, *body.Orgs, now); err != nil {
			return err
		}
	}
	if body.Role != nil {
		if err := a.Auth.SetRole(r.Context(), by, name, *body.Role, now); err != nil {
			return err
		}
	}
	if body.Disabled != nil && *body.Disabled != before.Disabled {
		change := a.Auth.Enable
		if *body.Disabled {
			change = a.Auth.Disable
		}
		if err := change(r.Context(), by, name, now); err != nil {
			return err
		}
	}
	return a.answerUser(w, name, newPassword{}, false)
}

// removeUser removes a user for good.
func (a *API) removeUser(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	name := r.PathValue("user")
	if err := notSelf(who, name, "remove"); err != nil {
		return err
	}
	if err := a.Auth.RemoveUser(r.Context(), a.actor(r, who), name, a.now()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// organizations lists all organizations by id.
func (a *API) organizations(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	list := []accountOrg{}
	for _, o := range a.Auth.Orgs() {
		list = append(list, accountOrg(o))
	}
	return answerJSON(w, r, list, true)
}

func (a *API) organization(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	o, err := a.orgNamed(r.PathValue("org"))
	if err != nil {
		return err
	}
	return answerJSON(w, r, accountOrg(o), true)
}

// createOrganization adds an organization. None is ever renamed or removed: what it has written names it.
func (a *API) createOrganization(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	var body struct {
		Acronym string `json:"acronym"`
		Name    string `json:"name"`
	}
	if err := object(w, r, &body); err != nil {
		return err
	}
	o, err := a.Auth.AddOrg(r.Context(), a.actor(r, who), body.Acronym, body.Name, a.now())
	if err != nil {
		return err
	}
	return writtenJSON(w, accountOrg(o), fmt.Sprintf("%s/organizations/%d", a.BaseURL, o.ID), true)
}
