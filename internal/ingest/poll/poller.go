package poll

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/poll/delay"
	"github.com/hazardd/hazardd/internal/ingest/poll/stream"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/lease"
)

// leaseName is the lease of the polling process.
const leaseName = "poll"

// lookEvery is how often the polling process checks for poll requests by other processes (Poll).
const lookEvery = time.Second

// Config configures a Poller.
type Config struct {
	Store   *store.Store
	Intake  Intake
	Sources []Source
	// Evidence stores the payloads of sources; nil stores nothing.
	Evidence *evidence.Keeper
	Log      *slog.Logger     // nil means slog.Default
	Now      func() time.Time // service time; nil means time.Now. Delays use the monotonic clock

	Version string // version of this program, for the User-Agent
	Contact string // address or URL of the operator, for the User-Agent; several sources refuse requests without it
	// ProxyURL, if not empty, is an HTTP proxy for all requests. The environment is ignored.
	ProxyURL string
	// AllowPrivate allows sources at private, loopback and link-local addresses, for tests and
	// internal mirrors.
	AllowPrivate bool
	// Transport, if not nil, replaces the network.
	Transport http.RoundTripper
	// NoPush only polls, even sources that can push. The same happens if a push connection cannot
	// use ProxyURL.
	NoPush bool
	// Dial, if not nil, replaces the network for connections that are not HTTP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Delays, if not nil, measures how late reports are committed.
	Delays *delay.Delays
	// Random returns the jitter of polls, in [0, 1); nil means random numbers.
	Random func() float64
}

// Poller polls sources. It is safe for concurrent use.
type Poller struct {
	store   *store.Store
	intake  Intake
	sources []Source
	keeper  *evidence.Keeper
	log     *slog.Logger
	client  *client
	streams *stream.Dialer
	noPush  bool
	proxied bool
	holder  string         // name of this process as holder of the lease
	random  func() float64 // in [0, 1)
	clock   func() time.Time
	delays  *delay.Delays
	parsing chan struct{} // bounds the concurrent parsers
}

