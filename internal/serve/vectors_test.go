package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
)

// vectorFiles lists the files with that extension in a folder of vectors.
func vectorFiles(t *testing.T, folder, ext string) []string {
	t.Helper()
	entries, err := os.ReadDir(server.Shared(t, folder))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if path.Ext(e.Name()) == ext {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		t.Fatalf("no vectors in %s", folder)
	}
	return names
}

func readVectors(t *testing.T, name string, into any) {
	t.Helper()
	if err := json.Unmarshal(server.ReadShared(t, name), into); err != nil {
		t.Fatal(err)
	}
}

func TestJSONAtItsEdges(t *testing.T) {
	const folder = "vectors/jsontestsuite/"
	p := handle(t)
	for _, below := range []string{"parsing", "transform"} {
		for _, name := range vectorFiles(t, folder+below, ".json") {
			t.Run(name, func(t *testing.T) {
				body := server.ReadShared(t, folder+below+"/"+name)
				for target, user := range map[string]string{"/authorize": "", "/hazards": "editor"} {
					a := p.do(user, "POST", target, body)
					if a.Status >= 500 {
						t.Fatalf("%s: %d %s", target, a.Status, a.Body)
					}
					switch {
					case target == "/authorize" && len(body) > 64<<10:
						wantProblem(t, a, 413)
					case below == "parsing" && strings.HasPrefix(name, "n_"):
						wantProblem(t, a, 400)
					case strings.HasPrefix(name, "y_object_duplicated_key"):
						if faults := wantProblem(t, a, 400).faults(); slices.ContainsFunc(faults, func(f string) bool { return f != "" }) {
							t.Errorf("%s accepts a duplicate member and uses %v", target, faults)
						}
					case strings.HasPrefix(name, "y_") && bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")):
						if faults := wantProblem(t, a, 400).faults(); len(faults) < 2 || slices.Contains(faults, "") {
							t.Errorf("%s does not look at the members: %s", target, a.Body)
						}
					default: // not an object, or either answer is allowed
						wantProblem(t, a, 400)
					}
				}
			})
		}
	}
	if list := items(t, p.do("reader", "GET", "/hazards/active", nil)); len(list) != 0 {
		t.Errorf("hazards were created: %+v", list)
	}
}

// rawAnswers are the answers on a raw connection, in order, and their whole text.
type rawAnswers struct {
	all  string
	list []server.Answer
}

// judgement returns what is wrong with the answers to a vector; empty if nothing is.
type judgement func(rawAnswers) string

// only expects one answer with one of these status codes.
func only(status ...int) judgement {
	return func(got rawAnswers) string {
		if len(got.list) != 1 || !slices.Contains(status, got.list[0].Status) {
			return "want one answer"
		}
		return ""
	}
}

// invalidToken expects exactly the answer of section 7.
func invalidToken(got rawAnswers) string {
	if len(got.list) != 1 || got.list[0].Status != 403 || string(got.list[0].Body) != "Invalid Token" {
		return "want 403 Invalid Token"
	}
	return ""
}

// without expects the same as and, and that the answers do not contain the text.
func without(text string, and judgement) judgement {
	return func(got rawAnswers) string {
		if strings.Contains(got.all, text) {
			return "it holds " + text
		}
		return and(got)
	}
}

