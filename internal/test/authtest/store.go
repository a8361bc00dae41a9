// Package authtest helps to test users of package auth: it has a store in memory, and tests that
// every store must pass.
package authtest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/net/trace"
)

// Store is an auth.Store in memory, with the guarantees of that interface, except that nothing
// survives the process. Several services may share it, as nodes share a database. The zero value is
// empty and ready.
type Store struct {
	mu       sync.Mutex
	away     error
	version  int64
	users    map[string]auth.User
	orgs     []auth.Org
	keys     []auth.Key
	attempts map[string]auth.Attempts
	sessions map[uuid.UUID]auth.Session
	revoked  map[uuid.UUID]hazard.Instant
	trail    []auth.Audit
	audited  int64
	readKeys []auth.ReadKey
}

var _ auth.Store = (*Store)(nil)

// Away makes every method fail with err from now on, as if the database were unreachable. nil ends
// this.
func (s *Store) Away(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = err
}

// begin starts a transaction, which lasts until end is called. If it returns an error, there is no
// transaction.
func (s *Store) begin(ctx context.Context) (end func(), err error) {
	s.mu.Lock()
	if err := cmp.Or(context.Cause(ctx), s.away); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	return s.mu.Unlock, nil
}

// Version implements auth.Store.
func (s *Store) Version(ctx context.Context) (int64, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	return s.version, nil
}

// Load implements auth.Store.
func (s *Store) Load(ctx context.Context) (auth.Data, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return auth.Data{}, err
	}
	defer end()
	d := auth.Data{Version: s.version, Orgs: slices.Clone(s.orgs), Keys: slices.Clone(s.keys), ReadKeys: slices.Clone(s.readKeys)}
	for _, u := range s.users {
		u.Orgs = slices.Clone(u.Orgs)
		d.Users = append(d.Users, u)
	}
	slices.SortFunc(d.Users, func(a, b auth.User) int { return strings.Compare(a.Name, b.Name) })
	for id, until := range s.revoked {
		d.Revoked = append(d.Revoked, auth.Revocation{ID: id, Until: until})
	}
	return d, nil
}

// CreateUser implements auth.Store.
func (s *Store) CreateUser(ctx context.Context, u auth.User, a auth.Audit) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if _, taken := s.users[u.Name]; taken {
		return hazard.ErrConflict
	}
	s.putUser(u)
	s.wrote(ctx, a)
	return nil
}

// UpdateUser implements auth.Store.
func (s *Store) UpdateUser(ctx context.Context, name string, change func(*auth.User) error, a auth.Audit) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	u, ok := s.users[name]
	if !ok {
		return hazard.ErrNotFound
	}
	u.Orgs = slices.Clone(u.Orgs)
	if err := change(&u); err != nil {
		return err
	}
	u.Name = name
	s.putUser(u)
	s.wrote(ctx, a)
	return nil
}

func (s *Store) putUser(u auth.User) {
	if s.users == nil {
		s.users = map[string]auth.User{}
	}
	u.Orgs = slices.Clone(u.Orgs)
	s.users[u.Name] = u
}

// wrote completes a write that changes Version.
func (s *Store) wrote(ctx context.Context, a auth.Audit) {
	s.version++
	s.audit(ctx, a)
}

// CreateOrg implements auth.Store.
func (s *Store) CreateOrg(ctx context.Context, o auth.Org, a auth.Audit) (auth.Org, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return auth.Org{}, err
	}
	defer end()
	if slices.ContainsFunc(s.orgs, func(p auth.Org) bool { return p.Acronym == o.Acronym }) {
		return auth.Org{}, hazard.ErrConflict
	}
	o.ID = int64(len(s.orgs)) + 1 // organizations are never removed
	s.orgs = append(s.orgs, o)
	s.wrote(ctx, a)
	return o, nil
}

