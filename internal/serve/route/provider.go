package route

import (
	"errors"
	"net/http"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/auth/oidc"
	"github.com/hazardd/hazardd/internal/hazard"
)

// ProviderProblem returns what the visitor sees of an error at the provider. The reason is only
// logged, because it may contain data of other people.
func (a *Router) ProviderProblem(r *http.Request, err error) error {
	p := &Problem{}
	switch {
	case errors.Is(err, oidc.ErrUnavailable):
		p.Status, p.Retry = http.StatusServiceUnavailable, 10*time.Second
		p.Detail = "the login provider does not answer; retry soon, or log in with a local account. Open sessions continue"
	case errors.Is(err, oidc.ErrBusy):
		return &hazard.LimitError{Limit: "provider-exchanges", Kind: hazard.LimitCapacity, RetryAfter: 2 * time.Second,
			Detail: "too many logins at the provider are in progress (limit provider-exchanges); retry"}
	case errors.Is(err, oidc.ErrRefused):
		p.Status, p.Detail = http.StatusBadRequest, "this login at the provider is invalid: it was canceled, took too long, was used before, or was started in another browser; start again at /login"
	case errors.Is(err, auth.ErrNoAccess):
		p.Status, p.Detail = http.StatusForbidden, "you are logged in at the provider, but none of your groups there has access to this server; ask its administrator"
	case errors.Is(err, auth.ErrDenied):
		p.Status, p.Detail = http.StatusForbidden, "your account is disabled on this server; ask its administrator"
	default:
		return err
	}
	if ok, missed := a.refused.take("provider", a.Now()); ok {
		a.Logger.WarnContext(r.Context(), "login at the provider failed", "error", err, "repeated", missed)
	}
	if p.Status == http.StatusForbidden {
		a.Auth.Accounts().Refused(r.Context(), auth.Actor{Addr: a.ClientAddr(r), Client: Program(r)}, auth.ActionLogin, "", err.Error(), a.Now())
	}
	return p
}

// providerCaller returns the caller of a token that the provider issued.
func (a *Router) providerCaller(r *http.Request, token string, now hazard.Instant) (*auth.Caller, error) {
	id, expires, err := a.Provider.Bearer(r.Context(), token)
	if err != nil {
		return nil, err
	}
	return a.Auth.VerifyIdentity(r.Context(), id, expires, now)
}

// answerRefused answers a request whose token is invalid, or cannot be checked now.
func (a *Router) answerRefused(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, oidc.ErrUnavailable), errors.Is(err, oidc.ErrBusy):
		a.Fail(w, r, a.ProviderProblem(r, err))
	case errors.Is(err, auth.ErrInvalidToken), errors.Is(err, oidc.ErrRefused):
		InvalidToken(w)
	default:
		a.Fail(w, r, err)
	}
}
