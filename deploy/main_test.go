package deploy_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/hazardd/hazardd/internal/test/child"
	"github.com/hazardd/hazardd/internal/test/postgres"
	built "github.com/hazardd/hazardd/internal/test/program"
)

// program is the path of hazardd, built once.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if flag.Parse(); testing.Short() {
		return 0 // all tests here run the program, which short tests do not
	}
	dir, err := os.MkdirTemp("", "hazardd-deploy-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if program, err = built.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return postgres.Main(m)
}

// hazardd runs a command to its end, without the settings of the machine.
func hazardd(t testing.TB, stdin string, env []string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var out, errs bytes.Buffer
	// GOGC: otherwise a third of each start is the collector, which finds nothing.
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env, cmd.Dir = strings.NewReader(stdin), &out, &errs, append([]string{"HOME=/nonexistent", "GOGC=400"}, env...), t.TempDir()
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatalf("hazardd %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// node is a running hazardd.
type node struct {
	addr string
	cmd  *exec.Cmd
	logs *bytes.Buffer
	gone chan struct{}
}

// begin starts a node on a free port, and returns at once. wait waits until it is ready.
func begin(t testing.TB, args ...string) (n *node, wait func()) {
	t.Helper()
	return beginAs(t, func(*exec.Cmd) {}, args...)
}

// beginAs is begin, but calls alter before the process starts.
func beginAs(t testing.TB, alter func(*exec.Cmd), args ...string) (n *node, wait func()) {
	t.Helper()
	n = &node{cmd: exec.Command(program, append([]string{"serve", "--listen", "127.0.0.1:0", "--sources", "none", "--log-level", "warn"}, args...)...),
		logs: &bytes.Buffer{}, gone: make(chan struct{})}
	n.cmd.Env, n.cmd.Dir, n.cmd.Stderr = []string{"HOME=/nonexistent"}, t.TempDir(), n.logs
	child.EndWithParent(n.cmd, syscall.SIGKILL)
	alter(n.cmd)
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	go func() {
		defer close(n.gone)
		defer close(ready)
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			if url, ok := strings.CutPrefix(line, "hazardd ready at http://"); ok {
				ready <- strings.TrimSpace(url)
			}
		}
		_, _ = io.Copy(io.Discard, lines)
	}()
	t.Cleanup(func() {
		n.kill()
		if t.Failed() && n.logs.Len() > 0 {
			t.Logf("the node at %s has logged:\n%s", n.addr, n.logs)
		}
	})
	return n, func() {
		t.Helper()
		if n.addr = <-ready; n.addr == "" {
			n.kill()
			t.Fatalf("the node does not start:\n%s", n.logs)
		}
	}
}

// kill kills the process, and waits until it has ended.
func (n *node) kill() { n.end(syscall.SIGKILL) }

// end ends the process with a signal, and waits until it has ended.
func (n *node) end(signal syscall.Signal) {
	if n.cmd.ProcessState != nil {
		return
	}
	_ = n.cmd.Process.Signal(signal) // it may have ended
	<-n.gone
	_ = n.cmd.Wait() // killed: never without an error
}
