package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/net/idna"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/net/listen/certificate"
)

// tlsFlags configure the certificate of the server.
type tlsFlags struct {
	Cert       string     `name:"tls-cert" type:"path" placeholder:"FILE" help:"Certificate of the server in PEM, with its intermediates; the server then speaks TLS. The file is read again when it changes."`
	Key        string     `name:"tls-key" type:"path" placeholder:"FILE" help:"Key of the certificate, in PEM."`
	Hosts      []acmeHost `name:"acme-host" placeholder:"HOST" help:"Host name to get a certificate for by ACME, renewed automatically; the server then speaks TLS. You agree to the terms of the authority."`
	Email      string     `name:"acme-email" placeholder:"ADDRESS" help:"Address at which the certificate authority of --acme-host can reach you."`
	Directory  publicURL  `name:"acme-directory" placeholder:"URL" help:"ACME directory of the authority for --acme-host. Default: Let's Encrypt."`
	Root       string     `name:"acme-root" type:"path" placeholder:"FILE" help:"Root certificates, in PEM, for the connection to --acme-directory. Default: those of the system."`
	HTTPListen address    `name:"http-listen" placeholder:"HOST:PORT" help:"Address to listen on for plain HTTP beside TLS. It redirects to the public https address, and answers the checks of the authority of --acme-host."`
}

// acmeHost is a host name in ASCII, without a port.
type acmeHost string

func (h *acmeHost) UnmarshalText(text []byte) error {
	name, err := idna.Lookup.ToASCII(strings.TrimSpace(string(text)))
	if err != nil || name == "" || strings.ContainsAny(name, "*:/") {
		return fmt.Errorf("%q is not a host name such as hazards.example.org", text)
	}
	*h = acmeHost(name)
	return nil
}

func (f *tlsFlags) set(cfg *app.Config, publicGiven bool) error {
	switch {
	case (f.Cert == "") != (f.Key == ""):
		return errors.New("--tls-cert and --tls-key need each other")
	case f.Cert != "" && len(f.Hosts) > 0:
		return errors.New("--tls-cert and --acme-host exclude each other")
	case len(f.Hosts) == 0 && (f.Email != "" || f.Directory != "" || f.Root != ""):
		return errors.New("--acme-host is missing: the other --acme settings need it")
	case f.Cert == "" && len(f.Hosts) == 0 && f.HTTPListen != "":
		return errors.New("--http-listen needs TLS: give --tls-cert or --acme-host")
	case f.Cert == "" && len(f.Hosts) == 0:
		return nil
	case f.HTTPListen != "" && f.Cert != "" && !publicGiven:
		return errors.New("--public-url is missing: --http-listen redirects there")
	}
	cfg.TLS = &app.TLS{Cert: f.Cert, Key: f.Key, Plain: string(f.HTTPListen),
		ACME: certificate.Settings{Email: f.Email, Directory: string(f.Directory), RootFile: f.Root}}
	for _, h := range f.Hosts {
		cfg.TLS.ACME.Hosts = append(cfg.TLS.ACME.Hosts, string(h))
	}
	if publicGiven {
		if !strings.HasPrefix(cfg.PublicURL, "https://") {
			return fmt.Errorf("--public-url %s does not begin with https://, but the server speaks TLS", cfg.PublicURL)
		}
		return nil
	}
	if cfg.PublicURL != "" { // derived from the address to listen on
		u, err := url.Parse(cfg.PublicURL)
		if err != nil {
			return err
		}
		name := u.Hostname()
		if len(f.Hosts) > 0 {
			name = string(f.Hosts[0])
		} else if strings.Contains(name, ":") {
			name = "[" + name + "]"
		}
		if cfg.PublicURL = "https://" + name; u.Port() != "443" {
			cfg.PublicURL += ":" + u.Port()
		}
	}
	return nil
}

// hangups sends a value when a SIGHUP asks the server to reload its certificate. stop ends that.
func (f *tlsFlags) hangups(cfg *app.Config) (stop func()) {
	if f.Cert == "" {
		return func() {} // without TLS, SIGHUP ends the program as usual
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	cfg.TLS.Hangup = hangup
	return func() { signal.Stop(hangup) }
}
