package subscription

import (
	"context"
	"errors"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/net/outbound"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
)

// The timing of sending.
const (
	// parallel is how many messages a lane sends at once, to different mailboxes.
	parallel = 8
	// page is how many notices are examined to fill a lane, and most is how many messages are
	// prepared at a time.
	page = 128
	most = 64
	// attemptTimeout bounds one attempt.
	attemptTimeout = 30 * time.Second
	// lastMoment is how long attempts in progress may take at a shutdown.
	lastMoment = 3 * time.Second
	// uncertain is how long after its start an attempt without a result is repeated, because
	// another process may still be sending it.
	uncertain = attemptTimeout + 15*time.Second
)

// schedule holds the delays after each failed attempt. After the last one, after about two days,
// the message is given up, as mail servers do (RFC 5321 section 4.5.4.1).
var schedule = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour, 20 * time.Hour}

// A lane whose server keeps failing sends one message at a time, with doubling pauses.
const (
	firstPause = 5 * time.Second
	maxPause   = 5 * time.Minute
)

// lane sends the messages to one server.
type lane struct {
	*Service
	name   string
	lease  right
	cancel context.CancelFunc
	ended  chan struct{}
	wake   chan struct{} // capacity 1

	// Of the goroutine of run alone.
	failures int       // in a row
	pause    time.Time // nothing is sent before this time
	busy     map[store.Mailbox]bool
	bursts   map[store.Mailbox]*burst
	swept    time.Time // of bursts
	ready    []*plan
}

// burst is what a mailbox was sent recently. The zero burst is empty.
type burst struct {
	times   []time.Time // times of messages in the last minute
	summary time.Time
}

// recent returns the number of messages in the last minute.
func (b *burst) recent(now time.Time) int {
	for len(b.times) > 0 && now.Sub(b.times[0]) >= time.Minute {
		b.times = b.times[1:]
	}
	return len(b.times)
}

// free is from when on the next summary may be sent: so long after the one before, and after a minute with as many messages as a storm has begun.
func (b *burst) free(now time.Time, storm int, gather time.Duration) time.Time {
	at := b.summary.Add(gather)
	if b.recent(now) >= storm {
		if t := b.times[0].Add(gather); t.After(at) {
			at = t
		}
	}
	return at
}

func (t *teller) start(ctx context.Context, name string) *lane {
	ctx, cancel := context.WithCancel(ctx)
	l := &lane{Service: t.Service, name: name, lease: t.lease, cancel: cancel, ended: make(chan struct{}), wake: make(chan struct{}, 1), busy: map[store.Mailbox]bool{},
		bursts: map[store.Mailbox]*burst{}}
	go func() {
		defer close(l.ended)
		l.run(ctx)
	}()
	return l
}

// stop stops the lane and waits for its end.
func (l *lane) stop() {
	l.cancel()
	<-l.ended
}

func (l *lane) alarm() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// done is a message after an attempt.
type done struct {
	plan *plan
	err  error
	took time.Duration
}

// run sends until ctx ends.
func (l *lane) run(ctx context.Context) {
	results := make(chan done)
	inFlight := 0
	defer func() {
		var last []done
		for range inFlight {
			last = append(last, <-results)
		}
		l.note(ctx, last)
		l.release(ctx)
	}()
	for ctx.Err() == nil {
		now := l.Now()
		next := now.Add(lookEvery)
		if l.pause.After(now) {
			next = l.pause
		} else {
			slots := parallel
			if l.failures > 0 {
				slots = 1
			}
			if len(l.ready) == 0 && inFlight < slots {
				if err := l.fill(ctx); err != nil && ctx.Err() == nil {
					l.Logger.Warn("messages to subscribers cannot be prepared", "lane", l.name, "error", err)
				} else if err == nil {
					next = l.later(ctx, now)
				}
			}
			for ; inFlight < slots && len(l.ready) > 0; inFlight++ {
				p := l.ready[0]
				l.ready = l.ready[1:]
				go func() { results <- l.send(ctx, p) }()
			}
		}
		timer := time.NewTimer(next.Sub(now))
		select {
		case <-ctx.Done():
		case <-l.wake:
		case <-timer.C:
		case res := <-results:
			all := []done{res}
			for more := true; more && len(all) < inFlight; {
				select {
				case res := <-results:
					all = append(all, res)
				default:
					more = false
				}
			}
			inFlight -= len(all)
			l.note(ctx, all)
		}
		timer.Stop()
	}
}

// later returns when to look again if nothing wakes the lane.
func (l *lane) later(ctx context.Context, now time.Time) time.Time {
	if len(l.busy) > 0 || len(l.ready) > 0 {
		return now.Add(lookEvery)
	}
	next := now.Add(time.Minute)
	if at, ok, err := l.Store.NextNotice(ctx, l.name, hazard.At(now)); err != nil {
		return now.Add(lookEvery)
	} else if ok && at.Time().Before(next) {
		next = at.Time()
	}
	return next
}

