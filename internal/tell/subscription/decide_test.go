package subscription

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
)

// noon is the time of the decisions in this file: 12:00 UTC on a Monday.
var noon = hazard.At(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))

// flood is an active hazard that reaches the subscriber, changed now by f.
func flood(f ...func(*hazard.Hazard)) *hazard.Hazard {
	h := &hazard.Hazard{ID: 1, Version: 9, UUID: uuid.MustParse("11111111-1111-4111-8111-111111111111"), Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Event,
		Status: hazard.Active, LastUpdate: noon}
	for _, f := range f {
		f(h)
	}
	return h
}

// ended is a flood that has ended for a reason.
func ended(reason hazard.EndReason) *hazard.Hazard {
	return flood(func(h *hazard.Hazard) { h.Status, h.Reason, h.End = hazard.Expired, reason, noon })
}

// sent returns the last message about a hazard, changed by f.
func sent(h *hazard.Hazard, f ...func(*lastMessage)) *lastMessage {
	m := messageAbout(h, true)
	m.Kind, m.Thread = message.First, "thread-1"
	for _, f := range f {
		f(&m)
	}
	return &m
}

// talkOf returns what a mailbox was told of a hazard that has no parts.
func talkOf(h *hazard.Hazard, last *lastMessage) *talk {
	t := &talk{family: &family{whole: h}, said: map[int64]*lastMessage{}}
	if h == nil {
		return t
	}
	if t.ids = map[int64]uuid.UUID{h.ID: h.UUID}; last != nil {
		t.said[h.ID] = last
		last.Thread = threadOf("", h.UUID)
	}
	return t
}

// describe says in words what is decided, with times as so long after noon.
func describe(p *plan) (list []string) {
	for _, u := range p.updates {
		line := string(u.After.State)
		if u.After.Error != "" {
			line += ": " + u.After.Error
		} else if u.After.State == store.NoticePending {
			line += " for " + u.After.Next.Time().Sub(noon.Time()).String()
		}
		list = append(list, line)
	}
	if p.rows != nil {
		text := fmt.Sprintf("message %s of %d", p.kind, len(p.deliveries))
		for _, c := range p.deliveries[0].item.Changed {
			text += fmt.Sprintf(", %s %s>%s", c.Field, c.From, c.To)
		}
		list = append(list, text)
	}
	for _, t := range p.told {
		list = append(list, fmt.Sprintf("told as of %d", t.Change))
	}
	return list
}