func TestRequestHeadsOverARawConnection(t *testing.T) {
	judgements := map[string]judgement{
		"absolute-form.raw":        invalidToken,
		"accept-encoding-many.raw": only(200, 431),
		"authorization-basic.raw":  invalidToken,
		"authorization-lower.raw":  invalidToken,
		"bare-lf.raw":              only(400, 403),
		"chunk-bare-lf.raw":        only(400),
		"chunk-size-overflow.raw":  only(400),
		"cl-cl.raw":                only(400),
		"cl-negative.raw":          only(400),
		"cl-plus.raw":              only(400),
		"cl-te.raw": func(got rawAnswers) string {
			for _, a := range got.list[min(1, len(got.list)):] {
				if a.Status < 400 {
					return "what follows the body is answered as a request"
				}
			}
			if len(got.list) == 0 || got.list[0].Status < 400 {
				return "want 400"
			}
			return ""
		},
		"connect.raw":            only(400, 404, 405),
		"dot-segments.raw":       only(301, 307, 308, 403, 404),
		"double-slash.raw":       without("//evil.example", only(301, 307, 308, 403, 404)),
		"encoded-dots.raw":       without("root:", only(400, 404)),
		"encoded-slash.raw":      only(400, 403, 404),
		"expect-100.raw":         without("100 Continue", only(400, 413)),
		"header-70k.raw":         only(403, 431),
		"headers-200.raw":        only(403, 431),
		"host-evil.raw":          without("evil.example", only(200)),
		"no-host.raw":            only(400),
		"nul-path.raw":           only(400, 403, 404),
		"obs-fold.raw":           only(400, 403),
		"range-many.raw":         invalidToken, // with a token: TestRangesOfFiles
		"space-before-colon.raw": only(400),
		"te-obfuscated.raw":      only(400, 501),
		"te-te.raw":              only(400, 501),
		"token-in-query.raw":     invalidToken,
		"trace.raw":              without("secret", only(405)),
		"two-authorization.raw":  invalidToken,
		"two-hosts.raw":          only(400),
		"upgrade-h2c.raw":        invalidToken,
	}
	var expected struct{ Cases map[string]any }
	readVectors(t, "vectors/http/expected.json", &expected)
	names := vectorFiles(t, "vectors/http", ".raw")
	if diff := cmp.Diff(sortedKeys(expected.Cases), names); diff != "" {
		t.Errorf("expected and given files:\n%s", diff)
	}
	if diff := cmp.Diff(names, sortedKeys(judgements)); diff != "" {
		t.Errorf("files and judgements:\n%s", diff)
	}
	s := start(t)
	t.Run("files", func(t *testing.T) { // ends after the parallel subtests below
		for _, name := range names {
			request := server.ReadShared(t, "vectors/http/"+name)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				got := rawAnswers{all: string(s.send(request))}
				for r := bufio.NewReader(strings.NewReader(got.all)); ; {
					resp, err := http.ReadResponse(r, nil)
					if err != nil {
						break
					}
					body, err := io.ReadAll(resp.Body)
					if err != nil {
						t.Errorf("an answer that is cut: %v", err)
					}
					got.list = append(got.list, server.Answer{Status: resp.StatusCode, Header: resp.Header, Body: body})
					if resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented {
						t.Errorf("%d", resp.StatusCode)
					}
				}
				if judge := judgements[name]; judge == nil {
					t.Error("no judgement")
				} else if wrong := judge(got); wrong != "" {
					t.Errorf("%s; it was %.1000q", wrong, got.all)
				}
			})
		}
	})
}

func TestGeometriesInWrites(t *testing.T) {
	p := handle(t)
	var cases map[string][]struct {
		V           json.RawMessage
		Expect, Why string
	}
	if raw := map[string]json.RawMessage{}; true {
		readVectors(t, "vectors/geo/cases.json", &raw)
		delete(raw, "note")
		text, err := json.Marshal(raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &cases); err != nil {
			t.Fatal(err)
		}
	}
	var made item
	p.do("editor", "POST", "/hazards", flood()).JSON(t, &made)
	for group, member := range map[string]string{"wkt": "geo_Locations", "geojson": "area"} {
		if len(cases[group]) == 0 {
			t.Errorf("no vectors of %s", group)
		}
		for _, c := range cases[group] {
			t.Run(member+" "+string(c.V[:min(len(c.V), 60)]), func(t *testing.T) {
				var a server.Answer
				if member == "area" {
					a = p.do("editor", "POST", "/hazards", flood("area", c.V))
				} else {
					a = p.do("editor", "POST", "/hazards/"+digits(made.HazardID)+"/products", note("geo_Locations", c.V))
				}
				choice, _, _ := strings.Cut(c.Expect, " ")
				switch {
				case a.Status == 400:
					if faults := wantProblem(t, a, 400).faults(); !slices.Equal(faults, []string{"/" + member}) || choice == "accept" {
						t.Errorf("refused (%s, %s), naming %v: %s", c.Expect, c.Why, faults, a.Body)
					}
				case a.Status != 201 || strings.HasPrefix(c.Expect, "refuse") && choice == "refuse":
					t.Errorf("%d %.300s (%s, %s)", a.Status, a.Body, c.Expect, c.Why)
				case member == "area":
					for _, f := range []string{"json", "geojson"} { // everything accepted can be read
						location := a.Header.Get("Location")
						if g := p.do("reader", "GET", location[strings.Index(location, "/hazards/"):]+"/alert-geography?f="+f, nil); g.Status != 200 || !json.Valid(g.Body) {
							t.Errorf("as %s it reads %d %.300s", f, g.Status, g.Body)
						}
					}
				}
			})
		}
	}
}

// wantHarmless checks that an answer is not an internal error, and that nothing of the request got
// into its header.
func wantHarmless(t *testing.T, what string, a server.Answer) {
	t.Helper()
	if a.Status >= 500 || a.Status < 200 {
		t.Errorf("%s: %d %.300s", what, a.Status, a.Body)
	}
	for name, values := range a.Header {
		for _, v := range values {
			if strings.ContainsAny(name+v, "\r\n\x00") || strings.EqualFold(name, "Set-Cookie") {
				t.Errorf("%s: header %q: %q", what, name, v)
			}
		}
	}
	if strings.HasSuffix(a.Header.Get("Content-Type"), "json") && len(a.Body) > 0 && !json.Valid(a.Body) {
		t.Errorf("%s: no JSON: %.300q", what, a.Body)
	}
}

