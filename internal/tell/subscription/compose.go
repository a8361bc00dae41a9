package subscription

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
)

// The bounds of a message.
const (
	maxItems = 20   // hazards in a summary or a digest; More counts the others
	maxRows  = 1000 // notices that one message tells
	// lateAfter is how old a change is that is told late (reliability-security.md section 0.8).
	lateAfter = time.Minute
	// confirmLife is how long an address can be confirmed.
	confirmLife = 48 * time.Hour
)

// plan is what is decided of all that waits for one mailbox.
type plan struct {
	box     store.Mailbox
	updates []store.NoticeUpdate
	told    []store.Told
	// postponed: nothing is sent before; 0: it may be.
	postponed hazard.Instant
	// What is sent, if anything: rows as they are once they are claimed.
	rows   []store.Notice
	resent bool // it was sent before, and may have arrived
	to     channel.Address
	notice message.Notice
}

// drop decides that a notice is told no more.
func (p *plan) drop(n store.Notice, why string) {
	after := n
	after.State, after.Error = store.NoticeDropped, why
	p.updates = append(p.updates, store.NoticeUpdate{Before: n, After: after})
}

// hold decides that a notice waits.
func (p *plan) hold(n store.Notice, until hazard.Instant) {
	if n.Next == until {
		return
	}
	after := n
	after.Next = until
	p.updates = append(p.updates, store.NoticeUpdate{Before: n, After: after})
}

// telling is a notice that has something to tell.
type telling struct {
	row  store.Notice // as it was read
	tell int64        // the change that is told
	id   string       // of the message, if it may have come already; empty: a new one
	item message.Item
	said said
	at   time.Time // of the change
}

// plan decides what is sent to a mailbox now, and what becomes of all else that waits for it. b is what it was sent lately.
func (s *Service) plan(ctx context.Context, box store.Mailbox, b *burst) (*plan, error) {
	p, now := &plan{box: box}, hazard.At(s.Now())
	rows, err := s.Store.WaitingNotices(ctx, box, maxRows)
	if err != nil || len(rows) == 0 {
		return p, err
	}
	row, err := s.Store.Subscription(ctx, box.Subscription)
	if errors.Is(err, hazard.ErrNotFound) {
		return p, nil // its notices go with it
	}
	if err != nil {
		return nil, err
	}
	sub, err := read(&row)
	if err != nil {
		return nil, err
	}
	if why := s.deaf(sub, box.Channel, rows); why != "" {
		for _, n := range rows {
			p.drop(n, why)
		}
		return p, nil
	}
	if sub.addresses, err = s.Key.open(sub.ID, sub.Sealed); err != nil {
		return nil, err
	}
	c := sub.channel(box.Channel)
	p.to = channel.Address{Kind: c.Kind, To: sub.addresses[c.ID], Template: c.Template}
	if i := slices.IndexFunc(rows, func(n store.Notice) bool { return n.State == store.NoticeSending }); i >= 0 {
		if rows[i].Next > now {
			p.postponed = rows[i].Next
			return p, nil
		}
		again := slices.DeleteFunc(slices.Clone(rows), func(n store.Notice) bool { return n.Message != rows[i].Message || n.State != store.NoticeSending })
		return p, s.again(ctx, p, sub, again, now)
	}
	var list []telling
	for _, n := range rows {
		if n.HazardID == 0 {
			s.claim(p, sub, []telling{{row: n, said: said{Kind: message.Confirm}, at: n.Since.Time()}}, message.Confirm, now)
			return p, nil
		}
		t, why, err := s.telling(ctx, sub, n, now)
		switch {
		case err != nil:
			return nil, err
		case why != "":
			p.drop(n, why)
			continue
		}
		if until := s.until(sub, n, t, now); until > now {
			p.hold(n, until)
			continue
		}
		list = append(list, *t)
	}
	if len(list) == 0 {
		return p, nil
	}
	switch {
	case sub.Digest == DailyDigest || sub.Digest == WeeklyDigest:
		s.claim(p, sub, list, message.Digest, now)
	case urgent(list[0].said.Kind): // never in a crowd
		s.claim(p, sub, list[:1], list[0].said.Kind, now)
	case b.recent(s.Now())+len(list) > s.Storm:
		crowd := slices.DeleteFunc(list, func(t telling) bool { return urgent(t.said.Kind) }) // they have their own turn
		if until := hazard.At(b.free(s.Now(), s.Storm, gather(crowd))); until > now {
			for _, t := range crowd {
				p.hold(t.row, until)
			}
			return p, nil
		}
		kind := message.Summary
		if len(crowd) == 1 {
			kind = crowd[0].said.Kind
		}
		s.claim(p, sub, crowd, kind, now)
	default:
		s.claim(p, sub, list[:1], list[0].said.Kind, now)
	}
	return p, nil
}

