package subscription

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

func TestOneHazardIsOneConversation(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.subscribe("ann", boston("a.example"))
		b.subscribe("ann", `"where":{"regions":["us-ma"]},"severity_min":"WARNING","channels":[{"kind":"http","to":"https://b.example/x"}]`)
		b.subscribe("ann", `"where":{"points":[{"lon":10,"lat":50,"radius_km":50}]},"channels":[{"kind":"http","to":"https://c.example/x"}]`)
		defer b.run(b.svc)()
		settle(time.Second)
		h := b.flood()
		settle(2 * time.Second)
		b.save(h.ID, func(h *hazard.Hazard) { h.Description = "more words" })
		settle(2 * time.Second)
		b.save(h.ID, severity_(hazard.Warning))
		settle(2 * time.Second)
		b.save(h.ID, func(h *hazard.Hazard) { h.Longitude = -60 }) // outside the area
		settle(2 * time.Second)
		b.save(h.ID, severity_(hazard.Watch)) // far away, so it no longer matters
		settle(2 * time.Second)
		b.save(h.ID, func(h *hazard.Hazard) { h.Longitude = -71 })
		settle(2 * time.Second)
		b.save(h.ID, over(hazard.EndRetracted))
		settle(2 * time.Second)
		b.want("https://a.example/x", "first", "changed severity WATCH>WARNING", "changed area inside>outside", "changed severity WARNING>WATCH area outside>inside", "correction")
		b.want("https://b.example/x", "first", "changed area inside>outside", "changed severity WARNING>WATCH area outside>inside", "correction")
		b.want("https://c.example/x")
		got := b.net.to("https://a.example/x")
		for _, m := range got {
			if m.n.Thread == "" || m.n.Thread != got[0].n.Thread || m.n.Late != 0 || m.n.Items[0].Hazard.ID != h.ID {
				t.Errorf("%+v", m.n)
			}
		}
		if d := got[0].n.Items[0]; d.Place != "home" || d.DistanceKM == nil || *d.DistanceKM != 0 {
			t.Errorf("%+v", d)
		}
	})
}

func TestWhatHasEndedIsNeverAnnounced(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.subscribe("ann", boston("a.example"))
		h := b.flood()
		b.save(h.ID, over(hazard.EndAllClear))
		b.net.answer("https://b.example/x", func(channel.Address, message.Notice) error { return channel.RetryAfter(time.Hour) })
		b.subscribe("ann", boston("b.example"))
		defer b.run(b.svc)()
		settle(time.Minute)
		b.want("https://a.example/x")
		h = b.flood()
		settle(time.Minute)
		b.save(h.ID, over(hazard.EndExpired))
		b.net.answer("https://b.example/x", nil)
		settle(2 * time.Hour)
		b.want("https://a.example/x", "first", "ended")
		b.want("https://b.example/x")
	})
}

func TestWhatIsLateSaysSoAndTellsWhatIs(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.subscribe("ann", boston("a.example"))
		h := b.flood()
		settle(time.Hour)
		b.save(h.ID, severity_(hazard.Warning))
		defer b.run(b.svc)()
		settle(time.Minute)
		b.want("https://a.example/x", "first")
		if n := b.net.to("https://a.example/x")[0].n; n.Late < time.Hour || n.Items[0].Hazard.Severity != hazard.Warning {
			t.Errorf("late %v, severity %v", n.Late, n.Items[0].Hazard.Severity)
		}
	})
}

func TestAStormIsOneSummary(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.subscribe("ann", boston("a.example"))
		defer b.run(b.svc)()
		settle(time.Second)
		for range 40 {
			b.flood()
			settle(500 * time.Millisecond)
		}
		settle(5 * time.Minute)
		b.want("https://a.example/x", "first", "first", "first", "first", "first", "summary of 35", "summary of 15")
	})
}

// An address of each kind gets nothing before its owner has agreed, where it is a person's: email by a
// link, a telephone number by a code. An address of the operator needs no agreement, nor
// does a browser, which was asked by itself.
func TestAnAddressOfAPersonAgreesFirst(t *testing.T) {
	for _, tt := range []struct{ kind, template, to, by string }{
		{"email", "", "ann@example.org", "link"},
		{"http", "sms", "+15551234567", "code"},
		{"http", "twilio", "+15551234568", "code"},
		{"http", "signal", "+15551234569", "code"},
		{"http", "telegram", "4711", ""},
		{"http", "slack", "https://hooks.slack.example/x", ""},
		{"webpush", "", `{"endpoint":"https://push.example/x","keys":{"p256dh":"","auth":""}}`, ""},
	} {
		t.Run(tt.kind+tt.template, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				recipes, err := channel.Ready()
				if err != nil {
					t.Fatal(err)
				}
				b.svc.Person = func(template string) bool { p := recipes[template].Person; return p != nil && *p }
				to, _ := json.Marshal(tt.to)
				made := b.subscribe("ann", fmt.Sprintf(`"where":{"points":[{"lon":-71.06,"lat":42.36,"radius_km":50}]},"channels":[{"kind":%q,"template":%q,"to":%s}]`, tt.kind, tt.template, to))
				defer b.run(b.svc)()
				settle(time.Minute)
				b.flood()
				settle(time.Minute)
				if tt.by == "" {
					b.want(tt.to, "first")
					return
				}
				b.want(tt.to, "confirm")
				asked := b.net.to(tt.to)[0].n
				_, token, _ := strings.Cut(asked.Link, "token=")
				if (token != "") != (tt.by == "link") || (asked.Code != "") != (tt.by == "code") {
					t.Fatalf("asked by link %q, code %q; want the %s", asked.Link, asked.Code, tt.by)
				}
				if tt.by == "code" {
					_, err = b.svc.Patch(t.Context(), b.author("ann"), made.ID, []byte(`{"code":"`+asked.Code+`"}`), now())
				} else {
					err = b.svc.Confirm(t.Context(), tell.Author{}, token, now())
				}
				if err != nil {
					t.Fatal(err)
				}
				b.flood()
				settle(time.Minute)
				b.want(tt.to, "confirm", "first")
			})
		})
	}
}

