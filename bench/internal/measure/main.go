package measure

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
)

// Main runs a program until it ends or is interrupted, and exits with status 1 if it fails.
func Main(program string, run func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	Exit(program, run(ctx))
}

// Exit prints why a program, or one of its processes, failed, and exits with status 1. Without an
// error it does nothing.
func Exit(program string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", program, err)
		os.Exit(1)
	}
}

// Machine describes the machine for a report. more are names and values from the program,
// alternately.
func Machine(more ...string) map[string]string {
	m := map[string]string{"cpus": strconv.Itoa(runtime.NumCPU()), "go": runtime.Version(), "os": runtime.GOOS + "/" + runtime.GOARCH}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}
