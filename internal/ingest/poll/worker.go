package poll

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/poll/delay"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/lease"
)

// The interval of a feed.
const (
	// firstRetry is the delay after a first failure, unless the feed's interval is shorter.
	firstRetry = time.Minute
	// maxBackoff is the longest delay of a failing feed, unless its interval is longer.
	maxBackoff = 30 * time.Minute
	// maxWarnBackoff is the longest delay of a failing feed of a source that warns.
	maxWarnBackoff = 2 * time.Minute
	// trust is the number of intervals for which a feed may respond "not modified". After that it
	// is requested without validators, because a faulty cache would hide every new warning.
	trust = 10
	// minApart is the shortest time between two requested polls.
	minApart = 5 * time.Second
	// spread is the time over which a process distributes its first polls.
	spread = time.Second
	// sharedSpread is the same for feeds of the catalog that were never read, or not read for
	// longer than their interval.
	sharedSpread = 30 * time.Second
	// patientAfter is the number of consecutive failures, about an hour's, after which a feed of
	// the catalog is polled only every maxBackoff.
	patientAfter = 30
	// changing is how long after its last news a feed counts as changing (source.Feed.Fastest).
	changing = 10 * time.Minute
	// chastened is how long a feed is not polled faster than usual after its source has refused
	// requests or asked for fewer.
	chastened = 24 * time.Hour
)

// pause returns the time from one poll of a feed to the next, after so many consecutive failures.
// warns says whether its source warns. random is in [0, 1): the jitter prevents that many
// installations poll the source at the same moment.
func pause(every time.Duration, warns bool, failures int, random float64) time.Duration {
	if failures == 0 {
		return every + time.Duration(random*float64(every)/10)
	}
	longest := max(every, maxBackoff)
	if warns {
		longest = maxWarnBackoff
	}
	return backoff(min(every, firstRetry), longest, failures, random)
}

// backoff returns the delay after so many consecutive failures. It starts at first and doubles each
// time, up to longest.
func backoff(first, longest time.Duration, failures int, random float64) time.Duration {
	if failures < 2 {
		return first + time.Duration(random*float64(first)/10)
	}
	d := first
	for range min(failures-1, 30) {
		d = min(2*d, longest)
	}
	return max(first, d-time.Duration(random*float64(d)/5))
}

// worker polls one source. All members except ask belong to the single goroutine that calls run or
// once.
type worker struct {
	p     *Poller
	src   *Source
	lease *lease.Lease
	log   *slog.Logger
	began hazard.Instant // start of this worker
	ask   chan string    // ids of poll requests

	st      *state
	feeds   []*feed
	asked   string         // id of a pending poll request
	anew    bool           // everything is read again (state.Unfinished)
	warned  map[Class]bool // classes of failures that were logged since the last success
	unsaved bool           // the last try to save the state failed
	lists   lists          // the current and the former content of the lists
	pushed  pushes
	follow  followUps
}

// feed is one feed of the source.
type feed struct {
	listed
	kept *feedState
	due  time.Time
	// unread means that this process has not yet completely read the feed.
	unread bool
	// missing are events that the feed should contain.
	missing absentees
	// batch is the last batch, kept as long as it has unknown places.
	batch *source.Batch
}

func newWorker(p *Poller, src *Source, l *lease.Lease) *worker {
	w := &worker{p: p, src: src, began: p.now(), lease: l, log: p.log.With("source", src.Name), ask: make(chan string, 1), warned: map[Class]bool{}}
	w.lists = lists{src: src, store: p.store, intake: leased{p.intake, l, hazard.ClockFunc(p.now)}, log: w.log}
	return w
}

// run polls until ctx ends.
func (w *worker) run(ctx context.Context) {
	if w.src.Warns {
		ctx = store.Ranked(ctx, store.Warnings)
	}
	for !w.begin(ctx) {
		if clock.Sleep(ctx, 5*time.Second) != nil {
			return
		}
	}
	if w.st.Disabled {
		w.st.Disabled = false
		w.save(ctx)
	}
	if len(w.src.Pushes) > 0 {
		w.pushed.events = make(chan event)
		defer w.listen(ctx)()
	}
	for ctx.Err() == nil {
		wait := time.NewTimer(min(w.step(ctx), w.saveSoon(ctx)))
		select {
		case <-ctx.Done():
		case <-wait.C:
		case e := <-w.pushed.events:
			w.hear(ctx, e)
		case id := <-w.ask:
			if id != w.st.Served { // the previous process may have served it
				w.asked = id
			}
		}
		wait.Stop()
	}
}

