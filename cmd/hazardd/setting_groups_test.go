package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/hazardd/hazardd/docs"
)

// samples are values of settings that take no text such as x.
var samples = map[string]string{
	"listen": "127.0.0.1:81", "public-url": "https://h.example.org", "acme-host": "h.example.org", "acme-directory": "https://ca.example.org", "http-listen": ":80",
	"access-life": "2h", "refresh-life": "9d", "require-factor": "editor,admin", "oidc-issuer": "https://login.example.org", "oidc-groups": "ops=admin", "oidc-life": "3h",
	"cap": "name=c url=https://c.example.org/cap.xml", "sources": "none", "proxy-url": "http://proxy:3128", "picture-size": "1MiB", "evidence-age": "2d", "evidence-size": "1MiB",
	"keep-history": "60d", "keep-audit": "60d", "backup-keep": "80h", "app-id": "7", "languages": "de,en", "max-file": "1MiB", "org-uploads": "1MiB", "allowed-origins": "https://a.example.org",
	"trusted-proxies": "10.0.0.0/8", "public": "read", "layers": "name=radar url=/radar/{z}/{x}/{y}.png attribution=DWD", "embed-sites": "https://a.example.org", "security-contact": "mailto:s@example.org", "webhook-allow": "10.0.0.0/8",
	"drain": "5s", "grace": "6s", "webpush": "mailto:s@example.org", "log-level": "warn", "log-format": "json",
}

