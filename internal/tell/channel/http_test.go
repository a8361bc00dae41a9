package channel

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/net/outbound"
	"github.com/hazardd/hazardd/internal/tell/message"
)

// shop is an HTTP service that records its requests.
type shop struct {
	server *httptest.Server
	mu     sync.Mutex
	status int
	got    []*http.Request
	bodies []string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{status: 200}
	s.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.got, s.bodies = append(s.got, r), append(s.bodies, string(body))
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, "reader's token")
	}))
	t.Cleanup(s.server.Close)
	return s
}

func (s *shop) web(t *testing.T, recipes map[string]Recipe) *Web {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(s.server.Certificate())
	w, err := NewWeb(recipes, outbound.Targets{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// services are the built-in templates, with the request that each sends. If a template contains the
// service's own host, our host replaces it.
var services = map[string]struct {
	to     string
	recipe Recipe
	path   string
	check  func(t *testing.T, r *http.Request, body string)
}{
	"ntfy": {"{shop}/my-topic", Recipe{Secret: "tk"}, "POST /", func(t *testing.T, r *http.Request, body string) {
		m := object(t, body)
		if m["topic"] != "my-topic" || m["priority"] != 5.0 || m["click"] != "https://example.org/h/7" || !strings.HasPrefix(m["title"].(string), "Flood warning for ") || r.Header.Get("Authorization") != "Bearer tk" {
			t.Errorf("%s", body)
		}
	}},
	"telegram": {"-1001234567890", Recipe{Secret: "1:abc", URL: "{shop}/bot{{.Secret}}/sendMessage"}, "POST /bot1:abc/sendMessage", func(t *testing.T, _ *http.Request, body string) {
		if m := object(t, body); m["chat_id"] != "-1001234567890" || !strings.Contains(m["text"].(string), "\"higher\" ground <now>.") || m["parse_mode"] != nil {
			t.Errorf("%s", body)
		}
	}},
	"slack": {"{shop}/services/T/B/x", Recipe{Hosts: []string{"127.0.0.1"}}, "POST /services/T/B/x", func(t *testing.T, _ *http.Request, body string) {
		m := object(t, body)
		if len(m["blocks"].([]any)) != 2 || !strings.HasPrefix(m["text"].(string), "Flood warning for ") || strings.Contains(body, "mrkdwn") {
			t.Errorf("%s", body)
		}
	}},
	"teams": {"{shop}/workflows/1?sig=x", Recipe{Hosts: []string{"127.0.0.1"}}, "POST /workflows/1?sig=x", func(t *testing.T, _ *http.Request, body string) {
		card := object(t, body)["attachments"].([]any)[0].(map[string]any)
		if card["contentType"] != "application/vnd.microsoft.card.adaptive" || strings.Contains(body, `"TextBlock"`) || !strings.Contains(body, "Action.OpenUrl") {
			t.Errorf("%s", body)
		}
	}},
	"matrix": {"!room:example.org", Recipe{Server: "{shop}", Secret: "syt"}, "PUT /_matrix/client/v3/rooms/%21room:example.org/send/m.room.message/", func(t *testing.T, r *http.Request, body string) {
		if m := object(t, body); m["msgtype"] != "m.text" || r.Header.Get("Authorization") != "Bearer syt" {
			t.Errorf("%s", body)
		}
	}},
	"twilio": {"+15551234567", Recipe{Secret: "tok", Set: map[string]string{"account": "AC1", "from": "+15550000000"}, URL: "{shop}/2010-04-01/Accounts/{{path .Set.account}}/Messages.json"}, "POST /2010-04-01/Accounts/AC1/Messages.json",
		func(t *testing.T, r *http.Request, body string) {
			form, err := url.ParseQuery(body)
			if err != nil || form.Get("To") != "+15551234567" || form.Get("From") != "+15550000000" || !strings.HasPrefix(form.Get("Body"), "Flood warning for ") || !strings.HasSuffix(form.Get("Body"), "https://example.org/h/7") {
				t.Errorf("%v, %s", err, body)
			}
			if r.Header.Get("Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("AC1:tok")) {
				t.Error(r.Header.Get("Authorization"))
			}
		}},
	"sms": {"+15551234567", Recipe{Server: "{shop}/send", Secret: "tok", Set: map[string]string{"from": "Alerts"}}, "POST /send", func(t *testing.T, r *http.Request, body string) {
		if m := object(t, body); m["to"] != "+15551234567" || m["from"] != "Alerts" || m["id"] != r.Header.Get("Idempotency-Key") || m["id"] == "" {
			t.Errorf("%s", body)
		}
	}},
	"signal": {"group.Zm9vYmFy=", Recipe{Server: "{shop}", Set: map[string]string{"number": "+15550000000"}}, "POST /v2/send", func(t *testing.T, _ *http.Request, body string) {
		m := object(t, body)
		if to, _ := m["recipients"].([]any); len(to) != 1 || to[0] != "group.Zm9vYmFy=" || m["number"] != "+15550000000" || !strings.HasPrefix(m["message"].(string), "Flood warning for ") {
			t.Errorf("%s", body)
		}
	}},
	"json": {"{shop}/anything", Recipe{}, "POST /anything", func(t *testing.T, _ *http.Request, body string) {
		var v message.View
		if err := json.Unmarshal([]byte(body), &v); err != nil || v.Severity != "WARNING" || len(v.Items) != 1 || v.Items[0].Type != "FLOOD" || v.Unsubscribe == "" {
			t.Errorf("%v, %s", err, body)
		}
	}},
}

func object(t *testing.T, body string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return m
}

func (s *shop) at(text string) string { return strings.ReplaceAll(text, "{shop}", s.server.URL) }

// all returns a Web with every ready template.
func (s *shop) all(t *testing.T) *Web {
	recipes := map[string]Recipe{}
	for name, c := range services {
		r := c.recipe
		r.Template, r.URL, r.Server = name, s.at(r.URL), s.at(r.Server)
		recipes[name] = r
	}
	return s.web(t, recipes)
}

func TestEachReadyTemplateSpeaksTheLanguageOfItsService(t *testing.T) {
	ready, err := Ready()
	if err != nil {
		t.Fatal(err)
	}
	for name := range ready {
		if _, ok := services[name]; !ok {
			t.Errorf("no test for the template %s", name)
		}
	}
	for name, c := range services {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			w := s.all(t)
			to := Address{Kind: HTTP, Template: name, To: s.at(c.to)}
			if err := w.Check(to); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := w.Send(t.Context(), to, warning(nil)); err != nil {
					t.Fatal(err)
				}
			}
			if got := s.got[0].Method + " " + s.got[0].RequestURI; !strings.HasPrefix(got, c.path) {
				t.Errorf("%q, want %q", got, c.path)
			}
			if s.got[0].RequestURI != s.got[1].RequestURI || s.bodies[0] != s.bodies[1] {
				t.Error("a second attempt sends a different message")
			}
			c.check(t, s.got[0], s.bodies[0])
		})
	}
}

