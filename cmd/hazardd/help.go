package main

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/hazardd/hazardd/docs"
)

// helpCmd finds help.
type helpCmd struct {
	Words []string `arg:"" optional:"" name:"word" help:"A command, a setting, a word to find, or settings. Default: the program."`
}

// allSettings is the word that lists all settings.
const allSettings = "settings"

// Run prints the help of a command, explains a setting, or lists what a word is found in.
func (h *helpCmd) Run(c *console) error {
	parser, err := grammar(&commandLine{}, kong.Writers(c.out, c.err))
	if err != nil {
		return err
	}
	word := strings.ToLower(strings.Join(h.Words, " "))
	if word == allSettings {
		return c.print(settingRows(parser.Model), func(w io.Writer) error { return listSettings(w, parser.Model) })
	}
	node := nodeNamed(parser.Model.Node, h.Words)
	if node != nil && !c.json {
		at, err := kong.Trace(parser, h.Words)
		if err != nil {
			return err
		}
		if err := at.PrintUsage(false); err != nil || word == "" {
			return err
		}
	}
	found, err := findHelp(parser.Model, word)
	if err != nil {
		return err
	}
	if node != nil { // its help is above
		found = slices.DeleteFunc(found, func(f foundHelp) bool {
			return f.Kind == "command" && strings.HasPrefix(f.Name+" ", "hazardd "+word+" ")
		})
	}
	if len(found) == 0 && node == nil {
		return notFound(parser.Model, word)
	}
	return c.print(found, func(w io.Writer) error { return writeFound(w, found, node != nil) })
}

func notFound(app *kong.Application, word string) error {
	known := map[string]bool{}
	for _, node := range app.Children {
		known[node.Name] = true
	}
	for _, s := range settings(app) {
		known[s.flag.Name] = true
	}
	return fmt.Errorf("no command, setting or page has %q%s; hazardd --help lists the commands, hazardd help settings the settings", word, meant(word, known))
}

// foundHelp is a place that a word was found in.
type foundHelp struct {
	Kind string `json:"kind"` // command, setting or page
	Name string `json:"name"` // as it is typed, or the address of the page
	Text string `json:"text"`
}

// pagesAt is where the pages can be read.
const pagesAt = "https://github.com/hazardd/hazardd/blob/main/docs/"

// mostFound bounds what is listed of each kind.
const mostFound = 12

// findHelp returns the commands, settings and headings of pages that have word, best first of each
// kind. Where no heading has it, the sections that have it in their text are returned.
func findHelp(app *kong.Application, word string) ([]foundHelp, error) {
	var commands, options, headings, texts []foundHelp
	word = strings.TrimPrefix(word, "--")
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), word) }
	_ = kong.Visit(app.Node, func(v kong.Visitable, next kong.Next) error { // the visitor returns no error
		if node, ok := v.(*kong.Node); ok && node.Parent != nil && !node.Hidden && (has(node.Path()) || has(node.Help)) {
			commands = append(commands, foundHelp{"command", "hazardd " + node.Path(), node.Help})
		}
		return next(nil)
	})
	for _, s := range settings(app) {
		if f := s.flag; has(f.Name) || has(f.Help) || len(f.Tag.Envs) > 0 && has(f.Tag.Envs[0]) {
			options = append(options, foundHelp{"setting", "--" + f.Name, describe(f.Value)})
		}
	}
	former := strings.TrimSuffix(strings.TrimPrefix(word, "docs/"), ".md")
	if to, moved := docs.Moved[former]; moved && former != word { // a word alone finds headings
		headings = append(headings, foundHelp{"page", pagesAt + to, former + ".md, which is here now"})
	}
	err := eachSection(func(page, title, heading, text string) {
		at := foundHelp{"page", pagesAt + page + "#" + anchor(heading), title + ": " + heading}
		if heading == title {
			at = foundHelp{"page", pagesAt + page, title}
		}
		switch {
		case has(heading):
			headings = append(headings, at)
		case has(text):
			texts = append(texts, at)
		}
	})
	if len(headings) == 0 {
		headings = texts
	}
	inName := func(f foundHelp) int {
		if has(f.Name) {
			return 0
		}
		return 1
	}
	var all []foundHelp
	for _, kind := range [][]foundHelp{commands, options, headings} {
		slices.SortStableFunc(kind, func(a, b foundHelp) int { return inName(a) - inName(b) })
		all = append(all, kind[:min(len(kind), mostFound)]...)
	}
	return all, err
}

