package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/hazardd/hazardd/internal/auth/secret"
)

// configCmd deals with the configuration of an installation.
type configCmd struct {
	Init  configInitCmd  `cmd:"" help:"Write a configuration file in which each setting is explained and commented out."`
	Check configCheckCmd `cmd:"" help:"Check the configuration that hazardd serve would use here, and explain each setting."`
	Show  configShowCmd  `cmd:"" help:"Print the configuration that hazardd serve would use here, without secrets."`
}

type configInitCmd struct {
	File string `arg:"" optional:"" default:"hazardd.yaml" help:"File to write; - is standard output."`
}

// Run writes the file. It does not replace one.
func (i *configInitCmd) Run(c *console) error {
	parser, err := grammar(&commandLine{})
	if err != nil {
		return err
	}
	text := sampleConfig(settings(parser.Model))
	if i.File == "-" {
		_, err := io.WriteString(c.out, text)
		return err
	}
	f, err := os.OpenFile(i.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists and is not replaced; hazardd config check explains it, hazardd config init - prints a new one", i.File)
	}
	if err != nil {
		return err
	}
	if _, err := io.WriteString(f, text); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return c.print(map[string]string{"file": i.File}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "wrote %s; remove the # before what you want to change, then run hazardd config check\n", i.File)
		return err
	})
}

// sampleConfig returns a file that sets nothing: each setting is a comment with its default.
func sampleConfig(all []setting) string {
	var b strings.Builder
	b.WriteString(`# Settings of hazardd. A flag outranks an environment variable, a variable this file, and this file
# the default. hazardd config check explains each setting, and says what is wrong.
`)
	for i, s := range all {
		if i == 0 || all[i-1].group.key != s.group.key {
			fmt.Fprintf(&b, "\n# ---- %s\n", s.group.title)
		}
		indent := ""
		if s.rare {
			indent = "  "
			if i == 0 || !all[i-1].rare || all[i-1].group.key != s.group.key {
				fmt.Fprintf(&b, "\n%s:\n", s.group.key)
			}
		}
		b.WriteString("\n")
		for line := range strings.SplitSeq(wrap(s.flag.Help, 96), "\n") {
			b.WriteString(indent + "# " + line + "\n")
		}
		fmt.Fprintf(&b, "%s#%s: %s\n", indent, s.flag.Name, sampleValue(s.flag))
	}
	return b.String()
}

// sampleValue returns the default of a flag as YAML, or what a value looks like.
func sampleValue(f *kong.Flag) string {
	if f.Default != "" {
		return f.Default
	}
	switch {
	case f.IsBool():
		return "false"
	case f.Name == "cap":
		return "[{name: NAME, url: https://…}]"
	case f.Name == "layers":
		return "[{name: NAME, url: https://…, attribution: TEXT}]"
	case f.Name == "mirror":
		return "[{name: NAME, url: https://…, user: NAME, password-file: FILE}]"
	case f.IsSlice():
		return "[" + f.PlaceHolder + "]"
	}
	return f.PlaceHolder
}

// wrap breaks text into lines of at most width characters.
func wrap(text string, width int) string {
	var b strings.Builder
	n := 0
	for word := range strings.FieldsSeq(text) {
		size := len([]rune(word))
		switch {
		case n == 0:
		case n+1+size > width:
			b.WriteString("\n")
			n = 0
		default:
			b.WriteString(" ")
			n++
		}
		b.WriteString(word)
		n += size
	}
	return b.String()
}

// settingValue is a setting with its value, as text that the configuration file takes.
type settingValue struct {
	Setting string `json:"setting"`
	Block   string `json:"block,omitzero"` // in the configuration file; empty for none
	Value   string `json:"value"`
	From    string `json:"from"` // "default", "flag", "$VARIABLE" or "FILE:LINE"
	Default string `json:"default"`
	Help    string `json:"help"`

	items []string // the values of a list in the file
}

// Where values are from, besides variables and files.
const (
	fromDefault = "default"
	fromFlag    = "flag"
)

// configuration is what hazardd serve would use.
type configuration struct {
	File     string         `json:"file,omitzero"`
	Settings []settingValue `json:"settings"`
	Faults   []string       `json:"faults"`
	Remarks  []string       `json:"remarks"` // what is allowed, but seldom meant
}

// serveFlags are the flags that hazardd serve would be started with.
type serveFlags struct {
	Flags []string `arg:"" optional:"" placeholder:"FLAG" help:"Flags of hazardd serve, after --."`
}

