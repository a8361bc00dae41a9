package auth

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	RetryWindow  = retryWindow
	PublishAhead = publishAhead
	AtOnce       = atOnce
	MaxQueue     = maxQueue
	MaxWait      = maxWait
	MaxPassword  = maxPassword
)

var (
	ValidSignature func(ed25519.PublicKey, string, []byte) bool = validSignature
	Weakness                                                    = weakness
)

// CountHashes counts the argon2id evaluations of s from now on.
func CountHashes(s *Service) *atomic.Int64 {
	var n atomic.Int64
	idKey := s.hasher.idKey
	s.hasher.idKey = func(password, salt []byte, time, memory uint32, threads uint8, keyLen uint32) []byte {
		n.Add(1)
		return idKey(password, salt, time, memory, threads, keyLen)
	}
	return &n
}

// BlockHashes makes every evaluation of s wait until release is closed.
func BlockHashes(s *Service, release <-chan struct{}) {
	s.hasher.idKey = func(_, _ []byte, _, _ uint32, _ uint8, n uint32) []byte {
		<-release
		return make([]byte, n)
	}
}

// AttemptKeys returns the keys of a login without a device.
func AttemptKeys(user string, addr netip.Addr) []string {
	return attemptKeys(user, "", networksOf(addr))
}

// StepHashes makes every evaluation of s wait for a value from step, and counts those that began.
func StepHashes(s *Service, step <-chan struct{}) *atomic.Int64 {
	var n atomic.Int64
	idKey := s.hasher.idKey
	s.hasher.idKey = func(password, salt []byte, time, memory uint32, threads uint8, keyLen uint32) []byte {
		n.Add(1)
		<-step
		return idKey(password, salt, time, memory, threads, keyLen)
	}
	return &n
}

// CheapHash returns a hash that costs almost nothing.
func CheapHash(p Password) Hash {
	h := phc{memory: 8, time: 1, threads: 1, salt: []byte("a salt!!"), hash: make([]byte, 16)}
	h.hash = newHasher().idKey(normal(p), h.salt, h.time, h.memory, h.threads, 16)
	return Hash(h.String())
}

// CheckPHC returns the error of reading a stored hash.
func CheckPHC(h Hash) error { _, err := parsePHC(h); return err }

// Remembered returns the number of cached tokens, and the capacity of the cache.
func Remembered(s *Service) (n, room int) {
	for i := range s.tokens.slots {
		if s.tokens.slots[i].Load() != nil {
			n++
		}
	}
	return n, len(s.tokens.slots)
}

// Claims are the claims of a token to sign like ours. Times are in seconds.
type Claims struct {
	JTI, Sub, SID string
	IAT, NBF, Exp int64
}

// SignAs makes an access token, or with refresh a refresh token, signed with the key of that id.
func SignAs(s *Service, kid string, refresh bool, c Claims) string {
	typ := accessType
	if refresh {
		typ = refreshType
	}
	aud, _ := jsontext.AppendQuote(nil, s.cfg.Audience)
	token, err := sign(s.current.Load().keys[kid], typ, &claims{JTI: c.JTI, Iss: s.cfg.Issuer, Aud: aud, Sub: c.Sub,
		IAT: c.IAT, NBF: c.NBF, Exp: c.Exp, Role: Reader, Orgs: []int64{}, SID: c.SID})
	if err != nil {
		panic(err)
	}
	return token
}

// FlipSignature returns the token with another signature of the same length.
func FlipSignature(token string) string {
	b := []byte(token)
	i := len(b) - 10
	if b[i] == 'A' {
		b[i] = 'B'
	} else {
		b[i] = 'A'
	}
	return string(b)
}

// RandomSeed returns a new seed.
func RandomSeed() (s Seed) {
	if _, err := rand.Read(s[:]); err != nil {
		panic(fmt.Sprint("no random bytes: ", err))
	}
	return s
}

// Day is the unit of lifetimes.
const Day = 24 * time.Hour

// SignText signs a header and a payload without changes.
func SignText(s *Service, kid, header, payload string) string {
	b := strict.AppendEncode(nil, []byte(header))
	b = append(b, '.')
	b = strict.AppendEncode(b, []byte(payload))
	sig := ed25519.Sign(s.current.Load().keys[kid].private, b)
	return string(strict.AppendEncode(append(b, '.'), sig))
}

// Forget empties the caches of tokens and passwords.
func Forget(s *Service) { s.tokens, s.passwords = newTokenMemory(ways), newPasswordMemory() }
