package serve_test

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/write"
	"github.com/hazardd/hazardd/internal/test/server"
)

// run matches media types that a browser may show as a document or run as a script.
var run = regexp.MustCompile(`(?i)html|script|\+xml|/xml|svg|flash|multipart|css`)

// wantDownload checks that a file is sent as a download with that name, and that no browser runs
// it.
func wantDownload(t *testing.T, a server.Answer, name string) {
	t.Helper()
	h := a.Header
	for header, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'", "Cache-Control": "private, no-store",
		"Vary": "Authorization", "Referrer-Policy": "no-referrer", "Set-Cookie": "", "Content-Encoding": ""} {
		if got := strings.Join(h.Values(header), ", "); got != want {
			t.Errorf("%s: %s, want %s", header, got, want)
		}
	}
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || run.MatchString(kind) {
		t.Errorf("Content-Type: %s", h.Get("Content-Type"))
	}
	values := h.Values("Content-Disposition")
	if len(values) != 1 || strings.ContainsFunc(values[0], func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Fatalf("Content-Disposition: %q", values)
	}
	disposition, params, err := mime.ParseMediaType(values[0])
	if err != nil || disposition != "attachment" || params["filename"] != name || len(params) != 1 {
		t.Errorf("%s is parsed as %s %q (%v), want the name %q", values[0], disposition, params, err, name)
	}
	if !regexp.MustCompile(`^attachment; filename="[^"\\%]*"; filename\*=UTF-8''[A-Za-z0-9!#$&+.^_\x60|~%-]*$`).MatchString(values[0]) {
		t.Errorf("Content-Disposition: %s", values[0])
	}
}

