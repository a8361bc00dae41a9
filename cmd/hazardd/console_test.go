package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
)

func TestColumnsLineUpWhateverTheyHold(t *testing.T) {
	table := newTable("NAME", "STATE", "N")
	table.colours[1] = map[string]string{"ok": green, "stale": red}
	table.add("Ŝtormo", "ok", "7")
	table.add("usgs", "stale", "1200")
	for name, tt := range map[string]struct {
		colour bool
		want   string
	}{
		"plain": {false, "" +
			"NAME    STATE     N\n" +
			"Ŝtormo  ok        7\n" +
			"usgs    stale  1200\n"},
		"in colour": {true, "" +
			"NAME    STATE     N\n" +
			"Ŝtormo  \x1b[32mok\x1b[0m        7\n" +
			"usgs    \x1b[31mstale\x1b[0m  1200\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := table.write(&out, tt.colour); err != nil {
				t.Fatal(err)
			}
			if out.String() != tt.want {
				t.Errorf("got\n%s\nwant\n%s", &out, tt.want)
			}
		})
	}
}

func TestTextOfOthersCannotSteerTheTerminal(t *testing.T) {
	if got := cut("M 5\x1b[2J quake\r\nnear\u202e here", 100); got != "M 5[2J quake near here" {
		t.Errorf("%q", got)
	}
	if got := cut("abcdef", 4); got != "abc…" {
		t.Errorf("%q", got)
	}
}

func TestAges(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	for want, d := range map[string]time.Duration{
		"12 s ago": -12 * time.Second, "3 min ago": -3*time.Minute - 20*time.Second, "in 40 s": 40 * time.Second, "47 h ago": -47 * time.Hour, "12 d ago": -12 * 24 * time.Hour,
	} {
		if got := age(now.Add(d), now); got != want {
			t.Errorf("age of %v is %q, want %q", d, got, want)
		}
	}
}

func TestProgressIsShownToWhoeverLooksAndToNobodyElse(t *testing.T) {
	for name, tt := range map[string]struct {
		terminal, json bool
		want           bool
	}{
		"on a terminal": {terminal: true, want: true}, "in a pipe": {}, "as JSON": {terminal: true, json: true},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := newProgress(&console{err: &out, errTerminal: tt.terminal, json: tt.json}, []payload{{file: "console_test.go"}, {file: "-"}})
			p.begin("console_test.go")
			p.done("console_test.go")
			p.end()
			if got := strings.Contains(out.String(), "console_test.go"); got != tt.want {
				t.Errorf("the bar shows %q", &out)
			}
		})
	}
}

func TestPublicURL(t *testing.T) {
	for name, tt := range map[string]struct {
		flags addressFlags
		want  string
	}{
		"given":              {addressFlags{Listen: "127.0.0.1:8080", PublicURL: "https://h.example.org"}, "https://h.example.org"},
		"the address":        {addressFlags{Listen: "127.0.0.1:8080"}, "http://127.0.0.1:8080"},
		"every address":      {addressFlags{Listen: ":8080"}, "http://localhost:8080"},
		"every IPv4 address": {addressFlags{Listen: "0.0.0.0:80"}, "http://localhost:80"},
		"IPv6":               {addressFlags{Listen: "[::1]:8080"}, "http://[::1]:8080"},
		"any port":           {addressFlags{Listen: "127.0.0.1:0"}, ""},
	} {
		if got := tt.flags.url(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestTLSSettings(t *testing.T) {
	for name, tt := range map[string]struct {
		flags  tlsFlags
		public string // given
		listen address
		want   string // the public address or the error
	}{
		"files":                   {tlsFlags{Cert: "c", Key: "k"}, "", "127.0.0.1:8443", "https://127.0.0.1:8443"},
		"files, IPv6":             {tlsFlags{Cert: "c", Key: "k"}, "", "[::1]:443", "https://[::1]"},
		"files, known":            {tlsFlags{Cert: "c", Key: "k", HTTPListen: ":80"}, "https://h.example.org", ":443", "https://h.example.org"},
		"ACME":                    {tlsFlags{Hosts: []acmeHost{"h.example.org", "i.example.org"}, HTTPListen: ":80"}, "", ":443", "https://h.example.org"},
		"ACME at another port":    {tlsFlags{Hosts: []acmeHost{"h.example.org"}}, "", ":8443", "https://h.example.org:8443"},
		"a certificate alone":     {tlsFlags{Cert: "c"}, "", ":443", "--tls-cert and --tls-key need each other"},
		"both":                    {tlsFlags{Cert: "c", Key: "k", Hosts: []acmeHost{"h"}}, "", ":443", "--tls-cert and --acme-host exclude each other"},
		"an authority for nobody": {tlsFlags{Directory: "https://ca"}, "", ":443", "--acme-host is missing: the other --acme settings need it"},
		"no TLS":                  {tlsFlags{HTTPListen: ":80"}, "", ":443", "--http-listen needs TLS: give --tls-cert or --acme-host"},
		"leads nowhere":           {tlsFlags{Cert: "c", Key: "k", HTTPListen: ":80"}, "", ":443", "--public-url is missing: --http-listen redirects there"},
		"an address without TLS":  {tlsFlags{Cert: "c", Key: "k"}, "http://h.example.org", ":443", "--public-url http://h.example.org does not begin with https://, but the server speaks TLS"},
	} {
		var cfg app.Config
		at := addressFlags{Listen: tt.listen, PublicURL: publicURL(tt.public)}
		at.set(&cfg)
		got := ""
		if err := tt.flags.set(&cfg, tt.public != ""); err != nil {
			got = err.Error()
		} else {
			got = cfg.PublicURL
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	for _, bad := range []string{"*.example.org", "h.example.org:443", "https://h.example.org", ""} {
		if err := new(acmeHost).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is accepted as a host", bad)
		}
	}
}
