package channel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
	"golang.org/x/net/idna"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/tell/message"
)

// The limits of a conversation with a mail server.
const (
	mailTimeout  = 30 * time.Second // of each step
	mailIdle     = 20 * time.Second // servers close what is idle for longer than minutes
	mailParallel = 8
	maxIdle      = mailParallel
)

// Mail sends notices by email through the operator's mail server, which is responsible for delivery.
type Mail struct {
	client *gomail.Client
	from   *mail.Address
	domain string // domain of From, for Message-IDs
	now    func() time.Time
	slots  chan struct{}
	mu     sync.Mutex
	idle   []*mailConn // guarded by mu
	closed bool        // guarded by mu
}

// MailConfig configures a Mail.
type MailConfig struct {
	// Server is smtp://HOST:PORT or smtps://HOST:PORT, with USER:PASSWORD@ before the host if required.
	// smtp uses STARTTLS, except on loopback addresses; smtps uses TLS from the start. The default ports
	// are 587 and 465.
	Server string
	// Password is the password of the user in Server, if it is not in Server.
	Password string
	From     string         // "Name <address>", or an address
	RootCAs  *x509.CertPool // nil for the system's
	Now      func() time.Time
	// Dial connects, in tests; nil for the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// NewMail makes a Mail. It does not connect. Its errors contain neither user nor password.
func NewMail(c MailConfig) (*Mail, error) {
	u, err := url.Parse(c.Server)
	if err != nil || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		return nil, errors.New("smtp: expected smtp://HOST:PORT or smtps://HOST:PORT, with USER:PASSWORD@ in front of HOST if needed")
	}
	from, err := mail.ParseAddress(c.From)
	if err != nil {
		return nil, errors.New("smtp-from: expected an address, such as Hazards <hazards@example.org>")
	}
	m := &Mail{from: from, domain: from.Address[strings.LastIndexByte(from.Address, '@')+1:], now: c.Now, slots: make(chan struct{}, mailParallel)}
	if m.now == nil {
		m.now = time.Now
	}
	host, port := u.Hostname(), map[string]int{"smtp": 587, "smtps": 465}[u.Scheme]
	if p := u.Port(); p != "" {
		if port, err = strconv.Atoi(p); err != nil || port < 1 || port > 65535 {
			return nil, fmt.Errorf("smtp: %q is not a port", p)
		}
	}
	name, err := os.Hostname()
	if err != nil || name == "" {
		name = "localhost"
	}
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, RootCAs: c.RootCAs}
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	policy, auth := gomail.TLSMandatory, gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin)
	if u.Scheme == "smtp" && loopback(host) {
		policy, auth = gomail.NoTLS, gomail.WithSMTPAuth(gomail.SMTPAuthPlainNoEnc)
	}
	options := []gomail.Option{gomail.WithPort(port), gomail.WithTimeout(mailTimeout), gomail.WithHELO(name), gomail.WithTLSConfig(config), gomail.WithTLSPolicy(policy),
		gomail.WithDialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			if u.Scheme == "smtps" {
				secure := tls.Client(conn, config)
				if err := secure.HandshakeContext(ctx); err != nil {
					_ = conn.Close() // it is of no use
					return nil, err
				}
				conn = secure
			}
			if held, ok := ctx.Value(heldKey{}).(*mailConn); ok {
				held.conn = conn
				held.stop = context.AfterFunc(held.ctx, func() { _ = conn.Close() }) // the library waits for greetings without it
			}
			return conn, nil
		})}
	if u.Scheme == "smtps" {
		options = append(options, gomail.WithSSL())
	}
	if u.User != nil {
		password, ok := u.User.Password()
		if !ok {
			password = c.Password
		}
		options = append(options, auth, gomail.WithUsername(u.User.Username()), gomail.WithPassword(password))
	}
	if m.client, err = gomail.NewClient(host, options...); err != nil {
		return nil, errors.New("smtp: the settings do not fit together")
	}
	return m, nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}

// mailConn is a connection to the mail server.
type mailConn struct {
	conn   net.Conn
	client *smtp.Client
	used   time.Time
	// Until it is connected: its context, and what stops that from closing it.
	ctx  context.Context // goes through the library to the dialer
	stop func() bool
}

type heldKey struct{}

// Close closes idle connections. A closed Mail keeps none.
func (m *Mail) Close() {
	m.mu.Lock()
	idle := m.idle
	m.idle, m.closed = nil, true
	m.mu.Unlock()
	for _, c := range idle {
		_ = c.conn.Close() // it is idle
	}
}

