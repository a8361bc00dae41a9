package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	pages "github.com/hazardd/hazardd/internal/page"
	"github.com/hazardd/hazardd/internal/reply"
	"github.com/hazardd/hazardd/internal/tongue"
)

// The bounds of what briefs may cost.
const (
	costOfBrief   = costOfShapes + costOfObject // bytes that one holds while it is made
	maxThumbnails = 8 << 20                     // bytes of small pictures that are kept
	maxLooked     = 8                           // products whose files are looked into for pictures
)

// brief serves a hazard on one or two printed pages, in the language of the reader. Its address in the API refuses parameters that it does not know; that of the page lets them
// pass, as mail programs and portals add theirs to links.
func (a *API) brief(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values := r.URL.Query()
	page := strings.HasPrefix(r.URL.Path, "/h/")
	if !page {
		var err error
		if values, err = query(r, langParameter, zoneParameter, "paper"); err != nil {
			return err
		}
	}
	paper := pages.Paper(values.Get("paper"))
	if paper != "" && !slices.Contains(pages.Papers(), paper) {
		return badParameter("paper", "%.60q is none of %q", paper, pages.Papers())
	}
	wish, err := a.wish(r, values)
	if err != nil {
		if !page {
			return err
		}
		wish = tongue.Accepted(r.Header["Accept-Language"]).Or(a.Languages)
	}
	now := a.now()
	h, err := a.findHazard(r, a.Live.View(now), now)
	if err != nil {
		return err
	}
	content, restricted, err := a.pageOf(r, wish.Reader().Of(h), who, now)
	if err != nil {
		return err
	}
	b := pages.Brief{Hazard: content, URL: a.BaseURL + "/h/" + h.UUID.String(), Paper: paper,
		Map: pages.Map{Hazard: content.Hazard, Areas: content.Areas, Ground: a.ground}}
	if b.Map.Shapes, err = a.drawnOn(r.Context(), h); err != nil {
		return err
	}
	if b.Pictures, err = a.picturesOf(r.Context(), content.Products); err != nil {
		return err
	}
	html, err := b.HTML()
	if err != nil {
		return err
	}
	w.Header()["Content-Type"] = htmlType
	w.Header().Set("Content-Security-Policy", pages.BriefPolicy())
	return answer(w, r, reply.NewBody(html, restricted))
}

// picturesOf are the pictures among products, small, the latest first. One is read at a time in the whole service; what cannot be read is no picture.
func (a *API) picturesOf(ctx context.Context, products []*hazard.Product) (all []pages.Picture, err error) {
	files := slices.DeleteFunc(slices.Clone(products), func(p *hazard.Product) bool {
		return p.Hidden || p.File == nil || p.File.Digest == "" || p.File.Size > pages.MaxOriginal || !strings.HasPrefix(p.File.MediaType, "image/")
	})
	slices.SortStableFunc(files, func(x, y *hazard.Product) int { return int(y.Version - x.Version) })
	for _, p := range files[:min(len(files), maxLooked)] {
		small, err := a.thumbnail(ctx, p.File.Digest)
		if err != nil {
			return nil, err
		}
		if len(small) == 0 {
			continue
		}
		if all = append(all, pages.Picture{Title: p.Title, By: p.UserID, At: p.Updated, JPEG: small}); len(all) == pages.MaxPictures {
			break
		}
	}
	return all, nil
}

// thumbnail is the picture in a stored file, small; empty: it is no picture that can be read. Files are named by their content, so what was made of one once holds for ever.
func (a *API) thumbnail(ctx context.Context, digest string) ([]byte, error) {
	if small, ok := a.thumbnails.Get(digest); ok {
		return small, nil
	}
	select {
	case a.pencil <- struct{}{}:
		defer func() { <-a.pencil }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	file, err := a.Store.OpenFile(ctx, digest)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	small, err := pages.Thumbnail(file)
	if err != nil && !errors.Is(err, pages.ErrNoPicture) {
		return nil, err
	}
	a.thumbnails.Put(digest, small, len(digest)+len(small)+100)
	return small, nil
}
