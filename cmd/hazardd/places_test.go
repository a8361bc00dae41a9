package main

import (
	"strings"
	"testing"
)

// Places in the south and the west begin with a hyphen, which is not that of a flag.
func TestPlacesMayBeginWithAHyphen(t *testing.T) {
	for _, line := range []string{
		"report Flood --type FLOOD --severity WATCH --at -1.5,40 --user a",
		"report Flood --type FLOOD --severity WATCH --at=-1.5,40 --user a",
		"subscription add email a@example.org --point -9.97,-53.55,20,town --user a",
		"export --near -9.9,3 --radius 1000",
		"export --bbox -10,-5,10,5",
		"watch --bbox -10,-5,10,5 --user a",
		"coverage -9.9,-3",
		"coverage --json -9.9,-3",
	} {
		cli := &commandLine{}
		_, err := parse(cli, strings.Fields(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if at := cli.Report.At; strings.HasPrefix(line, "report") && (at == nil || at.lat != -1.5 || at.lon != 40) {
			t.Errorf("%s: position %+v", line, at)
		}
	}
}
