package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth/secret"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/ingest/sources/mirror"
)

// knownFlags define the sources that are not built in. All commands need the same values as the
// server.
type knownFlags struct {
	CAP      []capSetting    `name:"cap" sep:";" placeholder:"name=… url=…" help:"A feed of CAP alerts: name, url; language, title, country, every, fastest, highest, rank, hosts, places, charset, exercises, push, topics, archive. Repeat the flag for several, or separate them by semicolons."`
	Mirror   []mirrorSetting `name:"mirror" sep:";" placeholder:"name=… url=… user=… password-file=…" help:"Another server of this interface, whose hazards are shown too: name, url, user, password-file; title, every, fastest."`
	Areas    string          `type:"path" placeholder:"DIR" help:"Folder of GeoJSON files with your own areas for the codes in alerts, one file per scheme of codes."`
	Response bool            `default:"true" negatable:"" help:"Let an activation of Copernicus EMS move a hazard from EVENT to RESPONSE."`
}

// known returns the sources of the installation, for a command that stores what they say: it needs all
// files that place hazards.
func (f *knownFlags) known() (*app.Sources, error) {
	known, err := f.served()
	if err == nil {
		err = known.Unread()
	}
	return known, err
}

// served returns the sources of the installation, for a server: it goes on without a file that cannot be
// read, says so, and asks again.
func (f *knownFlags) served() (*app.Sources, error) {
	set := app.SourceSettings{NoResponse: !f.Response, Areas: f.Areas}
	for _, c := range f.CAP {
		set.CAP = append(set.CAP, app.CAPSource(c))
	}
	for _, m := range f.Mirror {
		set.Mirrors = append(set.Mirrors, app.MirrorSource(m))
	}
	return app.NewSources(set)
}

// find returns the sources of the installation, or an error if none has that name.
func (f *knownFlags) find(name string) (*app.Sources, error) {
	known, err := f.known()
	if err != nil {
		return nil, err
	}
	_, err = known.Find(name)
	return known, err
}

// Validate reports mistakes in the definitions before the command does anything.
func (f *knownFlags) Validate() error {
	_, err := f.served()
	return err
}

// sourcesFlag chooses the sources that are polled.
type sourcesFlag struct {
	knownFlags
	Sources string `default:"all" placeholder:"all|official|none|NAME|COUNTRY,…" help:"Sources to poll: all (that are on by default), official (the official feeds among these), none, names, or countries such as de; see hazardd source catalog."`
}

// Validate reports mistakes in the definitions, and unknown names.
func (f *sourcesFlag) Validate() error {
	_, _, err := f.chosen()
	return err
}

// chosen returns the sources of the installation and the names of those that are polled.
func (f *sourcesFlag) chosen() (*app.Sources, []string, error) {
	known, err := f.served()
	if err != nil {
		return nil, nil, err
	}
	names, err := known.Choose(f.Sources)
	return known, names, err
}

func (f *sourcesFlag) set(cfg *app.Config) (err error) {
	cfg.Known, cfg.Sources, err = f.chosen()
	return err
}

type (
	capSetting    app.CAPSource
	mirrorSetting app.MirrorSource
)

// UnmarshalText parses the pairs of a CAP feed.
func (c *capSetting) UnmarshalText(text []byte) error {
	*c = capSetting{Config: cap.Config{Name: "cap"}}
	return readPairs("cap", string(text), map[string]func(string) error{
		"name":      into(&c.Name),
		"url":       into(&c.URL),
		"title":     into(&c.Title),
		"language":  into(&c.Language),
		"charset":   into(&c.Charset),
		"places":    into(&c.PlacesFile),
		"every":     intoTime(&c.Every),
		"fastest":   intoTime(&c.Fastest),
		"highest":   func(v string) (err error) { c.Caps, err = readHighest(v); return err },
		"exercises": func(v string) (err error) { c.Exercises, err = strconv.ParseBool(v); return err },
		"rank":      func(v string) (err error) { c.Rank, err = readRanks(v); return err },
		"country":   func(v string) error { c.Countries = strings.Split(strings.ToUpper(v), ","); return nil },
		"hosts":     func(v string) error { c.Hosts = strings.Split(v, ","); return nil },
		"push":      func(v string) error { c.Push = strings.Split(v, ","); return nil },
		"topics":    func(v string) error { c.Topics = strings.Split(v, ","); return nil },
		"archive":   func(v string) error { c.Archive = strings.Split(v, ","); return nil },
	})
}

