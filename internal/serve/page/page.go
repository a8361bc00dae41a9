// Package page writes the pages that people read in a browser: the page of one hazard with its
// small map, the login form, and errors.
//
// A page is one document that needs no script. It loads only its style sheet, symbols and map, from
// its own server. It shows all that it is given: the caller has already left out what the visitor
// may not see. Text of users and sources is escaped, and only their https addresses become links.
// The page's own words are in the language that the caller passes (internal/lang/words). Times are
// relative to a moment that the caller passes, in UTC, and also in the visitor's zone if it is
// known. All functions depend on their arguments alone and are safe for concurrent use; none uses
// HTTP or the store.
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
	_ "time/tzdata" // time zones of visitors, for machines without a zone database

	"github.com/hazardd/hazardd/internal/atlas/symbol"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang/words"
)

// Frame is the part that all pages share.
type Frame struct {
	// Root is the path of the service's public address, without a trailing slash. It is empty for
	// most installations.
	Root string
	// Language is the language of the page's own words; nil means English.
	Language *words.Language
	// Zone is the visitor's time zone, in which times are shown beside UTC; nil if unknown.
	Zone *time.Location
	// Miles reports whether measurements, distances and sizes beside headlines are in the units of the
	// United States. Headlines are metric for all readers.
	Miles bool
	User  string // user who is logged in; empty: nobody
	// Token is the token in the page's own address, which is never passed to other pages. It is
	// empty for most pages.
	Token string
	// Login is the path of the login form, for a visitor who may log in but need not. If it is
	// empty, there is no link.
	Login string
}

// Login is the login form.
type Login struct {
	Frame
	Next     string // path to continue to, checked by the caller
	Username string // as typed in the last try
	Factor   bool   // the user has a second factor
	Error    string // why the last try failed; empty: there was none
	Provider string // another service to log in with; empty: none
}

// Problem is an error as a page.
type Problem struct {
	Frame
	Status   int
	Title    string
	Detail   string // in words
	Instance string // identifies the error in the service's log; may be empty
	// Hazard reports that a hazard was requested that does not exist.
	Hazard bool
	// Foreign reports that the title is HTTP's own, in English.
	Foreign bool
}

//go:embed *.html style.css brief.css
var files embed.FS

// spoken returns the templates in each language by its tag. They are made on first use: most commands
// need none.
var spoken = sync.OnceValue(func() map[string]func() *template.Template {
	// They are never executed, so that they can be cloned for each language.
	templates := template.Must(template.New("").Funcs(template.FuncMap{
		"stylesheet": func() string { return stylePath },
		"languages":  words.All,
	}).Funcs(speaking(words.English())).Funcs(docsFuncs).ParseFS(files, "*.html"))
	in := map[string]func() *template.Template{}
	for _, l := range words.All() {
		in[l.ID] = sync.OnceValue(func() *template.Template { return template.Must(templates.Clone()).Funcs(speaking(l)) })
	}
	return in
})

// speaking returns the functions that templates use for text, such as t with the key of the words,
// and the names and values of their arguments.
func speaking(l *words.Language) template.FuncMap {
	return template.FuncMap{"t": l.Say, "name": l.NameOf, "lang": func() string { return l.ID }, "dir": func() string { return l.Dir }, "checked": func() bool { return l.Checked }}
}

// say returns the words with the key, in the language of the page.
func (f *Frame) say(key string, arguments ...any) string { return f.language().Say(key, arguments...) }

func (f *Frame) language() *words.Language { return cmp.Or(f.Language, words.English()) }

var style, stylePath = func() ([]byte, string) {
	css, err := files.ReadFile("style.css")
	if err != nil {
		panic(err) // the files are embedded in the program
	}
	css = append([]byte(symbol.CSS()), css...)
	sum := sha256.Sum256(css)
	return css, "/pages/" + hex.EncodeToString(sum[:8]) + ".css"
}()

// Style returns the style sheet of all pages, and the path from which they load it. The path
// changes with the content.
func Style() (path string, css []byte) { return stylePath, style }

// HTML returns the form.
func (l *Login) HTML() ([]byte, error) { return execute(l.language(), "login.html", l) }

// HTML returns the error's page.
func (p *Problem) HTML() ([]byte, error) { return execute(p.language(), "problem.html", p) }

// HTML returns the page of the hazard.
func (c *Hazard) HTML() ([]byte, error) { return execute(c.language(), "hazard.html", c.view()) }

func execute(l *words.Language, name string, data any) ([]byte, error) {
	var out bytes.Buffer
	if err := spoken()[l.ID]().ExecuteTemplate(&out, name, data); err != nil {
		return nil, fmt.Errorf("page %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// moment is an instant as pages show it.
type moment struct {
	Machine  string // RFC 3339, UTC
	Words    string // 21 Nov 2026, 11:48 UTC
	Local    string // 21 Nov 2026, 12:48 CET; empty: the visitor's zone is unknown, or is UTC
	Relative string // 3 hours ago
}

// at returns an instant in English and UTC.
func at(i, now hazard.Instant) moment { return (&Frame{}).at(i, now) }

// at returns an instant as the page's visitor reads it. Only English has names of months here.
// Other languages get digits, which all of them read the same way.
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

// relative returns how far i is from now: in days from two days on, in hours from two hours on, or
// else in minutes.
func (f *Frame) relative(i, now hazard.Instant) string {
	d := (time.Duration(now-i) * time.Millisecond).Abs()
	if now-i > hazard.Instant(maxRelative.Milliseconds()) || i-now > hazard.Instant(maxRelative.Milliseconds()) {
		return "" // the year is clearer
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

// maxRelative is the longest time that is shown relative to now.
const maxRelative = 2 * 365 * 24 * time.Hour
