// Package page writes what people read in a browser: the page of one hazard with its small map, the form to log in, and errors.
//
// A page is one document that needs no script, and loads nothing but its style sheet, symbols and map, from its own server. It shows all
// that it is given: who may see what has been decided before. Words of users and sources are escaped; of the addresses in them only
// those of https become links. Times are given relative to a moment that the caller passes, and in UTC. All functions depend on their
// arguments alone and may be called concurrently; none knows HTTP or the store.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/symbol"
)

// Frame is what every page has around its content.
type Frame struct {
	// Root is the path of the service's public address, without a slash at its end: empty for most.
	Root string
	User string // who is logged in; empty: nobody
	// Login is the path of the form to log in, for a visitor who need not; empty: no link leads there.
	Login string
}

// Login is the form to log in.
type Login struct {
	Frame
	Next     string // path to go on to, checked by the caller
	Username string // as typed before
	Error    string // why the last try failed; empty: there was none
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
}

//go:embed *.html style.css
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"stylesheet": func() string { return stylePath },
}).Funcs(docsFuncs).ParseFS(files, "*.html"))

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
func (l *Login) HTML() ([]byte, error) { return execute("login.html", l) }

// HTML is the error's page.
func (p *Problem) HTML() ([]byte, error) { return execute("problem.html", p) }

// HTML is the page of the hazard.
func (c *Hazard) HTML() ([]byte, error) { return execute("hazard.html", c.view()) }

func execute(name string, data any) ([]byte, error) {
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, name, data); err != nil {
		return nil, fmt.Errorf("page %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// moment is an instant as pages show it.
type moment struct {
	Machine  string // RFC 3339, UTC
	Words    string // 21 Nov 2026, 11:48 UTC
	Relative string // 3 hours ago
}

func at(i, now hazard.Instant) moment {
	t := i.Time()
	layout := "2 Jan 2006, 15:04 UTC"
	if t.Second() != 0 {
		layout = "2 Jan 2006, 15:04:05 UTC"
	}
	return moment{Machine: t.Format(time.RFC3339), Words: t.Format(layout), Relative: relative(i, now)}
}

// relative tells how far i is from now, in the greatest unit that it holds twice, or once below a day.
func relative(i, now hazard.Instant) string {
	d := (time.Duration(now-i) * time.Millisecond).Abs()
	if now-i > hazard.Instant(maxRelative.Milliseconds()) || i-now > hazard.Instant(maxRelative.Milliseconds()) {
		return "" // the year says it better
	}
	n, unit := int(d/time.Minute), "minute"
	switch {
	case d < time.Minute:
		if i > now {
			return "in less than a minute"
		}
		return "just now"
	case d >= 48*time.Hour:
		n, unit = int(d/(24*time.Hour)), "day"
	case d >= 2*time.Hour:
		n, unit = int(d/time.Hour), "hour"
	}
	if n != 1 {
		unit += "s"
	}
	if i > now {
		return fmt.Sprintf("in %d %s", n, unit)
	}
	return fmt.Sprintf("%d %s ago", n, unit)
}

// maxRelative is how far apart two moments are told in days.
const maxRelative = 2 * 365 * 24 * time.Hour
