package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

// built is a small example of what the build of the map writes.
var built = Handler{read(fstest.MapFS{
	"dist/index.html":                         {Data: []byte("<!doctype html>")},
	"dist/index.html.gz":                      {Data: []byte("page, gzip")},
	"dist/assets/main-abc.js":                 {Data: []byte("code")},
	"dist/assets/main-abc.js.br":              {Data: []byte("code, brotli")},
	"dist/assets/main-abc.js.gz":              {Data: []byte("code, gzip")},
	"dist/basemap/land.json":                  {Data: []byte("{}")},
	"dist/basemap/archive.weird":              {Data: []byte("?")},
	"dist/assets/style-1.css":                 {Data: []byte("a{}")},
	"dist/assets/icon-1.svg":                  {Data: []byte("<svg/>")},
	"dist/placeholder.txt":                    {Data: []byte("-")},
	"dist/favicon.ico":                        {Data: []byte("icon")},
	"dist/assets/worker-1.js":                 {Data: []byte("worker")},
	"dist/assets/maplibre-gl-csp-worker-1.js": {Data: []byte("worker")},
	"dist/assets/nested/deep.png":             {Data: []byte("png")},
})}

func get(t *testing.T, h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestFilesAreServedAsWhatTheyAre(t *testing.T) {
	for path, want := range map[string]struct{ body, kind, cache string }{
		"/":                       {"<!doctype html>", "text/html; charset=utf-8", "no-cache"},
		"/assets/main-abc.js":     {"code", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		"/assets/style-1.css":     {"a{}", "text/css; charset=utf-8", "public, max-age=31536000, immutable"},
		"/assets/icon-1.svg":      {"<svg/>", "image/svg+xml", "public, max-age=31536000, immutable"},
		"/assets/nested/deep.png": {"png", "image/png", "public, max-age=31536000, immutable"},
		"/favicon.ico":            {"icon", "image/png", "no-cache"},
		"/basemap/land.json":      {"{}", "application/json", "no-cache"},
		"/basemap/archive.weird":  {"?", "application/octet-stream", "no-cache"},
	} {
		a := get(t, built, path)
		if a.Code != 200 || a.Body.String() != want.body || a.Header().Get("Content-Type") != want.kind || a.Header().Get("Cache-Control") != want.cache {
			t.Errorf("%s: %d %q %v", path, a.Code, a.Body, a.Header())
		}
		if a.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: a browser may guess its type", path)
		}
	}
}

func TestAFileIsSentInTheBestCodingThatIsTaken(t *testing.T) {
	for accept, want := range map[string]string{
		"":                     "code",
		"gzip, deflate":        "code, gzip",
		"gzip, deflate, br":    "code, brotli",
		"br;q=0, gzip;q=0.5":   "code, gzip",
		"br; q=0.000, gzip":    "code, gzip",
		"gzip;q=0":             "code",
		"BR":                   "code, brotli",
		"brotli":               "code",
		"zstd, identity":       "code",
		"deflate, gzip;q=0.01": "code, gzip",
	} {
		a := get(t, built, "/assets/main-abc.js", "Accept-Encoding", accept)
		if a.Body.String() != want || !strings.Contains(a.Header().Get("Vary"), "Accept-Encoding") {
			t.Errorf("Accept-Encoding %q: %q, Vary %q; want %q", accept, a.Body, a.Header().Get("Vary"), want)
		}
	}
}

// An archive of tiles is read in ranges, and its entity tag ensures that all ranges belong to the
// same version.
func TestWhatIsNotCompressedIsReadInRanges(t *testing.T) {
	if a := get(t, built, "/assets/nested/deep.png", "Range", "bytes=1-2", "Accept-Encoding", "gzip, br"); a.Code != 206 || a.Body.String() != "ng" || a.Header().Get("ETag") == "" {
		t.Errorf("%d %q %v", a.Code, a.Body, a.Header())
	}
	if a := get(t, built, "/assets/main-abc.js", "Range", "bytes=1-2", "Accept-Encoding", "gzip"); a.Code != 200 || a.Body.String() != "code, gzip" || a.Header().Get("Content-Length") != "10" {
		t.Errorf("in a coding: %d %q %v", a.Code, a.Body, a.Header())
	}
}

func TestEachCodingHasItsOwnTagAndIsRevalidated(t *testing.T) {
	tags := map[string]bool{}
	for _, accept := range []string{"", "gzip", "br"} {
		tag := get(t, built, "/assets/main-abc.js", "Accept-Encoding", accept).Header().Get("ETag")
		if tags[tag] || tag == "" {
			t.Errorf("encoding %q: tag %q is not unique", accept, tag)
		}
		tags[tag] = true
		if a := get(t, built, "/assets/main-abc.js", "Accept-Encoding", accept, "If-None-Match", tag); a.Code != 304 || a.Body.Len() > 0 {
			t.Errorf("coding %q, revalidated: %d %q", accept, a.Code, a.Body)
		}
	}
}

// Arabic text needs WebAssembly, which MapLibre's worker compiles; no other file may compile any.
func TestOnlyTheWorkerOfTheMapCompiles(t *testing.T) {
	for path, want := range map[string]bool{"/": false, "/assets/main-abc.js": false, "/assets/worker-1.js": false, "/assets/maplibre-gl-csp-worker-1.js": true} {
		p := get(t, built, path).Header().Get("Content-Security-Policy")
		if strings.Contains(p, "script-src 'self' 'wasm-unsafe-eval';") != want || strings.Count(p, "unsafe") > 1 {
			t.Errorf("%s: %q", path, p)
		}
	}
}

// The policy must forbid inline scripts and styles, and everything from other origins.
func TestThePageMayLoadAndConnectToNothingButItsServer(t *testing.T) {
	for _, path := range []string{"/", "/assets/main-abc.js"} {
		p := get(t, built, path).Header().Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'self';", "worker-src 'self';", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(p, want) {
				t.Errorf("%s: %q has no %q", path, p, want)
			}
		}
		for _, never := range []string{"unsafe", "*", "http"} {
			if strings.Contains(p, never) {
				t.Errorf("%s: %q has %q", path, p, never)
			}
		}
	}
}

