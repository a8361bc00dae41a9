package poll

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store/lease"
)

// Limits of the requests that follow a poll. A due poll comes first. A rarely polled source gets as
// many such requests per minute as others.
const (
	jobsPerPoll   = 20
	placesPerPoll = 200
	refillEvery   = time.Minute
	jobPause      = time.Second
	placePause    = 100 * time.Millisecond
	maxTries      = 5              // per detail
	maxInARow     = 3              // unreachable documents in a row before the source is paused
	badPlaceFor   = 24 * time.Hour // pause after a place could not be fetched
	missingAgain  = time.Hour      // pause for an event that exists although a feed lacks it
	maxPlaceBytes = 16 << 20       // the largest zones have about 2 MB
)

// followUps is the pending work besides the jobs in the state.
type followUps struct {
	jobBudget, placeBudget int
	refilled               time.Time
	notBefore              time.Time // pause while the source is failing
	ready                  time.Time // earliest time of the next request
	failures               int
	unreached              map[string]bool // unreachable documents since one was reachable
	places                 []string        // codes of places to fetch, most urgent first
	known                  map[string]bool // places in the store
	learnt                 bool            // new places have not been applied yet
	askedAt                map[string]hazard.Instant
}

func (u *followUps) refill(now time.Time) {
	u.jobBudget, u.placeBudget, u.refilled = jobsPerPoll, placesPerPoll, now
}

// budget returns how many more requests of the job's kind are allowed. The documents of an index
// count like places, because they are as small and as many.
func (u *followUps) budget(j job) *int {
	if j.Link != "" {
		return &u.placeBudget
	}
	return &u.jobBudget
}

func (u *followUps) askedLately(event string, now hazard.Instant) bool {
	at, ok := u.askedAt[event]
	return ok && at <= now && now < at.Add(missingAgain)
}

func (u *followUps) asked(event string, now hazard.Instant) {
	if u.askedAt == nil {
		u.askedAt = map[string]hazard.Instant{}
	}
	maps.DeleteFunc(u.askedAt, func(_ string, at hazard.Instant) bool { return now >= at.Add(missingAgain) })
	u.askedAt[event] = now
}

// open reports whether the source is failing, so that only necessary requests are sent.
func (w *worker) open(now hazard.Instant) bool {
	return slices.ContainsFunc(w.feeds, func(f *feed) bool { return f.kept.Failures > 1 || f.kept.NotBefore > now })
}

// pick returns the next job: the first untried one, otherwise the one that has been due longest.
// Documents of an index are read even while a feed fails. If there is none, wait says when to look
// again.
func (w *worker) pick(now hazard.Instant, open bool) (next job, found bool, wait time.Duration) {
	wait = time.Hour
	for _, j := range w.st.Jobs {
		switch {
		case open && j.Link == "" || *w.follow.budget(j) == 0:
			wait = min(wait, refillEvery)
		case !j.ready(now):
			wait = min(wait, j.Next.Time().Sub(now.Time()))
		case j.Tries == 0:
			return j, true, 0
		case !found || j.Next < next.Next:
			next, found = j, true
		}
	}
	return next, found, wait
}

// followUp does the next piece of work, if there is one, and returns how long to pause after it.
// Otherwise more is false, and wait says when to look again.
func (w *worker) followUp(ctx context.Context) (wait time.Duration, more bool) {
	u := &w.follow
	now := time.Now()
	if now.Sub(u.refilled) >= refillEvery {
		u.refill(now)
	}
	if ctx.Err() != nil || !w.lease.Valid() {
		return lease.Try / 4, false
	}
	if now.Before(u.notBefore) {
		return u.notBefore.Sub(now), false
	}
	if now.Before(u.ready) {
		return u.ready.Sub(now), true
	}
	w.giveUp(ctx, w.p.now())
	open := w.open(w.p.now())
	j, found, wait := w.pick(w.p.now(), open)
	var pause time.Duration
	var err error
	switch {
	case found:
		*u.budget(j)--
		if pause = jobPause; j.Link != "" {
			pause = placePause
		}
		err = w.do(ctx, j, w.p.now())
		if len(w.st.Jobs) == 0 || *u.budget(j) == 0 || err == nil && j.Tries > 0 {
			w.save(ctx)
		}
	case len(u.places) > 0 && (open || u.placeBudget == 0):
		return min(wait, refillEvery), false
	case len(u.places) > 0:
		u.placeBudget--
		pause = placePause
		err = w.fetchPlace(ctx, u.places[0], w.p.now())
	default:
		return wait, false
	}
	u.ready = time.Now().Add(pause)
	if err == nil {
		u.failures = 0
		return pause, true
	}
	if errors.Is(err, errStopped) {
		return lease.Try, false
	}
	fail := asFailure(err)
	u.failures++
	u.notBefore = now.Add(max(backoff(refillEvery, w.longest(), u.failures, w.p.random()), fail.RetryAfter))
	w.log.Debug("the source does not answer the requests after a poll", "class", fail.Class, "error", cut(fail.Text), "again", u.notBefore.UTC())
	return time.Until(u.notBefore), false
}

