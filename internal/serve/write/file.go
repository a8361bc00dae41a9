package write

import (
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// MaxFileName bounds a file's name, in bytes: the limit of common file systems.
const MaxFileName = 255

// fileName returns the name of an uploaded file: the part after the last slash or backslash, made
// safe to show. It is metadata and never used as a path.
func fileName(part *multipart.Part) string {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return noName
	}
	return CleanFileName(params["filename"])
}

// noName is the name of a file that was uploaded without one.
const noName = "file"

// CleanFileName makes the name of an uploaded file safe to show.
func CleanFileName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = hazard.CleanLine(name)
	if strings.Trim(name, ".") == "" {
		return noName
	}
	if len(name) > MaxFileName {
		ext := path.Ext(name)
		if len(ext) > MaxFileName/4 {
			ext = ""
		}
		name = name[:MaxFileName-len(ext)]
		for !utf8.ValidString(name) {
			name = name[:len(name)-1]
		}
		name = strings.TrimSpace(name + ext)
	}
	return name
}

// mediaTypes are the types that files are served as. None of them runs in a browser, so none ends
// in +xml, as KML's type does. All other files are application/octet-stream.
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

// MediaType returns the type for a file name. It ignores the content, which may be hostile.
func MediaType(name string) string {
	if t, ok := mediaTypes[strings.ToLower(path.Ext(name))]; ok {
		return t
	}
	return "application/octet-stream"
}

// replaceFile replaces the file of a product. The body is a form with the part file.
func (a *Handlers) replaceFile(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	id, err := route.PathRef(r, "product")
	if err != nil {
		return err
	}
	author := a.author(r, who)
	if err := a.Edit.MayReplace(r.Context(), author, id, a.Clock()); err != nil { // check before reading the file
		return err
	}
	sent, over := a.Users.Upload(who)
	if over != nil {
		return over
	}
	defer sent()
	_, upload, staged, err := a.readForm(w, r, false)
	if staged != nil {
		defer func() {
			if err := staged.Drop(); err != nil { // if it fails, a later sweep removes the file
				a.Logger.WarnContext(r.Context(), "cannot remove an uploaded file that is not used", "error", err)
			}
		}()
	}
	if err != nil {
		return err
	}
	done, err := a.Edit.ReplaceFile(r.Context(), author, id, a.ifMatch(r), upload, a.Clock())
	if err != nil {
		return err
	}
	return a.answerProduct(w, r, who, done)
}
