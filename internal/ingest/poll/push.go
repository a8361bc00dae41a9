package poll

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/poll/stream"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// The limits of push connections.
const (
	// firstReconnect is the delay before a broken connection is reopened. Each further delay is
	// twice as long, up to longestReconnect, until a connection has lasted for steady.
	firstReconnect   = 2 * time.Second
	longestReconnect = 2 * time.Minute
	steady           = time.Minute
	// pushRate and pushBurst bound the messages of a source, per second and at once; pushBytes and
	// source.MaxPushed bound their bytes. Further messages wait in the network. The busiest source
	// sends about a thousand a day.
	pushRate  = 20
	pushBurst = 500
	pushBytes = 1 << 20
	// maxUnread is how many unreadable messages in a row close the connection.
	maxUnread = 20
	// maxRecent is how many recent messages are recognized when they are repeated.
	maxRecent = 4096
	// savePushed is how often the state of a push connection is saved while only messages and
	// heartbeats arrive.
	savePushed = 20 * time.Second
	// rememberFor is how long a pushed message is remembered after it was last listed.
	rememberFor = 48 * time.Hour
)

// pushFeed is the prefix for push connections where jobs and stored documents name a feed.
const pushFeed = "push:"

// pushState is the stored state of one connection.
type pushState struct {
	Up    bool           `json:"up,omitzero"`
	Since hazard.Instant `json:"since"` // it has been up, or down, since then; 0 means not tried yet
	// Heard is the time of the last sign of life; LastMessage is the arrival time of the last
	// message other than a heartbeat.
	Heard       hazard.Instant `json:"heard,omitzero"`
	LastMessage hazard.Instant `json:"last_message,omitzero"`
	Messages    int64          `json:"messages,omitzero"`
	Failures    int            `json:"failures,omitzero"` // consecutive failures
	Error       *lastError     `json:"error,omitzero"`    // why it is down
}

// well reports whether a connection is up as of now, by the saved state, which may be savePushed
// old.
func (k *pushState) well(p *source.Push, now hazard.Instant) bool {
	return k.Up && now <= k.Heard.Add(p.Silence+2*savePushed)
}

// push returns the state of the connection at that address.
func (st *state) push(address string) *pushState {
	if st.Pushes == nil {
		st.Pushes = map[string]*pushState{}
	}
	k := st.Pushes[address]
	if k == nil {
		k = &pushState{}
		st.Pushes[address] = k
	}
	return k
}

// event is what a connection reports to its source's worker: that it is up, that it is down because
// of err, that it is alive, or a message.
type event struct {
	push    *source.Push
	up      bool
	err     error
	message []byte
	// taken receives the result of processing the message. It is buffered.
	taken chan error
}

// pushes holds the connections of a worker.
type pushes struct {
	events chan event // nil if the source does not push
	// recent holds the digests of the last messages, in the order of order.
	recent  map[[sha256.Size]byte]bool
	order   [][sha256.Size]byte
	unread  int  // unreadable messages in a row
	gap     bool // a connection came up after the present poll began
	saved   time.Time
	unsaved bool // the state has changed since it was saved
}

// newDialer creates the dialer for push connections.
func newDialer(cfg *Config) (*stream.Dialer, error) {
	d := &stream.Dialer{Agent: cfg.UserAgent(), Net: cfg.Dial, Web: &http.Client{Transport: cfg.Transport, CheckRedirect: checkRedirect}}
	if cfg.Transport == nil {
		t, err := NewTransport(cfg)
		if err != nil {
			return nil, err
		}
		t.Protocols = new(http.Protocols)
		t.Protocols.SetHTTP1(true)
		t.ForceAttemptHTTP2 = false
		d.Web.Transport = t
	}
	if d.Net == nil {
		dialer := &net.Dialer{Timeout: connectTimeout}
		if !cfg.AllowPrivate {
			dialer.Control = guard
		}
		d.Net = dialer.DialContext
	}
	return d, nil
}

// opens reports whether a connection can be opened: through an HTTP proxy only a WebSocket can.
func (p *Poller) opens(push *source.Push) bool {
	return !p.noPush && (!p.proxied || strings.HasPrefix(push.URL, "ws"))
}

// listen keeps the source's connections open until ctx ends. closed waits until all are closed.
func (w *worker) listen(ctx context.Context) (closed func()) {
	ctx, cancel := context.WithCancel(ctx)
	messages, bytes := rate.NewLimiter(pushRate, pushBurst), rate.NewLimiter(pushBytes, source.MaxPushed)
	var wait []chan struct{}
	for i := range w.src.Pushes {
		push := &w.src.Pushes[i]
		if !w.p.opens(push) {
			continue
		}
		w.st.push(push.URL) // creates the state of a connection that was not tried yet
		done := make(chan struct{})
		wait = append(wait, done)
		go func() {
			defer close(done)
			w.keepOpen(ctx, push, messages, bytes)
		}()
	}
	return func() {
		cancel()
		for _, done := range wait {
			<-done
		}
	}
}

