package webhook

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/net/outbound"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell"
	"github.com/hazardd/hazardd/internal/test"
)

func TestAChangeIsToldAtOnceAndSigned(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		h := b.hook("ann", `"url":"https://a.example/hook","name":"pager"`)
		stop := b.run(b.svc)
		defer stop()
		settle()
		began := time.Now()
		f := b.flood()
		b.note(f.ID, "a note")
		settle()
		posts := b.net.to("a.example")
		if len(posts) != 2 {
			t.Fatalf("%d messages, want 2", len(posts))
		}
		for i, p := range posts {
			if err := p.verify(h.Secret); err != nil {
				t.Error(err)
			}
			if p.at != began {
				t.Errorf("message %d came after %v", i, p.at.Sub(began))
			}
			if p.header.Get("Content-Type") != "application/json" || !strings.HasPrefix(p.header.Get("User-Agent"), "hazardd/") {
				t.Errorf("%v", p.header)
			}
		}
		if typ, c := posts[0].standard(t); typ != "hazard.created" || c.Change != 1 || c.Hazard.UUID != f.UUID.String() || c.Late || c.Changes != nil {
			t.Errorf("%s", posts[0].body)
		}
		if typ, c := posts[1].standard(t); typ != "product.created" || c.Product.Title != "a note" {
			t.Errorf("%s", posts[1].body)
		}
		if id := posts[0].header.Get("Webhook-Id"); id == posts[1].header.Get("Webhook-Id") || strings.Contains(id, ".") {
			t.Errorf("ids %s", id)
		}
		list, err := b.svc.Deliveries(t.Context(), b.author("ann"), h.ID, 0, "", 10)
		if err != nil || len(list) != 2 || list[0].Change != 2 || list[0].State != store.Delivered || list[0].Status != 200 || list[0].Attempts != 1 || list[0].Message != posts[1].header.Get("Webhook-Id") {
			t.Errorf("%+v %v", list, err)
		}
	})
}

// always is a lease that is never lost.
type always struct{}

func (always) Valid() bool { return true }

func TestWhatDoesNotComeThroughIsTriedForThreeDaysAndThenTheWebhookIsDisabled(t *testing.T) {
	test.Concurrent(t)
	test.NoRace(t)
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		reason string
		each   time.Duration // duration of an attempt
	}{
		"an error": {status(500), "500 Internal Server Error", 0},
		"a redirect": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://169.254.169.254/")
			w.WriteHeader(302)
		}, "302 Found", 0},
		"no answer": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "error timeout", outbound.AttemptTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				b.net.serve("a.example", tt.answer)
				h := b.hook("ann", `"url":"https://a.example/hook"`)
				b.flood()
				b.queue(h.ID, 1)
				// Run only the sender, because checks every second would take too long over four
				// days.
				defer b.send(h.ID)()
				time.Sleep(4 * 24 * time.Hour)
				posts := b.net.to("a.example")
				if len(posts) != len(backoff.Delays)+1 {
					t.Fatalf("%d attempts, want %d", len(posts), len(backoff.Delays)+1)
				}
				for i, d := range backoff.Delays {
					gap := posts[i+1].at.Sub(posts[i].at) - tt.each
					if gap < d-d/10 || gap > d+d/10+time.Second {
						t.Errorf("attempt %d comes after %v, want %v", i+2, gap, d)
					}
				}
				got, err := b.svc.Get(t.Context(), b.author("ann"), h.ID)
				if err != nil || got.Status != Disabled || !strings.Contains(got.Reason, tt.reason) || !strings.Contains(got.Reason, "10 attempts") {
					t.Errorf("%+v %v", got, err)
				}
				list, err := b.svc.Deliveries(t.Context(), b.author("ann"), h.ID, 0, store.Failed, 10)
				if err != nil || len(list) != 1 || list[0].Attempts != 10 {
					t.Errorf("%+v %v", list, err)
				}
			})
		})
	}
}