// fill decides what to send next, and stores that before anything is sent.
func (l *lane) fill(ctx context.Context) error {
	now := l.Now()
	if now.Sub(l.swept) > time.Minute {
		l.swept = now
		for box, b := range l.bursts {
			if b.recent(now) == 0 && now.Sub(b.summary) > time.Minute {
				delete(l.bursts, box)
			}
		}
	}
	due, err := l.Store.DueMailboxes(ctx, l.name, hazard.At(now), page+len(l.busy))
	if err != nil {
		return err
	}
	var plans []*plan
	decided := store.NoticesDone{Postponed: map[store.Mailbox]hazard.Instant{}}
	seen := map[store.Mailbox]bool{}
	limit := most
	if l.failures > 0 {
		limit = 1
	}
	for _, box := range due {
		if l.busy[box] || seen[box] {
			continue
		}
		if len(plans) == limit {
			break
		}
		seen[box] = true
		b := l.bursts[box]
		if b == nil {
			b = &burst{}
		}
		p, err := l.plan(ctx, box, b)
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			l.Logger.Error("a message to a subscriber cannot be made", "subscription", box.Subscription, "error", err)
			decided.Postponed[box] = hazard.At(now.Add(schedule[2])) // an unreadable one must not block the others
			continue
		}
		decided.Updates, decided.Told = append(decided.Updates, p.updates...), append(decided.Told, p.told...)
		if p.postponed > 0 {
			decided.Postponed[box] = p.postponed
		}
		if p.rows != nil {
			plans = append(plans, p)
		}
	}
	if len(decided.Updates) == 0 && len(decided.Told) == 0 && len(decided.Postponed) == 0 {
		return nil
	}
	if !l.lease.Valid() {
		return errNoLease
	}
	if err := l.Store.SaveNotices(ctx, decided, true); errors.Is(err, hazard.ErrStale) {
		l.alarm() // something has joined what waits: once more
		return nil
	} else if err != nil {
		return err
	}
	for _, p := range plans {
		l.busy[p.box] = true
		b := l.bursts[p.box]
		if b == nil {
			b = &burst{}
			l.bursts[p.box] = b
		}
		b.times = append(b.times, now)
		if p.notice.Kind == message.Summary {
			b.summary = now
		}
	}
	l.ready = plans
	if len(plans) == 0 && len(seen) > 0 {
		l.alarm() // all of it waits or is dropped; there may be more behind it
	}
	return nil
}

// release releases prepared messages that were not sent.
func (l *lane) release(ctx context.Context) {
	var back store.NoticesDone
	for _, p := range l.ready {
		for _, row := range p.rows {
			back.Updates = append(back.Updates, p.putBack(row, hazard.At(l.Now()), row.Error))
		}
	}
	if len(back.Updates) == 0 || !l.lease.Valid() {
		return
	}
	if err := l.Store.SaveNotices(context.WithoutCancel(ctx), back, false); err != nil {
		l.Logger.Warn("messages that were not sent go out late", "lane", l.name, "error", err)
	}
}

// send makes an attempt.
func (l *lane) send(ctx context.Context, p *plan) done {
	if !l.lease.Valid() {
		return done{plan: p, err: errNoLease}
	}
	began := time.Now()
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTimeout)
	defer cancel()
	// Attempts in progress at the shutdown may finish.
	ending := context.AfterFunc(ctx, func() { time.AfterFunc(lastMoment, cancel) })
	defer ending()
	err := l.Sender.Send(within, p.to, p.notice)
	return done{plan: p, err: err, took: time.Since(began)}
}

