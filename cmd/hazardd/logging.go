package main

import (
	"cmp"
	"io"
	"log/slog"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// logger creates the server's logger. No write to it ends or stops the server: a reader of standard
// error that has gone, or reads nothing, costs lines of the log. flush writes what waits; nothing is
// logged after it.
func (f *logFlags) logger(c *console) (logger *slog.Logger, flush func()) {
	signal.Ignore(syscall.SIGPIPE) // which ends a program that writes to a closed standard error
	handler := func(w io.Writer) slog.Handler {
		opts := &slog.HandlerOptions{Level: f.LogLevel, ReplaceAttr: adviseLine}
		if cmp.Or(f.LogFormat, "text") == "json" {
			return slog.NewJSONHandler(w, opts)
		}
		return slog.NewTextHandler(w, opts)
	}
	w := &lines{waiting: make(chan []byte, maxLines), written: make(chan struct{})}
	lost := slog.New(handler(c.err))
	go w.write(c.err, func(n int64) {
		lost.Warn("lines of the log were lost: their reader was too slow, or had gone", "lines", n)
	})
	d := damp(handler(w))
	stop, swept := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(swept)
		d.run(stop)
	}()
	return slog.New(d), func() {
		close(stop)
		<-swept
		w.flush()
	}
}

// maxLines bounds the lines of the log that wait for their reader.
const maxLines = 2000

// lines passes lines on without waiting for their reader.
type lines struct {
	waiting chan []byte
	lost    atomic.Int64
	written chan struct{} // closed when everything is written
}

// Write takes a line. It never fails.
func (l *lines) Write(line []byte) (int, error) {
	select {
	case l.waiting <- append([]byte(nil), line...):
	default:
		l.lost.Add(1)
	}
	return len(line), nil
}

// write writes the lines until flush. told says how many were lost
// before.
func (l *lines) write(w io.Writer, told func(lost int64)) {
	defer close(l.written)
	for line := range l.waiting {
		if line == nil {
			return
		}
		if _, err := w.Write(line); err != nil {
			l.lost.Add(1)
		} else if n := l.lost.Swap(0); n > 0 {
			told(n)
		}
	}
}

// flush waits until the lines so far are written, for at most a second.
func (l *lines) flush() {
	limit := time.After(time.Second)
	select {
	case l.waiting <- nil:
	case <-limit:
		return
	}
	select {
	case <-l.written:
	case <-limit:
	}
}