// send sends the deliveries of a webhook until stop is called.
func (b *bed) send(webhook string) (stop func()) {
	b.t.Helper()
	hooks, err := b.svc.hooks(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	q := b.svc.queue(always{})
	q.told[webhook] = 4
	return q.start(b.t.Context(), hooks[webhook]).lane.Stop
}

// queue creates deliveries of changes, as the service does.
func (b *bed) queue(webhook string, changes ...int64) {
	b.t.Helper()
	var list []store.Delivery
	for _, n := range changes {
		c, err := b.svc.change(b.t.Context(), n)
		if err != nil {
			b.t.Fatal(err)
		}
		list = append(list, store.Delivery{Webhook: webhook, HazardID: c.HazardID, Change: n})
	}
	if err := b.store.Webhooks.AddDeliveries(b.t.Context(), list, nil, now()); err != nil {
		b.t.Fatal(err)
	}
}

func TestAMessageThatIsNeverTakenEndsItselfAndNotTheWebhook(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		h := b.hook("ann", `"url":"https://a.example/hook"`)
		poison, good := b.flood(), b.flood()
		b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
			if text, err := io.ReadAll(r.Body); err != nil || strings.Contains(string(text), poison.UUID.String()) {
				w.WriteHeader(400)
			}
		})
		b.save(good.ID, severity(hazard.Warning))
		b.save(poison.ID, severity(hazard.Warning))
		b.queue(h.ID, 1)
		defer b.send(h.ID)()
		time.Sleep(time.Hour)
		b.queue(h.ID, 2, 3)
		time.Sleep(4 * 24 * time.Hour)
		got, err := b.svc.Get(t.Context(), b.author("ann"), h.ID)
		if err != nil || got.Status != Active {
			t.Errorf("%+v %v", got, err)
		}
		states := map[store.DeliveryState]int{}
		list, err := b.svc.Deliveries(t.Context(), b.author("ann"), h.ID, 0, "", 10)
		for _, d := range list {
			states[d.State]++
		}
		if err != nil || states[store.Failed] != 1 || states[store.Delivered] != 2 {
			t.Errorf("%+v %v", list, err)
		}
	})
}

func TestWhatComesLateTellsTheStateAsItIsAndNothingEndedAsNew(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		h := b.hook("ann", `"url":"https://a.example/hook"`)
		b.net.serve("a.example", status(503))
		stop := b.run(b.svc)
		defer stop()
		settle()
		ended, grown, deleted := b.flood(), b.flood(), b.flood()
		b.note(deleted.ID, "a note")
		time.Sleep(10 * time.Minute)
		b.save(ended.ID, severity(hazard.Warning))
		b.save(grown.ID, severity(hazard.Warning))
		b.save(ended.ID, over)
		time.Sleep(10 * time.Minute)
		before := len(b.net.to("a.example"))
		b.net.serve("a.example", nil)
		b.finish(40 * time.Minute)
		got := map[int64][]string{}
		for _, p := range b.net.to("a.example")[before:] {
			if err := p.verify(h.Secret); err != nil {
				t.Error(err)
			}
			typ, c := p.standard(t)
			if !c.Late {
				t.Errorf("not called late: %s", p.body)
			}
			line := fmt.Sprint(typ, " ", c.Changes, " as of ", c.Change)
			id := deleted.ID
			if c.Hazard != nil {
				id, line = c.Hazard.HazardID, line+" "+c.Hazard.Status+" "+c.Hazard.SeverityID
			}
			got[id] = append(got[id], line)
		}
		want := map[int64][]string{
			ended.ID:   {"hazard.expired [1 5 7] as of 7 E WARNING"},
			grown.ID:   {"hazard.created [2 6] as of 6 A WARNING"},
			deleted.ID: {"hazard.created [3] as of 3 A WATCH", "product.created [4] as of 4"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		list, err := b.svc.Deliveries(t.Context(), b.author("ann"), h.ID, 0, store.Delivered, 100)
		if err != nil || len(list) != 7 {
			t.Errorf("%d changes delivered, %v", len(list), err)
		}
	})
}

func TestGoneDisablesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.net.serve("a.example", status(http.StatusGone))
		h := b.hook("ann", `"url":"https://a.example/hook"`)
		stop := b.run(b.svc)
		defer stop()
		settle()
		for range 20 {
			b.flood()
		}
		time.Sleep(10 * time.Minute)
		if n := len(b.net.to("a.example")); n < 1 || n > parallel {
			t.Errorf("%d attempts, those under way at most", n)
		}
		got, err := b.svc.Get(t.Context(), b.author("ann"), h.ID)
		if err != nil || got.Status != Disabled || !strings.Contains(got.Reason, "410 Gone") {
			t.Errorf("%+v %v", got, err)
		}
		// Until its owner resumes it.
		before := len(b.net.to("a.example"))
		b.net.serve("a.example", status(204))
		if _, err := b.svc.Patch(t.Context(), b.author("ann"), h.ID, []byte(`{"status":"active"}`), now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := len(b.net.to("a.example")) - before; n != 20 {
			t.Errorf("%d messages after it was resumed, want 20", n)
		}
	})
}

func TestAReceiverThatFailsCostsTheOthersNothing(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.net.serve("hangs.example", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		b.net.serve("fails.example", status(500))
		b.net.serve("gone.example", status(410))
		for _, host := range []string{"hangs", "fails", "gone", "good"} {
			b.hook("ann", `"url":"https://`+host+`.example/hook"`)
		}
		stop := b.run(b.svc)
		defer stop()
		settle()
		const hazards = 30
		for range hazards {
			b.flood()
			time.Sleep(time.Second)
		}
		for i, p := range b.net.to("good.example") {
			if _, c := p.standard(t); c.Late || c.Change != int64(i+1) {
				t.Errorf("message %d: %s", i, p.body)
			}
			if want := b.changeTime(int64(i + 1)); !p.at.Equal(want.Time()) {
				t.Errorf("message %d came after %v", i, p.at.Sub(want.Time()))
			}
		}
		if n := len(b.net.to("good.example")); n != hazards {
			t.Errorf("%d messages, want %d", n, hazards)
		}
		// A failing receiver is not overloaded: after the third failure it gets one message at a
		// time, with pauses.
		if n := len(b.net.to("fails.example")); n < 3 || n > 8 {
			t.Errorf("%d attempts at the one that fails, in half a minute", n)
		}
	})
}

func (b *bed) changeTime(n int64) hazard.Instant {
	b.t.Helper()
	list, err := b.store.Log.Since(b.t.Context(), n-1, 1)
	if err != nil || len(list) != 1 {
		b.t.Fatal(list, err)
	}
	return list[0].At
}

