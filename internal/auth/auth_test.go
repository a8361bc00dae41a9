package auth_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/authtest"
)

const (
	t0     hazard.Instant = 1795240800000
	ms                    = time.Millisecond
	issuer                = "https://hazardd.example"

	// secret is ann's password.
	secret auth.Password = "vexing-lantern-quilt-moor"
)

var home = netip.MustParseAddr("192.0.2.10")

// node returns a service on the store, like one of several nodes.
func node(t testing.TB, store auth.Store, cfg auth.Config) *auth.Service {
	t.Helper()
	cfg.Issuer = issuer
	s := auth.New(store, cfg)
	must(t, s.Reload(t.Context()))
	return s
}

// serve returns a service with a key and the reader ann, whose password is fast to check, in
// organizations 1 and 2.
func serve(t testing.TB, cfg auth.Config) (*auth.Service, *authtest.Store) {
	t.Helper()
	store := authtest.Open(t)
	s := node(t, store, cfg)
	must(t, s.Rotate(t.Context(), t0.Add(-auth.Day)))
	for _, acronym := range []string{"ONE", "TWO", "THREE"} {
		_, err := s.Accounts().AddOrg(t.Context(), auth.Actor{}, acronym, acronym, t0)
		must(t, err)
	}
	addCheap(t, store, "ann", secret)
	must(t, s.Reload(t.Context()))
	return s, store
}

func addCheap(t testing.TB, store auth.Store, name string, p auth.Password) {
	t.Helper()
	must(t, store.CreateUser(t.Context(), auth.User{Name: name, Role: auth.Reader, Orgs: []int64{1, 2},
		PasswordHash: auth.CheapHash(p), Created: t0.Add(-auth.Day)}, auth.Audit{}))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("error %v, want %v", got, want)
	}
}

func login(t testing.TB, s *auth.Service, now hazard.Instant) auth.Pair {
	t.Helper()
	p, err := s.Authorize(t.Context(), "ann", secret, auth.Origin{Addr: home}, now)
	must(t, err)
	return p
}

func verifies(t testing.TB, s *auth.Service, token string, now hazard.Instant) *auth.Caller {
	t.Helper()
	c, err := s.Verify(token, now)
	must(t, err)
	return c
}

func refused(t testing.TB, s *auth.Service, token string, now hazard.Instant) {
	t.Helper()
	c, err := s.Verify(token, now)
	if c != nil {
		t.Fatalf("the token was accepted, for %v", c.Name)
	}
	wantErr(t, err, auth.ErrInvalidToken)
}

// part decodes the n-th part of a token.
func part(t testing.TB, token string, n int) map[string]any {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[n])
	must(t, err)
	var v map[string]any
	must(t, json.Unmarshal(b, &v))
	return v
}

// shared reads a test vector.
func shared(t *testing.T, name string, into any) {
	t.Helper()
	dir := os.Getenv("HAZARDD_SHARED")
	if dir == "" {
		t.Skip("HAZARDD_SHARED is not set: it names the folder of the test vectors")
	}
	b, err := os.ReadFile(filepath.Join(dir, "vectors", name))
	must(t, err)
	must(t, json.Unmarshal(b, into))
}

// vectorService is configured as in jwt/eddsa.json.
func vectorService(t *testing.T) (s *auth.Service, cases []tokenCase, now hazard.Instant) {
	t.Helper()
	var v struct {
		Now      int64
		Iss, Aud string
		Private  map[string]string
		Cases    []tokenCase
	}
	shared(t, "jwt/eddsa.json", &v)
	now = hazard.Instant(v.Now * 1000)
	store := authtest.Open(t)
	newest := ""
	for _, id := range []string{"k1", "k2"} {
		seed, err := base64.RawURLEncoding.DecodeString(v.Private[id])
		must(t, err)
		k := auth.Key{ID: id, Seed: auth.Seed(seed), Created: now.Add(-auth.Day), NotAfter: now.Add(100 * auth.Day)}
		must(t, store.AddKey(t.Context(), k, newest))
		newest = id
	}
	must(t, store.CreateUser(t.Context(), auth.User{Name: "reader1", Role: auth.Reader, Orgs: []int64{7}}, auth.Audit{}))
	// The good refresh token ends 30 d after now, and was issued a minute before now.
	s = auth.New(store, auth.Config{Issuer: v.Iss, Audience: v.Aud, RefreshLife: 30*auth.Day + time.Minute})
	must(t, s.Reload(t.Context()))
	return s, v.Cases, now
}