// However many subscriptions send to a telephone number, it gets no more messages in a storm than one
// would send, nor more codes.
func TestAStormOfATelephoneNumber(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.svc.Person = func(template string) bool { return template == "sms" }
		const number = "+15551234567"
		sms := `"where":{"points":[{"lon":-71.06,"lat":42.36,"radius_km":50}]},"channels":[{"kind":"http","template":"sms","to":"` + number + `"}]`
		one := b.subscribe("ann", sms)
		stop := b.run(b.svc)
		defer stop()
		settle(time.Minute)
		if _, err := b.svc.Patch(t.Context(), b.author("ann"), one.ID, []byte(`{"code":"`+b.net.to(number)[0].n.Code+`"}`), now()); err != nil {
			t.Fatal(err)
		}
		for range 9 {
			b.subscribe("ann", sms) // confirmed before
		}
		b.subscribe("root", sms) // not by this user
		settle(time.Minute)
		b.want(number, "confirm", "confirm")
		for range 3 {
			b.flood()
		}
		settle(50 * time.Second)
		if got := len(b.net.to(number)) - 2; got > 6 {
			t.Errorf("%d messages to one number in a minute, of 10 subscriptions: %q", got, b.net.kinds(number))
		}
		b.subscribe("root", sms)
		_, err := b.svc.Create(t.Context(), b.author("root"), []byte("{"+strings.Replace(sms, "sms", "pager", 1)+"}"), now())
		if b.svc.Person = func(string) bool { return true }; err != nil {
			t.Error(err)
		}
		if _, err = b.svc.Create(t.Context(), b.author("root"), []byte("{"+strings.Replace(sms, "sms", "signal", 1)+"}"), now()); !isA[*hazard.LimitError](err) {
			t.Errorf("a fourth code to one number in a day, over another service: %v", err)
		}
	})
}

// A wrong code counts, also when the request has other faults; after five no code is taken, and giving
// the channels again sends another one.
func TestACodeIsNotGuessed(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.svc.Person = func(string) bool { return true }
		const number, channels = "+15551234567", `"channels":[{"kind":"http","template":"sms","to":"+15551234567"}]`
		id := b.subscribe("ann", channels).ID
		if _, err := b.svc.Create(t.Context(), b.author("ann"), []byte(`{"code":"123456",`+channels+`}`), now()); !isA[*hazard.InvalidError](err) {
			t.Errorf("a code before any was sent: %v", err)
		}
		stop := b.run(b.svc)
		defer stop()
		settle(time.Minute)
		patch := func(body string) error {
			_, err := b.svc.Patch(t.Context(), b.author("ann"), id, []byte(body), now())
			return err
		}
		code := b.net.to(number)[0].n.Code
		wrong := "000000"
		if code == wrong {
			wrong = "000001"
		}
		if err := patch(`{"name":"x",` + channels + `}`); err != nil { // saved once more: the same code again
			t.Fatal(err)
		}
		settle(time.Minute)
		if got := b.net.to(number); len(got) != 2 || got[1].n.Code != code {
			t.Errorf("saving again sent %d messages", len(got))
		}
		for range maxTries {
			if err := patch(`{"code":"` + wrong + `","digest":"never"}`); !isA[*hazard.InvalidError](err) {
				t.Errorf("a wrong code: %v", err)
			}
		}
		if err := patch(`{"code":"` + code + `"}`); !isA[*hazard.InvalidError](err) {
			t.Errorf("the right code after %d wrong ones: %v", maxTries, err)
		}
		settle(time.Minute)
		if err := patch(`{` + channels + `}`); err != nil {
			t.Fatal(err)
		}
		settle(time.Minute)
		got := b.net.to(number)
		again := got[len(got)-1].n.Code
		if again == code {
			t.Error("the void code was sent again")
		}
		if err := patch(`{"code":" ` + again[:3] + " " + again[3:] + `",` + channels + `}`); err != nil {
			t.Errorf("the new code, with a space: %v", err)
		}
		settle(time.Minute)
		if list := b.net.to(number); len(list) != 3 {
			t.Errorf("%d messages, want 3 with codes: %q", len(list), b.net.kinds(number))
		}
	})
}

