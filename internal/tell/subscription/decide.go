package subscription

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
)

// plan is what is decided about everything that waits for a mailbox.
type plan struct {
	box       store.Mailbox
	burst     burstKey
	updates   []store.NoticeUpdate
	told      []store.Told
	postponed hazard.Instant // nothing is sent before; 0: something may be
	// What is sent, if anything: rows are as they are stored while it is.
	rows       []store.Notice
	deliveries []delivery
	kind       message.Kind
	id         string // of the message
	more       int    // deliveries that are due and left for the next message
	resent     bool   // it was sent before, and may have arrived
	to         channel.Address
	message    message.Notice
	// The result of the attempt.
	err  error
	took time.Duration
}

// Key returns the mailbox: its messages are sent one after the other.
func (p *plan) Key() store.Mailbox { return p.box }

// recipient is what is known of a mailbox and its subscription.
type recipient struct {
	box         store.Mailbox
	sub         *subscription
	ownerActive bool // the owner may log in, or there is none
	counting    bool // people are counted
	storm       int  // how many messages a minute are sent one by one
	burst       burst
}

// facts is what is known of a waiting notice.
type facts struct {
	row    store.Notice
	hazard *hazard.Hazard // now, over if what it is part of is; nil if it no longer exists
	part   bool           // of an active hazard
	talk   *talk          // unless the notice is being sent
	last   *lastMessage   // what a message says that may have arrived
	near   nearness
	drafts []message.Draft // of a notice of drafts: what it lists; more are left out
	more   int
	// then is the hazard as a message that may have arrived describes it.
	then *hazard.Hazard
	// damaged: what the notice tells of cannot be read. It waits, and others go on.
	damaged bool
}

// delivery is a notice that has something to say.
type delivery struct {
	row    store.Notice // as it was read
	change int64        // the change that is described
	id     string       // of the message, if it may have arrived already; empty for a new one
	item   message.Item
	last   lastMessage
	at     time.Time // of the change
}

// muted returns why nothing is sent to a channel; empty if the first waiting notice may be sent.
func (r *recipient) muted(first store.Notice) string {
	c := r.sub.channel(r.box.Channel)
	switch {
	case c == nil:
		return "the channel was removed"
	case first.HazardID == 0 && c.Status == Unconfirmed:
		return ""
	case c.Status != Active:
		return "the channel is " + string(c.Status)
	case r.sub.Paused:
		return "the subscription is paused"
	case !r.ownerActive:
		return "the owner may not log in any more"
	}
	return ""
}

// needed returns the waiting notices to decide about now, all of which need facts. There are none if
// nothing is sent before p.postponed, because a message may just be arriving.
func (p *plan) needed(rows []store.Notice, now hazard.Instant) []store.Notice {
	if i := slices.IndexFunc(rows, func(n store.Notice) bool { return n.State == store.NoticeSending }); i >= 0 {
		if rows[i].Next > now {
			p.postponed = rows[i].Next
			return nil
		}
		return slices.DeleteFunc(slices.Clone(rows), func(n store.Notice) bool { return n.Message != rows[i].Message || n.State != store.NoticeSending })
	}
	if i := slices.IndexFunc(rows, func(n store.Notice) bool { return n.HazardID <= 0 }); i >= 0 {
		return rows[:i+1] // a confirmation is sent alone, and so are drafts
	}
	return rows
}

// decide decides what is sent now, and what becomes of all else that waits. It depends on its
// arguments alone.
func (p *plan) decide(r *recipient, list []facts, now hazard.Instant) {
	if list[0].row.State == store.NoticeSending {
		p.repeat(list, now)
		return
	}
	var due []delivery
	for i := range list {
		f := &list[i]
		if f.damaged {
			p.hold(f.row, now.Add(unreadable))
			continue
		}
		if f.row.HazardID == 0 {
			p.claim([]delivery{{row: f.row, last: lastMessage{Kind: message.Confirm}, at: f.row.Since.Time()}}, message.Confirm, now)
			return
		}
		if f.row.HazardID < 0 {
			p.chooseDrafts(r, f, now)
			return
		}
		d, why := r.delivery(f, now)
		if why != "" {
			p.drop(f.row, why)
		} else if until := r.notBefore(d, now); until > now {
			p.hold(f.row, until)
		} else {
			due = append(due, *d)
		}
	}
	if len(due) > 0 {
		p.choose(r, due, now)
	}
}

// chooseDrafts decides whether drafts are told now.
func (p *plan) chooseDrafts(r *recipient, f *facts, now hazard.Instant) {
	until := hazard.At(r.burst.free(now.Time(), r.storm, gatherWarning))
	switch {
	case len(f.drafts) == 0:
		p.drop(f.row, "there is no such draft any more")
	case len(r.burst.recent(now.Time())) >= r.storm && until > now:
		p.hold(f.row, until)
	default:
		p.claim([]delivery{{row: f.row, last: lastMessage{Kind: message.Drafts}, at: f.row.Since.Time()}}, message.Drafts, now)
	}
}

