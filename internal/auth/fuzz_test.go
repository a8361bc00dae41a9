package auth_test

import (
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/auth"
)

// FuzzVerify looks for a text that makes Verify panic, or that it accepts although it was not
// signed here.
func FuzzVerify(f *testing.F) {
	s, _ := serve(f, auth.Config{})
	p := login(f, s, t0)
	pages := page(f, s, p.Access, t0).Text
	h := strings.Split(p.Access, ".")
	for _, seed := range []string{p.Access, p.Refresh, pages, "", "..", "null", h[0] + "." + h[1] + ".", h[0] + ".e30." + h[2], "e30." + h[1] + "." + h[2],
		p.Access + "\n", p.Access + "=", p.Access + ".", auth.FlipSignature(p.Access), strings.ToUpper(p.Access),
		"eyJhbGciOiJub25lIn0." + h[1] + ".", "eyJhbGciOiJFZERTQSIsImtpZCI6W119." + h[1] + "." + h[2], `{"payload":"` + h[1] + `"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		c, err := s.Verify(token, t0)
		if (c == nil) == (err == nil) {
			t.Fatalf("caller %v and error %v", c, err)
		}
		if c != nil && token != p.Access {
			t.Fatalf("accepted: %q", token)
		}
		if _, err := s.Refresh(t.Context(), token, auth.Origin{Addr: home}, t0); err == nil && token != p.Refresh {
			t.Fatalf("gave a new pair for %q", token)
		}
		if _, err := s.VerifyPage(token, t0); err == nil && token != pages {
			t.Fatalf("accepted for pages: %q", token)
		}
	})
}

// FuzzClaims signs the fuzzer's text: whatever a signed payload contains, Verify must not panic,
// and must accept only ann, within the lifetime of a token.
func FuzzClaims(f *testing.F) {
	s, _ := serve(f, auth.Config{})
	kid := part(f, login(f, s, t0).Access, 0)["kid"].(string)
	f.Add(`{"alg":"EdDSA","kid":"`+kid+`","typ":"at+jwt"}`, `{"jti":"0190a0b0-0000-7000-8000-000000000001","iss":"`+issuer+`","aud":["`+issuer+
		`"],"sub":"ann","iat":1795240800,"nbf":1795240770,"exp":1795244400,"role":"reader","orgs":[1,2],"sid":"0190a0b0-0000-7000-8000-000000000002"}`)
	f.Add(`{"alg":"EdDSA","kid":"`+kid+`","typ":"at+jwt","crit":null}`, `{"exp":1e300,"aud":{},"orgs":[9223372036854775808]}`)
	f.Fuzz(func(t *testing.T, header, payload string) {
		c, err := s.Verify(auth.SignText(s, kid, header, payload), t0)
		if (c == nil) == (err == nil) {
			t.Fatalf("caller %v and error %v", c, err)
		}
		if c != nil && (c.Name != "ann" || c.Role != auth.Reader || len(c.Orgs) != 2 || c.Expires <= t0 || c.Expires > t0.Add(61*60_000*ms)) {
			t.Fatalf("accepted: %+v", c)
		}
	})
}
