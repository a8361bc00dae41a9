package app_test

import (
	"os"
	"testing"

	"github.com/hazardd/hazardd/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
