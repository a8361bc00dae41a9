package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/term"

	"github.com/hazardd/hazardd/internal/hazard"
)

// console is the input and output of a command.
type console struct {
	in       *os.File
	out, err io.Writer
	json     bool
	logsJSON bool // the command's log is JSON, and so is its last error
	// Whether each of the three is a terminal.
	inTerminal, outTerminal, errTerminal bool
	colour                               bool
	now                                  func() time.Time
}

func newConsole(in, out, err *os.File) *console {
	c := &console{in: in, out: out, err: err, now: time.Now}
	c.inTerminal, c.outTerminal, c.errTerminal = term.IsTerminal(int(in.Fd())), term.IsTerminal(int(out.Fd())), term.IsTerminal(int(err.Fd()))
	c.colour = c.outTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return c
}

// print writes a result: with --json as JSON, otherwise by calling text.
func (c *console) print(result any, text func(io.Writer) error) error {
	if !c.json {
		return text(c.out)
	}
	return printJSON(c.out, result)
}

// printJSON writes one line.
func printJSON(w io.Writer, v any) error {
	body, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", body)
	return err
}

// fail prints an error on one line.
func (c *console) fail(err error) {
	text := oneLine(strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")) // joined errors are on separate lines
	if c.logsJSON {
		slog.New(slog.NewJSONHandler(c.err, nil)).Error("the server has ended", "error", text)
		return
	}
	if c.json {
		_ = printJSON(c.err, map[string]string{"error": text}) // if standard error fails, nobody can be told
		return
	}
	fmt.Fprintf(c.err, "hazardd: %s\n", text)
}

// note prints a remark for people; with --json it prints nothing.
func (c *console) note(format string, args ...any) {
	if !c.json {
		fmt.Fprintf(c.err, format+"\n", args...)
	}
}

// logger is for problems that are not part of a command's result.
func (c *console) logger() *slog.Logger {
	opts := &slog.HandlerOptions{Level: slog.LevelError}
	if c.json {
		return slog.New(slog.NewJSONHandler(c.err, opts))
	}
	return slog.New(slog.NewTextHandler(c.err, opts))
}

// instant returns the present moment.
func (c *console) instant() hazard.Instant { return hazard.At(c.now()) }

// oneLine makes untrusted text safe for one line of a terminal.
func oneLine(text string) string { return hazard.CleanLine(text) }

// cut returns text as one line of at most n characters.
func cut(text string, n int) string {
	runes := []rune(oneLine(text))
	if len(runes) <= n {
		return string(runes)
	}
	return string(runes[:n-1]) + "…"
}

// clock formats a moment in local time; it returns "" for the zero time.
func clock(t time.Time) string {
	if t.IsZero() || t.UnixMilli() == 0 {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// age formats the time between t and now.
func age(t, now time.Time) string {
	d := now.Sub(t)
	if d < 0 {
		return "in " + span(-d)
	}
	return span(d) + " ago"
}

// ago formats a moment with its age; it returns "" for the zero time.
func ago(t, now time.Time) string {
	if text := clock(t); text != "" {
		return text + " (" + age(t, now) + ")"
	}
	return ""
}

// span formats a duration in its largest fitting unit.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours()/24))
}

// interrupted reports whether the user has canceled the command.
func interrupted(ctx context.Context) bool { return ctx.Err() != nil }
