package edit

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
)

// members is a decoded body: its members by name.
type members map[string]jsontext.Value

// decode parses one JSON object. Names must be unique, text valid UTF-8, and nothing may follow:
// parsers differ on such input (RFC 8259).
func decode(body []byte) (members, error) {
	var m members
	err := json.Unmarshal(body, &m)
	switch {
	case err != nil:
		err = &hazard.InvalidError{Faults: []hazard.Fault{{Detail: "the body is not one JSON object with unique names: " + jsonFault(err)}}}
	case m == nil:
		err = &hazard.InvalidError{Faults: []hazard.Fault{{Detail: "the body is null, not a JSON object"}}}
	}
	return m, err
}

// jsonFault returns the decoder's error without names of packages and types.
func jsonFault(err error) string {
	text := err.Error()
	for _, prefix := range []string{"json: ", "jsontext: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return strings.ReplaceAll(text, "Go edit.members", "an object")
}

// mode distinguishes a creation from a change.
type mode uint8

const (
	create mode = 1 << iota
	patch
)

// reading is the context for parsing members.
type reading struct {
	e   *Editor
	who Author
	now hazard.Instant
}

// field describes a member of a body for a T.
type field[T any] struct {
	name     string
	modes    mode
	required bool // in a creation
	member[T]
}

// member describes how a member is stored in a T.
type member[T any] struct {
	// read parses the member and returns a function that stores it in a T. In a change the member
	// may be null, which means its default. The error says what is wrong.
	read func(c *reading, v jsontext.Value) (func(*T), error)
	// same reports whether the member is equal in both.
	same func(a, b *T) bool
}

// to describes a member that parse reads and that is stored at the place that at returns.
func to[T, V any](at func(*T) *V, parse func(c *reading, v jsontext.Value) (V, error)) member[T] {
	return member[T]{
		read: func(c *reading, v jsontext.Value) (func(*T), error) {
			value, err := parse(c, v)
			return func(t *T) { *at(t) = value }, err
		},
		same: func(a, b *T) bool { return reflect.DeepEqual(*at(a), *at(b)) },
	}
}

// only describes a body with a single member.
func only[T any](name string, parse func(*reading, jsontext.Value) (T, error)) []field[T] {
	return []field[T]{{name, create, true, to(func(t *T) *T { return t }, parse)}}
}

// checker checks members against each other after all are parsed. It ignores members that are
// already known to be invalid.
type checker interface {
	check(bad *hazard.InvalidError, given members)
}

// sound reports whether none of the members is known to be invalid.
func sound(bad *hazard.InvalidError, names ...string) bool {
	return !slices.ContainsFunc(bad.Faults, func(f hazard.Fault) bool { return slices.Contains(names, strings.TrimPrefix(f.Field, "/")) })
}

// maxFaults bounds the reported invalid members; a body may hold a million.
const maxFaults = 100

// maxSlip is how many bytes of an unknown name are compared with known names.
const maxSlip = 40

var pointer = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer escapes a member's name for a JSON pointer (RFC 6901 section 3).
func Pointer(name string) string { return pointer.Replace(name) }

// body is a parsed body. All work that depends on its size is done before any transaction begins.
type body[T any] struct {
	given members
	puts  []func(*T)
	bad   hazard.InvalidError // invalid members
}

// parse parses members by the table of fields. Its error is a *hazard.LimitError if one of them is
// too costly to parse.
func parse[T any](fields []field[T], c *reading, given members, m mode) (*body[T], error) {
	b := &body[T]{given: given}
	listed := false
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if len(b.bad.Faults) == maxFaults {
			return b, nil
		}
		i := slices.IndexFunc(fields, func(f field[T]) bool { return f.name == name })
		switch {
		case i < 0:
			b.bad.Add(Pointer(name), "is not a member that can be written%s", instead(name, fields, m, &listed))
		case fields[i].modes&m == 0:
			b.bad.Add(name, "cannot be written here%s", instead("", fields, m, &listed))
		default:
			into, err := fields[i].read(c, given[name])
			if costly, ok := errors.AsType[*geo.CostError](err); ok {
				return nil, &hazard.LimitError{Limit: "geometry", Kind: hazard.LimitSize, Detail: name + ": " + costly.Error()}
			}
			if err != nil {
				b.bad.Add(name, "%s", err)
				continue
			}
			b.puts = append(b.puts, into)
		}
	}
	if m == create {
		for _, f := range fields {
			if _, ok := given[f.name]; f.required && !ok {
				b.bad.Add(f.name, "is missing")
			}
		}
	}
	return b, nil
}

// into stores the parsed members in t. Its error lists all faults.
func (b *body[T]) into(t *T) error {
	for _, put := range b.puts {
		put(t)
	}
	bad := &hazard.InvalidError{Faults: slices.Clone(b.bad.Faults)}
	if c, ok := any(t).(checker); ok && len(bad.Faults) < maxFaults {
		c.check(bad, b.given)
	}
	return bad.Err()
}

// written parses the body of an author, who must have the right to write at all.
func written[T any](e *Editor, who Author, fields []field[T], text []byte, m mode, clock hazard.Clock) (*body[T], error) {
	if err := who.mayEdit(); err != nil {
		return nil, err
	}
	given, err := decode(text)
	if err != nil {
		return nil, err
	}
	return parse(fields, &reading{e, who, clock.Now()}, given, m)
}

// asked is read for an author who must have the right to write at all.
func asked[T any](who Author, fields []field[T], text []byte) (t T, err error) {
	if err = who.mayEdit(); err == nil {
		err = read(fields, text, &t)
	}
	return t, err
}