// keepOpen opens a connection, and reopens it whenever it ends, until ctx ends.
func (w *worker) keepOpen(ctx context.Context, push *source.Push, messages, bytes *rate.Limiter) {
	tell := func(e event) {
		e.push = push
		select {
		case w.pushed.events <- e:
		case <-ctx.Done():
		}
	}
	for failures := 0; ctx.Err() == nil; {
		var began time.Time
		err := protect(func() error {
			return w.p.streams.Listen(ctx, push, stream.Handler{
				Up:    func() { began = time.Now(); tell(event{up: true}) },
				Alive: func() { tell(event{}) },
				Receive: func(ctx context.Context, message []byte) error {
					if err := errors.Join(messages.Wait(ctx), bytes.WaitN(ctx, min(len(message), source.MaxPushed))); err != nil {
						return err
					}
					taken := make(chan error, 1)
					tell(event{message: message, taken: taken})
					select {
					case err := <-taken:
						return err
					case <-ctx.Done():
						return ctx.Err()
					}
				},
			})
		})
		if ctx.Err() != nil {
			return
		}
		if !began.IsZero() && time.Since(began) >= steady {
			failures = 0
		}
		failures++
		tell(event{err: err})
		clock.Sleep(ctx, backoff(firstReconnect, longestReconnect, failures, w.p.random()))
	}
}

// hear handles an event of a connection.
func (w *worker) hear(ctx context.Context, e event) {
	now := w.p.now()
	k := w.st.push(e.push.URL)
	switch {
	case e.up:
		k.Up, k.Since, k.Heard, k.Failures, k.Error = true, now, now, 0, nil
		w.log.Info("the source is connected", "address", w.src.shownPush(e.push))
		w.pushed.gap = true
		w.pollNow()
	case e.err != nil:
		was := k.Up
		if k.Up || k.Since == 0 {
			k.Up, k.Since = false, now
		}
		fail := pushFailure(e.err)
		k.Failures++
		k.Error = &lastError{Class: fail.Class, Text: cut(fail.Text), At: now}
		level := w.log.Debug
		if was || k.Failures == 1 {
			level = w.log.Warn
		}
		level("the connection of the source is down; polling", "address", w.src.shownPush(e.push), "class", fail.Class, "error", cut(fail.Text), "failures", k.Failures)
		w.pollOn(now)
	case e.message != nil:
		k.Heard = now
		beat, err := w.takePushed(ctx, e, now)
		if !beat {
			k.LastMessage = now
			k.Messages++
		}
		e.taken <- err
		if err == nil && !w.st.waitsFor(pushFeed) {
			w.pushed.unsaved = true
			return
		}
	default:
		k.Heard, w.pushed.unsaved = now, true
		return
	}
	w.savePushed(ctx)
}

// savePushed saves the state.
func (w *worker) savePushed(ctx context.Context) {
	w.pushed.saved, w.pushed.unsaved = time.Now(), false
	w.save(ctx)
}

// saveSoon saves the changes by messages and heartbeats when it is time, and returns how long to
// wait until then.
func (w *worker) saveSoon(ctx context.Context) time.Duration {
	if !w.pushed.unsaved {
		return time.Hour
	}
	if wait := time.Until(w.pushed.saved.Add(savePushed)); wait > 0 {
		return wait
	}
	w.savePushed(ctx)
	return time.Hour
}

// pollNow polls all feeds at once, to get what was missed while no connection was up. A Retry-After
// is still honored.
func (w *worker) pollNow() {
	begun, now := time.Now(), w.p.now()
	for _, f := range w.feeds {
		due := begun
		for _, earliest := range []hazard.Instant{f.kept.NotBefore, f.kept.LastPoll.Add(minApart)} {
			if wait := earliest.Time().Sub(now.Time()); wait > 0 && wait <= maxRetryAfter && begun.Add(wait).After(due) {
				due = begun.Add(wait)
			}
		}
		w.dueBy(f, due)
	}
}

// pollOn returns the feeds to their normal interval.
func (w *worker) pollOn(now hazard.Instant) {
	if slices.ContainsFunc(w.src.Pushes, func(p source.Push) bool { return w.st.push(p.URL).Up }) {
		return // another connection is up
	}
	for _, f := range w.feeds {
		if f.kept.Error == nil {
			w.dueBy(f, time.Now().Add(max(0, f.kept.LastPoll.Add(f.Every).Time().Sub(now.Time()))))
		}
	}
}

// dueBy makes a feed's next poll happen by due.
func (w *worker) dueBy(f *feed, due time.Time) {
	if due.Before(f.due) {
		f.due = due
		f.kept.NextPoll = w.p.now().Add(time.Until(due))
	}
}

