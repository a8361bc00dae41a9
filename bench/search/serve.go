package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/httpapi"
	"github.com/hazardd/hazardd/internal/service"
)

// asServer is the variable that tells this program to be a server.
const asServer = "HAZARDD_BENCH_SERVER"

// ready is what a server's process prints, in one line, when it listens.
type ready struct{ Addr, Token string }

// serve is the process of the real service, until its standard input ends.
func serve(dir, database string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := service.Open(ctx, service.Config{DataDir: dir, Database: database, Listen: "127.0.0.1:0", Grace: time.Second, Version: "bench", Logger: slog.New(slog.DiscardHandler),
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
	if err := json.NewEncoder(os.Stdout).Encode(ready{s.Addr().String(), pair.Access}); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	cancel()
	if ran := <-ended; ran != nil {
		return ran
	}
	return err
}