// take returns an idle connection, or nil.
func (m *Mail) take() *mailConn {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.idle) > 0 {
		c := m.idle[len(m.idle)-1]
		m.idle = m.idle[:len(m.idle)-1]
		if m.now().Sub(c.used) < mailIdle {
			return c
		}
		_ = c.conn.Close() // the server may have closed it long ago
	}
	return nil
}

func (m *Mail) keep(c *mailConn) {
	c.used = m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || len(m.idle) >= maxIdle {
		_ = c.conn.Close()
		return
	}
	m.idle = append(m.idle, c)
}

func (m *Mail) connect(ctx context.Context) (*mailConn, error) {
	c := &mailConn{ctx: ctx}
	client, err := m.client.DialToSMTPClientWithContext(context.WithValue(ctx, heldKey{}, c))
	if c.stop != nil && !c.stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		if c.conn != nil {
			_ = c.conn.Close() // the library leaves it open
		}
		return nil, err
	}
	c.client, c.ctx, c.stop = client, nil, nil
	return c, nil
}

// Check returns what is wrong with an address.
func (m *Mail) Check(to Address) error {
	_, err := mailbox(to.To)
	return err
}

// mailbox returns an address in the form in which it is used: an ASCII local part at a DNS name. RFC
// 5321 also allows quoted local parts, comments and IP addresses, which only attackers use.
func mailbox(address string) (string, error) {
	const expected = "expected an email address, such as name@example.org"
	at := strings.LastIndexByte(address, '@')
	if at < 1 || at > 64 || len(address) > 254 {
		return "", errors.New(expected)
	}
	local, domain := address[:at], address[at+1:]
	if strings.Trim(local, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-/=?^_`{|}~.") != "" || strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") ||
		strings.Contains(local, "..") {
		return "", errors.New(expected)
	}
	ascii, err := idna.Lookup.ToASCII(domain)
	if err != nil || !strings.Contains(strings.Trim(ascii, "."), ".") || strings.HasSuffix(ascii, ".") || len(ascii) > 253 || strings.Trim(ascii[strings.LastIndexByte(ascii, '.'):], ".0123456789") == "" {
		return "", errors.New(expected)
	}
	return local + "@" + ascii, nil
}

// Send sends a notice by email.
func (m *Mail) Send(ctx context.Context, to Address, n message.Notice) error {
	msg, err := m.message(to, &n)
	if err != nil {
		return fmt.Errorf("%v: %w", to, err)
	}
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return fmt.Errorf("%v: %w", to, context.Cause(ctx))
	}
	c := m.take()
	if c != nil {
		err := m.exchange(ctx, c, msg)
		if stale(err) { // the server had closed it meanwhile; nothing was sent
			c = nil
		} else {
			return m.result(ctx, to, msg, err)
		}
	}
	if c, err = m.connect(ctx); err != nil {
		return fmt.Errorf("%v: cannot connect to the mail server: %s", to, connectFault(ctx, err))
	}
	return m.result(ctx, to, msg, m.exchange(ctx, c, msg))
}

// exchange sends the message over a connection, and keeps the connection if it still works.
func (m *Mail) exchange(ctx context.Context, c *mailConn, msg *gomail.Msg) error {
	stop := context.AfterFunc(ctx, func() { _ = c.conn.Close() })
	err := m.client.SendWithSMTPClient(c.client, msg)
	if stop() && (err == nil || answered(err)) {
		m.keep(c)
	} else {
		_ = c.conn.Close()
	}
	return err
}

// stale reports whether a connection was found closed before anything was sent.
func stale(err error) bool {
	e, ok := errors.AsType[*gomail.SendError](err)
	return ok && e.Reason == gomail.ErrConnCheck
}

// answered reports whether the server has answered, so that the conversation can go on.
func answered(err error) bool {
	e, ok := errors.AsType[*gomail.SendError](err)
	return ok && e.ErrorCode() != 0 && e.ErrorCode() != 421
}

// result returns the error of a message without the server's words, which repeat the address.
func (m *Mail) result(ctx context.Context, to Address, msg *gomail.Msg, err error) error {
	if err == nil || msg.IsDelivered() { // an error after the server accepted it does not count
		return nil
	}
	e, ok := errors.AsType[*gomail.SendError](err)
	if !ok {
		return fmt.Errorf("%v: the mail server could not be used", to)
	}
	code, enhanced := e.ErrorCode(), e.EnhancedStatusCode()
	what := map[gomail.SendErrReason]string{gomail.ErrSMTPMailFrom: "the sender", gomail.ErrSMTPRcptTo: "the recipient", gomail.ErrSMTPData: "the message", gomail.ErrSMTPDataClose: "the message",
		gomail.ErrWriteContent: "the message"}[e.Reason]
	if code == 0 {
		if e.Reason == gomail.ErrSMTPDataClose {
			return fmt.Errorf("%v: the mail server was lost: %w", to, Uncertain)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%v: %w", to, context.Cause(ctx))
		}
		return fmt.Errorf("%v: the connection to the mail server was lost", to)
	}
	answer := strings.TrimSpace(strconv.Itoa(code) + " " + enhanced)
	switch {
	case e.Reason == gomail.ErrSMTPRcptTo && (code == 550 || code == 551 || code == 553) && !strings.HasPrefix(enhanced, "5.7.") && enhanced != "5.2.2":
		return fmt.Errorf("%v: the mail server answers %s to %s: %w", to, answer, what, Gone)
	case (e.Reason == gomail.ErrSMTPDataClose || e.Reason == gomail.ErrSMTPData) && code >= 500:
		return fmt.Errorf("%v: the mail server answers %s to %s: %w", to, answer, what, Refused)
	}
	// 4xx, and refusals by a policy or the mail server's settings (5.7.x, relaying denied), which the
	// operator can correct.
	return fmt.Errorf("%v: the mail server answers %s to %s", to, answer, what)
}

// connectFault returns why there is no connection, without names, addresses and words of the server.
func connectFault(ctx context.Context, err error) string {
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	switch {
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded):
		return "timeout"
	case errors.As(err, &dns):
		return "name not found"
	case errors.As(err, &cert):
		return "its certificate is not trusted"
	case strings.Contains(err.Error(), "STARTTLS"):
		return "it does not offer STARTTLS"
	case strings.HasPrefix(err.Error(), "535") || strings.Contains(err.Error(), "SMTP AUTH") || strings.Contains(err.Error(), "535 "):
		return "it refuses user and password"
	}
	return "connection failed"
}

// message returns a notice as a mail.
func (m *Mail) message(to Address, n *message.Notice) (*gomail.Msg, error) {
	recipient, err := mailbox(to.To)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, Gone)
	}
	text, err := n.Mail()
	if err != nil {
		return nil, err
	}
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(m.from)
	msg.ToMailAddress(&mail.Address{Address: recipient})
	msg.Subject(text.Subject)
	msg.SetMessageIDWithValue(m.id("message", n.ID))
	if n.Thread != "" {
		msg.SetGenHeaderPreformatted(gomail.HeaderReferences, "<"+m.id("thread", n.Thread)+">")
		msg.SetGenHeaderPreformatted(gomail.HeaderInReplyTo, "<"+m.id("thread", n.Thread)+">")
	}
	date := n.At.Add(n.Late)
	if n.At.IsZero() {
		date = m.now()
	}
	msg.SetDateWithValue(date)
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834, section 5
	msg.SetGenHeader("X-Auto-Response-Suppress", "All")
	msg.SetGenHeader("Content-Language", text.Language)
	if text.Unsubscribe != "" {
		if err := msg.SetListUnsubscribeOneClick(text.Unsubscribe); err != nil { // RFC 8058 wants https
			msg.SetListUnsubscribe("<" + text.Unsubscribe + ">")
		}
		msg.SetGenHeader("List-Id", "<"+n.Subscription.String()+"."+m.domain+">") // RFC 2919
	}
	if n.Urgency() == hazard.Warning {
		msg.SetImportance(gomail.ImportanceHigh)
	}
	msg.SetBodyString(gomail.TypeTextPlain, text.Text)
	msg.AddAlternativeString(gomail.TypeTextHTML, text.HTML)
	for _, p := range text.Pictures {
		if err := msg.EmbedReader(p.Name+".png", bytes.NewReader(p.PNG), gomail.WithFileContentID("<"+p.Name+">"), gomail.WithFileContentType("image/png")); err != nil {
			return nil, fmt.Errorf("embed a map: %w", err)
		}
	}
	return msg, nil
}

// id returns a Message-ID for a name without revealing it (RFC 5322, section 3.6.4).
func (m *Mail) id(kind, name string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + name))
	return hex.EncodeToString(sum[:16]) + "@" + m.domain
}
