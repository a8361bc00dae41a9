package openapitest_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/serve/openapi"
	"github.com/hazardd/hazardd/internal/test/openapitest"
)

func contract(t *testing.T) *openapitest.Contract {
	t.Helper()
	c, err := openapitest.New(openapi.JSON("https://hazards.example.org"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	types   = `[{"type_id":"FLOOD","type_name":"Flood","type_icon":"flood.png"}]`
	problem = `{"type":"about:blank","title":"Not Found","status":404,"detail":"no such path"}`
)

// good returns headers of a cacheable answer.
func good(more ...string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Etag": {`"1"`}, "Cache-Control": {"private, no-cache"}, "Vary": {"Accept"}}
	for i := 0; i < len(more); i += 2 {
		if h.Set(more[i], more[i+1]); more[i+1] == "" {
			h.Del(more[i])
		}
	}
	return h
}

func TestAnAnswerIsHeldAgainstTheDocument(t *testing.T) {
	c := contract(t)
	for name, tt := range map[string]struct {
		method, path string
		status       int
		header       http.Header
		body         string
		want         string // part of the error; empty: no error
	}{
		"one that is as it should be":              {"GET", "/hazards/types", 200, good(), types, ""},
		"the same for HEAD, without its body":      {"HEAD", "/hazards/types", 200, good(), "", ""},
		"a status that is not listed":              {"GET", "/hazards/types", 418, good(), types, "status is not listed"},
		"a media type that is not listed":          {"GET", "/hazards/types", 200, good("Content-Type", "text/html"), types, "text/html is not listed"},
		"a body that is no JSON":                   {"GET", "/hazards/types", 200, good(), "[", "not JSON"},
		"a member that is not listed":              {"GET", "/hazards/types", 200, good(), strings.Replace(types, `{`, `{"more":1,`, 1), "'more' not allowed"},
		"a member that is missing":                 {"GET", "/hazards/types", 200, good(), `[{"type_id":"FLOOD","type_name":"Flood"}]`, "missing property"},
		"a member of another type":                 {"GET", "/hazards/types", 200, good(), strings.Replace(types, `"Flood"`, `1`, 1), "want string"},
		"a value that is not listed":               {"GET", "/hazards/types", 200, good(), strings.Replace(types, `"FLOOD"`, `"FLUD"`, 1), "value must be one of"},
		"a header that is missing":                 {"GET", "/hazards/types", 200, good("ETag", ""), types, "ETag is missing"},
		"a header of another form":                 {"GET", "/hazards/types", 200, good("ETag", "1"), types, "does not match pattern"},
		"a header that is not listed":              {"GET", "/hazards/types", 200, good("Hazardd-End", "expired"), types, "Hazardd-End is not listed"},
		"a body where there should be none":        {"DELETE", "/products/1", 204, http.Header{}, "gone", "there is a body"},
		"plain text, to the letter":                {"GET", "/hazards/types", 403, http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Www-Authenticate": {`Bearer error="invalid_token"`}}, "Invalid Token", ""},
		"plain text that is almost so":             {"GET", "/hazards/types", 403, http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Www-Authenticate": {`Bearer error="invalid_token"`}}, "Invalid token", "value must be"},
		"a path that is written out goes first":    {"GET", "/hazards/active", 200, good(), types, "missing properties"},
		"a path that is none":                      {"GET", "/hazard", 404, http.Header{"Content-Type": {"application/problem+json"}}, problem, ""},
		"a path that is none, and answers":         {"GET", "/hazard", 200, good(), types, "expected 404"},
		"a method that is none, without the right": {"PUT", "/hazards", 405, http.Header{"Content-Type": {"application/problem+json"}}, problem, "Allow"},
		"a record on each line":                    {"GET", "/hazards", 200, good("Content-Type", "application/x-ndjson"), "{}\n", "missing properties"},
		"what is read with a key":                  {"GET", "/key/hzk_1/hazards/types", 200, good(), types, ""},
		"what is read wrongly with a key":          {"GET", "/key/hzk_1/hazards/types", 418, good(), types, "status is not listed"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.Check(openapitest.Answer{Method: tt.method, URL: &url.URL{Path: tt.path}, Status: tt.status, Header: tt.header, Body: []byte(tt.body)})
			if tt.want == "" && err != nil {
				t.Error(err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want it to say %q", err, tt.want)
			}
		})
	}
}

func TestWhatHasAnsweredIsKnown(t *testing.T) {
	c := contract(t)
	const types200 = "GET /hazards/types 200"
	if !slices.Contains(c.Unseen(), types200) {
		t.Fatalf("nothing has answered, and %s is not among %v", types200, c.Unseen())
	}
	before := len(c.Unseen())
	answer := openapitest.Answer{Method: "GET", URL: &url.URL{Path: "/hazards/types"}, Status: 200, Header: good("ETag", ""), Body: []byte(types)}
	if c.Check(answer) == nil || len(c.Unseen()) != before {
		t.Error("a wrong answer counts")
	}
	answer.Header = good()
	if err := c.Check(answer); err != nil || slices.Contains(c.Unseen(), types200) || len(c.Unseen()) != before-1 {
		t.Errorf("a right answer does not count: %v", err)
	}
}
