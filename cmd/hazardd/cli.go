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

// commandLine defines all commands and flags.
type commandLine struct {
	globals
	Serve        serveCmd        `cmd:"" help:"Run the service."`
	User         userCmd         `cmd:"" help:"Manage users."`
	Account      accountCmd      `cmd:"" help:"Manage your account on a running server: your password and your sessions."`
	Audit        auditCmd        `cmd:"" help:"Read the audit trail: who did what, from where, and whether it was allowed."`
	Keys         keysCmd         `cmd:"" help:"Manage the keys that sign tokens."`
	Org          orgCmd          `cmd:"" help:"Manage organizations."`
	Assets       assetsCmd       `cmd:"" help:"Manage the assets of organizations: schools, hospitals, offices."`
	Population   populationCmd   `cmd:"" help:"Manage finer population data than the built-in: load, show or remove a raster."`
	Basemap      basemapCmd      `cmd:"" help:"Make the archive of streets that the map shows."`
	Exercise     exerciseCmd     `cmd:"" help:"Play a drill on a running server: hazards of category EXERCISE on a timeline."`
	Watch        watchCmd        `cmd:"" help:"Watch the hazards of a running server: a table that stays up to date."`
	MCP          mcpCmd          `cmd:"" name:"mcp" help:"Let an assistant read hazards over standard input and output (Model Context Protocol)."`
	Report       reportCmd       `cmd:"" help:"Report a hazard on a running server."`
	Correct      correctCmd      `cmd:"" help:"Change a hazard on a running server."`
	End          endCmd          `cmd:"" help:"End a hazard on a running server, or take back a false alarm."`
	Merge        mergeCmd        `cmd:"" help:"Merge a hazard into another on a running server."`
	Undo         undoCmd         `cmd:"" help:"Take back an end, a retraction, a merge or a split."`
	Draft        draftCmd        `cmd:"" help:"Decide about drafts of other editors: approve or refuse them."`
	Webhook      webhookCmd      `cmd:"" help:"Manage webhooks of a running server."`
	Subscription subscriptionCmd `cmd:"" help:"Manage subscriptions to hazards on a running server."`
	Notify       notifyCmd       `cmd:"" help:"Show the state of notifications, and test the channels."`
	Demo         demoCmd         `cmd:"" help:"Serve a temporary store with a drill in it, to look around; it needs no network."`
	Import       importCmd       `cmd:"" help:"Import saved payloads through the same code as polling."`
	Replay       replayCmd       `cmd:"" help:"Repeat past decisions from the evidence, and compare the results."`
	Export       exportCmd       `cmd:"" help:"Write hazards to a file: for maps, tables, globes, feeds and alerting systems."`
	Backup       backupCmd       `cmd:"" help:"Write a whole store to one file. A server may be running."`
	Check        checkCmd        `cmd:"" help:"Verify a whole store and list the damage. A server may be running."`
	Size         sizeCmd         `cmd:"" help:"Show the size of each part of a store."`
	Prune        pruneCmd        `cmd:"" help:"Move old states of ended hazards, and old rows of the audit trail, to an archive. A server may be running."`
	Redact       redactCmd       `cmd:"" help:"Remove texts and files of hazards for good, from every place. A server may be running."`
	Restore      restoreCmd      `cmd:"" help:"Fill an empty store with a backup."`
	Migrate      migrateCmd      `cmd:"" help:"Move a store to another database. Clients continue where they were."`
	Source       sourceCmd       `cmd:"" help:"Manage sources: states, polls, errors and held reports."`
	Why          whyCmd          `cmd:"" help:"Show why a record of a source is shown, or not."`
	Coverage     coverageCmd     `cmd:"" help:"Show who issues warnings for a place, and whether those sources are polled."`
	Settings     configCmd       `cmd:"" name:"config" help:"Write, check and show the configuration of this installation."`
	Ready        readyCmd        `cmd:"" help:"Ask a server whether it is ready: status 0 if it is."`
	Token        tokenCmd        `cmd:"" help:"Print an access token for a user."`
	Version      versionCmd      `cmd:"" help:"Print the version of this program."`
	Help         helpCmd         `cmd:"" help:"Find help: a command, a setting, or a word; settings lists all settings."`

	Completion completionCmd `cmd:"" help:"Print a script that completes commands and flags in a shell: bash, zsh or fish."`

	Man manCmd `cmd:"" hidden:"" help:"Print the manual page."`

	ShowVersion kong.VersionFlag `name:"version" short:"V" help:"Print the version of this program."`
}

