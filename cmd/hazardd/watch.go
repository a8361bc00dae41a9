package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/wire"
)

type watchCmd struct {
	Type     []string `placeholder:"ID" help:"Types of hazards to watch, such as FLOOD."`
	Severity []string `placeholder:"ID" help:"Severities to watch, such as WARNING."`
	Category []string `placeholder:"ID" help:"Categories to watch, such as EVENT."`
	Source   []string `placeholder:"NAME" help:"Sources whose hazards to watch; editors means hazards written by editors."`
	BBox     bbox     `name:"bbox" placeholder:"W,S,E,N" help:"Box to watch, in degrees; its west may be greater than its east."`
	Text     string   `name:"words" placeholder:"WORDS" help:"Words in the name or the description."`
	serverFlags
}

// bbox is a bounding box, or none.
type bbox struct{ *client.BBox }

func (b *bbox) UnmarshalText(text []byte) error {
	var box client.BBox
	n, err := fmt.Sscanf(string(text), "%g,%g,%g,%g", &box.West, &box.South, &box.East, &box.North)
	if err != nil || n != 4 {
		return fmt.Errorf("%q is not west,south,east,north in degrees, such as -10,35,30,60", text)
	}
	b.BBox = &box
	return nil
}

// Validate reports contradicting flags before any password prompt.
func (w *watchCmd) Validate() error { return w.needed() }

// Run shows the active hazards and follows them until ctx ends: on a terminal as a live table,
// otherwise one line per change.
func (w *watchCmd) Run(ctx context.Context, c *console) error {
	server, err := w.client(ctx, c, "hazardd-watch")
	if err != nil {
		return err
	}
	wanted := client.Search{Types: w.Type, Severities: w.Severity, Categories: w.Category, Sources: w.Source, BBox: w.BBox.BBox, Text: w.Text}
	s := &screen{c: c, server: server, wanted: wanted, name: string(w.Server), live: c.outTerminal && !c.json}
	err = s.run(ctx)
	if interrupted(ctx) {
		return nil // the usual end
	}
	return w.explain(err)
}

// screen is the state of watch: the hazards, and what is drawn.
type screen struct {
	c      *console
	server *client.Client
	wanted client.Search
	name   string
	live   bool // draw a live table

	mu      sync.Mutex // guards the fields below
	hazards map[string]wire.Hazard
	sources string
	state   string // state of the connection, for the user
	latest  []client.Event
	dirty   bool
}

// maxLatest is how many recent changes are shown below the table.
const maxLatest = 5

func (s *screen) run(ctx context.Context) error {
	after, err := s.list(ctx)
	if err != nil {
		return err
	}
	if s.live {
		// Use the alternate screen and hide the cursor (xterm modes 1049 and 25).
		fmt.Fprint(s.c.out, "\x1b[?1049h\x1b[?25l")
		defer fmt.Fprint(s.c.out, "\x1b[?25h\x1b[?1049l")
		var drawing sync.WaitGroup
		ctx, stop := context.WithCancel(ctx)
		defer drawing.Wait()
		defer stop()
		drawing.Go(func() { s.redraw(ctx) })
		return s.follow(ctx, after)
	}
	return s.follow(ctx, after)
}

// list reads the active hazards, and returns the change number that they are as of.
func (s *screen) list(ctx context.Context) (int64, error) {
	list, err := s.server.SearchActive(ctx, s.wanted)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hazards, s.sources, s.dirty = map[string]wire.Hazard{}, list.Sources, true
	for _, h := range list.Items {
		s.hazards[h.UUID] = h
	}
	return list.Change, nil
}

func (s *screen) follow(ctx context.Context, after int64) error {
	o := client.EventOptions{Filter: s.wanted, Connected: func(int64) { s.say("live") },
		Waiting: func(reason error, wait time.Duration) {
			text := "the server ended the stream"
			if reason != nil {
				text = oneLine(reason.Error())
			}
			s.say(fmt.Sprintf("%s; connecting again in %s", text, wait.Round(time.Second)))
		}}
	for e, err := range s.server.Events(ctx, after, o) {
		if err != nil {
			return err
		}
		if e.Reset != "" {
			s.say("missed changes are not available (" + e.Reset + "): reading the list again")
			if _, err := s.list(ctx); err != nil {
				return err
			}
			continue
		}
		if err := s.take(e); err != nil {
			return err
		}
	}
	return nil
}

// say shows the state of the connection.
func (s *screen) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state, s.dirty = text, true; !s.live && text != "live" {
		s.c.note("%s", text)
	}
}

// take applies and shows a change.
func (s *screen) take(e client.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty = true
	if h := e.Hazard; h != nil {
		if h.Status != string(hazard.Active) || e.Left {
			delete(s.hazards, h.UUID)
		} else {
			s.hazards[h.UUID] = *h
		}
	}
	s.latest = append(s.latest, e)
	s.latest = s.latest[max(0, len(s.latest)-maxLatest):]
	switch {
	case s.live:
		return nil
	case s.c.json:
		return printJSON(s.c.out, changeJSON(e))
	}
	_, err := fmt.Fprintln(s.c.out, paint(changeLine(e), severityOf(e), s.c.colour))
	return err
}