// In a storm, messages are gathered for so long; for less where a warning is among them.
const (
	gatherTime    = time.Minute
	gatherWarning = 10 * time.Second
)

// gather is how long a crowd is gathered.
func gather(crowd []telling) time.Duration {
	if slices.ContainsFunc(crowd, func(t telling) bool { return t.said.Severity >= hazard.Warning }) {
		return gatherWarning
	}
	return gatherTime
}

// urgent reports whether a message stands alone whatever else there is: what was told was wrong.
func urgent(k message.Kind) bool { return k == message.Correction || k == message.Withdrawn }

// deaf is why nothing is told to a channel; empty: it may be told what waits.
func (s *Service) deaf(sub *subscription, id string, rows []store.Notice) string {
	c := sub.channel(id)
	switch {
	case c == nil:
		return "the channel was removed"
	case rows[0].HazardID == 0 && c.Status == Unconfirmed:
		return ""
	case c.Status != Active:
		return "the channel is " + string(c.Status)
	case sub.Paused:
		return "the subscription is paused"
	case sub.Owner != "":
		if _, _, ok := s.Standing(sub.Owner); !ok {
			return "the owner may not log in any more"
		}
	}
	return ""
}

// until is when something may be told.
func (s *Service) until(sub *subscription, n store.Notice, t *telling, now hazard.Instant) hazard.Instant {
	if sub.Digest == DailyDigest || sub.Digest == WeeklyDigest {
		if at := hazard.At(sub.nextDigest(n.Created.Time())); at > now {
			return at
		}
		return now
	}
	// What was told at that severity may be told again: its end and its correction are as urgent.
	return hazard.At(sub.notBefore(now.Time(), max(t.said.Severity, t.item.Hazard.Severity)))
}

// telling is what is to be told of a notice now; why: nothing, for this reason.
func (s *Service) telling(ctx context.Context, sub *subscription, n store.Notice, now hazard.Instant) (t *telling, why string, err error) {
	recorded, err := s.Store.Hazard(ctx, n.HazardID)
	if errors.Is(err, hazard.ErrNotFound) {
		return nil, "the hazard no longer exists", nil
	}
	if err != nil {
		return nil, "", err
	}
	if recorded.Reason == hazard.EndMerged {
		return nil, "it is part of another hazard", nil
	}
	h := recorded.ExpireAt(now)
	box := store.Mailbox{Subscription: n.Subscription, Channel: n.Channel}
	known, told, err := s.Store.Told(ctx, box, n.HazardID)
	if err != nil {
		return nil, "", err
	}
	where, err := s.reaches(ctx, sub, h)
	if err != nil {
		return nil, "", err
	}
	t = &telling{row: n, at: h.LastUpdate.Time(), said: sayOf(h, where.inside), item: where.item(h)}
	t.tell = h.Version
	if at := n.Since.Time(); at.After(t.at) {
		t.at = at
	}
	if !told {
		w := what{types: sub.Types, categories: sub.Categories, severity: sub.Severity, people: sub.People, drills: sub.Drills}
		if w.measure, why = measured(sub.Measure); why != "" {
			return nil, why, nil
		}
		switch {
		case h.Status != hazard.Active:
			return nil, "it ended before a message was sent", nil
		case !where.inside || !w.wants(h, s.Counting):
			return nil, "it no longer concerns the subscriber", nil
		}
		t.said.Kind = message.First
		t.said.Thread = "thread-" + uuid.NewSHA1(space, []byte(sub.ID+"\x00"+h.UUID.String())).String()
		return t, "", nil
	}
	before, err := decodeSaid(known.Said)
	if err != nil {
		return nil, "", err
	}
	if before.Unsure != "" && before.holds(h, where.inside, now) { // it holds again, and may never have come
		t.said, t.id, t.item.Changed, t.item.Reason = before, before.Unsure, before.Changed, h.Note
		t.said.Unsure = ""
		return t, "", nil
	}
	t.said.Thread = before.Thread
	if h.Status != hazard.Active {
		if before.Over {
			return nil, "its end was already sent", nil
		}
		t.said.Kind = kindOfEnd(h)
		t.said.Severity = max(before.Severity, h.Severity) // how urgent it is
		t.item.Reason = h.Note
		return t, "", nil
	}
	if t.item.Changed = before.matters(h, where.inside, now); t.item.Changed == nil {
		return nil, "nothing that matters has changed", nil
	}
	t.said.Kind, t.said.Changed = message.Changed, t.item.Changed
	// What is not told again is remembered as it was told, so that small steps add up.
	for name, value := range before.Measured {
		if !slices.ContainsFunc(t.item.Changed, func(c message.Change) bool { return c.Field == string(name) }) {
			if t.said.Measured == nil { // the hazard has no measurements any more
				t.said.Measured = map[hazard.Quantity]float64{}
			}
			t.said.Measured[name] = value
		}
	}
	if !slices.ContainsFunc(t.item.Changed, func(c message.Change) bool { return c.Field == "end" }) && before.End > 0 && t.said.End > 0 {
		t.said.End = before.End
	}
	return t, "", nil
}