type tokenCase struct{ Name, Use, Expect, Why, Token string }

func TestTokensOfTheVectorsAreJudgedAsTheySay(t *testing.T) {
	s, cases, now := vectorService(t)
	if len(cases) != 116 {
		t.Errorf("%d cases, want 116", len(cases))
	}
	for _, tt := range cases {
		t.Run(tt.Name, func(t *testing.T) {
			if tt.Use == "refresh" {
				_, err := s.Refresh(t.Context(), tt.Token, auth.Origin{Addr: home}, now)
				if tt.Expect != "accept-if-stored" {
					wantErr(t, err, auth.ErrDenied)
					return
				}
				// Its state is stored on its first use; then it is used up.
				must(t, err)
				_, err = s.Refresh(t.Context(), tt.Token, auth.Origin{Addr: home}, now.Add(time.Minute))
				wantErr(t, err, auth.ErrDenied)
				return
			}
			if tt.Name != "typ rt+jwt used as access" {
				_, err := s.Refresh(t.Context(), tt.Token, auth.Origin{Addr: home}, now)
				wantErr(t, err, auth.ErrDenied)
				if errors.Is(err, auth.ErrInvalidToken) {
					t.Errorf("used to refresh: %v is of two kinds", err)
				}
			}
			c, err := s.Verify(tt.Token, now)
			if again, errAgain := s.Verify(tt.Token, now); (again == nil) != (c == nil) || (err == nil) != (errAgain == nil) {
				t.Errorf("the second answer differs: %v, %v", err, errAgain)
			}
			switch {
			case tt.Expect == "accept" && err != nil:
				t.Error(err)
			case tt.Expect == "reject" || err != nil:
				wantErr(t, err, auth.ErrInvalidToken)
			case c.Name != "reader1" || c.Role != auth.Reader || len(c.Orgs) != 1 || c.Orgs[0] != 7:
				t.Errorf("got %+v", c)
			}
		})
	}
}

func TestWhatIsTooLongCostsNothing(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	for _, token := range []string{strings.Repeat(".", 200_000), strings.Repeat("A", 100_000), strings.Repeat("A", 16<<10) + ".A.A"} {
		if n := testing.AllocsPerRun(100, func() {
			if _, err := s.Verify(token, t0); err == nil {
				t.Fatal("accepted")
			}
		}); n > 2 {
			t.Errorf("%v allocations for %d bytes", n, len(token))
		}
	}
}

func TestNoTokenOfWycheproofIsAccepted(t *testing.T) {
	s, _, now := vectorService(t)
	n := 0
	for _, file := range []string{"json_web_signature", "json_web_crypto", "json_web_key", "json_web_encryption"} {
		var v struct {
			TestGroups []struct {
				Tests []struct {
					TcID     int
					Comment  string
					JWS, JWE json.RawMessage // a string, or an object in the JSON serialization
				}
			}
		}
		shared(t, "wycheproof/"+file+"_test.json", &v)
		for _, g := range v.TestGroups {
			for _, tt := range g.Tests {
				n++
				token := string(append(tt.JWS, tt.JWE...))
				if strings.HasPrefix(token, `"`) {
					must(t, json.Unmarshal([]byte(token), &token))
				}
				if c, err := s.Verify(token, now); c != nil || !errors.Is(err, auth.ErrInvalidToken) {
					t.Errorf("%s %d %s: %v", file, tt.TcID, tt.Comment, err)
				}
				if _, err := s.Refresh(t.Context(), token, auth.Origin{Addr: home}, now); !errors.Is(err, auth.ErrDenied) {
					t.Errorf("%s %d %s to refresh: %v", file, tt.TcID, tt.Comment, err)
				}
			}
		}
	}
	if n != 649 {
		t.Errorf("%d tokens, want 649", n)
	}
}

func TestSignaturesOfWycheproofAreJudgedAsTheySay(t *testing.T) {
	var v struct {
		TestGroups []struct {
			PublicKey struct{ PK hexBytes }
			Tests     []struct {
				TcID     int
				Comment  string
				Msg, Sig hexBytes
				Result   string
			}
		}
	}
	shared(t, "wycheproof/ed25519_test.json", &v)
	n := 0
	for _, g := range v.TestGroups {
		for _, tt := range g.Tests {
			n++
			if got := auth.ValidSignature([]byte(g.PublicKey.PK), string(tt.Msg), tt.Sig); got != (tt.Result == "valid") {
				t.Errorf("%d %s: %v, want %s", tt.TcID, tt.Comment, got, tt.Result)
			}
		}
	}
	if n != 151 {
		t.Errorf("%d signatures, want 151", n)
	}
}

