package app_test

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/test/server"
)

// A server on a read-only disk starts, serves reads, says why it does not write, and writes as soon as
// the disk allows it.
func TestAServerOnAReadOnlyDiskServesReads(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the service, which short tests do not")
	}
	disk := t.TempDir()
	mount := func(arguments ...string) {
		t.Helper()
		if out, err := exec.Command("mount", append(arguments, disk)...).CombinedOutput(); err != nil {
			t.Skipf("needs the right to mount: %s", out)
		}
	}
	mount("-t", "tmpfs", "-o", "size=32m,mode=0700", "tmpfs")
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", disk).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	data := filepath.Join(disk, "data")
	hazard := `{"uuid":"6f9619ff-8b86-4d01-b42d-00cf4fc964ff","type_ID":"FLOOD","severity_ID":"WARNING","hazard_Name":"High water","latitude":47,"longitude":12}`
	var token string
	t.Run("before", func(t *testing.T) {
		s := server.ServeEmpty(t, data)
		token = s.Token("admin")
	})
	mount("-o", "remount,ro")
	s := server.ServeEmpty(t, data, func(c *app.Config) { c.Public = "map" })
	for _, path := range []string{"/hazards/active", "/hazards?q=water", "/status", "/"} {
		if a := s.Do("", http.MethodGet, path, nil); a.Status != http.StatusOK {
			t.Errorf("GET %s: %d %.200s", path, a.Status, a.Body)
		}
	}
	var ready struct {
		Ready  bool
		Reason string
	}
	a := s.Do("", http.MethodGet, "/readyz", nil)
	if err := json.Unmarshal(a.Body, &ready); err != nil {
		t.Fatal(err)
	}
	if a.Status != http.StatusServiceUnavailable || ready.Ready || !strings.Contains(ready.Reason, "hazardd.db cannot be written: read-only file system") {
		t.Errorf("readyz: %d %s", a.Status, a.Body)
	}
	a = s.Do("", http.MethodPost, "/hazards", hazard, "Authorization", "Bearer "+token)
	if a.Status != http.StatusServiceUnavailable || !strings.Contains(string(a.Body), "read-only file system") || a.Header.Get("Retry-After") == "" {
		t.Errorf("a write: %d %s", a.Status, a.Body)
	}
	mount("-o", "remount,rw")
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		a = s.Do("", http.MethodGet, "/readyz", nil)
		if a.Status == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("a minute after the disk can be written: %s", a.Body)
		}
	}
	if a := s.Do("", http.MethodPost, "/hazards", hazard, "Authorization", "Bearer "+token); a.Status != http.StatusCreated {
		t.Errorf("a write afterwards: %d %s", a.Status, a.Body)
	}
}
