package openapi_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	spec "github.com/sv-tools/openapi"

	"github.com/hazardd/hazardd/internal/serve/openapi"
)

const base = "https://hazards.example.org"

// validate returns the errors of a document: of its structure, references and examples, and unused
// parts.
func validate(t *testing.T, text []byte) error {
	t.Helper()
	var doc *spec.Extendable[spec.OpenAPI]
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	v, err := spec.NewValidator(doc)
	if err != nil {
		return err
	}
	return v.ValidateSpec()
}

func TestTheDocumentIsOpenAPI(t *testing.T) {
	if err := validate(t, openapi.JSON(base)); err != nil {
		t.Error(err)
	}
}

// The validator finds the errors that it is meant to find.
func TestAFaultInTheDocumentIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, replace := range map[string][2]string{
		"an example that its schema does not let through": {`"status":"A","autoexpire":"Y"`, `"status":"A","autoexpire":"perhaps"`},
		"a parameter's example that does not fit":         {`"example":50000`, `"example":-1`},
		"a part that nothing uses":                        {`"securitySchemes":`, `"examples":{"none":{"value":1}},"securitySchemes":`},
		"two operations of one name":                      {`"operationId":"authorize"`, `"operationId":"listTypes"`},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.ReplaceAll(string(openapi.JSON(base)), replace[0], replace[1])
			if text == string(openapi.JSON(base)) {
				t.Fatalf("the document has no %s", replace[0])
			}
			if validate(t, []byte(text)) == nil {
				t.Error("it is not found")
			}
		})
	}
}

// keywords are the keywords of JSON Schema 2020-12 that the document uses. Others have no meaning
// and are typing errors, such as the result of an unquoted comma in a description.
var keywords = []string{"$ref", "additionalProperties", "const", "contentEncoding", "contentMediaType", "default", "description", "discriminator", "enum", "examples", "exclusiveMinimum", "format",
	"items", "maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum", "not", "oneOf", "pattern", "properties", "required", "type", "unevaluatedProperties"}

func TestSchemasHaveKnownKeywordsAlone(t *testing.T) {
	var doc any
	if err := json.Unmarshal(openapi.JSON(base), &doc); err != nil {
		t.Fatal(err)
	}
	seen := 0
	var walk func(at string, v any, isSchema bool)
	walk = func(at string, v any, isSchema bool) {
		switch v := v.(type) {
		case map[string]any:
			for name, value := range v {
				at := at + "/" + name
				switch {
				case isSchema && !slices.Contains(keywords, name):
					t.Errorf("%s is no keyword", at)
				case name == "example" || name == "examples" || name == "const" || name == "default" || name == "discriminator":
				case isSchema && name == "properties":
					for member, schema := range value.(map[string]any) {
						walk(at+"/"+member, schema, true)
					}
				case name == "schema":
					walk(at, value, true)
				case name == "schemas":
					for _, schema := range value.(map[string]any) {
						seen++
						walk(at, schema, true)
					}
				default:
					walk(at, value, isSchema && (name == "items" || name == "not" || name == "oneOf" || name == "additionalProperties"))
				}
			}
		case []any:
			for _, item := range v {
				walk(at, item, isSchema)
			}
		}
	}
	walk("", doc, false)
	if seen < 50 {
		t.Errorf("%d schemas were looked at", seen)
	}
}

