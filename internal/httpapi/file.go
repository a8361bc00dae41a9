package httpapi

import (
	"fmt"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// maxFileName bounds a file's name, in bytes: the most that common file systems take.
const maxFileName = 255

// fileName is the name that an upload gives its file: what is behind the last slash or backslash, fit to show. It is metadata and
// never a path.
func fileName(part *multipart.Part) string {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return noName
	}
	return cleanFileName(params["filename"])
}

// noName is the name of a file that came without one.
const noName = "file"

func cleanFileName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = hazard.CleanLine(name)
	if strings.Trim(name, ".") == "" {
		return noName
	}
	if len(name) > maxFileName {
		ext := path.Ext(name)
		if len(ext) > maxFileName/4 {
			ext = ""
		}
		name = name[:maxFileName-len(ext)]
		for !utf8.ValidString(name) {
			name = name[:len(name)-1]
		}
		name = strings.TrimSpace(name + ext)
	}
	return name
}

// mediaTypes are the types that files are served as: none that a browser runs, and so none that ends in +xml, as KML's does. What is
// not here is octets.
var mediaTypes = map[string]string{
	".txt": "text/plain; charset=utf-8", ".csv": "text/csv; charset=utf-8", ".json": "application/json", ".geojson": "application/geo+json",
	".pdf": "application/pdf", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".tif": "image/tiff", ".tiff": "image/tiff", ".zip": "application/zip", ".gz": "application/gzip",
	".kmz": "application/vnd.google-earth.kmz",
	".doc": "application/msword", ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xls": "application/vnd.ms-excel", ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".ppt": "application/vnd.ms-powerpoint", ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".mp4": "video/mp4", ".mp3": "audio/mpeg", ".shp": "application/octet-stream",
}

// mediaType is the type that a file of that name is served as. The content is never looked at: what it holds may be hostile.
func mediaType(name string) string {
	if t, ok := mediaTypes[strings.ToLower(path.Ext(name))]; ok {
		return t
	}
	return "application/octet-stream"
}

// maxRanges bounds the parts of one answer: more would make it larger than the file, at little cost to who asks.
const maxRanges = 5

// file serves the content of a file product.
func (a *API) file(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, err := query(r, "version")
	if err != nil {
		return err
	}
	p, err := a.findProduct(r, who)
	if err != nil {
		return err
	}
	if values.Has("version") {
		n, err := intParameter(values, "version", 0, 1, math.MaxInt64)
		if err != nil {
			return err
		}
		states, _, err := a.Store.ProductVersions(r.Context(), p.ID, n-1, who.Orgs, 1)
		if err != nil {
			return err
		}
		if len(states) == 0 || states[0].Version != n {
			return &problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("product %d has no version %d; GET /products/%d/versions lists those that there are", p.ID, n, p.ID)}
		}
		p = states[0]
	}
	if p.File == nil {
		return &problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("product %d is a %s and has no file", p.ID, p.Type)}
	}
	if p.File.Digest == "" {
		return &problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("the file of product %d was redacted; the product's history says when and why", p.ID)}
	}
	content, err := a.Store.OpenFile(r.Context(), p.File.Digest)
	if err != nil {
		return err
	}
	defer content.Close()
	cache := []string{"private, no-store"}
	if who.Role == auth.Public {
		cache = cacheControl(r, !p.Open())
	}
	return serveContent(w, r, p, p.File, disposition(p.File.Name), content, cache)
}

// serveContent serves the content of a file of a product, to be run by no browser.
func serveContent(w http.ResponseWriter, r *http.Request, p *hazard.Product, f *hazard.File, disposition string, content io.ReadSeeker, cache []string) error {
	h := w.Header()
	h.Set("Content-Type", f.MediaType)
	h.Set("Content-Disposition", disposition)
	h.Set("Content-Security-Policy", nothingRuns)
	h["Cache-Control"] = cache
	h.Set("Vary", "Authorization")
	h.Set("ETag", `"`+f.Digest+`"`)
	if ranges := strings.Join(r.Header["Range"], ","); r.Method != http.MethodGet || !strings.HasPrefix(ranges, "bytes=") || strings.Count(ranges, ",") >= maxRanges {
		r.Header.Del("Range") // the whole file instead: RFC 9110 section 14.2 demands it of other methods and units, and allows it of many parts
	}
	answer := &contentWriter{ResponseWriter: w}
	http.ServeContent(answer, r, "", p.Updated.Time(), content)
	if answer.refused != 0 { // an error is no file to keep
		h.Del("Content-Disposition")
		h.Del("ETag")
	}
	switch answer.refused {
	case http.StatusRequestedRangeNotSatisfiable:
		return &problem{Status: answer.refused, Detail: fmt.Sprintf("the file has %d bytes, none of which are in the range", f.Size)}
	case http.StatusPreconditionFailed:
		return &problem{Status: answer.refused, Detail: "the file is another than the one that the request names"}
	}
	return nil
}

