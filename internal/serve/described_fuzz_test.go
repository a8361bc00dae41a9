package serve_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/serve/openapi"
	"github.com/hazardd/hazardd/internal/test"
)

// wildValues are values that no parameter is meant to have.
var wildValues = []string{"", "0", "-1", "1e400", "9223372036854775808", "nan", "null", "true", "x", "'", `"`, "\x00", "\xff", "%", "..", "../../etc/passwd", "é", "\u202e", "1,2,3,4", "180,90,-180,-90", "-180,-90,180,90",
	"2026-13-45T99:99:99Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "../..", "POLYGON((0 0,1 1,0 0))", strings.Repeat("9", 4000), strings.Repeat("(", 900)}

// wildBodies are bodies that no operation is meant to take.
var wildBodies = []string{"", "{", "[]", "null", "1", `""`, "{}", `{"x":`, `{"hazard_Name":1,"type_ID":[],"area":{"type":"Point","coordinates":[1e400,0]}}`, `{"a":1,"a":2}`, "\xff\xfe", strings.Repeat("[", 20000),
	`{"type":"Polygon","coordinates":[[[0,0],[1,1],[0,0]]]}`, `{"title":"` + strings.Repeat("x", 3000) + `"}`}

// Whatever is asked of an operation, by whom, the answer is one that the document describes (which
// server.Do checks), and never an internal error.
func TestEveryOperationAnswersAsDescribedWhateverItIsAsked(t *testing.T) {
	test.Slow(t)
	s := start(t)
	s.addCallers()
	type parameter struct {
		Ref, Name, In string
		Example       any
	}
	var doc struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct {
			Parameters map[string]map[string]any
		}
	}
	if err := json.Unmarshal(openapi.JSON(s.URL()), &doc); err != nil {
		t.Fatal(err)
	}
	read := func(text json.RawMessage) (all []parameter) {
		var list []map[string]any
		_ = json.Unmarshal(text, &list)
		for _, p := range list {
			if ref, ok := p["$ref"].(string); ok {
				p = doc.Components.Parameters[ref[strings.LastIndexByte(ref, '/')+1:]]
			}
			name, _ := p["name"].(string)
			in, _ := p["in"].(string)
			all = append(all, parameter{Name: name, In: in, Example: p["example"]})
		}
		return all
	}
	h := s.hazard("red")
	random := rand.New(rand.NewPCG(3, 4))
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	callers := []string{"", "reader", "editor", "red", "red-admin", "fire", "fire-reader", "fire-admin", "root"}
	variable := regexp.MustCompile(`\{[^}]+\}`)
	asked, statuses := 0, map[int]int{}
	for _, op := range contract(t).Operations() {
		method, path, _ := strings.Cut(op, " ")
		if slices.Contains([]string{"/events", "/account/password", "/authorize/revoke", "/key/{key}/{path}"}, path) {
			continue
		}
		var operation struct{ Parameters json.RawMessage }
		_ = json.Unmarshal(doc.Paths[path][strings.ToLower(method)], &operation)
		parameters := append(read(doc.Paths[path]["parameters"]), read(operation.Parameters)...)
		for _, caller := range callers {
			for range 4 {
				query := url.Values{}
				var header []string
				for _, p := range parameters {
					value := pick(wildValues)
					if random.IntN(3) > 0 && p.Example != nil {
						value = strings.Trim(fmt.Sprint(p.Example), "[]")
					}
					switch {
					case p.In == "query" && p.Name != "wait" && random.IntN(3) == 0:
						query.Set(p.Name, value)
					case p.In == "header" && p.Name != "Last-Event-ID" && random.IntN(4) == 0 && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
						header = append(header, p.Name, value)
					}
				}
				at := variable.ReplaceAllStringFunc(path, func(v string) string {
					if v == "{hazard-id}" && random.IntN(2) == 0 {
						return h.UUID
					}
					for _, p := range parameters {
						if "{"+p.Name+"}" == v && p.Example != nil && random.IntN(2) == 0 {
							return url.PathEscape(fmt.Sprint(p.Example))
						}
					}
					if x := pick(wildValues); x != "" && !strings.Contains(x, "..") && len(x) < 500 {
						return url.PathEscape(x)
					}
					return "x"
				})
				if len(query) > 0 {
					at += "?" + query.Encode()
				}
				var body any
				if method != "GET" && method != "DELETE" {
					if b := rightsBodies[op]; b != "" && random.IntN(3) == 0 {
						body = b
					} else {
						body = pick(wildBodies)
					}
				}
				a := s.do(caller, method, at, body, header...)
				asked++
				if statuses[a.Status]++; a.Status >= 500 && a.Status != 503 && a.Status != 507 {
					t.Errorf("%s %s as %q with %.200v, %q: %d %.300s", method, at, caller, body, header, a.Status, a.Body)
				}
			}
		}
	}
	t.Logf("%d requests: %v", asked, statuses)
}
