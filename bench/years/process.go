package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/hazardd/hazardd/internal/archive"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/httpapi"
	"github.com/hazardd/hazardd/internal/service"
	"github.com/hazardd/hazardd/internal/store"
)

// asProcess is the variable that says what this program is: a server, or what prunes.
const asProcess = "HAZARDD_BENCH_PROCESS"

// ready is what a server's process prints, in one line, when it listens.
type ready struct{ Addr, Token string }

// pruneOrder says what is to be pruned, in one line of the process's standard input.
type pruneOrder struct {
	Archive string
	Before  time.Time
}

// pruned is the answer, in one line.
type pruned struct {
	archive.Pruning
	Seconds float64
	Error   string
}

// process is what runs beside: with the data folder as its argument, until its standard input ends.
func process(kind string) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir, out := os.Args[1], json.NewEncoder(os.Stdout)
	if kind == "prune" {
		s, err := store.Open(ctx, dir, "")
		if err != nil {
			return err
		}
		return errors.Join(obey(ctx, s, out), s.Close())
	}
	s, err := service.Open(ctx, service.Config{DataDir: dir, Listen: "127.0.0.1:0", Grace: time.Second, Version: "bench", Logger: slog.New(slog.DiscardHandler), NoExposure: true,
		Requests: httpapi.RequestLimits{UserRate: -1, UserRequests: -1}})
	if err != nil {
		return err
	}
	pair, err := s.Auth.Issue(ctx, auth.Actor{}, "admin", hazard.At(time.Now()))
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	if err := out.Encode(ready{s.Addr().String(), pair.Access}); err != nil {
		return err
	}
	err = obey(ctx, s.Store, out)
	cancel()
	return errors.Join(err, <-ended)
}

// obey prunes as often as it is told to.
func obey(ctx context.Context, s *store.Store, out *json.Encoder) error {
	orders := lines(os.Stdin)
	for orders.Scan() {
		var p pruneOrder
		if err := json.Unmarshal(orders.Bytes(), &p); err != nil {
			return err
		}
		begin := time.Now()
		done, err := archive.Prune(store.Patient(ctx), s, archive.Keep{Dir: p.Archive}, store.History, p.Before, "bench", begin, stages())
		answer := pruned{Seconds: time.Since(begin).Seconds()}
		if err != nil {
			answer.Error = err.Error()
		} else {
			answer.Pruning = *done
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
	return orders.Err()
}

// stages says on standard error when a stage of a pruning begins.
func stages() archive.Progress {
	last, begin := "", time.Now()
	return func(stage string, done, of int64) {
		if stage != last {
			fmt.Fprintf(os.Stderr, "bench/years: %s: %s\n", time.Since(begin).Round(time.Millisecond), stage)
			last = stage
		}
	}
}

// child is a process of this program.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Scanner
}

func start(ctx context.Context, kind, dir string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(ctx, self, dir)}
	c.cmd.Env = append(os.Environ(), asProcess+"="+kind)
	c.cmd.Stderr = os.Stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = lines(out)
	return c, c.cmd.Start()
}

func (c *child) stop() error { return errors.Join(c.stdin.Close(), c.cmd.Wait()) }

func (c *child) prune(p pruneOrder) (*pruned, error) {
	if err := json.NewEncoder(c.stdin).Encode(p); err != nil {
		return nil, err
	}
	done := &pruned{}
	err := decodeLine(c.out, done)
	if err == nil && done.Error != "" {
		err = errors.New(done.Error)
	}
	return done, err
}

// prune prunes in a process of its own.
func prune(ctx context.Context, dir string, p pruneOrder) (*pruned, error) {
	c, err := start(ctx, "prune", dir)
	if err != nil {
		return nil, err
	}
	done, err := c.prune(p)
	return done, errors.Join(err, c.stop())
}

// server is the service in a process of its own.
type server struct {
	*child
	ready
	readyIn time.Duration
	client  http.Client
}

