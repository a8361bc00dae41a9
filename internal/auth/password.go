package auth

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"github.com/hazardd/hazardd/internal/hazard"
)

// The cost of a password hash: the first choice of OWASP's password storage guide with 19 MiB.
const (
	argonMemory  = 19 << 10 // KiB
	argonTime    = 2
	argonThreads = 1
	saltLen      = 16 // bytes
	hashLen      = 32 // bytes
)

const (
	// maxPassword is in bytes. Longer passwords are rejected before any work is done.
	maxPassword = 1 << 10

	// atOnce is the number of logins that may hash at the same time, with 19 MiB each.
	atOnce = 2
	// maxQueue and maxWait limit the waiting logins. More could not be served before their clients
	// time out.
	maxQueue = 64
	maxWait  = 5 * time.Second
)

// The limits of a stored hash, so that a manipulated record cannot use up memory or time.
const (
	mostMemory  = 64 << 10 // KiB
	mostTime    = 8
	mostThreads = 4
	mostBytes   = 64 // of salt and hash
)

// phc is a parsed password hash.
type phc struct {
	memory, time uint32
	threads      uint8
	salt, hash   []byte
}

func (h phc) String() string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.time, h.threads,
		b64.EncodeToString(h.salt), b64.EncodeToString(h.hash))
}

// parsePHC parses an argon2id hash in PHC string format, in its canonical form and within the
// limits.
func parsePHC(s Hash) (phc, error) {
	fault := errors.New("not an argon2id hash within the limits")
	if len(s) > 512 {
		return phc{}, fault
	}
	part := strings.Split(string(s), "$")
	if len(part) != 6 {
		return phc{}, fault
	}
	var h phc
	if _, err := fmt.Sscanf(part[3], "m=%d,t=%d,p=%d", &h.memory, &h.time, &h.threads); err != nil {
		return phc{}, fault
	}
	var errSalt, errHash error
	h.salt, errSalt = base64.RawStdEncoding.Strict().DecodeString(part[4])
	h.hash, errHash = base64.RawStdEncoding.Strict().DecodeString(part[5])
	switch {
	case errSalt != nil || errHash != nil || h.String() != string(s):
	case h.memory < 8*uint32(h.threads) || h.memory > mostMemory:
	case h.time < 1 || h.time > mostTime || h.threads < 1 || h.threads > mostThreads:
	case len(h.salt) < 8 || len(h.salt) > mostBytes || len(h.hash) < 16 || len(h.hash) > mostBytes:
	default:
		return h, nil
	}
	return phc{}, fault
}

// normal returns the form in which a password is hashed: NFC, because keyboards produce different
// code points for the same letters (RFC 8265, section 4.2).
func normal(p Password) []byte { return norm.NFC.Bytes([]byte(p)) }

// hasher hashes passwords, a few at a time. Its queue is fair: a flood from some networks delays
// others by one or two turns.
type hasher struct {
	// idKey is argon2.IDKey; tests count its calls.
	idKey func(password, salt []byte, time, memory uint32, threads uint8, keyLen uint32) []byte

	mu      sync.Mutex
	running int
	failed  int // running logins of classFailed
	waiting []*turn
}

// place is the position of a login in the queue.
type place struct {
	class         int
	network, user string // keys of the network and the user
}

// The classes of logins, in the order in which they are served. A stranger's first attempts are
// classFresh. After a failure, the stranger waits behind everybody without failures, and never
// takes the last turn.
const (
	classFamiliar = iota // from a device or network that the user has recently used
	classFresh           // from a network without recent failures
	classFailed          // from a network with recent failures
)

// turn is a waiting login.
type turn struct {
	place
	// How many logins of the same user and network, and how many of the same network, were waiting
	// before.
	ofPair, ofNetwork int
	ready             chan error // receives the result
}

// before reports whether t is served before o, if both came at the same time.
func (t *turn) before(o *turn) bool {
	return cmp.Or(cmp.Compare(t.class, o.class), cmp.Compare(t.ofPair, o.ofPair), cmp.Compare(t.ofNetwork, o.ofNetwork)) < 0
}

func newHasher() *hasher { return &hasher{idKey: argon2.IDKey} }

// enter waits for a turn, which lasts until leave is called. If the queue is full, its last login
// gets a *BusyError. That login may have been in the queue before this one.
func (h *hasher) enter(ctx context.Context, p place) (leave func(), err error) {
	t := &turn{place: p, ready: make(chan error, 1)}
	if err := h.queue(t); err != nil {
		return nil, err
	}
	timeout := time.NewTimer(maxWait)
	defer timeout.Stop()
	select {
	case err = <-t.ready:
	case <-timeout.C:
		err = h.giveUp(t, &BusyError{RetryAfter: maxWait})
	case <-ctx.Done():
		err = h.giveUp(t, context.Cause(ctx))
	}
	if err != nil {
		return nil, err
	}
	return func() { h.leave(p) }, nil
}