// hostile returns texts that are dangerous somewhere, by place.
func hostile(t *testing.T) map[string][]string {
	t.Helper()
	var raw map[string]json.RawMessage
	readVectors(t, "vectors/strings/hostile.json", &raw)
	texts := map[string][]string{}
	for _, group := range sortedKeys(raw) {
		var list []string
		if json.Unmarshal(raw[group], &list) == nil {
			texts[group] = list
		}
	}
	if len(texts) < 10 {
		t.Fatalf("only %d groups of hostile texts", len(texts))
	}
	texts["not UTF-8"] = []string{"\xff", "a\xc3", "\xed\xa0\x80", "\xf8\x88\x80\x80\x80"}
	return texts
}

func TestHostileTexts(t *testing.T) {
	var logged syncBuffer
	p := handle(t, func(c *serve.Config) {
		c.Logger = slog.New(slog.NewJSONHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	var made item
	p.do("editor", "POST", "/hazards", flood()).JSON(t, &made)
	below := "/hazards/" + digits(made.HazardID)
	texts := hostile(t)
	for _, group := range sortedKeys(texts) {
		t.Run(group, func(t *testing.T) {
			for i, s := range texts[group] {
				if !test.OneIn(3, i) {
					continue
				}
				if group != "not UTF-8" { // which is rejected completely, see TestJSONAtItsEdges
					wantClean(t, p, s, below)
				}
				segment := url.PathEscape(s)
				if group == "id_path" {
					segment = s // already escaped, or deliberately invalid
				}
				for _, target := range []string{"/hazards/", "/products/", "/hazards/active/category/", "/hazards/active/severity/", "/icons/hazard/large/", "/sources/", "/", "/h/"} {
					for _, rest := range []string{"", "/products", "/file", "/errors"} {
						if u, err := url.ParseRequestURI(target + segment + rest); err == nil {
							a := p.do("editor", "GET", u.String(), nil)
							wantHarmless(t, u.String(), a)
							if a.Status == 200 && group != "id_path" && target != "/" {
								t.Errorf("%s is found: %.200s", u, a.Body)
							}
						}
					}
				}
				for _, query := range []string{"/changes?after=", "/changes?limit=", below + "/changes?after=", below + "/alert-geography?f="} {
					wantHarmless(t, query+s, p.do("reader", "GET", query+url.QueryEscape(s), nil))
				}
				for _, query := range []string{"/changes?", "/hazards/types?", "/products/1?"} {
					wantHarmless(t, query+s, p.do("reader", "GET", query+url.QueryEscape(s)+"=1", nil))
					if u, err := url.ParseRequestURI(query + strings.Map(printable, s)); err == nil {
						wantHarmless(t, query+s, p.do("reader", "GET", u.String(), nil))
					}
				}
				for _, name := range []string{"If-None-Match", "If-Match", "Accept", "Accept-Encoding", "Range", "If-Range", "X-Forwarded-For", "Authorization", "Content-Type", "Origin", "Host"} {
					for _, path := range []string{"/hazards/active", below} {
						wantHarmless(t, name+": "+s, p.do("reader", "GET", path, nil, name, s))
					}
					wantHarmless(t, name+": "+s, p.do("editor", "POST", below+"/products", "{}", name, s))
				}
			}
		})
	}
	t.Run("as user and password", func(t *testing.T) {
		for _, s := range slices.Concat(texts["log"], texts["headers"]) {
			for _, body := range []map[string]string{{"username": s, "password": s}, {"username": "reader", "password": s}} {
				if a := p.do("", "POST", "/authorize", body); a.Status != 401 && a.Status != 429 {
					t.Errorf("%q: %d %s", s, a.Status, a.Body)
				}
			}
		}
	})
	for line := range strings.Lines(logged.String()) {
		t.Errorf("the log has %s", line)
	}
}

// printable keeps the characters of a text that are allowed in a request line.
func printable(r rune) rune {
	if r <= ' ' || r >= 0x7f || r == '#' {
		return -1
	}
	return r
}

// wantClean writes a text into every text field, and checks the stored text.
func wantClean(t *testing.T, p *inProcess, s, below string) {
	t.Helper()
	line, text := hazard.CleanLine(s), hazard.Clean(s)
	want := 201
	if line == "" || utf8.RuneCountInString(line) > 500 {
		want = 400
	}
	a := p.do("editor", "POST", "/hazards", flood("hazard_Name", s, "description", s, "comment_Text", s))
	wantHarmless(t, s, a)
	var h struct {
		ID      int64  `json:"hazard_ID"`
		Name    string `json:"hazard_Name"`
		Text    string `json:"description"`
		Comment string `json:"comment_Text"`
	}
	if a.JSON(t, &h); a.Status != want || want == 201 && (h.Name != line || h.Text != text || h.Comment != text) {
		t.Errorf("hazard of %q: %d %.300s", s, a.Status, a.Body)
	}
	var product struct {
		Title string `json:"title"`
		Data  string `json:"data"`
	}
	a = p.do("editor", "POST", below+"/products", note("title", s, "data", s, "comment_Text", s))
	wantHarmless(t, s, a)
	if a.JSON(t, &product); a.Status != want || want == 201 && (product.Title != line || product.Data != text) {
		t.Errorf("product of %q: %d %.300s", s, a.Status, a.Body)
	}
	for _, body := range []map[string]any{note("product_Type", "URL_PRODUCT", "data", s), note("geo_Locations", s), note("org_IDs", s), note("parent_ID", s), note("uuid", s), folder("timeline_Date", s), note(s, s)} {
		wantHarmless(t, s, p.do("editor", "POST", below+"/products", body))
	}
	for _, body := range []map[string]any{flood("snc_url", s), flood("start_Date", s), flood("latitude", s), flood("type_ID", s), flood("area", s), flood(s, s)} {
		wantHarmless(t, s, p.do("editor", "POST", "/hazards", body))
	}
	if want == 201 {
		wantHarmless(t, s, p.do("editor", "POST", "/hazards/"+digits(h.ID)+"/retract", map[string]string{"reason": s}))
		wantHarmless(t, s, p.do("reader", "GET", "/hazards/"+digits(h.ID)+"/changes", nil))
	}
}

func TestLogKeepsOneLineARecordAndTellsNobodyElse(t *testing.T) {
	var logged syncBuffer
	var failure string
	p := handle(t, func(c *serve.Config) {
		c.Logger = slog.New(slog.NewJSONHandler(&logged, nil))
		c.Sources = func(context.Context) ([]poll.Status, error) {
			if failure == "" {
				panic("a bug")
			}
			return nil, errors.New(failure)
		}
	})
	texts := hostile(t)
	var paths []string
	for _, group := range sortedKeys(texts) {
		for _, s := range texts[group] {
			if s == "" || s == "." || s == ".." {
				continue
			}
			failure = "failure of " + s
			a := p.do("editor", "GET", "/sources/"+url.PathEscape(s)+"/errors", nil)
			problem := wantProblem(t, a, 500)
			if !strings.HasPrefix(problem.Instance, "urn:uuid:") || bytes.Contains(a.Body, []byte("failure of")) {
				t.Errorf("%q: %s", s, a.Body)
			}
			paths = append(paths, "/sources/"+s+"/errors")
		}
	}
	failure = ""
	wantProblem(t, p.do("reader", "GET", "/sources", nil), 500)
	paths = append(paths, "/sources")

	lines := strings.Split(strings.TrimSuffix(logged.String(), "\n"), "\n")
	if len(lines) != len(paths) {
		t.Fatalf("%d lines for %d records", len(lines), len(paths))
	}
	for i, line := range lines {
		var record struct{ Level, Path, Error string }
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Level != "ERROR" || record.Path != strings.ToValidUTF8(paths[i], "\uFFFD") && !strings.Contains(record.Path, "\uFFFD") || record.Error == "" {
			t.Errorf("record of %q: %s %v", paths[i], line, err)
		}
	}
}

func TestForgedTokensAreRefusedInTheWordsOfTheBaseInterface(t *testing.T) {
	p := handle(t)
	var vectors struct {
		Cases []struct{ Name, Use, Expect, Token string }
	}
	readVectors(t, "vectors/jwt/eddsa.json", &vectors)
	if len(vectors.Cases) < 100 {
		t.Fatalf("%d tokens", len(vectors.Cases))
	}
	for _, c := range vectors.Cases { // tokens that are valid elsewhere are signed with keys unknown here
		t.Run(c.Use+": "+c.Name, func(t *testing.T) {
			for _, path := range []string{"/hazards/active", "/hazards/types", "/products/1", "/changes"} {
				if a := p.do("", "GET", path, nil, "Authorization", "Bearer "+c.Token); a.Status != 403 || string(a.Body) != "Invalid Token" {
					t.Errorf("%s: %d %s", path, a.Status, a.Body)
				}
			}
			want := 401
			if len(c.Token) > 60_000 {
				want = 413
			}
			a := p.do("", "POST", "/authorize/refresh", map[string]string{"refreshToken": c.Token})
			if a.Status != want || want == 401 && string(a.Body) != "Authentication failed." {
				t.Errorf("refresh: %d %s", a.Status, a.Body)
			}
		})
	}
}
