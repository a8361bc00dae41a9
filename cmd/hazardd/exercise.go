package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/edit/drill"
	"github.com/hazardd/hazardd/internal/edit/drill/scenarios"
	"github.com/hazardd/hazardd/internal/hazard"
)

type exerciseCmd struct {
	Scenario string `arg:"" optional:"" placeholder:"FILE" help:"Scenario: a file, or the name of one that is built in."`
	List     bool   `xor:"what" help:"List the scenarios that are built in."`
	Show     bool   `xor:"what" help:"Print the scenario's file, as a start for your own."`
	Check    bool   `xor:"what" help:"Only check the scenario, and print its timeline."`
	End      bool   `xor:"what" help:"End the hazards that earlier runs of the scenario left on the server."`
	serverFlags
	Speed speed `default:"1" placeholder:"FACTOR" help:"How many times faster to play it."`
	Keep  bool  `help:"Do not end the remaining hazards at the end or on Ctrl-C; they end by themselves a day later."`
}

// speed is a factor: 2 plays a drill twice as fast.
type speed float64

func (s *speed) UnmarshalText(text []byte) error {
	const most = 100_000
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(f > 0 && f <= most) {
		return fmt.Errorf("%q is not a factor above 0, at most %d, such as 1, 0.5 or 60", text, most)
	}
	*s = speed(f)
	return nil
}

// Validate reports contradicting flags before any password prompt.
func (e *exerciseCmd) Validate() error {
	switch {
	case e.List && e.Scenario != "":
		return errors.New("--list takes no scenario")
	case !e.List && e.Scenario == "":
		return errors.New("name a scenario: a file, or one of those that hazardd exercise --list shows")
	case !e.List && !e.Check && !e.Show && e.nobody():
		return errors.New("say who plays it: --user NAME, an editor, or --token-stdin")
	}
	return e.serverFlags.Validate()
}

// Run plays the scenario, or lists, prints, checks or ends it.
func (e *exerciseCmd) Run(ctx context.Context, c *console) error {
	if e.List {
		return listScenarios(c)
	}
	if e.Show {
		text, _, err := readScenario(e.Scenario)
		if err != nil {
			return err
		}
		_, err = c.out.Write(text)
		return err
	}
	s, err := loadScenario(e.Scenario)
	if err != nil {
		return err
	}
	for _, n := range s.Notes {
		c.note("%s: %s", e.Scenario, n)
	}
	if e.Check {
		return printTimeline(c, s)
	}
	reader, err := e.client(ctx, c, "hazardd-exercise")
	if err != nil {
		return err
	}
	server := reader.Editor()
	t := &teller{c: c, length: s.Length()}
	if e.End {
		if err := drill.End(ctx, server, s, t.told); err != nil {
			return e.explain(err)
		}
		return t.total("ended")
	}
	left, err := drill.Left(ctx, server, s)
	if err != nil {
		return e.explain(err)
	}
	if len(left) > 0 {
		c.note("%d hazards of an earlier run are still active; hazardd exercise --end %s ends them", len(left), e.Scenario)
	}
	c.note("%s: %d steps in %s, at speed %g on %s. Ctrl-C ends it%s.", s.Title, len(s.Steps), drill.Clock(s.Length())[1:], float64(e.Speed), e.Server,
		map[bool]string{true: ", and leaves its hazards", false: " and its hazards"}[e.Keep])
	if err := play(ctx, c, server, s, float64(e.Speed), e.Keep); err != nil {
		if errors.Is(err, drill.ErrLeft) {
			// Not wrapped: an interruption would otherwise hide this advice.
			return fmt.Errorf("%v; hazardd exercise --end %s ends them", err, e.Scenario)
		}
		return e.explain(err)
	}
	return nil
}

// explain adds advice to an error of the server.
func (e *exerciseCmd) explain(err error) error {
	switch {
	case errors.Is(err, client.ErrUnauthorized):
		return fmt.Errorf("%w: check the user and the password; a token is valid for an hour only, a password for the whole drill", err)
	case errors.Is(err, client.ErrForbidden):
		return fmt.Errorf("%w: only an editor can play a drill", err)
	}
	return e.serverFlags.explain(err)
}

// play plays a scenario and prints its events; on a terminal it also shows the progress.
func play(ctx context.Context, c *console, server drill.Server, s *drill.Scenario, speed float64, keep bool) error {
	t := &teller{c: c, length: s.Length()}
	p := &drill.Player{Server: server, Speed: speed, Keep: keep, Run: drill.NewRun(), Told: t.told,
		Waits: func(d *client.DraftedError) {
			t.clear()
			c.note("%q waits for a second person; %v", oneLine(d.Draft.HazardName), d)
		}}
	if c.errTerminal && !c.json {
		p.Tick = t.tick
	}
	err := p.Play(ctx, s)
	t.clear()
	if err != nil {
		return err
	}
	return t.total("played")
}

// loadScenario reads a scenario from a file or from the built-in ones.
func loadScenario(name string) (_ *drill.Scenario, err error) {
	text, folder, err := readScenario(name)
	if err != nil {
		return nil, err
	}
	s, err := drill.Parse(text, folder)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

func readScenario(name string) ([]byte, fs.FS, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if text, err := fs.ReadFile(scenarios.Files, name+".yaml"); err == nil {
			return text, scenarios.Files, nil
		}
		return nil, nil, fmt.Errorf("%s is neither a file nor a scenario that is built in; expected one of %s", name, strings.Join(builtIn(), ", "))
	}
	if err != nil {
		return nil, nil, err
	}
	if info.Size() > drill.MaxScenario {
		return nil, nil, fmt.Errorf("%s has %d bytes; the limit for a scenario is %d", name, info.Size(), drill.MaxScenario)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, err
	}
	return text, os.DirFS(filepath.Dir(name)), nil
}