// sample returns a value that the flag accepts.
func sample(t *testing.T, f *kong.Flag) string {
	t.Helper()
	switch value := samples[f.Name]; {
	case f.Name == "areas":
		dir := t.TempDir()
		area := `{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"code": "1"}, "geometry": {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}}]}`
		if err := os.WriteFile(filepath.Join(dir, "X.geojson"), []byte(area), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	case f.Name == "mirror":
		file := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		return "name=m url=https://m.example.org user=u password-file=" + file
	case value != "":
		return value
	case f.IsBool():
		return "true"
	case f.Target.CanInt():
		return "9"
	}
	return "x"
}

// Each setting of the list is still a flag, a variable and a line of the file, and each rare one is
// a line of its block too.
func TestEverySettingOfTheOldListGoesOnWorking(t *testing.T) {
	list, err := os.ReadFile("testdata/settings.txt")
	if err != nil {
		t.Fatal(err)
	}
	parser, err := grammar(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	flags, blocks, seen := map[string]*kong.Flag{}, map[string]string{}, 0
	for _, f := range slices.Concat(parser.Model.Flags, serveNode(parser.Model).Flags) {
		flags[f.Name] = f
	}
	for _, s := range settings(parser.Model) {
		if blocks[s.flag.Name] = ""; s.rare {
			blocks[s.flag.Name] = s.group.key
		}
	}
	args, env := []string{"serve"}, map[string]string{}
	var lines, inBlocks strings.Builder
	for line := range strings.Lines(string(list)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, variable, _ := strings.Cut(strings.TrimSpace(line), " ")
		name = strings.TrimPrefix(name, "--")
		f := flags[name]
		if f == nil {
			t.Errorf("--%s is not a flag", name)
			continue
		}
		seen++
		if name == "config" { // names the file, so it is not a line of it
			continue
		}
		if _, listed := blocks[name]; !listed && name != "json" {
			t.Errorf("--%s is in no group", name)
		}
		value := sample(t, f)
		args, env[variable] = append(args, "--"+name+"="+value), value
		lines.WriteString(name + ": '" + value + "'\n")
	}
	if seen != 86 {
		t.Errorf("%d settings are in the list", seen)
	}
	for _, g := range settingGroups() {
		inBlocks.WriteString(g.key + ":\n")
		for name := range strings.FieldsSeq(g.rare) {
			inBlocks.WriteString("  " + name + ": '" + sample(t, flags[name]) + "'\n")
		}
	}
	for way, w := range map[string]struct {
		file string
		env  map[string]string
		args []string
	}{"flags": {args: args}, "variables": {env: env, args: args[:1]}, "lines": {file: lines.String(), args: args[:1]}, "blocks": {file: inBlocks.String(), args: args[:1]}} {
		t.Run(way, func(t *testing.T) {
			cli, err := parseIn(t, w.file, w.env, w.args...)
			if err != nil {
				t.Fatal(err)
			}
			if s := cli.Serve; s.UserRate != 9 || s.Grace != life(6*time.Second) || s.ApprovePeople != 9 {
				t.Errorf("user-rate is %d, grace %v, approve-people %d", s.UserRate, s.Grace, s.ApprovePeople)
			}
		})
	}
}

func TestEveryFlagOfServeIsInOneGroup(t *testing.T) {
	parser, err := grammar(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]int{}
	for _, g := range settingGroups() {
		for _, name := range strings.Fields(g.common + " " + g.rare) {
			groups[name]++
		}
	}
	shown := 0
	for _, f := range slices.Concat(parser.Model.Flags, serveNode(parser.Model).Flags) {
		if !f.Hidden {
			shown++
		}
		if own := []string{"help", "help-all", "version", "config", "json"}; !slices.Contains(own, f.Name) && groups[f.Name] != 1 {
			t.Errorf("--%s is in %d groups", f.Name, groups[f.Name])
		}
		delete(groups, f.Name)
	}
	if shown > 30 {
		t.Errorf("serve --help shows %d flags, want 30 or fewer", shown)
	}
	for name := range maps.Keys(groups) {
		t.Errorf("%s is in a group and is no flag of serve", name)
	}
}

// A file of hazardd config init sets nothing, and each of its lines can be uncommented alone.
func TestTheSampleFileIsRead(t *testing.T) {
	parser, err := grammar(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	text := sampleConfig(settings(parser.Model))
	if _, err := parseIn(t, text, nil, "serve"); err != nil {
		t.Fatal(err)
	}
	names := map[string]*kong.Flag{}
	for _, s := range settings(parser.Model) {
		names[s.flag.Name] = s.flag
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "#"), ": ")
		if f := names[name]; f != nil {
			lines[i] = strings.Replace(line[:strings.Index(line, ": ")], "#", "", 1) + ": '" + sample(t, f) + "'"
			delete(names, name)
		}
	}
	if len(names) > 0 {
		t.Errorf("not in the file: %v", slices.Collect(maps.Keys(names)))
	}
	if _, err := parseIn(t, strings.Join(lines, "\n"), nil, "serve"); err != nil {
		t.Error(err)
	}
}

func TestASecretIsNotShown(t *testing.T) {
	for text, want := range map[string]string{
		"smtp://user:secret@mail.example.org:587":                 "smtp://user:…@mail.example.org:587",
		"postgres://hazardd:secret@db/hazardd?sslmode=require":    "postgres://hazardd:…@db/hazardd?sslmode=require",
		"postgres://hazardd@db/hazardd?password=secret&x=1":       "postgres://hazardd@db/hazardd?password=…&x=1",
		`name="a" url="https://a.example.org/cap?api_key=secret"`: `name="a" url="https://a.example.org/cap?api_key=…"`,
		"https://hazards.example.org":                             "https://hazards.example.org",
		"s3://b/p?endpoint=https://h&region=eu":                   "s3://b/p?endpoint=https://h&region=eu",
	} {
		if got := withoutSecrets(text); got != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
}

func TestFormerPagesLeadToHeadingsThatThereAre(t *testing.T) {
	there := map[string]bool{"../SECURITY.md": true}
	if err := eachSection(func(page, title, heading, _ string) {
		there[page], there[page+"#"+anchor(heading)] = true, true
	}); err != nil {
		t.Fatal(err)
	}
	for former, to := range docs.Moved {
		if _, err := docs.Pages.Open(former + ".md"); err == nil || !there[to] {
			t.Errorf("%s.md leads to %s: there is no such heading, or the page is still there", former, to)
		}
	}
}

func TestHelpFindsCommandsSettingsAndPages(t *testing.T) {
	for words, want := range map[string][]string{
		"backup":       {"Usage: hazardd backup", "--backup-to", "docs/"},
		"user-rate":    {"--user-rate", "HAZARDD_USER_RATE", "1000"},
		"HAZARDD_SMTP": {"--smtp"},
		"webhook":      {"Usage: hazardd webhook", "--webhook-allow"},
		"settings":     {"--evidence-age", "HAZARDD_EVIDENCE_AGE", "storage"},
		"serve":        {"--listen"},
		"source poll":  {"Usage: hazardd source poll"},
		"two people":   {"docs/"},
		"oidc.md":      {"docs/sign-on.md"},
		"docs/runbook": {"docs/cluster.md#runbook"},
		"":             {"hazardd help WORD"},
	} {
		var out bytes.Buffer
		if err := (&helpCmd{Words: strings.Fields(words)}).Run(&console{out: &out, err: &out}); err != nil {
			t.Errorf("%q: %v", words, err)
		}
		for _, part := range want {
			if !strings.Contains(out.String(), part) {
				t.Errorf("help %q does not show %q:\n%s", words, part, out.String())
			}
		}
	}
	err := (&helpCmd{Words: []string{"user-ratee"}}).Run(&console{out: &bytes.Buffer{}})
	if err == nil || !strings.Contains(err.Error(), "did you mean user-rate?") {
		t.Errorf("error %v", err)
	}
}