// once reads all feeds and does the requests that follow, as many as fit into one poll. It records
// that request id was served.
func (w *worker) once(ctx context.Context, id string) {
	if !w.begin(ctx) {
		return
	}
	w.serve(ctx, id)
	end := time.Now().Add(refillEvery)
	for ctx.Err() == nil && time.Now().Before(end) && !w.dueAt(time.Now()) {
		wait, more := w.followUp(ctx)
		if !more {
			break
		}
		clock.Sleep(ctx, wait)
	}
	w.settle(ctx)
	w.save(ctx)
}

// begin reads the stored state and plans the first poll of each feed: at once if the source warns,
// a minute after the last poll if that failed, otherwise when it was due. It is never before the
// end of a Retry-After. begin reports whether the state could be read.
func (w *worker) begin(ctx context.Context) bool {
	forks, err := w.p.store.Log.Forks(ctx)
	var body []byte
	if err == nil {
		body, err = w.p.store.Sources.State(ctx, w.src.Name)
	}
	if err != nil {
		w.log.Warn("cannot read the stored state", "error", err)
		return false
	}
	if w.st, err = decodeState(body); err != nil {
		w.log.Error("the stored state is lost", "error", err)
		w.st = &state{}
	}
	if w.st.Forks != forks {
		w.st.Forks = forks
		w.st.forget()
	}
	w.anew = w.st.Unfinished
	w.st.Places = 0
	begun, now := time.Now(), w.p.now()
	kept := map[string]*feedState{}
	for _, sf := range w.src.Feeds {
		shift := time.Duration(w.p.random() * float64(spread))
		if w.src.Shared {
			shift = time.Duration(w.p.share(sf.URL) * float64(sharedSpread))
		}
		f := &feed{listed: listed{Feed: sf}, kept: w.st.feed(sf.URL), due: begun.Add(shift), unread: true}
		kept[sf.URL] = f.kept
		if f.kept.Since == 0 {
			f.kept.Since = now
		}
		next := f.kept.NextPoll
		switch {
		case w.src.Shared:
			shift = 0
		case w.src.Warns:
			next = f.kept.LastPoll.Add(minApart)
		case f.kept.Error != nil:
			next = min(next, f.kept.LastPoll.Add(min(f.Every, firstRetry)))
		}
		// A time farther ahead than any delay comes from a wrong clock and is ignored.
		next = max(next, f.kept.NotBefore)
		if wait := next.Time().Sub(now.Time()); f.kept.LastPoll != 0 && wait > 0 && wait <= max(pause(f.Every, w.src.Warns, 0, 1), maxRetryAfter) {
			f.due = begun.Add(wait + time.Millisecond + shift) // stored times are cut to milliseconds
		}
		w.feeds = append(w.feeds, f)
		if !f.Messages {
			w.lists.of = append(w.lists.of, &f.listed)
		}
	}
	if f := w.st.Feeds[pushFeed]; f != nil && len(w.src.Pushes) > 0 {
		f.Refused, f.Hosts, f.Left = 0, nil, 0
		kept[pushFeed] = f
	}
	w.st.Feeds = kept
	maps.DeleteFunc(w.st.Pushes, func(address string, k *pushState) bool {
		k.Up = false // the process that had it open has ended
		return !slices.ContainsFunc(w.src.Pushes, func(p source.Push) bool { return p.URL == address && w.p.opens(&p) })
	})
	w.keep(ctx, w.receipt(evidence.Begun, "", now), nil, nil)
	return true
}

// step does the next due piece of work, if any, and returns how long to wait after it.
func (w *worker) step(ctx context.Context) time.Duration {
	if !w.lease.Valid() {
		return lease.Try / 4 // the lease may be renewed, or ctx ends
	}
	if w.asked != "" {
		w.serve(ctx, w.asked)
		w.asked = ""
		return 0
	}
	now := time.Now()
	next := w.feeds[0]
	for _, f := range w.feeds {
		if f.due.Before(next.due) {
			next = f
		}
	}
	if !now.Before(next.due) {
		w.poll(ctx, next, false)
		return 0
	}
	wait, more := w.followUp(ctx)
	if !more {
		w.settle(ctx)
	}
	return max(0, min(wait, time.Until(next.due)))
}

