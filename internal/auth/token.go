package auth

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Tokens are made and read here directly with crypto/ed25519, without a JWT library. Before and
// after a library's parse, much of RFC 8725 would still have to be checked here: unique members,
// crit and similar members, typ, one spelling per token, required claims. Only base64 and
// ed25519.Verify would be left for the library. One strict path is also easier to audit than a
// strict and a lenient one that must agree.

const (
	algorithm   = "EdDSA"
	accessType  = "at+jwt"
	refreshType = "rt+jwt"
	pageType    = "pg+jwt"
	deviceType  = "dv+jwt"

	// maxToken is the maximum size of a token in bytes, the same as for a request's header. Our
	// tokens have about 500.
	maxToken = 16 << 10
	// clockSkew is the allowed difference between two nodes' clocks: nbf is that much before iat,
	// and iat may be that far ahead of the reader's clock. There is no other tolerance.
	clockSkew = 30 * time.Second
)

// LongestAccess is the longest lifetime of an access token that every server accepts, whatever its
// own settings, because the command line issues tokens without knowing the settings.
const LongestAccess = 24 * time.Hour

// longestAccess returns the longest accepted lifetime of an access token.
func (s *Service) longestAccess() time.Duration { return max(s.cfg.AccessLife, LongestAccess) }

// strict rejects unused bits, because they would give one token several spellings.
var strict = base64.RawURLEncoding.Strict()

// header is the header of a token. Unknown members are ignored. Crit and the members after it would
// change a token's meaning or its key, so they are rejected even if they are null.
type header struct {
	Alg string `json:"alg"`
	Kid string `json:"kid"`
	Typ string `json:"typ"`

	Crit jsontext.Value `json:"crit"`
	B64  jsontext.Value `json:"b64"`
	Zip  jsontext.Value `json:"zip"`
	Cty  jsontext.Value `json:"cty"`
	JKU  jsontext.Value `json:"jku"`
	JWK  jsontext.Value `json:"jwk"`
	X5U  jsontext.Value `json:"x5u"`
	X5C  jsontext.Value `json:"x5c"`
}

func (h *header) refused() bool {
	return slices.ContainsFunc([]jsontext.Value{h.Crit, h.B64, h.Zip, h.Cty, h.JKU, h.JWK, h.X5U, h.X5C},
		func(v jsontext.Value) bool { return v != nil })
}

// claims are the claims of our tokens in the order of encoding. jti comes first, so that tokens
// differ early in the payload (tokenMemory). A missing or null claim has its zero value, which our
// tokens never have.
type claims struct {
	JTI  string         `json:"jti"`
	Iss  string         `json:"iss"`
	Aud  jsontext.Value `json:"aud"`
	Sub  string         `json:"sub"`
	IAT  int64          `json:"iat"` // whole seconds, like all times here, because base clients may not expect fractions
	NBF  int64          `json:"nbf"`
	Exp  int64          `json:"exp"`
	Role Role           `json:"role"`
	Orgs []int64        `json:"orgs"`
	// SID identifies the login of the token: it is the jti of the login's first refresh token.
	// Revoking it revokes all tokens of the login.
	SID string `json:"sid,omitzero"`
}

// sign creates a token of kind typ with claims c. The same claims and key give the same bytes,
// because Ed25519 is deterministic.
func sign(k *signer, typ string, c any) (string, error) {
	head, err := json.Marshal(struct {
		Alg string `json:"alg"`
		Kid string `json:"kid"`
		Typ string `json:"typ"`
	}{algorithm, k.ID, typ})
	if err != nil {
		return "", fmt.Errorf("header of a token: %w", err)
	}
	body, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("claims of a token: %w", err)
	}
	b := make([]byte, 0, strict.EncodedLen(len(head)+len(body)+ed25519.SignatureSize)+8)
	b = strict.AppendEncode(b, head)
	b = append(b, '.')
	b = strict.AppendEncode(b, body)
	sig := ed25519.Sign(k.private, b)
	b = append(b, '.')
	return string(strict.AppendEncode(b, sig)), nil
}

