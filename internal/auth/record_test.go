package auth_test

import (
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/auth"
)

// One row that names what is no text does not hide all others: they are one JSON document.
func TestARowThatIsNoTextIsJSON(t *testing.T) {
	row := auth.Audit{Actor: "a\xff", Client: "\xfe", Subject: "\xffuser", Detail: "d\x80"}
	if text, err := json.Marshal(row.Record()); err != nil {
		t.Errorf("%v: %s", err, text)
	}
}
