// Package program runs the real program for tests from outside: it builds, starts, stops and kills
// it, and runs its commands.
package program

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hazardd/hazardd/internal/test/child"
)

// Build builds the program into dir, as make does: static. To link it takes seconds of processor, so make test names
// the one that it has built in HAZARDD_PROGRAM.
func Build(dir string) (path string, err error) {
	if path := os.Getenv("HAZARDD_PROGRAM"); path != "" {
		return path, nil
	}
	path = filepath.Join(dir, "hazardd")
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, "github.com/hazardd/hazardd/cmd/hazardd")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
}

// Process is a running server.
type Process struct {
	Cmd  *exec.Cmd
	URL  string        // as printed by the program
	Gone chan struct{} // closed when it has ended
	err  error         // why it ended, set before Gone is closed
}

// Start runs the program with arguments, and waits until it is ready, it has ended, or ctx ends. If
// ctx ends, the program is killed. Its log goes to log.
func Start(ctx context.Context, path string, env []string, log io.Writer, args ...string) (*Process, error) {
	p := &Process{Cmd: exec.Command(path, args...), Gone: make(chan struct{})}
	p.Cmd.Env = append(append(os.Environ(), "GOGC="), env...) // the program sets its own, not that of make test
	p.Cmd.Stderr = log
	p.Cmd.Dir = os.TempDir()
	child.EndWithParent(p.Cmd, syscall.SIGKILL)
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.Cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan string, 1)
	go func() {
		defer close(p.Gone)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if url, ok := strings.CutPrefix(lines.Text(), "hazardd ready at "); ok {
				ready <- url
			}
		}
		_, _ = io.Copy(io.Discard, out) // after a line that is too long for the scanner
		p.err = p.Cmd.Wait()
	}()
	select {
	case p.URL = <-ready:
		return p, nil
	case <-p.Gone:
		return nil, fmt.Errorf("the server does not start: %w", p.err)
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), p.End(syscall.SIGKILL))
	}
}

// Signal sends a signal.
func (p *Process) Signal(signal os.Signal) error { return p.Cmd.Process.Signal(signal) }

// End stops the process with a signal, if it runs, and waits for its end. It returns the process's
// error, unless this is the kill by the signal.
func (p *Process) End(signal syscall.Signal) error {
	if err := p.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.Gone
	if failed, ok := errors.AsType[*exec.ExitError](p.err); ok && failed.Sys().(syscall.WaitStatus).Signal() == signal {
		return nil
	}
	return p.err
}

// Command runs a command of the program's command line, and returns its output.
func Command(path, stdin string, args ...string) (string, error) {
	cmd := exec.Command(path, args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Dir = os.TempDir()
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("hazardd %s: %w: %s", strings.Join(args, " "), err, failed.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
