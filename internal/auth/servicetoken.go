package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Scope is what a service token may do: ScopeRead, ScopeMetrics, ScopeDrafts, or ScopeWrite followed
// by the id of an organization. It is empty for users and read keys.
type Scope string

// The scopes.
const (
	ScopeRead    Scope = "read"    // reads public data
	ScopeMetrics Scope = "metrics" // reads GET /metrics, and nothing else
	ScopeDrafts  Scope = "drafts"  // reads how many drafts wait, and since when, and nothing else
	ScopeWrite   Scope = "write:"  // reads and writes as an editor of one organization
)

// Org returns the organization that the scope may write for, if any.
func (s Scope) Org() (id int64, ok bool) {
	text, ok := strings.CutPrefix(string(s), string(ScopeWrite))
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && id > 0
}

// TokenText is a service token as sent in a header. It prints, logs and encodes as "redacted", like
// a KeyText.
type TokenText = KeyText

// servicePrefix is the prefix of each service token, so that secret scanners can find leaked
// tokens.
const servicePrefix = "hzs_"

// serviceName returns the name of a service where user names are stored. No user has such a name.
func serviceName(name string) string { return "service:" + name }

// The actions of service tokens in the audit trail.
const (
	ActionServiceAdd    = "service token made"
	ActionServiceRevoke = "service token revoked"
)

// CreateServiceToken creates a token for a program. It belongs to no user, and is valid until it is
// revoked. by is who creates it. The token itself is returned only here. Errors:
// *hazard.InvalidError for the name, the title or the scope, whose organization must exist;
// hazard.ErrConflict if that service has too many tokens.
func (s *Service) CreateServiceToken(ctx context.Context, by Actor, name, title string, scope Scope, now hazard.Instant) (ReadKey, TokenText, error) {
	var bad hazard.InvalidError
	if !validName(name) {
		bad.Add("name", "must have 1 to %d characters, of a to z, 0 to 9 and . _ @ -", maxName)
	}
	if title = hazard.CleanLine(title); len([]rune(title)) > maxKeyTitle {
		bad.Add("title", "must have at most %d characters that say what the token is for", maxKeyTitle)
	}
	id, writes := scope.Org()
	switch {
	case writes && !slices.ContainsFunc(s.Accounts().Orgs(), func(o Org) bool { return o.ID == id }):
		bad.Add("scope", "there is no organization %d", id)
	case !writes && scope != ScopeRead && scope != ScopeMetrics && scope != ScopeDrafts:
		bad.Add("scope", "must be %s, %s, %s, or %s and an organization", ScopeRead, ScopeMetrics, ScopeDrafts, ScopeWrite)
	}
	if err := bad.Err(); err != nil {
		return ReadKey{}, "", err
	}
	if len(s.ServiceTokens(name)) >= maxReadKeys {
		return ReadKey{}, "", fmt.Errorf("%w: %s already has %d tokens, the limit per service; revoke unused ones", hazard.ErrConflict, name, maxReadKeys)
	}
	key, err := s.newID(now)
	if err != nil {
		return ReadKey{}, "", err
	}
	secret := make([]byte, keyBytes)
	if _, err := io.ReadFull(s.cfg.Rand, secret); err != nil {
		return ReadKey{}, "", fmt.Errorf("no random bytes for a token: %w", err)
	}
	text := servicePrefix + base64.RawURLEncoding.EncodeToString(secret)
	k := ReadKey{ID: key, User: serviceName(name), Title: title, Scope: scope, Sum: sha256.Sum256([]byte(text)), Created: now}
	if err := s.store.AddReadKey(ctx, k, by.did(ActionServiceAdd, k.User, strings.TrimSpace(string(scope)+" "+title), now)); err != nil {
		return ReadKey{}, "", fmt.Errorf("make a service token: %w", err)
	}
	s.reloadAfter(ctx)
	return k, TokenText(text), nil
}

// ServiceTokens lists the tokens of a service without their sums, the oldest first. If name is
// empty, it lists those of all services.
func (s *Service) ServiceTokens(name string) []ReadKey {
	return s.current.Load().keyList(func(k *ReadKey) bool { return k.Scope != "" && (name == "" || k.User == serviceName(name)) })
}

// verifyService is Verify for a service token.
func (s *Service) verifyService(text string, now hazard.Instant) (*Caller, error) {
	if len(text) > len(servicePrefix)+2*keyBytes {
		return nil, refusal("not a service token")
	}
	c, err := s.current.Load().keyCaller(sha256.Sum256([]byte(text)))
	if err != nil {
		return nil, err
	}
	s.uses.note(c.JTI, now)
	return c, nil
}

// flushUses is how often the times of the last uses are written.
const flushUses = time.Minute

// uses are times of last use that have not been written yet.
type uses struct {
	mu      sync.Mutex
	at      map[uuid.UUID]hazard.Instant // guarded by mu
	flushed hazard.Instant               // guarded by mu
}

func (u *uses) note(id uuid.UUID, now hazard.Instant) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil {
		u.at = map[uuid.UUID]hazard.Instant{}
	}
	u.at[id] = max(u.at[id], now)
}

// due returns what to write now, or nil.
func (u *uses) due(now hazard.Instant) map[uuid.UUID]hazard.Instant {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.at) == 0 || now.Time().Sub(u.flushed.Time()).Abs() < flushUses {
		return nil
	}
	at := u.at
	u.at, u.flushed = nil, now
	return at
}

// writeUses writes the times of last use in one transaction, at most once a minute.
func (s *Service) writeUses(ctx context.Context, now hazard.Instant) error {
	at := s.uses.due(now)
	if at == nil {
		return nil
	}
	if err := s.store.NoteUses(ctx, at); err != nil {
		for id, t := range at { // retry next time
			s.uses.note(id, t)
		}
		return fmt.Errorf("write when keys were used: %w", err)
	}
	return nil
}
