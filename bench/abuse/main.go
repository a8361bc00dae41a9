// Abuse measures how much one user, or one address without an account, can affect everybody else.
//
// It starts the real program on a store of some hundred hazards, with areas and products. It runs
// one abuse after the other, each for a few seconds against a new process: readers that do not
// read, geometry that is expensive to write or to show, unfinished logins, floods of requests,
// streams that nobody reads, costly formats; and a stranger, a network, a reader, an editor and an
// organization on every read that they may make. The abuse runs in its own process. Meanwhile another user reads GET
// /hazards/active fifty times a second, every tenth time over a new connection, and another editor
// writes five times a second. The table shows how long their requests took, what failed, and how
// much memory the server used. It shows the same for five seconds after the abuse has ended.
//
// All traffic stays on the loopback network, and everything runs on the same processors. So the
// figures are only meaningful on a machine without other load. A failed request counts as if it
// took the maximum time of a request (10 s).
//
//	go run ./bench/abuse                     # builds and measures ./cmd/hazardd
//	go run ./bench/abuse -server PATH        # measures another binary
//	go run ./bench/abuse -only L4,R3         # the abuses whose names begin so
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hazardd/hazardd/bench/internal/measure"
)

// The promised limits for all clients except the abusive one.
const (
	goalRead  = 100.0 // ms, at the 99th percentile
	goalWrite = 500.0 // ms, at the 99th percentile
	goalBytes = 512.0 // MiB
)

// The rate of the measured requests.
const (
	readEvery  = 20 * time.Millisecond
	writeEvery = 200 * time.Millisecond
	newConn    = 10 // one new connection per this many reads
	most       = 10 * time.Second
	recovery   = 5 * time.Second
)

type options struct {
	server  string
	only    string
	slice   time.Duration
	hazards int
	json    bool
}

func main() {
	if name := os.Getenv(asAbuser); name != "" {
		measure.Exit("abuse", abuseAs(name))
		return
	}
	var o options
	flag.StringVar(&o.server, "server", "", "binary to measure; default: built from ./cmd/hazardd")
	flag.StringVar(&o.only, "only", "", "abuses to run: beginnings of names, separated by commas")
	flag.DurationVar(&o.slice, "slice", 8*time.Second, "time of each abuse")
	flag.IntVar(&o.hazards, "hazards", 300, "hazards in the store")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	measure.Main("abuse", func(ctx context.Context) error { return run(ctx, o) })
}

func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "hazardd-bench-abuse")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := build(ctx, &o, dir); err != nil {
		return err
	}
	data, err := dataFolder(dir)
	if err != nil {
		return err
	}
	world, err := prepare(ctx, o, data)
	if err != nil {
		return err
	}
	report := measure.Report{Program: "abuse", Machine: measure.Machine(), Notes: world.notes}
	table := measure.Table{Title: fmt.Sprintf("Others while each abuse runs for %v, and %v after it", o.slice, recovery),
		Heads: []string{"abuse", "read p50 ms", "p99", "write p99 ms", "failed", "MiB", "after: p99", "write p99", "failed", "goals"}}
	for _, a := range abuses {
		if !chosen(a.name, o.only) {
			continue
		}
		f, err := measureOne(ctx, o, data, world, a.name)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		goals := []measure.Goal{
			measure.AtMost(a.name+": read p99, ms", measure.Quantile(f.during.reads, 0.99), goalRead),
			measure.AtMost(a.name+": write p99, ms", measure.Quantile(f.during.writes, 0.99), goalWrite),
			measure.AtMost(a.name+": memory, MiB", f.memory, goalBytes),
			measure.AtMost(a.name+": read p99 after, ms", measure.Quantile(f.after.reads, 0.99), goalRead),
			measure.AtMost(a.name+": write p99 after, ms", measure.Quantile(f.after.writes, 0.99), goalWrite),
		}
		verdict := "met"
		for _, g := range goals {
			if !g.Met {
				verdict = "MISSED"
				report.Goals = append(report.Goals, g)
			}
		}
		if verdict == "met" {
			report.Goals = append(report.Goals, goals[0])
		}
		table.Add(a.name+": "+a.what, measure.Median(f.during.reads), goals[0].Value, goals[1].Value, f.during.failed, f.memory, goals[3].Value, goals[4].Value, f.after.failed, verdict)
	}
	report.Tables = append(report.Tables, table)
	return report.Write(os.Stdout, o.json)
}

// build builds the program to measure, unless one is given.
func build(ctx context.Context, o *options, dir string) error {
	if o.server != "" {
		return nil
	}
	o.server = filepath.Join(dir, "hazardd")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", o.server, "github.com/hazardd/hazardd/cmd/hazardd")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	return nil
}

