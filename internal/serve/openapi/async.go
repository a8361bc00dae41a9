package openapi

import (
	_ "embed"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:embed asyncapi.yaml
var asyncSource []byte

var schemaRef = regexp.MustCompile(`"\$ref":"#/components/schemas/([^"]+)"`)

// discriminator is OpenAPI's. That of AsyncAPI has no mapping; the values of the property tell schemas apart without it.
var discriminator = regexp.MustCompile(`,"discriminator":\{"propertyName":"[^"]*","mapping":\{[^}]*\}\}`)

// Async is the AsyncAPI document of what the service sends by itself, for a service whose public address is base. Its schemas are those of the
// OpenAPI document. The caller may keep the bytes.
func Async(base string) ([]byte, error) {
	doc, err := asyncDocument()
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("public address: %w", err)
	}
	text := strings.ReplaceAll(doc, written, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(base))
	server := fmt.Sprintf(`"host":%q,"protocol":%q`, u.Host, u.Scheme)
	if u.Path != "" {
		server += fmt.Sprintf(`,"pathname":%q`, u.Path)
	}
	return []byte(strings.Replace(text, `"host":"127.0.0.1:8080","protocol":"http"`, server, 1)), nil
}

// asyncDocument is the document as it is written, with the schemas that it names. It is made when it is first asked for.
var asyncDocument = sync.OnceValues(func() (string, error) {
	text, err := convert(asyncSource)
	if err != nil {
		return "", err
	}
	var all struct {
		Components struct {
			Schemas map[string]jsontext.Value `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document(), &all); err != nil {
		return "", err
	}
	needed := map[string]jsontext.Value{}
	for todo := [][]byte{text}; len(todo) > 0; todo = todo[1:] {
		for _, m := range schemaRef.FindAllSubmatch(todo[0], -1) {
			name := string(m[1])
			if needed[name] != nil {
				continue
			}
			if needed[name] = discriminator.ReplaceAll(all.Components.Schemas[name], nil); len(needed[name]) == 0 {
				return "", fmt.Errorf("asyncapi.yaml: there is no schema %s", name)
			}
			todo = append(todo, needed[name])
		}
	}
	schemas, err := json.Marshal(needed, json.Deterministic(true))
	return strings.Replace(string(text), `"components":{`, `"components":{"schemas":`+string(schemas)+`,`, 1), err
})