// Receivers fail and processes die at random, several at a time. Each change reaches every receiver
// at least once, those of a hazard in order, and each message is signed.
func TestEveryChangeComesAtLeastOnceAndInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		rnd := rand.New(rand.NewPCG(seed, 1))
		var mu sync.Mutex
		draw := func(n int) int { mu.Lock(); defer mu.Unlock(); return rnd.IntN(n) }
		secrets := map[string]string{}
		for _, host := range []string{"a.example", "b.example", "c.example"} {
			secrets[host] = b.hook("ann", `"url":"https://`+host+`/hook"`).Secret
			b.net.serve(host, func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-time.After(time.Duration(draw(3000)) * time.Millisecond):
				case <-r.Context().Done():
				}
				w.WriteHeader([]int{200, 200, 200, 500, 404, 302, 429}[draw(7)])
			})
		}
		processes := []*Service{b.service(), b.service()}
		var stops [2]func()
		const changes = 150
		hazards := map[int64]bool{}
		for n := range changes {
			if len(hazards) < 10 || draw(10) == 0 {
				hazards[b.flood().ID] = true
			} else {
				ids := sortedKeys(hazards)
				b.save(ids[draw(len(ids))], func(h *hazard.Hazard) { h.Comment = fmt.Sprint(n) })
			}
			time.Sleep(time.Duration(draw(2000)) * time.Millisecond)
			if i := draw(2); draw(10) == 0 {
				if stops[i] == nil {
					stops[i] = b.run(processes[i])
				} else {
					stops[i]()
					stops[i] = nil
				}
			}
		}
		for i := range stops {
			if stops[i] != nil {
				stops[i]()
			}
		}
		for _, host := range sortedKeys(secrets) {
			b.net.serve(host, nil)
		}
		stop := b.run(b.svc)
		b.finish(24 * time.Hour)
		stop()
		for host, secret := range secrets {
			told := map[int64]bool{}       // by change
			newest := map[int64]int64{}    // by hazard: the newest delivered change
			messages := map[string]int64{} // by id: the change of the message
			for _, p := range b.net.to(host) {
				if err := p.verify(secret); err != nil {
					t.Error(err)
				}
				if p.status/100 != 2 {
					continue
				}
				_, c := p.standard(t)
				if c.Change < newest[c.Hazard.HazardID] {
					t.Errorf("%s: hazard %d as of %d after %d", host, c.Hazard.HazardID, c.Change, newest[c.Hazard.HazardID])
				}
				newest[c.Hazard.HazardID] = c.Change
				told[c.Change] = true
				for _, n := range c.Changes {
					told[n] = true
				}
				id := p.header.Get("Webhook-Id")
				if as, ok := messages[id]; ok && as != c.Change {
					t.Errorf("%s: message %s is about change %d and about %d", host, id, as, c.Change)
				}
				messages[id] = c.Change
			}
			if len(told) != changes {
				t.Errorf("%s got %d changes, want %d", host, len(told), changes)
			}
		}
	})
}

// finish lets time pass until nothing waits, or for at most limit.
func (b *bed) finish(limit time.Duration) {
	b.t.Helper()
	for began := time.Now(); time.Since(began) < limit; {
		settle()
		waiting := int64(0)
		hooks, err := b.store.Webhooks.List(b.t.Context())
		for _, h := range hooks {
			n, err := b.store.Webhooks.Pending(b.t.Context(), h.ID)
			if err != nil {
				b.t.Fatal(err)
			}
			waiting += n
		}
		if err != nil {
			b.t.Fatal(err)
		}
		if waiting == 0 {
			return
		}
		time.Sleep(time.Minute)
	}
}

func sortedKeys[K int64 | string, V any](m map[K]V) (keys []K) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func TestWhatTheOwnerMayNotKnowOfIsNotTold(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.hook("ann", `"url":"https://ann.example/hook"`)
		stranger := b.hook("bob", `"url":"https://bob.example/hook"`)
		b.hook("root", `"url":"https://root.example/hook"`)
		stop := b.run(b.svc)
		defer stop()
		settle()
		f := b.flood()
		b.note(f.ID, "canary", 7)
		b.save(f.ID, severity(hazard.Warning))
		settle()
		for host, want := range map[string]string{"ann.example": "1 2 3 total 1", "bob.example": "1 3 total 0", "root.example": "1 3 total 0"} {
			var got []string
			total := ""
			for _, p := range b.net.to(host) {
				_, c := p.standard(t)
				got = append(got, fmt.Sprint(c.Change))
				if c.Hazard != nil {
					total = c.Hazard.ProductTotal
				}
				if host != "ann.example" && strings.Contains(p.body, "canary") {
					t.Errorf("%s: %s", host, p.body)
				}
			}
			if got := strings.Join(got, " ") + " total " + total; got != want {
				t.Errorf("%s is told %s, want %s", host, got, want)
			}
		}
		// A user without access receives nothing more.
		b.people["bob"] = person{gone: true}
		b.flood()
		settle()
		if n := len(b.net.to("bob.example")); n != 2 {
			t.Errorf("%d messages, want 2", n)
		}
		got, err := b.svc.Get(t.Context(), b.author("root"), stranger.ID)
		if err != nil || got.Status != Disabled || !strings.Contains(got.Reason, "bob") {
			t.Errorf("%+v %v", got, err)
		}
	})
}