// read reads the configuration as hazardd serve does, and finds as many faults as it can.
func (s *serveFlags) read(ctx *kong.Context, g *globals) *configuration {
	args := append([]string{"serve"}, s.Flags...)
	for _, p := range ctx.Path {
		if p.Flag == nil || p.Resolved || p.Flag.IsBool() {
			continue
		}
		args = append(args, fmt.Sprintf("--%s=%v", p.Flag.Name, ctx.FlagValue(p.Flag)))
	}
	conf := &configuration{Settings: []settingValue{}, Faults: []string{}, Remarks: []string{}}
	var file *configFile
	var cli *commandLine
	var parsed *kong.Context
	for skip := map[string]bool{}; ; skip[file.last] = true { // each fault of the file hides those after it
		file, cli = &configFile{skip: skip}, &commandLine{}
		var err error
		if parsed, err = parseWith(cli, args, file); err == nil {
			break
		}
		conf.Faults = append(conf.Faults, strings.TrimSuffix(err.Error(), "; see hazardd serve --help"))
		if _, again := file.values[file.last]; !again || skip[file.last] {
			break
		}
	}
	conf.File = file.path
	if parsed == nil {
		return conf
	}
	for _, st := range settings(parsed.Model) {
		conf.Settings = append(conf.Settings, valueOf(st, parsed, file, args))
	}
	if cfg, err := cli.Serve.config(&cli.globals); err == nil {
		conf.Remarks = append(conf.Remarks, cli.Serve.remarks(cfg)...)
	} else {
		conf.Faults = append(conf.Faults, strings.Split(err.Error(), "\n")...)
	}
	conf.Faults = append(conf.Faults, fileFaults(conf.Settings, parsed.Model)...)
	slices.Sort(conf.Faults)
	conf.Faults = slices.Compact(conf.Faults)
	return conf
}

// valueOf returns where the value of a setting is from, and the value.
func valueOf(st setting, parsed *kong.Context, file *configFile, args []string) settingValue {
	f := st.flag
	v := settingValue{Setting: f.Name, Value: f.Default, From: fromDefault, Default: f.Default, Help: f.Help}
	if f.IsBool() && v.Default == "" {
		v.Default, v.Value = "false", "false"
	}
	if st.rare {
		v.Block = st.group.key
	}
	for _, p := range parsed.Path {
		if p.Flag != nil && p.Flag.Name == f.Name && !p.Resolved {
			v.From, v.Value = fromFlag, argument(f, args)
			return v
		}
	}
	for _, env := range f.Tag.Envs {
		if text, ok := os.LookupEnv(env); ok {
			v.From, v.Value = "$"+env, withoutSecrets(text)
			return v
		}
	}
	if in, ok := file.values[f.Name]; ok && !file.skip[f.Name] {
		for _, item := range in.items {
			v.items = append(v.items, withoutSecrets(item))
		}
		v.From, v.Value = fmt.Sprintf("%s:%d", file.path, in.line), strings.Join(v.items, ",")
		if !in.list {
			v.items = nil
		}
	}
	return v
}

// argument returns the value of a flag among args, as it was written.
func argument(f *kong.Flag, args []string) string {
	var values []string
	for i, arg := range args {
		name, value, given := strings.Cut(arg, "=")
		switch {
		case name == "--no-"+f.Name:
			values = []string{"false"}
		case name != "--"+f.Name:
		case given:
			values = append(values, value)
		case f.IsBool():
			values = []string{"true"}
		case i+1 < len(args):
			values = append(values, args[i+1])
		}
	}
	return withoutSecrets(strings.Join(values, ","))
}

var (
	passwordInURL   = regexp.MustCompile(`(://[^/@\s:]*):[^/@\s]+@`)
	passwordInQuery = regexp.MustCompile(`(?i)([?&\s](?:[a-z_]*(?:password|secret|token|apikey|api_key|access_key)|key)=)[^&\s"]+`)
)

// withoutSecrets replaces passwords and keys in addresses by "…".
func withoutSecrets(text string) string {
	return passwordInQuery.ReplaceAllString(passwordInURL.ReplaceAllString(text, "$1:…@"), "$1…")
}