// choose decides which of the deliveries that are due are sent, and whether together.
func (p *plan) choose(r *recipient, due []delivery, now hazard.Instant) {
	first := due[0].last.Kind
	switch {
	case r.sub.digested():
		p.claim(p.named(due), message.Digest, now)
		return
	case urgent(first) || len(r.burst.recent(now.Time()))+len(due) <= r.storm:
		p.claim(due[:1], first, now)
		return
	}
	crowd := slices.DeleteFunc(due, func(d delivery) bool { return urgent(d.last.Kind) }) // urgent ones are sent alone
	if until := hazard.At(r.burst.free(now.Time(), r.storm, gather(crowd))); until > now {
		for _, d := range crowd {
			p.hold(d.row, until)
		}
		return
	}
	kind := message.Summary
	if len(crowd) == 1 {
		kind = crowd[0].last.Kind
	}
	p.claim(p.named(crowd), kind, now)
}

// named returns the deliveries that one message names, the most severe ones. The others stay for the
// next message: only what was named counts as told.
func (p *plan) named(crowd []delivery) []delivery {
	slices.SortStableFunc(crowd, func(a, b delivery) int { return cmp.Compare(b.last.Severity, a.last.Severity) })
	p.more = max(0, len(crowd)-maxItems)
	return crowd[:len(crowd)-p.more]
}

// In a storm, messages are gathered for so long; for less if there is a warning among them.
const (
	gatherTime    = time.Minute
	gatherWarning = 10 * time.Second
)

// gather returns how long a crowd is gathered.
func gather(crowd []delivery) time.Duration {
	if slices.ContainsFunc(crowd, func(d delivery) bool { return d.last.Severity >= hazard.Warning }) {
		return gatherWarning
	}
	return gatherTime
}

// urgent reports whether a message is sent alone whatever else waits: an earlier message was wrong.
func urgent(k message.Kind) bool { return k == message.Correction || k == message.Withdrawn }

// notBefore returns when a delivery may be sent.
func (r *recipient) notBefore(d *delivery, now hazard.Instant) hazard.Instant {
	if r.sub.digested() {
		return max(now, hazard.At(r.sub.nextDigest(d.row.Created.Time())))
	}
	// If a message of a severity was sent, its end and its correction are as urgent.
	return hazard.At(r.sub.notBefore(now.Time(), max(d.last.Severity, d.item.Hazard.Severity)))
}

// delivery returns what a notice has to say now, or why it has nothing to say.
func (r *recipient) delivery(f *facts, now hazard.Instant) (d *delivery, why string) {
	h, inside, t := f.hazard, f.near.inside, f.talk
	switch {
	case h == nil:
		return nil, "the hazard no longer exists"
	case f.part:
		return nil, "it is part of another hazard"
	}
	d = &delivery{row: f.row, change: h.Version, at: h.LastUpdate.Time(), last: messageAbout(h, inside), item: f.near.item(h)}
	if since := f.row.Since.Time(); since.After(d.at) {
		d.at = since
	}
	of := t.last(h.ID, inside, now)
	if of == 0 {
		return d, r.first(d, h, inside)
	}
	last := t.said[of]
	switch {
	case !t.due(h.ID, inside, now) && h.Status != hazard.Active:
		return nil, "its end was already sent"
	case !t.due(h.ID, inside, now):
		return nil, "nothing that matters has changed"
	case of == h.ID && last.Unsure != "" && last.holds(h, inside, now): // it is true again, and may never have arrived
		d.last, d.id, d.item.Changed, d.item.Reason = *last, last.Unsure, last.Changed, h.Note
		d.last.Unsure, d.last.Went = "", 0
		return d, ""
	}
	d.last.Thread, d.last.Begun = t.thread(h.ID, of)
	d.last.Listed = last.Listed || d.last.Thread != last.Thread
	if h.Status != hazard.Active {
		d.last.Kind, d.item.Reason = message.KindOfEnd(h), h.Note
		d.last.Severity = max(last.Severity, h.Severity) // how urgent it is
		return d, ""
	}
	changed := last.changes(h, inside, now)
	if changed == nil && !inside { // what the reader may believe
		changed = []message.Change{{Field: "area", From: "inside", To: "outside"}}
	}
	d.last.Kind, d.last.Changed, d.item.Changed = message.Changed, changed, changed
	if changed == nil { // it is said again, after something else in its thread
		d.last.Kind = message.First
	}
	d.last.carry(last)
	return d, ""
}

// first makes d the first message about a hazard, or returns why there is none.
func (r *recipient) first(d *delivery, h *hazard.Hazard, inside bool) (why string) {
	wanted, fault := newCriteria(&r.sub.kept)
	switch {
	case fault != "":
		return fault
	case h.Status != hazard.Active && r.sub.Hazard != uuid.Nil && h.UUID == r.sub.Hazard:
		d.last.Kind, d.item.Reason = message.KindOfEnd(h), h.Note
	case h.Status != hazard.Active:
		return "it ended before a message was sent"
	case !inside || !wanted.match(h, r.counting):
		return "it no longer concerns the subscriber"
	}
	d.last.Kind = cmp.Or(d.last.Kind, message.First)
	d.last.Thread, d.last.Listed = threadOf(r.sub.ID, h.UUID), true
	return ""
}