// A bit that turned in the name of an owner makes a name of nobody, which may be no text.
func TestADamagedOwnerCostsTheOthersNothing(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		const damaged = "f\xe9re"
		b.people[damaged] = b.people["bob"]
		own := b.hook(damaged, `"url":"https://own.example/hook"`)
		b.hook("root", `"url":"https://root.example/hook"`)
		b.people[damaged] = person{gone: true}
		stop := b.run(b.svc)
		defer stop()
		settle()
		b.flood()
		settle()
		if n := len(b.net.to("root.example")); n != 1 {
			t.Errorf("the other webhook got %d messages, want 1", n)
		}
		got, err := b.svc.Get(t.Context(), b.author("root"), own.ID)
		if err != nil || got.Status != Disabled || !strings.Contains(got.Reason, "f\uFFFDre") {
			t.Errorf("%+v %v", got, err)
		}
	})
}

// A repeated delivery is checked against the present rights to read the product,
// however new its change is.
func TestWhatIsWithdrawnBeforeItIsDeliveredIsNotTold(t *testing.T) {
	for name, withdraw := range map[string]func(*hazard.Product){
		"restricted": func(p *hazard.Product) { p.OrgIDs = []int64{7} },
		"deleted":    func(p *hazard.Product) { p.Deleted = true },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				b.net.serve("bob.example", status(http.StatusServiceUnavailable))
				b.hook("bob", `"url":"https://bob.example/hook"`)
				stop := b.run(b.svc)
				defer stop()
				settle()
				f := b.flood()
				settle()
				b.note(f.ID, "canary")
				_, err := b.store.Write(t.Context(), now(), store.Origin{}, func(tx *store.Tx) error {
					p, err := tx.Product(1)
					if err != nil {
						return err
					}
					withdraw(p)
					return tx.SaveProduct(p)
				})
				if err != nil {
					t.Fatal(err)
				}
				b.net.serve("bob.example", status(http.StatusOK))
				time.Sleep(30 * time.Second) // it is retried, and is not late yet
				settle()
				for _, p := range b.net.to("bob.example") {
					if strings.Contains(p.body, "canary") {
						t.Errorf("told: %s", p.body)
					}
				}
				if n := len(b.net.to("bob.example")); n < 2 {
					t.Errorf("bob gets nothing in %d requests", n)
				}
			})
		})
	}
}

func TestAFilterChoosesAndTellsWhenAHazardLeaves(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.hook("ann", `"url":"https://a.example/hook","filter":{"severity":"WATCH"}`)
		b.hook("ann", `"url":"https://e.example/hook","events":["hazard.expired","hazard.created"]`)
		stop := b.run(b.svc)
		defer stop()
		settle()
		f := b.flood()
		b.save(f.ID, severity(hazard.Advisory))
		b.save(f.ID, severity(hazard.Information))
		b.note(f.ID, "a note")
		b.save(f.ID, severity(hazard.Warning))
		b.note(f.ID, "another")
		b.save(f.ID, over)
		settle()
		for host, want := range map[string]string{
			"a.example": "1 hazard.created, 2 hazard.updated left, 5 hazard.updated, 6 product.created, 7 hazard.expired",
			"e.example": "1 hazard.created, 7 hazard.expired",
		} {
			var got []string
			for _, p := range b.net.to(host) {
				typ, c := p.standard(t)
				line := fmt.Sprint(c.Change, " ", typ)
				if c.Left {
					line += " left"
				}
				got = append(got, line)
			}
			if got := strings.Join(got, ", "); got != want {
				t.Errorf("%s is told\n%s, want\n%s", host, got, want)
			}
		}
	})
}

