package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"
)

// Settings configure ACME: the names of the certificate, the authority, and how to reach it.
type Settings struct {
	Hosts     []string // at least one; the first is for clients that send no name
	Email     string   // contact for the authority; may be empty
	Directory string   // URL of the authority; empty means Let's Encrypt
	RootFile  string   // PEM file of the root certificates for Directory; empty means the system's
	Proxy     string   // HTTP proxy for requests to the authority; empty means none
	Folder    string   // for accounts, keys and certificates; it is created for its owner only
}

// ACME is a certificate from an authority by ACME (RFC 8555). Run requests it, and renews it when a
// third of its lifetime is left, or when the authority says so (RFC 9773). It is safe for
// concurrent use.
type ACME struct {
	hosts  []string
	cache  *certmagic.Cache
	config *certmagic.Config
	issuer *certmagic.ACMEIssuer
	log    *slog.Logger
	close  sync.Once
}

// NewACME prepares a certificate for a server that serves TLS on secure and plain HTTP on plain. If
// plain is nil, the authority must use TLS for its check (tls-alpn-01) on port 443. It sends no
// request. Run or Close must be called.
func NewACME(s Settings, secure, plain net.Addr, log *slog.Logger) (*ACME, error) {
	roots, err := readRoots(s.RootFile)
	if err != nil {
		return nil, err
	}
	proxy := func(*http.Request) (*url.URL, error) { return nil, nil }
	if s.Proxy != "" {
		u, err := url.Parse(s.Proxy)
		if err != nil {
			return nil, errors.New("the address of the proxy cannot be read") // the error would show a password
		}
		proxy = http.ProxyURL(u)
	}
	if err := os.MkdirAll(s.Folder, 0o700); err != nil {
		return nil, err
	}
	a := &ACME{hosts: s.Hosts, log: log}
	quiet := zap.NewNop() // what matters comes as an event
	a.cache = certmagic.NewCache(certmagic.CacheOptions{Logger: quiet,
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return a.config, nil }})
	a.config = certmagic.New(a.cache, certmagic.Config{Logger: quiet, OnEvent: a.event, DefaultServerName: s.Hosts[0],
		Storage: &certmagic.FileStorage{Path: filepath.Clean(s.Folder)}})
	template := certmagic.ACMEIssuer{CA: s.Directory, Email: s.Email, Agreed: true, TrustedRoots: roots, HTTPProxy: proxy, Logger: quiet,
		ListenHost: host(secure), AltTLSALPNPort: port(secure), DisableHTTPChallenge: plain == nil}
	if s.Directory == "" {
		template.CA = certmagic.LetsEncryptProductionCA
	}
	if plain != nil {
		template.AltHTTPPort = port(plain)
	}
	a.issuer = certmagic.NewACMEIssuer(a.config, template)
	a.config.Issuers = []certmagic.Issuer{a.issuer} // one authority, and no other behind its back
	return a, nil
}

func readRoots(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: no certificate in PEM", path)
	}
	return roots, nil
}

func host(a net.Addr) string {
	h, _, _ := net.SplitHostPort(a.String()) // of a listener
	return h
}

func port(a net.Addr) int {
	_, p, _ := net.SplitHostPort(a.String())
	n, _ := strconv.Atoi(p)
	return n
}

// Config returns a configuration for servers. It also answers the authority's checks by TLS.
func (a *ACME) Config() *tls.Config {
	c := config()
	own := a.config.TLSConfig()
	c.GetCertificate = own.GetCertificate
	c.NextProtos = append(c.NextProtos, own.NextProtos...)
	return c
}

// Challenges answers the authority's checks by plain HTTP (http-01), and passes other requests to
// next.
func (a *ACME) Challenges(next http.Handler) http.Handler { return a.issuer.HTTPChallengeHandler(next) }

// End returns when the first of the certificates expires; ok is false if there is none yet.
func (a *ACME) End() (at time.Time, ok bool) {
	for _, h := range a.hosts {
		for _, c := range a.cache.AllMatchingCertificates(h) {
			if c.Leaf != nil && (!ok || c.Leaf.NotAfter.Before(at)) {
				at, ok = c.Leaf.NotAfter, true
			}
		}
	}
	return at, ok
}

// Run keeps the certificates valid until ctx ends. Failures are logged and retried, with growing
// delays.
func (a *ACME) Run(ctx context.Context, _ <-chan os.Signal, _ func() time.Time) error {
	defer a.Close()
	if err := a.config.ManageAsync(ctx, a.hosts); err != nil {
		return fmt.Errorf("ACME: %w", err)
	}
	<-ctx.Done()
	certmagic.CleanUpOwnLocks(context.WithoutCancel(ctx), zap.NewNop()) // else who comes next waits for them to grow old
	return nil
}

// Close releases what NewACME has started. It may be called again.
func (a *ACME) Close() { a.close.Do(a.cache.Stop) }

// event logs what happened to a certificate.
func (a *ACME) event(_ context.Context, name string, data map[string]any) error {
	switch name {
	case "cert_obtained":
		a.log.Info("the authority gave a TLS certificate", "host", data["identifier"], "renewal", data["renewal"])
	case "cert_failed":
		a.log.Error("the authority gave no TLS certificate; it is asked again", "host", data["identifier"], "error", data["error"])
	}
	return nil
}
