package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/serve/route"
)

type serveCmd struct {
	addressFlags
	tlsFlags
	tokenFlags
	oidcFlags
	sourcesFlag
	pollFlags
	moreFlags
	evidenceFlags
	retentionFlags
	AppID           int64     `name:"app-id" default:"${app_id}" placeholder:"N" help:"app_ID stored on hazards and products created here."`
	Languages       tongues   `placeholder:"LIST" help:"Fallback languages, such as de,en, for readers who ask for languages that a text does not have. Default: the authority's own."`
	MaxFile         byteSize  `default:"${max_file}" placeholder:"BYTES" help:"Largest product file."`
	OrgUploads      byteLimit `default:"${org_uploads}" placeholder:"BYTES" help:"Bytes that an organization may upload per day (UTC), on all nodes together; 0 means no limit."`
	AllowedOrigins  []origin  `placeholder:"ORIGIN" help:"Web origins whose pages may read responses (CORS); * allows all."`
	TrustedProxies  []network `placeholder:"RANGE" help:"Addresses of proxies whose X-Forwarded-For is trusted."`
	UserStreams     int       `default:"${user_streams}" placeholder:"N" help:"Open event streams per user."`
	AllStreams      int       `default:"${all_streams}" placeholder:"N" help:"Open event streams of all users together."`
	Connections     int       `default:"0" placeholder:"N" help:"Open connections; 0 means 10000 more than streams, or as many as the file descriptors allow."`
	AddressConns    int       `name:"address-connections" default:"${address_connections}" placeholder:"N" help:"Open connections without a login per address (IPv6: per /64). Trusted proxies have no such limit."`
	UserRequests    int       `default:"${user_requests}" placeholder:"N" help:"Concurrent requests per user; 0 means no limit."`
	AllRequests     int       `default:"${all_requests}" placeholder:"N" help:"Concurrent requests of all users together; 0 means no limit."`
	UserRate        int       `default:"${user_rate}" placeholder:"N" help:"Requests per second and user, in bursts of up to ten seconds' worth; 0 means no limit."`
	UserUploads     int       `default:"${user_uploads}" placeholder:"N" help:"Concurrent uploads per user; 0 means no limit."`
	WebhookTests    int       `default:"${webhook_tests}" placeholder:"N" help:"Webhook tests per hour and user; 0 means no limit."`
	Public          string    `default:"off" enum:"off,read,map" placeholder:"off|read|map" help:"What anyone can read without an account: nothing (off), unrestricted hazards (read), or these with the map and the widget (map)."`
	PublicRate      int       `default:"${public_rate}" placeholder:"N" help:"Requests without an account per second and address, in bursts of up to ten seconds' worth. All addresses together may send 40 times as many. 0 means no limit."`
	PublicRequests  int       `default:"${public_requests}" placeholder:"N" help:"Concurrent requests without an account; one address may have an eighth of them. 0 means no limit."`
	PublicStreams   int       `default:"${public_streams}" placeholder:"N" help:"Open event streams without an account; one address may have an eighth of them. 0 means no limit."`
	EmbedSites      []origin  `placeholder:"ORIGIN" help:"Web origins whose pages may show the widget (/embed) in a frame; * allows all."`
	Basemap         string    `placeholder:"FILE|URL" help:"PMTiles archive with streets for the map, with the layers of Protomaps' basemap: a file that this server serves, or an address that browsers read directly."`
	SecurityContact contact   `placeholder:"ADDRESS" help:"Where to report a vulnerability: mailto: or https:, shown in /.well-known/security.txt."`
	CAPKey          string    `name:"cap-key" type:"path" placeholder:"FILE" help:"Key that signs the CAP messages of publishing organizations: RSA, in PEM, mode 0600, the same on all nodes. Read at the start."`
	CAPCertificate  string    `name:"cap-certificate" type:"path" placeholder:"FILE" help:"Certificate of that key in PEM, with its intermediates. Read at the start."`
	WebhookAllow    []network `placeholder:"RANGE" help:"Non-public addresses that webhooks and channels may reach, with http too and on every port."`
	AddressKey      string    `type:"path" placeholder:"FILE" help:"File with the key that encrypts the addresses of subscriptions: 32 random bytes in base64, mode 0600, the same on all nodes. Default: addresses.key in the data folder, created if missing; with --database there is no default, and without a key there are no subscriptions."`
	Storm           int       `default:"${storm}" placeholder:"N" help:"Messages per minute to one channel of a subscription before further ones are combined into a summary."`
	Confirmations   int       `default:"${confirmations}" placeholder:"N" help:"Address confirmations sent per day in all; at most 3 to one address."`
	ApproveWarnings bool      `help:"Publish a WARNING of an editor only after a second editor approves it."`
	ApprovePeople   int64     `default:"0" placeholder:"N" help:"Publish a hazard of an editor only after a second editor approves it, if it reaches at least this many people or subscribers; 0 means no such number."`
	Drain           life      `placeholder:"TIME" help:"How long to keep serving, reporting not ready, after SIGTERM, so that a load balancer sends new requests elsewhere."`
	Grace           life      `default:"${grace}" placeholder:"TIME" help:"How long requests in progress may take after that."`
	channelFlags
	logFlags
}