func TestPeopleAreToldInOneLine(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.hook("ann", `"url":"https://text.example/hook","format":"text"`)
		b.hook("ann", `"url":"https://slack.example/hook","format":"slack"`)
		stop := b.run(b.svc)
		defer stop()
		settle()
		f := b.save(0, func(h *hazard.Hazard) { h.Name = "Flood <Old> & \"New\" Harbour" })
		b.note(f.ID, "a note")
		b.save(f.ID, func(h *hazard.Hazard) { h.Comment = "nothing that people would see" })
		b.save(f.ID, severity(hazard.Warning))
		b.save(f.ID, func(h *hazard.Hazard) {
			h.Status, h.Reason, h.Severity = hazard.Expired, hazard.EndRetracted, hazard.Termination
		})
		drill := b.save(0, func(h *hazard.Hazard) { h.Category, h.Latitude, h.Longitude = hazard.Exercise, -33.005, 151 })
		settle()
		link := " " + base + "/h/" + f.UUID.String()
		want := []string{
			"🟨 Flood <Old> & \"New\" Harbour in Boston, Massachusetts. Which area is affected is not known" + link,
			"🟥 Update: flood <Old> & \"New\" Harbour in Boston, Massachusetts. Which area is affected is not known" + link,
			"⬛ Correction: flood <Old> & \"New\" Harbour, Massachusetts. What you were told before was wrong. It was a false report, and has been taken back" + link,
			"🟨 EXERCISE: flood possible for Boston, New South Wales " + base + "/h/" + drill.UUID.String(),
		}
		var text, slack []string
		for _, p := range b.net.to("text.example") {
			text = append(text, p.body)
			if p.header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("%v", p.header)
			}
		}
		for _, p := range b.net.to("slack.example") {
			slack = append(slack, p.body)
		}
		slices.Sort(want) // the order between two hazards does not matter
		slices.Sort(text)
		if diff := cmp.Diff(want, text); diff != "" {
			t.Error(diff)
		}
		if len(slack) != len(want) || !slices.Contains(slack, `{"text":"🟨 Flood &lt;Old&gt; &amp; \"New\" Harbour in Boston, Massachusetts. Which area is affected is not known`+link+`"}`) {
			t.Errorf("%q", slack)
		}
	})
}

// A line for people says who warns: the organization, and not the login of its editor.
func TestALineForPeopleSaysWhoWarns(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.svc.Authority = func(*hazard.Hazard) string { return "Red Cross" }
		for _, format := range []string{"text", "slack"} {
			b.hook("ann", fmt.Sprintf(`"url":"https://%s.example/hook","format":%q`, format, format))
		}
		stop := b.run(b.svc)
		defer stop()
		settle()
		b.save(0, func(h *hazard.Hazard) { h.Creator = "ann.login" })
		settle()
		for _, format := range []string{"text", "slack"} {
			posts := b.net.to(format + ".example")
			if len(posts) != 1 || !strings.Contains(string(posts[0].body), ". Red Cross https://") || strings.Contains(string(posts[0].body), "ann.login") {
				t.Errorf("%s: %+v", format, posts)
			}
		}
	})
}

func TestTwoSecretsAreValidForADay(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		h := b.hook("ann", `"url":"https://a.example/hook"`)
		stop := b.run(b.svc)
		rotated, err := b.svc.Rotate(t.Context(), b.author("ann"), h.ID, now())
		if err != nil || rotated.Secret == h.Secret || rotated.Secret == "" {
			t.Fatal(rotated.Secret == h.Secret, err)
		}
		b.flood()
		settle()
		stop()
		time.Sleep(rotation)
		b.flood()
		stop = b.run(b.svc)
		settle()
		posts := b.net.to("a.example")
		if len(posts) != 2 {
			t.Fatalf("%d messages", len(posts))
		}
		if err := errors.Join(posts[0].verify(h.Secret), posts[0].verify(rotated.Secret), posts[1].verify(rotated.Secret)); err != nil {
			t.Error(err)
		}
		if posts[1].verify(h.Secret) == nil {
			t.Error("the old secret still signs after a day")
		}
		stop()
	})
}

