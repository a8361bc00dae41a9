package channel

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/net/outbound"
	"github.com/hazardd/hazardd/internal/tell/message"
)

func b64(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEncryptionIsThatOfTheStandard runs the example of RFC 8291, appendix A.
func TestEncryptionIsThatOfTheStandard(t *testing.T) {
	own, err := ecdh.P256().NewPrivateKey(b64(t, "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
	if err != nil {
		t.Fatal(err)
	}
	to, err := ecdh.P256().NewPublicKey(b64(t, "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := seal([]byte("When I grow up, I want to be a watermelon"), to, b64(t, "BTBZMqHH6r4Tts7J_aSIgg"), own, b64(t, "DGv6ra1nlYgDCS1FRnbzlw"), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
	if text := base64.RawURLEncoding.EncodeToString(got); text != want {
		t.Errorf("%s\nwant %s", text, want)
	}
}

// browser is a push service and its browser. It decrypts with an independent implementation of RFC
// 8188 and RFC 8291.
type browser struct {
	t      *testing.T
	server *httptest.Server
	key    *ecdh.PrivateKey
	secret []byte

	mu      sync.Mutex
	status  int
	retry   string
	headers []http.Header
	bodies  [][]byte
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	b := &browser{t: t, status: http.StatusCreated, secret: make([]byte, 16)}
	var err error
	if b.key, err = ecdh.P256().GenerateKey(rand.Reader); err != nil {
		t.Fatal(err)
	}
	rand.Read(b.secret)
	b.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.headers, b.bodies = append(b.headers, r.Header), append(b.bodies, body)
		if b.retry != "" {
			w.Header().Set("Retry-After", b.retry)
		}
		w.WriteHeader(b.status)
		_, _ = io.WriteString(w, "the token of the reader is wrong")
	}))
	t.Cleanup(b.server.Close)
	return b
}

func (b *browser) subscription() string {
	text, err := json.Marshal(map[string]any{"endpoint": b.server.URL + "/push/token-1", "expirationTime": nil, "keys": map[string]string{
		"p256dh": base64.RawURLEncoding.EncodeToString(b.key.PublicKey().Bytes()), "auth": base64.RawURLEncoding.EncodeToString(b.secret)}})
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func (b *browser) decrypt(body []byte) string {
	b.t.Helper()
	salt, size, length := body[:16], binary.BigEndian.Uint32(body[16:20]), int(body[20])
	public, sealed := body[21:21+length], body[21+length:]
	if size != 4096 || len(body) > 4096 || len(sealed) > int(size) {
		b.t.Errorf("a record of %d, a body of %d bytes", size, len(body))
	}
	from, err := ecdh.P256().NewPublicKey(public)
	if err != nil {
		b.t.Fatal(err)
	}
	shared, err := b.key.ECDH(from)
	if err != nil {
		b.t.Fatal(err)
	}
	derive := func(secret, salt []byte, info string, n int) []byte {
		k, err := hkdf.Key(sha256.New, secret, salt, info, n)
		if err != nil {
			b.t.Fatal(err)
		}
		return k
	}
	ikm := derive(shared, b.secret, "WebPush: info\x00"+string(b.key.PublicKey().Bytes())+string(public), 32)
	block, err := aes.NewCipher(derive(ikm, salt, "Content-Encoding: aes128gcm\x00", 16))
	if err != nil {
		b.t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		b.t.Fatal(err)
	}
	plain, err := gcm.Open(nil, derive(ikm, salt, "Content-Encoding: nonce\x00", 12), sealed, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	text := strings.TrimRight(string(plain), "\x00")
	if !strings.HasSuffix(text, "\x02") {
		b.t.Errorf("no mark of the last record: %q", text)
	}
	return strings.TrimSuffix(text, "\x02")
}

func (b *browser) push(t *testing.T) *Push {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(b.server.Certificate())
	p, err := NewPush(PushConfig{Seed: []byte(strings.Repeat("seed", 8)), Subject: "mailto:hazards@example.org", Now: func() time.Time { return noon },
		Targets: outbound.Targets{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, RootCAs: roots}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestABrowserReadsWhatItIsSent(t *testing.T) {
	b := newBrowser(t)
	p := b.push(t)
	to := Address{Kind: WebPush, To: b.subscription()}
	if err := p.Check(to); err != nil {
		t.Fatal(err)
	}
	drill := warning(func(n *message.Notice, h *hazard.Hazard) { n.ID, h.Category = "message-2", hazard.Exercise })
	long := warning(func(n *message.Notice, h *hazard.Hazard) {
		n.Thread, h.Name, h.Texts[0].Instruction = "thread-2", strings.Repeat("水", 100_000), strings.Repeat("\\\"\u2028", 10_000)
	})
	for _, n := range []message.Notice{warning(nil), drill, long} {
		if err := p.Send(t.Context(), to, n); err != nil {
			t.Fatal(err)
		}
	}
	var got []message.Push
	for i, body := range b.bodies {
		var push message.Push
		if err := json.Unmarshal([]byte(b.decrypt(body)), &push); err != nil {
			t.Fatal(err)
		}
		got = append(got, push)
		if len(body) != len(b.bodies[0]) && i < 2 {
			t.Errorf("lengths %d and %d distinguish the messages", len(body), len(b.bodies[0]))
		}
	}
	if g := got[0]; g.Title != "Flood warning for Skagit River, Washington · 12 km from Home" || g.URL != "https://example.org/h/7" || g.Tag != "thread-1" || g.Type != "FLOOD" || !strings.HasPrefix(g.Body, "Move to") {
		t.Errorf("%+v", g)
	}
	if !strings.HasPrefix(got[1].Title, "EXERCISE: ") || !strings.HasPrefix(got[1].Body, "EXERCISE. This is a drill") {
		t.Errorf("%+v", got[1])
	}
	h := b.headers
	if h[0].Get("Urgency") != "high" || h[1].Get("Urgency") != "low" || h[0].Get("Ttl") != "18000" || h[0].Get("Content-Encoding") != "aes128gcm" {
		t.Errorf("%v, %v", h[0], h[1])
	}
	if topic := h[0].Get("Topic"); len(topic) != 32 || topic != h[1].Get("Topic") || topic == h[2].Get("Topic") { // RFC 8030, section 5.4
		t.Errorf("topics %q, %q, %q", topic, h[1].Get("Topic"), h[2].Get("Topic"))
	}
	b.vapid(h[0].Get("Authorization"), p.PublicKey())
	if h[0].Get("Authorization") != h[1].Get("Authorization") {
		t.Error("each message is signed anew")
	}
}

// vapid checks a signature as a push service does (RFC 8292, sections 2 to 4).
func (b *browser) vapid(header, public string) {
	b.t.Helper()
	signed, key, ok := strings.Cut(strings.TrimPrefix(header, "vapid t="), ", k=")
	if !ok || key != public {
		b.t.Fatalf("%q", header)
	}
	from, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), b64(b.t, key))
	if err != nil {
		b.t.Fatal(err)
	}
	jws, err := jose.ParseSignedCompact(signed, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		b.t.Fatal(err)
	}
	payload, err := jws.Verify(from)
	if err != nil {
		b.t.Fatal(err)
	}
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	if err := json.Unmarshal(payload, &claims); err != nil || claims.Aud != b.server.URL || claims.Sub != "mailto:hazards@example.org" || claims.Exp != noon.Add(12*time.Hour).Unix() {
		b.t.Errorf("%s: %+v, %v", payload, claims, err)
	}
}

func TestWhatAPushServiceAnswers(t *testing.T) {
	b := newBrowser(t)
	p := b.push(t)
	to := Address{Kind: WebPush, To: b.subscription()}
	for status, want := range map[int]struct {
		is   error
		wait time.Duration
	}{201: {}, 200: {}, 404: {is: Gone}, 410: {is: Gone}, 413: {is: Refused}, 400: {is: Refused}, 429: {wait: 90 * time.Second}, 500: {}, 403: {}, 302: {}} {
		b.status, b.retry = status, ""
		if want.wait > 0 {
			b.retry = "90"
		}
		err := p.Send(t.Context(), to, warning(nil))
		wantSecret(t, err)
		if (err == nil) != (status < 300) || errors.Is(err, Gone) != (want.is == Gone) || errors.Is(err, Refused) != (want.is == Refused) || Wait(err) != want.wait {
			t.Errorf("%d: %v", status, err)
		}
	}
	b.server.Close()
	if err := p.Send(t.Context(), to, warning(nil)); err == nil || errors.Is(err, Gone) {
		t.Errorf("without a server: %v", err)
	}
}

func TestWhatIsNoPushSubscription(t *testing.T) {
	b := newBrowser(t)
	p, err := NewPush(PushConfig{Seed: make([]byte, 32), Subject: "https://example.org"})
	if err != nil {
		t.Fatal(err)
	}
	good := strings.Replace(b.subscription(), b.server.URL, "https://push.example.org", 1)
	if err := p.Check(Address{Kind: WebPush, To: good}); err != nil {
		t.Errorf("%s: %v", good, err)
	}
	key := base64.RawURLEncoding.EncodeToString(b.key.PublicKey().Bytes())
	for name, bad := range map[string]string{"empty": "", "no JSON": "{", "inside": b.subscription(), "metadata": strings.Replace(good, "push.example.org", "169.254.169.254", 1), "http": strings.Replace(good, "https", "http", 1),
		"point": strings.Replace(good, key, base64.RawURLEncoding.EncodeToString(make([]byte, 65)), 1), "secret": strings.Replace(good, `"auth":"`, `"auth":"AAAA`, 1), "long": strings.Replace(good, "/push/", "/"+strings.Repeat("x", 3000), 1)} {
		if err := p.Check(Address{Kind: WebPush, To: bad}); err == nil {
			t.Errorf("%s is taken", name)
		} else {
			wantSecret(t, err)
		}
		if err := p.Send(t.Context(), Address{Kind: WebPush, To: bad}, warning(nil)); !errors.Is(err, Gone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewPush(PushConfig{Seed: make([]byte, 31), Subject: "https://example.org"}); err == nil {
		t.Error("a short seed is accepted")
	}
	if _, err := NewPush(PushConfig{Seed: make([]byte, 32), Subject: "example.org"}); err == nil {
		t.Error("a contact that is not a URL is accepted")
	}
}
