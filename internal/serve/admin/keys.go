package admin

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/serve/route"
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
func (a *Accounts) createKey(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	fields, err := route.StringFields(w, r, "title")
	if err != nil {
		return err
	}
	k, text, err := a.Auth.CreateReadKey(r.Context(), a.Actor(r, who), who.Name, fields[0], a.Now())
	if err != nil {
		return err
	}
	made := struct {
		readKey `json:",inline"`
		Key     string `json:"key"`
		Prefix  string `json:"prefix"` // prefix of all addresses that the key can read
	}{readKeyJSON(k), string(text), a.BaseURL + route.KeyPath + string(text)}
	return route.WrittenJSON(w, made, a.BaseURL+"/keys/"+k.ID.String(), true)
}

// keys lists the caller's read keys; for an admin, all keys.
func (a *Accounts) keys(_ *http.Request, who *auth.Caller) ([]readKey, error) {
	list := []readKey{}
	for _, k := range a.Auth.ReadKeys(ownKeys(who)) {
		list = append(list, readKeyJSON(k))
	}
	return list, nil
}

// revokeKey revokes a read key.
func (a *Accounts) revokeKey(r *http.Request, who *auth.Caller) error {
	id, err := uuid.Parse(r.PathValue("key"))
	if err != nil {
		return &route.Problem{Status: http.StatusBadRequest, Detail: "the key's id is not a uuid; GET /keys lists them"}
	}
	return a.Auth.RevokeReadKey(r.Context(), a.Actor(r, who), ownKeys(who), id, a.Now())
}

// ownKeys returns whose keys the caller may manage; "" means everybody's.
func ownKeys(who *auth.Caller) string {
	if who.Role == auth.Admin {
		return ""
	}
	return who.Name
}