func TestAPausedWebhookIsToldAfterwardsWhatItMissed(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		h := b.hook("ann", `"url":"https://a.example/hook"`)
		rest := b.run(b.svc)
		patch := func(body string) {
			t.Helper()
			if _, err := b.svc.Patch(t.Context(), b.author("ann"), h.ID, []byte(body), now()); err != nil {
				t.Fatal(err)
			}
			settle()
		}
		patch(`{"status":"paused"}`)
		rest()
		b.flood()
		time.Sleep(tell.MaxAge)
		second := b.flood()
		time.Sleep(time.Hour)
		stop := b.run(b.svc)
		defer stop()
		b.save(second.ID, over)
		settle()
		if n := len(b.net.to("a.example")); n != 0 {
			t.Errorf("%d messages while it is paused", n)
		}
		patch(`{"status":"active"}`)
		posts := b.net.to("a.example")
		if len(posts) != 1 {
			t.Fatalf("%d messages, want one, with the present state of recent changes", len(posts))
		}
		if typ, c := posts[0].standard(t); typ != "hazard.expired" || !c.Late || !slices.Equal(c.Changes, []int64{2, 3}) {
			t.Errorf("%s", posts[0].body)
		}
	})
}

func TestADeliveryCanBeMadeOnceMore(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		h := b.hook("ann", `"url":"https://a.example/hook"`)
		stop := b.run(b.svc)
		defer stop()
		settle()
		f := b.flood()
		settle()
		b.save(f.ID, severity(hazard.Warning))
		settle()
		time.Sleep(2 * lateAfter)
		d, err := b.svc.Redeliver(t.Context(), b.author("ann"), h.ID, 1, now())
		if err != nil || d.State != store.Pending || d.Change != 1 {
			t.Fatal(d, err)
		}
		settle()
		posts := b.net.to("a.example")
		if len(posts) != 3 {
			t.Fatalf("%d messages", len(posts))
		}
		// It is late by then, and has the present state.
		if _, c := posts[2].standard(t); !c.Late || c.Hazard.SeverityID != "WARNING" || !slices.Equal(c.Changes, []int64{1}) {
			t.Errorf("%s", posts[2].body)
		}
		if posts[2].header.Get("Webhook-Id") != posts[1].header.Get("Webhook-Id") {
			t.Error("a message that was already sent has another id")
		}
		if _, err := b.svc.Redeliver(t.Context(), b.author("ann"), h.ID, 99, now()); !errors.Is(err, hazard.ErrNotFound) {
			t.Errorf("a delivery that there is not: %v", err)
		}
	})
}

func TestATestSaysThatItIsOne(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.net.serve("fails.example", status(500))
		for _, tt := range []struct {
			members string
			want    tell.Tested
			body    string
		}{
			{`"url":"https://a.example/hook"`, tell.Tested{Delivered: true, Status: 200}, `{"type":"test",`},
			{`"url":"https://a.example/hook","format":"text"`, tell.Tested{Delivered: true, Status: 200}, "⬜ TEST"},
			{`"url":"https://fails.example/hook","status":"paused"`, tell.Tested{Status: 500, Error: "status"}, `{"type":"test",`},
		} {
			h := b.hook("ann", tt.members)
			got, err := b.svc.Test(t.Context(), b.author("ann"), h.ID, now())
			if err != nil {
				t.Fatal(err)
			}
			p := b.net.posts[len(b.net.posts)-1]
			if err := p.verify(h.Secret); err != nil {
				t.Error(err)
			}
			if got.Message != p.header.Get("Webhook-Id") || !strings.HasPrefix(p.body, tt.body) {
				t.Errorf("%s: %s", got.Message, p.body)
			}
			if got.Message, got.Took = "", 0; got != tt.want {
				t.Errorf("{%s}: %+v, want %+v", tt.members, got, tt.want)
			}
		}
	})
}

