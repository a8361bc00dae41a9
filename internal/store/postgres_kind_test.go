package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// A pooler that gives each transaction another connection is named, with the setting that helps.
func TestAPoolerThatIsInTheWayIsNamed(t *testing.T) {
	for _, code := range []string{"42P05", "26000"} {
		err := store.PostgresKind(fmt.Errorf("query: %w", &pgconn.PgError{Code: code}))
		if !errors.Is(err, hazard.ErrUnavailable) || !strings.Contains(err.Error(), "pool_mode = session") {
			t.Errorf("%s: %v", code, err)
		}
	}
}