// Only what a message named counts as told: each of a storm's hazards is named once, and nobody hears
// the end of one that they were never told of.
func TestAStormNamesEachHazardOnce(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.subscribe("ann", boston("a.example"))
		defer b.run(b.svc)()
		settle(time.Second)
		var all []*hazard.Hazard
		for range 60 {
			all = append(all, b.flood())
		}
		settle(30 * time.Second)
		b.save(all[59].ID, over(hazard.EndAllClear))
		settle(10 * time.Minute)
		named := map[int64]int{}
		for _, m := range b.net.to("https://a.example/x") {
			for _, i := range m.n.Items {
				named[i.Hazard.ID]++
				if told := named[i.Hazard.ID] > 1; told != (m.n.Kind == message.Ended) {
					t.Errorf("hazard %d is in a message of kind %s", i.Hazard.ID, m.n.Kind)
				}
			}
		}
		for _, h := range all[:59] {
			if named[h.ID] != 1 {
				t.Errorf("hazard %d was named %d times", h.ID, named[h.ID])
			}
		}
	})
}

func TestQuietHoursHoldWhatIsNotUrgent(t *testing.T) {
	test.Seldom(t)
	test.NoRace(t)
	bubble(t, func(t *testing.T, b *bed) { // it is noon in London, 21:00 in Tokyo
		b.subscribe("ann", boston("a.example")+`,"time_zone":"Asia/Tokyo","quiet":{"from":"20:00","to":"07:00"}`)
		defer b.run(b.svc)()
		settle(time.Second)
		h := b.flood()
		gone := b.flood()
		settle(time.Hour)
		b.want("https://a.example/x")
		b.save(h.ID, severity_(hazard.Warning))
		b.save(gone.ID, over(hazard.EndAllClear))
		settle(time.Minute)
		b.want("https://a.example/x", "first")
		b.save(h.ID, over(hazard.EndRetracted)) // a message sent in quiet hours is withdrawn in quiet hours
		late := b.flood()
		settle(time.Minute)
		b.want("https://a.example/x", "first", "correction")
		settle(9 * time.Hour)
		b.want("https://a.example/x", "first", "correction", "first")
		if m := b.net.to("https://a.example/x")[2]; m.n.Items[0].Hazard.ID != late.ID || m.at.UTC().Format("15:04") != "22:00" {
			t.Errorf("at %v", m.at)
		}
	})
}

func TestADigestTellsAllAtOnce(t *testing.T) {
	test.Seldom(t)
	test.NoRace(t)
	bubble(t, func(t *testing.T, b *bed) {
		b.subscribe("ann", boston("a.example")+`,"digest":"daily"`)
		time.Sleep(13 * time.Hour) // to one o'clock
		defer b.run(b.svc)()
		settle(time.Second)
		for range 3 {
			b.flood()
			settle(time.Hour)
		}
		b.want("https://a.example/x")
		settle(6 * time.Hour)
		b.want("https://a.example/x", "digest of 3")
		if at := b.net.to("https://a.example/x")[0].at.UTC(); at.Hour() != digestHour || at.Minute() != 0 {
			t.Errorf("at %v", at)
		}
	})
}

func TestADeadAddressIsSuspendedAndDelaysNobody(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		dead := b.subscribe("ann", boston("dead.example"))
		b.subscribe("ann", boston("slow.example"))
		b.subscribe("ann", boston("a.example"))
		b.net.answer("https://dead.example/x", func(channel.Address, message.Notice) error { return channel.Gone })
		b.net.answer("https://slow.example/x", func(channel.Address, message.Notice) error { time.Sleep(25 * time.Second); return nil })
		defer b.run(b.svc)()
		settle(time.Second)
		b.flood()
		settle(time.Second)
		b.want("https://a.example/x", "first")
		settle(time.Minute)
		b.want("https://slow.example/x", "first")
		s, err := b.svc.Get(t.Context(), b.author("ann"), dead.ID)
		if err != nil || s.Channels[0].Status != Suspended || s.Channels[0].Reason == "" || s.Waiting != 0 {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

func TestWhatWasNotTriedIsNoAttempt(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		sub := b.subscribe("ann", boston("a.example"))
		says := func(err error) {
			b.net.answer("https://a.example/x", func(channel.Address, message.Notice) error { return err })
		}
		says(channel.Busy{Wait: time.Minute, All: true})
		defer b.run(b.svc)()
		settle(time.Second)
		b.flood()
		for range 15 { // more often than there are attempts
			settle(time.Minute)
		}
		says(channel.ErrDisabled)
		settle(5 * time.Minute)
		list, err := b.svc.Deliveries(t.Context(), b.author("ann"), sub.ID, 0, 10)
		if err != nil || len(list) != 1 || list[0].State != store.NoticePending || list[0].Attempts != 0 || list[0].Last != "" || list[0].Error != channel.ErrDisabled.Error() {
			t.Errorf("%v %+v", err, list)
		}
		says(nil)
		settle(2 * time.Minute)
		b.want("https://a.example/x", "first")
		if late := b.net.to("https://a.example/x")[0].n.Late; late < 20*time.Minute {
			t.Errorf("late by %v", late)
		}
	})
}

func TestWhatNobodyEnablesForDaysIsGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		for since, want := range map[time.Duration]bool{tell.MaxAge - time.Minute: true, tell.MaxAge + time.Minute: false} {
			row := store.Notice{State: store.NoticeSending, Since: now().Add(-since), Attempts: 1}
			result := store.NoticesDone{Postponed: map[store.Mailbox]hazard.Instant{}}
			p := &plan{rows: []store.Notice{row}, err: channel.ErrDisabled}
			if got := p.untried(&tell.Health{}, now(), &result); got != want {
				t.Errorf("%v: %v", since, got)
			}
		}
	})
}

func TestChannelsAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		dead := b.subscribe("ann", boston("dead.example"))
		paused := b.subscribe("ann", boston("paused.example"))
		gone := b.subscribe("ann", boston("gone.example"))
		b.subscribe("ann", `"channels":[{"kind":"email","to":"ann@example.org"},{"kind":"http","to":"https://good.example/x"}]`)
		if _, err := b.svc.Patch(t.Context(), b.author("ann"), paused.ID, []byte(`{"status":"paused"}`), now()); err != nil {
			t.Fatal(err)
		}
		if err := b.svc.Delete(t.Context(), b.author("ann"), gone.ID, now()); err != nil {
			t.Fatal(err)
		}
		b.net.answer("https://dead.example/x", func(channel.Address, message.Notice) error { return channel.Gone })
		defer b.run(b.svc)()
		settle(time.Second)
		b.flood()
		settle(10 * time.Second)
		st, err := b.svc.State(t.Context(), b.author("root"))
		if err != nil {
			t.Fatal(err)
		}
		web := ChannelState{Channel: "http", Active: 1, Paused: 1, Suspended: 1, Sent: 1, Failed: 1}
		got := st.Channels[2]
		got.DelayMean, got.DelayMax = 0, 0
		if mail := st.Channels[0]; got != web || mail.Unconfirmed != 1 || mail.Sent != 1 {
			t.Errorf("%+v", st.Channels)
		}
		if len(st.Suspended) != 1 || st.Suspended[0].Subscription != dead.ID || st.Suspended[0].Reason == "" || st.Suspended[0].Owner != "ann" {
			t.Errorf("%+v", st.Suspended)
		}
		measured := map[string]float64{}
		err = b.svc.Count(t.Context(), func(n float64) { measured["all"] = n }, func(n float64, kind string) { measured[kind] = n }, func(n float64, kind, status string) { measured[kind+" "+status] = n })
		if err != nil || measured["all"] != 3 || measured["http suspended"] != 1 || measured["email unconfirmed"] != 1 || measured["http active"] != 1 || measured["http paused"] != 1 {
			t.Errorf("%v %v", err, measured)
		}
	})
}

func TestDrillsComeOnRequest(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.subscribe("ann", boston("a.example"))
		b.subscribe("ann", boston("b.example")+`,"drills":true`)
		defer b.run(b.svc)()
		settle(time.Second)
		b.save(0, func(h *hazard.Hazard) { h.Category = hazard.Exercise })
		settle(time.Minute)
		b.want("https://a.example/x")
		b.want("https://b.example/x", "first")
	})
}

func TestAMergeTellsNobodyTwice(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.subscribe("ann", boston("a.example"))
		defer b.run(b.svc)()
		settle(time.Second)
		one := b.flood()
		settle(2 * time.Second)
		two := b.save(0, func(h *hazard.Hazard) { h.Longitude = 100 })
		settle(2 * time.Second)
		b.want("https://a.example/x", "first")
		b.write(func(tx *store.Tx) error {
			err := merge(tx, one.ID, two)
			if err == nil {
				_, err = saveIn(tx, two.ID, func(h *hazard.Hazard) { h.Longitude = -71.06 })
			}
			return err
		})
		settle(time.Minute)
		b.want("https://a.example/x", "first")
		b.save(two.ID, over(hazard.EndAllClear))
		settle(time.Minute)
		b.want("https://a.example/x", "first", "ended")
		if m := b.net.to("https://a.example/x"); m[0].n.Thread != m[1].n.Thread {
			t.Error("another thread")
		}
	})
}

// Earlier releases moved the record of a part to the whole, beside what was told of its parts.
func TestWhoWasToldByAnEarlierReleaseIsToldTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		sub := b.subscribe("ann", boston("a.example"))
		part, whole := b.flood(), b.flood()
		b.write(func(tx *store.Tx) error { return merge(tx, part.ID, whole) })
		thread := threadOf(sub.ID, part.UUID)
		row := store.Told{Subscription: sub.ID, Channel: sub.Channels[0].ID, HazardID: whole.ID, Change: 1, At: now(),
			Said: fmt.Appendf(nil, `{"thread":%q,"kind":"first","severity":"WATCH","inside":true,"joined":true,"merged":[%d]}`, thread, part.ID)}
		last, err := b.store.Log.Last(t.Context())
		err = errors.Join(err, b.store.Notices.Add(t.Context(), nil, last), b.store.Notices.Save(t.Context(), store.NoticesDone{Told: []store.Told{row}}, true))
		if err != nil {
			t.Fatal(err)
		}
		defer b.run(b.svc)()
		settle(time.Minute)
		b.save(whole.ID, severity_(hazard.Watch))
		settle(time.Minute)
		b.want("https://a.example/x")
		b.save(whole.ID, over(hazard.EndAllClear))
		settle(time.Minute)
		b.want("https://a.example/x", "ended")
		if m := b.net.to("https://a.example/x")[0].n; m.Thread != thread {
			t.Errorf("in the thread %s, want %s", m.Thread, thread)
		}
	})
}

