package subscription

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
)

// draft adds a draft of ann, of organization 7, and returns its id.
func (b *bed) draft(name string, lives time.Duration) uuid.UUID {
	b.t.Helper()
	d := store.Draft{ID: uuid.New(), Deed: "create", Body: []byte("{}"), Hazard: uuid.New(), OrgID: 7, Author: "ann", Created: now(), Expires: now().Add(lives),
		Shown: []byte(`{"hazard_Name":"` + name + `","type_ID":"FLOOD","severity_ID":"WARNING","category_ID":"EVENT","reach":{"people":1200,"subscribers":3}}`)}
	if err := b.store.Drafts.Add(b.t.Context(), &d, 100, &auth.Audit{At: now()}); err != nil {
		b.t.Fatal(err)
	}
	return d.ID
}

// Those who may decide are told of a draft at once, also at night, again when they are reminded, and with
// its author before it lapses. Nobody else is, nor of what was decided.
func TestThoseWhoMayDecideAreTold(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.people["bob"], b.people["fay"] = auth.Editor, auth.Editor
		b.members["bob"], b.members["fay"] = []int64{7}, []int64{8}
		for _, user := range []string{"ann", "bob", "fay", "root"} {
			b.subscribe(user, `"drafts":true,"quiet":{"from":"00:00","to":"23:59"},"digest":"weekly","channels":[{"kind":"http","to":"https://`+user+`.example/x"}]`)
		}
		b.subscribe("bob", boston("hazards.bob.example"))
		defer b.run(b.svc)()
		settle(time.Minute)
		want := func(when string, ann, bob, fay, root int) {
			t.Helper()
			for user, n := range map[string]int{"ann": ann, "bob": bob, "fay": fay, "root": root, "hazards.bob": 0} {
				if got := b.net.to("https://" + user + ".example/x"); len(got) != n {
					t.Errorf("%s: %s was told %q, want %d messages", when, user, b.net.kinds("https://"+user+".example/x"), n)
				}
			}
		}
		id := b.draft("Flood at night", 3*time.Hour)
		settle(5 * time.Second)
		want("made", 0, 1, 0, 1)
		n := b.net.to("https://bob.example/x")[0].n
		if n.Kind != message.Drafts || len(n.Drafts) != 1 || n.Drafts[0].Name != "Flood at night" || n.Drafts[0].Author != "ann" || n.Drafts[0].Mine || *n.Drafts[0].People != 1200 || n.Link != base+"/" {
			t.Errorf("%+v", n)
		}
		settle(20 * time.Minute)
		want("later", 0, 1, 0, 1)
		if _, err := b.store.Drafts.MarkAgain(t.Context(), id, store.DraftMark{Kind: store.DraftReminded, Who: "ann", At: now()}, now()-1); err != nil {
			t.Fatal(err)
		}
		settle(5 * time.Second)
		want("reminded", 0, 2, 0, 2)
		settle(100 * time.Minute)
		want("an hour before it lapses", 1, 3, 0, 3)
		if n := b.net.to("https://ann.example/x")[0].n; len(n.Drafts) != 1 || !n.Drafts[0].Mine {
			t.Errorf("%+v", n)
		}
		b.draft("short", 20*time.Minute)
		settle(9 * time.Minute)
		want("a short one", 1, 4, 0, 4)
		settle(2 * time.Minute)
		want("half of its time", 2, 5, 0, 5)
		settle(2 * time.Hour)
		want("all have lapsed", 4, 5, 0, 5) // ann is told of each

		b.net.answer("https://bob.example/x", func(channel.Address, message.Notice) error { return errors.New("no network") })
		id = b.draft("decided before it is told", 24*time.Hour)
		settle(4 * time.Second)
		if err := b.store.Drafts.Refuse(t.Context(), id, "root", "no", now(), &auth.Audit{At: now()}); err != nil {
			t.Fatal(err)
		}
		b.net.answer("https://bob.example/x", nil)
		settle(time.Hour)
		want("decided meanwhile", 5, 5, 0, 6)
	})
}

