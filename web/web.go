// Package web holds the map: the page that `make` builds from the TypeScript beside it, inside the
// binary.
//
// A Handler serves the page and everything that it loads. Files under assets/ have the hash of
// their content in their name and are cached forever; all others are revalidated by ETag. Files
// that the build has compressed (.br, .gz) are sent compressed to clients that accept it; all
// others support range requests, which archives of tiles need. The page's policy lets it load, run
// and connect to nothing but its own server.
//
// A binary built without the map serves a page that says so, and what to do.
package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed all:dist
var dist embed.FS

// policy is the Content-Security-Policy of the page (CSP level 3). MapLibre draws on a canvas, and starts its worker from a file of
// its own; data: is for the pictures of its style sheet, blob: for pictures that it decodes.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; " +
	"worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// writerPolicy is that of MapLibre's worker: what writes names from right to left is WebAssembly, which it compiles.
var writerPolicy = strings.Replace(policy, "script-src 'self'", "script-src 'self' 'wasm-unsafe-eval'", 1)

// missing is the page of a binary without the map.
const missing = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>hazardd</title></head>
<body><h1>The map is not in this binary</h1>
<p>This binary was built without the map: run <code>make</code>, which builds both (it needs Node.js), and start <code>bin/hazardd</code> again.</p>
<p>The service itself is complete: <code>GET /hazards/active</code> and all else work.</p></body></html>
`

// inline finds the scripts that stand in a page itself.
var inline = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// policyOf returns the policy of a page: the scripts that stand in it may run, by their hashes (CSP level 3, section 2.3.1).
func policyOf(page []byte) string {
	scripts := "script-src 'self'"
	for _, m := range inline.FindAllSubmatch(page, -1) {
		sum := sha256.Sum256(m[1])
		scripts += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return strings.Replace(policy, "script-src 'self'", scripts, 1)
}

// page is the file that "/" is.
const page = "index.html"

// workerPrefix begins the name of the service worker, which keeps the map's files on the devices of those who chose that.
const workerPrefix = "assets/worker-"

// types of what the map consists of. The system's table is not asked: it differs from machine to machine.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".json": "application/json",
	".geojson": "application/geo+json", ".svg": "image/svg+xml", ".png": "image/png", ".webmanifest": "application/manifest+json",
	".ico": "image/png", ".txt": "text/plain; charset=utf-8", ".pbf": "application/x-protobuf", ".woff2": "font/woff2",
}

// file is one file in the codings that there are.
type file struct {
	kind, etag             string
	policy                 string            // of a page
	identity, gzip, brotli *io.SectionReader // of the program itself: embedded files are not copied to memory
}

// text is the whole content.
func (f *file) text() []byte {
	text := make([]byte, f.identity.Size())
	if _, err := f.identity.ReadAt(text, 0); err != nil {
		panic(err) // a part of the program
	}
	return text
}

// load looks at the files once.
var load = sync.OnceValue(func() map[string]*file { return read(dist) })

func read(from fs.FS) map[string]*file {
	files := map[string]*file{}
	codings := map[string]*io.SectionReader{}
	err := fs.WalkDir(from, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := open(from, name)
		if err != nil {
			return err
		}
		name = strings.TrimPrefix(name, "dist/")
		if ext := path.Ext(name); ext == ".br" || ext == ".gz" {
			codings[name] = content
			return nil
		}
		kind, ok := types[path.Ext(name)]
		if !ok {
			kind = "application/octet-stream"
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, content); err != nil {
			return err
		}
		f := &file{kind: kind, etag: base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:12]), identity: content}
		if path.Ext(name) == ".html" {
			f.policy = policyOf(f.text())
		}
		files[name] = f
		return nil
	})
	if err != nil {
		panic(err) // the files are part of the program
	}
	for name, f := range files {
		f.brotli, f.gzip = codings[name+".br"], codings[name+".gz"]
	}
	return files
}

// open returns a file's content. Embedded files need no Close.
func open(from fs.FS, name string) (*io.SectionReader, error) {
	f, err := from.Open(name)
	if err != nil {
		return nil, err
	}
	at, ok := f.(io.ReaderAt)
	info, err := f.Stat()
	if err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("%s cannot be read at an offset", name), err)
	}
	return io.NewSectionReader(at, 0, info.Size()), nil
}

// Handler serves the map's files by their path; "/" is the page. Make it with NewHandler.
type Handler struct{ files map[string]*file }

// NewHandler serves what the binary holds.
func NewHandler() Handler { return Handler{load()} }

// Built reports whether the binary holds the map.
func (h Handler) Built() bool { return h.Has("/" + page) }

// Basemap returns the archive of the basemap (basemap/README.md); nil without the map.
func (h Handler) Basemap() *io.SectionReader {
	for name, f := range h.files {
		if strings.HasPrefix(name, "assets/world-") && strings.HasSuffix(name, ".pmtiles") {
			return f.identity
		}
	}
	return nil
}

// Has reports whether there is a file of that path.
func (h Handler) Has(urlPath string) bool {
	_, ok := h.files[strings.TrimPrefix(urlPath, "/")]
	return ok
}

// The documents that With gives.
const (
	Map    = page
	Widget = "embed.html" // for frames in other sites' pages
)

// With returns a document with more elements in its head, which the caller has escaped; nil if the binary was built without the map.
func (h Handler) With(document string, head []byte) []byte {
	f := h.files[document]
	if f == nil {
		return nil
	}
	return bytes.Replace(f.text(), []byte("</head>"), append(head[:len(head):len(head)], "</head>"...), 1)
}

// Policy is the Content-Security-Policy of a document of the map that pages of those origins may show in a frame, nil: none may; and
// that may connect to one more origin than its own; empty: to none.
func (h Handler) Policy(document string, frames []string, connect string) string {
	p := h.files[document].policy
	if frames != nil {
		p = strings.Replace(p, "frame-ancestors 'none'", "frame-ancestors "+strings.Join(frames, " "), 1)
	}
	if connect != "" {
		p = strings.Replace(p, "connect-src 'self'", "connect-src 'self' "+connect, 1)
	}
	return p
}

// ServeHTTP answers GET and HEAD. A path that is none is a 404 in plain text.
func (h Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = page
	}
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	f, ok := h.files[name]
	switch {
	case !ok && name == page:
		header.Set("Content-Security-Policy", policy)
		header.Set("Content-Type", types[".html"])
		header.Set("Cache-Control", "no-store")
		_, _ = w.Write([]byte(missing)) // fails only if the client has gone
		return
	case !ok:
		http.NotFound(w, r)
		return
	}
	content, coding, tag := f.identity, "", f.etag
	switch {
	case f.brotli != nil && accepts(r, "br"):
		content, coding, tag = f.brotli, "br", tag+"-br"
	case f.gzip != nil && accepts(r, "gzip"):
		content, coding, tag = f.gzip, "gzip", tag+"-gz"
	}
	header.Set("Content-Type", f.kind)
	header.Set("ETag", `"`+tag+`"`)
	header.Add("Vary", "Accept-Encoding")
	header.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, "assets/") {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if name == page {
		header.Add("Vary", "Accept")
	}
	if name == page || strings.HasSuffix(name, ".js") || strings.HasSuffix(name, ".svg") {
		// A worker has the policy of its own file.
		header.Set("Content-Security-Policy", cmp.Or(f.policy, policy))
		if strings.HasPrefix(name, "assets/maplibre-gl-csp-worker-") {
			header.Set("Content-Security-Policy", writerPolicy)
		}
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
	if strings.HasPrefix(name, workerPrefix) {
		// It answers for the page, which is a folder above it (Service Workers, section 3.4.2).
		header.Set("Service-Worker-Allowed", "../")
	}
	if coding != "" {
		header.Set("Content-Encoding", coding)
		header.Set("Content-Length", strconv.FormatInt(content.Size(), 10))
		r.Header.Del("Range") // the whole instead: a range would be one of the coded bytes
	}
	http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(content, 0, content.Size()))
}

// accepts reports whether Accept-Encoding names coding with a weight above 0 (RFC 9110 section 12.5.3). Browsers name what they take.
func accepts(r *http.Request, coding string) bool {
	for item := range strings.SplitSeq(strings.Join(r.Header["Accept-Encoding"], ","), ",") {
		name, weight, _ := strings.Cut(item, ";")
		if strings.EqualFold(strings.TrimSpace(name), coding) {
			weight = strings.ReplaceAll(weight, " ", "")
			return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
		}
	}
	return false
}
