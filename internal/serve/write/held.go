package write

import (
	"net/http"
	"strconv"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// decideHeld releases or dismisses a held report: {"decision": "released" | "dismissed"}.
func (a *Handlers) decideHeld(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := route.Role(who, auth.Editor, auth.Admin); err != nil { // before the answer reveals which sources exist
		return err
	}
	source, err := a.KnownSource(r)
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(r.PathValue("held"), 10, 64)
	if err != nil || id < 1 {
		return route.BadParameter("held-id", "%q is not a number (1, 2, 3 …)", r.PathValue("held"))
	}
	body, err := route.ReadBody(w, r, route.MaxLogin)
	if err != nil {
		return err
	}
	res, err := a.Edit.Decide(r.Context(), a.author(r, who), source, id, a.ifMatch(r), body, a.Clock())
	if err != nil {
		return a.orDrafted(w, r, err)
	}
	a.visible(r.Context(), res.Last)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
