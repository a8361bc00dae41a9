package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/hazardd/hazardd/internal/hazard/query"
)

// secretVariables have no flag, because other users of the machine can read a command line.
var secretVariables = []string{"HAZARDD_S3_ACCESS_KEY", "HAZARDD_S3_ACCESS_KEY_FILE", "HAZARDD_S3_SECRET_KEY", "HAZARDD_S3_SECRET_KEY_FILE",
	"HAZARDD_MCP_PASSWORD", "HAZARDD_MCP_PASSWORD_FILE", "HAZARDD_MCP_TOKEN", "HAZARDD_MCP_TOKEN_FILE"}

// misspelled returns an error if an environment variable is almost, but not exactly, the name of a
// setting. It ignores other unknown variables: container platforms derive HAZARDD_SERVICE_HOST and
// HAZARDD_PORT from the name of a service.
func misspelled(environment []string, app *kong.Application) error {
	known := map[string]bool{}
	for _, name := range secretVariables {
		known[name] = true
	}
	err := kong.Visit(app.Node, func(v kong.Visitable, next kong.Next) error {
		if node, ok := v.(*kong.Node); ok {
			for _, f := range node.Flags {
				for _, env := range f.Tag.Envs {
					known[env] = true
				}
			}
		}
		return next(nil)
	})
	if err != nil {
		return err
	}
	slices.Sort(environment)
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		word, ours := strings.CutPrefix(strings.ToUpper(name), variablePrefix)
		if !ours || known[name] {
			continue
		}
		// A short unknown name is more likely another word than a typo.
		if best, apart := query.ClosestWord(name, slices.Collect(maps.Keys(known))); best != "" && 3*apart <= len(word) {
			return fmt.Errorf("the environment variable %s is not a setting, did you mean %s?", name, best)
		}
	}
	return nil
}