// AddKey implements auth.Store.
func (s *Store) AddKey(ctx context.Context, k auth.Key, newest string) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	have := ""
	if n := len(s.keys); n > 0 {
		have = s.keys[n-1].ID
	}
	if have != newest {
		return hazard.ErrConflict
	}
	s.keys = append(s.keys, k)
	slices.SortFunc(s.keys, func(a, b auth.Key) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), strings.Compare(a.ID, b.ID))
	})
	s.version++
	return nil
}

// Attempts implements auth.Store.
func (s *Store) Attempts(ctx context.Context, keys []string) ([]auth.Attempts, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	known := make([]auth.Attempts, len(keys))
	for i, k := range keys {
		known[i] = s.attempts[k]
	}
	return known, nil
}

// AddReadKey implements auth.Store.
func (s *Store) AddReadKey(ctx context.Context, k auth.ReadKey, a auth.Audit) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	s.readKeys = append(s.readKeys, k)
	slices.SortFunc(s.readKeys, func(a, b auth.ReadKey) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), strings.Compare(a.ID.String(), b.ID.String()))
	})
	s.wrote(ctx, a)
	return nil
}

// NoteUses implements auth.Store.
func (s *Store) NoteUses(ctx context.Context, at map[uuid.UUID]hazard.Instant) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	for i := range s.readKeys {
		s.readKeys[i].Used = max(s.readKeys[i].Used, at[s.readKeys[i].ID])
	}
	return nil
}

// RemoveReadKey implements auth.Store.
func (s *Store) RemoveReadKey(ctx context.Context, id uuid.UUID, a auth.Audit) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	n := len(s.readKeys)
	if s.readKeys = slices.DeleteFunc(s.readKeys, func(k auth.ReadKey) bool { return k.ID == id }); len(s.readKeys) == n {
		return hazard.ErrNotFound
	}
	s.wrote(ctx, a)
	return nil
}

// AddFailure implements auth.Store.
func (s *Store) AddFailure(ctx context.Context, keys []string, at, forget hazard.Instant, a *auth.Audit) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	for _, k := range keys {
		s.attempt(k, func(x *auth.Attempts) {
			if x.LastFailure < forget {
				x.Failures = 0
			}
			x.Failures++
			x.LastFailure = max(x.LastFailure, at)
		})
	}
	if a != nil {
		s.audit(ctx, *a)
	}
	return nil
}

// AddSuccess implements auth.Store.
func (s *Store) AddSuccess(ctx context.Context, keys []string, at hazard.Instant, a auth.Audit) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	for _, k := range keys {
		s.attempt(k, func(x *auth.Attempts) { x.Failures, x.LastSuccess = 0, max(x.LastSuccess, at) })
	}
	s.audit(ctx, a)
	return nil
}

func (s *Store) attempt(key string, change func(*auth.Attempts)) {
	if s.attempts == nil {
		s.attempts = map[string]auth.Attempts{}
	}
	x := s.attempts[key]
	change(&x)
	s.attempts[key] = x
}

// AdvanceSession implements auth.Store.
func (s *Store) AdvanceSession(ctx context.Context, next auth.Session) (auth.Session, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return auth.Session{}, err
	}
	defer end()
	row, ok := s.sessions[next.ID]
	switch {
	case !ok && next.Parent != next.ID:
		return auth.Session{}, hazard.ErrNotFound
	case !ok:
		row = next
	case row.Revoked == 0 && row.Child.Refresh == next.Parent:
		row.Parent, row.Child, row.Used, row.Addr, row.Client = next.Parent, next.Child, next.Used, next.Addr, next.Client
	}
	s.putSession(row)
	row.Child.Orgs = slices.Clone(row.Child.Orgs)
	return row, nil
}

func (s *Store) putSession(row auth.Session) {
	if s.sessions == nil {
		s.sessions = map[uuid.UUID]auth.Session{}
	}
	row.Child.Orgs = slices.Clone(row.Child.Orgs)
	s.sessions[row.ID] = row
}

