package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// manCmd prints the manual page for packages. It is generated from the help texts.
type manCmd struct{}

// Run prints the manual page in roff; see man(7).
func (*manCmd) Run(c *console) error {
	parser, err := grammar(&commandLine{})
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(".TH HAZARDD 1 \"\" \"hazardd " + roff(about().Version) + "\" \"hazardd\"\n.SH NAME\nhazardd \\- a hazard data service\n" +
		".SH SYNOPSIS\n.B hazardd\n.I command\n[\\fIflags\\fR]\n.SH DESCRIPTION\n" +
		"Every flag can also be set by an environment variable, and in the configuration file under the variable's name without HAZARDD_, in lower case, with \\- for _. hazardd config init writes a file in which each setting is explained. " +
		"A flag outranks a variable, a variable the file, and the file the default.\n.SH \"FLAGS OF ALL COMMANDS\"\n")
	roffFlags(&b, parser.Model.Flags)
	b.WriteString(".SH COMMANDS\n")
	for _, leaf := range parser.Model.Leaves(true) {
		fmt.Fprintf(&b, ".SS \"%s\"\n%s\n", roff(leaf.Summary()), roff(leaf.Help))
		for _, arg := range leaf.Positional {
			fmt.Fprintf(&b, ".TP\n\\fI%s\\fR\n%s\n", roff(arg.Summary()), roff(arg.Help))
		}
		roffFlags(&b, leaf.Flags)
	}
	b.WriteString(".SH FILES\n.TP\n\\fI/etc/hazardd/hazardd.yaml\\fR\nThe configuration file, if neither \\-\\-config nor ./hazardd.yaml is there.\n" +
		".SH \"EXIT STATUS\"\n0; 1 when something failed or a part of it; 2 when the command line, the environment or the configuration file is wrong; 3 when a request waits for a second person; 4 when the record was changed meanwhile, or its state does not allow the request; 130 when it was interrupted.\n")
	_, err = io.WriteString(c.out, b.String())
	return err
}

func roffFlags(b *strings.Builder, flags []*kong.Flag) {
	for _, f := range flags {
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", roff(f.String()), roff(describe(f.Value)))
	}
}

// roff escapes text for roff.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ", `"`, `\(dq`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