// The author of a draft is told once what became of it, and others are not: who decided and why, or that it
// lapsed. A draft that its author withdrew is no news.
func TestAnAuthorIsToldWhatBecameOfADraft(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.people["bob"] = auth.Editor
		b.members["bob"] = []int64{7}
		for _, user := range []string{"ann", "bob"} {
			b.subscribe(user, `"drafts":true,"channels":[{"kind":"http","to":"https://`+user+`.example/x"}]`)
		}
		stop := b.run(b.svc)
		decide := func(id uuid.UUID, by, reason string) {
			t.Helper()
			if err := b.store.Drafts.Refuse(t.Context(), id, by, reason, now(), &auth.Audit{At: now()}); err != nil {
				t.Fatal(err)
			}
			settle(20 * time.Second)
		}
		outcomes := func(want ...message.Draft) {
			t.Helper()
			var got []message.Draft
			for _, m := range b.net.to("https://ann.example/x") {
				for _, d := range m.n.Drafts {
					if d.Outcome != message.Waiting {
						got = append(got, message.Draft{Name: d.Name, By: d.By, Reason: d.Reason, Outcome: d.Outcome})
					}
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("ann was told %+v, want %+v", got, want)
			}
			for _, m := range b.net.to("https://bob.example/x") {
				for _, d := range m.n.Drafts {
					if d.Outcome != message.Waiting {
						t.Errorf("bob was told %+v", d)
					}
				}
			}
		}
		refused := message.Draft{Name: "one", By: "bob", Reason: "too early", Outcome: message.Refused}
		decide(b.draft("one", 3*time.Hour), "bob", "too early")
		outcomes(refused)
		decide(b.draft("withdrawn", 3*time.Hour), "ann", "a mistake")
		outcomes(refused)

		b.draft("two", 40*time.Minute)
		settle(time.Hour)
		lapsed := message.Draft{Name: "two", Outcome: message.Lapsed}
		outcomes(refused, lapsed)

		// What ends while no server is there, or while a message does not arrive, is told once afterwards.
		stop()
		id := b.draft("three", 3*time.Hour)
		decide(id, "bob", "no")
		b.net.answer("https://ann.example/x", func(channel.Address, message.Notice) error { return errors.New("no network") })
		defer b.run(b.svc)()
		settle(time.Minute)
		b.net.answer("https://ann.example/x", nil)
		settle(3 * time.Hour)
		outcomes(refused, lapsed, message.Draft{Name: "three", By: "bob", Reason: "no", Outcome: message.Refused})
	})
}

// Drafts are for editors, and for nothing else at the same time.
func TestASubscriptionToDraftsIsOfAnEditor(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		const channels = `"channels":[{"kind":"webpush","to":"{}"}]`
		if _, err := b.svc.Create(t.Context(), b.author("rea"), []byte(`{"drafts":true,`+channels+`}`), now()); !errors.Is(err, hazard.ErrForbidden) {
			t.Errorf("a reader: %v", err)
		}
		if _, err := b.svc.Create(t.Context(), b.author("ann"), []byte(`{"drafts":true,"where":{"regions":["US-MA"]},`+channels+`}`), now()); !isA[*hazard.InvalidError](err) {
			t.Errorf("with a place: %v", err)
		}
		id := b.subscribe("ann", `"drafts":true,`+channels).ID
		b.people["ann"] = auth.Reader
		defer b.run(b.svc)()
		b.people["bob"] = auth.Editor
		b.draft("Flood", time.Hour)
		settle(time.Minute)
		if got := b.net.to("{}"); len(got) != 0 {
			t.Errorf("an editor who is one no more was told %q", b.net.kinds("{}"))
		}
		if s, err := b.svc.Patch(t.Context(), b.author("ann"), id, []byte(`{"drafts":false}`), now()); err != nil || s.OfDrafts {
			t.Errorf("%+v %v", s, err)
		}
	})
}
