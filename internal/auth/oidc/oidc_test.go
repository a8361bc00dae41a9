package oidc

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

func TestGroupsGiveTheHighestRoleAndAllOrganizations(t *testing.T) {
	var groups Groups
	for _, text := range []string{"*=reader", "duty=editor:RC+7", "cn=chiefs,dc=x=admin:FB"} {
		g, err := ParseGroup(text)
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, g)
	}
	for _, tt := range []struct {
		of   []string
		role auth.Role
		orgs []string
	}{{nil, auth.Reader, nil}, {[]string{"duty"}, auth.Editor, []string{"RC", "7"}}, {[]string{"cn=chiefs,dc=x", "duty"}, auth.Admin, []string{"RC", "7", "FB"}}, {[]string{"Duty", "*"}, auth.Reader, nil}} {
		if role, orgs := groups.rights(tt.of); role != tt.role || !slices.Equal(orgs, tt.orgs) {
			t.Errorf("%v: %s %v", tt.of, role, orgs)
		}
	}
	if role, _ := groups[1:].rights(nil); role != "" {
		t.Errorf("a user in no group gets the role %q", role)
	}
	for _, text := range []string{"", "duty", "=admin", "duty=root", "duty=editor:", "duty=editor:A++B"} {
		if g, err := ParseGroup(text); err == nil {
			t.Errorf("%q is parsed as %+v", text, g)
		}
	}
}

// fake is a misbehaving provider.
type fake struct {
	*httptest.Server
	issuer string // the issuer that it claims; empty: its address
	keys   func(w http.ResponseWriter)
	asked  map[string]int
}

func newFake(t *testing.T) *fake {
	f := &fake{asked: map[string]int{}}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.asked[r.URL.Path]++
		if r.URL.Path == "/keys" {
			f.keys(w)
			return
		}
		issuer := f.issuer
		if issuer == "" {
			issuer = f.URL
		}
		fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":"%[2]s/auth","token_endpoint":"%[2]s/token","jwks_uri":"%[2]s/keys"}`, issuer, f.URL)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) provider(t *testing.T, now *hazard.Instant) *Provider {
	t.Helper()
	p, err := New(Config{Issuer: f.URL, ClientID: "c", Groups: Groups{{Name: "*", Role: auth.Reader}}}, func() hazard.Instant { return *now })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func newKey(t *testing.T, kid string) *jose.JSONWebKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &jose.JSONWebKey{Key: k, KeyID: kid, Algorithm: "ES256", Use: "sig"}
}

func (f *fake) token(t *testing.T, k *jose.JSONWebKey, now hazard.Instant, more ...any) string {
	t.Helper()
	claims := map[string]any{"iss": f.URL, "aud": "c", "sub": "s", "iat": int64(now) / 1000, "exp": int64(now)/1000 + 300, "jti": rand.Text()}
	for i := 0; i < len(more); i += 2 {
		claims[more[i].(string)] = more[i+1]
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: k}, (&jose.SignerOptions{}).WithType("at+jwt"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	out, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func set(keys ...*jose.JSONWebKey) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		var s jose.JSONWebKeySet
		for _, k := range keys {
			s.Keys = append(s.Keys, k.Public())
		}
		text, _ := json.Marshal(s)
		_, _ = w.Write(text)
	}
}

func TestKeysAreReadWhenTheyAreNeededAndNotMoreOften(t *testing.T) {
	f, now := newFake(t), hazard.Instant(1_800_000_000_000)
	p := f.provider(t, &now)
	one, two := newKey(t, "one"), newKey(t, "two")
	f.keys = set(one)
	want := func(what string, k *jose.JSONWebKey, kind error, asked int) {
		t.Helper()
		if _, _, err := p.Bearer(t.Context(), f.token(t, k, now)); !errors.Is(err, kind) || kind == nil && err != nil || f.asked["/keys"] != asked {
			t.Errorf("%s: %v after %d requests, want %v after %d", what, err, f.asked["/keys"], kind, asked)
		}
	}
	want("the first", one, nil, 1)
	want("the same key", one, nil, 1)
	f.keys = set(one, two)
	want("a new key at once", two, ErrRefused, 1) // keys were read a moment ago
	now = now.Add(keysEvery)
	want("a new key", two, nil, 2)
	f.keys = set(two)
	now = now.Add(keysLife)
	want("a key that was withdrawn", one, ErrRefused, 3)
	f.keys = func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }
	now = now.Add(keysLife)
	want("while the provider is away", two, nil, 4)
	want("still away", two, nil, 4)
	now = now.Add(keysStale)
	want("away for a day", two, ErrUnavailable, 5)
	f.keys = set(two)
	now = now.Add(keysEvery)
	want("back", two, nil, 6)
}

