package lenient

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Number is a number that may be missing. It is also read from a string; "nan" and "" are missing.
type Number struct {
	Value float64
	Known bool
}

func (n *Number) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*n = Number{}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	text := raw
	switch raw.Kind() {
	case 'n':
		return nil
	case '0':
	case '"':
		if text, err = jsontext.AppendUnquote(nil, raw); err != nil {
			return err
		}
		switch strings.ToLower(strings.TrimSpace(string(text))) {
		case "", "nan", "null":
			return nil
		}
	default:
		return &Unexpected{Excerpt(raw), "a number"}
	}
	v, err := strconv.ParseFloat(string(bytes.TrimSpace(text)), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return &Unexpected{Excerpt(raw), "a number"}
	}
	*n = Number{v, true}
	return nil
}

// Nothing is how a reason describes a member without a value.
const Nothing = "null or missing"

// Said returns the number as a reason quotes it.
func (n Number) Said() string {
	if !n.Known {
		return Nothing
	}
	return strconv.FormatFloat(n.Value, 'g', -1, 64)
}

// Unexpected is the error for a value that does not have the expected type.
type Unexpected struct{ Found, Expected string }

func (e *Unexpected) Error() string { return e.Found + ", expected " + e.Expected }

// Options for decoding. Invalid UTF-8 does not reject a record; it is removed when texts are
// cleaned. A duplicate member does reject it, because it is unclear which one counts. Blanks around
// a string are removed.
var Options = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(false), json.WithUnmarshalers(json.UnmarshalFromFunc(trimmed)))

func trimmed(dec *jsontext.Decoder, s *string) error {
	if dec.PeekKind() != '"' {
		return errors.ErrUnsupported
	}
	token, err := dec.ReadToken()
	if err == nil {
		*s = strings.TrimSpace(token.String())
	}
	return err
}

// Position parses the coordinates of a point, longitude first. The numbers may be strings.
func Position(coordinates []byte) (lon, lat Number) {
	var c []Number
	if json.Unmarshal(coordinates, &c, Options) != nil || len(c) < 2 {
		return Number{}, Number{}
	}
	return c[0], c[1]
}

var errNoObject = errors.New("expected an object")

// UnmarshalObject decodes the JSON object raw into to. Fault describes its error.
func UnmarshalObject(raw []byte, to any) error {
	if len(raw) == 0 || raw[0] != '{' {
		return errNoObject
	}
	return json.Unmarshal(raw, to, Options)
}

// Fault describes in one sentence which member of raw is wrong, its value and what was expected.
func Fault(err error, raw []byte) string {
	if err == errNoObject {
		return cmp.Or(Excerpt(raw), Nothing) + ", " + err.Error()
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		u, ok := errors.AsType[*Unexpected](err)
		if !ok {
			u = &Unexpected{cmp.Or(Excerpt(e.JSONValue), e.JSONKind.String()), "a string"}
			if e.GoType != nil {
				switch e.GoType.Kind() {
				case reflect.String:
				case reflect.Slice:
					u.Expected = "an array"
				default:
					u.Expected = "an object"
				}
			}
		}
		return memberName(e.JSONPointer) + ": " + u.Error()
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return memberName(e.JSONPointer) + ": the member is there twice"
		}
		return fmt.Sprintf("%s: not JSON at byte %d: %v", memberName(e.JSONPointer), e.ByteOffset, e.Err)
	}
	return ExcerptText(err.Error())
}

func memberName(p jsontext.Pointer) string {
	return cmp.Or(ExcerptText(strings.TrimPrefix(string(p), "/")), "the record")
}