func TestAnAddressIsConfirmedBeforeItIsUsed(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		nobody := tell.Author{}
		sub, err := b.svc.Create(t.Context(), nobody, []byte(`{"where":{"points":[{"lon":-71,"lat":42.3,"radius_km":50}]},"channels":[{"kind":"email","to":"ann@example.org"}]}`), now())
		if err != nil {
			t.Fatal(err)
		}
		defer b.run(b.svc)()
		settle(time.Second)
		b.flood()
		settle(time.Minute)
		b.want("ann@example.org", "confirm")
		token := b.net.to("ann@example.org")[0].n.Link[len(base+"/subscriptions/confirm?token="):]
		if _, err := b.svc.Asked(t.Context(), ToConfirm, token, now()); err != nil {
			t.Error(err)
		}
		if err := b.svc.Confirm(t.Context(), nobody, token+"x", now()); err == nil {
			t.Error("a false token confirms")
		}
		if err := b.svc.Confirm(t.Context(), nobody, token, now()); err != nil {
			t.Error(err)
		}
		settle(time.Second)
		b.flood()
		settle(time.Minute)
		b.want("ann@example.org", "confirm", "first")
		for range 2 {
			_, err = b.svc.Create(t.Context(), nobody, []byte(`{"where":{"regions":["US-MA"]},"channels":[{"kind":"email","to":"ann@example.org"}]}`), now())
		}
		if err != nil {
			t.Error(err)
		}
		if _, err = b.svc.Create(t.Context(), nobody, []byte(`{"where":{"regions":["US-MA"]},"channels":[{"kind":"email","to":"ann@example.org"}]}`), now()); err != nil {
			t.Error(err) // nobody learns whether others have asked for an address
		}
		settle(time.Minute)
		b.want("ann@example.org", "confirm", "first", "confirm", "confirm") // and no fourth in a day
		stop := b.net.to("ann@example.org")[1].n.Unsubscribe[len(base+"/subscriptions/unsubscribe?token="):]
		for range 2 {
			if err := b.svc.Unsubscribe(t.Context(), nobody, ToUnsubscribe, stop, now()); err != nil {
				t.Error(err)
			}
		}
		if _, err := b.store.Subscriptions.Get(t.Context(), sub.ID); err == nil {
			t.Error("it is still there")
		}
	})
}

// If a hazard ends while its first message is being sent, its end is sent too.
func TestAnEndDuringTheFirstMessageIsTold(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.subscribe("ann", boston("a.example"))
		b.net.answer("https://a.example/x", func(channel.Address, message.Notice) error { time.Sleep(10 * time.Second); return nil })
		defer b.run(b.svc)()
		settle(time.Second)
		h := b.flood()
		settle(3 * time.Second)
		b.save(h.ID, over(hazard.EndRetracted))
		settle(time.Minute)
		b.want("https://a.example/x", "first", "correction")
	})
}

// A message without a confirmation, whose hazard then no longer matched, may not have arrived. If
// the hazard matches again, the message is sent again with the same ID: it must not count as
// delivered.
func TestWhatMayNotHaveComeIsToldWhenItHoldsAgain(t *testing.T) {
	for name, end := range map[string]bool{"the first message": false, "the end": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				b.subscribe("ann", boston("a.example"))
				var ids []string
				answer := func(_ channel.Address, n message.Notice) error {
					ids = append(ids, n.ID)
					switch {
					case len(ids) == 1:
						return channel.Uncertain
					case n.Items[0].Hazard.Severity == hazard.Warning: // another message instead
						return errors.New("503")
					}
					return nil
				}
				defer b.run(b.svc)()
				settle(time.Second)
				if !end {
					b.net.answer("https://a.example/x", answer)
				}
				h := b.flood()
				if end {
					settle(time.Second) // the first message arrives
					b.net.answer("https://a.example/x", answer)
					b.save(h.ID, over(hazard.EndAllClear))
				}
				settle(2 * time.Second)
				b.save(h.ID, func(h *hazard.Hazard) { h.Severity, h.Status, h.Reason, h.End = hazard.Warning, hazard.Active, "", 0 })
				settle(20 * time.Second)
				b.save(h.ID, func(h *hazard.Hazard) {
					if h.Severity = hazard.Watch; end {
						over(hazard.EndAllClear)(h)
					}
				})
				settle(time.Hour)
				if want := map[bool][]string{false: {"first"}, true: {"first", "ended"}}[end]; !slices.Equal(b.net.kinds("https://a.example/x"), want) {
					t.Errorf("told %q, want %q", b.net.kinds("https://a.example/x"), want)
				}
				if len(ids) < 3 || ids[len(ids)-1] != ids[0] || ids[1] == ids[0] {
					t.Errorf("the messages had the ids %q", ids)
				}
			})
		})
	}
}