// A validator does not look at a discriminator, but generated clients decode by it alone. So it leads
// each value of its property to the one schema that has this value.
func TestDiscriminatorsLeadToTheSchemasOfTheirValues(t *testing.T) {
	type value struct {
		Const string   `json:"const"`
		Enum  []string `json:"enum"`
	}
	type schema struct {
		OneOf []struct {
			Ref string `json:"$ref"`
		} `json:"oneOf"`
		Discriminator *struct {
			Property string            `json:"propertyName"`
			Mapping  map[string]string `json:"mapping"`
		} `json:"discriminator"`
		Required   []string                  `json:"required"`
		Properties map[string]jsontext.Value `json:"properties"`
	}
	var doc struct {
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	if err := jsonv2.Unmarshal(openapi.JSON(base), &doc); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for name, s := range doc.Components.Schemas {
		if s.Discriminator == nil {
			continue
		}
		seen++
		want := map[string]string{}
		for _, one := range s.OneOf {
			of := doc.Components.Schemas[strings.TrimPrefix(one.Ref, "#/components/schemas/")]
			var v value
			if err := jsonv2.Unmarshal(of.Properties[s.Discriminator.Property], &v); err != nil || !slices.Contains(of.Required, s.Discriminator.Property) {
				t.Errorf("%s: %s does not always have %s: %v", name, one.Ref, s.Discriminator.Property, err)
			}
			for _, word := range append(v.Enum, v.Const) {
				if word != "" {
					want[word] = one.Ref
				}
			}
		}
		if diff := cmp.Diff(want, s.Discriminator.Mapping); diff != "" {
			t.Errorf("%s: values of its schemas, and the mapping:\n%s", name, diff)
		}
	}
	if n := strings.Count(string(openapi.JSON(base)), `"discriminator":`); seen != n || n == 0 {
		t.Errorf("%d of %d discriminators are those of a component, and were looked at", seen, n)
	}
}

// The fields of the objects of OpenAPI 3.1 that the document uses.
type (
	rootFields struct {
		OpenAPI    string                          `json:"openapi"`
		Dialect    string                          `json:"jsonSchemaDialect"`
		Info       any                             `json:"info"`
		Servers    any                             `json:"servers"`
		Security   any                             `json:"security"`
		Tags       any                             `json:"tags"`
		Paths      map[string]map[string]rawObject `json:"paths"`
		Webhooks   map[string]map[string]rawObject `json:"webhooks"`
		Components struct {
			SecuritySchemes any                        `json:"securitySchemes"`
			Parameters      map[string]parameterFields `json:"parameters"`
			Headers         map[string]parameterFields `json:"headers"`
			Responses       map[string]responseFields  `json:"responses"`
			Schemas         any                        `json:"schemas"`
		} `json:"components"`
	}
	rawObject       = jsontext.Value
	operationFields struct {
		OperationID string            `json:"operationId"`
		Tags        []string          `json:"tags"`
		Summary     string            `json:"summary"`
		Description string            `json:"description"`
		Security    any               `json:"security"`
		Parameters  []parameterFields `json:"parameters"`
		RequestBody struct {
			Required bool                   `json:"required"`
			Content  map[string]mediaFields `json:"content"`
		} `json:"requestBody"`
		Responses map[string]responseFields `json:"responses"`
	}
	parameterFields struct {
		Ref         string `json:"$ref"`
		Name        string `json:"name"`
		In          string `json:"in"`
		Description string `json:"description"`
		Required    bool   `json:"required"`
		Style       string `json:"style"`
		Explode     bool   `json:"explode"`
		Schema      any    `json:"schema"`
		Example     any    `json:"example"`
		Examples    any    `json:"examples"`
	}
	mediaFields struct {
		Schema   any `json:"schema"`
		Example  any `json:"example"`
		Examples any `json:"examples"`
		Encoding any `json:"encoding"`
	}
	responseFields struct {
		Ref         string                     `json:"$ref"`
		Description string                     `json:"description"`
		Headers     map[string]parameterFields `json:"headers"`
		Content     map[string]mediaFields     `json:"content"`
	}
)

func TestObjectsHaveKnownFieldsAloneAndPathsTheirParameters(t *testing.T) {
	var doc rootFields
	if err := jsonv2.Unmarshal(openapi.JSON(base), &doc, jsonv2.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	variable := regexp.MustCompile(`\{([^}]*)\}`)
	for _, paths := range []map[string]map[string]rawObject{doc.Paths, doc.Webhooks} {
		for path, item := range paths {
			var shared []parameterFields
			if text := item["parameters"]; text != nil {
				if err := jsonv2.Unmarshal(text, &shared, jsonv2.RejectUnknownMembers(true)); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
			for method, text := range item {
				if method == "parameters" {
					continue
				}
				if !slices.Contains([]string{"get", "post", "put", "patch", "delete"}, method) {
					t.Errorf("%s has the method %s", path, method)
				}
				var o operationFields
				if err := jsonv2.Unmarshal(text, &o, jsonv2.RejectUnknownMembers(true)); err != nil {
					t.Errorf("%s %s: %v", method, path, err)
				}
				var want, got []string
				for _, m := range variable.FindAllStringSubmatch(path, -1) {
					want = append(want, m[1])
				}
				for _, p := range slices.Concat(shared, o.Parameters) {
					if p.Ref != "" {
						p = doc.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
					}
					if p.In == "path" {
						got = append(got, p.Name)
					}
				}
				slices.Sort(want)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("%s %s has the parameters of the path %q", method, path, got)
				}
			}
		}
	}
}

func TestTheDocumentNamesTheServiceItIsOf(t *testing.T) {
	for _, address := range []string{base, `https://a.example/"quoted"`, "http://127.0.0.1:8080/below"} {
		var doc struct {
			Servers []struct {
				URL string `json:"url"`
			} `json:"servers"`
		}
		if err := json.Unmarshal(openapi.JSON(address), &doc); err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		if len(doc.Servers) != 2 || doc.Servers[0].URL != address || doc.Servers[1].URL != address+"/key/{key}" {
			t.Errorf("of %s the servers are %+v", address, doc.Servers)
		}
	}
}

func TestPeopleReadTheWholeDocument(t *testing.T) {
	d, err := openapi.Read()
	if err != nil {
		t.Fatal(err)
	}
	var operations []openapi.Operation
	for _, tag := range d.Tags {
		if len(tag.Operations) == 0 || tag.Text == "" {
			t.Errorf("the tag %s has %d operations, and the description %q", tag.Name, len(tag.Operations), tag.Text)
		}
		operations = append(operations, tag.Operations...)
	}
	for _, o := range operations {
		if o.Summary == "" || len(o.Answers) == 0 {
			t.Errorf("%s %s: %+v", o.Method, o.Path, o)
		}
		for _, p := range o.Parameters {
			if p.Text == "" || len(p.Type) == 0 || p.In == "path" && p.Example == "" {
				t.Errorf("%s: parameter %+v", o.ID, p)
			}
		}
	}
	schemes := map[string]string{}
	for _, o := range operations {
		schemes[o.ID] = o.Scheme
	}
	for id, want := range map[string]string{"getHazard": "accessToken", "getHazardPage": "session", "openSession": "accessToken", "closeSession": "", "authorize": ""} {
		if schemes[id] != want {
			t.Errorf("%s takes %q, want %q", id, schemes[id], want)
		}
	}
	i := slices.IndexFunc(operations, func(o openapi.Operation) bool { return o.ID == "createHazard" })
	if i < 0 {
		t.Fatal("there is no createHazard")
	}
	var statuses []string
	for _, a := range operations[i].Answers {
		statuses = append(statuses, a.Status)
	}
	if got, want := strings.Join(statuses, " "), "200 201 202 400 403 408 409 412 413 429 500 503 507"; got != want {
		t.Errorf("the answers of createHazard are %s, want %s", got, want)
	}
	if !strings.Contains(operations[i].Bodies[0].Example, "\n  \"type_ID\": \"FLOOD\",\n") {
		t.Errorf("its example is %s", operations[i].Bodies[0].Example)
	}
}

func TestTheAsyncDocumentHoldsTheSchemasThatItNames(t *testing.T) {
	text, err := openapi.Async("https://hazards.example.org:8443/there")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		AsyncAPI   string
		Servers    map[string]struct{ Host, Protocol, Pathname string }
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if s := doc.Servers["hazardd"]; doc.AsyncAPI != "3.0.0" || s.Host != "hazards.example.org:8443" || s.Protocol != "https" || s.Pathname != "/there" || strings.Contains(string(text), "127.0.0.1") {
		t.Errorf("%+v", doc.Servers)
	}
	named := regexp.MustCompile(`#/components/schemas/(\w+)`).FindAllStringSubmatch(string(text), -1)
	if len(named) == 0 || doc.Components.Schemas["Change"] == nil || doc.Components.Schemas["Hazard"] == nil {
		t.Errorf("%d names, %d schemas", len(named), len(doc.Components.Schemas))
	}
	if strings.Contains(string(text), `"discriminator":`) {
		t.Error("a discriminator of OpenAPI is none of AsyncAPI")
	}
	for _, m := range named {
		if doc.Components.Schemas[m[1]] == nil {
			t.Errorf("no schema %s", m[1])
		}
	}
}
