package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/httpapi"
	"github.com/hazardd/hazardd/internal/service"
	"github.com/hazardd/hazardd/internal/tongue"
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
	AppID           int64     `name:"app-id" default:"1" placeholder:"N" help:"Number of this installation, in what its users write."`
	Languages       tongues   `placeholder:"LIST" help:"Languages in which texts are given to readers who ask for none that there is, such as de,en; if not given, the authorities' own."`
	MaxFile         byteSize  `default:"32MiB" placeholder:"BYTES" help:"Largest file that is taken as a product."`
	OrgUploads      byteLimit `default:"10GiB" placeholder:"BYTES" help:"Bytes of files that an organization may upload in a day (UTC), on all nodes together; 0: any number."`
	AllowedOrigins  []origin  `placeholder:"ORIGIN" help:"Web origins whose pages may read answers; * for all."`
	TrustedProxies  []network `placeholder:"RANGE" help:"Addresses whose X-Forwarded-For is believed."`
	UserStreams     int       `default:"32" placeholder:"N" help:"Event streams that a user may have open."`
	AllStreams      int       `default:"10000" placeholder:"N" help:"Event streams that all users may have open together."`
	Connections     int       `default:"0" placeholder:"N" help:"Connections that may be open at a time; 0: as many as streams and 10000 more, or as file descriptors allow."`
	AddressConns    int       `name:"address-connections" default:"256" placeholder:"N" help:"Connections that one address (IPv6: /64) may have open on which nobody has logged in. Trusted proxies have no such limit."`
	UserRequests    int       `default:"64" placeholder:"N" help:"Requests that a user may have in progress; 0: any number."`
	AllRequests     int       `default:"4096" placeholder:"N" help:"Requests that all users may have in progress together; 0: any number."`
	UserRate        int       `default:"1000" placeholder:"N" help:"Requests of a user in a second, with ten seconds' worth at once; 0: any number."`
	UserUploads     int       `default:"8" placeholder:"N" help:"Files that a user may send at the same time; 0: any number."`
	WebhookTests    int       `default:"20" placeholder:"N" help:"Tests of webhooks of a user in an hour; 0: any number."`
	Public          string    `default:"off" enum:"off,read,map" placeholder:"off|read|map" help:"What can be read without an account: nothing; unrestricted hazards (read); the same, with the map and the widget (map)."`
	PublicRate      int       `default:"50" placeholder:"N" help:"Requests of one address without an account in a second, with ten seconds' worth at once; all addresses together may have 40 times as many. 0: any number."`
	PublicRequests  int       `default:"256" placeholder:"N" help:"Requests without an account that may be in progress together; one address may have an eighth. 0: any number."`
	PublicStreams   int       `default:"2000" placeholder:"N" help:"Event streams without an account that may be open together; one address may have an eighth. 0: any number."`
	EmbedSites      []origin  `placeholder:"ORIGIN" help:"Web origins whose pages may show the widget (/embed) in a frame; * for all."`
	Basemap         string    `placeholder:"FILE|URL" help:"PMTiles archive with streets for the map, with the layers of Protomaps' basemap: a file that is served from here, or an address that browsers read."`
	SecurityContact contact   `placeholder:"ADDRESS" help:"Where to report a vulnerability: mailto: or https:, shown in /.well-known/security.txt."`
	CAPKey          string    `name:"cap-key" type:"path" placeholder:"FILE" help:"Key that the CAP messages of organizations that publish are signed with: RSA, in PEM, mode 0600, the same on all nodes. Read at the start."`
	CAPCertificate  string    `name:"cap-certificate" type:"path" placeholder:"FILE" help:"Certificate of that key in PEM, with its intermediates. Read at the start."`
	WebhookAllow    []network `placeholder:"RANGE" help:"Addresses that webhooks and channels may lead to beside the public ones: there http is allowed too, and every port."`
	AddressKey      string    `type:"path" placeholder:"FILE" help:"File of the key that the addresses of subscriptions are encrypted with: 32 random bytes in base64, mode 0600, the same on all nodes. Default: addresses.key in the data folder, which is made; with --database there is no default, and without it no subscriptions."`
	Storm           int       `default:"5" placeholder:"N" help:"Messages that a channel of a subscription is sent in a minute before what follows becomes a summary."`
	Confirmations   int       `default:"2000" placeholder:"N" help:"Confirmations of addresses that are asked for in a day, in all; of one address 3."`
	ApproveWarnings bool      `help:"A WARNING of an editor is published once a second editor approves it."`
	ApprovePeople   int64     `default:"0" placeholder:"N" help:"What an editor says about at least so many people, or so many subscribers, is published once a second editor approves it; 0: no number does."`
	Drain           life      `placeholder:"TIME" help:"Time for which the service goes on when it is told to end, not ready any more, so that a load balancer sends new requests elsewhere."`
	Grace           life      `default:"10s" placeholder:"TIME" help:"Time for what is running when the service is told to end."`
	channelFlags
	logFlags
}