func TestManySubscriptionsAreMadeAllOrNone(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		body := func(host string) []byte { return []byte("{" + boston(host) + "}") }
		if err := b.svc.CreateAll(t.Context(), b.author("root"), [][]byte{body("a.example"), []byte(`{"channels":[]}`)}, now()); err == nil || !strings.HasPrefix(err.Error(), "subscription 2 of 2: ") {
			t.Error(err)
		}
		if err := b.svc.CreateAll(t.Context(), b.author("root"), [][]byte{body("b.example"), body("c.example"), body("d.example")}, now()); err != nil {
			t.Fatal(err)
		}
		versions := map[int64]bool{}
		list, err := b.store.Subscriptions.After(t.Context(), -1, 10)
		for _, s := range list {
			versions[s.Version] = true
		}
		if last, bad := b.store.Subscriptions.Version(t.Context()); err != nil || bad != nil || len(list) != 3 || len(versions) != 3 || !versions[last] {
			t.Errorf("%d subscriptions with the versions %v, the last %d; %v, %v", len(list), versions, last, err, bad)
		}
		defer b.run(b.svc)()
		settle(time.Second)
		b.flood()
		settle(2 * time.Second)
		b.want("https://a.example/x")
		b.want("https://b.example/x", "first")
		b.want("https://d.example/x", "first")
	})
}

func TestAMeasurementThatIsGoneIsRemembered(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.subscribe("ann", boston("a.example"))
		defer b.run(b.svc)()
		settle(time.Second)
		wind := func(v float64) func(*hazard.Hazard) {
			return func(h *hazard.Hazard) {
				h.Measurements = []hazard.Measurement{{Name: hazard.Wind, Value: v}}
			}
		}
		h := b.save(0, wind(100))
		settle(2 * time.Second)
		b.save(h.ID, func(h *hazard.Hazard) { h.Measurements, h.Severity = nil, hazard.Warning })
		settle(2 * time.Second)
		b.save(h.ID, wind(140))
		settle(2 * time.Second)
		b.want("https://a.example/x", "first", "changed severity WATCH>WARNING", "changed wind_kmh 100>140")
	})
}

// A damaged area silences nobody: others are told of their hazards, and those near the point of the
// hazard of its own.
func TestADamagedAreaSilencesNobody(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.subscribe("ann", boston("a.example"))
		stop := b.run(b.svc)
		defer stop()
		h := b.save(0, func(h *hazard.Hazard) {
			h.Areas = []hazard.AreaRef{{Role: hazard.AlertArea, Digest: strings.Repeat("ab", 32)}} // no such area is there
		})
		settle(time.Minute)
		b.want("https://a.example/x", "first")
		b.flood()
		settle(time.Minute)
		b.want("https://a.example/x", "first", "first")
		b.save(h.ID, func(h *hazard.Hazard) {
			h.Status, h.Reason, h.Severity = hazard.Expired, hazard.EndRetracted, hazard.Termination
		})
		settle(time.Minute)
		b.want("https://a.example/x", "first", "first", "correction")
		if found := b.store.Quarantine.Found(); len(found) != 1 {
			t.Errorf("damaged: %v", found)
		}
	})
}

// exec changes the database beside the store, as a damaged disk does.
func (b *bed) exec(text string, args ...any) {
	b.t.Helper()
	driver, name := "sqlite", "file:"+filepath.Join(b.dir, store.FileName)+"?_pragma=busy_timeout(60000)"
	if postgres.Postgres() {
		driver, name = "pgx", b.database
	}
	d, err := sql.Open(driver, name)
	if err == nil {
		_, err = d.ExecContext(b.t.Context(), text, args...)
		err = errors.Join(err, d.Close())
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// A notice that waits, or whose message may have arrived, and tells of a damaged hazard: the channel
// hears of all others, and of this one once it is mended.
func TestANoticeOfADamagedHazardHoldsUpNoOther(t *testing.T) {
	for _, c := range []struct {
		what, more string
		fail       error
		until      time.Duration // the channel is held
	}{
		{"it waits", `,"time_zone":"UTC","quiet":{"from":"12:00","to":"12:05"}`, nil, 5 * time.Minute},
		{"it may have arrived", "", fmt.Errorf("%w: no answer", channel.Uncertain), time.Second},
	} {
		t.Run(c.what, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				const address = "https://a.example/x"
				b.subscribe("ann", boston("a.example")+c.more)
				stop := b.run(b.svc)
				settle(time.Second)
				b.net.answer(address, func(channel.Address, message.Notice) error { return c.fail })
				bad := b.flood()
				settle(time.Second)
				b.flood()
				settle(time.Second)
				b.want(address)
				stop()
				b.net.answer(address, nil)
				b.exec(`UPDATE changes SET body = replace(body, 'Boston', 'Bostom') WHERE hazard_id = $1`, bad.ID)
				b.svc = b.service()
				defer b.run(b.svc)()
				settle(c.until + 3*time.Minute)
				b.want(address, "first")
				want := fmt.Sprintf("what change %d needs", bad.Version)
				for i := range 10 { // each minute what is mended is forgotten
					b.store.Quarantine.Recheck(t.Context())
					if found := b.store.Quarantine.Found(); found[want] == nil {
						t.Fatalf("after %d minutes it is not known as damaged any more: %v", i, found)
					}
					settle(time.Minute)
				}
				b.exec(`UPDATE changes SET body = replace(body, 'Bostom', 'Boston') WHERE hazard_id = $1`, bad.ID)
				settle(10 * time.Minute)
				b.want(address, "first", "first")
				if b.store.Quarantine.Recheck(t.Context()); len(b.store.Quarantine.Found()) > 0 {
					t.Errorf("mended, and still damaged: %v", b.store.Quarantine.Found())
				}
			})
		})
	}
}

