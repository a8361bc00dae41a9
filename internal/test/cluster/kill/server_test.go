//go:build unix

package kill

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/program"
)

// binary is the path of the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	if !test.All() { // no test here runs the program then
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "hazardd-rig")
	if err != nil {
		panic(err)
	}
	if binary, err = program.Build(dir); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// server is a running hazardd.
type server struct {
	t    testing.TB
	cmd  *exec.Cmd
	url  string
	logs *bytes.Buffer
	gone chan struct{} // closed when the process has ended
}

// launch starts the program on a data folder, and does not wait until it is ready.
func launch(t testing.TB, data, database string) (*server, *bufio.Reader) {
	t.Helper()
	args := []string{"serve", "--data", data, "--listen", "127.0.0.1:0", "--sources", "none", "--log-level", "error",
		"--no-exposure"} // otherwise hazards change again when their people are counted
	if database != "" {
		args = append(args, "--database", database)
	}
	s := &server{t: t, cmd: exec.Command(binary, args...), logs: &bytes.Buffer{}, gone: make(chan struct{})}
	s.cmd.Stderr = s.logs
	s.cmd.Dir = os.TempDir() // never on the disk whose power is cut
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	return s, bufio.NewReader(out)
}

// start starts the program and waits until it is ready.
func start(t testing.TB, data, database string) *server {
	t.Helper()
	s, out := launch(t, data, database)
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			s.kill()
			t.Fatalf("the server does not start: %v\n%s", err, s.logs)
		}
		if url, ok := strings.CutPrefix(line, "hazardd ready at "); ok {
			s.url = strings.TrimSpace(url)
			go func() {
				_, _ = io.Copy(io.Discard, out) // until the process ends
				close(s.gone)
			}()
			return s
		}
	}
}

// kill kills the process, and waits until it has ended.
func (s *server) kill() {
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
	if s.url != "" {
		<-s.gone
	}
	_ = s.cmd.Wait() // killed: never without an error
}

// command runs a command of the program on a data folder.
func command(t testing.TB, data string, stdin string, args ...string) string {
	t.Helper()
	out, err := program.Command(binary, stdin, append(args, "--data", data)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// client is one client of a server, with a connection of its own.
type client struct {
	http  *http.Client
	url   string
	token string
}

func newClient(url, token string) *client {
	return &client{&http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}, url, token}
}

// do sends a request and reads the whole answer. After an error, the result of the request is
// unknown.
func (c *client) do(ctx context.Context, method, path, contentType string, body []byte) (status int, answer []byte, header http.Header, err error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, resp.Header, err
}
