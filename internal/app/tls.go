package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/auth/secret"
	"github.com/hazardd/hazardd/internal/net/listen"
	"github.com/hazardd/hazardd/internal/net/listen/certificate"
)

// TLS configures the certificate of a service: files, or an authority that issues one by ACME.
type TLS struct {
	Cert, Key string // PEM files
	// ACME configures the authority, if there are no files. An empty Folder means a folder in the
	// data folder.
	ACME certificate.Settings
	// Plain is the host:port of a listener for plain HTTP, which redirects to the public address
	// and answers the authority's challenges. PublicURL must then be set. Empty means no such
	// listener.
	Plain string
	// Hangup makes the service reload the files at once; nil means that it only reloads them when
	// they change.
	Hangup <-chan os.Signal
}

// certificates provides the certificate of the service.
type certificates interface {
	Config() *tls.Config
	// End returns when the certificate expires; ok is false if there is none yet.
	End() (at time.Time, ok bool)
	Run(ctx context.Context, hangup <-chan os.Signal, now func() time.Time) error
	// Close releases resources. Call it only if Run was not called.
	Close()
}

// acmeFolder is the folder of the ACME keys and certificates, in the data folder.
const acmeFolder = "acme"

func (s *Service) scheme() string {
	if s.cfg.TLS != nil {
		return "https"
	}
	return "http"
}

// openTLS reads the certificate or prepares to request one, and listens for plain HTTP.
func (s *Service) openTLS(ctx context.Context) error {
	t := s.cfg.TLS
	if t == nil {
		return nil
	}
	if s.cfg.PublicURL != "" && !strings.HasPrefix(s.cfg.PublicURL, "https://") {
		return fmt.Errorf("the public address %s does not begin with https://, but the service speaks TLS", s.cfg.PublicURL)
	}
	var plain net.Addr
	if t.Plain != "" {
		if s.cfg.PublicURL == "" {
			return errors.New("plain HTTP redirects to the public address, which is not set")
		}
		inner, err := listen.Options().Listen(ctx, "tcp", t.Plain)
		if err != nil {
			return fmt.Errorf("listen for plain HTTP: %w", err)
		}
		s.plain, plain = &plainDoor{listener: inner}, inner.Addr()
	}
	if t.Cert != "" {
		files, err := certificate.Open(t.Cert, t.Key, s.cfg.Logger)
		if err != nil {
			return fmt.Errorf("TLS certificate: %w", err)
		}
		if err := secret.Private(t.Key, secret.NotOwnerOrGroup, "pretend to be this server"); err != nil { // a link of Kubernetes may be read by all in its container
			s.cfg.Logger.Warn("the key of the TLS certificate is not kept from others", "error", err)
		}
		s.proof = files
		return nil
	}
	settings := t.ACME
	settings.Proxy = s.cfg.ProxyURL
	if settings.Folder == "" {
		settings.Folder = filepath.Join(s.cfg.DataDir, acmeFolder)
	}
	asked, err := certificate.NewACME(settings, s.listener.Addr(), plain, s.cfg.Logger)
	if err != nil {
		return fmt.Errorf("ACME: %w", err)
	}
	s.proof = asked
	return nil
}

// strictFor is how long browsers use only HTTPS after a visit (HSTS): half a year.
const strictFor = "max-age=15552000"

// onlySecure adds the header that makes browsers use only HTTPS (HSTS, RFC 6797), where that is
// safe: the service itself must speak TLS on port 443 under the requested name. HSTS applies to all
// ports of a host, so on another port it could block other services of that host. Subdomains are
// never included.
func (s *Service) onlySecure(next http.Handler) http.Handler {
	public, err := url.Parse(s.cfg.PublicURL)
	if s.cfg.TLS == nil || err != nil || public.Port() != "" || public.Hostname() == "localhost" {
		return next
	}
	if _, err := netip.ParseAddr(public.Hostname()); err == nil {
		return next // HSTS does not apply to IP addresses
	}
	strict := []string{strictFor}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host := strings.TrimSuffix(r.Host, ":443"); r.TLS != nil && strings.EqualFold(host, public.Host) {
			w.Header()["Strict-Transport-Security"] = strict
		}
		next.ServeHTTP(w, r)
	})
}

// plainDoor answers plain HTTP beside TLS. It never returns data.
type plainDoor struct {
	listener net.Listener
	conns    *listen.Listener
	server   *http.Server
}

// The limits of plain HTTP. Each connection gets one small response.
const (
	plainConnections = 512
	plainAddress     = 32
	plainTime        = 5 * time.Second
)

// openPlain prepares the handler for plain HTTP.
func (s *Service) openPlain() error {
	if s.plain == nil {
		return nil
	}
	handler := leadTo(s.cfg.PublicURL, s.server.Handler)
	if asked, ok := s.proof.(*certificate.ACME); ok {
		handler = asked.Challenges(handler)
	}
	s.plain.conns = listen.New(s.plain.listener, listen.Limits{All: plainConnections, Address: plainAddress, Proxies: s.cfg.TrustedProxies})
	s.plain.server = &http.Server{Handler: handler, ConnContext: listen.Context,
		ConnState:         func(c net.Conn, state http.ConnState) { listen.Below(c).State(state) },
		ReadHeaderTimeout: plainTime, ReadTimeout: plainTime, WriteTimeout: plainTime, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug)}
	s.plain.server.SetKeepAlivesEnabled(false)
	return nil
}

// leadTo redirects plain HTTP to the public address. Health checks are answered directly, because
// load balancers use them.
func leadTo(public string, health http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case reads && (r.URL.Path == "/healthz" || r.URL.Path == "/readyz"):
			health.ServeHTTP(w, r)
		case r.Header.Get("Authorization") != "":
			refusePlain(w, "this address accepts no tokens: this one was sent without encryption, and others may have read it. Revoke the token, and use "+public)
		case !reads:
			refusePlain(w, "this address only redirects to "+public+": send the request there")
		default:
			to := public + r.URL.EscapedPath()
			if r.URL.RawQuery != "" {
				to += "?" + r.URL.RawQuery
			}
			w.Header().Set("Cache-Control", "max-age=3600") // not permanent: an operator may return to plain HTTP
			http.Redirect(w, r, to, http.StatusPermanentRedirect)
		}
	})
}

func refusePlain(w http.ResponseWriter, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = fmt.Fprintf(w, `{"type":"about:blank","title":"Bad Request","status":400,"detail":%q}`, detail) // fails only if the client has gone
}

// serve answers requests until ctx ends. It returns at once if d is nil.
func (d *plainDoor) serve(ctx context.Context) error {
	if d == nil {
		return nil
	}
	served := make(chan error, 1)
	go func() { served <- d.server.Serve(d.conns) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve plain HTTP: %w", err)
	case <-ctx.Done():
	}
	d.conns.Hurry(0)
	err := ignoreClosed(d.server.Close())
	<-served
	d.conns.Wait()
	return err
}

// close closes the listener, if serve was not called.
func (d *plainDoor) close() error {
	if d == nil {
		return nil
	}
	return ignoreClosed(d.listener.Close())
}