func TestAReceiverMaySayWhenItIsBack(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.net.serve("a.example", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "600")
			w.WriteHeader(http.StatusTooManyRequests)
		})
		b.hook("ann", `"url":"https://a.example/hook"`)
		stop := b.run(b.svc)
		defer stop()
		settle()
		b.flood()
		time.Sleep(19 * time.Minute)
		posts := b.net.to("a.example")
		if len(posts) != 2 || posts[1].at.Sub(posts[0].at) < 10*time.Minute {
			t.Errorf("%d attempts in 19 minutes", len(posts))
		}
	})
}

// The kind of a late message follows from the state that it carries, whether what ended the hazard meanwhile
// was undone or not.
func TestALateMessageSaysNoEndOfWhatIsActive(t *testing.T) {
	merged := func(into *hazard.Hazard) func(h *hazard.Hazard) {
		return func(h *hazard.Hazard) {
			h.Status, h.Reason, h.Successor, h.End = hazard.Expired, hazard.EndMerged, into.UUID, now()
		}
	}
	again := func(h *hazard.Hazard) { h.Status, h.Reason, h.Successor, h.End = hazard.Active, "", uuid.Nil, 0 }
	for name, c := range map[string]struct {
		do     func(b *bed, h, other *hazard.Hazard)
		kind   string
		status hazard.Status
	}{
		"ended and undone":  {func(b *bed, h, _ *hazard.Hazard) { b.save(h.ID, over); b.save(h.ID, again) }, "hazard.updated", hazard.Active},
		"merged and undone": {func(b *bed, h, other *hazard.Hazard) { b.save(h.ID, merged(other)); b.save(h.ID, again) }, "hazard.updated", hazard.Active},
		"ended, undone and merged": {func(b *bed, h, other *hazard.Hazard) {
			b.save(h.ID, over)
			b.save(h.ID, again)
			b.save(h.ID, merged(other))
		}, "hazard.merged", hazard.Expired},
		"merged, undone and changed": {func(b *bed, h, other *hazard.Hazard) {
			b.save(h.ID, merged(other))
			b.save(h.ID, again)
			b.save(h.ID, severity(hazard.Warning))
		}, "hazard.updated", hazard.Active},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				all := b.hook("ann", `"url":"https://a.example/hook"`)
				ends := b.hook("ann", `"url":"https://b.example/hook","events":["hazard.expired"]`)
				stop := b.run(b.svc)
				defer stop()
				h, other := b.flood(), b.flood()
				settle()
				patch := func(status string) {
					t.Helper()
					for _, id := range []string{all.ID, ends.ID} {
						if _, err := b.svc.Patch(t.Context(), b.author("ann"), id, []byte(`{"status":"`+status+`"}`), now()); err != nil {
							t.Fatal(err)
						}
					}
					settle()
				}
				patch("paused")
				c.do(b, h, other)
				time.Sleep(time.Hour)
				patch("active")
				posts := b.net.to("a.example")
				if len(posts) != 3 {
					t.Fatalf("%d messages, want the two new hazards, and the state after the pause", len(posts))
				}
				if typ, m := posts[2].standard(t); typ != c.kind || !m.Late || m.Hazard.Status != string(c.status) {
					t.Errorf("%s", posts[2].body)
				}
				if posts := b.net.to("b.example"); len(posts) != 0 {
					t.Errorf("who asked for ends by themselves alone heard %s", posts[0].body)
				}
			})
		})
	}
}
