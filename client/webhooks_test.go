package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/server"
)

func TestMessagesAreBelievedAsTheVectorsSay(t *testing.T) {
	var vectors struct {
		Cases []struct {
			Name, Secret, ID, Timestamp, Body, Signature, Expect string
			Now                                                  int64
		} `json:"cases"`
	}
	if err := json.Unmarshal(recordings.Read(t, "vectors/webhooks/cases.json"), &vectors, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Cases) < 17 {
		t.Fatalf("%d vectors", len(vectors.Cases))
	}
	for _, v := range vectors.Cases {
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Unix(v.Now, 0)))
				header := http.Header{}
				header.Set("webhook-id", v.ID)
				header.Set("webhook-timestamp", v.Timestamp)
				header.Set("webhook-signature", v.Signature)
				err := client.VerifyWebhook(v.Secret, header, []byte(v.Body))
				if (err == nil) != (v.Expect == "accept") || err != nil && !errors.Is(err, client.ErrSignature) {
					t.Errorf("%v, want %s", err, v.Expect)
				}
			})
		})
	}
}

func TestWebhooksOfTheRealServer(t *testing.T) {
	srv := server.Serve(t, func(c *app.Config) { c.WebhookAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	ctx := t.Context()
	c, _ := as(t, srv, "red")
	client.PageSize(c, 1)
	secret := make(chan string, 1)
	messages := make(chan client.WebhookMessage, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s := <-secret
		secret <- s
		m, err := client.ReadWebhook(s, r.Header, body)
		if err != nil {
			t.Error(err)
		}
		messages <- m
	}))
	defer receiver.Close()
	h := must(c.Webhooks().Create(ctx, client.WebhookFields{URL: &receiver.URL, Name: new("pager")}))(t)
	secret <- h.Secret
	if done := must(c.Webhooks().Test(ctx, h.ID))(t); !done.Delivered || done.Status != 200 {
		t.Errorf("%+v", done)
	}
	if m := <-messages; m.Type != "test" {
		t.Errorf("%+v", m)
	}
	made := must(c.Editor().CreateHazard(ctx, flood()))(t)
	if m := <-messages; m.Type != "hazard.created" || m.Data.Hazard == nil || m.Data.Hazard.UUID != made.UUID {
		t.Errorf("%+v", m)
	}
	if _, err := c.Editor().Retract(ctx, made.UUID, "false"); err != nil {
		t.Fatal(err)
	}
	if m := <-messages; m.Type != "hazard.expired" {
		t.Errorf("%+v", m)
	}
	delivered := func() (changes []string) {
		for d, err := range c.Webhooks().Deliveries(ctx, h.ID, "") {
			if err != nil {
				t.Fatal(err)
			}
			changes = append(changes, fmt.Sprint(d.Change))
		}
		return changes
	}
	if diff := cmp.Diff([]string{"2", "1"}, delivered()); diff != "" {
		t.Error(diff)
	}
	if d := must(c.Webhooks().Redeliver(ctx, h.ID, 2))(t); d.Change != 2 {
		t.Errorf("%+v", d)
	}
	<-messages
	if again := must(c.Webhooks().Rotate(ctx, h.ID))(t); again.Secret == h.Secret || again.Secret == "" {
		t.Error("the secret is the same")
	}
	if paused := must(c.Webhooks().Patch(ctx, h.ID, client.WebhookFields{Status: new("paused")}))(t); paused.Status != "paused" || paused.Name != "pager" {
		t.Errorf("%+v", paused)
	}
	if one := must(c.Webhooks().Get(ctx, h.ID))(t); one.Status != "paused" || one.Secret != "" {
		t.Errorf("%+v", one)
	}
	if list := must(c.Webhooks().List(ctx))(t); len(list.Items) != 1 {
		t.Errorf("%+v", list)
	}
	if err := c.Webhooks().Delete(ctx, h.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Webhooks().Get(ctx, h.ID); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("after that: %v", err)
	}
	for range c.Webhooks().Deliveries(ctx, "..", "") {
		break
	}
}
