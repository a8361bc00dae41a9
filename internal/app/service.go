// Package app is the whole program as a value: it builds all parts and runs them under one
// context. The command line and the tests use it the same way.
//
// Open returns a service that is ready to serve. Run serves until its context ends or a part fails,
// and returns when every goroutine that it started has ended. An acknowledged write is durable.
// When Run is told to stop, requests in progress are finished first, within the grace period.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/hazardd/hazardd/internal/atlas/basemap"
	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/auth/oidc"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/ingest/coverage"
	"github.com/hazardd/hazardd/internal/ingest/enrich/exposure"
	"github.com/hazardd/hazardd/internal/ingest/enrich/picture"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/poll/delay"
	"github.com/hazardd/hazardd/internal/ingest/why"
	"github.com/hazardd/hazardd/internal/net/listen"
	"github.com/hazardd/hazardd/internal/net/outbound"
	"github.com/hazardd/hazardd/internal/net/trace"
	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/serve/admin"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/serve/sse"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/backup/continuous"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/store/view"
	"github.com/hazardd/hazardd/internal/tell/publish"
	"github.com/hazardd/hazardd/internal/tell/subscription"
	"github.com/hazardd/hazardd/internal/tell/webhook"
	"github.com/hazardd/hazardd/internal/tell/wis2"
)

// Service is a service that is ready to run.
type Service struct {
	cfg    Config
	linked bool // the operator gave the public address, so that messages can link to it
	Store  *store.Store
	Auth   *auth.Service
	// FirstPassword is the password of the user admin, if Open created that user because there was
	// none; otherwise empty.
	FirstPassword auth.Password
	provider      *oidc.Provider
	live          *view.Live
	tail          *follow.Tail
	push          *sse.Hub
	telling
	feeding
	network
	shelf    blob.Shelf         // storage of the backup
	backup   *continuous.Backup // nil without a backup
	draining atomic.Bool        // set once the shutdown has begun
	skew     atomic.Int64       // nanoseconds
	missing  atomic.Pointer[[]NeededKey]
	moved    atomic.Bool // the store was moved to another database, so this view is out of date
	pruned   pruneMeasures
	audited  auditMeasures
}

// telling are the parts that tell people and programs.
type telling struct {
	webhooks *webhook.Service
	wis2     *wis2.Service // nil: CAP messages are not announced
	channels *channels
	notify   *subscription.Service
	signer   publish.Signer // signs CAP messages; nil leaves them unsigned
}

// feeding are the parts that make hazards of what sources say.
type feeding struct {
	intake   *fuse.Intake
	poller   *poll.Poller
	Evidence *evidence.Keeper
	pictures *picture.Keeper
	people   *population.Folder // how many people live where
	// fresh is the state of the sources as the header of lists shows it.
	fresh    atomic.Pointer[[]string]
	readings atomic.Pointer[coverage.Readings]
	covered  *coverage.Map
	delays   delay.Delays
	kept     atomic.Pointer[map[string][]byte] // states of the sources from the last read
}

// network are the connections of the service, and what is served over them.
type network struct {
	listener net.Listener
	conns    *listen.Listener // listener with its limits
	server   *http.Server
	plain    *plainDoor                 // plain HTTP beside TLS, or nil
	proof    certificates               // nil without TLS
	unread   sync.Map                   // connections that have sent no request yet
	streets  optional[*basemap.Streets] // the operator's basemap from a file
	remote   *url.URL                   // address of the basemap that browsers read directly, or nil
}

// The limits of the server. A normal client stays far below each of them.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 2 * time.Minute // for one request; package serve limits the time of a body
	writeTimeout      = 5 * time.Minute // enough for a large list over a slow connection
	idleTimeout       = 2 * time.Minute
	firstRequest      = time.Second // for the request on a connection that was opened just before the shutdown
	maxHeaderBytes    = 16 << 10
	maxHTTP2Streams   = 250              // per connection
	writeByteTimeout  = 30 * time.Second // closes a connection that accepts no data at all
	maxStaleView      = 10 * time.Second // with an older view the service reports not ready
	firstPasswordLife = 24 * time.Hour
)

// Now returns the service time; see package clock.
func (s *Service) Now() hazard.Instant { return hazard.At(s.cfg.Clock.Now()) }

