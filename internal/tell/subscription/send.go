package subscription

import (
	"context"
	"errors"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
)

const (
	// parallel is how many messages a lane sends at once, to different mailboxes.
	parallel = 8
	// page is how many notices are examined to fill a lane, and maxPrepared is how many messages are
	// prepared at a time.
	page        = 128
	maxPrepared = 64
	// attemptTimeout bounds one attempt.
	attemptTimeout = 30 * time.Second
	// lastMoment is how long attempts in progress may take at a shutdown.
	lastMoment = 3 * time.Second
	// uncertain is how long after its start an attempt without a result is repeated, because
	// another process may still be sending it.
	uncertain = attemptTimeout + 15*time.Second
	// unreadable is how long a mailbox waits whose message cannot be made.
	unreadable = 2 * time.Minute
	// disabledPause is the pause of a channel that is not enabled.
	disabledPause = time.Minute
)

// backoff gives a message up after about two days, as mail servers do (RFC 5321 section 4.5.4.1).
var backoff = tell.Backoff{First: 5 * time.Second, Max: 5 * time.Minute, Delays: []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute,
	30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour, 20 * time.Hour}}

// sender sends the messages of a lane, which is one server. Messages to a mailbox are sent one after
// the other.
type sender struct {
	*Service
	name   string
	lease  tell.Lease
	bursts map[burstKey]burst
	swept  time.Time // of bursts
	// failing are the mailboxes whose messages cannot be made, and why: each reason is logged once.
	failing map[store.Mailbox]string
}

// burstKey is what the limit of a storm counts together: an address of a person in all its
// subscriptions, or a mailbox.
type burstKey struct {
	store.Mailbox
	stamp string // keyed hash of the address
}

// burst is what a mailbox was sent recently. The zero burst is empty.
type burst struct {
	times   []time.Time // of messages, in order
	summary time.Time
}

// recent returns the times of messages in the last minute.
func (b burst) recent(now time.Time) []time.Time {
	list := b.times
	for len(list) > 0 && now.Sub(list[0]) >= time.Minute {
		list = list[1:]
	}
	return list
}

// and returns b with one more message.
func (b burst) and(kind message.Kind, now time.Time) burst {
	b.times = append(b.recent(now), now)
	if kind == message.Summary {
		b.summary = now
	}
	return b
}

// free returns when the next summary may be sent: so long after the last one, and so long after the
// first of as many messages in a minute as begin a storm.
func (b burst) free(now time.Time, storm int, gather time.Duration) time.Time {
	at := b.summary.Add(gather)
	if recent := b.recent(now); len(recent) >= storm {
		if t := recent[0].Add(gather); t.After(at) {
			at = t
		}
	}
	return at
}

// Prepare decides what to send next, and stores that before anything is sent.
func (s *sender) Prepare(ctx context.Context, h *tell.Health, _ int, busy map[store.Mailbox]bool) ([]*plan, time.Time) {
	now, limit := s.Now(), maxPrepared
	if h.Failing() {
		limit = 1
	}
	plans, more, err := s.prepare(ctx, now, limit, busy)
	switch {
	case err != nil:
		if ctx.Err() == nil {
			s.Logger.Warn("messages to subscribers cannot be prepared", "lane", s.name, "error", err)
		}
		return nil, now.Add(tell.LookEvery)
	case more:
		return nil, now
	case len(plans) > 0 || len(busy) > 0:
		return plans, now.Add(tell.LookEvery)
	}
	next, ok, err := s.Store.Notices.Next(ctx, s.name, hazard.At(now))
	return nil, tell.Again(now, next, ok, err)
}