// nearness is where a hazard is, seen from the places of a subscription.
type nearness struct {
	inside   bool // it reaches one of them
	place    string
	distance *float64 // km
}

// reaches reports how near a hazard comes to a subscriber.
func (s *Service) reaches(ctx context.Context, sub *subscription, h *hazard.Hazard) (near nearness, err error) {
	if sub.Where == nil {
		near.inside = true
		return near, nil
	}
	shapes, err := s.Store.Shapes(ctx, h.Areas)
	if err != nil {
		return near, err
	}
	shapes = query.Footprint(h, shapes)
	both := make([]geo.Shape, len(shapes))
	for i, x := range shapes {
		both[i] = x.BothSides()
	}
	if len(sub.Where.Points) > 0 {
		reach, best := geo.NewReach(shapes...), math.Inf(1)
		for _, p := range sub.Where.Points {
			// Float32, as the index has it: both must say the same.
			metres, far := reach.Distance(p.Lon, p.Lat, float64(float32(p.Radius*1000)))
			if !far && metres < best {
				best, near.inside, near.place = metres, true, p.Name
				near.distance = new(math.Round(metres/100) / 10)
			}
		}
	}
	if !near.inside && len(sub.Where.Areas) > 0 {
		shape, err := geo.ReadStored(string(sub.Where.Areas))
		if err != nil {
			return near, err
		}
		near.inside = (&area{shape: shape}).meets(both)
	}
	if a := sub.Where.Assets; a != nil && !near.inside && s.mayKnow(sub.Owner, a.Organization) {
		found, err := s.nearest(ctx, shapes, map[string]float64{a.Organization: a.Within})
		if err != nil {
			return near, err
		}
		if at, ok := found[a.Organization]; ok {
			near.inside, near.place, near.distance = true, at.name, new(math.Round(at.metres/100)/10)
		}
	}
	for _, code := range sub.Where.Regions {
		if near.inside {
			break
		}
		if shape, margin, ok := s.Region(code); ok && (&area{shape: shape, margin: margin}).meets(both) {
			near.inside, near.place = true, code
		}
	}
	return near, nil
}

func (n *nearness) item(h *hazard.Hazard) message.Item {
	i := message.Item{Hazard: *h, Place: n.place, DistanceKM: n.distance}
	if e := h.Exposed(); e != nil && e.People != nil {
		i.People = new(e.People.People)
	}
	return i
}

// claim decides that list is sent as one message.
func (s *Service) claim(p *plan, sub *subscription, list []telling, kind message.Kind, now hazard.Instant) {
	var key strings.Builder
	fmt.Fprintf(&key, "%s\x00%s\x00%s", sub.ID, p.box.Channel, kind)
	for _, t := range list {
		fmt.Fprintf(&key, "\x00%d:%d", t.row.ID, t.tell)
	}
	id := uuid.NewSHA1(space, []byte(key.String())).String()
	if len(list) == 1 && list[0].id != "" {
		id = list[0].id
	}
	for _, t := range list {
		after := t.row
		after.State, after.Kind, after.Message, after.Said, after.Change = store.NoticeSending, string(kind), id, t.said.encode(), t.tell
		after.Attempts++
		after.First, after.Last = cmp.Or(after.First, now), now
		after.Next = now.Add(uncertain)
		p.updates = append(p.updates, store.NoticeUpdate{Before: t.row, After: after})
		p.rows = append(p.rows, after)
	}
	p.notice = s.notice(sub, p.box.Channel, list, kind, id, now)
}

