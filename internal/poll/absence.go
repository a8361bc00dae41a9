package poll

import (
	"context"
	"errors"
	"time"

	"hazardd/internal/hazard"
	"hazardd/internal/source"
	"hazardd/internal/store"
)

// fewEnds is how many hazards of a source absence may end at once whatever share of them that is; of more, it is a fifth. More
// than that at once looks like half a list.
const fewEnds = 5

// absentees are events that are active and that the last list missed.
type absentees struct {
	since map[string]hazard.Instant
	// spared are those that were not ended because an editor has decided about them.
	spared map[string]bool
}

// judge looks at the active events of a source after a complete read at now. Those that were missed for long enough are over:
// by two reads that lie apart, or (atOnce) by one read that misses few. The others wait for the next read. The events of one hazard
// are missed only all together.
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

// spare leaves an event alone from now on, as long as it is missed.
func (a *absentees) spare(event string) { a.spared[event] = true }

// conclude draws what follows from what a feed, read completely, did not name. It is certain if nothing waits for another read.
func (w *worker) conclude(ctx context.Context, f *feed, batch *source.Batch, named map[string]bool, now hazard.Instant) (certain bool, err error) {
	f.named = nil
	if batch.Whole {
		f.named, f.empty = named, batch.Read == 0
	}
	if !batch.Whole && w.src.Missing == nil {
		return true, nil
	}
	active, err := w.p.store.ActiveEvents(ctx, w.src.Name)
	if err != nil {
		return false, err
	}
	certain = true
	if batch.Whole {
		if certain, err = w.endUnlisted(ctx, f, active, now); err != nil {
			return false, err
		}
	}
	if w.src.Missing != nil && !w.askMissing(f, active, named, now) {
		certain = false
	}
	return certain, nil
}

// endUnlisted ends what no feed of the source lists any more.
func (w *worker) endUnlisted(ctx context.Context, f *feed, active []store.ActiveEvent, now hazard.Instant) (certain bool, err error) {
	empty := true
	for _, g := range w.feeds {
		if g.named == nil {
			return true, nil // of this feed nothing is known
		}
		empty = empty && g.empty
	}
	if empty && len(active) > fewEnds {
		fail := failf(ClassSuspicious, "the list is empty while %d events are active", len(active))
		return false, fail
	}
	listed := func(e store.ActiveEvent) bool {
		for _, g := range w.feeds {
			if g.named[e.Event] {
				return true
			}
		}
		return false
	}
	over, waiting := w.absent.judge(active, listed, now, f.Every/2, w.src.EndsAtOnce)
	if len(waiting) > 0 {
		w.log.Info("the source does not list hazards that are active; a second list decides", "hazards", len(waiting))
	}
	for _, e := range over {
		ended, err := w.withdraw(ctx, e.Event, now)
		if err != nil {
			return false, err
		}
		if !ended {
			w.absent.spare(e.Event)
		}
	}
	return len(waiting) == 0, nil
}

// withdraw ends the hazard of an event, and tells whether it was there to be ended.
func (w *worker) withdraw(ctx context.Context, event string, now hazard.Instant) (ended bool, err error) {
	if ctx.Err() != nil || !w.lease.Valid() {
		return false, errStopped
	}
	last, err := w.p.intake.Withdraw(ctx, w.src.Name, event, hazard.EndWithdrawn, now)
	if errors.Is(err, hazard.ErrNotFound) {
		return false, nil
	}
	if err != nil || last == 0 {
		return false, err
	}
	w.st.Last.Ended++
	w.st.Total.Ended++
	return true, nil
}

// askMissing notes that it is to be asked about events that f should name and does not. It returns false when another read has
// to say the same first.
func (w *worker) askMissing(f *feed, active []store.ActiveEvent, named map[string]bool, now hazard.Instant) (certain bool) {
	address := map[string]string{}
	for _, e := range active {
		if named[e.Event] || w.follow.askedLately(e.Event, now) {
			continue
		}
		if a := w.src.Missing(f.URL, e, now); a != "" && w.src.follows(a) {
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