// Each channel says who warns: the organization, and not the login of its editor.
func TestEachChannelSaysWhoWarns(t *testing.T) {
	n := warning(func(n *message.Notice, h *hazard.Hazard) {
		n.Items[0].Authority = "Red Cross of Skagit"
		h.Source, h.Creator, h.Texts = "", "ann.login", nil
	})
	said := map[string]string{}
	s := newShop(t)
	for name, c := range services {
		if err := s.all(t).Send(t.Context(), Address{Kind: HTTP, Template: name, To: s.at(c.to)}, n); err != nil {
			t.Fatal(err)
		}
		said[name] = s.bodies[len(s.bodies)-1]
	}
	b := newBrowser(t)
	if err := b.push(t).Send(t.Context(), Address{Kind: WebPush, To: b.subscription()}, n); err != nil {
		t.Fatal(err)
	}
	said["webpush"] = b.decrypt(b.bodies[0])
	p := newPost(t, "")
	if err := p.mail(t, "smtp://hazards@localhost").Send(t.Context(), reader, n); err != nil {
		t.Fatal(err)
	}
	msg, err := mail.ReadMessage(bytes.NewReader(p.mails[0].raw))
	if err != nil {
		t.Fatal(err)
	}
	for kind, text := range parts(t, msg.Header.Get("Content-Type"), "", msg.Body) {
		said["email, "+kind] = text
	}
	for name, text := range said {
		if name == "twilio" { // a form
			text = strings.ReplaceAll(text, "+", " ")
		}
		if !strings.Contains(text, "Red Cross of Skagit") || strings.Contains(text, "ann.login") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestHostileTextsStayTextInEachTemplate(t *testing.T) {
	s := newShop(t)
	w := s.all(t)
	for _, evil := range []string{"\"}, {\"x\": \"", "x\r\nX-Evil: 1", "<script>*bold* [a](https://evil.example) <!channel> @everyone", "{{.Secret}} {{json .}}", "\u202e\u2066\x00\xff", strings.Repeat("水 ", 30_000), "&To=+1555&Body=x"} {
		n := warning(func(n *message.Notice, h *hazard.Hazard) {
			n.ID, n.Name, n.Items[0].Place, n.Items[0].Link = evil, evil, evil, "https://example.org/"+evil
			h.Name, h.Description, h.Texts[0].Instruction, h.Texts[0].Sender = evil, evil, evil, evil
		})
		for name, c := range services {
			before := len(s.bodies)
			if err := w.Send(t.Context(), Address{Kind: HTTP, Template: name, To: s.at(c.to)}, n); err != nil {
				t.Errorf("%s, %.30q: %v", name, evil, err)
				continue
			}
			body, r := s.bodies[before], s.got[before]
			if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
				if m := object(t, body); m["x"] != nil {
					t.Errorf("%s, %.30q: %.300s", name, evil, body)
				}
			} else if form, err := url.ParseQuery(body); err != nil || len(form) != 3 || len(form["To"]) != 1 {
				t.Errorf("%s, %.30q: %.300s", name, evil, body)
			}
			if len(body) > 64<<10 || r.Header.Get("X-Evil") != "" || strings.Contains(body, "1:abc") {
				t.Errorf("%s, %.30q: %d bytes", name, evil, len(body))
			}
		}
	}
}

// The lengths that the services' documents allow: ntfy "Limitations", Bot API sendMessage, Block Kit,
// Twilio's resource Messages; Teams 28 kB, Matrix 65,536 bytes an event.
func TestLongTextsFitEachService(t *testing.T) {
	s := newShop(t)
	w := s.all(t)
	n := warning(func(n *message.Notice, h *hazard.Hazard) {
		long := strings.Repeat("水 ", 20_000)
		n.Items[0].Place, h.Name, h.Description, h.Texts[0].Name, h.Texts[0].Description, h.Texts[0].Instruction = long, long, long, long, long, long
	})
	field := func(path ...any) func(body string) string {
		return func(body string) string {
			var v any
			if err := json.Unmarshal([]byte(body), &v); err != nil {
				t.Fatal(err)
			}
			for _, p := range path {
				switch p := p.(type) {
				case string:
					v = v.(map[string]any)[p]
				case int:
					v = v.([]any)[p]
				}
			}
			return v.(string)
		}
	}
	runes := func(text string) int { return len([]rune(text)) }
	bytes := func(text string) int { return len(text) }
	for _, c := range []struct {
		service string
		text    func(body string) string
		length  func(text string) int
		most    int
	}{
		{"ntfy", field("message"), bytes, 4096}, {"telegram", field("text"), runes, 4096}, {"slack", field("blocks", 0, "text", "text"), runes, 150}, {"slack", field("blocks", 1, "text", "text"), runes, 3000},
		{"teams", func(body string) string { return body }, bytes, 28_000}, {"matrix", func(body string) string { return body }, bytes, 60_000}, {"signal", field("message"), runes, 2000},
		{"twilio", func(body string) string {
			form, err := url.ParseQuery(body)
			if err != nil {
				t.Fatal(err)
			}
			return form.Get("Body")
		}, runes, 1600},
	} {
		before := len(s.bodies)
		if err := w.Send(t.Context(), Address{Kind: HTTP, Template: c.service, To: s.at(services[c.service].to)}, n); err != nil {
			t.Errorf("%s: %v", c.service, err)
		} else if got := c.length(c.text(s.bodies[before])); got > c.most || got < 50 {
			t.Errorf("%s: a text of %d, want at most %d", c.service, got, c.most)
		}
	}
}

func TestAddressesThatAChannelDoesNotTake(t *testing.T) {
	s := newShop(t)
	w := s.all(t)
	for name, bad := range map[string][]string{
		"ntfy":     {"", "https://ntfy.sh/", "https://ntfy.sh/a/b", "https://192.168.1.1/topic", "http://169.254.169.254/latest", "file:///etc/passwd", "https://u:p@ntfy.sh/topic"},
		"telegram": {"", "1;2", "https://example.org", "12\n", "@a", "../x"}, "slack": {"https://evil.example/services/x", "https://hooks.slack.com.evil.example/x"},
		"matrix": {"", "#room:example.org", "!a b:example.org", "!room:example.org/../../admin\x00"}, "sms": {"", "+0", "5551234", "+1555123456789012345", "+1555 1234567", "+15551234567\n"},
		"nothing": {"x"},
	} {
		for _, to := range bad {
			a := Address{Kind: HTTP, Template: name, To: to}
			if err := w.Check(a); err == nil {
				t.Errorf("%s takes %q", name, to)
			}
			if err := w.Send(t.Context(), a, warning(nil)); !errors.Is(err, Gone) && !errors.Is(err, ErrDisabled) {
				t.Errorf("%s sends to %q: %v", name, to, err)
			}
		}
	}
	if len(s.got) != 0 {
		t.Errorf("%d requests", len(s.got))
	}
	// Unless the operator allows it, internal addresses cannot be reached, even by a recipe.
	inside, err := NewWeb(map[string]Recipe{"matrix": {Template: "matrix", Server: s.server.URL, Secret: "x"}}, outbound.Targets{})
	if err != nil {
		t.Fatal(err)
	}
	if err := inside.Send(t.Context(), Address{Kind: HTTP, Template: "matrix", To: "!room:example.org"}, warning(nil)); err == nil || !strings.Contains(err.Error(), "blocked") || len(s.got) != 0 {
		t.Errorf("%v", err)
	}
}

func TestWhatAServiceAnswers(t *testing.T) {
	s := newShop(t)
	w := s.all(t)
	to := Address{Kind: HTTP, Template: "telegram", To: "12345"}
	for status, want := range map[int]error{200: nil, 403: Gone, 400: Refused, 429: nil, 500: nil, 404: nil, 301: nil} {
		s.status = status
		err := w.Send(t.Context(), to, warning(nil))
		if (err == nil) != (status == 200) || errors.Is(err, Gone) != (want == Gone) || errors.Is(err, Refused) != (want == Refused) {
			t.Errorf("%d: %v", status, err)
		}
		wantSecret(t, err)
		if err != nil && (strings.Contains(err.Error(), "12345") || strings.Contains(err.Error(), "1:abc")) {
			t.Errorf("%d: the error reveals the address or the secret: %v", status, err)
		}
	}
}

func TestChannelsOfAFolder(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("telegram.yaml", "template: telegram\nsecret_file: token\nlimit: {minute: 60, address: 5}\n")
	write("token", "1:abc\n")
	write("pager.yaml", "about: a pager\nto: '[0-9]{4}'\nurl: 'https://pager.example/{{path .To}}'\nheaders: {Content-Type: application/json}\nbody: '{\"text\": {{json .SMS}}}'\n")
	recipes, err := Recipes(dir)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWeb(recipes, outbound.Targets{})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Names(); len(got) != 2 || got["pager"] != "a pager" || recipes["telegram"].Secret != "1:abc" || recipes["telegram"].Limit.Address != 5 {
		t.Errorf("%v, %+v", got, recipes)
	}
	for name, bad := range map[string]string{"no secret": "template: telegram", "no such template": "template: pigeon", "unknown member": "template: ntfy\nwings: 2", "not JSON": "template: ntfy\nbody: '{{.Text}}'",
		"no such field": "template: ntfy\nbody: '{{json .Password}}'", "no such function": "template: ntfy\nbody: '{{exec .Text}}'", "method": "template: ntfy\nmethod: DELETE", "nothing": "about: x", "header": "template: ntfy\nheaders: {X: \"{{print \\\"\\\\n\\\"}}\"}"} {
		write("bad.yaml", bad)
		recipes, err := Recipes(dir)
		if err == nil {
			_, err = NewWeb(recipes, outbound.Targets{})
		}
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := Recipes(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that does not exist is accepted")
	}
}

func FuzzTemplates(f *testing.F) {
	f.Add("\"}, {", "\u2028<x>")
	f.Fuzz(func(t *testing.T, name, text string) {
		ready, err := Ready()
		if err != nil {
			t.Fatal(err)
		}
		n := warning(func(n *message.Notice, h *hazard.Hazard) {
			h.Name, h.Texts[0].Instruction, n.ID, n.Name = name, text, text, name
		})
		for key := range maps.Keys(ready) {
			c := services[key].recipe
			c.Template = key
			if c.Server != "" {
				c.Server = "https://example.org"
			}
			s, err := newService(c, ready)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, _, err := s.request("https://example.org/topic", n.View()); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
	})
}

func TestMessagesStayWithinTheirLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		s := Limit(counted(func() { sent++ }), Limits{Minute: 600, Address: 30})
		a, b := Address{Kind: Email, To: "a@example.org"}, Address{Kind: Email, To: "b@example.org"}
		began := time.Now()
		for range 3 { // at once
			if err := s.Send(t.Context(), a, message.Notice{}); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("three messages took %v", took)
		}
		if err := s.Send(t.Context(), a, message.Notice{}); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := s.Send(t.Context(), b, message.Notice{}); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("another address has to wait: %v after %v", err, time.Since(began))
		}
		slow := Limit(counted(func() {}), Limits{Minute: 1})
		if err := slow.Send(t.Context(), a, message.Notice{}); err != nil {
			t.Fatal(err)
		}
		if err := slow.Send(t.Context(), b, message.Notice{}); !errors.As(err, new(Busy)) || !strings.Contains(err.Error(), b.hash()) {
			t.Errorf("%v", err)
		}
		if sent != 5 {
			t.Errorf("%d messages", sent)
		}
	})
}

// counted is a channel that counts.
type counted func()

func (c counted) Send(context.Context, Address, message.Notice) error { c(); return nil }
func (counted) Check(Address) error                                   { return nil }
