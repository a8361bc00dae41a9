package read

import (
	"context"
	"slices"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/view"
)

// CountWithin counts the matches of a search. It refuses more than fit one file or one answer
// without pages. parameter is the name of the parameter that can narrow the search.
func (a *Hazards) CountWithin(ctx context.Context, q query.Query, parameter string) (n, number int64, err error) {
	if now := a.Now(); inView(&q) {
		var found *Found
		if found, err = a.searchView(ctx, q, &auth.Caller{}, a.View(ctx, now), now); err == nil {
			n, number = found.Matched, found.Number
		}
	} else {
		q.Names = route.NamesFor(ctx)
		n, number, err = a.Store.Search.Count(ctx, q, now)
	}
	if err == nil && n > maxPackage {
		err = route.BadParameter(parameter, "%d hazards match; the limit of one answer is %d: narrow the search by a place, a time or a condition", n, maxPackage)
	}
	return n, number, err
}

// inView reports whether the view has all that matches a search: it is for what is active now.
func inView(q *query.Query) bool {
	return q.At == nil && q.Cursor == "" && len(q.Statuses) == 1 && q.Statuses[0] == hazard.Active
}

// Each passes all matches of a search to each, as of one moment, until each returns false.
// restricted reports that some of the data is not public.
func (a *Hazards) Each(ctx context.Context, q query.Query, who *auth.Caller, each func(h *hazard.Hazard, products int) (more bool, err error)) (restricted bool, number int64, err error) {
	now := a.Now()
	if q.Limit = 0; inView(&q) {
		found, err := a.searchView(ctx, q, who, a.View(ctx, now), now)
		if err != nil {
			return false, 0, err
		}
		for i, h := range found.Hazards {
			if err := route.Pause(ctx); err != nil {
				return found.Restricted, found.Number, err
			}
			if more, err := each(h, found.totals[i]); err != nil || !more {
				return found.Restricted, found.Number, err
			}
		}
		return found.Restricted, found.Number, nil
	}
	for q.Limit, q.Names = query.MaxLimit, route.NamesFor(ctx); ; {
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

// searchView finds active hazards in the view, with the same result as a search in the store. It
// works while the store is unreachable, unless it needs the store for a ref or for areas that are
// not in memory yet.
func (a *Hazards) searchView(ctx context.Context, q query.Query, who *auth.Caller, v *view.View, now hazard.Instant) (*Found, error) {
	if err := a.Store.Search.Resolve(ctx, &q.Filter); err != nil {
		return nil, err
	}
	type one struct {
		h     *hazard.Hazard
		total int
		key   query.Key
	}
	var list []one
	for h, total := range v.Hazards(view.Filter{}, who.Orgs) {
		ok := q.MatchRecord(h, now)
		if ok && q.NeedsShapes() {
			shapes, err := a.Store.Hazards.Shapes(ctx, q.Refs(h))
			if err != nil {
				return nil, err
			}
			ok = q.MatchAt(h, q.Places(h, shapes), now)
		}
		if ok {
			list = append(list, one{h, total, q.Sort.Key(h)})
		}
	}
	slices.SortFunc(list, func(x, y one) int { return q.Sort.Compare(x.key, y.key) })
	f := &Found{Number: v.Number(), Matched: int64(len(list)), Restricted: v.Audience(who.Orgs) != "", updated: v.At()}
	after := func(i int) string {
		return q.Encode(query.Cursor{Number: v.Number(), Now: now, Key: list[i].key}, a.Store.Epoch())
	}
	f.after = pagesOf(&q, after)
	if q.Limit > 0 && len(list) > q.Limit {
		list = list[:q.Limit]
		f.Cursor = after(q.Limit - 1)
	}
	for _, l := range list {
		f.Hazards, f.totals = append(f.Hazards, l.h), append(f.totals, l.total)
	}
	return f, nil
}
