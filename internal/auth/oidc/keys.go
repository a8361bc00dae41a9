package oidc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
)

// The lifetime of the provider's keys here.
const (
	keysLife  = time.Hour        // then they are read again
	keysStale = 24 * time.Hour   // then they are discarded, even if the provider does not answer
	keysEvery = 30 * time.Second // minimum time between two requests for keys
	maxKeys   = 64
	maxTries  = 4 // maximum number of keys tried for a token without kid
	maxLooks  = 64
)

// keySet is the provider's public keys. The key set of the library sends a request for each token
// with an unknown key, and limits neither the number nor the age of keys.
type keySet struct {
	url    string
	client *http.Client
	now    func() hazard.Instant

	mu      sync.Mutex
	keys    []jose.JSONWebKey // guarded by mu, like the fields below
	read    hazard.Instant
	tried   hazard.Instant
	looking chan struct{} // closed when the current request for keys has ended; nil: there is none
	waiting int
}

// VerifySignature implements oidc.KeySet. The library has already checked the algorithm. It returns
// ErrUnavailable if no keys could be read.
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, signatures())
	if err != nil {
		return nil, err
	}
	if len(signed.Signatures) != 1 {
		return nil, errors.New("expected exactly one signature")
	}
	header := signed.Signatures[0].Protected
	if payload, ok := k.try(signed, header); ok {
		return payload, nil
	}
	if err := k.refresh(ctx); err != nil {
		return nil, err
	}
	if payload, ok := k.try(signed, header); ok {
		return payload, nil
	}
	return nil, errors.New("no key of the provider matches the signature")
}

func signatures() []jose.SignatureAlgorithm {
	list := make([]jose.SignatureAlgorithm, len(algorithms))
	for i, a := range algorithms {
		list[i] = jose.SignatureAlgorithm(a)
	}
	return list
}

// try verifies a token with the known keys, unless they must be read again.
func (k *keySet) try(signed *jose.JSONWebSignature, header jose.Header) ([]byte, bool) {
	k.mu.Lock()
	now := k.now()
	due := now >= k.read.Add(keysLife) && now >= k.tried.Add(keysEvery)
	if k.read == 0 || due || now >= k.read.Add(keysStale) {
		k.mu.Unlock()
		return nil, false
	}
	keys := k.keys
	k.mu.Unlock()
	tries := 0
	for i := range keys {
		key := &keys[i]
		if header.KeyID != "" && key.KeyID != header.KeyID || key.Algorithm != "" && key.Algorithm != header.Algorithm || tries >= maxTries {
			continue
		}
		tries++
		if payload, err := signed.Verify(key); err == nil {
			return payload, true
		}
	}
	return nil, false
}

// refresh reads the keys again, but at most once per keysEvery. One caller sends the request, and
// the others wait for it.
func (k *keySet) refresh(ctx context.Context) error {
	k.mu.Lock()
	if looking := k.looking; looking != nil {
		if k.waiting >= maxLooks {
			k.mu.Unlock()
			return ErrBusy
		}
		k.waiting++
		k.mu.Unlock()
		defer func() { k.mu.Lock(); k.waiting--; k.mu.Unlock() }()
		select {
		case <-looking:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	now := k.now()
	if k.tried != 0 && now >= k.tried && now < k.tried.Add(keysEvery) {
		defer k.mu.Unlock()
		if k.read == 0 || now >= k.read.Add(keysStale) {
			return fmt.Errorf("%w: the last attempt to read its keys failed a moment ago", ErrUnavailable)
		}
		return nil
	}
	k.tried, k.looking = now, make(chan struct{})
	k.mu.Unlock()
	keys, err := k.fetch(context.WithoutCancel(ctx))
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.looking)
	k.looking = nil
	if err != nil {
		if k.read != 0 && now < k.read.Add(keysStale) {
			return nil // keep using the last keys
		}
		return fmt.Errorf("%w: keys: %w", ErrUnavailable, err)
	}
	k.keys, k.read = keys, now
	return nil
}

// fetch reads the keys. It skips keys that cannot be used.
func (k *keySet) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := k.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s", resp.Status)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var set struct {
		Keys []jsontext.Value `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("%d keys, more than %d", len(set.Keys), maxKeys)
	}
	var keys []jose.JSONWebKey
	for _, text := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(text) == nil && key.Valid() && key.IsPublic() && key.Use != "enc" {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("no usable key")
	}
	return keys, nil
}
