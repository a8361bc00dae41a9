package serve_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/mail"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// mailbox is a mail server that passes its mails on to a reader.
type mailbox struct {
	mails   chan *letter
	address string
}

// letter is a mail with the parts decoded that may contain links.
type letter struct {
	to     string
	header mail.Header
	text   string
}

type mailSession struct {
	*mailbox
	to string
}

func (b *mailbox) NewSession(*smtp.Conn) (smtp.Session, error) { return &mailSession{mailbox: b}, nil }
func (*mailSession) AuthMechanisms() []string                  { return nil }
func (*mailSession) Auth(string) (sasl.Server, error)          { return nil, smtp.ErrAuthUnsupported }
func (*mailSession) Reset()                                    {}
func (*mailSession) Logout() error                             { return nil }
func (*mailSession) Mail(string, *smtp.MailOptions) error      { return nil }
func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	return nil
}
func (s *mailSession) Data(r io.Reader) error {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(m.Body)
	if err != nil {
		return err
	}
	text := strings.NewReplacer("=\r\n", "", "=3D", "=", "\r\n", "\n").Replace(string(body))
	s.mails <- &letter{s.to, m.Header, text}
	return nil
}

func newMailbox(t *testing.T) *mailbox {
	t.Helper()
	b := &mailbox{mails: make(chan *letter, 20)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.address = l.Addr().String()
	server := smtp.NewServer(b)
	var wait sync.WaitGroup
	wait.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() { _, _ = server.Close(), l.Close(); wait.Wait() }) // the listener too, because Serve may begin only now
	return b
}

const publicAddress = "https://hazards.example"

// posted serves with a mail server and a public address.
func posted(t *testing.T, alter ...func(*app.Config)) (*world, *mailbox) {
	t.Helper()
	box := newMailbox(t)
	s := start(t, append([]func(*app.Config){func(c *app.Config) {
		c.PublicURL = publicAddress
		c.Channels = app.Channels{SMTP: "smtp://" + box.address, SMTPFrom: "hazards@example.org"}
	}}, alter...)...)
	// Connect to the service without TLS, like a proxy that terminates TLS for the public address.
	s.client.Transport.(*http.Transport).DialTLSContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.Addr().String())
	}
	return s, box
}

// next returns the next mail.
func (b *mailbox) next(t *testing.T) *letter {
	t.Helper()
	select {
	case l := <-b.mails:
		return l
	case <-time.After(time.Minute):
		t.Fatal("no mail comes")
		return nil
	}
}

// link returns the path and query of a mail's link to confirm, unsubscribe or manage.
func (l *letter) link(t *testing.T, what string) string {
	t.Helper()
	m := regexp.MustCompile(regexp.QuoteMeta(publicAddress) + `(/subscriptions/` + what + `\?token=[\w.-]+)`).FindStringSubmatch(l.text)
	if m == nil {
		t.Fatalf("no link to %s in\n%s", what, l.text)
	}
	return m[1]
}

// visitLink opens a link like a browser, and checks the promises of every such page.
func (w *world) visitLink(t *testing.T, method, link string, status int, header ...string) string {
	t.Helper()
	a := w.do("", method, link, nil, append([]string{"Accept", "text/html"}, header...)...)
	html := string(a.Body)
	if a.Status != status || a.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.HasPrefix(a.Header.Get("Content-Security-Policy"), "default-src 'none'; ") || a.Header.Get("Referrer-Policy") != "no-referrer" || a.Header.Get("Cache-Control") != "no-store" || !strings.Contains(html, `<meta name="referrer" content="no-referrer">`) ||
		strings.Contains(html, "<script") || a.Header.Get("Set-Cookie") != "" {
		t.Errorf("%s %s: %d %v %.300s", method, link, a.Status, a.Header, html)
	}
	return html
}

// sendForm sends a form of such a page like a browser.
func (w *world) sendForm(t *testing.T, link, body string, status int) string {
	t.Helper()
	a := w.do("", "POST", link, body, "Accept", "text/html", "Content-Type", "application/x-www-form-urlencoded")
	if a.Status != status || a.Header.Get("Content-Type") != "text/html; charset=utf-8" || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("POST %s %s: %d %v %.300s", link, body, a.Status, a.Header, a.Body)
	}
	return string(a.Body)
}

