package service

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lawless are the folders of sources that are not held to the laws, and why.
var lawless = map[string]string{
	"jtwc": "reads texts of one storm each, and an index whose records are no reports; cut, spoiled and made to contradict itself in tests of its own",
}

func TestEverySourceIsHeldToTheLaws(t *testing.T) {
	folders, err := filepath.Glob("../source/*/source.go")
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
		if why := lawless[filepath.Base(folder)]; held == (why != "") {
			t.Errorf("%s: held to sourcetest.Laws %v, exempt %q; want one of the two", folder, held, why)
		}
	}
}
