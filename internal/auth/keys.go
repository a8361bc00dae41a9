package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// publishAhead is how long a new key is published before it signs, so that all nodes and all
// clients with the public keys have it by then.
const publishAhead = 5 * time.Minute

// signer is a Key prepared for use.
type signer struct {
	Key
	private ed25519.PrivateKey
	public  ed25519.PublicKey
}

func newSigner(k Key) *signer {
	private := ed25519.NewKeyFromSeed(k.Seed[:])
	return &signer{Key: k, private: private, public: private.Public().(ed25519.PublicKey)}
}

// Rotate ensures that there is a signing key: it creates the first one, and a new one when the
// newest is older than KeyLife. Nobody is logged out, because the older keys remain valid. Call it
// at the start and once an hour, on any number of nodes.
func (s *Service) Rotate(ctx context.Context, now hazard.Instant) error {
	newest := ""
	if keys := s.current.Load().byAge; len(keys) > 0 {
		k := keys[len(keys)-1]
		// The second condition applies after RefreshLife was raised: a key must outlive everything
		// that it signs.
		if now < k.Created.Add(s.cfg.KeyLife) && now.Add(s.cfg.RefreshLife+publishAhead) <= k.NotAfter {
			return nil
		}
		newest = k.ID
	}
	k, err := s.newKey(now)
	if err != nil {
		return err
	}
	if err := s.store.AddKey(ctx, k, newest); err != nil && !errors.Is(err, hazard.ErrConflict) {
		return fmt.Errorf("add a signing key: %w", err)
	}
	// On a conflict another node was first, and its key is used.
	return s.Reload(ctx)
}

// ReplaceKeys revokes every token on all nodes after their next reload, and signs with a new key.
// Use it if keys may have leaked. All users must log in again. Read keys are not signed and stay
// valid.
func (s *Service) ReplaceKeys(ctx context.Context, by Actor, now hazard.Instant) error {
	k, err := s.newKey(now)
	if err != nil {
		return err
	}
	if err := s.store.ReplaceKeys(ctx, k, by.did(ActionKeys, k.ID, "", now)); err != nil {
		return fmt.Errorf("replace the signing keys: %w", err)
	}
	s.reloadAfter(ctx)
	return nil
}

func (s *Service) newKey(now hazard.Instant) (Key, error) {
	k := Key{Created: now, NotAfter: now.Add(2*s.cfg.KeyLife + s.cfg.RefreshLife)}
	if _, err := io.ReadFull(s.cfg.Rand, k.Seed[:]); err != nil {
		return Key{}, fmt.Errorf("no random bytes for a key: %w", err)
	}
	sum := sha256.Sum256(newSigner(k).public)
	k.ID = base64.RawURLEncoding.EncodeToString(sum[:12])
	return k, nil
}

// signer returns the present signing key: the newest key that has been published long enough and
// outlives the tokens it signs. If there is none (at the first start, or after a long downtime), it
// returns the newest.
func (s *Service) signer(p *picture, now hazard.Instant) (*signer, error) {
	for i := len(p.byAge) - 1; i >= 0; i-- {
		k := p.byAge[i]
		if k.Created.Add(publishAhead) <= now && now.Add(s.cfg.RefreshLife) <= k.NotAfter {
			return k, nil
		}
	}
	if n := len(p.byAge); n > 0 && now < p.byAge[n-1].NotAfter {
		return p.byAge[n-1], nil
	}
	return nil, errors.New("there is no signing key")
}

// JWKS returns the public keys as a JWK set (RFC 7517, RFC 8037). The caller must not change the
// bytes.
func (s *Service) JWKS() []byte { return s.current.Load().jwks }

func jwks(keys []*signer) []byte {
	type jwk struct {
		KTY string `json:"kty"`
		CRV string `json:"crv"`
		Use string `json:"use"`
		Alg string `json:"alg"`
		KID string `json:"kid"`
		X   string `json:"x"`
	}
	set := struct {
		Keys []jwk `json:"keys"`
	}{make([]jwk, len(keys))}
	for i, k := range keys {
		set.Keys[i] = jwk{"OKP", "Ed25519", "sig", algorithm, k.ID, base64.RawURLEncoding.EncodeToString(k.public)}
	}
	b, err := json.Marshal(set)
	if err != nil {
		panic(err) // strings always encode
	}
	return b
}
