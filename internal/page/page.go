// Package page writes what people read in a browser: the page of one hazard with its small map, the form to log in, and errors.
//
// A page is one document that needs no script, and loads nothing but its style sheet, symbols and map, from its own server. It shows all
// that it is given: who may see what has been decided before. Words of users and sources are escaped; of the addresses in them only
// those of https become links. Its own words are in the language that the caller passes (internal/words). Times are given relative to a moment that the caller passes, in UTC,
// and in the zone of the visitor if it is known. All functions depend on their
// arguments alone and may be called concurrently; none knows HTTP or the store.
package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"sync"
	"time"
	_ "time/tzdata" // zones of visitors, also where the machine knows none

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/symbol"
	"github.com/hazardd/hazardd/internal/words"
)

// Frame is what every page has around its content.
type Frame struct {
	// Root is the path of the service's public address, without a slash at its end: empty for most.
	Root string
	// Language is that of the page's own words; nil: English.
	Language *words.Language
	// Zone is that of the visitor, in which times are shown beside UTC; nil: it is not known.
	Zone *time.Location
	User string // who is logged in; empty: nobody
	// Token is the token in the page's own address, which no other page is told of; empty for most.
	Token string
	// Login is the path of the form to log in, for a visitor who need not; empty: no link leads there.
	Login string
}

// Login is the form to log in.
type Login struct {
	Frame
	Next     string // path to go on to, checked by the caller
	Username string // as typed before
	Error    string // why the last try failed; empty: there was none
	Provider string // where else one may log in; empty: nowhere
}

// Problem is an error as a page.
type Problem struct {
	Frame
	Status   int
	Title    string
	Detail   string // in words
	Instance string // names the error in the service's log; may be empty
	// Hazard: a hazard was looked for, and there is none.
	Hazard bool
	// Foreign: the title is HTTP's, in English.
	Foreign bool
}

//go:embed *.html style.css brief.css
var files embed.FS

// templates are never executed, so that they can be cloned for each language.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"stylesheet": func() string { return stylePath },
	"languages":  words.All,
}).Funcs(speaking(words.English())).Funcs(docsFuncs).ParseFS(files, "*.html"))

// spoken are the templates in each language, by its tag: made when first wanted.
var spoken = func() map[string]func() *template.Template {
	in := map[string]func() *template.Template{}
	for _, l := range words.All() {
		in[l.ID] = sync.OnceValue(func() *template.Template { return template.Must(templates.Clone()).Funcs(speaking(l)) })
	}
	return in
}()

// speaking are the functions by which templates say something: t and the key of the words, with names and values of their arguments.
func speaking(l *words.Language) template.FuncMap {
	return template.FuncMap{"t": l.Say, "name": l.NameOf, "lang": func() string { return l.ID }, "dir": func() string { return l.Dir }, "checked": func() bool { return l.Checked }}
}

// say is the words under the key in the language of the page.
func (f *Frame) say(key string, arguments ...any) string { return f.language().Say(key, arguments...) }

func (f *Frame) language() *words.Language { return cmp.Or(f.Language, words.English()) }

var style, stylePath = func() ([]byte, string) {
	css, err := files.ReadFile("style.css")
	if err != nil {
		panic(err) // a part of the program
	}
	css = append([]byte(symbol.CSS()), css...)
	sum := sha256.Sum256(css)
	return css, "/pages/" + hex.EncodeToString(sum[:8]) + ".css"
}()

// Style is the style sheet of all pages, and the path at which they expect it. The path changes with the content.
func Style() (path string, css []byte) { return stylePath, style }

// HTML is the form.
func (l *Login) HTML() ([]byte, error) { return execute(l.language(), "login.html", l) }

// HTML is the error's page.
func (p *Problem) HTML() ([]byte, error) { return execute(p.language(), "problem.html", p) }

// HTML is the page of the hazard.
func (c *Hazard) HTML() ([]byte, error) { return execute(c.language(), "hazard.html", c.view()) }

func execute(l *words.Language, name string, data any) ([]byte, error) {
	var out bytes.Buffer
	if err := spoken[l.ID]().ExecuteTemplate(&out, name, data); err != nil {
		return nil, fmt.Errorf("page %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// moment is an instant as pages show it.
type moment struct {
	Machine  string // RFC 3339, UTC
	Words    string // 21 Nov 2026, 11:48 UTC
	Local    string // 21 Nov 2026, 12:48 CET; empty: the visitor's zone is not known, or UTC
	Relative string // 3 hours ago
}

// at is an instant in English and UTC.
func at(i, now hazard.Instant) moment { return (&Frame{}).at(i, now) }

// at is an instant as the page's visitor reads it. Only English has names of months here: other languages get digits, which all read alike.
func (f *Frame) at(i, now hazard.Instant) moment {
	t := i.Time()
	layout := "2006-01-02 15:04"
	if f.language() == words.English() {
		layout = "2 Jan 2006, 15:04"
	}
	if t.Second() != 0 {
		layout += ":05"
	}
	m := moment{Machine: t.Format(time.RFC3339), Words: t.Format(layout) + " UTC", Relative: f.relative(i, now)}
	if f.Zone != nil {
		local := t.In(f.Zone)
		if name, _ := local.Zone(); name != "UTC" {
			m.Local = local.Format(layout + " MST")
		}
	}
	return m
}

// relative says how far i is from now, in the greatest unit that it holds twice, or once below a day.
func (f *Frame) relative(i, now hazard.Instant) string {
	d := (time.Duration(now-i) * time.Millisecond).Abs()
	if now-i > hazard.Instant(maxRelative.Milliseconds()) || i-now > hazard.Instant(maxRelative.Milliseconds()) {
		return "" // the year says it better
	}
	n, unit := int(d/time.Minute), "Minutes"
	switch {
	case d < time.Minute && i > now:
		return f.say("soon")
	case d < time.Minute:
		return f.say("justNow")
	case d >= 48*time.Hour:
		n, unit = int(d/(24*time.Hour)), "Days"
	case d >= 2*time.Hour:
		n, unit = int(d/time.Hour), "Hours"
	}
	if i > now {
		return f.say("in"+unit, "n", n)
	}
	return f.say("ago"+unit, "n", n)
}

// maxRelative is how far apart two moments are told in days.
const maxRelative = 2 * 365 * 24 * time.Hour