// read parses a small body that needs nothing from the store.
func read[T any](fields []field[T], text []byte, t *T) error {
	members, err := decode(text)
	if err != nil {
		return err
	}
	b, err := parse(fields, &reading{}, members, create)
	if err != nil {
		return err
	}
	return b.into(t)
}

// instead ends the fault of an unknown member with a suggestion, and once per body with the list of
// known members.
func instead[T any](name string, fields []field[T], m mode, listed *bool) string {
	var list []string
	for _, f := range fields {
		if f.modes&m != 0 {
			list = append(list, f.name)
		}
	}
	end := ""
	if len(name) <= maxSlip {
		if near := query.NearestWord(name, list); near != "" {
			end = "; is " + near + " meant?"
		}
	}
	if !*listed {
		*listed = true
		end += "; these can be: " + strings.Join(list, ", ")
	}
	return end
}

func isNull(v jsontext.Value) bool { return v.Kind() == 'n' }

// text parses a string of at most maxLetters characters; it may be empty only if blank is set. Null means
// the empty string.
func text(maxLetters int, blank bool, clean func(string) string) func(*reading, jsontext.Value) (string, error) {
	return func(_ *reading, v jsontext.Value) (string, error) {
		var s string
		if !isNull(v) {
			if v.Kind() != '"' {
				return "", fmt.Errorf("%s is not a string", brief(v))
			}
			if err := json.Unmarshal(v, &s); err != nil {
				return "", fmt.Errorf("%s", jsonFault(err))
			}
		}
		s = clean(s)
		if n := utf8.RuneCountInString(s); n > maxLetters {
			return "", fmt.Errorf("has %d characters; at most %d are allowed", n, maxLetters)
		}
		if s == "" && !blank {
			return "", fmt.Errorf("is empty")
		}
		return s, nil
	}
}

// asIs returns s unchanged.
func asIs(s string) string { return s }

func number(low, high float64, unit string) func(*reading, jsontext.Value) (float64, error) {
	return func(_ *reading, v jsontext.Value) (float64, error) {
		var n float64
		if v.Kind() != '0' || json.Unmarshal(v, &n) != nil || !(n >= low && n <= high) {
			return 0, fmt.Errorf("%s is not a number from %v to %v (%s)", brief(v), low, high, unit)
		}
		return n, nil
	}
}

func integer(_ *reading, v jsontext.Value) (int64, error) {
	var n int64
	if v.Kind() != '0' || json.Unmarshal(v, &n) != nil {
		return 0, fmt.Errorf("%s is not an integer", brief(v))
	}
	return n, nil
}

// instant parses milliseconds since 1970 as a string of digits, the form of the base interface
// (section 2.6). It rejects probable mistakes, such as seconds instead of milliseconds.
func instant(c *reading, v jsontext.Value) (hazard.Instant, error) {
	var s string
	var n int64
	err := json.Unmarshal(v, &s)
	if err == nil {
		n, err = strconv.ParseInt(s, 10, 64)
	}
	if err != nil || strconv.FormatInt(n, 10) != s {
		return 0, fmt.Errorf("%s is not a string of digits, milliseconds since 1970-01-01T00:00:00Z", brief(v))
	}
	i := hazard.Instant(n)
	if i < hazard.MinInstant || i > hazard.MaxInstant {
		return 0, fmt.Errorf("%s lies outside the years 1 to 9999", brief(v))
	}
	return i, plausible(i, c.now)
}

func flag(_ *reading, v jsontext.Value) (bool, error) {
	switch string(v) {
	case `"Y"`:
		return true, nil
	case `"N"`:
		return false, nil
	}
	return false, fmt.Errorf(`%s is neither "Y" nor "N"`, brief(v))
}

func uuidOf(_ *reading, v jsontext.Value) (uuid.UUID, error) {
	var s string
	if v.Kind() == '"' && json.Unmarshal(v, &s) == nil && len(s) == 36 {
		if id, err := uuid.Parse(s); err == nil && id != uuid.Nil && id != uuid.Max {
			return id, nil
		}
	}
	return uuid.Nil, fmt.Errorf("%s is not a UUID of the form xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", brief(v))
}

// link parses an absolute http or https address.
func link(blank bool) func(*reading, jsontext.Value) (string, error) {
	return func(c *reading, v jsontext.Value) (string, error) {
		s, err := text(hazard.MaxLink, blank, hazard.CleanLine)(c, v)
		if err != nil || s == "" {
			return s, err
		}
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return "", fmt.Errorf("%s is not an absolute http or https address", brief(v))
		}
		return s, nil
	}
}

// oneOf parses one of the known words.
func oneOf[T ~string](known ...T) func(*reading, jsontext.Value) (T, error) {
	return func(_ *reading, v jsontext.Value) (t T, err error) {
		if v.Kind() == '"' && json.Unmarshal(v, &t) == nil && slices.Contains(known, t) {
			return t, nil
		}
		return "", fmt.Errorf("%s is not one of %s", brief(v), strings.Join(ids(known, func(t T) string { return string(t) }), ", "))
	}
}

// ids returns the identifiers of a vocabulary.
func ids[T, ID any](vocabulary []T, id func(T) ID) (list []ID) {
	for _, t := range vocabulary {
		list = append(list, id(t))
	}
	return list
}

// brief shortens v for an error.
func brief(v jsontext.Value) string {
	const maxLetters = 80
	s := strings.ToValidUTF8(string(v), "\uFFFD")
	if utf8.RuneCountInString(s) > maxLetters {
		s = string([]rune(s)[:maxLetters]) + "…"
	}
	return s
}
