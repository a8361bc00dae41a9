package poll

import (
	"net/http"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/coverage"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// A place is covered as long as its source is polled successfully. If the source stops responding,
// the place becomes stale one interval and the grace period after the first failed poll, on every
// node, whichever one polls. The next response makes it covered again.
func TestASourceThatGoesSilentMakesItsPlacesStale(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		src.Types, src.Feeds[0].Every = []hazard.Type{hazard.Storm}, 5*time.Minute
		src.Coverage = []source.Coverage{{Role: source.RoleResponsible, Countries: []string{"AT"}, Cite: "a test"}}
		m, err := coverage.New([]source.Source{src.Source})
		if err != nil {
			t.Fatal(err)
		}
		vienna := m.At(16.37, 48.21)
		elsewhere := src // a node that does not poll
		elsewhere.Disabled = true
		other := b.open()
		word := func() coverage.Word {
			t.Helper()
			here := m.Word(vienna, Readings(b.status(src)))
			kept, err := other.Sources.States(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if there := m.Word(vienna, Readings(new(States).Statuses(kept, hazard.At(time.Now()), []Source{elsewhere}))); there != here {
				t.Fatalf("%s at the node that polls, %s at another", here, there)
			}
			return here
		}
		b.net.text("a.example", list("x"))
		stop := b.start(b.poller(src))
		defer stop()
		time.Sleep(7 * time.Minute)
		if w := word(); w != coverage.Covered {
			t.Fatalf("%s after it was read", w)
		}
		b.net.serve("a.example", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
		asked := len(b.net.asks("a.example"))
		for len(b.net.asks("a.example")) == asked { // until the first poll fails
			time.Sleep(time.Second)
		}
		failed := time.Now()
		for word() == coverage.Covered {
			time.Sleep(time.Second)
			if time.Since(failed) > 20*time.Minute {
				t.Fatal("covered 20 minutes after its source went silent")
			}
		}
		if took := time.Since(failed); took > 5*time.Minute+grace+time.Second || took < 5*time.Minute {
			t.Errorf("stale %v after the first poll that failed", took)
		}
		if w := word(); w != coverage.Stale {
			t.Errorf("%s, want stale", w)
		}
		b.net.text("a.example", list("x"))
		time.Sleep(30 * time.Minute)
		if w := word(); w != coverage.Covered {
			t.Errorf("%s after it was read again", w)
		}
	})
}

// A source that was never read is not fresh, even if its first failure was recent.
func TestASourceThatWasNeverReadIsNotFresh(t *testing.T) {
	read := time.Now()
	r := Readings([]Status{{Name: "a", State: Failing}, {Name: "b", State: Failing, LastSuccess: &read}, {Name: "c", State: Disabled, LastSuccess: &read}})
	if r["a"].Fresh || !r["b"].Fresh || r["c"].Fresh || r["c"].Polled {
		t.Errorf("%+v", r)
	}
}
