package authtest_test

import (
	"testing"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/test/authtest"
)

func TestStoreInMemory(t *testing.T) {
	authtest.TestStore(t, func(*testing.T) auth.Store { return new(authtest.Store) })
}