// update decides that a notice changes.
func (p *plan) update(n store.Notice, f func(*store.Notice)) store.Notice {
	after := n
	f(&after)
	p.updates = append(p.updates, store.NoticeUpdate{Before: n, After: after})
	return after
}

// drop decides that a notice is never sent.
func (p *plan) drop(n store.Notice, why string) {
	p.update(n, func(n *store.Notice) { n.State, n.Error = store.NoticeDropped, why })
}

// silence drops a notice of a channel that is told nothing now. What may have arrived counts as told: when
// the channel is told again, what no longer holds is put right.
func (p *plan) silence(n store.Notice, why string, now hazard.Instant) error {
	p.drop(n, why)
	if n.State != store.NoticeSending || n.HazardID <= 0 {
		return nil
	}
	last, err := decodeMessage(n.Said)
	if err != nil {
		return err
	}
	last.Unsure = unsureID(n.Message, n.HazardID, message.Kind(n.Kind))
	p.told = append(p.told, last.told(p.box, n.HazardID, n.Change, now))
	return nil
}

// unsureID names a message that is sent again about one hazard of a message that may have arrived: each
// hazard of a summary gets its own.
func unsureID(id string, hazardID int64, kind message.Kind) string {
	if kind != message.Summary && kind != message.Digest {
		return id
	}
	return uuid.NewSHA1(space, fmt.Appendf(nil, "%s\x00%d", id, hazardID)).String()
}

// hold decides that a notice waits.
func (p *plan) hold(n store.Notice, until hazard.Instant) {
	if n.Next != until {
		p.update(n, func(n *store.Notice) { n.Next = until })
	}
}

// claim decides that deliveries are sent as one message.
func (p *plan) claim(list []delivery, kind message.Kind, now hazard.Instant) {
	var key strings.Builder
	fmt.Fprintf(&key, "%s\x00%s\x00%s", p.box.Subscription, p.box.Channel, kind)
	for _, d := range list {
		fmt.Fprintf(&key, "\x00%d:%d", d.row.ID, d.change)
	}
	id := uuid.NewSHA1(space, []byte(key.String())).String()
	if len(list) == 1 && list[0].id != "" {
		id = list[0].id
	}
	p.send(list, kind, id, now, func(n *store.Notice, d *delivery) {
		d.last.Listed = d.last.Listed && len(list) > 1
		n.State, n.Kind, n.Message, n.Said, n.Change = store.NoticeSending, string(kind), id, d.last.encode(), d.change
		n.First = cmp.Or(n.First, now)
	})
}

// send decides that a message is sent, for which f changes each of its notices.
func (p *plan) send(list []delivery, kind message.Kind, id string, now hazard.Instant, f func(*store.Notice, *delivery)) {
	p.deliveries, p.kind, p.id = list, kind, id
	for i := range list {
		p.rows = append(p.rows, p.update(list[i].row, func(n *store.Notice) {
			f(n, &list[i])
			n.Attempts++
			n.Last, n.Next = now, now.Add(uncertain)
		}))
	}
}

// repeat decides about a message that may have arrived. While it is still true, it is sent again under
// its ID. When it is no longer true, it counts as sent, and the changes since are sent next. If it
// becomes true again before they are sent, it is sent again.
func (p *plan) repeat(list []facts, now hazard.Instant) {
	kind, id := message.Kind(list[0].row.Kind), list[0].row.Message
	var again []delivery
	holds := true
	for i := range list {
		f := &list[i]
		if f.damaged {
			again, holds = append(again, delivery{row: f.row, change: f.row.Change}), false
			continue
		}
		if f.row.HazardID <= 0 {
			again = append(again, delivery{row: f.row, change: f.row.Change, last: lastMessage{Kind: kind}, at: f.row.Since.Time()})
			continue
		}
		holds = holds && !f.part && f.last.holds(f.hazard, f.near.inside, now)
		then := f.then
		if f.hazard.Status != hazard.Active {
			then = then.ExpireAt(now)
		}
		d := delivery{row: f.row, change: f.row.Change, last: *f.last, item: f.near.item(then), at: then.LastUpdate.Time()}
		d.item.Changed, d.item.Reason = f.last.Changed, then.Note
		again = append(again, d)
	}
	if holds {
		p.resent = true
		p.send(again, kind, id, now, func(*store.Notice, *delivery) {})
		return
	}
	for i, d := range again {
		next, why := now, "it is not known whether it has arrived; it no longer holds"
		if list[i].damaged {
			next, why = now.Add(unreadable), "it is not known whether it has arrived; what it tells of is damaged"
		}
		p.update(d.row, func(n *store.Notice) {
			n.State, n.Next, n.Error = store.NoticePending, next, why
			n.Message, n.Kind, n.Said = "", "", nil
		})
		if last := list[i].last; last != nil {
			said := *last
			said.Unsure = unsureID(id, d.row.HazardID, kind)
			p.told = append(p.told, said.told(p.box, d.row.HazardID, d.change, now))
		}
	}
}
