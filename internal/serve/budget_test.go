package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
)

// put creates hazards with such large descriptions, and for the first that many text products of 1
// MB.
func (p *inProcess) put(hazards, description, products int) {
	p.t.Helper()
	last, err := p.Store.Write(p.t.Context(), now(), store.Origin{}, func(tx *store.Tx) error {
		var first int64
		for i := range hazards {
			h := &hazard.Hazard{UUID: uuid.New(), Name: fmt.Sprintf("Flood %d", i), Description: strings.Repeat("w", description), Type: hazard.Flood, Severity: hazard.Watch,
				Category: hazard.Event, Status: hazard.Active, Start: now(), End: now(), Created: now(), LastUpdate: now(), Updated: now(), OrgID: -1}
			if err := tx.SaveHazard(h, nil); err != nil {
				return err
			}
			if first == 0 {
				first = h.ID
			}
		}
		for i := range products {
			product := &hazard.Product{UUID: uuid.New(), HazardID: first, Title: fmt.Sprintf("Note %d", i), Type: hazard.TextProduct, Data: strings.Repeat("x", 1_000_000), OrgID: -1}
			if err := tx.SaveProduct(product); err != nil {
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

// unread is an answer whose reader accepts nothing until it is released.
type unread struct {
	sink
	begun chan<- struct{} // receives a value at the first write
	read  <-chan struct{}
	once  sync.Once
}

func (u *unread) Write(b []byte) (int, error) {
	u.once.Do(func() { u.begun <- struct{}{} })
	<-u.read
	return u.sink.Write(b)
}

// The memory of one user's requests is limited, whatever they request and however many of them are
// not read (L1, R3).
func TestReadersWhoDoNotReadHoldABoundedAmountOfMemory(t *testing.T) {
	test.SeldomButRaced(t)
	limits := encoded.Limits{All: 96 << 20, User: 24 << 20, Wait: time.Millisecond}
	p := handle(t, func(c *serve.Config) { c.Answers = limits })
	p.put(100, 90_000, 30)
	const requests = 60
	paths := []string{"/hazards/1/products", "/hazards?limit=1000&f=kml", "/changes?limit=1000", "/hazards/1/changes?limit=1000", "/hazards?limit=1000", "/ogc/collections/hazards/items?limit=1000"}
	for _, path := range paths[:test.Rounds(len(paths), 2)] {
		t.Run(path, func(t *testing.T) {
			p.do("reader", "GET", path, nil) // prepares what readers share
			var before, during runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			begun, read := make(chan struct{}, requests), make(chan struct{})
			var refused atomic.Int32
			var all sync.WaitGroup
			for range requests {
				all.Go(func() {
					w := &unread{sink: sink{header: http.Header{}}, begun: begun, read: read}
					p.ServeHTTP(w, newRequest(t, p.tokens, "reader", "GET", "http://hazardd.example"+path, nil))
					if w.status == http.StatusTooManyRequests {
						refused.Add(1)
						if w.header.Get("Retry-After") == "" {
							t.Error("a refusal without Retry-After")
						}
					} else if w.status != 0 && w.status != 200 {
						t.Errorf("status %d", w.status)
					}
				})
			}
			for range requests { // each is being written, or refused
				<-begun
			}
			runtime.GC()
			runtime.GC() // frees what pools keep
			runtime.ReadMemStats(&during)
			grown := int64(during.HeapAlloc) - int64(before.HeapAlloc)
			if grown > 4*limits.User { // 60 of these answers would be at least 250 MB
				t.Errorf("the heap has grown by %d bytes for %d unread requests", grown, requests)
			}
			close(read)
			all.Wait()
			again := p.do("reader", "GET", path, nil)
			t.Logf("the heap grew by %d MiB, %d were refused; then %d with %d bytes", grown>>20, refused.Load(), again.Status, len(again.Body))
			if again.Status != 200 {
				t.Errorf("after everything was read: %d %.200s", again.Status, again.Body)
			}
		})
	}
}

// Pages are limited in bytes as well as in number, and continue exactly.
func TestPagesOfASearchAreCutByBytes(t *testing.T) {
	test.Seldom(t)
	test.NoRace(t)
	p := handle(t)
	const hazards = 120
	p.put(hazards, 90_000, 0)
	name := regexp.MustCompile(`Flood \d+\b`)
	for _, path := range []string{"/hazards?limit=1000", "/hazards/active?limit=1000", "/hazards?limit=1000&f=geojson", "/hazards?limit=1000&f=csv", "/hazards?limit=1000&f=ndjson", "/ogc/collections/hazards/items?limit=1000"} {
		t.Run(path, func(t *testing.T) {
			seen, pages := map[string]int{}, 0
			for next := path; next != ""; pages++ {
				a := p.do("reader", "GET", next, nil)
				if a.Status != 200 || len(a.Body) > 5<<20 || pages > hazards {
					t.Fatalf("page %d: %d with %d bytes", pages, a.Status, len(a.Body))
				}
				if pages == 0 && strings.HasPrefix(path, "/ogc") {
					var items struct {
						NumberReturned int               `json:"numberReturned"`
						Features       []json.RawMessage `json:"features"`
					}
					if err := json.Unmarshal(a.Body, &items); err != nil || items.NumberReturned != len(items.Features) {
						t.Errorf("numberReturned is %d, there are %d (%v)", items.NumberReturned, len(items.Features), err)
					}
				}
				here := map[string]bool{}
				for _, n := range name.FindAllString(string(a.Body), -1) {
					here[n] = true
				}
				for n := range here {
					seen[n]++
				}
				next = nextOf(t, a.Header)
			}
			if len(seen) != hazards || pages < 3 {
				t.Errorf("%d hazards on %d pages, want %d on several", len(seen), pages, hazards)
			}
			for n, times := range seen {
				if times != 1 {
					t.Errorf("%s is on %d pages", n, times)
				}
			}
		})
	}
	if a := p.do("reader", "GET", "/hazards/active?type=FLOOD", nil); nextOf(t, a.Header) != "" || strings.Count(string(a.Body), `"hazard_ID"`) != hazards {
		t.Error("a list of active hazards without a limit is incomplete")
	}
}

// nextOf returns the path of the next page; empty if there is none.
func nextOf(t *testing.T, h http.Header) string {
	t.Helper()
	for _, link := range h["Link"] {
		if strings.Contains(link, `rel="next"`) {
			address, _, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
			u, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			return u.RequestURI()
		}
	}
	return ""
}

// Lists of products that are too large for memory have the same text when streamed, and are
// revalidated.
func TestLargeListsOfProductsAreStreamed(t *testing.T) {
	p := handle(t)
	p.put(1, 10, 3)
	a := p.do("reader", "GET", "/hazards/1/products", nil)
	var list []struct {
		Title string `json:"title"`
		Data  string `json:"data"`
	}
	if err := json.Unmarshal(a.Body, &list); err != nil || len(list) != 3 || list[2].Title != "Note 2" || len(list[2].Data) != 1_000_000 {
		t.Fatalf("%d: %d products, %v", a.Status, len(list), err)
	}
	tag := a.Header.Get("Etag")
	if b := p.do("reader", "GET", "/hazards/1/products", nil, "If-None-Match", tag); b.Status != http.StatusNotModified || len(b.Body) != 0 || b.Header.Get("Etag") != tag {
		t.Errorf("If-None-Match %s: %d with %d bytes", tag, b.Status, len(b.Body))
	}
	if b := p.do("reader", "HEAD", "/hazards/1/products", nil); b.Status != 200 || len(b.Body) != 0 || b.Header.Get("Content-Type") != "application/json" {
		t.Errorf("HEAD: %d with %d bytes, %v", b.Status, len(b.Body), b.Header)
	}
}