func TestAHostileProviderIsNotBelieved(t *testing.T) {
	for name, tt := range map[string]struct {
		issuer string
		keys   func(http.ResponseWriter)
		kind   error
	}{
		"another issuer": {"https://login.example.org", nil, ErrUnavailable},
		"no keys":        {"", func(w http.ResponseWriter) { fmt.Fprint(w, `{"keys":[]}`) }, ErrUnavailable},
		"no JSON":        {"", func(w http.ResponseWriter) { fmt.Fprint(w, `<html>`) }, ErrUnavailable},
		"endless keys": {"", func(w http.ResponseWriter) {
			fmt.Fprint(w, `{"keys":["`)
			for range 3 << 10 {
				_, _ = w.Write([]byte(strings.Repeat("x", 1<<10)))
			}
		}, ErrUnavailable},
		"many keys": {"", func(w http.ResponseWriter) { fmt.Fprint(w, `{"keys":[{}`+strings.Repeat(`,{}`, 1000)+`]}`) }, ErrUnavailable},
		"a secret":  {"", func(w http.ResponseWriter) { fmt.Fprint(w, `{"keys":[{"kty":"oct","k":"AAAA","kid":"one"}]}`) }, ErrUnavailable},
		"a redirect": {"", func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(http.StatusFound)
		}, ErrUnavailable},
	} {
		f, now := newFake(t), hazard.Instant(1_800_000_000_000)
		p := f.provider(t, &now)
		f.issuer, f.keys = tt.issuer, tt.keys
		if _, _, err := p.Bearer(t.Context(), f.token(t, newKey(t, "one"), now)); !errors.Is(err, tt.kind) {
			t.Errorf("%s: %v", name, err)
		}
		// An unreachable provider is not contacted again and again.
		for range 20 {
			_, _, _ = p.Bearer(t.Context(), f.token(t, newKey(t, "one"), now))
		}
		if f.asked["/keys"] > 1 || f.asked["/.well-known/openid-configuration"] > 1 {
			t.Errorf("%s: asked %v", name, f.asked)
		}
	}
}

func TestSettingsThatCannotBeMeant(t *testing.T) {
	good := Config{Issuer: "https://login.example.org", ClientID: "c", Groups: Groups{{Name: "*", Role: auth.Reader}}}
	for name, change := range map[string]func(*Config){
		"http":      func(c *Config) { c.Issuer = "http://login.example.org" },
		"no host":   func(c *Config) { c.Issuer = "https:///x" },
		"a query":   func(c *Config) { c.Issuer += "?x" },
		"no client": func(c *Config) { c.ClientID = "" },
		"no groups": func(c *Config) { c.Groups = nil },
	} {
		c := good
		change(&c)
		if _, err := New(c, nil); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := New(good, nil); err != nil {
		t.Error(err)
	}
}

func FuzzTokens(f *testing.F) {
	f.Add("a.b.c")
	f.Add("eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwOi8vMTI3LjAuMC4xOjEifQ.")
	p, err := New(Config{Issuer: "http://127.0.0.1:1", ClientID: "c", Groups: Groups{{Name: "*", Role: auth.Reader}}}, func() hazard.Instant { return 1_800_000_000_000 })
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, token string) {
		if _, _, err := p.Bearer(t.Context(), token); err == nil {
			t.Error("a token without a provider is accepted")
		}
	})
}
