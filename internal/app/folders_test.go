package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
)

// A server whose folder of product files, evidence or pictures cannot be opened starts, takes hazards,
// says what it lacks, and uses the folder as soon as it can be opened (finding R4).
func TestAServerStartsWithoutAFolder(t *testing.T) {
	test.Seconds(t)
	for name, what := range map[string]string{"files": "the folder of product files", "evidence": "the folder of evidence", "pictures": "the folder of pictures"} {
		for kind, spoil := range map[string]func(path string) error{
			"something else has its name":    func(path string) error { return os.WriteFile(path, nil, 0o600) },
			"it is on a disk that is absent": func(path string) error { return os.Symlink(filepath.Join(path+"-away", "below"), path) },
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				data := t.TempDir()
				path := filepath.Join(data, name)
				if err := spoil(path); err != nil {
					t.Fatal(err)
				}
				s := server.ServeEmpty(t, data, func(c *app.Config) { c.Public = "map" })
				if a := s.Do("", http.MethodGet, "/hazards/active", nil); a.Status != http.StatusOK {
					t.Errorf("the list: %d %s", a.Status, a.Body)
				}
				hazard := `{"type_ID":"FLOOD","severity_ID":"WARNING","hazard_Name":"High water","latitude":47,"longitude":12}`
				if a := s.Do("admin", http.MethodPost, "/hazards", hazard); a.Status != http.StatusCreated {
					t.Errorf("a write: %d %s", a.Status, a.Body)
				}
				if a := s.Do("", http.MethodGet, "/readyz", nil); a.Status != http.StatusOK || !strings.Contains(string(a.Body), `"damaged":1`) {
					t.Errorf("readyz: %d %s", a.Status, a.Body)
				}
				if s.Store.Quarantine.Found()[what] == nil {
					t.Errorf("not named: %v", s.Store.Quarantine.Found())
				}
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				s.Store.Quarantine.Recheck(t.Context())
				if found := s.Store.Quarantine.Found(); len(found) > 0 {
					t.Errorf("still missing: %v", found)
				}
				if info, err := os.Stat(path); err != nil || !info.IsDir() {
					t.Errorf("the folder is not used again: %v", err)
				}
			})
		}
	}
}
