// Hazardd is a hazard data service. This program holds both the server and its tools.
//
// Each subcommand is one small file: its flags, and what it does with them. Commands only parse,
// call other packages and print. Most of them work on the store beside a running server; a drill is
// played over HTTP, like any editor's client.
//
// Standard output is for results only: text for people, or JSON with --json. Errors are one line on
// standard error that says what to do next; progress goes there too. The exit status is 0 on
// success, 1 if something failed, even in part, 2 if the command line, the environment or the
// configuration file is wrong, 3 if a request waits for the approval of a second person, 4 if the
// record was changed meanwhile or its state does not allow the request, and 130 if the command was
// interrupted.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/store"
)

func main() {
	os.Exit(run(os.Args[1:], newConsole(os.Stdin, os.Stdout, os.Stderr)))
}

// run executes the command in args and returns its exit status.
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
	c.logsJSON = cli.wantsLogsInJSON(args)
	if err != nil {
		c.fail(err)
		return exitUsage
	}
	app.FitBeside()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// After the first signal restore the default, so that a second one kills the program.
	context.AfterFunc(ctx, stop)
	parsed.BindTo(store.Patient(ctx), (*context.Context)(nil)) // HTTP requests have their own contexts
	if err := parsed.Run(c, &cli.globals); err != nil {
		c.fail(explain(ctx, err, &cli.globals))
		if interrupted(ctx) && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))) {
			return exitInterrupted
		}
		return exitOf(err)
	}
	return 0
}

// exitOf returns the exit status of a failed command.
func exitOf(err error) int {
	switch {
	case errors.Is(err, client.ErrDrafted):
		return exitDrafted
	case errors.Is(err, client.ErrStale), errors.Is(err, client.ErrConflict):
		return exitConflict
	}
	return exitFailed
}

// The exit statuses other than 0.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitPanicked    = 2 // the status that the runtime of Go gives a panic
	exitDrafted     = 3
	exitConflict    = 4
	exitInterrupted = 130 // the shell's status for a program that Ctrl-C has ended
)
