// Package openapitest compares a service's answers with its OpenAPI document, and records which
// operations have answered.
//
// Check compares status, media type, header and body of an answer, but not the request, because
// tests send wrong ones on purpose. Of streams, files and documents in other formats only the media
// type is checked. Of a list only some records are checked, so that long ones cost little. A
// Contract is safe for concurrent use.
package openapitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// sampled is how many records of a list are held against their schema.
const sampled = 200

// Contract is what a document promises.
type Contract struct {
	doc      map[string]any
	compiler *jsonschema.Compiler
	paths    []*template

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema // by pointer
	seen    map[string]bool               // by Operation and status
}

// template is a path of the document.
type template struct {
	path       string
	match      *regexp.Regexp
	operations map[string]map[string]any // by method
}

// resource is the name under which the compiler knows the document.
const resource = "https://openapi.test/openapi.json"

// New reads a document.
func New(document []byte) (*Contract, error) {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, err
	}
	doc, ok := parsed.(map[string]any)
	if !ok {
		return nil, errors.New("the document is no object")
	}
	c := &Contract{doc: doc, compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}, seen: map[string]bool{}}
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	c.compiler.AssertFormat()
	if err := c.compiler.AddResource(resource, doc); err != nil {
		return nil, err
	}
	for name, item := range object(doc["paths"]) {
		t := &template{path: name, match: expression(name), operations: map[string]map[string]any{}}
		for method, operation := range object(item) {
			if method != "parameters" {
				t.operations[strings.ToUpper(method)] = object(operation)
			}
		}
		c.paths = append(c.paths, t)
	}
	// What is written out goes before what stands for anything, from the left.
	key := func(t *template) string { return strings.ReplaceAll(t.path, "{", "\U0010FFFF") }
	slices.SortFunc(c.paths, func(a, b *template) int { return strings.Compare(key(a), key(b)) })
	return c, nil
}

func object(v any) map[string]any { o, _ := v.(map[string]any); return o }

var parameter = regexp.MustCompile(`\\\{([^}]*)\\\}`)

// expression matches the paths that a template is for. The parameters file and path may hold slashes.
func expression(name string) *regexp.Regexp {
	return regexp.MustCompile("^" + parameter.ReplaceAllStringFunc(regexp.QuoteMeta(name), func(p string) string {
		if p == `\{file\}` || p == `\{path\}` {
			return ".*"
		}
		return "[^/]+"
	}) + "$")
}

// Operations lists the operations of the document, as "GET /hazards/{hazard-id}".
func (c *Contract) Operations() (list []string) {
	for _, t := range c.paths {
		for method := range t.operations {
			list = append(list, method+" "+t.path)
		}
	}
	slices.Sort(list)
	return list
}