// productVersion is a state of a product.
type productVersion struct {
	Version int64     `json:"version"` // number of the change that made it
	Time    time.Time `json:"time"`
	User    string    `json:"user"`
	Title   string    `json:"title"`
	// Deleted: the product was deleted then.
	Deleted bool         `json:"deleted,omitzero"`
	File    *versionFile `json:"file,omitzero"`
}

type versionFile struct {
	Name      string `json:"filename"`
	Size      int64  `json:"size"`
	MediaType string `json:"media_type"`
	SHA256    string `json:"sha256,omitzero"` // empty: it was redacted
	Address   string `json:"href,omitzero"`
}

// The number of versions in one answer.
const maxVersions = 100

// versions serves the states of a product that the caller may read.
func (a *API) versions(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, err := query(r, "after")
	if err != nil {
		return err
	}
	after, err := intParameter(values, "after", 0, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	p, err := a.findProduct(r, who)
	if err != nil {
		return err
	}
	return a.holding(w, r, who, costOfPage, func(w http.ResponseWriter) error {
		states, follows, err := a.Store.ProductVersions(r.Context(), p.ID, after, who.Orgs, maxVersions)
		if err != nil {
			return err
		}
		list, restricted := []productVersion{}, false
		for _, s := range states {
			restricted = restricted || !s.Open()
			v := productVersion{Version: s.Version, Time: s.Updated.Time(), User: s.UpdateUser, Title: s.Title, Deleted: s.Deleted}
			if f := s.File; f != nil {
				v.File = &versionFile{f.Name, f.Size, f.MediaType, f.Digest, ""}
				if f.Digest != "" {
					v.File.Address = fmt.Sprintf("%s/products/%d/file?version=%d", a.base(r), s.ID, s.Version)
				}
			}
			list = append(list, v)
		}
		if err := a.tellKept(r.Context(), w, store.History, p.Created); err != nil {
			return err
		}
		if follows > 0 {
			next := r.URL.Query()
			next.Set("after", strconv.FormatInt(follows, 10))
			a.linkNext(w, r, next)
		}
		return answerJSON(w, r, list, restricted || keyed(r) != nil)
	})
}

// replaceFile gives a file product another file: a form with the part file.
func (a *API) replaceFile(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	id, err := pathRef(r, "product")
	if err != nil {
		return err
	}
	author := a.author(r, who)
	if err := a.Edit.MayReplace(r.Context(), author, id, a.clock()); err != nil { // before a file is read
		return err
	}
	sent, over := a.quotas.upload(who)
	if over != nil {
		return over
	}
	defer sent()
	_, upload, staged, err := a.readForm(w, r, false)
	if staged != nil {
		defer func() {
			if err := staged.Drop(); err != nil { // swept at a later start
				a.Logger.WarnContext(r.Context(), "a file that was not kept cannot be removed", "error", err)
			}
		}()
	}
	if err != nil {
		return err
	}
	done, err := a.Edit.ReplaceFile(r.Context(), author, id, a.ifMatch(r), upload, a.clock())
	if err != nil {
		return err
	}
	return a.answerProduct(w, r, done)
}

// contentWriter holds back the errors of http.ServeContent, which have another form than ours.
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

// ReadFrom keeps the way open for the system to send the file by itself.
func (c *contentWriter) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.ResponseWriter, r) }

// disposition makes a download of a file (RFC 6266), its name once in ASCII and once as it is (RFC 8187).
func disposition(name string) string {
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
