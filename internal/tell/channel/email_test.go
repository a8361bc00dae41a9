package channel

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/tell/message"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// warning returns a message about a flood.
func warning(change func(*message.Notice, *hazard.Hazard)) message.Notice {
	km := 12.0
	h := hazard.Hazard{UUID: uuid.MustParse("0190a3c8-7b1e-7000-8000-000000000007"), Name: "Flood Warning: Skagit River", Type: hazard.Flood, Severity: hazard.Warning, Category: hazard.Event,
		Status: hazard.Active, AutoExpire: true, Start: hazard.At(noon.Add(-time.Hour)), End: hazard.At(noon.Add(5 * time.Hour)), Longitude: -122.3, Latitude: 48.4, Description: "The river rises.",
		Source: "nws", Texts: []hazard.Text{{Language: "en", Own: true, Name: "Flood Warning: Skagit River", Description: "The river rises.", Instruction: "Move to \"higher\" ground <now>.\n.\nGo."}}}
	n := message.Notice{ID: "message-1", Thread: "thread-1", Kind: message.First, At: noon, Subscription: uuid.MustParse("0190a3c8-7b1e-7000-8000-00000000000a"), Name: "Home",
		Link: "https://example.org/h/7", Manage: "https://example.org/subscriptions/1", Unsubscribe: "https://example.org/unsubscribe/token?x=1",
		Items: []message.Item{{Place: "Home", DistanceKM: &km, Link: "https://example.org/h/7"}}}
	if change != nil {
		change(&n, &h)
	}
	n.Items[0].Hazard = h
	return n
}

// post is a mail server that records mails, and answers as configured.
type post struct {
	mu      sync.Mutex
	mails   []letter
	opened  int
	logins  []string
	answer  map[string]error // by "MAIL", "DATA" or the recipient
	drop    bool             // close the connection after a message, without an answer
	secure  bool             // whether the last mail used TLS
	address string
	roots   *x509.CertPool
}

type letter struct {
	from, to string
	raw      []byte
}

type session struct {
	*post
	conn     *smtp.Conn
	from, to string
}

func (p *post) NewSession(c *smtp.Conn) (smtp.Session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened++
	return &session{post: p, conn: c}, nil
}
func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }
func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.logins = append(s.logins, user)
		if user != "hazards" || password != "a secret" {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}
func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.from = from
	return s.answer["MAIL"]
}
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	return s.answer[to]
}
func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.answer["DATA"]; err != nil {
		return err
	}
	_, s.secure = s.conn.TLSConnectionState()
	s.mails = append(s.mails, letter{s.from, s.to, raw})
	if s.drop {
		_ = s.conn.Conn().Close()
	}
	return nil
}