// Unseen lists the operations with those of their statuses in the 200s that no checked answer had.
func (c *Contract) Unseen() (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.paths {
		for method, operation := range t.operations {
			for status := range object(operation["responses"]) {
				if key := method + " " + t.path + " " + status; strings.HasPrefix(status, "2") && !c.seen[key] {
					list = append(list, key)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// Parameters lists the names of an operation's parameters that are in that place (query, path, header).
func (c *Contract) Parameters(operation, in string) (names []string) {
	method, name, _ := strings.Cut(operation, " ")
	for _, t := range c.paths {
		if t.path != name {
			continue
		}
		shared, _ := object(object(c.doc["paths"])[name])["parameters"].([]any)
		own, _ := t.operations[method]["parameters"].([]any)
		for _, p := range slices.Concat(shared, own) {
			if _, p := c.resolve("", object(p)); p["in"] == in {
				names = append(names, p["name"].(string))
			}
		}
	}
	slices.Sort(names)
	return names
}

// Answer is an answer to a request.
type Answer struct {
	Method string
	URL    *url.URL
	Status int
	Header http.Header
	Body   []byte // what was sent of it; not looked at for HEAD
}

// Check says how an answer differs from what the document promises.
func (c *Contract) Check(a Answer) error {
	if err := c.check(a, a.URL.EscapedPath()); err != nil {
		return fmt.Errorf("%s %.200s answers %d, not as the OpenAPI document has it: %w", a.Method, a.URL, a.Status, err)
	}
	return nil
}

// keyed matches what is read with a key in the address.
var keyed = regexp.MustCompile(`^/key/[^/]+(/.*)$`)

func reads(method string) bool { return method == http.MethodGet || method == http.MethodHead }

func (c *Contract) check(a Answer, name string) error {
	if a.Method == http.MethodOptions && a.Header.Get("Vary") != "" && a.Status < http.StatusMultipleChoices {
		return nil // of CORS, which is no operation
	}
	if clean := path.Clean(name); clean != strings.TrimSuffix(name, "/") && name != "/" && a.Status >= 300 && a.Status < 400 {
		return nil // the router leads to the path as it should be written
	}
	if m := keyed.FindStringSubmatch(name); m != nil && !keyed.MatchString(m[1]) && reads(a.Method) && !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") {
		c.note(a.Method, "/key/{key}/{path}", a.Status)
		return c.check(a, m[1])
	}
	t := c.find(name)
	if t == nil {
		return c.problem(a, http.StatusNotFound)
	}
	method := a.Method
	operation, ok := t.operations[method]
	if method == http.MethodHead && !ok {
		method = http.MethodGet
		operation, ok = t.operations[method]
	}
	if !ok {
		if a.Header.Get("Allow") == "" {
			return errors.New("a method that the path has not takes the header Allow")
		}
		return c.problem(a, http.StatusMethodNotAllowed)
	}
	pointer := "/paths/" + escape(t.path) + "/" + strings.ToLower(method) + "/responses/" + strconv.Itoa(a.Status)
	response, ok := object(operation["responses"])[strconv.Itoa(a.Status)].(map[string]any)
	if !ok {
		return errors.New("the status is not listed")
	}
	pointer, response = c.resolve(pointer, response)
	// What says that an answer is still good has the headers of that answer (RFC 9110 section 15.4.5).
	var besides map[string]any
	if a.Status == http.StatusNotModified {
		_, ok := c.resolve("", object(object(operation["responses"])["200"]))
		besides = object(ok["headers"])
	}
	if err := errors.Join(c.checkHeaders(pointer, response, besides, a.Header), c.checkBody(pointer, response, a)); err != nil {
		return err
	}
	c.note(method, t.path, a.Status)
	return nil
}

// find is the template of a path. The landing page of the OGC API may have a slash at its end.
func (c *Contract) find(name string) *template {
	if name == "/ogc/" {
		name = "/ogc"
	}
	for _, t := range c.paths {
		if t.match.MatchString(name) {
			return t
		}
	}
	return nil
}

func (c *Contract) note(method, template string, status int) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[method+" "+template+" "+strconv.Itoa(status)] = true
}

// resolve follows a reference. It returns the pointer to what it leads to, too.
func (c *Contract) resolve(pointer string, o map[string]any) (string, map[string]any) {
	for {
		ref, ok := o["$ref"].(string)
		if !ok {
			return pointer, o
		}
		pointer = strings.TrimPrefix(ref, "#")
		var at any = c.doc
		for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
			at = object(at)[unescape(part)]
		}
		o = object(at)
	}
}

func escape(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}

func unescape(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
}

// told are the headers that mean something to clients: none may come that is not listed.
var told = regexp.MustCompile(`^(Etag|Link|Location|Retry-After|Www-Authenticate|Content-Disposition|Accept-Ranges|Content-Range|Set-Cookie|Hazardd-.*)$`)

// checkHeaders holds headers against those of a response; those besides may come too.
func (c *Contract) checkHeaders(pointer string, response, besides map[string]any, header http.Header) error {
	var faults []error
	listed := map[string]bool{}
	for name := range besides {
		listed[http.CanonicalHeaderKey(name)] = true
	}
	for name, h := range object(response["headers"]) {
		at, h := c.resolve(pointer+"/headers/"+escape(name), object(h))
		values := header[http.CanonicalHeaderKey(name)]
		listed[http.CanonicalHeaderKey(name)] = true
		if h["required"] == true && len(values) == 0 {
			faults = append(faults, fmt.Errorf("the header %s is missing", name))
		}
		for _, v := range values {
			if err := c.validate(at+"/schema", v); err != nil {
				faults = append(faults, fmt.Errorf("header %s: %w", name, err))
			}
		}
	}
	for name := range header {
		if name == "Hazardd-Request" { // in every answer: the document's description says so
			continue
		}
		if told.MatchString(name) && !listed[name] {
			faults = append(faults, fmt.Errorf("the header %s is not listed", name))
		}
	}
	return errors.Join(faults...)
}

func (c *Contract) checkBody(pointer string, response map[string]any, a Answer) error {
	content := object(response["content"])
	if len(content) == 0 {
		if len(a.Body) > 0 && a.Method != http.MethodHead {
			return fmt.Errorf("there is a body, and none is listed: %.100q", a.Body)
		}
		return nil
	}
	mediaType, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("the media type %q cannot be read: %w", a.Header.Get("Content-Type"), err)
	}
	listed := mediaType
	if content[listed] == nil {
		listed = "*/*"
	}
	if content[listed] == nil {
		return fmt.Errorf("the media type %s is not listed", mediaType)
	}
	if a.Method == http.MethodHead || a.Header.Get("Content-Encoding") != "" || listed == "*/*" {
		return nil
	}
	schema := func(mediaType string) string { return pointer + "/content/" + escape(mediaType) + "/schema" }
	switch {
	case mediaType == "application/json" || strings.HasSuffix(mediaType, "+json"):
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.Body))
		if err != nil {
			return fmt.Errorf("the body is not JSON: %w", err)
		}
		if list, ok := value.([]any); ok && len(list) > sampled {
			value = list[:sampled]
		}
		return c.validate(schema(mediaType), value)
	case mediaType == "application/x-ndjson":
		list := []any{}
		for line := range bytes.Lines(a.Body) {
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
			if err != nil {
				return fmt.Errorf("line %d is not JSON: %w", len(list)+1, err)
			}
			if list = append(list, value); len(list) == sampled {
				break
			}
		}
		if object(object(content["application/json"])["schema"])["type"] == "array" {
			return c.validate(schema("application/json"), list)
		}
		if len(list) != 1 {
			return fmt.Errorf("%d lines for one record", len(list))
		}
		return c.validate(schema("application/json"), list[0])
	case mediaType == "text/plain":
		return c.validate(schema(mediaType), string(a.Body))
	}
	return nil
}

