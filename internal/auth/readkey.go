package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// ReadKey gives read access to clients that can neither log in nor send a header: the key is part
// of the address. It reads public data until it is revoked, its user loses access, or the user's
// password changes.
//
// The key itself is shown once, when it is created. It has 192 random bits, so SHA-256 protects it
// as well as a slow hash.
type ReadKey struct {
	ID      uuid.UUID
	User    string // who created it
	Title   string // its purpose
	Scope   Scope  // for a service token, whose service is User; empty for a read key
	Sum     [sha256.Size]byte
	Created hazard.Instant
	Used    hazard.Instant // last use of a service token, accurate to a minute; 0 if never or unknown
}

// KeyText is a read key as it appears in an address. It prints, logs and encodes as "redacted",
// like a Password.
type KeyText string

// Format writes the word "redacted", whatever the verb.
func (KeyText) Format(s fmt.State, _ rune) { io.WriteString(s, redacted) }

// LogValue returns the word "redacted".
func (KeyText) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON returns the word "redacted".
func (KeyText) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

const (
	keyPrefix = "hzk_" // so that secret scanners can find leaked keys
	keyBytes  = 24
	// maxKeyTitle is in characters. maxReadKeys is the maximum per user.
	maxKeyTitle = 100
	maxReadKeys = 100
)

// The actions of read keys in the audit trail.
const (
	ActionKeyAdd    = "read key made"
	ActionKeyRevoke = "read key revoked"
)

// CreateReadKey creates a read key of a user. Errors: *hazard.InvalidError for the title;
// hazard.ErrNotFound for an unknown user; hazard.ErrConflict if the user has too many.
func (s *Service) CreateReadKey(ctx context.Context, by Actor, user, title string, now hazard.Instant) (ReadKey, KeyText, error) {
	var bad hazard.InvalidError
	if title = hazard.CleanLine(title); title == "" || utf8.RuneCountInString(title) > maxKeyTitle {
		bad.Add("title", "must have 1 to %d characters that say what the key is for", maxKeyTitle)
		return ReadKey{}, "", bad.Err()
	}
	if s.current.Load().user(user) == nil {
		return ReadKey{}, "", fmt.Errorf("%w: user %q", hazard.ErrNotFound, user)
	}
	if len(s.ReadKeys(user)) >= maxReadKeys {
		return ReadKey{}, "", fmt.Errorf("%w: %s already has %d read keys, the limit per user; revoke unused ones", hazard.ErrConflict, user, maxReadKeys)
	}
	id, err := s.newID(now)
	if err != nil {
		return ReadKey{}, "", err
	}
	secret := make([]byte, keyBytes)
	if _, err := io.ReadFull(s.cfg.Rand, secret); err != nil {
		return ReadKey{}, "", fmt.Errorf("no random bytes for a key: %w", err)
	}
	text := keyPrefix + base64.RawURLEncoding.EncodeToString(secret)
	k := ReadKey{ID: id, User: user, Title: title, Sum: sha256.Sum256([]byte(text)), Created: now}
	if err := s.store.AddReadKey(ctx, k, by.did(ActionKeyAdd, user, title, now)); err != nil {
		return ReadKey{}, "", fmt.Errorf("make a read key: %w", err)
	}
	s.reloadAfter(ctx)
	return k, KeyText(text), nil
}

// ReadKeys lists the read keys of a user without their sums, the oldest first. If user is empty, it
// lists those of all users.
func (s *Service) ReadKeys(user string) []ReadKey {
	return s.current.Load().keyList(func(k *ReadKey) bool { return k.Scope == "" && (user == "" || k.User == user) })
}

// keyList lists the keys for which pass returns true, the oldest first, without their sums.
func (p *picture) keyList(pass func(*ReadKey) bool) []ReadKey {
	var list []ReadKey
	for _, k := range p.readKeys {
		if pass(k) {
			shown := *k
			shown.Sum = [sha256.Size]byte{}
			list = append(list, shown)
		}
	}
	slices.SortFunc(list, func(a, b ReadKey) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), strings.Compare(a.ID.String(), b.ID.String()))
	})
	return list
}

// RevokeReadKey revokes a read key or a service token: on this node at once, on others after their
// next reload. It must belong to user, unless user is empty. It returns hazard.ErrNotFound if there
// is none.
func (s *Service) RevokeReadKey(ctx context.Context, by Actor, user string, id uuid.UUID, now hazard.Instant) error {
	keys := s.current.Load().keyList(func(k *ReadKey) bool { return user == "" || k.User == user })
	i := slices.IndexFunc(keys, func(k ReadKey) bool { return k.ID == id })
	if i < 0 {
		return fmt.Errorf("%w: read key %s", hazard.ErrNotFound, id)
	}
	action := ActionKeyRevoke
	if keys[i].Scope != "" {
		action = ActionServiceRevoke
	}
	if err := s.store.RemoveReadKey(ctx, id, by.did(action, keys[i].User, keys[i].Title, now)); err != nil {
		return fmt.Errorf("revoke a read key: %w", err)
	}
	s.reloadAfter(ctx)
	return nil
}

// VerifyReadKey returns the caller of a read key: a reader without organizations. Errors are of the
// kind ErrInvalidToken.
func (s *Service) VerifyReadKey(text KeyText) (*Caller, error) {
	if len(text) > len(keyPrefix)+2*keyBytes {
		return nil, refusal("not a read key")
	}
	c, err := s.current.Load().keyCaller(sha256.Sum256([]byte(text)))
	if err == nil && c.Scope != "" {
		return nil, refusal("a service token must be sent in a header")
	}
	return c, err
}

// never is the end of something that does not end: the last second that RFC 3339 can express.
const never = hazard.Instant(253402300799_000)

// keyCaller returns the caller of a read key or a service token.
func (p *picture) keyCaller(sum [sha256.Size]byte) (*Caller, error) {
	k := p.readKeys[sum]
	if k == nil {
		return nil, refusal("no such key")
	}
	c := &Caller{Name: k.User, Role: Reader, JTI: k.ID, Expires: never, Scope: k.Scope, gen: p.gen, key: &sum}
	if k.Scope != "" {
		if org, writes := k.Scope.Org(); writes {
			c.Role, c.Orgs = Editor, []int64{org}
		}
		return c, nil
	}
	u := p.user(k.User)
	if u == nil || k.Created < u.NotBefore {
		return nil, refusal("the user of the read key has no access")
	}
	return c, nil
}
