package serve_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/test/server"
)

// withdrawal is a hazard with products that were public at a moment and have been withdrawn since.
type withdrawal struct {
	*world
	hazard       item
	text, upload item
	at           string // the moment, for a query
	first, last  int64  // the changes before and after the public ones
	ends         int    // of replays
}

// sung is in every text and file that is withdrawn.
const sung = "canary-4711"

func newWithdrawal(t *testing.T) *withdrawal {
	w := &withdrawal{world: start(t, func(c *app.Config) { c.UserStreams = 64 })}
	w.hazard = w.world.hazard("red")
	w.first, _ = w.Store.Log.Last(t.Context())
	w.text = w.product("red", w.hazard.HazardID, note("title", sung, "data", sung+" in the text", "comment_Text", sung))
	if a := w.world.upload("red", w.hazard.HazardID, file("title", sung), sung+".txt", []byte(sung+" in the file")); a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	} else {
		a.JSON(t, &w.upload)
	}
	if a := w.do("red", "PATCH", "/hazards/"+w.hazard.UUID, `{"comment_Text":"later"}`); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	w.last, _ = w.Store.Log.Last(t.Context())
	time.Sleep(2 * time.Millisecond) // so that the times differ
	w.at = url.QueryEscape(time.Now().UTC().Format(time.RFC3339Nano))
	time.Sleep(2 * time.Millisecond)
	return w
}

// paths returns the paths of everything that can be read of the past, and of the present products.
func (w *withdrawal) paths() map[string]string {
	h, id := digits(w.hazard.HazardID), digits(w.text.ProductID)
	return map[string]string{
		"the products of then":           "/hazards/" + h + "/products?at=" + w.at,
		"the product of then":            "/products/" + id + "?at=" + w.at,
		"the product of then, by uuid":   "/products/" + w.text.UUID + "?at=" + w.at,
		"the file product of then":       "/products/" + digits(w.upload.ProductID) + "?at=" + w.at,
		"the hazard of then":             "/hazards/" + h + "?at=" + w.at,
		"the hazard of then, as GeoJSON": "/hazards/" + h + "?f=geojson&at=" + w.at,
		"the active hazards of then":     "/hazards/active?at=" + w.at,
		"a search of then":               "/hazards?type=FLOOD&at=" + w.at,
		"the log":                        "/changes?after=" + digits(w.first),
		"the log of then":                "/changes?at=" + w.at,
		"the history":                    "/hazards/" + h + "/changes",
		"the history, from the middle":   "/hazards/" + h + "/changes?after=" + digits(w.last-1),
		"the history of then":            "/hazards/" + h + "/changes?at=" + w.at,
		"the product":                    "/products/" + id,
		"the products":                   "/hazards/" + h + "/products",
		"the file":                       "/products/" + digits(w.upload.ProductID) + "/file",
	}
}

// replay reads the event stream from before the products were created up to a present change.
func (w *withdrawal) replay(user string) string {
	w.t.Helper()
	w.ends++
	end := fmt.Sprintf("end %d of the log", w.ends)
	w.world.hazard("red", "hazard_Name", end)
	stream := w.subscribe(user, "?after="+digits(w.first))
	for all := ""; ; {
		b := stream.next()
		all += fmt.Sprintf("%s %s %s\n", b.id, b.event, b.data)
		if strings.Contains(b.data, end) {
			return all
		}
	}
}

// TestWhatIsWithdrawnIsWithdrawnFromThePastToo covers all ways to read the past, before
// and after public products are restricted or deleted.
func TestWhatIsWithdrawnIsWithdrawnFromThePastToo(t *testing.T) {
	for name, withdraw := range map[string]func(w *withdrawal, id string) server.Answer{
		"restricted": func(w *withdrawal, id string) server.Answer {
			return w.do("red", "PATCH", "/products/"+id, `{"security_Flag":"R"}`)
		},
		"deleted": func(w *withdrawal, id string) server.Answer { return w.do("red", "DELETE", "/products/"+id, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWithdrawal(t)
			strangers, members := []string{"reader", "fire", "root"}, []string{"red", "red-reader"}
			for _, user := range append(strangers, members...) {
				for what, path := range w.paths() {
					a := w.do(user, "GET", path, nil)
					if a.Status != http.StatusOK {
						t.Fatalf("%s by %s before: %d %.500s", what, user, a.Status, a.Body)
					}
				}
				if got := w.replay(user); strings.Count(got, sung+" in the text") != 1 {
					t.Fatalf("the stream of %s before: %s", user, got)
				}
			}
			for _, p := range []item{w.text, w.upload} {
				if a := withdraw(w, p.UUID); a.Status/100 != 2 {
					t.Fatalf("%d %s", a.Status, a.Body)
				}
			}
			n, err := w.Store.Log.Last(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			w.settle(n)
			for _, user := range strangers {
				for what, path := range w.paths() {
					a := w.do(user, "GET", path, nil)
					if bytes.Contains(decode(t, a.Header.Get("Content-Encoding"), a.Body), []byte(sung)) || strings.Contains(fmt.Sprint(a.Header), sung) {
						t.Errorf("%s tells %s: %.500s", what, user, a.Body)
					}
					if bytes.Contains(a.Body, []byte(`"product_total":"2"`)) || bytes.Contains(a.Body, []byte(`"product_total":"1"`)) {
						t.Errorf("%s counts withdrawn products for %s: %.500s", what, user, a.Body)
					}
					if strings.HasPrefix(path, "/products/") && a.Status != http.StatusNotFound {
						t.Errorf("%s by %s: %d %.500s", what, user, a.Status, a.Body)
					}
					if a.Status/100 == 5 {
						t.Errorf("%s by %s: %d %.500s", what, user, a.Status, a.Body)
					}
				}
				if page := visit(w.world, sessionOf(t, w.world, user), "/h/"+w.hazard.UUID); page.Status != http.StatusOK || bytes.Contains(page.Body, []byte(sung)) {
					t.Errorf("the page tells %s: %d %s", user, page.Status, page.Body)
				}
				got := w.replay(user)
				if strings.Contains(got, sung) || strings.Contains(got, `"product_total":"2"`) {
					t.Errorf("the stream tells %s: %.2000s", user, got)
				}
				if told := strings.Count(got, `"type":"product.deleted"`); name == "deleted" && told != 2 || name == "restricted" && told != 0 {
					t.Errorf("the stream sends %s %d deletions: %.2000s", user, told, got)
				}
			}
			for _, user := range members {
				for what, path := range w.paths() {
					tells := strings.Contains(path, "at=") && strings.Contains(path, "products") || strings.Contains(path, "/changes") && path != w.paths()["the history, from the middle"]
					if a := w.do(user, "GET", path, nil); tells && !bytes.Contains(a.Body, []byte(sung)) {
						t.Errorf("%s by %s, who may: %d %.500s", what, user, a.Status, a.Body)
					}
				}
				if got := w.replay(user); !strings.Contains(got, sung) {
					t.Errorf("the stream of %s, who may see it: %s", user, got)
				}
			}
		})
	}
}