type hexBytes []byte

func (h *hexBytes) UnmarshalText(b []byte) (err error) {
	*h, err = hex.AppendDecode(nil, b)
	return err
}

func TestTokensSayWhatTheInterfacePromises(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	p := login(t, s, t0.Add(777*ms))
	for _, tt := range []struct {
		token, typ string
		life       float64
	}{{p.Access, "at+jwt", 3600}, {p.Refresh, "rt+jwt", 30 * 86400}} {
		h, c := part(t, tt.token, 0), part(t, tt.token, 1)
		if h["alg"] != "EdDSA" || h["typ"] != tt.typ || h["kid"] == "" || len(h) != 3 {
			t.Errorf("header %v", h)
		}
		iat := float64(t0 / 1000)
		if c["iss"] != issuer || c["aud"] != issuer || c["sub"] != "ann" || c["iat"] != iat || c["nbf"] != iat-30 || c["exp"] != iat+tt.life ||
			c["role"] != "reader" || fmt.Sprint(c["orgs"]) != "[1 2]" {
			t.Errorf("claims %v", c)
		}
		if id, err := uuid.Parse(c["jti"].(string)); err != nil || id.Version() != 7 {
			t.Errorf("jti %v", c["jti"])
		}
	}
	if a, r := part(t, p.Access, 1), part(t, p.Refresh, 1); a["sid"] != r["jti"] || r["sid"] != r["jti"] || a["jti"] == r["jti"] {
		t.Errorf("access %v, refresh %v", a, r)
	}
}

func TestACallerIsWhoHisRecordSays(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	p := login(t, s, t0)
	for range 2 { // the second time it is cached
		c := verifies(t, s, p.Access, t0)
		if c.Name != "ann" || c.Role != auth.Reader || fmt.Sprint(c.Orgs) != "[1 2]" || c.Expires != t0.Add(time.Hour) ||
			c.JTI.String() != part(t, p.Access, 1)["jti"] {
			t.Errorf("got %+v", c)
		}
	}
	must(t, s.Accounts().SetRole(t.Context(), auth.Actor{}, "ann", auth.Editor, t0))
	must(t, s.Accounts().SetOrgs(t.Context(), auth.Actor{}, "ann", []int64{3, 1, 3}, t0))
	if c := verifies(t, s, p.Access, t0); c.Role != auth.Editor || fmt.Sprint(c.Orgs) != "[1 3]" {
		t.Errorf("after the change: %+v", c)
	}
}

func TestATokenIsGoodInItsTimeOnly(t *testing.T) {
	for _, remembered := range []bool{false, true} {
		s, _ := serve(t, auth.Config{})
		p := login(t, s, t0)
		if remembered {
			verifies(t, s, p.Access, t0)
		}
		verifies(t, s, p.Access, t0.Add(-30*time.Second)) // another node's clock is behind
		verifies(t, s, p.Access, t0.Add(time.Hour-ms))
		refused(t, s, p.Access, t0.Add(time.Hour))
		refused(t, s, p.Access, t0.Add(time.Hour+time.Minute))
		refused(t, s, p.Access, t0.Add(-30*time.Second-ms))
		verifies(t, s, p.Access, t0)
	}
}

func TestARememberedTokenAnswersForItsWholeTextOnly(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	p := login(t, s, t0)
	verifies(t, s, p.Access, t0)
	if n, _ := auth.Remembered(s); n != 1 {
		t.Fatalf("%d tokens remembered, want 1", n)
	}
	for _, other := range []string{auth.FlipSignature(p.Access), p.Access + " ", p.Access[:len(p.Access)-1], p.Access + "A", p.Access + "\n"} {
		refused(t, s, other, t0)
		refused(t, s, other, t0)
	}
	if n, _ := auth.Remembered(s); n != 1 {
		t.Errorf("%d tokens remembered, want 1", n)
	}
	refused(t, s, p.Access, t0.Add(2*time.Hour))
	if n, _ := auth.Remembered(s); n != 0 {
		t.Errorf("%d tokens remembered after its end, want 0", n)
	}
}

