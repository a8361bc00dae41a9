package gis

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/hazardd/hazardd/internal/atlas/basemap"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// noTile is the answer for an unknown tile address. It is not 204, which MapLibre takes for an
// empty tile.
var noTile = &route.Problem{Status: http.StatusNotFound, Detail: "no such tile; the basemap is named in the map's page, and its tiles are /basemap/NAME/ZOOM/X/Y.mvt"}

// streetTile serves a tile of the operator's basemap as stored in the archive. Its address contains
// a digest of the archive, so the content of an address never changes.
func (a *Tiles) streetTile(w http.ResponseWriter, r *http.Request) error {
	s := a.Streets()
	if s == nil || r.PathValue("basemap") != s.Name {
		return noTile
	}
	y, isTile := strings.CutSuffix(r.PathValue("tile"), ".mvt")
	if !isTile {
		return noTile
	}
	var at [3]int
	for i, text := range []string{r.PathValue("z"), r.PathValue("x"), y} {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return noTile
		}
		at[i] = int(n)
	}
	if z := at[0]; z > s.MaxZoom || at[1]>>z > 0 || at[2]>>z > 0 {
		return noTile
	}
	tile, err := s.Tile(at[0], at[1], at[2])
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	if tile == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	h.Set("Content-Type", "application/vnd.mapbox-vector-tile")
	h.Add("Vary", "Accept-Encoding")
	if s.Gzipped && encoded.Prefer(r.Header["Accept-Encoding"]) == encoded.Identity {
		return sendUnpacked(w, r, tile)
	}
	if s.Gzipped {
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.FormatInt(tile.Size(), 10))
	if r.Method != http.MethodHead {
		_, _ = io.Copy(w, tile) // fails only if the client has gone
	}
	return nil
}

// sendUnpacked sends a decompressed tile to a client that does not accept gzip.
func sendUnpacked(w http.ResponseWriter, r *http.Request, tile io.Reader) error {
	content, err := gzip.NewReader(tile)
	if err != nil {
		return err
	}
	if r.Method != http.MethodHead {
		_, _ = io.CopyN(w, content, basemap.MaxTile) // fails only if the client has gone
	}
	return nil
}
