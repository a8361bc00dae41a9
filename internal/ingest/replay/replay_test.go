package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/replay"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/mirror"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/blob"
)

// document is a document that the tests' sources publish.
type document struct {
	Whole  bool
	Links  []string
	Events []struct {
		Key, Place, Name string
		Version          int64
	}
}

// web serves responses by address; they change at set times.
type web struct {
	mu    sync.Mutex
	pages map[string]string
}

func (w *web) set(pages map[string]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.Copy(w.pages, pages)
}

func (w *web) page(address string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	page, ok := w.pages[address]
	return page, ok && page != ""
}

func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	status := http.StatusOK
	page, ok := w.page(r.URL.String())
	if !ok {
		status = http.StatusNotFound
	}
	return &http.Response{StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(page)), ContentLength: int64(len(page)), Request: r}, nil
}

// Raw responds to the mirror source.
func (w *web) Raw(_ context.Context, path []string, _ ...client.CallOption) (one client.Record[[]byte], err error) {
	page, ok := w.page("mirror:" + strings.Join(path, "/"))
	if !ok {
		return one, &client.Problem{Status: http.StatusNotFound}
	}
	one.Item = []byte(page)
	return one, nil
}

// sources are the tests' sources: an index of documents, a source whose reports name places, and a
// mirror.
type sources map[string]poll.Source

func (s sources) Find(name string) (poll.Source, error) {
	src, ok := s[name]
	if !ok {
		return src, fmt.Errorf("%w: %s", hazard.ErrNotFound, name)
	}
	return src, nil
}

func (sources) Intake(s *store.Store) *fuse.Intake {
	return fuse.New(s, fuse.Known{Places: map[string]source.Places{"zones": zones{s}}})
}

// zones are the places with known shapes.
type zones struct{ store *store.Store }

func (z zones) Shape(ctx context.Context, code string) (geo.Shape, bool) {
	text, err := z.store.Sources.Place(ctx, "zones", code)
	if err != nil {
		return geo.Shape{}, false
	}
	shape, err := geo.ParseLoose([]byte(text))
	return shape, err == nil
}

func sourceOf(name string) poll.Source {
	return poll.Source{Source: source.Source{Name: name, Title: name, Lists: source.Lists{Complete: source.Yes, Confirm: 1},
		Feeds: []source.Feed{{URL: "https://" + name + ".example/feed", Every: time.Minute, MaxBytes: 1 << 20}},
		Parse: func(payload []byte, now hazard.Instant) (source.Batch, error) {
			var doc document
			if err := json.Unmarshal(payload, &doc); err != nil {
				return source.Batch{}, source.Errorf("%v", err)
			}
			b := source.Batch{Whole: doc.Whole}
			for _, l := range doc.Links {
				b.Links = append(b.Links, source.Link{URL: l})
			}
			for _, e := range doc.Events {
				r := hazard.Report{Source: name, Key: e.Key, Version: e.Version, Name: e.Name + e.Key, Type: hazard.Flood, Severity: hazard.Watch, Start: 1795000000000, End: new(hazard.Instant(4000000000000)),
					Point: &hazard.Point{Lon: 1, Lat: 2}}
				if e.Place != "" {
					r.Places, r.Point = []string{e.Place}, nil
				}
				b.Read++
				b.Reports = append(b.Reports, r)
			}
			return b, nil
		}}}
}

// row is a hazard in the list of another server.
func row(n int, name string, updated int64) string {
	return fmt.Sprintf(`{"hazard_ID":%d,"uuid":"f2762e72-5169-487e-a3fa-%012d","hazard_Name":%q,"type_ID":"FLOOD","severity_ID":"WARNING","category_ID":"EVENT","status":"A","autoexpire":"N",
		"start_Date":"1795000000000","last_Update":"%d","latitude":1,"longitude":%d,"product_total":"1"}`, n, n, name, updated, 10*n)
}

