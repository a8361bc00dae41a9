package serve

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/wire"
)

// authorize exchanges credentials for a pair of tokens (base interface, section 5).
func (a *API) authorize(w http.ResponseWriter, r *http.Request) error {
	fields, err := stringFields(w, r, "username", "password")
	if err != nil {
		return err
	}
	pair, err := a.Auth.Authorize(r.Context(), fields[0], auth.Password(fields[1]), a.origin(r), a.now())
	if err != nil {
		return err
	}
	a.visits.setDevice(w, pair.Device)
	return answerPair(w, r, pair)
}

// refresh exchanges a refresh token for a new pair (decisions, "refresh").
func (a *API) refresh(w http.ResponseWriter, r *http.Request) error {
	fields, err := stringFields(w, r, "refreshToken")
	if err != nil {
		return err
	}
	pair, err := a.Auth.Refresh(r.Context(), fields[0], a.origin(r), a.now())
	if err != nil {
		return err
	}
	return answerPair(w, r, pair)
}

// revoke ends the login of a refresh token.
func (a *API) revoke(w http.ResponseWriter, r *http.Request) error {
	fields, err := stringFields(w, r, "refreshToken")
	if err != nil {
		return err
	}
	if err := a.Auth.Revoke(r.Context(), fields[0], a.origin(r), a.now()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) jwks(w http.ResponseWriter, r *http.Request) error {
	w.Header()["Content-Type"] = []string{"application/jwk-set+json"}
	return answer(w, r, encoded.NewBody(a.Auth.JWKS(), false))
}

func answerPair(w http.ResponseWriter, r *http.Request, pair auth.Pair) error {
	return answerJSON(w, r, wire.TokenPair{AccessToken: pair.Access, RefreshToken: pair.Refresh}, true)
}

// stringFields reads the named members of a JSON object, each a string. It ignores other members,
// because clients of other servers of the base interface may send them.
func stringFields(w http.ResponseWriter, r *http.Request, names ...string) ([]string, error) {
	body, err := readBody(w, r, maxLogin)
	if err != nil {
		return nil, err
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		// The body holds a password, so the error repeats nothing of it.
		return nil, &problem{Status: http.StatusBadRequest, Detail: "the body is not one JSON object with unique names; expected the members " + strings.Join(names, ", ")}
	}
	bad := &hazard.InvalidError{}
	values := make([]string, len(names))
	for i, name := range names {
		v, ok := members[name]
		switch {
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

// origin returns where a login comes from.
func (a *API) origin(r *http.Request) auth.Origin {
	return auth.Origin{Addr: a.clientAddr(r), Client: program(r), Device: a.visits.device(r)}
}

// actor returns who sent the request, for the audit trail.
func (a *API) actor(r *http.Request, who *auth.Caller) auth.Actor {
	return auth.Actor{Name: who.Name, Addr: a.clientAddr(r), Client: program(r)}
}

// auditOf returns the audit trail's row for a change of an organization.
func (a *API) auditOf(r *http.Request, who *auth.Caller, action string, org auth.Org, detail string) *auth.Audit {
	by := a.actor(r, who)
	return &auth.Audit{At: a.now(), Actor: by.Name, Addr: by.Addr, Client: by.Client, Action: action, Subject: org.Acronym, Detail: detail, OK: true}
}

// maxProgram bounds the stored User-Agent, in characters. The browser of a phone names itself at
// the end, within 160.
const maxProgram = 200

// program returns the User-Agent, cleaned up for people.
func program(r *http.Request) string {
	runes := []rune(hazard.CleanLine(r.UserAgent()))
	return string(runes[:min(len(runes), maxProgram)])
}

// clientAddr returns the client's address: the peer's, or behind trusted proxies the last address
// in X-Forwarded-For that is not one of them. All invalid addresses count as the same one.
func (a *API) clientAddr(r *http.Request) netip.Addr {
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