// eachSection calls f with each section of the pages: the file, the page's title, and the section's
// heading and text.
func eachSection(f func(page, title, heading, text string)) error {
	names, err := fs.Glob(docs.Pages, "*.md")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := fs.ReadFile(docs.Pages, name)
		if err != nil {
			return err
		}
		var title, heading string
		var body strings.Builder
		code := false
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "```") {
				code = !code
			}
			level := len(line) - len(strings.TrimLeft(line, "#"))
			if code || level == 0 || !strings.HasPrefix(line[level:], " ") {
				body.WriteString(line)
				continue
			}
			if heading != "" {
				f(name, title, heading, body.String())
			}
			body.Reset()
			heading = strings.TrimSpace(line[level:])
			if title == "" {
				title = heading
			}
		}
		f(name, title, heading, body.String())
	}
	return nil
}

// anchor returns the anchor of a heading, as GitHub makes it.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case strings.ContainsRune("-_", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 0x7f:
			return r
		}
		return -1
	}, strings.ToLower(heading))
}

func writeFound(w io.Writer, found []foundHelp, also bool) error {
	titles := map[string]string{"command": "Commands", "setting": "Settings", "page": "Pages"}
	var b strings.Builder
	kind := ""
	for _, f := range found {
		if f.Kind != kind {
			kind = f.Kind
			if also || b.Len() > 0 {
				b.WriteString("\n")
			}
			b.WriteString(titles[kind] + ":\n")
		}
		switch f.Kind {
		case "page":
			fmt.Fprintf(&b, "  %s\n      %s\n", f.Text, f.Name)
		default:
			fmt.Fprintf(&b, "  %s\n", f.Name)
			for line := range strings.SplitSeq(wrap(f.Text, 92), "\n") {
				b.WriteString("      " + line + "\n")
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// nodeNamed returns the command of the words, or nil if there is none.
func nodeNamed(node *kong.Node, words []string) *kong.Node {
	for _, w := range words {
		if node = childNamed(node, w); node == nil {
			return nil
		}
	}
	return node
}

// describe returns the help of a flag: its purpose, its environment variable and its default.
func describe(v *kong.Value) string {
	var notes []string
	if v.HasDefault && v.Default != "" && v.Flag != nil {
		notes = append(notes, "default "+v.Default)
	}
	for _, env := range v.Tag.Envs {
		notes = append(notes, "$"+env)
	}
	if len(notes) == 0 {
		return v.Help
	}
	return strings.TrimSuffix(v.Help, ".") + " (" + strings.Join(notes, ", ") + ")."
}

// help prints the usage of the program or of one command. The program's help ends with how to set
// flags by environment and file.
func help(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	text := `
Every flag can also be set by an environment variable, and in the configuration file. A flag outranks
a variable, a variable the file, and the file the default.

    hazardd config init      writes a configuration file in which each setting is explained
    hazardd help settings    lists all flags of all commands, with variables and defaults
    hazardd help WORD        finds commands, settings and pages
`
	switch node := ctx.Selected(); {
	case node == nil:
	case node.Name == "serve" && slices.ContainsFunc(node.Flags, func(f *kong.Flag) bool { return f.Hidden }):
		text = `
These are the common flags. The limits and rare settings belong into the configuration file, and are
flags too: hazardd serve --help-all lists them, hazardd config init writes a file that explains them.
`
	default:
		return nil
	}
	_, err := io.WriteString(ctx.Stdout, text)
	return err
}

// settingRow is a flag of a command in the list of all settings.
type settingRow struct {
	Command  string `json:"command"`
	Flag     string `json:"flag"`
	Variable string `json:"variable"`
	Block    string `json:"block"` // of the configuration file
	Default  string `json:"default"`
	Help     string `json:"help"`
}

// settingRows returns the flags of all commands: those of all, those of serve by group, the others.
func settingRows(app *kong.Application) []settingRow {
	blocks := map[*kong.Flag]string{}
	for _, s := range settings(app) {
		if s.rare {
			blocks[s.flag] = s.group.key
		}
	}
	var rows []settingRow
	add := func(command string, flags []*kong.Flag) {
		for _, f := range flags {
			if len(f.Tag.Envs) > 0 {
				rows = append(rows, settingRow{command, "--" + f.Name, f.Tag.Envs[0], blocks[f], f.Default, f.Help})
			}
		}
	}
	add("all", app.Flags)
	for _, leaf := range app.Leaves(true) {
		add(leaf.Path(), leaf.Flags)
	}
	return rows
}

func listSettings(w io.Writer, app *kong.Application) error {
	if _, err := io.WriteString(w, `The settings of hazardd: flags, environment variables, and lines of the configuration file. A line of
the file has the variable's name without HAZARDD_, in lower case, with - for _. Where a block is named,
the line can be in that block. hazardd help WORD explains a setting, hazardd config check all of them.

`); err != nil {
		return err
	}
	t := newTable("COMMAND", "FLAG", "VARIABLE", "BLOCK", "DEFAULT")
	before := ""
	for _, r := range settingRows(app) {
		command := r.Command
		if command == before {
			command = ""
		}
		before = r.Command
		t.add(command, r.Flag, r.Variable, r.Block, r.Default)
	}
	return t.write(w, false)
}
