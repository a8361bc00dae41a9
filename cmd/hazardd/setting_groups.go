package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// settingGroup is a group of the settings of serve. Help lists settings by group. In the
// configuration file the rare ones are in a block with the key of the group.
type settingGroup struct {
	key    string
	title  string
	common string // names of flags in the short help, separated by blanks
	rare   string // names of the others
}

// settingGroups returns the groups, in the order of help and of the configuration file. Flags that
// all commands share are in a group here too.
func settingGroups() []settingGroup {
	return []settingGroup{
		{"storage", "Storage and backup", "data database files backup-to",
			"backup-keep archive keep-history keep-audit audit-to evidence-age evidence-size picture-size"},
		{"server", "Address and TLS", "listen public-url tls-cert tls-key acme-host trusted-proxies",
			"http-listen acme-email acme-directory acme-root allowed-origins security-contact drain grace sendfile app-id"},
		{"feeds", "Sources", "sources contact cap",
			"mirror areas proxy-url response push private-sources exposure"},
		{"readers", "Readers", "public basemap languages",
			"layers embed-sites public-rate public-requests public-streams"},
		{"accounts", "Logins", "oidc-issuer",
			"oidc-client-id oidc-secret-file oidc-groups oidc-groups-claim oidc-name-claim oidc-audience oidc-scopes oidc-title oidc-life access-life refresh-life require-factor"},
		{"editing", "Editors and CAP", "approve-warnings",
			"approve-people cap-key cap-certificate wis2 wis2-password-file wis2-topic wis2-dataset"},
		{"messages", "Messages to subscribers", "smtp smtp-from webpush",
			"smtp-password-file webpush-key address-key channels channel-rate address-rate storm confirmations webhook-allow"},
		{"limits", "Limits", "",
			"max-file org-uploads user-streams all-streams connections address-connections user-requests all-requests user-rate user-uploads webhook-tests"},
		{"logging", "Log", "log-level log-format", ""},
	}
}

// setting is one setting of serve.
type setting struct {
	flag  *kong.Flag
	group settingGroup
	rare  bool
}

// settings returns the settings of serve in the order of settingGroups.
func settings(app *kong.Application) []setting {
	flags := map[string]*kong.Flag{}
	for _, f := range slices.Concat(app.Flags, serveNode(app).Flags) {
		flags[f.Name] = f
	}
	var all []setting
	for _, g := range settingGroups() {
		for _, names := range []string{g.common, g.rare} {
			for name := range strings.FieldsSeq(names) {
				if f := flags[name]; f != nil { // a test checks that each of them is there
					all = append(all, setting{flag: f, group: g, rare: names == g.rare})
				}
			}
		}
	}
	return all
}

func serveNode(app *kong.Application) *kong.Node {
	return childNamed(app.Node, "serve")
}

// groupSettings groups the flags of serve for its help, and hides the rare ones there.
func groupSettings(k *kong.Kong) error {
	order := map[string]int{}
	global := map[*kong.Flag]bool{}
	for _, f := range k.Model.Flags {
		global[f] = true
	}
	for i, s := range settings(k.Model) {
		if global[s.flag] { // its help is shown with every command
			continue
		}
		order[s.flag.Name] = i + 1
		s.flag.Group = &kong.Group{Key: s.group.key, Title: s.group.title + ":"}
		s.flag.Hidden = s.rare
	}
	slices.SortStableFunc(serveNode(k.Model).Flags, func(a, b *kong.Flag) int { return order[a.Name] - order[b.Name] })
	return nil
}

// helpAll is the flag --help-all: it prints the help of a command with all flags.
type helpAll bool

// BeforeReset prints the help and ends the program, as --help does.
func (helpAll) BeforeReset(ctx *kong.Context) error {
	for _, f := range ctx.Selected().Flags {
		f.Hidden = false
	}
	if err := ctx.PrintUsage(false); err != nil {
		return err
	}
	ctx.Exit(0)
	return nil
}
