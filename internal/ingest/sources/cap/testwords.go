package cap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/ingest/lenient"
)

// tests are sentences, in lowercase, from tests that were sent as real alerts.
var tests = []string{
	"this is a test", "this is only a test", "this is just a test", "test message", "test alert", "test warning", "for testing", "only a drill", "this is a drill",
	"this is an exercise", "ceci est un test", "ceci est un exercice", "c'est l'épreuve", "dies ist ein test", "dies ist eine übung", "probewarnung", "probealarm", "testwarnung", "sirenenprobe", "bundesweiter warntag", "bundesweiten warntag", "landesweiter warntag", "landesweiten warntag",
	"esto es una prueba", "esto es un simulacro", "questo è un test", "to je test",
}

// TestWords returns the words of an actual message that mark it as a test. A test that is sent as
// real must not be shown unchecked. A real alert must not be held because it tells people to
// exercise caution.
func TestWords(m *Alert) string {
	for i := range m.Information {
		in := &m.Information[i]
		for _, f := range []struct{ field, text string }{
			{"event", in.Event}, {"headline", in.Headline}, {"description", in.Description}, {"instruction", in.Instruction},
		} {
			found := ""
			low := strings.ToLower(f.text)
			switch {
			case f.field == "event" && lenient.HasWord(strings.ToUpper(f.text), "TEST", nil), lenient.HasWord(f.text, "TEST", nil),
				f.field != "instruction" && strings.HasPrefix(normal(f.text)+" ", "test "):
				found = "TEST"
			case f.field != "instruction" && (lenient.HasWord(f.text, "EXERCISE", carefully) || lenient.HasWord(f.text, "DRILL", carefully)):
				found = "EXERCISE or DRILL"
			default:
				if i := slices.IndexFunc(tests, func(w string) bool { return strings.Contains(low, w) }); i >= 0 {
					found = tests[i]
				}
			}
			if found != "" {
				return fmt.Sprintf("status is Actual, but %s says %q", f.field, found)
			}
		}
	}
	return ""
}

var carefully = []string{"CAUTION", "CARE", "DUE", "VIGILANCE", "EXTREME"}
