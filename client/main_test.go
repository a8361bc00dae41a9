package client_test

import (
	"os"
	"testing"

	"github.com/hazardd/hazardd/internal/test/postgres"
)

func TestMain(m *testing.M) { os.Exit(postgres.Main(m)) }
