package route

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/wire"
)

// Acronym returns the acronym of an organization.
func (a *Router) Acronym(id int64) string {
	orgs := a.Auth.Accounts().Orgs()
	if i := slices.IndexFunc(orgs, func(o auth.Org) bool { return o.ID == id }); i >= 0 {
		return orgs[i].Acronym
	}
	return strconv.FormatInt(id, 10)
}

// Org returns the organization with that acronym or id.
func (a *Router) Org(name string) (auth.Org, error) {
	orgs := a.Auth.Accounts().Orgs()
	i := slices.IndexFunc(orgs, func(o auth.Org) bool { return o.Acronym == name || strconv.FormatInt(o.ID, 10) == name })
	if i < 0 {
		return auth.Org{}, fmt.Errorf("%w: organization %.60q", hazard.ErrNotFound, name)
	}
	return orgs[i], nil
}

// AnswerPair answers with a pair of tokens.
func AnswerPair(w http.ResponseWriter, r *http.Request, pair auth.Pair) error {
	return AnswerJSON(w, r, wire.TokenPair{AccessToken: pair.Access, RefreshToken: pair.Refresh}, true)
}

// StringFields reads the named members of a JSON object, each a string. It ignores other members,
// because clients of other servers of the base interface may send them.
func StringFields(w http.ResponseWriter, r *http.Request, names ...string) ([]string, error) {
	return StringFieldsOr(w, r, nil, names...)
}

// StringFieldsOr is StringFields with further members that may be missing: they are "" then, and
// come after the others.
func StringFieldsOr(w http.ResponseWriter, r *http.Request, optional []string, names ...string) ([]string, error) {
	body, err := ReadBody(w, r, MaxLogin)
	if err != nil {
		return nil, err
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		// The body holds a password, so the error repeats nothing of it.
		return nil, &Problem{Status: http.StatusBadRequest, Detail: "the body is not one JSON object with unique names; expected the members " + strings.Join(names, ", ")}
	}
	bad := &hazard.InvalidError{}
	all := slices.Concat(names, optional)
	values := make([]string, len(all))
	for i, name := range all {
		v, ok := members[name]
		switch {
		case !ok && i >= len(names):
		case !ok:
			bad.Add(name, "is missing")
		case v.Kind() != '"':
			bad.Add(name, "is not a string")
		default:
			if err := json.Unmarshal(v, &values[i]); err != nil {
				bad.Add(name, "is not a string of valid text")
			}
		}
	}
	return values, bad.Err()
}

// Origin returns where a login comes from.
func (a *Router) Origin(r *http.Request) auth.Origin {
	return auth.Origin{Addr: a.ClientAddr(r), Client: Program(r), Device: a.Cookies.device(r)}
}

// Actor returns who sent the request, for the audit trail.
func (a *Router) Actor(r *http.Request, who *auth.Caller) auth.Actor {
	return auth.Actor{Name: who.Name, Addr: a.ClientAddr(r), Client: Program(r)}
}

// Audit returns the audit trail's row for a change of an organization.
func (a *Router) Audit(r *http.Request, who *auth.Caller, action string, org auth.Org, detail string) *auth.Audit {
	by := a.Actor(r, who)
	return &auth.Audit{At: a.Now(), Actor: by.Name, Addr: by.Addr, Client: by.Client, Action: action, Subject: org.Acronym, Detail: detail, OK: true}
}

// maxProgram bounds the stored User-Agent, in characters. The browser of a phone names itself at
// the end, within 160.
const maxProgram = 200

// Program returns the User-Agent, cleaned up for people.
func Program(r *http.Request) string {
	runes := []rune(hazard.CleanLine(r.UserAgent()))
	return string(runes[:min(len(runes), maxProgram)])
}

// ClientAddr returns the client's address: the peer's, or behind trusted proxies the last address
// in X-Forwarded-For that is not one of them. All invalid addresses count as the same one.
func (a *Router) ClientAddr(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr := peer.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !slices.ContainsFunc(a.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(addr) }) {
			break
		}
		next, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		addr = next.Unmap()
	}
	return addr
}

// Role returns an error unless the caller has one of the roles.
func Role(who *auth.Caller, roles ...auth.Role) error {
	for _, r := range roles {
		if who.Role == r {
			return nil
		}
	}
	return fmt.Errorf("%w: this takes the role %s; %s has the role %s", hazard.ErrForbidden, roles[0], who.Name, who.Role)
}
