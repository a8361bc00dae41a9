//go:build unix

package kill

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "modernc.org/sqlite" // the driver

	"github.com/hazardd/hazardd/internal/test"
)

// integrity lets SQLite check every page of a store that is not in use.
func integrity(data string) (err error) {
	db, err := sql.Open("sqlite", filepath.Join(data, "hazardd.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var found string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return fmt.Errorf("integrity_check: %s", found)
	}
	return nil
}

func TestFullDiskRefusesWritesServesReadsAndRecovers(t *testing.T) {
	test.Slow(t)
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("a small file system requires Linux and root")
	}
	tidy(t)
	mount := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=24m", tagged(), mount).CombinedOutput(); err != nil {
		t.Skipf("no tmpfs is available: %v %s", err, out)
	}
	t.Cleanup(func() { unmount(t, mount) })
	data := filepath.Join(mount, "data")
	start(t, data, "").kill()
	token := writer(t, data)
	s := start(t, data, "")
	c := newClient(s.url, token)
	l := newLedger()
	first := uuid.NewString()
	if err := l.create(t.Context(), c, first); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(mount, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	for block := bytes.Repeat([]byte("x"), 4096); err == nil; {
		_, err = f.Write(block) // until there is no room left
	}
	if err := f.Close(); err != nil {
		t.Logf("close the filler: %v", err)
	}
	// A few small changes may still fit into the free space of the database, but many do not.
	refused := 0
	for range 300 {
		err := l.create(t.Context(), c, uuid.NewString())
		if err == nil {
			continue
		}
		r, ok := errors.AsType[*refusal](err)
		if !ok {
			t.Fatalf("on a full disk: %v", err)
		}
		if r.status != http.StatusInsufficientStorage || r.retryAfter == "" {
			t.Fatalf("on a full disk: %v, Retry-After %q", r, r.retryAfter)
		}
		refused++
		var problem struct{ Status int }
		if err := json.Unmarshal([]byte(r.answer), &problem); err != nil || problem.Status != r.status || r.contentType != "application/problem+json" {
			t.Fatalf("on a full disk: %s %s; want problem+json", r.contentType, r.answer)
		}
	}
	if refused == 0 {
		t.Error("no write was refused on a full disk")
	}
	err = l.upload(t.Context(), c, first, uuid.NewString(), rand.New(rand.NewPCG(1, 1)))
	if r, ok := errors.AsType[*refusal](err); !ok || r.status != http.StatusInsufficientStorage {
		t.Errorf("a file on a full disk: %v, want 507", err)
	}
	if status, _, _, err := c.do(t.Context(), http.MethodGet, "/hazards/active", "", nil); err != nil || status != http.StatusOK {
		t.Errorf("reads on a full disk: %d %v", status, err)
	}
	readyz := func() (int, string) {
		status, answer, _, err := c.do(t.Context(), http.MethodGet, "/readyz", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		return status, string(answer)
	}
	if status, answer := readyz(); status != http.StatusServiceUnavailable {
		t.Errorf("readyz on a full disk: %d %s, want 503", status, answer)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for { // it retries every few seconds; if this loop hangs, the test has failed
		if status, _ := readyz(); status == http.StatusOK {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err := l.create(t.Context(), c, uuid.NewString()); err != nil {
		t.Errorf("after room was made: %v", err)
	}
	for _, what := range l.check(t, c, true) {
		t.Error(what)
	}
	t.Logf("%d writes refused while the disk was full, %d changes in the end", refused, checkLog(t, c))
	s.end()
	if err := integrity(data); err != nil {
		t.Error(err)
	}
}
