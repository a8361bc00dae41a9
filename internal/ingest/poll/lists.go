package poll

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
)

// lists holds what the feeds of a source list, and ends what they no longer list. It works the same
// for polled payloads and for replayed ones. It has no clock; the caller says when each list was
// read.
type lists struct {
	src    *Source
	store  *store.Store
	intake Intake
	log    *slog.Logger
	of     []*listed // the lists, one for each feed
	lapsed absentees // events that last only while a list contains them
	reads  int       // complete lists of all feeds so far
	// over holds the messages that no list can drop, because they are over or no list held them, by
	// their versions.
	over map[fuse.Part]int64
	held map[fuse.Part]hazard.Instant // until when Batch.Listed holds messages
}

// hold notes that the reports of a list are in force, if the source says that all that is listed is.
// A list that says too little is not Whole from then on: one that is cut, and one that is older by
// its own word than the source may be silent. The latter is an error.
func (s *lists) hold(batch *source.Batch, now hazard.Instant) error {
	l := &s.src.Lists
	if l.Cut > 0 && max(batch.Read, len(batch.Links)) >= l.Cut {
		batch.Whole = false
	}
	if !batch.Whole {
		return nil
	}
	at := s.made(batch, now)
	if at.Add(l.Patience()) <= now {
		batch.Whole = false
		return failf(ClassSuspicious, "the list was made at %s and stands still", at)
	}
	if l.InForce == source.Yes {
		for i := range batch.Reports {
			batch.Reports[i].Hold(at, l.Patience())
		}
	}
	return nil
}

// made returns when a list was made, by its own word if it gives one.
func (s *lists) made(batch *source.Batch, now hazard.Instant) hazard.Instant {
	if batch.Made == nil {
		return now
	}
	return min(*batch.Made, now)
}

// trusted returns how long a feed may respond "not modified" before it is read in full again. What
// its list holds must not run out meanwhile.
func (s *lists) trusted(every time.Duration) time.Duration {
	if s.src.Lists.InForce == source.Yes {
		return min(trust*every, s.src.Lists.Patience()/4)
	}
	return trust * every
}

// conclude ends what a feed, completely read at now, no longer lists. res is the result of
// processing it. certain reports whether the decision needs no further read.
func (s *lists) conclude(ctx context.Context, l *listed, batch *source.Batch, res *fuse.Result, now hazard.Instant) (ended int, certain bool, err error) {
	l.named = nil
	lasting := batch.Lasting != nil && s.src.Lasts != nil
	whole := batch.Whole && (s.src.Lists.Complete == source.Yes || s.src.Lists.InForce == source.Yes)
	if !whole && !lasting || l.Messages {
		return 0, true, s.recall(ctx, l, res)
	}
	active, err := s.store.Reports.ActiveEvents(ctx, s.src.Name)
	if err != nil {
		return 0, false, err
	}
	if lasting {
		over, waiting := s.lapsed.judge(active, func(e store.ActiveEvent) bool {
			return !s.src.Lasts(e.Event, e.Start, now) || res.Lasting[e.Event]
		}, now, l.apart(), 2)
		if ended, certain, err = s.end(ctx, over, &s.lapsed, hazard.EndExpired, now); err != nil || !whole {
			return ended, certain && len(waiting) == 0, err
		}
	}
	l.named, l.parts, l.kept, l.empty = res.Events, res.Parts, res.Kept, batch.Read == 0 && len(batch.Listed) == 0
	parts, err := s.activeParts(ctx, active)
	if err == nil {
		err = s.holdListed(ctx, l, parts, batch, now)
	}
	if err != nil {
		return 0, false, err
	}
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
	certain = true
	if s.src.Lists.Complete == source.Yes {
		over, waiting := s.missing(l, (*listed).ofEvents, active, s.goesOn, now)
		if waiting > 0 {
			s.log.Info("the source does not list hazards that are active; another list decides", "hazards", waiting)
		}
		if ended, certain, err = s.end(ctx, over, &l.events.absent, hazard.EndWithdrawn, now); err != nil {
			return ended, false, err
		}
		certain = certain && waiting == 0
	}
	settled, err := s.dropParts(ctx, l, parts, now)
	return ended, certain && settled, err
}

