package nhc

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

	"hazardd/internal/source/frame"
)

// number is a number that may be missing. It is also read from a string; "nan" and "" are missing.
type number struct {
	value float64
	known bool
}

func (n *number) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*n = number{}
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
		return &unexpected{frame.Excerpt(raw), "a number"}
	}
	v, err := strconv.ParseFloat(string(bytes.TrimSpace(text)), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return &unexpected{frame.Excerpt(raw), "a number"}
	}
	*n = number{v, true}
	return nil
}

// nothing is what a reason says of a member that says nothing.
const nothing = "null or missing"

// said is the number as a reason quotes it.
func (n number) said() string {
	if !n.known {
		return nothing
	}
	return strconv.FormatFloat(n.value, 'g', -1, 64)
}

// Unexpected is a value that is not of the expected type.
type unexpected struct{ found, expected string }

func (e *unexpected) Error() string { return e.found + ", expected " + e.expected }

// options: bytes that are not UTF-8 do not cost a record, they go when the text is cleaned. A member that is there twice
// does, since nobody can say which of them counts.
var options = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(false))

var errNoObject = errors.New("expected an object")

func unmarshalObject(raw []byte, to any) error {
	if len(raw) == 0 || raw[0] != '{' {
		return errNoObject
	}
	return json.Unmarshal(raw, to, options)
}

// fault says in one sentence which member of raw is wrong, what it is and what was expected.
func fault(err error, raw []byte) string {
	if err == errNoObject {
		return cmp.Or(frame.Excerpt(raw), nothing) + ", " + err.Error()
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		u, ok := errors.AsType[*unexpected](err)
		if !ok {
			u = &unexpected{cmp.Or(frame.Excerpt(e.JSONValue), e.JSONKind.String()), "a string"}
			if e.GoType != nil {
				switch e.GoType.Kind() {
				case reflect.String:
				case reflect.Slice:
					u.expected = "an array"
				default:
					u.expected = "an object"
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
	return frame.ExcerptText(err.Error())
}

func memberName(p jsontext.Pointer) string {
	return cmp.Or(frame.ExcerptText(strings.TrimPrefix(string(p), "/")), "the record")
}