// A message that cannot be made is tried again every two minutes, and logged once for each outage.
func TestAMessageThatCannotBeMadeIsLoggedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		const address = "https://a.example/x"
		b.subscribe("ann", boston("a.example"))
		var log bytes.Buffer
		b.svc.Logger = slog.New(slog.NewTextHandler(&log, nil))
		defer b.run(b.svc)()
		for outage := range 2 {
			b.exec(`UPDATE subscriptions SET sealed = '-' || sealed`)
			b.flood()
			settle(30 * time.Minute)
			if n := strings.Count(log.String(), "cannot be made"); n != outage+1 {
				t.Errorf("logged %d times after %d outages:\n%s", n, outage+1, &log)
			}
			b.exec(`UPDATE subscriptions SET sealed = substr(sealed, 2)`)
			settle(10 * time.Minute)
		}
		b.want(address, "first", "first")
	})
}

// Of a message that may have arrived and cannot be read any more, nothing is recorded as told.
func TestADamagedMessageIsNotRecordedAsTold(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		const address = "https://a.example/x"
		b.subscribe("ann", boston("a.example"))
		stop := b.run(b.svc)
		settle(time.Second)
		b.net.answer(address, func(channel.Address, message.Notice) error { return fmt.Errorf("%w: no answer", channel.Uncertain) })
		b.flood()
		settle(time.Second)
		stop()
		b.net.answer(address, nil)
		b.exec(`UPDATE notices SET said = '{' WHERE waits`)
		b.svc = b.service()
		defer b.run(b.svc)()
		settle(5 * time.Minute)
		b.want(address, "first")
	})
}

// A part of a part is no damage: who was told of it hears of the whole.
func TestAPartOfAPartIsOfTheWhole(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.subscribe("ann", boston("a.example"))
		defer b.run(b.svc)()
		settle(time.Second)
		first, second, whole := b.flood(), b.flood(), b.flood()
		settle(time.Minute)
		b.want("https://a.example/x", "first", "first", "first")
		b.write(func(tx *store.Tx) error { return merge(tx, first.ID, second) })
		b.write(func(tx *store.Tx) error { return merge(tx, second.ID, whole) })
		b.save(whole.ID, over(hazard.EndAllClear))
		settle(time.Minute)
		h, err := b.store.Hazards.Get(t.Context(), first.ID)
		if err != nil {
			t.Fatal(err)
		}
		if of, err := b.svc.wholeOf(t.Context(), h); err != nil || of.ID != whole.ID {
			t.Errorf("%v, %v; want hazard %d", of, err, whole.ID)
		}
		if found := b.store.Quarantine.Found(); len(found) != 0 {
			t.Errorf("damaged: %v", found)
		}
		if _, waiting, err := b.store.Subscriptions.Count(t.Context()); err != nil || waiting != 0 {
			t.Errorf("%d notices wait, %v", waiting, err)
		}
	})
}

// Two hazards that the store holds as parts of each other, which only damage leads to, silence nobody.
func TestPartsOfEachOtherSilenceNobody(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.subscribe("ann", boston("a.example"))
		stop := b.run(b.svc)
		defer stop()
		one, other := b.flood(), b.flood()
		settle(time.Minute)
		b.want("https://a.example/x", "first", "first")
		b.write(func(tx *store.Tx) error {
			for _, pair := range [][2]*hazard.Hazard{{one, other}, {other, one}} {
				part := *pair[0]
				part.Status, part.Reason, part.Successor = hazard.Expired, hazard.EndMerged, pair[1].UUID
				was := part // so that no law sees what changes
				if err := tx.SaveHazard(&part, &was); err != nil {
					return err
				}
			}
			return nil
		})
		settle(time.Minute)
		b.flood()
		settle(time.Minute)
		b.want("https://a.example/x", "first", "first", "first")
		if found := b.store.Quarantine.Found(); len(found) == 0 {
			t.Error("nothing is said to be damaged")
		}
	})
}

