package hazardd

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The table of the ASVS names tests; each of them exists.
func TestTheASVSNamesTestsThatExist(t *testing.T) {
	page, err := os.ReadFile("docs/asvs.md")
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(page), -1) {
		missing[name] = true
	}
	if len(missing) < 30 {
		t.Errorf("only %d tests are named", len(missing))
	}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for name := range missing {
			if strings.Contains(string(text), "func "+name+"(") {
				delete(missing, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range missing {
		t.Errorf("docs/asvs.md names %s, which is not there", name)
	}
}
