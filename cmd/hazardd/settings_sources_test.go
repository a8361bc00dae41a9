package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
)

func TestSourcesOfAnOperatorBySettingOfEveryKind(t *testing.T) {
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("violet kayak\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	caps := []capSetting{
		{Config: cap.Config{Name: "meteoalarm-de", Title: "MeteoAlarm Germany", URL: "https://feeds.example.org/a?x=1;2", Language: "de", Every: 2 * time.Minute, Fastest: 20 * time.Second,
			Caps: map[hazard.Type]hazard.Severity{hazard.Storm: hazard.Advisory, "": hazard.Watch}, Hosts: []string{"a.example.org", "b.example.org"},
			Rank: source.Ranks{hazard.Flood: source.Responsible, "": source.Model}}},
		{Config: cap.Config{Name: "cap", URL: "https://alerts.example.org/index.rss", Charset: "windows-1252", Exercises: true}},
	}
	mirrors := []mirrorSetting{{Name: "disaster-centre", URL: "https://api.example.org/msvc", Username: "replica", Password: "violet kayak"}}
	first := `name=meteoalarm-de title="MeteoAlarm Germany" url=https://feeds.example.org/a?x=1\;2 language=de every=2m fastest=20s highest=STORM:ADVISORY,WATCH hosts=a.example.org,b.example.org rank=FLOOD:responsible,model`
	second := "url=https://alerts.example.org/index.rss charset=windows-1252 exercises=true"
	third := "name=disaster-centre url=https://api.example.org/msvc user=replica password-file=" + password
	for name, tt := range map[string]struct {
		args []string
		env  map[string]string
		file string
	}{
		"flags":    {args: []string{"--cap", first, "--cap", second, "--mirror", third}},
		"one flag": {args: []string{"--cap", first + " ; " + second, "--mirror=" + third}},
		"variable": {env: map[string]string{"HAZARDD_CAP": first + ";" + second, "HAZARDD_MIRROR": third}},
		"file": {file: `cap:
- name: meteoalarm-de
  title: MeteoAlarm Germany
  url: https://feeds.example.org/a?x=1;2
  language: de
  every: 2m
  fastest: 20s
  highest: [STORM:ADVISORY, WATCH]
  hosts: [a.example.org, b.example.org]
  rank: [FLOOD:responsible, model]
- url: https://alerts.example.org/index.rss
  charset: windows-1252
  exercises: true
mirror:
- {name: disaster-centre, url: "https://api.example.org/msvc", user: replica, password-file: ` + password + `}
sources: [usgs, meteoalarm-de, cap, disaster-centre]
`},
	} {
		t.Run(name, func(t *testing.T) {
			cli, err := parseIn(t, tt.file, tt.env, append([]string{"serve"}, tt.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(caps, cli.Serve.CAP) + cmp.Diff(mirrors, cli.Serve.Mirror); diff != "" {
				t.Error(diff)
			}
			var cfg app.Config
			if err := cli.Serve.sourcesFlag.set(&cfg); err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(cfg.Sources, " "); !strings.Contains(all, "meteoalarm-de cap disaster-centre") {
				t.Errorf("polled: %s", all)
			}
		})
	}
}

func TestFaultySourcesOfAnOperatorAreRefused(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const good = "url=https://a.example.org/ "
	for setting, want := range map[string]string{
		"--cap=https://a.example.org/":                       "is not key=value; the keys are archive, charset, country, every,",
		"--cap=" + good + "lang=de":                          `"lang" is not a key`,
		"--cap=" + good + "langage=de":                       `did you mean language?`,
		"--cap=" + good + "name=a name=b":                    "name is given twice",
		"--cap=" + good + "every=1s":                         "at least 10s",
		"--cap=" + good + "every=1m fastest=2m":              "expected at most 1m0s",
		"--cap=" + good + "every=soon":                       `every: "soon" is not a time`,
		"--cap=" + good + "name=usgs":                        `name: "usgs" is the name of another source`,
		"--cap=" + good + "highest=RED":                      `"RED" is not a severity`,
		"--cap=" + good + "highest=RAIN:WATCH":               `caps: "RAIN" is not a type`,
		"--cap=" + good + "rank=first":                       `"first" is not a rank, expected one of responsible, specialist, national, model,`,
		"--cap=" + good + "rank=RAIN:model":                  `rank: "RAIN" is not a type that it reports`,
		"--cap=url=ftp://a.example.org/":                     `url: "ftp://a.example.org/", expected an address of https or http`,
		"--cap=" + good + ";" + good:                         `name: "cap" is the name of another source`,
		"--mirror=" + good + "user=a":                        "password-file: missing",
		"--mirror=" + good + "password-file=/none":           "password-file: open /none",
		"--mirror=" + good + "user=a password-file=" + empty: "is empty",
		"--sources=nowhere":                                  `"nowhere" is not a source`,
	} {
		if _, err := parseIn(t, "", nil, "serve", setting); err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "see hazardd serve --help") {
			t.Errorf("%s: error %v, want %s", setting, err, want)
		}
	}
}

// A file that makes an answer better stops no start: what it would say is not known, the service says so,
// and asks for it again. Every setting that names a file is in one of the two lists.
func TestNoFileThatOnlyHelpsStopsTheStart(t *testing.T) {
	if testing.Short() {
		t.Skip("opens the service, which short tests do not")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "file.geojson")
	areas := `{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"code":"AT001","type":"EMMA_ID"},"geometry":{"type":"Polygon","coordinates":[[[8,47],[9,47],[9,48],[8,47]]]}}]}`
	helping := map[string]struct{ setting, content string }{ // content: with it the file can be read again
		"areas":   {"--areas=" + dir, areas},
		"cap":     {"--cap=url=https://a.example.org/ places=" + path, areas},
		"basemap": {"--basemap=" + path, ""}, // read at the start only
	}
	needed := map[string]string{
		"data": "the store", "config": "all settings", "cap-key": "else messages would have no signature", "cap-certificate": "the same", "address-key": "else nobody is told",
		"webpush-key": "the same", "smtp-password-file": "the same", "wis2-password-file": "the same", "oidc-secret-file": "else nobody can log in there", "tls-cert": "else nothing is secret", "tls-key": "the same",
		"acme-root": "the same", "acme-cache": "the same", "audit-to": "made if it is missing", "backup-to": "tried again", "archive": "tried again", "files": "the store", "channels": "else nobody is told",
	}
	parsed, err := parse(&commandLine{}, []string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range parsed.Flags() {
		if _, ok := helping[f.Name]; !ok && needed[f.Name] == "" && (f.Tag.Type == "path" || strings.Contains(f.PlaceHolder, "FILE") || strings.Contains(f.PlaceHolder, "DIR")) {
			t.Errorf("--%s names a file: does it help only, or why is it needed?", f.Name)
		}
	}
	for name, c := range helping {
		for what, content := range map[string]string{"missing": "", "damaged": "{"} {
			t.Run(name+" "+what, func(t *testing.T) {
				if err := errors.Join(os.RemoveAll(path), os.WriteFile(path+".other", nil, 0o600)); err != nil {
					t.Fatal(err)
				}
				write := func(content string) {
					if content == "" {
						return
					}
					if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				write(content)
				cli, err := parseIn(t, "", nil, "serve", c.setting, "--data="+t.TempDir(), "--listen=127.0.0.1:0", "--sources=none")
				if err != nil {
					t.Fatal(err)
				}
				cfg, err := cli.Serve.config(&cli.globals)
				if err != nil {
					t.Fatal(err)
				}
				cfg.Logger = slog.New(slog.DiscardHandler)
				s, err := app.Open(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}()
				if found := s.Store.Quarantine.Found(); len(found) != 1 {
					t.Errorf("the service says that these are damaged: %v", found)
				}
				if c.content == "" {
					return
				}
				if _, err := cli.Serve.known(); err == nil {
					t.Error("a command that takes in files goes on without it")
				}
				write(c.content)
				s.Store.Quarantine.Recheck(t.Context())
				if found := s.Store.Quarantine.Found(); len(found) != 0 {
					t.Errorf("with the file there are still damaged: %v", found)
				}
			})
		}
	}
}
