package picture_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/enrich/picture"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/store/lease"
	"github.com/hazardd/hazardd/internal/store/view"
	"github.com/hazardd/hazardd/internal/test/server"
)

// world is a service, a host of pictures, and the worker that fetches them.
type world struct {
	*server.Server
	t      *testing.T
	host   *httptest.Server
	dir    string
	cfg    picture.Config
	keeper *picture.Keeper
	pass   func()
	later  time.Duration
	hazard int64

	mu      sync.Mutex
	asked   map[string]int
	content []byte // of /map.png
}

func pngOf(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func newWorld(t *testing.T, alter ...func(*poll.Config)) *world {
	w := &world{t: t, asked: map[string]int{}, content: pngOf(t, 900, 600)}
	w.Server = server.Serve(t, func(c *app.Config) { w.dir = filepath.Join(c.DataDir, "pictures") })
	elsewhere := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		t.Error("a redirect was followed")
		_, _ = rw.Write(w.content)
	}))
	t.Cleanup(elsewhere.Close)
	w.host = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.asked[r.URL.Path]++
		content := w.content
		w.mu.Unlock()
		switch r.URL.Path {
		case "/map.png", "/other.png", "/edited.png":
			_, _ = rw.Write(content)
		case "/large.png":
			_, _ = rw.Write(append(content, make([]byte, picture.MaxBytes)...))
		case "/text.png":
			_, _ = rw.Write([]byte("<svg onload='alert(1)'/>"))
		case "/bomb.gif":
			_, _ = rw.Write([]byte("GIF89a\xff\xff\xff\xff\x00\x00\x00;"))
		case "/away.png":
			http.Redirect(rw, r, elsewhere.URL+"/map.png", http.StatusFound)
		case "/slow.png":
			<-r.Context().Done()
		default:
			http.NotFound(rw, r)
		}
	}))
	t.Cleanup(w.host.Close)
	asked := poll.Config{Store: w.Store, AllowPrivate: true}
	for _, f := range alter {
		f(&asked)
	}
	poller, err := poll.New(asked)
	if err != nil {
		t.Fatal(err)
	}
	now := func() hazard.Instant { return w.Now().Add(w.later) }
	w.cfg = picture.Config{Store: w.Store, Fetch: poller.Fetch, Bytes: 1 << 20, Clock: hazard.ClockFunc(now), Log: slog.New(slog.DiscardHandler),
		View: func(at hazard.Instant) *view.View {
			l, err := view.Open(context.Background(), w.Store.Log, slog.New(slog.DiscardHandler), w.Now)
			if err != nil {
				t.Fatal(err)
			}
			return l.View(w.Now())
		}}
	w.restart()
	a := w.Do("red", http.MethodPost, "/hazards", `{"hazard_Name":"Flood","type_ID":"FLOOD","severity_ID":"WATCH","latitude":1,"longitude":2}`, "Content-Type", "application/json")
	var h struct {
		ID int64 `json:"hazard_ID"`
	}
	if err := json.Unmarshal(a.Body, &h); err != nil || a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	w.hazard = h.ID
	return w
}

