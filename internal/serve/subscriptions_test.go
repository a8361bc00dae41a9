package serve_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
)

// postbox is a Sender that keeps its messages.
type postbox chan message.Notice

func (p postbox) Send(ctx context.Context, _ channel.Address, n message.Notice) error {
	select {
	case p <- n:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (postbox) Check(to channel.Address) error {
	if to.Kind == channel.Email && !strings.Contains(to.To, "@") {
		return errors.New("is no address of email")
	}
	return nil
}

func TestSubscriptionsOverHTTP(t *testing.T) {
	box := make(postbox, 20)
	s := start(t, func(c *app.Config) { c.Sender = box })
	draft := `{"name":"Home","where":{"points":[{"lon":20,"lat":10,"radius_km":50,"name":"home"}],"regions":["ke"]},"types":["FLOOD"],"channels":[{"kind":"webpush","to":"{}"}],
		"time_zone":"Africa/Nairobi","quiet":{"from":"00:00","to":"00:01"},"language":"sw,en"}`
	a := s.do("reader", "POST", "/subscriptions", draft)
	var made struct {
		ID       string
		Channels []struct{ ID, To, Status string }
		Where    struct{ Regions []string }
	}
	a.JSON(t, &made)
	if a.Status != 201 || a.Header.Get("Location") != s.URL()+"/subscriptions/"+made.ID || made.Channels[0].Status != "active" || made.Channels[0].To != "{}" || made.Where.Regions[0] != "KE" {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	path := "/subscriptions/" + made.ID
	if a := s.do("reader", "POST", path+"/test", nil); a.Status != 200 || !strings.Contains(string(a.Body), `"delivered":true`) {
		t.Errorf("test: %d %s", a.Status, a.Body)
	}
	if n := <-box; n.Kind != message.Test {
		t.Errorf("%+v", n)
	}
	s.hazard("red", "latitude", -50) // elsewhere
	h := s.hazard("red")
	if n := <-box; n.Kind != message.First || n.Items[0].Hazard.ID != h.HazardID || n.Items[0].Place != "home" || n.Link != "" {
		t.Errorf("%+v", n)
	}
	s.do("red", "POST", fmt.Sprintf("/hazards/%d/retract", h.HazardID), `{"reason":"a false alarm"}`)
	if n := <-box; n.Kind != message.Correction || n.Items[0].Reason != "a false alarm" {
		t.Errorf("%+v", n)
	}
	for a := s.do("reader", "GET", path+"/notices?limit=1", nil); !strings.Contains(string(a.Body), `"state":"sent"`); a = s.do("reader", "GET", path+"/notices?limit=1", nil) {
		if a.Status != 200 || !strings.Contains(a.Header.Get("Link"), "before=2&limit=1") {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	if a := s.do("reader", "GET", path+"/notices", nil); strings.Contains(string(a.Body), "subscriptions/") || !strings.Contains(string(a.Body), "a false alarm") {
		t.Errorf("%s", a.Body)
	}

	// What other users see of it.
	if a := s.do("red", "GET", path, nil); a.Status != 404 {
		t.Errorf("another user: %d", a.Status)
	}
	if a := s.do("root", "GET", path, nil); a.Status != 200 || strings.Contains(string(a.Body), `"to":"{}"`) {
		t.Errorf("an admin: %d %s", a.Status, a.Body)
	}
	if a := s.do("root", "GET", "/subscriptions?limit=1", nil); a.Status != 200 || !strings.Contains(string(a.Body), made.ID) || !strings.Contains(a.Header.Get("Link"), "after="+made.ID) {
		t.Errorf("an admin's list: %d %s", a.Status, a.Body)
	}
	if a := s.do("root", "GET", "/subscriptions/status", nil); a.Status != 200 || !strings.Contains(string(a.Body), `"subscriptions":1`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}

	if a := s.do("reader", "PATCH", path, `{"where":null,"quiet":null,"digest":"daily"}`); a.Status != 200 || strings.Contains(string(a.Body), "quiet") || strings.Contains(string(a.Body), "where") ||
		!strings.Contains(string(a.Body), `"daily"`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	// The address appears nowhere that it should not.
	if a := s.do("root", "GET", "/audit", nil); !strings.Contains(string(a.Body), "subscription.create") || strings.Contains(string(a.Body), `"{}"`) {
		t.Errorf("%s", a.Body)
	}
	if a := s.do("reader", "DELETE", path, nil); a.Status != 204 {
		t.Errorf("%d", a.Status)
	}
	if a := s.do("reader", "GET", path, nil); a.Status != 404 {
		t.Errorf("%d", a.Status)
	}

	// An email address waits for confirmation, which needs a public address of the server.
	if a := s.do("reader", "POST", "/subscriptions", `{"channels":[{"kind":"email","to":"ann@example.org"}]}`); a.Status != 409 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := s.do("root", "POST", "/subscriptions", `{"channels":[{"kind":"email","to":"ann@example.org"}],"confirmed":true}`); a.Status != 201 || !strings.Contains(string(a.Body), `"status":"active"`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	for body, status := range map[string]int{
		`{"channels":[{"kind":"webpush","to":"{}"}],"confirmed":true}`: 403,
		`{"channels":[{"kind":"http","to":"https://a.example/x"}]}`:    403,
	} {
		if a := s.do("reader", "POST", "/subscriptions", body); a.Status != status {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
		}
	}
}

func TestEveryFaultOfASubscriptionIsNamed(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Sender = make(postbox, 1) })
	a := s.do("reader", "POST", "/subscriptions", `{"name":"a\nb","where":{"points":[{"lon":181,"lat":0,"radius_km":1},{"lon":0,"lat":0,"radius_km":0}],"regions":["XX"],"assets":{"organization":"NONE","within_km":301},"areas":{"type":"Point"}},
		"types":["SNOW"],"categories":["X"],"severity_min":"BAD","measure":"speed","people_min":-1,"language":"!","time_zone":"Mars/Base","quiet":{"from":"25:00","to":"x","except":"Y"},"digest":"hourly","status":"off",
		"channels":[{"kind":"fax","to":"1"},{"kind":"email","to":"nobody"},{"kind":"webpush","to":"{}"},{"kind":"webpush","to":"{}"}]}`)
	for _, pointer := range []string{"/name", "/where/points/0", "/where/points/1/radius_km", "/where/regions/0", "/where/assets/organization", "/where/assets/within_km", "/where/areas", "/types", "/categories", "/severity_min", "/measure", "/people_min", "/language",
		"/time_zone", "/quiet/from", "/quiet/to", "/quiet/except", "/digest", "/status", "/channels/0/kind", "/channels/1", "/channels/3"} {
		if a.Status != 400 || !strings.Contains(string(a.Body), `"pointer":"`+pointer+`"`) {
			t.Errorf("%s is not named: %d %s", pointer, a.Status, a.Body)
		}
	}
	if strings.Contains(string(a.Body), "nobody") {
		t.Errorf("an address is repeated: %s", a.Body)
	}
}

func TestWhatASubscriptionMayNameIsOffered(t *testing.T) {
	type answer struct {
		Email   bool
		WebPush *struct {
			PublicKey string `json:"public_key"`
		}
		HTTP    []struct{ Template, About string }
		Regions []string
	}
	folder := t.TempDir()
	if err := os.WriteFile(folder+"/pager.yaml", []byte("template: json\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "webpush.key") // on PostgreSQL there is no default
	if err := os.WriteFile(key, []byte(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, func(c *app.Config) {
		c.Public = route.PublicRead
		c.Channels = app.Channels{SMTP: "smtp://127.0.0.1:25", SMTPFrom: "hazards@example.org", WebPush: "mailto:ops@example.org", WebPushKey: key, Folder: folder}
	})
	// Without a public address nobody can confirm an email address, so only an admin may use one.
	for caller, want := range map[string]struct {
		email, push bool
		http        int
	}{"": {}, "reader": {push: true}, "red": {push: true, http: 1}, "root": {true, true, 1}} {
		var got answer
		a := s.do(caller, "GET", "/subscriptions/channels", nil)
		a.JSON(t, &got)
		if a.Status != 200 || got.Email != want.email || (got.WebPush != nil) != want.push || len(got.HTTP) != want.http || !slices.Contains(got.Regions, "KE") {
			t.Errorf("%q: %d %s", caller, a.Status, a.Body)
		}
		// Every reader of the public map asks, and gets the same; what users get differs.
		if public := strings.HasPrefix(a.Header.Get("Cache-Control"), "public, "); public != (caller == "") {
			t.Errorf("%q: Cache-Control %s", caller, a.Header.Get("Cache-Control"))
		}
		if want.push && len(got.WebPush.PublicKey) != 87 {
			t.Errorf("%q: the key has %d characters", caller, len(got.WebPush.PublicKey))
		}
	}
	without := start(t)
	var got answer
	without.do("reader", "GET", "/subscriptions/channels", nil).JSON(t, &got)
	if got.Email || got.WebPush != nil || len(got.HTTP) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestAnAdminListsTheOwnSubscriptionsAlone(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Sender = make(postbox, 1) })
	for _, user := range []string{"reader", "root"} {
		if a := s.do(user, "POST", "/subscriptions", `{"name":"of `+user+`","channels":[{"kind":"webpush","to":"{}"}]}`); a.Status != 201 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	for path, want := range map[string]string{"?mine=true": "root", "?mine=false": "reader", "": "reader"} {
		a := s.do("root", "GET", "/subscriptions"+path, nil)
		if a.Status != 200 || !strings.Contains(string(a.Body), "of root") || strings.Contains(string(a.Body), "of reader") != (want == "reader") {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	if a := s.do("root", "GET", "/subscriptions?mine=1", nil); a.Status != 400 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
