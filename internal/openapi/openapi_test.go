package openapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	spec "github.com/sv-tools/openapi"

	"hazardd/internal/openapi"
)

func TestTheDocumentIsOpenAPI(t *testing.T) {
	var doc *spec.Extendable[spec.OpenAPI]
	if err := json.Unmarshal(openapi.JSON("https://hazards.example.org"), &doc); err != nil {
		t.Fatal(err)
	}
	v, err := spec.NewValidator(doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.ValidateSpec(); err != nil {
		for line := range strings.Lines(err.Error()) {
			t.Error(line)
		}
	}
}