// newPost starts a mail server; tlsMode is "starttls", "tls" or "".
func newPost(t *testing.T, tlsMode string) *post {
	t.Helper()
	p := &post{answer: map[string]error{}}
	server := smtp.NewServer(p)
	server.AllowInsecureAuth = true
	web := httptest.NewTLSServer(nil) // provides a certificate for example.com
	web.Close()
	p.roots = x509.NewCertPool()
	p.roots.AddCert(web.Certificate())
	config := &tls.Config{Certificates: web.TLS.Certificates}
	if tlsMode == "starttls" {
		server.TLSConfig = config
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = l.Addr().String()
	if tlsMode == "tls" {
		l = tls.NewListener(l, config)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() { _ = server.Close(); _ = l.Close(); wg.Wait() })
	return p
}

// mail returns a Mail that sends to the server, under the name example.com.
func (p *post) mail(t *testing.T, server string) *Mail {
	t.Helper()
	m, err := NewMail(MailConfig{Server: server, From: "Hazards ⚠ <hazards@example.org>", RootCAs: p.roots, Now: func() time.Time { return noon }, Password: "a secret",
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, p.address)
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

var reader = Address{Kind: Email, To: "Reader.Name+x@Example.net"}

// parts parses a mail: its leaf parts by media type.
func parts(t *testing.T, contentType, encoding string, body io.Reader) map[string]string {
	t.Helper()
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	if !strings.HasPrefix(kind, "multipart/") {
		if encoding == "quoted-printable" {
			body = quotedprintable.NewReader(body)
		}
		text, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{kind: string(text)}
	}
	for r := multipart.NewReader(body, params["boundary"]); ; {
		part, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		for kind, text := range parts(t, part.Header.Get("Content-Type"), part.Header.Get("Content-Transfer-Encoding"), part) {
			all[kind] += text
			if id := part.Header.Get("Content-Id"); id != "" {
				all["id"] = id
			}
		}
	}
}

func TestAMailIsAThreadThatCanBeLeftWithOneClick(t *testing.T) {
	for _, tt := range []struct{ mode, server string }{{"starttls", "smtp://hazards@example.com:587"}, {"tls", "smtps://hazards:a%20secret@example.com"}, {"", "smtp://127.0.0.1:25"}, {"", "smtp://hazards@localhost"}} {
		p := newPost(t, tt.mode)
		m := p.mail(t, tt.server)
		first := warning(func(n *message.Notice, _ *hazard.Hazard) {
			n.Items[0].Picture = func(int) ([]byte, error) { return []byte("\x89PNG\r\n\x1a\n"), nil }
		})
		ended := warning(func(n *message.Notice, h *hazard.Hazard) {
			n.ID, n.Kind, h.Status = "message-2", message.Ended, hazard.Expired
		})
		for _, n := range []message.Notice{first, first, ended} {
			if err := m.Send(t.Context(), reader, n); err != nil {
				t.Fatalf("%s: %v", tt.server, err)
			}
		}
		if len(p.mails) != 3 || p.opened > 2 { // TLS starts a new session
			t.Fatalf("%s: %d mails, %d sessions", tt.server, len(p.mails), p.opened)
		}
		if p.secure != (tt.mode != "") {
			t.Errorf("%s: over TLS: %v", tt.server, p.secure)
		}
		if want := strings.Contains(tt.server, "hazards"); (len(p.logins) > 0) != want {
			t.Errorf("%s: logins %q", tt.server, p.logins)
		}
		if got := p.mails[0]; got.from != "hazards@example.org" || got.to != "Reader.Name+x@example.net" {
			t.Errorf("from %s to %s", got.from, got.to)
		}
		var heads []mail.Header
		for _, l := range p.mails {
			msg, err := mail.ReadMessage(bytes.NewReader(l.raw))
			if err != nil {
				t.Fatal(err)
			}
			heads = append(heads, msg.Header)
			if len(heads) > 1 {
				continue
			}
			all := parts(t, msg.Header.Get("Content-Type"), "", msg.Body)
			if !strings.Contains(all["text/plain"], "Move to \"higher\" ground <now>.\r\n.\r\nGo.") || !strings.Contains(all["text/html"], "ground &lt;now&gt;.<br>.<br>Go.") ||
				!strings.Contains(all["text/html"], `src="cid:map-0"`) || all["id"] != "<map-0>" || all["image/png"] == "" {
				t.Errorf("parts %q", all)
			}
		}
		h := heads[0]
		subject, err := new(mime.WordDecoder).DecodeHeader(h.Get("Subject"))
		if err != nil || subject != "Flood warning for Skagit River, Washington · 12 km from Home" {
			t.Errorf("subject %q, %v", subject, err)
		}
		for name, want := range map[string]string{"Auto-Submitted": "auto-generated", "List-Unsubscribe": "<https://example.org/unsubscribe/token?x=1>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
			"Date": "Sat, 21 Nov 2026 12:00:00 +0000", "Content-Language": "en", "Importance": "high", "List-Id": "<0190a3c8-7b1e-7000-8000-00000000000a.example.org>"} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if h.Get("Message-Id") == "" || heads[1].Get("Message-Id") != h.Get("Message-Id") || heads[2].Get("Message-Id") == h.Get("Message-Id") {
			t.Errorf("the second attempt has another id: %q, %q, %q", h.Get("Message-Id"), heads[1].Get("Message-Id"), heads[2].Get("Message-Id"))
		}
		if ref := h.Get("References"); ref == "" || ref != heads[2].Get("References") || ref != heads[2].Get("In-Reply-To") {
			t.Errorf("threads %q and %q", ref, heads[2].Get("References"))
		}
		if heads[2].Get("Importance") != "" {
			t.Error("an end is important")
		}
	}
}

func TestWhatAMailServerRefuses(t *testing.T) {
	p := newPost(t, "starttls")
	m := p.mail(t, "smtp://hazards@example.com")
	refuse := func(code int, enhanced smtp.EnhancedCode) error {
		return &smtp.SMTPError{Code: code, EnhancedCode: enhanced, Message: "reader.name+x@example.net is not liked"}
	}
	to := "Reader.Name+x@example.net"
	for name, tt := range map[string]struct {
		at   string
		err  error
		want error
	}{
		"no such user":          {to, refuse(550, smtp.EnhancedCode{5, 1, 1}), Gone},
		"moved away":            {to, refuse(551, smtp.EnhancedCode{5, 1, 6}), Gone},
		"mailbox busy":          {to, refuse(450, smtp.EnhancedCode{4, 2, 1}), nil},
		"mailbox full":          {to, refuse(552, smtp.EnhancedCode{5, 2, 2}), nil},
		"relay denied":          {to, refuse(554, smtp.EnhancedCode{5, 7, 1}), nil},
		"blocked by policy":     {to, refuse(550, smtp.EnhancedCode{5, 7, 1}), nil},
		"sender not allowed":    {"MAIL", refuse(550, smtp.EnhancedCode{5, 1, 8}), nil},
		"message looks like ad": {"DATA", refuse(554, smtp.EnhancedCode{5, 6, 0}), Refused},
		"disk full":             {"DATA", refuse(452, smtp.EnhancedCode{4, 3, 1}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			p.answer = map[string]error{tt.at: tt.err}
			err := m.Send(t.Context(), reader, warning(nil))
			if err == nil || errors.Is(err, Gone) != (tt.want == Gone) || errors.Is(err, Refused) != (tt.want == Refused) || errors.Is(err, Uncertain) {
				t.Errorf("%v", err)
			}
			wantSecret(t, err)
		})
	}
	p.answer = map[string]error{}
	if err := m.Send(t.Context(), reader, warning(nil)); err != nil {
		t.Errorf("after all that: %v", err)
	}
	p.drop = true
	if err := m.Send(t.Context(), reader, warning(nil)); !errors.Is(err, Uncertain) {
		t.Errorf("taken, and not acknowledged: %v", err)
	}
	p.drop = false
	if err := m.Send(t.Context(), reader, warning(nil)); err != nil {
		t.Errorf("after a lost connection: %v", err)
	}
	for _, mailServer := range []string{"smtp://hazards:wrong@example.com", "smtps://example.com"} {
		if err := p.mail(t, mailServer).Send(t.Context(), reader, warning(nil)); err == nil || errors.Is(err, Gone) || strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s: %v", mailServer, err)
		}
	}
	plain := newPost(t, "")
	if err := plain.mail(t, "smtp://hazards@example.com").Send(t.Context(), reader, warning(nil)); err == nil || !strings.Contains(err.Error(), "STARTTLS") || len(plain.logins) != 0 {
		t.Errorf("without STARTTLS: %v, logins %q", err, plain.logins)
	}
	foreign := newPost(t, "starttls")
	foreign.roots = x509.NewCertPool()
	if err := foreign.mail(t, "smtp://hazards@example.com").Send(t.Context(), reader, warning(nil)); err == nil || !strings.Contains(err.Error(), "certificate") || len(foreign.logins) != 0 {
		t.Errorf("with an untrusted certificate: %v", err)
	}
}

// wantSecret checks that an error reveals neither an address nor text from a receiver.
func wantSecret(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, secret := range []string{"reader", "Reader", "example.net", "liked", "token"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error reveals %q: %v", secret, err)
		}
	}
}

func TestAMailServerThatHangsIsGivenUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := &post{address: l.Addr().String()}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.mail(t, "smtp://localhost").Send(ctx, reader, warning(nil)); !errors.Is(err, context.DeadlineExceeded) && (err == nil || !strings.Contains(err.Error(), "timeout")) {
		t.Errorf("%v", err)
	}
}

