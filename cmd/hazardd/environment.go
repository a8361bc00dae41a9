package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/hazardd/hazardd/internal/suggest"
)

// secretVariables are the variables that are no flags: a command line can be read by other users of the machine.
var secretVariables = []string{"HAZARDD_S3_ACCESS_KEY", "HAZARDD_S3_ACCESS_KEY_FILE", "HAZARDD_S3_SECRET_KEY", "HAZARDD_S3_SECRET_KEY_FILE",
	"HAZARDD_MCP_PASSWORD", "HAZARDD_MCP_PASSWORD_FILE", "HAZARDD_MCP_TOKEN", "HAZARDD_MCP_TOKEN_FILE"}

// misspelled is an error if a variable of the environment is not a setting, but is almost the name of one. Other unknown variables
// are let be: container platforms make HAZARDD_SERVICE_HOST and HAZARDD_PORT of the name of a service.
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
		// A short word is another word sooner than a misspelled one.
		if best, apart := suggest.Closest(name, slices.Collect(maps.Keys(known))); best != "" && 3*apart <= len(word) {
			return fmt.Errorf("the environment variable %s is not a setting, did you mean %s?", name, best)
		}
	}
	return nil
}
