package frame

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxFaults is how many members of one record may be unreadable: beyond it nobody knows what the record is.
	maxFaults = 8
	// maxMended bounds a record of JSON that is mended, in bytes: what mending costs is a multiple of it. The greatest
	// recorded one, a fire's perimeter, has 1.4 MB.
	maxMended = 4 << 20
)

// Decode reads the JSON object raw into the struct to, as far as it can be read. Syntax that is no JSON is mended (NaN, 01, \q, a
// raw control character, a comma too many). A member that is not of its type is left out; but a number is good as a string,
// and one value as an array of one. The notes say what was left out or mended, one for each member.
//
// An object with a member twice is an error, since nobody can say which of them counts; so is one that more than maxFaults
// members of are faulty. Fault says what is wrong with it.
func Decode(raw []byte, to any) (notes []string, err error) {
	mended := false
	for range 2 * maxFaults {
		if err = UnmarshalObject(raw, to); err == nil || len(raw) > maxMended || len(notes) > maxFaults {
			return notes, err
		}
		reflect.ValueOf(to).Elem().SetZero()
		if _, ok := errors.AsType[*jsontext.SyntacticError](err); ok && !mended && !errors.Is(err, jsontext.ErrDuplicateName) {
			raw, notes = mend(raw)
			mended = true
			continue
		}
		bad, ok := errors.AsType[*json.SemanticError](err)
		if !ok {
			return notes, err
		}
		from, until := locate(raw, bad.JSONPointer)
		if from < 0 {
			return notes, err
		}
		value, fits := fitting(raw[from:until], bad.GoType)
		if !fits {
			if unexpected, ok := errors.AsType[*Unexpected](err); ok {
				notes = append(notes, memberName(bad.JSONPointer)+": "+unexpected.Error())
			} else {
				notes = append(notes, fmt.Sprintf("%s: %s, expected %s", memberName(bad.JSONPointer), Excerpt(raw[from:until]), expected(bad.GoType)))
			}
		}
		raw = bytes.Join([][]byte{raw[:from], value, raw[until:]}, nil)
	}
	return notes, err
}

// fitting is a value of another type that says the same as raw, or null.
func fitting(raw []byte, want reflect.Type) (value []byte, ok bool) {
	kind := jsontext.Value(raw).Kind()
	switch {
	case want == nil:
	case want.Kind() == reflect.String && (kind == '0' || kind == 't' || kind == 'f'):
		return strconv.AppendQuote(nil, string(raw)), true
	case want.Kind() == reflect.Slice && want.Elem().Kind() == reflect.String && kind == '"',
		want.Kind() == reflect.Slice && want.Elem().Kind() == reflect.Struct && kind == '{':
		return bytes.Join([][]byte{{'['}, raw, {']'}}, nil), true
	}
	return []byte("null"), false
}

// expected is the word of JSON for what a value of Go is read from.
func expected(t reflect.Type) string {
	if t == nil {
		return "another value"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "an array"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64, reflect.Int, reflect.Int64:
		return "a number"
	}
	return "an object"
}

// locate finds the value that p points to: raw[from:until]. from is negative if there is none.
func locate(raw []byte, p jsontext.Pointer) (from, until int) {
	c := Cursor{Doc: raw}
	for name := range p.Tokens() {
		found := -1
		switch c.Next() {
		case '{':
			_ = c.Members(func(n string) error {
				c.Next()
				at := c.At
				_, err := c.Value()
				if n == name {
					found = at
				}
				return err
			})
		case '[':
			_ = c.Elements(func(i int, v []byte) {
				if strconv.Itoa(i) == name {
					found = c.At - len(v)
				}
			})
		}
		if found < 0 {
			return -1, -1
		}
		c.At = found
	}
	c.Next()
	from = c.At
	if _, err := c.Value(); err != nil {
		return -1, -1
	}
	return from, c.At
}

// mend makes JSON of what is nearly JSON, and says what it changed: bare words that are no JSON are null, numbers have their usual
// form, backslashes that escape nothing stand for themselves, control characters are blanks, and commas before an end go.
func mend(raw []byte) (out []byte, notes []string) {
	out = make([]byte, 0, len(raw)+64)
	name := "the record" // of the member whose value comes next
	note := func(found []byte, as string) {
		if len(notes) <= maxFaults {
			notes = append(notes, fmt.Sprintf("%s: %s is not JSON, read as %s", name, Excerpt(found), as))
		}
	}
	var word []byte // the last string
	for i := 0; i < len(raw); {
		switch b := raw[i]; {
		case b == '"':
			n := quoted(raw[i:])
			if n < 0 {
				n = len(raw) - i
			}
			word = raw[i : i+n]
			if fixed, found := mendString(word); found == nil {
				out = append(out, word...)
			} else {
				if found[0] == '\\' {
					note(found, "it stands")
				}
				out = append(out, fixed...)
			}
			i += n
		case b == ':':
			name = ExcerptText(Word(word))
			out = append(out, b)
			i++
		case b == '}' || b == ']' || b == ',':
			if kept := bytes.TrimRight(out, " \t\r\n"); b != ',' && bytes.HasSuffix(kept, []byte(",")) {
				out = kept[:len(kept)-1]
			}
			out = append(out, b)
			i++
		case b == '{' || b == '[' || b == ' ' || b == '\t' || b == '\n' || b == '\r':
			out = append(out, b)
			i++
		case b < ' ':
			out = append(out, ' ')
			i++
		default:
			n := bytes.IndexAny(raw[i:], "\" \t\r\n,:[]{}")
			if n < 0 {
				n = len(raw) - i
			}
			bare := raw[i : i+n]
			if v := mendBare(bare); string(v) == string(bare) {
				out = append(out, bare...)
			} else {
				note(bare, string(v))
				out = append(out, v...)
			}
			i += n
		}
	}
	return out, notes
}

var usualNumber = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$`)

// mendBare is a bare word as JSON.
func mendBare(word []byte) []byte {
	switch text := string(word); {
	case text == "true", text == "false", text == "null", usualNumber.Match(word):
		return word
	case len(text) < 40 && strings.Trim(text, "+-.0123456789eE") == "":
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			return strconv.AppendFloat(nil, v, 'f', -1, 64)
		}
	}
	return []byte("null")
}

// mendString is a string as JSON, and the first thing in it that was none; found is nil if it is JSON.
func mendString(s []byte) (fixed, found []byte) {
	for i := 0; i < len(s); i++ {
		b := s[i]
		switch {
		case b < ' ':
			if found == nil {
				fixed, found = append(make([]byte, 0, len(s)+8), s[:i]...), s[i:i+1]
			}
			switch b {
			case '\n':
				fixed = append(fixed, `\n`...)
			default:
				fixed = append(fixed, ' ')
			}
			continue
		case b != '\\' || i+1 == len(s):
		case bytes.IndexByte([]byte(`"\/bfnrt`), s[i+1]) >= 0, s[i+1] == 'u' && i+6 <= len(s) && isHex(s[i+2:i+6]):
			if found != nil {
				fixed = append(fixed, b, s[i+1])
			}
			i++
			continue
		default:
			if found == nil {
				fixed, found = append(make([]byte, 0, len(s)+8), s[:i]...), s[i:i+2]
			}
			fixed = append(fixed, '\\')
		}
		if found != nil {
			fixed = append(fixed, b)
		}
	}
	return fixed, found
}

func isHex(b []byte) bool {
	_, err := strconv.ParseUint(string(b), 16, 16)
	return err == nil
}