// restart creates a new worker, as in another process that gets the lease.
func (w *world) restart() {
	w.t.Helper()
	var err error
	if w.keeper, err = picture.Open(w.dir, blob.Settings{}, w.cfg); err != nil {
		w.t.Fatal(err)
	}
	keeper := w.keeper
	w.t.Cleanup(func() { _ = keeper.Close() })
	worker, err := w.keeper.Begin(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.pass = func() {
		w.t.Helper()
		w.later += 61 * time.Second // recently checked addresses are checked again
		if err := worker.Pass(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
}

// names saves a product of a source with an address.
func (w *world) names(p *hazard.Product, address string) *hazard.Product {
	w.t.Helper()
	if p == nil {
		p = &hazard.Product{UUID: uuid.New(), HazardID: w.hazard, Title: "ShakeMap", Type: hazard.URLProduct, OrgID: -1, Source: "usgs", UserID: "usgs", Created: w.Now()}
	}
	p = new(*p)
	p.Data, p.Updated, p.Timeline = address, w.Now(), p.Timeline+1
	if _, err := w.Store.Write(w.t.Context(), w.Now(), store.Origin{Source: "usgs"}, func(tx *store.Tx) error { return tx.SaveProduct(p) }); err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) times(path string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[path]
}

type listed struct {
	Product                      int64 `json:"product_ID"`
	Title, Source, Address, User string
	MediaType                    string `json:"media_type"`
	Time                         time.Time
	Size                         int64
	SHA256, Href, Thumbnail      string
}

func (w *world) list(user string) (list []listed) {
	w.t.Helper()
	a := w.Do(user, http.MethodGet, fmt.Sprintf("/hazards/%d/pictures", w.hazard), nil)
	if err := json.Unmarshal(a.Body, &list); err != nil || a.Status != http.StatusOK {
		w.t.Fatalf("%d %s", a.Status, a.Body)
	}
	return list
}

// answer repeats the request until the service's lists include the last write, and checks the
// answer's status.
func (w *world) answer(user, path string, status int) server.Answer {
	w.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		a := w.Do(user, http.MethodGet, path, nil)
		if a.Status == status {
			return a
		}
		if time.Now().After(end) {
			w.t.Fatalf("%s for %s: %d %s, want %d", path, user, a.Status, a.Body, status)
		}
	}
}

func (w *world) files() (n int) {
	w.t.Helper()
	err := filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && len(d.Name()) > 64 {
			n++
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func TestAPictureIsFetchedOnceAndShown(t *testing.T) {
	w := newWorld(t)
	p := w.names(nil, w.host.URL+"/map.png")
	for range 3 {
		w.pass()
	}
	w.restart()
	w.pass()
	if n := w.times("/map.png"); n != 1 {
		t.Errorf("asked %d times", n)
	}
	list := w.list("reader")
	if len(list) != 1 || list[0].Product != p.ID || list[0].Source != "usgs" || list[0].Address != p.Data || list[0].MediaType != "image/png" || list[0].Time.IsZero() {
		t.Fatalf("%+v", list)
	}
	path := fmt.Sprintf("/products/%d/picture", p.ID)
	full := w.answer("reader", path, http.StatusOK)
	if !bytes.Equal(full.Body, w.content) || full.Header.Get("Content-Type") != "image/png" || full.Header.Get("ETag") != `"`+list[0].SHA256+`"` ||
		full.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(full.Header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%d bytes, %v", len(full.Body), full.Header)
	}
	small := w.answer("reader", path+"?size=small", http.StatusOK)
	if got, kind, err := image.Decode(bytes.NewReader(small.Body)); err != nil || kind != "jpeg" || got.Bounds().Dx() != 560 || small.Header.Get("Content-Type") != "image/jpeg" {
		t.Errorf("thumbnail: %v %s %v", err, kind, small.Header)
	}
	if a := w.Do("reader", http.MethodGet, path+"?size=small", nil, "If-None-Match", small.Header.Get("ETag")); a.Status != http.StatusNotModified {
		t.Errorf("the same again: %d", a.Status)
	}
	w.answer("reader", path+"?size=huge", http.StatusBadRequest)
	if brief := w.answer("reader", fmt.Sprintf("/hazards/%d/brief", w.hazard), http.StatusOK); !bytes.Contains(brief.Body, []byte("data:image/jpeg")) {
		t.Error("the brief is without it")
	}
}

// When a product changes, its picture is fetched again, an hour later if the address is the same.
// Until then the earlier picture is shown.
func TestAProductThatChangesHasItsPictureAgain(t *testing.T) {
	w := newWorld(t)
	p := w.names(nil, w.host.URL+"/map.png")
	w.pass()
	p = w.names(p, p.Data)
	w.pass()
	if n := w.times("/map.png"); n != 1 || len(w.list("reader")) != 1 {
		t.Errorf("%d requests within the hour", n)
	}
	w.later += time.Hour
	w.content = pngOf(t, 30, 20)
	w.pass()
	w.pass()
	if n := w.times("/map.png"); n != 2 || w.list("reader")[0].Size != int64(len(w.content)) || w.files() != 1 {
		t.Errorf("asked %d times, %d files", n, w.files())
	}
	p = w.names(p, w.host.URL+"/other.png")
	if list := w.list("reader"); len(list) != 0 {
		t.Errorf("of another address: %+v", list)
	}
	w.pass()
	if list := w.list("reader"); len(list) != 1 || list[0].Address != p.Data || w.files() != 1 {
		t.Errorf("%+v", list)
	}
	gone := *p
	gone.Deleted = true
	if _, err := w.Store.Write(t.Context(), w.Now(), store.Origin{Source: "usgs"}, func(tx *store.Tx) error { return tx.SaveProduct(&gone) }); err != nil {
		t.Fatal(err)
	}
	if len(w.list("reader")) != 0 {
		t.Error("shown after its product was deleted")
	}
	w.pass()
	if w.files() != 0 {
		t.Error("its file is still there")
	}
}

func TestWhatIsNoPictureIsNotKept(t *testing.T) {
	for path, want := range map[string]string{"/large.png": "too large", "/text.png": "not a picture", "/bomb.gif": "not a picture", "/away.png": "redirected", "/slow.png": "stopped", "/none.png": "not found"} {
		t.Run(path, func(t *testing.T) {
			w := newWorld(t)
			if path == "/slow.png" {
				picture.HastyFor(t, time.Second) // long enough to ask
			}
			p := w.names(nil, w.host.URL+path)
			w.pass()
			all, err := w.Store.Pictures.All(t.Context())
			if got := all[p.ID]; err != nil || got.Failures != 1 || !strings.Contains(got.Error, want) || got.Digest != "" || w.files() != 0 || len(w.list("reader")) != 0 {
				t.Fatalf("%+v %v, want %s", got, err, want)
			}
			w.answer("reader", fmt.Sprintf("/products/%d/picture", p.ID), http.StatusNotFound)
			w.later += time.Hour // it is retried, but not forever at the same rate
			w.pass()
			w.pass()
			if n := w.times(path); n != 2 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestNothingInsideIsAsked(t *testing.T) {
	w := newWorld(t, func(c *poll.Config) { c.AllowPrivate = false })
	w.names(nil, w.host.URL+"/map.png")
	w.pass()
	if len(w.asked) > 0 {
		t.Errorf("asked %v", w.asked)
	}
}

// An address from an editor, that of a page, and addresses of products with a restricted audience
// are not fetched.
func TestOnlyWhatSourcesNameIsFetched(t *testing.T) {
	w := newWorld(t)
	w.Do("red", http.MethodPost, fmt.Sprintf("/hazards/%d/products", w.hazard), `{"title":"Mine","product_Type":"URL_PRODUCT","data":"`+w.host.URL+`/edited.png"}`, "Content-Type", "application/json")
	edited := w.names(nil, w.host.URL+"/page.html")
	edited.Data, edited.Edited = w.host.URL+"/edited.png", true
	w.names(edited, edited.Data)
	w.names(&hazard.Product{UUID: uuid.New(), HazardID: w.hazard, Title: "Secret", Type: hazard.URLProduct, OrgID: -1, Source: "usgs", OrgIDs: []int64{w.RedCross}}, w.host.URL+"/map.png")
	w.names(&hazard.Product{UUID: uuid.New(), HazardID: w.hazard, Title: "Hidden", Type: hazard.URLProduct, OrgID: -1, Source: "usgs", Hidden: true}, w.host.URL+"/other.png")
	w.pass()
	w.pass()
	if len(w.asked) > 0 {
		t.Errorf("asked %v", w.asked)
	}
}

// A user who may not see a product does not get its picture, even if the product was public when
// the picture was fetched.
func TestPicturesFollowTheRightsOfTheirProducts(t *testing.T) {
	w := newWorld(t)
	p := w.names(nil, w.host.URL+"/map.png")
	w.pass()
	path := fmt.Sprintf("/products/%d/picture", p.ID)
	p.OrgIDs, p.Edited = []int64{w.RedCross}, true
	w.names(p, p.Data)
	w.answer("reader", path, http.StatusNotFound)
	w.answer("reader", path+"?size=small", http.StatusNotFound)
	if len(w.list("reader")) != 0 || len(w.list("red")) != 1 {
		t.Errorf("others see %v, members %v", w.list("reader"), w.list("red"))
	}
	if a := w.answer("red", path+"?size=small", http.StatusOK); strings.Contains(a.Header.Get("Cache-Control"), "public") || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the picture is cached on the way: %v", a.Header)
	}
}

// If there is no more room, pictures of ended hazards are removed first. Those of active ones stay,
// and no more are added.
func TestRoomForPictures(t *testing.T) {
	w := newWorld(t)
	w.cfg.Bytes = int64(len(w.content)) + 1
	w.restart()
	w.names(nil, w.host.URL+"/map.png")
	w.pass()
	w.names(nil, w.host.URL+"/other.png")
	for range 3 {
		w.pass()
	}
	if n := w.times("/edited.png"); n > 0 || w.files() != 2 {
		t.Errorf("%d files", w.files())
	}
	w.names(nil, w.host.URL+"/edited.png")
	w.pass()
	if w.times("/edited.png") != 0 {
		t.Error("fetched beyond the room")
	}
	if a := w.Do("red", http.MethodPost, fmt.Sprintf("/hazards/%d/retract", w.hazard), `{"reason":"r"}`, "Content-Type", "application/json"); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	w.pass()
	if w.files() > 1 {
		t.Errorf("%d files of an ended hazard", w.files())
	}
}

// Files without a row are removed, and a picture without its file is fetched again, for example
// after a restore.
func TestFilesAndRowsComeTogetherAgain(t *testing.T) {
	w := newWorld(t)
	w.names(nil, w.host.URL+"/map.png")
	w.pass()
	if err := w.Store.Pictures.Drop(t.Context(), w.list("reader")[0].Product); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.later += 2 * time.Hour
	w.pass()
	if w.times("/map.png") != 2 || w.files() != 1 {
		t.Errorf("asked %d times, %d files", w.times("/map.png"), w.files())
	}
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.pass()
	if w.times("/map.png") != 3 || w.files() != 1 {
		t.Errorf("asked %d times, %d files", w.times("/map.png"), w.files())
	}
}

// Of all polling nodes, only the one with the lease fetches.
func TestANodeWithoutTheLeaseFetchesNothing(t *testing.T) {
	w := newWorld(t)
	w.names(nil, w.host.URL+"/map.png")
	held, err := w.Store.Leases.Take(t.Context(), "pictures", "another", w.Now(), w.Now().Add(2*lease.For-time.Second)) // longer is not believed
	if err != nil || !held {
		t.Fatal(held, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.keeper.Run(ctx) }()
	defer func() { stop(); <-ended }()
	for end := time.Now().Add(time.Minute); w.Store.Leases.Held(w.Now())["pictures"]; runtime.Gosched() { // until the worker was refused it
		if time.Now().After(end) {
			t.Fatal("the worker does not ask for the lease")
		}
	}
	if ok, err := w.Store.Leases.Take(t.Context(), "pictures", "another", w.Now(), w.Now().Add(2*lease.For-time.Second)); err != nil || !ok || w.times("/map.png") != 0 {
		t.Fatalf("the lease is lost (%v, %v), or there were %d requests", ok, err, w.times("/map.png"))
	}
	if err := w.Store.Leases.Drop(t.Context(), "pictures", "another"); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); len(w.list("reader")) == 0; {
		if time.Now().After(end) {
			t.Fatal("no node fetches once the lease is free")
		}
	}
}