// prepare plans at most limit messages. more is set if there are none yet, but may be at once.
func (s *sender) prepare(ctx context.Context, now time.Time, limit int, busy map[store.Mailbox]bool) (plans []*plan, more bool, err error) {
	if now.Sub(s.swept) > time.Minute {
		s.swept = now
		for key, b := range s.bursts {
			if len(b.recent(now)) == 0 && now.Sub(b.summary) > time.Minute {
				delete(s.bursts, key)
			}
		}
	}
	due, err := s.Store.Notices.DueMailboxes(ctx, s.name, hazard.At(now), page+len(busy))
	if err != nil {
		return nil, false, err
	}
	decided := store.NoticesDone{Postponed: map[store.Mailbox]hazard.Instant{}}
	seen := map[store.Mailbox]bool{}
	for _, box := range due {
		if busy[box] || seen[box] {
			continue
		}
		if len(plans) == limit {
			break
		}
		seen[box] = true
		p, err := s.plan(ctx, box, s.bursts)
		if err == nil {
			p.told, err = s.withThreads(ctx, p.told)
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil, false, err
			}
			if s.failing[box] != err.Error() {
				s.failing[box] = err.Error()
				s.Logger.Error("a message to a subscriber cannot be made; it is tried again until it can", "subscription", box.Subscription, "error", err)
			}
			decided.Postponed[box] = hazard.At(now.Add(unreadable)) // it must not block the others
			continue
		}
		delete(s.failing, box)
		decided.Updates, decided.Told = append(decided.Updates, p.updates...), append(decided.Told, p.told...)
		if p.postponed > 0 {
			decided.Postponed[box] = p.postponed
		}
		if p.rows != nil {
			plans = append(plans, p)
			s.bursts[p.burst] = s.bursts[p.burst].and(p.kind, now) // the next one may go to the same address
		}
	}
	if len(decided.Updates) == 0 && len(decided.Told) == 0 && len(decided.Postponed) == 0 {
		return nil, false, nil
	}
	if !s.lease.Valid() {
		return nil, false, tell.ErrNoLease
	}
	if err := s.Store.Notices.Save(ctx, decided, true); errors.Is(err, hazard.ErrStale) {
		return nil, true, nil // something has joined what waits
	} else if err != nil {
		return nil, false, err
	}
	return plans, len(plans) == 0 && len(seen) > 0, nil
}

// Release releases prepared messages that were not sent.
func (s *sender) Release(ctx context.Context, plans []*plan) {
	var back store.NoticesDone
	for _, p := range plans {
		for _, row := range p.rows {
			back.Updates = append(back.Updates, p.putBack(row, hazard.At(s.Now()), row.Error))
		}
	}
	if len(back.Updates) == 0 || !s.lease.Valid() {
		return
	}
	if err := s.Store.Notices.Save(context.WithoutCancel(ctx), back, false); err != nil {
		s.Logger.Warn("messages that were not sent go out late", "lane", s.name, "error", err)
	}
}

// Send makes an attempt.
func (s *sender) Send(ctx context.Context, p *plan) {
	if p.err = tell.ErrNoLease; !s.lease.Valid() {
		return
	}
	began := time.Now()
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTimeout)
	defer cancel()
	// Attempts in progress at the shutdown may finish.
	ending := context.AfterFunc(ctx, func() { time.AfterFunc(lastMoment, cancel) })
	defer ending()
	p.err = s.Sender.Send(within, p.to, p.message)
	p.took = time.Since(began)
}

// Finish stores the results of attempts.
func (s *sender) Finish(ctx context.Context, h *tell.Health, plans []*plan) {
	now, dead := hazard.At(s.Now()), map[store.Mailbox]string{}
	result := store.NoticesDone{Postponed: map[store.Mailbox]hazard.Instant{}}
	for _, p := range plans {
		if ctx.Err() != nil && p.err != nil || errors.Is(p.err, tell.ErrNoLease) {
			continue // it may have arrived; it is sent again
		}
		if p.untried(h, now, &result) {
			continue
		}
		if why := s.finish(ctx, h, p, now, &result); why != "" {
			dead[p.box] = why
		}
	}
	if len(result.Updates) == 0 || !s.lease.Valid() {
		return
	}
	ctx = context.WithoutCancel(ctx)
	var err error
	if result.Told, err = s.withThreads(ctx, result.Told); err == nil {
		err = s.Store.Notices.Save(ctx, result, false)
	}
	if err != nil {
		s.Logger.Warn("cannot store the results of messages to subscribers", "lane", s.name, "error", err)
		h.Pause(s.Now().Add(tell.LookEvery))
		return
	}
	for box, why := range dead {
		if err := s.suspend(ctx, box, why, now); err != nil {
			s.Logger.Warn("a dead address cannot be suspended", "subscription", box.Subscription, "error", err)
		}
	}
}