// dueAt reports whether a feed is due.
func (w *worker) dueAt(now time.Time) bool {
	for _, f := range w.feeds {
		if !now.Before(f.due) {
			return true
		}
	}
	return false
}

// serve does a requested poll of all feeds, except those that were polled just now and those with a
// Retry-After. The schedule does not change.
func (w *worker) serve(ctx context.Context, id string) {
	for _, f := range w.feeds {
		now := w.p.now()
		if f.kept.NotBefore <= now && (f.kept.LastPoll.Add(minApart) <= now || f.kept.LastPoll > now) {
			w.poll(ctx, f, true)
		}
	}
	if ctx.Err() == nil {
		w.st.Served = id
		w.save(ctx)
	}
}

// poll reads a feed once and records the result. asked says that a user requested the poll. Then
// the next scheduled poll is not delayed, and a failure does not count for the backoff, unless the
// response has Retry-After.
func (w *worker) poll(ctx context.Context, f *feed, asked bool) {
	began := time.Now()
	now := w.p.now()
	w.follow.refill(began)
	before := w.st.Last
	w.st.Last = Counts{}
	w.pushed.gap = false
	err := w.protect(ctx, func() error { return w.read(ctx, f, now) })
	if errors.Is(err, errStopped) {
		w.st.Last = before
		if !asked {
			f.due = time.Now().Add(lease.Try)
		}
		return
	}
	f.kept.LastPoll, f.kept.NotBefore = now, 0
	if c := w.st.Last; c.New+c.Updated+c.Ended > 0 {
		f.kept.LastNews = now
	}
	due := f.due
	if err == nil {
		f.kept.Failures, f.kept.Error, f.kept.LastSuccess = 0, nil, now
		f.unread = false
		if w.anew && !slices.ContainsFunc(w.feeds, func(g *feed) bool { return g.unread }) {
			w.anew = false
			w.st.Unfinished = w.follow.learnt
		}
		w.succeeded(now)
		w.p.client.hosts.succeeded(f.URL)
		if next := began.Add(w.interval(f, now)); !asked || !f.due.After(began) || f.due.After(next) {
			f.due = next
		}
	} else {
		fail := asFailure(err)
		if w.src.Read != nil {
			fail.RetryAfter = w.p.client.hosts.wait(f.URL, fail.RetryAfter, w.src.Warns)
		}
		if !asked {
			f.kept.Failures++
			failures := f.kept.Failures
			if fail.Class == ClassStore { // not the source's fault
				failures = 1
			}
			warns := w.src.Warns && !(w.src.Shared && failures > patientAfter)
			f.due = time.Now().Add(pause(f.Every, warns, failures, w.p.random()))
		}
		if fail.RetryAfter > 0 {
			f.kept.NotBefore = w.p.now().Add(fail.RetryAfter)
			if end := time.Now().Add(fail.RetryAfter); end.After(f.due) {
				f.due = end
			}
		}
		if fail.Class == ClassBusy || fail.Class == ClassRefused || fail.RetryAfter > 0 {
			f.kept.Slowed = now
		}
		w.failed(ctx, f, fail, now)
	}
	if w.pushed.gap {
		w.pollNow()
	}
	if f.due != due || f.kept.NextPoll == 0 {
		f.kept.NextPoll = w.p.now().Add(time.Until(f.due))
	}
	w.settle(ctx)
	w.save(ctx)
}

// interval returns the time from a poll at now to the next. Each feed of the catalog has a fixed
// offset in its interval. Restarts and failures do not change it, so the polls of a host's feeds
// stay spread over the interval.
func (w *worker) interval(f *feed, now hazard.Instant) time.Duration {
	d := w.src.interval(&f.Feed, w.st, now)
	if !w.src.Shared || d < f.Every {
		return pause(d, w.src.Warns, 0, w.p.random())
	}
	every := d.Milliseconds()
	moment := int64(w.p.share(f.URL) * float64(every))
	earliest := int64(now) + every*9/10
	if f.Fastest > 0 { // it may be asked sooner, so the first poll after a change need not be late
		earliest = int64(now) + f.Fastest.Milliseconds()
	}
	next := earliest + (every-(earliest-moment)%every)%every
	return time.Duration(next-int64(now)) * time.Millisecond
}

