package admin

import (
	"context"
	"fmt"
	"mime"
	"net/http"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/tell"
)

// resource is what users create, change and remove: webhooks, or subscriptions.
type resource[T, Tested any] struct {
	*route.Router
	name    string // of the resource in patterns; its path is the plural
	maxBody int64  // in bytes
	id      func(T) string
	of      interface {
		Get(ctx context.Context, who tell.Author, id string) (T, error)
		Create(ctx context.Context, who tell.Author, body []byte, now hazard.Instant) (T, error)
		Patch(ctx context.Context, who tell.Author, id string, body []byte, now hazard.Instant) (T, error)
		Delete(ctx context.Context, who tell.Author, id string, now hazard.Instant) error
		Test(ctx context.Context, who tell.Author, id string, now hazard.Instant) (Tested, error)
	}
}

// author returns who sent the request; without an account, only the address.
func author(a *route.Router, r *http.Request, who *auth.Caller) tell.Author {
	if who.Role == auth.Public {
		who = nil
	}
	return tell.Author{Caller: who, Addr: a.ClientAddr(r)}
}

// pathUUID parses the UUID in the path.
func pathUUID(r *http.Request, name string) (string, error) {
	text := r.PathValue(name)
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return "", route.BadParameter(name+"-id", "%.100q is not a uuid", text)
	}
	return id.String(), nil
}

func (a *resource[T, Tested]) address(id string) string { return a.BaseURL + "/" + a.name + "s/" + id }

func (a *resource[T, Tested]) create(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	// Another type needs no permission of the browser: any page could send it from its visitors' (Fetch,
	// section 2.2.2).
	if typ, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); author(a.Router, r, who).Caller == nil && typ != "application/json" {
		return &route.Problem{Status: http.StatusUnsupportedMediaType, Detail: fmt.Sprintf("Content-Type: %.60q, expected application/json", r.Header.Get("Content-Type"))}
	}
	body, err := route.ReadBody(w, r, a.maxBody)
	if err != nil {
		return err
	}
	made, err := a.of.Create(r.Context(), author(a.Router, r, who), body, a.Now())
	if err != nil {
		return err
	}
	return route.WrittenJSON(w, made, a.address(a.id(made)), true)
}

func (a *resource[T, Tested]) get(r *http.Request, who *auth.Caller) (found T, err error) {
	id, err := pathUUID(r, a.name)
	if err != nil {
		return found, err
	}
	return a.of.Get(r.Context(), author(a.Router, r, who), id)
}

func (a *resource[T, Tested]) patch(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	id, err := pathUUID(r, a.name)
	if err != nil {
		return err
	}
	body, err := route.ReadBody(w, r, a.maxBody)
	if err != nil {
		return err
	}
	changed, err := a.of.Patch(r.Context(), author(a.Router, r, who), id, body, a.Now())
	if err != nil {
		return err
	}
	return route.WrittenJSON(w, changed, a.address(id), false)
}

func (a *resource[T, Tested]) remove(r *http.Request, who *auth.Caller) error {
	id, err := pathUUID(r, a.name)
	if err != nil {
		return err
	}
	return a.of.Delete(r.Context(), author(a.Router, r, who), id, a.Now())
}

// test sends a test message and returns the result.
func (a *resource[T, Tested]) test(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	id, err := pathUUID(r, a.name)
	if err != nil {
		return err
	}
	if err := a.Users.Test(who, a.Time()); err != nil {
		return err
	}
	tested, err := a.of.Test(r.Context(), author(a.Router, r, who), id, a.Now())
	if err != nil {
		return err
	}
	return route.WrittenJSON(w, tested, a.address(id), false)
}
