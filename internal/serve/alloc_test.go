package serve_test

import (
	"fmt"
	"math"
	"net/http"
	"testing"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
)

// most is the maximum number of allocations for a request that is answered from memory.
const most = 5

// sink receives an answer and discards it.
type sink struct {
	header http.Header
	status int
	bytes  int
}

func (s *sink) Header() http.Header { return s.header }

func (s *sink) WriteHeader(status int) { s.status = status }

func (s *sink) Write(b []byte) (int, error) {
	s.bytes += len(b)
	return len(b), nil
}

// fill creates n hazards at once, and waits until readers see them.
func (p *inProcess) fill(n int) {
	p.t.Helper()
	last, err := p.Store.Write(p.t.Context(), now(), store.Origin{Admin: true}, func(tx *store.Tx) error {
		for i := range n {
			h := &hazard.Hazard{UUID: uuid.New(), Name: fmt.Sprintf("Flood %d", i), Description: "as the source says", Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Event,
				Status: hazard.Active, Start: now(), End: now(), Created: now(), LastUpdate: now(), Updated: now(), OrgID: -1}
			if err := tx.SaveHazard(h, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = p.Live.WaitFor(p.t.Context(), last)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func TestCostOfAListDoesNotGrowWithIt(t *testing.T) {
	test.NoRace(t) // whose sync.Pool forgets at random
	few, many := handle(t), handle(t)
	few.fill(10)
	many.fill(2000)
	for name, header := range map[string][]string{
		"whole":      nil,
		"compressed": {"Accept-Encoding", "gzip, br, zstd"},
	} {
		t.Run(name, func(t *testing.T) {
			cost := func(p *inProcess) (allocs float64, size int) {
				req := newRequest(t, p.tokens, "reader", "GET", "http://hazardd.example/hazards/active", nil, header...)
				w := &sink{header: http.Header{}}
				p.ServeHTTP(w, req) // the first request encodes the list and verifies the token
				size = w.bytes
				allocs = math.Inf(1)
				for range 5 { // meanwhile the followers of both may read the log, as each second
					allocs = min(allocs, testing.AllocsPerRun(200, func() {
						clear(w.header)
						w.status = 0
						p.ServeHTTP(w, req)
					}))
				}
				if w.status != 0 && w.status != 200 {
					t.Errorf("%d", w.status)
				}
				return allocs, size
			}
			a, small := cost(few)
			b, large := cost(many)
			t.Logf("10 hazards: %v allocations a request, %d bytes; 2,000 hazards: %v, %d bytes", a, small, b, large)
			if a != b || large < 20*small && name == "whole" {
				t.Errorf("10 hazards cost %v allocations, 2,000 cost %v", a, b)
			}
			if b > most {
				t.Errorf("a request costs %v allocations, more than %v", b, most)
			}
		})
	}
}
