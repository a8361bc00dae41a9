// Hazardd is a hazard data service; this is its one program, server and tools.
//
// Each subcommand is one small file here: its flags, and what it does with them. Nothing is decided here that another package
// could decide: the commands parse, ask, and print. What a command writes it writes beside a running server, through the same
// store; a drill is played over HTTP, as an editor's client does.
//
// Standard output is for results alone: text for people, JSON with --json. Errors are one line on standard error that says what to
// do next, progress goes there too. The status is 0, 1 when something failed or a part of it, 2 when the command line, the
// environment or the configuration file is wrong, 130 when it was interrupted.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/hazardd/hazardd/internal/store"
)

func main() {
	os.Exit(run(os.Args[1:], newConsole(os.Stdin, os.Stdout, os.Stderr)))
}

// run runs the command that args name, and returns the status to exit with.
func run(args []string, c *console) int {
	if len(args) > 0 && args[0] == askCompletion {
		if err := completeMain(args[1:], c); err != nil {
			c.fail(err)
			return exitFailed
		}
		return 0
	}
	cli := &commandLine{}
	parsed, err := parse(cli, args)
	c.json = cli.JSON || wantsJSON(args)
	if err != nil {
		c.fail(err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// From the first signal on signals have their usual effect again: the second one kills.
	context.AfterFunc(ctx, stop)
	parsed.BindTo(store.Patient(ctx), (*context.Context)(nil)) // requests to a server have contexts of their own
	if err := parsed.Run(c, &cli.globals); err != nil {
		c.fail(explain(ctx, err, &cli.globals))
		if interrupted(ctx) && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))) {
			return exitInterrupted
		}
		return exitFailed
	}
	return 0
}

// The statuses beside 0.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // as a shell tells of a program that Ctrl-C has ended
)