// Run serves until ctx ends.
func (s *serveCmd) Run(ctx context.Context, c *console, g *globals) error {
	place, err := g.files()
	if err != nil {
		return err
	}
	logger, flush := s.logger(c)
	defer flush()
	slog.SetDefault(logger) // also for package log, to which net/http writes where it has no logger
	cfg := app.Config{Version: about().Version, Logger: logger, Settings: app.Settings{
		Settings: serve.Settings{MaxFile: int64(s.MaxFile), SecurityContact: string(s.SecurityContact), Public: route.Public(s.Public),
			PublicLimits: route.PublicLimits{Rate: bound(s.PublicRate), Requests: bound(s.PublicRequests), Streams: bound(s.PublicStreams)},
			Requests: route.RequestLimits{UserRequests: bound(s.UserRequests), AllRequests: bound(s.AllRequests), UserRate: bound(s.UserRate), UserUploads: bound(s.UserUploads),
				WebhookTests: bound(s.WebhookTests)}},
		DataDir: g.Data, Database: g.Database, Memory: app.FitMemory(), Files: place, AppID: s.AppID, OrgUploads: int64(bound(s.OrgUploads)),
		UserStreams: s.UserStreams, AllStreams: s.AllStreams, Connections: s.Connections, AddressConnections: s.AddressConns,
		Basemap: s.Basemap, CAPKey: s.CAPKey, CAPCertificate: s.CAPCertificate, Drain: time.Duration(s.Drain), Grace: time.Duration(s.Grace),
	}}
	if (s.CAPKey == "") != (s.CAPCertificate == "") {
		return errors.New("--cap-key and --cap-certificate need each other")
	}
	s.addressFlags.set(&cfg)
	s.channelFlags.set(&cfg)
	if err := s.tlsFlags.set(&cfg, s.PublicURL != ""); err != nil {
		return err
	}
	defer s.tlsFlags.hangups(&cfg)()
	cfg.Languages = lang.Wish(s.Languages)
	s.tokenFlags.set(&cfg)
	if err := s.oidcFlags.set(&cfg); err != nil {
		return err
	}
	s.pollFlags.set(&cfg)
	s.moreFlags.set(&cfg)
	s.evidenceFlags.set(&cfg)
	if err := s.retentionFlags.set(&cfg, g); err != nil {
		return err
	}
	if err := s.sourcesFlag.set(&cfg); err != nil {
		return err
	}
	for _, o := range s.AllowedOrigins {
		cfg.AllowedOrigins = append(cfg.AllowedOrigins, string(o))
	}
	for _, o := range s.EmbedSites {
		cfg.EmbedSites = append(cfg.EmbedSites, string(o))
	}
	cfg.ApproveWarnings, cfg.ApprovePeople = s.ApproveWarnings, s.ApprovePeople
	cfg.AddressKey, cfg.Storm, cfg.Confirmations = s.AddressKey, s.Storm, s.Confirmations
	for _, n := range s.WebhookAllow {
		cfg.WebhookAllow = append(cfg.WebhookAllow, netip.Prefix(n))
	}
	for _, n := range s.TrustedProxies {
		cfg.TrustedProxies = append(cfg.TrustedProxies, netip.Prefix(n))
	}
	app.CollectOften()
	running, err := app.Open(ctx, cfg)
	if err != nil {
		return err
	}
	if err := s.greet(c, g, running, logger); err != nil {
		return errors.Join(err, running.Close())
	}
	err = running.Run(ctx)
	if errors.Is(err, context.DeadlineExceeded) && interrupted(ctx) {
		return fmt.Errorf("some requests did not finish within %v and were cut; --grace gives them more time", cfg.Grace)
	}
	return err
}

// bound converts a limit to the convention of app.Config: there 0 means the default, and a
// negative value no limit.
func bound[N int | byteLimit](n N) N {
	if n == 0 {
		return -1
	}
	return n
}

// greet prints the first password, if there is one, and that the service is ready. If standard
// output is not a terminal, it may be a journal that others read: the password then goes to a file
// that only its owner can read, and greet prints the file's name, or logs it if that fails.
func (s *serveCmd) greet(c *console, g *globals, running *app.Service, logger *slog.Logger) error {
	if p := running.FirstPassword; p != "" {
		u := firstUser(running.Auth)
		shown, told := any(userWithPassword(u, p)), "password  "+string(p)
		if !c.outTerminal {
			path, err := running.KeepFirstPassword()
			if err != nil {
				return fmt.Errorf("write the first password: %w", err)
			}
			shown, told = struct {
				Name string `json:"name"`
				File string `json:"password_file"`
			}{u.Name, path}, "password  in the file "+path
		}
		err := c.print(shown, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, `
    ┌─ first start: this is shown only once ─────────────
    │
    │   user      %s
    │   %s
    │
    │   It is good until %s. Before that, run
    │   hazardd user passwd %s%s
    └────────────────────────────────────────────────────

`, u.Name, told, ago(u.PasswordEnds.Time(), c.now()), u.Name, g.flags())
			return err
		})
		if err != nil && c.outTerminal {
			return err
		}
		if err != nil {
			logger.Warn("standard output cannot be written", "error", err, "first", told)
		}
	}
	ready := struct {
		Ready string `json:"ready"`
	}{running.URL()}
	err := c.print(ready, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "hazardd ready at %s\n", ready.Ready)
		return err
	})
	if err != nil { // nobody reads it, and the service is ready all the same
		logger.Warn("standard output cannot be written", "error", err, "ready", ready.Ready)
	}
	return nil
}

// firstUser returns the user that the service has just created.
func firstUser(a *auth.Service) auth.User {
	for _, u := range a.Accounts().Users() {
		return u
	}
	return auth.User{}
}
