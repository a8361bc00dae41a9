package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/search"
	"github.com/hazardd/hazardd/internal/store"
)

// maxPackage bounds the hazards of one GeoPackage.
const maxPackage = 20_000

// geoPackage serves all that a search finds as a GeoPackage. It has no pages: a file cannot lead to the next.
func (a *API) geoPackage(w http.ResponseWriter, r *http.Request, who *auth.Caller, q search.Query) error {
	if q.Limit != 0 || q.Cursor != "" {
		return badParameter("f", "gpkg holds all that is found: limit and cursor have no place beside it")
	}
	now := a.now()
	n, number, err := a.Store.Count(r.Context(), q, now)
	if err != nil {
		return err
	}
	if n > maxPackage {
		return badParameter("f", "gpkg holds at most %d hazards, and %d are found: ask for less, by bbox, datetime, type or filter", maxPackage, n)
	}
	a.tellCoverage(w, &q)
	a.tellFreshness(r.Context(), w, number, q.At != nil)
	doc, err := format.NewPackage(r.Context(), "Hazards", a.BaseURL, now)
	if err != nil {
		return err
	}
	restricted, err := a.fillPackage(r.Context(), doc, q, who)
	if err != nil {
		return errors.Join(err, doc.Discard())
	}
	return doc.Finish(func(size int64, file io.ReadSeeker) error {
		h := w.Header()
		h["Content-Type"] = []string{format.GeoPackageType}
		h["Content-Disposition"] = []string{`attachment; filename="hazards.gpkg"`}
		tag := fmt.Sprintf(`"gpkg-%d-%d"`, number, now) // made anew for each request, it is like no other
		return a.streamed(w, r, tag, restricted, func(out io.Writer) error {
			_, err := io.Copy(out, file)
			return err
		})
	})
}

// fillPackage writes all pages, and reports whether something of them is not for everybody.
func (a *API) fillPackage(ctx context.Context, doc *format.Package, q search.Query, who *auth.Caller) (restricted bool, err error) {
	q.Limit = search.MaxLimit
	for now := a.now(); ; {
		var page *store.Page
		if page, err = a.Store.Search(ctx, q, who.Orgs, now); err != nil {
			return restricted, err
		}
		restricted = restricted || page.Restricted
		for i, h := range page.Hazards {
			e, err := format.Read(ctx, a.storeAt(q.At), format.GeoJSON, h, page.Totals[i])
			if err == nil {
				err = doc.Write(e)
			}
			if err != nil {
				return restricted, err
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return restricted, nil
		}
	}
}