// defaultData is the default data folder.
const defaultData = "./data"

// globals are the flags that all commands share.
type globals struct {
	Data     string `default:"${data}" placeholder:"DIR" help:"Folder of the database and the product files."`
	Database string `placeholder:"URL" help:"Database to use instead of the file in the data folder: sqlite:PATH."`
	Files    string `placeholder:"URL" help:"Bucket for the product files, instead of the data folder: s3://BUCKET/PREFIX?endpoint=https://HOST&region=NAME. Its keys: HAZARDD_S3_ACCESS_KEY, HAZARDD_S3_SECRET_KEY."`
	Config   string `placeholder:"FILE" help:"Configuration file, in YAML. Default: ./hazardd.yaml or else /etc/hazardd/hazardd.yaml, if one exists."`
	JSON     bool   `name:"json" help:"Print results as JSON, and errors as {\"error\": …}."`
}

// parse reads args, the environment and the configuration file into cli.
func parse(cli *commandLine, args []string) (*kong.Context, error) {
	return parseWith(cli, args, &configFile{})
}

// parseWith is parse with a configuration file that the caller reads afterwards.
func parseWith(cli *commandLine, args []string, file *configFile) (*kong.Context, error) {
	forgetEmptyVariables()
	parser, err := grammar(cli, kong.WithBeforeResolve(file.load))
	if err != nil {
		return nil, err // a mistake in our own grammar: any test finds it
	}
	if err := misspelled(os.Environ(), parser.Model); err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(keepPlaces(args, valueFlags(parser.Model.Node)))
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
	if advice := advise(err, &cli.globals); advice != "" {
		return nil, fmt.Errorf("%w: %s", file.blame(err), advice)
	}
	return nil, fmt.Errorf("%w; see %s --help", file.blame(err), command)
}

// grammar builds the parser that fills cli.
func grammar(cli *commandLine, more ...kong.Option) (*kong.Kong, error) {
	return kong.New(cli, append(more,
		kong.Name("hazardd"),
		kong.Description("A hazard data service."),
		kong.Vars{"data": defaultData, "formats": strings.Join(exportFormats(), ", "), "version": about().String()},
		kong.NamedMapper("path", kong.MapperFunc(decodePath)),
		kong.PostBuild(fillDefaults),
		kong.PostBuild(nameVariables),
		kong.PostBuild(groupSettings),
		kong.Help(help),
		kong.ValueFormatter(describe),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)...)
}

const variablePrefix = "HAZARDD_"

// fillDefaults gives each setting that has ${NAME} as its default the value of that name. As
// variables of kong they would be looked for again for each flag of each command, which took a fifth
// of the time in which a command runs.
func fillDefaults(k *kong.Kong) error {
	values := map[string]string{}
	for name, value := range defaults() {
		values["${"+name+"}"] = value
	}
	return kong.Visit(k.Model.Node, func(v kong.Visitable, next kong.Next) error {
		if node, ok := v.(*kong.Node); ok {
			for _, f := range node.Flags {
				if value, ok := values[f.Default]; ok {
					f.Default = value
				}
			}
		}
		return next(nil)
	})
}

// nameVariables gives each flag its environment variable. Flags of serve and flags of all commands
// are settings of the installation: their variable is HAZARDD_ and the flag's name, also where
// another command has the same flag. For other flags the command's name comes between.
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
			if f.Name == "help" || f.Name == "help-all" || f.Name == "version" {
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

// forgetEmptyVariables unsets empty variables, because programs that start hazardd often cannot
// omit a variable.
func forgetEmptyVariables() {
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); value == "" && strings.HasPrefix(name, variablePrefix) {
			_ = os.Unsetenv(name) // fails only for invalid names
		}
	}
}

// wantsJSON reports whether --json is among args. It also works on arguments that cannot be parsed.
func wantsJSON(args []string) bool {
	on, _ := strconv.ParseBool(os.Getenv(variablePrefix + "JSON"))
	return on || slices.Contains(args, "--json")
}

// wantsLogsInJSON does the same for the log of serve.
func (c *commandLine) wantsLogsInJSON(args []string) bool {
	i := slices.Index(args, "--log-format") + 1
	return slices.Contains(args, "serve") && (c.Serve.LogFormat == "json" || os.Getenv(variablePrefix+"LOG_FORMAT") == "json" ||
		slices.Contains(args, "--log-format=json") || i > 0 && i < len(args) && args[i] == "json")
}
