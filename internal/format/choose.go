package format

import (
	"fmt"
	"mime"
	"strconv"
	"strings"
)

// UnknownError says that the parameter f names no format.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%.60q is not a format; the formats are: %s", e.Name, strings.Join(Names(), ", "))
}

// NotAcceptableError says that a request accepts none of the formats.
type NotAcceptableError struct{ Accept string }

func (e *NotAcceptableError) Error() string {
	types := make([]string, formats)
	for f := range formats {
		types[f], _, _ = strings.Cut(infos[f].mediaType, ";")
	}
	return fmt.Sprintf("none of %.200q is available; the formats are %s. The parameter f also selects one: %s",
		e.Accept, strings.Join(types, ", "), strings.Join(Names(), ", "))
}

// Choose returns the requested format: from the parameter f, or else from Accept (RFC 9110, section
// 12.5.1). Among equally preferred formats, a named one wins over a wildcard, then the first named
// one, then the order of formats. Invalid parts of Accept are ignored. The error is an
// *UnknownError or a *NotAcceptableError, which list the available formats.
func Choose(accept, f string) (Format, error) {
	if f != "" {
		chosen, ok := Parse(f)
		if !ok {
			return JSON, &UnknownError{f}
		}
		return chosen, nil
	}
	switch accept { // fast path for the most common values
	case "", "*/*", "application/json":
		return JSON, nil
	}
	var wishes [formats]wish
	readable := false
	for i, item := range strings.Split(accept, ",") {
		name, q, ok := mediaRange(item)
		if !ok {
			continue
		}
		readable = true
		for f := range formats {
			if s := infos[f].match(name); s > wishes[f].specific {
				wishes[f] = wish{q, s, i}
			}
		}
	}
	if !readable {
		return JSON, nil
	}
	best := JSON
	for f := range formats {
		if wishes[f].over(wishes[best]) {
			best = f
		}
	}
	if wishes[best].q == 0 {
		return JSON, &NotAcceptableError{accept}
	}
	return best, nil
}

// wish is how much a format is preferred, by the most specific range that matches it.
type wish struct {
	q        float64
	specific int // 0: no match, 1: */*, 2: application/*, 3: named
	place    int
}

func (w wish) over(o wish) bool {
	switch {
	case w.q != o.q:
		return w.q > o.q
	case w.specific != o.specific:
		return w.specific > o.specific
	}
	return w.place < o.place
}

// mediaRange reads one item of an Accept field. Parameters other than the weight make no difference between our formats.
func mediaRange(item string) (name string, q float64, ok bool) {
	name, params, err := mime.ParseMediaType(item)
	if err != nil || !strings.Contains(name, "/") {
		return "", 0, false
	}
	q = 1
	if text, given := params["q"]; given {
		if q, err = strconv.ParseFloat(text, 64); err != nil || !(q >= 0 && q <= 1) {
			return "", 0, false
		}
	}
	return name, q, true
}

// match returns how specifically a media range matches the format; see wish.
func (i *info) match(name string) int {
	own, _, _ := strings.Cut(i.mediaType, ";")
	kind, _, _ := strings.Cut(own, "/")
	switch name {
	case "*/*":
		return 1
	case kind + "/*":
		return 2
	case own:
		return 3
	}
	for _, alias := range i.aliases {
		if alias == name {
			return 3
		}
	}
	return 0
}
