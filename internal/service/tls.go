package service

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

	"github.com/hazardd/hazardd/internal/certificate"
	"github.com/hazardd/hazardd/internal/listen"
)

// TLS says with which certificate a service proves itself: one in files, or one that an authority gives by ACME.
type TLS struct {
	Cert, Key string // files of PEM
	// ACME is for whom an authority is asked, if there are no files; without its Folder: a folder in that of the data.
	ACME certificate.Settings
	// Plain is host:port where plain HTTP leads to the public address, which must then be known, and answers the authority's checks;
	// empty: nowhere.
	Plain string
	// Hangup gives a value whenever the files should be read at once; nil: only as they change.
	Hangup <-chan os.Signal
}

// certificates is what the service proves itself with.
type certificates interface {
	Config() *tls.Config
	// End is when it ends; not ok if there is none yet.
	End() (at time.Time, ok bool)
	Run(ctx context.Context, hangup <-chan os.Signal, now func() time.Time) error
	// Close ends what was begun, if Run was not called.
	Close()
}

// acmeFolder is where the keys and certificates of ACME are, in the folder of the data.
const acmeFolder = "acme"

func (s *Service) scheme() string {
	if s.cfg.TLS != nil {
		return "https"
	}
	return "http"
}

// openTLS reads the certificate, or prepares to ask for one, and listens for plain HTTP.
func (s *Service) openTLS(ctx context.Context) error {
	t := s.cfg.TLS
	if t == nil {
		return nil
	}
	if s.cfg.PublicURL != "" && !strings.HasPrefix(s.cfg.PublicURL, "https://") {
		return fmt.Errorf("the public address %s does not begin with https://, and the service speaks TLS", s.cfg.PublicURL)
	}
	var plain net.Addr
	if t.Plain != "" {
		if s.cfg.PublicURL == "" {
			return errors.New("plain HTTP leads to the public address, which is not known: set it")
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

// strictFor is how long after a visit browsers use HTTPS alone (HSTS): half a year.
const strictFor = "max-age=15552000"

// onlySecure tells browsers to ask by TLS alone (HSTS, RFC 6797), where that is safe: the service itself speaks TLS, under the name that
// was asked for, at port 443. The rule is of a whole host, all ports, so that beside another port other services of the host may be,
// which it would cut off. Hosts below are never included.
func (s *Service) onlySecure(next http.Handler) http.Handler {
	public, err := url.Parse(s.cfg.PublicURL)
	if s.cfg.TLS == nil || err != nil || public.Port() != "" || public.Hostname() == "localhost" {
		return next
	}
	if _, err := netip.ParseAddr(public.Hostname()); err == nil {
		return next // addresses have no such rule
	}
	strict := []string{strictFor}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host := strings.TrimSuffix(r.Host, ":443"); r.TLS != nil && strings.EqualFold(host, public.Host) {
			w.Header()["Strict-Transport-Security"] = strict
		}
		next.ServeHTTP(w, r)
	})
}

// plainDoor answers plain HTTP beside TLS. It never gives data.
type plainDoor struct {
	listener net.Listener
	conns    *listen.Listener
	server   *http.Server
}

// The limits of plain HTTP. A connection has one answer, which is small.
const (
	plainConnections = 512
	plainAddress     = 32
	plainTime        = 5 * time.Second
)

// openPlain prepares what plain HTTP is answered with.
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

// leadTo answers plain HTTP: what was asked is at the public address. Whether the service is well is told here as there, for balancers.
func leadTo(public string, health http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case reads && (r.URL.Path == "/healthz" || r.URL.Path == "/readyz"):
			health.ServeHTTP(w, r)
		case r.Header.Get("Authorization") != "":
			refusePlain(w, "this address takes no tokens: they came without encryption, and others may have read them. Revoke the token, and ask "+public)
		case !reads:
			refusePlain(w, "this address only leads to "+public+": send the request there")
		default:
			to := public + r.URL.EscapedPath()
			if r.URL.RawQuery != "" {
				to += "?" + r.URL.RawQuery
			}
			w.Header().Set("Cache-Control", "max-age=3600") // not for ever: an operator may go back
			http.Redirect(w, r, to, http.StatusPermanentRedirect)
		}
	})
}

func refusePlain(w http.ResponseWriter, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = fmt.Fprintf(w, `{"type":"about:blank","title":"Bad Request","status":400,"detail":%q}`, detail) // a reader who has gone
}

// serve answers until ctx ends. A nil door has nothing to do.
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

// close closes what was opened, if serve was not called.
func (d *plainDoor) close() error {
	if d == nil {
		return nil
	}
	return ignoreClosed(d.listener.Close())
}