// longest returns the longest delay of a failing source's requests.
func (w *worker) longest() time.Duration {
	if w.src.Warns {
		return maxWarnBackoff
	}
	return maxBackoff
}

// unwell reports whether a failure concerns the source as a whole, not only the requested item.
func unwell(f *Failure) bool {
	switch f.Class {
	case ClassNotFound, ClassTooLarge, ClassUnreadable, ClassIncomplete, ClassInternal, ClassRedirected:
		return false
	case ClassRefused:
		return f.Code == http.StatusUnauthorized || f.Code == http.StatusForbidden
	}
	return true
}

// do reads one detail or document. Each has its own backoff, so that a failing one does not delay
// others. The error says that the whole source does not respond, or that the store fails.
func (w *worker) do(ctx context.Context, j job, now hazard.Instant) error {
	err := w.protect(ctx, func() error { return w.readJob(ctx, j, now) })
	if errors.Is(err, errStopped) {
		return err
	}
	is := func(o job) bool { return o.URL == j.URL && o.Event == j.Event }
	if err == nil {
		w.st.Jobs = slices.DeleteFunc(w.st.Jobs, is)
		w.follow.unreached = nil
		w.done(j, now)
		return nil
	}
	fail := asFailure(err)
	if fail.Class == ClassStore {
		return fail
	}
	j.Tries, j.Class = j.Tries+1, fail.Class
	first := refillEvery
	if j.Link != "" {
		first = firstAgain
	}
	j.Next = w.p.now().Add(max(backoff(first, w.longest(), j.Tries, w.p.random()), fail.RetryAfter))
	if i := slices.IndexFunc(w.st.Jobs, is); i >= 0 {
		j.Unlisted = w.st.Jobs[i].Unlisted // it may have been listed again meanwhile
		w.st.Jobs[i] = j.elsewhere()
	}
	w.log.Debug("a document cannot be read", "address", w.src.shown(j.URL), "class", fail.Class, "error", cut(fail.Text), "tries", j.Tries)
	if j.Link == "" && j.Tries >= maxTries {
		w.st.Jobs = slices.DeleteFunc(w.st.Jobs, is)
		w.log.Warn("a detail is given up", "address", w.src.shown(j.URL), "class", fail.Class, "error", cut(fail.Text))
		w.keepError(ctx, w.src.shown(j.URL), cut(fail.Text), fail.payload)
	}
	return w.wholeFails(j.URL, fail)
}

// wholeFails returns the failure if it concerns the whole source: the source asks for fewer
// requests, or several documents in a row were unreachable.
func (w *worker) wholeFails(address string, fail *Failure) error {
	switch fail.Class {
	case ClassBusy:
		return fail
	case ClassUnreachable, ClassTimeout, ClassTooSlow, ClassCertificate:
		if w.follow.unreached == nil {
			w.follow.unreached = map[string]bool{}
		}
		if w.follow.unreached[address] = true; len(w.follow.unreached) >= maxInARow {
			return fail
		}
	default:
		w.follow.unreached = nil
	}
	return nil
}