// The links in messages work, from the first mail to the last click.
func TestTheLinksOfMessages(t *testing.T) {
	t.Parallel() // it waits more than it works
	var logs bytes.Buffer
	s, box := posted(t, func(c *app.Config) {
		c.Public, c.Logger = route.PublicRead, slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	a := s.do("reader", "POST", "/subscriptions", `{"name":"<b>Home","where":{"points":[{"lon":20,"lat":10,"radius_km":50,"name":"cabin"}],"regions":["KE"]},"types":["FLOOD"],"severity_min":"WATCH",
		"quiet":{"from":"00:00","to":"00:01"},"time_zone":"Africa/Nairobi","drills":true,"people_min":0,"digest":"none","channels":[{"kind":"email","to":"ann@example.org"}]}`)
	if a.Status != 201 || !strings.Contains(string(a.Body), `"status":"unconfirmed"`) {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	first := box.next(t)
	confirm := first.link(t, "confirm")
	s.hazard("red") // the address is not confirmed yet
	for range 2 {   // a scanner follows links
		if html := s.visitLink(t, "GET", confirm, 200); !strings.Contains(html, "Somebody asked this service") || !strings.Contains(html, `method="post"`) || strings.Contains(html, "ann@") {
			t.Error(html)
		}
	}
	if html := s.visitLink(t, "GET", confirm, 200, "Accept-Language", "ar"); !strings.Contains(html, `<html lang="ar" dir="rtl">`) {
		t.Error(html)
	}
	if html := s.visitLink(t, "GET", confirm+"&lang=ja", 200); !strings.Contains(html, `<html lang="ja" dir="ltr">`) {
		t.Error(html)
	}
	if a := s.do("reader", "GET", "/subscriptions", nil); !strings.Contains(string(a.Body), `"status":"unconfirmed"`) {
		t.Errorf("a GET has confirmed: %s", a.Body)
	}
	for range 2 { // another origin does not matter, because only the token counts
		if html := s.visitLink(t, "POST", confirm, 200, "Origin", "null", "Sec-Fetch-Site", "cross-site"); !strings.Contains(html, "Your address is confirmed") {
			t.Error(html)
		}
	}
	h := s.hazard("red", "hazard_Name", "River <i>rises")
	told := box.next(t)
	if told.to != "ann@example.org" || !strings.Contains(told.text, "River") {
		t.Fatalf("%s: %s", told.to, told.text)
	}
	if !strings.Contains(told.text, h.UUID) {
		t.Errorf("another hazard: %s", told.text)
	}

	manage := told.link(t, "manage")
	html := s.visitLink(t, "GET", manage, 200)
	for deadline := time.Now().Add(time.Minute); !strings.Contains(html, "River &lt;i&gt;rises") && time.Now().Before(deadline); html = s.visitLink(t, "GET", manage, 200) {
		time.Sleep(20 * time.Millisecond) // the mail has arrived, but may not be recorded as sent yet
	}
	for _, want := range []string{"&lt;b&gt;Home", "ann@example.org", "cabin", "KE", "Flood", "Watch", "00:00", "Africa/Nairobi", "at once", "River &lt;i&gt;rises", "EAT"} {
		if !strings.Contains(html, want) {
			t.Errorf("without %q: %s", want, html)
		}
	}
	if strings.Contains(html, "<i>r") || strings.Contains(html, "hidden:") {
		t.Error(html)
	}
	if html := s.visitLink(t, "GET", manage+"&lang=ar", 200); !strings.Contains(html, `dir="rtl"`) || !strings.Contains(html, "اشتراكك") {
		t.Error(html)
	}

	// The page can also change the subscription.
	change := strings.Replace(manage, "/manage?", "/change?", 1)
	form := func(link, body string, status int) string { return s.sendForm(t, link, body, status) }
	if html := form(change, "status=paused", 200); !strings.Contains(html, "Saved.") || !strings.Contains(html, "The subscription is paused") || !strings.Contains(html, ">Resume</button>") {
		t.Error(html)
	}
	if html := form(change, "status=active", 200); strings.Contains(html, "is paused") || !strings.Contains(html, ">Pause</button>") {
		t.Error(html)
	}
	if html := form(change, "language=fr&severity_min=ADVISORY&digest=none&quiet_from=23:15&quiet_to=06:30&quiet_except=WATCH&radius_km=75.5", 200); !strings.Contains(html, `value="23:15"`) {
		t.Error(html)
	}
	a = s.do("reader", "GET", "/subscriptions", nil)
	for _, want := range []string{`"language":"fr"`, `"severity_min":"ADVISORY"`, `"from":"23:15"`, `"to":"06:30"`, `"except":"WATCH"`, `"radius_km":75.5`, `"regions":["KE"]`, `"types":["FLOOD"]`, `"to":"ann@example.org"`, `"status":"active"`} {
		if !strings.Contains(string(a.Body), want) {
			t.Errorf("without %s: %s", want, a.Body)
		}
	}
	for body, want := range map[string]string{
		"radius_km=0":                         "radius_km: 0 is not from above 0 to 2000",
		"radius_km=x":                         "radius_km: &#34;x&#34; is not a number of km",
		"quiet_from=25:00&quiet_to=06:30":     "quiet/from: &#34;25:00&#34; is not a time of day",
		"status=gone":                         "status: &#34;gone&#34; is neither active nor paused",
		"severity_min=GRAVE":                  "severity_min: &#34;GRAVE&#34; is not a severity",
		"channels=x":                          "channels: is no field of this form",
		"status=paused&status=active":         "status: is given 2 times",
		"quiet_except=GRAVE&quiet_from=22:00": "quiet_except: &#34;GRAVE&#34; is not a severity",
	} {
		if html := form(change+"&lang=en", body, 400); !strings.Contains(html, "Nothing was changed") || !strings.Contains(html, want) {
			t.Errorf("%s: %s", body, html)
		}
	}
	if html := form(change+"&lang=en", "quiet_from=&quiet_to=&quiet_except=WARNING", 200); strings.Contains(html, `value="23:15"`) {
		t.Error(html)
	}
	form(strings.Replace(told.link(t, "unsubscribe"), "/unsubscribe?", "/change?", 1), "status=paused", 404) // a link for another purpose
	form(change+"x", "status=paused", 404)
	if html := s.visitLink(t, "GET", change, 200); !strings.Contains(html, `<option value="fr" selected>Français</option>`) || !strings.Contains(html, `<html lang="fr"`) {
		t.Error(html)
	}

	form(change, "language=en", 200)

	stop := told.link(t, "unsubscribe")
	if list := told.header.Get("List-Unsubscribe"); list != "<"+publicAddress+stop+">" || told.header.Get("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" {
		t.Errorf("List-Unsubscribe: %q, %q", list, told.header.Get("List-Unsubscribe-Post"))
	}
	if html := s.visitLink(t, "GET", stop, 200); !strings.Contains(html, "No more messages about hazards will come here") {
		t.Error(html)
	}
	// An invalid link leads nowhere, and all of them get the same answer.
	for _, link := range []string{strings.Replace(manage, "token=manage", "token=unsubscribe", 1), manage + "x", manage + "&token=x", strings.Replace(stop, "unsubscribe?", "manage?", 1)} {
		for _, method := range []string{"GET", "POST"} {
			if html := s.visitLink(t, method, link, 404); !strings.Contains(html, "This link leads nowhere") {
				t.Errorf("%s %s: %s", method, link, html)
			}
		}
	}
	for _, path := range []string{"/subscriptions/confirm", "/subscriptions/unsubscribe?token=", "/subscriptions/manage?token=manage.a.b.c.0.d"} {
		for _, method := range []string{"GET", "POST"} {
			if a := s.do("", method, path, nil); a.Status != 404 || !strings.Contains(string(a.Body), "This link leads nowhere") {
				t.Errorf("%s %s: %d %s", method, path, a.Status, a.Body)
			}
		}
	}
	for range 2 { // a mail server without cookies, Origin or Accept
		a := s.do("", "POST", stop, "List-Unsubscribe=One-Click", "Content-Type", "application/x-www-form-urlencoded")
		if a.Status != 200 || !strings.Contains(string(a.Body), "No more messages come here") {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	s.hazard("red")
	s.do("red", "POST", "/hazards/"+h.UUID+"/retract", `{"reason":"a false alarm"}`)
	s.do("root", "POST", "/subscriptions", `{"channels":[{"kind":"email","to":"bob@example.org"}],"confirmed":true}`)
	s.hazard("red")
	if last := box.next(t); last.to != "bob@example.org" || len(box.mails) > 0 {
		t.Errorf("an unexpected mail to %s", last.to)
	} else if html := s.visitLink(t, "POST", last.link(t, "manage"), 200); !strings.Contains(html, "No more messages come here") {
		t.Error(html)
	}
	s.visitLink(t, "GET", manage, 404)
	if a := s.do("root", "GET", "/subscriptions", nil); string(a.Body) != "[]" {
		t.Errorf("%s", a.Body)
	}
	audit := string(s.do("root", "GET", "/audit", nil).Body)
	for _, link := range []string{confirm, manage, stop} {
		_, signature, _ := strings.Cut(link[strings.LastIndex(link, ".")-1:], ".")
		if strings.Contains(logs.String(), signature) || strings.Contains(audit, signature) {
			t.Errorf("a token is in the log or the audit: %s", link)
		}
	}
	if strings.Contains(logs.String(), "ann@example.org") || !strings.Contains(audit, "subscription.unsubscribe") || !strings.Contains(audit, "subscription.confirm") {
		t.Errorf("%s\n%s", logs.String(), audit)
	}
}

// On a public server an address is enough for a subscription, on others it is not, and an invalid
// token never is.
func TestASubscriptionWithoutAnAccount(t *testing.T) {
	t.Parallel() // it waits more than it works
	s, box := posted(t, func(c *app.Config) { c.Public = route.PublicRead })
	draft := `{"where":{"points":[{"lon":20,"lat":10,"radius_km":50}]},"channels":[{"kind":"email","to":"eve@example.org"}]}`
	a := s.do("", "POST", "/subscriptions", draft)
	if a.Status != 201 || strings.Contains(string(a.Body), "eve@") || !strings.Contains(string(a.Body), `"status":"unconfirmed"`) {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := s.do("", "GET", "/subscriptions", nil); a.Status != 403 {
		t.Errorf("the list: %d", a.Status)
	}
	s.hazard("red")
	first := box.next(t)
	s.visitLink(t, "POST", first.link(t, "confirm"), 200)
	h := s.hazard("red")
	if told := box.next(t); told.to != "eve@example.org" || !strings.Contains(told.text, h.UUID) {
		t.Errorf("%s: %s", told.to, told.text)
	}
	for body, status := range map[string]int{
		`{"channels":[{"kind":"email","to":"eve@example.org"}]}`:                                                  400, // without a place
		`{"where":{"regions":["KE"]},"channels":[{"kind":"http","to":"https://a.example/x","template":"slack"}]}`: 400,
		`{"where":{"regions":["KE"]},"channels":[{"kind":"email","to":"eve@example.org"}],"confirmed":true}`:      403,
		`{"where":{"regions":["KE"]},"channels":[{"kind":"webpush","to":"{}"}]}`:                                  400,
	} {
		if a := s.do("", "POST", "/subscriptions", body); a.Status != status {
			t.Errorf("%s: %d %s, want %d", body, a.Status, a.Body, status)
		}
	}
	if a := s.do("", "POST", "/subscriptions", draft, "Authorization", "Bearer x"); a.Status != 403 {
		t.Errorf("a false token: %d", a.Status)
	}
	if a := s.do("", "POST", "/subscriptions", draft, "Content-Type", "text/plain"); a.Status != 415 {
		t.Errorf("as any web page could send it: %d %s", a.Status, a.Body)
	}
	for range 2 { // with the first, three per day
		if a := s.do("", "POST", "/subscriptions", draft); a.Status != 201 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		box.next(t)
	}
	// However the inbox is spelled, nothing more comes; and whoever asks does not learn that.
	for _, to := range []string{"eve@example.org", "EVE@Example.org", "eve+x@example.org"} {
		if a := s.do("", "POST", "/subscriptions", strings.Replace(draft, "eve@example.org", to, 1)); a.Status != 201 {
			t.Errorf("%s: %d %s", to, a.Status, a.Body)
		}
	}
	last := 0
	for i := range 20 {
		last = s.do("", "POST", "/subscriptions", strings.Replace(draft, "eve", fmt.Sprint("eve", i), 1)).Status
	}
	if last != 429 {
		t.Errorf("one network asks for more than its share: %d", last)
	}
	if a := s.do("reader", "POST", "/subscriptions", strings.Replace(draft, "eve", "rita", 1)); a.Status != 201 {
		t.Errorf("a user beside strangers: %d %s", a.Status, a.Body)
	}
	for range 18 { // 17 of the 20 of this network are left for other inboxes
		if m := box.next(t); strings.HasPrefix(strings.ToLower(m.to), "eve@") || strings.HasPrefix(m.to, "eve+") {
			t.Errorf("a fourth mail to one inbox: %s", m.to)
		}
	}
	closed, _ := posted(t)
	if a := closed.do("", "POST", "/subscriptions", draft); a.Status != 403 {
		t.Errorf("on a server that is not public: %d", a.Status)
	}
}

// The number of tried links and page requests per address is limited.
func TestPagesOfLinksAreLimited(t *testing.T) {
	s, _ := posted(t, func(c *app.Config) { c.PublicLimits.Rate = 1 })
	refused := 0
	for range 40 {
		a := s.do("", "GET", "/subscriptions/manage?token=x", nil, "Accept", "text/html")
		if a.Status == http.StatusTooManyRequests && a.Header.Get("Retry-After") != "" {
			refused++
		} else if a.Status != 404 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	if refused == 0 {
		t.Error("none of 40 requests was refused")
	}
}