// succeeded logs that documents are missing, or that the source has recovered.
func (w *worker) succeeded(now hazard.Instant) {
	for _, f := range w.feeds {
		lack := w.src.lacks(f.Feed, f.kept, w.st.Jobs, now)
		if lack == nil {
			continue
		}
		if !w.warned[lack.Class] {
			w.warned[lack.Class] = true
			w.log.Warn("the source lacks documents that it names", "feed", w.src.shown(f.URL), "class", lack.Class, "error", lack.Text)
		}
		return
	}
	if len(w.warned) > 0 && !slices.ContainsFunc(w.feeds, func(f *feed) bool { return f.kept.Error != nil }) {
		w.log.Info("the source can be read again")
		clear(w.warned)
	}
}

// failed records an error, and logs it as a warning once for each class until the source is read
// again.
func (w *worker) failed(ctx context.Context, f *feed, fail *Failure, now hazard.Instant) {
	f.kept.Error = &lastError{Class: fail.Class, Text: cut(fail.Text), At: now}
	level := slog.LevelDebug
	if !w.warned[fail.Class] {
		w.warned[fail.Class] = true
		level = slog.LevelWarn
	}
	args := []any{"feed", w.src.shown(f.URL), "class", fail.Class, "error", cut(fail.Text), "failures", f.kept.Failures, "next", f.due.UTC()}
	if fail.stack != "" {
		args = append(args, "stack", fail.stack)
	}
	w.log.Log(ctx, level, "the source cannot be read", args...)
	if fail.payload != "" {
		w.keepError(ctx, "", cut(fail.Text), fail.payload)
	}
}

// keepError stores an unusable record or payload for the command hazardd source errors. payload is
// the payload's SHA-256, or "" if there was none.
func (w *worker) keepError(ctx context.Context, record, reason, payload string) {
	_, err := w.p.store.Write(ctx, hazard.ClockFunc(w.p.now), store.Origin{Source: w.src.Name}, func(tx *store.Tx) error {
		return tx.Reports.AddErrors(w.src.Name, []store.SourceError{{Record: record, Reason: reason, Payload: payload}})
	})
	if err != nil {
		w.log.Warn("cannot keep an error of the source", "error", err)
	}
}

// save stores the state. If that fails, the next poll saves it.
func (w *worker) save(ctx context.Context) {
	w.st.Places = len(w.follow.places)
	err := w.p.save(ctx, w.src.Name, w.st)
	if err != nil && !w.unsaved {
		w.log.Warn("cannot keep the state of the source", "error", err)
	}
	w.unsaved = err != nil
}

// protect turns a panic of f into a failure of the source. It turns any error after the end of ctx
// into errStopped, because that is not the source's fault.
func (w *worker) protect(ctx context.Context, f func() error) error {
	err := protect(f)
	if err != nil && ctx.Err() != nil {
		return errStopped
	}
	return err
}

// asFailure returns err as a *Failure, with a class if it has none.
func asFailure(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	if errors.Is(err, hazard.ErrUnavailable) || errors.Is(err, hazard.ErrFull) {
		return failf(ClassStore, "%v", err)
	}
	return failf(ClassInternal, "%v", err)
}

// read requests a feed and processes the response.
func (w *worker) read(ctx context.Context, f *feed, now hazard.Instant) error {
	if w.src.Read != nil {
		return w.converse(ctx, f, now)
	}
	q := question{url: f.URL, maxBytes: f.MaxBytes, feed: true}
	if f.kept.Error != nil {
		q.in = laneOf(f.kept.Error.Class)
	}
	if !(w.anew && f.unread) && f.kept.LastFull <= now && now < f.kept.LastFull.Add(w.lists.trusted(f.Every)) {
		q.etag, q.lastModified = f.kept.ETag, f.kept.LastModified
	}
	a, err := w.get(ctx, q)
	if err != nil {
		return err
	}
	f.kept.Fresh = int64(a.fresh / time.Second)
	if a.notModified {
		return nil
	}
	r := w.receipt(evidence.Feed, f.URL, now)
	r.Again = w.anew && f.unread || w.follow.learnt
	err = w.use(ctx, f, a, now)
	w.keep(ctx, r, a, err)
	return err
}

