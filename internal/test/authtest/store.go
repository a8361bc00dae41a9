// Package authtest helps to test users of package auth: it opens stores for them, and has the tests
// that every store must pass.
package authtest

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/datadir"
)

// Store is a real store that can be away. Several services may share it, as nodes share a database.
type Store struct {
	auth.Store
	away atomic.Pointer[error]
}

// Open returns a new, empty store in an SQLite file, which is closed when the test ends.
func Open(t testing.TB) *Store {
	t.Helper()
	s, err := store.Open(context.WithoutCancel(t.Context()), datadir.Empty(t), "sqlite:?synchronous=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Store{Store: s.Accounts}
}

// Away makes the methods that a login, a renewal, a revocation, a reload and a new user need fail with err from
// now on, as if the database were unreachable. nil ends this.
func (s *Store) Away(err error) {
	if err == nil {
		s.away.Store(nil)
		return
	}
	s.away.Store(&err)
}

func (s *Store) gone() error {
	if err := s.away.Load(); err != nil {
		return *err
	}
	return nil
}

// unless calls f unless the store is away.
func unless[T any](s *Store, f func() (T, error)) (v T, err error) {
	if err := s.gone(); err != nil {
		return v, err
	}
	return f()
}

// Version implements auth.Store.
func (s *Store) Version(ctx context.Context) (int64, error) {
	return unless(s, func() (int64, error) { return s.Store.Version(ctx) })
}

// Load implements auth.Store.
func (s *Store) Load(ctx context.Context) (auth.Data, error) {
	return unless(s, func() (auth.Data, error) { return s.Store.Load(ctx) })
}

// CreateUser implements auth.Store.
func (s *Store) CreateUser(ctx context.Context, u auth.User, a auth.Audit) error {
	if err := s.gone(); err != nil {
		return err
	}
	return s.Store.CreateUser(ctx, u, a)
}

// Attempts implements auth.Store.
func (s *Store) Attempts(ctx context.Context, keys []string) ([]auth.Attempts, error) {
	return unless(s, func() ([]auth.Attempts, error) { return s.Store.Attempts(ctx, keys) })
}

// AdvanceSession implements auth.Store.
func (s *Store) AdvanceSession(ctx context.Context, next auth.Session) (auth.Session, error) {
	return unless(s, func() (auth.Session, error) { return s.Store.AdvanceSession(ctx, next) })
}

// AddFailure implements auth.Store.
func (s *Store) AddFailure(ctx context.Context, keys []string, at, forget hazard.Instant, a *auth.Audit) error {
	if err := s.gone(); err != nil {
		return err
	}
	return s.Store.AddFailure(ctx, keys, at, forget, a)
}

// AddSuccess implements auth.Store.
func (s *Store) AddSuccess(ctx context.Context, keys []string, at hazard.Instant, a auth.Audit) error {
	if err := s.gone(); err != nil {
		return err
	}
	return s.Store.AddSuccess(ctx, keys, at, a)
}

// AddSession implements auth.Store.
func (s *Store) AddSession(ctx context.Context, x auth.Session) error {
	if err := s.gone(); err != nil {
		return err
	}
	return s.Store.AddSession(ctx, x)
}

// RevokeSession implements auth.Store.
func (s *Store) RevokeSession(ctx context.Context, x auth.Session, until hazard.Instant, a auth.Audit) error {
	if err := s.gone(); err != nil {
		return err
	}
	return s.Store.RevokeSession(ctx, x, until, a)
}

// Once implements auth.Store.
func (s *Store) Once(ctx context.Context, id uuid.UUID, until hazard.Instant) error {
	if err := s.gone(); err != nil {
		return err
	}
	return s.Store.Once(ctx, id, until)
}

// AddAudit implements auth.Store.
func (s *Store) AddAudit(ctx context.Context, a auth.Audit) error {
	if err := s.gone(); err != nil {
		return err
	}
	return s.Store.AddAudit(ctx, a)
}