// notice is the message of what is told.
func (s *Service) notice(sub *subscription, way string, list []telling, kind message.Kind, id string, now hazard.Instant) message.Notice {
	n := message.Notice{ID: id, Kind: kind, Name: sub.Name, Subscription: uuid.MustParse(sub.ID), Zone: sub.location()}
	for tag := range strings.SplitSeq(sub.Language, ",") {
		if tag, _, _ = strings.Cut(tag, ";"); strings.TrimSpace(tag) != "" {
			n.Language = append(n.Language, strings.TrimSpace(tag))
		}
	}
	since := now
	for _, t := range list {
		if t.at.After(n.At) {
			n.At = t.at
		}
		since = min(since, t.row.Since)
		if kind == message.Confirm {
			continue
		}
		if len(list) == 1 {
			n.Thread = t.said.Thread
		}
		if s.Authority != nil {
			t.item.Authority = s.Authority(t.item.Hazard.Source)
		}
		if s.Links {
			t.item.Link = s.BaseURL + "/h/" + t.item.Hazard.UUID.String()
		}
		n.Items = append(n.Items, t.item)
	}
	if len(list) > 1 {
		bySeverity(n.Items)
	}
	if len(n.Items) > maxItems {
		n.More, n.Items = len(n.Items)-maxItems, n.Items[:maxItems]
	}
	if late := time.Duration(now-since) * time.Millisecond; late > lateAfter && kind != message.Confirm && kind != message.Digest {
		n.Late = late
	}
	if s.Links {
		c := sub.channel(way)
		n.Manage = s.BaseURL + "/subscriptions/manage?token=" + s.Key.sign(toManage, sub.ID, c.ID, c.Stamp, 0)
		n.Unsubscribe = s.BaseURL + "/subscriptions/unsubscribe?token=" + s.Key.sign(toUnsubscribe, sub.ID, c.ID, c.Stamp, 0)
		if kind == message.Confirm {
			n.Link = s.BaseURL + "/subscriptions/confirm?token=" + s.Key.sign(toConfirm, sub.ID, c.ID, c.Stamp, now.Add(confirmLife))
		} else if len(n.Items) == 1 {
			n.Link = n.Items[0].Link
		}
	}
	return n
}

// again decides about a message of which it is not known whether it has arrived: it is sent again, under its ID, as long as what it says still holds. Where it no longer does,
// it counts as told, and what has changed is told next; where it holds again before that, it is sent again after all.
func (s *Service) again(ctx context.Context, p *plan, sub *subscription, rows []store.Notice, now hazard.Instant) error {
	kind := message.Kind(rows[0].Kind)
	var list []telling
	holds := true
	for _, n := range rows {
		if n.HazardID == 0 {
			list = append(list, telling{row: n, tell: n.Change, said: said{Kind: kind}, at: n.Since.Time()})
			continue
		}
		told, err := decodeSaid(n.Said)
		if err != nil {
			return err
		}
		recorded, err := s.Store.Hazard(ctx, n.HazardID)
		if err != nil {
			return err
		}
		then, err := s.Store.HazardAsOf(ctx, n.HazardID, n.Change)
		if err != nil {
			return err
		}
		h := recorded.ExpireAt(now)
		near, err := s.reaches(ctx, sub, h)
		if err != nil {
			return err
		}
		holds = holds && told.holds(h, near.inside, now)
		near.inside = told.Inside
		if h.Status != hazard.Active {
			then = then.ExpireAt(now)
		}
		t := telling{row: n, tell: n.Change, said: told, item: near.item(then), at: then.LastUpdate.Time()}
		t.item.Changed, t.item.Reason = told.Changed, then.Note
		list = append(list, t)
	}
	if holds {
		s.resend(p, sub, list, kind, rows[0].Message, now)
		return nil
	}
	for _, t := range list {
		after := t.row
		after.State, after.Next, after.Error = store.NoticePending, now, "it is not known whether it has arrived; it no longer holds"
		after.Message, after.Kind, after.Said = "", "", nil
		p.updates = append(p.updates, store.NoticeUpdate{Before: t.row, After: after})
		if t.said.Unsure = rows[0].Message; len(rows) > 1 { // the others of a summary go their own ways
			t.said.Unsure = uuid.NewSHA1(space, fmt.Appendf(nil, "%s\x00%d", rows[0].Message, t.row.HazardID)).String()
		}
		p.told = append(p.told, t.told(p.box, now))
	}
	return nil
}

// told is what the subscriber knows once the message has come.
func (t *telling) told(box store.Mailbox, now hazard.Instant) store.Told {
	return toldOf(box, t.row.HazardID, t.tell, &t.said, now)
}

func toldOf(box store.Mailbox, hazardID, change int64, s *said, now hazard.Instant) store.Told {
	return store.Told{Subscription: box.Subscription, Channel: box.Channel, HazardID: hazardID, Change: change, At: now, Gone: s.Over, Said: s.encode()}
}

// resend is claim of a message that has its ID.
func (s *Service) resend(p *plan, sub *subscription, list []telling, kind message.Kind, id string, now hazard.Instant) {
	p.resent = true
	for _, t := range list {
		after := t.row
		after.Attempts++
		after.Last, after.Next = now, now.Add(uncertain)
		p.updates = append(p.updates, store.NoticeUpdate{Before: t.row, After: after})
		p.rows = append(p.rows, after)
	}
	p.notice = s.notice(sub, p.box.Channel, list, kind, id, now)
}
