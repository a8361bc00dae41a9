package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/hazardd/hazardd/bench/internal/served"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/backup"
)

// pruneOrder is the order to prune, one line of the process's standard input.
type pruneOrder struct {
	Archive string
	Before  time.Time
}

// pruned is the answer, in one line.
type pruned struct {
	backup.Pruning
	Seconds float64
	Error   string
}

// kindPrune is the kind of process that prunes while the server runs.
const kindPrune = "prune"

// serve runs the service.
func serve() error {
	return served.Serve(app.Config{Settings: app.Settings{DataDir: flag.Arg(0), NoExposure: true, PublicURL: "http://years.test"}}, func(ctx context.Context, s *app.Service, orders *served.Orders) error {
		return obey(ctx, s.Store, orders)
	})
}

// pruner runs the process that prunes while the server runs.
func pruner() error {
	ctx := context.Background()
	s, err := store.Open(ctx, flag.Arg(0), "")
	if err != nil {
		return err
	}
	return errors.Join(obey(ctx, s, served.NewOrders()), s.Close())
}

// obey prunes once per order.
func obey(ctx context.Context, s *store.Store, orders *served.Orders) error {
	for {
		var p pruneOrder
		if err := orders.Next(&p); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		begin := time.Now()
		done, err := backup.Prune(store.Patient(ctx), s, backup.Keep{Dir: p.Archive}, store.History, p.Before, "bench", begin, stages())
		answer := pruned{Seconds: time.Since(begin).Seconds()}
		if err != nil {
			answer.Error = err.Error()
		} else {
			answer.Pruning = *done
		}
		if err := orders.Answer(answer); err != nil {
			return err
		}
	}
}

// stages prints to standard error when a stage of a pruning begins.
func stages() backup.Progress {
	last, begin := "", time.Now()
	return func(stage string, done, of int64) {
		if stage != last {
			fmt.Fprintf(os.Stderr, "bench/years: %s: %s\n", time.Since(begin).Round(time.Millisecond), stage)
			last = stage
		}
	}
}

// prune orders a process to prune.
func prune(by *served.Process, p pruneOrder) (*pruned, error) {
	done := &pruned{}
	err := by.Ask(p, done)
	if err == nil && done.Error != "" {
		err = errors.New(done.Error)
	}
	return done, err
}

// pruneBeside prunes in a separate process.
func pruneBeside(ctx context.Context, dir string, p pruneOrder) (*pruned, error) {
	by, err := served.Start(ctx, kindPrune, dir)
	if err != nil {
		return nil, err
	}
	done, err := prune(by, p)
	return done, errors.Join(err, by.Stop())
}

// The rate of the measured requests.
const (
	readEvery  = 20 * time.Millisecond
	writeEvery = 200 * time.Millisecond
	most       = 10 * time.Second
)

// world describes the hazards of the requests.
type world struct {
	mine   string // uuid of the hazard that is changed
	hazard int64  // the newest of the hazards
}

// prepare creates the hazard that is changed.
func prepare(ctx context.Context, s *served.Server) (*world, error) {
	text, err := s.Call(ctx, "POST", "/hazards", map[string]any{"hazard_Name": "The flood that is measured", "type_ID": "FLOOD", "severity_ID": "WARNING", "latitude": 10, "longitude": 20,
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

// active returns the list of active hazards, without the one that is changed.
func (w *world) active(ctx context.Context, s *served.Server) (string, error) {
	text, err := s.Call(ctx, "GET", "/hazards/active", nil)
	if err != nil {
		return "", err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return "", err
	}
	list = slices.DeleteFunc(list, func(h json.RawMessage) bool { return bytes.Contains(h, []byte(w.mine)) })
	if len(list) < actives {
		return "", fmt.Errorf("%d hazards are active besides the one that is changed, want %d", len(list), actives)
	}
	text, err = json.Marshal(list)
	return string(text), err
}

// samples are durations in milliseconds.
type samples struct {
	reads  [3][]float64 // of the list, a search and a history
	writes []float64
	failed int
}

func (s *samples) all() []float64 { return slices.Concat(s.reads[:]...) }

// above counts the requests that took longer than a limit.
func (s *samples) above(bound float64) (n int) {
	for _, ms := range slices.Concat(s.all(), s.writes) {
		if ms > bound {
			n++
		}
	}
	return n
}

// during measures while f runs.
func (w *world) during(ctx context.Context, s *served.Server, f func() error) (*samples, error) {
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
			_, err := s.Call(ctx, method, path, body)
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
