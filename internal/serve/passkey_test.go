package serve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/test/server"
)

// authenticator is a device with one passkey, written from Web Authentication Level 3, sections 6.1
// and 6.5.4, with CBOR by hand.
type authenticator struct {
	key    *ecdsa.PrivateKey
	id     []byte
	handle string // base64url
	rpID   string
	count  uint32
	flags  byte
	still  bool // it does not count, as passkeys that are copied between devices
}

const (
	userPresent, userVerified = 1, 4
	hasKey                    = 0x40
)

func newAuthenticator(t *testing.T) *authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 32)
	rand.Read(id)
	return &authenticator{key: key, id: id, rpID: strings.TrimPrefix(publicAddress, "https://"), flags: userPresent | userVerified}
}

var b64 = base64.RawURLEncoding

func (a *authenticator) data(flags byte, more ...byte) []byte {
	sum := sha256.Sum256([]byte(a.rpID))
	return append(binary.BigEndian.AppendUint32(append(sum[:], flags), a.count), more...)
}

func clientData(kind, challenge, origin string) []byte {
	text, err := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": origin, "crossOrigin": false})
	if err != nil {
		panic(err)
	}
	return text
}

// create is navigator.credentials.create on a page of origin.
func (a *authenticator) create(t *testing.T, options json.RawMessage, origin string) map[string]any {
	t.Helper()
	var o struct {
		Challenge string
		User      struct{ ID string }
	}
	if err := json.Unmarshal(options, &o); err != nil {
		t.Fatal(err)
	}
	a.handle = o.User.ID
	point, err := a.key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	cose := append([]byte{0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32}, point[1:33]...)
	cose = append(append(cose, 0x22, 0x58, 32), point[33:]...)
	more := append(make([]byte, 16), 0, byte(len(a.id)))
	data := a.data(a.flags|hasKey, append(append(more, a.id...), cose...)...)
	object := append([]byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58"), byte(len(data)))
	object = append(object, data...)
	return map[string]any{"id": b64.EncodeToString(a.id), "rawId": b64.EncodeToString(a.id), "type": "public-key", "clientExtensionResults": map[string]any{},
		"response": map[string]any{"clientDataJSON": b64.EncodeToString(clientData("webauthn.create", o.Challenge, origin)), "attestationObject": b64.EncodeToString(object), "transports": []string{"internal"}}}
}

// get is navigator.credentials.get on a page of origin.
func (a *authenticator) get(t *testing.T, options json.RawMessage, origin string) map[string]any {
	t.Helper()
	var o struct{ Challenge string }
	if err := json.Unmarshal(options, &o); err != nil {
		t.Fatal(err)
	}
	if !a.still {
		a.count++
	}
	client, data := clientData("webauthn.get", o.Challenge, origin), a.data(a.flags)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(data[:len(data):len(data)], hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"id": b64.EncodeToString(a.id), "rawId": b64.EncodeToString(a.id), "type": "public-key", "clientExtensionResults": map[string]any{},
		"response": map[string]any{"clientDataJSON": b64.EncodeToString(client), "authenticatorData": b64.EncodeToString(data), "signature": b64.EncodeToString(signature), "userHandle": a.handle}}
}

// keyed serves at a public address, as behind a proxy that ends TLS.
func keyed(t *testing.T, alter ...func(*app.Config)) *world {
	t.Helper()
	s := start(t, append([]func(*app.Config){func(c *app.Config) { c.PublicURL = publicAddress }}, alter...)...)
	s.client.Transport.(*http.Transport).DialTLSContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.Addr().String())
	}
	return s
}

type factorAnswer struct {
	State, ID string
	PublicKey json.RawMessage
	Recovery  []string `json:"recovery_codes"`
}

// offer returns options for a new passkey of a user.
func (w *world) offer(t *testing.T, user string, more ...string) json.RawMessage {
	t.Helper()
	body := map[string]string{"kind": "passkey", "password": server.Password}
	if len(more) > 0 {
		body["otp"] = more[0]
	}
	a := w.do(user, "POST", "/account/factors", body)
	var out factorAnswer
	if a.JSON(t, &out); a.Status != 200 || out.State != "pending" || len(out.PublicKey) == 0 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	return out.PublicKey
}

func (w *world) addPasskey(user, name string, credential any) server.Answer {
	w.t.Helper()
	return w.do(user, "POST", "/account/factors", map[string]any{"kind": "passkey", "credential": credential, "name": name})
}