func TestNoHeaderIsInjected(t *testing.T) {
	p := newPost(t, "")
	m := p.mail(t, "smtp://localhost")
	for _, evil := range []string{"x\r\nBcc: all@example.org", "x\nBcc: all@example.org\n\nbody", "=?utf-8?q?=0D=0ABcc:_all@example.org?=", "\u202e\u2066x\u2028Bcc: all@example.org", strings.Repeat("long ", 200_000)} {
		n := warning(func(n *message.Notice, h *hazard.Hazard) {
			n.Name, n.ID, n.Thread, n.Items[0].Place, n.Unsubscribe = evil, evil, evil, evil, "https://example.org/"+evil
			h.Name, h.Description, h.Source = evil, evil, evil
		})
		if err := m.Send(t.Context(), reader, n); err != nil {
			t.Fatalf("%.40q: %v", evil, err)
		}
		got := p.mails[len(p.mails)-1]
		head, _, _ := bytes.Cut(got.raw, []byte("\r\n\r\n"))
		msg, err := mail.ReadMessage(bytes.NewReader(got.raw))
		if err != nil {
			t.Fatal(err)
		}
		if msg.Header.Get("Bcc") != "" || bytes.Contains(head, []byte("\nBcc")) || got.to != "Reader.Name+x@example.net" {
			t.Errorf("%.40q: %q", evil, head)
		}
		for line := range bytes.SplitSeq(got.raw, []byte("\r\n")) {
			if len(line) > 998 || bytes.ContainsAny(line, "\r\n") {
				t.Errorf("%.40q: a line of %d bytes", evil, len(line))
			}
		}
		if len(got.raw) > 100_000 {
			t.Errorf("%.40q: a mail of %d bytes", evil, len(got.raw))
		}
	}
}

