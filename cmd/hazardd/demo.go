package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
)

type demoCmd struct {
	Scenario string  `arg:"" optional:"" default:"earthquake-tsunami" placeholder:"FILE" help:"Scenario: a file, or the name of one that is built in."`
	Address  address `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Address to listen on; port 0 takes any free one."`
	Within   life    `default:"3m" placeholder:"TIME" help:"How long the scenario takes."`
}

// demoUser plays the drill, and is the login of the visitor.
const demoUser = "demo"

// Run serves a temporary store without sources, and plays the scenario there. It needs no network.
// At the end it removes the store.
func (d *demoCmd) Run(ctx context.Context, c *console) (err error) {
	s, err := loadScenario(d.Scenario)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "hazardd-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	app.CollectOften()
	running, err := app.Open(ctx, app.Config{Version: about().Version, Logger: c.logger(), Settings: app.Settings{DataDir: dir, Listen: string(d.Address), Grace: time.Second}})
	if err != nil {
		return err
	}
	password := auth.RandomPassword()
	err = running.Auth.Accounts().AddUser(ctx, consoleActor(), auth.NewUser{Name: demoUser, Role: auth.Editor, Password: password}, running.Now())
	if err == nil {
		err = d.greet(c, running.URL(), password)
	}
	if err != nil {
		return errors.Join(err, running.Close())
	}
	server, err := client.New(running.URL(), client.Options{Username: demoUser, Password: string(password), UserAgent: "hazardd-demo"})
	if err != nil {
		return errors.Join(err, running.Close())
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return running.Run(ctx) })
	g.Go(func() error {
		speed := max(1, s.Length().Seconds()/time.Duration(d.Within).Seconds())
		if err := play(ctx, c, server.Editor(), s, speed, true); err != nil {
			if ctx.Err() != nil { // canceled by the user
				return nil
			}
			return err
		}
		c.note("The drill is over. You can look at its hazards until Ctrl-C, which removes everything.")
		return nil
	})
	return g.Wait()
}

// greet prints the address and the login of the demo.
func (d *demoCmd) greet(c *console, url string, password auth.Password) error {
	result := struct {
		Ready    string `json:"ready"`
		User     string `json:"user"`
		Password string `json:"password"`
	}{url, demoUser, string(password)}
	return c.print(result, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, `
    ┌─ a drill, to look around ──────────────────────────
    │
    │   open      %s
    │   user      %s
    │   password  %s
    │
    │   Everything in it is made up. Ctrl-C ends it, and
    │   removes all that it has written.
    └────────────────────────────────────────────────────

`, result.Ready, result.User, result.Password)
		return err
	})
}
