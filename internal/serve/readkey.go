package serve

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

// readKey describes a read-only key, without the key itself.
type readKey struct {
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	User    string    `json:"user"`
	Created time.Time `json:"created"`
}

func readKeyJSON(k auth.ReadKey) readKey {
	return readKey{ID: k.ID.String(), Title: k.Title, User: k.User, Created: k.Created.Time()}
}

// createKey creates a read key; {"title"} says what it is for. Only this answer contains the key.
func (a *API) createKey(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := role(who, auth.Editor, auth.Admin); err != nil {
		return err
	}
	fields, err := stringFields(w, r, "title")
	if err != nil {
		return err
	}
	k, text, err := a.Auth.CreateReadKey(r.Context(), a.actor(r, who), who.Name, fields[0], a.now())
	if err != nil {
		return err
	}
	made := struct {
		readKey `json:",inline"`
		Key     string `json:"key"`
		Prefix  string `json:"prefix"` // prefix of all addresses that the key can read
	}{readKeyJSON(k), string(text), a.BaseURL + keyPath + string(text)}
	return writtenJSON(w, made, a.BaseURL+"/keys/"+k.ID.String(), true)
}

// keys lists the caller's read keys; for an admin, all keys.
func (a *API) keys(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := role(who, auth.Editor, auth.Admin); err != nil {
		return err
	}
	if err := noQuery(r); err != nil {
		return err
	}
	list := []readKey{}
	for _, k := range a.Auth.ReadKeys(ownKeys(who)) {
		list = append(list, readKeyJSON(k))
	}
	return answerJSON(w, r, list, true)
}

// revokeKey revokes a read key.
func (a *API) revokeKey(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := role(who, auth.Editor, auth.Admin); err != nil {
		return err
	}
	id, err := uuid.Parse(r.PathValue("key"))
	if err != nil {
		return &problem{Status: http.StatusBadRequest, Detail: "the key's id is not a uuid; GET /keys lists them"}
	}
	if err := a.Auth.RevokeReadKey(r.Context(), a.actor(r, who), ownKeys(who), id, a.now()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// ownKeys returns whose keys the caller may manage; "" means everybody's.
func ownKeys(who *auth.Caller) string {
	if who.Role == auth.Admin {
		return ""
	}
	return who.Name
}

const keyPath = "/key/"

// withKey serves reads with a key in the address, for clients that cannot send headers: /key/KEY
// followed by any readable path. The key is removed before the request is routed, so handlers and
// logs never see it.
func (a *API) withKey(w http.ResponseWriter, r *http.Request) error {
	text := r.PathValue("key")
	if keyed(r) != nil {
		return &problem{Status: http.StatusNotFound, Detail: "no such path"}
	}
	who, err := a.Auth.VerifyReadKey(auth.KeyText(text))
	if err != nil {
		invalidToken(w)
		return nil
	}
	prefix := keyPath + text
	r = r.WithContext(context.WithValue(r.Context(), keyedContext{}, &keyedCaller{who, prefix}))
	http.StripPrefix(prefix, a.mux).ServeHTTP(w, r)
	return nil
}

// keyedCaller is a caller with a read key, and the path prefix of the key.
type keyedCaller struct {
	who    *auth.Caller
	prefix string
}

type keyedContext struct{}

func keyed(r *http.Request) *keyedCaller {
	k, _ := r.Context().Value(keyedContext{}).(*keyedCaller)
	return k
}

// base returns the prefix for links in an answer to r, so that the caller can follow them.
func (a *API) base(r *http.Request) string {
	if k := keyed(r); k != nil {
		return a.BaseURL + k.prefix
	}
	return a.BaseURL
}

// caller returns the caller of a request, by its token or by a read key.
func (a *API) caller(r *http.Request, now hazard.Instant) (*auth.Caller, error) {
	if k := keyed(r); k != nil {
		return k.who, nil
	}
	if ticketed(r) {
		return a.useTicket(r, now)
	}
	token := bearer(r.Header)
	who, err := a.Auth.Verify(token, now)
	if err != nil && a.Provider != nil && token != "" {
		return a.providerCaller(r, token, now)
	}
	return who, err
}
