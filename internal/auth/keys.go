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

// publishAhead is how long a new key is known before it signs, so that every node, and whoever fetched the public keys,
// has it by then.
const publishAhead = 5 * time.Minute

// signer is a Key ready for use.
type signer struct {
	Key
	private ed25519.PrivateKey
	public  ed25519.PublicKey
}

func newSigner(k Key) *signer {
	private := ed25519.NewKeyFromSeed(k.Seed[:])
	return &signer{Key: k, private: private, public: private.Public().(ed25519.PublicKey)}
}

// Rotate sees to it that there is a key to sign with: it makes the first one, and a new one when the newest is as old as
// KeyLife. Nobody is logged out: the older keys stay good for what they signed. Call it at the start and once an hour; any
// number of nodes may.
func (s *Service) Rotate(ctx context.Context, now hazard.Instant) error {
	newest := ""
	if keys := s.current.Load().byAge; len(keys) > 0 {
		k := keys[len(keys)-1]
		// The second condition comes true when RefreshLife is raised: no key may sign what will outlive it.
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
	// On a conflict another node was first, and its key is ours too.
	return s.Reload(ctx)
}

// ReplaceKeys makes every token worthless on all nodes, as soon as they have reloaded, and signs with a new key: for keys that somebody may have
// read. Everybody logs in again. Read keys are signed by nothing, and go on.
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

// signer is the key that signs now: the newest one that has been public for long enough and outlives what it signs.
// Without such a one (at the first start, after years of standing still) the newest.
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
	return nil, errors.New("there is no key to sign with")
}

// JWKS is the public keys as a JWK set (RFC 7517, RFC 8037). The caller must not change the bytes.
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
		panic(err) // strings alone cannot fail
	}
	return b
}
