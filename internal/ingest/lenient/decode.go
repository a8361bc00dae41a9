package lenient

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
	// maxFaults bounds the unreadable members of one record. With more, the record as a whole is
	// unreliable.
	maxFaults = 8
	// maxMended bounds a JSON record that is repaired, in bytes, because the repair needs a
	// multiple of it in memory. The largest recorded one, the perimeter of a fire, has 1.4 MB.
	maxMended = 4 << 20
)

// Decode decodes the JSON object raw into the struct to, as far as possible. It repairs invalid
// JSON: NaN, 01, \q, a raw control character, a comma too many. It leaves out a member with the
// wrong type, but accepts a number as a string, and a single value as an array of one. The notes
// say what was left out or repaired, one for each member.
//
// An object with a duplicate member is an error, because it is unclear which one counts. So is an
// object with more than maxFaults faulty members. Fault describes the error.
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

// fitting returns a value of the wanted type that means the same as raw, or null.
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

// expected returns the JSON name of the values that a Go type is decoded from.
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

// locate finds the value at the pointer p: raw[from:until]. from is negative if there is none.
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

// mend repairs invalid JSON, and says what it changed. Unknown bare words become null, and numbers
// get their usual form. A backslash that escapes nothing is kept as a character. Control characters
// become blanks, and commas before a closing bracket are removed.
func mend(raw []byte) (out []byte, notes []string) {
	out = make([]byte, 0, len(raw)+64)
	name := "the record" // name of the member whose value comes next
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

// mendBare returns a bare word as JSON.
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

// mendString returns a string as valid JSON, and its first invalid part; found is nil if the string
// was valid.
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
