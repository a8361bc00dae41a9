package read

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/enrich/picture"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store"
)

// maxThumbnails bounds the cached thumbnails, in bytes.
const maxThumbnails = 8 << 20

// Photo is a picture product: an uploaded file, or the picture fetched from a source's link.
type Photo struct {
	Of        *hazard.Product
	fetched   *store.Picture // nil for an upload
	digest    string
	size      int64
	mediaType string
	At        hazard.Instant
}

// photoOf returns the picture of a product, if it is a picture. fetched is what was fetched for the
// product, or nil.
func photoOf(p *hazard.Product, fetched *store.Picture) (Photo, bool) {
	if fetched != nil && fetched.Of(p) {
		return Photo{p, fetched, fetched.Digest, fetched.Bytes, fetched.MediaType, fetched.Fetched}, true
	}
	if f := p.File; f != nil && f.Digest != "" && f.Size <= picture.MaxOriginal && picture.Shown(f.MediaType) {
		return Photo{p, nil, f.Digest, f.Size, f.MediaType, p.Updated}, true
	}
	return Photo{}, false
}

// PhotosOf returns the pictures among a hazard's products, in order, without those that are hidden
// themselves or by their folder.
func (a *Pictures) PhotosOf(ctx context.Context, hazardID int64, products []*hazard.Product) (list []Photo, err error) {
	fetched, err := a.Store.Pictures.Of(ctx, hazardID)
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]*hazard.Product, len(products))
	for _, p := range products {
		byID[p.ID] = p
	}
	for _, p := range products {
		var of *store.Picture
		if f, ok := fetched[p.ID]; ok {
			of = &f
		}
		in := p
		for in != nil && !in.Hidden {
			in = byID[in.ParentID]
		}
		if photo, ok := photoOf(p, of); ok && in == nil {
			list = append(list, photo)
		}
	}
	return list, nil
}

// openPhoto opens the file of a picture.
func (a *Pictures) openPhoto(ctx context.Context, p Photo) (io.ReadSeekCloser, error) {
	if p.fetched != nil {
		return a.Keeper.Open(ctx, p.fetched)
	}
	return a.Store.Files.Open(ctx, p.digest)
}

// Thumbnail returns a small version of a picture, or nothing if it is unreadable. Files are named
// by their content, so a cached thumbnail never expires. Only one is made at a time.
func (a *Pictures) Thumbnail(ctx context.Context, p Photo) ([]byte, error) {
	if small, ok := a.thumbnails.Get(p.digest); ok {
		return small, nil
	}
	select {
	case a.pencil <- struct{}{}:
		defer func() { <-a.pencil }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if small, ok := a.thumbnails.Get(p.digest); ok { // another request made it while this one waited
		return small, nil
	}
	file, err := a.openPhoto(ctx, p)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	small, err := picture.Thumbnail(file)
	if err != nil && !errors.Is(err, picture.ErrNoPicture) {
		return nil, err
	}
	a.thumbnails.Put(p.digest, small, len(p.digest)+len(small)+100)
	return small, nil
}

// listedPhoto is a row of GET /hazards/{hazard-id}/pictures.
type listedPhoto struct {
	Product   int64     `json:"product_ID"`
	Title     string    `json:"title"`
	Source    string    `json:"source,omitzero"`  // the source that links to it
	Address   string    `json:"address,omitzero"` // the address it was fetched from
	User      string    `json:"user,omitzero"`    // the user who uploaded it
	Time      time.Time `json:"time"`             // when it was fetched or uploaded
	MediaType string    `json:"media_type"`
	Size      int64     `json:"size"`
	SHA256    string    `json:"sha256"`
	Href      string    `json:"href"`
	Thumbnail string    `json:"thumbnail"`
}

// photos serves the list of a hazard's pictures.
func (a *Pictures) photos(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := route.NoQuery(r); err != nil {
		return err
	}
	h, err := a.hazardNowOrAt(r, nil)
	if err != nil {
		return err
	}
	products, err := a.ProductsOf(r.Context(), h.ID, who)
	if err != nil {
		return err
	}
	all, err := a.PhotosOf(r.Context(), h.ID, products)
	if err != nil {
		return err
	}
	list := []listedPhoto{}
	for _, p := range all {
		row := listedPhoto{Product: p.Of.ID, Title: p.Of.Title, Time: p.At.Time(), MediaType: p.mediaType, Size: p.size, SHA256: p.digest,
			Href: fmt.Sprintf("%s/products/%d/picture", a.Base(r), p.Of.ID)}
		if row.Thumbnail = row.Href + "?size=small"; p.fetched != nil {
			row.Source, row.Address = p.fetched.Source, p.fetched.Address
		} else {
			row.User = p.Of.UpdateUser
		}
		list = append(list, row)
	}
	return route.AnswerJSON(w, r, list, slices.ContainsFunc(products, (*hazard.Product).Restricted) || route.Keyed(r) != nil)
}

// Photo serves a product's picture, in full size or small.
func (a *Pictures) Photo(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, err := route.Parameters(r, "size")
	if err != nil {
		return err
	}
	size := values.Get("size")
	if values.Has("size") && size != "small" && size != "full" {
		return route.BadParameter("size", "%.60q is neither small nor full", size)
	}
	p, err := a.FindProduct(r, who)
	if err != nil {
		return err
	}
	fetched, err := a.Store.Pictures.Get(r.Context(), p.ID)
	if err != nil && !errors.Is(err, hazard.ErrNotFound) {
		return err
	}
	shown, ok := photoOf(p, &fetched)
	if !ok {
		return &route.Problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("product %d is not a picture, or it was not fetched; GET /hazards/%d/pictures lists the pictures", p.ID, p.HazardID)}
	}
	serve := func(w http.ResponseWriter, mediaType, tag string, content io.ReadSeeker) error {
		name := "picture." + strings.TrimPrefix(mediaType, "image/")
		f := &hazard.File{Name: name, Digest: tag, Size: shown.size, MediaType: mediaType}
		return serveContent(w, r, p, f, "inline; filename="+name, content, route.CacheControl(r, !p.Open()))
	}
	if size == "small" {
		return a.Hold(w, r, who, costOfPicture, func(w http.ResponseWriter) error {
			small, err := a.Thumbnail(r.Context(), shown)
			if err != nil {
				return err
			}
			if len(small) == 0 {
				return &route.Problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("the file of product %d cannot be read as a picture", p.ID)}
			}
			return serve(w, "image/jpeg", shown.digest+".small", bytes.NewReader(small))
		})
	}
	content, err := a.openPhoto(r.Context(), shown)
	if err != nil {
		return err
	}
	defer content.Close()
	return serve(w, shown.mediaType, shown.digest, content)
}
