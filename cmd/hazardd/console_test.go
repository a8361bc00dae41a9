package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
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