// note stores the results of attempts.
func (l *lane) note(ctx context.Context, all []done) {
	now, dead := hazard.At(l.Now()), map[store.Mailbox]string{}
	result := store.NoticesDone{Postponed: map[store.Mailbox]hazard.Instant{}}
	for _, d := range all {
		delete(l.busy, d.plan.box)
		if ctx.Err() != nil && d.err != nil || errors.Is(d.err, errNoLease) {
			continue // it may have arrived; it is sent again
		}
		if l.untried(d, now, &result) {
			continue
		}
		if why := l.outcome(ctx, d, now, &result); why != "" {
			dead[d.plan.box] = why
		}
	}
	if len(result.Updates) == 0 {
		return
	}
	if !l.lease.Valid() {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if err := l.Store.SaveNotices(ctx, result, false); err != nil {
		l.Logger.Warn("cannot store the results of messages to subscribers", "lane", l.name, "error", err)
		l.pause = l.Now().Add(lookEvery)
		return
	}
	for box, why := range dead {
		if err := l.suspend(ctx, box, why, now); err != nil {
			l.Logger.Warn("a dead address cannot be suspended", "subscription", box.Subscription, "error", err)
		}
	}
	for _, t := range result.Told { // what was merged while the message was under way
		h, err := l.Store.Hazard(ctx, t.HazardID)
		if err == nil && h.Reason == hazard.EndMerged {
			err = (&teller{Service: l.Service}).merged(ctx, h)
		}
		if err != nil {
			l.Logger.Warn("cannot apply a merge to the record of sent messages", "hazard", t.HazardID, "error", err)
		}
	}
}

// disabledPause is the pause of a channel that is not enabled.
const disabledPause = time.Minute

// untried puts back what was not tried, as if it had never been prepared: the limits have no room for it, or the operator has disabled the channel, which may be for a
// while. What nobody has enabled for as long as changes are told is an attempt that failed.
func (l *lane) untried(d done, now hazard.Instant, result *store.NoticesDone) bool {
	busy, ok := errors.AsType[channel.Busy](d.err)
	if !ok && errors.Is(d.err, channel.ErrDisabled) && d.plan.rows[0].Since > now.Add(-missed) {
		busy, ok = channel.Busy{Wait: disabledPause, All: true}, true
	}
	if !ok {
		return false
	}
	next := now.Add(busy.Wait)
	if until := l.Now().Add(busy.Wait); busy.All && until.After(l.pause) {
		l.pause = until
	}
	for _, row := range d.plan.rows {
		result.Updates = append(result.Updates, d.plan.putBack(row, next, d.err.Error()))
	}
	result.Postponed[d.plan.box] = next
	return true
}

// putBack lets a notice that was claimed wait again, as before: what it says is decided anew, unless it may have arrived.
func (p *plan) putBack(row store.Notice, next hazard.Instant, why string) store.NoticeUpdate {
	after := row
	after.Next, after.Error = next, why
	if !p.resent {
		after.State, after.Message, after.Kind, after.Said = store.NoticePending, "", "", nil
	}
	if after.Attempts--; after.Attempts == 0 {
		after.First, after.Last = 0, 0
	}
	return store.NoticeUpdate{Before: row, After: after}
}

// outcome adds what came of an attempt to result. dead is why the address is, if it is.
func (l *lane) outcome(ctx context.Context, d done, now hazard.Instant, result *store.NoticesDone) (dead string) {
	p, kind := d.plan, d.plan.to.Kind
	wait := time.Duration(0)
	var state store.NoticeState
	switch {
	case d.err == nil:
		state, l.failures = store.NoticeSent, 0
		l.measures.told(kind, time.Duration(now-p.rows[0].Since)*time.Millisecond)
	case errors.Is(d.err, channel.Gone):
		state, dead, l.failures = store.NoticeFailed, "the address takes no messages any more", 0
	case errors.Is(d.err, channel.Refused), errors.Is(d.err, channel.ErrDisabled):
		state = store.NoticeFailed
	case p.rows[0].Attempts > len(schedule):
		state = store.NoticeFailed
		if alive, err := l.Store.SentSince(ctx, p.box, p.rows[0].First); err == nil && !alive {
			dead = "nothing came through in two days"
		}
	default:
		state = store.NoticePending // it has not arrived: the next message describes the state as of then
		if errors.Is(d.err, channel.Uncertain) || errors.Is(d.err, context.DeadlineExceeded) {
			state = store.NoticeSending
		}
		wait = max(outbound.Jitter(schedule[p.rows[0].Attempts-1]), channel.Wait(d.err))
	}
	if d.err != nil {
		if wait > 0 {
			l.measures.sent.WithLabelValues(kind, resultFailed).Inc()
			if l.failures++; l.failures >= outbound.Tolerated {
				l.pause = l.Now().Add(outbound.Pause(l.failures, firstPause, maxPause))
			}
			result.Postponed[p.box] = now.Add(wait)
		} else {
			l.measures.sent.WithLabelValues(kind, resultGivenUp).Inc()
		}
		l.Logger.Info("a message to a subscriber was not delivered", "subscription", p.box.Subscription, "channel", p.to.String(), "attempt", p.rows[0].Attempts, "error", d.err)
	}
	text := ""
	if n := p.notice; l.Text != nil && state == store.NoticeSent && n.Kind != message.Confirm {
		n.Manage, n.Unsubscribe = "", "" // they would grant access to anybody who reads them
		text = l.Text(n)
	}
	for i, row := range p.rows {
		after := row
		after.State, after.Last, after.Took, after.Next = state, now, d.took.Milliseconds(), now.Add(wait)
		after.Error = ""
		if d.err != nil {
			after.Error = d.err.Error()
		}
		if i == 0 {
			after.Text = text
		}
		if state == store.NoticePending {
			after.Message, after.Kind, after.Said = "", "", nil
		}
		result.Updates = append(result.Updates, store.NoticeUpdate{Before: row, After: after})
		if state == store.NoticeSent && row.HazardID != 0 {
			if said, err := decodeSaid(row.Said); err == nil {
				result.Told = append(result.Told, toldOf(p.box, row.HazardID, row.Change, &said, now))
			}
		}
	}
	return dead
}
