// Command short runs the short tests of all packages, and fails if one of them takes more than a
// second of processor time. A busy machine makes tests slow, so those that took more than a second
// by the clock are measured again, each in a process of its own.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const limit = time.Second

// timesFile names the file to which a run as a wrapper of a test binary (go test -exec) writes the
// processor time of the binary.
const timesFile = "HAZARDD_SHORT_TIMES"

func main() {
	run := runTests
	if os.Getenv(timesFile) != "" {
		run = measured
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "short:", err)
		os.Exit(1)
	}
}

// measured runs the command of its arguments and records its processor time.
func measured() error {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return err
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return errors.Join(err, os.WriteFile(os.Getenv(timesFile), []byte(used.String()), 0o600))
}

type test struct{ pkg, name string }

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // in seconds
}

func runTests() error {
	cmd := exec.Command("go", "test", "-short", "-json", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	slow, err := follow(out)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return err
	}
	return check(slow)
}

// follow prints what go test prints without -json. It returns the tests that took more than the
// limit by the clock.
func follow(r io.Reader) (slow []test, err error) {
	said := map[test]*strings.Builder{} // output of running tests
	parts := map[test]float64{}         // seconds of the direct subtests of a test, which may be parallel
	for lines := bufio.NewReader(r); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return slow, nil
		}
		if err != nil {
			return nil, err
		}
		var e event
		if json.Unmarshal(line, &e) != nil { // a message of the go command
			os.Stdout.Write(line)
			continue
		}
		top, sub, _ := strings.Cut(e.Test, "/")
		at := test{e.Package, top}
		switch {
		case e.Test == "" && strings.HasPrefix(e.Action, "build-"), e.Test == "" && e.Action == "output" && e.Output != "PASS\n":
			fmt.Print(e.Output)
		case e.Test == "":
		case e.Action == "output":
			if said[at] == nil {
				said[at] = &strings.Builder{}
			}
			said[at].WriteString(e.Output)
		case e.Action != "pass" && e.Action != "fail":
		case sub != "" && !strings.Contains(sub, "/"):
			parts[at] += e.Elapsed
		case sub == "":
			if e.Action == "fail" {
				fmt.Print(said[at])
			}
			delete(said, at)
			if max(e.Elapsed, parts[at]) > limit.Seconds() {
				slow = append(slow, at)
			}
		}
	}
}

// check measures the processor time of the tests that took long.
func check(slow []test) error {
	var errs []error
	for _, t := range slow {
		empty, err := processorTime(t.pkg, "^$")
		if err != nil {
			return err
		}
		used, err := processorTime(t.pkg, "^"+t.name+"$")
		if err != nil {
			return err
		}
		if used -= empty; used > limit {
			errs = append(errs, fmt.Errorf("%s in %s takes %v of processor time: begin it with test.Seconds(t)", t.name, t.pkg, used.Round(time.Millisecond)))
		}
	}
	return errors.Join(errs...)
}

// processorTime runs the short tests of a package whose names match run.
func processorTime(pkg, run string) (time.Duration, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	f, err := os.CreateTemp("", "hazardd-short-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	if err := f.Close(); err != nil {
		return 0, err
	}
	cmd := exec.Command("go", "test", "-short", "-count=1", "-exec", strconv.Quote(self), "-run", run, pkg)
	cmd.Env = append(os.Environ(), timesFile+"="+f.Name())
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", pkg, err, out)
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		return 0, err
	}
	return time.ParseDuration(string(text))
}
