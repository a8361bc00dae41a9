package poll

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
)

// ReplayIntake processes the replayed payloads.
type ReplayIntake interface {
	Intake
	// PassUntil records all changes that are due by time up to now, each with its own time.
	PassUntil(ctx context.Context, now hazard.Instant) error
}

// Import processes a saved payload of a source as if received at now, recorded by clock; cut says
// why its end is missing, or is nil. It concludes nothing from what the payload lacks; see Replay.
// A *Failure concerns the payload; with class ClassIncomplete, or beside cut, the readable part is
// processed.
func Import(
	ctx context.Context, in Intake, src *Source, payload []byte, cut *Failure, now hazard.Instant, clock hazard.Clock, opts fuse.Options,
) (fuse.Result, error) {
	_, res, err := take(ctx, in, src, payload, cut, now, clock, opts, func(*source.Batch) {})
	return res, err
}

func take(
	ctx context.Context, in Intake, src *Source, payload []byte, cut *Failure, now hazard.Instant, clock hazard.Clock, opts fuse.Options, hold func(*source.Batch),
) (source.Batch, fuse.Result, error) {
	batch, usable, err := parse(src, payload, cut, now)
	if !usable {
		return batch, fuse.Result{}, err
	}
	hold(&batch)
	opts.Payload = evidence.Digest(payload)
	res, applyErr := in.Apply(ctx, src.Name, batch, clock, opts)
	if applyErr != nil {
		return batch, res, applyErr
	}
	return batch, res, err
}

// Replay processes saved payloads of several sources in order of time, as if they had been polled.
// It includes the changes that are due by time, and the ends of events that lists no longer
// contain. It assumes that each source gave the same response until its next payload, like a server
// that says "not modified", and that polls had no delay. Everything else that polling would have
// requested (details, shapes of places, missing earthquakes) must be among the payloads.
type Replay struct {
	store   *store.Store
	intake  ReplayIntake
	log     *slog.Logger
	sources []*replayed
	keep    func(store.Receipt, []byte)
}

// Keep stores what is replayed as evidence, as if it had been polled. keep gets the receipt without
// its time of writing.
func (r *Replay) Keep(keep func(store.Receipt, []byte)) { r.keep = keep }

// replayed is a source that is being replayed.
type replayed struct {
	lists
	feeds []*replayedFeed // its feeds, and last one for payloads of an unknown feed
}

// replayedFeed is the response of a feed until its next payload.
type replayedFeed struct {
	listed
	payload  []byte
	batch    *source.Batch  // the last batch, if Repeat may have to apply new places to it
	since    hazard.Instant // time of the payload
	again    hazard.Instant // when polling would read it in full again; MaxInstant if that would change nothing
	failures int
}

// repeated is how long a payload counts as the source's present response. A longer silence is
// treated as a gap in the recording.
const repeated = 24 * time.Hour

// NewReplay creates a Replay into a store. Nothing is recorded before from, the time of the store's
// last change.
func NewReplay(s *store.Store, in ReplayIntake, from hazard.Instant, log *slog.Logger) *Replay {
	return &Replay{store: s, intake: notBefore{in, from}, log: log}
}

// notBefore is an intake whose clock never shows a time before from.
type notBefore struct {
	ReplayIntake
	from hazard.Instant
}

func (n notBefore) Apply(ctx context.Context, src string, batch source.Batch, clock hazard.Clock, opts fuse.Options) (fuse.Result, error) {
	return n.ReplayIntake.Apply(ctx, src, batch, max(clock.Now(), n.from), opts)
}

func (n notBefore) Withdraw(ctx context.Context, src, event string, parts []string, reason hazard.EndReason, clock hazard.Clock) (int64, error) {
	return n.ReplayIntake.Withdraw(ctx, src, event, parts, reason, max(clock.Now(), n.from))
}

func (n notBefore) Hold(ctx context.Context, src, event string, parts []string, at hazard.Instant, patience time.Duration, clock hazard.Clock) (int64, error) {
	return n.ReplayIntake.Hold(ctx, src, event, parts, at, patience, max(clock.Now(), n.from))
}

func (n notBefore) PassUntil(ctx context.Context, now hazard.Instant) error {
	return n.ReplayIntake.PassUntil(ctx, max(now, n.from))
}

