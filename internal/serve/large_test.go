package serve_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
)

// pieces receives an answer and records its largest piece.
type pieces struct {
	sink
	body    []byte
	largest int
}

func (p *pieces) Write(b []byte) (int, error) {
	p.body = append(p.body, b...)
	p.largest = max(p.largest, len(b))
	return len(b), nil
}

// A list of large areas is never completely in memory (once 2,740 areas took 2.7 GB and a minute): it lies in a
// file, or is sent while it is made where that would be too large as well.
func TestALargeListIsNeverWholeInMemory(t *testing.T) {
	test.Seldom(t)
	test.NoRace(t)
	t.Run("in a file", func(t *testing.T) { largeList(t, true) })
	t.Run("sent as it is made", func(t *testing.T) {
		largeList(t, false, func(c *serve.Config) { c.Answers = app.Memory(128 << 20).Answers() })
	})
}

func largeList(t *testing.T, inFile bool, alter ...func(*serve.Config)) {
	p := handle(t, alter...)
	var ring strings.Builder
	const positions = 20_000
	for i := range positions {
		fmt.Fprintf(&ring, "[%.6f,%.6f],", float64(i)*0.0001, 10+float64(i%2)*0.000001)
	}
	area := `{"type":"Polygon","coordinates":[[` + ring.String() + `[1,11],[0,10]]]}`
	const n = 75
	last, err := p.Store.Write(t.Context(), now(), store.Origin{}, func(tx *store.Tx) error {
		for i := range n {
			refs, err := tx.KeepAreas([]hazard.Area{{Role: hazard.AlertArea, Geometry: area}})
			if err != nil {
				return err
			}
			h := &hazard.Hazard{UUID: uuid.New(), Name: fmt.Sprintf("Flood %d", i), Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Event,
				Status: hazard.Active, Start: now(), End: now(), Created: now(), LastUpdate: now(), Updated: now(), OrgID: -1, Areas: refs}
			if err := tx.SaveHazard(h, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = p.Live.WaitFor(t.Context(), last)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/hazards/active?f=geojson", "/hazards/active?f=csv", "/hazards/active?f=kml"} {
		t.Run(path, func(t *testing.T) {
			req := newRequest(t, p.tokens, "reader", "GET", "http://hazardd.example"+path, nil)
			w := &pieces{sink: sink{header: http.Header{}}}
			p.ServeHTTP(w, req)
			_, name, _ := strings.Cut(path, "=")
			if got := shown(t, formatNamed(t, name), false, w.body); got != n {
				t.Errorf("%d hazards of %d", got, n)
			}
			if len(w.body) < n*positions*10 || w.largest > 3*len(area) {
				t.Errorf("%d bytes arrived in pieces of up to %d", len(w.body), w.largest)
			}
			if length := w.header.Get("Content-Length"); (length != "") != inFile {
				t.Errorf("it has the length %q", length)
			}
		})
	}
}