// Not only lists are replayed, but everything that polling does: documents of an index, events that
// a source deletes, places whose shapes arrive later, and reports of another server.
func TestEveryKindOfDecisionIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.UnixMilli(1795000000000).Add(time.Hour))) // when all reports are out
		dir := t.TempDir()
		s, err := store.Open(t.Context(), dir, "sqlite:?synchronous=off")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		keeper, err := evidence.Open(s, dir, blob.Settings{}, evidence.Limits{Age: 24 * time.Hour, Bytes: 1 << 20}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer keeper.Close()
		net := &web{pages: map[string]string{}}
		index, placed, copied := sourceOf("index"), sourceOf("zones"), sourceOf("mirror")
		index.Missing = func(_, event string, _, _ hazard.Instant) string { return "https://index.example/" + event }
		placed.PlaceURL = func(code string) string { return "https://zones.example/" + code }
		placed.ParsePlace = func(payload []byte) (string, []byte, string, error) {
			return string(payload), []byte(`{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}`), "Zone " + string(payload), nil
		}
		other := mirror.New("mirror", nil, net)
		copied.Read, copied.Taken = other.Read, other.Taken
		known := sources{"index": index, "zones": placed, "mirror": copied}
		in := known.Intake(s)
		p, err := poll.New(poll.Config{Store: s, Intake: in, Sources: slices.Collect(maps.Values(known)), Evidence: keeper, Transport: net, Version: "1", Contact: "ops@example.org",
			Random: func() float64 { return 0 }, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.Run(ctx) }()

		event := func(key, more string) string { return fmt.Sprintf(`{"Key":%q,"Version":1%s}`, key, more) }
		product := `[{"product_ID":1,"uuid":"12776eb9-2585-4d93-9001-000000000001","parent_ID":0,"security_Flag":"A","org_IDs":"","title":"Note","product_Type":"TEXT_PRODUCT","data":"words"}]`
		net.set(map[string]string{
			"https://index.example/feed": `{"Links":["https://index.example/a","https://index.example/b"],"Events":[` + event("c", "") + `,` + event("d", "") + `]}`,
			"https://index.example/a":    `{"Events":[` + event("a", "") + `]}`,
			"https://index.example/b":    `{"Events":[` + event("b", "") + `]}`,
			"https://index.example/c":    `{"Events":[` + event("c", "") + `]}`,
			"https://zones.example/feed": `{"Whole":true,"Events":[` + event("e", `,"Place":"Z1"`) + `,` + event("f", `,"Place":"Z2"`) + `,` + event("g", `,"Place":"Z1"`) + `]}`,
			"https://zones.example/Z1":   "Z1", "https://zones.example/Z2": "Z2",
			"mirror:hazards/active":     "[" + row(1, "Flood - one", 1795000000001) + "," + row(2, "Flood - two", 1795000000001) + "]",
			"mirror:hazards/1/products": product, "mirror:hazards/2/products": "[]",
		})
		time.Sleep(5 * time.Minute)
		net.set(map[string]string{ // c and d are no longer listed, but c still has a detail; one mirrored hazard changes and one disappears
			"https://index.example/feed": `{"Links":["https://index.example/a","https://index.example/b"],"Events":[]}`,
			"https://zones.example/feed": `{"Whole":true,"Events":[` + event("e", `,"Place":"Z1"`) + `]}`,
			"mirror:hazards/active":      "[" + row(1, "Flood - one, higher", 1795000000002) + "]",
			"mirror:hazards/1/products":  strings.Replace(product, "words", "other words", 1),
		})
		time.Sleep(30 * time.Minute)
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}

		kinds := map[string]int{}
		receipts, err := s.Evidence.Receipts(t.Context(), 0, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range receipts {
			kinds[r.Kind]++
		}
		for _, kind := range []string{evidence.Begun, evidence.Feed, evidence.Document, evidence.Gone, evidence.Place, evidence.Settled, evidence.Batch} {
			if kinds[kind] == 0 {
				t.Errorf("no receipt of kind %q: the test does not reach it (%v)", kind, kinds)
			}
		}
		var active []string
		for _, name := range []string{"index", "zones", "mirror"} {
			events, err := s.Reports.ActiveEvents(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				active = append(active, e.Event)
			}
		}
		slices.Sort(active)
		if got := strings.Join(active, " "); got != "a b c e f2762e72-5169-487e-a3fa-000000000001" {
			t.Errorf("active: %s", got)
		}
		again := func() *replay.Result {
			t.Helper()
			res, err := replay.Run(t.Context(), s, keeper, known, replay.Span{To: hazard.MaxInstant}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		res := again()
		var told bytes.Buffer
		for _, d := range res.Differences {
			fmt.Fprintf(&told, "\n%s %s: %s", d.Name, d.At.Format(time.TimeOnly), d.What)
		}
		t.Logf("%v: %d changes of %d hazards and products", kinds, res.Changes, res.Same)
		if res.Differ != 0 || res.Same < 10 || res.Lost+res.ByPeople+res.Older > 0 || res.Receipts != len(receipts) {
			t.Errorf("%+v%s", res, told.String())
		}
		if _, err := s.Write(t.Context(), hazard.At(time.Now()), store.Origin{Source: "mirror"}, func(tx *store.Tx) error { // a different decision
			h, err := tx.Hazard(1)
			if err != nil {
				return err
			}
			changed := *h
			changed.Name += ", as decided otherwise"
			return tx.SaveHazard(&changed, h)
		}); err != nil {
			t.Fatal(err)
		}
		if res := again(); res.Differ != 1 {
			t.Errorf("a decision that was another: %+v", res)
		}
	})
}