// source returns the state of a source, with feeds by address.
func (r *Replay) source(src *Source) *replayed {
	for _, s := range r.sources {
		if s.src.Name == src.Name {
			return s
		}
	}
	s := &replayed{lists: lists{src: src, store: r.store, intake: r.intake, log: r.log.With("source", src.Name)}}
	for _, f := range append(src.Feeds[:len(src.Feeds):len(src.Feeds)], source.Feed{Every: time.Hour}) {
		s.feeds = append(s.feeds, &replayedFeed{listed: listed{Feed: f}, again: hazard.MaxInstant})
	}
	for _, f := range s.feeds[:len(src.Feeds)] {
		if !f.Messages {
			s.of = append(s.of, &f.listed)
		}
	}
	r.sources = append(r.sources, s)
	return s
}

// Take advances time to at, and processes a payload as if a feed of the source returned it then.
// feed is the address of the feed. If empty, it is the source's only list, or unknown if there are
// several; then nothing ends because the payload lacks it. See Import for cut and the error.
func (r *Replay) Take(ctx context.Context, src *Source, feed string, payload []byte, cut *Failure, at hazard.Instant) (fuse.Result, error) {
	if err := r.Until(ctx, at); err != nil {
		return fuse.Result{}, err
	}
	s := r.source(src)
	f := s.feeds[len(s.feeds)-1]
	for i, known := range src.Feeds {
		if known.URL == feed || feed == "" && len(s.of) == 1 && s.of[0] == &s.feeds[i].listed {
			f = s.feeds[i]
		}
	}
	return r.take(ctx, s, f, answer{payload: payload, cut: cut}, at, at)
}

// Until advances time to now.
func (r *Replay) Until(ctx context.Context, now hazard.Instant) error {
	for {
		var s *replayed
		var f *replayedFeed
		for _, a := range r.sources {
			for _, b := range a.feeds {
				if b.again < now && (f == nil || b.again < f.again) {
					s, f = a, b
				}
			}
		}
		if f == nil {
			return r.intake.PassUntil(ctx, now)
		}
		at := f.again
		if err := r.intake.PassUntil(ctx, at); err != nil {
			return err
		}
		_, err := r.take(ctx, s, f, answer{payload: f.payload}, f.since, at)
		if _, ok := errors.AsType[*Failure](err); err != nil && !ok {
			return err
		}
	}
}

// take processes a feed's response since a moment as read at now, and plans its next read.
func (r *Replay) take(ctx context.Context, s *replayed, f *replayedFeed, a answer, since, now hazard.Instant) (fuse.Result, error) {
	batch, res, certain, err := r.read(ctx, s, f, a, now, now, fuse.Options{})
	r.note(s, f, a, now, err)
	if batch == nil {
		f.again, f.payload = hazard.MaxInstant, nil
		return res, err
	}
	if !batch.Whole && !batch.Current && batch.Lasting == nil { // not the feed's own list, such as a single alert
		return res, nil
	}
	if since == now {
		f.failures = 0
	}
	fail, failed := errors.AsType[*Failure](err)
	wait := s.trusted(f.Every)
	switch {
	case err != nil && !failed:
		return res, err
	case failed:
		f.failures++
		wait = pause(f.Every, s.src.Warns, f.failures, 0)
	case !certain:
		wait = f.Every
	}
	f.payload, f.since, f.again = a.payload, since, now.Add(wait)
	if f.again > since.Add(repeated) {
		f.again, f.payload = hazard.MaxInstant, nil
	}
	if failed {
		return res, fail
	}
	return res, nil
}

// read processes a feed's response, read at now, as of clock. batch is nil if nothing can be
// concluded from it; certain reports whether the decision needs no further read.
func (r *Replay) read(ctx context.Context, s *replayed, f *replayedFeed, a answer, now hazard.Instant, clock hazard.Clock, opts fuse.Options) (
	batch *source.Batch, res fuse.Result, certain bool, err error,
) {
	if f.URL == "" {
		b, res, err := take(ctx, s.intake, s.src, a.payload, a.cut, now, clock, opts, func(*source.Batch) {})
		if err != nil {
			return nil, res, false, err
		}
		return &b, res, true, nil
	}
	b, res, err := take(ctx, s.intake, s.src, a.payload, a.cut, now, clock, opts, func(b *source.Batch) { s.hold(b, now) })
	if err != nil {
		return nil, res, false, err
	}
	_, certain, err = s.conclude(ctx, &f.listed, &b, &res, now)
	return &b, res, certain, err
}