func TestWhatIsAnAddress(t *testing.T) {
	m := newPost(t, "").mail(t, "smtp://localhost")
	for address, want := range map[string]bool{"a@example.org": true, "a.b+c@münchen.example": true, "": false, "a": false, "a@b": false, "@example.org": false, "a@example.org\r\nRCPT TO:<b@example.org>": false,
		"a b@example.org": false, "a@[127.0.0.1]": false, "a@127.0.0.1": false, "\"a\"@example.org": false, "A <a@example.org>": false, "a@example.org, b@example.org": false, "a..b@example.org": false,
		"ä@example.org": false, strings.Repeat("a", 65) + "@example.org": false, "a@" + strings.Repeat("a.", 130) + "org": false, "a@example.org.": false, "a@-example.org": false, "a@localhost": false} {
		if err := m.Check(Address{Kind: Email, To: address}); (err == nil) != want {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestSettingsOfMailThatDoNotFit(t *testing.T) {
	for _, c := range []MailConfig{{Server: "mail.example.org", From: "a@example.org"}, {Server: "http://mail.example.org", From: "a@example.org"}, {Server: "smtp://u:hush@mail.example.org/x", From: "a@example.org"},
		{Server: "smtp://u:hush@mail.example.org:99999", From: "a@example.org"}, {Server: "smtp://mail.example.org", From: "nobody"}} {
		if _, err := NewMail(c); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", c.Server, err)
		}
	}
}
