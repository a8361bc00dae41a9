package app_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/server"
)

// A server on a disk that is read-only or full starts, serves reads, says why it does not write, to programs and on
// the page that the map leads to, and writes as soon as the disk allows it.
func TestAServerOnADiskThatCannotBeWrittenServesReads(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the service, which short tests do not")
	}
	empty := func(t *testing.T, disk string) {
		if err := os.Remove(filepath.Join(disk, "filler")); err != nil {
			t.Error(err)
		}
	}
	for name, c := range map[string]struct {
		spoil, mend func(t *testing.T, disk string)
		reason      string // in /readyz
		write       string // in the answer to a write, with 503; empty: it may succeed
	}{
		"read-only": {
			func(t *testing.T, disk string) { mount(t, "-o", "remount,ro", disk) }, func(t *testing.T, disk string) { mount(t, "-o", "remount,rw", disk) },
			"hazardd.db cannot be written: read-only file system", "read-only file system",
		},
		"full":        {func(t *testing.T, disk string) { fill(t, disk, 0) }, empty, "hazardd.db cannot be written: no room left", "no room left"},
		"nearly full": {func(t *testing.T, disk string) { fill(t, disk, 200<<10) }, empty, "the disk of the store is full", ""},
	} {
		t.Run(name, func(t *testing.T) {
			disk := small(t)
			data := filepath.Join(disk, "data")
			hazard := `{"uuid":"6f9619ff-8b86-4d01-b42d-00cf4fc964ff","type_ID":"FLOOD","severity_ID":"WARNING","hazard_Name":"High water","latitude":47,"longitude":12}`
			var token string
			t.Run("before", func(t *testing.T) {
				s := server.ServeEmpty(t, data)
				token = s.Token("admin")
			})
			c.spoil(t, disk)
			s := server.ServeEmpty(t, data, func(c *app.Config) { c.Public = "map" })
			var ready struct {
				Ready  bool
				Reason string
			}
			a := s.Do("", http.MethodGet, "/readyz", nil) // before anybody has tried to write
			if err := json.Unmarshal(a.Body, &ready); err != nil {
				t.Fatal(err)
			}
			if a.Status != http.StatusServiceUnavailable || ready.Ready || !strings.Contains(ready.Reason, c.reason) {
				t.Errorf("readyz: %d %s", a.Status, a.Body)
			}
			for path, words := range map[string]string{"/hazards/active": "", "/hazards?q=water": "", "/status": statusClosed, "/": ""} {
				if a := s.Do("", http.MethodGet, path, nil, "Accept-Language", "en"); a.Status != http.StatusOK || !strings.Contains(string(a.Body), words) {
					t.Errorf("GET %s: %d %.2000s", path, a.Status, a.Body)
				}
			}
			a = s.Do("", http.MethodPost, "/hazards", hazard, "Authorization", "Bearer "+token)
			if c.write != "" && (a.Status != http.StatusServiceUnavailable || !strings.Contains(string(a.Body), c.write) || a.Header.Get("Retry-After") == "") {
				t.Errorf("a write: %d %s", a.Status, a.Body)
			}
			c.mend(t, disk)
			for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
				a = s.Do("", http.MethodGet, "/readyz", nil)
				if a.Status == http.StatusOK {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("a minute after the disk can be written: %s", a.Body)
				}
			}
			if a := s.Do("", http.MethodPost, "/hazards", hazard, "Authorization", "Bearer "+token); a.Status != http.StatusCreated && (c.write != "" || a.Status != http.StatusOK) {
				t.Errorf("a write afterwards: %d %s", a.Status, a.Body)
			}
		})
	}
}

// A store with little room says so before anybody has tried to write.
func TestLittleRoomIsSaidBeforeTheFirstWrite(t *testing.T) {
	disk := small(t)
	for _, little := range []bool{false, true} {
		if little {
			fill(t, disk, 2*store.RoomSize-16<<10)
		}
		s, err := app.Open(t.Context(), config(t, filepath.Join(disk, "data")))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Store.Unwritable(); errors.Is(err, hazard.ErrFull) != little {
			t.Errorf("little room %v: it says %v", little, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// small mounts a file system of little room.
func small(t *testing.T) string {
	t.Helper()
	disk := t.TempDir()
	mount(t, "-t", "tmpfs", "-o", "size=32m,mode=0700", "tmpfs", disk)
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", disk).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return disk
}

// statusClosed are words of the page of the status while the store cannot be written.
const statusClosed = "cannot be written"

func mount(t *testing.T, arguments ...string) {
	t.Helper()
	if out, err := exec.Command("mount", arguments...).CombinedOutput(); err != nil {
		t.Skipf("needs the right to mount: %s", out)
	}
}

// fill leaves so many bytes of room on a disk.
func fill(t *testing.T, disk string, room int64) {
	t.Helper()
	f, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err := errors.Join(err, f.Truncate(at-room)); err != nil {
		t.Fatal(err)
	}
}