// get sends one request. It processes pushed messages while it waits for the response, so that a
// feed that hangs does not delay them.
func (w *worker) get(ctx context.Context, q question) (a *answer, err error) {
	q.warns = w.src.Warns
	if w.pushed.events == nil {
		return w.p.client.get(ctx, q)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		a, err = w.p.client.get(ctx, q)
	}()
	for {
		select {
		case <-done:
			return a, err
		case e := <-w.pushed.events:
			w.hear(ctx, e)
		}
	}
}

// use processes the response of a feed.
func (w *worker) use(ctx context.Context, f *feed, a *answer, now hazard.Instant) error {
	batch, usable, err := w.parse(ctx, a, now)
	if !usable {
		return err
	}
	digest := evidence.Digest(a.payload)
	stale := w.lists.hold(&batch, now)
	res, noted, applyErr := w.take(ctx, f, batch, err == nil, digest, now)
	if applyErr != nil {
		return applyErr
	}
	if err != nil {
		return err
	}
	certain, err := w.conclude(ctx, f, &batch, &res, now)
	if err == nil && stale != nil {
		err = stale
	}
	if fail, ok := errors.AsType[*Failure](err); ok && fail.Class == ClassSuspicious {
		fail.payload = digest
	}
	if err != nil {
		return err
	}
	if digest != f.kept.Digest {
		f.kept.Digest, f.kept.LastChanged = digest, now
	}
	f.kept.LastFull = now
	f.kept.ETag, f.kept.LastModified = "", ""
	if certain && noted {
		f.kept.ETag, f.kept.LastModified = a.etag, a.lastModified
	}
	return nil
}

// converse does the same as read, for a source with its own Read function.
func (w *worker) converse(ctx context.Context, f *feed, now hazard.Instant) error {
	batch, err := w.src.Read(ctx, now)
	bad, _ := errors.AsType[*source.PayloadError](err)
	if _, told := errors.AsType[*Failure](err); told {
		return err
	} else if err != nil && bad == nil {
		return requestFailure(ctx, err)
	} else if err != nil && !bad.Cut {
		return failf(ClassUnreadable, "%v", bad)
	}
	batch.Whole = batch.Whole && err == nil
	r := w.receipt(evidence.Batch, f.URL, now)
	r.Again = w.anew && f.unread || w.follow.learnt
	a, err := batchAnswer(&batch)
	if err != nil {
		return err
	}
	w.lists.hold(&batch, now)
	res, _, err := w.take(ctx, f, batch, bad == nil, evidence.Digest(a.payload), now)
	if err == nil {
		w.src.Taken()
		if bad == nil {
			_, err = w.conclude(ctx, f, &batch, &res, now)
		}
	}
	if len(batch.Reports)+len(batch.Rejects) > 0 || batch.Whole { // otherwise the source reported nothing
		w.keep(ctx, r, a, err)
	}
	if err != nil {
		return err
	}
	if bad != nil {
		return failf(ClassIncomplete, "%v", bad)
	}
	if res.New+res.Updated > 0 || f.kept.LastFull == 0 {
		f.kept.LastChanged = now
	}
	f.kept.LastFull = now
	return nil
}

// parse parses a response. It waits while too many other parsers run.
func (w *worker) parse(ctx context.Context, a *answer, now hazard.Instant) (batch source.Batch, usable bool, err error) {
	select {
	case w.p.parsing <- struct{}{}:
	case <-ctx.Done():
		return source.Batch{}, false, errStopped
	}
	func() {
		defer func() { <-w.p.parsing }()
		batch, usable, err = parse(w.src, a.payload, a.cut, now)
	}()
	if err != nil && ctx.Err() != nil {
		return source.Batch{}, false, errStopped
	}
	return batch, usable, err
}

