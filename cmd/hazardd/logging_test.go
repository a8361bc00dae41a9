package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
		time.Sleep(2 * dampTime)
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