// Whatever moves a state asks of everybody who was told whether it still holds.
func TestWhoWasToldIsToldThatItNoLongerHolds(t *testing.T) {
	far := func(h *hazard.Hazard) { h.Longitude, h.Latitude, h.Severity = 10, 50, hazard.Advisory }
	pause := func(b *bed, s Subscription, status string) {
		b.t.Helper()
		if _, err := b.svc.Patch(b.t.Context(), b.author("ann"), s.ID, []byte(`{"status":"`+status+`"}`), now()); err != nil {
			b.t.Fatal(err)
		}
	}
	for _, c := range []struct {
		what string
		do   func(b *bed, s Subscription, h *hazard.Hazard)
		want []string
	}{
		{"merged into one far away", func(b *bed, _ Subscription, h *hazard.Hazard) {
			into := b.save(0, far)
			b.write(func(tx *store.Tx) error { return merge(tx, h.ID, into) })
		}, []string{"first", "changed severity WATCH>ADVISORY area inside>outside"}},
		{"ended while the subscription is paused", func(b *bed, s Subscription, h *hazard.Hazard) {
			pause(b, s, "paused")
			b.save(h.ID, over(hazard.EndAllClear))
			settle(time.Hour)
			pause(b, s, "active")
		}, []string{"first", "ended"}},
		{"paused and resumed, and it still holds", func(b *bed, s Subscription, h *hazard.Hazard) {
			pause(b, s, "paused")
			settle(time.Hour)
			pause(b, s, "active")
		}, []string{"first"}},
		{"ended and undone while it is paused", func(b *bed, s Subscription, h *hazard.Hazard) {
			pause(b, s, "paused")
			b.save(h.ID, over(hazard.EndAllClear))
			b.save(h.ID, func(h *hazard.Hazard) { h.Status, h.Reason = hazard.Active, "" })
			settle(time.Hour)
			pause(b, s, "active")
		}, []string{"first"}},
		{"the subscription asks for another place", func(b *bed, s Subscription, h *hazard.Hazard) {
			if _, err := b.svc.Patch(b.t.Context(), b.author("ann"), s.ID, []byte(`{"where":{"points":[{"lon":10,"lat":50,"radius_km":5}]}}`), now()); err != nil {
				b.t.Fatal(err)
			}
		}, []string{"first", "changed area inside>outside"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				s := b.subscribe("ann", boston("a.example"))
				defer b.run(b.svc)()
				settle(time.Second)
				h := b.flood()
				settle(time.Minute)
				c.do(b, s, h)
				settle(5 * time.Minute)
				b.want("https://a.example/x", c.want...)
			})
		})
	}
}

// TestWhoFollowsAHazardIsToldUntilItIsOver checks subscriptions to one hazard, of a stranger over Web
// Push: what holds now comes at once, then changes, then the end; other hazards never. A week after
// the end the subscription is gone.
func TestWhoFollowsAHazardIsToldUntilItIsOver(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		stop := b.run(b.svc)
		defer stop()
		h, other := b.flood(), b.flood()
		settle(time.Minute)
		stranger := tell.Author{Addr: netip.MustParseAddr("203.0.113.9")}
		follow := func(id uuid.UUID, channels string) (Subscription, error) {
			return b.svc.Create(t.Context(), stranger, fmt.Appendf(nil, `{"hazard":%q,"channels":[%s]}`, id, channels), now())
		}
		const push = `{"kind":"webpush","to":"device"}`
		sub, err := follow(h.UUID, push)
		if err != nil || sub.Hazard != h.UUID || sub.Owner != "" || sub.Token == "" || sub.Channels[0].Status != Active {
			t.Fatalf("%+v, %v", sub, err)
		}
		if _, err := follow(uuid.New(), push); err == nil {
			t.Error("a hazard that does not exist is followed")
		}
		if _, err := follow(h.UUID, push+`,{"kind":"http","to":"https://a.example/x"}`); err == nil {
			t.Error("a stranger follows over HTTP")
		}
		settle(time.Minute)
		b.want("device", "first")
		b.save(other.ID, severity_(hazard.Warning))
		b.save(h.ID, severity_(hazard.Warning))
		settle(time.Minute)
		b.save(h.ID, over(hazard.EndAllClear))
		settle(time.Minute)
		b.want("device", "first", "changed severity WATCH>WARNING", "ended")
		if _, err := follow(h.UUID, push); err == nil {
			t.Error("what is over is followed")
		}
		stop() // nothing more is said: time alone passes, without a tick for each second of a week
		time.Sleep(keptOver + 24*time.Hour)
		defer b.run(b.svc)()
		settle(time.Hour)
		if _, err := b.store.Subscriptions.Get(t.Context(), sub.ID); !errors.Is(err, hazard.ErrNotFound) {
			t.Errorf("the subscription is kept: %v", err)
		}
	})
}

// TestWhoFollowsLearnsOfTheEndThoughOfNothingBefore checks a follower whose address was confirmed
// after the last change.
func TestWhoFollowsLearnsOfTheEndThoughOfNothingBefore(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		stop := b.run(b.svc)
		defer stop()
		h := b.flood()
		settle(time.Minute)
		sub, err := b.svc.Create(t.Context(), tell.Author{Addr: netip.MustParseAddr("203.0.113.9")}, fmt.Appendf(nil, `{"hazard":%q,"channels":[{"kind":"email","to":"ann@example.org"}]}`, h.UUID), now())
		if err != nil || sub.Token != "" || sub.Channels[0].Status != Unconfirmed {
			t.Fatalf("%+v, %v", sub, err)
		}
		settle(time.Minute)
		link := b.net.to("ann@example.org")[0].n.Link
		if err := b.svc.Confirm(t.Context(), tell.Author{}, link[strings.Index(link, "token=")+len("token="):], now()); err != nil {
			t.Fatal(err)
		}
		settle(time.Minute)
		b.save(h.ID, over(hazard.EndAllClear))
		settle(time.Minute)
		b.want("ann@example.org", "confirm", "ended")
	})
}