func (w *worker) readJob(ctx context.Context, j job, now hazard.Instant) error {
	a, err := w.get(ctx, question{url: j.URL, maxBytes: w.src.Feeds[0].MaxBytes, in: laneOf(j.Class)})
	if fail, ok := errors.AsType[*Failure](err); ok && j.Event != "" {
		switch fail.Code {
		case http.StatusNotFound, http.StatusConflict, http.StatusGone:
			r := w.receipt(evidence.Gone, "", now)
			r.Address, r.Subject = w.src.shown(j.URL), j.Event
			ended, err := w.lists.withdraw(ctx, j.Event, hazard.EndWithdrawn, now)
			if ended {
				w.ended(1)
			}
			w.keep(ctx, r, nil, err)
			return err
		}
	}
	if err != nil {
		return err
	}
	learnt, late := w.shapesOf(ctx, a, now)
	if errors.Is(late, errStopped) {
		return late
	}
	r := w.receipt(evidence.Document, "", now)
	r.Address, r.Again = w.src.shown(j.URL), learnt
	links, err := w.useDocument(ctx, a, learnt, now)
	if j.Link == "" { // documents behind a detail, such as the contours of an earthquake, concern the same event
		for _, l := range links {
			w.enqueue([]string{l.URL})
		}
	}
	w.keep(ctx, r, a, err)
	if err == nil {
		err = late // the document is then read again, and its reports are processed again
	}
	return err
}

// shapesPerDocument bounds the shapes that are fetched before a document is processed.
const shapesPerDocument = 5

// shapesOf fetches the shapes of the places in a document's reports, and reports whether there are
// new ones. It must do so now, because unlike a feed's reports these are not kept for later. The
// error says that a shape is not available now; the document is then processed without it.
func (w *worker) shapesOf(ctx context.Context, a *answer, now hazard.Instant) (learnt bool, err error) {
	if w.src.PlaceURL == nil {
		return false, nil
	}
	batch, _, err := w.parse(ctx, a, now)
	if err != nil {
		return false, nil // reported when the document is used
	}
	if w.follow.known == nil {
		w.follow.known = map[string]bool{}
	}
	asked := 0
	for i := range batch.Reports {
		r := &batch.Reports[i]
		if len(r.Areas) > 0 || r.Ended != "" {
			continue
		}
		for _, code := range r.Places {
			if asked == shapesPerDocument || !w.wanted(ctx, code) {
				continue
			}
			asked++
			switch err := w.protect(ctx, func() error { return w.readPlace(ctx, code, now) }); {
			case errors.Is(err, errStopped):
				return learnt, err
			case err == nil:
				learnt = true
			case unwell(asFailure(err)):
				return learnt, asFailure(err)
			default:
				w.badPlace(code, now)
				w.log.Debug("cannot fetch the shape of a place", "place", code, "error", err)
			}
		}
	}
	return learnt, nil
}

// useDocument processes a detail, a document or a pushed message. again processes its events again
// although the reports may be unchanged. It returns the documents that it links to.
func (w *worker) useDocument(ctx context.Context, a *answer, again bool, now hazard.Instant) ([]source.Link, error) {
	batch, _, err := w.parse(ctx, a, now)
	if err != nil {
		return nil, err
	}
	batch.Whole = false
	if ctx.Err() != nil || !w.lease.Valid() {
		return nil, errStopped
	}
	res, err := w.p.intake.Apply(ctx, w.src.Name, batch, hazard.ClockFunc(w.p.now), fuse.Options{Again: again, Payload: evidence.Digest(a.payload)})
	w.st.Total.add(&res)
	w.tell(&res)
	w.late(res.Issued)
	w.enqueue(res.Details) // a changed event may have a still more detailed report
	return batch.Links, err
}

// lookForPlaces queues the unknown places of a batch that can be fetched, and reports whether there
// are any. First come the places of reports that could not be shown without a place, then those of
// the most severe reports.
func (w *worker) lookForPlaces(ctx context.Context, batch *source.Batch, known map[string]bool, now hazard.Instant) bool {
	if w.src.PlaceURL == nil {
		return false
	}
	u := &w.follow
	if u.known == nil {
		u.known = map[string]bool{}
	}
	maps.DeleteFunc(w.st.BadPlaces, func(_ string, until hazard.Instant) bool { return until <= now || until > now.Add(badPlaceFor) })
	urgency := map[string]int{}
	for i := range batch.Reports {
		r := &batch.Reports[i]
		if len(r.Areas) > 0 || r.Ended != "" {
			continue
		}
		urgent := int(r.Severity)
		if !known[r.Key] {
			urgent += int(hazard.Warning)
		}
		for _, code := range r.Places {
			if u, ok := urgency[code]; ok {
				urgency[code] = max(u, urgent)
			} else if w.wanted(ctx, code) {
				urgency[code] = urgent
			}
		}
	}
	found := len(urgency) > 0
	if w.kept() { // another feed also waits for places
		for _, code := range u.places {
			urgency[code] = max(urgency[code], 0)
		}
	}
	u.places = slices.SortedFunc(maps.Keys(urgency), func(a, b string) int {
		return cmp.Or(cmp.Compare(urgency[b], urgency[a]), cmp.Compare(a, b))
	})
	return found
}

