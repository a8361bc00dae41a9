package webhook

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

func TestWhatIsWrongWithAWebhookIsNamedAtOnce(t *testing.T) {
	b := newBed(t)
	for body, want := range map[string][]string{
		`{}`: {"/url"},
		`{"url":"http://a.example/","name":"a\nb","format":"pdf","filter":{"severity":"x"},"events":["hazard.eaten"],"language":"not a language","status":"disabled","secret":"whsec_short"}`: {"/events", "/filter/severity", "/format", "/language", "/name", "/secret", "/status", "/url"},
		`{"url":"https://127.0.0.1/"}`:                   {"/url"},
		`{"url":"https://a.example/","owner":"root"}`:    {""},
		`{"url":"https://a.example/","url":"https://b"}`: {""},
		`{"url":1}`: {""},
		`[]`:        {""},
		`null`:      {""},
		`{"url":"https://a.example/","secret":"` + secretPrefix + `MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM="}`: {"/secret"}, // 23 bytes
	} {
		_, err := b.svc.Create(t.Context(), b.author("ann"), []byte(body), now())
		bad, ok := errors.AsType[*hazard.InvalidError](err)
		if !ok {
			t.Errorf("%s: %v", body, err)
			continue
		}
		var got []string
		for _, f := range bad.Faults {
			got = append(got, f.Field)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %v\n%s", body, err, diff)
		}
	}
}

func TestWhoMayHaveWebhooks(t *testing.T) {
	b := newBed(t)
	h := b.hook("ann", `"url":"https://a.example/hook"`)
	for user, want := range map[string]error{"ann": nil, "root": nil, "bob": hazard.ErrNotFound, "rea": hazard.ErrForbidden} {
		who := b.author(user)
		for name, f := range map[string]func() error{
			"get":        func() error { _, err := b.svc.Get(t.Context(), who, h.ID); return err },
			"patch":      func() error { _, err := b.svc.Patch(t.Context(), who, h.ID, []byte(`{"name":"x"}`), now()); return err },
			"rotate":     func() error { _, err := b.svc.Rotate(t.Context(), who, h.ID, now()); return err },
			"test":       func() error { _, err := b.svc.Test(t.Context(), who, h.ID, now()); return err },
			"deliveries": func() error { _, err := b.svc.Deliveries(t.Context(), who, h.ID, 0, "", 1); return err },
		} {
			if err := f(); !errors.Is(err, want) {
				t.Errorf("%s as %s: %v, want %v", name, user, err, want)
			}
		}
		if user != "ann" && user != "root" {
			if _, err := b.svc.Redeliver(t.Context(), who, h.ID, 1, now()); !errors.Is(err, want) {
				t.Errorf("redeliver as %s: %v", user, err)
			}
			if err := b.svc.Delete(t.Context(), who, h.ID, now()); !errors.Is(err, want) {
				t.Errorf("delete as %s: %v", user, err)
			}
		}
		list, err := b.svc.List(t.Context(), who)
		if n := map[string]int{"ann": 1, "root": 1}[user]; len(list) != n || err != nil && user != "rea" {
			t.Errorf("%s lists %d webhooks, %v", user, len(list), err)
		}
	}
	if err := b.svc.Delete(t.Context(), b.author("ann"), h.ID, now()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.svc.Get(t.Context(), b.author("ann"), h.ID); !errors.Is(err, hazard.ErrNotFound) {
		t.Errorf("after that: %v", err)
	}
}

func TestTheSecretIsShownOnce(t *testing.T) {
	b := newBed(t)
	const chosen = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	h := b.hook("ann", `"url":"https://a.example/hook","secret":"`+chosen+`"`)
	if h.Secret != chosen {
		t.Errorf("made with %s", h.Secret)
	}
	first := b.hook("ann", `"url":"https://a.example/hook"`)
	second := b.hook("ann", `"url":"https://a.example/hook"`)
	if first.Secret == second.Secret || checkSecret(first.Secret) != nil {
		t.Error("secrets that are no secrets")
	}
	got, err := b.svc.Get(t.Context(), b.author("ann"), h.ID)
	patched, err2 := b.svc.Patch(t.Context(), b.author("ann"), h.ID, []byte(`{"name":"x"}`), now())
	list, err3 := b.svc.List(t.Context(), b.author("root"))
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v %+v %+v", got, patched, list); strings.Contains(text, chosen[6:]) {
		t.Errorf("the secret is shown: %s", text)
	}
	audit, err := b.store.Accounts.Trail(t.Context(), auth.TrailFilter{Limit: 10})
	if err != nil || len(audit) != 4 || strings.Contains(fmt.Sprint(audit), chosen[6:]) {
		t.Errorf("%d rows of the audit trail, %v: %v", len(audit), err, audit)
	}
}

func TestAPatchAltersWhatItNames(t *testing.T) {
	b := newBed(t)
	h := b.hook("ann", `"url":"https://a.example/hook","name":"old","filter":{"severity":"WATCH"},"events":["hazard.created"]`)
	got, err := b.svc.Patch(t.Context(), b.author("root"), h.ID, []byte(`{"name":"new","filter":{},"format":"slack"}`), now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	want := h
	want.Name, want.Filter, want.Format, want.Secret, want.Updated = "new", map[string]string{}, Slack, "", got.Updated
	if diff := cmp.Diff(want, got); diff != "" || got.Updated == h.Updated {
		t.Error(diff)
	}
	if _, err := b.svc.Patch(t.Context(), b.author("ann"), h.ID, []byte(`{"url":"https://10.0.0.1/"}`), now()); err == nil {
		t.Error("led inside by a patch")
	}
	if again, err := b.svc.Get(t.Context(), b.author("ann"), h.ID); err != nil || again.URL != h.URL {
		t.Errorf("%+v %v", again, err)
	}
}

func TestAUserMayHaveSoManyWebhooks(t *testing.T) {
	b := newBed(t)
	for range maxWebhooks {
		b.hook("ann", `"url":"https://a.example/hook"`)
	}
	if _, err := b.svc.Create(t.Context(), b.author("ann"), []byte(`{"url":"https://a.example/hook"}`), now()); !errors.Is(err, hazard.ErrConflict) {
		t.Errorf("one more: %v", err)
	}
	b.hook("bob", `"url":"https://a.example/hook"`)
}
