package store_test

import (
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/store"
)

// Every column that can hold text is in the inventory of redactions, with how it is cleaned or with
// what else it holds; and the inventory names no column that is not there.
func TestEveryPlaceThatCanHoldTextIsInTheInventory(t *testing.T) {
	s := open(t, t.TempDir())
	all, err := s.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]store.Holding{}
	for _, h := range all {
		if places[h.Place] = h; (h.Text == "") == (h.Other == "") {
			t.Errorf("%s: the inventory says neither how a redaction cleans it nor what else it holds, or both; add it to textColumns in inventory.go", h.Place)
		}
	}
	for _, name := range store.ListedColumns() {
		if _, ok := places[name]; !ok && !strings.HasPrefix(name, "hazard_words.") {
			t.Errorf("the inventory lists %s, which the schema lacks", name)
		}
	}
	if len(s.Unreachable()) < 8 {
		t.Errorf("unreachable are only %q", s.Unreachable())
	}
}
