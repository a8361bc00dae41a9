package admin

import (
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/page"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// factorStep is a step of setting up a second factor. By kind:
//
//   - totp: the password begins it, a code puts it into force, and a code with remove takes it away.
//   - passkey: the password begins it, credential with a name ends it, and id, password and remove
//     take one away.
//   - recovery: the password makes new recovery codes.
//
// Where the password is needed, so is the second factor of an account that has one, in otp.
type factorStep struct {
	Kind       string         `json:"kind"`
	Password   auth.Password  `json:"password"`
	Code       string         `json:"otp"`
	Credential jsontext.Value `json:"credential"`
	Name       string         `json:"name"`
	ID         string         `json:"id"`
	Remove     bool           `json:"remove"`
}

type factorState struct {
	Kind      string         `json:"kind"`
	State     string         `json:"state"` // pending, active or none
	ID        string         `json:"id,omitzero"`
	Secret    string         `json:"secret,omitzero"`
	URI       string         `json:"uri,omitzero"`
	QR        page.Squares   `json:"qr,omitzero"`        // the URI
	PublicKey jsontext.Value `json:"publicKey,omitzero"` // for navigator.credentials.create
	Recovery  []string       `json:"recovery_codes,omitzero"`
}

// setFactor takes a step of setting up or removing a second factor of the caller.
func (a *Accounts) setFactor(r *http.Request, who *auth.Caller, body factorStep) (state factorState, address string, err error) {
	if body.Kind == "" {
		body.Kind = "totp"
	}
	state, address = factorState{Kind: body.Kind}, a.BaseURL+"/account/factors"
	bad := &hazard.InvalidError{}
	missing := func(field, value string) {
		if value == "" {
			bad.Add(field, "missing")
		}
	}
	switch {
	case body.Kind != "totp" && body.Kind != "passkey" && body.Kind != "recovery":
		bad.Add("kind", "%.40q is not totp, passkey or recovery", body.Kind)
	case body.Kind == "totp" && body.Password == "" && body.Code == "":
		bad.Add("otp", "expected either password, to begin, or otp, to confirm or to remove")
	case body.Kind == "passkey" && body.Remove:
		missing("id", body.ID)
		missing("password", string(body.Password))
	case body.Kind == "passkey" && body.Password == "" && len(body.Credential) == 0:
		bad.Add("password", "expected either password, to begin, or credential, to add")
	case body.Kind == "recovery":
		missing("password", string(body.Password))
	}
	if err := bad.Err(); err != nil {
		return state, "", err
	}
	from := a.Origin(r)
	from.Code = body.Code
	by, now := a.Actor(r, who), a.Now()
	switch body.Kind {
	case "passkey":
		err = a.passkeyStep(r, by, from, body, &state)
	case "recovery":
		state.State = "active"
		state.Recovery, err = a.Auth.Factors().NewCodes(r.Context(), by, body.Password, from, now)
	default:
		err = a.appStep(r, by, from, body, &state)
	}
	return state, address, err
}

func (a *Accounts) appStep(r *http.Request, by auth.Actor, from auth.Origin, body factorStep, state *factorState) (err error) {
	switch {
	case body.Remove:
		state.State = "none"
		return a.Auth.Factors().DropApp(r.Context(), by, body.Code, from, a.Now())
	case body.Password != "":
		setup, err := a.Auth.Factors().BeginApp(r.Context(), by, body.Password, from, a.Now())
		if err != nil {
			return err
		}
		state.State, state.Secret, state.URI, state.QR = "pending", setup.Secret, setup.URI, page.QR(setup.URI)
		return nil
	}
	state.State = "active"
	state.Recovery, err = a.Auth.Factors().ConfirmApp(r.Context(), by, body.Code, from, a.Now())
	return err
}

func (a *Accounts) passkeyStep(r *http.Request, by auth.Actor, from auth.Origin, body factorStep, state *factorState) (err error) {
	switch {
	case body.Remove:
		state.State = "none"
		return a.Auth.Factors().DropPasskey(r.Context(), by, body.ID, body.Password, from, a.Now())
	case len(body.Credential) == 0:
		state.State = "pending"
		state.PublicKey, err = a.Auth.Factors().BeginPasskey(r.Context(), by, body.Password, from, a.Now())
		return err
	}
	state.State = "active"
	state.ID, state.Recovery, err = a.Auth.Factors().AddPasskey(r.Context(), by, body.Credential, body.Name, a.Now())
	return err
}

type passkey struct {
	ID     string     `json:"id"`
	Name   string     `json:"name"`
	Added  *time.Time `json:"added"`
	Used   *time.Time `json:"last_used"`
	Synced bool       `json:"synced"`
}

type factors struct {
	Added    *time.Time `json:"totp"` // since when there is an authenticator app
	Codes    int        `json:"recovery_codes_left"`
	Passkeys []passkey  `json:"passkeys"`
	Off      string     `json:"passkeys_off"` // why there can be none; or empty
	Required bool       `json:"required"`
}

// factors serves the second factors of the caller.
func (a *Accounts) factors(_ *http.Request, who *auth.Caller) (factors, error) {
	u, err := a.Auth.Accounts().User(who.Name)
	if err != nil {
		return factors{}, err
	}
	own := factors{Passkeys: []passkey{}, Off: a.Auth.Factors().PasskeysOff(), Required: a.Auth.Factors().Needed(&u)}
	if u.HasApp() {
		own.Added = auth.Moment(u.Factor.Added)
	}
	if u.HasFactor() {
		own.Codes = len(u.Factor.Codes)
	}
	for _, p := range u.Passkeys() {
		own.Passkeys = append(own.Passkeys, passkeyOf(p))
	}
	return own, nil
}

func passkeyOf(p auth.Passkey) passkey {
	return passkey{p.Ref(), p.Name, auth.Moment(p.Added), auth.Moment(p.Used), p.Synced}
}

type passkeyName struct {
	Name string `json:"name"`
}

// renamePasskey names a passkey of the caller anew.
func (a *Accounts) renamePasskey(r *http.Request, who *auth.Caller, body passkeyName) (renamed passkey, address string, err error) {
	ref := r.PathValue("passkey")
	if err := a.Auth.Factors().RenamePasskey(r.Context(), a.Actor(r, who), ref, body.Name, a.Now()); err != nil {
		return passkey{}, "", err
	}
	u, err := a.Auth.Accounts().User(who.Name)
	for _, p := range u.Passkeys() {
		if p.Ref() == ref {
			renamed = passkeyOf(p)
		}
	}
	return renamed, a.BaseURL + "/account/factors", err
}

type requiredFactors struct {
	Required   []auth.Role `json:"required"`
	Configured []auth.Role `json:"configured"`
	Without    []string    `json:"without"`
}

// requiredFactors serves which roles need a second factor, and who has none.
func (a *Accounts) requiredFactors(*http.Request, *auth.Caller) (requiredFactors, error) {
	accounts := a.Auth.Accounts()
	all, configured := a.Auth.Factors().Roles()
	out := requiredFactors{append([]auth.Role{}, all...), append([]auth.Role{}, configured...), []string{}}
	for _, u := range accounts.Users() {
		if u.Subject == "" && !u.Disabled && !u.HasFactor() {
			out.Without = append(out.Without, u.Name)
		}
	}
	return out, nil
}

type factorRoles struct {
	Required *[]auth.Role `json:"required"`
}

// requireFactors sets which roles need a second factor.
func (a *Accounts) requireFactors(r *http.Request, who *auth.Caller, body factorRoles) (out requiredFactors, address string, err error) {
	if body.Required == nil {
		bad := &hazard.InvalidError{}
		bad.Add("required", "missing: expected a list of roles, which may be empty")
		return out, "", bad.Err()
	}
	if err := a.Auth.Factors().Require(r.Context(), a.Actor(r, who), *body.Required, a.Now()); err != nil {
		return out, "", err
	}
	out, err = a.requiredFactors(r, who)
	return out, a.BaseURL + "/factors", err
}

// passkeyOptions begins a login, or another proof, by passkey.
func (a *Accounts) passkeyOptions(w http.ResponseWriter, r *http.Request) error {
	if err := route.NoQuery(r); err != nil {
		return err
	}
	options, err := a.Auth.Factors().PasskeyOptions(a.Now())
	if err != nil {
		return err
	}
	w.Header()["Cache-Control"] = route.NoStore
	return route.AnswerJSON(w, r, struct {
		PublicKey jsontext.Value `json:"publicKey"`
	}{options}, true)
}

// passkeyLogin exchanges the answer of a passkey for a pair of tokens.
func (a *Accounts) passkeyLogin(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Credential jsontext.Value `json:"credential"`
	}
	if err := route.Object(w, r, &body); err != nil {
		return err
	}
	if body.Credential.Kind() != '{' {
		bad := &hazard.InvalidError{}
		bad.Add("credential", "expected the answer of navigator.credentials.get, as an object")
		return bad.Err()
	}
	pair, err := a.Auth.Factors().AuthorizePasskey(r.Context(), string(body.Credential), a.Origin(r), a.Now())
	if err != nil {
		return fmt.Errorf("passkey: %w", err)
	}
	a.Cookies.SetDevice(w, pair.Device)
	return route.AnswerPair(w, r, pair)
}
