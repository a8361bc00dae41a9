package kill

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/test"
)

// failing lets system calls of a process on the files of its store fail with EIO, until heal.
func failing(t *testing.T, pid int, data, calls string) (heal func()) {
	t.Helper()
	arguments := []string{"-f", "-p", fmt.Sprint(pid), "-o", os.DevNull, "-e", "trace=" + calls, "-e", "inject=" + calls + ":error=EIO", "-e", "signal=none"}
	for _, name := range []string{"hazardd.db", "hazardd.db-wal"} {
		arguments = append(arguments, "-P", filepath.Join(data, name))
	}
	cmd := exec.Command("strace", arguments...)
	messages, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("a failing disk needs strace (Debian: strace): %v", err)
	}
	lines := bufio.NewScanner(messages)
	for attached := false; !attached; {
		if !lines.Scan() {
			t.Skip("needs the right to trace a process")
		}
		attached = strings.Contains(lines.Text(), "attached")
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, messages)
		_ = cmd.Wait() // by a signal: never without an error
	}()
	return func() {
		_ = cmd.Process.Signal(syscall.SIGINT) // strace leaves the process alone
		<-gone
	}
}

// Where the disk fails with EIO, writes are refused with 503, reads go on, the server says so, and goes
// on by itself when the disk works again. Nothing that was acknowledged is lost, then or by a kill.
func TestAFailingDiskRefusesWritesServesReadsAndRecovers(t *testing.T) {
	test.Slow(t)
	data := t.TempDir()
	start(t, data, "").kill()
	token := writer(t, data)
	s := start(t, data, "")
	c, l := newClient(s.url, token), newLedger()
	for _, calls := range []string{"pwrite64", "fsync,fdatasync", "pwrite64,pread64,fsync,fdatasync,ftruncate"} {
		if err := l.create(t.Context(), c, uuid.NewString()); err != nil {
			t.Fatalf("before %s: %v", calls, err)
		}
		heal := failing(t, s.cmd.Process.Pid, data, calls)
		refused := 0
		for range 5 {
			err := l.create(t.Context(), c, uuid.NewString())
			if r, ok := errors.AsType[*refusal](err); ok && r.status == http.StatusServiceUnavailable && r.retryAfter != "" {
				refused++
			} else {
				t.Errorf("%s: a write: %v", calls, err)
			}
		}
		for path, want := range map[string]int{"/hazards/active": http.StatusOK, "/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable} {
			if status, answer, _, err := c.do(t.Context(), http.MethodGet, path, "", nil); err != nil || status != want {
				t.Errorf("%s: GET %s: %d %.200s %v", calls, path, status, answer, err)
			}
		}
		heal()
		status := 0
		for deadline := time.Now().Add(2 * time.Minute); status != http.StatusOK && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			status, _, _, _ = c.do(t.Context(), http.MethodGet, "/readyz", "", nil)
		}
		if err := l.create(t.Context(), c, uuid.NewString()); err != nil || status != http.StatusOK {
			t.Errorf("%s: readyz %d when the disk works again, and a write: %v", calls, status, err)
		}
		t.Logf("%s: %d of 5 writes refused", calls, refused)
	}
	s.kill()
	s = start(t, data, "")
	for _, what := range l.check(t, newClient(s.url, token), true) {
		t.Error(what)
	}
	s.kill()
	if err := integrity(data); err != nil {
		t.Error(err)
	}
}

// Whatever becomes of the readers of its log and its output, the server starts, answers, and ends as
// it is told.
func TestNoReaderOfTheLogEndsTheServer(t *testing.T) {
	test.Slow(t)
	data := t.TempDir()
	start(t, data, "").kill()
	full := func() *os.File {
		f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		return f
	}
	for name, of := range map[string]struct{ outFull, logFull, leave bool }{
		"the readers go":            {leave: true},
		"standard output is full":   {outFull: true},
		"the log is full":           {logFull: true},
		"output full, readers gone": {outFull: true, leave: true},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(binary, "serve", "--data", data, "--listen", "127.0.0.1:0", "--sources", "none", "--log-level", "debug")
			out, outEnd, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			log, logEnd, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdout, cmd.Stderr = outEnd, logEnd
			from := out
			if of.outFull {
				cmd.Stdout, from = full(), log
			}
			if of.logFull {
				cmd.Stderr = full()
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill() }()
			_, _ = outEnd.Close(), logEnd.Close()
			url := ""
			for lines := bufio.NewScanner(from); url == "" && lines.Scan(); {
				if _, at, ok := strings.Cut(lines.Text(), "http://"); ok && strings.Contains(lines.Text(), "ready") {
					url = "http://" + strings.TrimSpace(at)
				}
			}
			if of.leave {
				_, _ = out.Close(), log.Close()
			} else {
				go func() { _, _ = io.Copy(io.Discard, log) }()
			}
			for range 20 { // each logs a line
				resp, err := http.Get(url + "/healthz")
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("the server ended with %v", err)
			}
		})
	}
}