// ask returns options for a login.
func (w *world) ask(t *testing.T) json.RawMessage {
	t.Helper()
	a := w.do("", "POST", "/login/passkey/options", nil)
	var out struct{ PublicKey json.RawMessage }
	if a.JSON(t, &out); a.Status != 200 || a.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v %s", a.Status, a.Header, a.Body)
	}
	return out.PublicKey
}

func (w *world) byPasskey(credential any) server.Answer {
	w.t.Helper()
	return w.do("", "POST", "/login/passkey", map[string]any{"credential": credential})
}

func asText(t *testing.T, credential any) string {
	t.Helper()
	text, err := json.Marshal(credential)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A passkey is registered, listed, named, used for a login and as second factor, and removed.
func TestAPasskeyOfAnAccount(t *testing.T) {
	s := keyed(t)
	a := newAuthenticator(t)
	added := s.addPasskey("red", "Laptop", a.create(t, s.offer(t, "red"), publicAddress))
	var state factorAnswer
	if added.JSON(t, &state); added.Status != 200 || state.State != "active" || len(state.Recovery) != 10 {
		t.Fatalf("%d %s", added.Status, added.Body)
	}
	in := s.byPasskey(a.get(t, s.ask(t), publicAddress))
	var pair struct{ AccessToken string }
	if in.JSON(t, &pair); in.Status != 200 {
		t.Fatalf("%d %s", in.Status, in.Body)
	}
	if a := s.do("", "GET", "/account", nil, "Authorization", "Bearer "+pair.AccessToken); a.Status != 200 || !strings.Contains(string(a.Body), `"name":"red"`) {
		t.Errorf("the token of the login: %d %s", a.Status, a.Body)
	}
	login := func(otp string) server.Answer {
		body := map[string]string{"username": "red", "password": server.Password}
		if otp != "" {
			body["otp"] = otp
		}
		return s.do("", "POST", "/authorize", body)
	}
	if a := login(""); a.Status != 401 || a.Header.Get("Hazardd-Second-Factor") != "passkey" {
		t.Errorf("the password alone: %d %v", a.Status, a.Header)
	}
	second := asText(t, a.get(t, s.ask(t), publicAddress))
	if a := login(second); a.Status != 200 {
		t.Errorf("password and passkey: %d %s", a.Status, a.Body)
	}
	if a := login(second); a.Status != 401 {
		t.Errorf("the same answer again: %d %s", a.Status, a.Body)
	}
	if a := login(state.Recovery[0]); a.Status != 200 {
		t.Errorf("a recovery code: %d %s", a.Status, a.Body)
	}
	if a := s.do("red", "PATCH", "/account/factors/"+state.ID, map[string]string{"name": "Old laptop"}); a.Status != 200 || !strings.Contains(string(a.Body), `"Old laptop"`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := s.do("red", "PATCH", "/account/factors/0000", map[string]string{"name": "x"}); a.Status != 404 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	list := string(s.do("red", "GET", "/account/factors", nil).Body)
	if !strings.Contains(list, `"Old laptop"`) || !strings.Contains(list, `"recovery_codes_left":9`) || !strings.Contains(list, `"passkeys_off":""`) || strings.Contains(list, `"last_used":null`) {
		t.Errorf("%s", list)
	}
	fresh := s.do("red", "POST", "/account/factors", map[string]string{"kind": "recovery", "password": server.Password, "otp": asText(t, a.get(t, s.ask(t), publicAddress))})
	var renewed factorAnswer
	if fresh.JSON(t, &renewed); fresh.Status != 200 || len(renewed.Recovery) != 10 {
		t.Fatalf("new codes: %d %s", fresh.Status, fresh.Body)
	}
	remove := func(otp string) server.Answer {
		return s.do("red", "POST", "/account/factors", map[string]any{"kind": "passkey", "id": state.ID, "remove": true, "password": server.Password, "otp": otp})
	}
	if a := remove(state.Recovery[1]); a.Status != 401 {
		t.Errorf("an old recovery code: %d %s", a.Status, a.Body)
	}
	if a := remove(renewed.Recovery[0]); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := login(""); a.Status != 200 {
		t.Errorf("without a factor: %d %s", a.Status, a.Body)
	}
	if a := s.byPasskey(a.get(t, s.ask(t), publicAddress)); a.Status != 401 {
		t.Errorf("a removed passkey: %d %s", a.Status, a.Body)
	}
	trail := string(s.do("root", "GET", "/audit?limit=100", nil).Body)
	for _, said := range []string{`"passkey added"`, `"passkey renamed"`, `"passkey removed"`, `"recovery codes renewed"`, "the passkey Laptop", "so there may be a copy of it", "passkey: nobody who may log in has it"} {
		if !strings.Contains(trail, said) {
			t.Errorf("the audit trail lacks %s: %s", said, trail)
		}
	}
}

// What is not the user's passkey, here, now and once, logs nobody in.
func TestPasskeysThatAreRefused(t *testing.T) {
	s := keyed(t)
	a, other := newAuthenticator(t), newAuthenticator(t)
	var state factorAnswer
	for user, d := range map[string]*authenticator{"fire": other, "red": a} {
		added := s.addPasskey(user, "Key", d.create(t, s.offer(t, user), publicAddress))
		if added.Status != 200 {
			t.Fatalf("%d %s", added.Status, added.Body)
		}
		if user == "red" {
			added.JSON(t, &state)
		}
	}
	mine := a.handle
	refused := func(what, why string, credential any) {
		t.Helper()
		if in := s.byPasskey(credential); in.Status != 401 || string(in.Body) != "Authentication failed." {
			t.Errorf("%s: %d %s", what, in.Status, in.Body)
		}
		if trail := string(s.do("root", "GET", "/audit?action=login&limit=1", nil).Body); !strings.Contains(trail, why) {
			t.Errorf("%s: the audit trail says %s, not %q", what, trail, why)
		}
		// A login that succeeds lets the next failures pass without a wait.
		if len(state.Recovery) == 0 {
			return
		}
		in := s.do("", "POST", "/authorize", map[string]string{"username": "red", "password": server.Password, "otp": state.Recovery[0]})
		if state.Recovery = state.Recovery[1:]; in.Status != 200 {
			t.Fatalf("a recovery code: %d %s", in.Status, in.Body)
		}
	}
	once := a.get(t, s.ask(t), publicAddress)
	if in := s.byPasskey(once); in.Status != 200 {
		t.Fatalf("%d %s", in.Status, in.Body)
	}
	refused("the same answer", "counter went from 1 to 1", once)
	challenge := s.ask(t)
	if in := s.byPasskey(a.get(t, challenge, publicAddress)); in.Status != 200 {
		t.Fatalf("%d %s", in.Status, in.Body)
	}
	refused("a used challenge", "the challenge was used before", a.get(t, challenge, publicAddress))
	refused("a page elsewhere", "rigin", a.get(t, s.ask(t), "https://hazards.example.evil.test"))
	refused("a page without TLS", "rigin", a.get(t, s.ask(t), "http://hazards.example"))
	refused("a challenge of nobody", "not one of this server", a.get(t, json.RawMessage(`{"challenge":"`+b64.EncodeToString(make([]byte, 56))+`"}`), publicAddress))
	refused("a challenge to register", "not one of this server", a.get(t, s.offer(t, "reader"), publicAddress))
	a.handle = other.handle
	refused("the handle of another user", "User handle", a.get(t, s.ask(t), publicAddress))
	a.handle = mine
	a.flags = userPresent
	refused("a device that did not verify its user", "passkey: ", a.get(t, s.ask(t), publicAddress))
	a.flags = userPresent | userVerified
	a.rpID = "evil.test"
	refused("a passkey of another site", "passkey: ", a.get(t, s.ask(t), publicAddress))
	a.rpID = other.rpID
	key := a.key
	a.key = other.key
	refused("the signature of another key", "passkey: ", a.get(t, s.ask(t), publicAddress))
	a.key = key
	copied := *a
	if in := s.byPasskey(a.get(t, s.ask(t), publicAddress)); in.Status != 200 {
		t.Fatalf("%d %s", in.Status, in.Body)
	}
	refused("a copy of the key", "there may be a copy", copied.get(t, s.ask(t), publicAddress))
	a.count = 1
	refused("a counter that went back", "there may be a copy", a.get(t, s.ask(t), publicAddress))

	// Without a counter, the challenge is what an answer can use once.
	synced := newAuthenticator(t)
	synced.still = true
	if added := s.addPasskey("reader", "Phone", synced.create(t, s.offer(t, "reader"), publicAddress)); added.Status != 200 {
		t.Fatalf("%d %s", added.Status, added.Body)
	}
	once = synced.get(t, s.ask(t), publicAddress)
	for status := range slices.Values([]int{200, 401}) {
		if in := s.byPasskey(once); in.Status != status {
			t.Errorf("%d %s, want %d", in.Status, in.Body, status)
		}
	}

	// As second factor it proves its own user only.
	body := map[string]string{"username": "red", "password": server.Password, "otp": asText(t, other.get(t, s.ask(t), publicAddress))}
	if in := s.do("", "POST", "/authorize", body); in.Status != 401 || in.Header.Get("Hazardd-Second-Factor") != "passkey" {
		t.Errorf("the passkey of another user: %d %s", in.Status, in.Body)
	}
}

// What a browser makes elsewhere, or for another user, is no passkey.
func TestPasskeysThatAreNotAdded(t *testing.T) {
	s := keyed(t)
	a := newAuthenticator(t)
	refused := func(what string, status int, got server.Answer) {
		t.Helper()
		if got.Status != status {
			t.Errorf("%s: %d %s", what, got.Status, got.Body)
		}
	}
	if r := s.do("red", "POST", "/account/factors", map[string]string{"kind": "passkey", "password": "wrong"}); r.Status != 401 {
		t.Errorf("a wrong password: %d %s", r.Status, r.Body)
	}
	options := s.offer(t, "red")
	refused("a page elsewhere", 400, s.addPasskey("red", "Key", a.create(t, options, "https://evil.test")))
	refused("options of another user", 400, s.addPasskey("fire", "Key", a.create(t, options, publicAddress)))
	refused("no name", 400, s.addPasskey("red", "", a.create(t, options, publicAddress)))
	refused("something else", 400, s.addPasskey("red", "Key", map[string]string{"id": "x"}))
	refused("a challenge to log in", 400, s.addPasskey("red", "Key", a.create(t, s.ask(t), publicAddress)))
	good := a.create(t, options, publicAddress)
	refused("a good one", 200, s.addPasskey("red", "Key", good))
	refused("the same again", 400, s.addPasskey("red", "Key", good))
	refused("the same device for another user", 409, s.addPasskey("fire", "Key", a.create(t, s.offer(t, "fire"), publicAddress)))
}

// Without a public address that has a name there are no passkeys, and the answer says why.
func TestPasskeysNeedAPublicAddress(t *testing.T) {
	s := start(t)
	if a := s.do("red", "GET", "/account/factors", nil); a.Status != 200 || !strings.Contains(string(a.Body), "the operator sets public-url") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	for path, user := range map[string]string{"/login/passkey/options": "", "/login/passkey": "", "/account/factors": "red"} {
		var body any = map[string]any{"credential": map[string]any{}}
		switch path {
		case "/login/passkey/options":
			body = nil
		case "/account/factors":
			body = map[string]string{"kind": "passkey", "password": server.Password}
		}
		if a := s.do(user, "POST", path, body); a.Status != 409 || !strings.Contains(string(a.Body), "public-url") {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
}

// An admin sees who has no second factor, and requires it of roles.
func TestAnAdminRequiresASecondFactor(t *testing.T) {
	s := keyed(t)
	var seen struct{ Required, Configured, Without []string }
	if a := s.do("root", "GET", "/factors", nil); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	} else if a.JSON(t, &seen); len(seen.Required) != 0 || !strings.Contains(strings.Join(seen.Without, " "), "red") {
		t.Errorf("%s", a.Body)
	}
	for body, status := range map[string]int{`{}`: 400, `{"required":["boss"]}`: 400, `{"required":["admin"]}`: 409} {
		if a := s.do("root", "PUT", "/factors", body); a.Status != status {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
		}
	}
	if a := s.do("root", "PUT", "/factors", `{"required":["editor","editor"]}`); a.Status != 200 || !strings.Contains(string(a.Body), `"required":["editor"]`) {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := s.do("red", "GET", "/hazards", nil); a.Status != 403 || !strings.Contains(string(a.Body), "/account/factors") {
		t.Errorf("an editor without one: %d %s", a.Status, a.Body)
	}
	device := newAuthenticator(t)
	var state factorAnswer
	s.addPasskey("red", "Key", device.create(t, s.offer(t, "red"), publicAddress)).JSON(t, &state)
	if a := s.do("red", "GET", "/hazards", nil); a.Status != 200 {
		t.Errorf("with a passkey: %d %s", a.Status, a.Body)
	}
	last := map[string]any{"kind": "passkey", "id": state.ID, "remove": true, "password": server.Password, "otp": state.Recovery[0]}
	if a := s.do("red", "POST", "/account/factors", last); a.Status != 403 {
		t.Errorf("the last one is removed although it is needed: %d %s", a.Status, a.Body)
	}
	s.do("root", "PUT", "/factors", `{"required":[]}`)
	if a := s.do("fire", "GET", "/hazards", nil); a.Status != 200 {
		t.Errorf("not required any more: %d %s", a.Status, a.Body)
	}
}