// note stores a feed's response.
func (r *Replay) note(s *replayed, f *replayedFeed, a answer, now hazard.Instant, err error) {
	if _, ok := errors.AsType[*Failure](err); r.keep == nil || err != nil && !ok {
		return
	}
	kept := store.Receipt{Source: s.src.Name, Kind: evidence.Feed, Feed: evidence.FeedID(f.URL), Read: now, Taken: now}
	if f.URL != "" {
		kept.Address = s.src.shown(f.URL)
	}
	if a.cut != nil {
		kept.Cut = cut(a.cut.Text)
	}
	if err != nil {
		kept.Error = cut(asFailure(err).Text)
	}
	r.keep(kept, a.payload)
}

// Repeat advances time to a receipt, and repeats the work that it records; payload is the receipt's
// payload. A returned *Failure is one that the original poll also had: the payload was unusable, or
// incomplete.
func (r *Replay) Repeat(ctx context.Context, src *Source, kept *store.Receipt, payload []byte) error {
	if err := r.intake.PassUntil(ctx, kept.Taken); err != nil {
		return err
	}
	s := r.source(src)
	s.intake = retimed{r.intake, kept.Taken}
	f := s.feeds[len(s.feeds)-1]
	for _, known := range s.feeds {
		if known.URL != "" && evidence.FeedID(known.URL) == kept.Feed {
			f = known
		}
	}
	if kept.Feed != "" && f.URL == "" {
		return fmt.Errorf("%w: source %s no longer has a feed at %s", hazard.ErrNotFound, src.Name, kept.Address)
	}
	a := answer{payload: payload}
	if kept.Cut != "" {
		a.cut = failf(ClassIncomplete, "%s", kept.Cut)
	}
	opts := fuse.Options{Again: kept.Again}
	switch kept.Kind {
	case evidence.Begun:
		r.sources = slices.DeleteFunc(r.sources, func(o *replayed) bool { return o == s })
		return nil
	case evidence.Feed:
		if f.batch = nil; src.PlaceURL != nil { // places may be applied to it later
			if batch, usable, _ := parse(src, payload, a.cut, kept.Read); usable {
				batch.Rejects = nil // stored below
				f.batch = &batch
			}
		}
		_, _, _, err := r.read(ctx, s, f, a, kept.Read, kept.Taken, opts)
		return err
	case evidence.Settled:
		if f.batch == nil {
			return nil // it came before the beginning of the evidence
		}
		_, err := s.intake.Apply(ctx, src.Name, *f.batch, kept.Taken, fuse.Options{Again: true})
		return err
	case evidence.Document:
		batch, _, err := parse(src, payload, a.cut, kept.Read)
		if err != nil {
			return err
		}
		batch.Whole = false
		_, err = s.intake.Apply(ctx, src.Name, batch, kept.Taken, opts)
		return err
	case evidence.Saved:
		opts.History = true
		_, _, err := take(ctx, s.intake, src, payload, a.cut, kept.Read, kept.Taken, opts, func(*source.Batch) {})
		return err
	case evidence.Batch:
		batch, err := ReadBatch(payload)
		if err != nil {
			return err
		}
		s.hold(&batch, kept.Read)
		res, err := s.intake.Apply(ctx, src.Name, batch, kept.Taken, opts)
		if err == nil && kept.Error == "" {
			_, _, err = s.conclude(ctx, &f.listed, &batch, &res, kept.Read)
		}
		return err
	case evidence.Gone:
		_, err := s.withdraw(ctx, kept.Subject, hazard.EndWithdrawn, kept.Taken)
		return err
	case evidence.Place:
		if src.ParsePlace == nil {
			return fmt.Errorf("%w: source %s knows no places any more", hazard.ErrNotFound, src.Name)
		}
		code, geometry, name, err := src.ParsePlace(payload)
		if err != nil {
			return failf(ClassUnreadable, "%v", err)
		}
		return r.store.Sources.SavePlace(ctx, src.Name, code, name, string(geometry), kept.Taken)
	}
	return fmt.Errorf("receipt %d: kind %q is that of a later release", kept.ID, kept.Kind)
}

// retimed is an intake that withdraws as of a given moment. It is needed because a list is read
// before its content is processed.
type retimed struct {
	ReplayIntake
	taken hazard.Instant
}

func (t retimed) Withdraw(ctx context.Context, src, event string, parts []string, reason hazard.EndReason, _ hazard.Clock) (int64, error) {
	return t.ReplayIntake.Withdraw(ctx, src, event, parts, reason, t.taken)
}

func (t retimed) Hold(ctx context.Context, src, event string, parts []string, at hazard.Instant, patience time.Duration, _ hazard.Clock) (int64, error) {
	return t.ReplayIntake.Hold(ctx, src, event, parts, at, patience, t.taken)
}