// read checks everything about a token that needs only the keys and the clock. It does not check
// whether its user has access. It reads no claim before it has verified the signature.
func (s *Service) read(p *picture, token, typ string, life time.Duration, now hazard.Instant) (*Caller, error) {
	if len(token) > maxToken {
		return nil, refusal("too long")
	}
	head, rest, _ := strings.Cut(token, ".")
	body, signature, ok := strings.Cut(rest, ".")
	if !ok {
		return nil, refusal("does not have three parts")
	}
	// A surplus dot stays in the last part, where it is invalid base64.
	h, ok := decodeHeader(head)
	if !ok {
		return nil, refusal("malformed header")
	}
	if h.Alg != algorithm || h.Typ != typ || h.refused() {
		return nil, refusal("algorithm, type or header parameters not accepted")
	}
	k := p.keys[h.Kid]
	if k == nil || now >= k.NotAfter {
		return nil, refusal("unknown key")
	}
	sig, ok := decode(signature)
	if !ok || !validSignature(k.public, token[:len(head)+1+len(body)], sig) {
		return nil, refusal("wrong signature")
	}
	payload, ok := decode(body)
	if !ok {
		return nil, refusal("malformed claims")
	}
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, refusal("malformed claims")
	}
	if typ == refreshType { // a program with another --refresh-life may have issued it; the shorter life counts
		c.Exp = min(c.Exp, c.IAT+int64(life/time.Second))
	}
	return s.believe(&c, h.Kid, life, now)
}

// believe checks the claims of a token whose signature is valid.
func (s *Service) believe(c *claims, kid string, life time.Duration, now hazard.Instant) (*Caller, error) {
	second := int64(now) / 1000
	switch {
	case c.Iss != s.cfg.Issuer:
		return nil, refusal("another issuer")
	case !names(c.Aud, s.cfg.Audience):
		return nil, refusal("another audience")
	case c.Sub == "" || !c.Role.Known() || c.Orgs == nil || c.IAT <= 0 || c.NBF <= 0 || c.Exp <= 0:
		return nil, refusal("a claim is missing or unknown")
	case c.NBF > second || c.IAT > second+int64(clockSkew/time.Second):
		return nil, refusal("not valid yet")
	case c.Exp-c.IAT > int64(life/time.Second):
		return nil, refusal("its lifetime is longer than any that is issued")
	case c.Exp <= second:
		return nil, refusal("expired")
	}
	jti, ok := parseID(c.JTI)
	if !ok {
		return nil, refusal("jti is not a UUID")
	}
	sid := jti // a login is identified by its first refresh token
	if c.SID != "" {
		if sid, ok = parseID(c.SID); !ok {
			return nil, refusal("sid is not a UUID")
		}
	}
	return &Caller{Name: c.Sub, JTI: jti, Expires: hazard.Instant(c.Exp * 1000),
		sid: sid, kid: kid, issued: hazard.Instant(c.IAT * 1000), notBefore: hazard.Instant(c.NBF * 1000)}, nil
}

func decodeHeader(text string) (header, bool) {
	var h header
	b, ok := decode(text)
	return h, ok && json.Unmarshal(b, &h) == nil
}

// decode decodes strict base64url. The standard library skips line ends, which would allow other
// spellings.
func decode(text string) ([]byte, bool) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, false
	}
	b, err := strict.DecodeString(text)
	return b, err == nil
}

func validSignature(public ed25519.PublicKey, signed string, sig []byte) bool {
	return len(sig) == ed25519.SignatureSize && ed25519.Verify(public, []byte(signed), sig)
}

// names reports whether aud, a string or an array of strings, contains the audience.
func names(aud jsontext.Value, audience string) bool {
	switch aud.Kind() {
	case '"':
		var one string
		return json.Unmarshal(aud, &one) == nil && one == audience
	case '[':
		var many []string
		return json.Unmarshal(aud, &many) == nil && slices.Contains(many, audience)
	}
	return false
}

// parseID parses a UUID in its canonical spelling only.
func parseID(s string) (uuid.UUID, bool) {
	id, err := uuid.Parse(s)
	return id, err == nil && id != uuid.Nil && id.String() == s
}