func TestTheMemoryOfTokensIsBounded(t *testing.T) {
	s, _ := serve(t, auth.Config{Remember: 60})
	used := login(t, s, t0).Access
	verifies(t, s, used, t0)
	for range 500 { // clients that log in for each request
		verifies(t, s, used, t0)
		verifies(t, s, login(t, s, t0).Access, t0)
	}
	n, room := auth.Remembered(s)
	if room != 64 || n > room {
		t.Errorf("%d remembered, room for %d", n, room)
	}
	if n := testing.AllocsPerRun(10, func() { verifies(t, s, used, t0) }); n != 0 {
		t.Errorf("the token in use was forgotten: %v allocations", n)
	}
}

func TestARememberedTokenCostsNoAllocation(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	p := login(t, s, t0)
	verifies(t, s, p.Access, t0)
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := s.Verify(p.Access, t0); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestWhoIsDisabledIsRefusedAfterReload(t *testing.T) {
	a, store := serve(t, auth.Config{})
	b := node(t, store, auth.Config{})
	p := login(t, a, t0)
	caller := verifies(t, b, p.Access, t0)

	must(t, a.Accounts().Disable(t.Context(), auth.Actor{Name: "admin"}, "ann", t0.Add(ms)))
	refused(t, a, p.Access, t0.Add(ms))
	verifies(t, b, p.Access, t0.Add(ms)) // it has not reloaded yet
	must(t, b.Poll(t.Context(), t0.Add(time.Second)))
	refused(t, b, p.Access, t0.Add(time.Second))
	_, err := b.Recheck(caller, t0.Add(time.Second))
	wantErr(t, err, auth.ErrInvalidToken)
	_, err = b.Refresh(t.Context(), p.Refresh, auth.Origin{Addr: home}, t0.Add(time.Second))
	wantErr(t, err, auth.ErrDenied)
	_, err = b.Authorize(t.Context(), "ann", secret, auth.Origin{Addr: home}, t0.Add(time.Second))
	wantErr(t, err, auth.ErrDenied)

	must(t, a.Accounts().Enable(t.Context(), auth.Actor{Name: "admin"}, "ann", t0.Add(2*time.Second)))
	must(t, b.Poll(t.Context(), t0.Add(2*time.Second)))
	refused(t, b, p.Access, t0.Add(2*time.Second)) // tokens issued before stay invalid
	again := login(t, b, t0.Add(2*time.Second))
	verifies(t, b, again.Access, t0.Add(2*time.Second))
}

func TestANewPasswordEndsOldTokensAndNotNewOnes(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	// All within one second, the precision of iat.
	p := login(t, s, t0.Add(100*ms))
	verifies(t, s, p.Access, t0.Add(100*ms))
	must(t, s.Accounts().SetPassword(t.Context(), auth.Actor{}, "ann", "another quiet canoe 9", 0, t0.Add(200*ms)))
	refused(t, s, p.Access, t0.Add(200*ms))
	_, err := s.Refresh(t.Context(), p.Refresh, auth.Origin{Addr: home}, t0.Add(200*ms))
	wantErr(t, err, auth.ErrDenied)
	_, err = s.Authorize(t.Context(), "ann", secret, auth.Origin{Addr: home}, t0.Add(300*ms))
	wantErr(t, err, auth.ErrDenied)
	p, err = s.Authorize(t.Context(), "ann", "another quiet canoe 9", auth.Origin{Addr: home}, t0.Add(300*ms))
	must(t, err)
	verifies(t, s, p.Access, t0.Add(300*ms))
	p, err = s.Refresh(t.Context(), p.Refresh, auth.Origin{Addr: home}, t0.Add(400*ms))
	must(t, err)
	verifies(t, s, p.Access, t0.Add(400*ms))
}

func TestAPasswordWithAnEndIsRefusedFromThenOn(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	must(t, s.Accounts().SetPassword(t.Context(), auth.Actor{}, "ann", secret, t0.Add(time.Hour), t0))
	login(t, s, t0.Add(time.Hour-ms))
	_, err := s.Authorize(t.Context(), "ann", secret, auth.Origin{Addr: home}, t0.Add(time.Hour))
	wantErr(t, err, auth.ErrDenied)
}

func TestARevokedSessionTakesItsAccessTokensAlong(t *testing.T) {
	a, store := serve(t, auth.Config{})
	b := node(t, store, auth.Config{})
	first := login(t, a, t0)
	second, err := a.Refresh(t.Context(), first.Refresh, auth.Origin{Addr: home}, t0.Add(time.Minute))
	must(t, err)
	other := login(t, a, t0)
	now := t0.Add(2 * time.Minute)
	for _, token := range []string{first.Access, second.Access, other.Access} {
		verifies(t, b, token, now)
	}
	must(t, a.Revoke(t.Context(), second.Refresh, auth.Origin{Addr: home}, now))
	must(t, a.Revoke(t.Context(), second.Refresh, auth.Origin{Addr: home}, now)) // the answer was lost
	must(t, b.Poll(t.Context(), now))
	for _, s := range []*auth.Service{a, b} {
		refused(t, s, first.Access, now)
		refused(t, s, second.Access, now)
		verifies(t, s, other.Access, now)
	}
	_, err = b.Refresh(t.Context(), second.Refresh, auth.Origin{Addr: home}, now)
	wantErr(t, err, auth.ErrDenied)
	// The row of the revocation is removed when the last access token has expired, and not before.
	must(t, a.Purge(t.Context(), now.Add(time.Hour)))
	must(t, a.Reload(t.Context()))
	refused(t, a, second.Access, now)

	for _, bad := range []string{"", "x", second.Access, other.Access, auth.FlipSignature(other.Refresh)} {
		wantErr(t, a.Revoke(t.Context(), bad, auth.Origin{Addr: home}, now), auth.ErrDenied)
	}
	must(t, a.Revoke(t.Context(), other.Refresh, auth.Origin{Addr: home}, now)) // never used: it had no row
	refused(t, a, other.Access, now)
	_, err = a.Refresh(t.Context(), other.Refresh, auth.Origin{Addr: home}, now)
	wantErr(t, err, auth.ErrDenied)
}

func TestKeysRotateAndNobodyIsLoggedOut(t *testing.T) {
	s, store := serve(t, auth.Config{KeyLife: 10 * auth.Day})
	b := node(t, store, auth.Config{KeyLife: 10 * auth.Day})
	kid := func(p auth.Pair) any { return part(t, p.Access, 0)["kid"] }
	keys := func(s *auth.Service) int {
		var set struct{ Keys []map[string]string }
		must(t, json.Unmarshal(s.JWKS(), &set))
		for _, k := range set.Keys {
			if k["kty"] != "OKP" || k["crv"] != "Ed25519" || k["use"] != "sig" || k["alg"] != "EdDSA" || len(k["x"]) != 43 || len(k) != 6 {
				t.Errorf("key %v", k)
			}
		}
		return len(set.Keys)
	}
	due := t0.Add(9 * auth.Day) // the first key is a day old
	old := login(t, s, due)
	must(t, s.Rotate(t.Context(), due.Add(-ms)))
	if keys(s) != 1 {
		t.Fatalf("%d keys before the first was old", keys(s))
	}
	must(t, s.Rotate(t.Context(), due))
	must(t, b.Rotate(t.Context(), due)) // another node has rotated already, so this one does not
	if keys(s) != 2 || keys(b) != 2 {
		t.Fatalf("%d and %d keys", keys(s), keys(b))
	}
	ahead := login(t, s, due.Add(auth.PublishAhead-ms))
	after := login(t, s, due.Add(auth.PublishAhead))
	if kid(ahead) != kid(old) || kid(after) == kid(old) {
		t.Errorf("keys %v, %v, %v", kid(old), kid(ahead), kid(after))
	}
	late := due.Add(30*auth.Day - time.Second) // the last second of the old refresh token
	must(t, b.Rotate(t.Context(), late))
	renewed, err := b.Refresh(t.Context(), old.Refresh, auth.Origin{Addr: home}, late)
	must(t, err)
	verifies(t, b, renewed.Access, late)

	// An old key is removed when everything that it signed has expired.
	end := t0.Add(-auth.Day + 50*auth.Day)
	must(t, s.Purge(t.Context(), end))
	must(t, s.Reload(t.Context()))
	if keys(s) != 2 {
		t.Errorf("%d keys at the end of the first", keys(s))
	}
}

func TestAKeyNeverSignsWhatOutlivesIt(t *testing.T) {
	s, store := serve(t, auth.Config{KeyLife: auth.Day, RefreshLife: auth.Day})
	longer := node(t, store, auth.Config{KeyLife: auth.Day, RefreshLife: 100 * auth.Day})
	must(t, longer.Rotate(t.Context(), t0))
	for range 2 { // the second reload must not change the result
		must(t, longer.Rotate(t.Context(), t0.Add(ms)))
	}
	must(t, s.Reload(t.Context()))
	if n := strings.Count(string(s.JWKS()), `"kid"`); n != 2 {
		t.Errorf("%d keys, want 2", n)
	}
	p := login(t, longer, t0.Add(ms))
	_, err := longer.Refresh(t.Context(), p.Refresh, auth.Origin{Addr: home}, t0.Add(100*auth.Day-time.Second))
	must(t, err)
}

func TestWithoutAKeyNobodyGetsAToken(t *testing.T) {
	store := authtest.Open(t)
	addCheap(t, store, "ann", secret)
	s := node(t, store, auth.Config{})
	if p, err := s.Authorize(t.Context(), "ann", secret, auth.Origin{Addr: home}, t0); err == nil || p != (auth.Pair{}) {
		t.Error("a token without a key")
	}
	if string(s.JWKS()) != `{"keys":[]}` {
		t.Errorf("JWKS %s", s.JWKS())
	}
}

func TestRandomTokensOfOurKeysAreStillHeldToTheClaims(t *testing.T) {
	s, store := serve(t, auth.Config{})
	must(t, store.AddKey(t.Context(), auth.Key{ID: "own", Seed: auth.RandomSeed(), Created: t0, NotAfter: t0.Add(90 * auth.Day)},
		part(t, login(t, s, t0).Access, 0)["kid"].(string)))
	must(t, s.Reload(t.Context()))
	now := int64(t0) / 1000
	good := auth.Claims{JTI: uuid.NewString(), Sub: "ann", IAT: now, NBF: now, Exp: now + 3600}
	for name, tt := range map[string]struct {
		ok     bool
		change func(*auth.Claims)
	}{
		"as they are":               {true, func(*auth.Claims) {}},
		"a clock ahead by 30 s":     {true, func(c *auth.Claims) { c.IAT, c.NBF, c.Exp = now+30, now, now+3630 }},
		"a clock ahead by more":     {false, func(c *auth.Claims) { c.IAT, c.NBF, c.Exp = now+31, now, now+3631 }},
		"nbf in a second":           {false, func(c *auth.Claims) { c.NBF = now + 1 }},
		"a second too long":         {false, func(c *auth.Claims) { c.Exp = now + 24*3600 + 1 }},
		"jti in upper case":         {false, func(c *auth.Claims) { c.JTI = "0190A0B0-0000-7000-8000-00000000000A" }},
		"jti in braces":             {false, func(c *auth.Claims) { c.JTI = "{" + c.JTI + "}" }},
		"jti nil":                   {false, func(c *auth.Claims) { c.JTI = uuid.Nil.String() }},
		"sid no UUID":               {false, func(c *auth.Claims) { c.SID = "x" }},
		"sub in another case":       {false, func(c *auth.Claims) { c.Sub = "Ann" }},
		"iat before the epoch":      {false, func(c *auth.Claims) { c.IAT = -1 << 62 }},
		"exp at the end of numbers": {false, func(c *auth.Claims) { c.Exp = 1<<63 - 1 }},
		"all at the end of numbers": {false, func(c *auth.Claims) { c.IAT, c.NBF, c.Exp = 1<<63-2, 1<<63-2, 1<<63-1 }},
	} {
		t.Run(name, func(t *testing.T) {
			c := good
			tt.change(&c)
			if _, err := s.Verify(auth.SignAs(s, "own", false, c), t0); (err == nil) != tt.ok {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A login that another program issued with a longer --refresh-life is valid for as long as this
// server's own logins.
func TestALongerLoginOfAnotherProgramIsGoodForOurTime(t *testing.T) {
	s, store := serve(t, auth.Config{RefreshLife: 7 * auth.Day})
	console := node(t, store, auth.Config{RefreshLife: 90 * auth.Day})
	must(t, console.Rotate(t.Context(), t0))
	must(t, s.Reload(t.Context()))
	for name, tt := range map[string]struct {
		after time.Duration
		good  bool
	}{"at once": {time.Hour, true}, "to the end": {7*auth.Day - time.Second, true}, "no longer": {7*auth.Day + time.Second, false}} {
		pair, err := console.Issue(t.Context(), auth.Actor{}, "ann", t0)
		must(t, err)
		if _, err := s.Refresh(t.Context(), pair.Refresh, auth.Origin{Addr: home}, t0.Add(tt.after)); (err == nil) != tt.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
