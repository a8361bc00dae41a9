package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// commandLine is everything that can be said on the command line.
type commandLine struct {
	globals
	Serve        serveCmd        `cmd:"" help:"Run the service."`
	User         userCmd         `cmd:"" help:"Manage who may log in."`
	Account      accountCmd      `cmd:"" help:"Your account on a running server: your password and your sessions."`
	Audit        auditCmd        `cmd:"" help:"Read the audit trail: who did what, from where, and whether it was allowed."`
	Keys         keysCmd         `cmd:"" help:"Manage the keys that sign tokens."`
	Org          orgCmd          `cmd:"" help:"Manage organizations."`
	Assets       assetsCmd       `cmd:"" help:"Manage the places that organizations keep an eye on: schools, hospitals, offices."`
	Population   populationCmd   `cmd:"" help:"Count people by finer data than the built-in ones: load, show or remove a raster."`
	Exercise     exerciseCmd     `cmd:"" help:"Play a drill on a running server: hazards of category EXERCISE on a timeline."`
	Watch        watchCmd        `cmd:"" help:"Watch the hazards of a running server: a table that stays up to date."`
	MCP          mcpCmd          `cmd:"" name:"mcp" help:"Let an assistant read hazards over standard input and output (Model Context Protocol)."`
	Draft        draftCmd        `cmd:"" help:"Decide about what editors have drafted: approve it, as the second person, or refuse it."`
	Webhook      webhookCmd      `cmd:"" help:"Manage webhooks of a running server."`
	Subscription subscriptionCmd `cmd:"" help:"Manage who is told about hazards by a running server."`
	Notify       notifyCmd       `cmd:"" help:"See whether subscribers are told, and test the ways to them."`
	Demo         demoCmd         `cmd:"" help:"Serve a throw-away store with a drill in it, to look around; it needs no network."`
	Import       importCmd       `cmd:"" help:"Take in payloads of a source from files, by the code that takes them in when polled."`
	Replay       replayCmd       `cmd:"" help:"Make past decisions again from the evidence, and say whether they come out the same."`
	Export       exportCmd       `cmd:"" help:"Write hazards to a file: for maps, tables, globes, feeds and alerting systems."`
	Backup       backupCmd       `cmd:"" help:"Write all that a store holds to one file, while a server may be running."`
	Check        checkCmd        `cmd:"" help:"Read a whole store, while a server may be running, and list what is not as it was written."`
	Size         sizeCmd         `cmd:"" help:"Show how much room each part of a store takes."`
	Prune        pruneCmd        `cmd:"" help:"Move old states of hazards that are over, and old rows of the audit trail, to an archive, while a server may be running."`
	Restore      restoreCmd      `cmd:"" help:"Fill an empty store with a backup."`
	Migrate      migrateCmd      `cmd:"" help:"Move a store to another database: the same history, so that clients go on where they were."`
	Source       sourceCmd       `cmd:"" help:"Look after the sources."`
	Coverage     coverageCmd     `cmd:"" help:"Show whose silence an empty answer about a place repeats: who warns there, and whether they are read."`
	Ready        readyCmd        `cmd:"" help:"Ask a server whether it is ready: status 0 if it is."`
	Token        tokenCmd        `cmd:"" help:"Print an access token for a user."`
	Version      versionCmd      `cmd:"" help:"Print the version of this program."`
	Help         helpCmd         `cmd:"" help:"Print the help of the program, or of a command."`

	Completion completionCmd `cmd:"" help:"Print a script that completes commands and flags in a shell: bash, zsh or fish."`

	Man manCmd `cmd:"" hidden:"" help:"Print the manual page."`

	ShowVersion kong.VersionFlag `name:"version" short:"V" help:"Print the version of this program."`
}

// defaultData is the data folder if none is named.
const defaultData = "./data"

// globals are the flags of all commands.
type globals struct {
	Data     string `default:"${data}" placeholder:"DIR" help:"Folder of the database and the product files."`
	Database string `placeholder:"URL" help:"Database in place of the file in the data folder: sqlite:PATH."`
	Files    string `placeholder:"URL" help:"Bucket for the product files in place of the data folder: s3://BUCKET/PREFIX?endpoint=https://HOST&region=NAME. Its keys: HAZARDD_S3_ACCESS_KEY, HAZARDD_S3_SECRET_KEY."`
	Config   string `placeholder:"FILE" help:"Configuration file, YAML; if not given, ./hazardd.yaml or else /etc/hazardd/hazardd.yaml, if there is one."`
	JSON     bool   `name:"json" help:"Print results as JSON, and errors as {\"error\": …}."`
}

// parse reads args, the environment and the configuration file into cli.
func parse(cli *commandLine, args []string) (*kong.Context, error) {
	forgetEmptyVariables()
	file := &configFile{}
	parser, err := grammar(cli, kong.WithBeforeResolve(file.load))
	if err != nil {
		return nil, err // a fault in our own grammar: any test finds it
	}
	if err := misspelled(os.Environ(), parser.Model); err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(keepPlaces(args))
	if err == nil {
		return parsed, nil
	}
	bad, ok := errors.AsType[*kong.ParseError](err)
	if !ok {
		return nil, err
	}
	command := "hazardd"
	if node := bad.Context.Selected(); node != nil {
		command = node.FullPath()
	}
	return nil, fmt.Errorf("%w; see %s --help", file.blame(err), command)
}

// grammar is what can be said, filled into cli.
func grammar(cli *commandLine, more ...kong.Option) (*kong.Kong, error) {
	return kong.New(cli, append(more,
		kong.Name("hazardd"),
		kong.Description("A hazard data service."),
		kong.Vars{"data": defaultData, "formats": strings.Join(exportFormats(), ", "), "version": about().String()},
		kong.PostBuild(nameVariables),
		kong.Help(help),
		kong.ValueFormatter(describe),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)...)
}

const variablePrefix = "HAZARDD_"

// nameVariables gives each flag its environment variable: HAZARDD_ and the flag's name for the flags of all commands and of serve,
// which are the settings of an installation, also where other commands need them; HAZARDD_, the command and the flag's name
// for the others.
func nameVariables(k *kong.Kong) error {
	settings := map[string]bool{}
	for _, node := range append(k.Model.Children, k.Model.Node) {
		if node == k.Model.Node || node.Name == "serve" {
			for _, f := range node.Flags {
				settings[f.Name] = true
			}
		}
	}
	return kong.Visit(k.Model.Node, func(v kong.Visitable, next kong.Next) error {
		node, ok := v.(*kong.Node)
		if !ok {
			return next(nil)
		}
		for _, f := range node.Flags {
			if f.Name == "help" || f.Name == "version" {
				continue
			}
			name := f.Name
			if !settings[name] {
				name = node.Path() + " " + name
			}
			f.Tag.Envs = []string{variablePrefix + strings.ToUpper(strings.NewReplacer("-", "_", " ", "_").Replace(name))}
		}
		return next(nil)
	})
}

// forgetEmptyVariables makes an empty variable the same as none: what starts programs often cannot leave one out.
func forgetEmptyVariables() {
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); value == "" && strings.HasPrefix(name, variablePrefix) {
			_ = os.Unsetenv(name) // fails only for names that cannot be
		}
	}
}

// wantsJSON tells whether --json was asked for, as far as can be told when the arguments cannot be read.
func wantsJSON(args []string) bool {
	on, _ := strconv.ParseBool(os.Getenv(variablePrefix + "JSON"))
	return on || slices.Contains(args, "--json")
}
