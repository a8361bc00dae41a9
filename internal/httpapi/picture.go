package httpapi

import (
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	pages "github.com/hazardd/hazardd/internal/page"
	"github.com/hazardd/hazardd/internal/reply"
)

// The bounds of what pictures of hazards may cost.
const (
	maxPictures   = 16 << 20 // bytes of pictures that are kept: some hundred of the usual size
	costOfPicture = 28 << 20 // bytes that one may hold while it is drawn
	pictureSize   = 1200     // width of one that was asked for without a size, in pixels
)

// pictureKey names a picture of a state of a hazard.
type pictureKey struct {
	hazard  uuid.UUID
	version int64
	over    bool
	width   int
}

// mapPicture serves the map of a hazard as a picture. It is drawn once for each change of the hazard and size, and one at a time, so that a
// crowd takes one processor at most.
func (a *API) mapPicture(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, err := query(r, "size", "v") // v: what chats know another picture by
	if err != nil {
		return err
	}
	width, err := intParameter(values, "size", pictureSize, pages.MinPicture, pages.MaxPicture)
	if err != nil {
		return err
	}
	now := a.now()
	h, err := a.findHazard(r, a.Live.View(now), now)
	if err != nil {
		return err
	}
	key := pictureKey{h.UUID, h.Version, !h.ActiveAt(now), int(width)}
	w.Header()["Content-Type"] = []string{"image/png"}
	r.Header.Del("Accept-Encoding") // it is compressed already
	if body, ok := a.pictures.Get(key); ok {
		return answer(w, r, body)
	}
	return a.holding(w, r, who, costOfPicture, func(w http.ResponseWriter) error {
		select {
		case a.pencil <- struct{}{}:
			defer func() { <-a.pencil }()
		case <-r.Context().Done():
			return r.Context().Err()
		}
		body, ok := a.pictures.Get(key)
		if !ok { // nobody drew it while we waited
			areas, err := a.Store.Areas(r.Context(), h.Areas)
			if err != nil {
				return err
			}
			drawn, err := a.drawnOn(r.Context(), h)
			if err != nil {
				return err
			}
			m := pages.Map{Hazard: h, Areas: areas, Ground: a.ground, Over: key.over, Shapes: drawn}
			picture, err := m.PNG(key.width)
			if err != nil {
				return err
			}
			body = reply.NewBody(picture, false)
			a.pictures.Put(key, body, len(picture))
		}
		return answer(w, r, body)
	})
}

// preview is what chats show of a link to a hazard that begins at path.
func (a *API) preview(h *hazard.Hazard, path string, now hazard.Instant) *pages.Preview {
	picture := fmt.Sprintf("%s/hazards/%s/map.png?size=%d&v=%d", a.BaseURL, h.UUID, pictureSize, h.Version)
	if !h.ActiveAt(now) {
		picture += ".over" // another picture, before the end is recorded
	}
	return pages.NewPreview(h, now, a.BaseURL+path, picture)
}
