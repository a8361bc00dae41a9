package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/coverage"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
)

type coverageCmd struct {
	sourcesFlag
	Place  string   `arg:"" optional:"" placeholder:"LON,LAT" help:"The place, in degrees."`
	Places string   `placeholder:"FILE" help:"Show a table of the places in a file: LON,LAT and a name on each line; - reads standard input."`
	Type   []string `placeholder:"TYPE" help:"Only these types of hazards. Default: official warnings of any type."`
}

// namedPlace is an entry of a file of places.
type namedPlace struct {
	name     string
	lon, lat float64
}

// placeAnswer is the coverage of one place, as JSON.
type placeAnswer struct {
	Name string `json:"name"`
	coverage.About
}

// Run shows which sources cover a place, and so whether an empty answer means that there is no
// hazard.
func (cc *coverageCmd) Run(ctx context.Context, c *console, g *globals) error {
	if (cc.Place == "") == (cc.Places == "") {
		return errors.New("expected either a place, LON,LAT, or a file of places, --places FILE")
	}
	types, err := readTypes(cc.Type)
	if err != nil {
		return err
	}
	var places []namedPlace
	if cc.Place != "" {
		lon, lat, err := coverage.ParsePoint(strings.Replace(cc.Place, minus, "-", 1))
		if err != nil {
			return err
		}
		places = append(places, namedPlace{lon: lon, lat: lat})
	} else if places, err = cc.readPlaces(c.in); err != nil {
		return err
	}
	known, names, err := cc.chosen()
	if err != nil {
		return err
	}
	covered, err := known.Coverage()
	if err != nil {
		return err
	}
	return g.withOldStore(ctx, func(s *store.Store) error {
		now := c.instant()
		states, err := known.Statuses(ctx, s, names, now)
		if err != nil {
			return err
		}
		read := poll.Readings(states)
		if cc.Place != "" {
			about := covered.About(covered.At(places[0].lon, places[0].lat), read, now, types...)
			return c.print(about, func(w io.Writer) error { return writeCoverage(w, &about, c.colour) })
		}
		answers := []placeAnswer{}
		for _, p := range places {
			answers = append(answers, placeAnswer{p.name, covered.About(covered.At(p.lon, p.lat), read, now, types...)})
		}
		return c.print(answers, func(w io.Writer) error { return writePlaces(w, answers, c.colour) })
	})
}

func readTypes(names []string) (types []hazard.Type, err error) {
	for _, name := range names {
		t := hazard.Type(strings.ToUpper(name))
		if _, ok := t.Info(); !ok {
			var known []string
			for _, info := range hazard.Types() {
				known = append(known, string(info.ID))
			}
			return nil, fmt.Errorf("--type: %q is not a type; the types are: %s", name, strings.Join(known, ", "))
		}
		types = append(types, t)
	}
	return types, nil
}

// readPlaces parses a file of places. It skips empty lines and lines that begin with #.
func (cc *coverageCmd) readPlaces(in io.Reader) (places []namedPlace, err error) {
	if cc.Places != "-" {
		file, err := os.Open(cc.Places)
		if err != nil {
			return nil, fmt.Errorf("--places: %w", err)
		}
		defer file.Close()
		in = file
	}
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		point, name := line, ""
		if i := strings.IndexAny(line, " \t"); i >= 0 {
			point, name = line[:i], strings.TrimSpace(line[i:])
		}
		p := namedPlace{name: name}
		if p.lon, p.lat, err = coverage.ParsePoint(point); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", cc.Places, n, err)
		}
		places = append(places, p)
	}
	return places, lines.Err()
}

var answerColours = map[string]string{string(coverage.Covered): green, string(coverage.Stale): red, string(coverage.Unknown): yellow}