func TestFilesComeBackAsTheyWereAndAreRunByNobody(t *testing.T) {
	s := start(t)
	below := s.hazard("red").HazardID
	var expected map[string]string
	readVectors(t, "vectors/files/expected.json", &expected)
	for name, why := range expected {
		t.Run(name, func(t *testing.T) {
			content := server.ReadShared(t, "vectors/files/"+name)
			a := s.upload("red", below, file("title", why), name, content)
			var made item
			if a.JSON(t, &made); a.Status != 201 || made.Filename != name {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			got := s.do("reader", "GET", "/products/"+digits(made.ProductID)+"/file", nil, "Accept-Encoding", "gzip, br, zstd")
			if got.Status != 200 || !bytes.Equal(got.Body, content) {
				t.Errorf("%d, %d bytes; sent were %d", got.Status, len(got.Body), len(content))
			}
			wantDownload(t, got, name)
		})
	}
}

// cleanNames maps names from clients to stored names: their last part, on one line.
var cleanNames = map[string]string{
	"report.pdf": "report.pdf", "../../etc/passwd": "passwd", `..\..\windows\win.ini`: "win.ini", "/etc/passwd": "passwd", `C:\temp\a.txt`: "a.txt", "a/b.txt": "b.txt",
	".htaccess": ".htaccess", "..": "file", ".": "file", "": "file", "a\x00.pdf": "a.pdf", "a.pdf\r\nSet-Cookie: x=1": "a.pdf Set-Cookie: x=1", `a"b.pdf`: `a"b.pdf`,
	"a'b;c.pdf": "a'b;c.pdf", "a%2f..%2fb.pdf": "a%2f..%2fb.pdf", "a.pdf ": "a.pdf", "\u202egpj.exe": "gpj.exe", "日本語.pdf": "日本語.pdf", "a\tb.txt": "a b.txt", "\ufeffa.txt": "a.txt",
	"a\u2028b.txt": "a b.txt", "a/": "file", "a/..": "file", "\xff\xfe": "file", " \u200b/ \u202e": "file",
}

func TestNamesOfFiles(t *testing.T) {
	s := start(t)
	below := s.hazard("red").HazardID
	var vectors struct{ Names []string }
	t.Run("of the vectors are read", func(t *testing.T) { readVectors(t, "vectors/files/names.json", &vectors) })
	for _, name := range slices.Concat(vectors.Names, sortedKeys(cleanNames), []string{strings.Repeat("ä", 200) + ".tar", strings.Repeat("a", 254) + " b", strings.Repeat("a", 300) + "." + strings.Repeat("b", 100)}) {
		want, known := cleanNames[name]
		if !known {
			want = write.CleanFileName(name)
		}
		for form, header := range map[string]string{
			"as it is":      `form-data; name="file"; filename*=UTF-8''` + strings.ReplaceAll(url.QueryEscape(name), "+", "%20"),
			"by this mime":  multipart.FileContentDisposition("file", name),
			"in both forms": `form-data; name="file"; filename="fallback.txt"; filename*=UTF-8''` + strings.ReplaceAll(url.QueryEscape(name), "+", "%20"),
		} {
			t.Run(fmt.Sprintf("%.60q %s", name, form), func(t *testing.T) {
				a := s.upload("red", below, file(), header, []byte("content"))
				if a.Status == 400 && strings.Contains(header, "\x00") { // no header may contain NUL
					return
				}
				if a.Status != 201 {
					t.Fatalf("%d %s", a.Status, a.Body)
				}
				var made item
				a.JSON(t, &made)
				if form != "by this mime" && made.Filename != want { // mime writes some names differently
					t.Errorf("stored as %q, want %q", made.Filename, want)
				}
				wantCleanName(t, made.Filename)
				wantDownload(t, s.do("reader", "GET", "/products/"+digits(made.ProductID)+"/file", nil), made.Filename)
			})
		}
	}
	for name, header := range map[string]string{
		"none":            `form-data; name="file"`,
		"none, no type":   `form-data; name=file;`,
		"a charset of no": `form-data; name="file"; filename*=x-none''a`,
	} {
		t.Run("of "+name, func(t *testing.T) {
			a := s.upload("red", below, file(), header, []byte("content"))
			var made item
			if a.JSON(t, &made); a.Status != 201 || made.Filename != "file" {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
}

func wantCleanName(t *testing.T, name string) {
	t.Helper()
	if name == "" || len(name) > write.MaxFileName || !utf8.ValidString(name) || strings.ContainsAny(name, `/\`) || strings.Trim(name, ".") == "" || hazard.CleanLine(name) != name {
		t.Errorf("%q (%d bytes) is no clean name", name, len(name))
	}
}

func TestMediaTypesOfFiles(t *testing.T) {
	for name, want := range map[string]string{
		"a.txt": "text/plain; charset=utf-8", "a.PDF": "application/pdf", "a.geojson": "application/geo+json", "a.tar.gz": "application/gzip",
		"a.html": octets, "a.htm": octets, "a.xhtml": octets, "a.svg": octets, "a.js": octets, "a.mjs": octets, "a.xml": octets, "a.kml": octets, "a.css": octets, "a.swf": octets,
		"a": octets, "": octets, "a.pdf.exe": octets, ".txt": "text/plain; charset=utf-8",
	} {
		if got := write.MediaType(name); got != want || run.MatchString(got) {
			t.Errorf("%q is served as %s, want %s", name, got, want)
		}
	}
}

const octets = "application/octet-stream"

func TestRangesOfFiles(t *testing.T) {
	s := start(t)
	below := s.hazard("red").HazardID
	const content = "0123456789abcdef"
	var made item
	s.upload("red", below, file(), "a.bin", []byte(content)).JSON(t, &made)
	file := "/products/" + digits(made.ProductID) + "/file"
	tag := s.do("reader", "GET", file, nil).Header.Get("Etag")
	modified := s.do("reader", "GET", file, nil).Header.Get("Last-Modified")
	ranges := "bytes=0-0" + strings.Repeat(",1-1", 999)
	for name, tt := range map[string]struct {
		method string
		header []string
		status int
		body   string // the requested parts, one after another
	}{
		"whole":                                {header: nil, status: 200, body: content},
		"first bytes":                          {header: []string{"Range", "bytes=0-3"}, status: 206, body: "0123"},
		"from a byte on":                       {header: []string{"Range", "bytes=10-"}, status: 206, body: "abcdef"},
		"last bytes":                           {header: []string{"Range", "bytes=-4"}, status: 206, body: "cdef"},
		"more than there are":                  {header: []string{"Range", "bytes=8-99"}, status: 206, body: "89abcdef"},
		"two parts":                            {header: []string{"Range", "bytes=0-0,2-2"}, status: 206, body: "02"},
		"five parts":                           {header: []string{"Range", "bytes=0-0,2-2,4-4,6-6,8-8"}, status: 206, body: "02468"},
		"six parts":                            {header: []string{"Range", "bytes=0-0,1-1,2-2,3-3,4-4,5-5"}, status: 200, body: content},
		"a thousand parts":                     {header: []string{"Range", ranges}, status: 200, body: content},
		"the whole five times":                 {header: []string{"Range", "bytes=0-,0-,0-,0-,0-"}, status: 200, body: content},
		"another unit":                         {header: []string{"Range", "lines=0-3"}, status: 200, body: content},
		"nothing that is there":                {header: []string{"Range", "bytes=99-"}, status: 416},
		"backwards":                            {header: []string{"Range", "bytes=3-0"}, status: 416},
		"a range, if it is this one":           {header: []string{"Range", "bytes=0-3", "If-Range", tag}, status: 206, body: "0123"},
		"a range, if it is another":            {header: []string{"Range", "bytes=0-3", "If-Range", `"another"`}, status: 200, body: content},
		"a range, if it is this one, weakly":   {header: []string{"Range", "bytes=0-3", "If-Range", "W/" + tag}, status: 200, body: content},
		"what is new":                          {header: []string{"If-None-Match", tag}, status: 304},
		"what is new, any":                     {header: []string{"If-None-Match", "*"}, status: 304},
		"what is new, by another tag":          {header: []string{"If-None-Match", `"another"`}, status: 200, body: content},
		"what is new since":                    {header: []string{"If-Modified-Since", modified}, status: 304},
		"what is this one":                     {header: []string{"If-Match", tag}, status: 200, body: content},
		"what is another":                      {header: []string{"If-Match", `"another"`}, status: 412},
		"its head":                             {method: "HEAD", header: nil, status: 200},
		"the head of a range":                  {method: "HEAD", header: []string{"Range", "bytes=0-3"}, status: 200},
		"the head of nothing that is there":    {method: "HEAD", header: []string{"Range", "bytes=99-"}, status: 200},
		"whole, with a parameter of no effect": {method: "GET?x=1", status: 400},
	} {
		t.Run(name, func(t *testing.T) {
			method, query, _ := strings.Cut(tt.method, "?")
			if method == "" {
				method = "GET"
			}
			address := file
			if query != "" {
				address += "?" + query
			}
			a := s.do("reader", method, address, nil, tt.header...)
			if a.Status != tt.status {
				t.Fatalf("%d %s, want %d", a.Status, a.Body, tt.status)
			}
			if tt.status >= 400 && method != "HEAD" {
				wantProblem(t, a, tt.status)
				return
			}
			if tt.status >= 400 {
				return
			}
			got := string(a.Body)
			if kind, params, _ := mime.ParseMediaType(a.Header.Get("Content-Type")); kind == "multipart/byteranges" {
				got = ""
				for r := multipart.NewReader(bytes.NewReader(a.Body), params["boundary"]); ; {
					part, err := r.NextPart()
					if err != nil {
						break
					}
					text, err := io.ReadAll(part)
					if err != nil || run.MatchString(part.Header.Get("Content-Type")) {
						t.Errorf("a part of type %s: %v", part.Header.Get("Content-Type"), err)
					}
					got += string(text)
				}
				a.Header.Set("Content-Type", octets)
			}
			if got != tt.body || len(a.Body) > 2000 {
				t.Errorf("%d bytes: %q, want %q", len(a.Body), got, tt.body)
			}
			if a.Header.Get("Etag") != tag {
				t.Errorf("ETag %s, want %s", a.Header.Get("Etag"), tag)
			}
			if tt.status != http.StatusNotModified {
				wantDownload(t, a, "a.bin")
			}
		})
	}
	t.Run("of what has none", func(t *testing.T) {
		p := s.product("red", below, note())
		wantProblem(t, s.do("reader", "GET", "/products/"+digits(p.ProductID)+"/file", nil), 404)
	})
	t.Run("of icons", func(t *testing.T) {
		for _, name := range []string{"..", "%2e%2e%2fflood.png", "flood.PNG", "flood", "FLOOD", "flood.png%00", "flood.svg", "..%5cflood.png", ""} {
			if a := s.do("", "GET", "/icons/hazard/large/"+name, nil); a.Status < 300 || a.Status >= 500 || path.Base(a.Header.Get("Location")) == "flood.png" {
				t.Errorf("%s: %d %s", name, a.Status, a.Header.Get("Location"))
			}
		}
		if a := s.do("", "GET", "/icons/hazard/large/flood.png", nil, "Range", "bytes=0-3"); a.Status != 206 || string(a.Body) != "\x89PNG" {
			t.Errorf("a range of an icon: %d %q", a.Status, a.Body)
		}
	})
}

// An uploaded picture is shown small on the page of its hazard, to those who may see it; hidden
// ones are not.
func TestUploadedPicturesAreShown(t *testing.T) {
	s := start(t)
	h := s.hazard("red", "hazard_Name", "Flood at the quay")
	photo := pngOf(t, 900, 600)
	var p item
	s.upload("red", h.HazardID, file("title", "The quay"), "quay.png", photo).JSON(t, &p)
	s.upload("red", h.HazardID, file("title", "Secret", "security_Flag", "R"), "secret.png", photo)
	s.upload("red", h.HazardID, file("title", "Hidden", "is_Hidden", "Y"), "hidden.png", photo)
	s.upload("red", h.HazardID, file("title", "No picture"), "text.jpg", []byte("text"))
	page := "/h/" + h.UUID
	for user, want := range map[string]int{"reader": 2, "red": 3} {
		a := s.do("", http.MethodGet, page, nil, "Cookie", sessionOf(t, s, user))
		if n := bytes.Count(a.Body, []byte(`/picture?size=small" alt="`)); a.Status != http.StatusOK || n != want || bytes.Contains(a.Body, []byte(`alt="Secret"`)) != (user == "red") {
			t.Errorf("%s: %d, %d pictures, want %d", user, a.Status, n, want)
		}
		var list []struct{ User, Title string }
		s.do(user, http.MethodGet, "/hazards/"+h.UUID+"/pictures", nil).JSON(t, &list)
		if len(list) != want || list[0].User != "red" || list[0].Title != "The quay" {
			t.Errorf("%s: %+v", user, list)
		}
	}
	small := s.do("", http.MethodGet, fmt.Sprintf("%s/products/%d/picture?size=small", page, p.ProductID), nil, "Cookie", sessionOf(t, s, "reader"))
	if got, err := jpeg.Decode(bytes.NewReader(small.Body)); err != nil || got.Bounds().Dx() != 560 {
		t.Errorf("%d %v %v", small.Status, small.Header, err)
	}
	for path, by := range map[string][]string{fmt.Sprintf("/products/%d/picture", p.ProductID): {"reader"}, fmt.Sprintf("%s/products/%d/picture", page, p.ProductID): {"", "Cookie", sessionOf(t, s, "reader")}} {
		if a := s.do(by[0], http.MethodGet, path, nil, append([]string{"Range", "bytes=0-7"}, by[1:]...)...); a.Status != http.StatusPartialContent || !bytes.Equal(a.Body, photo[:8]) {
			t.Errorf("%s: %d, %d bytes", path, a.Status, len(a.Body))
		}
	}
	other := s.hazard("red")
	if a := s.do("", http.MethodGet, fmt.Sprintf("/h/%s/products/%d/picture", other.UUID, p.ProductID), nil, "Cookie", sessionOf(t, s, "reader")); a.Status != http.StatusNotFound {
		t.Errorf("of another hazard: %d", a.Status)
	}
}
