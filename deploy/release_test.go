package deploy_test

import (
	"archive/zip"
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/nginx"
)

// execute runs a command in a folder, and returns what it prints.
func execute(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), "SOURCE_DATE_EPOCH=1790000000")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// modules returns the files of the package in a wheel, and their checksums.
func modules(t *testing.T, wheel string) map[string]uint32 {
	t.Helper()
	z, err := zip.OpenReader(wheel)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := map[string]uint32{}
	for _, f := range z.File {
		if strings.HasPrefix(f.Name, "hazardd/") {
			files[f.Name] = f.CRC32
		}
	}
	return files
}

// pip and npm install the clients of a release from its files alone, and programs import them. Two
// runs give the same bytes.
func TestTheClientsOfARelease(t *testing.T) {
	test.Seldom(t)
	const wheel, archive = "hazardd-0.1.0-py3-none-any.whl", "hazardd-0.1.0.tgz"
	dir, again := t.TempDir(), t.TempDir()
	for _, folder := range []string{dir, again} {
		execute(t, nginx.Root(t), "go", "run", "./deploy/clients", "0.1.0", folder)
	}
	for _, name := range []string{wheel, archive} {
		one, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if two, err := os.ReadFile(filepath.Join(again, name)); err != nil || !bytes.Equal(one, two) {
			t.Errorf("%s differs between two runs: %v", name, err)
		}
	}
	t.Run("pip", func(t *testing.T) {
		const python = "/usr/bin/python3" // Debian's, for which it has a package of pip
		if err := exec.CommandContext(t.Context(), python, "-c", "import setuptools, wheel, pip").Run(); err != nil {
			t.Skip("python3-pip and python3-wheel are not installed")
		}
		if err := os.CopyFS(filepath.Join(dir, "python"), os.DirFS("../clients/python")); err != nil { // pip writes into it
			t.Fatal(err)
		}
		execute(t, dir, python, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", "pip", "./python")
		if ours, pips := modules(t, filepath.Join(dir, wheel)), modules(t, filepath.Join(dir, "pip", wheel)); len(ours) == 0 || !maps.Equal(ours, pips) {
			t.Errorf("our wheel has the modules %v, and that of pip by pyproject.toml %v", slices.Sorted(maps.Keys(ours)), slices.Sorted(maps.Keys(pips)))
		}
		execute(t, dir, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--root-user-action=ignore", "--target", "installed", wheel)
		got := execute(t, filepath.Join(dir, "installed"), python, "-c", "import hazardd, importlib.metadata as m; hazardd.Client('http://127.0.0.1'); d = m.metadata('hazardd'); print(d['Version'], d['License'], d['Requires-Python'], len(d.get_all('Classifier')), hazardd.__file__)")
		if !strings.HasPrefix(got, "0.1.0 Apache-2.0 >=3.11 3 ") || !strings.Contains(got, "/installed/") {
			t.Error(got)
		}
	})
	t.Run("npm", func(t *testing.T) {
		if _, err := exec.LookPath("npm"); err != nil {
			t.Skip("npm is not installed")
		}
		if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private": true, "type": "module"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		execute(t, dir, "npm", "install", "--offline", "--no-audit", "--no-fund", "./"+archive)
		got := execute(t, dir, "node", "--input-type=module", "-e", `import { Client } from "hazardd"; import p from "hazardd/package.json" with { type: "json" }; new Client("http://127.0.0.1"); console.log(p.version, p.license)`)
		if strings.TrimSpace(got) != "0.1.0 Apache-2.0" {
			t.Error(got)
		}
	})
}

// A release has the files that its checksums name, and the archive of docs/install.md runs.
func TestTheFilesOfARelease(t *testing.T) {
	test.Slow(t)
	root := nginx.Root(t)
	if _, err := os.Stat(filepath.Join(root, "web/dist/index.html")); err != nil {
		t.Skip("the map is not built: make web")
	}
	dir, key := t.TempDir(), filepath.Join(t.TempDir(), "key")
	execute(t, dir, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	t.Setenv("RELEASE_KEY", key)
	execute(t, root, "deploy/release.sh", "0.1.0", dir, "linux/amd64")
	execute(t, dir, "bash", "-euc", `ssh-keygen -Y verify -f <(echo "hazardd $(cat "$0.pub")") -I hazardd -n hazardd -s SHA256SUMS.sig <SHA256SUMS`, key)
	checked := execute(t, dir, "sha256sum", "-c", "SHA256SUMS")
	for _, name := range []string{"hazardd_0.1.0_linux_amd64.tar.gz", "hazardd_0.1.0_source.tar.gz", "hazardd_0.1.0_amd64.deb", "hazardd-0.1.0-1.x86_64.rpm", "hazardd-0.1.0-py3-none-any.whl", "hazardd-0.1.0.tgz"} {
		if !strings.Contains(checked, name+": OK") {
			t.Errorf("no checksum of %s in\n%s", name, checked)
		}
	}
	for _, e := range examples(t, "docs/install.md") {
		if strings.HasPrefix(e.text, "tar ") {
			execute(t, dir, "bash", "-euc", e.text)
		}
	}
	if got := execute(t, dir, "hazardd_0.1.0_linux_amd64/hazardd", "--version"); !strings.Contains(got, "0.1.0") {
		t.Error(got)
	}
}
