package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEverySourceIsHeldToTheLaws(t *testing.T) {
	folders, err := filepath.Glob("../ingest/sources/*/source.go")
	if err != nil || len(folders) < len(builtIn) {
		t.Fatalf("%d folders of sources for %d built-in sources: %v", len(folders), len(builtIn), err)
	}
	for _, folder := range folders {
		folder = filepath.Dir(folder)
		tests, _ := filepath.Glob(filepath.Join(folder, "*_test.go"))
		held := slices.ContainsFunc(tests, func(name string) bool {
			text, err := os.ReadFile(name)
			return err == nil && strings.Contains(string(text), "sourcetest.Laws(")
		})
		if !held {
			t.Errorf("%s: its parser is not tested with sourcetest.Laws", folder)
		}
	}
}