// recall notes that a list that is not complete holds events and messages: the lists that lacked them
// before no longer count.
func (s *lists) recall(ctx context.Context, l *listed, res *fuse.Result) error {
	if len(l.events.absent.since)+len(l.messages.absent.since) == 0 {
		return nil
	}
	active, err := s.store.Reports.ActiveEvents(ctx, s.src.Name)
	if err != nil {
		return err
	}
	present := map[int64]bool{} // the events of one hazard end only together
	for _, e := range active {
		present[e.HazardID] = present[e.HazardID] || res.Events[e.Event]
	}
	for _, e := range active {
		if present[e.HazardID] {
			delete(l.events.absent.since, e.Event)
		}
	}
	for key := range res.Parts {
		delete(l.messages.absent.since, accountName(key))
	}
	return nil
}

// activeParts returns the messages of active events. It returns none if the source does not say that
// what is listed is in force: then only events end by absence.
func (s *lists) activeParts(ctx context.Context, active []store.ActiveEvent) ([]store.ActivePart, error) {
	if s.src.Lists.InForce != source.Yes || len(active) == 0 {
		return nil, nil
	}
	return s.store.Reports.ActiveParts(ctx, s.src.Name)
}

// holdListed holds the messages in force that a list only names.
func (s *lists) holdListed(ctx context.Context, l *listed, parts []store.ActivePart, batch *source.Batch, now hazard.Instant) error {
	if len(batch.Listed) == 0 || s.src.Lists.InForce != source.Yes {
		return nil
	}
	parts, err := s.withEnded(ctx, l, parts)
	if err != nil {
		return err
	}
	listed, isPart := map[string]bool{}, map[string]bool{}
	for _, name := range batch.Listed {
		listed[name] = true
	}
	for _, p := range parts {
		if listed[p.Part] {
			l.named[p.Event], l.parts[fuse.Part{Event: p.Event, Part: p.Part}], isPart[p.Event] = true, true, true
		}
	}
	at, patience := s.made(batch, now), s.src.Lists.Patience()
	until := at.Add(patience).Ceil(patience / 2)
	held, of := map[fuse.Part]hazard.Instant{}, map[string][]string{}
	for _, p := range parts {
		key := fuse.Part{Event: p.Event, Part: p.Part}
		if !l.parts[key] && (isPart[p.Event] || !l.named[p.Event]) {
			continue
		}
		l.parts[key] = true
		if held[key] = s.held[key]; held[key] != until {
			of[p.Event] = append(of[p.Event], p.Part)
		}
	}
	for event, parts := range of {
		if _, err := s.intake.Hold(ctx, s.src.Name, event, parts, at, patience, now); err != nil {
			return err
		}
		for _, part := range parts {
			held[fuse.Part{Event: event, Part: part}] = until
		}
	}
	s.held = held
	return nil
}

// withEnded adds the messages of listed events that are not active to those of active events.
func (s *lists) withEnded(ctx context.Context, l *listed, parts []store.ActivePart) ([]store.ActivePart, error) {
	active := map[string]bool{}
	for _, p := range parts {
		active[p.Event] = true
	}
	parts = slices.Clone(parts)
	for event := range l.named {
		if active[event] {
			continue
		}
		ended, err := s.store.Reports.Parts(ctx, s.src.Name, event)
		if err != nil {
			return nil, err
		}
		for _, p := range ended {
			parts = append(parts, store.ActivePart{Event: event, Part: p.Part, Version: p.Version})
		}
	}
	return parts, nil
}

