package pgtest

import (
	"database/sql"
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func TestEachTestHasADatabaseOfItsOwn(t *testing.T) {
	for range 2 {
		d, err := sql.Open("pgx", URL(t))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}()
		if _, err := d.ExecContext(t.Context(), `CREATE TABLE mine (n BIGINT)`); err != nil {
			t.Error(err)
		}
	}
}
