package app_test

import (
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
)

// A server whose folder of product files, evidence or pictures cannot be opened starts, takes hazards,
// says what it lacks, and uses the folder as soon as it can be opened.
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

// lines is a log whose lines a test waits for.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	select {
	case l <- string(line):
	default: // nobody waits for so many
	}
	return len(line), nil
}

// A node that looks for product files where they are not says so at start: with a data folder of its own
// beside a common database, its readers would get 404.
func TestANodeThatDoesNotSeeProductFilesSaysSo(t *testing.T) {
	test.Seconds(t)
	data := t.TempDir()
	t.Run("a node that keeps a file", func(t *testing.T) {
		s := server.ServeEmpty(t, data)
		f, err := s.Store.Files.Stage(t.Context(), strings.NewReader("a map"), 1000)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Put(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err = s.Store.Write(t.Context(), s.Now(), store.Origin{}, func(tx *store.Tx) error {
			h := &hazard.Hazard{UUID: uuid.New(), Name: "High water", Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Event, Status: hazard.Active, OrgID: hazard.NoOrg, Latitude: 47, Longitude: 12}
			if err := errors.Join(f.Keep(tx), tx.SaveHazard(h, nil)); err != nil {
				return err
			}
			return tx.SaveProduct(&hazard.Product{UUID: uuid.New(), HazardID: h.ID, Title: "Map", Type: hazard.FileProduct, File: &hazard.File{Name: "a.txt", Digest: f.Digest, Size: f.Size}})
		})
		if err = errors.Join(err, f.Drop()); err == nil {
			_, err = s.Store.Files.Sweep(t.Context(), s.Now()) // which notes that it is used
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if err := os.Rename(filepath.Join(data, "files"), filepath.Join(data, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	log := make(lines, 1000)
	server.ServeEmpty(t, data, func(c *app.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
	for deadline := time.After(time.Minute); ; {
		select {
		case line := <-log:
			if strings.Contains(line, "product files are not where this node looks for them") && strings.Contains(line, "asked=1 unseen=1") {
				return
			}
		case <-deadline:
			t.Fatal("nothing was said in a minute")
		}
	}
}
