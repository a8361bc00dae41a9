package admin

import (
	"net/http"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// authorize exchanges credentials for a pair of tokens (base interface, section 5).
func (a *Accounts) authorize(w http.ResponseWriter, r *http.Request) error {
	fields, err := route.StringFieldsOr(w, r, []string{"otp"}, "username", "password")
	if err != nil {
		return err
	}
	from := a.Origin(r)
	from.Code = fields[2]
	pair, err := a.Auth.Authorize(r.Context(), fields[0], auth.Password(fields[1]), from, a.Now())
	if err != nil {
		return err
	}
	a.Cookies.SetDevice(w, pair.Device)
	return route.AnswerPair(w, r, pair)
}

// refresh exchanges a refresh token for a new pair (decisions, "refresh").
func (a *Accounts) refresh(w http.ResponseWriter, r *http.Request) error {
	fields, err := route.StringFields(w, r, "refreshToken")
	if err != nil {
		return err
	}
	pair, err := a.Auth.Refresh(r.Context(), fields[0], a.Origin(r), a.Now())
	if err != nil {
		return err
	}
	return route.AnswerPair(w, r, pair)
}

// revoke ends the login of a refresh token.
func (a *Accounts) revoke(w http.ResponseWriter, r *http.Request) error {
	fields, err := route.StringFields(w, r, "refreshToken")
	if err != nil {
		return err
	}
	if err := a.Auth.Revoke(r.Context(), fields[0], a.Origin(r), a.Now()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *Accounts) jwks(w http.ResponseWriter, r *http.Request) error {
	w.Header()["Content-Type"] = []string{"application/jwk-set+json"}
	return route.Answer(w, r, encoded.NewBody(a.Auth.JWKS(), false))
}
