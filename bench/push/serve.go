package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hazardd/hazardd/bench/internal/sample"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/wire"
)

// asServer is the variable that makes this program run a server.
const asServer = "HAZARDD_BENCH_SERVER"

// ready is the line that a server process prints when it listens.
type ready struct{ Addr, Token string }

// order tells a server process to make changes or to collect garbage. It answers with the times of
// the commits.
type order struct {
	Count   int
	Every   time.Duration
	Collect bool
}

// hazards is the number of active hazards, which are changed in turn.
const hazards = 100

// serve runs this process as a server.
func serve(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("no such server: %q", args)
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	switch args[0] {
	case "hazardd":
		return serveHazardd(args[1], n)
	case "fan-out":
		return serveFanOut(args[1])
	}
	return fmt.Errorf("no such server: %q", args)
}

// obey prints the server's address, and follows orders from the standard input until that ends.
// told is called with each change after its commit.
func obey(r ready, s *store.Store, told func(*hazard.Hazard, int64)) error {
	out, in := json.NewEncoder(os.Stdout), json.NewDecoder(os.Stdin)
	if err := out.Encode(r); err != nil {
		return err
	}
	made := 0
	for {
		var o order
		if err := in.Decode(&o); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		at := []int64{}
		if o.Collect {
			debug.FreeOSMemory()
		}
		next := time.Now()
		for range o.Count {
			time.Sleep(time.Until(next))
			next = next.Add(o.Every)
			made++
			var h *hazard.Hazard
			now := hazard.At(time.Now())
			n, err := s.Write(context.Background(), now, store.Origin{User: "bench"}, func(tx *store.Tx) error {
				before, err := tx.Hazard(int64(made%hazards) + 1)
				if err != nil {
					return err
				}
				h = new(*before)
				h.LastUpdate, h.Comment = now, fmt.Sprintf("%0400d", made) // 1.5 kB in total
				return tx.SaveHazard(h, before)
			})
			at = append(at, time.Now().UnixNano())
			if err != nil {
				return err
			}
			told(h, n)
		}
		if err := out.Encode(at); err != nil {
			return err
		}
	}
}

// fill creates a store of hazards in folder dir.
func fill(dir string) (*store.Store, error) {
	s, err := store.Open(context.Background(), dir, "")
	if err != nil {
		return nil, err
	}
	now := hazard.At(time.Now())
	_, err = s.Write(context.Background(), now, store.Origin{User: "bench"}, func(tx *store.Tx) error {
		r := rand.New(rand.NewPCG(hazards, 1))
		for i := range hazards {
			h := sample.Hazard(r, i, now)
			h.AutoExpire = false
			if err := tx.SaveHazard(h, nil); err != nil {
				return err
			}
		}
		return nil
	})
	return s, err
}

// serveHazardd runs the real service.
func serveHazardd(dir string, subscribers int) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := fill(dir)
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	running, err := app.Open(ctx, app.Config{Version: "bench", Logger: slog.New(slog.DiscardHandler), Settings: app.Settings{DataDir: dir, Listen: "127.0.0.1:0", Grace: 5 * time.Second, UserStreams: subscribers, AllStreams: subscribers}})
	if err != nil {
		return err
	}
	pair, err := running.Auth.Issue(ctx, auth.Actor{}, "admin", hazard.At(time.Now()))
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	err = obey(ready{running.Addr().String(), pair.Access}, running.Store, func(*hazard.Hazard, int64) {})
	cancel()
	return errors.Join(err, <-ended)
}

// fanOut is a hub without a log: each subscriber has a channel.
type fanOut struct {
	mu          sync.Mutex
	subscribers map[chan []byte]struct{}
}

// waiting is the maximum number of events in a subscriber's channel. After that, the subscriber is
// dropped.
const waiting = 64

func (f *fanOut) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+fanOutToken {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	events := make(chan []byte, waiting)
	f.mu.Lock()
	f.subscribers[events] = struct{}{}
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.subscribers, events)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	_, _ = w.Write([]byte("id: 0\n\n"))
	for control.Flush() == nil {
		select {
		case <-r.Context().Done():
			return
		case text, ok := <-events:
			if !ok {
				return
			}
			_, _ = w.Write(text) // a failure shows at the flush
		}
	}
}

// tell sends an event to all subscribers.
func (f *fanOut) tell(text []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for events := range f.subscribers {
		select {
		case events <- text:
		default:
			close(events)
			delete(f.subscribers, events)
		}
	}
}

// fanOutToken is the only token that the fan-out knows. It is as long as a real one.
var fanOutToken = strings.Repeat("t", 500)

// serveFanOut runs a plain fan-out over channels.
func serveFanOut(dir string) error {
	s, err := fill(dir)
	if err != nil {
		return err
	}
	hub := &fanOut{subscribers: map[chan []byte]struct{}{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	base := "http://" + l.Addr().String()
	server := &http.Server{Handler: hub, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }() // until the process ends
	var failed error
	err = obey(ready{l.Addr().String(), fanOutToken}, s, func(h *hazard.Hazard, n int64) {
		c := &hazard.Change{Number: n, At: h.LastUpdate, Kind: hazard.HazardUpdated, HazardID: h.ID, Actor: "bench", Hazard: h}
		data, err := json.Marshal(wire.FromChange(c, 0, base))
		if err != nil {
			failed = err
			return
		}
		hub.tell(fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", n, c.Kind, data))
	})
	return errors.Join(err, failed, s.Close())
}
