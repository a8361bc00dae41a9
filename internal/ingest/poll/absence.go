package poll

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
)

// fewEnds is how many hazards of a source may always end at once because a list lacks them. Of many
// hazards, a fifth may end. If a list lacks more, it is probably incomplete.
const fewEnds = 5

// absentees are active events that the last list lacked.
type absentees struct {
	since map[string]hazard.Instant
	// spared holds events that were not ended because an editor has decided about them.
	spared map[string]bool
	// damaged holds events that could not be ended just now because their hazards are damaged.
	damaged map[string]bool
}

// judge examines the active events of a source after a complete read at now, and returns those that
// are over. An event is over when two reads some time apart lack it, or, with atOnce, when one read
// lacks only few events. The others wait for the next read. The events of one hazard end only
// together.
func (a *absentees) judge(active []store.ActiveEvent, named func(store.ActiveEvent) bool, now hazard.Instant, apart time.Duration, atOnce bool) (over, waiting []store.ActiveEvent) {
	present := map[int64]bool{}
	for _, e := range active {
		present[e.HazardID] = present[e.HazardID] || named(e)
	}
	var missed []store.ActiveEvent
	since, spared := map[string]hazard.Instant{}, map[string]bool{}
	for _, e := range active {
		switch {
		case present[e.HazardID]:
		case a.spared[e.Event]:
			spared[e.Event] = true
		default:
			missed = append(missed, e)
			present[e.HazardID] = true // one of its names is enough
		}
	}
	few := len(missed) <= max(fewEnds, len(present)/5)
	for _, e := range missed {
		first, again := a.since[e.Event]
		if !again || first > now {
			first = now
		}
		if atOnce && few || again && now >= first.Add(apart) {
			over = append(over, e)
			continue
		}
		since[e.Event] = first
		waiting = append(waiting, e)
	}
	a.since, a.spared = since, spared
	return over, waiting
}

// spare keeps lists from ending an event until a list contains it again.
func (a *absentees) spare(event string) { a.spared[event] = true }

// lists holds what the feeds of a source list, and ends what they no longer list. It works the same
// for polled payloads and for replayed ones. It has no clock; the caller says when each list was
// read.
type lists struct {
	src    *Source
	store  *store.Store
	intake Intake
	log    *slog.Logger
	of     []*listed // the lists, one for each feed
	absent absentees
	lapsed absentees      // events that last only while a list contains them
	reads  int            // complete lists of all feeds so far
	seen   map[string]int // active event → the read that contained it last
}

// listed is the last complete list of a feed.
type listed struct {
	source.Feed
	// named holds its events, or nil without one; empty reports whether it listed nothing at all.
	named map[string]bool
	empty bool
	// nameless holds its rejected records whose event is unknown, by digest, with the read in which
	// each first occurred.
	nameless map[[sha256.Size]byte]int
}

// conclude ends what a feed, completely read at now, no longer lists. res is the result of
// processing it. certain reports whether the decision needs no further read.
func (s *lists) conclude(ctx context.Context, l *listed, batch *source.Batch, res *fuse.Result, now hazard.Instant) (ended int, certain bool, err error) {
	l.named = nil
	lasting := batch.Lasting != nil && s.src.Lasts != nil
	whole := batch.Whole && s.src.Lists.Complete == source.Yes
	if !whole && !lasting {
		return 0, true, nil
	}
	active, err := s.store.Reports.ActiveEvents(ctx, s.src.Name)
	if err != nil {
		return 0, false, err
	}
	if lasting {
		over, waiting := s.lapsed.judge(active, func(e store.ActiveEvent) bool {
			return !s.src.Lasts(e.Event, e.Start, now) || res.Lasting[e.Event]
		}, now, l.Every/2, false)
		if ended, certain, err = s.end(ctx, over, &s.lapsed, hazard.EndExpired, now); err != nil || !whole {
			return ended, certain && len(waiting) == 0, err
		}
	}
	l.named, l.empty = res.Events, batch.Read == 0
	s.note(l, active, batch.Rejects)
	empty := true
	for _, o := range s.of {
		if o.named == nil {
			return 0, true, nil // nothing is known of this feed
		}
		empty = empty && o.empty
	}
	if empty && len(active) > fewEnds {
		return 0, false, failf(ClassSuspicious, "the list is empty while %d events are active", len(active))
	}
	over, waiting := s.absent.judge(active, s.goesOn, now, l.Every/2, s.src.Lists.Confirmations() == 1)
	if len(waiting) > 0 {
		s.log.Info("the source does not list hazards that are active; a second list decides", "hazards", len(waiting))
	}
	ended, certain, err = s.end(ctx, over, &s.absent, hazard.EndWithdrawn, now)
	return ended, certain && len(waiting) == 0, err
}

