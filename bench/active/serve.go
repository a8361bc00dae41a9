package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/bench/internal/sample"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store"
)

// ready is the line that a server process prints when it serves.
type ready struct {
	Addr  string
	Token string
}

// counters are the allocations of a server's process since its start.
type counters struct{ Mallocs, Bytes uint64 }

// obey prints the server's address, and answers commands from the standard input until that ends.
// So no process outlives its parent.
func obey(r ready) error {
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(r); err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		command, argument, _ := strings.Cut(lines.Text(), " ")
		switch command {
		case "mallocs":
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			if err := out.Encode(counters{m.Mallocs, m.TotalAlloc}); err != nil {
				return err
			}
		case "profile":
			f, err := os.Create(argument)
			if err != nil {
				return err
			}
			if err := pprof.StartCPUProfile(f); err != nil {
				return err
			}
		case "stop":
			pprof.StopCPUProfile()
		}
	}
	return lines.Err()
}

// serveHazardd runs the real service, on a store of size hazards in folder dir.
func serveHazardd(dir string, size int) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	now := hazard.At(time.Now())
	s, err := store.Open(ctx, dir, "")
	if err != nil {
		return err
	}
	if err := sample.Fill(ctx, s, size, now); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	running, err := app.Open(ctx, app.Config{Version: "bench", Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Settings: app.Settings{Settings: serve.Settings{Requests: route.RequestLimits{UserRate: -1, UserRequests: -1}}, DataDir: dir, Listen: "127.0.0.1:0", Grace: time.Second}})
	if err != nil {
		return err
	}
	pair, err := running.Auth.Issue(ctx, auth.Actor{}, "admin", now)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	err = obey(ready{running.Addr().String(), pair.Access})
	cancel()
	if ran := <-ended; ran != nil {
		return ran
	}
	return err
}

// floorToken is the only token that the floor knows. It is as long as a real one.
var floorToken = strings.Repeat("t", 500)

// serveFloor runs a server with the minimum work for this request on net/http. It looks up the
// Authorization header and writes prepared bytes, with the header fields of the real service.
func serveFloor(plain, zipped string, fields http.Header) error {
	type form struct {
		body   []byte
		header map[string][]string
	}
	read := func(name, coding string) (form, error) {
		body, err := os.ReadFile(name)
		f := form{body, map[string][]string{"Content-Length": {strconv.Itoa(len(body))}}}
		for k, v := range fields {
			f.header[k] = v
		}
		if coding != "" {
			f.header["Content-Encoding"] = []string{coding}
		}
		return f, err
	}
	identity, err := read(plain, "")
	if err != nil {
		return err
	}
	gzip, err := read(zipped, "gzip")
	if err != nil {
		return err
	}
	callers := map[string]bool{"Bearer " + floorToken: true}
	etag := fields.Get("Etag")
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if values := r.Header["Authorization"]; len(values) != 1 || !callers[values[0]] {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		f := &identity
		if values := r.Header["Accept-Encoding"]; len(values) > 0 && values[0] == "gzip" {
			f = &gzip
		}
		h := w.Header()
		if values := r.Header["If-None-Match"]; len(values) > 0 && values[0] == etag {
			for k, v := range fields {
				if k != "Content-Type" {
					h[k] = v
				}
			}
			w.WriteHeader(http.StatusNotModified)
			return
		}
		for k, v := range f.header {
			h[k] = v
		}
		_, _ = w.Write(f.body) // fails only if the client has gone
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /hazards/active", handler)
	go func() { _ = http.Serve(l, mux) }() // until the process ends
	return obey(ready{l.Addr().String(), floorToken})
}

// serveList runs this process as the server that args name.
func serveList(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "hazardd":
		size, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		return serveHazardd(args[1], size)
	case len(args) == 4 && args[0] == "floor":
		var fields http.Header
		if err := json.Unmarshal([]byte(args[3]), &fields); err != nil {
			return err
		}
		return serveFloor(args[1], args[2], fields)
	}
	return fmt.Errorf("no such server: %q", args)
}
