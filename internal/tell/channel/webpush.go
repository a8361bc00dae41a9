package channel

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/hazardd/hazardd/internal/auth/secret"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/net/outbound"
	"github.com/hazardd/hazardd/internal/tell/message"
)

// Push sends notices to browsers by Web Push: encrypted for the browser (RFC 8291), and signed with the
// server's key (VAPID, RFC 8292).
type Push struct {
	key     *ecdsa.PrivateKey
	public  string // of key, for browsers that subscribe
	subject string
	targets outbound.Targets
	clients outbound.Clients
	now     func() time.Time

	mu     sync.Mutex
	tokens map[string]token // by the origin of the push service; guarded by mu
}

type token struct {
	text string
	over time.Time
}

// The limits of Web Push.
const (
	maxEndpoint   = 1500
	tokenLife     = 12 * time.Hour // at most a day (RFC 8292, section 2)
	maxTokens     = 64             // there are few push services; others cost only a signature
	pushRecord    = 4096           // the size of a record that push services must accept (RFC 8291, section 4)
	pushOverhead  = 16 + 4 + 1 + 65 + 1 + 16
	pushPlaintext = 3072 // every message is padded to this, so that its length reveals nothing
	maxTTL        = 7 * 24 * time.Hour
)

// SeedFile is the name of the file of PushConfig.Seed in the data folder.
const SeedFile = "webpush.key"

// PushConfig configures a Push.
type PushConfig struct {
	// Seed is a secret of at least 32 bytes from which the server's key is derived. If it changes, every
	// browser has to subscribe again.
	Seed []byte
	// Subject is the contact for push services: an https or mailto address.
	Subject string
	// Targets are the allowed addresses of push services.
	Targets outbound.Targets
	Now     func() time.Time
}

// NewPush makes a Push.
func NewPush(c PushConfig) (*Push, error) {
	if len(c.Seed) < 32 {
		return nil, errors.New("web push: the key needs at least 32 bytes")
	}
	if !strings.HasPrefix(c.Subject, "https://") && !strings.HasPrefix(c.Subject, "mailto:") {
		return nil, errors.New("web push: expected an address of https or mailto under which its operator is reached")
	}
	p := &Push{subject: c.Subject, targets: c.Targets, now: c.Now, tokens: map[string]token{}}
	if p.now == nil {
		p.now = time.Now
	}
	var err error
	if p.key, p.public, err = pushKey(c.Seed); err != nil {
		return nil, err
	}
	p.clients = p.targets.Clients(maxIdle)
	return p, nil
}

// pushKey derives the server's key from a seed. public is as browsers take it.
func pushKey(seed []byte) (key *ecdsa.PrivateKey, public string, err error) {
	for i := 0; key == nil; i++ { // one of 2^32 is not below the order of the curve
		raw, err := hkdf.Key(sha256.New, seed, nil, "hazardd web push key "+strconv.Itoa(i), 32)
		if err != nil {
			return nil, "", err
		}
		if k, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw); err == nil {
			key = k
		}
	}
	point, err := key.PublicKey.Bytes()
	return key, base64.RawURLEncoding.EncodeToString(point), err
}

// PushKeyIn returns the public key of the seed in a file, as Push.PublicKey does.
func PushKeyIn(path string) (string, error) {
	seed, err := secret.Seed(path, false, "send messages in our name")
	if err != nil {
		return "", fmt.Errorf("key of Web Push: %w", err)
	}
	_, public, err := pushKey(seed)
	return public, err
}

// PublicKey returns the server's key for PushManager.subscribe: base64url of the point on P-256.
func (p *Push) PublicKey() string { return p.public }

// Close closes idle connections.
func (p *Push) Close() { p.clients.Close() }

// subscription is the address of a browser: PushSubscription.toJSON (Push API, section 8).
type subscription struct {
	Endpoint string `json:"endpoint"`
	Keys     struct {
		P256dh string `json:"p256dh"`
		Auth   string `json:"auth"`
	} `json:"keys"`
}

// Check returns what is wrong with a PushSubscription.
func (p *Push) Check(to Address) error {
	_, _, _, err := p.read(to.To)
	return err
}

func (p *Push) read(text string) (endpoint string, key *ecdh.PublicKey, secret []byte, err error) {
	var s subscription
	if len(text) > 2*maxEndpoint || json.Unmarshal([]byte(text), &s) != nil || s.Endpoint == "" || len(s.Endpoint) > maxEndpoint {
		return "", nil, nil, errors.New("expected the output of PushSubscription.toJSON: endpoint, keys.p256dh, keys.auth")
	}
	if p.targets.Check(s.Endpoint) != nil {
		return "", nil, nil, errors.New("endpoint: expected the https address of a push service")
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s.Keys.P256dh, "="))
	if err == nil {
		key, err = ecdh.P256().NewPublicKey(raw)
	}
	if err != nil {
		return "", nil, nil, errors.New("keys.p256dh: expected an uncompressed point on P-256 in base64url")
	}
	if secret, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(s.Keys.Auth, "=")); err != nil || len(secret) != 16 {
		return "", nil, nil, errors.New("keys.auth: expected 16 bytes in base64url")
	}
	return s.Endpoint, key, secret, nil
}

