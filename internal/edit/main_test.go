package edit_test

import (
	"os"
	"testing"

	"hazardd/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
