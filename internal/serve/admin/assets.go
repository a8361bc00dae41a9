package admin

import (
	"net/http"

	"github.com/hazardd/hazardd/internal/atlas/asset"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// loadAssets replaces the assets of an organization with those in a file.
func (a *Assets) loadAssets(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	org, err := a.changesAssets(r, who)
	if err != nil {
		return err
	}
	if r.ContentLength > asset.MaxFile {
		return route.TooLarge(asset.MaxFile)
	}
	sent, over := a.Users.Upload(who)
	if over != nil {
		return over
	}
	defer sent()
	file, err := asset.Check(http.MaxBytesReader(route.ServerWriter(w), r.Body, asset.MaxFile))
	if err != nil {
		if route.ProblemFor(err) == nil { // the body was incomplete
			return route.BodyError(err, asset.MaxFile)
		}
		return err
	}
	defer file.Close()
	set, err := a.Store.Assets.Load(r.Context(), org.ID, a.Clock(), file.Read, a.Audit(r, who, auth.ActionAssets, org, ""))
	if err != nil {
		return err
	}
	return route.AnswerJSON(w, r, a.AssetSetOf(&set), true)
}

// removeAssets removes the assets of an organization.
func (a *Assets) removeAssets(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	org, err := a.changesAssets(r, who)
	if err != nil {
		return err
	}
	err = a.Store.Assets.Remove(r.Context(), org.ID, a.Audit(r, who, auth.ActionNoAssets, org, ""))
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// changesAssets returns the organization in the path if the caller may change its assets.
func (a *Assets) changesAssets(r *http.Request, who *auth.Caller) (auth.Org, error) {
	org, err := a.MemberOrg(r, who)
	if err != nil {
		return org, err
	}
	if err := route.Role(who, auth.Editor, auth.Admin); err != nil {
		return org, err
	}
	return org, route.NoQuery(r)
}
