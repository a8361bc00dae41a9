// Package outbound sends requests to addresses that users chose, for webhooks and channels. It
// reaches only public addresses, and those that the operator allows.
//
// Each connection checks the very IP address that it connects to. Redirects are not followed, and
// no proxy is taken from the environment. Of an answer, only the status and Retry-After are kept.
// It is safe for concurrent use.
package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/hazardd/hazardd/internal/net/trace"
)

// Jitter returns d, randomly changed by up to a tenth, so that those who failed together do not
// retry together.
func Jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}

// Targets says which addresses requests may reach. The zero Targets allows https to public
// addresses on the ports 443 and 8443.
type Targets struct {
	// Allow lists additional addresses, for which http and every port are allowed too.
	Allow []netip.Prefix
	// Resolver looks up names; nil means the system's.
	Resolver *net.Resolver
	// RootCAs are the trusted certificate authorities; nil means the system's.
	RootCAs *x509.CertPool
}

// publicPorts are the allowed ports on public addresses. Services on other ports might understand a
// request as something else.
var publicPorts = []uint16{443, 8443}

// maxURL is the maximum length of an address, in bytes.
const maxURL = 2000

// Check returns an error if an address cannot be allowed, as far as is known before it is looked
// up. What it resolves to is checked at each connection.
func (t *Targets) Check(address string) error {
	if len(address) > maxURL {
		return fmt.Errorf("has %d bytes, at most %d are allowed", len(address), maxURL)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return fmt.Errorf("%.100q is not an absolute address, such as https://example.org/hook", address)
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	switch {
	case u.Scheme != "https" && !(u.Scheme == "http" && len(t.Allow) > 0):
		return fmt.Errorf("scheme %q: only https is allowed (http too, to addresses that the setting webhook-allow names)", u.Scheme)
	case u.User != nil:
		return errors.New("contains a name or password; expected none, because messages are signed instead")
	case u.Fragment != "" || strings.Contains(address, "#"):
		return errors.New("holds a fragment, which is never sent; expected none")
	case strings.ContainsAny(address, "\\ \t\r\n"):
		return errors.New("holds a backslash or white space")
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("port %q is invalid", port)
		}
		if len(t.Allow) == 0 && !slices.Contains(publicPorts, uint16(n)) {
			return fmt.Errorf("port %d: only %v are allowed (others too, at addresses that the setting webhook-allow names)", n, publicPorts)
		}
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return t.checkAddr(u.Scheme, ip, u.Port())
	}
	return checkHost(host, len(t.Allow) > 0)
}

// checkHost returns an error if a host name is not allowed. If inside is true, names inside a
// network are allowed.
func checkHost(host string, inside bool) error {
	labels := strings.Split(host, ".")
	if len(host) > 253 {
		return errors.New("the host's name is longer than 253 bytes")
	}
	for _, l := range labels {
		if l == "" || len(l) > 63 || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return fmt.Errorf("host %.100q is not a name of the DNS; write one of other scripts in its ASCII form (xn--…)", host)
		}
	}
	last := labels[len(labels)-1]
	switch {
	case strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x"):
		return fmt.Errorf("host %.100q is a number, and read differently by different programs; write an address as 192.0.2.1", host)
	case inside:
	case last == "localhost" || last == "internal" || last == "local" || last == "localdomain":
		return fmt.Errorf("host %.100q is a name inside a network; name one that all can reach, or an address that the setting webhook-allow names", host)
	}
	return nil
}

// checkAddr returns an error if a literal IP address is not allowed.
func (t *Targets) checkAddr(scheme string, ip netip.Addr, port string) error {
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	network := "tcp6"
	if ip.Is4() {
		network = "tcp4"
	}
	return t.Guard(scheme)(network, net.JoinHostPort(ip.String(), port), nil)
}

// errBlocked means that connections to an address are not allowed.
var errBlocked = errors.New("this address may not be reached: it is not public, and the setting webhook-allow does not name it")

