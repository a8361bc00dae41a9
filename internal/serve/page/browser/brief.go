package browser

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	pages "github.com/hazardd/hazardd/internal/serve/page"
	"github.com/hazardd/hazardd/internal/serve/read"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// The limits of briefs.
const (
	costOfBrief = route.CostOfShapes + route.CostOfObject // bytes held while one is built
	maxLooked   = 8                                       // products whose files are searched for pictures
)

// brief serves a summary of a hazard on one or two printed pages, in the reader's language. The
// API's path refuses unknown parameters; the page's path ignores them, because mail programs and
// portals add theirs to links.
func (a *Pages) brief(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values := r.URL.Query()
	page := strings.HasPrefix(r.URL.Path, "/h/")
	if !page {
		var err error
		if values, err = route.Parameters(r, route.LangParameter, zoneParameter, "paper"); err != nil {
			return err
		}
	}
	paper := pages.Paper(values.Get("paper"))
	if paper != "" && !slices.Contains(pages.Papers(), paper) {
		return route.BadParameter("paper", "%.60q is not one of %q", paper, pages.Papers())
	}
	wish, err := a.Wish(r, values)
	if err != nil {
		if !page {
			return err
		}
		wish = lang.Accepted(r.Header["Accept-Language"]).Or(a.Languages)
	}
	now := a.Now()
	h, err := a.FindHazard(r, a.Live.View(now), now)
	if err != nil {
		return err
	}
	content, restricted, err := a.pageOf(r, wish.Reader().Of(h), who, now)
	if err != nil {
		return err
	}
	b := pages.Brief{Hazard: content, URL: a.BaseURL + "/h/" + h.UUID.String(), Paper: paper,
		Map: pages.Map{Hazard: content.Hazard, Areas: content.Areas, Ground: a.Pictures.Ground}}
	if b.Map.Shapes, err = a.DrawnOn(r.Context(), h); err != nil {
		return err
	}
	if b.Pictures, err = a.picturesOf(r.Context(), content); err != nil {
		return err
	}
	html, err := b.HTML()
	if err != nil {
		return err
	}
	w.Header()["Content-Type"] = route.HTMLType
	w.Header().Set("Content-Security-Policy", pages.BriefPolicy())
	return route.Answer(w, r, encoded.NewBody(html, restricted))
}

// picturesOf returns thumbnails of the pictures among a hazard's products, latest first. It skips
// unreadable ones.
func (a *Pages) picturesOf(ctx context.Context, content *pages.Hazard) (all []pages.Picture, err error) {
	photos, err := a.Pictures.PhotosOf(ctx, content.Hazard.ID, content.Products)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(photos, func(x, y read.Photo) int { return cmp.Compare(y.Of.Version, x.Of.Version) })
	for _, p := range photos[:min(len(photos), maxLooked)] {
		small, err := a.Pictures.Thumbnail(ctx, p)
		if err != nil {
			return nil, err
		}
		if len(small) == 0 {
			continue
		}
		if all = append(all, pages.Picture{Title: p.Of.Title, By: content.MadeBy(p.Of), At: p.At, JPEG: small}); len(all) == pages.MaxPictures {
			break
		}
	}
	return all, nil
}
