package rig

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/uuid"
)

func TestFullDiskRefusesWritesServesReadsAndRecovers(t *testing.T) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("a small file system takes Linux and root")
	}
	mount := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", mount).CombinedOutput(); err != nil {
		t.Skipf("there is no tmpfs here: %v %s", err, out)
	}
	t.Cleanup(func() { run(t, "umount", mount) })
	data := filepath.Join(mount, "data")
	start(t, data, "").kill()
	token := writer(t, data)
	s := start(t, data, "")
	c := newClient(s.url, token)
	l := newLedger()
	if err := l.create(t.Context(), c, uuid.NewString()); err != nil {
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
	// A few small changes may still fit into what the database has: many do not.
	refused := 0
	for range 300 {
		err := l.create(t.Context(), c, uuid.NewString())
		if err == nil {
			continue
		}
		r, ok := err.(*refusal)
		if !ok {
			t.Fatalf("on a full disk: %v", err)
		}
		if r.status != http.StatusInsufficientStorage {
			t.Fatalf("on a full disk: %v", r)
		}
		refused++
	}
	if refused == 0 {
		t.Error("no write was refused on a full disk")
	}
	if status, _, _, err := c.do(t.Context(), http.MethodGet, "/hazards/active", "", nil); err != nil || status != http.StatusOK {
		t.Errorf("reads on a full disk: %d %v", status, err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := l.create(t.Context(), c, uuid.NewString()); err != nil {
		t.Errorf("after room was made: %v", err)
	}
	for _, what := range l.check(t, c, true) {
		t.Error(what)
	}
	t.Logf("%d writes refused while the disk was full, %d changes in the end", refused, checkLog(t, c))
}