// take processes a batch of a feed. digest is the digest of its payload; whole reports whether the
// payload was read to its end. noted is false if not all documents that it links to could be
// queued, so that the feed must be read again.
func (w *worker) take(ctx context.Context, f *feed, batch source.Batch, whole bool, digest string, now hazard.Instant) (res fuse.Result, noted bool, err error) {
	if ctx.Err() != nil || !w.lease.Valid() {
		return fuse.Result{}, false, errStopped
	}
	hasMore := len(batch.Links) > 0
	for i := range batch.Reports {
		hasMore = hasMore || batch.Reports[i].Detail != ""
	}
	if hasMore && !w.st.Unfinished { // intake reports each change only once, so a crash must not lose it
		w.st.Unfinished = true
		w.save(ctx)
	}
	anew := w.anew && f.unread
	res, err = w.p.intake.Apply(ctx, w.src.Name, batch, hazard.ClockFunc(w.p.now), fuse.Options{Again: anew || w.follow.learnt, Payload: digest})
	w.st.Last.add(&res)
	w.st.Total.add(&res)
	w.late(res.Issued)
	w.tell(&res)
	if len(res.Coarse) > 0 {
		w.log.Warn("repairing an area is too costly; showing a larger one", "hazards", res.Coarse)
	}
	if err != nil { // a part may have been committed
		w.anew, f.unread = true, true
		return res, false, err
	}
	details := res.Details
	if anew {
		if details, err = w.detailsOfActive(ctx, &batch); err != nil {
			return res, false, err
		}
	}
	w.enqueue(details)
	noted = w.announce(f, batch.Links, whole, now)
	f.batch = nil
	w.follow.learnt = w.follow.learnt && w.kept()
	if w.lookForPlaces(ctx, &batch, res.Events, w.p.now()) {
		batch.Rejects = nil // already counted
		f.batch = &batch
	}
	w.st.Unfinished = w.follow.learnt || w.anew
	return res, noted, nil
}

// tell logs reports that have just been held back because their hazard is damaged.
func (w *worker) tell(res *fuse.Result) {
	for _, kept := range res.Suspects {
		if strings.HasPrefix(kept.Reason, store.Damaged) {
			w.log.Error("a report is held back until its damaged hazard is repaired (hazardd check)", "report", kept.Record, "error", kept.Reason)
		}
	}
}

// late measures the delay from the issue of reports to their commit. Reports that were issued
// before this process began to read the source are ignored, because it could not have had them
// earlier.
func (w *worker) late(issued []hazard.Instant) {
	if w.p.delays == nil {
		return
	}
	now := w.p.now()
	for _, at := range issued {
		if at >= w.began && at <= now.Add(time.Hour) { // this also excludes versions that are not times
			w.p.delays.Observe(w.src.Name, delay.Committed, now.Time().Sub(at.Time()))
		}
	}
}

// kept reports whether a feed waits for places.
func (w *worker) kept() bool {
	return slices.ContainsFunc(w.feeds, func(f *feed) bool { return f.batch != nil })
}

// detailsOfActive returns the addresses of the details of all active events of a batch.
func (w *worker) detailsOfActive(ctx context.Context, batch *source.Batch) ([]string, error) {
	active, err := w.p.store.Reports.ActiveEvents(ctx, w.src.Name)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, e := range active {
		known[e.Event] = true
	}
	var details []string
	for i := range batch.Reports {
		r := &batch.Reports[i]
		isKnown := known[r.Key]
		for _, alias := range r.Aliases {
			isKnown = isKnown || known[alias]
		}
		if isKnown && r.Detail != "" {
			details = append(details, r.Detail)
		}
	}
	return details, nil
}

// enqueue queues details, newest first.
func (w *worker) enqueue(addresses []string) {
	var jobs []job
	for _, a := range addresses {
		if !w.src.follows(a) {
			w.log.Debug("the detail of a report is at an address that is not the source's", "address", w.src.shown(a))
			continue
		}
		jobs = append(jobs, job{URL: a})
	}
	if n := w.st.enqueue(jobs); n > 0 {
		w.log.Warn("too many details of reports wait; the oldest are dropped", "dropped", n)
	}
}

// cut shortens the text of an error.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return hazard.CleanLine(text[:maxText]) + fmt.Sprintf(" … (%d bytes)", len(text))
}