// problem checks an answer to what is no operation.
func (c *Contract) problem(a Answer, status int) error {
	if a.Status != status {
		return fmt.Errorf("no operation has this path and method: expected %d", status)
	}
	if a.Header.Get("Content-Type") != "application/problem+json" {
		return fmt.Errorf("expected a problem, got %s", a.Header.Get("Content-Type"))
	}
	if a.Method == http.MethodHead {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.Body))
	if err != nil {
		return err
	}
	return c.validate("/components/schemas/Problem", value)
}

// Validate holds a JSON value against the schema that a pointer leads to.
func (c *Contract) Validate(pointer string, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return c.validate(pointer, value)
}

func (c *Contract) validate(pointer string, value any) error {
	schema, err := c.schema(pointer)
	if err != nil {
		return err
	}
	err = schema.Validate(value)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		shown, _ := json.Marshal(value)
		return fmt.Errorf("%w\nof %.600s", invalid, shown)
	}
	return err
}

func (c *Contract) schema(pointer string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.schemas[pointer]; s != nil {
		return s, nil
	}
	// The pointer is a fragment of an address: its braces and stars are escaped once more.
	s, err := c.compiler.Compile(resource + "#" + (&url.URL{Fragment: pointer}).EscapedFragment())
	if err != nil {
		return nil, err
	}
	c.schemas[pointer] = s
	return s, nil
}
