package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
)

// A reader of the log that stands still stops nobody, and learns how many lines it has missed.
func TestNoLineOfTheLogWaitsForItsReader(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		synctest.Test(t, func(t *testing.T) {
			read, write := io.Pipe() // each write waits for a read
			logger, flush := (&logFlags{LogFormat: format}).logger(&console{err: write})
			for range maxLines + 10 {
				logger.Info("a line")
			}
			text := make(chan string, 1)
			go func() {
				all, _ := io.ReadAll(read)
				text <- string(all)
			}()
			synctest.Wait()
			logger.Warn("the last line")
			flush()
			write.Close()
			all := <-text
			if !strings.Contains(all, "lines of the log were lost") || !strings.Contains(all, "the last line") || strings.Count(all, "a line") < maxLines {
				t.Errorf("%s: %d bytes: %.300s", format, len(all), all)
			}
			for line := range strings.Lines(all) {
				if (line[0] == '{') != (format == "json") {
					t.Errorf("%s: %s", format, line)
				}
			}
		})
	}
}

// broken fails the first writes.
type brokenPipe struct {
	left int
	bytes.Buffer
}

func (b *brokenPipe) Write(p []byte) (int, error) {
	if b.left--; b.left >= 0 {
		return 0, errors.New("broken pipe")
	}
	return b.Buffer.Write(p)
}

func TestAnErrorOfTheLogIsNoErrorOfTheServer(t *testing.T) {
	w := &brokenPipe{left: 3}
	logger, flush := (&logFlags{}).logger(&console{err: w})
	for range 5 {
		logger.Info("a line")
	}
	flush()
	if all := w.String(); strings.Count(all, "a line") != 2 || !strings.Contains(all, "lines=3") {
		t.Error(all)
	}
}

// An outage is a handful of lines, and how many more there were.
func TestAnOutageIsAHandfulOfLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logger, flush := (&logFlags{}).logger(&console{err: &out})
		for i := range 300 {
			logger.With("source", i).Warn("a source fails")
			logger.Info("a request")
		}
		logger.Error("the disk is full")
		time.Sleep(5 * dampTime)
		logger.Warn("a source fails")
		for range 7 {
			logger.Warn("it goes on")
		}
		flush()
		all := out.String()
		for line, want := range map[string]int{`msg="a source fails"`: maxAlike + 1, `left out: a source fails" lines=295`: 1, `msg="the disk is full"`: 1, `msg="a request"`: 300,
			`msg="it goes on"`: maxAlike, `left out: it goes on" lines=2`: 1} {
			if n := strings.Count(all, line); n != want {
				t.Errorf("%q is there %d times, want %d", line, n, want)
			}
		}
	})
}

// An outage of an hour, with a line each second, is two dozen lines that say how many there were.
func TestALongOutageIsFewLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logger, flush := (&logFlags{LogFormat: "json"}).logger(&console{err: &out})
		for range 3600 {
			logger.Warn("the store is away")
			time.Sleep(time.Second)
		}
		flush()
		counted := 0
		for line := range strings.Lines(out.String()) {
			var l struct {
				Msg   string
				Lines int
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			counted += max(l.Lines, 1)
		}
		lines := strings.Count(out.String(), "\n")
		t.Logf("%d lines for 3600", lines)
		if lines > 24 || counted != 3600 {
			t.Errorf("%d lines for %d, want 24 at most for 3600", lines, counted)
		}
	})
}

// The first hour without network, with all sources that are read by default, is a handful of lines.
func TestAnHourWithoutNetworkIsAHandfulOfLines(t *testing.T) {
	test.Slow(t)
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logger, flush := (&logFlags{LogFormat: "json", LogLevel: slog.LevelWarn}).logger(&console{err: &out})
		s, err := store.Open(t.Context(), t.TempDir(), "sqlite:?synchronous=off")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		cfg := app.Config{Logger: logger}
		cfg.Known = app.BuiltIn()
		cfg.Sources, cfg.ProxyURL, cfg.NoPush = cfg.Known.Names(), "http://127.0.0.1:1", true // nobody listens there
		p, err := app.NewPoller(s, cfg.Known.Intake(s), nil, cfg)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := p.Run(store.Patient(ctx)); err != nil {
			t.Error(err)
		}
		flush()
		minute, hour, of := 0, 0, map[string]int{}
		for line := range strings.Lines(out.String()) {
			var l struct {
				Time time.Time
				Msg  string
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			if l.Time.Sub(began) < time.Minute {
				minute++
			}
			hour++
			of[l.Msg]++
		}
		t.Logf("%d sources: %d lines in the first minute, %d in the hour: %v", len(cfg.Sources), minute, hour, of)
		if minute > 10 || hour > 30 || hour == 0 {
			t.Error("expected 10 and 30 at most")
		}
	})
}

// With --log-format json the error that ends the server is a line of JSON too.
func TestTheLastErrorIsOfTheFormatOfTheLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	c := &console{out: &out, err: &errs, now: time.Now}
	if status := run([]string{"serve", "--data", file, "--listen", "127.0.0.1:0", "--sources", "none", "--log-format", "json"}, c); status != exitFailed {
		t.Errorf("exit status %d", status)
	}
	last := ""
	for line := range strings.Lines(errs.String()) {
		var l struct{ Level, Msg, Error string }
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Msg == "" {
			t.Errorf("%s: %v", line, err)
		}
		last = l.Level + l.Error
	}
	if !strings.HasPrefix(last, "ERROR") || !strings.Contains(last, file) {
		t.Error(last)
	}
}