// New creates a Poller. It starts nothing.
func New(cfg Config) (*Poller, error) {
	for i := range cfg.Sources {
		if err := cfg.Sources[i].check(); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(cfg.Sources[:i], func(s Source) bool { return s.Name == cfg.Sources[i].Name }) {
			return nil, fmt.Errorf("source %s: there twice", cfg.Sources[i].Name)
		}
	}
	c, err := newClient(&cfg)
	if err != nil {
		return nil, err
	}
	streams, err := newDialer(&cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Random == nil {
		cfg.Random = rand.Float64
	}
	return &Poller{
		store: cfg.Store, intake: cfg.Intake, sources: cfg.Sources, keeper: cfg.Evidence, log: cmp.Or(cfg.Log, slog.Default()), client: c,
		streams: streams, noPush: cfg.NoPush, proxied: cfg.ProxyURL != "",
		holder: lease.Holder(), random: cfg.Random, clock: cfg.Now, delays: cfg.Delays,
		parsing: make(chan struct{}, atOnce),
	}, nil
}

// share returns the offset of a feed in its interval, in [0, 1). It differs between feeds and
// between installations.
func (p *Poller) share(address string) float64 {
	sum := sha256.Sum256([]byte(p.store.Installation() + "\n" + address))
	return float64(binary.BigEndian.Uint32(sum[:])) / (1 << 32)
}

// Fetch reads at most maxBytes from an address that is not a feed, such as a picture. It uses the
// lane of slow requests, so that no feed waits for it.
func (p *Poller) Fetch(ctx context.Context, address string, maxBytes int64) ([]byte, error) {
	a, err := p.client.get(ctx, question{url: address, maxBytes: maxBytes, in: slow})
	if err != nil {
		return nil, err
	}
	if a.cut != nil {
		return nil, a.cut
	}
	return a.payload, nil
}

// now returns the service time.
func (p *Poller) now() hazard.Instant { return hazard.At(p.clock()) }

// Run polls until ctx ends, while no other process does. It returns when every goroutine that it
// started has ended and the lease is released; its error is always nil.
func (p *Poller) Run(ctx context.Context) error {
	if !slices.ContainsFunc(p.sources, func(s Source) bool { return !s.Disabled }) {
		p.disableAll(ctx)
		<-ctx.Done() // a process without sources must not block the others
		return nil
	}
	defer p.client.http.CloseIdleConnections()
	defer p.streams.Web.CloseIdleConnections()
	failed := false
	for ctx.Err() == nil {
		_, err := p.hold(ctx, p.holder, p.lead)
		if err != nil && !failed && ctx.Err() == nil {
			p.log.Warn("cannot poll: the store does not give the lease", "error", err)
		}
		failed = err != nil
		clock.Sleep(ctx, lease.Try)
	}
	return nil
}

// Poll asks the polling process to poll all feeds of a source now. It returns at once.
func (p *Poller) Poll(ctx context.Context, name string) error {
	_, err := p.request(ctx, name)
	return err
}

// Polled is the result of a requested poll.
type Polled struct {
	Status Status
	Err    error // a *Failure if the source was unreadable
}

// PollOnce polls all feeds of the named sources now, or of all enabled sources if none is named.
// The polling process does it, or this one if there is none. It returns the results in the given
// order when all are done. The sources' schedules do not change.
func (p *Poller) PollOnce(ctx context.Context, names ...string) ([]Polled, error) {
	if len(names) == 0 {
		for i := range p.sources {
			if !p.sources[i].Disabled {
				names = append(names, p.sources[i].Name)
			}
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("%w: no source is enabled", hazard.ErrConflict)
		}
	}
	type asked struct {
		src *Source
		id  string
		at  int // index in all
	}
	all := make([]Polled, len(names))
	var waiting []asked
	for i, name := range names {
		src, err := p.source(name)
		if err != nil {
			return nil, err
		}
		id, err := p.request(ctx, name)
		if err != nil {
			return nil, err
		}
		waiting = append(waiting, asked{src, id, i})
	}
	for first := true; ; first = false {
		var left []asked
		for _, a := range waiting {
			st, err := p.load(ctx, a.src.Name)
			if err != nil {
				return nil, err
			}
			switch {
			case st.Served == a.id:
				s := status(a.src, st, p.now())
				all[a.at] = Polled{s, s.failure()}
			case st.Disabled && !first: // this process could not poll, so another one does
				all[a.at] = Polled{status(a.src, st, p.now()), fmt.Errorf("%w: the server that polls has it disabled (--sources)", hazard.ErrConflict)}
			default:
				left = append(left, a)
			}
		}
		if waiting = left; len(waiting) == 0 {
			return all, nil
		}
		// The holder's name differs from that of Run: this process may be polling at this moment.
		_, err := p.hold(ctx, p.holder+"/once/"+waiting[0].id, func(ctx context.Context, l *lease.Lease) {
			var wg sync.WaitGroup
			for _, a := range waiting {
				wg.Go(func() { newWorker(p, a.src, l).once(ctx, a.id) })
			}
			wg.Wait()
		})
		if err != nil {
			return nil, err
		}
		if clock.Sleep(ctx, lookEvery/4) != nil {
			return nil, context.Cause(ctx)
		}
	}
}

func (p *Poller) source(name string) (*Source, error) {
	for i := range p.sources {
		switch {
		case p.sources[i].Name != name:
		case p.sources[i].Disabled:
			return nil, fmt.Errorf("%w: source %q is disabled", hazard.ErrConflict, name)
		default:
			return &p.sources[i], nil
		}
	}
	return nil, fmt.Errorf("%w: source %q", hazard.ErrNotFound, name)
}

// requestKey is the key of a poll request, separate from the source's state because the two have
// different writers.
func requestKey(name string) string { return name + requestEnd }

const requestEnd = "#request"

type request struct {
	ID string         `json:"id"`
	At hazard.Instant `json:"at"`
}

func (p *Poller) request(ctx context.Context, name string) (id string, err error) {
	if _, err := p.source(name); err != nil {
		return "", err
	}
	r := request{ID: uuid.NewString(), At: p.now()}
	body, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	return r.ID, p.store.Sources.SaveState(ctx, requestKey(name), body)
}

func (p *Poller) load(ctx context.Context, name string) (*state, error) {
	body, err := p.store.Sources.State(ctx, name)
	if err != nil {
		return nil, err
	}
	return decodeState(body)
}

// hold runs work while holder has the lease, and reports whether holder got the lease.
func (p *Poller) hold(ctx context.Context, holder string, work func(context.Context, *lease.Lease)) (ran bool, err error) {
	lost := func(err error) { p.log.Warn("lost the lease to poll", "error", err) }
	return lease.Hold(ctx, p.store.Leases, leaseName, holder, lost, work)
}

// lead polls all sources, each in its own goroutine, until ctx ends. When the store has lost changes
// (store.Fork), all begin again from what it still has.
func (p *Poller) lead(ctx context.Context, l *lease.Lease) {
	p.log.Info("polling", "sources", len(p.sources))
	var disabling sync.WaitGroup // beside each other: on a slow disk they share commits, and no feed waits for them
	defer disabling.Wait()
	for i := range p.sources {
		if p.sources[i].Disabled {
			disabling.Go(func() { p.disable(ctx, p.sources[i].Name) })
		}
	}
	for ctx.Err() == nil {
		forks, err := p.store.Log.Forks(ctx)
		if err != nil {
			clock.Sleep(ctx, lookEvery)
			continue
		}
		within, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		var workers []*worker
		for i := range p.sources {
			if p.sources[i].Disabled {
				continue
			}
			w := newWorker(p, &p.sources[i], l)
			workers = append(workers, w)
			wg.Go(func() { w.run(within) })
		}
		wg.Go(func() { p.look(within, workers, forks); stop() })
		wg.Wait()
	}
}

// look passes on requests of other processes, until ctx ends or the store has lost changes more often
// than forks says.
func (p *Poller) look(ctx context.Context, workers []*worker, forks int64) {
	passed := map[string]string{} // source → id
	for ctx.Err() == nil {
		if n, err := p.store.Log.Forks(ctx); err == nil && n != forks {
			return
		}
		requests, _ := p.store.Sources.Requests(ctx, requestEnd) // on error the next look tries again
		for _, w := range workers {
			var r request
			if body := requests[requestKey(w.src.Name)]; len(body) == 0 || json.Unmarshal(body, &r) != nil || r.ID == passed[w.src.Name] {
				continue
			}
			select {
			case w.ask <- r.ID:
				passed[w.src.Name] = r.ID
			default: // the worker already has a request: the next look tries again
			}
		}
		clock.Sleep(ctx, lookEvery)
	}
}

// disableAll marks all sources as not polled, unless another process polls.
func (p *Poller) disableAll(ctx context.Context) {
	for end := time.Now().Add(lease.For + 2*lease.Try); ctx.Err() == nil && time.Now().Before(end); clock.Sleep(ctx, lease.Try) {
		ran, _ := p.hold(ctx, p.holder, func(ctx context.Context, _ *lease.Lease) {
			var disabling sync.WaitGroup
			for i := range p.sources {
				disabling.Go(func() { p.disable(ctx, p.sources[i].Name) })
			}
			disabling.Wait()
		})
		if ran {
			return
		}
	}
}

// disable marks a source as not polled.
func (p *Poller) disable(ctx context.Context, name string) {
	st, err := p.load(ctx, name)
	if err == nil && !st.Disabled {
		st.Disabled = true
		err = p.save(ctx, name, st)
	}
	if err != nil {
		p.log.Warn("cannot note that a source is disabled", "source", name, "error", err)
	}
}

func (p *Poller) save(ctx context.Context, name string, st *state) error {
	body, err := st.encode()
	if err != nil {
		return err
	}
	return p.store.Sources.SaveState(context.WithoutCancel(ctx), name, body) // even during a shutdown
}