// wanted reports whether the shape of a place is unknown and can be fetched.
func (w *worker) wanted(ctx context.Context, code string) bool {
	u := &w.follow
	if u.known[code] || w.st.BadPlaces[code] != 0 {
		return false
	}
	if a := w.src.PlaceURL(code); a == "" || !w.src.follows(a) {
		return false
	}
	_, err := w.p.store.Sources.Place(ctx, w.src.Name, code)
	if err == nil {
		u.known[code] = true
	}
	return errors.Is(err, hazard.ErrNotFound)
}

// fetchPlace fetches and stores the shape of a place. The error says that the source or the store
// fails.
func (w *worker) fetchPlace(ctx context.Context, code string, now hazard.Instant) error {
	err := w.protect(ctx, func() error { return w.readPlace(ctx, code, now) })
	if errors.Is(err, errStopped) {
		return err
	}
	if err != nil {
		if fail := asFailure(err); unwell(fail) {
			return fail
		}
		w.badPlace(code, now)
		w.log.Debug("cannot fetch the shape of a place", "place", code, "error", err)
	}
	w.follow.places = slices.DeleteFunc(w.follow.places, func(c string) bool { return c == code })
	return nil
}

func (w *worker) readPlace(ctx context.Context, code string, now hazard.Instant) error {
	a, err := w.get(ctx, question{url: w.src.PlaceURL(code), maxBytes: maxPlaceBytes})
	if err != nil {
		return err
	}
	if a.cut != nil {
		return a.cut
	}
	got, geometry, name, err := w.src.ParsePlace(a.payload)
	if err != nil {
		return failf(ClassUnreadable, "%v", err)
	}
	if got != code {
		return failf(ClassUnreadable, "the shape of %.40q, expected that of %.40q", got, code)
	}
	if !w.follow.learnt { // a later process must notice that the stored place was not applied yet
		w.follow.learnt, w.st.Unfinished = true, true
		w.save(ctx)
	}
	r := w.receipt(evidence.Place, "", now)
	r.Address, r.Subject = w.src.shown(w.src.PlaceURL(code)), code
	if err := w.p.store.Sources.SavePlace(ctx, w.src.Name, code, name, string(geometry), now); err != nil {
		return err
	}
	w.keep(ctx, r, a, nil)
	w.follow.known[code] = true
	return nil
}

// badPlace records that a place cannot be fetched for now.
func (w *worker) badPlace(code string, now hazard.Instant) {
	if w.st.BadPlaces == nil {
		w.st.BadPlaces = map[string]hazard.Instant{}
	}
	if len(w.st.BadPlaces) < maxBadPlaces {
		w.st.BadPlaces[code] = now.Add(badPlaceFor)
	}
}

// settle applies the new places: it processes the last payloads again.
func (w *worker) settle(ctx context.Context) {
	if !w.follow.learnt || ctx.Err() != nil || !w.lease.Valid() {
		return
	}
	for _, f := range w.feeds {
		if f.batch == nil {
			continue
		}
		r := w.receipt(evidence.Settled, f.URL, w.p.now())
		err := w.protect(ctx, func() error {
			res, err := w.p.intake.Apply(ctx, w.src.Name, *f.batch, hazard.ClockFunc(w.p.now), fuse.Options{Again: true, Payload: f.kept.Digest})
			w.enqueue(res.Details)
			w.st.Total.New += int64(res.New)
			w.st.Total.Updated += int64(res.Updated)
			return err
		})
		w.keep(ctx, r, nil, err)
		if errors.Is(err, errStopped) {
			return
		}
		if err != nil {
			w.log.Warn("cannot use the places that became known", "error", err)
			return // done with the next poll
		}
		if len(w.follow.places) == 0 {
			f.batch = nil
		}
	}
	w.follow.learnt = false
	w.st.Unfinished = w.anew
	w.save(ctx)
}
