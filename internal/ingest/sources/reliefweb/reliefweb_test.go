package reliefweb

import (
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

const file = "reliefweb/rss-disasters-20260627.xml"

var laws = sourcetest.Source{Parse: Parse, File: file, At: "2026-07-08T00:00:00Z", Element: "item"}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) { sourcetest.Fuzz(f, laws, `<rss><item><link>`) }

// TestRecorded checks the recorded items by hand.
func TestRecorded(t *testing.T) {
	if s := Source(); s.Check() != nil {
		t.Fatal(s.Check())
	}
	b, err := Parse(recordings.Read(t, "feeds/"+file), laws.Now(t))
	if err != nil || len(b.Rejects) > 0 {
		t.Fatalf("%v: %+v", err, b.Rejects)
	}
	got := ""
	for _, r := range b.Reports {
		got += strings.Join([]string{r.Key, string(r.Type), r.Places[0], r.Start.Time().UTC().Format(time.DateOnly), r.Name}, " ") + "\n"
		if r.Severity != hazard.Information || len(r.Notes) > 0 || r.URL == "" || r.Refs[0] != "glide:"+r.Key {
			t.Errorf("%+v", r)
		}
	}
	if len(b.Reports) != 5 || b.Ignored != 2 {
		t.Errorf("%d reports, %d ignored: %s", len(b.Reports), b.Ignored, got)
	}
	for _, want := range []string{"FL-2026-000106-GEO FLOOD ISO3166-1:GE 2026-06-27 Georgia: Floods - Jun 2026\n", "EP-2026-000107-CAF BIOMEDICAL ISO3166-1:CF 2026-06-26 Central African Republic: Cholera Outbreak - Jun 2026\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}