// Guard returns a net.Dialer's Control function that checks the very address of each connection. So
// neither a name that resolves differently the second time nor an unusual spelling of an address
// leads inside.
func (t *Targets) Guard(scheme string) func(network, address string, c syscall.RawConn) error {
	public := ssrf.New(ssrf.WithPorts(publicPorts...))
	return func(network, address string, c syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return errBlocked
		}
		ip := to.Addr().Unmap().WithZone("")
		if to.Port() > 0 && slices.ContainsFunc(t.Allow, func(p netip.Prefix) bool { return p.Contains(ip) }) {
			return nil
		}
		if scheme != "https" || public.Safe(network, address, c) != nil {
			return errBlocked
		}
		return nil
	}
}

// The limits of an attempt. Of an answer, only the status matters.
const (
	AttemptTimeout = 20 * time.Second // for the whole attempt
	connectTimeout = 10 * time.Second
	bodyTimeout    = time.Second // for the rest of an answer whose status is known
	maxAnswer      = 4 << 10     // bytes read of an answer's body, so that the connection can be reused
	maxHeader      = 16 << 10    // bytes of an answer's header
)

// Clients are HTTP clients by scheme.
type Clients map[string]*http.Client

// Close closes idle connections.
func (c Clients) Close() {
	for _, client := range c {
		client.CloseIdleConnections()
	}
}

// Clients returns HTTP clients that keep up to idle connections per host. They use no proxy from
// the environment and follow no redirects.
func (t *Targets) Clients(idle int) Clients {
	clients := Clients{}
	for _, scheme := range []string{"http", "https"} {
		dialer := &net.Dialer{Timeout: connectTimeout, Control: t.Guard(scheme), Resolver: t.Resolver}
		clients[scheme] = &http.Client{
			Transport: &http.Transport{
				DialContext:            dialer.DialContext,
				TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: t.RootCAs},
				TLSHandshakeTimeout:    connectTimeout,
				MaxResponseHeaderBytes: maxHeader,
				MaxIdleConnsPerHost:    idle,
				IdleConnTimeout:        90 * time.Second,
				DisableCompression:     true,
				ForceAttemptHTTP2:      true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return clients
}

// Post sends a body by POST, once. It keeps only the status and Retry-After of the answer, because
// the rest could be an answer from inside the network to whoever chose the address. retry is how
// long the receiver asks to wait, at most a day. ctx limits the attempt; AttemptTimeout is a good
// limit.
func (t *Targets) Post(ctx context.Context, clients Clients, address string, header http.Header, body string) (status int, retry time.Duration, err error) {
	return t.Exchange(ctx, clients, http.MethodPost, address, header, body)
}

// Exchange is like Post with another method.
func (t *Targets) Exchange(ctx context.Context, clients Clients, method, address string, header http.Header, body string) (status int, retry time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	req.Header = trace.Pass(ctx, header)
	client, ok := clients[req.URL.Scheme]
	if !ok || t.Check(address) != nil { // the setting may be narrower than when it was made
		return 0, 0, errBlocked
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	rest := time.AfterFunc(bodyTimeout, cancel)
	defer rest.Stop()
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer) // whatever comes
	if seconds, err := strconv.ParseInt(resp.Header.Get("Retry-After"), 10, 32); err == nil && seconds > 0 {
		retry = min(time.Duration(seconds)*time.Second, 24*time.Hour)
	}
	return resp.StatusCode, retry, nil
}

// FaultOf returns the class of an error. It tells the owner what to check, and reveals nothing
// about the network inside.
func FaultOf(err error) string {
	var dns *net.DNSError
	var tlsErr *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.Is(err, errBlocked):
		return "blocked"
	case errors.As(err, &dns):
		return "name not found"
	case errors.As(err, &tlsErr), errors.As(err, &record), errors.As(err, &alert):
		return "tls"
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		return "timeout"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	}
	return "connection"
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}
