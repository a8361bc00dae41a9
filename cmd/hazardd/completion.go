package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// askCompletion is the hidden command by which the shell scripts ask the program for completions.
const askCompletion = "__complete"

// The scripts pass the words up to the cursor to the program, so a script of an older release works
// with a newer program.
var completionScripts = map[string]string{
	"bash": `# Load it in this shell: source <(hazardd completion bash)
# For all shells: hazardd completion bash >/etc/bash_completion.d/hazardd
_hazardd() {
  local IFS=$'\n'
  COMPREPLY=($(hazardd __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _hazardd hazardd
`,
	"zsh": `#compdef hazardd
# Load it in this shell: source <(hazardd completion zsh)
# For all shells: hazardd completion zsh >"${fpath[1]}/_hazardd"
_hazardd() {
  local -a found
  found=("${(@f)$(hazardd __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _hazardd hazardd
`,
	"fish": `# Load it in this shell: hazardd completion fish | source
# For all shells: hazardd completion fish >~/.config/fish/completions/hazardd.fish
complete -c hazardd -a '(hazardd __complete (commandline -opc)[2..-1] (commandline -ct))'
`,
}

// Run prints the completion script of a shell.
func (s *completionCmd) Run(c *console) error {
	_, err := io.WriteString(c.out, completionScripts[s.Shell])
	return err
}

// complete lists what can replace the last of words: commands, flags, or the values of a flag or an
// argument with a fixed list.
func complete(words []string) ([]string, error) {
	parser, err := grammar(&commandLine{})
	if err != nil {
		return nil, err
	}
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "=" }) // bash splits --flag=value at the =
	if len(words) == 0 {
		words = []string{""}
	}
	before, last := words[:len(words)-1], words[len(words)-1]
	node, arguments := parser.Model.Node, 0
	var valueOf *kong.Flag // the flag whose value comes next
	for _, w := range before {
		switch f, child := flagNamed(node, w), childNamed(node, w); {
		case valueOf != nil:
			valueOf = nil
		case f != nil && !f.IsBool() && !strings.Contains(w, "="):
			valueOf = f
		case strings.HasPrefix(w, "-"):
		case child != nil:
			node, arguments = child, 0
		default:
			arguments++
		}
	}
	var can []string
	name, value, cut := strings.Cut(last, "=")
	switch f := flagNamed(node, name); {
	case valueOf != nil:
		can = values(valueOf.Value)
	case cut && f != nil:
		last, can = value, values(f.Value)
	case strings.HasPrefix(last, "-"):
		for _, group := range node.AllFlags(false) {
			for _, f := range group {
				can = append(can, "--"+f.Name)
			}
		}
	default:
		for _, child := range node.Children {
			if !child.Hidden {
				can = append(can, child.Name)
			}
		}
		if arguments < len(node.Positional) {
			can = append(can, values(node.Positional[arguments])...)
		}
	}
	slices.Sort(can)
	return slices.DeleteFunc(slices.Compact(can), func(w string) bool { return !strings.HasPrefix(w, last) }), nil
}

func flagNamed(node *kong.Node, word string) *kong.Flag {
	word, _, _ = strings.Cut(word, "=")
	for _, group := range node.AllFlags(false) {
		for _, f := range group {
			if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

func childNamed(node *kong.Node, word string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == word {
			return child
		}
	}
	return nil
}

// values returns the allowed values of a flag or an argument, or nil if any value is allowed.
func values(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return v.EnumSlice()
}

// completeMain answers the completion scripts.
func completeMain(words []string, c *console) error {
	can, err := complete(words)
	for _, w := range can {
		if _, err := fmt.Fprintln(c.out, w); err != nil {
			return err
		}
	}
	return err
}
