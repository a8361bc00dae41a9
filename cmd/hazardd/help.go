package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// helpCmd is --help as a command.
type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command. Default: the program."`
}

// Run prints the help and exits.
func (h *helpCmd) Run() error {
	_, err := parse(&commandLine{}, append(h.Command, "--help"))
	return err
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
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil || ctx.Selected() != nil {
		return err
	}
	if _, err := fmt.Fprint(ctx.Stdout, `
Every flag can also be set by an environment variable, and in the configuration file under the
variable's name without HAZARDD_, in lower case, with - for _:

    listen: 0.0.0.0:8080
    sources: all

A flag outranks a variable, a variable the file, and the file the default.

`); err != nil {
		return err
	}
	t := newTable("COMMAND", "FLAG", "VARIABLE", "DEFAULT")
	listFlags(t, "all", ctx.Model.Flags)
	for _, leaf := range ctx.Model.Leaves(true) {
		listFlags(t, leaf.Path(), leaf.Flags)
	}
	return t.write(ctx.Stdout, false)
}

func listFlags(t *table, command string, flags []*kong.Flag) {
	for _, f := range flags {
		if len(f.Tag.Envs) > 0 {
			t.add(command, "--"+f.Name, f.Tag.Envs[0], f.Default)
			command = ""
		}
	}
}
