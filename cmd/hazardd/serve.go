package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
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
	limitFlags
	readerFlags
	editingFlags
	AppID           int64     `name:"app-id" default:"${app_id}" placeholder:"N" help:"app_ID stored on hazards and products created here."`
	AllowedOrigins  []origin  `placeholder:"ORIGIN" help:"Web origins whose pages may read responses (CORS); * allows all."`
	TrustedProxies  []network `placeholder:"RANGE" help:"Addresses of proxies whose X-Forwarded-For is trusted."`
	SecurityContact contact   `placeholder:"ADDRESS" help:"Where to report a vulnerability: mailto: or https:, shown in /.well-known/security.txt."`
	Sendfile        bool      `default:"true" negatable:"" help:"Let the system send lists from memory without copying them, over plain HTTP/1.1 on Linux."`
	Drain           life      `placeholder:"TIME" help:"How long to keep serving, reporting not ready, after SIGTERM, so that a load balancer sends new requests elsewhere."`
	Grace           life      `default:"${grace}" placeholder:"TIME" help:"How long requests in progress may take after that."`
	HelpAll         helpAll   `help:"Show all flags, also the rare ones."`
	channelFlags
	logFlags
}

// Run serves until ctx ends.
func (s *serveCmd) Run(ctx context.Context, c *console, g *globals) error {
	var crash string
	var unkept error
	if c.logsJSON {
		crash, unkept = c.keepCrashes(g.Data)
	}
	logger, flush := s.logger(c)
	defer flush()
	if crash != "" {
		logger.Error("hazardd ended by a fault of its own the last time: please report it", "text", crash)
	}
	if unkept != nil {
		logger.Warn("a fault of hazardd's own would be plain text, not JSON: its text cannot be kept in the data folder", "error", unkept)
	}
	slog.SetDefault(logger) // also for package log, to which net/http writes where it has no logger
	cfg, err := s.config(g)
	if err != nil {
		return err
	}
	cfg.Logger, cfg.Memory = logger, app.FitMemory()
	if c.logsJSON {
		cfg.Panicked = func() {
			flush()
			os.Exit(exitPanicked) // as Go's runtime does
		}
	}
	defer s.tlsFlags.hangups(&cfg)()
	for _, remark := range s.remarks(cfg) {
		logger.Warn(remark)
	}
	app.CollectOften()
	running, err := app.Open(ctx, cfg)
	if err != nil {
		return err
	}
	if err := s.greet(c, g, running, logger); err != nil {
		return errors.Join(err, running.Close())
	}
	if err := tellSystemd("READY=1"); err != nil {
		logger.Warn("cannot tell systemd that the service is ready", "error", err)
	}
	err = running.Run(ctx)
	if errors.Is(err, context.DeadlineExceeded) && interrupted(ctx) {
		return fmt.Errorf("some requests did not finish within %v and were cut; --grace gives them more time", cfg.Grace)
	}
	return err
}

// remarks returns what is allowed in a configuration, but seldom meant.
func (s *serveCmd) remarks(cfg app.Config) (list []string) {
	if len(cfg.Sources) == 0 && len(s.CAP)+len(s.Mirror) > 0 {
		list = append(list, "no source is polled: with --sources none those of --cap and --mirror are not polled either, expected their names in --sources")
	}
	if short := cfg.Memory.Short(); short != "" {
		list = append(list, short)
	}
	if flags := passwordsIn(os.Args[1:]); len(flags) > 0 {
		list = append(list, fmt.Sprintf("the command line holds a password, which every user of this machine can read in the list of processes: %s. Set it in the environment or the configuration file, or name a file (--smtp-password-file)", strings.Join(flags, ", ")))
	}
	return list
}

// passwordsIn returns the names of the flags of a command line whose values are addresses with a password.
func passwordsIn(args []string) (flags []string) {
	name := ""
	for _, arg := range args {
		value := arg
		if strings.HasPrefix(arg, "-") {
			name, value, _ = strings.Cut(arg, "=")
		}
		u, err := url.Parse(value)
		if err != nil || u.User == nil || u.Host == "" {
			continue
		}
		if _, set := u.User.Password(); set && name != "" {
			flags = append(flags, name)
		}
	}
	return flags
}

// config returns the configuration that the flags describe. It reports flags that contradict each
// other or need each other.
func (s *serveCmd) config(g *globals) (cfg app.Config, err error) {
	cfg.Version = about().Version
	cfg.DataDir, cfg.Database, cfg.AppID = g.Data, g.Database, s.AppID
	cfg.SecurityContact = string(s.SecurityContact)
	cfg.NoSendfile = !s.Sendfile
	cfg.Drain, cfg.Grace = time.Duration(s.Drain), time.Duration(s.Grace)
	for _, o := range s.AllowedOrigins {
		cfg.AllowedOrigins = append(cfg.AllowedOrigins, string(o))
	}
	for _, n := range s.TrustedProxies {
		cfg.TrustedProxies = append(cfg.TrustedProxies, netip.Prefix(n))
	}
	s.addressFlags.set(&cfg)
	s.channelFlags.set(&cfg)
	s.tokenFlags.set(&cfg)
	s.pollFlags.set(&cfg)
	s.moreFlags.set(&cfg)
	s.evidenceFlags.set(&cfg)
	s.limitFlags.set(&cfg)
	s.readerFlags.set(&cfg)
	var filesErr error
	cfg.Files, filesErr = g.files()
	return cfg, errors.Join(filesErr, s.tlsFlags.set(&cfg, s.PublicURL != ""), s.oidcFlags.set(&cfg), s.editingFlags.set(&cfg),
		s.retentionFlags.set(&cfg, g), s.sourcesFlag.set(&cfg))
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