// Send sends a notice to a browser.
func (p *Push) Send(ctx context.Context, to Address, n message.Notice) error {
	endpoint, key, secret, err := p.read(to.To)
	if err != nil {
		return fmt.Errorf("%v: %w: %w", to, err, Gone)
	}
	text, err := json.Marshal(n.Push())
	if err != nil {
		return fmt.Errorf("%v: write the message: %w", to, err)
	}
	body, err := encrypt(text, key, secret)
	if err != nil {
		return fmt.Errorf("%v: %w", to, err)
	}
	signed, err := p.sign(endpoint)
	if err != nil {
		return fmt.Errorf("%v: %w", to, err)
	}
	header := http.Header{
		"Authorization":    {"vapid t=" + signed + ", k=" + p.public},
		"Content-Encoding": {"aes128gcm"},
		"Content-Type":     {"application/octet-stream"},
		"Ttl":              {strconv.Itoa(int(p.ttl(&n) / time.Second))},
		"Urgency":          {urgency(&n)},
	}
	if n.Thread != "" { // a later message replaces one that waits
		sum := sha256.Sum256([]byte("hazardd topic\x00" + n.Thread))
		header.Set("Topic", base64.RawURLEncoding.EncodeToString(sum[:24]))
	}
	ctx, cancel := context.WithTimeout(ctx, outbound.AttemptTimeout)
	defer cancel()
	status, wait, err := p.targets.Post(ctx, p.clients, endpoint, header, string(body))
	return result(to, "push service", status, wait, err, http.StatusNotFound, http.StatusGone)
}

// ttl returns how long a push service keeps a message for a device that is off: until the hazard ends,
// and at least an hour for the message about the end.
func (p *Push) ttl(n *message.Notice) time.Duration {
	ttl := 24 * time.Hour
	if len(n.Items) == 1 && n.Items[0].Hazard.Status == hazard.Active && n.Items[0].Hazard.AutoExpire {
		ttl = n.Items[0].Hazard.End.Time().Sub(p.now())
	}
	return min(max(ttl, time.Hour), maxTTL)
}

// urgency returns whether the message may wake the device (RFC 8030, section 5.3).
func urgency(n *message.Notice) string {
	if n.Kind == message.Withdrawn || n.Kind == message.Correction || n.Kind == message.Confirm {
		return "high"
	}
	switch s := n.Urgency(); {
	case s == hazard.Warning:
		return "high"
	case s >= hazard.Advisory:
		return "normal"
	}
	return "low"
}

// sign returns a VAPID token for the origin of an endpoint. It reuses tokens for half of their life.
func (p *Push) sign(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", errors.New("endpoint is not an address")
	}
	origin, now := u.Scheme+"://"+strings.ToLower(u.Host), p.now()
	p.mu.Lock()
	t, ok := p.tokens[origin]
	p.mu.Unlock()
	if ok && t.over.Sub(now) > tokenLife/2 && t.over.Sub(now) <= tokenLife {
		return t.text, nil
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: p.key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("sign for a push service: %w", err)
	}
	t = token{over: now.Add(tokenLife)}
	claims, err := json.Marshal(map[string]any{"aud": origin, "exp": t.over.Unix(), "sub": p.subject})
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(claims)
	if err == nil {
		t.text, err = signed.CompactSerialize()
	}
	if err != nil {
		return "", fmt.Errorf("sign for a push service: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tokens) >= maxTokens {
		clear(p.tokens)
	}
	p.tokens[origin] = t
	return t.text, nil
}

// encrypt encrypts a message for a browser (RFC 8291) in one record (RFC 8188).
func encrypt(text []byte, to *ecdh.PublicKey, secret []byte) ([]byte, error) {
	own, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	var salt [16]byte
	rand.Read(salt[:])
	return seal(text, to, secret, own, salt[:], pushPlaintext)
}

// seal is encrypt with a given key and salt; it pads the text.
func seal(text []byte, to *ecdh.PublicKey, secret []byte, own *ecdh.PrivateKey, salt []byte, padded int) ([]byte, error) {
	if len(text)+pushOverhead > pushRecord {
		return nil, fmt.Errorf("%d bytes are too many for a push message: %w", len(text), Refused)
	}
	shared, err := own.ECDH(to)
	if err != nil {
		return nil, err
	}
	public := own.PublicKey().Bytes()
	info := "WebPush: info\x00" + string(to.Bytes()) + string(public)
	ikm, err := hkdf.Key(sha256.New, shared, secret, info, 32)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	plain := append(bytes.Clone(text), 2) // the delimiter of the last record, then padding
	plain = append(plain, make([]byte, max(0, padded-len(text)))...)
	out := binary.BigEndian.AppendUint32(bytes.Clone(salt), pushRecord)
	out = append(append(out, byte(len(public))), public...)
	return gcm.Seal(out, nonce, plain, nil), nil
}

// result returns the error of a request by the status of its answer. The statuses in gone mean that the
// address is dead.
func result(to Address, what string, status int, wait time.Duration, err error, gone ...int) error {
	if err != nil {
		fault := outbound.FaultOf(err)
		if fault == "timeout" || fault == "connection" { // the request may have been read
			return fmt.Errorf("%v: the %s: %s: %w", to, what, fault, Uncertain)
		}
		return fmt.Errorf("%v: the %s: %s", to, what, fault)
	}
	if status >= 200 && status < 300 {
		return nil
	}
	for _, s := range gone {
		if status == s {
			return fmt.Errorf("%v: the %s answers %d: %w", to, what, status, Gone)
		}
	}
	switch {
	case wait > 0 && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable):
		return fmt.Errorf("%v: the %s answers %d: %w", to, what, status, RetryAfter(wait))
	case status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity:
		return fmt.Errorf("%v: the %s answers %d: %w", to, what, status, Refused)
	}
	return fmt.Errorf("%v: the %s answers %d", to, what, status)
}