// changeJSON returns a change in the form in which the server sent it.
func changeJSON(e client.Event) wire.Change {
	return wire.Change{Change: e.Number, Time: e.Time.UTC().Format(time.RFC3339Nano), Type: e.Type, Left: e.Left, User: e.User, Source: e.Source, Reason: e.Reason,
		Successor: e.Successor, Note: e.Note, Retracted: e.Retracted, Hazard: e.Hazard, Product: e.Product}
}

// changeLine formats a change on one line, for people.
func changeLine(e client.Event) string {
	what := strings.ReplaceAll(e.Type, ".", " ")
	if e.Reason != "" {
		what += " (" + oneLine(e.Reason) + ")"
	}
	if e.Left {
		what += ", no longer of those that are watched"
	}
	subject := ""
	switch {
	case e.Hazard != nil:
		subject = fmt.Sprintf("%-11s  %s", oneLine(e.Hazard.SeverityID), oneLine(e.Hazard.HazardName))
	case e.Product != nil:
		subject = fmt.Sprintf("%-11s  %s (of hazard %d)", "", oneLine(e.Product.Title), e.Product.HazardID)
	}
	return fmt.Sprintf("%s  %s · %s", e.Time.Local().Format("15:04:05"), subject, what)
}

func severityOf(e client.Event) string {
	if e.Hazard == nil {
		return ""
	}
	return e.Hazard.SeverityID
}

// severityColours are the colors of the base interface, section 1.4, as close as terminals have
// them.
var severityColours = map[string]string{"WARNING": "1;31", "WATCH": "33", "ADVISORY": "32", "INFORMATION": "34", "TERMINATION": dim}

func paint(text, severity string, colour bool) string {
	if code := severityColours[severity]; colour && code != "" {
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
	return text
}

// redraw draws changes at most ten times a second, and the ages each second, until ctx ends.
func (s *screen) redraw(ctx context.Context) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	var drawn time.Time
	for {
		s.mu.Lock()
		if s.dirty || time.Since(drawn) > time.Second {
			s.dirty, drawn = false, time.Now()
			width, height := terminalSize(s.c.out)
			_, _ = io.WriteString(s.c.out, s.draw(width, height)) // ignore errors: the terminal may be gone
		}
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func terminalSize(w io.Writer) (width, height int) {
	if f, ok := w.(*os.File); ok {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
			return width, height
		}
	}
	return 100, 30
}

// clip cuts a line to the width.
func clip(line string, width int) string {
	if runes := []rune(line); len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return line
}

// draw renders the whole screen. The caller holds mu.
func (s *screen) draw(width, height int) string {
	list := make([]wire.Hazard, 0, len(s.hazards))
	for _, h := range s.hazards {
		list = append(list, h)
	}
	slices.SortFunc(list, inOrder)
	var out strings.Builder
	line := func(text string) { out.WriteString(text + "\x1b[K\r\n") } // clear the rest of the line
	out.WriteString("\x1b[H")
	line(clip(fmt.Sprintf("%s · %d active · %s · %s", s.name, len(list), s.c.now().Local().Format("15:04:05"), s.state), width))
	line(clip("sources: "+oneLine(s.sources), width))
	line("")
	room := max(1, height-len(s.latest)-6)
	shown := list[:min(room, len(list))]
	for _, h := range shown {
		updated, _ := client.Time(h.LastUpdate) // on error the age is empty
		text := clip(fmt.Sprintf("%-11s  %-12s  %-40s  %8.2f %8.2f  %s", cut(h.SeverityID, 11), cut(h.TypeID, 12), cut(h.HazardName, 40), h.Latitude, h.Longitude, age(updated, s.c.now())), width)
		line(paint(text, h.SeverityID, s.c.colour))
	}
	if more := len(list) - len(shown); more > 0 {
		line(fmt.Sprintf("… and %d more", more))
	}
	if len(s.latest) > 0 {
		line("")
	}
	for _, e := range s.latest {
		line(paint(clip(changeLine(e), width), severityOf(e), s.c.colour))
	}
	out.WriteString("\x1b[J") // and clear everything below
	return strings.TrimSuffix(out.String(), "\r\n")
}

// inOrder compares records by the order of lists (decisions, "order of lists").
func inOrder(a, b wire.Hazard) int {
	state := func(h *wire.Hazard) *hazard.Hazard {
		severity, _ := hazard.ParseSeverity(h.SeverityID) // an unknown severity comes last
		updated, _ := client.Time(h.LastUpdate)
		return &hazard.Hazard{ID: h.HazardID, Severity: severity, LastUpdate: hazard.At(updated)}
	}
	return hazard.Compare(state(&a), state(&b))
}