// builtIn returns the names of the built-in scenarios.
func builtIn() []string {
	files, err := fs.Glob(scenarios.Files, "*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(f, ".yaml")
	}
	return files
}

func listScenarios(c *console) error {
	type scenario struct {
		Name        string `json:"name"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Length      string `json:"length"`
		Hazards     int    `json:"hazards"`
		Steps       int    `json:"steps"`
	}
	list := []scenario{}
	t := newTable("NAME", "LENGTH", "HAZARDS", "STEPS", "TITLE")
	for _, name := range builtIn() {
		s, err := loadScenario(name)
		if err != nil {
			return err
		}
		length := drill.Clock(s.Length())[1:]
		list = append(list, scenario{name, s.Title, s.Description, length, len(s.Hazards()), len(s.Steps)})
		t.add(name, length, fmt.Sprint(len(s.Hazards())), fmt.Sprint(len(s.Steps)), s.Title)
	}
	return c.print(list, func(w io.Writer) error { return t.write(w, c.colour) })
}

// stepJSON is a step or its outcome, as a line of JSON.
type stepJSON struct {
	Line    int        `json:"line,omitzero"`
	At      string     `json:"at"`
	Do      drill.Deed `json:"do"`
	Hazard  string     `json:"hazard,omitzero"`
	Name    string     `json:"name,omitzero"` // name of the hazard or product
	UUID    string     `json:"uuid,omitzero"` // UUID of the hazard
	Say     string     `json:"say,omitzero"`
	Skipped string     `json:"skipped,omitzero"`
	Time    *time.Time `json:"time,omitzero"`
}

func printTimeline(c *console, s *drill.Scenario) error {
	t := newTable("AT", "DO", "HAZARD", "WHAT")
	for _, step := range s.Steps {
		if c.json {
			if err := printJSON(c.out, stepJSON{Line: step.Line, At: drill.Clock(step.At), Do: step.Do, Hazard: step.Hazard, Name: step.Subject, Say: step.Say}); err != nil {
				return err
			}
			continue
		}
		t.add(drill.Clock(step.At), string(step.Do), step.Hazard, cut(what(&step), 90))
	}
	if c.json {
		return nil
	}
	if err := t.write(c.out, false); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.out, "\n%s: %d steps in %s, %d hazards; no fault found\n", s.Title, len(s.Steps), drill.Clock(s.Length())[1:], len(s.Hazards()))
	return err
}

// what describes the subject of a step, for people.
func what(step *drill.Step) string {
	text := step.Subject
	if v, ok := step.Fields["severity_ID"].(string); ok {
		text += ": " + v
	}
	if step.Begin != nil {
		text += ": " + step.Begin.Severity
	}
	if step.Add != nil {
		text = map[string]string{string(hazard.FolderProduct): "folder ", string(hazard.FileProduct): "file ", string(hazard.URLProduct): "link ",
			string(hazard.TextProduct): "text "}[step.Add.Type] + text
	}
	if step.Say != "" {
		text = strings.TrimSpace(text + "  » " + step.Say)
	}
	return text
}

// teller reports the events of a drill, one per line on standard output. On a terminal a status
// line below shows the progress.
type teller struct {
	c       *console
	length  time.Duration
	status  bool // whether the status line is on the screen
	events  int
	skipped int
}

func (t *teller) told(e drill.Event) {
	t.clear()
	t.events++
	if e.Skipped != "" {
		t.skipped++
	}
	if t.c.json {
		_ = printJSON(t.c.out, stepJSON{Line: e.Line, At: drill.Clock(e.At), Do: e.Do, Hazard: e.Hazard, Name: e.Subject, UUID: e.UUID, Say: e.Say,
			Skipped: e.Skipped, Time: new(t.c.now())}) // ignore errors: the drill goes on without a reader
		return
	}
	line := fmt.Sprintf("%s  %-6s  %s", drill.Clock(e.At), e.Do, oneLine(what(&e.Step)))
	if e.Skipped != "" {
		line += " - skipped: " + oneLine(e.Skipped)
	}
	fmt.Fprintln(t.c.out, line)
}

// tick redraws the status line.
func (t *teller) tick(s drill.Status) {
	const bar, width = 12, 79 // a line that wraps could not be overwritten
	done := int(bar * s.Elapsed / max(t.length, 1))
	line := fmt.Sprintf("[%s%s] %s of %s, %d active", strings.Repeat("=", done), strings.Repeat("-", bar-done), drill.Clock(s.Elapsed), drill.Clock(s.Length)[1:], s.Active)
	if s.Next != nil {
		line += fmt.Sprintf(", in %s: %s %s", span(s.NextIn+999*time.Millisecond), s.Next.Do, strings.TrimPrefix(s.Next.Subject, "EXERCISE - "))
	}
	fmt.Fprintf(t.c.err, "\r\x1b[K%s", cut(line, width))
	t.status = true
}

func (t *teller) clear() {
	if t.status {
		fmt.Fprint(t.c.err, "\r\x1b[K")
		t.status = false
	}
}

// total prints the number of events.
func (t *teller) total(done string) error {
	if t.c.json {
		return printJSON(t.c.out, map[string]int{done: t.events - t.skipped, "skipped": t.skipped})
	}
	text := fmt.Sprintf("%s: %d", done, t.events-t.skipped)
	if t.skipped > 0 {
		text += fmt.Sprintf(", %d skipped", t.skipped)
	}
	_, err := fmt.Fprintln(t.c.out, text)
	return err
}