func TestDecide(t *testing.T) {
	pending := store.Notice{ID: 1, HazardID: 1, State: store.NoticePending, Since: noon, Created: noon}
	sending := store.Notice{ID: 1, HazardID: 1, State: store.NoticeSending, Since: noon, Created: noon, Change: 7, Kind: string(message.First), Message: "m1", Attempts: 1}
	here, away := nearness{inside: true}, nearness{}
	one := func(h *hazard.Hazard, last *lastMessage, near nearness) []facts {
		return []facts{{row: pending, hazard: h, talk: talkOf(h, last), near: near}}
	}
	many := func(list ...*hazard.Hazard) (all []facts) {
		for _, h := range list {
			f := one(h, nil, here)[0]
			if h.Status != hazard.Active {
				f.talk = talkOf(h, sent(flood()))
			}
			all = append(all, f)
		}
		return all
	}
	busy := burst{times: []time.Time{noon.Time().Add(-5 * time.Second), noon.Time(), noon.Time(), noon.Time(), noon.Time()}}
	warning := flood(func(h *hazard.Hazard) { h.Severity = hazard.Warning })
	for name, tt := range map[string]struct {
		list  []facts
		kept  kept
		burst burst
		want  []string
	}{
		"a hazard that is new to the subscriber":      {list: one(flood(), nil, here), want: []string{"sending", "message first of 1"}},
		"a new hazard that has ended":                 {list: one(ended(hazard.EndAllClear), nil, here), want: []string{"dropped: it ended before a message was sent"}},
		"a new hazard that has moved away":            {list: one(flood(), nil, away), want: []string{"dropped: it no longer concerns the subscriber"}},
		"a new hazard below the severity":             {list: one(flood(), nil, here), kept: kept{Severity: hazard.Warning}, want: []string{"dropped: it no longer concerns the subscriber"}},
		"a measure that cannot be parsed":             {list: one(flood(), nil, here), kept: kept{Measure: "x"}, want: []string{`dropped: `}},
		"a hazard that was removed":                   {list: one(nil, nil, here), want: []string{"dropped: the hazard no longer exists"}},
		"a hazard that was merged":                    {list: []facts{{row: pending, hazard: ended(hazard.EndMerged), part: true, near: here}}, want: []string{"dropped: it is part of another hazard"}},
		"a change that does not matter":               {list: one(flood(), sent(flood()), here), want: []string{"dropped: nothing that matters has changed"}},
		"another severity":                            {list: one(warning, sent(flood()), here), want: []string{"sending", "message changed of 1, severity WATCH>WARNING"}},
		"a hazard that moved away":                    {list: one(flood(), sent(flood()), away), want: []string{"sending", "message changed of 1, area inside>outside"}},
		"another severity, away as before":            {list: one(warning, sent(flood(), func(m *lastMessage) { m.Inside = false }), away), want: []string{"dropped: nothing that matters has changed"}},
		"an end":                                      {list: one(ended(hazard.EndAllClear), sent(flood()), here), want: []string{"sending", "message ended of 1"}},
		"an end that was sent":                        {list: one(ended(hazard.EndAllClear), sent(ended(hazard.EndAllClear)), here), want: []string{"dropped: its end was already sent"}},
		"a retraction":                                {list: one(ended(hazard.EndRetracted), sent(flood()), here), want: []string{"sending", "message correction of 1"}},
		"a cancellation":                              {list: one(ended(hazard.EndCancelled), sent(flood()), here), want: []string{"sending", "message withdrawn of 1"}},
		"what may have arrived and is true again":     {list: one(flood(), sent(flood(), func(m *lastMessage) { m.Unsure = "m0" }), here), want: []string{"sending", "message first of 1"}},
		"in quiet hours":                              {list: one(flood(), nil, here), kept: kept{Quiet: &Quiet{From: "11:00", To: "13:30", Except: hazard.Warning}}, want: []string{"pending for 1h30m0s"}},
		"a warning in quiet hours":                    {list: one(warning, nil, here), kept: kept{Quiet: &Quiet{From: "11:00", To: "13:30", Except: hazard.Warning}}, want: []string{"sending", "message first of 1"}},
		"the end of a warning in quiet hours":         {list: one(ended(hazard.EndAllClear), sent(warning), here), kept: kept{Quiet: &Quiet{From: "11:00", To: "13:30", Except: hazard.Warning}}, want: []string{"sending", "message ended of 1"}},
		"before a digest":                             {list: one(flood(), nil, here), kept: kept{Digest: DailyDigest}, want: []string{"pending for 20h0m0s"}},
		"two at once":                                 {list: many(flood(), flood()), want: []string{"sending", "message first of 1"}},
		"two in a storm":                              {list: many(flood(), flood()), burst: busy, want: []string{"pending for 55s", "pending for 55s"}},
		"a warning in a storm":                        {list: many(flood(), warning), burst: busy, want: []string{"pending for 5s", "pending for 5s"}},
		"two in a storm, gathered long enough":        {list: many(flood(), flood(), flood(), flood(), flood(), flood()), want: []string{"sending", "sending", "sending", "sending", "sending", "sending", "message summary of 6"}},
		"a correction in a storm":                     {list: many(ended(hazard.EndRetracted), flood()), burst: busy, want: []string{"sending", "message correction of 1"}},
		"a message that may have arrived and is true": {list: []facts{{row: sending, hazard: flood(), last: sent(flood()), near: here, then: flood()}}, want: []string{"sending", "message first of 1"}},
		"a message that may have arrived and is false": {list: []facts{{row: sending, hazard: warning, last: sent(flood()), near: here, then: flood()}},
			want: []string{"pending: it is not known whether it has arrived; it no longer holds", "told as of 7"}},
		"a confirmation": {list: []facts{{row: store.Notice{ID: 1, State: store.NoticePending, Since: noon}}}, want: []string{"sending", "message confirm of 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			box := store.Mailbox{Subscription: "22222222-2222-4222-8222-222222222222", Channel: "1"}
			r := &recipient{box: box, sub: &subscription{Subscription: store.Subscription{ID: box.Subscription}, kept: tt.kept}, ownerActive: true, storm: DefaultStorm, burst: tt.burst}
			p := &plan{box: box}
			p.decide(r, tt.list, noon)
			got := describe(p)
			if len(got) == 1 && len(tt.want) == 1 && strings.HasSuffix(tt.want[0], ": ") && strings.HasPrefix(got[0], tt.want[0]) {
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAMessageIsSentAgainUnderItsID(t *testing.T) {
	unsure := sent(flood(), func(m *lastMessage) { m.Unsure = "m0" })
	for name, f := range map[string]facts{
		"sending": {row: store.Notice{HazardID: 1, State: store.NoticeSending, Message: "m0"}, hazard: flood(), last: sent(flood()), near: nearness{inside: true}, then: flood()},
		"unsure":  {row: store.Notice{HazardID: 1, State: store.NoticePending}, hazard: flood(), talk: talkOf(flood(), unsure), near: nearness{inside: true}},
	} {
		p := &plan{}
		p.decide(&recipient{sub: &subscription{}, storm: DefaultStorm}, []facts{f}, noon)
		if p.id != "m0" || p.rows[0].Message != "m0" {
			t.Errorf("%s: the id is %q, in the row %q", name, p.id, p.rows[0].Message)
		}
	}
}

func TestMuted(t *testing.T) {
	active := []Channel{{ID: "1", Status: Active}}
	for want, tt := range map[string]struct {
		sub   kept
		first store.Notice
		gone  bool
	}{
		"":                                  {sub: kept{Channels: active}},
		"the channel was removed":           {},
		"the channel is unconfirmed":        {sub: kept{Channels: []Channel{{ID: "1", Status: Unconfirmed}}}, first: store.Notice{HazardID: 1}},
		"the channel is suspended":          {sub: kept{Channels: []Channel{{ID: "1", Status: Suspended}}}},
		"the subscription is paused":        {sub: kept{Channels: active, Paused: true}},
		"the owner may not log in any more": {sub: kept{Channels: active}, gone: true},
	} {
		r := &recipient{box: store.Mailbox{Channel: "1"}, sub: &subscription{kept: tt.sub}, ownerActive: !tt.gone}
		if got := r.muted(tt.first); got != want {
			t.Errorf("muted because %q, want %q", got, want)
		}
	}
	r := &recipient{box: store.Mailbox{Channel: "1"}, sub: &subscription{kept: kept{Channels: []Channel{{ID: "1", Status: Unconfirmed}}}}, ownerActive: true}
	if why := r.muted(store.Notice{}); why != "" {
		t.Errorf("a confirmation is muted because %q", why)
	}
}

func TestNeeded(t *testing.T) {
	pending, confirm := store.Notice{ID: 1, HazardID: 1, State: store.NoticePending}, store.Notice{ID: 2, State: store.NoticePending}
	sending := store.Notice{ID: 3, HazardID: 2, State: store.NoticeSending, Message: "m", Next: noon}
	later := sending
	later.Next = noon.Add(time.Second)
	for name, tt := range map[string]struct {
		rows      []store.Notice
		want      int
		postponed hazard.Instant
	}{
		"what waits":                            {rows: []store.Notice{pending, pending}, want: 2},
		"nothing behind a confirmation":         {rows: []store.Notice{pending, confirm, pending}, want: 2},
		"only what may have arrived":            {rows: []store.Notice{pending, sending, sending}, want: 2},
		"nothing while a message is on its way": {rows: []store.Notice{pending, later}, postponed: later.Next},
	} {
		p := &plan{}
		if got := p.needed(tt.rows, noon); len(got) != tt.want || p.postponed != tt.postponed {
			t.Errorf("%s: %d notices, postponed until %v; want %d, %v", name, len(got), p.postponed, tt.want, tt.postponed)
		}
	}
}

func TestOutcome(t *testing.T) {
	for name, tt := range map[string]struct {
		err      error
		attempts int
		want     outcome
	}{
		"sent":                        {nil, 1, outcome{state: store.NoticeSent}},
		"a dead address":              {fmt.Errorf("x: %w", channel.Gone), 1, outcome{state: store.NoticeFailed, dead: "the address takes no messages any more"}},
		"a message that is refused":   {channel.Refused, 1, outcome{state: store.NoticeFailed}},
		"a disabled channel":          {channel.ErrDisabled, 1, outcome{state: store.NoticeFailed}},
		"a server that asks for time": {channel.RetryAfter(time.Hour), 1, outcome{state: store.NoticePending, wait: time.Hour}},
		"it may have arrived":         {errors.Join(channel.Uncertain, channel.RetryAfter(time.Hour)), 1, outcome{state: store.NoticeSending, wait: time.Hour}},
		"the last attempt":            {errors.New("503"), len(backoff.Delays) + 1, outcome{state: store.NoticeFailed, dead: "nothing came through in two days", last: true}},
	} {
		p := &plan{rows: []store.Notice{{Attempts: tt.attempts}}, err: tt.err}
		if got := p.outcome(); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

func TestWhoIsNotifiedOfAChange(t *testing.T) {
	ids := map[string]string{}
	ix := newIndex()
	for i, name := range []string{"near", "far", "world", "new", "paused"} {
		ids[name] = fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)
		sub := store.Subscription{ID: ids[name], Since: 3}
		where := map[string]string{"near": `"where":{"points":[{"lon":-71,"lat":42,"radius_km":50}]},`, "far": `"where":{"points":[{"lon":10,"lat":50,"radius_km":50}]},`}[name]
		if name == "new" {
			sub.Since = 9
		}
		sub.Body = []byte("{" + where + `"channels":[{"id":"1","kind":"email","lane":"email","status":"active"}],"paused":` + fmt.Sprint(name == "paused") + "}")
		if err := ix.put(&sub, nil); err != nil {
			t.Fatal(err)
		}
	}
	at := []geo.Shape{geo.Box{West: -71.01, South: 41.99, East: -70.99, North: 42.01}.Shape()}
	told := func(h *hazard.Hazard, last *lastMessage, names ...string) map[mailbox]*talk {
		all := map[mailbox]*talk{}
		for _, n := range names {
			all[mailbox{uuid.MustParse(ids[n]), "1"}] = talkOf(h, last)
		}
		return all
	}
	warning := flood(func(h *hazard.Hazard) { h.Severity = hazard.Warning })
	for name, tt := range map[string]struct {
		h    *hazard.Hazard
		a    audience
		want string
	}{
		"a new hazard":                        {flood(), audience{shapes: at}, "near world"},
		"a hazard that has ended":             {ended(hazard.EndAllClear), audience{}, ""},
		"a change that does not matter":       {flood(), audience{shapes: at, told: told(flood(), sent(flood()), "near", "world")}, ""},
		"a change that matters":               {warning, audience{shapes: at, told: told(warning, sent(flood()), "near", "world")}, "near world"},
		"an end, for everybody who was told":  {ended(hazard.EndAllClear), audience{told: told(ended(hazard.EndAllClear), sent(flood()), "near", "far")}, "near far"},
		"not a paused subscription":           {warning, audience{told: told(warning, sent(flood()), "paused")}, "near world"},
		"what waits is sent as of the change": {ended(hazard.EndAllClear), audience{waiting: []store.Notice{{Subscription: ids["far"], Channel: "1", HazardID: 1}}}, "far"},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.a.shapes == nil && tt.h.Status == hazard.Active {
				tt.a.shapes = at
			}
			got := map[string]bool{}
			for _, n := range ix.notices(&hazard.Change{Number: 9, At: noon, Hazard: tt.h}, tt.a, false, noon) {
				if n.Change != 9 || n.Since != noon {
					t.Errorf("%+v", n)
				}
				got[n.Subscription] = true
			}
			want := map[string]bool{}
			for _, n := range strings.Fields(tt.want) {
				want[ids[n]] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// On each of the nights on which a clock is set, nothing is sent while the local clock shows a quiet
// time, and nothing waits longer than that.
func TestQuietHoursWhereTheClockIsSet(t *testing.T) {
	for _, night := range []struct{ zone, evening string }{
		{"Europe/Berlin", "2026-03-28T18:00:00Z"}, {"Europe/Berlin", "2026-10-24T18:00:00Z"}, {"America/New_York", "2026-03-07T22:00:00Z"}, {"America/New_York", "2026-10-31T22:00:00Z"},
		{"America/Santiago", "2026-09-05T22:00:00Z"}, {"America/Santiago", "2026-04-04T22:00:00Z"}, {"Australia/Lord_Howe", "2026-04-04T06:00:00Z"}, {"Australia/Lord_Howe", "2026-10-03T06:00:00Z"},
		{"Africa/Cairo", "2026-04-23T16:00:00Z"}, {"Asia/Tokyo", "2026-03-28T08:00:00Z"},
	} {
		zone, err := time.LoadLocation(night.zone)
		if err != nil {
			t.Fatal(err)
		}
		evening, err := time.Parse(time.RFC3339, night.evening)
		if err != nil {
			t.Fatal(err)
		}
		for end := 0; end < 6*60; end += 15 {
			k := &kept{Zone: night.zone, Quiet: &Quiet{From: "22:00", To: fmt.Sprintf("%02d:%02d", end/60, end%60), Except: hazard.Warning}}
			quiet := func(at time.Time) bool {
				m := at.In(zone).Hour()*60 + at.In(zone).Minute()
				return m >= 22*60 || m < end
			}
			for now := evening; now.Before(evening.Add(14 * time.Hour)); now = now.Add(5 * time.Minute) {
				at := k.notBefore(now, hazard.Watch)
				if quiet(at) || at.Before(now) || quiet(now) != at.After(now) || at.After(now) && !quiet(at.Add(-time.Minute)) {
					t.Fatalf("%s, until %s: at %s it waits until %s", night.zone, k.Quiet.To, now.In(zone), at.In(zone))
				}
			}
		}
	}
}