// startServer starts the service, and waits until it is ready.
func startServer(ctx context.Context, dir string) (*server, error) {
	begin := time.Now()
	c, err := start(ctx, "serve", dir)
	if err != nil {
		return nil, err
	}
	s := &server{child: c, client: http.Client{Timeout: most}}
	if err := decodeLine(c.out, &s.ready); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	for {
		if _, err = s.call(ctx, "GET", "/readyz", nil); err == nil {
			s.readyIn = time.Since(begin)
			return s, nil
		}
		if time.Since(begin) > time.Minute || ctx.Err() != nil {
			return nil, errors.Join(err, c.stop())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// call makes a request, and returns the answer.
func (s *server) call(ctx context.Context, method, path string, body any) ([]byte, error) {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.Addr+path, sent)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s %.200s", method, path, resp.Status, text)
	}
	return text, err
}

// The rate of the requests that are measured.
const (
	readEvery  = 20 * time.Millisecond
	writeEvery = 200 * time.Millisecond
	most       = 10 * time.Second
)

// world is what the requests are about.
type world struct {
	mine   string // uuid of the hazard that is written
	hazard int64  // the latest of the hazards
}

// prepare makes the hazard that is written.
func prepare(ctx context.Context, s *server) (*world, error) {
	text, err := s.call(ctx, "POST", "/hazards", map[string]any{"hazard_Name": "The flood that is measured", "type_ID": "FLOOD", "severity_ID": "WARNING", "latitude": 10, "longitude": 20,
		"end_Date": fmt.Sprint(time.Now().Add(24 * time.Hour).UnixMilli())})
	if err != nil {
		return nil, err
	}
	var made struct {
		UUID string `json:"uuid"`
		ID   int64  `json:"hazard_ID"`
	}
	err = json.Unmarshal(text, &made)
	return &world{mine: made.UUID, hazard: made.ID}, err
}

// active is the list of active hazards, without the one that is written.
func (w *world) active(ctx context.Context, s *server) (string, error) {
	text, err := s.call(ctx, "GET", "/hazards/active", nil)
	if err != nil {
		return "", err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return "", err
	}
	list = slices.DeleteFunc(list, func(h json.RawMessage) bool { return bytes.Contains(h, []byte(w.mine)) })
	if len(list) < actives {
		return "", fmt.Errorf("%d hazards are active beside the one that is written, not %d", len(list), actives)
	}
	text, err = json.Marshal(list)
	return string(text), err
}

// samples are milliseconds.
type samples struct {
	reads  [3][]float64 // of the list, of a search, of a history
	writes []float64
	failed int
}

func (s *samples) all() []float64 { return slices.Concat(s.reads[:]...) }

// above counts the requests that took longer than a bound.
func (s *samples) above(bound float64) (n int) {
	for _, ms := range slices.Concat(s.all(), s.writes) {
		if ms > bound {
			n++
		}
	}
	return n
}

// during measures for as long as f runs.
func (w *world) during(ctx context.Context, s *server, f func() error) (*samples, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	x, r := &samples{}, rand.New(rand.NewPCG(5, 5))
	var mu sync.Mutex
	var all sync.WaitGroup
	ask := func(into *[]float64, method, path string, body any) {
		all.Go(func() {
			began := time.Now()
			_, err := s.call(ctx, method, path, body)
			took := time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				if x.failed++; x.failed == 1 {
					fmt.Fprintf(os.Stderr, "bench/years: %v\n", err)
				}
				took = max(took, most)
			}
			*into = append(*into, float64(took.Microseconds())/1000)
		})
	}
	reads, writes := time.NewTicker(readEvery), time.NewTicker(writeEvery)
	defer reads.Stop()
	defer writes.Stop()
	for n := 0; ; {
		select {
		case err := <-ended:
			all.Wait()
			return x, err
		case <-reads.C:
			path := "/hazards/active"
			switch n++; n % 3 {
			case 1:
				from := time.Now().Add(-time.Duration(r.Int64N(int64((years - 1) * year)))).UTC()
				west, south := r.Float64()*350-180, r.Float64()*160-85
				path = fmt.Sprintf("/hazards?bbox=%.3f,%.3f,%.3f,%.3f&datetime=%s/%s&type=FLOOD", west, south, west+5, south+5, from.Add(-year).Format(time.RFC3339), from.Format(time.RFC3339))
			case 2:
				path = fmt.Sprintf("/hazards/%d/changes", 1+r.Int64N(w.hazard))
			}
			ask(&x.reads[n%3], "GET", path, nil)
		case <-writes.C:
			ask(&x.writes, "PATCH", "/hazards/"+w.mine, map[string]any{"description": fmt.Sprint("as of ", time.Now().UnixNano())})
		}
	}
}
