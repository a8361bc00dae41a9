package edit

import (
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
)

// TestAMemberThatIsNotKnownNamesTheOneThatWasMeant sends a body with misspelled members. The error
// names each, with the probably intended one, and lists all valid members once.
func TestAMemberThatIsNotKnownNamesTheOneThatWasMeant(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	members, err := decode([]byte(`{"hazard_name":"Flood","severity":"WARNING","colour":"red","status":"A","` + long + `":1}`))
	if err != nil {
		t.Fatal(err)
	}
	b, err := parse(hazardFields, &reading{}, members, create)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	lists := 0
	for _, f := range b.bad.Faults {
		said[strings.TrimPrefix(f.Field, "/")] = f.Detail
		if strings.Contains(f.Detail, "these can be: ") {
			lists++
		}
	}
	for name, want := range map[string]string{
		"hazard_name": "is hazard_Name meant?", "severity": "is severity_ID meant?", "colour": "is not a member that can be written",
		"status": "cannot be written here", long: "is not a member that can be written",
	} {
		if !strings.Contains(said[name], want) {
			t.Errorf("%.20s: %q, want %q", name, said[name], want)
		}
	}
	if lists != 1 {
		t.Errorf("the members are listed %d times, want once: %v", lists, (&hazard.InvalidError{Faults: b.bad.Faults}).Error()[:500])
	}
}