// Open opens the store, creates the first user if there is none, loads the present state, and
// listens.
func Open(ctx context.Context, cfg Config) (*Service, error) {
	linked := cfg.PublicURL != ""
	cfg.fill()
	cfg.Logger = slog.New(trace.LogHandler(cfg.Logger.Handler()))
	s := &Service{cfg: cfg, linked: linked}
	for _, part := range []struct {
		name string // begins an error, unless that says enough by itself
		open func(context.Context) error
	}{
		{"", s.openCoverage},
		{"layers", s.checkLayers},
		{"signing CAP messages", s.openSigner},
		{"", s.openStore},
		{"basemap", s.openStreets},
		{"", s.openEvidence},
		{"", s.openBackup},
		{"listen", s.openListener},
		{"", s.openTLS},
		{"login provider", s.openProvider},
		{"", s.openAuth},
		{"", s.openView},
		{"", s.openTelling},
		{"", s.openIngest},
		{"", s.freshen},
		{"", s.openServer},
		// This is last, when nothing can fail any more: the password is shown once and must reach
		// the operator.
		{"", s.firstAdmin},
	} {
		if err := part.open(ctx); err != nil {
			if part.name != "" {
				err = fmt.Errorf("%s: %w", part.name, err)
			}
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func (s *Service) openCoverage(context.Context) (err error) {
	s.covered, err = s.cfg.Known.Coverage()
	return err
}

// openStore opens the store, and refuses one that was moved or does not fit together.
func (s *Service) openStore(ctx context.Context) (err error) {
	s.people = population.NewFolder(s.cfg.DataDir)
	if s.Store, err = store.Open(ctx, s.cfg.DataDir, s.cfg.Database, store.WithFiles(s.cfg.Files), store.WithPages(s.cfg.Memory.Pages())); err != nil {
		return err
	}
	if to, err := s.Store.MovedTo(ctx); err != nil {
		return err
	} else if to != "" {
		return &store.MovedError{To: to}
	}
	if err := s.Store.MarkError(); err != nil && s.Store.Unwritable() == nil {
		s.cfg.Logger.Error("the mark of the last change cannot be written: changes that the disk loses would not be noticed. Make the file writable for the user that runs hazardd", "error", err)
	}
	s.watchFiles()
	if free, ok := diskFree(s.cfg.DataDir); ok && free < 2*store.RoomSize && s.Store.OneFile() {
		s.Store.NoteLittleRoom()
	}
	if n := s.Store.Lost(); n > 0 {
		s.cfg.Logger.Error("acknowledged changes are missing in the store: its last pages or its write-ahead log are damaged, or its file was "+
			"replaced by an older one. Their numbers are void, and clients that have seen them read the lists again. A backup may hold them", "changes", n)
		return s.fits(ctx)
	}
	return nil
}

// unlessUnwritable returns err, or nil while the store cannot be written: what failed is done when it
// can be again.
func (s *Service) unlessUnwritable(err error) error {
	if s.Store.Unwritable() != nil {
		return nil
	}
	return err
}

func (s *Service) openEvidence(context.Context) (err error) {
	s.Evidence, err = OpenEvidence(s.Store, s.cfg)
	return err
}

func (s *Service) openListener(ctx context.Context) (err error) {
	s.listener, err = listen.Options().Listen(ctx, "tcp", s.cfg.Listen)
	return err
}

// openProvider prepares logins at the OpenID provider. Only now is the public address known.
func (s *Service) openProvider(context.Context) (err error) {
	if s.cfg.PublicURL == "" {
		s.cfg.PublicURL = s.scheme() + "://" + s.listener.Addr().String()
	}
	if s.cfg.Provider == nil {
		return nil
	}
	at := *s.cfg.Provider
	at.Redirect = s.cfg.PublicURL + "/login/callback"
	if s.provider, err = oidc.New(at, s.Now); err != nil {
		return err
	}
	if u, err := url.Parse(at.Issuer); err == nil {
		s.cfg.ProviderTitle = cmp.Or(s.cfg.ProviderTitle, u.Hostname())
	}
	return nil
}

func (s *Service) openAuth(ctx context.Context) error {
	s.Auth = NewAuth(s.Store, s.cfg)
	if err := s.Auth.Reload(ctx); err != nil {
		return err
	}
	return s.unlessUnwritable(s.Auth.Rotate(ctx, s.Now()))
}

// openView loads the present state, and prepares what follows it.
func (s *Service) openView(ctx context.Context) (err error) {
	if s.live, err = view.Open(ctx, s.Store.Log, s.cfg.Logger, s.Now); err != nil {
		return err
	}
	s.tail = follow.New(s.Store.Log, s.live, s.Now, s.cfg.Memory.Changes(), s.cfg.Logger)
	s.push = sse.New(s.tail, s.Store.Log, s.cfg.PublicURL, sse.Limits{PerUser: s.cfg.UserStreams, All: s.cfg.AllStreams})
	return nil
}

// openTelling prepares webhooks and messages to subscribers.
func (s *Service) openTelling(ctx context.Context) (err error) {
	s.webhooks = webhook.New(webhook.Config{Store: s.Store, Tail: s.tail, Standing: s.Auth.Standing, ParseFilter: s.parseFilter, Authority: s.authorityOf, Languages: s.cfg.Languages, Targets: outbound.Targets{Allow: s.cfg.WebhookAllow},
		BaseURL: s.cfg.PublicURL, Version: s.cfg.Version, Now: s.cfg.Clock.Now, Logger: s.cfg.Logger})
	if s.channels, err = openChannels(&s.cfg, s.Store); err != nil {
		return err
	}
	if s.notify, err = s.newNotify(ctx); err != nil {
		return err
	}
	if s.wis2, err = s.newWIS2(); err != nil {
		return err
	}
	return s.checkKeys(ctx)
}

// openIngest prepares polling, and the pictures that sources link to.
func (s *Service) openIngest(context.Context) (err error) {
	s.intake, s.cfg.delays = s.cfg.Known.Intake(s.Store), &s.delays
	if s.poller, err = NewPoller(s.Store, s.intake, s.Evidence, s.cfg); err != nil {
		return err
	}
	s.pictures, err = picture.Open(filepath.Join(s.cfg.DataDir, "pictures"), s.cfg.Files, picture.Config{Store: s.Store, View: s.live.View, Fetch: s.poller.Fetch,
		Bytes: max(0, s.cfg.Pictures), Clock: hazard.ClockFunc(s.Now), Log: s.cfg.Logger})
	return err
}

// openServer makes the server, which does not accept connections yet.
func (s *Service) openServer(context.Context) error {
	// HTTP/2 without TLS is for proxies: they then need one connection for all streams.
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(s.cfg.TLS != nil)
	protocols.SetUnencryptedHTTP2(s.cfg.TLS == nil)
	registry := s.metrics()
	refused := route.Refusals(registry)
	s.conns = listen.New(s.listener, listen.Limits{All: s.cfg.Connections, Address: s.cfg.AddressConnections, Proxies: s.cfg.TrustedProxies,
		Secure: s.cfg.TLS != nil, NoSendfile: s.cfg.NoSendfile, Over: func(limit string) { refused.WithLabelValues(limit).Inc() }})
	s.server = &http.Server{
		Protocols:         &protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxHTTP2Streams, SendPingTimeout: idleTimeout, WriteByteTimeout: writeByteTimeout},
		Handler:           s.onlySecure(s.handler(registry)),
		ConnContext:       listen.Context,
		ConnState:         s.connState,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
	}
	if s.proof != nil {
		s.server.TLSConfig = s.proof.Config()
	}
	return s.openPlain()
}

// firstAdmin creates the user admin if there is no user.
func (s *Service) firstAdmin(ctx context.Context) (err error) {
	if len(s.Auth.Accounts().Users()) == 0 && !s.cfg.Reading {
		now := s.Now()
		s.FirstPassword, err = s.Auth.Accounts().FirstAdmin(ctx, now.Add(firstPasswordLife), now)
	}
	return s.unlessUnwritable(err)
}

// Close closes what Open opened. Call it only if Run was not called.
func (s *Service) Close() error {
	var errs []error
	if s.listener != nil {
		if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	errs = append(errs, s.plain.close())
	if s.proof != nil {
		s.proof.Close()
	}
	errs = append(errs, s.Evidence.Close(), s.pictures.Close())
	s.channels.close()
	if streets := s.streets.get(); streets != nil {
		errs = append(errs, streets.Close())
	}
	if s.Store != nil {
		errs = append(errs, s.Store.Close())
	}
	return errors.Join(errs...)
}

// Addr returns the address that the service listens on.
func (s *Service) Addr() net.Addr { return s.listener.Addr() }

// PlainAddr returns the address of plain HTTP beside TLS, or nil if there is none.
func (s *Service) PlainAddr() net.Addr {
	if s.plain == nil {
		return nil
	}
	return s.plain.listener.Addr()
}

// URL returns the service's public address.
func (s *Service) URL() string { return s.cfg.PublicURL }

// why answers what became of a record of a source.
func (s *Service) why(ctx context.Context, name, ref string) (*why.Answer, error) {
	src, err := s.cfg.Known.Find(name)
	if err != nil {
		return nil, err
	}
	asker := why.Asker{Store: s.Store, Evidence: s.Evidence, Limits: why.Usual}
	return asker.Ask(ctx, &src, ref, hazard.At(time.Now()))
}

func (s *Service) handler(registry *prometheus.Registry) http.Handler {
	editor := edit.New(s.Store, s.intake, s.cfg.AppID, s.orgExists)
	editor.OrgUploads, editor.Two, editor.Evidence = max(s.cfg.OrgUploads, 0), s.twoPeople(), s.Evidence
	return serve.New(serve.Config{
		Settings: s.cfg.Settings.Settings,
		Feeds: serve.Feeds{
			Sources:   s.sources,
			Freshness: func() []string { return *s.fresh.Load() },
			Coverage:  s.covered,
			Readings:  func() coverage.Readings { return *s.readings.Load() },
			Delays:    &s.delays,
			Counting:  !s.cfg.NoExposure,
			Grid:      s.people.Grid,
			PollNow:   s.poller.Poll,
			Why:       s.why,
		},
		Telling: serve.Telling{Webhooks: s.webhooks, Notify: s.notify, Channels: s.channels.offered(), Signer: s.signer},
		Answers: s.cfg.Memory.Answers(),
		Store:   s.Store, Evidence: s.Evidence, Pictures: s.pictures, Live: s.live, Auth: s.Auth, Intake: s.intake, Push: s.push,
		Edit: editor,
		Ready: func() admin.Readiness {
			is := admin.Readiness{Reason: s.ready(), Damaged: len(s.Store.Quarantine.Found())}
			for _, m := range s.missingKeys() {
				is.MissingKeys = append(is.MissingKeys, m.Name)
			}
			return is
		},
		BaseURL:   s.cfg.PublicURL,
		Provider:  s.provider,
		Version:   s.cfg.Version,
		Metrics:   registry,
		Streets:   s.streets.get,
		StreetsAt: s.remote,
		Layers:    s.cfg.Layers,
		Now:       s.cfg.Clock.Now,
		Logger:    s.cfg.Logger,
	})
}

// parseFilter parses the filter of a webhook, which has the parameters of a search.
func (s *Service) parseFilter(params map[string]string) (webhook.Filter, error) {
	values := url.Values{}
	for name, value := range params {
		values.Set(name, value)
	}
	f, faults := query.ParseFilter(values)
	bad := &hazard.InvalidError{}
	for _, fault := range faults {
		bad.Add(fault.Parameter, "%s", fault.Detail)
	}
	return s.Store.Search.Select(f), bad.Err()
}

func (s *Service) orgExists(id int64) bool {
	for _, o := range s.Auth.Accounts().Orgs() {
		if o.ID == id {
			return true
		}
	}
	return false
}

func (s *Service) ready() error {
	if s.draining.Load() {
		return errors.New("the service is ending")
	}
	if s.moved.Load() {
		return errors.New("the store has moved to another database: this one accepts no writes and gets no new data")
	}
	if err := s.Store.Unwritable(); err != nil {
		if closed, ok := errors.AsType[*store.UnwritableError](err); ok {
			return errors.New(closed.Detail())
		}
		if errors.Is(err, hazard.ErrFull) {
			return errors.New("the disk of the store is full: writes are refused until there is room")
		}
		return fmt.Errorf("the store cannot be written: %w", err)
	}
	if wait := s.Store.Busy(); wait > 0 {
		return fmt.Errorf("writes wait for %v or longer, and are refused after %v: the disk or the database is slow; reads go on", wait.Round(time.Second), store.TurnTime)
	}
	if age := s.Now().Time().Sub(s.live.ReadAt().Time()); age > maxStaleView {
		return fmt.Errorf("the store has been unreachable for %v; lists are as of then, without the hazards that have ended since", age.Round(time.Second))
	}
	if missing := s.missingKeys(); len(missing) > 0 {
		return errors.New(missing[0].text(s.cfg.DataDir, s.cfg.Database != ""))
	}
	if by, _ := s.cfg.Clock.Step(); by > 0 {
		return fmt.Errorf("this machine's clock was set %v ahead; service time follows it once it has kept that time for %v", by.Round(time.Second), clock.Settle)
	}
	if skew := time.Duration(s.skew.Load()); skew.Abs() > mostSkew {
		return fmt.Errorf("this machine's clock is %v off the database's: hazards would end at the wrong time", skew.Round(time.Millisecond))
	}
	return nil
}

// Run serves until ctx ends or a part fails. It returns when every goroutine that it started has
// ended and the store is closed.
func (s *Service) Run(ctx context.Context) error {
	s.logStart()
	stopping := context.AfterFunc(ctx, func() { s.cfg.Logger.Info("hazardd is stopping", "grace", s.cfg.Grace) })
	err := s.run(ctx)
	stopping()
	if err != nil {
		s.cfg.Logger.Error("hazardd stopped", "error", err)
	} else {
		s.cfg.Logger.Info("hazardd stopped")
	}
	return err
}

// logStart logs what an operator looks for first: the version, the store, the address and the
// sources.
func (s *Service) logStart() {
	place := s.cfg.DataDir
	if s.cfg.Database != "" {
		place = store.RedactURL(s.cfg.Database)
	}
	if before, now := s.Store.SchemaBefore(), store.Schema(); before > 0 && before < now {
		s.cfg.Logger.Info("the schema of the store was upgraded", "store", place, "from", before, "to", now)
	} else if before > now {
		s.cfg.Logger.Warn("the store was upgraded by a newer program; this one can still use it, but should be replaced", "store", place, "schema", before, "known", now)
	}
	s.cfg.Logger.Info("hazardd started", "version", s.cfg.Version, "store", place, "schema", store.Schema(), "installation", s.cfg.AppID,
		"address", s.listener.Addr().String(), "url", s.cfg.PublicURL, "sources", len(s.cfg.Sources))
	if m := s.cfg.Memory; m > 0 {
		s.cfg.Logger.Info("memory is limited", "bytes", int64(m), "heap", m.heap(), "answers", m.Answers().All)
	}
}

// lookForFiles says if the product files are not where this node looks for them, as on a node with a
// data folder of its own beside a common database.
func (s *Service) lookForFiles(ctx context.Context) error {
	const sample = 20
	asked, unseen, err := s.Store.Files.Unseen(ctx, sample)
	switch {
	case err != nil && ctx.Err() == nil:
		s.cfg.Logger.Warn("product files cannot be looked for", "error", err)
	case unseen > 0:
		s.cfg.Logger.Error("product files are not where this node looks for them: their readers get 404. Give all nodes of a database the same --files, or a shared data folder",
			"files", s.cfg.Files.URL, "data", s.cfg.DataDir, "asked", asked, "unseen", unseen)
	}
	return nil
}

func (s *Service) run(ctx context.Context) error {
	parts, ctx := errgroup.WithContext(ctx)
	run := func(f func() error) {
		parts.Go(func() error {
			defer s.logPanic()
			return f()
		})
	}
	// Background work goes on while the last requests are served, so that they see the present.
	// Work that only one node does is released to other nodes at once.
	serving, served := context.WithCancel(context.WithoutCancel(ctx))
	looking, working := []func(context.Context) error{s.tail.Run, s.tick}, []func(context.Context) error{}
	if !s.cfg.Reading {
		looking = append(looking, s.pass, s.back)
		working = append(working, s.webhooks.Run, s.notify.Run, s.poller.Run, s.sweep, s.sweepEvidence, s.prune, s.sendAudit, s.countPeople, s.fetchPictures)
		if s.wis2 != nil {
			working = append(working, s.wis2.Run)
		}
	}
	for _, part := range looking {
		run(func() error { return part(store.Patient(serving)) })
	}
	working = append(working, s.lookForFiles)
	for _, part := range working {
		run(func() error { return part(store.Patient(ctx)) })
	}
	if s.proof != nil {
		run(func() error { return s.proof.Run(ctx, s.cfg.TLS.Hangup, s.cfg.Clock.Now) })
	}
	run(func() error { return s.plain.serve(ctx) })
	run(func() error {
		defer served()
		return s.serve(ctx)
	})
	err := parts.Wait()
	s.provider.Close()
	s.channels.close()
	return errors.Join(err, s.Evidence.Close(), s.pictures.Close(), s.Store.Close())
}

// logPanic logs a panic in a part of the service, whose locks may be held, before it ends the program.
func (s *Service) logPanic() {
	if p := recover(); p != nil {
		s.cfg.Logger.Error("hazardd ends by a fault of its own: please report it", "panic", p, "stack", string(debug.Stack()))
		if s.cfg.Panicked != nil {
			s.cfg.Panicked()
		}
		panic(p)
	}
}

// serve answers requests until ctx ends, then finishes those that are running.
func (s *Service) serve(ctx context.Context) error {
	served := make(chan error, 1)
	go func() {
		if s.proof != nil {
			served <- s.server.ServeTLS(s.conns, "", "")
		} else {
			served <- s.server.Serve(s.conns)
		}
	}()
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	select { // give load balancers time to notice and send new requests elsewhere
	case <-time.After(s.cfg.Drain):
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	}
	s.push.End() // streams do not end by themselves
	err := s.lastRequests(served)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Grace)
	defer cancel()
	stopped := ignoreClosed(s.server.Shutdown(grace))
	s.conns.Hurry(0)
	if stopped != nil { // the grace period is over: cut what is still running; none of it was acknowledged
		stopped = errors.Join(stopped, ignoreClosed(s.server.Close()))
	}
	s.push.Wait()
	s.conns.Wait()
	return errors.Join(err, stopped)
}

// lastRequests stops accepting connections, and lets clients that have just connected send their
// requests. Shutdown would drop a request that it has just read, and a proxy may not retry a write.
// served delivers the result of serving.
func (s *Service) lastRequests(served <-chan error) error {
	s.conns.Hurry(firstRequest)
	s.server.SetKeepAlivesEnabled(false) // each connection gets one more response
	err := errors.Join(ignoreClosed(s.listener.Close()), ignoreClosed(<-served))
	for end := time.Now().Add(firstRequest); time.Now().Before(end); time.Sleep(time.Millisecond) {
		waiting := false
		s.unread.Range(func(any, any) bool { waiting = true; return false })
		if !waiting {
			break
		}
	}
	return err
}

// connState maintains unread, and tells each connection what it is used for.
func (s *Service) connState(c net.Conn, state http.ConnState) {
	if counted := listen.Below(c); counted != nil {
		counted.State(state)
	}
	if state == http.StateNew {
		s.unread.Store(c, nil)
	} else {
		s.unread.Delete(c)
	}
}

// ignoreClosed returns err, or nil if err says that the listener was already closed.
func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// countPeople counts the people in hazard areas, unless that is disabled.
func (s *Service) countPeople(ctx context.Context) error {
	if s.cfg.NoExposure {
		return nil
	}
	return exposure.Run(ctx, exposure.Config{Store: s.Store, View: s.live.View, Grid: s.people.Grid, Clock: hazard.ClockFunc(s.Now), Log: s.cfg.Logger})
}

// fits returns an error if the store has lost changes and the rest is inconsistent. This happens
// when a part of the write-ahead log is damaged that was already copied to the database file:
// SQLite then reads older pages from the log and newer ones from the file.
func (s *Service) fits(ctx context.Context) error {
	var faults []string
	done, err := s.Store.CheckDatabase(ctx, func(what string) { faults = append(faults, what) })
	if err != nil {
		return fmt.Errorf("check the store, which has lost changes: %w", err)
	}
	if len(faults) > 0 {
		return fmt.Errorf("the store has lost changes, and what is left of %d does not fit together (%s; %d faults): restore a backup, see docs/cluster.md (\"Changes are lost\")", done.Changes, faults[0], len(faults))
	}
	return nil
}

// fetchPictures fetches the pictures that sources link to, if this service polls any source.
func (s *Service) fetchPictures(ctx context.Context) error {
	if len(s.cfg.Sources) == 0 {
		return nil
	}
	return s.pictures.Run(ctx)
}

// logNew logs the faults whose ids are not in logged, each with its id as the attribute name, and
// returns all faults, which are logged then.
func logNew[K comparable](s *Service, logged, faults map[K]error, text, name string) map[K]error {
	for id, fault := range faults {
		if logged[id] == nil {
			s.cfg.Logger.Error(text, name, id, "error", fault)
		}
	}
	return faults
}

// pass records changes that are due by time alone: ends of hazards, and data of parts and sources
// that has expired. Readers do not wait for recorded ends: the view drops a hazard at its end by
// itself. Damaged hazards are retried each minute.
func (s *Service) pass(ctx context.Context) error {
	warned := false
	var damaged, unreadable map[int64]error // logged already
	var records map[string]error
	var tried time.Time
	for ctx.Err() == nil {
		wait := time.Second // due times change with every write; a check each second costs one index look-up
		now := s.Now()
		next, any, err := s.intake.NextMoment(ctx)
		if err == nil && (any && next <= now || time.Since(tried) > mendedEvery) {
			err = s.intake.Pass(ctx, hazard.ClockFunc(s.Now))
			wait, tried = 0, time.Now()
			s.Store.Quarantine.Recheck(ctx)
			records = logNew(s, records, s.Store.Quarantine.Found(), "a record is damaged and left out; its neighbors go on (hazardd check)", "record")
			damaged = logNew(s, damaged, s.intake.Damaged(), "a hazard is damaged: its end is not recorded until it is repaired (hazardd check)", "hazard")
			unreadable = logNew(s, unreadable, s.intake.Unreadable(), "a held report is damaged: it stays held (hazardd check)", "report")
		} else if any {
			wait = min(wait, next.Time().Sub(now.Time()))
		}
		if err != nil && ctx.Err() == nil {
			if !warned {
				s.cfg.Logger.Warn("cannot record ends; the view still drops hazards that are over", "error", err)
			}
			wait = time.Second
		}
		warned = err != nil
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	return nil
}

// The intervals of the periodic work.
const (
	tickEvery   = time.Second // how soon a disabled user is refused, and a source shows as stale
	purgeEvery  = time.Hour
	mendedEvery = time.Minute // how soon a repaired hazard is processed again
	skewEvery   = 10 * time.Second
	diskEvery   = time.Minute     // how often the free disk space is checked
	roomEvery   = 5 * time.Second // how soon a full store is found to have room again
)

// littleRoom is how many bytes must be free on the disk of the data folder; with less, a warning is
// logged. A server that polls all sources takes days to write that much.
const littleRoom = 2_000_000_000

// The difference between this machine's clock and the database's: above one limit it is logged,
// above the other the service is not ready. Ends are exact to the second.
const (
	someSkew = time.Second
	mostSkew = 5 * time.Second
)

// tick refreshes users, keys and the states of the sources.
func (s *Service) tick(ctx context.Context) error {
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	var purged, compared, sought, measured time.Time
	little := false
	var step time.Duration
	generation, warned := s.Auth.Generation(), false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := s.Store.SameFile(); err != nil {
			return err
		}
		step = s.noteStep(step)
		if time.Since(measured) > diskEvery {
			measured = time.Now()
			little = s.noteRoom(little)
		}
		if s.Store.Unwritable() == nil {
			sought = time.Time{}
		} else if time.Since(sought) > roomEvery {
			if s.seekRoom(ctx, sought) {
				purged = time.Time{} // what could not be written is due
			}
			sought = time.Now()
		}
		now := s.Now()
		err := errors.Join(s.Auth.Poll(ctx, now), s.freshen(ctx), s.noteMove(ctx))
		if g := s.Auth.Generation(); g != generation {
			generation = g
			s.forgetFirstPassword(now)
			s.push.Alarm() // close the streams of users who have lost access
		}
		if (step != 0 || time.Since(compared) > skewEvery) && err == nil {
			compared = time.Now()
			err = s.compareClocks(ctx)
		}
		if time.Since(purged) > purgeEvery {
			purged = time.Now()
			s.forgetFirstPassword(now)
			err = errors.Join(err, s.Auth.Rotate(ctx, now), s.Auth.Purge(ctx, now), s.Auth.LapseIdentities(ctx, now),
				s.Store.Drafts.Purge(ctx, now.Add(-edit.DraftsKept)), s.checkKeys(ctx))
		}
		if err != nil && ctx.Err() == nil && !warned {
			s.cfg.Logger.Warn("cannot refresh users, keys and source states", "error", err)
		}
		warned = err != nil
	}
}

// seekRoom checks whether a store that could not be written can be written again, and logs when that
// begins and ends. last is the time of the last check.
func (s *Service) seekRoom(ctx context.Context, last time.Time) (found bool) {
	before := s.Store.Unwritable()
	err := s.Store.SeekRoom(ctx)
	switch {
	case err == nil && !last.IsZero():
		s.cfg.Logger.Warn("the store can be written again")
	case err != nil && last.IsZero() && errors.Is(before, hazard.ErrFull):
		s.cfg.Logger.Error("the disk of the store is full; writes are refused", "error", before)
	case err != nil && last.IsZero():
		s.cfg.Logger.Error("the store cannot be written; reads go on. Make the file and its folder writable for the user that runs hazardd: it is then written without a restart", "error", before)
	}
	return err == nil
}

// noteRoom logs once that little disk space is left. before says whether space was low at the last
// check; the result says whether it is now.
func (s *Service) noteRoom(before bool) bool {
	free, ok := diskFree(s.cfg.DataDir)
	if !ok {
		return false
	}
	little := free < littleRoom
	if little && !before {
		s.cfg.Logger.Warn("the disk of the data folder is nearly full; writes are refused once it is full", "bytes", free, "folder", s.cfg.DataDir)
	}
	return little
}

// noteMove notes, and logs once, that the store was moved to another database while this server
// runs on it. A store that was moved back counts as another store.
func (s *Service) noteMove(ctx context.Context) error {
	if s.moved.Load() {
		return nil
	}
	to, err := s.Store.MovedTo(ctx)
	if err != nil || to == "" {
		return err
	}
	s.moved.Store(true)
	s.cfg.Logger.Error("the store has moved to another database; this server shows what was there before, and is not ready", "to", to)
	return nil
}

// noteStep logs once that the machine's clock was set, and once that service time follows it again.
// before and the result are how far the clock is ahead of service time.
func (s *Service) noteStep(before time.Duration) time.Duration {
	by, _ := s.cfg.Clock.Step()
	switch {
	case before == 0 && by != 0:
		s.cfg.Logger.Warn("the machine's clock was set; service time follows the monotonic clock", "by", by.Round(time.Millisecond))
	case before != 0 && by == 0:
		s.cfg.Logger.Warn("service time follows the machine's clock again")
	}
	return by
}

// compareClocks measures how far this machine's clock is ahead of the database's, which all nodes
// use.
func (s *Service) compareClocks(ctx context.Context) error {
	skew, known, err := s.Store.Skew(ctx)
	if err != nil {
		return err
	}
	if known {
		s.cfg.Clock.Confirm(skew.Abs() <= someSkew)
	}
	if before := time.Duration(s.skew.Swap(int64(skew))); skew.Abs() > someSkew && before.Abs() <= someSkew {
		s.cfg.Logger.Warn("this machine's clock differs from the database's", "by", skew.Round(time.Millisecond))
	}
	return nil
}

// freshen updates the state of the sources for the header of lists. While the store is unreachable
// it uses the last read, which grows stale.
func (s *Service) freshen(ctx context.Context) error {
	states, err := s.sources(ctx)
	if states != nil {
		summary := poll.Summary(states)
		if n := len(s.Store.Quarantine.Found()); n > 0 {
			counts, names, named := strings.Cut(summary, `; names=`)
			if summary = fmt.Sprintf("%s; damaged=%d", counts, n); named {
				summary += "; names=" + names
			}
		}
		if err != nil {
			summary += "; store=away"
		}
		s.fresh.Store(&[]string{summary})
		s.readings.Store(new(poll.Readings(states)))
	}
	return err
}

// sources returns the states of the sources. While the store is unreachable it returns the last
// read, aged to now, together with the error.
func (s *Service) sources(ctx context.Context) ([]poll.Status, error) {
	kept, err := s.Store.Sources.States(ctx)
	if err == nil {
		s.kept.Store(&kept)
	} else if last := s.kept.Load(); last != nil {
		kept = *last
	} else {
		return nil, err
	}
	return s.cfg.Known.statusesOf(kept, s.cfg.Sources, s.Now()), err
}
