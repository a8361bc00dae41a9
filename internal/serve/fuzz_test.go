package serve_test

import (
	"encoding/json"
	"mime"
	"mime/multipart"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/read"
	"github.com/hazardd/hazardd/internal/serve/write"
	"github.com/hazardd/hazardd/internal/test/server"
)

func FuzzLoginBody(f *testing.F) {
	for _, seed := range []string{"", "{}", "null", "[]", credentials("reader", "x"), `{"username":"a","username":"b","password":"c"}`, "{\"username\":\"\xff\"}", `{"username":1,"password":[]}`,
		`{"refreshToken":"a.b.c"}`, `{"username":"\ud800","password":""}`, `{"password":"` + server.Password + `","username":"reader"} `, strings.Repeat("[", 10_000)} {
		f.Add([]byte(seed))
	}
	p := handle(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{"/authorize", "/authorize/refresh", "/authorize/revoke"} {
			a := p.in(t).do("", "POST", path, body)
			switch a.Status {
			case 200, 204:
			case 400, 413, 429:
				wantProblem(t, a, a.Status)
			case 401:
				if string(a.Body) != "Authentication failed." {
					t.Errorf("%s: %s", path, a.Body)
				}
			default:
				t.Errorf("%s: %d %s", path, a.Status, a.Body)
			}
			if !json.Valid(body) && a.Status == 200 {
				t.Errorf("%s accepts invalid JSON", path)
			}
		}
	})
}

// weights parses Accept-Encoding by its grammar (RFC 9110, section 12.5.3): the weight of each
// named encoding.
func weights(value string) map[string]float64 {
	named := map[string]float64{}
	for item := range strings.SplitSeq(value, ",") {
		name, weight, has := strings.Cut(item, ";")
		q := 1.0
		if has && strings.TrimSpace(weight) != "" {
			q = 0
			if key, number, ok := strings.Cut(weight, "="); ok && strings.EqualFold(strings.TrimSpace(key), "q") {
				if n, err := strconv.ParseFloat(strings.TrimRightFunc(number, unicode.IsSpace), 64); err == nil && n >= 0 && n <= 1 {
					q = n
				}
			}
		}
		name = strings.TrimSpace(name)
		for _, known := range []string{"*", "identity", "gzip", "zstd", "br"} {
			if strings.EqualFold(name, known) || known == "gzip" && strings.EqualFold(name, "x-gzip") {
				named[known] = q
			}
		}
	}
	return named
}

func FuzzAcceptEncoding(f *testing.F) {
	for _, seed := range []string{"", "*", "gzip", "gzip;q=0", "gzip;q=0, *", "*;q=0", "identity;q=0", "gzip;q=0.5, br;q=0.5", "identity, gzip;q=0.1", "zstd;q=0,br;q=0.000,gzip;q=0.001", "gzip;q=NaN",
		"gzip; q=1.0000", "gzip ; q = 1", "GZIP;Q=0", "br;q=1;x=y", "x-gzip", "gzip;q=-0", "gzip;q=0x1p-2", ",,;,=", "gzip, gzip;q=0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got := encoded.Prefer([]string{value}).String()
		named := weights(value)
		weight := func(coding string) float64 {
			if q, ok := named[coding]; ok {
				return q
			}
			if coding == "gzip" { // a wildcard means gzip
				return named["*"]
			}
			return 0
		}
		best := 0.0
		for _, coding := range []string{"gzip", "zstd", "br"} {
			best = max(best, weight(coding))
		}
		switch {
		case got != "" && weight(got) == 0:
			t.Errorf("%q gets %s, which it rejects", value, got)
		case got != "" && weight(got) < max(best, named["identity"]):
			t.Errorf("%q gets %s of weight %v, though something has %v", value, got, weight(got), max(best, named["identity"]))
		case got == "" && best > named["identity"]:
			t.Errorf("%q gets no coding, though one has the weight %v", value, best)
		}
		// A list in one line equals a list in several.
		if apart := encoded.Prefer(strings.Split(value, ",")).String(); apart != got {
			t.Errorf("%q gets %q in one line and %q in several", value, got, apart)
		}
	})
}

func FuzzFileName(f *testing.F) {
	for _, seed := range slices.Concat(sortedKeys(cleanNames), []string{strings.Repeat("ä", 200), strings.Repeat("a", 254) + " b.c", "a." + strings.Repeat("b", 300), "\u200d", "a\u200d", "%", `"\`, "a;b=c", "\U000e0001"}) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		clean := write.CleanFileName(name)
		wantCleanName(t, clean)
		if again := write.CleanFileName(clean); again != clean {
			t.Errorf("%q becomes %q, and that %q", name, clean, again)
		}
		header := read.Disposition(clean)
		kind, params, err := mime.ParseMediaType(header)
		if err != nil || kind != "attachment" || len(params) != 1 || params["filename"] != clean {
			t.Errorf("%q reads as %s %q: %v", header, kind, params, err)
		}
		if strings.ContainsFunc(header, func(r rune) bool { return r < ' ' || r > '~' }) || strings.Count(header, `"`) != 2 {
			t.Errorf("header %q", header)
		}
		// Another program's encoding of the name is read as that name, or rejected.
		if _, params, err := mime.ParseMediaType(multipart.FileContentDisposition("file", clean)); err == nil && params["filename"] == clean && write.CleanFileName(params["filename"]) != clean {
			t.Errorf("%q is not read back unchanged", clean)
		}
		if media := write.MediaType(clean); run.MatchString(media) {
			t.Errorf("%q is served as %s", clean, media)
		}
	})
}