// RevokeSession implements auth.Store.
func (s *Store) RevokeSession(ctx context.Context, x auth.Session, until hazard.Instant, a auth.Audit) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	row, ok := s.sessions[x.ID]
	if !ok {
		row = x
	} else if row.Revoked != 0 {
		return nil
	}
	row.Revoked = x.Revoked
	s.putSession(row)
	if s.revoked == nil {
		s.revoked = map[uuid.UUID]hazard.Instant{}
	}
	s.revoked[x.ID] = until
	s.wrote(ctx, a)
	return nil
}

// AddAudit implements auth.Store.
func (s *Store) AddAudit(ctx context.Context, a auth.Audit) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	s.audit(ctx, a)
	return nil
}

// Trail implements auth.Store.
func (s *Store) Trail(ctx context.Context, f auth.TrailFilter) ([]auth.Audit, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	var rows []auth.Audit
	for _, a := range slices.Backward(s.trail) {
		if len(rows) < f.Limit && a.ID > f.After && (f.Before == 0 || a.ID < f.Before) && a.At >= f.Since && (f.Until == 0 || a.At < f.Until) &&
			(f.User == "" || a.Actor == f.User || a.Subject == f.User) && (f.Action == "" || a.Action == f.Action) &&
			(f.Request == "" || a.Request == f.Request || strings.HasPrefix(a.Request, f.Request+"-")) {
			rows = append(rows, a)
		}
	}
	return rows, nil
}

func (s *Store) audit(ctx context.Context, a auth.Audit) {
	s.audited++
	a.ID, a.Request = s.audited, trace.ID(ctx)
	s.trail = append(s.trail, a)
}

// AddSession implements auth.Store.
func (s *Store) AddSession(ctx context.Context, x auth.Session) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if _, ok := s.sessions[x.ID]; !ok {
		s.putSession(x)
	}
	return nil
}

// Sessions implements auth.Store.
func (s *Store) Sessions(ctx context.Context, user string) ([]auth.Session, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	var list []auth.Session
	for _, x := range s.sessions {
		if x.User == user && x.Revoked == 0 {
			list = append(list, x)
		}
	}
	return list, nil
}

// ProviderSessions implements auth.Store.
func (s *Store) ProviderSessions(ctx context.Context, provider string) ([]auth.Session, error) {
	end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	var list []auth.Session
	for _, x := range s.sessions {
		if provider != "" && x.Provider == provider && x.Revoked == 0 {
			list = append(list, x)
		}
	}
	return list, nil
}

// Once implements auth.Store.
func (s *Store) Once(ctx context.Context, id uuid.UUID, until hazard.Instant) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if _, used := s.revoked[id]; used {
		return hazard.ErrConflict
	}
	if s.revoked == nil {
		s.revoked = map[uuid.UUID]hazard.Instant{}
	}
	s.revoked[id] = until
	return nil
}

// ReplaceKeys implements auth.Store.
func (s *Store) ReplaceKeys(ctx context.Context, k auth.Key, a auth.Audit) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	s.keys, s.sessions = []auth.Key{k}, nil
	s.wrote(ctx, a)
	return nil
}

// Purge implements auth.Store.
func (s *Store) Purge(ctx context.Context, p auth.Purge) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	for id, x := range s.sessions {
		if x.Expires <= p.Now {
			delete(s.sessions, id)
		}
	}
	for id, until := range s.revoked {
		if until <= p.Now {
			delete(s.revoked, id)
		}
	}
	for k, x := range s.attempts {
		if x.LastFailure < p.FailuresBefore && x.LastSuccess < p.SuccessesBefore {
			delete(s.attempts, k)
		}
	}
	s.keys = slices.DeleteFunc(s.keys, func(k auth.Key) bool { return k.NotAfter <= p.Now })
	s.trail = slices.DeleteFunc(s.trail, func(a auth.Audit) bool { return a.At < p.AuditBefore })
	return nil
}
