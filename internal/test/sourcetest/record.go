package sourcetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Changed returns a record in which, of each pair of texts, the first is replaced by the second, where it stands first. It panics
// if it stands nowhere: the record that a test means would not be the one that it reads.
func Changed(record string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(record, pairs[i]) {
			panic(fmt.Sprintf("%q is not in %q", pairs[i], record))
		}
		record = strings.Replace(record, pairs[i], pairs[i+1], 1)
	}
	return record
}

// At is the time that an RFC 3339 text says. It panics if it says none.
func At(text string) hazard.Instant {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return hazard.At(t)
}

// Rejects checks what holds for every reject of a batch.
func Rejects(t testing.TB, b *source.Batch) {
	t.Helper()
	for _, r := range b.Rejects {
		if r.Record == "" || r.Reason == "" || r.Reason != hazard.CleanLine(r.Reason) || len(r.Reason) > 1000 || len(r.Raw) > source.MaxKept {
			t.Errorf("reject %+v", r)
		}
	}
}