// end ends events that a list lacks. It spares those that an editor has decided about. Damaged ones
// wait until another list lacks them; certain is then false.
func (s *lists) end(ctx context.Context, over []store.ActiveEvent, missed *absentees, reason hazard.EndReason, now hazard.Instant) (ended int, certain bool, err error) {
	damaged := map[string]bool{}
	for _, e := range over {
		done, err := s.withdraw(ctx, e.Event, reason, now)
		if of, ok := errors.AsType[*store.HazardError](err); ok {
			if !missed.damaged[e.Event] {
				s.log.Error("a hazard is damaged: it is not ended until it is mended (hazardd check)", "hazard", of.ID, "event", e.Event, "error", of.Err)
			}
			damaged[e.Event], missed.since[e.Event] = true, now
			continue
		}
		if err != nil {
			return ended, false, err
		}
		if done {
			ended++
		} else {
			missed.spare(e.Event)
		}
	}
	missed.damaged = damaged
	return ended, len(damaged) == 0, nil
}

// note counts a complete list, and records the read in which each active event and each nameless
// record occurred last.
func (s *lists) note(l *listed, active []store.ActiveEvent, rejects []source.Reject) {
	s.reads++
	seen := map[string]int{}
	for _, e := range active {
		if n := s.seen[e.Event]; l.named[e.Event] {
			seen[e.Event] = s.reads
		} else if n > 0 {
			seen[e.Event] = n
		}
	}
	nameless := map[[sha256.Size]byte]int{}
	for i := range rejects {
		r := &rejects[i]
		if r.Events != nil {
			continue
		}
		text := r.Raw // its position in the list may change
		if len(text) == 0 {
			text = []byte(r.Record + "\n" + r.Reason)
		}
		d := sha256.Sum256(text)
		if nameless[d] = l.nameless[d]; nameless[d] == 0 {
			nameless[d] = s.reads
		}
	}
	s.seen, l.nameless = seen, nameless
}

// goesOn reports whether an event is listed, or a rejected record may be about it: one without a
// known event that is newer than the event's last listing.
func (s *lists) goesOn(e store.ActiveEvent) bool {
	for _, l := range s.of {
		if l.named[e.Event] {
			return true
		}
		for _, since := range l.nameless {
			if since > s.seen[e.Event] {
				return true
			}
		}
	}
	return false
}

// withdraw ends the hazard of an event, and reports whether there was one to end.
func (s *lists) withdraw(ctx context.Context, event string, reason hazard.EndReason, now hazard.Instant) (ended bool, err error) {
	last, err := s.intake.Withdraw(ctx, s.src.Name, event, reason, now)
	if errors.Is(err, hazard.ErrNotFound) {
		return false, nil
	}
	return err == nil && last != 0, err
}

// conclude calls lists.conclude, and requests the missing events that the feed should contain.
func (w *worker) conclude(ctx context.Context, f *feed, batch *source.Batch, res *fuse.Result, now hazard.Instant) (certain bool, err error) {
	ended, certain, err := w.lists.conclude(ctx, &f.listed, batch, res, now)
	w.ended(ended)
	if err != nil || w.src.Missing == nil {
		return certain, err
	}
	active, err := w.p.store.Reports.ActiveEvents(ctx, w.src.Name)
	if err != nil {
		return false, err
	}
	return w.askMissing(f, active, res.Events, now) && certain, nil
}

// ended counts hazards that the source deleted or no longer lists.
func (w *worker) ended(n int) {
	w.st.Last.Ended += int64(n)
	w.st.Total.Ended += int64(n)
}

// leased is an Intake that writes only while the lease holds. It uses the poller's clock, because a
// list may have been read long before.
type leased struct {
	Intake
	lease interface{ Valid() bool }
	clock hazard.Clock
}

func (l leased) Withdraw(ctx context.Context, src, event string, reason hazard.EndReason, _ hazard.Clock) (int64, error) {
	if ctx.Err() != nil || !l.lease.Valid() {
		return 0, errStopped
	}
	return l.Intake.Withdraw(ctx, src, event, reason, l.clock)
}

// askMissing queues requests for events that f should contain but does not. It returns false if
// another read must confirm that first.
func (w *worker) askMissing(f *feed, active []store.ActiveEvent, named map[string]bool, now hazard.Instant) (certain bool) {
	address := map[string]string{}
	for _, e := range active {
		if named[e.Event] || w.follow.askedLately(e.Event, now) {
			continue
		}
		if a := w.src.Missing(f.URL, e.Event, e.Start, now); a != "" && w.src.follows(a) {
			address[e.Event] = a
		}
	}
	over, waiting := f.missing.judge(active, func(e store.ActiveEvent) bool { return address[e.Event] == "" }, now, f.Every/2, true)
	var jobs []job
	for _, e := range over {
		jobs = append(jobs, job{URL: address[e.Event], Event: e.Event})
		w.follow.asked(e.Event, now)
	}
	w.st.enqueue(jobs)
	return len(waiting) == 0
}
