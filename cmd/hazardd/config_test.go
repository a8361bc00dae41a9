package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

func TestAFlagOutranksAVariableThatTheFileThatTheDefault(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		env  map[string]string
		file string
		want string // --listen
	}{
		"default":                        {want: "127.0.0.1:8080"},
		"file":                           {file: "listen: f:1", want: "f:1"},
		"variable":                       {env: map[string]string{"HAZARDD_LISTEN": "e:1"}, want: "e:1"},
		"variable over file":             {env: map[string]string{"HAZARDD_LISTEN": "e:1"}, file: "listen: f:1", want: "e:1"},
		"an empty variable is none":      {env: map[string]string{"HAZARDD_LISTEN": ""}, file: "listen: f:1", want: "f:1"},
		"flag":                           {args: []string{"--listen=a:1"}, want: "a:1"},
		"flag over variable and file":    {args: []string{"--listen=a:1"}, env: map[string]string{"HAZARDD_LISTEN": "e:1"}, file: "listen: f:1", want: "a:1"},
		"flag over wrong value in file":  {args: []string{"--listen=a:1"}, file: "listen: nonsense", want: "a:1"},
		"a file of comments":             {file: "# listen: f:1\n\n", want: "127.0.0.1:8080"},
		"a value by an alias":            {file: "public-url: &here http://h\nlisten: f:1", want: "f:1"},
		"a flag of another command":      {file: "import-source: usgs\nlisten: f:1", want: "f:1"},
		"the last flag wins over others": {args: []string{"--listen=a:1", "--listen=a:2"}, want: "a:2"},
	} {
		t.Run(name, func(t *testing.T) {
			cli, err := parseIn(t, tt.file, tt.env, append([]string{"serve"}, tt.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(cli.Serve.Listen); got != tt.want {
				t.Errorf("--listen is %q, want %q", got, tt.want)
			}
		})
	}
}

// parseIn parses a command line in a separate folder, with that text in hazardd.yaml and with
// variables.
func parseIn(t *testing.T, file string, env map[string]string, args ...string) (*commandLine, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if file != "" {
		if err := os.WriteFile("hazardd.yaml", []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for k, v := range env {
		t.Setenv(k, v)
	}
	cli := &commandLine{}
	_, err := parse(cli, args)
	return cli, err
}

func TestEverySettingCanStandInTheFile(t *testing.T) {
	cli, err := parseIn(t, `
data: /var/lib/hazardd
database: sqlite:/var/lib/x.db
json: yes
listen: 0.0.0.0:80
public-url: https://hazards.example.org/
access-life: 30m
refresh-life: 7d
sources: [usgs, nws]
contact: ops@example.org
proxy-url: http://proxy:3128
app-id: 7
max-file: 1 MiB
allowed-origins:
  - https://a.example.org
  - https://b.example.org
trusted-proxies: 10.0.0.0/8, ::1
grace: 5s
log-level: debug
log-format: json
`, nil, "serve")
	if err != nil {
		t.Fatal(err)
	}
	s := &cli.Serve
	for name, ok := range map[string]bool{
		"data": cli.Data == "/var/lib/hazardd", "database": cli.Database == "sqlite:/var/lib/x.db", "json": cli.JSON,
		"listen": s.Listen == "0.0.0.0:80", "public-url": s.PublicURL == "https://hazards.example.org",
		"access-life": time.Duration(s.AccessLife) == 30*time.Minute, "refresh-life": time.Duration(s.RefreshLife) == 7*24*time.Hour,
		"sources": s.Sources == "usgs,nws", "contact": s.Contact == "ops@example.org",
		"proxy-url": s.ProxyURL == "http://proxy:3128", "app-id": s.AppID == 7, "max-file": s.MaxFile == 1<<20,
		"allowed-origins": slices.Equal(s.AllowedOrigins, []origin{"https://a.example.org", "https://b.example.org"}),
		"trusted-proxies": len(s.TrustedProxies) == 2, "grace": time.Duration(s.Grace) == 5*time.Second,
		"log-level": s.LogLevel.String() == "DEBUG", "log-format": s.LogFormat == "json",
	} {
		if !ok {
			t.Errorf("%s differs from the file: %+v", name, cli)
		}
	}
}

func TestAFaultyFileIsRefusedByName(t *testing.T) {
	for file, want := range map[string]string{
		"lisen: x":                      `hazardd.yaml:1: "lisen" is not a setting, did you mean listen?`,
		"\npublic_url: http://x":        `hazardd.yaml:2: "public_url" is not a setting, did you mean public-url?`,
		"config: other.yaml":            `"config" is not a setting`,
		"help: true":                    `"help" is not a setting`,
		"zzz: 1":                        `"zzz" is not a setting; hazardd help settings lists them`,
		"listen: a:1\nlisten: a:2":      "line 2: listen is already set in line 1",
		"listen: {host: a}":             "listen: expected a value or a list of values",
		"listen:":                       "listen: expected a value or a list of values",
		"sources: [[usgs]]":             "sources: expected a value or a list of values",
		"cap: {name: a}":                "cap: expected a value or a list of values",
		"cap:\n- name: a\n  url:":       "line 1: cap: url: expected a value or a list of values",
		"cap:\n- {name: a, ur: x}":      `hazardd.yaml:1: --cap: cap: "ur" is not a key, did you mean url?`,
		"cap:\n- {name: A, url: x}":     `name: "A", expected`,
		"- listen":                      `expected lines of the form "setting: value"`,
		"listen: [":                     "hazardd.yaml: ",
		"grace: soon":                   "hazardd.yaml:1: --grace:",
		"listen: a:1\n---\nlisten: b:1": "hazardd.yaml: ",
		"log-format: xml":               `--log-format must be one of "text","json"`,
	} {
		if _, err := parseIn(t, file, nil, "serve"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", file, err, want)
		}
	}
	big := "#" + strings.Repeat("x", maxConfig)
	if _, err := parseIn(t, big, nil, "serve"); err == nil || !strings.Contains(err.Error(), "the limit is") {
		t.Errorf("a file of %d bytes: error %v", len(big), err)
	}
}

func TestHelpNamesEveryVariable(t *testing.T) {
	help, err := exec.CommandContext(t.Context(), "hazardd", "help", "settings").Output()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parse(&commandLine{}, []string{"version"})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = kong.Visit(parsed.Model.Node, func(v kong.Visitable, next kong.Next) error {
		if node, ok := v.(*kong.Node); ok {
			for _, f := range node.Flags {
				if f.Name == "help" || f.Name == "help-all" || f.Name == "version" {
					continue
				}
				n++
				if len(f.Tag.Envs) != 1 || !strings.HasPrefix(f.Tag.Envs[0], "HAZARDD_") || !strings.Contains(string(help), " "+f.Tag.Envs[0]) {
					t.Errorf("%s --%s: variables %v; help must name one", node.Path(), f.Name, f.Tag.Envs)
				}
				if !strings.Contains(string(help), f.Default) {
					t.Errorf("%s --%s: help does not tell the default %s", node.Path(), f.Name, f.Default)
				}
			}
		}
		return next(nil)
	})
	if err != nil || n < 30 {
		t.Errorf("%d flags seen, error %v", n, err)
	}
}

func TestAVariableMeansOneThing(t *testing.T) {
	parsed, err := parse(&commandLine{}, []string{"version"})
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]string{}
	err = kong.Visit(parsed.Model.Node, func(v kong.Visitable, next kong.Next) error {
		if node, ok := v.(*kong.Node); ok {
			for _, f := range node.Flags {
				for _, env := range f.Tag.Envs {
					said := f.Target.Type().String() + f.Help
					if before, ok := types[env]; ok && before != said {
						t.Errorf("%s is %q and %q", env, before, said)
					}
					types[env] = said
				}
			}
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheConfigurationFileIsFoundWhereItIsLookedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "named.yaml")
	if err := os.WriteFile(path, []byte("listen: named:1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args []string
		env  map[string]string
	}{
		"by flag":     {args: []string{"serve", "--config", path}},
		"by variable": {args: []string{"serve"}, env: map[string]string{"HAZARDD_CONFIG": path}},
	} {
		t.Run(name, func(t *testing.T) {
			cli, err := parseIn(t, "listen: here:1", tt.env, tt.args...)
			if err != nil || cli.Serve.Listen != "named:1" {
				t.Errorf("listens on %s, error %v; want the named file's named:1", cli.Serve.Listen, err)
			}
		})
	}
}