// dataFolder creates the folder of the store below dir.
func dataFolder(dir string) (string, error) {
	data := filepath.Join(dir, "data")
	return data, os.Mkdir(data, 0o700)
}

func chosen(name, only string) bool {
	if only == "" {
		return true
	}
	for prefix := range strings.SplitSeq(only, ",") {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// world describes the content of the store.
type world struct {
	Tokens  map[string]string
	Mine    string // uuid of the hazard that the measured editor writes
	Abuser  string // uuid of a hazard of the abusing editor
	Costly  string // uuid of the hazard with the most expensive area
	Webhook string // id of a webhook of the abusing editor
	notes   []string
}

// process is a running server.
type process struct {
	cmd  *exec.Cmd
	addr string
	log  *bytes.Buffer
}

func serve(ctx context.Context, o options, data string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, o.server, "serve", "--data", data, "--listen", "127.0.0.1:0", "--sources", "none", "--public", "read", "--webhook-allow", "127.0.0.0/8",
		"--log-level", "error"), log: &bytes.Buffer{}}
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, addr, ok := strings.Cut(lines.Text(), "ready at http://"); ok {
			p.addr = strings.TrimSpace(addr)
			go func() { _, _ = io.Copy(io.Discard, out) }() // until the process ends
			return p, nil
		}
	}
	return nil, errors.Join(errors.New("the server did not start"), p.cmd.Wait(), errors.New(p.log.String()))
}

// stop ends the server without waiting for open requests.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	kill := time.AfterFunc(15*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	err := p.cmd.Wait()
	if _, ended := errors.AsType[*exec.ExitError](err); ended {
		return nil // open requests of the abuse were cut off, so the exit status is not zero
	}
	return err
}

// memory returns the process's resident set in MiB.
func (p *process) memory() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kb / 1024, err
}

// figures are the measurements of one abuse.
type figures struct {
	during, after samples
	memory        float64 // MiB
}

// samples are durations in milliseconds.
type samples struct {
	reads, writes []float64
	failed        int
}

func measureOne(ctx context.Context, o options, data string, w *world, name string) (f figures, err error) {
	p, err := serve(ctx, o, data)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	others := newOthers(p.addr, w)
	if warm := others.run(ctx, time.Second); warm.failed > 0 {
		return f, fmt.Errorf("%d requests failed before the abuse", warm.failed)
	}
	abuser, err := startAbuser(ctx, name, p.addr, w)
	if err != nil {
		return f, err
	}
	watching, stopWatching := context.WithCancel(ctx)
	var watched sync.WaitGroup
	watched.Go(func() {
		for watching.Err() == nil {
			if now, err := p.memory(); err == nil {
				f.memory = max(f.memory, now)
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	f.during = others.run(ctx, o.slice)
	err = abuser.stop()
	time.Sleep(recovery)
	f.after = others.run(ctx, 2*time.Second)
	stopWatching()
	watched.Wait()
	return f, err
}

// others are the measured users.
type others struct {
	addr          string
	w             *world
	kept, renewed *http.Client
}

func newOthers(addr string, w *world) *others {
	return &others{addr: addr, w: w, kept: &http.Client{Timeout: most, Transport: &http.Transport{}},
		renewed: &http.Client{Timeout: most, Transport: &http.Transport{DisableKeepAlives: true}}}
}

// run measures for the time d. Each request begins on schedule, however long the one before took.
func (o *others) run(ctx context.Context, d time.Duration) (s samples) {
	var mu sync.Mutex
	var all sync.WaitGroup
	start := func(do func() error, into *[]float64) {
		all.Go(func() {
			began := time.Now()
			err := do()
			took := time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				s.failed++
				took = max(took, most)
			}
			*into = append(*into, float64(took.Microseconds())/1000)
		})
	}
	end := time.After(d)
	reads, writes := time.NewTicker(readEvery), time.NewTicker(writeEvery)
	defer reads.Stop()
	defer writes.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			all.Wait()
			return s
		case <-end:
			all.Wait()
			return s
		case <-reads.C:
			client := o.kept
			if n%newConn == 0 {
				client = o.renewed
			}
			start(func() error {
				return call(ctx, client, o.addr, o.w.Tokens["reader"], "GET", "/hazards/active", nil, nil)
			}, &s.reads)
		case <-writes.C:
			start(func() error {
				return call(ctx, o.kept, o.addr, o.w.Tokens["writer"], "PATCH", "/hazards/"+o.w.Mine, map[string]any{"description": fmt.Sprint("as of ", time.Now().UnixNano())}, nil)
			}, &s.writes)
		}
	}
}

// call makes a request, expects a status of 2xx, and decodes the answer into into unless that is
// nil.
func call(ctx context.Context, client *http.Client, addr, token, method, path string, body, into any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+addr+path, sent)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s %.200s", method, path, resp.Status, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}