// fileFaults returns the files that settings name and that cannot be read.
func fileFaults(all []settingValue, app *kong.Application) []string {
	paths := map[string]bool{}
	for _, st := range settings(app) {
		paths[st.flag.Name] = st.flag.Tag.Type == "path"
	}
	var faults []string
	for _, v := range all {
		if !paths[v.Setting] || v.Value == "" || v.From == fromDefault {
			continue
		}
		f, err := os.Open(secret.Path(v.Value))
		if err != nil {
			faults = append(faults, fmt.Sprintf("%s: --%s: %v, expected a file or folder that the user of hazardd can read", v.From, v.Setting, err))
			continue
		}
		_ = f.Close() // only read
	}
	return faults
}

type configCheckCmd struct{ serveFlags }

// Run explains the configuration, and fails if something in it is wrong.
func (k *configCheckCmd) Run(ctx *kong.Context, c *console, g *globals) error {
	conf := k.read(ctx, g)
	err := c.print(conf, conf.explain)
	if err != nil || len(conf.Faults) == 0 {
		return err
	}
	if len(conf.Faults) == 1 {
		return errors.New("1 fault in the configuration: " + conf.Faults[0])
	}
	return fmt.Errorf("%d faults in the configuration: %s", len(conf.Faults), strings.Join(conf.Faults, "; "))
}

// explain writes each setting with its value, where that is from, its default, and what it does.
func (conf *configuration) explain(w io.Writer) error {
	var b strings.Builder
	file := conf.File
	if file == "" {
		file = "none; hazardd config init writes one"
	}
	fmt.Fprintf(&b, "configuration file: %s\n", file)
	set := 0
	for _, v := range conf.Settings {
		if v.From != fromDefault {
			set++
		}
		from := "default"
		if v.From != fromDefault {
			from = fmt.Sprintf("from %s, default %s", v.From, orNone(v.Default))
		}
		fmt.Fprintf(&b, "\n%s: %s   (%s)\n", v.Setting, orNone(v.Value), from)
		for line := range strings.SplitSeq(wrap(v.Help, 92), "\n") {
			b.WriteString("    " + line + "\n")
		}
	}
	fmt.Fprintf(&b, "\n%d settings are set, %d have their defaults\n", set, len(conf.Settings)-set)
	for _, remark := range conf.Remarks {
		b.WriteString("note: " + remark + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

type configShowCmd struct{ serveFlags }

// Run prints the configuration as a file.
func (s *configShowCmd) Run(ctx *kong.Context, c *console, g *globals) error {
	conf := s.read(ctx, g)
	if err := c.print(conf, conf.yaml); err != nil {
		return err
	}
	if len(conf.Faults) > 0 {
		return errors.New("the configuration is wrong: " + strings.Join(conf.Faults, "; "))
	}
	return nil
}

// yaml writes the settings as a configuration file, without secrets. A setting without a value is a
// comment.
func (conf *configuration) yaml(w io.Writer) error {
	var b strings.Builder
	if conf.File != "" {
		fmt.Fprintf(&b, "# from %s, the environment and the defaults; secrets are hidden\n", conf.File)
	} else {
		b.WriteString("# from the environment and the defaults; secrets are hidden\n")
	}
	block := ""
	for _, v := range slices.SortedStableFunc(slices.Values(conf.Settings), func(a, b settingValue) int { return strings.Compare(a.Block, b.Block) }) {
		if v.Block != block {
			block = v.Block
			fmt.Fprintf(&b, "%s:\n", block)
		}
		indent := ""
		if block != "" {
			indent = "  "
		}
		line := yamlLine(v)
		if v.From != fromDefault {
			line += " # " + v.From
		}
		b.WriteString(indent + line + "\n")
	}
	for _, name := range secretVariables {
		if os.Getenv(name) != "" {
			fmt.Fprintf(&b, "# $%s is set\n", name)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// plainYAML is text that means itself in YAML, without quotes.
var plainYAML = regexp.MustCompile(`^[A-Za-z0-9./_][A-Za-z0-9./_+-]*(:[A-Za-z0-9./_+-]+)*$`)

func yamlLine(v settingValue) string {
	switch {
	case v.items != nil:
		quoted := make([]string, len(v.items))
		for i, item := range v.items {
			quoted[i] = strconv.Quote(item)
		}
		return v.Setting + ": [" + strings.Join(quoted, ", ") + "]"
	case v.Value == "":
		return "#" + v.Setting + ":"
	case plainYAML.MatchString(v.Value):
		return v.Setting + ": " + v.Value
	}
	return v.Setting + ": " + strconv.Quote(v.Value)
}
