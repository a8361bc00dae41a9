package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/hazardd/hazardd/internal/store"
)

// version is set by make at build time (-ldflags -X), commit by deploy/release.sh.
var version, commit string

type versionCmd struct{}

// Run prints the release, the commit and the schema of the store.
func (*versionCmd) Run(c *console) error {
	v := about()
	return c.print(v, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, v)
		return err
	})
}

type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitzero"`
	Schema  int    `json:"schema"` // the newest schema that this program knows
	Go      string `json:"go"`
}

func (v versionInfo) String() string {
	return fmt.Sprintf("hazardd %s (%s, schema %d, %s)", v.Version, cmp.Or(v.Commit, "commit unknown"), v.Schema, v.Go)
}

// about describes this program, from what make set or else from Go's build information.
func about() versionInfo {
	v := versionInfo{Version: version, Commit: commit, Schema: store.Schema(), Go: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	if noted := info.Main.Version; noted != "(devel)" {
		v.Version = cmp.Or(v.Version, noted)
	}
	v.Version = cmp.Or(v.Version, "dev")
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v.Commit = cmp.Or(commit, s.Value[:min(len(s.Value), 12)])
		case s.Key == "vcs.modified" && s.Value == "true":
			v.Commit += "+changes"
		}
	}
	return v
}