// queue adds t to the queue; if it is full, t may replace the last one.
func (h *hasher) queue(t *turn) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.waiting {
		if o.network == t.network {
			t.ofNetwork++
			if o.user == t.user {
				t.ofPair++
			}
		}
	}
	last := t
	for _, o := range h.waiting {
		if last.before(o) || last != t && !o.before(last) {
			last = o
		}
	}
	if len(h.waiting) >= maxQueue {
		if last == t {
			return &BusyError{RetryAfter: maxWait}
		}
		h.waiting = slices.DeleteFunc(h.waiting, func(o *turn) bool { return o == last })
		last.ready <- &BusyError{RetryAfter: maxWait}
	}
	h.waiting = append(h.waiting, t)
	h.serve()
	return nil
}

// serve gives the free turns to the next logins. The caller holds the lock.
func (h *hasher) serve() {
	for h.running < atOnce {
		next := -1
		for i, t := range h.waiting {
			if t.class == classFailed && h.failed >= atOnce-1 {
				continue
			}
			if next < 0 || t.before(h.waiting[next]) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		t := h.waiting[next]
		h.waiting = slices.Delete(h.waiting, next, next+1)
		h.running++
		if t.class == classFailed {
			h.failed++
		}
		t.ready <- nil
	}
}

// giveUp removes t from the queue. If t already has its turn, giveUp passes the turn on.
func (h *hasher) giveUp(t *turn, err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.waiting)
	if h.waiting = slices.DeleteFunc(h.waiting, func(o *turn) bool { return o == t }); len(h.waiting) < n {
		return err
	}
	if came := <-t.ready; came != nil {
		return came
	}
	h.end(t.place)
	return err
}

func (h *hasher) leave(p place) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end(p)
}

// end ends a turn. The caller holds the lock.
func (h *hasher) end(p place) {
	h.running--
	if p.class == classFailed {
		h.failed--
	}
	h.serve()
}

// hash hashes a new password. The caller waited for its turn.
func (h *hasher) hash(p Password, random io.Reader) (Hash, error) {
	salt := make([]byte, saltLen)
	if _, err := io.ReadFull(random, salt); err != nil {
		return "", fmt.Errorf("no random bytes for a salt: %w", err)
	}
	key := h.idKey(normal(p), salt, argonTime, argonMemory, argonThreads, hashLen)
	return Hash(phc{argonMemory, argonTime, argonThreads, salt, key}.String()), nil
}

// matches reports whether the password matches the hash. The caller has a turn. A too long password
// takes the same time without being hashed.
func (h *hasher) matches(want phc, p Password) bool {
	if len(p) > maxPassword {
		p = ""
	}
	got := h.idKey(normal(p), want.salt, want.time, want.memory, want.threads, uint32(len(want.hash)))
	return subtle.ConstantTimeCompare(got, want.hash) == 1 && len(p) > 0
}

// dummyHash returns a hash that no password matches.
func dummyHash() Hash {
	var b [saltLen + hashLen]byte
	rand.Read(b[:])
	return Hash(phc{argonMemory, argonTime, argonThreads, b[:saltLen], b[saltLen:]}.String())
}

// passwordMemory speeds up repeated logins, for clients that log in for each request. For each user
// it keeps a MAC of the last correct password, under a key that is created at startup and never
// leaves the process.
//
// It does not weaken passwords. It only keeps passwords that argon2id has accepted, so a wrong
// password always needs the full check, just as for an unknown user. The MAC covers the stored
// hash, so a changed password invalidates it everywhere at once. The limits on failed logins are
// checked before. It is never written anywhere. An attacker who can read the process's memory also
// finds the signing keys, which are more valuable.
type passwordMemory struct {
	key [sha256.Size]byte
	mu  sync.Mutex
	of  map[string]rememberedPassword // by user
}

type rememberedPassword struct {
	mac   [sha256.Size]byte
	until hazard.Instant
}

const (
	maxPasswords = 1024 // users
	// keepPassword is how long after its last full check a password is remembered.
	keepPassword = time.Hour
)

func newPasswordMemory() *passwordMemory {
	m := &passwordMemory{of: map[string]rememberedPassword{}}
	rand.Read(m.key[:])
	return m
}

func (m *passwordMemory) mac(u *User, p Password) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, m.key[:])
	for _, part := range [...][]byte{[]byte(u.Name), []byte(u.PasswordHash), normal(p)} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write(part)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// knows reports whether the password is the user's last correct one.
func (m *passwordMemory) knows(u *User, p Password, now hazard.Instant) bool {
	m.mu.Lock()
	known, ok := m.of[u.Name]
	m.mu.Unlock()
	if !ok || now >= known.until || len(p) > maxPassword {
		return false
	}
	mac := m.mac(u, p)
	return hmac.Equal(mac[:], known.mac[:])
}

func (m *passwordMemory) keep(u *User, p Password, now hazard.Instant) {
	mac := m.mac(u, p)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.of[u.Name]; !ok && len(m.of) >= maxPasswords {
		for name := range m.of { // delete any entry
			delete(m.of, name)
			break
		}
	}
	m.of[u.Name] = rememberedPassword{mac, now.Add(keepPassword)}
}
