package read

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store"
)

// maxRanges bounds the parts of one answer. With more, a cheap request could make the answer larger
// than the file.
const maxRanges = 5

// File serves the content of a file product.
func (a *Pictures) File(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, err := route.Parameters(r, "version")
	if err != nil {
		return err
	}
	p, err := a.FindProduct(r, who)
	if err != nil {
		return err
	}
	if values.Has("version") {
		n, err := route.IntParameter(values, "version", 0, 1, math.MaxInt64)
		if err != nil {
			return err
		}
		states, _, err := a.Store.Log.ProductVersions(r.Context(), p.ID, n-1, who.Orgs, 1)
		if err != nil {
			return err
		}
		if len(states) == 0 || states[0].Version != n {
			return &route.Problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("product %d has no version %d; GET /products/%d/versions lists its versions", p.ID, n, p.ID)}
		}
		p = states[0]
	}
	if p.File == nil {
		return &route.Problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("product %d is a %s and has no file", p.ID, p.Type)}
	}
	if p.File.Digest == "" {
		return &route.Problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("the file of product %d was redacted; the product's history says when and why", p.ID)}
	}
	content, err := a.Store.Files.Open(r.Context(), p.File.Digest)
	if err != nil {
		return err
	}
	defer content.Close()
	cache := []string{"private, no-store"}
	if who.Role == auth.Public {
		cache = route.CacheControl(r, !p.Open())
	}
	return serveContent(w, r, p, p.File, Disposition(p.File.Name), content, cache)
}

// serveContent serves the content of a product's file so that no browser runs it.
func serveContent(w http.ResponseWriter, r *http.Request, p *hazard.Product, f *hazard.File, disposition string, content io.ReadSeeker, cache []string) error {
	h := w.Header()
	h.Set("Content-Type", f.MediaType)
	h.Set("Content-Disposition", disposition)
	h.Set("Content-Security-Policy", nothingRuns)
	h["Cache-Control"] = cache
	h.Set("Vary", "Authorization")
	h.Set("ETag", `"`+f.Digest+`"`)
	if ranges := strings.Join(r.Header["Range"], ","); r.Method != http.MethodGet || !strings.HasPrefix(ranges, "bytes=") || strings.Count(ranges, ",") >= maxRanges {
		r.Header.Del("Range") // serve the whole file: RFC 9110 section 14.2 demands it for other methods and units, and allows it for many parts
	}
	answer := &contentWriter{ResponseWriter: w}
	http.ServeContent(answer, r, "", p.Updated.Time(), content)
	if answer.refused != 0 { // an error must not be saved as the file
		h.Del("Content-Disposition")
		h.Del("ETag")
	}
	switch answer.refused {
	case http.StatusRequestedRangeNotSatisfiable:
		return &route.Problem{Status: answer.refused, Detail: fmt.Sprintf("the range is outside of the file, which has %d bytes", f.Size)}
	case http.StatusPreconditionFailed:
		return &route.Problem{Status: answer.refused, Detail: "the file is another than the one that the request names"}
	}
	return nil
}

// productVersion is one state of a product.
type productVersion struct {
	Version int64     `json:"version"` // number of the change that created it
	Time    time.Time `json:"time"`
	User    string    `json:"user"`
	Title   string    `json:"title"`
	// Deleted marks the state after the product was deleted.
	Deleted bool         `json:"deleted,omitzero"`
	File    *versionFile `json:"file,omitzero"`
}

type versionFile struct {
	Name      string `json:"filename"`
	Size      int64  `json:"size"`
	MediaType string `json:"media_type"`
	SHA256    string `json:"sha256,omitzero"` // empty if the file was redacted
	Address   string `json:"href,omitzero"`
}

// The number of versions per answer.
const maxVersions = 100

// versions serves the states of a product that the caller may see.
func (a *Details) versions(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, err := route.Parameters(r, "after")
	if err != nil {
		return err
	}
	after, err := route.IntParameter(values, "after", 0, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	p, err := a.FindProduct(r, who)
	if err != nil {
		return err
	}
	return a.Hold(w, r, who, route.CostOfPage, func(w http.ResponseWriter) error {
		states, follows, err := a.Store.Log.ProductVersions(r.Context(), p.ID, after, who.Orgs, maxVersions)
		if err != nil {
			return err
		}
		list, restricted, names := []productVersion{}, false, route.NamesFor(r.Context())
		for _, s := range states {
			restricted = restricted || !s.Open()
			s = s.Named(names)
			v := productVersion{Version: s.Version, Time: s.Updated.Time(), User: s.UpdateUser, Title: s.Title, Deleted: s.Deleted}
			if f := s.File; f != nil {
				v.File = &versionFile{f.Name, f.Size, f.MediaType, f.Digest, ""}
				if f.Digest != "" {
					v.File.Address = fmt.Sprintf("%s/products/%d/file?version=%d", a.Base(r), s.ID, s.Version)
				}
			}
			list = append(list, v)
		}
		if err := a.SetKept(r.Context(), w, store.History, p.Created); err != nil {
			return err
		}
		if follows > 0 {
			next := r.URL.Query()
			next.Set("after", strconv.FormatInt(follows, 10))
			a.LinkNext(w, r, next)
		}
		return route.AnswerJSON(w, r, list, restricted || route.Keyed(r) != nil)
	})
}

// contentWriter intercepts the errors of http.ServeContent, which do not have our format.
type contentWriter struct {
	http.ResponseWriter
	refused int // status of the error
}

func (c *contentWriter) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		c.refused = status
		return
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *contentWriter) Write(b []byte) (int, error) {
	if c.refused != 0 {
		return len(b), nil
	}
	return c.ResponseWriter.Write(b)
}

// ReadFrom lets the operating system send the file itself.
func (c *contentWriter) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.ResponseWriter, r) }

// Disposition makes the answer a download (RFC 6266), with its name in ASCII and in UTF-8 (RFC
// 8187).
func Disposition(name string) string {
	var ascii, encoded strings.Builder
	for _, r := range name {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\%`, r) {
			r = '_'
		}
		ascii.WriteRune(r)
	}
	for _, b := range []byte(name) {
		if 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || strings.IndexByte("!#$&+-.^_`|~", b) >= 0 {
			encoded.WriteByte(b)
		} else {
			fmt.Fprintf(&encoded, "%%%02X", b)
		}
	}
	return fmt.Sprintf(`attachment; filename="%s"; filename*=UTF-8''%s`, ascii.String(), encoded.String())
}