// Run serves until ctx ends.
func (s *serveCmd) Run(ctx context.Context, c *console, g *globals) error {
	place, err := g.files()
	if err != nil {
		return err
	}
	cfg := service.Config{
		DataDir: g.Data, Database: g.Database, Files: place, AppID: s.AppID, MaxFile: int64(s.MaxFile), OrgUploads: int64(bound(s.OrgUploads)),
		UserStreams: s.UserStreams, AllStreams: s.AllStreams, Connections: s.Connections, AddressConnections: s.AddressConns,
		Requests: httpapi.RequestLimits{UserRequests: bound(s.UserRequests), AllRequests: bound(s.AllRequests), UserRate: bound(s.UserRate), UserUploads: bound(s.UserUploads),
			WebhookTests: bound(s.WebhookTests)},
		Public: httpapi.Public(s.Public), PublicLimits: httpapi.PublicLimits{Rate: bound(s.PublicRate), Requests: bound(s.PublicRequests), Streams: bound(s.PublicStreams)},
		SecurityContact: string(s.SecurityContact), Basemap: s.Basemap, CAPKey: s.CAPKey, CAPCertificate: s.CAPCertificate,
		Drain: time.Duration(s.Drain), Grace: time.Duration(s.Grace), Version: about().Version, Logger: s.logger(c),
	}
	if (s.CAPKey == "") != (s.CAPCertificate == "") {
		return errors.New("--cap-key and --cap-certificate need each other")
	}
	s.addressFlags.set(&cfg)
	s.channelFlags.set(&cfg)
	if err := s.tlsFlags.set(&cfg, s.PublicURL != ""); err != nil {
		return err
	}
	defer s.tlsFlags.hangups(&cfg)()
	cfg.Languages = tongue.Wish(s.Languages)
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
	service.CollectOften()
	running, err := service.Open(ctx, cfg)
	if err != nil {
		return err
	}
	if err := s.greet(c, g, running); err != nil {
		return errors.Join(err, running.Close())
	}
	err = running.Run(ctx)
	if errors.Is(err, context.DeadlineExceeded) && interrupted(ctx) {
		return fmt.Errorf("some requests did not finish within %v and were cut; --grace gives them more time", cfg.Grace)
	}
	return err
}

// bound is a limit as service.Config has it, where 0 is the default.
func bound[N int | byteLimit](n N) N {
	if n == 0 {
		return -1
	}
	return n
}

// greet prints the first password, if there is one, and that the service is ready. Where standard
// output is not a terminal, and so perhaps a journal that others read, the password goes to a file
// that only its owner can read, and the file's name is printed.
func (s *serveCmd) greet(c *console, g *globals, running *service.Service) error {
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
		if err != nil {
			return err
		}
	}
	ready := struct {
		Ready string `json:"ready"`
	}{running.URL()}
	return c.print(ready, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "hazardd ready at %s\n", ready.Ready)
		return err
	})
}

// firstUser is the one that the service has just made.
func firstUser(a *auth.Service) auth.User {
	for _, u := range a.Users() {
		return u
	}
	return auth.User{}
}
