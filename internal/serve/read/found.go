package read

import (
	"context"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store"
)

// CountWithin counts the matches of a search. It refuses more than fit one file or one answer
// without pages. parameter is the name of the parameter that can narrow the search.
func (a *Hazards) CountWithin(ctx context.Context, q query.Query, parameter string) (n, number int64, err error) {
	q.Names = route.NamesFor(ctx)
	if n, number, err = a.Store.Search.Count(ctx, q, a.Now()); err == nil && n > maxPackage {
		err = route.BadParameter(parameter, "%d hazards match; the limit of one answer is %d: narrow the search by a place, a time or a condition", n, maxPackage)
	}
	return n, number, err
}

// Each passes all matches of a search to each, as of one moment, until each returns false.
// restricted reports that some of the data is not public.
func (a *Hazards) Each(ctx context.Context, q query.Query, who *auth.Caller, each func(h *hazard.Hazard, products int) (more bool, err error)) (restricted bool, number int64, err error) {
	q.Limit, q.Names = query.MaxLimit, route.NamesFor(ctx)
	for now := a.Now(); ; {
		var page *store.Page
		if page, err = a.Store.Search.FindKnown(ctx, q, who.Orgs, now, a.Live.View(now)); err != nil {
			return restricted, number, err
		}
		restricted, number = restricted || page.Restricted, page.Number
		for i, h := range page.Hazards {
			if err := route.Pause(ctx); err != nil {
				return restricted, number, err
			}
			if more, err := each(h.Named(q.Names), page.Totals[i]); err != nil || !more {
				return restricted, number, err
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return restricted, number, nil
		}
	}
}