// writeCoverage prints the coverage of one place.
func writeCoverage(w io.Writer, a *coverage.About, colour bool) error {
	meaning := map[coverage.Word]string{
		coverage.Covered: "the authority responsible for this place is polled",
		coverage.Stale:   "the authority responsible for this place was not read recently",
		coverage.Unknown: "no polled source is responsible for this place",
	}
	if _, err := fmt.Fprintf(w, "%s: %s\nin %s\n\n", a.Answer, meaning[a.Answer], cmp.Or(countryNames(a), "no country: the high seas")); err != nil {
		return err
	}
	t := newTable("TYPE", "ANSWER", "BY", "SOURCES")
	t.colours[1] = answerColours
	for _, one := range a.Types {
		by := ""
		if len(one.Sources) > 0 {
			by = role(one.Responsible)
		}
		t.add(string(one.Type), string(one.Answer), by, strings.Join(one.Sources, ", "))
	}
	if err := t.write(w, colour); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	t = newTable("SOURCE", "ROLE", "STATE", "AGE", "FROM", "TYPES", "AUTHORITY")
	t.colours[2] = map[string]string{poll.OK: green, poll.Failing: yellow, poll.Stale: red, poll.Starting: dim, poll.Unheard: yellow, poll.Disabled: dim}
	for _, s := range a.Sources {
		var names []string
		for _, t := range s.Types {
			names = append(names, string(t))
		}
		t.add(s.Name, role(s.Responsible), s.State, sourceAge(&s), s.From, cmp.Or(strings.Join(names, " "), "not stated"), s.Authority)
	}
	return t.write(w, colour)
}

// role returns the role of a source for a place.
func role(responsible bool) string {
	if responsible {
		return source.RoleResponsible.String()
	}
	return source.RoleWatches.String()
}

func sourceAge(s *coverage.AboutSource) string {
	if s.Age == nil {
		return ""
	}
	return (time.Duration(*s.Age) * time.Second).String()
}

func countryNames(a *coverage.About) string {
	var names []string
	for _, c := range a.Countries {
		name := c.Code + " " + c.Name
		if c.Km > 0 {
			name += fmt.Sprintf(" (%.0f km off)", c.Km)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// writePlaces writes a table of places.
func writePlaces(w io.Writer, answers []placeAnswer, colour bool) error {
	t := newTable("PLACE", "LON", "LAT", "COUNTRY", "ANSWER", "RESPONSIBLE", "TYPES COVERED", "STALE")
	t.colours[4] = answerColours
	for i := range answers {
		a := &answers[i]
		var responsible, covered, stale []string
		for _, s := range a.Sources {
			if s.Responsible && s.State != poll.Disabled && (len(responsible) == 0 || responsible[len(responsible)-1] != s.Name) {
				responsible = append(responsible, s.Name)
			}
		}
		for _, one := range a.Types {
			switch one.Answer {
			case coverage.Covered:
				covered = append(covered, strings.ToLower(string(one.Type)))
			case coverage.Stale:
				stale = append(stale, strings.ToLower(string(one.Type)))
			}
		}
		t.add(a.Name, fmt.Sprintf("%.2f", a.Point[0]), fmt.Sprintf("%.2f", a.Point[1]), countryNames(&a.About), string(a.Answer), strings.Join(responsible, " "), strings.Join(covered, " "), strings.Join(stale, " "))
	}
	return t.write(w, colour)
}

// minus replaces the hyphen before a negative longitude, so that it is not parsed as a flag.
const minus = "\u2212"

// negativePlace is a list of numbers that begins with a negative one. No flag begins with a digit.
var negativePlace = regexp.MustCompile(`^-([0-9]+(\.[0-9]+)?|\.[0-9]+),[-+]?[0-9.]`)

// keepPlaces rewrites places in args that begin with a hyphen, so that they are not parsed as flags:
// --at -1.5,40 becomes --at=-1.5,40 where --at takes a value.
func keepPlaces(args []string, takesValue map[string]bool) []string {
	kept := make([]string, 0, len(args))
	for _, arg := range args {
		last := len(kept) - 1
		switch {
		case !negativePlace.MatchString(arg):
			kept = append(kept, arg)
		case last >= 0 && takesValue[kept[last]]:
			kept[last] += "=" + arg
		default:
			kept = append(kept, minus+arg[1:])
		}
	}
	return kept
}

// valueFlags returns the flags, as --name, that take a value in every command that has them.
func valueFlags(node *kong.Node) map[string]bool {
	all := map[string]bool{}
	var visit func(*kong.Node)
	visit = func(n *kong.Node) {
		for _, f := range n.Flags {
			name := "--" + f.Name
			before, seen := all[name]
			all[name] = !f.IsBool() && (before || !seen)
		}
		for _, child := range n.Children {
			visit(child)
		}
	}
	visit(node)
	return all
}
