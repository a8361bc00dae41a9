package serve_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/tell/publish"
	"github.com/hazardd/hazardd/internal/test/server"
	"github.com/hazardd/hazardd/internal/test/signature"
)

func signingKey(t testing.TB) (key, certificate, root string) {
	t.Helper()
	secret, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signature.KeyPair(t, secret, authority)
}

// Three nodes on one store: two sign, and one does not.
func TestMessagesAreSigned(t *testing.T) {
	key, certificate, root := signingKey(t)
	var config serve.Config
	unsigned := handle(t, func(c *serve.Config) { c.Public = route.PublicRead; config = *c })
	node := func() *inProcess {
		signer, err := publish.OpenSigner(key, certificate)
		if err != nil {
			t.Fatal(err)
		}
		c := config
		c.Signer, c.Metrics = signer, prometheus.NewRegistry()
		p := unsigned.in(t)
		p.Handler = serve.New(c)
		return p
	}
	one, two := node(), node()
	do := func(user, method, path string, body any) server.Answer {
		t.Helper()
		a := unsigned.do(user, method, path, body)
		if a.Status != http.StatusOK && a.Status != http.StatusCreated {
			t.Fatalf("%s %s: %d %s", method, path, a.Status, a.Body)
		}
		return a
	}
	do("root", "PUT", "/organizations/RC/publishing", plainProfile("languages", []string{"en", "ar"}))
	var h item
	do("editor", "POST", "/hazards", flood("description", "Rising <fast> & \"high\"\r\n\tsecond line ]]>",
		"texts", []any{map[string]any{"language": "en"}, map[string]any{"language": "ar", "name": "نهر تانا", "description": "المياه ترتفع"}})).JSON(t, &h)
	do("editor", "PATCH", "/hazards/"+h.UUID, `{"severity_ID":"WARNING"}`)
	do("editor", "POST", "/hazards/"+h.UUID+"/retract", `{"reason":"a gauge was broken"}`)

	entries := do("", "GET", "/cap/feed.atom", nil).Body
	if a := one.do("", "GET", "/cap/feed.atom", nil); !bytes.Equal(a.Body, entries) {
		t.Errorf("with signatures the feed is\n%s\nwithout\n%s", a.Body, entries)
	}
	var signed [][]byte
	for piece := range bytes.SplitSeq(entries, []byte("<id>https://hazardd.example/cap/")) {
		name, _, ok := strings.Cut(string(piece), ".xml</id>")
		if !ok {
			continue
		}
		path := "/cap/" + name + ".xml"
		plain, a, b := do("", "GET", path, nil), one.do("", "GET", path, nil), two.do("", "GET", path, nil)
		if bytes.Contains(plain.Body, []byte("Signature")) {
			t.Errorf("without a key there is a signature: %s", plain.Body)
		}
		if !bytes.Equal(a.Body, b.Body) || a.Header.Get("ETag") != b.Header.Get("ETag") {
			t.Errorf("the signatures of %s by the nodes differ", path)
		}
		front, back, _ := bytes.Cut(a.Body, []byte("<ds:Signature "))
		_, back, _ = bytes.Cut(back, []byte("</ds:Signature>"))
		if string(front)+string(back) != string(plain.Body) {
			t.Errorf("without its signature %s is\n%s\nnot\n%s", path, string(front)+string(back), plain.Body)
		}
		if err := signature.Verify(t, certificate, root, a.Body); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		packed := one.do("", "GET", path, nil, "Accept-Encoding", "gzip")
		if text := decode(t, packed.Header.Get("Content-Encoding"), packed.Body); !bytes.Equal(text, a.Body) {
			t.Errorf("%s differs in the encoding %s", path, packed.Header.Get("Content-Encoding"))
		}
		signed = append(signed, a.Body)
	}
	if len(signed) != 3 {
		t.Fatalf("%d messages, want an alert, an update and a cancellation", len(signed))
	}
	altered := bytes.Replace(signed[2], []byte("<urgency>"), []byte("<urgency> "), 1)
	if err := signature.Verify(t, certificate, root, altered); err == nil || bytes.Equal(altered, signed[2]) {
		t.Error("a modified message has a valid signature")
	}
	// A document that is no message of an organization is not signed.
	if a := one.do("reader", "GET", "/hazards/"+h.UUID+"?f=cap", nil); a.Status != http.StatusOK || bytes.Contains(a.Body, []byte("Signature")) {
		t.Errorf("f=cap: %d %s", a.Status, a.Body)
	}
	schemaOfCAP(t, signed)
}

func TestTheServiceSignsMessagesWithItsKey(t *testing.T) {
	key, certificate, root := signingKey(t)
	s := start(t, openTo, func(c *app.Config) { c.CAPKey, c.CAPCertificate = key, certificate })
	s.publish(digits(s.RedCross), plainProfile())
	s.hazard("red")
	m, text := s.message("", s.feed("", "/cap/feed.atom").Entries[0].ID)
	if m.Signature == nil {
		t.Fatalf("no signature: %s", text)
	}
	if err := signature.Verify(t, certificate, root, text); err != nil {
		t.Error(err)
	}
}