// takePushed processes a pushed message; beat reports a heartbeat. An error closes the connection:
// the poll after it is reopened finds what could not be processed.
func (w *worker) takePushed(ctx context.Context, e event, now hazard.Instant) (beat bool, err error) {
	if ctx.Err() != nil || !w.lease.Valid() {
		return false, errStopped
	}
	digest := sha256.Sum256(e.message)
	if w.pushed.recent[digest] {
		return false, nil
	}
	var links []source.Link
	if w.src.Announces != nil {
		if err := protect(func() error { links, beat = w.src.Announces(e.message); return nil }); err != nil {
			links, beat = nil, false // the parser reports what is wrong
		}
	}
	if beat {
		w.announcedBefore(links, now)
		return true, nil
	}
	r := w.receipt(evidence.Document, "", now)
	r.Address = w.src.shownPush(e.push)
	a := &answer{payload: e.message}
	var further []source.Link
	err = w.protect(ctx, func() (err error) { further, err = w.useDocument(ctx, a, false, now); return err })
	w.keep(ctx, r, a, err)
	if err != nil {
		fail, ok := errors.AsType[*Failure](err)
		if !ok || fail.Class == ClassStore || errors.Is(err, errStopped) {
			return false, err
		}
		w.log.Debug("a pushed message cannot be read", "class", fail.Class, "error", cut(fail.Text))
		w.keepError(ctx, "", cut(fail.Text), fail.payload)
		w.st.Total.Rejected++
		if w.pushed.unread++; w.pushed.unread >= maxUnread {
			w.pushed.unread = 0
			return false, failf(ClassUnreadable, "%d messages in a row could not be read; the last one: %s", maxUnread, fail.Text)
		}
		return false, nil
	}
	w.pushed.unread = 0
	w.pushed.remember(digest)
	for _, l := range links {
		w.st.feed(pushFeed).note(pushedName(l), now)
	}
	w.announcedBefore(further, now)
	return false, nil
}

// remember records a processed message.
func (u *pushes) remember(digest [sha256.Size]byte) {
	if len(u.order) >= maxRecent {
		delete(u.recent, u.order[0])
		u.order = u.order[1:]
	}
	if u.recent == nil {
		u.recent = map[[sha256.Size]byte]bool{}
	}
	u.recent[digest] = true
	u.order = append(u.order, digest)
}

// pushedName returns the stored name of a self-contained message, regardless of its address.
func pushedName(l source.Link) string {
	id := l.ID
	if id == "" {
		id = l.URL
	}
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// note records a message that was read.
func (f *feedState) note(name string, now hazard.Instant) {
	if f.Links == nil {
		f.Links = map[string]hazard.Instant{}
	}
	if len(f.Links) >= maxLinks {
		maps.DeleteFunc(f.Links, func(_ string, until hazard.Instant) bool { return until <= now })
		for old := range f.Links {
			if len(f.Links) < maxLinks {
				break
			}
			delete(f.Links, old)
		}
	}
	f.Links[name] = now.Add(rememberFor)
}

// announcedBefore queues the messages listed in a heartbeat, or the documents listed in a message,
// that were not read yet. One may have several addresses: each failure moves on to the next.
func (w *worker) announcedBefore(links []source.Link, now hazard.Instant) {
	f := w.st.feed(pushFeed)
	f.LastPoll = now
	var names []string
	addresses := map[string][]string{}
	for _, l := range links {
		name := pushedName(l)
		if _, had := f.Links[name]; had {
			f.note(name, now)
			continue
		}
		address, ok := w.src.leadsTo(w.src.Feeds[0].URL, l.URL)
		if !ok {
			f.Refused = min(f.Refused+1, maxLinks)
			if host := hostOf(address); len(f.Hosts) < maxHosts && !slices.Contains(f.Hosts, host) {
				f.Hosts = append(f.Hosts, host)
			}
			continue
		}
		if addresses[name] == nil {
			names = append(names, name)
		}
		addresses[name] = append(addresses[name], address)
	}
	var jobs []job
	for _, name := range names {
		at := addresses[name]
		i := slices.IndexFunc(w.st.Jobs, func(j job) bool { return j.Link == name })
		if i < 0 { // the heartbeat lists it only for a while, so it is retried for unlistedFor
			jobs = append(jobs, job{URL: at[0], Also: strings.Join(at[1:], " "), Feed: pushFeed, Link: name, Dated: true, Since: now, Unlisted: now})
		} else {
			w.st.Jobs[i].Unlisted = now
		}
	}
	if len(jobs) > 0 {
		f.Left = min(f.Left+w.st.enqueue(jobs), maxLinks)
	}
}

// pushFailure classifies the end of a connection.
func pushFailure(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	switch {
	case errors.Is(err, stream.ErrSilent):
		return failf(ClassTimeout, "%v", err)
	case errors.Is(err, stream.ErrTooLarge):
		return failf(ClassTooLarge, "%v", err)
	case errors.Is(err, errStopped):
		return failf(ClassInternal, "%v", err)
	}
	return requestFailure(context.Background(), err)
}

// shownPush returns the address of a connection without secrets.
func (s *Source) shownPush(p *source.Push) string {
	u, err := p.Address()
	if err != nil {
		return "(no address)"
	}
	path := u.Path
	if s.Private {
		path = "/"
	}
	return fmt.Sprintf("%s://%s%s", u.Scheme, u.Host, path)
}