// Scripts that the build wrote into a page may run there, by their hashes, and no others.
func TestThePolicyNamesTheScriptsWithinAPage(t *testing.T) {
	h := Handler{read(fstest.MapFS{
		"dist/index.html": {Data: []byte("<title>a</title><script>\"a\"</script><script>b()</script><script src=\"x.js\"></script>")},
		"dist/embed.html": {Data: []byte("<title>a</title>")},
	})}
	const want = "script-src 'self' 'sha256-rI2DQruyNi0T8KVZo2IbtAcBE2iJUWS2KKVPf8M/xDw=' 'sha256-cf242PFc/kb7xD0Qzhsmd9vvRkc+cWFmbi+k+YvtdKc=';"
	for name, p := range map[string]string{"as a file": get(t, h, "/").Header().Get("Content-Security-Policy"), "as a document": h.Policy(Map, nil, "")} {
		if !strings.Contains(p, want) {
			t.Errorf("%s: %q has no %q", name, p, want)
		}
	}
	if p := h.Policy(Widget, []string{"*"}, ""); !strings.Contains(p, "script-src 'self';") || !strings.Contains(p, "frame-ancestors *") {
		t.Errorf("%q", p)
	}
}

// A service worker may only handle requests for its own folder and below, unless its server allows
// more.
func TestTheWorkerAnswersForThePage(t *testing.T) {
	for path, want := range map[string]string{"/assets/worker-1.js": "../", "/assets/main-abc.js": ""} {
		if got := get(t, built, path).Header().Get("Service-Worker-Allowed"); got != want {
			t.Errorf("%s: Service-Worker-Allowed %q, want %q", path, got, want)
		}
	}
}

func TestABinaryWithoutTheMapSaysSo(t *testing.T) {
	bare := Handler{read(fstest.MapFS{"dist/placeholder.txt": {Data: []byte("-")}})}
	if bare.Built() || !built.Built() {
		t.Errorf("Built: %v without the map, %v with it", bare.Built(), built.Built())
	}
	a := get(t, bare, "/")
	if a.Code != 200 || !strings.Contains(a.Body.String(), "run <code>make</code>") || a.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %s %v", a.Code, a.Body, a.Header())
	}
}

func TestWhatIsNoFileIsNotFound(t *testing.T) {
	for _, path := range []string{"/assets/", "/assets/main-abc.js.gz", "/assets/../index", "/basemap/none", "/web.go"} {
		if built.Has(path) {
			t.Errorf("Has(%q)", path)
		}
		if a := get(t, built, path); a.Code != 404 {
			t.Errorf("%s: %d", path, a.Code)
		}
	}
}