// UnmarshalText parses the pairs of a server to mirror. Its password is in a file, because other
// users of the machine can read a command line.
func (m *mirrorSetting) UnmarshalText(text []byte) error {
	*m = mirrorSetting{Name: mirror.Name}
	var file string
	err := readPairs("mirror", string(text), map[string]func(string) error{
		"name":          into(&m.Name),
		"url":           into(&m.URL),
		"title":         into(&m.Title),
		"user":          into(&m.Username),
		"password-file": into(&file),
		"every":         intoTime(&m.Every),
		"fastest":       intoTime(&m.Fastest),
	})
	if err != nil {
		return err
	}
	if file == "" {
		return errors.New("mirror: password-file: missing, expected the path of a file that holds the password")
	}
	password, err := os.ReadFile(secret.Path(file))
	if err != nil {
		return fmt.Errorf("mirror: password-file: %w", err)
	}
	if m.Password = strings.TrimRight(string(password), "\r\n"); m.Password == "" {
		return fmt.Errorf("mirror: password-file: %s is empty", file)
	}
	return nil
}

func into(s *string) func(string) error { return func(v string) error { *s = v; return nil } }

// leastEvery is the shortest interval that an operator can set, so that a typo does not overload a
// source.
const leastEvery = 10 * time.Second

func intoTime(d *time.Duration) func(string) error {
	return func(v string) error {
		var l life
		if err := l.UnmarshalText([]byte(v)); err != nil {
			return err
		}
		if *d = time.Duration(l); *d < leastEvery {
			return fmt.Errorf("%q is too short an interval for a source; at least %v", v, leastEvery)
		}
		return nil
	}
}

// readHighest parses the highest severities of a source, by type: "WATCH", "STORM:ADVISORY,WATCH".
func readHighest(text string) (map[hazard.Type]hazard.Severity, error) {
	return readByType(text, func(level string) (hazard.Severity, error) {
		severity, ok := hazard.ParseSeverity(level)
		if !ok {
			return severity, fmt.Errorf("%q is not a severity; expected one such as WATCH, or STORM:ADVISORY", level)
		}
		return severity, nil
	})
}

// readRanks parses the authority of a source, by type: "responsible",
// "EARTHQUAKE:model,responsible".
func readRanks(text string) (source.Ranks, error) {
	return readByType(text, func(name string) (source.Rank, error) {
		rank, ok := source.ParseRank(name)
		if !ok {
			return rank, fmt.Errorf("%q is not a rank, expected one of %s, or such as EARTHQUAKE:model", name, strings.Join(source.RankNames(), ", "))
		}
		return rank, nil
	})
}

// readByType parses values separated by commas. A value may have the prefix TYPE:; one without a
// prefix is for all other types.
func readByType[T any](text string, read func(string) (T, error)) (map[hazard.Type]T, error) {
	values := map[hazard.Type]T{}
	for word := range strings.SplitSeq(text, ",") {
		typ, value, found := strings.Cut(strings.TrimSpace(word), ":")
		if !found {
			typ, value = "", typ
		}
		v, err := read(value)
		if err != nil {
			return nil, err
		}
		values[hazard.Type(typ)] = v
	}
	return values, nil
}

// readPairs parses pairs of the form key=value, separated by blanks. A value with blanks is in
// double quotes, as in Go.
func readPairs(setting, text string, keys map[string]func(string) error) error {
	expected := strings.Join(slices.Sorted(maps.Keys(keys)), ", ")
	seen := map[string]bool{}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		key, after, found := strings.Cut(rest, "=")
		if !found || strings.ContainsFunc(key, unicode.IsSpace) {
			return fmt.Errorf("%s: %.60q is not key=value; the keys are %s", setting, rest, expected)
		}
		var value string
		if quoted, err := strconv.QuotedPrefix(after); err == nil && strings.HasPrefix(after, `"`) {
			value, _ = strconv.Unquote(quoted) // QuotedPrefix has already validated it
			rest = after[len(quoted):]
		} else {
			end := strings.IndexFunc(after, unicode.IsSpace)
			if end < 0 {
				end = len(after)
			}
			value, rest = after[:end], after[end:]
		}
		set, ok := keys[key]
		if !ok {
			return fmt.Errorf("%s: %q is not a key%s; the keys are %s", setting, key, meant(key, keySet(keys)), expected)
		}
		if seen[key] {
			return fmt.Errorf("%s: %s is given twice", setting, key)
		}
		seen[key] = true
		if err := set(value); err != nil {
			return fmt.Errorf("%s: %s: %w", setting, key, err)
		}
	}
	return nil
}

func keySet(keys map[string]func(string) error) map[string]bool {
	set := map[string]bool{}
	for k := range keys {
		set[k] = true
	}
	return set
}