// dropParts ends the messages that no list holds any more, of events that go on. settled reports
// whether the decision needs no further read.
func (s *lists) dropParts(ctx context.Context, l *listed, parts []store.ActivePart, now hazard.Instant) (settled bool, err error) {
	var held []store.ActiveEvent // the messages that a list can drop, each as if it were an event
	of := map[string]fuse.Part{}
	over := map[fuse.Part]int64{}
	var event string
	var read []hazard.Report
	for i, p := range parts {
		key := fuse.Part{Event: p.Event, Part: p.Part}
		name := accountName(key)
		holds := s.holds(key, name)
		if v, ok := s.over[key]; ok && v == p.Version && !holds {
			over[key] = v
			continue
		}
		if !holds {
			if read == nil || event != p.Event {
				event = p.Event
				if read, err = s.store.Reports.Parts(ctx, s.src.Name, event); err != nil {
					return false, err
				}
			}
			if j := slices.IndexFunc(read, func(r hazard.Report) bool { return r.Part == p.Part }); j < 0 || read[j].Name == "" || read[j].Ended != "" || read[j].Listed == nil || read[j].OverAt() <= now {
				over[key] = p.Version
				continue
			}
		}
		of[name] = key
		held = append(held, store.ActiveEvent{Event: name, HazardID: int64(i)})
	}
	s.over = over
	for _, e := range held {
		if l.parts[of[e.Event]] {
			l.messages.had[e.Event] = s.reads
		}
	}
	missed, waiting := s.missing(l, (*listed).ofMessages, held, func(e store.ActiveEvent) bool {
		key := of[e.Event]
		return s.holds(key, e.Event) || s.src.Lists.Complete == source.Yes && !s.listed(key.Event)
	}, now)
	reason := hazard.EndWithdrawn
	if s.src.Lists.Complete != source.Yes {
		reason = ""
	}
	dropped := map[string][]string{}
	for _, e := range missed {
		key := of[e.Event]
		dropped[key.Event] = append(dropped[key.Event], key.Part)
	}
	settled = waiting == 0
	for _, event := range slices.Sorted(maps.Keys(dropped)) {
		if _, err := s.intake.Withdraw(ctx, s.src.Name, event, dropped[event], reason, now); err != nil && !errors.Is(err, hazard.ErrNotFound) {
			if of, ok := errors.AsType[*store.HazardError](err); ok {
				s.log.Error("a hazard is damaged: its messages are not ended until it is mended (hazardd check)", "hazard", of.ID, "event", event, "error", of.Err)
				settled = false
				continue
			}
			return false, err
		}
		for _, part := range dropped[event] {
			delete(s.held, fuse.Part{Event: event, Part: part})
		}
	}
	return settled, nil
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
			damaged[e.Event] = true
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

// withdraw ends the hazard of an event, and reports whether there was one to end.
func (s *lists) withdraw(ctx context.Context, event string, reason hazard.EndReason, now hazard.Instant) (ended bool, err error) {
	last, err := s.intake.Withdraw(ctx, s.src.Name, event, nil, reason, now)
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

func (l leased) Withdraw(ctx context.Context, src, event string, parts []string, reason hazard.EndReason, _ hazard.Clock) (int64, error) {
	if ctx.Err() != nil || !l.lease.Valid() {
		return 0, errStopped
	}
	return l.Intake.Withdraw(ctx, src, event, parts, reason, l.clock)
}

func (l leased) Hold(ctx context.Context, src, event string, parts []string, at hazard.Instant, patience time.Duration, _ hazard.Clock) (int64, error) {
	if ctx.Err() != nil || !l.lease.Valid() {
		return 0, errStopped
	}
	return l.Intake.Hold(ctx, src, event, parts, at, patience, l.clock)
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
	over, waiting := f.missing.judge(active, func(e store.ActiveEvent) bool { return address[e.Event] == "" }, now, f.apart(), 1)
	var jobs []job
	for _, e := range over {
		jobs = append(jobs, job{URL: address[e.Event], Event: e.Event})
		w.follow.asked(e.Event, now)
	}
	w.st.enqueue(jobs)
	return len(waiting) == 0
}
