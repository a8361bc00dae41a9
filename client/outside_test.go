package client_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/hazardd/hazardd/internal/test"
)

// The client is for programs outside this module. Here such a program is built with the module from
// a proxy, as go get does.
func TestAProgramElsewhereBuildsOnTheModule(t *testing.T) {
	test.Seldom(t)
	const version = "v0.0.1"
	this := module.Version{Path: "github.com/hazardd/hazardd", Version: version}
	dir := t.TempDir()
	proxy := filepath.Join(dir, "proxy", this.Path, "@v")
	if err := os.MkdirAll(proxy, 0o755); err != nil {
		t.Fatal(err)
	}
	modFile, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	if err := zip.Create(&packed, this, packagesOfTheClient(t)); err != nil {
		t.Fatal(err)
	}
	const program = `package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/wire"
)

func main() {
	c, err := client.New("http://127.0.0.1:1", client.Options{Token: "none"})
	if err != nil {
		panic(err)
	}
	hazards, err := c.Active(context.Background())
	var problem *client.Problem
	fmt.Println(len(hazards.Items), err != nil, errors.As(err, &problem), wire.Hazard{}.TypeID)
}
`
	for path, text := range map[string]string{
		filepath.Join(proxy, "list"):             version + "\n",
		filepath.Join(proxy, version+".info"):    `{"Version":"` + version + `"}`,
		filepath.Join(proxy, version+".mod"):     string(modFile),
		filepath.Join(proxy, version+".zip"):     packed.String(),
		filepath.Join(dir, "program", "go.mod"):  "module example.org/program\n\ngo 1.26.0\n",
		filepath.Join(dir, "program", "main.go"): program,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// The client's dependencies are in the module cache, because this test was built with them.
	cache := strings.TrimSpace(goTool(t, ".", nil, "env", "GOMODCACHE"))
	env := []string{"GOPROXY=file://" + filepath.Join(dir, "proxy") + ",file://" + filepath.Join(cache, "cache", "download"),
		"GOMODCACHE=" + filepath.Join(dir, "modules"), "GOFLAGS=-modcacherw -mod=mod", "GONOSUMDB=*", "GOSUMDB=off", "GOWORK=off"}
	at := filepath.Join(dir, "program")
	goTool(t, at, env, "get", this.Path+"/client@latest")
	if said := goTool(t, at, env, "run", "."); said != "0 true false \n" {
		t.Errorf("the program said %q", said)
	}
}

// packagesOfTheClient returns the files of this module that a program with the client needs.
func packagesOfTheClient(t *testing.T) (files []zip.File) {
	t.Helper()
	list := goTool(t, ".", nil, "list", "-deps", "-f", `{{if and .Module .Module.Main}}{{.Dir}}{{end}}`, ".")
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{filepath.Join(root, "go.mod"), filepath.Join(root, "LICENSE")}
	for _, folder := range strings.Fields(list) {
		found, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	for _, name := range names {
		rel, err := filepath.Rel(root, name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, packedFile{name, filepath.ToSlash(rel)})
	}
	return files
}

// packedFile is a file on disk with its name in the module.
type packedFile struct{ path, name string }

func (f packedFile) Path() string                 { return f.name }
func (f packedFile) Lstat() (os.FileInfo, error)  { return os.Lstat(f.path) }
func (f packedFile) Open() (io.ReadCloser, error) { return os.Open(f.path) }

// goTool runs the go command in a folder, and returns its output.
func goTool(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, complaint.String())
	}
	return string(out)
}