// untried puts back a message that was not tried, as if it had never been prepared: the limits have
// no room for it, or the operator has disabled the channel, perhaps for a while. It reports whether
// that was so. Once the change is too old, a disabled channel counts as a failure.
func (p *plan) untried(h *tell.Health, now hazard.Instant, result *store.NoticesDone) bool {
	busy, ok := errors.AsType[channel.Busy](p.err)
	if !ok && errors.Is(p.err, channel.ErrDisabled) && p.rows[0].Since > now.Add(-tell.MaxAge) {
		busy, ok = channel.Busy{Wait: disabledPause, All: true}, true
	}
	if !ok {
		return false
	}
	if busy.All {
		h.Pause(now.Time().Add(busy.Wait))
	}
	next := now.Add(busy.Wait)
	for _, row := range p.rows {
		result.Updates = append(result.Updates, p.putBack(row, next, p.err.Error()))
	}
	result.Postponed[p.box] = next
	return true
}

// putBack makes a notice wait again as before. Its message is decided anew, unless it may have
// arrived.
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

// outcome is what an attempt means for a message.
type outcome struct {
	state store.NoticeState
	wait  time.Duration // until the next attempt; 0: there is none
	dead  string        // why the address is dead, if it is
	last  bool          // all attempts have failed: the address is dead unless something else has arrived
}

// outcome judges an attempt by its error.
func (p *plan) outcome() outcome {
	switch {
	case p.err == nil:
		return outcome{state: store.NoticeSent}
	case errors.Is(p.err, channel.Gone):
		return outcome{state: store.NoticeFailed, dead: "the address takes no messages any more"}
	case errors.Is(p.err, channel.Refused), errors.Is(p.err, channel.ErrDisabled):
		return outcome{state: store.NoticeFailed}
	}
	wait, ok := backoff.Retry(p.rows[0].Attempts, channel.Wait(p.err))
	switch {
	case !ok:
		return outcome{state: store.NoticeFailed, dead: "nothing came through in two days", last: true}
	case errors.Is(p.err, channel.Uncertain) || errors.Is(p.err, context.DeadlineExceeded):
		return outcome{state: store.NoticeSending, wait: wait}
	}
	return outcome{state: store.NoticePending, wait: wait} // it has not arrived: the next message describes the state as of then
}

// finish adds the result of an attempt to result. dead is why the address is dead, if it is.
func (s *sender) finish(ctx context.Context, h *tell.Health, p *plan, now hazard.Instant, result *store.NoticesDone) (dead string) {
	out, kind, counted := p.outcome(), p.to.Kind, resultGivenUp
	if out.last {
		if alive, err := s.Store.Notices.SentSince(ctx, p.box, p.rows[0].First); err != nil || alive {
			out.dead = ""
		}
	}
	failure := ""
	switch {
	case p.err == nil:
		counted = resultSent
		s.measures.delay.WithLabelValues(kind).Observe((time.Duration(now-p.rows[0].Since) * time.Millisecond).Seconds())
	case out.wait > 0:
		counted = resultFailed
		result.Postponed[p.box] = now.Add(out.wait)
	}
	s.measures.sent.WithLabelValues(kind, counted).Inc()
	switch {
	case p.err == nil || errors.Is(p.err, channel.Gone):
		h.Succeeded()
	case out.wait > 0:
		h.Fail(s.Now())
	}
	if p.err != nil {
		failure = p.err.Error()
		s.Logger.Info("a message to a subscriber was not delivered", "subscription", p.box.Subscription, "channel", p.to.String(), "attempt", p.rows[0].Attempts, "error", p.err)
	}
	for i, row := range p.rows {
		after := row
		after.State, after.Last, after.Took, after.Next, after.Error = out.state, now, p.took.Milliseconds(), now.Add(out.wait), failure
		if i == 0 && out.state == store.NoticeSent {
			after.Text = s.text(p.message)
		}
		if out.state == store.NoticePending {
			after.Message, after.Kind, after.Said = "", "", nil
		}
		result.Updates = append(result.Updates, store.NoticeUpdate{Before: row, After: after})
		if out.state == store.NoticeSent && row.HazardID > 0 {
			if last, err := decodeMessage(row.Said); err == nil {
				result.Told = append(result.Told, last.told(p.box, row.HazardID, row.Change, now))
			}
		}
	}
	return out.dead
}

// text returns a sent message for storage, without the links that grant access to the subscription.
func (s *Service) text(n message.Notice) string {
	if s.Text == nil || n.Kind == message.Confirm || n.Kind == message.Drafts { // drafts say nothing once they were decided, or redacted
		return ""
	}
	n.Manage, n.Unsubscribe = "", ""
	return s.Text(n)
}
